//! The probe's attack: what a command must not be able to do, really tried from where a command stands.
//!
//! It runs as `nod __attack` in the place of a command. It says what it believes it achieved; the probe looks for itself
//! wherever it can. Nothing that it tries harms: its targets are the probe's own files and sockets.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ir::Leak;

/// The targets of an attack.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Targets {
    /// A folder in which the attack may write: else it proves nothing.
    pub(super) inside: PathBuf,
    /// A folder in which it must not. It holds the files named in `file`, a stream socket `stream`, a datagram socket
    /// `datagram`; `inside/link` leads to its file `linked`.
    pub(super) outside: PathBuf,
    /// The process that the attack must not reach.
    pub(super) app: u32,
    /// When that process started, as the kernel counts, so that another one of its number is not taken for it.
    pub(super) app_started: String,
    /// Ports that listen on this computer.
    pub(super) tcp_port: u16,
    pub(super) udp_port: u16,
    /// The name of an abstract socket that listens.
    pub(super) abstract_name: String,
}

/// The files in the folder outside.
pub(super) mod file {
    pub(in super::super) const APPENDED: &str = "appended";
    pub(in super::super) const TRUNCATED: &str = "truncated";
    pub(in super::super) const REMOVED: &str = "removed";
    pub(in super::super) const LINKED: &str = "linked";
    pub(in super::super) const HARD_LINKED: &str = "hard-linked";
    pub(in super::super) const MOVED: &str = "moved";
    pub(in super::super) const CREATED: &str = "created";
    pub(in super::super) const MODE: &str = "mode";
    pub(in super::super) const TIMES: &str = "times";
    pub(in super::super) const SECRET: &str = "secret";
    pub(in super::super) const STREAM: &str = "stream";
    pub(in super::super) const DATAGRAM: &str = "datagram";
}

/// What an attack says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    /// Whether it could write where it may.
    pub(super) writes_inside: bool,
    pub(super) leaks: Vec<Leak>,
}

/// Runs the attack on the targets that the second argument names, and prints its claim.
pub(super) fn main() -> ExitCode {
    let targets = std::env::args().nth(2).and_then(|text| serde_json::from_str::<Targets>(&text).ok());
    let Some(targets) = targets else { return super::stage::not_by_hand() };
    let writes_inside = fs::write(targets.inside.join("written"), "x").is_ok();
    let leaks = Leak::ALL.into_iter().filter(|leak| succeeds(*leak, &targets)).collect();
    let text = serde_json::to_string(&Claim { writes_inside, leaks }).unwrap_or_default();
    // Whoever does not get the claim believes nothing.
    writeln!(std::io::stdout(), "{text}").ok();
    ExitCode::SUCCESS
}

fn succeeds(leak: Leak, targets: &Targets) -> bool {
    let outside = |name: &str| targets.outside.join(name);
    let inside = |name: &str| targets.inside.join(name);
    match leak {
        Leak::CreateOutside => fs::write(outside(file::CREATED), "x").is_ok(),
        Leak::AppendOutside => append(&outside(file::APPENDED)),
        Leak::TruncateOutside => truncate(&outside(file::TRUNCATED)),
        Leak::RemoveOutside => fs::remove_file(outside(file::REMOVED)).is_ok(),
        Leak::WriteThroughLink => append(&inside("link")),
        Leak::HardLink => fs::hard_link(outside(file::HARD_LINKED), inside("second-name")).is_ok(),
        Leak::MoveInside => fs::rename(outside(file::MOVED), inside("moved")).is_ok(),
        Leak::ChangeMode => fs::set_permissions(outside(file::MODE), fs::Permissions::from_mode(0o777)).is_ok(),
        Leak::ChangeTimes => change_times(&outside(file::TIMES)),
        Leak::ReadOutside => fs::read(outside(file::SECRET)).is_ok_and(|content| !content.is_empty()),
        Leak::ConnectTcp => connects(targets.tcp_port),
        Leak::SendUdp => UdpSocket::bind(("127.0.0.1", 0))
            .is_ok_and(|socket| socket.send_to(b"x", ("127.0.0.1", targets.udp_port)).is_ok()),
        Leak::ConnectUnix => UnixStream::connect(outside(file::STREAM)).is_ok(),
        Leak::SendUnix => sends_from_a_pair(&outside(file::DATAGRAM)),
        Leak::Signal => is_the_app(targets) && signals(targets.app),
        Leak::ReadApp
        | Leak::ConnectAbstract
        | Leak::OtherSocket
        | Leak::Trace
        | Leak::UserNamespace
        | Leak::Capability
        | Leak::IoUring
        | Leak::KeyRing => system::succeeds(leak, targets),
    }
}

fn append(path: &Path) -> bool {
    OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(b"x")).is_ok()
}

#[expect(unsafe_code, reason = "the standard library truncates only what it opened for writing")]
fn truncate(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path is a terminated string that lives during the call.
    unsafe { libc::truncate(path.as_ptr(), 0) == 0 }
}

#[expect(unsafe_code, reason = "the standard library sets the times of opened files only")]
fn change_times(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    let long_ago = [libc::timeval { tv_sec: 1, tv_usec: 0 }; 2];
    // SAFETY: the path is a terminated string, and both live during the call.
    unsafe { libc::utimes(path.as_ptr(), long_ago.as_ptr()) == 0 }
}

fn connects(port: u16) -> bool {
    const PATIENCE: Duration = Duration::from_secs(2);
    TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), PATIENCE).is_ok()
}

/// A pair of datagram sockets is made without `socket`, and one of it can be pointed at another address.
fn sends_from_a_pair(to: &Path) -> bool {
    UnixDatagram::pair().is_ok_and(|(one, _other)| one.send_to(b"x", to).is_ok())
}

fn is_the_app(targets: &Targets) -> bool {
    started_at(targets.app).is_none_or(|started| started == targets.app_started)
}

#[expect(unsafe_code, reason = "signals to processes of others have no safe form in the standard library")]
fn signals(process: u32) -> bool {
    let Ok(process) = libc::pid_t::try_from(process) else { return false };
    // SAFETY: takes two numbers; the signal 0 is none, and only asks whether one could be sent.
    unsafe { libc::kill(process, 0) == 0 }
}

/// When a process started, in the kernel's ticks: the twenty-second field of its line, twentieth after its name.
pub(super) fn started_at(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19).map(str::to_owned)
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixStream};

    use super::{Leak, Targets};

    pub(super) fn succeeds(leak: Leak, targets: &Targets) -> bool {
        match leak {
            Leak::ReadApp => reads_environments(targets),
            Leak::ConnectAbstract => SocketAddr::from_abstract_name(&targets.abstract_name)
                .and_then(|address| UnixStream::connect_addr(&address))
                .is_ok(),
            Leak::OtherSocket => {
                [libc::AF_NETLINK, libc::AF_VSOCK, libc::AF_PACKET, libc::AF_ALG].into_iter().any(opens_socket)
            }
            Leak::Trace => call([libc::SYS_ptrace, libc::PTRACE_TRACEME.into(), 0, 0, 0]),
            Leak::UserNamespace => clones_a_namespace() || call([libc::SYS_unshare, NEW_USER, 0, 0, 0]),
            Leak::Capability => super::super::capability::has_any().unwrap_or(true),
            Leak::IoUring => makes_a_ring(),
            // Which key ring is the session's: the question alone shows that the call is there.
            Leak::KeyRing => {
                const REFUSED: [i32; 2] = [libc::EPERM, libc::ENOSYS];
                call([libc::SYS_keyctl, 0, -3, 0, 0])
                    || std::io::Error::last_os_error().raw_os_error().is_none_or(|error| !REFUSED.contains(&error))
            }
            Leak::CreateOutside
            | Leak::AppendOutside
            | Leak::TruncateOutside
            | Leak::RemoveOutside
            | Leak::WriteThroughLink
            | Leak::HardLink
            | Leak::MoveInside
            | Leak::ChangeMode
            | Leak::ChangeTimes
            | Leak::ReadOutside
            | Leak::ConnectTcp
            | Leak::SendUdp
            | Leak::ConnectUnix
            | Leak::SendUnix
            | Leak::Signal => false,
        }
    }

    const NEW_USER: libc::c_long = libc::CLONE_NEWUSER as libc::c_long;

    /// Whether the environment of the app, or any name that a command does not get, can be read from some process.
    fn reads_environments(targets: &Targets) -> bool {
        const OWN: [&str; 6] = ["HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR"];
        // A shell adds these by itself.
        const SHELL: [&str; 3] = ["OLDPWD", "SHLVL", "_"];
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
            .filter_map(|process| Some((process, fs::read(format!("/proc/{process}/environ")).ok()?)))
            .filter(|(_, environment)| !environment.is_empty())
            .any(|(process, environment)| {
                let is_app = process == targets.app && super::is_the_app(targets);
                let has_other = environment.split(|byte| *byte == 0).filter(|pair| !pair.is_empty()).any(|pair| {
                    let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
                    !OWN.iter().chain(&SHELL).any(|own| own.as_bytes() == name)
                });
                is_app || has_other
            })
    }

    #[expect(unsafe_code, reason = "sockets of these families have no safe form")]
    fn opens_socket(family: libc::c_int) -> bool {
        [libc::SOCK_RAW, libc::SOCK_DGRAM, libc::SOCK_STREAM, libc::SOCK_SEQPACKET].into_iter().any(|kind| {
            // SAFETY: takes numbers and gives a descriptor, which this process ends with.
            unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) >= 0 }
        })
    }

    #[expect(unsafe_code, reason = "the attack makes the calls that no library offers")]
    fn call([number, one, two, three, four]: [libc::c_long; 5]) -> bool {
        // SAFETY: every call that is made this way takes numbers alone, or null pointers.
        unsafe { libc::syscall(number, one, two, three, four) >= 0 }
    }

    #[expect(unsafe_code, reason = "a process in a new user namespace has no safe form")]
    fn clones_a_namespace() -> bool {
        // SAFETY: without a stack of its own the child goes on here, as after `fork`; it ends at once and touches nothing.
        let child = unsafe { libc::syscall(libc::SYS_clone, NEW_USER | libc::c_long::from(libc::SIGCHLD), 0, 0, 0, 0) };
        if child == 0 {
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(0) };
        }
        if let Ok(child) = libc::pid_t::try_from(child)
            && child > 0
        {
            // Its end would stop this process once it is traced.
            // SAFETY: a null status is allowed; the child is this process's own.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::__WALL) };
        }
        child > 0
    }

    #[expect(unsafe_code, reason = "rings have no safe form here")]
    fn makes_a_ring() -> bool {
        // The kernel's `struct io_uring_params`, all zero: the defaults.
        let mut parameters = [0_u8; 120];
        // SAFETY: the kernel fills 120 bytes, and there are as many.
        unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) >= 0 }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Leak, Targets};

    /// What only Linux has cannot leak elsewhere.
    pub(super) fn succeeds(_leak: Leak, _targets: &Targets) -> bool {
        false
    }
}

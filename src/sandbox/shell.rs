//! The shell itself, started behind its walls: limits, no new privileges, no capabilities, Landlock, seccomp.
//!
//! The walls are built before the fork and closed between fork and exec, in a process with one thread. Whatever cannot
//! be closed is an error, and then no shell starts.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::Pid;

use super::limit::Limits;

/// What stands around a shell.
pub(super) enum Walls {
    /// Nothing: the person said so, in red.
    None,
    /// Landlock's rules and seccomp's filters.
    #[cfg(target_os = "linux")]
    Kernel { ruleset: Box<landlock::RulesetCreated>, filters: super::filter::Filters },
    /// A profile for the system's `sandbox-exec`.
    #[cfg(target_os = "macos")]
    Seatbelt { profile: String },
}

/// Starts `sh -c` in this process's working folder, with these names and values as its whole environment.
pub(super) fn start(command: &str, environment: &[(String, String)], walls: Walls, limits: Limits) -> io::Result<Pid> {
    let mut shell = program(&walls);
    shell
        .args(["-c", "--", command])
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .process_group(0);
    close_walls(&mut shell, walls, limits);
    let child = shell.spawn()?;
    Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?).ok_or_else(|| io::Error::other("no process id"))
}

fn program(walls: &Walls) -> Command {
    const SHELL: &str = "/bin/sh";
    match walls {
        #[cfg(target_os = "macos")]
        Walls::Seatbelt { profile } => {
            let mut command = Command::new("/usr/bin/sandbox-exec");
            command.args(["-p", profile, SHELL]);
            command
        }
        #[cfg(target_os = "linux")]
        Walls::Kernel { .. } => named_shell(SHELL),
        Walls::None => named_shell(SHELL),
    }
}

fn named_shell(path: &str) -> Command {
    let mut command = Command::new(path);
    command.arg0("sh");
    command
}

/// What the shell's process does to itself before it becomes the shell: it may never gain privileges (no setuid
/// programs), it has no capabilities, it is killed should its parent be killed, and its walls stand.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "code between fork and exec has no safe form")]
fn close_walls(shell: &mut Command, walls: Walls, limits: Limits) {
    let mut walls = Some(walls);
    // SAFETY: this process has one thread, so that no lock can be held by another one across the fork; what allocates
    // here allocates from a heap that nobody else uses.
    unsafe {
        shell.pre_exec(move || {
            prctl(libc::PR_SET_NO_NEW_PRIVS, 1)?;
            prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL.cast_unsigned().into())?;
            limits.apply()?;
            match walls.take() {
                Some(Walls::Kernel { ruleset, filters }) => {
                    super::capability::drop_all()?;
                    super::ruleset::enforce(*ruleset)?;
                    filters.load()
                }
                Some(Walls::None) => Ok(()),
                None => Err(io::Error::other("started twice")),
            }
        });
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "prctl has no safe form for these options here")]
fn prctl(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the options that are given take one number and no pointer.
    if unsafe { libc::prctl(option, value, 0, 0, 0) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
#[expect(unsafe_code, reason = "code between fork and exec has no safe form")]
fn close_walls(shell: &mut Command, _walls: Walls, limits: Limits) {
    // SAFETY: setting limits is a system call that neither allocates nor takes a lock.
    unsafe {
        shell.pre_exec(move || limits.apply());
    }
}

//! The helper stage: this program started again as `nod __run`, between the app and the shell.
//!
//! It takes an order from its standard input, starts the shell with nothing but what the order says, and stays until every
//! process of the command is gone. It has one thread and none of the app's memory, descriptors or environment.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit, WaitStatus, fchdir, setrlimit, setsid};

use super::channel::{Order, Report, receive_order, send_report};
use super::tree;

/// Set by `SIGTERM`.
static TERMINATED: AtomicBool = AtomicBool::new(false);

/// Runs the helper stage. `main` calls it first thing when the first argument is `__run`.
pub fn helper_main() -> ExitCode {
    close_inherited();
    let socket = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(descriptor) => UnixStream::from(descriptor),
        Err(_) => return ExitCode::FAILURE,
    };
    let Ok((order, cwd)) = receive_order(&socket) else {
        let hint = "This is an inner part of Nod that runs approved commands; it is not for use by hand.\n";
        io::stderr().write_all(hint.as_bytes()).ok();
        return ExitCode::FAILURE;
    };
    let shell = match harden().and_then(|()| start(&order, &cwd)) {
        Ok(shell) => shell,
        Err(error) => {
            send_report(&socket, &Report::Failed(error.to_string()));
            return ExitCode::FAILURE;
        }
    };
    drop(order);
    watch(&socket, shell);
    ExitCode::SUCCESS
}

/// Waits for the shell's end or for the word to stop, and leaves nothing behind.
fn watch(socket: &UnixStream, shell: Pid) {
    let mut shell_status = None;
    let mut note = |pid: Pid, status: WaitStatus| {
        if pid == shell {
            shell_status = Some(status);
        }
    };
    wait_for_end_or_stop(socket, shell, &mut note);
    // The end of the shell itself is reported before the sweep, which may have to wait for a process in the kernel.
    let reported = shell_status.map(|status| send_report(socket, &report(status))).is_some();
    tree::end_all(shell, &mut |pid, status| {
        if pid == shell {
            shell_status = Some(status);
        }
    });
    if !reported && let Some(status) = shell_status {
        send_report(socket, &report(status));
    }
}

fn wait_for_end_or_stop(socket: &UnixStream, shell: Pid, note: &mut dyn FnMut(Pid, WaitStatus)) {
    let pidfd = open_pidfd(shell);
    // A signal may come between the look at its flag and the wait; a kernel without pidfds tells nothing of the shell.
    let pause_ms = if pidfd.is_some() { 100 } else { 5 };
    let pause = Timespec { tv_sec: 0, tv_nsec: pause_ms * 1_000_000 };
    loop {
        let mut waited = vec![PollFd::new(socket, PollFlags::IN)];
        waited.extend(pidfd.as_ref().map(|pidfd| PollFd::new(pidfd, PollFlags::IN)));
        poll(&mut waited, Some(&pause)).ok();
        let is_told_to_stop = waited.first().is_some_and(|socket| !socket.revents().is_empty());
        let mut has_ended = false;
        tree::reap(&mut |pid, status| {
            has_ended |= pid == shell;
            note(pid, status);
        });
        if has_ended || is_told_to_stop || TERMINATED.load(Ordering::Relaxed) {
            return;
        }
    }
}

fn report(status: WaitStatus) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exited(code),
        (None, Some(signal)) => Report::Signalled(signal),
        (None, None) => Report::Failed(format!("unexpected state {status:?}")),
    }
}

fn start(order: &Order, cwd: &OwnedFd) -> io::Result<Pid> {
    fchdir(cwd)?;
    let mut command = Command::new("/bin/sh");
    command
        .arg0("sh")
        .args(["-c", "--", &order.command])
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .process_group(0);
    in_child(&mut command);
    let child = command.spawn()?;
    Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?).ok_or_else(|| io::Error::other("no process id"))
}

fn harden() -> io::Result<()> {
    setsid()?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    watch_for_termination();
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // What the command starts may not look into this process or its descriptors.
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn open_pidfd(shell: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(shell, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_pidfd(_shell: Pid) -> Option<OwnedFd> {
    None
}

/// Closes every descriptor but the three standard ones: a careless parent may have left one open that the command must not see.
#[expect(unsafe_code, reason = "closing descriptors by number has no safe form")]
fn close_inherited() {
    const FIRST: libc::c_uint = 3;
    #[cfg(target_os = "linux")]
    // SAFETY: `helper_main` runs before anything in this process has opened a descriptor, so no owner loses its own.
    if unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) } == 0 {
        return;
    }
    for descriptor in FIRST..4096 {
        // SAFETY: as above.
        unsafe { libc::close(descriptor.cast_signed()) };
    }
}

/// `SIGTERM` ends the command first.
#[expect(unsafe_code, reason = "signal handlers have no safe form in the standard library")]
fn watch_for_termination() {
    extern "C" fn on_signal(_signal: libc::c_int) {
        TERMINATED.store(true, Ordering::Relaxed);
    }
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: the handler does nothing but store to an atomic, which is allowed in a signal handler.
    unsafe { libc::signal(libc::SIGTERM, handler as libc::sighandler_t) };
}

/// What the shell's process does to itself before it becomes the shell: it may never gain privileges (no setuid programs),
/// and it is killed should this helper be killed.
#[expect(unsafe_code, reason = "code between fork and exec has no safe form")]
fn in_child(command: &mut Command) {
    #[cfg(target_os = "linux")]
    // SAFETY: the closure makes two system calls and neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(|| {
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

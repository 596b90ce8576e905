//! The helper stage: this program started again as `nod __run`, between the app and the shell.
//!
//! It takes an order from its standard input, starts the shell with nothing but what the order says and behind the walls
//! that it names, and stays until every process of the command is gone. It has one thread and none of the app's memory,
//! descriptors or environment. Walls that cannot be set up are reported, and nothing runs.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit, WaitStatus, fchdir, setrlimit, setsid};

use super::channel::{Received, Report, receive_order, send_report};
use super::limit::{Limits, MOST_PROCESSES, come_first, restore_open_files, running_processes};
use super::shell::{self, Walls};
use super::{HELPER_ARGUMENT, tree};
use crate::ir::Tier;

/// Set by `SIGTERM`.
static TERMINATED: AtomicBool = AtomicBool::new(false);

/// Runs the inner part of Nod that the program's first argument names; `None` where it names none. `main` calls it first
/// thing.
pub fn run_stage(argument: &OsStr) -> Option<ExitCode> {
    match argument.to_str()? {
        HELPER_ARGUMENT => Some(helper_main()),
        #[cfg(target_os = "linux")]
        super::INNER_ARGUMENT => Some(super::inner::main()),
        super::ATTACK_ARGUMENT => Some(super::attack::main()),
        _ => None,
    }
}

fn helper_main() -> ExitCode {
    close_all_but(-1);
    let socket = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(descriptor) => UnixStream::from(descriptor),
        Err(_) => return ExitCode::FAILURE,
    };
    let Ok(received) = receive_order(&socket) else { return not_by_hand() };
    restore_open_files(received.order.open_files);
    let is_confined = received.order.tier.is_confined();
    // Left when everything is gone. Without one the stage counts.
    #[cfg(target_os = "linux")]
    let _group = rustix::process::getuid().is_root().then(|| super::cgroup::Group::enter(MOST_PROCESSES).ok());
    let started = harden().and_then(|()| start(&received));
    drop(received);
    match started {
        Ok(started) => {
            watch(&socket, started);
            ExitCode::SUCCESS
        }
        Err(error) => {
            let message = error.to_string();
            let report = if is_confined { Report::Unconfinable(message) } else { Report::Failed(message) };
            send_report(&socket, &report);
            ExitCode::FAILURE
        }
    }
}

/// What a person reads who starts a stage from a terminal.
pub(super) fn not_by_hand() -> ExitCode {
    let hint = "This is an inner part of Nod that runs approved commands; it is not for use by hand.\n";
    io::stderr().write_all(hint.as_bytes()).ok();
    ExitCode::FAILURE
}

/// What was started: the shell, or what stands around it and reports how it ended.
struct Started {
    process: Pid,
    #[cfg(target_os = "linux")]
    pipe: Option<super::namespace::ReportPipe>,
}

impl Started {
    fn shell(process: Pid) -> Self {
        Self {
            process,
            #[cfg(target_os = "linux")]
            pipe: None,
        }
    }
}

fn start(received: &Received) -> io::Result<Started> {
    let Received { order, cwd, .. } = received;
    fchdir(cwd)?;
    let walls = match order.tier {
        Tier::Unconfined => Walls::None,
        #[cfg(target_os = "linux")]
        Tier::A => {
            let (process, pipe) = super::namespace::start(received)?;
            return Ok(Started { process, pipe: Some(pipe) });
        }
        #[cfg(target_os = "linux")]
        Tier::B => kernel_walls(received)?,
        #[cfg(target_os = "macos")]
        Tier::Seatbelt => Walls::Seatbelt { profile: super::seatbelt::profile_of(order) },
        #[cfg(not(target_os = "linux"))]
        Tier::A | Tier::B => return Err(no_such_tier()),
        #[cfg(not(target_os = "macos"))]
        Tier::Seatbelt => return Err(no_such_tier()),
    };
    shell::start(&order.command, &order.environment, walls, Limits::of_this_computer()).map(Started::shell)
}

fn no_such_tier() -> io::Error {
    io::Error::other("this system has no such confinement")
}

/// Tier B: writing beneath the allowed folders and the private temporary folder alone.
#[cfg(target_os = "linux")]
fn kernel_walls(Received { order, handles, .. }: &Received) -> io::Result<Walls> {
    use rustix::fs::{Mode, OFlags, open};

    use super::Treatment;
    use super::filter::{Around, Filters};
    use super::ruleset::{self, Demand};

    let temporary = order.environment.iter().find(|(name, _)| name == "TMPDIR").map(|(_, path)| path);
    let temporary = temporary.ok_or_else(|| io::Error::other("there is no temporary folder"))?;
    let temporary = open(temporary.as_str(), OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
    let places = order.places.iter().zip(handles);
    let writable = places.filter(|(place, _)| place.treatment == Treatment::Writable).map(|(_, handle)| handle);
    let ruleset = ruleset::build(writable.chain([&temporary]), order.network, Demand::Third)?;
    let filters = Filters::build(order.network, Around::Landlock)
        .map_err(|error| io::Error::other(format!("seccomp: {error}")))?;
    Ok(Walls::Kernel { ruleset: Box::new(ruleset), filters })
}

/// Waits for the shell's end or for the word to stop, and leaves nothing behind.
fn watch(socket: &UnixStream, started: Started) {
    let process = started.process;
    let mut status = None;
    let mut note = |pid: Pid, ended: WaitStatus| {
        if pid == process {
            status = Some(ended);
        }
    };
    let end = wait_for_end(Some(socket), process, &mut note);
    // The end of the shell itself is reported before the sweep, which may have to wait for a process in the kernel.
    let is_reported = match (end, status) {
        (End::TooManyProcesses, _) => {
            send_report(socket, &Report::TooManyProcesses);
            true
        }
        (End::Ended | End::Stopped, Some(status)) => {
            send_report(socket, &report_of(started, status));
            return tree::end_all(process, &mut |_, _| {});
        }
        (End::Ended | End::Stopped, None) => false,
    };
    tree::end_all(process, &mut |pid, ended| {
        if pid == process {
            status = Some(ended);
        }
    });
    if !is_reported && let Some(status) = status {
        send_report(socket, &report_of(started, status));
    }
}

/// How the shell ended: by what the inner stage says where there is one.
#[cfg(target_os = "linux")]
fn report_of(started: Started, status: WaitStatus) -> Report {
    let Some(pipe) = started.pipe else { return report(status) };
    pipe.read().unwrap_or_else(|| match (status.exit_status(), status.terminating_signal()) {
        // It was killed from outside: by a stop, or because memory ran out.
        (None, Some(signal)) => Report::Signalled(signal),
        // So says bubblewrap of an inner stage that was killed.
        (Some(137), _) => Report::Signalled(libc::SIGKILL),
        (Some(code), _) => Report::Unconfinable(format!("bubblewrap ended with exit code {code}")),
        (None, None) => Report::Unconfinable(format!("bubblewrap is in the unexpected state {status:?}")),
    })
}

#[cfg(not(target_os = "linux"))]
fn report_of(_started: Started, status: WaitStatus) -> Report {
    report(status)
}

/// Why the wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Ended,
    Stopped,
    TooManyProcesses,
}

/// Waits for the shell's end, for the word to stop where there is a socket to hear it on, or for too many processes.
/// Reaps meanwhile whatever ends.
pub(super) fn wait_for_end(socket: Option<&UnixStream>, shell: Pid, note: &mut dyn FnMut(Pid, WaitStatus)) -> End {
    let pidfd = open_pidfd(shell);
    // A signal may come between the look at its flag and the wait; a kernel without pidfds tells nothing of the shell.
    let pause_ms = if pidfd.is_some() { 20 } else { 5 };
    let pause = Timespec { tv_sec: 0, tv_nsec: pause_ms * 1_000_000 };
    let mut running_before = running_processes();
    loop {
        let handles = [socket.map(AsFd::as_fd), pidfd.as_ref().map(AsFd::as_fd)];
        let mut waited: Vec<PollFd<'_>> =
            handles.iter().flatten().map(|handle| PollFd::new(handle, PollFlags::IN)).collect();
        poll(&mut waited, Some(&pause)).ok();
        let is_told_to_stop = socket.is_some() && waited.first().is_some_and(|socket| !socket.revents().is_empty());
        let mut has_ended = false;
        tree::reap(&mut |pid, status| {
            has_ended |= pid == shell;
            note(pid, status);
        });
        if has_ended {
            return End::Ended;
        }
        if is_told_to_stop || TERMINATED.load(Ordering::Relaxed) {
            return End::Stopped;
        }
        // The kernel's own limit does not hold for root. Counted is only where the whole computer has many more.
        let running = running_processes();
        if running > running_before.saturating_add(MOST_PROCESSES) {
            if tree::has_more_threads_than(MOST_PROCESSES, shell) {
                return End::TooManyProcesses;
            }
            // They were others': a computer that has become busy is not counted again and again.
            running_before = running;
        }
    }
}

/// How a process ended, from its own status.
pub(super) fn report(status: WaitStatus) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exited(code),
        (None, Some(signal)) => Report::Signalled(signal),
        (None, None) => Report::Failed(format!("unexpected state {status:?}")),
    }
}

fn harden() -> io::Result<()> {
    setsid()?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    watch_for_termination();
    come_first();
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

/// Closes every descriptor but the three standard ones and `kept`: a careless parent may have left one open that the
/// command must not see.
#[expect(unsafe_code, reason = "closing descriptors by number has no safe form")]
pub(super) fn close_all_but(kept: i32) {
    const FIRST: i32 = 3;
    let close = |first: i32, last: i32| {
        if first > last {
            return;
        }
        #[cfg(target_os = "linux")]
        {
            let (first, last) = (first.cast_unsigned(), last.cast_unsigned());
            // SAFETY: a stage calls this before anything in its process has opened a descriptor that it means to keep, so
            // no owner loses its own.
            if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
                return;
            }
        }
        for descriptor in first..=last.min(4096) {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    };
    if kept < FIRST {
        return close(FIRST, i32::MAX);
    }
    close(FIRST, kept - 1);
    close(kept.saturating_add(1), i32::MAX);
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

//! The inner stage of tier A: process 1 of bubblewrap's namespaces.
//!
//! It checks that the places it finds are those that were approved, starts the shell behind Landlock and seccomp, and
//! reports how that ended. With its own end the kernel ends everything that the shell left behind.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use rustix::fs::{Mode, OFlags, fstat, open, stat};
use rustix::process::{DumpableBehavior, Pid, fchdir, set_dumpable_behavior};
use serde::{Deserialize, Serialize};

use super::channel::{Report, send_report};
use super::filter::{Around, Filters};
use super::limit::Limits;
use super::ruleset::{self, Demand};
use super::shell::{self, Walls};
use super::stage::{End, report, wait_for_end};
use crate::ir::Network;

/// What the inner stage shall run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InnerOrder {
    pub(super) command: String,
    pub(super) environment: Vec<(String, String)>,
    pub(super) network: Network,
    pub(super) cwd: Inside,
    pub(super) writable: Vec<Inside>,
    /// Files in whose place a copy stands.
    pub(super) copied: Vec<OsString>,
    pub(super) home: Option<OsString>,
    /// The descriptor on which it reports.
    pub(super) report: i32,
}

/// A place as it must be found inside: this path, and this very object.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inside {
    path: OsString,
    device: u64,
    inode: u64,
}

impl Inside {
    pub(super) fn of(path: &Path, handle: BorrowedFd<'_>) -> io::Result<Self> {
        let stat = fstat(handle)?;
        Ok(Self { path: path.into(), device: stat.st_dev, inode: stat.st_ino })
    }

    /// Opens it, if it is what was approved.
    fn open(&self) -> io::Result<OwnedFd> {
        let found = open(Path::new(&self.path), OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty())?;
        let stat = fstat(&found)?;
        if (stat.st_dev, stat.st_ino) == (self.device, self.inode) {
            Ok(found)
        } else {
            Err(io::Error::other("a folder is not the one that was approved"))
        }
    }
}

/// Runs the inner stage.
pub(super) fn main() -> ExitCode {
    let mut text = Vec::new();
    let order: InnerOrder = match io::stdin().read_to_end(&mut text).map(|_| serde_json::from_slice(&text)) {
        Ok(Ok(order)) => order,
        Ok(Err(_)) | Err(_) => return super::stage::not_by_hand(),
    };
    let report = adopt_report_pipe(order.report);
    match start(&order) {
        Ok(shell) => {
            let copied = order.copied;
            let ended = wait_for(shell);
            // Whoever renames something over such a file from outside takes the copy away for good.
            let is_kept = copied.iter().all(|path| stands_as_copy(Path::new(path)).unwrap_or(false));
            let ended = if is_kept { ended } else { Report::Exchanged(Box::new(ended)) };
            send_report(&report, &ended);
            ExitCode::SUCCESS
        }
        Err(error) => {
            send_report(&report, &Report::Unconfinable(error.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// Takes over the pipe that was left open for it, and closes every other descriptor that came along.
#[expect(unsafe_code, reason = "an inherited descriptor is known by its number alone")]
fn adopt_report_pipe(number: i32) -> File {
    super::stage::close_all_but(number);
    // SAFETY: the outer stage left this number open for this process, and nothing else here owns it.
    let pipe = unsafe { OwnedFd::from_raw_fd(number) };
    // Without it the pipe's other end would wait for the shell's children too; a failure only means that.
    rustix::io::fcntl_setfd(&pipe, rustix::io::FdFlags::CLOEXEC).ok();
    File::from(pipe)
}

/// The order was this process's standard input: nothing is, from now on.
#[expect(unsafe_code, reason = "the standard input has no owner in the standard library")]
fn forget_order() -> io::Result<()> {
    let nothing = File::open("/dev/null")?;
    // SAFETY: both numbers are open, and nothing here owns the number 0.
    if unsafe { libc::dup2(nothing.as_raw_fd(), 0) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn start(order: &InnerOrder) -> io::Result<Pid> {
    // What the command starts may not look into this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    forget_order()?;
    let mut writable = Vec::with_capacity(order.writable.len() + 3);
    for place in &order.writable {
        writable.push(place.open()?);
    }
    let of_its_own = ["/tmp", "/dev/shm"].into_iter().map(Path::new).chain(order.home.as_deref().map(Path::new));
    for path in of_its_own {
        writable.push(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
    }
    fchdir(order.cwd.open()?)?;
    let ruleset = ruleset::build(writable.iter().map(AsFd::as_fd), order.network, Demand::Any)?;
    let filters = Filters::build(order.network, Around::Namespaces)
        .map_err(|error| io::Error::other(format!("seccomp: {error}")))?;
    let limits = Limits::of_this_computer();
    for path in &order.copied {
        if !stands_as_copy(Path::new(path))? {
            return Err(io::Error::other("another program exchanged a file that the command starts"));
        }
    }
    shell::start(&order.command, &order.environment, Walls::Kernel { ruleset: Box::new(ruleset), filters }, limits)
}

/// Whether a file is the copy that bubblewrap put in its place: they lie where bubblewrap made the root.
fn stands_as_copy(path: &Path) -> io::Result<bool> {
    Ok(stat(path)?.st_dev == stat("/")?.st_dev)
}

/// Reaps whatever ends, until the shell does.
fn wait_for(shell: Pid) -> Report {
    let mut ended = None;
    let end = wait_for_end(None, shell, &mut |pid, status| {
        if pid == shell {
            ended = Some(status);
        }
    });
    match (end, ended) {
        (End::TooManyProcesses, _) => Report::TooManyProcesses,
        (End::Ended | End::Stopped, Some(status)) => report(status),
        (End::Ended | End::Stopped, None) => Report::Failed("the shell's end went unseen".to_owned()),
    }
}

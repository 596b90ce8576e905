//! Tier A from the outside: bubblewrap started with an empty environment, and the inner stage started in it.
//!
//! The inner stage gets its order as a file in memory that is its standard input, and answers on a pipe; neither the order
//! nor a path is in anybody's arguments or environment, where the command could read it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::bubblewrap::{Bound, INNER_PROGRAM, Plan};
use super::channel::{Received, Report, parse_report};
use super::inner::{InnerOrder, Inside};
use super::{INNER_ARGUMENT, Treatment};

/// The pipe on which the inner stage reports.
pub(super) struct ReportPipe(File);

impl ReportPipe {
    /// What was reported: read when bubblewrap has ended, and everything in it with it.
    pub(super) fn read(mut self) -> Option<Report> {
        let mut received = Vec::new();
        // What cannot be read any more is no report.
        self.0.read_to_end(&mut received).ok();
        parse_report(&received)
    }
}

/// Starts the order in bubblewrap. The process is bubblewrap's own: with its end everything in it is ended.
pub(super) fn start(received: &Received) -> io::Result<(Pid, ReportPipe)> {
    let Received { order, cwd, handles } = received;
    let bubblewrap = order.bubblewrap.as_ref().ok_or_else(|| io::Error::other("there is no bubblewrap"))?;
    let helper_path = std::env::current_exe()?;
    let helper = open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let home = order.environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    let home = home.filter(|home| home.is_absolute() && home.parent().is_some());

    let places = order.places.iter().zip(handles).map(|(placed, handle)| Bound {
        path: Path::new(&placed.path),
        treatment: placed.treatment,
        handle: handle.as_raw_fd(),
    });
    let plan = Plan {
        network: order.network,
        home: home.as_deref(),
        helper: Bound { path: &helper_path, treatment: Treatment::ReadOnly, handle: helper.as_raw_fd() },
        places: places.collect(),
        hidden: order.hidden.iter().map(|hidden| (Path::new(&hidden.path), hidden.is_folder)).collect(),
        aliases: order.aliases.iter().map(|(alias, real)| (Path::new(alias), Path::new(real))).collect(),
        submounts: order.submounts.iter().map(PathBuf::from).collect(),
    };
    let options = in_memory(&nul_separated(&bubblewrap.options(&plan)))?;

    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let inner = InnerOrder {
        command: order.command.clone(),
        environment: order.environment.clone(),
        network: order.network,
        cwd: Inside::of(&std::fs::read_link(format!("/proc/self/fd/{}", cwd.as_raw_fd()))?, cwd.as_fd())?,
        writable: plan
            .places
            .iter()
            .zip(handles)
            .filter(|(place, _)| place.treatment == Treatment::Writable)
            .map(|(place, handle)| Inside::of(place.path, handle.as_fd()))
            .collect::<io::Result<_>>()?,
        copied: plan
            .places
            .iter()
            .filter(|place| matches!(place.treatment, Treatment::Copied { .. }))
            .map(|place| place.path.into())
            .collect(),
        home: home.clone().map(OsString::from),
        report: writer.as_raw_fd(),
    };
    let order_file = in_memory(&serde_json::to_vec(&inner)?)?;

    // Only what bubblewrap and the inner stage are to find open stays open across their start.
    for handle in handles.iter().chain([&helper, &writer]) {
        keep_open(handle.as_fd())?;
    }
    keep_open(options.as_fd())?;
    let mut command = Command::new(&bubblewrap.program);
    command
        .args(["--args", &options.as_raw_fd().to_string(), "--", INNER_PROGRAM, INNER_ARGUMENT])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(order_file))
        .process_group(0);
    let child = command.spawn()?;
    drop(writer);
    ioctl_fionbio(&reader, true)?;
    let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    Ok((pid.ok_or_else(|| io::Error::other("no process id"))?, ReportPipe(File::from(reader))))
}

fn nul_separated(words: &[OsString]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in words {
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    bytes
}

/// A file that has no name, with this content, ready to be read.
pub(super) fn in_memory(content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("nod", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

fn keep_open(handle: BorrowedFd<'_>) -> io::Result<()> {
    Ok(fcntl_setfd(handle, FdFlags::empty())?)
}

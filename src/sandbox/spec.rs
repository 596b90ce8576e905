//! What a command is, and what became of it.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use super::{Captured, Confine};

/// A command to run.
#[derive(Debug)]
pub struct CommandSpec {
    /// Exactly the text that the shell gets.
    pub command: String,
    /// The folder that it starts in, opened: it is entered by this handle, never by its path.
    pub cwd: File,
    /// The same folder's path, for `PWD`.
    pub cwd_path: PathBuf,
    /// After how long it is stopped.
    pub timeout: Duration,
    /// How many bytes of text are kept of each stream.
    pub output_bytes: usize,
    /// How it is confined.
    pub confine: Confine,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// How it ended.
    pub ending: Ending,
    /// From its start to its end.
    pub duration: Duration,
    /// Whether another program put something else in the place of what stood there as [`super::Treatment::Copied`].
    pub is_exchanged: bool,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit code.
    Exited(i32),
    /// By a signal that neither the time-out nor a stop sent.
    Signalled(i32),
    /// It had more processes at once than a command may have; it was killed with all that it started.
    TooManyProcesses,
    /// It took too long and was killed with all that it started.
    TimedOut,
    /// The person stopped it; it was killed with all that it started.
    Cancelled,
}

/// Why a command did not run, or why nothing is known of its end.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("commands cannot be run on this system yet")]
    Unsupported,
    #[error("{action} failed: {source}")]
    Io { action: &'static str, source: std::io::Error },
    #[error("the confinement that was approved could not be set up, so nothing ran: {message}")]
    Confinement { message: String },
    #[error("the command could not be started: {message}")]
    Start { message: String },
    #[error("the process that watches over the command was killed, so how the command ended is unknown")]
    HelperLost,
}

/// A signal's name, for example `SIGKILL`; its number where it has no common name.
pub fn signal_name(signal: i32) -> String {
    #[cfg(unix)]
    const NAMES: &[(i32, &str)] = &[
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    #[cfg(not(unix))]
    const NAMES: &[(i32, &str)] = &[];
    NAMES
        .iter()
        .find(|(number, _)| *number == signal)
        .map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

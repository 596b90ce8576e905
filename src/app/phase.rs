//! How far the program is: starting, running, unable to start, closing.

use std::path::PathBuf;

/// How far the program is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    /// The engine is starting.
    #[default]
    Starting,
    Running,
    /// The engine could not start.
    Faulted(StartFault),
    /// Everything is written and stopped.
    Ended,
}

/// Why the engine could not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFault {
    pub kind: StartFaultKind,
    /// The data folder that it was about.
    pub folder: PathBuf,
    /// The error's own words.
    pub detail: String,
}

/// What stands in the way of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StartFaultKind {
    /// The data folder cannot be written.
    ReadOnly,
    /// The data was written by a newer Nod.
    Newer,
    /// No room on the disk.
    NoSpace,
    /// The database is damaged.
    Corrupt,
    /// Another program holds it.
    Locked,
    Other,
}

/// How far closing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Closing {
    #[default]
    No,
    /// Work is running: the person is asked.
    Asked,
    /// The engine stops and writes.
    Quitting,
}

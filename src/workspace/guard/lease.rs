//! What the guard asks of whoever can keep writers from a file: this room makes no such system calls itself.

use std::fmt::Debug;
use std::fs::File;

/// A file that nobody opens for writing while this is kept: whoever would waits.
pub trait Lease: Debug + Send {
    /// Whether somebody waits.
    fn is_wanted(&self) -> bool;
}

/// What came of asking for one.
#[derive(Debug)]
pub enum Leased {
    /// There it is.
    Granted(Box<dyn Lease>),
    /// Somebody has the file open for writing already.
    Busy,
    /// There are none for this file.
    Impossible,
}

/// Asks for a lease on a file that is opened for reading.
pub type TakeLease = fn(File) -> Leased;

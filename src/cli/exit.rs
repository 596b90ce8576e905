//! How a command ended, as the process says it.

use std::process::ExitCode;

/// The exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// Done.
    Done,
    /// Failed.
    Failed,
    /// Bad usage.
    Usage,
    /// Denied, or stopped at a limit.
    Denied,
    /// Interrupted.
    Interrupted,
    /// Its terminal closed.
    HungUp,
    /// Told to end.
    Terminated,
}

impl Exit {
    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::Interrupted => 130,
            // As a shell has it: 128 and the signal's number.
            Self::HungUp => 129,
            Self::Terminated => 143,
        }
    }

    /// From the number; an unknown one is a failure.
    pub fn from_code(code: u8) -> Self {
        [Self::Done, Self::Usage, Self::Denied, Self::Interrupted, Self::HungUp, Self::Terminated]
            .into_iter()
            .find(|exit| exit.code() == code)
            .unwrap_or(Self::Failed)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

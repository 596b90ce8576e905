//! Why something could not be kept or put back.

use std::io::ErrorKind;

use crate::ir::{Code, Failure};
use crate::workspace::WorkspaceError;

/// A failure of the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// More than may be kept.
    #[error("It is larger than the {limit_bytes} bytes that are kept of one change (Settings, Safety).")]
    TooLarge { limit_bytes: u64 },
    /// Something that no copy can be made of.
    #[error("It holds something that cannot be kept: {what}.")]
    Unkeepable { what: String },
    /// The content is not kept any longer.
    #[error("What it would put back is no longer kept.")]
    Gone,
    /// The content is not what it was when it was kept.
    #[error("What was kept is damaged; it is not put back.")]
    Damaged,
    /// Something else is there than what was looked at.
    #[error("Something else is there now than what was looked at; nothing was changed.")]
    Changed,
    /// The allowed folder is not the one that the change was made in.
    #[error("The folder is not the one that the change was made in; nothing was changed.")]
    OtherFolder,
    /// A part of the path is a link now.
    #[error("The path leads elsewhere now, over a link; nothing was changed.")]
    Link,
    #[error("Keeping the old version failed: {0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Workspace(#[from] WorkspaceError),
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let message = error.to_string();
        let code = match error {
            JournalError::Workspace(error) => return error.into(),
            JournalError::TooLarge { .. } => Code::FileTooLarge,
            JournalError::Unkeepable { .. } => Code::SpecialFileDenied,
            JournalError::Gone => Code::PathNotFound,
            JournalError::Damaged => Code::IoError,
            JournalError::Changed => Code::TargetChanged,
            JournalError::OtherFolder | JournalError::Link => Code::PathOutOfScope,
            JournalError::Io(source) => {
                // Open-ended: what has no code of its own is an IO error.
                let is_full = matches!(
                    source.kind(),
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
                );
                if is_full { Code::NoSpace } else { Code::IoError }
            }
        };
        Self::new(code, message)
    }
}

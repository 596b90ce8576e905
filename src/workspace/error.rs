//! What can go wrong at the disk, with the stable code that the model and the person get.

use std::path::PathBuf;

use crate::ir::{Code, Failure};

/// A failure at the person's files.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("{message}")]
    Refused { code: Code, message: String },
    #[error("{action} failed: {source}. Path: {path}")]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Refused { code, message } => Self { code, message },
            WorkspaceError::Io { .. } => Self { code: Code::IoError, message: error.to_string() },
        }
    }
}

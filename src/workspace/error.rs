//! What can go wrong at the disk, with the stable code that the model and the person get.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use crate::ir::{Code, Failure};

/// A failure at the person's files.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("{message}")]
    Refused { code: Code, message: String },
    #[error("{action} failed: {source}. Path: {path}")]
    Io { action: &'static str, path: PathBuf, source: Error },
}

impl WorkspaceError {
    /// A refusal with its sentence; the path goes last.
    pub fn refused(code: Code, sentence: &str, path: &Path) -> Self {
        Self::Refused { code, message: format!("{sentence} Path: {}", path.display()) }
    }

    /// What the operating system answered. `action` begins the sentence, for example "Reading the file".
    pub fn io(action: &'static str, path: &Path, source: Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Refused { code, .. } => *code,
            Self::Io { source, .. } => code_of(source),
        }
    }
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        let code = error.code();
        let message = match &error {
            WorkspaceError::Refused { message, .. } => message.clone(),
            WorkspaceError::Io { action, path, source } => {
                let what = if code == Code::PathNotFound {
                    "There is no such file or folder".to_owned()
                } else if code == Code::NotADirectory {
                    "A part of the path is not a folder".to_owned()
                } else if code == Code::NoSpace {
                    format!("{action} failed: the disk is full; nothing was changed")
                } else if code == Code::PermissionDenied {
                    format!("{action} failed: the operating system does not permit it")
                } else {
                    format!("{action} failed: {source}")
                };
                format!("{what}. Path: {}", path.display())
            }
        };
        Self { code, message }
    }
}

fn code_of(source: &Error) -> Code {
    // The error kinds of the standard library are open-ended: what has no code of its own is an IO error.
    #[expect(clippy::wildcard_enum_match_arm, reason = "not our enum, and marked non-exhaustive")]
    match source.kind() {
        ErrorKind::NotFound => Code::PathNotFound,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Code::PermissionDenied,
        // A file that the system does not let grow further is a full disk to whoever writes it.
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Code::NoSpace,
        ErrorKind::NotADirectory => Code::NotADirectory,
        ErrorKind::IsADirectory => Code::NotAFile,
        ErrorKind::DirectoryNotEmpty => Code::DirectoryNotEmpty,
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput => Code::PathInvalid,
        _ => Code::IoError,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn every_answer_of_the_system_has_its_code() {
        for (errno, code) in [
            (Errno::NOENT, Code::PathNotFound),
            (Errno::ACCESS, Code::PermissionDenied),
            (Errno::PERM, Code::PermissionDenied),
            (Errno::ROFS, Code::PermissionDenied),
            (Errno::NOSPC, Code::NoSpace),
            (Errno::DQUOT, Code::NoSpace),
            (Errno::FBIG, Code::NoSpace),
            (Errno::NOTDIR, Code::NotADirectory),
            (Errno::NOTEMPTY, Code::DirectoryNotEmpty),
            (Errno::NAMETOOLONG, Code::PathInvalid),
            (Errno::IO, Code::IoError),
        ] {
            let failure = Failure::from(WorkspaceError::io("Writing the file", Path::new("/a"), errno.into()));
            assert_eq!(failure.code, code, "{errno:?}");
            assert!(failure.message.ends_with(". Path: /a"), "{}", failure.message);
        }
    }
}

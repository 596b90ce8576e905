//! What can go wrong with what is kept, in categories that a front end can explain and offer a way out of.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode as Sqlite;

use crate::ir;

/// A failure of the store. Nothing of the failed change is kept: every change is one transaction.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing can be written there. Way out: make it writable, another folder, reading only, going on without saving.
    #[error("The data folder cannot be written to. Make it writable or choose another one. Path: {}", path.display())]
    ReadOnly { path: PathBuf },
    /// No room. Way out: free some and try again.
    #[error("The disk is full, so this was not saved. Free some space and try again. Path: {}", path.display())]
    Full { path: PathBuf },
    /// A later Nod wrote it; nothing was touched. Way out: update Nod, or read only (`Store::open_read_only`).
    #[error(
        "The data was written by a newer Nod (format {found}; this one knows up to {known}). Nothing was changed. \
         Update Nod, or open the data for reading only. Path: {}",
        path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// It is damaged. Way out: restore the last backup (`Store::restore`), or open again and start afresh.
    #[error("{}", corrupt_sentence(path, aside.as_deref(), backup.as_deref()))]
    Corrupt {
        path: PathBuf,
        /// Where the damaged file was moved; `None` while it is still in its place.
        aside: Option<PathBuf>,
        /// The newest backup there is.
        backup: Option<PathBuf>,
    },
    /// Another Nod has it open for writing. Way out: use that one, or close it.
    #[error("Another Nod is using this data folder. Use that one, or close it and try again. Path: {}", path.display())]
    Locked { path: PathBuf },
    /// Somebody else could read or change it, or it is not Nod's: it is not opened.
    #[error("The data was not opened: {}. Path: {}", problem.sentence(), path.display())]
    Untrusted { path: PathBuf, problem: Distrust },
    /// There is no such row.
    #[error("There is no {what} “{id}”.")]
    Missing { what: &'static str, id: String },
    /// The row is there already, or stands where the change may not be made.
    #[error("The {what} “{id}” is already there or already done.")]
    Conflict { what: &'static str, id: String },
    /// A stored or imported value is not what it should be.
    #[error("The {what} cannot be read: {source}")]
    Format { what: &'static str, source: serde_json::Error },
    /// An import that contradicts itself; nothing was imported.
    #[error("This export cannot be imported: {problem}.")]
    Import { problem: &'static str },
    /// The operating system reported an error.
    #[error("{action} failed: {source}. Path: {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// SQLite reported something else.
    #[error("The database reported an error: {source}")]
    Sql { source: rusqlite::Error },
    /// The store was closed before.
    #[error("The data is closed already.")]
    Closed,
}

/// Why a database is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distrust {
    /// A link stands in the place of a file.
    Link,
    /// Something that is not a file (or not a folder) stands there.
    NotAFile,
    /// It belongs to another user.
    ForeignOwner,
    /// It is a database of another program.
    ForeignDatabase,
    /// A backup that cannot be read.
    DamagedBackup,
    /// A backup that this computer's key has not sealed, or that was changed since.
    ForeignBackup,
    /// It holds a trigger, view or virtual table that Nod did not make; its name.
    ForeignSchema(String),
}

impl Distrust {
    fn sentence(&self) -> String {
        match self {
            Self::Link => "a link stands in its place; put the real file there".to_owned(),
            Self::NotAFile => "something that is not a file stands in its place".to_owned(),
            Self::ForeignOwner => "it belongs to another user; give it back or choose another folder".to_owned(),
            Self::ForeignDatabase => "the file is another program's database".to_owned(),
            Self::DamagedBackup => "the backup is damaged, or none; nothing was replaced".to_owned(),
            Self::ForeignBackup => "the backup was made on another computer, or its record was changed since; with \
                 --from-elsewhere its conversations are restored, but nothing that was allowed in them"
                .to_owned(),
            Self::ForeignSchema(name) => format!("it holds “{name}”, which Nod did not make"),
        }
    }

    const fn key(&self) -> &'static str {
        match self {
            Self::Link => "store-untrusted-link",
            Self::NotAFile => "store-untrusted-not-a-file",
            Self::ForeignOwner => "store-untrusted-owner",
            Self::ForeignDatabase => "store-untrusted-database",
            Self::DamagedBackup => "store-untrusted-damaged-backup",
            Self::ForeignBackup => "store-untrusted-foreign-backup",
            Self::ForeignSchema(_) => "store-untrusted-schema",
        }
    }
}

fn corrupt_sentence(path: &Path, aside: Option<&Path>, backup: Option<&Path>) -> String {
    let place = aside.map_or_else(
        || format!("Restart Nod to set it aside. Path: {}", path.display()),
        |aside| format!("It was set aside, not deleted: {}", aside.display()),
    );
    let way_out = backup.map_or_else(
        || "There is no backup yet; Nod can start afresh.".to_owned(),
        |backup| format!("The last backup can be restored with `nod restore`: {}", backup.display()),
    );
    format!("The database is damaged. {way_out} {place}")
}

impl StoreError {
    /// The same failure with the path that SQLite does not tell.
    pub(super) fn at(self, database: &Path) -> Self {
        let place = |path: PathBuf| if path.as_os_str().is_empty() { database.to_owned() } else { path };
        match self {
            Self::ReadOnly { path } => Self::ReadOnly { path: place(path) },
            Self::Full { path } => Self::Full { path: place(path) },
            Self::Locked { path } => Self::Locked { path: place(path) },
            Self::Corrupt { path, aside, backup } => Self::Corrupt { path: place(path), aside, backup },
            other @ (Self::Newer { .. }
            | Self::Untrusted { .. }
            | Self::Missing { .. }
            | Self::Conflict { .. }
            | Self::Format { .. }
            | Self::Import { .. }
            | Self::Io { .. }
            | Self::Sql { .. }
            | Self::Closed) => other,
        }
    }

    /// An error of the operating system, sorted into the categories.
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        let kind = source.kind();
        if matches!(kind, io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) {
            Self::ReadOnly { path }
        } else if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            Self::Full { path }
        } else {
            Self::Io { action, path, source }
        }
    }

    /// The key of the sentence in the language files.
    pub fn key(&self) -> &'static str {
        match self {
            Self::ReadOnly { .. } => "store-read-only",
            Self::Full { .. } => "store-full",
            Self::Newer { .. } => "store-newer",
            Self::Corrupt { aside: None, .. } => "store-corrupt-in-place",
            Self::Corrupt { backup: None, .. } => "store-corrupt",
            Self::Corrupt { .. } => "store-corrupt-backup",
            Self::Locked { .. } => "store-locked",
            Self::Untrusted { problem, .. } => problem.key(),
            Self::Missing { .. } => "store-missing",
            Self::Conflict { .. } => "store-conflict",
            Self::Format { .. } => "store-format",
            Self::Import { .. } => "store-import",
            Self::Io { .. } | Self::Sql { .. } => "store-io",
            Self::Closed => "store-closed",
        }
    }

    /// The arguments of that sentence.
    pub fn args(&self) -> Vec<(&'static str, String)> {
        let text = |path: &Path| path.display().to_string();
        match self {
            Self::Corrupt { aside: Some(aside), backup: None, .. } => vec![("aside", text(aside))],
            Self::Corrupt { aside: Some(aside), backup: Some(backup), .. } => {
                vec![("aside", text(aside)), ("backup", text(backup))]
            }
            Self::Untrusted { path, problem: Distrust::ForeignSchema(name) } => {
                vec![("path", text(path)), ("name", name.clone())]
            }
            Self::ReadOnly { path }
            | Self::Full { path }
            | Self::Locked { path }
            | Self::Newer { path, .. }
            | Self::Corrupt { path, aside: None, .. }
            | Self::Untrusted { path, .. } => vec![("path", text(path))],
            Self::Missing { id, .. } | Self::Conflict { id, .. } => vec![("id", id.clone())],
            Self::Format { .. } | Self::Import { .. } | Self::Io { .. } | Self::Sql { .. } => {
                vec![("detail", self.to_string())]
            }
            Self::Closed => Vec::new(),
        }
    }

    /// Whether the same change can work a moment later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::ReadOnly { .. } | Self::Full { .. } | Self::Locked { .. } | Self::Io { .. } => true,
            Self::Newer { .. }
            | Self::Corrupt { .. }
            | Self::Untrusted { .. }
            | Self::Missing { .. }
            | Self::Conflict { .. }
            | Self::Format { .. }
            | Self::Import { .. }
            | Self::Sql { .. }
            | Self::Closed => false,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(failure, _) = &source else { return Self::Sql { source } };
        let path = PathBuf::new();
        // The index of the log could not grow: on every system that means no room.
        if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE {
            return Self::Full { path };
        }
        let code = failure.code;
        if code == Sqlite::DiskFull {
            Self::Full { path }
        } else if matches!(code, Sqlite::ReadOnly | Sqlite::PermissionDenied | Sqlite::CannotOpen) {
            Self::ReadOnly { path }
        } else if matches!(code, Sqlite::DatabaseBusy | Sqlite::DatabaseLocked | Sqlite::FileLockingProtocolFailed) {
            Self::Locked { path }
        } else if matches!(code, Sqlite::DatabaseCorrupt | Sqlite::NotADatabase) {
            Self::Corrupt { path, aside: None, backup: None }
        } else {
            Self::Sql { source }
        }
    }
}

impl From<StoreError> for ir::Error {
    fn from(error: StoreError) -> Self {
        let mapped = Self::new(ir::ErrorCode::Unknown, error.to_string());
        if error.is_retryable() { mapped.retryable() } else { mapped }
    }
}

impl From<StoreError> for ir::Failure {
    /// A call that could not be recorded was not run.
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Full { .. } => ir::Code::NoSpace,
            StoreError::ReadOnly { .. } | StoreError::Untrusted { .. } => ir::Code::PermissionDenied,
            StoreError::Newer { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Locked { .. }
            | StoreError::Missing { .. }
            | StoreError::Conflict { .. }
            | StoreError::Format { .. }
            | StoreError::Import { .. }
            | StoreError::Io { .. }
            | StoreError::Sql { .. }
            | StoreError::Closed => ir::Code::IoError,
        };
        Self::new(code, error.to_string())
    }
}

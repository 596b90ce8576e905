//! An allowed folder, opened.

use std::path::Path;

use super::WorkspaceError;

/// What makes an object of the file system this one and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    pub mount: u64,
    pub links: u64,
    pub bytes: u64,
    /// Nanoseconds since the epoch.
    pub modified_ns: i128,
}

/// An allowed folder: the handle is the capability, the path is for showing. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Root {}

impl Root {
    /// Opens a folder that the person chose.
    ///
    /// # Errors
    /// When it is missing, not a folder or not readable.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let _ = path;
        todo!()
    }

    /// The folder as the person chose it, absolute.
    pub fn path(&self) -> &Path {
        todo!()
    }

    /// Which folder it is.
    pub fn identity(&self) -> Identity {
        todo!()
    }
}

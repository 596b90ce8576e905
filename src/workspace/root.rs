//! An allowed folder, opened.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::{Folder, Identity, WorkspaceError};
use crate::ir::Code;
use crate::policy::TargetKind;

/// An allowed folder: the handle is the capability, the path is for showing. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Root {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: Folder,
    chosen: PathBuf,
    real: PathBuf,
    identity: Identity,
}

impl Root {
    /// Opens a folder that the person chose.
    ///
    /// # Errors
    /// `PATH_INVALID` when the path is not absolute, `PATH_NOT_FOUND`, `NOT_A_DIRECTORY`, `PERMISSION_DENIED`, `IO_ERROR`.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let failed = |source| WorkspaceError::io("Opening the allowed folder", path, source);
        if !path.is_absolute() {
            return Err(WorkspaceError::refused(Code::PathInvalid, "An allowed folder needs its full path.", path));
        }
        let not_a_folder = || WorkspaceError::refused(Code::NotADirectory, "The allowed folder is not a folder.", path);
        let folder = Folder::open_ambient(path).map_err(|source| {
            if source.kind() == ErrorKind::NotFound {
                WorkspaceError::refused(Code::PathNotFound, "The allowed folder does not exist.", path)
            } else if source.kind() == ErrorKind::NotADirectory {
                not_a_folder()
            } else {
                failed(source)
            }
        })?;
        let stat = folder.stat().map_err(failed)?;
        if stat.kind != TargetKind::Folder {
            return Err(not_a_folder());
        }
        // A folder that cannot be listed is of no use, and better said now than at the first call.
        folder.names().map_err(failed)?;
        let given: PathBuf = path.components().collect();
        let real = folder.true_path().unwrap_or_else(|_| given.clone());
        // Paths are compared part by part elsewhere: `..` has no place in an allowed folder's.
        let is_plain = !given.components().any(|part| part == Component::ParentDir);
        let chosen = if is_plain { given } else { real.clone() };
        Ok(Self { inner: Arc::new(Inner { folder, chosen, real, identity: stat.identity }) })
    }

    /// Opens an allowed folder again, which is kept by the path that it really had when the person chose it.
    ///
    /// # Errors
    /// As [`Self::open`]; `TARGET_CHANGED` when a link on the way leads elsewhere now.
    pub fn reopen(path: &Path) -> Result<Self, WorkspaceError> {
        let root = Self::open(path)?;
        if root.path() == root.real_path() {
            return Ok(root);
        }
        let sentence = "The allowed folder is no longer the one that was chosen: a link leads elsewhere now. Ask the \
                        person to remove it from the session and to add it again.";
        Err(WorkspaceError::refused(Code::TargetChanged, sentence, path))
    }

    /// The folder as the person chose it, absolute.
    pub fn path(&self) -> &Path {
        &self.inner.chosen
    }

    /// The folder that the handle really leads to.
    pub fn real_path(&self) -> &Path {
        &self.inner.real
    }

    /// The opened folder.
    pub fn folder(&self) -> &Folder {
        &self.inner.folder
    }

    /// Which folder it is.
    pub fn identity(&self) -> Identity {
        self.inner.identity
    }
}

//! A path resolved once to a handle.

use std::path::Path;

use crate::policy::{RelPath, TargetFacts, TargetKind};

use super::{Identity, Root, WorkspaceError};

/// What a path is resolved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Purpose {
    /// Read a file's bytes, or list or search a folder: what is there is opened, links are followed inside the root.
    Read,
    /// Write a file: the existing file is opened, or its parent (or the deepest folder there is) is held.
    Write,
    /// Make a folder with its parents.
    CreateFolder,
    /// Delete: the parent is held; a link is the link itself.
    Delete,
}

/// A resolved path with the handles that were checked.
#[derive(Debug)]
pub struct Target {}

/// Resolves a path below an allowed folder.
///
/// # Errors
/// `PATH_OUT_OF_SCOPE` when a link leads out (alike for existing and missing), `PATH_NOT_FOUND` for a read or deletion of
/// nothing, `NOT_A_DIRECTORY`, `SPECIAL_FILE_DENIED`, `PERMISSION_DENIED`, `IO_ERROR`.
pub fn resolve(root: &Root, relative: &RelPath, purpose: Purpose) -> Result<Target, WorkspaceError> {
    let _ = (root, relative, purpose);
    todo!()
}

/// Resolves an absolute path outside all allowed folders, for reading only. The handle is opened first, and the path that it
/// really leads to is taken from the handle.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_outside(absolute: &Path) -> Result<Target, WorkspaceError> {
    let _ = absolute;
    todo!()
}

impl Target {
    /// What is there.
    pub fn kind(&self) -> TargetKind {
        todo!()
    }

    /// The absolute path that the handle really leads to, for showing.
    pub fn resolved(&self) -> &Path {
        todo!()
    }

    /// What was there when it was resolved; all zero when nothing was.
    pub fn identity(&self) -> Identity {
        todo!()
    }

    /// What `policy` needs to know of it.
    pub fn facts(&self, given: &str) -> TargetFacts {
        let _ = given;
        todo!()
    }

    /// Whether the same thing, unchanged, is still there: asked through the same handles just before the effect.
    ///
    /// # Errors
    /// When the disk cannot be asked.
    pub fn is_unchanged(&self) -> Result<bool, WorkspaceError> {
        todo!()
    }
}

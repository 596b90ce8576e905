//! The trash of macOS and Windows. Both take a path, so the entry is first moved, through handles, into a folder with a
//! name that nobody can guess: a path that was exchanged on the way leads to nothing there.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::folder::Privacy;
use super::write::private_name;
use super::{Folder, Target, WorkspaceError};

/// Where deleted things go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trash {}

/// Whether it lies in the trash now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Yes,
    /// The system would not take it; it is where it was.
    NoTrash,
}

impl Trash {
    /// The person's trash.
    pub fn of_person(_home: Option<&Path>) -> Self {
        Self {}
    }

    /// The system has one trash only.
    pub fn in_folder(_data_home: PathBuf) -> Self {
        Self {}
    }

    /// Whether the system takes things from this folder.
    pub(super) fn takes(&self, _parent: &Folder) -> bool {
        true
    }

    /// These systems do not say where in the trash a thing went: nothing is put back from there.
    pub(super) fn put_back(
        &self,
        _parent: &Folder,
        _name: &OsStr,
        _resolved: &Path,
        _was: &dyn Fn(&super::Stat) -> bool,
    ) -> std::io::Result<bool> {
        Ok(false)
    }

    /// Moves an entry into the trash, if it is what the target was.
    ///
    /// # Errors
    /// `TARGET_CHANGED` with the entry back at its place, `PERMISSION_DENIED`, `IO_ERROR`.
    pub(super) fn take(&self, parent: &Folder, name: &OsStr, target: &Target) -> Result<Taken, WorkspaceError> {
        let failed = |source: std::io::Error| {
            if source.kind() == ErrorKind::NotFound {
                return target.changed();
            }
            WorkspaceError::io("Moving to the trash", target.resolved(), source)
        };
        let aside = private_name().map_err(failed)?;
        parent.create_folder(&aside, Privacy::Owner).map_err(failed)?;
        let done = (|| {
            let folder = parent.open_folder(&aside).map_err(failed)?;
            parent.rename_new(name, &folder, name).map_err(failed)?;
            let moved = folder.stat_of(name).map_err(failed)?;
            let put_back = || folder.rename_new(name, parent, name).map_err(failed);
            if !target.is_what_was_shown(&moved) {
                put_back()?;
                return Err(target.changed());
            }
            let above = target.resolved().parent().unwrap_or(target.resolved());
            if trash::delete(above.join(&aside).join(name)).is_err() {
                put_back()?;
                return Ok(Taken::NoTrash);
            }
            Ok(Taken::Yes)
        })();
        // Empty now, unless putting back failed: then it keeps the entry.
        parent.remove_folder(&aside).ok();
        done
    }
}

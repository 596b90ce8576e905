//! Making folders through handles.

use std::ffi::OsStr;
use std::io::ErrorKind;

use super::folder::Privacy;
use super::{Folder, Target, WorkspaceError};
use crate::ir::Code;
use crate::policy::TargetKind;

impl Target {
    /// Makes the folder with its parents. Says whether it was made; it may have been there.
    ///
    /// # Errors
    /// `NOT_A_DIRECTORY` when something else is there, `TARGET_CHANGED`, `PERMISSION_DENIED`, `NO_SPACE`, `IO_ERROR`.
    pub fn create_folder(&self) -> Result<bool, WorkspaceError> {
        match (self.stat.kind, &self.parent) {
            (TargetKind::Folder, _) => Ok(false),
            (TargetKind::Missing, Some(parent)) => {
                let made = make_folders(parent, &self.names, self)?;
                made.keep();
                parent.sync();
                Ok(true)
            }
            (TargetKind::Missing | TargetKind::File | TargetKind::Link | TargetKind::Special, _) => {
                Err(WorkspaceError::refused(Code::NotADirectory, "A file is there already.", self.resolved()))
            }
        }
    }

    pub(super) fn changed(&self) -> WorkspaceError {
        let sentence = "Something else is there now than what was looked at; nothing was changed.";
        WorkspaceError::refused(Code::TargetChanged, sentence, self.resolved())
    }
}

/// Makes folders one below the other. None of them may exist: they were missing when the person was asked.
pub(super) fn make_folders(parent: &Folder, names: &[String], target: &Target) -> Result<Made, WorkspaceError> {
    let mut made = Made { folders: Vec::new(), deepest: parent.clone(), kept: false };
    for name in names {
        let name = OsStr::new(name);
        match made.deepest.create_folder(name, Privacy::Umask) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(target.changed()),
            Err(error) => return Err(WorkspaceError::io("Making the folder", target.resolved(), error)),
        }
        let above = made.deepest.clone();
        made.folders.push((above.clone(), name.to_owned()));
        // What was just made is a folder; anything else took its place meanwhile.
        made.deepest = above.open_folder(name).map_err(|_replaced| target.changed())?;
    }
    Ok(made)
}

/// Folders that were made; taken back when dropped, unless kept.
#[derive(Debug)]
pub(super) struct Made {
    folders: Vec<(Folder, std::ffi::OsString)>,
    deepest: Folder,
    kept: bool,
}

impl Made {
    /// The last one, or the folder that was there when none had to be made.
    pub(super) fn deepest(&self) -> &Folder {
        &self.deepest
    }

    /// They stay.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for (above, name) in self.folders.iter().rev() {
            // One that is no longer empty is somebody else's now and stays.
            above.remove_folder(name).ok();
        }
    }
}

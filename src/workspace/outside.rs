//! Reading outside the allowed folders: an absolute path that the model gave as such, after the person said yes.

use std::path::Path;

use super::target::{Object, Place};
use super::{Identity, Purpose, Stat, Target, WorkspaceError};
use crate::ir::Code;
use crate::policy::TargetKind;

/// Resolves an absolute path outside all allowed folders, for reading only. The handle is opened first, and the path that it
/// really leads to is taken from the handle.
///
/// # Errors
/// As [`super::resolve()`].
pub fn resolve_outside(absolute: &Path) -> Result<Target, WorkspaceError> {
    if !absolute.is_absolute() {
        return Err(WorkspaceError::refused(Code::PathInvalid, "The path is not absolute.", absolute));
    }
    open(absolute)
}

impl Target {
    /// A path outside at which nothing could be opened: for asking about it without telling whether it is there.
    pub fn unopened_outside(absolute: &Path) -> Self {
        Self {
            purpose: Purpose::Read,
            stat: Stat {
                kind: TargetKind::Missing,
                identity: Identity::default(),
                is_mount_point: false,
                mode: 0,
                owner: (0, 0),
                changed_ns: 0,
                born_ns: 0,
            },
            resolved: absolute.to_path_buf(),
            place: Place::Outside { asked: absolute.to_path_buf() },
            object: Object::Nothing,
            parent: None,
            names: Vec::new(),
            restorable: std::sync::OnceLock::new(),
            shown_tree: std::sync::OnceLock::new(),
        }
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn open(absolute: &Path) -> Result<Target, WorkspaceError> {
    let failed = |source| WorkspaceError::io("Opening the path", absolute, source);
    let (handle, stat) = super::system::open_outside(absolute).map_err(failed)?;
    let resolved = super::system::path_of_handle(&handle).map_err(failed)?;
    if stat.identity.links == 0 {
        return Err(WorkspaceError::refused(Code::PathNotFound, "There is no such file or folder.", absolute));
    }
    let object = match stat.kind {
        TargetKind::File => Object::File(handle.into()),
        TargetKind::Folder => Object::Folder(super::Folder::from_dir(super::system::as_dir(handle))),
        TargetKind::Missing | TargetKind::Link | TargetKind::Special => {
            let sentence = "It is a pipe, a socket or a device, not a file.";
            return Err(WorkspaceError::refused(Code::SpecialFileDenied, sentence, absolute));
        }
    };
    Ok(Target {
        purpose: Purpose::Read,
        stat,
        resolved,
        place: Place::Outside { asked: absolute.to_path_buf() },
        object,
        parent: None,
        names: Vec::new(),
        restorable: std::sync::OnceLock::new(),
        shown_tree: std::sync::OnceLock::new(),
    })
}

/// Where a handle does not tell its path, no link is followed, so that the path given is the path opened.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn open(absolute: &Path) -> Result<Target, WorkspaceError> {
    use super::Folder;
    use std::path::{Component, PathBuf};

    let failed = |source| WorkspaceError::io("Opening the path", absolute, source);
    let top: PathBuf =
        absolute.components().take_while(|part| matches!(part, Component::Prefix(_) | Component::RootDir)).collect();
    let mut folder = Folder::open_ambient(&top).map_err(failed)?;
    let mut names: Vec<_> = absolute.components().skip(top.components().count()).collect();
    let last = names.pop();
    for name in names {
        folder = folder.open_folder(name.as_os_str()).map_err(failed)?;
    }
    let (stat, object) = match last {
        None => (folder.stat().map_err(failed)?, Object::Folder(folder)),
        Some(name) => match folder.stat_of(name.as_os_str()).map_err(failed)?.kind {
            TargetKind::Folder => {
                let folder = folder.open_folder(name.as_os_str()).map_err(failed)?;
                (folder.stat().map_err(failed)?, Object::Folder(folder))
            }
            TargetKind::File | TargetKind::Missing | TargetKind::Link | TargetKind::Special => {
                let (file, stat) = folder.open_file(name.as_os_str()).map_err(failed)?;
                (stat, Object::File(file))
            }
        },
    };
    Ok(Target {
        purpose: Purpose::Read,
        stat,
        resolved: absolute.to_path_buf(),
        place: Place::Outside { asked: absolute.to_path_buf() },
        object,
        parent: None,
        names: Vec::new(),
        restorable: std::sync::OnceLock::new(),
        shown_tree: std::sync::OnceLock::new(),
    })
}

//! Putting back what was deleted: from the trash, where it is the very thing, or made anew from parts that were kept.
//!
//! Nothing is ever replaced: a name that is taken is an error.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::create::make_folders;
use super::folder::Privacy;
use super::trash::Trash;
use super::write::private_name;
use super::{Folder, Identity, Stat, Target, WorkspaceError};
use crate::policy::TargetKind;

/// Where a thing came back from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    FromTrash,
    /// The trash has it no longer.
    NotInTrash,
}

/// A part of a folder that is made anew. Folders come before what is in them.
pub enum Part {
    Folder { path: Vec<String>, mode: u32 },
    File { path: Vec<String>, mode: u32, content: Box<dyn Read> },
    Link { path: Vec<String>, to: String },
}

impl Target {
    /// Moves the thing back here from the trash. `kind` and `identity` are what it was; of a folder only which one it was
    /// counts.
    ///
    /// # Errors
    /// `TARGET_CHANGED` when something is here now, `PERMISSION_DENIED`, `IO_ERROR`.
    pub fn restore_from(
        &self,
        trash: &Trash,
        kind: TargetKind,
        identity: &Identity,
    ) -> Result<Restored, WorkspaceError> {
        let was = |found: &Stat| {
            found.kind == kind
                && if kind == TargetKind::Folder {
                    found.identity.is_same_object(identity)
                } else {
                    found.identity.is_same_content(identity)
                }
        };
        let put = |parent: &Folder, name: &OsStr| trash.put_back(parent, name, self.resolved(), &was);
        let is_back = self.place_new("Putting it back from the trash", put)?;
        Ok(if is_back { Restored::FromTrash } else { Restored::NotInTrash })
    }

    /// Makes a link here.
    ///
    /// # Errors
    /// `TARGET_CHANGED` when something is here now, `PERMISSION_DENIED`, `IO_ERROR`.
    pub fn make_link(&self, to: &str) -> Result<(), WorkspaceError> {
        self.place_new("Making the link", |parent, name| {
            parent.create_link(name, Path::new(to))?;
            parent.sync();
            Ok(true)
        })
        .map(drop)
    }

    /// Makes a folder with everything in it here: whole under another name first, so that a crash or a full disk leaves
    /// nothing half-made under this one.
    ///
    /// # Errors
    /// `TARGET_CHANGED` when something is here now, `NO_SPACE`, `PERMISSION_DENIED`, `IO_ERROR`, and what a part reports.
    pub fn rebuild(
        &self,
        mode: u32,
        mut parts: impl FnMut() -> std::io::Result<Option<Part>>,
    ) -> Result<(), WorkspaceError> {
        self.place_new("Making the folder again", |parent, name| {
            let aside = private_name()?;
            parent.create_folder(&aside, Privacy::Owner)?;
            let made = fill(&parent.open_folder(&aside)?, mode, &mut parts)
                .and_then(|()| parent.rename_new(&aside, parent, name));
            if let Err(error) = made {
                discard(parent, &aside);
                return Err(error);
            }
            parent.sync();
            Ok(true)
        })
        .map(drop)
    }

    /// Makes the missing folders above and puts something there; folders are taken back where nothing came.
    fn place_new(
        &self,
        action: &'static str,
        put: impl FnOnce(&Folder, &OsStr) -> std::io::Result<bool>,
    ) -> Result<bool, WorkspaceError> {
        let (TargetKind::Missing, Some(parent), Some((name, missing))) =
            (self.stat.kind, &self.parent, self.names.split_last())
        else {
            return Err(self.changed());
        };
        let made = make_folders(parent, missing, self)?;
        let is_there = put(made.deepest(), OsStr::new(name)).map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists {
                self.changed()
            } else {
                WorkspaceError::io(action, self.resolved(), error)
            }
        })?;
        if is_there {
            made.keep();
        }
        Ok(is_there)
    }
}

/// Makes the parts in a new folder. Permissions of folders are set last: one may be closed to its owner too.
fn fill(top: &Folder, mode: u32, parts: &mut dyn FnMut() -> std::io::Result<Option<Part>>) -> std::io::Result<()> {
    let mut folders: Vec<(Folder, u32)> = vec![(top.clone(), mode)];
    while let Some(part) = parts()? {
        match part {
            Part::Folder { path, mode } => {
                let (above, name) = above(top, &path)?;
                above.create_folder(OsStr::new(name), Privacy::Owner)?;
                folders.push((above.open_folder(OsStr::new(name))?, mode));
            }
            Part::File { path, mode, mut content } => {
                let (above, name) = above(top, &path)?;
                let mut file = above.create_file(OsStr::new(name), Privacy::Owner)?;
                std::io::copy(&mut content, &mut file)?;
                super::system::set_mode(&file, mode & 0o1777)?;
                file.sync_all()?;
            }
            Part::Link { path, to } => {
                let (above, name) = above(top, &path)?;
                above.create_link(OsStr::new(name), Path::new(&to))?;
            }
        }
    }
    for (folder, mode) in folders.iter().rev() {
        folder.set_mode(mode & 0o1777)?;
        folder.sync();
    }
    Ok(())
}

/// The folder that a path ends in, below `top`, and its last name.
fn above<'path>(top: &Folder, path: &'path [String]) -> std::io::Result<(Folder, &'path str)> {
    let (name, folders) = path.split_last().ok_or(ErrorKind::InvalidInput)?;
    let mut folder = top.clone();
    for part in folders {
        folder = folder.open_folder(OsStr::new(part))?;
    }
    Ok((folder, name))
}

/// Removes what was half-made, as far as it goes: only what this program just made is in it.
fn discard(parent: &Folder, name: &OsStr) {
    let mut pending = vec![(parent.clone(), name.to_owned(), false)];
    while let Some((folder, name, is_emptied)) = pending.pop() {
        if is_emptied || folder.remove_file(&name).is_ok() {
            folder.remove_folder(&name).ok();
            continue;
        }
        let Ok(inside) = folder.open_folder(&name) else { continue };
        pending.push((folder, name, true));
        pending.extend(inside.names().unwrap_or_default().into_iter().map(|name| (inside.clone(), name, false)));
    }
}

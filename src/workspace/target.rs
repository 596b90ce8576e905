//! A path resolved once to a handle.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Folder, Identity, Root, Stat, Survey, WorkspaceError, resolve, resolve_outside, survey, system};
use crate::ir::Code;
use crate::policy::{PathPlace, RelPath, TargetFacts, TargetKind};

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
pub struct Target {
    pub(super) purpose: Purpose,
    pub(super) stat: Stat,
    pub(super) resolved: PathBuf,
    pub(super) place: Place,
    pub(super) object: Object,
    /// The folder that holds it, or the deepest folder that there is; none for an allowed folder itself and outside.
    pub(super) parent: Option<Folder>,
    /// Its name in `parent`; when it is missing, followed by the names that are missing below.
    pub(super) names: Vec<String>,
    /// Whether deleting it can be taken back, as the person was told; empty when nobody asked.
    pub(super) restorable: std::sync::OnceLock<bool>,
    /// The digest of the tree in it, as the person was shown it; empty when nobody was.
    pub(super) shown_tree: std::sync::OnceLock<String>,
}

/// Where it lies.
#[derive(Debug)]
pub(super) enum Place {
    Inside { root: Root, given: RelPath, resolved: RelPath },
    Outside { asked: PathBuf },
}

/// What was opened.
#[derive(Debug)]
pub(super) enum Object {
    /// Nothing: it is missing, or only its name matters.
    Nothing,
    File(File),
    Folder(Folder),
}

impl Target {
    /// What is there.
    pub fn kind(&self) -> TargetKind {
        self.stat.kind
    }

    /// What it was resolved for.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Its permission bits, where the system has them, with the owning group's own rights where there is an access list; 0
    /// for what is missing.
    pub fn mode(&self) -> u32 {
        match &self.object {
            Object::File(file) => system::own_bits(file, self.stat.mode),
            Object::Folder(folder) => folder.own_bits(self.stat.mode),
            Object::Nothing => self.stat.mode,
        }
    }

    /// How many folders a write or a new folder would make, a new folder itself included.
    pub fn missing_folders(&self) -> u32 {
        let missing = match (self.stat.kind, self.purpose) {
            (TargetKind::Missing, Purpose::CreateFolder) => self.names.len(),
            (TargetKind::Missing, _) => self.names.len().saturating_sub(1),
            (TargetKind::File | TargetKind::Folder | TargetKind::Link | TargetKind::Special, _) => 0,
        };
        u32::try_from(missing).unwrap_or(u32::MAX)
    }

    /// The absolute path that the handle really leads to, for showing.
    pub fn resolved(&self) -> &Path {
        &self.resolved
    }

    /// What was there when it was resolved; all but the mount is zero when nothing was.
    pub fn identity(&self) -> Identity {
        self.stat.identity
    }

    /// When anything of it last changed, by the kernel's word, in nanoseconds since the epoch; 0 where it does not say.
    pub fn changed_ns(&self) -> i128 {
        self.stat.changed_ns
    }

    /// The allowed folder that it lies in; `None` for a path outside.
    pub fn root(&self) -> Option<&Root> {
        match &self.place {
            Place::Inside { root, .. } => Some(root),
            Place::Outside { .. } => None,
        }
    }

    /// The path below its allowed folder that the handle leads to; `None` for a path outside.
    pub fn resolved_relative(&self) -> Option<&RelPath> {
        match &self.place {
            Place::Inside { resolved, .. } => Some(resolved),
            Place::Outside { .. } => None,
        }
    }

    /// The opened folder, to list, to search or to walk from.
    ///
    /// # Errors
    /// `NOT_A_DIRECTORY` when it is none.
    pub fn folder(&self) -> Result<&Folder, WorkspaceError> {
        match &self.object {
            Object::Folder(folder) => Ok(folder),
            Object::Nothing | Object::File(_) => {
                Err(WorkspaceError::refused(Code::NotADirectory, "It is not a folder.", &self.resolved))
            }
        }
    }

    /// The opened file. Its reading position is shared by all who read it: begin with a seek, or clone and read by one.
    ///
    /// # Errors
    /// `NOT_A_FILE` when it is a folder, `PATH_NOT_FOUND` when nothing is there.
    pub fn file(&self) -> Result<&File, WorkspaceError> {
        match &self.object {
            Object::File(file) => Ok(file),
            Object::Folder(_) => Err(self.not_a_file()),
            Object::Nothing => {
                Err(WorkspaceError::refused(Code::PathNotFound, "There is no such file.", &self.resolved))
            }
        }
    }

    pub(super) fn not_a_file(&self) -> WorkspaceError {
        WorkspaceError::refused(Code::NotAFile, "It is a folder, not a file.", &self.resolved)
    }

    /// Everything in the folder, for the question: from now on another tree there is a change of what was shown.
    ///
    /// # Errors
    /// `NOT_A_DIRECTORY` when it is no folder, and when it cannot be listed.
    pub fn show_tree(&self) -> Result<Survey, WorkspaceError> {
        let found = survey(self.folder()?, &self.resolved)?;
        self.shown_tree.get_or_init(|| found.digest.clone());
        Ok(found)
    }

    /// What tells the tree that was shown from any other; `None` where none was.
    pub fn shown_tree(&self) -> Option<&str> {
        self.shown_tree.get().map(String::as_str)
    }

    /// Whether the folder holds what was shown; yes where nothing was.
    pub(super) fn holds_what_was_shown(&self) -> bool {
        self.shown_tree.get().is_none_or(|shown| {
            let now = self.folder().and_then(|folder| survey(folder, &self.resolved));
            now.is_ok_and(|now| now.digest == *shown)
        })
    }

    /// What `policy` needs to know of it.
    pub fn facts(&self, given: &str) -> TargetFacts {
        let (place, other_mount) = match &self.place {
            Place::Inside { root, given, resolved } => {
                let place = PathPlace::Inside {
                    root: root.path().to_path_buf(),
                    relative: given.clone(),
                    resolved_relative: resolved.clone(),
                };
                (place, self.stat.identity.mount != root.identity().mount)
            }
            Place::Outside { .. } => (PathPlace::Outside, false),
        };
        TargetFacts {
            given: given.to_owned(),
            place,
            resolved: self.resolved.clone(),
            kind: self.stat.kind,
            links: self.stat.identity.links.max(1),
            other_mount,
            is_mount_point: self.stat.is_mount_point,
            is_home: self.is_home(),
            lifted: false,
            reaches: Vec::new(),
        }
    }

    /// Whether it is somebody's home folder: this person's by identity, anybody's by where homes are.
    pub(super) fn is_home(&self) -> bool {
        if self.stat.kind != TargetKind::Folder {
            return false;
        }
        let own = directories::BaseDirs::new()
            .and_then(|dirs| Folder::open_ambient(dirs.home_dir()).ok())
            .and_then(|folder| folder.stat().ok());
        let is_own = own.is_some_and(|own| own.identity.inode != 0 && own.identity.is_same_object(&self.stat.identity));
        let above = self.resolved.parent();
        let is_anybodys = above.is_some_and(|above| above == Path::new("/home") || above == Path::new("/Users"));
        is_own || is_anybodys || self.resolved == Path::new("/root")
    }

    /// Whether the same thing, unchanged, is still there: asked through the same handles just before the effect, and
    /// once more along the way that was shown.
    ///
    /// # Errors
    /// When the disk cannot be asked.
    pub fn is_unchanged(&self) -> Result<bool, WorkspaceError> {
        let failed = |source| WorkspaceError::io("Looking at the path again", &self.resolved, source);
        let through_handle = match (&self.object, &self.parent, self.names.first()) {
            (Object::File(file), _, _) => Some(system::stat_handle(file).map_err(failed)?),
            (Object::Folder(folder), _, _) => Some(folder.stat().map_err(failed)?),
            (Object::Nothing, Some(parent), Some(name)) => match parent.stat_of(OsStr::new(name)) {
                Ok(stat) => Some(stat),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(error) => return Err(failed(error)),
            },
            (Object::Nothing, _, _) => None,
        };
        if !self.is_same(through_handle.as_ref()) || !self.holds_what_was_shown() {
            return Ok(false);
        }
        let again = match &self.place {
            Place::Inside { root, given, .. } => resolve(root, given, self.purpose),
            Place::Outside { asked } => resolve_outside(asked),
        };
        // Whatever stops the same walk now is a change of what was shown.
        let Ok(again) = again else { return Ok(false) };
        let now = (again.stat.kind != TargetKind::Missing).then_some(&again.stat);
        Ok(again.resolved == self.resolved && self.is_same(now) && self.has_parent_of(&again)?)
    }

    /// Whether what is there now is what was there. Of a folder only which one it is counts here: its time and size change
    /// with every file in it, and what is in it counts only where it was shown.
    fn is_same(&self, now: Option<&Stat>) -> bool {
        match (self.stat.kind, now) {
            (TargetKind::Missing, None) => true,
            (TargetKind::Missing, Some(_)) | (_, None) => false,
            (TargetKind::Folder, Some(now)) => {
                now.kind == TargetKind::Folder && now.identity.is_same_object(&self.stat.identity)
            }
            (TargetKind::File | TargetKind::Link | TargetKind::Special, Some(now)) => {
                // The time of writing may have been set back; the kernel's own time of change may not.
                now.kind == self.stat.kind
                    && now.identity.is_same_content(&self.stat.identity)
                    && now.changed_ns == self.stat.changed_ns
            }
        }
    }

    fn has_parent_of(&self, other: &Self) -> Result<bool, WorkspaceError> {
        let failed = |source| WorkspaceError::io("Looking at the path again", &self.resolved, source);
        match (&self.parent, &other.parent) {
            (None, None) => Ok(true),
            (Some(ours), Some(theirs)) => {
                let (ours, theirs) = (ours.stat().map_err(failed)?, theirs.stat().map_err(failed)?);
                Ok(self.names == other.names && ours.identity.is_same_object(&theirs.identity))
            }
            (None, Some(_)) | (Some(_), None) => Ok(false),
        }
    }
}

//! Carrying one step out: look once more through handles, keep what is there, then put the other version in its place.
//!
//! The two halves are apart, so that whoever records it can do so in between: after `prepare` what takes this very step back
//! is on the disk, and nothing has changed yet.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::keep::{Kept, keep, look};
use super::{Images, JournalError, is_same, tree};
use crate::ir::{Code, FileState, ObjectId, UndoEntry, UndoOperation, UndoPlace};
use crate::policy::{RelPath, TargetFacts, TargetKind};
use crate::workspace::{Extent, FileReader, Identity, Mode, Purpose, Restored, Root, Target, Trash, resolve};

/// What a step works with.
#[derive(Debug, Clone)]
pub struct Means {
    pub images: Images,
    pub trash: Trash,
    /// The most that is kept of one path, in bytes.
    pub limit_bytes: u64,
}

/// A step that is ready to be carried out: what is there now is kept.
#[derive(Debug)]
pub struct Deed {
    entry: UndoEntry,
    root: Root,
    /// What is there; a link is the link itself.
    here: Option<Target>,
    found: Kept,
    made_folders: u32,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Carried,
    /// It was that way already.
    AlreadySo,
    /// The folder holds something and stays.
    NotEmpty,
}

impl Deed {
    /// What is at an entry's path now, with what is needed to show it kept: nothing is changed.
    ///
    /// # Errors
    /// `OtherFolder`, `Link`, and what the disk reports.
    pub fn look(entry: &UndoEntry, means: &Means) -> Result<FileState, JournalError> {
        let root = open_root(&entry.place)?;
        let Some(here) = find(&root, &entry.place)? else { return Ok(FileState::Missing) };
        Ok(match here.kind() {
            TargetKind::File => match keep(&here, &means.images, means.limit_bytes) {
                Ok(kept) => kept.state,
                // Too large to be kept, or no room: known by its content all the same.
                Err(_not_kept) => FileState::File {
                    hash: Some(digest(&here)?),
                    bytes: here.identity().bytes,
                    mode: here.mode(),
                    object: Some(super::object_of(&here.identity())),
                },
            },
            TargetKind::Folder if needs_contents(entry) => match keep(&here, &means.images, means.limit_bytes) {
                Ok(kept) => kept.state,
                Err(_too_much) => look(&here),
            },
            TargetKind::Folder => FileState::Folder,
            TargetKind::Link | TargetKind::Missing | TargetKind::Special => look(&here),
        })
    }

    /// Looks, and keeps what is there.
    ///
    /// # Errors
    /// `OtherFolder`, `Link`; `Io` when the disk is full; what cannot be kept is an error only where no trash takes it.
    pub fn prepare(entry: UndoEntry, means: &Means) -> Result<Self, JournalError> {
        let root = open_root(&entry.place)?;
        let here = find(&root, &entry.place)?;
        let mut made_folders = 0;
        let found = match &here {
            None => {
                if entry.before != FileState::Missing {
                    made_folders = resolved(&root, &entry.place, purpose_of(&entry.before))?.missing_folders();
                }
                Kept { state: FileState::Missing, images: Vec::new() }
            }
            Some(here) if here.kind() == TargetKind::Folder && !needs_contents(&entry) => {
                Kept { state: FileState::Folder, images: Vec::new() }
            }
            Some(here) => match keep(here, &means.images, means.limit_bytes) {
                Ok(kept) => kept,
                Err(error) if !here.is_restorable_after_delete(&means.trash) => return Err(error),
                Err(_trash_takes_it) => Kept { state: look(here), images: Vec::new() },
            },
        };
        Ok(Self { entry, root, here, found, made_folders })
    }

    /// What is there now.
    pub fn found(&self) -> &Kept {
        &self.found
    }

    /// What will be there.
    pub fn goal(&self) -> &FileState {
        &self.entry.before
    }

    /// How many folders it will make.
    pub fn made_folders(&self) -> u32 {
        self.made_folders
    }

    /// Whether what is there is what was left there.
    pub fn fits(&self) -> bool {
        is_same(&self.entry.after, &self.found.state)
    }

    /// Whether what it would do is done.
    pub fn is_already_so(&self) -> bool {
        !self.fits() && is_same(&self.entry.before, &self.found.state)
    }

    /// The facts that a judge needs.
    pub fn facts(&self) -> Option<TargetFacts> {
        let given = self.entry.place.path.as_str();
        match &self.here {
            Some(here) => Some(here.facts(given)),
            None => {
                resolved(&self.root, &self.entry.place, purpose_of(&self.entry.before)).ok().map(|it| it.facts(given))
            }
        }
    }

    /// Puts the other version in place. Whether it may although somebody changed what is there was decided before: that is
    /// kept by now.
    ///
    /// # Errors
    /// `Changed` when something changed since `prepare`; `Gone`, `Damaged`; what the disk reports. Nothing was replaced then.
    pub fn act(&self, means: &Means) -> Result<Done, JournalError> {
        if self.found.state != FileState::Missing && is_same(&self.entry.before, &self.found.state) {
            return Ok(Done::AlreadySo);
        }
        match (&self.entry.before, &self.found.state) {
            (FileState::Missing, FileState::Missing) | (FileState::Folder, FileState::Tree { .. }) => {
                Ok(Done::AlreadySo)
            }
            (FileState::Missing, FileState::Folder) => self.remove_folders(),
            (FileState::Missing, FileState::File { .. } | FileState::Link { .. } | FileState::Tree { .. }) => {
                self.clear(means, self.entry.operation == UndoOperation::Deleted)?;
                self.remove_made_folders()?;
                Ok(Done::Carried)
            }
            (FileState::File { hash, .. }, FileState::File { .. }) => {
                let target = self.target(Purpose::Write)?;
                let is_ours = self.here.as_ref().is_some_and(|here| here.identity() == target.identity());
                if !is_ours {
                    return Err(JournalError::Changed);
                }
                let hash = hash.as_deref().ok_or(JournalError::Gone)?;
                target.write_from(&mut means.images.open_image(hash)?, Mode::AsItWas)?;
                Ok(Done::Carried)
            }
            (goal, _) => {
                // All that is needed must be there before anything makes way for it.
                self.check_means(means)?;
                if self.here.is_some() {
                    self.clear(means, false)?;
                }
                self.put_new(goal, means)?;
                Ok(Done::Carried)
            }
        }
    }

    fn check_means(&self, means: &Means) -> Result<(), JournalError> {
        let needed = match &self.entry.before {
            FileState::File { hash: Some(hash), .. } | FileState::Tree { manifest: Some(hash), .. } => hash,
            // Only the trash can have it.
            FileState::File { hash: None, .. } | FileState::Tree { manifest: None, .. } if self.here.is_some() => {
                return Err(JournalError::Changed);
            }
            FileState::Missing
            | FileState::Folder
            | FileState::Link { .. }
            | FileState::File { .. }
            | FileState::Tree { .. } => return Ok(()),
        };
        let from_trash = self.here.is_none() && self.entry.operation == UndoOperation::Deleted;
        if from_trash || means.images.has(needed) { Ok(()) } else { Err(JournalError::Gone) }
    }

    /// Puts something where nothing is.
    fn put_new(&self, goal: &FileState, means: &Means) -> Result<(), JournalError> {
        match goal {
            FileState::Missing => Ok(()),
            FileState::Folder => {
                self.target(Purpose::CreateFolder)?.create_folder()?;
                Ok(())
            }
            FileState::Link { to } => Ok(self.target(Purpose::Write)?.make_link(to)?),
            FileState::File { hash, mode, object, .. } => {
                let target = self.target(Purpose::Write)?;
                if self.came_back(&target, TargetKind::File, object.as_ref(), means)? {
                    return Ok(());
                }
                let hash = hash.as_deref().ok_or(JournalError::Gone)?;
                let mode = if *mode == 0 { Mode::AsItWas } else { Mode::Exactly(*mode) };
                target.write_from(&mut means.images.open_image(hash)?, mode)?;
                Ok(())
            }
            FileState::Tree { manifest, object, .. } => {
                let target = self.target(Purpose::CreateFolder)?;
                if self.came_back(&target, TargetKind::Folder, object.as_ref(), means)? {
                    return Ok(());
                }
                tree::rebuild(&target, &means.images, manifest.as_deref().ok_or(JournalError::Gone)?)
            }
        }
    }

    /// Whether a deleted thing itself came back from the trash.
    fn came_back(
        &self,
        target: &Target,
        kind: TargetKind,
        object: Option<&ObjectId>,
        means: &Means,
    ) -> Result<bool, JournalError> {
        let (UndoOperation::Deleted, Some(object)) = (self.entry.operation, object) else { return Ok(false) };
        let identity = Identity {
            device: object.device,
            inode: object.inode,
            bytes: object.bytes,
            modified_ns: i128::from(object.modified_ns),
            ..Identity::default()
        };
        Ok(target.restore_from(&means.trash, kind, &identity)? == Restored::FromTrash)
    }

    /// Takes away what is there; it is kept, or goes to the trash.
    fn clear(&self, means: &Means, to_trash: bool) -> Result<(), JournalError> {
        let Some(here) = &self.here else { return Ok(()) };
        let trash_takes_it = here.is_restorable_after_delete(&means.trash);
        if trash_takes_it && (to_trash || !self.found.is_whole()) {
            here.delete(Extent::Tree, std::slice::from_ref(&self.root), &means.trash, &|| false)?;
        } else if self.found.is_whole() {
            here.delete_kept(Extent::Tree, &|| false)?;
        } else {
            return Err(JournalError::TooLarge { limit_bytes: means.limit_bytes });
        }
        Ok(())
    }

    /// Takes the folder away that was made, and those that were made above it, as long as they are empty.
    fn remove_folders(&self) -> Result<Done, JournalError> {
        let Some(here) = &self.here else { return Ok(Done::AlreadySo) };
        if !here.remove_if_empty()? {
            return Ok(Done::NotEmpty);
        }
        self.remove_above(self.entry.made_folders.saturating_sub(1))?;
        Ok(Done::Carried)
    }

    /// Takes away the folders that were made for a file.
    fn remove_made_folders(&self) -> Result<(), JournalError> {
        let was_made = matches!(self.entry.operation, UndoOperation::Created | UndoOperation::Changed);
        self.remove_above(if was_made { self.entry.made_folders } else { 0 })
    }

    fn remove_above(&self, count: u32) -> Result<(), JournalError> {
        let mut parts = self.parts()?;
        for _ in 0..count {
            parts.pop();
            let Some(path) = RelPath::from_parts(parts.clone()).filter(|path| !path.is_empty()) else { break };
            let above = resolve(&self.root, &path, Purpose::Delete)?;
            if above.kind() != TargetKind::Folder || !above.remove_if_empty()? {
                break;
            }
        }
        Ok(())
    }

    fn target(&self, purpose: Purpose) -> Result<Target, JournalError> {
        resolved(&self.root, &self.entry.place, purpose)
    }

    fn parts(&self) -> Result<Vec<String>, JournalError> {
        Ok(relative(&self.entry.place)?.parts().to_vec())
    }
}

/// The old version of an entry, to be written beside what is there now: where, and what it will be. `write` does it.
///
/// # Errors
/// `Gone` when there is none; `OtherFolder`, `Link`, and what the disk reports.
pub fn save_beside(
    entry: &UndoEntry,
    means: &Means,
) -> Result<(UndoPlace, impl FnOnce() -> Result<(), JournalError> + use<>), JournalError> {
    const MOST_NAMES: usize = 1000;
    if matches!(entry.before, FileState::Missing | FileState::Folder) {
        return Err(JournalError::Gone);
    }
    let root = open_root(&entry.place)?;
    for number in 1..MOST_NAMES {
        let place = UndoPlace { path: beside(&entry.place.path, number), ..entry.place.clone() };
        if find(&root, &place)?.is_some() {
            continue;
        }
        let target = resolved(&root, &place, purpose_of(&entry.before))?;
        let (images, state) = (means.images.clone(), entry.before.clone());
        let write = move || match state {
            FileState::File { hash: Some(hash), mode, .. } => {
                let mode = if mode == 0 { Mode::AsItWas } else { Mode::Exactly(mode) };
                target.write_from(&mut images.open_image(&hash)?, mode)?;
                Ok(())
            }
            FileState::Tree { manifest: Some(manifest), .. } => tree::rebuild(&target, &images, &manifest),
            FileState::Link { to } => Ok(target.make_link(&to)?),
            FileState::Missing | FileState::Folder | FileState::File { .. } | FileState::Tree { .. } => {
                Err(JournalError::Gone)
            }
        };
        return Ok((place, write));
    }
    Err(JournalError::Changed)
}

/// `report.md` is `report.old.md`, then `report.old-2.md`.
fn beside(path: &str, number: usize) -> String {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let mark = if number == 1 { "old".to_owned() } else { format!("old-{number}") };
    let name = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => format!("{stem}.{mark}.{extension}"),
        Some(_) | None => format!("{name}.{mark}"),
    };
    if folder.is_empty() { name } else { format!("{folder}/{name}") }
}

/// Whether a folder at the entry's path is a folder with everything in it.
fn needs_contents(entry: &UndoEntry) -> bool {
    !matches!(entry.after, FileState::Folder) && !matches!(entry.before, FileState::Folder)
}

fn purpose_of(goal: &FileState) -> Purpose {
    match goal {
        FileState::Folder | FileState::Tree { .. } => Purpose::CreateFolder,
        FileState::Missing | FileState::File { .. } | FileState::Link { .. } => Purpose::Write,
    }
}

fn relative(place: &UndoPlace) -> Result<RelPath, JournalError> {
    let parts = place.path.split('/').map(str::to_owned).collect();
    RelPath::from_parts(parts).ok_or(JournalError::Damaged)
}

/// The allowed folder of a place, if it is the one that the change was made in.
pub(super) fn open_root(place: &UndoPlace) -> Result<Root, JournalError> {
    let root = Root::open(Path::new(&place.folder))?;
    let identity = root.identity();
    if (identity.device, identity.inode) == (place.device, place.inode) {
        Ok(root)
    } else {
        Err(JournalError::OtherFolder)
    }
}

/// What is at a place, a link being the link itself; `None` for nothing.
fn find(root: &Root, place: &UndoPlace) -> Result<Option<Target>, JournalError> {
    match resolve(root, &relative(place)?, Purpose::Delete) {
        Ok(target) => on_its_way(target, place).map(Some),
        Err(error) if error.code() == Code::PathNotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What an entry is about: what is at its path, a link being the link itself, or what will be.
pub(super) fn found_or_coming(entry: &UndoEntry) -> Result<Target, JournalError> {
    let root = open_root(&entry.place)?;
    match find(&root, &entry.place)? {
        Some(here) => Ok(here),
        None => resolved(&root, &entry.place, purpose_of(&entry.before)),
    }
}

fn resolved(root: &Root, place: &UndoPlace, purpose: Purpose) -> Result<Target, JournalError> {
    on_its_way(resolve(root, &relative(place)?, purpose)?, place)
}

/// A path that once led here without any link must still do so.
fn on_its_way(target: Target, place: &UndoPlace) -> Result<Target, JournalError> {
    let leads_there = target.resolved_relative().is_some_and(|path| path.to_slash() == place.path);
    if leads_there { Ok(target) } else { Err(JournalError::Link) }
}

fn digest(target: &Target) -> Result<String, JournalError> {
    let file = target.open_to_keep()?;
    let mut hasher = HashWriter(Sha256::new());
    std::io::copy(&mut FileReader::new(&file), &mut hasher)?;
    Ok(hex::encode(hasher.0.finalize()))
}

struct HashWriter(Sha256);

impl std::io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_version_has_a_name_of_its_own_beside_the_new_one() {
        assert_eq!(beside("a/report.md", 1), "a/report.old.md");
        assert_eq!(beside("report.tar.gz", 2), "report.tar.old-2.gz");
        assert_eq!(beside("Makefile", 1), "Makefile.old");
        assert_eq!(beside(".profile", 1), ".profile.old");
    }
}

//! The plan of an undo: which steps in which order, and which of them fit what is there now. Pure.
//!
//! Steps are tried on a picture of the paths, one after the other: what an earlier step will leave is what a later one finds.

use std::collections::HashMap;

use crate::ir::{FileState, UndoDirection, UndoEntry, UndoPlace};

/// One step, and whether it fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    /// Index into the entries.
    pub index: usize,
    pub fit: Fit,
    /// What the step finds, as far as that can be foretold: an earlier step may have put a whole folder there.
    pub found: Option<FileState>,
}

/// Whether a step fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// What is there is what was left there.
    Clean,
    /// What it would do is done.
    AlreadySo,
    /// Somebody changed it since.
    Conflict,
    /// A later change of the same path does not fit: this one follows the choice made for that.
    Follows,
}

/// What tools did, in the order in which it is taken back or done again: newest first to undo, oldest first to redo.
pub fn ordered(mut entries: Vec<UndoEntry>, direction: UndoDirection) -> Vec<UndoEntry> {
    // Ids sort by time.
    entries.sort_by(|one, other| one.id.cmp(&other.id));
    match direction {
        UndoDirection::Undo => entries.reverse(),
        UndoDirection::Redo => {}
    }
    entries
}

/// Tries the steps. `present` is what is at each entry's path now.
pub fn sketch(entries: &[UndoEntry], present: &[FileState]) -> Vec<Sketch> {
    let mut picture: HashMap<&UndoPlace, Option<FileState>> = HashMap::new();
    let mut blocked: Vec<&UndoPlace> = Vec::new();
    let mut sketches = Vec::with_capacity(entries.len());
    for (index, (entry, now)) in entries.iter().zip(present).enumerate() {
        let place = &entry.place;
        if blocked.contains(&place) {
            sketches.push(Sketch { index, fit: Fit::Follows, found: None });
            continue;
        }
        let is_moved = picture.keys().any(|other| holds(other, place) || holds(place, other));
        let found = match picture.get(place) {
            Some(found) => found.clone(),
            // A step above or below it changes what is here.
            None if is_moved => None,
            None => Some(now.clone()),
        };
        let fit = match &found {
            None => Fit::Clean,
            Some(found) if is_same(&entry.after, found) => Fit::Clean,
            Some(found) if is_same(&entry.before, found) => Fit::AlreadySo,
            Some(_) => Fit::Conflict,
        };
        match fit {
            Fit::Clean | Fit::AlreadySo => {
                picture.insert(place, Some(entry.before.clone()));
            }
            Fit::Conflict | Fit::Follows => blocked.push(place),
        }
        sketches.push(Sketch { index, fit, found });
    }
    sketches
}

/// Whether what is found is what is remembered: the same content. Permissions and times do not count.
pub fn is_same(remembered: &FileState, found: &FileState) -> bool {
    match (remembered, found) {
        (FileState::Missing, FileState::Missing) | (FileState::Folder, FileState::Folder | FileState::Tree { .. }) => {
            true
        }
        (FileState::File { hash: Some(one), .. }, FileState::File { hash: Some(other), .. })
        | (FileState::Link { to: one }, FileState::Link { to: other })
        | (FileState::Tree { manifest: Some(one), .. }, FileState::Tree { manifest: Some(other), .. }) => one == other,
        (FileState::File { object: Some(one), .. }, FileState::File { object: Some(other), .. }) => one == other,
        // Too much to be kept: known by which folder it is.
        (FileState::Tree { object: Some(one), .. }, FileState::Tree { object: Some(other), .. }) => {
            (one.device, one.inode) == (other.device, other.inode)
        }
        (
            FileState::Missing
            | FileState::Folder
            | FileState::File { .. }
            | FileState::Link { .. }
            | FileState::Tree { .. },
            _,
        ) => false,
    }
}

/// Whether `outer` is a folder that `inner` lies in.
fn holds(outer: &UndoPlace, inner: &UndoPlace) -> bool {
    (&outer.folder, outer.device, outer.inode) == (&inner.folder, inner.device, inner.inode)
        && inner.path.strip_prefix(outer.path.as_str()).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{CallId, SessionId, UndoId, UndoOperation, UndoState, UnixMs};

    fn file(content: &str) -> FileState {
        super::super::expected(content.as_bytes())
    }

    fn entry(id: &str, path: &str, before: FileState, after: FileState) -> UndoEntry {
        UndoEntry {
            id: UndoId::new(id),
            session: SessionId::new("s"),
            call: CallId::new(id),
            message: None,
            operation: UndoOperation::Changed,
            reverts: None,
            place: UndoPlace { folder: "/projects".into(), device: 1, inode: 2, path: path.into() },
            before,
            after,
            made_folders: 0,
            state: UndoState::Done,
            created_at: UnixMs(0),
            settled_at: None,
        }
    }

    fn undone(entries: Vec<UndoEntry>) -> Vec<UndoEntry> {
        ordered(entries, UndoDirection::Undo)
    }

    fn fits(entries: &[UndoEntry], present: &FileState) -> Vec<Fit> {
        let present = vec![present.clone(); entries.len()];
        sketch(entries, &present).into_iter().map(|sketch| sketch.fit).collect()
    }

    #[test]
    fn made_changed_and_deleted_it_goes_back_step_by_step() {
        let chain = undone(vec![
            entry("1", "a", FileState::Missing, file("one")),
            entry("2", "a", file("one"), file("two")),
            entry("3", "a", file("two"), FileState::Missing),
        ]);
        assert_eq!(chain.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["3", "2", "1"]);
        assert_eq!(fits(&chain, &FileState::Missing), [Fit::Clean, Fit::Clean, Fit::Clean]);
    }

    #[test]
    fn what_moved_on_is_a_conflict_and_older_changes_follow_it() {
        let chain =
            undone(vec![entry("1", "a", FileState::Missing, file("one")), entry("2", "a", file("one"), file("two"))]);
        assert_eq!(fits(&chain, &file("theirs")), [Fit::Conflict, Fit::Follows]);
    }

    #[test]
    fn an_outside_change_between_two_of_ours_stops_the_way_back_there() {
        let chain =
            undone(vec![entry("1", "a", file("old"), file("one")), entry("2", "a", file("theirs"), file("two"))]);
        assert_eq!(fits(&chain, &file("two")), [Fit::Clean, Fit::Conflict]);
    }

    #[test]
    fn a_change_that_never_happened_has_nothing_to_take_back() {
        let begun = UndoEntry { state: UndoState::Begun, ..entry("1", "a", file("old"), file("new")) };
        assert_eq!(fits(&[begun], &file("old")), [Fit::AlreadySo]);
    }

    #[test]
    fn what_lies_in_a_folder_that_comes_back_first_is_taken_as_it_comes() {
        let tree = FileState::Tree { manifest: Some("t".into()), count: 1, bytes: 1, object: None };
        let chain = undone(vec![
            entry("1", "d/a", file("old"), file("new")),
            entry("2", "d", tree, FileState::Missing),
            entry("3", "da", file("x"), file("y")),
        ]);
        assert_eq!(fits(&chain, &FileState::Missing), [Fit::Conflict, Fit::Clean, Fit::Clean]);
    }

    #[test]
    fn permissions_alone_are_no_other_content() {
        let with_mode = |mode| FileState::File { hash: Some("h".into()), bytes: 1, mode, object: None };
        assert!(is_same(&with_mode(0o600), &with_mode(0o755)));
        assert!(!is_same(&with_mode(0o600), &FileState::Folder));
    }
}

//! Deleting: to the system's trash, and for good only where the person was told so.
//!
//! What goes is always the entry in the folder that is held, and only if it is what was shown: it is moved first, looked
//! at where nobody can exchange it any more, and put back if it is something else.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;

use super::trash::{Taken, Trash};
use super::write::private_name;
use super::{Folder, Root, Stat, Target, WorkspaceError};
use crate::ir::Code;
use crate::policy::TargetKind;

/// The deepest tree that is deleted for good: each level is an open folder.
const MAX_DEPTH: usize = 128;

/// What may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A file, a link or an empty folder.
    Single,
    /// A folder with everything in it.
    Tree,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deleted {
    /// Whether it lies in the trash and can be put back from there.
    pub trashed: bool,
}

impl Target {
    /// Whether deleting it can be taken back: whether there is a trash for the disk that it lies on.
    ///
    /// Whoever asks shows the answer to the person: a deletion for good happens only after this said no.
    pub fn is_restorable_after_delete(&self, trash: &Trash) -> bool {
        *self.restorable.get_or_init(|| self.parent.as_ref().is_some_and(|parent| trash.takes(parent)))
    }

    /// Deletes what the target is; of a link, the link. `stop` is asked between the entries of a tree that goes for good.
    ///
    /// # Errors
    /// `BLOCKED_PATH_DENIED` for an allowed folder, a home folder, a mount point and what holds one of them;
    /// `DIRECTORY_NOT_EMPTY`, `TARGET_CHANGED`, `PERMISSION_DENIED`, `CANCELLED`, `IO_ERROR`.
    pub fn delete(
        &self,
        extent: Extent,
        roots: &[Root],
        trash: &Trash,
        stop: &dyn Fn() -> bool,
    ) -> Result<Deleted, WorkspaceError> {
        let (parent, name) = self.may_be_deleted(extent, roots)?;
        let restorable = self.restorable.get().copied();
        if restorable != Some(false) {
            match trash.take(parent, name, self)? {
                Taken::Yes => return Ok(Deleted { trashed: true }),
                Taken::NoTrash => {
                    let sentence = "There is no trash on this disk, and nobody was told that it would be deleted for \
                                    good; nothing was changed.";
                    return Err(WorkspaceError::refused(Code::IoError, sentence, self.resolved()));
                }
            }
        }
        self.delete_for_good(parent, name, stop)?;
        Ok(Deleted { trashed: false })
    }

    /// Deletes for good, whatever trash there is: only what is kept elsewhere.
    ///
    /// # Errors
    /// As [`Target::delete`].
    pub fn delete_kept(&self, extent: Extent, stop: &dyn Fn() -> bool) -> Result<(), WorkspaceError> {
        let (parent, name) = self.may_be_deleted(extent, &[])?;
        self.delete_for_good(parent, name, stop)
    }

    /// Removes a folder if nothing is in it; whether it went.
    ///
    /// # Errors
    /// `NOT_A_DIRECTORY`, `PERMISSION_DENIED`, `IO_ERROR`.
    pub fn remove_if_empty(&self) -> Result<bool, WorkspaceError> {
        self.folder()?;
        let (parent, name) = match self.may_be_deleted(Extent::Single, &[]) {
            Ok(found) => found,
            Err(error) if error.code() == Code::DirectoryNotEmpty => return Ok(false),
            Err(error) => return Err(error),
        };
        match parent.remove_folder(name) {
            Ok(()) => {
                parent.sync();
                Ok(true)
            }
            // Something came into it in the last moment.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(WorkspaceError::io("Removing the folder", self.resolved(), error)),
        }
    }

    /// Whether this may be deleted at all, without changing anything: for the question and, again, for the deed.
    ///
    /// # Errors
    /// As [`Target::delete`].
    pub fn check_deletion(&self, extent: Extent, roots: &[Root]) -> Result<(), WorkspaceError> {
        self.may_be_deleted(extent, roots).map(|_| ())
    }

    fn may_be_deleted(&self, extent: Extent, roots: &[Root]) -> Result<(&Folder, &OsStr), WorkspaceError> {
        let blocked = |sentence| Err(WorkspaceError::refused(Code::BlockedPathDenied, sentence, self.resolved()));
        let (Some(parent), [name]) = (&self.parent, self.names.as_slice()) else {
            return blocked("An allowed folder itself is never deleted.");
        };
        if self.stat.kind == TargetKind::Folder {
            let holds_root = |root: &Root| {
                root.identity().is_same_object(&self.stat.identity) && root.identity().inode != 0
                    || root.real_path().starts_with(self.resolved())
            };
            if roots.iter().chain(self.root()).any(holds_root) {
                return blocked("An allowed folder is never deleted, nor a folder that holds one.");
            }
            if self.is_home() || self.holds_home() {
                return blocked("A home folder is never deleted.");
            }
        }
        if self.stat.is_mount_point || self.stat.identity.mount != parent_mount(parent, &self.stat) {
            return blocked("A mount point is never deleted.");
        }
        if self.stat.kind == TargetKind::Folder && super::mounts::any_below(self.resolved()) {
            return blocked("Something is mounted in the folder: it is never deleted with it.");
        }
        if self.stat.kind == TargetKind::Folder && extent == Extent::Single {
            let names = self.folder()?.names();
            let names = names.map_err(|source| WorkspaceError::io("Listing the folder", self.resolved(), source))?;
            if !names.is_empty() {
                let sentence = "The folder is not empty; with `recursive` it would go with everything in it.";
                return Err(WorkspaceError::refused(Code::DirectoryNotEmpty, sentence, self.resolved()));
            }
        }
        Ok((parent, OsStr::new(name)))
    }

    fn holds_home(&self) -> bool {
        let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf());
        home.is_some_and(|home| home.starts_with(self.resolved()))
    }

    /// Whether what was moved is what was shown: where the tree in it was, with that tree.
    pub(super) fn is_what_was_shown(&self, moved: &Stat) -> bool {
        moved.kind == self.stat.kind
            && match self.stat.kind {
                TargetKind::Folder => moved.identity.is_same_object(&self.stat.identity) && self.holds_what_was_shown(),
                TargetKind::File | TargetKind::Link | TargetKind::Special | TargetKind::Missing => {
                    moved.identity.is_same_content(&self.stat.identity)
                }
            }
    }

    fn delete_for_good(&self, parent: &Folder, name: &OsStr, stop: &dyn Fn() -> bool) -> Result<(), WorkspaceError> {
        let failed = |source: std::io::Error| {
            if source.kind() == ErrorKind::NotFound {
                self.changed()
            } else if source.kind() == ErrorKind::Interrupted {
                let sentence = "Stopped: what had not been deleted yet is still there.";
                WorkspaceError::refused(Code::Cancelled, sentence, self.resolved())
            } else {
                WorkspaceError::io("Deleting", self.resolved(), source)
            }
        };
        let aside = private_name().map_err(failed)?;
        parent.rename_new(name, parent, &aside).map_err(failed)?;
        let put_back = || parent.rename_new(&aside, parent, name);
        let moved = parent.stat_of(&aside).map_err(failed)?;
        if !self.is_what_was_shown(&moved) {
            put_back().map_err(failed)?;
            return Err(self.changed());
        }
        let done = match self.stat.kind {
            TargetKind::Folder => parent
                .open_folder(&aside)
                .and_then(|folder| remove_contents(folder, self.stat.identity.mount, stop))
                .and_then(|()| parent.remove_folder(&aside)),
            TargetKind::File | TargetKind::Link | TargetKind::Special | TargetKind::Missing => {
                parent.remove_file(&aside)
            }
        };
        done.map_err(|error| {
            // What is left goes back to its name, so that the person finds it.
            match put_back() {
                Ok(()) => failed(error),
                Err(_) => WorkspaceError::io("Deleting", &self.resolved().with_file_name(&aside), error),
            }
        })?;
        parent.sync();
        Ok(())
    }
}

/// The mount of the folder that holds the entry. Where the system does not tell mounts of names, the entry's own.
fn parent_mount(parent: &Folder, stat: &Stat) -> u64 {
    let own = stat.identity.mount;
    if own == 0 { own } else { parent.stat().map_or(own, |stat| stat.identity.mount) }
}

/// Removes everything in a folder through handles: links are removed, not followed, and no other mount is entered.
fn remove_contents(top: Folder, mount: u64, stop: &dyn Fn() -> bool) -> std::io::Result<()> {
    struct Level {
        folder: Folder,
        /// Its name in the level above.
        name: OsString,
        /// What is still in it.
        names: Vec<OsString>,
    }
    let names = top.names()?;
    let mut levels = vec![Level { folder: top, name: OsString::new(), names }];
    while let Some(level) = levels.last_mut() {
        if stop() {
            return Err(ErrorKind::Interrupted.into());
        }
        let Some(name) = level.names.pop() else {
            let name = std::mem::take(&mut level.name);
            levels.pop();
            if let Some(above) = levels.last() {
                above.folder.remove_folder(&name)?;
            }
            continue;
        };
        let stat = level.folder.stat_of(&name)?;
        if stat.kind != TargetKind::Folder {
            level.folder.remove_file(&name)?;
            continue;
        }
        if stat.identity.mount != mount || stat.is_mount_point {
            return Err(std::io::Error::other("something is mounted in the folder"));
        }
        let folder = level.folder.open_folder(&name)?;
        let names = folder.names()?;
        if levels.len() >= MAX_DEPTH {
            return Err(std::io::Error::other("the folders lie too deep in each other"));
        }
        levels.push(Level { folder, name, names });
    }
    Ok(())
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "tests lay out their own files")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;
    use crate::ir::Failure;
    use crate::policy::RelPath;
    use crate::workspace::{Purpose, resolve};

    struct Place {
        temp: TempDir,
        root: Root,
        trash: Trash,
    }

    /// A folder `ws` and, beside it, `data` for the trash.
    fn place() -> Place {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir_all(temp.path().join("ws/sub/deep")).unwrap();
        fs::write(temp.path().join("ws/a.txt"), "a").unwrap();
        fs::write(temp.path().join("ws/sub/deep/b.txt"), "b").unwrap();
        let root = Root::open(&temp.path().join("ws")).unwrap();
        let trash = Trash::in_folder(temp.path().join("data"));
        Place { temp, root, trash }
    }

    impl Place {
        fn target(&self, path: &str) -> Target {
            let parts = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            resolve(&self.root, &RelPath::from_parts(parts).unwrap(), Purpose::Delete).unwrap()
        }

        fn ws(&self, path: &str) -> std::path::PathBuf {
            self.root.path().join(path)
        }

        fn delete(&self, target: &Target, extent: Extent) -> Result<Deleted, WorkspaceError> {
            target.delete(extent, std::slice::from_ref(&self.root), &self.trash, &|| false)
        }

        fn refused(&self, path: &str, extent: Extent) -> Code {
            Failure::from(self.delete(&self.target(path), extent).unwrap_err()).code
        }
    }

    /// What the person was told: that it would be for good.
    fn told_final(target: &Target) {
        assert!(!target.is_restorable_after_delete(&Trash::in_folder("/proc/self/none".into())));
    }

    fn exists(path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    #[test]
    fn a_file_goes_to_the_trash_with_a_note_where_it_was() {
        let place = place();
        let target = place.target("a.txt");
        assert!(target.is_restorable_after_delete(&place.trash));
        assert_eq!(place.delete(&target, Extent::Single).unwrap(), Deleted { trashed: true });
        assert!(!exists(&place.ws("a.txt")));
        let bin = place.temp.path().join("data/Trash");
        assert_eq!(fs::read(bin.join("files/a.txt")).unwrap(), b"a");
        let note = fs::read_to_string(bin.join("info/a.txt.trashinfo")).unwrap();
        let lines: Vec<_> = note.lines().collect();
        assert_eq!(lines[0], "[Trash Info]");
        assert_eq!(lines[1], format!("Path={}", target.resolved().display()));
        assert!(lines[2].starts_with("DeletionDate=20") && lines[2].len() == "DeletionDate=2026-01-01T00:00:00".len());
    }

    #[test]
    fn two_of_one_name_are_both_kept() {
        let place = place();
        for content in ["1", "2"] {
            fs::write(place.ws("same 100%.txt"), content).unwrap();
            place.delete(&place.target("same 100%.txt"), Extent::Single).unwrap();
        }
        let bin = place.temp.path().join("data/Trash");
        assert_eq!(fs::read(bin.join("files/same 100%.txt")).unwrap(), b"1");
        assert_eq!(fs::read(bin.join("files/same 100%.txt.2")).unwrap(), b"2");
        let note = fs::read_to_string(bin.join("info/same 100%.txt.2.trashinfo")).unwrap();
        assert!(note.contains("/ws/same%20100%25.txt\n"), "{note}");
    }

    #[test]
    fn a_full_folder_goes_only_as_a_tree() {
        let place = place();
        assert_eq!(place.refused("sub", Extent::Single), Code::DirectoryNotEmpty);
        assert!(exists(&place.ws("sub/deep/b.txt")));
        assert_eq!(place.delete(&place.target("sub"), Extent::Tree).unwrap(), Deleted { trashed: true });
        assert!(exists(&place.temp.path().join("data/Trash/files/sub/deep/b.txt")));
        fs::create_dir(place.ws("empty")).unwrap();
        assert_eq!(place.delete(&place.target("empty"), Extent::Single).unwrap(), Deleted { trashed: true });
    }

    #[test]
    fn of_a_link_the_link_goes() {
        let place = place();
        let outside = place.temp.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        for final_too in [false, true] {
            symlink(&outside, place.ws("link")).unwrap();
            let target = place.target("link");
            if final_too {
                told_final(&target);
            }
            assert_eq!(place.delete(&target, Extent::Tree).unwrap(), Deleted { trashed: !final_too });
            assert!(!exists(&place.ws("link")) && exists(&outside.join("kept")));
        }
    }

    #[test]
    fn for_good_only_when_told_and_then_without_following_links() {
        let place = place();
        let outside = place.temp.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        symlink(&outside, place.ws("sub/link")).unwrap();
        let no_trash = Trash::in_folder("/proc/self/none".into());
        let target = place.target("sub");
        told_final(&target);
        let deleted = target.delete(Extent::Tree, &[], &no_trash, &|| false).unwrap();
        assert_eq!(deleted, Deleted { trashed: false });
        assert!(!exists(&place.ws("sub")) && exists(&outside.join("kept")));
        assert_eq!(fs::read_dir(place.root.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_stopped_deletion_leaves_the_rest_at_its_name() {
        let place = place();
        let target = place.target("sub");
        told_final(&target);
        let error = target.delete(Extent::Tree, &[], &place.trash, &|| true).unwrap_err();
        assert_eq!(Failure::from(error).code, Code::Cancelled);
        assert!(exists(&place.ws("sub/deep/b.txt")));
    }

    #[test]
    fn what_took_its_place_is_not_deleted() {
        let place = place();
        let (trashed, forever) = (place.target("a.txt"), place.target("a.txt"));
        told_final(&forever);
        fs::remove_file(place.ws("a.txt")).unwrap();
        fs::write(place.ws("a.txt"), "somebody else's").unwrap();
        for target in [trashed, forever] {
            let error = place.delete(&target, Extent::Single).unwrap_err();
            assert_eq!(Failure::from(error).code, Code::TargetChanged);
            assert_eq!(fs::read_to_string(place.ws("a.txt")).unwrap(), "somebody else's");
        }
        assert_eq!(fs::read_dir(place.temp.path().join("data/Trash/info")).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_goes_only_with_the_tree_that_was_shown() {
        for final_too in [false, true] {
            for is_shown in [true, false] {
                let place = place();
                let target = place.target("sub");
                if is_shown {
                    target.show_tree().unwrap();
                }
                if final_too {
                    told_final(&target);
                }
                fs::write(place.ws("sub/deep/theirs"), "precious").unwrap();
                let done = place.delete(&target, Extent::Tree);
                if is_shown {
                    assert_eq!(Failure::from(done.unwrap_err()).code, Code::TargetChanged);
                    assert_eq!(fs::read_to_string(place.ws("sub/deep/theirs")).unwrap(), "precious");
                } else {
                    // The control: whoever binds the folder alone takes what came into it too.
                    assert!(done.is_ok() && !exists(&place.ws("sub/deep/theirs")));
                }
            }
        }
    }

    #[test]
    fn allowed_folders_and_what_holds_them_stay() {
        let place = place();
        assert_eq!(place.refused("", Extent::Tree), Code::BlockedPathDenied);
        let inner = Root::open(&place.ws("sub/deep")).unwrap();
        for path in ["sub", "sub/deep"] {
            let target = place.target(path);
            let error = target.delete(Extent::Tree, std::slice::from_ref(&inner), &place.trash, &|| false).unwrap_err();
            assert_eq!(Failure::from(error).code, Code::BlockedPathDenied);
        }
        // The same folder through a link chosen as allowed folder.
        symlink(place.ws("sub"), place.temp.path().join("alias")).unwrap();
        let alias = Root::open(&place.temp.path().join("alias")).unwrap();
        let error = place.target("sub").delete(Extent::Tree, &[alias], &place.trash, &|| false).unwrap_err();
        assert_eq!(Failure::from(error).code, Code::BlockedPathDenied);
        assert!(exists(&place.ws("sub/deep/b.txt")));
    }
}

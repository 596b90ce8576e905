//! Files of the allowed folders that have further names (hard links) outside them: who writes into such a file by its name
//! inside changes what lies outside. No confinement by folders can tell names apart, so it is counted before a command, and
//! looked at after it.
//!
//! Nothing is kept from the command here: a file that is mounted read-only could not be replaced or removed either, which is
//! what git and package managers rightly do with theirs.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sha2::{Digest as _, Sha256};

use super::{Folder, Root, Stat, system};
use crate::ir::LinkedOutside;
use crate::policy::TargetKind;

/// More files than these are not counted.
const MOST_FILES: usize = 1_000_000;
/// More with several names are not remembered.
const MOST_LINKED: usize = 200_000;
/// More closed folders are not remembered.
const MOST_CLOSED: usize = 10_000;
/// So many folders are open at most, one for each level.
const MOST_LEVELS: usize = 128;
/// So many files stay open, so that they are found again whatever becomes of their names.
const MOST_HELD: usize = 1024;

/// The files of some allowed folders that have further names outside them, as they are.
#[derive(Debug, Default)]
pub struct HardLinks {
    files: Vec<Linked>,
    /// Folders that nobody could look into; the command may be able to open them.
    closed: Vec<Closed>,
    is_cut: bool,
}

/// What became of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedOutside {
    /// Those that hold something else, or have other rights or times, by one of their paths.
    pub changed: Vec<PathBuf>,
    /// How many names went, or came, so that nobody can tell whether more was done.
    pub unclear: u64,
    /// How many folders were closed before and were opened, or moved, so that nobody can tell what was done in them.
    pub opened: u64,
}

#[derive(Debug)]
struct Closed {
    path: PathBuf,
    stat: Stat,
}

impl Closed {
    /// Whoever opens it, gives it another name or closes it again leaves a trace.
    fn is_as_before(&self) -> bool {
        stat_at(&self.path)
            .is_ok_and(|now| object(&now) == object(&self.stat) && now.changed_ns == self.stat.changed_ns)
    }
}

#[derive(Debug)]
struct Linked {
    path: PathBuf,
    stat: Stat,
    /// `None` where there are too many, or it may not be read.
    file: Option<File>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Same,
    Changed,
    Unclear,
}

impl HardLinks {
    /// Looks through the folders.
    pub fn find(roots: &[Root]) -> Self {
        Self::find_within(roots, MOST_FILES)
    }

    fn find_within(roots: &[Root], most_files: usize) -> Self {
        let mut walk = Walk { files_left: most_files, ..Walk::default() };
        for root in roots {
            walk.root(root);
        }
        let mut files: Vec<Linked> = walk
            .linked
            .into_values()
            .filter(|(linked, names)| linked.stat.identity.links > *names)
            .map(|(linked, _)| linked)
            .collect();
        files.sort_by(|one, two| one.path.cmp(&two.path));
        for linked in files.iter_mut().take(MOST_HELD) {
            linked.file = open(&linked.path, &linked.stat);
        }
        Self { files, closed: walk.closed.into_values().collect(), is_cut: walk.is_cut }
    }

    /// What of that a question says.
    pub fn outside(&self) -> LinkedOutside {
        let mut objects: Vec<_> = self.files.iter().map(|linked| object(&linked.stat)).collect();
        objects.sort_unstable();
        let mut hasher = Sha256::new();
        for (device, inode) in objects {
            hasher.update(device.to_le_bytes());
            hasher.update(inode.to_le_bytes());
        }
        LinkedOutside {
            count: self.files.len() as u64,
            example: self.files.first().map(|linked| linked.path.display().to_string()),
            mark: if self.files.is_empty() { String::new() } else { hex::encode(hasher.finalize()) },
            is_cut: self.is_cut,
        }
    }

    /// Looks at them again.
    pub fn changed(&self) -> ChangedOutside {
        let mut outside = ChangedOutside::default();
        for linked in &self.files {
            match linked.fate() {
                Fate::Same => {}
                Fate::Changed => outside.changed.push(linked.path.clone()),
                Fate::Unclear => outside.unclear += 1,
            }
        }
        outside.opened = self.closed.iter().filter(|closed| !closed.is_as_before()).count() as u64;
        outside
    }
}

fn object(stat: &Stat) -> (u64, u64) {
    (stat.identity.device, stat.identity.inode)
}

impl Linked {
    fn fate(&self) -> Fate {
        let now = match &self.file {
            Some(file) => system::stat_handle(file).ok(),
            None => stat_at(&self.path).ok().filter(|now| object(now) == object(&self.stat)),
        };
        let Some(now) = now else { return Fate::Unclear };
        if !self.stat.identity.is_same_content(&now.identity) {
            Fate::Changed
        } else if self.stat.changed_ns == now.changed_ns {
            Fate::Same
        } else if self.stat.identity.links == now.identity.links {
            // Rights or times, or a content with its time set back.
            Fate::Changed
        } else {
            Fate::Unclear
        }
    }
}

/// The folder that a file lies in, by the path that a walk has found. It is only looked at: a link that has come there shows
/// another object.
fn holder(path: &Path) -> io::Result<Folder> {
    Folder::open_ambient(path.parent().ok_or(io::ErrorKind::NotFound)?)
}

fn stat_at(path: &Path) -> io::Result<Stat> {
    holder(path)?.stat_of(path.file_name().ok_or(io::ErrorKind::NotFound)?)
}

fn open(path: &Path, stat: &Stat) -> Option<File> {
    let (file, now) = holder(path).ok()?.open_listed_file(path.file_name()?).ok()?;
    (object(&now) == object(stat)).then_some(file)
}

#[derive(Debug, Default)]
struct Walk {
    files_left: usize,
    /// Allowed folders may lie in each other: no name is counted twice.
    folders: HashSet<(u64, u64)>,
    /// By device and inode; with how many names were found.
    linked: HashMap<(u64, u64), (Linked, u64)>,
    closed: HashMap<(u64, u64), Closed>,
    is_cut: bool,
}

/// A folder that is still to be looked at.
struct Waiting {
    holder: Folder,
    name: OsString,
    path: Rc<PathBuf>,
    level: usize,
}

impl Walk {
    fn root(&mut self, root: &Root) {
        let Ok(stat) = root.folder().stat() else {
            self.is_cut = true;
            return;
        };
        let mut waiting = Vec::new();
        self.folder(root.folder(), &stat, &Rc::new(root.real_path().to_path_buf()), 0, &mut waiting);
        while let Some(Waiting { holder, name, path, level }) = waiting.pop() {
            let Ok(folder) = holder.open_folder(&name) else {
                self.closed(&holder, &path, &name);
                continue;
            };
            match folder.stat() {
                // Another mount is not a command's to write in.
                Ok(now) if now.identity.mount != stat.identity.mount => {}
                Ok(now) => self.folder(&folder, &now, &Rc::new(path.join(&name)), level, &mut waiting),
                Err(_) => self.is_cut = true,
            }
        }
    }

    fn folder(&mut self, folder: &Folder, stat: &Stat, path: &Rc<PathBuf>, level: usize, waiting: &mut Vec<Waiting>) {
        if !self.folders.insert(object(stat)) {
            return;
        }
        if level > MOST_LEVELS {
            self.is_cut = true;
            return;
        }
        let listed = folder.each(&mut |name, kind| match kind {
            Some(TargetKind::Folder) => {
                waiting.push(Waiting { holder: folder.clone(), name, path: Rc::clone(path), level: level + 1 });
            }
            Some(TargetKind::File) => self.file(folder, path, &name),
            Some(TargetKind::Link | TargetKind::Special | TargetKind::Missing) | None => {}
        });
        match listed {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.keep_closed(path, *stat),
            Err(_) => self.is_cut = true,
        }
    }

    /// A folder that cannot be opened: it is covered for a command, or told of as what nobody can look at, and the command
    /// may be able to open it. So may it be with the one above, where not even the rights can be read.
    fn closed(&mut self, holder: &Folder, path: &Path, name: &OsString) {
        match holder.stat_of(name) {
            Ok(stat) if stat.kind == TargetKind::Folder => self.keep_closed(&path.join(name), stat),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.holder_closed(holder, path),
            Ok(_) | Err(_) => {}
        }
    }

    fn holder_closed(&mut self, holder: &Folder, path: &Path) {
        match holder.stat() {
            Ok(stat) => self.keep_closed(path, stat),
            Err(_) => self.is_cut = true,
        }
    }

    fn keep_closed(&mut self, path: &Path, stat: Stat) {
        // Names that nobody can list may be used all the same.
        self.is_cut |= stat.mode & 0o111 != 0;
        if self.closed.len() < MOST_CLOSED {
            self.closed.entry(object(&stat)).or_insert_with(|| Closed { path: path.to_path_buf(), stat });
        } else {
            self.is_cut = true;
        }
    }

    fn file(&mut self, folder: &Folder, path: &Path, name: &OsString) {
        let Some(left) = self.files_left.checked_sub(1) else {
            self.is_cut = true;
            return;
        };
        self.files_left = left;
        let stat = match folder.stat_of(name) {
            Ok(stat) => stat,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return self.holder_closed(folder, path),
            Err(_) => return,
        };
        if stat.kind != TargetKind::File || stat.identity.links < 2 {
            return;
        }
        let is_full = self.linked.len() >= MOST_LINKED;
        match self.linked.get_mut(&object(&stat)) {
            Some((_, names)) => *names += 1,
            None if is_full => self.is_cut = true,
            None => {
                self.linked.insert(object(&stat), (Linked { path: path.join(name), stat, file: None }, 1));
            }
        }
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "files for a test")]
mod tests {
    use std::fs;

    use super::*;

    /// `inside` and `outside`, with a file that has names in both, one that has two inside, and one that has one.
    fn folders() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for folder in ["inside/a/b", "outside"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        for (path, other) in [("inside/a/b/one", "outside/one"), ("inside/two", "inside/a/two")] {
            fs::write(place.path().join(path), "before").unwrap();
            fs::hard_link(place.path().join(path), place.path().join(other)).unwrap();
        }
        fs::write(place.path().join("inside/plain"), "").unwrap();
        place
    }

    fn roots(place: &tempfile::TempDir, names: &[&str]) -> Vec<Root> {
        names.iter().map(|name| Root::open(&place.path().join(name)).unwrap()).collect()
    }

    #[test]
    fn only_names_outside_all_folders_count_and_none_counts_twice() {
        let place = folders();
        let counted = |names: &[&str]| HardLinks::find(&roots(&place, names)).outside().count;
        for (names, expected) in [
            (&["inside"][..], 1),
            (&["inside", "outside"], 0),
            (&["inside", "inside/a"], 1),
            (&["inside/a", "inside"], 1),
            (&["inside/a"], 2),
            (&["inside/a/b"], 1),
            (&[], 0),
        ] {
            assert_eq!(counted(names), expected, "{names:?}");
        }
        let example = HardLinks::find(&roots(&place, &["inside"])).outside().example.unwrap();
        assert!(example.ends_with("inside/a/b/one"), "{example}");
    }

    #[test]
    fn a_count_that_is_cut_says_so() {
        let place = folders();
        let cut = |most| HardLinks::find_within(&roots(&place, &["inside"]), most).outside().is_cut;
        assert_eq!((cut(3), cut(4)), (true, false));
        let deep: PathBuf = std::iter::repeat_n("d", MOST_LEVELS + 1).collect();
        fs::create_dir_all(place.path().join("inside").join(deep)).unwrap();
        assert!(cut(100));
    }

    /// The clock of a file system goes in steps.
    fn wait_for_its_clock(place: &Path) {
        let probe = place.join("probe");
        let now = || {
            fs::write(&probe, "").unwrap();
            stat_at(&probe).unwrap().changed_ns
        };
        let start = now();
        while now() == start {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_is_written_in_place_is_seen_and_what_is_replaced_changes_nothing_outside() {
        type Deed = fn(&Path) -> io::Result<()>;
        let deeds: [(Deed, Fate); 7] = [
            (|_| Ok(()), Fate::Same),
            (|path| fs::write(path, "after!"), Fate::Changed),
            (|path| fs::write(path, "longer than before"), Fate::Changed),
            (|path| fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)), Fate::Changed),
            (|path| fs::write(path, "after").and_then(|()| fs::remove_file(path)), Fate::Changed),
            (|path| fs::remove_file(path), Fate::Unclear),
            (
                |path| {
                    fs::write(path.with_extension("new"), "")
                        .and_then(|()| fs::rename(path.with_extension("new"), path))
                },
                Fate::Unclear,
            ),
        ];
        for (number, (deed, expected)) in deeds.into_iter().enumerate() {
            let place = folders();
            let roots = roots(&place, &["inside"]);
            let links = HardLinks::find(&roots);
            wait_for_its_clock(place.path());
            let one = place.path().join("inside/a/b/one");
            deed(&one).unwrap();
            let outside = links.changed();
            let expected = match expected {
                Fate::Same => (0, 0),
                Fate::Changed => (1, 0),
                Fate::Unclear => (0, 1),
            };
            assert_eq!((outside.changed.len(), outside.unclear), expected, "{number}");
        }
    }
}

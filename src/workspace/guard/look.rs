//! The walk that finds what must stay as it is, what is covered, and what cannot be seen.
//!
//! It is complete or says how far it is not: no depth is too deep, files cost nothing but the time to read their names, and
//! what is counted against a bound are folders alone. It holds few folders open, however deep or wide the tree is.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::Path;

use super::harmless::{is_example, is_harmless};
use super::kept::{Kept, Object, Room, descend, object_of};
use super::lead::Led;
use super::linked::Linked;
use super::name::{Around, Meaning, Names, PickedUp};
use super::placeholder;
use super::watch::Watcher;
use crate::policy::TargetKind;
pub(super) use crate::workspace::lead::is_repository;
use crate::workspace::{Folder, Root, Stat};

/// The most folders that are looked at in one allowed folder.
pub(super) const MOST_FOLDERS: usize = 1_000_000;
/// How many folders above the present one are held open.
const HELD_OPEN: usize = 48;
/// What makes a folder of any name a repository.
pub(super) const PARTS: [&str; 4] = ["HEAD", "commondir", "refs", "objects"];
/// Every right of the owner to a folder.
pub(super) const OWNER_MAY_ALL: u32 = 0o700;

/// What lies in a folder, as far as it matters here.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The beginning of every path's number: that of the allowed folder.
    pub(super) top: DefaultHasher,
    /// By path from the allowed folder.
    pub(super) protected: BTreeMap<Vec<OsString>, Kept>,
    /// The outermost of the protected ones, nearest first.
    pub(super) tops: Vec<Top>,
    /// Folders of git itself, nearest first: they stay where they are.
    pub(super) git_folders: Vec<Vec<OsString>>,
    /// The folders that something protected lies in or below, by what they are: where. After a command those of before
    /// wherever they are now, and what else has another name than before.
    pub(super) places: HashMap<Object, Vec<OsString>>,
    /// What would be a part of a repository, in folders that are none: by path.
    pub(super) parts: HashSet<Vec<OsString>>,
    /// What changes nothing for git as it is, and would as something else: by path.
    pub(super) harmless: Vec<Vec<OsString>>,
    /// Links outside git's folders and packages whose names say nothing, by path: after a command those that lead elsewhere
    /// than what was there before.
    pub(super) links: BTreeMap<Vec<OsString>, Linked>,
    /// Sensitive names, and whether each is a folder.
    pub(super) sensitive: Vec<(Vec<OsString>, bool)>,
    /// The folders that were looked at.
    pub(super) folders: HashSet<Object>,
    /// Which of them was at a path, the path as a number that stands for it: there may be a million.
    pub(super) paths: HashMap<u64, Object>,
    /// The folder above each of those paths, by the same numbers.
    pub(super) above: HashMap<u64, u64>,
    /// Those that could not be, by their permissions, and where they are.
    pub(super) closed: HashMap<Object, Vec<OsString>>,
    /// At least so many more were not reached.
    pub(super) unreached: u64,
    /// Whether a command may make a repository that runs nothing: there is nothing that all of them obey. Not kept over a
    /// crash.
    pub(super) accepts_repositories: bool,
}

/// Something protected that lies in nothing protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Top {
    pub(super) path: Vec<OsString>,
    /// The folder that it lies in.
    pub(super) parent: Object,
}

impl Found {
    /// How many places could not be looked at, at least.
    pub(super) fn unseen(&self) -> u64 {
        self.unreached.saturating_add(self.closed.len() as u64)
    }

    /// Whether a folder of this path was looked at.
    pub(super) fn has_folder(&self, path: &[OsString]) -> bool {
        self.folder_at(path).is_some()
    }

    /// The folder that was looked at by this path.
    pub(super) fn folder_at(&self, path: &[OsString]) -> Option<Object> {
        self.paths.get(&self.number_of(path)).copied()
    }

    /// The number that stands for a path, in every allowed folder the same.
    pub(super) fn number_of(&self, path: &[OsString]) -> u64 {
        let mut hasher = self.top.clone();
        for name in path {
            name.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Notes where the folders are that something protected lies in or below.
    fn note_places(&mut self) {
        let all = self.protected.keys().chain(&self.git_folders);
        let folders = all.flat_map(|path| (0..=path.len()).rev().filter_map(|length| path.get(..length)));
        let mut places = HashMap::new();
        for path in folders {
            if let Some(object) = self.folder_at(path) {
                places.entry(object).or_insert_with(|| path.to_vec());
            }
        }
        self.places = places;
    }

    /// The same as it was noted before a crash.
    pub(super) fn with_places(self, places: impl Iterator<Item = (Vec<OsString>, Object)>) -> Self {
        let places: HashMap<Object, Vec<OsString>> = places.map(|(path, object)| (object, path)).collect();
        let paths = places.iter().map(|(object, path)| (self.number_of(path), *object)).collect();
        Self { places, paths, ..self }
    }

    /// The folders that were looked at, but for the allowed folder itself: each by the number of its path, with that of the
    /// folder above.
    pub(super) fn folders_by_number(&self) -> impl Iterator<Item = (u64, Object, u64)> {
        self.above.iter().filter_map(|(number, above)| Some((*number, *self.paths.get(number)?, *above)))
    }

    /// Takes names in that folders had earlier, where nothing has them now.
    pub(super) fn recall(&mut self, names: impl Iterator<Item = (u64, Object)>) {
        for (number, object) in names {
            self.paths.entry(number).or_insert(object);
        }
    }

    /// Whether more was there than could be reached.
    pub(super) fn is_cut(&self) -> bool {
        self.unreached > 0
    }
}

/// Where a look begins.
pub(super) struct Start {
    pub(super) folder: Folder,
    /// From the allowed folder.
    pub(super) path: Vec<OsString>,
    pub(super) around: Around,
    /// The watch on the folder above.
    pub(super) above: Option<i32>,
}

/// A look at an allowed folder or a part of it.
pub(super) struct Look<'look> {
    pub(super) root: &'look Root,
    /// What there was before the command: then what it has closed is opened again.
    pub(super) before: Option<&'look Found>,
    pub(super) names: &'look mut Names,
    /// What in it something else leads to.
    pub(super) led: &'look [Led],
    pub(super) watcher: Option<&'look mut Watcher>,
    /// The number of the allowed folder, for the watcher.
    pub(super) number: usize,
    pub(super) most_folders: usize,
}

impl Look<'_> {
    /// Looks at the whole folder. After a command the folders of git that were there come first, so that no flood of names
    /// hides them.
    pub(super) fn whole(self) -> Found {
        let top = Around::root(self.root.real_path()).with(self.led.to_vec());
        let root = self.root.folder();
        let known = self.before.map(|before| before.git_folders.as_slice()).unwrap_or_default();
        let mut starts: Vec<Start> = known
            .iter()
            .filter_map(|path| {
                let folder = descend(root, path)?;
                let around = Around::git().with(Around::led_below(self.led, path));
                Some(Start { folder, path: path.clone(), around, above: None })
            })
            .collect();
        starts.push(Start { folder: root.clone(), path: Vec::new(), around: top, above: None });
        self.from(starts)
    }

    /// Looks at what begins there.
    pub(super) fn from(self, starts: Vec<Start>) -> Found {
        let Ok(mount) = self.root.folder().stat().map(|stat| stat.identity.mount) else {
            return Found { unreached: 1, ..Found::default() };
        };
        let is_before = self.before.is_none();
        let found = Found { top: top_of(self.root.real_path()), ..Found::default() };
        let mut walk = Walk { look: self, mount, room: Room::default(), path: Vec::new(), found };
        for start in starts {
            walk.start(start);
        }
        let mut found = walk.found;
        if is_before {
            found.note_places();
        }
        found.tops.sort_by(|one, two| (one.path.len(), &one.path).cmp(&(two.path.len(), &two.path)));
        found.git_folders.sort_by(|one, two| (one.len(), one).cmp(&(two.len(), two)));
        found
    }
}

/// A folder that is being looked at.
struct Frame {
    /// `None` while it is far above: it is opened again on the way back.
    folder: Option<Folder>,
    object: Object,
    waiting: Vec<(OsString, Around)>,
    watch: Option<i32>,
}

struct Walk<'look> {
    look: Look<'look>,
    mount: u64,
    room: Room,
    /// To the folder that is being looked at.
    path: Vec<OsString>,
    found: Found,
}

impl Walk<'_> {
    fn start(&mut self, Start { folder, path, around, above }: Start) {
        self.path = path;
        let Some(frame) = self.enter(folder, around, above, None) else { return };
        let mut frames = vec![frame];
        while let Some(frame) = frames.last_mut() {
            if let Some((name, around)) = frame.waiting.pop() {
                let Some(folder) = &frame.folder else { continue };
                let (watch, object) = (frame.watch, frame.object);
                let opened = folder.open_folder(&name);
                let stat = folder.stat_of(&name);
                self.path.push(name);
                let entered = match opened {
                    Ok(folder) => self.enter(folder, around, watch, Some(object)),
                    Err(error) => {
                        self.could_not_open(&error, stat.ok());
                        None
                    }
                };
                match entered {
                    Some(frame) => {
                        frames.push(frame);
                        let far = frames.len().checked_sub(HELD_OPEN).and_then(|far| frames.get_mut(far));
                        if let Some(far) = far {
                            far.folder = None;
                        }
                    }
                    None => {
                        self.path.pop();
                    }
                }
            } else if let Some(done) = frames.pop() {
                self.path.pop();
                if let Some(above) = frames.last_mut() {
                    self.open_again(above, done.folder.as_ref());
                }
            }
        }
    }

    /// On the way back up: the folder above by its handle, if it still is that one, else by its path.
    fn open_again(&mut self, frame: &mut Frame, below: Option<&Folder>) {
        if frame.folder.is_some() || frame.waiting.is_empty() {
            return;
        }
        let is_it = |folder: &Folder| folder.stat().is_ok_and(|stat| object_of(&stat) == frame.object);
        let above = below.and_then(|below| below.above().ok()).filter(is_it);
        frame.folder = above.or_else(|| descend(self.look.root.folder(), &self.path).filter(is_it));
        if frame.folder.is_none() {
            self.found.unreached += frame.waiting.len() as u64;
            frame.waiting.clear();
        }
    }

    fn could_not_open(&mut self, error: &io::Error, stat: Option<Stat>) {
        match stat {
            Some(stat) if stat.kind == TargetKind::Folder => {
                self.found.closed.insert(object_of(&stat), self.path.clone());
            }
            // It went meanwhile, or is no folder any more.
            Some(_) => {}
            None if error.kind() == io::ErrorKind::NotFound => {}
            None => self.found.unreached += 1,
        }
    }

    /// Looks at one folder; gives what waits in it. `None` where there is nothing to do.
    fn enter(
        &mut self,
        folder: Folder,
        mut around: Around,
        above: Option<i32>,
        object_above: Option<Object>,
    ) -> Option<Frame> {
        let Ok(stat) = folder.stat() else {
            self.found.unreached += 1;
            return None;
        };
        let object = object_of(&stat);
        // Another mount is not entered: a command cannot write there.
        if stat.identity.mount != self.mount || self.found.folders.contains(&object) {
            return None;
        }
        if self.found.folders.len() >= self.look.most_folders {
            self.found.unreached += 1;
            return None;
        }
        self.note_place(object, object_above);
        let Some(folder) = self.seen(folder, &stat) else {
            if around.is_top_of_git() {
                self.found.git_folders.push(self.path.clone());
            }
            self.found.closed.insert(object, self.path.clone());
            return None;
        };
        if !around.is_git() && is_repository(&folder) {
            around = around.into_git();
        }
        if around.is_top_of_git() {
            self.found.git_folders.push(self.path.clone());
        }
        self.found.folders.insert(object);
        let number = self.found.number_of(&self.path);
        self.found.paths.insert(number, object);
        if let Some((_, above)) = self.path.split_last() {
            self.found.above.insert(number, self.found.number_of(above));
        }
        // Watched before it is read: what appears in between is in one of the two.
        let (number, name) = (self.look.number, self.path.last().cloned().unwrap_or_default());
        let watch = self.look.watcher.as_deref_mut().and_then(|watcher| {
            watcher.add(&folder, super::watch::Place { root: number, above, name, around: around.clone() })
        });
        let mut waiting = Vec::new();
        let listed = folder.each(&mut |name, kind| {
            self.note(&folder, object, &around, name, kind, &mut waiting);
        });
        if listed.is_err() {
            self.found.unreached += 1;
        }
        Some(Frame { folder: Some(folder), object, waiting, watch })
    }

    /// Notes where a folder of before is now. Of what went along with a folder that has another name the folder alone.
    fn note_place(&mut self, object: Object, object_above: Option<Object>) {
        let Some(before) = self.look.before else { return };
        let is_elsewhere = |path: &[OsString], object: Object| {
            before.folders.contains(&object) && before.folder_at(path) != Some(object)
        };
        let above = self.path.split_last().map(|(_, above)| above).unwrap_or_default();
        let is_moved = is_elsewhere(&self.path, object) && !object_above.is_some_and(|one| is_elsewhere(above, one));
        if is_moved || before.places.contains_key(&object) {
            self.found.places.insert(object, self.path.clone());
        }
    }

    /// The folder, if what is in it can be seen. After a command it is given back to its owner: a program finds what it
    /// executes by its name, in a folder that nobody can list too.
    fn seen(&self, folder: Folder, stat: &Stat) -> Option<Folder> {
        if can_be_seen(&folder) {
            return Some(folder);
        }
        let was_open = self.look.before.is_some_and(|before| !before.closed.contains_key(&object_of(stat)));
        let folder = was_open.then(|| folder.open_up(stat.mode | OWNER_MAY_ALL).ok())??;
        can_be_seen(&folder).then_some(folder)
    }

    fn note(
        &mut self,
        folder: &Folder,
        object: Object,
        around: &Around,
        name: OsString,
        kind: Option<TargetKind>,
        waiting: &mut Vec<(OsString, Around)>,
    ) {
        let is_folder = kind == Some(TargetKind::Folder);
        let meaning = self.look.names.meaning(around, &name, is_folder);
        match meaning {
            Meaning::Ordinary => {
                if !around.is_git() && PARTS.iter().any(|part| name == *part) {
                    let path = self.child(&name);
                    self.found.parts.insert(path);
                }
                if kind == Some(TargetKind::Link) && !around.is_git() && !around.is_of_packages() {
                    self.note_link(folder, &name);
                }
            }
            Meaning::Git => {}
            Meaning::Sensitive => {
                self.found.sensitive.push((self.child(&name), is_folder));
                return;
            }
            Meaning::Protected(when) => {
                let kept = Kept::of(folder, &name, when, &mut self.room);
                if let Some(kept) =
                    kept.as_ref().filter(|kept| is_harmless(self.look.before, around, &name, folder, kept))
                {
                    if placeholder::can_become_another(kept) && !is_example(&name) {
                        self.found.harmless.push(self.child(&name));
                    }
                } else if let Some(kept) = kept {
                    let path = self.child(&name);
                    // What git itself works on is looked at afterwards.
                    let is_at_work = around.is_git() && when == PickedUp::Later;
                    if !around.is_protected() && !is_at_work {
                        self.found.tops.push(Top { path: path.clone(), parent: object });
                    }
                    self.found.protected.insert(path, kept);
                }
            }
        }
        if is_folder && !around.is_git_data(&name) {
            let below = around.child(&name, meaning);
            waiting.push((name, below));
        }
    }

    fn note_link(&mut self, folder: &Folder, name: &OsStr) {
        /// More than these are known only where a folder was.
        const MOST_LINKS: usize = 100_000;
        let path = self.child(name);
        let is_worth_it = match self.look.before {
            None => self.found.links.len() < MOST_LINKS,
            Some(before) => before.had(&path),
        };
        let Some(linked) = is_worth_it.then(|| Linked::of(self.look.root, folder, &path, name)).flatten() else {
            return;
        };
        if self.look.before.is_none_or(|before| before.is_led_elsewhere(&path, &linked)) {
            self.found.links.insert(path, linked);
        }
    }

    fn child(&self, name: &OsStr) -> Vec<OsString> {
        self.path.iter().map(OsString::as_os_str).chain([name]).map(OsStr::to_owned).collect()
    }
}

/// The beginning of the numbers of all paths in a folder.
pub(super) fn top_of(path: &Path) -> DefaultHasher {
    let mut hasher = DefaultHasher::new();
    for name in path {
        name.hash(&mut hasher);
    }
    hasher
}

/// Whether names in it can be listed, and what they stand for be found out.
fn can_be_seen(folder: &Folder) -> bool {
    let is_denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let may_pass = !folder.stat_of(OsStr::new("HEAD")).is_err_and(|error| is_denied(&error));
    may_pass && folder.may_list()
}

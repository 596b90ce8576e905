//! What a command must leave as it is in the allowed folders: files that something later executes.
//!
//! Before a command these files are found and kept (`look`); where the kernel can, they are read-only meanwhile, and what
//! git would obey is not left absent (`placeholder`). During it what programs pick up at any moment is watched for
//! (`watch`), and after it everything is looked at again: what was moved goes back whole (`moved`), and what was changed or
//! has appeared is put back (`back`).
//! It judges no command, and what it takes away it hands on.

mod back;
mod departed;
mod end;
#[cfg(target_os = "linux")]
mod gone;
mod harmless;
#[cfg(target_os = "linux")]
mod hold;
mod kept;
mod lead;
mod lease;
#[cfg_attr(not(target_os = "linux"), path = "life_portable.rs")]
mod life;
mod linked;
mod look;
mod moved;
mod name;
mod nearly;
mod placeholder;
mod record;
mod steps;
#[cfg_attr(not(target_os = "linux"), path = "unwatched.rs")]
mod watch;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::lead::{Leads, is_shifting};
use super::{Folder, Root};
use crate::policy::TargetKind;
use back::Before;
use end::End;
use kept::{Content, Kept, descend};
use lead::Led;
use look::{Found, Look, MOST_FOLDERS, Top};
use name::Names;
use nearly::{Nearly, nearly};
use placeholder::Placeholder;
use watch::Watcher;

pub use departed::note_departed;
pub use lease::{Lease, Leased, TakeLease};
pub use record::{FinishedLook, GuardRecord, RecordedRun, finish_looks};

/// The protected files of some allowed folders, as they were.
#[derive(Debug)]
pub struct Guard {
    roots: Vec<GuardedRoot>,
    names: Names,
    watcher: Option<Watcher>,
    are_secrets_covered: bool,
    /// Where it is kept from which names folders went.
    records: Option<PathBuf>,
}

#[derive(Debug)]
struct GuardedRoot {
    root: Root,
    number: usize,
    before: Found,
    /// What in it something else led to, before the command.
    led: Vec<Led>,
    /// What becomes a repository by what appears elsewhere.
    nearly: Vec<Nearly>,
    /// What is mounted read-only.
    fixed: Vec<Top>,
    placeholders: Vec<Placeholder>,
    /// What a run that crashed put there, which may lie there still.
    left_behind: Vec<kept::Object>,
}

/// Something that was found by its name.
#[derive(Debug)]
pub struct Guarded {
    /// Its real path.
    pub path: PathBuf,
    /// The folder or file, opened.
    pub handle: File,
}

/// What was put back, or could not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    /// The number of its allowed folder.
    pub root: usize,
    /// Relative to its allowed folder, with `/`.
    pub path: String,
    /// What was done.
    pub how: Revert,
    /// What lay there and does no longer; of what could not be put back, what was there before.
    pub taken: Option<Taken>,
    /// What lies there now instead; `None` for nothing.
    pub left: Option<Taken>,
}

/// What was done to a protected file after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Revert {
    /// It had appeared and was removed.
    Removed,
    /// It had been changed or removed and was put back.
    Restored,
    /// It was changed, or has appeared, and nothing could be done about it.
    Left,
    /// It was changed where the command could not: by somebody else, so it stays.
    Outside,
    /// It was opened to be changed, and the command was stopped first.
    Prevented,
}

/// What was taken away, to be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// A file.
    File {
        /// All of it.
        content: Vec<u8>,
        /// Its permission bits.
        mode: u32,
    },
    /// A link, by what it says.
    Link(PathBuf),
}

/// What the watch during a command saw.
#[derive(Debug, Default)]
pub struct Watched {
    /// What the command was stopped for first, and what was done about it.
    pub stopped_for: Option<(String, Revert)>,
    /// How many folders were not watched.
    pub unwatched: u64,
    /// When the command had ended, in nanoseconds since 1970; `None` without a watch.
    ended_ns: Option<i128>,
    reverted: Vec<Reverted>,
    /// Folders that are no repositories any more.
    unmade: Vec<(usize, Vec<OsString>)>,
    /// What was taken away, by path and held open: whoever was writing it wrote on.
    held: Vec<(usize, String, File)>,
}

impl Watched {
    /// What was put back, each with what came to lie there in the end.
    fn into_reverted(self) -> Vec<Reverted> {
        let Self { mut reverted, held, .. } = self;
        for (root, path, file) in held {
            let written = kept::read_again(&file);
            let one = reverted.iter_mut().find(|one| (one.root, &one.path) == (root, &path));
            if let (Some(Reverted { taken: Some(Taken::File { content, .. }), .. }), Some(written)) = (one, written) {
                *content = written;
            }
        }
        reverted
    }
}

/// What the end of a command showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuardReport {
    /// What was put back, or could not be, by path.
    pub reverted: Vec<Reverted>,
    /// In how many places nobody could look, at least.
    pub unseen: u64,
}

/// Whether the folders are watched while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watching {
    /// They are.
    Yes,
    /// Nobody runs anything: it is only looked.
    No,
}

impl Guard {
    /// Looks through the allowed folders. What cannot be opened cannot be guarded, and by a command not be used either.
    pub fn take(roots: &[Root], watching: Watching) -> Self {
        Self::take_within(roots, watching, MOST_FOLDERS)
    }

    fn take_within(roots: &[Root], watching: Watching, most_folders: usize) -> Self {
        /// What was led to may lead on; after that nobody has laid it out so for work.
        const MOST_WALKS: usize = 4;
        let mut leads = lead::around(roots);
        let mut guard = Self::walk(roots, watching, most_folders, &leads);
        for _ in 1..MOST_WALKS {
            for guarded in &guard.roots {
                lead::add_found(&mut leads, &guarded.root, &guarded.before);
            }
            // Where nothing more lies in the allowed folders, which is nearly everywhere, one walk was enough.
            let is_all = |guarded: &GuardedRoot| lead::below(&leads, guarded.root.real_path()) == guarded.led;
            if guard.roots.iter().all(is_all) {
                break;
            }
            guard = Self::walk(roots, watching, most_folders, &leads);
        }
        let accepts_repositories = !lead::is_obeyed_everywhere();
        for guarded in &mut guard.roots {
            guarded.before.accepts_repositories = accepts_repositories;
            guarded.nearly = nearly(&guarded.root, &guarded.before, &leads);
        }
        guard
    }

    fn walk(roots: &[Root], watching: Watching, most_folders: usize, leads: &Leads) -> Self {
        let mut names = Names::default();
        let mut watcher = match watching {
            Watching::Yes => Watcher::new(),
            Watching::No => None,
        };
        let mut guarded = Vec::with_capacity(roots.len());
        for (number, root) in roots.iter().enumerate() {
            let led = lead::below(leads, root.real_path());
            let (names, watcher) = (&mut names, watcher.as_mut());
            let before = Look { root, before: None, names, led: &led, watcher, number, most_folders }.whole();
            let (root, nearly, fixed) = (root.clone(), Vec::new(), Vec::new());
            let (placeholders, left_behind) = (Vec::new(), Vec::new());
            guarded.push(GuardedRoot { root, number, before, led, nearly, fixed, placeholders, left_behind });
        }
        Self { roots: guarded, names, watcher, are_secrets_covered: false, records: None }
    }

    /// Whether the folders would be watched here, and the system has no room for another watch now: until that is over
    /// nothing keeps what git, an editor or an agent obeys at once.
    pub fn is_blind(&self) -> bool {
        cfg!(target_os = "linux") && self.watcher.is_none()
    }

    /// What is obeyed or not by where a process stands, as a link to that has it: nobody can tell what a command makes of it.
    pub fn shifting(&self) -> Option<PathBuf> {
        self.roots.iter().find_map(|guarded| {
            let mut nearly = guarded.nearly.iter().filter(|one| one.is_made(&guarded.root));
            let links = guarded.before.protected.iter().filter(|(_, kept)| matches!(kept.content, Content::Link(_)));
            let mut links = links.map(|(path, _)| below(&guarded.root, path));
            nearly.next().map(|one| one.place(&guarded.root)).or_else(|| links.find(|link| is_shifting(link)))
        })
    }

    /// How many places could not be looked at, at least: what has a secret name there is not covered, and what something
    /// executes later is not kept.
    pub fn unseen(&self) -> u64 {
        self.roots.iter().map(|root| root.before.unseen()).sum()
    }

    /// How many protected files there are more than can be held still while a command runs.
    pub fn not_held(&self) -> u64 {
        #[cfg(target_os = "linux")]
        return hold::left_over(&self.roots);
        #[cfg(not(target_os = "linux"))]
        return 0;
    }

    /// The real paths of the folders among them that are closed to this user.
    pub fn closed(&self) -> impl Iterator<Item = PathBuf> {
        self.roots.iter().flat_map(|guarded| guarded.before.closed.values().map(|path| below(&guarded.root, path)))
    }

    /// Opens the outermost protected files and folders, at most this many, to be mounted read-only; where git would look
    /// for something and nothing is, something harmless is put first. From now on a difference there is somebody else's.
    pub fn fix(&mut self, most: usize) -> Vec<Guarded> {
        self.are_secrets_covered = true;
        let mut opened = Vec::new();
        for guarded in &mut self.roots {
            let folder = guarded.root.folder();
            for git in &guarded.before.git_folders {
                // A command that is refused leaves nothing behind: they go with the guard.
                if opened.len() + guarded.placeholders.len() + 3 <= most {
                    guarded.placeholders.extend(placeholder::put(folder, git));
                }
            }
            for top in &guarded.before.tops {
                if opened.len() + guarded.placeholders.len() >= most {
                    break;
                }
                if let Some(handle) = open(folder, &top.path) {
                    opened.push(Guarded { path: below(&guarded.root, &top.path), handle });
                    guarded.fixed.push(top.clone());
                }
            }
            for placeholder in &guarded.placeholders {
                if let (Some(handle), Some(parent)) =
                    (open(folder, &placeholder.path), parent(folder, &placeholder.path))
                {
                    opened.push(Guarded { path: below(&guarded.root, &placeholder.path), handle });
                    guarded.fixed.push(Top { path: placeholder.path.clone(), parent });
                }
            }
        }
        opened
    }

    /// The outermost protected files and folders, opened, at most this many, where nothing but rules keep them: what they
    /// were is put back.
    pub fn protected(&self, most: usize) -> Vec<Guarded> {
        let all = self.roots.iter().flat_map(|guarded| guarded.before.tops.iter().map(move |top| (guarded, &top.path)));
        opened(all, most)
    }

    /// The outermost protected files and folders that are named in what a command said, by their paths from the allowed folder.
    pub fn named_in(&self, said: &str) -> Vec<String> {
        let all = self.roots.iter().flat_map(|guarded| guarded.before.tops.iter().map(|top| shown(&top.path)));
        // Programs name them from where they stand.
        let end = |path: &str| {
            let mut names = path.rsplit('/');
            match (names.next(), names.next()) {
                (Some(name), Some(above)) if !name.starts_with('.') => format!("{above}/{name}"),
                (name, _) => name.unwrap_or_default().to_owned(),
            }
        };
        all.filter(|path| said.contains(&end(path))).collect()
    }

    /// The folders of git, opened, at most this many.
    pub fn pinned(&self, most: usize) -> Vec<Guarded> {
        let all =
            self.roots.iter().flat_map(|guarded| guarded.before.git_folders.iter().map(move |path| (guarded, path)));
        opened(all, most)
    }

    /// The real paths of what has a sensitive name, and whether each is a folder.
    pub fn sensitive(&self) -> impl Iterator<Item = (PathBuf, bool)> {
        self.roots.iter().flat_map(|GuardedRoot { root, before, .. }| {
            before.sensitive.iter().map(|(path, is_folder)| (below(root, path), *is_folder))
        })
    }

    /// Keeps writers from what is picked up at once and not mounted, until the watch is over: whoever would write waits, and
    /// the watch stops the command. Right before the command starts.
    #[cfg(unix)]
    pub fn hold(&mut self, take: TakeLease) {
        if let Some(watcher) = &mut self.watcher {
            watcher.hold(&self.roots, take);
        }
    }

    /// Watches until `end` can be read or is closed. `stop` is called the moment that something must not be there; it may
    /// be called again. Without any watch it gives back at once what that means.
    #[cfg(unix)]
    pub fn watch(&mut self, end: std::os::fd::BorrowedFd<'_>, stop: &dyn Fn()) -> Watched {
        let folders: usize = self.roots.iter().map(|root| root.before.folders.len()).sum();
        let Some(watcher) = self.watcher.take() else {
            return Watched { unwatched: folders as u64, ..Watched::default() };
        };
        let mut names = std::mem::take(&mut self.names);
        let watched = watcher.run(self, &mut names, end, stop);
        self.names = names;
        watched
    }

    /// Looks again and puts back what is no longer as it was.
    pub fn revert(mut self, watched: Watched) -> GuardReport {
        // Nobody is kept waiting for what is put back.
        self.watcher = None;
        let end = End { at_ns: watched.ended_ns, at_the_latest_ns: None };
        let mut report = GuardReport { reverted: watched.into_reverted(), unseen: 0 };
        let records = self.records.take();
        end::look_back(&mut self.roots, &mut self.names, records.as_deref(), end, &mut report);
        report.reverted.sort_by(|one, two| (one.root, &one.path).cmp(&(two.root, &two.path)));
        report
    }
}

impl GuardReport {
    fn add(&mut self, all: impl IntoIterator<Item = Reverted>) {
        for reverted in all {
            // What is put back for the second time was taken away the first time.
            match self.reverted.iter_mut().find(|known| known.is_of(&reverted)) {
                Some(known) if reverted.taken.is_some() && known.taken.is_none() => *known = reverted,
                Some(known) => known.how = reverted.how,
                None => self.reverted.push(reverted),
            }
        }
    }
}

impl GuardedRoot {
    /// Looks through it after the command.
    fn look_again(&self, names: &mut Names, led: &[Led]) -> Found {
        let look = Look {
            root: &self.root,
            before: Some(&self.before),
            led,
            names,
            watcher: None,
            number: self.number,
            most_folders: MOST_FOLDERS,
        };
        look.whole()
    }

    /// Looks through it after the command, and moves what it moved back; then it is looked through again.
    fn move_back(&self, names: &mut Names, ended_ns: Option<i128>) -> (Found, Vec<Reverted>) {
        /// What was moved from what was moved comes in its turn.
        const MOST_TURNS: usize = 8;
        let mut after = self.look_again(names, &self.led);
        let mut reverted = Vec::new();
        for _ in 0..MOST_TURNS {
            let back = self.before().move_back(&after, ended_ns);
            if back.is_empty() {
                break;
            }
            let is_any_done = back.iter().any(|one| one.how != Revert::Left);
            reverted.extend(back);
            if !is_any_done {
                break;
            }
            after = self.look_again(names, &self.led);
        }
        (after, reverted)
    }

    fn before(&self) -> Before<'_> {
        let Self { root, number, before, led, fixed, .. } = self;
        Before { root: root.folder(), number: *number, found: before, led, fixed }
    }

    /// What has become a repository by what came elsewhere is none again.
    fn unmake_nearly(&self) -> Vec<Reverted> {
        self.nearly.iter().flat_map(|one| self.before().unmake_nearly(&self.root, one)).collect()
    }

    /// Takes away what was put there for the command; gives what could not be.
    fn clear(&mut self) -> Vec<Vec<OsString>> {
        let all = self.placeholders.drain(..);
        all.filter_map(|one| {
            let path = one.path.clone();
            (placeholder::take_away(one) == placeholder::Left::There).then_some(path)
        })
        .collect()
    }
}

impl Drop for GuardedRoot {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Reverted {
    fn new(root: usize, path: &[OsString], how: Revert) -> Self {
        Self { root, path: shown(path), how, taken: None, left: None }
    }

    fn is_at(&self, root: usize, path: &[OsString]) -> bool {
        self.root == root && self.path == shown(path)
    }

    fn is_of(&self, other: &Self) -> bool {
        (self.root, &self.path) == (other.root, &other.path)
    }
}

impl Taken {
    fn of(kept: &Kept) -> Option<Self> {
        match &kept.content {
            Content::File(content) => Some(Self::File { content: content.clone(), mode: kept.stat.mode }),
            Content::Link(to) => Some(Self::Link(to.clone())),
            Content::Folder | Content::Unknown => None,
        }
    }
}

fn opened<'found>(
    all: impl Iterator<Item = (&'found GuardedRoot, &'found Vec<OsString>)>,
    most: usize,
) -> Vec<Guarded> {
    all.filter_map(|(guarded, path)| {
        let handle = open(guarded.root.folder(), path)?;
        Some(Guarded { path: below(&guarded.root, path), handle })
    })
    .take(most)
    .collect()
}

/// A path from an allowed folder, with `/`.
fn shown(path: &[OsString]) -> String {
    path.iter().map(|name| name.to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn below(root: &Root, path: &[OsString]) -> PathBuf {
    path.iter().fold(Path::to_path_buf(root.real_path()), |path, name| path.join(name))
}

fn parent(folder: &Folder, path: &[OsString]) -> Option<kept::Object> {
    let (_, parents) = path.split_last()?;
    descend(folder, parents)?.stat().ok().map(|stat| kept::object_of(&stat))
}

/// Opens a file for reading without following a link.
fn open_file(folder: &Folder, path: &[OsString]) -> Option<File> {
    let (name, parents) = path.split_last()?;
    descend(folder, parents)?.open_file(name).ok().map(|(file, _)| file)
}

/// Opens a file or folder without following a link.
fn open(folder: &Folder, path: &[OsString]) -> Option<File> {
    let (name, parents) = path.split_last()?;
    let parent = descend(folder, parents)?;
    match parent.stat_of(name).ok()?.kind {
        TargetKind::Folder => parent.open_folder(name).ok()?.handle().ok(),
        TargetKind::File => parent.open_file(name).ok().map(|(file, _)| file),
        TargetKind::Link | TargetKind::Special | TargetKind::Missing => None,
    }
}

#[cfg(all(test, unix))]
mod tests;

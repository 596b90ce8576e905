//! A walk over a tree of opened folders: no link is followed, no mount crossed, no path looked up twice.
//!
//! It goes in the order of names, so that the same tree always gives the same order, and without recursion, so that no
//! tree can exhaust the stack. It judges nothing: which names to leave out it is told.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::folder::Listed;
use super::ignore_rules::IgnoreRules;
use super::{Folder, Target, WorkspaceError};
use crate::policy::TargetKind;

/// Deeper than any project; each level keeps a folder open.
pub const MAX_WALK_DEPTH: usize = 128;

/// Where a walk starts.
#[derive(Debug)]
pub struct WalkStart {
    folder: Folder,
    absolute: PathBuf,
    /// The folders above it, from the allowed folder down, each with the name by which the next is reached. Their
    /// ignore files count too.
    above: Vec<(Folder, OsString)>,
}

impl WalkStart {
    /// Starts at a target that is a folder.
    ///
    /// # Errors
    /// `NOT_A_DIRECTORY` when it is none.
    pub fn at(target: &Target) -> Result<Self, WorkspaceError> {
        let folder = target.folder()?.clone();
        let mut above = Vec::new();
        if let (Some(root), Some(relative)) = (target.root(), target.resolved_relative()) {
            let mut next = Some(root.folder().clone());
            for part in relative.parts() {
                let Some(current) = next else { break };
                let name = OsString::from(part);
                // Only ignore rules are read from these: one that cannot be opened has none.
                next = current.open_folder(&name).ok();
                above.push((current, name));
            }
        }
        Ok(Self { folder, absolute: target.resolved().to_path_buf(), above })
    }

    /// The mount on which the walk stays.
    pub(super) fn mount(&self) -> Result<u64, WorkspaceError> {
        let stat =
            self.folder.stat().map_err(|source| WorkspaceError::io("Looking at the folder", &self.absolute, source))?;
        Ok(stat.identity.mount)
    }
}

/// What a walk comes by first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WalkOrder {
    /// What is in a folder right after the folder; all by name.
    DepthFirst,
    /// Level by level, so that what lies near is seen when not everything can be; in a folder, folders first, then by
    /// name.
    NearestFirst,
}

/// How a walk goes and what it leaves out.
#[derive(Clone, Copy)]
pub struct WalkOptions<'a> {
    /// What comes first.
    pub order: WalkOrder,
    /// Names that are looked at in all, shown or not; the walk ends there.
    pub max_names: u64,
    /// 1 visits only what lies directly in the folder. Never more than [`MAX_WALK_DEPTH`].
    pub max_depth: usize,
    /// Whether names that begin with a dot are visited.
    pub include_hidden: bool,
    /// Whether `.gitignore`, `.ignore` and `.git/info/exclude` count (and `.git` is left out).
    pub respect_gitignore: bool,
    /// Whether policy hides this absolute path with this name. Such a thing is counted, and not entered.
    pub is_hidden_by_policy: &'a dyn Fn(&Path, &OsStr) -> bool,
    /// Stops the walk.
    pub cancel: &'a CancellationToken,
}

/// Something that a walk came by.
#[derive(Debug)]
pub struct Found<'a> {
    /// The folder that holds it.
    pub parent: &'a Folder,
    /// Its name.
    pub name: &'a OsStr,
    /// Its path below the start.
    pub relative: &'a Path,
    /// 1 directly in the start.
    pub depth: usize,
    /// What it is; its content is judged once more when it is opened.
    pub kind: TargetKind,
    /// How many names were hidden by policy before it.
    pub hidden_by_policy: u64,
}

/// Whom a walk shows what it comes by. A closure that takes what is found is one.
pub trait Visitor {
    /// Something was found. May end the walk.
    fn found(&mut self, found: Found<'_>) -> ControlFlow<()>;

    /// A folder that was found before is not entered, because it cannot be opened or lies on another mount.
    fn not_entered(&mut self, _relative: &Path, _reason: &io::Error) {}
}

impl<F: FnMut(Found<'_>) -> ControlFlow<()>> Visitor for F {
    fn found(&mut self, found: Found<'_>) -> ControlFlow<()> {
        self(found)
    }
}

/// What a walk left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WalkReport {
    /// Names that policy hides.
    pub hidden_by_policy: u64,
    /// Folders that could not be opened or listed, and names of which nothing could be found out.
    pub unreadable: u64,
    /// Folders that lie deeper than [`MAX_WALK_DEPTH`].
    pub too_deep: u64,
    /// Folders that lie on another mount.
    pub other_mounts: u64,
    /// Whether the visitor or the cancellation ended it early.
    pub is_stopped: bool,
    /// Whether there are more names than `max_names`.
    pub has_more_names: bool,
}

/// Walks the tree and shows everything to the visitor, who may end the walk.
///
/// # Errors
/// When the start itself cannot be listed.
pub fn walk(
    start: &WalkStart,
    options: &WalkOptions<'_>,
    visitor: &mut dyn Visitor,
) -> Result<WalkReport, WorkspaceError> {
    let failed = |source| WorkspaceError::io("Listing the folder", &start.absolute, source);
    let listing = start.folder.listing().map_err(failed)?;
    let mut rules = IgnoreRules::default();
    let mut from_top = PathBuf::new();
    if options.respect_gitignore {
        for (folder, name) in &start.above {
            rules = rules.below(folder, &from_top, None);
            from_top.push(name);
        }
        rules = rules.below(&start.folder, &from_top, Some(&listing));
    }
    let mut walker = Walker {
        mount: start.mount()?,
        start,
        options,
        visitor,
        report: WalkReport::default(),
        names: 0,
        relative: PathBuf::new(),
        top: from_top.clone(),
        from_top,
        waiting: VecDeque::new(),
    };
    let first = walker.level(start.folder.clone(), listing, rules, 1);
    walker.go(first);
    Ok(walker.report)
}

/// A folder that is being walked.
struct Level {
    folder: Folder,
    listing: std::vec::IntoIter<Listed>,
    rules: IgnoreRules,
    /// 1 for the start.
    depth: usize,
}

/// A folder whose turn comes later. It waits unopened: a level may have thousands.
struct Waiting {
    relative: PathBuf,
    /// Those of the folder that holds it.
    rules: IgnoreRules,
    depth: usize,
}

struct Walker<'walk> {
    start: &'walk WalkStart,
    options: &'walk WalkOptions<'walk>,
    visitor: &'walk mut dyn Visitor,
    mount: u64,
    report: WalkReport,
    /// Names that were looked at.
    names: u64,
    /// The path of what is looked at, below the start.
    relative: PathBuf,
    /// The start's own path below the allowed folder, where the ignore rules begin.
    top: PathBuf,
    /// The path of what is looked at, below the allowed folder.
    from_top: PathBuf,
    /// Folders still to be entered, the nearest first.
    waiting: VecDeque<Waiting>,
}

impl Walker<'_> {
    fn go(&mut self, first: Level) {
        let mut levels = vec![first];
        loop {
            let Some(level) = levels.last_mut() else {
                let Some(waiting) = self.waiting.pop_front() else { return };
                levels.extend(self.enter_waiting(waiting));
                continue;
            };
            let Some(Listed { name, kind }) = level.listing.next() else {
                levels.pop();
                self.leave();
                continue;
            };
            self.relative.push(&name);
            self.from_top.push(&name);
            match levels.last().map_or(ControlFlow::Continue(None), |level| self.see(level, &name, kind)) {
                ControlFlow::Continue(Some(next)) => levels.push(next),
                ControlFlow::Continue(None) => self.leave(),
                ControlFlow::Break(()) => return,
            }
        }
    }

    /// Looks at one name. Gives the folder to go into now, if it is one to go into.
    fn see(&mut self, level: &Level, name: &OsStr, kind: Option<TargetKind>) -> ControlFlow<(), Option<Level>> {
        if self.options.cancel.is_cancelled() {
            self.report.is_stopped = true;
            return ControlFlow::Break(());
        }
        if self.names >= self.options.max_names {
            self.report.has_more_names = true;
            return ControlFlow::Break(());
        }
        self.names += 1;
        if (self.options.is_hidden_by_policy)(&self.start.absolute.join(&self.relative), name) {
            self.report.hidden_by_policy += 1;
            return ControlFlow::Continue(None);
        }
        if !self.options.include_hidden && name.as_encoded_bytes().starts_with(b".") {
            return ControlFlow::Continue(None);
        }
        let Some(kind) = kind.or_else(|| Some(level.folder.stat_of(name).ok()?.kind)) else {
            self.report.unreadable += 1;
            return ControlFlow::Continue(None);
        };
        let is_folder = kind == TargetKind::Folder;
        if self.options.respect_gitignore && (name == ".git" || level.rules.ignores(&self.from_top, is_folder)) {
            return ControlFlow::Continue(None);
        }
        let shown = self.visitor.found(Found {
            parent: &level.folder,
            name,
            relative: &self.relative,
            depth: level.depth,
            kind,
            hidden_by_policy: self.report.hidden_by_policy,
        });
        if shown.is_break() {
            self.report.is_stopped = true;
            return ControlFlow::Break(());
        }
        if !is_folder || level.depth >= self.options.max_depth {
            return ControlFlow::Continue(None);
        }
        if level.depth >= MAX_WALK_DEPTH {
            self.report.too_deep += 1;
            return ControlFlow::Continue(None);
        }
        ControlFlow::Continue(match self.options.order {
            WalkOrder::DepthFirst => self.enter(&level.rules, level.depth + 1, || level.folder.open_folder(name)),
            WalkOrder::NearestFirst => {
                self.waiting.push_back(Waiting {
                    relative: self.relative.clone(),
                    rules: level.rules.clone(),
                    depth: level.depth + 1,
                });
                None
            }
        })
    }

    /// Enters a folder whose turn has come, from the start down, no link followed.
    fn enter_waiting(&mut self, waiting: Waiting) -> Option<Level> {
        let Waiting { relative, rules, depth } = waiting;
        self.from_top = self.top.join(&relative);
        self.relative = relative;
        let start = self.start.folder.clone();
        let way: Vec<OsString> = self.relative.iter().map(OsStr::to_owned).collect();
        self.enter(&rules, depth, || way.iter().try_fold(start, |folder, name| folder.open_folder(name)))
    }

    /// Opens the folder that is looked at. What is there now counts, not what was there when it was looked at.
    fn enter(&mut self, rules: &IgnoreRules, depth: usize, open: impl FnOnce() -> io::Result<Folder>) -> Option<Level> {
        let opened = open().and_then(|folder| Ok((folder.stat()?, folder.listing()?, folder)));
        let (stat, listing, folder) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.report.unreadable += 1;
                self.visitor.not_entered(&self.relative, &error);
                return None;
            }
        };
        if is_elsewhere(stat.identity.mount, self.mount) {
            self.report.other_mounts += 1;
            self.visitor.not_entered(&self.relative, &io::Error::other("it lies on another mount"));
            return None;
        }
        let rules = if self.options.respect_gitignore {
            rules.below(&folder, &self.from_top, Some(&listing))
        } else {
            rules.clone()
        };
        Some(self.level(folder, listing, rules, depth))
    }

    fn level(&self, folder: Folder, mut listing: Vec<Listed>, rules: IgnoreRules, depth: usize) -> Level {
        match self.options.order {
            WalkOrder::DepthFirst => {}
            WalkOrder::NearestFirst => listing.sort_by_key(|listed| listed.kind != Some(TargetKind::Folder)),
        }
        Level { folder, listing: listing.into_iter(), rules, depth }
    }

    fn leave(&mut self) {
        self.relative.pop();
        self.from_top.pop();
    }
}

/// Whether a mount is not the one that was allowed; 0 is a mount that the system does not tell.
pub(super) fn is_elsewhere(mount: u64, allowed: u64) -> bool {
    mount != 0 && mount != allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::RelPath;
    use crate::workspace::{Purpose, Root, resolve};

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let top = cap_std::fs::Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        for path in ["b/deep/deeper", "a", ".hidden"] {
            top.create_dir_all(path).unwrap();
        }
        for path in ["a/2", "a/10", "b/deep/deeper/x", "b.txt", ".hidden/y", "secret"] {
            top.write(path, "").unwrap();
        }
        #[cfg(unix)]
        top.symlink("a", "link").unwrap();
        folder
    }

    fn start(folder: &tempfile::TempDir) -> WalkStart {
        let root = Root::open(folder.path()).unwrap();
        WalkStart::at(&resolve(&root, &RelPath::default(), Purpose::Read).unwrap()).unwrap()
    }

    fn options(max_depth: usize, cancel: &CancellationToken) -> WalkOptions<'_> {
        WalkOptions {
            order: WalkOrder::DepthFirst,
            max_names: u64::MAX,
            max_depth,
            include_hidden: false,
            respect_gitignore: false,
            is_hidden_by_policy: &|_, name| name == "secret",
            cancel,
        }
    }

    fn visited(start: &WalkStart, options: &WalkOptions<'_>) -> (Vec<String>, WalkReport) {
        let mut seen = Vec::new();
        let report = walk(start, options, &mut |found: Found<'_>| {
            seen.push(found.relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"));
            ControlFlow::Continue(())
        });
        (seen, report.unwrap())
    }

    #[cfg(unix)]
    #[test]
    fn it_goes_depth_first_by_name_counts_what_policy_hides_and_follows_no_link() {
        let (folder, cancel) = (tree(), CancellationToken::new());
        let (seen, report) = visited(&start(&folder), &options(10, &cancel));
        assert_eq!(seen, ["a", "a/10", "a/2", "b", "b/deep", "b/deep/deeper", "b/deep/deeper/x", "b.txt", "link"]);
        assert_eq!(report, WalkReport { hidden_by_policy: 1, ..WalkReport::default() });
    }

    #[cfg(unix)]
    #[test]
    fn the_depth_and_hidden_names_are_as_asked() {
        let (folder, cancel) = (tree(), CancellationToken::new());
        let (seen, report) = visited(&start(&folder), &options(1, &cancel));
        assert_eq!((seen, report.too_deep), (["a", "b", "b.txt", "link"].map(str::to_owned).to_vec(), 0));
        let with_hidden = WalkOptions { include_hidden: true, ..options(2, &cancel) };
        let (seen, _) = visited(&start(&folder), &with_hidden);
        assert_eq!(seen, [".hidden", ".hidden/y", "a", "a/10", "a/2", "b", "b/deep", "b.txt", "link"]);
    }

    #[cfg(unix)]
    #[test]
    fn nearest_first_goes_level_by_level_folders_first() {
        let (folder, cancel) = (tree(), CancellationToken::new());
        let nearest = WalkOptions { order: WalkOrder::NearestFirst, ..options(10, &cancel) };
        let (seen, report) = visited(&start(&folder), &nearest);
        assert_eq!(seen, ["a", "b", "b.txt", "link", "a/10", "a/2", "b/deep", "b/deep/deeper", "b/deep/deeper/x"]);
        assert_eq!(report, WalkReport { hidden_by_policy: 1, ..WalkReport::default() });
        let (seen, _) = visited(&start(&folder), &WalkOptions { max_depth: 2, ..nearest });
        assert_eq!(seen, ["a", "b", "b.txt", "link", "a/10", "a/2", "b/deep"]);
    }

    #[test]
    fn names_are_counted_shown_or_not_and_end_the_walk() {
        let (folder, cancel) = (tree(), CancellationToken::new());
        for order in [WalkOrder::DepthFirst, WalkOrder::NearestFirst] {
            let some = WalkOptions { order, max_names: 3, ..options(10, &cancel) };
            let (seen, report) = visited(&start(&folder), &some);
            assert_eq!((seen.len(), report.has_more_names, report.is_stopped), (2, true, false), "{seen:?}");
        }
    }

    /// Removes a folder when it is shown, so that it is gone when its turn comes.
    struct Remover<'a> {
        top: &'a Path,
        not_entered: Vec<(PathBuf, io::ErrorKind)>,
    }

    impl Visitor for Remover<'_> {
        #[expect(clippy::disallowed_methods, reason = "the folder is the test's own")]
        fn found(&mut self, found: Found<'_>) -> ControlFlow<()> {
            if found.name == "a" {
                std::fs::remove_dir_all(self.top.join("a")).unwrap();
            }
            ControlFlow::Continue(())
        }

        fn not_entered(&mut self, relative: &Path, reason: &io::Error) {
            self.not_entered.push((relative.to_path_buf(), reason.kind()));
        }
    }

    #[test]
    fn a_folder_that_cannot_be_entered_is_told() {
        for order in [WalkOrder::DepthFirst, WalkOrder::NearestFirst] {
            let (folder, cancel) = (tree(), CancellationToken::new());
            let mut remover = Remover { top: folder.path(), not_entered: Vec::new() };
            let report = walk(&start(&folder), &WalkOptions { order, ..options(10, &cancel) }, &mut remover).unwrap();
            assert_eq!(remover.not_entered, [(PathBuf::from("a"), io::ErrorKind::NotFound)]);
            assert_eq!(report.unreadable, 1);
        }
    }

    #[test]
    fn the_visitor_and_the_stop_end_it() {
        let (folder, cancel) = (tree(), CancellationToken::new());
        let mut count = 0;
        let report = walk(&start(&folder), &options(10, &cancel), &mut |_: Found<'_>| {
            count += 1;
            if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((count, report.unwrap().is_stopped), (2, true));
        cancel.cancel();
        let (seen, report) = visited(&start(&folder), &options(10, &cancel));
        assert_eq!((seen, report.is_stopped), (Vec::<String>::new(), true));
    }
}

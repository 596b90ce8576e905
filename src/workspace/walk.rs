//! A walk over a tree of opened folders: no link is followed, no mount crossed, no path looked up twice.
//!
//! It goes depth first in the order of names, so that the same tree always gives the same order, and without recursion,
//! so that no tree can exhaust the stack. It judges nothing: which names to leave out it is told.

use std::ffi::{OsStr, OsString};
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

/// What a walk leaves out.
#[derive(Clone, Copy)]
pub struct WalkOptions<'a> {
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
}

/// Walks the tree and shows everything to `visit`, which may end the walk.
///
/// # Errors
/// When the start itself cannot be listed.
pub fn walk(
    start: &WalkStart,
    options: &WalkOptions<'_>,
    visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
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
        visit,
        report: WalkReport::default(),
        relative: PathBuf::new(),
        from_top,
    };
    let mut levels = vec![Level { folder: start.folder.clone(), listing: listing.into_iter(), rules }];
    while let Some(level) = levels.last_mut() {
        let Some(Listed { name, kind }) = level.listing.next() else {
            levels.pop();
            walker.leave();
            continue;
        };
        walker.relative.push(&name);
        walker.from_top.push(&name);
        let depth = levels.len();
        match levels.last().map_or(ControlFlow::Continue(None), |level| walker.see(level, &name, kind, depth)) {
            ControlFlow::Continue(Some(next)) => levels.push(next),
            ControlFlow::Continue(None) => walker.leave(),
            ControlFlow::Break(()) => {
                walker.report.is_stopped = true;
                break;
            }
        }
    }
    Ok(walker.report)
}

/// A folder that is being walked.
struct Level {
    folder: Folder,
    listing: std::vec::IntoIter<Listed>,
    rules: IgnoreRules,
}

struct Walker<'walk> {
    start: &'walk WalkStart,
    options: &'walk WalkOptions<'walk>,
    visit: &'walk mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    mount: u64,
    report: WalkReport,
    /// The path of what is looked at, below the start.
    relative: PathBuf,
    /// The same below the allowed folder, where the ignore rules begin.
    from_top: PathBuf,
}

impl Walker<'_> {
    /// Looks at one name. Gives the folder to go into, if it is one to go into.
    fn see(
        &mut self,
        level: &Level,
        name: &OsStr,
        kind: Option<TargetKind>,
        depth: usize,
    ) -> ControlFlow<(), Option<Level>> {
        if self.options.cancel.is_cancelled() {
            return ControlFlow::Break(());
        }
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
        (self.visit)(Found {
            parent: &level.folder,
            name,
            relative: &self.relative,
            depth,
            kind,
            hidden_by_policy: self.report.hidden_by_policy,
        })?;
        if !is_folder || depth >= self.options.max_depth {
            return ControlFlow::Continue(None);
        }
        if depth >= MAX_WALK_DEPTH {
            self.report.too_deep += 1;
            return ControlFlow::Continue(None);
        }
        ControlFlow::Continue(self.enter(level, name))
    }

    /// Opens a folder. What is there now counts, not what was there when it was looked at.
    fn enter(&mut self, level: &Level, name: &OsStr) -> Option<Level> {
        let opened = level.folder.open_folder(name).and_then(|folder| Ok((folder.stat()?, folder.listing()?, folder)));
        let Ok((stat, listing, folder)) = opened else {
            self.report.unreadable += 1;
            return None;
        };
        if is_elsewhere(stat.identity.mount, self.mount) {
            self.report.other_mounts += 1;
            return None;
        }
        let rules = if self.options.respect_gitignore {
            level.rules.below(&folder, &self.from_top, Some(&listing))
        } else {
            level.rules.clone()
        };
        Some(Level { folder, listing: listing.into_iter(), rules })
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
            max_depth,
            include_hidden: false,
            respect_gitignore: false,
            is_hidden_by_policy: &|_, name| name == "secret",
            cancel,
        }
    }

    fn visited(start: &WalkStart, options: &WalkOptions<'_>) -> (Vec<String>, WalkReport) {
        let mut seen = Vec::new();
        let report = walk(start, options, &mut |found| {
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

    #[test]
    fn the_visitor_and_the_stop_end_it() {
        let (folder, cancel) = (tree(), CancellationToken::new());
        let mut count = 0;
        let report = walk(&start(&folder), &options(10, &cancel), &mut |_| {
            count += 1;
            if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((count, report.unwrap().is_stopped), (2, true));
        cancel.cancel();
        let (seen, report) = visited(&start(&folder), &options(10, &cancel));
        assert_eq!((seen, report.is_stopped), (Vec::<String>::new(), true));
    }
}

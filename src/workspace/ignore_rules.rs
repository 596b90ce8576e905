//! `.gitignore`, `.ignore` and `.git/info/exclude`, read through the handles of a walk.
//!
//! As ripgrep has it: the deepest rule that says anything decides; `.ignore` goes before git's files; git's files count up
//! to the folder that is the repository. The person's own global git configuration lies outside and is not read.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Folder;
use super::folder::Listed;

/// The rules that hold in one folder: its own and those of the folders above it. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreRules {
    deepest: Option<Arc<Level>>,
}

/// One folder that has rules of its own, or where a repository begins.
#[derive(Debug)]
struct Level {
    ignore: Option<Gitignore>,
    gitignore: Option<Gitignore>,
    exclude: Option<Gitignore>,
    is_repository: bool,
    above: IgnoreRules,
}

/// More than any list of rules that a person wrote.
const MAX_RULES_BYTES: u64 = 1024 * 1024;

impl IgnoreRules {
    /// The rules in a folder below. `from_top` is its path below the allowed folder; `listing` what is in it, where known.
    pub(super) fn below(&self, folder: &Folder, from_top: &Path, listing: Option<&[Listed]>) -> Self {
        let has = |name: &str| {
            let order = |listed: &Listed| listed.name.as_os_str().cmp(OsStr::new(name));
            listing.is_none_or(|listing| listing.binary_search_by(order).is_ok())
        };
        let read = |name: &str| if has(name) { rules_of(folder, name, from_top) } else { None };
        let (ignore, gitignore) = (read(".ignore"), read(".gitignore"));
        let is_repository = has(".git") && folder.stat_of(OsStr::new(".git")).is_ok();
        if ignore.is_none() && gitignore.is_none() && !is_repository {
            return self.clone();
        }
        let info = || folder.open_folder(OsStr::new(".git")).and_then(|git| git.open_folder(OsStr::new("info")));
        let exclude =
            if is_repository { info().ok().and_then(|info| rules_of(&info, "exclude", from_top)) } else { None };
        Self { deepest: Some(Arc::new(Level { ignore, gitignore, exclude, is_repository, above: self.clone() })) }
    }

    /// Whether something is ignored. `from_top` is its path below the allowed folder.
    pub(super) fn ignores(&self, from_top: &Path, is_folder: bool) -> bool {
        let says = |rules: &Option<Gitignore>| match rules.as_ref().map(|rules| rules.matched(from_top, is_folder)) {
            None | Some(Match::None) => None,
            Some(Match::Ignore(_)) => Some(true),
            Some(Match::Whitelist(_)) => Some(false),
        };
        let mut in_repository = true;
        let mut git_says = None;
        let mut exclude_says = None;
        let mut next = self.deepest.as_deref();
        while let Some(level) = next {
            if let Some(ignored) = says(&level.ignore) {
                return ignored;
            }
            if in_repository {
                git_says = git_says.or_else(|| says(&level.gitignore));
                exclude_says = exclude_says.or_else(|| says(&level.exclude));
                in_repository = !level.is_repository;
            }
            next = level.above.deepest.as_deref();
        }
        git_says.or(exclude_says).unwrap_or(false)
    }
}

/// The rules in a file, if it is one and says anything. A line that is no pattern is passed over, as git does.
fn rules_of(folder: &Folder, name: &str, from_top: &Path) -> Option<Gitignore> {
    let (file, _) = folder.open_file(OsStr::new(name)).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_RULES_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(from_top);
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        builder.add_line(None, line).ok();
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

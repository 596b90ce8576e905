//! Folders that git does not take for a repository only because of what lies, or does not lie, elsewhere: where a link, a
//! `commondir` or a file `.git` leads, or in a part that is not in order.
//!
//! They are found before a command, with what they lack; what has become one is unmade. What came goes, gets another name
//! beside or is put back as it was; only where that cannot be, what named it goes, and is handed on.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::back::{Before, remove};
use super::kept::{Content, Kept, Room, descend};
use super::look::{Found, PARTS};
use super::name::PickedUp;
use super::{Revert, Reverted, Taken, below};
use crate::workspace::lead::{Leads, is_taken, lacking, may_be_taken};
use crate::workspace::{Folder, Root};

const HEAD: &str = "HEAD";
const GIT: &str = ".git";

/// One of them, as it was before the command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Nearly {
    /// From the allowed folder: the folder, or the file or link `.git` that leads to one. Of one that lies elsewhere the
    /// whole path.
    path: Vec<OsString>,
    /// Its head, whatever that was; of a folder alone. Not kept over a crash.
    #[serde(skip)]
    head: Option<Kept>,
    /// Where nothing was and something would make it a repository.
    lacking: Vec<PathBuf>,
}

impl Nearly {
    fn new(root: &Root, path: Vec<OsString>) -> Self {
        let folder = descend(root.folder(), &path);
        let head =
            folder.and_then(|folder| Kept::of(&folder, OsStr::new(HEAD), PickedUp::AtOnce, &mut Room::default()));
        let lacking = lacking(&below(root, &path));
        Self { path, head, lacking }
    }

    /// Whether something that it is made of came or changed after the command's end: then somebody else did that.
    pub(super) fn came_later(&self, root: &Root, ended_ns: i128) -> bool {
        let git = below(root, &self.path);
        let parts = PARTS.iter().map(|part| git.join(part));
        let changed_ns = |path: PathBuf| {
            let folder = Folder::open_ambient(path.parent()?).ok()?;
            Some(folder.stat_of(path.file_name()?).ok()?.changed_ns)
        };
        self.lacking.iter().cloned().chain(parts).filter_map(changed_ns).any(|changed_ns| changed_ns > ended_ns)
    }

    /// Whether git works in it now, at least for whoever stands in the right place.
    pub(super) fn is_made(&self, root: &Root) -> bool {
        may_be_taken(&below(root, &self.path))
    }

    /// Its place.
    pub(super) fn place(&self, root: &Root) -> PathBuf {
        below(root, &self.path)
    }
}

/// Those in an allowed folder that was looked at, nearest first; folders before what leads to them. Then those elsewhere that
/// lack something in it.
pub(super) fn nearly(root: &Root, found: &Found, leads: &Leads) -> Vec<Nearly> {
    let pointers = found.protected.iter().filter_map(|(path, kept)| {
        let is_git = path.last().is_some_and(|name| name.eq_ignore_ascii_case(GIT));
        let leads = matches!(kept.content, Content::File(_) | Content::Link(_) | Content::Unknown);
        (is_git && leads).then_some(path)
    });
    let within = found.git_folders.iter().chain(pointers).filter(|path| !is_taken(&below(root, path)));
    let within = within.map(|path| Nearly::new(root, path.clone()));
    let elsewhere = leads.nearly().iter().filter(|git| !git.starts_with(root.real_path()));
    let elsewhere = elsewhere.map(|git| Nearly::new(root, git.iter().map(OsStr::to_owned).collect()));
    within.chain(elsewhere.filter(|one| one.lacking.iter().any(|path| names_in(root, path).is_some()))).collect()
}

impl Before<'_> {
    /// Makes it again what it was for git, if it is a repository now; gives what was done.
    pub(super) fn unmake_nearly(&self, root: &Root, nearly: &Nearly) -> Vec<Reverted> {
        let mut reverted = Vec::new();
        if nearly.is_made(root) {
            reverted.extend(self.put_head_back(nearly));
        }
        for mend in [Self::remove_what_came, Self::set_aside] {
            for path in nearly.lacking.iter().filter_map(|path| names_in(root, path)) {
                if nearly.is_made(root) {
                    reverted.extend(mend(self, &path));
                }
            }
        }
        if nearly.is_made(root) {
            reverted.extend(self.remove_what_names(root, nearly));
        }
        reverted
    }

    fn put_head_back(&self, nearly: &Nearly) -> Option<Reverted> {
        let kept = nearly.head.as_ref()?;
        let path = child(&nearly.path, HEAD);
        let now = self.now_at(&path);
        let is_another = now.as_ref().is_none_or(|now| !kept.is_same(now));
        is_another.then(|| self.restore(&path, kept, now.as_ref()))
    }

    /// The head of a folder, without which there is no repository, or what leads to one. Outside the allowed folder nothing
    /// is touched: what came stays, and is told.
    fn remove_what_names(&self, root: &Root, nearly: &Nearly) -> Vec<Reverted> {
        if !nearly.place(root).starts_with(root.real_path()) {
            let came = nearly.lacking.iter().filter_map(|path| names_in(root, path));
            return came
                .filter(|path| self.now_at(path).is_some())
                .map(|path| self.reverted(&path, Revert::Left))
                .collect();
        }
        let is_folder = descend(self.root, &nearly.path).is_some();
        let path = if is_folder { child(&nearly.path, HEAD) } else { nearly.path.clone() };
        vec![match self.now_at(&path) {
            // Also where it was mounted read-only: what it leads to has changed.
            Some(now) if remove(self.root, &path, &now).is_ok() => {
                Reverted { taken: Taken::of(&now), ..self.reverted(&path, Revert::Removed) }
            }
            Some(_) | None => self.reverted(&path, Revert::Left),
        }]
    }
}

fn child(path: &[OsString], name: &str) -> Vec<OsString> {
    path.iter().map(OsString::as_os_str).chain([OsStr::new(name)]).map(OsStr::to_owned).collect()
}

/// The names of a path from an allowed folder; `None` where it lies elsewhere.
fn names_in(root: &Root, path: &Path) -> Option<Vec<OsString>> {
    let rest = path.strip_prefix(root.real_path()).ok()?;
    Some(rest.iter().map(OsStr::to_owned).collect())
}

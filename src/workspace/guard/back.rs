//! What a command changed, put back: what was there returns, what has appeared goes. Whatever is taken away is handed on, so
//! that it can be brought back.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};

use super::kept::{Content, Kept, Object, Room, descend, object_of};
use super::lead::Led;
use super::look::{Found, OWNER_MAY_ALL, PARTS, Top, is_repository};
use super::moved::{set_aside, thing_at};
use super::name::PickedUp;
use super::steps::{is_at_work, runs_nothing};
use super::{Revert, Reverted, Taken};
use crate::policy::TargetKind;
use crate::workspace::folder::Privacy;
use crate::workspace::{Folder, system};

/// What there was, and what of it the command could not change.
pub(super) struct Before<'before> {
    pub(super) root: &'before Folder,
    /// The number of the allowed folder.
    pub(super) number: usize,
    pub(super) found: &'before Found,
    /// What in it something else leads to.
    pub(super) led: &'before [Led],
    pub(super) fixed: &'before [Top],
}

impl Before<'_> {
    /// Puts back all that is no longer as it was, where it belongs after a command that ended then.
    pub(super) fn put_back(&self, after: &Found, ended_ns: Option<i128>) -> Vec<Reverted> {
        let before = self.found;
        let mut reverted = Vec::new();
        let protected = before.protected.iter();
        let places: BTreeMap<Vec<OsString>, &Kept> =
            protected.filter_map(|(path, kept)| Some((self.place_of(path, after, ended_ns)?, kept))).collect();
        // What went along with its folder is no new file.
        let is_new = |(path, now): &(&Vec<OsString>, &Kept)| !places.contains_key(*path) && !runs_nothing(path, now);
        // The inner before the outer, so that a folder is empty when its turn comes.
        let new: Vec<(&Vec<OsString>, &Kept)> = after.protected.iter().rev().filter(is_new).collect();
        let mut unmade: Vec<&[OsString]> = Vec::new();
        for (path, now) in new {
            let repositories = after.git_folders.iter().filter(|git| path.starts_with(git));
            let repository = repositories.max_by_key(|git| git.len()).map_or(&[][..], Vec::as_slice);
            if unmade.contains(&repository) {
                continue;
            }
            if self.is_made(repository) {
                reverted.extend(self.unmake(repository));
                if !self.is_made(repository) {
                    unmade.push(repository);
                    continue;
                }
            }
            // Where not everything was seen before, only what lies in a folder that was is known to be new.
            let is_known = !before.is_cut() || self.was_parent_there(path);
            reverted.push(if is_known { self.take_away(path, now) } else { self.reverted(path, Revert::Left) });
        }
        let mut made_anew: HashSet<&[OsString]> = HashSet::new();
        for (path, kept) in &places {
            let parents = path.split_last().map(|(_, parents)| parents).unwrap_or_default();
            match after.protected.get(path) {
                Some(now) if kept.is_same(now) || is_at_work(path, kept, now) => {}
                // A folder that has only become empty changes nothing for git, and is there.
                None if kept.content == Content::Folder && object_at(self.root, path).is_some() => {}
                // With its folder it went to where nothing obeys it.
                None if !before.protected.contains_key(path) && thing_at(self.root, path).is_some() => {}
                Some(now) => {
                    reverted.push(self.restore(path, kept, Some(now)));
                    made_anew.insert(path);
                }
                // Where its folder went, it went along; a command may remove folders. What was not reached this time is
                // not known to be gone.
                None if !after.is_cut() && (made_anew.contains(parents) || self.was_parent_there(path)) => {
                    reverted.push(self.restore(path, kept, None));
                    made_anew.insert(path);
                }
                None => {}
            }
        }
        // To put something back into a folder its owner may have got more rights than before.
        for path in made_anew {
            if let (Some(kept), Some((name, parents))) = (places.get(path), path.split_last())
                && kept.content == Content::Folder
                && kept.stat.mode & OWNER_MAY_ALL != OWNER_MAY_ALL
                && let Some(parent) = descend(self.root, parents)
            {
                set_folder_mode(&parent, name, kept).ok();
            }
        }
        reverted.sort_by(|one, two| one.path.cmp(&two.path));
        reverted
    }

    /// Whether a folder that is no folder of git by its name was there before and has only now become a repository.
    pub(super) fn is_made(&self, repository: &[OsString]) -> bool {
        let is_named = repository.last().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        !is_named
            && self.found.has_folder(repository)
            && !self.found.git_folders.iter().any(|git| git == repository)
            && descend(self.root, repository).is_some_and(|folder| is_repository(&folder))
    }

    /// The same of the repository that a path lies in.
    pub(super) fn made_around<'path>(&self, path: &'path [OsString]) -> Option<&'path [OsString]> {
        let folders = (0..path.len()).rev().filter_map(|length| path.get(..length));
        let is_git = |folder: &&[OsString]| {
            folder.last().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
                || descend(self.root, folder).is_some_and(|folder| is_repository(&folder))
        };
        folders.into_iter().find(is_git).filter(|repository| self.is_made(repository))
    }

    /// Takes away what made a folder a repository: what came, not what was there. A folder that holds something gets another
    /// name beside. Only where that cannot be either, it is the head, without which there is no repository.
    pub(super) fn unmake(&self, repository: &[OsString]) -> Vec<Reverted> {
        let Some(folder) = descend(self.root, repository) else { return Vec::new() };
        let path_of = |part: &str| -> Vec<OsString> {
            repository.iter().map(OsString::as_os_str).chain([OsStr::new(part)]).map(OsStr::to_owned).collect()
        };
        let was_there =
            |path: &Vec<OsString>| self.found.parts.contains(path) || self.found.protected.contains_key(path);
        let came = PARTS.into_iter().filter(|part| !was_there(&path_of(part)));
        let mut reverted = Vec::new();
        for mend in [Self::remove_what_came, Self::set_aside] {
            for part in came.clone() {
                if is_repository(&folder) {
                    reverted.extend(mend(self, &path_of(part)));
                }
            }
        }
        if is_repository(&folder) {
            let now = Kept::of(&folder, OsStr::new("HEAD"), PickedUp::AtOnce, &mut Room::default());
            reverted.extend(now.map(|now| self.take_away(&path_of("HEAD"), &now)));
        }
        reverted
    }

    /// A file, a link or an empty folder.
    pub(super) fn remove_what_came(&self, path: &[OsString]) -> Option<Reverted> {
        let reverted = self.take_away(path, &self.now_at(path)?);
        (reverted.how == Revert::Removed).then_some(reverted)
    }

    /// What came and holds something gets another name beside: it was moved there, or is the work of the command.
    pub(super) fn set_aside(&self, path: &[OsString]) -> Option<Reverted> {
        let (name, parents) = path.split_last().filter(|_| !self.is_fixed(path))?;
        let parent = writable_parent(self.root, parents).ok()?;
        let aside = [parents, &[set_aside(&parent, name)?]].concat();
        Some(self.reverted(&aside, Revert::Restored))
    }

    pub(super) fn now_at(&self, path: &[OsString]) -> Option<Kept> {
        let (name, parents) = path.split_last()?;
        let now = Kept::of(&descend(self.root, parents)?, name, PickedUp::AtOnce, &mut Room::default())?;
        (now.stat.kind != TargetKind::Missing).then_some(now)
    }

    /// Whether the command could not change what is at this path: then somebody else did. A file with another name could be
    /// changed by that one.
    fn is_out_of_reach(&self, path: &[OsString], kept: Option<&Kept>) -> bool {
        self.is_fixed(path) && !kept.is_some_and(Kept::has_other_names)
    }

    /// Whether this path is mounted read-only for the command.
    pub(super) fn is_fixed(&self, path: &[OsString]) -> bool {
        self.fixed.iter().any(|top| path.starts_with(&top.path) && parent_of(self.root, &top.path) == Some(top.parent))
    }

    /// Whether the folder that something lies in was there before, or is a protected one or one of git that has been made
    /// anew in its place: what was in that belongs there.
    fn was_parent_there(&self, path: &[OsString]) -> bool {
        let Some((parents, parent)) = path.split_last().map(|(_, parents)| parents).zip(parent_of(self.root, path))
        else {
            return false;
        };
        let is_folder = |kept: &Kept| kept.content == Content::Folder;
        let has_place = || {
            self.found.protected.get(parents).is_some_and(is_folder)
                || self.found.git_folders.iter().any(|git| git == parents)
        };
        self.found.folders.contains(&parent) || (has_place() && self.was_parent_there(parents))
    }

    /// Removes what has appeared.
    pub(super) fn take_away(&self, path: &[OsString], now: &Kept) -> Reverted {
        if self.is_fixed(path) {
            return self.reverted(path, Revert::Outside);
        }
        match remove(self.root, path, now) {
            Ok(()) => Reverted { taken: Taken::of(now), ..self.reverted(path, Revert::Removed) },
            Err(_) => self.reverted(path, Revert::Left),
        }
    }

    /// Puts back what was there: a file by a new file that takes its name, never into an inode that has other names.
    pub(super) fn restore(&self, path: &[OsString], kept: &Kept, now: Option<&Kept>) -> Reverted {
        if self.is_out_of_reach(path, Some(kept)) {
            return self.reverted(path, Revert::Outside);
        }
        match restore(self.root, path, kept, now) {
            Ok(()) => Reverted {
                taken: now.and_then(Taken::of),
                left: Taken::of(kept),
                ..self.reverted(path, Revert::Restored)
            },
            // What was there is the only copy then: it goes where what was taken away goes.
            Err(_) => {
                Reverted { taken: Taken::of(kept), left: now.and_then(Taken::of), ..self.reverted(path, Revert::Left) }
            }
        }
    }

    /// Where what is missing at a path begins: a file in a folder that is there, or the outermost protected folder. `None`
    /// where its folder or its repository went as a whole, which a command may remove.
    #[cfg(target_os = "linux")]
    pub(super) fn missing_from<'path>(&self, path: &'path [OsString]) -> Option<&'path [OsString]> {
        let is_there = |path: &[OsString]| match path.split_last() {
            Some((name, parents)) => descend(self.root, parents).is_some_and(|parent| parent.stat_of(name).is_ok()),
            None => true,
        };
        let mut prefixes = (1..=path.len()).filter_map(|length| path.get(..length));
        let missing = prefixes.find(|prefix| !is_there(prefix))?;
        let repositories = self.found.git_folders.iter().filter(|git| path.starts_with(git));
        let repository = repositories.max_by_key(|git| git.len());
        let is_obeyed = repository.is_none_or(|git| descend(self.root, git).is_some_and(|git| is_repository(&git)));
        let is_protected = self.found.protected.contains_key(missing);
        (is_protected && is_obeyed && self.was_parent_there(missing)).then_some(missing)
    }

    /// Puts back what was at a path and below it, all of which is missing.
    #[cfg(target_os = "linux")]
    pub(super) fn bring_back(&self, missing: &[OsString]) -> Vec<Reverted> {
        let from = self.found.protected.range(missing.to_vec()..);
        let all = from.take_while(|(path, _)| path.starts_with(missing));
        all.map(|(path, kept)| self.restore(path, kept, None)).collect()
    }

    pub(super) fn reverted(&self, path: &[OsString], how: Revert) -> Reverted {
        Reverted::new(self.number, path, how)
    }
}

pub(super) fn parent_of(root: &Folder, path: &[OsString]) -> Option<Object> {
    let (_, parents) = path.split_last()?;
    object_at(root, parents)
}

/// Which folder lies there.
pub(super) fn object_at(root: &Folder, path: &[OsString]) -> Option<Object> {
    descend(root, path)?.stat().ok().map(|stat| object_of(&stat))
}

/// The folder that something lies in, so that it can be changed there: a command may have taken that right away.
pub(super) fn writable_parent(root: &Folder, parents: &[OsString]) -> io::Result<Folder> {
    let parent = descend(root, parents).ok_or(io::ErrorKind::NotFound)?;
    let mode = parent.stat()?.mode;
    // Somebody else's folder stays as it is: then the change itself says so.
    let opened = if mode & OWNER_MAY_ALL == OWNER_MAY_ALL { None } else { parent.open_up(mode | OWNER_MAY_ALL).ok() };
    Ok(opened.unwrap_or(parent))
}

pub(super) fn remove(root: &Folder, path: &[OsString], now: &Kept) -> io::Result<()> {
    let (name, parents) = path.split_last().ok_or(io::ErrorKind::NotFound)?;
    let parent = writable_parent(root, parents)?;
    match now.stat.kind {
        TargetKind::Folder => parent.remove_folder(name),
        TargetKind::File | TargetKind::Link | TargetKind::Special | TargetKind::Missing => parent.remove_file(name),
    }
}

fn restore(root: &Folder, path: &[OsString], kept: &Kept, now: Option<&Kept>) -> io::Result<()> {
    let (name, parents) = path.split_last().ok_or(io::ErrorKind::NotFound)?;
    let parent = writable_parent(root, parents)?;
    let is_folder = |kept: &Kept| kept.stat.kind == TargetKind::Folder;
    match now {
        Some(now) if is_folder(kept) && is_folder(now) => return set_folder_mode(&parent, name, kept),
        Some(now) if is_folder(kept) || is_folder(now) || kept.stat.kind == TargetKind::Link => {
            remove(root, path, now)?;
        }
        Some(_) | None => {}
    }
    match &kept.content {
        Content::Folder => {
            parent.create_folder(name, Privacy::Umask).and_then(|()| set_folder_mode(&parent, name, kept))
        }
        Content::Link(target) => parent.create_link(name, target),
        Content::File(content) => {
            let temporary = temporary_name(name);
            let mut file = parent.create_file(&temporary, Privacy::Owner)?;
            let written = file
                .write_all(content)
                .and_then(|()| system::set_mode(&file, kept.stat.mode & 0o1777))
                .and_then(|()| file.sync_all())
                .and_then(|()| parent.rename(&temporary, &parent, name));
            if written.is_err() {
                // Then it lies beside, and the failure is told.
                parent.remove_file(&temporary).ok();
            }
            written
        }
        Content::Unknown => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Who may make names in a protected folder decides what is obeyed there.
fn set_folder_mode(parent: &Folder, name: &OsStr, kept: &Kept) -> io::Result<()> {
    let mode = kept.stat.mode & 0o3777;
    let opened = parent.open_folder(name)?.open_up(mode);
    // It may be one that its owner may not list.
    if parent.stat_of(name)?.mode == mode { Ok(()) } else { opened.map(drop) }
}

pub(super) fn temporary_name(name: &OsStr) -> OsString {
    let mut temporary = OsString::from(".nod-");
    temporary.push(name);
    temporary.push(format!("-{}", std::process::id()));
    temporary
}

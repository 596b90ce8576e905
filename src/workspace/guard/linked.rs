//! Links in the place of what the person had: whoever goes there by the name comes to another folder, as if that had been
//! moved there.
//!
//! A link at a path where a folder or another link was shows what it leads to under that path, wherever it lies: in
//! packages, in another allowed folder, outside. What something obeys may be there only as it was there before. A name
//! that nobody had is nobody's concern, as it is for a folder.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::back::{Before, object_at};
use super::harmless::runs_nothing;
use super::kept::{Content, Kept, Object, Room, descend, object_of};
use super::look::{Found, Look, Start, is_repository};
use super::moved::rename_new;
use super::name::{Around, Names, PickedUp};
use super::{Revert, Reverted};
use crate::policy::TargetKind;
use crate::workspace::lead::is_shifting;
use crate::workspace::{Folder, Root};

/// At most so many folders are looked at behind all links; what lies further is not trusted.
pub(super) const MOST_FOLDERS_BEHIND: usize = 100_000;

/// A link whose name says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Linked {
    pub(super) to: PathBuf,
    /// The folder that it leads to, where that is in the same allowed folder: nothing else is touched for it.
    pub(super) end: Option<Object>,
}

impl Linked {
    /// The link of this name in a folder, and its path from the allowed folder.
    pub(super) fn of(root: &Root, folder: &Folder, path: &[OsString], name: &OsStr) -> Option<Self> {
        let to = folder.read_link(name).ok()?;
        let is_inside = leads_inside(root.real_path(), path.len().saturating_sub(1), &to);
        let end = is_inside.then(|| Folder::open_ambient(&super::below(root, path)).ok()?.stat().ok()).flatten();
        Some(Self { to, end: end.map(|stat| object_of(&stat)) })
    }
}

/// Whether what a link in a folder of this depth says stays in the allowed folder, as far as the words go.
fn leads_inside(root: &Path, depth: usize, to: &Path) -> bool {
    let (mut depth, rest) = match to.strip_prefix(root) {
        Ok(rest) => (0, rest),
        Err(_) => (depth, to),
    };
    rest.components().all(|part| {
        let next = match part {
            Component::Normal(_) => depth.checked_add(1),
            Component::CurDir => Some(depth),
            Component::ParentDir => depth.checked_sub(1),
            Component::RootDir | Component::Prefix(_) => None,
        };
        depth = next.unwrap_or_default();
        next.is_some()
    })
}

impl Found {
    /// Whether a folder or a link was at this path.
    pub(super) fn had(&self, path: &[OsString]) -> bool {
        self.has_folder(path) || self.links.contains_key(path)
    }

    /// The folder that one came to by this path.
    pub(super) fn end_at(&self, path: &[OsString]) -> Option<Object> {
        self.folder_at(path).or_else(|| self.links.get(path)?.end)
    }

    /// Whether a link that is at this path now may lead elsewhere than before.
    pub(super) fn is_led_elsewhere(&self, path: &[OsString], now: &Linked) -> bool {
        let is_same_end = now.end.is_some() && now.end == self.end_at(path);
        self.had(path) && !is_same_end && self.links.get(path) != Some(now)
    }
}

/// Of which links it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those that were not there, or said something else.
    Changed,
    /// Those that say the same: they lead elsewhere only by what else changed, and that is mended first.
    Unchanged,
}

/// What is behind a link.
enum Behind {
    /// Something that is obeyed and was not there before.
    New,
    /// Nothing; these links in it, by the path that they had before and by their place, may lead on.
    Links(Vec<(Vec<OsString>, PathBuf)>),
}

impl Before<'_> {
    /// Takes away what leads elsewhere than before, to what something obeys, and gives the folder or the link that was
    /// there its place back.
    pub(super) fn unlink(&self, after: &Found, which: Which, ended_ns: Option<i128>) -> Vec<Reverted> {
        let mut room = MOST_FOLDERS_BEHIND;
        // In the place of a folder that is obeyed, or on the way to one.
        let is_in_place = |(path, now): &(&Vec<OsString>, &Kept)| {
            now.stat.kind != TargetKind::Folder && self.found.has_folder(path) && !self.is_fixed(path)
        };
        let obeyed = after.protected.iter().filter(|entry| which == Which::Changed && is_in_place(entry));
        let is_asked_for = |(path, now): &(&Vec<OsString>, &Linked)| {
            let is_unchanged = self.found.links.get(*path).is_some_and(|was| was.to == now.to);
            is_unchanged == (which == Which::Unchanged)
        };
        let links = after.links.iter().filter(is_asked_for).map(|(path, _)| path);
        let misleading = links.filter(|path| self.misleads(path, &mut room));
        let all: Vec<&Vec<OsString>> = obeyed.map(|(path, _)| path).chain(misleading).collect();
        let is_the_persons = |path: &[OsString]| ended_ns.is_some_and(|end| self.went_later(path, end));
        let mut reverted = Vec::new();
        for path in all.into_iter().filter(|path| !is_the_persons(path)) {
            let now = path.split_last().and_then(|(name, parents)| {
                Kept::of(&descend(self.root, parents)?, name, PickedUp::AtOnce, &mut Room::default())
            });
            let Some(now) = now else { continue };
            let mut one = self.take_away(path, &now);
            // It would lead to the same again.
            let is_itself = self.found.links.get(path).is_some_and(|was| now.content == Content::Link(was.to.clone()));
            if one.how == Revert::Removed && !is_itself && self.give_place_back(path, after) {
                one.how = Revert::Restored;
            }
            reverted.push(one);
        }
        reverted
    }

    /// Gives the folder or the link that was at a path its place back, where nothing has it now.
    pub(super) fn give_place_back(&self, path: &[OsString], after: &Found) -> bool {
        if let Some(was) = self.found.links.get(path) {
            let Some((name, parents)) = path.split_last() else { return false };
            return descend(self.root, parents).is_some_and(|parent| parent.create_link(name, &was.to).is_ok());
        }
        let owner = self.found.folder_at(path).and_then(|owner| after.places.get(&owner));
        owner.is_some_and(|owner| owner != path && rename_new(self.root, owner, path).is_ok())
    }

    /// Where something of an allowed folder lies.
    fn true_place(&self, path: &[OsString]) -> Option<PathBuf> {
        let (name, parents) = path.split_last()?;
        Some(descend(self.root, parents)?.true_path().ok()?.join(name))
    }

    /// Whether the link at a path, where a folder or another link was, leads to something that is obeyed there from now on.
    pub(super) fn misleads(&self, path: &[OsString], room: &mut usize) -> bool {
        const MOST_LINKS: usize = 1000;
        let place = self.true_place(path);
        let mut waiting: Vec<(Vec<OsString>, PathBuf)> =
            place.map(|place| (path.to_vec(), place)).into_iter().collect();
        for _ in 0..MOST_LINKS {
            let Some((path, place)) = waiting.pop() else { return false };
            match self.behind(&path, &place, room) {
                Behind::New => return true,
                Behind::Links(more) => waiting.extend(more),
            }
        }
        true
    }

    fn behind(&self, path: &[OsString], place: &Path, room: &mut usize) -> Behind {
        let nothing = Behind::Links(Vec::new());
        // What it shows to the person is not what it shows here.
        if is_shifting(place) {
            return Behind::New;
        }
        let end = match Folder::open_ambient(place) {
            Ok(end) => end,
            // Whoever knows a name in it comes there all the same.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Behind::New,
            Err(_) => return nothing,
        };
        let (Ok(stat), Ok(true_path)) = (end.stat(), end.true_path()) else { return Behind::New };
        let was = self.found.end_at(path);
        if was == Some(object_of(&stat)) {
            return nothing;
        }
        let Ok(end) = Root::open(&true_path) else { return Behind::New };
        let look = Look {
            root: &end,
            before: None,
            names: &mut Names::default(),
            led: &[],
            watcher: None,
            number: self.number,
            most_folders: *room,
        };
        let start = Start { folder: end.folder().clone(), path: Vec::new(), around: self.around(path), above: None };
        let found = look.from(vec![start]);
        *room = room.saturating_sub(found.folders.len());
        // Where that was, what it shows now was shown from.
        let elsewhere = was.filter(|_| !self.found.has_folder(path)).and_then(|was| self.found.places.get(&was));
        let old = elsewhere.map_or(path, Vec::as_slice);
        let is_inside = self.root.true_path().is_ok_and(|top| true_path.starts_with(top));
        if found.unreached > 0
            || self.shows_new(old, &found, is_inside)
            || self.lies_in_another(path, place, &true_path)
        {
            return Behind::New;
        }
        let links = found.links.iter().map(|(rest, now)| (join(old, rest), super::below(&end, rest), now));
        let further = links.filter(|(path, _, now)| self.found.is_led_elsewhere(path, now));
        Behind::Links(further.map(|(path, place, _)| (path, place)).collect())
    }

    /// Whether something is obeyed there that was not the same below the old path.
    fn shows_new(&self, old: &[OsString], found: &Found, is_inside: bool) -> bool {
        // One repository in the allowed folder may be shown for another where it runs nothing: it is kept by its own name.
        let is_another = |git: &Vec<OsString>| {
            let inside =
                found.protected.iter().filter_map(|(path, now)| Some((path.strip_prefix(git.as_slice())?, now)));
            let mut inside = inside.filter_map(|(below, now)| Some((below.split_last()?, now)));
            is_inside
                && self.found.accepts_repositories
                && self.found.git_folders.contains(&join(old, git))
                && inside.all(|((name, below), now)| runs_nothing(below, name, now))
        };
        let is_new_repository =
            |git: &Vec<OsString>| self.found.folder_at(&join(old, git)) != found.folder_at(git) && !is_another(git);
        if found.git_folders.iter().any(is_new_repository) {
            return true;
        }
        let is_new = |(path, now): (&Vec<OsString>, &Kept)| {
            let is_gits = found.git_folders.iter().any(|git| path.starts_with(git));
            // The same word may lead elsewhere from another place.
            let is_pointer = path.last().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
            let is_same = |was: &Kept| match now.content {
                Content::File(_) => !is_pointer && was.is_same(now),
                Content::Folder | Content::Link(_) | Content::Unknown => was.object() == now.object(),
            };
            let is_empty = now.content == Content::Folder;
            !is_gits && !is_empty && !self.found.protected.get(&join(old, path)).is_some_and(is_same)
        };
        found.protected.iter().any(is_new)
    }

    /// Whether the folder at the end lies in another repository than the link, and than what that led to before: who goes
    /// there asks that one.
    fn lies_in_another(&self, path: &[OsString], place: &Path, end: &Path) -> bool {
        let Some(around) = end.parent().and_then(repository_around) else { return false };
        let parent = place.parent();
        let was = self
            .found
            .links
            .get(path)
            .and_then(|was| Folder::open_ambient(&parent?.join(&was.to)).ok()?.true_path().ok());
        let own = [parent, was.as_deref().and_then(Path::parent)];
        !own.into_iter().flatten().filter_map(repository_around).any(|own| own == around)
    }

    /// What a path means as a folder.
    fn around(&self, path: &[OsString]) -> Around {
        let top = self.root.true_path().unwrap_or_default();
        let mut names = Names::default();
        path.iter().fold(Around::root(&top), |around, name| {
            let meaning = names.meaning(&around, name, true);
            around.child(name, meaning)
        })
    }

    /// Whether something else lies at a path where a folder or a link was.
    pub(super) fn is_another(&self, path: &[OsString]) -> bool {
        self.found.had(path) && self.found.end_at(path) != object_at(self.root, path)
    }
}

fn join(path: &[OsString], rest: &[OsString]) -> Vec<OsString> {
    path.iter().chain(rest).cloned().collect()
}

/// The repository that git finds from a folder.
fn repository_around(folder: &Path) -> Option<Object> {
    folder.ancestors().find_map(|path| {
        let folder = Folder::open_ambient(path).ok()?;
        let is_one = folder.stat_of(OsStr::new(".git")).is_ok() || is_repository(&folder);
        is_one.then(|| folder.stat().ok()).flatten().map(|stat| object_of(&stat))
    })
}

/// Links in a place of before that have led to nothing yet: what they lead to may come.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// By the number of the allowed folder and the path.
    links: Vec<(usize, Vec<OsString>)>,
    /// Whether something has happened since they were looked at.
    is_stale: bool,
    next_ns: i128,
}

impl Waiting {
    /// One more; what does not fit is looked at after the command.
    pub(super) fn add(&mut self, number: usize, path: Vec<OsString>) {
        const MOST: usize = 256;
        let link = (number, path);
        if self.links.len() < MOST && !self.links.contains(&link) {
            self.links.push(link);
        }
        (self.is_stale, self.next_ns) = (true, 0);
    }

    /// Whether there is something to look at.
    pub(super) fn is_due(&self) -> bool {
        self.is_stale && !self.links.is_empty()
    }

    /// Those that are to be looked at now, after something has happened or not.
    pub(super) fn take(&mut self, has_happened: bool, now_ns: i128) -> Vec<(usize, Vec<OsString>)> {
        self.is_stale |= has_happened;
        let is_now = self.is_due() && now_ns >= self.next_ns;
        if is_now { std::mem::take(&mut self.links) } else { Vec::new() }
    }

    /// Those that still lead to nothing, after a look that took so long: most of the time is for other things.
    pub(super) fn give_back(&mut self, links: Vec<(usize, Vec<OsString>)>, began_ns: i128, now_ns: i128) {
        const SHARE: i128 = 20;
        self.links.extend(links);
        self.is_stale = false;
        self.next_ns = now_ns.saturating_add((now_ns - began_ns).saturating_mul(SHARE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_link_say_whether_it_stays_inside() {
        let inside = |depth, to: &str| leads_inside(Path::new("/projects/a"), depth, Path::new(to));
        for (depth, to) in [(0, "p"), (0, "."), (1, "../p/q"), (2, "../.."), (0, "/projects/a/p"), (0, "p/../q")] {
            assert!(inside(depth, to), "{depth} {to}");
        }
        for (depth, to) in [(0, ".."), (1, "../../a"), (0, "/projects/ab"), (0, "/projects/a/../b"), (0, "p/../../a")] {
            assert!(!inside(depth, to), "{depth} {to}");
        }
    }
}

//! What a command moved: it goes back whole to where it was, or stays whole where it means the same.
//!
//! What a path was before is told by the folder that lies there now, by device and inode (`Found::places`). Nothing is
//! written here: things only get their names back, so that no repository ends with a part of another.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;

use super::back::{Before, object_at, parent_of, temporary_name, writable_parent};
use super::kept::{Kept, Object, descend};
use super::lead::Led;
use super::linked::Which;
use super::look::Found;
use super::{Revert, Reverted};
use crate::workspace::Folder;
use crate::workspace::folder::Privacy;

/// From where to where something went with all that is in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Move {
    old: Vec<OsString>,
    new: Vec<OsString>,
}

impl Before<'_> {
    /// What a path was before the command, if it lies in a folder that something protected lay in or below.
    pub(super) fn was_at(&self, path: &[OsString]) -> Option<Vec<OsString>> {
        let (name, _) = path.split_last()?;
        Some(child(self.found.places.get(&parent_of(self.root, path)?)?, name))
    }

    /// Where what was at a path belongs now: in its folder, wherever that went along to. `None` where its own folder is gone
    /// and another one that is known has its place: nothing of it is written there. What the person has moved since the command's
    /// end belongs where it is.
    pub(super) fn place_of(&self, old: &[OsString], after: &Found, ended_ns: Option<i128>) -> Option<Vec<OsString>> {
        let (name, parents) = old.split_last()?;
        let folder = self.found.folder_at(parents);
        if let Some(now) = folder.and_then(|folder| after.places.get(&folder)) {
            let place = child(now, name);
            let went_later = || ended_ns.is_some_and(|end| self.went_later(&self.whole(old, &place, after).new, end));
            if now == parents || self.went_along(old, &place) || went_later() {
                return Some(place);
            }
        }
        // Where its own folder would be.
        let place = if parents.is_empty() { Vec::new() } else { self.place_of(parents, after, ended_ns)? };
        let is_anothers =
            |now: Object| folder.is_some_and(|folder| folder != now) && self.found.places.contains_key(&now);
        (!object_at(self.root, &place).is_some_and(is_anothers)).then(|| child(&place, name))
    }

    /// Whether this very thing was at another path before, and is there no more: it is the only one there is.
    pub(super) fn is_the_only_one(&self, path: &[OsString], now: &Kept) -> bool {
        let was_there = |(old, kept): (&Vec<OsString>, &Kept)| {
            old != path && kept.object() == now.object() && thing_at(self.root, old) != Some(now.object())
        };
        self.found.protected.iter().any(was_there)
    }

    /// Gives what went to where it would mean something else its old name back, each time whole. What changed its name after
    /// the command's end is the person's doing. Gives what went back; then it has to be looked at again.
    pub(super) fn move_back(&self, after: &Found, ended_ns: Option<i128>) -> Vec<Reverted> {
        let mut reverted = self.unlink(after, Which::Changed, ended_ns);
        if reverted.iter().any(|one| one.how != Revert::Left) {
            return reverted;
        }
        let mut touched: Vec<Vec<OsString>> = Vec::new();
        let mut strays: Vec<Move> = Vec::new();
        for one in self.moves(after) {
            let is_free =
                |path: &[OsString]| !touched.iter().any(|known| known.starts_with(path) || path.starts_with(known));
            if !is_free(&one.old) || !is_free(&one.new) || ended_ns.is_some_and(|end| self.went_later(&one.new, end)) {
                continue;
            }
            let Some(home) = self.go_back(&one, after, &mut strays) else { continue };
            reverted.push(self.reverted(&home, Revert::Restored));
            touched.extend([home, one.old, one.new.clone()]);
            // Whose place that was has it again.
            let owner = self.found.folder_at(&one.new).and_then(|owner| after.places.get(&owner));
            let is_free = !owner.is_some_and(|owner| touched.iter().any(|known| owner.starts_with(known)));
            if is_free && self.give_place_back(&one.new, after) {
                reverted.push(self.reverted(&one.new, Revert::Restored));
                touched.extend(owner.cloned());
            }
        }
        for Move { old, new } in strays {
            if rename_new(self.root, &new, &old).is_ok() {
                reverted.push(self.reverted(&old, Revert::Restored));
            }
        }
        reverted
    }

    /// The folders of git that the command has moved, with the configuration that they had: what it says of itself was
    /// approved by nobody and goes.
    pub(super) fn moved_git<'after>(&self, after: &'after Found) -> Vec<&'after [OsString]> {
        let is_moved = |new: &&Vec<OsString>| {
            let old = object_at(self.root, new).and_then(|git| self.found.places.get(&git));
            old.filter(|old| old != new && self.found.git_folders.contains(old)).is_some_and(|old| {
                let before = self.found.protected.get(&configuration_of(old));
                let now = after.protected.get(&configuration_of(new));
                now.is_some_and(|now| before.is_some_and(|kept| kept.is_same(now)))
            })
        };
        after.git_folders.iter().filter(is_moved).map(Vec::as_slice).collect()
    }

    /// Whether what was at a path went along with a folder: the outermost one that gives it its meaning is the same and in
    /// the same folder as before, wherever that lies now. A repository that is not called `.git` means the same anywhere.
    pub(super) fn went_along(&self, old: &[OsString], new: &[OsString]) -> bool {
        let is_git = |name: &OsString| name.eq_ignore_ascii_case(".git");
        let (top, repository) = self.meaning_of(old);
        let length = top.or(repository).map_or(old.len(), <[OsString]>::len);
        let (Some((outermost, below)), Some(new_outermost)) = (
            old.split_at_checked(length),
            new.len().checked_sub(old.len() - length).and_then(|length| new.get(..length)),
        ) else {
            return false;
        };
        let (Some(name), Some((new_name, above))) = (outermost.last(), new_outermost.split_last()) else {
            return false;
        };
        if !new.ends_with(below) || above.iter().any(is_git) {
            return false;
        }
        // In the place of another folder it is new to whoever looks there.
        if (1..=new_outermost.len()).filter_map(|length| new.get(..length)).any(|path| self.is_another(path)) {
            return false;
        }
        // So it is where something else led to nothing.
        let is_led_to = |led: &Led, path: &[OsString], outermost: &[OsString]| {
            led.rest == path || (!led.rest.is_empty() && led.rest.starts_with(outermost))
        };
        if self.led.iter().any(|led| is_led_to(led, new, new_outermost) && !is_led_to(led, old, outermost)) {
            return false;
        }
        let is_folder_of = |now: &[OsString], old: &[OsString]| {
            self.found.folder_at(old).is_none_or(|folder| object_at(self.root, now) == Some(folder))
        };
        let is_in_its_folder = || outermost.split_last().is_some_and(|(_, holder)| is_folder_of(above, holder));
        match repository.filter(|_| top.is_none()) {
            Some(_) if !is_git(name) => !is_git(new_name) && is_folder_of(new_outermost, outermost),
            Some(_) => name == new_name && is_folder_of(new_outermost, outermost) && is_in_its_folder(),
            // After a crash nobody may know which folder it was.
            None => name == new_name && is_in_its_folder(),
        }
    }

    /// The outermost protected thing and the outermost repository that a path lay in: only that of the two which is further
    /// out.
    fn meaning_of(&self, old: &[OsString]) -> (Option<&[OsString]>, Option<&[OsString]>) {
        let repositories = self.found.git_folders.iter().filter(|git| !git.is_empty() && old.starts_with(git));
        let repository = repositories.min_by_key(|git| git.len()).map(Vec::as_slice);
        let tops = self.found.tops.iter().map(|top| top.path.as_slice()).filter(|top| old.starts_with(top));
        let top = tops.min_by_key(|top| top.len());
        let top = top.filter(|top| repository.is_none_or(|git| top.len() < git.len()));
        (top, repository)
    }

    /// What is to go back, outermost first.
    fn moves(&self, after: &Found) -> Vec<Move> {
        let is_new = |path: &[OsString], now: &Kept| {
            self.found.protected.get(path).is_none_or(|kept| kept.object() != now.object())
        };
        let new = after.protected.iter().filter(|(path, now)| is_new(path, now));
        let alone: HashMap<Object, &Vec<OsString>> = new.map(|(path, now)| (now.object(), path)).collect();
        let repositories = self.found.git_folders.iter().map(|git| (configuration_of(git), None));
        let protected = self.found.protected.iter().map(|(path, kept)| (path.clone(), Some(kept.object())));
        let moved = repositories.chain(protected).filter_map(|(old, object)| {
            let (name, parents) = old.split_last()?;
            let folder = self.found.folder_at(parents).and_then(|folder| after.places.get(&folder));
            let new = if let Some(folder) = folder.filter(|now| *now != parents) {
                child(folder, name)
            } else {
                let object = object.filter(|object| thing_at(self.root, &old) != Some(*object))?;
                after.places.get(&object).or_else(|| alone.get(&object).copied())?.clone()
            };
            if new == old || self.is_fixed(&old) || self.went_along(&old, &new) {
                return None;
            }
            Some(self.whole(&old, &new, after))
        });
        let all: HashSet<Move> = moved.collect();
        let mut all: Vec<Move> = all.into_iter().collect();
        all.sort_by(|one, two| (one.old.len(), &one.old).cmp(&(two.old.len(), &two.old)));
        all
    }

    /// The outermost folder that went with it. Where that took the place of a folder that is no more, others may have come
    /// to it: then only what gives it its meaning.
    fn whole(&self, old: &[OsString], new: &[OsString], after: &Found) -> Move {
        let (mut moved, mut moved_to) = (old, new);
        while let (Some((name, above)), Some((new_name, new_above))) = (moved.split_last(), moved_to.split_last()) {
            let folder = self.found.folder_at(above).filter(|_| name == new_name && !above.is_empty());
            if folder.is_none() || folder != object_at(self.root, new_above) {
                break;
            }
            (moved, moved_to) = (above, new_above);
        }
        let is_gone = |owner: Object| !after.folders.contains(&owner);
        if self.found.folder_at(moved_to).is_some_and(is_gone) {
            let (top, repository) = self.meaning_of(old);
            let length = top.or(repository).map_or(old.len(), <[OsString]>::len);
            let inner = new.len().checked_sub(old.len() - length).filter(|_| length > moved.len());
            if let Some((old, new)) = inner.and_then(|inner| Some((old.get(..length)?, new.get(..inner)?))) {
                (moved, moved_to) = (old, new);
            }
        }
        Move { old: moved.to_vec(), new: moved_to.to_vec() }
    }

    pub(super) fn went_later(&self, path: &[OsString], ended_ns: i128) -> bool {
        let stat = path.split_last().and_then(|(name, parents)| descend(self.root, parents)?.stat_of(name).ok());
        stat.is_some_and(|stat| stat.changed_ns > ended_ns)
    }

    /// Moves it back into its folder, wherever that is now; where there is none any more, it is made again. What has come to
    /// lie in its place goes to where it belongs itself, else beside. Gives where it is now.
    fn go_back(&self, one: &Move, after: &Found, strays: &mut Vec<Move>) -> Option<Vec<OsString>> {
        let (name, parents) = one.old.split_last()?;
        let folder = self.found.folder_at(parents).and_then(|folder| after.places.get(&folder));
        let holder = folder
            .filter(|now| !now.starts_with(&one.new) && child(now, name) != one.new)
            .map_or(parents, Vec::as_slice);
        let parent = made_folder(self.root, holder).ok()?;
        let temporary = temporary_name(name);
        let home = child(holder, name);
        move_to(self.root, &one.new, &parent, &temporary).ok()?;
        let is_free = parent.stat_of(name).is_err() || parent.remove_folder(name).is_ok() || {
            let occupant = thing_at(self.root, &home);
            let belongs = |path: &&[OsString]| {
                occupant.is_some()
                    && self.found.folder_at(path) == occupant
                    && rename_new(self.root, &home, path).is_ok()
            };
            let own = occupant.and_then(|occupant| self.found.places.get(&occupant));
            let places = std::iter::once(one.new.as_slice()).chain(own.map(Vec::as_slice));
            places.filter(|path| *path != home.as_slice()).find(belongs).is_some()
                || set_aside(&parent, name).is_some_and(|aside| {
                    let stray = own.map(|own| Move { old: own.clone(), new: child(holder, &aside) });
                    strays.extend(stray);
                    true
                })
        };
        if is_free && parent.rename_new(&temporary, &parent, name).is_ok() {
            return Some(home);
        }
        // Then it is judged where it was.
        let (name, parents) = one.new.split_last()?;
        descend(self.root, parents).and_then(|back| parent.rename_new(&temporary, &back, name).ok());
        None
    }
}

/// The configuration in a folder of git.
fn configuration_of(git: &[OsString]) -> Vec<OsString> {
    child(git, OsStr::new("config"))
}

fn child(path: &[OsString], name: &OsStr) -> Vec<OsString> {
    path.iter().map(OsString::as_os_str).chain([name]).map(OsStr::to_owned).collect()
}

/// What lies at a path, whatever it is.
pub(super) fn thing_at(root: &Folder, path: &[OsString]) -> Option<Object> {
    let (name, parents) = path.split_last()?;
    descend(root, parents)?.stat_of(name).ok().map(|stat| super::kept::object_of(&stat))
}

/// Gives what lies in its way another name beside: the name that it got, if there is one.
pub(super) fn set_aside(parent: &Folder, name: &OsStr) -> Option<OsString> {
    const MOST_TRIES: u32 = 100;
    (1..=MOST_TRIES).find_map(|number| {
        let mut aside = name.to_owned();
        aside.push(format!("-{number}"));
        parent.rename_new(name, parent, &aside).is_ok().then_some(aside)
    })
}

/// Moves something to where nothing is.
pub(super) fn rename_new(root: &Folder, from: &[OsString], to: &[OsString]) -> io::Result<()> {
    let (name, parents) = to.split_last().ok_or(io::ErrorKind::NotFound)?;
    move_to(root, from, &writable_parent(root, parents)?, name)
}

fn move_to(root: &Folder, from: &[OsString], parent: &Folder, to: &OsStr) -> io::Result<()> {
    let (name, parents) = from.split_last().ok_or(io::ErrorKind::NotFound)?;
    let source = writable_parent(root, parents)?;
    match source.rename_new(name, parent, to) {
        // A folder that nobody may write to cannot be given another one above it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            writable_parent(root, from)?;
            source.rename_new(name, parent, to)
        }
        done => done,
    }
}

/// The folder at a path, where nothing is made.
fn made_folder(root: &Folder, path: &[OsString]) -> io::Result<Folder> {
    for length in 1..=path.len() {
        let Some((name, parents)) = path.get(..length).and_then(<[OsString]>::split_last) else { break };
        let parent = descend(root, parents).ok_or(io::ErrorKind::NotFound)?;
        if parent.stat_of(name).is_err() {
            writable_parent(root, parents)?.create_folder(name, Privacy::Umask)?;
        }
    }
    writable_parent(root, path)
}

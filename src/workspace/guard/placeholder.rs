//! Harmless things put where git would look for something to obey and nothing is, for the time of a command.
//!
//! What is absent cannot be mounted read-only. A `commondir` that says "here", an empty `config` and an empty `hooks` change
//! nothing for git, inside and outside; mounted read-only, none of them can be made into something else. Runs that are at
//! work in the same folder hold the same one, by locks; the last one takes it away. One that a crash left behind is
//! harmless, and the next run takes it over.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;

use super::kept::{Content, Kept, Object, descend, object_of};
use super::look::OWNER_MAY_ALL;
use super::name::Around;
use super::{Revert, Reverted};
use crate::workspace::folder::{Hold, Privacy};
use crate::workspace::{Folder, system};

/// In which folder of git everything common lies: in this one.
const COMMON_FOLDER: &str = "commondir";
const HERE: &[u8] = b".\n";
const CONFIGURATION: &str = "config";
const HOOKS: &str = "hooks";

/// One that is held.
#[derive(Debug)]
pub(super) struct Placeholder {
    /// From the allowed folder.
    pub(super) path: Vec<OsString>,
    /// The folder of git that it lies in: where that is moved to, it is found.
    folder: Folder,
    hold: File,
    is_own: bool,
}

/// Whether one is left where nobody wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    There,
}

impl Placeholder {
    /// What it is, if this run made it.
    pub(super) fn made(&self) -> Option<Object> {
        self.is_own.then(|| system::stat_handle(&self.hold).ok().map(|stat| object_of(&stat)))?
    }
}

/// Whether this is one: something that changes nothing for git, whoever made it.
pub(super) fn is_one(around: &Around, name: &OsStr, folder: &Folder, kept: &Kept) -> bool {
    if !around.is_git() {
        return false;
    }
    match &kept.content {
        Content::File(bytes) if name == COMMON_FOLDER => bytes.as_slice() == HERE,
        Content::File(bytes) if name == CONFIGURATION => bytes.is_empty(),
        Content::Folder if name == HOOKS => is_empty(folder, name),
        Content::File(_) | Content::Folder | Content::Link(_) | Content::Unknown => false,
    }
}

/// Whether one can be made into something else without a word from the kernel: what is empty has nothing to be mapped.
pub(super) fn can_become_another(kept: &Kept) -> bool {
    matches!(&kept.content, Content::File(bytes) if !bytes.is_empty())
}

fn is_empty(folder: &Folder, name: &OsStr) -> bool {
    folder.open_folder(name).and_then(|folder| folder.names()).is_ok_and(|names| names.is_empty())
}

/// Puts them into a folder of git where something is absent. What cannot be put there is left to the watch.
pub(super) fn put(root: &Folder, git: &[OsString]) -> Vec<Placeholder> {
    let Some(folder) = descend(root, git) else { return Vec::new() };
    if folder.stat_of(OsStr::new("HEAD")).is_err() {
        return Vec::new();
    }
    let names = [COMMON_FOLDER, CONFIGURATION, HOOKS].map(OsStr::new);
    names.into_iter().filter_map(|name| put_one(&folder, git, name)).collect()
}

fn put_one(folder: &Folder, git: &[OsString], name: &OsStr) -> Option<Placeholder> {
    // Another run may take its own away between the look and the hold.
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        let is_own = match folder.stat_of(name) {
            Ok(_) => false,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(folder, name).is_ok(),
            Err(_) => return None,
        };
        let hold = folder.hold(name, Hold::Shared)?;
        let stat = folder.stat_of(name).ok();
        let is_held = stat.is_some_and(|stat| {
            system::stat_handle(&hold).is_ok_and(|held| held.identity.is_same_object(&stat.identity))
        });
        if is_held {
            let path = git.iter().map(OsString::as_os_str).chain([name]).map(OsStr::to_owned).collect();
            let folder = folder.clone();
            return is_harmless(&folder, name).then_some(Placeholder { path, folder, hold, is_own });
        }
    }
    None
}

fn is_harmless(folder: &Folder, name: &OsStr) -> bool {
    use super::kept::Room;
    use super::name::PickedUp;
    Kept::of(folder, name, PickedUp::AtOnce, &mut Room::default())
        .is_some_and(|kept| is_one(&Around::git(), name, folder, &kept))
}

fn make(folder: &Folder, name: &OsStr) -> std::io::Result<()> {
    if name == HOOKS {
        return folder.create_folder(name, Privacy::Umask);
    }
    let mut file = folder.create_file(name, Privacy::Umask)?;
    let written = if name == COMMON_FOLDER { file.write_all(HERE) } else { Ok(()) };
    if written.is_err() {
        // On a full disk: half of one is none, and git would stumble over it.
        folder.remove_file(name).ok();
    }
    written
}

/// Takes it away, unless another run holds it or something else is there now.
pub(super) fn take_away(placeholder: Placeholder) -> Left {
    let Placeholder { path, folder, hold, is_own } = placeholder;
    let held = system::stat_handle(&hold).ok();
    // A process that is just being started may have it open too, for a moment.
    system::let_go(&hold);
    drop(hold);
    let Some(name) = path.last() else { return Left::Nothing };
    // An empty configuration or folder for hooks may be the person's own; the other one nobody makes but this.
    if !is_own && name != COMMON_FOLDER {
        return Left::Nothing;
    }
    let Some(held) = held else { return Left::There };
    match folder.stat_of(name) {
        Ok(now) if object_of(&now) == object_of(&held) => remove_left(&folder, name),
        // Something else has its name; it may have another one.
        Ok(_) | Err(_) if held.identity.links == 0 => Left::Nothing,
        Ok(_) => Left::Nothing,
        Err(_) => Left::There,
    }
}

/// Takes away what a run that crashed has left in a folder of git: what nobody else makes, and what that run made itself.
pub(super) fn clear(root: &Folder, git: &[OsString], made: &[Object]) -> Left {
    let Some(folder) = descend(root, git) else { return Left::Nothing };
    let mut left = Left::Nothing;
    for name in [COMMON_FOLDER, CONFIGURATION, HOOKS].map(OsStr::new) {
        let is_made = folder.stat_of(name).is_ok_and(|stat| made.contains(&object_of(&stat)));
        if (name == COMMON_FOLDER || is_made) && remove_left(&folder, name) == Left::There {
            left = Left::There;
        }
    }
    left
}

/// What is told of one that a crash left and that could not be taken away.
pub(super) fn told(root: usize, git: &[OsString]) -> Reverted {
    let path: Vec<OsString> = git.iter().cloned().chain([OsString::from(COMMON_FOLDER)]).collect();
    Reverted::new(root, &path, Revert::Left)
}

fn remove_left(folder: &Folder, name: &OsStr) -> Left {
    if !is_harmless(folder, name) {
        return Left::Nothing;
    }
    // Another run's, for as long as it needs it.
    let Some(_alone) = folder.hold(name, Hold::Alone) else { return Left::Nothing };
    let remove = |folder: &Folder| if name == HOOKS { folder.remove_folder(name) } else { folder.remove_file(name) };
    match remove(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            // A command may have taken the right to change the folder away.
            let opened = folder.stat().and_then(|stat| Ok((stat.mode, folder.open_up(stat.mode | OWNER_MAY_ALL)?)));
            let Ok((mode, opened)) = opened else { return Left::There };
            let removed = remove(&opened);
            opened.set_mode(mode).ok();
            if removed.is_ok() { Left::Nothing } else { Left::There }
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Left::There,
        Ok(()) | Err(_) => Left::Nothing,
    }
}

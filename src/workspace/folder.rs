//! An opened folder and what can be done with one name in it.
//!
//! Every operation takes a single name, never a path, and never follows a link: nothing done through a `Folder` can
//! leave it, however the tree around it is being rearranged meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use super::{Stat, system};
use crate::policy::TargetKind;

/// An opened folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Folder {
    dir: Arc<Dir>,
}

/// One thing in a folder.
#[derive(Debug)]
pub struct Entry {
    /// Its name; not always text.
    pub name: OsString,
    /// What it is, or why that could not be found out.
    pub stat: Result<Stat>,
}

/// A name in a listing.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) name: OsString,
    /// What it is, where the listing itself tells that.
    pub(super) kind: Option<TargetKind>,
}

impl Folder {
    /// Opens a folder by its path, links followed: only for a path that the person or the program chose.
    pub(super) fn open_ambient(path: &Path) -> Result<Self> {
        Dir::open_ambient_dir(path, cap_std::ambient_authority()).map(Self::from_dir)
    }

    pub(super) fn from_dir(dir: Dir) -> Self {
        Self { dir: Arc::new(dir) }
    }

    /// What the folder itself is.
    pub fn stat(&self) -> Result<Stat> {
        system::stat_handle(&*self.dir)
    }

    /// Its permission bits, with the owning group's own rights where there is an access list.
    pub(super) fn own_bits(&self, mode: u32) -> u32 {
        system::own_bits(&*self.dir, mode)
    }

    /// Where the handle really leads to, as far as the system says.
    pub(super) fn true_path(&self) -> Result<PathBuf> {
        system::path_of_handle(&*self.dir)
    }

    /// The handle once more, for a command that shall start here.
    pub fn handle(&self) -> Result<File> {
        self.dir.try_clone().map(Dir::into_std_file)
    }

    /// What the name stands for; a link is the link itself.
    pub fn stat_of(&self, name: &OsStr) -> Result<Stat> {
        system::stat_name(&self.dir, single(name)?)
    }

    /// Opens a folder in this folder. A link is refused.
    pub fn open_folder(&self, name: &OsStr) -> Result<Self> {
        system::open_folder(&self.dir, single(name)?).map(Self::from_dir)
    }

    /// Opens a regular file in this folder for reading. A link, pipe, socket or device is refused, without blocking.
    pub fn open_file(&self, name: &OsStr) -> Result<(File, Stat)> {
        // Judged before it is opened too: opening a device can have effects, and opening a socket fails unclearly.
        refuse_special(&self.stat_of(name)?)?;
        self.open_listed_file(name)
    }

    /// The same for a name that was just listed as a regular file: looked at once, after it is opened.
    pub(super) fn open_listed_file(&self, name: &OsStr) -> Result<(File, Stat)> {
        let file = system::open_file(&self.dir, single(name)?)?;
        let stat = system::stat_handle(&file)?;
        refuse_special(&stat)?;
        Ok((file, stat))
    }

    /// Its permission bits for making it anew: with the owning group's own rights where there is an access list.
    pub fn bits_to_keep(&self) -> Result<u32> {
        self.stat().map(|stat| self.own_bits(stat.mode))
    }

    /// What a link says.
    pub fn read_link(&self, name: &OsStr) -> Result<PathBuf> {
        self.dir.read_link_contents(single(name)?)
    }

    /// What is in this folder, sorted by name, so that the same folder always gives the same order.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for name in self.names()? {
            let stat = self.stat_of(&name);
            entries.push(Entry { name, stat });
        }
        Ok(entries)
    }

    /// The names in this folder, sorted, each with what it is where the listing itself tells that.
    pub(super) fn listing(&self) -> Result<Vec<Listed>> {
        let mut listing = Vec::new();
        self.each(&mut |name, kind| listing.push(Listed { name, kind }))?;
        listing.sort_by(|one, two| one.name.cmp(&two.name));
        Ok(listing)
    }

    /// Gives the names in this folder one by one, as the system has them, each with what it is where that is told: however
    /// many there are, they take no memory.
    pub(super) fn each(&self, on_name: &mut dyn FnMut(OsString, Option<TargetKind>)) -> Result<()> {
        for entry in self.dir.entries()? {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_file() => Some(TargetKind::File),
                kind if kind.is_dir() => Some(TargetKind::Folder),
                kind if kind.is_symlink() => Some(TargetKind::Link),
                _ => None,
            };
            on_name(entry.file_name(), kind);
        }
        Ok(())
    }

    /// The names in this folder, sorted.
    pub fn names(&self) -> Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in self.dir.entries()? {
            names.push(entry?.file_name());
        }
        names.sort();
        Ok(names)
    }

    /// Makes a folder.
    pub(super) fn create_folder(&self, name: &OsStr, privacy: Privacy) -> Result<()> {
        system::create_folder(&self.dir, single(name)?, privacy)
    }

    /// Makes a file that was not there, opened for writing.
    pub(super) fn create_file(&self, name: &OsStr, privacy: Privacy) -> Result<File> {
        system::create_file(&self.dir, single(name)?, privacy)
    }

    /// Moves a name into a folder, replacing what is there.
    pub(super) fn rename(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> Result<()> {
        system::rename(&self.dir, single(name)?, &into.dir, single(new_name)?)
    }

    /// Exchanges two names in one step; `false` where the system or the file system cannot, with nothing done.
    pub(super) fn exchange(&self, name: &OsStr, other: &OsStr) -> Result<bool> {
        system::exchange(&self.dir, single(name)?, single(other)?)
    }

    /// Makes a link that says this.
    pub(super) fn create_link(&self, name: &OsStr, to: &Path) -> Result<()> {
        system::create_link(&self.dir, single(name)?, to)
    }

    /// Sets the permission bits of this folder.
    pub(super) fn set_mode(&self, mode: u32) -> Result<()> {
        system::set_mode(&self.handle()?, mode)
    }

    /// Sets the permission bits of this folder, also where they forbid to list it, and opens it anew.
    pub(super) fn open_up(&self, mode: u32) -> Result<Self> {
        system::open_up(&self.dir, mode).map(Self::from_dir)
    }

    /// Moves a name into a folder, where nothing may have the new name.
    pub(super) fn rename_new(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> Result<()> {
        system::rename_new(&self.dir, single(name)?, &into.dir, single(new_name)?)
    }

    /// Removes a name that is not a folder's; of a link, the link.
    pub(super) fn remove_file(&self, name: &OsStr) -> Result<()> {
        self.dir.remove_file(single(name)?)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &OsStr) -> Result<()> {
        self.dir.remove_dir(single(name)?)
    }

    /// Whether the system lets this user write the file (its read-only flag counts although a rename would pass it by).
    pub(super) fn may_write(&self, name: &OsStr) -> Result<()> {
        system::may_write(&self.dir, single(name)?)
    }

    /// Whether the system lets this user make things in this folder.
    #[cfg(unix)]
    pub(super) fn may_write_self(&self) -> Result<()> {
        system::may_write(&self.dir, Path::new("."))
    }

    /// The folder that this folder lies in, where the system can tell.
    pub(super) fn above(&self) -> Result<Self> {
        system::open_above(&self.dir).map(Self::from_dir)
    }

    /// Whether the system lets this user list this folder.
    pub(super) fn may_list(&self) -> bool {
        system::may_list(&self.dir)
    }

    /// Exclusive or shared, the hold on a file or folder in this folder; `None` while others' holds forbid it.
    pub(super) fn hold(&self, name: &OsStr, hold: Hold) -> Option<File> {
        system::hold(&self.dir, single(name).ok()?, hold).ok()
    }

    /// Writes the folder's list of names to the disk, where the system can.
    pub(super) fn sync(&self) {
        // The effect has happened already, and many file systems do not offer this: there is nothing to do about a
        // failure.
        system::sync_folder(&self.dir).ok();
    }
}

/// Opens the folder at a path, no link followed.
pub(super) fn descend(folder: &Folder, path: &[OsString]) -> Option<Folder> {
    path.iter().try_fold(folder.clone(), |folder, name| folder.open_folder(name).ok())
}

/// Who may see something new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Privacy {
    /// Its owner alone.
    Owner,
    /// Whoever the person's umask says.
    Umask,
}

/// How something is held against others who ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    Shared,
    Alone,
}

/// Refuses what is no regular file.
fn refuse_special(stat: &Stat) -> Result<()> {
    match stat.kind {
        TargetKind::File => Ok(()),
        TargetKind::Folder => Err(ErrorKind::IsADirectory.into()),
        TargetKind::Link => Err(Error::new(ErrorKind::Unsupported, "it is a link")),
        TargetKind::Missing => Err(ErrorKind::NotFound.into()),
        TargetKind::Special => Err(Error::new(ErrorKind::Unsupported, "it is a pipe, socket or device")),
    }
}

/// The name, if it is one name and no path.
fn single(name: &OsStr) -> Result<&Path> {
    let bytes = name.as_encoded_bytes();
    let is_path = bytes.is_empty()
        || bytes == b"."
        || bytes == b".."
        || bytes.iter().any(|byte| matches!(byte, b'/' | 0) || (cfg!(windows) && matches!(byte, b'\\' | b':')));
    if is_path { Err(Error::new(ErrorKind::InvalidInput, "it is not a single name")) } else { Ok(Path::new(name)) }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::single;

    #[test]
    fn a_single_name_is_no_path() {
        for name in ["a", "..foo", "...", "a..b", "-rf", "~", " ", "a\nb"] {
            assert!(single(OsStr::new(name)).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "a/b", "/", "/a", "a/", "a\0b"] {
            assert!(single(OsStr::new(name)).is_err(), "{name}");
        }
    }
}

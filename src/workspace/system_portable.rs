//! What `system_unix` does, with `cap-std` alone: for systems without its calls.
//!
//! A name is looked at before it is opened, and the opened handle is looked at again; `cap-std` keeps every opening
//! beneath the folder.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::folder::{Hold, Privacy};
use super::{Identity, Stat};
use crate::policy::TargetKind;

/// What can be asked for its metadata.
pub(super) trait Handle {
    fn metadata_of(&self) -> Result<Metadata>;
}

impl Handle for &Dir {
    fn metadata_of(&self) -> Result<Metadata> {
        self.dir_metadata()
    }
}

impl Handle for &File {
    fn metadata_of(&self) -> Result<Metadata> {
        Ok(Metadata::from_just_metadata(self.metadata()?))
    }
}

pub(super) fn stat_handle(handle: impl Handle) -> Result<Stat> {
    Ok(plain_stat(&handle.metadata_of()?))
}

pub(super) fn stat_name(dir: &Dir, name: &Path) -> Result<Stat> {
    Ok(plain_stat(&dir.symlink_metadata(name)?))
}

fn plain_stat(metadata: &Metadata) -> Stat {
    let kind = if metadata.is_file() {
        TargetKind::File
    } else if metadata.is_dir() {
        TargetKind::Folder
    } else if metadata.is_symlink() {
        TargetKind::Link
    } else {
        TargetKind::Special
    };
    let modified = metadata.modified().ok().and_then(|time| {
        let since = time.into_std().duration_since(std::time::UNIX_EPOCH).ok()?;
        i128::try_from(since.as_nanos()).ok()
    });
    let identity =
        Identity { bytes: metadata.len(), modified_ns: modified.unwrap_or(0), links: 1, ..Identity::default() };
    Stat { kind, identity, is_mount_point: false, mode: 0, owner: (0, 0), changed_ns: 0, born_ns: 0 }
}

pub(super) fn path_of_handle<T>(_handle: T) -> Result<PathBuf> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn open_folder(dir: &Dir, name: &Path) -> Result<Dir> {
    if dir.symlink_metadata(name)?.is_symlink() {
        return Err(Error::new(ErrorKind::NotADirectory, "it is a link"));
    }
    dir.open_dir(name)
}

pub(super) fn open_file(dir: &Dir, name: &Path) -> Result<File> {
    Ok(dir.open(name)?.into_std())
}

pub(super) fn create_folder(dir: &Dir, name: &Path, _privacy: Privacy) -> Result<()> {
    dir.create_dir(name)
}

pub(super) fn create_file(dir: &Dir, name: &Path, _privacy: Privacy) -> Result<File> {
    Ok(dir.open_with(name, OpenOptions::new().write(true).create_new(true))?.into_std())
}

pub(super) fn rename(from: &Dir, name: &Path, into: &Dir, new_name: &Path) -> Result<()> {
    from.rename(name, into, new_name)
}

pub(super) fn rename_new(from: &Dir, name: &Path, into: &Dir, new_name: &Path) -> Result<()> {
    match into.symlink_metadata(new_name) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => from.rename(name, into, new_name),
        Err(error) => Err(error),
    }
}

pub(super) fn exchange(_dir: &Dir, _name: &Path, _other: &Path) -> Result<bool> {
    Ok(false)
}

pub(super) fn create_link(_dir: &Dir, _name: &Path, _to: &Path) -> Result<()> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn may_write(dir: &Dir, name: &Path) -> Result<()> {
    if dir.symlink_metadata(name)?.permissions().readonly() { Err(ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

pub(super) fn sync_folder(_dir: &Dir) -> Result<()> {
    Ok(())
}

pub(super) fn own_bits<T>(_handle: T, mode: u32) -> u32 {
    mode
}

pub(super) fn take_over(_file: &File, _old: &Stat, _replaced: &File) -> Result<()> {
    Ok(())
}

pub(super) fn open_up(_dir: &Dir, _mode: u32) -> Result<Dir> {
    Err(std::io::ErrorKind::Unsupported.into())
}

pub(super) fn set_mode(_file: &File, _mode: u32) -> Result<()> {
    Ok(())
}

pub(super) fn open_above(_dir: &Dir) -> Result<Dir> {
    Err(ErrorKind::Unsupported.into())
}

/// A folder that cannot be listed shows it when it is.
pub(super) fn may_list(_dir: &Dir) -> bool {
    true
}

pub(super) fn may_pass(path: &Path) -> bool {
    path.metadata().is_ok()
}

pub(super) fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

pub(super) fn hold(_dir: &Dir, _name: &Path, _hold: Hold) -> Result<File> {
    Err(ErrorKind::Unsupported.into())
}

pub(super) fn let_go(_held: &File) {}

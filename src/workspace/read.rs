//! Reading what a target opened. What is read counts, never what the file system says of the size.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Result};

use super::target::Object;
use super::{Stat, Target, WorkspaceError};
use crate::ir::Code;
use crate::policy::TargetKind;

/// The permission bits of an opened file for making it anew, with the owning group's own rights where there is an access list:
/// the new file has no list, and must not be open to more people.
pub fn bits_to_keep(file: &File, stat: &Stat) -> u32 {
    super::system::own_bits(file, stat.mode)
}

impl Target {
    /// As the function of this name, for the target's own file.
    pub fn bits_to_keep(&self, file: &File) -> u32 {
        bits_to_keep(file, &self.stat)
    }

    /// The whole file.
    ///
    /// # Errors
    /// `FILE_TOO_LARGE` past `limit_bytes`, `NOT_A_FILE`, `PATH_NOT_FOUND`, `IO_ERROR`.
    pub fn read_all(&self, limit_bytes: u64) -> std::result::Result<Vec<u8>, WorkspaceError> {
        let too_large = || {
            let sentence = format!("The file is larger than {limit_bytes} bytes.");
            WorkspaceError::refused(Code::FileTooLarge, &sentence, self.resolved())
        };
        let reader = self.reader()?;
        // Spares reading what is too large in any case; a size of 0 means nothing for what the kernel makes up.
        if self.kind() == TargetKind::File && self.identity().bytes > limit_bytes {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        let failed = |source| WorkspaceError::io("Reading the file", self.resolved(), source);
        reader.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit_bytes { Err(too_large()) } else { Ok(bytes) }
    }

    /// The file's bytes from the start, with a position of its own.
    ///
    /// # Errors
    /// `NOT_A_FILE`, `PATH_NOT_FOUND`.
    pub fn reader(&self) -> std::result::Result<FileReader<'_>, WorkspaceError> {
        Ok(FileReader { file: self.file()?, offset: 0 })
    }

    /// The file to read it whole, whatever it was resolved for: a target of a deletion is opened in the folder that is held,
    /// and must still be the file that was looked at.
    ///
    /// # Errors
    /// `NOT_A_FILE`, `PATH_NOT_FOUND`, `TARGET_CHANGED`, `PERMISSION_DENIED`, `IO_ERROR`.
    pub fn open_to_keep(&self) -> std::result::Result<File, WorkspaceError> {
        let failed = |source| WorkspaceError::io("Reading the file", self.resolved(), source);
        let (Object::Nothing, TargetKind::File, Some(parent), [name]) =
            (&self.object, self.stat.kind, &self.parent, self.names.as_slice())
        else {
            return self.file()?.try_clone().map_err(failed);
        };
        let (file, stat) = parent.open_file(OsStr::new(name)).map_err(failed)?;
        if stat.identity.is_same_content(&self.stat.identity) { Ok(file) } else { Err(self.changed()) }
    }

    /// What a link says, read in the folder that is held.
    ///
    /// # Errors
    /// `PATH_INVALID` when it is no link or its text is no Unicode, `IO_ERROR`.
    pub fn link_text(&self) -> std::result::Result<String, WorkspaceError> {
        let failed = |source| WorkspaceError::io("Reading the link", self.resolved(), source);
        let (TargetKind::Link, Some(parent), [name]) = (self.stat.kind, &self.parent, self.names.as_slice()) else {
            return Err(WorkspaceError::refused(Code::PathInvalid, "It is not a link.", self.resolved()));
        };
        let to = parent.read_link(OsStr::new(name)).map_err(failed)?;
        to.to_str().map(str::to_owned).ok_or_else(|| {
            WorkspaceError::refused(Code::PathInvalid, "The link's text is not valid Unicode.", self.resolved())
        })
    }
}

/// Reads an opened file from its start, whatever the position of the handle.
#[derive(Debug)]
pub struct FileReader<'file> {
    file: &'file File,
    offset: u64,
}

impl<'file> FileReader<'file> {
    /// Reads this file.
    pub fn new(file: &'file File) -> Self {
        Self { file, offset: 0 }
    }
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = read_at(self.file, buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

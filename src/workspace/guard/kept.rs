//! One protected thing as it was found: enough to see a change, and to put it back.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use super::name::{PickedUp, picked_up_behind};
use crate::policy::TargetKind;
use crate::workspace::{Folder, Stat};

pub(super) use crate::workspace::folder::descend;

/// A larger file is compared by its size and time alone, and cannot be put back.
const KEPT_FILE_BYTES: u64 = 1024 * 1024;

/// How much may still be kept, in bytes. What is picked up at once has its own share: nobody uses it up with other files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    at_once: u64,
    later: u64,
}

impl Default for Room {
    fn default() -> Self {
        const SHARE: u64 = 16 * 1024 * 1024;
        Self { at_once: SHARE, later: SHARE }
    }
}

impl Room {
    fn of(&mut self, when: PickedUp) -> &mut u64 {
        match when {
            PickedUp::AtOnce => &mut self.at_once,
            PickedUp::Later => &mut self.later,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) stat: Stat,
    pub(super) content: Content,
    pub(super) when: PickedUp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
    /// Too large, unreadable or no file.
    Unknown,
}

impl Kept {
    /// What has this name in a folder now; `None` where nothing has.
    pub(super) fn of(folder: &Folder, name: &OsStr, when: PickedUp, room: &mut Room) -> Option<Self> {
        let stat = folder.stat_of(name).ok()?;
        let content = match stat.kind {
            TargetKind::Folder => Content::Folder,
            TargetKind::Link => folder.read_link(name).map_or(Content::Unknown, Content::Link),
            TargetKind::File => {
                let room = room.of(when);
                read(folder, name, (*room).min(KEPT_FILE_BYTES)).map_or(Content::Unknown, |content| {
                    *room = room.saturating_sub(content.len() as u64);
                    Content::File(content)
                })
            }
            TargetKind::Missing => return None,
            TargetKind::Special => Content::Unknown,
        };
        let when = match content {
            Content::Link(_) => picked_up_behind(name, when),
            Content::Folder | Content::File(_) | Content::Unknown => when,
        };
        Some(Self { stat, content, when })
    }

    /// Whether it is still what it was, for whoever would execute it.
    pub(super) fn is_same(&self, now: &Self) -> bool {
        let is_unchanged = match (&self.content, &now.content) {
            (Content::Unknown, Content::Unknown) => self.stat.identity.is_same_content(&now.stat.identity),
            (before, after) => before == after,
        };
        is_unchanged && self.stat.kind == now.stat.kind && self.stat.mode == now.stat.mode
    }

    /// Whether a writer is kept from it while a command runs.
    #[cfg(target_os = "linux")]
    pub(super) fn is_held_still(&self) -> bool {
        self.when == PickedUp::AtOnce && matches!(self.content, Content::File(_) | Content::Unknown)
    }

    /// Whether it is a file that can be written by another name, wherever that lies.
    pub(super) fn has_other_names(&self) -> bool {
        self.stat.kind == TargetKind::File && self.stat.identity.links > 1
    }

    pub(super) fn object(&self) -> Object {
        object_of(&self.stat)
    }
}

/// Device, inode and birth: the same object wherever it lies. An inode's number is given to another at once.
pub(super) type Object = (u64, u64, i128);

pub(super) fn object_of(stat: &Stat) -> Object {
    (stat.identity.device, stat.identity.inode, stat.born_ns)
}

fn read(folder: &Folder, name: &OsStr, most: u64) -> Option<Vec<u8>> {
    let (file, _) = folder.open_file(name).ok()?;
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= most).then_some(content)
}

/// What an opened file holds now, from its beginning; `None` where that is too much.
pub(super) fn read_again(mut file: &File) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(KEPT_FILE_BYTES + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= KEPT_FILE_BYTES).then_some(content)
}

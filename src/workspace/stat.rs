//! What the file system says of one object.

use crate::policy::TargetKind;

/// What makes an object of the file system this one and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    /// Which mount it was reached through; 0 where the system does not say.
    pub mount: u64,
    pub links: u64,
    pub bytes: u64,
    /// Nanoseconds since the epoch.
    pub modified_ns: i128,
}

impl Identity {
    /// Whether both are the same object, changed or not.
    pub fn is_same_object(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether both are the same object with the same content, as far as size and time tell.
    pub fn is_same_content(&self, other: &Self) -> bool {
        self.is_same_object(other) && (self.bytes, self.modified_ns) == (other.bytes, other.modified_ns)
    }
}

/// What the file system says of one object; a link is the link itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub kind: TargetKind,
    pub identity: Identity,
    /// Whether something is mounted here.
    pub is_mount_point: bool,
    /// Permission bits where the system has them, else 0.
    pub mode: u32,
    /// Owner and group where the system has them, else 0.
    pub owner: (u32, u32),
    /// When anything of it last changed, its name and its rights too: the kernel's word, which no program sets. In
    /// nanoseconds since the epoch; 0 where the system does not say.
    pub changed_ns: i128,
    /// When it came to be, which tells it from one that was there before with the same number. In nanoseconds since the
    /// epoch; 0 where the system does not say.
    pub born_ns: i128,
}

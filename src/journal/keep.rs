//! What is at a target, kept before it changes; and what is there, only looked at.

use sha2::{Digest as _, Sha256};

use super::{Image, Images, JournalError, tree};
use crate::ir::{FileState, ObjectId};
use crate::policy::TargetKind;
use crate::workspace::{FileReader, Identity, Purpose, Target};

/// The most entries of a folder that are kept.
pub const MAX_TREE_ENTRIES: usize = 10_000;

/// A state, and the contents that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub state: FileState,
    pub images: Vec<Image>,
}

impl Kept {
    fn plain(state: FileState) -> Self {
        Self { state, images: Vec::new() }
    }

    /// Whether everything that it needs is kept here, without any trash.
    pub fn is_whole(&self) -> bool {
        match &self.state {
            FileState::Missing | FileState::Folder | FileState::Link { .. } => true,
            FileState::File { hash, .. } => hash.is_some(),
            FileState::Tree { manifest, .. } => manifest.is_some(),
        }
    }
}

/// Keeps what is at a target, read through the handles that were checked. For a deletion a folder is kept with everything in
/// it, otherwise a folder is a folder.
///
/// # Errors
/// `TooLarge` past `limit_bytes`, `Unkeepable`, `Changed` when it changed while it was read, `Io` with a full disk.
pub fn keep(target: &Target, images: &Images, limit_bytes: u64) -> Result<Kept, JournalError> {
    match target.kind() {
        TargetKind::Missing => Ok(Kept::plain(FileState::Missing)),
        TargetKind::File => {
            let file = target.open_to_keep()?;
            let image = images.keep(&mut FileReader::new(&file), limit_bytes)?;
            if !target.is_unchanged()? {
                return Err(JournalError::Changed);
            }
            let state = FileState::File {
                hash: Some(image.hash.clone()),
                bytes: image.bytes,
                mode: target.bits_to_keep(&file),
                object: Some(object_of(&target.identity())),
            };
            Ok(Kept { state, images: vec![image] })
        }
        TargetKind::Folder if target.purpose() == Purpose::Delete => {
            let kept = tree::keep(target.folder()?, images, limit_bytes)?;
            let state = FileState::Tree {
                manifest: Some(kept.manifest.hash),
                count: kept.count,
                bytes: kept.bytes,
                object: Some(object_of(&target.identity())),
            };
            Ok(Kept { state, images: kept.images })
        }
        TargetKind::Folder => Ok(Kept::plain(FileState::Folder)),
        TargetKind::Link => Ok(Kept::plain(FileState::Link { to: target.link_text()? })),
        TargetKind::Special => Err(JournalError::Unkeepable { what: target.resolved().display().to_string() }),
    }
}

/// What is at a target that is not kept: enough to know it again in the trash.
pub fn look(target: &Target) -> FileState {
    let object = Some(object_of(&target.identity()));
    match target.kind() {
        TargetKind::Missing | TargetKind::Special => FileState::Missing,
        TargetKind::File => FileState::File { hash: None, bytes: target.identity().bytes, mode: target.mode(), object },
        TargetKind::Folder => FileState::Tree { manifest: None, count: 0, bytes: 0, object },
        TargetKind::Link => target.link_text().map_or(FileState::Missing, |to| FileState::Link { to }),
    }
}

/// The state of a file that will hold these bytes.
pub fn expected(bytes: &[u8]) -> FileState {
    let hash = Some(hex::encode(Sha256::digest(bytes)));
    FileState::File { hash, bytes: bytes.len() as u64, mode: 0, object: None }
}

/// An identity as it is kept.
pub fn object_of(identity: &Identity) -> ObjectId {
    ObjectId {
        device: identity.device,
        inode: identity.inode,
        bytes: identity.bytes,
        modified_ns: i64::try_from(identity.modified_ns).unwrap_or(0),
    }
}

//! A folder with everything in it, as a list of parts whose contents are kept.
//!
//! Walked through handles, links not followed. The list is a content too: two folders with the same list are the same.

use std::ffi::OsStr;
use std::io::Read as _;

use serde::{Deserialize, Serialize};

use super::{Image, Images, JournalError, MAX_TREE_ENTRIES};
use crate::ir::TreeEntry;
use crate::policy::TargetKind;
use crate::workspace::{FileReader, Folder, Part, Target, bits_to_keep};

/// The deepest that is kept: each level is an open folder.
const MAX_DEPTH: usize = 128;
/// The longest list that is read, in bytes.
const LIST_BYTES: u64 = 64 * 1024 * 1024;

/// A folder, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tree {
    mode: u32,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    path: Vec<String>,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum What {
    Folder { mode: u32 },
    File { mode: u32, hash: String, bytes: u64 },
    Link { to: String },
}

/// A folder that is kept.
pub(super) struct KeptTree {
    pub(super) manifest: Image,
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// Everything that it needs, the list included.
    pub(super) images: Vec<Image>,
}

/// Keeps a folder with everything in it.
///
/// # Errors
/// `TooLarge` past `limit_bytes` or the most entries; `Unkeepable` for what is no file, folder or link, and for names that
/// are no text; `Io`.
pub(super) fn keep(folder: &Folder, images: &Images, limit_bytes: u64) -> Result<KeptTree, JournalError> {
    let mode = folder.bits_to_keep()?;
    let mut walk =
        Walk { images, limit_bytes, left: limit_bytes, kept: Vec::new(), tree: Tree { mode, entries: Vec::new() } };
    walk.folder(folder, &mut Vec::new())?;
    let Walk { left, mut kept, tree, .. } = walk;
    let list = serde_json::to_vec(&tree).map_err(std::io::Error::other)?;
    let manifest = images.keep(&mut list.as_slice(), LIST_BYTES)?;
    kept.push(manifest.clone());
    Ok(KeptTree { manifest, count: tree.entries.len() as u64, bytes: limit_bytes - left, images: kept })
}

struct Walk<'walk> {
    images: &'walk Images,
    limit_bytes: u64,
    left: u64,
    kept: Vec<Image>,
    tree: Tree,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Folder, path: &mut Vec<String>) -> Result<(), JournalError> {
        let too_large = JournalError::TooLarge { limit_bytes: self.limit_bytes };
        if path.len() >= MAX_DEPTH {
            return Err(too_large);
        }
        for name in folder.names()? {
            if self.tree.entries.len() >= MAX_TREE_ENTRIES {
                return Err(too_large);
            }
            let Some(text) = name.to_str() else {
                return Err(JournalError::Unkeepable { what: name.to_string_lossy().into_owned() });
            };
            path.push(text.to_owned());
            self.entry(folder, &name, path)?;
            path.pop();
        }
        Ok(())
    }

    fn entry(&mut self, folder: &Folder, name: &OsStr, path: &mut Vec<String>) -> Result<(), JournalError> {
        let stat = folder.stat_of(name)?;
        let mut push = |what| self.tree.entries.push(Entry { path: path.clone(), what });
        match stat.kind {
            TargetKind::Folder => {
                let inside = folder.open_folder(name)?;
                push(What::Folder { mode: inside.bits_to_keep()? });
                self.folder(&inside, path)
            }
            TargetKind::Link => {
                let to = folder.read_link(name)?;
                let Some(to) = to.to_str() else {
                    return Err(JournalError::Unkeepable { what: path.join("/") });
                };
                push(What::Link { to: to.to_owned() });
                Ok(())
            }
            TargetKind::File => {
                let (file, stat) = folder.open_file(name)?;
                let image = self.images.keep(&mut FileReader::new(&file), self.left)?;
                self.left -= image.bytes;
                push(What::File { mode: bits_to_keep(&file, &stat), hash: image.hash.clone(), bytes: image.bytes });
                self.kept.push(image);
                Ok(())
            }
            TargetKind::Special | TargetKind::Missing => Err(JournalError::Unkeepable { what: path.join("/") }),
        }
    }
}

/// What is in a folder that was kept.
///
/// # Errors
/// `Gone`, `Damaged`, `Io`.
pub fn list_tree(images: &Images, manifest: &str) -> Result<Vec<TreeEntry>, JournalError> {
    let listed = read(images, manifest)?.entries.into_iter().map(|Entry { path, what }| {
        let (is_folder, bytes) = match what {
            What::Folder { .. } => (true, 0),
            What::File { bytes, .. } => (false, bytes),
            What::Link { .. } => (false, 0),
        };
        TreeEntry { path: path.join("/"), is_folder, bytes }
    });
    Ok(listed.collect())
}

fn read(images: &Images, manifest: &str) -> Result<Tree, JournalError> {
    serde_json::from_slice(&images.read(manifest, LIST_BYTES)?).map_err(|_broken| JournalError::Damaged)
}

/// Makes a folder that was kept at a target where nothing is.
pub(super) fn rebuild(target: &Target, images: &Images, manifest: &str) -> Result<(), JournalError> {
    let tree = read(images, manifest)?;
    // All of it must be there before anything is made.
    for entry in &tree.entries {
        if let What::File { hash, .. } = &entry.what
            && !images.has(hash)
        {
            return Err(JournalError::Gone);
        }
    }
    let images = images.clone();
    let mut entries = tree.entries.into_iter();
    target.rebuild(tree.mode, move || {
        let Some(Entry { path, what }) = entries.next() else { return Ok(None) };
        Ok(Some(match what {
            What::Folder { mode } => Part::Folder { path, mode },
            What::Link { to } => Part::Link { path, to },
            What::File { mode, hash, bytes } => {
                let content = images.open_image(&hash).map_err(std::io::Error::other)?;
                // One more than there is: a content is held against its hash at its end.
                Part::File { path, mode, content: Box::new(content.take(bytes.saturating_add(1))) }
            }
        }))
    })?;
    Ok(())
}

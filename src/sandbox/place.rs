//! Where a command may do what: the places of a confinement, opened, and the tier that holds them.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Bubblewrap;
use crate::ir::{Network, Tier};

/// How a command is confined. The default is not at all.
#[derive(Debug, Default)]
pub struct Confine {
    /// How far.
    pub tier: Tier,
    /// Whether it may use the network.
    pub network: Network,
    /// The system's bubblewrap, which tier A needs.
    pub bubblewrap: Option<Bubblewrap>,
    /// What it finds where; at most [`MOST_PLACES`].
    pub places: Vec<Place>,
    /// What is covered, where the tier can.
    pub hidden: Vec<Hidden>,
    /// Other paths (links) by which the person knows an allowed folder, and where each leads.
    pub aliases: Vec<(PathBuf, PathBuf)>,
    /// What else is mounted below the allowed folders: in tier A it is read-only.
    pub submounts: Vec<PathBuf>,
}

/// An opened place. The handle says which it is; the path is where the command finds it.
#[derive(Debug)]
pub struct Place {
    /// The folder or file.
    pub handle: File,
    /// Its real path.
    pub path: PathBuf,
    /// What a command may do there.
    pub treatment: Treatment,
}

/// What a command may do in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Treatment {
    /// Read and write: an allowed folder.
    Writable,
    /// Read and write, but not move away: a folder that holds something read-only.
    Pinned,
    /// Read.
    ReadOnly,
    /// Read: a file, where a copy of what the handle holds stands in its place, with these permissions. Tier A alone.
    Copied {
        /// Permissions, without those to write.
        mode: u32,
    },
}

/// A file without a name that holds this, ready to be read.
///
/// # Errors
/// When there is no memory for it, or no such thing on this system.
pub fn content_in_memory(content: &[u8]) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    return super::namespace::in_memory(content);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = content;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Something in an allowed folder whose content is not there for a command. By its path: it is only ever covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// Its real path.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// The most places that one order carries: the kernel passes 253 descriptors in a message.
pub const MOST_PLACES: usize = 200;

//! Places that are closed to tools always, whatever the person allowed.

use std::path::Path;

use crate::ir::Failure;

use super::Surroundings;

/// Why an absolute path is closed to tools always, if it is.
pub fn blocked_path(absolute: &Path, surroundings: &Surroundings) -> Option<Failure> {
    let _ = (absolute, surroundings);
    todo!()
}

/// What a person should know before allowing a folder. Blocked parts stay blocked in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FolderConcern {
    /// The folder is closed to tools itself: allowing it would allow nothing.
    Blocked,
    /// A whole disk.
    WholeDisk,
    /// A home folder, or a folder of home folders.
    Home,
    /// Holds places that are closed to tools.
    HoldsBlocked,
}

/// What to warn of before this folder is allowed, if anything.
pub fn folder_concern(absolute: &Path, surroundings: &Surroundings) -> Option<FolderConcern> {
    let _ = (absolute, surroundings);
    todo!()
}

//! The only door to the person's files.
//!
//! An allowed folder is opened once (`Root`); a path below it is resolved once, component by component, beneath that
//! handle (`Target`), and the handle is what is used. Never a check on a string and then an open of the string.
//! This room judges nothing: it finds out facts for `policy` and does what a `Target` allows.

mod attributes;
mod claim;
mod create;
mod delete;
mod error;
mod folder;
mod guard;
mod hard_link;
mod ignore_rules;
mod lead;
mod look;
mod mounts;
mod outside;
mod read;
mod resolve;
mod restore;
mod root;
mod search;
mod stat;
mod survey;
#[cfg_attr(unix, path = "system_unix.rs")]
#[cfg_attr(not(unix), path = "system_portable.rs")]
mod system;
mod target;
#[cfg_attr(all(unix, not(target_vendor = "apple")), path = "trash_freedesktop.rs")]
#[cfg_attr(not(all(unix, not(target_vendor = "apple"))), path = "trash_system.rs")]
mod trash;
mod walk;
mod write;

pub use claim::{Claim, Claimed};
pub use delete::{Deleted, Extent};
pub use error::WorkspaceError;
pub use folder::{Entry, Folder};
pub use guard::{
    FinishedLook, Guard, GuardRecord, GuardReport, Guarded, Lease, Leased, RecordedRun, Revert, Reverted, TakeLease,
    Taken, Watched, Watching, finish_looks, note_departed,
};
pub use hard_link::{ChangedOutside, HardLinks};
pub use lead::{Coming, Effect, Ways, reaches};
pub use look::{QueryOptions, SearchQuery};
pub use mounts::mounts_below;
pub use outside::resolve_outside;
pub use read::{FileReader, bits_to_keep};
pub use resolve::{Unresolved, resolve, resolve_telling};
pub use restore::{Part, Restored};
pub use root::Root;
pub use search::{
    FileMatches, LineMatch, SearchError, SearchLimit, SearchLimits, SearchOptions, SearchOutcome, search_file,
    search_tree,
};
pub use stat::{Identity, Stat};
pub use survey::{Survey, SurveyEntry, survey};
pub use target::{Purpose, Target};
pub use trash::Trash;
pub use walk::{Found, MAX_WALK_DEPTH, Visitor, WalkOptions, WalkOrder, WalkReport, WalkStart, walk};
pub use write::{Mode, Written};

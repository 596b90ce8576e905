//! What takes a change back: the contents from before it, the plan of an undo, and the deed.
//!
//! Contents lie under their hashes in a private folder beside the database and are on the disk before the change they belong
//! to is made. A plan is pure; a deed works on handles, looks again, and keeps what it replaces first: whatever is undone or
//! redone, nothing that was there is lost before its time. This room judges nothing, asks nobody and knows no SQL.
#![expect(clippy::disallowed_methods, reason = "the room that keeps contents writes and removes its own files")]

mod deed;
mod error;
mod executed;
mod image;
mod keep;
mod plan;
mod tree;

pub use deed::{Deed, Done, Means, save_beside};
pub use error::JournalError;
pub use executed::executed;
pub use image::{Image, Images};
pub use keep::{Kept, MAX_TREE_ENTRIES, expected, keep, look, object_of};
pub use plan::{Fit, Sketch, is_same, ordered, sketch};
pub use tree::list_tree;

//! The only door to the person's files.
//!
//! An allowed folder is opened once (`Root`); a path below it is resolved once, component by component, beneath that
//! handle (`Target`), and the handle is what is used. Never a check on a string and then an open of the string.
//! This room judges nothing: it finds out facts for `policy` and does what a `Target` allows.

mod error;
mod root;
mod target;

pub use error::WorkspaceError;
pub use root::{Identity, Root};
pub use target::{Purpose, Target, resolve, resolve_outside};

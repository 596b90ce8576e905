//! The only door to the person's files.
//!
//! An allowed folder is opened once (`Root`); a path below it is resolved once, component by component, beneath that
//! handle (`Target`), and the handle is what is used. Never a check on a string and then an open of the string.
//! This room judges nothing: it finds out facts for `policy` and does what a `Target` allows.

mod error;
mod folder;
mod outside;
mod resolve;
mod root;
mod stat;
#[cfg_attr(unix, path = "system_unix.rs")]
#[cfg_attr(not(unix), path = "system_portable.rs")]
mod system;
mod target;

pub use error::WorkspaceError;
pub use folder::{Entry, Folder};
pub use outside::resolve_outside;
pub use resolve::resolve;
pub use root::Root;
pub use stat::{Identity, Stat};
pub use target::{Purpose, Target};

//! Where protected names reach: folders that git takes for a repository under any name, files that git's configuration
//! makes it run or obey, and what links with protected names lead to.
//!
//! One idea for the file tools' gate (`reach`) and for what a command must leave as it is (`guard`): a [`Lead`] says that
//! a place in the file system is also what other, protected names stand for. This room finds leads; `policy` judges the
//! names. Everything is read without blocking and within bounds; of allowed folders only the nearest ones are looked at.

mod reach;
mod repository;
mod taken;
mod way;

pub use reach::{Coming, Effect, Ways, reaches};
pub(super) use repository::{Leads, is_repository};
pub(super) use taken::{is_shifting, is_taken, lacking, may_be_taken};

use std::path::PathBuf;

use crate::policy::ReachedBy;

/// A place that is also what other names stand for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Lead {
    /// Absolute, with no link on the way; it may be missing.
    pub(super) path: PathBuf,
    /// Protected names, as `.git`, `hooks`. What lies below the path lies below them.
    pub(super) names: Vec<String>,
    pub(super) by: ReachedBy,
}

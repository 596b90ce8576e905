//! What a command may leave in a repository of its own: what names no program and leads nowhere, by its content, so that
//! `git init`, `git clone` and what lays out a project work.
//!
//! Only in a folder that was not there before: what the person has stays as it is, whatever it would become. What is
//! harmless is looked at again whenever it changes, and a configuration is kept from being written meanwhile.

use std::ffi::OsStr;

use super::kept::{Content, Kept, object_of};
use super::look::Found;
use super::name::Around;
use super::placeholder;
use crate::policy::{TargetKind, is_harmless_git_config};
use crate::workspace::Folder;

const CONFIGURATION: &str = "config";
const HOOKS: &str = "hooks";

/// Whether this changes nothing for git: as there was nothing, or as in a repository that a command made.
pub(super) fn is_harmless(before: Option<&Found>, around: &Around, name: &OsStr, folder: &Folder, kept: &Kept) -> bool {
    let is_new = |before: &Found| {
        before.accepts_repositories && folder.stat().is_ok_and(|stat| !before.folders.contains(&object_of(&stat)))
    };
    placeholder::is_one(around, name, folder, kept)
        || (before.is_some_and(is_new) && around.below_git().is_some_and(|below| runs_nothing(below, name, kept)))
}

/// Whether what has this name in a folder of git, or in one below it, makes git run nothing and obey nothing elsewhere.
pub(super) fn runs_nothing<Name: AsRef<OsStr>>(below: &[Name], name: &OsStr, kept: &Kept) -> bool {
    match (below, kept.stat.kind) {
        ([], TargetKind::File) if name == CONFIGURATION => {
            let Content::File(bytes) = &kept.content else { return false };
            // By another name it could be written unseen later.
            !kept.has_other_names() && std::str::from_utf8(bytes).is_ok_and(is_harmless_git_config)
        }
        ([], TargetKind::Folder) => name == HOOKS,
        ([hooks], TargetKind::File) if hooks.as_ref() == HOOKS => is_example(name),
        _ => false,
    }
}

/// Whether git runs nothing of this name: an example of a hook.
pub(super) fn is_example(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".sample")
}

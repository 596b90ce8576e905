//! Which names a listing or a search may show, and which contents a search may read.

use std::ffi::OsStr;
use std::path::Path;

use super::RunContext;
use crate::policy::{NameVerdict, blocked_path, judge_name};

/// Whether a thing is left out, and counted, because its place is closed to tools or its name says that it holds
/// secrets. `name` is its own name: what lies above it has been judged on the way down.
pub(super) fn is_hidden_by_policy(absolute: &Path, name: &OsStr, context: &RunContext) -> bool {
    if blocked_path(absolute, &context.surroundings).is_some() {
        return true;
    }
    if context.lifted.iter().any(|lifted| lifted == absolute) {
        return false;
    }
    match judge_name(&[name.to_string_lossy().into_owned()]) {
        NameVerdict::Ordinary | NameVerdict::Suspicious { .. } => false,
        NameVerdict::Sensitive { .. } => true,
    }
}

/// Whether a search of a folder leaves a file's content alone: reading it by itself would be asked in red, and a yes to
/// the folder is none to that. `relative` is the file's path below what was asked for.
pub(super) fn is_content_closed(relative: &Path) -> bool {
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    match judge_name(&parts) {
        // A search comes by a sensitive name only when the person has lifted it.
        NameVerdict::Ordinary | NameVerdict::Sensitive { .. } => false,
        NameVerdict::Suspicious { .. } => true,
    }
}

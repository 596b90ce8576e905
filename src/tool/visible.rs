//! Which names a listing or a search may show.

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

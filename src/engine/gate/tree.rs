//! What a deletion takes away beyond what its name says: secrets and protected files inside the tree.

use crate::ir::{Preview, TreeEntry};
use crate::policy::{
    AskReason, NameVerdict, PathPlace, RelPath, TargetFacts, TargetKind, is_protected_write, judge_name,
};

/// Names that are named; the others are counted.
const NAMED: usize = 3;

/// Reasons that only the tree's own entries give.
pub(super) fn reasons(target: &TargetFacts, preview: &Preview) -> Vec<AskReason> {
    let (PathPlace::Inside { resolved_relative, .. }, TargetKind::Folder) = (&target.place, target.kind) else {
        return Vec::new();
    };
    let Preview::Tree { entries, .. } = preview else { return Vec::new() };
    let mut reasons = Vec::new();
    let mut sensitive =
        outermost(resolved_relative, entries, |path| matches!(judge_name(path.parts()), NameVerdict::Sensitive { .. }));
    let more = sensitive.len().saturating_sub(NAMED);
    sensitive.truncate(NAMED);
    if let (Some(last), true) = (sensitive.last_mut(), more > 0) {
        *last = format!("{last} (+{more})");
    }
    reasons.extend(sensitive.into_iter().map(|part| AskReason::SuspiciousName { part }));
    if !outermost(resolved_relative, entries, |path| is_protected_write(path).is_some()).is_empty() {
        reasons.push(AskReason::ProtectedWrite);
    }
    reasons
}

/// The entries of a kind, without what lies in one of them.
fn outermost(base: &RelPath, entries: &[TreeEntry], is_one: impl Fn(&RelPath) -> bool) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    paths.sort_unstable();
    for path in paths {
        let is_within = |outer: &String| path.strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let parts = base.parts().iter().cloned().chain(path.split('/').map(str::to_owned)).collect();
        if !found.iter().any(is_within) && RelPath::from_parts(parts).is_some_and(|path| is_one(&path)) {
            found.push(path.to_owned());
        }
    }
    found
}

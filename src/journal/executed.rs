//! Whether something later executes or obeys what the steps of an undo change, asked as the gate asks of a tool's call: the
//! same ways there (`workspace::Ways`), the same judge (`policy`). Nothing is changed.

use std::path::Path;

use super::deed::{found_or_coming, open_root};
use super::{Means, list_tree};
use crate::ir::{Access, FileState, UndoEntry};
use crate::policy::{PathPlace, RelPath, TargetFacts, TargetKind, is_executed_later};
use crate::workspace::{Coming, Effect, Root, Ways};

/// For each step whether something executes or obeys what it changes. All of them count together: what several bring back
/// may be a repository only when all of it is there. `roots` are the allowed folders; `home` is the person's.
pub fn executed(steps: &[&UndoEntry], means: &Means, roots: &[Root], home: Option<&Path>) -> Vec<bool> {
    let parts: Vec<Parts> = steps.iter().map(|step| parts(step, means)).collect();
    let mut coming = Coming::default();
    for (step, parts) in steps.iter().zip(&parts) {
        if let (Ok(root), false) = (open_root(&step.place), step.before == FileState::Missing) {
            for path in &parts.paths {
                coming.add(&path.below(root.real_path()));
            }
        }
    }
    let mut ways = Ways::around(roots, home);
    steps.iter().zip(&parts).map(|(step, parts)| is_executed(step, parts, &mut ways, &coming)).collect()
}

/// What a step puts in place.
struct Parts {
    /// Below the allowed folder: its own path, and those of what lies in it.
    paths: Vec<RelPath>,
    /// Whether nobody knows what is in it: only the trash has it.
    is_unknown: bool,
}

fn parts(step: &UndoEntry, means: &Means) -> Parts {
    let own: Vec<String> = step.place.path.split('/').map(str::to_owned).collect();
    let inside = match &step.before {
        FileState::Tree { manifest: Some(manifest), .. } => list_tree(&means.images, manifest).ok(),
        FileState::Tree { manifest: None, .. } => None,
        FileState::Missing | FileState::Folder | FileState::File { .. } | FileState::Link { .. } => Some(Vec::new()),
    };
    let is_unknown = inside.is_none();
    let below = inside.into_iter().flatten().filter_map(|entry| {
        RelPath::from_parts(own.iter().cloned().chain(entry.path.split('/').map(str::to_owned)).collect())
    });
    Parts { paths: RelPath::from_parts(own.clone()).into_iter().chain(below).collect(), is_unknown }
}

fn is_executed(step: &UndoEntry, parts: &Parts, ways: &mut Ways, coming: &Coming) -> bool {
    // What cannot be resolved is refused when its turn comes.
    let Ok(target) = found_or_coming(step) else { return false };
    let (access, effect) = match (&step.before, target.kind()) {
        (FileState::Missing, _) => (Access::Delete, Effect::Gone),
        (FileState::Tree { .. }, _) | (FileState::File { .. } | FileState::Link { .. }, TargetKind::Folder) => {
            (Access::Write, Effect::MadeWhole)
        }
        (FileState::Folder | FileState::File { .. } | FileState::Link { .. }, _) => (Access::Write, Effect::Made),
    };
    let facts = TargetFacts { reaches: ways.to(&target, effect, coming), ..target.facts(&step.place.path) };
    let is_part = |part: &RelPath| {
        let place = match &facts.place {
            PathPlace::Inside { root, .. } => {
                PathPlace::Inside { root: root.clone(), relative: part.clone(), resolved_relative: part.clone() }
            }
            PathPlace::Outside => PathPlace::Outside,
        };
        is_executed_later(&TargetFacts { place, reaches: Vec::new(), ..facts.clone() }, access)
    };
    parts.is_unknown || is_executed_later(&facts, access) || parts.paths.iter().any(is_part)
}

//! What an undo would do, found out without changing anything: its steps, whether each fits, and what each would change.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::ir::{
    Code, Failure, FileState, Preview, SessionId, UndoAction, UndoDirection, UndoEntry, UndoOperation, UndoPlace,
    UndoPlan, UndoScope, UndoStep,
};
use crate::journal::{Deed, Fit, JournalError, Means, Sketch, executed, sketch};
use crate::policy::{Surroundings, lexical};
use crate::port::Event;
use crate::tool::schema::args_hash;
use crate::workspace::Root;

use super::super::fault::Fault;
use super::scope::{Chain, chains};
use super::{Shared, blocking, means, preview_of};

/// Plans and reports.
pub(in crate::engine) async fn plan(shared: &Shared, scope: UndoScope, direction: UndoDirection) -> Result<(), Fault> {
    let (_, _, plan) = make(shared, scope, direction).await?;
    shared.publish(Event::UndoPlanned(Box::new(plan))).await;
    Ok(())
}

/// A plan with the chains that its steps are about.
pub(super) async fn make(
    shared: &Shared,
    scope: UndoScope,
    direction: UndoDirection,
) -> Result<(SessionId, Vec<Chain>, UndoPlan), Fault> {
    let (session, chains) = chains(shared, &scope, direction).await?;
    let lifted = shared.store.lifted(&session).await?;
    let means = means(shared)?;
    let surroundings = shared.surroundings.clone();
    // What is looked at is kept, to be shown: nobody removes it meanwhile.
    let _keeping = shared.undo.keeping.read().await;
    let folders = shared.store.session(&session).await?.map(|session| session.folders).unwrap_or_default();
    let (chains, steps, hash) = blocking(move || {
        let roots: Vec<Root> = folders.iter().filter_map(|folder| Root::reopen(Path::new(folder)).ok()).collect();
        let (steps, hash) = steps(&chains, &means, &roots, &lifted, &surroundings);
        (chains, steps, hash)
    })
    .await?;
    Ok((session, chains, UndoPlan { scope, direction, steps, hash, is_changed: false }))
}

/// What is at a path now, or why that cannot be found out.
type Seen = Result<FileState, String>;

fn steps(
    chains: &[Chain],
    means: &Means,
    roots: &[Root],
    lifted: &[PathBuf],
    surroundings: &Surroundings,
) -> (Vec<UndoStep>, String) {
    let mut seen: HashMap<UndoPlace, Seen> = HashMap::new();
    for Chain { tip, .. } in chains {
        seen.entry(tip.place.clone()).or_insert_with(|| look(tip, means, lifted, surroundings));
    }
    let tips: Vec<UndoEntry> = chains.iter().map(|chain| chain.tip.clone()).collect();
    let present: Vec<FileState> = tips
        .iter()
        .map(|tip| seen.get(&tip.place).and_then(|seen| seen.clone().ok()).unwrap_or(FileState::Missing))
        .collect();
    let sketches = sketch(&tips, &present);
    let mut steps = Vec::with_capacity(chains.len());
    for (sketch, chain) in sketches.iter().zip(chains) {
        steps.push(match seen.get(&chain.tip.place) {
            Some(Err(problem)) => refused(chain, problem),
            Some(Ok(_)) | None => step(sketch, chain, means),
        });
    }
    warn(&mut steps, chains, means, roots, surroundings);
    let bound: Vec<_> = steps
        .iter()
        .zip(&tips)
        .map(|(step, tip)| {
            let seen = seen.get(&tip.place).map(shown);
            json!([step.entry, tip.id, step.path, step.action, step.is_executed_later, tip.before, seen])
        })
        .collect();
    (steps, args_hash(&json!(bound)))
}

/// Finds out which steps change what something executes or obeys: what a command had left for it is known for that.
fn warn(steps: &mut [UndoStep], chains: &[Chain], means: &Means, roots: &[Root], surroundings: &Surroundings) {
    let changing: Vec<(&mut UndoStep, &UndoEntry)> = steps
        .iter_mut()
        .zip(chains.iter().map(|chain| &chain.tip))
        .filter(|(step, _)| step.action.may_change_something())
        .collect();
    let tips: Vec<&UndoEntry> = changing.iter().map(|(_, tip)| *tip).collect();
    let found = executed(&tips, means, roots, surroundings.home.as_deref());
    for ((step, tip), is_executed) in changing.into_iter().zip(found) {
        let is_left_by_a_command = step.operation == UndoOperation::PutBack && tip.before != FileState::Missing;
        step.is_executed_later = is_executed || is_left_by_a_command;
    }
}

/// A state as it is bound to a plan: content, not times.
fn shown(seen: &Seen) -> serde_json::Value {
    match seen {
        Ok(FileState::File { hash: Some(hash), .. } | FileState::Tree { manifest: Some(hash), .. }) => json!(hash),
        Ok(state) => json!(state),
        Err(problem) => json!(["problem", problem]),
    }
}

fn look(tip: &UndoEntry, means: &Means, lifted: &[PathBuf], surroundings: &Surroundings) -> Seen {
    judge_text(tip, lifted, surroundings).map_err(|failure| failure.message)?;
    Deed::look(tip, means).map_err(|error| Failure::from(error).message)
}

/// A path that may not be touched any more is not touched to undo something either.
pub(super) fn judge_text(entry: &UndoEntry, lifted: &[PathBuf], surroundings: &Surroundings) -> Result<(), Failure> {
    let folders = [PathBuf::from(&entry.place.folder)];
    lexical(&entry.shown_path(), &folders, lifted, surroundings).map(drop)
}

fn refused(chain: &Chain, problem: &str) -> UndoStep {
    UndoStep {
        entry: chain.root.id.clone(),
        operation: chain.root.operation,
        path: chain.root.shown_path(),
        action: UndoAction::Refused,
        is_executed_later: false,
        preview: Preview::NewFile { content: problem.to_owned() },
        changed_since: Preview::Nothing,
    }
}

fn step(sketch: &Sketch, chain: &Chain, means: &Means) -> UndoStep {
    let tip = &chain.tip;
    let is_gone = match &tip.before {
        FileState::File { hash: Some(hash), .. } | FileState::Tree { manifest: Some(hash), .. } => {
            !means.images.has(hash)
        }
        FileState::Missing
        | FileState::Folder
        | FileState::Link { .. }
        | FileState::File { hash: None, .. }
        | FileState::Tree { manifest: None, .. } => false,
    };
    let action = match sketch.fit {
        Fit::AlreadySo => UndoAction::Nothing,
        Fit::Follows => UndoAction::Follows,
        _ if is_gone => UndoAction::Gone,
        Fit::Conflict => UndoAction::Conflict {
            can_save_beside: matches!(
                &tip.before,
                FileState::File { hash: Some(_), .. }
                    | FileState::Tree { manifest: Some(_), .. }
                    | FileState::Link { .. }
            ),
        },
        Fit::Clean => match (&tip.before, &tip.after) {
            (FileState::Missing, FileState::Folder) => UndoAction::RemoveIfEmpty,
            (FileState::Missing, _) => UndoAction::Remove,
            (FileState::File { .. } | FileState::Folder | FileState::Link { .. } | FileState::Tree { .. }, _) => {
                UndoAction::Restore
            }
        },
    };
    let found = sketch.found.as_ref().unwrap_or(&tip.after);
    let (preview, changed_since) = match sketch.fit {
        Fit::AlreadySo | Fit::Follows => (Preview::Nothing, Preview::Nothing),
        Fit::Clean => (preview_of(means, found, &tip.before), Preview::Nothing),
        Fit::Conflict => (preview_of(means, found, &tip.before), preview_of(means, &tip.after, found)),
    };
    UndoStep {
        entry: chain.root.id.clone(),
        operation: chain.root.operation,
        path: chain.root.shown_path(),
        action,
        is_executed_later: false,
        preview,
        changed_since,
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::new("fault-undo", failure.message)
    }
}

impl From<JournalError> for Fault {
    fn from(error: JournalError) -> Self {
        let failure = Failure::from(error);
        let key = if failure.code == Code::NoSpace { "fault-undo-space" } else { "fault-undo" };
        Self::new(key, failure.message)
    }
}

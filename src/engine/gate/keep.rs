//! Between the ledger's row and the run: what takes the call back is kept, or the call is not run.
//!
//! Whether it can be kept is found out before anybody is asked, is shown, and is part of what is approved. A call of which
//! nobody was told that it cannot be undone runs only once what undoes it is on the disk.

use serde_json::Value;

use crate::ir::{
    Access, CallRecord, CallStatus, Code, Failure, FileState, Preview, UndoEntry, UndoId, UndoOperation, UndoPlace,
    UndoState,
};
use crate::journal::{Image, Images, JournalError, Kept, MAX_TREE_ENTRIES, expected, keep, look};
use crate::policy::{MaskedSecret, TargetKind};
use crate::tool::{Limits, Tool};
use crate::workspace::{Purpose, Target, Trash};

use super::super::shared::unique;
use super::super::undo::Undo;
use super::examine::blocking;
use super::plan::Plan;
use super::{Caller, Shared};

/// Whether what this call does can be taken back, as far as that can be foretold.
pub(super) fn foretell(
    shared: &Shared,
    tool: &dyn Tool,
    args: &Value,
    targets: &[Target],
    preview: Option<&Preview>,
    withheld: Option<&[MaskedSecret]>,
    room_bytes: u64,
) -> bool {
    match (tool.access(), targets) {
        (Access::Write, [target]) => {
            let is_known =
                target.purpose() != Purpose::Write || tool.leaves(args, targets, &shared.limits(), withheld).is_some();
            is_known && has_place(target) && fits(shared, target, None, room_bytes)
        }
        (Access::Delete, [target]) => {
            let trash = Trash::of_person(shared.surroundings.home.as_deref());
            // A deletion for good is carried out only where this was asked before.
            let is_restorable = target.is_restorable_after_delete(&trash);
            has_place(target) && (is_restorable || fits(shared, target, preview, room_bytes))
        }
        (Access::Read | Access::Execute | Access::Write | Access::Delete, _) => false,
    }
}

/// Whether the journal can name where it lies.
fn has_place(target: &Target) -> bool {
    target.root().is_some_and(|root| root.path().to_str().is_some())
}

/// Whether what is there fits into the journal without pushing out what is recent.
fn fits(shared: &Shared, target: &Target, preview: Option<&Preview>, room_bytes: u64) -> bool {
    let Some(images) = shared.undo.images() else { return false };
    let bytes = match (target.kind(), preview) {
        (TargetKind::Missing | TargetKind::Link, _) => 0,
        (TargetKind::File, _) => target.identity().bytes,
        (TargetKind::Folder, Some(Preview::Tree { count, bytes, at_least: false, .. })) => {
            if usize::try_from(*count).is_ok_and(|count| count <= MAX_TREE_ENTRIES) { *bytes } else { u64::MAX }
        }
        (TargetKind::Folder, _) if target.purpose() == Purpose::CreateFolder => 0,
        (TargetKind::Folder | TargetKind::Special, _) => u64::MAX,
    };
    bytes <= room_bytes && images.has_room_for(bytes)
}

/// Keeps what takes the call back, and records it. `None` where there is nothing to take back, or where the person was told
/// that it cannot be.
pub(super) async fn keep_before(
    caller: &Caller,
    row: &CallRecord,
    plan: Plan,
) -> Result<(Plan, Option<UndoEntry>), Failure> {
    let changes = plan.facts.access.changes_named_files();
    let Some(images) = caller.shared.undo.images().filter(|_| changes && plan.targets.len() == 1) else {
        return nothing_kept(plan, changes);
    };
    // Nobody removes contents between their keeping and their record.
    let _keeping = caller.shared.undo.keeping.read().await;
    let limit = Undo::room_bytes(&caller.shared).await;
    let limits = caller.shared.limits();
    let (plan, kept) = blocking(move || {
        let kept = keep_target(&plan, &images, limit, &limits);
        (plan, kept)
    })
    .await?;
    let (described, images) = match kept {
        Ok(Some(kept)) => kept,
        Ok(None) => return nothing_kept(plan, changes),
        Err(error) => {
            let failure = Failure::from(error);
            let words = format!("What takes it back could not be kept, so it was not run. {}", failure.message);
            return Err(Failure::new(failure.code, words));
        }
    };
    let Described { operation, place, before, after, made_folders } = described;
    let entry = UndoEntry {
        id: UndoId::new(unique("undo_")),
        session: row.session.clone(),
        call: row.call.id.clone(),
        message: row.message.clone(),
        operation,
        reverts: None,
        place,
        before,
        after,
        made_folders,
        state: UndoState::Begun,
        created_at: caller.shared.now(),
        settled_at: None,
    };
    let images = images.into_iter().map(|image| (image.hash, image.bytes)).collect();
    caller.shared.store.insert_undo(&entry, images).await.map_err(|error| {
        let words = format!("What takes it back could not be recorded, so it was not run. {error}");
        Failure::new(Failure::from(error).code, words)
    })?;
    Ok((plan, Some(entry)))
}

/// Keeps what the plan's target holds; `None` where there is nothing to take back, or where it cannot be and the person was
/// told so.
fn keep_target(
    plan: &Plan,
    images: &Images,
    limit: u64,
    limits: &Limits,
) -> Result<Option<(Described, Vec<Image>)>, JournalError> {
    let Some(target) = plan.targets.first() else { return Ok(None) };
    let kept = match keep(target, images, limit) {
        Ok(kept) => kept,
        Err(error @ (JournalError::TooLarge { .. } | JournalError::Unkeepable { .. } | JournalError::Io(_))) => {
            let trash = Trash::of_person(plan.facts.surroundings.home.as_deref());
            if target.purpose() == Purpose::Delete && target.is_restorable_after_delete(&trash) {
                // The trash has it then.
                Kept { state: look(target), images: Vec::new() }
            } else if plan.is_undoable() {
                return Err(error);
            } else {
                return Ok(None);
            }
        }
        Err(error) => return Err(error),
    };
    let mut needed = kept.images;
    let left = plan.tool.leaves(&plan.args, &plan.targets, limits, plan.withheld.as_deref());
    if let Some(bytes) = &left {
        // To show what changed since. Without it the undo is the same.
        needed.extend(images.keep(&mut bytes.as_slice(), limit).ok());
    }
    Ok(described(target, kept.state, left.as_deref()).map(|described| (described, needed)))
}

fn nothing_kept(plan: Plan, changes: bool) -> Result<(Plan, Option<UndoEntry>), Failure> {
    // Nothing changes where the folder is there already; a tool without any target was shown as what cannot be undone.
    let is_there = plan.targets.iter().all(|target| target.kind() == TargetKind::Folder);
    if changes && plan.is_undoable() && !is_there {
        let words = "What takes it back could not be kept, so it was not run. Try again.";
        return Err(Failure::new(Code::IoError, words));
    }
    Ok((plan, None))
}

struct Described {
    operation: UndoOperation,
    place: UndoPlace,
    before: FileState,
    after: FileState,
    made_folders: u32,
}

/// What a call will do to its target; `None` where that is nothing, and for what lies in no allowed folder.
fn described(target: &Target, before: FileState, left: Option<&[u8]>) -> Option<Described> {
    let root = target.root()?;
    let place = UndoPlace {
        folder: root.path().to_str()?.to_owned(),
        device: root.identity().device,
        inode: root.identity().inode,
        path: target.resolved_relative()?.to_slash(),
    };
    let (operation, after) = match (target.purpose(), target.kind(), left) {
        (Purpose::Delete, _, _) => (UndoOperation::Deleted, FileState::Missing),
        (Purpose::CreateFolder, TargetKind::Missing, _) => (UndoOperation::FolderMade, FileState::Folder),
        (Purpose::Write, TargetKind::Missing, Some(bytes)) => (UndoOperation::Created, expected(bytes)),
        (Purpose::Write, TargetKind::File, Some(bytes)) => (UndoOperation::Changed, expected(bytes)),
        (Purpose::Read | Purpose::Write | Purpose::CreateFolder, _, _) => return None,
    };
    Some(Described { operation, place, before, after, made_folders: target.missing_folders() })
}

/// Records how the call ended. What is not known stays as it was begun: it is found out by what is there.
pub(super) async fn settle(caller: &Caller, entry: UndoEntry, status: CallStatus) {
    let state = match status {
        CallStatus::Succeeded => UndoState::Done,
        // A write that failed has left everything as it was; a deletion may have stopped in the middle.
        CallStatus::Failed | CallStatus::Cancelled if entry.operation != UndoOperation::Deleted => UndoState::Void,
        CallStatus::Failed
        | CallStatus::Cancelled
        | CallStatus::Pending
        | CallStatus::Waiting
        | CallStatus::Running
        | CallStatus::Denied
        | CallStatus::Unknown => UndoState::Begun,
    };
    let settled = caller.shared.store.settle_undo(vec![(entry.id, state)], caller.shared.now()).await;
    match settled {
        Ok(entries) => {
            let session = entry.session;
            caller.shared.publish(crate::port::Event::UndoChanged { session, entries }).await;
        }
        Err(error) => tracing::warn!(%error, "the end of a change was not recorded in the journal"),
    }
    super::super::undo::prune_soon(&caller.shared);
}

//! The history: what was changed, each change as a diff.

use crate::ir::{FileState, Preview, SessionId, UndoId, Unshown};
use crate::journal::{Images, Means, list_tree};
use crate::port::Event;
use crate::tool::{Content, change};

use super::super::fault::Fault;
use super::{Shared, blocking, means};

/// Most entries of a history.
const MOST_ENTRIES: usize = 2_000;
/// Larger contents are described, not shown, in bytes.
const SHOWN_BYTES: u64 = 5 * 1_048_576;

/// Reports a session's entries.
pub(in crate::engine) async fn list(shared: &Shared, session: &SessionId) -> Result<(), Fault> {
    let entries = shared.store.undo_entries(session, MOST_ENTRIES).await?;
    shared.publish(Event::UndoChanged { session: session.clone(), entries }).await;
    Ok(())
}

/// Reports what one entry changed.
pub(in crate::engine) async fn show(shared: &Shared, id: UndoId) -> Result<(), Fault> {
    let found = shared.store.undo_like(&id).await?.pop();
    let entry = found.ok_or_else(|| Fault::new("fault-undo-missing", ""))?;
    let means = means(shared)?;
    let preview = blocking(move || preview_of(&means, &entry.before, &entry.after)).await?;
    shared.publish(Event::UndoShown { entry: id, preview }).await;
    Ok(())
}

/// The change from one state to another.
pub(in crate::engine) fn preview_of(means: &Means, from: &FileState, to: &FileState) -> Preview {
    preview(&means.images, from, to)
}

/// The same, where only contents are at hand.
pub(in crate::engine) fn preview(images: &Images, from: &FileState, to: &FileState) -> Preview {
    match (from, to) {
        (FileState::Tree { manifest, count, bytes, .. }, FileState::Missing)
        | (FileState::Missing, FileState::Tree { manifest, count, bytes, .. }) => {
            let listed = manifest.as_ref().and_then(|manifest| list_tree(images, manifest).ok());
            let at_least = listed.is_none();
            Preview::Tree { entries: listed.unwrap_or_default(), count: count + 1, bytes: *bytes, at_least }
        }
        (FileState::Missing, FileState::File { .. }) => match content(images, to) {
            Content::Bytes(bytes) => match String::from_utf8(bytes) {
                Ok(content) => Preview::NewFile { content },
                Err(no_text) => change(&Content::Bytes(Vec::new()), &Content::Bytes(no_text.into_bytes())),
            },
            unshown @ Content::Unshown(_) => change(&Content::Bytes(Vec::new()), &unshown),
        },
        (FileState::File { .. } | FileState::Link { .. }, _) | (_, FileState::File { .. } | FileState::Link { .. }) => {
            change(&content(images, from), &content(images, to))
        }
        (
            FileState::Missing | FileState::Folder | FileState::Tree { .. },
            FileState::Missing | FileState::Folder | FileState::Tree { .. },
        ) => Preview::Nothing,
    }
}

fn content(images: &Images, state: &FileState) -> Content {
    Content::Unshown(match state {
        FileState::Missing => return Content::Bytes(Vec::new()),
        FileState::Folder | FileState::Tree { .. } => Unshown::Folder,
        FileState::Link { to } => Unshown::Link { to: to.clone() },
        FileState::File { hash: Some(hash), bytes, .. } => match images.read(hash, SHOWN_BYTES) {
            Ok(content) => return Content::Bytes(content),
            Err(_not_shown) => Unshown::TooLarge { bytes: *bytes },
        },
        FileState::File { hash: None, bytes, .. } => Unshown::NotKept { bytes: *bytes },
    })
}

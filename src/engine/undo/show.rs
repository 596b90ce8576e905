//! The history: what was changed, each change as a diff.

use crate::ir::{FileState, Preview, SessionId, UndoId};
use crate::journal::{Images, Means, list_tree};
use crate::port::Event;
use crate::tool::change_preview;

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
                Err(no_text) => change_preview(b"", no_text.as_bytes()),
            },
            Content::Described(words) => Preview::NewFile { content: words },
        },
        (FileState::File { .. } | FileState::Link { .. }, _) | (_, FileState::File { .. } | FileState::Link { .. }) => {
            change_preview(&content(images, from).into_bytes(), &content(images, to).into_bytes())
        }
        (
            FileState::Missing | FileState::Folder | FileState::Tree { .. },
            FileState::Missing | FileState::Folder | FileState::Tree { .. },
        ) => Preview::Nothing,
    }
}

enum Content {
    Bytes(Vec<u8>),
    /// It cannot be shown, and why: one line.
    Described(String),
}

impl Content {
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Described(words) => words.into_bytes(),
        }
    }
}

fn content(images: &Images, state: &FileState) -> Content {
    match state {
        FileState::Missing => Content::Bytes(Vec::new()),
        FileState::Folder | FileState::Tree { .. } => Content::Described("(a folder)\n".to_owned()),
        FileState::Link { to } => Content::Described(format!("(a link to {to})\n")),
        FileState::File { hash: Some(hash), bytes, .. } => match images.read(hash, SHOWN_BYTES) {
            Ok(content) => Content::Bytes(content),
            Err(_not_shown) => Content::Described(format!("(content not shown, {bytes} bytes)\n")),
        },
        FileState::File { hash: None, bytes, .. } => Content::Described(format!("(content not kept, {bytes} bytes)\n")),
    }
}

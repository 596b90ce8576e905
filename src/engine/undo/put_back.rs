//! What was taken away after a command, kept in the journal: one click brings it back.

use crate::ir::{CallId, FileState, MessageId, SessionId, UndoEntry, UndoId, UndoOperation, UndoPlace, UndoState};
use crate::journal::{Image, Images, JournalError, expected};
use crate::port::Event;
use crate::tool::PutBack;
use crate::workspace::Taken;

use super::super::shared::unique;
use super::{Shared, Undo, blocking};

/// The call after which something was taken away.
pub(in crate::engine) struct After {
    pub(in crate::engine) session: SessionId,
    pub(in crate::engine) call: CallId,
    pub(in crate::engine) message: Option<MessageId>,
}

/// Keeps all of it. What cannot be kept was told already, and is gone.
pub(in crate::engine) async fn keep(shared: &Shared, after: &After, all: Vec<PutBack>) {
    let Some(images) = shared.undo.images() else { return };
    let limit = Undo::limit_bytes(&shared.settings());
    let _keeping = shared.undo.keeping.read().await;
    for one in all {
        let images = images.clone();
        let kept = blocking(move || kept(&one, &images, limit).map(|kept| (one, kept))).await;
        let done = match kept {
            Ok(Ok((one, (before, image)))) => record(shared, after, &one, before, image).await,
            Ok(Err(error)) => Err(error.to_string()),
            Err(failure) => Err(failure.message),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "what was taken away after a command could not be kept");
        }
    }
}

fn kept(one: &PutBack, images: &Images, limit: u64) -> Result<(FileState, Option<Image>), JournalError> {
    match &one.taken {
        Taken::File { content, mode } => {
            let image = images.keep(&mut content.as_slice(), limit)?;
            let (hash, bytes) = (Some(image.hash.clone()), image.bytes);
            Ok((FileState::File { hash, bytes, mode: *mode, object: None }, Some(image)))
        }
        Taken::Link(to) => Ok((FileState::Link { to: to.to_string_lossy().into_owned() }, None)),
    }
}

async fn record(
    shared: &Shared,
    after: &After,
    one: &PutBack,
    before: FileState,
    image: Option<Image>,
) -> Result<(), String> {
    let folder = one.root.path().to_str().ok_or("the folder's path is no text")?.to_owned();
    let (device, inode) = (one.root.identity().device, one.root.identity().inode);
    let left = match &one.left {
        None => FileState::Missing,
        Some(Taken::File { content, .. }) => expected(content),
        Some(Taken::Link(to)) => FileState::Link { to: to.to_string_lossy().into_owned() },
    };
    let entry = UndoEntry {
        id: UndoId::new(unique("undo_")),
        session: after.session.clone(),
        call: after.call.clone(),
        message: after.message.clone(),
        operation: UndoOperation::PutBack,
        reverts: None,
        place: UndoPlace { folder, device, inode, path: one.path.clone() },
        before,
        after: left,
        made_folders: 0,
        state: UndoState::Begun,
        created_at: shared.now(),
        settled_at: None,
    };
    let images = image.into_iter().map(|image| (image.hash, image.bytes)).collect();
    shared.store.insert_undo(&entry, images).await.map_err(|error| error.to_string())?;
    let settled = shared.store.settle_undo(vec![(entry.id, UndoState::Done)], shared.now()).await;
    let entries = settled.map_err(|error| error.to_string())?;
    shared.publish(Event::UndoChanged { session: after.session.clone(), entries }).await;
    Ok(())
}

//! Letting go of what is too old or too much: entries first, then the contents that no entry needs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::ir::{SessionId, UndoEntry};
use crate::port::Event;

use super::apply::oldest_kept;
use super::{Shared, blocking};

/// At most so often, in milliseconds.
const PAUSE_MS: i64 = 10 * 60 * 1000;

/// Looks through the journal in the background, if that was not done a moment ago.
pub(in crate::engine) fn prune_soon(shared: &Arc<Shared>) {
    let now = shared.now().0;
    let last = shared.undo.pruned_at.load(Ordering::Relaxed);
    if now.saturating_sub(last) < PAUSE_MS {
        return;
    }
    shared.undo.pruned_at.store(now, Ordering::Relaxed);
    let shared = Arc::clone(shared);
    let errands = shared.errands.clone();
    errands.spawn(async move { prune(&shared).await });
}

/// Looks through the journal now.
pub(in crate::engine) async fn prune(shared: &Arc<Shared>) {
    let safety = shared.settings().safety;
    let oldest = oldest_kept(shared.now(), safety.undo_days);
    let recent = super::recent(shared.now());
    match shared.store.expire_undo(oldest, recent, u64::from(safety.undo_space_mb) * 1_048_576).await {
        Ok(expired) => report(shared, expired).await,
        Err(error) => {
            tracing::warn!(%error, "the journal was not looked through");
            return;
        }
    }
    let Some(images) = shared.undo.images() else { return };
    // Nobody keeps anything meanwhile: what is not recorded now belongs to nobody.
    let _alone = shared.undo.keeping.write().await;
    let needed = match shared.store.undo_images().await {
        Ok(needed) => needed,
        Err(error) => {
            tracing::warn!(%error, "the journal was not looked through");
            return;
        }
    };
    let removed = blocking(move || -> std::io::Result<()> {
        for (name, _) in images.all()? {
            if !needed.contains_key(&name) {
                images.remove(&name)?;
            }
        }
        Ok(())
    })
    .await;
    if let Ok(Err(error)) = removed {
        tracing::warn!(%error, "old versions were not removed");
    }
}

async fn report(shared: &Shared, expired: Vec<UndoEntry>) {
    let mut by_session: HashMap<SessionId, Vec<UndoEntry>> = HashMap::new();
    for entry in expired {
        by_session.entry(entry.session.clone()).or_default().push(entry);
    }
    for (session, entries) in by_session {
        shared.publish(Event::UndoChanged { session, entries }).await;
    }
}

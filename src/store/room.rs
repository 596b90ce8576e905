//! How much the recent part of the journal holds: counted once, then kept up with what is added. Counting goes through all
//! of its rows, and every change asks.
#![expect(clippy::disallowed_types, reason = "the store may share state by locks: every clone of it counts the same")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::{Store, StoreError};
use crate::ir::UnixMs;

/// What is known without counting.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// What was added in all, in bytes, since the store was opened.
    added: AtomicU64,
    counted: Mutex<Option<Counted>>,
}

#[derive(Debug, Clone, Copy)]
struct Counted {
    since: UnixMs,
    bytes: u64,
    /// What had been added by then.
    added: u64,
}

impl Room {
    /// Contents were added: by now they are committed, so that whoever counts after this counts them.
    pub(super) fn add(&self, images: &[(String, u64)]) {
        self.added.fetch_add(images.iter().map(|(_, bytes)| bytes).sum(), Ordering::SeqCst);
    }

    /// No less than what is held since then; `None` before it was counted.
    fn at_most(&self, recent: UnixMs) -> Option<u64> {
        let counted = (*self.counted.lock().unwrap_or_else(PoisonError::into_inner))?;
        let added = self.added.load(Ordering::SeqCst).saturating_sub(counted.added);
        // What became too old meanwhile is still in it, and what came twice is in it twice.
        (counted.since <= recent).then(|| counted.bytes.saturating_add(added))
    }
}

impl Store {
    /// What the contents of entries since then come to, in bytes: nobody lets go of these for room. Exactly; where it is not
    /// above `ample`, perhaps less than is said.
    pub async fn undo_bytes_since(&self, recent: UnixMs, ample: u64) -> Result<u64, StoreError> {
        let room = &self.0.room;
        if let Some(bytes) = room.at_most(recent).filter(|bytes| *bytes <= ample) {
            return Ok(bytes);
        }
        // Read before the rows are: what is added meanwhile counts twice rather than not at all.
        let added = room.added.load(Ordering::SeqCst);
        let bytes = self.look(move |transaction| count(transaction, recent)).await?;
        *room.counted.lock().unwrap_or_else(PoisonError::into_inner) = Some(Counted { since: recent, bytes, added });
        Ok(bytes)
    }
}

fn count(connection: &Connection, recent: UnixMs) -> Result<u64, StoreError> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM (SELECT DISTINCT hash, bytes FROM undo_image
        JOIN undo ON undo.row = undo_image.undo WHERE undo.created_at >= ?1)";
    Ok(connection.query_row(sum, [recent.0], |row| row.get::<_, i64>(0))?.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{change, session, store};
    use super::*;
    use crate::ir::{CallId, FileState, UndoEntry, UndoPlace};

    const AMPLE: u64 = 1_000;

    fn entry(id: &str, at: i64) -> UndoEntry {
        let place = UndoPlace { path: id.to_owned(), ..change(id).place };
        UndoEntry { call: CallId::new(id), place, after: FileState::Missing, created_at: UnixMs(at), ..change(id) }
    }

    async fn store_with_session() -> Store {
        let store = store();
        store.insert_session(&session("s")).await.unwrap();
        store
    }

    async fn keep(store: &Store, id: &str, at: i64, images: &[(&str, u64)]) {
        let images = images.iter().map(|(hash, bytes)| ((*hash).to_owned(), *bytes)).collect();
        store.insert_undo(&entry(id, at), images).await.unwrap();
    }

    async fn held(store: &Store, recent: i64, ample: u64) -> u64 {
        store.undo_bytes_since(UnixMs(recent), ample).await.unwrap()
    }

    /// Changes what is held behind the back of whoever keeps count.
    async fn change_unseen(store: &Store) {
        let sql = "UPDATE undo_image SET bytes = bytes + 100";
        store.guard(move |transaction| Ok(transaction.execute(sql, [])?)).await.unwrap();
    }

    #[tokio::test]
    async fn a_content_counts_once_and_what_is_too_old_does_not() {
        let store = store_with_session().await;
        keep(&store, "old", 10, &[("x", 5), ("y", 7)]).await;
        keep(&store, "new", 20, &[("x", 5), ("z", 1)]).await;
        assert_eq!((held(&store, 10, 0).await, held(&store, 20, 0).await), (13, 6));
    }

    #[tokio::test]
    async fn while_there_is_ample_room_it_is_counted_once_and_what_is_added_is_added() {
        let store = store_with_session().await;
        keep(&store, "a", 20, &[("x", 5)]).await;
        assert_eq!(held(&store, 10, AMPLE).await, 5);
        change_unseen(&store).await;
        for number in 0..50_u64 {
            assert_eq!(held(&store, 10, AMPLE).await, 5 + number, "the rows were not looked at again");
            keep(&store, &number.to_string(), 30, &[(&number.to_string(), 1)]).await;
        }
    }

    #[tokio::test]
    async fn where_room_may_be_short_and_after_the_clock_was_set_back_it_is_counted_anew() {
        let store = store_with_session().await;
        keep(&store, "a", 20, &[("x", 5)]).await;
        assert_eq!(held(&store, 10, AMPLE).await, 5);
        change_unseen(&store).await;
        assert_eq!(held(&store, 10, 4).await, 105);
        change_unseen(&store).await;
        assert_eq!(held(&store, 9, AMPLE).await, 205);
    }
}

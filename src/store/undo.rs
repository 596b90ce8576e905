//! The journal's entries: what takes a change back is recorded before the change is made. One that somebody else has written is
//! listed as such, and nothing goes by it.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, ToSql, Transaction, named_params};

use crate::ir::{CallId, MessageId, SessionId, UndoEntry, UndoId, UndoState, UnixMs};

use super::row::json;
use super::seal::SealKey;
use super::{Store, StoreError};

use row::{COLUMNS, Columns, Reading, list};

mod row;

pub(super) use row::{mark_unsealed, seal_all};

/// Entries that are looked through at once when room is made.
const ROOM_STEP: usize = 64;

/// What was done in a session: by itself, or by the one that its calls were copied from.
const OF_SESSION: &str = "(session = ?1 OR call IN (SELECT call.id FROM call WHERE call.session = ?1))";

/// What these messages of a session asked for.
const OF_MESSAGES: &str =
    "(session = ?1 AND message IN (SELECT value FROM json_each(?2)) OR call IN (SELECT call.id FROM call
    WHERE call.session = ?1 AND call.message IN (SELECT value FROM json_each(?2))))";

impl Store {
    /// Keeps an entry and which contents it needs, each with its size in bytes. Committed before it returns, power cut or
    /// not.
    ///
    /// # Errors
    /// `Conflict` when the id is taken.
    pub async fn insert_undo(&self, entry: &UndoEntry, images: Vec<(String, u64)>) -> Result<(), StoreError> {
        let (entry, seal) = (entry.clone(), self.seal());
        let images = self
            .guard(move |transaction| {
                insert(transaction, &seal, &entry, &images)?;
                Ok(images)
            })
            .await?;
        self.0.room.add(&images);
        Ok(())
    }

    /// Keeps how entries stand now; gives them.
    pub async fn settle_undo(
        &self,
        states: Vec<(UndoId, UndoState)>,
        at: UnixMs,
    ) -> Result<Vec<UndoEntry>, StoreError> {
        let reading = self.reading();
        self.guard(move |transaction| {
            let mut settled = Vec::new();
            for (id, state) in states {
                row::set_state(transaction, &reading.seal, &id, state, Some(at))?;
                settled.extend(list(transaction, &reading, "id = ?1", &[&id.as_str()])?);
            }
            Ok(settled)
        })
        .await
    }

    /// What tools did whose id begins like this: none, the one, or two of several.
    pub async fn undo_like(&self, beginning: &UndoId) -> Result<Vec<UndoEntry>, StoreError> {
        let (beginning, reading) = (beginning.clone(), self.reading());
        self.look(move |transaction| {
            let which = "substr(id, 1, length(?1)) = ?1 AND reverts IS NULL ORDER BY row LIMIT 2";
            list(transaction, &reading, which, &[&beginning.as_str()])
        })
        .await
    }

    /// A session's entries, oldest first; the newest `limit` of them. A session that was forked from another, or was read
    /// back from its export, has that one's calls, and so what takes them back.
    pub async fn undo_entries(&self, session: &SessionId, limit: usize) -> Result<Vec<UndoEntry>, StoreError> {
        let (session, reading) = (session.clone(), self.reading());
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.look(move |transaction| {
            let which = format!("{OF_SESSION} ORDER BY row DESC LIMIT ?2");
            let mut entries = list(transaction, &reading, &which, &[&session.as_str(), &limit])?;
            entries.reverse();
            adopt(transaction, &session, &mut entries)?;
            Ok(entries)
        })
        .await
    }

    /// Every session's entries, oldest first; the newest `limit` of them.
    pub async fn all_undo_entries(&self, limit: usize) -> Result<Vec<UndoEntry>, StoreError> {
        let (limit, reading) = (i64::try_from(limit).unwrap_or(i64::MAX), self.reading());
        self.look(move |transaction| {
            let mut entries = list(transaction, &reading, "true ORDER BY row DESC LIMIT ?1", &[&limit])?;
            entries.reverse();
            Ok(entries)
        })
        .await
    }

    /// What these messages asked for, oldest first.
    pub async fn undo_of_messages(
        &self,
        session: &SessionId,
        messages: Vec<MessageId>,
    ) -> Result<Vec<UndoEntry>, StoreError> {
        let (session, reading) = (session.clone(), self.reading());
        self.look(move |transaction| {
            let ids = json("message list", &messages)?;
            list(transaction, &reading, &format!("{OF_MESSAGES} ORDER BY row"), &[&session.as_str(), &ids])
        })
        .await
    }

    /// What a call did.
    pub async fn undo_of_call(&self, session: &SessionId, call: &CallId) -> Result<Vec<UndoEntry>, StoreError> {
        let (session, call, reading) = (session.clone(), call.clone(), self.reading());
        self.look(move |transaction| {
            let which = format!("{OF_SESSION} AND call = ?2 ORDER BY row");
            list(transaction, &reading, &which, &[&session.as_str(), &call.as_str()])
        })
        .await
    }

    /// The newest entry that takes this one back and was carried out; or that somebody else has written.
    pub async fn newest_revert(&self, id: &UndoId) -> Result<Option<UndoEntry>, StoreError> {
        let (id, reading) = (id.clone(), self.reading());
        self.look(move |transaction| {
            let which = "reverts = ?1 AND state IN ('done', 'altered') ORDER BY row DESC LIMIT 1";
            Ok(list(transaction, &reading, which, &[&id.as_str()])?.pop())
        })
        .await
    }

    /// An entry that takes this one back and of which it is not known whether it was carried out.
    pub async fn begun_revert(&self, id: &UndoId) -> Result<Option<UndoEntry>, StoreError> {
        let (id, reading) = (id.clone(), self.reading());
        self.look(move |transaction| {
            let which = "reverts = ?1 AND state = 'begun' ORDER BY row DESC LIMIT 1";
            let found = list(transaction, &reading, which, &[&id.as_str()])?.pop();
            Ok(found.filter(|entry| entry.state == UndoState::Begun))
        })
        .await
    }

    fn reading(&self) -> Reading {
        Reading { seal: self.seal(), reader: self.reader() }
    }

    /// Lets go of what is older than `before`; and beyond `limit_bytes` of contents of what is older than `recent`: first of
    /// what Nod itself had written, then of the oldest. Gives what became stale.
    pub async fn expire_undo(
        &self,
        before: UnixMs,
        recent: UnixMs,
        limit_bytes: u64,
    ) -> Result<Vec<UndoEntry>, StoreError> {
        let reading = self.reading();
        self.guard(move |transaction| {
            let mut expired = expire(transaction, &reading, "created_at < ?1", &[&before.0])?;
            let mut used = used_bytes(transaction)?;
            let mut dispensable =
                if used > limit_bytes { dispensable(transaction, recent)? } else { Vec::new() }.into_iter();
            while used > limit_bytes {
                let step = if used > limit_bytes.saturating_mul(2) { ROOM_STEP } else { 1 };
                let rows: Vec<i64> = dispensable.by_ref().take(step).collect();
                if rows.is_empty() {
                    break;
                }
                let rows = json("undo rows", &rows)?;
                expired.extend(expire(transaction, &reading, "row IN (SELECT value FROM json_each(?1))", &[&rows])?);
                used = used_bytes(transaction)?;
            }
            Ok(expired)
        })
        .await
    }

    /// The contents that entries need, by hash, with their sizes in bytes.
    pub async fn undo_images(&self) -> Result<HashMap<String, u64>, StoreError> {
        self.look(|transaction| {
            let mut statement = transaction.prepare("SELECT DISTINCT hash, bytes FROM undo_image")?;
            let mut rows = statement.query([])?;
            let mut images = HashMap::new();
            while let Some(row) = rows.next()? {
                images.insert(row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs());
            }
            Ok(images)
        })
        .await
    }
}

fn insert(
    transaction: &Transaction<'_>,
    seal: &SealKey,
    entry: &UndoEntry,
    images: &[(String, u64)],
) -> Result<(), StoreError> {
    let columns = Columns::of(entry)?;
    let inserted = transaction.execute(
        &format!(
            "INSERT INTO undo ({COLUMNS}, code) VALUES (:id, :session, :call, :message, :operation, :reverts, :place,
                :before, :after, :made_folders, :state, :created_at, :settled_at, :code) ON CONFLICT (id) DO NOTHING"
        ),
        named_params! {
            ":id": columns.id,
            ":session": columns.session,
            ":call": columns.call,
            ":message": columns.message,
            ":operation": columns.operation,
            ":reverts": columns.reverts,
            ":place": columns.place,
            ":before": columns.before,
            ":after": columns.after,
            ":made_folders": columns.made_folders,
            ":state": columns.state,
            ":created_at": columns.created_at,
            ":settled_at": columns.settled_at,
            ":code": columns.code(seal)?,
        },
    )?;
    if inserted == 0 {
        return Err(StoreError::Conflict { what: "undo entry", id: entry.id.to_string() });
    }
    let row = transaction.last_insert_rowid();
    let mut statement =
        transaction.prepare("INSERT OR IGNORE INTO undo_image (undo, hash, bytes) VALUES (?1, ?2, ?3)")?;
    for (hash, bytes) in images {
        statement.execute((row, hash, i64::try_from(*bytes).unwrap_or(i64::MAX)))?;
    }
    Ok(())
}

/// Lets go of everything: it was done somewhere else.
pub(super) fn forget_all(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    transaction.execute_batch("DELETE FROM undo_image; DELETE FROM undo")?;
    Ok(())
}

/// Makes entries stale and lets go of their contents.
fn expire(
    transaction: &Transaction<'_>,
    reading: &Reading,
    which: &str,
    values: &[&dyn ToSql],
) -> Result<Vec<UndoEntry>, StoreError> {
    let found = list(transaction, reading, which, values)?;
    let mut expired = Vec::new();
    for mut entry in found {
        transaction
            .execute("DELETE FROM undo_image WHERE undo = (SELECT row FROM undo WHERE id = ?1)", [entry.id.as_str()])?;
        if !matches!(entry.state, UndoState::Stale | UndoState::Altered) {
            row::set_state(transaction, &reading.seal, &entry.id, UndoState::Stale, None)?;
            entry.state = UndoState::Stale;
            expired.push(entry);
        }
    }
    Ok(expired)
}

/// The rows that may go for room, in the order in which they go: what holds nothing of the person's, as Nod itself had
/// written it before or nothing was there, before what does; of each the oldest first.
fn dispensable(connection: &Connection, recent: UnixMs) -> Result<Vec<i64>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT row, json_extract(before, '$.kind'), json_extract(before, '$.hash'), json_extract(after, '$.hash'),
            created_at < ?1 AND EXISTS (SELECT 1 FROM undo_image WHERE undo_image.undo = undo.row), reverts IS NULL
            FROM undo WHERE json_valid(before) AND json_valid(after) ORDER BY row",
    )?;
    let mut rows = statement.query([recent.0])?;
    let mut written = HashSet::new();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let before: Option<String> = row.get(2)?;
        let is_ours = row.get::<_, Option<String>>(1)?.as_deref() == Some("missing")
            || before.is_some_and(|hash| written.contains(&hash));
        if row.get::<_, bool>(4)? {
            let of = if is_ours { &mut ours } else { &mut theirs };
            of.push(row.get(0)?);
        }
        // What an undo put back is what was there before, whoever wrote that.
        let after: Option<String> = row.get(3)?;
        written.extend(after.filter(|_| row.get::<_, bool>(5).unwrap_or(false)));
    }
    ours.append(&mut theirs);
    Ok(ours)
}

/// Names, of entries of copied calls, the message that asks for them in this session.
fn adopt(connection: &Connection, session: &SessionId, entries: &mut [UndoEntry]) -> Result<(), StoreError> {
    let mut statement = connection.prepare("SELECT message FROM call WHERE session = ?1 AND id = ?2")?;
    for entry in entries.iter_mut().filter(|entry| entry.session != *session) {
        let mut rows = statement.query([session.as_str(), entry.call.as_str()])?;
        if let Some(row) = rows.next()? {
            entry.message = row.get::<_, Option<String>>(0)?.map(MessageId);
        }
    }
    Ok(())
}

fn used_bytes(connection: &Connection) -> Result<u64, StoreError> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM (SELECT DISTINCT hash, bytes FROM undo_image)";
    Ok(connection.query_row(sum, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{change, session, store};
    use super::*;
    use crate::ir::UndoOperation;

    /// How SQLite goes about it, step by step.
    async fn steps(store: &Store, which: String) -> Vec<String> {
        let look = move |transaction: &Transaction<'_>| {
            let mut statement =
                transaction.prepare(&format!("EXPLAIN QUERY PLAN SELECT {COLUMNS} FROM undo WHERE {which}"))?;
            let mut rows = statement.raw_query();
            let mut steps = Vec::new();
            while let Some(row) = rows.next()? {
                steps.push(row.get(3)?);
            }
            Ok(steps)
        };
        store.look(look).await.unwrap()
    }

    fn entry(id: &str) -> UndoEntry {
        UndoEntry { operation: UndoOperation::Changed, made_folders: 1, state: UndoState::Begun, ..change(id) }
    }

    async fn outside(store: &Store, sql: &'static str) {
        store.guard(move |transaction| Ok(transaction.execute_batch(sql)?)).await.unwrap();
    }

    #[tokio::test]
    async fn an_entry_that_somebody_else_has_written_is_shown_as_such_and_gets_no_code() {
        let id = UndoId::new("u");
        for sql in [
            "UPDATE undo SET session = 't'",
            "UPDATE undo SET call = 'd'",
            "UPDATE undo SET message = 'm'",
            "UPDATE undo SET message = ''",
            "UPDATE undo SET operation = 'deleted'",
            "UPDATE undo SET reverts = 'v'",
            "UPDATE undo SET place = replace(place, 'projects', 'home')",
            "UPDATE undo SET place = 'no place'",
            "UPDATE undo SET before = '{\"kind\":\"folder\"}'",
            "UPDATE undo SET after = '{\"kind\":\"missing\"}'",
            "UPDATE undo SET made_folders = 9",
            "UPDATE undo SET made_folders = -1",
            "UPDATE undo SET state = 'done'",
            "UPDATE undo SET state = 'no state'",
            "UPDATE undo SET created_at = 2",
            "UPDATE undo SET settled_at = 0",
            "UPDATE undo SET code = ''",
            "UPDATE undo SET code = (SELECT code FROM undo WHERE id = 'other') WHERE id = 'u'",
            "DELETE FROM undo WHERE id = 'u'; UPDATE undo SET id = 'u'",
        ] {
            let store = store();
            for name in ["s", "t"] {
                store.insert_session(&session(name)).await.unwrap();
            }
            store.insert_undo(&entry("u"), vec![]).await.unwrap();
            store.insert_undo(&entry("other"), vec![]).await.unwrap();
            // The control: what Nod writes itself, at every step, is its own.
            let settled = store.settle_undo(vec![(id.clone(), UndoState::Undone)], UnixMs(3)).await.unwrap();
            assert_eq!(settled[0], UndoEntry { state: UndoState::Undone, settled_at: Some(UnixMs(3)), ..entry("u") });
            assert_eq!(store.undo_like(&UndoId::new("other")).await.unwrap(), [entry("other")]);

            outside(&store, sql).await;
            let found = store.all_undo_entries(9).await.unwrap().into_iter().find(|entry| entry.id == id).unwrap();
            assert_eq!((found.state, found.can_undo(), found.can_redo()), (UndoState::Altered, false, false), "{sql}");
            let settled = store.settle_undo(vec![(id.clone(), UndoState::Done)], UnixMs(4)).await.unwrap();
            assert_eq!(settled[0].state, UndoState::Altered, "{sql}");
            assert!(!store.expire_undo(UnixMs(9), UnixMs(9), 0).await.unwrap().iter().any(|entry| entry.id == id));
            assert_eq!(store.all_undo_entries(9).await.unwrap()[0].state, UndoState::Altered, "{sql}");
        }
    }

    #[tokio::test]
    async fn what_takes_back_and_was_written_by_somebody_else_is_found_as_such() {
        let store = store();
        store.insert_session(&session("s")).await.unwrap();
        store.insert_undo(&entry("u"), vec![]).await.unwrap();
        let revert = UndoEntry { reverts: Some(UndoId::new("u")), state: UndoState::Done, ..entry("v") };
        store.insert_undo(&revert, vec![]).await.unwrap();
        assert_eq!(store.newest_revert(&UndoId::new("u")).await.unwrap(), Some(revert), "the control");
        outside(&store, "UPDATE undo SET place = replace(place, 'projects', 'home') WHERE id = 'v'").await;
        let found = store.newest_revert(&UndoId::new("u")).await.unwrap();
        assert_eq!(found.map(|entry| entry.state), Some(UndoState::Altered));
        outside(&store, "UPDATE undo SET state = 'begun' WHERE id = 'v'").await;
        assert_eq!(store.begun_revert(&UndoId::new("u")).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_belongs_to_a_session_or_a_call_is_found_without_going_through_the_whole_journal() {
        let store = store();
        let asked = [
            format!("{OF_SESSION} ORDER BY row DESC LIMIT ?2"),
            format!("{OF_SESSION} AND call = ?2 ORDER BY row"),
            format!("{OF_MESSAGES} ORDER BY row"),
        ];
        for which in asked {
            let steps = steps(&store, which).await;
            assert!(steps.iter().any(|step| step.contains("undo USING INDEX undo_by_call")), "{steps:?}");
            assert!(!steps.iter().any(|step| step.starts_with("SCAN undo")), "{steps:?}");
        }
        // The control: what no index leads to goes through all of it.
        let steps = steps(&store, "operation = ?1".to_owned()).await;
        assert!(steps.iter().any(|step| step.starts_with("SCAN undo")), "{steps:?}");
    }
}

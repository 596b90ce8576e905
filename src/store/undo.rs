//! The journal's entries: what takes a change back is recorded before the change is made.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Row, ToSql, Transaction, named_params};

use crate::ir::{CallId, MessageId, SessionId, UndoEntry, UndoId, UndoState, UnixMs};

use super::row::{json, parse, variant, word};
use super::{Store, StoreError};

const COLUMNS: &str = "id, session, call, message, operation, reverts, place, before, after, made_folders, state, \
                       created_at, settled_at";
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
        let entry = entry.clone();
        let images = self
            .guard(move |transaction| {
                insert(transaction, &entry, &images)?;
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
        self.guard(move |transaction| {
            let mut settled = Vec::new();
            for (id, state) in states {
                transaction.execute(
                    "UPDATE undo SET state = ?2, settled_at = ?3 WHERE id = ?1",
                    (id.as_str(), word("undo entry", &state)?, at.0),
                )?;
                settled.extend(list(transaction, "id = ?1", &[&id.as_str()])?);
            }
            Ok(settled)
        })
        .await
    }

    /// What tools did whose id begins like this: none, the one, or two of several.
    pub async fn undo_like(&self, beginning: &UndoId) -> Result<Vec<UndoEntry>, StoreError> {
        let beginning = beginning.clone();
        self.look(move |transaction| {
            let which = "substr(id, 1, length(?1)) = ?1 AND reverts IS NULL ORDER BY row LIMIT 2";
            list(transaction, which, &[&beginning.as_str()])
        })
        .await
    }

    /// A session's entries, oldest first; the newest `limit` of them. A session that was forked from another, or was read
    /// back from its export, has that one's calls, and so what takes them back.
    pub async fn undo_entries(&self, session: &SessionId, limit: usize) -> Result<Vec<UndoEntry>, StoreError> {
        let session = session.clone();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.look(move |transaction| {
            let which = format!("{OF_SESSION} ORDER BY row DESC LIMIT ?2");
            let mut entries = list(transaction, &which, &[&session.as_str(), &limit])?;
            entries.reverse();
            adopt(transaction, &session, &mut entries)?;
            Ok(entries)
        })
        .await
    }

    /// Every session's entries, oldest first; the newest `limit` of them.
    pub async fn all_undo_entries(&self, limit: usize) -> Result<Vec<UndoEntry>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.look(move |transaction| {
            let mut entries = list(transaction, "true ORDER BY row DESC LIMIT ?1", &[&limit])?;
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
        let session = session.clone();
        self.look(move |transaction| {
            let ids = json("message list", &messages)?;
            list(transaction, &format!("{OF_MESSAGES} ORDER BY row"), &[&session.as_str(), &ids])
        })
        .await
    }

    /// What a call did.
    pub async fn undo_of_call(&self, session: &SessionId, call: &CallId) -> Result<Vec<UndoEntry>, StoreError> {
        let (session, call) = (session.clone(), call.clone());
        self.look(move |transaction| {
            let which = format!("{OF_SESSION} AND call = ?2 ORDER BY row");
            list(transaction, &which, &[&session.as_str(), &call.as_str()])
        })
        .await
    }

    /// The newest entry that takes this one back and was carried out.
    pub async fn newest_revert(&self, id: &UndoId) -> Result<Option<UndoEntry>, StoreError> {
        let id = id.clone();
        self.look(move |transaction| {
            let which = "reverts = ?1 AND state = 'done' ORDER BY row DESC LIMIT 1";
            Ok(list(transaction, which, &[&id.as_str()])?.pop())
        })
        .await
    }

    /// An entry that takes this one back and of which it is not known whether it was carried out.
    pub async fn begun_revert(&self, id: &UndoId) -> Result<Option<UndoEntry>, StoreError> {
        let id = id.clone();
        self.look(move |transaction| {
            let which = "reverts = ?1 AND state = 'begun' ORDER BY row DESC LIMIT 1";
            Ok(list(transaction, which, &[&id.as_str()])?.pop())
        })
        .await
    }

    /// Lets go of what is older than `before`; and beyond `limit_bytes` of contents of what is older than `recent`: first of
    /// what Nod itself had written, then of the oldest. Gives what became stale.
    pub async fn expire_undo(
        &self,
        before: UnixMs,
        recent: UnixMs,
        limit_bytes: u64,
    ) -> Result<Vec<UndoEntry>, StoreError> {
        self.guard(move |transaction| {
            let mut expired = expire(transaction, "created_at < ?1", &[&before.0])?;
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
                expired.extend(expire(transaction, "row IN (SELECT value FROM json_each(?1))", &[&rows])?);
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

fn insert(transaction: &Transaction<'_>, entry: &UndoEntry, images: &[(String, u64)]) -> Result<(), StoreError> {
    let inserted = transaction.execute(
        &format!(
            "INSERT INTO undo ({COLUMNS}) VALUES (:id, :session, :call, :message, :operation, :reverts, :place, :before,
                :after, :made_folders, :state, :created_at, :settled_at) ON CONFLICT (id) DO NOTHING"
        ),
        named_params! {
            ":id": entry.id.as_str(),
            ":session": entry.session.as_str(),
            ":call": entry.call.as_str(),
            ":message": entry.message.as_ref().map(MessageId::as_str),
            ":operation": word("undo entry", &entry.operation)?,
            ":reverts": entry.reverts.as_ref().map(UndoId::as_str),
            ":place": json("undo entry", &entry.place)?,
            ":before": json("undo entry", &entry.before)?,
            ":after": json("undo entry", &entry.after)?,
            ":made_folders": entry.made_folders,
            ":state": word("undo entry", &entry.state)?,
            ":created_at": entry.created_at.0,
            ":settled_at": entry.settled_at.map(|at| at.0),
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

/// Makes entries stale and lets go of their contents.
fn expire(transaction: &Transaction<'_>, which: &str, values: &[&dyn ToSql]) -> Result<Vec<UndoEntry>, StoreError> {
    let found = list(transaction, which, values)?;
    let mut expired = Vec::new();
    for mut entry in found {
        transaction
            .execute("DELETE FROM undo_image WHERE undo = (SELECT row FROM undo WHERE id = ?1)", [entry.id.as_str()])?;
        if entry.state != UndoState::Stale {
            transaction.execute("UPDATE undo SET state = 'stale' WHERE id = ?1", [entry.id.as_str()])?;
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
            FROM undo ORDER BY row",
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

fn list(connection: &Connection, which: &str, values: &[&dyn ToSql]) -> Result<Vec<UndoEntry>, StoreError> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM undo WHERE {which}"))?;
    let mut rows = statement.query(values)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(read(row)?);
    }
    Ok(entries)
}

fn read(row: &Row<'_>) -> Result<UndoEntry, StoreError> {
    let text = |index: usize| row.get::<_, String>(index);
    Ok(UndoEntry {
        id: UndoId(text(0)?),
        session: SessionId(text(1)?),
        call: CallId(text(2)?),
        message: row.get::<_, Option<String>>(3)?.map(MessageId),
        operation: variant("undo entry", &text(4)?)?,
        reverts: row.get::<_, Option<String>>(5)?.map(UndoId),
        place: parse("undo entry", &text(6)?)?,
        before: parse("undo entry", &text(7)?)?,
        after: parse("undo entry", &text(8)?)?,
        made_folders: row.get(9)?,
        state: variant("undo entry", &text(10)?)?,
        created_at: UnixMs(row.get(11)?),
        settled_at: row.get::<_, Option<i64>>(12)?.map(UnixMs),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::store;
    use super::*;

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

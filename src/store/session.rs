//! Sessions: their settings, draft, shown branch, and deletion in two steps (hidden, then purged).

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, named_params, params};

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, ConfirmMode, MessageId, Session, SessionId, UnixMs};

use super::row::{json, parse, variant, word};
use super::{Store, StoreError, audit, search};

const COLUMNS: &str = "id, title, provider, model, thinking, mode, folders, system_prompt, pinned, head, draft, created_at, updated_at, \
                       is_local_only";

/// After a purge the file is made smaller when at least this share of it is empty, in percent …
const VACUUM_FREE_PERCENT: i64 = 25;
/// … and at least this many pages (16 MiB).
const VACUUM_FREE_PAGES: i64 = 4096;

impl Store {
    /// All sessions, last used first, without deleted ones.
    pub async fn list_sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.look(|transaction| {
            let mut statement = transaction.prepare(&format!(
                "SELECT {COLUMNS} FROM session WHERE deleted_at IS NULL AND server IS NULL ORDER BY updated_at DESC, row DESC"
            ))?;
            let mut rows = statement.query([])?;
            let mut sessions = Vec::new();
            while let Some(row) = rows.next()? {
                sessions.push(read(row)?);
            }
            Ok(sessions)
        })
        .await
    }

    /// One session, deleted or not; `None` when it never was or was purged.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let id = id.clone();
        self.look(move |transaction| find(transaction, &id)).await
    }

    /// Keeps a new session.
    ///
    /// # Errors
    /// `Conflict` when the id is taken.
    pub async fn insert_session(&self, session: &Session) -> Result<(), StoreError> {
        let session = session.clone();
        self.guard(move |transaction| insert(transaction, &session)).await
    }

    /// Keeps a session's settings: title, provider, model, thinking, mode, folders, system prompt, pin. Its head, draft
    /// and time follow the messages and `save_draft`, so that an older copy in memory never takes them back.
    ///
    /// # Errors
    /// `Missing`.
    pub async fn update_session(&self, session: &Session) -> Result<(), StoreError> {
        let (session, seal, now) = (session.clone(), self.seal(), self.now());
        self.guard(move |transaction| {
            let before = update(transaction, &session)?;
            // What decisions rest on is on record when it changes: who is asked before what, and the padlock.
            let mode = word("session", &session.mode)?;
            let mut changes = Vec::new();
            if before.mode != mode {
                changes.push(format!("{} → {mode}", before.mode));
            }
            if before.is_local_only != session.is_local_only {
                changes.push(format!("this machine only = {}", session.is_local_only));
            }
            for detail in changes {
                let entry = AuditEntry::new(now, AuditAct::ModeChanged, AuditOrigin::Person);
                let entry = AuditEntry { session: Some(session.id.clone()), detail, ..entry };
                audit::append(transaction, &seal, &entry)?;
            }
            Ok(())
        })
        .await
    }

    /// Keeps what is typed and not sent.
    ///
    /// # Errors
    /// `Missing`.
    pub async fn save_draft(&self, id: &SessionId, text: &str) -> Result<(), StoreError> {
        let (id, text) = (id.clone(), text.to_owned());
        self.guard(move |transaction| {
            let changed =
                transaction.execute("UPDATE session SET draft = ?2 WHERE id = ?1", params![id.as_str(), text])?;
            found(changed, &id)
        })
        .await
    }

    /// Shows another branch: the one that ends with `head`.
    ///
    /// # Errors
    /// `Missing` for an unknown session or a message that is not in it.
    pub async fn set_head(&self, id: &SessionId, head: Option<&MessageId>) -> Result<(), StoreError> {
        let (id, head) = (id.clone(), head.cloned());
        self.guard(move |transaction| {
            let changed = transaction.execute(
                "UPDATE session SET head = ?2 WHERE id = ?1
                    AND (?2 IS NULL OR EXISTS (SELECT 1 FROM message WHERE id = ?2 AND session = ?1))",
                params![id.as_str(), head.as_ref().map(MessageId::as_str)],
            )?;
            found(changed, &id)
        })
        .await
    }

    /// Hides a session; `restore_session` takes that back until it is purged.
    ///
    /// # Errors
    /// `Missing`.
    pub async fn delete_session(&self, id: &SessionId) -> Result<(), StoreError> {
        let (id, now) = (id.clone(), self.now());
        self.guard(move |transaction| {
            let changed =
                transaction.execute("UPDATE session SET deleted_at = ?2 WHERE id = ?1", params![id.as_str(), now.0])?;
            found(changed, &id)
        })
        .await
    }

    /// Hides every session; gives those that were not hidden before.
    ///
    /// # Errors
    /// Of the database.
    pub async fn delete_all_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let now = self.now();
        self.guard(move |transaction| {
            let mut statement =
                transaction.prepare("UPDATE session SET deleted_at = ?1 WHERE deleted_at IS NULL RETURNING id")?;
            let ids = statement.query_map([now.0], |row| row.get(0).map(SessionId))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Takes a deletion back.
    ///
    /// # Errors
    /// `Missing` when it was purged already.
    pub async fn restore_session(&self, id: &SessionId) -> Result<(), StoreError> {
        let id = id.clone();
        self.guard(move |transaction| {
            let changed = transaction.execute("UPDATE session SET deleted_at = NULL WHERE id = ?1", [id.as_str()])?;
            found(changed, &id)
        })
        .await
    }

    /// Removes for good what was deleted before this moment, with all that belongs to it, and gives the room back to the
    /// disk when that is worth it. Gives the number of sessions.
    pub async fn purge_deleted(&self, before: UnixMs) -> Result<usize, StoreError> {
        let purged = self.guard(move |transaction| purge(transaction, before)).await?;
        if purged > 0 {
            let shrunk = self.writer()?.run_bare(shrink).await;
            if let Err(error) = shrunk {
                tracing::warn!(%error, "the database was not made smaller");
            }
        }
        Ok(purged)
    }
}

/// One session.
pub(super) fn find(connection: &Connection, id: &SessionId) -> Result<Option<Session>, StoreError> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM session WHERE id = ?1"))?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(read).transpose()
}

/// Keeps a new session.
pub(super) fn insert(transaction: &Transaction<'_>, session: &Session) -> Result<(), StoreError> {
    let inserted = transaction.execute(
        &format!(
            "INSERT INTO session ({COLUMNS}) VALUES (:id, :title, :provider, :model, :thinking, :mode, :folders,
                :system_prompt, :pinned, :head, :draft, :created_at, :updated_at, :is_local_only) ON CONFLICT (id) DO NOTHING"
        ),
        named_params! {
            ":id": session.id.as_str(),
            ":title": session.title,
            ":provider": session.provider,
            ":model": session.model,
            ":thinking": word("session", &session.thinking)?,
            ":mode": word("session", &session.mode)?,
            ":folders": json("session", &session.folders)?,
            ":system_prompt": session.system_prompt,
            ":pinned": session.pinned,
            ":head": session.head.as_ref().map(MessageId::as_str),
            ":draft": session.draft,
            ":created_at": session.created_at.0,
            ":updated_at": session.updated_at.0,
            ":is_local_only": session.is_local_only,
        },
    )?;
    if inserted == 0 {
        return Err(StoreError::Conflict { what: "session", id: session.id.to_string() });
    }
    search::index_title(transaction, transaction.last_insert_rowid(), &session.title)
}

/// What a session's row said before it was changed.
struct Before {
    /// The mode's word, whether this program knows it or not.
    mode: String,
    is_local_only: bool,
}

/// Keeps a session's settings.
fn update(transaction: &Transaction<'_>, session: &Session) -> Result<Before, StoreError> {
    let known: Option<(i64, String, Before)> = transaction
        .query_row("SELECT row, title, mode, is_local_only FROM session WHERE id = ?1", [session.id.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?, Before { mode: row.get(2)?, is_local_only: row.get(3)? }))
        })
        .optional()?;
    let Some((row, title, before)) = known else {
        return Err(StoreError::Missing { what: "session", id: session.id.to_string() });
    };
    transaction.execute(
        "UPDATE session SET title = :title, provider = :provider, model = :model, thinking = :thinking, mode = :mode,
            folders = :folders, system_prompt = :system_prompt, pinned = :pinned, is_local_only = :is_local_only
            WHERE row = :row",
        named_params! {
            ":row": row,
            ":title": session.title,
            ":provider": session.provider,
            ":model": session.model,
            ":thinking": word("session", &session.thinking)?,
            ":mode": word("session", &session.mode)?,
            ":folders": json("session", &session.folders)?,
            ":system_prompt": session.system_prompt,
            ":pinned": session.pinned,
            ":is_local_only": session.is_local_only,
        },
    )?;
    if title != session.title {
        search::index_title(transaction, row, &session.title)?;
    }
    Ok(before)
}

/// Moves the shown branch to a message that was just said.
pub(super) fn advance(
    transaction: &Transaction<'_>,
    id: &SessionId,
    head: &MessageId,
    said_at: UnixMs,
) -> Result<(), StoreError> {
    let changed = transaction.execute(
        "UPDATE session SET head = ?2, updated_at = max(updated_at, ?3) WHERE id = ?1",
        params![id.as_str(), head.as_str(), said_at.0],
    )?;
    found(changed, id)
}

fn purge(transaction: &Transaction<'_>, before: UnixMs) -> Result<usize, StoreError> {
    let gone = "SELECT id FROM session WHERE deleted_at < ?1";
    transaction.execute(
        &format!("DELETE FROM message_text WHERE rowid IN (SELECT row FROM message WHERE session IN ({gone}))"),
        [before.0],
    )?;
    transaction
        .execute("DELETE FROM title_text WHERE rowid IN (SELECT row FROM session WHERE deleted_at < ?1)", [before.0])?;
    Ok(transaction.execute("DELETE FROM session WHERE deleted_at < ?1", [before.0])?)
}

fn shrink(connection: &Connection) -> Result<(), StoreError> {
    let count = |name| super::connection::header(connection, name);
    let (free, all) = (count("freelist_count")?, count("page_count")?);
    if free >= VACUUM_FREE_PAGES && free * 100 >= all * VACUUM_FREE_PERCENT {
        connection.execute_batch("VACUUM")?;
    }
    Ok(())
}

fn found(changed: usize, id: &SessionId) -> Result<(), StoreError> {
    if changed == 0 { Err(StoreError::Missing { what: "session", id: id.to_string() }) } else { Ok(()) }
}

fn read(row: &Row<'_>) -> Result<Session, StoreError> {
    Ok(Session {
        id: SessionId(row.get(0)?),
        title: row.get(1)?,
        provider: row.get(2)?,
        model: row.get(3)?,
        thinking: variant("session", &row.get::<_, String>(4)?)?,
        // A mode that this program does not know (of a newer one, or written by hand) asks before everything.
        mode: variant("session", &row.get::<_, String>(5)?).unwrap_or(ConfirmMode::EveryCall),
        folders: parse("session", &row.get::<_, String>(6)?)?,
        system_prompt: row.get(7)?,
        pinned: row.get(8)?,
        head: row.get::<_, Option<String>>(9)?.map(MessageId),
        draft: row.get(10)?,
        created_at: UnixMs(row.get(11)?),
        updated_at: UnixMs(row.get(12)?),
        is_local_only: row.get(13)?,
    })
}

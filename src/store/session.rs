//! Sessions: their settings, draft, shown branch, and deletion in two steps (hidden, then purged).

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, named_params, params};

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, ConfirmMode, MessageId, Session, SessionId, UnixMs};

use super::row::{json, parse, variant, word};
use super::seal::SealKey;
use super::{Store, StoreError, audit, search};

const COLUMNS: &str = "id, title, provider, model, thinking, mode, folders, system_prompt, pinned, head, draft, created_at, updated_at, \
                       is_local_only, code";

/// What a session's code is for.
const SEAL: &str = "nod session 1";

/// After a purge the file is made smaller when at least this share of it is empty, in percent …
const VACUUM_FREE_PERCENT: i64 = 25;
/// … and at least this many pages (16 MiB).
const VACUUM_FREE_PAGES: i64 = 4096;

/// How many pages of an index are worked through in one step.
const INDEX_PAGES: i64 = 500;

impl Store {
    /// All sessions, last used first, without deleted ones.
    pub async fn list_sessions(&self) -> Result<Vec<Session>, StoreError> {
        let seal = self.seal();
        self.look(move |transaction| {
            let mut statement = transaction.prepare(&format!(
                "SELECT {COLUMNS} FROM session WHERE deleted_at IS NULL AND server IS NULL ORDER BY updated_at DESC, row DESC"
            ))?;
            let mut rows = statement.query([])?;
            let mut sessions = Vec::new();
            while let Some(row) = rows.next()? {
                sessions.push(read(row, &seal)?);
            }
            Ok(sessions)
        })
        .await
    }

    /// One session, deleted or not; `None` when it never was or was purged.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let (id, seal) = (id.clone(), self.seal());
        self.look(move |transaction| find(transaction, &seal, &id)).await
    }

    /// Keeps a new session.
    ///
    /// # Errors
    /// `Conflict` when the id is taken.
    pub async fn insert_session(&self, session: &Session) -> Result<(), StoreError> {
        let (session, seal) = (session.clone(), self.seal());
        self.guard(move |transaction| insert(transaction, &seal, &session)).await
    }

    /// Keeps a session's settings: title, provider, model, thinking, mode, folders, system prompt, pin. Its head, draft
    /// and time follow the messages and `save_draft`, so that an older copy in memory never takes them back.
    ///
    /// # Errors
    /// `Missing`.
    pub async fn update_session(&self, session: &Session) -> Result<(), StoreError> {
        let (session, seal, now) = (session.clone(), self.seal(), self.now());
        self.guard(move |transaction| {
            let before = update(transaction, &seal, &session)?;
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

    /// Hides every session that a list shows; gives those that were not hidden before. What is kept for a server stays.
    ///
    /// # Errors
    /// Of the database.
    pub async fn delete_all_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let now = self.now();
        self.guard(move |transaction| {
            let mut statement = transaction.prepare(
                "UPDATE session SET deleted_at = ?1 WHERE deleted_at IS NULL AND server IS NULL RETURNING id",
            )?;
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

    /// Removes for good what was deleted before this moment, with all that belongs to it, from the file, its log and the index
    /// too. One of which a call is still under way waits for the next time. Gives the number of sessions.
    pub async fn purge_deleted(&self, before: UnixMs) -> Result<usize, StoreError> {
        let purged = self.guard(move |transaction| purge(transaction, before)).await?;
        if purged > 0 {
            self.clean_indexes().await?;
            let shrunk = self.writer()?.run_bare(shrink).await;
            if let Err(error) = shrunk {
                tracing::warn!(%error, "the database was not made smaller");
            }
        }
        Ok(purged)
    }

    /// Has the indexes forget the words of what was removed: by themselves they only mark it. In small steps, so that what is
    /// written meanwhile does not wait.
    async fn clean_indexes(&self) -> Result<(), StoreError> {
        for index in ["message_text", "title_text"] {
            // A negative number begins the work, a positive one goes on with it.
            let mut pages = -INDEX_PAGES;
            while self.writer()?.run_bare(move |connection| search::merge(connection, index, pages)).await? {
                pages = INDEX_PAGES;
            }
        }
        Ok(())
    }
}

/// One session.
pub(super) fn find(connection: &Connection, seal: &SealKey, id: &SessionId) -> Result<Option<Session>, StoreError> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM session WHERE id = ?1"))?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(|row| read(row, seal)).transpose()
}

/// Keeps a new session.
pub(super) fn insert(transaction: &Transaction<'_>, seal: &SealKey, session: &Session) -> Result<(), StoreError> {
    let ground = Ground::of(session)?;
    let inserted = transaction.execute(
        &format!(
            "INSERT INTO session ({COLUMNS}) VALUES (:id, :title, :provider, :model, :thinking, :mode, :folders,
                :system_prompt, :pinned, :head, :draft, :created_at, :updated_at, :is_local_only, :code) ON CONFLICT (id) DO NOTHING"
        ),
        named_params! {
            ":id": session.id.as_str(),
            ":title": session.title,
            ":provider": session.provider,
            ":model": session.model,
            ":thinking": word("session", &session.thinking)?,
            ":mode": ground.mode,
            ":folders": ground.folders,
            ":code": ground.code(seal, session.id.as_str())?,
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

/// What decisions in a session rest on, as its row holds it: under a code, so that nobody but Nod loosens it.
struct Ground {
    mode: String,
    folders: String,
    is_local_only: bool,
}

impl Ground {
    fn of(session: &Session) -> Result<Self, StoreError> {
        Ok(Self {
            mode: word("session", &session.mode)?,
            folders: json("session", &session.folders)?,
            is_local_only: session.is_local_only,
        })
    }

    /// What holds where somebody else has written: everything is asked, nothing may be touched, nothing leaves.
    fn strictest() -> Self {
        // A mode that nobody knows asks before everything.
        Self { mode: String::new(), folders: "[]".to_owned(), is_local_only: true }
    }

    fn code(&self, seal: &SealKey, id: &str) -> Result<String, StoreError> {
        seal.code(&self.texts(id))
    }

    fn is_sealed(&self, seal: &SealKey, id: &str, code: &str) -> bool {
        seal.fits(&self.texts(id), code)
    }

    fn texts<'text>(&'text self, id: &'text str) -> [&'text str; 5] {
        [SEAL, id, &self.mode, &self.folders, if self.is_local_only { "local" } else { "any" }]
    }
}

/// Every session's ground with its id and its code.
fn grounds(connection: &Connection) -> Result<Vec<(String, Ground, String)>, StoreError> {
    let mut statement = connection.prepare("SELECT id, mode, folders, is_local_only, code FROM session")?;
    let mut rows = statement.query([])?;
    let mut grounds = Vec::new();
    while let Some(row) = rows.next()? {
        let ground = Ground { mode: row.get(1)?, folders: row.get(2)?, is_local_only: row.get(3)? };
        grounds.push((row.get(0)?, ground, row.get(4)?));
    }
    Ok(grounds)
}

/// Gives every session its code: once, when a program that had none has kept them until now.
pub(super) fn seal_all(connection: &Transaction<'_>, seal: &SealKey) -> Result<(), StoreError> {
    for (id, ground, _) in grounds(connection)? {
        connection.execute("UPDATE session SET code = ?2 WHERE id = ?1", params![id, ground.code(seal, &id)?])?;
    }
    Ok(())
}

/// Makes strict what was changed from outside, and keeps it so until the person sets it anew; gives how many sessions.
pub(super) fn mend_changed(transaction: &Transaction<'_>, seal: &SealKey) -> Result<usize, StoreError> {
    let mut changed = 0;
    for (id, ground, code) in grounds(transaction)? {
        if ground.is_sealed(seal, &id, &code) {
            continue;
        }
        changed += 1;
        let strictest = Ground { mode: word("session", &ConfirmMode::EveryCall)?, ..Ground::strictest() };
        transaction.execute(
            "UPDATE session SET mode = ?2, folders = ?3, is_local_only = ?4, code = ?5 WHERE id = ?1",
            params![id, strictest.mode, strictest.folders, strictest.is_local_only, strictest.code(seal, &id)?],
        )?;
    }
    Ok(changed)
}

/// Keeps a session's settings.
fn update(transaction: &Transaction<'_>, seal: &SealKey, session: &Session) -> Result<Before, StoreError> {
    let ground = Ground::of(session)?;
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
            folders = :folders, system_prompt = :system_prompt, pinned = :pinned, is_local_only = :is_local_only,
            code = :code
            WHERE row = :row",
        named_params! {
            ":row": row,
            ":title": session.title,
            ":provider": session.provider,
            ":model": session.model,
            ":thinking": word("session", &session.thinking)?,
            ":mode": ground.mode,
            ":folders": ground.folders,
            ":code": ground.code(seal, session.id.as_str())?,
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
    let gone = "deleted_at < ?1 AND id NOT IN
        (SELECT session FROM call WHERE status IN ('pending', 'waiting', 'running'))";
    let messages = format!("SELECT row FROM message WHERE session IN (SELECT id FROM session WHERE {gone})");
    transaction.execute(&format!("DELETE FROM message_text WHERE rowid IN ({messages})"), [before.0])?;
    let titles = format!("SELECT row FROM session WHERE {gone}");
    transaction.execute(&format!("DELETE FROM title_text WHERE rowid IN ({titles})"), [before.0])?;
    Ok(transaction.execute(&format!("DELETE FROM session WHERE {gone}"), [before.0])?)
}

fn shrink(connection: &Connection) -> Result<(), StoreError> {
    let count = |name| super::connection::header(connection, name);
    let (free, all) = (count("freelist_count")?, count("page_count")?);
    if free >= VACUUM_FREE_PAGES && free * 100 >= all * VACUUM_FREE_PERCENT {
        connection.execute_batch("VACUUM")?;
    }
    // The log still has what was removed.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

fn found(changed: usize, id: &SessionId) -> Result<(), StoreError> {
    if changed == 0 { Err(StoreError::Missing { what: "session", id: id.to_string() }) } else { Ok(()) }
}

fn read(row: &Row<'_>, seal: &SealKey) -> Result<Session, StoreError> {
    let id: String = row.get(0)?;
    let ground = Ground { mode: row.get(5)?, folders: row.get(6)?, is_local_only: row.get(13)? };
    let ground = if ground.is_sealed(seal, &id, &row.get::<_, String>(14)?) { ground } else { Ground::strictest() };
    Ok(Session {
        id: SessionId(id),
        title: row.get(1)?,
        provider: row.get(2)?,
        model: row.get(3)?,
        thinking: variant("session", &row.get::<_, String>(4)?)?,
        // A mode that this program does not know (of a newer one, or written by hand) asks before everything.
        mode: variant("session", &ground.mode).unwrap_or(ConfirmMode::EveryCall),
        folders: parse("session", &ground.folders)?,
        system_prompt: row.get(7)?,
        pinned: row.get(8)?,
        head: row.get::<_, Option<String>>(9)?.map(MessageId),
        draft: row.get(10)?,
        created_at: UnixMs(row.get(11)?),
        updated_at: UnixMs(row.get(12)?),
        is_local_only: ground.is_local_only,
    })
}

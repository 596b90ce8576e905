//! The ledger of tool calls: a row is committed before the effect it stands for, and no row begins twice.

use rusqlite::{Connection, Row, ToSql, Transaction, named_params, params};

use crate::ir::{AuditEntry, CallId, CallRecord, CallStatus, MessageId, SessionId, UnixMs};

use super::row::{json, json_option, parse, parse_option, variant, word};
use super::{Store, StoreError, audit};

const COLUMNS: &str = "session, message, status, call, args_hash, target, verdict, decider, reason, preview, result, \
                       created_at, started_at, finished_at, grounds";

impl Store {
    /// Keeps a new row. Committed before it returns, power cut or not.
    ///
    /// # Errors
    /// `Conflict` when the session has a call of that id: it is not run again.
    pub async fn insert_call(&self, record: &CallRecord) -> Result<(), StoreError> {
        let record = record.clone();
        self.guard(move |transaction| insert(transaction, &record)).await
    }

    /// The same with a line of the audit: both or none.
    ///
    /// # Errors
    /// As `insert_call`.
    pub async fn insert_call_audited(&self, record: &CallRecord, entry: AuditEntry) -> Result<(), StoreError> {
        let (record, seal) = (record.clone(), self.seal());
        self.guard(move |transaction| {
            insert(transaction, &record)?;
            audit::append(transaction, &seal, &entry)
        })
        .await
    }

    /// Keeps how a call stands now. Committed before it returns, power cut or not.
    ///
    /// # Errors
    /// `Missing` for an unknown call; `Conflict` when it is to begin and has begun or ended before.
    pub async fn update_call(&self, record: &CallRecord) -> Result<(), StoreError> {
        let record = record.clone();
        self.guard(move |transaction| update(transaction, &record)).await
    }

    /// The same with a line of the audit: both or none.
    ///
    /// # Errors
    /// As `update_call`.
    pub async fn update_call_audited(&self, record: &CallRecord, entry: AuditEntry) -> Result<(), StoreError> {
        let (record, seal) = (record.clone(), self.seal());
        self.guard(move |transaction| {
            update(transaction, &record)?;
            audit::append(transaction, &seal, &entry)
        })
        .await
    }

    /// The calls of these messages, in the order in which they were made.
    pub async fn calls_for_messages(&self, messages: Vec<MessageId>) -> Result<Vec<CallRecord>, StoreError> {
        self.look(move |transaction| {
            let ids = json("message list", &messages)?;
            list(transaction, "message IN (SELECT value FROM json_each(?1)) ORDER BY row", &[&ids])
        })
        .await
    }

    /// The last `limit` calls of a session, newest first.
    pub async fn recent_calls(&self, session: &SessionId, limit: usize) -> Result<Vec<CallRecord>, StoreError> {
        let session = session.clone();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.look(move |transaction| {
            list(transaction, "session = ?1 ORDER BY row DESC LIMIT ?2", &[&session.as_str(), &limit])
        })
        .await
    }
}

/// All calls of a session, in the order in which they were made.
pub(super) fn all(connection: &Connection, session: &SessionId) -> Result<Vec<CallRecord>, StoreError> {
    list(connection, "session = ?1 ORDER BY row", &[&session.as_str()])
}

/// The calls that have not ended.
pub(super) fn unfinished(connection: &Connection) -> Result<Vec<CallRecord>, StoreError> {
    list(connection, "status IN ('pending', 'waiting', 'running') ORDER BY row", &[])
}

/// Has every call be somebody else's word: what became of it is not known here.
pub(super) fn mark_imported(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    transaction.execute(
        "UPDATE call SET grounds = CASE WHEN json_type(CASE WHEN json_valid(grounds) THEN grounds END) = 'object'
            THEN json_set(grounds, '$.isImported', json('true')) ELSE json_object('isImported', json('true')) END",
        [],
    )?;
    Ok(())
}

/// Keeps a new row.
pub(super) fn insert(transaction: &Transaction<'_>, record: &CallRecord) -> Result<(), StoreError> {
    let inserted = transaction.execute(
        &format!(
            "INSERT INTO call (id, {COLUMNS}) VALUES (:id, :session, :message, :status, :call, :args_hash, :target,
                :verdict, :decider, :reason, :preview, :result, :created_at, :started_at, :finished_at, :grounds)
                ON CONFLICT (session, id) DO NOTHING"
        ),
        named_params! {
            ":id": record.id().as_str(),
            ":session": record.session.as_str(),
            ":message": record.message.as_ref().map(MessageId::as_str),
            ":status": word("call", &record.status)?,
            ":call": json("call", &record.call)?,
            ":args_hash": record.args_hash,
            ":target": record.target,
            ":verdict": record.verdict.map(|verdict| word("call", &verdict)).transpose()?,
            ":decider": record.decider.map(|decider| word("call", &decider)).transpose()?,
            ":reason": record.reason,
            ":preview": json_option("call", record.preview.as_ref())?,
            ":result": json_option("call", record.result.as_ref())?,
            ":created_at": record.created_at.0,
            ":started_at": record.started_at.map(|time| time.0),
            ":finished_at": record.finished_at.map(|time| time.0),
            ":grounds": json("call", &record.grounds)?,
        },
    )?;
    if inserted == 0 { Err(conflict(record.id())) } else { Ok(()) }
}

/// Keeps how a call stands now. Only a call that was never begun may begin.
pub(super) fn update(transaction: &Transaction<'_>, record: &CallRecord) -> Result<(), StoreError> {
    let begins = record.status == CallStatus::Running;
    let changed = transaction.execute(
        "UPDATE call SET message = :message, status = :status, call = :call, args_hash = :args_hash, target = :target,
            verdict = :verdict, decider = :decider, reason = :reason, preview = :preview, result = :result,
            created_at = :created_at, started_at = :started_at, finished_at = :finished_at, grounds = :grounds
         WHERE session = :session AND id = :id AND (NOT :begins OR status IN ('pending', 'waiting')
            OR (status = 'running' AND started_at IS :started_at))",
        named_params! {
            ":begins": begins,
            ":id": record.id().as_str(),
            ":session": record.session.as_str(),
            ":message": record.message.as_ref().map(MessageId::as_str),
            ":status": word("call", &record.status)?,
            ":call": json("call", &record.call)?,
            ":args_hash": record.args_hash,
            ":target": record.target,
            ":verdict": record.verdict.map(|verdict| word("call", &verdict)).transpose()?,
            ":decider": record.decider.map(|decider| word("call", &decider)).transpose()?,
            ":reason": record.reason,
            ":preview": json_option("call", record.preview.as_ref())?,
            ":result": json_option("call", record.result.as_ref())?,
            ":created_at": record.created_at.0,
            ":started_at": record.started_at.map(|time| time.0),
            ":finished_at": record.finished_at.map(|time| time.0),
            ":grounds": json("call", &record.grounds)?,
        },
    )?;
    if changed > 0 {
        return Ok(());
    }
    let is_known = transaction
        .prepare("SELECT 1 FROM call WHERE session = ?1 AND id = ?2")?
        .exists(params![record.session.as_str(), record.id().as_str()])?;
    if is_known {
        Err(conflict(record.id()))
    } else {
        Err(StoreError::Missing { what: "call", id: record.id().to_string() })
    }
}

fn conflict(id: &CallId) -> StoreError {
    StoreError::Conflict { what: "call", id: id.to_string() }
}

fn list(connection: &Connection, which: &str, values: &[&dyn ToSql]) -> Result<Vec<CallRecord>, StoreError> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM call WHERE {which}"))?;
    let mut rows = statement.query(values)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read(row)?);
    }
    Ok(records)
}

fn read(row: &Row<'_>) -> Result<CallRecord, StoreError> {
    let text = |index: usize| row.get::<_, Option<String>>(index);
    let time = |index: usize| row.get::<_, Option<i64>>(index).map(|time| time.map(UnixMs));
    Ok(CallRecord {
        session: SessionId(row.get(0)?),
        message: text(1)?.map(MessageId),
        status: variant("call", &row.get::<_, String>(2)?)?,
        call: parse("call", &row.get::<_, String>(3)?)?,
        args_hash: row.get(4)?,
        target: text(5)?,
        verdict: text(6)?.map(|verdict| variant("call", &verdict)).transpose()?,
        decider: text(7)?.map(|decider| variant("call", &decider)).transpose()?,
        grounds: parse_option("call", text(14)?.as_deref())?.unwrap_or_default(),
        reason: text(8)?,
        preview: parse_option("call", text(9)?.as_deref())?,
        result: parse_option("call", text(10)?.as_deref())?,
        created_at: UnixMs(row.get(11)?),
        started_at: time(12)?,
        finished_at: time(13)?,
    })
}

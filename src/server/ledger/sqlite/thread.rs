//! Threads and what is said in them.

use rusqlite::{Connection, Row, params};

use crate::ir::Message;
use crate::link::thread::{Prepared, ThreadRow};

use super::super::{LedgerError, NewTurn, Place, from_json, title_of, to_json};
use super::at;

pub(super) fn thread_row(row: &Row<'_>) -> rusqlite::Result<ThreadRow> {
    Ok(ThreadRow {
        thread_id: row.get("id")?,
        title: row.get("title")?,
        parent_thread_id: row.get("parent")?,
        created_at: at(row, "created_at")?,
        updated_at: at(row, "updated_at")?,
    })
}

/// Writes a message at the end of a thread.
pub(super) fn append(connection: &Connection, thread: &str, run: &str, message: &Message) -> Result<(), LedgerError> {
    connection
        .prepare_cached(
            "INSERT INTO message (thread, place, run, body) \
             SELECT ?1, coalesce(max(place), 0) + 1, ?2, ?3 FROM message WHERE thread = ?1",
        )?
        .execute(params![thread, run, to_json(message)?])?;
    for call in message.calls() {
        connection
            .prepare_cached("INSERT INTO model_call (thread, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
            .execute([thread, call.id.as_str()])?;
    }
    Ok(())
}

/// What was said in a thread with the run in which it was said, oldest first.
pub(super) fn messages(connection: &Connection, thread: &str) -> Result<Vec<(String, Message)>, LedgerError> {
    connection
        .prepare_cached("SELECT run, body FROM message WHERE thread = ?1 ORDER BY place")?
        .query_and_then([thread], |row| Ok((row.get(0)?, from_json(&row.get::<_, String>(1)?)?)))?
        .collect()
}

/// The thread that a turn belongs to, made if it is new.
fn thread_of(connection: &Connection, turn: &NewTurn) -> Result<String, LedgerError> {
    let is_own = |thread: &str| {
        connection
            .prepare_cached("SELECT 1 FROM thread WHERE id = ?1 AND owner = ?2")?
            .exists([thread, turn.user.as_str()])
    };
    if let Some(thread) = &turn.thread
        && !is_own(thread)?
    {
        return Err(LedgerError::NotFound);
    }
    let branch = match turn.place()? {
        Place::Known(thread) => return Ok(thread.to_owned()),
        Place::New => None,
        Place::Branch { parent, before } => Some((parent, before)),
    };
    let is_new = connection
        .prepare_cached(
            "INSERT INTO thread (id, owner, title, parent, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5) \
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![turn.new_thread_id, turn.user, title_of(&turn.input.content), turn.thread, turn.now.0])?;
    if is_new == 0 {
        return Err(LedgerError::NotFound);
    }
    if let Some((parent, before)) = branch {
        copy_before(connection, parent, before, &turn.new_thread_id)?;
    }
    Ok(turn.new_thread_id.clone())
}

/// Copies what stands before a turn of one thread into another.
fn copy_before(connection: &Connection, from: &str, turn: &str, to: &str) -> Result<(), LedgerError> {
    let first: Option<i64> = connection
        .prepare_cached(
            "SELECT min(message.place) FROM run JOIN message ON message.run = run.id AND message.thread = run.thread \
             WHERE run.turn = ?1 AND run.thread = ?2",
        )?
        .query_row([turn, from], |row| row.get(0))?;
    let first = first.ok_or(LedgerError::NotFound)?;
    connection
        .prepare_cached(
            "INSERT INTO message (thread, place, run, body) \
             SELECT ?1, place, run, body FROM message WHERE thread = ?2 AND place < ?3",
        )?
        .execute(params![to, from, first])?;
    connection
        .prepare_cached("INSERT INTO model_call (thread, id) SELECT ?1, id FROM model_call WHERE thread = ?2")?
        .execute([to, from])?;
    Ok(())
}

pub(super) fn prepare(connection: &Connection, turn: &NewTurn) -> Result<Prepared, LedgerError> {
    let thread_id = thread_of(connection, turn)?;
    let is_new = connection
        .prepare_cached(
            "INSERT INTO run (id, turn, thread, place, owner, device, status, created_at) \
             SELECT ?1, ?2, ?3, coalesce(max(place), 0) + 1, ?4, ?5, 'prepared', ?6 FROM run WHERE thread = ?3 \
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![turn.run_id, turn.turn_id, thread_id, turn.user, turn.device_id, turn.now.0])?;
    if is_new == 0 {
        return Err(LedgerError::NotFound);
    }
    append(connection, &thread_id, &turn.run_id, &turn.input)?;
    connection
        .prepare_cached("UPDATE thread SET updated_at = ?2 WHERE id = ?1")?
        .execute(params![thread_id, turn.now.0])?;
    Ok(Prepared { thread_id, turn_id: turn.turn_id.clone(), run_id: turn.run_id.clone() })
}

//! Threads and what is said in them.

use rusqlite::{Connection, Row, params};

use crate::ir::{Message, UnixMs};
use crate::link::thread::{Prepared, ThreadRow};

use super::super::{Deletion, LedgerError, NewTurn, Place, from_json, title_of, to_json};
use super::at;
use super::call::OF_THREAD;

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
pub(super) fn append(
    connection: &Connection,
    user: &str,
    thread: &str,
    run: &str,
    message: &Message,
) -> Result<(), LedgerError> {
    connection
        .prepare_cached(
            "INSERT INTO message (owner, thread, place, run, body) \
             SELECT ?1, ?2, coalesce(max(place), 0) + 1, ?3, ?4 FROM message WHERE owner = ?1 AND thread = ?2",
        )?
        .execute(params![user, thread, run, to_json(message)?])?;
    for call in message.calls() {
        connection
            .prepare_cached("INSERT INTO model_call (owner, thread, id) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
            .execute([user, thread, call.id.as_str()])?;
    }
    Ok(())
}

/// What was said in a thread with the run in which it was said, oldest first.
pub(super) fn messages(
    connection: &Connection,
    user: &str,
    thread: &str,
) -> Result<Vec<(String, Message)>, LedgerError> {
    connection
        .prepare_cached("SELECT run, body FROM message WHERE owner = ?1 AND thread = ?2 ORDER BY place")?
        .query_and_then([user, thread], |row| Ok((row.get(0)?, from_json(&row.get::<_, String>(1)?)?)))?
        .collect()
}

/// What a run that begins answers: what was said before, and then its own words, however long ago they were prepared. What
/// other prepared runs would say has not been said yet.
pub(super) fn history(
    connection: &Connection,
    user: &str,
    thread: &str,
    run: &str,
) -> Result<Vec<Message>, LedgerError> {
    connection
        .prepare_cached(
            "UPDATE message SET place = (SELECT max(place) + 1 FROM message WHERE owner = ?1 AND thread = ?2) \
             WHERE owner = ?1 AND thread = ?2 AND run = ?3",
        )?
        .execute([user, thread, run])?;
    connection
        .prepare_cached(
            "SELECT body FROM message WHERE owner = ?1 AND thread = ?2 AND NOT EXISTS (SELECT 1 FROM run \
             WHERE run.owner = ?1 AND run.id = message.run AND run.status = 'prepared') ORDER BY place",
        )?
        .query_and_then([user, thread], |row| from_json(&row.get::<_, String>(0)?))?
        .collect()
}

/// Whether a thread of this user is there.
fn is_there(connection: &Connection, user: &str, thread: &str) -> Result<bool, LedgerError> {
    Ok(connection.prepare_cached("SELECT 1 FROM thread WHERE owner = ?1 AND id = ?2")?.exists([user, thread])?)
}

/// Makes a thread.
fn make(connection: &Connection, turn: &NewTurn, thread: &str, parent: Option<&str>) -> Result<(), LedgerError> {
    let made = connection
        .prepare_cached(
            "INSERT INTO thread (owner, id, title, parent, created_at, updated_at) SELECT ?1, ?2, ?3, ?4, ?5, ?5 \
             WHERE NOT EXISTS (SELECT 1 FROM deleted_thread WHERE owner = ?1 AND id = ?2) ON CONFLICT DO NOTHING",
        )?
        .execute(params![turn.user, thread, title_of(&turn.input.content), parent, turn.now.0])?;
    if made == 0 { Err(LedgerError::IdUsed) } else { Ok(()) }
}

/// The thread that a turn belongs to, made if it is new.
fn thread_of<'turn>(connection: &Connection, turn: &'turn NewTurn) -> Result<&'turn str, LedgerError> {
    match &turn.place {
        Place::Known(thread) => {
            if is_there(connection, &turn.user, thread)? {
                Ok(thread)
            } else {
                Err(LedgerError::NotFound)
            }
        }
        Place::Named(thread) => {
            if !is_there(connection, &turn.user, thread)? {
                make(connection, turn, thread, None)?;
            }
            Ok(thread)
        }
        Place::Branch { thread, parent, before_turn } => {
            if !is_there(connection, &turn.user, parent)? {
                return Err(LedgerError::NotFound);
            }
            make(connection, turn, thread, Some(parent))?;
            copy_before(connection, [&turn.user, parent, before_turn], thread)?;
            Ok(thread)
        }
    }
}

/// Copies what stands before a turn of one thread into another.
fn copy_before(connection: &Connection, [user, from, turn]: [&str; 3], to: &str) -> Result<(), LedgerError> {
    let first: Option<i64> = connection
        .prepare_cached(
            "SELECT min(message.place) FROM run JOIN message ON message.owner = run.owner \
             AND message.thread = run.thread AND message.run = run.id \
             WHERE run.turn = ?3 AND run.owner = ?1 AND run.thread = ?2",
        )?
        .query_row([user, from, turn], |row| row.get(0))?;
    let first = first.ok_or(LedgerError::NotFound)?;
    connection
        .prepare_cached(
            "INSERT INTO message (owner, thread, place, run, body) \
             SELECT owner, ?3, place, run, body FROM message WHERE owner = ?1 AND thread = ?2 AND place < ?4 \
             AND NOT EXISTS (SELECT 1 FROM run WHERE run.owner = ?1 AND run.id = message.run AND run.status = 'prepared')",
        )?
        .execute(params![user, from, to, first])?;
    connection
        .prepare_cached(
            "INSERT INTO model_call (owner, thread, id) \
             SELECT owner, ?3, id FROM model_call WHERE owner = ?1 AND thread = ?2",
        )?
        .execute([user, from, to])?;
    Ok(())
}

pub(super) fn prepare(connection: &Connection, turn: &NewTurn) -> Result<Prepared, LedgerError> {
    let thread_id = thread_of(connection, turn)?;
    let is_new = connection
        .prepare_cached(
            "INSERT INTO run (owner, id, turn, thread, place, device, status, created_at) \
             SELECT ?1, ?2, ?3, ?4, coalesce(max(place), 0) + 1, ?5, 'prepared', ?6 FROM run \
             WHERE owner = ?1 AND thread = ?4 ON CONFLICT DO NOTHING",
        )?
        .execute(params![turn.user, turn.run_id, turn.turn_id, thread_id, turn.device_id, turn.now.0])?;
    if is_new == 0 {
        return Err(LedgerError::IdUsed);
    }
    append(connection, &turn.user, thread_id, &turn.run_id, &turn.input)?;
    touch(connection, &turn.user, thread_id, turn.now)?;
    Ok(Prepared { thread_id: thread_id.to_owned(), turn_id: turn.turn_id.clone(), run_id: turn.run_id.clone() })
}

/// Whether another run of a thread is under way.
pub(super) fn is_answered(connection: &Connection, user: &str, thread: &str, run: &str) -> Result<bool, LedgerError> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM run WHERE owner = ?1 AND thread = ?2 AND id <> ?3 AND status = 'running'")?
        .exists([user, thread, run])?)
}

/// Something is said in a thread.
pub(super) fn touch(connection: &Connection, user: &str, thread: &str, now: UnixMs) -> Result<(), LedgerError> {
    connection
        .prepare_cached("UPDATE thread SET updated_at = ?3 WHERE owner = ?1 AND id = ?2")?
        .execute(params![user, thread, now.0])?;
    Ok(())
}

/// Deletes a thread in which nothing is under way, with its calls, and keeps its id.
pub(super) fn delete(connection: &Connection, user: &str, thread: &str) -> Result<Deletion, LedgerError> {
    let deleted = connection
        .prepare_cached(
            "DELETE FROM thread WHERE owner = ?1 AND id = ?2 AND NOT EXISTS \
             (SELECT 1 FROM run WHERE owner = ?1 AND thread = ?2 AND status = 'running')",
        )?
        .execute([user, thread])?;
    if deleted == 0 {
        let is_there = is_there(connection, user, thread)?;
        return Ok(if is_there { Deletion::UnderWay } else { Deletion::NotFound });
    }
    connection.prepare_cached(&format!("DELETE FROM tool_call WHERE {OF_THREAD}"))?.execute([user, thread])?;
    connection.prepare_cached("INSERT INTO deleted_thread (owner, id) VALUES (?1, ?2)")?.execute([user, thread])?;
    Ok(Deletion::Done)
}

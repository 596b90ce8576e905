//! Threads and what is said in them.

use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use crate::ir::Message;
use crate::link::thread::ThreadRow;

use super::super::{LedgerError, NewTurn, Place, from_json, title_of, to_json};
use super::at;

pub(super) fn thread_row(row: &Row) -> Result<ThreadRow, LedgerError> {
    Ok(ThreadRow {
        thread_id: row.try_get("id")?,
        title: row.try_get("title")?,
        parent_thread_id: row.try_get("parent")?,
        created_at: at(row, "created_at")?,
        updated_at: at(row, "updated_at")?,
    })
}

/// Holds a thread's row; false when it is not this user's.
async fn lock_thread(transaction: &Transaction<'_>, thread: &str, user: &str) -> Result<bool, LedgerError> {
    let row = transaction
        .query_opt("SELECT 1 FROM thread WHERE id = $1 AND owner = $2 FOR UPDATE", &[&thread, &user])
        .await?;
    Ok(row.is_some())
}

/// Writes a message at the end of a thread whose row is held.
pub(super) async fn append(
    transaction: &Transaction<'_>,
    thread: &str,
    run: &str,
    message: &Message,
) -> Result<(), LedgerError> {
    transaction
        .execute(
            "INSERT INTO message (thread, place, run, body) \
             SELECT $1, coalesce(max(place), 0) + 1, $2, $3 FROM message WHERE thread = $1",
            &[&thread, &run, &to_json(message)?],
        )
        .await?;
    for call in message.calls() {
        transaction
            .execute(
                "INSERT INTO model_call (thread, id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                &[&thread, &call.id.as_str()],
            )
            .await?;
    }
    Ok(())
}

/// What was said in a thread with the run in which it was said, oldest first.
pub(super) async fn messages(
    transaction: &Transaction<'_>,
    thread: &str,
) -> Result<Vec<(String, Message)>, LedgerError> {
    let rows = transaction.query("SELECT run, body FROM message WHERE thread = $1 ORDER BY place", &[&thread]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, from_json(row.try_get(1)?)?))).collect()
}

/// The thread that a turn belongs to, held; made if it is new.
pub(super) async fn thread_of(transaction: &Transaction<'_>, turn: &NewTurn) -> Result<String, LedgerError> {
    if let Some(thread) = &turn.thread
        && !lock_thread(transaction, thread, &turn.user).await?
    {
        return Err(LedgerError::NotFound);
    }
    let branch = match turn.place()? {
        Place::Known(thread) => return Ok(thread.to_owned()),
        Place::New => None,
        Place::Branch { parent, before } => Some((parent, before)),
    };
    let is_new = transaction
        .execute(
            "INSERT INTO thread (id, owner, title, parent, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5) \
             ON CONFLICT DO NOTHING",
            &[&turn.new_thread_id, &turn.user, &title_of(&turn.input.content), &turn.thread, &turn.now.0],
        )
        .await?;
    if is_new == 0 {
        return Err(LedgerError::NotFound);
    }
    if let Some((parent, before)) = branch {
        copy_before(transaction, parent, before, &turn.new_thread_id).await?;
    }
    Ok(turn.new_thread_id.clone())
}

/// Copies what stands before a turn of one thread into another.
async fn copy_before(transaction: &Transaction<'_>, from: &str, turn: &str, to: &str) -> Result<(), LedgerError> {
    let first: Option<i64> = transaction
        .query_one(
            "SELECT min(message.place) FROM run JOIN message ON message.run = run.id AND message.thread = run.thread \
             WHERE run.turn = $1 AND run.thread = $2",
            &[&turn, &from],
        )
        .await?
        .try_get(0)?;
    let first = first.ok_or(LedgerError::NotFound)?;
    transaction
        .execute(
            "INSERT INTO message (thread, place, run, body) \
             SELECT $1, place, run, body FROM message WHERE thread = $2 AND place < $3",
            &[&to, &from, &first],
        )
        .await?;
    transaction
        .execute("INSERT INTO model_call (thread, id) SELECT $1, id FROM model_call WHERE thread = $2", &[&to, &from])
        .await?;
    Ok(())
}

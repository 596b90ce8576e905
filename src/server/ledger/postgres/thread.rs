//! Threads and what is said in them.

use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use crate::ir::{Message, UnixMs};
use crate::link::thread::ThreadRow;

use super::super::{Deletion, LedgerError, NewTurn, Place, from_json, title_of, to_json};
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

/// Holds a thread's row; false when this user has none of that id.
pub(super) async fn hold(transaction: &Transaction<'_>, user: &str, thread: &str) -> Result<bool, LedgerError> {
    let row = transaction
        .query_opt("SELECT 1 FROM thread WHERE owner = $1 AND id = $2 FOR UPDATE", &[&user, &thread])
        .await?;
    Ok(row.is_some())
}

/// Writes a message at the end of a thread whose row is held.
pub(super) async fn append(
    transaction: &Transaction<'_>,
    user: &str,
    thread: &str,
    run: &str,
    message: &Message,
) -> Result<(), LedgerError> {
    transaction
        .execute(
            "INSERT INTO message (owner, thread, place, run, body) \
             SELECT $1, $2, coalesce(max(place), 0) + 1, $3, $4 FROM message WHERE owner = $1 AND thread = $2",
            &[&user, &thread, &run, &to_json(message)?],
        )
        .await?;
    for call in message.calls() {
        transaction
            .execute(
                "INSERT INTO model_call (owner, thread, id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                &[&user, &thread, &call.id.as_str()],
            )
            .await?;
    }
    Ok(())
}

/// What was said in a thread with the run in which it was said, oldest first.
pub(super) async fn messages(
    transaction: &Transaction<'_>,
    user: &str,
    thread: &str,
) -> Result<Vec<(String, Message)>, LedgerError> {
    let rows = transaction
        .query("SELECT run, body FROM message WHERE owner = $1 AND thread = $2 ORDER BY place", &[&user, &thread])
        .await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, from_json(row.try_get(1)?)?))).collect()
}

/// What a run that begins answers: what was said before, and then its own words, however long ago they were prepared. What
/// other prepared runs would say has not been said yet. The thread is held.
pub(super) async fn history(
    transaction: &Transaction<'_>,
    user: &str,
    thread: &str,
    run: &str,
) -> Result<Vec<Message>, LedgerError> {
    transaction
        .execute(
            "UPDATE message SET place = (SELECT max(place) + 1 FROM message WHERE owner = $1 AND thread = $2) \
             WHERE owner = $1 AND thread = $2 AND run = $3",
            &[&user, &thread, &run],
        )
        .await?;
    let rows = transaction
        .query(
            "SELECT body FROM message WHERE owner = $1 AND thread = $2 AND NOT EXISTS (SELECT 1 FROM run \
             WHERE run.owner = $1 AND run.id = message.run AND run.status = 'prepared') ORDER BY place",
            &[&user, &thread],
        )
        .await?;
    rows.iter().map(|row| from_json(row.try_get(0)?)).collect()
}

/// Makes a thread, and holds it.
async fn make(
    transaction: &Transaction<'_>,
    turn: &NewTurn,
    thread: &str,
    parent: Option<&str>,
) -> Result<(), LedgerError> {
    let made = transaction
        .execute(
            "INSERT INTO thread (owner, id, title, parent, created_at, updated_at) \
             SELECT $1::text, $2::text, $3::text, $4::text, $5::bigint, $5::bigint \
             WHERE NOT EXISTS (SELECT 1 FROM deleted_thread WHERE owner = $1 AND id = $2) ON CONFLICT DO NOTHING",
            &[&turn.user, &thread, &title_of(&turn.input.content), &parent, &turn.now.0],
        )
        .await?;
    if made == 0 { Err(LedgerError::IdUsed) } else { Ok(()) }
}

/// The thread that a turn belongs to, held; made if it is new.
pub(super) async fn thread_of<'turn>(
    transaction: &Transaction<'_>,
    turn: &'turn NewTurn,
) -> Result<&'turn str, LedgerError> {
    match &turn.place {
        Place::Known(thread) => {
            if hold(transaction, &turn.user, thread).await? {
                Ok(thread)
            } else {
                Err(LedgerError::NotFound)
            }
        }
        Place::Named(thread) => {
            if !hold(transaction, &turn.user, thread).await? {
                // Another process may be making it: then that one was first, and it is there now.
                match make(transaction, turn, thread, None).await {
                    Err(LedgerError::IdUsed) if hold(transaction, &turn.user, thread).await? => {}
                    made => made?,
                }
            }
            Ok(thread)
        }
        Place::Branch { thread, parent, before_turn } => {
            if !hold(transaction, &turn.user, parent).await? {
                return Err(LedgerError::NotFound);
            }
            make(transaction, turn, thread, Some(parent)).await?;
            copy_before(transaction, [&turn.user, parent, before_turn], thread).await?;
            Ok(thread)
        }
    }
}

/// Copies what stands before a turn of one thread into another.
async fn copy_before(
    transaction: &Transaction<'_>,
    [user, from, turn]: [&str; 3],
    to: &str,
) -> Result<(), LedgerError> {
    let first: Option<i64> = transaction
        .query_one(
            "SELECT min(message.place) FROM run JOIN message ON message.owner = run.owner \
             AND message.thread = run.thread AND message.run = run.id \
             WHERE run.turn = $3 AND run.owner = $1 AND run.thread = $2",
            &[&user, &from, &turn],
        )
        .await?
        .try_get(0)?;
    let first = first.ok_or(LedgerError::NotFound)?;
    transaction
        .execute(
            "INSERT INTO message (owner, thread, place, run, body) \
             SELECT owner, $3::text, place, run, body FROM message WHERE owner = $1 AND thread = $2 AND place < $4 \
             AND NOT EXISTS (SELECT 1 FROM run WHERE run.owner = $1 AND run.id = message.run AND run.status = 'prepared')",
            &[&user, &from, &to, &first],
        )
        .await?;
    transaction
        .execute(
            "INSERT INTO model_call (owner, thread, id) \
             SELECT owner, $3::text, id FROM model_call WHERE owner = $1 AND thread = $2",
            &[&user, &from, &to],
        )
        .await?;
    Ok(())
}

/// Whether another run of a thread, whose row is held, is under way.
pub(super) async fn is_answered(
    transaction: &Transaction<'_>,
    user: &str,
    thread: &str,
    run: &str,
) -> Result<bool, LedgerError> {
    let found = transaction
        .query_opt(
            "SELECT 1 FROM run WHERE owner = $1 AND thread = $2 AND id <> $3 AND status = 'running' LIMIT 1",
            &[&user, &thread, &run],
        )
        .await?;
    Ok(found.is_some())
}

/// Something is said in a thread.
pub(super) async fn touch(
    transaction: &Transaction<'_>,
    user: &str,
    thread: &str,
    now: UnixMs,
) -> Result<(), LedgerError> {
    transaction
        .execute("UPDATE thread SET updated_at = $3 WHERE owner = $1 AND id = $2", &[&user, &thread, &now.0])
        .await?;
    Ok(())
}

/// Deletes a thread in which nothing is under way, with its calls, and keeps its id.
pub(super) async fn delete(transaction: &Transaction<'_>, user: &str, thread: &str) -> Result<Deletion, LedgerError> {
    // Held first: what begins meanwhile is seen.
    if !hold(transaction, user, thread).await? {
        return Ok(Deletion::NotFound);
    }
    let deleted = transaction
        .execute(
            "DELETE FROM thread WHERE owner = $1 AND id = $2 AND NOT EXISTS \
             (SELECT 1 FROM run WHERE owner = $1 AND thread = $2 AND status = 'running')",
            &[&user, &thread],
        )
        .await?;
    if deleted == 0 {
        return Ok(Deletion::UnderWay);
    }
    transaction.execute("DELETE FROM tool_call WHERE owner = $1 AND thread = $2", &[&user, &thread]).await?;
    transaction.execute("INSERT INTO deleted_thread (owner, id) VALUES ($1, $2)", &[&user, &thread]).await?;
    Ok(Deletion::Done)
}

//! Calls and their dispatches.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::ir::UnixMs;
use crate::link::thread::{CallStatus, CallView, ExecutionView};
use crate::link::wire::CallError;

use super::super::{
    Beat, Begun, Dispatch, Ended, FINAL, GivenUp, Known, LedgerError, NewAttempt, NewResult, Recorded, call_status,
    from_json, judge, thread_of_call, to_json,
};
use super::{at, at_if_any};

/// The calls of a user's conversation: their ids are its own, a colon and more. A semicolon comes after the colon.
pub(super) const OF_THREAD: &str = "owner = ?1 AND id > ?2 || ':' AND id < ?2 || ';' AND thread = ?2";

fn ended(row: &Row<'_>) -> Result<Ended, LedgerError> {
    let output: Option<String> = row.get("output")?;
    let code: Option<String> = row.get("error_code")?;
    let message: Option<String> = row.get("error_message")?;
    Ok(Ended {
        status: call_status(&row.get::<_, String>("status")?)?,
        output: output.as_deref().map(from_json).transpose()?,
        error: code.map(|code| CallError { code, message: message.unwrap_or_default() }),
    })
}

pub(super) fn call_view(connection: &Connection, row: &Row<'_>) -> Result<CallView, LedgerError> {
    let tool_call_id: String = row.get("id")?;
    let Ended { status, output, error } = ended(row)?;
    let mut statement = connection.prepare_cached(
        "SELECT attempt_no, status, connection, started_at, ended_at FROM tool_execution \
         WHERE call = ?1 ORDER BY attempt_no",
    )?;
    let executions = statement
        .query_and_then([row.get::<_, i64>("number")?], |row| {
            Ok(ExecutionView {
                attempt_no: row.get("attempt_no")?,
                status: call_status(&row.get::<_, String>("status")?)?,
                connection_id: row.get("connection")?,
                started_at: at(row, "started_at")?,
                ended_at: at_if_any(row, "ended_at")?,
            })
        })?
        .collect::<Result<_, LedgerError>>()?;
    Ok(CallView {
        tool_call_id,
        status,
        tool_name: row.get("tool")?,
        arguments: from_json(&row.get::<_, String>("arguments")?)?,
        output,
        error,
        executions,
    })
}

pub(super) fn attempt(connection: &Connection, new: &NewAttempt) -> Result<Begun, LedgerError> {
    // Written before anything is asked: nearly every call is new.
    let is_new = connection
        .prepare_cached(
            "INSERT INTO tool_call (owner, id, device, thread, run, tool, arguments, arguments_hash, status, \
             created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'dispatched', ?9, ?9) \
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            new.user,
            new.tool_call_id,
            new.device_id,
            new.thread_id,
            new.run_id,
            new.tool_name,
            to_json(&new.arguments)?,
            new.arguments_hash,
            new.now.0
        ])?
        > 0;
    let (number, known) = if is_new {
        (connection.last_insert_rowid(), None)
    } else {
        let (number, known) = known(connection, new)?;
        (number, Some(known))
    };
    let begun = judge(new, known);
    let Begun::Dispatch { attempt_no } = begun else { return Ok(begun) };
    if !is_new {
        connection
            .prepare_cached("UPDATE tool_call SET status = 'dispatched', updated_at = ?2 WHERE number = ?1")?
            .execute([number, new.now.0])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO tool_execution (call, attempt_no, id, status, connection, replica, started_at) \
             VALUES (?1, ?2, ?3, 'dispatched', ?4, ?5, ?6)",
        )?
        .execute(params![number, attempt_no, new.execution_id, new.connection_id, new.replica, new.now.0])?;
    Ok(begun)
}

/// The number of a call that is there, and what is known of it.
fn known(connection: &Connection, new: &NewAttempt) -> Result<(i64, Known), LedgerError> {
    connection
        .prepare_cached(
            "SELECT *, (SELECT count(*) FROM tool_execution WHERE call = number) AS attempts \
             FROM tool_call WHERE owner = ?1 AND id = ?2",
        )?
        .query_one([&new.user, &new.tool_call_id], |row| {
            Ok(ended(row).and_then(|ended| {
                let known = Known {
                    arguments_hash: row.get("arguments_hash")?,
                    device_id: row.get("device")?,
                    ended,
                    attempts: row.get("attempts")?,
                };
                Ok((row.get("number")?, known))
            }))
        })?
}

pub(super) fn record(connection: &Connection, result: &NewResult) -> Result<Recorded, LedgerError> {
    let sent = connection
        .prepare_cached(
            "SELECT tool_call.number, tool_call.status FROM tool_call \
             JOIN tool_execution AS sent ON sent.call = tool_call.number \
             WHERE tool_call.owner = ?1 AND tool_call.id = ?2 AND tool_call.device = ?3 AND sent.id = ?4",
        )?
        .query_row([&result.user, &result.tool_call_id, &result.device_id, &result.execution_id], |row| {
            Ok((row.get(0)?, call_status(row.get_ref(1)?.as_str()?)))
        })
        .optional()?;
    let Some((number, status)): Option<(i64, _)> = sent else { return never_sent(connection, result) };
    if status?.is_final() {
        return Ok(Recorded::AlreadyFinal);
    }
    let Ended { status, output, error } = &*result.ended;
    connection
        .prepare_cached(
            "UPDATE tool_call SET status = ?2, output = ?3, error_code = ?4, error_message = ?5, updated_at = ?6 \
             WHERE number = ?1",
        )?
        .execute(params![
            number,
            status.as_str(),
            output.as_ref().map(to_json).transpose()?,
            error.as_ref().map(|error| error.code.as_str()),
            error.as_ref().map(|error| error.message.as_str()),
            result.now.0
        ])?;
    connection
        .prepare_cached(
            "UPDATE tool_execution SET status = ?3, ended_at = ?4 WHERE call = ?1 AND (id = ?2 OR status = 'dispatched')",
        )?
        .execute(params![number, result.execution_id, status.as_str(), result.now.0])?;
    Ok(Recorded::Written)
}

/// Why there is no call that a result is of.
fn never_sent(connection: &Connection, result: &NewResult) -> Result<Recorded, LedgerError> {
    let is_deleted = connection
        .prepare_cached("SELECT 1 FROM deleted_thread WHERE owner = ?1 AND id = ?2")?
        .exists([result.user.as_str(), thread_of_call(&result.tool_call_id)])?;
    Ok(if is_deleted { Recorded::Deleted } else { Recorded::NotKnown })
}

/// Gives a dispatch up, and its call with the last of them.
pub(super) fn give_up(
    connection: &Connection,
    [user, call, execution]: [&str; 3],
    status: CallStatus,
    code: &str,
    now: UnixMs,
) -> Result<GivenUp, LedgerError> {
    let was_out = connection
        .prepare_cached(
            "UPDATE tool_execution SET status = ?4, ended_at = ?5 \
             WHERE call = (SELECT number FROM tool_call WHERE owner = ?1 AND id = ?2) AND id = ?3 AND status = 'dispatched'",
        )?
        .execute(params![user, call, execution, status.as_str(), now.0])?;
    if was_out == 0 {
        return Ok(GivenUp::Neither);
    }
    let given_up = connection
        .prepare_cached(&format!(
            "UPDATE tool_call SET status = ?3, error_code = ?4, error_message = '', updated_at = ?5 \
             WHERE owner = ?1 AND id = ?2 AND status NOT IN {FINAL} AND NOT EXISTS \
             (SELECT 1 FROM tool_execution AS sent WHERE sent.call = tool_call.number AND sent.status = 'dispatched')"
        ))?
        .execute(params![user, call, status.as_str(), code, now.0])?;
    Ok(if given_up > 0 { GivenUp::Call } else { GivenUp::DispatchOnly })
}

/// Dispatches whose process is gone become `unknown`, and so do calls of which none is left; runs under way `interrupted`.
/// Gives how many calls.
pub(super) fn bury(connection: &Connection, now: UnixMs) -> Result<u64, LedgerError> {
    const DEAD: &str = "replica NOT IN (SELECT id FROM replica)";
    let calls = connection
        .prepare_cached(&format!(
            "UPDATE tool_call SET status = 'unknown', error_code = 'SERVER_RESTARTED', \
             error_message = 'The server ended before the result came.', updated_at = ?1 \
             WHERE status IN ('created', 'dispatched') AND number IN \
             (SELECT call FROM tool_execution WHERE status = 'dispatched' AND {DEAD}) AND NOT EXISTS \
             (SELECT 1 FROM tool_execution AS sent WHERE sent.call = tool_call.number \
             AND sent.status = 'dispatched' AND sent.replica IN (SELECT id FROM replica))"
        ))?
        .execute([now.0])?;
    connection
        .prepare_cached(&format!(
            "UPDATE tool_execution SET status = 'unknown', ended_at = ?1 WHERE status = 'dispatched' AND {DEAD}"
        ))?
        .execute([now.0])?;
    connection
        .prepare_cached(&format!(
            "UPDATE run SET status = 'interrupted', ended_at = ?1 WHERE status = 'running' AND {DEAD}"
        ))?
        .execute([now.0])?;
    Ok(u64::try_from(calls).unwrap_or(u64::MAX))
}

/// What a process learns when it says that it lives.
pub(super) fn beat(connection: &Connection, replica: &str, buried: u64) -> Result<Beat, LedgerError> {
    let others = connection
        .prepare_cached("SELECT id, seen_at FROM replica WHERE id <> ?1")?
        .query_map([replica], |row| Ok((row.get(0)?, at(row, "seen_at")?)))?
        .collect::<Result<_, _>>()?;
    let runs = connection
        .prepare_cached("SELECT owner, id FROM run WHERE replica = ?1 AND status = 'running'")?
        .query_map([replica], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let dispatches = connection
        .prepare_cached(
            "SELECT tool_call.owner, tool_call.id, sent.id FROM tool_execution AS sent \
             JOIN tool_call ON tool_call.number = sent.call WHERE sent.replica = ?1 AND sent.status = 'dispatched'",
        )?
        .query_map([replica], |row| {
            Ok(Dispatch { user: row.get(0)?, tool_call_id: row.get(1)?, execution_id: row.get(2)? })
        })?
        .collect::<Result<_, _>>()?;
    Ok(Beat { buried, others, runs, dispatches })
}

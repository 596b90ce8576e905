//! Calls and their dispatches.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::ir::UnixMs;
use crate::link::thread::{CallView, ExecutionView};
use crate::link::wire::CallError;

use super::super::{
    Begun, Ended, Known, LedgerError, NewAttempt, NewResult, Recorded, call_status, from_json, judge, to_json,
};
use super::{at, at_if_any};

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
        "SELECT attempt_no, status, connection, started_at, ended_at FROM tool_execution WHERE call = ?1 \
         ORDER BY attempt_no",
    )?;
    let executions = statement
        .query_and_then([&tool_call_id], |row| {
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
    let known = connection
        .prepare_cached(
            "SELECT *, (SELECT count(*) FROM tool_execution WHERE call = tool_call.id) AS attempts \
             FROM tool_call WHERE id = ?1",
        )?
        .query_and_then([&new.tool_call_id], |row| {
            Ok::<_, LedgerError>(Known {
                arguments_hash: row.get("arguments_hash")?,
                user: row.get("owner")?,
                device_id: row.get("device")?,
                ended: ended(row)?,
                attempts: row.get("attempts")?,
            })
        })?
        .next()
        .transpose()?;
    let is_new = known.is_none();
    let begun = judge(new, known);
    let Begun::Dispatch { attempt_no } = begun else { return Ok(begun) };
    if is_new {
        connection
            .prepare_cached(
                "INSERT INTO tool_call (id, owner, device, thread, run, tool, arguments, arguments_hash, status, \
                 replica, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'dispatched', ?9, ?10, ?10)",
            )?
            .execute(params![
                new.tool_call_id,
                new.user,
                new.device_id,
                new.thread_id,
                new.run_id,
                new.tool_name,
                to_json(&new.arguments)?,
                new.arguments_hash,
                new.replica,
                new.now.0
            ])?;
    } else {
        connection
            .prepare_cached("UPDATE tool_call SET status = 'dispatched', replica = ?2, updated_at = ?3 WHERE id = ?1")?
            .execute(params![new.tool_call_id, new.replica, new.now.0])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO tool_execution (id, call, attempt_no, status, connection, started_at) \
             VALUES (?1, ?2, ?3, 'dispatched', ?4, ?5)",
        )?
        .execute(params![new.execution_id, new.tool_call_id, attempt_no, new.connection_id, new.now.0])?;
    Ok(begun)
}

pub(super) fn record(connection: &Connection, result: &NewResult) -> Result<Recorded, LedgerError> {
    let status: Option<String> = connection
        .prepare_cached(
            "SELECT tool_call.status FROM tool_call JOIN tool_execution ON tool_execution.call = tool_call.id \
             WHERE tool_call.id = ?1 AND owner = ?2 AND device = ?3 AND tool_execution.id = ?4",
        )?
        .query_row([&result.tool_call_id, &result.user, &result.device_id, &result.execution_id], |row| row.get(0))
        .optional()?;
    let Some(status) = status else { return Ok(Recorded::NotKnown) };
    if call_status(&status)?.is_final() {
        return Ok(Recorded::AlreadyFinal);
    }
    let Ended { status, output, error } = &result.ended;
    connection
        .prepare_cached(
            "UPDATE tool_call SET status = ?2, output = ?3, error_code = ?4, error_message = ?5, updated_at = ?6 \
             WHERE id = ?1",
        )?
        .execute(params![
            result.tool_call_id,
            status.as_str(),
            output.as_ref().map(to_json).transpose()?,
            error.as_ref().map(|error| error.code.as_str()),
            error.as_ref().map(|error| error.message.as_str()),
            result.now.0
        ])?;
    connection
        .prepare_cached(
            "UPDATE tool_execution SET status = ?3, ended_at = ?4 \
             WHERE call = ?2 AND (id = ?1 OR status = 'dispatched')",
        )?
        .execute(params![result.execution_id, result.tool_call_id, status.as_str(), result.now.0])?;
    Ok(Recorded::Written)
}

/// Dispatches without a result become `unknown`, runs under way `interrupted`.
pub(super) fn bury(connection: &Connection, now: UnixMs, dead_before: UnixMs) -> Result<u64, LedgerError> {
    const DEAD: &str = "replica NOT IN (SELECT id FROM replica WHERE seen_at >= ?2)";
    connection
        .prepare_cached(&format!(
            "UPDATE tool_execution SET status = 'unknown', ended_at = ?1 WHERE status = 'dispatched' AND call IN \
             (SELECT id FROM tool_call WHERE status IN ('created', 'dispatched') AND {DEAD})"
        ))?
        .execute([now.0, dead_before.0])?;
    let calls = connection
        .prepare_cached(&format!(
            "UPDATE tool_call SET status = 'unknown', error_code = 'SERVER_RESTARTED', \
             error_message = 'The server ended before the result came.', updated_at = ?1 \
             WHERE status IN ('created', 'dispatched') AND {DEAD}"
        ))?
        .execute([now.0, dead_before.0])?;
    connection
        .prepare_cached(&format!(
            "UPDATE run SET status = 'interrupted', ended_at = ?1 WHERE status = 'running' AND {DEAD}"
        ))?
        .execute([now.0, dead_before.0])?;
    connection.prepare_cached("DELETE FROM replica WHERE seen_at < ?1")?.execute([dead_before.0])?;
    Ok(u64::try_from(calls).unwrap_or(u64::MAX))
}

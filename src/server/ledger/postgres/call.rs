//! Calls and their dispatches.

use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use crate::ir::UnixMs;
use crate::link::thread::{CallView, ExecutionView};
use crate::link::wire::CallError;

use super::super::{Beat, Dispatch, Ended, Known, LedgerError, broken, call_status, from_json};
use super::{at, at_if_any};

fn number(row: &Row, column: &str) -> Result<u32, LedgerError> {
    u32::try_from(row.try_get::<_, i64>(column)?).map_err(broken)
}

fn ended(row: &Row) -> Result<Ended, LedgerError> {
    let output: Option<&str> = row.try_get("output")?;
    let code: Option<String> = row.try_get("error_code")?;
    let message: Option<String> = row.try_get("error_message")?;
    Ok(Ended {
        status: call_status(row.try_get("status")?)?,
        output: output.map(from_json).transpose()?,
        error: code.map(|code| CallError { code, message: message.unwrap_or_default() }),
    })
}

pub(super) async fn call_view(transaction: &Transaction<'_>, row: &Row) -> Result<CallView, LedgerError> {
    let tool_call_id: String = row.try_get("id")?;
    let Ended { status, output, error } = ended(row)?;
    let statement = transaction
        .prepare_cached(
            "SELECT attempt_no, status, connection, started_at, ended_at FROM tool_execution \
             WHERE owner = $1 AND call = $2 ORDER BY attempt_no",
        )
        .await?;
    let executions = transaction.query(&statement, &[&row.try_get::<_, &str>("owner")?, &tool_call_id]).await?;
    let executions = executions.iter().map(|row| {
        Ok(ExecutionView {
            attempt_no: number(row, "attempt_no")?,
            status: call_status(row.try_get("status")?)?,
            connection_id: row.try_get("connection")?,
            started_at: at(row, "started_at")?,
            ended_at: at_if_any(row, "ended_at")?,
        })
    });
    Ok(CallView {
        tool_name: row.try_get("tool")?,
        arguments: from_json(row.try_get("arguments")?)?,
        executions: executions.collect::<Result<_, LedgerError>>()?,
        tool_call_id,
        status,
        output,
        error,
    })
}

/// What is known of a call, its row held.
pub(super) async fn known(transaction: &Transaction<'_>, user: &str, tool_call_id: &str) -> Result<Known, LedgerError> {
    let row = transaction
        .query_one(
            "SELECT *, (SELECT count(*) FROM tool_execution WHERE owner = $1 AND call = $2) AS attempts \
             FROM tool_call WHERE owner = $1 AND id = $2 FOR UPDATE",
            &[&user, &tool_call_id],
        )
        .await?;
    Ok(Known {
        arguments_hash: row.try_get("arguments_hash")?,
        device_id: row.try_get("device")?,
        ended: ended(&row)?,
        attempts: number(&row, "attempts")?,
    })
}

/// Dispatches whose process is gone become `unknown`, and so do calls of which none is left; runs under way `interrupted`.
/// Gives how many calls.
pub(super) async fn bury(transaction: &Transaction<'_>, now: UnixMs) -> Result<u64, LedgerError> {
    const DEAD: &str = "replica NOT IN (SELECT id FROM replica)";
    // The calls' rows first, as everywhere, and in one order: a result that comes now waits, or is waited for.
    let held = transaction
        .query(
            &format!(
                "SELECT owner, id FROM tool_call WHERE (owner, id) IN \
                 (SELECT owner, call FROM tool_execution WHERE status = 'dispatched' AND {DEAD}) \
                 ORDER BY owner, id FOR UPDATE"
            ),
            &[],
        )
        .await?;
    let mut calls = 0;
    if !held.is_empty() {
        let column =
            |place: usize| held.iter().map(|row| row.try_get::<_, String>(place)).collect::<Result<Vec<_>, _>>();
        let (owners, ids) = (column(0)?, column(1)?);
        transaction
            .execute(
                &format!(
                    "UPDATE tool_execution SET status = 'unknown', ended_at = $1 \
                     WHERE (owner, call) IN (SELECT * FROM unnest($2::text[], $3::text[])) \
                     AND status = 'dispatched' AND {DEAD}"
                ),
                &[&now.0, &owners, &ids],
            )
            .await?;
        calls = transaction
            .execute(
                "UPDATE tool_call SET status = 'unknown', error_code = 'SERVER_RESTARTED', \
                 error_message = 'The server ended before the result came.', updated_at = $1 \
                 WHERE (owner, id) IN (SELECT * FROM unnest($2::text[], $3::text[])) \
                 AND status IN ('created', 'dispatched') AND NOT EXISTS (SELECT 1 FROM tool_execution AS sent \
                 WHERE sent.owner = tool_call.owner AND sent.call = tool_call.id AND sent.status = 'dispatched')",
                &[&now.0, &owners, &ids],
            )
            .await?;
    }
    transaction
        .execute(
            &format!("UPDATE run SET status = 'interrupted', ended_at = $1 WHERE status = 'running' AND {DEAD}"),
            &[&now.0],
        )
        .await?;
    Ok(calls)
}

/// What a process learns when it says that it lives.
pub(super) async fn beat(transaction: &Transaction<'_>, replica: &str, buried: u64) -> Result<Beat, LedgerError> {
    let others = transaction.query("SELECT id, seen_at FROM replica WHERE id <> $1", &[&replica]).await?;
    let runs =
        transaction.query("SELECT owner, id FROM run WHERE replica = $1 AND status = 'running'", &[&replica]).await?;
    let dispatches = transaction
        .query("SELECT owner, call, id FROM tool_execution WHERE replica = $1 AND status = 'dispatched'", &[&replica])
        .await?;
    let dispatch = |row: &Row| {
        Ok(Dispatch { user: row.try_get(0)?, tool_call_id: row.try_get(1)?, execution_id: row.try_get(2)? })
    };
    Ok(Beat {
        buried,
        others: others
            .iter()
            .map(|row| Ok((row.try_get(0)?, at(row, "seen_at")?)))
            .collect::<Result<_, LedgerError>>()?,
        runs: runs.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, LedgerError>>()?,
        dispatches: dispatches.iter().map(dispatch).collect::<Result<_, LedgerError>>()?,
    })
}

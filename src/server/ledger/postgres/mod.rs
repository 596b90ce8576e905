//! The ledger in PostgreSQL, shared by any number of server processes. A thread's or a call's row is locked before what
//! hangs on it is decided, so that two processes never number or dispatch against each other.

mod call;
mod thread;
mod tls;

use std::collections::HashSet;
use std::str::FromStr as _;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls, Row};

use crate::ir::{Message, UnixMs};
use crate::link::thread::{CallStatus, CallView, Prepared, ThreadRow, ThreadView, TurnView};

use super::{
    Answer, Beat, Begun, Deletion, Ended, FINAL, GivenUp, Ledger, LedgerError, NewAttempt, NewResult, NewTurn,
    Recorded, RunEnd, RunStart, SCHEMA, TokenRow, broken, call_status, from_json, judge, kept_text, run_status,
    steps_from, thread_of_call, to_json, with_new_ids,
};
use call::{beat, bury, call_view, known};
use thread::{append, delete, history, hold, is_answered, messages, thread_of, thread_row, touch};

/// Connections that one process holds at most.
const POOL_CONNECTIONS: usize = 16;
/// How long a connection is waited for: one of the pool, or a new one.
const CONNECT_WAIT: Duration = Duration::from_secs(5);
/// The database gives a statement up after this, in milliseconds: it waits for a lock, or has too much to do.
const STATEMENT_MS: u32 = 8_000;
/// A change or a question that takes longer has failed: the database is there no more, and may not even say so.
const LONGEST: Duration = Duration::from_secs(10);
/// Held while the tables are made: "nod" in hexadecimal.
const MIGRATION_LOCK: i64 = 0x6E_6F64;

/// A pool of connections to one database.
pub(super) struct PostgresLedger {
    pool: Pool,
}

impl PostgresLedger {
    /// Connects, and makes the tables if they are not there.
    pub(super) async fn open(address: &str) -> Result<Self, LedgerError> {
        let mut config = Config::from_str(address)?;
        config.connect_timeout(CONNECT_WAIT).tcp_user_timeout(LONGEST);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        // Encrypted where the address says `sslmode=require`, and then to whom the certificate names alone.
        let manager = if config.get_ssl_mode() == SslMode::Require {
            Manager::from_config(config, tls::Tls::of_system()?, recycling)
        } else {
            Manager::from_config(config, NoTls, recycling)
        };
        let limit = Hook::async_fn(|client: &mut deadpool_postgres::ClientWrapper, _| {
            Box::pin(async move {
                let limited = client.batch_execute(&format!("SET statement_timeout = {STATEMENT_MS}")).await;
                limited.map_err(HookError::Backend)
            })
        });
        let waits = Timeouts { wait: Some(CONNECT_WAIT), create: Some(LONGEST), recycle: Some(CONNECT_WAIT) };
        let pool = Pool::builder(manager)
            .max_size(POOL_CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .timeouts(waits)
            .post_create(limit)
            .build()
            .map_err(broken)?;
        let ledger = Self { pool };
        ledger.migrate().await?;
        Ok(ledger)
    }

    async fn migrate(&self) -> Result<(), LedgerError> {
        let mut connection = self.connection().await?;
        let transaction = connection.transaction().await?;
        // It takes as long as it takes.
        transaction.batch_execute("SET LOCAL statement_timeout = 0").await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).await?;
        transaction.batch_execute("CREATE TABLE IF NOT EXISTS nod_format (format BIGINT NOT NULL)").await?;
        let found: Option<i64> =
            transaction.query_opt("SELECT format FROM nod_format", &[]).await?.map(|row| row.get(0));
        for step in steps_from(found.unwrap_or(0))? {
            transaction.batch_execute(step.postgres).await?;
        }
        let format = i64::try_from(SCHEMA.len()).map_err(broken)?;
        if found.is_none() {
            transaction.execute("INSERT INTO nod_format VALUES ($1)", &[&format]).await?;
        } else {
            transaction.execute("UPDATE nod_format SET format = $1", &[&format]).await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn connection(&self) -> Result<Object, LedgerError> {
        self.pool.get().await.map_err(broken)
    }
}

/// What the database has to do within the time that there is. What was given up may have been kept all the same.
fn within<'a, T>(work: impl Future<Output = Result<T, LedgerError>> + Send + 'a) -> Answer<'a, T> {
    Box::pin(async move {
        let slow = || LedgerError::Database { detail: format!("no answer within {} s", LONGEST.as_secs()) };
        tokio::time::timeout(LONGEST, work).await.unwrap_or_else(|_elapsed| Err(slow()))
    })
}

impl From<tokio_postgres::Error> for LedgerError {
    fn from(error: tokio_postgres::Error) -> Self {
        broken(error)
    }
}

fn at(row: &Row, column: &str) -> Result<UnixMs, LedgerError> {
    Ok(UnixMs(row.try_get(column)?))
}

fn at_if_any(row: &Row, column: &str) -> Result<Option<UnixMs>, LedgerError> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(UnixMs))
}

impl Ledger for PostgresLedger {
    fn add_token<'a>(&'a self, name: &'a str, hash: &'a str, now: UnixMs) -> Answer<'a, ()> {
        within(async move {
            let added = self
                .connection()
                .await?
                .execute(
                    "INSERT INTO user_token (name, hash, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                    &[&name, &hash, &now.0],
                )
                .await?;
            if added == 0 { Err(LedgerError::NameTaken { name: name.to_owned() }) } else { Ok(()) }
        })
    }

    fn tokens(&self) -> Answer<'_, Vec<TokenRow>> {
        within(async move {
            let rows = self
                .connection()
                .await?
                .query("SELECT name, created_at, revoked_at FROM user_token ORDER BY name, created_at", &[])
                .await?;
            rows.iter()
                .map(|row| {
                    Ok(TokenRow {
                        name: row.try_get("name")?,
                        created_at: at(row, "created_at")?,
                        revoked_at: at_if_any(row, "revoked_at")?,
                    })
                })
                .collect()
        })
    }

    fn revoke_token<'a>(&'a self, name: &'a str, now: UnixMs) -> Answer<'a, bool> {
        within(async move {
            let revoked = self
                .connection()
                .await?
                .execute(
                    "UPDATE user_token SET revoked_at = $2 WHERE name = $1 AND revoked_at IS NULL",
                    &[&name, &now.0],
                )
                .await?;
            Ok(revoked > 0)
        })
    }

    fn user_of_token<'a>(&'a self, hash: &'a str) -> Answer<'a, Option<String>> {
        within(async move {
            let row = self
                .connection()
                .await?
                .query_opt("SELECT name FROM user_token WHERE hash = $1 AND revoked_at IS NULL", &[&hash])
                .await?;
            Ok(row.map(|row| row.try_get(0)).transpose()?)
        })
    }

    fn revoked(&self, mut hashes: Vec<String>) -> Answer<'_, Vec<String>> {
        within(async move {
            let connection = self.connection().await?;
            let statement = connection
                .prepare_cached("SELECT hash FROM user_token WHERE hash = ANY($1) AND revoked_at IS NULL")
                .await?;
            let rows = connection.query(&statement, &[&hashes]).await?;
            let live = rows.iter().map(|row| row.try_get::<_, String>(0)).collect::<Result<HashSet<_>, _>>()?;
            hashes.retain(|hash| !live.contains(hash));
            Ok(hashes)
        })
    }

    fn use_ticket<'a>(&'a self, jti: &'a str, expires_at: UnixMs, now: UnixMs) -> Answer<'a, Option<i64>> {
        within(async move {
            let connection = self.connection().await?;
            connection.execute("DELETE FROM used_ticket WHERE expires_at < $1", &[&now.0]).await?;
            // The moment, unless another's was not before it: the order goes on when all that were used are forgotten.
            let used = connection
                .query_opt(
                    "INSERT INTO used_ticket (jti, expires_at, place) VALUES ($1, $2, \
                     greatest($3, coalesce((SELECT max(place) FROM used_ticket), 0) + 1)) \
                     ON CONFLICT DO NOTHING RETURNING place",
                    &[&jti, &expires_at.0, &now.0],
                )
                .await?;
            Ok(used.map(|row| row.try_get(0)).transpose()?)
        })
    }

    fn prepare_turn(&self, turn: NewTurn) -> Answer<'_, Prepared> {
        within(async move {
            let mut connection = self.connection().await?;
            let transaction = connection.transaction().await?;
            let thread_id = thread_of(&transaction, &turn).await?;
            let is_new = transaction
                .execute(
                    "INSERT INTO run (owner, id, turn, thread, place, device, status, created_at) \
                     SELECT $1, $2, $3, $4, coalesce(max(place), 0) + 1, $5, 'prepared', $6 FROM run \
                     WHERE owner = $1 AND thread = $4 ON CONFLICT DO NOTHING",
                    &[&turn.user, &turn.run_id, &turn.turn_id, &thread_id, &turn.device_id, &turn.now.0],
                )
                .await?;
            if is_new == 0 {
                return Err(LedgerError::IdUsed);
            }
            append(&transaction, &turn.user, thread_id, &turn.run_id, &turn.input).await?;
            touch(&transaction, &turn.user, thread_id, turn.now).await?;
            transaction.commit().await?;
            Ok(Prepared { thread_id: thread_id.to_owned(), turn_id: turn.turn_id.clone(), run_id: turn.run_id.clone() })
        })
    }

    fn start_run<'a>(
        &'a self,
        user: &'a str,
        run: &'a str,
        replica: &'a str,
        now: UnixMs,
    ) -> Answer<'a, Option<RunStart>> {
        within(async move {
            let mut connection = self.connection().await?;
            let transaction = connection.transaction().await?;
            let found =
                transaction.query_opt("SELECT thread FROM run WHERE owner = $1 AND id = $2", &[&user, &run]).await?;
            let Some(row) = found else { return Ok(None) };
            let thread_id: String = row.try_get("thread")?;
            hold(&transaction, user, &thread_id).await?;
            let found = transaction
                .query_opt(
                    "UPDATE run SET status = 'running', replica = $3 \
                     WHERE owner = $1 AND id = $2 AND status = 'prepared' RETURNING turn, device",
                    &[&user, &run, &replica],
                )
                .await?;
            let Some(row) = found else { return Ok(None) };
            if is_answered(&transaction, user, &thread_id, run).await? {
                return Err(LedgerError::UnderWay);
            }
            touch(&transaction, user, &thread_id, now).await?;
            let history = history(&transaction, user, &thread_id, run).await?;
            let ids = Prepared { thread_id, turn_id: row.try_get("turn")?, run_id: run.to_owned() };
            let device_id = row.try_get("device")?;
            transaction.commit().await?;
            Ok(Some(RunStart { ids, device_id, history }))
        })
    }

    fn append_message<'a>(&'a self, user: &'a str, ids: &'a Prepared, message: Message) -> Answer<'a, Message> {
        within(async move {
            let mut connection = self.connection().await?;
            let transaction = connection.transaction().await?;
            hold(&transaction, user, &ids.thread_id).await?;
            let taken = transaction
                .query("SELECT id FROM model_call WHERE owner = $1 AND thread = $2", &[&user, &ids.thread_id])
                .await?;
            let taken = taken.iter().map(|row| row.try_get::<_, String>(0)).collect::<Result<Vec<_>, _>>()?;
            let message = with_new_ids(message, |id| Ok(taken.iter().any(|taken| taken == id)))?;
            append(&transaction, user, &ids.thread_id, &ids.run_id, &message).await?;
            transaction.commit().await?;
            Ok(message)
        })
    }

    fn end_run<'a>(&'a self, user: &'a str, run: &'a str, end: RunEnd, now: UnixMs) -> Answer<'a, ()> {
        within(async move {
            let usage = end.usage.as_ref().map(to_json).transpose()?;
            self.connection()
                .await?
                .execute(
                    "UPDATE run SET status = $3, error = $4, usage = $5, ended_at = $6 \
                     WHERE owner = $1 AND id = $2 AND status IN ('running', 'interrupted')",
                    &[&user, &run, &end.status.as_str(), &end.error.as_deref().map(kept_text), &usage, &now.0],
                )
                .await?;
            Ok(())
        })
    }

    fn threads<'a>(&'a self, user: &'a str) -> Answer<'a, Vec<ThreadRow>> {
        within(async move {
            let rows = self
                .connection()
                .await?
                .query("SELECT * FROM thread WHERE owner = $1 ORDER BY updated_at DESC, id DESC", &[&user])
                .await?;
            rows.iter().map(thread_row).collect()
        })
    }

    fn thread<'a>(&'a self, user: &'a str, thread: &'a str) -> Answer<'a, Option<ThreadView>> {
        within(async move {
            let mut connection = self.connection().await?;
            let transaction = connection.transaction().await?;
            let found =
                transaction.query_opt("SELECT * FROM thread WHERE owner = $1 AND id = $2", &[&user, &thread]).await?;
            let Some(row) = found else { return Ok(None) };
            let mut said = messages(&transaction, user, thread).await?;
            let mut turns = Vec::new();
            let rows = transaction
                .query("SELECT * FROM run WHERE owner = $1 AND thread = $2 ORDER BY place", &[&user, &thread])
                .await?;
            for row in &rows {
                let run_id: String = row.try_get("id")?;
                turns.push(TurnView {
                    turn_id: row.try_get("turn")?,
                    status: run_status(row.try_get("status")?)?,
                    error: row.try_get("error")?,
                    usage: row.try_get::<_, Option<&str>>("usage")?.map(from_json).transpose()?,
                    device_id: row.try_get("device")?,
                    messages: said.extract_if(.., |(run, _)| *run == run_id).map(|(_, message)| message).collect(),
                    run_id,
                });
            }
            let mut tool_calls = Vec::new();
            let rows = transaction
                .query(
                    "SELECT * FROM tool_call WHERE owner = $1 AND thread = $2 ORDER BY created_at, id",
                    &[&user, &thread],
                )
                .await?;
            for row in &rows {
                tool_calls.push(call_view(&transaction, row).await?);
            }
            let inherited = said.into_iter().map(|(_, message)| message).collect();
            Ok(Some(ThreadView { thread: thread_row(&row)?, inherited, turns, tool_calls }))
        })
    }

    fn delete_thread<'a>(&'a self, user: &'a str, thread: &'a str) -> Answer<'a, Deletion> {
        within(async move {
            let mut connection = self.connection().await?;
            let transaction = connection.transaction().await?;
            let deletion = delete(&transaction, user, thread).await?;
            transaction.commit().await?;
            Ok(deletion)
        })
    }

    fn begin_attempt(&self, new: NewAttempt) -> Answer<'_, Begun> {
        within(async move {
            let mut connection = self.connection().await?;
            let transaction = connection.transaction().await?;
            let statement = transaction
                .prepare_cached(
                    "INSERT INTO tool_call (owner, id, device, thread, run, tool, arguments, arguments_hash, status, \
                     created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'dispatched', $9, $9) \
                     ON CONFLICT DO NOTHING",
                )
                .await?;
            let arguments = to_json(&new.arguments)?;
            let is_new = transaction
                .execute(
                    &statement,
                    &[
                        &new.user,
                        &new.tool_call_id,
                        &new.device_id,
                        &new.thread_id,
                        &new.run_id,
                        &new.tool_name,
                        &arguments,
                        &new.arguments_hash,
                        &new.now.0,
                    ],
                )
                .await?
                > 0;
            let known = if is_new { None } else { Some(known(&transaction, &new.user, &new.tool_call_id).await?) };
            let begun = judge(&new, known);
            let Begun::Dispatch { attempt_no } = begun else { return Ok(begun) };
            if !is_new {
                transaction
                    .execute(
                        "UPDATE tool_call SET status = 'dispatched', updated_at = $3 WHERE owner = $1 AND id = $2",
                        &[&new.user, &new.tool_call_id, &new.now.0],
                    )
                    .await?;
            }
            let statement = transaction
                .prepare_cached(
                    "INSERT INTO tool_execution (id, owner, call, attempt_no, status, connection, replica, started_at) \
                     VALUES ($1, $2, $3, $4, 'dispatched', $5, $6, $7)",
                )
                .await?;
            transaction
                .execute(
                    &statement,
                    &[
                        &new.execution_id,
                        &new.user,
                        &new.tool_call_id,
                        &i64::from(attempt_no),
                        &new.connection_id,
                        &new.replica,
                        &new.now.0,
                    ],
                )
                .await?;
            transaction.commit().await?;
            Ok(begun)
        })
    }

    fn record_result(&self, result: NewResult) -> Answer<'_, Recorded> {
        within(async move {
            let mut connection = self.connection().await?;
            let transaction = connection.transaction().await?;
            let statement = transaction
                .prepare_cached(
                    "SELECT status FROM tool_call WHERE owner = $1 AND id = $2 AND device = $3 AND EXISTS \
                     (SELECT 1 FROM tool_execution AS sent WHERE sent.id = $4 AND sent.owner = $1 AND sent.call = $2) \
                     FOR UPDATE",
                )
                .await?;
            let found = transaction
                .query_opt(&statement, &[&result.user, &result.tool_call_id, &result.device_id, &result.execution_id])
                .await?;
            let Some(row) = found else {
                let deleted = transaction
                    .query_opt(
                        "SELECT 1 FROM deleted_thread WHERE owner = $1 AND id = $2",
                        &[&result.user, &thread_of_call(&result.tool_call_id)],
                    )
                    .await?;
                return Ok(if deleted.is_some() { Recorded::Deleted } else { Recorded::NotKnown });
            };
            if call_status(row.try_get(0)?)?.is_final() {
                return Ok(Recorded::AlreadyFinal);
            }
            let Ended { status, output, error } = &*result.ended;
            let output = output.as_ref().map(to_json).transpose()?;
            let statement = transaction
                .prepare_cached(
                    "UPDATE tool_call SET status = $3, output = $4, error_code = $5, error_message = $6, \
                     updated_at = $7 WHERE owner = $1 AND id = $2",
                )
                .await?;
            transaction
                .execute(
                    &statement,
                    &[
                        &result.user,
                        &result.tool_call_id,
                        &status.as_str(),
                        &output,
                        &error.as_ref().map(|error| error.code.as_str()),
                        &error.as_ref().map(|error| error.message.as_str()),
                        &result.now.0,
                    ],
                )
                .await?;
            let statement = transaction
                .prepare_cached(
                    "UPDATE tool_execution SET status = $4, ended_at = $5 \
                     WHERE owner = $1 AND call = $2 AND (id = $3 OR status = 'dispatched')",
                )
                .await?;
            transaction
                .execute(
                    &statement,
                    &[&result.user, &result.tool_call_id, &result.execution_id, &status.as_str(), &result.now.0],
                )
                .await?;
            transaction.commit().await?;
            Ok(Recorded::Written)
        })
    }

    fn give_up<'a>(
        &'a self,
        user: &'a str,
        tool_call_id: &'a str,
        execution_id: &'a str,
        status: CallStatus,
        code: &'a str,
        now: UnixMs,
    ) -> Answer<'a, GivenUp> {
        within(async move {
            let mut connection = self.connection().await?;
            let transaction = connection.transaction().await?;
            // The call's row first, as everywhere: two that work on one call wait for each other in the same order.
            transaction
                .execute("SELECT 1 FROM tool_call WHERE owner = $1 AND id = $2 FOR UPDATE", &[&user, &tool_call_id])
                .await?;
            let was_out = transaction
                .execute(
                    "UPDATE tool_execution SET status = $4, ended_at = $5 \
                     WHERE owner = $1 AND call = $2 AND id = $3 AND status = 'dispatched'",
                    &[&user, &tool_call_id, &execution_id, &status.as_str(), &now.0],
                )
                .await?;
            if was_out == 0 {
                return Ok(GivenUp::Neither);
            }
            let given_up = transaction
                .execute(
                    &format!(
                        "UPDATE tool_call SET status = $3, error_code = $4, error_message = '', updated_at = $5 \
                         WHERE owner = $1 AND id = $2 AND status NOT IN {FINAL} AND NOT EXISTS \
                         (SELECT 1 FROM tool_execution AS sent \
                         WHERE sent.owner = $1 AND sent.call = $2 AND sent.status = 'dispatched')"
                    ),
                    &[&user, &tool_call_id, &status.as_str(), &code, &now.0],
                )
                .await?;
            transaction.commit().await?;
            Ok(if given_up > 0 { GivenUp::Call } else { GivenUp::DispatchOnly })
        })
    }

    fn call<'a>(&'a self, user: &'a str, tool_call_id: &'a str) -> Answer<'a, Option<CallView>> {
        within(async move {
            let mut connection = self.connection().await?;
            let transaction = connection.transaction().await?;
            let found = transaction
                .query_opt("SELECT * FROM tool_call WHERE owner = $1 AND id = $2", &[&user, &tool_call_id])
                .await?;
            match found {
                Some(row) => Ok(Some(call_view(&transaction, &row).await?)),
                None => Ok(None),
            }
        })
    }

    fn device_of_call<'a>(&'a self, user: &'a str, tool_call_id: &'a str) -> Answer<'a, Option<String>> {
        within(async move {
            let row = self
                .connection()
                .await?
                .query_opt("SELECT device FROM tool_call WHERE owner = $1 AND id = $2", &[&user, &tool_call_id])
                .await?;
            Ok(row.map(|row| row.try_get(0)).transpose()?)
        })
    }

    fn succeed<'a>(&'a self, place: &'a str) -> Answer<'a, ()> {
        within(async move {
            let connection = self.connection().await?;
            connection
                .execute("DELETE FROM replica WHERE substr(id, 1, length($1::text)) = $1::text", &[&place])
                .await?;
            Ok(())
        })
    }

    fn keep_alive<'a>(&'a self, replica: &'a str, now: UnixMs, gone: Vec<String>) -> Answer<'a, Beat> {
        within(async move {
            let mut connection = self.connection().await?;
            connection
                .execute(
                    "INSERT INTO replica (id, seen_at) VALUES ($1, $2) \
                     ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
                    &[&replica, &now.0],
                )
                .await?;
            connection.execute("DELETE FROM replica WHERE id = ANY($1)", &[&gone]).await?;
            let transaction = connection.transaction().await?;
            let buried = bury(&transaction, now).await?;
            let beat = beat(&transaction, replica, buried).await?;
            transaction.commit().await?;
            Ok(beat)
        })
    }
}

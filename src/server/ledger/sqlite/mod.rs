//! The ledger in an SQLite file, on one thread that owns the connection. Changes that wait at the same moment are kept
//! with one commit (each in a savepoint of its own), and every caller hears of it after that commit.
#![expect(
    clippy::disallowed_methods,
    reason = "the server's ledger is one of the two rooms that open databases and start a thread for them"
)]

mod call;
mod thread;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use crate::ir::{Message, UnixMs};
use crate::link::thread::{CallStatus, CallView, Prepared, RunStatus, ThreadRow, ThreadView, TurnView};

use super::{
    Answer, Begun, FINAL, Ledger, LedgerError, NewAttempt, NewResult, NewTurn, Recorded, RunStart, TokenRow, broken,
    newer, run_status, with_new_ids,
};
use call::{attempt, bury, call_view, record};
use thread::{append, messages, prepare, thread_row};

/// Changes that may wait in front of the thread.
const QUEUE_JOBS: usize = 1024;
/// Changes that one commit keeps at most.
const COMMIT_JOBS: usize = 128;
/// How long another process's lock is waited for.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// SQLite's name for a database without a file.
const IN_MEMORY: &str = ":memory:";
/// `user_version` of this format.
const FORMAT: i64 = 1;

/// Does its work in the open transaction and gives what is to be said once that is kept, or was not.
type Job = Box<dyn FnOnce(&mut Connection) -> Report + Send>;
type Report = Box<dyn FnOnce(Result<&(), &LedgerError>) + Send>;

/// The way to the thread. The thread ends when the last one is dropped.
pub(super) struct SqliteLedger {
    jobs: mpsc::Sender<Job>,
}

impl SqliteLedger {
    /// Opens the file, makes it if it is not there, and starts its thread.
    pub(super) fn open(path: &Path) -> Result<Self, LedgerError> {
        if path != Path::new(IN_MEMORY) {
            make_private(path)?;
        }
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_WAIT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        migrate(&mut connection)?;
        let (jobs, waiting) = mpsc::channel(QUEUE_JOBS);
        std::thread::Builder::new().name("ledger".into()).spawn(move || work(connection, waiting)).map_err(broken)?;
        Ok(Self { jobs })
    }

    fn run<T, F>(&self, job: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, LedgerError> + Send + 'static,
    {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let job: Job = Box::new(move |connection| {
                let value = in_savepoint(connection, job);
                Box::new(move |kept| {
                    // Whoever asked may have gone away; what was kept is kept.
                    reply.send(kept.map_err(LedgerError::clone).and(value)).ok();
                })
            });
            self.jobs.send(job).await.map_err(|_closed| gone())?;
            answer.await.map_err(|_closed| gone())?
        })
    }
}

/// Makes the file, if it is not there, so that only its owner can read what people said. SQLite gives its other files the
/// same rights.
fn make_private(path: &Path) -> Result<(), LedgerError> {
    let mut options = std::fs::File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(broken)
}

fn gone() -> LedgerError {
    LedgerError::Database { detail: "its thread has ended".into() }
}

fn migrate(connection: &mut Connection) -> Result<(), LedgerError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > FORMAT {
        return Err(newer());
    }
    if found == 0 {
        transaction.execute_batch(include_str!("../schema.sql"))?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    Ok(transaction.commit()?)
}

fn work(mut connection: Connection, mut waiting: mpsc::Receiver<Job>) {
    while let Some(first) = waiting.blocking_recv() {
        let mut reports = Vec::new();
        let kept = connection.execute_batch("BEGIN IMMEDIATE").map_err(LedgerError::from).and_then(|()| {
            reports.push(first(&mut connection));
            while reports.len() < COMMIT_JOBS {
                let Ok(job) = waiting.try_recv() else { break };
                reports.push(job(&mut connection));
            }
            Ok(connection.execute_batch("COMMIT")?)
        });
        if let Err(error) = &kept {
            tracing::error!(%error, "the ledger could not keep a change");
            // Nothing is open when the transaction did not even begin.
            connection.execute_batch("ROLLBACK").ok();
        }
        for report in reports {
            report(kept.as_ref());
        }
    }
}

fn in_savepoint<T>(
    connection: &mut Connection,
    job: impl FnOnce(&Connection) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    let savepoint = connection.savepoint()?;
    let value = job(&savepoint)?;
    savepoint.commit()?;
    Ok(value)
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        broken(error)
    }
}

fn at(row: &Row<'_>, column: &str) -> rusqlite::Result<UnixMs> {
    row.get(column).map(UnixMs)
}

fn at_if_any(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<UnixMs>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(UnixMs))
}

impl Ledger for SqliteLedger {
    fn add_token<'a>(&'a self, name: &'a str, hash: &'a str, now: UnixMs) -> Answer<'a, ()> {
        let (name, hash) = (name.to_owned(), hash.to_owned());
        self.run(move |connection| {
            let added = connection.execute(
                "INSERT INTO user_token (name, hash, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                params![name, hash, now.0],
            )?;
            if added == 0 { Err(LedgerError::NameTaken { name }) } else { Ok(()) }
        })
    }

    fn tokens(&self) -> Answer<'_, Vec<TokenRow>> {
        self.run(|connection| {
            let mut statement =
                connection.prepare("SELECT name, created_at, revoked_at FROM user_token ORDER BY name, created_at")?;
            let rows = statement.query_map([], |row| {
                Ok(TokenRow {
                    name: row.get("name")?,
                    created_at: at(row, "created_at")?,
                    revoked_at: at_if_any(row, "revoked_at")?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn revoke_token<'a>(&'a self, name: &'a str, now: UnixMs) -> Answer<'a, bool> {
        let name = name.to_owned();
        self.run(move |connection| {
            let revoked = connection.execute(
                "UPDATE user_token SET revoked_at = ?2 WHERE name = ?1 AND revoked_at IS NULL",
                params![name, now.0],
            )?;
            Ok(revoked > 0)
        })
    }

    fn user_of_token<'a>(&'a self, hash: &'a str) -> Answer<'a, Option<String>> {
        let hash = hash.to_owned();
        self.run(move |connection| {
            Ok(connection
                .prepare_cached("SELECT name FROM user_token WHERE hash = ?1 AND revoked_at IS NULL")?
                .query_row([hash], |row| row.get(0))
                .optional()?)
        })
    }

    fn revoked_since(&self, since: UnixMs) -> Answer<'_, Vec<(String, UnixMs)>> {
        self.run(move |connection| {
            Ok(connection
                .prepare_cached("SELECT name, revoked_at FROM user_token WHERE revoked_at >= ?1")?
                .query_map([since.0], |row| Ok((row.get(0)?, at(row, "revoked_at")?)))?
                .collect::<Result<_, _>>()?)
        })
    }

    fn use_ticket<'a>(&'a self, jti: &'a str, expires_at: UnixMs, now: UnixMs) -> Answer<'a, bool> {
        let jti = jti.to_owned();
        self.run(move |connection| {
            connection.prepare_cached("DELETE FROM used_ticket WHERE expires_at < ?1")?.execute([now.0])?;
            let used = connection
                .prepare_cached("INSERT INTO used_ticket (jti, expires_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
                .execute(params![jti, expires_at.0])?;
            Ok(used > 0)
        })
    }

    fn prepare_turn(&self, turn: NewTurn) -> Answer<'_, Prepared> {
        self.run(move |connection| prepare(connection, &turn))
    }

    fn start_run<'a>(
        &'a self,
        user: &'a str,
        run: &'a str,
        replica: &'a str,
        now: UnixMs,
    ) -> Answer<'a, Option<RunStart>> {
        let (user, run, replica) = (user.to_owned(), run.to_owned(), replica.to_owned());
        self.run(move |connection| {
            let found = connection
                .prepare_cached(
                    "UPDATE run SET status = 'running', replica = ?3 \
                     WHERE id = ?1 AND owner = ?2 AND status = 'prepared' RETURNING turn, thread, device",
                )?
                .query_row([&run, &user, &replica], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
                })
                .optional()?;
            let Some((turn_id, thread_id, device_id)) = found else { return Ok(None) };
            connection
                .prepare_cached("UPDATE thread SET updated_at = ?2 WHERE id = ?1")?
                .execute(params![thread_id, now.0])?;
            let history = messages(connection, &thread_id)?.into_iter().map(|(_, message)| message).collect();
            Ok(Some(RunStart { ids: Prepared { thread_id, turn_id, run_id: run }, device_id, history }))
        })
    }

    fn append_message<'a>(&'a self, ids: &'a Prepared, message: Message) -> Answer<'a, Message> {
        let ids = ids.clone();
        self.run(move |connection| {
            let mut taken = connection.prepare_cached("SELECT 1 FROM model_call WHERE thread = ?1 AND id = ?2")?;
            let message = with_new_ids(message, |id| Ok(taken.exists([ids.thread_id.as_str(), id])?))?;
            append(connection, &ids.thread_id, &ids.run_id, &message)?;
            Ok(message)
        })
    }

    fn end_run<'a>(&'a self, run: &'a str, status: RunStatus, error: Option<String>, now: UnixMs) -> Answer<'a, ()> {
        let run = run.to_owned();
        self.run(move |connection| {
            connection
                .prepare_cached(
                    "UPDATE run SET status = ?2, error = ?3, ended_at = ?4 WHERE id = ?1 AND status = 'running'",
                )?
                .execute(params![run, status.as_str(), error, now.0])?;
            Ok(())
        })
    }

    fn threads<'a>(&'a self, user: &'a str) -> Answer<'a, Vec<ThreadRow>> {
        let user = user.to_owned();
        self.run(move |connection| {
            let mut statement =
                connection.prepare_cached("SELECT * FROM thread WHERE owner = ?1 ORDER BY updated_at DESC, id DESC")?;
            Ok(statement.query_map([user], thread_row)?.collect::<Result<_, _>>()?)
        })
    }

    fn thread<'a>(&'a self, user: &'a str, thread: &'a str) -> Answer<'a, Option<ThreadView>> {
        let (user, thread) = (user.to_owned(), thread.to_owned());
        self.run(move |connection| {
            let Some(row) = connection
                .prepare_cached("SELECT * FROM thread WHERE id = ?1 AND owner = ?2")?
                .query_row([&thread, &user], thread_row)
                .optional()?
            else {
                return Ok(None);
            };
            let mut said = messages(connection, &thread)?;
            let turns: Vec<TurnView> = connection
                .prepare_cached("SELECT * FROM run WHERE thread = ?1 ORDER BY place")?
                .query_and_then([&thread], |row| {
                    let run_id: String = row.get("id")?;
                    Ok::<_, LedgerError>(TurnView {
                        turn_id: row.get("turn")?,
                        status: run_status(&row.get::<_, String>("status")?)?,
                        error: row.get("error")?,
                        device_id: row.get("device")?,
                        messages: said.extract_if(.., |(run, _)| *run == run_id).map(|(_, message)| message).collect(),
                        run_id,
                    })
                })?
                .collect::<Result<_, _>>()?;
            let tool_calls = connection
                .prepare_cached("SELECT * FROM tool_call WHERE thread = ?1 ORDER BY created_at, id")?
                .query_and_then([&thread], |row| call_view(connection, row))?
                .collect::<Result<_, _>>()?;
            let inherited = said.into_iter().map(|(_, message)| message).collect();
            Ok(Some(ThreadView { thread: row, inherited, turns, tool_calls }))
        })
    }

    fn delete_thread<'a>(&'a self, user: &'a str, thread: &'a str) -> Answer<'a, bool> {
        let (user, thread) = (user.to_owned(), thread.to_owned());
        self.run(move |connection| {
            let deleted = connection.execute("DELETE FROM thread WHERE id = ?1 AND owner = ?2", [&thread, &user])?;
            if deleted > 0 {
                connection.execute("DELETE FROM tool_call WHERE thread = ?1", [&thread])?;
            }
            Ok(deleted > 0)
        })
    }

    fn begin_attempt(&self, new: NewAttempt) -> Answer<'_, Begun> {
        self.run(move |connection| attempt(connection, &new))
    }

    fn record_result(&self, result: NewResult) -> Answer<'_, Recorded> {
        self.run(move |connection| record(connection, &result))
    }

    fn give_up<'a>(
        &'a self,
        tool_call_id: &'a str,
        execution_id: &'a str,
        status: CallStatus,
        code: &'a str,
        now: UnixMs,
    ) -> Answer<'a, bool> {
        let (call, execution, code) = (tool_call_id.to_owned(), execution_id.to_owned(), code.to_owned());
        self.run(move |connection| {
            connection
                .prepare_cached(
                    "UPDATE tool_execution SET status = ?2, ended_at = ?3 WHERE id = ?1 AND status = 'dispatched'",
                )?
                .execute(params![execution, status.as_str(), now.0])?;
            let given_up = connection
                .prepare_cached(&format!(
                    "UPDATE tool_call SET status = ?2, error_code = ?3, error_message = '', updated_at = ?4 \
                     WHERE id = ?1 AND status NOT IN {FINAL}"
                ))?
                .execute(params![call, status.as_str(), code, now.0])?;
            Ok(given_up > 0)
        })
    }

    fn call<'a>(&'a self, user: &'a str, tool_call_id: &'a str) -> Answer<'a, Option<CallView>> {
        let (user, call) = (user.to_owned(), tool_call_id.to_owned());
        self.run(move |connection| {
            connection
                .prepare_cached("SELECT * FROM tool_call WHERE id = ?1 AND owner = ?2")?
                .query_and_then([&call, &user], |row| call_view(connection, row))?
                .next()
                .transpose()
        })
    }

    fn device_of_call<'a>(&'a self, user: &'a str, tool_call_id: &'a str) -> Answer<'a, Option<String>> {
        let (user, call) = (user.to_owned(), tool_call_id.to_owned());
        self.run(move |connection| {
            Ok(connection
                .prepare_cached("SELECT device FROM tool_call WHERE id = ?1 AND owner = ?2")?
                .query_row([call, user], |row| row.get(0))
                .optional()?)
        })
    }

    fn succeed<'a>(&'a self, place: &'a str) -> Answer<'a, ()> {
        let place = place.to_owned();
        self.run(move |connection| {
            connection.execute("DELETE FROM replica WHERE substr(id, 1, length(?1)) = ?1", [place])?;
            Ok(())
        })
    }

    fn keep_alive<'a>(&'a self, replica: &'a str, now: UnixMs, dead_before: UnixMs) -> Answer<'a, u64> {
        let replica = replica.to_owned();
        self.run(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO replica (id, seen_at) VALUES (?1, ?2) \
                     ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
                )?
                .execute(params![replica, now.0])?;
            bury(connection, now, dead_before)
        })
    }
}

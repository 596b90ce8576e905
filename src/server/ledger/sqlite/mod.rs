//! The ledger in an SQLite file: one thread writes, another reads. Changes that wait at the same moment are kept with one
//! commit, and every caller hears of it after that commit; who asks something does not wait for it.
#![expect(
    clippy::disallowed_methods,
    reason = "the server's ledger is one of the two rooms that open databases and start a thread for them"
)]

mod call;
mod thread;

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::ir::{Message, UnixMs};
use crate::link::thread::{CallStatus, CallView, Prepared, ThreadRow, ThreadView, TurnView};

use super::{
    Answer, Beat, Begun, Deletion, GivenUp, Ledger, LedgerError, NewAttempt, NewResult, NewTurn, Recorded, RunEnd,
    RunStart, SCHEMA, TokenRow, broken, from_json, kept_text, run_status, steps_from, to_json, with_new_ids,
};
use call::{OF_THREAD, attempt, beat, bury, call_view, give_up, record};
use thread::{append, delete, history, is_answered, messages, prepare, thread_row, touch};

/// Jobs that may wait in front of a thread.
const QUEUE_JOBS: usize = 1024;
/// Changes that one commit keeps at most.
const COMMIT_JOBS: usize = 128;
/// Commits begin this far apart: what comes meanwhile shares the next. A change that comes alone does not wait.
const COMMIT_PAUSE: Duration = Duration::from_millis(5);
/// Statements that stay prepared: all there are.
const STATEMENTS: usize = 64;
/// Pages in the log before it is copied into the file: what many changes touch is copied once.
const LOG_PAGES: u32 = 4_000;
/// What a connection keeps of the file in memory at most: conversations have ids that lie all over it.
const CACHE_KIB: i32 = 8 << 10;
/// How long another process's lock is waited for.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// SQLite's name for a database without a file.
const IN_MEMORY: &str = ":memory:";

/// Does its work in the open transaction.
type Job = Box<dyn FnOnce(&Connection) -> Done + Send>;

/// Tells whoever waits what became of their job.
type Report = Box<dyn FnOnce(Result<&(), &LedgerError>) + Send>;

/// A job that is done, for better or worse.
struct Done {
    /// Says so to whoever waits, once the transaction is kept or was not.
    report: Report,
    /// It changed something and failed: nothing of the transaction may be kept.
    half_done: Option<LedgerError>,
}

/// The ways to the threads. They end when the last one is dropped.
pub(super) struct SqliteLedger {
    writer: mpsc::Sender<Job>,
    reader: mpsc::Sender<Job>,
}

impl SqliteLedger {
    /// Opens the file, makes it if it is not there, and starts its threads. What they have done is told in the runtime that
    /// this is called in.
    pub(super) fn open(path: &Path) -> Result<Self, LedgerError> {
        let is_in_memory = path == Path::new(IN_MEMORY);
        if !is_in_memory {
            make_private(path)?;
        }
        let mut connection = connect(path)?;
        migrate(&mut connection)?;
        // A database in memory is its connection's own, and a commit costs nothing there.
        let pause = if is_in_memory { Duration::ZERO } else { COMMIT_PAUSE };
        let writer = start("ledger", connection, "BEGIN IMMEDIATE", pause)?;
        let reader = if is_in_memory {
            writer.clone()
        } else {
            let connection = connect(path)?;
            connection.pragma_update(None, "query_only", true)?;
            start("ledger-reader", connection, "BEGIN", Duration::ZERO)?
        };
        Ok(Self { writer, reader })
    }

    /// Has something written: all of it or nothing. What it refuses leaves its neighbours in the commit alone.
    fn run<T, F>(&self, job: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, LedgerError> + Send + 'static,
    {
        queue(&self.writer, |connection| (in_savepoint(connection, job), None))
    }

    /// Has something written that goes wrong only where the database does: then nothing that shares its commit is kept. It
    /// needs no savepoint, for which a copy of every page that it touches is made.
    fn run_together<T, F>(&self, job: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, LedgerError> + Send + 'static,
    {
        queue(&self.writer, |connection| {
            let before = connection.total_changes();
            let value = job(connection);
            let half_done = value.as_ref().err().filter(|_fault| connection.total_changes() != before).cloned();
            (value, half_done)
        })
    }

    /// Has something read: as it was kept when it is asked for, or later.
    fn read<T, F>(&self, job: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, LedgerError> + Send + 'static,
    {
        queue(&self.reader, |connection| (job(connection), None))
    }
}

/// Has a thread do a job, which also says whether it is half done.
fn queue<T, F>(thread: &mpsc::Sender<Job>, job: F) -> Answer<'_, T>
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> (Result<T, LedgerError>, Option<LedgerError>) + Send + 'static,
{
    Box::pin(async move {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let (value, half_done) = job(connection);
            // Whoever asked may have gone away; what was kept is kept.
            let report = Box::new(move |kept: Result<&(), &LedgerError>| {
                reply.send(kept.map_err(LedgerError::clone).and(value)).ok();
            });
            Done { report, half_done }
        });
        thread.send(job).await.map_err(|_closed| undone())?;
        answer.await.map_err(|_closed| undone())?
    })
}

fn connect(path: &Path) -> Result<Connection, LedgerError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Plans do not hang on what is bound: else statements are prepared again for every value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn start(
    name: &str,
    connection: Connection,
    begin: &'static str,
    pause: Duration,
) -> Result<mpsc::Sender<Job>, LedgerError> {
    let (jobs, waiting) = mpsc::channel(QUEUE_JOBS);
    let runtime = Handle::try_current().map_err(broken)?;
    let thread = std::thread::Builder::new().name(name.into());
    thread.spawn(move || work(&connection, begin, pause, waiting, &runtime)).map_err(broken)?;
    Ok(jobs)
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

fn undone() -> LedgerError {
    LedgerError::Database { detail: "nothing could be done with it".into() }
}

fn migrate(connection: &mut Connection) -> Result<(), LedgerError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let format: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for step in steps_from(format)? {
        transaction.execute_batch(step.sqlite)?;
    }
    transaction.pragma_update(None, "user_version", i64::try_from(SCHEMA.len()).map_err(broken)?)?;
    Ok(transaction.commit()?)
}

fn work(connection: &Connection, begin: &str, pause: Duration, mut waiting: mpsc::Receiver<Job>, runtime: &Handle) {
    let mut began = Instant::now();
    while let Some(first) = waiting.blocking_recv() {
        // Who is about to ask comes first: else the first of many has a commit of its own where there is one processor.
        std::thread::yield_now();
        std::thread::sleep(pause.saturating_sub(began.elapsed()));
        began = Instant::now();
        // All that wait are taken before the transaction begins: it shows them everything that was kept before they asked.
        let mut jobs = vec![first];
        while jobs.len() < COMMIT_JOBS
            && let Ok(job) = waiting.try_recv()
        {
            jobs.push(job);
        }
        let mut reports = Vec::with_capacity(jobs.len());
        let kept = do_now(connection, begin).and_then(|()| {
            for job in jobs {
                let Done { report, half_done } = job(connection);
                reports.push(report);
                if let Some(error) = half_done {
                    return Err(error);
                }
                // A broken disk ends the transaction; what it did not come to is told so.
                if connection.is_autocommit() {
                    break;
                }
            }
            do_now(connection, "COMMIT")
        });
        if let Err(error) = &kept {
            tracing::error!(%error, "the ledger could not keep a change");
            // Nothing may be open any more.
            do_now(connection, "ROLLBACK").ok();
        }
        // In the runtime, all at once: told from here, each would wake it by itself, and be interrupted by what it woke.
        runtime.spawn(async move {
            for report in reports {
                report(kept.as_ref());
            }
        });
    }
}

fn in_savepoint<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    do_now(connection, "SAVEPOINT job")?;
    let value = job(connection);
    if value.is_err() {
        do_now(connection, "ROLLBACK TO job")?;
    }
    do_now(connection, "RELEASE job")?;
    value
}

/// A statement without a parameter or a row.
fn do_now(connection: &Connection, statement: &str) -> Result<(), LedgerError> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
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
        self.read(|connection| {
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
        self.read(move |connection| {
            Ok(connection
                .prepare_cached("SELECT name FROM user_token WHERE hash = ?1 AND revoked_at IS NULL")?
                .query_row([hash], |row| row.get(0))
                .optional()?)
        })
    }

    fn revoked(&self, hashes: Vec<String>) -> Answer<'_, Vec<String>> {
        self.read(move |connection| {
            let mut live =
                connection.prepare_cached("SELECT 1 FROM user_token WHERE hash = ?1 AND revoked_at IS NULL")?;
            let mut revoked = Vec::new();
            for hash in hashes {
                if !live.exists([&hash])? {
                    revoked.push(hash);
                }
            }
            Ok(revoked)
        })
    }

    fn use_ticket<'a>(&'a self, jti: &'a str, expires_at: UnixMs, now: UnixMs) -> Answer<'a, Option<i64>> {
        let jti = jti.to_owned();
        self.run(move |connection| {
            connection.prepare_cached("DELETE FROM used_ticket WHERE expires_at < ?1")?.execute([now.0])?;
            // The moment, unless another's was not before it: the order goes on when all that were used are forgotten.
            Ok(connection
                .prepare_cached(
                    "INSERT INTO used_ticket (jti, expires_at, place) VALUES (?1, ?2, \
                     max(?3, coalesce((SELECT max(place) FROM used_ticket), 0) + 1)) \
                     ON CONFLICT DO NOTHING RETURNING place",
                )?
                .query_row(params![jti, expires_at.0, now.0], |row| row.get(0))
                .optional()?)
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
                     WHERE owner = ?1 AND id = ?2 AND status = 'prepared' RETURNING turn, thread, device",
                )?
                .query_row([&user, &run, &replica], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
                })
                .optional()?;
            let Some((turn_id, thread_id, device_id)) = found else { return Ok(None) };
            if is_answered(connection, &user, &thread_id, &run)? {
                return Err(LedgerError::UnderWay);
            }
            touch(connection, &user, &thread_id, now)?;
            let history = history(connection, &user, &thread_id, &run)?;
            Ok(Some(RunStart { ids: Prepared { thread_id, turn_id, run_id: run }, device_id, history }))
        })
    }

    fn append_message<'a>(&'a self, user: &'a str, ids: &'a Prepared, message: Message) -> Answer<'a, Message> {
        let (user, ids) = (user.to_owned(), ids.clone());
        self.run(move |connection| {
            let mut taken =
                connection.prepare_cached("SELECT 1 FROM model_call WHERE owner = ?1 AND thread = ?2 AND id = ?3")?;
            let message = with_new_ids(message, |id| Ok(taken.exists([&user, ids.thread_id.as_str(), id])?))?;
            append(connection, &user, &ids.thread_id, &ids.run_id, &message)?;
            Ok(message)
        })
    }

    fn end_run<'a>(&'a self, user: &'a str, run: &'a str, end: RunEnd, now: UnixMs) -> Answer<'a, ()> {
        let (user, run) = (user.to_owned(), run.to_owned());
        self.run(move |connection| {
            connection
                .prepare_cached(
                    "UPDATE run SET status = ?3, error = ?4, usage = ?5, ended_at = ?6 \
                     WHERE owner = ?1 AND id = ?2 AND status IN ('running', 'interrupted')",
                )?
                .execute(params![
                    user,
                    run,
                    end.status.as_str(),
                    end.error.as_deref().map(kept_text),
                    end.usage.as_ref().map(to_json).transpose()?,
                    now.0
                ])?;
            Ok(())
        })
    }

    fn threads<'a>(&'a self, user: &'a str) -> Answer<'a, Vec<ThreadRow>> {
        let user = user.to_owned();
        self.read(move |connection| {
            let mut statement =
                connection.prepare_cached("SELECT * FROM thread WHERE owner = ?1 ORDER BY updated_at DESC, id DESC")?;
            Ok(statement.query_map([user], thread_row)?.collect::<Result<_, _>>()?)
        })
    }

    fn thread<'a>(&'a self, user: &'a str, thread: &'a str) -> Answer<'a, Option<ThreadView>> {
        let (user, thread) = (user.to_owned(), thread.to_owned());
        self.read(move |connection| {
            let Some(row) = connection
                .prepare_cached("SELECT * FROM thread WHERE owner = ?1 AND id = ?2")?
                .query_row([&user, &thread], thread_row)
                .optional()?
            else {
                return Ok(None);
            };
            let mut said = messages(connection, &user, &thread)?;
            let turns: Vec<TurnView> = connection
                .prepare_cached("SELECT * FROM run WHERE owner = ?1 AND thread = ?2 ORDER BY place")?
                .query_and_then([&user, &thread], |row| {
                    let run_id: String = row.get("id")?;
                    Ok::<_, LedgerError>(TurnView {
                        turn_id: row.get("turn")?,
                        status: run_status(&row.get::<_, String>("status")?)?,
                        error: row.get("error")?,
                        usage: row.get::<_, Option<String>>("usage")?.as_deref().map(from_json).transpose()?,
                        device_id: row.get("device")?,
                        messages: said.extract_if(.., |(run, _)| *run == run_id).map(|(_, message)| message).collect(),
                        run_id,
                    })
                })?
                .collect::<Result<_, _>>()?;
            let tool_calls = connection
                .prepare_cached(&format!("SELECT * FROM tool_call WHERE {OF_THREAD} ORDER BY created_at, id"))?
                .query_and_then([&user, &thread], |row| call_view(connection, row))?
                .collect::<Result<_, _>>()?;
            let inherited = said.into_iter().map(|(_, message)| message).collect();
            Ok(Some(ThreadView { thread: row, inherited, turns, tool_calls }))
        })
    }

    fn delete_thread<'a>(&'a self, user: &'a str, thread: &'a str) -> Answer<'a, Deletion> {
        let (user, thread) = (user.to_owned(), thread.to_owned());
        self.run(move |connection| delete(connection, &user, &thread))
    }

    fn begin_attempt(&self, new: NewAttempt) -> Answer<'_, Begun> {
        self.run_together(move |connection| attempt(connection, &new))
    }

    fn record_result(&self, result: NewResult) -> Answer<'_, Recorded> {
        self.run_together(move |connection| record(connection, &result))
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
        let (user, call, execution) = (user.to_owned(), tool_call_id.to_owned(), execution_id.to_owned());
        let code = code.to_owned();
        self.run(move |connection| give_up(connection, [&user, &call, &execution], status, &code, now))
    }

    fn call<'a>(&'a self, user: &'a str, tool_call_id: &'a str) -> Answer<'a, Option<CallView>> {
        let (user, call) = (user.to_owned(), tool_call_id.to_owned());
        self.read(move |connection| {
            connection
                .prepare_cached("SELECT * FROM tool_call WHERE owner = ?1 AND id = ?2")?
                .query_and_then([&user, &call], |row| call_view(connection, row))?
                .next()
                .transpose()
        })
    }

    fn device_of_call<'a>(&'a self, user: &'a str, tool_call_id: &'a str) -> Answer<'a, Option<String>> {
        let (user, call) = (user.to_owned(), tool_call_id.to_owned());
        self.read(move |connection| {
            Ok(connection
                .prepare_cached("SELECT device FROM tool_call WHERE owner = ?1 AND id = ?2")?
                .query_row([user, call], |row| row.get(0))
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

    fn keep_alive<'a>(&'a self, replica: &'a str, now: UnixMs, gone: Vec<String>) -> Answer<'a, Beat> {
        let replica = replica.to_owned();
        self.run(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO replica (id, seen_at) VALUES (?1, ?2) \
                     ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
                )?
                .execute(params![replica, now.0])?;
            for gone in gone {
                connection.prepare_cached("DELETE FROM replica WHERE id = ?1")?.execute([gone])?;
            }
            let buried = bury(connection, now)?;
            beat(connection, &replica, buried)
        })
    }
}

#[cfg(test)]
mod tests;

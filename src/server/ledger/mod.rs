//! What the server must not forget: user tokens, used tickets, threads with their turns and runs, calls with their
//! dispatches. One trait, two databases; the rules that decide live here, the SQL in each implementation.
//!
//! Every method is one transaction and returns once it is kept.

mod postgres;
mod sqlite;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use crate::ir::{Message, UnixMs};
use crate::link::agui::Usage;
use crate::link::thread::{CallStatus, CallView, Prepared, RunStatus, ThreadRow, ThreadView};
use crate::link::wire::CallError;

/// A ledger that everybody may hold.
pub type SharedLedger = Arc<dyn Ledger>;

/// What a ledger gives back.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, LedgerError>>;

/// Why the ledger could not do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// The database is not there, or does not do as it is told.
    #[error("the database does not answer as it should: {detail}. Check that it runs, has room and may be written.")]
    Database {
        /// The database's own words.
        detail: String,
    },
    /// The address names no database.
    #[error("{address} is no database: use sqlite:PATH or postgres://USER@HOST/NAME.")]
    Address {
        /// As it was given, without a password.
        address: String,
    },
    /// What a change is about is not there, or not this user's.
    #[error("there is no such thread or turn of yours.")]
    NotFound,
    /// The id of a run that was prepared before, or of a thread that was deleted.
    #[error("the run's id is used, or the thread was deleted.")]
    IdUsed,
    /// Another run of the thread is under way.
    #[error("another run of the thread is under way.")]
    UnderWay,
    /// The name is taken.
    #[error("there is already a token named {name}. Revoke it first, or choose another name.")]
    NameTaken {
        /// The name.
        name: String,
    },
}

/// A user token as it is listed; the token itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The user.
    pub name: String,
    /// When it was made.
    pub created_at: UnixMs,
    /// When it was revoked.
    pub revoked_at: Option<UnixMs>,
}

/// A turn to be prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTurn {
    /// Whose.
    pub user: String,
    /// Where it goes.
    pub place: Place,
    /// The turn. The server's own name for it, unlike those of runs and threads, which a client may choose.
    pub turn_id: String,
    /// Its run.
    pub run_id: String,
    /// What the person says.
    pub input: Message,
    /// Whose tools may be used.
    pub device_id: Option<String>,
    /// When.
    pub now: UnixMs,
}

/// Where a turn goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Into a thread that is there.
    Known(String),
    /// Into a thread of this id, which is made if it is not there.
    Named(String),
    /// Into a new thread that begins with what stands before a turn of another one: an edit or another try.
    Branch {
        /// The new thread.
        thread: String,
        /// The one that it branches from.
        parent: String,
        /// The turn that it does not take over, nor what comes after.
        before_turn: String,
    },
}

/// A run that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    /// Its ids.
    pub ids: Prepared,
    /// Whose tools may be used.
    pub device_id: Option<String>,
    /// Everything said in the thread so far, the person's new words last.
    pub history: Vec<Message>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// The status.
    pub status: RunStatus,
    /// Why it failed.
    pub error: Option<String>,
    /// What it used of the model; `None` when the model gave no answer.
    pub usage: Option<Usage>,
}

/// A call about to be dispatched.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAttempt {
    /// The intention.
    pub tool_call_id: String,
    /// Whose.
    pub user: String,
    /// To which device.
    pub device_id: String,
    /// In which thread; empty for a developer's call.
    pub thread_id: String,
    /// In which run; empty for a developer's call.
    pub run_id: String,
    /// Which tool.
    pub tool_name: String,
    /// Its arguments.
    pub arguments: Value,
    /// Their hash.
    pub arguments_hash: String,
    /// This dispatch.
    pub execution_id: String,
    /// Over which connection.
    pub connection_id: String,
    /// The process that waits for the result.
    pub replica: String,
    /// When.
    pub now: UnixMs,
}

/// What is to be done with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// Send it: its rows are written and read `dispatched`.
    Dispatch {
        /// From 1.
        attempt_no: u32,
    },
    /// It has ended for good: this is its answer, nothing is sent.
    Ended(Ended),
    /// The same id with other arguments.
    Conflict,
}

/// How a call ended, for good or for now.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The status.
    pub status: CallStatus,
    /// What it gave.
    pub output: Option<Value>,
    /// Why not.
    pub error: Option<CallError>,
}

/// A result as it came from a device.
#[derive(Debug, Clone, PartialEq)]
pub struct NewResult {
    /// Whose device.
    pub user: String,
    /// Which device.
    pub device_id: String,
    /// Which call.
    pub tool_call_id: String,
    /// Which dispatch.
    pub execution_id: String,
    /// What it says.
    pub ended: Arc<Ended>,
    /// When it came.
    pub now: UnixMs,
}

/// What became of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Written: wake whoever waits.
    Written,
    /// The call had ended for good before: acknowledged and ignored.
    AlreadyFinal,
    /// The call's conversation was deleted by its user: acknowledged and dropped.
    Deleted,
    /// This user's device was never sent such a call, or not in that dispatch.
    NotKnown,
}

/// What became of a dispatch that is waited for no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenUp {
    /// It and its call are given up: nobody waits for a result any more.
    Call,
    /// It is given up, but another dispatch of the call is still out, and somebody waits for that.
    DispatchOnly,
    /// It had ended meanwhile, or is deleted: the call says how.
    Neither,
}

/// What a process learns when it says that it lives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beat {
    /// Calls that became `unknown` because their process is gone.
    pub buried: u64,
    /// The other processes with their last sign of life. By their own clocks: only that it changes says anything.
    pub others: Vec<(String, UnixMs)>,
    /// The runs that read as under way in this process: user and run.
    pub runs: Vec<(String, String)>,
    /// The dispatches that read as waited for in this process.
    pub dispatches: Vec<Dispatch>,
}

/// A dispatch that has no result yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dispatch {
    /// Whose.
    pub user: String,
    /// Of which call.
    pub tool_call_id: String,
    /// Which one.
    pub execution_id: String,
}

/// What became of a thread that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone with all that was in it.
    Done,
    /// A run of it is under way: it stays.
    UnderWay,
    /// There is none of this user.
    NotFound,
}

/// The server's memory.
pub trait Ledger: Send + Sync {
    /// Keeps a new token's hash under a user's name.
    fn add_token<'a>(&'a self, name: &'a str, hash: &'a str, now: UnixMs) -> Answer<'a, ()>;

    /// Every token, by name.
    fn tokens(&self) -> Answer<'_, Vec<TokenRow>>;

    /// Revokes a token; false when there is none of that name that still counts.
    fn revoke_token<'a>(&'a self, name: &'a str, now: UnixMs) -> Answer<'a, bool>;

    /// The user of a token that still counts, by the token's hash.
    fn user_of_token<'a>(&'a self, hash: &'a str) -> Answer<'a, Option<String>>;

    /// Those of some tokens, by their hashes, that count no more.
    fn revoked(&self, hashes: Vec<String>) -> Answer<'_, Vec<String>>;

    /// Uses a ticket up and gives its place in the order of all that were; `None` when it was used before. Forgets those
    /// that have expired.
    fn use_ticket<'a>(&'a self, jti: &'a str, expires_at: UnixMs, now: UnixMs) -> Answer<'a, Option<i64>>;

    /// Prepares a turn; `NotFound` when its thread or turn is not this user's, `IdUsed` when this user used its run's or
    /// new thread's id before.
    fn prepare_turn(&self, turn: NewTurn) -> Answer<'_, Prepared>;

    /// Begins a prepared run, once; `None` when there is none of that id to begin for this user, `UnderWay` while another
    /// run of its thread is: what two say at once cannot be told in one order.
    fn start_run<'a>(
        &'a self,
        user: &'a str,
        run: &'a str,
        replica: &'a str,
        now: UnixMs,
    ) -> Answer<'a, Option<RunStart>>;

    /// Adds to what was said in a run. Ids of calls that the thread already has get a suffix; gives the message as kept.
    fn append_message<'a>(&'a self, user: &'a str, ids: &'a Prepared, message: Message) -> Answer<'a, Message>;

    /// Ends a run that is under way, or was taken for `interrupted` by another process.
    fn end_run<'a>(&'a self, user: &'a str, run: &'a str, end: RunEnd, now: UnixMs) -> Answer<'a, ()>;

    /// A user's threads, the newest first.
    fn threads<'a>(&'a self, user: &'a str) -> Answer<'a, Vec<ThreadRow>>;

    /// A thread with all that is in it.
    fn thread<'a>(&'a self, user: &'a str, thread: &'a str) -> Answer<'a, Option<ThreadView>>;

    /// Deletes a thread with all that is in it, unless a run of it is under way. Its id is not given again.
    fn delete_thread<'a>(&'a self, user: &'a str, thread: &'a str) -> Answer<'a, Deletion>;

    /// Writes a call and its dispatch down, or says why it is not sent.
    fn begin_attempt(&self, attempt: NewAttempt) -> Answer<'_, Begun>;

    /// Writes a device's result down. Dispatches of the call that are still out end with it: the device answers one of them.
    fn record_result(&self, result: NewResult) -> Answer<'_, Recorded>;

    /// Gives a dispatch up: it and its call become `status` (`timed_out` or `unknown`), the call only if no other dispatch
    /// of it is out.
    fn give_up<'a>(
        &'a self,
        user: &'a str,
        tool_call_id: &'a str,
        execution_id: &'a str,
        status: CallStatus,
        code: &'a str,
        now: UnixMs,
    ) -> Answer<'a, GivenUp>;

    /// A call with its dispatches.
    fn call<'a>(&'a self, user: &'a str, tool_call_id: &'a str) -> Answer<'a, Option<CallView>>;

    /// The device that a call was sent to.
    fn device_of_call<'a>(&'a self, user: &'a str, tool_call_id: &'a str) -> Answer<'a, Option<String>>;

    /// Says that this process lives, and ends what those have left behind that are `gone`, or were never heard of: calls
    /// without a result become `unknown` (`SERVER_RESTARTED`), runs `interrupted`.
    fn keep_alive<'a>(&'a self, replica: &'a str, now: UnixMs, gone: Vec<String>) -> Answer<'a, Beat>;

    /// A process begins at a place where there is one at a time: those whose names begin with the place are gone, and the
    /// next `keep_alive` ends what they left behind.
    fn succeed<'a>(&'a self, place: &'a str) -> Answer<'a, ()>;
}

/// Opens the ledger at an address: `sqlite:PATH` or `postgres://…`.
///
/// # Errors
/// When the address names no database, or the database cannot be opened or brought to this program's format.
pub async fn open(address: &str) -> Result<SharedLedger, LedgerError> {
    if let Some(path) = address.strip_prefix("sqlite:") {
        return Ok(Arc::new(sqlite::SqliteLedger::open(std::path::Path::new(path))?));
    }
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        return Ok(Arc::new(postgres::PostgresLedger::open(address).await?));
    }
    let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme);
    Err(LedgerError::Address { address: scheme.to_owned() })
}

/// One step to the tables as they are now.
#[derive(Debug, PartialEq)]
struct Step {
    sqlite: &'static str,
    postgres: &'static str,
}

impl Step {
    const fn both(text: &'static str) -> Self {
        Self { sqlite: text, postgres: text }
    }
}

/// The steps to the tables as they are now, the same text for both databases wherever it can be. How many of them were taken
/// is the format of a database.
const SCHEMA: [Step; 5] = [
    Step::both(include_str!("schema/1.sql")),
    Step::both(include_str!("schema/2.sql")),
    Step::both(include_str!("schema/3.sql")),
    Step::both(include_str!("schema/4.sql")),
    Step { sqlite: include_str!("schema/5.sqlite.sql"), postgres: "" },
];

/// The steps that a database of this format has before it.
///
/// # Errors
/// When it was written by a later version of this program.
fn steps_from(format: i64) -> Result<&'static [Step], LedgerError> {
    usize::try_from(format).ok().and_then(|taken| SCHEMA.get(taken..)).ok_or_else(newer)
}

/// The statuses that nothing replaces, for a query: [`CallStatus::is_final`].
const FINAL: &str = "('succeeded', 'failed', 'rejected', 'cancelled')";

/// What is known of a call before another dispatch of it.
struct Known {
    arguments_hash: String,
    device_id: String,
    ended: Ended,
    attempts: u32,
}

/// Whether a call is sent (again): never after it has ended for good, never with other arguments.
fn judge(attempt: &NewAttempt, known: Option<Known>) -> Begun {
    let Some(known) = known else {
        return Begun::Dispatch { attempt_no: 1 };
    };
    let is_same = known.arguments_hash == attempt.arguments_hash && known.device_id == attempt.device_id;
    if !is_same {
        return Begun::Conflict;
    }
    if known.ended.status.is_final() {
        return Begun::Ended(known.ended);
    }
    Begun::Dispatch { attempt_no: known.attempts + 1 }
}

/// Gives calls whose id the thread already has a suffix of their own.
fn with_new_ids(
    mut message: Message,
    mut is_taken: impl FnMut(&str) -> Result<bool, LedgerError>,
) -> Result<Message, LedgerError> {
    let mut given: Vec<String> = Vec::new();
    for call in message.tool_calls.iter_mut().flatten() {
        let own = call.id.as_str().to_owned();
        let mut id = own.clone();
        let mut number = 2;
        while given.contains(&id) || is_taken(&id)? {
            id = format!("{own}~{number}");
            number += 1;
        }
        call.id = crate::ir::CallId::new(id.clone());
        given.push(id);
    }
    Ok(message)
}

/// The thread of a call, by the call's id.
fn thread_of_call(tool_call_id: &str) -> &str {
    tool_call_id.split_once(':').map_or("", |(thread, _)| thread)
}

/// A title from the first words, without what a database or a list cannot show.
fn title_of(input: &str) -> String {
    const LONGEST: usize = 60;
    let line = input.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut shown = line.chars().filter(|letter| !letter.is_control());
    let mut title: String = shown.by_ref().take(LONGEST).collect();
    if shown.next().is_some() {
        title.push('…');
    }
    title
}

/// A text as every database can keep it: PostgreSQL knows no U+0000.
fn kept_text(text: &str) -> String {
    text.replace('\0', "")
}

/// A call's status by its name in the database.
fn call_status(name: &str) -> Result<CallStatus, LedgerError> {
    let broken = || LedgerError::Database { detail: format!("a call has the status {name:?}") };
    CallStatus::from_name(name).ok_or_else(broken)
}

/// A run's status by its name in the database.
fn run_status(name: &str) -> Result<RunStatus, LedgerError> {
    let broken = || LedgerError::Database { detail: format!("a run has the status {name:?}") };
    RunStatus::from_name(name).ok_or_else(broken)
}

fn to_json(value: &impl Serialize) -> Result<String, LedgerError> {
    serde_json::to_string(value).map_err(broken)
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, LedgerError> {
    serde_json::from_str(text).map_err(broken)
}

/// The database's words with their causes: the last of them is the one that helps.
fn broken(error: impl std::error::Error) -> LedgerError {
    let mut detail = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        detail.push_str(": ");
        detail.push_str(&error.to_string());
        cause = error.source();
    }
    LedgerError::Database { detail }
}

/// The tables are of a later version than this program.
fn newer() -> LedgerError {
    LedgerError::Database { detail: "it was written by a newer version of nod-server".into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::{CallId, Role, ToolCall};

    fn attempt(hash: &str) -> NewAttempt {
        NewAttempt {
            tool_call_id: "t:c".into(),
            user: "ann".into(),
            device_id: "d".into(),
            thread_id: "t".into(),
            run_id: "r".into(),
            tool_name: "workspace.list_files".into(),
            arguments: json!({}),
            arguments_hash: hash.into(),
            execution_id: "x".into(),
            connection_id: "k".into(),
            replica: "p".into(),
            now: UnixMs(1),
        }
    }

    fn known(hash: &str, status: CallStatus) -> Known {
        Known {
            arguments_hash: hash.into(),
            device_id: "d".into(),
            ended: Ended { status, output: Some(json!(1)), error: None },
            attempts: 1,
        }
    }

    #[test]
    fn a_call_is_sent_again_only_while_it_has_not_ended_for_good() {
        assert_eq!(judge(&attempt("h"), None), Begun::Dispatch { attempt_no: 1 });
        for status in [CallStatus::Dispatched, CallStatus::TimedOut, CallStatus::Unknown] {
            assert_eq!(judge(&attempt("h"), Some(known("h", status))), Begun::Dispatch { attempt_no: 2 });
        }
        for status in [CallStatus::Succeeded, CallStatus::Failed, CallStatus::Rejected, CallStatus::Cancelled] {
            assert!(matches!(judge(&attempt("h"), Some(known("h", status))), Begun::Ended(_)));
        }
        assert_eq!(judge(&attempt("other"), Some(known("h", CallStatus::Succeeded))), Begun::Conflict);
    }

    #[test]
    fn a_repeated_id_of_a_model_gets_a_suffix_once() {
        let mut message = Message::text(Role::Assistant, "", UnixMs(1));
        let call = |id: &str| ToolCall {
            id: CallId::new(id),
            name: "clock".into(),
            args: json!({}),
            iteration: 1,
            timestamp: UnixMs(1),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        };
        message.tool_calls = Some(vec![call("call_1"), call("call_1"), call("call_2")]);
        let kept = with_new_ids(message, |id| Ok(id == "call_1")).unwrap();
        let ids: Vec<&str> = kept.calls().iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_1~2", "call_1~3", "call_2"]);
    }

    #[test]
    fn a_database_of_an_earlier_version_gets_what_it_lacks_and_one_of_a_later_version_is_left_alone() {
        assert_eq!(steps_from(0).unwrap(), SCHEMA);
        assert_eq!(steps_from(1).unwrap(), &SCHEMA[1..]);
        assert_eq!(steps_from(5).unwrap(), &[]);
        assert!(steps_from(6).is_err());
    }

    #[test]
    fn a_title_is_the_first_line_that_says_something() {
        assert_eq!(title_of("\n  read README\nplease"), "read README");
        assert_eq!(title_of("a\0b\u{9b}c"), "abc");
        assert_eq!(title_of(&"长".repeat(61)), format!("{}…", "长".repeat(60)));
    }
}

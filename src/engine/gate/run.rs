//! Steps 10 to 13: the ledger's row is committed, the tool runs with the handles that were checked, the row is completed.
#![expect(clippy::disallowed_methods, reason = "the gate is what issues permits, and it measures how long a call ran")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::agent::{AfterCall, cancelled_words};
use crate::ir::{Access, CallRecord, CallStatus, Code, Error, ErrorCode, Failure, RiskLevel, UndoEntry};
use crate::port::Event;
use crate::tool::Permit;
use crate::tool::{CommandWalls, GuardLog, Progress, PutBack, RunContext, RunError};
use crate::workspace::Claimed;

use super::super::undo;
use super::approval::Cleared;
use super::plan::Plan;
use super::{Caller, Outcome, Refusal, complete, keep, record, refused, step};

/// How long a stopped call may take to end before it is left behind.
const GRACE: Duration = Duration::from_millis(900);
/// The most that is kept of what was put back after one command.
const MOST_PUT_BACK: usize = 1024;
/// Commands watch their own time-out; this is added to what a tool declares.
const SLACK: Duration = Duration::from_secs(5);

/// What the calls of one answer may give in all before its reads are put off to the next, in bytes: results stay in
/// memory until the answer's last call has ended.
const MOST_GIVEN: u64 = 64 * 1024 * 1024;

type Ran = Result<Result<Value, RunError>, JoinError>;

/// How the run came to its end.
enum Ended {
    Itself(Ran),
    /// It was told to stop and has not ended in time.
    LeftBehind(JoinHandle<Result<Value, RunError>>),
}

/// Runs a cleared call.
pub(super) async fn run(
    caller: &Arc<Caller>,
    mut row: CallRecord,
    cleared: Cleared,
    cancel: CancellationToken,
) -> Outcome {
    let Cleared { plan, place_to_read, claimed } = cleared;
    if cancel.is_cancelled() {
        return refused(caller, row, Refusal::cancelled(caller)).await;
    }
    if plan.facts.access == Access::Read && caller.given_bytes.load(Ordering::Relaxed) > MOST_GIVEN {
        let words = "The calls of this answer have given more than is read at once: go on in the next one, with fewer.";
        return refused(caller, row, Failure::new(Code::RateLimited, words).into()).await;
    }
    row.status = CallStatus::Running;
    row.started_at = Some(caller.shared.now());
    // The row and what was decided are committed together: what cannot be put on record does not run.
    if let Err(error) = caller.transcript.update_call_audited(&row, record::decided(caller, &row)).await {
        let words = format!("The call could not be recorded, so it was not run. {error}");
        let failure = Failure::new(Failure::from(error).code, words);
        return refused(caller, row, failure.into()).await;
    }
    step("begun", &row.call.id);
    let (plan, kept) = match keep::keep_before(caller, &row, plan).await {
        Ok(kept) => kept,
        Err(failure) => return refused(caller, row, failure.into()).await,
    };
    step("kept", &row.call.id);
    // A server counts on the time that the tool declares.
    let slack = if caller.remote.is_some() { Duration::ZERO } else { SLACK };
    let allowed = Duration::from_millis(plan.def.timeout_ms) + slack;
    let begun = Instant::now();
    let touched = Touched::of(&plan);
    let tier = plan.tier;
    let (log, put_back) = std::sync::mpsc::sync_channel(MOST_PUT_BACK);
    let mut running = start(caller, &row, plan, (place_to_read, claimed), cancel.clone(), log).await;
    let mut is_late = false;
    let ended = tokio::select! {
        ran = &mut running => Ended::Itself(ran),
        () = cancel.cancelled() => stop(running).await,
        () = tokio::time::sleep(allowed) => {
            is_late = true;
            cancel.cancel();
            stop(running).await
        }
    };
    let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    step("ran", &row.call.id);
    let (status, value, then) = match ended {
        Ended::Itself(ran) => {
            if matches!(ran, Ok(Ok(_))) {
                touched.note(caller);
            }
            keep_put_back(caller, &row, put_back.try_iter().collect()).await;
            judge(caller, ran, is_late)
        }
        Ended::LeftBehind(running) => {
            follow(caller, row.clone(), running, kept.clone(), put_back);
            let words = "It was stopped but has not ended yet: check the target before you go on.";
            (CallStatus::Unknown, failed(&Failure::new(Code::Cancelled, words), Value::Null), AfterCall::GoOn)
        }
    };
    // A command found that its confinement can no longer be set up: it is probed anew for the next one.
    if tier.is_some() && value.get("code").and_then(Value::as_str) == Some(Code::TargetChanged.as_str()) {
        caller.shared.confiner.forget().await;
    }
    row.status = status;
    if let Some(entry) = kept {
        keep::settle(caller, entry, status).await;
    }
    complete(caller, row, value, duration_ms, then).await
}

async fn start(
    caller: &Arc<Caller>,
    row: &CallRecord,
    plan: Plan,
    kept_meanwhile: (Option<OwnedSemaphorePermit>, Claimed),
    cancel: CancellationToken,
    put_back: SyncSender<PutBack>,
) -> JoinHandle<Result<Value, RunError>> {
    let shared = &caller.shared;
    let lifted = shared.store.lifted(&row.session).await.unwrap_or_default();
    let context = RunContext {
        cancel,
        limits: shared.limits(),
        progress: reporter(caller, row),
        helper: shared.helper.clone(),
        surroundings: shared.surroundings.clone(),
        lifted,
        withheld: plan.withheld,
        walls: CommandWalls {
            unseen: plan.facts.shown.unseen_places,
            linked: plan.facts.shown.linked,
            started: plan.started,
            ..shared.confiner.walls(plan.tier, plan.network).await
        },
        guard_log: GuardLog { records: shared.guard_records.clone(), put_back: Some(put_back) },
    };
    let permit = Permit::issue(row.call.id.clone(), plan.args, plan.targets, plan.roots, plan.hash);
    let tool = plan.tool;
    tokio::task::spawn_blocking(move || {
        let _kept = kept_meanwhile;
        tool.run(permit, &context)
    })
}

/// Live output for the front ends. What they cannot take in time is left out: the whole is in the result.
fn reporter(caller: &Arc<Caller>, row: &CallRecord) -> Box<dyn Fn(Progress) + Send + Sync> {
    let (sender, mut progress) = mpsc::channel(64);
    let shared = Arc::clone(&caller.shared);
    let (session, call) = (row.session.clone(), row.call.id.clone());
    caller.shared.errands.spawn(async move {
        while let Some(progress) = progress.recv().await {
            let (session, call) = (session.clone(), call.clone());
            let event = match progress {
                Progress::Output { is_stderr, text } => Event::CallOutput { session, call, is_stderr, text },
                Progress::Scanned { files } => Event::CallProgressed { session, call, files },
            };
            shared.publish(event).await;
        }
    });
    Box::new(move |progress| {
        sender.try_send(progress).ok();
    })
}

/// What was put back after a command goes into the journal.
async fn keep_put_back(caller: &Caller, row: &CallRecord, all: Vec<PutBack>) {
    if !all.is_empty() {
        let after =
            undo::After { session: row.session.clone(), call: row.call.id.clone(), message: row.message.clone() };
        undo::keep_put_back(&caller.shared, &after, all).await;
    }
}

async fn stop(mut running: JoinHandle<Result<Value, RunError>>) -> Ended {
    match tokio::time::timeout(GRACE, &mut running).await {
        Ok(ran) => Ended::Itself(ran),
        Err(_) => Ended::LeftBehind(running),
    }
}

fn judge(caller: &Caller, ran: Ran, is_late: bool) -> (CallStatus, Value, AfterCall) {
    match ran {
        Ok(Ok(value)) => (CallStatus::Succeeded, succeeded(value), AfterCall::GoOn),
        Ok(Err(RunError { failure, details })) => {
            let (status, failure) = if failure.code != Code::Cancelled {
                (CallStatus::Failed, failure)
            } else if is_late {
                (CallStatus::Failed, Failure::new(Code::TimedOut, "It took longer than it may and was stopped."))
            } else {
                let words = cancelled_words(caller.shared.language());
                (CallStatus::Cancelled, Failure::new(Code::Cancelled, words))
            };
            (status, failed(&failure, details), AfterCall::GoOn)
        }
        Err(broken) => {
            tracing::error!(%broken, "a tool broke");
            let words = "The tool broke inside Nod while it ran: check its target before you go on.";
            let error = Error::new(ErrorCode::Unknown, words);
            let value = failed(&Failure::new(Code::IoError, words), Value::Null);
            (CallStatus::Unknown, value, AfterCall::Fail(error))
        }
    }
}

/// When a call that was left behind ends after all, its row says how.
fn follow(
    caller: &Arc<Caller>,
    mut row: CallRecord,
    running: JoinHandle<Result<Value, RunError>>,
    kept: Option<UndoEntry>,
    put_back: Receiver<PutBack>,
) {
    let caller = Arc::clone(caller);
    let shared = Arc::clone(&caller.shared);
    shared.errands.spawn(async move {
        let ran = running.await;
        keep_put_back(&caller, &row, put_back.try_iter().collect()).await;
        let (status, value, then) = judge(&caller, ran, false);
        row.status = status;
        if let Some(entry) = kept {
            keep::settle(&caller, entry, status).await;
        }
        complete(&caller, row, value, 0, then).await;
    });
}

fn succeeded(value: Value) -> Value {
    with_first("success", Value::Bool(true), value)
}

fn failed(failure: &Failure, details: Value) -> Value {
    let mut value = json!({"success": false, "error": failure.message, "code": failure.code.as_str()});
    if let (Value::Object(fields), Value::Object(details)) = (&mut value, details) {
        fields.extend(details);
    }
    value
}

fn with_first(name: &str, first: Value, rest: Value) -> Value {
    let mut fields = Map::new();
    fields.insert(name.to_owned(), first);
    match rest {
        Value::Object(rest) => fields.extend(rest.into_iter().filter(|(key, _)| key != name)),
        Value::Null => {}
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            fields.insert("value".to_owned(), other);
        }
    }
    Value::Object(fields)
}

/// What a call reads or changes, for "unchanged since it was read".
struct Touched {
    is_read: bool,
    files: Vec<(std::path::PathBuf, crate::workspace::Identity)>,
}

impl Touched {
    fn of(plan: &Plan) -> Self {
        let is_read = plan.facts.access == Access::Read && plan.def.risk_level <= RiskLevel::Low;
        let files = plan.targets.iter().map(|target| (target.resolved().to_path_buf(), target.identity())).collect();
        Self { is_read, files }
    }

    fn note(&self, caller: &Caller) {
        for (path, identity) in &self.files {
            if self.is_read {
                caller.transcript.note_read(path, *identity);
            } else {
                caller.transcript.forget_read(path);
            }
        }
    }
}

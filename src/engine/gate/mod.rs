//! The one way to a tool. Every call of every kind goes through [`pass`], in this order: arguments, schema, switched on,
//! policy on the text, resolve by handle, policy on what it resolved to, is a yes needed, confirmation, verify, ledger row,
//! run with that handle, result filtered, ledger completed.
//!
//! Nothing fails open: what cannot be judged, asked or recorded is not run. Only `run` issues a `Permit`.

mod approval;
mod ask;
mod claim;
mod dry_run;
mod examine;
mod filter;
mod keep;
mod line;
mod plan;
mod record;
mod remote;
mod run;
mod tree;

pub(super) use claim::wait as wait_for_claim;
pub(super) use filter::for_model;
pub(super) use line::{Line, Place};
pub(super) use remote::Remote;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt as _;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::{AfterCall, cancelled_words};
use crate::ir::{
    AuditAct, AuditEntry, AuditOrigin, CallId, CallRecord, CallStatus, Code, Decider, Error, ErrorCode, Failure,
    MessageId, MessageRecord, RuleId, ToolCall, ToolResult, Verdict,
};
use crate::policy::Origin;
use crate::port::TurnOptions;
use crate::tool::schema::MAX_ARGUMENT_BYTES;

use super::coercion::shorten_oversized;
use super::fault::Fault;
use super::shared::Shared;
use super::transcript::Transcript;

/// Who calls, from where.
pub(super) struct Caller {
    pub(super) shared: Arc<Shared>,
    pub(super) transcript: Arc<Transcript>,
    pub(super) options: Arc<TurnOptions>,
    pub(super) origin: Origin,
    /// The message that asks for the calls.
    pub(super) message: Option<MessageId>,
    /// The model that asks; empty for the command line.
    pub(super) model: String,
    /// The model's own words before the calls.
    pub(super) model_words: String,
    /// Whether the results go to a model on another machine.
    pub(super) is_for_elsewhere: bool,
    /// What the results of its calls came to, in bytes.
    pub(super) given_bytes: AtomicU64,
    /// Where the turn hears that a call waits.
    pub(super) notices: Option<mpsc::Sender<Notice>>,
    /// What holds besides for a call over the device link.
    pub(super) remote: Option<Remote>,
}

/// What a turn must know while a call is at the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    Waiting(CallId),
    Answered(CallId),
}

/// A call that is over.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) result: ToolResult,
    pub(super) then: AfterCall,
    /// Its row of the ledger.
    pub(super) row: CallRecord,
}

/// Why a call is not run.
#[derive(Debug)]
struct Refusal {
    failure: Failure,
    status: CallStatus,
    decider: Option<Decider>,
    /// The rule that says so.
    rule: Option<RuleId>,
    /// The person's words.
    reason: Option<String>,
    then: AfterCall,
}

/// Lets a call through, or not. Never fails: whatever happens is a result for the model and a row of the ledger, a fault
/// of the gate itself too.
pub(super) async fn pass(caller: Arc<Caller>, call: ToolCall, place: Place, cancel: CancellationToken) -> Outcome {
    let passing = AssertUnwindSafe(Box::pin(pass_inner(Arc::clone(&caller), call.clone(), place, cancel)));
    match passing.catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => broken(&caller, call).await,
    }
}

async fn broken(caller: &Caller, call: ToolCall) -> Outcome {
    let words = "The call broke inside Nod. Check its target before you go on.";
    tracing::error!(call = %call.id, "the gate broke");
    let row = CallRecord { status: CallStatus::Unknown, ..new_row(caller, call) };
    let value = json!({"success": false, "error": words, "code": Code::IoError.as_str()});
    complete(caller, row, value, 0, AfterCall::Fail(Error::new(ErrorCode::Unknown, words))).await
}

async fn pass_inner(caller: Arc<Caller>, mut call: ToolCall, place: Place, cancel: CancellationToken) -> Outcome {
    step("received", &call.id);
    let is_oversized = shorten_oversized(&mut call);
    let mut row = new_row(&caller, call);
    if let Err(error) = caller.transcript.insert_call(&row).await {
        let failure = Failure::new(Failure::from(error).code, "The call could not be recorded, so it was not run.");
        return refused(&caller, row, failure.into()).await;
    }
    step("recorded", &row.call.id);
    if is_oversized {
        let words = format!("The arguments are longer than {MAX_ARGUMENT_BYTES} bytes.");
        return refused(&caller, row, Failure::new(Code::ContentTooLarge, words).into()).await;
    }
    let judged = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Refusal::cancelled(&caller)),
        judged = approval::approve(&caller, &mut row, &place) => judged,
    };
    match judged {
        Ok(cleared) => run::run(&caller, row, cleared, cancel).await,
        Err(refusal) => refused(&caller, row, refusal).await,
    }
}

/// One step of the gate is done: for the log, and for whoever wants to know where it stands.
fn step(name: &'static str, call: &CallId) {
    tracing::debug!(target: "nod::gate", step = name, %call, "gate");
}

/// Records a call that was asked for in an answer that broke off: it is never run.
pub(super) async fn record_unrun(
    shared: &Shared,
    transcript: &Transcript,
    asking: &MessageRecord,
    call: ToolCall,
) -> Result<(), Fault> {
    let now = shared.now();
    let args_hash = crate::tool::schema::args_hash(&call.args);
    let row = CallRecord::new(call, asking.session.clone(), Some(asking.id.clone()), now);
    let row = CallRecord { args_hash, status: CallStatus::Cancelled, finished_at: Some(now), ..row };
    let line = AuditEntry::of_call(now, AuditAct::Ended, AuditOrigin::Model, &row);
    Ok(transcript
        .insert_call_audited(&row, AuditEntry { outcome: Code::Cancelled.as_str().to_owned(), ..line })
        .await?)
}

fn new_row(caller: &Caller, call: ToolCall) -> CallRecord {
    let args_hash = crate::tool::schema::args_hash(&call.args);
    let row = CallRecord::new(call, caller.transcript.id().clone(), caller.message.clone(), caller.shared.now());
    CallRecord { args_hash, ..row }
}

/// The end of a call that was not run.
async fn refused(caller: &Caller, mut row: CallRecord, refusal: Refusal) -> Outcome {
    let Refusal { failure, status, decider, rule, reason, then } = refusal;
    row.status = status;
    row.reason = reason;
    if status == CallStatus::Denied {
        row.verdict = Some(Verdict::Denied);
        row.decider = decider;
        row.grounds.rule = rule;
    }
    tracing::info!(tool = %row.call.name, code = failure.code.as_str(), ?decider, "a call was not run");
    let mut value = json!({"success": false, "error": failure.message, "code": failure.code.as_str()});
    if let (Some(reason), Some(fields)) = (&row.reason, value.as_object_mut()) {
        fields.insert("reason".into(), reason.as_str().into());
    }
    if let (Some(decider), Code::ConfirmationRejected, Some(fields)) = (decider, failure.code, value.as_object_mut()) {
        fields.insert("decider".into(), json!(decider));
    }
    complete(caller, row, value, 0, then).await
}

/// Keeps the result, in the ledger and for the model.
async fn complete(
    caller: &Caller,
    mut row: CallRecord,
    value: serde_json::Value,
    duration_ms: u64,
    then: AfterCall,
) -> Outcome {
    let now = caller.shared.now();
    let raw = value.to_string();
    caller.given_bytes.fetch_add(raw.len() as u64, Ordering::Relaxed);
    let summary = filter::differing(&value, &raw);
    drop(raw);
    let result = ToolResult {
        tool_call_id: row.call.id.clone(),
        tool_name: row.call.name.clone(),
        summary,
        success: value.get("success").and_then(serde_json::Value::as_bool).unwrap_or(false),
        error: value.get("error").and_then(serde_json::Value::as_str).map(str::to_owned),
        result: value,
        duration_ms,
        timestamp: now,
    };
    row.finished_at = Some(now);
    row.result = Some(result.clone());
    let line = record::ended(caller, &row, &result.result, duration_ms);
    if let Err(error) = caller.transcript.update_call_audited(&row, line).await {
        // What happened has happened: the model and the person get to know it, and the row reads "unknown" at the next start.
        tracing::error!(%error, "the end of a call could not be recorded");
        caller.shared.report(error.into()).await;
    }
    step("ended", &row.call.id);
    Outcome { result, then, row }
}

impl Refusal {
    fn denied(failure: Failure, decider: Decider) -> Self {
        Self {
            failure,
            status: CallStatus::Denied,
            decider: Some(decider),
            rule: None,
            reason: None,
            then: AfterCall::GoOn,
        }
    }

    /// Refused by a rule, or by whoever decides without one.
    fn denied_by(failure: Failure, decider: Decider, rule: Option<RuleId>) -> Self {
        Self { rule, ..Self::denied(failure, decider) }
    }

    fn cancelled(caller: &Caller) -> Self {
        Self {
            failure: Failure::new(Code::Cancelled, cancelled_words(caller.shared.language())),
            status: CallStatus::Cancelled,
            decider: None,
            rule: None,
            reason: None,
            then: AfterCall::GoOn,
        }
    }
}

/// A failure found out before anybody was asked: a refusal by the rules of the house, or a call that makes no sense.
impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let is_denial = match failure.code {
            Code::ToolNotEnabled
            | Code::PathOutOfScope
            | Code::AbsolutePathDenied
            | Code::SensitivePathDenied
            | Code::BlockedPathDenied
            | Code::ProtectedPathDenied
            | Code::SpecialFileDenied
            | Code::CommandDenied
            | Code::UnconfinedDenied
            | Code::UrlDenied
            | Code::IdempotencyConflict
            | Code::ConfirmationRejected => true,
            Code::InvalidArguments
            | Code::ToolNotAvailable
            | Code::ToolChanged
            | Code::PathInvalid
            | Code::PathNotFound
            | Code::NotAFile
            | Code::NotADirectory
            | Code::DirectoryNotEmpty
            | Code::FileTooLarge
            | Code::BinaryFile
            | Code::ContentTooLarge
            | Code::EditNotFound
            | Code::EditAmbiguous
            | Code::TargetChanged
            | Code::RateLimited
            | Code::RequestExpired
            | Code::Cancelled
            | Code::TimedOut
            | Code::IoError
            | Code::NoSpace
            | Code::PermissionDenied => false,
        };
        if is_denial {
            return Self::denied(failure, Decider::BuiltIn);
        }
        Self { failure, status: CallStatus::Failed, decider: None, rule: None, reason: None, then: AfterCall::GoOn }
    }
}

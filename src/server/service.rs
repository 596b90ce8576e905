//! One call of a device's tool, from the intention to its end: write down, dispatch, wait, reconcile.
//!
//! The order is fixed: the ledger first, then the device; on a result the ledger first, then whoever waits, then the
//! acknowledgement. No SQL and no WebSocket here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ir::{Clock, UnixMs};
use crate::link::thread::{CallStatus, rfc3339};
use crate::link::wire::{CallError, CallRequest, CallResult, FromServer, OfferedTool, arguments_hash};

use super::bus::{Bus, News, Question, Reply};
use super::connection::{Connection, Connections, Device, Rank, Woken};
use super::ledger::{Begun, Ended, GivenUp, LedgerError, NewAttempt, NewResult, Recorded, SharedLedger};
use super::metrics::Metrics;
use super::name;

/// A desktop must not begin this close to the end of the wait.
const MARGIN: Duration = Duration::from_secs(5);
/// How often a connection that another process holds is asked after while a call is out on it. That process may have died.
const ASK_AFTER: Duration = Duration::from_secs(3);
/// What is kept of a device's words about a failure, in bytes.
const ERROR_BYTES: usize = 4 << 10;

/// The calls of a server.
pub(super) struct Calls {
    pub(super) ledger: SharedLedger,
    pub(super) connections: Arc<Connections>,
    pub(super) bus: Arc<dyn Bus>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) clock: Clock,
    /// This process.
    pub(super) replica: String,
    /// The ids of its dispatches.
    pub(super) dispatches: Series,
    /// How long a result is waited for.
    pub(super) wait: Duration,
}

/// Who calls, in what.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) user: String,
    /// None was chosen for the run.
    pub(super) device_id: Option<String>,
    pub(super) thread_id: String,
    pub(super) run_id: String,
}

/// What a model or a developer wants.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) tool_call_id: String,
    pub(super) tool_name: String,
    pub(super) arguments: Value,
}

/// A device as it is connected, here or elsewhere.
struct Found {
    rank: Rank,
    tools: Arc<Vec<OfferedTool>>,
    /// `None` when another process holds it.
    here: Option<Arc<Connection>>,
}

impl Calls {
    /// Runs a tool of a device, at most once, and says how that ended. `cancel` takes the call back.
    ///
    /// # Errors
    /// A call that did not succeed, with its stable code.
    pub(super) async fn call(
        &self,
        context: &Context,
        wanted: Wanted,
        cancel: &CancellationToken,
    ) -> Result<Value, CallError> {
        let answer = self.call_inner(context, wanted, cancel).await;
        self.metrics.call_ended(answer.as_ref().map_or_else(|error| error.code.as_str(), |_| "succeeded"));
        answer
    }

    async fn call_inner(
        &self,
        context: &Context,
        wanted: Wanted,
        cancel: &CancellationToken,
    ) -> Result<Value, CallError> {
        let Some(device_id) = &context.device_id else {
            return Err(error("DESKTOP_DEVICE_NOT_SELECTED", "No computer was chosen for this conversation."));
        };
        let device = Device { user: context.user.clone(), id: device_id.clone() };
        let Some(found) = self.find(&device).await? else {
            return Err(error("DEVICE_OFFLINE", "The person's computer is not connected."));
        };
        let Some(tool) = found.tools.iter().find(|tool| tool.name == wanted.tool_name) else {
            return Err(error("TOOL_NOT_AVAILABLE", "The person's computer does not offer this tool."));
        };
        let hash = arguments_hash(&wanted.arguments)
            .map_err(|_unwritable| error("INVALID_ARGUMENTS", "The arguments hold a number that JSON cannot carry."))?;
        let execution_id = self.dispatches.next();
        let mut wait = self.connections.wait(&wanted.tool_call_id, &execution_id, &device, &found.rank);
        let now = (self.clock)();
        let begun = self.ledger.begin_attempt(NewAttempt {
            tool_call_id: wanted.tool_call_id.clone(),
            user: context.user.clone(),
            device_id: device_id.clone(),
            thread_id: context.thread_id.clone(),
            run_id: context.run_id.clone(),
            tool_name: wanted.tool_name.clone(),
            arguments: wanted.arguments.clone(),
            arguments_hash: hash.clone(),
            execution_id: execution_id.clone(),
            connection_id: found.rank.connection_id.clone(),
            replica: self.replica.clone(),
            now,
        });
        let attempt_no = match begun.await? {
            Begun::Dispatch { attempt_no } => {
                step("begun");
                attempt_no
            }
            Begun::Ended(ended) => return outcome(ended),
            Begun::Conflict => {
                return Err(error("IDEMPOTENCY_CONFLICT", "This call was made before with other arguments."));
            }
        };
        let request = Box::new(CallRequest {
            tool_call_id: wanted.tool_call_id.clone(),
            execution_id: execution_id.clone(),
            attempt_no,
            run_id: context.run_id.clone(),
            device_id: device_id.clone(),
            tool_name: wanted.tool_name,
            tool_version: tool.version.clone(),
            arguments: wanted.arguments,
            arguments_hash: hash,
            requires_confirmation: tool.requires_confirmation,
            execution_timeout_ms: tool.timeout_ms,
            expires_at: rfc3339(self.expiry(now, Duration::from_millis(tool.timeout_ms))),
        });
        let call = Dispatched {
            calls: self,
            device: &device,
            rank: &found.rank,
            tool_call_id: &wanted.tool_call_id,
            execution_id: &execution_id,
            attempt_no,
        };
        if !self.dispatch(&device, &found, request).await {
            // Whoever holds the device may have sent it all the same, and only not have said so in time.
            return call.lost(TakeBack::Yes).await;
        }
        step("dispatched");
        let timeout = tokio::time::sleep(self.wait);
        let gone = self.gone_elsewhere(&device, &found);
        // News of a result may be lost on its way between processes; the ledger knows.
        let look = tokio::time::sleep(ASK_AFTER);
        tokio::pin!(timeout, gone, look);
        loop {
            let woken = tokio::select! {
                biased;
                woken = wait.next() => woken,
                () = cancel.cancelled() => return call.cancelled().await,
                () = &mut gone => Woken::Lost,
                () = &mut look, if found.here.is_none() => {
                    look.as_mut().reset(Instant::now() + ASK_AFTER);
                    Woken::Result(None)
                }
                () = &mut timeout => return call.timed_out().await,
            };
            match woken {
                Woken::Result(Some(ended)) if ended.status.is_final() => return outcome(Arc::unwrap_or_clone(ended)),
                // It may be that of an earlier dispatch, written before this one was.
                Woken::Result(_) => match call.ended().await {
                    Ok(Some(ended)) => return outcome(ended),
                    Ok(None) => {}
                    // It is asked again; nothing is given up because a database stands still.
                    Err(fault) => tracing::warn!(error = %fault, "the ledger did not say whether a call has ended"),
                },
                Woken::Lost => return call.lost(TakeBack::No).await,
            }
        }
    }

    /// Do not start after this.
    fn expiry(&self, now: UnixMs, execution: Duration) -> UnixMs {
        let spare = self.wait.saturating_sub(execution).saturating_sub(MARGIN);
        UnixMs(now.0.saturating_add(i64::try_from(spare.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Where a device is connected.
    async fn find(&self, device: &Device) -> Result<Option<Found>, CallError> {
        if let Some(here) = self.connections.get(device) {
            return Ok(Some(Found { rank: here.rank.clone(), tools: here.tools(), here: Some(here) }));
        }
        match self.bus.ask(device, Question::Describe).await {
            Ok(Some(Reply::Device { rank, tools })) => Ok(Some(Found { rank, tools: Arc::new(tools), here: None })),
            Ok(Some(Reply::Sent | Reply::Gone) | None) => Ok(None),
            Err(fault) => {
                tracing::error!(error = %fault, "the bus");
                Err(error("DEVICE_OFFLINE", "The person's computer cannot be reached at the moment."))
            }
        }
    }

    /// Returns when the connection that another process held is there no more. One that is here ends in the table.
    async fn gone_elsewhere(&self, device: &Device, found: &Found) {
        if found.here.is_some() {
            return std::future::pending().await;
        }
        let mut unanswered = 0;
        while unanswered < 2 {
            tokio::time::sleep(ASK_AFTER).await;
            match self.bus.ask(device, Question::Describe).await {
                Ok(Some(Reply::Device { rank, .. })) if rank == found.rank => unanswered = 0,
                Ok(Some(Reply::Device { .. } | Reply::Sent | Reply::Gone)) => return,
                // Once may be a busy moment.
                Ok(None) => unanswered += 1,
                Err(fault) => {
                    tracing::warn!(error = %fault, "the bus; the time-out ends the call if nothing else does");
                }
            }
        }
    }

    async fn dispatch(&self, device: &Device, found: &Found, request: Box<CallRequest>) -> bool {
        if let Some(here) = &found.here {
            return here.send(FromServer::Request(request));
        }
        let question = Question::Dispatch { connection_id: found.rank.connection_id.clone(), request };
        matches!(self.bus.ask(device, question).await, Ok(Some(Reply::Sent)))
    }

    /// Takes a call back on its device, wherever that is connected; with a connection, only on that: a device that hears it
    /// over a newer one would take it for that of a later dispatch.
    pub(super) async fn take_back(&self, device: &Device, over: Option<&Rank>, tool_call_id: &str, reason: &str) {
        let (tool_call_id, reason) = (tool_call_id.to_owned(), reason.to_owned());
        if let Some(here) = self.connections.get(device) {
            if over.is_none_or(|over| *over == here.rank) {
                here.send(FromServer::Cancel { tool_call_id, reason });
            }
            return;
        }
        let connection_id = over.map(|over| over.connection_id.clone());
        let question = Question::Cancel { connection_id, tool_call_id, reason };
        if let Err(fault) = self.bus.ask(device, question).await {
            tracing::warn!(error = %fault, "a cancel did not go out; the device's time-out ends the call");
        }
    }

    /// Takes a device's result in: written, then whoever waits is woken. True when it may be acknowledged.
    pub(super) async fn take_result(&self, device: &Device, result: CallResult) -> Result<bool, LedgerError> {
        let tool_call_id = result.tool_call_id.clone();
        let error = result.error.map(|CallError { mut code, mut message }| {
            // A code is one of ours or none: it is shown as it is.
            if !name::is_code(&code) {
                "DEVICE_ERROR".clone_into(&mut code);
            }
            message.retain(|letter| letter == '\n' || !letter.is_control());
            message.truncate(message.floor_char_boundary(ERROR_BYTES));
            CallError { code, message }
        });
        let status = CallStatus::from(result.status);
        // What did not succeed gave nothing.
        let output = result.output.filter(|_| status == CallStatus::Succeeded);
        let ended = Arc::new(Ended { status, output, error });
        let recorded = self
            .ledger
            .record_result(NewResult {
                user: device.user.clone(),
                device_id: device.id.clone(),
                tool_call_id: tool_call_id.clone(),
                execution_id: result.execution_id,
                ended: Arc::clone(&ended),
                now: (self.clock)(),
            })
            .await?;
        match recorded {
            Recorded::Written => {
                step("recorded");
                self.connections.resolve(&device.user, &tool_call_id, Some(&ended));
                self.tell(News::Result { user: device.user.clone(), tool_call_id }).await;
                step("told");
                Ok(true)
            }
            Recorded::AlreadyFinal => Ok(true),
            Recorded::Deleted => {
                tracing::info!(call = tool_call_id, "a result of a deleted conversation was dropped");
                Ok(true)
            }
            Recorded::NotKnown => Ok(false),
        }
    }

    /// A device has connected here.
    pub(super) async fn connected(&self, connection: Arc<Connection>) {
        let news = connection.registered();
        if self.connections.register(connection) {
            self.tell(news).await;
        }
    }

    /// A connection of this process has ended.
    pub(super) async fn disconnected(&self, connection: &Connection) {
        self.connections.unregister(connection);
        self.tell(News::Lost { connection_id: connection.id().to_owned() }).await;
    }

    async fn tell(&self, news: News) {
        if let Err(fault) = self.bus.tell(news).await {
            tracing::warn!(error = %fault, "news did not go out; others find out from the ledger or by their time-out");
        }
    }
}

/// Whether a device hears that a call is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakeBack {
    Yes,
    No,
}

/// A call that was sent and has no result yet.
struct Dispatched<'a> {
    calls: &'a Calls,
    device: &'a Device,
    /// The connection that carried it.
    rank: &'a Rank,
    tool_call_id: &'a str,
    execution_id: &'a str,
    attempt_no: u32,
}

impl Dispatched<'_> {
    /// Gives the dispatch up and says why, unless its result came at this very moment. With `take_back`, the device hears of
    /// it, unless somebody else still waits for the call.
    async fn give_up(&self, status: CallStatus, why: CallError, take_back: TakeBack) -> Result<Value, CallError> {
        let now = (self.calls.clock)();
        let user = &self.device.user;
        let given_up = self.calls.ledger.give_up(user, self.tool_call_id, self.execution_id, status, &why.code, now);
        let is_waited_for = match given_up.await {
            Ok(GivenUp::Neither) => return self.read().await,
            Ok(GivenUp::Call) => false,
            Ok(GivenUp::DispatchOnly) => true,
            Err(fault) => {
                // The row still reads `dispatched`: the next start, or the device's report, puts that right.
                tracing::error!(error = %fault, call = self.tool_call_id, "a call could not be given up");
                false
            }
        };
        if take_back == TakeBack::Yes && !is_waited_for {
            self.calls.take_back(self.device, Some(self.rank), self.tool_call_id, &why.code).await;
        }
        Err(why)
    }

    async fn lost(&self, take_back: TakeBack) -> Result<Value, CallError> {
        let words = "The connection to the person's computer was lost; whether the call ran is not known. Do not repeat \
                     it by yourself.";
        self.give_up(CallStatus::Unknown, error("RESULT_UNKNOWN", words), take_back).await
    }

    async fn timed_out(&self) -> Result<Value, CallError> {
        let why = error("TIMED_OUT", "The person's computer did not answer in time.");
        self.give_up(CallStatus::TimedOut, why, TakeBack::Yes).await
    }

    async fn cancelled(&self) -> Result<Value, CallError> {
        self.give_up(CallStatus::Unknown, error("RUN_CANCELLED", "The turn was stopped."), TakeBack::Yes).await
    }

    /// The result as the ledger has it.
    async fn read(&self) -> Result<Value, CallError> {
        let call = self.calls.ledger.call(&self.device.user, self.tool_call_id).await?.ok_or_else(deleted)?;
        outcome(Ended { status: call.status, output: call.output, error: call.error })
    }

    /// The result as the ledger has it, if this dispatch has ended.
    async fn ended(&self) -> Result<Option<Ended>, LedgerError> {
        let Some(call) = self.calls.ledger.call(&self.device.user, self.tool_call_id).await? else {
            return Ok(Some(Ended { status: CallStatus::Unknown, output: None, error: Some(deleted()) }));
        };
        let mut own = call.executions.iter().filter(|execution| execution.attempt_no == self.attempt_no);
        if own.any(|execution| execution.status == CallStatus::Dispatched) {
            return Ok(None);
        }
        Ok(Some(Ended { status: call.status, output: call.output, error: call.error }))
    }
}

fn deleted() -> CallError {
    error("RESULT_UNKNOWN", "The call was deleted while it ran.")
}

fn outcome(ended: Ended) -> Result<Value, CallError> {
    if ended.status == CallStatus::Succeeded {
        return Ok(ended.output.unwrap_or(Value::Null));
    }
    Err(ended.error.unwrap_or_else(|| error("RESULT_UNKNOWN", "The call ended without a result.")))
}

/// An error for the model, with its stable code.
pub(super) fn error(code: &str, message: &str) -> CallError {
    CallError { code: code.to_owned(), message: message.to_owned() }
}

impl From<LedgerError> for CallError {
    fn from(fault: LedgerError) -> Self {
        tracing::error!(error = %fault, "the ledger");
        error("IO_ERROR", "The server could not record the call, so it was not sent.")
    }
}

/// One step of a call is done: for the log, and for whoever wants to know where it stands.
pub(super) fn step(name: &'static str) {
    tracing::debug!(target: "nod::link", step = name, "a call");
}

/// Ids that nobody else gives, each without a question to the system, which an id of its own for every call would cost.
pub(super) struct Series {
    name: String,
    given: AtomicU64,
}

impl Default for Series {
    fn default() -> Self {
        Self { name: unique(), given: AtomicU64::new(0) }
    }
}

impl Series {
    fn next(&self) -> String {
        format!("{}.{}", self.name, self.given.fetch_add(1, Ordering::Relaxed))
    }
}

/// A new id; later ones sort after earlier ones.
pub(super) fn unique() -> String {
    uuid::Uuid::now_v7().to_string()
}

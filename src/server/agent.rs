//! One run of the server's agent: the same machine as on the desktop, with tools on the person's computer in place of its
//! own, and its answer as AG-UI events. Everything said is in the ledger before it counts as said.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::agent::{
    AfterCall, Effect, Input, Machine, Outcome, PromptLanguage, PromptParts, RoundEnd, TurnConfig, cancelled_words,
    history_for_model, system_prompt,
};
use crate::engine::mend_arguments;
use crate::ir::{
    Accumulator, CallId, Clock, Error, ErrorCode, GenerationParams, Message, MessageStatus, Request, RequestId,
    RequestMeta, Response, Role, SessionId, StreamBody, StreamEvent, TokenUsage, ToolCall, ToolDef, ToolResult,
};
use crate::link::agui::{AGUI_VERSION, Event, Finish, Speaker, Usage};
use crate::link::thread::{Prepared, RunStatus};
use crate::link::wire::CallError;
use crate::policy::escape_json;
use crate::provider::Provider;
use crate::provider::retry::{Decision, Shown, decide};
use crate::tool::schema::validate;

use super::ledger::{LedgerError, RunEnd, RunStart, SharedLedger};
use super::name;
use super::service::{Calls, Context, Wanted, error, unique};
use super::tool::{self, Place};

/// Requests to the model in one run.
const MOST_ROUNDS: u32 = 10;
/// Calls of tools in one run.
const MOST_CALLS: usize = 16;
/// How much longer than the wait for a result a call may take in all.
const CALL_MARGIN: Duration = Duration::from_secs(10);
/// How long a client may take to read one event; then it counts as gone.
const CLIENT_WAIT: Duration = Duration::from_mins(1);
/// How long the ledger may take to keep the end of a run, and how often it is asked to. After that the run is
/// `interrupted`.
const END_WAIT: Duration = Duration::from_secs(30);
const END_EVERY: Duration = Duration::from_secs(1);
/// Events that may wait for a client that reads slowly; then the model's stream is slowed.
pub(super) const EVENTS: usize = 256;

/// The server's agent.
pub(super) struct Agent {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) model: String,
    pub(super) calls: Arc<Calls>,
    pub(super) ledger: SharedLedger,
    pub(super) clock: Clock,
}

/// A run under way.
struct Run<'a> {
    agent: &'a Agent,
    context: Context,
    ids: Prepared,
    history: Vec<(Message, MessageStatus)>,
    tools: Vec<(ToolDef, Place)>,
    events: mpsc::Sender<Event>,
    cancel: CancellationToken,
    usage: TokenUsage,
    calls_made: usize,
}

impl Agent {
    /// Answers a prepared turn. `cancel` stops it, and so does a client that has gone away.
    pub(super) async fn run(
        &self,
        user: &str,
        start: RunStart,
        events: mpsc::Sender<Event>,
        cancel: CancellationToken,
    ) {
        let RunStart { ids, device_id, history } = start;
        let run_id = ids.run_id.clone();
        let context =
            Context { user: user.to_owned(), device_id, thread_id: ids.thread_id.clone(), run_id: run_id.clone() };
        let started = Event::RunStarted {
            thread_id: ids.thread_id.clone(),
            run_id: run_id.clone(),
            protocol_version: AGUI_VERSION.to_owned(),
        };
        let mut run = Run {
            agent: self,
            context,
            ids,
            history: history.into_iter().map(|message| (message, MessageStatus::Complete)).collect(),
            tools: tool::all(),
            events,
            cancel,
            usage: TokenUsage::default(),
            calls_made: 0,
        };
        run.say(started).await;
        let outcome = match run.drive().await {
            Ok(outcome) => outcome,
            Err(fault) => {
                tracing::error!(error = %fault, "a run could not be recorded");
                Outcome::Failed(Error::new(ErrorCode::Unknown, "The server could not record the conversation."))
            }
        };
        let (status, problem) = match outcome {
            Outcome::Done => (RunStatus::Succeeded, None),
            Outcome::Failed(error) => (RunStatus::Failed, Some(error)),
            Outcome::Limit(error) => (RunStatus::Limited, Some(error)),
            Outcome::Denied | Outcome::Stopped => (RunStatus::Cancelled, None),
        };
        let end =
            RunEnd { status, error: problem.as_ref().map(|error| error.message.clone()), usage: run.usage_if_any() };
        // Written before it is told, so that who hears of the end finds it.
        self.keep_end(user, &run_id, end).await;
        let finish = if status == RunStatus::Cancelled { Finish::Cancelled } else { Finish::Success };
        run.say_end(finish, problem).await;
    }
}

impl Agent {
    /// Writes the end of a run down, also when the ledger is away for a moment.
    async fn keep_end(&self, user: &str, run: &str, end: RunEnd) {
        let until = tokio::time::Instant::now() + END_WAIT;
        while let Err(fault) = self.ledger.end_run(user, run, end.clone(), (self.clock)()).await {
            tracing::error!(error = %fault, "the end of a run could not be recorded");
            if tokio::time::Instant::now() >= until {
                return;
            }
            tokio::time::sleep(END_EVERY).await;
        }
    }
}

impl Run<'_> {
    async fn drive(&mut self) -> Result<Outcome, LedgerError> {
        let mut machine = Machine::new(TurnConfig { max_rounds: MOST_ROUNDS, rounds_done: 0 });
        let mut effects: VecDeque<Effect> = machine.step(Input::Start).into();
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Send { round } => {
                    let input = self.round(round).await?;
                    effects.extend(machine.step(input));
                }
                Effect::Append(message) => self.keep(message).await?,
                Effect::Run(calls) => {
                    // One after the other: a person answers one question at a time.
                    for call in calls {
                        let result = self.call(&call).await;
                        if self.cancel.is_cancelled() {
                            effects.extend(machine.step(Input::Stop { partial: None }));
                        }
                        effects.extend(machine.step(Input::CallEnded { result, then: AfterCall::GoOn }));
                    }
                }
                Effect::Compress => effects.extend(machine.step(Input::Compressed)),
                Effect::End(outcome) => return Ok(outcome),
                Effect::Enter(_) | Effect::AbortRequest | Effect::CancelCalls(_) => {}
            }
        }
        Ok(Outcome::Stopped)
    }

    /// Adds a message to the thread, unless it is the answer that was added before its calls were run.
    async fn keep(&mut self, message: Message) -> Result<(), LedgerError> {
        if self.history.last().is_some_and(|(last, _)| *last == message) {
            return Ok(());
        }
        let kept = self.agent.ledger.append_message(&self.context.user, &self.ids, message).await?;
        let status = if self.cancel.is_cancelled() { MessageStatus::Stopped } else { MessageStatus::Complete };
        self.history.push((kept, status));
        Ok(())
    }

    /// One request to the model, tried again while nothing of it was shown.
    async fn round(&mut self, round: u32) -> Result<Input, LedgerError> {
        let mut retries = 0;
        loop {
            let mut answer = Answer::new(unique());
            let request = self.request(round);
            let (sender, mut stream) = mpsc::channel(EVENTS);
            let response = self.send(request, sender);
            let cancel = self.cancel.clone();
            loop {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => {
                        self.say_all(answer.close()).await;
                        return Ok(Input::Stop { partial: Some(answer.message(round, None, (self.agent.clock)())) });
                    }
                    event = stream.recv() => match event {
                        Some(event) => {
                            let said = answer.take(event);
                            self.say_all(said).await;
                        }
                        None => break,
                    },
                }
            }
            let error = match response.await {
                Ok(Ok(response)) => return self.answered(round, answer, response).await,
                Ok(Err(error)) => error,
                Err(broken) => {
                    tracing::error!(%broken, "a provider's task broke");
                    Error::new(ErrorCode::Unknown, "The connection to the model broke.")
                }
            };
            let shown = if answer.has_shown { Shown::Something } else { Shown::Nothing };
            // Half a share of chance: many runs that failed together do not come back together.
            match decide(&error, retries, shown, 0.5) {
                Decision::Retry { wait_ms } => {
                    retries += 1;
                    tokio::select! {
                        () = cancel.cancelled() => return Ok(Input::Stop { partial: None }),
                        () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {}
                    }
                }
                Decision::GiveUp => {
                    self.say_all(answer.close()).await;
                    let partial = answer.has_shown.then(|| answer.message(round, None, (self.agent.clock)()));
                    return Ok(Input::RoundFailed { partial, error });
                }
            }
        }
    }

    /// The whole answer is kept before its calls are told of: they have the ids that the thread gives them.
    async fn answered(&mut self, round: u32, mut answer: Answer, response: Response) -> Result<Input, LedgerError> {
        self.say_all(answer.close()).await;
        self.usage.input_tokens += response.usage.input_tokens;
        self.usage.output_tokens += response.usage.output_tokens;
        self.usage.total_tokens += response.usage.total_tokens;
        let mut message = answer.message(round, Some(&response), (self.agent.clock)());
        for call in message.tool_calls.iter_mut().flatten() {
            // The model's own id goes over the wire and into addresses: one that cannot gets another.
            if !name::is_name(call.id.as_str()) {
                call.id = CallId::new(unique());
            }
            if let Some((def, _)) = self.tools.iter().find(|(def, _)| def.name == call.name) {
                mend_arguments(call, def);
            }
        }
        self.keep(message).await?;
        let message = self
            .history
            .last()
            .map_or_else(|| Message::text(Role::Assistant, "", (self.agent.clock)()), |(message, _)| message.clone());
        for call in message.calls() {
            let id = self.full_id(call);
            self.say_all([
                Event::ToolCallStart {
                    tool_call_id: id.clone(),
                    tool_call_name: call.name.clone(),
                    parent_message_id: answer.id.clone(),
                },
                Event::ToolCallArgs { tool_call_id: id.clone(), delta: call.args.to_string() },
                Event::ToolCallEnd { tool_call_id: id },
            ])
            .await;
        }
        let finish_reason = response.finish_reason;
        Ok(Input::RoundEnded(RoundEnd { message, finish_reason, needs_compression: false }))
    }

    /// Runs one call and tells its result.
    async fn call(&mut self, call: &ToolCall) -> ToolResult {
        let began = (self.agent.clock)();
        self.calls_made += 1;
        let value = match self.run_call(call).await {
            Ok(data) => json!({"success": true, "data": data}),
            Err(CallError { code, message }) => json!({"success": false, "code": code, "error": message}),
        };
        let now = (self.agent.clock)();
        let raw = value.to_string();
        let summary = match escape_json(&raw) {
            Cow::Borrowed(_) => None,
            Cow::Owned(shown) => Some(shown),
        };
        let result = ToolResult {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            success: value.get("success") == Some(&Value::Bool(true)),
            error: value.get("error").and_then(Value::as_str).map(str::to_owned),
            result: value,
            summary,
            duration_ms: now.since(began),
            timestamp: now,
        };
        self.say(Event::ToolCallResult {
            message_id: unique(),
            tool_call_id: self.full_id(call),
            content: result.for_model(),
            role: Speaker::Tool,
        })
        .await;
        result
    }

    async fn run_call(&self, call: &ToolCall) -> Result<Value, CallError> {
        if self.cancel.is_cancelled() {
            return Err(error("CANCELLED", cancelled_words(PromptLanguage::English)));
        }
        if self.calls_made > MOST_CALLS {
            return Err(error("RATE_LIMITED", "There are at most 16 calls of tools in one turn."));
        }
        let Some((def, place)) = self.tools.iter().find(|(def, _)| def.name == call.name) else {
            let names: Vec<&str> = self.tools.iter().map(|(def, _)| def.name.as_str()).collect();
            let words = format!("There is no tool of that name. There are: {}.", names.join(", "));
            return Err(error("TOOL_NOT_AVAILABLE", &words));
        };
        if let Some(problem) = &call.parse_error {
            return Err(error("INVALID_ARGUMENTS", &format!("The arguments cannot be read: {problem}")));
        }
        validate(def, &call.args).map_err(|failure| error(failure.code.as_str(), &failure.message))?;
        match place {
            Place::Here(own) => tool::run(*own, &call.args, (self.agent.clock)()),
            Place::Desktop(name) => {
                let wanted = Wanted {
                    tool_call_id: self.full_id(call),
                    tool_name: (*name).to_owned(),
                    arguments: call.args.clone(),
                };
                let limit = self.agent.calls.wait + CALL_MARGIN;
                let ended = tokio::time::timeout(limit, self.call_to_its_end(wanted)).await;
                ended.unwrap_or_else(|_elapsed| Err(error("TIMED_OUT", "The server could not end the call in time.")))
            }
        }
    }

    /// A call with what it owes in the end: that is done also when nobody waits for it any more.
    #[expect(clippy::disallowed_methods, reason = "the server spawns; a call ends by its own time limit")]
    async fn call_to_its_end(&self, wanted: Wanted) -> Result<Value, CallError> {
        let (calls, context, cancel) = (Arc::clone(&self.agent.calls), self.context.clone(), self.cancel.clone());
        let call = tokio::spawn(async move { calls.call(&context, wanted, &cancel).await });
        call.await.unwrap_or_else(|broken| {
            tracing::error!(%broken, "a call broke");
            Err(error("RESULT_UNKNOWN", "The call broke; whether it ran is not known."))
        })
    }

    /// The same intention has the same id, however often it is sent.
    fn full_id(&self, call: &ToolCall) -> String {
        format!("{}:{}", self.ids.thread_id, call.id)
    }

    fn request(&self, round: u32) -> Request {
        let now = (self.agent.clock)();
        let names: Vec<String> = self.tools.iter().map(|(def, _)| def.name.clone()).collect();
        let language = PromptLanguage::English;
        Request {
            meta: RequestMeta {
                session_id: SessionId::new(self.ids.thread_id.clone()),
                iteration: round,
                request_id: RequestId::new(unique()),
                timestamp: now,
                agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            system_prompt: system_prompt(&PromptParts { language, folders: &[], tools: &names, own_prompt: "" }),
            messages: history_for_model(&self.history, language, now),
            tools: Some(self.tools.iter().map(|(def, _)| def.clone()).collect()),
            params: GenerationParams { temperature: Some(0.0), stream: Some(true), ..GenerationParams::default() },
            constraints: None,
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the server spawns; dropping the handle aborts the request")]
    fn send(&self, request: Request, events: mpsc::Sender<StreamEvent>) -> AbortOnDropHandle<Result<Response, Error>> {
        let (provider, model) = (Arc::clone(&self.agent.provider), self.agent.model.clone());
        AbortOnDropHandle::new(tokio::spawn(async move { provider.send_stream(&model, &request, events).await }))
    }

    /// Tells the client, which may take its time. One that has gone away cancels the run by that, and so does one that does
    /// not read; after a stop it is told what it has room for.
    async fn say(&self, event: Event) {
        let Err(TrySendError::Full(event)) = self.events.try_send(event) else { return };
        tokio::select! {
            _ = self.events.send(event) => {}
            () = self.cancel.cancelled() => {}
            () = tokio::time::sleep(CLIENT_WAIT) => {
                tracing::info!(run = self.ids.run_id, "a client does not read its answer");
                self.cancel.cancel();
            }
        }
    }

    async fn say_all(&self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.say(event).await;
        }
    }

    /// What was used of the model, once it has answered.
    fn usage_if_any(&self) -> Option<Usage> {
        let usage = Usage::of(self.agent.provider.provider_id(), &self.agent.model, self.usage);
        (self.usage != TokenUsage::default()).then_some(usage)
    }

    async fn say_end(&self, outcome: Finish, problem: Option<Error>) {
        let event = match problem {
            Some(error) => Event::RunError {
                code: serde_json::to_value(error.code)
                    .ok()
                    .and_then(|code| Some(code.as_str()?.to_owned()))
                    .unwrap_or_default(),
                message: error.message,
            },
            None => Event::RunFinished {
                thread_id: self.ids.thread_id.clone(),
                run_id: self.ids.run_id.clone(),
                outcome,
                usage: self.usage_if_any().into_iter().collect(),
            },
        };
        self.say(event).await;
    }
}

/// An answer as it comes in, and what of it is open on the client's side.
struct Answer {
    id: String,
    sum: Accumulator,
    open: Option<Open>,
    has_shown: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Reasoning,
    Text,
}

impl Answer {
    fn new(id: String) -> Self {
        Self { id, sum: Accumulator::default(), open: None, has_shown: false }
    }

    /// Takes an event of the model in; what the client is told of it.
    fn take(&mut self, event: StreamEvent) -> Vec<Event> {
        if let Err(fault) = self.sum.apply(&event) {
            tracing::error!(%fault, "a stream out of order");
            return Vec::new();
        }
        match event.body {
            StreamBody::ReasoningDelta { delta } if !delta.is_empty() => {
                let mut said = self.open(Open::Reasoning);
                said.push(Event::ReasoningMessageContent { message_id: self.part_id(Open::Reasoning), delta });
                said
            }
            StreamBody::TextDelta { delta } if !delta.is_empty() => {
                let mut said = self.open(Open::Text);
                said.push(Event::TextMessageContent { message_id: self.part_id(Open::Text), delta });
                said
            }
            StreamBody::ReasoningDelta { .. }
            | StreamBody::TextDelta { .. }
            | StreamBody::ThinkingStart
            | StreamBody::ThinkingEnd
            | StreamBody::ToolCallDelta { .. }
            | StreamBody::ToolCallComplete { .. }
            | StreamBody::Usage { .. }
            | StreamBody::Error { .. }
            | StreamBody::Done => Vec::new(),
        }
    }

    fn open(&mut self, part: Open) -> Vec<Event> {
        if self.open == Some(part) {
            return Vec::new();
        }
        let mut said = self.close();
        self.open = Some(part);
        self.has_shown = true;
        let message_id = self.part_id(part);
        match part {
            Open::Reasoning => said.extend([
                Event::ReasoningStart { message_id: message_id.clone() },
                Event::ReasoningMessageStart { message_id, role: Speaker::Reasoning },
            ]),
            Open::Text => said.push(Event::TextMessageStart { message_id, role: Speaker::Assistant }),
        }
        said
    }

    fn close(&mut self) -> Vec<Event> {
        let Some(part) = self.open.take() else { return Vec::new() };
        let message_id = self.part_id(part);
        match part {
            Open::Reasoning => {
                vec![Event::ReasoningMessageEnd { message_id: message_id.clone() }, Event::ReasoningEnd { message_id }]
            }
            Open::Text => vec![Event::TextMessageEnd { message_id }],
        }
    }

    fn part_id(&self, part: Open) -> String {
        match part {
            Open::Reasoning => format!("{}-thinking", self.id),
            Open::Text => self.id.clone(),
        }
    }

    fn message(&self, round: u32, response: Option<&Response>, now: crate::ir::UnixMs) -> Message {
        let mut message = Message::text(Role::Assistant, self.sum.content.clone(), now);
        message.reasoning_content = (!self.sum.reasoning.is_empty()).then(|| self.sum.reasoning.clone());
        message.tool_calls = (response.is_some() && !self.sum.calls.is_empty()).then(|| self.sum.calls.clone());
        message.iteration = Some(round);
        message.provider_state = response.and_then(|response| response.provider_state.clone());
        message
    }
}

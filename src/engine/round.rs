//! One request to the model: streams the answer into the transcript, tries again, falls back, and gives the machine its
//! next input.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::task::AbortOnDropHandle;

use crate::agent::{Input, RoundEnd};
use crate::ir::{
    Accumulator, AnswerMeta, AnswerPlace, Error, ErrorCode, FinishReason, Message, MessageRecord, ModelInfo, Request,
    RequestId, Response, Role, State, StreamBody, StreamEvent, StreamSequencer, TokenUsage, ToolCall, UnixMs,
};
use crate::port::Event;
use crate::provider::Provider;
use crate::provider::http::{current_traffic, on_behalf_of};
use crate::provider::memory::memory;
use crate::provider::retry::{Decision, Shown, decide, learnt_window};
use crate::store::{Delta, StoreError};

use super::fault::Fault;
use super::provider::price_of;
use super::shared::{Shared, unique};
use super::shield::Outgoing;
use super::transcript::Transcript;

/// What has streamed is in the store within this time.
const SAVE_EVERY: Duration = Duration::from_millis(200);
/// Bytes of text and thinking of one answer. More is a model that runs in circles, and keeping it would hold the turn's
/// end up for seconds.
const LONGEST_ANSWER: usize = 8 << 20;
/// Events between the provider and this room; a full queue slows the stream.
const EVENTS: usize = 256;

/// Somebody who can answer.
#[derive(Clone)]
pub(super) struct Answerer {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) model: String,
    /// Its address, where it is not the settings' own; else empty.
    pub(super) base_url: String,
    /// Scheme, host and port of its address; empty where it has none.
    pub(super) origin: String,
    /// What is known of the model, where it was asked for.
    pub(super) info: Option<ModelInfo>,
}

/// Whether the answer comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Streamed,
    Whole,
}

/// What a round is made of.
pub(super) struct RoundParts {
    pub(super) shared: Arc<Shared>,
    pub(super) transcript: Arc<Transcript>,
    /// The answer as it begins: empty, `Streaming`, already in the store.
    pub(super) record: MessageRecord,
    pub(super) request: Outgoing,
    pub(super) answerer: Answerer,
    pub(super) fallback: Option<Answerer>,
    pub(super) delivery: Delivery,
}

/// A request under way. Dropping it aborts it.
pub(super) struct Round {
    parts: RoundParts,
    attempt: Attempt,
    retries: u32,
    sent_at: UnixMs,
    first_token_at: Option<UnixMs>,
    thinking_since: Option<UnixMs>,
    thinking_ms: Option<u64>,
    unsaved: Vec<Delta>,
    save: Interval,
    /// Set once the first sign of life was reported.
    has_begun: bool,
    /// How many messages were left out, once the history was too long.
    left_out: Option<usize>,
}

/// One try.
struct Attempt {
    events: mpsc::Receiver<StreamEvent>,
    response: AbortOnDropHandle<Result<Response, Error>>,
    sum: Accumulator,
    /// How the stream ended: kept back until it is sure that this try counts.
    tail: Vec<StreamEvent>,
}

impl Round {
    pub(super) fn send(parts: RoundParts) -> Self {
        let sent_at = parts.shared.now();
        let mut save = tokio::time::interval_at(Instant::now() + SAVE_EVERY, SAVE_EVERY);
        save.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            attempt: Attempt::start(&parts),
            parts,
            retries: 0,
            sent_at,
            first_token_at: None,
            thinking_since: None,
            thinking_ms: None,
            unsaved: Vec::new(),
            save,
            has_begun: false,
            left_out: None,
        }
    }

    /// Goes on until the machine must know something. Dropping the future loses nothing that was taken in.
    ///
    /// # Errors
    /// When what has come cannot be saved.
    pub(super) async fn next_input(&mut self) -> Result<Input, Fault> {
        loop {
            tokio::select! {
                event = self.attempt.events.recv() => match event {
                    Some(event) => {
                        self.take(event).await?;
                        if self.attempt.sum.content.len() + self.attempt.sum.reasoning.len() > LONGEST_ANSWER {
                            return Ok(self.cut_off());
                        }
                        if self.first_token_at.is_some() && !self.has_begun {
                            self.has_begun = true;
                            return Ok(Input::FirstEvent);
                        }
                    }
                    None => {
                        if let Some(input) = self.end_of_stream().await? {
                            return Ok(input);
                        }
                    }
                },
                _ = self.save.tick() => self.save().await?,
            }
        }
    }

    /// The answer so far, as a message.
    pub(super) fn partial(&self) -> Message {
        self.message(None)
    }

    /// The record of the answer with its numbers; aborts what is still under way.
    pub(super) fn into_record(mut self) -> MessageRecord {
        let answer = self.parts.record.answer.take().unwrap_or_else(|| self.meta(None, FinishReason::Stop));
        self.parts.record.answer = Some(answer);
        self.parts.record
    }

    /// Who answered, and at what cost so far.
    fn meta(&self, response: Option<&Response>, finish_reason: FinishReason) -> AnswerMeta {
        let now = self.parts.shared.now();
        let answerer = &self.parts.answerer;
        let usage = response.map_or_else(|| self.attempt.sum.usage.unwrap_or_default(), |response| response.usage);
        let price = price_of(&self.parts.shared.settings(), answerer.provider.provider_id(), &answerer.model);
        AnswerMeta {
            cost: price.map(|price| price.cost(&usage)),
            // Who was asked, by the person's own choice: a server may call itself what it likes.
            provider: answerer.provider.provider_id().to_owned(),
            model: answerer.model.clone(),
            usage,
            perf: response.and_then(|r| r.meta.perf_stats.clone()),
            latency_ms: now.since(self.sent_at),
            first_token_ms: self.first_token_at.map(|at| at.since(self.sent_at)),
            thinking_ms: self.thinking_ms.or_else(|| self.thinking_since.map(|since| now.since(since))),
            finish_reason,
            is_thought_alone: response.is_some_and(Response::is_thought_alone),
            left_out: self.left_out,
            place: Some(answerer.place()),
        }
    }

    /// Whether somebody on another machine may have answered, and may be told what its calls give.
    pub(super) fn is_for_elsewhere(&self) -> bool {
        self.parts.request.is_for_elsewhere()
    }

    /// Tokens of the answer so far.
    pub(super) fn usage(&self) -> TokenUsage {
        self.parts.record.answer.as_ref().map_or_else(|| self.attempt.sum.usage.unwrap_or_default(), |meta| meta.usage)
    }

    async fn take(&mut self, mut event: StreamEvent) -> Result<(), Fault> {
        if let StreamBody::ToolCallComplete { tool_call } = &mut event.body {
            self.admit(tool_call);
        }
        if let Err(fault) = self.attempt.sum.apply(&event) {
            // The adapter broke a rule of the stream; what it says still counts for nothing.
            tracing::error!(%fault, provider = self.parts.answerer.provider.provider_id(), "a stream out of order");
            return Ok(());
        }
        let now = self.parts.shared.now();
        match &event.body {
            StreamBody::Error { .. } | StreamBody::Done => {
                self.attempt.tail.push(event);
                return Ok(());
            }
            StreamBody::Usage { .. } => {}
            StreamBody::ThinkingStart => {
                self.first_token_at.get_or_insert(now);
                self.thinking_since = Some(now);
            }
            StreamBody::ThinkingEnd => {
                let thought = self.thinking_since.take().map_or(0, |since| now.since(since));
                self.thinking_ms = Some(self.thinking_ms.unwrap_or(0) + thought);
            }
            StreamBody::ReasoningDelta { delta } => self.keep(true, delta),
            StreamBody::TextDelta { delta } => {
                self.first_token_at.get_or_insert(now);
                self.keep(false, delta);
            }
            StreamBody::ToolCallDelta { .. } | StreamBody::ToolCallComplete { .. } => {
                self.first_token_at.get_or_insert(now);
            }
        }
        self.show(event).await
    }

    /// Shows a piece to the front ends. One that does not read holds the stream up, and saving goes on meanwhile.
    async fn show(&mut self, event: StreamEvent) -> Result<(), Fault> {
        let transcript = Arc::clone(&self.parts.transcript);
        let shown = transcript.stream(event);
        tokio::pin!(shown);
        loop {
            tokio::select! {
                biased;
                () = &mut shown => return Ok(()),
                _ = self.save.tick() => self.save().await?,
            }
        }
    }

    fn keep(&mut self, is_reasoning: bool, delta: &str) {
        match self.unsaved.last_mut() {
            Some(last) if last.is_reasoning == is_reasoning => last.text.push_str(delta),
            _ => self.unsaved.push(Delta { is_reasoning, text: delta.to_owned() }),
        }
    }

    /// Gives a call an id that is unique in the session, whatever the provider gave, and mends its arguments.
    fn admit(&self, call: &mut ToolCall) {
        call.id = crate::ir::CallId::new(unique("call_"));
        call.iteration = self.parts.request.iteration();
        if super::coercion::shorten_oversized(call) {
            return;
        }
        super::coercion::coerce_call(call, &self.parts.shared.tools);
    }

    async fn save(&mut self) -> Result<(), StoreError> {
        if self.unsaved.is_empty() {
            return Ok(());
        }
        let deltas = std::mem::take(&mut self.unsaved);
        self.parts.transcript.save_deltas(&self.parts.record.id, deltas).await
    }

    /// The stream is over: well, to be tried again, or for good.
    async fn end_of_stream(&mut self) -> Result<Option<Input>, Fault> {
        self.save().await?;
        let response = match (&mut self.attempt.response).await {
            Ok(response) => response,
            Err(broken) => {
                tracing::error!(%broken, "a provider's task broke");
                Err(Error::new(ErrorCode::Unknown, "The connection to the model broke inside Nod. Try again."))
            }
        };
        Ok(match response {
            Ok(response) => Some(self.ended(response).await),
            Err(error) => self.failed(error).await,
        })
    }

    async fn ended(&mut self, response: Response) -> Input {
        let learnt = memory().take_unsaved().await;
        if !learnt.is_empty()
            && let Err(error) = self.parts.shared.store.keep_refusals(learnt).await
        {
            tracing::warn!(%error, "what a server refuses is not kept beyond this run");
        }
        self.show_tail().await;
        let meta = self.meta(Some(&response), response.finish_reason);
        let message = self.message(Some(&response));
        self.parts.record.answer = Some(meta);
        Input::RoundEnded(RoundEnd { message, finish_reason: response.finish_reason, needs_compression: false })
    }

    /// What follows an error: another try, another provider, or the end.
    async fn failed(&mut self, mut error: Error) -> Option<Input> {
        // A server may answer with the key that it was sent.
        error.message = crate::policy::redact(&error.message).into_owned();
        let shown = if self.first_token_at.is_some() { Shown::Something } else { Shown::Nothing };
        let session = self.parts.transcript.id().clone();
        if let Decision::Retry { wait_ms } = decide(&error, self.retries, shown, random_share()) {
            self.retries += 1;
            let retrying = Event::Retrying { session, attempt: self.retries, wait_ms, error };
            self.parts.shared.publish(retrying).await;
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            self.attempt = Attempt::start(&self.parts);
            return None;
        }
        if shown == Shown::Nothing && (self.shorten(&error).await || self.fall_back(&mut error).await) {
            return None;
        }
        self.show_tail().await;
        self.parts.record.answer = Some(self.meta(None, FinishReason::Error));
        Some(Input::RoundFailed { partial: Some(self.partial()), error })
    }

    /// A history that was too long goes once more, shorter. Gives whether it does.
    async fn shorten(&mut self, error: &Error) -> bool {
        if error.code != ErrorCode::ContextLengthExceeded || self.left_out.is_some() {
            return false;
        }
        let Self { parts, .. } = self;
        let window = learnt_window(error);
        if let Some(tokens) = window {
            parts.shared.models.learn_window(parts.answerer.provider.provider_id(), &parts.answerer.model, tokens);
        }
        self.left_out = parts.request.shorten(window, parts.shared.language());
        let Some(messages) = self.left_out else { return false };
        self.parts.transcript.enter(State::Compressing).await;
        let session = self.parts.transcript.id().clone();
        self.parts.shared.publish(Event::HistoryShortened { session, left_out: messages }).await;
        self.parts.transcript.enter(State::Sending).await;
        self.attempt = Attempt::start(&self.parts);
        true
    }

    /// The fallback is asked, if there is one that can do what is wanted. Gives whether it is.
    async fn fall_back(&mut self, error: &mut Error) -> bool {
        let Some(mut fallback) = self.parts.fallback.take() else { return false };
        fallback.info = self.parts.shared.models.info(&fallback).await;
        if let Err(unfit) = self.parts.request.to(&fallback) {
            error.message = format!("{} The fallback was not asked: {}", error.message, unfit.message);
            return false;
        }
        let from = std::mem::replace(&mut self.parts.answerer, fallback);
        let switched = Event::ProviderSwitched {
            session: self.parts.transcript.id().clone(),
            from: from.name(),
            to: self.parts.answerer.name(),
            error: error.clone(),
        };
        self.parts.shared.publish(switched).await;
        self.retries = 0;
        self.attempt = Attempt::start(&self.parts);
        true
    }

    /// The end of an answer that is too long.
    fn cut_off(&mut self) -> Input {
        let words = "The answer grew longer than 8 MiB and was broken off. What had come is kept.";
        let error = Error { provider_code: Some("too_large".into()), ..Error::new(ErrorCode::InvalidResponse, words) };
        self.parts.record.answer = Some(self.meta(None, FinishReason::Error));
        Input::RoundFailed { partial: Some(self.partial()), error }
    }

    async fn show_tail(&mut self) {
        for event in std::mem::take(&mut self.attempt.tail) {
            self.parts.transcript.stream(event).await;
        }
    }

    fn message(&self, response: Option<&Response>) -> Message {
        let sum = &self.attempt.sum;
        let mut message = Message::text(Role::Assistant, sum.content.clone(), self.parts.shared.now());
        message.reasoning_content = (!sum.reasoning.is_empty()).then(|| sum.reasoning.clone());
        message.tool_calls = (!sum.calls.is_empty()).then(|| sum.calls.clone());
        message.iteration = Some(self.parts.request.iteration());
        message.provider_state = response.and_then(|response| response.provider_state.clone());
        message
    }
}

impl Answerer {
    /// Where it answers.
    pub(super) fn place(&self) -> AnswerPlace {
        AnswerPlace { origin: self.origin.clone(), is_elsewhere: self.is_elsewhere() }
    }

    /// Whether it gave this answer there where it is asked now: it knows that answer's words.
    pub(super) fn has_given(&self, answer: &AnswerMeta) -> bool {
        answer.provider == self.provider.provider_id() && answer.place.as_ref() == Some(&self.place())
    }

    /// Whether what it is sent leaves this machine.
    pub(super) fn is_elsewhere(&self) -> bool {
        let by_info = self.info.as_ref().map_or(self.provider.may_forward(), |info| info.is_elsewhere);
        self.provider.is_remote(&self.model) || by_info
    }

    pub(super) fn name(&self) -> String {
        format!("{} · {}", self.provider.provider_id(), self.model)
    }
}

impl Attempt {
    fn start(parts: &RoundParts) -> Self {
        let (sender, events) = mpsc::channel(EVENTS);
        let request = parts.request.to(&parts.answerer);
        let Answerer { provider, model, .. } = parts.answerer.clone();
        let delivery = parts.delivery;
        let shared = Arc::clone(&parts.shared);
        let asking = async move {
            let mut request = request?;
            request.meta.request_id = RequestId::new(unique("req_"));
            match delivery {
                Delivery::Streamed => provider.send_stream(&model, &request, sender).await,
                Delivery::Whole => {
                    let response = provider.send(&model, &request).await;
                    replay(&request, &response, sender, shared.now()).await;
                    response
                }
            }
        };
        let response = match current_traffic() {
            Some(traffic) => tokio::task::spawn(on_behalf_of(traffic, asking)),
            None => tokio::task::spawn(asking),
        };
        Self { events, response: AbortOnDropHandle::new(response), sum: Accumulator::default(), tail: Vec::new() }
    }
}

/// Turns an answer that came whole into the events of a stream, so that nothing else need know the difference.
async fn replay(request: &Request, response: &Result<Response, Error>, to: mpsc::Sender<StreamEvent>, now: UnixMs) {
    let meta = &request.meta;
    let mut sequencer = StreamSequencer::new(meta.request_id.clone(), meta.session_id.clone(), meta.iteration);
    let mut bodies = Vec::new();
    match response {
        Ok(response) => {
            if let Some(delta) = response.reasoning_content.clone() {
                bodies.push(StreamBody::ReasoningDelta { delta });
            }
            bodies.push(StreamBody::TextDelta { delta: response.content.clone() });
            let calls = response.tool_calls.iter().flatten();
            bodies.extend(calls.map(|call| StreamBody::ToolCallComplete { tool_call: call.clone() }));
            bodies.push(StreamBody::Usage { usage: response.usage });
        }
        Err(error) => bodies.push(StreamBody::Error { error: error.clone() }),
    }
    bodies.push(StreamBody::Done);
    for event in bodies.into_iter().flat_map(|body| sequencer.push(body, now)) {
        if to.send(event).await.is_err() {
            return;
        }
    }
}

/// A random number from 0 to 1; spreads tries of many clients.
fn random_share() -> f64 {
    let mut bytes = [0; 4];
    // Without random numbers everybody waits the longest.
    if getrandom::fill(&mut bytes).is_err() {
        return 0.0;
    }
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

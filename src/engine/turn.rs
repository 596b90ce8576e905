//! One turn of one session: drives the pure machine, carries its effects out and tells it what came of them.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::{Effect, Input, Machine, Outcome, TurnConfig};
use crate::ir::{
    CallId, Error, ErrorCode, Image, Message, MessageId, MessageRecord, MessageStatus, Role, Session, State,
    TokenUsage, ToolCall,
};
use crate::policy::Origin;
use crate::port::{TurnEnd, TurnOptions, TurnOutcome};

use super::fault::Fault;
use super::gate::{self, Caller, Line};
use super::request::{self, Prepared};
use super::round::{Delivery, Round, RoundParts};
use super::session::title_from;
use super::shared::{Shared, unique};
use super::transcript::Transcript;

/// What a turn begins with.
#[derive(Debug, Clone)]
pub(super) enum Begin {
    /// The person says something.
    Say { text: String, images: Vec<Image> },
    /// The history as it stands is answered; rounds are numbered on from here.
    Answer { rounds_done: u32 },
}

/// The way to stop single calls of a session.
#[derive(Clone, Default)]
pub(super) struct CallStops(Arc<Mutex<HashMap<CallId, CancellationToken>>>);

impl CallStops {
    pub(super) fn add(&self, call: &CallId, parent: &CancellationToken) -> CancellationToken {
        let token = parent.child_token();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(call.clone(), token.clone());
        token
    }

    pub(super) fn remove(&self, call: &CallId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
    }

    pub(super) fn stop(&self, call: &CallId) {
        if let Some(token) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(call) {
            token.cancel();
        }
    }
}

/// One turn with all it needs.
pub(super) struct Turn {
    pub(super) shared: Arc<Shared>,
    pub(super) transcript: Arc<Transcript>,
    pub(super) options: Arc<TurnOptions>,
    /// The person's Stop.
    pub(super) stop: CancellationToken,
    pub(super) stops: CallStops,
}

/// What is under way.
enum Work {
    Nothing,
    /// What a request needs is looked up; a server may be asked for it.
    Preparing {
        record: Box<MessageRecord>,
        prepared: BoxFuture<'static, Result<Result<Prepared, Error>, Fault>>,
    },
    Round(Box<Round>),
    /// An answer that could not even be asked for.
    Unsent {
        record: Box<MessageRecord>,
        error: Option<Error>,
    },
    Calls(Calls),
}

struct Calls {
    tasks: JoinSet<gate::Outcome>,
    notices: mpsc::Receiver<gate::Notice>,
}

/// What is known of a turn while it runs.
struct Progress {
    head: Option<MessageId>,
    /// The message that asked for the calls under way.
    asking: Option<MessageRecord>,
    usage: TokenUsage,
    content: String,
    error: Option<Error>,
    rounds: u32,
    /// Whether somebody on another machine may answer; taken for granted until a round knows.
    is_for_elsewhere: bool,
}

impl Turn {
    /// Runs the turn to its end.
    pub(super) async fn run(self, begin: Begin) -> TurnEnd {
        let mut progress = Progress::new();
        let driven = AssertUnwindSafe(self.drive(begin, &mut progress)).catch_unwind().await;
        let broken = |_| Err(Fault::new("fault-turn-broken", "The turn broke inside Nod."));
        let end = match driven.unwrap_or_else(broken) {
            Ok(end) => end,
            Err(fault) => {
                let error = error_of(&fault);
                self.shared.report(fault).await;
                self.transcript.enter(State::Failed).await;
                self.end(TurnOutcome::Failed, &progress, Some(error))
            }
        };
        tracing::info!(session = %self.transcript.id(), outcome = ?end.outcome, rounds = end.rounds, "turn ended");
        end
    }

    async fn drive(&self, begin: Begin, progress: &mut Progress) -> Result<TurnEnd, Fault> {
        let deadline = self.options.timeout_ms.map(|ms| tokio::time::Instant::now() + Duration::from_millis(ms));
        let mut session = self.transcript.session().await?;
        let mut rounds_done = 0;
        progress.head.clone_from(&session.head);
        match begin {
            Begin::Say { text, images } => session = self.say(progress, &session, text, images).await?,
            Begin::Answer { rounds_done: done } => rounds_done = done,
        }
        let max_rounds = self.options.max_rounds.unwrap_or_else(|| self.shared.settings().models.max_rounds).max(1);
        let mut machine = Machine::new(TurnConfig { max_rounds, rounds_done });
        let mut work = Work::Nothing;
        let mut is_stopping = false;
        let mut is_late = false;
        let mut input = Input::Start;
        loop {
            let status = status_of(&input);
            if let Input::RoundFailed { error, .. } = &input {
                progress.error = Some(error.clone());
            }
            let effects = machine.step(input);
            progress.rounds = machine.rounds();
            for effect in effects {
                match effect {
                    Effect::Enter(state) => self.transcript.enter(state).await,
                    Effect::Send { round } => work = self.prepare(progress, &session, round),
                    Effect::Append(message) if message.role == Role::Assistant => {
                        self.keep_answer(progress, &mut work, message, status).await?;
                    }
                    Effect::Append(message) => self.keep_result(progress, message).await?,
                    Effect::Run(calls) => work = Work::Calls(self.run_calls(progress, &session, calls)),
                    // Nothing is shrunk yet: `needs_compression` is never set. Dropping the round aborts its request.
                    Effect::Compress | Effect::AbortRequest => {}
                    Effect::CancelCalls(calls) => calls.iter().for_each(|call| self.stops.stop(call)),
                    Effect::End(outcome) => return Ok(self.ended(outcome, is_late, progress)),
                }
            }
            let next = tokio::select! {
                biased;
                () = self.stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    Ok(Input::Stop { partial: work.partial() })
                }
                () = until(deadline), if !is_stopping => {
                    is_stopping = true;
                    is_late = true;
                    Ok(Input::Stop { partial: work.partial() })
                }
                next = self.advance(progress, &mut work) => next,
            };
            input = match next {
                Ok(input) => input,
                Err(fault) => {
                    self.show_unkept(progress, work, &fault).await;
                    return Err(fault);
                }
            };
        }
    }

    /// Goes on with what is under way until the machine must know something. Races *Stop*: may be dropped anywhere.
    async fn advance(&self, progress: &mut Progress, work: &mut Work) -> Result<Input, Fault> {
        if let Work::Preparing { record, prepared } = work {
            let prepared = prepared.await?;
            let record = record.clone();
            self.transcript.begin_answer(&record).await?;
            progress.head = Some(record.id.clone());
            *work = self.send(record, prepared);
        }
        work.next_input().await
    }

    /// Keeps what the person said, and cuts the title from the first of it.
    async fn say(
        &self,
        progress: &mut Progress,
        session: &Session,
        text: String,
        images: Vec<Image>,
    ) -> Result<Session, Fault> {
        let title = title_from(&text);
        let mut message = Message::text(Role::User, text, self.shared.now());
        message.images = (!images.is_empty()).then_some(images);
        let record = progress.record(session, message, MessageStatus::Complete);
        self.transcript.append(&record).await?;
        progress.head = Some(record.id);
        self.shared.store.save_draft(&session.id, "").await?;
        self.transcript
            .change(|session| {
                if session.title.is_empty() {
                    session.title = title;
                }
            })
            .await
    }

    fn prepare(&self, progress: &Progress, session: &Session, round: u32) -> Work {
        let mut message = Message::text(Role::Assistant, "", self.shared.now());
        message.iteration = Some(round);
        let record = Box::new(progress.record(session, message, MessageStatus::Streaming));
        let (shared, transcript) = (Arc::clone(&self.shared), Arc::clone(&self.transcript));
        let options = Arc::clone(&self.options);
        let prepared = async move { request::prepare(&shared, &transcript, &options, round).await }.boxed();
        Work::Preparing { record, prepared }
    }

    fn send(&self, record: Box<MessageRecord>, prepared: Result<Prepared, Error>) -> Work {
        match prepared {
            Ok(prepared) => Work::Round(Box::new(Round::send(RoundParts {
                shared: Arc::clone(&self.shared),
                transcript: Arc::clone(&self.transcript),
                record: *record,
                request: prepared.request,
                answerer: prepared.answerer,
                fallback: prepared.fallback,
                delivery: if self.options.is_unstreamed { Delivery::Whole } else { Delivery::Streamed },
            }))),
            Err(error) => Work::Unsent { record, error: Some(error) },
        }
    }

    /// The answer as it ended: whole, stopped or broken off.
    async fn keep_answer(
        &self,
        progress: &mut Progress,
        work: &mut Work,
        message: Message,
        status: MessageStatus,
    ) -> Result<(), Fault> {
        let mut record = match std::mem::replace(work, Work::Nothing) {
            Work::Round(round) => {
                progress.add(round.usage());
                progress.is_for_elsewhere = round.is_for_elsewhere();
                round.into_record()
            }
            Work::Preparing { record, .. } | Work::Unsent { record, .. } => *record,
            Work::Nothing | Work::Calls(_) => return Ok(()),
        };
        progress.head = Some(record.id.clone());
        progress.content.clone_from(&message.content);
        let lost: Vec<ToolCall> = match status {
            MessageStatus::Complete => Vec::new(),
            MessageStatus::Streaming | MessageStatus::Stopped | MessageStatus::Failed | MessageStatus::Interrupted => {
                message.calls().to_vec()
            }
        };
        record.message = message;
        record.status = status;
        record.error = progress.error.clone().filter(|_| status == MessageStatus::Failed);
        self.transcript.finish(&record).await?;
        for call in lost {
            // Asked for in an answer that broke off: shown as what it is, never run.
            gate::record_unrun(&self.shared, &self.transcript, &record, call).await?;
        }
        progress.asking = Some(record);
        Ok(())
    }

    /// An answer that could not be saved any more: it stays on the screen, as what it is.
    async fn show_unkept(&self, progress: &mut Progress, work: Work, fault: &Fault) {
        let Some(message) = work.partial() else { return };
        progress.error = Some(error_of(fault));
        let mut work = work;
        if let Err(again) = self.keep_answer(progress, &mut work, message, MessageStatus::Failed).await {
            tracing::warn!(detail = again.detail, "the answer was shown and is not kept");
        }
    }

    async fn keep_result(&self, progress: &mut Progress, message: Message) -> Result<(), Fault> {
        let session = self.transcript.session().await?;
        let record = progress.record(&session, message, MessageStatus::Complete);
        self.transcript.append(&record).await?;
        progress.head = Some(record.id);
        Ok(())
    }

    fn run_calls(&self, progress: &Progress, session: &Session, calls: Vec<ToolCall>) -> Calls {
        let (sender, notices) = mpsc::channel(64);
        let asking = progress.asking.as_ref();
        let caller = Arc::new(Caller {
            shared: Arc::clone(&self.shared),
            transcript: Arc::clone(&self.transcript),
            options: Arc::clone(&self.options),
            origin: Origin::Model,
            message: asking.map(|record| record.id.clone()),
            model: asking
                .and_then(|record| record.answer.as_ref())
                .map_or_else(|| session.model.clone(), |meta| meta.model.clone()),
            model_words: asking.map(|record| record.message.content.clone()).unwrap_or_default(),
            is_for_elsewhere: progress.is_for_elsewhere,
            given_bytes: AtomicU64::default(),
            notices: Some(sender),
            remote: None,
        });
        let (mut tasks, line) = (JoinSet::new(), Line::default());
        for call in calls {
            let (caller, place) = (Arc::clone(&caller), line.join());
            let stops = self.stops.clone();
            let cancel = stops.add(&call.id, &self.stop);
            tasks.spawn(async move {
                let id = call.id.clone();
                let outcome = Box::pin(gate::pass(caller, call, place, cancel)).await;
                stops.remove(&id);
                outcome
            });
        }
        Calls { tasks, notices }
    }

    fn ended(&self, outcome: Outcome, is_late: bool, progress: &Progress) -> TurnEnd {
        let (outcome, error) = match outcome {
            Outcome::Done => (TurnOutcome::Done, None),
            Outcome::Failed(error) => (TurnOutcome::Failed, Some(error)),
            Outcome::Denied => (TurnOutcome::Denied, None),
            Outcome::Stopped if is_late => {
                let words = "The turn took longer than it may and was stopped. What had come is kept.";
                (TurnOutcome::Failed, Some(Error::new(ErrorCode::Timeout, words)))
            }
            Outcome::Stopped => (TurnOutcome::Stopped, None),
            Outcome::Limit(error) => (TurnOutcome::Limit, Some(error)),
        };
        self.end(outcome, progress, error)
    }

    fn end(&self, outcome: TurnOutcome, progress: &Progress, error: Option<Error>) -> TurnEnd {
        TurnEnd {
            session_id: self.transcript.id().clone(),
            outcome,
            content: progress.content.clone(),
            usage: progress.usage,
            rounds: progress.rounds,
            error,
            can_continue: outcome == TurnOutcome::Limit,
        }
    }
}

impl Work {
    /// Waits for what the machine must know next; forever when nothing is under way.
    async fn next_input(&mut self) -> Result<Input, Fault> {
        match self {
            Self::Nothing | Self::Preparing { .. } => std::future::pending().await,
            Self::Round(round) => round.next_input().await,
            Self::Unsent { record, error } => match error.take() {
                Some(error) => Ok(Input::RoundFailed { partial: Some(record.message.clone()), error }),
                None => std::future::pending().await,
            },
            Self::Calls(calls) => Ok(calls.next_input().await),
        }
    }

    fn partial(&self) -> Option<Message> {
        match self {
            Self::Round(round) => Some(round.partial()),
            Self::Preparing { record, .. } | Self::Unsent { record, .. } => Some(record.message.clone()),
            Self::Nothing | Self::Calls(_) => None,
        }
    }
}

impl Calls {
    async fn next_input(&mut self) -> Input {
        tokio::select! {
            biased;
            Some(notice) = self.notices.recv() => match notice {
                gate::Notice::Waiting(call) => Input::CallWaiting(call),
                gate::Notice::Answered(call) => Input::CallAnswered(call),
            },
            Some(ended) = self.tasks.join_next() => match ended {
                Ok(outcome) => Input::CallEnded { result: outcome.result, then: outcome.then },
                // The gate answers for its own faults: a task only ends like this when the engine ends.
                Err(broken) => {
                    tracing::error!(%broken, "a call's task was lost");
                    std::future::pending().await
                }
            },
            else => std::future::pending().await,
        }
    }
}

impl Progress {
    fn new() -> Self {
        let usage = TokenUsage::default();
        let (content, is_for_elsewhere) = (String::new(), true);
        Self { head: None, asking: None, usage, content, error: None, rounds: 0, is_for_elsewhere }
    }

    /// A record at the end of the branch.
    fn record(&self, session: &Session, message: Message, status: MessageStatus) -> MessageRecord {
        MessageRecord {
            id: MessageId::new(unique("msg_")),
            session: session.id.clone(),
            parent: self.head.clone(),
            message,
            status,
            answer: None,
            error: None,
            version: (1, 1),
        }
    }

    fn add(&mut self, usage: TokenUsage) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        self.usage = TokenUsage {
            input_tokens: self.usage.input_tokens + usage.input_tokens,
            output_tokens: self.usage.output_tokens + usage.output_tokens,
            total_tokens: self.usage.total_tokens + usage.total_tokens,
            reasoning_tokens: sum(self.usage.reasoning_tokens, usage.reasoning_tokens),
            cache_hit_tokens: sum(self.usage.cache_hit_tokens, usage.cache_hit_tokens),
            cache_miss_tokens: sum(self.usage.cache_miss_tokens, usage.cache_miss_tokens),
        };
    }
}

/// A fault as the error of the turn that it ended.
fn error_of(fault: &Fault) -> Error {
    let code = if fault.key == "fault-turn-broken" { "turn_broken" } else { "not_saved" };
    Error { provider_code: Some(code.into()), ..Error::new(ErrorCode::Unknown, fault.detail.clone()) }
}

/// How an answer ended, by what ended it.
fn status_of(input: &Input) -> MessageStatus {
    match input {
        Input::RoundFailed { .. } => MessageStatus::Failed,
        Input::Stop { .. } => MessageStatus::Stopped,
        Input::Start
        | Input::FirstEvent
        | Input::RoundEnded(_)
        | Input::CallWaiting(_)
        | Input::CallAnswered(_)
        | Input::CallEnded { .. }
        | Input::Compressed => MessageStatus::Complete,
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

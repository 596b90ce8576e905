//! One server's task: tells the machine what happened and does what it says, one thing after the other.

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::ir::{LinkCall, LinkEnd, LinkProblem, LinkRecord, LinkServer, LinkState, SessionId, UnixMs, UptimeMs};
use crate::link::machine::{CallNumber, Effect, Input, Machine, Now, Passage, Problem, Refused, result_of};
use crate::link::socket::{Heard, Receiver, Sender};
use crate::link::wire::{CallRequest, CallResult};
use crate::port::Event;

use super::super::gate::Line;
use super::super::shared::{Shared, unique};
use super::super::transcript::Transcript;
use super::{FromGate, call, connect};

/// Messages of the gate that may wait.
const FROM_GATE: usize = 64;
/// How often the machine is told that time passes.
const TICK: Duration = Duration::from_secs(1);
/// How long cancelled calls may take to end when the connection is not wanted any more.
const LAST_CALLS: Duration = Duration::from_secs(3);

type Opened = Result<(Sender, Receiver), LinkProblem>;

/// How the connection stands.
enum Phase {
    Opening(BoxFuture<'static, Opened>),
    Open {
        sender: Box<Sender>,
        receiver: Box<Receiver>,
        tick: Interval,
    },
    Waiting(Instant),
    /// Nothing happens before the person wants it.
    Resting,
}

/// What the connection itself brings.
enum News {
    Opened(Opened),
    Heard(Heard),
    Tick,
    TryAgain,
}

/// A call at the gate.
struct AtGate {
    cancel: CancellationToken,
    /// Where the gate waits for a word.
    reply: Option<oneshot::Sender<Passage>>,
}

pub(super) struct Runner {
    shared: Arc<Shared>,
    server: Arc<LinkServer>,
    device_id: String,
    transcript: Arc<Transcript>,
    machine: Machine,
    phase: Phase,
    calls: HashMap<CallNumber, AtGate>,
    /// Cancelled when the connection is not wanted any more, and with it every call at the gate, whatever this task is at.
    ending: CancellationToken,
    /// Calls whose results are still to be sent on this connection.
    owed: VecDeque<String>,
    /// The server's calls, in the order in which they came.
    line: Line,
    from_gate: mpsc::Receiver<FromGate>,
    to_connection: mpsc::Sender<FromGate>,
}

impl Runner {
    pub(super) fn new(
        shared: Arc<Shared>,
        server: LinkServer,
        device_id: &str,
        session: SessionId,
        ending: CancellationToken,
    ) -> Self {
        let (to_connection, from_gate) = mpsc::channel(FROM_GATE);
        let machine = Machine::new(device_id, &unique("run_"), env!("CARGO_PKG_VERSION"), call::offered());
        Self {
            transcript: Arc::new(Transcript::new(Arc::clone(&shared), session)),
            shared,
            server: Arc::new(server),
            device_id: device_id.to_owned(),
            machine,
            phase: Phase::Resting,
            calls: HashMap::new(),
            ending,
            owed: VecDeque::new(),
            line: Line::default(),
            from_gate,
            to_connection,
        }
    }

    /// Runs until the connection is not wanted any more. With `retry` the person wants another try at once.
    pub(super) async fn run(mut self, retry: Arc<Notify>) {
        // Should this task break: nothing is read for a server that nobody listens to.
        let _with_its_calls = self.ending.clone().drop_guard();
        let ending = self.ending.clone();
        self.begin().await;
        loop {
            tokio::select! {
                biased;
                () = ending.cancelled() => break,
                () = retry.notified() => match self.phase {
                    Phase::Waiting(_) | Phase::Resting => self.begin().await,
                    Phase::Opening(_) | Phase::Open { .. } => {}
                },
                Some(message) = self.from_gate.recv() => self.hear_gate(message).await,
                news = self.phase.next() => self.take(news).await,
            }
        }
        self.end().await;
    }

    async fn begin(&mut self) {
        let (shared, server) = (Arc::clone(&self.shared), Arc::clone(&self.server));
        let device_id = self.device_id.clone();
        self.phase = Phase::Opening(Box::pin(async move { connect::connect(&shared, &server, &device_id).await }));
        self.enter(LinkState::Connecting).await;
    }

    async fn take(&mut self, news: News) {
        match news {
            News::Opened(Ok((sender, receiver))) => {
                let mut tick = interval(TICK);
                tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
                self.phase = Phase::Open { sender: Box::new(sender), receiver: Box::new(receiver), tick };
                self.step(Input::Opened).await;
            }
            News::Opened(Err(problem)) => {
                self.phase = Phase::Resting;
                self.step(Input::NotOpened { problem, chance: chance() }).await;
            }
            News::Heard(Heard::Text(text)) => self.step(Input::Heard(text)).await,
            News::Heard(Heard::Noise) => self.step(Input::Noise).await,
            News::Heard(Heard::Garbled { detail }) => self.step(Input::Garbled { detail }).await,
            News::Heard(Heard::Closed { code, detail }) => {
                self.phase = Phase::Resting;
                self.step(Input::Lost { code, detail, chance: chance() }).await;
            }
            News::Tick => self.step(Input::Tick).await,
            News::TryAgain => self.begin().await,
        }
    }

    async fn hear_gate(&mut self, message: FromGate) {
        match message {
            FromGate::Examined { number, reply } => {
                if let Some(call) = self.calls.get_mut(&number) {
                    call.reply = Some(reply);
                }
                self.step(Input::Examined { number }).await;
            }
            FromGate::Ended { number, end } => {
                self.calls.remove(&number);
                self.step(Input::Ended { number, end }).await;
            }
        }
    }

    /// Tells the machine what happened, and does what it says until there is nothing left to do.
    async fn step(&mut self, input: Input) {
        let mut todo: VecDeque<Effect> = self.machine.step(self.now(), input).into();
        loop {
            let input = if let Some(effect) = todo.pop_front() {
                self.carry_out(effect).await
            } else if let Some(tool_call_id) = self.owed.pop_front() {
                // One after the other, so that only one result is in memory.
                self.kept(&tool_call_id, None).await
            } else {
                break;
            };
            if let Some(input) = input {
                todo.extend(self.machine.step(self.now(), input));
            }
        }
    }

    fn now(&self) -> Now {
        Now { clock: self.shared.now(), uptime: self.shared.uptime() }
    }

    /// Does one thing; gives what came of it.
    async fn carry_out(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Send(text) => return self.send(text, None).await,
            Effect::SendContent { text, tool_call_id, bytes } => {
                return self.send(text, Some((tool_call_id, bytes))).await;
            }
            Effect::Close(code) => {
                tracing::warn!(server = %self.server.url, ?code, "the device link is closed from here");
                if let Phase::Open { sender, .. } = std::mem::replace(&mut self.phase, Phase::Resting) {
                    sender.close(Some(code)).await;
                }
                return Some(Input::Lost { code: None, detail: String::new(), chance: chance() });
            }
            Effect::Welcomed => self.enter(LinkState::Connected).await,
            Effect::LoadOwed => {
                let owed = self.shared.store.owed_links(&self.server.url).await;
                let owed = owed.map_err(|error| tracing::error!(%error, "the record of calls cannot be read"));
                self.owed = owed.unwrap_or_default().into();
            }
            Effect::LookUp(refused) => return self.look_up(refused).await,
            Effect::LoadKept { tool_call_id, execution_id } => {
                return self.kept(&tool_call_id, Some(&execution_id)).await;
            }
            Effect::Examine { number, request, until } => self.examine(number, request, until),
            Effect::Reserve { number, tool_call_id, execution_id, arguments_hash, tool, path } => {
                let reserved_at = self.shared.now();
                let record =
                    LinkRecord { tool_call_id, execution_id, arguments_hash, tool, path, reserved_at, end: None };
                let reserved = self.shared.store.reserve_link(&self.server.url, &record).await;
                let admission = reserved.map_err(|error| tracing::error!(%error, "a call found no place")).ok();
                step("reserved");
                return Some(Input::Reserved { number, admission });
            }
            Effect::Decide { number, passage } => {
                let reply = self.calls.get_mut(&number).and_then(|call| call.reply.take());
                if let Some(reply) = reply {
                    // A gate that was cancelled meanwhile needs no word.
                    reply.send(passage).ok();
                }
            }
            Effect::Cancel { number } => {
                if let Some(call) = self.calls.get(&number) {
                    call.cancel.cancel();
                }
            }
            Effect::Keep { result, end } => return Some(self.keep(result, &end).await),
            Effect::Acknowledge { tool_call_id } => {
                if let Err(error) = self.shared.store.acknowledge_link(&self.server.url, &tool_call_id).await {
                    tracing::error!(%error, "a result stays although the server has it");
                }
                step("acknowledged");
            }
            Effect::Show(call) => self.show(call).await,
            Effect::Wait { problem, wait_ms } => self.wait(problem, wait_ms).await,
        }
        None
    }

    /// Sends a frame, and notes what left with it. Gives the loss of the connection, should it break.
    async fn send(&mut self, text: String, content: Option<(String, u64)>) -> Option<Input> {
        if self.ending.is_cancelled() {
            self.owed.clear();
            return None;
        }
        let Phase::Open { sender, .. } = &mut self.phase else { return None };
        let sent = tokio::select! {
            sent = sender.send(text) => sent,
            () = self.ending.cancelled() => {
                // Nothing can follow on a frame that was begun, a goodbye neither; and the rest of it is not to leave.
                self.phase = Phase::Resting;
                return None;
            }
        };
        match sent {
            Ok(()) => {
                step("sent");
                if let Some((tool_call_id, bytes)) = content {
                    self.note_sent(&tool_call_id, bytes).await;
                }
                None
            }
            Err(error) => {
                self.phase = Phase::Resting;
                Some(Input::Lost { code: None, detail: error.to_string(), chance: chance() })
            }
        }
    }

    fn examine(&mut self, number: CallNumber, request: Box<CallRequest>, until: UptimeMs) {
        step("asked");
        let cancel = self.ending.child_token();
        self.calls.insert(number, AtGate { cancel: cancel.clone(), reply: None });
        let (shared, transcript) = (Arc::clone(&self.shared), Arc::clone(&self.transcript));
        let (server, connection) = (self.server.url.clone(), self.to_connection.clone());
        let incoming = call::Incoming { number, request, until, server, place: self.line.join(), connection };
        self.shared.errands.spawn(Box::pin(call::pass(shared, transcript, incoming, cancel)));
    }

    /// A result that cannot be kept is sent all the same.
    async fn keep(&mut self, result: CallResult, end: &LinkEnd) -> Input {
        let kept = self.shared.store.end_link(&self.server.url, &result.tool_call_id, end).await;
        if let Err(error) = kept {
            self.shared.report(error.into()).await;
        }
        step("kept");
        Input::Kept(result)
    }

    /// Whether a call that is to be refused is a repeat of one that the record knows; gives what answers it.
    async fn look_up(&mut self, refused: Box<Refused>) -> Option<Input> {
        let id = &refused.result.tool_call_id;
        let known = self.shared.store.link_record(&self.server.url, id).await;
        let known = known.map_err(|error| tracing::error!(%error, "the record of calls cannot be read")).ok().flatten();
        match known.filter(|known| known.is_same(&refused.shown.tool, &refused.arguments_hash)) {
            Some(LinkRecord { end: Some(end), .. }) => {
                Some(Input::Owed(result_of(id, &refused.result.execution_id, &end)))
            }
            Some(LinkRecord { end: None, .. }) => None,
            None => Some(Input::Refused(refused)),
        }
    }

    async fn kept(&mut self, tool_call_id: &str, execution_id: Option<&str>) -> Option<Input> {
        let record = match self.shared.store.link_record(&self.server.url, tool_call_id).await {
            Ok(record) => record?,
            Err(error) => {
                tracing::error!(%error, "a kept result cannot be read");
                return None;
            }
        };
        let end = record.end?;
        Some(Input::Owed(result_of(tool_call_id, execution_id.unwrap_or(&record.execution_id), &end)))
    }

    async fn note_sent(&mut self, tool_call_id: &str, bytes: u64) {
        self.shared.links.count_sent(&self.server.url, bytes);
        match self.shared.store.note_sent_link(&self.server.url, tool_call_id, bytes).await {
            Ok(Some(call)) => self.show(call).await,
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "what was sent is in no list"),
        }
        self.publish().await;
    }

    async fn show(&mut self, call: LinkCall) {
        if !call.is_recorded {
            self.shared.links.note_refused(&self.server.url, call.clone());
        }
        self.shared.publish(Event::LinkCallChanged { url: self.server.url.clone(), call }).await;
    }

    async fn wait(&mut self, problem: Problem, wait_ms: Option<u64>) {
        let (state, phase) = match (problem, wait_ms) {
            (Problem::Replaced, _) => (LinkState::Replaced, Phase::Resting),
            (Problem::Other(problem), None) => (LinkState::Stopped { problem }, Phase::Resting),
            (Problem::Other(problem), Some(wait_ms)) => {
                let until = UnixMs(self.shared.now().0.saturating_add_unsigned(wait_ms));
                (LinkState::Waiting { until, problem }, Phase::Waiting(Instant::now() + Duration::from_millis(wait_ms)))
            }
        };
        self.phase = phase;
        self.owed.clear();
        self.enter(state).await;
    }

    async fn enter(&mut self, state: LinkState) {
        tracing::info!(server = %self.server.url, ?state, "the device link");
        self.shared.links.enter(&self.server.url, state);
        self.publish().await;
    }

    async fn publish(&mut self) {
        let (device_id, links) = (self.device_id.clone(), self.shared.links.views());
        self.shared.publish(Event::LinksChanged { device_id, links }).await;
    }

    /// Nothing is sent after this; calls under way are cancelled, and what they came to is kept for another time.
    async fn end(mut self) {
        if let Phase::Open { sender, .. } = std::mem::replace(&mut self.phase, Phase::Resting) {
            sender.close(None).await;
        }
        self.step(Input::Withdrawn).await;
        let mut patience = pin!(tokio::time::sleep(LAST_CALLS));
        while self.machine.calls() > 0 {
            tokio::select! {
                Some(message) = self.from_gate.recv() => self.hear_gate(message).await,
                () = &mut patience => {
                    tracing::error!(server = %self.server.url, "a cancelled call did not end in time");
                    break;
                }
            }
        }
        self.shared.links.enter(&self.server.url, LinkState::Paused);
    }
}

impl Phase {
    /// The next thing that the connection brings. Safe to drop while it waits.
    async fn next(&mut self) -> News {
        match self {
            Self::Opening(opening) => News::Opened(opening.await),
            Self::Open { receiver, tick, .. } => tokio::select! {
                biased;
                _ = tick.tick() => News::Tick,
                heard = receiver.next() => News::Heard(heard),
            },
            Self::Waiting(until) => {
                sleep_until(*until).await;
                News::TryAgain
            }
            Self::Resting => std::future::pending().await,
        }
    }
}

/// One step is done: for the log, and for whoever wants to know where a call stands.
fn step(name: &'static str) {
    tracing::debug!(target: "nod::link", step = name, "link");
}

/// A random number in 0..1, for waits.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness every wait is the shortest.
    if getrandom::fill(&mut bytes).is_err() {
        return 0.0;
    }
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

//! Random sequences of everything that can happen to calls, on the real service and ledger, with a device that keeps the
//! desktop's rules: a call runs at most once, ends as the model here says, and nothing is lost.
#![expect(clippy::disallowed_methods, reason = "a test plays the callers as tasks of their own")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::bus;
use super::connection::{Admitted, Connection, Connections, Device, Outlet};
use super::ledger::{self, SharedLedger};
use super::metrics::Metrics;
use super::service::{Calls, Context, Series, Wanted, unique};
use crate::ir::UnixMs;
use crate::link::thread::CallStatus;
use crate::link::wire::{CallError, CallRequest, CallResult, CloseCode, FromServer, OfferedTool, ResultStatus};

const SEQUENCES: u32 = 10_000;
const CALLS: u8 = 3;

/// Something that happens. What cannot happen at the time does not.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Somebody wants a call: a first time, again, or while others wait for it.
    Call(u8),
    /// The same id with other arguments.
    CallOtherwise(u8),
    /// Somebody wants it and gives up at once.
    CallBriefly(u8),
    /// The device takes the next frame that is on its way.
    Receive,
    /// The device ends a call that runs.
    Finish(u8, ResultStatus),
    /// The device sends its next result.
    Send,
    /// The connection breaks, with all that is on its way.
    Lose,
    /// The device connects, in place of an older connection if there is one.
    Connect,
    /// Who waits for a call stops waiting.
    Cancel(u8),
    /// `kill -9` of the server, and another start.
    RestartServer,
    /// `kill -9` of the device, and another start.
    RestartDevice,
}

fn step() -> impl Strategy<Value = Step> {
    let ends = prop_oneof![
        4 => Just(ResultStatus::Succeeded),
        1 => Just(ResultStatus::Failed),
        1 => Just(ResultStatus::Rejected),
        1 => Just(ResultStatus::TimedOut),
    ];
    prop_oneof![
        5 => (0..CALLS).prop_map(Step::Call),
        1 => (0..CALLS).prop_map(Step::CallOtherwise),
        1 => (0..CALLS).prop_map(Step::CallBriefly),
        6 => Just(Step::Receive),
        4 => (0..CALLS, ends).prop_map(|(call, end)| Step::Finish(call, end)),
        4 => Just(Step::Send),
        1 => Just(Step::Lose),
        3 => Just(Step::Connect),
        2 => (0..CALLS).prop_map(Step::Cancel),
        1 => Just(Step::RestartServer),
        1 => Just(Step::RestartDevice),
    ]
}

/// What the device's record says of a call.
#[derive(Debug, Clone)]
enum Record {
    Running { execution_id: String },
    Ended { result: CallResult, is_acknowledged: bool },
}

/// A desktop as its own specification has it.
#[derive(Debug, Default)]
struct Desktop {
    record: BTreeMap<String, Record>,
    /// Cancels that came before their request; forgotten with the process.
    early: BTreeSet<String>,
    unsent: VecDeque<CallResult>,
    runs: BTreeMap<String, u32>,
}

fn reported(id: &str, execution_id: &str, status: ResultStatus) -> CallResult {
    let is_good = status == ResultStatus::Succeeded;
    CallResult {
        tool_call_id: id.to_owned(),
        execution_id: execution_id.to_owned(),
        status,
        output: is_good.then(|| json!({"of": id})),
        error: (!is_good).then(|| CallError { code: "CODE".into(), message: "words".into() }),
        duration_ms: 1,
    }
}

impl Desktop {
    fn receive(&mut self, frame: FromServer) {
        match frame {
            FromServer::Request(request) => self.request(&request),
            FromServer::Cancel { tool_call_id, .. } => match self.record.get(&tool_call_id).cloned() {
                None => drop(self.early.insert(tool_call_id)),
                Some(Record::Running { execution_id }) => {
                    self.end(&tool_call_id, &execution_id, ResultStatus::Cancelled);
                }
                Some(Record::Ended { .. }) => {}
            },
            FromServer::Ack { tool_call_id } => {
                if let Some(Record::Ended { is_acknowledged, .. }) = self.record.get_mut(&tool_call_id) {
                    *is_acknowledged = true;
                }
            }
            FromServer::Registered(_) | FromServer::Heartbeat {} | FromServer::ProtocolError(_) => {}
        }
    }

    fn request(&mut self, request: &CallRequest) {
        let id = &request.tool_call_id;
        match self.record.get(id).cloned() {
            None if self.early.remove(id) => self.end(id, &request.execution_id, ResultStatus::Cancelled),
            None => {
                *self.runs.entry(id.clone()).or_default() += 1;
                self.record.insert(id.clone(), Record::Running { execution_id: request.execution_id.clone() });
            }
            Some(Record::Running { .. }) => {}
            Some(Record::Ended { mut result, .. }) => {
                // Either dispatch may be the one that it names.
                if request.attempt_no.is_multiple_of(2) {
                    result.execution_id.clone_from(&request.execution_id);
                }
                self.unsent.push_back(result);
            }
        }
    }

    fn end(&mut self, id: &str, execution_id: &str, status: ResultStatus) {
        let result = reported(id, execution_id, status);
        self.record.insert(id.to_owned(), Record::Ended { result: result.clone(), is_acknowledged: false });
        self.unsent.push_back(result);
    }

    fn finish(&mut self, id: &str, status: ResultStatus) {
        if let Some(Record::Running { execution_id }) = self.record.get(id).cloned() {
            self.end(id, &execution_id, status);
        }
    }

    fn restart(&mut self) {
        self.early.clear();
        self.unsent.clear();
        for (id, record) in &mut self.record {
            if let Record::Running { execution_id } = record {
                let result = reported(id, execution_id, ResultStatus::Unknown);
                *record = Record::Ended { result, is_acknowledged: false };
            }
        }
    }

    /// What is sent after the list of tools: every result that was not acknowledged.
    fn connect(&mut self) {
        self.unsent = self
            .record
            .values()
            .filter_map(|record| match record {
                Record::Ended { result, is_acknowledged: false } => Some(result.clone()),
                Record::Ended { .. } | Record::Running { .. } => None,
            })
            .collect();
    }
}

/// What the ledger must say of a call.
#[derive(Debug, Clone, PartialEq)]
struct Expected {
    status: CallStatus,
    output: Option<Value>,
    dispatches: usize,
}

/// Somebody who waits for a call.
struct Caller {
    call: u8,
    cancel: CancellationToken,
    answer: JoinHandle<Result<Value, CallError>>,
}

struct World {
    name: String,
    ledger: SharedLedger,
    clock: Arc<AtomicI64>,
    calls: Arc<Calls>,
    link: Option<(Arc<Connection>, Outlet)>,
    on_its_way: VecDeque<FromServer>,
    desktop: Desktop,
    callers: Vec<Caller>,
    expected: BTreeMap<u8, Expected>,
}

async fn server(ledger: &SharedLedger, clock: &Arc<AtomicI64>) -> Arc<Calls> {
    let connections = Arc::new(Connections::default());
    let bus = bus::join("local", Arc::clone(&connections) as Arc<dyn bus::Listener>).await.unwrap();
    let own = Arc::clone(clock);
    let replica = unique();
    let now = UnixMs(clock.fetch_add(1, Ordering::Relaxed));
    // One at a time: whoever was before it is gone.
    ledger.succeed("").await.unwrap();
    ledger.keep_alive(&replica, now, Vec::new()).await.unwrap();
    Arc::new(Calls {
        ledger: Arc::clone(ledger),
        connections,
        bus,
        metrics: Arc::new(Metrics::default()),
        clock: Arc::new(move || UnixMs(own.fetch_add(1, Ordering::Relaxed))),
        replica,
        dispatches: Series::default(),
        wait: Duration::from_mins(10),
    })
}

/// The same server with a caller that has no patience.
fn brief(calls: &Calls) -> Arc<Calls> {
    Arc::new(Calls {
        ledger: Arc::clone(&calls.ledger),
        connections: Arc::clone(&calls.connections),
        bus: Arc::clone(&calls.bus),
        metrics: Arc::clone(&calls.metrics),
        clock: Arc::clone(&calls.clock),
        replica: calls.replica.clone(),
        dispatches: Series::default(),
        wait: Duration::ZERO,
    })
}

impl World {
    async fn new(ledger: &SharedLedger, clock: &Arc<AtomicI64>) -> Self {
        Self {
            name: unique(),
            ledger: Arc::clone(ledger),
            clock: Arc::clone(clock),
            calls: server(ledger, clock).await,
            link: None,
            on_its_way: VecDeque::new(),
            desktop: Desktop::default(),
            callers: Vec::new(),
            expected: BTreeMap::new(),
        }
    }

    fn device(&self) -> Device {
        Device { user: self.name.clone(), id: "laptop".into() }
    }

    fn id(&self, call: u8) -> String {
        format!("{}:call_{call}", self.name)
    }

    fn call(&self, calls: &Arc<Calls>, call: u8, path: &str) -> Caller {
        let context = Context {
            user: self.name.clone(),
            device_id: Some("laptop".into()),
            thread_id: self.name.clone(),
            run_id: "r".into(),
        };
        let wanted = Wanted {
            tool_call_id: self.id(call),
            tool_name: "workspace.list_files".into(),
            arguments: json!({"path": path}),
        };
        let (calls, cancel) = (Arc::clone(calls), CancellationToken::new());
        let token = cancel.clone();
        Caller { call, cancel, answer: tokio::spawn(async move { calls.call(&context, wanted, &token).await }) }
    }

    /// The next frame that the server has queued goes on its way.
    async fn carry(&mut self) -> &FromServer {
        let frame = self.link.as_mut().unwrap().1.outbox.recv().await.unwrap();
        self.on_its_way.push_back(*frame);
        self.on_its_way.back().unwrap()
    }

    fn is_final(&self, call: u8) -> bool {
        self.expected.get(&call).is_some_and(|expected| expected.status.is_final())
    }

    async fn want(&mut self, call: u8) {
        let caller = self.call(&self.calls, call, ".");
        if self.link.is_none() {
            return assert_eq!(code(caller.answer.await.unwrap()), "DEVICE_OFFLINE");
        }
        if self.is_final(call) {
            let expected = self.expected.get(&call).unwrap();
            return assert_eq!(caller.answer.await.unwrap().ok(), expected.output);
        }
        self.dispatched(call).await;
        self.callers.push(caller);
    }

    async fn dispatched(&mut self, call: u8) {
        let id = self.id(call);
        let expected = self.expected.entry(call).or_insert(Expected {
            status: CallStatus::Dispatched,
            output: None,
            dispatches: 0,
        });
        expected.status = CallStatus::Dispatched;
        expected.dispatches += 1;
        let attempt = expected.dispatches;
        let FromServer::Request(request) = self.carry().await else { panic!("no request") };
        assert_eq!((request.tool_call_id.as_str(), request.attempt_no as usize), (id.as_str(), attempt));
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Call(call) => self.want(call).await,
            Step::CallOtherwise(call) if self.link.is_some() && self.expected.contains_key(&call) => {
                let caller = self.call(&self.calls, call, "elsewhere");
                assert_eq!(code(caller.answer.await.unwrap()), "IDEMPOTENCY_CONFLICT");
            }
            Step::CallBriefly(call) if self.link.is_some() && !self.is_final(call) => {
                let caller = self.call(&brief(&self.calls), call, ".");
                self.dispatched(call).await;
                assert_eq!(code(caller.answer.await.unwrap()), "TIMED_OUT");
                self.given_up(call, CallStatus::TimedOut).await;
            }
            Step::Receive => {
                if let Some(frame) = self.on_its_way.pop_front() {
                    self.desktop.receive(frame);
                }
            }
            Step::Finish(call, end) => self.desktop.finish(&self.id(call), end),
            Step::Send if self.link.is_some() => self.send().await,
            Step::Lose => self.lose().await,
            Step::Connect => self.connect().await,
            Step::Cancel(call) => {
                let Some(place) = self.callers.iter().position(|caller| caller.call == call) else { return };
                let caller = self.callers.remove(place);
                caller.cancel.cancel();
                assert_eq!(code(caller.answer.await.unwrap()), "RUN_CANCELLED");
                self.given_up(call, CallStatus::Unknown).await;
            }
            Step::RestartServer => {
                for caller in self.callers.drain(..) {
                    caller.answer.abort();
                    assert!(caller.answer.await.is_err());
                }
                self.link = None;
                self.on_its_way.clear();
                for expected in self.expected.values_mut() {
                    if expected.status == CallStatus::Dispatched {
                        expected.status = CallStatus::Unknown;
                    }
                }
                self.calls = server(&self.ledger, &self.clock).await;
            }
            Step::RestartDevice => {
                self.lose().await;
                self.desktop.restart();
            }
            Step::CallOtherwise(_) | Step::CallBriefly(_) | Step::Send => {}
        }
    }

    /// Somebody waits no longer. The call is given up, and the device hears of it, with the last who waits.
    async fn given_up(&mut self, call: u8, status: CallStatus) {
        if self.callers.iter().any(|caller| caller.call == call) {
            return assert!(self.link.as_mut().unwrap().1.outbox.try_recv().is_err(), "another still waits");
        }
        self.expected.get_mut(&call).unwrap().status = status;
        assert!(matches!(self.carry().await, FromServer::Cancel { .. }));
    }

    async fn send(&mut self) {
        let Some(result) = self.desktop.unsent.pop_front() else { return };
        let id = result.tool_call_id.clone();
        let call = (0..CALLS).find(|call| self.id(*call) == id).unwrap();
        assert!(self.calls.take_result(&self.device(), result.clone()).await.unwrap(), "it may be acknowledged");
        // As the socket does once it is written down.
        self.on_its_way.push_back(FromServer::Ack { tool_call_id: id });
        let was_final = self.is_final(call);
        let expected = self.expected.get_mut(&call).unwrap();
        if !was_final {
            expected.status = result.status.into();
            expected.output.clone_from(&result.output);
        }
        let output = expected.output.clone();
        for place in (0..self.callers.len()).rev() {
            if self.callers[place].call == call {
                assert_eq!(self.callers.remove(place).answer.await.unwrap().ok(), output);
            }
        }
    }

    async fn lose(&mut self) {
        let Some((connection, outlet)) = self.link.take() else { return };
        drop(outlet);
        self.on_its_way.clear();
        self.calls.disconnected(&connection).await;
        self.lost().await;
    }

    /// Everybody who waits hears that nobody knows.
    async fn lost(&mut self) {
        for caller in std::mem::take(&mut self.callers) {
            assert_eq!(code(caller.answer.await.unwrap()), "RESULT_UNKNOWN");
            self.expected.get_mut(&caller.call).unwrap().status = CallStatus::Unknown;
        }
    }

    async fn connect(&mut self) {
        let older = self.link.take();
        let place = self.clock.fetch_add(1, Ordering::Relaxed);
        let admitted = Admitted { device: self.device(), token: String::new(), place };
        let (connection, outlet) = Connection::new(unique(), admitted);
        self.calls.connected(Arc::clone(&connection)).await;
        connection.offer(Arc::new(vec![OfferedTool {
            name: "workspace.list_files".into(),
            version: "1".into(),
            risk: "low".into(),
            requires_confirmation: false,
            timeout_ms: 10_000,
            input_schema: json!({}),
        }]));
        if let Some((older, outlet)) = older {
            assert_eq!(*outlet.closing.borrow(), Some(CloseCode::Replaced));
            self.calls.disconnected(&older).await;
        }
        self.link = Some((connection, outlet));
        self.on_its_way.clear();
        self.lost().await;
        self.desktop.connect();
    }

    /// Everything comes to its end, and both sides agree.
    async fn settle(mut self) {
        if self.link.is_none() {
            self.connect().await;
        }
        loop {
            for call in 0..CALLS {
                self.desktop.finish(&self.id(call), ResultStatus::Succeeded);
            }
            if self.on_its_way.is_empty() && self.desktop.unsent.is_empty() {
                break;
            }
            self.take(Step::Receive).await;
            self.send().await;
        }
        assert!(self.callers.is_empty(), "everybody has an answer");
        assert_eq!(self.calls.connections.counts(), (1, 0));
        for call in 0..CALLS {
            let id = self.id(call);
            let view = self.ledger.call(&self.name, &id).await.unwrap();
            let found = view.as_ref().map(|view| Expected {
                status: view.status,
                output: view.output.clone(),
                dispatches: view.executions.len(),
            });
            assert_eq!(found, self.expected.get(&call).cloned(), "{id}");
            let runs = self.desktop.runs.get(&id).copied().unwrap_or(0);
            assert!(runs <= 1, "{id} ran {runs} times");
            match self.desktop.record.get(&id) {
                Some(Record::Ended { result, is_acknowledged }) => {
                    let view = view.unwrap();
                    assert!(*is_acknowledged, "{id}: nothing is left to send");
                    let known = CallStatus::from(result.status);
                    // What the device does not know either may be tried again, and the last try may have been lost.
                    let is_agreed = view.status == known || !known.is_final() && !view.status.is_final();
                    assert!(is_agreed, "{id}: {:?}, and the device knows {known:?}", view.status);
                    assert!(view.executions.iter().all(|one| one.status != CallStatus::Dispatched), "{view:?}");
                }
                Some(Record::Running { .. }) => panic!("{id} runs for ever"),
                // A request that was lost on its way.
                None => assert!(!view.is_some_and(|view| view.status.is_final()), "{id}: an answer that nobody gave"),
            }
        }
    }
}

fn code(answer: Result<Value, CallError>) -> String {
    answer.unwrap_err().code
}

#[test]
fn whatever_happens_a_call_runs_at_most_once_and_nothing_is_lost() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ledger = runtime.block_on(ledger::open("sqlite::memory:")).unwrap();
    let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
    let config = Config { cases: SEQUENCES, failure_persistence: None, ..Config::default() };
    let steps = proptest::collection::vec(step(), 1..24);
    TestRunner::new(config)
        .run(&steps, |steps| {
            runtime.block_on(async {
                let mut world = World::new(&ledger, &clock).await;
                for step in steps {
                    world.take(step).await;
                }
                world.settle().await;
            });
            Ok(())
        })
        .unwrap();
}

/// Written before the later dispatch was, told after it: what is still out brings its own answer.
#[tokio::test]
async fn news_of_an_earlier_dispatch_does_not_answer_a_later_one() {
    let ledger = ledger::open("sqlite::memory:").await.unwrap();
    let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
    let mut world = World::new(&ledger, &clock).await;
    for step in [Step::Connect, Step::Call(0), Step::Receive, Step::RestartDevice, Step::Connect, Step::Send] {
        world.take(step).await;
    }
    let id = world.id(0);
    world.want(0).await;
    let unknown = reported(&id, "earlier", ResultStatus::Unknown);
    let ended = ledger::Ended { status: CallStatus::Unknown, output: None, error: unknown.error };
    for news in [Some(ended), None] {
        world.calls.connections.resolve(&world.name, &id, news.map(Arc::new).as_ref());
        tokio::task::yield_now().await;
        ledger.call(&world.name, &id).await.unwrap();
    }
    assert!(!world.callers[0].answer.is_finished(), "the later dispatch is still out");
    for step in [Step::Receive, Step::Receive, Step::Send] {
        world.take(step).await;
    }
    assert!(world.callers.is_empty());
    world.settle().await;
}

/// The device has one question open for both: it closes with the last of them.
#[tokio::test]
async fn who_gives_a_call_up_takes_nothing_from_who_still_waits_for_it() {
    let ledger = ledger::open("sqlite::memory:").await.unwrap();
    let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
    let mut world = World::new(&ledger, &clock).await;
    for step in [Step::Connect, Step::Call(0), Step::Call(0), Step::Receive, Step::Receive, Step::Cancel(0)] {
        world.take(step).await;
    }
    let view = ledger.call(&world.name, &world.id(0)).await.unwrap().unwrap();
    let statuses: Vec<CallStatus> = view.executions.iter().map(|one| one.status).collect();
    assert_eq!((view.status, statuses), (CallStatus::Dispatched, vec![CallStatus::Unknown, CallStatus::Dispatched]));
    for step in [Step::CallBriefly(0), Step::Receive, Step::Finish(0, ResultStatus::Succeeded), Step::Send] {
        world.take(step).await;
    }
    assert!(world.callers.is_empty(), "the other has its answer");
    world.settle().await;
}

/// Two users whose clients chose the same ids.
#[tokio::test]
async fn a_result_answers_the_call_of_its_own_user() {
    let ledger = ledger::open("sqlite::memory:").await.unwrap();
    let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
    let (mut ann, mut bob) = (World::new(&ledger, &clock).await, World::new(&ledger, &clock).await);
    let id = "thread:call_1";
    let mut sent = Vec::new();
    for world in [&mut ann, &mut bob] {
        world.connect().await;
        let attempt = ledger::NewAttempt {
            tool_call_id: id.into(),
            user: world.name.clone(),
            device_id: "laptop".into(),
            thread_id: "thread".into(),
            run_id: "run".into(),
            tool_name: "workspace.list_files".into(),
            arguments: json!({"path": world.name}),
            arguments_hash: world.name.clone(),
            execution_id: unique(),
            connection_id: "k".into(),
            replica: world.calls.replica.clone(),
            now: UnixMs(1),
        };
        sent.push(attempt.execution_id.clone());
        assert_eq!(ledger.begin_attempt(attempt).await.unwrap(), ledger::Begun::Dispatch { attempt_no: 1 });
    }
    let result = reported(id, &sent[0], ResultStatus::Succeeded);
    assert!(!ann.calls.take_result(&bob.device(), result.clone()).await.unwrap(), "not in that dispatch");
    assert!(ann.calls.take_result(&ann.device(), result).await.unwrap());
    let status = async |user: &str| ledger.call(user, id).await.unwrap().unwrap().status;
    assert_eq!((status(&ann.name).await, status(&bob.name).await), (CallStatus::Succeeded, CallStatus::Dispatched));
}

//! What a turn does while somebody else makes it wait: a server that says nothing, one that never ends, a front end that
//! does not read, a store that takes nothing more.
#![expect(clippy::disallowed_methods, reason = "a test of time keeps time")]

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use nod::engine::system_clock;
use nod::ir::{
    AuditFilter, CallStatus, Decider, Error, ErrorCode, FinishReason, MessageStatus, ModelInfo, Request, Response,
    State, StreamBody, StreamEvent,
};
use nod::port::{Answer as Said, Command, ConfirmRequest, Event, TurnEnd, TurnOptions, TurnOutcome, Unanswered};
use nod::provider::answer::{Answer, Ending, Listener};
use nod::provider::scripted::{Gate, Scripted, Step};
use nod::provider::{Provider, PullProgress};
use rusqlite::Connection;
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::desk::{Desk, Only, PATIENCE, Setup};

/// What waits for the other side would take three seconds and more.
const SOON: Duration = Duration::from_millis(1_500);

/// A server that takes connections and never says a word.
fn silent() -> (TcpListener, Desk) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let desk = Desk::with(Setup::ollama(&format!("http://{}", server.local_addr().unwrap())));
    (server, desk)
}

fn run_for(desk: &mut Desk, timeout_ms: u64) {
    desk.send(Command::OpenSession(desk.session.clone()));
    let session = Box::new(desk.opened());
    let options = TurnOptions { timeout_ms: Some(timeout_ms), ..TurnOptions::default() };
    desk.send(Command::RunTurn { session, text: "go".into(), images: Vec::new(), options });
}

fn assert_is_late(end: TurnEnd) {
    assert_eq!((end.outcome, end.error.map(|error| error.code)), (TurnOutcome::Failed, Some(ErrorCode::Timeout)));
}

#[test]
fn stop_does_not_wait_for_a_server_that_says_nothing() {
    let (_server, mut desk) = silent();
    desk.say("go");
    desk.until_state(State::Sending);
    let at = Instant::now();
    desk.stop();
    desk.until_state(State::Cancelled);
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Stopped);
    assert!(at.elapsed() < SOON, "{:?}", at.elapsed());
    let is_stopped =
        |event: &Event| matches!(event, Event::MessageChanged(record) if record.status == MessageStatus::Stopped);
    assert!(desk.seen.iter().any(is_stopped));
}

#[test]
fn the_end_of_the_engine_does_not_wait_for_it_either_and_the_turn_says_goodbye_first() {
    let (_server, mut desk) = silent();
    desk.say("go");
    desk.until_state(State::Sending);
    let at = Instant::now();
    desk.engine.take().unwrap().shutdown();
    assert!(at.elapsed() < SOON, "{:?}", at.elapsed());
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Stopped);
    desk.until(|event| *event == Event::Ended);
}

#[test]
fn a_turns_time_does_not_wait_for_a_server_that_says_nothing() {
    let (_server, mut desk) = silent();
    let at = Instant::now();
    run_for(&mut desk, 100);
    assert_is_late(desk.turn_end());
    assert!(at.elapsed() < SOON, "{:?}", at.elapsed());
}

#[test]
fn a_turns_time_counts_while_a_question_waits() {
    let write = Step::call("write_file", json!({"path": "a.txt", "content": "x"}));
    let mut desk = Desk::new(vec![vec![write]]);
    run_for(&mut desk, 500);
    desk.asked();
    assert_is_late(desk.turn_end());
    assert!(desk.seen.iter().any(|event| matches!(event, Event::ConfirmClosed { .. })));
    assert!(!desk.path("a.txt").exists());
}

/// What became of the one call, and why its question was closed.
fn lapsed(desk: &mut Desk) -> (CallStatus, Option<Decider>, String, Option<Unanswered>) {
    desk.turn_end();
    let closed = desk.seen.iter().find_map(|event| match event {
        Event::ConfirmClosed { unanswered, .. } => Some(*unanswered),
        _ => None,
    });
    let call = desk.calls().remove(0);
    let code = call.result.as_ref().and_then(|result| result.code()).unwrap_or_default().to_owned();
    (call.status, call.decider, code, closed.unwrap())
}

fn asking_desk(settings: &[(&'static str, serde_json::Value)]) -> (Desk, ConfirmRequest) {
    let write = Step::call("write_file", json!({"path": "a.txt", "content": "x"}));
    let mut setup = Setup::new(vec![vec![write], vec![Step::text("Done.")]]);
    setup.settings = settings.to_vec();
    let mut desk = Desk::with(setup);
    desk.say("go");
    let asked = desk.asked();
    (desk, asked)
}

fn refused(why: Unanswered) -> (CallStatus, Option<Decider>, String, Option<Unanswered>) {
    (CallStatus::Denied, Some(Decider::Timeout), "REQUEST_EXPIRED".to_owned(), Some(why))
}

#[test]
fn a_question_that_nobody_answers_in_time_is_refused_and_on_record_as_expired() {
    let (mut desk, asked) = asking_desk(&[("safety.answer_within_s", json!(1))]);
    assert_eq!(lapsed(&mut desk), refused(Unanswered::Expired));
    assert!(!desk.path("a.txt").exists());
    let sent = desk.sent_results();
    assert!(sent[0].result.to_string().contains("Nobody answered in time"), "{sent:?}");
    // A late yes does nothing.
    desk.answer(&asked, Said::AllowOnce);
    desk.send(Command::LoadAudit { filter: AuditFilter::default(), offset: 0, number: 1 });
    let event = desk.until(|event| matches!(event, Event::AuditLoaded { .. }));
    let Event::AuditLoaded { rows, .. } = event else { unreachable!() };
    let lines = rows.into_iter().filter_map(|row| row.entry);
    let expired = lines.filter(|line| line.decider == Some(Decider::Timeout) && line.outcome == "REQUEST_EXPIRED");
    assert_eq!(expired.count(), 1);
    assert!(!desk.path("a.txt").exists());

    // The control: a question without a time limit is still open after that time.
    let (mut desk, asked) = asking_desk(&[("safety.answer_within_s", json!(0))]);
    let at = Instant::now();
    while at.elapsed() < SOON {
        let event = desk.inbox.as_ref().unwrap().recv_timeout(Duration::from_millis(100));
        assert!(!matches!(event, Some(Event::ConfirmClosed { .. })));
    }
    desk.answer(&asked, Said::AllowOnce);
    desk.turn_end();
    assert!(desk.path("a.txt").exists());
}

#[test]
fn a_locked_screen_refuses_what_waits_and_what_is_asked_behind_it() {
    let (mut desk, _) = asking_desk(&[]);
    desk.send(Command::NoteScreenLock { is_locked: true });
    // However short the lock is.
    desk.send(Command::NoteScreenLock { is_locked: false });
    assert_eq!(lapsed(&mut desk), refused(Unanswered::ScreenLocked));
    assert!(!desk.path("a.txt").exists());

    let write = || Step::call("write_file", json!({"path": "a.txt", "content": "x"}));
    let mut desk = Desk::new(vec![vec![write()], vec![Step::text("Done.")], vec![write()], vec![Step::text("Done.")]]);
    desk.send(Command::NoteScreenLock { is_locked: true });
    desk.say("go");
    desk.asked();
    assert_eq!(lapsed(&mut desk), refused(Unanswered::ScreenLocked));
    assert!(!desk.path("a.txt").exists());
    // The control: with the screen open again the same question is answered.
    desk.send(Command::NoteScreenLock { is_locked: false });
    desk.say("again");
    let asked = desk.asked();
    desk.answer(&asked, Said::AllowOnce);
    desk.turn_end();
    assert!(desk.path("a.txt").exists());
}

/// A model that never stops talking, as fast as it can, so many words at a time.
struct Endless(usize);

impl Provider for Endless {
    fn provider_id(&self) -> &'static str {
        "scripted"
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, Error>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn model_info<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<ModelInfo, Error>> {
        Box::pin(async move { Ok(Scripted::model(model)) })
    }

    fn health_check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async { Ok("endless".into()) })
    }

    fn send_stream<'a>(
        &'a self,
        model: &'a str,
        request: &'a Request,
        events: mpsc::Sender<StreamEvent>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(async move {
            let mut answer = Answer::new(request, "scripted", model, Listener::Events(events), system_clock());
            for word in 0_u64.. {
                answer
                    .push(StreamBody::TextDelta { delta: format!("{word} more of the same ").repeat(self.0) })
                    .await?;
            }
            answer.complete(Ending::from(FinishReason::Stop)).await
        })
    }

    fn send<'a>(&'a self, _: &'a str, _: &'a Request) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(async { Err(Error::new(ErrorCode::Unknown, "It never ends.")) })
    }

    fn pull<'a>(&'a self, _: &'a str, _: mpsc::Sender<PullProgress>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Err(Error::new(ErrorCode::Unknown, "There is nothing to download.")) })
    }
}

fn endless(words: usize) -> Desk {
    let mut setup = Setup::new(Vec::new()).kept();
    setup.source = Arc::new(Only(Arc::new(Endless(words))));
    Desk::with(setup)
}

#[test]
fn an_answer_that_grows_without_end_is_broken_off_before_it_is_too_long_to_keep() {
    let mut desk = endless(256);
    let at = Instant::now();
    run_for(&mut desk, 60_000);
    let end = desk.turn_end();
    let error = end.error.unwrap();
    assert_eq!((error.code, error.provider_code.as_deref()), (ErrorCode::InvalidResponse, Some("too_large")));
    assert!((8 << 20..9 << 20).contains(&end.content.len()), "{}", end.content.len());
    assert!(at.elapsed() < PATIENCE, "{:?}", at.elapsed());
}

#[test]
fn a_turns_time_ends_an_answer_that_never_ends() {
    let mut desk = endless(1);
    let at = Instant::now();
    run_for(&mut desk, 1_000);
    let end = desk.turn_end();
    assert_is_late(end);
    assert!(at.elapsed() < 3 * SOON, "{:?}", at.elapsed());
}

/// Bytes of growing answers in the store.
fn saved(data: &Path) -> i64 {
    let database = Connection::open(data.join("nod.db")).unwrap();
    database.query_row("SELECT coalesce(sum(length(text)), 0) FROM message_chunk", [], |row| row.get(0)).unwrap()
}

#[test]
fn what_has_streamed_is_saved_while_no_front_end_reads() {
    const PIECE: usize = 60_000;
    let mut steps = vec![Step::text("x".repeat(PIECE)); 30];
    steps.push(Step::Gate(Gate::new()));
    let mut desk = Desk::with(Setup::new(vec![steps]).kept());
    desk.say("go");
    desk.until_state(State::Accumulating);
    let deadline = Instant::now() + PATIENCE;
    // More than the inbox holds does not come; all that has come is saved.
    while saved(desk.data.path()) < 1_000_000 {
        assert!(Instant::now() < deadline, "only {} bytes are saved", saved(desk.data.path()));
        std::thread::yield_now();
    }
}

#[test]
fn an_answer_that_can_no_longer_be_saved_ends_its_turn_once_and_stays_on_the_screen() {
    let gate = Gate::new();
    let mut steps = vec![Step::text("so far"), Step::Gate(gate.clone())];
    steps.extend([Step::text(" and on"), Step::Gate(Gate::new()), Step::text(" never")]);
    let mut desk = Desk::with(Setup::new(vec![steps]).kept());
    desk.say("go");
    desk.until(|event| matches!(event, Event::Streamed { .. }));
    let database = Connection::open(desk.data.path().join("nod.db")).unwrap();
    // To whoever writes, a store without a place for the text is as good as a full disk.
    database.execute_batch("DROP TABLE message_chunk").unwrap();
    gate.open();
    let end = desk.turn_end();
    assert_eq!((end.outcome, end.content.as_str(), end.rounds), (TurnOutcome::Failed, "so far and on", 1));
    let error = end.error.unwrap();
    assert_eq!(error.provider_code.as_deref(), Some("not_saved"));
    assert_eq!(desk.seen.iter().filter(|event| matches!(event, Event::Fault { .. })).count(), 1);
    let shown = desk.seen.iter().rev().find_map(|event| match event {
        Event::MessageChanged(record) => Some(record),
        _ => None,
    });
    let shown = shown.unwrap();
    assert_eq!((shown.status, shown.message.content.as_str()), (MessageStatus::Failed, "so far and on"));
    assert_eq!(shown.error.as_ref(), Some(&error));
}

//! Turns from the outside: what a front end sees of them, what the model is sent, what is kept.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use nod::engine::{Place, ProviderSource, system_clock};
use nod::ir::{
    Error, ErrorCode, Image, MessageStatus, ModelInfo, Request, Response, Role, State, StreamEvent, Support,
};
use nod::port::{Command, Event, Fallback, Settings, TurnOptions, TurnOutcome};
use nod::provider::scripted::{Gate, Scripted, Step};
use nod::provider::{Provider, PullProgress};
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::desk::{Desk, Only, Setup};

fn states(desk: &Desk) -> Vec<State> {
    let state = |event: &Event| match event {
        Event::StateChanged { state, .. } => Some(*state),
        _ => None,
    };
    desk.seen.iter().filter_map(state).collect()
}

fn opened(desk: &mut Desk) -> Vec<nod::ir::MessageRecord> {
    desk.send(Command::OpenSession(desk.session.clone()));
    match desk.until(|event| matches!(event, Event::SessionOpened { .. })) {
        Event::SessionOpened { messages, .. } => messages,
        _ => unreachable!(),
    }
}

#[test]
fn an_answer_is_streamed_kept_and_named_after_the_question() {
    let mut desk = Desk::new(vec![vec![Step::think("hm"), Step::text("Hello "), Step::text("there")]]);
    desk.say("Greet me");
    let end = desk.turn_end();
    assert_eq!((end.outcome, end.content.as_str(), end.rounds), (TurnOutcome::Done, "Hello there", 1));
    assert_eq!(states(&desk), [State::Sending, State::Accumulating, State::Done]);
    let messages = opened(&mut desk);
    let shown: Vec<_> = messages.iter().map(|m| (m.message.role, m.message.content.as_str(), m.status)).collect();
    assert_eq!(
        shown,
        [(Role::User, "Greet me", MessageStatus::Complete), (Role::Assistant, "Hello there", MessageStatus::Complete)]
    );
    assert_eq!(messages[1].message.reasoning_content.as_deref(), Some("hm"));
    let titled = |event: &Event| matches!(event, Event::SessionChanged(session) if session.title == "Greet me");
    assert!(desk.seen.iter().any(titled));
}

#[test]
fn a_failure_keeps_what_was_streamed_and_continue_tries_again() {
    let broken = Error::new(ErrorCode::NetworkError, "the line is gone").retryable();
    let mut desk =
        Desk::new(vec![vec![Step::text("Half an ans"), Step::Fail(broken)], vec![Step::text("A whole answer")]]);
    desk.say("Tell me");
    let end = desk.turn_end();
    assert_eq!(end.outcome, TurnOutcome::Failed);
    let kept = opened(&mut desk).pop().unwrap();
    assert_eq!((kept.status, kept.message.content.as_str()), (MessageStatus::Failed, "Half an ans"));
    assert_eq!(kept.error.unwrap().code, ErrorCode::NetworkError);

    desk.send(Command::Continue(desk.session.clone()));
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    let again = opened(&mut desk).pop().unwrap();
    assert_eq!((again.message.content.as_str(), again.version), ("A whole answer", (2, 2)));
}

#[test]
fn an_error_before_the_first_byte_is_tried_again_and_said_so() {
    let busy = Error { retry_after_ms: Some(1), ..Error::new(ErrorCode::ModelOverloaded, "busy").retryable() };
    let mut desk = Desk::new(vec![vec![Step::Fail(busy)], vec![Step::text("Here I am")]]);
    desk.say("Hello?");
    assert_eq!(desk.turn_end().content, "Here I am");
    assert!(desk.seen.iter().any(|event| matches!(event, Event::Retrying { attempt: 1, .. })));
    let done =
        |event: &&Event| matches!(event, Event::Streamed { event, .. } if event.body == nod::ir::StreamBody::Done);
    assert_eq!(desk.seen.iter().filter(done).count(), 1, "the stream that counted ended once");
}

#[test]
fn a_message_sent_while_a_turn_runs_waits_and_is_answered_next() {
    let gate = Gate::new();
    let mut desk = Desk::new(vec![vec![Step::text("one"), Step::Gate(gate.clone())], vec![Step::text("two")]]);
    desk.say("first");
    desk.until_state(State::Accumulating);
    desk.say("second");
    desk.until(|event| matches!(event, Event::QueueChanged { queued, .. } if queued == &["second"]));
    gate.open();
    assert_eq!(desk.turn_end().content, "one");
    assert_eq!(desk.turn_end().content, "two");
}

#[test]
fn what_waits_when_the_program_ends_is_in_the_message_box_at_the_next_start() {
    let gate = Gate::new();
    let mut desk = Desk::with(Setup::new(vec![vec![Step::text("one"), Step::Gate(gate.clone())]]).kept());
    desk.say("first");
    desk.until_state(State::Accumulating);
    desk.say("second");
    desk.until(|event| matches!(event, Event::QueueChanged { queued, .. } if queued == &["second"]));
    desk.restart();
    desk.send(Command::OpenSession(desk.session.clone()));
    assert_eq!(desk.opened().draft, "second");
    gate.open();
}

#[test]
fn a_front_end_that_opens_the_session_in_the_middle_gets_all_that_has_come() {
    let gate = Gate::new();
    let mut desk = Desk::new(vec![vec![Step::text("so far"), Step::Gate(gate.clone()), Step::text(" and on")]]);
    desk.say("go");
    desk.until(|event| {
        matches!(event, Event::Streamed { event, .. }
        if matches!(&event.body, nod::ir::StreamBody::TextDelta { .. }))
    });
    let record = opened(&mut desk).pop().unwrap();
    assert_eq!((record.status, record.message.content.as_str()), (MessageStatus::Streaming, "so far"));
    gate.open();
    assert_eq!(desk.turn_end().content, "so far and on");
}

#[test]
fn an_edited_message_makes_a_branch_and_the_old_one_stays_reachable() {
    let mut desk = Desk::new(vec![vec![Step::text("old")], vec![Step::text("new")]]);
    desk.say("first");
    desk.turn_end();
    let asked = opened(&mut desk).remove(0);
    let session = desk.session.clone();
    desk.send(Command::EditMessage { session: session.clone(), message: asked.id, text: "edited".into() });
    // A front end leaves the old branch before the new one grows: it must never show both, one under the other.
    let shown = desk.until(|event| matches!(event, Event::SessionOpened { .. } | Event::MessageChanged(_)));
    assert!(matches!(&shown, Event::SessionOpened { messages, .. } if messages.is_empty()), "{shown:?}");
    desk.turn_end();
    let branch = opened(&mut desk);
    assert_eq!((branch[0].message.content.as_str(), branch[0].version), ("edited", (2, 2)));
    assert_eq!(branch[1].message.content, "new");
    desk.send(Command::SelectVersion { session, message: branch[0].id.clone(), version: 1 });
    let branch = opened(&mut desk);
    assert_eq!((branch[0].message.content.as_str(), branch[1].message.content.as_str()), ("first", "old"));
}

#[test]
fn a_regenerated_answer_is_a_second_version() {
    let mut desk = Desk::new(vec![vec![Step::text("one")], vec![Step::text("two")]]);
    desk.say("say");
    desk.turn_end();
    let answer = opened(&mut desk).pop().unwrap();
    desk.send(Command::Regenerate { session: desk.session.clone(), message: answer.id });
    let shown = desk.until(|event| matches!(event, Event::SessionOpened { .. } | Event::MessageChanged(_)));
    assert!(matches!(&shown, Event::SessionOpened { messages, .. } if messages.len() == 1), "{shown:?}");
    desk.turn_end();
    let answer = opened(&mut desk).pop().unwrap();
    assert_eq!((answer.message.content.as_str(), answer.version), ("two", (2, 2)));
}

#[test]
fn sessions_and_settings_are_there_again_after_a_restart() {
    let mut desk = Desk::with(Setup::new(vec![vec![Step::text("kept")]]).kept());
    desk.say("keep this");
    desk.turn_end();
    desk.set("general.language", "zh-CN");
    desk.restart();
    desk.send(Command::ListSessions);
    let listed = desk.until(|event| matches!(event, Event::SessionsListed(_)));
    assert!(matches!(listed, Event::SessionsListed(sessions) if sessions[0].title == "keep this"));
    let contents: Vec<_> = opened(&mut desk).into_iter().map(|record| record.message.content).collect();
    assert_eq!(contents, ["keep this", "kept"]);
}

#[test]
fn a_model_that_cannot_call_gets_no_tools_and_images_go_along() {
    let provider = Scripted::new(vec![vec![Step::text("I see")]], system_clock());
    let mut setup = Setup::scripted(Arc::clone(&provider));
    setup.source = Arc::new(Only(Arc::new(WithoutTools(provider))));
    let mut desk = Desk::with(setup);
    let image = Image { url: "data:image/png;base64,AAAA".into(), detail: None };
    desk.send(Command::Send {
        session: desk.session.clone(),
        text: "What is this?".into(),
        images: vec![image.clone()],
    });
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    let request = desk.requests.borrow()[0].clone();
    assert_eq!(request.tools, None);
    assert_eq!(request.messages[0].images, Some(vec![image]));
    assert!(!request.system_prompt.safety_guidelines.contains(&desk.folder.path().display().to_string()));
}

/// A provider whose model says that it cannot call tools.
struct WithoutTools(Arc<Scripted>);

impl Provider for WithoutTools {
    fn provider_id(&self) -> &str {
        self.0.provider_id()
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, Error>> {
        self.0.list_models()
    }

    fn model_info<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<ModelInfo, Error>> {
        Box::pin(async move { Ok(ModelInfo { supports_tool_calling: Support::No, ..Scripted::model(model) }) })
    }

    fn health_check(&self) -> BoxFuture<'_, Result<String, Error>> {
        self.0.health_check()
    }

    fn send_stream<'a>(
        &'a self,
        model: &'a str,
        request: &'a Request,
        events: mpsc::Sender<StreamEvent>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        self.0.send_stream(model, request, events)
    }

    fn send<'a>(&'a self, model: &'a str, request: &'a Request) -> BoxFuture<'a, Result<Response, Error>> {
        self.0.send(model, request)
    }

    fn pull<'a>(&'a self, model: &'a str, progress: mpsc::Sender<PullProgress>) -> BoxFuture<'a, Result<(), Error>> {
        self.0.pull(model, progress)
    }
}

#[test]
fn an_answer_that_comes_whole_looks_like_a_streamed_one() {
    let mut desk = Desk::new(vec![
        vec![Step::think("hm"), Step::text("Reading"), Step::call("read_file", json!({"path": "a.txt"}))],
        vec![Step::text("Done")],
    ]);
    desk.write("a.txt", "content");
    desk.send(Command::OpenSession(desk.session.clone()));
    let session = desk.opened();
    let options = TurnOptions { is_unstreamed: true, ..TurnOptions::default() };
    desk.send(Command::RunTurn { session: Box::new(session), text: "read".into(), images: Vec::new(), options });
    let end = desk.turn_end();
    assert_eq!((end.outcome, end.content.as_str(), end.rounds), (TurnOutcome::Done, "Done", 2));
    assert_eq!(desk.requests.borrow()[0].params.stream, Some(false));
    assert!(desk.calls()[0].result.as_ref().unwrap().success);
}

#[test]
fn a_turn_that_takes_too_long_is_stopped_and_said_so() {
    let mut desk = Desk::new(vec![vec![Step::text("begun"), Step::Gate(Gate::new())]]);
    desk.send(Command::OpenSession(desk.session.clone()));
    let session = desk.opened();
    let options = TurnOptions { timeout_ms: Some(50), ..TurnOptions::default() };
    desk.send(Command::RunTurn { session: Box::new(session), text: "go".into(), images: Vec::new(), options });
    let end = desk.turn_end();
    assert_eq!((end.outcome, end.error.unwrap().code), (TurnOutcome::Failed, ErrorCode::Timeout));
}

#[test]
fn another_provider_answers_when_the_first_cannot() {
    struct Two(Arc<Scripted>, Arc<Scripted>);
    impl ProviderSource for Two {
        fn ids(&self, _: &Settings) -> Vec<String> {
            Vec::new()
        }
        fn provider<'a>(
            &'a self,
            id: &'a str,
            _: Place<'a>,
            _: &'a Settings,
        ) -> futures_util::future::BoxFuture<'a, Result<Arc<dyn Provider>, Error>> {
            Box::pin(
                async move { Ok(if id == "second" { Arc::clone(&self.1) as _ } else { Arc::clone(&self.0) as _ }) },
            )
        }
    }
    let gone = Error::new(ErrorCode::AuthInvalid, "no key");
    let first = Scripted::new(vec![vec![Step::Fail(gone)]], system_clock());
    let second = Scripted::new(vec![vec![Step::text("from the second")]], system_clock());
    let mut setup = Setup::scripted(Arc::clone(&first));
    setup.source = Arc::new(Two(first, second));
    let mut desk = Desk::with(setup);
    desk.send(Command::OpenSession(desk.session.clone()));
    let session = desk.opened();
    let fallback = Fallback { provider: "second".into(), model: "other".into(), base_url: None };
    let options = TurnOptions { fallback: Some(fallback), ..TurnOptions::default() };
    desk.send(Command::RunTurn { session: Box::new(session), text: "hi".into(), images: Vec::new(), options });
    assert_eq!(desk.turn_end().content, "from the second");
    assert!(desk.seen.iter().any(|event| matches!(event, Event::ProviderSwitched { .. })));
    assert_eq!(opened(&mut desk).pop().unwrap().answer.unwrap().model, "other");
}

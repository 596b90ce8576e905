//! *Stop* in every state: shown at once, everything gone soon, and a history from which the next message goes on.
#![expect(clippy::disallowed_methods, reason = "a test of time keeps time")]

use std::time::{Duration, Instant};

use nod::engine::system_clock;
use nod::ir::{Access, CallStatus, Code, Error, ErrorCode, Failure, MessageStatus, State};
use nod::port::{Command, Event, TurnOutcome};
use nod::provider::scripted::{Gate, Scripted, Step};
use serde_json::json;

use crate::support::desk::{Desk, Setup};
use crate::support::probe::Probe;

/// The specification says 100 ms and 1 s; a machine under load gets more, and what is stopped would take a minute.
const SHOWN: Duration = Duration::from_secs(10);
const GONE: Duration = Duration::from_secs(20);

/// Stops and holds both times.
fn stop(desk: &mut Desk) {
    let at = Instant::now();
    desk.stop();
    desk.until_state(State::Cancelled);
    assert!(at.elapsed() < SHOWN, "shown after {:?}", at.elapsed());
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Stopped);
    assert!(at.elapsed() < GONE, "gone after {:?}", at.elapsed());
}

/// The next message is answered, and what the model is sent is valid: every call has its result.
fn goes_on(desk: &mut Desk) {
    desk.say("and now?");
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    let requests = desk.requests.borrow();
    let messages = &requests.last().unwrap().messages;
    for (index, message) in messages.iter().enumerate() {
        for (offset, call) in message.calls().iter().enumerate() {
            let answer = messages[index + 1 + offset].tool_result.as_ref().expect("a result for every call");
            assert_eq!(answer.tool_call_id, call.id);
        }
    }
}

fn last_message(desk: &mut Desk) -> nod::ir::MessageRecord {
    desk.send(Command::OpenSession(desk.session.clone()));
    match desk.until(|event| matches!(event, Event::SessionOpened { .. })) {
        Event::SessionOpened { mut messages, .. } => messages.pop().unwrap(),
        _ => unreachable!(),
    }
}

/// A desk with a tool that works until it is told to stop, or, when it is stubborn, somewhat longer.
fn slow(is_stubborn: bool) -> Desk {
    let probe = Probe::new(Access::Read, move |_, context| {
        let begun = Instant::now();
        while !context.cancel.is_cancelled() {
            assert!(begun.elapsed() < Duration::from_mins(1), "nobody stopped it");
            std::thread::yield_now();
        }
        if is_stubborn {
            std::thread::park_timeout(Duration::from_millis(1_500));
            return Ok(json!({"late": true}));
        }
        Err(Failure::new(Code::Cancelled, "stopped").into())
    });
    let answers = vec![vec![Probe::call(0)], vec![Step::text("going on")]];
    Desk::with(Setup::new(answers).with_tools(probe.alone()))
}

#[test]
fn while_sending() {
    let gate = Gate::new();
    let mut desk = Desk::new(vec![vec![Step::Gate(gate.clone()), Step::text("late")], vec![Step::text("going on")]]);
    desk.say("go");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(gate.reached());
    stop(&mut desk);
    assert_eq!(last_message(&mut desk).status, MessageStatus::Stopped);
    goes_on(&mut desk);
}

#[test]
fn while_waiting_to_try_again() {
    let busy = Error { retry_after_ms: Some(30_000), ..Error::new(ErrorCode::ModelOverloaded, "busy").retryable() };
    let mut desk = Desk::new(vec![vec![Step::Fail(busy)], vec![Step::text("going on")]]);
    desk.say("go");
    desk.until(|event| matches!(event, Event::Retrying { .. }));
    stop(&mut desk);
    goes_on(&mut desk);
}

#[test]
fn while_an_answer_streams_what_had_come_is_kept() {
    let gate = Gate::new();
    let call = Step::call("read_file", json!({"path": "a.txt"}));
    let mut desk = Desk::new(vec![
        vec![Step::think("hm"), Step::text("so far"), call, Step::Gate(gate)],
        vec![Step::text("going on")],
    ]);
    desk.say("go");
    desk.until(|event| {
        matches!(event, Event::Streamed { event, .. }
        if matches!(event.body, nod::ir::StreamBody::ToolCallComplete { .. }))
    });
    stop(&mut desk);
    let kept = last_message(&mut desk);
    assert_eq!((kept.status, kept.message.content.as_str()), (MessageStatus::Stopped, "so far"));
    assert_eq!(kept.message.reasoning_content.as_deref(), Some("hm"));
    assert_eq!(desk.calls()[0].status, CallStatus::Cancelled, "its call was never run");
    goes_on(&mut desk);
}

#[test]
fn while_a_question_waits_it_is_closed() {
    let write = Step::call("write_file", json!({"path": "a.txt", "content": "x"}));
    let mut desk = Desk::new(vec![vec![write], vec![Step::text("going on")]]);
    desk.say("go");
    let asked = desk.asked();
    desk.until_state(State::Confirming);
    stop(&mut desk);
    let closed = |event: &Event| matches!(event, Event::ConfirmClosed { confirm, .. } if *confirm == asked.id);
    if !desk.seen.iter().any(closed) {
        desk.until(closed);
    }
    assert_eq!(desk.calls()[0].status, CallStatus::Cancelled);
    assert!(!desk.path("a.txt").exists());
    goes_on(&mut desk);
}

#[test]
fn while_a_tool_runs() {
    let mut desk = slow(false);
    desk.say("go");
    desk.until(|event| matches!(event, Event::CallChanged(row) if row.status == CallStatus::Running));
    stop(&mut desk);
    assert_eq!(desk.calls()[0].status, CallStatus::Cancelled);
    goes_on(&mut desk);
}

#[test]
fn a_tool_that_does_not_listen_is_left_behind_and_its_row_says_later_how_it_ended() {
    let mut desk = slow(true);
    desk.say("go");
    desk.until(|event| matches!(event, Event::CallChanged(row) if row.status == CallStatus::Running));
    stop(&mut desk);
    assert_eq!(desk.calls()[0].status, CallStatus::Unknown);
    desk.until(|event| matches!(event, Event::CallChanged(row) if row.status == CallStatus::Succeeded));
    goes_on(&mut desk);
}

/// Whether a process with exactly these arguments is alive.
#[cfg(target_os = "linux")]
fn is_running(arguments: &[&str]) -> bool {
    let wanted = format!("{}\0", arguments.join("\0"));
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| line == wanted.as_bytes())
}

#[cfg(target_os = "linux")]
#[test]
fn while_a_command_runs_it_and_all_it_started_is_gone() {
    const MARK: &str = "7171.5";
    let command = format!("setsid sleep {MARK} & echo begun; sleep 60");
    let run = Step::call("run_command", json!({"command": command}));
    let mut desk = Desk::with(Setup::new(vec![vec![run], vec![Step::text("going on")]]).with_commands());
    desk.say("go");
    let asked = desk.asked();
    desk.answer(&asked, nod::port::Answer::AllowOnce);
    desk.until(|event| matches!(event, Event::CallOutput { text, .. } if text.contains("begun")));
    let begun = Instant::now();
    while !is_running(&["sleep", MARK]) {
        assert!(begun.elapsed() < GONE, "the control: it runs before Stop");
        std::thread::yield_now();
    }
    stop(&mut desk);
    let deadline = Instant::now() + GONE;
    while is_running(&["sleep", MARK]) {
        assert!(Instant::now() < deadline, "it is still there");
        std::thread::yield_now();
    }
    assert_eq!(desk.calls()[0].status, CallStatus::Cancelled);
    goes_on(&mut desk);
}

#[test]
fn one_call_can_be_stopped_without_its_turn() {
    let mut desk = slow(false);
    desk.say("go");
    let running = desk.until(|event| matches!(event, Event::CallChanged(row) if row.status == CallStatus::Running));
    let Event::CallChanged(row) = running else { unreachable!() };
    desk.send(Command::StopCall { session: desk.session.clone(), call: row.call.id.clone() });
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert_eq!(desk.sent_results()[0].code(), Some("CANCELLED"));
}

#[test]
fn when_nothing_runs_it_does_nothing() {
    let mut desk = Desk::new(vec![vec![Step::text("one")], vec![Step::text("two")]]);
    desk.stop();
    desk.say("go");
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    desk.stop();
    goes_on(&mut desk);
}

#[test]
fn what_waits_stays_until_the_person_speaks_again() {
    let gate = Gate::new();
    let provider = Scripted::new(
        vec![vec![Step::text("one"), Step::Gate(gate)], vec![Step::text("two")], vec![Step::text("three")]],
        system_clock(),
    );
    let mut desk = Desk::with(Setup::scripted(provider));
    desk.say("first");
    desk.until_state(State::Accumulating);
    desk.say("second");
    desk.until(|event| matches!(event, Event::QueueChanged { queued, .. } if queued.len() == 1));
    stop(&mut desk);
    desk.say("third");
    assert_eq!(desk.turn_end().content, "two");
    assert_eq!(desk.turn_end().content, "three");
    let requests = desk.requests.borrow();
    let said: Vec<_> = requests[2].messages.iter().filter(|m| m.role == nod::ir::Role::User).collect();
    assert_eq!(said.iter().map(|m| m.content.as_str()).collect::<Vec<_>>(), ["first", "second", "third"]);
}

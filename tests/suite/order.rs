//! The calls of one answer: asked in the order in which the model gave them; changes run in that order, one after the
//! other; reads run beside them.
#![expect(clippy::disallowed_types, reason = "a tool and its test share what the tool did")]

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use nod::ir::{Access, CallStatus, ConfirmMode, Decider, ToolCall, Verdict};
use nod::policy::{RuleEffect, RuleScope};
use nod::port::{Answer, Command, ConfirmRequest, Event, TurnOutcome};
use nod::provider::scripted::Step;
use serde_json::json;

use crate::support::desk::{Desk, Setup};
use crate::support::probe::Probe;

/// How long a question that must not come has to come.
const A_WHILE: Duration = Duration::from_millis(300);

fn write(path: &str, content: &str) -> Step {
    Step::call("write_file", json!({"path": path, "content": content}))
}

fn number(call: &ToolCall) -> u64 {
    call.args["n"].as_u64().unwrap()
}

fn has_ended(desk: &Desk, question: &ConfirmRequest) -> bool {
    desk.calls().iter().any(|row| row.call.id == question.call.id && row.status == CallStatus::Succeeded)
}

#[test]
fn questions_come_in_the_order_of_the_calls_however_long_each_is_looked_at() {
    let (asked, hears) = mpsc::sync_channel(1);
    let hears = Mutex::new(hears);
    // The first is looked at until one of the others is asked, should it be.
    let probe = Probe::new(Access::Write, |_, _| Ok(json!({}))).looking(move |args| {
        if args["n"] == 0 {
            hears.lock().unwrap().recv_timeout(A_WHILE).ok();
        }
    });
    let calls = (0..4).map(Probe::call).collect();
    let mut desk = Desk::with(Setup::new(vec![calls, vec![Step::text("ok")]]).with_tools(probe.alone()));
    desk.say("go");
    let first = desk.asked();
    asked.try_send(()).ok();
    let questions = [first, desk.asked(), desk.asked(), desk.asked()];
    assert_eq!(questions.each_ref().map(|question| number(&question.call)), [0, 1, 2, 3], "all wait at once, in order");
    for question in &questions {
        desk.answer(question, Answer::AllowOnce);
    }
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
}

#[test]
fn changes_run_in_the_order_of_the_calls_whichever_is_allowed_first() {
    let done = Arc::new(Mutex::new(Vec::new()));
    let probe = {
        let done = Arc::clone(&done);
        Probe::new(Access::Write, move |permit, _| {
            let n = permit.args()["n"].as_u64().unwrap();
            done.lock().unwrap().push((n, "begins"));
            std::thread::park_timeout(Duration::from_millis(30));
            done.lock().unwrap().push((n, "ends"));
            Ok(json!({}))
        })
    };
    let calls = (0..3).map(Probe::call).collect();
    let mut desk = Desk::with(Setup::new(vec![calls, vec![Step::text("ok")]]).with_tools(probe.alone()));
    desk.say("go");
    let questions = [desk.asked(), desk.asked(), desk.asked()];
    for question in questions.iter().rev() {
        desk.answer(question, Answer::AllowOnce);
        let closed = |event: &Event| matches!(event, Event::ConfirmClosed { confirm, .. } if *confirm == question.id);
        desk.until(closed);
    }
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    let expected = (0..3).flat_map(|n| [(n, "begins"), (n, "ends")]).collect::<Vec<_>>();
    assert_eq!(*done.lock().unwrap(), expected);
}

#[test]
fn a_change_that_was_refused_or_stopped_holds_up_none_after_it() {
    let mut desk = Desk::new(vec![vec![write("a.txt", "a"), write("b.txt", "b")], vec![Step::text("ok")]]);
    desk.say("write both");
    let (first, second) = (desk.asked(), desk.asked());
    desk.answer(&second, Answer::AllowOnce);
    desk.until(|event| matches!(event, Event::ConfirmClosed { confirm, .. } if *confirm == second.id));
    assert!(!desk.path("b.txt").exists(), "the first one may still be allowed");
    desk.answer(&first, Answer::Deny { reason: String::new() });
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert!(!desk.path("a.txt").exists() && desk.path("b.txt").exists());
}

#[cfg(unix)]
#[test]
fn what_comes_after_a_command_is_asked_about_what_the_command_left() {
    let command = |line: &str| Step::call("run_command", json!({"command": line}));
    let edit = Step::call("edit_file", json!({"path": "a.txt", "edits": [{"old_text": "two", "new_text": "three"}]}));
    let calls = vec![command("sleep 0.3; echo one > a.txt"), command("echo two >> a.txt"), edit];
    let mut desk = Desk::with(Setup::new(vec![calls, vec![Step::text("ok")]]).with_commands());
    desk.say("go");
    let mut before: Option<ConfirmRequest> = None;
    for wanted in ["sleep 0.3; echo one > a.txt", "echo two >> a.txt", ""] {
        let question = desk.asked();
        assert_eq!(question.call.args["command"].as_str().unwrap_or_default(), wanted);
        assert!(before.is_none_or(|before| has_ended(&desk, &before)), "the command before it has ended");
        desk.answer(&question, Answer::AllowOnce);
        before = Some(question);
    }
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert_eq!(desk.read("a.txt"), "one\nthree\n");
    let asked = desk.seen.iter().filter(|event| matches!(event, Event::ConfirmAsked(_))).count();
    assert_eq!(asked, 3, "each once");
}

#[test]
fn a_read_does_not_wait_for_the_changes_before_it() {
    let read = Step::call("read_file", json!({"path": "b.txt"}));
    let mut desk = Desk::new(vec![vec![write("a.txt", "a"), read], vec![Step::text("ok")]]);
    desk.write("b.txt", "b");
    desk.say("go");
    let question = desk.asked();
    let is_read = |event: &Event| matches!(event, Event::CallChanged(row) if row.call.name == "read_file" && row.status == CallStatus::Succeeded);
    if !desk.seen.iter().any(is_read) {
        desk.until(is_read);
    }
    assert!(!desk.path("a.txt").exists());
    desk.answer(&question, Answer::AllowOnce);
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
}

/// A question about `b.txt` that has its yes and waits until the one about `a.txt`, before it, has ended.
fn allowed_and_waiting() -> (Desk, ConfirmRequest) {
    let mut desk = Desk::new(vec![vec![write("a.txt", "a"), write("b.txt", "b")], vec![Step::text("ok")]]);
    desk.say("write both");
    let (first, second) = (desk.asked(), desk.asked());
    desk.answer(&second, Answer::AllowOnce);
    desk.until(|event| matches!(event, Event::ConfirmClosed { confirm, .. } if *confirm == second.id));
    (desk, first)
}

#[test]
fn a_refusal_that_is_made_between_the_yes_and_the_run_counts() {
    for is_made in [true, false] {
        let (mut desk, first) = allowed_and_waiting();
        if is_made {
            let scope = RuleScope::ToolInFolders { tool: "write_file".into() };
            let session = Some(desk.session.clone());
            desk.send(Command::MakeRule { session, effect: RuleEffect::Deny, scope });
            // It refuses the first one, which still waits.
        } else {
            desk.answer(&first, Answer::AllowOnce);
        }
        assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
        assert_eq!(desk.path("b.txt").exists(), !is_made);
        let row = desk.calls().into_iter().find(|row| row.call.args["path"] == "b.txt").unwrap();
        let expected = if is_made {
            (CallStatus::Denied, Some(Decider::Rule))
        } else {
            (CallStatus::Succeeded, Some(Decider::Person))
        };
        assert_eq!((row.status, row.decider), expected);
    }
}

#[test]
fn a_folder_that_is_added_between_the_yes_and_the_run_has_it_asked_anew() {
    let (mut desk, first) = allowed_and_waiting();
    let other = tempfile::tempdir().unwrap();
    desk.send(Command::AddFolder { session: desk.session.clone(), path: other.path().to_owned() });
    desk.until(|event| matches!(event, Event::SessionChanged(session) if session.folders.len() == 2));
    desk.answer(&first, Answer::AllowOnce);
    // The first one rests on the folders, too.
    let mut asked_anew = Vec::new();
    while asked_anew.len() < 2 {
        let question = desk.asked();
        assert!(question.is_asked_anew);
        asked_anew.push(question.target.clone());
        let answer =
            if question.target.ends_with("a.txt") { Answer::AllowOnce } else { Answer::Deny { reason: String::new() } };
        desk.answer(&question, answer);
    }
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert!(desk.path("a.txt").exists() && !desk.path("b.txt").exists());
}

#[test]
fn what_the_mode_let_through_is_asked_when_the_mode_is_stricter_by_the_time_it_would_run() {
    for is_stricter in [true, false] {
        let delete = Step::call("delete_file", json!({"path": "a.txt"}));
        let mut setup = Setup::new(vec![vec![delete, write("b.txt", "b")], vec![Step::text("ok")]]);
        setup.settings.push(("safety.mode", json!("automatic")));
        let mut desk = Desk::with(setup);
        desk.write("a.txt", "a");
        desk.say("go");
        let first = desk.asked();
        assert!(first.target.ends_with("a.txt"));
        if is_stricter {
            desk.send(Command::SetMode { session: desk.session.clone(), mode: ConfirmMode::Changes });
            desk.until(|event| matches!(event, Event::SessionChanged(session) if session.mode == ConfirmMode::Changes));
        }
        desk.answer(&first, Answer::AllowOnce);
        if is_stricter {
            let second = desk.asked();
            assert!(second.target.ends_with("b.txt"));
            desk.answer(&second, Answer::Deny { reason: String::new() });
        }
        assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
        assert_eq!((desk.path("a.txt").exists(), desk.path("b.txt").exists()), (false, !is_stricter));
    }
}

#[test]
fn deleting_a_chat_while_its_question_waits_ends_the_question_and_runs_nothing() {
    for is_deleted in [true, false] {
        let mut desk = Desk::new(vec![vec![write("a.txt", "a")], vec![Step::text("ok")]]);
        desk.say("go");
        let question = desk.asked();
        if is_deleted {
            desk.send(Command::DeleteSession(desk.session.clone()));
            desk.until(|event| matches!(event, Event::ConfirmClosed { confirm, .. } if *confirm == question.id));
        }
        // A yes that comes too late is none.
        desk.answer(&question, Answer::AllowOnce);
        if !desk.seen.iter().any(|event| matches!(event, Event::TurnEnded(_))) {
            desk.turn_end();
        }
        assert_eq!(desk.path("a.txt").exists(), !is_deleted);
        assert!(!is_deleted || desk.calls().iter().all(|row| row.verdict != Some(Verdict::Allowed)));
    }
}

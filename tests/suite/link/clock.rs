//! The system's clock is set while a server's call is under way, or the computer sleeps: a question is open for a minute at
//! most, and no yes counts after it. And each question has its minute to itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use nod::engine::system_clock;
use nod::ir::{Clock, LinkState, UnixMs};
use nod::port::Answer;
use serde_json::json;

use super::{Desktop, READ, code, laid_out, state_of};
use crate::support::link_server::LinkServer;

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// A desktop by a clock that can be set.
fn desktop() -> (Desktop, Arc<AtomicI64>) {
    let (ahead_ms, clock) = (Arc::new(AtomicI64::new(0)), system_clock());
    let set: Clock = Arc::new({
        let ahead_ms = Arc::clone(&ahead_ms);
        move || UnixMs(clock().0 + ahead_ms.load(Ordering::SeqCst))
    });
    (Desktop::by_clock(laid_out(), set), ahead_ms)
}

#[test]
fn a_question_closes_in_time_although_the_clock_is_set_back() {
    let (server, (desktop, ahead_ms)) = (LinkServer::new(), desktop());
    let (mut desktop, mut line) = desktop.connected_to(&server);
    let mut request = line.request("t:1", READ, &json!({"path": "README.md"}));
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(2_500);
    request["expires_at"] = json!(soon.to_string());
    line.say(request);
    let question = desktop.question();
    ahead_ms.store(-HOUR_MS, Ordering::SeqCst);
    desktop.closed(&question);
    assert_eq!(code(&line.hear()), "REQUEST_EXPIRED");
    // Calls that come now are not too late, and not open for an hour more.
    line.ask("t:2", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    let left_ms = question.expires_at.unwrap().since(question.asked_at);
    assert!((59_000..=60_000).contains(&left_ms), "{left_ms}");
    desktop.answer(&question, Answer::AllowOnce);
    assert_eq!(line.hear()["status"], "succeeded");
}

#[test]
fn a_yes_after_more_than_a_minute_of_sleep_reads_nothing() {
    for (slept_ms, expected) in [(0, ""), (61_000, "CONFIRMATION_REJECTED")] {
        let (server, (desktop, ahead_ms)) = (LinkServer::new(), desktop());
        let (mut desktop, mut line) = desktop.connected_to(&server);
        line.ask("t:1", READ, &json!({"path": "README.md"}));
        let question = desktop.question();
        ahead_ms.store(slept_ms, Ordering::SeqCst);
        desktop.answer(&question, Answer::AllowOnce);
        // Nothing was heard for as long: the connection is made anew, and what is not acknowledged is said again.
        let result = if slept_ms == 0 { line.hear() } else { server.welcome().hear() };
        assert_eq!((code(&result), result.get("output").is_some()), (expected, expected.is_empty()), "{slept_ms}");
    }
}

#[test]
fn a_dead_connection_is_noticed_although_the_clock_was_set_back() {
    let (server, (desktop, ahead_ms)) = (LinkServer::new(), desktop());
    let (mut desktop, mut line) = desktop.connected_to(&server);
    ahead_ms.store(-HOUR_MS, Ordering::SeqCst);
    line.ask("t:1", super::LIST, &json!({"path": "sub"}));
    assert_eq!(line.hear()["status"], "succeeded");
    // A minute of sleep is a minute of silence.
    ahead_ms.store(60_000 - HOUR_MS, Ordering::SeqCst);
    desktop.next(|event| matches!(state_of(event)?, LinkState::Waiting { .. }).then_some(()));
    assert_eq!(line.hear_end().0, Some(4408));
}

#[test]
fn questions_come_one_after_the_other_and_each_has_its_minute() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    for id in ["t:1", "t:2", "t:3"] {
        line.ask(id, READ, &json!({"path": "README.md"}));
    }
    let mut answered_at = UnixMs(0);
    for _ in 0..3 {
        let question = desktop.question();
        assert!(question.asked_at >= answered_at, "the one before was still open");
        let left_ms = question.expires_at.unwrap().since(question.asked_at);
        assert!((59_000..=60_000).contains(&left_ms), "{left_ms}");
        // The others had the time to come as well.
        desktop.is_awake();
        answered_at = system_clock()();
        desktop.answer(&question, Answer::AllowOnce);
        assert_eq!(line.hear()["status"], "succeeded");
    }
}

#[test]
fn a_call_that_waits_for_its_question_does_not_outlast_its_time() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    let mut request = line.request("t:2", READ, &json!({"path": "README.md"}));
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(2_000);
    request["expires_at"] = json!(soon.to_string());
    line.say(request);
    let result = line.hear();
    assert_eq!((&result["tool_call_id"], code(&result)), (&json!("t:2"), "REQUEST_EXPIRED"));
    desktop.answer(&question, Answer::AllowOnce);
    assert_eq!(line.hear()["status"], "succeeded");
}

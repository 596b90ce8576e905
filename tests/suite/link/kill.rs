//! `kill -9` of the desktop at every step between a server's request and its acknowledgement: after the restart the server
//! hears what the record says, and the call is never run twice.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nod::engine::{Engine, EngineOptions, Inbox, Keys};
use nod::ir::Decider;
use nod::port::{Answer, Command, Event};
use nod::secret::{MemoryVault, SecretKey};
use serde_json::{Value, json};
use tracing::{Event as LogEvent, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use super::{Desktop, READ, code, laid_out};
use crate::support::link_server::{LinkServer, TOKEN};
use crate::support::own_hand::kill_itself;

pub(crate) const PLACE: &str = "NOD_TEST_LINK_PLACE";
pub(crate) const STEP: &str = "NOD_TEST_LINK_STEP";
pub(crate) const SERVER: &str = "NOD_TEST_LINK_SERVER";
/// A user token of another server than the tests' own. With it every question stays open.
pub(crate) const USER: &str = "NOD_TEST_LINK_USER";

/// Ends this process at the n-th step of connection and gate, as `kill -9` from outside would.
struct Killer {
    at: u32,
    seen: AtomicU32,
    place: PathBuf,
}

impl<S: Subscriber> Layer<S> for Killer {
    fn on_event(&self, event: &LogEvent<'_>, _: Context<'_, S>) {
        if !["nod::gate", "nod::link"].contains(&event.metadata().target()) {
            return;
        }
        if self.seen.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            std::fs::write(self.place.join("killed"), "").unwrap();
            kill_itself();
        }
    }
}

fn start(place: &Path) -> (Engine, Inbox) {
    let mut options = EngineOptions::new(place.join("data"), env!("CARGO_BIN_EXE_nod"));
    options.home = Some(place.join("home"));
    options.keys = Arc::new(Keys::new(Arc::new(MemoryVault::default())));
    let engine = Engine::start(options).unwrap();
    let inbox = engine.subscribe(Arc::new(|| {}));
    (engine, inbox)
}

/// The process that is killed; for any other start of this test it does nothing.
#[test]
fn in_the_process_that_is_killed() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let at = std::env::var(STEP).unwrap().parse().unwrap();
    let killer = Killer { at, seen: AtomicU32::new(0), place: place.clone() };
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(killer)).unwrap();
    let (engine, inbox) = start(&place);
    let user = std::env::var(USER);
    let token = SecretKey::new(user.as_deref().unwrap_or(TOKEN)).unwrap();
    let url = std::env::var(SERVER).unwrap();
    engine.send(Command::RunLink { url: url.clone(), workspace: place.join("work"), token }).unwrap();
    let mut was_up = false;
    loop {
        match inbox.wait().expect("the engine lives") {
            Event::ConfirmAsked(request) if user.is_err() => {
                let (confirm, answer) = (request.id.clone(), Answer::AllowOnce);
                engine.send(Command::Answer { confirm, answer, decider: Decider::Person }).unwrap();
            }
            Event::LinksChanged { links, .. } => {
                let is_up = links.first().is_some_and(|link| link.state == nod::ir::LinkState::Connected);
                if was_up && !is_up {
                    break engine.shutdown();
                }
                was_up |= is_up;
            }
            _ => {}
        }
    }
}

/// What the server saw of one call: how often a result came, and the last one.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    result: Option<Value>,
}

/// Runs the desktop in a process of its own that is killed at this step; whether it was, and what the server heard.
fn run_until(server: &LinkServer, place: &Path, step: u32) -> (bool, Seen) {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "link::kill::in_the_process_that_is_killed", "--nocapture"])
        .env(PLACE, place)
        .env(STEP, step.to_string())
        .env(SERVER, server.url())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut seen = Seen::default();
    // A process that is killed early never connects.
    let line = std::iter::from_fn(|| Some(server.accept_within(std::time::Duration::from_millis(200))))
        .find(|line| line.is_some() || child.try_wait().unwrap().is_some())
        .flatten();
    if let Some(mut line) = line {
        seen.result = serve(&mut line);
        drop(line);
    }
    child.wait().unwrap();
    (place.join("killed").exists(), seen)
}

/// Serves one call to the desktop as far as it lives: welcome, request, result, acknowledgement.
fn serve(line: &mut crate::support::link_server::Line) -> Option<Value> {
    let register = next(line)?;
    register["device_id"].as_str().unwrap().clone_into(&mut line.device_id);
    let time = jiff::Timestamp::now().to_string();
    let welcome =
        json!({"type": "device.registered", "connection_id": "k", "server_time": time, "heartbeat_seconds": 15});
    try_say(line, welcome)?;
    next(line)?;
    let request = line.request("t:1", READ, &json!({"path": "README.md"}));
    try_say(line, request)?;
    let result = next(line)?;
    try_say(line, json!({"type": "tool.call.ack", "tool_call_id": "t:1"}));
    // The acknowledgement is through once something after it is answered.
    let after = line.request("t:2", super::LIST, &json!({"path": ".."}));
    if try_say(line, after).is_some() {
        next(line);
    }
    Some(result)
}

fn next(line: &mut crate::support::link_server::Line) -> Option<Value> {
    use tokio_tungstenite::tungstenite::Message;
    loop {
        match line.socket.read() {
            Ok(Message::Text(text)) => {
                let frame: Value = serde_json::from_str(&text).unwrap();
                if frame["type"] != "heartbeat" {
                    return Some(frame);
                }
            }
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

fn try_say(line: &mut crate::support::link_server::Line, body: Value) -> Option<()> {
    line.try_say(body).then_some(())
}

#[test]
fn killed_at_any_step_the_server_hears_the_truth_after_the_restart_and_nothing_runs_twice() {
    let mut ends = Vec::new();
    for step in 1.. {
        let server = LinkServer::new();
        let place = laid_out();
        let (was_killed, seen) = run_until(&server, place.path(), step);
        if !was_killed {
            let result = seen.result.expect("a desktop that lives answers");
            assert_eq!(result["output"]["content"], "hello\n");
            break;
        }
        // What ran before reads differently from what would run now.
        std::fs::write(place.path().join("work/README.md"), "second\n").unwrap();
        let mut desktop = Desktop::over(place);
        desktop.run(&server);
        let mut line = server.welcome();
        // The same call is dispatched again, as a server does that has no answer.
        line.ask("t:1", READ, &json!({"path": "README.md"}));
        line.ask("t:9", super::LIST, &json!({"path": ".."}));
        let mut heard = Vec::new();
        loop {
            let frame = line.hear();
            if frame["tool_call_id"] == "t:9" {
                break;
            }
            heard.push(frame);
        }
        let end = match heard.first() {
            // It had never been taken in: now it is asked, for the first time.
            None => {
                let question = desktop.question();
                desktop.answer(&question, Answer::AllowOnce);
                let result = line.hear();
                assert_eq!(result["output"]["content"], "second\n", "step {step}");
                assert_eq!(seen.result, None, "step {step}: it had been answered before");
                "fresh"
            }
            Some(result) if result["status"] == "unknown" => {
                assert_eq!(code(result), "DESKTOP_RESTARTED", "step {step}");
                assert_eq!(seen.result, None, "step {step}: what is unknown was not sent");
                "unknown"
            }
            Some(result) => {
                assert_eq!(result["status"], "succeeded", "step {step}: {result}");
                let content = result["output"]["content"].as_str();
                // The output is there until the server has it.
                assert!(
                    content == Some("hello\n") || (content.is_none() && seen.result.is_some()),
                    "step {step}: {result}"
                );
                "succeeded"
            }
        };
        assert!(heard.iter().all(|result| result["status"] == heard[0]["status"]), "step {step}: {heard:?}");
        let has_run_twice = end != "fresh" && desktop.was_asked();
        assert!(!has_run_twice, "step {step}: asked again after {end}");
        ends.push(end);
    }
    let first = |end: &str| ends.iter().position(|other| *other == end);
    // In this order, and each of them.
    assert!(first("fresh") < first("unknown") && first("unknown") < first("succeeded"), "{ends:?}");
    assert!(
        first("fresh").is_some()
            && ends.is_sorted_by_key(|end| ["fresh", "unknown", "succeeded"].iter().position(|other| other == end)),
        "{ends:?}"
    );
}

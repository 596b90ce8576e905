//! `kill -9` between any two of the gate's steps: no effect without a row of the ledger, no row that runs twice, and the audit
//! whole after the restart. The gate tells every step to the log; a process of its own is killed by its own hand there.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "a process that kills itself, and files that are looked at afterwards")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nod::engine::{Engine, EngineOptions, Inbox, system_clock};
use nod::ir::{AuditAct, AuditFilter, CallId, CallStatus, Decider, SessionId, ToolCall, ToolResult, UnixMs, Verdict};
use nod::port::{Answer, Command, Event, TurnOptions};
use nod::store::Store;
use rusqlite::Connection;
use serde_json::{Value, json};
use tracing::{Event as LogEvent, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use crate::support::desk::{PATIENCE, blank_session};
use crate::support::own_hand::{kill_itself, step_of};

const PLACE: &str = "NOD_TEST_KILL_PLACE";
const STEP: &str = "NOD_TEST_KILL_STEP";
const TOOL: &str = "NOD_TEST_KILL_TOOL";

/// The gate's steps, in their order, for a call that is asked and allowed.
const STEPS: [&str; 10] =
    ["received", "recorded", "examined", "asked", "answered", "verified", "begun", "kept", "ran", "ended"];

fn arguments(tool: &str) -> Value {
    match tool {
        "write_file" => json!({"path": "target.txt", "content": "new"}),
        "delete_file" => json!({"path": "target.txt"}),
        "create_directory" => json!({"path": "folder"}),
        other => panic!("no arguments for {other}"),
    }
}

/// Whether the call has had its effect.
fn has_effect(place: &Path, tool: &str) -> bool {
    let target = place.join("project/target.txt");
    match tool {
        "write_file" => std::fs::read_to_string(target).unwrap() == "new",
        "delete_file" => !target.exists(),
        "create_directory" => place.join("project/folder").exists(),
        other => panic!("no effect of {other}"),
    }
}

/// Ends this process at the n-th step of the gate, as `kill -9` from outside would.
struct Killer {
    at: u32,
    seen: AtomicU32,
    place: PathBuf,
}

impl<S: Subscriber> Layer<S> for Killer {
    fn on_event(&self, event: &LogEvent<'_>, _: Context<'_, S>) {
        if event.metadata().target() != "nod::gate" {
            return;
        }
        if self.seen.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            std::fs::write(self.place.join("killed-at"), step_of(event)).unwrap();
            kill_itself();
        }
    }
}

fn start(place: &Path) -> (Engine, Inbox) {
    let mut options = EngineOptions::new(place.join("data"), env!("CARGO_BIN_EXE_nod"));
    options.home = Some(place.join("home"));
    let engine = Engine::start(options).unwrap();
    let inbox = engine.subscribe(Arc::new(|| {}));
    (engine, inbox)
}

/// One call with always the same id; every question gets a yes.
fn call(place: &Path, tool: &str, engine: &Engine, inbox: &Inbox) -> ToolResult {
    let mut session = blank_session("s");
    session.folders = vec![place.join("project").display().to_string()];
    let call = ToolCall {
        id: CallId::new("c"),
        name: tool.to_owned(),
        args: json!({}),
        iteration: 0,
        timestamp: UnixMs(0),
        raw_args: Some(arguments(tool).to_string()),
        parse_error: None,
        marks: Vec::new(),
    };
    engine.send(Command::RunTool { session: Box::new(session), call, options: TurnOptions::default() }).unwrap();
    loop {
        match inbox.recv_timeout(PATIENCE).expect("something happens") {
            Event::ConfirmAsked(request) => {
                let (confirm, answer) = (request.id.clone(), Answer::AllowOnce);
                engine.send(Command::Answer { confirm, answer, decider: Decider::Person }).unwrap();
            }
            Event::ToolEnded { result, .. } => return *result,
            _ => {}
        }
    }
}

/// The process that is killed; for any other start of this test it does nothing.
#[test]
fn in_the_process_that_is_killed() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let at = std::env::var(STEP).unwrap().parse().unwrap();
    let killer = Killer { at, seen: AtomicU32::new(0), place: place.clone() };
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(killer)).unwrap();
    let (engine, inbox) = start(&place);
    let result = call(&place, &std::env::var(TOOL).unwrap(), &engine, &inbox);
    assert!(result.success, "{result:?}");
    engine.shutdown();
}

/// Holds what is there against the ledger and the audit; gives the state of the call's row.
fn account(place: &Path, tool: &str) -> Result<Option<CallStatus>, String> {
    let store = Store::open(&place.join("data"), system_clock()).unwrap().store;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let damage = store.integrity_check().await.unwrap();
        let check = store.check_audit().await.unwrap();
        let calls = store.recent_calls(&SessionId::new("s"), 10).await.unwrap();
        let lines = store.audit_page(&AuditFilter::default(), 0, 100).await.unwrap();
        store.checkpoint_and_close().await.unwrap();
        if !damage.is_empty() || !check.breaks.is_empty() {
            return Err(format!("damaged: {damage:?} {check:?}"));
        }
        if calls.len() > 1 {
            return Err("there is more than one row".to_owned());
        }
        let status = calls.first().map(|call| call.status);
        let is_allowed = lines.iter().filter_map(|row| row.entry.as_ref()).any(|entry| {
            entry.act == AuditAct::Decided && entry.verdict == Some(Verdict::Allowed) && entry.tool == tool
        });
        let may_have_run = matches!(status, Some(CallStatus::Succeeded | CallStatus::Unknown));
        match (has_effect(place, tool), may_have_run, is_allowed) {
            (true, false, _) => Err(format!("an effect without a row of the ledger: {status:?}")),
            (true, _, false) => Err("an effect without a decision on record".to_owned()),
            (_, true, false) => Err(format!("a row that began without a decision on record: {status:?}")),
            (false, _, _) if status == Some(CallStatus::Succeeded) => Err("what succeeded is not there".to_owned()),
            (true, true, true) | (false, _, _) => Ok(status),
        }
    })
}

fn prepared() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for folder in ["project", "home"] {
        std::fs::create_dir(place.path().join(folder)).unwrap();
    }
    std::fs::write(place.path().join("project/target.txt"), "old").unwrap();
    place
}

/// Runs the call in a process of its own that is killed at this step; whether it was.
fn run_until(place: &Path, tool: &str, step: u32) -> bool {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill_point::in_the_process_that_is_killed", "--nocapture"])
        .env(PLACE, place)
        .env(STEP, step.to_string())
        .env(TOOL, tool)
        .env("XDG_DATA_HOME", place.join("home/share"))
        .output()
        .unwrap();
    let was_killed = place.join("killed-at").exists();
    assert_eq!(output.status.success(), !was_killed, "{}", String::from_utf8_lossy(&output.stderr));
    was_killed
}

#[test]
fn killed_between_any_two_steps_it_leaves_no_effect_without_a_record_and_repeats_nothing() {
    for tool in ["write_file", "delete_file", "create_directory"] {
        let mut killed_at = Vec::new();
        for step in 1.. {
            let place = prepared();
            let was_killed = run_until(place.path(), tool, step);
            let status = account(place.path(), tool).unwrap_or_else(|wrong| panic!("{tool}, step {step}: {wrong}"));
            let had_effect = has_effect(place.path(), tool);
            if was_killed {
                let name = std::fs::read_to_string(place.path().join("killed-at")).unwrap();
                let before_the_effect = STEPS[..8].contains(&name.as_str());
                assert!(!before_the_effect || !had_effect, "{tool}: an effect at {name}");
                killed_at.push(name);
            }
            // The same call again: whatever became of it, a row that is there is never run a second time.
            if status.is_some() {
                let (engine, inbox) = start(place.path());
                let again = call(place.path(), tool, &engine, &inbox);
                engine.shutdown();
                assert!(!again.success, "{tool}, step {step}: run twice: {again:?}");
                assert_eq!(has_effect(place.path(), tool), had_effect, "{tool}, step {step}");
            }
            if !was_killed {
                assert_eq!(status, Some(CallStatus::Succeeded), "{tool}");
                break;
            }
        }
        assert_eq!(killed_at, STEPS, "{tool}: every step was a place to die");
    }
}

#[test]
fn the_account_notices_an_effect_without_a_row_and_one_without_a_decision() {
    for (sql, expected) in [
        ("DELETE FROM call", "an effect without a row of the ledger: None"),
        ("UPDATE call SET status = 'cancelled'", "an effect without a row of the ledger: Some(Cancelled)"),
    ] {
        let place = prepared();
        assert!(!run_until(place.path(), "write_file", 1_000));
        assert_eq!(account(place.path(), "write_file"), Ok(Some(CallStatus::Succeeded)));
        Connection::open(place.path().join("data/nod.db")).unwrap().execute_batch(sql).unwrap();
        assert_eq!(account(place.path(), "write_file"), Err(expected.to_owned()));
    }
}

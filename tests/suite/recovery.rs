//! After a crash: nothing confirmed is lost, nothing runs twice, what may have happened is called unknown.
#![expect(clippy::disallowed_methods, reason = "a test of crashes starts processes and kills them")]

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nod::engine::{Engine, EngineOptions, system_clock};
use nod::ir::{Access, CallStatus, MessageStatus, Role};
use nod::port::{Command, Event, TurnOutcome};
use nod::provider::scripted::{Scripted, Step};
use nod::store::Store;
use serde_json::json;

use crate::support::desk::{Only, PATIENCE};
use crate::support::probe::Probe;

const DATA: &str = "NOD_TEST_CRASH_DATA";
const MOMENTS: usize = 50;

/// Adds its call's id to a file: an effect that shows when it happens twice.
fn count(file: PathBuf) -> Probe {
    Probe::new(Access::Read, move |permit, _| {
        let mut file = OpenOptions::new().create(true).append(true).open(&file).unwrap();
        file.write_all(format!("{}\n", permit.call()).as_bytes()).unwrap();
        Ok(json!({}))
    })
}

fn engine(data: &Path) -> Engine {
    let provider = Scripted::answering(
        |number, _| {
            let call = Probe::call(number);
            vec![Step::text("counting "), Step::text("on"), call.clone(), call]
        },
        system_clock(),
    );
    let mut options = EngineOptions::new(data, env!("CARGO_BIN_EXE_nod"));
    options.home = Some(data.to_path_buf());
    options.providers = Arc::new(Only(provider));
    options.tools = count(data.join("effects")).alone();
    Engine::start(options).unwrap()
}

/// Counts until it is killed. Not a test of its own.
#[test]
fn victim() {
    let Some(data) = std::env::var_os(DATA) else { return };
    let engine = engine(Path::new(&data));
    let inbox = engine.subscribe(Arc::new(|| {}));
    engine.send(Command::CreateSession).unwrap();
    loop {
        match inbox.recv_timeout(PATIENCE).unwrap() {
            Event::SessionOpened { session, .. } => {
                let (provider, model) = ("scripted".into(), "script".into());
                engine.send(Command::SetModel { session: session.id.clone(), provider, model }).unwrap();
                let say = Command::Send { session: session.id, text: "count".into(), images: Vec::new() };
                engine.send(say).unwrap();
            }
            Event::TurnEnded(end) => engine.send(Command::Continue(end.session_id)).unwrap(),
            _ => {}
        }
    }
}

#[test]
fn killed_at_any_moment_nothing_recorded_is_lost_and_nothing_happens_twice() {
    let data = tempfile::tempdir().unwrap();
    let mut random = [0_u8; MOMENTS];
    getrandom::fill(&mut random).unwrap();
    for moment in random {
        let mut child = Process::new(std::env::current_exe().unwrap())
            .args(["--exact", "recovery::victim", "--nocapture"])
            .env(DATA, data.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // After so many more effects, in the middle of whatever comes next.
        let wanted = effects(data.path()) + usize::from(moment % 16);
        let deadline = Instant::now() + PATIENCE;
        while effects(data.path()) <= wanted {
            assert!(Instant::now() < deadline, "the victim does nothing");
            std::thread::park_timeout(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        drop(Store::open(data.path(), system_clock()).unwrap());
    }
    let mut happened: BTreeMap<String, u32> = BTreeMap::new();
    for line in std::fs::read_to_string(data.path().join("effects")).unwrap_or_default().lines() {
        *happened.entry(line.to_owned()).or_default() += 1;
    }
    assert!(happened.values().all(|times| *times == 1), "an effect happened twice");

    let database = rusqlite::Connection::open(data.path().join("nod.db")).unwrap();
    let integrity: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    let mut rows = database.prepare("SELECT id, status FROM call").unwrap();
    let rows: BTreeMap<String, String> =
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    for (id, status) in &rows {
        match status.as_str() {
            "succeeded" => assert!(happened.contains_key(id), "{id} is recorded as done and left no effect"),
            "cancelled" | "unknown" => {}
            other => panic!("{id} is {other} after a restart"),
        }
    }
    for id in happened.keys() {
        let status = rows.get(id).map(String::as_str);
        assert!(matches!(status, Some("succeeded" | "unknown")), "{id} happened and is {status:?}");
    }
}

fn effects(data: &Path) -> usize {
    std::fs::read_to_string(data.join("effects")).unwrap_or_default().lines().count()
}

#[test]
fn what_ran_when_nod_ended_is_unknown_and_said_so_and_the_session_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let session = {
        let engine = engine(data.path());
        let inbox = engine.subscribe(Arc::new(|| {}));
        engine.send(Command::CreateSession).unwrap();
        let session = loop {
            if let Event::SessionOpened { session, .. } = inbox.recv_timeout(PATIENCE).unwrap() {
                break *session;
            }
        };
        engine.shutdown();
        session
    };
    // What a crash in the middle of a call leaves behind.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(leave_a_running_call(data.path(), &session.id));

    let engine = engine(data.path());
    let inbox = engine.subscribe(Arc::new(|| {}));
    engine.send(Command::OpenSession(session.id.clone())).unwrap();
    let mut is_said = false;
    loop {
        match inbox.recv_timeout(PATIENCE).unwrap() {
            Event::Notice { key: "notice-recovered-calls", .. } => is_said = true,
            Event::SessionOpened { calls, messages, .. } => {
                assert_eq!(calls[0].status, CallStatus::Unknown);
                let answer = messages.iter().find(|record| record.message.role == Role::Assistant).unwrap();
                assert_eq!(answer.status, MessageStatus::Interrupted);
                break;
            }
            _ => {}
        }
    }
    assert!(is_said);
    let (provider, model) = ("scripted".into(), "script".into());
    engine.send(Command::SetModel { session: session.id.clone(), provider, model }).unwrap();
    engine.send(Command::Send { session: session.id, text: "go on".into(), images: Vec::new() }).unwrap();
    loop {
        if let Event::TurnEnded(end) = inbox.recv_timeout(PATIENCE).unwrap() {
            assert_eq!(end.outcome, TurnOutcome::Limit);
            break;
        }
    }
    let effects = std::fs::read_to_string(data.path().join("effects")).unwrap();
    assert!(!effects.contains("call-left"), "it was not run again");
    engine.shutdown();
}

async fn leave_a_running_call(data: &Path, session: &nod::ir::SessionId) {
    use nod::ir::{CallId, CallRecord, Message, MessageId, MessageRecord, ToolCall, UnixMs};
    let store = Store::open(data, system_clock()).unwrap().store;
    let call = ToolCall {
        id: CallId::new("call-left"),
        name: "count".into(),
        args: json!({}),
        iteration: 1,
        timestamp: UnixMs(1),
        raw_args: None,
        parse_error: None,
        marks: Vec::new(),
    };
    let mut message = Message::text(Role::Assistant, "counting", UnixMs(1));
    message.tool_calls = Some(vec![call.clone()]);
    let record = MessageRecord {
        id: MessageId::new("answer-left"),
        session: session.clone(),
        parent: None,
        message,
        status: MessageStatus::Streaming,
        answer: None,
        error: None,
        version: (1, 1),
    };
    store.begin_answer(&record).await.unwrap();
    let row = CallRecord {
        call,
        session: session.clone(),
        message: Some(record.id),
        status: CallStatus::Running,
        args_hash: String::new(),
        target: None,
        verdict: None,
        decider: None,
        grounds: nod::ir::Grounds::default(),
        reason: None,
        preview: None,
        result: None,
        created_at: UnixMs(1),
        started_at: Some(UnixMs(1)),
        finished_at: None,
    };
    store.insert_call(&row).await.unwrap();
    store.checkpoint_and_close().await.unwrap();
}

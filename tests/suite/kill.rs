//! `kill -9` at fifty moments of a session with writes: every restart opens, the database is whole, no confirmed effect is lost
//! and none happens twice.
#![expect(clippy::disallowed_methods, reason = "the program is started, and killed, from outside")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use nod::ir::{CallRecord, CallStatus, FileState, UnixMs};
use nod::store::Store;
use serde_json::{Value, json};

use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line, thinking_line};

/// Kills with another moment each.
const KILLS: u64 = 50;
/// Edits that the model asks for before it is done.
const EDITS: usize = 12;

/// A model that adds one line to `log.txt` per round; no line is ever asked for twice.
fn diligent_model(server: &OllamaServer) {
    server.answer_with(|chat, body| {
        let asked = body["messages"]
            .as_array()
            .map_or(0, |messages| messages.iter().filter(|message| message.get("tool_calls").is_some()).count());
        if asked >= EDITS {
            return Reply::stream([text_line("All lines are there."), done_line("stop")]);
        }
        let edit = json!({"path": "log.txt", "edits": [{"old_text": "END", "new_text": format!("line {chat}\nEND")}]});
        let note = json!({"path": format!("note-{chat}.txt"), "content": format!("note {chat}\n")});
        Reply::stream([
            thinking_line("One more line. "),
            text_line(&format!("Adding line {chat}.")),
            calls_line(&[("edit_file", edit), ("write_file", note)]),
            done_line("stop"),
        ])
    });
}

/// xorshift64*: the moments differ from kill to kill and are the same in every run.
fn scatter(seed: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    x.wrapping_mul(0x2545_F491_4F6C_DD1D)
}

#[test]
fn killed_at_fifty_moments_it_loses_and_doubles_nothing() {
    let server = OllamaServer::start();
    diligent_model(&server);
    let place = tempfile::tempdir().unwrap();
    let data_dir = place.path().join("data");
    let folder = place.path().join("project");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("log.txt"), "END\n").unwrap();

    let mut broken_off = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(env!("CARGO_BIN_EXE_nod"))
            .arg("--data-dir")
            .arg(&data_dir)
            .args(["exec", "--provider", "ollama", "--model", "qwen3:8b", "--base-url", &server.url()])
            .args(["--approve", "writes", "--max-rounds", "30", "--json", "--folder"])
            .arg(&folder)
            .arg("add lines")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // A whole turn prints some 130 lines: the moments lie all over it.
        let wanted = scatter(kill + 1) % 130;
        let seen = (0..wanted).take_while(|_| lines.next().is_some()).count();
        child.kill().unwrap();
        child.wait().unwrap();
        broken_off += usize::from(seen as u64 == wanted);
        check(&data_dir, &folder, kill);
    }
    assert!(broken_off > 25, "most kills came in the middle of a turn: {broken_off}");

    // And what is left is a working place.
    let output = Command::new(env!("CARGO_BIN_EXE_nod"))
        .arg("--data-dir")
        .arg(&data_dir)
        .args(["exec", "--provider", "ollama", "--model", "qwen3:8b", "--base-url", &server.url()])
        .args(["--approve", "writes", "--max-rounds", "30", "--json", "--folder"])
        .arg(&folder)
        .arg("add lines")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Opens what the kill left and holds the files against the ledger.
fn check(data_dir: &std::path::Path, folder: &std::path::Path, kill: u64) {
    let opened = Store::open(data_dir, Arc::new(|| UnixMs(1_764_460_800_000))).unwrap();
    let store = opened.store;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (calls, changes) = runtime.block_on(async {
        assert_eq!(store.integrity_check().await.unwrap(), Vec::<String>::new(), "after kill {kill}");
        let mut calls = Vec::new();
        for session in store.list_sessions().await.unwrap() {
            calls.extend(store.recent_calls(&session.id, 1_000).await.unwrap());
        }
        let changes = store.all_undo_entries(100_000).await.unwrap();
        store.checkpoint_and_close().await.unwrap();
        (calls, changes)
    });
    // What takes an effect back is there before the effect is.
    let can_be_undone = |call: &CallRecord| {
        changes.iter().any(|change| {
            change.call == call.call.id
                && match &change.before {
                    FileState::File { hash: Some(hash), .. } => data_dir.join("undo").join(hash).is_file(),
                    before => *before == FileState::Missing,
                }
        })
    };

    let log = std::fs::read_to_string(folder.join("log.txt")).unwrap();
    let mut written: BTreeMap<&str, usize> = BTreeMap::new();
    for line in log.lines().filter(|line| *line != "END") {
        *written.entry(line).or_default() += 1;
    }
    let mut accounted: BTreeMap<String, bool> = BTreeMap::new();
    for call in &calls {
        assert_ne!(call.status, CallStatus::Running, "a call still runs after kill {kill}");
        let is_certain = call.status == CallStatus::Succeeded;
        let may_have_happened = is_certain || call.status == CallStatus::Unknown;
        match call.call.name.as_str() {
            "edit_file" => {
                let text = call.call.args.pointer("/edits/0/new_text").and_then(Value::as_str).unwrap();
                let line = text.lines().next().unwrap().to_owned();
                let times = written.get(line.as_str()).copied().unwrap_or(0);
                assert!(times <= 1, "{line:?} was written {times} times (kill {kill})");
                assert!(!is_certain || times == 1, "{line:?} was recorded and is lost (kill {kill})");
                assert!(may_have_happened || times == 0, "{line:?} was written without a record (kill {kill})");
                assert!(times == 0 || can_be_undone(call), "{line:?} cannot be undone (kill {kill})");
                accounted.insert(line, true);
            }
            "write_file" => {
                let path = folder.join(call.call.args["path"].as_str().unwrap());
                let content = call.call.args["content"].as_str().unwrap();
                match std::fs::read_to_string(&path) {
                    Ok(found) => {
                        assert_eq!(found, content, "a file is whole or not there (kill {kill})");
                        assert!(may_have_happened, "{} was written without a record (kill {kill})", path.display());
                        assert!(can_be_undone(call), "{} cannot be undone (kill {kill})", path.display());
                    }
                    Err(_missing) => assert!(!is_certain, "{} was recorded and is lost (kill {kill})", path.display()),
                }
            }
            other => panic!("nobody asked for {other}"),
        }
    }
    for line in written.keys() {
        assert!(accounted.contains_key(*line), "{line:?} has no row in the ledger (kill {kill})");
    }
    let left_over: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "log.txt" && !name.starts_with("note-"))
        .collect();
    // A kill in the middle of a write may leave its temporary file, never under the target's own name.
    assert!(left_over.len() <= 2 * (usize::try_from(kill).unwrap() + 1), "{left_over:?}");
}

//! What a command left when Nod was told to end, or was killed: looked at before the end, or at the next start; and what was
//! taken away can be brought back.
#![expect(clippy::disallowed_methods, reason = "the program is started, and killed, from outside")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Output, Stdio};

use nod::ir::{UndoDirection, UndoEntry, UndoOperation, UndoOutcome, UndoScope};
use nod::port::{Answer, Command, Event, TurnOptions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::confinement::{also_as_ordinary_user, within};
use crate::support::desk::{Desk, Setup};
use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line};

/// Leaves what a shell runs later, says that it did, and stays.
const LEAVE: &str = "echo evil > .bashrc; mkdir -p .idea; echo evil > .idea/run.xml; touch started; sleep 60";

struct Place {
    temp: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        for name in ["ws", "data", "home"] {
            fs::create_dir(temp.path().join(name)).unwrap();
        }
        fs::write(temp.path().join("ws/.profile"), "mine\n").unwrap();
        Self { temp }
    }

    fn ws(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("ws")
    }

    fn nod(&self, words: &[&str]) -> Process {
        let mut process = Process::new(env!("CARGO_BIN_EXE_nod"));
        process.arg("--data-dir").arg(self.temp.path().join("data")).args(words);
        process.env("HOME", self.temp.path().join("home")).env("LANG", "en_US.UTF-8").current_dir(self.ws());
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process
    }

    /// A command line that runs the command with everything allowed.
    fn begin(&self, words: &[&str]) -> Child {
        let child = self
            .nod(words)
            .args(["--folder", self.ws().to_str().unwrap(), "--approve", "all", "--enable-tool", "run_command"])
            .spawn()
            .unwrap();
        within("the command is at work", || self.ws().join("started").exists());
        child
    }

    fn left(&self) -> Vec<&'static str> {
        [".bashrc", ".idea/run.xml"].into_iter().filter(|name| self.ws().join(name).exists()).collect()
    }

    fn records(&self) -> usize {
        fs::read_dir(self.temp.path().join("data/guard")).map_or(0, Iterator::count)
    }

    /// Any start of the engine.
    fn next_start(&self) -> Output {
        let args = r#"{"path": "."}"#;
        self.nod(&["tool", "list_directory", args, "--folder", self.ws().to_str().unwrap()]).output().unwrap()
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn tool_words() -> Vec<String> {
    vec!["tool".into(), "run_command".into(), json!({"command": LEAVE}).to_string()]
}

fn words(text: &[String]) -> Vec<&str> {
    text.iter().map(String::as_str).collect()
}

#[test]
fn told_to_end_nod_looks_at_what_a_command_left() {
    also_as_ordinary_user("aftermath::told_to_end_nod_looks_at_what_a_command_left");
    let server = OllamaServer::start();
    server.answer_with(|_, _| {
        Reply::stream([calls_line(&[("run_command", json!({"command": LEAVE}))]), done_line("stop")])
    });
    let exec =
        ["exec", "--provider", "ollama", "--model", "qwen3:8b", "--base-url", &server.url(), "go"].map(String::from);
    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        for line in [tool_words(), exec.to_vec()] {
            let place = Place::new();
            let child = place.begin(&words(&line));
            assert_eq!(place.left().len(), 2);
            send(&child, signal);
            let ended = child.wait_with_output().unwrap();
            assert_eq!(place.left(), Vec::<&str>::new(), "{signal:?} {}: {ended:?}", line[0]);
            // As a shell has it.
            let code = 128 + signal.as_raw();
            assert_eq!(ended.status.code(), Some(code), "{signal:?} {}: {ended:?}", line[0]);
            assert_eq!(place.records(), 0, "{signal:?} {}", line[0]);
        }
    }
}

#[test]
fn killed_nod_looks_at_its_next_start() {
    also_as_ordinary_user("aftermath::killed_nod_looks_at_its_next_start");
    let place = Place::new();
    let child = place.begin(&words(&tool_words()));
    send(&child, Signal::KILL);
    child.wait_with_output().unwrap();
    // The control: without the next start they would stay.
    assert_eq!((place.left().len(), place.records()), (2, 1));
    let next = place.next_start();
    let told = String::from_utf8_lossy(&next.stderr).into_owned();
    assert_eq!((place.left(), place.records()), (Vec::<&str>::new(), 0), "{told}");
    assert!(told.contains(".bashrc") && told.contains(".idea/run.xml"), "{told}");
    assert_eq!(fs::read_to_string(place.ws().join(".profile")).unwrap(), "mine\n");
    // And it can be brought back.
    let list = place.nod(&["undo", "list", "--json"]).output().unwrap();
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(list.contains(".bashrc") && list.contains("put-back"), "{list}");
    // All of it at once, with a word of warning, and only with a yes: where nobody can be asked, nothing is done.
    let first: serde_json::Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
    let apply = ["undo", "apply", first["id"].as_str().unwrap(), "--call"];
    for (lang, words) in [("en", "needs a yes"), ("zh-CN", "需要确认")] {
        let stopped = place.nod(&[&["--lang", lang], &apply[..]].concat()).stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&stopped.stderr).into_owned();
        assert_eq!((stopped.status.code(), place.left()), (Some(3), Vec::<&str>::new()), "{told}");
        assert!(told.contains(words), "{told}");
        // What it is about stands there: each file, and what it will hold.
        assert!(told.contains(".bashrc") && told.contains(".idea/run.xml") && told.contains("\n  + "), "{told}");
    }
    let back = place.nod(&[&apply[..], &["--yes"]].concat()).output().unwrap();
    assert!(back.status.success(), "{back:?}");
    assert_eq!(place.left(), [".bashrc", ".idea/run.xml"], "{back:?}");
    let told = String::from_utf8_lossy(&back.stderr).into_owned();
    assert!(told.contains("executes or obeys"), "{told}");
}

/// `kill -9` between the steps of an undo: every file is whole or not there, and the same undo goes on to its end.
#[test]
fn killed_within_an_undo_of_many_files_it_goes_on_where_it_was() {
    const FILES: usize = 40;
    if crate::confinement::walls(nod::ir::Tier::A).is_none() && crate::confinement::walls(nod::ir::Tier::B).is_none() {
        return;
    }
    let mut in_the_middle = 0;
    for least in [1, 5, 12, 25, 38] {
        let place = Place::new();
        let many =
            format!("mkdir -p .idea; n=0; while [ $n -lt {FILES} ]; do n=$((n+1)); echo $n > .idea/run$n.xml; done");
        let args = json!({"command": many}).to_string();
        place
            .nod(&[
                "tool",
                "run_command",
                &args,
                "--folder",
                place.ws().to_str().unwrap(),
                "--approve",
                "all",
                "--enable-tool",
                "run_command",
            ])
            .output()
            .unwrap();
        let folder = place.ws().join(".idea");
        let there = || fs::read_dir(&folder).map_or(0, Iterator::count);
        assert_eq!(there(), 0, "the control: all of it was taken away");
        let list = place.nod(&["undo", "list", "--json"]).output().unwrap();
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        let first: serde_json::Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
        let apply = ["undo", "apply", first["id"].as_str().unwrap(), "--call", "--yes"];

        let mut child = place.nod(&apply).spawn().unwrap();
        while there() < least && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        in_the_middle += usize::from(there() < FILES);
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let Some(number) = name.strip_prefix("run").and_then(|rest| rest.strip_suffix(".xml")) else { continue };
            assert_eq!(fs::read_to_string(entry.path()).unwrap(), format!("{number}\n"), "{name} after {least}");
        }
        let again = place.nod(&apply).output().unwrap();
        for number in 1..=FILES {
            let path = folder.join(format!("run{number}.xml"));
            assert_eq!(fs::read_to_string(path).ok(), Some(format!("{number}\n")), "{number} after {least}: {again:?}");
        }
        // A kill in the middle of a write may leave its temporary file, never under the target's own name.
        assert!(there() <= FILES + 1, "after {least}");
    }
    assert!(in_the_middle > 1, "most kills came before its end: {in_the_middle}");
}

#[test]
fn what_the_person_made_after_a_crash_stays_and_is_named() {
    also_as_ordinary_user("aftermath::what_the_person_made_after_a_crash_stays_and_is_named");
    if crate::confinement::walls(nod::ir::Tier::A).is_none() {
        return;
    }
    let place = Place::new();
    let child = place.begin(&words(&tool_words()));
    send(&child, Signal::KILL);
    child.wait_with_output().unwrap();
    // Some time later, and well within what the command was allowed to take.
    let record = fs::read_dir(place.temp.path().join("data/guard")).unwrap().next().unwrap().unwrap().path();
    let record = fs::File::options().write(true).open(record).unwrap();
    let sign = record.metadata().unwrap().modified().unwrap() - std::time::Duration::from_secs(8);
    record.set_modified(sign).unwrap();
    fs::write(place.ws().join(".mcp.json"), "{}").unwrap();
    let next = place.next_start();
    let told = String::from_utf8_lossy(&next.stderr).into_owned();
    assert!(place.ws().join(".mcp.json").exists() && told.contains(".mcp.json"), "{told}");
}

fn newest(desk: &Desk) -> UndoEntry {
    let mut reported = desk.seen.iter().rev().filter_map(|event| match event {
        Event::UndoChanged { entries, .. } => entries.last().cloned(),
        _ => None,
    });
    reported.next().expect("a change was reported")
}

fn go(desk: &mut Desk, entry: &UndoEntry, direction: UndoDirection) -> UndoOutcome {
    let scope = UndoScope::Entry { id: entry.id.clone() };
    desk.send(Command::PlanUndo { scope: scope.clone(), direction });
    let plan = match desk.until(|event| matches!(event, Event::UndoPlanned(_) | Event::Fault { .. })) {
        Event::UndoPlanned(plan) => plan,
        other => panic!("{other:?}"),
    };
    desk.send(Command::ApplyUndo { scope, direction, choices: Vec::new(), plan_hash: plan.hash });
    match desk.until(|event| matches!(event, Event::UndoApplied { .. } | Event::UndoPlanned(_) | Event::Fault { .. })) {
        Event::UndoApplied { results, .. } => results[0].outcome,
        other => panic!("{other:?}"),
    }
}

fn run(desk: &mut Desk, command: &str) -> nod::ir::ToolResult {
    let options = TurnOptions { enabled_tools: vec!["run_command".into()], ..TurnOptions::default() };
    desk.tool_with("run_command", &json!({"command": command}).to_string(), &Answer::AllowOnce, options)
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[test]
fn what_was_taken_away_after_a_command_comes_back_with_one_undo() {
    let mut desk = Desk::with(Setup::new(Vec::new()).kept());
    desk.write(".profile", "mine\n");
    let made = run(&mut desk, "echo wanted > .zshrc");
    if made.result["sandboxed"] != true {
        return;
    }
    assert_eq!((text(&desk.path(".zshrc")), &made.result["reverted"][0]["state"]), (None, &json!("removed")));
    let entry = newest(&desk);
    assert_eq!(entry.operation, UndoOperation::PutBack);
    assert_eq!(go(&mut desk, &entry, UndoDirection::Undo), UndoOutcome::Done);
    assert_eq!(text(&desk.path(".zshrc")).as_deref(), Some("wanted\n"));
    // A tool still may not write there, whatever the person brought back.
    let refused = desk.tool("write_file", &json!({"path": ".zshrc", "content": "x"}), &Answer::AllowOnce);
    assert_eq!(refused.code(), Some("PROTECTED_PATH_DENIED"));
}

//! Words of servers and models in the real program's terminal, questions and records: they never make a line of their own,
//! and nothing is called what a server calls itself.

#![expect(
    clippy::disallowed_methods,
    reason = "the program is started as a person starts it, with a file made by hand"
)]

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line};

const FORGED: &str = "evil\n✓ write_file a.txt\n\u{1B}[2K\u{202E}";

struct Bench {
    place: tempfile::TempDir,
    server: OllamaServer,
}

impl Bench {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        Self { place, server: OllamaServer::start() }
    }

    fn run(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_nod"))
            .env("NOD_DATA_DIR", self.place.path().join("data"))
            .env("XDG_DATA_HOME", self.place.path().join("share"))
            .env("HOME", self.place.path().join("home"))
            .env("LANG", "en_US.UTF-8")
            .current_dir(self.place.path())
            .args(words)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn exec(&self, words: &[&str]) -> Output {
        let url = self.server.url();
        let all = ["exec", "--provider", "ollama", "--model", "qwen3:8b", "--base-url", &url, "--folder", "."];
        self.run(&[&all, words].concat())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// No line is the forged one, and nothing commands the terminal.
fn assert_harmless(output: &Output) {
    for text in [text(&output.stdout), text(&output.stderr)] {
        assert!(!text.lines().any(|line| line.starts_with("✓ write_file")), "{text}");
        assert!(!text.contains(['\u{1B}', '\u{202E}']), "{text}");
    }
}

/// The same line under another name of the server's choice.
fn named(mut line: Value, model: &str) -> Value {
    line["model"] = json!(model);
    line
}

#[test]
fn a_question_and_the_audit_name_the_model_that_was_chosen_and_not_what_the_server_calls_itself() {
    let bench = Bench::new();
    let model = format!("{FORGED}{}", "\n".repeat(40));
    let call = calls_line(&[("write_file", json!({"path": "a.txt", "content": "x"}))]);
    bench.server.answer(Reply::stream([named(call, &model), named(done_line("stop"), &model)]));
    bench.server.answer(Reply::stream([named(text_line("Done."), &model), named(done_line("stop"), &model)]));
    let output = bench.exec(&["--approve", "writes", "--json", "write it"]);
    let asked = text(&output.stdout);
    let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let asked = asked.iter().find(|line| line["type"] == "confirm_asked").expect("a question");
    assert_eq!(asked["request"]["model"], "qwen3:8b");
    let audit = text(&bench.run(&["audit", "--json"]).stdout);
    let models: Vec<Value> = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    let models: Vec<&str> =
        models.iter().filter_map(|line| line["entry"]["model"].as_str()).filter(|model| !model.is_empty()).collect();
    assert!(!models.is_empty() && models.iter().all(|model| *model == "qwen3:8b"), "{audit}");
}

#[test]
fn unknown_tools_provider_errors_and_targets_stay_one_line() {
    let bench = Bench::new();
    bench.server.answer(Reply::stream([
        calls_line(&[(FORGED, json!({})), ("read_file", json!({"path": FORGED}))]),
        done_line("stop"),
    ]));
    bench.server.answer(Reply::error(404, FORGED));
    let output = bench.exec(&["read it"]);
    assert_eq!(output.status.code(), Some(1));
    assert_harmless(&output);
    assert!(text(&output.stderr).contains("evil\\n✓ write_file a.txt"), "{}", text(&output.stderr));
}

#[test]
fn an_imported_chat_has_a_title_of_one_line() {
    let bench = Bench::new();
    bench.server.answer(Reply::stream([text_line("Hello."), done_line("stop")]));
    assert!(bench.exec(&["hello"]).status.success());
    let listed = text(&bench.run(&["sessions", "list"]).stdout);
    let id = listed.split_whitespace().next().unwrap().to_owned();
    let mut chat: Value =
        serde_json::from_slice(&bench.run(&["sessions", "export", &id, "--format", "json"]).stdout).unwrap();
    chat["session"]["title"] = json!(format!("{FORGED}{}", "x".repeat(100_000)));
    let file = bench.place.path().join("chat.json");
    std::fs::write(&file, chat.to_string()).unwrap();
    let imported = bench.run(&["sessions", "import", file.to_str().unwrap()]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    let output = bench.run(&["sessions", "list"]);
    assert_harmless(&output);
    let listed = text(&output.stdout);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.len() < 600, "{}", listed.len());
}

/// What a terminal obeys, turns its direction at, or draws as nothing: DEL, the C1 form of ESC [, a turn to the left, a space
/// of no width, a mark beyond the first plane.
const UNSEEN: &str = "\u{7F}\u{9B}31m\u{202E}\u{200B}\u{E0100}";

/// Every line is JSON (or the whole is), nothing in it is raw, and what it means holds what was said. The control: the same
/// values written without the guard hold it raw.
fn assert_json(what: &str, output: &Output) {
    let stdout = text(&output.stdout);
    let is_raw = |text: &str| text.contains(['\u{7F}', '\u{9B}', '\u{202E}', '\u{200B}', '\u{E0100}']);
    let values: Vec<Value> = match serde_json::from_str(&stdout) {
        Ok(whole) => vec![whole],
        Err(_) => stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
    };
    let unguarded: String = values.iter().map(ToString::to_string).collect();
    assert!(is_raw(&unguarded), "{what}, the control: {unguarded}");
    assert!(!is_raw(&stdout), "{what}: {stdout:?}");
    assert!(!is_raw(&text(&output.stderr)), "{what}: {:?}", text(&output.stderr));
}

#[test]
fn json_on_a_terminal_commands_nothing_and_means_the_same() {
    let bench = Bench::new();
    let folder = bench.place.path();
    let name = format!("name{UNSEEN}.md");
    std::fs::write(folder.join(&name), "x").unwrap();
    std::fs::write(folder.join("plain.txt"), format!("content{UNSEEN}\n")).unwrap();
    let folder = folder.to_str().unwrap();
    for (tool, args) in [
        ("list_directory", json!({"path": "."})),
        ("read_file", json!({"path": "plain.txt"})),
        ("read_file", json!({"path": format!("missing{UNSEEN}.txt")})),
        ("search_files", json!({"path": ".", "query": "content"})),
    ] {
        let words = ["tool", tool, &args.to_string(), "--folder", folder, "--approve", "reads"];
        assert_json(&format!("{tool} {args}"), &bench.run(&words));
    }
    bench.server.answer(Reply::stream([
        text_line(&format!("words{UNSEEN}")),
        calls_line(&[
            (&format!("tool{UNSEEN}"), json!({})),
            ("write_file", json!({"path": "new.txt", "content": format!("written{UNSEEN}\n")})),
        ]),
        done_line("stop"),
    ]));
    bench.server.answer(Reply::error(404, &format!("error{UNSEEN}")));
    let title = format!("title{UNSEEN}");
    let output = bench.exec(&["--approve", "writes", "--json", &title]);
    assert_json("exec", &output);
    let listed = bench.run(&["sessions", "list", "--json"]);
    assert_json("sessions list", &listed);
    let listed = text(&listed.stdout);
    let sessions: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_ours = |session: &&Value| session["title"].as_str().unwrap().starts_with("title");
    let id = sessions.iter().find(is_ours).unwrap()["id"].as_str().unwrap().to_owned();
    assert_json("sessions show", &bench.run(&["sessions", "show", &id, "--json"]));
    assert_json("sessions search", &bench.run(&["sessions", "search", "words", "--json"]));
    assert_json("sessions export", &bench.run(&["sessions", "export", &id, "--format", "json"]));
    // The record holds the model's name for a tool as an escape.
    for format in ["--json", "--csv"] {
        let record = bench.run(&["audit", format]);
        assert!(text(&record.stdout).contains("tool\\"), "{}", text(&record.stdout));
        assert_harmless(&record);
    }
    let changes = text(&bench.run(&["undo", "list", "--json"]).stdout);
    let change: Value = serde_json::from_str(changes.lines().next().unwrap()).unwrap();
    assert_json("undo show", &bench.run(&["undo", "show", change["id"].as_str().unwrap(), "--json"]));
    bench.server.route("/api/tags", Reply::json(200, &json!({"models": [{"name": format!("model{UNSEEN}")}]})));
    assert_json("models", &bench.run(&["models", "--base-url", &bench.server.url(), "--json"]));
    let prompt = json!(format!("prompt{UNSEEN}")).to_string();
    let set = bench.run(&["config", "set", "models.system_prompt", &prompt]);
    assert!(set.status.success(), "{}", text(&set.stderr));
    assert_json("config list", &bench.run(&["config", "list", "--json"]));
    assert_json("config get", &bench.run(&["config", "get", "models.system_prompt"]));
}

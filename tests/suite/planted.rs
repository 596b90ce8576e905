//! Planted keys: they go where they are for, and nowhere else. After everything was done with them, all that Nod wrote and
//! said is searched: the data folder with the database and its log, output, errors, exports, what a command finds in its
//! environment. (Only the window writes a log file; that no line of it holds a key is tested beside `engine::logging`.)
#![expect(clippy::disallowed_methods, reason = "the program is started as a person starts it, and its files are read")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line};

/// Variables in which people keep keys, each with a value of its own.
const VARIABLES: [&str; 8] = [
    "PLANTED_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "DEEPSEEK_API_KEY",
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "SSH_AUTH_SOCK",
    "DATABASE_URL",
];

fn value_of(variable: &str) -> String {
    // The form of a real key, and the variable's own end.
    format!("sk-ant-api03-Zx9Yw8Vu7Ts6Rq5Po4Nm3{}", variable.replace('_', "7"))
}

fn nod(place: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
    command
        .env("NOD_DATA_DIR", place.join("data"))
        .env("XDG_DATA_HOME", place.join("share"))
        .env("HOME", place.join("home"))
        .env("NOD_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
        .current_dir(place.join("project"))
        .stdin(Stdio::null())
        .args(words);
    for variable in VARIABLES {
        command.env(variable, value_of(variable));
    }
    command.output().unwrap()
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.is_file() {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn a_key_is_nowhere_but_where_it_is_for() {
    let place = tempfile::tempdir().unwrap();
    for folder in ["project", "home"] {
        std::fs::create_dir(place.path().join(folder)).unwrap();
    }
    let mut outputs = Vec::new();

    // The key goes to its server, which answers with it.
    let vendor = OllamaServer::start();
    let echo = format!("invalid x-api-key: {}", value_of("PLANTED_KEY"));
    let refusal =
        Reply::json(401, &json!({"type": "error", "error": {"type": "authentication_error", "message": echo}}));
    for path in ["/v1/messages", "/messages", "/v1/models"] {
        vendor.route(path, refusal.clone());
    }
    let url = vendor.url();
    let asked = ["exec", "--provider", "anthropic", "--model", "m", "--base-url", &url, "--api-key-env", "PLANTED_KEY"];
    outputs.push(("a refused key", nod(place.path(), &[&asked[..], &["--json", "hi"]].concat())));
    let got_it = |(_, value): &(String, String)| value.contains(&value_of("PLANTED_KEY"));
    assert!(
        vendor.requests().iter().any(|request| request.headers.iter().any(got_it)),
        "the control: the key was really used: {:?}",
        outputs[0].1
    );

    // A command prints its environment.
    let local = OllamaServer::start();
    local.answer(Reply::stream([
        calls_line(&[("run_command", json!({"command": "env; cat /proc/self/environ"}))]),
        done_line("stop"),
    ]));
    local.answer(Reply::stream([text_line("Done."), done_line("stop")]));
    let url = local.url();
    let words = ["exec", "--provider", "ollama", "--model", "qwen3:8b", "--base-url", &url, "--folder", "."];
    let allowed =
        ["--approve", "all", "--enable-tool", "run_command", "--allow-unconfined", "--json", "print the environment"];
    outputs.push(("a command", nod(place.path(), &[&words[..], &allowed[..]].concat())));
    let sent: String = local.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(sent.contains("PATH="), "the control: the command ran: {sent}\n{:?}", outputs[1].1);

    outputs.push(("doctor", nod(place.path(), &["doctor"])));
    outputs.push(("settings", nod(place.path(), &["config", "list"])));
    let list = nod(place.path(), &["sessions", "list"]);
    for line in String::from_utf8_lossy(&list.stdout).lines() {
        let id = line.split_whitespace().next().unwrap_or_default().to_owned();
        outputs.push(("an export", nod(place.path(), &["sessions", "export", &id])));
        outputs.push(("an export", nod(place.path(), &["sessions", "export", &id, "--format", "md"])));
    }
    outputs.push(("the list", list));
    assert!(outputs.len() > 6, "sessions were exported");

    let mut searched = Vec::new();
    files(&place.path().join("data"), &mut searched);
    let is_database = |(_, bytes): &(String, Vec<u8>)| bytes.starts_with(b"SQLite format 3");
    assert!(searched.iter().any(is_database), "the control: the database is among what is searched");
    for (what, output) in outputs {
        searched.push((format!("{what}: output"), output.stdout));
        searched.push((format!("{what}: errors"), output.stderr));
    }
    searched.push(("what the local model was sent".to_owned(), sent.into_bytes()));
    for variable in VARIABLES {
        for (place, bytes) in &searched {
            assert!(!holds(bytes, &value_of(variable)), "{variable} stands in {place}");
        }
    }
}

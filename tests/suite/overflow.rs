//! The real program when a conversation is longer than the model can read: it goes once more, shorter, and that is said.
#![expect(clippy::disallowed_methods, reason = "the program is started as a person starts it, with files made by hand")]

use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::ollama::{OllamaServer, Piece, Reply};

/// Bytes of a request that the server's model can read.
const ROOM: usize = 9_000;

/// A folder with a long file and a data folder that outlives one run.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("project")).unwrap();
        std::fs::write(place.path().join("project/long.txt"), "one more word \n".repeat(3_000)).unwrap();
        Self(place)
    }

    fn exec(&self, server: &OllamaServer, words: &[&str]) -> (Output, Vec<Value>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
        command
            .env("NOD_DATA_DIR", self.0.path().join("data"))
            .env("HOME", self.0.path().join("home"))
            .env("LANG", "en_US.UTF-8")
            .args([
                "exec",
                "--json",
                "--provider",
                "llama-cpp",
                "--model",
                "m",
                "--base-url",
                &server.url(),
                "--folder",
            ])
            .arg(self.0.path().join("project"))
            .args(words);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stdout.clone()).unwrap();
        let lines = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (output, lines)
    }
}

fn says(delta: &Value, reason: &str) -> Reply {
    let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    Reply::pieces([Piece::Bytes(format!("data: {chunk}\n\ndata: [DONE]\n\n").into_bytes())])
}

fn calls() -> Reply {
    let function = json!({"name": "read_file", "arguments": "{\"path\":\"long.txt\"}"});
    says(&json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}), "tool_calls")
}

fn too_long() -> Reply {
    let words = "request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it";
    let error = json!({"code": 400, "type": "exceed_context_size_error", "message": words, "n_prompt_tokens": 13392, "n_ctx": 8192});
    Reply::json(400, &json!({"error": error}))
}

/// Answers what fits, with `first` before anything else.
fn server(first: fn() -> Reply, then: fn() -> Reply) -> OllamaServer {
    let server = OllamaServer::start();
    server.answer_with(move |number, body| match number {
        0 => first(),
        // The tools and the rules are there however short the conversation is.
        _ if body["messages"].to_string().len() > ROOM => too_long(),
        _ => then(),
    });
    server
}

fn done() -> Reply {
    says(&json!({"content": "Many words."}), "stop")
}

fn of_type<'lines>(lines: &'lines [Value], kind: &str) -> Vec<&'lines Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

#[test]
fn a_result_that_is_too_long_is_cut_and_the_turn_goes_on() {
    let (home, server) = (Home::new(), server(calls, done));
    let (output, lines) = home.exec(&server, &["What is in long.txt?"]);
    let end = lines.last().unwrap();
    assert_eq!((output.status.code(), end["content"].as_str()), (Some(0), Some("Many words.")), "{end}");
    let chats = server.chats();
    assert_eq!(chats.len(), 3);
    let result = |chat: &Value| chat["messages"].as_array().unwrap().last().unwrap().clone();
    let (refused, taken) = (result(&chats[1]), result(&chats[2]));
    assert_eq!(refused["tool_call_id"], taken["tool_call_id"]);
    assert!(taken["content"].as_str().unwrap().ends_with(" more characters are left out]\n</tool_result>"), "{taken}");
    assert_eq!(of_type(&lines, "history_shortened").len(), 1);
    let states: Vec<&str> = of_type(&lines, "state").iter().map(|line| line["state"].as_str().unwrap()).collect();
    assert!(states.windows(3).any(|states| states == ["sending", "compressing", "sending"]), "{states:?}");
}

#[test]
fn the_oldest_rounds_are_left_out_and_the_answer_says_so_for_ever() {
    let (home, server) = (Home::new(), server(done, done));
    let (_, lines) = home.exec(&server, &[&"long ago ".repeat(3_000)]);
    let session = lines.last().unwrap()["sessionId"].as_str().unwrap().to_owned();
    let (output, lines) = home.exec(&server, &["--session", &session, "And now?"]);
    assert_eq!((output.status.code(), server.chats().len()), (Some(0), 3));
    assert_eq!(of_type(&lines, "history_shortened")[0]["leftOut"], 2);
    let sent = server.chats()[2]["messages"].to_string();
    assert!(sent.contains("And now?") && sent.contains("is left out here") && !sent.contains("long ago"), "{sent}");
    let mut show = Command::new(env!("CARGO_BIN_EXE_nod"));
    show.env("NOD_DATA_DIR", home.0.path().join("data")).args(["sessions", "export", &session, "--format", "json"]);
    let kept = String::from_utf8(show.output().unwrap().stdout).unwrap();
    assert!(kept.contains("long ago") && kept.contains("\"leftOut\": 2"), "what was said is all kept: {kept}");
}

#[test]
fn what_is_too_long_even_when_shorter_is_asked_once_more_and_then_stands() {
    let (home, server) = (Home::new(), server(calls, too_long));
    let (output, lines) = home.exec(&server, &["What is in long.txt?"]);
    let end = lines.last().unwrap();
    assert_eq!((output.status.code(), server.chats().len()), (Some(1), 3));
    assert_eq!(end["error"]["code"], "context_length_exceeded");
    // One message alone cannot be made shorter, and is not asked again.
    let server = self::server(too_long, too_long);
    let (output, _) = home.exec(&server, &["hi"]);
    assert_eq!((output.status.code(), server.chats().len()), (Some(1), 1));
}

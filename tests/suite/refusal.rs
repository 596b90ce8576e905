//! What a server refuses is asked of it once, also by later runs of the program, until somebody tests the connection.
#![expect(clippy::disallowed_methods, reason = "the program is started as a person starts it")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::ollama::{OllamaServer, Piece, Reply};

fn nod(data: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
    command.env("NOD_DATA_DIR", data).env("LANG", "en_US.UTF-8").args(words).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn what_a_server_refused_is_remembered_over_restarts_for_its_address_alone() {
    let place = tempfile::tempdir().unwrap();
    let strict = || {
        let server = OllamaServer::start();
        server.answer_with(|_, body| match body.get("stream_options") {
            Some(_) => Reply::json(422, &json!({"error": {"message": "extra_forbidden: stream_options"}})),
            None => Reply::pieces([Piece::Bytes(
                b"data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".to_vec(),
            )]),
        });
        server
    };
    let (server, other) = (strict(), strict());
    let ask = |server: &OllamaServer| {
        let url = format!("{}/v1", server.url());
        let words = ["exec", "--provider", "openai-compatible", "--model", "m", "--base-url", &url, "hi"];
        let output = nod(place.path(), &words);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let offered = |server: &OllamaServer| {
        server.chats().iter().map(|chat: &Value| chat.get("stream_options").is_some()).collect::<Vec<_>>()
    };
    ask(&server);
    ask(&server);
    assert_eq!(offered(&server), [true, false, false]);
    ask(&other);
    assert_eq!(offered(&other), [true, false], "another server has refused nothing yet");
}

//! The real program, one tool turn of two rounds with every provider that there is, with and without streaming.
#![expect(clippy::disallowed_methods, reason = "the program is started as a person starts it, with files made by hand")]

use std::process::{Command, Output};

use nod::provider::{ProviderKind, catalog};
use serde_json::{Value, json};

use crate::support::anthropic::{says, thinks_and_calls, whole};
use crate::support::ollama::{OllamaServer, Piece, Reply, calls_line, done_line, text_line};

const CONTENT: &str = "the sun rises at six";

fn exec(words: &[&str]) -> Output {
    let place = tempfile::tempdir().unwrap();
    let project = place.path().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("a.txt"), CONTENT).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
    command
        .env("NOD_DATA_DIR", place.path().join("data"))
        .env("XDG_DATA_HOME", place.path().join("share"))
        .env("HOME", place.path().join("home"))
        .env("LANG", "en_US.UTF-8")
        .current_dir(place.path());
    command.args(["exec", "--json", "--folder"]).arg(&project).args(words);
    command.stdin(std::process::Stdio::null()).output().unwrap()
}

/// What a model of this format answers: a call first, its last word once the result is there.
fn answer(kind: ProviderKind, number: usize, is_streamed: bool) -> Reply {
    let arguments = json!({"path": "a.txt"});
    match (kind, number, is_streamed) {
        (ProviderKind::Ollama, 0, true) => Reply::stream([calls_line(&[("read_file", arguments)]), done_line("stop")]),
        (ProviderKind::Ollama, _, true) => Reply::stream([text_line("At six."), done_line("stop")]),
        (ProviderKind::Ollama, number, false) => {
            let mut line = done_line("stop");
            if number == 0 {
                line["message"]["tool_calls"] = json!([{"function": {"name": "read_file", "arguments": arguments}}]);
            } else {
                line["message"]["content"] = "At six.".into();
            }
            Reply::json(200, &line)
        }
        (ProviderKind::Anthropic, 0, true) => thinks_and_calls("A file.", "read_file", &arguments),
        (ProviderKind::Anthropic, _, true) => says("At six."),
        (ProviderKind::Anthropic, 0, false) => {
            whole(&json!([{"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": arguments}]), "tool_use")
        }
        (ProviderKind::Anthropic, _, false) => whole(&json!([{"type": "text", "text": "At six."}]), "end_turn"),
        (ProviderKind::OpenAiCompatible, number, is_streamed) => {
            let function = json!({"name": "read_file", "arguments": arguments.to_string()});
            let (said, reason) = if number == 0 {
                let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
                (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
            } else {
                (json!({"role": "assistant", "content": "At six."}), "stop")
            };
            let field = if is_streamed { "delta" } else { "message" };
            let body = json!({"model": "m", "choices": [{"index": 0, field: said, "finish_reason": reason}]});
            if is_streamed {
                Reply::pieces([Piece::Bytes(format!("data: {body}\n\ndata: [DONE]\n\n").into_bytes())])
            } else {
                Reply::json(200, &body)
            }
        }
        (ProviderKind::Guide, _, _) => panic!("the guide asks nobody"),
    }
}

fn run(is_streamed: bool) {
    for preset in catalog().iter().filter(|preset| preset.kind != ProviderKind::Guide) {
        let (id, kind) = (preset.id, preset.kind);
        let server = OllamaServer::start();
        server.answer_with(move |number, body| {
            // Ollama streams unless it is told not to.
            assert_eq!(body["stream"], is_streamed, "{id}");
            answer(kind, number, is_streamed)
        });
        let url = server.url();
        let mut words = vec!["--provider", id, "--base-url", &url, "--model", "m"];
        words.extend(if is_streamed { None } else { Some("--no-stream") });
        words.push("When does the sun rise?");
        let output = exec(&words);
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<Value> =
            String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let end = lines.last().unwrap_or_else(|| panic!("{id}: {said}"));
        assert_eq!(
            (output.status.code(), end["content"].as_str(), end["rounds"].as_u64()),
            (Some(0), Some("At six."), Some(2)),
            "{id}: {said}{end}"
        );
        let result = lines.iter().find(|line| line["type"] == "tool_result").unwrap();
        assert_eq!(result["toolResult"]["success"], true, "{id}: {result}");
        let [first, second] = &server.chats()[..] else { panic!("{id}: not two requests") };
        assert!(!first.to_string().contains(CONTENT) && second.to_string().contains(CONTENT), "{id}");
    }
}

#[test]
fn every_provider_completes_a_tool_turn_of_two_rounds_streaming() {
    run(true);
}

#[test]
fn every_provider_completes_a_tool_turn_of_two_rounds_without_streaming() {
    run(false);
}

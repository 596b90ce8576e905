//! The real program when its first provider cannot answer, and when a model cannot do what is asked.
#![expect(clippy::disallowed_methods, reason = "the program is started as a person starts it, with files made by hand")]

use std::process::{Command, Output};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::support::anthropic::{refuses, says, whole};
use crate::support::ollama::{OllamaServer, Reply, done_line, text_line};

fn exec(words: &[&str]) -> Output {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
    command
        .env("NOD_DATA_DIR", place.path().join("data"))
        .env("XDG_DATA_HOME", place.path().join("share"))
        .env("HOME", place.path().join("home"))
        .env("LANG", "en_US.UTF-8")
        .current_dir(place.path());
    command.arg("exec").args(words).stdin(std::process::Stdio::null()).output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_type<'lines>(lines: &'lines [Value], kind: &str) -> Vec<&'lines Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// The first provider says that it is busy as often as it is asked.
fn busy() -> OllamaServer {
    let server = OllamaServer::start();
    server.answer_with(|_, _| refuses(503, "overloaded_error", "busy").with_header("retry-after-ms", "1"));
    server
}

#[test]
fn a_provider_that_answers_503_is_asked_four_times_and_then_the_fallback_of_another_format_answers() {
    let (down, up) = (busy(), OllamaServer::start());
    up.answer(Reply::stream([text_line("Here I am."), done_line("stop")]));
    let words = ["--json", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "--base-url"];
    let (down_url, up_url) = (down.url(), up.url());
    let fallback =
        ["--fallback-provider", "ollama", "--fallback-model", "qwen3:8b", "--fallback-base-url", &up_url, "hi"];
    let output = exec(&[&words[..], &[&down_url], &fallback[..]].concat());
    let lines = lines(&output);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((down.chats().len(), up.chats().len()), (4, 1));
    assert_eq!(of_type(&lines, "retrying").len(), 3);
    let [switched] = of_type(&lines, "provider_switched").try_into().unwrap();
    assert_eq!(
        (switched["from"].as_str(), switched["to"].as_str()),
        (Some("anthropic · claude-sonnet-4-5"), Some("ollama · qwen3:8b"))
    );
    assert_eq!(lines.last().unwrap()["content"], "Here I am.");
}

#[test]
fn the_other_way_round_it_is_claude_who_answers() {
    let (down, up) = (OllamaServer::start(), OllamaServer::start());
    down.answer_with(|_, _| Reply::error(503, "server busy").with_header("retry-after-ms", "1"));
    up.answer(says("Here I am."));
    let (down_url, up_url) = (down.url(), up.url());
    let output = exec(&[
        "--provider",
        "ollama",
        "--model",
        "qwen3:8b",
        "--base-url",
        &down_url,
        "--fallback-provider",
        "anthropic",
        "--fallback-model",
        "claude-sonnet-4-5",
        "--fallback-base-url",
        &up_url,
        "hi",
    ]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "Here I am.");
    assert!(String::from_utf8_lossy(&output.stderr).contains("claude-sonnet-4-5"));
}

#[test]
fn when_the_fallback_fails_too_its_error_stands_and_the_program_says_so() {
    let (down, also_down) = (busy(), OllamaServer::start());
    also_down.answer(refuses(401, "authentication_error", "invalid x-api-key"));
    let (down_url, also_url) = (down.url(), also_down.url());
    let output = exec(&[
        "--json",
        "--provider",
        "anthropic",
        "--model",
        "claude-sonnet-4-5",
        "--base-url",
        &down_url,
        "--fallback-provider",
        "agnes-ai-anthropic",
        "--fallback-model",
        "agnes-2.0-flash",
        "--fallback-base-url",
        &also_url,
        "hi",
    ]);
    let lines = lines(&output);
    assert_eq!(output.status.code(), Some(1));
    let end = lines.last().unwrap();
    assert_eq!((end["outcome"].as_str(), end["error"]["code"].as_str()), (Some("failed"), Some("auth_invalid")));
}

#[test]
fn what_will_fail_again_is_not_sent_again() {
    for (status, kind) in [
        (400, "invalid_request_error"),
        (402, "billing_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
    ] {
        let server = OllamaServer::start();
        server.answer_with(move |_, _| refuses(status, kind, "no").with_header("retry-after-ms", "1"));
        let url = server.url();
        let output = exec(&["--provider", "anthropic", "--model", "claude-sonnet-4-5", "--base-url", &url, "hi"]);
        assert_eq!((output.status.code(), server.chats().len()), (Some(1), 1), "{status}");
    }
}

#[test]
fn an_overload_passes_and_the_answer_comes_also_without_streaming() {
    let server = OllamaServer::start();
    server.answer(refuses(529, "overloaded_error", "Overloaded").with_header("retry-after-ms", "1"));
    server.answer(whole(&json!([{"type": "text", "text": "Now."}]), "end_turn"));
    let url = server.url();
    let words = ["--no-stream", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "--base-url", &url, "hi"];
    let output = exec(&words);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "Now.");
    assert!(server.chats().iter().all(|chat| chat["stream"] == false));
}

#[test]
fn an_image_for_a_model_that_cannot_see_is_refused_before_anything_is_sent() {
    let place = tempfile::tempdir().unwrap();
    let image = place.path().join("a.png");
    image::RgbImage::new(2, 2).save(&image).unwrap();
    let server = OllamaServer::start();
    let show = json!({
        "model_info": {"general.architecture": "llama", "llama.context_length": 8192},
        "capabilities": ["completion", "tools"],
    });
    server.route("/api/show", Reply::json(200, &show));
    let (url, image) = (server.url(), image.display().to_string());
    let words = ["--provider", "ollama", "--model", "llama3.2", "--base-url", &url, "--image", &image, "what is this?"];
    let output = exec(&words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), server.chats().len()), (Some(1), 0), "{said}");
    assert!(said.contains("llama3.2 cannot see images"), "{said}");
}

#[test]
fn a_fallback_that_its_server_runs_elsewhere_gets_secrets_masked_whatever_its_name_is() {
    let key = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6");
    for is_elsewhere in [true, false] {
        let (down, up) = (busy(), OllamaServer::start());
        let mut show = json!({"model_info": {}, "capabilities": ["completion", "tools"]});
        up.list(&[("mine", json!({}))]);
        if is_elsewhere {
            show["remote_model"] = json!("large:120b");
        }
        up.route("/api/show", Reply::json(200, &show));
        up.answer(Reply::stream([text_line("Seen."), done_line("stop")]));
        let (down_url, up_url) = (down.url(), up.url());
        let prompt = format!("What is this?\n```\nTOKEN={key}\n```\n");
        let output = exec(&[
            "--provider",
            "anthropic",
            "--model",
            "claude-sonnet-4-5",
            "--base-url",
            &down_url,
            "--fallback-provider",
            "ollama",
            "--fallback-model",
            "mine",
            "--fallback-base-url",
            &up_url,
            &prompt,
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let sent = up.last_chat().unwrap().to_string();
        assert!(sent.contains("TOKEN="), "{sent}");
        assert_eq!(sent.contains(&key), !is_elsewhere, "{sent}");
    }
}

#[test]
fn a_fallback_that_cannot_see_is_not_asked_about_an_image() {
    let place = tempfile::tempdir().unwrap();
    let image = place.path().join("a.png");
    image::RgbImage::new(2, 2).save(&image).unwrap();
    let image = image.display().to_string();
    for (capabilities, is_asked) in [(json!(["completion", "vision"]), true), (json!(["completion"]), false)] {
        let (down, up) = (busy(), OllamaServer::start());
        let model_info = json!({"general.architecture": "llama", "llama.context_length": 8192});
        up.route("/api/show", Reply::json(200, &json!({"model_info": model_info, "capabilities": capabilities})));
        up.answer(Reply::stream([text_line("A square."), done_line("stop")]));
        let (down_url, up_url) = (down.url(), up.url());
        let output = exec(&[
            "--json",
            "--provider",
            "anthropic",
            "--model",
            "claude-sonnet-4-5",
            "--base-url",
            &down_url,
            "--fallback-provider",
            "ollama",
            "--fallback-model",
            "llama3.2",
            "--fallback-base-url",
            &up_url,
            "--image",
            &image,
            "what is this?",
        ]);
        let lines = lines(&output);
        assert_eq!(output.status.code(), Some(i32::from(!is_asked)), "{lines:?}");
        assert_eq!((up.chats().len(), of_type(&lines, "provider_switched").len()), (is_asked.into(), is_asked.into()));
        if !is_asked {
            let error = &lines.last().unwrap()["error"];
            assert_eq!(error["code"], "model_overloaded");
            assert!(error["message"].as_str().unwrap().contains("llama3.2 cannot see images"), "{error}");
        }
    }
}

#[test]
fn a_photo_leaves_without_what_it_says_of_where_it_was_taken() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("photo.jpg");
    image::RgbImage::new(3_000, 10).save(&path).unwrap();
    let jpeg = std::fs::read(&path).unwrap();
    let comment = b"taken at home";
    let length = u16::try_from(comment.len() + 2).unwrap().to_be_bytes();
    std::fs::write(&path, [&jpeg[..2], &[0xFF, 0xFE], &length, comment, &jpeg[2..]].concat()).unwrap();
    let server = OllamaServer::start();
    server.answer(Reply::stream([text_line("A line."), done_line("stop")]));
    let (url, path) = (server.url(), path.display().to_string());
    let output = exec(&["--provider", "ollama", "--model", "qwen3:8b", "--base-url", &url, "--image", &path, "?"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let chat = server.last_chat().unwrap();
    let sent = chat["messages"].as_array().unwrap().iter().find_map(|message| message["images"][0].as_str()).unwrap();
    let sent = base64::engine::general_purpose::STANDARD.decode(sent).unwrap();
    assert!(!sent.windows(comment.len()).any(|window| window == comment));
    assert_eq!(image::load_from_memory(&sent).unwrap().width(), 2_000);
}

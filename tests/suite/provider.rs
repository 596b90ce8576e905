//! The Ollama adapter where a folder of fixtures says too little: refusals, silences, images, models, downloads.

use std::sync::Arc;

use nod::ir::{Error, ErrorCode, FinishReason, Image, StreamBody, Support};
use nod::provider::retry::{Decision, Shown, decide};
use nod::provider::{Provider, ProviderConfig, ProviderKind, PullProgress, catalog, connect};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::exchange::{bodies, check_order, clock, hello, streamed};
use crate::support::ollama::{
    Gate, OllamaServer, Piece, Reply, calls_line, done_line, done_with_calls_line, text_line, thinking_line,
};

fn ollama_at(url: &str) -> Arc<dyn Provider> {
    let config = ProviderConfig {
        num_ctx: 24_576,
        keep_alive: "5m".into(),
        ..ProviderConfig::new("ollama", ProviderKind::Ollama, url)
    };
    connect(config, clock()).unwrap()
}

async fn failure(reply: Reply) -> Error {
    let server = OllamaServer::start();
    server.answer(reply);
    let (events, outcome) = streamed(ollama_at(&server.url()).as_ref(), &hello()).await;
    check_order(&events, &outcome);
    let error = outcome.unwrap_err();
    assert_eq!(bodies(&events), json!([{"type": "error", "error": error}, {"type": "done"}]));
    error
}

#[tokio::test]
async fn every_refusal_says_what_it_is_and_what_to_do() {
    let page = || Reply::bytes(404, "text/html", "<html>not here</html>");
    for (reply, code, provider_code, hint, retryable) in [
        (
            Reply::error(404, "model 'qwen3:8b' not found"),
            ErrorCode::ModelNotFound,
            Some("model_not_found"),
            "ollama pull qwen3:8b",
            false,
        ),
        (
            Reply::error(400, "registry.ollama.ai/library/x does not support tools"),
            ErrorCode::Unknown,
            Some("tools_not_supported"),
            "switch the tools off",
            false,
        ),
        (
            Reply::error(400, "\"x\" does not support chat"),
            ErrorCode::Unknown,
            Some("chat_not_supported"),
            "another model",
            false,
        ),
        (
            Reply::error(400, "the prompt is longer than the context length currently available"),
            ErrorCode::ContextLengthExceeded,
            None,
            "new chat",
            false,
        ),
        (Reply::error(401, "unauthorized"), ErrorCode::AuthInvalid, Some("sign_in"), "ollama signin", false),
        (Reply::error(429, "slow down"), ErrorCode::RateLimited, None, "Wait", true),
        (Reply::error(500, "llama runner process has terminated"), ErrorCode::Unknown, None, "terminated", true),
        (Reply::error(503, "server busy"), ErrorCode::ModelOverloaded, None, "Try again", true),
        (page(), ErrorCode::InvalidResponse, Some("not_ollama"), "Check the address", false),
        (
            Reply::bytes(404, "text/plain", "404 page not found"),
            ErrorCode::InvalidResponse,
            Some("not_ollama"),
            "Check the address",
            false,
        ),
        (
            Reply::json(200, &json!({"error": "Unexpected endpoint or method. (POST /api/chat)"})),
            ErrorCode::InvalidResponse,
            Some("not_ollama"),
            "Check the address",
            false,
        ),
        (Reply::bytes(200, "text/plain", ""), ErrorCode::NetworkError, Some("disconnected"), "Send", true),
        (Reply::pieces([Piece::Drop]), ErrorCode::NetworkError, Some("disconnected"), "connection broke", true),
    ] {
        let error = failure(reply.clone()).await;
        assert_eq!(
            (error.code, error.provider_code.as_deref(), error.retryable, error.provider.as_deref()),
            (code, provider_code, retryable, Some("ollama")),
            "{reply:?}: {}",
            error.message
        );
        assert!(error.message.contains(hint), "{}", error.message);
    }
}

#[tokio::test]
async fn a_wait_that_the_server_asks_for_is_kept() {
    let error = failure(Reply::error(429, "slow").with_header("Retry-After", "2")).await;
    assert_eq!(error.retry_after_ms, Some(2_000));
    assert_eq!(decide(&error, 0, Shown::Nothing, 0.0), Decision::Retry { wait_ms: 2_000 });
}

#[tokio::test]
async fn nothing_at_the_address_says_that_ollama_does_not_run_there() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let provider = ollama_at(&format!("127.0.0.1:{port}"));
    let (events, outcome) = streamed(provider.as_ref(), &hello()).await;
    check_order(&events, &outcome);
    for error in
        [outcome.unwrap_err(), provider.list_models().await.unwrap_err(), provider.health_check().await.unwrap_err()]
    {
        assert_eq!((error.code, error.provider_code.as_deref()), (ErrorCode::NetworkError, Some("connection_refused")));
        assert!(
            error.message.contains("ollama serve") && error.message.contains(&port.to_string()),
            "{}",
            error.message
        );
        assert!(error.retryable);
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_after_something_was_shown_is_not_repeated() {
    for end in [vec![Piece::Drop], vec![]] {
        let server = OllamaServer::start();
        let mut pieces = vec![Piece::line(text_line("Half"))];
        pieces.extend(end);
        server.answer(Reply::pieces(pieces));
        let (events, outcome) = streamed(ollama_at(&server.url()).as_ref(), &hello()).await;
        check_order(&events, &outcome);
        let error = outcome.unwrap_err();
        assert_eq!((error.code, error.retryable), (ErrorCode::NetworkError, false));
        assert_eq!(bodies(&events)[0], json!({"type": "text_delta", "delta": "Half"}));
    }
}

#[tokio::test]
async fn deltas_are_given_as_they_come_and_a_dropped_future_hangs_up() {
    let server = OllamaServer::start();
    let gate = Gate::new();
    server.answer(Reply::pieces([
        Piece::line(thinking_line("hm")),
        Piece::Gate(gate.clone()),
        Piece::line(text_line("hi")),
        Piece::Hang,
    ]));
    let provider = ollama_at(&server.url());
    let request = hello();
    let (sender, mut events) = mpsc::channel(1);
    {
        let answer = provider.send_stream("qwen3:8b", &request, sender);
        tokio::pin!(answer);
        let mut seen = Vec::new();
        while seen.len() < 4 {
            tokio::select! {
                event = events.recv() => seen.push(event.unwrap().body),
                _ = &mut answer => panic!("the answer is not over"),
            }
            if seen.len() == 2 {
                gate.open();
            }
        }
        let expected = [
            StreamBody::ThinkingStart,
            StreamBody::ReasoningDelta { delta: "hm".into() },
            StreamBody::ThinkingEnd,
            StreamBody::TextDelta { delta: "hi".into() },
        ];
        assert_eq!(seen, expected);
    }
    tokio::task::spawn_blocking(move || server.wait_for_hangup()).await.unwrap();
}

#[tokio::test]
async fn without_streaming_the_whole_answer_comes_at_once() {
    let server = OllamaServer::start();
    let mut body = done_with_calls_line(&[("list_directory", json!({"path": "."}))]);
    body["message"]["content"] = "Looking.".into();
    body["message"]["thinking"] = "hm".into();
    server.answer(Reply::json(200, &body));
    let response = ollama_at(&server.url()).send("qwen3:8b", &hello()).await.unwrap();
    assert_eq!(server.chats()[0]["stream"], false);
    assert_eq!(
        (response.content.as_str(), response.reasoning_content.as_deref(), response.finish_reason),
        ("Looking.", Some("hm"), FinishReason::ToolCalls)
    );
    assert_eq!(response.tool_calls.unwrap().len(), 1);
}

#[tokio::test]
async fn a_model_that_cannot_think_answers_without_being_asked_to() {
    let server = OllamaServer::start();
    server.answer(Reply::error(400, "\"qwen3:8b\" does not support thinking"));
    server.answer(Reply::stream([text_line("ok"), done_line("stop")]));
    let mut request = hello();
    request.params.thinking_enabled = Some(true);
    let (events, outcome) = streamed(ollama_at(&server.url()).as_ref(), &request).await;
    check_order(&events, &outcome);
    assert_eq!(outcome.unwrap().content, "ok");
    let thinks: Vec<Value> = server.chats().iter().map(|chat| chat["think"].clone()).collect();
    assert_eq!(thinks, [json!(true), Value::Null]);
}

#[tokio::test]
async fn an_unreadable_call_under_status_500_goes_back_to_the_model() {
    let server = OllamaServer::start();
    server.answer(Reply::error(
        500,
        "error parsing tool call: raw='{\"name\": \"read_file\", \"arg', err=unexpected end",
    ));
    let (events, outcome) = streamed(ollama_at(&server.url()).as_ref(), &hello()).await;
    check_order(&events, &outcome);
    let calls = outcome.unwrap().tool_calls.unwrap();
    assert_eq!((calls[0].name.as_str(), calls[0].args.clone()), ("read_file", json!({})));
    assert!(calls[0].parse_error.is_some() && calls[0].raw_args.is_some());
}

#[tokio::test]
async fn a_time_limit_for_the_whole_request_ends_it() {
    let server = OllamaServer::start();
    server.answer(Reply::pieces([Piece::line(text_line("slow")), Piece::Hang]));
    let mut request = hello();
    request.constraints = Some(nod::ir::Constraints { timeout_ms: Some(200), ..Default::default() });
    let (events, outcome) = streamed(ollama_at(&server.url()).as_ref(), &request).await;
    check_order(&events, &outcome);
    assert_eq!(outcome.unwrap_err().code, ErrorCode::Timeout);
}

#[tokio::test]
async fn an_image_by_address_is_a_word_and_is_never_fetched() {
    let server = OllamaServer::start();
    server.route("/cat.png", Reply::bytes(200, "image/png", [0_u8, 1, 2]));
    server.answer(Reply::stream([text_line("no cat"), done_line("stop")]));
    let mut request = hello();
    let image = |url: String| Image { url, detail: None };
    request.messages[0].images =
        Some(vec![image(format!("{}/cat.png", server.url())), image("data:image/png;base64,AAEC".into())]);
    let (_, outcome) = streamed(ollama_at(&server.url()).as_ref(), &request).await;
    assert_eq!(outcome.unwrap().content, "no cat");
    let sent = server.chats().last().unwrap()["messages"][0].clone();
    assert_eq!(sent["images"], json!(["AAEC"]));
    assert!(sent["content"].as_str().unwrap().contains("named here by its address"), "{sent}");
    assert!(server.requests().iter().all(|request| request.path != "/cat.png"));
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_not_followed() {
    let (server, other) = (OllamaServer::start(), OllamaServer::start());
    server.answer(Reply::bytes(307, "text/plain", "").with_header("Location", &format!("{}/api/chat", other.url())));
    let (_, outcome) = streamed(ollama_at(&server.url()).as_ref(), &hello()).await;
    assert_eq!(outcome.unwrap_err().provider_code.as_deref(), Some("redirected"));
    assert_eq!(other.requests(), []);
}

#[tokio::test]
async fn the_models_come_with_what_they_can_do() {
    let server = OllamaServer::start();
    let provider = ollama_at(&server.url());
    assert_eq!(provider.health_check().await.unwrap(), "Ollama 0.12.3");
    let models = provider.list_models().await.unwrap();
    let [model] = models.as_slice() else { panic!("one model") };
    assert_eq!(
        (model.id.as_str(), model.display_name.as_str(), model.context_window, model.provider_id.as_str()),
        ("qwen3:8b", "qwen3:8b (8.2B)", 24_576, "ollama")
    );
    assert_eq!(
        (model.supports_tool_calling, model.supports_thinking, model.supports_images),
        (Support::Yes, Support::Yes, Support::Yes)
    );

    server.route(
        "/api/tags",
        Reply::json(
            200,
            &json!({"models": [
                {"name": "embed", "capabilities": ["embedding"], "details": {"context_length": 512}},
                {"name": "plain", "capabilities": ["completion"], "details": {"context_length": 2048}},
                {"model": "old"},
                {},
            ]}),
        ),
    );
    server.route("/api/show", Reply::error(404, "model 'old' not found"));
    let models = provider.list_models().await.unwrap();
    let found: Vec<_> =
        models.iter().map(|model| (model.id.as_str(), model.supports_tool_calling, model.context_window)).collect();
    assert_eq!(found, [("plain", Support::No, 2_048), ("old", Support::Unknown, 24_576)]);
    assert_eq!(provider.model_info("old").await.unwrap_err().code, ErrorCode::ModelNotFound);
}

#[tokio::test]
async fn another_service_at_the_address_is_told_apart() {
    let server = OllamaServer::start();
    let provider = ollama_at(&server.url());
    for reply in [
        Reply::json(200, &json!({"error": "Unexpected endpoint"})),
        Reply::json(200, &json!({"object": "list", "data": []})),
        Reply::bytes(200, "text/html", "<html>"),
        Reply::bytes(404, "application/json", "{\"detail\":\"Not Found\"}"),
    ] {
        server.route("/api/tags", reply.clone());
        server.route("/api/version", reply);
        for error in [provider.list_models().await.unwrap_err(), provider.health_check().await.unwrap_err()] {
            assert_eq!(error.provider_code.as_deref(), Some("not_ollama"), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn a_download_reports_its_progress_and_is_done_only_on_success() {
    let server = OllamaServer::start();
    let provider = ollama_at(&server.url());
    let parts = |last: Value| {
        Reply::stream([
            json!({"status": "pulling manifest"}),
            json!({"status": "pulling aa", "digest": "sha256:aa", "total": 100, "completed": 40}),
            last,
        ])
    };
    let pull = async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let collect = async {
            let mut seen = Vec::new();
            while let Some(step) = receiver.recv().await {
                seen.push(step);
            }
            seen
        };
        tokio::join!(provider.pull("qwen3:8b", sender), collect)
    };
    let step = |status: &str, completed_bytes, total_bytes| PullProgress {
        status: status.into(),
        completed_bytes,
        total_bytes,
    };

    server.route("/api/pull", parts(json!({"status": "success"})));
    let (outcome, seen) = pull().await;
    outcome.unwrap();
    assert_eq!(seen, [step("pulling manifest", 0, 0), step("pulling aa", 40, 100), step("success", 100, 100)]);

    server.route("/api/pull", parts(json!({"error": "pull model manifest: file does not exist"})));
    let (outcome, seen) = pull().await;
    assert_eq!((outcome.unwrap_err().code, seen.len()), (ErrorCode::ModelNotFound, 2));

    server.route("/api/pull", parts(json!({"status": "verifying sha256 digest"})));
    let (outcome, _) = pull().await;
    let error = outcome.unwrap_err();
    assert_eq!((error.code, error.retryable), (ErrorCode::NetworkError, true));
}

#[tokio::test]
async fn a_line_that_never_ends_is_an_error_and_not_a_full_memory() {
    let server = OllamaServer::start();
    server.answer(Reply::pieces((0..9).map(|_| Piece::Bytes(vec![b'x'; 1024 * 1024]))));
    let (events, outcome) = streamed(ollama_at(&server.url()).as_ref(), &hello()).await;
    check_order(&events, &outcome);
    assert_eq!(outcome.unwrap_err().code, ErrorCode::InvalidResponse);
}

#[test]
fn every_provider_of_the_catalog_connects() {
    for preset in catalog() {
        if preset.kind == ProviderKind::Anthropic {
            continue;
        }
        let url = if preset.default_url.is_empty() { "http://127.0.0.1:1" } else { preset.default_url };
        let config = ProviderConfig::new(preset.id, preset.kind, url);
        assert_eq!(connect(config, clock()).unwrap().provider_id(), preset.id);
    }
    let refused = ProviderConfig::new("ollama", ProviderKind::Ollama, "http://169.254.169.254");
    let Err(error) = connect(refused, clock()) else { panic!("that address is never used") };
    assert_eq!((error.code, error.provider.as_deref()), (ErrorCode::NetworkError, Some("ollama")));
}

#[tokio::test]
async fn parallel_calls_of_the_support_server_are_read() {
    let server = OllamaServer::start();
    let calls = [("read_file", json!({"path": "a"})), ("read_file", json!({"path": "b"}))];
    server.answer_with(move |number, body| {
        assert_eq!((number, body["model"].as_str()), (0, Some("qwen3:8b")));
        Reply::stream([calls_line(&calls), done_line("stop")])
    });
    let (_, outcome) = streamed(ollama_at(&server.url()).as_ref(), &hello()).await;
    let ids: Vec<String> = outcome.unwrap().tool_calls.unwrap().into_iter().map(|call| call.id.0).collect();
    assert_eq!(ids, ["call_r_1_0", "call_r_1_1"]);
}

//! The Messages API where a folder of fixtures says too little: keys, what a server refuses, models, silences.

use std::sync::Arc;

use nod::ir::{ErrorCode, FinishReason, Support};
use nod::provider::{Provider, ProviderConfig, ProviderKind, SecretKey, connect};
use serde_json::{Value, json};

use crate::support::anthropic::{event, refuses, says, whole};
use crate::support::exchange::{bodies, check_order, clock, hello, streamed_by};
use crate::support::ollama::{OllamaServer, Piece, Reply};

fn at(server: &OllamaServer) -> Arc<dyn Provider> {
    let config = ProviderConfig {
        api_key: SecretKey::new("sk-planted"),
        headers: vec![("anthropic-beta".into(), SecretKey::new("a-beta").unwrap())],
        ..ProviderConfig::new("anthropic", ProviderKind::Anthropic, server.url())
    };
    connect(config, clock()).unwrap()
}

#[tokio::test]
async fn the_key_and_the_version_travel_in_their_headers() {
    let server = OllamaServer::start();
    server.answer(says("hi"));
    streamed_by(at(&server).as_ref(), "claude-sonnet-4-5", &hello()).await.1.unwrap();
    let requests = server.requests();
    let [request] = requests.as_slice() else { panic!("one request") };
    let header = |name| request.header(name);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(
        [header("x-api-key"), header("anthropic-version"), header("content-type"), header("anthropic-beta")],
        ["sk-planted", "2023-06-01", "application/json", "a-beta"]
    );
    // What only speaks the format may look for the key where others have it.
    assert_eq!(header("authorization"), "Bearer sk-planted");
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_says_so_without_showing_itself() {
    let config = ProviderConfig {
        api_key: SecretKey::new("sk-pla\u{1}nted"),
        ..ProviderConfig::new("anthropic", ProviderKind::Anthropic, "")
    };
    let Err(error) = connect(config, clock()) else { panic!("no header holds that") };
    assert_eq!((error.code, error.message.contains("sk-pla")), (ErrorCode::AuthInvalid, false));
}

#[tokio::test]
async fn what_a_server_refuses_is_left_out_and_remembered() {
    let server = OllamaServer::start();
    let provider = at(&server);
    server.answer(refuses(400, "invalid_request_error", "temperature: may only be set to 1 for this model"));
    server.answer(refuses(400, "invalid_request_error", "system.0.cache_control: Extra inputs are not permitted"));
    server.answer(says("one"));
    server.answer(says("two"));
    for expected in ["one", "two"] {
        let (_, outcome) = streamed_by(provider.as_ref(), "claude-sonnet-4-5", &hello()).await;
        assert_eq!(outcome.unwrap().content, expected);
    }
    let temperatures: Vec<Value> = server.chats().iter().map(|chat| chat["temperature"].clone()).collect();
    assert_eq!(temperatures, [json!(0.0), Value::Null, Value::Null, Value::Null]);
    // Another model at the same address is asked as usual.
    server.answer(says("three"));
    streamed_by(provider.as_ref(), "claude-haiku-4-5", &hello()).await.1.unwrap();
    assert_eq!(server.last_chat().unwrap()["temperature"], 0.0);
}

#[tokio::test]
async fn a_model_that_sets_its_own_budget_is_asked_for_an_effort() {
    let server = OllamaServer::start();
    let mut request = hello();
    request.params.thinking_effort = Some(nod::ir::ThinkingEffort::High);
    server.answer(refuses(400, "invalid_request_error", "thinking.type.enabled is not supported for this model"));
    server.answer(says("ok"));
    streamed_by(at(&server).as_ref(), "claude-opus-5", &request).await.1.unwrap();
    let asked: Vec<(Value, Value)> =
        server.chats().iter().map(|chat| (chat["thinking"].clone(), chat["output_config"].clone())).collect();
    let enabled = json!({"type": "enabled", "budget_tokens": 4096});
    assert_eq!(asked, [(enabled, Value::Null), (json!({"type": "adaptive"}), json!({"effort": "high"}))]);
}

#[tokio::test]
async fn without_streaming_the_whole_message_comes_at_once() {
    let server = OllamaServer::start();
    let call = json!({"type": "tool_use", "id": "t", "name": "ls", "input": {"path": "."}});
    server.answer(whole(&json!([{"type": "text", "text": "Looking."}, call]), "tool_use"));
    let response = at(&server).send("claude-sonnet-4-5", &hello()).await.unwrap();
    assert_eq!(server.chats()[0]["stream"], false);
    assert_eq!((response.content.as_str(), response.finish_reason), ("Looking.", FinishReason::ToolCalls));
    assert_eq!(response.tool_calls.unwrap()[0].args, json!({"path": "."}));
}

#[tokio::test]
async fn a_connection_that_breaks_keeps_what_had_come() {
    let server = OllamaServer::start();
    let half = event("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": "Half"}}));
    server.answer(Reply::pieces([Piece::Bytes(half.into_bytes()), Piece::Drop]));
    let (events, outcome) = streamed_by(at(&server).as_ref(), "claude-sonnet-4-5", &hello()).await;
    check_order(&events, &outcome);
    let error = outcome.unwrap_err();
    assert_eq!((error.provider_code.as_deref(), error.retryable), (Some("disconnected"), false));
    assert_eq!(bodies(&events)[0], json!({"type": "text_delta", "delta": "Half"}));
}

#[tokio::test]
async fn the_models_come_page_by_page_with_what_they_can_do() {
    let server = OllamaServer::start();
    let provider = at(&server);
    let first = json!({
        "id": "claude-sonnet-4-5", "display_name": "Claude Sonnet 4.5", "max_input_tokens": 1_000_000,
        "max_tokens": 64_000, "capabilities": {"image_input": {"supported": true}, "thinking": {"supported": false}},
    });
    server.route(
        "/v1/models?limit=1000",
        Reply::json(200, &json!({"data": [first], "has_more": true, "last_id": "claude-sonnet-4-5"})),
    );
    server.route(
        "/v1/models?limit=1000&after_id=claude-sonnet-4-5",
        Reply::json(
            200,
            &json!({"data": [{"id": "claude-3-5-haiku-20241022", "capabilities": null}, {}], "has_more": false}),
        ),
    );
    let models = provider.list_models().await.unwrap();
    let told: Vec<_> = models
        .iter()
        .map(|model| (model.display_name.as_str(), model.context_window, model.max_output, model.supports_thinking))
        .collect();
    assert_eq!(
        told,
        [
            ("Claude Sonnet 4.5", 1_000_000, 64_000, Support::No),
            ("claude-3-5-haiku-20241022", 200_000, 8_192, Support::No)
        ]
    );
    assert_eq!(models[0].supports_images, Support::Yes);
    assert!(provider.health_check().await.unwrap().contains("1 model"));

    // A gateway that cannot be asked about one model is no worse for it; a wrong key is told.
    assert_eq!(provider.model_info("claude-opus-4-6").await.unwrap().max_output, 128_000);
    server.route("/v1/models/claude-opus-4-6", refuses(401, "authentication_error", "invalid x-api-key"));
    assert_eq!(provider.model_info("claude-opus-4-6").await.unwrap_err().code, ErrorCode::AuthInvalid);
    server.route("/v1/models?limit=1000", Reply::json(200, &json!({"error": "Unexpected endpoint or method"})));
    assert_eq!(provider.list_models().await.unwrap_err().provider_code.as_deref(), Some("not_anthropic"));
}

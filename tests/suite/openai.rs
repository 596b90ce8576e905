//! What an OpenAI-compatible server refuses is done without, once, and remembered for its address; what it lists is read.

use std::sync::Arc;

use nod::ir::{ErrorCode, Request, Support};
use nod::provider::reader::read_packets;
use nod::provider::{Provider, ProviderConfig, ProviderKind, SecretKey, connect};
use serde_json::{Value, json};

use crate::support::exchange::{NOW, check_order, clock, hello, streamed_by};
use crate::support::ollama::{OllamaServer, Piece, Reply};

const STREAM: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn provider(id: &str, url: &str) -> Arc<dyn Provider> {
    let config = ProviderConfig {
        api_key: SecretKey::new("sk-planted"),
        dialect: id.into(),
        ..ProviderConfig::new(id, ProviderKind::OpenAiCompatible, url)
    };
    connect(config, clock()).unwrap()
}

fn ok() -> Reply {
    Reply::pieces([Piece::Bytes(STREAM.into())])
}

fn refusal(status: u16, text: &str) -> Reply {
    Reply::json(status, &json!({"error": {"message": text, "type": "invalid_request_error"}}))
}

async fn answer(provider: &dyn Provider, model: &str, request: &Request) -> String {
    let (events, outcome) = streamed_by(provider, model, request).await;
    check_order(&events, &outcome);
    outcome.unwrap().content
}

#[tokio::test]
async fn what_a_server_refuses_is_left_out_once_and_remembered_for_its_address() {
    let server = OllamaServer::start();
    server.answer(refusal(422, "extra_forbidden: stream_options.include_usage"));
    server.answer(refusal(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."));
    server.answer(ok());
    let mut request = hello();
    request.params.max_tokens = Some(100);
    // A provider is made anew for every request.
    assert_eq!(answer(provider("openai-compatible", &server.url()).as_ref(), "m", &request).await, "ok");
    server.answer(ok());
    assert_eq!(answer(provider("openai-compatible", &server.url()).as_ref(), "m", &request).await, "ok");
    let asked =
        |chat: &Value| ["stream_options", "max_tokens", "max_completion_tokens"].map(|name| chat.get(name).is_some());
    let chats: Vec<_> = server.chats().iter().map(asked).collect();
    assert_eq!(
        chats,
        [[true, true, false], [false, true, false], [false, false, true], [false, false, true]],
        "the last is the second request: nothing is refused twice"
    );
    // Another server has refused nothing.
    let other = OllamaServer::start();
    other.answer(ok());
    answer(provider("openai-compatible", &other.url()).as_ref(), "m", &request).await;
    assert_eq!(asked(&other.chats()[0]), [true, true, false]);
}

#[tokio::test]
async fn a_refusal_that_names_nothing_optional_is_asked_once() {
    let server = OllamaServer::start();
    server.answer(refusal(400, "messages: something is wrong"));
    let (_, outcome) = streamed_by(provider("deepseek", &server.url()).as_ref(), "m", &hello()).await;
    let error = outcome.unwrap_err();
    assert_eq!((error.code, error.retryable, server.chats().len()), (ErrorCode::Unknown, false, 1));
}

#[tokio::test]
async fn a_path_with_or_without_v1_is_found_and_kept() {
    let server = OllamaServer::start();
    let url = format!("{}/v1", server.url());
    server.answer(Reply::bytes(404, "text/plain", "404 page not found"));
    for _ in 0..2 {
        server.answer(ok());
        assert_eq!(answer(provider("openai-compatible", &url).as_ref(), "m", &hello()).await, "ok");
    }
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/v1/chat/completions", "/chat/completions", "/chat/completions"]);
}

#[tokio::test]
async fn the_key_goes_in_the_header_that_the_vendor_wants() {
    for (id, header, value) in [("openai", "authorization", "Bearer sk-planted"), ("azure", "api-key", "sk-planted")] {
        let server = OllamaServer::start();
        server.answer(ok());
        answer(provider(id, &server.url()).as_ref(), "m", &hello()).await;
        assert_eq!(server.requests()[0].header(header), value, "{id}");
    }
}

#[tokio::test]
async fn an_answer_that_was_whole_survives_a_connection_that_breaks() {
    let server = OllamaServer::start();
    let whole = STREAM.replace("data: [DONE]\n\n", "");
    server.answer(Reply::pieces([Piece::Bytes(whole.into()), Piece::Drop]));
    assert_eq!(answer(provider("vllm", &server.url()).as_ref(), "m", &hello()).await, "ok");
    // The control: without its end it is a broken answer.
    let half = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\n";
    server.answer(Reply::pieces([Piece::Bytes(half.into()), Piece::Drop]));
    let (_, outcome) = streamed_by(provider("vllm", &server.url()).as_ref(), "m", &hello()).await;
    assert_eq!(outcome.unwrap_err().code, ErrorCode::NetworkError);
}

#[tokio::test]
async fn the_models_come_with_what_the_server_says_of_them() {
    let server = OllamaServer::start();
    let list = json!({"object": "list", "data": [{"id": "a", "max_model_len": 4096, "capabilities": {"vision": true}}, {"id": "b"}]});
    server.route("/v1/models", Reply::json(200, &list));
    let provider = provider("vllm", &server.url());
    let models = provider.list_models().await.unwrap();
    let found: Vec<_> =
        models.iter().map(|model| (model.id.as_str(), model.context_window, model.supports_images)).collect();
    assert_eq!(found, [("a", 4096, Support::Yes), ("b", 0, Support::Unknown)]);
    assert_eq!(provider.health_check().await.unwrap(), "vLLM: 2 models");
    assert_eq!(provider.model_info("a").await.unwrap().context_window, 4096);
    for wrong in [json!({"error": "Unexpected endpoint or method. (GET /v1/models)"}), json!({"object": "list"})] {
        server.route("/v1/models", Reply::json(200, &wrong));
        assert_eq!(provider.list_models().await.unwrap_err().provider_code.as_deref(), Some("not_openai"));
    }
}

#[tokio::test]
async fn a_call_that_the_server_could_not_read_goes_back_to_the_model() {
    let ollama = r#"error parsing tool call: raw='{"name": "read_file", "arg', err=unexpected end"#.to_owned();
    let llama_cpp = "Failed to parse tool call arguments as JSON: unexpected end of input".to_owned();
    for (words, name) in [(ollama, "read_file"), (llama_cpp, "unreadable_call")] {
        let error = json!({"error": {"message": words, "type": "api_error"}});
        let in_stream = format!("data: {error}\n\n");
        for reply in [Reply::json(500, &error), Reply::pieces([Piece::Bytes(in_stream.into_bytes())])] {
            let server = OllamaServer::start();
            server.answer(reply);
            let (events, outcome) = streamed_by(provider("vllm", &server.url()).as_ref(), "m", &hello()).await;
            check_order(&events, &outcome);
            let calls = outcome.unwrap().tool_calls.unwrap();
            assert_eq!((calls[0].name.as_str(), calls[0].args.clone()), (name, json!({})));
            assert!(calls[0].parse_error.as_ref().is_some_and(|problem| problem.contains(&words)));
        }
    }
}

/// What a server sends, read without a network.
fn read(kind: ProviderKind, body: &str) -> Result<usize, ErrorCode> {
    let packets: Vec<&[u8]> = body.as_bytes().chunks(64 * 1024).collect();
    let mut pieces = 0;
    let outcome = read_packets(kind, "m", &hello(), &packets, NOW, |_| pieces += 1);
    outcome.map(|_| pieces).map_err(|error| error.code)
}

#[test]
fn what_a_hostile_server_has_kept_is_bounded() {
    let events = |event: String, count: usize| event.repeat(count) + "data: [DONE]\n\n";
    let filler = "x".repeat(1024 * 1024);
    let details = format!("data: {}\n\n", json!({"choices": [{"delta": {"reasoning_details": [{"data": filler}]}}]}));
    let call = json!({"index": 0, "function": {"name": "f"}, "extra_content": {"a": filler}});
    let extra = format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": [call]}}]}));
    let openai = ProviderKind::OpenAiCompatible;
    for event in [details, extra] {
        assert!(read(openai, &events(event.clone(), 8)).is_ok());
        assert_eq!(read(openai, &events(event, 24)), Err(ErrorCode::InvalidResponse));
    }
    let call = json!({"message": {"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}});
    let lines = |count: usize| format!("{call}\n").repeat(count) + "{\"done\":true}\n";
    assert!(read(ProviderKind::Ollama, &lines(500)).is_ok());
    assert_eq!(read(ProviderKind::Ollama, &lines(600)), Err(ErrorCode::InvalidResponse));
}

#[test]
fn a_line_full_of_empty_values_is_no_flood_of_memory() {
    let many = "{},".repeat(2_000_000);
    for inner in [
        format!("{{\"choices\":[{many}{{}}]}}"),
        format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{many}{{}}]}}}}]}}"),
        format!("{{\"choices\":[{{\"delta\":{{\"reasoning_details\":[{many}{{}}]}}}}]}}"),
    ] {
        let body = format!("data: {inner}\n\ndata: [DONE]\n\n");
        assert!(read(ProviderKind::OpenAiCompatible, &body).is_ok(), "{inner:.60}");
    }
    let deep = "[".repeat(1_000_000);
    for body in [
        format!("data: {{\"choices\":{deep}\n\n"),
        format!("data: {{\"error\":{deep}\n\n"),
        format!("{{\"choices\":[{{\"message\":{{\"content\":{deep}"),
    ] {
        assert!(read(ProviderKind::OpenAiCompatible, &body).is_err(), "{body:.60}");
    }
}

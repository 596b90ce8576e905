//! Whatever a conversation went through (interruptions, models that were switched, images, what other providers left in it,
//! ids used twice, results without calls), each format gets a request that it takes.

use nod::ir::{CallId, Image, Message, Request, Role, ThinkingEffort, ToolCall, ToolResult, UnixMs};
use nod::provider::{ProviderConfig, connect, preset};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::exchange::{clock, hello, streamed_by};
use crate::support::ollama::{OllamaServer, Reply};
use crate::support::validity;

const CLAUDE: &str = "claude-sonnet-4-5";
const IDS: &[&str] = &["call_0", "call_0", "call_1", "toolu_1", "functions.ls:0", "", "呼び出し", "a b"];
const NAMES: &[&str] = &["read_file", "list_directory", "functions.ls", "mcp.files/read", "", "读"];

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a-z你 ]{1,8}", Just("half an answ".to_owned())]
}

fn any_image() -> impl Strategy<Value = Image> {
    // Addresses would be fetched.
    let url = prop_oneof![
        Just("data:image/png;base64,AAEC"),
        Just("data:image/jpeg;base64,/9j/"),
        Just("data:image/svg+xml,%3Csvg/%3E"),
        Just("data:,x"),
    ];
    url.prop_map(|url| Image { url: url.to_owned(), detail: None })
}

fn any_call() -> impl Strategy<Value = ToolCall> {
    let args = prop_oneof![
        Just(json!({})),
        Just(json!({"path": "a", "n": [1, {"x": null}]})),
        Just(Value::Null),
        Just(json!("text")),
    ];
    (prop::sample::select(IDS), prop::sample::select(NAMES), args).prop_map(|(id, name, args)| {
        let call = json!({"id": id, "name": name, "iteration": 1, "timestamp": 0});
        ToolCall { args, ..serde_json::from_value(call).unwrap() }
    })
}

/// What an adapter may have left with a message: this model's own (fitting or not), another's, anything.
fn any_state(text_bytes: usize, calls: usize) -> impl Strategy<Value = Option<Value>> {
    let kept = move |model: &str, bytes: usize| {
        let thinking = json!({"thinking": {"type": "thinking", "thinking": "hm", "signature": "c2ln"}});
        let mut blocks = vec![thinking, json!({"text": bytes})];
        blocks.extend((0..calls).map(|_| json!("call")));
        Some(json!({"format": "anthropic-messages", "provider": "anthropic", "model": model, "blocks": blocks}))
    };
    prop_oneof![
        Just(None),
        Just(kept(CLAUDE, text_bytes)),
        Just(kept(CLAUDE, text_bytes + 1)),
        Just(kept("claude-opus-4-6", text_bytes)),
        Just(Some(json!({"signature": "x"}))),
        Just(Some(json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}))),
        Just(Some(json!(7))),
    ]
}

fn any_answer() -> impl Strategy<Value = Message> {
    let parts = (any_text(), prop::option::of(any_text()), prop::collection::vec(any_call(), 0..4));
    parts.prop_flat_map(|(text, thought, calls)| {
        any_state(text.len(), calls.len()).prop_map(move |state| {
            let mut message = Message::text(Role::Assistant, text.clone(), UnixMs(1));
            message.reasoning_content.clone_from(&thought);
            message.tool_calls = (!calls.is_empty()).then(|| calls.clone());
            message.provider_state = state;
            message
        })
    })
}

fn result_of(id: &str, name: &str) -> Message {
    let result = ToolResult {
        tool_call_id: CallId::new(id),
        tool_name: name.to_owned(),
        result: json!({"success": true}),
        summary: None,
        success: name.len().is_multiple_of(2),
        error: None,
        duration_ms: 1,
        timestamp: UnixMs(2),
    };
    Message::tool_result(result, 1)
}

/// One thing that happened. A turn that went well is likelier than the rest.
fn any_messages() -> impl Strategy<Value = Vec<Message>> {
    let said = |role| {
        (any_text(), prop::option::of(prop::collection::vec(any_image(), 0..3))).prop_map(move |(text, images)| {
            let mut message = Message::text(role, text, UnixMs(0));
            message.images = images.filter(|_| role == Role::User);
            vec![message]
        })
    };
    let round = (any_answer(), prop::collection::vec(any::<bool>(), 4), any::<bool>()).prop_map(
        |(answer, is_kept, is_turned)| {
            let calls = answer.calls().iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
            let mut results: Vec<Message> = calls.map(|(call, _)| result_of(call.id.as_str(), &call.name)).collect();
            if is_turned {
                results.reverse();
            }
            let mut messages = vec![answer];
            messages.append(&mut results);
            messages
        },
    );
    let orphan = prop::sample::select(IDS).prop_map(|id| vec![result_of(id, "read_file")]);
    let event = prop_oneof![
        3 => said(Role::User),
        5 => round,
        1 => said(Role::System),
        1 => orphan,
    ];
    prop::collection::vec(event, 0..10).prop_map(|events| events.concat())
}

fn any_request() -> impl Strategy<Value = Request> {
    let effort = prop::option::of(prop::sample::select(vec![ThinkingEffort::Low, ThinkingEffort::Max]));
    let tools = prop::option::of(prop::collection::vec(prop::sample::select(NAMES), 0..4));
    (any_messages(), tools, prop::option::of(any::<bool>()), effort, prop::option::of(1_u32..4_000)).prop_map(
        |(messages, tools, thinking_enabled, thinking_effort, max_tokens)| {
            let mut request = hello();
            request.messages = messages;
            request.tools = tools.map(|names| {
                let mut names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
                names.sort_unstable();
                names.dedup();
                let tool = |name: &&str| {
                    json!({
                        "name": name, "description": "A tool.", "parameters": {"type": "object"}, "category": "mcp",
                        "riskLevel": "low", "requiresPermission": false, "timeoutMs": 1,
                    })
                };
                names.iter().map(|name| serde_json::from_value(tool(name)).unwrap()).collect()
            });
            request.params.thinking_enabled = thinking_enabled;
            request.params.thinking_effort = thinking_effort;
            request.params.max_tokens = max_tokens;
            request
        },
    )
}

/// Sends every generated request by one provider, and checks what its server received.
fn each_request_is_valid(id: &str, model: &str, cases: u32, rules: fn(&Value) -> validity::Faults) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = OllamaServer::start();
    server.answer_with(|_, _| Reply::error(418, "only looking"));
    let kind = preset(id).unwrap().kind;
    let config = ProviderConfig { dialect: id.into(), ..ProviderConfig::new(id, kind, server.url()) };
    let provider = connect(config, clock()).unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases, ..ProptestConfig::default() });
    let outcome = runner.run(&any_request(), |request| {
        drop(runtime.block_on(streamed_by(provider.as_ref(), model, &request)));
        let body = server.take_last_chat().unwrap();
        let faults = rules(&body);
        prop_assert!(faults.is_empty(), "{faults:?}\n{body:#}");
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{id}: {failure}");
    }
}

#[test]
fn anthropic_gets_a_valid_request_from_any_history() {
    each_request_is_valid("anthropic", CLAUDE, 400, validity::anthropic);
}

#[test]
fn agnes_by_its_second_face_gets_a_valid_request_from_any_history() {
    // It wants no signed thinking back, so its loops may begin without.
    each_request_is_valid("agnes-ai-anthropic", "agnes-2.0-flash", 200, |body| {
        let mut faults = validity::anthropic(body);
        faults.retain(|fault| fault != "a loop that thinks began with thinking");
        faults
    });
}

#[test]
fn ollama_gets_a_valid_request_from_any_history() {
    each_request_is_valid("ollama", "qwen3:8b", 400, validity::ollama);
}

#[test]
fn openai_and_what_is_compatible_with_it_get_a_valid_request_from_any_history() {
    for (id, model) in [
        ("openai", "gpt-5"),
        ("deepseek", "deepseek-chat"),
        ("agnes-ai", "agnes-2.0-flash"),
        ("gemini", "gemini-2.5-flash"),
        ("moonshot", "kimi-k2-thinking"),
        ("glm", "glm-5.3"),
        ("qwen", "qwen3-max"),
        ("openai-compatible", "anything"),
    ] {
        each_request_is_valid(id, model, 100, validity::openai);
    }
}

#[test]
fn mistral_gets_ids_of_nine_letters_and_digits_from_any_history() {
    each_request_is_valid("mistral", "mistral-large-latest", 200, |body| {
        let mut faults = validity::openai(body);
        let calls = body["messages"].as_array().unwrap().iter().filter_map(|message| message["tool_calls"].as_array());
        let is_nine = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !calls.flatten().all(|call| call["id"].as_str().is_some_and(is_nine)) {
            faults.push("an id has nine letters and digits".into());
        }
        faults
    });
}

#[test]
fn the_rules_see_what_is_wrong() {
    let call = json!({"type": "tool_use", "id": "a", "name": "ls", "input": {}});
    let broken = json!({
        "messages": [
            {"role": "assistant", "content": [call, {"type": "text", "text": " "}]},
            {"role": "user", "content": [{"type": "text", "text": "no result"}]},
            {"role": "user", "content": []},
        ],
        "max_tokens": 1000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "temperature": 0,
    });
    for rule in [
        "roles take turns, the person first",
        "a message has a block",
        "no text is blank",
        "calls are last",
        "the results of an answer's calls stand in the next message, all and in order",
        "what was called is described",
        "the budget fits the answer",
        "thinking takes no temperature",
    ] {
        assert!(validity::anthropic(&broken).iter().any(|fault| fault == rule), "{rule}");
    }
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}});
    let broken = json!({
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "", "tool_calls": [call("a"), call("a")]},
            {"role": "tool", "tool_call_id": "b", "content": "x"},
            {"role": "system", "content": "late"},
            {"role": "assistant", "content": ""},
        ],
        "tools": [],
    });
    for rule in [
        "an id is used once",
        "a result stands behind its call, in the order of the calls",
        "every call is answered before anything else",
        "the system speaks first",
        "no answer is empty",
        "the assistant is not last",
        "no list of tools is empty",
    ] {
        assert!(validity::openai(&broken).iter().any(|fault| fault == rule), "{rule}");
    }
    assert!(validity::ollama(&broken).iter().any(|fault| fault == "arguments are as the format wants them"));
}

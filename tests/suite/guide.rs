//! The built-in guide, asked through the provider's own door: one call a request, and an honest account of what came of it.

use std::sync::Arc;

use nod::ir::{Accumulator, Message, Request, Response, Role, StreamEvent, ToolResult, UnixMs};
use nod::provider::{GUIDE_MODEL, Provider, ProviderConfig, ProviderKind, connect};
use serde_json::{Value, json};
use tokio::sync::mpsc;

const TOOLS: [&str; 7] =
    ["read_file", "list_directory", "search_files", "write_file", "create_directory", "edit_file", "delete_file"];

fn guide() -> Arc<dyn Provider> {
    let config = ProviderConfig::new("guide", ProviderKind::Guide, "");
    connect(config, Arc::new(|| UnixMs(1))).unwrap()
}

fn asked(text: &str) -> Request {
    let tools: Vec<Value> = TOOLS
        .iter()
        .map(|name| {
            json!({"name": name, "description": "", "parameters": {"type": "object"}, "category": "filesystem",
                "riskLevel": "low", "requiresPermission": false, "timeoutMs": 1000})
        })
        .collect();
    serde_json::from_value(json!({
        "meta": {"sessionId": "s", "iteration": 1, "requestId": "r", "timestamp": 1, "agentVersion": "0"},
        "systemPrompt": {"roleDefinition": ""},
        "messages": [{"role": "user", "content": text, "timestamp": 1}],
        "tools": tools,
        "params": {},
    }))
    .unwrap()
}

async fn answer(request: &Request) -> Response {
    let guide = guide();
    let (sender, mut receiver) = mpsc::channel::<StreamEvent>(1);
    let collect = async {
        let mut sum = Accumulator::default();
        while let Some(event) = receiver.recv().await {
            sum.apply(&event).unwrap();
        }
        sum
    };
    let (response, sum) = tokio::join!(guide.send_stream(GUIDE_MODEL, request, sender), collect);
    let response = response.unwrap();
    assert!(sum.is_done());
    assert_eq!((&sum.content, &sum.calls), (&response.content, &response.tool_calls.clone().unwrap_or_default()));
    response
}

/// The answer to `request` with `result` to its one call.
async fn after(mut request: Request, result: Value) -> String {
    let response = answer(&request).await;
    let call = response.tool_calls.unwrap().remove(0);
    let mut message = Message::text(Role::Assistant, response.content, UnixMs(2));
    message.tool_calls = Some(vec![call.clone()]);
    request.messages.push(message);
    let result = ToolResult {
        tool_call_id: call.id,
        tool_name: call.name,
        success: result["success"] == true,
        result,
        summary: None,
        error: None,
        duration_ms: 1,
        timestamp: UnixMs(3),
    };
    request.messages.push(Message::tool_result(result, 1));
    let response = answer(&request).await;
    assert_eq!(response.tool_calls, None, "one call a request");
    response.content
}

#[tokio::test]
async fn a_request_becomes_one_call_and_its_result_is_told_in_the_same_language() {
    let response = answer(&asked("请删除 old.txt")).await;
    assert_eq!(response.content, "我来删除 `old.txt`。删除之前会先问你。");
    let calls = response.tool_calls.unwrap();
    assert_eq!((calls[0].name.as_str(), &calls[0].args, calls.len()), ("delete_file", &json!({"path": "old.txt"}), 1));

    let refused = json!({"success": false, "code": "CONFIRMATION_REJECTED", "error": "no", "reason": "还要用"});
    assert_eq!(after(asked("请删除 old.txt"), refused).await, "你没有同意，所以我什么都没改。你的理由：还要用");
    let deleted = json!({"success": true, "path": "/w/old.txt", "deleted": true, "trashed": true});
    assert_eq!(
        after(asked("delete old.txt"), deleted).await,
        "`old.txt` is in the trash now. You can restore it from there."
    );
}

#[tokio::test]
async fn what_it_does_not_understand_gets_examples_and_no_call() {
    for (text, opening) in [
        ("what is love", "I did not understand that."),
        ("你觉得呢", "这句话我没看懂。"),
        ("hello", "Hello! I am the built-in guide."),
    ] {
        let response = answer(&asked(text)).await;
        assert!(response.content.starts_with(opening), "{}", response.content);
        assert!(response.content.contains("README.md"), "{}", response.content);
        assert_eq!(response.tool_calls, None);
    }
}

#[tokio::test]
async fn it_calls_no_tool_that_is_switched_off() {
    let response = answer(&asked("run ls")).await;
    assert_eq!(
        response.content,
        "The tool `run_command` is switched off. You can switch it on in Settings, under Tools."
    );
    assert_eq!(response.tool_calls, None);
    let mut request = asked("list");
    request.tools = None;
    let response = answer(&request).await;
    assert!(response.content.starts_with("The tools are switched off"), "{}", response.content);
    assert_eq!(response.tool_calls, None);
}

#[tokio::test]
async fn a_result_of_an_earlier_request_is_not_told_again() {
    let mut request = asked("list");
    let call = answer(&request).await.tool_calls.unwrap().remove(0);
    let mut message = Message::text(Role::Assistant, "", UnixMs(2));
    message.tool_calls = Some(vec![call]);
    request.messages.push(message);
    request.messages.push(Message::text(Role::User, "read a.txt", UnixMs(3)));
    let calls = answer(&request).await.tool_calls.unwrap();
    assert_eq!(calls[0].name, "read_file");
}

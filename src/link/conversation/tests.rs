use serde_json::json;

use super::*;
use crate::ir::{Message, Role};
use crate::link::agui;
use crate::link::thread::ThreadView;

const URL: &str = "https://nod.example/";
const NOW: UnixMs = UnixMs(1_800_000_000_000);

fn thread(turns: &Value, extra: &Value) -> ThreadView {
    let mut view = json!({
        "thread_id": "t", "title": "What is in README?", "created_at": "2026-11-30T10:00:00Z",
        "updated_at": "2026-11-30T10:01:00Z", "inherited": [], "turns": turns, "tool_calls": [],
    });
    for (name, value) in extra.as_object().into_iter().flatten() {
        view[name] = value.clone();
    }
    serde_json::from_value(view).unwrap()
}

/// A turn that reads a file and says what is in it, as the server keeps it.
fn reading(status: &str) -> Value {
    let call = json!({"id": "c1", "name": "workspace_read_file", "args": {"path": "README.md"}, "iteration": 1,
                      "timestamp": 5});
    json!({
        "turn_id": "u1", "run_id": "r1", "status": status,
        "usage": {"provider": "ollama", "model": "qwen3:8b", "inputTokens": 7, "outputTokens": 3, "totalTokens": 10},
        "messages": [
            {"role": "user", "content": "What is in README?", "timestamp": 1},
            {"role": "assistant", "content": "I look.", "reasoningContent": "hm", "timestamp": 5, "toolCalls": [call]},
            {"role": "tool", "content": "", "timestamp": 9, "toolResult": {
                "toolCallId": "c1", "toolName": "workspace_read_file", "success": true, "durationMs": 4, "timestamp": 9,
                "result": {"success": true, "data": {"content": "hello", "size": 5}}}},
            {"role": "assistant", "content": "It says hello.", "timestamp": 12},
        ],
    })
}

/// The same turn as it comes over the stream.
fn read_aloud() -> Vec<agui::Event> {
    let events = json!([
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r1", "protocolVersion": "1.0"},
        {"type": "REASONING_START", "messageId": "m-thinking"},
        {"type": "REASONING_MESSAGE_START", "messageId": "m-thinking", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m-thinking", "delta": "hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "m-thinking"},
        {"type": "REASONING_END", "messageId": "m-thinking"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "I "},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "look."},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "TOOL_CALL_START", "toolCallId": "t:c1", "toolCallName": "workspace_read_file", "parentMessageId": "m"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "t:c1", "delta": "{\"path\":"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "t:c1", "delta": "\"README.md\"}"},
        {"type": "TOOL_CALL_END", "toolCallId": "t:c1"},
        {"type": "SOMETHING_NEW", "more": 1},
        {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "t:c1", "role": "tool",
         "content": "{\"success\":true,\"data\":{\"content\":\"hello\",\"size\":5}}"},
        {"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "n", "delta": "It says hello."},
        {"type": "TEXT_MESSAGE_END", "messageId": "n"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r1", "outcome": {"type": "success"},
         "usage": [{"provider": "ollama", "model": "qwen3:8b", "inputTokens": 7, "outputTokens": 3, "totalTokens": 10}]},
    ]);
    serde_json::from_value(events).unwrap()
}

/// What a person sees of a conversation: who said what, how it ended, and the cards.
fn seen(conversation: &Conversation) -> Vec<String> {
    let message = |record: &MessageRecord| {
        let thought = record.message.reasoning_content.as_deref().unwrap_or_default();
        let words = &record.message.content;
        let error = record.error.as_ref().map(|error| error.provider_code.clone().unwrap_or_default());
        format!("{} {:?} {:?} [{thought}] {words} {error:?}", record.id, record.message.role, record.status)
    };
    let call = |row: &CallRecord| {
        let result = row.result.as_ref().map(|result| result.result.to_string());
        format!("{} {} {:?} {} {result:?}", row.call.id, row.call.name, row.status, row.call.args)
    };
    conversation.messages.iter().map(message).chain(conversation.calls.iter().map(call)).collect()
}

fn hear(conversation: &mut Conversation, events: Vec<agui::Event>) -> (Vec<Event>, Option<TurnOutcome>) {
    let (mut told, mut outcome) = (Vec::new(), None);
    for event in events {
        let (more, ended) = conversation.hear(event, NOW);
        told.extend(more);
        outcome = outcome.or(ended);
    }
    (told, outcome)
}

#[test]
fn what_comes_as_a_stream_is_what_is_there_when_it_is_opened_later() {
    let mut streamed = Conversation::new(URL, "t", NOW);
    streamed.begin("r1", "What is in README?", NOW);
    let (told, outcome) = hear(&mut streamed, read_aloud());
    assert_eq!(outcome, Some(TurnOutcome::Done));
    let opened = Conversation::of(URL, thread(&json!([reading("succeeded")]), &json!({})));
    assert_eq!(seen(&streamed), seen(&opened));
    assert_eq!(
        seen(&opened),
        [
            "r1.0 User Complete [] What is in README? None",
            "r1.1 Assistant Complete [hm] I look. None",
            "r1.2 Tool Complete []  None",
            "r1.3 Assistant Complete [] It says hello. None",
            "c1 read_file Succeeded {\"path\":\"README.md\"} \
             Some(\"{\\\"content\\\":\\\"hello\\\",\\\"size\\\":5,\\\"success\\\":true}\")",
        ]
    );
    assert_eq!((opened.state, opened.session.title.as_str()), (State::Done, "What is in README?"));
    let streamed_text: Vec<String> = told
        .iter()
        .filter_map(
            |event| if let Event::Streamed { event, .. } = event { Some(format!("{:?}", event.body)) } else { None },
        )
        .collect();
    assert_eq!(streamed_text.len(), 6, "{streamed_text:?}");
    for conversation in [&streamed, &opened] {
        let answer = conversation.messages.last().and_then(|last| last.answer.as_ref()).unwrap();
        assert_eq!((answer.model.as_str(), answer.usage.output_tokens), ("qwen3:8b", 3));
    }
}

#[test]
fn one_that_is_opened_in_the_middle_has_all_that_came_so_far() {
    let mut conversation = Conversation::new(URL, "t", NOW);
    conversation.begin("r1", "What is in README?", NOW);
    hear(&mut conversation, read_aloud().into_iter().take(8).collect());
    let Event::SessionOpened { messages, state, .. } = conversation.opened(String::new(), Vec::new()) else { panic!() };
    let last = messages.last().unwrap();
    assert_eq!((last.status, last.message.content.as_str()), (MessageStatus::Streaming, "I "));
    assert_eq!(state, State::Accumulating);
}

#[test]
fn a_run_says_how_it_ended_at_its_last_words() {
    let ending = |status: &str, extra: Value| {
        let mut turn = json!({"turn_id": "u1", "run_id": "r1", "status": status, "messages": [
            {"role": "user", "content": "Go", "timestamp": 1}]});
        for (name, value) in extra.as_object().into_iter().flatten() {
            turn[name] = value.clone();
        }
        let conversation = Conversation::of(URL, thread(&json!([turn]), &json!({})));
        (conversation.state, seen(&conversation).last().cloned().unwrap())
    };
    assert_eq!(ending("running", json!({})), (State::Sending, "r1.0 User Complete [] Go None".to_owned()));
    assert_eq!(ending("cancelled", json!({})), (State::Cancelled, "r1.1 Assistant Stopped []  None".to_owned()));
    let failed = ending("failed", json!({"error": "the model is gone"}));
    assert_eq!(failed, (State::Failed, "r1.1 Assistant Failed []  Some(\"server_run\")".to_owned()));
    let interrupted = ending("interrupted", json!({}));
    assert_eq!(interrupted, (State::Failed, "r1.1 Assistant Failed []  Some(\"server_interrupted\")".to_owned()));
}

#[test]
fn a_late_result_in_the_ledger_counts_more_than_what_the_model_was_told() {
    let mut turn = reading("succeeded");
    turn["messages"][2]["toolResult"]["success"] = json!(false);
    turn["messages"][2]["toolResult"]["result"] = json!({"success": false, "code": "RESULT_UNKNOWN", "error": "lost"});
    let row = |view: ThreadView| Conversation::of(URL, view).calls.remove(0);
    assert_eq!(row(thread(&json!([turn.clone()]), &json!({}))).status, CallStatus::Unknown);
    let ledger = json!({"tool_calls": [{
        "tool_call_id": "t:c1", "status": "succeeded", "tool_name": "workspace.read_file", "arguments": {"path": "README.md"},
        "output": {"content": "hello"}, "executions": [{"attempt_no": 1, "status": "succeeded", "connection_id": "k",
        "started_at": "2026-11-30T10:00:00Z", "ended_at": "2026-11-30T10:00:02Z"}],
    }]});
    let late = row(thread(&json!([turn]), &ledger));
    let result = late.result.unwrap();
    assert_eq!(
        (late.status, result.duration_ms, &result.result["content"]),
        (CallStatus::Succeeded, 2_000, &json!("hello"))
    );
}

#[test]
fn refusals_keep_their_codes_and_are_told_apart() {
    let told = |code: &str| {
        let told = json!({"success": false, "code": code, "error": "no"});
        let result = result_of(&CallId::new("c"), "read_file", &told, 1, NOW);
        assert_eq!((result.code(), result.error.as_deref()), (Some(code), Some("no")));
        status_of(&result)
    };
    assert_eq!(told("SENSITIVE_PATH_DENIED"), CallStatus::Denied);
    assert_eq!(told("CONFIRMATION_REJECTED"), CallStatus::Denied);
    assert_eq!(told("RUN_CANCELLED"), CallStatus::Cancelled);
    assert_eq!(told("RESULT_UNKNOWN"), CallStatus::Unknown);
    assert_eq!(told("DEVICE_OFFLINE"), CallStatus::Failed);
}

#[test]
fn a_message_is_found_in_its_thread_or_in_the_one_that_it_was_taken_over_from() {
    let parent = thread(&json!([reading("succeeded")]), &json!({}));
    let said = |text: &str| json!({"role": "user", "content": text, "timestamp": 1});
    let own = json!([{"turn_id": "u2", "run_id": "r2", "status": "succeeded", "messages": [said("And now?")]}]);
    let taken = json!([said("What is in README?"), {"role": "assistant", "content": "I look.", "timestamp": 5}]);
    let branch = thread(&own, &json!({"thread_id": "b", "parent_thread_id": "t", "inherited": taken}));
    let ids: Vec<MessageId> =
        Conversation::of(URL, branch.clone()).messages.iter().map(|record| record.id.clone()).collect();
    assert_eq!(ids.iter().map(MessageId::as_str).collect::<Vec<_>>(), ["b~0", "b~1", "r2.0"]);
    let turn = |turn: &str, input: &str| Place::Turn { turn: turn.into(), input: input.into() };
    assert_eq!(place_of(&branch, &ids[2]), turn("u2", "And now?"));
    assert_eq!(place_of(&branch, &ids[1]), Place::Parent { thread: "t".into(), index: 1 });
    assert_eq!(place_at(&parent, 1), turn("u1", "What is in README?"));
    assert_eq!(place_at(&branch, 2), turn("u2", "And now?"));
    for nowhere in ["r9.0", "t~0", "r2", "~", "b~x"] {
        assert_eq!(place_of(&branch, &MessageId::new(nowhere)), Place::Nowhere, "{nowhere}");
    }
    assert_eq!((place_at(&parent, 4), place_of(&parent, &ids[0])), (Place::Nowhere, Place::Nowhere));
}

#[test]
fn a_server_that_says_what_makes_no_sense_leaves_a_conversation_that_does() {
    let mut conversation = Conversation::new(URL, "t", NOW);
    let event = |value: Value| serde_json::from_value::<agui::Event>(value).unwrap();
    let stray = event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "before the start"}));
    assert_eq!(conversation.hear(stray, NOW), (Vec::new(), None));
    conversation.begin("r1", "Go", NOW);
    let result = |id: &str, content: &str| {
        event(
            json!({"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": id, "content": content, "role": "tool"}),
        )
    };
    let start = |id: &str| {
        event(json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "rm", "parentMessageId": "m"}))
    };
    let args = |id: &str, delta: &str| event(json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta}));
    let end = |id: &str| event(json!({"type": "TOOL_CALL_END", "toolCallId": id}));
    let nonsense = vec![
        result("t:unknown", "{}"),
        end("t:unknown"),
        start("other:c"),
        args("other:c", "{ not json"),
        end("other:c"),
        result("other:c", "not json"),
        result("other:c", "{\"success\":true}"),
        event(json!({"type": "RUN_ERROR", "message": "x".repeat(100_000), "code": "made_up"})),
        event(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "after the end"})),
    ];
    let (_, outcome) = hear(&mut conversation, nonsense);
    assert_eq!(outcome, Some(TurnOutcome::Failed));
    let row = conversation.calls.first().unwrap();
    assert_eq!(
        (row.call.id.as_str(), row.status, row.call.parse_error.is_some()),
        ("other:c", CallStatus::Failed, true)
    );
    let failed = conversation.messages.iter().find_map(|record| record.error.as_ref()).unwrap();
    assert_eq!((failed.code, failed.message.len()), (ErrorCode::Unknown, SENTENCE_BYTES));
}

#[test]
fn a_name_that_cannot_be_asked_for_is_not_listed() {
    assert!(is_name("0190") && is_name("a#b/c"));
    for unfit in ["", ".", "..", "a\nb", &"x".repeat(201)] {
        assert!(!is_name(unfit), "{unfit}");
    }
}

#[test]
fn a_broken_stream_leaves_what_had_come_and_says_so() {
    let mut conversation = Conversation::new(URL, "t", NOW);
    conversation.begin("r1", "Go", NOW);
    hear(&mut conversation, read_aloud().into_iter().take(9).collect());
    conversation.break_off("r1", NOW);
    assert_eq!(
        seen(&conversation),
        ["r1.0 User Complete [] Go None", "r1.1 Assistant Failed [hm] I look. Some(\"server_lost\")"]
    );
    let asked = Message::text(Role::User, "Go", NOW);
    assert_eq!(conversation.messages[0].message, asked);
}

#[test]
fn a_call_that_an_ended_turn_left_open_runs_no_longer() {
    let mut conversation = Conversation::new(URL, "t", NOW);
    conversation.begin("r1", "Go", NOW);
    hear(&mut conversation, read_aloud().into_iter().take(14).collect());
    assert_eq!(conversation.calls[0].status, CallStatus::Running);
    conversation.break_off("r1", NOW);
    let told = conversation.end(TurnOutcome::Failed, NOW);
    let told: Vec<CallStatus> = told
        .iter()
        .filter_map(|event| if let Event::CallChanged(row) = event { Some(row.status) } else { None })
        .collect();
    assert_eq!((told, conversation.calls[0].status), (vec![CallStatus::Unknown], CallStatus::Unknown));
    assert_eq!(conversation.end(TurnOutcome::Failed, NOW), []);
}

#[test]
fn no_tool_of_a_server_is_taken_for_one_of_this_computer() {
    let calls = ["run_command", "read_file", "write_file", "workspace_read_file", "clock"]
        .map(|name| json!({"id": name, "name": name, "args": {}, "iteration": 1, "timestamp": 5}));
    let turn = json!({"turn_id": "u1", "run_id": "r1", "status": "succeeded", "messages": [
        {"role": "user", "content": "Go", "timestamp": 1},
        {"role": "assistant", "content": "", "timestamp": 5, "toolCalls": calls},
        {"role": "tool", "content": "", "timestamp": 9, "toolResult": {
            "toolCallId": "run_command", "toolName": "run_command", "success": true, "durationMs": 4, "timestamp": 9,
            "result": {"success": true, "sandboxed": true, "tier": "a"}}},
    ]});
    let conversation = Conversation::of(URL, thread(&json!([turn]), &json!({})));
    let names: Vec<&str> = conversation.calls.iter().map(|row| row.call.name.as_str()).collect();
    let expected = ["server.run_command", "server.read_file", "server.write_file", "read_file", "server.clock"];
    assert_eq!(names, expected);
    let told: Vec<&str> =
        conversation.calls.iter().filter_map(|row| Some(row.result.as_ref()?.tool_name.as_str())).collect();
    assert_eq!(told, ["server.run_command"]);
    let said = conversation.messages[1].message.tool_calls.iter().flatten().map(|call| call.name.as_str());
    assert_eq!(said.collect::<Vec<_>>(), expected);
    // While it comes, too.
    let mut streamed = Conversation::new(URL, "t", NOW);
    streamed.begin("r1", "Go", NOW);
    let mut events = read_aloud();
    if let agui::Event::ToolCallStart { tool_call_name, .. } = &mut events[10] {
        "run_command".clone_into(tool_call_name);
    }
    hear(&mut streamed, events);
    let row = &streamed.calls[0];
    let result = row.result.as_ref().map(|result| result.tool_name.as_str());
    assert_eq!((row.call.name.as_str(), result), ("server.run_command", Some("server.run_command")));
}

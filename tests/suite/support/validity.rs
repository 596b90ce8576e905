//! The rules that each wire format has for a request, checked on the body that a server received.

use std::collections::HashSet;

use serde_json::Value;

/// What a body breaks; empty when it is valid.
pub(crate) type Faults = Vec<String>;

/// Anthropic's Messages API.
pub(crate) fn anthropic(body: &Value) -> Faults {
    let mut faults = Faults::new();
    let messages = array(&body["messages"]);
    check(&mut faults, !messages.is_empty(), "there is a message");
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut has_calls = false;
    for (index, message) in messages.iter().enumerate() {
        let role = text(&message["role"]);
        check(
            &mut faults,
            role == if index % 2 == 0 { "user" } else { "assistant" },
            "roles take turns, the person first",
        );
        let blocks = array(&message["content"]);
        check(&mut faults, !blocks.is_empty(), "a message has a block");
        let kinds: Vec<&str> = blocks.iter().map(|block| text(&block["type"])).collect();
        let results: Vec<&str> = blocks
            .iter()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| text(&block["tool_use_id"]))
            .collect();
        check(
            &mut faults,
            results == open,
            "the results of an answer's calls stand in the next message, all and in order",
        );
        check(
            &mut faults,
            kinds.iter().skip_while(|kind| **kind == "tool_result").all(|kind| *kind != "tool_result"),
            "results come first",
        );
        check(&mut faults, role == "user" || results.is_empty(), "results are the person's");
        open.clear();
        for block in blocks {
            match text(&block["type"]) {
                "text" => check(&mut faults, !text(&block["text"]).trim().is_empty(), "no text is blank"),
                "tool_use" => {
                    has_calls = true;
                    let id = text(&block["id"]);
                    check(
                        &mut faults,
                        role == "assistant" && block["input"].is_object(),
                        "a call is the assistant's and has an object",
                    );
                    check(&mut faults, is_name(id, 256) && ids.insert(id.to_owned()), "an id is plain and used once");
                    check(&mut faults, is_name(text(&block["name"]), 128), "a tool's name is plain");
                    open.push(id);
                }
                "thinking" => check(
                    &mut faults,
                    role == "assistant" && !text(&block["signature"]).is_empty(),
                    "thinking is signed",
                ),
                "redacted_thinking" => {
                    check(&mut faults, role == "assistant" && block["data"].is_string(), "redacted thinking has data");
                }
                "image" => {
                    let source = &block["source"];
                    let is_known =
                        ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&text(&source["media_type"]));
                    let is_whole = source["type"] == "url" || (is_known && !text(&source["data"]).starts_with("data:"));
                    check(&mut faults, role == "user" && is_whole, "an image is raw base64 of a known kind");
                }
                "tool_result" => {}
                other => faults.push(format!("no block is a {other}")),
            }
        }
        let behind_calls = kinds.iter().skip_while(|kind| **kind != "tool_use").any(|kind| *kind == "text");
        check(&mut faults, !behind_calls, "calls are last");
    }
    check(&mut faults, messages.last().is_some_and(|last| last["role"] == "user"), "the person is last");
    let tools = array(&body["tools"]);
    check(&mut faults, !has_calls || !tools.is_empty(), "what was called is described");
    names(&mut faults, tools.iter().map(|tool| text(&tool["name"])), 128);
    check(&mut faults, tools.iter().all(|tool| tool["input_schema"]["type"] == "object"), "a schema is an object's");
    if body["thinking"]["type"] == "enabled" {
        let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
        check(&mut faults, budget >= 1_024 && Some(budget) < body["max_tokens"].as_u64(), "the budget fits the answer");
        check(&mut faults, body["temperature"].is_null() && body["top_p"].is_null(), "thinking takes no temperature");
        // The loop under way: everything behind the last words of the person.
        let words = |message: &&Value| array(&message["content"]).iter().any(|block| block["type"] != "tool_result");
        let start = messages.iter().rposition(|message| message["role"] == "user" && words(&message)).unwrap_or(0);
        let first = messages.iter().skip(start).find(|message| message["role"] == "assistant");
        let begins = first.is_none_or(|message| text(&message["content"][0]["type"]).ends_with("thinking"));
        check(&mut faults, begins, "a loop that thinks began with thinking");
    }
    faults
}

/// OpenAI's chat completions and what is compatible with them.
pub(crate) fn openai(body: &Value) -> Faults {
    let mut faults = chat(body, |call| {
        let arguments = call["function"]["arguments"].as_str().unwrap_or("not a string");
        serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object())
    });
    for message in array(&body["messages"]) {
        let content = &message["content"];
        let is_right =
            content.is_string() || content.is_array() || (content.is_null() && message["tool_calls"].is_array());
        check(&mut faults, is_right, "content is a text, parts, or left to the calls");
        for part in array(content) {
            let is_known = part["type"] == "text" || part["image_url"]["url"].is_string();
            check(&mut faults, is_known && message["role"] == "user", "parts are the person's texts and images");
        }
    }
    let calls = array(&body["messages"]).iter().flat_map(|message| array(&message["tool_calls"]));
    check(&mut faults, calls.clone().all(|call| call["type"] == "function"), "a call is a function's");
    faults
}

/// Ollama's own chat.
pub(crate) fn ollama(body: &Value) -> Faults {
    let mut faults = chat(body, |call| call["function"]["arguments"].is_object());
    for message in array(&body["messages"]) {
        check(&mut faults, message["content"].is_string(), "content is a text");
        let images = array(&message["images"]);
        check(&mut faults, images.iter().all(|image| !text(image).contains(':')), "an image is raw base64");
    }
    faults
}

/// What both have in common.
fn chat(body: &Value, has_arguments: impl Fn(&Value) -> bool) -> Faults {
    let mut faults = Faults::new();
    let messages = array(&body["messages"]);
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut last = "";
    for message in messages {
        let role = text(&message["role"]);
        if role == "tool" {
            let is_next = !open.is_empty() && open.remove(0) == text(&message["tool_call_id"]);
            check(&mut faults, is_next, "a result stands behind its call, in the order of the calls");
            last = role;
            continue;
        }
        check(&mut faults, open.is_empty(), "every call is answered before anything else");
        open.clear();
        match role {
            "system" => check(&mut faults, matches!(last, "" | "system"), "the system speaks first"),
            "user" => check(&mut faults, last != "user", "the person's neighbouring messages are one"),
            "assistant" => {
                check(&mut faults, matches!(last, "user" | "tool"), "somebody else spoke before the assistant");
                let calls = array(&message["tool_calls"]);
                let has_text = !text(&message["content"]).trim().is_empty();
                check(&mut faults, has_text || !calls.is_empty(), "no answer is empty");
                for call in calls {
                    let id = text(&call["id"]);
                    check(&mut faults, !id.is_empty() && ids.insert(id.to_owned()), "an id is used once");
                    check(&mut faults, has_arguments(call), "arguments are as the format wants them");
                    open.push(id);
                }
            }
            other => faults.push(format!("nobody is a {other}")),
        }
        last = role;
    }
    check(&mut faults, open.is_empty() && matches!(last, "user" | "tool"), "the assistant is not last");
    let tools = array(&body["tools"]);
    check(&mut faults, body["tools"].is_null() || !tools.is_empty(), "no list of tools is empty");
    faults
}

fn names<'a>(faults: &mut Faults, names: impl Iterator<Item = &'a str>, limit: usize) {
    let mut taken = HashSet::new();
    for name in names {
        check(faults, is_name(name, limit) && taken.insert(name), "a tool's name is plain and its own");
    }
}

/// Letters, digits, `_` and `-`.
fn is_name(name: &str, limit: usize) -> bool {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    !name.is_empty() && name.len() <= limit && is_plain
}

fn check(faults: &mut Faults, holds: bool, rule: &str) {
    if !holds {
        faults.push(rule.to_owned());
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

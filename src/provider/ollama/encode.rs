//! A request of the IR to Ollama's JSON. Pure: it fetches no image.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::wire::{CallOut, ChatMessage, ChatRequest, FunctionOut, KeepAlive, Options, Think, Tool, ToolFunction};
use crate::ir::{Error, ErrorCode, GenerationParams, Message, Request, Role, ThinkingEffort};
use crate::provider::call_name::CallNames;
use crate::provider::data_uri::base64_of;
use crate::provider::history::valid_history;

/// What a request needs beside itself.
pub(super) struct Encoding<'a> {
    pub(super) model: &'a str,
    pub(super) stream: bool,
    /// 0: whatever the server has.
    pub(super) num_ctx: u32,
    pub(super) keep_alive: &'a str,
    pub(super) thinking: ThinkingUse,
}

/// Whether the model's thinking is steered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingUse {
    /// As the request says.
    AsAsked,
    /// Not at all: the model said that it cannot think.
    Never,
}

/// The body of `POST /api/chat`.
pub(super) fn chat(request: &Request, with: &Encoding<'_>) -> Result<Vec<u8>, Error> {
    let history = valid_history(&request.messages);
    let system = request.system_prompt.joined();
    let mut messages = Vec::with_capacity(history.len() + 1);
    if !system.is_empty() {
        messages.push(plain("system", Cow::Borrowed(&system)));
    }
    // Thinking goes back within the tool loop that it belongs to.
    let loop_start = history.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
    let mut ids = CallNames::default();
    let mut open = VecDeque::new();
    for (index, message) in history.iter().enumerate() {
        let mut out = chat_message(message, index > loop_start);
        for call in &mut out.tool_calls {
            call.id = ids.next(&call.id);
            open.push_back(call.id.clone());
        }
        if message.role == Role::Tool {
            // Results stand behind their calls, in the order of the calls.
            out.tool_call_id = open.pop_front();
        }
        messages.push(out);
    }
    let params = &request.params;
    let body = ChatRequest {
        model: with.model,
        messages,
        tools: tools(request),
        stream: with.stream,
        think: match with.thinking {
            ThinkingUse::AsAsked => think(params, with.model),
            ThinkingUse::Never => None,
        },
        options: Options {
            num_ctx: Some(with.num_ctx).filter(|tokens| *tokens > 0),
            num_predict: params.max_tokens,
            temperature: params.temperature.unwrap_or(0.0),
            top_p: params.top_p,
            stop: params.stop_sequences.as_deref().unwrap_or_default(),
        },
        keep_alive: keep_alive(with.keep_alive),
        truncate: false,
        shift: false,
    };
    serde_json::to_vec(&body)
        .map_err(|error| Error::new(ErrorCode::Unknown, format!("The request cannot be written as JSON: {error}.")))
}

fn plain<'a>(role: &'static str, content: Cow<'a, str>) -> ChatMessage<'a> {
    ChatMessage {
        role,
        content,
        thinking: None,
        images: Vec::new(),
        tool_calls: Vec::new(),
        tool_name: None,
        tool_call_id: None,
    }
}

fn chat_message(message: &Message, in_loop: bool) -> ChatMessage<'_> {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut out = plain(role, Cow::Borrowed(&message.content));
    if let Some(result) = &message.tool_result {
        out.content = Cow::Owned(result.for_model());
        out.tool_name = Some(&result.tool_name);
    }
    if in_loop && message.role == Role::Assistant {
        out.thinking = message.reasoning_content.as_deref().filter(|thinking| !thinking.is_empty());
    }
    out.tool_calls = message
        .calls()
        .iter()
        .enumerate()
        .map(|(index, call)| CallOut {
            id: call.id.as_str().to_owned(),
            function: FunctionOut {
                index,
                name: &call.name,
                arguments: if call.args.is_object() {
                    Cow::Borrowed(&call.args)
                } else {
                    Cow::Owned(Value::Object(Map::new()))
                },
            },
        })
        .collect();
    for image in message.images.iter().flatten() {
        match base64_of(&image.url) {
            Some(base64) => out.images.push(base64),
            None => out.content.to_mut().push_str("\n[An image was named here by its address. It was not fetched.]"),
        }
    }
    out
}

fn tools(request: &Request) -> Vec<Tool<'_>> {
    let allowed = request.constraints.as_ref().and_then(|constraints| constraints.allowed_tools.as_ref());
    request
        .tools
        .iter()
        .flatten()
        .filter(|tool| allowed.is_none_or(|names| names.contains(&tool.name)))
        .map(|tool| Tool {
            kind: "function",
            function: ToolFunction { name: &tool.name, description: &tool.description, parameters: &tool.parameters },
        })
        .collect()
}

/// gpt-oss does not read a switch and cannot be silenced: it gets levels only.
fn think(params: &GenerationParams, model: &str) -> Option<Think> {
    let is_gpt_oss = model.to_ascii_lowercase().contains("gpt-oss");
    match (params.thinking_enabled, params.thinking_effort) {
        (None, None) => None,
        (Some(false), _) if is_gpt_oss => Some(Think::Level("low")),
        (Some(false), _) => Some(Think::Switch(false)),
        (_, Some(ThinkingEffort::Low)) => Some(Think::Level("low")),
        (_, Some(ThinkingEffort::Medium)) => Some(Think::Level("medium")),
        (_, Some(ThinkingEffort::High)) => Some(Think::Level("high")),
        (_, Some(ThinkingEffort::Max)) if is_gpt_oss => Some(Think::Level("high")),
        (Some(true), None) if is_gpt_oss => Some(Think::Level("medium")),
        (_, Some(ThinkingEffort::Max)) | (Some(true), None) => Some(Think::Switch(true)),
    }
}

fn keep_alive(typed: &str) -> Option<KeepAlive<'_>> {
    let typed = typed.trim();
    match typed.parse() {
        _ if typed.is_empty() => None,
        Ok(seconds) => Some(KeepAlive::Seconds(seconds)),
        Err(_) => Some(KeepAlive::Duration(typed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_is_mapped_and_gpt_oss_gets_levels_only() {
        let think = |enabled, effort, model| {
            super::think(
                &GenerationParams { thinking_enabled: enabled, thinking_effort: effort, ..GenerationParams::default() },
                model,
            )
        };
        let (low, high, max) = (Some(ThinkingEffort::Low), Some(ThinkingEffort::High), Some(ThinkingEffort::Max));
        for (model, expected) in [
            (
                "qwen3:8b",
                [
                    None,
                    Some(Think::Switch(false)),
                    Some(Think::Switch(true)),
                    Some(Think::Level("low")),
                    Some(Think::Level("high")),
                    Some(Think::Switch(true)),
                    Some(Think::Switch(false)),
                ],
            ),
            (
                "GPT-OSS:20b",
                [
                    None,
                    Some(Think::Level("low")),
                    Some(Think::Level("medium")),
                    Some(Think::Level("low")),
                    Some(Think::Level("high")),
                    Some(Think::Level("high")),
                    Some(Think::Level("low")),
                ],
            ),
        ] {
            let found = [
                think(None, None, model),
                think(Some(false), None, model),
                think(Some(true), None, model),
                think(Some(true), low, model),
                think(None, high, model),
                think(Some(true), max, model),
                think(Some(false), high, model),
            ];
            assert_eq!(found, expected, "{model}");
        }
    }

    #[test]
    fn keep_alive_is_seconds_or_a_duration() {
        let cases = [
            ("", None),
            (" 5m ", Some(KeepAlive::Duration("5m"))),
            ("300", Some(KeepAlive::Seconds(300))),
            ("-1", Some(KeepAlive::Seconds(-1))),
        ];
        for (typed, expected) in cases {
            assert_eq!(keep_alive(typed), expected, "{typed}");
        }
    }
}

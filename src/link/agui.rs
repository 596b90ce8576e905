//! The events of an answer as AG-UI clients read them (`@ag-ui/core` 1.0), and what they send. Only the format: `nod-server`
//! writes it, and the window reads it where a conversation lives on a server.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ir::TokenUsage;

/// The version of AG-UI that is spoken.
pub const AGUI_VERSION: &str = "1.0";

/// One event of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub enum Event {
    /// Always first.
    RunStarted {
        thread_id: String,
        run_id: String,
        #[serde(default)]
        protocol_version: String,
    },
    /// The last one of a run that did not break.
    RunFinished {
        thread_id: String,
        run_id: String,
        #[serde(default)]
        outcome: Finish,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        usage: Vec<Usage>,
    },
    /// The last one of a run that broke.
    RunError {
        message: String,
        #[serde(default)]
        code: String,
    },
    ReasoningStart {
        message_id: String,
    },
    ReasoningMessageStart {
        message_id: String,
        role: Speaker,
    },
    ReasoningMessageContent {
        message_id: String,
        delta: String,
    },
    ReasoningMessageEnd {
        message_id: String,
    },
    ReasoningEnd {
        message_id: String,
    },
    TextMessageStart {
        message_id: String,
        role: Speaker,
    },
    TextMessageContent {
        message_id: String,
        delta: String,
    },
    TextMessageEnd {
        message_id: String,
    },
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: String,
        parent_message_id: String,
    },
    ToolCallArgs {
        tool_call_id: String,
        delta: String,
    },
    ToolCallEnd {
        tool_call_id: String,
    },
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: String,
        role: Speaker,
    },
    /// One that this program does not know: it means nothing to it.
    #[serde(other)]
    Other,
}

/// Whose words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    Assistant,
    Reasoning,
    Tool,
}

/// How a run ended that did not break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Finish {
    #[default]
    Success,
    Cancelled,
}

/// Tokens of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub provider: String,
    pub model: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
}

impl Usage {
    /// What one model used.
    pub fn of(provider: &str, model: &str, usage: TokenUsage) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            total_tokens: usage.total_tokens,
        }
    }
}

/// What a client sends to have a turn answered. Tools, state and context of the client's own are not used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunAgentInput {
    /// The conversation; one that is not there begins.
    pub thread_id: String,
    /// The run: a prepared one, or a new one.
    pub run_id: String,
    /// What was said as the client has it; the server reads the last words of the person.
    #[serde(default)]
    pub messages: Vec<ClientMessage>,
    /// `{"deviceId"}`: whose tools may be used.
    #[serde(default)]
    pub forwarded_props: Value,
}

/// A message as a client has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientMessage {
    /// The client's own name for it.
    #[serde(default)]
    pub id: String,
    pub role: String,
    #[serde(default)]
    pub content: Value,
}

impl RunAgentInput {
    /// The last words of the person in it.
    pub fn last_words(&self) -> Option<String> {
        let message = self.messages.iter().rev().find(|message| message.role == "user")?;
        let text = match &message.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
                texts.collect::<Vec<_>>().join("\n")
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        };
        (!text.trim().is_empty()).then_some(text)
    }

    /// The device whose tools may be used, for a client that prepared no run.
    pub fn device_id(&self) -> Option<String> {
        self.forwarded_props.get("deviceId").and_then(Value::as_str).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_carry_the_names_of_ag_ui() {
        let event = Event::ToolCallResult {
            message_id: "m".into(),
            tool_call_id: "t:c".into(),
            content: "{}".into(),
            role: Speaker::Tool,
        };
        assert_eq!(
            serde_json::to_value(event).unwrap(),
            json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "t:c", "content": "{}", "role": "tool"})
        );
        let event = Event::RunFinished {
            thread_id: "t".into(),
            run_id: "r".into(),
            outcome: Finish::Success,
            usage: vec![Usage::of(
                "ollama",
                "m",
                TokenUsage { input_tokens: 1, output_tokens: 2, total_tokens: 3, ..TokenUsage::default() },
            )],
        };
        assert_eq!(
            serde_json::to_value(event).unwrap(),
            json!({
                "type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"},
                "usage": [{"provider": "ollama", "model": "m", "inputTokens": 1, "outputTokens": 2, "totalTokens": 3}],
            })
        );
    }

    #[test]
    fn an_event_of_a_later_version_and_fields_that_are_not_known_do_no_harm() {
        let read = |value: Value| serde_json::from_value::<Event>(value).unwrap();
        assert_eq!(read(json!({"type": "STATE_DELTA", "delta": []})), Event::Other);
        assert_eq!(
            read(json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "more": 1})),
            Event::RunFinished {
                thread_id: "t".into(),
                run_id: "r".into(),
                outcome: Finish::Success,
                usage: Vec::new()
            }
        );
    }

    #[test]
    fn the_last_words_are_the_persons() {
        let input: RunAgentInput = serde_json::from_value(json!({
            "threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [],
            "messages": [
                {"id": "1", "role": "user", "content": "first"},
                {"id": "2", "role": "user", "content": [{"type": "text", "text": "read"}, {"type": "text", "text": "it"}]},
                {"id": "3", "role": "assistant", "content": "well"},
            ],
            "forwardedProps": {"deviceId": "laptop"},
        }))
        .unwrap();
        assert_eq!((input.last_words().as_deref(), input.device_id().as_deref()), (Some("read\nit"), Some("laptop")));
    }
}

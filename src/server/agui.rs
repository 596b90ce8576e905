//! The events of an answer as AG-UI clients read them (`@ag-ui/core` 1.0), and what they send. Only the format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ir::TokenUsage;

/// The version of AG-UI that is spoken.
pub(super) const AGUI_VERSION: &str = "1.0";

/// One event of the stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub(super) enum Event {
    RunStarted {
        thread_id: String,
        run_id: String,
        protocol_version: &'static str,
    },
    RunFinished {
        thread_id: String,
        run_id: String,
        outcome: Finish,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<Usage>,
    },
    RunError {
        message: String,
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
}

/// Whose words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Speaker {
    Assistant,
    Reasoning,
    Tool,
}

/// How a run ended that did not break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Finish {
    Success,
    Cancelled,
}

/// Tokens of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) total_tokens: u64,
}

impl Usage {
    pub(super) fn of(provider: &str, model: &str, usage: TokenUsage) -> Self {
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
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunAgentInput {
    pub(super) thread_id: String,
    pub(super) run_id: String,
    #[serde(default)]
    pub(super) messages: Vec<ClientMessage>,
    #[serde(default)]
    pub(super) forwarded_props: Value,
}

/// A message as a client has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ClientMessage {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Value,
}

impl RunAgentInput {
    /// The last words of the person in it.
    pub(super) fn last_words(&self) -> Option<String> {
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
    pub(super) fn device_id(&self) -> Option<String> {
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

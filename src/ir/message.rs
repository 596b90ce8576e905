//! One message of a conversation, whoever wrote it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ToolCall, ToolResult, UnixMs};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// Text stays a string and images stay apart; an adapter builds what its provider wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Text or Markdown.
    #[serde(default)]
    pub content: String,
    /// What the model thought (assistant only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// What the model asks to have run (assistant only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// What a call gave (tool only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<ToolResult>,
    /// When it was made.
    pub timestamp: UnixMs,
    /// The round it belongs to, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// Attached images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<Image>>,
    /// Opaque data of the adapter that wrote the message, echoed verbatim and read by it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<Value>,
}

impl Message {
    /// A message that is only text.
    pub fn text(role: Role, content: impl Into<String>, timestamp: UnixMs) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning_content: None,
            tool_calls: None,
            tool_result: None,
            timestamp,
            iteration: None,
            images: None,
            provider_state: None,
        }
    }

    /// The message that carries one call's result back to the model.
    pub fn tool_result(result: ToolResult, iteration: u32) -> Self {
        let mut message = Self::text(Role::Tool, "", result.timestamp);
        message.tool_result = Some(result);
        message.iteration = Some(iteration);
        message
    }

    /// The calls it asks for; empty when there are none.
    pub fn calls(&self) -> &[ToolCall] {
        self.tool_calls.as_deref().unwrap_or_default()
    }
}

/// An image by public URL or base64 data URI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `https://…` or `data:image/…;base64,…`.
    pub url: String,
    /// How closely the model should look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<ImageDetail>,
}

/// How closely the model should look at an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageDetail {
    Low,
    High,
    Auto,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::CallId;
    use crate::ir::json::{round_trip, words};

    #[test]
    fn every_kind_of_message_keeps_the_standards_names() {
        let user: Message = round_trip(&json!({
            "role": "user",
            "content": "look",
            "timestamp": 5,
            "images": [{"url": "https://example.com/a.png", "detail": "high"}, {"url": "data:image/png;base64,AA"}],
        }));
        assert_eq!(user.images.map(|images| images.len()), Some(2));
        let assistant: Message = round_trip(&json!({
            "role": "assistant",
            "content": "",
            "reasoningContent": "hm",
            "toolCalls": [{"id": "c", "name": "ls", "args": {"path": "."}, "iteration": 1, "timestamp": 5}],
            "timestamp": 5,
            "iteration": 1,
            "providerState": {"signature": "opaque"},
        }));
        assert_eq!(assistant.calls().len(), 1);
        let tool: Message = round_trip(&json!({
            "role": "tool",
            "content": "",
            "toolResult": {
                "toolCallId": "c",
                "toolName": "ls",
                "result": {"success": true},
                "success": true,
                "durationMs": 5,
                "timestamp": 6,
            },
            "timestamp": 6,
            "iteration": 1,
        }));
        let result = tool.tool_result.clone().unwrap();
        assert_eq!(result.tool_call_id, CallId::new("c"));
        assert_eq!(Message::tool_result(result, 1), tool);
    }

    #[test]
    fn roles_and_details_have_the_standards_words() {
        words(&[("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant), ("tool", Role::Tool)]);
        words(&[("low", ImageDetail::Low), ("high", ImageDetail::High), ("auto", ImageDetail::Auto)]);
    }
}

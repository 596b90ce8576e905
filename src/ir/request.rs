//! What is sent to a model.

use serde::{Deserialize, Serialize};

use super::{Message, RequestId, SessionId, ToolDef, UnixMs};

/// One request to a model: the whole history that it shall see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub meta: RequestMeta,
    pub system_prompt: SystemPrompt,
    pub messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDef>>,
    pub params: GenerationParams,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Constraints>,
}

/// Which request this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestMeta {
    /// The conversation.
    pub session_id: SessionId,
    /// The round of the turn, from 1.
    pub iteration: u32,
    /// Unique.
    pub request_id: RequestId,
    /// When it was built.
    pub timestamp: UnixMs,
    /// Version of Nod.
    pub agent_version: String,
}

/// The system prompt in parts. The first three are static so that provider prompt caches hit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemPrompt {
    pub role_definition: String,
    #[serde(default)]
    pub output_constraints: String,
    #[serde(default)]
    pub safety_guidelines: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_reminders: Option<String>,
}

impl SystemPrompt {
    /// The parts that hold something, in their order, with an empty line between.
    pub fn joined(&self) -> String {
        let parts = [
            self.role_definition.as_str(),
            self.output_constraints.as_str(),
            self.safety_guidelines.as_str(),
            self.dynamic_reminders.as_deref().unwrap_or_default(),
        ];
        parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// How the model should generate. An adapter leaves out what its model refuses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GenerationParams {
    /// Most tokens of answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// 0.0 when unset: an agent wants determinism.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Whether to stream; streamed when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Whether the model should think first; the model's own default when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_enabled: Option<bool>,
    /// How hard it should think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_effort: Option<ThinkingEffort>,
}

/// How hard a model should think; each adapter maps it to its provider's own switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingEffort {
    Low,
    Medium,
    High,
    Max,
}

/// Limits of one request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Constraints {
    /// Names of the tools that may be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Most calls in one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// For the whole request, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::json::{round_trip, words};

    #[test]
    fn a_whole_request_keeps_the_standards_names() {
        let request: Request = round_trip(&json!({
            "meta": {"sessionId": "s", "iteration": 2, "requestId": "r", "timestamp": 5, "agentVersion": "0.1.0"},
            "systemPrompt": {
                "roleDefinition": "a",
                "outputConstraints": "b",
                "safetyGuidelines": "c",
                "dynamicReminders": "d",
            },
            "messages": [{"role": "user", "content": "hi", "timestamp": 5}],
            "tools": [{
                "name": "read_file",
                "description": "Reads",
                "parameters": {"type": "object"},
                "category": "filesystem",
                "riskLevel": "low",
                "requiresPermission": false,
                "timeoutMs": 30_000,
            }],
            "params": {
                "maxTokens": 100,
                "temperature": 0.5,
                "topP": 0.9,
                "stream": true,
                "stopSequences": ["END"],
                "thinkingEnabled": true,
                "thinkingEffort": "max",
            },
            "constraints": {"allowedTools": ["read_file"], "maxToolCalls": 3, "timeoutMs": 1000},
        }));
        assert_eq!(request.params.thinking_effort, Some(ThinkingEffort::Max));
    }

    #[test]
    fn a_request_with_the_least_leaves_the_rest_out() {
        let request: Request = round_trip(&json!({
            "meta": {"sessionId": "s", "iteration": 1, "requestId": "r", "timestamp": 5, "agentVersion": ""},
            "systemPrompt": {"roleDefinition": "", "outputConstraints": "", "safetyGuidelines": ""},
            "messages": [],
            "params": {},
        }));
        assert_eq!((request.params, request.tools, request.constraints), (GenerationParams::default(), None, None));
    }

    #[test]
    fn efforts_have_the_standards_words() {
        words(&[
            ("low", ThinkingEffort::Low),
            ("medium", ThinkingEffort::Medium),
            ("high", ThinkingEffort::High),
            ("max", ThinkingEffort::Max),
        ]);
    }

    #[test]
    fn the_prompts_parts_stand_in_their_order_and_empty_ones_leave_no_gap() {
        let mut prompt = SystemPrompt {
            role_definition: "role".into(),
            output_constraints: " ".into(),
            safety_guidelines: "safety".into(),
            dynamic_reminders: Some("today".into()),
        };
        assert_eq!(prompt.joined(), "role\n\nsafety\n\ntoday");
        prompt.dynamic_reminders = None;
        assert_eq!(prompt.joined(), "role\n\nsafety");
        assert_eq!(SystemPrompt::default().joined(), "");
    }
}

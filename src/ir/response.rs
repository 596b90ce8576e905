//! What a model answered, whole.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Error, RequestId, ToolCall, UnixMs};

/// One whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    pub meta: ResponseMeta,
    #[serde(default)]
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    #[serde(default)]
    pub usage: TokenUsage,
    pub finish_reason: FinishReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// Opaque data of the adapter, to be kept with the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<Value>,
}

impl Response {
    /// Whether what the model thought stands for its answer, because it said nothing else.
    pub fn is_thought_alone(&self) -> bool {
        let said = self.content.trim();
        !said.is_empty() && self.reasoning_content.as_deref().is_some_and(|thought| thought.trim() == said)
    }
}

/// Who answered, and how fast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponseMeta {
    /// The request that this answers.
    pub request_id: RequestId,
    /// The provider's id.
    pub provider: String,
    /// The model that really answered.
    pub model: String,
    /// From sending to the end of the answer, in milliseconds.
    pub latency_ms: u64,
    /// When the answer ended.
    pub timestamp: UnixMs,
    /// The provider's own timings, where it reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perf_stats: Option<PerfStats>,
}

/// A provider's own timings, in milliseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PerfStats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_eval_duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eval_duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
}

/// Tokens, as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hit_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_miss_tokens: Option<u64>,
}

/// Why the answer ended. A reason that Nod does not know is read as `stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    Length,
    ToolCalls,
    ContentFilter,
    Error,
    #[serde(other)]
    Stop,
}

/// A thinking block as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thinking {
    pub content: String,
    pub status: ThinkingStatus,
    pub duration_ms: u64,
    pub tokens_used: u64,
}

/// Whether a thinking block still grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingStatus {
    Thinking,
    Complete,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::json::{round_trip, words};

    #[test]
    fn a_whole_response_keeps_the_standards_names() {
        let response: Response = round_trip(&json!({
            "meta": {
                "requestId": "r",
                "provider": "ollama",
                "model": "qwen3:8b",
                "latencyMs": 12,
                "timestamp": 5,
                "perfStats": {
                    "loadDurationMs": 1,
                    "promptEvalDurationMs": 2,
                    "evalDurationMs": 3,
                    "tokensPerSecond": 4.5,
                },
            },
            "content": "hi",
            "reasoningContent": "hm",
            "structuredOutput": {"a": 1},
            "toolCalls": [{"id": "c", "name": "read_file", "args": {}, "iteration": 1, "timestamp": 5}],
            "usage": {
                "inputTokens": 1,
                "outputTokens": 2,
                "totalTokens": 3,
                "reasoningTokens": 4,
                "cacheHitTokens": 5,
                "cacheMissTokens": 6,
            },
            "finishReason": "tool_calls",
            "error": {"code": "unknown", "message": "m", "retryable": false},
            "providerState": {"signature": "x"},
        }));
        assert_eq!(response.finish_reason, FinishReason::ToolCalls);
    }

    #[test]
    fn what_a_provider_does_not_say_is_nothing_and_not_an_error() {
        let response: Response = serde_json::from_value(json!({
            "meta": {"requestId": "r", "provider": "p", "model": "m", "latencyMs": 0, "timestamp": 0},
            "finishReason": "stop",
        }))
        .unwrap();
        assert_eq!((response.usage, response.content.as_str()), (TokenUsage::default(), ""));
    }

    #[test]
    fn reasons_have_the_standards_words_and_an_unknown_one_is_a_stop() {
        words(&[
            ("stop", FinishReason::Stop),
            ("length", FinishReason::Length),
            ("tool_calls", FinishReason::ToolCalls),
            ("content_filter", FinishReason::ContentFilter),
            ("error", FinishReason::Error),
        ]);
        assert_eq!(serde_json::from_value::<FinishReason>(json!("network_blip")).unwrap(), FinishReason::Stop);
    }

    #[test]
    fn a_thinking_block_keeps_the_standards_names() {
        let thinking: Thinking =
            round_trip(&json!({"content": "hm", "status": "complete", "durationMs": 5, "tokensUsed": 7}));
        assert_eq!(thinking.status, ThinkingStatus::Complete);
        words(&[("thinking", ThinkingStatus::Thinking), ("complete", ThinkingStatus::Complete)]);
    }
}

//! What a server does not take: learnt from its own words, left out or written otherwise from then on, and remembered by
//! its address.

use serde::{Deserialize, Serialize};

use crate::provider::memory::{Memory, OPENAI, Subject};

/// Parts of a request that a server or a model refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Refused {
    /// `stream_options`.
    pub(super) stream_options: bool,
    /// The name that the limit on the answer had: it takes the other one.
    pub(super) max_tokens_name: bool,
    /// Both names of that limit.
    pub(super) max_tokens: bool,
    pub(super) temperature: bool,
    pub(super) top_p: bool,
    pub(super) stop: bool,
    pub(super) parallel_tool_calls: bool,
    pub(super) tool_stream: bool,
    /// The switch for thinking.
    pub(super) thinking: bool,
    /// A history without the model's thinking: it wants all of it back.
    pub(super) silent_history: bool,
    /// A history with the model's thinking.
    pub(super) reasoning_back: bool,
    /// A system message: its template knows none, or wants roles to alternate.
    pub(super) system_role: bool,
    /// The path with or without `v1`: it is at the other one.
    pub(super) path: bool,
}

impl Refused {
    /// What a refusal adds; `None` when it names nothing that could be done without, or what already was. `parameter` is
    /// what the server says was wrong, where it says so.
    pub(super) fn learn(self, status: u16, text: &str, parameter: &str) -> Option<Self> {
        let text = format!("{parameter} {text}").to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let mut learnt = self;
        // Templates break with status 500.
        if says(&["roles must alternate", "system role not supported", "system role is not supported"]) {
            learnt.system_role = true;
        } else if says(&["both content and thinking", "content and reasoning"]) {
            learnt.reasoning_back = true;
        } else if !matches!(status, 400 | 422) {
            return None;
        } else if says(&["reasoning_content", "reasoning content", "reasoning_details"]) {
            if says(&["must be passed", "missing", "required", "must not be empty"]) {
                learnt.silent_history = true;
            } else {
                learnt.reasoning_back = true;
            }
        } else if says(&["stream_options", "include_usage"]) {
            learnt.stream_options = true;
        } else if says(&["max_tokens", "max_completion_tokens"]) {
            if self.max_tokens_name {
                learnt.max_tokens = true;
            } else {
                learnt.max_tokens_name = true;
            }
        } else if says(&["parallel_tool_calls"]) {
            learnt.parallel_tool_calls = true;
        } else if says(&["tool_stream"]) {
            learnt.tool_stream = true;
        } else if says(&["temperature"]) {
            learnt.temperature = true;
        } else if says(&["top_p"]) {
            learnt.top_p = true;
        } else if says(&["reasoning", "thinking", "chat_template_kwargs"]) {
            learnt.thinking = true;
        } else if says(&["'stop'", "\"stop\"", "`stop`", "stop sequence"]) || parameter == "stop" {
            learnt.stop = true;
        }
        (learnt != self).then_some(learnt)
    }

    /// What holds for every model of a server.
    fn of_the_server(self) -> Self {
        Self {
            stream_options: self.stream_options,
            parallel_tool_calls: self.parallel_tool_calls,
            tool_stream: self.tool_stream,
            path: self.path,
            ..Self::default()
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            stream_options: self.stream_options || other.stream_options,
            max_tokens_name: self.max_tokens_name || other.max_tokens_name,
            max_tokens: self.max_tokens || other.max_tokens,
            temperature: self.temperature || other.temperature,
            top_p: self.top_p || other.top_p,
            stop: self.stop || other.stop,
            parallel_tool_calls: self.parallel_tool_calls || other.parallel_tool_calls,
            tool_stream: self.tool_stream || other.tool_stream,
            thinking: self.thinking || other.thinking,
            silent_history: self.silent_history || other.silent_history,
            reasoning_back: self.reasoning_back || other.reasoning_back,
            system_role: self.system_role || other.system_role,
            path: self.path || other.path,
        }
    }
}

/// What is known of a model at an address.
pub(super) async fn recall(memory: &Memory, address: &str, model: &str) -> Refused {
    let server: Refused = memory.of(&subject(address, "")).await;
    server.and(memory.of(&subject(address, model)).await)
}

/// Keeps what was learnt.
pub(super) async fn keep(memory: &Memory, address: &str, model: &str, refused: Refused) {
    memory.keep(subject(address, ""), &refused.of_the_server()).await;
    memory.keep(subject(address, model), &refused).await;
}

fn subject(address: &str, model: &str) -> Subject {
    Subject { format: OPENAI, address: address.to_owned(), model: model.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_leaves_one_part_out_and_none_is_learnt_twice() {
        let none = Refused::default();
        for (text, parameter, expected) in [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                "max_tokens",
                Refused { max_tokens_name: true, ..none },
            ),
            (
                "Unsupported value: 'temperature' does not support 0 with this model.",
                "temperature",
                Refused { temperature: true, ..none },
            ),
            ("extra_forbidden body stream_options include_usage", "", Refused { stream_options: true, ..none }),
            ("Unknown parameter", "parallel_tool_calls", Refused { parallel_tool_calls: true, ..none }),
            ("Unrecognized request argument supplied: reasoning_effort", "", Refused { thinking: true, ..none }),
            ("enable_thinking is not supported", "", Refused { thinking: true, ..none }),
            (
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
                "",
                Refused { silent_history: true, ..none },
            ),
            (
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index 4",
                "",
                Refused { silent_history: true, ..none },
            ),
            ("property 'messages.2.reasoning_content' is unsupported", "", Refused { reasoning_back: true, ..none }),
            ("Unsupported parameter", "stop", Refused { stop: true, ..none }),
        ] {
            assert_eq!(none.learn(400, text, parameter), Some(expected), "{text}");
            assert_eq!(none.learn(401, text, parameter), None, "{text}");
            let again = expected.learn(422, text, parameter);
            assert!(again.is_none() || again == Some(Refused { max_tokens: true, ..expected }), "{text}");
        }
        let alternate = "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...";
        assert_eq!(none.learn(500, alternate, ""), Some(Refused { system_role: true, ..none }));
        assert_eq!(none.learn(400, "model not found", "model"), None);
    }

    #[tokio::test]
    async fn what_a_server_refuses_holds_for_all_its_models_and_what_a_model_refuses_for_it_alone() {
        let memory = Memory::default();
        let learnt = Refused { stream_options: true, temperature: true, ..Refused::default() };
        keep(&memory, "http://a/", "one", learnt).await;
        assert_eq!(recall(&memory, "http://a/", "one").await, learnt);
        assert_eq!(recall(&memory, "http://a/", "two").await, Refused { temperature: false, ..learnt });
        assert_eq!(recall(&memory, "http://b/", "one").await, Refused::default());
    }
}

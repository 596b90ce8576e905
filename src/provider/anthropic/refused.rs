//! What a server does not take: learnt from its own words, left out from then on.

use serde::{Deserialize, Serialize};

/// Optional parts of a request that were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Refused {
    pub(super) temperature: bool,
    pub(super) top_p: bool,
    /// Thinking by a budget; the model sets its own.
    pub(super) budget: bool,
    /// Thinking of any kind.
    pub(super) thinking: bool,
    pub(super) cache_control: bool,
}

impl Refused {
    /// What a refusal adds; `None` when it names nothing that could be left out, or what already was.
    pub(super) fn learn(self, status: u16, text: &str) -> Option<Self> {
        if !matches!(status, 400 | 422) {
            return None;
        }
        let text = text.to_lowercase();
        let mut learnt = self;
        if text.contains("thinking") || text.contains("budget_tokens") || text.contains("output_config") {
            // A conversation whose signed thinking is wrong is another matter.
            if text.contains("signature") || text.contains("expected `thinking`") {
                return None;
            }
            if self.budget {
                learnt.thinking = true;
            } else {
                learnt.budget = true;
            }
        } else if text.contains("cache_control") {
            learnt.cache_control = true;
        } else if text.contains("temperature") {
            learnt.temperature = true;
        } else if text.contains("top_p") {
            learnt.top_p = true;
        }
        (learnt != self).then_some(learnt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_leaves_one_part_out_and_none_is_learnt_twice() {
        let none = Refused::default();
        let learnt = none.learn(400, "temperature may only be set to 1 for this model").unwrap();
        assert_eq!(learnt, Refused { temperature: true, ..none });
        assert_eq!(learnt.learn(400, "`temperature` is deprecated for this model"), None);
        let budget = none.learn(400, "thinking.type.enabled is not supported for this model").unwrap();
        assert_eq!(budget, Refused { budget: true, ..none });
        assert_eq!(
            budget.learn(422, "adaptive thinking is not supported on this model"),
            Some(Refused { budget: true, thinking: true, ..none })
        );
        assert_eq!(
            none.learn(400, "Extra inputs are not permitted: cache_control").map(|r| r.cache_control),
            Some(true)
        );
        assert_eq!(none.learn(400, "top_p must be at least 0.99").map(|r| r.top_p), Some(true));
        for (status, text) in [
            (429, "temperature"),
            (400, "messages: roles must alternate"),
            (400, "Invalid `signature` in `thinking` block"),
            (400, "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
        ] {
            assert_eq!(none.learn(status, text), None, "{text}");
        }
    }
}

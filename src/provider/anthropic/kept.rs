//! Signed thinking, kept with the message that it came in. It goes back exactly as it was and where it was, and only to the
//! model that made it: altered, moved or given to another model, it ruins the conversation; left out, it does not.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ir::Message;

/// The mark of this wire format in `providerState`.
const FORMAT: &str = "anthropic-messages";

/// What an answer was made of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    format: String,
    provider: String,
    model: String,
    pub(super) blocks: Vec<KeptBlock>,
}

/// One block, in the order of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeptBlock {
    /// A thinking block as it came.
    Thinking(Value),
    /// So many bytes of the message's text.
    Text(usize),
    /// The next of the message's calls.
    Call,
}

impl KeptBlock {
    fn is_text(&self) -> bool {
        matches!(self, Self::Text(bytes) if *bytes > 0)
    }
}

impl Kept {
    /// What is kept of an answer; nothing when no block of it has to go back, or when it could not go back as it was: the
    /// API takes no text behind a call.
    pub(super) fn state(provider: &str, model: &str, blocks: Vec<KeptBlock>) -> Option<Value> {
        let has_thinking = blocks.iter().any(|block| matches!(block, KeptBlock::Thinking(_)));
        let is_in_order = !blocks.iter().skip_while(|block| **block != KeptBlock::Call).any(KeptBlock::is_text);
        (has_thinking && is_in_order).then_some(())?;
        let kept = Self { format: FORMAT.into(), provider: provider.into(), model: model.into(), blocks };
        serde_json::to_value(kept).ok()
    }

    /// What was kept with a message, when this model of this provider made it and the message is still the same.
    pub(super) fn of(message: &Message, provider: &str, model: &str) -> Option<Self> {
        let kept = Self::deserialize(message.provider_state.as_ref()?).ok()?;
        let is_ours = kept.format == FORMAT && kept.provider == provider && kept.model == model;
        (is_ours && kept.fits(message)).then_some(kept)
    }

    fn fits(&self, message: &Message) -> bool {
        let mut end = 0_usize;
        let mut calls = 0;
        for block in &self.blocks {
            match block {
                KeptBlock::Thinking(_) => {}
                KeptBlock::Text(bytes) => {
                    end = end.saturating_add(*bytes);
                    if !message.content.is_char_boundary(end) {
                        return false;
                    }
                }
                KeptBlock::Call => calls += 1,
            }
        }
        end == message.content.len() && calls == message.calls().len()
    }

    /// Whether the answer began with thinking, as an answer in a tool loop with thinking must.
    pub(super) fn begins_with_thinking(&self) -> bool {
        matches!(self.blocks.first(), Some(KeptBlock::Thinking(_)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::{Role, UnixMs};

    #[test]
    fn thinking_goes_back_only_to_its_model_and_only_while_the_message_is_the_same() {
        let thinking = KeptBlock::Thinking(json!({"type": "thinking", "thinking": "", "signature": "s"}));
        let blocks = vec![thinking, KeptBlock::Text("你好".len())];
        let mut message = Message::text(Role::Assistant, "你好", UnixMs(0));
        message.provider_state = Kept::state("anthropic", "claude-a", blocks.clone());
        assert_eq!(Kept::of(&message, "anthropic", "claude-a").map(|kept| kept.blocks), Some(blocks));
        assert_eq!(Kept::of(&message, "anthropic", "claude-b"), None);
        assert_eq!(Kept::of(&message, "agnes-ai", "claude-a"), None);
        for edited in ["你好!", "你", "abcdefg", ""] {
            message.content = edited.into();
            assert_eq!(Kept::of(&message, "anthropic", "claude-a"), None, "{edited}");
        }
        message.provider_state = Some(json!({"signature": "of another format"}));
        assert_eq!(Kept::of(&message, "anthropic", "claude-a"), None);
    }

    #[test]
    fn nothing_is_kept_of_an_answer_without_signed_thinking() {
        assert_eq!(Kept::state("anthropic", "m", vec![KeptBlock::Text(3), KeptBlock::Call]), None);
        let thinking = KeptBlock::Thinking(json!({"type": "redacted_thinking", "data": "x"}));
        let behind = |bytes| vec![thinking.clone(), KeptBlock::Call, KeptBlock::Text(bytes)];
        assert_eq!(Kept::state("anthropic", "m", behind(3)), None);
        assert!(Kept::state("anthropic", "m", behind(0)).is_some());
    }
}

//! What a server wants back exactly as it came, kept with the message that it came in: reasoning details (OpenRouter) and
//! the extra content of calls (Gemini's signatures). It goes back only to the model that made it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ir::Message;

/// The mark of this wire format in `providerState`.
const FORMAT: &str = "openai-chat";

/// What is kept of an answer.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    format: String,
    provider: String,
    model: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) reasoning_details: Vec<Value>,
    /// By the place of the call in the message; null where it had none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) extra_content: Vec<Value>,
}

/// Who wrote a message.
#[derive(Debug, PartialEq)]
pub(super) enum Author {
    /// The model that is asked now.
    Same(Kept),
    /// Another model, another provider or another format.
    Other,
    /// It does not say.
    Unknown,
}

impl Kept {
    /// What is kept of an answer that thought or that has something to go back.
    pub(super) fn state(
        provider: &str,
        model: &str,
        reasoning_details: Vec<Value>,
        extra_content: Vec<Value>,
    ) -> Option<Value> {
        let extra_content = if extra_content.iter().all(Value::is_null) { Vec::new() } else { extra_content };
        let kept = Self {
            format: FORMAT.into(),
            provider: provider.into(),
            model: model.into(),
            reasoning_details,
            extra_content,
        };
        serde_json::to_value(kept).ok()
    }
}

impl Author {
    /// Who wrote `message`, seen from `model` of `provider`.
    pub(super) fn of(message: &Message, provider: &str, model: &str) -> Self {
        let Some(state) = &message.provider_state else { return Self::Unknown };
        match Kept::deserialize(state) {
            Ok(kept) if kept.format == FORMAT && kept.provider == provider && kept.model == model => Self::Same(kept),
            Ok(_) | Err(_) => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::{Role, UnixMs};

    #[test]
    fn what_was_kept_goes_back_only_to_the_model_that_made_it() {
        let mut message = Message::text(Role::Assistant, "", UnixMs(0));
        assert_eq!(Author::of(&message, "gemini", "pro"), Author::Unknown);
        let signature = json!({"google": {"thought_signature": "s"}});
        message.provider_state = Kept::state("gemini", "pro", Vec::new(), vec![Value::Null, signature.clone()]);
        let Author::Same(kept) = Author::of(&message, "gemini", "pro") else { panic!("it is its own") };
        assert_eq!(kept.extra_content, [Value::Null, signature]);
        assert_eq!(Author::of(&message, "gemini", "flash"), Author::Other);
        assert_eq!(Author::of(&message, "openrouter", "pro"), Author::Other);
        message.provider_state = Some(json!({"format": "anthropic-messages", "blocks": []}));
        assert_eq!(Author::of(&message, "gemini", "pro"), Author::Other);
    }
}

//! How many tokens a text will be, where no provider has counted yet. Right enough for Chinese and for English; a
//! provider's own count replaces it as soon as there is one.

use crate::ir::{Message, Request};

/// Hundredths of a token for one CJK character.
const CJK: u64 = 200;
/// Hundredths of a token for one word of an alphabet.
const WORD: u64 = 130;
/// Hundredths of a token for one character of a word too long to be one (base64, hashes, identifiers).
const LONG_WORD_CHARACTER: u64 = 25;
/// Hundredths of a token for one sign that is neither.
const SIGN: u64 = 50;
/// Tokens of one image, whatever its size: providers differ by a factor of ten.
const IMAGE: u64 = 1_000;
/// Tokens around each message: role, separators.
const ENVELOPE: u64 = 4;

/// Estimated tokens of a text.
pub fn estimate_text(text: &str) -> u64 {
    let mut hundredths = 0;
    let mut word = 0_u64;
    for character in text.chars() {
        if is_cjk(character) {
            hundredths += word_cost(word) + CJK;
            word = 0;
        } else if character.is_alphanumeric() || character == '\'' {
            word += 1;
        } else {
            hundredths += word_cost(word);
            word = 0;
            if !character.is_whitespace() {
                hundredths += SIGN;
            }
        }
    }
    (hundredths + word_cost(word)).div_ceil(100)
}

/// Estimated tokens of a message with everything that goes along.
pub fn estimate_message(message: &Message) -> u64 {
    let mut tokens = ENVELOPE + estimate_text(&message.content);
    for call in message.calls() {
        tokens += estimate_text(&call.name) + estimate_text(&call.args.to_string());
    }
    if let Some(result) = &message.tool_result {
        tokens += estimate_text(&result.for_model());
    }
    tokens + IMAGE * u64::try_from(message.images.as_ref().map_or(0, Vec::len)).unwrap_or(0)
}

/// Estimated tokens of a whole request.
pub fn estimate_request(request: &Request) -> u64 {
    let tools = request.tools.as_deref().unwrap_or_default().iter();
    let tools: u64 = tools
        .map(|tool| {
            estimate_text(&tool.name) + estimate_text(&tool.description) + estimate_text(&tool.parameters.to_string())
        })
        .sum();
    let messages: u64 = request.messages.iter().map(estimate_message).sum();
    estimate_text(&request.system_prompt.joined()) + tools + messages
}

fn word_cost(characters: u64) -> u64 {
    if characters == 0 { 0 } else { WORD.max(characters * LONG_WORD_CHARACTER) }
}

fn is_cjk(character: char) -> bool {
    matches!(u32::from(character),
        0x1100..=0x11FF | 0x2E80..=0x303E | 0x3041..=0x33FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF00..=0xFFEF | 0x2_0000..=0x3_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_english_word_is_about_1_3_tokens() {
        assert_eq!(estimate_text(""), 0);
        assert_eq!(estimate_text("the quick brown fox jumps over the lazy dog and runs"), 15);
    }

    #[test]
    fn a_chinese_character_is_about_2_tokens() {
        assert_eq!(estimate_text("你好世界"), 8);
        assert_eq!(estimate_text("读取 README 文件"), 10);
    }

    #[test]
    fn a_long_run_without_spaces_is_not_one_word() {
        assert_eq!(estimate_text(&"a".repeat(4_000)), 1_000);
    }
}

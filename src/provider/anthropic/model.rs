//! What is known of a model by its name alone, for servers that do not say: how much it writes, what it refuses.

use crate::ir::Support;

/// Longest answer that is asked for when nobody says how long, in tokens.
const USUAL_OUTPUT: u32 = 32_000;

/// One model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// Tokens; 0 when unknown.
    pub(super) context_window: u64,
    /// Longest answer, in tokens.
    pub(super) max_output: u32,
    pub(super) thinking: Support,
    pub(super) images: Support,
    /// Whether it takes a temperature other than 1.
    pub(super) takes_temperature: bool,
}

impl Known {
    /// Tokens to ask for when the person sets no limit: the API wants a number.
    pub(super) fn usual_output(self) -> u32 {
        self.max_output.min(USUAL_OUTPUT)
    }
}

/// What the name says. Claude's names carry family and version in either order: `claude-3-5-haiku-20241022`,
/// `claude-opus-4-6`, `anthropic/claude-sonnet-4.5`.
pub(super) fn known(model: &str) -> Known {
    let name = model.to_ascii_lowercase();
    if !name.contains("claude") {
        // Agnes and others behind this format.
        return Known {
            context_window: 0,
            max_output: if name.contains("agnes") { USUAL_OUTPUT } else { 8_192 },
            thinking: if name.contains("agnes") { Support::Yes } else { Support::Unknown },
            images: if name.contains("agnes") { Support::Yes } else { Support::Unknown },
            takes_temperature: true,
        };
    }
    let version = version(&name);
    let max_output = match version {
        (0..=2, _) | (3, 0) => 4_096,
        (3, 1..=6) => 8_192,
        (4, 0..=1) if name.contains("opus") => 32_000,
        (3, _) | (4, 0..=5) => 64_000,
        (4.., _) => 128_000,
    };
    Known {
        context_window: 200_000,
        max_output,
        thinking: if version >= (3, 7) { Support::Yes } else { Support::No },
        images: if version >= (3, 0) { Support::Yes } else { Support::No },
        // The models after Opus 4.6 refuse it.
        takes_temperature: version <= (4, 6),
    }
}

/// Major and minor; a name without a version is an alias of something new.
fn version(name: &str) -> (u32, u32) {
    let mut numbers = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        // Dates have eight digits.
        .filter(|part| part.len() <= 2)
        .filter_map(|part| part.parse::<u32>().ok());
    let major = numbers.next().unwrap_or(4);
    (major, numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_longest_answer_and_what_the_model_takes() {
        for (model, max_output, thinking, takes_temperature) in [
            ("claude-3-haiku-20240307", 4_096, Support::No, true),
            ("claude-3-5-haiku-20241022", 8_192, Support::No, true),
            ("claude-3-7-sonnet-latest", 64_000, Support::Yes, true),
            ("claude-opus-4-1-20250805", 32_000, Support::Yes, true),
            ("claude-opus-4-20250514", 32_000, Support::Yes, true),
            ("claude-sonnet-4-5-20250929", 64_000, Support::Yes, true),
            ("anthropic/claude-opus-4.6", 128_000, Support::Yes, true),
            ("claude-opus-4-7", 128_000, Support::Yes, false),
            ("claude-sonnet-5", 128_000, Support::Yes, false),
            ("agnes-2.0-flash", 32_000, Support::Yes, true),
            ("glm-9", 8_192, Support::Unknown, true),
        ] {
            let known = known(model);
            assert_eq!(
                (known.max_output, known.thinking, known.takes_temperature),
                (max_output, thinking, takes_temperature),
                "{model}"
            );
        }
        assert_eq!(known("claude-opus-4-7").usual_output(), 32_000);
        assert_eq!(known("claude-3-haiku-20240307").usual_output(), 4_096);
    }
}

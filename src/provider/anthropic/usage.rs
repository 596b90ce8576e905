//! Tokens as the API counts them: each number is for the whole answer, so a later one replaces an earlier one.

use super::wire::UsageIn;
use crate::ir::TokenUsage;

/// Counts so far.
#[derive(Debug, Default)]
pub(super) struct Usage {
    is_known: bool,
    input: u64,
    cache_written: u64,
    cache_read: u64,
    output: u64,
}

impl Usage {
    /// Takes newer counts in. Gateways send zeros where they know nothing, which replace nothing.
    pub(super) fn add(&mut self, newer: Option<UsageIn>) {
        let Some(newer) = newer else { return };
        self.is_known = true;
        for (count, new) in [
            (&mut self.input, newer.input_tokens),
            (&mut self.cache_written, newer.cache_creation_input_tokens),
            (&mut self.cache_read, newer.cache_read_input_tokens),
            (&mut self.output, newer.output_tokens),
        ] {
            if let Some(new) = new.map(whole).filter(|new| *new > 0) {
                *count = new;
            }
        }
    }

    /// The IR's counts: the whole prompt is what was new, what was written to the cache and what was read from it.
    pub(super) fn total(&self) -> Option<TokenUsage> {
        let miss = self.input.saturating_add(self.cache_written);
        let input = miss.saturating_add(self.cache_read);
        let is_cached = self.cache_read > 0 || self.cache_written > 0;
        self.is_known.then(|| TokenUsage {
            input_tokens: input,
            output_tokens: self.output,
            total_tokens: input.saturating_add(self.output),
            reasoning_tokens: None,
            cache_hit_tokens: is_cached.then_some(self.cache_read),
            cache_miss_tokens: is_cached.then_some(miss),
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates at both ends")]
fn whole(count: f64) -> u64 {
    count as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_counts_replace_earlier_ones_and_the_cache_belongs_to_the_prompt() {
        let mut usage = Usage::default();
        assert_eq!(usage.total(), None);
        usage.add(Some(UsageIn {
            input_tokens: Some(10.0),
            cache_creation_input_tokens: Some(100.0),
            cache_read_input_tokens: Some(1_000.0),
            output_tokens: Some(1.0),
        }));
        usage.add(Some(UsageIn { input_tokens: Some(0.0), output_tokens: Some(25.0), ..UsageIn::default() }));
        usage.add(None);
        let expected = TokenUsage {
            input_tokens: 1_110,
            output_tokens: 25,
            total_tokens: 1_135,
            reasoning_tokens: None,
            cache_hit_tokens: Some(1_000),
            cache_miss_tokens: Some(110),
        };
        assert_eq!(usage.total(), Some(expected));
    }
}

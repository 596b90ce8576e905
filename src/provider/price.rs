//! What models cost where their vendors do not say it in their lists: the prices of the vendors' own pages (`PAGES`) as
//! of `AS_OF`. An estimate: the person's own prices go before these, and the vendor's bill before everything. A model that
//! is not here by its own name has no price, rather than that of a relative.

use crate::ir::Pricing;

/// The date of the table.
const AS_OF: &str = "2025-10-15";

/// Dollars per million tokens.
struct Row {
    /// The preset.
    vendor: &'static str,
    /// The model's name, without the date of its snapshot.
    model: &'static str,
    input: f64,
    cached: Option<f64>,
    output: f64,
}

const fn row(vendor: &'static str, model: &'static str, input: f64, cached: f64, output: f64) -> Row {
    Row { vendor, model, input, cached: Some(cached), output }
}

const TABLE: &[Row] = &[
    row("openai", "gpt-5", 1.25, 0.125, 10.0),
    row("openai", "gpt-5-mini", 0.25, 0.025, 2.0),
    row("openai", "gpt-5-nano", 0.05, 0.005, 0.4),
    row("openai", "gpt-4.1", 2.0, 0.5, 8.0),
    row("openai", "gpt-4.1-mini", 0.4, 0.1, 1.6),
    row("openai", "gpt-4.1-nano", 0.1, 0.025, 0.4),
    row("openai", "gpt-4o", 2.5, 1.25, 10.0),
    row("openai", "gpt-4o-mini", 0.15, 0.075, 0.6),
    row("openai", "o3", 2.0, 0.5, 8.0),
    row("openai", "o4-mini", 1.1, 0.275, 4.4),
    row("anthropic", "claude-opus-4", 15.0, 1.5, 75.0),
    row("anthropic", "claude-opus-4-1", 15.0, 1.5, 75.0),
    row("anthropic", "claude-sonnet-4", 3.0, 0.3, 15.0),
    row("anthropic", "claude-sonnet-4-5", 3.0, 0.3, 15.0),
    row("anthropic", "claude-3-7-sonnet", 3.0, 0.3, 15.0),
    row("anthropic", "claude-3-5-sonnet", 3.0, 0.3, 15.0),
    row("anthropic", "claude-3-5-haiku", 0.8, 0.08, 4.0),
    row("anthropic", "claude-haiku-4-5", 1.0, 0.1, 5.0),
    row("deepseek", "deepseek-chat", 0.28, 0.028, 0.42),
    row("deepseek", "deepseek-reasoner", 0.28, 0.028, 0.42),
    row("gemini", "gemini-2.5-pro", 1.25, 0.31, 10.0),
    row("gemini", "gemini-2.5-flash", 0.3, 0.075, 2.5),
    row("gemini", "gemini-2.5-flash-lite", 0.1, 0.025, 0.4),
    Row { vendor: "mistral", model: "mistral-large", input: 2.0, cached: None, output: 6.0 },
    Row { vendor: "mistral", model: "mistral-medium", input: 0.4, cached: None, output: 2.0 },
    Row { vendor: "mistral", model: "mistral-small", input: 0.1, cached: None, output: 0.3 },
];

/// The pages that the prices come from.
const PAGES: &[(&str, &str)] = &[
    ("openai", "openai.com/api/pricing"),
    ("anthropic", "anthropic.com/pricing"),
    ("deepseek", "api-docs.deepseek.com/quick_start/pricing"),
    ("gemini", "ai.google.dev/gemini-api/docs/pricing"),
    ("mistral", "mistral.ai/pricing"),
];

impl Row {
    /// Where the price was published.
    fn page(&self) -> Option<&'static str> {
        PAGES.iter().find(|(vendor, _)| *vendor == self.vendor).map(|(_, page)| *page)
    }

    fn names(&self, model: &str) -> bool {
        model.strip_prefix(self.model).is_some_and(|rest| rest.is_empty() || rest == "-latest" || is_date(rest))
    }
}

/// Whether the end of a name is the date of a snapshot: `-20250929`, `-2025-04-14`, `-2411`. A version (`-4-5`) is not.
fn is_date(rest: &str) -> bool {
    let Some(digits) = rest.strip_prefix('-') else { return false };
    let mut parts = digits.split('-');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.next().is_some_and(|first| first.len() >= 4 && is_number(first)) && parts.all(is_number)
}

/// What a vendor's model costs, as far as it is known.
pub fn known(vendor: &str, model: &str) -> Option<Pricing> {
    let name = model.trim_start_matches("models/");
    let row = TABLE.iter().find(|row| row.vendor == vendor && row.names(name))?;
    Some(Pricing {
        input_per_million: row.input,
        output_per_million: row.output,
        cached_input_per_million: row.cached,
        currency: "USD".to_owned(),
        source: row.page().map(|page| format!("{page}, {AS_OF}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_for_the_model_of_that_name_and_not_for_its_relatives() {
        let input = |vendor, model| known(vendor, model).map(|price| price.input_per_million);
        assert_eq!(input("openai", "gpt-4.1-mini-2025-04-14"), Some(0.4));
        assert_eq!(input("openai", "gpt-4.1"), Some(2.0));
        assert_eq!(input("anthropic", "claude-sonnet-4-5-20250929"), Some(3.0));
        assert_eq!(input("anthropic", "claude-3-5-haiku-latest"), Some(0.8));
        assert_eq!(input("mistral", "mistral-large-2411"), Some(2.0));
        assert_eq!(input("gemini", "models/gemini-2.5-flash-lite"), Some(0.1));
        for (vendor, model) in [
            ("openrouter", "gpt-4.1"),
            ("openai", "text-embedding-3-small"),
            ("openai", "gpt-5-pro"),
            ("openai", "o3-mini"),
            ("openai", "gpt-4o-audio-preview"),
            ("anthropic", "claude-opus-4-5"),
            ("deepseek", "deepseek-v4-pro"),
        ] {
            assert_eq!(input(vendor, model), None, "{model}");
        }
    }

    #[test]
    fn every_row_names_a_preset_and_has_a_page() {
        assert!(TABLE.iter().all(|row| crate::provider::preset(row.vendor).is_some() && row.page().is_some()));
        let source = known("openai", "gpt-4.1").unwrap().source;
        assert_eq!(source.as_deref(), Some("openai.com/api/pricing, 2025-10-15"));
    }
}

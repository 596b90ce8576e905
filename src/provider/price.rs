//! What models cost where their vendors do not say it in their lists: published prices, as of [`AS_OF`]. The person's own
//! prices go before these, and the vendor's bill before everything.

use crate::ir::Pricing;

/// The date of the table.
pub const AS_OF: &str = "2025-10-01";

/// Dollars per million tokens.
struct Row {
    /// The preset.
    vendor: &'static str,
    /// How the model's name begins; the longest beginning that fits counts.
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
    row("anthropic", "claude-sonnet-4", 3.0, 0.3, 15.0),
    row("anthropic", "claude-3-7-sonnet", 3.0, 0.3, 15.0),
    row("anthropic", "claude-3-5-sonnet", 3.0, 0.3, 15.0),
    row("anthropic", "claude-3-5-haiku", 0.8, 0.08, 4.0),
    row("anthropic", "claude-haiku-4", 1.0, 0.1, 5.0),
    row("deepseek", "deepseek-", 0.28, 0.028, 0.42),
    row("gemini", "gemini-2.5-pro", 1.25, 0.31, 10.0),
    row("gemini", "gemini-2.5-flash", 0.3, 0.075, 2.5),
    row("gemini", "gemini-2.5-flash-lite", 0.1, 0.025, 0.4),
    Row { vendor: "mistral", model: "mistral-large", input: 2.0, cached: None, output: 6.0 },
    Row { vendor: "mistral", model: "mistral-medium", input: 0.4, cached: None, output: 2.0 },
    Row { vendor: "mistral", model: "mistral-small", input: 0.1, cached: None, output: 0.3 },
];

/// What a vendor's model costs, as far as it is known.
pub fn known(vendor: &str, model: &str) -> Option<Pricing> {
    let name = model.trim_start_matches("models/");
    let rows = TABLE.iter().filter(|row| row.vendor == vendor && name.starts_with(row.model));
    let row = rows.max_by_key(|row| row.model.len())?;
    Some(Pricing {
        input_per_million: row.input,
        output_per_million: row.output,
        cached_input_per_million: row.cached,
        currency: "USD".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_a_name_counts_and_other_vendors_names_do_not() {
        let input = |vendor, model| known(vendor, model).map(|price| price.input_per_million);
        assert_eq!(input("openai", "gpt-4.1-mini-2025-04-14"), Some(0.4));
        assert_eq!(input("openai", "gpt-4.1"), Some(2.0));
        assert_eq!(input("gemini", "models/gemini-2.5-flash-lite"), Some(0.1));
        assert_eq!(input("openrouter", "gpt-4.1"), None);
        assert_eq!(input("openai", "text-embedding-3-small"), None);
    }

    #[test]
    fn every_row_names_a_preset() {
        assert!(TABLE.iter().all(|row| crate::provider::preset(row.vendor).is_some()));
    }
}

//! What a provider says of a model.

use serde::{Deserialize, Serialize};

use super::TokenUsage;

/// One model that a provider offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub id: String,
    pub provider_id: String,
    pub display_name: String,
    /// Tokens; 0 when the provider does not say.
    pub context_window: u64,
    /// Tokens; 0 when the provider does not say.
    pub max_output: u64,
    pub supports_streaming: bool,
    pub supports_thinking: Support,
    pub supports_images: Support,
    pub supports_tool_calling: Support,
    pub supports_structured_output: Support,
    /// Whether its server says that it runs on another machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_elsewhere: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
}

/// Whether a model can do something. A server that does not say is not a "no".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Support {
    Yes,
    No,
    #[default]
    Unknown,
}

/// Money per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pricing {
    pub input_per_million: f64,
    pub output_per_million: f64,
    /// Input that the provider had in its cache; as other input when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_per_million: Option<f64>,
    /// ISO 4217.
    pub currency: String,
    /// Where it was published and when, where it is known from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Pricing {
    /// What these tokens cost.
    pub fn cost(&self, usage: &TokenUsage) -> Cost {
        let cached = usage.cache_hit_tokens.unwrap_or(0).min(usage.input_tokens);
        let cached_price = self.cached_input_per_million.unwrap_or(self.input_per_million);
        let input = (usage.input_tokens - cached) as f64 * self.input_per_million + cached as f64 * cached_price;
        let output = usage.output_tokens as f64 * self.output_per_million;
        Cost { amount: (input + output) / 1e6, currency: self.currency.clone() }
    }
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub amount: f64,
    /// ISO 4217.
    pub currency: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::json::round_trip;

    #[test]
    fn a_model_keeps_the_standards_names() {
        let model: ModelInfo = round_trip(&json!({
            "id": "qwen3:8b",
            "providerId": "ollama",
            "displayName": "qwen3:8b (8.2B)",
            "contextWindow": 40_960,
            "maxOutput": 0,
            "supportsStreaming": true,
            "supportsThinking": "yes",
            "supportsImages": "no",
            "supportsToolCalling": "unknown",
            "supportsStructuredOutput": "yes",
            "pricing": {"inputPerMillion": 0.25, "outputPerMillion": 1.0, "currency": "USD"},
        }));
        assert_eq!(model.supports_tool_calling, Support::Unknown);
    }

    #[test]
    fn cached_input_costs_what_the_price_says_of_it() {
        let usage = TokenUsage {
            input_tokens: 1_000_000,
            output_tokens: 500_000,
            cache_hit_tokens: Some(400_000),
            ..TokenUsage::default()
        };
        let mut price = Pricing {
            input_per_million: 2.0,
            output_per_million: 8.0,
            cached_input_per_million: Some(0.5),
            currency: "USD".into(),
            source: None,
        };
        assert_eq!(price.cost(&usage), Cost { amount: 5.4, currency: "USD".into() });
        price.cached_input_per_million = None;
        assert_eq!(price.cost(&usage), Cost { amount: 6.0, currency: "USD".into() });
    }
}

//! A request of the IR to the API's JSON. Pure.

use std::borrow::Cow;

use serde_json::json;

use super::history::{Asked, Encoded, encode};
use super::kept::Kept;
use super::model::Known;
use super::refused::Refused;
use super::wire::{CacheControl, MessagesRequest, OutputConfig, SystemBlock, ThinkingOut, ToolChoice, ToolOut};
use crate::ir::{Error, ErrorCode, GenerationParams, Message, Request, Role, ThinkingEffort};
use crate::provider::history::valid_history;
use crate::provider::tool_name::ToolNames;

/// The API takes no smaller budget for thinking, in tokens.
const SMALLEST_BUDGET: u32 = 1_024;
/// Room for the answer itself behind the thinking, in tokens.
const ROOM_TO_ANSWER: u32 = 4_096;

/// What a request needs beside itself.
pub(super) struct Encoding<'a> {
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) known: Known,
    pub(super) stream: bool,
    pub(super) signed_thinking: SignedThinking,
    /// What this server does not take.
    pub(super) refused: Refused,
}

/// Whether a tool loop must go on with the thinking that it began with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignedThinking {
    /// Anthropic: a loop that another model began cannot be gone on with while thinking.
    Needed,
    /// Agnes.
    Unneeded,
}

/// The body of `POST v1/messages`.
pub(super) fn messages(request: &Request, with: &Encoding<'_>) -> Result<Vec<u8>, Error> {
    let names = ToolNames::of(request);
    let history = valid_history(&request.messages);
    let asked = Asked { provider: with.provider, model: with.model };
    let encoded = encode(&history, &names, asked);
    let params = &request.params;
    let is_loop_signed = with.signed_thinking == SignedThinking::Unneeded || is_loop_signed(&history, asked);
    let wanted = if is_loop_signed { budget(params) } else { Budget::Unsaid };
    let (max_tokens, thinking) = with.thinking(params, wanted);
    let thinks = thinking.is_some_and(|thinking| thinking != ThinkingOut::Disabled);
    // While it thinks, the API takes no temperature but 1 and no narrow nucleus.
    let samples = !thinks && with.known.takes_temperature;
    let (tools, tool_choice) = tools(request, &names, &encoded, with);
    let body = MessagesRequest {
        model: with.model,
        max_tokens,
        system: system(request, &history, with),
        messages: encoded.messages,
        tools,
        tool_choice,
        thinking,
        output_config: (thinking == Some(ThinkingOut::Adaptive))
            .then(|| OutputConfig { effort: effort(params.thinking_effort) }),
        temperature: (samples && !with.refused.temperature)
            .then(|| params.temperature.or_else(|| params.top_p.is_none().then_some(0.0)))
            .flatten(),
        // One of the two steers sampling, never both: newer models refuse that.
        top_p: params.top_p.filter(|_| samples && !with.refused.top_p && params.temperature.is_none()),
        stop_sequences: params.stop_sequences.as_deref().unwrap_or_default(),
        stream: with.stream,
    };
    serde_json::to_vec(&body)
        .map_err(|error| Error::new(ErrorCode::Unknown, format!("The request cannot be written as JSON: {error}.")))
}

/// The static parts first, marked for the cache; what changes behind them.
fn system(request: &Request, history: &[Cow<'_, Message>], with: &Encoding<'_>) -> Vec<SystemBlock> {
    let mut fixed = request.system_prompt.clone();
    let dynamic = fixed.dynamic_reminders.take().unwrap_or_default();
    let block = |text: String, cache_control| SystemBlock { kind: "text", text, cache_control };
    let mut blocks = Vec::new();
    let fixed = fixed.joined();
    if !fixed.is_empty() {
        blocks.push(block(fixed, with.cached()));
    }
    let said = history.iter().take_while(|message| message.role == Role::System).map(|message| message.content.clone());
    blocks.extend(
        std::iter::once(dynamic).chain(said).filter(|text| !text.trim().is_empty()).map(|text| block(text, None)),
    );
    blocks
}

/// The tools on offer; where calls stand in the history and none is, those that were called, not to be called again.
fn tools<'a>(
    request: &'a Request,
    names: &ToolNames<'a>,
    encoded: &Encoded<'_>,
    with: &Encoding<'_>,
) -> (Vec<ToolOut<'a>>, Option<ToolChoice>) {
    let defined = |own: &str| request.tools.iter().flatten().find(|tool| tool.name == own);
    let mut tools: Vec<ToolOut<'a>> = names
        .pairs()
        .filter_map(|(own, wire)| defined(own).map(|tool| (wire, tool)))
        .map(|(wire, tool)| ToolOut {
            name: Cow::Owned(wire.to_owned()),
            description: &tool.description,
            input_schema: Cow::Borrowed(&tool.parameters),
            cache_control: None,
        })
        .collect();
    let mut choice = None;
    if tools.is_empty() && encoded.has_calls {
        tools.extend(encoded.called.iter().map(|name| ToolOut {
            name: Cow::Owned(name.clone()),
            description: "Not available any more.",
            input_schema: Cow::Owned(json!({"type": "object"})),
            cache_control: None,
        }));
        choice = Some(ToolChoice { kind: "none" });
    }
    if let Some(last) = tools.last_mut() {
        last.cache_control = with.cached();
    }
    (tools, choice)
}

/// Whether the tool loop that is under way began with thinking that can go back. Without a loop nothing has to.
fn is_loop_signed(history: &[Cow<'_, Message>], asked: Asked<'_>) -> bool {
    let start = history.iter().rposition(|message| message.role == Role::User).map_or(0, |index| index + 1);
    let first = history.iter().skip(start).find(|message| message.role == Role::Assistant);
    first.is_none_or(|message| {
        Kept::of(message, asked.provider, asked.model).is_some_and(|kept| kept.begins_with_thinking())
    })
}

/// How much thinking is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Budget {
    /// The model's own default.
    Unsaid,
    Off,
    Tokens(u32),
}

fn budget(params: &GenerationParams) -> Budget {
    match (params.thinking_enabled, params.thinking_effort) {
        (None, None) => Budget::Unsaid,
        (Some(false), _) => Budget::Off,
        (_, Some(ThinkingEffort::Low)) => Budget::Tokens(1_024),
        (_, Some(ThinkingEffort::Medium)) | (Some(true), None) => Budget::Tokens(2_048),
        (_, Some(ThinkingEffort::High)) => Budget::Tokens(4_096),
        (_, Some(ThinkingEffort::Max)) => Budget::Tokens(8_192),
    }
}

/// For models that set their budget themselves.
fn effort(effort: Option<ThinkingEffort>) -> &'static str {
    match effort {
        Some(ThinkingEffort::Low) => "low",
        Some(ThinkingEffort::Medium) | None => "medium",
        Some(ThinkingEffort::High) => "high",
        Some(ThinkingEffort::Max) => "max",
    }
}

impl Encoding<'_> {
    fn cached(&self) -> Option<CacheControl> {
        (!self.refused.cache_control).then_some(CacheControl { kind: "ephemeral" })
    }

    /// The longest answer, and how it thinks. The budget is always smaller than the answer; where the person's own limit
    /// leaves no room for the smallest budget, there is no thinking.
    fn thinking(&self, params: &GenerationParams, wanted: Budget) -> (u32, Option<ThinkingOut>) {
        let usual = params.max_tokens.unwrap_or_else(|| self.known.usual_output());
        let budget = match wanted {
            // Agnes thinks unless it is told not to; for Anthropic silence is off.
            Budget::Off if self.signed_thinking == SignedThinking::Unneeded && !self.refused.thinking => {
                return (usual, Some(ThinkingOut::Disabled));
            }
            Budget::Tokens(budget) if !self.refused.thinking => budget,
            Budget::Unsaid | Budget::Off | Budget::Tokens(_) => return (usual, None),
        };
        if self.refused.budget {
            return (usual, Some(ThinkingOut::Adaptive));
        }
        let max_tokens = params.max_tokens.unwrap_or_else(|| usual.max(budget.saturating_add(ROOM_TO_ANSWER)));
        let budget_tokens = budget.min(max_tokens.saturating_sub(1));
        (max_tokens, (budget_tokens >= SMALLEST_BUDGET).then_some(ThinkingOut::Enabled { budget_tokens }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::anthropic::model::known;

    fn thinking(model: &str, params: &GenerationParams, refused: Refused) -> (u32, Option<ThinkingOut>) {
        let signed_thinking = if model.contains("agnes") { SignedThinking::Unneeded } else { SignedThinking::Needed };
        let with = Encoding { provider: "p", model, known: known(model), stream: true, signed_thinking, refused };
        with.thinking(params, budget(params))
    }

    fn effort(effort: ThinkingEffort) -> GenerationParams {
        GenerationParams { thinking_enabled: Some(true), thinking_effort: Some(effort), ..GenerationParams::default() }
    }

    #[test]
    fn an_effort_is_a_budget_below_the_longest_answer() {
        let enabled = |budget_tokens| Some(ThinkingOut::Enabled { budget_tokens });
        let none = Refused::default();
        for (level, budget) in [
            (ThinkingEffort::Low, 1_024),
            (ThinkingEffort::Medium, 2_048),
            (ThinkingEffort::High, 4_096),
            (ThinkingEffort::Max, 8_192),
        ] {
            assert_eq!(thinking("claude-opus-4-6", &effort(level), none), (32_000, enabled(budget)));
            assert_eq!(thinking("agnes-2.0-flash", &effort(level), none), (32_000, enabled(budget)));
        }
        // A server whose usual answer is short gets a longer one.
        assert_eq!(thinking("glm-9", &effort(ThinkingEffort::Max), none), (12_288, enabled(8_192)));
        let limited = |max_tokens| GenerationParams { max_tokens: Some(max_tokens), ..effort(ThinkingEffort::Max) };
        assert_eq!(thinking("claude-opus-4-6", &limited(2_000), none), (2_000, enabled(1_999)));
        assert_eq!(thinking("claude-opus-4-6", &limited(1_024), none), (1_024, None));
    }

    #[test]
    fn off_is_said_only_where_silence_is_not_off_and_a_refusal_is_heard() {
        let off = || GenerationParams { thinking_enabled: Some(false), ..GenerationParams::default() };
        assert_eq!(thinking("claude-opus-4-6", &off(), Refused::default()), (32_000, None));
        assert_eq!(thinking("agnes-2.0-flash", &off(), Refused::default()), (32_000, Some(ThinkingOut::Disabled)));
        let refused = Refused { budget: true, ..Refused::default() };
        let high = || effort(ThinkingEffort::High);
        assert_eq!(thinking("claude-opus-4-6", &high(), refused), (32_000, Some(ThinkingOut::Adaptive)));
        let refused = Refused { thinking: true, ..refused };
        assert_eq!(thinking("claude-opus-4-6", &high(), refused), (32_000, None));
    }
}

//! How the vendors of OpenAI's format differ: one row each. A vendor is added here and in `preset`; no other code names one.

use url::Url;

use super::wire::{Reasoning, TemplateArguments, ThinkingFields, ThinkingSwitch};
use crate::ir::{GenerationParams, ThinkingEffort};

/// A vendor's habits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    /// The id of its preset.
    pub(super) id: &'static str,
    /// Hosts that are its own: a person who types its address gets its habits.
    pub(super) hosts: &'static [&'static str],
    /// What stands before `chat/completions` when an address names only the host.
    pub(super) usual_path: &'static str,
    pub(super) auth: Auth,
    pub(super) thinking: Thinking,
    pub(super) reasoning_back: ReasoningBack,
    /// Models that think take other parameters, and are known by these beginnings of their names.
    pub(super) reasoning_models: &'static [&'static str],
    pub(super) max_tokens: MaxTokens,
    /// Counts at the end of a stream have to be asked for.
    pub(super) stream_options: bool,
    /// Arguments of calls stream only when asked for.
    pub(super) tool_stream: bool,
    /// Several calls at once have to be asked for.
    pub(super) parallel_tool_calls: Option<bool>,
    pub(super) call_ids: CallIdForm,
    /// What stands for no text beside calls.
    pub(super) no_text: NoText,
    /// Where more is said of models than in the usual list.
    pub(super) details: Details,
}

/// The header that carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Auth {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `api-key: …`.
    ApiKey,
}

/// How thinking is switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    /// `thinking: {type}` and `reasoning_effort` of high or max.
    DeepSeek,
    /// `chat_template_kwargs: {enable_thinking}`, and not for a low effort.
    TemplateFromMedium,
    /// `chat_template_kwargs: {enable_thinking}`, under the names of several templates.
    Template,
    /// `reasoning_effort`, with none for off.
    Effort,
    /// `reasoning_effort` of none or high.
    EffortOrNone,
    /// `reasoning: {effort}` or `{enabled}`.
    Reasoning,
    /// `enable_thinking` and `thinking_budget`.
    Budget,
    /// `thinking: {type}` alone.
    Switch,
    /// `thinking: {type, clear_thinking: false}`: earlier thinking counts.
    SwitchKeeping,
}

/// Which thinking goes back to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReasoningBack {
    /// None.
    Never,
    /// `reasoning_details`, as they came, to the model that made them.
    Details,
    /// `reasoning_content` of the tool loop that the model is in.
    ToolLoop,
    /// `reasoning_content` of every turn that called tools; empty where it is not known.
    ToolTurns,
    /// The same, and never empty.
    ToolTurnsNotEmpty,
}

/// The name of the limit on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaxTokens {
    /// `max_tokens`.
    Plain,
    /// `max_completion_tokens`.
    Completion,
}

/// Which ids of calls are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallIdForm {
    /// Letters, digits, `_` and `-`, at most 40.
    Usual,
    /// Nine letters and digits.
    Nine,
}

/// What stands for no text beside calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoText {
    Null,
    /// Templates that write null out as a word take an empty text.
    Empty,
}

/// Where more is said of models than in the usual list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Details {
    None,
    /// LM Studio's `/api/v1/models`.
    LmStudio,
    /// llama.cpp's `/props`.
    LlamaCpp,
}

/// What most servers do; the row of an unknown one.
const USUAL: Dialect = Dialect {
    id: "openai-compatible",
    hosts: &[],
    usual_path: "v1",
    auth: Auth::Bearer,
    thinking: Thinking::Effort,
    reasoning_back: ReasoningBack::Never,
    reasoning_models: &["o1", "o3", "o4-", "gpt-5"],
    max_tokens: MaxTokens::Plain,
    stream_options: true,
    tool_stream: false,
    parallel_tool_calls: None,
    call_ids: CallIdForm::Usual,
    no_text: NoText::Null,
    details: Details::None,
};

const DIALECTS: &[Dialect] = &[
    Dialect {
        id: "deepseek",
        hosts: &["deepseek.com"],
        usual_path: "",
        thinking: Thinking::DeepSeek,
        reasoning_back: ReasoningBack::ToolTurns,
        ..USUAL
    },
    Dialect { id: "agnes-ai", hosts: &["agnes-ai.com"], thinking: Thinking::TemplateFromMedium, ..USUAL },
    Dialect { id: "openai", hosts: &["openai.com"], max_tokens: MaxTokens::Completion, ..USUAL },
    Dialect {
        id: "openrouter",
        hosts: &["openrouter.ai"],
        usual_path: "api/v1",
        thinking: Thinking::Reasoning,
        reasoning_back: ReasoningBack::Details,
        // It knows itself which model takes what.
        reasoning_models: &[],
        ..USUAL
    },
    Dialect { id: "gemini", hosts: &["googleapis.com"], usual_path: "v1beta/openai", reasoning_models: &[], ..USUAL },
    Dialect {
        id: "mistral",
        hosts: &["mistral.ai"],
        thinking: Thinking::EffortOrNone,
        stream_options: false,
        call_ids: CallIdForm::Nine,
        no_text: NoText::Empty,
        ..USUAL
    },
    Dialect {
        id: "qwen",
        hosts: &["aliyuncs.com"],
        usual_path: "compatible-mode/v1",
        thinking: Thinking::Budget,
        ..USUAL
    },
    Dialect {
        id: "moonshot",
        hosts: &["moonshot.ai", "moonshot.cn"],
        thinking: Thinking::Switch,
        reasoning_back: ReasoningBack::ToolTurnsNotEmpty,
        ..USUAL
    },
    Dialect {
        id: "glm",
        hosts: &["z.ai", "bigmodel.cn"],
        usual_path: "api/paas/v4",
        thinking: Thinking::SwitchKeeping,
        reasoning_back: ReasoningBack::ToolLoop,
        stream_options: false,
        tool_stream: true,
        ..USUAL
    },
    Dialect { id: "siliconflow", hosts: &["siliconflow.cn", "siliconflow.com"], thinking: Thinking::Budget, ..USUAL },
    Dialect {
        id: "azure",
        hosts: &["azure.com", "microsoft.com"],
        usual_path: "openai",
        auth: Auth::ApiKey,
        max_tokens: MaxTokens::Completion,
        ..USUAL
    },
    Dialect { id: "lm-studio", no_text: NoText::Empty, details: Details::LmStudio, ..USUAL },
    Dialect {
        id: "llama-cpp",
        thinking: Thinking::Template,
        parallel_tool_calls: Some(true),
        no_text: NoText::Empty,
        details: Details::LlamaCpp,
        ..USUAL
    },
    Dialect { id: "vllm", thinking: Thinking::Template, ..USUAL },
    Dialect { id: "litellm", ..USUAL },
    USUAL,
];

impl Dialect {
    /// The row of this id; for an unknown server, that of whose address it is.
    pub(super) fn of(id: &str, address: &Url) -> &'static Self {
        let named = DIALECTS.iter().find(|dialect| dialect.id == id && dialect.id != USUAL.id);
        named.or_else(|| DIALECTS.iter().find(|dialect| dialect.owns(address))).unwrap_or(&USUAL)
    }

    fn owns(&self, address: &Url) -> bool {
        let host = address.host_str().unwrap_or_default().to_ascii_lowercase();
        self.hosts.iter().any(|own| host.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
    }

    /// Whether a model takes only the parameters of those that think.
    pub(super) fn is_reasoning_model(&self, model: &str) -> bool {
        let name = model.rsplit('/').next().unwrap_or(model);
        // `gpt-5-chat` is an ordinary model in spite of its name.
        !name.contains("-chat") && self.reasoning_models.iter().any(|begin| name.starts_with(begin))
    }

    /// What has to be said for the thinking that was asked for; nothing when nothing was asked.
    pub(super) fn thinking_fields(&self, params: &GenerationParams) -> ThinkingFields {
        let mut fields = ThinkingFields::default();
        let effort = match (params.thinking_enabled, params.thinking_effort) {
            (None, None) => return fields,
            (Some(false), _) => None,
            (Some(true), None) => Some(ThinkingEffort::Medium),
            (Some(true) | None, Some(effort)) => Some(effort),
        };
        // Switched on without a word on how hard: the model's own measure.
        let is_unmeasured = params.thinking_effort.is_none();
        let is_on = effort.is_some();
        let switch =
            |clear_thinking| Some(ThinkingSwitch { kind: if is_on { "enabled" } else { "disabled" }, clear_thinking });
        match self.thinking {
            Thinking::DeepSeek => {
                fields.thinking = switch(None);
                fields.reasoning_effort = effort.filter(|_| !is_unmeasured).map(|effort| match effort {
                    ThinkingEffort::Low | ThinkingEffort::Medium | ThinkingEffort::High => "high",
                    ThinkingEffort::Max => "max",
                });
            }
            Thinking::TemplateFromMedium => {
                let enable_thinking = effort.is_some_and(|effort| effort != ThinkingEffort::Low);
                fields.chat_template_kwargs = Some(TemplateArguments { enable_thinking, thinking: None });
            }
            Thinking::Template => {
                let enable_thinking = is_on;
                fields.chat_template_kwargs = Some(TemplateArguments { enable_thinking, thinking: Some(is_on) });
            }
            Thinking::Effort => fields.reasoning_effort = Some(effort.map_or("none", usual_effort)),
            Thinking::EffortOrNone => fields.reasoning_effort = Some(if is_on { "high" } else { "none" }),
            Thinking::Reasoning => {
                let measured = effort.filter(|_| !is_unmeasured).map(usual_effort);
                fields.reasoning = Some(Reasoning { effort: measured, enabled: measured.is_none().then_some(is_on) });
            }
            Thinking::Budget => {
                fields.enable_thinking = Some(is_on);
                fields.thinking_budget = effort.filter(|_| !is_unmeasured).and_then(|effort| match effort {
                    ThinkingEffort::Low => Some(1_024),
                    ThinkingEffort::Medium => Some(4_096),
                    ThinkingEffort::High => Some(16_384),
                    // As much as the model likes.
                    ThinkingEffort::Max => None,
                });
            }
            Thinking::Switch => fields.thinking = switch(None),
            Thinking::SwitchKeeping => fields.thinking = switch(Some(false)),
        }
        fields
    }
}

fn usual_effort(effort: ThinkingEffort) -> &'static str {
    match effort {
        ThinkingEffort::Low => "low",
        ThinkingEffort::Medium => "medium",
        ThinkingEffort::High | ThinkingEffort::Max => "high",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::provider::{ProviderKind, catalog};

    fn row(id: &str) -> &'static Dialect {
        Dialect::of(id, &Url::parse("http://127.0.0.1/").unwrap())
    }

    /// Off, then low to max.
    fn levels(id: &str) -> Vec<Value> {
        let fields = |enabled, effort| {
            let params =
                GenerationParams { thinking_enabled: enabled, thinking_effort: effort, ..GenerationParams::default() };
            serde_json::to_value(row(id).thinking_fields(&params)).unwrap()
        };
        assert_eq!(fields(None, None), json!({}), "{id}");
        let efforts = [ThinkingEffort::Low, ThinkingEffort::Medium, ThinkingEffort::High, ThinkingEffort::Max];
        let mut all = vec![fields(Some(false), None)];
        all.extend(efforts.map(|effort| fields(Some(true), Some(effort))));
        all
    }

    #[test]
    fn every_preset_of_this_format_has_its_row() {
        for preset in catalog().iter().filter(|preset| preset.kind == ProviderKind::OpenAiCompatible) {
            assert_eq!(row(preset.id).id, preset.id);
            if let Ok(url) = Url::parse(preset.default_url)
                && !row(preset.id).hosts.is_empty()
            {
                assert_eq!(Dialect::of("openai-compatible", &url).id, preset.id, "by its address");
            }
        }
        assert_eq!(Dialect::of("", &Url::parse("https://notopenai.com/").unwrap()).id, "openai-compatible");
    }

    #[test]
    fn thinking_is_switched_as_the_specification_says() {
        let on = |effort: &str| json!({"thinking": {"type": "enabled"}, "reasoning_effort": effort});
        assert_eq!(
            levels("deepseek"),
            [json!({"thinking": {"type": "disabled"}}), on("high"), on("high"), on("high"), on("max")]
        );
        let template = |on: bool| json!({"chat_template_kwargs": {"enable_thinking": on}});
        assert_eq!(
            levels("agnes-ai"),
            [template(false), template(false), template(true), template(true), template(true)]
        );
        let effort = |effort: &str| json!({"reasoning_effort": effort});
        assert_eq!(levels("openai"), ["none", "low", "medium", "high", "high"].map(effort));
        assert_eq!(levels("mistral"), ["none", "high", "high", "high", "high"].map(effort));
        assert_eq!(
            levels("qwen")[..2],
            [json!({"enable_thinking": false}), json!({"enable_thinking": true, "thinking_budget": 1024})]
        );
        assert_eq!(
            levels("openrouter")[..2],
            [json!({"reasoning": {"enabled": false}}), json!({"reasoning": {"effort": "low"}})]
        );
        assert_eq!(levels("glm")[1], json!({"thinking": {"type": "enabled", "clear_thinking": false}}));
        assert_eq!(levels("moonshot")[0], json!({"thinking": {"type": "disabled"}}));
        assert_eq!(levels("vllm")[0], json!({"chat_template_kwargs": {"enable_thinking": false, "thinking": false}}));
    }

    #[test]
    fn models_that_think_are_known_by_their_names() {
        for (model, expected) in [
            ("o3-mini", true),
            ("gpt-5.1", true),
            ("openai/o4-mini", true),
            ("gpt-5-chat-latest", false),
            ("gpt-4o", false),
            ("oracle", false),
        ] {
            assert_eq!(row("openai").is_reasoning_model(model), expected, "{model}");
        }
        assert!(!row("openrouter").is_reasoning_model("o3-mini"));
    }
}

//! Every provider that Nod knows by name, as the settings page and the command line offer it: where it is, which wire
//! format it speaks, where its key comes from. How a vendor of the OpenAI-compatible format differs from the others is in
//! `openai::dialect`, under the same id.

use super::{ProviderKind, guide, ollama};

/// A provider as the settings page and the command line offer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its id, and the name of its dialect.
    pub id: &'static str,
    /// Its name; the window has its own words for the guide and for what a person adds.
    pub display_name: &'static str,
    /// Its wire format.
    pub kind: ProviderKind,
    /// Where it usually is; empty when it has no address, or only one of the person's own.
    pub default_url: &'static str,
    /// Its model, where there is only ever one.
    pub only_model: Option<&'static str>,
    /// Whether it wants a key.
    pub key: KeyUse,
    /// The environment variable that usually holds its key; empty for none.
    pub key_variable: &'static str,
    /// The page on which a person gets a key; empty for none.
    pub key_page: &'static str,
}

/// Whether a provider wants a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyUse {
    /// It takes none.
    None,
    /// It works without one unless somebody set it up otherwise.
    Optional,
    /// It does nothing without one.
    Needed,
}

/// Every provider that there is, in the order in which they are offered.
pub fn catalog() -> &'static [Preset] {
    CATALOG
}

/// The provider of this id.
pub fn preset(id: &str) -> Option<&'static Preset> {
    CATALOG.iter().find(|preset| preset.id == id)
}

/// A vendor in the cloud that speaks OpenAI's format.
const fn cloud(
    id: &'static str,
    display_name: &'static str,
    default_url: &'static str,
    key_variable: &'static str,
    key_page: &'static str,
) -> Preset {
    Preset {
        id,
        display_name,
        kind: ProviderKind::OpenAiCompatible,
        default_url,
        only_model: None,
        key: KeyUse::Needed,
        key_variable,
        key_page,
    }
}

/// A server that speaks OpenAI's format on the person's own machine or network.
const fn own(id: &'static str, display_name: &'static str, default_url: &'static str) -> Preset {
    Preset { key: KeyUse::Optional, ..cloud(id, display_name, default_url, "", "") }
}

const CATALOG: &[Preset] = &[
    Preset {
        id: "ollama",
        display_name: "Ollama",
        kind: ProviderKind::Ollama,
        default_url: ollama::DEFAULT_URL,
        only_model: None,
        key: KeyUse::None,
        key_variable: "",
        key_page: "",
    },
    cloud(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        "https://platform.deepseek.com/api_keys",
    ),
    cloud("agnes-ai", "Agnes AI", "https://apihub.agnes-ai.com/v1", "AGNES_API_KEY", "https://wiki.agnes-ai.com"),
    Preset {
        kind: ProviderKind::Anthropic,
        ..cloud(
            "agnes-ai-anthropic",
            "Agnes AI (Anthropic format)",
            "https://apihub.agnes-ai.com",
            "AGNES_API_KEY",
            "https://wiki.agnes-ai.com",
        )
    },
    cloud("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "https://platform.openai.com/api-keys"),
    Preset {
        kind: ProviderKind::Anthropic,
        ..cloud(
            "anthropic",
            "Anthropic",
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
            "https://console.anthropic.com/settings/keys",
        )
    },
    cloud(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "https://openrouter.ai/keys",
    ),
    cloud(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "https://aistudio.google.com/apikey",
    ),
    cloud("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "https://console.mistral.ai/api-keys"),
    cloud(
        "qwen",
        "Qwen (DashScope)",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        "https://bailian.console.aliyun.com/?tab=model#/api-key",
    ),
    cloud(
        "moonshot",
        "Moonshot (Kimi)",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        "https://platform.moonshot.ai/console/api-keys",
    ),
    cloud("glm", "Z.ai (GLM)", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", "https://z.ai/manage-apikey/apikey-list"),
    cloud(
        "siliconflow",
        "SiliconFlow",
        "https://api.siliconflow.cn/v1",
        "SILICONFLOW_API_KEY",
        "https://cloud.siliconflow.cn/account/ak",
    ),
    // A resource of one's own: `https://NAME.openai.azure.com`, with or without deployment and version.
    cloud("azure", "Azure OpenAI", "", "AZURE_OPENAI_API_KEY", "https://portal.azure.com"),
    own("lm-studio", "LM Studio", "http://127.0.0.1:1234/v1"),
    own("llama-cpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    own("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
    Preset { key_variable: "LITELLM_API_KEY", ..own("litellm", "LiteLLM", "http://127.0.0.1:4000/v1") },
    own("openai-compatible", "OpenAI-compatible", ""),
    Preset {
        id: "guide",
        display_name: "Built-in guide",
        kind: ProviderKind::Guide,
        default_url: "",
        only_model: Some(guide::GUIDE_MODEL),
        key: KeyUse::None,
        key_variable: "",
        key_page: "",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_a_needed_key_can_be_got_and_kept_somewhere() {
        let mut ids: Vec<&str> = catalog().iter().map(|preset| preset.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), catalog().len());
        for preset in catalog() {
            assert_eq!(super::preset(preset.id), Some(preset));
            let is_complete = !preset.key_variable.is_empty() && preset.key_page.starts_with("https://");
            assert!(preset.key != KeyUse::Needed || is_complete, "{}", preset.id);
        }
    }
}

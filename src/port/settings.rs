//! Every setting of the window and the command line, by its dotted key (`general.language`, `models.num_ctx`, …).
//! The stored form is one JSON value per changed key; the checked form is `Settings`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ir::{ConfirmMode, Pricing, ProviderRecord, Proxy, ThinkingLevel};

/// All settings, checked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub general: GeneralSettings,
    pub models: ModelSettings,
    pub tools: ToolSettings,
    pub safety: SafetySettings,
    pub prompts: PromptSettings,
    /// The providers that the person has set up. They have a table and commands of their own, and no key here.
    #[serde(skip)]
    pub providers: Vec<ProviderRecord>,
}

/// How the window looks and types.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneralSettings {
    pub language: Language,
    pub theme: Theme,
    /// 1.0 is the system's own size.
    pub ui_scale: f32,
    /// Points; messages only.
    pub message_font_size: f32,
    /// Points; code.
    pub code_font_size: f32,
    pub send_key: SendKey,
    pub animations: bool,
    pub show_sidebar: bool,
    pub starts_with: StartsWith,
    /// Where the window was when it closed last.
    pub window: Option<WindowPlace>,
}

/// Where a window is, in points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowPlace {
    pub x: f32,
    pub y: f32,
    /// Without the frame.
    pub width: f32,
    pub height: f32,
    pub is_maximized: bool,
}

impl Default for GeneralSettings {
    fn default() -> Self {
        Self {
            language: Language::System,
            theme: Theme::System,
            ui_scale: 1.0,
            message_font_size: 14.0,
            code_font_size: 12.5,
            send_key: SendKey::Enter,
            animations: true,
            show_sidebar: true,
            starts_with: StartsWith::LastChat,
            window: None,
        }
    }
}

/// The window's language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Language {
    #[default]
    #[serde(rename = "system")]
    System,
    #[serde(rename = "en")]
    English,
    #[serde(rename = "zh-CN")]
    Chinese,
}

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

/// Which key sends; the other breaks the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendKey {
    #[default]
    Enter,
    CtrlEnter,
}

/// What the window shows when Nod starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartsWith {
    #[default]
    LastChat,
    NewChat,
}

/// Where answers come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    /// For new chats; empty until one is chosen.
    pub default_provider: String,
    pub default_model: String,
    pub ollama_url: String,
    /// Whether that Ollama counts as another machine although its address is this one (a tunnel): secrets are masked.
    pub ollama_is_remote: bool,
    /// Tokens of context that Ollama is asked for.
    pub num_ctx: u32,
    /// How long Ollama keeps a model loaded; empty for its own default.
    pub keep_alive: String,
    pub temperature: f64,
    pub thinking: ThinkingLevel,
    pub show_thinking: bool,
    /// Most requests to the model in one turn.
    pub max_rounds: u32,
    /// The last rounds that a compression leaves word for word.
    pub kept_rounds: u32,
    /// Who answers when the session's provider cannot; empty for nobody.
    pub fallback_provider: String,
    pub fallback_model: String,
    /// The person's own system prompt; empty for none.
    pub system_prompt: String,
    /// Whether the system prompt is sent.
    pub uses_system_prompt: bool,
    /// How servers beyond this network are reached: `system`, `none` or the proxy's address.
    pub proxy: Proxy,
    /// A file with certificate authorities to trust besides the system's own, as PEM; empty for none.
    pub ca_file: String,
    /// How long a connection may take, in seconds; 0 for what is usual for where the server is.
    pub connect_timeout_s: u32,
    /// How long a server may take until its answer begins, in seconds; 0 as above. Loading a model comes before it.
    pub first_byte_timeout_s: u32,
    /// How long an answer may pause, in seconds; 0 as above.
    pub idle_timeout_s: u32,
    /// What models cost where the person knows better: by `provider/model`, as `inputPerMillion`, `outputPerMillion` and
    /// `currency`.
    pub prices: BTreeMap<String, Pricing>,
    /// Models without native calling, whose calls are read from what they print; `*` at the end of a name stands for any
    /// rest.
    pub text_call_models: Vec<String>,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            default_provider: String::new(),
            default_model: String::new(),
            ollama_url: "http://127.0.0.1:11434".into(),
            ollama_is_remote: false,
            num_ctx: 24_576,
            keep_alive: String::new(),
            temperature: 0.0,
            thinking: ThinkingLevel::Auto,
            show_thinking: true,
            max_rounds: 10,
            kept_rounds: 5,
            fallback_provider: String::new(),
            fallback_model: String::new(),
            system_prompt: String::new(),
            uses_system_prompt: true,
            proxy: Proxy::System,
            ca_file: String::new(),
            connect_timeout_s: 0,
            first_byte_timeout_s: 0,
            idle_timeout_s: 0,
            prices: BTreeMap::new(),
            text_call_models: Vec::new(),
        }
    }
}

/// Which tools there are, and their limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolSettings {
    /// The master switch.
    pub enabled: bool,
    /// Tools that are switched off by name; `run_command` is among them until switched on.
    pub disabled: Vec<String>,
    /// The group `limits` of the tools, as JSON; missing fields keep their defaults.
    pub limits: Value,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self { enabled: true, disabled: vec!["run_command".into()], limits: Value::Object(serde_json::Map::new()) }
    }
}

/// Who is asked, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SafetySettings {
    /// The mode of new sessions.
    pub mode: ConfirmMode,
    /// Allowed folders of new sessions: the last used ones.
    pub folders: Vec<String>,
    /// Commands only run confined.
    pub never_unconfined: bool,
    /// Whether an allow rule may cover the identical command.
    pub remember_commands: bool,
    /// How long a question waits before it is refused, in seconds; 0 for as long as it takes.
    pub answer_within_s: u32,
    /// For how many days a change can be undone.
    pub undo_days: u32,
    /// The largest file or folder that is kept for that, in MB (1,048,576 bytes).
    pub undo_file_mb: u32,
    /// What all that is kept may take, in MB; the oldest goes first.
    pub undo_space_mb: u32,
}

impl Default for SafetySettings {
    fn default() -> Self {
        Self {
            mode: ConfirmMode::Changes,
            folders: Vec::new(),
            never_unconfined: true,
            remember_commands: false,
            answer_within_s: 1_800,
            undo_days: 30,
            undo_file_mb: 64,
            undo_space_mb: 2048,
        }
    }
}

/// The prompt library.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptSettings {
    /// In the order of their names.
    pub library: Vec<SavedPrompt>,
}

impl PromptSettings {
    /// The most prompts.
    pub const MOST: usize = 200;
    /// The longest name, in characters.
    pub const NAME_CHARS: usize = 60;
    /// The longest text, in bytes.
    pub const TEXT_BYTES: usize = 32 * 1024;
}

/// Words that the person sends again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedPrompt {
    pub name: String,
    pub text: String,
}

/// A key or a value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("there is no setting named {key}; `nod config list` shows all")]
    UnknownKey { key: String },
    #[error("{key} does not take this value: {problem}")]
    BadValue { key: String, problem: String },
}

impl Settings {
    /// Settings from stored values. Keys that are unknown or do not fit keep their default and are reported; where a default
    /// could allow more than the person had chosen, the strictest value holds instead.
    pub fn from_stored(stored: &BTreeMap<String, Value>) -> (Self, Vec<SettingsError>) {
        let mut settings = Self::default();
        let mut problems = Vec::new();
        for (key, value) in stored {
            if let Err(problem) = settings.set(key, value.clone()) {
                settings.tighten(key);
                problems.push(problem);
            }
        }
        (settings, problems)
    }

    /// What holds in the place of a value that cannot be read: a newer Nod, or a hand, wrote it, and it may have been a
    /// refusal.
    fn tighten(&mut self, key: &str) {
        match key {
            "safety.mode" => self.safety.mode = ConfirmMode::EveryCall,
            "safety.never_unconfined" => self.safety.never_unconfined = true,
            "safety.remember_commands" => self.safety.remember_commands = false,
            "safety.folders" => self.safety.folders = Vec::new(),
            "tools.enabled" | "tools.disabled" => self.tools.enabled = false,
            "models.ollama_is_remote" => self.models.ollama_is_remote = true,
            _ => {}
        }
    }

    /// Every key with its value, sorted.
    pub fn entries(&self) -> BTreeMap<String, Value> {
        let mut entries = BTreeMap::new();
        if let Ok(Value::Object(groups)) = serde_json::to_value(self) {
            for (group, fields) in groups {
                if let Value::Object(fields) = fields {
                    for (name, value) in fields {
                        entries.insert(format!("{group}.{name}"), value);
                    }
                }
            }
        }
        entries
    }

    /// Changes one setting.
    ///
    /// # Errors
    /// When there is no such key or the value does not fit; nothing is changed then.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), SettingsError> {
        let unknown = || SettingsError::UnknownKey { key: key.to_owned() };
        let (group, name) = key.split_once('.').ok_or_else(unknown)?;
        let mut json = serde_json::to_value(&*self)
            .map_err(|error| SettingsError::BadValue { key: key.to_owned(), problem: error.to_string() })?;
        let slot = json.get_mut(group).and_then(|fields| fields.get_mut(name)).ok_or_else(unknown)?;
        *slot = value;
        let changed: Self = serde_json::from_value(json)
            .map_err(|error| SettingsError::BadValue { key: key.to_owned(), problem: error.to_string() })?;
        *self = Self { providers: std::mem::take(&mut self.providers), ..changed };
        Ok(())
    }
}

//! Models, by wire format: one file each. All of them share `http`, `framing` and `retry`.
//!
//! A provider's own JSON lives in its module as private types and is converted by hand to the IR. Nothing here knows
//! sessions, tools or the screen. Dropping a future aborts its HTTP request.

pub mod answer;
pub mod arguments;
pub mod assembly;
pub mod body;
pub mod framing;
pub mod history;
pub mod http;
pub mod memory;
pub mod preset;
pub mod price;
pub mod probe;
pub mod reader;
pub mod repair;
pub mod retry;
pub mod scripted;
pub mod text_call;
pub mod think_tag;
pub mod tool_name;

mod anthropic;
mod call_name;
mod data_uri;
mod few;
mod guide;
mod half_character;
mod mistake;
mod ollama;
mod openai;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

pub use crate::secret::SecretKey;
pub use guide::GUIDE_MODEL;
pub use preset::{KeyUse, Preset, catalog, preset};

use crate::ir::{Clock, Error, ModelInfo, Request, Response, StreamEvent};

/// A place where models answer.
pub trait Provider: Send + Sync {
    /// Its id, for example `ollama`.
    fn provider_id(&self) -> &str;

    /// Whether what this model is sent leaves this machine, by its name and the address alone; secrets are masked for it
    /// then. Yes, where nothing says no. [`ModelInfo::is_elsewhere`] is what the server says besides.
    fn is_remote(&self, model: &str) -> bool {
        let _ = model;
        true
    }

    /// Whether a model that looks local may run elsewhere all the same, unless its server says that it does not.
    fn may_forward(&self) -> bool {
        false
    }

    /// The models it offers.
    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, Error>>;

    /// What it says of one model: capabilities, context window.
    fn model_info<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<ModelInfo, Error>>;

    /// Whether it is there: its version or a greeting, for the person.
    fn health_check(&self) -> BoxFuture<'_, Result<String, Error>>;

    /// Sends and streams. Events go to `events` in their order, `done` last; a full queue slows the stream.
    /// Gives the whole response after the stream; after an error what had come is in the events already, and `error` and
    /// `done` are the last two. A failed answer is worth another try only if its error says `retryable`, which it never
    /// does when something was shown.
    fn send_stream<'a>(
        &'a self,
        model: &'a str,
        request: &'a Request,
        events: mpsc::Sender<StreamEvent>,
    ) -> BoxFuture<'a, Result<Response, Error>>;

    /// Sends and waits for the whole answer.
    fn send<'a>(&'a self, model: &'a str, request: &'a Request) -> BoxFuture<'a, Result<Response, Error>>;

    /// Downloads a model, where the provider can (Ollama).
    fn pull<'a>(&'a self, model: &'a str, progress: mpsc::Sender<PullProgress>) -> BoxFuture<'a, Result<(), Error>>;
}

/// How far a download is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullProgress {
    /// The provider's own word for what it does now.
    pub status: String,
    /// Bytes that are here, over all parts.
    pub completed_bytes: u64,
    /// Bytes in all, as far as known.
    pub total_bytes: u64,
}

/// Where a provider is and how to talk to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderConfig {
    /// Its id.
    pub id: String,
    /// Its wire format.
    pub kind: ProviderKind,
    /// As the person typed it; every usual form is understood. Empty for the format's default.
    pub base_url: String,
    /// Its key, already bound to the address: it is sent to `base_url` and nowhere else.
    pub api_key: Option<SecretKey>,
    /// OpenAI-compatible: which vendor's habits it has, by the id of a preset; empty for what the address says.
    pub dialect: String,
    /// OpenAI-compatible: models without native calling, whose calls are read from what they print; `*` at the end of a
    /// name stands for any rest.
    pub text_call_models: Vec<String>,
    /// More headers of the person's own: name and value. A value may be a secret, so none is shown.
    pub headers: Vec<(String, SecretKey)>,
    /// Whether it counts as another machine, where the address does not say it: a tunnel, a relay.
    pub is_remote: Option<bool>,
    /// Ollama: tokens of context to ask for.
    pub num_ctx: u32,
    /// Ollama: how long the model stays loaded, for example `5m`; empty for the server's default.
    pub keep_alive: String,
    /// How it is reached.
    pub network: http::Network,
}

impl ProviderConfig {
    /// A provider at its address, with nothing else said of it.
    pub fn new(id: impl Into<String>, kind: ProviderKind, base_url: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            kind,
            base_url: base_url.into(),
            api_key: None,
            dialect: String::new(),
            text_call_models: Vec::new(),
            headers: Vec::new(),
            is_remote: None,
            num_ctx: 0,
            keep_alive: String::new(),
            network: http::Network::default(),
        }
    }
}

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    /// Ollama's own NDJSON.
    Ollama,
    /// OpenAI's chat completions, as most servers speak them.
    OpenAiCompatible,
    /// Anthropic's messages.
    Anthropic,
    /// The built-in guide, no AI model.
    Guide,
}

/// The address that a provider of this format is asked at, from what a person typed.
///
/// # Errors
/// When it is no address, or one that may not be reached.
pub fn address(kind: ProviderKind, base_url: &str) -> Result<http::Address, Error> {
    match kind {
        ProviderKind::Ollama => ollama::address(base_url),
        ProviderKind::OpenAiCompatible => openai::address(base_url),
        ProviderKind::Anthropic | ProviderKind::Guide => Ok(http::base_address(base_url)?),
    }
}

/// A provider, ready to be asked. Nothing is sent yet.
///
/// # Errors
/// When the address cannot be used.
pub fn connect(config: ProviderConfig, clock: Clock) -> Result<Arc<dyn Provider>, Error> {
    match config.kind {
        ProviderKind::Ollama => Ok(Arc::new(ollama::Ollama::new(config, clock)?)),
        ProviderKind::OpenAiCompatible => Ok(Arc::new(openai::OpenAi::new(config, clock)?)),
        ProviderKind::Anthropic => Ok(Arc::new(anthropic::Anthropic::new(config, clock)?)),
        ProviderKind::Guide => Ok(Arc::new(guide::Guide::new(config.id, clock))),
    }
}

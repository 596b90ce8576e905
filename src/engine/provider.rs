//! Which provider stands behind an id, by the settings.

use std::sync::Arc;

use crate::ir::{Clock, Error, ErrorCode};
use crate::port::Settings;
use crate::provider::{Provider, ProviderConfig, ProviderKind, catalog, connect};

use super::lookup::provider_ids;

/// Where the engine gets its providers. Tests bring their own.
pub trait ProviderSource: Send + Sync {
    /// The ids that there are, in the order of the model picker.
    fn ids(&self, settings: &Settings) -> Vec<String>;

    /// The provider of this id; `base_url` replaces the settings' own.
    ///
    /// # Errors
    /// When there is none of that id, or its address cannot be one.
    fn provider(&self, id: &str, base_url: Option<&str>, settings: &Settings) -> Result<Arc<dyn Provider>, Error>;
}

/// The providers of the settings.
#[derive(Clone)]
pub struct ConfiguredProviders {
    /// The time, for what servers say of waiting.
    pub clock: Clock,
}

impl ProviderSource for ConfiguredProviders {
    fn ids(&self, _: &Settings) -> Vec<String> {
        provider_ids()
    }

    fn provider(&self, id: &str, base_url: Option<&str>, settings: &Settings) -> Result<Arc<dyn Provider>, Error> {
        if id.is_empty() {
            return Err(Error::new(ErrorCode::ModelNotFound, "No model is chosen. Choose one first."));
        }
        let Some(preset) = catalog().iter().find(|preset| preset.id == id) else {
            let words = format!("There is no provider named {id}. Choose one of: {}.", provider_ids().join(", "));
            return Err(Error::new(ErrorCode::ModelNotFound, words));
        };
        let kind = preset.kind;
        let config = ProviderConfig {
            id: id.to_owned(),
            kind,
            base_url: match kind {
                ProviderKind::Ollama => base_url.unwrap_or(&settings.models.ollama_url).to_owned(),
                ProviderKind::Guide => String::new(),
            },
            num_ctx: settings.models.num_ctx,
            keep_alive: settings.models.keep_alive.clone(),
        };
        connect(config, Arc::clone(&self.clock))
    }
}

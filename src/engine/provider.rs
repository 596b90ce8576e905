//! Which provider stands behind an id, by the settings.

use std::sync::Arc;

use crate::ir::{Clock, Error, ErrorCode};
use crate::port::Settings;
use crate::provider::{Preset, Provider, ProviderConfig, ProviderKind, SecretKey, catalog, connect, preset};

use super::lookup::provider_ids;

/// What replaces the settings' own for one turn or one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place<'a> {
    /// Another address.
    pub base_url: Option<&'a str>,
    /// The environment variable that holds the key for it.
    pub api_key_env: Option<&'a str>,
}

/// Where the engine gets its providers. Tests bring their own.
pub trait ProviderSource: Send + Sync {
    /// The ids that there are, in the order of the model picker.
    fn ids(&self, settings: &Settings) -> Vec<String>;

    /// The provider of this id.
    ///
    /// # Errors
    /// When there is none of that id, or its address cannot be one.
    fn provider(&self, id: &str, place: Place<'_>, settings: &Settings) -> Result<Arc<dyn Provider>, Error>;
}

/// The providers of the settings.
#[derive(Clone)]
pub struct ConfiguredProviders {
    /// The time, for what servers say of waiting.
    pub clock: Clock,
}

impl ProviderSource for ConfiguredProviders {
    fn ids(&self, _: &Settings) -> Vec<String> {
        // Nobody is asked over the network who was not chosen.
        let is_here = |preset: &&Preset| matches!(preset.kind, ProviderKind::Ollama | ProviderKind::Guide);
        catalog().iter().filter(is_here).map(|preset| preset.id.to_owned()).collect()
    }

    fn provider(&self, id: &str, place: Place<'_>, settings: &Settings) -> Result<Arc<dyn Provider>, Error> {
        if id.is_empty() {
            return Err(Error::new(ErrorCode::ModelNotFound, "No model is chosen. Choose one first."));
        }
        let Some(preset) = preset(id) else {
            let words = format!("There is no provider named {id}. Choose one of: {}.", provider_ids().join(", "));
            return Err(Error::new(ErrorCode::ModelNotFound, words));
        };
        let usual_url = match preset.kind {
            ProviderKind::Ollama => &settings.models.ollama_url,
            ProviderKind::OpenAiCompatible | ProviderKind::Anthropic | ProviderKind::Guide => preset.default_url,
        };
        let base_url = place.base_url.filter(|_| preset.kind != ProviderKind::Guide).unwrap_or(usual_url);
        let config = ProviderConfig {
            api_key: api_key(preset, base_url, place.api_key_env)?,
            dialect: preset.id.to_owned(),
            num_ctx: settings.models.num_ctx,
            keep_alive: settings.models.keep_alive.clone(),
            ..ProviderConfig::new(id, preset.kind, base_url)
        };
        connect(config, Arc::clone(&self.clock))
    }
}

/// The key for an address: from the variable that was named, else from the vendor's usual one, which is for the vendor's
/// own address alone.
fn api_key(preset: &Preset, base_url: &str, named: Option<&str>) -> Result<Option<SecretKey>, Error> {
    let read = |variable: &str| std::env::var(variable).ok().and_then(|text| SecretKey::new(&text));
    if let Some(variable) = named {
        return read(variable).map(Some).ok_or_else(|| {
            let words = format!("The environment variable {variable} holds no key. Set it, or name another.");
            Error::new(ErrorCode::AuthInvalid, words).from_provider(preset.id)
        });
    }
    let is_own_address = !preset.default_url.is_empty() && base_url == preset.default_url;
    Ok(if is_own_address && !preset.key_variable.is_empty() { read(preset.key_variable) } else { None })
}

//! Which provider stands behind an id: one that the person has set up, else a preset; with its address, its key and the
//! way to it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::ir::{Clock, Error, ErrorCode, KeyPlace, Pricing, ProviderRecord};
use crate::port::Settings;
use crate::provider::http::Network;
use crate::provider::{
    KeyUse, Preset, Provider, ProviderConfig, ProviderKind, SecretKey, address, catalog, connect, preset, price,
};

use super::key::Keys;

/// What replaces the settings' own for one turn or one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place<'a> {
    /// Another address.
    pub base_url: Option<&'a str>,
    /// The key for it.
    pub api_key: Option<&'a SecretKey>,
}

/// Where the engine gets its providers. Tests bring their own.
pub trait ProviderSource: Send + Sync {
    /// The ids that there are, in the order of the model picker.
    fn ids(&self, settings: &Settings) -> Vec<String>;

    /// The provider of this id. Waits for the keyring, which may wait for the person.
    ///
    /// # Errors
    /// When there is none of that id, its address cannot be one, or its key cannot be had.
    fn provider<'a>(
        &'a self,
        id: &'a str,
        place: Place<'a>,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Result<Arc<dyn Provider>, Error>>;

    /// The key that goes to the provider's own address, where there is one.
    fn key<'a>(&'a self, _id: &'a str, _settings: &'a Settings) -> BoxFuture<'a, Option<SecretKey>> {
        Box::pin(async { None })
    }
}

/// The providers of the settings.
#[derive(Clone)]
pub struct ConfiguredProviders {
    /// The time, for what servers say of waiting.
    pub clock: Clock,
    /// Their keys.
    pub keys: Arc<Keys>,
}

impl ProviderSource for ConfiguredProviders {
    fn ids(&self, settings: &Settings) -> Vec<String> {
        // Nobody is asked over the network who was not chosen.
        let is_here = |preset: &&Preset| matches!(preset.kind, ProviderKind::Ollama | ProviderKind::Guide);
        let here = catalog().iter().filter(is_here).map(|preset| preset.id);
        here.chain(settings.providers.iter().map(|record| record.id.as_str())).map(str::to_owned).collect()
    }

    fn provider<'a>(
        &'a self,
        id: &'a str,
        place: Place<'a>,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Result<Arc<dyn Provider>, Error>> {
        Box::pin(async move {
            let (record, preset) = look_up(id, settings)?;
            let base_url = place
                .base_url
                .filter(|_| preset.kind != ProviderKind::Guide)
                .map_or_else(|| base_url(&record, preset, settings), str::to_owned);
            let api_key = match place.api_key {
                Some(key) => Some(key.clone()),
                None => self.find_key(&record, preset, &base_url, place).await?,
            };
            let config = ProviderConfig {
                api_key,
                dialect: preset.id.to_owned(),
                is_remote: is_remote(&record, preset, settings),
                text_call_models: settings.models.text_call_models.clone(),
                num_ctx: settings.models.num_ctx,
                keep_alive: settings.models.keep_alive.clone(),
                network: network(&record, settings),
                ..ProviderConfig::new(id, preset.kind, base_url)
            };
            connect(config, Arc::clone(&self.clock))
        })
    }

    fn key<'a>(&'a self, id: &'a str, settings: &'a Settings) -> BoxFuture<'a, Option<SecretKey>> {
        Box::pin(async move {
            let (record, preset) = look_up(id, settings).ok()?;
            let url = base_url(&record, preset, settings);
            self.find_key(&record, preset, &url, Place::default()).await.ok()?
        })
    }
}

impl ConfiguredProviders {
    /// The key for an address: the person's own, if it was entered for this origin; else the vendor's usual variable, which
    /// is for the vendor's own origin alone.
    async fn find_key(
        &self,
        record: &ProviderRecord,
        preset: &Preset,
        base_url: &str,
        place: Place<'_>,
    ) -> Result<Option<SecretKey>, Error> {
        if preset.key == KeyUse::None && record.key == KeyPlace::Nowhere {
            return Ok(None);
        }
        let origin = address(preset.kind, base_url).map_err(|error| error.from_provider(&record.id))?.origin();
        match self.keys.find(&record.id, &record.key, &origin).await {
            Ok(Some(key)) => return Ok(Some(key)),
            Ok(None) => {}
            Err(problem) => return Err(fail(record, "keyring", format!("The key cannot be read: {problem}."))),
        }
        let from_variable = usual_variable(preset, &origin).and_then(|(_, key)| key);
        if from_variable.is_some() || place.base_url.is_some() {
            return Ok(from_variable);
        }
        match record.key.origin() {
            Some(other) if other != origin => {
                let words = format!(
                    "The key of {} was entered for {other} and is not sent to {origin}. Enter the key for that address.",
                    record.id
                );
                Err(fail(record, "key_for_other_address", words))
            }
            Some(_) => {
                let words = format!("The keyring has no key for {} any more. Enter it again.", record.id);
                Err(fail(record, "key_missing", words))
            }
            None if preset.key == KeyUse::Needed && is_own_origin(preset, &origin) => {
                let words = format!(
                    "There is no key for {}. Enter one in Settings › Models, with `nod providers set-key`, or in the \
                     environment variable {}.",
                    record.id, preset.key_variable
                );
                Err(fail(record, "key_missing", words))
            }
            None => Ok(None),
        }
    }
}

fn fail(record: &ProviderRecord, code: &str, words: String) -> Error {
    let mut error = Error::new(ErrorCode::AuthInvalid, words).from_provider(&record.id);
    error.provider_code = Some(code.to_owned());
    error
}

/// The record and the preset behind an id.
pub(super) fn look_up(id: &str, settings: &Settings) -> Result<(ProviderRecord, &'static Preset), Error> {
    if id.is_empty() {
        return Err(Error::new(ErrorCode::ModelNotFound, "No model is chosen. Choose one first."));
    }
    let record = settings.providers.iter().find(|record| record.id == id).cloned().unwrap_or_else(|| ProviderRecord {
        id: id.to_owned(),
        preset: id.to_owned(),
        ..ProviderRecord::default()
    });
    if let Some(preset) = preset(&record.preset) {
        return Ok((record, preset));
    }
    let known = known_ids(settings).join(", ");
    let words = format!("There is no provider named {id}. Choose one of: {known}.");
    Err(Error::new(ErrorCode::ModelNotFound, words))
}

/// Every id that can be asked for: what was set up, then the presets.
pub(super) fn known_ids(settings: &Settings) -> Vec<String> {
    let mut ids: Vec<String> = settings.providers.iter().map(|record| record.id.clone()).collect();
    for preset in catalog() {
        if ids.iter().all(|id| id != preset.id) {
            ids.push(preset.id.to_owned());
        }
    }
    ids
}

/// Where a provider is.
pub(super) fn base_url(record: &ProviderRecord, preset: &Preset, settings: &Settings) -> String {
    if !record.base_url.is_empty() {
        return record.base_url.clone();
    }
    match preset.kind {
        ProviderKind::Ollama => settings.models.ollama_url.clone(),
        ProviderKind::OpenAiCompatible | ProviderKind::Anthropic | ProviderKind::Guide => preset.default_url.to_owned(),
    }
}

/// What the person says of whether it is another machine; `None` leaves that to its address.
fn is_remote(record: &ProviderRecord, preset: &Preset, settings: &Settings) -> Option<bool> {
    let is_marked = preset.kind == ProviderKind::Ollama && settings.models.ollama_is_remote;
    record.is_remote.or(is_marked.then_some(true))
}

/// Scheme, host and port of a provider; `None` where it has none.
pub(super) fn origin_of(id: &str, settings: &Settings) -> Option<String> {
    origin_at(id, Place::default(), settings)
}

/// The same of a provider that may be asked at another address.
pub(super) fn origin_at(id: &str, place: Place<'_>, settings: &Settings) -> Option<String> {
    let (record, preset) = look_up(id, settings).ok()?;
    let url = place.base_url.map_or_else(|| base_url(&record, preset, settings), str::to_owned);
    (preset.kind != ProviderKind::Guide).then(|| address(preset.kind, &url).ok()).flatten().map(|found| found.origin())
}

/// How a provider is reached.
pub(super) fn network(record: &ProviderRecord, settings: &Settings) -> Network {
    let models = &settings.models;
    let ca_file = record.ca_file.as_ref().or(Some(&models.ca_file)).filter(|path| !path.is_empty());
    let seconds = |seconds: u32| (seconds > 0).then(|| Duration::from_secs(seconds.into()));
    Network {
        proxy: record.proxy.clone().unwrap_or_else(|| models.proxy.clone()),
        ca_file: ca_file.map(PathBuf::from),
        connect: seconds(models.connect_timeout_s),
        first_byte: seconds(models.first_byte_timeout_s),
        idle: seconds(models.idle_timeout_s),
    }
}

fn is_own_origin(preset: &Preset, origin: &str) -> bool {
    !preset.default_url.is_empty() && address(preset.kind, preset.default_url).is_ok_and(|own| own.origin() == origin)
}

/// The vendor's usual variable and what it holds, where the address is the vendor's own (or the vendor has none).
fn usual_variable(preset: &Preset, origin: &str) -> Option<(&'static str, Option<SecretKey>)> {
    if preset.key_variable.is_empty() || !is_own_origin(preset, origin) {
        return None;
    }
    let found = std::env::var(preset.key_variable).ok().and_then(|text| SecretKey::new(&text));
    Some((preset.key_variable, found))
}

/// The records with what is known beside the store: keys that come from the vendors' usual variables.
pub(super) fn with_variables(mut records: Vec<ProviderRecord>) -> Vec<ProviderRecord> {
    for record in &mut records {
        let Some(preset) = preset(&record.preset).filter(|_| record.key == KeyPlace::Nowhere) else { continue };
        let url = if record.base_url.is_empty() { preset.default_url } else { &record.base_url };
        let origin = address(preset.kind, url).map(|address| address.origin()).unwrap_or_default();
        if let Some((name, Some(_))) = usual_variable(preset, &origin) {
            record.key = KeyPlace::Variable { name: name.to_owned() };
        }
    }
    records
}

/// What a provider's model costs: as the person says, else as is known of the vendor.
pub(super) fn price_of(settings: &Settings, id: &str, model: &str) -> Option<Pricing> {
    let own = settings.models.prices.get(&format!("{id}/{model}")).cloned();
    own.or_else(|| price::known(look_up(id, settings).ok()?.1.id, model))
}

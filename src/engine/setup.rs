//! Providers being set up, changed and removed, and their keys: checked, kept, and in force at once.

use std::sync::Arc;

use crate::ir::{Error, KeyPlace, ProviderRecord};
use crate::port::{Event, Settings};
use crate::provider::{ProviderKind, address, preset};
use crate::secret::SecretKey;

use super::fault::Fault;
use super::model;
use super::provider::{base_url, look_up, with_variables};
use super::shared::Shared;

/// Longest name of a provider, in characters.
const LONGEST_NAME: usize = 64;

/// Sets a provider up, or changes one. Its key stays with the origin that it was entered for.
pub(super) async fn put(shared: &Arc<Shared>, mut record: ProviderRecord) -> Result<(), Fault> {
    tidy(&mut record);
    check(&record)?;
    let settings = shared.settings();
    let known = settings.providers.iter().find(|known| known.id == record.id);
    record.key = known.map_or(KeyPlace::Nowhere, |known| known.key.clone());
    keep(shared, record.clone()).await?;
    model::refresh(shared, Some(record.id));
    Ok(())
}

/// Forgets a provider and its key.
pub(super) async fn remove(shared: &Shared, id: &str) -> Result<(), Fault> {
    let mut settings = shared.settings();
    let record = find(&settings, id)?;
    // A keyring that does not answer keeps nobody from removing a provider; the person is told what stays there.
    let left = shared.keys.forget(id, &record.key).await;
    shared.store.remove_provider(id).await?;
    settings.providers.retain(|known| known.id != id);
    apply(shared, settings).await;
    match left {
        Ok(()) => Ok(()),
        Err(problem) => Err(Fault::new("fault-key-left", problem.to_string()).with("provider", id)),
    }
}

/// Keeps a key for the provider's present origin. A preset that is not set up yet is set up by it.
pub(super) async fn set_key(shared: &Arc<Shared>, id: &str, key: SecretKey) -> Result<(), Fault> {
    let settings = shared.settings();
    let unknown = |_| Fault::new("fault-provider-unknown", "").with("provider", id);
    let (mut record, preset) = look_up(id, &settings).map_err(unknown)?;
    check(&record)?;
    let url = base_url(&record, preset, &settings);
    let origin = address(preset.kind, &url).map_err(|error| address_fault(error, id))?.origin();
    if record.key.origin().is_some_and(|other| other != origin)
        && let Err(problem) = shared.keys.forget(id, &record.key).await
    {
        tracing::warn!(%problem, id, "the key of the former origin is left in the keyring");
    }
    let (place, problem) = shared.keys.keep(id, &origin, key).await;
    record.key = place;
    keep(shared, record).await?;
    let problem = problem.map(|problem| problem.to_string());
    shared.publish(Event::KeyKept { provider: id.to_owned(), problem }).await;
    model::refresh(shared, Some(id.to_owned()));
    Ok(())
}

/// Forgets the provider's key.
pub(super) async fn remove_key(shared: &Shared, id: &str) -> Result<(), Fault> {
    let mut record = find(&shared.settings(), id)?;
    if let Err(problem) = shared.keys.forget(id, &record.key).await {
        return Err(Fault::new("fault-key-left", problem.to_string()).with("provider", id));
    }
    record.key = KeyPlace::Nowhere;
    keep(shared, record).await
}

/// What is stored, with what is known beside the store.
pub(super) fn known(records: Vec<ProviderRecord>) -> Vec<ProviderRecord> {
    with_variables(records)
}

async fn keep(shared: &Shared, record: ProviderRecord) -> Result<(), Fault> {
    shared.store.put_provider(&record).await?;
    let mut settings = shared.settings();
    for record in with_variables(vec![record]) {
        match settings.providers.iter_mut().find(|known| known.id == record.id) {
            Some(known) => *known = record,
            None => settings.providers.push(record),
        }
    }
    apply(shared, settings).await;
    Ok(())
}

async fn apply(shared: &Shared, settings: Settings) {
    shared.models.forget();
    shared.settings.send_replace(settings.clone());
    shared.publish(Event::SettingsChanged(Box::new(settings))).await;
}

fn find(settings: &Settings, id: &str) -> Result<ProviderRecord, Fault> {
    let found = settings.providers.iter().find(|record| record.id == id).cloned();
    found.ok_or_else(|| Fault::new("fault-provider-unknown", "").with("provider", id))
}

fn tidy(record: &mut ProviderRecord) {
    for text in [&mut record.id, &mut record.base_url] {
        *text = text.trim().to_owned();
    }
    record.ca_file = record.ca_file.take().map(|path| path.trim().to_owned()).filter(|path| !path.is_empty());
}

fn check(record: &ProviderRecord) -> Result<(), Fault> {
    let id = &record.id;
    let is_name = id.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && (1..=LONGEST_NAME).contains(&id.chars().count());
    if !is_name {
        return Err(Fault::new("fault-provider-name", "").with("provider", id));
    }
    let unknown = || Fault::new("fault-provider-unknown", "").with("provider", &record.preset);
    let kind = preset(&record.preset).ok_or_else(unknown)?.kind;
    // These two are always there, and a preset's name must stand for that preset.
    let is_taken = ["ollama", "guide"].contains(&id.as_str()) || kind == ProviderKind::Guide;
    if is_taken || (preset(id).is_some() && *id != record.preset) {
        return Err(Fault::new("fault-provider-taken", "").with("provider", id));
    }
    let default_url = preset(&record.preset).map_or("", |preset| preset.default_url);
    let url = if record.base_url.is_empty() { default_url } else { &record.base_url };
    if url.is_empty() {
        return Err(Fault::new("fault-provider-no-address", "").with("provider", id));
    }
    match address(kind, url) {
        Ok(_) => Ok(()),
        Err(error) => Err(address_fault(error, id)),
    }
}

/// Why an address is not taken.
pub(super) fn address_fault(error: Error, provider: &str) -> Fault {
    let text = match error.provider_code.as_deref() {
        Some("key_in_address") => "fault-provider-key-in-address",
        Some(_) | None => "fault-provider-address",
    };
    Fault::new(text, error.message).with("provider", provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(id: &str, preset: &str, base_url: &str) -> Option<&'static str> {
        let record = ProviderRecord {
            id: id.into(),
            preset: preset.into(),
            base_url: base_url.into(),
            ..ProviderRecord::default()
        };
        check(&record).err().map(|fault| fault.key)
    }

    #[test]
    fn a_provider_has_a_plain_name_of_its_own_and_an_address_that_may_be_reached() {
        assert_eq!(problem("openai", "openai", ""), None);
        assert_eq!(problem("公司", "openai-compatible", "https://llm.example.com/v1"), None);
        assert_eq!(problem("lab", "ollama", "http://192.168.1.7:11434"), None);
        assert_eq!(problem("", "openai", ""), Some("fault-provider-name"));
        assert_eq!(problem("a b", "openai", ""), Some("fault-provider-name"));
        assert_eq!(problem("x", "no-such", ""), Some("fault-provider-unknown"));
        assert_eq!(problem("openai", "deepseek", ""), Some("fault-provider-taken"));
        assert_eq!(problem("ollama", "ollama", ""), Some("fault-provider-taken"));
        assert_eq!(problem("mine", "openai-compatible", ""), Some("fault-provider-no-address"));
        for refused in ["http://169.254.169.254/", "file:///etc/passwd", "http://8.8.8.8"] {
            assert_eq!(problem("mine", "openai-compatible", refused), Some("fault-provider-address"), "{refused}");
        }
        for keyed in ["https://u:p@x.example", "https://x.example/v1?api_key=Zq7Lm2", "127.0.0.1:8080?token=Zq7Lm2"] {
            for preset in ["openai-compatible", "ollama", "anthropic"] {
                assert_eq!(problem("mine", preset, keyed), Some("fault-provider-key-in-address"), "{preset} {keyed}");
            }
        }
    }
}

//! Providers as the window shows and changes them: set up from presets, with keys that pass through and are not kept here.

use crate::ir::{KeyPlace, ModelInfo, Pricing, ProviderRecord, Support};
use crate::port::{Command, PresetInfo};
use crate::secret::SecretKey;

use super::models::{GUIDE, OLLAMA};
use super::{AppState, Reaction, SettingsPage};

/// What is half-made on the page of the models.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderDesk {
    /// The preset that a new provider is made from.
    pub adding: Option<PresetInfo>,
    /// The provider whose details are open.
    pub open: Option<String>,
}

impl AppState {
    /// A provider that was set up.
    pub fn provider(&self, id: &str) -> Option<&ProviderRecord> {
        self.settings.providers.iter().find(|record| record.id == id)
    }

    /// The preset behind an id.
    pub fn preset(&self, id: &str) -> Option<&PresetInfo> {
        let preset = self.provider(id).map_or(id, |record| record.preset.as_str());
        self.presets.iter().find(|known| known.id == preset)
    }

    /// What a provider is called where the person gave it no name of its own: its preset's name.
    pub fn provider_title<'state>(&'state self, id: &'state str) -> &'state str {
        self.preset(id).filter(|preset| preset.id == id).map_or(id, |preset| preset.name.as_str())
    }

    /// The presets that can be set up.
    pub fn addable_presets(&self) -> impl Iterator<Item = &PresetInfo> {
        self.presets.iter().filter(|preset| preset.id != GUIDE)
    }

    /// A name for a new provider of this preset that is free.
    pub fn free_name(&self, preset: &str) -> String {
        let is_taken = |name: &str| [OLLAMA, GUIDE].contains(&name) || self.provider(name).is_some();
        let numbered = (2..100).map(|number| format!("{preset}-{number}"));
        std::iter::once(preset.to_owned()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
    }

    /// What a model costs, by the person's own words or else by what is known of it.
    pub fn price_of<'a>(&'a self, model: &'a ModelInfo) -> Option<&'a Pricing> {
        let own = self.settings.models.prices.get(&format!("{}/{}", model.provider_id, model.id));
        own.or(model.pricing.as_ref())
    }

    /// Whether the open session's model is known to see no images.
    pub fn is_blind(&self) -> bool {
        let Some(session) = self.current() else { return false };
        if session.provider == GUIDE {
            return true;
        }
        let model = self.models.find(&session.provider, &session.model);
        model.is_some_and(|model| model.supports_images == Support::No)
    }

    pub(super) fn begin_provider(&mut self, preset: &str) -> Reaction {
        self.settings_page = Some(SettingsPage::Models);
        self.panel = None;
        self.desk.adding = self.presets.iter().find(|known| known.id == preset).cloned();
        self.desk.open = None;
        Reaction::none()
    }

    pub(super) fn open_provider(&mut self, id: Option<String>) -> Reaction {
        self.desk = ProviderDesk { adding: None, open: id };
        Reaction::none()
    }

    pub(super) fn put_provider(&mut self, record: ProviderRecord, key: Option<SecretKey>) -> Reaction {
        let id = record.id.trim().to_owned();
        self.models.tests.remove(&id);
        if self.desk.adding.take().is_some() {
            self.desk.open = None;
        }
        let mut reaction: Reaction = Command::PutProvider(Box::new(record)).into();
        if let Some(key) = key {
            reaction.commands.push(Command::SetKey { provider: id, key });
        }
        reaction
    }

    pub(super) fn remove_provider(&mut self, id: String) -> Reaction {
        self.desk.open = None;
        self.models.forget(&id);
        Command::RemoveProvider { id }.into()
    }

    pub(super) fn test_provider(&mut self, provider: String) -> Reaction {
        self.models.tests.insert(provider.clone(), None);
        Command::TestProvider { provider, model: None }.into()
    }

    pub(super) fn set_price(&mut self, model: String, price: Option<Pricing>, now: crate::ir::UnixMs) -> Reaction {
        let mut prices = self.settings.models.prices.clone();
        match price {
            Some(price) => drop(prices.insert(model, price)),
            None => drop(prices.remove(&model)),
        }
        match serde_json::to_value(prices) {
            Ok(value) => self.set_setting("models.prices", value, now),
            Err(_) => Reaction::none(),
        }
    }
}

/// Whether a key is missing that the provider does nothing without.
pub fn lacks_key(record: &ProviderRecord, preset: Option<&PresetInfo>) -> bool {
    record.key == KeyPlace::Nowhere && preset.is_some_and(|preset| preset.needs_key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Intent;
    use crate::app::test_support::open_state;
    use crate::ir::UnixMs;

    fn preset(id: &str, url: &str) -> PresetInfo {
        PresetInfo {
            id: id.into(),
            name: id.to_uppercase(),
            default_url: url.into(),
            takes_key: true,
            needs_key: !url.is_empty(),
            key_variable: String::new(),
            key_page: String::new(),
        }
    }

    fn record(id: &str, preset: &str) -> ProviderRecord {
        ProviderRecord { id: id.into(), preset: preset.into(), ..ProviderRecord::default() }
    }

    #[test]
    fn a_new_provider_is_sent_before_its_key() {
        let mut state = open_state();
        state.presets = vec![preset("openai", "https://api.openai.com/v1")];
        state.on_intent(Intent::BeginProvider("openai".into()), UnixMs(0));
        assert_eq!(state.settings_page, Some(SettingsPage::Models));
        assert_eq!(state.desk.adding.as_ref().map(|preset| preset.id.as_str()), Some("openai"));
        let key = SecretKey::new("sk-x").unwrap();
        let put = Intent::PutProvider { record: Box::new(record("openai", "openai")), key: Some(key.clone()) };
        assert_eq!(
            state.on_intent(put, UnixMs(0)).commands,
            [
                Command::PutProvider(Box::new(record("openai", "openai"))),
                Command::SetKey { provider: "openai".into(), key },
            ]
        );
        assert_eq!(state.desk, ProviderDesk::default());
    }

    #[test]
    fn names_are_free_and_titles_are_the_presets_own() {
        let mut state = open_state();
        state.presets = vec![preset("openai", "https://api.openai.com/v1"), preset("ollama", "")];
        assert_eq!((state.free_name("openai"), state.free_name("ollama")), ("openai".into(), "ollama-2".into()));
        state.settings.providers = vec![record("openai", "openai"), record("work", "openai")];
        assert_eq!(state.free_name("openai"), "openai-2");
        assert_eq!([state.provider_title("openai"), state.provider_title("work")], ["OPENAI", "work"]);
        assert!(lacks_key(&state.settings.providers[1], state.preset("work")));
    }
}

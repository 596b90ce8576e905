//! What is known of providers, their models and downloads.

use std::collections::BTreeMap;

use crate::ir::{Error, ModelInfo, ProviderRecord, Support, UnixMs};
use crate::port::{Command, Diagnosis, ModelsState};

use super::toast::Tone;
use super::{AppState, Panel, Reaction};

/// The provider that needs nothing installed and is no AI model.
pub const GUIDE: &str = "guide";
/// The provider on this computer.
pub const OLLAMA: &str = "ollama";

/// Providers, their models, running downloads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Models {
    /// By provider.
    pub providers: BTreeMap<String, ModelsState>,
    /// The last list of a provider that is being asked again, so that nothing flickers.
    pub last: BTreeMap<String, Vec<ModelInfo>>,
    /// By provider and model.
    pub pulls: BTreeMap<(String, String), Pull>,
    /// What was found when a connection was looked at, by provider; `None` while it is being looked at.
    pub tests: BTreeMap<String, Option<Diagnosis>>,
}

/// One download.
#[derive(Debug, Clone, PartialEq)]
pub struct Pull {
    /// The provider's own word for what it does now.
    pub status: String,
    pub completed_bytes: u64,
    /// 0 while unknown.
    pub total_bytes: u64,
    pub error: Option<Error>,
}

impl Models {
    /// The models of a provider, as far as known.
    pub fn of(&self, provider: &str) -> &[ModelInfo] {
        match self.providers.get(provider) {
            Some(ModelsState::Ready(models)) => models,
            Some(ModelsState::Loading) => self.last.get(provider).map(Vec::as_slice).unwrap_or_default(),
            Some(ModelsState::Failed(_)) | None => &[],
        }
    }

    /// One model.
    pub fn find(&self, provider: &str, model: &str) -> Option<&ModelInfo> {
        self.of(provider).iter().find(|info| info.id == model)
    }

    /// The model to offer first: one that can use tools, else any.
    pub fn best_of(&self, provider: &str) -> Option<&ModelInfo> {
        let models = self.of(provider);
        models.iter().find(|info| info.supports_tool_calling == Support::Yes).or_else(|| models.first())
    }

    /// A provider that was removed is nobody's any more.
    pub(super) fn forget(&mut self, provider: &str) {
        self.providers.remove(provider);
        self.last.remove(provider);
        self.tests.remove(provider);
    }

    /// Leaves out the providers that are no longer set up.
    pub(super) fn keep_only(&mut self, records: &[ProviderRecord]) {
        let is_there = |id: &str| [OLLAMA, GUIDE].contains(&id) || records.iter().any(|record| record.id == id);
        self.providers.retain(|id, _| is_there(id));
        self.tests.retain(|id, _| is_there(id));
    }

    pub(super) fn tested(&mut self, found: Diagnosis) {
        self.tests.insert(found.provider.clone(), Some(found));
    }

    pub(super) fn refresh(&mut self, provider: Option<&str>) {
        let names: Vec<String> = if let Some(name) = provider {
            vec![name.to_owned()]
        } else {
            let known = [OLLAMA, GUIDE].into_iter().chain(self.providers.keys().map(String::as_str));
            known.map(str::to_owned).collect()
        };
        for name in names {
            self.change(name, ModelsState::Loading);
        }
    }

    pub(super) fn change(&mut self, provider: String, state: ModelsState) {
        if let ModelsState::Ready(models) = &state {
            self.last.insert(provider.clone(), models.clone());
        }
        self.providers.insert(provider, state);
    }
}

impl AppState {
    pub(super) fn choose_model(&mut self, provider: String, model: String) -> Reaction {
        self.panel = self.panel.filter(|panel| *panel != Panel::Models);
        let mut reaction = self.with_selected(|session| Command::SetModel {
            session,
            provider: provider.clone(),
            model: model.clone(),
        });
        // The first choice is also the one for new chats; later ones are made in Settings.
        if self.settings.models.default_model.is_empty() {
            for (key, value) in [("models.default_provider", provider), ("models.default_model", model)] {
                reaction.commands.push(Command::SetSetting { key: key.to_owned(), value: value.into() });
            }
        }
        reaction.actions.push(super::HostAction::FocusComposer);
        reaction
    }

    pub(super) fn key_kept(&mut self, provider: String, problem: Option<String>, now: UnixMs) -> Reaction {
        match problem {
            None => self.toasts.say(Tone::Good, "notice-key-kept", vec![("provider", provider)], now),
            Some(detail) => {
                let args = vec![("provider", provider), ("detail", detail)];
                self.toasts.say(Tone::Warn, "notice-key-for-run", args, now);
            }
        }
        Reaction::none()
    }

    pub(super) fn pull_model(&mut self, provider: String, model: &str) -> Reaction {
        let model = model.trim().to_owned();
        if model.is_empty() {
            return Reaction::none();
        }
        let pull = Pull { status: String::new(), completed_bytes: 0, total_bytes: 0, error: None };
        self.models.pulls.insert((provider.clone(), model.clone()), pull);
        Command::PullModel { provider, model }.into()
    }

    #[expect(clippy::too_many_arguments, reason = "the event's own fields")]
    pub(super) fn pull_progressed(
        &mut self,
        provider: String,
        model: String,
        status: String,
        (completed_bytes, total_bytes): (u64, u64),
        is_done: bool,
        error: Option<Error>,
        now: UnixMs,
    ) -> Reaction {
        let key = (provider, model);
        if is_done && error.is_none() {
            if self.models.pulls.remove(&key).is_some() {
                self.toasts.say(Tone::Good, "notice-model-downloaded", vec![("model", key.1)], now);
            }
            return Reaction::none();
        }
        self.models.pulls.insert(key, Pull { status, completed_bytes, total_bytes, error });
        Reaction::none()
    }
}

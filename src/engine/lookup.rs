//! Questions without a session: the tools there are, a provider's models, whether it can be reached.

use std::path::Path;

use crate::ir::{Error, ErrorCode, ModelInfo, ToolDef};
use crate::policy::{self, FolderConcern, Platform, Surroundings};
use crate::port::{PresetInfo, Settings};
use crate::provider::{KeyUse, Preset};

use super::provider::{Place, ProviderSource, known_ids};

/// Every tool that there is, as models are told of it.
pub fn tool_definitions() -> Vec<ToolDef> {
    crate::tool::all().iter().map(|tool| tool.definition()).collect()
}

/// What to warn of before a folder is allowed, if anything.
pub fn folder_concern(folder: &Path) -> Option<FolderConcern> {
    let home = directories::BaseDirs::new().map(|folders| folders.home_dir().to_path_buf());
    let surroundings = Surroundings { home, data_dir: None, platform: Platform::current() };
    policy::folder_concern(folder, &surroundings)
}

/// The ids of the providers that can be asked: those that were set up, then the presets.
pub fn provider_ids(settings: &Settings) -> Vec<String> {
    known_ids(settings)
}

/// The providers that can be set up.
pub fn presets() -> impl Iterator<Item = &'static Preset> {
    crate::provider::catalog().iter()
}

/// The same, as front ends are told.
pub(super) fn preset_infos() -> Vec<PresetInfo> {
    let info = |preset: &Preset| PresetInfo {
        id: preset.id.to_owned(),
        name: preset.display_name.to_owned(),
        default_url: preset.default_url.to_owned(),
        takes_key: preset.key != KeyUse::None,
        needs_key: preset.key == KeyUse::Needed,
        key_variable: preset.key_variable.to_owned(),
        key_page: preset.key_page.to_owned(),
    };
    presets().map(info).collect()
}

/// The model of a provider that has only ever one (the built-in guide).
pub fn only_model(provider: &str) -> Option<&'static str> {
    crate::provider::catalog().iter().find(|preset| preset.id == provider)?.only_model
}

/// A provider's models, as it lists them itself. Waits.
///
/// # Errors
/// When there is no such provider or it cannot be reached.
pub fn list_models(
    source: &dyn ProviderSource,
    id: &str,
    place: Place<'_>,
    settings: &Settings,
) -> Result<Vec<ModelInfo>, Error> {
    runtime()?.block_on(async { source.provider(id, place, settings).await?.list_models().await })
}

/// What a provider says of itself, for example its version. Waits.
///
/// # Errors
/// When there is no such provider or it cannot be reached.
pub fn check_health(
    source: &dyn ProviderSource,
    id: &str,
    place: Place<'_>,
    settings: &Settings,
) -> Result<String, Error> {
    runtime()?.block_on(async { source.provider(id, place, settings).await?.health_check().await })
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::new(ErrorCode::Unknown, format!("The runtime could not be started: {error}")))
}

//! Settings: checked, kept, and in force at once.

use serde_json::Value;

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, is_guarded_setting};
use crate::port::{Event, Settings, SettingsError};
use crate::provider::{ProviderKind, address};
use crate::tool::Limits;

use super::fault::Fault;
use super::folder;
use super::setup::address_fault;
use super::shared::Shared;

/// The folders that a new session begins with.
const FOLDERS: &str = "safety.folders";

/// Changes a setting as the person wants it.
pub(super) async fn set(shared: &Shared, key: &str, value: Value) -> Result<(), Fault> {
    if key == FOLDERS
        && let Ok(named) = serde_json::from_value(value.clone())
    {
        let folders = folder::settled(named, shared.settings().safety.folders).await;
        return put(shared, key, folders.into()).await;
    }
    put(shared, key, value).await
}

async fn put(shared: &Shared, key: &str, value: Value) -> Result<(), Fault> {
    let mut settings = shared.settings();
    settings.set(key, value.clone())?;
    check(key, &settings)?;
    refuse_key(key, &settings)?;
    shared.store.set_setting_audited(key, Some(&value), line(shared, key, Some(&value))).await?;
    apply(shared, settings).await;
    Ok(())
}

pub(super) async fn reset(shared: &Shared, key: &str) -> Result<(), Fault> {
    let defaults = Settings::default().entries();
    let default = defaults.get(key).ok_or_else(|| SettingsError::UnknownKey { key: key.to_owned() })?;
    let mut settings = shared.settings();
    settings.set(key, default.clone())?;
    shared.store.set_setting_audited(key, None, line(shared, key, None)).await?;
    apply(shared, settings).await;
    Ok(())
}

/// The audit's line about a setting that decisions rest on; none for all others. The value is told where it is a word or
/// a number: lists may hold paths.
fn line(shared: &Shared, key: &str, value: Option<&Value>) -> Option<AuditEntry> {
    if !is_guarded_setting(key) {
        return None;
    }
    let detail = match value {
        Some(value @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Null)) => {
            format!("{key} = {value}")
        }
        Some(Value::Array(_) | Value::Object(_)) => key.to_owned(),
        None => format!("{key} = (default)"),
    };
    let entry = AuditEntry::new(shared.now(), AuditAct::SettingChanged, AuditOrigin::Person);
    Some(AuditEntry { detail, ..entry })
}

/// The folders that a new session begins with are the last used ones.
pub(super) async fn remember_folders(shared: &Shared, folders: Vec<String>) -> Result<(), Fault> {
    put(shared, FOLDERS, Value::from(folders)).await
}

/// The first model that is ever chosen is the one of new chats.
pub(super) async fn adopt_model(shared: &Shared, provider: &str, model: &str) -> Result<(), Fault> {
    if !shared.settings().models.default_model.is_empty() || model.is_empty() {
        return Ok(());
    }
    set(shared, "models.default_provider", Value::from(provider)).await?;
    set(shared, "models.default_model", Value::from(model)).await
}

/// What the types alone do not hold.
fn check(key: &str, settings: &Settings) -> Result<(), SettingsError> {
    let bad = |problem: String| Err(SettingsError::BadValue { key: key.to_owned(), problem });
    if let Err(error) = serde_json::from_value::<Limits>(settings.tools.limits.clone()) {
        return bad(error.to_string());
    }
    if settings.models.max_rounds == 0 {
        return bad("at least one round is needed".to_owned());
    }
    let patience =
        [settings.models.connect_timeout_s, settings.models.first_byte_timeout_s, settings.models.idle_timeout_s];
    if !patience.iter().all(|seconds| *seconds <= 86_400) {
        return bad("a wait is a day at most".to_owned());
    }
    if settings.safety.answer_within_s > 604_800 {
        return bad("a question waits for a week at most, or 0: for as long as it takes".to_owned());
    }
    if settings.models.num_ctx < 512 {
        return bad("a model needs at least 512 tokens of context".to_owned());
    }
    if !(0.0..=2.0).contains(&settings.models.temperature) {
        return bad("a temperature is from 0 to 2".to_owned());
    }
    if settings.safety.undo_days == 0 {
        return bad("changes are kept for at least a day".to_owned());
    }
    if !(0.5..=4.0).contains(&settings.general.ui_scale) {
        return bad("a scale is from 0.5 to 4".to_owned());
    }
    let sizes = [settings.general.message_font_size, settings.general.code_font_size];
    if !sizes.iter().all(|size| (6.0..=48.0).contains(size)) {
        return bad("a font size is from 6 to 48 points".to_owned());
    }
    Ok(())
}

/// An address is kept in clear, so it may hold no key.
fn refuse_key(key: &str, settings: &Settings) -> Result<(), Fault> {
    match address(ProviderKind::Ollama, &settings.models.ollama_url) {
        Err(error) if key == "models.ollama_url" && error.provider_code.as_deref() == Some("key_in_address") => {
            Err(address_fault(error, "ollama"))
        }
        Err(_) | Ok(_) => Ok(()),
    }
}

async fn apply(shared: &Shared, settings: Settings) {
    shared.models.forget();
    shared.settings.send_replace(settings.clone());
    shared.publish(Event::SettingsChanged(Box::new(settings))).await;
}

impl From<SettingsError> for Fault {
    fn from(error: SettingsError) -> Self {
        let detail = error.to_string();
        match error {
            SettingsError::UnknownKey { key } => Self::new("fault-setting-unknown", detail).with("key", key),
            SettingsError::BadValue { key, .. } => Self::new("fault-setting-value", detail).with("key", key),
        }
    }
}

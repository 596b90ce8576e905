//! Providers on the page of the models: Ollama, those that were set up, the form for a new one. A key is typed into a field
//! that shows dots and keeps nothing: it goes to the keyring, and the field is wiped.

use std::fmt;

use egui::{Color32, Id, Key, TextEdit, Ui};
use serde_json::json;
use zeroize::{Zeroize as _, Zeroizing};

use crate::app::Intent;
use crate::app::models::OLLAMA;
use crate::app::provider::lacks_key;
use crate::ir::{KeyPlace, ProviderRecord, Proxy};
use crate::lang::Arg;
use crate::port::{Diagnosis, ModelsState, PresetInfo, Sentence};
use crate::secret::SecretKey;
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::sentence;
use crate::ui::widget::{Badge, Button, Link, MenuRow, Select, TextField, Tone, menu};

use super::{SettingsView, dotted_row, field, row};

/// What is half-typed about providers.
#[derive(Debug, Default)]
pub(super) struct ProviderView {
    /// The provider (or, for a new one, the preset) that the fields are about.
    about: String,
    name: String,
    url: String,
    ca_file: String,
    proxy: String,
    key: TypedKey,
}

/// A key while it is typed.
#[derive(Default)]
struct TypedKey(Zeroizing<String>);

impl fmt::Debug for TypedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TypedKey(…)")
    }
}

impl TypedKey {
    fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// Takes the key out and wipes the field.
    fn take(&mut self, ui: &Ui) -> Option<SecretKey> {
        let key = SecretKey::new(&self.0);
        self.0.zeroize();
        TextEdit::store_state(ui.ctx(), key_field(), egui::text_edit::TextEditState::default());
        key
    }
}

fn key_field() -> Id {
    Id::unique("provider key")
}

impl ProviderView {
    /// Begins with another provider: nothing that was typed for the last one stays.
    fn begin(&mut self, ui: &Ui, about: &str, fill: impl FnOnce(&mut Self)) {
        if self.about != about {
            self.key.take(ui);
            *self = Self { about: about.to_owned(), ..Self::default() };
            fill(self);
        }
    }
}

/// Ollama on this computer, or wherever its address says.
pub(super) fn ollama(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    let (words, color, is_busy) = health(scene, OLLAMA, scene.state.models.of(OLLAMA).len());
    let stored = scene.state.settings.models.ollama_url.clone();
    let theme = scene.theme;
    let mut tests = false;
    let (response, typed) = dotted_row(ui, theme, color, lang.text("provider-ollama"), &words, |ui| {
        let name = lang.text("settings-ollama-url");
        let typed = field(ui, view, "models.ollama_url", name, &stored, |field| field.mono().width(260.0));
        tests = ui.add(Button::secondary(lang.text("settings-test")).busy(is_busy)).clicked();
        typed
    });
    let is_changed = typed.trim() != stored && !typed.trim().is_empty();
    if is_changed && (response.lost_focus() || tests) {
        scene.push(Intent::SetSetting { key: "models.ollama_url", value: json!(typed.trim()) });
    }
    if tests {
        scene.push(Intent::RefreshModels(Some(OLLAMA.to_owned())));
        scene.push(Intent::TestProvider(OLLAMA.to_owned()));
    }
    advice(ui, scene, OLLAMA);
}

/// The built-in guide.
pub(super) fn guide(ui: &mut Ui, scene: &Scene<'_>) {
    let lang = scene.lang;
    let color = scene.theme.colors.good;
    dotted_row(ui, scene.theme, color, lang.text("provider-guide"), lang.text("settings-guide-help"), |ui| {
        ui.add(Badge::new(lang.text("settings-always-there"), Tone::Neutral))
    });
}

/// Those that were set up.
pub(super) fn configured(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let state = scene.state;
    for record in &state.settings.providers {
        let is_open = state.desk.open.as_deref() == Some(record.id.as_str());
        one(ui, scene, record, is_open);
        advice(ui, scene, &record.id);
        if is_open {
            details(ui, scene, &mut view.provider, record);
        }
    }
}

fn one(ui: &mut Ui, scene: &mut Scene<'_>, record: &ProviderRecord, is_open: bool) {
    let lang = scene.lang;
    let state = scene.state;
    let preset = state.preset(&record.id);
    let (words, color, is_busy) = if lacks_key(record, preset) && !state.models.tests.contains_key(&record.id) {
        (lang.text("settings-key-missing").to_owned(), scene.theme.colors.faint, false)
    } else {
        health(scene, &record.id, state.models.of(&record.id).len())
    };
    let url = shown_url(record, preset);
    let help = format!("{url} · {words}");
    let title = state.provider_title(&record.id);
    let (edit, test) = dotted_row(ui, scene.theme, color, title, &help, |ui| {
        let name = format!("{}, {title}", lang.text("settings-test"));
        let test = ui.add(Button::secondary(lang.text("settings-test")).name(&name).busy(is_busy)).clicked();
        let text = lang.text(if is_open { "settings-provider-close" } else { "settings-provider-edit" });
        let name = format!("{text}, {title}");
        (ui.add(Button::secondary(text).name(&name)).clicked(), test)
    });
    if edit {
        scene.push(Intent::OpenProvider((!is_open).then(|| record.id.clone())));
    }
    if test {
        scene.push(Intent::TestProvider(record.id.clone()));
        scene.push(Intent::RefreshModels(Some(record.id.clone())));
    }
}

fn shown_url<'text>(record: &'text ProviderRecord, preset: Option<&'text PresetInfo>) -> &'text str {
    if record.base_url.is_empty() { preset.map_or("", |preset| preset.default_url.as_str()) } else { &record.base_url }
}

/// How a provider is, in a few words, with the colour of its dot and whether it is being asked.
fn health(scene: &Scene<'_>, id: &str, count: usize) -> (String, Color32, bool) {
    let (lang, colors) = (scene.lang, &scene.theme.colors);
    match scene.state.models.tests.get(id) {
        Some(None) => return (lang.text("settings-ollama-asking").to_owned(), colors.faint, true),
        Some(Some(found)) => {
            let color = if found.is_good { colors.good } else { colors.bad };
            return (filled(scene, &found.finding), color, false);
        }
        None => {}
    }
    match scene.state.models.providers.get(id) {
        Some(ModelsState::Ready(_)) => {
            (lang.format("settings-ollama-running", &[("count", Arg::from(count))]), colors.good, false)
        }
        Some(ModelsState::Failed(error)) => (sentence::error(lang, error), colors.bad, false),
        Some(ModelsState::Loading) => (lang.text("settings-ollama-asking").to_owned(), colors.faint, true),
        None => (lang.text("settings-not-asked").to_owned(), colors.faint, false),
    }
}

fn filled(scene: &Scene<'_>, sentence: &Sentence) -> String {
    scene.filled(sentence.key, &sentence.args)
}

/// What to do about a connection that does not work.
fn advice(ui: &mut Ui, scene: &mut Scene<'_>, id: &str) {
    let Some(Some(found)) = scene.state.models.tests.get(id) else { return };
    if found.is_good || (found.advice.is_empty() && found.detail.is_empty()) {
        return;
    }
    let words: Vec<String> = found.advice.iter().map(|advice| filled(scene, advice)).collect();
    let takes_over = better_url(ui, scene, found, &words.join("\n"));
    if takes_over
        && let Some(url) = &found.better_url
        && let Some(record) = scene.state.provider(id)
    {
        let record = Box::new(ProviderRecord { base_url: url.clone(), ..record.clone() });
        scene.push(Intent::PutProvider { record, key: None });
    }
}

fn better_url(ui: &mut Ui, scene: &Scene<'_>, found: &Diagnosis, words: &str) -> bool {
    let lang = scene.lang;
    let detail = crate::policy::escape(&found.detail, true);
    let title = if words.is_empty() { detail.as_ref() } else { words };
    let help = if words.is_empty() { "" } else { detail.as_ref() };
    row(ui, scene.theme, title, help, |ui| {
        found.better_url.is_some() && ui.add(Button::primary(lang.text("settings-use-address"))).clicked()
    })
}

/// The details of a provider that was set up.
fn details(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ProviderView, record: &ProviderRecord) {
    let lang = scene.lang;
    let preset = scene.state.preset(&record.id).cloned().unwrap_or_default();
    view.begin(ui, &record.id, |view| {
        view.url.clone_from(&record.base_url);
        view.ca_file = record.ca_file.clone().unwrap_or_default();
        view.proxy = address_of(record.proxy.as_ref());
    });
    let mut changed = None;
    let name = lang.text("settings-provider-url");
    let response = row(ui, scene.theme, name, lang.text("settings-provider-url-help"), |ui| {
        ui.add(TextField::new(&mut view.url, name).hint(&preset.default_url).mono().width(320.0))
    });
    if response.lost_focus() && view.url.trim() != record.base_url {
        changed = Some(ProviderRecord { base_url: view.url.trim().to_owned(), ..record.clone() });
    }
    if preset.takes_key || record.key != KeyPlace::Nowhere {
        key(ui, scene, view, record, &preset);
    }
    let name = lang.text("settings-ca-file");
    let response = row(ui, scene.theme, name, lang.text("settings-provider-ca-help"), |ui| {
        ui.add(TextField::new(&mut view.ca_file, name).mono().width(320.0))
    });
    let ca_file = Some(view.ca_file.trim().to_owned()).filter(|path| !path.is_empty());
    if response.lost_focus() && ca_file != record.ca_file {
        changed = Some(ProviderRecord { ca_file, ..record.clone() });
    }
    let asked = proxy_rows(ui, scene, &mut view.proxy, record.proxy.as_ref(), Inherit::FromAll);
    if let Some(wish) = asked {
        let proxy = match wish {
            ProxyWish::AsForAll => None,
            ProxyWish::This(proxy) => Some(proxy),
        };
        changed = Some(ProviderRecord { proxy, ..record.clone() });
    }
    let names = ["settings-remote-auto", "settings-remote-yes", "settings-remote-no"].map(|key| lang.text(key));
    let places = [None, Some(true), Some(false)];
    let current = places.iter().position(|place| *place == record.is_remote).unwrap_or(0);
    let (name, help) = (lang.text("settings-remote"), lang.text("settings-remote-help"));
    let chosen = super::general::choice(ui, scene, name, help, &names, current);
    if let Some(is_remote) = chosen.and_then(|index| places.get(index)) {
        changed = Some(ProviderRecord { is_remote: *is_remote, ..record.clone() });
    }
    let removes =
        row(ui, scene.theme, lang.text("settings-provider-remove"), lang.text("settings-provider-remove-help"), |ui| {
            ui.add(Button::danger(lang.text("settings-provider-remove")).icon(Icon::Trash)).clicked()
        });
    if removes {
        scene.push(Intent::RemoveProvider(record.id.clone()));
    } else if let Some(record) = changed {
        scene.push(Intent::PutProvider { record: Box::new(record), key: None });
    }
}

/// Whether *as for all* is among the choices of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inherit {
    /// One provider's own, or as for all.
    FromAll,
    /// What holds for all.
    Never,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProxyWish {
    AsForAll,
    This(Proxy),
}

/// The address of a proxy as its field begins.
pub(super) fn address_of(proxy: Option<&Proxy>) -> String {
    match proxy {
        Some(Proxy::Through(address)) => address.clone(),
        Some(Proxy::System | Proxy::Direct) | None => String::new(),
    }
}

/// A choice of how servers are reached and, for a proxy of one's own, its address; gives what is asked for.
pub(super) fn proxy_rows(
    ui: &mut Ui,
    scene: &Scene<'_>,
    typed: &mut String,
    current: Option<&Proxy>,
    inherit: Inherit,
) -> Option<ProxyWish> {
    let lang = scene.lang;
    let mut keys = vec!["settings-proxy-system", "settings-proxy-none", "settings-proxy-address"];
    if inherit == Inherit::FromAll {
        keys.push("settings-proxy-as-all");
    }
    let names: Vec<&str> = keys.iter().map(|key| lang.text(key)).collect();
    let at = match current {
        _ if !typed.is_empty() => 2,
        Some(Proxy::Through(_)) => 2,
        Some(Proxy::System) => 0,
        Some(Proxy::Direct) => 1,
        None => 3,
    };
    let (name, help) = (lang.text("settings-proxy"), lang.text("settings-proxy-help"));
    if let Some(chosen) = super::general::choice(ui, scene, name, help, &names, at) {
        if chosen == 2 {
            "http://".clone_into(typed);
            return None;
        }
        typed.clear();
        return Some(match chosen {
            0 => ProxyWish::This(Proxy::System),
            1 => ProxyWish::This(Proxy::Direct),
            _ => ProxyWish::AsForAll,
        });
    }
    if at != 2 {
        return None;
    }
    let proxy: Option<Proxy> = typed.trim().parse().ok().filter(|proxy| matches!(proxy, Proxy::Through(_)));
    let name = lang.text("settings-proxy-url");
    let response = row(ui, scene.theme, name, lang.text("settings-proxy-url-help"), |ui| {
        ui.add(TextField::new(typed, name).mono().width(320.0).wrong(proxy.is_none()))
    });
    let is_new = response.lost_focus() && proxy.as_ref() != current;
    proxy.filter(|_| is_new).map(ProxyWish::This)
}

fn key(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ProviderView, record: &ProviderRecord, preset: &PresetInfo) {
    let lang = scene.lang;
    let origin = |key: &str, origin: &str| lang.format(key, &[("origin", Arg::from(origin))]);
    let help = match &record.key {
        KeyPlace::Nowhere if preset.key_variable.is_empty() => lang.text("settings-key-none").to_owned(),
        KeyPlace::Nowhere => {
            lang.format("settings-key-none-variable", &[("variable", Arg::from(preset.key_variable.as_str()))])
        }
        KeyPlace::Keyring { origin: bound } => origin("settings-key-in-keyring", bound),
        KeyPlace::ThisRun { origin: bound } => origin("settings-key-in-memory", bound),
        KeyPlace::Variable { name } => {
            lang.format("settings-key-in-variable", &[("variable", Arg::from(name.as_str()))])
        }
    };
    let can_remove = record.key.origin().is_some();
    let (saves, removes) = row(ui, scene.theme, lang.text("settings-key"), &help, |ui| {
        let by_enter = key_input(ui, scene, &mut view.key);
        let removes = can_remove && ui.add(Button::ghost(lang.text("settings-key-remove"))).clicked();
        let saves = ui.add(Button::secondary(lang.text("settings-key-save")).disabled(view.key.is_empty())).clicked();
        (saves || by_enter, removes)
    });
    if saves && let Some(key) = view.key.take(ui) {
        scene.push(Intent::SetProviderKey { provider: record.id.clone(), key });
    }
    if removes {
        scene.push(Intent::RemoveProviderKey(record.id.clone()));
    }
    if record.key == KeyPlace::Nowhere {
        key_page(ui, scene, preset);
    }
}

/// The field of a key; gives whether Enter was pressed in it.
fn key_input(ui: &mut Ui, scene: &Scene<'_>, key: &mut TypedKey) -> bool {
    let name = scene.lang.text("settings-key");
    let field = TextField::new(&mut key.0, name).id(key_field()).password(true).mono().width(240.0);
    let response = ui.add(field.hint(scene.lang.text("settings-key-hint")));
    response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) && !key.is_empty()
}

fn key_page(ui: &mut Ui, scene: &mut Scene<'_>, preset: &PresetInfo) {
    if preset.key_page.is_empty() {
        return;
    }
    let lang = scene.lang;
    let opens = row(ui, scene.theme, lang.text("settings-key-page"), "", |ui| {
        ui.add(Link::new(&preset.key_page).address(&preset.key_page)).clicked()
    });
    if opens {
        scene.push(Intent::OpenLink(preset.key_page.clone()));
    }
}

/// The way to a new provider, and its form.
pub(super) fn add(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    let Some(preset) = scene.state.desk.adding.clone() else {
        let (name, help) = (lang.text("settings-provider-add"), lang.text("settings-provider-add-help"));
        let chosen = row(ui, scene.theme, name, help, |ui| {
            let button = ui.add(Button::secondary(name).icon(Icon::Plus));
            menu(&button, 340.0, |ui| preset_rows(ui, scene)).and_then(|shown| shown.inner)
        });
        if let Some(preset) = chosen {
            scene.push(Intent::BeginProvider(preset));
        }
        return;
    };
    form(ui, scene, &mut view.provider, &preset);
}

/// The presets as rows of a menu.
pub(in crate::ui) fn preset_rows(ui: &mut Ui, scene: &Scene<'_>) -> Option<String> {
    let mut chosen = None;
    egui::ScrollArea::vertical().max_height(360.0).auto_shrink([false, true]).show(ui, |ui| {
        for preset in scene.state.addable_presets() {
            let host = preset.default_url.split_once("://").map_or("", |(_, rest)| rest);
            let host = host.split('/').next().unwrap_or_default();
            if ui.add(MenuRow::new(&preset.name).detail(host)).clicked() {
                chosen = Some(preset.id.clone());
            }
        }
    });
    chosen
}

fn form(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ProviderView, preset: &PresetInfo) {
    let lang = scene.lang;
    view.begin(ui, &format!("new {}", preset.id), |view| view.name = scene.state.free_name(&preset.id));
    let title = lang.format("settings-provider-new", &[("preset", Arg::from(preset.name.as_str()))]);
    let chosen = row(ui, scene.theme, &title, lang.text("settings-provider-add-help"), |ui| {
        let (_, chosen) = Select::new(&preset.name, lang.text("settings-provider-kind"))
            .width(240.0)
            .show(ui, |ui| preset_rows(ui, scene));
        chosen.flatten()
    });
    if let Some(preset) = chosen {
        scene.push(Intent::BeginProvider(preset));
    }
    let name = lang.text("settings-provider-name");
    row(ui, scene.theme, name, lang.text("settings-provider-name-help"), |ui| {
        ui.add(TextField::new(&mut view.name, name).width(240.0))
    });
    let name = lang.text("settings-provider-url");
    let hint = if preset.default_url.is_empty() { "https://llm.example.com/v1" } else { &preset.default_url };
    row(ui, scene.theme, name, lang.text("settings-provider-url-help"), |ui| {
        ui.add(TextField::new(&mut view.url, name).hint(hint).mono().width(320.0))
    });
    let mut by_enter = false;
    if preset.takes_key {
        let help = if preset.key_variable.is_empty() {
            lang.text("settings-key-help").to_owned()
        } else {
            lang.format("settings-key-help-variable", &[("variable", Arg::from(preset.key_variable.as_str()))])
        };
        by_enter = row(ui, scene.theme, lang.text("settings-key"), &help, |ui| key_input(ui, scene, &mut view.key));
        key_page(ui, scene, preset);
    }
    let has_address = !preset.default_url.is_empty() || !view.url.trim().is_empty();
    let is_ready = has_address && !view.name.trim().is_empty();
    let (adds, cancels) = row(ui, scene.theme, "", "", |ui| {
        let cancels = ui.add(Button::ghost(lang.text("settings-provider-cancel"))).clicked();
        (ui.add(Button::primary(lang.text("settings-provider-save")).disabled(!is_ready)).clicked(), cancels)
    });
    if cancels {
        view.begin(ui, "", |_| {});
        scene.push(Intent::OpenProvider(None));
    } else if (adds || by_enter) && is_ready {
        let record = ProviderRecord {
            id: view.name.trim().to_owned(),
            preset: preset.id.clone(),
            base_url: view.url.trim().to_owned(),
            ..ProviderRecord::default()
        };
        let key = view.key.take(ui);
        view.begin(ui, "", |_| {});
        scene.push(Intent::PutProvider { record: Box::new(record), key });
    }
}

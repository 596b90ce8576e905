//! Where answers come from: providers with their models and downloads, the defaults of new chats, the way to the network.

use egui::Ui;
use serde_json::json;

use crate::app::Intent;
use crate::app::models::GUIDE;
use crate::app::rows::ModelRow;
use crate::ui::panel::model_picker::provider_name;
use crate::ui::panel::top_bar::{THINKING, thinking_key};
use crate::ui::scene::Scene;
use crate::ui::widget::{MenuRow, Select, menu_separator};

use super::general::choice;
use super::{SettingsView, field, group, heading, model_list, note, number_row, provider, row, switch_row, title};

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-page-models"), lang.text("settings-models-line"));
    group(ui, scene, |ui, scene| {
        provider::ollama(ui, scene, view);
        provider::configured(ui, scene, view);
        provider::guide(ui, scene);
        provider::add(ui, scene, view);
    });
    heading(ui, scene, lang.text("settings-installed"));
    group(ui, scene, |ui, scene| model_list::show(ui, scene, view));
    note(ui, scene, lang.text("settings-price-note"), scene.theme.colors.dim);
    heading(ui, scene, lang.text("settings-defaults"));
    group(ui, scene, |ui, scene| defaults(ui, scene, view));
    heading(ui, scene, lang.text("settings-network"));
    group(ui, scene, |ui, scene| network(ui, scene, view));
}

fn defaults(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    let models = scene.state.settings.models.clone();
    let (name, none) = (lang.text("settings-default-model"), lang.text("settings-default-none"));
    model_row(ui, scene, name, "", none, DEFAULT);
    let (name, help) = (lang.text("settings-fallback"), lang.text("settings-fallback-help"));
    model_row(ui, scene, name, help, lang.text("settings-fallback-none"), FALLBACK);
    number_row(
        ui,
        scene,
        view,
        "models.num_ctx",
        lang.text("settings-num-ctx"),
        lang.text("settings-num-ctx-help"),
        u64::from(models.num_ctx),
        512..=2_097_152,
    );
    let theme = scene.theme;
    let (name, help) = (lang.text("settings-keep-alive"), lang.text("settings-keep-alive-help"));
    let (response, typed) = row(ui, theme, name, help, |ui| {
        field(ui, view, "models.keep_alive", name, &models.keep_alive, |field| field.hint("5m").mono().width(120.0))
    });
    if response.lost_focus() && typed.trim() != models.keep_alive {
        scene.push(Intent::SetSetting { key: "models.keep_alive", value: json!(typed.trim()) });
    }
    let stored = format!("{}", models.temperature);
    let name = lang.text("settings-temperature");
    let parse = |text: &str| text.trim().parse::<f64>().ok().filter(|value| (0.0..=2.0).contains(value));
    let is_wrong = view.fields.get("models.temperature").is_some_and(|text| parse(text).is_none());
    let (response, typed) = row(ui, theme, name, lang.text("settings-temperature-help"), |ui| {
        field(ui, view, "models.temperature", name, &stored, |field| field.width(120.0).wrong(is_wrong))
    });
    if response.lost_focus()
        && let Some(value) = parse(&typed)
        && (value - models.temperature).abs() > f64::EPSILON
    {
        scene.push(Intent::SetSetting { key: "models.temperature", value: json!(value) });
    }
    let names = THINKING.map(|level| lang.text(thinking_key(level)));
    let current = THINKING.iter().position(|level| *level == models.thinking).unwrap_or(0);
    let (name, help) = (lang.text("settings-thinking"), lang.text("settings-thinking-help"));
    if let Some(level) = choice(ui, scene, name, help, &names, current).and_then(|index| THINKING.get(index)) {
        scene.push(Intent::SetSetting { key: "models.thinking", value: json!(level) });
    }
    let name = lang.text("settings-show-thinking");
    switch_row(ui, scene, "models.show_thinking", name, "", models.show_thinking);
    let (name, help) = (lang.text("settings-max-rounds"), lang.text("settings-max-rounds-help"));
    number_row(ui, scene, view, "models.max_rounds", name, help, u64::from(models.max_rounds), 1..=100);
}

/// The settings that hold a provider and a model.
type ModelKeys = (&'static str, &'static str);
const DEFAULT: ModelKeys = ("models.default_provider", "models.default_model");
const FALLBACK: ModelKeys = ("models.fallback_provider", "models.fallback_model");

/// A row in which a model of any provider is chosen, or none where that means something.
fn model_row(ui: &mut Ui, scene: &mut Scene<'_>, name: &str, help: &str, none: &str, keys: ModelKeys) {
    let lang = scene.lang;
    let settings = &scene.state.settings.models;
    let (provider, model) = if keys == FALLBACK {
        (&settings.fallback_provider, &settings.fallback_model)
    } else {
        (&settings.default_provider, &settings.default_model)
    };
    let shown =
        if model.is_empty() { none.to_owned() } else { format!("{model} · {}", provider_name(scene, provider)) };
    let chosen = row(ui, scene.theme, name, help, |ui| {
        let (_, chosen) = Select::new(&shown, name).width(260.0).show(ui, |ui| {
            let mut chosen = None;
            if keys == FALLBACK {
                if ui.add(MenuRow::new(none).checked(model.is_empty())).clicked() {
                    chosen = Some((String::new(), String::new()));
                }
                menu_separator(ui);
            }
            egui::ScrollArea::vertical().max_height(320.0).auto_shrink([false, true]).show(ui, |ui| {
                for row in &scene.rows.models {
                    if let ModelRow::Model { provider: of, id, name, .. } = row {
                        let is_current = id == model && of == provider;
                        let shown = if of == GUIDE { lang.text("picker-guide") } else { name };
                        let row = MenuRow::new(shown).detail(provider_name(scene, of)).checked(is_current);
                        if ui.add(row).clicked() {
                            chosen = Some((of.clone(), id.clone()));
                        }
                    }
                }
            });
            chosen
        });
        chosen.flatten()
    });
    if let Some((provider, model)) = chosen {
        scene.push(Intent::SetSetting { key: keys.0, value: json!(provider) });
        scene.push(Intent::SetSetting { key: keys.1, value: json!(model) });
    }
}

fn network(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    let models = scene.state.settings.models.clone();
    let theme = scene.theme;
    let proxy = &models.proxy;
    let typed = view.proxy.get_or_insert_with(|| provider::address_of(Some(proxy)));
    if let Some(provider::ProxyWish::This(proxy)) =
        provider::proxy_rows(ui, scene, typed, Some(proxy), provider::Inherit::Never)
    {
        scene.push(Intent::SetSetting { key: "models.proxy", value: json!(proxy) });
    }
    let (name, help) = (lang.text("settings-ca-file"), lang.text("settings-ca-file-help"));
    let (response, typed) = row(ui, theme, name, help, |ui| {
        field(ui, view, "models.ca_file", name, &models.ca_file, |field| field.mono().width(320.0))
    });
    if response.lost_focus() && typed.trim() != models.ca_file {
        scene.push(Intent::SetSetting { key: "models.ca_file", value: json!(typed.trim()) });
    }
    for (key, text, value) in [
        ("models.connect_timeout_s", "settings-connect-timeout", models.connect_timeout_s),
        ("models.first_byte_timeout_s", "settings-first-byte-timeout", models.first_byte_timeout_s),
        ("models.idle_timeout_s", "settings-idle-timeout", models.idle_timeout_s),
    ] {
        number_row(
            ui,
            scene,
            view,
            key,
            lang.text(text),
            lang.text("settings-timeout-help"),
            u64::from(value),
            0..=86_400,
        );
    }
}

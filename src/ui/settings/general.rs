//! Language, look, sizes, the key that sends.

use egui::Ui;
use serde_json::json;

use crate::app::Intent;
use crate::port::{Language, SendKey, StartsWith, Theme};
use crate::ui::scene::Scene;
use crate::ui::widget::{MenuRow, Select};

use super::{group, heading, row, switch_row, title};

const SCALES: [f32; 7] = [0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0];
const MESSAGE_SIZES: [f32; 6] = [12.0, 13.0, 14.0, 15.0, 16.0, 18.0];
const CODE_SIZES: [f32; 6] = [11.0, 12.0, 12.5, 13.0, 14.0, 16.0];

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-page-general"), lang.text("settings-general-line"));
    let general = scene.state.settings.general.clone();
    group(ui, scene, |ui, scene| {
        let languages = [
            (Language::System, lang.text("settings-language-system")),
            // A language is always named in itself, so that it can be found from any other.
            (Language::English, lang.text("settings-language-en")),
            (Language::Chinese, lang.text("settings-language-zh")),
        ];
        let tags = ["system", "en", "zh-CN"];
        let current = languages.iter().position(|(language, _)| *language == general.language).unwrap_or(0);
        let names = languages.map(|(_, name)| name);
        if let Some(index) = choice(ui, scene, lang.text("settings-language"), "", &names, current)
            && let Some(tag) = tags.get(index)
        {
            scene.push(Intent::SetSetting { key: "general.language", value: json!(tag) });
        }
        let themes = [Theme::System, Theme::Light, Theme::Dark];
        let names = ["settings-theme-system", "settings-theme-light", "settings-theme-dark"].map(|key| lang.text(key));
        let current = themes.iter().position(|theme| *theme == general.theme).unwrap_or(0);
        if let Some(theme) =
            choice(ui, scene, lang.text("settings-theme"), "", &names, current).and_then(|index| themes.get(index))
        {
            scene.push(Intent::SetSetting { key: "general.theme", value: json!(theme) });
        }
        sizes(ui, scene, "general.ui_scale", lang.text("settings-scale"), &SCALES, general.ui_scale, Unit::Percent);
        let (messages, code) = (general.message_font_size, general.code_font_size);
        sizes(
            ui,
            scene,
            "general.message_font_size",
            lang.text("settings-message-size"),
            &MESSAGE_SIZES,
            messages,
            Unit::Points,
        );
        sizes(ui, scene, "general.code_font_size", lang.text("settings-code-size"), &CODE_SIZES, code, Unit::Points);
        let (name, help) = (lang.text("settings-animations"), lang.text("settings-animations-help"));
        switch_row(ui, scene, "general.animations", name, help, general.animations);
    });
    heading(ui, scene, lang.text("settings-writing"));
    group(ui, scene, |ui, scene| {
        let names = [lang.text("settings-send-enter"), lang.text("settings-send-ctrl-enter")];
        let current = usize::from(general.send_key == SendKey::CtrlEnter);
        let (name, help) = (lang.text("settings-send-key"), lang.text("settings-send-key-help"));
        if let Some(index) = choice(ui, scene, name, help, &names, current) {
            let key = if index == 0 { SendKey::Enter } else { SendKey::CtrlEnter };
            scene.push(Intent::SetSetting { key: "general.send_key", value: json!(key) });
        }
    });
    heading(ui, scene, lang.text("settings-start"));
    group(ui, scene, |ui, scene| {
        let names = [lang.text("settings-starts-with-last"), lang.text("settings-starts-with-new")];
        let current = usize::from(general.starts_with == StartsWith::NewChat);
        if let Some(index) = choice(ui, scene, lang.text("settings-starts-with"), "", &names, current) {
            let starts_with = if index == 0 { StartsWith::LastChat } else { StartsWith::NewChat };
            scene.push(Intent::SetSetting { key: "general.starts_with", value: json!(starts_with) });
        }
        let name = lang.text("settings-show-sidebar");
        switch_row(ui, scene, "general.show_sidebar", name, "", general.show_sidebar);
    });
}

/// A row with a list of choices; gives the index of another choice.
pub(super) fn choice(
    ui: &mut Ui,
    scene: &Scene<'_>,
    name: &str,
    help: &str,
    names: &[&str],
    current: usize,
) -> Option<usize> {
    let shown = names.get(current).copied().unwrap_or_default();
    row(ui, scene.theme, name, help, |ui| {
        let (_, chosen) = Select::new(shown, name).width(220.0).show(ui, |ui| {
            let mut chosen = None;
            for (index, other) in names.iter().enumerate() {
                if ui.add(MenuRow::new(other).checked(index == current)).clicked() && index != current {
                    chosen = Some(index);
                }
            }
            chosen
        });
        chosen.flatten()
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Percent,
    Points,
}

fn sizes(ui: &mut Ui, scene: &mut Scene<'_>, key: &'static str, name: &str, sizes: &[f32], current: f32, unit: Unit) {
    let names: Vec<String> = sizes
        .iter()
        .map(|size| match unit {
            Unit::Percent => format!("{:.0} %", size * 100.0),
            Unit::Points => format!("{size} pt"),
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let at = sizes.iter().position(|size| (size - current).abs() < 0.01).unwrap_or(usize::MAX);
    if let Some(size) = choice(ui, scene, name, "", &names, at).and_then(|index| sizes.get(index)) {
        scene.push(Intent::SetSetting { key, value: json!(size) });
    }
}

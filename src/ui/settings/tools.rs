//! Which tools there are, how much harm each can do, and their limits.

use egui::Ui;
use serde_json::{Value, json};

use crate::app::Intent;
use crate::app::rows::bytes;
use crate::app::settings::TOOLS;
use crate::ir::RiskLevel;
use crate::ui::scene::Scene;
use crate::ui::theme::space;
use crate::ui::widget::{Badge, Switch, Tone};

use super::{SettingsView, group, heading, note, number_row, row, switch_row, title};

/// One limit: its name in the group, the keys of its name, its default and what it may be.
struct Limit {
    setting: &'static str,
    name: &'static str,
    default: u64,
    most: u64,
    is_bytes: bool,
}

const LIMITS: [Limit; 10] = [
    Limit {
        setting: "read_bytes",
        name: "settings-limit-read-bytes",
        default: 1_048_576,
        most: 16_777_216,
        is_bytes: true,
    },
    Limit { setting: "read_lines", name: "settings-limit-read-lines", default: 500, most: 20_000, is_bytes: false },
    Limit {
        setting: "write_bytes",
        name: "settings-limit-write-bytes",
        default: 5_242_880,
        most: 5_242_880,
        is_bytes: true,
    },
    Limit { setting: "list_entries", name: "settings-limit-list", default: 500, most: 10_000, is_bytes: false },
    Limit {
        setting: "search_file_bytes",
        name: "settings-limit-search-bytes",
        default: 512_000,
        most: 16_777_216,
        is_bytes: true,
    },
    Limit {
        setting: "search_files",
        name: "settings-limit-search-files",
        default: 50_000,
        most: 1_000_000,
        is_bytes: false,
    },
    Limit {
        setting: "search_matches_per_file",
        name: "settings-limit-matches",
        default: 10,
        most: 1_000,
        is_bytes: false,
    },
    Limit {
        setting: "command_output_bytes",
        name: "settings-limit-output",
        default: 102_400,
        most: 1_048_576,
        is_bytes: true,
    },
    Limit {
        setting: "command_timeout_ms",
        name: "settings-limit-timeout",
        default: 30_000,
        most: 120_000,
        is_bytes: false,
    },
    Limit {
        setting: "command_timeout_max_ms",
        name: "settings-limit-timeout-max",
        default: 120_000,
        most: 600_000,
        is_bytes: false,
    },
];

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-page-tools"), lang.text("settings-tools-line"));
    let is_enabled = scene.state.settings.tools.enabled;
    group(ui, scene, |ui, scene| {
        let (name, help) = (lang.text("settings-tools-master"), lang.text("settings-tools-master-help"));
        switch_row(ui, scene, "tools.enabled", name, help, is_enabled);
    });
    heading(ui, scene, lang.text("settings-tools-each"));
    group(ui, scene, |ui, scene| {
        for tool in TOOLS {
            let mut is_on = !scene.state.settings.tools.disabled.iter().any(|name| name == tool.name);
            let changed = row(ui, scene.theme, tool.name, lang.text(tool.key), |ui| {
                let tone = match tool.risk {
                    RiskLevel::Safe | RiskLevel::Low => Tone::Neutral,
                    RiskLevel::Medium => Tone::Warn,
                    RiskLevel::High | RiskLevel::Critical => Tone::Bad,
                };
                ui.add(Badge::new(lang.text(tool.risk.text_key()), tone));
                ui.add_space(space::XS);
                ui.add(Switch::new(&mut is_on, tool.name).disabled(!is_enabled)).changed()
            });
            if changed {
                let value = scene.state.disabled_tools_with(tool.name, is_on);
                scene.push(Intent::SetSetting { key: "tools.disabled", value });
            }
        }
    });
    note(ui, scene, lang.text("settings-command-note"), scene.theme.colors.bad);
    heading(ui, scene, lang.text("settings-limits"));
    group(ui, scene, |ui, scene| {
        for limit in &LIMITS {
            limit_row(ui, scene, view, limit);
        }
    });
}

fn limit_row(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView, limit: &Limit) {
    let limits = &scene.state.settings.tools.limits;
    let value = limits.get(limit.setting).and_then(Value::as_u64).unwrap_or(limit.default);
    let help = if limit.is_bytes { bytes(value) } else { String::new() };
    let mut typed = std::collections::VecDeque::new();
    let lang = scene.lang;
    {
        // All limits are one setting: the number is put into it before it goes out.
        let mut inner = Scene {
            state: scene.state,
            lang,
            theme: scene.theme,
            rows: scene.rows,
            home: scene.home,
            now: scene.now,
            top: scene.top,
            outbox: &mut typed,
        };
        number_row(ui, &mut inner, view, limit.setting, lang.text(limit.name), &help, value, 1..=limit.most);
    }
    for intent in typed {
        if let Intent::SetSetting { value, .. } = intent {
            let mut all = scene.state.settings.tools.limits.clone();
            if !all.is_object() {
                all = json!({});
            }
            if let Some(fields) = all.as_object_mut() {
                fields.insert(limit.setting.to_owned(), value);
            }
            scene.push(Intent::SetSetting { key: "tools.limits", value: all });
        }
    }
}

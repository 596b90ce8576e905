//! The version, the licences, and facts for a report.

use egui::Ui;

use crate::app::Intent;
use crate::lang::Arg;
use crate::port::ModelsState;
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::widget::Button;

use super::{group, heading, row, title};

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-about-name"), lang.text("settings-about-line"));
    group(ui, scene, |ui, scene| {
        let version = env!("CARGO_PKG_VERSION");
        row(ui, scene.theme, lang.text("settings-version"), version, |_| ());
        row(ui, scene.theme, lang.text("settings-licence"), "Apache-2.0", |_| ());
        row(
            ui,
            scene.theme,
            lang.text("settings-fonts"),
            "Inter · Noto Sans SC · JetBrains Mono (OFL 1.1) · Lucide (ISC)",
            |_| (),
        );
    });
    heading(ui, scene, lang.text("settings-help"));
    group(ui, scene, |ui, scene| {
        let logs = scene.state.data_dir.join("logs");
        let shown = logs.display().to_string();
        let opens = row(ui, scene.theme, lang.text("settings-logs"), &shown, |ui| {
            ui.add(Button::secondary(lang.text("settings-open-folder")).icon(Icon::ExternalLink)).clicked()
        });
        if opens {
            scene.push(Intent::ShowInFolder(logs));
        }
        let (name, help) = (lang.text("settings-diagnostics"), lang.text("settings-diagnostics-help"));
        let copies = row(ui, scene.theme, name, help, |ui| {
            ui.add(Button::secondary(lang.text("settings-diagnostics-copy")).icon(Icon::Copy)).clicked()
        });
        if copies {
            scene.push(Intent::CopyText(diagnostics(scene)));
        }
    });
}

/// Facts for a report: nothing that was said, no path but the data folder's, no key.
fn diagnostics(scene: &Scene<'_>) -> String {
    let providers: Vec<String> = scene
        .state
        .models
        .providers
        .iter()
        .map(|(id, state)| match state {
            ModelsState::Loading => format!("{id}: loading"),
            ModelsState::Ready(models) => format!("{id}: {} models", models.len()),
            ModelsState::Failed(error) => format!("{id}: {:?}", error.code),
        })
        .collect();
    scene.lang.format(
        "settings-diagnostics-text",
        &[
            ("version", Arg::from(env!("CARGO_PKG_VERSION"))),
            ("system", Arg::from(std::env::consts::OS)),
            ("machine", Arg::from(std::env::consts::ARCH)),
            ("folder", Arg::from(scene.state.data_dir.display().to_string())),
            ("sessions", Arg::from(scene.state.sessions.len())),
            ("providers", Arg::from(providers.join(", "))),
        ],
    )
}

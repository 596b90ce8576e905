//! The person's own system prompt.

use egui::{CornerRadius, Frame, Margin, ScrollArea, TextEdit, Ui};
use serde_json::json;

use crate::app::Intent;
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, radius, space};

use super::{SettingsView, group, note, switch_row, title};

const KEY: &str = "models.system_prompt";

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    let theme = scene.theme;
    title(ui, scene, lang.text("settings-page-prompts"), lang.text("settings-prompts-line"));
    let uses = scene.state.settings.models.uses_system_prompt;
    group(ui, scene, |ui, scene| {
        let (name, help) = (lang.text("settings-uses-system-prompt"), lang.text("settings-uses-system-prompt-help"));
        switch_row(ui, scene, "models.uses_system_prompt", name, help, uses);
    });
    ui.add_space(space::M);
    let stored = &scene.state.settings.models.system_prompt;
    let id = egui::Id::unique(("setting", KEY));
    let has_focus = ui.memory(|memory| memory.has_focus(id));
    let text = view.fields.entry(KEY).or_insert_with(|| stored.clone());
    if !has_focus && text != stored {
        text.clone_from(stored);
    }
    let border = if has_focus { theme.colors.info } else { theme.colors.line };
    Frame::NONE
        .stroke(egui::Stroke::new(1.0, border))
        .corner_radius(CornerRadius::same(radius::CARD))
        .inner_margin(Margin::same(12))
        .show(ui, |ui| {
            ScrollArea::vertical().max_height(300.0).auto_shrink([false, true]).show(ui, |ui| {
                let name = lang.text("settings-system-prompt");
                let hint = theme.rich(lang.text("settings-system-prompt-hint"), Type::Control, theme.colors.faint);
                let edit = TextEdit::multiline(text)
                    .id(id)
                    .font(theme.font(Type::Control))
                    .hint_text(hint)
                    .frame(Frame::NONE)
                    .desired_rows(8)
                    .desired_width(f32::INFINITY);
                let response = ui.add(edit).accessible_name(name);
                if response.changed() {
                    scene.outbox.push_back(Intent::SetSetting { key: KEY, value: json!(text.as_str()) });
                }
            });
        });
    note(ui, scene, lang.text("settings-prompts-note"), scene.theme.colors.dim);
}

//! Deleting a session that lives on a server asks first: nothing brings it back.

use egui::{Key, Modifiers, Ui};

use crate::app::Intent;
use crate::app::thread::host;
use crate::lang::Arg;
use crate::policy::{one_line, one_line_name};
use crate::ui::icon::Icon;
use crate::ui::scene::{Scene, take_key};
use crate::ui::widget::Button;

/// Characters of a title and of a server's name.
const LONGEST: usize = 120;

/// Draws the question while it waits.
pub fn show(ui: &Ui, scene: &mut Scene<'_>) {
    let Some(session) = scene.state.threads.doomed.clone() else { return };
    let theme = scene.theme;
    let server = session.id.home().map(|(url, _)| one_line_name(host(url), LONGEST).into_owned()).unwrap_or_default();
    let untitled = scene.lang.text("sidebar-untitled").to_owned();
    let title = if session.title.is_empty() { untitled } else { one_line(&session.title, LONGEST).into_owned() };
    super::show(ui, theme, "deletion", 460.0, |ui| {
        let args = [("title", Arg::from(title.as_str())), ("server", Arg::from(server.as_str()))];
        let line = scene.lang.format("thread-delete-detail", &args);
        super::head(ui, theme, scene.lang.text("thread-delete-title"), &line);
        ui.add_space(8.0);
        super::foot(ui, theme, |ui| {
            let keep = ui.add(Button::secondary(scene.lang.text("window-cancel")).shortcut("Esc"));
            if ui.memory(|memory| memory.focused().is_none()) {
                keep.request_focus();
            }
            if keep.clicked() || take_key(ui, Modifiers::NONE, Key::Escape) {
                scene.push(Intent::CancelDeletion);
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let delete = Button::danger(scene.lang.text("thread-delete")).icon(Icon::Trash);
                if ui.add(delete).clicked() {
                    scene.push(Intent::ConfirmDeletion);
                }
            });
        });
    });
}

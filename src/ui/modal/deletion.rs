//! Deleting asks first where nothing brings it back, as on a server, or where it is everything at once.

use egui::{Key, Modifiers, Ui};

use crate::app::Intent;
use crate::app::thread::host;
use crate::lang::Arg;
use crate::policy::{one_line, one_line_name};
use crate::ui::dialog::{Dialog, offer_focus};
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::widget::Button;

/// Characters of a title and of a server's name.
const LONGEST: usize = 120;

/// Draws the question while it waits.
pub fn show(ui: &Ui, scene: &mut Scene<'_>) {
    let Some(session) = scene.state.threads.doomed.clone() else { return };
    let server = session.id.home().map(|(url, _)| one_line_name(host(url), LONGEST).into_owned()).unwrap_or_default();
    let untitled = scene.lang.text("sidebar-untitled").to_owned();
    let title = if session.title.is_empty() { untitled } else { one_line(&session.title, LONGEST).into_owned() };
    let args = [("title", Arg::from(title.as_str())), ("server", Arg::from(server.as_str()))];
    let line = scene.lang.format("thread-delete-detail", &args);
    let question =
        Question { dialog: Dialog::Deletion, title: "thread-delete-title", line: &line, go: "thread-delete" };
    match question.ask(ui, scene) {
        Some(true) => scene.push(Intent::ConfirmDeletion),
        Some(false) => scene.push(Intent::CancelDeletion),
        None => {}
    }
}

/// Draws the question about all sessions of this computer while it waits.
pub fn show_all(ui: &Ui, scene: &mut Scene<'_>) {
    if !scene.state.asks_to_delete_all {
        return;
    }
    let line = scene.lang.format("delete-all-detail", &[("count", Arg::from(scene.state.sessions.len()))]);
    let question = Question { dialog: Dialog::DeletionOfAll, title: "delete-all-title", line: &line, go: "delete-all" };
    match question.ask(ui, scene) {
        Some(true) => scene.push(Intent::ConfirmDeletionOfAll),
        Some(false) => scene.push(Intent::CancelDeletionOfAll),
        None => {}
    }
}

struct Question<'text> {
    dialog: Dialog,
    /// Key of its title.
    title: &'static str,
    line: &'text str,
    /// Key of the button that deletes.
    go: &'static str,
}

impl Question<'_> {
    /// Draws it; gives the answer in the frame in which there is one.
    fn ask(&self, ui: &Ui, scene: &Scene<'_>) -> Option<bool> {
        let theme = scene.theme;
        let mut answer = None;
        super::show(ui, theme, self.dialog, 460.0, |ui| {
            super::head(ui, theme, scene.lang.text(self.title), self.line);
            ui.add_space(8.0);
            super::foot(ui, theme, |ui| {
                let keep = ui.add(Button::secondary(scene.lang.text("window-cancel")).shortcut("Esc"));
                offer_focus(ui, scene.top, self.dialog, &keep);
                if keep.clicked() || scene.take_key(ui, self.dialog, Modifiers::NONE, Key::Escape) {
                    answer = Some(false);
                }
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let delete = Button::danger(scene.lang.text(self.go)).icon(Icon::Trash);
                    if ui.add(delete).clicked() {
                        answer = Some(true);
                    }
                });
            });
        });
        answer
    }
}

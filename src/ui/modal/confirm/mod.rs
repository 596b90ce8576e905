//! The question about one call: everything that it would do, computed by the program, and the five answers.
//!
//! Plain Enter and Space never approve, wherever the keyboard is; *Deny* has it from the start.

mod answer;
mod content;
mod fact;
mod head;
mod rule;
mod view;

use egui::{Frame, Margin, Ui};

use crate::ui::panel::composer::has_ime_event;
use crate::ui::scene::{Scene, ViewState};
use crate::ui::sentence;
use crate::ui::theme::space;

use answer::Pressed;

pub use view::ConfirmView;

const WIDTH: f32 = 700.0;

/// Draws the question that is shown, if one waits.
pub fn show(ui: &Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let Some(request) = scene.state.confirms.shown() else {
        view.confirm.forget();
        return;
    };
    let is_composing = view.is_composing || has_ime_event(ui);
    let room = ui.ctx().content_rect().size();
    let width = if view.confirm.is_wide { room.x - 32.0 } else { WIDTH };
    let theme = scene.theme;
    let confirm = &mut view.confirm;
    let pressed = Pressed::take(ui, is_composing);
    let outcome = super::show(ui, theme, "confirm", width, |ui| {
        let name = scene.lang.text(sentence::title_key(request));
        ui.ctx().accesskit_node_builder(ui.unique_id(), |node| {
            node.set_role(egui::accesskit::Role::AlertDialog);
            node.set_label(name);
        });
        let top = ui.cursor().top();
        let mut preview_height = 0.0;
        let body = Margin { left: 20, right: 20, top: 16, bottom: 12 };
        Frame::NONE.inner_margin(body).show(ui, |ui| {
            head::head(ui, scene, confirm, request);
            ui.add_space(space::S);
            fact::facts(ui, scene, request);
            fact::badges(ui, scene, request);
            fact::network(ui, scene, confirm, request);
            fact::warnings(ui, scene, confirm, request);
            preview_height = content::previews(ui, scene, confirm, request, room.y);
            content::reads(ui, scene);
            content::words(ui, scene, request);
            answer::reason_field(ui, scene, confirm, request, is_composing);
        });
        let answered = answer::foot(ui, scene, confirm, request, pressed);
        let drawn = ui.cursor().top() - top;
        let rest = drawn - preview_height;
        if (rest - confirm.rest_height).abs() > 0.5 {
            confirm.rest_height = rest;
            ui.ctx().request_discard("the question found its height");
        }
        answered
    });
    if let Some(intent) = outcome.inner {
        scene.push(intent);
    }
}

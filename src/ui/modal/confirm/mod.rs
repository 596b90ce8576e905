//! The question about one call: everything that it would do, computed by the program, and the five answers.
//!
//! Plain Enter and Space never approve, wherever the keyboard is; *Deny* has it from the start.

mod answer;
mod content;
mod fact;
mod head;
mod row;
mod rule;
mod view;

use egui::{Frame, Margin, Ui};

use crate::app::Intent;
use crate::ui::dialog::Dialog;
use crate::ui::panel::composer::has_ime_event;
use crate::ui::scene::{Scene, ViewState};
use crate::ui::sentence;

use answer::Pressed;
use content::Drawn;

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
    let pressed = Pressed::take(ui, is_composing, scene.leads(Dialog::Confirm));
    let outcome = super::show(ui, theme, Dialog::Confirm, width, |ui| {
        let name = scene.lang.text(sentence::title_key(request));
        ui.ctx().accesskit_node_builder(ui.unique_id(), |node| {
            node.set_role(egui::accesskit::Role::AlertDialog);
            node.set_label(name);
        });
        let top = ui.cursor().min;
        head::head(ui, scene, confirm, request);
        let key = (request.id.as_str(), request.asked_at.0, &request.plan_hash);
        let has_start = super::body(ui, Dialog::Confirm, key, |ui, room| {
            let margin = Margin { left: 20, right: 20, top: 0, bottom: 12 };
            let top = ui.cursor().top();
            let mut drawn = Drawn::default();
            Frame::NONE.inner_margin(margin).show(ui, |ui| {
                fact::facts(ui, scene, confirm, request);
                fact::badges(ui, scene, request);
                fact::network(ui, scene, confirm, request);
                fact::warnings(ui, scene, confirm, request);
                drawn = content::previews(ui, scene, confirm, request, room);
                content::reads(ui, scene);
                content::words(ui, scene, confirm, request);
            });
            let rest = ui.cursor().top() - top - drawn.height;
            if (rest - confirm.rest_height).abs() > 0.5 {
                confirm.rest_height = rest;
                ui.ctx().request_discard("the question found its height");
            }
            drawn.has_start
        });
        let answered = answer::answers(ui, scene, confirm, request, (pressed, has_start));
        let all = egui::Rect::from_min_max(top, ui.cursor().min);
        (answered, has_start && ui.ctx().content_rect().expand(1.0).contains_rect(all))
    });
    let (answered, is_on_screen) = outcome.inner;
    let is_in_sight = is_on_screen && outcome.is_top_modal;
    if scene.state.confirms.wants_sight(is_in_sight) {
        scene.push(Intent::SeeConfirm { confirm: request.id.clone(), is_in_sight });
    }
    if let Some(intent) = answered {
        scene.push(intent);
    }
}

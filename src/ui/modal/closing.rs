//! Closing while something runs asks first.

use egui::{Key, Modifiers, Ui};

use crate::app::{Closing, Intent};
use crate::lang::Arg;
use crate::ui::dialog::{Dialog, offer_focus};
use crate::ui::scene::Scene;
use crate::ui::widget::Button;

/// Draws the question while it waits.
pub fn show(ui: &Ui, scene: &mut Scene<'_>) {
    if scene.state.closing != Closing::Asked {
        return;
    }
    let theme = scene.theme;
    // What ran may have ended by itself while the question stood.
    let count = scene.state.running_count();
    let (title, stay, go) = match count {
        0 => ("closing-title-idle", "closing-stay-idle", "closing-go"),
        _ => ("closing-title", "closing-stay", "closing-stop"),
    };
    super::show(ui, theme, Dialog::Closing, 440.0, |ui| {
        let line = scene.lang.format("closing-detail", &[("count", Arg::from(count))]);
        super::head(ui, theme, scene.lang.text(title), &line);
        ui.add_space(8.0);
        super::foot(ui, theme, |ui| {
            let stay = ui.add(Button::secondary(scene.lang.text(stay)).shortcut("Esc"));
            offer_focus(ui, scene.top, Dialog::Closing, &stay);
            if stay.clicked() || scene.take_key(ui, Dialog::Closing, Modifiers::NONE, Key::Escape) {
                scene.push(Intent::CancelClose);
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.add(Button::danger(scene.lang.text(go))).clicked() {
                    scene.push(Intent::ConfirmClose);
                }
            });
        });
    });
}

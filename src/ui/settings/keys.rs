//! All keys.

use egui::{Frame, Margin, Ui};

use crate::ui::panel::shortcuts::{GROUPS, draw_group};
use crate::ui::scene::Scene;
use crate::ui::theme::space;

use super::{group, title};

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-page-shortcuts"), lang.text("settings-shortcuts-line"));
    for keys in &GROUPS {
        group(ui, scene, |ui, scene| {
            Frame::NONE.inner_margin(Margin::symmetric(14, 10)).show(ui, |ui| draw_group(ui, scene, keys));
        });
        ui.add_space(space::M);
    }
}

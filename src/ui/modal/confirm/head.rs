//! The title as a question, the place in the queue and the switch to the full window.

use egui::{Frame, Margin, Ui, vec2};

use crate::app::Intent;
use crate::ir::Access;
use crate::lang::Arg;
use crate::port::ConfirmRequest;
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::sentence;
use crate::ui::theme::{Type, size};
use crate::ui::widget::{IconButton, at_right, line_of_text};

use super::ConfirmView;

pub(super) fn head(ui: &mut Ui, scene: &mut Scene<'_>, confirm: &mut ConfirmView, request: &ConfirmRequest) {
    let colors = scene.theme.colors;
    let (icon, color) = match request.access {
        Access::Read => (Icon::Eye, colors.info),
        Access::Write => (Icon::Pencil, colors.warn),
        Access::Delete => (Icon::Trash, colors.bad),
        Access::Execute => (Icon::Terminal, colors.bad),
    };
    let margin = Margin { left: 20, right: 20, top: 16, bottom: 8 };
    Frame::NONE.inner_margin(margin).show(ui, |ui| line(ui, scene, confirm, request, (icon, color)));
}

fn line(
    ui: &mut Ui,
    scene: &mut Scene<'_>,
    confirm: &mut ConfirmView,
    request: &ConfirmRequest,
    (icon, color): (Icon, egui::Color32),
) {
    let colors = scene.theme.colors;
    ui.horizontal(|ui| {
        ui.set_height(24.0);
        let (rect, _) = ui.allocate_exact_size(vec2(18.0, 22.0), egui::Sense::hover());
        icon.paint(ui.painter(), rect, size::ICON, color);
        let title = scene.lang.text(sentence::title_key(request));
        let galley = line_of_text(ui, scene.theme, title, Type::ModalTitle, colors.text, ui.available_width());
        let (rect, response) = ui.allocate_exact_size(galley.size(), egui::Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Heading, true, title));
        ui.painter().galley(rect.min, galley, colors.text);
        at_right(ui, "head", |ui| {
            let (place, count) = scene.state.confirms.place();
            if count > 1 {
                let before = IconButton::new(Icon::ChevronLeft, scene.lang.text("confirm-previous")).small();
                if ui.add(before.disabled(place == 1)).clicked() {
                    scene.push(Intent::ShowNeighbourConfirm(-1));
                }
                let words =
                    scene.lang.format("confirm-place", &[("place", Arg::from(place)), ("count", Arg::from(count))]);
                ui.label(scene.theme.rich(words, Type::Meta, colors.dim));
                let next = IconButton::new(Icon::ChevronRight, scene.lang.text("confirm-next")).small();
                if ui.add(next.disabled(place == count)).clicked() {
                    scene.push(Intent::ShowNeighbourConfirm(1));
                }
            }
            let (icon, key) =
                if confirm.is_wide { (Icon::Minus, "confirm-narrow") } else { (Icon::Maximize, "confirm-wide") };
            if ui.add(IconButton::new(icon, scene.lang.text(key)).small()).clicked() {
                confirm.is_wide = !confirm.is_wide;
            }
        });
    });
}

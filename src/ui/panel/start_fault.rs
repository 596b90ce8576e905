//! The engine could not start: what stands in the way, and three ways on.

use egui::{Align, CornerRadius, Frame, Label, Layout, Margin, Ui, vec2};

use crate::app::{FaultChoice, Intent, PathPurpose, StartFault, StartFaultKind};
use crate::lang::Arg;
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, radius, space};
use crate::ui::widget::Button;

const WIDTH: f32 = 560.0;

/// Draws the screen in place of everything else.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, fault: &StartFault) {
    let colors = scene.theme.colors;
    let room = ui.available_size();
    let width = WIDTH.min(room.x - 48.0);
    ui.add_space((room.y * 0.24).max(space::XXL));
    ui.horizontal(|ui| {
        ui.add_space(((room.x - width) / 2.0).max(0.0));
        ui.vertical(|ui| {
            ui.set_width(width);
            ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
            let (title, detail) = keys(fault.kind);
            ui.horizontal(|ui| {
                let (rect, _) = ui.allocate_exact_size(vec2(24.0, 30.0), egui::Sense::hover());
                Icon::TriangleAlert.paint(ui.painter(), rect, 20.0, colors.bad);
                ui.label(scene.theme.rich(scene.lang.text(title), Type::PageTitle, colors.text));
            });
            ui.add_space(space::S);
            let folder = fault.folder.display().to_string();
            let words = scene.lang.format(detail, &[("folder", Arg::from(folder.as_str()))]);
            ui.add(Label::new(scene.theme.rich(words, Type::Control, colors.dim)).wrap());
            // The known kinds are said whole in the window's language.
            if fault.kind == StartFaultKind::Other && !fault.detail.is_empty() {
                ui.add_space(space::M);
                Frame::NONE
                    .fill(colors.code)
                    .stroke(scene.theme.line())
                    .corner_radius(CornerRadius::same(radius::CARD))
                    .inner_margin(Margin::same(12))
                    .show(ui, |ui| {
                        ui.set_width(ui.available_width());
                        ui.add(Label::new(scene.theme.rich(fault.detail.as_str(), Type::Mono, colors.text)).wrap());
                    });
            }
            ui.add_space(space::XL);
            buttons(ui, scene);
            ui.add_space(space::M);
            ui.add(
                Label::new(scene.theme.rich(scene.lang.text("fault-start-unsaved-detail"), Type::Meta, colors.dim))
                    .wrap(),
            );
        });
    });
}

fn buttons(ui: &mut Ui, scene: &mut Scene<'_>) {
    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
        let retry = ui.add(Button::primary(scene.lang.text("fault-start-retry")).icon(Icon::RefreshCw));
        if retry.clicked() {
            scene.push(Intent::AnswerFault(FaultChoice::Retry));
        }
        if ui.add(Button::secondary(scene.lang.text("fault-start-other")).icon(Icon::Folder)).clicked() {
            scene.push(Intent::PickPath(PathPurpose::DataFolder));
        }
        if ui.add(Button::ghost(scene.lang.text("fault-start-unsaved"))).clicked() {
            scene.push(Intent::AnswerFault(FaultChoice::WithoutSaving));
        }
    });
}

const fn keys(kind: StartFaultKind) -> (&'static str, &'static str) {
    match kind {
        StartFaultKind::ReadOnly => ("fault-start-read-only", "fault-start-read-only-detail"),
        StartFaultKind::Newer => ("fault-start-newer", "fault-start-newer-detail"),
        StartFaultKind::NoSpace => ("fault-start-no-space", "fault-start-no-space-detail"),
        StartFaultKind::Corrupt => ("fault-start-corrupt", "fault-start-corrupt-detail"),
        StartFaultKind::Locked => ("fault-start-locked", "fault-start-locked-detail"),
        StartFaultKind::Other => ("fault-start-failed", "fault-start-failed-detail"),
    }
}

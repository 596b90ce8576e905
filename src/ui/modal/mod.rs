//! What covers the window and takes the keyboard, one file each.

pub mod closing;
pub mod confirm;
pub mod deletion;
pub mod link;
pub mod path;
pub mod preview;
pub mod preview_color;
pub mod sent;
pub mod undo;

use egui::{CornerRadius, Frame, Id, Margin, Modal, ModalResponse, Stroke, Ui, vec2};

use super::theme::{Theme, Type, radius, space};

/// Shows a modal in the middle of the window: a plain surface without margins of its own.
pub fn show<R>(
    ui: &Ui,
    theme: &Theme,
    id: &'static str,
    width: f32,
    content: impl FnOnce(&mut Ui) -> R,
) -> ModalResponse<R> {
    let frame = Frame::NONE
        .fill(theme.colors.background)
        .stroke(Stroke::new(1.0, theme.colors.line))
        .corner_radius(CornerRadius::same(radius::MODAL))
        .shadow(theme.shadow());
    let id = Id::unique(id);
    let room = ui.ctx().content_rect().size() - vec2(32.0, 32.0);
    let area = Modal::default_area(id).fade_in(theme.animations);
    Modal::new(id).area(area).frame(frame).backdrop_color(theme.colors.scrim).show(ui.ctx(), |ui| {
        ui.set_width(width.min(room.x));
        ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
        content(ui)
    })
}

/// A modal's title and one line below it.
pub fn head(ui: &mut Ui, theme: &Theme, title: &str, line: &str) {
    let margin = Margin { left: 20, right: 20, top: 18, bottom: 8 };
    Frame::NONE.inner_margin(margin).show(ui, |ui| {
        ui.label(theme.rich(title, Type::ModalTitle, theme.colors.text));
        if !line.is_empty() {
            ui.add_space(space::XS);
            ui.label(theme.rich(line, Type::Control, theme.colors.dim));
        }
    });
}

/// A modal's buttons, with a line above them.
pub fn foot<R>(ui: &mut Ui, theme: &Theme, content: impl FnOnce(&mut Ui) -> R) -> R {
    let line = ui.cursor().min;
    ui.painter().hline(line.x..=line.x + ui.available_width(), line.y, theme.line());
    Frame::NONE
        .inner_margin(Margin { left: 20, right: 20, top: 13, bottom: 15 })
        .show(ui, |ui| ui.horizontal(content).inner)
        .inner
}

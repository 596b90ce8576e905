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

use egui::{CornerRadius, Frame, Id, Margin, Modal, ModalResponse, ScrollArea, Stroke, Ui, vec2};

use super::dialog::Dialog;
use super::theme::{Theme, Type, radius, space};
use super::widget::follow_focus;

/// What stays free around a modal, above and below together, in points.
const AROUND: f32 = 32.0;
/// What a modal's buttons take until they were measured.
const FOOT_HEIGHT: f32 = 61.0;
/// The least that is left for what lies between title and buttons.
const LEAST_BODY: f32 = 48.0;

/// Shows a modal in the middle of the window: a plain surface without margins of its own. What may grow goes into
/// [`body`], so that title and buttons stay in sight whatever it holds.
pub fn show<R>(
    ui: &Ui,
    theme: &Theme,
    dialog: Dialog,
    width: f32,
    content: impl FnOnce(&mut Ui) -> R,
) -> ModalResponse<R> {
    let frame = Frame::NONE
        .fill(theme.colors.background)
        .stroke(Stroke::new(1.0, theme.colors.line))
        .corner_radius(CornerRadius::same(radius::MODAL))
        .shadow(theme.shadow());
    let id = dialog.id();
    let room = ui.ctx().content_rect().size() - vec2(AROUND, AROUND);
    let area = Modal::default_area(id).fade_in(theme.animations);
    Modal::new(id).area(area).frame(frame).backdrop_color(theme.colors.scrim).show(ui.ctx(), |ui| {
        ui.set_width(width.min(room.x));
        ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
        let top = ui.cursor().top();
        let mut measures = Measures { top, body_bottom: None, ..Measures::load(ui, id) };
        measures.store(ui, id);
        let answer = content(ui);
        measures = Measures::load(ui, id);
        if let Some(bottom) = measures.body_bottom {
            let below = ui.cursor().top() - bottom;
            if (below - measures.below).abs() > 0.5 {
                measures.below = below;
                measures.store(ui, id);
                ui.ctx().request_discard("the modal found the height of its buttons");
            }
        }
        answer
    })
}

/// What a modal knows of its own parts between frames.
#[derive(Debug, Clone, Copy)]
struct Measures {
    /// Where it begins in this frame.
    top: f32,
    /// Where its body ended in this frame, if it has one.
    body_bottom: Option<f32>,
    /// How much is below the body: the buttons.
    below: f32,
}

impl Measures {
    fn load(ui: &Ui, id: Id) -> Self {
        let first = Self { top: 0.0, body_bottom: None, below: FOOT_HEIGHT };
        ui.data(|data| data.get_temp(id.with("measures"))).unwrap_or(first)
    }

    fn store(self, ui: &Ui, id: Id) {
        ui.data_mut(|data| data.insert_temp(id.with("measures"), self));
    }
}

/// What lies between a modal's title and its buttons: it scrolls as soon as it would push them off the window. `content`
/// gets the height that it may take, in points; `key` tells one content from the next, which begins at its top again.
pub fn body<R>(
    ui: &mut Ui,
    dialog: Dialog,
    key: impl std::hash::Hash + std::fmt::Debug,
    content: impl FnOnce(&mut Ui, f32) -> R,
) -> R {
    let id = dialog.id();
    let measures = Measures::load(ui, id);
    let most = ui.ctx().content_rect().height() - AROUND;
    let room = (most - (ui.cursor().top() - measures.top) - measures.below).max(LEAST_BODY);
    let area = ScrollArea::vertical()
        .id_salt(id.with(key))
        .max_height(room)
        .min_scrolled_height(room)
        .auto_shrink([false, true]);
    let answer = area
        .show(ui, |ui| {
            let answer = content(ui, room);
            follow_focus(ui);
            answer
        })
        .inner;
    let bottom = ui.cursor().top();
    Measures { body_bottom: Some(bottom), ..Measures::load(ui, id) }.store(ui, id);
    answer
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

//! A message of the person: a bubble at the right, with its actions under it while the pointer or the keyboard is there.

use egui::{CornerRadius, Pos2, Rect, Ui, Vec2, pos2, vec2};

use super::list::List;
use super::status;
use crate::app::Intent;
use crate::ir::MessageId;
use crate::ui::icon::Icon;
use crate::ui::markdown::DocumentView;
use crate::ui::theme::{Theme, Type, radius};
use crate::ui::widget::{Button, IconButton, line_of_text};

pub(super) const PADDING: Vec2 = vec2(14.0, 10.0);
/// Height of the row of actions.
pub(super) const ACTIONS: f32 = 26.0;

/// What the bubble adds to the height of a block.
pub(super) fn padding(block: usize, last: usize) -> f32 {
    (if block == 0 { PADDING.y } else { 0.0 }) + (if block == last { PADDING.y } else { 0.0 })
}

/// Draws the bubble behind a block and gives the block's corner.
pub(super) fn draw_bubble(ui: &Ui, theme: &Theme, view: &DocumentView, block: usize, rect: Rect, width: f32) -> Pos2 {
    let last = view.len().saturating_sub(1);
    // One block is as wide as its text; more are as wide as a bubble can be.
    let inner = if last == 0 { view.natural_width(0).min(width) } else { width };
    let left = (rect.right() - inner - 2.0 * PADDING.x).round();
    let bubble = Rect::from_min_max(pos2(left, rect.top()), rect.max);
    let round = |is_edge: bool| if is_edge { radius::MODAL } else { 0 };
    let corner = CornerRadius {
        nw: round(block == 0),
        ne: round(block == 0),
        sw: round(block == last),
        se: if block == last { radius::INLINE } else { 0 },
    };
    ui.painter().rect_filled(bubble, corner, theme.colors.accent_soft);
    let top = if block == 0 { PADDING.y } else { 0.0 };
    pos2(left + PADDING.x, rect.top() + top)
}

/// Draws the row under the bubble.
pub(super) fn draw_actions(
    list: &mut List<'_>,
    key: u64,
    id: &MessageId,
    rect: Rect,
    area: Rect,
    is_cut: bool,
    intents: &mut Vec<Intent>,
) {
    let Some(record) = list.view.messages.get(id) else { return };
    let lang = list.look.lang;
    let theme = list.theme;
    let row = Rect::from_min_max(pos2(rect.left(), rect.top() + 2.0), rect.max);
    let mut ui = list.controls(("person", key), row, true);
    if is_cut && ui.add(Button::ghost(lang.text("message-show-all")).small()).clicked() {
        intents.push(Intent::ToggleItem(key));
    }
    if let Some(images) = record.message.images.as_ref().filter(|images| !images.is_empty()) {
        let text = lang.format("message-images", &[("count", images.len().into())]);
        let galley = line_of_text(&ui, theme, &text, Type::Meta, theme.colors.dim, 160.0);
        let (place, _) = ui.allocate_exact_size(galley.size() + vec2(22.0, 0.0), egui::Sense::hover());
        Icon::Image.paint_at(ui.painter(), pos2(place.left() + 8.0, place.center().y), 14.0, theme.colors.dim);
        ui.painter().galley(place.min + vec2(20.0, 0.0), galley, theme.colors.dim);
    }
    status::reveal(&mut ui, area.union(rect), ("person shown", key), |ui| {
        if ui.add(IconButton::new(Icon::Trash, lang.text("message-delete")).small()).clicked() {
            intents.push(Intent::DeleteMessage(id.clone()));
        }
        if ui.add(IconButton::new(Icon::GitFork, lang.text("message-fork")).small()).clicked() {
            intents.push(Intent::ForkHere(id.clone()));
        }
        if ui.add(IconButton::new(Icon::Pencil, lang.text("message-edit")).small()).clicked() {
            intents.push(Intent::EditMessage(id.clone()));
        }
        if ui.add(IconButton::new(Icon::Copy, lang.text("copy-message")).small()).clicked() {
            intents.push(Intent::CopyText(record.message.content.clone()));
        }
    });
    status::draw_versions(&mut ui, theme, lang, record, intents);
}

//! Controls at the right end of a row.
//!
//! The Tab key and screen readers go through controls in the order in which they are made. A layout from right to left
//! makes the last one first; here they are made as they are read.

use egui::{Align, Layout, Rect, Ui, UiBuilder, pos2};

/// Draws controls, from left to right, so that they end where what is left of the row ends. `salt` tells them from others
/// of the same surface.
pub fn at_right<R>(ui: &mut Ui, salt: impl std::hash::Hash + std::fmt::Debug, content: impl FnOnce(&mut Ui) -> R) -> R {
    let place = ui.available_rect_before_wrap();
    let (answer, rect) = at_right_of(ui, salt, place, content);
    ui.advance_cursor_after_rect(rect);
    answer
}

/// The same at the right end of a place; gives the part of it that they took too.
pub fn at_right_of<R>(
    ui: &mut Ui,
    salt: impl std::hash::Hash + std::fmt::Debug,
    place: Rect,
    content: impl FnOnce(&mut Ui) -> R,
) -> (R, Rect) {
    let id = ui.scope_id().with(("at right", &salt));
    // What they took in the last frame; before the first one they begin at the left.
    let known: f32 = ui.data(|data| data.get_temp(id)).unwrap_or(place.width());
    let left = place.right() - known;
    // As much room as the whole place has, so that no text is cut because it was short before.
    let rect = Rect::from_min_max(pos2(left, place.top()), pos2(left + place.width().max(known), place.bottom()));
    let layout = Layout::left_to_right(Align::Center);
    let mut child = ui.new_child(UiBuilder::new().id_salt(("at right", salt)).max_rect(rect).layout(layout));
    let answer = content(&mut child);
    let width = child.min_rect().width();
    if (width - known).abs() > 0.5 {
        ui.data_mut(|data| data.insert_temp(id, width));
        ui.ctx().request_discard("controls at the right found their width");
    }
    (answer, child.min_rect())
}

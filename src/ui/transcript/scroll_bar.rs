//! The transcript's scroll bar: thin, at the right edge, wider under the pointer.

use egui::{CornerRadius, Id, Rect, Role, Sense, Ui, WidgetInfo, pos2};

use crate::lang::Lang;
use crate::ui::theme::Theme;

const WIDTH: f32 = 12.0;
const SHORTEST: f32 = 28.0;

/// Draws the bar; `start` and `length` are parts of the whole. Where the person dragged it to, as a part of the whole.
pub(super) fn show(ui: &Ui, theme: &Theme, lang: &Lang, area: Rect, start: f32, length: f32) -> Option<f32> {
    let track = Rect::from_min_max(pos2(area.right() - WIDTH, area.top()), area.max);
    let mut sense = Sense::click_and_drag();
    sense -= Sense::FOCUSABLE;
    let response = ui.interact(track, Id::unique("transcript scroll bar"), sense);
    response.widget_info(|| WidgetInfo::labeled(Role::ScrollBar, true, lang.text("transcript-scroll")));
    let size = (length * track.height()).max(SHORTEST).min(track.height());
    let way = track.height() - size;
    let last = (1.0 - length).max(f32::EPSILON);
    let top = track.top() + way * (start / last).clamp(0.0, 1.0);
    let is_strong = response.hovered() || response.dragged();
    let thickness = if is_strong { 8.0 } else { 4.0 };
    let handle = Rect::from_min_max(
        pos2(track.right() - thickness - 2.0, top + 2.0),
        pos2(track.right() - 2.0, top + size - 2.0),
    );
    let color = if is_strong { theme.colors.dim } else { theme.colors.line };
    ui.painter().rect_filled(handle, CornerRadius::same(4), color);
    let pointer = response.interact_pointer_pos().filter(|_| response.dragged() || response.clicked())?;
    Some(((pointer.y - track.top() - size / 2.0) / way.max(1.0)).clamp(0.0, 1.0) * last)
}

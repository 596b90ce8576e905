//! The hint that a key does the same: small, in a thin frame.

use egui::{Align2, Color32, CornerRadius, Pos2, Response, Sense, Stroke, StrokeKind, Ui, Widget, vec2};

use super::line_of_text;
use crate::ui::theme::{Theme, Type, radius, size};

const HEIGHT: f32 = 18.0;
const PADDING: f32 = 5.0;

/// A key hint that stands alone.
#[must_use = "add it to a Ui"]
pub struct Shortcut<'text>(pub &'text str);

impl Widget for Shortcut<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let (rect, response) = ui.allocate_exact_size(vec2(width(ui, &theme, self.0), HEIGHT), Sense::hover());
        paint_keys(ui, &theme, self.0, rect.right_center(), theme.colors.dim);
        response
    }
}

/// How wide a hint is.
pub(super) fn width(ui: &Ui, theme: &Theme, keys: &str) -> f32 {
    line_of_text(ui, theme, keys, Type::SmallMono, Color32::PLACEHOLDER, f32::INFINITY).size().x + 2.0 * PADDING
}

/// Draws a hint that ends at `right`.
pub(super) fn paint_keys(ui: &Ui, theme: &Theme, keys: &str, right: Pos2, color: Color32) {
    let galley = line_of_text(ui, theme, keys, Type::SmallMono, Color32::PLACEHOLDER, f32::INFINITY);
    let frame = Align2::RIGHT_CENTER.anchor_size(right, vec2(galley.size().x + 2.0 * PADDING, HEIGHT));
    let stroke = Stroke::new(size::LINE, color.gamma_multiply(0.7));
    ui.painter().rect_stroke(frame, CornerRadius::same(radius::INLINE), stroke, StrokeKind::Inside);
    let place = Align2::CENTER_CENTER.anchor_size(frame.center(), galley.size());
    ui.painter().galley(place.min, galley, color);
}

//! A link: shows where it leads before it is followed.

use egui::{Response, Role, Sense, Stroke, Ui, Widget, WidgetInfo, epaint::TextShape};

use super::{focus_ring, line_of_text};
use crate::ui::theme::{Theme, Type, radius};

/// A link; `clicked()` tells that the person wants to go there.
#[must_use = "add it to a Ui"]
pub struct Link<'text> {
    text: &'text str,
    address: Option<&'text str>,
    type_: Type,
}

impl<'text> Link<'text> {
    pub fn new(text: &'text str) -> Self {
        Self { text, address: None, type_: Type::Control }
    }

    /// Shown on hover, as it is.
    pub fn address(mut self, address: &'text str) -> Self {
        self.address = Some(address);
        self
    }

    /// Another text than that of controls.
    pub fn kind(mut self, type_: Type) -> Self {
        self.type_ = type_;
        self
    }
}

impl Widget for Link<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let color = theme.colors.accent;
        let galley = line_of_text(ui, &theme, self.text, self.type_, color, ui.available_width().max(60.0));
        let (rect, response) = ui.allocate_exact_size(galley.size(), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Link, ui.is_enabled(), self.text));
        if ui.is_rect_visible(rect) {
            let is_strong = response.hovered() || response.has_focus();
            let underline = if is_strong { Stroke::new(1.0, color) } else { Stroke::NONE };
            ui.painter().add(TextShape::new(rect.min, galley, color).with_underline(underline));
            focus_ring(ui, &response, rect, radius::INLINE, &theme);
        }
        match self.address {
            Some(address) => response.on_hover_text(address),
            None => response,
        }
    }
}

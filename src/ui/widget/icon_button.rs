//! A button that is only an icon; its name is told by a tooltip and to screen readers.

use egui::{Color32, CornerRadius, Response, Role, Sense, Ui, Vec2, Widget, WidgetInfo};

use super::focus_ring;
use crate::ui::icon::Icon;
use crate::ui::theme::{Theme, radius, size};

/// A button that is only an icon.
#[must_use = "add it to a Ui"]
pub struct IconButton<'text> {
    icon: Icon,
    name: &'text str,
    side: f32,
    icon_size: f32,
    color: Option<Color32>,
    is_selected: bool,
    is_disabled: bool,
}

impl<'text> IconButton<'text> {
    /// `name` says what it does.
    pub fn new(icon: Icon, name: &'text str) -> Self {
        Self {
            icon,
            name,
            side: size::CONTROL,
            icon_size: size::ICON,
            color: None,
            is_selected: false,
            is_disabled: false,
        }
    }

    /// 24 points square.
    pub fn small(mut self) -> Self {
        self.side = 24.0;
        self.icon_size = size::SMALL_ICON;
        self
    }

    /// Another colour than that of secondary text.
    pub fn color(mut self, color: Color32) -> Self {
        self.color = Some(color);
        self
    }

    /// What it switches is on.
    pub fn selected(mut self, is_selected: bool) -> Self {
        self.is_selected = is_selected;
        self
    }

    /// Cannot be used now.
    pub fn disabled(mut self, is_disabled: bool) -> Self {
        self.is_disabled = is_disabled;
        self
    }

    fn draw(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let colors = &theme.colors;
        let (rect, response) = ui.allocate_exact_size(Vec2::splat(self.side), Sense::click());
        response.widget_info(|| {
            if self.is_selected {
                WidgetInfo::selected(Role::Button, ui.is_enabled(), true, self.name)
            } else {
                WidgetInfo::labeled(Role::Button, ui.is_enabled(), self.name)
            }
        });
        if ui.is_rect_visible(rect) {
            let fill = if response.is_pointer_button_down_on() {
                colors.pressed
            } else if response.hovered() || self.is_selected {
                colors.hover
            } else {
                Color32::TRANSPARENT
            };
            ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL), fill);
            focus_ring(ui, &response, rect, radius::CONTROL, &theme);
            let is_strong = response.hovered() || response.has_focus() || self.is_selected;
            let color = self.color.unwrap_or(if is_strong { colors.text } else { colors.dim });
            self.icon.paint(ui.painter(), rect, self.icon_size, color);
        }
        response.on_hover_text(self.name)
    }
}

impl Widget for IconButton<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        ui.add_enabled_ui(!self.is_disabled, |ui| self.draw(ui)).inner
    }
}

//! On or off.

use egui::{Color32, CornerRadius, Response, Role, Sense, Ui, Widget, WidgetInfo, lerp, pos2, vec2};

use super::focus_ring;
use crate::ui::theme::Theme;

const WIDTH: f32 = 34.0;
const HEIGHT: f32 = 20.0;
const RADIUS: u8 = 10;

/// On or off; `changed()` tells that the person switched it.
#[must_use = "add it to a Ui"]
pub struct Switch<'state> {
    is_on: &'state mut bool,
    name: &'state str,
    is_disabled: bool,
}

impl<'state> Switch<'state> {
    /// `name` says what it switches.
    pub fn new(is_on: &'state mut bool, name: &'state str) -> Self {
        Self { is_on, name, is_disabled: false }
    }

    /// Cannot be used now.
    pub fn disabled(mut self, is_disabled: bool) -> Self {
        self.is_disabled = is_disabled;
        self
    }

    fn draw(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let colors = &theme.colors;
        let (rect, mut response) = ui.allocate_exact_size(vec2(WIDTH, HEIGHT), Sense::click());
        if response.clicked() {
            *self.is_on = !*self.is_on;
            response.mark_changed();
        }
        let is_on = *self.is_on;
        response.widget_info(|| WidgetInfo::selected(Role::Switch, ui.is_enabled(), is_on, self.name));
        if ui.is_rect_visible(rect) {
            let way = ui.ctx().animate_bool_responsive(response.id, is_on);
            let (off, on) =
                if response.hovered() { (colors.dim, colors.accent_hover) } else { (colors.faint, colors.accent) };
            ui.painter().rect_filled(rect, CornerRadius::same(RADIUS), off.lerp_to_gamma(on, way));
            let radius = HEIGHT / 2.0;
            let x = lerp(rect.left() + radius..=rect.right() - radius, way);
            ui.painter().circle_filled(pos2(x, rect.center().y), radius - 2.0, Color32::WHITE);
            focus_ring(ui, &response, rect, RADIUS, &theme);
        }
        response
    }
}

impl Widget for Switch<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        ui.add_enabled_ui(!self.is_disabled, |ui| self.draw(ui)).inner
    }
}

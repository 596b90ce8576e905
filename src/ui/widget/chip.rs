//! A pill: a fact that can be pressed, such as the model or an allowed folder.

use egui::{Align2, Color32, CornerRadius, Response, Role, Sense, StrokeKind, Ui, Widget, WidgetInfo, pos2, vec2};

use super::{focus_ring, line_of_text};
use crate::ui::icon::Icon;
use crate::ui::theme::{Theme, Type, size, space};

const RADIUS: u8 = 13;

/// A pill that can be pressed.
#[must_use = "add it to a Ui"]
pub struct Chip<'text> {
    text: &'text str,
    icon: Option<Icon>,
    detail: Option<&'text str>,
    trailing: Option<Icon>,
    name: Option<&'text str>,
    gauge: Option<f32>,
    max_width: f32,
    is_strong: bool,
    is_warning: bool,
}

impl<'text> Chip<'text> {
    pub fn new(text: &'text str) -> Self {
        Self {
            text,
            icon: None,
            detail: None,
            trailing: None,
            name: None,
            gauge: None,
            max_width: 240.0,
            is_strong: false,
            is_warning: false,
        }
    }

    /// An icon before the text.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icon = Some(icon);
        self
    }

    /// A secondary text after the text.
    pub fn detail(mut self, detail: &'text str) -> Self {
        self.detail = Some(detail);
        self
    }

    /// An icon at the end: a chevron for a menu, a cross for what can be taken away.
    pub fn trailing(mut self, icon: Icon) -> Self {
        self.trailing = Some(icon);
        self
    }

    /// A ring before the text that is filled so far (0–1).
    pub fn gauge(mut self, part: f32) -> Self {
        self.gauge = Some(part.clamp(0.0, 1.0));
        self
    }

    /// The name for screen readers, where it is not the text.
    pub fn name(mut self, name: &'text str) -> Self {
        self.name = Some(name);
        self
    }

    /// The text is cut at this width, in points.
    pub fn max_width(mut self, width: f32) -> Self {
        self.max_width = width;
        self
    }

    /// In the body's colour and medium.
    pub fn strong(mut self) -> Self {
        self.is_strong = true;
        self
    }

    /// In the colour of a warning.
    pub fn warning(mut self, is_warning: bool) -> Self {
        self.is_warning = is_warning;
        self
    }
}

impl Widget for Chip<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let colors = &theme.colors;
        let type_ = if self.is_strong { Type::MetaMedium } else { Type::Meta };
        let text = line_of_text(ui, &theme, self.text, type_, Color32::PLACEHOLDER, self.max_width);
        let detail = self
            .detail
            .map(|detail| line_of_text(ui, &theme, detail, Type::Meta, Color32::PLACEHOLDER, self.max_width));
        let has_mark = self.icon.is_some() || self.gauge.is_some();
        let padding = space::M - 1.0;
        let gap = space::S;
        let mark = if has_mark { size::SMALL_ICON + gap - 1.0 } else { 0.0 };
        let detail_width = detail.as_ref().map_or(0.0, |galley| galley.size().x + gap);
        let trailing = if self.trailing.is_some() { size::SMALL_ICON + gap - 2.0 } else { 0.0 };
        let width = 2.0 * padding + mark + text.size().x + detail_width + trailing;
        let (rect, response) = ui.allocate_exact_size(vec2(width, size::CHIP), Sense::click());
        let name = self.name.unwrap_or(self.text);
        response.widget_info(|| WidgetInfo::labeled(Role::Button, ui.is_enabled(), name));
        if !ui.is_rect_visible(rect) {
            return response;
        }
        let fill = if response.is_pointer_button_down_on() {
            colors.pressed
        } else if response.hovered() {
            colors.hover
        } else {
            Color32::TRANSPARENT
        };
        let color = if self.is_warning {
            colors.warn
        } else if self.is_strong || response.hovered() {
            colors.text
        } else {
            colors.dim
        };
        ui.painter().rect(rect, CornerRadius::same(RADIUS), fill, theme.line(), StrokeKind::Inside);
        focus_ring(ui, &response, rect, RADIUS, &theme);
        let middle = rect.center().y;
        let mut x = rect.left() + padding;
        let mark_center = pos2(x + size::SMALL_ICON / 2.0, middle);
        if let Some(part) = self.gauge {
            gauge(ui, &theme, mark_center, part);
        } else if let Some(icon) = self.icon {
            icon.paint_at(
                ui.painter(),
                mark_center,
                size::SMALL_ICON,
                if self.is_warning { color } else { colors.dim },
            );
        }
        x += mark;
        let place = Align2::LEFT_CENTER.anchor_size(pos2(x, middle), text.size());
        x += text.size().x;
        ui.painter().galley(place.min, text, color);
        if let Some(detail) = detail {
            let place = Align2::LEFT_CENTER.anchor_size(pos2(x + gap, middle), detail.size());
            ui.painter().galley(place.min, detail, colors.dim);
        }
        if let Some(icon) = self.trailing {
            let center = pos2(rect.right() - padding - size::SMALL_ICON / 2.0 + 1.0, middle);
            icon.paint_at(ui.painter(), center, size::SMALL_ICON, colors.dim);
        }
        response
    }
}

/// A ring of which a part is coloured, from the top clockwise.
fn gauge(ui: &Ui, theme: &Theme, center: egui::Pos2, part: f32) {
    let radius = 5.0;
    let colors = &theme.colors;
    let color = if part > 0.9 {
        colors.bad
    } else if part > 0.8 {
        colors.warn
    } else {
        colors.accent
    };
    ui.painter().circle_stroke(center, radius, egui::Stroke::new(2.0, colors.line));
    super::spinner::arc(ui, center, radius, -0.25, part, egui::Stroke::new(2.0, color));
}

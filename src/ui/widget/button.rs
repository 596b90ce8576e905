//! A push button.

use egui::{
    Align2, Color32, CornerRadius, Response, Role, Sense, Stroke, StrokeKind, Ui, Widget, WidgetInfo, pos2, vec2,
};

use super::shortcut::paint_keys;
use super::{focus_ring, line_of_text, spinner_at};
use crate::ui::icon::Icon;
use crate::ui::theme::{Theme, Type, radius, size, space};

/// How much weight a button has on its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ButtonKind {
    /// The one thing to do next.
    Primary,
    /// Anything else.
    Secondary,
    /// Without a border until the pointer is over it.
    Ghost,
    /// Takes something away for good.
    Danger,
}

/// A push button; `ui.add(Button::primary("Send").icon(Icon::ArrowUp))`.
#[must_use = "add it to a Ui"]
pub struct Button<'text> {
    text: &'text str,
    kind: ButtonKind,
    icon: Option<Icon>,
    trailing: Option<Icon>,
    shortcut: Option<&'text str>,
    name: Option<&'text str>,
    width: Option<f32>,
    is_disabled: bool,
    is_busy: bool,
    is_small: bool,
    starts_left: bool,
}

impl<'text> Button<'text> {
    /// A button of a kind.
    pub fn new(kind: ButtonKind, text: &'text str) -> Self {
        Self {
            text,
            kind,
            icon: None,
            trailing: None,
            shortcut: None,
            name: None,
            width: None,
            is_disabled: false,
            is_busy: false,
            is_small: false,
            starts_left: false,
        }
    }

    pub fn primary(text: &'text str) -> Self {
        Self::new(ButtonKind::Primary, text)
    }

    pub fn secondary(text: &'text str) -> Self {
        Self::new(ButtonKind::Secondary, text)
    }

    pub fn ghost(text: &'text str) -> Self {
        Self::new(ButtonKind::Ghost, text)
    }

    pub fn danger(text: &'text str) -> Self {
        Self::new(ButtonKind::Danger, text)
    }

    /// An icon before the text.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icon = Some(icon);
        self
    }

    /// An icon after the text, such as the chevron of a menu.
    pub fn trailing(mut self, icon: Icon) -> Self {
        self.trailing = Some(icon);
        self
    }

    /// The key that does the same.
    pub fn shortcut(mut self, keys: &'text str) -> Self {
        self.shortcut = Some(keys);
        self
    }

    /// The name for screen readers, where it is not the text.
    pub fn name(mut self, name: &'text str) -> Self {
        self.name = Some(name);
        self
    }

    /// Exactly this wide, in points.
    pub fn width(mut self, width: f32) -> Self {
        self.width = Some(width);
        self
    }

    /// Cannot be used now.
    pub fn disabled(mut self, is_disabled: bool) -> Self {
        self.is_disabled = is_disabled;
        self
    }

    /// Does something already: shows a spinner and takes no click.
    pub fn busy(mut self, is_busy: bool) -> Self {
        self.is_busy = is_busy;
        self
    }

    /// 26 points high, with smaller text.
    pub fn small(mut self) -> Self {
        self.is_small = true;
        self
    }

    /// Text at the left, keys at the right; for wide buttons.
    pub fn left_aligned(mut self) -> Self {
        self.starts_left = true;
        self
    }
}

impl Widget for Button<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let is_disabled = self.is_disabled || self.is_busy;
        ui.add_enabled_ui(!is_disabled, |ui| self.draw(ui, &theme)).inner
    }
}

/// Fill, border and text of a button.
fn look(theme: &Theme, kind: ButtonKind, response: &Response) -> (Color32, Stroke, Color32) {
    let colors = &theme.colors;
    let is_pressed = response.is_pointer_button_down_on();
    let is_hovered = response.hovered();
    let pick = |rest, hover, pressed| {
        if is_pressed {
            pressed
        } else if is_hovered {
            hover
        } else {
            rest
        }
    };
    match kind {
        ButtonKind::Primary => {
            (pick(colors.accent, colors.accent_hover, colors.accent_pressed), Stroke::NONE, colors.on_accent)
        }
        ButtonKind::Secondary => (pick(Color32::TRANSPARENT, colors.hover, colors.pressed), theme.line(), colors.text),
        ButtonKind::Ghost => (
            pick(Color32::TRANSPARENT, colors.hover, colors.pressed),
            Stroke::NONE,
            if is_hovered || is_pressed { colors.text } else { colors.dim },
        ),
        ButtonKind::Danger => (
            pick(Color32::TRANSPARENT, colors.bad_soft, colors.bad_soft),
            Stroke::new(size::LINE, colors.bad.gamma_multiply(0.6)),
            colors.bad,
        ),
    }
}

impl Button<'_> {
    fn draw(self, ui: &mut Ui, theme: &Theme) -> Response {
        let (type_, height, padding, icon_size) = match (self.is_small, self.kind) {
            (true, _) => (Type::MetaMedium, size::CHIP, 10.0, size::SMALL_ICON),
            (false, ButtonKind::Primary) => (Type::ControlStrong, size::CONTROL, space::M, size::ICON),
            (false, ButtonKind::Secondary | ButtonKind::Ghost | ButtonKind::Danger) => {
                (Type::ControlMedium, size::CONTROL, space::M, size::ICON)
            }
        };
        // Coloured when painted: the state is known after the size.
        let galley = line_of_text(ui, theme, self.text, type_, Color32::PLACEHOLDER, ui.available_width().max(40.0));
        let gap = if self.text.is_empty() { 0.0 } else { space::S };
        let keys = self.shortcut.map_or(0.0, |keys| space::M + super::shortcut::width(ui, theme, keys));
        let icon_width = if self.icon.is_some() || self.is_busy { icon_size + gap } else { 0.0 };
        let trailing_width = if self.trailing.is_some() { icon_size + gap } else { 0.0 };
        let content = icon_width + galley.size().x + trailing_width + keys;
        let width = self.width.unwrap_or(content + 2.0 * padding);
        let (rect, response) = ui.allocate_exact_size(vec2(width, height), Sense::click());
        let name = self.name.unwrap_or(self.text);
        response.widget_info(|| WidgetInfo::labeled(Role::Button, ui.is_enabled(), name));
        if !ui.is_rect_visible(rect) {
            return response;
        }
        let (fill, border, color) = look(theme, self.kind, &response);
        let corner = CornerRadius::same(radius::CONTROL);
        ui.painter().rect(rect, corner, fill, border, StrokeKind::Inside);
        focus_ring(ui, &response, rect, radius::CONTROL, theme);
        let start = if self.starts_left { rect.left() + padding } else { rect.center().x - content / 2.0 };
        let mut x = start;
        let middle = rect.center().y;
        if self.is_busy {
            spinner_at(ui, theme, pos2(x + icon_size / 2.0, middle), icon_size - 2.0, color);
            x += icon_width;
        } else if let Some(icon) = self.icon {
            icon.paint_at(ui.painter(), pos2(x + icon_size / 2.0, middle), icon_size, color);
            x += icon_width;
        }
        let place = Align2::LEFT_CENTER.anchor_size(pos2(x, middle), galley.size());
        x += galley.size().x + gap;
        ui.painter().galley(place.min, galley, color);
        if let Some(icon) = self.trailing {
            icon.paint_at(ui.painter(), pos2(x + icon_size / 2.0, middle), icon_size, color);
        }
        if let Some(keys) = self.shortcut {
            paint_keys(ui, theme, keys, pos2(rect.right() - padding, middle), color);
        }
        response
    }
}

//! Menus: the button that opens one, and its rows.

use egui::{
    Align2, Color32, CornerRadius, Frame, InnerResponse, Margin, Popup, PopupCloseBehavior, Response, Role, Sense,
    StrokeKind, Ui, Widget, WidgetInfo, pos2, vec2,
};

use super::shortcut::{paint_keys, width as keys_width};
use super::{focus_ring, line_of_text};
use crate::ui::icon::Icon;
use crate::ui::theme::{Theme, Type, radius, size, space};

/// Opens a menu at a button when it is pressed; closes after a choice. `width` is its inner width, in points.
pub fn menu<R>(button: &Response, width: f32, content: impl FnOnce(&mut Ui) -> R) -> Option<InnerResponse<R>> {
    let theme = Theme::of(&button.ctx);
    let frame = Frame::NONE
        .fill(theme.colors.background)
        .stroke(theme.line())
        .corner_radius(CornerRadius::same(radius::CARD))
        .shadow(theme.shadow())
        .inner_margin(Margin::same(4));
    Popup::menu(button).gap(space::XS).frame(frame).width(width).close_behavior(PopupCloseBehavior::CloseOnClick).show(
        |ui| {
            ui.set_width(width);
            ui.spacing_mut().item_spacing.y = 0.0;
            content(ui)
        },
    )
}

/// A small heading over rows that belong together.
pub fn menu_heading(ui: &mut Ui, text: &str) {
    let theme = Theme::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 26.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Heading, true, text));
    let color = theme.colors.dim;
    let galley = line_of_text(ui, &theme, text, Type::MetaMedium, color, rect.width() - 2.0 * space::S);
    let place = Align2::LEFT_CENTER.anchor_size(rect.left_center() + vec2(space::S, 1.0), galley.size());
    ui.painter().galley(place.min, galley, color);
}

/// A line between groups of rows.
pub fn menu_separator(ui: &mut Ui) {
    let theme = Theme::of(ui.ctx());
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 9.0), Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y, theme.line());
}

/// One row of a menu.
#[must_use = "add it to a Ui"]
pub struct MenuRow<'text> {
    text: &'text str,
    icon: Option<Icon>,
    detail: Option<&'text str>,
    shortcut: Option<&'text str>,
    is_checked: Option<bool>,
    is_disabled: bool,
    is_danger: bool,
}

impl<'text> MenuRow<'text> {
    pub fn new(text: &'text str) -> Self {
        Self { text, icon: None, detail: None, shortcut: None, is_checked: None, is_disabled: false, is_danger: false }
    }

    /// An icon before the text.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icon = Some(icon);
        self
    }

    /// A secondary text at the right.
    pub fn detail(mut self, detail: &'text str) -> Self {
        self.detail = Some(detail);
        self
    }

    /// The key that does the same.
    pub fn shortcut(mut self, keys: &'text str) -> Self {
        self.shortcut = Some(keys);
        self
    }

    /// One of several choices, and whether it is the one in force.
    pub fn checked(mut self, is_checked: bool) -> Self {
        self.is_checked = Some(is_checked);
        self
    }

    /// Cannot be used now.
    pub fn disabled(mut self, is_disabled: bool) -> Self {
        self.is_disabled = is_disabled;
        self
    }

    /// Takes something away.
    pub fn danger(mut self) -> Self {
        self.is_danger = true;
        self
    }

    fn draw(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let colors = &theme.colors;
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::click());
        response.widget_info(|| match self.is_checked {
            Some(is_checked) => WidgetInfo::selected(Role::MenuItemRadio, ui.is_enabled(), is_checked, self.text),
            None => WidgetInfo::labeled(Role::MenuItem, ui.is_enabled(), self.text),
        });
        if !ui.is_rect_visible(rect) {
            return response;
        }
        let is_strong = response.hovered() || response.has_focus();
        let fill = if response.is_pointer_button_down_on() {
            colors.pressed
        } else if is_strong {
            colors.hover
        } else {
            Color32::TRANSPARENT
        };
        ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL - 2), fill);
        if response.has_focus() {
            focus_ring(ui, &response, rect.shrink(4.0), radius::CONTROL - 4, &theme);
        }
        let color = if self.is_danger { colors.bad } else { colors.text };
        let middle = rect.center().y;
        let mut left = rect.left() + space::S;
        if let Some(icon) = self.icon {
            let icon_color = if self.is_danger { colors.bad } else { colors.dim };
            icon.paint_at(ui.painter(), pos2(left + size::ICON / 2.0, middle), size::ICON, icon_color);
            left += size::ICON + space::S;
        }
        let mut right = rect.right() - space::S;
        if self.is_checked.is_some() {
            if self.is_checked == Some(true) {
                let center = pos2(right - size::ICON / 2.0, middle);
                Icon::Check.paint_at(ui.painter(), center, size::ICON, colors.accent);
            }
            right -= size::ICON + space::S;
        }
        if let Some(keys) = self.shortcut {
            paint_keys(ui, &theme, keys, pos2(right, middle), colors.dim);
            right -= keys_width(ui, &theme, keys) + space::S;
        }
        if let Some(detail) = self.detail {
            let galley = line_of_text(ui, &theme, detail, Type::Meta, colors.dim, (right - left) * 0.5);
            let place = Align2::RIGHT_CENTER.anchor_size(pos2(right, middle), galley.size());
            right -= galley.size().x + space::S;
            ui.painter().galley(place.min, galley, colors.dim);
        }
        let galley = line_of_text(ui, &theme, self.text, Type::Control, color, right - left);
        let place = Align2::LEFT_CENTER.anchor_size(pos2(left, middle), galley.size());
        ui.painter().galley(place.min, galley, color);
        response
    }
}

impl Widget for MenuRow<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        ui.add_enabled_ui(!self.is_disabled, |ui| self.draw(ui)).inner
    }
}

/// A field that shows the choice in force and opens the list of choices.
#[must_use = "show it in a Ui"]
pub struct Select<'text> {
    text: &'text str,
    name: &'text str,
    width: f32,
}

impl<'text> Select<'text> {
    /// `text` is the choice in force, `name` says what is chosen.
    pub fn new(text: &'text str, name: &'text str) -> Self {
        Self { text, name, width: 180.0 }
    }

    /// In points.
    pub fn width(mut self, width: f32) -> Self {
        self.width = width;
        self
    }

    /// Draws the field and, while it is open, its rows.
    pub fn show<R>(self, ui: &mut Ui, rows: impl FnOnce(&mut Ui) -> R) -> (Response, Option<R>) {
        let theme = Theme::of(ui.ctx());
        let colors = &theme.colors;
        let (rect, response) = ui.allocate_exact_size(vec2(self.width, size::CONTROL), Sense::click());
        response.widget_info(|| {
            let mut info = WidgetInfo::labeled(Role::ComboBox, ui.is_enabled(), self.name);
            info.current_text_value = Some(self.text.to_owned());
            info
        });
        if ui.is_rect_visible(rect) {
            let fill = if response.is_pointer_button_down_on() {
                colors.pressed
            } else if response.hovered() {
                colors.hover
            } else {
                colors.background
            };
            ui.painter().rect(rect, CornerRadius::same(radius::CONTROL), fill, theme.line(), StrokeKind::Inside);
            focus_ring(ui, &response, rect, radius::CONTROL, &theme);
            let color = colors.text;
            let chevron = size::SMALL_ICON + space::S;
            let galley = line_of_text(ui, &theme, self.text, Type::Control, color, rect.width() - 20.0 - chevron);
            let place = Align2::LEFT_CENTER.anchor_size(rect.left_center() + vec2(10.0, 0.0), galley.size());
            ui.painter().galley(place.min, galley, color);
            let center = pos2(rect.right() - 10.0 - size::SMALL_ICON / 2.0, rect.center().y);
            Icon::ChevronDown.paint_at(ui.painter(), center, size::SMALL_ICON, colors.dim);
        }
        let chosen = menu(&response, self.width.max(120.0) - 10.0, rows).map(|shown| shown.inner);
        (response, chosen)
    }
}

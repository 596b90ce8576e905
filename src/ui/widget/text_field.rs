//! A field for one line of text.

use egui::{Align, Color32, CornerRadius, Frame, Id, Margin, Response, Stroke, TextEdit, Ui, Widget, pos2, vec2};

use crate::ui::icon::Icon;
use crate::ui::theme::{Theme, Type, radius, size, space};

/// A field for one line of text.
#[must_use = "add it to a Ui"]
pub struct TextField<'text> {
    text: &'text mut String,
    name: &'text str,
    hint: &'text str,
    icon: Option<Icon>,
    width: f32,
    id: Option<Id>,
    is_password: bool,
    is_mono: bool,
    is_wrong: bool,
    is_quiet: bool,
}

impl<'text> TextField<'text> {
    /// `name` says what belongs into it.
    pub fn new(text: &'text mut String, name: &'text str) -> Self {
        Self {
            text,
            name,
            hint: "",
            icon: None,
            width: 180.0,
            id: None,
            is_password: false,
            is_mono: false,
            is_wrong: false,
            is_quiet: false,
        }
    }

    /// Shown while it is empty.
    pub fn hint(mut self, hint: &'text str) -> Self {
        self.hint = hint;
        self
    }

    /// An icon at its left.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icon = Some(icon);
        self
    }

    /// In points, the frame included.
    pub fn width(mut self, width: f32) -> Self {
        self.width = width;
        self
    }

    /// A fixed id, so that the keyboard can be sent here.
    pub fn id(mut self, id: Id) -> Self {
        self.id = Some(id);
        self
    }

    /// Shows dots.
    pub fn password(mut self, is_password: bool) -> Self {
        self.is_password = is_password;
        self
    }

    /// For paths and addresses.
    pub fn mono(mut self) -> Self {
        self.is_mono = true;
        self
    }

    /// What it holds cannot be used; the reason stands beside it.
    pub fn wrong(mut self, is_wrong: bool) -> Self {
        self.is_wrong = is_wrong;
        self
    }

    /// Filled instead of bordered, as in the sidebar.
    pub fn quiet(mut self) -> Self {
        self.is_quiet = true;
        self
    }
}

impl Widget for TextField<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let colors = &theme.colors;
        let indent = if self.icon.is_some() { size::ICON + space::S } else { 0.0 };
        let padding = 10.0;
        // The frame is drawn by this field, around the editor, so that it can show focus.
        let frame = Frame::NONE.inner_margin(Margin::ZERO);
        let type_ = if self.is_mono { Type::Mono } else { Type::Control };
        let (rect, _) = ui.allocate_exact_size(vec2(self.width, size::CONTROL), egui::Sense::hover());
        let shape = ui.painter().add(egui::Shape::Noop);
        let text_height = theme.line_height(type_);
        let inner = egui::Rect::from_min_max(
            pos2(rect.left() + padding + indent, rect.center().y - text_height / 2.0),
            pos2(rect.right() - padding, rect.center().y + text_height / 2.0),
        );
        let mut child =
            ui.new_child(egui::UiBuilder::new().max_rect(inner).layout(egui::Layout::left_to_right(Align::Center)));
        child.spacing_mut().interact_size.y = text_height;
        let mut edit = TextEdit::singleline(self.text)
            .hint_text(theme.rich(self.hint, type_, colors.faint))
            .password(self.is_password)
            .font(theme.font(type_))
            .text_color(colors.text)
            .frame(frame)
            .margin(Margin::ZERO)
            .align(egui::Align2::LEFT_CENTER)
            .desired_width(inner.width());
        if let Some(id) = self.id {
            edit = edit.id(id);
        }
        let response = child.add(edit).accessible_name(self.name);
        if self.is_password
            && let Some(mut state) = TextEdit::load_state(ui.ctx(), response.id)
        {
            // What was typed is not to be had back with Ctrl+Z.
            state.clear_undoer();
            TextEdit::store_state(ui.ctx(), response.id, state);
        }
        let (stroke, width) = if self.is_wrong {
            (colors.bad, size::LINE)
        } else if response.has_focus() {
            (colors.info, size::FOCUS_RING)
        } else if self.is_quiet {
            (Color32::TRANSPARENT, 0.0)
        } else {
            (colors.line, size::LINE)
        };
        let fill = if self.is_quiet { colors.hover } else { colors.background };
        ui.painter().set(
            shape,
            egui::epaint::RectShape::new(
                rect,
                CornerRadius::same(radius::CONTROL),
                fill,
                Stroke::new(width, stroke),
                egui::StrokeKind::Inside,
            ),
        );
        if let Some(icon) = self.icon {
            let center = pos2(rect.left() + padding + size::ICON / 2.0, rect.center().y);
            icon.paint_at(ui.painter(), center, size::SMALL_ICON, colors.dim);
        }
        response
    }
}

//! One row of a list that can be chosen, such as a chat in the sidebar or a page of the settings.

use egui::{Align2, Color32, CornerRadius, Response, Role, Sense, Ui, Widget, WidgetInfo, pos2, vec2};

use super::{dot, focus_ring, line_of_text, spinner_at};
use crate::ui::icon::Icon;
use crate::ui::theme::{Theme, Type, radius, size, space};

/// What stands at the end of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowMark {
    #[default]
    None,
    /// Something runs.
    Running,
    /// Something waits for the person.
    Waiting,
    /// Something failed.
    Failed,
    /// Kept at the top.
    Icon(Icon),
}

/// One row of a list.
#[must_use = "add it to a Ui"]
pub struct ListRow<'text> {
    text: &'text str,
    icon: Option<Icon>,
    mark: RowMark,
    mark_name: &'text str,
    is_selected: bool,
}

impl<'text> ListRow<'text> {
    pub fn new(text: &'text str) -> Self {
        Self { text, icon: None, mark: RowMark::None, mark_name: "", is_selected: false }
    }

    /// An icon before the text.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icon = Some(icon);
        self
    }

    /// A mark at the end, with the words for it.
    pub fn mark(mut self, mark: RowMark, name: &'text str) -> Self {
        self.mark = mark;
        self.mark_name = name;
        self
    }

    /// Is the one that is shown.
    pub fn selected(mut self, is_selected: bool) -> Self {
        self.is_selected = is_selected;
        self
    }
}

impl Widget for ListRow<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let colors = &theme.colors;
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::click());
        response.widget_info(|| {
            let name = if self.mark_name.is_empty() {
                self.text.to_owned()
            } else {
                format!("{}, {}", self.text, self.mark_name)
            };
            WidgetInfo::selected(Role::ListItem, ui.is_enabled(), self.is_selected, name)
        });
        if !ui.is_rect_visible(rect) {
            return response;
        }
        let is_strong = self.is_selected || response.hovered() || response.has_focus();
        let fill = if is_strong { colors.hover } else { Color32::TRANSPARENT };
        ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL), fill);
        if response.has_focus() {
            focus_ring(ui, &response, rect.shrink(4.0), radius::CONTROL - 2, &theme);
        }
        let color = if self.is_selected { colors.text } else { colors.dim };
        let type_ = if self.is_selected { Type::ControlMedium } else { Type::Control };
        let mut left = rect.left() + space::M;
        if let Some(icon) = self.icon {
            icon.paint_at(ui.painter(), pos2(left + 7.0, rect.center().y), size::SMALL_ICON, color);
            left += size::SMALL_ICON + space::S;
        }
        let mark_center = pos2(rect.right() - space::L, rect.center().y);
        let right = match self.mark {
            RowMark::None => rect.right() - space::M,
            RowMark::Running => {
                spinner_at(ui, &theme, mark_center - vec2(2.0, 0.0), 12.0, colors.info);
                mark_center.x - space::M
            }
            RowMark::Waiting => {
                dot(ui, mark_center, colors.warn);
                mark_center.x - space::M
            }
            RowMark::Failed => {
                Icon::CircleAlert.paint_at(ui.painter(), mark_center, size::SMALL_ICON, colors.bad);
                mark_center.x - space::M
            }
            RowMark::Icon(icon) => {
                icon.paint_at(ui.painter(), mark_center, 12.0, colors.faint);
                mark_center.x - space::M
            }
        };
        let galley = line_of_text(ui, &theme, self.text, type_, color, right - left);
        let is_cut = galley.elided;
        let place = Align2::LEFT_CENTER.anchor_size(pos2(left, rect.center().y), galley.size());
        ui.painter().galley(place.min, galley, color);
        if is_cut { response.on_hover_text(super::hover_line(self.text)) } else { response }
    }
}

//! A small label for a state, and the dot that stands for one beside its words.

use egui::{Align2, Color32, CornerRadius, Pos2, Response, Role, Sense, Ui, Widget, WidgetInfo, pos2, vec2};

use super::line_of_text;
use crate::ui::icon::Icon;
use crate::ui::theme::{Colors, Theme, Type, space};

const HEIGHT: f32 = 20.0;

/// What a badge's colour says; its words say it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    Neutral,
    Accent,
    Good,
    Warn,
    Bad,
    Info,
    Unknown,
}

impl Tone {
    /// The colour of words and icons.
    pub const fn color(self, colors: &Colors) -> Color32 {
        match self {
            Self::Neutral => colors.dim,
            Self::Accent => colors.accent,
            Self::Good => colors.good,
            Self::Warn => colors.warn,
            Self::Bad => colors.bad,
            Self::Info => colors.info,
            Self::Unknown => colors.unknown,
        }
    }

    /// The colour behind them.
    pub const fn soft(self, colors: &Colors) -> Color32 {
        match self {
            Self::Neutral => colors.hover,
            Self::Accent => colors.accent_soft,
            Self::Good => colors.good_soft,
            Self::Warn => colors.warn_soft,
            Self::Bad => colors.bad_soft,
            Self::Info => colors.info_soft,
            Self::Unknown => colors.unknown_soft,
        }
    }
}

/// A small label for a state.
#[must_use = "add it to a Ui"]
pub struct Badge<'text> {
    text: &'text str,
    tone: Tone,
    icon: Option<Icon>,
}

impl<'text> Badge<'text> {
    pub fn new(text: &'text str, tone: Tone) -> Self {
        Self { text, tone, icon: None }
    }

    /// An icon before the text.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icon = Some(icon);
        self
    }
}

impl Widget for Badge<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let colors = &theme.colors;
        let color = if self.tone == Tone::Neutral { colors.text } else { self.tone.color(colors) };
        let galley = line_of_text(ui, &theme, self.text, Type::MetaMedium, color, ui.available_width().max(60.0));
        let icon = if self.icon.is_some() { 18.0 } else { 0.0 };
        let width = galley.size().x + icon + 2.0 * space::S;
        let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, self.text));
        if ui.is_rect_visible(rect) {
            ui.painter().rect_filled(rect, CornerRadius::same(10), self.tone.soft(colors));
            if let Some(icon) = self.icon {
                icon.paint_at(ui.painter(), pos2(rect.left() + space::S + 6.0, rect.center().y), 13.0, color);
            }
            let x = rect.left() + space::S + icon;
            let place = Align2::LEFT_CENTER.anchor_size(pos2(x, rect.center().y), galley.size());
            ui.painter().galley(place.min, galley, color);
        }
        response
    }
}

/// A dot of 8 points in a state's colour; words stand beside it.
pub fn dot(ui: &Ui, center: Pos2, color: Color32) {
    ui.painter().circle_filled(center, 4.0, color);
}

//! The controls: every one knows rest, hover, pressed, focused, disabled and busy, has a name for screen readers, and
//! works by keyboard. They know the theme and nothing of what they control.

mod at_right;
mod badge;
mod button;
mod chip;
mod follow_focus;
mod icon_button;
mod link;
mod list_row;
mod menu;
mod shortcut;
mod spinner;
mod switch;
mod text_field;

use std::sync::Arc;

use egui::{Color32, CornerRadius, Galley, Rect, Response, StrokeKind, TextWrapMode, Ui, text::LayoutJob};

use super::theme::{Theme, Type, size};

pub use at_right::{at_right, at_right_of};
pub use badge::{Badge, Tone, dot};
pub use button::{Button, ButtonKind};
pub use chip::Chip;
pub use follow_focus::follow_focus;
pub use icon_button::IconButton;
pub use link::Link;
pub use list_row::{ListRow, RowMark};
pub use menu::{MenuRow, Select, menu, menu_heading, menu_separator};
pub use shortcut::Shortcut;
pub use spinner::{Spinner, spinner_at};
pub use switch::Switch;
pub use text_field::TextField;

/// The ring around what has the keyboard: 2 points wide, 2 points off.
pub fn focus_ring(ui: &Ui, response: &Response, rect: Rect, radius: u8, theme: &Theme) {
    if !response.has_focus() {
        return;
    }
    let grown = rect.expand(size::FOCUS_GAP);
    let radius = CornerRadius::same(radius.saturating_add(2));
    let stroke = egui::Stroke::new(size::FOCUS_RING, theme.colors.info);
    ui.painter().rect_stroke(grown, radius, stroke, StrokeKind::Outside);
}

/// Characters of what is shown over a control that cuts its text.
const LONGEST_HOVER: usize = 1_000;

/// What is shown over a control whose text is cut: a name or a title from elsewhere, in one line of bearable length.
pub fn hover_line(text: &str) -> String {
    crate::policy::one_line(text, LONGEST_HOVER).into_owned()
}

/// The same for a path or an address.
pub fn hover_name(text: &str) -> String {
    crate::policy::one_line_name(text, LONGEST_HOVER).into_owned()
}

/// Characters of a single line.
const LONGEST_LINE: usize = 2_000;

/// A single line of text, cut with an ellipsis where it is wider than `width`. Wherever the text comes from, what would
/// deceive in it is drawn as an escape.
pub fn line_of_text(ui: &Ui, theme: &Theme, text: &str, kind: Type, color: Color32, width: f32) -> Arc<Galley> {
    // What is far beyond any row's end need not be looked at.
    let end = text.char_indices().nth(LONGEST_LINE).map_or(text.len(), |(at, _)| at);
    let start = text.get(..end).unwrap_or(text);
    let shown = crate::policy::escape(start, false).into_owned();
    let mut job = LayoutJob::single_section(shown, theme.format(kind, color));
    job.wrap = egui::text::TextWrapping::from_wrap_mode_and_width(TextWrapMode::Truncate, width);
    job.break_on_newline = false;
    ui.fonts_mut(|fonts| fonts.layout_job(job))
}

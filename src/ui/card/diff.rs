//! A change line by line, in cards and in the confirmation: whole, with numbers, signs and colours.

use egui::{CornerRadius, Id, Rect, Sense, StrokeKind, Ui, vec2};

use super::rows::{RowTag, Rows};
use crate::ir::{DiffLine, DiffTag};
use crate::ui::highlight::Highlighter;
use crate::ui::theme::{Theme, radius};

/// The rows of a change. `key` stands for the change, `path` gives the language.
pub fn rows(key: u64, lines: &[DiffLine], path: &str) -> Rows {
    let mut rows = Rows::new(key, language_of_path(path), true);
    for line in lines {
        match line.tag {
            DiffTag::Context => rows.push_line(&line.text, line.new_line.or(line.old_line), RowTag::Plain),
            DiffTag::Added => rows.push_line(&line.text, line.new_line, RowTag::Added),
            DiffTag::Removed => rows.push_line(&line.text, line.old_line, RowTag::Removed),
            DiffTag::Gap => rows.push_gap(),
        }
    }
    rows
}

/// The language of a file by its name's ending; empty for none.
pub fn language_of_path(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, extension)) => extension,
        None => match name {
            "Makefile" | "makefile" => "makefile",
            "Dockerfile" => "dockerfile",
            _ => "",
        },
    }
}

/// Draws rows in a frame of their own, at most `limit` points high; for where no card is around them.
pub fn framed(ui: &mut Ui, highlighter: &mut Highlighter, id: Id, rows: &Rows, limit: f32) -> egui::Response {
    let theme = Theme::of(ui.ctx());
    let size = vec2(ui.available_width(), rows.height(&theme, limit));
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    ui.painter().rect_filled(rect, CornerRadius::same(radius::CARD), theme.colors.code);
    let inner = Rect::from_min_max(rect.min + vec2(1.0, 1.0), rect.max - vec2(1.0, 1.0));
    rows.draw(ui, &theme, highlighter, id, inner, false);
    ui.painter().rect_stroke(rect, CornerRadius::same(radius::CARD), theme.line(), StrokeKind::Inside);
    response
}

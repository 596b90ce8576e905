//! The rows of a preview, drawn: only those in sight, each with its number, its mark and every deception as an escape.

use std::ops::Range;

use egui::text::LayoutJob;
use egui::{Color32, CornerRadius, Frame, Id, Rect, ScrollArea, Sense, Stroke, TextFormat, Ui, pos2, vec2};

use crate::app::preview::{PreviewRow, PreviewRows, RowKind, deceptions_of};
use crate::app::rows::bytes;
use crate::ir::Preview;
use crate::ui::highlight::Class;
use crate::ui::icon::Icon;
use crate::ui::theme::{Theme, Type, radius, size};
use crate::ui::widget::line_of_text;

use super::preview_color::PreviewColors;

const PADDING: f32 = 8.0;
const NUMBER_WIDTH: f32 = 44.0;
const MARK_WIDTH: f32 = 26.0;

/// How many columns fit a width, in points.
pub fn columns_for(ui: &Ui, theme: &Theme, width: f32) -> usize {
    let font = theme.font(Type::Mono);
    let advance = ui.fonts_mut(|fonts| fonts.glyph_width(&font, 'm')).max(1.0);
    let room = width - NUMBER_WIDTH - MARK_WIDTH - 3.0 * PADDING;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number of columns")]
    let columns = (room / advance).floor().max(20.0) as usize;
    columns
}

/// The height that all rows take, in points.
pub fn height_of(theme: &Theme, rows: usize) -> f32 {
    rows as f32 * theme.line_height(Type::Mono) + 2.0 * PADDING
}

/// Where a surface is and what it does now.
pub struct Surface<'text> {
    /// Tells it from others, and what it shows from what it showed before: a new content begins at its top.
    pub id: Id,
    /// What a screen reader says of it.
    pub name: &'text str,
    /// In points.
    pub height: f32,
    /// The row that comes into sight in this frame.
    pub jump: Option<usize>,
}

/// What of a surface is in sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sight {
    /// Rows below what is in sight.
    pub below: usize,
    /// Whether its first row is drawn on the screen.
    pub has_start: bool,
}

/// Draws the rows in a scrolling surface; gives what of it is in sight.
pub fn show(
    ui: &mut Ui,
    theme: &Theme,
    preview: &Preview,
    (rows, syntax): (&PreviewRows, &PreviewColors),
    surface: &Surface<'_>,
) -> Sight {
    let Surface { id, name, height, jump } = *surface;
    let colors = &theme.colors;
    Frame::NONE
        .fill(colors.code)
        .stroke(Stroke::new(size::LINE, colors.line))
        .corner_radius(CornerRadius::same(radius::CARD))
        .show(ui, |ui| {
            let width = ui.available_width();
            ui.set_min_size(vec2(width, height));
            let line = theme.line_height(Type::Mono);
            let total = rows.rows.len();
            let mut area =
                ScrollArea::vertical().id_salt(id).auto_shrink(false).max_height(height).min_scrolled_height(height);
            if let Some(row) = jump {
                // A few rows above it stay in sight.
                area = area.vertical_scroll_offset((row as f32 * line - height / 3.0).max(0.0));
            }
            area.show_viewport(ui, |ui, viewport| {
                ui.set_height(height_of(theme, total));
                let response = ui.interact(ui.clip_rect(), ui.scope_id().with("surface"), Sense::click());
                response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, name));
                keyboard_scroll(ui, &response, height);
                let top = ui.min_rect().top() + PADDING;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "an index of a row in sight"
                )]
                let first = ((viewport.top() - PADDING) / line).floor().max(0.0) as usize;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "an index of a row in sight"
                )]
                let last = ((viewport.bottom() - PADDING) / line).ceil().max(0.0) as usize;
                let left = ui.min_rect().left();
                for (index, row) in rows.rows.iter().enumerate().take(last.min(total)).skip(first) {
                    let y = top + index as f32 * line;
                    let rect = Rect::from_min_size(pos2(left, y), vec2(width, line));
                    let stretches = syntax.of_row(preview, rows, index);
                    draw_row(ui, theme, rect, preview, (row, &stretches));
                }
                if response.has_focus() {
                    let stroke = Stroke::new(size::FOCUS_RING, colors.info);
                    let ring = ui.clip_rect().shrink(1.0);
                    ui.painter().rect_stroke(ring, CornerRadius::same(radius::CARD), stroke, egui::StrokeKind::Inside);
                }
                // A hair of rounding hides nothing.
                let seen = ui.clip_rect().y_range().expand(1.0);
                let has_start = seen.contains(top) && seen.contains(top + line);
                // What surrounds it may cut it off too.
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "an index of a row in sight"
                )]
                let cut = ((ui.clip_rect().bottom() - top) / line).ceil().max(0.0) as usize;
                Sight { below: total.saturating_sub(last.min(cut)), has_start }
            })
            .inner
        })
        .inner
}

fn keyboard_scroll(ui: &Ui, response: &egui::Response, height: f32) {
    if !response.has_focus() {
        return;
    }
    let filter = egui::EventFilter { vertical_arrows: true, ..egui::EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let delta = ui.input(|input| {
        let pressed = |key| input.key_pressed(key);
        match () {
            () if pressed(egui::Key::ArrowDown) => -40.0,
            () if pressed(egui::Key::ArrowUp) => 40.0,
            () if pressed(egui::Key::PageDown) => -height * 0.9,
            () if pressed(egui::Key::PageUp) => height * 0.9,
            () if pressed(egui::Key::End) => -1.0e9,
            () if pressed(egui::Key::Home) => 1.0e9,
            () => 0.0,
        }
    });
    if delta != 0.0 {
        ui.scroll_with_delta(vec2(0.0, delta));
    }
}

fn draw_row(ui: &Ui, theme: &Theme, rect: Rect, preview: &Preview, (row, stretches): (&PreviewRow, &[(usize, Class)])) {
    let colors = &theme.colors;
    let (fill, mark) = match row.kind {
        RowKind::Added => (colors.added, "+"),
        RowKind::Removed => (colors.removed, "-"),
        RowKind::Plain | RowKind::Gap | RowKind::Folder | RowKind::File => (Color32::TRANSPARENT, ""),
    };
    if fill != Color32::TRANSPARENT {
        ui.painter().rect_filled(rect, CornerRadius::ZERO, fill);
    }
    let put = |x: f32, text: &str, color: Color32| {
        let galley = line_of_text(ui, theme, text, Type::Mono, color, rect.width());
        ui.painter().galley(pos2(x, rect.top()), galley, color);
    };
    if row.kind == RowKind::Gap {
        put(rect.left() + NUMBER_WIDTH + PADDING, "⋯", colors.dim);
        return;
    }
    let text_left = match row.kind {
        RowKind::Folder | RowKind::File => {
            let icon = if row.kind == RowKind::Folder { Icon::Folder } else { Icon::File };
            let center = pos2(rect.left() + PADDING + 9.0, rect.center().y);
            icon.paint_at(ui.painter(), center, size::SMALL_ICON, colors.dim);
            if let Some(size) = row.bytes(preview) {
                let galley = line_of_text(ui, theme, &bytes(size), Type::Mono, colors.dim, rect.width());
                let x = rect.right() - 2.0 * PADDING - galley.size().x;
                ui.painter().galley(pos2(x, rect.top()), galley, colors.dim);
            }
            rect.left() + PADDING + 26.0
        }
        RowKind::Plain | RowKind::Added | RowKind::Removed | RowKind::Gap => {
            if row.number > 0 {
                let number = row.number.to_string();
                let galley = line_of_text(ui, theme, &number, Type::Mono, colors.dim, rect.width());
                let x = rect.left() + NUMBER_WIDTH - galley.size().x;
                ui.painter().galley(pos2(x, rect.top()), galley, colors.dim);
            }
            put(rect.left() + NUMBER_WIDTH + PADDING + 4.0, mark, colors.text);
            rect.left() + NUMBER_WIDTH + MARK_WIDTH
        }
    };
    let is_content = matches!(row.kind, RowKind::Plain | RowKind::Added | RowKind::Removed);
    let job = row_job(theme, preview, row.text(preview), stretches, is_content);
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
    ui.painter().galley(pos2(text_left, rect.top()), galley, colors.text);
}

/// A row's text in its syntax colours: deceptions in red as escapes; in content spaces at the ends, tabs and carriage
/// returns are visible.
fn row_job(theme: &Theme, preview: &Preview, text: &str, stretches: &[(usize, Class)], is_content: bool) -> LayoutJob {
    let colors = &theme.colors;
    let faint = theme.format(Type::Mono, colors.dim);
    let bad = TextFormat { background: colors.bad_soft, ..theme.format(Type::Mono, colors.bad) };
    let mut job = LayoutJob::default();
    job.wrap.max_width = f32::INFINITY;
    let (text, ends_with_return) = text.strip_suffix('\r').map_or((text, false), |text| (text, true));
    let trailing = if is_content { text.trim_end_matches(' ').len() } else { text.len() };
    let (body, tail) = text.split_at_checked(trailing).unwrap_or((text, ""));
    let plain = |job: &mut LayoutJob, range: Range<usize>| {
        for (range, class) in classes(stretches, range) {
            let format = theme.format(Type::Mono, class.color(colors));
            for (index, part) in body.get(range).unwrap_or_default().split('\t').enumerate() {
                if index > 0 && is_content {
                    job.append("→   ", 0.0, faint.clone());
                }
                job.append(part, 0.0, format.clone());
            }
        }
    };
    let mut done = 0;
    for deception in deceptions_of(preview, body) {
        plain(&mut job, done..deception.range.start);
        job.append(&deception.escape, 0.0, bad.clone());
        done = deception.range.end;
    }
    plain(&mut job, done..body.len());
    if !tail.is_empty() {
        job.append(&"·".repeat(tail.len()), 0.0, faint.clone());
    }
    if ends_with_return {
        job.append("\\r", 0.0, faint);
    }
    job
}

/// A range in the stretches that it lies in; what lies in none is plain.
fn classes(stretches: &[(usize, Class)], range: Range<usize>) -> Vec<(Range<usize>, Class)> {
    let mut found = Vec::new();
    let (mut at, mut done) = (0, range.start);
    for (length, class) in stretches {
        let (start, end) = (at.max(range.start), (at + length).min(range.end));
        if start < end {
            found.push((start..end, *class));
            done = end;
        }
        at += length;
    }
    if done < range.end {
        found.push((done..range.end, Class::Plain));
    }
    found
}

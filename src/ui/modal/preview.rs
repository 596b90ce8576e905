//! The rows of a preview, drawn: only those in sight, each with its number, its mark and every deception as an escape.

use egui::text::LayoutJob;
use egui::{Color32, CornerRadius, Frame, Rect, ScrollArea, Sense, Stroke, TextFormat, Ui, pos2, vec2};

use crate::app::preview::{PreviewRow, PreviewRows, RowKind};
use crate::app::rows::bytes;
use crate::ir::Preview;
use crate::policy::{Segment, segments};
use crate::ui::icon::Icon;
use crate::ui::theme::{Theme, Type, radius, size};
use crate::ui::widget::line_of_text;

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
    pub id: &'text str,
    /// What a screen reader says of it.
    pub name: &'text str,
    /// In points.
    pub height: f32,
    /// The row that comes into sight in this frame.
    pub jump: Option<usize>,
}

/// Draws the rows in a scrolling surface; gives how many rows are below what is in sight.
pub fn show(ui: &mut Ui, theme: &Theme, preview: &Preview, rows: &PreviewRows, surface: &Surface<'_>) -> usize {
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
                    draw_row(ui, theme, rect, preview, row);
                }
                if response.has_focus() {
                    let stroke = Stroke::new(size::FOCUS_RING, colors.info);
                    let ring = ui.clip_rect().shrink(1.0);
                    ui.painter().rect_stroke(ring, CornerRadius::same(radius::CARD), stroke, egui::StrokeKind::Inside);
                }
                total.saturating_sub(last)
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

fn draw_row(ui: &Ui, theme: &Theme, rect: Rect, preview: &Preview, row: &PreviewRow) {
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
    let job = row_job(theme, row.text(preview), is_content);
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
    ui.painter().galley(pos2(text_left, rect.top()), galley, colors.text);
}

/// A row's text: deceptions in red as escapes; in content spaces at the ends, tabs and carriage returns are visible.
fn row_job(theme: &Theme, text: &str, is_content: bool) -> LayoutJob {
    let colors = &theme.colors;
    let plain = theme.format(Type::Mono, colors.text);
    let faint = theme.format(Type::Mono, colors.dim);
    let bad = TextFormat { background: colors.bad_soft, ..theme.format(Type::Mono, colors.bad) };
    let mut job = LayoutJob::default();
    job.wrap.max_width = f32::INFINITY;
    let (text, ends_with_return) = text.strip_suffix('\r').map_or((text, false), |text| (text, true));
    let trailing = if is_content { text.trim_end_matches(' ').len() } else { text.len() };
    let (body, tail) = text.split_at_checked(trailing).unwrap_or((text, ""));
    for segment in segments(body, true) {
        match segment {
            Segment::Escaped(escape) => job.append(&escape, 0.0, bad.clone()),
            Segment::Plain(plain_text) if is_content => {
                for (index, part) in plain_text.split('\t').enumerate() {
                    if index > 0 {
                        job.append("→   ", 0.0, faint.clone());
                    }
                    job.append(part, 0.0, plain.clone());
                }
            }
            Segment::Plain(plain_text) => job.append(plain_text, 0.0, plain.clone()),
        }
    }
    if !tail.is_empty() {
        job.append(&"·".repeat(tail.len()), 0.0, faint.clone());
    }
    if ends_with_return {
        job.append("\\r", 0.0, faint);
    }
    job
}

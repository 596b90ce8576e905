//! Rows of one height under each other, of which only the visible ones are laid out: a file with its line numbers, a diff,
//! output, a listing, matches.

use std::ops::Range;
use std::sync::Arc;

use egui::epaint::text::LayoutJob;
use egui::{Color32, Id, Rect, ScrollArea, Sense, Ui, UiBuilder, pos2, vec2};

use super::ansi::{AnsiStyle, AnsiText};
use crate::ui::highlight::{Class, Highlighter};
use crate::ui::icon::Icon;
use crate::ui::markdown::{append_visible, paint_selectable};
use crate::ui::theme::{Theme, Type, space};
use crate::ui::widget::line_of_text;

const PADDING: f32 = 8.0;
/// Longest line that is laid out, in bytes; the rest is left out and said so.
const LINE_BYTES: usize = 4000;
/// Rows below the visible ones that get their colours too.
const COLOURED_AHEAD: usize = 100;

/// Rows to be shown.
#[derive(Debug, Default)]
pub struct Rows {
    /// The text that rows of code are stretches of.
    text: String,
    all: Vec<Row>,
    /// How many rows are code.
    lines: usize,
    /// For colours by meaning; empty for none.
    language: String,
    key: u64,
    /// Colours of output, instead: stretches in bytes, found through their row.
    ansi: Vec<(usize, AnsiStyle)>,
    /// Characters of the longest row.
    widest: usize,
    /// Characters of the widest number.
    digits: usize,
    /// Whether a column of signs stands before the text.
    has_signs: bool,
}

/// One row.
#[derive(Debug, Clone)]
enum Row {
    /// `line` counts the rows of code before it.
    Code {
        range: Range<usize>,
        line: usize,
        number: Option<u32>,
        tag: RowTag,
        /// Its stretches in `Rows::ansi`.
        ansi: Range<usize>,
    },
    Gap,
    Entry {
        icon: Icon,
        name: String,
        detail: String,
    },
    Head {
        icon: Icon,
        name: String,
        detail: String,
    },
}

/// What happened to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowTag {
    Plain,
    Added,
    Removed,
}

impl Rows {
    /// No rows yet, for what is built row by row.
    pub fn new(key: u64, language: &str, has_signs: bool) -> Self {
        Self { key, language: language.to_owned(), has_signs, ..Self::default() }
    }

    /// Adds a line of code.
    pub fn push_line(&mut self, line: &str, number: Option<u32>, tag: RowTag) {
        let start = self.text.len();
        self.text.push_str(line);
        let visible = line.trim_end_matches(['\n', '\r']);
        if !line.ends_with('\n') {
            self.text.push('\n');
        }
        let end = start + visible.len();
        self.widest = self.widest.max(visible.chars().take(LINE_BYTES).map(|c| if c.is_ascii() { 1 } else { 2 }).sum());
        self.digits = self.digits.max(number.map_or(0, |number| number.to_string().len()));
        self.all.push(Row::Code { range: start..end, line: self.lines, number, tag, ansi: 0..0 });
        self.lines += 1;
    }

    /// Adds a line of output with its own colours.
    pub fn push_output(&mut self, line: &AnsiText) {
        let first = self.ansi.len();
        self.ansi.extend_from_slice(&line.spans);
        let last = self.ansi.len();
        self.push_line(&line.text, None, RowTag::Plain);
        if let Some(Row::Code { ansi, .. }) = self.all.last_mut() {
            *ansi = first..last;
        }
    }

    /// Adds a row for lines that are left out.
    pub fn push_gap(&mut self) {
        self.all.push(Row::Gap);
    }

    /// Adds a name with a fact at the right.
    pub fn push_entry(&mut self, icon: Icon, name: String, detail: String) {
        self.all.push(Row::Entry { icon, name, detail });
    }

    /// Adds a heading for the rows that follow.
    pub fn push_head(&mut self, icon: Icon, name: String, detail: String) {
        self.all.push(Row::Head { icon, name, detail });
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Everything as plain text: names, and lines under a heading with their numbers.
    pub fn plain_text(&self) -> String {
        let mut out = String::new();
        let mut is_under_head = false;
        for row in &self.all {
            match row {
                Row::Code { range, number, .. } => {
                    if let Some(number) = number.filter(|_| is_under_head) {
                        out.push_str(&number.to_string());
                        out.push_str(": ");
                    }
                    out.push_str(self.text.get(range.clone()).unwrap_or_default());
                }
                Row::Gap => out.push('⋯'),
                Row::Entry { name, .. } => out.push_str(name),
                Row::Head { name, .. } => {
                    is_under_head = true;
                    out.push_str(name);
                }
            }
            out.push('\n');
        }
        out
    }

    /// The text up to the line of a row, for what needs no more of it.
    fn text_up_to(&self, row: usize) -> &str {
        let rows = self.all.get(..row.min(self.all.len())).unwrap_or_default();
        let end = rows.iter().rev().find_map(|row| match row {
            Row::Code { range, .. } => Some(range.end),
            Row::Gap | Row::Entry { .. } | Row::Head { .. } => None,
        });
        let end = end.and_then(|end| self.text.get(end..)?.find('\n').map(|rest| end + rest + 1));
        self.text.get(..end.unwrap_or(0)).unwrap_or_default()
    }

    fn row_height(theme: &Theme) -> f32 {
        theme.line_height(Type::Mono)
    }

    /// How high it is, at most `limit`.
    pub fn height(&self, theme: &Theme, limit: f32) -> f32 {
        (self.all.len() as f32 * Self::row_height(theme) + 2.0 * PADDING).min(limit)
    }

    /// Draws it in a rectangle; it scrolls where it does not fit. `to_end` keeps the end in sight while it grows.
    pub fn draw(&self, ui: &mut Ui, theme: &Theme, highlighter: &mut Highlighter, id: Id, rect: Rect, to_end: bool) {
        let height = Self::row_height(theme);
        let character = ui.fonts_mut(|fonts| fonts.glyph_width(&theme.font(Type::Mono), 'm'));
        let gutter = if self.digits > 0 { (self.digits.max(2) as f32 + 2.5) * character } else { space::M };
        let signs = if self.has_signs { 2.0 * character } else { 0.0 };
        let width = (gutter + signs + (self.widest as f32 + 2.0) * character).max(rect.width());
        let mut child = ui.new_child(UiBuilder::new().id_salt(id).max_rect(rect));
        child.set_clip_rect(rect.intersect(ui.clip_rect()));
        // The frame's lines take a point each: what fits must not scroll.
        let size = vec2(width, self.all.len() as f32 * height + 2.0 * PADDING - 2.0);
        let area = if width > rect.width() + 1.0 { ScrollArea::both() } else { ScrollArea::vertical() };
        area.id_salt(id).auto_shrink(false).stick_to_bottom(to_end).show_viewport(&mut child, |ui, seen| {
            let (whole, _) = ui.allocate_exact_size(size, Sense::hover());
            let first = row_at(seen.top() - PADDING, height);
            let last = row_at(seen.bottom() - PADDING, height) + 1;
            let shown = self.all.get(first.min(self.all.len())..last.min(self.all.len())).unwrap_or_default();
            let lines = if self.language.is_empty() {
                &[]
            } else {
                highlighter.lines(self.key, &self.language, self.text_up_to(last + COLOURED_AHEAD), true)
            };
            for (index, row) in (first..).zip(shown) {
                let top = whole.top() + PADDING + index as f32 * height;
                let area = Rect::from_min_size(pos2(whole.left(), top), vec2(width, height));
                match row {
                    Row::Code { range, line, number, tag, ansi } => {
                        let line = lines.get(*line).map(AsRef::as_ref);
                        let colors = &theme.colors;
                        let (fill, sign) = match tag {
                            RowTag::Plain => (None, " "),
                            RowTag::Added => (Some(colors.added), "+"),
                            RowTag::Removed => (Some(colors.removed), "−"),
                        };
                        if let Some(fill) = fill {
                            ui.painter().rect_filled(area, 0, fill);
                        }
                        if let Some(number) = number {
                            let text = number.to_string();
                            let galley = line_of_text(ui, theme, &text, Type::Mono, colors.dim, f32::INFINITY);
                            let x = area.left() + gutter - 1.5 * character - galley.size().x;
                            ui.painter().galley(pos2(x, top), galley, colors.dim);
                        }
                        if self.has_signs && *tag != RowTag::Plain {
                            let galley = line_of_text(ui, theme, sign, Type::Mono, colors.text, f32::INFINITY);
                            ui.painter().galley(pos2(area.left() + gutter, top), galley, colors.text);
                        }
                        let galley = self.lay_out(ui, theme, range, line, ansi);
                        paint_selectable(ui, id.with(index), pos2(area.left() + gutter + signs, top), &galley);
                    }
                    Row::Gap => {
                        ui.painter().rect_filled(area, 0, theme.colors.hover);
                        let galley = line_of_text(ui, theme, "⋯", Type::Mono, theme.colors.dim, f32::INFINITY);
                        ui.painter().galley(pos2(area.left() + gutter, top), galley, theme.colors.dim);
                    }
                    Row::Entry { icon, name, detail } => {
                        named(ui, theme, area, seen.width(), (*icon, theme.colors.dim), (name, Type::Mono), detail);
                    }
                    Row::Head { icon, name, detail } => {
                        named(
                            ui,
                            theme,
                            area,
                            seen.width(),
                            (*icon, theme.colors.dim),
                            (name, Type::ControlStrong),
                            detail,
                        );
                    }
                }
            }
        });
    }

    fn lay_out(
        &self,
        ui: &Ui,
        theme: &Theme,
        range: &Range<usize>,
        classes: Option<&[(usize, Class)]>,
        ansi: &Range<usize>,
    ) -> Arc<egui::Galley> {
        let mut job = LayoutJob::default();
        job.wrap.max_width = f32::INFINITY;
        job.break_on_newline = false;
        let whole = self.text.get(range.clone()).unwrap_or_default();
        let line = shortened(whole);
        let plain = theme.format(Type::Mono, theme.colors.text);
        let mut start = 0;
        let classes = classes.unwrap_or_default().iter().map(|(length, class)| (*length, class.color(&theme.colors)));
        let styles = self.ansi.get(ansi.clone()).unwrap_or_default();
        let styles = styles.iter().map(|(length, style)| (*length, ansi_color(theme, *style)));
        for (length, color) in classes.chain(styles) {
            let end = (start + length).min(line.len());
            let format = egui::TextFormat { color, ..plain.clone() };
            append_visible(&mut job, theme, line.get(start..end).unwrap_or_default(), format);
            start = end;
        }
        append_visible(&mut job, theme, line.get(start..).unwrap_or_default(), plain.clone());
        if line.len() < whole.len() {
            job.append(" …", 0.0, theme.format(Type::Mono, theme.colors.warn));
        }
        if job.text.is_empty() {
            job.append("", 0.0, plain);
        }
        ui.fonts_mut(|fonts| fonts.layout_job(job))
    }
}

fn shortened(line: &str) -> &str {
    if line.len() <= LINE_BYTES {
        return line;
    }
    let mut end = LINE_BYTES;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.get(..end).unwrap_or(line)
}

fn ansi_color(theme: &Theme, style: AnsiStyle) -> Color32 {
    let bright = if style.is_bold { 8 } else { 0 };
    match style.color {
        Some(color) if color < 8 => theme.colors.ansi.get(usize::from(color + bright)).copied(),
        Some(color) => theme.colors.ansi.get(usize::from(color)).copied(),
        None if style.is_dim => Some(theme.colors.dim),
        None => None,
    }
    .unwrap_or(theme.colors.text)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a row number, cut at 0")]
fn row_at(y: f32, height: f32) -> usize {
    (y / height).floor().max(0.0) as usize
}

fn named(
    ui: &Ui,
    theme: &Theme,
    area: Rect,
    seen: f32,
    (icon, color): (Icon, Color32),
    (name, kind): (&str, Type),
    detail: &str,
) {
    let middle = area.center().y;
    icon.paint_at(ui.painter(), pos2(area.left() + space::M + 7.0, middle), 14.0, color);
    let right = area.left() + seen.min(area.width()) - space::M;
    let facts = line_of_text(ui, theme, detail, Type::Meta, theme.colors.dim, seen * 0.5);
    let left = area.left() + space::M + 22.0;
    let room = (right - facts.size().x - space::M - left).max(40.0);
    let escaped = crate::policy::escape_name(name, false);
    let galley = line_of_text(ui, theme, &escaped, kind, theme.colors.text, room);
    ui.painter().galley(pos2(left, middle - galley.size().y / 2.0), galley, theme.colors.text);
    let x = right - facts.size().x;
    ui.painter().galley(pos2(x, middle - facts.size().y / 2.0), facts, theme.colors.dim);
}

//! A block of code: language, copy, wrap, fold; its lines laid out in chunks, so that growing costs only the last one.

use std::sync::Arc;

use egui::epaint::text::LayoutJob;
use egui::{Align, Color32, CornerRadius, Galley, Id, Layout, Rect, ScrollArea, StrokeKind, Ui, UiBuilder, pos2, vec2};

use super::node::Code;
use super::text::paint_selectable;
use super::view::{Look, Output};
use crate::ui::highlight::{Class, Line};
use crate::ui::theme::{Theme, Type, radius, space};
use crate::ui::widget::{Button, line_of_text};

const HEADER: f32 = 30.0;
const PADDING: f32 = 8.0;
/// Lines of one chunk.
const CHUNK: usize = 40;
/// Code with more lines is folded to as many.
const FOLD_LINES: usize = 40;
/// Code with more lines is never wrapped.
const WRAP_LINES: usize = 1000;

/// A block of code as it is shown; kept while its code grows.
pub(super) struct CodeView {
    key: u64,
    /// Where each line begins; one more entry for the end.
    starts: Vec<usize>,
    scanned: usize,
    chunks: Vec<Chunk>,
    is_wrapped: bool,
    is_unfolded: bool,
    widest: f32,
    laid_out: Option<(u64, f32)>,
}

#[derive(Default)]
struct Chunk {
    galley: Option<Arc<Galley>>,
    /// Bytes and coloured lines that the galley shows.
    shows: (usize, usize),
}

impl CodeView {
    /// `key` stands for this code while it grows; code that grows before one's eyes is not folded.
    pub(super) fn new(key: u64, is_growing: bool) -> Self {
        Self {
            key,
            starts: vec![0],
            scanned: 0,
            chunks: Vec::new(),
            is_wrapped: false,
            is_unfolded: is_growing,
            widest: 0.0,
            laid_out: None,
        }
    }

    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// Takes in what the code grew by.
    fn scan(&mut self, code: &Code) {
        let added = code.text.get(self.scanned..).unwrap_or_default();
        for (index, _) in added.match_indices('\n') {
            self.starts.push(self.scanned + index + 1);
        }
        self.scanned = code.text.len();
    }

    fn line_count(&self, code: &Code) -> usize {
        // A final line break does not begin another line.
        let ends_open = self.starts.last().is_some_and(|start| *start < code.text.len());
        (self.starts.len() - 1 + usize::from(ends_open)).max(1)
    }

    fn shown_lines(&self, code: &Code) -> usize {
        let lines = self.line_count(code);
        if self.is_unfolded || lines <= FOLD_LINES { lines } else { FOLD_LINES }
    }

    fn has_fold(&self, code: &Code) -> bool {
        self.line_count(code) > FOLD_LINES
    }

    /// How high it is, in points.
    pub(super) fn height(&mut self, ui: &Ui, look: &mut Look<'_>, code: &Code, width: f32) -> f32 {
        self.scan(code);
        let lines = self.shown_lines(code);
        let body = if self.is_wrapped && lines <= WRAP_LINES {
            let inner = width - 2.0 * space::M;
            (0..lines.div_ceil(CHUNK)).map(|index| self.chunk(ui, look, code, index, inner).size().y).sum()
        } else {
            lines as f32 * look.theme.line_height(Type::Mono)
        };
        let fold = if self.has_fold(code) { 32.0 } else { 0.0 };
        HEADER + 2.0 * PADDING + body + fold
    }

    /// One chunk, laid out if it is not yet, or changed, or got colours.
    fn chunk(&mut self, ui: &Ui, look: &mut Look<'_>, code: &Code, index: usize, width: f32) -> Arc<Galley> {
        let wrap = if self.is_wrapped { width } else { f32::INFINITY };
        if self.laid_out != Some((look.epoch, wrap)) {
            self.chunks.clear();
            self.widest = 0.0;
            self.laid_out = Some((look.epoch, wrap));
        }
        let shown = self.shown_lines(code);
        let first = index * CHUNK;
        let last = (first + CHUNK).min(shown);
        let start = self.starts.get(first).copied().unwrap_or(code.text.len());
        let end = self.starts.get(last).copied().unwrap_or(code.text.len());
        let text = code.text.get(start..end).unwrap_or_default();
        let lines = look.highlighter.lines(self.key, &code.language, &code.text, look.is_whole);
        let coloured = lines.get(first..last.min(lines.len())).unwrap_or_default();
        if self.chunks.len() <= index {
            self.chunks.resize_with(index + 1, Chunk::default);
        }
        let shows = (text.len(), coloured.len());
        let Some(chunk) = self.chunks.get_mut(index) else { return empty(ui, look.theme) };
        match &chunk.galley {
            Some(galley) if chunk.shows == shows => galley.clone(),
            Some(_) | None => {
                look.stats.laid_out += 1;
                let job = code_job(look.theme, text.strip_suffix('\n').unwrap_or(text), coloured, wrap);
                let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
                self.widest = self.widest.max(galley.size().x);
                chunk.galley = Some(galley.clone());
                chunk.shows = shows;
                galley
            }
        }
    }

    /// Draws it in a rectangle of its height.
    pub(super) fn draw(&mut self, ui: &mut Ui, look: &mut Look<'_>, id: Id, code: &Code, rect: Rect, out: &mut Output) {
        let theme = look.theme;
        let colors = &theme.colors;
        let corner = CornerRadius::same(radius::CARD);
        ui.painter().rect(rect, corner, colors.code, theme.line(), StrokeKind::Inside);
        let header = Rect::from_min_size(rect.min, vec2(rect.width(), HEADER));
        let top = CornerRadius { nw: radius::CARD, ne: radius::CARD, sw: 0, se: 0 };
        ui.painter().rect(header, top, colors.raised, theme.line(), StrokeKind::Inside);
        let name = if code.language.is_empty() { look.lang.text("code-plain") } else { &code.language };
        let label = line_of_text(ui, theme, name, Type::Meta, colors.dim, rect.width() * 0.5);
        ui.painter().galley(
            pos2(header.left() + space::M, header.center().y - label.size().y / 2.0),
            label,
            colors.dim,
        );
        let mut buttons = ui.new_child(
            UiBuilder::new()
                .id_salt(id.with("header"))
                .max_rect(header.shrink2(vec2(2.0, 2.0)))
                .layout(Layout::right_to_left(Align::Center)),
        );
        buttons.spacing_mut().item_spacing.x = 0.0;
        if buttons.add(Button::ghost(look.lang.text("copy")).small()).clicked() {
            out.copied = Some(code.text.clone());
        }
        if self.line_count(code) <= WRAP_LINES {
            let key = if self.is_wrapped { "code-unwrap" } else { "code-wrap" };
            if buttons.add(Button::ghost(look.lang.text(key)).small()).clicked() {
                self.is_wrapped = !self.is_wrapped;
                out.resized = true;
            }
        }
        let fold = if self.has_fold(code) { 32.0 } else { 0.0 };
        let body = Rect::from_min_max(
            pos2(rect.left() + space::M, header.bottom() + PADDING),
            pos2(rect.right() - space::M, rect.bottom() - PADDING - fold),
        );
        self.draw_body(ui, look, id, code, body);
        if fold > 0.0 {
            let foot = Rect::from_min_max(pos2(rect.left(), rect.bottom() - fold), rect.max);
            ui.painter().hline(foot.x_range(), foot.top(), theme.line());
            let mut child = ui.new_child(
                UiBuilder::new()
                    .id_salt(id.with("fold"))
                    .max_rect(foot.shrink(3.0))
                    .layout(Layout::top_down(Align::Center)),
            );
            let text = if self.is_unfolded {
                look.lang.text("code-fold").to_owned()
            } else {
                look.lang.format("code-unfold", &[("count", self.line_count(code).into())])
            };
            if child.add(Button::ghost(&text).small()).clicked() {
                self.is_unfolded = !self.is_unfolded;
                out.resized = true;
            }
        }
    }

    fn draw_body(&mut self, ui: &mut Ui, look: &mut Look<'_>, id: Id, code: &Code, body: Rect) {
        let line = look.theme.line_height(Type::Mono);
        let lines = self.shown_lines(code);
        let visible = ui.clip_rect();
        let is_wrapped = self.is_wrapped && lines <= WRAP_LINES;
        let mut pieces = Vec::new();
        let mut y = 0.0;
        for index in 0..lines.div_ceil(CHUNK) {
            let fixed = CHUNK.min(lines - index * CHUNK) as f32 * line;
            let top = body.top() + y;
            let is_seen = top <= visible.bottom() && top + fixed >= visible.top();
            if is_wrapped || is_seen {
                let galley = self.chunk(ui, look, code, index, body.width());
                let height = if is_wrapped { galley.size().y } else { fixed };
                pieces.push((y, index, galley));
                y += height;
            } else {
                y += fixed;
            }
        }
        let widest = self.widest;
        let paint = |ui: &Ui, origin: egui::Pos2| {
            for (y, index, galley) in &pieces {
                paint_selectable(ui, id.with(("chunk", *index)), origin + vec2(0.0, *y), galley);
            }
        };
        if is_wrapped || widest <= body.width() {
            paint(ui, body.min);
            return;
        }
        let mut child = ui.new_child(UiBuilder::new().id_salt(id.with("body")).max_rect(body));
        ScrollArea::horizontal().id_salt(id.with("scroll")).auto_shrink(false).show(&mut child, |ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(widest, y), egui::Sense::hover());
            paint(ui, rect.min);
        });
    }
}

fn empty(ui: &Ui, theme: &Theme) -> Arc<Galley> {
    line_of_text(ui, theme, "", Type::Mono, Color32::PLACEHOLDER, f32::INFINITY)
}

/// Code with its colours, whatever tries to deceive made visible; lines without colours yet are plain.
pub fn code_job(theme: &Theme, text: &str, lines: &[Line], wrap: f32) -> LayoutJob {
    let mut job = LayoutJob::default();
    job.wrap.max_width = wrap;
    job.wrap.break_anywhere = true;
    let format = |class: Class| theme.format(Type::Mono, class.color(&theme.colors));
    for (index, line) in text.split_inclusive('\n').enumerate() {
        match lines.get(index) {
            Some(pieces) => {
                let mut start = 0;
                for (length, class) in pieces.iter() {
                    let end = (start + length).min(line.len());
                    append_visible(&mut job, theme, line.get(start..end).unwrap_or_default(), format(*class));
                    start = end;
                }
                append_visible(&mut job, theme, line.get(start..).unwrap_or_default(), format(Class::Plain));
            }
            None => append_visible(&mut job, theme, line, format(Class::Plain)),
        }
    }
    if job.text.is_empty() {
        job.append("", 0.0, format(Class::Plain));
    }
    job
}

/// Adds text; characters that would deceive stand there as their escapes, in the colour of a warning.
pub fn append_visible(job: &mut LayoutJob, theme: &Theme, text: &str, format: egui::TextFormat) {
    if text.is_empty() {
        return;
    }
    if text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\t')) {
        job.append(text, 0.0, format);
        return;
    }
    let mut start = 0;
    for deception in crate::policy::find_deceptive(text, true) {
        job.append(text.get(start..deception.range.start).unwrap_or_default(), 0.0, format.clone());
        let mut warning = format.clone();
        warning.color = theme.colors.warn;
        warning.background = theme.colors.warn_soft;
        job.append(&deception.escape, 0.0, warning);
        start = deception.range.end;
    }
    job.append(text.get(start..).unwrap_or_default(), 0.0, format);
}

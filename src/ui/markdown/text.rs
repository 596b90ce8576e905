//! Text of a block, laid out once and drawn many times: selectable, with links that show where they lead.

use std::sync::Arc;

use egui::epaint::text::{LayoutJob, TextFormat};
use egui::text_selection::LabelSelectionState;
use egui::{
    Color32, CornerRadius, CursorIcon, Galley, Id, Pos2, Rect, Role, Sense, Stroke, Ui, Vec2, WidgetInfo, vec2,
};

use super::node::{Link, Text};
use super::view::Output;
use crate::policy::find_controls;
use crate::ui::theme::{Theme, Type, radius};
use crate::ui::widget::hover_line;

/// Space before and behind inline code, in points.
const CODE_PADDING: f32 = 4.0;

/// A text with its place in its block.
pub(super) struct TextPiece {
    pub(super) at: Vec2,
    pub(super) galley: Arc<Galley>,
    /// Behind inline code.
    marks: Vec<Rect>,
    links: Vec<LinkArea>,
}

struct LinkArea {
    link: Link,
    text: String,
    rects: Vec<Rect>,
}

/// How a text is to be laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextLook {
    pub(super) regular: Type,
    pub(super) strong: Type,
    /// Size and line height, where they are not those of the types.
    pub(super) size: Option<(f32, f32)>,
    pub(super) color: Color32,
}

impl TextLook {
    pub(super) fn body(theme: &Theme) -> Self {
        Self { regular: Type::Body, strong: Type::BodyStrong, size: None, color: theme.colors.text }
    }

    pub(super) fn strong(theme: &Theme) -> Self {
        Self { regular: Type::BodyStrong, ..Self::body(theme) }
    }
}

impl TextPiece {
    /// Lays a text out in at most `width` points.
    pub(super) fn new(ui: &Ui, theme: &Theme, text: &Text, look: TextLook, at: Vec2, width: f32) -> Self {
        let mut job = LayoutJob { break_on_newline: true, ..LayoutJob::default() };
        job.wrap.max_width = width.max(1.0);
        let mut was_code = false;
        for span in &text.spans {
            let piece = text.text.get(span.range.clone()).unwrap_or_default();
            let style = span.style;
            let mut format = theme.format(if style.strong { look.strong } else { look.regular }, look.color);
            if let Some((size, line)) = look.size {
                format.font_id.size = size;
                format.line_height = Some(line);
            }
            if style.code {
                format.font_id = egui::FontId::monospace(format.font_id.size * 0.9);
            }
            format.italics = style.emphasis;
            if style.quiet {
                format.color = theme.colors.dim;
            }
            if style.strikethrough {
                format.strikethrough = Stroke::new(1.0, theme.colors.dim);
            }
            if style.link.and_then(|index| text.links.get(index)).is_some_and(Link::is_openable) {
                format.color = theme.colors.accent;
            }
            if style.escape {
                format.color = theme.colors.warn;
                format.background = theme.colors.warn_soft;
            }
            let space = if style.code == was_code { 0.0 } else { CODE_PADDING };
            was_code = style.code;
            job.append(piece, space, format);
        }
        if job.text.is_empty() {
            job.append(" ", 0.0, theme.format(look.regular, look.color));
        }
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
        let mut marks = Vec::new();
        let mut links: Vec<LinkArea> = Vec::new();
        let mut start = 0;
        let mut open: Option<usize> = None;
        for span in &text.spans {
            let piece = text.text.get(span.range.clone()).unwrap_or_default();
            let end = start + piece.chars().count();
            if span.style.code {
                marks.extend(
                    rects_of(&galley, start, end).into_iter().map(|rect| rect.expand2(vec2(CODE_PADDING, -1.0))),
                );
            }
            let link = span.style.link.filter(|index| text.links.get(*index).is_some_and(Link::is_openable));
            if let Some(index) = link {
                let rects = rects_of(&galley, start, end);
                match links.last_mut().filter(|_| open == Some(index)) {
                    Some(area) => {
                        area.rects.extend(rects);
                        area.text.push_str(piece);
                    }
                    None => links.extend(text.links.get(index).map(|link| LinkArea {
                        link: link.clone(),
                        text: piece.to_owned(),
                        rects,
                    })),
                }
            }
            open = link;
            start = end;
        }
        Self { at, galley, marks, links }
    }

    /// Text in one format.
    pub(super) fn uniform(ui: &Ui, text: &str, format: TextFormat, at: Vec2, width: f32) -> Self {
        let mut job = LayoutJob::single_section(text.to_owned(), format);
        job.wrap.max_width = width.max(1.0);
        Self::of_job(ui, job, at)
    }

    /// Source in one format, in which what turns or hides words is seen as its escape.
    pub(super) fn source(ui: &Ui, theme: &Theme, text: &str, format: &TextFormat, at: Vec2, width: f32) -> Self {
        let warning = TextFormat { color: theme.colors.warn, background: theme.colors.warn_soft, ..format.clone() };
        let mut job = LayoutJob::default();
        job.wrap.max_width = width.max(1.0);
        let mut start = 0;
        for hidden in find_controls(text) {
            job.append(text.get(start..hidden.range.start).unwrap_or_default(), 0.0, format.clone());
            job.append(&hidden.escape, 0.0, warning.clone());
            start = hidden.range.end;
        }
        job.append(text.get(start..).unwrap_or_default(), 0.0, format.clone());
        Self::of_job(ui, job, at)
    }

    pub(super) fn of_job(ui: &Ui, job: LayoutJob, at: Vec2) -> Self {
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
        Self { at, galley, marks: Vec::new(), links: Vec::new() }
    }

    pub(super) fn size(&self) -> Vec2 {
        self.galley.size()
    }

    /// Draws it; `origin` is the block's corner.
    pub(super) fn draw(&self, ui: &Ui, theme: &Theme, id: Id, origin: Pos2, out: &mut Output) {
        let at = origin + self.at;
        for mark in &self.marks {
            let corner = CornerRadius::same(radius::INLINE);
            ui.painter().rect_filled(mark.translate(at.to_vec2()), corner, theme.colors.inline_code);
        }
        paint_selectable(ui, id, at, &self.galley);
        for (number, area) in self.links.iter().enumerate() {
            area.draw(ui, theme, id.with(number), at, out);
        }
    }
}

/// Draws a text so that it can be selected, across texts too.
pub fn paint_selectable(ui: &Ui, id: Id, at: Pos2, galley: &Arc<Galley>) {
    let rect = Rect::from_min_size(at, galley.size());
    if !ui.is_rect_visible(rect) {
        return;
    }
    let mut sense = Sense::click_and_drag();
    sense -= Sense::FOCUSABLE;
    let response = ui.interact(rect, id, sense);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, galley.text()));
    LabelSelectionState::label_text_selection(ui, &response, at, galley.clone(), Color32::PLACEHOLDER, Stroke::NONE);
}

impl LinkArea {
    fn draw(&self, ui: &Ui, theme: &Theme, id: Id, at: Pos2, out: &mut Output) {
        let mut is_strong = false;
        let mut is_clicked = false;
        let mut hovered = None;
        for (row, rect) in self.rects.iter().enumerate() {
            let rect = rect.translate(at.to_vec2());
            let mut sense = Sense::click();
            if row > 0 {
                sense -= Sense::FOCUSABLE;
            }
            let response = ui.interact(rect, id.with(row), sense);
            if row == 0 {
                response.widget_info(|| WidgetInfo::labeled(Role::Link, true, &self.text));
                crate::ui::widget::focus_ring(ui, &response, rect, radius::INLINE, theme);
            }
            is_strong |= response.hovered() || response.has_focus();
            is_clicked |= response.clicked();
            if response.hovered() || response.has_focus() {
                hovered = Some(response);
            }
        }
        if is_strong {
            for rect in &self.rects {
                let rect = rect.translate(at.to_vec2());
                ui.painter().hline(rect.x_range(), rect.bottom() - 2.0, Stroke::new(1.0, theme.colors.accent));
            }
            ui.set_cursor_icon(CursorIcon::PointingHand);
        }
        if let Some(response) = hovered {
            // The true address, with whatever tries to deceive made visible.
            response.on_hover_text(hover_line(&crate::policy::escape_address(&self.link.address)));
        }
        if is_clicked {
            let to = if self.link.is_image { &mut out.opened_image } else { &mut out.opened };
            *to = Some(self.link.address.clone());
        }
    }
}

/// Where a stretch of characters stands, one rectangle a row.
fn rects_of(galley: &Galley, start: usize, end: usize) -> Vec<Rect> {
    let mut rects = Vec::new();
    let mut first = 0;
    for row in &galley.rows {
        let count = row.char_count_excluding_newline().0;
        let (from, to) = (start.max(first), end.min(first + count));
        if from < to {
            let (Some(head), Some(tail)) = (row.glyphs.get(from - first), row.glyphs.get(to - first - 1)) else {
                continue;
            };
            let (left, right) = (head.pos.x, tail.max_x());
            let rect = row.rect();
            rects.push(Rect::from_min_max(
                egui::pos2(row.pos.x + left, rect.top()),
                egui::pos2(row.pos.x + right, rect.bottom()),
            ));
        }
        first += row.char_count_including_newline().0;
    }
    rects
}

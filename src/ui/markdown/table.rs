//! A table: columns as wide as their cells where that fits, narrower with wrapped cells where it nearly does, and scrolled
//! where it does not.

use egui::{Id, Rect, ScrollArea, Sense, Ui, UiBuilder, Vec2, pos2, vec2};

use super::node::{Column, Table};
use super::text::{TextLook, TextPiece};
use super::view::{Look, Output};
use crate::ui::theme::{Theme, space};

const CELL_PADDING: Vec2 = vec2(space::M, 6.0);
/// A cell is wrapped at this width even where the table scrolls.
const MAX_CELL: f32 = 420.0;
/// A column is never squeezed below this width.
const MIN_CELL: f32 = 72.0;

/// A table laid out for a width.
pub(super) struct TableLayout {
    /// Left edges, and the right edge of the last.
    xs: Vec<f32>,
    /// Top edges, and the bottom edge of the last.
    ys: Vec<f32>,
    cells: Vec<TextPiece>,
}

impl TableLayout {
    pub(super) fn new(ui: &Ui, theme: &Theme, table: &Table, width: f32) -> Self {
        let count = table.columns.len().max(1);
        let rows: Vec<_> = std::iter::once(&table.head).chain(&table.rows).collect();
        let look = |row: usize| if row == 0 { TextLook::strong(theme) } else { TextLook::body(theme) };
        let mut widths = vec![MIN_CELL / 2.0; count];
        for (number, row) in rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(&mut widths) {
                let piece = TextPiece::new(ui, theme, cell, look(number), Vec2::ZERO, MAX_CELL);
                *width = width.max(piece.size().x.ceil() + 1.0);
            }
        }
        squeeze(&mut widths, width - count as f32 * 2.0 * CELL_PADDING.x);
        let mut xs = vec![0.0];
        for width in &widths {
            xs.push(xs.last().copied().unwrap_or(0.0) + width + 2.0 * CELL_PADDING.x);
        }
        let mut ys = vec![0.0];
        let mut cells = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let top = ys.last().copied().unwrap_or(0.0);
            let mut bottom: f32 = top + theme.line_height(crate::ui::theme::Type::Body);
            for (index, cell) in row.iter().enumerate().take(count) {
                let (Some(&left), Some(&width)) = (xs.get(index), widths.get(index)) else { continue };
                let mut piece = TextPiece::new(ui, theme, cell, look(number), Vec2::ZERO, width);
                let free = (width - piece.size().x).max(0.0);
                let shift = match table.columns.get(index) {
                    Some(Column::Left) | None => 0.0,
                    Some(Column::Center) => free / 2.0,
                    Some(Column::Right) => free,
                };
                piece.at = vec2(left + CELL_PADDING.x + shift, top + CELL_PADDING.y);
                bottom = bottom.max(top + piece.size().y);
                cells.push(piece);
            }
            ys.push(bottom + 2.0 * CELL_PADDING.y);
        }
        Self { xs, ys, cells }
    }

    pub(super) fn size(&self) -> Vec2 {
        vec2(self.xs.last().copied().unwrap_or(0.0), self.ys.last().copied().unwrap_or(0.0))
    }

    pub(super) fn draw(&self, ui: &mut Ui, look: &Look<'_>, id: Id, rect: Rect, out: &mut Output) {
        let size = self.size();
        if size.x <= rect.width() + 1.0 {
            self.paint(ui, look.theme, id, Rect::from_min_size(rect.min, size), out);
            return;
        }
        let mut child = ui.new_child(UiBuilder::new().id_salt(id.with("table")).max_rect(rect));
        ScrollArea::horizontal().id_salt(id.with("scroll")).auto_shrink(false).show(&mut child, |ui| {
            let (inner, _) = ui.allocate_exact_size(size, Sense::hover());
            self.paint(ui, look.theme, id, inner, out);
        });
    }

    fn paint(&self, ui: &Ui, theme: &Theme, id: Id, rect: Rect, out: &mut Output) {
        let painter = ui.painter();
        if let Some(&head) = self.ys.get(1) {
            painter.rect_filled(
                Rect::from_min_max(rect.min, pos2(rect.right(), rect.top() + head)),
                0,
                theme.colors.raised,
            );
        }
        for x in &self.xs {
            painter.vline(rect.left() + x, rect.y_range(), theme.line());
        }
        for y in &self.ys {
            painter.hline(rect.x_range(), rect.top() + y, theme.line());
        }
        for (index, cell) in self.cells.iter().enumerate() {
            let area = Rect::from_min_size(rect.min + cell.at, cell.size());
            if ui.is_rect_visible(area) {
                cell.draw(ui, theme, id.with(index), rect.min, out);
            }
        }
    }
}

/// Makes the widest columns narrower until all fit, but none narrower than `MIN_CELL`.
fn squeeze(widths: &mut [f32], available: f32) {
    for _ in 0..widths.len() {
        let total: f32 = widths.iter().sum();
        if total <= available {
            return;
        }
        let widest = widths.iter().copied().fold(0.0, f32::max);
        if widest <= MIN_CELL {
            return;
        }
        let second = widths.iter().copied().filter(|width| *width < widest).fold(MIN_CELL, f32::max);
        let count = widths.iter().filter(|width| **width >= widest).count() as f32;
        let target = (widest - (total - available) / count).max(second);
        for width in widths.iter_mut().filter(|width| **width >= widest) {
            *width = target.floor();
        }
    }
}

//! How the window looks: what decides which words stand where. A question is another one to the eye once that changes.

use egui::{Context, Rect};

use crate::lang::Locale;
use crate::ui::theme::Mode;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Looks {
    locale: Locale,
    mode: Mode,
    /// Of code, in points.
    code_size: f32,
    room: Rect,
    pixels_per_point: f32,
}

impl Looks {
    pub(super) fn of(ctx: &Context, locale: Locale, mode: Mode, code_size: f32) -> Self {
        Self { locale, mode, code_size, room: ctx.content_rect(), pixels_per_point: ctx.pixels_per_point() }
    }
}

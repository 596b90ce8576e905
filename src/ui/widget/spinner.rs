//! The sign that something runs: an arc that turns in steps, at most ten a second.

use std::time::Duration;

use egui::{Color32, Pos2, Response, Role, Sense, Shape, Stroke, Ui, Vec2, Widget, WidgetInfo, vec2};

use crate::ui::theme::Theme;

/// Steps a second, and frames a second that a spinner costs.
const STEPS: f64 = 10.0;

/// A spinner that stands alone.
#[must_use = "add it to a Ui"]
pub struct Spinner<'text> {
    name: &'text str,
    diameter: f32,
}

impl<'text> Spinner<'text> {
    /// `name` says what runs.
    pub fn new(name: &'text str) -> Self {
        Self { name, diameter: 14.0 }
    }

    /// In points.
    pub fn diameter(mut self, diameter: f32) -> Self {
        self.diameter = diameter;
        self
    }
}

impl Widget for Spinner<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let theme = Theme::of(ui.ctx());
        let (rect, response) = ui.allocate_exact_size(Vec2::splat(self.diameter), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, self.name));
        spinner_at(ui, &theme, rect.center(), self.diameter, theme.colors.info);
        response
    }
}

/// Draws a spinner around a point and asks for its next step; stands still where animations are off or out of sight.
pub fn spinner_at(ui: &Ui, theme: &Theme, center: Pos2, diameter: f32, color: Color32) {
    let radius = diameter / 2.0 - 1.0;
    if !ui.is_rect_visible(egui::Rect::from_center_size(center, Vec2::splat(diameter))) {
        return;
    }
    let step = if theme.animations {
        let time = ui.input(|input| input.time);
        let next = (1.0 - (time * STEPS).fract()) / STEPS;
        ui.ctx().request_repaint_after(Duration::from_secs_f64(next.max(0.02)));
        (time * STEPS).floor().rem_euclid(STEPS)
    } else {
        0.0
    };
    #[expect(clippy::cast_possible_truncation, reason = "below 1")]
    let start = (step / STEPS) as f32;
    arc(ui, center, radius, start, 0.7, Stroke::new(2.0, color));
}

/// Draws a part of a circle; `start` and `part` are in whole turns, clockwise from the right.
pub(super) fn arc(ui: &Ui, center: Pos2, radius: f32, start: f32, part: f32, stroke: Stroke) {
    const POINTS: u8 = 24;
    let points = (0..=POINTS)
        .map(|index| {
            let turn = start + part * f32::from(index) / f32::from(POINTS);
            let (sin, cos) = (turn * std::f32::consts::TAU).sin_cos();
            center + radius * vec2(cos, sin)
        })
        .collect();
    ui.painter().add(Shape::line(points, stroke));
}

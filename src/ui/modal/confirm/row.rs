//! One fact of the question: its name and its value, in one row of fixed height whatever the value holds. Of a value that is
//! too long the middle is left out, and a button shows all of it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use egui::text::LayoutJob;
use egui::{Color32, Galley, Label, ScrollArea, TextWrapMode, Ui, vec2};

use crate::lang::Arg;
use crate::policy::{Elided, elide, gap};
use crate::ui::icon::Icon;
use crate::ui::safe_text::{append_safe_line, append_safe_name};
use crate::ui::scene::Scene;
use crate::ui::theme::{Theme, Type, space};
use crate::ui::widget::{IconButton, line_of_text};

pub(super) const LABEL_WIDTH: f32 = 88.0;
const HEIGHT: f32 = 22.0;
/// Of a value that is shown whole, before it scrolls by itself.
const MOST_WHOLE: f32 = 110.0;
/// Characters of a value; a path of the longest kind is whole.
const LONGEST: usize = 4_200;

/// A value that may come from anywhere.
#[derive(Debug, Clone)]
pub(super) struct Value<'text> {
    text: Cow<'text, str>,
    /// Up to here, in bytes, it is drawn weak: of a target the allowed folder.
    weak: usize,
    /// Whether it names something: then look-alikes of ASCII are deceptions.
    is_name: bool,
    kind: Type,
    color: Color32,
}

impl<'text> Value<'text> {
    /// A path or a command.
    pub(super) fn name(text: impl Into<Cow<'text, str>>, kind: Type, color: Color32) -> Self {
        Self { text: bounded(text.into()), weak: 0, is_name: true, kind, color }
    }

    /// Words.
    pub(super) fn words(text: impl Into<Cow<'text, str>>, kind: Type, color: Color32) -> Self {
        Self { is_name: false, ..Self::name(text, kind, color) }
    }

    /// A path, of which so many bytes at the beginning are drawn weak.
    pub(super) fn path(text: impl Into<Cow<'text, str>>, weak: usize, color: Color32) -> Self {
        let text = text.into();
        let weak = if text.len() <= LONGEST { weak } else { 0 };
        Self { weak, ..Self::name(text, Type::Mono, color) }
    }

    fn append(&self, job: &mut LayoutJob, theme: &Theme, range: Range<usize>) {
        let parts = [(0..self.weak, theme.colors.dim), (self.weak..self.text.len(), self.color)];
        for (part, color) in parts {
            let part = part.start.max(range.start)..part.end.min(range.end);
            let Some(text) = self.text.get(part).filter(|text| !text.is_empty()) else { continue };
            if self.is_name {
                append_safe_name(job, theme, text, self.kind, color);
            } else {
                append_safe_line(job, theme, text, self.kind, color);
            }
        }
    }

    /// All of it.
    fn whole(&self, theme: &Theme) -> LayoutJob {
        let mut job = LayoutJob::default();
        self.append(&mut job, theme, 0..self.text.len());
        job
    }

    /// So much of it as fits a row.
    fn fitting(&self, ui: &Ui, theme: &Theme, room: f32) -> Fitting {
        let whole = lay_out(ui, self.whole(theme));
        if whole.size().x <= room {
            return Fitting::Whole(whole);
        }
        let count = self.text.chars().count() as f32;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small positive number of characters"
        )]
        let mut most = (count * room / whole.size().x) as usize;
        while most > 0 {
            most = most.saturating_sub(2 + most / 10);
            let Some(Elided { head, tail, left_out }) = elide(&self.text, most) else { continue };
            let mut job = LayoutJob::default();
            self.append(&mut job, theme, 0..head.len());
            // Coloured as no text from elsewhere can be: what stands here is not of the value.
            let note =
                egui::TextFormat { background: theme.colors.warn_soft, ..theme.format(Type::Meta, theme.colors.warn) };
            job.append(&format!(" {} ", gap(left_out)), 0.0, note);
            self.append(&mut job, theme, self.text.len() - tail.len()..self.text.len());
            let galley = lay_out(ui, job);
            if galley.size().x <= room {
                return Fitting::Part(galley);
            }
        }
        Fitting::Part(line_of_text(ui, theme, &self.text, self.kind, self.color, room))
    }

    /// Draws it in one row of at most the room that there is; gives whether that is all of it.
    pub(super) fn draw_line(&self, ui: &mut Ui, theme: &Theme, room: f32) -> bool {
        let (galley, is_whole) = match self.fitting(ui, theme, room) {
            Fitting::Whole(galley) => (galley, true),
            Fitting::Part(galley) => (galley, false),
        };
        let (rect, response) =
            ui.allocate_exact_size(vec2(galley.size().x.min(room).max(0.0), HEIGHT - 2.0), egui::Sense::hover());
        let place = rect.left_center() - vec2(0.0, galley.size().y / 2.0);
        ui.painter().galley(place, galley, self.color);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, self.whole(theme).text));
        is_whole
    }
}

enum Fitting {
    Whole(Arc<Galley>),
    Part(Arc<Galley>),
}

fn bounded(text: Cow<'_, str>) -> Cow<'_, str> {
    match elide(&text, LONGEST) {
        None => text,
        Some(Elided { head, tail, left_out }) => Cow::Owned(format!("{head}{}{tail}", gap(left_out))),
    }
}

fn lay_out(ui: &Ui, mut job: LayoutJob) -> Arc<Galley> {
    job.break_on_newline = false;
    job.wrap.max_width = f32::INFINITY;
    ui.fonts_mut(|fonts| fonts.layout_job(job))
}

/// The name of a fact, at the left of its value.
pub(super) fn name(ui: &mut Ui, theme: &Theme, name: &str) {
    let (rect, response) = ui.allocate_exact_size(vec2(LABEL_WIDTH, HEIGHT), egui::Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, name));
    let galley = line_of_text(ui, theme, name, Type::Control, theme.colors.dim, LABEL_WIDTH);
    ui.painter().galley(rect.min + vec2(0.0, 1.0), galley, theme.colors.dim);
}

/// A row among the facts: the key of its fact and its place among that fact's rows.
pub(super) type RowKey = (&'static str, usize);

/// Draws a fact. `open` holds those rows that are shown whole.
pub(super) fn fact(ui: &mut Ui, scene: &Scene<'_>, open: &mut Vec<RowKey>, key: &'static str, value: &Value<'_>) {
    row(ui, scene, open, (key, 0), value);
}

/// Draws a fact of several values, a row for each; the name stands before the first one.
pub(super) fn rows(ui: &mut Ui, scene: &Scene<'_>, open: &mut Vec<RowKey>, key: &'static str, values: &[Value<'_>]) {
    for (place, value) in values.iter().enumerate() {
        row(ui, scene, open, (key, place), value);
    }
}

fn row(ui: &mut Ui, scene: &Scene<'_>, open: &mut Vec<RowKey>, key: RowKey, value: &Value<'_>) {
    let theme = scene.theme;
    let (fact, place) = key;
    let label = scene.lang.text(fact);
    let row = ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = space::S;
        if place == 0 {
            name(ui, theme, label);
        } else {
            ui.allocate_exact_size(vec2(LABEL_WIDTH, HEIGHT), egui::Sense::hover());
        }
        let room = ui.available_width();
        let is_open = open.contains(&key);
        let button = 24.0 + space::S;
        let is_whole = if is_open {
            ui.allocate_ui(vec2(room - button, HEIGHT), |ui| {
                ui.set_width(room - button);
                ui.add_space(1.0);
                let area = ScrollArea::vertical().id_salt(key).max_height(MOST_WHOLE).min_scrolled_height(MOST_WHOLE);
                area.auto_shrink([false, true]).show(ui, |ui| {
                    ui.add(Label::new(value.whole(theme)).wrap_mode(TextWrapMode::Wrap));
                });
            });
            false
        } else {
            let fits = matches!(value.fitting(ui, theme, room), Fitting::Whole(_));
            ui.vertical(|ui| {
                ui.add_space(1.0);
                value.draw_line(ui, theme, if fits { room } else { room - button })
            })
            .inner
        };
        if !is_whole {
            let (icon, words) = if is_open {
                (Icon::ChevronDown, "confirm-show-less")
            } else {
                (Icon::ChevronRight, "confirm-show-whole")
            };
            let words = scene.lang.format(words, &[("fact", Arg::from(label))]);
            let left = ui.available_width() - 24.0;
            ui.add_space(left.max(0.0));
            if ui.add(IconButton::new(icon, &words).small()).clicked() {
                if is_open {
                    open.retain(|opened| *opened != key);
                } else {
                    open.push(key);
                }
                ui.ctx().request_repaint();
            }
        }
        is_whole
    });
    // The button is two points higher than a row of text.
    ui.add_space(if row.inner { 2.0 } else { 0.0 });
}

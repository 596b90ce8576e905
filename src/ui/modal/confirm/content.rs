//! What the call would do, whole: the preview, all arguments, other reads that wait, and the model's words, labelled.

use egui::{Align, Frame, Id, Key, Label, Layout, Margin, Modifiers, TextWrapMode, Ui, vec2};

use crate::app::Intent;
use crate::app::preview::PreviewRows;
use crate::ir::{ChangeNote, Preview};
use crate::lang::Arg;
use crate::port::ConfirmRequest;
use crate::ui::dialog::Dialog;
use crate::ui::icon::Icon;
use crate::ui::modal::preview::{self, Surface};
use crate::ui::safe_text::safe;
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, size, space};
use crate::ui::widget::{Button, IconButton, Shortcut};

use super::ConfirmView;
use super::answer::approves;
use super::fact::target_value;
use super::view::Place;

const MOST_WORDS_HEIGHT: f32 = 66.0;
/// Of the model's words, so much is shown beside the question; all of it is in the chat.
pub(super) const MOST_WORDS_LINES: usize = 12;
pub(super) const MOST_WORDS: usize = 1_200;
/// Reads that are seen at once; the others scroll.
const SEEN_READS: f32 = 4.0;
const READ_HEIGHT: f32 = 22.0;
/// Least height of a preview, in points: some rows of it.
const LEAST_PREVIEW: f32 = 96.0;
const MOST_PREVIEW: f32 = 440.0;

/// What was drawn of the previews.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Drawn {
    /// The height that their surfaces take, in points.
    pub(super) height: f32,
    /// Whether the beginning of what the call would do is on the screen.
    pub(super) has_start: bool,
}

/// Draws the preview and, on demand, all arguments.
pub(super) fn previews(
    ui: &mut Ui,
    scene: &Scene<'_>,
    confirm: &mut ConfirmView,
    request: &ConfirmRequest,
    room: f32,
) -> Drawn {
    let theme = scene.theme;
    let columns = preview::columns_for(ui, theme, ui.available_width());
    if columns != confirm.columns {
        confirm.columns = columns;
        ui.ctx().request_repaint();
    }
    let budget = (room - confirm.rest_height).max(LEAST_PREVIEW);
    let mut drawn = Drawn::default();
    let id = |name: &'static str| Id::unique((name, request.id.as_str(), request.asked_at.0, &request.plan_hash));
    let preview_rows = confirm.rows.as_ref().filter(|rows| !rows.rows.is_empty());
    let args_rows = if confirm.shows_args { confirm.args.as_ref() } else { None };
    let shares = if preview_rows.is_some() && args_rows.is_some() { 2.0 } else { 1.0 };
    let most = if confirm.is_wide { budget } else { budget.min(MOST_PREVIEW) } / shares;
    if std::mem::take(&mut confirm.wants_start) {
        let from = ui.cursor().min;
        let start = egui::Rect::from_min_size(from, vec2(1.0, theme.line_height(Type::Mono) + 24.0));
        ui.scroll_to_rect_animation(start, None, egui::style::ScrollAnimation::none());
        confirm.place.jump = preview_rows.is_some().then_some(0);
    }
    if let Some(rows) = preview_rows {
        let height = preview::height_of(theme, rows.rows.len()).min(most);
        let name = scene.lang.text("confirm-preview");
        let surface = Surface { id: id("preview"), name, height, jump: confirm.place.jump.take() };
        let sight = preview::show(ui, theme, &request.preview, (rows, &confirm.colors), &surface);
        drawn = Drawn { height: drawn.height + height, has_start: sight.has_start };
        if sight.below != confirm.place.below {
            confirm.place.below = sight.below;
            confirm.place.was_below |= sight.below > 0;
            ui.ctx().request_repaint();
        }
        navigation(ui, scene, rows, &mut confirm.place);
    } else if let Some(key) = nothing_key(&request.preview) {
        let words = ui.label(theme.rich(scene.lang.text(key), Type::Control, theme.colors.dim));
        drawn.has_start = ui.clip_rect().expand(1.0).contains_rect(words.rect);
    }
    ui.add_space(space::XS);
    let key = if confirm.shows_args { "confirm-hide-arguments" } else { "confirm-show-arguments" };
    let icon = if confirm.shows_args { Icon::ChevronDown } else { Icon::ChevronRight };
    if ui.add(Button::ghost(scene.lang.text(key)).icon(icon).small()).clicked() {
        confirm.shows_args = !confirm.shows_args;
        ui.ctx().request_repaint();
    }
    if let Some((text, rows, colors)) = args_rows {
        ui.add_space(space::XS);
        let height = preview::height_of(theme, rows.rows.len()).min(most);
        let name = scene.lang.text("confirm-arguments");
        let surface = Surface { id: id("arguments"), name, height, jump: None };
        let sight = preview::show(ui, theme, text, (rows, colors), &surface);
        drawn.height += height;
        // Where there is nothing to preview, the arguments are what is to be read.
        drawn.has_start |= request.preview == Preview::Nothing && sight.has_start;
    }
    drawn
}

/// What is said where a preview has no row; `None` where the arguments stand for it.
fn nothing_key(preview: &Preview) -> Option<&'static str> {
    match preview {
        Preview::Nothing => None,
        Preview::NewFile { .. } => Some("confirm-empty-file"),
        Preview::Diff { notes, .. } => Some(match notes.first() {
            None => "confirm-no-change",
            Some(ChangeNote::Encoding { .. } | ChangeNote::LastBreak { .. }) => "confirm-no-line-changes",
            Some(ChangeNote::Replaces { .. } | ChangeNote::Becomes { .. }) => "confirm-empty-file",
        }),
        Preview::Tree { .. } => Some("confirm-empty-folder"),
        Preview::Command(_) => Some("confirm-empty-command"),
    }
}

/// The way through the changes.
fn navigation(ui: &mut Ui, scene: &Scene<'_>, rows: &PreviewRows, at: &mut Place) {
    let changes = rows.changes.len();
    if changes == 0 {
        return;
    }
    let theme = scene.theme;
    let dim = theme.colors.dim;
    let mut step = 0;
    ui.horizontal(|ui| {
        ui.set_height(size::CHIP);
        let before = IconButton::new(Icon::ChevronLeft, scene.lang.text("confirm-previous-change")).small();
        if ui.add(before).clicked() || scene.take_key(ui, Dialog::Confirm, Modifiers::SHIFT, Key::F7) {
            step = -1;
        }
        let next = IconButton::new(Icon::ChevronRight, scene.lang.text("confirm-next-change")).small();
        if ui.add(next).clicked() || scene.take_key(ui, Dialog::Confirm, Modifiers::NONE, Key::F7) {
            step = 1;
        }
        let place = at.change.map_or(0, |change| change + 1);
        let words = [("place", Arg::from(place)), ("count", Arg::from(changes))];
        let key = if place == 0 { "confirm-changes" } else { "confirm-change-place" };
        ui.label(theme.rich(scene.lang.format(key, &words), Type::Meta, dim));
        ui.add(Shortcut("F7"));
    });
    if step != 0 {
        let next = match (at.change, step) {
            (None, _) => 0,
            (Some(change), 1) => (change + 1) % changes,
            (Some(change), _) => change.checked_sub(1).unwrap_or(changes - 1),
        };
        at.change = Some(next);
        at.jump = rows.changes.get(next).map(|row| *row as usize);
        ui.ctx().request_repaint();
    }
}

/// Several reads that wait, as one list with one yes.
pub(super) fn reads(ui: &mut Ui, scene: &mut Scene<'_>) {
    let reads = scene.state.confirms.reads();
    if reads.is_empty() {
        return;
    }
    let theme = scene.theme;
    let colors = theme.colors;
    ui.add_space(space::S);
    let count = [("count", Arg::from(reads.len()))];
    let mut is_allowed = false;
    ui.horizontal(|ui| {
        ui.label(theme.rich(scene.lang.format("confirm-reads", &count), Type::ControlMedium, colors.text));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let button = ui.add(Button::secondary(&scene.lang.format("confirm-allow-reads", &count)).small());
            is_allowed = approves(ui, &button);
        });
    });
    let height = (reads.len() as f32).min(SEEN_READS) * READ_HEIGHT;
    let area = egui::ScrollArea::vertical().id_salt("reads").max_height(height).min_scrolled_height(height);
    area.auto_shrink([false, true]).show_rows(ui, READ_HEIGHT, reads.len(), |ui, range| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for read in reads.get(range).unwrap_or_default() {
            ui.allocate_ui(vec2(ui.available_width(), READ_HEIGHT), |ui| {
                ui.set_min_height(READ_HEIGHT);
                target_value(scene, &read.target, read.folder.as_deref()).draw_line(ui, theme, ui.available_width());
            });
        }
    });
    if is_allowed {
        let listed = reads.iter().map(|read| read.id.clone()).collect();
        scene.outbox.push_back(Intent::AllowReads(listed));
    }
}

pub(super) fn words(ui: &mut Ui, scene: &Scene<'_>, confirm: &ConfirmView, request: &ConfirmRequest) {
    let (end, left_out) = confirm.words;
    let said = request.model_words.trim().get(..end).unwrap_or_default();
    if said.is_empty() {
        return;
    }
    let theme = scene.theme;
    let colors = theme.colors;
    ui.add_space(space::XS);
    let key = if request.is_of_guide() { "confirm-guide-says" } else { "confirm-model-says" };
    let quote = scene.lang.format(key, &[("words", Arg::from(said))]);
    let drawn = Frame::NONE.inner_margin(Margin { left: 13, right: 0, top: 2, bottom: 2 }).show(ui, |ui| {
        egui::ScrollArea::vertical().id_salt("words").max_height(MOST_WORDS_HEIGHT).auto_shrink([false, true]).show(
            ui,
            |ui| {
                ui.add(Label::new(safe(theme, &quote, Type::Control, colors.dim)).wrap_mode(TextWrapMode::Wrap));
                if left_out > 0 {
                    let words = scene.lang.format("confirm-words-cut", &[("count", Arg::from(left_out))]);
                    ui.label(theme.rich(words, Type::Meta, colors.warn));
                }
            },
        );
    });
    let rect = drawn.response.rect;
    let bar = egui::Rect::from_min_size(rect.min, vec2(3.0, rect.height()));
    ui.painter().rect_filled(bar, egui::CornerRadius::ZERO, colors.line);
}

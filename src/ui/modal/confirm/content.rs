//! What the call would do, whole: the preview, all arguments, other reads that wait, and the model's words, labelled.

use egui::{Align, Frame, Label, Layout, Margin, TextWrapMode, Ui, vec2};

use crate::app::Intent;
use crate::lang::Arg;
use crate::port::ConfirmRequest;
use crate::ui::icon::Icon;
use crate::ui::modal::preview;
use crate::ui::safe_text::safe;
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, space};
use crate::ui::widget::Button;

use super::ConfirmView;
use super::answer::approves;
use super::fact::target_job;

const MOST_WORDS_HEIGHT: f32 = 66.0;

/// Draws the preview and, on demand, all arguments; gives the height that both take.
pub(super) fn previews(
    ui: &mut Ui,
    scene: &Scene<'_>,
    confirm: &mut ConfirmView,
    request: &ConfirmRequest,
    room: f32,
) -> f32 {
    let theme = scene.theme;
    let columns = preview::columns_for(ui, theme, ui.available_width());
    if columns != confirm.columns {
        confirm.columns = columns;
        ui.ctx().request_repaint();
    }
    let budget = (room - 40.0 - confirm.rest_height).max(96.0);
    let mut drawn = 0.0;
    let preview_rows = confirm.rows.as_ref().filter(|rows| !rows.rows.is_empty());
    let args_rows = if confirm.shows_args { confirm.args.as_ref() } else { None };
    let shares = if preview_rows.is_some() && args_rows.is_some() { 2.0 } else { 1.0 };
    let most = if confirm.is_wide { budget } else { budget.min(440.0) } / shares;
    if let Some(rows) = preview_rows {
        let height = preview::height_of(theme, rows.rows.len()).min(most);
        preview::show(ui, theme, "preview", scene.lang.text("confirm-preview"), &request.preview, rows, height);
        drawn += height;
    }
    ui.add_space(space::XS);
    let key = if confirm.shows_args { "confirm-hide-arguments" } else { "confirm-show-arguments" };
    let icon = if confirm.shows_args { Icon::ChevronDown } else { Icon::ChevronRight };
    if ui.add(Button::ghost(scene.lang.text(key)).icon(icon).small()).clicked() {
        confirm.shows_args = !confirm.shows_args;
        ui.ctx().request_repaint();
    }
    if let Some((text, rows)) = args_rows {
        ui.add_space(space::XS);
        let height = preview::height_of(theme, rows.rows.len()).min(most);
        preview::show(ui, theme, "arguments", scene.lang.text("confirm-arguments"), text, rows, height);
        drawn += height;
    }
    drawn
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
    egui::ScrollArea::vertical().id_salt("reads").max_height(88.0).auto_shrink([false, true]).show(ui, |ui| {
        for read in &reads {
            ui.add(Label::new(target_job(scene, &read.target, read.folder.as_deref())).wrap_mode(TextWrapMode::Wrap));
        }
    });
    if is_allowed {
        let listed = reads.iter().map(|read| read.id.clone()).collect();
        scene.outbox.push_back(Intent::AllowReads(listed));
    }
}

pub(super) fn words(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest) {
    let said = request.model_words.trim();
    if said.is_empty() {
        return;
    }
    let theme = scene.theme;
    let colors = theme.colors;
    ui.add_space(space::XS);
    let quote = scene.lang.format("confirm-model-says", &[("words", Arg::from(said))]);
    let drawn = Frame::NONE.inner_margin(Margin { left: 13, right: 0, top: 2, bottom: 2 }).show(ui, |ui| {
        egui::ScrollArea::vertical().id_salt("words").max_height(MOST_WORDS_HEIGHT).auto_shrink([false, true]).show(
            ui,
            |ui| {
                ui.add(Label::new(safe(theme, &quote, Type::Control, colors.dim)).wrap_mode(TextWrapMode::Wrap));
            },
        );
    });
    let rect = drawn.response.rect;
    let bar = egui::Rect::from_min_size(rect.min, vec2(3.0, rect.height()));
    ui.painter().rect_filled(bar, egui::CornerRadius::ZERO, colors.line);
}

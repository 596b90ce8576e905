//! The menus of rules that may be made for the session: what is allowed from now on, and what is refused.

use egui::text::LayoutJob;
use egui::{Response, Ui, vec2};

use crate::app::Intent;
use crate::lang::Arg;
use crate::port::ConfirmRequest;
use crate::ui::scene::Scene;
use crate::ui::sentence;
use crate::ui::theme::{Type, space};
use crate::ui::widget::{focus_ring, line_of_text, menu_heading, menu_separator};

use super::answer::{Pressed, approves};

/// The rules that may be made, narrow to broad, each with what it would have allowed.
pub(super) fn rules(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest, pressed: Pressed) -> Option<Intent> {
    let mut chosen = None;
    menu_heading(ui, scene.lang.text("confirm-rules-heading"));
    for (index, scope) in request.rule_proposals.iter().enumerate() {
        if index > 0 {
            menu_separator(ui);
        }
        let sentence = sentence::scope(scene.lang, scope, scene.home);
        let dry_run = request.dry_run.get(index).map(|(allowed, of)| {
            scene.lang.format(
                "confirm-dry-run",
                &[("allowed", Arg::Number(i64::from(*allowed))), ("of", Arg::Number(i64::from(*of)))],
            )
        });
        let row = rule_row(ui, scene, &sentence, dry_run.as_deref().unwrap_or_default());
        let by_keys = row.has_focus() && pressed.ctrl_enter;
        if approves(ui, &row) || by_keys {
            chosen = Some(Intent::AllowInSession { confirm: request.id.clone(), proposal: index });
        }
    }
    chosen
}

/// The refusals that may be made for good, narrow to broad, each with what it would have refused. A no needs no guard but
/// the usual one: plain Enter chooses here.
pub(super) fn refusals(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest) -> Option<Intent> {
    let mut chosen = None;
    menu_heading(ui, scene.lang.text("confirm-refusals-heading"));
    for (index, offer) in request.denials.iter().enumerate() {
        if index > 0 {
            menu_separator(ui);
        }
        let sentence = sentence::scope(scene.lang, &offer.scope, scene.home);
        let counts = [("denied", Arg::Number(i64::from(offer.covered))), ("of", Arg::Number(i64::from(offer.of)))];
        let dry_run = scene.lang.format("confirm-dry-run-deny", &counts);
        if rule_row(ui, scene, &sentence, &dry_run).clicked() {
            chosen = Some(Intent::DenyInSession { confirm: request.id.clone(), offer: index });
        }
    }
    chosen
}

fn rule_row(ui: &mut Ui, scene: &Scene<'_>, sentence: &str, dry_run: &str) -> Response {
    let theme = scene.theme;
    let colors = theme.colors;
    let width = ui.available_width();
    let mut job = LayoutJob::single_section(sentence.to_owned(), theme.format(Type::ControlMedium, colors.text));
    job.wrap.max_width = width - 2.0 * space::S;
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
    let meta = line_of_text(ui, theme, dry_run, Type::Meta, colors.dim, width - 2.0 * space::S);
    let height = galley.size().y + if dry_run.is_empty() { 0.0 } else { meta.size().y + 2.0 } + 14.0;
    let (rect, response) = ui.allocate_exact_size(vec2(width, height), egui::Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::MenuItem, true, format!("{sentence} {dry_run}")));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, egui::CornerRadius::same(6), colors.hover);
    }
    focus_ring(ui, &response, rect.shrink(4.0), 4, theme);
    let place = rect.min + vec2(space::S, 7.0);
    let below = place + vec2(0.0, galley.size().y + 2.0);
    ui.painter().galley(place, galley, colors.text);
    if !dry_run.is_empty() {
        ui.painter().galley(below, meta, colors.dim);
    }
    response
}

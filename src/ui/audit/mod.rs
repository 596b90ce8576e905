//! The audit over the whole window: filters, the lines in sight, one line's details, and what its examination found.

mod line;

use egui::{Align, CentralPanel, CornerRadius, Frame, Label, Layout, Margin, Panel as EguiPanel, ScrollArea, Ui, vec2};

use crate::app::settings::TOOLS;
use crate::app::{AuditView, Intent, PathPurpose};
use crate::ir::{AuditBreakKind, AuditFilter, AuditRow, Decider, UnixMs, Verdict};
use crate::lang::Arg;
use crate::ui::icon::Icon;
use crate::ui::scene::{Scene, ViewState};
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{Badge, Button, IconButton, MenuRow, Select, Tone};

const DAY_MS: i64 = 86_400_000;
/// Broken places that are named at once.
const NAMED_BREAKS: usize = 4;

/// Which line's details are shown.
#[derive(Debug, Default)]
pub struct AuditLook {
    selected: Option<AuditRow>,
}

/// Draws the audit in place of everything else.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let Some(audit) = scene.state.audit.as_ref() else { return };
    let look = &mut view.audit;
    let background = Frame::NONE.fill(scene.theme.colors.background);
    if let Some(row) = &look.selected {
        let frame = Frame::NONE.fill(scene.theme.colors.sidebar).inner_margin(Margin {
            left: 24,
            right: 24,
            top: 12,
            bottom: 12,
        });
        let panel = EguiPanel::bottom("audit line").resizable(false).frame(frame).show_separator_line(true);
        if panel.show(ui, |ui| line::details(ui, scene, row)).inner {
            look.selected = None;
        }
    }
    CentralPanel::no_frame().frame(background).show(ui, |ui| {
        Frame::NONE.inner_margin(Margin { left: 24, right: 24, top: 12, bottom: 8 }).show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
            head(ui, scene, audit);
            ui.add_space(space::S);
            found(ui, scene, audit);
            filters(ui, scene, audit);
            ui.add_space(space::M);
            lines(ui, scene, audit, look);
        });
    });
}

fn head(ui: &mut Ui, scene: &mut Scene<'_>, audit: &AuditView) {
    let lang = scene.lang;
    ui.horizontal(|ui| {
        ui.set_height(size::CONTROL);
        if ui.add(IconButton::new(Icon::ArrowLeft, lang.text("audit-back"))).clicked() {
            scene.push(Intent::CloseAudit);
        }
        let title = lang.text("audit-title");
        let response = ui.label(scene.theme.rich(title, Type::PageTitle, scene.theme.colors.text));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Heading, true, title));
        ui.add_space(space::S);
        match &audit.check {
            None => ui.add(Badge::new(lang.text("audit-checking"), Tone::Neutral)),
            Some(check) => {
                let lines = [("lines", Arg::Number(i64::try_from(check.lines).unwrap_or(i64::MAX)))];
                if check.breaks.is_empty() {
                    ui.add(Badge::new(&lang.format("audit-whole", &lines), Tone::Good).icon(Icon::Check))
                } else {
                    ui.add(Badge::new(&lang.format("audit-broken", &lines), Tone::Bad).icon(Icon::TriangleAlert))
                }
            }
        };
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.add(Button::secondary(lang.text("audit-export")).small()).clicked() {
                scene.push(Intent::PickPath(PathPurpose::AuditExport));
            }
        });
    });
}

/// The key of what a break means.
const fn break_key(kind: AuditBreakKind) -> &'static str {
    match kind {
        AuditBreakKind::Changed => "audit-break-changed",
        AuditBreakKind::Missing => "audit-break-missing",
        AuditBreakKind::Unreadable => "audit-break-unreadable",
        AuditBreakKind::Cut => "audit-break-cut",
        AuditBreakKind::Forged => "audit-break-forged",
        AuditBreakKind::Unanchored => "audit-break-unanchored",
        AuditBreakKind::Mended => "audit-break-mended",
        AuditBreakKind::RuleChanged => "audit-break-rule-changed",
        AuditBreakKind::RuleAdded => "audit-break-rule-added",
    }
}

/// Where the audit is broken, and what that means.
fn found(ui: &mut Ui, scene: &Scene<'_>, audit: &AuditView) {
    let breaks = audit.check.as_ref().map(|check| check.breaks.as_slice()).unwrap_or_default();
    if breaks.is_empty() {
        return;
    }
    let theme = scene.theme;
    Frame::NONE.fill(theme.colors.bad_soft).corner_radius(CornerRadius::same(radius::CARD)).inner_margin(12).show(
        ui,
        |ui| {
            ui.set_width(ui.available_width());
            for found in breaks.iter().take(NAMED_BREAKS) {
                let place = [("seq", Arg::Number(i64::try_from(found.seq).unwrap_or(i64::MAX)))];
                let words = scene.lang.format(break_key(found.kind), &place);
                ui.add(Label::new(theme.rich(words, Type::Control, theme.colors.bad)).wrap());
            }
            let more = breaks.len().saturating_sub(NAMED_BREAKS);
            if more > 0 {
                let words = scene.lang.format("audit-more-breaks", &[("count", Arg::from(more))]);
                ui.label(theme.rich(words, Type::Meta, theme.colors.bad));
            }
        },
    );
    ui.add_space(space::S);
}

/// Who may have decided, in the order of the menu.
const DECIDERS: [Decider; 6] =
    [Decider::BuiltIn, Decider::Rule, Decider::Person, Decider::Mode, Decider::Flag, Decider::Timeout];

fn filters(ui: &mut Ui, scene: &mut Scene<'_>, audit: &AuditView) {
    let lang = scene.lang;
    let filter = &audit.filter;
    let mut wanted = filter.clone();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(space::S, space::S);
        let sessions: Vec<(&str, _)> = scene
            .state
            .sessions
            .iter()
            .map(|session| (line::title(lang, &session.title), session.id.clone()))
            .collect();
        choose(ui, lang.text("audit-any-session"), lang.text("audit-session"), 190.0, &sessions, &mut wanted.session);
        let tools: Vec<(&str, String)> = TOOLS.iter().map(|tool| (tool.name, tool.name.to_owned())).collect();
        choose(ui, lang.text("audit-any-tool"), lang.text("audit-tool"), 150.0, &tools, &mut wanted.tool);
        let verdicts =
            [Verdict::Allowed, Verdict::Denied].map(|verdict| (lang.text(line::verdict_key(verdict)), verdict));
        let name = lang.text("audit-verdict");
        choose(ui, lang.text("audit-any-verdict"), name, 130.0, &verdicts, &mut wanted.verdict);
        let deciders = DECIDERS.map(|decider| (lang.text(line::decider_key(decider)), decider));
        choose(ui, lang.text("audit-anybody"), lang.text("audit-decider"), 176.0, &deciders, &mut wanted.decider);
        let midnight = scene.now.0 - (scene.now.0 + scene.state.utc_offset_ms).rem_euclid(DAY_MS);
        let since = [("audit-today", 0), ("audit-week", 6), ("audit-month", 29)];
        let since = since.map(|(key, days)| (lang.text(key), UnixMs(midnight - days * DAY_MS)));
        choose(ui, lang.text("audit-any-time"), lang.text("audit-time"), 130.0, &since, &mut wanted.since);
    });
    if wanted != *filter {
        scene.push(Intent::FilterAudit(AuditFilter { up_to: None, ..wanted }));
    }
}

/// A list of choices with "any" at its top.
fn choose<T: Clone + PartialEq>(
    ui: &mut Ui,
    any: &str,
    name: &str,
    width: f32,
    choices: &[(&str, T)],
    chosen: &mut Option<T>,
) {
    let shown = choices.iter().find(|(_, value)| Some(value) == chosen.as_ref()).map_or(any, |(text, _)| text);
    let (_, picked) = Select::new(shown, name).width(width).show(ui, |ui| {
        let mut picked = None;
        if ui.add(MenuRow::new(any).checked(chosen.is_none())).clicked() {
            picked = Some(None);
        }
        ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
            for (text, value) in choices {
                if ui.add(MenuRow::new(text).checked(Some(value) == chosen.as_ref())).clicked() {
                    picked = Some(Some(value.clone()));
                }
            }
        });
        picked
    });
    if let Some(picked) = picked.flatten() {
        *chosen = picked;
    }
}

fn lines(ui: &mut Ui, scene: &mut Scene<'_>, audit: &AuditView, look: &mut AuditLook) {
    let Some(total) = audit.total else { return };
    if total == 0 {
        ui.label(scene.theme.rich(scene.lang.text("audit-nothing"), Type::Control, scene.theme.colors.dim));
        return;
    }
    line::heading(ui, scene);
    let rows = usize::try_from(total).unwrap_or(usize::MAX);
    ScrollArea::vertical().auto_shrink(false).show_rows(ui, size::ROW, rows, |ui, range| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let (first, end) = (range.start as u64, range.end as u64);
        if let Some(page) = audit.missing(first..end) {
            scene.push(Intent::LoadAuditPage(page));
        }
        for index in first..end {
            let row = audit.row(index);
            let is_selected = row.is_some() && row == look.selected.as_ref();
            if line::row(ui, scene, row, is_selected) {
                look.selected = row.filter(|_| !is_selected).cloned();
            }
        }
    });
}

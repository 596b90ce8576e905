//! One line of the audit: in the list, and with all that it says.

use egui::{Align, CornerRadius, Label, Layout, Rect, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::app::rows::bytes;
use crate::ir::{AuditAct, AuditEntry, AuditOrigin, AuditRow, Decider, Tier, Verdict};
use crate::lang::Lang;
use crate::policy::escape;
use crate::policy::one_line;
use crate::ui::card::quantity;
use crate::ui::icon::Icon;
use crate::ui::safe_text::append_safe_line;
use crate::ui::scene::Scene;
use crate::ui::theme::{Theme, Type, radius, size, space};
use crate::ui::widget::{IconButton, focus_ring, line_of_text};

/// How a line's time is written.
const MOMENT: &str = "%Y-%m-%d %H:%M:%S";

/// The columns: the key of the heading, and the share of the width that a column takes.
const COLUMNS: [(&str, f32); 6] = [
    ("audit-column-line", 0.07),
    ("audit-column-time", 0.17),
    ("audit-column-what", 0.28),
    ("audit-column-who", 0.18),
    ("audit-column-outcome", 0.18),
    ("audit-column-session", 0.12),
];

/// The key of a verdict's word.
pub(super) const fn verdict_key(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allowed => "audit-allowed",
        Verdict::Denied => "audit-denied",
    }
}

/// The key of who decided.
pub(super) const fn decider_key(decider: Decider) -> &'static str {
    match decider {
        Decider::BuiltIn => "audit-by-built-in",
        Decider::Rule => "audit-by-rule",
        Decider::Person => "audit-by-person",
        Decider::Mode => "audit-by-mode",
        Decider::Flag => "audit-by-flag",
        Decider::Timeout => "audit-by-timeout",
    }
}

const fn act_key(act: AuditAct) -> &'static str {
    match act {
        AuditAct::Decided => "audit-act-decided",
        AuditAct::Ended => "audit-act-ended",
        AuditAct::Stale => "audit-act-stale",
        AuditAct::Expired => "audit-act-expired",
        AuditAct::Recovered => "audit-act-recovered",
        AuditAct::Undone => "audit-act-undone",
        AuditAct::Redone => "audit-act-redone",
        AuditAct::RuleMade => "audit-act-rule-made",
        AuditAct::RuleRevoked => "audit-act-rule-revoked",
        AuditAct::ModeChanged => "audit-act-mode-changed",
        AuditAct::SettingChanged => "audit-act-setting-changed",
        AuditAct::FileLifted => "audit-act-file-lifted",
        AuditAct::SecretSent => "audit-act-secret-sent",
        AuditAct::Began => "audit-act-began",
        AuditAct::FormatChanged => "audit-act-format-changed",
        AuditAct::Restored => "audit-act-restored",
        AuditAct::Mended => "audit-act-mended",
    }
}

const fn origin_key(origin: AuditOrigin) -> &'static str {
    match origin {
        AuditOrigin::Model => "audit-origin-model",
        AuditOrigin::CommandLine => "audit-origin-command-line",
        AuditOrigin::Server => "audit-origin-server",
        AuditOrigin::Person => "audit-origin-person",
        AuditOrigin::Nod => "audit-origin-nod",
    }
}

/// How far a command was confined, as the manual names it.
const fn tier_word(tier: Tier) -> &'static str {
    match tier {
        Tier::A => "A",
        Tier::B => "B",
        Tier::Seatbelt => "Seatbelt",
        Tier::Unconfined => "C",
    }
}

/// A session's title, or what stands for none.
pub(super) fn title<'text>(lang: &'text Lang, title: &'text str) -> &'text str {
    if title.is_empty() { lang.text("sidebar-untitled") } else { title }
}

/// The headings of the columns.
pub(super) fn heading(ui: &mut Ui, scene: &Scene<'_>) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 26.0), Sense::hover());
    let color = scene.theme.colors.dim;
    for (area, (key, _)) in areas(rect).into_iter().zip(COLUMNS) {
        let galley = line_of_text(ui, scene.theme, scene.lang.text(key), Type::MetaMedium, color, area.width());
        ui.painter().galley(pos2(area.left(), area.center().y - galley.size().y / 2.0), galley, color);
    }
    ui.painter().hline(rect.x_range(), rect.bottom(), scene.theme.line());
}

fn areas(rect: Rect) -> [Rect; COLUMNS.len()] {
    let mut left = rect.left() + space::S;
    let width = rect.width() - 2.0 * space::S;
    COLUMNS.map(|(_, share)| {
        let area = Rect::from_min_max(pos2(left, rect.top()), pos2(left + width * share - space::S, rect.bottom()));
        left += width * share;
        area
    })
}

/// Draws a line, or room for one that is on its way; whether it was pressed.
pub(super) fn row(ui: &mut Ui, scene: &Scene<'_>, row: Option<&AuditRow>, is_selected: bool) -> bool {
    let theme = scene.theme;
    let colors = theme.colors;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::click());
    let Some(row) = row else { return false };
    let texts = texts(scene, row);
    response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, is_selected, texts.join(" ")));
    if is_selected || response.hovered() {
        ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL - 2), colors.hover);
    }
    focus_ring(ui, &response, rect.shrink(4.0), radius::CONTROL - 4, theme);
    let denied = row.entry.as_ref().is_none_or(|entry| entry.verdict == Some(Verdict::Denied));
    for (index, (area, text)) in areas(rect).into_iter().zip(&texts).enumerate() {
        let color = match index {
            0 | 1 | 5 => colors.dim,
            3 if denied => colors.bad,
            _ => colors.text,
        };
        let galley = line_of_text(ui, theme, text, Type::Control, color, area.width());
        ui.painter().galley(pos2(area.left(), area.center().y - galley.size().y / 2.0), galley, color);
    }
    response.clicked()
}

fn texts(scene: &Scene<'_>, row: &AuditRow) -> [String; COLUMNS.len()] {
    let lang = scene.lang;
    let Some(entry) = &row.entry else {
        let mut texts: [String; COLUMNS.len()] = std::array::from_fn(|_| String::new());
        let [line, _, what, ..] = &mut texts;
        *line = row.seq.to_string();
        lang.text("audit-unreadable").clone_into(what);
        return texts;
    };
    let act = lang.text(act_key(entry.act));
    let what = if entry.tool.is_empty() { act.to_owned() } else { format!("{} · {act}", escape(&entry.tool, false)) };
    let outcome = if entry.outcome.is_empty() { entry.detail.as_str() } else { outcome(lang, &entry.outcome) };
    [
        row.seq.to_string(),
        scene.moment(entry.time, MOMENT),
        what,
        who(lang, entry),
        escape(outcome, false).into_owned(),
        session_title(scene, entry),
    ]
}

fn who(lang: &Lang, entry: &AuditEntry) -> String {
    let words = [entry.verdict.map(verdict_key), entry.decider.map(decider_key)];
    let words: Vec<&str> = words.into_iter().flatten().map(|key| lang.text(key)).collect();
    words.join(" · ")
}

/// States of calls have words; codes stand as they are.
fn outcome<'text>(lang: &'text Lang, outcome: &'text str) -> &'text str {
    let key = match outcome {
        "succeeded" => "call-succeeded",
        "failed" => "call-failed",
        "denied" => "call-denied",
        "cancelled" => "call-cancelled",
        "unknown" => "call-unknown",
        code => return code,
    };
    lang.text(key)
}

fn session_title(scene: &Scene<'_>, entry: &AuditEntry) -> String {
    let Some(id) = &entry.session else { return String::new() };
    let known = scene.state.sessions.iter().find(|session| session.id == *id);
    let shown = known.map_or(id.as_str(), |session| title(scene.lang, &session.title));
    escape(shown, false).into_owned()
}

/// Everything that a line says; whether it shall be closed.
pub(super) fn details(ui: &mut Ui, scene: &Scene<'_>, row: &AuditRow) -> bool {
    let lang = scene.lang;
    let mut closes = false;
    ui.horizontal(|ui| {
        ui.set_height(24.0);
        let heading = lang.format("audit-line", &[("seq", row.seq.to_string().into())]);
        ui.label(scene.theme.rich(heading, Type::ControlStrong, scene.theme.colors.text));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            closes = ui.add(IconButton::new(Icon::X, lang.text("audit-close-line")).small()).clicked();
        });
    });
    ui.add_space(space::XS);
    let Some(entry) = &row.entry else {
        ui.label(scene.theme.rich(lang.text("audit-unreadable"), Type::Control, scene.theme.colors.bad));
        return closes;
    };
    ui.spacing_mut().item_spacing = vec2(space::XL, space::XS);
    ui.horizontal_wrapped(|ui| {
        for (key, value) in facts(scene, entry, row) {
            if !value.is_empty() {
                fact(ui, scene.theme, lang.text(key), &value);
            }
        }
    });
    closes
}

fn facts(scene: &Scene<'_>, entry: &AuditEntry, row: &AuditRow) -> Vec<(&'static str, String)> {
    let lang = scene.lang;
    vec![
        ("audit-column-time", scene.moment(entry.time, MOMENT)),
        ("audit-column-what", lang.text(act_key(entry.act)).to_owned()),
        ("audit-fact-origin", lang.text(origin_key(entry.origin)).to_owned()),
        ("audit-fact-model", entry.model.clone()),
        ("audit-fact-tool", entry.tool.clone()),
        ("audit-column-who", who(lang, entry)),
        ("audit-fact-rule", entry.rule.as_ref().map_or_else(String::new, ToString::to_string)),
        ("audit-fact-tier", entry.tier.map_or_else(String::new, |tier| tier_word(tier).to_owned())),
        ("audit-column-outcome", outcome(lang, &entry.outcome).to_owned()),
        ("audit-fact-duration", entry.duration_ms.map_or_else(String::new, |ms| quantity::duration(lang, ms))),
        ("audit-fact-bytes", entry.bytes.map_or_else(String::new, bytes)),
        ("audit-fact-detail", entry.detail.clone()),
        ("audit-column-session", session_title(scene, entry)),
        ("audit-fact-call", entry.call.as_ref().map_or_else(String::new, ToString::to_string)),
        ("audit-fact-plan", entry.plan_hash.clone()),
        ("audit-fact-hash", row.hash.clone()),
    ]
}

/// Characters of a fact.
const LONGEST_VALUE: usize = 2_000;

fn fact(ui: &mut Ui, theme: &Theme, name: &str, value: &str) {
    let mut job = egui::text::LayoutJob::default();
    append_safe_line(&mut job, theme, &format!("{name}  "), Type::Meta, theme.colors.dim);
    let value = if value.len() > LONGEST_VALUE { one_line(value, LONGEST_VALUE) } else { value.into() };
    append_safe_line(&mut job, theme, &value, Type::Meta, theme.colors.text);
    ui.add(Label::new(job).wrap());
}

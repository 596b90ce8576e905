//! What stands under an answer: who gave it and at what cost, its actions, why it broke off, what the turn waits for.

use std::time::Duration;

use egui::{Align2, CornerRadius, Id, Rect, Response, Role, Sense, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::item;
use super::list::List;
use crate::app::rows::money;
use crate::app::{Intent, TurnNote};
use crate::ir::{MessageId, MessageRecord, MessageStatus, UndoDirection, UndoScope};
use crate::lang::Lang;
use crate::ui::card::quantity;
use crate::ui::icon::Icon;
use crate::ui::markdown::Document;
use crate::ui::sentence;
use crate::ui::theme::{Theme, Type, radius, size, space};
use crate::ui::widget::{Button, IconButton, MenuRow, line_of_text, menu, spinner_at};

/// Height of the line of facts.
pub(super) const META: f32 = 28.0;
/// Space under the last item.
const END: f32 = 24.0;
const NOTE: f32 = 28.0;

/// Draws controls that are seen while the pointer is over `area` or the keyboard is on one of them. They keep their place
/// and can always be reached.
pub(super) fn reveal(
    ui: &mut Ui,
    area: Rect,
    id: impl std::hash::Hash + std::fmt::Debug,
    content: impl FnOnce(&mut Ui),
) {
    let id = Id::unique(id);
    let was_focused = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
    let is_seen = was_focused || ui.rect_contains_pointer(area.expand(space::XS));
    let before = ui.memory(egui::Memory::focused);
    let inner = ui.scope(|ui| {
        if !is_seen {
            ui.set_opacity(0.0);
        }
        content(ui);
    });
    let focus = before.and_then(|focused| ui.ctx().read_response(focused));
    let is_focused = focus.is_some_and(|focus| inner.response.rect.contains_rect(focus.rect));
    if is_focused != was_focused {
        ui.data_mut(|data| data.insert_temp(id, is_focused));
        ui.ctx().request_repaint();
    }
}

/// Draws the way to other versions of a message, where there are some.
pub(super) fn draw_versions(
    ui: &mut Ui,
    theme: &Theme,
    lang: &Lang,
    record: &MessageRecord,
    intents: &mut Vec<Intent>,
) {
    let (number, count) = record.version;
    if count < 2 {
        return;
    }
    let step = |version: u32| Intent::SelectVersion { message: record.id.clone(), version };
    let text =
        lang.format("message-version", &[("number", i64::from(number).into()), ("count", i64::from(count).into())]);
    let is_rtl = ui.layout().prefer_right_to_left();
    let previous = |ui: &mut Ui, intents: &mut Vec<Intent>| {
        let button = IconButton::new(Icon::ChevronLeft, lang.text("message-previous-version")).small();
        if ui.add(button.disabled(number <= 1)).clicked() {
            intents.push(step(number - 1));
        }
    };
    let next = |ui: &mut Ui, intents: &mut Vec<Intent>| {
        let button = IconButton::new(Icon::ChevronRight, lang.text("message-next-version")).small();
        if ui.add(button.disabled(number >= count)).clicked() {
            intents.push(step(number + 1));
        }
    };
    if is_rtl {
        next(ui, intents);
        fact(ui, theme, &text);
        previous(ui, intents);
    } else {
        previous(ui, intents);
        fact(ui, theme, &text);
        next(ui, intents);
    }
}

fn fact(ui: &mut Ui, theme: &Theme, text: &str) -> Response {
    let galley = line_of_text(ui, theme, text, Type::Meta, theme.colors.dim, ui.available_width().max(40.0));
    let (rect, response) = ui.allocate_exact_size(galley.size(), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
    ui.painter().galley(rect.min, galley, theme.colors.dim);
    response
}

/// Model, tokens, speed, time; then the actions.
pub(super) fn draw_meta(list: &mut List<'_>, id: &MessageId, rect: Rect, intents: &mut Vec<Intent>) {
    list.stats().drawn += 1;
    let Some(record) = list.view.messages.get(id) else { return };
    let lang = list.look.lang;
    let theme = list.theme;
    let area = Rect::from_min_max(pos2(rect.left(), rect.top() - 80.0), pos2(rect.right(), rect.bottom() + space::S));
    let mut ui = list.controls(("meta", id), rect, false);
    ui.spacing_mut().item_spacing.x = space::M;
    if let Some(answer) = &record.answer {
        fact(&mut ui, theme, &answer.model);
        let tokens = answer.usage.output_tokens;
        if tokens > 0 {
            fact(&mut ui, theme, &lang.format("meta-tokens", &[("count", quantity::count(tokens).into())]));
        }
        let speed = answer.perf.as_ref().and_then(|perf| perf.tokens_per_second).or_else(|| {
            let ms = answer.latency_ms.saturating_sub(answer.first_token_ms.unwrap_or(0));
            #[expect(clippy::cast_precision_loss, reason = "shown without decimals")]
            let speed = tokens as f64 * 1000.0 / ms as f64;
            (ms > 200 && tokens > 0).then_some(speed)
        });
        if let Some(speed) = speed {
            fact(&mut ui, theme, &lang.format("meta-speed", &[("speed", format!("{speed:.0}").into())]));
        }
        if let Some(cost) = &answer.cost {
            let words = lang.format("meta-cost", &[("cost", money(cost).into())]);
            fact(&mut ui, theme, &words).on_hover_text(lang.text("meta-cost-why"));
        }
        let took = fact(&mut ui, theme, &quantity::duration(lang, answer.latency_ms));
        if let Some(first) = answer.first_token_ms {
            let first = quantity::duration(lang, first);
            took.on_hover_text(lang.format("meta-first-token", &[("duration", first.into())]));
        }
    }
    if record.answer.as_ref().is_some_and(|answer| answer.is_thought_alone) {
        fact(&mut ui, theme, lang.text("meta-thought")).on_hover_text(lang.text("meta-thought-why"));
    }
    if let Some(left_out) = record.answer.as_ref().and_then(|answer| answer.left_out) {
        let words = match left_out {
            0 => lang.text("meta-shortened").to_owned(),
            count => lang.format("meta-left-out", &[("count", count.into())]),
        };
        fact(&mut ui, theme, &words).on_hover_text(lang.text("meta-left-out-why"));
    }
    ui.spacing_mut().item_spacing.x = 2.0;
    draw_versions(&mut ui, theme, lang, record, intents);
    if record.status == MessageStatus::Streaming {
        return;
    }
    reveal(&mut ui, area, ("meta shown", id), |ui| {
        if ui.add(IconButton::new(Icon::Copy, lang.text("copy-message")).small()).clicked() {
            let mut document = Document::default();
            document.set(&record.message.content);
            intents.push(Intent::CopyText(document.plain_text()));
        }
        if ui.add(IconButton::new(Icon::RefreshCw, lang.text("message-regenerate")).small()).clicked() {
            intents.push(Intent::Regenerate(id.clone()));
        }
        if list.view.undoable_turns.contains(id)
            && ui.add(IconButton::new(Icon::Undo, lang.text("undo-turn")).small()).clicked()
        {
            let scope = UndoScope::Turn { session: record.session.clone(), message: id.clone() };
            intents.push(Intent::PlanUndo { scope, direction: UndoDirection::Undo });
        }
        let more = ui.add(IconButton::new(Icon::Ellipsis, lang.text("message-more")).small());
        menu(&more, 200.0, |ui| {
            if ui.add(MenuRow::new(lang.text("copy-markdown")).icon(Icon::Code)).clicked() {
                intents.push(Intent::CopyText(record.message.content.clone()));
            }
            // What a server has said, and to whom, is the server's.
            if record.session.is_on_server() {
                return;
            }
            if ui.add(MenuRow::new(lang.text("action-show-sent")).icon(Icon::FileText)).clicked() {
                intents.push(Intent::ShowSent);
            }
            if ui.add(MenuRow::new(lang.text("message-fork")).icon(Icon::GitFork)).clicked() {
                intents.push(Intent::ForkHere(id.clone()));
            }
            if ui.add(MenuRow::new(lang.text("message-delete")).icon(Icon::Trash).danger()).clicked() {
                intents.push(Intent::DeleteMessage(id.clone()));
            }
        });
    });
}

fn failure_text(list: &List<'_>, id: &MessageId) -> String {
    let error = list.view.messages.get(id).and_then(|record| record.error.as_ref());
    error.map_or_else(String::new, |error| sentence::error(list.look.lang, error))
}

fn failure_galley(list: &List<'_>, id: &MessageId) -> std::sync::Arc<egui::Galley> {
    let theme = list.theme;
    let text = crate::policy::escape(&failure_text(list, id), true).into_owned();
    let mut job = egui::text::LayoutJob::single_section(text, theme.format(Type::Control, theme.colors.text));
    job.wrap.max_width = list.width - 3.0 * space::XXXL;
    job.wrap.max_rows = 12;
    list.ui.fonts_mut(|fonts| fonts.layout_job(job))
}

pub(super) fn failure_height(list: &List<'_>, id: &MessageId) -> f32 {
    failure_galley(list, id).size().y + 20.0 + size::CONTROL + 3.0 * space::M
}

/// Why the answer broke off, and the way on.
pub(super) fn draw_failure(list: &mut List<'_>, id: &MessageId, rect: Rect, intents: &mut Vec<Intent>) {
    list.stats().drawn += 1;
    let galley = failure_galley(list, id);
    let theme = list.theme;
    let lang = list.look.lang;
    let colors = &theme.colors;
    let painter = list.ui.painter();
    let corner = CornerRadius::same(radius::CARD);
    let border = egui::Stroke::new(1.0, colors.bad.gamma_multiply(0.6));
    painter.rect(rect, corner, colors.bad_soft.gamma_multiply(0.4), border, StrokeKind::Inside);
    Icon::CircleX.paint_at(painter, pos2(rect.left() + 22.0, rect.top() + 22.0), size::ICON, colors.bad);
    let left = rect.left() + 40.0;
    let title = lang.text("answer-failed");
    let heading = line_of_text(&list.ui, theme, title, Type::ControlStrong, colors.text, rect.width() - 80.0);
    list.ui.painter().galley(pos2(left, rect.top() + space::M), heading, colors.text);
    let at = pos2(left, rect.top() + space::M + 20.0);
    let height = galley.size().y;
    crate::ui::markdown::paint_selectable(&list.ui, Id::unique(("failure", id)), at, &galley);
    let buttons = Rect::from_min_size(pos2(left, at.y + height + space::S), vec2(rect.width() - 60.0, size::CONTROL));
    let mut ui = list.controls(("failure", id), buttons, false);
    if ui.add(Button::secondary(lang.text("answer-retry")).icon(Icon::RotateCcw)).clicked() {
        intents.push(Intent::Retry);
    }
}

/// The round limit, and the way on.
pub(super) fn draw_limit(list: &mut List<'_>, rect: Rect, intents: &mut Vec<Intent>) {
    list.stats().drawn += 1;
    let theme = list.theme;
    let lang = list.look.lang;
    let corner = CornerRadius::same(radius::CARD);
    list.ui.painter().rect(rect, corner, theme.colors.raised, theme.line(), StrokeKind::Inside);
    let mut ui = list.controls("limit", rect.shrink2(vec2(space::M, 0.0)), false);
    fact(&mut ui, theme, lang.text("round-limit"));
    ui.add_space(space::M);
    if ui.add(Button::secondary(lang.text("round-continue")).icon(Icon::Play)).clicked() {
        intents.push(Intent::Continue);
    }
}

/// What had come when it was stopped.
pub(super) fn draw_interrupted(list: &mut List<'_>, id: &MessageId, rect: Rect, intents: &mut Vec<Intent>) {
    list.stats().drawn += 1;
    let theme = list.theme;
    let lang = list.look.lang;
    let Some(record) = list.view.messages.get(id) else { return };
    let is_crash = record.status == MessageStatus::Interrupted;
    let (key, icon) = if is_crash { ("answer-interrupted", Icon::CircleHelp) } else { ("answer-stopped", Icon::Ban) };
    let color = if is_crash { theme.colors.unknown } else { theme.colors.dim };
    icon.paint_at(list.ui.painter(), pos2(rect.left() + 8.0, rect.center().y), size::SMALL_ICON, color);
    let place = Rect::from_min_max(pos2(rect.left() + 24.0, rect.top()), rect.max);
    let mut ui = list.controls(("interrupted", id), place, false);
    fact(&mut ui, theme, lang.text(key));
    if is_crash {
        ui.add_space(space::S);
        if ui.add(Button::secondary(lang.text("answer-retry")).small()).clicked() {
            intents.push(Intent::Retry);
        }
    }
}

fn note(list: &List<'_>) -> Option<String> {
    let lang = list.look.lang;
    match &list.view.note {
        TurnNote::Retrying { attempt, until, error } => {
            let rest = quantity::whole_seconds(lang, until.since(list.look.now) + 999);
            let args = [
                ("attempt", i64::from(*attempt).into()),
                ("duration", rest.into()),
                ("reason", sentence::error(lang, error).into()),
            ];
            Some(lang.format("turn-retrying", &args))
        }
        TurnNote::None if item::is_waiting_for_model(list.view) => {
            Some(lang.format("turn-sending", &[("model", list.view.session.model.as_str().into())]))
        }
        TurnNote::None => None,
    }
}

/// Height of what stands below the last item.
pub(super) fn tail_height(list: &List<'_>) -> f32 {
    let note = if note(list).is_some() { NOTE + space::S } else { 0.0 };
    END + note + list.view.queued.len() as f32 * (size::CONTROL + space::S)
}

/// What the turn waits for, and the messages that wait for its end.
pub(super) fn draw_tail(list: &mut List<'_>, rect: Rect, intents: &mut Vec<Intent>) {
    let theme = list.theme;
    let lang = list.look.lang;
    let mut top = rect.top() + space::S;
    if let Some(text) = note(list) {
        let middle = top + NOTE / 2.0;
        spinner_at(&list.ui, theme, pos2(rect.left() + 8.0, middle), 13.0, theme.colors.info);
        let place = Rect::from_min_max(pos2(rect.left() + 24.0, top), pos2(rect.right(), top + NOTE));
        let mut ui = list.controls("note", place, false);
        fact(&mut ui, theme, &text);
        list.ui.ctx().request_repaint_after(Duration::from_millis(500));
        top += NOTE;
    }
    for (index, queued) in list.view.queued.iter().enumerate() {
        let width = list.width * size::BUBBLE;
        let place = Rect::from_min_max(pos2(rect.right() - width, top), pos2(rect.right(), top + size::CONTROL));
        let mut ui = list.controls(("queued", index), place, true);
        let remove = IconButton::new(Icon::X, lang.text("message-delete")).small();
        if ui.add(remove).clicked() {
            intents.push(Intent::Unqueue(index));
        }
        fact(&mut ui, theme, lang.text("turn-queued"));
        let first = queued.lines().next().unwrap_or_default();
        let galley =
            line_of_text(&ui, theme, first, Type::Control, theme.colors.dim, ui.available_width() - space::XXL);
        let bubble = Align2::RIGHT_CENTER.anchor_size(
            pos2(ui.available_rect_before_wrap().right() - space::S, place.center().y),
            galley.size() + vec2(2.0 * space::M, space::S),
        );
        ui.painter().rect_stroke(bubble, CornerRadius::same(radius::MODAL), theme.line(), StrokeKind::Inside);
        ui.painter().galley(bubble.min + vec2(space::M, space::XS), galley, theme.colors.dim);
        top += size::CONTROL + space::S;
    }
}

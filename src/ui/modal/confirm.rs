//! The question about one call: everything that it would do, computed by the program, and the five answers.
//!
//! Plain Enter and Space never approve, wherever the keyboard is; *Deny* has it from the start.

use egui::text::LayoutJob;
use egui::{Align, Event, Frame, Id, Key, Label, Layout, Margin, Modifiers, Response, TextWrapMode, Ui, vec2};

use crate::app::Intent;
use crate::app::preview::PreviewRows;
use crate::app::rows::short_path;
use crate::ir::{Access, ConfirmId, Preview, RiskLevel};
use crate::lang::Arg;
use crate::policy::{Segment, find_deceptive, segments};
use crate::port::ConfirmRequest;
use crate::ui::icon::Icon;
use crate::ui::panel::composer::has_ime_event;
use crate::ui::scene::{Scene, ViewState, take_key};
use crate::ui::sentence;
use crate::ui::theme::{Theme, Type, size, space};
use crate::ui::widget::{
    Badge, Button, IconButton, TextField, Tone, focus_ring, line_of_text, menu, menu_heading, menu_separator,
};

use super::preview;

const WIDTH: f32 = 700.0;
const LABEL_WIDTH: f32 = 88.0;
/// Rows are made from this many bytes a frame.
const PART_BYTES: usize = 192 * 1024;
const MOST_WORDS_HEIGHT: f32 = 66.0;

/// Keys of this frame that mean something here.
#[derive(Debug, Clone, Copy)]
struct Pressed {
    ctrl_enter: bool,
    is_composing: bool,
}

/// The field of a refusal.
fn reason_id() -> Id {
    Id::unique("deny reason")
}

/// What the modal remembers of the question that it shows.
#[derive(Debug, Default)]
pub struct ConfirmView {
    shown: Option<(ConfirmId, String)>,
    rows: Option<PreviewRows>,
    /// The call's arguments as text, while they are shown.
    args: Option<(Preview, PreviewRows)>,
    columns: usize,
    is_wide: bool,
    shows_args: bool,
    /// The words of a refusal, while they are typed.
    reason: Option<String>,
    wants_focus: bool,
    /// Whether anything but the preview would deceive.
    is_deceptive: bool,
    /// What the modal needs beside the preview, in points, as the last frame found.
    rest_height: f32,
}

impl ConfirmView {
    /// Makes more rows of the question that is shown; gives whether more are due.
    pub fn prepare(&mut self, request: &ConfirmRequest) -> bool {
        // The plan's hash tells a question that is asked anew from the one before.
        let key = (request.id.clone(), format!("{}{}", request.plan_hash, request.asked_at.0));
        if self.shown.as_ref() != Some(&key) {
            let words = [&request.target, &request.model_words, &request.session_title, &request.model];
            *self = Self {
                shown: Some(key),
                columns: self.columns,
                wants_focus: true,
                // Where there is nothing to preview, the arguments are all there is to read.
                shows_args: request.preview == Preview::Nothing,
                is_deceptive: words.iter().any(|text| !find_deceptive(text, true).is_empty())
                    || is_deceptive_value(&request.call.args, 64 * 1024),
                ..Self::default()
            };
        }
        let columns = if self.columns == 0 { 80 } else { self.columns };
        let rows = match self.rows.take() {
            Some(rows) if rows.columns() == columns => self.rows.insert(rows),
            Some(_) | None => self.rows.insert(PreviewRows::new(columns)),
        };
        rows.advance(&request.preview, PART_BYTES);
        let mut is_due = !rows.is_complete;
        if self.shows_args {
            let (text, mut rows) = self.args.take().unwrap_or_else(|| {
                let content = serde_json::to_string_pretty(&request.call.args).unwrap_or_default();
                (Preview::NewFile { content }, PreviewRows::new(columns))
            });
            if rows.columns() != columns {
                rows = PreviewRows::new(columns);
            }
            rows.advance(&text, PART_BYTES);
            is_due |= !rows.is_complete;
            self.args = Some((text, rows));
        }
        is_due
    }
}

/// Whether any text in the arguments would deceive; long texts are in the preview and are looked at there.
fn is_deceptive_value(value: &serde_json::Value, most_bytes: usize) -> bool {
    match value {
        serde_json::Value::String(text) => text.len() <= most_bytes && !find_deceptive(text, true).is_empty(),
        serde_json::Value::Array(items) => items.iter().any(|item| is_deceptive_value(item, most_bytes)),
        serde_json::Value::Object(fields) => fields
            .iter()
            .any(|(name, field)| !find_deceptive(name, false).is_empty() || is_deceptive_value(field, most_bytes)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => false,
    }
}

/// Draws the question that is shown, if one waits.
pub fn show(ui: &Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let Some(request) = scene.state.confirms.shown() else {
        view.confirm = ConfirmView { columns: view.confirm.columns, ..ConfirmView::default() };
        return;
    };
    let is_composing = view.is_composing || has_ime_event(ui);
    let room = ui.ctx().content_rect().size();
    let width = if view.confirm.is_wide { room.x - 32.0 } else { WIDTH };
    let theme = scene.theme;
    let confirm = &mut view.confirm;
    // Taken before anything with the keyboard sees it: a focused button would take Enter for a click.
    let writes_reason = ui.memory(|memory| memory.has_focus(reason_id()));
    let pressed = Pressed { ctrl_enter: !writes_reason && takes_ctrl_enter(ui) && !is_composing, is_composing };
    let outcome = super::show(ui, theme, "confirm", width, |ui| {
        let name = scene.lang.text(sentence::title_key(request));
        ui.ctx().accesskit_node_builder(ui.unique_id(), |node| {
            node.set_role(egui::accesskit::Role::AlertDialog);
            node.set_label(name);
        });
        let top = ui.cursor().top();
        let mut preview_height = 0.0;
        let body = Margin { left: 20, right: 20, top: 16, bottom: 12 };
        Frame::NONE.inner_margin(body).show(ui, |ui| {
            head(ui, scene, confirm, request);
            ui.add_space(space::S);
            facts(ui, scene, request);
            badges(ui, scene, request);
            warnings(ui, scene, confirm, request);
            preview_height = previews(ui, scene, confirm, request, room.y);
            reads(ui, scene);
            words(ui, scene, request);
            reason_field(ui, scene, confirm, request, is_composing);
        });
        let answered = foot(ui, scene, confirm, request, pressed);
        let drawn = ui.cursor().top() - top;
        let rest = drawn - preview_height;
        if (rest - confirm.rest_height).abs() > 0.5 {
            confirm.rest_height = rest;
            ui.ctx().request_discard("the question found its height");
        }
        answered
    });
    if let Some(intent) = outcome.inner {
        scene.push(intent);
    }
}

fn head(ui: &mut Ui, scene: &mut Scene<'_>, confirm: &mut ConfirmView, request: &ConfirmRequest) {
    let colors = scene.theme.colors;
    let (icon, color) = match request.access {
        Access::Read => (Icon::Eye, colors.info),
        Access::Write => (Icon::Pencil, colors.warn),
        Access::Delete => (Icon::Trash, colors.bad),
        Access::Execute => (Icon::Terminal, colors.bad),
    };
    ui.horizontal(|ui| {
        ui.set_height(24.0);
        let (rect, _) = ui.allocate_exact_size(vec2(18.0, 22.0), egui::Sense::hover());
        icon.paint(ui.painter(), rect, size::ICON, color);
        let title = scene.lang.text(sentence::title_key(request));
        let galley = line_of_text(ui, scene.theme, title, Type::ModalTitle, colors.text, ui.available_width());
        let (rect, response) = ui.allocate_exact_size(galley.size(), egui::Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Heading, true, title));
        ui.painter().galley(rect.min, galley, colors.text);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let (icon, key) =
                if confirm.is_wide { (Icon::Minus, "confirm-narrow") } else { (Icon::Maximize, "confirm-wide") };
            if ui.add(IconButton::new(icon, scene.lang.text(key)).small()).clicked() {
                confirm.is_wide = !confirm.is_wide;
            }
            let (place, count) = scene.state.confirms.place();
            if count > 1 {
                let next = IconButton::new(Icon::ChevronRight, scene.lang.text("confirm-next")).small();
                if ui.add(next.disabled(place == count)).clicked() {
                    scene.push(Intent::ShowNeighbourConfirm(1));
                }
            }
            let words = scene.lang.format("confirm-place", &[("place", Arg::from(place)), ("count", Arg::from(count))]);
            if count > 1 {
                ui.label(scene.theme.rich(words, Type::Meta, colors.dim));
                let before = IconButton::new(Icon::ChevronLeft, scene.lang.text("confirm-previous")).small();
                if ui.add(before.disabled(place == 1)).clicked() {
                    scene.push(Intent::ShowNeighbourConfirm(-1));
                }
            }
        });
    });
}

/// One fact: its name and its value, which may take several lines.
fn fact(ui: &mut Ui, theme: &Theme, label: &str, value: LayoutJob) {
    ui.horizontal_top(|ui| {
        let (rect, response) = ui.allocate_exact_size(vec2(LABEL_WIDTH, 22.0), egui::Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, label));
        let galley = line_of_text(ui, theme, label, Type::Control, theme.colors.dim, LABEL_WIDTH);
        ui.painter().galley(rect.min + vec2(0.0, 1.0), galley, theme.colors.dim);
        let width = ui.available_width();
        ui.vertical(|ui| {
            ui.set_max_width(width);
            ui.add_space(1.0);
            ui.add(Label::new(value).wrap_mode(TextWrapMode::Wrap));
        });
    });
    ui.add_space(2.0);
}

/// Text with every deception as a red escape.
fn safe(theme: &Theme, text: &str, kind: Type, color: egui::Color32) -> LayoutJob {
    let mut job = LayoutJob::default();
    append_safe(&mut job, theme, text, kind, color);
    job
}

fn append_safe(job: &mut LayoutJob, theme: &Theme, text: &str, kind: Type, color: egui::Color32) {
    let bad = egui::TextFormat { background: theme.colors.bad_soft, ..theme.format(kind, theme.colors.bad) };
    for segment in segments(text, true) {
        match segment {
            Segment::Plain(plain) => job.append(plain, 0.0, theme.format(kind, color)),
            Segment::Escaped(escape) => job.append(&escape, 0.0, bad.clone()),
        }
    }
}

fn facts(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest) {
    let theme = scene.theme;
    let colors = theme.colors;
    let lang = scene.lang;
    let is_command = request.access == Access::Execute;
    let target_label = match (request.access, &request.preview) {
        (Access::Execute, _) => "confirm-fact-in",
        (_, Preview::Tree { count, .. }) if *count > 1 => "confirm-fact-folder",
        (_, Preview::Nothing) if request.call.name != "read_file" => "confirm-fact-folder",
        _ => "confirm-fact-file",
    };
    let shown_target = match &request.preview {
        Preview::Command(command) => command.cwd.as_str(),
        Preview::Nothing | Preview::NewFile { .. } | Preview::Diff { .. } | Preview::Tree { .. } => &request.target,
    };
    fact(ui, theme, lang.text(target_label), target_job(scene, shown_target, request.folder.as_deref()));
    if request.folder.is_none() && !is_command {
        let text = lang.text("confirm-outside");
        fact(ui, theme, lang.text("confirm-fact-place"), safe(theme, text, Type::ControlMedium, colors.bad));
    }
    if let Some(given) = &request.via_link {
        let value = safe(theme, &short_path(given, scene.home), Type::Mono, colors.text);
        fact(ui, theme, lang.text("confirm-fact-link"), value);
    }
    fact(
        ui,
        theme,
        lang.text("confirm-fact-what"),
        safe(theme, &sentence::what(lang, request), Type::Control, colors.text),
    );
    if let Preview::Command(command) = &request.preview {
        let seconds = i64::try_from(command.timeout_ms / 1000).unwrap_or(i64::MAX);
        let limit = lang.format("confirm-seconds", &[("seconds", Arg::Number(seconds))]);
        fact(ui, theme, lang.text("confirm-fact-limit"), safe(theme, &limit, Type::Control, colors.text));
        let environment: Vec<String> =
            command.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let value = safe(theme, &environment.join("  "), Type::Mono, colors.dim);
        fact(ui, theme, lang.text("confirm-fact-environment"), value);
    }
    let title = if request.session_title.is_empty() { lang.text("sidebar-untitled") } else { &request.session_title };
    let asker = if request.model.is_empty() {
        lang.text("confirm-by-command-line").to_owned()
    } else {
        lang.format("confirm-by", &[("model", Arg::from(request.model.as_str())), ("title", Arg::from(title))])
    };
    fact(ui, theme, lang.text("confirm-fact-by"), safe(theme, &asker, Type::Control, colors.text));
}

/// The target with the allowed folder dim and what lies in it strong.
fn target_job(scene: &Scene<'_>, target: &str, folder: Option<&str>) -> LayoutJob {
    let theme = scene.theme;
    let colors = theme.colors;
    let mut job = LayoutJob::default();
    let below = folder.and_then(|folder| target.strip_prefix(folder)).filter(|rest| rest.starts_with(['/', '\\']));
    match below {
        Some(below) => {
            let head = target.strip_suffix(below).unwrap_or_default();
            append_safe(&mut job, theme, &short_path(head, scene.home), Type::Mono, colors.dim);
            let (slash, rest) = below.split_at_checked(1).unwrap_or(("", below));
            append_safe(&mut job, theme, slash, Type::Mono, colors.dim);
            append_safe(&mut job, theme, rest, Type::Mono, colors.text);
        }
        None => append_safe(&mut job, theme, &short_path(target, scene.home), Type::Mono, colors.text),
    }
    job
}

fn badges(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest) {
    let lang = scene.lang;
    ui.horizontal_top(|ui| {
        ui.spacing_mut().interact_size.y = 20.0;
        let label = lang.text("confirm-fact-state");
        let (rect, response) = ui.allocate_exact_size(vec2(LABEL_WIDTH, 22.0), egui::Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, label));
        let galley = line_of_text(ui, scene.theme, label, Type::Control, scene.theme.colors.dim, LABEL_WIDTH);
        ui.painter().galley(rect.min + vec2(0.0, 1.0), galley, scene.theme.colors.dim);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 6.0);
            let is_write = request.access == Access::Write;
            if is_write && !request.exists {
                ui.add(Badge::new(lang.text("confirm-new"), Tone::Neutral));
            }
            if request.exists {
                match request.unchanged_since_read {
                    Some(true) => ui.add(Badge::new(lang.text("confirm-unchanged"), Tone::Neutral)),
                    Some(false) => ui.add(Badge::new(lang.text("confirm-changed"), Tone::Bad)),
                    None if is_write => ui.add(Badge::new(lang.text("confirm-never-read"), Tone::Warn)),
                    None => ui.add(Badge::new(lang.text("confirm-exists"), Tone::Neutral)),
                };
            }
            match request.access {
                Access::Read => {}
                Access::Delete if request.undoable => {
                    ui.add(Badge::new(lang.text("confirm-to-trash"), Tone::Good).icon(Icon::Undo));
                }
                Access::Write | Access::Delete | Access::Execute => {
                    if request.undoable {
                        ui.add(Badge::new(lang.text("confirm-undoable"), Tone::Good).icon(Icon::Undo));
                    } else {
                        ui.add(Badge::new(lang.text("confirm-not-undoable"), Tone::Warn));
                    }
                }
            }
            let tone = match request.risk {
                RiskLevel::Safe | RiskLevel::Low => Tone::Neutral,
                RiskLevel::Medium => Tone::Warn,
                RiskLevel::High | RiskLevel::Critical => Tone::Bad,
            };
            ui.add(Badge::new(lang.text(sentence::risk_key(request.risk)), tone));
            if let Preview::Command(command) = &request.preview {
                if command.confined {
                    ui.add(Badge::new(lang.text("confirm-confined"), Tone::Good).icon(Icon::Shield));
                } else {
                    ui.add(Badge::new(lang.text("confirm-unconfined"), Tone::Bad).icon(Icon::ShieldAlert));
                }
            }
        });
    });
    ui.add_space(space::S);
}

fn warnings(ui: &mut Ui, scene: &Scene<'_>, confirm: &ConfirmView, request: &ConfirmRequest) {
    let lang = scene.lang;
    let colors = scene.theme.colors;
    let mut lines: Vec<(String, bool)> = Vec::new();
    if request.is_asked_anew {
        lines.push((lang.text("confirm-asked-anew").to_owned(), true));
    }
    if let Preview::Command(command) = &request.preview
        && !command.confined
    {
        lines.push((lang.text("confirm-unconfined-detail").to_owned(), true));
    }
    lines.extend(request.reasons.iter().filter_map(|reason| sentence::reason(lang, reason)));
    let has_deception = confirm.is_deceptive
        || confirm.rows.as_ref().is_some_and(|rows| rows.is_deceptive)
        || confirm.args.as_ref().is_some_and(|(_, rows)| rows.is_deceptive);
    if has_deception {
        lines.push((lang.text("confirm-deceptive").to_owned(), true));
    }
    for (line, is_bad) in &lines {
        let color = if *is_bad { colors.bad } else { colors.warn };
        ui.horizontal_top(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(18.0, 20.0), egui::Sense::hover());
            Icon::TriangleAlert.paint(ui.painter(), rect, size::SMALL_ICON, color);
            let width = ui.available_width();
            ui.vertical(|ui| {
                ui.set_max_width(width);
                ui.label(scene.theme.rich(line.as_str(), Type::ControlMedium, color));
            });
        });
        ui.add_space(space::XS);
    }
    if !lines.is_empty() {
        ui.add_space(space::XS);
    }
}

/// Draws the preview and, on demand, all arguments; gives the height that both take.
fn previews(ui: &mut Ui, scene: &Scene<'_>, confirm: &mut ConfirmView, request: &ConfirmRequest, room: f32) -> f32 {
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
fn reads(ui: &mut Ui, scene: &mut Scene<'_>) {
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

fn words(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest) {
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

fn reason_field(
    ui: &mut Ui,
    scene: &mut Scene<'_>,
    confirm: &mut ConfirmView,
    request: &ConfirmRequest,
    is_composing: bool,
) {
    let Some(reason) = &mut confirm.reason else { return };
    ui.add_space(space::M);
    let id = reason_id();
    let has_focus = ui.memory(|memory| memory.has_focus(id));
    let mut sends = false;
    if has_focus && !is_composing {
        // Here Ctrl+Enter must not approve: it sends the refusal that is being typed.
        sends = take_key(ui, Modifiers::NONE, Key::Enter)
            || take_key(ui, Modifiers::COMMAND, Key::Enter)
            || take_key(ui, Modifiers { ctrl: true, ..Modifiers::COMMAND }, Key::Enter);
    }
    let mut stops = false;
    ui.horizontal(|ui| {
        let stop_text = scene.lang.text("confirm-deny-stop");
        let send_text = scene.lang.text("confirm-send-denial");
        let width = ui.available_width() - 232.0;
        let name = scene.lang.text("confirm-reason-field");
        let hint = scene.lang.text("confirm-reason-hint");
        let field = ui.add(TextField::new(reason, name).hint(hint).width(width.max(120.0)).id(id));
        if std::mem::take(&mut confirm.wants_focus) {
            field.request_focus();
        }
        sends |= ui.add(Button::secondary(send_text)).clicked();
        stops = ui.add(Button::danger(stop_text)).clicked();
    });
    if sends {
        let intent = Intent::Deny { confirm: request.id.clone(), reason: reason.trim().to_owned() };
        scene.push(intent);
    }
    if stops {
        scene.push(Intent::DenyAndStop(request.id.clone()));
    }
}

/// Whether a control that approves was worked by anything but plain Enter or Space.
fn approves(ui: &Ui, response: &Response) -> bool {
    response.clicked()
        && !ui.input(|input| {
            input
                .events
                .iter()
                .any(|event| matches!(event, Event::Key { key: Key::Enter | Key::Space, pressed: true, .. }))
        })
}

fn takes_ctrl_enter(ui: &Ui) -> bool {
    take_key(ui, Modifiers::COMMAND, Key::Enter)
        || take_key(ui, Modifiers { ctrl: true, ..Modifiers::COMMAND }, Key::Enter)
}

fn foot(
    ui: &mut Ui,
    scene: &mut Scene<'_>,
    confirm: &mut ConfirmView,
    request: &ConfirmRequest,
    pressed: Pressed,
) -> Option<Intent> {
    let lang = scene.lang;
    let is_open = scene.state.confirms.is_open(scene.now);
    let mut chosen = None;
    let theme = scene.theme;
    super::foot(ui, theme, |ui| {
        let deny = ui.add(Button::secondary(lang.text("confirm-deny")).shortcut("Esc"));
        if confirm.reason.is_none()
            && (std::mem::take(&mut confirm.wants_focus) || ui.memory(|m| m.focused().is_none()))
        {
            deny.request_focus();
        }
        if deny.clicked() {
            chosen = Some(Intent::Deny { confirm: request.id.clone(), reason: String::new() });
        }
        let why = ui.add(Button::ghost(lang.text("confirm-deny-why")));
        if why.clicked() {
            confirm.reason = if confirm.reason.is_some() { None } else { Some(String::new()) };
            confirm.wants_focus = true;
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let allow = ui.add(Button::primary(lang.text("confirm-allow-once")).shortcut("Ctrl ⏎"));
            if approves(ui, &allow) {
                chosen = Some(Intent::AllowOnce(request.id.clone()));
            }
            if !request.rule_proposals.is_empty() {
                let button = Button::secondary(lang.text("confirm-allow-session")).trailing(Icon::ChevronDown);
                let button = ui.add(button);
                let opened = menu(&button, 420.0, |ui| rules(ui, scene, request, pressed));
                if let Some(intent) = opened.and_then(|opened| opened.inner) {
                    chosen = Some(intent);
                }
            }
        });
    });
    if chosen.is_none() && !pressed.is_composing {
        chosen = keys(ui, confirm, request, pressed);
    }
    if !is_open {
        // The guard itself is in the state; here it only keeps early keys from falling through to anything else.
        ui.ctx().request_repaint_after_secs(0.1);
    }
    chosen
}

fn keys(ui: &Ui, confirm: &mut ConfirmView, request: &ConfirmRequest, pressed: Pressed) -> Option<Intent> {
    if egui::Popup::is_any_open(ui.ctx()) {
        return None;
    }
    if take_key(ui, Modifiers::NONE, Key::Escape) {
        if confirm.reason.take().is_some() {
            confirm.wants_focus = true;
            return None;
        }
        return Some(Intent::Deny { confirm: request.id.clone(), reason: String::new() });
    }
    pressed.ctrl_enter.then(|| Intent::AllowOnce(request.id.clone()))
}

/// The rules that may be made, narrow to broad, each with what it would have allowed.
fn rules(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest, pressed: Pressed) -> Option<Intent> {
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

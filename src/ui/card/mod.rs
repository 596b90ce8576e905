//! The card of a tool call: icon, name, target, state and time in its header; what it did, by kind, under it; facts and
//! actions at its foot.

pub mod ansi;
mod body;
pub mod diff;
pub mod masked;
pub mod quantity;
mod rows;

use std::path::PathBuf;

use egui::{
    Align, Align2, Color32, CornerRadius, Id, Layout, Pos2, Rect, Role, Sense, Stroke, StrokeKind, Ui, UiBuilder,
    WidgetInfo, pos2, vec2,
};

use super::highlight::Highlighter;
use super::icon::Icon;
use super::modal::undo::icon_of;
use super::sentence;
use super::theme::{Theme, Type, radius, size, space};
use super::widget::{Badge, Button, Tone, focus_ring, line_of_text, spinner_at};
use crate::app::{CallView, Intent};
use crate::ir::{CallRecord, CallStatus, UndoDirection, UndoScope, UndoState, UnixMs};
use crate::lang::{Lang, Locale};
use crate::policy::RuleSet;

use body::Body;
pub use rows::{RowTag, Rows};

/// Highest body before it scrolls by itself, in points.
const BODY_LIMIT: f32 = 380.0;
const FOOTER: f32 = 48.0;
/// How much of a body is taken in in one frame, in bytes; more than live output can be long.
const SLICE_BYTES: usize = 256 * 1024;

/// What a card needs beside its call.
pub struct CardLook<'frame> {
    pub theme: &'frame Theme,
    pub lang: &'frame Lang,
    pub highlighter: &'frame mut Highlighter,
    pub now: UnixMs,
    /// The rules that hold: the one that let a call through can be taken back here.
    pub rules: &'frame RuleSet,
}

/// A card as it is shown.
#[derive(Default)]
pub struct CardView {
    body: Body,
    /// Revision, view and language that the body was made of.
    made_of: Option<(u64, bool, Locale)>,
    /// The pass in which the body was last taken in further.
    advanced: Option<u64>,
    shows_arguments: bool,
    message_height: f32,
    message_width: f32,
}

/// The sign of a tool.
pub fn tool_icon(name: &str) -> Icon {
    match name {
        "read_file" => Icon::File,
        "list_directory" => Icon::Folder,
        "search_files" => Icon::Search,
        "write_file" | "edit_file" => Icon::Pencil,
        "create_directory" => Icon::FolderPlus,
        "delete_file" => Icon::Trash,
        "run_command" => Icon::Terminal,
        _ => Icon::Wrench,
    }
}

/// Key, icon and tone of a state; never the colour alone.
pub const fn state_look(status: CallStatus) -> (&'static str, Icon, Tone) {
    match status {
        CallStatus::Pending => ("call-pending", Icon::Clock, Tone::Neutral),
        CallStatus::Waiting => ("call-waiting", Icon::Hourglass, Tone::Warn),
        CallStatus::Running => ("call-running", Icon::LoaderCircle, Tone::Info),
        CallStatus::Succeeded => ("call-succeeded", Icon::Check, Tone::Good),
        CallStatus::Failed => ("call-failed", Icon::CircleX, Tone::Bad),
        CallStatus::Denied => ("call-denied", Icon::Ban, Tone::Neutral),
        CallStatus::Cancelled => ("call-cancelled", Icon::Ban, Tone::Neutral),
        CallStatus::Unknown => ("call-unknown", Icon::CircleHelp, Tone::Unknown),
    }
}

/// What a call works on, as short as its folder allows.
pub fn target(call: &CallView, folders: &[String]) -> String {
    let record = &call.record;
    let argument = |key: &str| record.call.args.get(key).and_then(serde_json::Value::as_str);
    let full = match record.call.name.as_str() {
        "run_command" => argument("command"),
        "search_files" => argument("query"),
        _ => record.target.as_deref().or_else(|| argument("path")),
    };
    let full = full.unwrap_or_default();
    let short = folders
        .iter()
        .find_map(|folder| full.strip_prefix(folder.as_str()))
        .map(|rest| rest.trim_start_matches(['/', '\\']))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(full);
    crate::policy::escape_name(short.lines().next().unwrap_or_default(), false).into_owned()
}

/// The bar at the top of a card.
pub struct Header<'text> {
    pub icon: Icon,
    pub title: &'text str,
    pub target: &'text str,
    /// Who tells of it, where that is not this program.
    pub teller: Option<&'text str>,
    pub state: Option<(Icon, Tone, &'text str)>,
    pub is_running: bool,
    pub is_open: Option<bool>,
}

impl Header<'_> {
    /// Draws it; whether it was pressed. `right` is what its state must leave free, in points.
    pub fn draw(&self, ui: &mut Ui, theme: &Theme, id: Id, rect: Rect, right: f32) -> bool {
        let colors = &theme.colors;
        let response = ui.interact(rect, id, Sense::click());
        let state = self.state.map_or("", |(_, _, words)| words);
        response.widget_info(|| {
            let name = format!("{} {} {state} {}", self.title, self.target, self.teller.unwrap_or_default());
            match self.is_open {
                Some(is_open) => WidgetInfo::selected(Role::Button, true, is_open, name.trim()),
                None => WidgetInfo::labeled(Role::Label, true, name.trim()),
            }
        });
        focus_ring(ui, &response, rect.shrink(4.0), radius::CONTROL - 2, theme);
        let middle = rect.center().y;
        self.icon.paint_at(ui.painter(), pos2(rect.left() + 20.0, middle), size::SMALL_ICON, colors.text);
        let mut end = rect.right() - space::M - right;
        if let Some(is_open) = self.is_open {
            let chevron = if is_open { Icon::ChevronDown } else { Icon::ChevronRight };
            let color = if response.hovered() { colors.text } else { colors.dim };
            chevron.paint_at(ui.painter(), pos2(end - 8.0, middle), size::ICON, color);
            end -= size::ICON + space::S;
        }
        if let Some((icon, tone, words)) = self.state {
            let color = tone.color(colors);
            let galley = line_of_text(ui, theme, words, Type::Meta, color, rect.width() * 0.4);
            end -= galley.size().x;
            ui.painter().galley(pos2(end, middle - galley.size().y / 2.0), galley, color);
            let center = pos2(end - 12.0, middle);
            if self.is_running {
                spinner_at(ui, theme, center, 13.0, color);
            } else {
                icon.paint_at(ui.painter(), center, size::SMALL_ICON, color);
            }
            end -= 20.0 + space::M;
        }
        if let Some(teller) = self.teller {
            let galley = line_of_text(ui, theme, teller, Type::Meta, colors.warn, rect.width() * 0.4);
            end -= galley.size().x;
            ui.painter().galley(pos2(end, middle - galley.size().y / 2.0), galley, colors.warn);
            end -= space::M;
        }
        let left = rect.left() + 38.0;
        let title = line_of_text(ui, theme, self.title, Type::ControlStrong, colors.text, end - left);
        let title_end = left + title.size().x;
        ui.painter().galley(pos2(left, middle - title.size().y / 2.0), title, colors.text);
        if !self.target.is_empty() && title_end + 40.0 < end {
            let room = end - title_end - 10.0;
            let galley = line_of_text(ui, theme, self.target, Type::Mono, colors.dim, room);
            ui.painter().galley(pos2(title_end + 10.0, middle - galley.size().y / 2.0), galley, colors.dim);
        }
        response.clicked()
    }
}

impl CardView {
    /// Makes its body anew when the call changed, and gives the card's height.
    pub fn height(&mut self, ui: &Ui, look: &CardLook<'_>, call: &CallView, width: f32) -> f32 {
        let top = top_height(call);
        if !call.is_open() {
            return top;
        }
        let wanted = (call.revision, self.shows_arguments, look.lang.locale());
        if self.made_of != Some(wanted) {
            self.body = body::begin(call, look.lang, self.shows_arguments);
            self.made_of = Some(wanted);
            self.message_width = 0.0;
            self.advanced = None;
        }
        // Once a frame: within one frame its height must stand still.
        let pass = ui.ctx().cumulative_pass_nr();
        if !self.body.is_complete() && self.advanced != Some(pass) {
            self.advanced = Some(pass);
            self.body.advance(call, look.lang, SLICE_BYTES);
            if !self.body.is_complete() {
                ui.ctx().request_repaint();
            }
        }
        if (self.message_width - width).abs() > 0.5 {
            self.message_width = width;
            self.message_height = self
                .body
                .message
                .as_ref()
                .map_or(0.0, |message| message_galley(ui, look.theme, message, width).size().y + 2.0 * space::M);
        }
        top + self.message_height + self.rows_height(look.theme) + FOOTER
    }

    fn rows_height(&self, theme: &Theme) -> f32 {
        if self.body.rows.is_empty() { 0.0 } else { self.body.rows.height(theme, BODY_LIMIT) }
    }

    /// Draws it; `height` must have been asked before.
    pub fn draw(
        &mut self,
        ui: &mut Ui,
        look: &mut CardLook<'_>,
        call: &CallView,
        folders: &[String],
        rect: Rect,
        intents: &mut Vec<Intent>,
    ) {
        let theme = look.theme;
        let colors = &theme.colors;
        let record = &call.record;
        let open = call.is_open();
        let id = Id::unique(("card", record.call.id.as_str()));
        let (key, icon, tone) = state_look(record.status);
        let corner = CornerRadius::same(radius::CARD);
        ui.painter().rect_filled(rect, corner, colors.raised);
        let header = Rect::from_min_size(rect.min, vec2(rect.width(), size::CARD_HEADER));
        let words = state_words(look, call, key);
        let is_undone = matches!(call.undo, Some(UndoState::Undone));
        let (icon, tone) = if is_undone { (icon_of(UndoDirection::Undo), Tone::Neutral) } else { (icon, tone) };
        let action = match (open, record.status) {
            (false, CallStatus::Waiting) => Some(("card-review", Intent::ReviewCall(record.call.id.clone()))),
            (false, CallStatus::Running) => Some(("card-stop", Intent::StopCall(record.call.id.clone()))),
            (true, _)
            | (
                false,
                CallStatus::Pending
                | CallStatus::Succeeded
                | CallStatus::Failed
                | CallStatus::Denied
                | CallStatus::Cancelled
                | CallStatus::Unknown,
            ) => None,
        };
        let short = target(call, folders);
        let head = Header {
            icon: tool_icon(&record.call.name),
            title: &record.call.name,
            target: &short,
            teller: teller_key(record).map(|key| look.lang.text(key)),
            state: Some((icon, tone, &words)),
            is_running: record.status == CallStatus::Running,
            is_open: Some(open),
        };
        if head.draw(ui, theme, id.with("header"), header, if action.is_some() { 84.0 } else { 0.0 }) {
            intents.push(Intent::ToggleCall(record.call.id.clone()));
        }
        if let Some((key, intent)) = action {
            let place = Rect::from_min_max(pos2(header.right() - 92.0, header.top()), header.max - vec2(6.0, 0.0));
            let mut child = right_to_left(ui, id.with("action"), place);
            if child.add(Button::secondary(look.lang.text(key)).small()).clicked() {
                intents.push(intent);
            }
        }
        if !call.masked.is_empty() {
            let place = Rect::from_min_size(header.left_bottom(), vec2(rect.width(), masked::STRIP));
            let mut ui = ui.new_child(UiBuilder::new().id_salt(id.with("masked")).max_rect(place));
            masked::strip(&mut ui, look.lang, &call.masked, place, intents);
        }
        if open {
            self.draw_body(ui, look, call, id, rect, intents);
        }
        let border = if record.status == CallStatus::Waiting { colors.warn } else { colors.line };
        ui.painter().rect_stroke(rect, corner, Stroke::new(size::LINE, border), StrokeKind::Inside);
        if record.status == CallStatus::Running && theme.animations {
            // The seconds count on.
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(200));
        }
    }

    fn draw_body(
        &mut self,
        ui: &mut Ui,
        look: &mut CardLook<'_>,
        call: &CallView,
        id: Id,
        rect: Rect,
        intents: &mut Vec<Intent>,
    ) {
        let theme = look.theme;
        let colors = &theme.colors;
        let top = rect.top() + top_height(call);
        let rows_top = top + self.message_height;
        let rows_height = self.rows_height(theme);
        let middle = Rect::from_min_max(pos2(rect.left(), top), pos2(rect.right(), rows_top + rows_height));
        ui.painter().rect_filled(middle, 0, colors.code);
        ui.painter().hline(rect.x_range(), top, theme.line());
        if let Some(message) = &self.body.message {
            let galley = message_galley(ui, theme, message, rect.width());
            let at = pos2(rect.left() + space::M, top + space::M);
            super::markdown::paint_selectable(ui, id.with("message"), at, &galley);
        }
        if rows_height > 0.0 {
            let area = Rect::from_min_size(
                pos2(rect.left() + 1.0, rows_top + 1.0),
                vec2(rect.width() - 2.0, rows_height - 1.0),
            );
            self.body.rows.draw(ui, theme, look.highlighter, id.with("rows"), area, self.body.is_growing);
        }
        let footer = Rect::from_min_max(pos2(rect.left(), rows_top + rows_height), rect.max);
        ui.painter().hline(rect.x_range(), footer.top(), theme.line());
        self.draw_footer(ui, look, call, id, footer, intents);
    }

    fn draw_footer(
        &mut self,
        ui: &mut Ui,
        look: &CardLook<'_>,
        call: &CallView,
        id: Id,
        footer: Rect,
        intents: &mut Vec<Intent>,
    ) {
        let lang = look.lang;
        let record = &call.record;
        let inner = footer.shrink2(vec2(space::M, 0.0));
        let mut right = right_to_left(ui, id.with("actions"), inner);
        right.spacing_mut().item_spacing.x = space::XS;
        match record.status {
            CallStatus::Waiting => {
                if right.add(Button::secondary(lang.text("card-review"))).clicked() {
                    intents.push(Intent::ReviewCall(record.call.id.clone()));
                }
            }
            CallStatus::Running => {
                if right.add(Button::secondary(lang.text("card-stop")).icon(Icon::Square)).clicked() {
                    intents.push(Intent::StopCall(record.call.id.clone()));
                }
            }
            CallStatus::Succeeded => {
                draw_undo(&mut right, look, call, intents);
                let path = record.target.as_ref().filter(|_| has_file(&record.call.name)).map(PathBuf::from);
                if let Some(path) = path {
                    if right.add(Button::ghost(lang.text("card-show-in-folder")).small()).clicked() {
                        intents.push(Intent::ShowInFolder(path.clone()));
                    }
                    if right.add(Button::ghost(lang.text("card-open")).small()).clicked() {
                        intents.push(Intent::OpenFile(path));
                    }
                }
            }
            CallStatus::Unknown => draw_undo(&mut right, look, call, intents),
            CallStatus::Pending | CallStatus::Failed | CallStatus::Denied | CallStatus::Cancelled => {}
        }
        if self.body.has_text() && right.add(Button::ghost(lang.text("copy")).small()).clicked() {
            intents.push(Intent::CopyText(body::copied(call, lang, self.shows_arguments)));
        }
        let rule = record.grounds.rule.as_ref().and_then(|id| look.rules.intact.iter().find(|rule| rule.id == *id));
        if let Some(rule) = rule {
            let sentence = sentence::scope(lang, &rule.scope, None);
            let name = lang.format("panel-revoke-name", &[("rule", sentence.as_str().into())]);
            let revoke = Button::ghost(lang.text("card-revoke-rule")).small().name(&name);
            if right.add(revoke).on_hover_text(sentence.as_str()).clicked() {
                intents.push(Intent::RevokeRule(rule.id.clone()));
            }
        }
        let key = if self.shows_arguments { "card-hide-arguments" } else { "card-arguments" };
        if right.add(Button::ghost(lang.text(key)).small()).clicked() {
            self.shows_arguments = !self.shows_arguments;
        }
        let left_end = right.min_rect().left();
        let facts = Rect::from_min_max(inner.min, pos2(left_end - space::S, inner.max.y));
        let mut left = ui.new_child(
            UiBuilder::new().id_salt(id.with("facts")).max_rect(facts).layout(Layout::left_to_right(Align::Center)),
        );
        if let Some((added, removed)) = self.body.change {
            left.add(Badge::new(&format!("+{added} −{removed}"), Tone::Warn));
        }
        let text = self.body.facts.join(" · ");
        let color = look.theme.colors.dim;
        let room = left.available_width().max(20.0);
        let galley = line_of_text(&left, look.theme, &text, Type::Meta, color, room);
        let (place, response) = left.allocate_exact_size(galley.size(), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &text));
        let is_cut = galley.elided;
        left.painter().galley(place.min, galley, color);
        if is_cut {
            response.on_hover_text(text);
        }
    }
}

/// The header, and what was masked.
fn top_height(call: &CallView) -> f32 {
    size::CARD_HEADER + if call.masked.is_empty() { 0.0 } else { masked::STRIP }
}

/// The way back, or forth again; or why there is none.
fn draw_undo(ui: &mut Ui, look: &CardLook<'_>, call: &CallView, intents: &mut Vec<Intent>) {
    let (direction, key) = match call.undo {
        Some(UndoState::Begun | UndoState::Done | UndoState::Redone) => (UndoDirection::Undo, "undo-undo"),
        Some(UndoState::Undone) => (UndoDirection::Redo, "undo-redo"),
        Some(UndoState::Void | UndoState::Stale | UndoState::Altered) | None => return,
    };
    if ui.add(Button::secondary(look.lang.text(key)).icon(icon_of(direction)).small()).clicked() {
        let scope = UndoScope::Call { session: call.record.session.clone(), call: call.record.call.id.clone() };
        intents.push(Intent::PlanUndo { scope, direction });
    }
}

fn has_file(tool: &str) -> bool {
    matches!(tool, "read_file" | "write_file" | "edit_file" | "create_directory" | "list_directory")
}

/// Who tells of a call that nothing is known of here: what its card says is that one's word.
pub fn teller_key(record: &CallRecord) -> Option<&'static str> {
    if record.session.is_on_server() {
        // What really came to this computer stands in its own list of calls; a chat is what its server makes of it.
        Some("card-by-server")
    } else {
        record.grounds.is_imported.then_some("card-by-import")
    }
}

fn state_words(look: &CardLook<'_>, call: &CallView, key: &'static str) -> String {
    let record = &call.record;
    let lang = look.lang;
    if matches!(call.undo, Some(UndoState::Undone)) {
        return lang.text("undo-state-undone").to_owned();
    }
    match record.status {
        CallStatus::Running => {
            let since = record.started_at.unwrap_or(record.created_at);
            quantity::whole_seconds(lang, look.now.since(since))
        }
        CallStatus::Succeeded => {
            record.result.as_ref().map_or_else(String::new, |result| quantity::duration(lang, result.duration_ms))
        }
        CallStatus::Pending
        | CallStatus::Waiting
        | CallStatus::Failed
        | CallStatus::Denied
        | CallStatus::Cancelled
        | CallStatus::Unknown => lang.text(key).to_owned(),
    }
}

fn message_galley(ui: &Ui, theme: &Theme, message: &str, width: f32) -> std::sync::Arc<egui::Galley> {
    let mut job =
        egui::text::LayoutJob::single_section(message.to_owned(), theme.format(Type::Control, theme.colors.text));
    job.wrap.max_width = width - 2.0 * space::M;
    ui.fonts_mut(|fonts| fonts.layout_job(job))
}

fn right_to_left(ui: &mut Ui, id: Id, rect: Rect) -> Ui {
    ui.new_child(UiBuilder::new().id_salt(id).max_rect(rect).layout(Layout::right_to_left(Align::Center)))
}

/// A text at a place, in one colour.
pub fn paint_line(ui: &Ui, theme: &Theme, at: Pos2, text: &str, kind: Type, color: Color32) {
    let galley = line_of_text(ui, theme, text, kind, color, f32::INFINITY);
    let place = Align2::LEFT_CENTER.anchor_size(at, galley.size());
    ui.painter().galley(place.min, galley, color);
}

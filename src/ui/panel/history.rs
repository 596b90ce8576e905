//! What was changed in the open chat, newest first, with each change as a diff and the way back.

use egui::{
    Align, CornerRadius, Frame, Id, Label, Layout, Margin, Panel as EguiPanel, Rect, ScrollArea, Sense, Ui, vec2,
};

use crate::app::Intent;
use crate::ir::{Preview, UndoDirection, UndoEntry, UndoScope};
use crate::lang::Arg;
use crate::ui::card::Rows;
use crate::ui::card::diff;
use crate::ui::icon::Icon;
use crate::ui::modal::undo::icon_of;
use crate::ui::scene::{Scene, ViewState};
use crate::ui::sentence;
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{Button, IconButton, at_right, follow_focus, hover_name, line_of_text};

const WIDTH: f32 = 400.0;
/// Highest diff before it scrolls by itself, in points.
const DIFF_LIMIT: f32 = 260.0;
/// Rows of an open diff that are made; what is more is in the preview of its undo.
const MOST_ROWS: usize = 4_000;

/// The open diffs as rows, made once.
#[derive(Debug, Default)]
pub struct HistoryView {
    rows: std::collections::HashMap<crate::ir::UndoId, Rows>,
}

impl HistoryView {
    /// Makes the rows of diffs that have come, and lets go of those that are closed.
    pub fn prepare(&mut self, history: &crate::app::undo::History) {
        self.rows.retain(|entry, _| history.open.contains(entry) && history.previews.contains_key(entry));
        for (entry, preview) in &history.previews {
            if !self.rows.contains_key(entry) {
                self.rows.insert(entry.clone(), rows_of(entry.as_str(), preview));
            }
        }
    }
}

fn rows_of(key: &str, preview: &Preview) -> Rows {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let has_signs = matches!(preview, Preview::Diff { .. });
    let mut rows = Rows::new(hasher.finish(), "", has_signs);
    match preview {
        Preview::Diff { lines, .. } => lines.iter().take(MOST_ROWS).for_each(|line| diff::push(&mut rows, line)),
        Preview::NewFile { content } => {
            for (number, line) in (1..).zip(content.lines().take(MOST_ROWS)) {
                rows.push_line(line, Some(number), crate::ui::card::RowTag::Added);
            }
        }
        Preview::Tree { entries, .. } => {
            for entry in entries.iter().take(MOST_ROWS) {
                let icon = if entry.is_folder { Icon::Folder } else { Icon::File };
                rows.push_entry(icon, entry.path.clone(), String::new());
            }
        }
        Preview::Nothing | Preview::Command(_) => {}
    }
    rows
}

/// Draws the panel at the right.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    EguiPanel::right("history panel")
        .exact_size(WIDTH)
        .resizable(false)
        .frame(Frame::NONE.fill(scene.theme.colors.sidebar))
        .show_separator_line(true)
        .show(ui, |ui| {
            Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
                ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
                content(ui, scene, view);
            });
        });
}

fn content(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let theme = scene.theme;
    let colors = theme.colors;
    ui.horizontal(|ui| {
        let key = if scene.state.history.path.is_some() { "undo-history-of" } else { "undo-history" };
        let title = scene.lang.text(key);
        let response = ui.label(theme.rich(title, Type::ControlStrong, colors.text));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Heading, true, title));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.add(IconButton::new(Icon::X, scene.lang.text("window-close")).small()).clicked() {
                scene.push(Intent::ClosePanel);
            }
        });
    });
    ui.add_space(space::S);
    let days = scene
        .lang
        .format("undo-history-line", &[("days", Arg::from(scene.state.settings.safety.undo_days.to_string()))]);
    ui.add(Label::new(theme.rich(days, Type::Meta, colors.dim)).wrap());
    ui.add_space(space::M);
    let Some(open) = scene.state.shown() else { return };
    let only = scene.state.history.path.clone();
    let entries: Vec<&UndoEntry> =
        open.changes().rev().filter(|entry| only.as_ref().is_none_or(|path| entry.shown_path() == *path)).collect();
    let session = open.session.id.clone();
    let can_undo = entries.iter().any(|entry| entry.can_undo());
    let mut intents = Vec::new();
    ui.horizontal(|ui| {
        if only.is_some() && ui.add(Button::ghost(scene.lang.text("undo-history-all")).small()).clicked() {
            intents.push(Intent::ShowHistory(None));
        }
        let all = Button::secondary(scene.lang.text("undo-session")).icon(Icon::Undo).small();
        if only.is_none() && can_undo && ui.add(all).clicked() {
            let scope = UndoScope::Session { session };
            intents.push(Intent::PlanUndo { scope, direction: UndoDirection::Undo });
        }
    });
    ui.add_space(space::M);
    if entries.is_empty() {
        ui.add(Label::new(theme.rich(scene.lang.text("undo-history-empty"), Type::Control, colors.dim)).wrap());
    }
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        for entry in entries {
            change(ui, scene, view, entry, &mut intents);
        }
        follow_focus(ui);
    });
    for intent in intents {
        scene.push(intent);
    }
}

fn change(ui: &mut Ui, scene: &Scene<'_>, view: &mut ViewState, entry: &UndoEntry, intents: &mut Vec<Intent>) {
    let theme = scene.theme;
    let colors = theme.colors;
    let lang = scene.lang;
    let is_open = scene.state.history.open.contains(&entry.id);
    let path = crate::policy::escape_name(&entry.place.path, false).into_owned();
    Frame::NONE
        .fill(colors.background)
        .stroke(theme.line())
        .corner_radius(CornerRadius::same(radius::CARD))
        .inner_margin(Margin { left: 10, right: 8, top: 8, bottom: 8 })
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 20.0), Sense::click());
            let name = lang.format("undo-history-show", &[("path", Arg::from(path.as_str()))]);
            response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, is_open, name.as_str()));
            let chevron = if is_open { Icon::ChevronDown } else { Icon::ChevronRight };
            let color = if response.hovered() || response.has_focus() { colors.text } else { colors.dim };
            chevron.paint_at(ui.painter(), egui::pos2(rect.left() + 6.0, rect.center().y), size::SMALL_ICON, color);
            let galley = line_of_text(ui, theme, &path, Type::Mono, colors.text, rect.width() - 20.0);
            let at = egui::pos2(rect.left() + 20.0, rect.center().y - galley.size().y / 2.0);
            ui.painter().galley(at, galley, colors.text);
            if response.on_hover_text(hover_name(&entry.shown_path())).clicked() {
                intents.push(Intent::ToggleHistory(entry.id.clone()));
            }
            ui.add_space(space::XS);
            ui.horizontal(|ui| {
                let what = lang.text(entry.operation.text_key());
                let facts = format!("{what} · {}", lang.text(entry.state.text_key()));
                ui.label(theme.rich(facts, Type::Meta, colors.dim));
                at_right(ui, "ways", |ui| {
                    if scene.state.history.path.is_none()
                        && ui.add(Button::ghost(lang.text("undo-this-file")).small()).clicked()
                    {
                        intents.push(Intent::ShowHistory(Some(entry.shown_path())));
                    }
                    let direction = if entry.can_undo() {
                        Some((UndoDirection::Undo, "undo-undo"))
                    } else if entry.can_redo() {
                        Some((UndoDirection::Redo, "undo-redo"))
                    } else {
                        None
                    };
                    if let Some((direction, key)) = direction
                        && ui.add(Button::secondary(lang.text(key)).icon(icon_of(direction)).small()).clicked()
                    {
                        let scope = UndoScope::Entry { id: entry.id.clone() };
                        intents.push(Intent::PlanUndo { scope, direction });
                    }
                });
            });
            if is_open {
                draw_diff(ui, scene, view, entry);
            }
        });
    ui.add_space(space::S);
}

fn draw_diff(ui: &mut Ui, scene: &Scene<'_>, view: &mut ViewState, entry: &UndoEntry) {
    let notes = scene.state.history.previews.get(&entry.id).map_or(&[][..], Preview::notes);
    for note in notes {
        ui.add_space(space::XS);
        let words = sentence::change_note(scene.lang, note);
        ui.add(Label::new(scene.theme.rich(words.as_str(), Type::Meta, scene.theme.colors.warn)).wrap());
    }
    let (Some(rows), Some(transcript)) = (view.history.rows.get(&entry.id), &mut view.transcript) else { return };
    if rows.is_empty() {
        return;
    }
    ui.add_space(space::S);
    let height = rows.height(scene.theme, DIFF_LIMIT);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL), scene.theme.colors.code);
    let inner = Rect::from_min_max(rect.min + vec2(1.0, 1.0), rect.max - vec2(1.0, 1.0));
    rows.draw(ui, scene.theme, transcript.highlighter(), Id::unique(("history", entry.id.as_str())), inner, false);
}

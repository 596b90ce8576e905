//! What an undo would change, before it is carried out; and the three ways on where somebody changed a file since.
//!
//! *Cancel* has the keyboard: a reflex changes nothing.

use egui::{
    Align, CornerRadius, Frame, Id, Key, Label, Layout, Margin, Modifiers, Role, ScrollArea, Sense, Ui, WidgetInfo,
    pos2, vec2,
};

use crate::app::Intent;
use crate::app::preview::PreviewRows;
use crate::app::undo::UndoQuestion;
use crate::ir::{Preview, UndoAction, UndoChoice, UndoDirection, UndoPlan, UndoStep};
use crate::lang::Arg;
use crate::ui::dialog::{Dialog, offer_focus};
use crate::ui::highlight::Highlighter;
use crate::ui::icon::Icon;
use crate::ui::safe_text::safe;
use crate::ui::scene::{Scene, ViewState};
use crate::ui::sentence;
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{Button, MenuRow, Spinner, line_of_text};

use super::preview;
use super::preview_color::PreviewColors;

const WIDTH: f32 = 700.0;
/// Steps that are seen at once; the others scroll.
const SEEN_STEPS: f32 = 5.0;
/// Rows are made from this many bytes a frame.
const PART_BYTES: usize = 192 * 1024;

/// What the modal remembers of the question that it shows.
#[derive(Debug, Default)]
pub struct UndoView {
    shown: u64,
    /// Which step's which change the rows and colours are of.
    of: Option<(usize, bool)>,
    rows: Option<PreviewRows>,
    colors: PreviewColors,
    columns: usize,
}

impl UndoView {
    /// Makes more rows of the shown step; gives whether more are due.
    pub fn prepare(&mut self, question: Option<&UndoQuestion>, highlighter: Option<&mut Highlighter>) -> bool {
        let Some(question) = question else {
            *self = Self { columns: self.columns, ..Self::default() };
            return false;
        };
        if self.shown != question.revision {
            *self = Self { shown: question.revision, columns: self.columns, ..Self::default() };
        }
        let Some(preview) = shown_preview(question) else { return false };
        let columns = if self.columns == 0 { 80 } else { self.columns };
        let rows = match self.rows.take() {
            Some(rows) if rows.columns() == columns => self.rows.insert(rows),
            Some(_) | None => self.rows.insert(PreviewRows::new(columns)),
        };
        rows.advance(preview, PART_BYTES);
        let is_due = !rows.is_complete;
        let of = (question.shown_step, question.shows_change_since);
        if self.of != Some(of) {
            let path = shown_step(question).map_or("", |step| step.path.as_str());
            self.colors = PreviewColors::new(preview, path, &(question.revision, of));
            self.of = Some(of);
        }
        if let Some(highlighter) = highlighter {
            highlighter.poll();
            self.colors.take(highlighter);
        }
        is_due
    }
}

fn shown_step(question: &UndoQuestion) -> Option<&UndoStep> {
    question.plan.as_ref()?.steps.get(question.shown_step)
}

fn shown_preview(question: &UndoQuestion) -> Option<&Preview> {
    let step = shown_step(question)?;
    Some(if question.shows_change_since { &step.changed_since } else { &step.preview })
}

/// Draws the question while it waits.
pub fn show(ui: &Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let Some(question) = &scene.state.undo else { return };
    let theme = scene.theme;
    let mut intents = Vec::new();
    super::show(ui, theme, Dialog::Undo, WIDTH, |ui| {
        let (title, go) = match question.direction {
            UndoDirection::Undo => ("undo-title-undo", "undo-go-undo"),
            UndoDirection::Redo => ("undo-title-redo", "undo-go-redo"),
        };
        let count = question.plan.as_ref().map_or(1, |plan| plan.steps.len());
        let title = scene.lang.format(title, &[("count", Arg::from(count))]);
        super::head(ui, theme, &title, scene.lang.text(line_key(question.plan.as_ref())));
        super::body(ui, Dialog::Undo, question.revision, |ui, room| {
            Frame::NONE.inner_margin(Margin { left: 20, right: 20, top: 4, bottom: 12 }).show(ui, |ui| {
                let Some(plan) = &question.plan else {
                    ui.add(Spinner::new(scene.lang.text("undo-planning")).diameter(20.0));
                    return;
                };
                let top = ui.cursor().top();
                if plan.changes_what_is_executed() {
                    let text = scene.lang.text("undo-executed-later");
                    ui.add(Label::new(theme.rich(text, Type::Control, theme.colors.bad)).wrap());
                    ui.add_space(space::S);
                }
                steps(ui, scene, question, plan, &mut intents);
                if let Some(step) = shown_step(question) {
                    conflict(ui, scene, question, step, &mut intents);
                    let left = room - (ui.cursor().top() - top) - 16.0;
                    content(ui, scene, question, step, &mut view.undo, left);
                }
            });
        });
        super::foot(ui, theme, |ui| {
            let cancel = ui.add(Button::secondary(scene.lang.text("undo-cancel")).shortcut("Esc"));
            offer_focus(ui, scene.top, Dialog::Undo, &cancel);
            if cancel.clicked() || scene.take_key(ui, Dialog::Undo, Modifiers::NONE, Key::Escape) {
                intents.push(Intent::CancelUndo);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let button =
                    Button::primary(scene.lang.text(go)).icon(icon_of(question.direction)).busy(question.is_applying);
                if ui.add(button.disabled(!question.does_anything())).clicked() {
                    intents.push(Intent::ConfirmUndo);
                }
            });
        });
    });
    for intent in intents {
        scene.push(intent);
    }
}

fn line_key(plan: Option<&UndoPlan>) -> &'static str {
    match plan {
        Some(plan) if plan.is_changed => "undo-line-changed",
        Some(plan) if plan.steps.iter().any(|step| matches!(step.action, UndoAction::Conflict { .. })) => {
            "undo-line-conflict"
        }
        Some(_) => "undo-line",
        None => "undo-planning",
    }
}

/// The sign of a direction.
pub fn icon_of(direction: UndoDirection) -> Icon {
    match direction {
        UndoDirection::Undo => Icon::Undo,
        UndoDirection::Redo => Icon::Redo,
    }
}

fn action_key(action: UndoAction, direction: UndoDirection) -> &'static str {
    match action {
        UndoAction::Restore => match direction {
            UndoDirection::Undo => "undo-action-restore",
            UndoDirection::Redo => "redo-action-restore",
        },
        UndoAction::Remove => "undo-action-remove",
        UndoAction::RemoveIfEmpty => "undo-action-remove-if-empty",
        UndoAction::Nothing => "undo-action-nothing",
        UndoAction::Conflict { .. } => "undo-action-conflict",
        UndoAction::Follows => "undo-action-follows",
        UndoAction::Gone => "undo-action-gone",
        UndoAction::Refused => "undo-action-refused",
    }
}

/// The steps, one row each.
fn steps(ui: &mut Ui, scene: &Scene<'_>, question: &UndoQuestion, plan: &UndoPlan, intents: &mut Vec<Intent>) {
    let colors = scene.theme.colors;
    let height = (plan.steps.len() as f32).min(SEEN_STEPS) * size::ROW;
    ui.allocate_ui(vec2(ui.available_width(), height), |ui| {
        ui.set_min_height(height);
        let area = ScrollArea::vertical()
            .id_salt("undo steps")
            .auto_shrink(false)
            .max_height(height)
            .min_scrolled_height(height);
        area.show_rows(ui, size::ROW, plan.steps.len(), |ui, range| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for index in range {
                let Some(step) = plan.steps.get(index) else { continue };
                let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::click());
                let words = scene.lang.text(action_key(step.action, question.direction));
                let path = crate::policy::escape_name(&step.path, false);
                let is_shown = index == question.shown_step;
                response
                    .widget_info(|| WidgetInfo::selected(Role::ListItem, true, is_shown, format!("{path}, {words}")));
                if plan.steps.len() > 1 && (is_shown || response.hovered() || response.has_focus()) {
                    ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL), colors.hover);
                }
                let is_bad =
                    matches!(step.action, UndoAction::Conflict { .. } | UndoAction::Gone | UndoAction::Refused);
                let color = if is_bad { colors.warn } else { colors.dim };
                let icon = if is_bad { Icon::TriangleAlert } else { icon_of(question.direction) };
                let middle = rect.center().y;
                icon.paint_at(ui.painter(), pos2(rect.left() + 12.0, middle), size::SMALL_ICON, color);
                let facts = line_of_text(ui, scene.theme, words, Type::Meta, color, rect.width() * 0.5);
                let x = rect.right() - space::S - facts.size().x;
                let name = line_of_text(ui, scene.theme, &path, Type::Mono, colors.text, x - rect.left() - 34.0);
                ui.painter().galley(pos2(rect.left() + 26.0, middle - name.size().y / 2.0), name, colors.text);
                ui.painter().galley(pos2(x, middle - facts.size().y / 2.0), facts, color);
                if response.clicked() {
                    let shows_change_since = matches!(step.action, UndoAction::Conflict { .. });
                    intents.push(Intent::ShowUndoStep { step: index, shows_change_since });
                }
            }
        });
    });
    ui.add_space(space::S);
}

/// The three ways on.
fn conflict(ui: &mut Ui, scene: &Scene<'_>, question: &UndoQuestion, step: &UndoStep, intents: &mut Vec<Intent>) {
    let UndoAction::Conflict { can_save_beside } = step.action else { return };
    let lang = scene.lang;
    let chosen = question.choice(&step.entry);
    let (put_back, save_beside) = match question.direction {
        UndoDirection::Undo => ("undo-choice-put-back", "undo-choice-save-beside"),
        UndoDirection::Redo => ("redo-choice-put-back", "redo-choice-save-beside"),
    };
    let mut choices = vec![
        (UndoChoice::Keep, "undo-choice-keep", ""),
        // Where no version could lie beside it, the other state is that there is nothing.
        if can_save_beside {
            (UndoChoice::PutBack, put_back, "undo-choice-put-back-detail")
        } else {
            (UndoChoice::PutBack, "undo-choice-remove", "undo-choice-put-back-detail")
        },
    ];
    if can_save_beside {
        choices.push((UndoChoice::SaveBeside, save_beside, ""));
    }
    for (choice, key, detail) in choices {
        let row = MenuRow::new(lang.text(key)).checked(choice == chosen);
        let row = if detail.is_empty() { row } else { row.detail(lang.text(detail)) };
        if ui.add(row).clicked() {
            intents.push(Intent::ChooseUndo { entry: step.entry.clone(), choice });
        }
    }
    ui.add_space(space::XS);
    ui.horizontal(|ui| {
        for (shows_change_since, key) in [(true, "undo-show-change-since"), (false, "undo-show-step")] {
            let is_on = question.shows_change_since == shows_change_since;
            let button = if is_on { Button::secondary(lang.text(key)) } else { Button::ghost(lang.text(key)) };
            if ui.add(button.small()).clicked() {
                intents.push(Intent::ShowUndoStep { step: question.shown_step, shows_change_since });
            }
        }
    });
    ui.add_space(space::XS);
}

/// The preview, whole.
fn content(ui: &mut Ui, scene: &Scene<'_>, question: &UndoQuestion, step: &UndoStep, view: &mut UndoView, room: f32) {
    let theme = scene.theme;
    if let (UndoAction::Refused, Preview::NewFile { content }) = (step.action, &step.preview) {
        ui.add(Label::new(safe(theme, content, Type::Control, theme.colors.text)).wrap());
        return;
    }
    let notes = shown_preview(question).map_or(&[][..], Preview::notes);
    for note in notes {
        let words = sentence::change_note(scene.lang, note);
        ui.add(Label::new(theme.rich(words.as_str(), Type::Control, theme.colors.warn)).wrap());
    }
    let columns = preview::columns_for(ui, theme, ui.available_width());
    if columns != view.columns {
        view.columns = columns;
        ui.ctx().request_repaint();
    }
    let (Some(shown), Some(rows)) = (shown_preview(question), view.rows.as_ref().filter(|rows| !rows.rows.is_empty()))
    else {
        return;
    };
    let most = room.clamp(96.0, 440.0);
    let height = preview::height_of(theme, rows.rows.len()).min(most);
    let name = scene.lang.text("undo-preview");
    preview::show(
        ui,
        theme,
        shown,
        (rows, &view.colors),
        &preview::Surface { id: Id::unique(("undo preview", view.shown, view.of)), name, height, jump: None },
    );
}

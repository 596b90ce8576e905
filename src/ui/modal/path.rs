//! A typed path, with completion: where there is no dialog, or on choice.

use egui::{CornerRadius, Frame, Id, Key, Margin, Modifiers, ScrollArea, Sense, Ui, vec2};

use crate::app::Intent;
use crate::ui::dialog::{Dialog, offer_focus};
use crate::ui::icon::Icon;
use crate::ui::scene::{Scene, ViewState};
use crate::ui::task;
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{Button, TextField, line_of_text};

/// Draws the field while a path is asked for.
pub fn show(ui: &Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let Some(entry) = &scene.state.path else {
        view.path.clear();
        return;
    };
    let theme = scene.theme;
    let field_id = Id::unique("typed path");
    if view.path.is_empty() && !entry.text.is_empty() {
        view.path.clone_from(&entry.text);
    }
    super::show(ui, theme, Dialog::Path, 560.0, |ui| {
        let line = scene.lang.text(if entry.is_without_dialog { "path-no-dialog" } else { "path-typed" });
        super::head(ui, theme, scene.lang.text(task::dialog_title(&entry.purpose)), line);
        Frame::NONE.inner_margin(Margin { left: 20, right: 20, top: 4, bottom: 12 }).show(ui, |ui| {
            let width = ui.available_width();
            let name = scene.lang.text("path-field");
            if ui.memory(|memory| memory.has_focus(field_id)) {
                let is_filled = scene.take_key(ui, Dialog::Path, Modifiers::NONE, Key::ArrowRight)
                    && is_at_end(ui, field_id, &view.path);
                if let Some(first) = entry.paths.first().filter(|_| is_filled) {
                    fill(ui, field_id, &mut view.path, first, scene.outbox);
                }
            }
            let field = TextField::new(&mut view.path, name)
                .hint(scene.lang.text("path-hint"))
                .mono()
                .width(width)
                .id(field_id);
            let response = ui.add(field);
            if !response.lost_focus() {
                offer_focus(ui, scene.top, Dialog::Path, &response);
            }
            if response.changed() {
                scene.outbox.push_back(Intent::EditPath(view.path.clone()));
            }
            if response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) {
                scene.outbox.push_back(Intent::SubmitPath);
            }
            ui.add_space(space::XS);
            let shown = 6.0 * size::ROW;
            ui.allocate_ui(vec2(width, shown), |ui| {
                ui.set_height(shown);
                ScrollArea::vertical().auto_shrink(false).max_height(shown).show_rows(
                    ui,
                    size::ROW,
                    entry.paths.len(),
                    |ui, range| {
                        for path in entry.paths.get(range).unwrap_or_default() {
                            if choice(ui, scene, path) {
                                fill(ui, field_id, &mut view.path, path, scene.outbox);
                            }
                        }
                    },
                );
            });
        });
        super::foot(ui, theme, |ui| {
            let cancel = ui.add(Button::secondary(scene.lang.text("window-cancel")).shortcut("Esc"));
            if cancel.clicked() || scene.take_key(ui, Dialog::Path, Modifiers::NONE, Key::Escape) {
                scene.push(Intent::CancelPath);
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let is_empty = view.path.trim().is_empty();
                let go = Button::primary(scene.lang.text("path-use")).shortcut("⏎").disabled(is_empty);
                if ui.add(go).clicked() {
                    scene.push(Intent::SubmitPath);
                }
            });
        });
    });
}

fn is_at_end(ui: &Ui, id: Id, text: &str) -> bool {
    egui::TextEdit::load_state(ui.ctx(), id)
        .and_then(|state| state.cursor.char_range())
        .is_none_or(|range| range.primary.index.0 >= text.chars().count())
}

fn fill(ui: &Ui, id: Id, text: &mut String, path: &str, outbox: &mut std::collections::VecDeque<Intent>) {
    path.clone_into(text);
    let mut state = egui::TextEdit::load_state(ui.ctx(), id).unwrap_or_default();
    let end = egui::text::CCursor::new(text.chars().count());
    state.cursor.set_char_range(Some(egui::text::CCursorRange::one(end)));
    egui::TextEdit::store_state(ui.ctx(), id, state);
    ui.memory_mut(|memory| memory.request_focus(id));
    outbox.push_back(Intent::EditPath(text.clone()));
}

fn choice(ui: &mut Ui, scene: &Scene<'_>, path: &str) -> bool {
    let colors = scene.theme.colors;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ListItem, true, path));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL - 2), colors.hover);
    }
    let center = egui::pos2(rect.left() + space::S + 7.0, rect.center().y);
    Icon::Folder.paint_at(ui.painter(), center, size::SMALL_ICON, colors.dim);
    let galley = line_of_text(ui, scene.theme, path, Type::Mono, colors.text, rect.width() - 40.0);
    let place = egui::pos2(rect.left() + 30.0, rect.center().y - galley.size().y / 2.0);
    ui.painter().galley(place, galley, colors.text);
    response.clicked()
}

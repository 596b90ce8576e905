//! Every action, chat and model by name (Ctrl+K).

use std::borrow::Cow;

use egui::{CornerRadius, Frame, Id, Key, Margin, Modifiers, ScrollArea, Sense, Ui, vec2};

use crate::app::rows::{Label, PaletteKind, PaletteRow};
use crate::app::{Intent, Panel};
use crate::ui::dialog::Dialog;
use crate::ui::icon::Icon;
use crate::ui::modal;
use crate::ui::scene::{Scene, ViewState, take_key};
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{Shortcut, TextField, line_of_text};

const WIDTH: f32 = 560.0;

/// Draws the palette while it is open.
pub fn show(ui: &Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    if scene.state.panel != Some(Panel::Palette) {
        view.palette.is_open = false;
        return;
    }
    if !view.palette.is_open {
        view.palette.query.clear();
        view.palette.highlighted = 0;
    }
    let theme = scene.theme;
    let is_composing = view.is_composing;
    let palette = &mut view.palette;
    let mut chosen = None;
    let mut closes = false;
    modal::show(ui, theme, Dialog::Palette, WIDTH, |ui| {
        Frame::NONE.inner_margin(Margin::same(12)).show(ui, |ui| {
            let mut found = matches(scene, &palette.query);
            let last = found.len().saturating_sub(1);
            let mut is_chosen = false;
            let leads = scene.leads(Dialog::Palette);
            if !is_composing && leads {
                if take_key(ui, Modifiers::NONE, Key::ArrowDown) {
                    palette.highlighted = (palette.highlighted + 1).min(last);
                }
                if take_key(ui, Modifiers::NONE, Key::ArrowUp) {
                    palette.highlighted = palette.highlighted.saturating_sub(1);
                }
                if take_key(ui, Modifiers::NONE, Key::Enter) {
                    is_chosen = true;
                }
                closes = take_key(ui, Modifiers::NONE, Key::Escape);
            }
            let name = scene.lang.text("palette-search");
            let field = TextField::new(&mut palette.query, name)
                .hint(name)
                .icon(Icon::Search)
                .width(ui.available_width())
                .id(Id::unique("palette query"));
            let response = ui.add(field);
            if leads && (!palette.is_open || !response.has_focus()) {
                response.request_focus();
                palette.is_open = true;
            }
            if response.changed() {
                palette.highlighted = 0;
                found = matches(scene, &palette.query);
            }
            // After the field has seen what was typed in the same frame.
            if is_chosen {
                chosen = found.get(palette.highlighted).map(|row| row.intent.clone());
            }
            ui.add_space(space::S);
            let height = 10.0 * size::ROW;
            ui.allocate_ui(vec2(ui.available_width(), height), |ui| {
                ui.set_min_height(height);
                if found.is_empty() {
                    ui.label(theme.rich(scene.lang.text("palette-nothing"), Type::Control, theme.colors.dim));
                    return;
                }
                ScrollArea::vertical().auto_shrink(false).max_height(height).show_rows(
                    ui,
                    size::ROW,
                    found.len(),
                    |ui, range| {
                        ui.spacing_mut().item_spacing.y = 0.0;
                        for index in range {
                            let Some(row) = found.get(index) else { continue };
                            if draw_row(ui, scene, row, index == palette.highlighted) {
                                chosen = Some(row.intent.clone());
                            }
                        }
                    },
                );
            });
        });
    });
    if let Some(intent) = chosen {
        scene.push(Intent::ClosePanel);
        scene.push(intent);
    } else if closes {
        scene.push(Intent::ClosePanel);
    }
}

fn label_of<'row>(scene: &'row Scene<'_>, row: &'row PaletteRow) -> Cow<'row, str> {
    match &row.label {
        Label::Key(key) => Cow::Borrowed(scene.lang.text(key)),
        Label::OfServer(key, server) => Cow::Owned(scene.filled(key, &[("server", server.clone())])),
        Label::OfPrompt(key, name) => Cow::Owned(scene.filled(key, &[("name", name.clone())])),
        Label::Text(text) => Cow::Borrowed(text),
    }
}

/// The rows whose name holds every word of the query.
fn matches<'rows>(scene: &'rows Scene<'_>, query: &str) -> Vec<&'rows PaletteRow> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let rows = scene.rows.palette.iter().filter(|row| {
        let name = label_of(scene, row).to_lowercase();
        words.iter().all(|word| name.contains(word))
    });
    rows.collect()
}

fn draw_row(ui: &mut Ui, scene: &Scene<'_>, row: &PaletteRow, is_highlighted: bool) -> bool {
    let colors = scene.theme.colors;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::CLICK);
    let name = label_of(scene, row);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::ListItem, true, is_highlighted, &*name));
    if is_highlighted || response.hovered() {
        ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL - 2), colors.hover);
    }
    if is_highlighted {
        response.scroll_to_me(None);
    }
    let icon = match row.kind {
        PaletteKind::Action => Icon::Command,
        PaletteKind::Session => Icon::MessageSquare,
        PaletteKind::Model => Icon::Cpu,
    };
    icon.paint_at(ui.painter(), egui::pos2(rect.left() + space::M, rect.center().y), size::SMALL_ICON, colors.dim);
    let galley = line_of_text(ui, scene.theme, &name, Type::Control, colors.text, rect.width() - 130.0);
    let place = egui::pos2(rect.left() + 32.0, rect.center().y - galley.size().y / 2.0);
    ui.painter().galley(place, galley, colors.text);
    if !row.keys.is_empty() {
        let area =
            egui::Rect::from_min_max(egui::pos2(rect.right() - 96.0, rect.top()), rect.right_bottom() - vec2(8.0, 0.0));
        let mut child = ui
            .new_child(egui::UiBuilder::new().max_rect(area).layout(egui::Layout::right_to_left(egui::Align::Center)));
        child.add(Shortcut(row.keys));
    }
    response.clicked()
}

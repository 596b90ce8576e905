//! The settings, one file a page. Every change applies at once.

use std::collections::HashMap;

use egui::{
    Align, CentralPanel, Color32, CornerRadius, Frame, Label, Layout, Margin, Panel as EguiPanel, Rect, Response,
    ScrollArea, Ui, UiBuilder, pos2, vec2,
};

use crate::app::{Intent, SettingsPage};

use super::icon::Icon;
use super::scene::{Scene, ViewState};
use super::theme::{Theme, Type, radius, space};
use super::widget::{Button, ListRow, Switch, TextField, at_right_of, dot, follow_focus};

mod about;
mod data;
mod general;
mod keys;
mod model_list;
mod models;
mod prompts;
pub(super) mod provider;
mod safety;
mod servers;
mod tools;

const NAV_WIDTH: f32 = 200.0;
const PAGE_WIDTH: f32 = 836.0;

/// What is half-typed in the fields of the pages, by setting.
#[derive(Debug, Default)]
pub struct SettingsView {
    fields: HashMap<&'static str, String>,
    provider: provider::ProviderView,
    /// The address of the proxy for all.
    proxy: Option<String>,
    models: model_list::ModelListView,
    server: servers::ServerView,
    prompt: Option<prompts::PromptView>,
}

/// Draws the settings in place of the main window.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let Some(page) = scene.state.settings_page else { return };
    let colors = scene.theme.colors;
    EguiPanel::left("settings pages")
        .exact_size(NAV_WIDTH)
        .resizable(false)
        .frame(Frame::NONE.fill(colors.sidebar).inner_margin(Margin { left: 8, right: 8, top: 12, bottom: 8 }))
        .show_separator_line(true)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
            let back = Button::ghost(scene.lang.text("settings-back")).icon(Icon::ArrowLeft).left_aligned();
            if ui.add(back.width(ui.available_width())).clicked() {
                scene.push(Intent::CloseSettings);
            }
            ui.add_space(space::S);
            ui.horizontal(|ui| {
                ui.add_space(space::M);
                ui.label(scene.theme.rich(scene.lang.text("settings-title"), Type::MetaMedium, colors.dim));
            });
            ui.add_space(space::XS);
            for other in SettingsPage::ALL {
                if ui.add(ListRow::new(scene.lang.text(other.key())).selected(other == page)).clicked() {
                    scene.push(Intent::OpenSettings(other));
                }
            }
        });
    CentralPanel::no_frame().frame(Frame::NONE.fill(colors.background)).show(ui, |ui| {
        ScrollArea::vertical().auto_shrink(false).id_salt(page).show(ui, |ui| {
            let width = (ui.available_width() - 64.0).min(PAGE_WIDTH);
            Frame::NONE.inner_margin(Margin { left: 32, right: 32, top: 24, bottom: 32 }).show(ui, |ui| {
                ui.set_width(width);
                ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
                draw_page(ui, scene, view, page);
            });
            follow_focus(ui);
        });
    });
}

fn draw_page(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState, page: SettingsPage) {
    match page {
        SettingsPage::General => general::show(ui, scene),
        SettingsPage::Models => models::show(ui, scene, &mut view.settings),
        SettingsPage::Tools => tools::show(ui, scene, &mut view.settings),
        SettingsPage::Safety => safety::show(ui, scene, &mut view.settings, &mut view.standing_rule),
        SettingsPage::Prompts => prompts::show(ui, scene, &mut view.settings),
        SettingsPage::Servers => servers::show(ui, scene, &mut view.settings),
        SettingsPage::Data => data::show(ui, scene),
        SettingsPage::Shortcuts => keys::show(ui, scene),
        SettingsPage::About => about::show(ui, scene),
    }
}

/// A page's title and the line below it.
fn title(ui: &mut Ui, scene: &Scene<'_>, title: &str, line: &str) {
    let colors = scene.theme.colors;
    let response = ui.label(scene.theme.rich(title, Type::PageTitle, colors.text));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Heading, true, title));
    ui.add_space(space::XS);
    ui.add(Label::new(scene.theme.rich(line, Type::Control, colors.dim)).wrap());
    ui.add_space(space::M);
}

/// A heading over a group.
fn heading(ui: &mut Ui, scene: &Scene<'_>, text: &str) {
    ui.add_space(space::XL);
    let response = ui.label(scene.theme.rich(text, Type::ControlStrong, scene.theme.colors.text));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Heading, true, text));
    ui.add_space(space::M);
}

/// A bordered list; `row` and its kin draw what is in it.
fn group(ui: &mut Ui, scene: &mut Scene<'_>, rows: impl FnOnce(&mut Ui, &mut Scene<'_>)) {
    let theme = scene.theme;
    Frame::NONE.stroke(theme.line()).corner_radius(CornerRadius::same(radius::MODAL)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
        ui.data_mut(|data| data.insert_temp(egui::Id::unique("settings row"), 0_usize));
        rows(ui, scene);
    });
}

/// One row: a name, a line of help, and the controls at the right, which are drawn as they are read.
fn row<R>(ui: &mut Ui, theme: &Theme, name: &str, help: &str, control: impl FnOnce(&mut Ui) -> R) -> R {
    draw_row(ui, theme, None, name, help, control)
}

/// The same with a dot in a state's colour before the words that say the state.
fn dotted_row<R>(
    ui: &mut Ui,
    theme: &Theme,
    color: Color32,
    name: &str,
    help: &str,
    control: impl FnOnce(&mut Ui) -> R,
) -> R {
    draw_row(ui, theme, Some(color), name, help, control)
}

fn draw_row<R>(
    ui: &mut Ui,
    theme: &Theme,
    mark: Option<Color32>,
    name: &str,
    help: &str,
    control: impl FnOnce(&mut Ui) -> R,
) -> R {
    let colors = &theme.colors;
    let count = ui.data_mut(|data| {
        let count = data.get_temp_mut_or_default::<usize>(egui::Id::unique("settings row"));
        *count += 1;
        *count
    });
    let top = ui.cursor().min;
    let width = ui.available_width();
    if count > 1 {
        ui.painter().hline(top.x..=top.x + width, top.y, theme.line());
    }
    let padding = vec2(14.0, 12.0);
    let id = ui.scope_id().with(("settings row", name));
    // What the words took in the last frame: the control stands in their middle.
    let known: f32 = ui.data(|data| data.get_temp(id)).unwrap_or(if help.is_empty() { 20.0 } else { 41.0 });
    let height = (known + 2.0 * padding.y).max(56.0);
    let place = Rect::from_min_size(top + vec2(padding.x, 0.0), vec2(width - 2.0 * padding.x, height));
    // The control first: the words take the room that it leaves.
    let (result, right) = at_right_of(ui, ("row", name), place, control);
    let mut left = top.x + padding.x;
    if let Some(color) = mark {
        dot(ui, pos2(left + 4.0, top.y + height / 2.0), color);
        left += 20.0;
    }
    let room = (right.left() - left - space::L).max(120.0);
    let words_rect = Rect::from_min_size(pos2(left, top.y + (height - known) / 2.0), vec2(room, 200.0));
    let mut words = ui.new_child(UiBuilder::new().max_rect(words_rect).layout(Layout::top_down(Align::Min)));
    words.spacing_mut().item_spacing.y = 1.0;
    words.add(Label::new(theme.rich(name, Type::ControlMedium, colors.text)).wrap());
    if !help.is_empty() {
        words.add(Label::new(theme.rich(help, Type::Control, colors.dim)).wrap());
    }
    let drawn = words.min_rect().height();
    if (drawn - known).abs() > 0.5 {
        ui.data_mut(|data| data.insert_temp(id, drawn));
        ui.ctx().request_discard("a row of the settings found its height");
    }
    ui.advance_cursor_after_rect(Rect::from_min_size(top, vec2(width, height)));
    result
}

/// Words below a group.
fn note(ui: &mut Ui, scene: &Scene<'_>, text: &str, color: Color32) {
    ui.add_space(space::S);
    ui.add(Label::new(scene.theme.rich(text, Type::Meta, color)).wrap());
}

/// A row with a switch for one setting.
fn switch_row(ui: &mut Ui, scene: &mut Scene<'_>, key: &'static str, name: &str, help: &str, value: bool) {
    let mut is_on = value;
    let changed = row(ui, scene.theme, name, help, |ui| ui.add(Switch::new(&mut is_on, name)).changed());
    if changed {
        scene.push(Intent::SetSetting { key, value: is_on.into() });
    }
}

/// A field for one setting: typed freely, kept while it is wrong, applied as soon as it is right.
fn field(
    ui: &mut Ui,
    view: &mut SettingsView,
    key: &'static str,
    name: &str,
    stored: &str,
    look: impl FnOnce(TextField<'_>) -> TextField<'_>,
) -> (Response, String) {
    let id = egui::Id::unique(("setting", key));
    let has_focus = ui.memory(|memory| memory.has_focus(id));
    let text = view.fields.entry(key).or_insert_with(|| stored.to_owned());
    if !has_focus && text.as_str() != stored {
        stored.clone_into(text);
    }
    let response = ui.add(look(TextField::new(text, name).id(id)));
    (response, text.clone())
}

/// A row with a whole number between two bounds.
#[expect(clippy::too_many_arguments, reason = "a row's own parts")]
fn number_row(
    ui: &mut Ui,
    scene: &mut Scene<'_>,
    view: &mut SettingsView,
    key: &'static str,
    name: &str,
    help: &str,
    value: u64,
    bounds: std::ops::RangeInclusive<u64>,
) {
    let stored = value.to_string();
    let theme = scene.theme;
    let is_wrong = view.fields.get(key).is_some_and(|text| parse_number(text, &bounds).is_none());
    let (response, typed) = row(ui, theme, name, help, |ui| {
        field(ui, view, key, name, &stored, |field| field.width(120.0).wrong(is_wrong))
    });
    if response.changed()
        && let Some(number) = parse_number(&typed, &bounds)
        && number != value
    {
        scene.push(Intent::SetSetting { key, value: number.into() });
    }
}

fn parse_number(text: &str, bounds: &std::ops::RangeInclusive<u64>) -> Option<u64> {
    let digits: String = text.chars().filter(|c| !matches!(c, ',' | ' ' | '_')).collect();
    digits.parse().ok().filter(|number| bounds.contains(number))
}

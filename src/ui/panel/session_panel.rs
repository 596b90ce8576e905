//! Folders, mode and rules of the open chat, at the right.

use std::path::PathBuf;

use egui::{Align, Frame, Label, Layout, Margin, Panel as EguiPanel, ScrollArea, Ui, vec2};

use crate::app::rows::{bytes, short_path};
use crate::app::{Intent, PathPurpose, SettingsPage};
use crate::lang::Arg;
use crate::policy::{Rule, one_line_name};
use crate::ui::icon::Icon;
use crate::ui::panel::composer::{MODES, mode_key};
use crate::ui::rule::{self, form::Makes};
use crate::ui::scene::{Scene, ViewState};
use crate::ui::theme::{Type, size, space};
use crate::ui::widget::{
    Badge, Button, IconButton, MenuRow, Select, Switch, Tone, follow_focus, hover_name, line_of_text,
};

/// Characters of a host's name.
const LONGEST_HOST: usize = 260;
const WIDTH: f32 = 320.0;

/// Draws the panel at the right.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    EguiPanel::right("session panel")
        .exact_size(WIDTH)
        .resizable(false)
        .frame(Frame::NONE.fill(scene.theme.colors.sidebar))
        .show_separator_line(true)
        .show(ui, |ui| {
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
                    ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
                    content(ui, scene, view);
                });
                follow_focus(ui);
            });
        });
}

fn content(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    ui.horizontal(|ui| {
        let color = scene.theme.colors.text;
        ui.label(scene.theme.rich(scene.lang.text("panel-title"), Type::ControlStrong, color));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.add(IconButton::new(Icon::X, scene.lang.text("window-close")).small()).clicked() {
                scene.push(Intent::ClosePanel);
            }
        });
    });
    let Some(session) = scene.state.current().cloned() else { return };
    heading(ui, scene, "panel-folders");
    if session.folders.is_empty() {
        hint(ui, scene, "panel-no-folders");
    }
    for (index, folder) in session.folders.iter().enumerate() {
        ui.horizontal(|ui| {
            let short = short_path(folder, scene.home);
            let room = ui.available_width() - 32.0 - if index == 0 { 64.0 } else { 0.0 };
            let galley = line_of_text(ui, scene.theme, &short, Type::Mono, scene.theme.colors.text, room);
            let (rect, response) = ui.allocate_exact_size(vec2(room, size::CHIP), egui::Sense::hover());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, short.as_str()));
            let place = egui::pos2(rect.left(), rect.center().y - galley.size().y / 2.0);
            ui.painter().galley(place, galley, scene.theme.colors.text);
            response.on_hover_text(hover_name(folder));
            if index == 0 {
                ui.add(Badge::new(scene.lang.text("panel-first-folder"), Tone::Neutral))
                    .on_hover_text(scene.lang.text("panel-first-folder-detail"));
            }
            let name = scene.lang.format("panel-remove-folder", &[("folder", Arg::from(short.as_str()))]);
            if ui.add(IconButton::new(Icon::X, &name).small()).clicked() {
                scene.push(Intent::RemoveFolder(folder.clone()));
            }
        });
    }
    ui.add_space(space::S);
    ui.horizontal(|ui| {
        if ui.add(Button::secondary(scene.lang.text("panel-add-folder")).icon(Icon::Plus).small()).clicked() {
            scene.push(Intent::PickPath(PathPurpose::SessionFolder));
        }
        if ui.add(Button::ghost(scene.lang.text("panel-type-folder")).small()).clicked() {
            scene.push(Intent::TypePath(PathPurpose::SessionFolder));
        }
    });

    heading(ui, scene, "panel-mode");
    let width = ui.available_width();
    let select = Select::new(scene.lang.text(mode_key(session.mode)), scene.lang.text("panel-mode")).width(width);
    let (_, chosen) = select.show(ui, |ui| {
        let mut chosen = None;
        for mode in MODES {
            if ui.add(MenuRow::new(scene.lang.text(mode_key(mode))).checked(mode == session.mode)).clicked() {
                chosen = Some(Intent::SetMode(mode));
            }
        }
        chosen
    });
    if let Some(intent) = chosen.flatten() {
        scene.push(intent);
    }
    ui.add_space(space::XS);
    hint(ui, scene, "mode-always");

    network(ui, scene, session.is_local_only);

    heading(ui, scene, "panel-changes");
    if ui.add(Button::secondary(scene.lang.text("undo-history")).icon(Icon::History).small()).clicked() {
        scene.push(Intent::ShowHistory(None));
    }

    heading(ui, scene, "panel-sensitive");
    hint(ui, scene, "panel-sensitive-detail");
    ui.add_space(space::S);
    lifted(ui, scene);
    if ui.add(Button::secondary(scene.lang.text("panel-sensitive-lift")).icon(Icon::LockOpen).small()).clicked() {
        scene.push(Intent::PickPath(PathPurpose::SensitiveFile));
    }

    heading(ui, scene, "panel-rules");
    let rules = scene.state.shown().map(|view| view.rules.clone()).unwrap_or_default();
    let is_own = |rule: &Rule| rule.session.is_some();
    if rules.broken.is_empty() && !rules.intact.iter().any(is_own) {
        hint(ui, scene, "panel-no-rules");
        ui.add_space(space::S);
    }
    if let Some(rule) = rule::card::list(ui, scene, &rules, is_own) {
        scene.push(Intent::RevokeRule(rule));
    }
    let folder = session.folders.first().map(String::as_str).unwrap_or_default();
    if let Some((effect, scope)) = view.panel_rule.show(ui, scene, Makes::Refusals, folder) {
        scene.push(Intent::MakeRule { session: Some(session.id.clone()), effect, scope });
    }
    let standing = rules.intact.iter().filter(|rule| !is_own(rule)).count();
    if standing > 0 {
        ui.add_space(space::S);
        let words = scene.lang.format("panel-standing-rules", &[("count", Arg::from(standing))]);
        ui.add(Label::new(scene.theme.rich(words, Type::Meta, scene.theme.colors.dim)).wrap());
        if ui.add(Button::ghost(scene.lang.text("panel-standing-open")).small()).clicked() {
            scene.push(Intent::OpenSettings(SettingsPage::Safety));
        }
    }
}

/// The protected files that are open to the chat, each with what closes it again.
fn lifted(ui: &mut Ui, scene: &mut Scene<'_>) {
    let files: Vec<PathBuf> = scene.state.shown().map(|view| view.lifted.clone()).unwrap_or_default();
    for file in files {
        ui.horizontal(|ui| {
            let path = file.to_string_lossy();
            let short = short_path(&path, scene.home);
            let room = ui.available_width() - 32.0;
            let galley = line_of_text(ui, scene.theme, &short, Type::Mono, scene.theme.colors.text, room);
            let (rect, response) = ui.allocate_exact_size(vec2(room, size::CHIP), egui::Sense::hover());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, short.as_str()));
            let place = egui::pos2(rect.left(), rect.center().y - galley.size().y / 2.0);
            ui.painter().galley(place, galley, scene.theme.colors.text);
            response.on_hover_text(hover_name(&path));
            let name = scene.lang.format("panel-sensitive-close", &[("file", Arg::from(short.as_str()))]);
            if ui.add(IconButton::new(Icon::X, &name).small()).clicked() {
                scene.push(Intent::TakeLiftBack(file.clone()));
            }
        });
        ui.add_space(space::XS);
    }
}

/// The padlock, and every host that the chat has reached.
fn network(ui: &mut Ui, scene: &mut Scene<'_>, is_local_only: bool) {
    heading(ui, scene, "panel-network");
    let mut is_on = is_local_only;
    ui.horizontal(|ui| {
        ui.set_height(size::CHIP);
        let name = scene.lang.text("panel-local-only");
        ui.label(scene.theme.rich(name, Type::Control, scene.theme.colors.text));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.add(Switch::new(&mut is_on, name)).changed() {
                scene.push(Intent::SetLocalOnly(is_on));
            }
        });
    });
    hint(ui, scene, "panel-local-only-detail");
    ui.add_space(space::S);
    let Some(view) = scene.state.shown() else { return };
    if view.contacts.is_empty() {
        hint(ui, scene, "panel-no-hosts");
    }
    for contact in &view.contacts {
        let colors = scene.theme.colors;
        let shown = one_line_name(&contact.host, LONGEST_HOST);
        let host = scene.theme.rich(shown.as_ref(), Type::Mono, colors.text);
        ui.add(Label::new(host).wrap());
        let words = scene.lang.format(
            "panel-host",
            &[
                ("requests", Arg::Number(i64::try_from(contact.requests).unwrap_or(i64::MAX))),
                ("sent", Arg::from(bytes(contact.sent_bytes))),
                ("received", Arg::from(bytes(contact.received_bytes))),
            ],
        );
        ui.label(scene.theme.rich(words, Type::Meta, colors.dim));
        if contact.refused > 0 {
            let count = i64::try_from(contact.refused).unwrap_or(i64::MAX);
            let words = scene.lang.format("panel-host-refused", &[("count", Arg::Number(count))]);
            ui.label(scene.theme.rich(words, Type::Meta, colors.warn));
        }
        ui.add_space(space::XS);
    }
}

fn heading(ui: &mut Ui, scene: &Scene<'_>, key: &str) {
    ui.add_space(space::XL);
    ui.label(scene.theme.rich(scene.lang.text(key), Type::MetaStrong, scene.theme.colors.dim));
    ui.add_space(space::S);
}

fn hint(ui: &mut Ui, scene: &Scene<'_>, key: &str) {
    ui.add(Label::new(scene.theme.rich(scene.lang.text(key), Type::Meta, scene.theme.colors.dim)).wrap());
}

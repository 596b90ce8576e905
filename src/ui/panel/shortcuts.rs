//! All keys at a glance (`?`), also shown as a page of the settings.

use egui::{Frame, Key, Margin, Modifiers, ScrollArea, Ui, vec2};

use crate::app::{Intent, Panel};
use crate::ui::dialog::{Dialog, offer_focus};
use crate::ui::modal;
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, size, space};
use crate::ui::widget::{Button, Shortcut, line_of_text};

/// A group's key, and its keys with what they do.
pub type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// Every key of the window.
pub const GROUPS: [Group; 4] = [
    (
        "keys-group-chats",
        &[
            ("Ctrl N", "keys-new-chat"),
            ("Ctrl PgDn", "keys-next-chat"),
            ("Ctrl PgUp", "keys-previous-chat"),
            ("Ctrl Shift F", "keys-search"),
            ("F2", "keys-rename"),
            ("Ctrl Shift L", "keys-lock"),
        ],
    ),
    (
        "keys-group-message",
        &[
            ("Enter", "keys-send"),
            ("Shift Enter", "keys-newline"),
            ("↑", "keys-edit-last"),
            ("@", "keys-files"),
            ("/", "keys-commands"),
            ("Esc", "keys-stop"),
        ],
    ),
    (
        "keys-group-confirm",
        &[("Esc", "keys-deny"), ("Ctrl Enter", "keys-allow"), ("F7", "keys-next-change"), ("Tab", "keys-move")],
    ),
    (
        "keys-group-window",
        &[
            ("Ctrl K", "keys-palette"),
            ("Ctrl B", "keys-sidebar"),
            ("Ctrl ,", "keys-settings"),
            ("?", "keys-help"),
            ("Ctrl +", "keys-zoom-in"),
            ("Ctrl -", "keys-zoom-out"),
            ("Ctrl Q", "keys-quit"),
        ],
    ),
];

/// Draws the overlay while it is open.
pub fn show(ui: &Ui, scene: &mut Scene<'_>) {
    if scene.state.panel != Some(Panel::Shortcuts) {
        return;
    }
    let theme = scene.theme;
    modal::show(ui, theme, Dialog::Shortcuts, 680.0, |ui| {
        modal::head(ui, theme, scene.lang.text("keys-title"), "");
        Frame::NONE.inner_margin(Margin { left: 20, right: 20, top: 0, bottom: 16 }).show(ui, |ui| {
            let most = ui.ctx().content_rect().height() - 180.0;
            ScrollArea::vertical().max_height(most).auto_shrink([false, true]).show(ui, |ui| {
                let width = (ui.available_width() - space::XXL) / 2.0;
                for pair in GROUPS.chunks(2) {
                    ui.horizontal_top(|ui| {
                        ui.spacing_mut().item_spacing.x = space::XXL;
                        for group in pair {
                            ui.vertical(|ui| {
                                ui.set_width(width);
                                draw_group(ui, scene, group);
                            });
                        }
                    });
                    ui.add_space(space::M);
                }
            });
        });
        modal::foot(ui, theme, |ui| {
            let close = ui.add(Button::secondary(scene.lang.text("window-close")).shortcut("Esc"));
            offer_focus(ui, scene.top, Dialog::Shortcuts, &close);
            if close.clicked() || scene.take_key(ui, Dialog::Shortcuts, Modifiers::NONE, Key::Escape) {
                scene.push(Intent::ClosePanel);
            }
        });
    });
}

/// Draws one group: a heading and a row for each key.
pub fn draw_group(ui: &mut Ui, scene: &Scene<'_>, (heading, keys): &Group) {
    let colors = scene.theme.colors;
    ui.label(scene.theme.rich(scene.lang.text(heading), Type::MetaStrong, colors.dim));
    ui.add_space(space::XS);
    for (shortcut, key) in *keys {
        ui.horizontal(|ui| {
            ui.set_height(size::CHIP);
            let words = scene.lang.text(key);
            let room = ui.available_width() - 110.0;
            let galley = line_of_text(ui, scene.theme, words, Type::Control, colors.text, room);
            let (rect, response) = ui.allocate_exact_size(vec2(room, galley.size().y), egui::Sense::hover());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, words));
            ui.painter().galley(rect.min, galley, colors.text);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.add(Shortcut(shortcut));
            });
        });
    }
}

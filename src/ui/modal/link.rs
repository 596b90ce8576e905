//! A link shows where it really leads before it leaves the window.

use egui::{Frame, Key, Margin, Modifiers, Ui};

use crate::app::Intent;
use crate::app::remote_image::PendingLink;
use crate::lang::Arg;
use crate::policy;
use crate::ui::dialog::{Dialog, offer_focus};
use crate::ui::icon::Icon;
use crate::ui::safe_text::safe_name;
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, space};
use crate::ui::widget::{Button, at_right};

/// Characters of an address that are shown.
const LONGEST: usize = 4_000;

/// Draws the question while a link waits.
pub fn show(ui: &Ui, scene: &mut Scene<'_>) {
    let Some(PendingLink { url, is_image }) = scene.state.link.clone() else { return };
    let theme = scene.theme;
    super::show(ui, theme, Dialog::Link, 520.0, |ui| {
        let (title, detail) =
            if is_image { ("link-image-title", "link-image-detail") } else { ("link-title", "link-detail") };
        super::head(ui, theme, scene.lang.text(title), scene.lang.text(detail));
        super::body(ui, Dialog::Link, &url, |ui, _| {
            Frame::NONE.inner_margin(Margin { left: 20, right: 20, top: 4, bottom: 16 }).show(ui, |ui| {
                // A host beyond ASCII is shown as it is looked up; what is left of look-alikes is red.
                let encoded = policy::encode_host(&url);
                let is_deceptive = encoded.is_some() || !policy::find_deceptive_name(&url, false).is_empty();
                // The host stands at its beginning, and that is never what is left out.
                let address = encoded.as_deref().unwrap_or(&url);
                let (shown, left_out) = policy::beginning(address, usize::MAX, LONGEST);
                let job = safe_name(theme, shown, Type::Mono, theme.colors.text);
                ui.add(egui::Label::new(job).wrap_mode(egui::TextWrapMode::Wrap));
                if left_out > 0 {
                    ui.add_space(space::S);
                    let words = scene.lang.format("link-more", &[("count", Arg::from(left_out))]);
                    ui.label(theme.rich(words, Type::Control, theme.colors.warn));
                }
                if is_deceptive {
                    ui.add_space(space::S);
                    let note = theme.rich(scene.lang.text("link-look-alike"), Type::Control, theme.colors.bad);
                    ui.add(egui::Label::new(note).wrap_mode(egui::TextWrapMode::Wrap));
                }
            });
        });
        super::foot(ui, theme, |ui| {
            let cancel = ui.add(Button::secondary(scene.lang.text("window-cancel")).shortcut("Esc"));
            offer_focus(ui, scene.top, Dialog::Link, &cancel);
            if cancel.clicked() || scene.take_key(ui, Dialog::Link, Modifiers::NONE, Key::Escape) {
                scene.push(Intent::CancelLink);
            }
            if ui.add(Button::ghost(scene.lang.text("link-copy")).icon(Icon::Copy)).clicked() {
                scene.push(Intent::CopyText(url.clone()));
                scene.push(Intent::CancelLink);
            }
            at_right(ui, "go", |ui| {
                let open = scene.lang.text("link-open");
                let open = if is_image { Button::ghost(open) } else { Button::primary(open) };
                if ui.add(open.icon(Icon::ExternalLink)).clicked() {
                    scene.push(Intent::ConfirmLink);
                }
                if is_image && ui.add(Button::primary(scene.lang.text("link-load")).icon(Icon::Image)).clicked() {
                    scene.push(Intent::LoadImage);
                }
            });
        });
    });
}

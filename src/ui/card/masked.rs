//! What was masked of a result before a model on another machine got it, with *send anyway* for each value.

use egui::scroll_area::ScrollBarVisibility;
use egui::{Rect, Ui, UiBuilder, vec2};

use crate::app::Intent;
use crate::lang::{Arg, Lang};
use crate::policy::{MaskedSecret, SecretKind};
use crate::ui::icon::Icon;
use crate::ui::theme::{Theme, Type, space};
use crate::ui::widget::{Button, Chip, follow_focus, line_of_text, menu, menu_heading};

/// Height of the strip, in points.
pub(super) const STRIP: f32 = 36.0;
const MENU: f32 = 380.0;
/// A value's row, in points.
const ROW: f32 = 34.0;
/// What of the window's height is not the list's: the menu's other parts and a border around it, in points.
const AROUND: f32 = 180.0;

/// The strip under a card's header.
pub(super) fn strip(ui: &mut Ui, lang: &Lang, secrets: &[MaskedSecret], rect: Rect, intents: &mut Vec<Intent>) {
    let inner = rect.shrink2(vec2(space::M, 0.0));
    let layout = egui::Layout::left_to_right(egui::Align::Center);
    let mut row = ui.new_child(UiBuilder::new().id_salt("masked").max_rect(inner).layout(layout));
    intents.extend(chip(&mut row, lang, secrets));
}

/// The chip alone, which opens the list.
pub fn chip(ui: &mut Ui, lang: &Lang, secrets: &[MaskedSecret]) -> Option<Intent> {
    let masked = secrets.iter().filter(|secret| !secret.is_released).count();
    let words = if masked == 0 {
        lang.format("masked-none", &[("count", Arg::from(secrets.len()))])
    } else {
        lang.format("masked-chip", &[("count", Arg::from(masked))])
    };
    let icon = if masked == 0 { Icon::ShieldAlert } else { Icon::Shield };
    let chip = Chip::new(&words).icon(icon).trailing(Icon::ChevronDown).warning(masked == 0).max_width(320.0);
    let opened = menu(&ui.add(chip), MENU, |ui| list(ui, lang, secrets));
    opened.and_then(|opened| opened.inner)
}

fn list(ui: &mut Ui, lang: &Lang, secrets: &[MaskedSecret]) -> Option<Intent> {
    let theme = Theme::of(ui.ctx());
    let mut chosen = None;
    menu_heading(ui, lang.text("masked-heading"));
    // As many rows as the window has room for. Beyond that a bar stands beside them, at rest too: a key that is out of
    // sight must not look as if it were not there.
    let room = (ui.ctx().content_rect().height() - AROUND).max(3.0 * ROW);
    let needed = secrets.len() as f32 * ROW;
    let area = egui::ScrollArea::vertical().max_height(room).auto_shrink([false, true]);
    let bar = if needed > room { ScrollBarVisibility::AlwaysVisible } else { ScrollBarVisibility::AlwaysHidden };
    solid_bar(ui);
    area.min_scrolled_height(needed.min(room)).scroll_bar_visibility(bar).show(ui, |ui| {
        for secret in secrets {
            let name = name_of(lang, secret);
            ui.horizontal(|ui| {
                ui.set_height(ROW);
                ui.add_space(space::S);
                let color = if secret.is_released { theme.colors.warn } else { theme.colors.text };
                let room = ui.available_width() - 132.0;
                let galley = line_of_text(ui, &theme, &name, Type::Control, color, room);
                let (place, response) = ui.allocate_exact_size(vec2(room, galley.size().y), egui::Sense::hover());
                response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, name.as_str()));
                ui.painter().galley(place.min, galley, color);
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    ui.add_space(space::XS);
                    let key = if secret.is_released { "masked-again" } else { "masked-send" };
                    let said = format!("{} {name}", lang.text(key));
                    if ui.add(Button::secondary(lang.text(key)).small().name(&said)).clicked() {
                        let is_released = !secret.is_released;
                        chosen = Some(Intent::ReleaseSecret { secret: secret.id.clone(), is_released });
                    }
                });
            });
        }
        follow_focus(ui);
    });
    ui.add_space(space::XS);
    egui::Frame::NONE.inner_margin(egui::Margin::symmetric(8, 4)).show(ui, |ui| {
        let detail = theme.rich(lang.text("masked-detail"), Type::Meta, theme.colors.dim);
        // A menu's own layout would stretch the lines to its width.
        ui.with_layout(egui::Layout::top_down(egui::Align::Min), |ui| ui.add(egui::Label::new(detail).wrap()));
    });
    chosen
}

/// Bars that take room of their own and are there without a pointer over them.
fn solid_bar(ui: &mut Ui) {
    let colors = Theme::of(ui.ctx()).colors;
    let scroll = &mut ui.spacing_mut().scroll;
    *scroll = egui::style::ScrollStyle { bar_width: 6.0, ..egui::style::ScrollStyle::solid() };
    // Without the colour of the text, a solid bar would be drawn in the colour of a control at rest.
    scroll.foreground_color = true;
    ui.visuals_mut().extreme_bg_color = colors.hover;
}

/// The key of a kind's name.
pub fn kind_key(kind: SecretKind) -> &'static str {
    match kind {
        SecretKind::ApiKey => "masked-api-key",
        SecretKind::Token => "masked-token",
        SecretKind::Password => "masked-password",
        SecretKind::PrivateKey => "masked-private-key",
    }
}

fn name_of(lang: &Lang, secret: &MaskedSecret) -> String {
    let kind = lang.text(kind_key(secret.kind));
    // The tail is text from elsewhere like any other.
    let tail = crate::policy::escape(&secret.tail, false);
    if tail.is_empty() {
        format!("{kind} #{}", secret.number)
    } else {
        format!("{kind} #{} · …{tail}", secret.number)
    }
}

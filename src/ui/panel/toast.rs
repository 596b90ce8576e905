//! Short messages at the bottom right that need no answer.

use egui::{Align2, Area, CornerRadius, Frame, Id, Label, Margin, Order, Stroke, Ui, vec2};

use crate::app::Intent;
use crate::app::toast::{Toast, Tone};
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::sentence;
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{Button, IconButton};

const WIDTH: f32 = 380.0;
/// Characters of an error's own words.
const MOST_DETAIL: usize = 400;

/// Draws what is shown now.
pub fn show(ui: &Ui, scene: &mut Scene<'_>) {
    if scene.state.toasts.shown.is_empty() {
        return;
    }
    let mut done = None;
    // Nothing covers a question about what the model may do, not even for five seconds.
    let order = if scene.state.confirms.shown().is_some() { Order::Middle } else { Order::Tooltip };
    Area::new(Id::unique("toasts"))
        .order(order)
        .anchor(Align2::RIGHT_BOTTOM, vec2(-16.0, -124.0))
        .fade_in(scene.theme.animations)
        .show(ui.ctx(), |ui| {
            ui.spacing_mut().item_spacing.y = space::S;
            for toast in &scene.state.toasts.shown {
                if let Some(intents) = draw(ui, scene, toast) {
                    done = Some(intents);
                }
            }
        });
    for intent in done.into_iter().flatten() {
        scene.push(intent);
    }
}

fn draw(ui: &mut Ui, scene: &Scene<'_>, toast: &Toast) -> Option<Vec<Intent>> {
    let theme = scene.theme;
    let colors = theme.colors;
    let (icon, color) = match toast.tone {
        Tone::Info => (Icon::Info, colors.info),
        Tone::Good => (Icon::CircleCheck, colors.good),
        Tone::Warn => (Icon::TriangleAlert, colors.warn),
        Tone::Bad => (Icon::CircleAlert, colors.bad),
    };
    let mut done = None;
    Frame::NONE
        .fill(colors.background)
        .stroke(Stroke::new(1.0, colors.line))
        .corner_radius(CornerRadius::same(radius::CARD))
        .shadow(theme.shadow())
        .inner_margin(Margin { left: 12, right: 8, top: 8, bottom: 8 })
        .show(ui, |ui| {
            ui.set_width(WIDTH);
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = space::S;
                let (rect, _) = ui.allocate_exact_size(vec2(size::ICON, 24.0), egui::Sense::hover());
                icon.paint(ui.painter(), rect, size::ICON, color);
                let buttons = if toast.action.is_some() { 120.0 } else { 32.0 };
                let width = ui.available_width() - buttons;
                ui.vertical(|ui| {
                    ui.set_width(width);
                    ui.add_space(2.0);
                    let words = scene.filled(toast.key, &toast.args);
                    let label = ui.add(Label::new(theme.rich(words.as_str(), Type::Control, colors.text)).wrap());
                    label.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, words.as_str()));
                    let reason = toast.error.as_ref().map(|error| sentence::error(scene.lang, error));
                    let detail = reason.as_deref().unwrap_or(&toast.detail);
                    if !detail.is_empty() {
                        let detail = crate::policy::one_line(detail, MOST_DETAIL).into_owned();
                        ui.add(Label::new(theme.rich(detail, Type::Meta, colors.dim)).wrap());
                    }
                    ui.add_space(2.0);
                });
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Min), |ui| {
                    if ui.add(IconButton::new(Icon::X, scene.lang.text("window-dismiss")).small()).clicked() {
                        done = Some(vec![Intent::DismissToast(toast.id)]);
                    }
                    if let Some(action) = &toast.action
                        && ui.add(Button::secondary(scene.lang.text(action.key)).small()).clicked()
                    {
                        done = Some(vec![action.intent.clone(), Intent::DismissToast(toast.id)]);
                    }
                });
            });
        });
    done
}

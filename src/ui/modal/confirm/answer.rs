//! The answers: what the buttons, the keys and the field of a refusal mean. Plain Enter and Space never approve.

use egui::{Align, Event, Frame, Id, Key, Label, Layout, Margin, Modifiers, Response, Ui, vec2};

use crate::app::Intent;
use crate::lang::Arg;
use crate::port::ConfirmRequest;
use crate::ui::dialog::{Dialog, offer_focus};
use crate::ui::icon::Icon;
use crate::ui::modal;
use crate::ui::scene::{Scene, take_fresh_key};
use crate::ui::theme::{Type, size, space};
use crate::ui::widget::{Button, IconButton, TextField, at_right, menu};

use super::{ConfirmView, rule};

/// The width from which all buttons stand in one row, in points.
const ONE_ROW: f32 = 640.0;
const MENU_WIDTH: f32 = 420.0;

/// Keys of this frame that mean something here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pressed {
    pub(super) ctrl_enter: bool,
    pub(super) is_composing: bool,
}

impl Pressed {
    /// Taken before anything with the keyboard sees them: a focused button would take Enter for a click.
    pub(super) fn take(ui: &Ui, is_composing: bool, leads: bool) -> Self {
        // What covers it has the keys.
        if !leads {
            return Self { ctrl_enter: false, is_composing };
        }
        // A key that is held down clicks no button again either.
        ui.input_mut(|input| {
            input.events.retain(|event| {
                !matches!(event, Event::Key { key: Key::Enter | Key::Space, pressed: true, repeat: true, .. })
            });
        });
        let writes_reason = ui.memory(|memory| memory.has_focus(reason_id()));
        Self { ctrl_enter: !writes_reason && takes_ctrl_enter(ui) && !is_composing, is_composing }
    }
}

/// The field of a refusal.
pub(super) fn reason_id() -> Id {
    Id::unique("deny reason")
}

/// Everything below the question: why a yes is not taken yet, the field of a refusal, the buttons. `has_start` says whether
/// the beginning of what the call would do is on the screen.
pub(super) fn answers(
    ui: &mut Ui,
    scene: &mut Scene<'_>,
    confirm: &mut ConfirmView,
    request: &ConfirmRequest,
    (pressed, has_start): (Pressed, bool),
) -> Option<Intent> {
    let margin = Margin { left: 20, right: 20, top: 4, bottom: 8 };
    let can_allow = has_start || scene.state.confirms.is_in_sight();
    if !can_allow {
        Frame::NONE.inner_margin(margin).show(ui, |ui| {
            let button = Button::ghost(scene.lang.text("confirm-scroll")).icon(Icon::ChevronDown).small();
            confirm.wants_start |= ui.add(button).clicked();
        });
    } else if scene.state.confirms.has_ignored_press() {
        let words = scene.theme.rich(scene.lang.text("confirm-typed"), Type::ControlMedium, scene.theme.colors.warn);
        Frame::NONE.inner_margin(margin).show(ui, |ui| ui.add(Label::new(words).wrap()));
    }
    if confirm.reason.is_some() {
        Frame::NONE.inner_margin(margin).show(ui, |ui| reason_field(ui, scene, confirm, request, pressed.is_composing));
    }
    more_lines(ui, scene, confirm);
    foot(ui, scene, confirm, request, (pressed, can_allow))
}

/// How much of the preview is below what is in sight: beside the buttons, so that no size of the window hides it.
fn more_lines(ui: &mut Ui, scene: &Scene<'_>, confirm: &ConfirmView) {
    if !confirm.place.was_below {
        return;
    }
    let margin = Margin { left: 20, right: 20, top: 2, bottom: 2 };
    Frame::NONE.inner_margin(margin).show(ui, |ui| {
        let row = vec2(ui.available_width(), size::CHIP);
        ui.allocate_ui_with_layout(row, Layout::right_to_left(Align::Center), |ui| {
            ui.set_min_height(size::CHIP);
            if confirm.place.below > 0 {
                let words = scene.lang.format("confirm-more-lines", &[("count", Arg::from(confirm.place.below))]);
                ui.label(scene.theme.rich(words, Type::MetaMedium, scene.theme.colors.warn));
            }
        });
    });
}

fn reason_field(
    ui: &mut Ui,
    scene: &mut Scene<'_>,
    confirm: &mut ConfirmView,
    request: &ConfirmRequest,
    is_composing: bool,
) {
    let Some(reason) = &mut confirm.reason else { return };
    let id = reason_id();
    let has_focus = ui.memory(|memory| memory.has_focus(id));
    let mut sends = false;
    if has_focus && !is_composing {
        // Here Ctrl+Enter must not approve: it sends the refusal that is being typed.
        sends = take_fresh_key(ui, Modifiers::NONE, Key::Enter)
            || take_fresh_key(ui, Modifiers::COMMAND, Key::Enter)
            || take_fresh_key(ui, Modifiers { ctrl: true, ..Modifiers::COMMAND }, Key::Enter);
    }
    let mut stops = false;
    ui.horizontal(|ui| {
        let stop_text = scene.lang.text("confirm-deny-stop");
        let send_text = scene.lang.text("confirm-send-denial");
        let width = ui.available_width() - 232.0;
        let name = scene.lang.text("confirm-reason-field");
        let hint = scene.lang.text("confirm-reason-hint");
        let field = ui.add(TextField::new(reason, name).hint(hint).width(width.max(120.0)).id(id));
        if scene.leads(Dialog::Confirm) && std::mem::take(&mut confirm.wants_focus) {
            field.request_focus();
        }
        sends |= ui.add(Button::secondary(send_text)).clicked();
        stops = ui.add(Button::danger(stop_text)).clicked();
    });
    if sends {
        let intent = Intent::Deny { confirm: request.id.clone(), reason: reason.trim().to_owned() };
        scene.push(intent);
    }
    if stops {
        scene.push(Intent::DenyAndStop(request.id.clone()));
    }
}

/// Whether a control that approves was worked by anything but plain Enter or Space.
pub(super) fn approves(ui: &Ui, response: &Response) -> bool {
    response.clicked()
        && !ui.input(|input| {
            input
                .events
                .iter()
                .any(|event| matches!(event, Event::Key { key: Key::Enter | Key::Space, pressed: true, .. }))
        })
}

fn takes_ctrl_enter(ui: &Ui) -> bool {
    take_fresh_key(ui, Modifiers::COMMAND, Key::Enter)
        || take_fresh_key(ui, Modifiers { ctrl: true, ..Modifiers::COMMAND }, Key::Enter)
}

fn foot(
    ui: &mut Ui,
    scene: &mut Scene<'_>,
    confirm: &mut ConfirmView,
    request: &ConfirmRequest,
    (pressed, can_allow): (Pressed, bool),
) -> Option<Intent> {
    let is_open = scene.state.confirms.is_open(scene.now);
    let is_narrow = request.server.is_none() && ui.available_width() < ONE_ROW;
    let theme = scene.theme;
    let mut chosen = modal::foot(ui, theme, |ui| {
        if is_narrow {
            return ui
                .vertical(|ui| {
                    ui.spacing_mut().item_spacing.y = space::S;
                    let row = vec2(ui.available_width(), size::CONTROL);
                    let allowed =
                        ui.allocate_ui(row, |ui| yes(ui, scene, confirm, request, (pressed, can_allow))).inner;
                    let denied = ui.horizontal(|ui| no(ui, scene, confirm, request)).inner;
                    allowed.or(denied)
                })
                .inner;
        }
        let denied = no(ui, scene, confirm, request);
        yes(ui, scene, confirm, request, (pressed, can_allow)).or(denied)
    });
    if chosen.is_none() && !pressed.is_composing {
        chosen = keys(ui, scene, confirm, request, (pressed, can_allow));
    }
    if !is_open {
        // The guard itself is in the state; here it only keeps early keys from falling through to anything else.
        ui.ctx().request_repaint_after_secs(0.1);
    }
    chosen
}

/// The ways to refuse, at the left; *Deny* has the keyboard.
fn no(ui: &mut Ui, scene: &Scene<'_>, confirm: &mut ConfirmView, request: &ConfirmRequest) -> Option<Intent> {
    let lang = scene.lang;
    let mut chosen = None;
    let deny = ui.add(Button::secondary(lang.text("confirm-deny")).shortcut("Esc"));
    if confirm.reason.is_none() && scene.leads(Dialog::Confirm) {
        if std::mem::take(&mut confirm.wants_focus) {
            deny.request_focus();
        }
        offer_focus(ui, scene.top, Dialog::Confirm, &deny);
    }
    if deny.clicked() {
        chosen = Some(Intent::Deny { confirm: request.id.clone(), reason: String::new() });
    }
    if !request.denials.is_empty() {
        let button = ui.add(IconButton::new(Icon::ChevronDown, lang.text("confirm-deny-session")));
        let opened = menu(&button, MENU_WIDTH, |ui| rule::refusals(ui, scene, request));
        if let Some(intent) = opened.and_then(|opened| opened.inner) {
            chosen = Some(intent);
        }
    }
    // A server is told that it was refused, and nothing else.
    if request.server.is_none() && ui.add(Button::ghost(lang.text("confirm-deny-why"))).clicked() {
        confirm.reason = if confirm.reason.is_some() { None } else { Some(String::new()) };
        confirm.wants_focus = true;
    }
    countdown(ui, scene, request);
    chosen
}

/// The ways to allow, at the right.
fn yes(
    ui: &mut Ui,
    scene: &Scene<'_>,
    confirm: &ConfirmView,
    request: &ConfirmRequest,
    (pressed, can_allow): (Pressed, bool),
) -> Option<Intent> {
    let lang = scene.lang;
    let mut chosen = None;
    at_right(ui, "yes", |ui| {
        // A rule never allows the network.
        if !request.rule_proposals.is_empty() && !confirm.allows_network {
            let button = Button::secondary(lang.text("confirm-allow-session")).trailing(Icon::ChevronDown);
            let button = ui.add(button.disabled(!can_allow));
            let opened = menu(&button, MENU_WIDTH, |ui| rule::rules(ui, scene, request, pressed));
            if let Some(intent) = opened.and_then(|opened| opened.inner) {
                chosen = Some(intent);
            }
        }
        let button = Button::primary(lang.text("confirm-allow-once")).shortcut("Ctrl ⏎").disabled(!can_allow);
        let allow = ui.add(button);
        if approves(ui, &allow) {
            chosen = Some(allow_once(confirm, request));
        }
    });
    chosen
}

/// How long the question still waits, where it does not wait for ever.
fn countdown(ui: &mut Ui, scene: &Scene<'_>, request: &ConfirmRequest) {
    let Some(expires_at) = request.expires_at else { return };
    let seconds = expires_at.since(scene.now).div_ceil(1000);
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let words = scene.lang.format("confirm-countdown", &[("seconds", Arg::Number(seconds))]);
    ui.add_space(space::S);
    let color = if seconds <= 10 { scene.theme.colors.bad } else { scene.theme.colors.dim };
    ui.label(scene.theme.rich(words, Type::Meta, color));
    ui.ctx().request_repaint_after_secs(0.5);
}

fn keys(
    ui: &Ui,
    scene: &Scene<'_>,
    confirm: &mut ConfirmView,
    request: &ConfirmRequest,
    (pressed, can_allow): (Pressed, bool),
) -> Option<Intent> {
    // What covers it has the keys.
    if egui::Popup::is_any_open(ui.ctx()) || !scene.leads(Dialog::Confirm) {
        return None;
    }
    if take_fresh_key(ui, Modifiers::NONE, Key::Escape) {
        if confirm.reason.take().is_some() {
            confirm.wants_focus = true;
            return None;
        }
        return Some(Intent::Deny { confirm: request.id.clone(), reason: String::new() });
    }
    if !pressed.ctrl_enter {
        return None;
    }
    if !can_allow {
        // First it shows what it would be a yes to.
        confirm.wants_start = true;
        ui.ctx().request_repaint();
        return None;
    }
    Some(if scene.state.confirms.ignores_press() { Intent::IgnorePress } else { allow_once(confirm, request) })
}

fn allow_once(confirm: &ConfirmView, request: &ConfirmRequest) -> Intent {
    let id = request.id.clone();
    if confirm.allows_network { Intent::AllowWithNetwork(id) } else { Intent::AllowOnce(id) }
}

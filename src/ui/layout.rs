//! The window's arrangement: which parts are there, in which order, and the keys that work everywhere.

use egui::{CentralPanel, Event, Frame, Key, Modifiers, Ui};

use crate::app::{Intent, Panel, Phase, SettingsPage};

use super::panel::{
    composer, history, palette, session_panel, shortcuts, sidebar, start_fault, threads, toast, top_bar, welcome,
};
use super::scene::{Scene, ViewState, take_fresh_key, take_key};
use super::settings;
use super::transcript::TranscriptLook;
use super::{audit, dialog, modal};

/// Draws everything.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let wanted = dialog::wanted(scene.state, view.has_large_picture());
    view.dialogs.update(ui.ctx(), &wanted);
    scene.top = view.dialogs.top();
    if scene.top.is_none() {
        keys(ui, scene, view);
    } else if std::mem::take(&mut view.focus_composer) {
        view.dialogs.return_to(composer::message_id());
    }
    let background = Frame::NONE.fill(scene.theme.colors.background);
    match &scene.state.phase {
        Phase::Faulted(fault) => {
            let fault = fault.clone();
            CentralPanel::no_frame().frame(background).show(ui, |ui| start_fault::show(ui, scene, &fault));
            modal::path::show(ui, scene, view);
            return;
        }
        Phase::Starting | Phase::Running | Phase::Ended => {}
    }
    if scene.state.audit.is_some() {
        audit::show(ui, scene, view);
    } else if scene.state.settings_page.is_some() {
        settings::show(ui, scene, view);
    } else {
        main(ui, scene, view, background);
    }
    overlays(ui, scene, view);
    drop_hint(ui, scene);
}

/// While something is dragged over the window: what dropping it does.
fn drop_hint(ui: &Ui, scene: &Scene<'_>) {
    if ui.input(|input| input.raw.hovered_files.is_empty()) {
        return;
    }
    let layer = egui::LayerId::new(egui::Order::Tooltip, egui::Id::unique("drop hint"));
    let painter = ui.ctx().layer_painter(layer);
    let colors = &scene.theme.colors;
    let rect = ui.ctx().content_rect().shrink(8.0);
    let corner = egui::CornerRadius::same(super::theme::radius::MODAL);
    let stroke = egui::Stroke::new(2.0, colors.accent);
    painter.rect(rect, corner, colors.background.gamma_multiply(0.85), stroke, egui::StrokeKind::Inside);
    let font = scene.theme.font(super::theme::Type::ModalTitle);
    let words = scene.lang.text("window-drop");
    painter.text(rect.center(), egui::Align2::CENTER_CENTER, words, font, colors.text);
}

fn main(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState, background: Frame) {
    if scene.state.settings.general.show_sidebar {
        sidebar::show(ui, scene, view);
    }
    top_bar::show(ui, scene, view);
    if scene.state.panel == Some(Panel::Session) && scene.state.home().is_none() {
        session_panel::show(ui, scene, view);
    }
    if scene.state.panel == Some(Panel::History) {
        history::show(ui, scene, view);
    }
    composer::show(ui, scene, view);
    CentralPanel::no_frame().frame(background).show(ui, |ui| match scene.state.shown() {
        Some(open) if !open.is_empty() => transcript(ui, scene, view),
        Some(open) => match open.session.id.home() {
            Some((url, _)) => threads::empty(ui, scene, url),
            None => welcome::show(ui, scene),
        },
        None => match scene.state.threads.unreached.clone() {
            Some((session, problem)) => threads::unreached(ui, scene, &session, &problem),
            None => loading(ui, scene),
        },
    });
}

fn transcript(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let (Some(open), Some(transcript)) = (scene.state.shown(), &mut view.transcript) else { return };
    let show_thinking = scene.state.settings.models.show_thinking;
    let look = TranscriptLook { lang: scene.lang, now: scene.now, show_thinking };
    let mut intents = Vec::new();
    transcript.show(ui, open, look, &mut intents);
    scene.outbox.extend(intents);
}

/// Only after 300 ms: what comes sooner needs no sign.
fn loading(ui: &mut Ui, scene: &Scene<'_>) {
    let waited = scene.now.since(scene.state.selected_at);
    if waited < 300 {
        ui.ctx().request_repaint_after_secs(0.3);
        return;
    }
    let center = ui.max_rect().center();
    let rect = egui::Rect::from_center_size(center, egui::vec2(20.0, 20.0));
    ui.put(rect, super::widget::Spinner::new(scene.lang.text("window-loading")).diameter(20.0));
}

fn overlays(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    palette::show(ui, scene, view);
    shortcuts::show(ui, scene);
    crate::ui::modal::sent::show(ui, scene);
    modal::path::show(ui, scene, view);
    modal::undo::show(ui, scene, view);
    modal::link::show(ui, scene);
    modal::deletion::show(ui, scene);
    modal::deletion::show_all(ui, scene);
    modal::closing::show(ui, scene);
    modal::confirm::show(ui, scene, view);
    toast::show(ui, scene);
}

fn keys(ui: &Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let command = Modifiers::COMMAND;
    let take = |modifiers: Modifiers, key: Key| {
        let ctrl = Modifiers { ctrl: true, command: true, ..modifiers };
        take_key(ui, modifiers, key) || take_key(ui, ctrl, key)
    };
    if take(command, Key::N) {
        scene.push(Intent::NewChat);
    }
    if take(command, Key::B) {
        scene.push(Intent::ToggleSidebar);
    }
    if take(command, Key::K) {
        scene.push(Intent::Open(Panel::Palette));
    }
    if take(command, Key::Comma) {
        scene.push(Intent::OpenSettings(SettingsPage::General));
    }
    if take(command | Modifiers::SHIFT, Key::F) {
        if !scene.state.settings.general.show_sidebar {
            scene.push(Intent::ToggleSidebar);
        }
        if scene.state.settings_page.is_some() {
            scene.push(Intent::CloseSettings);
        }
        view.focus_search = true;
    }
    if take(command | Modifiers::SHIFT, Key::L)
        && let Some(session) = scene.state.current()
    {
        let is_local_only = !session.is_local_only;
        scene.push(Intent::SetLocalOnly(is_local_only));
    }
    if take(command, Key::PageDown) {
        scene.push(Intent::SelectNeighbour(1));
    }
    if take(command, Key::PageUp) {
        scene.push(Intent::SelectNeighbour(-1));
    }
    if take_key(ui, Modifiers::NONE, Key::F2)
        && let Some(session) = scene.state.current().filter(|session| !session.id.is_on_server())
    {
        view.renaming = Some((session.id.clone(), session.title.clone()));
    }
    let focused = ui.memory(egui::Memory::focused);
    if !ui.ctx().text_edit_focused() {
        let asks = ui.input(|input| input.events.iter().any(|event| matches!(event, Event::Text(text) if text == "?")));
        if asks {
            scene.push(Intent::Open(Panel::Shortcuts));
        }
    }
    // The composer keeps the keyboard although the audit covers it.
    let writes = focused == Some(composer::message_id()) && scene.state.audit.is_none();
    if !writes && !view.is_composing && view.renaming.is_none() && focused != Some(sidebar::search_id()) {
        escape(ui, scene);
    }
}

fn escape(ui: &Ui, scene: &mut Scene<'_>) {
    if egui::Popup::is_any_open(ui.ctx()) || !take_fresh_key(ui, Modifiers::NONE, Key::Escape) {
        return;
    }
    if scene.state.panel.is_some() {
        scene.push(Intent::ClosePanel);
    } else if scene.state.audit.is_some() {
        scene.push(Intent::CloseAudit);
    } else if scene.state.settings_page.is_some() {
        scene.push(Intent::CloseSettings);
    } else if scene.state.is_running() {
        scene.push(Intent::Stop);
    }
}

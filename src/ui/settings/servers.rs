//! The servers that may call tools of this computer: added with a token and one folder, each with its state, its calls and
//! what it was sent. A token is typed into a field that shows dots and keeps nothing.

use std::fmt;

use egui::{Color32, Id, Key, TextEdit, Ui};
use zeroize::{Zeroize as _, Zeroizing};

use crate::app::link::{LinkForm, state_key};
use crate::app::rows::{bytes, short_path};
use crate::app::thread::host;
use crate::app::{Intent, PathPurpose};
use crate::ir::{KeyPlace, LinkCall, LinkCallState, LinkState, LinkView};
use crate::lang::Arg;
use crate::policy::{escape, escape_name};
use crate::secret::SecretKey;
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::widget::{Button, TextField, hover_line};

use super::{SettingsView, dotted_row, group, heading, note, row, title};

/// What is half-typed about a server.
#[derive(Default)]
pub(super) struct ServerView {
    url: String,
    token: Zeroizing<String>,
}

impl fmt::Debug for ServerView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerView").field("url", &self.url).finish_non_exhaustive()
    }
}

impl ServerView {
    /// Takes the token out and wipes the fields.
    fn take(&mut self, ui: &Ui) -> Option<SecretKey> {
        let token = SecretKey::new(&self.token);
        self.token.zeroize();
        self.url.clear();
        TextEdit::store_state(ui.ctx(), token_field(), egui::text_edit::TextEditState::default());
        token
    }
}

fn token_field() -> Id {
    Id::unique("server token")
}

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-page-servers"), lang.text("settings-servers-line"));
    let state = scene.state;
    let links = &state.links;
    group(ui, scene, |ui, scene| {
        for link in &links.links {
            server(ui, scene, link);
            let is_edited = links.form.as_ref().is_some_and(|form| form.url.as_ref() == Some(&link.server.url));
            if let Some(form) = links.form.as_ref().filter(|_| is_edited) {
                fields(ui, scene, &mut view.server, form);
            }
        }
        match &links.form {
            Some(form) if form.url.is_none() => fields(ui, scene, &mut view.server, form),
            Some(_) => {}
            None => add(ui, scene),
        }
    });
    if !links.device_id.is_empty() {
        let words = lang.format("settings-device", &[("device", Arg::from(links.device_id.as_str()))]);
        note(ui, scene, &words, scene.theme.colors.dim);
    }
    note(ui, scene, lang.text("settings-servers-note"), scene.theme.colors.dim);
    if let Some((url, calls)) = &links.open {
        let words = lang.format("settings-server-calls-of", &[("server", Arg::from(host(url)))]);
        heading(ui, scene, &words);
        group(ui, scene, |ui, scene| list(ui, scene, calls));
    }
}

fn add(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    let (name, help) = (lang.text("settings-server-add"), lang.text("settings-server-add-help"));
    let adds = row(ui, scene.theme, name, help, |ui| ui.add(Button::secondary(name).icon(Icon::Plus)).clicked());
    if adds {
        scene.push(Intent::BeginLink(None));
    }
}

/// One server: its state in words, and what can be done about it.
fn server(ui: &mut Ui, scene: &mut Scene<'_>, link: &LinkView) {
    let lang = scene.lang;
    let url = link.server.url.clone();
    let shown = escape_name(host(&url), false).into_owned();
    let is_paused = link.server.is_paused;
    let named = |key: &str| format!("{}, {shown}", lang.text(key));
    let help = server_help(scene, link);
    let mut intent = None;
    let color = state_color(scene, &link.state);
    dotted_row(ui, scene.theme, color, &shown, &help, |ui| {
        let mut button = |key: &str, wanted: Intent| {
            if ui.add(Button::secondary(lang.text(key)).name(&named(key))).clicked() {
                intent = Some(wanted);
            }
        };
        match link.state {
            LinkState::Waiting { .. } | LinkState::Replaced | LinkState::Stopped { .. } => {
                button("settings-server-retry", Intent::RetryLink(url.clone()));
            }
            LinkState::Paused | LinkState::Connecting | LinkState::Connected => {}
        }
        let pause = if is_paused { "settings-server-resume" } else { "settings-server-pause" };
        button(pause, Intent::PauseLink { url: url.clone(), is_paused: !is_paused });
        button("settings-server-calls", Intent::ToggleLinkCalls(url.clone()));
        let is_edited = scene.state.links.form.as_ref().is_some_and(|form| form.url.as_ref() == Some(&url));
        if is_edited {
            button("settings-provider-close", Intent::CloseLinkForm);
        } else {
            button("settings-provider-edit", Intent::BeginLink(Some(url.clone())));
        }
    });
    if let Some(intent) = intent {
        scene.push(intent);
    }
}

/// Folder, state, what stands in the way, and how much left.
fn server_help(scene: &Scene<'_>, link: &LinkView) -> String {
    let lang = scene.lang;
    let state = match &link.state {
        LinkState::Waiting { until, .. } => {
            lang.format("link-waiting-until", &[("time", Arg::from(scene.moment(*until, "%H:%M:%S")))])
        }
        LinkState::Paused
        | LinkState::Connecting
        | LinkState::Connected
        | LinkState::Replaced
        | LinkState::Stopped { .. } => lang.text(state_key(&link.state)).to_owned(),
    };
    let mut words = vec![state, short_path(&link.server.workspace, scene.home)];
    if link.sent_bytes > 0 {
        words.push(lang.format("settings-server-sent", &[("size", Arg::from(bytes(link.sent_bytes)))]));
    }
    let mut help = words.join(" · ");
    if let Some(problem) = link.state.problem() {
        let (key, detail) = problem.text();
        help.push('\n');
        help.push_str(lang.text(key));
        if !detail.is_empty() {
            help.push(' ');
            help.push_str(&hover_line(detail));
        }
    }
    help
}

fn state_color(scene: &Scene<'_>, state: &LinkState) -> Color32 {
    let colors = &scene.theme.colors;
    match state {
        LinkState::Connected => colors.good,
        LinkState::Paused => colors.faint,
        LinkState::Connecting => colors.warn,
        LinkState::Waiting { .. } | LinkState::Replaced | LinkState::Stopped { .. } => colors.bad,
    }
}

/// The fields for a new server, or for one that is there.
fn fields(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ServerView, form: &LinkForm) {
    let lang = scene.lang;
    if form.url.is_none() {
        let name = lang.text("settings-server-url");
        row(ui, scene.theme, name, lang.text("settings-server-url-help"), |ui| {
            ui.add(TextField::new(&mut view.url, name).hint("https://nod.example.com").mono().width(320.0))
        });
    }
    let known = scene.state.links.links.iter().find(|link| Some(&link.server.url) == form.url.as_ref());
    let help = match known.map(|link| &link.server.key) {
        None => lang.text("settings-server-token-help").to_owned(),
        Some(KeyPlace::Nowhere | KeyPlace::Variable { .. }) => lang.text("link-problem-no-token").to_owned(),
        Some(KeyPlace::Keyring { origin }) => {
            lang.format("settings-key-in-keyring", &[("origin", Arg::from(origin.as_str()))])
        }
        Some(KeyPlace::ThisRun { origin }) => {
            lang.format("settings-key-in-memory", &[("origin", Arg::from(origin.as_str()))])
        }
    };
    let name = lang.text("settings-server-token");
    let by_enter = row(ui, scene.theme, name, &help, |ui| {
        let field = TextField::new(&mut view.token, name).id(token_field()).password(true).mono().width(320.0);
        let response = ui.add(field);
        response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
    });
    let shown = if form.workspace.is_empty() {
        lang.text("settings-server-workspace-help").to_owned()
    } else {
        short_path(&form.workspace, scene.home)
    };
    let (picks, types) = row(ui, scene.theme, lang.text("settings-server-workspace"), &shown, |ui| {
        let types = ui.add(Button::ghost(lang.text("panel-type-folder"))).clicked();
        (ui.add(Button::secondary(lang.text("settings-choose")).icon(Icon::Folder)).clicked(), types)
    });
    if picks {
        scene.push(Intent::PickPath(PathPurpose::Workspace));
    } else if types {
        scene.push(Intent::TypePath(PathPurpose::Workspace));
    }
    finish(ui, scene, view, form, by_enter);
}

fn finish(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ServerView, form: &LinkForm, by_enter: bool) {
    let lang = scene.lang;
    let url = form.url.clone().unwrap_or_else(|| view.url.trim().to_owned());
    let has_token = form.url.is_some() || !view.token.trim().is_empty();
    let is_ready = !url.is_empty() && has_token && !form.workspace.is_empty();
    let (saves, cancels, removes) = row(ui, scene.theme, "", "", |ui| {
        let removes = form.url.is_some()
            && ui.add(Button::danger(lang.text("settings-server-remove")).icon(Icon::Trash)).clicked();
        let cancels = ui.add(Button::ghost(lang.text("settings-provider-cancel"))).clicked();
        let saves = ui.add(Button::primary(lang.text("settings-server-save")).disabled(!is_ready)).clicked();
        (saves, cancels, removes)
    });
    if removes {
        view.take(ui);
        scene.push(Intent::CloseLinkForm);
        scene.push(Intent::RemoveLink(url));
    } else if cancels {
        view.take(ui);
        scene.push(Intent::CloseLinkForm);
    } else if (saves || by_enter) && is_ready {
        let token = view.take(ui);
        scene.push(Intent::PutLink { url, workspace: form.workspace.clone(), token });
    }
}

/// A server's calls, newest first.
fn list(ui: &mut Ui, scene: &mut Scene<'_>, calls: &[LinkCall]) {
    let lang = scene.lang;
    if calls.is_empty() {
        row(ui, scene.theme, lang.text("settings-server-no-calls"), "", |_| ());
    }
    for call in calls {
        let name = format!("{}  {}", escape(&call.tool, false), escape_name(&call.path, false));
        let mut words = vec![scene.moment(call.at, "%m-%d %H:%M:%S"), lang.text(call.state.text_key()).to_owned()];
        words.extend(call.code.as_ref().map(|code| escape(code, false).into_owned()));
        if call.sent_bytes > 0 {
            words.push(lang.format("settings-server-sent", &[("size", Arg::from(bytes(call.sent_bytes)))]));
        }
        let colors = &scene.theme.colors;
        let color = match call.state {
            LinkCallState::Succeeded => colors.good,
            LinkCallState::Running => colors.warn,
            LinkCallState::Failed | LinkCallState::TimedOut | LinkCallState::Unknown => colors.bad,
            LinkCallState::Rejected | LinkCallState::Cancelled => colors.faint,
        };
        dotted_row(ui, scene.theme, color, &name, &words.join(" · "), |_| ());
    }
}

//! Sessions that live on a server: their rows in the sidebar, what stands in the bar over one, an empty one, and one that
//! cannot be shown.

use egui::{Label, Sense, Ui, vec2};

use crate::app::link::state_key;
use crate::app::rows::short_path;
use crate::app::thread::host;
use crate::app::{Intent, SettingsPage};
use crate::ir::{LinkProblem, LinkState, LinkView, SessionId};
use crate::lang::Arg;
use crate::policy::{escape, escape_name};
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, size, space};
use crate::ui::widget::{
    Button, Chip, IconButton, ListRow, RowMark, at_right_of, hover_line, hover_name, line_of_text, spinner_at,
};

/// Widest words in the middle of an empty session, in points.
const WIDTH: f32 = 520.0;

/// The heading over a server's sessions, with what begins a new one there.
pub fn heading(ui: &mut Ui, scene: &Scene<'_>, url: &str, host: &str, is_loading: bool) -> Option<Intent> {
    let (theme, colors) = (scene.theme, &scene.theme.colors);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::hover());
    let name = escape_name(host, false);
    // A little nearer to what it is about.
    let line = rect.translate(vec2(0.0, 2.0));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Heading, true, &*name));
    let mut chosen = None;
    let named = |key: &str| scene.lang.format(key, &[("server", Arg::from(&*name))]);
    let ((), right) = at_right_of(ui, ("server", url), line, |ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        if is_loading {
            let (place, _) = ui.allocate_exact_size(vec2(26.0, 26.0), Sense::hover());
            spinner_at(ui, theme, place.center(), 12.0, colors.dim);
        } else if ui.add(IconButton::new(Icon::RefreshCw, &named("thread-refresh")).small()).clicked() {
            chosen = Some(Intent::ListThreads(url.to_owned()));
        }
        if ui.add(IconButton::new(Icon::Plus, &named("thread-new")).small()).clicked() {
            chosen = Some(Intent::BeginThread(url.to_owned()));
        }
    });
    let left = rect.left() + space::M;
    let free = right.left() - left - space::L - space::XS;
    let middle = line.center().y;
    Icon::Server.paint_at(ui.painter(), egui::pos2(left + 6.0, middle), 12.0, colors.dim);
    let galley = line_of_text(ui, theme, &name, Type::MetaMedium, colors.dim, free.max(20.0));
    let place = egui::pos2(left + space::L + 2.0, middle - galley.size().y / 2.0);
    ui.painter().galley(place, galley, colors.dim);
    chosen
}

/// Why a server's list is not the newest; pressing it asks again.
pub fn problem(ui: &mut Ui, scene: &Scene<'_>, url: &str, problem: &LinkProblem) -> Option<Intent> {
    let row = ListRow::new(scene.lang.text("thread-list-failed")).mark(RowMark::Failed, "");
    let response = ui.add(row).on_hover_text(sentence(scene, problem));
    response.clicked().then(|| Intent::ListThreads(url.to_owned()))
}

/// The rest of a server's sessions, or fewer of them.
pub fn more(ui: &mut Ui, scene: &Scene<'_>, url: &str, count: usize, is_unfolded: bool) -> Option<Intent> {
    let words = if is_unfolded {
        scene.lang.text("thread-fewer").to_owned()
    } else {
        scene.lang.format("thread-more", &[("count", Arg::from(count))])
    };
    let icon = if is_unfolded { Icon::ChevronDown } else { Icon::ChevronRight };
    ui.add(ListRow::new(&words).icon(icon)).clicked().then(|| Intent::ToggleThreads(url.to_owned()))
}

/// Whether a server may use this computer's tools, in a few words: `Local tools: Connected · web`.
pub fn local_tools(scene: &Scene<'_>, link: &LinkView) -> String {
    let lang = scene.lang;
    let state = lang.text(state_key(&link.state));
    let words = match &link.state {
        LinkState::Connected => {
            let folder = link.server.workspace.rsplit(['/', '\\']).next().unwrap_or_default();
            lang.format("link-foot-folder", &[("state", Arg::from(state)), ("folder", Arg::from(folder))])
        }
        LinkState::Paused
        | LinkState::Connecting
        | LinkState::Waiting { .. }
        | LinkState::Replaced
        | LinkState::Stopped { .. } => lang.format("link-foot", &[("state", Arg::from(state))]),
    };
    escape(&words, false).into_owned()
}

/// The same at length: server, folder, this device.
pub fn local_tools_help(scene: &Scene<'_>, link: &LinkView) -> String {
    let folder = short_path(&link.server.workspace, scene.home);
    let args = [
        ("server", Arg::from(hover_name(&link.server.url))),
        ("folder", Arg::from(hover_name(&folder))),
        ("device", Arg::from(scene.state.links.device_id.as_str())),
    ];
    scene.lang.format("link-foot-help", &args)
}

/// What stands in the bar over a session that lives on a server: which one, and what it may use here.
pub fn chips(ui: &mut Ui, scene: &mut Scene<'_>, url: &str, is_roomy: bool) {
    let name = escape_name(host(url), false).into_owned();
    let lives = scene.lang.format("thread-lives", &[("server", Arg::from(name.as_str()))]);
    let chip =
        Chip::new(&name).icon(Icon::Server).name(&lives).strong().max_width(if is_roomy { 200.0 } else { 120.0 });
    let help = scene.lang.format("thread-lives-help", &[("server", Arg::from(name.as_str()))]);
    if ui.add(chip).on_hover_text(help).clicked() {
        scene.push(Intent::OpenSettings(SettingsPage::Servers));
    }
    let link = scene.state.links.links.iter().find(|link| link.server.url == url).cloned();
    if let Some(link) = link {
        let (words, help) = (local_tools(scene, &link), local_tools_help(scene, &link));
        let is_up = link.state == LinkState::Connected;
        let width = if is_roomy { 300.0 } else { 230.0 };
        let chip = Chip::new(&words).icon(Icon::Plug).warning(!is_up).max_width(width);
        if ui.add(chip).on_hover_text(help).clicked() {
            scene.push(Intent::OpenSettings(SettingsPage::Servers));
        }
    }
}

/// A session in which nothing was said yet.
pub fn empty(ui: &mut Ui, scene: &Scene<'_>, url: &str) {
    let name = escape_name(host(url), false).into_owned();
    let link = scene.state.links.links.iter().find(|link| link.server.url == url);
    let server = [("server", Arg::from(name.as_str()))];
    middle(ui, |ui| {
        let colors = &scene.theme.colors;
        let title = scene.lang.format("thread-empty-title", &server);
        ui.add(Label::new(scene.theme.rich(title, Type::PageTitle, colors.text)).wrap());
        ui.add_space(space::S);
        let folder = link.map(|link| short_path(&link.server.workspace, scene.home)).unwrap_or_default();
        let folder = escape_name(&folder, false).into_owned();
        let words = scene.lang.format("thread-empty-line", &[("folder", Arg::from(folder.as_str()))]);
        ui.add(Label::new(scene.theme.rich(words, Type::Body, colors.dim)).wrap());
        let problem = link.and_then(|link| link.state.problem());
        if let Some(problem) = problem {
            ui.add_space(space::M);
            ui.add(Label::new(scene.theme.rich(sentence(scene, problem), Type::Control, colors.warn)).wrap());
        }
    });
}

/// A session that cannot be shown, why, and the way to another try.
pub fn unreached(ui: &mut Ui, scene: &mut Scene<'_>, session: &SessionId, problem: &LinkProblem) {
    let server = session.home().map(|(url, _)| escape_name(host(url), false).into_owned()).unwrap_or_default();
    let title = scene.lang.format("thread-unreached", &[("server", Arg::from(server.as_str()))]);
    let words = sentence(scene, problem);
    let theme = scene.theme;
    let (mut tries, mut opens) = (false, false);
    let (retry, settings) = (scene.lang.text("answer-retry"), scene.lang.text("thread-settings"));
    middle(ui, |ui| {
        ui.add(Label::new(theme.rich(title, Type::PageTitle, theme.colors.text)).wrap());
        ui.add_space(space::S);
        ui.add(Label::new(theme.rich(words, Type::Body, theme.colors.dim)).wrap());
        ui.add_space(space::L);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = space::S;
            tries = ui.add(Button::primary(retry).icon(Icon::RefreshCw)).clicked();
            opens = ui.add(Button::secondary(settings).icon(Icon::Settings)).clicked();
        });
    });
    if tries {
        scene.push(Intent::SelectSession(session.clone()));
    } else if opens {
        scene.push(Intent::OpenSettings(SettingsPage::Servers));
    }
}

/// Words in the middle of the room that is left.
fn middle(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    let room = ui.available_size();
    let width = WIDTH.min(room.x - 2.0 * space::XXL);
    ui.add_space((room.y * 0.3).max(space::XXL));
    ui.horizontal(|ui| {
        ui.add_space(((room.x - width) / 2.0).max(0.0));
        ui.vertical(|ui| {
            ui.set_width(width);
            ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
            content(ui);
        });
    });
}

/// What stands in the way, with the system's own words.
fn sentence(scene: &Scene<'_>, problem: &LinkProblem) -> String {
    let (key, detail) = problem.text();
    let words = scene.lang.text(key);
    if detail.is_empty() { words.to_owned() } else { format!("{words} {}", hover_line(detail)) }
}

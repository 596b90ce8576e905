//! The bar over the transcript: title, folders, model, thinking, context.

use egui::{Align, Frame, Id, Layout, Margin, Panel as EguiPanel, Ui, UiBuilder, vec2};

use crate::app::models::GUIDE;
use crate::app::rows::{context_gauge, grouped_number, money, session_costs, short_path};
use crate::app::{Intent, Panel, PathPurpose};
use crate::ir::ThinkingLevel;
use crate::lang::Arg;
use crate::ui::icon::Icon;
use crate::ui::panel::{model_picker, sidebar, threads};
use crate::ui::scene::{Scene, ViewState};
use crate::ui::theme::{Type, size, space};
use crate::ui::widget::{
    Chip, IconButton, MenuRow, at_right_of, hover_line, hover_name, line_of_text, menu, menu_heading, menu_separator,
};

/// Below this width folders share a chip and some chips lose their words, in points.
const ROOMY: f32 = 800.0;

/// Draws the bar at the top of what is right of the sidebar.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    EguiPanel::top("top bar")
        .exact_size(size::TOP_BAR)
        .resizable(false)
        .frame(Frame::NONE.fill(scene.theme.colors.background).inner_margin(Margin::symmetric(16, 0)))
        .show_separator_line(true)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
            let rect = ui.max_rect();
            let is_roomy = rect.width() >= ROOMY;
            // The title comes first, for the Tab key too; it takes the room that the chips left in the last frame.
            let id = Id::unique("top bar chips");
            let known: f32 = ui.data(|data| data.get_temp(id)).unwrap_or(0.0);
            let free = rect.width() - known - space::M;
            let left_rect = egui::Rect::from_min_size(rect.min, vec2(free.max(80.0), rect.height()));
            let mut left =
                ui.new_child(UiBuilder::new().max_rect(left_rect).layout(Layout::left_to_right(Align::Center)));
            title(&mut left, scene, view);
            let ((), right) = at_right_of(ui, "chips", rect, |ui| {
                if scene.state.current().is_some() {
                    chips(ui, scene, view, is_roomy);
                }
            });
            if (right.width() - known).abs() > 0.5 {
                ui.data_mut(|data| data.insert_temp(id, right.width()));
                ui.ctx().request_discard("the bar's chips found their width");
            }
            ui.advance_cursor_after_rect(rect);
        });
}

fn title(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    if !scene.state.settings.general.show_sidebar {
        let name = scene.lang.text("top-show-sidebar");
        if ui.add(IconButton::new(Icon::PanelLeft, name)).clicked() {
            scene.push(Intent::ToggleSidebar);
        }
    }
    let Some(session) = scene.state.current() else { return };
    let text = if session.title.is_empty() { scene.lang.text("sidebar-untitled") } else { &session.title };
    let color = scene.theme.colors.text;
    let width = ui.available_width() - size::CONTROL - space::S;
    let galley = line_of_text(ui, scene.theme, text, Type::ControlStrong, color, width.max(40.0));
    let is_cut = galley.elided;
    let (rect, response) = ui.allocate_exact_size(galley.size(), egui::Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Heading, true, text));
    ui.painter().galley(rect.min, galley, color);
    if is_cut {
        response.on_hover_text(hover_line(text));
    }
    if !session.title.is_empty() {
        let (id, pinned) = (session.id.clone(), session.pinned);
        let title = session.title.clone();
        let more = ui.add(IconButton::new(Icon::Ellipsis, scene.lang.text("top-chat-menu")).small());
        let chosen = menu(&more, 200.0, |ui| sidebar::session_menu(ui, scene, view, &id, &title, pinned));
        if let Some(intent) = chosen.and_then(|shown| shown.inner) {
            scene.push(intent);
        }
    }
}

fn chips(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState, is_roomy: bool) {
    if let Some(url) = scene.state.home() {
        threads::chips(ui, scene, url, is_roomy);
        return;
    }
    folders(ui, scene, is_roomy);
    model(ui, scene, view);
    thinking(ui, scene, is_roomy);
    gauge(ui, scene);
    padlock(ui, scene);
    let is_open = scene.state.panel == Some(Panel::Session);
    let panel = IconButton::new(Icon::SlidersHorizontal, scene.lang.text("top-session-panel")).selected(is_open);
    if ui.add(panel).clicked() {
        scene.push(Intent::Open(Panel::Session));
    }
}

fn padlock(ui: &mut Ui, scene: &mut Scene<'_>) {
    let Some(session) = scene.state.current() else { return };
    let is_local_only = session.is_local_only;
    let (icon, key) = if is_local_only { (Icon::Lock, "top-locked") } else { (Icon::LockOpen, "top-unlocked") };
    if ui.add(IconButton::new(icon, scene.lang.text(key)).selected(is_local_only)).clicked() {
        scene.push(Intent::SetLocalOnly(!is_local_only));
    }
}

fn gauge(ui: &mut Ui, scene: &Scene<'_>) {
    let Some(gauge) = context_gauge(scene.state) else { return };
    let ratio = gauge.ratio();
    let percent = format!("{:.0}%", ratio * 100.0);
    let words = scene.lang.format(
        "top-context",
        &[
            ("used", Arg::from(grouped_number(gauge.used_tokens))),
            ("window", Arg::from(grouped_number(gauge.window_tokens))),
        ],
    );
    let costs: Vec<String> = session_costs(scene.state).iter().map(money).collect();
    let words = if costs.is_empty() {
        words
    } else {
        let cost = scene.lang.format("top-cost", &[("cost", Arg::from(costs.join(" + ")))]);
        format!("{words}\n{cost}")
    };
    ui.add(Chip::new(&percent).gauge(ratio).warning(ratio > 0.8).name(&words)).on_hover_text(words.as_str());
}

/// The key of a thinking level's name.
pub const fn thinking_key(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Auto => "thinking-auto",
        ThinkingLevel::Off => "thinking-off",
        ThinkingLevel::Low => "thinking-low",
        ThinkingLevel::Medium => "thinking-medium",
        ThinkingLevel::High => "thinking-high",
        ThinkingLevel::Max => "thinking-max",
    }
}

/// Every thinking level, in the order of a menu.
pub const THINKING: [ThinkingLevel; 6] = [
    ThinkingLevel::Auto,
    ThinkingLevel::Off,
    ThinkingLevel::Low,
    ThinkingLevel::Medium,
    ThinkingLevel::High,
    ThinkingLevel::Max,
];

fn thinking(ui: &mut Ui, scene: &mut Scene<'_>, is_roomy: bool) {
    let Some(level) = scene.state.current().filter(|session| session.provider != GUIDE).map(|session| session.thinking)
    else {
        return;
    };
    let name = scene.lang.format("top-thinking", &[("level", Arg::from(scene.lang.text(thinking_key(level))))]);
    let chip = if is_roomy {
        let text = scene.lang.text(thinking_key(level));
        ui.add(Chip::new(text).icon(Icon::Brain).name(&name)).on_hover_text(name.as_str())
    } else {
        ui.add(IconButton::new(Icon::Brain, &name))
    };
    let chosen = menu(&chip, 180.0, |ui| {
        menu_heading(ui, scene.lang.text("top-thinking-heading"));
        let mut chosen = None;
        for other in THINKING {
            if ui.add(MenuRow::new(scene.lang.text(thinking_key(other))).checked(other == level)).clicked() {
                chosen = Some(Intent::SetThinking(other));
            }
        }
        chosen
    });
    if let Some(intent) = chosen.and_then(|shown| shown.inner) {
        scene.push(intent);
    }
}

fn model(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let Some(session) = scene.state.current() else { return };
    let is_chosen = !session.model.is_empty();
    let is_guide = session.provider == GUIDE;
    let provider = model_picker::provider_name(scene, &session.provider);
    let (model, provider) = if is_guide {
        (provider.to_owned(), scene.lang.text("top-no-model").to_owned())
    } else {
        (session.model.clone(), provider.to_owned())
    };
    let text = if is_chosen { model.as_str() } else { scene.lang.text("top-choose-model") };
    let mut chip = Chip::new(text)
        .trailing(Icon::ChevronDown)
        .name(scene.lang.text("top-model"))
        .max_width(180.0)
        .strong()
        .warning(!is_chosen);
    if is_chosen {
        chip = chip.detail(&provider);
    }
    let response = ui.add(chip);
    if response.clicked() {
        scene.push(Intent::Open(Panel::Models));
    }
    model_picker::show(&response, scene, view);
}

fn folders(ui: &mut Ui, scene: &mut Scene<'_>, is_roomy: bool) {
    let Some(session) = scene.state.current().cloned() else { return };
    let shared = if is_roomy { session.folders.len() > 2 } else { session.folders.len() > 1 };
    if shared {
        let words = scene.lang.format("top-folders", &[("count", Arg::from(session.folders.len()))]);
        let chip = ui.add(Chip::new(&words).icon(Icon::Folder).trailing(Icon::ChevronDown));
        let chosen = menu(&chip, 340.0, |ui| {
            let mut chosen = None;
            for folder in &session.folders {
                chosen = folder_rows(ui, scene, folder).or(chosen);
            }
            chosen
        });
        if let Some(intent) = chosen.and_then(|shown| shown.inner) {
            scene.push(intent);
        }
    } else {
        for folder in &session.folders {
            folder_chip(ui, scene, folder, is_roomy);
        }
    }
    let add = scene.lang.text("top-add-folder");
    if is_roomy {
        if ui.add(Chip::new(add).icon(Icon::Plus)).clicked() {
            scene.push(Intent::PickPath(PathPurpose::SessionFolder));
        }
    } else if ui.add(IconButton::new(Icon::FolderPlus, add)).clicked() {
        scene.push(Intent::PickPath(PathPurpose::SessionFolder));
    }
}

fn folder_chip(ui: &mut Ui, scene: &mut Scene<'_>, folder: &str, is_roomy: bool) {
    let short = short_path(folder, scene.home);
    let width = if is_roomy { 170.0 } else { 110.0 };
    let chip =
        ui.add(Chip::new(&tail(&short, if is_roomy { 26 } else { 16 })).icon(Icon::Folder).strong().max_width(width));
    let chip = chip.on_hover_text(hover_name(folder));
    let chosen = menu(&chip, 260.0, |ui| folder_rows(ui, scene, folder));
    if let Some(intent) = chosen.and_then(|shown| shown.inner) {
        scene.push(intent);
    }
}

/// The end of a path says more than its beginning.
fn tail(path: &str, most: usize) -> String {
    let count = path.chars().count();
    if count <= most {
        return path.to_owned();
    }
    let cut: String = path.chars().skip(count - most + 1).collect();
    format!("…{cut}")
}

fn folder_rows(ui: &mut Ui, scene: &Scene<'_>, folder: &str) -> Option<Intent> {
    let mut chosen = None;
    menu_heading(ui, &short_path(folder, scene.home));
    if ui.add(MenuRow::new(scene.lang.text("folder-open")).icon(Icon::ExternalLink)).clicked() {
        chosen = Some(Intent::ShowInFolder(folder.into()));
    }
    if ui.add(MenuRow::new(scene.lang.text("folder-copy")).icon(Icon::Copy)).clicked() {
        chosen = Some(Intent::CopyText(folder.to_owned()));
    }
    menu_separator(ui);
    if ui.add(MenuRow::new(scene.lang.text("folder-remove")).icon(Icon::X)).clicked() {
        chosen = Some(Intent::RemoveFolder(folder.to_owned()));
    }
    chosen
}

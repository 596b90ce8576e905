//! The list of chats, with search.

use egui::{
    Align, CornerRadius, Frame, Id, Key, Layout, Margin, Modifiers, Panel, Rect, Response, ScrollArea, Sense, Ui,
    UiBuilder, pos2, vec2,
};

use crate::app::rows::SidebarRow;
use crate::app::session::Badge;
use crate::app::{Intent, PathPurpose, SettingsPage};
use crate::ir::SessionId;
use crate::ui::icon::Icon;
use crate::ui::panel::{found, threads};
use crate::ui::scene::{Scene, ViewState, take_key};
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{
    self, Button, ListRow, MenuRow, RowMark, TextField, Tone, follow_focus, line_of_text, menu_separator,
};

/// Height of the foot without a server's row, in points.
const FOOT: f32 = 44.0;

/// Draws the sidebar at the left.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let colors = scene.theme.colors;
    Panel::left("sidebar")
        .exact_size(size::SIDEBAR)
        .resizable(false)
        .frame(Frame::NONE.fill(colors.sidebar))
        .show_separator_line(true)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
            Frame::NONE
                .inner_margin(Margin { left: 12, right: 12, top: 12, bottom: 8 })
                .show(ui, |ui| head(ui, scene, view));
            // From top to bottom, so that the Tab key goes that way too: a panel at the bottom would come before the list.
            let rest = ui.available_rect_before_wrap();
            let has_links = !scene.state.links.links.is_empty();
            let foot_top = rest.bottom() - if has_links { FOOT + size::ROW } else { FOOT };
            let list = Rect::from_min_max(rest.min, pos2(rest.right(), foot_top)).shrink2(vec2(8.0, 0.0));
            ui.scope_builder(UiBuilder::new().id_salt("sidebar list").max_rect(list), |ui| {
                if scene.state.search.query.trim().is_empty() {
                    sessions(ui, scene, view);
                } else {
                    found::show(ui, scene);
                }
            });
            let place = Rect::from_min_max(pos2(rest.left(), foot_top), rest.max).shrink2(vec2(8.0, 6.0));
            ui.scope_builder(UiBuilder::new().id_salt("sidebar foot").max_rect(place), |ui| foot(ui, scene));
        });
}

fn head(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let width = ui.available_width();
    let new_chat = Button::secondary(scene.lang.text("sidebar-new-chat"))
        .icon(Icon::Plus)
        .shortcut("Ctrl N")
        .left_aligned()
        .width(width);
    if ui.add(new_chat).clicked() {
        scene.push(Intent::NewChat);
    }
    ui.add_space(space::S);
    let name = scene.lang.text("sidebar-search");
    let field =
        TextField::new(&mut view.search, name).hint(name).icon(Icon::Search).quiet().width(width).id(search_id());
    let response = ui.add(field);
    if std::mem::take(&mut view.focus_search) {
        response.request_focus();
    }
    if response.has_focus() && take_key(ui, Modifiers::NONE, Key::Escape) {
        view.search.clear();
        scene.push(Intent::ClearSearch);
        view.focus_composer = true;
    } else if response.changed() {
        scene.push(Intent::Search(view.search.clone()));
    }
}

/// The search field, so that a key can reach it.
pub fn search_id() -> Id {
    Id::unique("search chats")
}

fn foot(ui: &mut Ui, scene: &mut Scene<'_>) {
    let line = ui.max_rect();
    ui.painter().hline(line.x_range(), line.top() - 6.0, scene.theme.line());
    local_tools(ui, scene);
    let line = egui::Rect::from_min_max(ui.cursor().min, line.max);
    let row = ListRow::new(scene.lang.text("settings-title")).icon(Icon::Settings);
    if ui.add(row).on_hover_text("Ctrl ,").clicked() {
        scene.push(Intent::OpenSettings(SettingsPage::General));
    }
    if scene.state.is_unsaved {
        // It stays in sight: everything of this run goes with the window.
        let words = scene.lang.text("sidebar-unsaved");
        let place = egui::Rect::from_center_size(egui::pos2(line.right() - 52.0, line.center().y), vec2(96.0, 20.0));
        ui.put(place, widget::Badge::new(words, Tone::Warn))
            .on_hover_text(scene.lang.text("fault-start-unsaved-detail"));
    }
}

/// Whether a server may use this computer's tools.
fn local_tools(ui: &mut Ui, scene: &mut Scene<'_>) {
    let Some(link) = scene.state.links.foremost() else { return };
    let (words, help) = (threads::local_tools(scene, link), threads::local_tools_help(scene, link));
    let response = ui.add(ListRow::new(&words).icon(Icon::Plug)).on_hover_text(help);
    if response.clicked() {
        scene.push(Intent::OpenSettings(SettingsPage::Servers));
    }
}

fn sessions(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) {
    let rows = &scene.rows.sidebar;
    let mut left = None;
    // All rows are equally high, headings too: only what is visible is laid out.
    ScrollArea::vertical().auto_shrink(false).id_salt("sessions").show_rows(ui, size::ROW, rows.len(), |ui, range| {
        for row in rows.get(range).unwrap_or_default() {
            match row {
                SidebarRow::Heading(key) => heading(ui, scene, key),
                SidebarRow::Server { url, host, is_loading } => {
                    left = left.take().or(threads::heading(ui, scene, url, host, *is_loading));
                }
                SidebarRow::ServerProblem { url, problem } => {
                    left = left.take().or(threads::problem(ui, scene, url, problem));
                }
                SidebarRow::MoreThreads { url, count, is_unfolded } => {
                    left = left.take().or(threads::more(ui, scene, url, *count, *is_unfolded));
                }
                SidebarRow::Session { id, title, badge, is_selected, is_pinned } => {
                    let is_renamed = view.renaming.as_ref().is_some_and(|(renamed, _)| renamed == id);
                    if is_renamed {
                        rename(ui, scene.lang.text("sidebar-rename"), view, &mut left);
                        continue;
                    }
                    let title = if title.is_empty() { scene.lang.text("sidebar-untitled") } else { title };
                    let (mark, words) = mark(*badge, *is_pinned);
                    let words = if words.is_empty() { "" } else { scene.lang.text(words) };
                    let response = ui.add(ListRow::new(title).mark(mark, words).selected(*is_selected));
                    if response.clicked() {
                        left = Some(Intent::SelectSession(id.clone()));
                    }
                    if response.double_clicked() && !id.is_on_server() {
                        view.renaming = Some((id.clone(), title.to_owned()));
                    }
                    let pinned = *is_pinned;
                    if let Some(intent) = context_menu(&response, scene, view, id, title, pinned) {
                        left = Some(intent);
                    }
                }
            }
        }
        follow_focus(ui);
    });
    if let Some(intent) = left {
        scene.push(intent);
    }
    if !scene.state.has_sessions && scene.now.since(scene.state.selected_at) < 300 {
        ui.ctx().request_repaint_after_secs(0.3);
    }
}

fn mark(badge: Badge, is_pinned: bool) -> (RowMark, &'static str) {
    match badge {
        Badge::Running => (RowMark::Running, "sidebar-running"),
        Badge::Waiting => (RowMark::Waiting, "sidebar-waiting"),
        Badge::Failed => (RowMark::Failed, "sidebar-failed"),
        Badge::None if is_pinned => (RowMark::Icon(Icon::Pin), "sidebar-pinned"),
        Badge::None => (RowMark::None, ""),
    }
}

fn heading(ui: &mut Ui, scene: &Scene<'_>, key: &str) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::hover());
    let text = scene.lang.text(key);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Heading, true, text));
    let color = scene.theme.colors.dim;
    let galley = line_of_text(ui, scene.theme, text, Type::MetaMedium, color, rect.width());
    let place = egui::pos2(rect.left() + space::M, rect.bottom() - galley.size().y - 5.0);
    ui.painter().galley(place, galley, color);
}

fn rename(ui: &mut Ui, name: &str, view: &mut ViewState, left: &mut Option<Intent>) {
    let Some((session, mut title)) = view.renaming.take() else { return };
    let id = Id::unique("rename session");
    let response = ui.add(TextField::new(&mut title, name).width(ui.available_width()).id(id));
    let is_cancelled = response.has_focus() && take_key(ui, Modifiers::NONE, Key::Escape);
    if is_cancelled {
        view.focus_composer = true;
        return;
    }
    if response.lost_focus() {
        *left = Some(Intent::RenameSession { session, title });
        view.focus_composer = true;
        return;
    }
    if !response.has_focus() {
        response.request_focus();
    }
    view.renaming = Some((session, title));
}

fn context_menu(
    row: &Response,
    scene: &Scene<'_>,
    view: &mut ViewState,
    id: &SessionId,
    title: &str,
    is_pinned: bool,
) -> Option<Intent> {
    let theme = scene.theme;
    let frame = Frame::NONE
        .fill(theme.colors.background)
        .stroke(theme.line())
        .corner_radius(CornerRadius::same(radius::CARD))
        .shadow(theme.shadow())
        .inner_margin(Margin::same(4));
    let shown = egui::Popup::context_menu(row).frame(frame).show(|ui| {
        ui.set_width(200.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.with_layout(Layout::top_down(Align::Min), |ui| session_menu(ui, scene, view, id, title, is_pinned)).inner
    });
    shown.and_then(|shown| shown.inner)
}

/// The rows of a session's menu: in the sidebar and in the top bar.
pub fn session_menu(
    ui: &mut Ui,
    scene: &Scene<'_>,
    view: &mut ViewState,
    id: &SessionId,
    title: &str,
    is_pinned: bool,
) -> Option<Intent> {
    let mut chosen = None;
    if id.is_on_server() {
        // Its name and place are the server's.
        if ui.add(MenuRow::new(scene.lang.text("session-delete")).icon(Icon::Trash).danger()).clicked() {
            chosen = Some(Intent::DeleteSession(id.clone()));
        }
        return chosen;
    }
    if ui.add(MenuRow::new(scene.lang.text("session-rename")).icon(Icon::Pencil).shortcut("F2")).clicked() {
        view.renaming = Some((id.clone(), title.to_owned()));
    }
    let (pin, icon) = if is_pinned { ("session-unpin", Icon::PinOff) } else { ("session-pin", Icon::Pin) };
    if ui.add(MenuRow::new(scene.lang.text(pin)).icon(icon)).clicked() {
        chosen = Some(Intent::PinSession { session: id.clone(), pinned: !is_pinned });
    }
    if ui.add(MenuRow::new(scene.lang.text("session-fork")).icon(Icon::GitFork)).clicked() {
        chosen = Some(Intent::ForkSession(id.clone()));
    }
    if ui.add(MenuRow::new(scene.lang.text("session-export")).icon(Icon::Upload)).clicked() {
        chosen = Some(Intent::PickPath(PathPurpose::Export(id.clone())));
    }
    menu_separator(ui);
    if ui.add(MenuRow::new(scene.lang.text("session-delete")).icon(Icon::Trash).danger()).clicked() {
        chosen = Some(Intent::DeleteSession(id.clone()));
    }
    chosen
}

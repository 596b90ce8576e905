//! What a search over all chats found, in the sidebar: one row a place, with when, and on which server.

use egui::{Align2, CornerRadius, ScrollArea, Sense, Ui, pos2, vec2};

use crate::app::Intent;
use crate::app::thread::host;
use crate::ir::UnixMs;
use crate::policy::escape_name;
use crate::port::SearchHit;
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, radius, space};
use crate::ui::widget::{focus_ring, follow_focus, line_of_text};

const ROW: f32 = 52.0;

/// Draws the list; a row leads to its place.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>) {
    let search = &scene.state.search;
    if search.hits.is_empty() {
        let key = if search.is_searching { "sidebar-searching" } else { "sidebar-nothing-found" };
        ui.add_space(space::M);
        ui.horizontal(|ui| {
            ui.add_space(space::M);
            ui.label(scene.theme.rich(scene.lang.text(key), Type::Control, scene.theme.colors.dim));
        });
        return;
    }
    let mut jump = None;
    ScrollArea::vertical().auto_shrink(false).id_salt("found").show_rows(ui, ROW, search.hits.len(), |ui, range| {
        for hit in search.hits.get(range).unwrap_or_default() {
            if row(ui, scene, hit) {
                jump = Some(Intent::JumpTo { session: hit.session.clone(), message: hit.message.clone() });
            }
        }
        follow_focus(ui);
    });
    if let Some(intent) = jump {
        scene.push(intent);
    }
}

fn row(ui: &mut Ui, scene: &Scene<'_>, hit: &SearchHit) -> bool {
    let (theme, lang, colors) = (scene.theme, scene.lang, &scene.theme.colors);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    let title = if hit.title.is_empty() { lang.text("sidebar-untitled") } else { &hit.title };
    let date = date(scene, hit.at);
    let server = hit.session.home().map(|(url, _)| escape_name(host(url), false).into_owned());
    // The title stands in the row already.
    let found = if hit.message.is_some() { hit.snippet.as_str() } else { lang.text("sidebar-found-title") };
    response.widget_info(|| {
        let parts = [Some(title), Some(date.as_str()), server.as_deref(), Some(found)];
        let words = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        egui::WidgetInfo::selected(egui::Role::ListItem, true, false, words)
    });
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL), colors.hover);
    }
    focus_ring(ui, &response, rect.shrink(4.0), radius::CONTROL - 2, theme);
    let inner = rect.shrink2(vec2(space::M, 7.0));
    let when = line_of_text(ui, theme, &date, Type::Meta, colors.dim, inner.width());
    let name = line_of_text(
        ui,
        theme,
        title,
        Type::ControlMedium,
        colors.text,
        (inner.width() - when.size().x - space::S).max(40.0),
    );
    let place = Align2::RIGHT_CENTER.anchor_size(pos2(inner.right(), inner.top() + name.size().y / 2.0), when.size());
    ui.painter().galley(inner.min, name, colors.text);
    ui.painter().galley(place.min, when, colors.dim);
    let mut left = inner.left();
    let line = inner.top() + 21.0;
    if let Some(server) = server {
        let words = line_of_text(ui, theme, &server, Type::MetaMedium, colors.dim, inner.width() * 0.45);
        Icon::Server.paint_at(ui.painter(), pos2(left + 6.0, line + words.size().y / 2.0), 12.0, colors.dim);
        left += space::L + 2.0;
        let width = words.size().x;
        ui.painter().galley(pos2(left, line), words, colors.dim);
        left += width + space::S;
    }
    let snippet = line_of_text(ui, theme, found, Type::Meta, colors.dim, inner.right() - left);
    ui.painter().galley(pos2(left, line), snippet, colors.dim);
    response.clicked()
}

/// The clock's time for today, else the day.
fn date(scene: &Scene<'_>, at: UnixMs) -> String {
    const DAY: &str = "%Y-%m-%d";
    let day = scene.moment(at, DAY);
    if day == scene.moment(scene.now, DAY) { scene.moment(at, "%H:%M") } else { day }
}

//! The list of models: search, marks for what each can do, and why a provider is unreachable.

use egui::{
    CornerRadius, Frame, Id, Key, Margin, Modifiers, Popup, PopupCloseBehavior, Response, ScrollArea, Sense, Ui, vec2,
};

use crate::app::models::{GUIDE, OLLAMA};
use crate::app::rows::{ModelRow, short_count};
use crate::app::{Intent, Panel, SettingsPage};
use crate::ir::{Error, Support};
use crate::lang::Arg;
use crate::ui::icon::Icon;
use crate::ui::scene::{Scene, ViewState, take_key};
use crate::ui::sentence;
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{IconButton, Spinner, TextField, focus_ring, hover_line, line_of_text, menu_separator};

const WIDTH: f32 = 400.0;

/// What a provider is called; its id where it has no name of ours.
pub fn provider_name<'text>(scene: &Scene<'text>, id: &'text str) -> &'text str {
    match id {
        OLLAMA => scene.lang.text("provider-ollama"),
        GUIDE => scene.lang.text("provider-guide"),
        other => scene.state.provider_title(other),
    }
}

/// Draws the picker under its chip while it is open.
pub fn show(chip: &Response, scene: &mut Scene<'_>, view: &mut ViewState) {
    if scene.state.panel != Some(Panel::Models) {
        view.model_query.clear();
        return;
    }
    let theme = scene.theme;
    let frame = Frame::NONE
        .fill(theme.colors.background)
        .stroke(theme.line())
        .corner_radius(CornerRadius::same(radius::CARD))
        .shadow(theme.shadow())
        .inner_margin(Margin::same(8));
    let shown = Popup::from_response(chip)
        .id(Id::unique("model picker"))
        .open(true)
        .gap(space::XS)
        .frame(frame)
        .width(WIDTH)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .show(|ui| {
            ui.set_width(WIDTH);
            ui.spacing_mut().item_spacing = vec2(space::S, 2.0);
            content(ui, scene, view)
        });
    let Some(shown) = shown else { return };
    if shown.response.should_close() && shown.inner.is_none() && !chip.clicked() {
        scene.push(Intent::ClosePanel);
    }
    if let Some(intent) = shown.inner {
        scene.push(intent);
    }
}

fn content(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ViewState) -> Option<Intent> {
    let mut chosen = None;
    let name = scene.lang.text("picker-search");
    ui.horizontal(|ui| {
        let width = ui.available_width() - size::CONTROL - space::S;
        let is_new =
            scene.top.is_none() && view.model_query.is_empty() && ui.memory(|memory| memory.focused().is_none());
        let field = TextField::new(&mut view.model_query, name).hint(name).icon(Icon::Search).width(width);
        let response = ui.add(field);
        if is_new {
            response.request_focus();
        }
        let refresh = IconButton::new(Icon::RefreshCw, scene.lang.text("picker-refresh"));
        if ui.add(refresh).clicked() {
            chosen = Some(Intent::RefreshModels(None));
        }
    });
    if scene.top.is_none() && take_key(ui, Modifiers::NONE, Key::Escape) {
        chosen = Some(Intent::ClosePanel);
    }
    ui.add_space(space::XS);
    let query = view.model_query.trim().to_lowercase();
    ScrollArea::vertical().max_height(360.0).auto_shrink([false, true]).show(ui, |ui| {
        for row in &scene.rows.models {
            match row {
                ModelRow::Provider { id, is_loading, problem } => {
                    if !query.is_empty() && !has_match(&scene.rows.models, id, &query) {
                        continue;
                    }
                    provider(ui, scene, id, *is_loading, problem.as_ref());
                }
                ModelRow::Model { provider, id, name, .. } => {
                    let is_match =
                        query.is_empty() || id.to_lowercase().contains(&query) || name.to_lowercase().contains(&query);
                    if is_match && model(ui, scene, row).clicked() {
                        chosen = Some(Intent::ChooseModel { provider: provider.clone(), model: id.clone() });
                    }
                }
            }
        }
    });
    menu_separator(ui);
    let manage = crate::ui::widget::MenuRow::new(scene.lang.text("picker-manage")).icon(Icon::Settings);
    if ui.add(manage).clicked() {
        chosen = Some(Intent::OpenSettings(SettingsPage::Models));
    }
    chosen
}

fn has_match(rows: &[ModelRow], provider: &str, query: &str) -> bool {
    rows.iter().any(|row| match row {
        ModelRow::Model { provider: of, id, name, .. } => {
            of == provider && (id.to_lowercase().contains(query) || name.to_lowercase().contains(query))
        }
        ModelRow::Provider { .. } => false,
    })
}

fn provider(ui: &mut Ui, scene: &Scene<'_>, id: &str, is_loading: bool, problem: Option<&Error>) {
    let colors = scene.theme.colors;
    ui.horizontal(|ui| {
        ui.set_height(26.0);
        ui.add_space(space::S);
        ui.label(scene.theme.rich(provider_name(scene, id), Type::MetaStrong, colors.dim));
        if is_loading {
            ui.add(Spinner::new(scene.lang.text("picker-loading")).diameter(12.0));
        }
    });
    if let Some(problem) = problem {
        ui.horizontal(|ui| {
            ui.add_space(space::S);
            let width = ui.available_width() - space::S;
            ui.allocate_ui(vec2(width, 0.0), |ui| {
                ui.vertical(|ui| {
                    ui.set_width(width);
                    ui.label(scene.theme.rich(sentence::error(scene.lang, problem), Type::Meta, colors.bad));
                    ui.add_space(space::XS);
                });
            });
        });
    }
}

fn model(ui: &mut Ui, scene: &Scene<'_>, row: &ModelRow) -> Response {
    let ModelRow::Model { name, tools, thinking, images, context_tokens, is_chosen, provider, .. } = row else {
        return ui.allocate_response(vec2(0.0, 0.0), Sense::hover());
    };
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::click());
    let marks = [
        (*tools, Icon::Wrench, "picker-tools"),
        (*thinking, Icon::Brain, "picker-thinking"),
        (*images, Icon::Image, "picker-images"),
    ];
    response.widget_info(|| {
        let abilities: Vec<&str> = marks
            .iter()
            .filter(|(support, ..)| *support == Support::Yes)
            .map(|(_, _, key)| scene.lang.text(key))
            .collect();
        let words = if abilities.is_empty() { name.clone() } else { format!("{name}, {}", abilities.join(", ")) };
        egui::WidgetInfo::selected(egui::Role::ListItem, true, *is_chosen, words)
    });
    let colors = scene.theme.colors;
    let is_strong = response.hovered() || response.has_focus();
    if is_strong {
        ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL - 2), colors.hover);
    }
    focus_ring(ui, &response, rect.shrink(4.0), radius::CONTROL - 4, scene.theme);
    let mut right = rect.right() - space::S;
    if *is_chosen {
        Icon::Check.paint_at(ui.painter(), egui::pos2(right - 8.0, rect.center().y), size::ICON, colors.accent);
    }
    right -= size::ICON + space::S;
    let is_guide = provider == GUIDE;
    if !is_guide {
        for (support, icon, _) in marks.iter().rev() {
            if *support == Support::Yes {
                icon.paint_at(ui.painter(), egui::pos2(right - 7.0, rect.center().y), size::SMALL_ICON, colors.dim);
                right -= size::SMALL_ICON + space::XS + 2.0;
            }
        }
    }
    if *context_tokens > 0 && !is_guide {
        let words = short_count(*context_tokens);
        let galley = line_of_text(ui, scene.theme, &words, Type::Meta, colors.dim, 80.0);
        let x = right - space::S - galley.size().x;
        ui.painter().galley(egui::pos2(x, rect.center().y - galley.size().y / 2.0), galley, colors.dim);
        right = x;
    }
    let type_ = if *is_chosen { Type::ControlMedium } else { Type::Control };
    let left = rect.left() + space::S;
    let shown_name = if is_guide { scene.lang.text("picker-guide") } else { name };
    let galley = line_of_text(ui, scene.theme, shown_name, type_, colors.text, right - left - space::S);
    ui.painter().galley(egui::pos2(left, rect.center().y - galley.size().y / 2.0), galley, colors.text);
    let hover = if *tools == Support::No {
        scene.lang.format("picker-no-tools", &[("model", Arg::from(name.as_str()))])
    } else {
        name.clone()
    };
    response.on_hover_text(hover_line(&hover))
}

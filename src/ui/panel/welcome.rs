//! An empty chat: what answers here, and which folder to work in.

use egui::{Align, CornerRadius, Frame, Layout, Margin, Rect, Response, ScrollArea, Stroke, Ui, UiBuilder, pos2, vec2};

use crate::app::models::{GUIDE, OLLAMA};
use crate::app::rows::short_path;
use crate::app::{Intent, PathPurpose, SettingsPage};
use crate::ir::{ModelInfo, Support};
use crate::lang::{Arg, Lang};
use crate::port::ModelsState;
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::settings::provider::preset_rows;
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::{Button, ButtonKind, Spinner, menu};

const WIDTH: f32 = 560.0;

/// One row: what it is, a line about it, and what can be done.
struct Row<'text> {
    icon: Icon,
    is_good: bool,
    title: &'text str,
    detail: &'text str,
    button: Option<(ButtonKind, &'text str)>,
}

/// Draws the welcome in the middle of the room that is left.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>) {
    let room = ui.available_rect_before_wrap();
    ScrollArea::vertical().auto_shrink(false).id_salt("welcome").show(ui, |ui| {
        let width = WIDTH.min(room.width() - 2.0 * space::XXL);
        let id = ui.scope_id().with("welcome height");
        let height: f32 = ui.data(|data| data.get_temp(id)).unwrap_or(380.0);
        ui.add_space(((room.height() - height) * 0.42).max(space::XXL));
        let left = ((ui.available_width() - width) / 2.0).max(0.0);
        let response = ui.horizontal(|ui| {
            ui.add_space(left);
            ui.vertical(|ui| {
                ui.set_width(width);
                content(ui, scene);
            });
        });
        let drawn = response.response.rect.height();
        if (drawn - height).abs() > 1.0 {
            ui.data_mut(|data| data.insert_temp(id, drawn));
            ui.ctx().request_discard("the welcome found its height");
        }
        ui.add_space(space::XL);
    });
}

fn content(ui: &mut Ui, scene: &mut Scene<'_>) {
    ui.spacing_mut().item_spacing = vec2(space::S, 0.0);
    let colors = scene.theme.colors;
    ui.label(scene.theme.rich(scene.lang.text("welcome-title"), Type::Welcome, colors.text));
    ui.add_space(space::XS);
    ui.label(scene.theme.rich(scene.lang.text("welcome-promise"), Type::Control, colors.dim));
    ui.add_space(space::L);
    group(ui, scene, |ui, scene| {
        ollama(ui, scene);
        line(ui, scene);
        cloud(ui, scene);
        line(ui, scene);
        guide(ui, scene);
    });
    ui.add_space(space::XL);
    group(ui, scene, folder);
}

fn group(ui: &mut Ui, scene: &mut Scene<'_>, rows: impl FnOnce(&mut Ui, &mut Scene<'_>)) {
    Frame::NONE
        .stroke(scene.theme.line())
        .corner_radius(CornerRadius::same(radius::MODAL))
        .inner_margin(Margin::ZERO)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            rows(ui, scene);
        });
}

fn line(ui: &mut Ui, scene: &Scene<'_>) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 1.0), egui::Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y, Stroke::new(1.0, scene.theme.colors.line));
}

/// Draws a row; gives its button's response.
fn row(ui: &mut Ui, scene: &Scene<'_>, row: &Row<'_>) -> Option<Response> {
    let colors = scene.theme.colors;
    let top = ui.cursor().min;
    let width = ui.available_width();
    let padding = vec2(space::L, space::M);
    let left = top.x + padding.x + size::ICON + space::M;
    let id = ui.scope_id().with(("welcome row", row.title));
    // The height that the words took in the last frame: the button stands in its middle.
    let known: f32 = ui.data(|data| data.get_temp(id)).unwrap_or(68.0);
    let mut button_left = top.x + width - padding.x;
    let mut response = None;
    if let Some((kind, text)) = row.button {
        let place = Rect::from_min_size(top, vec2(width - padding.x, known));
        let mut child = ui.new_child(UiBuilder::new().max_rect(place).layout(Layout::right_to_left(Align::Center)));
        let name = format!("{text}, {}", row.title);
        let is_short = scene.lang.text("welcome-start") == text || scene.lang.text("welcome-choose") == text;
        let button = Button::new(kind, text);
        response = Some(child.add(if is_short { button.name(&name) } else { button }));
        button_left = child.min_rect().left();
    }
    let text_width = (button_left - left - space::M).max(80.0);
    let text_rect = Rect::from_min_size(pos2(left, top.y + padding.y), vec2(text_width, 44.0));
    let mut words = ui.new_child(UiBuilder::new().max_rect(text_rect).layout(Layout::top_down(Align::Min)));
    words.spacing_mut().item_spacing.y = 0.0;
    words.label(scene.theme.rich(row.title, Type::ControlMedium, colors.text));
    words.label(scene.theme.rich(row.detail, Type::Control, colors.dim));
    let height = (words.min_rect().height() + 2.0 * padding.y).max(68.0);
    if (height - known).abs() > 0.5 {
        ui.data_mut(|data| data.insert_temp(id, height));
        ui.ctx().request_discard("a row of the welcome found its height");
    }
    let color = if row.is_good { colors.accent } else { colors.dim };
    row.icon.paint_at(ui.painter(), pos2(top.x + padding.x + 8.0, top.y + height / 2.0), size::ICON, color);
    ui.advance_cursor_after_rect(Rect::from_min_size(top, vec2(width, height)));
    response
}

fn ollama(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    let models = &scene.state.models;
    let best = models.best_of(OLLAMA);
    match (models.providers.get(OLLAMA), best) {
        (_, Some(best)) => {
            let count = models.of(OLLAMA).len();
            let here = lang.format("welcome-models-here", &[("count", Arg::from(count))]);
            let is_used = scene
                .state
                .current()
                .is_some_and(|session| session.provider == OLLAMA && models.find(OLLAMA, &session.model).is_some());
            let used = scene.state.current().map(|session| session.model.clone()).unwrap_or_default();
            let id = if is_used { used.as_str() } else { best.id.as_str() };
            let detail = with_tools(lang, here, models.find(OLLAMA, id).unwrap_or(best));
            let key = if is_used { "welcome-using" } else { "welcome-use" };
            let text = lang.format(key, &[("model", Arg::from(id))]);
            let kind = if is_used { ButtonKind::Secondary } else { ButtonKind::Primary };
            let clicked = row(
                ui,
                scene,
                &Row {
                    icon: Icon::Check,
                    is_good: true,
                    title: lang.text("welcome-ollama-runs"),
                    detail: &detail,
                    button: Some((kind, &text)),
                },
            );
            if clicked.is_some_and(|button| button.clicked()) {
                let intent = if is_used {
                    Intent::Open(crate::app::Panel::Models)
                } else {
                    Intent::ChooseModel { provider: OLLAMA.to_owned(), model: best.id.clone() }
                };
                scene.push(intent);
            }
        }
        (Some(ModelsState::Ready(_)), None) => {
            let clicked = row(
                ui,
                scene,
                &Row {
                    icon: Icon::Download,
                    is_good: false,
                    title: lang.text("welcome-ollama-empty"),
                    detail: lang.text("welcome-ollama-empty-detail"),
                    button: Some((ButtonKind::Secondary, lang.text("welcome-download"))),
                },
            );
            if clicked.is_some_and(|button| button.clicked()) {
                scene.push(Intent::OpenSettings(SettingsPage::Models));
            }
        }
        (Some(ModelsState::Loading) | None, None) => {
            row(
                ui,
                scene,
                &Row {
                    icon: Icon::Cpu,
                    is_good: false,
                    title: lang.text("welcome-ollama-search"),
                    detail: &scene.state.settings.models.ollama_url,
                    button: None,
                },
            );
            let corner = ui.min_rect().right_bottom() - vec2(30.0, 34.0);
            ui.put(Rect::from_center_size(corner, vec2(16.0, 16.0)), Spinner::new(lang.text("welcome-ollama-search")));
        }
        (Some(ModelsState::Failed(_)), None) => {
            let detail = lang.format(
                "welcome-ollama-missing-detail",
                &[("url", Arg::from(scene.state.settings.models.ollama_url.as_str()))],
            );
            let clicked = row(
                ui,
                scene,
                &Row {
                    icon: Icon::Cpu,
                    is_good: false,
                    title: lang.text("welcome-ollama-missing"),
                    detail: &detail,
                    button: Some((ButtonKind::Secondary, lang.text("welcome-again"))),
                },
            );
            if clicked.is_some_and(|button| button.clicked()) {
                scene.push(Intent::RefreshModels(Some(OLLAMA.to_owned())));
            }
        }
    }
}

/// A provider that was set up and answers, or the way to one.
fn cloud(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    let state = scene.state;
    let ready = state.settings.providers.iter().find_map(|record| Some((record, state.models.best_of(&record.id)?)));
    if let Some((record, best)) = ready {
        let used = state.current().filter(|session| session.provider == record.id && !session.model.is_empty());
        let is_used = used.is_some();
        let model = used.map_or(best.id.as_str(), |session| session.model.as_str());
        let text = lang.format(if is_used { "welcome-using" } else { "welcome-use" }, &[("model", Arg::from(model))]);
        let count = state.models.of(&record.id).len();
        let there = lang.format("welcome-models", &[("count", Arg::from(count))]);
        let shown = used.and_then(|session| state.models.find(&record.id, &session.model)).unwrap_or(best);
        let detail = with_tools(lang, there, shown);
        let has_model = state.current().is_some_and(|session| !session.model.is_empty());
        let kind = if has_model { ButtonKind::Secondary } else { ButtonKind::Primary };
        let title = lang.format("welcome-provider", &[("name", Arg::from(state.provider_title(&record.id)))]);
        let clicked = row(
            ui,
            scene,
            &Row { icon: Icon::Link, is_good: true, title: &title, detail: &detail, button: Some((kind, &text)) },
        );
        if clicked.is_some_and(|button| button.clicked()) {
            let intent = if is_used {
                Intent::Open(crate::app::Panel::Models)
            } else {
                Intent::ChooseModel { provider: record.id.clone(), model: best.id.clone() }
            };
            scene.push(intent);
        }
        return;
    }
    let clicked = row(
        ui,
        scene,
        &Row {
            icon: Icon::Link,
            is_good: true,
            title: lang.text("welcome-cloud"),
            detail: lang.text("welcome-cloud-detail"),
            button: Some((ButtonKind::Secondary, lang.text("welcome-key"))),
        },
    );
    let Some(button) = clicked else { return };
    let chosen = menu(&button, 340.0, |ui| preset_rows(ui, scene)).and_then(|shown| shown.inner);
    if let Some(preset) = chosen {
        scene.push(Intent::BeginProvider(preset));
    }
}

/// How many models there are, and whether the one that is offered can use tools, where that is known.
fn with_tools(lang: &Lang, count: String, model: &ModelInfo) -> String {
    let key = match model.supports_tool_calling {
        Support::Yes => "welcome-tools",
        Support::No => "welcome-no-tools",
        Support::Unknown => return count,
    };
    format!("{count} · {}", lang.format(key, &[("model", Arg::from(model.id.as_str()))]))
}

fn guide(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    let is_used = scene.state.current().is_some_and(|session| session.provider == GUIDE);
    let model = scene.state.models.of(GUIDE).first().map(|model| model.id.clone());
    let text = lang.text(if is_used { "welcome-guide-chosen" } else { "welcome-start" });
    let clicked = row(
        ui,
        scene,
        &Row {
            icon: Icon::Terminal,
            is_good: true,
            title: lang.text("welcome-guide"),
            detail: lang.text("welcome-guide-detail"),
            button: Some((ButtonKind::Secondary, text)),
        },
    );
    if clicked.is_some_and(|button| button.clicked()) && !is_used {
        let model = model.unwrap_or_else(|| GUIDE.to_owned());
        scene.push(Intent::ChooseModel { provider: GUIDE.to_owned(), model });
    }
}

fn folder(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    let folders: Vec<String> = scene
        .state
        .current()
        .map(|session| session.folders.iter().map(|folder| short_path(folder, scene.home)).collect())
        .unwrap_or_default();
    let is_chosen = !folders.is_empty();
    let title = if is_chosen {
        lang.format("welcome-folder-chosen", &[("folders", Arg::from(folders.join(", ")))])
    } else {
        lang.text("welcome-folder").to_owned()
    };
    let text = lang.text(if is_chosen { "welcome-folder-more" } else { "welcome-choose" });
    let has_model = scene.state.current().is_some_and(|session| !session.model.is_empty());
    let kind = if has_model && !is_chosen { ButtonKind::Primary } else { ButtonKind::Secondary };
    let clicked = row(
        ui,
        scene,
        &Row {
            icon: Icon::Folder,
            is_good: true,
            title: &title,
            detail: lang.text("welcome-folder-detail"),
            button: Some((kind, text)),
        },
    );
    if clicked.is_some_and(|button| button.clicked()) {
        scene.push(Intent::PickPath(PathPurpose::SessionFolder));
    }
}

//! What a provider offers: its models with what they can do, hold and cost; downloads where it has them.

use egui::{Ui, vec2};

use crate::app::Intent;
use crate::app::models::{GUIDE, OLLAMA, Pull};
use crate::app::rows::{bytes, short_count};
use crate::ir::{ModelInfo, Pricing, Support};
use crate::lang::Arg;
use crate::ui::icon::Icon;
use crate::ui::panel::model_picker::provider_name;
use crate::ui::scene::Scene;
use crate::ui::sentence;
use crate::ui::widget::{Badge, Button, IconButton, MenuRow, Select, TextField, Tone};

use super::{SettingsView, row};

/// Models that are drawn at once; the search finds the others.
const SHOWN: usize = 30;

/// What is looked for and half-typed in the list.
#[derive(Debug, Default)]
pub(super) struct ModelListView {
    provider: String,
    query: String,
    /// The model to download.
    pull: String,
    price: Option<PriceView>,
}

/// A price while it is typed.
#[derive(Debug)]
struct PriceView {
    model: String,
    input: String,
    output: String,
    currency: String,
}

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let view = &mut view.models;
    let is_known = scene.state.models.providers.contains_key(&view.provider);
    if !is_known {
        OLLAMA.clone_into(&mut view.provider);
    }
    head(ui, scene, view);
    let state = scene.state;
    let query = view.query.trim().to_lowercase();
    let models = state.models.of(&view.provider);
    let matching = models.iter().filter(|model| query.is_empty() || model.id.to_lowercase().contains(&query));
    let mut count = 0;
    for model in matching {
        count += 1;
        if count <= SHOWN {
            one(ui, scene, view, model);
        }
    }
    let lang = scene.lang;
    if models.is_empty() {
        let help = if view.provider == OLLAMA { "settings-no-models-help" } else { "settings-no-models-elsewhere" };
        row(ui, scene.theme, lang.text("settings-no-models"), lang.text(help), |_| ());
    } else if count > SHOWN {
        let words = lang.format("settings-models-more", &[("count", Arg::from(count - SHOWN))]);
        row(ui, scene.theme, &words, "", |_| ());
    } else if count == 0 {
        row(ui, scene.theme, lang.text("settings-models-no-match"), "", |_| ());
    }
    let can_pull = view.provider == OLLAMA || state.preset(&view.provider).is_some_and(|preset| preset.id == OLLAMA);
    if can_pull {
        pulls(ui, scene, view);
    }
}

fn head(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ModelListView) {
    let lang = scene.lang;
    let shown = provider_name(scene, &view.provider).to_owned();
    let name = lang.text("settings-models-of");
    let (chosen, refreshes) = row(ui, scene.theme, name, "", |ui| {
        let search = TextField::new(&mut view.query, lang.text("picker-search")).icon(Icon::Search).width(180.0);
        ui.add(search.hint(lang.text("picker-search")));
        let (_, chosen) = Select::new(&shown, name).width(200.0).show(ui, |ui| {
            let mut chosen = None;
            for id in scene.state.models.providers.keys().filter(|id| id.as_str() != GUIDE) {
                if ui.add(MenuRow::new(provider_name(scene, id)).checked(*id == view.provider)).clicked() {
                    chosen = Some(id.clone());
                }
            }
            chosen
        });
        let refreshes = ui.add(IconButton::new(Icon::RefreshCw, lang.text("picker-refresh"))).clicked();
        (chosen.flatten(), refreshes)
    });
    if refreshes {
        scene.push(Intent::RefreshModels(Some(view.provider.clone())));
    }
    if let Some(provider) = chosen {
        *view = ModelListView { provider, ..ModelListView::default() };
    }
}

fn one(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ModelListView, model: &ModelInfo) {
    let lang = scene.lang;
    let key = format!("{}/{}", model.provider_id, model.id);
    let price = scene.state.price_of(model);
    let context = if model.context_window > 0 {
        lang.format("settings-context-k", &[("tokens", Arg::from(short_count(model.context_window)))])
    } else {
        lang.text("settings-context-unknown").to_owned()
    };
    let help = match price {
        Some(price) => format!("{context} · {}", price_words(scene, price)),
        None => context,
    };
    let has_price = view.provider != OLLAMA;
    let edits = row(ui, scene.theme, &model.id, &help, |ui| {
        if model.supports_tool_calling == Support::No {
            ui.add(Badge::new(lang.text("settings-no-tools"), Tone::Warn));
        }
        for (support, key) in [
            (model.supports_tool_calling, "picker-tools"),
            (model.supports_thinking, "picker-thinking"),
            (model.supports_images, "picker-images"),
        ] {
            if support == Support::Yes {
                ui.add(Badge::new(lang.text(key), Tone::Neutral));
            }
        }
        let name = lang.format("settings-price-edit", &[("model", Arg::from(model.id.as_str()))]);
        has_price && ui.add(IconButton::new(Icon::Pencil, &name).small()).clicked()
    });
    if edits {
        let is_open = view.price.as_ref().is_some_and(|open| open.model == key);
        view.price = (!is_open).then(|| PriceView {
            model: key.clone(),
            input: price.map(|price| price.input_per_million.to_string()).unwrap_or_default(),
            output: price.map(|price| price.output_per_million.to_string()).unwrap_or_default(),
            currency: price.map_or_else(|| "USD".to_owned(), |price| price.currency.clone()),
        });
    }
    if view.price.as_ref().is_some_and(|open| open.model == key) {
        price_form(ui, scene, view);
    }
}

fn price_words(scene: &Scene<'_>, price: &Pricing) -> String {
    let words = scene.lang.format(
        "settings-price",
        &[
            ("input", Arg::from(price.input_per_million.to_string())),
            ("output", Arg::from(price.output_per_million.to_string())),
            ("currency", Arg::from(price.currency.as_str())),
        ],
    );
    match &price.source {
        Some(source) => format!("{words} · {source}"),
        None => words,
    }
}

fn price_form(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ModelListView) {
    let lang = scene.lang;
    let Some(open) = &mut view.price else { return };
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|price| price.is_finite() && *price >= 0.0);
    let currency = open.currency.trim().to_uppercase();
    let is_currency = currency.len() == 3 && currency.chars().all(|c| c.is_ascii_uppercase());
    let price = number(&open.input).zip(number(&open.output)).filter(|_| is_currency).map(|(input, output)| Pricing {
        input_per_million: input,
        output_per_million: output,
        cached_input_per_million: None,
        currency,
        source: None,
    });
    let (saves, resets) =
        row(ui, scene.theme, lang.text("settings-price-own"), lang.text("settings-price-help"), |ui| {
            for (text, key) in [
                (&mut open.input, "settings-price-input"),
                (&mut open.output, "settings-price-output"),
                (&mut open.currency, "settings-price-currency"),
            ] {
                let name = lang.text(key);
                ui.add(TextField::new(text, name).hint(name).width(84.0)).on_hover_text(name);
            }
            let resets = ui.add(Button::ghost(lang.text("settings-price-reset"))).clicked();
            let saves = ui.add(Button::secondary(lang.text("settings-price-save")).disabled(price.is_none())).clicked();
            (saves, resets)
        });
    let model = open.model.clone();
    if saves || resets {
        view.price = None;
        scene.push(Intent::SetPrice { model, price: price.filter(|_| saves) });
    }
}

fn pulls(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut ModelListView) {
    let lang = scene.lang;
    let running: Vec<(String, Pull)> = scene
        .state
        .models
        .pulls
        .iter()
        .filter(|((provider, _), _)| *provider == view.provider)
        .map(|((_, model), pull)| (model.clone(), pull.clone()))
        .collect();
    for (model, pull) in running {
        pull_row(ui, scene, &view.provider, &model, &pull);
    }
    let (name, help) = (lang.text("settings-pull"), lang.text("settings-pull-help"));
    let starts = row(ui, scene.theme, name, help, |ui| {
        let field = TextField::new(&mut view.pull, lang.text("settings-pull-field"));
        let field = ui.add(field.hint("qwen3:8b").mono().width(200.0));
        let by_enter = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let is_empty = view.pull.trim().is_empty();
        let clicked =
            ui.add(Button::secondary(lang.text("settings-pull-start")).icon(Icon::Download).disabled(is_empty));
        (clicked.clicked() || by_enter) && !is_empty
    });
    if starts {
        let model = std::mem::take(&mut view.pull);
        scene.push(Intent::PullModel { provider: view.provider.clone(), model });
    }
}

fn pull_row(ui: &mut Ui, scene: &mut Scene<'_>, provider: &str, model: &str, pull: &Pull) {
    let lang = scene.lang;
    let theme = scene.theme;
    let part = if pull.total_bytes > 0 { pull.completed_bytes as f32 / pull.total_bytes as f32 } else { 0.0 };
    let help = match &pull.error {
        Some(error) => sentence::error(lang, error),
        None if pull.total_bytes > 0 => lang.format(
            "settings-pull-progress",
            &[("done", Arg::from(bytes(pull.completed_bytes))), ("total", Arg::from(bytes(pull.total_bytes)))],
        ),
        None => lang.text("settings-pull-starting").to_owned(),
    };
    let cancels = row(ui, theme, model, &help, |ui| {
        if pull.error.is_none() {
            let (rect, response) = ui.allocate_exact_size(vec2(160.0, 6.0), egui::Sense::hover());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ProgressIndicator, true, help.as_str()));
            let corner = egui::CornerRadius::same(3);
            ui.painter().rect_filled(rect, corner, theme.colors.hover);
            let done = egui::Rect::from_min_size(rect.min, vec2(rect.width() * part.clamp(0.0, 1.0), rect.height()));
            ui.painter().rect_filled(done, corner, theme.colors.accent);
        }
        let name = lang.format("settings-pull-cancel", &[("model", Arg::from(model))]);
        ui.add(IconButton::new(Icon::X, &name)).clicked()
    });
    if cancels {
        scene.push(Intent::CancelPull { provider: provider.to_owned(), model: model.to_owned() });
    }
}

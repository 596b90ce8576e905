//! Where answers come from: Ollama's address, its models and downloads, and the defaults of new chats.

use egui::{Ui, vec2};
use serde_json::json;

use crate::app::Intent;
use crate::app::models::{GUIDE, OLLAMA, Pull};
use crate::app::rows::{ModelRow, bytes};
use crate::ir::Support;
use crate::lang::Arg;
use crate::port::ModelsState;
use crate::ui::icon::Icon;
use crate::ui::panel::model_picker::provider_name;
use crate::ui::panel::top_bar::{THINKING, thinking_key};
use crate::ui::scene::Scene;
use crate::ui::sentence;
use crate::ui::widget::{Badge, Button, IconButton, MenuRow, Select, Tone};

use super::general::choice;
use super::{SettingsView, dotted_row, field, group, heading, number_row, row, switch_row, title};

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-page-models"), lang.text("settings-models-line"));
    group(ui, scene, |ui, scene| {
        ollama(ui, scene, view);
        guide(ui, scene);
    });
    heading(ui, scene, lang.text("settings-installed"));
    group(ui, scene, |ui, scene| installed(ui, scene, view));
    heading(ui, scene, lang.text("settings-defaults"));
    group(ui, scene, |ui, scene| defaults(ui, scene, view));
}

fn ollama(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    let state = scene.state.models.providers.get(OLLAMA);
    let count = scene.state.models.of(OLLAMA).len();
    let (words, color, is_busy) = match state {
        Some(ModelsState::Ready(_)) => {
            (lang.format("settings-ollama-running", &[("count", Arg::from(count))]), scene.theme.colors.good, false)
        }
        Some(ModelsState::Failed(error)) => (sentence::error(lang, error), scene.theme.colors.bad, false),
        Some(ModelsState::Loading) | None => {
            (lang.text("settings-ollama-asking").to_owned(), scene.theme.colors.faint, true)
        }
    };
    let stored = scene.state.settings.models.ollama_url.clone();
    let theme = scene.theme;
    let mut tests = false;
    let (response, typed) = dotted_row(ui, theme, color, lang.text("provider-ollama"), &words, |ui| {
        tests = ui.add(Button::secondary(lang.text("settings-test")).busy(is_busy)).clicked();
        let name = lang.text("settings-ollama-url");
        field(ui, view, "models.ollama_url", name, &stored, |field| field.mono().width(260.0))
    });
    let is_changed = typed.trim() != stored && !typed.trim().is_empty();
    if is_changed && (response.lost_focus() || tests) {
        scene.push(Intent::SetSetting { key: "models.ollama_url", value: json!(typed.trim()) });
        tests = true;
    }
    if tests {
        scene.push(Intent::RefreshModels(Some(OLLAMA.to_owned())));
    }
}

fn guide(ui: &mut Ui, scene: &Scene<'_>) {
    let lang = scene.lang;
    let color = scene.theme.colors.good;
    dotted_row(ui, scene.theme, color, lang.text("provider-guide"), lang.text("settings-guide-help"), |ui| {
        ui.add(Badge::new(lang.text("settings-always-there"), Tone::Neutral))
    });
}

fn installed(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    let rows: Vec<&ModelRow> = scene
        .rows
        .models
        .iter()
        .filter(|row| match row {
            ModelRow::Model { provider, .. } => provider == OLLAMA,
            ModelRow::Provider { .. } => false,
        })
        .collect();
    if rows.is_empty() {
        row(ui, scene.theme, lang.text("settings-no-models"), lang.text("settings-no-models-help"), |_| ());
    }
    for model in rows {
        let ModelRow::Model { name, tools, thinking, images, context_tokens, .. } = model else { continue };
        let context = if *context_tokens > 0 {
            let tokens = i64::try_from(*context_tokens / 1024).unwrap_or(i64::MAX);
            lang.format("settings-context-k", &[("tokens", Arg::Number(tokens))])
        } else {
            lang.text("settings-context-unknown").to_owned()
        };
        row(ui, scene.theme, name, &context, |ui| {
            for (support, key) in [(images, "picker-images"), (thinking, "picker-thinking"), (tools, "picker-tools")] {
                if *support == Support::Yes {
                    ui.add(Badge::new(lang.text(key), Tone::Neutral));
                }
            }
            if *tools == Support::No {
                ui.add(Badge::new(lang.text("settings-no-tools"), Tone::Warn));
            }
        });
    }
    let pulls: Vec<((String, String), Pull)> =
        scene.state.models.pulls.iter().map(|(key, pull)| (key.clone(), pull.clone())).collect();
    for ((provider, model), pull) in pulls {
        pull_row(ui, scene, &provider, &model, &pull);
    }
    let theme = scene.theme;
    let (name, help) = (lang.text("settings-pull"), lang.text("settings-pull-help"));
    let starts = row(ui, theme, name, help, |ui| {
        let is_empty = view.pull.trim().is_empty();
        let clicked =
            ui.add(Button::secondary(lang.text("settings-pull-start")).icon(Icon::Download).disabled(is_empty));
        let field = crate::ui::widget::TextField::new(&mut view.pull, lang.text("settings-pull-field"));
        let field = ui.add(field.hint("qwen3:8b").mono().width(200.0));
        let by_enter = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        (clicked.clicked() || by_enter) && !is_empty
    });
    if starts {
        let model = std::mem::take(&mut view.pull);
        scene.push(Intent::PullModel { provider: OLLAMA.to_owned(), model });
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
        let name = lang.format("settings-pull-cancel", &[("model", Arg::from(model))]);
        let clicked = ui.add(IconButton::new(Icon::X, &name)).clicked();
        if pull.error.is_none() {
            let (rect, response) = ui.allocate_exact_size(vec2(160.0, 6.0), egui::Sense::hover());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ProgressIndicator, true, help.as_str()));
            let corner = egui::CornerRadius::same(3);
            ui.painter().rect_filled(rect, corner, theme.colors.hover);
            let done = egui::Rect::from_min_size(rect.min, vec2(rect.width() * part.clamp(0.0, 1.0), rect.height()));
            ui.painter().rect_filled(done, corner, theme.colors.accent);
        }
        clicked
    });
    if cancels {
        scene.push(Intent::CancelPull { provider: provider.to_owned(), model: model.to_owned() });
    }
}

fn defaults(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    let models = scene.state.settings.models.clone();
    default_model(ui, scene);
    number_row(
        ui,
        scene,
        view,
        "models.num_ctx",
        lang.text("settings-num-ctx"),
        lang.text("settings-num-ctx-help"),
        u64::from(models.num_ctx),
        512..=2_097_152,
    );
    let theme = scene.theme;
    let (name, help) = (lang.text("settings-keep-alive"), lang.text("settings-keep-alive-help"));
    let (response, typed) = row(ui, theme, name, help, |ui| {
        field(ui, view, "models.keep_alive", name, &models.keep_alive, |field| field.hint("5m").mono().width(120.0))
    });
    if response.lost_focus() && typed.trim() != models.keep_alive {
        scene.push(Intent::SetSetting { key: "models.keep_alive", value: json!(typed.trim()) });
    }
    let stored = format!("{}", models.temperature);
    let name = lang.text("settings-temperature");
    let parse = |text: &str| text.trim().parse::<f64>().ok().filter(|value| (0.0..=2.0).contains(value));
    let is_wrong = view.fields.get("models.temperature").is_some_and(|text| parse(text).is_none());
    let (response, typed) = row(ui, theme, name, lang.text("settings-temperature-help"), |ui| {
        field(ui, view, "models.temperature", name, &stored, |field| field.width(120.0).wrong(is_wrong))
    });
    if response.lost_focus()
        && let Some(value) = parse(&typed)
        && (value - models.temperature).abs() > f64::EPSILON
    {
        scene.push(Intent::SetSetting { key: "models.temperature", value: json!(value) });
    }
    let names = THINKING.map(|level| lang.text(thinking_key(level)));
    let current = THINKING.iter().position(|level| *level == models.thinking).unwrap_or(0);
    let (name, help) = (lang.text("settings-thinking"), lang.text("settings-thinking-help"));
    if let Some(level) = choice(ui, scene, name, help, &names, current).and_then(|index| THINKING.get(index)) {
        scene.push(Intent::SetSetting { key: "models.thinking", value: json!(level) });
    }
    let name = lang.text("settings-show-thinking");
    switch_row(ui, scene, "models.show_thinking", name, "", models.show_thinking);
    let (name, help) = (lang.text("settings-max-rounds"), lang.text("settings-max-rounds-help"));
    number_row(ui, scene, view, "models.max_rounds", name, help, u64::from(models.max_rounds), 1..=100);
}

fn default_model(ui: &mut Ui, scene: &mut Scene<'_>) {
    let lang = scene.lang;
    let settings = &scene.state.settings.models;
    let shown = if settings.default_model.is_empty() {
        lang.text("settings-default-none").to_owned()
    } else {
        format!("{} · {}", settings.default_model, provider_name(lang, &settings.default_provider))
    };
    let name = lang.text("settings-default-model");
    let chosen = row(ui, scene.theme, name, "", |ui| {
        let (_, chosen) = Select::new(&shown, name).width(260.0).show(ui, |ui| {
            let mut chosen = None;
            for row in &scene.rows.models {
                if let ModelRow::Model { provider, id, name, .. } = row {
                    let is_current = *id == settings.default_model && *provider == settings.default_provider;
                    let shown = if provider == GUIDE { lang.text("picker-guide") } else { name };
                    let row = MenuRow::new(shown).detail(provider_name(lang, provider)).checked(is_current);
                    if ui.add(row).clicked() {
                        chosen = Some((provider.clone(), id.clone()));
                    }
                }
            }
            chosen
        });
        chosen.flatten()
    });
    if let Some((provider, model)) = chosen {
        scene.push(Intent::SetSetting { key: "models.default_provider", value: json!(provider) });
        scene.push(Intent::SetSetting { key: "models.default_model", value: json!(model) });
    }
}

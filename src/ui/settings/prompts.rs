//! The person's own system prompt, and the prompts that they send again and again.

use egui::{CornerRadius, Frame, Id, Margin, Response, ScrollArea, TextEdit, Ui};
use serde_json::json;

use crate::app::Intent;
use crate::port::SavedPrompt;
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, radius, space};
use crate::ui::widget::{Button, TextField, hover_line};

use super::{SettingsView, group, heading, note, row, switch_row, title};

const KEY: &str = "models.system_prompt";

/// A prompt while it is typed.
#[derive(Debug, Default)]
pub(super) struct PromptView {
    /// The name of the one that is edited; `None` for a new one.
    of: Option<String>,
    name: String,
    text: String,
    /// The name gets the keyboard in the next frame.
    wants_focus: bool,
}

impl PromptView {
    fn empty() -> Self {
        Self { wants_focus: true, ..Self::default() }
    }

    fn of(prompt: &SavedPrompt) -> Self {
        Self { of: Some(prompt.name.clone()), name: prompt.name.clone(), text: prompt.text.clone(), wants_focus: true }
    }

    /// Where the edited one stands, while it is there.
    fn place(&self, prompts: &[SavedPrompt]) -> Option<usize> {
        prompts.iter().position(|prompt| Some(&prompt.name) == self.of.as_ref())
    }
}

pub(super) fn show(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut SettingsView) {
    let lang = scene.lang;
    title(ui, scene, lang.text("settings-page-prompts"), lang.text("settings-prompts-line"));
    let uses = scene.state.settings.models.uses_system_prompt;
    group(ui, scene, |ui, scene| {
        let (name, help) = (lang.text("settings-uses-system-prompt"), lang.text("settings-uses-system-prompt-help"));
        switch_row(ui, scene, "models.uses_system_prompt", name, help, uses);
    });
    ui.add_space(space::M);
    let stored = &scene.state.settings.models.system_prompt;
    let id = Id::unique(("setting", KEY));
    let text = view.fields.entry(KEY).or_insert_with(|| stored.clone());
    if !ui.memory(|memory| memory.has_focus(id)) && text != stored {
        text.clone_from(stored);
    }
    let (name, hint) = (lang.text("settings-system-prompt"), lang.text("settings-system-prompt-hint"));
    if text_box(ui, scene, id, text, name, hint).changed() {
        scene.outbox.push_back(Intent::SetSetting { key: KEY, value: json!(text.as_str()) });
    }
    note(ui, scene, lang.text("settings-prompts-note"), scene.theme.colors.dim);
    heading(ui, scene, lang.text("settings-prompt-library"));
    library(ui, scene, &mut view.prompt);
    note(ui, scene, lang.text("settings-prompt-library-note"), scene.theme.colors.dim);
}

/// A box for several lines.
fn text_box(ui: &mut Ui, scene: &Scene<'_>, id: Id, text: &mut String, name: &str, hint: &str) -> Response {
    let theme = scene.theme;
    let has_focus = ui.memory(|memory| memory.has_focus(id));
    let border = if has_focus { theme.colors.info } else { theme.colors.line };
    Frame::NONE
        .stroke(egui::Stroke::new(1.0, border))
        .corner_radius(CornerRadius::same(radius::CARD))
        .inner_margin(Margin::same(12))
        .show(ui, |ui| {
            ScrollArea::vertical()
                .id_salt(id)
                .max_height(300.0)
                .auto_shrink([false, true])
                .show(ui, |ui| {
                    let edit = TextEdit::multiline(text)
                        .id(id)
                        .font(theme.font(Type::Control))
                        .hint_text(theme.rich(hint, Type::Control, theme.colors.faint))
                        .frame(Frame::NONE)
                        .desired_rows(8)
                        .desired_width(f32::INFINITY);
                    ui.add(edit).accessible_name(name)
                })
                .inner
        })
        .inner
}

/// The prompts, one row each; one of them, or a new one, may be open.
fn library(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut Option<PromptView>) {
    let lang = scene.lang;
    let state = scene.state;
    let prompts = &state.settings.prompts.library;
    let is_open = view.is_some();
    let place = view.as_ref().and_then(|view| view.place(prompts));
    let mut opens = None;
    group(ui, scene, |ui, scene| {
        if prompts.is_empty() && !is_open {
            row(ui, scene.theme, lang.text("settings-prompt-none"), lang.text("settings-prompt-none-help"), |_| ());
        }
        for (index, prompt) in prompts.iter().enumerate() {
            if place == Some(index) {
                form(ui, scene, view, &prompt.name);
            } else if let Some(intent) = one(ui, scene, index, prompt, &mut opens) {
                scene.push(intent);
            }
        }
        if is_open && place.is_none() {
            form(ui, scene, view, lang.text("settings-prompt-new"));
        } else if !is_open {
            let name = lang.text("settings-prompt-add");
            if row(ui, scene.theme, name, "", |ui| ui.add(Button::secondary(name).icon(Icon::Plus)).clicked()) {
                opens = Some(PromptView::empty());
            }
        }
    });
    if opens.is_some() {
        *view = opens;
    }
}

fn one(
    ui: &mut Ui,
    scene: &Scene<'_>,
    index: usize,
    prompt: &SavedPrompt,
    opens: &mut Option<PromptView>,
) -> Option<Intent> {
    let lang = scene.lang;
    let name = hover_line(&prompt.name);
    let line = prompt.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let help = crate::policy::one_line(line.trim(), 120);
    let named = |key: &str| format!("{}, {name}", lang.text(key));
    let mut chosen = None;
    row(ui, scene.theme, &name, &help, |ui| {
        let mut button = |key: &str| ui.add(Button::secondary(lang.text(key)).name(&named(key))).clicked();
        let (inserts, edits) = (button("settings-prompt-insert"), button("settings-prompt-edit"));
        let name = named("settings-prompt-delete");
        let deletes = ui.add(Button::danger(lang.text("settings-prompt-delete")).name(&name)).clicked();
        if inserts {
            chosen = Some(Intent::InsertPrompt(index));
        } else if edits {
            *opens = Some(PromptView::of(prompt));
        } else if deletes {
            chosen = Some(Intent::RemovePrompt(index));
        }
    });
    chosen
}

/// The fields of a prompt that is typed, and what stands in the way of keeping it.
fn form(ui: &mut Ui, scene: &mut Scene<'_>, view: &mut Option<PromptView>, heading: &str) {
    let lang = scene.lang;
    let Some(open) = view else { return };
    let name = lang.text("settings-prompt-name");
    row(ui, scene.theme, &hover_line(heading), "", |ui| {
        let field = ui.add(TextField::new(&mut open.name, name).hint(name).width(320.0));
        if std::mem::take(&mut open.wants_focus) {
            field.request_focus();
        }
    });
    let (name, hint) = (lang.text("settings-prompt-text"), lang.text("settings-prompt-text-hint"));
    Frame::NONE.inner_margin(Margin { left: 14, right: 14, top: 0, bottom: 4 }).show(ui, |ui| {
        text_box(ui, scene, Id::unique("prompt text"), &mut open.text, name, hint);
    });
    let at = open.place(&scene.state.settings.prompts.library);
    let problem = scene.state.prompt_problem(at, &open.name, &open.text);
    let is_begun = !open.name.trim().is_empty() || !open.text.trim().is_empty();
    let words = problem.filter(|_| is_begun).map_or("", |problem| lang.text(problem.key()));
    let (saves, cancels) = row(ui, scene.theme, "", words, |ui| {
        let cancels = ui.add(Button::ghost(lang.text("settings-prompt-cancel"))).clicked();
        let save = Button::primary(lang.text("settings-prompt-save")).disabled(problem.is_some());
        (ui.add(save).clicked(), cancels)
    });
    if saves {
        let prompt = SavedPrompt { name: open.name.clone(), text: open.text.clone() };
        scene.push(Intent::PutPrompt { at, prompt });
    }
    if saves || cancels {
        *view = None;
    }
}

//! The last request of the open chat, as it left: for a person who wants to know what a model was told.

use egui::{Label, Margin, ScrollArea, TextWrapMode, Ui, vec2};

use crate::app::{Intent, Panel, SentLine};
use crate::lang::{Arg, Lang};
use crate::port::SentPart;
use crate::ui::card::masked;
use crate::ui::dialog::{Dialog, offer_focus};
use crate::ui::icon::Icon;
use crate::ui::scene::Scene;
use crate::ui::theme::Type;
use crate::ui::widget::Button;

/// Draws it while it is open.
pub fn show(ui: &Ui, scene: &mut Scene<'_>) {
    if scene.state.panel != Some(Panel::Sent) {
        return;
    }
    let theme = scene.theme;
    let lang = scene.lang;
    let lines: &[SentLine] = &scene.state.sent;
    let mut intent = None;
    let shown = super::show(ui, theme, Dialog::Sent, 820.0, |ui| {
        super::head(ui, theme, lang.text("sent-title"), lang.text("sent-line"));
        let height = (ui.ctx().content_rect().height() - 220.0).clamp(160.0, 560.0);
        let row = theme.line_height(Type::Mono);
        egui::Frame::NONE.inner_margin(Margin { left: 20, right: 12, top: 0, bottom: 12 }).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
            if lines.is_empty() {
                ui.label(theme.rich(lang.text("sent-nothing"), Type::Control, theme.colors.dim));
            }
            // As high as it may be from the first frame on: the modal would stay as low as it was then.
            let area = ScrollArea::both().max_height(height).min_scrolled_height(height).auto_shrink([false, true]);
            area.show_rows(ui, row, lines.len(), |ui, rows| {
                for line in lines.get(rows).unwrap_or_default() {
                    let has_hidden = line.iter().any(|part| matches!(part, SentPart::Hidden(_)));
                    let color = if has_hidden { theme.colors.warn } else { theme.colors.text };
                    let text = theme.rich(words(line, lang), Type::Mono, color);
                    ui.add(Label::new(text).wrap_mode(TextWrapMode::Extend));
                }
            });
        });
        super::foot(ui, theme, |ui| {
            let close = ui.add(Button::secondary(lang.text("sent-close")));
            offer_focus(ui, scene.top, Dialog::Sent, &close);
            if close.clicked() || scene.take_key(ui, Dialog::Sent, egui::Modifiers::NONE, egui::Key::Escape) {
                intent = Some(Intent::ClosePanel);
            }
            let copy = Button::ghost(lang.text("sent-copy")).icon(Icon::Copy).disabled(lines.is_empty());
            if ui.add(copy).clicked() {
                let lines: Vec<String> = lines.iter().map(|line| words(line, lang)).collect();
                intent = Some(Intent::CopyText(lines.join("\n")));
            }
        });
    });
    if shown.should_close() {
        intent = Some(Intent::ClosePanel);
    }
    if let Some(intent) = intent {
        scene.push(intent);
    }
}

/// A line with words for what is hidden in it.
fn words(line: &SentLine, lang: &Lang) -> String {
    line.iter()
        .map(|part| match part {
            SentPart::Text(text) => text.clone(),
            SentPart::Hidden(kind) => {
                lang.format("sent-hidden", &[("kind", Arg::from(lang.text(masked::kind_key(*kind))))])
            }
        })
        .collect()
}

//! One rule: its sentence, who made it, how often it decided, and the way to take it back.

use egui::{Align, CornerRadius, Frame, Label, Layout, Margin, Ui, vec2};

use crate::ir::RuleId;
use crate::lang::Arg;
use crate::policy::{BrokenRule, Rule, RuleEffect, RuleMaker, RuleSet};
use crate::ui::panel::composer;
use crate::ui::scene::Scene;
use crate::ui::sentence;
use crate::ui::theme::{Type, radius, size, space};
use crate::ui::widget::Button;

/// Draws the rules that fit, broken ones first; gives the one that is taken back.
pub fn list(ui: &mut Ui, scene: &Scene<'_>, rules: &RuleSet, fits: impl Fn(&Rule) -> bool) -> Option<RuleId> {
    let mut revoked = None;
    for BrokenRule { id, .. } in &rules.broken {
        if broken(ui, scene, id) {
            revoked = Some(id.clone());
        }
        ui.add_space(space::S);
    }
    for rule in rules.intact.iter().filter(|rule| fits(rule)) {
        if intact(ui, scene, rule) {
            revoked = Some(rule.id.clone());
        }
        ui.add_space(space::S);
    }
    if revoked.is_some() {
        // The button goes with its rule: the keyboard goes back to the message.
        ui.memory_mut(|memory| memory.request_focus(composer::message_id()));
    }
    revoked
}

fn intact(ui: &mut Ui, scene: &Scene<'_>, rule: &Rule) -> bool {
    let theme = scene.theme;
    let colors = theme.colors;
    let sentence = sentence::scope(scene.lang, &rule.scope, scene.home);
    let (key, color) = match rule.effect {
        RuleEffect::Allow => ("panel-rule-allow", colors.text),
        RuleEffect::Deny => ("panel-rule-deny", colors.bad),
    };
    let words = scene.lang.format(key, &[("rule", Arg::from(sentence.as_str()))]);
    let made = match rule.made_by {
        RuleMaker::Modal => "panel-rule-by-modal",
        RuleMaker::Panel => "panel-rule-by-panel",
        RuleMaker::Settings => "panel-rule-by-settings",
    };
    let hits = i64::try_from(rule.hits).unwrap_or(i64::MAX);
    let facts = scene.lang.format(made, &[("hits", Arg::Number(hits))]);
    let name = scene.lang.format("panel-revoke-name", &[("rule", Arg::from(sentence.as_str()))]);
    frame(ui, scene, |ui| {
        ui.add(Label::new(theme.rich(words, Type::Control, color)).wrap());
        foot(ui, scene, &facts, scene.lang.text("panel-revoke"), &name)
    })
}

/// A rule that was changed from outside: what it said cannot be trusted, so it is not shown.
fn broken(ui: &mut Ui, scene: &Scene<'_>, id: &RuleId) -> bool {
    let theme = scene.theme;
    let words = scene.lang.text("panel-rule-broken");
    let name = scene.lang.format("panel-remove-broken-name", &[("rule", Arg::from(id.as_str()))]);
    frame(ui, scene, |ui| {
        ui.add(Label::new(theme.rich(words, Type::Control, theme.colors.bad)).wrap());
        foot(ui, scene, scene.lang.text("panel-rule-broken-detail"), scene.lang.text("panel-remove-broken"), &name)
    })
}

fn frame(ui: &mut Ui, scene: &Scene<'_>, content: impl FnOnce(&mut Ui) -> bool) -> bool {
    let theme = scene.theme;
    Frame::NONE
        .fill(theme.colors.background)
        .stroke(theme.line())
        .corner_radius(CornerRadius::same(radius::CARD))
        .inner_margin(Margin { left: 12, right: 8, top: 8, bottom: 8 })
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            content(ui)
        })
        .inner
}

fn foot(ui: &mut Ui, scene: &Scene<'_>, facts: &str, action: &str, name: &str) -> bool {
    ui.vertical(|ui| {
        ui.add(Label::new(scene.theme.rich(facts, Type::Meta, scene.theme.colors.dim)).wrap());
        let place = vec2(ui.available_width(), size::ROW);
        let layout = Layout::right_to_left(Align::Center);
        ui.allocate_ui_with_layout(place, layout, |ui| ui.add(Button::ghost(action).small().name(name)).clicked()).inner
    })
    .inner
}

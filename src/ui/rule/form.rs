//! A rule made by hand: what it does, to which tool, where. It offers only what the engine would take.

use std::path::PathBuf;

use egui::Ui;

use crate::app::settings::TOOLS;
use crate::policy::{RuleEffect, RuleScope, may_be_made};
use crate::ui::scene::Scene;
use crate::ui::theme::{Type, space};
use crate::ui::widget::{Button, MenuRow, Select, TextField};

/// What is half-chosen in a form.
#[derive(Debug, Default)]
pub struct RuleForm {
    is_open: bool,
    tool: usize,
    allows: bool,
    is_in_folder: bool,
    folder: String,
    extension: String,
}

/// Which rules a form makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Makes {
    /// Refusals alone.
    Refusals,
    /// Refusals and allowances.
    Both,
}

impl RuleForm {
    /// Draws the button that opens the form, or the form; gives the rule that is to be made.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        scene: &Scene<'_>,
        makes: Makes,
        folder: &str,
    ) -> Option<(RuleEffect, RuleScope)> {
        let lang = scene.lang;
        if !self.is_open {
            let key = match makes {
                Makes::Refusals => "rule-form-refuse",
                Makes::Both => "rule-form-add",
            };
            if ui.add(Button::secondary(lang.text(key)).small()).clicked() {
                *self = Self { is_open: true, folder: folder.to_owned(), ..Self::default() };
            }
            return None;
        }
        let width = ui.available_width().min(360.0);
        if makes == Makes::Both {
            let names = [lang.text("rule-form-deny"), lang.text("rule-form-allow")];
            let chosen = select(ui, &names, usize::from(self.allows), lang.text("rule-form-effect"), width);
            self.allows = chosen.map_or(self.allows, |index| index == 1);
            ui.add_space(space::S);
        }
        let effect = if self.allows { RuleEffect::Allow } else { RuleEffect::Deny };
        let tools: Vec<&str> = TOOLS.iter().map(|tool| tool.name).filter(|tool| is_offered(effect, tool)).collect();
        self.tool = self.tool.min(tools.len().saturating_sub(1));
        self.tool = select(ui, &tools, self.tool, lang.text("rule-form-tool"), width).unwrap_or(self.tool);
        ui.add_space(space::S);
        let places = [lang.text("rule-form-anywhere"), lang.text("rule-form-in-folder")];
        let chosen = select(ui, &places, usize::from(self.is_in_folder), lang.text("rule-form-place"), width);
        self.is_in_folder = chosen.map_or(self.is_in_folder, |index| index == 1);
        if self.is_in_folder {
            ui.add_space(space::S);
            let name = lang.text("rule-form-folder");
            ui.add(TextField::new(&mut self.folder, name).hint(name).width(width));
            ui.add_space(space::S);
            let name = lang.text("rule-form-extension");
            ui.add(TextField::new(&mut self.extension, name).hint(name).width(width));
        }
        let scope = tools.get(self.tool).and_then(|tool| self.scope(tool, scene.home));
        ui.add_space(space::S);
        let mut made = None;
        ui.horizontal(|ui| {
            let key = if self.allows { "rule-form-make-allow" } else { "rule-form-make-deny" };
            let make = Button::secondary(lang.text(key)).small().disabled(scope.is_none());
            if ui.add(make).clicked() {
                made = scope.map(|scope| (effect, scope));
            }
            if ui.add(Button::ghost(lang.text("rule-form-cancel")).small()).clicked() {
                self.is_open = false;
            }
        });
        if self.allows {
            ui.add_space(space::XS);
            let note = scene.theme.rich(lang.text("rule-form-allow-note"), Type::Meta, scene.theme.colors.dim);
            ui.add(egui::Label::new(note).wrap());
        }
        if made.is_some() {
            *self = Self::default();
        }
        made
    }

    /// What is chosen, once it is whole.
    fn scope(&self, tool: &str, home: Option<&str>) -> Option<RuleScope> {
        let tool = tool.to_owned();
        if !self.is_in_folder {
            return Some(RuleScope::ToolInFolders { tool });
        }
        let typed = self.folder.trim().trim_end_matches('/');
        let root = match (typed.strip_prefix('~'), home) {
            (Some(rest), Some(home)) => PathBuf::from(format!("{home}{rest}")),
            (Some(_), None) | (None, _) => PathBuf::from(typed),
        };
        let extension = self.extension.trim().trim_start_matches('*').trim_start_matches('.').to_owned();
        let is_whole = root.is_absolute() && !extension.is_empty() && !extension.contains(['/', '\\', '*']);
        is_whole.then_some(RuleScope::FilesLike { tool, root, folder: String::new(), extension })
    }
}

fn is_offered(effect: RuleEffect, tool: &str) -> bool {
    may_be_made(effect, &RuleScope::ToolInFolders { tool: tool.to_owned() })
}

fn select(ui: &mut Ui, names: &[&str], current: usize, name: &str, width: f32) -> Option<usize> {
    let shown = names.get(current).copied().unwrap_or_default();
    let (_, chosen) = Select::new(shown, name).width(width).show(ui, |ui| {
        let mut chosen = None;
        for (index, other) in names.iter().enumerate() {
            if ui.add(MenuRow::new(other).checked(index == current)).clicked() {
                chosen = Some(index);
            }
        }
        chosen
    });
    chosen.flatten()
}

//! Taking back and doing again: the question with its preview, its choices, and the history.

use std::collections::{HashMap, HashSet};

use crate::ir::{
    Preview, UndoAction, UndoChoice, UndoDirection, UndoId, UndoOutcome, UndoPlan, UndoResult, UndoScope, UnixMs,
};
use crate::port::Command;

use super::confirm::GUARD_MS;
use super::toast::{ToastAction, Tone};
use super::{AppState, Intent, Panel, Reaction};

/// An undo that waits for the person.
#[derive(Debug, Clone, PartialEq)]
pub struct UndoQuestion {
    pub scope: UndoScope,
    pub direction: UndoDirection,
    /// What it would do; `None` while that is found out.
    pub plan: Option<UndoPlan>,
    /// What the person chose where somebody changed a file since.
    pub choices: HashMap<UndoId, UndoChoice>,
    /// The step whose preview is shown.
    pub shown_step: usize,
    /// Whether what was changed since is shown, instead of what the step would change.
    pub shows_change_since: bool,
    /// Whether the order was given.
    pub is_applying: bool,
    /// Changes with every plan: what is drawn of one belongs to no other.
    pub revision: u64,
    /// When a plan took the place of the one that was agreed to: the second half of a double click is no yes to it.
    pub replaced_at: Option<UnixMs>,
}

/// The history of a session's changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Only changes of this path.
    pub path: Option<String>,
    /// Entries whose diff is open.
    pub open: HashSet<UndoId>,
    /// The diffs that have come.
    pub previews: HashMap<UndoId, Preview>,
}

impl UndoQuestion {
    /// Whether anything would be done as it stands.
    pub fn does_anything(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.steps.iter().any(|step| self.does(&step.entry, step.action)))
    }

    fn does(&self, entry: &UndoId, action: UndoAction) -> bool {
        match action {
            UndoAction::Restore | UndoAction::Remove | UndoAction::RemoveIfEmpty => true,
            UndoAction::Conflict { .. } => self.choice(entry) != UndoChoice::Keep,
            UndoAction::Nothing | UndoAction::Follows | UndoAction::Gone | UndoAction::Refused => false,
        }
    }

    /// What was chosen for a step.
    pub fn choice(&self, entry: &UndoId) -> UndoChoice {
        self.choices.get(entry).copied().unwrap_or_default()
    }
}

impl AppState {
    pub(super) fn plan_undo(&mut self, scope: UndoScope, direction: UndoDirection) -> Reaction {
        let revision = self.take_number();
        self.undo = Some(UndoQuestion {
            scope: scope.clone(),
            direction,
            plan: None,
            choices: HashMap::new(),
            shown_step: 0,
            shows_change_since: false,
            is_applying: false,
            revision,
            replaced_at: None,
        });
        Command::PlanUndo { scope, direction }.into()
    }

    pub(super) fn undo_planned(&mut self, plan: UndoPlan, now: UnixMs) -> Reaction {
        let revision = self.take_number();
        // Another front end may have asked too.
        let Some(question) =
            self.undo.as_mut().filter(|asked| asked.scope == plan.scope && asked.direction == plan.direction)
        else {
            return Reaction::none();
        };
        if plan.is_changed {
            // What was chosen was chosen for something else.
            question.choices.clear();
        }
        let conflict = plan.steps.iter().position(|step| matches!(step.action, UndoAction::Conflict { .. }));
        question.shown_step = conflict.unwrap_or(0);
        question.shows_change_since = conflict.is_some();
        question.is_applying = false;
        question.replaced_at = plan.is_changed.then_some(now);
        question.plan = Some(plan);
        question.revision = revision;
        Reaction::none()
    }

    pub(super) fn choose_undo(&mut self, entry: UndoId, choice: UndoChoice) -> Reaction {
        if let Some(question) = &mut self.undo {
            question.choices.insert(entry, choice);
        }
        Reaction::none()
    }

    pub(super) fn show_undo_step(&mut self, step: usize, shows_change_since: bool) -> Reaction {
        let revision = self.take_number();
        if let Some(question) = &mut self.undo {
            (question.shown_step, question.shows_change_since) = (step, shows_change_since);
            question.revision = revision;
        }
        Reaction::none()
    }

    pub(super) fn confirm_undo(&mut self, now: UnixMs) -> Reaction {
        let is_open = |question: &UndoQuestion| {
            let is_seen = question.replaced_at.is_none_or(|at| now.0.saturating_sub(at.0) >= GUARD_MS);
            is_seen && !question.is_applying && question.does_anything()
        };
        let Some(question) = self.undo.as_mut().filter(|question| is_open(question)) else {
            return Reaction::none();
        };
        let Some(plan) = &question.plan else { return Reaction::none() };
        question.is_applying = true;
        let mut choices: Vec<_> = question.choices.iter().map(|(entry, choice)| (entry.clone(), *choice)).collect();
        choices.sort_by(|one, other| one.0.cmp(&other.0));
        let (scope, direction) = (question.scope.clone(), question.direction);
        Command::ApplyUndo { scope, direction, choices, plan_hash: plan.hash.clone() }.into()
    }

    pub(super) fn cancel_undo(&mut self) -> Reaction {
        self.undo = None;
        Reaction::none()
    }

    pub(super) fn undo_applied(
        &mut self,
        scope: UndoScope,
        direction: UndoDirection,
        results: &[UndoResult],
        now: UnixMs,
    ) -> Reaction {
        if self.undo.as_ref().is_some_and(|asked| asked.scope == scope && asked.direction == direction) {
            self.undo = None;
        }
        let count =
            |outcomes: &[UndoOutcome]| results.iter().filter(|result| outcomes.contains(&result.outcome)).count();
        let done = count(&[UndoOutcome::Done, UndoOutcome::SavedBeside]);
        let left = count(&[UndoOutcome::Kept, UndoOutcome::NotEmpty]);
        let back = match direction {
            UndoDirection::Undo => UndoDirection::Redo,
            UndoDirection::Redo => UndoDirection::Undo,
        };
        if let Some(failed) = results.iter().find(|result| result.outcome == UndoOutcome::Failed) {
            let args = vec![("path", failed.path.clone()), ("count", count(&[UndoOutcome::Failed]).to_string())];
            self.toasts.fault("notice-undo-failed", args, failed.detail.clone(), now);
        }
        if done > 0 {
            let key = match (direction, done, left) {
                (UndoDirection::Undo, 1, 0) => "notice-undone",
                (UndoDirection::Undo, _, 0) => "notice-undone-many",
                (UndoDirection::Undo, _, _) => "notice-undone-left",
                (UndoDirection::Redo, 1, 0) => "notice-redone",
                (UndoDirection::Redo, _, 0) => "notice-redone-many",
                (UndoDirection::Redo, _, _) => "notice-redone-left",
            };
            let action = match direction {
                UndoDirection::Undo => "notice-redo",
                UndoDirection::Redo => "notice-undo",
            };
            let intent = Intent::PlanUndo { scope, direction: back };
            let args = vec![("count", done.to_string()), ("left", left.to_string())];
            self.toasts.say_with(Tone::Good, key, args, Some(ToastAction { key: action, intent }), now);
        } else if let Some(kept) = results.iter().find(|result| result.outcome == UndoOutcome::NotEmpty) {
            self.toasts.say(Tone::Info, "notice-undo-not-empty", vec![("path", kept.path.clone())], now);
        } else if count(&[UndoOutcome::Failed]) == 0 {
            self.toasts.say(Tone::Info, "notice-undo-nothing", Vec::new(), now);
        }
        // What was shown of them is no longer so.
        self.history.previews.clear();
        Reaction::none()
    }

    /// What was asked for cannot be had: the question goes, the fault says why.
    pub(super) fn undo_failed(&mut self, key: &str) {
        if key.starts_with("fault-undo") {
            self.undo = None;
        }
    }

    pub(super) fn show_history(&mut self, path: Option<String>) -> Reaction {
        self.history = History { path, ..History::default() };
        self.panel = Some(Panel::History);
        self.settings_page = None;
        Reaction::none()
    }

    pub(super) fn toggle_history(&mut self, entry: UndoId) -> Reaction {
        if self.history.open.remove(&entry) {
            return Reaction::none();
        }
        self.history.open.insert(entry.clone());
        if self.history.previews.contains_key(&entry) { Reaction::none() } else { Command::ShowUndo(entry).into() }
    }

    pub(super) fn undo_shown(&mut self, entry: UndoId, preview: Preview) -> Reaction {
        if self.history.open.contains(&entry) {
            self.history.previews.insert(entry, preview);
        }
        Reaction::none()
    }
}

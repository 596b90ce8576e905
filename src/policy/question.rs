//! Why a call must be asked, whatever the mode and the rules say.

use serde::{Deserialize, Serialize};

use crate::ir::{Access, ConfirmMode, LinkedOutside, RiskLevel};

use super::denial::outside_parts;
use super::display::holds_unseen;
use super::line::one_line_name;
use super::protected::is_protected_below;
use super::{CallFacts, CommandJudgement, NameVerdict, PathPlace, TargetFacts, TargetKind, judge_name};

/// Parts of a path that are named as holding what cannot be seen; the path itself shows them all.
const MOST_NAMES: usize = 3;
/// Characters of such a name.
const LONGEST_NAME: usize = 120;

/// Why a call is asked. All but `Mode`, `HardLink` and `Unremembered` are shown in red.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum AskReason {
    /// The session's mode asks for this kind of call.
    Mode,
    /// What it reads goes to a server.
    Server,
    /// A deletion is always asked.
    Deletion,
    /// A command is always asked.
    Command,
    /// Reads outside the allowed folders.
    Outside,
    /// The name speaks of secrets.
    SuspiciousName {
        /// The part that says so.
        part: String,
    },
    /// The name holds characters that cannot be seen.
    HiddenCharacters {
        /// The name with these characters drawn as escapes.
        escaped: String,
    },
    /// Something later executes this file.
    ProtectedWrite,
    /// The file has other names (hard links). A notice: it never asks by itself, as a write goes into a new file.
    HardLink,
    /// Lies on another mount than its allowed folder.
    OtherMount,
    /// The command line could not be taken apart.
    UnparsedCommand,
    /// A rule was changed from outside: it may have been a refusal, so everything is asked until it is taken away.
    ChangedRule,
    /// It cannot be undone, and nobody would have been told.
    NotUndoable,
    /// A command starts more than its question names, or in a place that is not known: no yes is bound to that, and no rule
    /// remembers it. A notice.
    Unremembered,
    /// Parts of a command's folders cannot be looked at, so that nothing is kept from it there.
    UnseenPlaces {
        /// How many, at least.
        count: u64,
    },
    /// Files of a command's folders have further names outside them, and change there too.
    LinkedOutside {
        /// How many.
        count: u64,
        /// One of them.
        example: Option<String>,
        /// Whether not all could be counted.
        is_cut: bool,
    },
}

/// Every reason that no mode and no rule takes away, most serious first.
pub(super) fn must_ask(facts: &CallFacts) -> Vec<AskReason> {
    let mut reasons = Vec::new();
    if facts.shown.unseen_places > 0 {
        reasons.push(AskReason::UnseenPlaces { count: facts.shown.unseen_places });
    }
    let linked = &facts.shown.linked;
    if !linked.is_none() {
        let LinkedOutside { count, ref example, is_cut, .. } = *linked;
        reasons.push(AskReason::LinkedOutside { count, example: example.clone(), is_cut });
    }
    if facts.command == Some(CommandJudgement::Unparsed) {
        reasons.push(AskReason::UnparsedCommand);
    }
    match facts.access {
        Access::Execute => reasons.push(AskReason::Command),
        Access::Delete => reasons.push(AskReason::Deletion),
        Access::Read | Access::Write => {}
    }
    for reason in facts.targets.iter().flat_map(|target| target_reasons(target, facts.access)) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

fn target_reasons(target: &TargetFacts, access: Access) -> Vec<AskReason> {
    let mut reasons = Vec::new();
    let outside;
    let paths: &[&[String]] = match &target.place {
        PathPlace::Inside { relative, resolved_relative, .. } => {
            if is_executed_later(target, access) {
                reasons.push(AskReason::ProtectedWrite);
            }
            &[relative.parts(), resolved_relative.parts()]
        }
        PathPlace::Outside => {
            reasons.push(AskReason::Outside);
            outside = outside_parts(target);
            &[&outside]
        }
    };
    for parts in paths {
        match judge_name(parts) {
            NameVerdict::Suspicious { part } => reasons.push(AskReason::SuspiciousName { part }),
            NameVerdict::Sensitive { .. } | NameVerdict::Ordinary => {}
        }
        let unseen = parts.iter().filter(|part| holds_unseen(part)).take(MOST_NAMES);
        reasons.extend(
            unseen.map(|part| AskReason::HiddenCharacters { escaped: one_line_name(part, LONGEST_NAME).into_owned() }),
        );
    }
    if target.other_mount {
        reasons.push(AskReason::OtherMount);
    }
    reasons
}

/// Whether something later executes or obeys what is changed: by its name or by another way that leads there.
pub fn is_executed_later(target: &TargetFacts, access: Access) -> bool {
    let PathPlace::Inside { root, relative, resolved_relative } = &target.place else { return false };
    let is_protected = |path| is_protected_below(root, path).is_some();
    let is_reached = || target.reaches.iter().any(|reach| reach.verdict().is_some());
    match access {
        Access::Write | Access::Delete => is_protected(relative) || is_protected(resolved_relative) || is_reached(),
        Access::Read | Access::Execute => false,
    }
}

/// Whether the mode asks for a call that nothing else asks for.
pub(super) fn mode_asks(facts: &CallFacts) -> bool {
    match facts.mode {
        ConfirmMode::EveryCall => true,
        ConfirmMode::Changes => facts.access.changes_something(),
        // Deletions and commands were asked before; of the rest, what can do as much harm.
        ConfirmMode::DeletionsOnly => facts.access.changes_something() && facts.risk >= RiskLevel::High,
        ConfirmMode::Automatic => false,
    }
}

/// What is shown with a question but never asks by itself.
pub(super) fn notices(facts: &CallFacts) -> Vec<AskReason> {
    let mut notices = Vec::new();
    if facts.targets.iter().any(|target| target.kind == TargetKind::File && target.links > 1) {
        notices.push(AskReason::HardLink);
    }
    if facts.access == Access::Execute && !facts.starts_only_known {
        notices.push(AskReason::Unremembered);
    }
    notices
}

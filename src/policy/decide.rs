//! The decision: built-in denial > the person's denial > must ask > allow rule > default.

use crate::ir::{Decider, Failure, RuleId};

use super::{CallFacts, Rule};

/// What follows for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Runs without a question.
    Allow {
        /// Who says so.
        by: Decider,
        /// The rule that says so.
        rule: Option<RuleId>,
    },
    /// Waits for the person.
    Ask {
        /// Why, most serious first; shown in the modal.
        reasons: Vec<AskReason>,
        /// Whether "allow in this session" may be offered.
        rememberable: bool,
    },
    /// Refused, no question asked.
    Deny {
        /// Code and sentence.
        failure: Failure,
        /// Who says so.
        by: Decider,
        /// The rule that says so.
        rule: Option<RuleId>,
    },
}

/// Why a call is asked. All but `Mode` and `HardLink` are shown in red.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum AskReason {
    /// The session's mode asks for this kind of call.
    Mode,
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
}

/// The one judge. Called on what the paths resolved to; `lexical` has judged the text before.
pub fn decide(facts: &CallFacts, rules: &[Rule]) -> Decision {
    let _ = (facts, rules);
    todo!()
}

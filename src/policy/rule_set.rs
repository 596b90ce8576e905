//! The rules that hold in a session: those that are as the person made them, and what is left of those that are not.

use crate::ir::RuleId;

use super::Rule;

/// The rules that hold in a session, and those that were changed from outside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleSet {
    /// As the person made them, oldest first.
    pub intact: Vec<Rule>,
    /// Changed, added or removed by something other than Nod. They allow nothing, refuse all that they may have refused, and
    /// nothing goes through without a question while there is one.
    pub broken: Vec<BrokenRule>,
}

/// A rule that is not as the person made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRule {
    /// Which one.
    pub id: RuleId,
    /// What it may have refused.
    pub meant: Meant,
}

/// What a broken rule may have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meant {
    /// An allowance, or nothing that the person ever made.
    NoRefusal,
    /// A refusal of something that this tool does: of which, nobody knows any more.
    Refusal {
        /// The tool.
        tool: String,
    },
    /// A refusal of anything: what it was is not on record, or the record was changed too.
    AnyRefusal,
}

impl BrokenRule {
    /// Whether it may have refused a call of this tool.
    pub fn may_refuse(&self, tool: &str) -> bool {
        match &self.meant {
            Meant::NoRefusal => false,
            Meant::Refusal { tool: refused } => refused == tool,
            Meant::AnyRefusal => true,
        }
    }
}

impl From<Vec<Rule>> for RuleSet {
    fn from(intact: Vec<Rule>) -> Self {
        Self { intact, broken: Vec::new() }
    }
}

impl RuleSet {
    /// Whether there is nothing to list.
    pub fn is_empty(&self) -> bool {
        self.intact.is_empty() && self.broken.is_empty()
    }
}

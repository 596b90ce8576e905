//! What follows from an event or an intent: commands for the engine, and what only the window can do.

use crate::port::Command;

use super::HostAction;

/// What follows from an event or an intent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reaction {
    pub commands: Vec<Command>,
    pub actions: Vec<HostAction>,
}

impl From<Command> for Reaction {
    fn from(command: Command) -> Self {
        Self { commands: vec![command], actions: Vec::new() }
    }
}

impl From<HostAction> for Reaction {
    fn from(action: HostAction) -> Self {
        Self { commands: Vec::new(), actions: vec![action] }
    }
}

impl Reaction {
    /// Nothing follows.
    pub fn none() -> Self {
        Self::default()
    }

    /// Both, in their order.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.commands.append(&mut other.commands);
        self.actions.append(&mut other.actions);
        self
    }
}

//! What fails outside a turn: a key of the language files with its arguments, and the detail.

use crate::port::Event;
use crate::store::StoreError;

/// A failure that the person is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) key: &'static str,
    pub(super) args: Vec<(&'static str, String)>,
    pub(super) detail: String,
}

impl Fault {
    pub(super) fn new(key: &'static str, detail: impl Into<String>) -> Self {
        Self { key, args: Vec::new(), detail: detail.into() }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.args.push((name, value.into()));
        self
    }

    /// The command names a session that is not there.
    pub(super) fn no_session() -> Self {
        Self::new("fault-no-session", "")
    }
}

impl From<Fault> for Event {
    fn from(fault: Fault) -> Self {
        Self::Fault { key: fault.key, args: fault.args, detail: fault.detail }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self { key: error.key(), args: error.args(), detail: error.to_string() }
    }
}

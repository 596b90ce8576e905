//! Identifiers as newtypes, so that a session's id cannot be passed where a call's is wanted.
//! Ids and times are made at the edge (the engine) and come in as values.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// Takes any text as this id.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// One conversation.
    SessionId
);
id!(
    /// One message of a conversation, whichever branch it is on.
    MessageId
);
id!(
    /// One tool call; unique in its session.
    CallId
);
id!(
    /// One request to a model.
    RequestId
);
id!(
    /// One question to the person.
    ConfirmId
);
id!(
    /// One allow or deny rule.
    RuleId
);
id!(
    /// One change that can be taken back. Sorts by time.
    UndoId
);

/// A moment, in milliseconds since the Unix epoch (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub i64);

impl UnixMs {
    /// Milliseconds from `earlier` to this moment; 0 when the clock went backwards.
    pub fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// Milliseconds since this process began, by a count that nobody can set. Time that the computer slept counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UptimeMs(pub u64);

impl UptimeMs {
    /// Milliseconds from `earlier` to this moment; 0 when that is still to come.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// So many milliseconds later.
    #[must_use]
    pub fn after(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// Where rooms that may not read a clock get the time from.
pub type Clock = std::sync::Arc<dyn Fn() -> UnixMs + Send + Sync>;

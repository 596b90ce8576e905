//! Where a turn stands.

use serde::{Deserialize, Serialize};

/// The states of a turn; every transition is an event that the window gets and the log shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    #[default]
    Idle,
    Sending,
    Accumulating,
    Executing,
    Confirming,
    Collecting,
    Compressing,
    Done,
    Cancelled,
    Failed,
}

impl State {
    /// Whether a turn is under way.
    pub fn is_running(self) -> bool {
        match self {
            Self::Idle | Self::Done | Self::Cancelled | Self::Failed => false,
            Self::Sending
            | Self::Accumulating
            | Self::Executing
            | Self::Confirming
            | Self::Collecting
            | Self::Compressing => true,
        }
    }
}

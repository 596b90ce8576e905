//! A conversation's settings, as the sidebar and the top bar show them.

use serde::{Deserialize, Serialize};

use super::{MessageId, SessionId, ThinkingEffort, UnixMs};

/// One conversation, without its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Shown in the sidebar; empty until the first message.
    pub title: String,
    /// The provider's id; empty when none is chosen yet.
    pub provider: String,
    /// The model's id; empty when none is chosen yet.
    pub model: String,
    /// How hard the model should think.
    pub thinking: ThinkingLevel,
    /// Allowed folders, absolute; relative paths start at the first.
    pub folders: Vec<String>,
    /// Which calls wait for a yes.
    pub mode: ConfirmMode,
    /// Whether nothing may leave this machine on its behalf.
    #[serde(default)]
    pub is_local_only: bool,
    /// The person's own system prompt for this session.
    pub system_prompt: Option<String>,
    /// Kept at the top of the sidebar.
    pub pinned: bool,
    /// The last message of the branch that is shown.
    pub head: Option<MessageId>,
    /// What was typed and not sent.
    pub draft: String,
    /// When it was made.
    pub created_at: UnixMs,
    /// When something was last said.
    pub updated_at: UnixMs,
}

/// How hard the model should think; `Auto` leaves it to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Auto,
    Off,
    Low,
    Medium,
    High,
    Max,
}

impl ThinkingLevel {
    /// Whether thinking is switched on or off by hand; `None` leaves it to the model.
    pub fn enabled(self) -> Option<bool> {
        match self {
            Self::Auto => None,
            Self::Off => Some(false),
            Self::Low | Self::Medium | Self::High | Self::Max => Some(true),
        }
    }

    /// The effort, where one is chosen.
    pub fn effort(self) -> Option<ThinkingEffort> {
        match self {
            Self::Auto | Self::Off => None,
            Self::Low => Some(ThinkingEffort::Low),
            Self::Medium => Some(ThinkingEffort::Medium),
            Self::High => Some(ThinkingEffort::High),
            Self::Max => Some(ThinkingEffort::Max),
        }
    }
}

/// Which calls wait for a yes. Deletions and commands are always asked, whatever the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfirmMode {
    /// Every call, reads too.
    EveryCall,
    /// Whatever changes something.
    #[default]
    Changes,
    /// Deletions and commands.
    DeletionsOnly,
    /// Deletions and commands too, but nothing else; not recommended.
    Automatic,
}

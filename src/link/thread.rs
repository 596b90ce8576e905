//! A server's conversations as its HTTP interface gives them: `nod-server` writes them, and the window reads them where a
//! session lives on a server. Only the format. Times are RFC 3339, UTC.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ir::{Message, UnixMs};

use super::agui::Usage;
use super::wire::{CallError, ResultStatus};

/// A thread in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Its id.
    pub thread_id: String,
    /// Cut from its first words.
    pub title: String,
    /// The thread that it branches from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_thread_id: Option<String>,
    /// When it began.
    #[serde(with = "time")]
    pub created_at: UnixMs,
    /// When something was last said.
    #[serde(with = "time")]
    pub updated_at: UnixMs,
}

/// A thread with all that is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadView {
    /// The thread.
    #[serde(flatten)]
    pub thread: ThreadRow,
    /// What it took over from the thread that it branches from, oldest first.
    pub inherited: Vec<Message>,
    /// Its turns, oldest first.
    pub turns: Vec<TurnView>,
    /// Its calls, oldest first.
    pub tool_calls: Vec<CallView>,
}

/// A turn with its run and what was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnView {
    /// Its id.
    pub turn_id: String,
    /// Its run.
    pub run_id: String,
    /// How the run stands.
    pub status: RunStatus,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it used of the model, as the stream's last event told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The device whose tools it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// The person's words, the answers and the results, oldest first.
    pub messages: Vec<Message>,
}

/// A prepared turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// The conversation.
    pub thread_id: String,
    /// The person's turn in it.
    pub turn_id: String,
    /// The one run of that turn.
    pub run_id: String,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Nobody has asked for its answer yet.
    Prepared,
    /// An answer is on its way.
    Running,
    /// Answered.
    Succeeded,
    /// It broke.
    Failed,
    /// The client closed the stream.
    Cancelled,
    /// It came to a limit of rounds or calls.
    Limited,
    /// The process that ran it is gone.
    Interrupted,
}

/// A call with its dispatches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallView {
    /// The intention.
    pub tool_call_id: String,
    /// How it stands.
    pub status: CallStatus,
    /// Which tool.
    pub tool_name: String,
    /// Its arguments.
    pub arguments: Value,
    /// What it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
    /// Every dispatch, in order.
    pub executions: Vec<ExecutionView>,
}

/// One dispatch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionView {
    /// From 1.
    pub attempt_no: u32,
    /// How it stands.
    pub status: CallStatus,
    /// Over which connection.
    pub connection_id: String,
    /// RFC 3339 where it is written out, like all times of a thread.
    #[serde(with = "time")]
    pub started_at: UnixMs,
    /// When its result came, or it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "time_if_any")]
    pub ended_at: Option<UnixMs>,
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Written down, not sent.
    Created,
    /// Sent.
    Dispatched,
    /// It ran.
    Succeeded,
    /// It ran and failed.
    Failed,
    /// The desktop or the person said no.
    Rejected,
    /// Taken back before it had an effect.
    Cancelled,
    /// The server gave up waiting; a late result replaces this.
    TimedOut,
    /// The connection was lost after the dispatch; the desktop's report replaces this.
    Unknown,
}

impl CallStatus {
    /// Whether nothing may replace it.
    pub fn is_final(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Rejected | Self::Cancelled => true,
            Self::Created | Self::Dispatched | Self::TimedOut | Self::Unknown => false,
        }
    }

    /// Its name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Dispatched => "dispatched",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Unknown => "unknown",
        }
    }

    /// The status of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Created,
            Self::Dispatched,
            Self::Succeeded,
            Self::Failed,
            Self::Rejected,
            Self::Cancelled,
            Self::TimedOut,
            Self::Unknown,
        ]
        .into_iter()
        .find(|status| status.as_str() == name)
    }
}

impl From<ResultStatus> for CallStatus {
    fn from(status: ResultStatus) -> Self {
        match status {
            ResultStatus::Succeeded => Self::Succeeded,
            ResultStatus::Failed => Self::Failed,
            ResultStatus::Rejected => Self::Rejected,
            ResultStatus::Cancelled => Self::Cancelled,
            ResultStatus::TimedOut => Self::TimedOut,
            ResultStatus::Unknown => Self::Unknown,
        }
    }
}

impl RunStatus {
    /// Its name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Limited => "limited",
            Self::Interrupted => "interrupted",
        }
    }

    /// The status of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Prepared,
            Self::Running,
            Self::Succeeded,
            Self::Failed,
            Self::Cancelled,
            Self::Limited,
            Self::Interrupted,
        ]
        .into_iter()
        .find(|status| status.as_str() == name)
    }
}

/// A moment as RFC 3339, UTC.
pub fn rfc3339(at: UnixMs) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

mod time {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{UnixMs, rfc3339};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(at: &UnixMs, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(*at))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixMs, D::Error> {
        let text = String::deserialize(deserializer)?;
        let at: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(UnixMs(at.as_millisecond()))
    }
}

mod time_if_any {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{UnixMs, rfc3339};

    #[expect(clippy::ref_option, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(at: &Option<UnixMs>, serializer: S) -> Result<S::Ok, S::Error> {
        at.map(rfc3339).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<UnixMs>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let at: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Some(UnixMs(at.as_millisecond())))
    }
}

//! The device link's vocabulary: servers that may call tools of this computer, their calls, and what is kept of each so that
//! it runs once at most and its result is not lost.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{KeyPlace, UnixMs};

/// A server that may call tools of this computer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkServer {
    /// Its http(s) base address in normal form, with `/` at the end. No two servers have the same.
    pub url: String,
    /// The one folder that it may look into, absolute.
    pub workspace: String,
    /// Where its user token is.
    pub key: KeyPlace,
    /// Whether the person wants no connection for now.
    pub is_paused: bool,
}

/// How a server's connection stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum LinkState {
    /// The person wants none.
    Paused,
    /// Asking for a ticket, opening, registering.
    Connecting,
    /// The server may call.
    Connected,
    /// The next try is at `until`.
    Waiting {
        /// When.
        until: UnixMs,
        /// Why the last one failed.
        problem: LinkProblem,
    },
    /// A newer connection of the same device took its place; there is no next try by itself.
    Replaced,
    /// There will be no try before the person has changed something.
    Stopped {
        /// What stands in the way.
        problem: LinkProblem,
    },
}

impl LinkState {
    /// What stands in the way of a connection that is not up.
    pub const fn problem(&self) -> Option<&LinkProblem> {
        match self {
            Self::Waiting { problem, .. } | Self::Stopped { problem } => Some(problem),
            Self::Paused | Self::Connecting | Self::Connected | Self::Replaced => None,
        }
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LinkProblem {
    /// Nothing answers there, or it broke off.
    Unreachable {
        /// In the system's words.
        detail: String,
    },
    /// There is no user token for this address.
    NoToken,
    /// The server does not take the user token.
    TokenRefused,
    /// The server did not take the ticket that it had given.
    TicketRefused,
    /// The server takes no connections from here, or of another device.
    Forbidden,
    /// The server said nothing for too long.
    Silent,
    /// The server did not keep to the protocol.
    Protocol {
        /// How.
        detail: String,
    },
    /// The folder cannot be opened.
    Workspace {
        /// In the system's words.
        detail: String,
    },
    /// The address may not be used.
    Address {
        /// Why.
        detail: String,
    },
}

impl LinkProblem {
    /// The text that names it, and the system's own words about it.
    pub fn text(&self) -> (&'static str, &str) {
        match self {
            Self::Unreachable { detail } => ("link-problem-unreachable", detail),
            Self::NoToken => ("link-problem-no-token", ""),
            Self::TokenRefused => ("link-problem-token", ""),
            Self::TicketRefused => ("link-problem-ticket", ""),
            Self::Forbidden => ("link-problem-forbidden", ""),
            Self::Silent => ("link-problem-silent", ""),
            Self::Protocol { detail } => ("link-problem-protocol", detail),
            Self::Workspace { detail } => ("link-problem-workspace", detail),
            Self::Address { detail } => ("link-problem-address", detail),
        }
    }
}

/// A server with its connection, for front ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkView {
    /// The server.
    pub server: LinkServer,
    /// Its connection.
    pub state: LinkState,
    /// What it was sent in results since Nod was started, in bytes.
    pub sent_bytes: u64,
}

/// How far a server's call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkCallState {
    /// Taken in: waiting for the person, or running.
    Running,
    /// It ran.
    Succeeded,
    /// It ran and failed.
    Failed,
    /// Refused by a check or by the person.
    Rejected,
    /// The server took it back, or the person ended the connection.
    Cancelled,
    /// It took too long.
    TimedOut,
    /// It may have run: Nod ended while it was taken in, or it did not stop when it was told to.
    Unknown,
}

impl LinkCallState {
    /// Whether nothing more will happen to it.
    pub fn is_over(self) -> bool {
        match self {
            Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Rejected | Self::Cancelled | Self::TimedOut | Self::Unknown => true,
        }
    }

    /// The text that names it.
    pub const fn text_key(self) -> &'static str {
        match self {
            Self::Running => "link-call-running",
            Self::Succeeded => "link-call-succeeded",
            Self::Failed => "link-call-failed",
            Self::Rejected => "link-call-rejected",
            Self::Cancelled => "link-call-cancelled",
            Self::TimedOut => "link-call-timed-out",
            Self::Unknown => "link-call-unknown",
        }
    }
}

/// One call of a server, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkCall {
    /// The server's name for it.
    pub tool_call_id: String,
    /// Whether it has its place in the record, under that name. Of those that were refused before, any number may have one
    /// name.
    pub is_recorded: bool,
    /// The tool.
    pub tool: String,
    /// What it is about, as the server gave it.
    pub path: String,
    /// How far it is.
    pub state: LinkCallState,
    /// The stable code, where it was refused or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How large the result is, in bytes; 0 as long as it has not left.
    pub sent_bytes: u64,
    /// When it came.
    pub at: UnixMs,
}

/// How a call ended, as it is kept until the server has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkEnd {
    /// A state that is over.
    pub state: LinkCallState,
    /// What it gave; dropped once the server has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Stable code and sentence, where it was refused or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<(String, String)>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
}

/// What is kept of a call that was taken in.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRecord {
    /// The server's name for it: the same however often it is sent.
    pub tool_call_id: String,
    /// The dispatch that was heard last.
    pub execution_id: String,
    /// SHA-256 of the canonical arguments, hex.
    pub arguments_hash: String,
    /// The tool.
    pub tool: String,
    /// What it is about, as the server gave it.
    pub path: String,
    /// When it was taken in.
    pub reserved_at: UnixMs,
    /// How it ended; `None` while it runs.
    pub end: Option<LinkEnd>,
}

impl LinkRecord {
    /// Whether a call of this name is the same one: the same tool with the same arguments.
    pub fn is_same(&self, tool: &str, arguments_hash: &str) -> bool {
        self.tool == tool && self.arguments_hash == arguments_hash
    }
}

/// What becomes of a call whose place in the record is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is new, and its place is taken now: it may run.
    Fresh,
    /// It is running: nothing is to be said.
    Running,
    /// It is over: what was kept is to be sent.
    Finished,
    /// The same name with another tool or other arguments.
    Conflict,
    /// Too many results wait for the server.
    Full,
}

/// Most results that may wait for a server to take them in.
pub const MOST_OWED: u64 = 256;

/// Decides over a place in the record. `known` is what stands there; `owed` is how many results wait for the server.
pub fn admit(known: Option<&LinkRecord>, tool: &str, arguments_hash: &str, owed: u64) -> Admission {
    match known {
        Some(record) if !record.is_same(tool, arguments_hash) => Admission::Conflict,
        Some(LinkRecord { end: None, .. }) => Admission::Running,
        Some(LinkRecord { end: Some(_), .. }) => Admission::Finished,
        None if owed >= MOST_OWED => Admission::Full,
        None => Admission::Fresh,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_once_and_only_for_the_same_tool_with_the_same_arguments() {
        let running = LinkRecord {
            tool_call_id: "t:c".into(),
            execution_id: "x".into(),
            arguments_hash: "a".into(),
            tool: "workspace.read_file".into(),
            path: "a.txt".into(),
            reserved_at: UnixMs(1),
            end: None,
        };
        let end = LinkEnd { state: LinkCallState::Succeeded, output: None, error: None, duration_ms: 1 };
        let finished = LinkRecord { end: Some(end), ..running.clone() };
        let read = "workspace.read_file";
        assert_eq!(admit(None, read, "a", MOST_OWED - 1), Admission::Fresh);
        assert_eq!(admit(None, read, "a", MOST_OWED), Admission::Full);
        assert_eq!(admit(Some(&running), read, "a", MOST_OWED), Admission::Running);
        assert_eq!(admit(Some(&finished), read, "a", MOST_OWED), Admission::Finished);
        for known in [&running, &finished] {
            assert_eq!(admit(Some(known), read, "b", 0), Admission::Conflict);
            assert_eq!(admit(Some(known), "workspace.list_files", "a", 0), Admission::Conflict);
        }
    }
}

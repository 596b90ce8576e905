//! A question to the person, and the answer.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::ir::{Access, CallId, ConfirmId, Preview, RiskLevel, SessionId, ToolCall, UnixMs};
use crate::policy::{AskReason, RuleScope};

/// Everything that a confirmation shows; computed by the program, never by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmRequest {
    /// The question's id: the answer names it.
    pub id: ConfirmId,
    /// Which session asks.
    pub session: SessionId,
    /// Its title.
    pub session_title: String,
    /// Which model asks; empty for the command line.
    pub model: String,
    /// The call with its full arguments.
    pub call: ToolCall,
    /// What it does to the computer.
    pub access: Access,
    /// How much harm it can do.
    pub risk: RiskLevel,
    /// The resolved target, absolute.
    pub target: String,
    /// The allowed folder that it lies in; `None` for outside.
    pub folder: Option<String>,
    /// Whether something is there already.
    pub exists: bool,
    /// Whether the model read it in this session and it has not changed since; `None` if it was never read.
    pub unchanged_since_read: Option<bool>,
    /// Where the given path was a link, what was given.
    pub via_link: Option<String>,
    /// Whether it can be taken back: to the trash for deletions.
    pub undoable: bool,
    /// Why it is asked, most serious first.
    pub reasons: Vec<AskReason>,
    /// What it would do, whole.
    pub preview: Preview,
    /// What a whole write puts there, to be compared with what is meant.
    #[serde(default)]
    pub content: Option<ContentFacts>,
    /// The model's own words before the call, labelled as such.
    pub model_words: String,
    /// Scopes that may be allowed for this session, narrow to broad; empty when none may.
    pub rule_proposals: Vec<RuleScope>,
    /// For each proposal, how many of the session's last calls it would have allowed, and of how many.
    pub dry_run: Vec<(u32, u32)>,
    /// Scopes that may be refused for good, narrow to broad, each with what it would have refused.
    #[serde(default)]
    pub denials: Vec<RuleOffer>,
    /// The server that asks over the device link: its address. It can be allowed once or denied, nothing else.
    #[serde(default)]
    pub server: Option<String>,
    /// When it closes by itself, refused; `None` for never.
    #[serde(default)]
    pub expires_at: Option<UnixMs>,
    /// When it was asked.
    pub asked_at: UnixMs,
    /// Whether it is asked anew because what was approved is no longer what is there.
    #[serde(default)]
    pub is_asked_anew: bool,
    /// The hash that an answer is bound to.
    pub plan_hash: String,
}

/// What the built-in guide is called where a model's name stands.
const GUIDE: &str = "guide";

impl ConfirmRequest {
    /// Whether the built-in guide asks, which is no model.
    pub fn is_of_guide(&self) -> bool {
        self.model == GUIDE
    }

    /// The call that waits.
    pub fn call_id(&self) -> &CallId {
        &self.call.id
    }
}

/// A rule that may be made, and what it would have meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleOffer {
    /// What it would cover.
    pub scope: RuleScope,
    /// How many of the session's last calls it would have covered …
    pub covered: u32,
    /// … of how many.
    pub of: u32,
}

/// A content by its size and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContentFacts {
    /// Its size, in bytes.
    pub bytes: u64,
    /// Its lines; a last one without a line break counts.
    pub lines: u64,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
}

impl ContentFacts {
    /// Of a text.
    pub fn of(content: &str) -> Self {
        Self {
            bytes: content.len() as u64,
            lines: content.lines().count() as u64,
            sha256: hex::encode(Sha256::digest(content.as_bytes())),
        }
    }
}

/// Why a question was closed without an answer: it was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unanswered {
    /// Nobody answered in time.
    Expired,
    /// The screen was locked: whoever comes back must not answer by a key that was meant for the lock.
    ScreenLocked,
}

/// What the person said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Answer {
    /// Yes, this once.
    AllowOnce,
    /// Yes, this once, and this command may use the network.
    AllowWithNetwork,
    /// Yes, and a rule for the session.
    AllowInSession {
        /// What the rule covers: one of the proposals.
        scope: RuleScope,
    },
    /// No, with the person's words for the model (may be empty).
    Deny {
        /// The words.
        reason: String,
    },
    /// No, and a rule for the session that refuses the like of it from now on.
    DenyInSession {
        /// What the rule covers: one of the offers.
        scope: RuleScope,
    },
    /// No, and end the turn.
    DenyAndStop,
}

//! Messages and calls as they are kept and shown: the IR plus what happened to it.

use serde::{Deserialize, Serialize};

use super::{
    CallId, Cost, Error, FinishReason, Message, MessageId, PerfStats, Preview, RuleId, SessionId, StreamBody, Tier,
    TokenUsage, ToolCall, ToolResult, UnixMs,
};

/// A message of a session with its place in the tree of branches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageRecord {
    /// Its id.
    pub id: MessageId,
    /// The session.
    pub session: SessionId,
    /// The message before it on its branch; `None` for the first.
    pub parent: Option<MessageId>,
    /// What was said.
    pub message: Message,
    /// How it ended, or that it has not.
    pub status: MessageStatus,
    /// Who answered, and at what cost (assistant only).
    pub answer: Option<AnswerMeta>,
    /// Why it broke off.
    pub error: Option<Error>,
    /// This message's place among the versions that share its parent and role, from 1, and their number.
    pub version: (u32, u32),
}

impl MessageRecord {
    /// Adds a piece of its stream: to its words, or to its thinking. The other pieces say nothing that it holds while it grows.
    pub fn grow(&mut self, piece: &StreamBody) {
        match piece {
            StreamBody::TextDelta { delta } => self.message.content.push_str(delta),
            StreamBody::ReasoningDelta { delta } => {
                self.message.reasoning_content.get_or_insert_default().push_str(delta);
            }
            StreamBody::ThinkingStart
            | StreamBody::ThinkingEnd
            | StreamBody::ToolCallDelta { .. }
            | StreamBody::ToolCallComplete { .. }
            | StreamBody::Usage { .. }
            | StreamBody::Error { .. }
            | StreamBody::Done => {}
        }
    }
}

/// How a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageStatus {
    /// Whole.
    Complete,
    /// Still growing.
    Streaming,
    /// The person stopped it; what had come is kept.
    Stopped,
    /// An error broke it off; what had come is kept.
    Failed,
    /// Nod ended while it grew; what had come is kept.
    Interrupted,
}

/// Who answered, and at what cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerMeta {
    /// The provider that was asked and answered: the chosen one or the one that took over.
    pub provider: String,
    /// The model that was asked and answered, by the name that the person chose; never what a server calls itself.
    pub model: String,
    /// Tokens.
    pub usage: TokenUsage,
    /// The provider's own timings.
    pub perf: Option<PerfStats>,
    /// From sending to the end, in milliseconds.
    pub latency_ms: u64,
    /// From sending to the first sign of life, in milliseconds.
    pub first_token_ms: Option<u64>,
    /// How long it thought, in milliseconds.
    pub thinking_ms: Option<u64>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// What it cost, where the price was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Whether it is what the model thought, because it said nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_thought_alone: bool,
    /// How many earlier messages were not sent, where the conversation had to be shortened for the model; 0 when older
    /// calls were cut alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<usize>,
    /// Where it was answered; `None` where that is not known, as with what came from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<AnswerPlace>,
}

/// Where an answer came from. Only who is there again is known to have its words already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerPlace {
    /// Scheme, host and port that were asked; empty where there is none.
    pub origin: String,
    /// Whether the model ran on another machine.
    pub is_elsewhere: bool,
}

/// One row of the ledger: a call and all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// The call as it would be run; `call.id` is the row's key together with `session`.
    pub call: ToolCall,
    /// The session.
    pub session: SessionId,
    /// The assistant message that asked for it; `None` for a call from the command line.
    pub message: Option<MessageId>,
    /// Where it stands.
    pub status: CallStatus,
    /// SHA-256 of the canonical arguments, hex.
    pub args_hash: String,
    /// The resolved target, as it is shown to the person.
    pub target: Option<String>,
    /// What was decided.
    pub verdict: Option<Verdict>,
    /// Who decided it.
    pub decider: Option<Decider>,
    /// What the decision rests on.
    #[serde(default)]
    pub grounds: Grounds,
    /// The person's words with a refusal.
    pub reason: Option<String>,
    /// What the confirmation showed, kept for the card.
    pub preview: Option<Preview>,
    /// What it gave.
    pub result: Option<ToolResult>,
    /// When the row was made.
    pub created_at: UnixMs,
    /// When its effect began.
    pub started_at: Option<UnixMs>,
    /// When it ended.
    pub finished_at: Option<UnixMs>,
}

/// What the decision about a call rests on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Grounds {
    /// The rule that decided.
    pub rule: Option<RuleId>,
    /// The plan that was decided on, SHA-256, hex; empty before there was one.
    pub plan_hash: String,
    /// How far the kernel confines the command; `None` for everything else.
    pub tier: Option<Tier>,
    /// Whether a file that was imported tells of the call: what became of it is that file's word.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_imported: bool,
}

impl CallRecord {
    /// A call of which nothing is known but who asked for it.
    pub fn new(call: ToolCall, session: SessionId, message: Option<MessageId>, created_at: UnixMs) -> Self {
        Self {
            call,
            session,
            message,
            status: CallStatus::Pending,
            args_hash: String::new(),
            target: None,
            verdict: None,
            decider: None,
            grounds: Grounds::default(),
            reason: None,
            preview: None,
            result: None,
            created_at,
            started_at: None,
            finished_at: None,
        }
    }

    /// The ledger's key within a session.
    pub fn id(&self) -> &CallId {
        &self.call.id
    }
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    /// Being checked; nothing has happened yet.
    Pending,
    /// Waits for the person.
    Waiting,
    /// Its effect may be under way.
    Running,
    /// Did what was asked.
    Succeeded,
    /// Did not; the result says why.
    Failed,
    /// Refused, by the person or by policy.
    Denied,
    /// Stopped by the person.
    Cancelled,
    /// Nod ended while it ran: check the target.
    Unknown,
}

impl CallStatus {
    /// Whether nothing more comes of the call.
    pub const fn has_ended(self) -> bool {
        match self {
            Self::Pending | Self::Waiting | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Denied | Self::Cancelled | Self::Unknown => true,
        }
    }
}

/// What was decided of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Allowed,
    Denied,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decider {
    /// A rule that nobody can switch off.
    BuiltIn,
    /// A rule that the person made.
    Rule,
    /// The person, asked.
    Person,
    /// The session's mode: this kind of call needs no yes.
    Mode,
    /// A flag of the command line.
    Flag,
    /// Nobody answered.
    Timeout,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::json::{round_trip, words};

    #[test]
    fn a_ledger_row_and_a_message_record_are_read_back_whole() {
        let row: CallRecord = round_trip(&json!({
            "call": {"id": "c", "name": "write_file", "args": {"path": "a"}, "iteration": 1, "timestamp": 5},
            "session": "s",
            "message": "m",
            "status": "denied",
            "argsHash": "00",
            "target": "/w/a",
            "verdict": "denied",
            "decider": "built-in",
            "grounds": {"rule": "r", "planHash": "ab", "tier": null},
            "reason": "no",
            "preview": {"kind": "diff", "lines": [{"tag": "added", "oldLine": null, "newLine": 1, "text": "x"}], "added": 1, "removed": 0},
            "result": null,
            "createdAt": 5,
            "startedAt": null,
            "finishedAt": 6,
        }));
        assert_eq!(row.id().as_str(), "c");
        let record: MessageRecord = round_trip(&json!({
            "id": "m",
            "session": "s",
            "parent": null,
            "message": {"role": "assistant", "content": "hi", "timestamp": 5},
            "status": "interrupted",
            "answer": {
                "provider": "ollama",
                "model": "qwen3:8b",
                "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
                "perf": {"evalDurationMs": 3},
                "latencyMs": 9,
                "firstTokenMs": 4,
                "thinkingMs": null,
                "finishReason": "stop",
            },
            "error": null,
            "version": [1, 2],
        }));
        assert_eq!(record.version, (1, 2));
    }

    #[test]
    fn states_of_calls_have_their_words() {
        words(&[
            ("pending", CallStatus::Pending),
            ("waiting", CallStatus::Waiting),
            ("running", CallStatus::Running),
            ("succeeded", CallStatus::Succeeded),
            ("failed", CallStatus::Failed),
            ("denied", CallStatus::Denied),
            ("cancelled", CallStatus::Cancelled),
            ("unknown", CallStatus::Unknown),
        ]);
    }
}

//! The events of a streamed answer, the order they keep, and how they add up to a message.

use serde::{Deserialize, Serialize};

use super::{Error, RequestId, SessionId, TokenUsage, ToolCall, UnixMs};

/// One event; one JSON object per line wherever events leave the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamEvent {
    /// What happened.
    #[serde(flatten)]
    pub body: StreamBody,
    /// The request it belongs to.
    pub request_id: RequestId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The round, from 1.
    pub iteration: u32,
    /// 0, 1, 2, … per request, without gaps.
    pub seq: u64,
    /// When it came.
    pub timestamp: UnixMs,
}

/// What happened, by type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum StreamBody {
    /// A thinking block begins; before its first `reasoning_delta`.
    ThinkingStart,
    /// The thinking block ended; before the text or tool event that follows.
    ThinkingEnd,
    /// More thinking.
    ReasoningDelta {
        /// The new text.
        delta: String,
    },
    /// More answer.
    TextDelta {
        /// The new text.
        delta: String,
    },
    /// A fragment of a call; a consumer may ignore it and lose nothing.
    ToolCallDelta {
        /// The fragment.
        tool_call_delta: ToolCallDelta,
    },
    /// A call, assembled and parsed.
    ToolCallComplete {
        /// The call.
        tool_call: ToolCall,
    },
    /// Tokens, normally just before `done`.
    Usage {
        /// The count so far; the last one holds.
        usage: TokenUsage,
    },
    /// The answer broke off.
    Error {
        /// Why.
        error: Error,
    },
    /// Always last, exactly once, also after an error.
    Done,
}

/// A fragment of a streamed call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallDelta {
    /// The call's place in the answer.
    pub index: u32,
    /// The tool's name, when this fragment carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// More of the arguments' text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_delta: Option<String>,
}

/// Numbers events and keeps their order, so that an adapter need not: it opens and closes thinking blocks
/// around what is pushed and lets nothing through after `done`.
#[derive(Debug)]
pub struct StreamSequencer {
    request_id: RequestId,
    session_id: SessionId,
    iteration: u32,
    next_seq: u64,
    thinking: bool,
    done: bool,
}

/// Adds up the events of one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accumulator {
    /// The answer so far.
    pub content: String,
    /// The thinking so far.
    pub reasoning: String,
    /// The calls that are complete, in order.
    pub calls: Vec<ToolCall>,
    /// The last count.
    pub usage: Option<TokenUsage>,
    /// Why it broke off.
    pub error: Option<Error>,
    next_seq: u64,
    thinking: bool,
    done: bool,
}

/// An event that breaks the order rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderFault {
    #[error("event {found} came where {expected} was due")]
    Sequence { expected: u64, found: u64 },
    #[error("an event came after done")]
    AfterDone,
    #[error("thinking text came outside a thinking block")]
    ReasoningOutsideThinking,
    #[error("text or a tool event came inside a thinking block")]
    InsideThinking,
    #[error("a thinking block began inside another or ended without beginning")]
    ThinkingNesting,
}

impl StreamSequencer {
    /// A sequencer for one request.
    pub fn new(request_id: RequestId, session_id: SessionId, iteration: u32) -> Self {
        Self { request_id, session_id, iteration, next_seq: 0, thinking: false, done: false }
    }

    /// Turns what an adapter saw into the events to send on, in order. Empty deltas and whatever comes
    /// after `done` give nothing; `thinking_start` and `thinking_end` are added where they are due.
    pub fn push(&mut self, body: StreamBody, now: UnixMs) -> Vec<StreamEvent> {
        if self.done {
            return Vec::new();
        }
        let mut bodies = Vec::with_capacity(2);
        let thinks = match &body {
            StreamBody::ReasoningDelta { delta } | StreamBody::TextDelta { delta } if delta.is_empty() => {
                return Vec::new();
            }
            StreamBody::ThinkingStart if self.thinking => return Vec::new(),
            StreamBody::ThinkingEnd if !self.thinking => return Vec::new(),
            StreamBody::ThinkingStart | StreamBody::ReasoningDelta { .. } => true,
            // Counts may come at any time and leave a thinking block open.
            StreamBody::Usage { .. } => self.thinking,
            StreamBody::ThinkingEnd
            | StreamBody::TextDelta { .. }
            | StreamBody::ToolCallDelta { .. }
            | StreamBody::ToolCallComplete { .. }
            | StreamBody::Error { .. }
            | StreamBody::Done => false,
        };
        if thinks && !self.thinking && body != StreamBody::ThinkingStart {
            bodies.push(StreamBody::ThinkingStart);
        }
        if !thinks && self.thinking && body != StreamBody::ThinkingEnd {
            bodies.push(StreamBody::ThinkingEnd);
        }
        self.thinking = thinks;
        self.done = body == StreamBody::Done;
        bodies.push(body);
        bodies.into_iter().map(|body| self.number(body, now)).collect()
    }

    fn number(&mut self, body: StreamBody, timestamp: UnixMs) -> StreamEvent {
        let seq = self.next_seq;
        self.next_seq += 1;
        StreamEvent {
            body,
            request_id: self.request_id.clone(),
            session_id: self.session_id.clone(),
            iteration: self.iteration,
            seq,
            timestamp,
        }
    }
}

impl Accumulator {
    /// Takes one event in.
    ///
    /// # Errors
    /// When the event breaks the order rules; nothing is taken in then.
    pub fn apply(&mut self, event: &StreamEvent) -> Result<(), OrderFault> {
        if self.done {
            return Err(OrderFault::AfterDone);
        }
        if event.seq != self.next_seq {
            return Err(OrderFault::Sequence { expected: self.next_seq, found: event.seq });
        }
        match &event.body {
            StreamBody::ThinkingStart if self.thinking => return Err(OrderFault::ThinkingNesting),
            StreamBody::ThinkingEnd if !self.thinking => return Err(OrderFault::ThinkingNesting),
            StreamBody::ThinkingStart => self.thinking = true,
            StreamBody::ThinkingEnd => self.thinking = false,
            StreamBody::ReasoningDelta { .. } if !self.thinking => return Err(OrderFault::ReasoningOutsideThinking),
            StreamBody::ReasoningDelta { delta } => self.reasoning.push_str(delta),
            StreamBody::TextDelta { .. } | StreamBody::ToolCallDelta { .. } | StreamBody::ToolCallComplete { .. }
                if self.thinking =>
            {
                return Err(OrderFault::InsideThinking);
            }
            StreamBody::TextDelta { delta } => self.content.push_str(delta),
            StreamBody::ToolCallDelta { .. } => {}
            StreamBody::ToolCallComplete { tool_call } => self.calls.push(tool_call.clone()),
            StreamBody::Usage { usage } => self.usage = Some(*usage),
            StreamBody::Error { error } => self.error = Some(error.clone()),
            StreamBody::Done if self.thinking => return Err(OrderFault::InsideThinking),
            StreamBody::Done => self.done = true,
        }
        self.next_seq += 1;
        Ok(())
    }

    /// Whether `done` has come.
    pub fn is_done(&self) -> bool {
        self.done
    }
}

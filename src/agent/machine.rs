//! The states of a turn and what leads from one to the next.

use crate::ir::{CallId, Error, FinishReason, Message, State, ToolCall, ToolResult};

/// What a turn is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnConfig {
    /// Most requests to the model (default 10).
    pub max_rounds: u32,
    /// The round number before the first request of this turn (0, except for *Continue*).
    pub rounds_done: u32,
}

/// What the engine tells the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Begin: the history, ending with the person's message (or with results, for *Continue* and retry).
    Start,
    /// The first sign of life of the answer.
    FirstEvent,
    /// The answer ended.
    RoundEnded(RoundEnd),
    /// The answer broke off for good (retries and fallback are used up).
    RoundFailed(Error),
    /// A call waits for the person.
    CallWaiting(CallId),
    /// A waiting call was answered; it runs now or is refused.
    CallAnswered(CallId),
    /// A call has its result. `stop_turn` is set by *Deny and stop*.
    CallEnded {
        /// Its result.
        result: ToolResult,
        /// Whether the person ended the turn with it.
        stop_turn: bool,
    },
    /// The history was compressed, or could not be.
    Compressed,
    /// The person pressed Stop.
    Stop,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundEnd {
    /// The assistant's message, with its calls.
    pub message: Message,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Whether the history is over its budget now.
    pub needs_compression: bool,
}

/// What the machine wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The state changed.
    Enter(State),
    /// Send a request of this round (from 1) with the history as it stands.
    Send {
        /// The round.
        round: u32,
    },
    /// Keep a message: it belongs to the history now.
    Append(Message),
    /// Run these calls through the gate, side by side.
    Run(Vec<ToolCall>),
    /// Shrink what is sent.
    Compress,
    /// Abort the request under way.
    AbortRequest,
    /// Cancel these calls: close their questions, end what they started.
    CancelCalls(Vec<CallId>),
    /// The turn is over.
    End(Outcome),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The model had nothing more to call.
    Done,
    /// The model or the network failed.
    Failed(Error),
    /// *Deny and stop*.
    Denied,
    /// Stop.
    Stopped,
    /// Ten rounds, or the same call three times with the same result.
    Limit(Error),
}

/// One turn.
#[derive(Debug)]
pub struct Machine {}

//! The internal representation: one provider-neutral vocabulary of plain data.
//!
//! Every room speaks these types; a provider's own JSON exists in that provider's module alone.
//! Nothing here does IO, knows a clock, a database or the name of a provider's field.
//! JSON names are camelCase (see the IR standard v1.0.0); unknown fields are ignored on read.

mod audit;
mod code;
mod confinement;
mod contact;
mod context;
mod error;
mod guarded;
mod home;
mod id;
#[cfg(test)]
mod json;
mod known_refusal;
mod link;
mod memory;
mod message;
mod model;
mod preview;
mod provider;
mod record;
mod request;
mod response;
mod session;
mod state;
mod stream;
mod strict_json;
mod tool;
mod undo;

pub use audit::{AuditAct, AuditBreak, AuditBreakKind, AuditCheck, AuditEntry, AuditFilter, AuditOrigin, AuditRow};
pub use code::{Code, Failure};
pub use confinement::{Confinement, Leak, Network, Obstacle, ObstacleKind, Tier};
pub use contact::Contact;
pub use context::{Context, CurrentTask};
pub use error::{Error, ErrorCode};
pub use guarded::{STRICT_SETTINGS, is_guarded_setting};
pub use id::{CallId, Clock, ConfirmId, MessageId, RequestId, RuleId, SessionId, UndoId, UnixMs, UptimeMs};
pub use known_refusal::KnownRefusal;
pub use link::{
    Admission, LinkCall, LinkCallState, LinkEnd, LinkProblem, LinkRecord, LinkServer, LinkState, LinkView, MOST_OWED,
    admit,
};
pub use memory::{MemoryItem, MemorySource, MemoryType};
pub use message::{Image, ImageDetail, Message, Role};
pub use model::{Cost, ModelInfo, Pricing, Support};
pub use preview::{
    ChangeNote, CommandPreview, DiffLine, DiffTag, LinkedOutside, Preview, Promise, StartMoment, Started, StartedFile,
    TreeEntry, Unshown,
};
pub use provider::{KeyPlace, NoProxy, ProviderRecord, Proxy};
pub use record::{
    AnswerMeta, AnswerPlace, CallRecord, CallStatus, Decider, Grounds, MessageRecord, MessageStatus, Verdict,
};
pub use request::{Constraints, GenerationParams, Request, RequestMeta, SystemPrompt, ThinkingEffort};
pub use response::{FinishReason, PerfStats, Response, ResponseMeta, Thinking, ThinkingStatus, TokenUsage};
pub use session::{ConfirmMode, Session, ThinkingLevel};
pub use state::State;
pub use stream::{Accumulator, OrderFault, StreamBody, StreamEvent, StreamSequencer, ToolCallDelta};
pub use strict_json::strict_json;
pub use tool::{Access, CallMark, RiskLevel, ToolCall, ToolCategory, ToolDef, ToolResult};
pub use undo::{
    FileState, ObjectId, UndoAction, UndoChoice, UndoDirection, UndoEntry, UndoOperation, UndoOutcome, UndoPlace,
    UndoPlan, UndoResult, UndoScope, UndoState, UndoStep,
};

/// Version of this vocabulary, written into exports.
pub const IR_VERSION: &str = "1.0";

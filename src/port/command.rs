//! What a front end asks of the engine. Every command is answered by events; none blocks.

use std::path::PathBuf;

use serde_json::Value;

use crate::ir::{
    AuditFilter, CallId, ConfirmId, ConfirmMode, Decider, Image, MessageId, ProviderRecord, RuleId, Session, SessionId,
    ThinkingLevel, ToolCall, UndoChoice, UndoDirection, UndoId, UndoScope,
};
use crate::policy::{RuleEffect, RuleScope};
use crate::secret::SecretKey;

use super::Answer;

/// A request of a front end.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// All sessions → `SessionsListed`.
    ListSessions,
    /// A new session with the settings' defaults, opened → `SessionOpened`.
    CreateSession,
    /// A session with its newest page of messages → `SessionOpened`.
    OpenSession(SessionId),
    /// The page before this message → `OlderLoaded`.
    LoadOlder { session: SessionId, before: MessageId },
    /// → `SessionChanged`.
    RenameSession { session: SessionId, title: String },
    /// → `SessionChanged`.
    PinSession { session: SessionId, pinned: bool },
    /// Hides it; gone for good after the undo time → `SessionDeleted`.
    DeleteSession(SessionId),
    /// Takes a deletion back → `SessionsListed`.
    RestoreSession(SessionId),
    /// Hides every session of this computer → `SessionsDeleted`.
    DeleteAllSessions,
    /// Takes the deletion of several back → `SessionsListed`.
    RestoreSessions(Vec<SessionId>),
    /// A copy that ends with this message, opened → `SessionOpened`.
    ForkSession { session: SessionId, at: MessageId },
    /// Writes JSON (IR) or Markdown by the path's extension → `FileWritten`.
    ExportSession { session: SessionId, path: PathBuf },
    /// The same of all sessions of this computer, in one file → `FileWritten`.
    ExportAllSessions { path: PathBuf },
    /// Writes a copy of the database → `FileWritten`.
    BackUp { path: PathBuf },
    /// Reads an export as new sessions, all of them or none → `SessionsListed` where there are several, `SessionOpened`.
    /// They come without folders and system prompt, in the mode for new chats: a file may come from anybody.
    ImportSession { path: PathBuf },
    /// → `SessionChanged`.
    SetModel { session: SessionId, provider: String, model: String },
    /// → `SessionChanged`.
    SetThinking { session: SessionId, thinking: ThinkingLevel },
    /// → `SessionChanged`.
    SetMode { session: SessionId, mode: ConfirmMode },
    /// → `SessionChanged`, with a warning (`Notice`) for a folder that is too wide, or `Fault`.
    AddFolder { session: SessionId, path: PathBuf },
    /// → `SessionChanged`.
    RemoveFolder { session: SessionId, path: String },
    /// Keeps what is typed and not sent.
    SaveDraft { session: SessionId, text: String },
    /// Says something; queued when a turn runs.
    Send { session: SessionId, text: String, images: Vec<Image> },
    /// Takes a queued message back.
    Unqueue { session: SessionId, index: usize },
    /// A new branch with this text in the place of the person's earlier message, and an answer.
    EditMessage { session: SessionId, message: MessageId, text: String },
    /// A new branch with another answer in the place of this one.
    Regenerate { session: SessionId, message: MessageId },
    /// Shows another version of a message (by its number, from 1) → `SessionOpened`.
    SelectVersion { session: SessionId, message: MessageId, version: u32 },
    /// Takes a message and what follows off the shown branch → `SessionOpened`.
    DeleteMessage { session: SessionId, message: MessageId },
    /// Goes on after the round limit, or tries the broken-off answer again.
    Continue(SessionId),
    /// Stops the session's turn.
    Stop(SessionId),
    /// Answers a question.
    Answer { confirm: ConfirmId, answer: Answer, decider: Decider },
    /// Fetches an image that a text of the session names, because the person asked for it → `ImageLoaded`.
    LoadImage { session: SessionId, url: String },
    /// The system locked the screen, or opened it again. What waits for an answer is refused when it is locked.
    NoteScreenLock { is_locked: bool },
    /// A rule that the person makes by hand: a refusal for one session, or anything that may be made for all of them (no
    /// session) → `RulesChanged`.
    MakeRule { session: Option<SessionId>, effect: RuleEffect, scope: RuleScope },
    /// → `RulesChanged`. No session: a rule that holds in all.
    RevokeRule { session: Option<SessionId>, rule: RuleId },
    /// The rules that hold in all sessions → `RulesChanged`.
    ListStandingRules,
    /// Lines of the audit, newest first, leaving out the first `offset` → `AuditLoaded`.
    LoadAudit { filter: AuditFilter, offset: u64, number: u64 },
    /// Examines the whole audit → `AuditChecked`.
    CheckAudit { number: u64 },
    /// Writes lines of the audit, as CSV or as JSON Lines by the path's extension → `FileWritten`.
    ExportAudit { filter: AuditFilter, path: PathBuf },
    /// Lifts the sensitive-name denial for one file in one session → `LiftedChanged`.
    LiftSensitive { session: SessionId, path: PathBuf },
    /// Takes that back → `LiftedChanged`.
    TakeLiftBack { session: SessionId, path: PathBuf },
    /// Has a masked value sent as it is from now on, or no longer → `SecretsChanged`.
    ReleaseSecret { session: SessionId, secret: String, is_released: bool },
    /// Closes or opens the padlock: nothing leaves this machine → `SessionChanged`.
    SetLocalOnly { session: SessionId, is_local_only: bool },
    /// The session's last request, as it left → `SentShown`.
    ShowSent(SessionId),
    /// The models as a window begins with them: the last lists, fresh ones where there is none → `ModelsChanged`.
    ShowModels,
    /// The models of one provider, or of all (`None`) → `ModelsChanged`.
    RefreshModels { provider: Option<String> },
    /// The same on behalf of a session: its padlock and its list of hosts hold → `ModelsChanged`.
    RefreshSessionModels { session: SessionId, provider: Option<String> },
    /// How far this computer confines commands; probed at the first time → `ConfinementFound`.
    FindConfinement,
    /// Downloads a model → `PullProgressed`, `ModelsChanged`.
    PullModel { provider: String, model: String },
    /// Stops a download.
    CancelPull { provider: String, model: String },
    /// Sets a provider up, or changes one; what the record says of its key is not taken over → `SettingsChanged`.
    PutProvider(Box<ProviderRecord>),
    /// Forgets a provider and its key → `SettingsChanged`.
    RemoveProvider { id: String },
    /// Keeps a key for the provider's present origin, in the keyring or, where there is none, for this run →
    /// `SettingsChanged`, `KeyKept`.
    SetKey { provider: String, key: SecretKey },
    /// Forgets the provider's key → `SettingsChanged`.
    RemoveKey { provider: String },
    /// Looks at the connection step by step → `ProviderTested`.
    TestProvider { provider: String, model: Option<String> },
    /// Changes one setting by its key → `SettingsChanged`.
    SetSetting { key: String, value: Value },
    /// Back to the default → `SettingsChanged`.
    ResetSetting { key: String },
    /// Full-text search → `SearchFound`, with the query's own number so that a late answer is dropped.
    Search { query: String, number: u64 },
    /// Paths in the allowed folders (or, without a session, folders anywhere) that begin like this → `PathsCompleted`.
    CompletePath { session: Option<SessionId>, prefix: String, number: u64 },
    /// One call through the gate, from the command line → `ToolEnded`. The session is stored first, so that the ledger
    /// has it. `call.raw_args` holds the arguments as they were typed: the gate parses them, strictly.
    RunTool { session: Box<Session>, call: ToolCall, options: TurnOptions },
    /// Stops one running call.
    StopCall { session: SessionId, call: CallId },
    /// One turn with options, for the command line → the turn's events, `TurnEnded`. The session is stored first.
    RunTurn { session: Box<Session>, text: String, images: Vec<Image>, options: TurnOptions },
    /// What taking something back, or doing it again, would do → `UndoPlanned`.
    PlanUndo { scope: UndoScope, direction: UndoDirection },
    /// Carries a plan out as it was shown → `UndoApplied`; `UndoPlanned` again where it is no longer what is there. A
    /// conflict without a choice stays as it is.
    ApplyUndo { scope: UndoScope, direction: UndoDirection, choices: Vec<(UndoId, UndoChoice)>, plan_hash: String },
    /// What one entry of the journal changed → `UndoShown`.
    ShowUndo(UndoId),
    /// Connects to every server that was added to the device link and is not paused → `LinksChanged`.
    StartLinks,
    /// Adds a server to the device link, or changes its folder or token; connects → `LinksChanged`, `KeyKept`.
    PutLink { url: String, workspace: PathBuf, token: Option<SecretKey> },
    /// Connects to a server without adding it, until `StopLink` → `LinksChanged`.
    RunLink { url: String, workspace: PathBuf, token: SecretKey },
    /// Ends such a connection → `LinksChanged`.
    StopLink { url: String },
    /// Ends a server's connection for now, or begins it again → `LinksChanged`.
    PauseLink { url: String, is_paused: bool },
    /// Tries to connect at once → `LinksChanged`.
    RetryLink { url: String },
    /// Forgets a server, its token and the record of its calls → `LinksChanged`.
    RemoveLink { url: String },
    /// A server's last calls → `LinkCallsListed`.
    ListLinkCalls { url: String },
    /// A server's conversations → `ThreadsListed`.
    ListThreads { url: String },
    /// A new conversation that will live on a server, opened → `SessionOpened`. From then on it is a session like others:
    /// `OpenSession`, `Send`, `Stop`, `EditMessage`, `Regenerate`, `Continue`, `DeleteSession` and drafts work on it.
    BeginThread { url: String },
    /// Brings the window forward (a second start asks for it) → `Raised`.
    Raise,
    /// Stops everything, finishes writing → `Ended`.
    Quit,
}

/// What the command line may set for one turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnOptions {
    /// Asks without streaming.
    pub is_unstreamed: bool,
    /// Most requests to the model; the setting when `None`.
    pub max_rounds: Option<u32>,
    /// For the whole turn, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Names of the tools that may be used; the settings when `None`.
    pub tools: Option<Vec<String>>,
    /// Tools that are switched on for this turn.
    pub enabled_tools: Vec<String>,
    /// Lifts "never run unconfined" for this turn.
    pub allow_unconfined: bool,
    /// Another base URL for the session's provider in this turn.
    pub base_url: Option<String>,
    /// The key for the session's provider in this turn.
    pub api_key: Option<SecretKey>,
    /// Who answers when the session's provider cannot; the settings' own when `None`.
    pub fallback: Option<Fallback>,
}

/// Who answers when the first provider cannot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fallback {
    /// The provider's id.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Another base URL for it.
    pub base_url: Option<String>,
}

/// An image on its way into a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageAttachment {
    /// Shown on its chip.
    pub name: String,
    /// Its size, in bytes.
    pub bytes: u64,
    /// Stands for its content: the same for the same picture.
    pub digest: u64,
    /// As it will be sent.
    pub image: Image,
}

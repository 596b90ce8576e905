//! What the engine reports to every front end.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ir::{
    AuditCheck, AuditRow, CallId, CallRecord, Confinement, ConfirmId, Contact, Error, LinkCall, LinkProblem, LinkView,
    MessageId, MessageRecord, ModelInfo, Preview, Session, SessionId, State, StreamEvent, TokenUsage, ToolResult,
    UndoDirection, UndoEntry, UndoId, UndoPlan, UndoResult, UndoScope, UnixMs,
};
use crate::policy::{MaskedSecret, RuleSet, SecretKind};

use super::{ConfirmRequest, Diagnosis, PresetInfo, Settings, Unanswered};

/// What a file that was written for the person holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenFile {
    /// Sessions, or lines of the audit.
    Export,
    /// The whole database.
    Backup,
}

/// A part of a request that was sent, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentPart {
    /// As it left.
    Text(String),
    /// A secret that left as it is, and is hidden where it is shown.
    Hidden(SecretKind),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The engine is up: the settings, where data lies, the providers that can be set up.
    Started { settings: Box<Settings>, data_dir: PathBuf, presets: Vec<PresetInfo> },
    /// All sessions, newest first.
    SessionsListed(Vec<Session>),
    /// A session with a page of its shown branch, oldest first.
    SessionOpened {
        session: Box<Session>,
        messages: Vec<MessageRecord>,
        /// Whether there is more before the first.
        has_older: bool,
        /// The calls of those messages.
        calls: Vec<CallRecord>,
        rules: RuleSet,
        /// Where a running turn stands.
        state: State,
        /// Messages that wait for the running turn to end.
        queued: Vec<String>,
    },
    /// An older page, oldest first.
    OlderLoaded { session: SessionId, messages: Vec<MessageRecord>, has_older: bool, calls: Vec<CallRecord> },
    /// Title, model, folders, mode, … changed.
    SessionChanged(Box<Session>),
    /// It is hidden and can be restored for a while.
    SessionDeleted(SessionId),
    /// They are hidden and can be restored for a while.
    SessionsDeleted(Vec<SessionId>),
    /// A file that the person asked for was written.
    FileWritten { what: WrittenFile, path: PathBuf },
    /// Sessions were read from a file, in its order.
    SessionsImported(Vec<SessionId>),

    /// A turn's state changed.
    StateChanged { session: SessionId, state: State },
    /// A message was added at the end of the shown branch, or changed as a whole (its end, its numbers, an error).
    MessageChanged(Box<MessageRecord>),
    /// More of a streaming answer.
    Streamed { session: SessionId, message: MessageId, event: Box<StreamEvent> },
    /// A call was added or changed.
    CallChanged(Box<CallRecord>),
    /// New output of a running command.
    CallOutput { session: SessionId, call: CallId, is_stderr: bool, text: String },
    /// How many files a running call has looked at.
    CallProgressed { session: SessionId, call: CallId, files: u64 },
    /// An image was fetched, as a `data:` address, or was not.
    ImageLoaded { session: SessionId, url: String, image: Result<String, ImageFault> },
    /// Somebody must answer.
    ConfirmAsked(Box<ConfirmRequest>),
    /// A question needs no answer any more: answered, stopped, or refused because nobody answered.
    ConfirmClosed { confirm: ConfirmId, session: SessionId, unanswered: Option<Unanswered> },
    /// Another provider answers now, because of this error of the first.
    ProviderSwitched { session: SessionId, from: String, to: String, error: Error },
    /// The conversation is longer than the model can read: it was sent again, without this many of its messages and with
    /// older calls cut.
    HistoryShortened { session: SessionId, left_out: usize },
    /// A try failed and is repeated after a wait.
    Retrying { session: SessionId, attempt: u32, wait_ms: u64, error: Error },
    /// How much of the model's window the next request fills, in tokens: an estimate; the window is 0 where unknown.
    ContextMeasured { session: SessionId, estimated_tokens: u64, context_window: u64 },
    /// The messages that wait changed.
    QueueChanged { session: SessionId, queued: Vec<String> },
    /// The turn is over.
    TurnEnded(Box<TurnEnd>),

    /// The rules that hold in the session, all of them; without a session those that hold in all.
    RulesChanged { session: Option<SessionId>, rules: RuleSet },
    /// The files of the session whose names speak of secrets and that the person has opened to it, all of them.
    LiftedChanged { session: SessionId, files: Vec<PathBuf> },
    /// Lines of the audit, newest first, and how many fit in all; `last` is the number of the last line of all.
    AuditLoaded { number: u64, offset: u64, rows: Vec<AuditRow>, total: u64, last: u64 },
    /// What an examination of the audit found.
    AuditChecked { number: u64, check: AuditCheck },
    /// Token-like values that were found in what the session sends, all of them.
    SecretsChanged { session: SessionId, secrets: Vec<MaskedSecret> },
    /// The hosts that the session has reached, all of them, the last one first.
    ContactsChanged { session: SessionId, contacts: Vec<Contact> },
    /// What is known of a provider's models.
    ModelsChanged { provider: String, state: ModelsState },
    /// How far this computer confines commands.
    ConfinementFound(Box<Confinement>),
    /// How far a download is; `error` when it failed, both totals equal when it is done.
    PullProgressed {
        provider: String,
        model: String,
        status: String,
        completed_bytes: u64,
        total_bytes: u64,
        is_done: bool,
        error: Option<Error>,
    },
    /// All settings.
    SettingsChanged(Box<Settings>),
    /// A key was taken; `problem` says why it could not go into the keyring and is kept for this run only.
    KeyKept { provider: String, problem: Option<String> },
    /// The session's last request as it left, without keys; empty when none left since the start.
    SentShown { session: SessionId, parts: Vec<SentPart> },
    /// What was found when a provider's connection was looked at.
    ProviderTested(Box<Diagnosis>),
    /// What a search found.
    SearchFound { number: u64, hits: Vec<SearchHit> },
    /// Paths for a typed beginning.
    PathsCompleted { number: u64, paths: Vec<String> },
    /// One call of the command line is over.
    ToolEnded { session: SessionId, call: Box<CallRecord>, result: Box<ToolResult> },

    /// Entries of a session's journal that are new or changed; after `SessionOpened` all of them, oldest first.
    UndoChanged { session: SessionId, entries: Vec<UndoEntry> },
    /// What an undo would do.
    UndoPlanned(Box<UndoPlan>),
    /// What became of an undo, step by step.
    UndoApplied { session: SessionId, scope: UndoScope, direction: UndoDirection, results: Vec<UndoResult> },
    /// What one entry of the journal changed.
    UndoShown { entry: UndoId, preview: Preview },

    /// The servers of the device link, all of them, and this installation's name.
    LinksChanged { device_id: String, links: Vec<LinkView> },
    /// A server's call was added or changed.
    LinkCallChanged { url: String, call: LinkCall },
    /// A server's last calls, newest first.
    LinkCallsListed { url: String, calls: Vec<LinkCall> },

    /// What is known of the conversations that live on a server.
    ThreadsListed { url: String, threads: ThreadsState },
    /// A conversation on a server cannot be shown, and why.
    ThreadUnreached { session: SessionId, problem: LinkProblem },
    /// A conversation on a server goes on as another one: a branch. Whoever shows the one shows the other from now on.
    SessionMoved { from: SessionId, to: SessionId },

    /// Something the person should know; a key of the language files with its arguments.
    Notice { key: &'static str, args: Vec<(&'static str, String)> },
    /// Something failed outside any turn: a key of the language files with its arguments, and the detail.
    Fault { key: &'static str, args: Vec<(&'static str, String)>, detail: String },
    /// The window shall come forward.
    Raised,
    /// Everything is written and stopped.
    Ended,
}

/// What is known of a provider's models.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelsState {
    /// Being asked.
    Loading,
    /// The list, as the provider gave it.
    Ready(Vec<ModelInfo>),
    /// It cannot be reached, and why.
    Failed(Error),
}

/// What is known of the conversations that live on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadsState {
    /// Being asked.
    Loading,
    /// The list, newest first.
    Ready(Vec<Session>),
    /// It cannot be had, and why.
    Failed(LinkProblem),
}

/// One place where a search text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// The message; `None` when the title itself matches.
    pub message: Option<MessageId>,
    /// Text around the place.
    pub snippet: String,
    /// When the message was written; for a title, when the session was last used.
    pub at: UnixMs,
}

/// How a turn ended, for every front end and as the last line of `nod exec --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    /// The session.
    pub session_id: SessionId,
    /// How it ended.
    pub outcome: TurnOutcome,
    /// The last answer's text.
    pub content: String,
    /// Tokens of all rounds.
    pub usage: TokenUsage,
    /// Requests that were sent to the model.
    pub rounds: u32,
    /// Why it failed or stopped at a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// Whether *Continue* goes on from here.
    #[serde(default)]
    pub can_continue: bool,
}

/// How a turn ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnOutcome {
    Done,
    Failed,
    Denied,
    Stopped,
    Limit,
}

/// Why an image from elsewhere is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageFault {
    /// The padlock of its chat is closed.
    Locked,
    /// Its address is none that may be fetched.
    Refused,
    /// Its server did not give it, or sends elsewhere.
    Unreachable,
    TooLarge,
    /// It is no image that can be shown.
    NotAnImage,
}

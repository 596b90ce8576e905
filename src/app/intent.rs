//! What a person does, as one list. A new action starts here; the compiler leads to the reducer.

use std::path::PathBuf;

use serde_json::Value;

use crate::ir::{
    AuditFilter, CallId, ConfirmId, ConfirmMode, MessageId, Pricing, ProviderRecord, RuleId, SessionId, ThinkingLevel,
    UndoChoice, UndoDirection, UndoId, UndoScope,
};
use crate::policy::{RuleEffect, RuleScope};
use crate::port::{ImageAttachment, SavedPrompt};
use crate::secret::SecretKey;

/// Something that the person did, or that a dialog answered for them.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    // Sessions
    /// Goes to an empty chat, a new one if there is none.
    NewChat,
    SelectSession(SessionId),
    /// The chat below (`1`) or above (`-1`) in the sidebar.
    SelectNeighbour(i32),
    /// Opens the session and scrolls to the message.
    JumpTo {
        session: SessionId,
        message: Option<MessageId>,
    },
    RenameSession {
        session: SessionId,
        title: String,
    },
    PinSession {
        session: SessionId,
        pinned: bool,
    },
    /// A copy of the whole shown branch.
    ForkSession(SessionId),
    /// Asks first where it is for good.
    DeleteSession(SessionId),
    ConfirmDeletion,
    CancelDeletion,
    RestoreSession(SessionId),
    /// Asks first.
    DeleteAllSessions,
    ConfirmDeletionOfAll,
    CancelDeletionOfAll,
    RestoreSessions(Vec<SessionId>),
    /// A new session that lives on this server.
    BeginThread(String),
    /// Asks a server for its list anew.
    ListThreads(String),
    /// Shows all of a server's sessions in the sidebar, or the newest alone.
    ToggleThreads(String),

    /// The system locked the screen, or opened it again.
    NoteScreenLock {
        is_locked: bool,
    },

    // The turn and its messages
    /// Sends what is in the composer; queued while a turn runs.
    Send,
    Stop,
    /// Goes on after the round limit.
    Continue,
    /// Tries the broken-off answer again.
    Retry,
    /// Takes the person's earlier message into the composer; sending makes a branch.
    EditMessage(MessageId),
    /// The same for the newest message of the person.
    EditLast,
    CancelEdit,
    Regenerate(MessageId),
    SelectVersion {
        message: MessageId,
        version: u32,
    },
    /// A new session that ends with this message.
    ForkHere(MessageId),
    DeleteMessage(MessageId),
    Unqueue(usize),
    LoadOlder,
    /// Opens or closes a card.
    ToggleCall(CallId),
    /// Opens or closes a thinking block or a folded run of calls, by the item's key.
    ToggleItem(u64),
    /// Brings the call's question up.
    ReviewCall(CallId),
    StopCall(CallId),
    CopyText(String),
    /// Asks before it leaves the window.
    OpenLink(String),
    /// Asks before it leaves the window or is fetched.
    OpenImage(String),
    /// Fetches the image whose address is shown.
    LoadImage,
    ConfirmLink,
    CancelLink,
    OpenFile(PathBuf),
    ShowInFolder(PathBuf),
    /// The system has no program that opens it.
    OpenFailed(String),

    // Composer
    /// What the box holds now, with the cursor's place in bytes.
    EditDraft {
        text: String,
        cursor: usize,
    },
    /// Files dropped or chosen; the window reads them.
    AttachFiles(Vec<PathBuf>),
    AttachImage(ImageAttachment),
    /// A text file, read.
    AttachText {
        name: String,
        text: String,
    },
    /// It could not be read: a key with the file's name.
    AttachFailed {
        name: String,
        key: &'static str,
    },
    RemoveAttachment(usize),
    /// Moves in the list of completions.
    MoveCompletion(i32),
    /// Takes the highlighted completion, or the one with this index.
    AcceptCompletion(Option<usize>),
    CloseCompletion,

    // Session settings
    ChooseModel {
        provider: String,
        model: String,
    },
    RefreshModels(Option<String>),
    SetThinking(ThinkingLevel),
    SetMode(ConfirmMode),
    AddFolderPath(PathBuf),
    RemoveFolder(String),
    /// Takes back a rule of the open session.
    RevokeRule(RuleId),
    /// Closes a file again that was opened to the open session though its name speaks of secrets.
    TakeLiftBack(PathBuf),
    /// Has a masked value, by its hash, sent as it is from now on, or no longer.
    ReleaseSecret {
        secret: String,
        is_released: bool,
    },
    /// Closes or opens the padlock: this machine only.
    SetLocalOnly(bool),
    /// Takes back a rule that holds in all sessions.
    RevokeStandingRule(RuleId),
    /// Makes a rule by hand: for the open session, or without one for all.
    MakeRule {
        session: Option<SessionId>,
        effect: RuleEffect,
        scope: RuleScope,
    },

    // Paths
    /// Opens the system's dialog.
    PickPath(PathPurpose),
    /// The dialog closed; no path for no choice. `waited_ms` tells a missing dialog from a cancelled one.
    DialogClosed {
        purpose: PathPurpose,
        paths: Vec<PathBuf>,
        waited_ms: u64,
    },
    /// Opens the field for a typed path.
    TypePath(PathPurpose),
    /// What the field holds now.
    EditPath(String),
    SubmitPath,
    CancelPath,

    // Confirmations
    AllowOnce(ConfirmId),
    /// Whether the shown question's buttons and the beginning of its preview are in sight.
    SeeConfirm {
        confirm: ConfirmId,
        is_in_sight: bool,
    },
    /// The key that allows was pressed as the end of a message that was being typed.
    IgnorePress,
    /// The command may run once, and use the network in this run.
    AllowWithNetwork(ConfirmId),
    /// Allows by the proposal with this index.
    AllowInSession {
        confirm: ConfirmId,
        proposal: usize,
    },
    Deny {
        confirm: ConfirmId,
        reason: String,
    },
    /// Denies, and from now on by the offered rule with this index.
    DenyInSession {
        confirm: ConfirmId,
        offer: usize,
    },
    /// Allows every one of these reads once: the list that was shown.
    AllowReads(Vec<ConfirmId>),
    DenyAndStop(ConfirmId),
    /// Shows the next (`1`) or previous (`-1`) waiting question.
    ShowNeighbourConfirm(i32),

    // Taking back
    /// Asks what it would do, and shows that.
    PlanUndo {
        scope: UndoScope,
        direction: UndoDirection,
    },
    ShowUndoStep {
        step: usize,
        shows_change_since: bool,
    },
    ChooseUndo {
        entry: UndoId,
        choice: UndoChoice,
    },
    ConfirmUndo,
    CancelUndo,
    /// The changes of the open session, or of one path in it.
    ShowHistory(Option<String>),
    /// Opens or closes the diff of one change.
    ToggleHistory(UndoId),

    // Servers
    /// Opens the form for a new server, or for one that is there.
    BeginLink(Option<String>),
    CloseLinkForm,
    /// Adds a server, or changes one.
    PutLink {
        url: String,
        workspace: String,
        token: Option<SecretKey>,
    },
    PauseLink {
        url: String,
        is_paused: bool,
    },
    RetryLink(String),
    RemoveLink(String),
    /// Opens or closes the list of a server's calls.
    ToggleLinkCalls(String),

    // Settings
    OpenSettings(SettingsPage),
    CloseSettings,
    SetSetting {
        key: &'static str,
        value: Value,
    },
    ResetSetting(&'static str),
    /// Shows the open chat's last request as it left.
    ShowSent,
    /// Opens the form for a new provider of this preset.
    BeginProvider(String),
    /// Opens a provider's details, or closes the form and all details.
    OpenProvider(Option<String>),
    /// Sets a provider up or changes one, with its key if one was typed.
    PutProvider {
        record: Box<ProviderRecord>,
        key: Option<SecretKey>,
    },
    RemoveProvider(String),
    SetProviderKey {
        provider: String,
        key: SecretKey,
    },
    RemoveProviderKey(String),
    TestProvider(String),
    /// Keeps a prompt in the library: in the place of the one with this index, or as a new one.
    PutPrompt {
        at: Option<usize>,
        prompt: SavedPrompt,
    },
    /// Takes the prompt with this index out of the library.
    RemovePrompt(usize),
    /// Puts the text of the prompt with this index into the message box.
    InsertPrompt(usize),
    /// What a model (`provider/model`) costs; `None` for what is known of it.
    SetPrice {
        model: String,
        price: Option<Pricing>,
    },
    PullModel {
        provider: String,
        model: String,
    },
    CancelPull {
        provider: String,
        model: String,
    },

    // The audit
    OpenAudit,
    CloseAudit,
    FilterAudit(AuditFilter),
    /// Lines of this page came in sight.
    LoadAuditPage(u64),

    /// The data folder was measured, in bytes.
    DataMeasured(u64),

    // Search, panels, toasts
    Search(String),
    ClearSearch,
    Open(Panel),
    ClosePanel,
    ToggleSidebar,
    DismissToast(u64),

    // The program
    /// A start fault was answered.
    AnswerFault(FaultChoice),
    /// The window's close button, Ctrl+Q.
    RequestClose,
    ConfirmClose,
    CancelClose,
}

/// What a path is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathPurpose {
    /// An allowed folder of the open session.
    SessionFolder,
    /// An allowed folder of new sessions.
    DefaultFolder,
    /// Where data lies, after a start fault.
    DataFolder,
    /// Files to attach to the message.
    Attachment,
    /// One file whose name speaks of secrets, lifted for the open session.
    SensitiveFile,
    /// The file that a session is written to.
    Export(SessionId),
    /// The file that all sessions of this computer are written to.
    ExportAll,
    /// The file that the database is copied to.
    Backup,
    /// The file that the shown lines of the audit are written to.
    AuditExport,
    /// The file that sessions are read from.
    Import,
    /// The folder that a server may look into.
    Workspace,
}

/// What to do after the engine could not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultChoice {
    Retry,
    UseFolder(PathBuf),
    WithoutSaving,
}

/// What lies over or beside the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Panel {
    /// Ctrl+K.
    Palette,
    /// `?`
    Shortcuts,
    /// Folders, mode and rules of the session.
    Session,
    /// What was changed in the session, and what takes it back.
    History,
    /// The model picker.
    Models,
    /// The last request as it left.
    Sent,
}

/// A page of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SettingsPage {
    #[default]
    General,
    Models,
    Tools,
    Safety,
    Prompts,
    Servers,
    Data,
    Shortcuts,
    About,
}

impl SettingsPage {
    /// Every page in the order of the navigation.
    pub const ALL: [Self; 9] = [
        Self::General,
        Self::Models,
        Self::Tools,
        Self::Safety,
        Self::Prompts,
        Self::Servers,
        Self::Data,
        Self::Shortcuts,
        Self::About,
    ];

    /// The key of its name.
    pub const fn key(self) -> &'static str {
        match self {
            Self::General => "settings-page-general",
            Self::Models => "settings-page-models",
            Self::Tools => "settings-page-tools",
            Self::Safety => "settings-page-safety",
            Self::Prompts => "settings-page-prompts",
            Self::Servers => "settings-page-servers",
            Self::Data => "settings-page-data",
            Self::Shortcuts => "settings-page-shortcuts",
            Self::About => "settings-page-about",
        }
    }
}

/// What only the window can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAction {
    CopyText(String),
    OpenLink(String),
    OpenFile(PathBuf),
    ShowInFolder(PathBuf),
    /// Opens a dialog; answered by `DialogClosed`.
    PickPath {
        purpose: PathPurpose,
        suggested_name: String,
    },
    /// Read off the window's thread; answered by `AddFolderPath`, `AttachImage`, `AttachText` or `AttachFailed`.
    ReadFiles(Vec<PathBuf>),
    /// Adds up a folder's files off the window's thread; answered by `DataMeasured`.
    Measure(PathBuf),
    /// Starts the engine again as chosen.
    Restart(FaultChoice),
    /// The keyboard goes to the composer.
    FocusComposer,
    /// The transcript shows this message.
    ScrollTo(MessageId),
    /// The transcript follows the newest text again.
    ScrollToEnd,
    /// The window comes forward.
    Raise,
    /// Everything is written: the window may go.
    Quit,
}

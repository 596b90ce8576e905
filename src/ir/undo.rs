//! What takes a change back: the state before and after it, and where in its life the change stands. Plain data; the
//! contents lie in the journal under their hashes.

use serde::{Deserialize, Serialize};

use super::{CallId, MessageId, Preview, SessionId, UndoId, UnixMs};

/// One change of one path, with what takes it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoEntry {
    /// Its id.
    pub id: UndoId,
    /// The session that it was made in.
    pub session: SessionId,
    /// The call that made it; of an undo, its own row of the ledger.
    pub call: CallId,
    /// The assistant message that asked for the call; `None` for what a person did.
    pub message: Option<MessageId>,
    /// What the first change of the chain was; an undo and a redo have the operation of what they take back.
    pub operation: UndoOperation,
    /// The entry that this one takes back; `None` for what a tool did.
    pub reverts: Option<UndoId>,
    /// Where.
    pub place: UndoPlace,
    /// What was there.
    pub before: FileState,
    /// What was left there.
    pub after: FileState,
    /// How many folders were made for it, the target itself included where it is one.
    pub made_folders: u32,
    /// Where it stands.
    pub state: UndoState,
    /// When it was kept: before the change.
    pub created_at: UnixMs,
    /// When it came to its present state.
    pub settled_at: Option<UnixMs>,
}

impl UndoEntry {
    /// Whether it can be taken back now.
    pub fn can_undo(&self) -> bool {
        match self.state {
            UndoState::Begun | UndoState::Done | UndoState::Redone => true,
            UndoState::Undone | UndoState::Void | UndoState::Stale | UndoState::Altered => false,
        }
    }

    /// Whether it was taken back and can be done again.
    pub fn can_redo(&self) -> bool {
        self.state == UndoState::Undone
    }

    /// The absolute path, for showing.
    pub fn shown_path(&self) -> String {
        if self.place.path.is_empty() {
            return self.place.folder.clone();
        }
        format!("{}/{}", self.place.folder.trim_end_matches('/'), self.place.path)
    }
}

/// What a call did to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UndoOperation {
    /// A new file.
    Created,
    /// Another content of a file.
    Changed,
    /// A new folder.
    FolderMade,
    /// A file, a link or a folder went.
    Deleted,
    /// After a command something was taken away, or put back as it was, because something executes it later.
    PutBack,
}

impl UndoOperation {
    /// The key of its name in the language files.
    pub const fn text_key(self) -> &'static str {
        match self {
            Self::Created => "undo-created",
            Self::Changed => "undo-changed",
            Self::FolderMade => "undo-folder-made",
            Self::Deleted => "undo-deleted",
            Self::PutBack => "undo-put-back",
        }
    }
}

/// A path below an allowed folder. The folder is told by what it is, not by its path alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoPlace {
    /// The allowed folder, absolute.
    pub folder: String,
    /// Its device number.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// The path below it, links taken apart, with `/`.
    pub path: String,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FileState {
    /// Nothing.
    Missing,
    /// A regular file.
    File {
        /// SHA-256 of its content, hex; `None` where it was too large to be read.
        hash: Option<String>,
        /// Its size.
        bytes: u64,
        /// Its permission bits; 0 where the system has none, or where they are not known.
        mode: u32,
        /// Which file it was, to know it again in the trash.
        object: Option<ObjectId>,
    },
    /// A folder; what is in it does not matter.
    Folder,
    /// A link itself.
    Link {
        /// What it says.
        to: String,
    },
    /// A folder with everything in it.
    Tree {
        /// The hash of the list of what is in it; `None` where that was too much to be kept.
        manifest: Option<String>,
        /// Entries below it.
        count: u64,
        /// Sum of the sizes of its files.
        bytes: u64,
        /// Which folder it was, to know it again in the trash.
        object: Option<ObjectId>,
    },
}

/// Which object of a file system, in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectId {
    pub device: u64,
    pub inode: u64,
    pub bytes: u64,
    /// Nanoseconds since the epoch.
    pub modified_ns: i64,
}

/// Where a change stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UndoState {
    /// What takes it back is kept; whether the change was made is not known (yet).
    Begun,
    /// Made.
    Done,
    /// Taken back.
    Undone,
    /// Taken back and made again.
    Redone,
    /// It was never made.
    Void,
    /// Too old, or more than may be kept: what takes it back is gone.
    Stale,
    /// Its row is not as Nod left it, or nothing vouches for it: nothing goes by it.
    Altered,
}

impl UndoState {
    /// The key of its name in the language files.
    pub const fn text_key(self) -> &'static str {
        match self {
            Self::Begun => "undo-state-begun",
            Self::Done => "undo-state-done",
            Self::Undone => "undo-state-undone",
            Self::Redone => "undo-state-redone",
            Self::Void => "undo-state-void",
            Self::Stale => "undo-state-stale",
            Self::Altered => "undo-state-altered",
        }
    }
}

/// What is to be taken back, or done again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum UndoScope {
    /// One entry of the journal.
    Entry { id: UndoId },
    /// What one call did.
    Call { session: SessionId, call: CallId },
    /// What the call did that this entry is of.
    CallOf { id: UndoId },
    /// What the turn that ends with this message did.
    Turn { session: SessionId, message: MessageId },
    /// Everything that was done in a session.
    Session { session: SessionId },
}

/// Back, or forth again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UndoDirection {
    Undo,
    Redo,
}

/// What to do where the file is no longer what was left there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UndoChoice {
    /// It stays as it is.
    #[default]
    Keep,
    /// The other version is put in its place; what is there now is kept in the journal.
    PutBack,
    /// The other version is written beside it under a new name.
    SaveBeside,
}

/// What taking something back would do, found out without changing anything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoPlan {
    /// What was asked for.
    pub scope: UndoScope,
    pub direction: UndoDirection,
    /// The steps in their order.
    pub steps: Vec<UndoStep>,
    /// SHA-256 over the steps and what is there now, hex: an order to carry it out is bound to it.
    pub hash: String,
    /// Whether it is shown anew because what was shown is no longer what is there.
    pub is_changed: bool,
}

impl UndoPlan {
    /// Whether it changes what something executes or obeys later: what a command had left for it, and wherever the gate
    /// would have said so of a tool.
    pub fn changes_what_is_executed(&self) -> bool {
        self.steps.iter().any(|step| step.is_executed_later && step.action.may_change_something())
    }
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoStep {
    /// The entry that it takes back, or does again.
    pub entry: UndoId,
    pub operation: UndoOperation,
    /// The absolute path.
    pub path: String,
    pub action: UndoAction,
    /// Whether something executes or obeys what it changes.
    pub is_executed_later: bool,
    /// What the step changes: from what is there now to what will be there.
    pub preview: Preview,
    /// What somebody changed since; nothing where the step fits.
    pub changed_since: Preview,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UndoAction {
    /// Puts the other version in place.
    Restore,
    /// Takes away what was made.
    Remove,
    /// Takes the folder away if it is empty by then.
    RemoveIfEmpty,
    /// Nothing: it is that way already.
    Nothing,
    /// What is there is not what was left there: a choice is needed.
    Conflict {
        /// Whether there is an old version that could be saved beside it.
        can_save_beside: bool,
    },
    /// It follows the choice made for a later change of the same path.
    Follows,
    /// What takes it back is gone.
    Gone,
    /// It is refused: the rules of the house, or a folder that is another one now.
    Refused,
}

impl UndoAction {
    /// Whether something may change by it, if the person chooses so.
    pub const fn may_change_something(self) -> bool {
        match self {
            Self::Restore | Self::Remove | Self::RemoveIfEmpty | Self::Conflict { .. } | Self::Follows => true,
            Self::Nothing | Self::Gone | Self::Refused => false,
        }
    }
}

/// What became of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoResult {
    pub entry: UndoId,
    /// The absolute path.
    pub path: String,
    pub outcome: UndoOutcome,
    /// More to know: why it failed, or where the old version was saved.
    pub detail: String,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UndoOutcome {
    /// Carried out.
    Done,
    /// It was that way already.
    Nothing,
    /// Left as it is: somebody changed it since.
    Kept,
    /// The folder holds something and stays.
    NotEmpty,
    /// The old version lies beside it.
    SavedBeside,
    /// Not carried out; `detail` says why.
    Failed,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::json::{round_trip, words};

    #[test]
    fn an_entry_is_read_back_whole() {
        let entry: UndoEntry = round_trip(&json!({
            "id": "u", "session": "s", "call": "c", "message": null, "operation": "changed", "reverts": null,
            "place": {"folder": "/projects/web", "device": 1, "inode": 18_446_744_073_709_551_615_u64, "path": "a/b"},
            "before": {"kind": "file", "hash": "00", "bytes": 3, "mode": 420,
                       "object": {"device": 1, "inode": 2, "bytes": 3, "modifiedNs": 4}},
            "after": {"kind": "missing"},
            "madeFolders": 0, "state": "done", "createdAt": 5, "settledAt": 6,
        }));
        assert_eq!(entry.shown_path(), "/projects/web/a/b");
        assert!(entry.can_undo() && !entry.can_redo());
    }

    #[test]
    fn states_have_their_words() {
        words(&[
            ("begun", UndoState::Begun),
            ("done", UndoState::Done),
            ("undone", UndoState::Undone),
            ("redone", UndoState::Redone),
            ("void", UndoState::Void),
            ("stale", UndoState::Stale),
            ("altered", UndoState::Altered),
        ]);
    }
}

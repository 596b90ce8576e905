//! What a confirmation and a card show of what a call would do. Computed by the program, never by the model.

use serde::{Deserialize, Serialize};

use super::{Leak, Network, Tier};

/// What a call would do, whole: nothing in here is cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Preview {
    /// Nothing to show beyond the target (reads, a new folder).
    Nothing,
    /// A file that is not there yet.
    NewFile {
        /// The whole content.
        content: String,
    },
    /// A change of a file, or the change that was made.
    Diff {
        /// Every line of the change with its context, hunks apart by `DiffTag::Gap`.
        lines: Vec<DiffLine>,
        /// Lines added.
        added: usize,
        /// Lines removed.
        removed: usize,
    },
    /// What a deletion takes away.
    Tree {
        /// Every entry, relative to the target, folders first.
        entries: Vec<TreeEntry>,
        /// Files and folders, the target itself included.
        count: u64,
        /// Sum of file sizes.
        bytes: u64,
        /// Whether the walk stopped at its limit, so that count and bytes are lower bounds.
        at_least: bool,
    },
    /// A command line.
    Command(CommandPreview),
}

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffLine {
    /// What happens to the line.
    pub tag: DiffTag,
    /// Its number in the old file, from 1; `None` for an added line.
    pub old_line: Option<u32>,
    /// Its number in the new file, from 1; `None` for a removed line.
    pub new_line: Option<u32>,
    /// The line with its own line break where it has one.
    pub text: String,
}

/// What happens to a line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffTag {
    /// Stays.
    Context,
    /// Is new.
    Added,
    /// Goes.
    Removed,
    /// Stands for unchanged lines that are left out; `text` is empty.
    Gap,
}

/// One thing that a deletion takes away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeEntry {
    /// Relative to the target, with `/`.
    pub path: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Size of a file, in bytes.
    pub bytes: u64,
}

/// A command as it would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandPreview {
    /// Exactly the bytes that the shell gets.
    pub command: String,
    /// The folder that it starts in.
    pub cwd: String,
    /// Names and values of its environment.
    pub environment: Vec<(String, String)>,
    /// After how long it is stopped, in milliseconds.
    pub timeout_ms: u64,
    /// How far the kernel confines it.
    #[serde(default)]
    pub tier: Tier,
    /// What that is known not to stop.
    #[serde(default)]
    pub gaps: Vec<Leak>,
    /// Whether it may use the network.
    #[serde(default)]
    pub network: Network,
    /// In how many places of the allowed folders nobody can look, at least: secrets there are not covered, and what
    /// something executes later is not kept.
    #[serde(default)]
    pub unseen: u64,
}

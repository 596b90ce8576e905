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
        /// What the change does that no line shows. Without lines and without notes the content stays as it is.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<ChangeNote>,
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

impl Preview {
    /// What it does that no line of it shows.
    pub fn notes(&self) -> &[ChangeNote] {
        match self {
            Self::Diff { notes, .. } => notes,
            Self::Nothing | Self::NewFile { .. } | Self::Tree { .. } | Self::Command(_) => &[],
        }
    }

    /// Whether what comes and what goes has lines to count.
    pub fn counts_lines(&self) -> bool {
        self.notes().iter().all(|note| note.what().is_none())
    }
}

/// What a change does that no line of it shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "note")]
pub enum ChangeNote {
    /// All that was there goes, and it has no lines to show.
    Replaces {
        /// What was there.
        what: Unshown,
    },
    /// What comes has no lines to show.
    Becomes {
        /// What comes.
        what: Unshown,
    },
    /// The text is stored in another way.
    Encoding {
        /// The name of the old encoding.
        from: String,
        /// The name of the new one.
        to: String,
    },
    /// The last line gets or loses its line break, which two lines that read the same do not show.
    LastBreak {
        /// Whether it has one afterwards.
        is_there: bool,
    },
}

/// Content that cannot be shown as lines of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", tag = "what")]
pub enum Unshown {
    /// It is no text.
    Binary {
        /// What it most likely is; empty where nothing tells.
        media_type: String,
        /// Its size.
        bytes: u64,
    },
    /// It is too large.
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// It was not kept.
    NotKept {
        /// Its size.
        bytes: u64,
    },
    /// A link.
    Link {
        /// Where it leads, as it says.
        to: String,
    },
    /// A folder.
    Folder,
}

impl ChangeNote {
    /// Its sentence among the texts for people.
    pub const fn text_key(&self) -> &'static str {
        match self {
            Self::Replaces { .. } => "change-replaces",
            Self::Becomes { .. } => "change-becomes",
            Self::Encoding { .. } => "change-encoding",
            Self::LastBreak { is_there: true } => "change-last-break",
            Self::LastBreak { is_there: false } => "change-no-last-break",
        }
    }

    /// The names of the encodings before and after; empty where it speaks of something else.
    pub const fn encodings(&self) -> (&str, &str) {
        match self {
            Self::Encoding { from, to } => (from.as_str(), to.as_str()),
            Self::Replaces { .. } | Self::Becomes { .. } | Self::LastBreak { .. } => ("", ""),
        }
    }

    /// What it speaks of where that has no lines.
    pub const fn what(&self) -> Option<&Unshown> {
        match self {
            Self::Replaces { what } | Self::Becomes { what } => Some(what),
            Self::Encoding { .. } | Self::LastBreak { .. } => None,
        }
    }
}

impl Unshown {
    /// Its words among the texts for people.
    pub const fn text_key(&self) -> &'static str {
        match self {
            Self::Binary { media_type, .. } if media_type.is_empty() => "unshown-data",
            Self::Binary { .. } => "unshown-binary",
            Self::TooLarge { .. } => "unshown-large",
            Self::NotKept { .. } => "unshown-not-kept",
            Self::Link { .. } => "unshown-link",
            Self::Folder => "unshown-folder",
        }
    }

    /// Its size in bytes; 0 for what has none.
    pub const fn bytes(&self) -> u64 {
        match self {
            Self::Binary { bytes, .. } | Self::TooLarge { bytes } | Self::NotKept { bytes } => *bytes,
            Self::Link { .. } | Self::Folder => 0,
        }
    }

    /// What names it: a media type, or where a link leads.
    pub const fn name(&self) -> &str {
        match self {
            Self::Binary { media_type, .. } => media_type.as_str(),
            Self::Link { to } => to.as_str(),
            Self::TooLarge { .. } | Self::NotKept { .. } | Self::Folder => "",
        }
    }
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
    /// Which files of the allowed folders it can change outside them.
    #[serde(default)]
    pub linked: LinkedOutside,
    /// Which files it starts.
    #[serde(default)]
    pub started: Started,
}

/// Files of a command's folders that have further names (hard links) outside them: what is written into them changes there
/// too.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkedOutside {
    /// How many.
    pub count: u64,
    /// One of them, absolute.
    pub example: Option<String>,
    /// Stands for which they are; empty for none.
    pub mark: String,
    /// Whether not all files could be counted: there may be more.
    pub is_cut: bool,
}

impl LinkedOutside {
    /// Whether there are none, as far as that is known for sure.
    pub const fn is_none(&self) -> bool {
        self.count == 0 && !self.is_cut
    }

    /// Whether who was told this was told of all that there is now.
    pub fn covers(&self, now: &Self) -> bool {
        self.is_cut || now.is_none() || (self.mark == now.mark && !now.is_cut)
    }
}

/// What a command starts besides installed programs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// The files of the allowed folders that are named as programs, by the command and by the scripts among them, and those
    /// that its programs look for by themselves.
    pub files: Vec<StartedFile>,
    /// Whether that is all: nothing else is run but installed programs that run nothing in their turn.
    pub is_complete: bool,
}

impl Started {
    /// Whether all that it starts is known, and begins before anything else could change it.
    pub fn is_certain(&self) -> bool {
        self.is_complete && self.files.iter().all(|file| file.moment == StartMoment::First)
    }
}

/// A file that a command starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedFile {
    /// Absolute.
    pub path: String,
    /// SHA-256 of its content, hex; `None` where that is not known: it is missing, no file, too large or cannot be read.
    pub sha256: Option<String>,
    /// When the line starts it.
    #[serde(default)]
    pub moment: StartMoment,
}

/// When a line starts a file: before or after something else that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartMoment {
    /// Before anything else of it runs, by a path without links, and nothing of it is known to write.
    First,
    /// The same, and something of it writes files.
    FirstBesideWriting,
    /// Something else runs before, or it is not the line that names it, or its path leads over a link.
    #[default]
    Later,
}

/// Whether what a started file holds when the question is asked is what will run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// It is: those bytes stand in its place for the command.
    Held,
    /// Unless another program changes it before it starts.
    UntilStart,
    /// The line itself may change it before.
    None,
}

impl CommandPreview {
    /// What can be said of a file that it starts.
    pub const fn promise(&self, file: &StartedFile) -> Promise {
        match (self.tier, file.moment) {
            (Tier::A, StartMoment::First | StartMoment::FirstBesideWriting) => Promise::Held,
            (Tier::B | Tier::Seatbelt | Tier::Unconfined, StartMoment::First) => Promise::UntilStart,
            (Tier::B | Tier::Seatbelt | Tier::Unconfined, StartMoment::FirstBesideWriting)
            | (_, StartMoment::Later) => Promise::None,
        }
    }
}

//! What is known of a call when it is judged.

use std::path::PathBuf;

use crate::ir::{Access, ConfirmMode, LinkedOutside, RiskLevel};

use super::{CommandJudgement, Reach, RelPath, Surroundings};

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A model in a session of the window or of `nod exec`.
    Model,
    /// A person at the command line (`nod tool`).
    CommandLine,
    /// A server over the device link.
    Server,
}

/// Everything that a decision rests on. The same facts and rules always give the same decision.
#[derive(Debug, Clone)]
pub struct CallFacts {
    /// Who asks.
    pub origin: Origin,
    /// The tool's name.
    pub tool: String,
    /// What it does to the computer.
    pub access: Access,
    /// How much harm it can do.
    pub risk: RiskLevel,
    /// The session's mode.
    pub mode: ConfirmMode,
    /// SHA-256 of the canonical arguments, hex.
    pub args_hash: String,
    /// SHA-256 of the plan, hex; empty before there is one.
    pub plan_hash: String,
    /// The command line, for `run_command`; empty for everything else.
    pub command_text: String,
    /// The session's allowed folders, absolute, as the person chose them.
    pub roots: Vec<PathBuf>,
    /// The computer around them.
    pub surroundings: Surroundings,
    /// What it touches, resolved.
    pub targets: Vec<TargetFacts>,
    /// What the command parser made of it, for `run_command`.
    pub command: Option<CommandJudgement>,
    /// Whether an allow rule may cover the identical command (Settings; default no).
    pub remember_commands: bool,
    /// Whether all that a command runs is installed or, by what its files hold, a part of the plan; of no meaning to others.
    pub starts_only_known: bool,
    /// What only a look at what it would do has shown; nothing before that look.
    pub shown: Shown,
}

/// What a look at a call's effect has shown beyond its targets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// In how many places of a command's folders nobody can look, at least.
    pub unseen_places: u64,
    /// Which files of a command's folders it can change outside them.
    pub linked: LinkedOutside,
    /// Whether it changes something that cannot be brought back.
    pub is_for_good: bool,
}

/// One path of a call after it was resolved by handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFacts {
    /// As it was given.
    pub given: String,
    /// Where it lies.
    pub place: PathPlace,
    /// The absolute path that the handle really leads to.
    pub resolved: PathBuf,
    /// What is there.
    pub kind: TargetKind,
    /// Hard links to the file; 1 when unknown or missing.
    pub links: u64,
    /// Whether it lies on another mount than its allowed folder.
    pub other_mount: bool,
    /// Whether it is a mount point itself.
    pub is_mount_point: bool,
    /// Whether it is a home folder.
    pub is_home: bool,
    /// Whether the person lifted the sensitive-name denial for this file in this session.
    pub lifted: bool,
    /// By which other ways something that executes files comes here; looked for where something is changed.
    pub reaches: Vec<Reach>,
}

/// Where a path lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPlace {
    /// In an allowed folder.
    Inside {
        /// The allowed folder, absolute, as the person chose it.
        root: PathBuf,
        /// The given path below it, in normal form; empty for the folder itself.
        relative: RelPath,
        /// The path below it that the handle really leads to.
        resolved_relative: RelPath,
    },
    /// Outside all allowed folders; only an absolute path given as such gets here.
    Outside,
}

/// What is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// Nothing yet.
    Missing,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link itself (only a deletion looks at links).
    Link,
    /// A pipe, socket or device.
    Special,
}

//! Allow and deny rules of a session, typed, as sentences from narrow to broad.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ir::{Access, RuleId, SessionId, UnixMs};

use super::display::find_deceptive_name;
use super::fold::fold_name;
use super::question::must_ask;
use super::{AskReason, CallFacts, CommandJudgement, PathPlace, RelPath, TargetFacts, TargetKind};

/// One rule, as it is stored and listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub id: RuleId,
    /// The session that it holds in; none for a rule that holds in all.
    pub session: Option<SessionId>,
    pub effect: RuleEffect,
    pub scope: RuleScope,
    pub made_by: RuleMaker,
    pub created_at: UnixMs,
    /// How many calls it has decided.
    pub hits: u64,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleEffect {
    Allow,
    Deny,
}

/// Where a rule was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleMaker {
    Modal,
    Panel,
    Settings,
}

/// What a rule covers, from narrow to broad. Matched by identity of the allowed folder, never by prefix of text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", tag = "kind")]
pub enum RuleScope {
    /// The same tool with the same arguments.
    ExactCall {
        /// The tool.
        tool: String,
        /// SHA-256 of the canonical arguments, hex.
        args_hash: String,
        /// What it is about, for the sentence.
        target: String,
    },
    /// The same tool on the same file.
    File {
        /// The tool.
        tool: String,
        /// The allowed folder.
        root: PathBuf,
        /// The file below it, with `/`.
        file: String,
    },
    /// The same tool on files with the same extension directly in the same folder.
    FilesLike {
        /// The tool.
        tool: String,
        /// The allowed folder.
        root: PathBuf,
        /// The folder below it, with `/`; empty for the allowed folder itself.
        folder: String,
        /// The extension, without the dot.
        extension: String,
    },
    /// The identical command: the same text, folder, allowed folders and confinement, and the same content of the files
    /// that it starts.
    IdenticalPlan {
        /// The tool.
        tool: String,
        /// SHA-256 of the plan, hex.
        plan_hash: String,
        /// The command, for the sentence.
        target: String,
    },
    /// The tool in all allowed folders.
    ToolInFolders {
        /// The tool.
        tool: String,
    },
}

impl RuleScope {
    /// The tool that it is about.
    pub fn tool(&self) -> &str {
        match self {
            Self::ExactCall { tool, .. }
            | Self::File { tool, .. }
            | Self::FilesLike { tool, .. }
            | Self::IdenticalPlan { tool, .. }
            | Self::ToolInFolders { tool } => tool,
        }
    }

    /// How far it goes, in one word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ExactCall { .. } => "exact-call",
            Self::File { .. } => "file",
            Self::FilesLike { .. } => "files-like",
            Self::IdenticalPlan { .. } => "identical-plan",
            Self::ToolInFolders { .. } => "tool-in-folders",
        }
    }
}

/// The rules that cover a call. A deny rule covers whatever may be meant; an allow rule only what it names for certain,
/// and nothing that must be asked.
pub fn matching_rules<'rules>(facts: &CallFacts, rules: &'rules [Rule]) -> Vec<&'rules Rule> {
    let may_remember = may_be_remembered(facts);
    rules
        .iter()
        .filter(|rule| match rule.effect {
            RuleEffect::Allow => may_remember.permits(&rule.scope) && allows(&rule.scope, facts),
            RuleEffect::Deny => denies(&rule.scope, facts),
        })
        .collect()
}

/// The scopes that may be offered for a call, narrow to broad; empty for what no rule may ever cover.
pub fn proposals(facts: &CallFacts) -> Vec<RuleScope> {
    let may_remember = may_be_remembered(facts);
    let mut scopes = scopes(facts);
    scopes.retain(|scope| may_remember.permits(scope) && allows(scope, facts));
    scopes
}

/// The scopes that may be refused for good, narrow to broad: whatever it is, a person may say no to it.
pub fn denials(facts: &CallFacts) -> Vec<RuleScope> {
    scopes(facts)
}

/// Whether a rule of this kind may be made by hand, in the panel or in the settings: a refusal of anything, but no
/// allowance of what is always asked, and nothing about one call alone.
pub fn may_be_made(effect: RuleEffect, scope: &RuleScope) -> bool {
    let is_general = match scope {
        RuleScope::File { .. } | RuleScope::FilesLike { .. } | RuleScope::ToolInFolders { .. } => true,
        RuleScope::ExactCall { .. } | RuleScope::IdenticalPlan { .. } => false,
    };
    let is_always_asked = ["delete_file", "run_command"].contains(&scope.tool());
    is_general && (effect == RuleEffect::Deny || !is_always_asked)
}

fn scopes(facts: &CallFacts) -> Vec<RuleScope> {
    let tool = || facts.tool.clone();
    let mut scopes = vec![match facts.access {
        Access::Execute => RuleScope::IdenticalPlan {
            tool: tool(),
            plan_hash: facts.plan_hash.clone(),
            target: facts.command_text.clone(),
        },
        Access::Read | Access::Write | Access::Delete => {
            RuleScope::ExactCall { tool: tool(), args_hash: facts.args_hash.clone(), target: exact_target(facts) }
        }
    }];
    if let [target] = facts.targets.as_slice()
        && let Some((root, path)) = place_of_file(target)
    {
        scopes.push(RuleScope::File { tool: tool(), root: root.to_path_buf(), file: path.to_slash() });
        if let Some((folder, extension)) = folder_and_extension(path) {
            scopes.push(RuleScope::FilesLike { tool: tool(), root: root.to_path_buf(), folder, extension });
        }
    }
    if !facts.targets.is_empty() {
        scopes.push(RuleScope::ToolInFolders { tool: tool() });
    }
    scopes
}

/// How far an allow rule may ever go for a call.
#[derive(Clone, Copy)]
enum Remembered {
    Never,
    IdenticalOnly,
    Any,
}

impl Remembered {
    fn permits(self, scope: &RuleScope) -> bool {
        match self {
            Self::Never => false,
            Self::IdenticalOnly => match scope {
                RuleScope::IdenticalPlan { .. } => true,
                RuleScope::ExactCall { .. }
                | RuleScope::File { .. }
                | RuleScope::FilesLike { .. }
                | RuleScope::ToolInFolders { .. } => false,
            },
            Self::Any => true,
        }
    }
}

fn may_be_remembered(facts: &CallFacts) -> Remembered {
    match must_ask(facts).as_slice() {
        [] => Remembered::Any,
        // The identical command, if Settings say so and it runs nothing that may become something else; a command that was
        // not taken apart has a second reason.
        [AskReason::Command]
            if facts.remember_commands
                && facts.starts_only_known
                && facts.command == Some(CommandJudgement::Parsed) =>
        {
            Remembered::IdenticalOnly
        }
        _ => Remembered::Never,
    }
}

/// What an exact call is about: where its paths really lead, so that a folder or a link put in another's place is
/// another call.
fn exact_target(facts: &CallFacts) -> String {
    let paths: Vec<String> =
        facts.targets.iter().map(|target| target.resolved.to_string_lossy().into_owned()).collect();
    paths.join("\n")
}

fn allows(scope: &RuleScope, facts: &CallFacts) -> bool {
    match scope {
        RuleScope::ExactCall { tool, args_hash, target } => {
            *tool == facts.tool && *args_hash == facts.args_hash && *target == exact_target(facts)
        }
        RuleScope::File { tool, root, file } => {
            *tool == facts.tool
                && all_targets(facts, |target| {
                    place_of_file(target).is_some_and(|(place, path)| place == root && path.to_slash() == *file)
                })
        }
        RuleScope::FilesLike { tool, root, folder, extension } => {
            // By the whole folder: the same one may be reached from another allowed folder.
            *tool == facts.tool
                && is_plainly_named(facts)
                && all_targets(facts, |target| {
                    place_of_file(target).is_some_and(|(place, path)| {
                        folder_and_extension(path).is_some_and(|(inside, kind)| {
                            below(place, &inside) == below(root, folder) && kind == *extension
                        })
                    })
                })
        }
        RuleScope::IdenticalPlan { tool, plan_hash, .. } => is_identical(facts, tool, plan_hash),
        RuleScope::ToolInFolders { tool } => {
            *tool == facts.tool
                && is_plainly_named(facts)
                && all_targets(facts, |target| match target.place {
                    PathPlace::Inside { .. } => true,
                    PathPlace::Outside => false,
                })
        }
    }
}

/// Whether every name is what it looks like. One with letters of another script passes for one that the person thought of
/// when they allowed files by the look of their names: only a rule for that very file allows it.
fn is_plainly_named(facts: &CallFacts) -> bool {
    let is_plain = |path: &RelPath| path.parts().iter().all(|part| find_deceptive_name(part, false).is_empty());
    facts.targets.iter().all(|target| match &target.place {
        PathPlace::Inside { relative, resolved_relative, .. } => is_plain(relative) && is_plain(resolved_relative),
        PathPlace::Outside => false,
    })
}

fn all_targets(facts: &CallFacts, covered: impl Fn(&TargetFacts) -> bool) -> bool {
    !facts.targets.is_empty() && facts.targets.iter().all(covered)
}

/// Where a file really lies; folders are no files.
fn place_of_file(target: &TargetFacts) -> Option<(&Path, &RelPath)> {
    match target.kind {
        TargetKind::Missing | TargetKind::File => {}
        TargetKind::Folder | TargetKind::Link | TargetKind::Special => return None,
    }
    match &target.place {
        PathPlace::Inside { root, resolved_relative, .. } if !resolved_relative.is_empty() => {
            Some((root, resolved_relative))
        }
        PathPlace::Inside { .. } | PathPlace::Outside => None,
    }
}

/// The folder with `/` and the extension without its dot; `None` for a name without extension.
fn folder_and_extension(path: &RelPath) -> Option<(String, String)> {
    let (name, folder) = path.parts().split_last()?;
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then(|| (folder.join("/"), extension.to_owned()))
}

/// A denial compares folded names, and one path that it covers is enough.
fn denies(scope: &RuleScope, facts: &CallFacts) -> bool {
    let any_path = |covered: &dyn Fn(&Path, &RelPath) -> bool| {
        facts.targets.iter().any(|target| match &target.place {
            PathPlace::Inside { root, relative, resolved_relative } => {
                covered(root, relative) || covered(root, resolved_relative)
            }
            PathPlace::Outside => false,
        })
    };
    match scope {
        RuleScope::ExactCall { tool, args_hash, .. } => *tool == facts.tool && *args_hash == facts.args_hash,
        RuleScope::File { tool, root, file } => {
            *tool == facts.tool
                && any_path(&|place, path| is_same_path(&below(place, &path.to_slash()), &below(root, file)))
        }
        RuleScope::FilesLike { tool, root, folder, extension } => {
            *tool == facts.tool
                && any_path(&|place, path| {
                    folder_and_extension(path).is_some_and(|(inside, kind)| {
                        is_same_path(&below(place, &inside), &below(root, folder))
                            && fold_name(&kind) == fold_name(extension)
                    })
                })
        }
        RuleScope::IdenticalPlan { tool, plan_hash, .. } => is_identical(facts, tool, plan_hash),
        RuleScope::ToolInFolders { tool } => *tool == facts.tool,
    }
}

/// A plan without a hash is like no other.
fn is_identical(facts: &CallFacts, tool: &str, plan_hash: &str) -> bool {
    facts.tool == tool && !plan_hash.is_empty() && facts.plan_hash == plan_hash
}

fn below(root: &Path, path: &str) -> PathBuf {
    if path.is_empty() { root.to_path_buf() } else { root.join(path) }
}

/// Whole paths: the same place may be reached from several allowed folders, one within the other.
fn is_same_path(one: &Path, other: &Path) -> bool {
    fold_name_path(&one.to_string_lossy()) == fold_name_path(&other.to_string_lossy())
}

fn fold_name_path(path: &str) -> Vec<String> {
    path.split('/').map(fold_name).collect()
}

#[cfg(test)]
mod tests;

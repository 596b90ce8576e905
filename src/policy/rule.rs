//! Allow and deny rules of a session, typed, as sentences from narrow to broad.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ir::{RuleId, SessionId, UnixMs};

use super::CallFacts;

/// One rule, as it is stored and listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub id: RuleId,
    pub session: SessionId,
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
    /// The tool in all allowed folders.
    ToolInFolders {
        /// The tool.
        tool: String,
    },
}

/// The rules that cover a call.
pub fn matching_rules<'rules>(facts: &CallFacts, rules: &'rules [Rule]) -> Vec<&'rules Rule> {
    let _ = (facts, rules);
    todo!()
}

/// The scopes that may be offered for a call, narrow to broad; empty for what no rule may ever cover.
pub fn proposals(facts: &CallFacts) -> Vec<RuleScope> {
    let _ = facts;
    todo!()
}

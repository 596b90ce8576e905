//! The one judge of what a tool call may touch: `decide(facts, rules)`.
//!
//! Pure: no disk, no clock, no async. What is on the disk comes in as facts that `workspace` found out.
//! Nothing fails open: what does not parse is refused or asked, and no list ever turns "ask" into "allow"
//! by a program's name.

mod absolute;
mod blocked;
mod command;
mod decide;
mod denial;
mod display;
mod facts;
mod fold;
mod git;
mod line;
mod look_alike;
mod names;
mod path;
mod protected;
mod question;
mod reach;
mod remote;
mod rule;
mod rule_set;
mod secret;
mod surroundings;

pub use blocked::{FolderConcern, blocked_path, folder_concern};
pub use command::{
    CommandJudgement, Language, NamedFile, StartedFiles, is_taken_for_plain, judge_command, started_files,
};
pub use decide::{Decision, decide};
pub use display::{
    Deception, Segment, encode_host, escape, escape_address, escape_controls, escape_json, escape_name, find_controls,
    find_deceptive, find_deceptive_name, segments, segments_name,
};
pub use facts::{CallFacts, Origin, PathPlace, Shown, TargetFacts, TargetKind};
pub use git::{GitLead, GitSetting, HOOK_NAMES, git_lead, is_harmless_git_config, parse_git_config};
pub use line::{Elided, beginning, elide, gap, one_line, one_line_name};
pub use names::{NameVerdict, judge_name};
pub use path::{Lexical, RelPath, lexical};
pub use protected::{GIT_STEPS, ProtectedWrite, is_protected_write, may_be_refused, places_that_count};
pub use question::{AskReason, is_executed_later};
pub use reach::{Reach, ReachedBy};
pub use remote::{is_repository, lexical_of_server};
pub use rule::{Rule, RuleEffect, RuleMaker, RuleScope, denials, matching_rules, may_be_made, proposals};
pub use rule_set::{BrokenRule, Meant, RuleSet};
pub use secret::{
    KEY_CONTEXT_BYTES, MaskedSecret, Masker, Secret, SecretKind, find_secrets, is_secret_name, key_lines,
    key_lines_of_part, note_key_lines, redact, secret_id,
};
pub use surroundings::{Platform, Surroundings};

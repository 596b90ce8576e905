//! The audit's vocabulary: one line says what was decided or done, by whom and on what grounds. Never what was in it:
//! no content, no arguments, no message text.

use serde::{Deserialize, Serialize};

use super::{CallId, CallRecord, Decider, RuleId, SessionId, Tier, UnixMs, Verdict};

/// One line of the audit as it is written and hashed. Its fields are never renamed, and a new one is left out where it is
/// empty: the hashes of older lines must still come out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// When.
    pub time: UnixMs,
    /// What kind of line it is.
    pub act: AuditAct,
    /// Who asked for it.
    pub origin: AuditOrigin,
    /// The session; none for what holds in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The model that asked; empty when none did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The tool; empty when it is about none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The call in the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The plan that the decision was bound to, SHA-256, hex; empty before there was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_hash: String,
    /// What was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decider: Option<Decider>,
    /// The rule that decided, or that this line is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
    /// How far the kernel confined a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// How it ended: the state of the call, or the stable code of its failure. Empty while it has not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// How long it ran, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How many bytes it read, wrote or printed, where the tool says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What else there is to say, in the program's own words: the new mode, the kind of a rule, the key of a setting.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What a line of the audit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditAct {
    /// A call was allowed or refused.
    Decided,
    /// A call is over.
    Ended,
    /// A yes was not used: what it was a yes to is no longer what is there.
    Stale,
    /// A yes was not used: it was too old.
    Expired,
    /// Nod ended while the call was open; found at the next start.
    Recovered,
    /// A change was taken back.
    Undone,
    /// A change that was taken back was made again.
    Redone,
    /// The person made a rule.
    RuleMade,
    /// The person took a rule back.
    RuleRevoked,
    /// A session asks before other things now.
    ModeChanged,
    /// A setting of tools or safety changed.
    SettingChanged,
    /// The person opened a file with a sensitive name to one session.
    FileLifted,
    /// The person let a masked value go to the model.
    SecretSent,
    /// The audit began.
    Began,
    /// The database was brought to a newer format.
    FormatChanged,
    /// A backup was put in the place of the database.
    Restored,
    /// The end of the audit was not as Nod had left it, or the key is another one: lines before this one may be missing.
    Mended,
}

/// Who asked for what a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditOrigin {
    /// A model.
    Model,
    /// A person at the command line (`nod tool`).
    CommandLine,
    /// A server over the device link.
    Server,
    /// The person.
    Person,
    /// The program itself.
    Nod,
}

/// A line of the audit as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRow {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// What it says; none when it cannot be read, because it was changed from outside or comes from a newer Nod.
    pub entry: Option<AuditEntry>,
    /// SHA-256 over the line before, the number and the entry, hex.
    pub hash: String,
}

/// Which lines of the audit are wanted; empty for all.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct AuditFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// About this tool.
    pub tool: Option<String>,
    /// With this verdict.
    pub verdict: Option<Verdict>,
    /// Decided by this one.
    pub decider: Option<Decider>,
    /// Not before this moment.
    pub since: Option<UnixMs>,
    /// Before this moment.
    pub until: Option<UnixMs>,
    /// Up to this line: what comes later does not move what is looked at.
    pub up_to: Option<u64>,
}

/// What an examination of the whole audit found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditCheck {
    /// How many lines were looked at.
    pub lines: u64,
    /// Where it is broken, first places first; empty when it is whole.
    pub breaks: Vec<AuditBreak>,
}

/// A place where the audit is broken, and what that means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditBreak {
    /// The line's number.
    pub seq: u64,
    /// What is wrong there.
    pub kind: AuditBreakKind,
}

/// What can be wrong with the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditBreakKind {
    /// This line, or the one before it, was changed after it was written.
    Changed,
    /// Lines before this one are missing.
    Missing,
    /// The line cannot be read.
    Unreadable,
    /// Lines after this one are missing: the end was cut off.
    Cut,
    /// The code of the end does not fit: it was changed from outside, or the key is another one.
    Forged,
    /// What says beside the database where the audit ended is gone.
    Unanchored,
    /// At a start, Nod found the end not as it had left it, and went on from there.
    Mended,
    /// The rule that was made here was changed or removed from outside.
    RuleChanged,
    /// By this line, there is a rule that Nod never made, or that was taken back.
    RuleAdded,
}

impl AuditEntry {
    /// A line that says no more than this.
    pub fn new(time: UnixMs, act: AuditAct, origin: AuditOrigin) -> Self {
        Self {
            time,
            act,
            origin,
            session: None,
            model: String::new(),
            tool: String::new(),
            call: None,
            plan_hash: String::new(),
            verdict: None,
            decider: None,
            rule: None,
            tier: None,
            outcome: String::new(),
            duration_ms: None,
            bytes: None,
            detail: String::new(),
        }
    }

    /// A line about a call of the ledger: all that the row knows but its content.
    pub fn of_call(time: UnixMs, act: AuditAct, origin: AuditOrigin, call: &CallRecord) -> Self {
        Self {
            session: Some(call.session.clone()),
            tool: call.call.name.clone(),
            call: Some(call.call.id.clone()),
            plan_hash: call.grounds.plan_hash.clone(),
            verdict: call.verdict,
            decider: call.decider,
            rule: call.grounds.rule.clone(),
            tier: call.grounds.tier,
            ..Self::new(time, act, origin)
        }
    }
}

impl AuditFilter {
    /// Whether it leaves nothing out.
    pub fn is_empty(&self) -> bool {
        Self { up_to: None, ..self.clone() } == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_keeps_its_names_and_leaves_out_what_is_empty() {
        let entry = AuditEntry {
            session: Some(SessionId::new("s")),
            tool: "write_file".to_owned(),
            verdict: Some(Verdict::Denied),
            decider: Some(Decider::BuiltIn),
            outcome: "PATH_OUT_OF_SCOPE".to_owned(),
            ..AuditEntry::new(UnixMs(7), AuditAct::Decided, AuditOrigin::CommandLine)
        };
        let text = r#"{"time":7,"act":"decided","origin":"command-line","session":"s","tool":"write_file","verdict":"denied","decider":"built-in","outcome":"PATH_OUT_OF_SCOPE"}"#;
        assert_eq!(serde_json::to_string(&entry).unwrap(), text, "its hash is made of this very text");
        assert_eq!(serde_json::from_str::<AuditEntry>(text).unwrap(), entry);
        assert!(serde_json::from_value::<AuditEntry>(json!({"time": 7, "act": "guessed", "origin": "nod"})).is_err());
    }
}

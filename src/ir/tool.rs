//! Tools as a model sees them, and calls with their results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallId, UnixMs};

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDef {
    /// Unique name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
    /// What kind of work.
    pub category: ToolCategory,
    /// How much harm a call can do.
    pub risk_level: RiskLevel,
    /// Whether a call normally waits for a yes.
    pub requires_permission: bool,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: u64,
}

/// What kind of work a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCategory {
    Filesystem,
    Search,
    Calculation,
    CodeExecution,
    Network,
    Database,
    Mcp,
    Custom,
}

/// How much harm a call can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskLevel {
    Safe,
    Low,
    Medium,
    High,
    Critical,
}

impl RiskLevel {
    /// The key of its name in the language files.
    pub const fn text_key(self) -> &'static str {
        match self {
            Self::Safe | Self::Low => "risk-low",
            Self::Medium => "risk-medium",
            Self::High => "risk-high",
            Self::Critical => "risk-critical",
        }
    }
}

/// What a tool does to the computer. Policy, confirmation, ledger and undo follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Looks, changes nothing.
    Read,
    /// Creates or changes files and folders.
    Write,
    /// Removes files and folders.
    Delete,
    /// Starts a program.
    Execute,
}

impl Access {
    /// Whether anything may be another way afterwards.
    pub const fn changes_something(self) -> bool {
        match self {
            Self::Read => false,
            Self::Write | Self::Delete | Self::Execute => true,
        }
    }

    /// Whether it changes files that are known beforehand, so that what was there can be kept.
    pub const fn changes_named_files(self) -> bool {
        match self {
            Self::Write | Self::Delete => true,
            Self::Read | Self::Execute => false,
        }
    }
}

/// A call that a model asked for, assembled and parsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Unique in the session.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments, an object; empty when they did not parse.
    #[serde(default)]
    pub args: Value,
    /// The round that asked for it, from 1.
    #[serde(default)]
    pub iteration: u32,
    /// When it was complete.
    #[serde(default)]
    pub timestamp: UnixMs,
    /// The model's own text, kept when the arguments were adjusted or did not parse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_args: Option<String>,
    /// Why the arguments did not parse; such a call is answered, never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse_error: Option<String>,
    /// What was done to the model's text before it became this call; the card says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<CallMark>,
}

/// What was done to a model's text before it became a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallMark {
    /// Its arguments did not fit the schema and were changed where the schema says how.
    Adjusted,
    /// Its arguments were not JSON and were mended where they could mean only one thing.
    Repaired,
    /// The model printed it as text instead of calling.
    Printed,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call that this answers.
    pub tool_call_id: CallId,
    /// The tool's name.
    pub tool_name: String,
    /// The raw value, kept for the card and the record.
    pub result: Value,
    /// What the model reads when the raw value is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether the tool did what was asked.
    pub success: bool,
    /// One sentence when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// When it ended.
    pub timestamp: UnixMs,
}

impl ToolResult {
    /// What the model reads: the summary where there is one, else the raw value as compact JSON.
    pub fn for_model(&self) -> String {
        self.summary.clone().unwrap_or_else(|| self.result.to_string())
    }

    /// The stable code of a failed call, where its result carries one.
    pub fn code(&self) -> Option<&str> {
        self.result.get("code").and_then(Value::as_str)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::json::{round_trip, words};

    #[test]
    fn a_call_keeps_the_standards_names_and_may_leave_out_what_came_later() {
        let call: ToolCall = round_trip(&json!({
            "id": "c",
            "name": "read_file",
            "args": {"path": "a"},
            "iteration": 1,
            "timestamp": 5,
            "rawArgs": "{\"path\":\"a\"",
            "parseError": "EOF",
            "marks": ["repaired", "adjusted"],
        }));
        assert_eq!(call.parse_error.as_deref(), Some("EOF"));
        let least: ToolCall = serde_json::from_value(json!({"id": "c", "name": "ls"})).unwrap();
        assert_eq!((least.args, least.iteration, least.timestamp), (Value::Null, 0, UnixMs(0)));
    }

    #[test]
    fn the_model_reads_the_summary_where_there_is_one_else_compact_json() {
        let mut result: ToolResult = round_trip(&json!({
            "toolCallId": "c",
            "toolName": "read_file",
            "result": {"success": false, "code": "PATH_NOT_FOUND", "error": "There is no a."},
            "summary": "short",
            "success": false,
            "error": "There is no a.",
            "durationMs": 5,
            "timestamp": 6,
        }));
        assert_eq!(result.for_model(), "short");
        assert_eq!(result.code(), Some("PATH_NOT_FOUND"));
        result.summary = None;
        assert_eq!(result.for_model(), r#"{"success":false,"code":"PATH_NOT_FOUND","error":"There is no a."}"#);
    }

    #[test]
    fn categories_risks_accesses_and_marks_have_the_standards_words() {
        words(&[
            ("filesystem", ToolCategory::Filesystem),
            ("search", ToolCategory::Search),
            ("calculation", ToolCategory::Calculation),
            ("code_execution", ToolCategory::CodeExecution),
            ("network", ToolCategory::Network),
            ("database", ToolCategory::Database),
            ("mcp", ToolCategory::Mcp),
            ("custom", ToolCategory::Custom),
        ]);
        words(&[
            ("safe", RiskLevel::Safe),
            ("low", RiskLevel::Low),
            ("medium", RiskLevel::Medium),
            ("high", RiskLevel::High),
            ("critical", RiskLevel::Critical),
        ]);
        words(&[("adjusted", CallMark::Adjusted), ("repaired", CallMark::Repaired), ("printed", CallMark::Printed)]);
        words(&[
            ("read", Access::Read),
            ("write", Access::Write),
            ("delete", Access::Delete),
            ("execute", Access::Execute),
        ]);
    }
}

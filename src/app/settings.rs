//! Settings, changed at once and kept by the engine.

use serde_json::Value;

use crate::ir::{RiskLevel, UnixMs};
use crate::port::Command;

use super::{AppState, Reaction};

/// A tool as the settings list it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolRow {
    pub name: &'static str,
    pub risk: RiskLevel,
    /// The key of what it does.
    pub key: &'static str,
}

/// Every built-in tool, in the order of the tools specification.
pub const TOOLS: [ToolRow; 8] = [
    ToolRow { name: "read_file", risk: RiskLevel::Low, key: "settings-tool-read-file" },
    ToolRow { name: "list_directory", risk: RiskLevel::Low, key: "settings-tool-list-directory" },
    ToolRow { name: "search_files", risk: RiskLevel::Low, key: "settings-tool-search-files" },
    ToolRow { name: "write_file", risk: RiskLevel::Medium, key: "settings-tool-write-file" },
    ToolRow { name: "edit_file", risk: RiskLevel::Medium, key: "settings-tool-edit-file" },
    ToolRow { name: "create_directory", risk: RiskLevel::Medium, key: "settings-tool-create-directory" },
    ToolRow { name: "delete_file", risk: RiskLevel::High, key: "settings-tool-delete-file" },
    ToolRow { name: "run_command", risk: RiskLevel::Critical, key: "settings-tool-run-command" },
];

impl AppState {
    pub(super) fn set_setting(&mut self, key: &'static str, value: Value, now: UnixMs) -> Reaction {
        // Shown at once; the engine's answer is the truth.
        if let Err(problem) = self.settings.set(key, value.clone()) {
            self.toasts.fault("notice-setting-refused", Vec::new(), problem.to_string(), now);
            return Reaction::none();
        }
        Command::SetSetting { key: key.to_owned(), value }.into()
    }

    /// The list of switched-off tools after one switch was moved.
    pub fn disabled_tools_with(&self, name: &str, is_enabled: bool) -> Value {
        let mut disabled: Vec<&str> =
            self.settings.tools.disabled.iter().map(String::as_str).filter(|other| *other != name).collect();
        if !is_enabled {
            disabled.push(name);
        }
        disabled.into()
    }
}

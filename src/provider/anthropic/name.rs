//! Names of tools as the API takes them, `[a-zA-Z0-9_-]` alone, and back again.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::ir::{Request, ToolDef};

/// Longest tool name.
const NAME_LIMIT: usize = 128;

/// The tools that a request may offer, under the names that the API takes.
#[derive(Debug, Default)]
pub(super) struct ToolNames<'a> {
    offered: Vec<(Cow<'a, str>, &'a ToolDef)>,
}

impl<'a> ToolNames<'a> {
    /// The allowed tools of a request.
    pub(super) fn of(request: &'a Request) -> Self {
        let allowed = request.constraints.as_ref().and_then(|constraints| constraints.allowed_tools.as_ref());
        let mut taken = HashSet::new();
        let offered = request
            .tools
            .iter()
            .flatten()
            .filter(|tool| allowed.is_none_or(|names| names.contains(&tool.name)))
            .map(|tool| {
                let mut name = on_the_wire(&tool.name);
                let mut number = 2;
                while !taken.insert(name.to_string()) {
                    name = Cow::Owned(format!("{}_{number}", cut(&on_the_wire(&tool.name), NAME_LIMIT - 8)));
                    number += 1;
                }
                (name, tool)
            })
            .collect();
        Self { offered }
    }

    /// Each tool with its name for the API.
    pub(super) fn offered(&self) -> &[(Cow<'a, str>, &'a ToolDef)] {
        &self.offered
    }

    /// The API's name of a tool, offered or not.
    pub(super) fn outward<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match self.offered.iter().find(|(_, tool)| tool.name == name) {
            Some((wire, _)) if wire != name => Cow::Owned(wire.to_string()),
            Some(_) => Cow::Borrowed(name),
            None => on_the_wire(name),
        }
    }

    /// The tool's own name.
    pub(super) fn inward(&self, wire: &str) -> String {
        let own = self.offered.iter().find(|(name, _)| name == wire).map(|(_, tool)| tool.name.as_str());
        own.unwrap_or(wire).to_owned()
    }
}

fn on_the_wire(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed("unnamed");
    }
    if name.len() <= NAME_LIMIT && name.bytes().all(is_allowed) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(replaced(name).chars().take(NAME_LIMIT).collect())
}

fn replaced(text: &str) -> String {
    text.chars().map(|c| if u8::try_from(c).is_ok_and(is_allowed) { c } else { '_' }).collect()
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn cut(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_that_the_api_refuses_are_written_otherwise_and_read_back() {
        let tool = |name: &str| {
            json!({
                "name": name, "description": "", "parameters": {}, "category": "mcp", "riskLevel": "low",
                "requiresPermission": false, "timeoutMs": 1,
            })
        };
        let request: Request = serde_json::from_value(json!({
            "meta": {"sessionId": "s", "iteration": 1, "requestId": "r", "timestamp": 0, "agentVersion": "0"},
            "systemPrompt": {"roleDefinition": ""},
            "messages": [],
            "tools": [tool("read_file"), tool("a.b"), tool("a:b"), tool("查找"), tool("hidden")],
            "params": {},
            "constraints": {"allowedTools": ["read_file", "a.b", "a:b", "查找"]},
        }))
        .unwrap();
        let names = ToolNames::of(&request);
        let wire: Vec<&str> = names.offered().iter().map(|(name, _)| name.as_ref()).collect();
        assert_eq!(wire, ["read_file", "a_b", "a_b_2", "__"]);
        for own in ["read_file", "a.b", "a:b", "查找", "no_such_tool"] {
            assert_eq!(names.inward(&names.outward(own)), own);
        }
        assert_eq!(names.outward("functions.ls"), "functions_ls");
        assert_eq!(names.outward(&"x".repeat(200)).len(), 128);
    }
}

//! Names of tools between Nod and a server: each server takes its own characters and lengths, and models write names with
//! prefixes that nobody gave them. Pure.

use std::borrow::Cow;

use crate::ir::Request;

/// Longest name that every server takes.
const NAME_LIMIT: usize = 64;
/// What models put before a tool's name, as they learnt it elsewhere.
const PREFIXES: &[&str] = &["functions.", "functions/", "function:", "tools.", "tool:", "default_api.", "default_api:"];

/// The tools of one request by both their names.
#[derive(Debug, Default)]
pub struct ToolNames<'a> {
    /// Our name, the server's.
    pairs: Vec<(&'a str, Cow<'a, str>)>,
}

impl<'a> ToolNames<'a> {
    /// The names of the tools that a request offers. Two that would become one are told apart by a number.
    pub fn of(request: &'a Request) -> Self {
        let mut names = Self::default();
        let allowed = request.constraints.as_ref().and_then(|constraints| constraints.allowed_tools.as_ref());
        let offered = request.tools.iter().flatten();
        for tool in offered.filter(|tool| allowed.is_none_or(|names| names.contains(&tool.name))) {
            let wanted = on_the_wire(&tool.name);
            let mut name = wanted.clone();
            let mut number = 2;
            while names.pairs.iter().any(|(_, taken)| *taken == name) {
                let kept: String = wanted.chars().take(NAME_LIMIT - 4).collect();
                name = Cow::Owned(format!("{kept}_{number}"));
                number += 1;
            }
            names.pairs.push((&tool.name, name));
        }
        names
    }

    /// The names as the server is told them.
    pub fn on_the_wire(&self) -> Vec<Cow<'a, str>> {
        self.pairs.iter().map(|(_, wire)| wire.clone()).collect()
    }

    /// Our names with the server's.
    pub fn pairs(&self) -> impl Iterator<Item = (&'a str, &str)> {
        self.pairs.iter().map(|(own, wire)| (*own, wire.as_ref()))
    }

    /// The server's name for one of ours; a tool that is not offered any more still has a name that the server takes.
    pub fn outward<'n>(&'n self, own: &'n str) -> Cow<'n, str> {
        let known = self.pairs.iter().find(|(name, _)| *name == own);
        known.map_or_else(|| on_the_wire(own), |(_, wire)| Cow::Borrowed(wire.as_ref()))
    }

    /// Our name for what a model wrote. A prefix and the case of letters are forgiven when exactly one tool is meant;
    /// otherwise the name stays as it was written: it is never guessed.
    pub fn inward(&self, written: &str) -> String {
        let written = written.trim();
        if let Some((own, _)) = self.pairs.iter().find(|(own, wire)| wire == written || *own == written) {
            return (*own).to_owned();
        }
        let bare = PREFIXES.iter().find_map(|prefix| written.strip_prefix(prefix)).unwrap_or(written);
        let mut meant = self.pairs.iter().filter(|(_, wire)| wire == bare);
        let mut alike = self.pairs.iter().filter(|(_, wire)| wire.eq_ignore_ascii_case(bare));
        match (meant.next(), alike.next(), alike.next()) {
            (Some((own, _)), _, _) | (None, Some((own, _)), None) => (*own).to_owned(),
            (None, _, _) => written.to_owned(),
        }
    }
}

/// A name of ASCII letters, digits, `_` and `-`, at most 64 of them.
fn on_the_wire(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.len() <= NAME_LIMIT && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let fitted: String = name.chars().map(|c| if fits(c) { c } else { '_' }).take(NAME_LIMIT).collect();
    if fitted.is_empty() { Cow::Borrowed("unnamed") } else { Cow::Owned(fitted) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request(tools: &[&str]) -> Request {
        let tools: Vec<Value> = tools
            .iter()
            .map(|name| {
                json!({"name": name, "description": "", "parameters": {"type": "object"}, "category": "mcp",
                    "riskLevel": "low", "requiresPermission": false, "timeoutMs": 1000})
            })
            .collect();
        serde_json::from_value(json!({
            "meta": {"sessionId": "s", "iteration": 1, "requestId": "r", "timestamp": 1, "agentVersion": "0"},
            "systemPrompt": {"roleDefinition": ""},
            "messages": [],
            "tools": tools,
            "params": {},
        }))
        .unwrap()
    }

    #[test]
    fn names_that_a_server_refuses_are_changed_and_found_again() {
        let long = "x".repeat(70);
        let request = request(&["read_file", "mcp.files/read", "mcp.files:read", "读", &long]);
        let names = ToolNames::of(&request);
        let wire = names.on_the_wire();
        assert_eq!(wire[..4], ["read_file", "mcp_files_read", "mcp_files_read_2", "_"]);
        assert_eq!(wire[4].len(), 64);
        for (own, wire) in names.pairs() {
            assert_eq!((names.outward(own).as_ref(), names.inward(wire).as_str()), (wire, own));
        }
        assert_eq!(names.outward("gone.tool"), "gone_tool");
        assert_eq!(names.outward(""), "unnamed");
    }

    #[test]
    fn prefixes_and_case_are_forgiven_only_when_one_tool_is_meant() {
        let request = request(&["ls", "read_file", "Grep", "grep"]);
        let names = ToolNames::of(&request);
        for (written, meant) in [
            ("functions.ls", "ls"),
            ("tool:ls", "ls"),
            ("LS", "ls"),
            (" read_file ", "read_file"),
            ("default_api.Read_File", "read_file"),
            ("grep", "grep"),
            ("GREP", "GREP"),
            ("run_python", "run_python"),
            ("read", "read"),
            ("functions.run", "functions.run"),
            ("lss", "lss"),
        ] {
            assert_eq!(names.inward(written), meant, "{written}");
        }
    }
}

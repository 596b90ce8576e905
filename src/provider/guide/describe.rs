//! What a tool's result says, in the person's language and nothing added. Pure.

use serde_json::Value;

use crate::ir::{Decider, ToolCall, ToolResult};
use crate::lang::{Arg, Lang};

/// Lines of a file, of a command's output, and entries of a list that are repeated in the answer; the card has them all.
const LINES_SHOWN: usize = 20;
const ENTRIES_SHOWN: usize = 40;
const MATCHES_SHOWN: usize = 20;

/// One result as an answer in Markdown.
pub(super) fn describe(result: &ToolResult, call: Option<&ToolCall>, lang: &Lang) -> String {
    let told = Told { value: &result.result, args: call.map(|call| &call.args), lang };
    // A command that ran and failed has an outcome to tell.
    let has_outcome = result.success || (result.tool_name == "run_command" && told.value.get("exitCode").is_some());
    if !has_outcome {
        return told.failure(result);
    }
    match result.tool_name.as_str() {
        "list_directory" => told.listing(),
        "read_file" => told.content(),
        "search_files" => told.matches(),
        "write_file" => {
            let key = if told.flag("created") { "guide-created-file" } else { "guide-overwrote-file" };
            told.say(key, &[("path", told.path().into()), ("size", told.number("bytesWritten").into())])
        }
        "create_directory" => {
            let key = if told.flag("created") { "guide-created-folder" } else { "guide-had-folder" };
            told.say(key, &[("path", told.path().into())])
        }
        "edit_file" => {
            let places = told.number("edits_applied").max(1);
            told.say("guide-changed", &[("path", told.path().into()), ("count", places.into())])
        }
        "delete_file" => {
            let key = if told.flag("trashed") { "guide-trashed" } else { "guide-deleted" };
            told.say(key, &[("path", told.path().into())])
        }
        "run_command" => told.output(),
        _ => lang.text("guide-done").to_owned(),
    }
}

/// A text as inline code, whatever it holds.
pub(super) fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Lines as a code block that nothing in them can end.
fn block(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("\n\n{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

struct Told<'a> {
    value: &'a Value,
    args: Option<&'a Value>,
    lang: &'a Lang,
}

impl Told<'_> {
    fn say<'args>(&self, key: &str, args: &[(&'args str, Arg<'args>)]) -> String {
        self.lang.format(key, args)
    }

    fn text(&self, field: &str) -> &str {
        self.value.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, field: &str) -> i64 {
        self.value.get(field).and_then(Value::as_i64).unwrap_or_default()
    }

    fn flag(&self, field: &str) -> bool {
        self.value.get(field).and_then(Value::as_bool).unwrap_or_default()
    }

    fn items(&self, field: &str) -> &[Value] {
        self.value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The path as the person named it; for the folder itself, its whole path.
    fn path(&self) -> String {
        let asked = self.args.and_then(|args| args.get("path")).and_then(Value::as_str).unwrap_or_default();
        match (asked, self.text("path")) {
            ("" | ".", "") => self.lang.text("guide-this-folder").to_owned(),
            ("" | ".", resolved) => code(resolved),
            (asked, _) => code(asked),
        }
    }

    fn more(&self, all: usize, shown: usize) -> Option<String> {
        (all > shown).then(|| format!("\n\n{}", self.say("guide-more", &[("count", (all - shown).into())])))
    }

    fn listing(&self) -> String {
        let entries = self.items("entries");
        let total = usize::try_from(self.number("total")).unwrap_or_default().max(entries.len());
        let mut answer = self.say("guide-listed", &[("path", self.path().into()), ("count", total.into())]);
        for (index, entry) in entries.iter().take(ENTRIES_SHOWN).enumerate() {
            let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
            let is_folder = entry.get("type").and_then(Value::as_str) == Some("directory");
            let size = entry.get("size").and_then(Value::as_u64).map(|bytes| format!(" · {}", size_text(bytes)));
            answer.push_str(if index == 0 { "\n\n- " } else { "\n- " });
            answer.push_str(&code(&if is_folder { format!("{name}/") } else { name.to_owned() }));
            answer.push_str(&size.unwrap_or_default());
        }
        answer.extend(self.more(total, entries.len().min(ENTRIES_SHOWN)));
        let hidden = self.number("hidden_by_policy");
        if hidden > 0 {
            answer.push_str("\n\n");
            answer.push_str(&self.say("guide-listed-hidden", &[("count", hidden.into())]));
        }
        answer
    }

    fn content(&self) -> String {
        let path = self.path();
        if self.text("encoding") == "base64" {
            return self.say("guide-read-bytes", &[("path", path.into()), ("size", self.number("size").into())]);
        }
        let content = self.text("content");
        let count = content.lines().count();
        let first = self.items("line_range").first().and_then(Value::as_i64).unwrap_or(1).max(1);
        let last = first + i64::try_from(count).unwrap_or_default() - 1;
        let args = [("path", path.into()), ("count", count.into()), ("first", first.into()), ("last", last.into())];
        let mut answer = self.say("guide-read", &args);
        if count > 0 {
            let shown: Vec<&str> = content.lines().take(LINES_SHOWN).collect();
            let asked = self.args.and_then(|args| args.get("path")).and_then(Value::as_str).unwrap_or_default();
            let language = asked.rsplit_once('.').map_or("", |(_, extension)| extension);
            let language = if language.chars().all(|c| c.is_ascii_alphanumeric()) { language } else { "" };
            answer.push_str(&block(language, &shown.join("\n")));
            answer.extend(self.more(count, shown.len()));
        }
        answer
    }

    fn matches(&self) -> String {
        let results = self.items("results");
        if results.is_empty() {
            let query = code(self.text("query"));
            return self.say("guide-found-none", &[("query", query.into())]);
        }
        let lines_of = |file: &Value| {
            let matches = file.get("matches").and_then(Value::as_array);
            let lines = matches.into_iter().flatten().map(|found| {
                let line = found.get("line").and_then(Value::as_u64).unwrap_or_default();
                (line, found.get("text").and_then(Value::as_str).unwrap_or_default().trim().to_owned())
            });
            lines.filter(|(line, _)| *line > 0).collect::<Vec<_>>()
        };
        let found: Vec<_> = results
            .iter()
            .map(|file| (file.get("path").and_then(Value::as_str).unwrap_or_default(), lines_of(file)))
            .collect();
        let only_names = found.iter().all(|(_, lines)| lines.is_empty());
        let files = self.number("total_files").max(i64::try_from(found.len()).unwrap_or_default());
        let mut answer = if only_names {
            self.say("guide-found-names", &[("files", files.into())])
        } else {
            self.say("guide-found", &[("files", files.into()), ("count", self.number("total_matches").into())])
        };
        answer.push('\n');
        let rows = found.iter().flat_map(|(path, lines)| {
            let head = format!("\n- {}", code(path));
            std::iter::once(head).chain(lines.iter().map(|(line, text)| format!("\n  - {line}: {}", code(text))))
        });
        let rows: Vec<String> = rows.collect();
        answer.extend(rows.iter().take(MATCHES_SHOWN).map(String::as_str));
        answer.extend(self.more(rows.len(), MATCHES_SHOWN));
        if self.flag("truncated") {
            answer.push_str("\n\n");
            answer.push_str(self.lang.text("guide-at-limit"));
        }
        answer
    }

    fn output(&self) -> String {
        let code = self.value.get("exitCode").and_then(Value::as_i64);
        let output = [self.text("stdout"), self.text("stderr")].map(|text| text.trim_end_matches('\n'));
        let output: Vec<&str> = output.into_iter().filter(|text| !text.is_empty()).flat_map(str::lines).collect();
        let mut answer = match code {
            Some(0) if output.is_empty() => self.lang.text("guide-ran-silent").to_owned(),
            Some(0) => self.lang.text("guide-ran").to_owned(),
            Some(code) => self.say("guide-ran-failed", &[("code", code.into())]),
            None if self.flag("timedOut") => self.lang.text("guide-timed-out").to_owned(),
            None => self.lang.text("guide-ran-killed").to_owned(),
        };
        if !output.is_empty() {
            let shown: Vec<&str> = output.iter().take(LINES_SHOWN).copied().collect();
            answer.push_str(&block("text", &shown.join("\n")));
            answer.extend(self.more(output.len(), shown.len()));
        }
        answer
    }

    /// Whether it was the person who said no.
    fn was_asked(&self) -> bool {
        self.value.get("decider").is_none() || self.is_decided_by(Decider::Person)
    }

    fn is_decided_by(&self, decider: Decider) -> bool {
        self.value.get("decider").is_some_and(|told| *told == serde_json::json!(decider))
    }

    fn failure(&self, result: &ToolResult) -> String {
        let path = self.path();
        let with_path = |key: &str| self.say(key, &[("path", path.clone().into())]);
        let code = result.code().unwrap_or_default();
        match code {
            "CONFIRMATION_REJECTED" if self.is_decided_by(Decider::Rule) => {
                self.lang.text("guide-refused-by-rule").to_owned()
            }
            "CONFIRMATION_REJECTED" if !self.was_asked() => self.lang.text("guide-not-asked").to_owned(),
            "CONFIRMATION_REJECTED" => match self.value.get("reason").and_then(Value::as_str) {
                Some(reason) if !reason.trim().is_empty() => {
                    self.say("guide-refused-because", &[("reason", reason.trim().into())])
                }
                _ => self.lang.text("guide-refused").to_owned(),
            },
            "PATH_NOT_FOUND" => with_path("guide-not-found"),
            "PATH_OUT_OF_SCOPE" => with_path("guide-out-of-scope"),
            "BLOCKED_PATH_DENIED" | "SENSITIVE_PATH_DENIED" | "PROTECTED_PATH_DENIED" => with_path("guide-closed"),
            "NOT_A_FILE" => with_path("guide-not-a-file"),
            "NOT_A_DIRECTORY" => with_path("guide-not-a-folder"),
            "DIRECTORY_NOT_EMPTY" => with_path("guide-not-empty"),
            "BINARY_FILE" => with_path("guide-binary"),
            "FILE_TOO_LARGE" => with_path("guide-too-large"),
            "EDIT_NOT_FOUND" => with_path("guide-edit-missing"),
            "EDIT_AMBIGUOUS" => with_path("guide-edit-twice"),
            "TARGET_CHANGED" => with_path("guide-changed-meanwhile"),
            "COMMAND_DENIED" => self.lang.text("guide-command-denied").to_owned(),
            "UNCONFINED_DENIED" => self.lang.text("guide-unconfined").to_owned(),
            "PERMISSION_DENIED" => with_path("guide-not-allowed"),
            "NO_SPACE" => self.lang.text("guide-no-space").to_owned(),
            "CANCELLED" => self.lang.text("guide-cancelled").to_owned(),
            "TIMED_OUT" | "REQUEST_EXPIRED" => self.lang.text("guide-timed-out").to_owned(),
            "TOOL_NOT_ENABLED" | "TOOL_NOT_AVAILABLE" => {
                self.say("guide-tool-off", &[("tool", super::describe::code(&result.tool_name).into())])
            }
            _ => {
                let detail = result.error.as_deref().unwrap_or_else(|| self.text("error"));
                self.say("guide-failed", &[("code", code.into()), ("detail", detail.into())])
            }
        }
    }
}

fn size_text(bytes: u64) -> String {
    let mut size = bytes as f64;
    let mut unit = "B";
    for larger in ["KB", "MB", "GB", "TB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{size:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::{CallId, UnixMs};
    use crate::lang::Locale;

    fn told(locale: Locale, tool: &str, args: Value, result: Value) -> String {
        let success = result["success"].as_bool().unwrap_or(true);
        let call = ToolCall {
            id: CallId::new("c"),
            name: tool.into(),
            args,
            iteration: 1,
            timestamp: UnixMs(0),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        };
        let result = ToolResult {
            tool_call_id: CallId::new("c"),
            tool_name: tool.into(),
            error: result["error"].as_str().map(str::to_owned),
            result,
            summary: None,
            success,
            duration_ms: 1,
            timestamp: UnixMs(0),
        };
        describe(&result, Some(&call), &Lang::new(locale))
    }

    #[test]
    fn a_listing_names_folders_and_sizes_and_counts_the_rest() {
        let entries = json!([
            {"name": "src", "type": "directory", "size": null},
            {"name": "a`b.txt", "type": "file", "size": 2048},
        ]);
        let result = json!({"path": "/w", "entries": entries, "total": 5, "truncated": false, "hidden_by_policy": 1});
        assert_eq!(
            told(Locale::English, "list_directory", json!({"path": "."}), result.clone()),
            "`/w` holds 5 entries:\n\n- `src/`\n- `` a`b.txt `` · 2.0 KB\n\n… and 3 more, on the card above.\n\nOne more is left out because it may hold secrets."
        );
        assert_eq!(
            told(Locale::Chinese, "list_directory", json!({"path": "src"}), json!({"entries": [], "total": 0})),
            "`src` 是空的。"
        );
    }

    #[test]
    fn a_file_is_shown_in_a_block_that_its_text_cannot_end() {
        let content = "```\nnot the end\n";
        let result = json!({"path": "/w/a.md", "content": content, "encoding": "utf-8", "size": 17, "lines": 9, "line_range": [3, 4]});
        assert_eq!(
            told(Locale::English, "read_file", json!({"path": "a.md"}), result),
            "`a.md`, lines 3 to 4:\n\n````md\n```\nnot the end\n````"
        );
        assert_eq!(
            told(Locale::Chinese, "read_file", json!({"path": "a.md"}), json!({"content": "", "line_range": [1, 0]})),
            "`a.md`，空文件。"
        );
    }

    #[test]
    fn matches_are_counted_and_named_with_their_lines() {
        let result = json!({
            "query": "x",
            "results": [{"path": "a.rs", "matches": [{"line": 3, "text": "  let x;", "column": 7}]}, {"path": "x.rs", "matches": [{"line": 0, "text": "x.rs", "column": 1}]}],
            "total_files": 2, "total_matches": 2, "truncated": true,
        });
        assert_eq!(
            told(Locale::English, "search_files", json!({}), result),
            "2 matches in 2 files:\n\n- `a.rs`\n  - 3: `let x;`\n- `x.rs`\n\nThere may be more: the search stopped at its limit."
        );
        assert_eq!(
            told(Locale::Chinese, "search_files", json!({}), json!({"query": "x", "results": []})),
            "没有找到 `x`。"
        );
    }

    #[test]
    fn a_refusal_is_told_with_the_persons_reason() {
        let refused = |reason: Value| json!({"success": false, "error": "Refused.", "code": "CONFIRMATION_REJECTED", "reason": reason});
        assert_eq!(
            told(Locale::English, "delete_file", json!({"path": "a"}), refused(json!("too risky"))),
            "You said no, so I changed nothing. Your reason: too risky"
        );
        assert_eq!(
            told(Locale::Chinese, "delete_file", json!({"path": "a"}), refused(Value::Null)),
            "你没有同意，所以我什么都没改。"
        );
    }

    #[test]
    fn where_nobody_was_asked_nobody_is_said_to_have_refused() {
        for decider in [Decider::Flag, Decider::Timeout] {
            let refused =
                json!({"success": false, "error": "No.", "code": "CONFIRMATION_REJECTED", "decider": decider});
            assert_eq!(
                told(Locale::English, "delete_file", json!({"path": "a"}), refused.clone()),
                "This needs a yes that nobody gave, so I changed nothing."
            );
            assert_eq!(
                told(Locale::Chinese, "delete_file", json!({"path": "a"}), refused),
                "这一步要有人点头才能做，但没有人点头，所以我什么都没改。"
            );
        }
        let by_rule =
            json!({"success": false, "error": "No.", "code": "CONFIRMATION_REJECTED", "decider": Decider::Rule});
        assert_eq!(
            told(Locale::English, "delete_file", json!({"path": "a"}), by_rule),
            "One of your rules refuses this, so I changed nothing."
        );
    }

    #[test]
    fn a_failed_command_is_told_with_its_code_and_output() {
        let result = json!({"success": false, "error": "exit 2", "code": "IO_ERROR", "stdout": "out\n", "stderr": "err\n", "exitCode": 2});
        assert_eq!(
            told(Locale::English, "run_command", json!({"command": "x"}), result),
            "The command ended with code 2.\n\n```text\nout\nerr\n```"
        );
    }

    #[test]
    fn every_code_is_told_in_both_languages_without_a_bare_key() {
        for code in crate::ir::Code::ALL {
            for locale in [Locale::English, Locale::Chinese] {
                let result = json!({"success": false, "error": "why", "code": code.as_str()});
                let text = told(locale, "read_file", json!({"path": "a"}), result);
                assert!(!text.contains("guide-") && !text.contains('{') && !text.is_empty(), "{code}: {text}");
            }
        }
    }
}

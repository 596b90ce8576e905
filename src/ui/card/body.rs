//! What a card shows under its header, by kind of call; made once for each change of the call, never while drawing.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::diff::{self, language_of_path};
use super::quantity::bytes;
use super::rows::{RowTag, Rows};
use super::{ansi, quantity};
use crate::app::CallView;
use crate::ir::{CallStatus, Preview};
use crate::lang::Lang;
use crate::ui::icon::Icon;

/// What stands in a card.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// A sentence over the rows: why it failed, what it waits for.
    pub(super) message: Option<String>,
    pub(super) rows: Rows,
    /// Lines added and removed.
    pub(super) change: Option<(usize, usize)>,
    /// Facts for the footer.
    pub(super) facts: Vec<String>,
    /// What *Copy* takes.
    pub(super) copied: String,
    /// Whether the rows grow at their end.
    pub(super) is_growing: bool,
}

/// Makes the body of a call; `shows_arguments` asks for the raw arguments instead.
pub(super) fn make(call: &CallView, lang: &Lang, shows_arguments: bool) -> Body {
    let record = &call.record;
    let mut hasher = DefaultHasher::new();
    (record.call.id.as_str(), call.revision, shows_arguments).hash(&mut hasher);
    let key = hasher.finish();
    let path = record.target.as_deref().or_else(|| text_at(&record.call.args, "path")).unwrap_or_default();
    if shows_arguments {
        let arguments = match &record.call.raw_args {
            Some(raw) => raw.clone(),
            None => serde_json::to_string_pretty(&record.call.args).unwrap_or_default(),
        };
        return Body { rows: Rows::code(key, &arguments, "json", None), copied: arguments, ..Body::default() };
    }
    let mut body = match (&record.result, &record.preview) {
        (Some(result), _) if record.call.name == "read_file" && result.success => file(key, &result.result, path),
        (Some(result), _) if record.call.name == "list_directory" && result.success => listing(key, &result.result),
        (Some(result), _) if record.call.name == "search_files" && result.success => matches(key, &result.result, lang),
        (Some(result), _) if record.call.name == "run_command" => command_result(key, &result.result, lang),
        (_, Some(preview)) => previewed(key, preview, path, call),
        (None, None) if !call.output.is_empty() => output(key, &call.output),
        (Some(result), None) if result.success => other(key, &result.result),
        (Some(_) | None, None) => Body::default(),
    };
    if record.status == CallStatus::Running && !call.output.is_empty() {
        body = Body { is_growing: true, ..output(key, &call.output) };
    }
    if let Some(files) = call.scanned_files.filter(|_| record.status == CallStatus::Running) {
        body.facts.push(lang.format("card-scanned", &[("count", quantity::count(files).into())]));
    }
    body.message = message(call);
    if body.copied.is_empty() {
        body.copied = body.message.clone().unwrap_or_default();
    }
    body
}

/// Why it did not do what was asked.
fn message(call: &CallView) -> Option<String> {
    let record = &call.record;
    let failure = record.result.as_ref().filter(|result| !result.success).and_then(|result| {
        let code = result.code().map(|code| format!(" ({code})")).unwrap_or_default();
        result.error.as_ref().map(|error| format!("{error}{code}"))
    });
    let reason = record.reason.as_ref().filter(|reason| !reason.trim().is_empty()).map(|reason| format!("“{reason}”"));
    let parse = record.call.parse_error.clone();
    let parts: Vec<String> = [failure, parse, reason].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| crate::policy::escape(&parts.join(" "), true).into_owned())
}

fn text_at<'value>(value: &'value Value, key: &str) -> Option<&'value str> {
    value.get(key).and_then(Value::as_str)
}

fn file(key: u64, result: &Value, path: &str) -> Body {
    let content = text_at(result, "content").unwrap_or_default();
    let first = result
        .get("line_range")
        .and_then(|range| range.get(0))
        .and_then(Value::as_u64)
        .and_then(|first| u32::try_from(first).ok())
        .unwrap_or(1);
    let mut facts = Vec::new();
    if let Some(size) = result.get("size").and_then(Value::as_u64) {
        facts.push(bytes(size));
    }
    let is_text = text_at(result, "encoding") != Some("base64");
    let language = if is_text { language_of_path(path) } else { "" };
    Body {
        rows: Rows::code(key, content, language, is_text.then_some(first)),
        facts,
        copied: content.to_owned(),
        ..Body::default()
    }
}

fn listing(key: u64, result: &Value) -> Body {
    let mut rows = Rows::new(key, "", false);
    let mut copied = String::new();
    for entry in result.get("entries").and_then(Value::as_array).into_iter().flatten() {
        let name = text_at(entry, "name").unwrap_or_default();
        let is_folder = text_at(entry, "type") == Some("directory");
        let size = entry.get("size").and_then(Value::as_u64).map(bytes).unwrap_or_default();
        // The day and minute of an RFC 3339 time.
        let modified = text_at(entry, "modified").and_then(|time| time.get(..16)).unwrap_or_default().replace('T', " ");
        let detail = text_at(entry, "error").map_or_else(|| format!("{size}   {modified}"), str::to_owned);
        rows.push_entry(if is_folder { Icon::Folder } else { Icon::File }, name.to_owned(), detail);
        copied.push_str(name);
        copied.push('\n');
    }
    Body { rows, copied, ..Body::default() }
}

fn matches(key: u64, result: &Value, lang: &Lang) -> Body {
    let mut rows = Rows::new(key, "", false);
    let mut copied = String::new();
    for found in result.get("results").and_then(Value::as_array).into_iter().flatten() {
        let path = text_at(found, "path").unwrap_or_default();
        let lines: Vec<&Value> = found.get("matches").and_then(Value::as_array).into_iter().flatten().collect();
        let in_text = lines.iter().filter(|line| line.get("line").and_then(Value::as_u64) != Some(0)).count();
        let detail = if in_text > 0 {
            lang.format("card-matches", &[("count", in_text.into())])
        } else {
            lang.text("card-name-matches").to_owned()
        };
        rows.push_head(Icon::FileText, path.to_owned(), detail);
        copied.push_str(path);
        copied.push('\n');
        for line in lines {
            let number = line.get("line").and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
            if let Some(number) = number.filter(|number| *number > 0) {
                let text = text_at(line, "text").unwrap_or_default();
                rows.push_line(text, Some(number), RowTag::Plain);
                copied.push_str(&number.to_string());
                copied.push_str(": ");
                copied.push_str(text);
                copied.push('\n');
            }
        }
    }
    Body { rows, copied, ..Body::default() }
}

fn output(key: u64, text: &str) -> Body {
    let parsed = ansi::parse(&text.replace("\r\n", "\n"));
    Body { rows: Rows::output(key, &parsed), copied: parsed.text, ..Body::default() }
}

fn command_result(key: u64, result: &Value, lang: &Lang) -> Body {
    let mut text = text_at(result, "stdout").unwrap_or_default().to_owned();
    if let Some(errors) = text_at(result, "stderr").filter(|errors| !errors.is_empty()) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(errors);
    }
    let mut body = output(key, &text);
    if let Some(code) = result.get("exitCode").and_then(Value::as_i64) {
        body.facts.push(lang.format("card-exit-code", &[("code", code.to_string().into())]));
    }
    if let Some(signal) = result.get("signal").and_then(Value::as_i64) {
        body.facts.push(lang.format("card-signal", &[("signal", signal.to_string().into())]));
    }
    if result.get("timedOut").and_then(Value::as_bool) == Some(true) {
        body.facts.push(lang.text("card-timed-out").to_owned());
    }
    if result.get("sandboxed").and_then(Value::as_bool) == Some(false) {
        body.facts.push(lang.text("card-unconfined").to_owned());
    }
    body
}

fn previewed(key: u64, preview: &Preview, path: &str, call: &CallView) -> Body {
    match preview {
        Preview::Nothing => match call.record.result.as_ref().filter(|result| result.success) {
            Some(result) => other(key, &result.result),
            None => Body::default(),
        },
        Preview::NewFile { content } => Body {
            rows: Rows::code(key, content, language_of_path(path), Some(1)),
            change: Some((content.lines().count(), 0)),
            copied: content.clone(),
            ..Body::default()
        },
        Preview::Diff { lines, added, removed } => Body {
            rows: diff::rows(key, lines, path),
            change: Some((*added, *removed)),
            copied: lines.iter().map(|line| line.text.as_str()).collect(),
            ..Body::default()
        },
        Preview::Tree { entries, count, bytes: size, at_least } => {
            let mut rows = Rows::new(key, "", false);
            for entry in entries {
                let (icon, detail) =
                    if entry.is_folder { (Icon::Folder, String::new()) } else { (Icon::File, bytes(entry.bytes)) };
                rows.push_entry(icon, entry.path.clone(), detail);
            }
            let more = if *at_least { "≥ " } else { "" };
            Body {
                rows,
                facts: vec![format!("{more}{}", quantity::count(*count)), format!("{more}{}", bytes(*size))],
                ..Body::default()
            }
        }
        Preview::Command(command) => Body {
            rows: Rows::code(key, &command.command, "bash", None),
            facts: vec![command.cwd.clone()],
            copied: command.command.clone(),
            ..Body::default()
        },
    }
}

fn other(key: u64, result: &Value) -> Body {
    let text = match result {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(result).unwrap_or_default()
        }
    };
    Body { rows: Rows::code(key, &text, "json", None), copied: text, ..Body::default() }
}

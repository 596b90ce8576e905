//! What a card shows under its header, by kind of call: begun anew for each change of the call, and taken in by the slice, so
//! that no frame pays for a body of any size.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::ansi::{self, AnsiStyle};
use super::diff::{self, language_of_path};
use super::quantity;
use super::quantity::bytes;
use super::rows::{RowTag, Rows};
use crate::app::CallView;
use crate::ir::{CallMark, CallStatus, Decider, DiffLine, DiffTag, Preview, Tier, UndoState};
use crate::lang::{Lang, Locale};
use crate::policy::escape_name;
use crate::ui::icon::Icon;
use crate::ui::sentence::{change_note, tier_badge_key};

/// Longest message over the rows, in characters.
const MESSAGE_CHARACTERS: usize = 4000;
/// Longest text inside of arguments that is shown, in bytes.
const ARGUMENT_BYTES: usize = 20_000;
/// Most values of arguments that are shown.
const ARGUMENT_VALUES: usize = 2000;
/// What a row costs beside its text, in bytes of a slice.
const ROW_COST: usize = 32;

/// What stands in a card.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// Sentences over the rows: what no row shows of a change, what of a command was put back, why it failed.
    pub(super) message: Option<String>,
    pub(super) rows: Rows,
    /// Lines added and removed.
    pub(super) change: Option<(usize, usize)>,
    /// Facts for the footer.
    pub(super) facts: Vec<String>,
    /// Whether the rows grow at their end.
    pub(super) is_growing: bool,
    source: Source,
    /// How far it was taken in: bytes of the text, or entries.
    taken: usize,
    is_complete: bool,
    /// The colour in which output goes on.
    style: AnsiStyle,
}

/// Where the rows come from. The call itself holds what is large; nothing of it is copied before it is shown.
#[derive(Debug, Default)]
enum Source {
    #[default]
    Nothing,
    /// Code with line numbers from here on.
    Code {
        text: TextOf,
        first: Option<u32>,
    },
    /// Output, one text after the other.
    Output(Vec<TextOf>),
    Listing,
    Matches,
    Diff,
    Tree,
}

/// A text of a call.
#[derive(Debug)]
enum TextOf {
    /// A text of its result, by name.
    Result(&'static str),
    NewFile,
    Command,
    /// Live output.
    Live,
    /// One that was made, and is short.
    Made(String),
}

impl TextOf {
    fn of<'text>(&'text self, call: &'text CallView) -> &'text str {
        let record = &call.record;
        match (self, &record.preview) {
            (Self::Result(key), _) => {
                record.result.as_ref().and_then(|result| text_at(&result.result, key)).unwrap_or_default()
            }
            (Self::NewFile, Some(Preview::NewFile { content })) => content,
            (Self::Command, Some(Preview::Command(command))) => &command.command,
            (Self::NewFile | Self::Command, _) => "",
            (Self::Live, _) => &call.output,
            (Self::Made(text), _) => text,
        }
    }
}

/// Begins the body of a call; `shows_arguments` asks for the raw arguments instead. No rows are taken in yet.
pub(super) fn begin(call: &CallView, lang: &Lang, shows_arguments: bool) -> Body {
    let record = &call.record;
    let mut hasher = DefaultHasher::new();
    (record.call.id.as_str(), call.revision, shows_arguments).hash(&mut hasher);
    let key = hasher.finish();
    if shows_arguments {
        let text = match &record.call.raw_args {
            Some(raw) => raw.chars().take(ARGUMENT_BYTES).collect(),
            None => pretty(&record.call.args),
        };
        return Body::code(key, "json", TextOf::Made(text), None);
    }
    let path = record.target.as_deref().or_else(|| text_at(&record.call.args, "path")).unwrap_or_default();
    let mut body = match (&record.result, &record.preview) {
        _ if record.status == CallStatus::Running && !call.output.is_empty() => {
            Body { is_growing: true, ..Body::output(key, vec![TextOf::Live]) }
        }
        (Some(result), _) if record.call.name == "read_file" && result.success => file(key, &result.result, path),
        (Some(result), _) if record.call.name == "list_directory" && result.success => Body::of(key, Source::Listing),
        (Some(result), _) if record.call.name == "search_files" && result.success => Body::of(key, Source::Matches),
        (Some(result), _) if record.call.name == "run_command" => command_result(key, &result.result, lang),
        (_, Some(preview)) => previewed(key, preview, path, call, lang),
        (None, None) if !call.output.is_empty() => Body::output(key, vec![TextOf::Live]),
        (Some(result), None) if result.success => other(key, &result.result),
        (Some(_) | None, None) => Body::default(),
    };
    if let Some(files) = call.scanned_files.filter(|_| record.status == CallStatus::Running) {
        body.facts.push(lang.format("card-scanned", &[("count", quantity::count(files).into())]));
    }
    body.facts.extend(record.call.marks.iter().map(|mark| {
        let key = match mark {
            CallMark::Adjusted => "card-adjusted",
            CallMark::Repaired => "card-repaired",
            CallMark::Printed => "card-printed",
        };
        lang.text(key).to_owned()
    }));
    let is_final = record.call.name == "run_command" && record.status == CallStatus::Succeeded;
    let fact = match call.undo {
        Some(UndoState::Stale) => Some("undo-stale"),
        Some(UndoState::Altered) => Some("undo-altered"),
        Some(UndoState::Undone) => Some("undo-state-undone"),
        Some(UndoState::Begun | UndoState::Done | UndoState::Redone | UndoState::Void) | None => {
            is_final.then_some("undo-command")
        }
    };
    body.facts.extend(fact.map(|key| lang.text(key).to_owned()));
    let sentences: Vec<String> = body.message.take().into_iter().chain(message(call, lang)).collect();
    body.message = (!sentences.is_empty()).then(|| sentences.join("\n"));
    body
}

/// What *Copy* takes; made when it is asked for.
pub(super) fn copied(call: &CallView, lang: &Lang, shows_arguments: bool) -> String {
    let record = &call.record;
    if shows_arguments {
        return match &record.call.raw_args {
            Some(raw) => raw.clone(),
            None => serde_json::to_string_pretty(&record.call.args).unwrap_or_default(),
        };
    }
    let mut body = begin(call, lang, shows_arguments);
    body.advance(call, lang, usize::MAX);
    if let Source::Diff = body.source
        && let Some(Preview::Diff { lines, .. }) = &record.preview
    {
        return as_diff(lines);
    }
    match (&body.source, &record.result) {
        (Source::Code { text: TextOf::Made(_), .. }, Some(result)) => {
            return match &result.result {
                Value::String(text) => text.clone(),
                value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                    serde_json::to_string_pretty(value).unwrap_or_default()
                }
            };
        }
        (Source::Code { text, .. }, _) if !text.of(call).is_empty() => return text.of(call).to_owned(),
        _ => {}
    }
    let rows = body.rows.plain_text();
    if rows.is_empty() { body.message.unwrap_or_default() } else { rows }
}

/// A change as text, with its signs.
fn as_diff(lines: &[DiffLine]) -> String {
    let mut out = String::new();
    for line in lines {
        let sign = match line.tag {
            DiffTag::Context => ' ',
            DiffTag::Added => '+',
            DiffTag::Removed => '-',
            DiffTag::Gap => {
                out.push_str("⋯\n");
                continue;
            }
        };
        out.push(sign);
        out.push_str(line.text.trim_end_matches(['\n', '\r']));
        out.push('\n');
    }
    out
}

impl Body {
    fn of(key: u64, source: Source) -> Self {
        Self { rows: Rows::new(key, "", false), source, ..Self::default() }
    }

    fn code(key: u64, language: &str, text: TextOf, first: Option<u32>) -> Self {
        Self { rows: Rows::new(key, language, false), ..Self::of(key, Source::Code { text, first }) }
    }

    fn output(key: u64, texts: Vec<TextOf>) -> Self {
        Self::of(key, Source::Output(texts))
    }

    /// Whether all of it was taken in.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether there is anything to copy.
    pub(super) fn has_text(&self) -> bool {
        self.message.is_some() || !self.rows.is_empty()
    }

    /// Takes in the next rows: about `budget` bytes of them, and at least one. Gives how many bytes that were.
    pub(super) fn advance(&mut self, call: &CallView, lang: &Lang, budget: usize) -> usize {
        let record = &call.record;
        let result = record.result.as_ref().map(|result| &result.result);
        let before = self.taken;
        let mut spent = 0;
        self.is_complete = match (&self.source, &record.preview) {
            (Source::Code { text, first }, _) => loop {
                let Some(line) = line_at(text.of(call), self.taken) else { break true };
                if spent >= budget {
                    break false;
                }
                let number =
                    first.map(|first| first.saturating_add(u32::try_from(self.rows.len()).unwrap_or(u32::MAX)));
                self.rows.push_line(line, number, RowTag::Plain);
                self.taken += line.len();
                spent += line.len() + ROW_COST;
            },
            (Source::Output(texts), _) => loop {
                // Where one text ends another begins, with a line of its own.
                let mut start = self.taken;
                let line = texts.iter().find_map(|text| {
                    let text = text.of(call);
                    let line = line_at(text, start);
                    start = start.saturating_sub(text.len());
                    line
                });
                let Some(line) = line else { break true };
                if spent >= budget {
                    break false;
                }
                self.rows.push_output(&ansi::parse(line, &mut self.style));
                self.taken += line.len();
                spent += line.len() + ROW_COST;
            },
            (Source::Listing, _) => {
                let entries = array(result, "entries");
                take(entries, &mut self.taken, budget, |entry| push_entry(&mut self.rows, entry))
            }
            (Source::Matches, _) => {
                let files = array(result, "results");
                take(files, &mut self.taken, budget, |found| push_matches(&mut self.rows, found, lang))
            }
            (Source::Diff, Some(Preview::Diff { lines, .. })) => take(lines, &mut self.taken, budget, |line| {
                diff::push(&mut self.rows, line);
                line.text.len()
            }),
            (Source::Tree, Some(Preview::Tree { entries, .. })) => take(entries, &mut self.taken, budget, |entry| {
                let (icon, detail) =
                    if entry.is_folder { (Icon::Folder, String::new()) } else { (Icon::File, bytes(entry.bytes)) };
                self.rows.push_entry(icon, entry.path.clone(), detail);
                entry.path.len()
            }),
            (Source::Nothing | Source::Diff | Source::Tree, _) => true,
        };
        self.taken - before
    }
}

/// The line that begins here, with its end; `None` after the last one.
fn line_at(text: &str, start: usize) -> Option<&str> {
    text.get(start..).filter(|rest| !rest.is_empty())?.split_inclusive('\n').next()
}

fn array<'value>(result: Option<&'value Value>, key: &str) -> &'value [Value] {
    result.and_then(|result| result.get(key)).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Takes in entries from the first untaken one on; `push` gives the bytes of each. Whether those were all.
fn take<T>(all: &[T], taken: &mut usize, budget: usize, mut push: impl FnMut(&T) -> usize) -> bool {
    let mut spent = 0;
    for entry in all.get(*taken..).unwrap_or_default() {
        if spent >= budget {
            return false;
        }
        spent += push(entry) + ROW_COST;
        *taken += 1;
    }
    true
}

/// JSON to be read, with long texts and long lists cut.
fn pretty(value: &Value) -> String {
    let mut rest = ARGUMENT_VALUES;
    serde_json::to_string_pretty(&abridged(value, &mut rest)).unwrap_or_default()
}

fn abridged(value: &Value, rest: &mut usize) -> Value {
    *rest = rest.saturating_sub(1);
    match value {
        Value::String(text) if text.len() > ARGUMENT_BYTES => {
            let kept: String = text.chars().take(ARGUMENT_BYTES / 4).collect();
            Value::String(format!("{kept}… ({})", bytes(text.len() as u64)))
        }
        Value::Array(values) => Value::Array(values.iter().take(*rest).map(|value| abridged(value, rest)).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().take(*rest).map(|(key, value)| (key.clone(), abridged(value, rest))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Why it did not do what was asked. The tool's own sentence is the model's and English; elsewhere the code's text says it.
fn message(call: &CallView, lang: &Lang) -> Option<String> {
    let record = &call.record;
    let failure = record.result.as_ref().filter(|result| !result.success).and_then(|result| {
        let code = result.code().map(|code| format!(" ({code})")).unwrap_or_default();
        // A rule that said no is the person's own: "there was no yes" would be said of a question that nobody asked.
        let by_rule = record.status == CallStatus::Denied && record.decider == Some(Decider::Rule);
        let key = if by_rule { Some("code-refused-by-rule".to_owned()) } else { result.code().map(code_key) };
        // A code of another program's has no sentence of ours: its own stands then.
        let key = key.filter(|key| lang.locale() != Locale::English && lang.text(key) != key.as_str());
        let sentence = key.as_deref().map_or(result.error.as_deref(), |key| Some(lang.text(key)));
        sentence.map(|sentence| format!("{sentence}{code}"))
    });
    let reason = record.reason.as_ref().filter(|reason| !reason.trim().is_empty()).map(|reason| format!("“{reason}”"));
    let parse = record.call.parse_error.clone();
    let parts: Vec<String> = [failure, parse, reason].into_iter().flatten().collect();
    let text: String = parts.join(" ").chars().take(MESSAGE_CHARACTERS).collect();
    (!text.is_empty()).then(|| crate::policy::escape(&text, true).into_owned())
}

/// `PATH_NOT_FOUND` → `code-path-not-found`.
fn code_key(code: &str) -> String {
    format!("code-{}", code.to_ascii_lowercase().replace('_', "-"))
}

fn text_at<'value>(value: &'value Value, key: &str) -> Option<&'value str> {
    value.get(key).and_then(Value::as_str)
}

fn file(key: u64, result: &Value, path: &str) -> Body {
    let first = result
        .get("line_range")
        .and_then(|range| range.get(0))
        .and_then(Value::as_u64)
        .and_then(|first| u32::try_from(first).ok())
        .unwrap_or(1);
    let facts = result.get("size").and_then(Value::as_u64).map(bytes).into_iter().collect();
    let is_text = text_at(result, "encoding") != Some("base64");
    let language = if is_text { language_of_path(path) } else { "" };
    Body { facts, ..Body::code(key, language, TextOf::Result("content"), is_text.then_some(first)) }
}

fn push_entry(rows: &mut Rows, entry: &Value) -> usize {
    let name = text_at(entry, "name").unwrap_or_default();
    let is_folder = text_at(entry, "type") == Some("directory");
    let size = entry.get("size").and_then(Value::as_u64).map(bytes).unwrap_or_default();
    // The day and minute of an RFC 3339 time.
    let modified = text_at(entry, "modified").and_then(|time| time.get(..16)).unwrap_or_default().replace('T', " ");
    let detail = text_at(entry, "error").map_or_else(|| format!("{size}   {modified}"), str::to_owned);
    rows.push_entry(if is_folder { Icon::Folder } else { Icon::File }, name.to_owned(), detail);
    name.len()
}

fn push_matches(rows: &mut Rows, found: &Value, lang: &Lang) -> usize {
    let path = text_at(found, "path").unwrap_or_default();
    let lines = array(Some(found), "matches");
    let in_text = lines.iter().filter(|line| line.get("line").and_then(Value::as_u64) != Some(0)).count();
    let detail = if in_text > 0 {
        lang.format("card-matches", &[("count", in_text.into())])
    } else {
        lang.text("card-name-matches").to_owned()
    };
    rows.push_head(Icon::FileText, path.to_owned(), detail);
    let mut length = path.len();
    for line in lines {
        let number = line.get("line").and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
        if let Some(number) = number.filter(|number| *number > 0) {
            let text = text_at(line, "text").unwrap_or_default();
            rows.push_line(text, Some(number), RowTag::Plain);
            length += text.len() + ROW_COST;
        }
    }
    length
}

fn command_result(key: u64, result: &Value, lang: &Lang) -> Body {
    let mut body = Body::output(key, vec![TextOf::Result("stdout"), TextOf::Result("stderr")]);
    if let Some(code) = result.get("exitCode").and_then(Value::as_i64) {
        body.facts.push(lang.format("card-exit-code", &[("code", code.to_string().into())]));
    }
    if let Some(signal) = result.get("signal").and_then(Value::as_i64) {
        body.facts.push(lang.format("card-signal", &[("signal", signal.to_string().into())]));
    }
    if result.get("timedOut").and_then(Value::as_bool) == Some(true) {
        body.facts.push(lang.text("card-timed-out").to_owned());
    }
    let tier = result.get("tier").and_then(|tier| serde_json::from_value::<Tier>(tier.clone()).ok());
    if let Some(tier) = tier {
        body.facts.push(lang.text(tier_badge_key(tier)).to_owned());
    } else if result.get("sandboxed").and_then(Value::as_bool) == Some(false) {
        body.facts.push(lang.text(tier_badge_key(Tier::Unconfined)).to_owned());
    }
    if result.get("network").and_then(Value::as_bool) == Some(true) {
        body.facts.push(lang.text("network-badge").to_owned());
    }
    body.message = put_back(result, lang);
    body
}

/// What the command changed of what something executes later.
fn put_back(result: &Value, lang: &Lang) -> Option<String> {
    let reverted = result.get("reverted").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let paths = |states: &[&str]| {
        let state = |one: &Value| one.get("state").and_then(Value::as_str).is_some_and(|state| states.contains(&state));
        let of_kind = reverted.iter().filter(|one| state(one));
        of_kind
            .filter_map(|one| one.get("path")?.as_str())
            .map(|path| escape_name(path, false))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut sentences = Vec::new();
    for (paths, text) in [
        (paths(&["removed", "restored"]), "reverted-files"),
        (paths(&["left"]), "reverted-left"),
        (paths(&["outside"]), "reverted-outside"),
        (paths(&["prevented"]), "reverted-prevented"),
    ] {
        if !paths.is_empty() {
            sentences.push(lang.format(text, &[("paths", paths.as_str().into())]));
        }
    }
    if !paths(&["removed", "restored"]).is_empty() {
        sentences.push(lang.text("reverted-kept").to_owned());
    }
    if let Some(outside) = result.get("changedOutside") {
        let paths = outside.get("paths").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let paths: Vec<_> = paths.iter().filter_map(Value::as_str).map(|path| escape_name(path, false)).collect();
        let count = outside.get("count").and_then(Value::as_i64).unwrap_or_default();
        let args = [("count", count.into()), ("paths", paths.join(", ").into())];
        sentences.push(lang.format("changed-outside", &args));
    }
    for (field, text) in [("unclearOutside", "changed-outside-unclear"), ("openedFolders", "changed-outside-opened")] {
        if let Some(count) = result.get(field).and_then(Value::as_i64) {
            sentences.push(lang.format(text, &[("count", count.into())]));
        }
    }
    let refused = result.get("refusedToChange").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if !refused.is_empty() {
        let paths = refused.iter().filter_map(|one| one.get("path")?.as_str()).map(|path| escape_name(path, false));
        let paths = paths.collect::<Vec<_>>().join(", ");
        sentences.push(lang.format("reverted-refused", &[("paths", paths.as_str().into())]));
    }
    if result.get("exchangedWhileRunning").and_then(Value::as_bool) == Some(true) {
        sentences.push(lang.text("reverted-exchanged").to_owned());
    }
    if result.get("uncheckedFiles").and_then(Value::as_bool) == Some(true) {
        sentences.push(lang.text("reverted-unchecked").to_owned());
    }
    (!sentences.is_empty()).then(|| sentences.join("\n"))
}

fn previewed(key: u64, preview: &Preview, path: &str, call: &CallView, lang: &Lang) -> Body {
    match preview {
        Preview::Nothing => match call.record.result.as_ref().filter(|result| result.success) {
            Some(result) => other(key, &result.result),
            None => Body::default(),
        },
        Preview::NewFile { content } => {
            let breaks = memchr::memchr_iter(b'\n', content.as_bytes()).count();
            let open = usize::from(!content.is_empty() && !content.ends_with('\n'));
            let body = Body::code(key, language_of_path(path), TextOf::NewFile, Some(1));
            Body { change: Some((breaks + open, 0)), ..body }
        }
        Preview::Diff { added, removed, notes, .. } => Body {
            message: (!notes.is_empty())
                .then(|| notes.iter().map(|note| change_note(lang, note)).collect::<Vec<_>>().join("\n")),
            rows: Rows::new(key, language_of_path(path), true),
            // What has no lines has no count of lines either.
            change: preview.counts_lines().then_some((*added, *removed)),
            ..Body::of(key, Source::Diff)
        },
        Preview::Tree { count, bytes: size, at_least, .. } => {
            let more = if *at_least { "≥ " } else { "" };
            let facts = vec![format!("{more}{}", quantity::count(*count)), format!("{more}{}", bytes(*size))];
            Body { facts, ..Body::of(key, Source::Tree) }
        }
        Preview::Command(command) => {
            let body = Body::code(key, "bash", TextOf::Command, None);
            Body { facts: vec![command.cwd.clone()], ..body }
        }
    }
}

fn other(key: u64, result: &Value) -> Body {
    let text = match result {
        Value::String(text) => text.chars().take(ARGUMENT_BYTES).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => pretty(result),
    };
    Body::code(key, "json", TextOf::Made(text), None)
}

#[cfg(test)]
mod tests;

//! What the modal remembers of the question that it shows, made before the frame: drawing only reads it.

use crate::app::preview::PreviewRows;
use crate::ir::{ConfirmId, Preview};
use crate::policy::{beginning, find_deceptive, find_deceptive_name};
use crate::port::ConfirmRequest;
use crate::ui::highlight::Highlighter;
use crate::ui::modal::preview_color::PreviewColors;

use super::answer::reason_id;
use super::content::{MOST_WORDS, MOST_WORDS_LINES};

/// Rows are made from this many bytes a frame.
const PART_BYTES: usize = 192 * 1024;

/// What the modal remembers of the question that it shows.
#[derive(Debug, Default)]
pub struct ConfirmView {
    shown: Option<(ConfirmId, String)>,
    pub(super) rows: Option<PreviewRows>,
    pub(super) colors: PreviewColors,
    /// The call's arguments as text, while they are shown.
    pub(super) args: Option<(Preview, PreviewRows, PreviewColors)>,
    pub(super) columns: usize,
    pub(super) is_wide: bool,
    pub(super) place: Place,
    pub(super) shows_args: bool,
    /// The words of a refusal, while they are typed.
    pub(super) reason: Option<String>,
    pub(super) wants_focus: bool,
    /// The person's tick: this command may use the network in this run.
    pub(super) allows_network: bool,
    /// How much of the model's words is shown, in bytes, and how many characters are not.
    pub(super) words: (usize, usize),
    /// Whether anything but the preview would deceive.
    pub(super) is_deceptive: bool,
    /// The facts that are shown whole, by their keys.
    pub(super) open_facts: Vec<super::row::RowKey>,
    /// What the question's body needs beside the previews, in points, as the last frame found.
    pub(super) rest_height: f32,
    /// The beginning of the preview comes into sight in the next frame.
    pub(super) wants_start: bool,
}

/// Where in the preview the person is.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// The change that was jumped to last.
    pub(super) change: Option<usize>,
    /// The row to jump to in the next frame.
    pub(super) jump: Option<usize>,
    /// Rows below what is in sight, as the last frame found.
    pub(super) below: usize,
    /// Whether there ever were any: the row that counts them stays, so that no button moves when the end is reached.
    pub(super) was_below: bool,
}

impl ConfirmView {
    /// Nothing is asked: all but the width is forgotten.
    pub(super) fn forget(&mut self) {
        *self = Self { columns: self.columns, ..Self::default() };
    }

    /// Whether the words of a refusal are being typed.
    pub fn writes_reason(&self, ctx: &egui::Context) -> bool {
        self.reason.is_some() && ctx.memory(|memory| memory.has_focus(reason_id()))
    }

    /// Makes more rows of the question that is shown, and takes in the colours that have come; gives whether more rows are
    /// due. The highlighter wakes the window when there are more colours.
    pub fn prepare(&mut self, request: &ConfirmRequest, highlighter: Option<&mut Highlighter>) -> bool {
        // The plan's hash tells a question that is asked anew from the one before.
        let key = (request.id.clone(), format!("{}{}", request.plan_hash, request.asked_at.0));
        if self.shown.as_ref() != Some(&key) {
            let (words, left_out) = beginning(request.model_words.trim(), MOST_WORDS_LINES, MOST_WORDS);
            let lines = [request.session_title.as_str(), &request.model, &request.call.name];
            let names = [
                Some(request.target.as_str()),
                request.via_link.as_deref(),
                request.folder.as_deref(),
                request.server.as_deref(),
                cwd(request),
            ];
            let names = names.into_iter().flatten();
            *self = Self {
                colors: PreviewColors::new(&request.preview, &request.target, &key),
                shown: Some(key),
                columns: self.columns,
                wants_focus: true,
                // Where there is nothing to preview, the arguments are all there is to read.
                shows_args: request.preview == Preview::Nothing,
                words: (words.len(), left_out),
                is_deceptive: names.into_iter().any(|name| !find_deceptive_name(name, false).is_empty())
                    || !find_deceptive(words, true).is_empty()
                    || lines.into_iter().any(|text| !find_deceptive(text, false).is_empty())
                    || is_deceptive_value(None, &request.call.args, 64 * 1024),
                ..Self::default()
            };
        }
        let columns = if self.columns == 0 { 80 } else { self.columns };
        let rows = match self.rows.take() {
            Some(rows) if rows.columns() == columns => self.rows.insert(rows),
            Some(_) | None => self.rows.insert(PreviewRows::new(columns)),
        };
        rows.advance(&request.preview, PART_BYTES);
        let mut is_due = !rows.is_complete;
        if self.shows_args {
            let (text, mut rows, colors) = self.args.take().unwrap_or_else(|| {
                let content = serde_json::to_string_pretty(&request.call.args).unwrap_or_default();
                let text = Preview::NewFile { content };
                let colors = PreviewColors::new(&text, "arguments.json", &(&request.id, "arguments"));
                (text, PreviewRows::new(columns), colors)
            });
            if rows.columns() != columns {
                rows = PreviewRows::new(columns);
            }
            rows.advance(&text, PART_BYTES);
            is_due |= !rows.is_complete;
            self.args = Some((text, rows, colors));
        }
        if let Some(highlighter) = highlighter {
            highlighter.poll();
            self.colors.take(highlighter);
            if let Some((_, _, colors)) = &mut self.args {
                colors.take(highlighter);
            }
        }
        is_due
    }
}

/// The folder of a command.
fn cwd(request: &ConfirmRequest) -> Option<&str> {
    match &request.preview {
        Preview::Command(command) => Some(&command.cwd),
        Preview::Nothing | Preview::NewFile { .. } | Preview::Diff { .. } | Preview::Tree { .. } => None,
    }
}

/// Whether any text in the arguments would deceive; long texts are in the preview and are looked at there.
/// What names or does something is held to the rule for names, as the target is; only what a file or a search is to hold is
/// prose.
fn is_deceptive_value(name: Option<&str>, value: &serde_json::Value, most_bytes: usize) -> bool {
    const PROSE: [&str; 4] = ["content", "old_text", "new_text", "query"];
    match value {
        serde_json::Value::String(text) if text.len() > most_bytes => false,
        serde_json::Value::String(text) if name.is_some_and(|name| PROSE.contains(&name)) => {
            !find_deceptive(text, true).is_empty()
        }
        serde_json::Value::String(text) => !find_deceptive_name(text, true).is_empty(),
        serde_json::Value::Array(items) => items.iter().any(|item| is_deceptive_value(name, item, most_bytes)),
        serde_json::Value::Object(fields) => fields.iter().any(|(name, field)| {
            !find_deceptive_name(name, false).is_empty() || is_deceptive_value(Some(name), field, most_bytes)
        }),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_of_another_script_is_told_wherever_it_stands_in_the_arguments_and_words_of_a_text_are_not() {
        let is_deceptive = |args: serde_json::Value| is_deceptive_value(None, &args, 1024);
        // All of it Cyrillic, drawn as Latin letters.
        let name = "\u{430}\u{440}\u{440}.py";
        assert!(is_deceptive(json!({"path": name})) && is_deceptive(json!({"command": format!("python {name}")})));
        assert!(is_deceptive(json!({"paths": [name]})) && is_deceptive(json!({name: 1})));
        let prose = json!({"path": "a.md", "content": name, "edits": [{"new_text": name}]});
        assert_eq!(is_deceptive(prose), !find_deceptive(name, true).is_empty());
        assert!(is_deceptive(json!({"path": "a.md", "content": "a\u{202e}b"})));
    }
}

//! Syntax colours of a preview: asked of the highlighter's worker before the frame, taken in as they come. Drawing never
//! waits for them; what has none yet, or is too long for them, is drawn plain.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::app::preview::PreviewRows;
use crate::ir::{CommandPreview, DiffTag, Preview};
use crate::ui::highlight::{Class, Highlighter, Line};

/// How much of a text gets colours, in bytes.
const MOST_BYTES: usize = 1024 * 1024;

/// The colours of one preview, as far as they are known.
#[derive(Debug, Default)]
pub struct PreviewColors {
    language: String,
    /// The text, or what a diff leaves; and what a diff takes away.
    sides: [Side; 2],
    /// For each line of a diff its side and its line there.
    diff_lines: Vec<Option<(usize, usize)>>,
}

#[derive(Debug, Default)]
struct Side {
    key: u64,
    text: String,
    line_count: usize,
    lines: Vec<Line>,
}

impl PreviewColors {
    /// Nothing known yet. `key` stands for this preview; `target` is what it is about, and says the language.
    pub fn new(preview: &Preview, target: &str, key: &impl std::hash::Hash) -> Self {
        let mut colors = Self::default();
        for (number, side) in colors.sides.iter_mut().enumerate() {
            let mut hasher = DefaultHasher::new();
            (key, number).hash(&mut hasher);
            side.key = hasher.finish();
        }
        match preview {
            Preview::Nothing | Preview::Tree { .. } => {}
            Preview::NewFile { content } => {
                language_of(target).clone_into(&mut colors.language);
                colors.push(0, content);
            }
            Preview::Command(CommandPreview { command, .. }) => {
                "bash".clone_into(&mut colors.language);
                colors.push(0, command);
            }
            Preview::Diff { lines, .. } => {
                language_of(target).clone_into(&mut colors.language);
                for line in lines {
                    let place = match line.tag {
                        DiffTag::Context => {
                            // What is before a change is the same on both sides.
                            colors.push(1, &line.text);
                            colors.push(0, &line.text)
                        }
                        DiffTag::Added => colors.push(0, &line.text),
                        DiffTag::Removed => colors.push(1, &line.text),
                        DiffTag::Gap => None,
                    };
                    colors.diff_lines.push(place);
                }
            }
        }
        colors
    }

    /// Adds a text to a side; gives its place there, if it may have colours.
    fn push(&mut self, number: usize, text: &str) -> Option<(usize, usize)> {
        let side = self.sides.get_mut(number)?;
        let room = MOST_BYTES.saturating_sub(side.text.len());
        let fits = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
        let place = (number, side.line_count);
        side.text.push_str(fits);
        side.line_count += text.matches('\n').count();
        if !text.ends_with('\n') {
            side.text.push('\n');
            side.line_count += 1;
        }
        (fits.len() == text.len()).then_some(place)
    }

    /// Asks for what is missing and takes in what has come.
    pub fn take(&mut self, highlighter: &mut Highlighter) {
        for side in self.sides.iter_mut().filter(|side| !side.text.is_empty()) {
            let known = highlighter.lines(side.key, &self.language, &side.text, true);
            side.lines.extend_from_slice(known.get(side.lines.len()..).unwrap_or_default());
        }
    }

    /// The stretches of a row, in bytes from its beginning; empty while nothing is known.
    pub(super) fn of_row(&self, preview: &Preview, rows: &PreviewRows, index: usize) -> Vec<(usize, Class)> {
        let found = rows.place(preview, index).and_then(|(line, start)| {
            let (side, line) = match preview {
                Preview::Diff { .. } => (*self.diff_lines.get(line)?)?,
                Preview::Nothing | Preview::NewFile { .. } | Preview::Command(_) | Preview::Tree { .. } => (0, line),
            };
            Some((self.sides.get(side)?.lines.get(line)?, start))
        });
        let Some((line, start)) = found else { return Vec::new() };
        let mut skipped = start;
        let mut stretches = Vec::new();
        for (length, class) in line.iter() {
            let left = length.saturating_sub(skipped);
            skipped = skipped.saturating_sub(*length);
            if left > 0 {
                stretches.push((left, *class));
            }
        }
        stretches
    }
}

/// What the highlighter knows a file's language by: its extension, or its whole name.
fn language_of(target: &str) -> &str {
    let name = target.rsplit(['/', '\\']).next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(_, extension)| extension)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DiffLine;

    fn colored(preview: &Preview, target: &str, columns: usize) -> Vec<Vec<(String, Class)>> {
        let ctx = egui::Context::default();
        let mut highlighter = Highlighter::new(&ctx);
        let mut rows = PreviewRows::new(columns);
        rows.advance(preview, usize::MAX);
        let mut colors = PreviewColors::new(preview, target, &"key");
        while colors.sides.iter().any(|side| side.lines.len() < side.line_count) {
            highlighter.poll();
            colors.take(&mut highlighter);
            std::thread::yield_now();
        }
        let texts = rows.rows.iter().enumerate().map(|(index, row)| {
            let text = row.text(preview);
            let mut at = 0;
            let stretches = colors.of_row(preview, &rows, index).into_iter().filter_map(|(length, class)| {
                let end = (at + length).min(text.len());
                let part = text.get(at..end)?.to_owned();
                at = end;
                (!part.is_empty()).then_some((part, class))
            });
            stretches.collect()
        });
        texts.collect()
    }

    fn is(rows: &[Vec<(String, Class)>], row: usize, text: &str, class: Class) -> bool {
        rows[row].iter().any(|(part, found)| part.trim() == text && *found == class)
    }

    #[test]
    fn a_new_file_has_the_colours_of_its_language_in_broken_lines_too() {
        let content = format!("fn main() {{\n    let text = \"{}\";\n}}\n", "a".repeat(60));
        let rows = colored(&Preview::NewFile { content }, "/projects/web/main.rs", 20);
        assert!(is(&rows, 0, "fn", Class::Keyword), "{rows:?}");
        assert!(is(&rows, 1, "let", Class::Keyword), "{rows:?}");
        assert!(is(&rows, 3, &"a".repeat(20), Class::String), "a row that goes on with the line above: {rows:?}");
    }

    #[test]
    fn a_diff_has_the_colours_of_what_was_and_of_what_will_be() {
        let line = |tag, text: &str| DiffLine { tag, old_line: Some(1), new_line: Some(1), text: text.to_owned() };
        let lines = vec![
            line(DiffTag::Gap, ""),
            line(DiffTag::Context, "fn main() {\n"),
            line(DiffTag::Removed, "    /* open\n"),
            line(DiffTag::Added, "    let x = 1;\n"),
            line(DiffTag::Context, "    let y = 2;\n"),
        ];
        let rows = colored(&Preview::Diff { lines, added: 1, removed: 1, notes: vec![] }, "a.rs", 80);
        assert!(is(&rows, 1, "fn", Class::Keyword) && is(&rows, 3, "let", Class::Keyword), "{rows:?}");
        assert!(rows[2].iter().any(|(_, class)| *class == Class::Comment), "{rows:?}");
        // What is taken away does not colour what stays.
        assert!(is(&rows, 4, "let", Class::Keyword), "{rows:?}");
    }

    #[test]
    fn a_command_is_shell_and_an_unknown_language_stays_plain() {
        let rows = colored(&Preview::NewFile { content: "let x\n".into() }, "notes.unknown", 80);
        assert_eq!(rows, vec![vec![("let x".to_owned(), Class::Plain)]]);
        assert_eq!(["a/b.RS", "Makefile", r"C:\x\y.py"].map(language_of), ["RS", "Makefile", "py"]);
    }
}

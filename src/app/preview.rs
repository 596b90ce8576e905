//! A confirmation's preview as numbered rows of bounded width, made a part at a time: nothing is cut, nothing hides
//! beyond the right edge, and a text of 5 MB never holds a frame up.

use std::ops::Range;

use crate::ir::{CommandPreview, DiffLine, DiffTag, Preview};
use crate::policy::{Deception, find_deceptive, find_deceptive_name};

/// Longer lines are taken in parts of this many bytes.
const LONGEST_PART: usize = 64 * 1024;

/// The rows of one preview, as far as they are made.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewRows {
    pub rows: Vec<PreviewRow>,
    /// Whether every row is there.
    pub is_complete: bool,
    /// Whether any text in it would deceive if it were drawn as it is.
    pub is_deceptive: bool,
    /// The first row of each change, in order.
    pub changes: Vec<u32>,
    columns: usize,
    /// Whether the preview is a command or a list of files: no look-alike of ASCII is ordinary there.
    are_names: bool,
    /// The line or entry to go on with, and how far it is done, in bytes.
    next_line: usize,
    next_byte: usize,
    /// Lines begun so far.
    number: u32,
}

/// One row: a part of one line of the preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviewRow {
    /// Index of the diff line or entry; 0 where the preview is one text.
    line: u32,
    start: u32,
    end: u32,
    /// The line's number; 0 on a row that goes on with the line above.
    pub number: u32,
    pub kind: RowKind,
}

/// What happens to the row's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    Plain,
    Added,
    Removed,
    /// Unchanged lines are left out here.
    Gap,
    Folder,
    File,
}

impl PreviewRows {
    /// Nothing made yet; rows are at most this many columns wide.
    pub fn new(columns: usize) -> Self {
        Self {
            rows: Vec::new(),
            is_complete: false,
            is_deceptive: false,
            changes: Vec::new(),
            columns: columns.max(20),
            are_names: false,
            next_line: 0,
            next_byte: 0,
            number: 0,
        }
    }

    /// The width that rows are made for.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Makes rows from about this many more bytes.
    pub fn advance(&mut self, preview: &Preview, budget_bytes: usize) {
        if self.is_complete {
            return;
        }
        self.are_names = is_names(preview);
        match preview {
            Preview::Nothing => self.is_complete = true,
            Preview::NewFile { content } => self.advance_text(content, budget_bytes),
            Preview::Command(CommandPreview { command, .. }) => self.advance_text(command, budget_bytes),
            Preview::Diff { lines, .. } => self.advance_diff(lines, budget_bytes),
            Preview::Tree { entries, .. } => {
                let mut spent = 0;
                while let Some(entry) = entries.get(self.next_line) {
                    if spent >= budget_bytes {
                        return;
                    }
                    spent += entry.path.len() + 8;
                    let kind = if entry.is_folder { RowKind::Folder } else { RowKind::File };
                    self.push_line(self.next_line, &entry.path, 0..entry.path.len(), 0, kind);
                    self.next_line += 1;
                }
                self.is_complete = true;
            }
        }
    }

    fn advance_text(&mut self, text: &str, budget_bytes: usize) {
        let mut spent = 0;
        while let Some(rest) = text.get(self.next_byte..).filter(|rest| !rest.is_empty()) {
            if spent >= budget_bytes {
                return;
            }
            let line = rest.split_inclusive('\n').next().unwrap_or(rest);
            // A single endless line is taken in parts; a part ends a row.
            let is_begun = self.next_byte > 0 && !text.get(..self.next_byte).is_some_and(|done| done.ends_with('\n'));
            let taken = floor_boundary(line, LONGEST_PART);
            let part = line.get(..taken).unwrap_or(line);
            if !is_begun {
                self.number += 1;
            }
            // The carriage return stays: it is drawn.
            let shown = part.strip_suffix('\n').unwrap_or(part);
            let number = if is_begun { 0 } else { self.number };
            self.push_line(0, text, self.next_byte..self.next_byte + shown.len(), number, RowKind::Plain);
            self.next_byte += part.len();
            spent += part.len() + 1;
        }
        self.is_complete = true;
    }

    fn advance_diff(&mut self, lines: &[DiffLine], budget_bytes: usize) {
        let mut spent = 0;
        while let Some(line) = lines.get(self.next_line) {
            if spent >= budget_bytes {
                return;
            }
            spent += line.text.len() + 8;
            let (kind, number) = match line.tag {
                DiffTag::Context => (RowKind::Plain, line.new_line),
                DiffTag::Added => (RowKind::Added, line.new_line),
                DiffTag::Removed => (RowKind::Removed, line.old_line),
                DiffTag::Gap => (RowKind::Gap, None),
            };
            // The carriage return stays: in a diff it may be the whole difference.
            let shown = line.text.strip_suffix('\n').unwrap_or(&line.text);
            self.push_line(self.next_line, &line.text, 0..shown.len(), number.unwrap_or(0), kind);
            self.next_line += 1;
        }
        self.is_complete = true;
    }

    /// Breaks a line into rows.
    fn push_line(&mut self, line: usize, text: &str, range: Range<usize>, number: u32, kind: RowKind) {
        let shown = text.get(range.clone()).unwrap_or_default();
        let deceptions = deceptions(self.are_names, shown.strip_suffix('\r').unwrap_or(shown));
        self.is_deceptive |= !deceptions.is_empty();
        let mut escapes = deceptions.into_iter().peekable();
        let (mut start, mut column, mut number) = (0, 0, number);
        for (at, c) in shown.char_indices() {
            let width = match escapes.peek() {
                Some(deception) if deception.range.start == at => {
                    let width = deception.escape.chars().count();
                    escapes.next();
                    width
                }
                Some(_) | None => char_columns(c, column),
            };
            if column + width > self.columns && at > start {
                self.push(line, range.start + start..range.start + at, number, kind);
                (start, column, number) = (at, 0, 0);
            }
            column += width;
        }
        self.push(line, range.start + start..range.end, number, kind);
    }

    fn push(&mut self, line: usize, range: Range<usize>, number: u32, kind: RowKind) {
        let small = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        if kind.is_change() && self.rows.last().is_none_or(|last| !last.kind.is_change()) {
            self.changes.push(small(self.rows.len()));
        }
        self.rows.push(PreviewRow {
            line: small(line),
            start: small(range.start),
            end: small(range.end),
            number,
            kind,
        });
    }
}

impl PreviewRows {
    /// A row's line, from 0 (of a diff its entry), and where in it the row begins, in bytes. `None` where the line begins
    /// far above.
    pub fn place(&self, preview: &Preview, index: usize) -> Option<(usize, usize)> {
        const MOST_ROWS: usize = 128;
        let row = self.rows.get(index)?;
        match preview {
            Preview::Diff { .. } => Some((row.line as usize, row.start as usize)),
            Preview::NewFile { .. } | Preview::Command(_) => {
                let above = self.rows.get(..=index)?.iter().rev().take(MOST_ROWS);
                let first = above.into_iter().find(|row| row.number > 0)?;
                Some((first.number as usize - 1, (row.start - first.start) as usize))
            }
            Preview::Nothing | Preview::Tree { .. } => None,
        }
    }
}

impl RowKind {
    /// Whether the row's line comes or goes.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Added | Self::Removed)
    }
}

impl PreviewRow {
    /// The row's text in the preview that it was made from.
    pub fn text<'preview>(&self, preview: &'preview Preview) -> &'preview str {
        let line = self.line as usize;
        let whole = match preview {
            Preview::Nothing => "",
            Preview::NewFile { content } => content,
            Preview::Command(CommandPreview { command, .. }) => command,
            Preview::Diff { lines, .. } => lines.get(line).map_or("", |line| line.text.as_str()),
            Preview::Tree { entries, .. } => entries.get(line).map_or("", |entry| entry.path.as_str()),
        };
        whole.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The size of the file that this row stands for.
    pub fn bytes(&self, preview: &Preview) -> Option<u64> {
        match preview {
            Preview::Tree { entries, .. } => {
                entries.get(self.line as usize).filter(|entry| !entry.is_folder).map(|entry| entry.bytes)
            }
            Preview::Nothing | Preview::NewFile { .. } | Preview::Diff { .. } | Preview::Command(_) => None,
        }
    }
}

/// What would deceive in a line of this preview.
pub fn deceptions_of(preview: &Preview, line: &str) -> Vec<Deception> {
    deceptions(is_names(preview), line)
}

fn deceptions(are_names: bool, line: &str) -> Vec<Deception> {
    if are_names { find_deceptive_name(line, true) } else { find_deceptive(line, true) }
}

fn is_names(preview: &Preview) -> bool {
    match preview {
        Preview::Command(_) | Preview::Tree { .. } => true,
        Preview::Nothing | Preview::NewFile { .. } | Preview::Diff { .. } => false,
    }
}

fn floor_boundary(text: &str, most: usize) -> usize {
    let most = most.max(1);
    if text.len() <= most {
        return text.len();
    }
    (1..=most)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_else(|| text.chars().next().map_or(0, char::len_utf8))
}

/// How many columns of a monospace font a character takes; a tab goes to the next multiple of four.
fn char_columns(c: char, column: usize) -> usize {
    match c {
        '\t' => 4 - column % 4,
        '\u{1100}'..='\u{115F}'
        | '\u{2E80}'..='\u{A4CF}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE6F}'
        | '\u{FF00}'..='\u{FF60}'
        | '\u{FFE0}'..='\u{FFE6}'
        | '\u{1F000}'..='\u{1FAFF}'
        | '\u{20000}'..='\u{3FFFD}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(preview: &Preview, columns: usize, budget: usize) -> PreviewRows {
        let mut rows = PreviewRows::new(columns);
        for _ in 0..10_000_000 {
            if rows.is_complete {
                break;
            }
            rows.advance(preview, budget);
        }
        rows
    }

    fn shown(preview: &Preview, rows: &PreviewRows) -> Vec<(u32, String)> {
        rows.rows.iter().map(|row| (row.number, row.text(preview).to_owned())).collect()
    }

    #[test]
    fn a_long_line_is_broken_and_nothing_hides_at_its_right() {
        let preview = Preview::NewFile { content: format!("{}; rm -rf ~/all\nend\n", " ".repeat(30)) };
        let rows = rows_of(&preview, 20, 1_000);
        assert_eq!(
            shown(&preview, &rows),
            [
                (1, " ".repeat(20)),
                (0, format!("{}; rm -rf ~", " ".repeat(10))),
                (0, "/all".to_owned()),
                (2, "end".to_owned())
            ]
        );
    }

    #[test]
    fn parts_give_the_same_rows_as_the_whole_for_lines_that_fit() {
        let content = (0..200).map(|line| format!("line {line} 中文\r\n")).collect::<Vec<_>>().concat();
        let preview = Preview::NewFile { content };
        let whole = rows_of(&preview, 60, usize::MAX / 2);
        let parts = rows_of(&preview, 60, 64);
        assert_eq!(whole.rows.len(), 200);
        assert_eq!(shown(&preview, &whole).last(), shown(&preview, &parts).last());
    }

    #[test]
    fn the_last_line_of_five_megabytes_is_there() {
        let mut content = "0123456789 abcdefghijklmnopqrstuvwxyz\n".repeat(140_000);
        content.push_str("the very end");
        let preview = Preview::NewFile { content };
        let rows = rows_of(&preview, 84, 256 * 1024);
        assert_eq!(shown(&preview, &rows).last(), Some(&(140_001, "the very end".to_owned())));
    }

    #[test]
    fn an_endless_line_is_taken_in_parts_and_numbered_once() {
        let content = format!("{}end", "x".repeat(3 * LONGEST_PART));
        let preview = Preview::NewFile { content: content.clone() };
        let mut rows = PreviewRows::new(80);
        rows.advance(&preview, 1_000);
        assert!(!rows.is_complete, "one call takes one part");
        while !rows.is_complete {
            rows.advance(&preview, 1_000);
        }
        let joined: String = rows.rows.iter().map(|row| row.text(&preview)).collect();
        assert_eq!((joined, rows.rows.iter().filter(|row| row.number > 0).count()), (content, 1));
    }

    #[test]
    fn no_byte_is_lost_whatever_the_parts() {
        let content = format!("{}\u{202E}{}\n\n中\ttail", "x".repeat(77), "文".repeat(50));
        let preview = Preview::NewFile { content: content.clone() };
        for budget in [1, 7, 64, 10_000] {
            let rows = rows_of(&preview, 20, budget);
            let joined: String = rows.rows.iter().map(|row| row.text(&preview)).collect();
            assert_eq!(joined, content.replace('\n', ""), "{budget}");
            assert!(rows.is_deceptive);
        }
    }

    #[test]
    fn a_carriage_return_stays_in_a_new_file_and_every_change_has_its_first_row() {
        let preview = Preview::NewFile { content: "a\r\nb\n".to_owned() };
        assert_eq!(shown(&preview, &rows_of(&preview, 20, 100)), [(1, "a\r".to_owned()), (2, "b".to_owned())]);
        let line = |tag, text: &str| DiffLine { tag, old_line: None, new_line: None, text: text.to_owned() };
        let lines = [
            (DiffTag::Gap, ""),
            (DiffTag::Context, "a\n"),
            (DiffTag::Removed, "b\n"),
            (DiffTag::Added, "c\n"),
            (DiffTag::Context, "d\n"),
            (DiffTag::Added, "e\n"),
        ];
        let lines = lines.into_iter().map(|(tag, text)| line(tag, text)).collect();
        let preview = Preview::Diff { lines, added: 2, removed: 1, notes: vec![] };
        assert_eq!(rows_of(&preview, 20, 100).changes, [2, 5]);
    }

    #[test]
    fn a_look_alike_of_a_slash_deceives_in_a_list_of_files_and_not_in_a_text() {
        let text = "读／写";
        let entries = vec![crate::ir::TreeEntry { path: text.to_owned(), is_folder: false, bytes: 1 }];
        let tree = Preview::Tree { entries, count: 1, bytes: 1, at_least: false };
        assert!(rows_of(&tree, 84, 100).is_deceptive);
        assert!(!rows_of(&Preview::NewFile { content: text.to_owned() }, 84, 100).is_deceptive);
    }

    #[test]
    fn ordinary_text_is_not_called_deceptive() {
        let preview = Preview::NewFile { content: "plain\tcode // 注释\r\n".to_owned() };
        assert!(!rows_of(&preview, 84, 100).is_deceptive);
    }
}

//! A change line by line: whole, with numbers, signs and colours.

use super::rows::{RowTag, Rows};
use crate::ir::{DiffLine, DiffTag};

/// Adds a line of a change.
pub fn push(rows: &mut Rows, line: &DiffLine) {
    match line.tag {
        DiffTag::Context => rows.push_line(&line.text, line.new_line.or(line.old_line), RowTag::Plain),
        DiffTag::Added => rows.push_line(&line.text, line.new_line, RowTag::Added),
        DiffTag::Removed => rows.push_line(&line.text, line.old_line, RowTag::Removed),
        DiffTag::Gap => rows.push_gap(),
    }
}

/// The language of a file by its name's ending; empty for none.
pub fn language_of_path(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, extension)) => extension,
        None => match name {
            "Makefile" | "makefile" => "makefile",
            "Dockerfile" => "dockerfile",
            _ => "",
        },
    }
}

//! The last request of a chat as lines that can be drawn one by one, however long it is. What would hide or turn round in them
//! is an escape.

use crate::policy::escape;
use crate::port::SentPart;

/// Longest line of a request that is shown, in columns.
const LONGEST_LINE: usize = 100;
/// From here on letters are two columns wide, about.
const FIRST_WIDE: char = '\u{1100}';

/// One line of it.
pub type SentLine = Vec<SentPart>;

/// The parts in lines.
pub(super) fn lines(parts: Vec<SentPart>) -> Vec<SentLine> {
    let mut lines = Lines::default();
    for part in parts {
        match part {
            SentPart::Hidden(_) => lines.line.push(part),
            SentPart::Text(text) => {
                for (index, row) in text.split('\n').enumerate() {
                    if index > 0 {
                        lines.end();
                    }
                    lines.add(&escape(row, false));
                }
            }
        }
    }
    if !lines.line.is_empty() {
        lines.end();
    }
    lines.done
}

#[derive(Default)]
struct Lines {
    done: Vec<SentLine>,
    line: SentLine,
    columns: usize,
}

impl Lines {
    fn add(&mut self, row: &str) {
        let mut start = 0;
        for (at, letter) in row.char_indices() {
            let width = if letter < FIRST_WIDE { 1 } else { 2 };
            if self.columns + width > LONGEST_LINE {
                self.push(row.get(start..at));
                self.end();
                start = at;
            }
            self.columns += width;
        }
        self.push(row.get(start..));
    }

    fn push(&mut self, text: Option<&str>) {
        let text = text.filter(|text| !text.is_empty());
        self.line.extend(text.map(|text| SentPart::Text(text.to_owned())));
    }

    fn end(&mut self) {
        self.done.push(std::mem::take(&mut self.line));
        self.columns = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::SecretKind;

    fn text(text: impl Into<String>) -> SentPart {
        SentPart::Text(text.into())
    }

    #[test]
    fn lines_are_short_nothing_hides_in_them_and_what_was_hidden_keeps_its_place() {
        let hidden = SentPart::Hidden(SecretKind::Password);
        let parts = vec![text("a\u{202E}b\n\nit is "), hidden.clone(), text(format!(".\n{}", "文".repeat(51)))];
        let expected = vec![
            vec![text("a\\u{202E}b")],
            vec![],
            vec![text("it is "), hidden, text(".")],
            vec![text("文".repeat(50))],
            vec![text("文")],
        ];
        assert_eq!(lines(parts), expected);
        assert_eq!(lines(Vec::new()), Vec::<SentLine>::new());
    }
}

//! Reads a command line: the one place that decides whether a text is understood.
//!
//! Every character is read once, from left to right, and no rule is tried a second time: the first thing that does not fit
//! makes the whole line one that is not understood, which costs the person a question and nothing else. So the work grows
//! with the length of the line alone (a text inside a text, in backquotes or a here-document, is read once more a level), and
//! the stack with [`DEPTH_MAX`]. The parsers of shell language that others wrote go back and try again, which takes for ever
//! on lines made for it.
//!
//! It reads what the shells behind `sh` read alike. Where they differ about what is a command and what is text, the line is
//! not understood. `source/grammar` reads commands, `source/expansion` words, `source/here_document` the texts below a line.

mod expansion;
mod grammar;
mod here_document;

use here_document::Pending;

use super::syntax::List;

/// Bytes of a command line that are taken apart; a longer one is asked as it is.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Things inside each other, of every kind: commands, substitutions, texts for `sh -c`. What people write has less than ten.
pub(super) const DEPTH_MAX: usize = 32;

/// The program in a text that stands below so many things; `None` where it is not understood to the last byte.
pub(super) fn parse(text: &str, depth: usize) -> Option<List> {
    // Control characters mean different things to different shells, or end the line unseen.
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.len() > TEXT_BYTES_MAX || !text.chars().all(is_plain) {
        return None;
    }
    let depth_left = DEPTH_MAX.checked_sub(depth)?;
    Reader { text: text.to_owned(), at: 0, depth_left, pending: Vec::new() }.program()
}

/// Where a text is read. Each of its methods gives `None` for what is not understood, and nobody may read on after that.
struct Reader {
    text: String,
    /// In bytes.
    at: usize,
    depth_left: usize,
    /// The here-documents that begin where the line ends.
    pending: Vec<Pending>,
}

impl Reader {
    /// All of the text.
    fn program(&mut self) -> Option<List> {
        let list = self.list()?;
        (self.peek().is_none() && self.pending.is_empty()).then_some(list)
    }

    /// Reads what stands inside something else.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth_left = self.depth_left.checked_sub(1)?;
        let inside = read(self)?;
        self.depth_left += 1;
        Some(inside)
    }

    /// Reads another text, whole, as a part of this one.
    fn nested<T>(&mut self, text: String, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.deeper(|reader| {
            let text = std::mem::replace(&mut reader.text, text);
            let at = std::mem::take(&mut reader.at);
            let pending = std::mem::take(&mut reader.pending);
            let inside = read(reader)?;
            if !reader.rest().is_empty() || !reader.pending.is_empty() {
                return None;
            }
            (reader.text, reader.at, reader.pending) = (text, at, pending);
            Some(inside)
        })
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character as it stands.
    fn verbatim(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// The next character, of this line or of the one that continues it.
    fn peek(&mut self) -> Option<char> {
        while self.rest().starts_with("\\\n") {
            self.at += 2;
        }
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        self.peek()?;
        self.verbatim()
    }

    /// Reads a text if it stands here.
    fn accept(&mut self, text: &str) -> bool {
        let at = self.at;
        let is_here = text.chars().all(|c| {
            let is_next = self.peek() == Some(c);
            self.at += if is_next { c.len_utf8() } else { 0 };
            is_next
        });
        if !is_here {
            self.at = at;
        }
        is_here
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.accept(text).then_some(())
    }

    /// Whether a text stands here.
    fn is_at(&mut self, text: &str) -> bool {
        let at = self.at;
        let is_here = self.accept(text);
        self.at = at;
        is_here
    }

    /// Reads a word of the grammar if it stands here as a whole word.
    fn accept_word(&mut self, word: &str) -> bool {
        let at = self.at;
        let is_here = self.accept(word) && self.is_at_word_end();
        if !is_here {
            self.at = at;
        }
        is_here
    }

    fn expect_word(&mut self, word: &str) -> Option<()> {
        self.accept_word(word).then_some(())
    }

    /// Whether one of these stands here as a whole word.
    fn is_at_word(&mut self, words: &[&str]) -> bool {
        let at = self.at;
        let is_here = words.iter().any(|word| self.accept_word(word));
        self.at = at;
        is_here
    }

    fn is_at_word_end(&mut self) -> bool {
        self.peek().is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>'))
    }

    /// Reads blanks, and a comment where one begins. Only where a word may begin.
    fn blanks(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => return,
            }
        }
    }

    /// Reads blanks and line breaks.
    fn blank_lines(&mut self) -> Option<()> {
        self.blanks();
        while self.peek() == Some('\n') {
            self.line_break()?;
            self.blanks();
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;

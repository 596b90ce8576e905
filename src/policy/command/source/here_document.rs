//! Here-documents: the texts that follow the line which names their tags.

use std::cell::OnceCell;
use std::rc::Rc;

use super::Reader;
use crate::policy::command::syntax::{Document, Redirect, UNKNOWN, Word};

/// A document that a line asked for.
pub(super) struct Pending {
    tag: String,
    /// Whether tabs at the beginning of its lines do not count.
    drops_tabs: bool,
    /// Whether substitutions in it are made.
    expands: bool,
    place: Rc<OnceCell<Document>>,
}

impl Reader {
    /// What follows `<<` or `<<-`.
    pub(super) fn here_document(&mut self, drops_tabs: bool) -> Option<Redirect> {
        self.blanks();
        let word = self.word()?;
        let (tag, expands) = plain_tag(&word)?;
        let place = Rc::new(OnceCell::new());
        self.pending.push(Pending { tag: tag.to_owned(), drops_tabs, expands, place: Rc::clone(&place) });
        Some(Redirect::HereDocument(place))
    }

    /// Reads a line break, and the documents below it.
    pub(super) fn line_break(&mut self) -> Option<()> {
        self.expect("\n")?;
        for pending in std::mem::take(&mut self.pending) {
            let text = self.document(&pending)?;
            let mut inside = Word::default();
            if pending.expands {
                self.nested(text.clone(), |reader| reader.quoted(&mut inside, None))?;
            }
            let Word { commands, may_evaluate, .. } = inside;
            pending.place.set(Document { text, commands, may_evaluate }).ok()?;
        }
        Some(())
    }

    /// The lines up to the one that is the tag and nothing else.
    fn document(&mut self, pending: &Pending) -> Option<String> {
        let mut text = String::new();
        // The line with those before it that it continues.
        let mut joined = String::new();
        loop {
            let whole = self.rest().split_inclusive('\n').next()?.to_owned();
            self.at += whole.len();
            let line = whole.strip_suffix('\n').unwrap_or(&whole);
            let line = if pending.drops_tabs { line.trim_start_matches('\t') } else { line };
            joined.push_str(line);
            let ends = line == pending.tag;
            // Where shells differ about the end, what is text to one is a command to another.
            if ends != (joined == pending.tag) {
                return None;
            }
            if ends {
                return Some(text);
            }
            let is_continued = pending.expands && line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1;
            if is_continued {
                joined.pop();
            } else {
                joined.clear();
            }
            text.push_str(line);
            text.push('\n');
        }
    }
}

/// The tag that a word names, and whether the document is expanded; `None` for one that is not plain or in quotes as a whole.
fn plain_tag(word: &Word) -> Option<(&str, bool)> {
    let raw = word.raw.as_str();
    let in_quotes = |quote: char| raw.strip_prefix(quote)?.strip_suffix(quote);
    let quoted = in_quotes('\'').or_else(|| in_quotes('"')).or_else(|| raw.strip_prefix('\\'));
    let tag = quoted.unwrap_or(raw);
    let is_plain = !tag.is_empty() && !tag.contains(['\'', '"', '\\', '$', '\n', UNKNOWN]);
    is_plain.then_some((tag, quoted.is_none()))
}

//! Text that tries to look like something else, made visible. One function for modal, card, log, notification
//! and terminal: it escapes, it never strips.

use std::borrow::Cow;

/// A stretch of text that would deceive if it were drawn as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deception {
    /// Byte range in the original.
    pub range: std::ops::Range<usize>,
    /// What to draw instead, for example `\u{202E}`.
    pub escape: String,
}

/// A stretch of text as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment<'text> {
    /// As it is.
    Plain(&'text str),
    /// An escape, to be drawn in red.
    Escaped(String),
}

/// The text in the stretches in which it is drawn.
pub fn segments(text: &str, multiline: bool) -> Vec<Segment<'_>> {
    let _ = (text, multiline);
    todo!()
}

/// Every character of category control, format, separator, private, unassigned or default-ignorable, odd spaces and
/// look-alikes of another script in a word. Line breaks and tabs are left alone where `multiline` is set.
pub fn find_deceptive(text: &str, multiline: bool) -> Vec<Deception> {
    let _ = (text, multiline);
    todo!()
}

/// The text with every deception replaced by its escape.
pub fn escape(text: &str, multiline: bool) -> Cow<'_, str> {
    let _ = (text, multiline);
    todo!()
}

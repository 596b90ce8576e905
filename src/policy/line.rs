//! Text from elsewhere as one line of bounded length: deceptions and line breaks as escapes, and where it is too long its
//! middle left out and counted. Whatever is printed or stands in a row of fixed height comes through here.
//!
//! Must not decide what is deceptive: that is `display`'s.

use std::borrow::Cow;

use super::display::{escape, escape_name};

/// Characters that the note of what is left out may take beside what is shown.
const GAP: usize = 24;

/// A text that is too long for its place: what is shown of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elided<'text> {
    /// Its beginning.
    pub head: &'text str,
    /// Its end: of a path the name.
    pub tail: &'text str,
    /// Characters left out between them.
    pub left_out: usize,
}

/// A text with its middle left out, so that `most` characters stay; `None` where it has no more than that.
pub fn elide(text: &str, most: usize) -> Option<Elided<'_>> {
    // No character has less than one byte.
    if text.len() <= most {
        return None;
    }
    let count = text.chars().count();
    if count <= most {
        return None;
    }
    let head = most / 3;
    let tail = most - head;
    let start = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().rev().nth(tail.saturating_sub(1)).map_or(0, |(at, _)| at);
    let end = if tail == 0 { text.len() } else { end };
    Some(Elided { head: text.get(..start)?, tail: text.get(end..)?, left_out: count - most })
}

/// What stands for characters that are left out.
pub fn gap(left_out: usize) -> String {
    format!("…(+{left_out})…")
}

/// Prose from elsewhere (a title, an error, a model's name) as one line of about `most` characters.
pub fn one_line(text: &str, most: usize) -> Cow<'_, str> {
    bounded(text, most, escape)
}

/// A path, a command or an address as one line of about `most` characters; see [`escape_name`].
pub fn one_line_name(text: &str, most: usize) -> Cow<'_, str> {
    bounded(text, most, escape_name)
}

fn bounded(text: &str, most: usize, escape: fn(&str, bool) -> Cow<'_, str>) -> Cow<'_, str> {
    // Escapes are longer than what they stand for, so fewer characters may fit than `most`.
    let mut fits = most;
    loop {
        let line = match elide(text, fits) {
            None => escape(text, false),
            Some(Elided { head, tail, left_out }) => {
                Cow::Owned(format!("{}{}{}", escape(head, false), gap(left_out), escape(tail, false)))
            }
        };
        if fits == 0 || line.chars().count() <= most + GAP {
            return line;
        }
        fits = fits * 3 / 4;
    }
}

/// The beginning of a text of several lines: at most so many lines and characters, and how many characters stay out.
pub fn beginning(text: &str, most_lines: usize, most_chars: usize) -> (&str, usize) {
    let by_chars = text.char_indices().nth(most_chars).map_or(text.len(), |(at, _)| at);
    let by_lines = most_lines
        .checked_sub(1)
        .and_then(|breaks| text.match_indices('\n').nth(breaks))
        .map_or(text.len(), |(at, _)| at);
    let (shown, rest) = text.split_at_checked(by_chars.min(by_lines)).unwrap_or((text, ""));
    (shown, rest.trim().chars().count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_whole_and_what_does_not_keeps_its_ends() {
        assert_eq!(one_line("short", 10), "short");
        assert_eq!(one_line(&format!("{}end", "a".repeat(100)), 9), "aaa…(+94)…aaaend");
        assert_eq!(one_line_name("/projects/web/src/main.rs", 12), "/pro…(+13)…/main.rs");
        assert_eq!(elide("中文字", 3), None);
        assert_eq!(elide("中文字", 2), Some(Elided { head: "", tail: "文字", left_out: 1 }));
    }

    #[test]
    fn a_line_break_cannot_make_a_second_line() {
        assert_eq!(one_line("Fine.”\n✓ write_file a.txt", 80), "Fine.”\\n✓ write_file a.txt");
        assert_eq!(one_line("a\r\u{2028}b\u{85}c\u{B}d", 80), "a\\r\\u{2028}b\\u{0085}c\\u{000B}d");
    }

    #[test]
    fn the_beginning_of_a_text_says_what_it_leaves_out() {
        assert_eq!(beginning("a\nb\nc", 2, 100), ("a\nb", 1));
        assert_eq!(beginning("a\nb\n", 2, 100), ("a\nb", 0));
        assert_eq!(beginning("abcdef", 5, 4), ("abcd", 2));
        assert_eq!(beginning("", 5, 4), ("", 0));
    }

    proptest! {
        #[test]
        fn a_line_is_one_line_and_bounded(text in any::<String>(), most in 0_usize..200) {
            for line in [one_line(&text, most), one_line_name(&text, most)] {
                let breaks = ['\n', '\r', '\u{2028}', '\u{85}'];
                prop_assert!(!line.contains(breaks));
                prop_assert!(line.chars().count() <= most + GAP, "{line:?}");
            }
        }

        #[test]
        fn nothing_of_a_text_is_lost_silently(text in any::<String>(), most in 0_usize..40) {
            if let Some(Elided { head, tail, left_out }) = elide(&text, most) {
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                let shown = head.chars().count() + tail.chars().count();
                prop_assert_eq!((shown, shown + left_out), (most, text.chars().count()));
            } else {
                prop_assert!(text.chars().count() <= most);
            }
        }
    }
}

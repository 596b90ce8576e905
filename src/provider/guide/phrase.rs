//! Small pieces of a sentence: verbs at its beginning, separators outside quotes, names, line numbers. Pure.

/// Quotes that keep what is in them together.
const QUOTES: &[(char, char)] =
    &[('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('「', '」'), ('『', '』'), ('《', '》')];

/// Which of several separators counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Last,
}

/// Lines of a file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) first: u64,
    pub(super) last: Option<u64>,
}

/// The same number of bytes, ASCII in lower case, and every byte inside quotes an `x`: what is found in it can be cut out of
/// the text at the same place.
fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut closing = None;
    let mut before = ' ';
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if let Some(end) = closing {
            masked.extend(std::iter::repeat_n('x', c.len_utf8()));
            if c == end {
                closing = None;
            }
        } else {
            let quote = QUOTES.iter().find(|(open, _)| *open == c);
            // An apostrophe inside a word quotes nothing, and neither does a quote that never ends.
            let quote = quote.filter(|(_, end)| (c != '\'' || before.is_whitespace()) && rest.as_str().contains(*end));
            if let Some((_, end)) = quote {
                closing = Some(*end);
                masked.extend(std::iter::repeat_n('x', c.len_utf8()));
            } else {
                masked.push(c.to_ascii_lowercase());
            }
        }
        before = c;
    }
    masked
}

/// What follows the first of `verbs` that the text begins with, as a whole word. Longer verbs come first in the lists.
pub(super) fn strip_verb<'a>(text: &'a str, verbs: &[&str]) -> Option<&'a str> {
    let text = text.trim_start();
    verbs.iter().find_map(|verb| {
        let start = text.get(..verb.len()).filter(|start| start.eq_ignore_ascii_case(verb))?;
        let rest = text.get(start.len()..)?;
        let needs_border = verb.ends_with(|c: char| c.is_ascii_alphanumeric());
        let has_border =
            !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '\''));
        (!needs_border || has_border || rest.trim_start() != rest || rest.starts_with(": ")).then(|| rest.trim_start())
    })
}

/// The text without any of `words` before it, as often as they come; never without all of it unless that is all there is.
pub(super) fn strip_any_prefix<'a>(text: &'a str, words: &[&str]) -> &'a str {
    let mut text = text.trim_start();
    while let Some(rest) = strip_verb(text, words) {
        text = rest;
    }
    text
}

/// The text without any of `words` behind it, as often as they come.
pub(super) fn strip_any_suffix<'a>(text: &'a str, words: &[&str]) -> &'a str {
    let mut text = text.trim_end();
    loop {
        let shorter = words.iter().find_map(|word| {
            let at = text.len().checked_sub(word.len())?;
            let end = text.get(at..).filter(|end| end.eq_ignore_ascii_case(word))?;
            text.get(..text.len() - end.len())
        });
        match shorter {
            Some(shorter) => text = shorter.trim_end(),
            None => return text,
        }
    }
}

/// Both sides of a separator that stands outside quotes; at the same place the longer one counts.
pub(super) fn cut<'a>(text: &'a str, separators: &[&str], side: Side) -> Option<(&'a str, &'a str)> {
    let masked = mask(text);
    let places = separators.iter().filter_map(|separator| {
        let at = match side {
            Side::First => masked.find(separator),
            Side::Last => masked.rfind(separator),
        };
        at.map(|at| (at, separator.len()))
    });
    let (at, length) = match side {
        Side::First => places.min_by_key(|(at, length)| (*at, usize::MAX - length)),
        Side::Last => places.max_by_key(|(at, length)| (*at, *length)),
    }?;
    Some((text.get(..at)?.trim(), text.get(at + length..)?.trim()))
}

/// Whether any of `words` stands outside quotes.
pub(super) fn has_word(text: &str, words: &[&str]) -> bool {
    let masked = mask(text);
    words.iter().any(|word| masked.contains(word))
}

/// What stands in quotes, or the text itself.
pub(super) fn unquoted(text: &str) -> String {
    let text = text.trim();
    let trimmed = text.trim_end_matches(['。', '！']);
    let inner = QUOTES.iter().find_map(|(open, close)| {
        let inner = trimmed.trim_end_matches(['.', '!']).strip_prefix(*open)?.strip_suffix(*close)?;
        (!inner.contains(*close)).then_some(inner)
    });
    inner.unwrap_or(text).to_owned()
}

/// The text without the marks that end a sentence; dots that are part of a path stay.
pub(super) fn sentence(text: &str) -> &str {
    let bare = text.trim().trim_end_matches(['。', '！', '？', '?', '!', ',', '，', ';', '；', ' ']);
    match bare.strip_suffix('.') {
        Some(rest) if !rest.is_empty() && !rest.ends_with(['.', '/', ' ']) => rest,
        _ => bare,
    }
}

/// A path as it was named: without quotes, and without the end of the sentence.
pub(super) fn name(text: &str) -> String {
    unquoted(sentence(text)).trim().to_owned()
}

/// Whether a name is a file's rather than a folder's.
pub(super) fn looks_like_file(path: &str) -> bool {
    let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let has_extension = last.trim_start_matches('.').rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && !extension.is_empty() && extension.chars().all(char::is_alphanumeric)
    });
    let is_known = ["readme", "license", "makefile", "dockerfile", "changelog", "authors", "notice", ".gitignore"];
    has_extension || is_known.contains(&last.to_ascii_lowercase().as_str())
}

/// The lines that are asked for, and the text without them: "lines 3 to 10 of X", "X lines 3-10", "first 5 lines of X",
/// X 第3到10行, X 前5行.
pub(super) fn line_range(text: &str) -> (&str, Option<Line>) {
    leading_range(text).or_else(|| trailing_range(text)).or_else(|| chinese_range(text)).unwrap_or((text, None))
}

fn leading_range(text: &str) -> Option<(&str, Option<Line>)> {
    let text = strip_verb(text, &["the"]).unwrap_or(text);
    if let Some(rest) = strip_verb(text, &["first"]) {
        let (count, rest) = number(rest)?;
        let rest = strip_verb(rest, &["lines of", "lines in", "lines from"])?;
        return Some((rest, Some(Line { first: 1, last: Some(count) })));
    }
    let rest = strip_verb(text, &["lines", "line"])?;
    let (line, rest) = from_to(rest)?;
    Some((strip_verb(rest, &["of", "in", "from"])?, Some(line)))
}

fn trailing_range(text: &str) -> Option<(&str, Option<Line>)> {
    let (path, rest) = cut(text, &[" from lines ", " from line ", " lines ", " line ", ", lines "], Side::Last)?;
    let (line, rest) = from_to(rest)?;
    rest.trim_matches(['.', '?', ' ']).is_empty().then_some((path.trim_end_matches(','), Some(line)))
}

fn chinese_range(text: &str) -> Option<(&str, Option<Line>)> {
    let first_lines = || {
        let (before, rest) = cut(text, &["前"], Side::Last)?;
        let (count, rest) = number(rest)?;
        rest.trim_start().starts_with('行').then_some((before, Line { first: 1, last: Some(count) }))
    };
    let from_line = || {
        let (before, rest) = cut(text, &["第"], Side::First)?;
        let (line, rest) = from_to(rest)?;
        rest.starts_with('行').then_some((before, line))
    };
    let (before, line) = first_lines().or_else(from_line)?;
    Some((before.trim_end_matches('的').trim_end(), Some(line)))
}

/// "3 to 10", "3-10", "3", 3到10, 3行到第10.
fn from_to(text: &str) -> Option<(Line, &str)> {
    let (first, rest) = number(text)?;
    let after_unit = rest.strip_prefix('行').unwrap_or(rest);
    let joined = ["to", "through", "until", "-", "–", "到", "至", "~"]
        .into_iter()
        .find_map(|word| after_unit.trim_start().strip_prefix(word))
        .and_then(|rest| number(rest.trim_start().strip_prefix('第').unwrap_or(rest)));
    Some(match joined {
        Some((last, rest)) => (Line { first, last: Some(last.max(first)) }, rest.trim_start()),
        None => (Line { first, last: Some(first) }, rest.trim_start()),
    })
}

fn number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok().filter(|number| *number > 0)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_inside_quotes_do_not_cut() {
        assert_eq!(cut("\"a in b\" in c", &[" in "], Side::First), Some(("\"a in b\"", "c")));
        assert_eq!(cut("“在 中” 中 X", &["中"], Side::First), Some(("“在 中”", "X")));
        assert_eq!(cut("what's in it's in", &[" in "], Side::First), Some(("what's", "it's in")));
        assert_eq!(cut("a with b with c", &[" with ", " with b "], Side::First), Some(("a", "with c")));
        assert_eq!(cut("nothing", &[" in "], Side::Last), None);
    }

    #[test]
    fn a_verb_is_a_whole_word() {
        assert_eq!(strip_verb("List files", &["list"]), Some("files"));
        assert_eq!(strip_verb("listing", &["list"]), None);
        assert_eq!(strip_verb("read.txt", &["read"]), None);
        assert_eq!(strip_verb("删除文件", &["删除"]), Some("文件"));
        assert_eq!(strip_verb("好", &["a", "list"]), None);
    }

    #[test]
    fn names_lose_quotes_and_the_sentences_end_but_not_their_dots() {
        for (text, expected) in [
            ("a.txt.", "a.txt"),
            ("..", ".."),
            (".", "."),
            ("../", "../"),
            ("“笔记”。", "笔记"),
            ("'a b'?", "a b"),
            (" `x` ", "x"),
        ] {
            assert_eq!(name(text), expected, "{text}");
        }
    }
}

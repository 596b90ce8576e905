//! A text as its reader puts it together: without what draws nothing (colours of a terminal, zero-width characters), and with
//! lines in one piece that were broken only to fit a width. A model reads over both.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

use super::super::display::is_default_ignorable;
use super::{Secret, SecretKind};

/// A text without some of its parts, and where the rest stands in the original.
pub(super) struct Reading {
    pub(super) text: String,
    /// Each kept stretch: where it begins here, and where in the original.
    kept: Vec<(usize, usize)>,
    /// The line breaks of the original that are not here.
    breaks: Vec<Break>,
}

/// A line break that was taken for one that only fits a width.
struct Break {
    at: usize,
    /// Whether another line is as wide, and not only none wider.
    is_sure: bool,
}

/// Lines of fewer columns were not broken for their width.
const NARROWEST: usize = 12;
/// Widths at which programs break lines.
const WIDTHS: [usize; 9] = [64, 70, 72, 75, 76, 78, 79, 80, 120];

/// What begins a new entry rather than going on with a value.
static ENTRY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\A(?:export\s+|[-*]\s+)?["']?[A-Za-z_][A-Za-z0-9_.-]*["']?\s*[=:]\s*[^\s=]"#).ok());

/// What parts a key in two where it is written and not where it is read: the backslash of Markdown before a sign, the soft
/// break of a mail, a line that goes on behind a backslash, two strings of code that are one.
static JOINT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let strings = |quote: char| {
        format!(r"{quote}[ \t]*(?:(?:\+|\.\.?|&)\s*|\\?\r?\n\s*(?:(?:\+|\.\.?|&)\s*)?)[frbuFRBU]?{quote}")
    };
    let strings: Vec<String> = ['"', '\'', '`'].into_iter().map(strings).collect();
    Regex::new(&format!(r"(?<escape>\\+)[_.~-]|=\r?\n|\\+\r?\n[ \t]*|{}", strings.join("|"))).ok()
});

/// The text without what parts a key only where it is written; `None` where it has nothing of this.
pub(super) fn joined(text: &str) -> Option<Reading> {
    let hits = JOINT.iter().flat_map(|pattern| pattern.captures_iter(text));
    let removed: Vec<_> = hits.filter_map(|hit| Some(hit.name("escape").or_else(|| hit.get(0))?.range())).collect();
    Reading::without(text, &removed, Vec::new())
}

/// The text without what draws nothing; `None` where all of it is seen.
pub(super) fn bare(text: &str) -> Option<Reading> {
    Reading::without(text, &unseen(text), Vec::new())
}

/// The text without what draws nothing and without breaks for a width; `None` where it has no such break.
pub(super) fn of(text: &str) -> Option<Reading> {
    let breaks = breaks_for_width(text);
    if breaks.is_empty() {
        return None;
    }
    let mut removed = unseen(text);
    removed.extend(breaks.iter().map(|found| found.at..found.at + 1));
    removed.sort_by_key(|range| range.start);
    Reading::without(text, &removed, breaks)
}

/// The text without what draws nothing and without any line break; `None` where it has neither.
pub(super) fn in_one_line(text: &str) -> Option<Reading> {
    let mut removed = unseen(text);
    removed.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at..at + 1));
    removed.sort_by_key(|range| range.start);
    Reading::without(text, &removed, Vec::new())
}

/// A value as it was before its line was broken.
pub(super) fn unbroken(value: &str) -> Cow<'_, str> {
    in_one_line(value).map_or(Cow::Borrowed(value), |reading| Cow::Owned(reading.text))
}

/// What a reading of a text says, or the text itself, and where a part of that stands in the text.
pub(super) fn through<'a>(
    reading: Option<&'a Reading>,
    text: &'a str,
) -> (&'a str, impl Fn(Range<usize>) -> Option<Range<usize>> + 'a) {
    let place = move |range: Range<usize>| reading.map_or(Some(range.clone()), |reading| reading.place(&range));
    (reading.map_or(text, |reading| reading.text.as_str()), place)
}

impl Reading {
    fn without(text: &str, removed: &[Range<usize>], breaks: Vec<Break>) -> Option<Self> {
        if removed.is_empty() {
            return None;
        }
        let mut reading =
            Self { text: String::with_capacity(text.len()), kept: Vec::with_capacity(removed.len() + 1), breaks };
        let mut done = 0;
        for range in removed {
            reading.keep(text, done..range.start);
            done = done.max(range.end);
        }
        reading.keep(text, done..text.len());
        Some(reading)
    }

    fn keep(&mut self, text: &str, stretch: Range<usize>) {
        if let Some(stretch_text) = text.get(stretch.clone()).filter(|kept| !kept.is_empty()) {
            self.kept.push((self.text.len(), stretch.start));
            self.text.push_str(stretch_text);
        }
    }

    /// Where a part of it stands in the original, from its first byte to its last.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let last = range.end.checked_sub(1).filter(|last| *last >= range.start)?;
        Some(self.original(range.start)?..self.original(last)? + 1)
    }

    /// The line breaks within a part of the original.
    fn crossed(&self, range: &Range<usize>) -> &[Break] {
        let first = self.breaks.partition_point(|found| found.at < range.start);
        let last = self.breaks.partition_point(|found| found.at < range.end);
        self.breaks.get(first..last).unwrap_or_default()
    }

    fn original(&self, at: usize) -> Option<usize> {
        let stretch = self.kept.partition_point(|(here, _)| *here <= at).checked_sub(1)?;
        self.kept.get(stretch).map(|(here, there)| there + (at - here))
    }

    /// The parts of a range that were apart in the original, without the first; each with all that follows it.
    fn later_parts(&self, range: &Range<usize>) -> impl Iterator<Item = (&str, &str)> {
        let first = self.kept.partition_point(|(here, _)| *here <= range.start);
        let last = self.kept.partition_point(|(here, _)| *here < range.end);
        let begins = self.kept.get(first..last).unwrap_or_default();
        let ends = begins.iter().skip(1).map(|(here, _)| *here).chain([range.end]);
        begins
            .iter()
            .zip(ends)
            .filter_map(|((begin, _), end)| Some((self.text.get(*begin..end)?, self.text.get(*begin..)?)))
    }

    /// Of what was found here, what the original did not show by itself, at its place there.
    pub(super) fn placed(&self, found: Vec<Secret>, plain: &[Secret]) -> Vec<Secret> {
        let place = |secret: Secret| {
            let range = self.place(&secret.range)?;
            let crossed = self.crossed(&range);
            // Lines that are put together show only what lies over both.
            if !self.breaks.is_empty() && crossed.is_empty() {
                return None;
            }
            let from = plain.partition_point(|known| known.range.end <= range.start);
            let mut within =
                plain.iter().skip(from).take_while(|known| known.range.start < range.end).map(|known| &known.range);
            let (first, second) = (within.next(), within.next());
            let is_new = match (secret.kind, first) {
                (_, None) => !self.later_parts(&secret.range).any(|(_, rest)| begins_entry(rest)),
                (SecretKind::PrivateKey, Some(_)) => true,
                // Whole already; or several, one below the other.
                (_, Some(first)) if second.is_some() || (first.start <= range.start && range.end <= first.end) => false,
                (_, Some(first)) if first.start > range.start => true,
                // It was taken for whole where its line ends: what follows must look like more of it.
                (_, Some(first)) => {
                    let is_sure = crossed.iter().all(|found| found.is_sure || found.at < first.end);
                    let mut parts = self.later_parts(&secret.range).peekable();
                    is_sure && parts.peek().is_some() && parts.all(|(part, rest)| goes_on(part) && !begins_entry(rest))
                }
            };
            is_new.then_some(Secret { range, kind: secret.kind })
        };
        found.into_iter().filter_map(place).collect()
    }
}

fn begins_entry(text: &str) -> bool {
    ENTRY.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Whether a text looks like the rest of a key rather than the next word.
fn goes_on(part: &str) -> bool {
    let has_digit = part.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = part.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_jumbled = part
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [first, second] if first.is_ascii_lowercase() && second.is_ascii_uppercase()));
    (has_digit && has_letter) || is_jumbled
}

/// What draws nothing: sequences for a terminal, controls but for breaks and tabs, what has no width.
fn unseen(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let is_plain = |byte: u8| matches!(byte, b' '..=b'[' | b']'..=b'~' | b'\n' | b'\t');
    let mut at = 0;
    while let Some(skipped) = text.as_bytes().get(at..).and_then(|rest| rest.iter().position(|byte| !is_plain(*byte))) {
        at += skipped;
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
        let length = match c {
            '\u{1b}' => sequence(text.get(at + 1..).unwrap_or_default()).map_or(1, |length| length + 1),
            '\\' => {
                if let Some(length) = written_colour(text.get(at..).unwrap_or_default()) {
                    length
                } else {
                    at += 1;
                    continue;
                }
            }
            '\u{9b}' => c.len_utf8() + control_sequence(text.get(at + c.len_utf8()..).unwrap_or_default()).unwrap_or(0),
            _ if is_unseen(c) => c.len_utf8(),
            _ => {
                at += c.len_utf8();
                continue;
            }
        };
        found.push(at..at + length);
        at += length;
    }
    found
}

/// The length of a colour whose ESC is written as JSON, C or a shell does.
fn written_colour(text: &str) -> Option<usize> {
    const ESCAPES: [&str; 7] = ["\\u001b[", "\\u001B[", "\\u{1b}[", "\\x1b[", "\\x1B[", "\\033[", "\\e["];
    let escape = ESCAPES.iter().find(|escape| text.starts_with(**escape))?;
    let length = escape.len() + control_sequence(text.get(escape.len()..)?)?;
    text.get(..length).filter(|code| code.ends_with(['m', 'K'])).map(str::len)
}

fn is_unseen(c: char) -> bool {
    is_default_ignorable(c) || matches!(c.general_category(), GeneralCategory::Control | GeneralCategory::Format)
}

/// The length of what follows an ESC and belongs to it.
fn sequence(rest: &str) -> Option<usize> {
    /// A title or a link of a terminal is no longer.
    const LONGEST: usize = 2048;
    let bytes = rest.as_bytes();
    match bytes.first()? {
        b'[' => Some(1 + control_sequence(rest.get(1..)?).unwrap_or(0)),
        b']' | b'P' | b'_' | b'^' | b'X' => {
            let body = bytes.get(1..bytes.len().min(LONGEST))?;
            let end = body.iter().position(|byte| matches!(byte, 0x07 | 0x1b))?;
            let is_string_end = body.get(end) == Some(&0x1b) && bytes.get(end + 2) == Some(&b'\\');
            Some(1 + end + if is_string_end { 2 } else { 1 })
        }
        b' '..=b'/' => bytes.get(1).filter(|last| last.is_ascii_graphic()).map(|_| 2),
        byte => byte.is_ascii_graphic().then_some(1),
    }
}

/// The length of a control sequence behind its introducer.
fn control_sequence(rest: &str) -> Option<usize> {
    const LONGEST: usize = 64;
    let parameters = rest.bytes().take(LONGEST).take_while(|byte| matches!(byte, b' '..=b'?')).count();
    rest.as_bytes().get(parameters).filter(|last| matches!(last, b'@'..=b'~')).map(|_| parameters + 1)
}

/// The breaks of lines that are as wide as the text's lines are when they are full, with what draws nothing left out.
fn breaks_for_width(text: &str) -> Vec<Break> {
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
    if ends.is_empty() {
        return Vec::new();
    }
    let starts = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
    let all = starts.zip(ends.iter().copied().chain([text.len()]));
    let widths: Vec<usize> = all.map(|(start, end)| width(text.get(start..end).unwrap_or_default())).collect();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for width in &widths {
        *counts.entry(*width).or_default() += 1;
    }
    let widest = counts.last_key_value().map_or(0, |(width, _)| *width);
    // One line of a customary width may be so by chance.
    let is_sure = |width: usize| counts.get(&width).is_some_and(|count| *count > 1);
    let is_full = |width: usize| width >= NARROWEST && (width == widest || WIDTHS.contains(&width) || is_sure(width));
    let breaks = ends.iter().zip(widths.iter().zip(widths.iter().skip(1)));
    breaks
        .filter(|(_, (width, next))| is_full(**width) && **next > 0 && next <= width)
        .map(|(end, (width, _))| Break { at: *end, is_sure: is_sure(*width) })
        .collect()
}

/// How many characters of a line are seen.
fn width(line: &str) -> usize {
    if line.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return line.len();
    }
    let unseen: usize =
        unseen(line).into_iter().filter_map(|range| line.get(range)).map(|part| part.chars().count()).sum();
    line.chars().count() - unseen
}

#[cfg(test)]
mod tests {
    use super::super::{Masker, find_secrets};

    fn signs(count: usize) -> String {
        "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6kL9nP2qR5sT8uW1xY4zA7bC0dG3eM6".chars().cycle().take(count).collect()
    }

    fn key() -> String {
        format!("ghp_{}", signs(36))
    }

    /// As `fold -w` does.
    fn folded(text: &str, width: usize) -> String {
        let fold = |line: &str| {
            let line: Vec<char> = line.chars().collect();
            line.chunks(width).map(|part| part.iter().collect::<String>()).collect::<Vec<_>>().join("\n")
        };
        text.lines().map(fold).collect::<Vec<_>>().join("\n")
    }

    fn unbroken(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[test]
    fn a_secret_is_masked_however_its_lines_were_broken() {
        let block = (0..6).map(|at| signs(128)[at..at + 64].to_owned()).collect::<Vec<_>>().join("\n");
        let block = format!("-----BEGIN RSA PRIVATE KEY-----\n{block}\n-----END RSA PRIVATE KEY-----");
        let text = format!(
            "# keys of the shop, as they were on the last day of it\nTOKEN={}\nhost=db.local\npassword=Xq82LpwZ7mK4\n{block}\nthe end of it\n",
            key()
        );
        for width in [13, 20, 24, 33, 40, 64, 72, 76, 80, 120] {
            let masked = Masker::default().text("call", &folded(&text, width)).into_owned();
            let shown = unbroken(&masked);
            for secret in [&key()[4..18], &key()[22..], "82LpwZ7mK4", &signs(128)[3..30], "PRIVATEKEY"] {
                let plain = unbroken(secret);
                assert!(!shown.contains(&plain), "{width}, {plain}: {masked}");
            }
            for kept in ["#keysoftheshop", "TOKEN=", "host=db.local", "theendofit"] {
                assert!(shown.contains(kept), "{width}, {kept}: {masked}");
            }
        }
    }

    #[test]
    fn a_key_is_masked_that_is_written_in_several_pieces() {
        let mut wrong = Vec::new();
        for key in [
            key(),
            format!("sk_live_{}", signs(24)),
            format!("github_pat_{}_{}", signs(22), signs(59)),
            format!("sk-proj-{}", signs(48)),
            "AKIAJ7Q2W5K3Z6X4M2N7".to_owned(),
            format!("npm_{}", signs(36)),
            format!("glpat-{}", signs(20)),
        ] {
            let (head, tail) = key.split_at(key.len() / 2);
            let markdown = key.replace('_', "\\_").replace('-', "\\-");
            for joint in [
                "=\n",
                "=\r\n",
                "\\\n",
                "\\\n    ",
                "\" + \"",
                "\" +\n    \"",
                "\"\n    \"",
                "' . '",
                "\" \\\n  \"",
                "` + `",
            ] {
                let text = format!("a {head}{joint}{tail}, b");
                let masked = Masker::default().text("call", &text).into_owned();
                if masked != "a «masked: API key #1», b" {
                    wrong.push((text, masked));
                }
            }
            for text in [markdown.clone(), markdown.replace('\\', "\\\\")] {
                let masked = Masker::default().text("call", &text).into_owned();
                if masked != "«masked: API key #1»" {
                    wrong.push((text, masked));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        for text in
            ["\"Kx82LpQ8zz\" + \"aB3dE6gH9\"", "snake\\_case\\_2 and a\\-b", "x=\ny2=\nz3", "make a1.c \\\n  b2.c"]
        {
            assert_eq!(find_secrets(text), [], "{text}");
        }
    }

    #[test]
    fn what_draws_nothing_hides_no_secret() {
        let key = key();
        let (head, tail) = key.split_at(14);
        for gap in [
            "\u{1b}[0m",
            "\u{1b}[1;31m",
            "\u{1b}[38:5:1m",
            "\u{1b}]8;;http://a\u{1b}\\",
            "\u{1b}]0;title\u{7}",
            "\u{1b}(B",
            "\u{1b}",
            "\u{9b}31m",
            "\u{200b}",
            "\u{202e}",
            "\u{ad}",
            "\r",
            "\0",
            "\u{feff}",
            "\u{e0041}",
            "\u{1b}[K\r",
        ] {
            let text = format!("中 T={head}{gap}{tail}, and more");
            let hit = find_secrets(&text);
            assert_eq!(
                hit.iter().map(|hit| &text[hit.range.clone()]).collect::<Vec<_>>(),
                [format!("{head}{gap}{tail}")]
            );
            assert_eq!(Masker::default().text("call", &text), "中 T=«masked: API key #1», and more", "{gap:?}");
        }
        let coloured = "\u{1b}[33mpassword\u{1b}[0m\u{1b}[2m=\u{1b}[0mXq82LpwZ\u{1b}[0m\n";
        assert_eq!(Masker::default().text("call", coloured), coloured.replace("Xq82LpwZ", "«masked: password #1»"));
    }

    #[test]
    fn a_broken_secret_is_the_secret_and_is_known_where_it_is_broken() {
        let key = key();
        let mut masker = Masker::default();
        let broken = folded(&key, 20);
        assert_eq!(masker.text("one", &broken), "«masked: API key #1»");
        assert_eq!(masker.text("two", &key), "«masked: API key #1»");
        masker.text("three", "password=Xq82LpwZ7mK4");
        let repeated = "it says\nXq82L\u{1b}[0mpw\nZ7mK4\nthere";
        assert_eq!(masker.known(repeated), "it says\n«masked: password #1»\nthere");
        assert_eq!(masker.secrets().len(), 2);
    }

    #[test]
    fn what_stands_below_a_whole_secret_is_none_of_it() {
        let (one, other) = (key(), format!("ghp_{}", signs(37).split_off(1)));
        for (text, masked) in [
            (format!("{one}\n{other}\n{one}\n"), "#1\n#2\n#1\n"),
            (format!("a={one}\nb={other}\n"), "a=#1\nb=#2\n"),
            (format!("{one}\nok\n"), "#1\nok\n"),
            (format!("{one}\nDone\n"), "#1\nDone\n"),
            (format!("{one}\n2026-11-30 12:00\n"), "#1\n2026-11-30 12:00\n"),
            (format!("A={one}\0HOME=/projects/1\0"), "A=#1\0HOME=/projects/1\0"),
            ("password=secret\nDB_HOST=10.0.0\n".to_owned(), "password=secret\nDB_HOST=10.0.0\n"),
            ("password: string\nemail2: string\n".to_owned(), "password: string\nemail2: string\n"),
        ] {
            let shown = Masker::default().text("call", &text).replace("«masked: API key ", "").replace('»', "");
            assert_eq!(shown, masked, "{text}");
        }
    }
}

//! Blocks of private keys: whole, cut off at either end, and with their line breaks written as `\n`. Lines from the middle of
//! a key, of which neither end is there, are known by their width and by where they stand; see `part` for those of a file.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Secret, SecretKind};

const NAME: &str = r"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?";
/// Shorter lines are no line of a key.
const SHORTEST_LINE: usize = 16;
/// How wide the lines of a key are: PEM, OpenSSH.
const WIDTHS: [usize; 2] = [64, 70];

static BEGIN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("-{{4,5}} ?BEGIN {NAME} ?-{{4,5}}")).ok());
static END: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("-{{4,5}} ?END {NAME} ?-{{4,5}}")).ok());
static PUTTY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"Private-Lines: *[0-9]+").ok());

pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut ranges = Vec::new();
    whole(text, &mut ranges);
    for hit in PUTTY.iter().flat_map(|pattern| pattern.find_iter(text)) {
        ranges.push(hit.start()..body_end(text, hit.end()));
    }
    if ranges.is_empty() {
        ranges.extend(borders(text, 3, &is_any_width));
    }
    ranges.into_iter().map(|range| Secret { range, kind: SecretKind::PrivateKey }).collect()
}

fn whole(text: &str, ranges: &mut Vec<Range<usize>>) {
    let all = |pattern: &LazyLock<Option<Regex>>| -> Vec<Range<usize>> {
        pattern.iter().flat_map(|pattern| pattern.find_iter(text)).map(|hit| hit.range()).collect()
    };
    // Once for the whole text: from each place anew they would take the square of its length.
    let (begins, ends) = (all(&BEGIN), all(&END));
    let (mut begins, mut ends) = (begins.into_iter().peekable(), ends.into_iter().peekable());
    let mut at = 0;
    loop {
        while begins.next_if(|begun| begun.start < at).is_some() {}
        while ends.next_if(|ended| ended.start < at).is_some() {}
        match (begins.peek().cloned(), ends.peek().cloned()) {
            // An end whose beginning was cut off: the lines before it.
            (begun, Some(ended)) if begun.as_ref().is_none_or(|begun| ended.start < begun.start) => {
                ranges.push(body_start(text, at, ended.start)..ended.end);
                at = ended.end;
            }
            (Some(begun), Some(ended)) => {
                ranges.push(begun.start..ended.end);
                at = ended.end;
            }
            (Some(begun), None) => {
                let until = body_end(text, begun.end);
                ranges.push(begun.start..until);
                at = until.max(begun.end);
            }
            (None, _) => return,
        }
    }
}

/// Where the lines of a key end that follow `from`: at the first word that cannot be one.
fn body_end(text: &str, from: usize) -> usize {
    let mut end = from;
    for word in words(text, from..text.len()) {
        let shown = text.get(word.clone()).unwrap_or_default();
        let is_header = shown.ends_with(':') || shown.contains(',') || shown.len() <= 3;
        if is_key_line(shown) || (is_header && shown.len() <= 80) {
            end = word.end;
            continue;
        }
        // The last line may be short, if it is a line of its own right below.
        let gap = text.get(end..word.start).unwrap_or_default();
        let is_own_line =
            text.get(word.end..).is_some_and(|rest| rest.is_empty() || rest.starts_with(['\n', '\r', '\\', '"']));
        if end > from && gap.matches('\n').count() <= 1 && is_own_line && shown.bytes().all(is_base64) {
            end = word.end;
        }
        break;
    }
    end
}

/// Where the lines of a key begin that end at `to`.
fn body_start(text: &str, from: usize, to: usize) -> usize {
    let all: Vec<Range<usize>> = words(text, from..to).collect();
    let mut start = to;
    for (index, word) in all.iter().rev().enumerate() {
        let shown = text.get(word.clone()).unwrap_or_default();
        if !(is_key_line(shown) || (index == 0 && shown.bytes().all(is_base64))) {
            break;
        }
        start = word.start;
    }
    start
}

/// The words of a part of a text; line breaks written as `\n`, quotes and commas part them too.
fn words(text: &str, within: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = within.start;
    std::iter::from_fn(move || {
        let rest = text.get(at..within.end)?;
        let mut skipped = 0;
        let bytes = rest.as_bytes();
        while let Some(byte) = bytes.get(skipped) {
            let escape = *byte == b'\\' && matches!(bytes.get(skipped + 1), Some(b'n' | b'r' | b't'));
            skipped += match byte {
                _ if escape => 2,
                b' ' | b'\n' | b'\r' | b'\t' | b'"' | b'\'' | b'|' | b'>' | b'\\' => 1,
                _ => break,
            };
        }
        let start = at + skipped;
        let rest = text.get(start..within.end).filter(|rest| !rest.is_empty())?;
        let stops = |c: char| c.is_whitespace() || matches!(c, '\\' | '"' | '\'');
        let end = start + rest.find(stops).unwrap_or(rest.len());
        at = end;
        Some(start..end)
    })
}

fn is_key_line(word: &str) -> bool {
    word.len() >= SHORTEST_LINE && word.bytes().all(is_base64)
}

/// Whether text is nothing but a line of base64, as a key has them.
pub(super) fn is_body(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.bytes().all(is_base64) && text.len() >= SHORTEST_LINE
}

/// Whether a text begins a key and does not end it.
pub(super) fn is_left_open(text: &str) -> bool {
    let last = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref()?.find_iter(text).last().map(|hit| hit.start());
    match (last(&BEGIN), last(&END)) {
        (Some(begun), Some(ended)) => begun > ended,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// Whether a text holds the end of a key.
pub(super) fn ends(text: &str) -> bool {
    END.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Whether a text may hold a block of a key: cheap, for texts that mostly hold none.
pub(super) fn may_hold(text: &[u8]) -> bool {
    let holds = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    holds(b"PRIVATE KEY") || holds(b"Private-Lines")
}

/// What a command printed may be any part of a file: two lines at its border are taken for a key's, and one line if it is
/// all that was printed.
pub(super) fn find_in_output(text: &str) -> Vec<Secret> {
    let least = match lines(text).as_slice() {
        [_] => 1,
        [_, last] if text.get(last.clone()).is_some_and(|last| is_rest(last, SHORTEST_LINE * 4)) => 1,
        _ => 2,
    };
    let found = borders(text, least, &|width| WIDTHS.contains(&width));
    found.into_iter().map(|range| Secret { range, kind: SecretKind::PrivateKey }).collect()
}

/// The widths in which keys are found: all but the one in which mail and `base64` write everything else.
const fn is_any_width(width: usize) -> bool {
    width >= 40 && width <= 128 && width != 76
}

/// Lines from the middle of a key, of which neither end is there: at least so many of one width, where the text was cut: at
/// its border, or beside a mark of what is left out.
fn borders(text: &str, least: usize, is_width: &dyn Fn(usize) -> bool) -> Vec<Range<usize>> {
    let lines = lines(text);
    let is_cut =
        |line: Option<&Range<usize>>| line.is_none_or(|line| text.get(line.clone()).unwrap_or_default().contains('…'));
    let parts: Vec<Option<Range<usize>>> = lines.iter().map(|line| key_part(text, line)).collect();
    let marks = Marks::of(text);
    let width = |at: usize| parts.get(at)?.as_ref().map(ExactSizeIterator::len).filter(|width| is_width(*width));
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(first) = width(at) else {
            at += 1;
            continue;
        };
        let count = (at..lines.len()).take_while(|line| width(*line) == Some(first)).count();
        let next = at + count;
        let before = at.checked_sub(1).and_then(|before| lines.get(before));
        if count >= least
            && (is_cut(before) || is_cut(lines.get(next)))
            && let (Some(Some(first)), Some(Some(last))) = (parts.get(at), parts.get(next - 1))
            && !marks.is_within_public(first.start)
            && !marks.is_before_public_end(last.end)
            && !is_other_file(text.get(first.clone()).unwrap_or_default())
        {
            // The last line of a key is shorter.
            let end =
                lines.get(next).filter(|line| is_rest(text.get((*line).clone()).unwrap_or_default(), first.len()));
            found.push(first.start..end.map_or(last.end, |line| line.end));
        }
        at = next;
    }
    found
}

/// The part of a line that may be a line of a key: its one long word of base64, behind whatever numbers or names the lines.
fn key_part(text: &str, line: &Range<usize>) -> Option<Range<usize>> {
    const LONGEST_REST: usize = 200;
    let shown = text.get(line.clone())?;
    let mut longest = 0..0;
    let mut start = 0;
    for (at, byte) in shown.bytes().chain([b'\n']).enumerate() {
        if is_base64(byte) {
            continue;
        }
        if at - start > longest.len() {
            longest = start..at;
        }
        start = at + 1;
    }
    // A line that a diff adds.
    if shown.get(longest.clone())?.starts_with('+') && WIDTHS.contains(&(longest.len() - 1)) {
        longest.start += 1;
    }
    let before = shown.get(..longest.start)?;
    let is_numbered = before.strip_suffix('-').is_some_and(|name| {
        name.ends_with(|c: char| c.is_ascii_digit())
            && !["sha256", "sha384", "sha512"].iter().any(|sum| name.ends_with(sum))
    });
    let is_apart =
        before.ends_with(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ':' | '|' | '>' | '+' | '-'));
    let is_apart = before.is_empty() || (is_apart && (!before.ends_with('-') || before.len() == 1)) || is_numbered;
    let fits = is_apart && shown.len() - longest.len() <= LONGEST_REST && has_all_kinds(shown.get(longest.clone())?);
    fits.then(|| line.start + longest.start..line.start + longest.end)
}

/// Whether a line can be the last one of a key whose others are this wide.
fn is_rest(line: &str, width: usize) -> bool {
    // Not the next word of a text.
    let is_own = line.len() >= SHORTEST_LINE || line.ends_with('=') || has_all_kinds(line);
    line.len() < width && line.bytes().all(is_base64) && is_own
}

/// Whether base64 begins as a file does that is no key: an image, a font, an archive, a document.
fn is_other_file(base64: &str) -> bool {
    const BEGINNINGS: [&str; 14] = [
        "iVBORw0KGgo",
        "/9j/",
        "R0lGOD",
        "UklGR",
        "UEsDB",
        "H4sIA",
        "JVBERi",
        "d09GMg",
        "d09GRg",
        "AAEAAAA",
        "T1RUTw",
        "SUkqA",
        "Qk0",
        "PD94bW",
    ];
    BEGINNINGS.iter().any(|beginning| base64.starts_with(beginning))
}

/// The lines of a text without what ends them; a break may be written as `\n`. Marks of a cut are lines of their own.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at <= bytes.len() {
        let (ends, skipped) = match (bytes.get(at), bytes.get(at + 1)) {
            (None | Some(b'\n' | b'\r'), _) => (true, 1),
            (Some(b'\\'), Some(b'n' | b'r')) => (true, 2),
            _ if is_mark_in_base64(text, at) => {
                push_line(&mut found, start..at);
                found.push(at..at + '…'.len_utf8());
                start = at + '…'.len_utf8();
                at = start;
                continue;
            }
            (Some(_), _) => (false, 1),
        };
        if ends {
            push_line(&mut found, start..at.min(bytes.len()));
            start = at + skipped;
        }
        at += skipped;
    }
    found
}

/// Whether a mark of what was left out stands right beside base64.
fn is_mark_in_base64(text: &str, at: usize) -> bool {
    let Some(after) = text.get(at..).and_then(|rest| rest.strip_prefix('…')) else { return false };
    let before = text.get(..at).and_then(|before| before.bytes().next_back());
    before.is_some_and(is_base64) || after.bytes().next().is_some_and(is_base64)
}

/// Whether a text is a line of a key and of nothing else: of the width that only keys have.
pub(super) fn is_wide_line(text: &str) -> bool {
    WIDTHS.contains(&text.len()) && text.bytes().all(is_base64) && has_all_kinds(text)
}

/// The lines of a block that are so much its own that they are looked for elsewhere.
pub(super) fn own_lines(block: &str) -> impl Iterator<Item = &str> {
    const SHORTEST: usize = 32;
    let own = words(block, 0..block.len()).filter_map(|word| block.get(word));
    own.filter(|word| word.len() >= SHORTEST && word.bytes().all(is_base64) && has_all_kinds(word))
}

fn push_line(found: &mut Vec<Range<usize>>, line: Range<usize>) {
    if !line.is_empty() {
        found.push(line);
    }
}

/// Where blocks of any kind begin and end.
struct Marks {
    begins: Vec<usize>,
    ends: Vec<usize>,
    private_ends: Vec<usize>,
}

impl Marks {
    fn of(text: &str) -> Self {
        let all = |word: &str| memchr::memmem::find_iter(text.as_bytes(), word).collect();
        let private_ends = END.iter().flat_map(|end| end.find_iter(text)).map(|hit| hit.start()).collect();
        Self { begins: all("-----BEGIN "), ends: all("-----END "), private_ends }
    }

    /// Whether a block is open at a place; of a private key everything is found already.
    fn is_within_public(&self, place: usize) -> bool {
        let last = |marks: &[usize]| marks.get(marks.partition_point(|mark| *mark < place).checked_sub(1)?).copied();
        last(&self.begins).is_some_and(|begun| last(&self.ends).is_none_or(|ended| ended < begun))
    }

    /// Whether a block that is public by its own words ends behind a place and does not begin there.
    fn is_before_public_end(&self, place: usize) -> bool {
        let next = |marks: &[usize]| marks.get(marks.partition_point(|mark| *mark < place)).copied();
        next(&self.ends).is_some_and(|ended| {
            next(&self.begins).is_none_or(|begun| begun > ended) && next(&self.private_ends) != Some(ended)
        })
    }
}

fn has_all_kinds(line: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| line.as_bytes().iter().any(kind);
    has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit)
}

//! Parts of a file: which of their lines belong to a private key, by what stands before and after them in the file. Tools
//! that return a part look at the file while they have it; the masking comes later, when only the part is left.

use std::ops::Range;

use serde_json::Value;

use super::{Secret, SecretKind, block, encoded, find_secrets};

/// The field of a result that names the lines of its text that belong to a private key: pairs of first and last, from 1.
pub(super) const KEY_LINES: &str = "private_key_lines";
/// How much a tool should know of a file before and after a part, in bytes. No key is longer.
pub const KEY_CONTEXT_BYTES: usize = 32 * 1024;
/// The fields that `KEY_LINES` speaks of.
const FIELDS: [&str; 3] = ["content", "text", "diff"];

/// Lines of a whole text that belong to a private key: first and last, from 1.
pub fn key_lines(text: &str) -> Vec<[u64; 2]> {
    keys(text).into_iter().map(|range| line_numbers(text, &range)).collect()
}

/// Lines of a part of a file that belong to a private key and that the part alone would not show for such; see
/// [`KEY_CONTEXT_BYTES`] for what is before and after it.
pub fn key_lines_of_part(before: &str, shown: &str, after: &str) -> Vec<[u64; 2]> {
    let whole = [before, shown, after].concat();
    let found = find_secrets(shown);
    let part = before.len()..before.len() + shown.len();
    let within = keys(&whole).into_iter().filter_map(|range| {
        let range = range.start.max(part.start)..range.end.min(part.end);
        (!range.is_empty()).then(|| range.start - part.start..range.end - part.start)
    });
    let is_known = |range: &Range<usize>| {
        found.iter().any(|secret| {
            let rest = [shown.get(range.start..secret.range.start), shown.get(secret.range.end..range.end)];
            rest.iter().all(|rest| rest.is_none_or(|rest| rest.trim().is_empty()))
                && secret.range.start < range.end
                && range.start < secret.range.end
        })
    };
    let unknown = within.filter(|range| !is_known(range));
    unknown.map(|range| line_numbers(shown, &range)).collect()
}

/// Adds to a result what is to be known of its lines; nothing where there is nothing.
pub fn note_key_lines(result: &mut Value, lines: &[[u64; 2]]) {
    if let (Some(fields), false) = (result.as_object_mut(), lines.is_empty()) {
        fields.insert(KEY_LINES.to_owned(), lines.iter().copied().map(Value::from_iter).collect());
    }
}

fn keys(text: &str) -> Vec<Range<usize>> {
    let mut found = if block::may_hold(text.as_bytes()) { block::find(text) } else { Vec::new() };
    found.extend(encoded::find(text));
    found.into_iter().filter(|secret| secret.kind == SecretKind::PrivateKey).map(|secret| secret.range).collect()
}

fn line_numbers(text: &str, range: &Range<usize>) -> [u64; 2] {
    let breaks = |to: usize| text.as_bytes().iter().take(to).filter(|byte| **byte == b'\n').count() as u64;
    [breaks(range.start) + 1, breaks(range.end.saturating_sub(1)) + 1]
}

/// What the lines that a result names come to in one of its fields.
pub(super) fn named(lines: Option<&Value>, field: &str, text: &str) -> Vec<Secret> {
    let pairs = lines.and_then(Value::as_array).filter(|_| FIELDS.contains(&field));
    let mut begins: Vec<usize> = vec![0];
    begins.extend(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1));
    let begin = |line: u64| usize::try_from(line).ok().and_then(|line| begins.get(line).copied()).unwrap_or(text.len());
    let pairs = pairs.into_iter().flatten().filter_map(|pair| {
        let first = pair.get(0)?.as_u64()?.checked_sub(1)?;
        let range = begin(first)..begin(pair.get(1)?.as_u64()?);
        let shown = text.get(range.clone())?.trim_end();
        (!shown.trim().is_empty())
            .then(|| Secret { range: range.start..range.start + shown.len(), kind: SecretKind::PrivateKey })
    });
    pairs.collect()
}

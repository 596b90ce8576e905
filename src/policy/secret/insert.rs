//! Rows of a database as SQL writes them: `INSERT INTO users (name, password) VALUES ('bob', '…')`. The name stands once, in
//! the list of columns.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::assignment::{is_secret_name, is_secret_value};
use super::plain::is_plain_behind;
use super::{Secret, SecretKind};

static INSERT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?-u:\b)(?:insert|replace)\s+(?:ignore\s+)?into\s+[^\s()]{1,120}\s*\(([^()]{1,2000})\)\s*values\s*",
    )
    .ok()
});

pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    for hit in INSERT.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let (Some(whole), Some(columns)) = (hit.get(0), hit.get(1)) else { continue };
        let is_around = |sign: char| sign.is_whitespace() || "\"'`[]".contains(sign);
        let columns: Vec<&str> = columns.as_str().split(',').map(|column| column.trim_matches(is_around)).collect();
        if !columns.iter().any(|column| is_secret_name(column)) {
            continue;
        }
        let mut at = whole.end();
        while let Some((values, end)) = row(text, at) {
            for (column, value) in columns.iter().zip(values) {
                let is_fit = |value: &str| is_secret_value(column, value) || is_plain_behind(column, value);
                let is_secret = |value: &str| is_secret_name(column) && is_fit(value);
                if text.get(value.clone()).is_some_and(is_secret) {
                    found.push(Secret { range: value, kind: SecretKind::Password });
                }
            }
            at = end;
        }
    }
    found
}

/// No row is read further, in bytes: one that nothing ends would be read to the end of the text.
const LONGEST_ROW: usize = 4096;

/// The values of a row that begins here, without their quotes, and where the next one may begin.
fn row(text: &str, from: usize) -> Option<(Vec<Range<usize>>, usize)> {
    let rest = text.get(from..)?;
    let rest = rest.get(..rest.floor_char_boundary(LONGEST_ROW))?;
    let bytes = rest.as_bytes();
    let mut at = rest.len() - rest.trim_start_matches([',', ' ', '\t', '\r', '\n']).len();
    if bytes.get(at) != Some(&b'(') {
        return None;
    }
    let mut values = Vec::new();
    let (mut begin, mut quote, mut depth) = (at + 1, None, 1_usize);
    while depth > 0 {
        at += 1;
        let byte = *bytes.get(at)?;
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(open), _) => quote = (byte != open).then_some(open),
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(') => depth += 1,
            // The next statement: the row was cut off.
            (None, b';') => return None,
            (None, b')') => depth -= 1,
            (None, _) => {}
        }
        if quote.is_none() && ((byte == b',' && depth == 1) || depth == 0) {
            values.push(unquoted(rest, begin..at, from));
            begin = at + 1;
        }
    }
    Some((values, from + at + 1))
}

fn unquoted(rest: &str, range: Range<usize>, offset: usize) -> Range<usize> {
    let is_around = |sign: char| sign.is_whitespace() || matches!(sign, '\'' | '"');
    let value = rest.get(range.clone()).unwrap_or_default();
    // `N'…'`, `E'…'`
    let value = value.trim_start();
    let value = value.strip_prefix(['N', 'E']).filter(|value| value.starts_with('\'')).unwrap_or(value);
    let start = range.end - value.len() + (value.len() - value.trim_start_matches(is_around).len());
    offset + start..offset + start + value.trim_matches(is_around).len()
}

#[cfg(test)]
mod tests {
    use super::super::find_secrets;

    fn found(text: &str) -> Vec<&str> {
        find_secrets(text).into_iter().map(|secret| &text[secret.range]).collect()
    }

    #[test]
    fn a_row_holds_a_secret_in_the_column_that_is_named_for_it() {
        for (text, expected) in [
            ("INSERT INTO users (name, password) VALUES ('bob', 'Kx82LpQ8zz');", &["Kx82LpQ8zz"][..]),
            (
                "insert into `shop`.`users` (`id`, `password`, `note`)\nvalues (1, 'Kx82LpQ8zz', 'a (b), c'),\n  (2, N'Xq82LpwZ7', NULL);",
                &["Kx82LpQ8zz", "Xq82LpwZ7"],
            ),
            ("REPLACE INTO t(a,\"api_key\") VALUES(now(),'it''s', 3), (lower('a'), 'Kx82LpQ8zz')", &["Kx82LpQ8zz"]),
            ("INSERT INTO users (name, colour) VALUES ('bob', 'Kx82LpQ8zz');", &[]),
            ("INSERT INTO users (name, password) VALUES (?, ?), ($1, $2), ('Kx82LpQ8zz', crypt('x', y))", &[]),
            ("INSERT INTO users (name, password) VALUES ('bob', 'cut off 1", &[]),
            ("INSERT INTO users (name, password) VALUES ('Kx82LpQ8zz', NULL); SELECT ('a', 'Kx82LpQ8zz')", &[]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}

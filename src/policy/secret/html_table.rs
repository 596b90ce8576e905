//! Tables of HTML with a column of passwords: the name stands once, in the cell of a heading.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::assignment::{is_secret_name, is_secret_value};
use super::{Secret, SecretKind};

/// The beginning of a row, the end of a table, or a cell with its text, whatever dresses it.
static PART: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)<(?:(?<edge>tr|/table)(?-u:\b)|t[hd](?:\s[^<>]{0,200})?>(?:\s*<[a-z][^<>]{0,80}>){0,4}\s*(?<cell>[^<>]{0,512}))").ok()
});

pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    if !text.contains("</") {
        return found;
    }
    // The columns that hold secrets, and what they are called.
    let mut headings: Vec<(usize, &str)> = Vec::new();
    let mut row: Vec<Range<usize>> = Vec::new();
    for hit in PART.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        if let Some(cell) = hit.name("cell") {
            row.push(cell.start()..cell.start() + cell.as_str().trim_end().len());
        } else if let Some(edge) = hit.name("edge") {
            take_row(text, &row, &mut headings, &mut found);
            row.clear();
            if edge.as_str().starts_with('/') {
                headings.clear();
            }
        }
    }
    take_row(text, &row, &mut headings, &mut found);
    found
}

fn take_row<'text>(
    text: &'text str,
    row: &[Range<usize>],
    headings: &mut Vec<(usize, &'text str)>,
    found: &mut Vec<Secret>,
) {
    let cells =
        || row.iter().enumerate().filter_map(move |(column, range)| Some((column, text.get(range.clone())?, range)));
    let named: Vec<(usize, &str)> =
        cells().filter(|(_, cell, _)| is_secret_name(cell)).map(|(column, cell, _)| (column, cell)).collect();
    if !named.is_empty() {
        *headings = named;
        return;
    }
    let name = |column: usize| headings.iter().find(|(named, _)| *named == column).map(|(_, name)| *name);
    let secret = cells().filter(|(column, cell, _)| name(*column).is_some_and(|name| is_secret_value(name, cell)));
    found.extend(secret.map(|(_, _, range)| Secret { range: range.clone(), kind: SecretKind::Password }));
}

#[cfg(test)]
mod tests {
    use super::super::find_secrets;

    #[test]
    fn a_cell_below_a_heading_that_names_a_secret_is_one() {
        let table = "<table><tr><th>User</th><th class=\"w\">Password</th></tr>\n<tr><td>bob</td><td><code>Kx82LpQ8zz</code></td></tr>\n\
            <tr>\n<td>eve1zzzQ9</td>\n<td> Xq82LpwZ7 </td>\n</tr></table><table><tr><td>a</td><td>Zq71LpwZ7</td></tr></table>";
        let found = |text: &str| -> Vec<String> {
            find_secrets(text).into_iter().map(|secret| text[secret.range].to_owned()).collect()
        };
        assert_eq!(found(table), ["Kx82LpQ8zz", "Xq82LpwZ7"]);
        assert_eq!(found(&table.replace("Password", "Colour")), [""; 0]);
    }
}

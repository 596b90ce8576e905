//! Tables with a column of passwords: separated by commas, semicolons, tabs or bars, or set below headings in capitals. The name stands once, above them all.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::assignment::{NAME, is_secret_name, is_secret_value};
use super::plain::is_plain_behind;
use super::{Secret, SecretKind};

static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("(?i){}", *NAME)).ok());

/// A heading is no longer, in bytes.
const LONGEST_HEADING: usize = 64;
/// What cells may be separated by; the first that a line has counts.
const SEPARATORS: [char; 4] = ['|', '\t', ';', ','];

/// Stands for two blanks or more, between which programs align their columns.
const BLANKS: char = ' ';

/// What a line of headings says of the lines below it.
struct Headings<'text> {
    separator: char,
    count: usize,
    /// Whether nothing stands right above them.
    is_first: bool,
    /// The columns that hold secrets, and what they are called.
    secret: Vec<(usize, &'text str)>,
}

pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut done = 0;
    for name in NAMED.iter().flat_map(|pattern| pattern.find_iter(text)) {
        if name.start() < done {
            continue;
        }
        let begin = text.get(..name.start()).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let (line, next) = line_at(text, begin);
        done = next;
        let Some(mut headings) = headings(line) else { continue };
        // In the middle of a list a name of something else would make a heading of its line.
        headings.is_first = text.get(..begin).is_some_and(|before| before.is_empty() || before.ends_with("\n\n"));
        while done < text.len() {
            let (row, next) = line_at(text, done);
            if !is_rule(row) && !take_row(&headings, row, done, &mut found) {
                break;
            }
            done = next;
        }
    }
    found
}

/// A line without its break, and where the next one begins.
fn line_at(text: &str, begin: usize) -> (&str, usize) {
    let rest = text.get(begin..).unwrap_or_default();
    let length = rest.find('\n').unwrap_or(rest.len());
    (rest.get(..length).unwrap_or_default().trim_end_matches('\r'), begin + length + 1)
}

fn headings(line: &str) -> Option<Headings<'_>> {
    let is_aligned = || line.contains("  ") && !line.contains(char::is_lowercase);
    let separator = SEPARATORS.into_iter().find(|separator| line.contains(*separator));
    let separator = separator.or_else(|| is_aligned().then_some(BLANKS))?;
    let cells = cells(line, separator);
    let texts: Vec<&str> = cells.iter().filter_map(|range| line.get(range.clone())).collect();
    // Code has commas too, and calls and types between them.
    let is_plain = |text: &&str| {
        text.len() <= LONGEST_HEADING && text.chars().all(|sign| sign.is_alphanumeric() || " _-./#".contains(sign))
    };
    if !texts.iter().all(is_plain) || texts.iter().filter(|text| !text.is_empty()).count() < 2 {
        return None;
    }
    let secret: Vec<_> = texts.into_iter().enumerate().filter(|(_, text)| is_secret_name(text)).collect();
    (!secret.is_empty()).then_some(Headings { separator, count: cells.len(), is_first: false, secret })
}

/// Notes the secrets of a row; whether it is one.
fn take_row(headings: &Headings<'_>, row: &str, begin: usize, found: &mut Vec<Secret>) -> bool {
    let cells = cells(row, headings.separator);
    if cells.len() != headings.count {
        return false;
    }
    for (column, heading) in &headings.secret {
        let Some(range) = cells.get(*column) else { continue };
        // Bars draw tables of documents too, in which a word says something of passwords.
        let is_plain = |value: &str| headings.is_first && headings.separator != '|' && is_plain_behind(heading, value);
        if row.get(range.clone()).is_some_and(|value| is_secret_value(heading, value) || is_plain(value)) {
            found.push(Secret { range: begin + range.start..begin + range.end, kind: SecretKind::Password });
        }
    }
    true
}

/// `|---|:--:|`, `-----+-----`: what is drawn between headings and rows.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.bytes().all(|byte| b"-+|=: \t".contains(&byte))
}

/// The cells of a line, without the blanks and quotes around them. A separator between quotes divides nothing.
fn cells(line: &str, separator: char) -> Vec<Range<usize>> {
    let mut cells = Vec::new();
    if separator == BLANKS {
        let mut begin = 0;
        for cell in line.split("  ") {
            let range = trimmed(line, begin..begin + cell.len());
            if !range.is_empty() {
                cells.push(range);
            }
            begin += cell.len() + 2;
        }
        return cells;
    }
    let (mut begin, mut is_quoted) = (0, false);
    for (at, sign) in line.char_indices() {
        if sign == '"' {
            is_quoted = !is_quoted;
        } else if sign == separator && !is_quoted {
            cells.push(trimmed(line, begin..at));
            begin = at + sign.len_utf8();
        }
    }
    cells.push(trimmed(line, begin..line.len()));
    cells
}

fn trimmed(line: &str, range: Range<usize>) -> Range<usize> {
    let is_around = |sign: char| sign.is_whitespace() || matches!(sign, '"' | '\'' | '`' | '*');
    let cell = line.get(range.clone()).unwrap_or_default();
    let start = range.start + (cell.len() - cell.trim_start_matches(is_around).len());
    start..start + cell.trim_matches(is_around).len()
}

#[cfg(test)]
mod tests {

    fn found(text: &str) -> Vec<&str> {
        super::super::find_secrets(text).into_iter().map(|secret| &text[secret.range]).collect()
    }

    /// Each with a control: the same table with another heading.
    #[test]
    fn the_cells_below_a_heading_that_says_password_are_secrets() {
        for table in [
            "host,user,password\na.example,bob,Kx82LpQ8zz\nb.example,eve,Summer2026!\n",
            "\"host\",\"user\",\"password\"\r\n\"a, b\",\"bob\",\"Kx82LpQ8zz\"\r\n\"c\",\"eve\",\"Summer2026!\"\r\n",
            "user;password;note\nbob;Kx82LpQ8zz;a\neve;Summer2026!;b",
            "user\tDB_PASSWORD\nbob\tKx82LpQ8zz\neve\tSummer2026!\n",
            "| user | password |\n|------|:--------:|\n| bob | Kx82LpQ8zz |\n| eve | `Summer2026!` |\n",
            " user | password \n------+----------\n bob | Kx82LpQ8zz\n eve | Summer2026!\n",
            "USER   PASSWORD     HOST\nbob    Kx82LpQ8zz   db1\neve    Summer2026!  db2\n",
            "用户,密码\n小明,Kx82LpQ8zz\n小红,Summer2026!\n",
            "| 用户 | 密码 |\n| --- | --- |\n| 小明 | Kx82LpQ8zz |\n| 小红 | Summer2026! |",
        ] {
            assert_eq!(found(table), ["Kx82LpQ8zz", "Summer2026!"], "{table}");
            let control = table
                .replace("password", "colour")
                .replace("DB_PASSWORD", "COLOUR")
                .replace("PASSWORD", "COLOUR")
                .replace("密码", "颜色");
            assert_eq!(found(&control), [""; 0], "{control}");
        }
    }

    #[test]
    fn what_is_no_table_of_passwords_is_left_alone() {
        for text in [
            "login(user, password)\ncheck(user, a1b2c3d4)\n",
            "user,password\n\nbob,Kx82LpQ8zz\n",
            "\"token\",\n\"num2cell\",\n",
            "equals!(Kind; token);\nequals!(Kind2cell; Simple(0 1) num2cell);\n",
            "user,password\nbob,Kx82LpQ8zz,more\n",
            "user,password\nbob,none\neve,\n",
            "-p  password\n-n  Kx82LpQ8zz\n",
            "| option | password |\n|---|---|\n| type | string |\n| since | 2026-11-30 |\n",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}

//! A word with its quotes taken off, as far as the text alone shows what it will be.
//!
//! What it cannot show is kept apart by characters that no command line holds (`source` refuses control characters).

use std::collections::BTreeMap;

use super::effort::Effort;
use super::syntax::{UNKNOWN, is_name_char};

/// The home folder: `~` or `$HOME`.
pub(super) const HOME: char = '\u{1}';
/// A `*` that the shell will expand.
pub(super) const STAR: char = '\u{2}';

/// Known values of variables.
pub(super) type Variables = BTreeMap<String, String>;

/// The fields that a word, as it was written, expands to: usually one, more after `{a,b}`, `$IFS` and variables with blanks.
/// What cannot be paid for stays out.
pub(super) fn scan(raw: &str, variables: &Variables, effort: &mut Effort) -> Vec<String> {
    let mut fields = Vec::new();
    for raw in expand_braces(raw, effort) {
        if !effort.pay(raw.len() + 1) {
            break;
        }
        let mut scanner = Scanner { chars: raw.chars().collect(), at: 0, variables, effort, fields, field: None };
        scanner.unquoted();
        fields = scanner.fields;
        fields.extend(scanner.field.take());
    }
    fields
}

/// A field as script text again, for `sh -c` and `eval`.
pub(super) fn to_script(field: &str) -> String {
    field.replace(UNKNOWN, "${_}").replace(HOME, "~").replace(STAR, "*")
}

struct Scanner<'a> {
    chars: Vec<char>,
    at: usize,
    variables: &'a Variables,
    effort: &'a mut Effort,
    fields: Vec<String>,
    field: Option<String>,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn push(&mut self, c: char) {
        self.field.get_or_insert_default().push(c);
    }

    fn unquoted(&mut self) {
        if self.peek() == Some('~') {
            let is_of_name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
            let name = self.chars.iter().skip(1).take_while(|c| is_of_name(c)).count();
            // `~` and `~name` are homes.
            if matches!(self.chars.get(1 + name), None | Some('/' | ':')) {
                self.at += 1 + name;
                self.push(HOME);
            }
        }
        while let Some(c) = self.next() {
            match c {
                '\'' => {
                    self.field.get_or_insert_default();
                    while let Some(c) = self.next().filter(|c| *c != '\'') {
                        self.push(c);
                    }
                }
                '"' => {
                    self.field.get_or_insert_default();
                    self.quoted();
                }
                '\\' => match self.next() {
                    None | Some('\n') => {}
                    Some(c) => self.push(c),
                },
                '$' if self.peek() == Some('\'') => {
                    self.at += 1;
                    self.ansi_c();
                }
                // `$"…"` is translated text: quoted as usual.
                '$' if self.peek() == Some('"') => {}
                '$' => self.dollar(Quoting::Unquoted),
                '*' => self.push(STAR),
                c => self.push(c),
            }
        }
    }

    fn quoted(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' => match self.next() {
                    None | Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '$' => self.dollar(Quoting::Quoted),
                c => self.push(c),
            }
        }
    }

    fn ansi_c(&mut self) {
        self.field.get_or_insert_default();
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                '\\' => {
                    let decoded = match self.next() {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('x') => self.number(16, 2),
                        Some('u') => self.number(16, 4),
                        Some('U') => self.number(16, 8),
                        Some('0'..='7') => {
                            self.at -= 1;
                            self.number(8, 3)
                        }
                        Some(c @ ('\\' | '\'' | '"' | '?')) => c,
                        Some(_) | None => UNKNOWN,
                    };
                    self.push(decoded);
                }
                c => self.push(c),
            }
        }
    }

    fn number(&mut self, radix: u32, digits_max: usize) -> char {
        let mut value = 0_u32;
        for _ in 0..digits_max {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else { break };
            self.at += 1;
            value = value.wrapping_mul(radix).wrapping_add(digit);
        }
        char::from_u32(value).unwrap_or(UNKNOWN)
    }

    fn dollar(&mut self, quoting: Quoting) {
        match self.peek() {
            Some('{') => {
                self.at += 1;
                let name = self.name();
                self.at += 1;
                self.variable(&name, quoting);
            }
            Some(c) if is_name_char(c) && !c.is_ascii_digit() => {
                let name = self.name();
                self.variable(&name, quoting);
            }
            // What runs the line.
            Some('0') => {
                self.at += 1;
                "sh".chars().for_each(|c| self.push(c));
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.at += 1;
                self.push(UNKNOWN);
            }
            Some(_) | None => self.push('$'),
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|c| is_name_char(*c)) {
            name.push(c);
            self.at += 1;
        }
        name
    }

    fn variable(&mut self, name: &str, quoting: Quoting) {
        let value = match name {
            "HOME" => return self.push(HOME),
            "IFS" => " ".to_owned(),
            _ => match self.variables.get(name) {
                Some(value) if self.effort.pay(value.len()) => value.clone(),
                Some(_) | None => return self.push(UNKNOWN),
            },
        };
        match quoting {
            Quoting::Quoted => value.chars().for_each(|c| self.push(c)),
            Quoting::Unquoted => {
                for c in value.chars() {
                    if matches!(c, ' ' | '\t' | '\n') {
                        self.fields.extend(self.field.take());
                    } else {
                        self.push(c);
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Quoting {
    Quoted,
    Unquoted,
}

/// `a{b,c}d` → `abd`, `acd`. At most some dozens; what would give more stays as it is.
fn expand_braces(raw: &str, effort: &mut Effort) -> Vec<String> {
    const WORDS_MAX: usize = 64;
    let mut done = Vec::new();
    let mut waiting = vec![raw.to_owned()];
    while let Some(word) = waiting.pop() {
        match first_brace(&word) {
            Some((before, choices, after))
                if done.len() + waiting.len() + choices.len() <= WORDS_MAX
                    && effort.pay(choices.len() * (before.len() + after.len())) =>
            {
                waiting.extend(choices.iter().rev().map(|choice| format!("{before}{choice}{after}")));
            }
            Some(_) | None => done.push(word),
        }
    }
    done
}

/// The first unquoted `{…,…}` of a word.
fn first_brace(word: &str) -> Option<(&str, Vec<&str>, &str)> {
    let mut quote = None;
    let mut before = ' ';
    // Where the outermost open brace is, and its commas.
    let mut open: Option<(usize, Vec<usize>)> = None;
    let mut depth = 0_usize;
    for (index, c) in word.char_indices() {
        let is_escaped = before == '\\' && quote != Some('\'');
        // A doubled backslash escapes nothing further.
        let previous = std::mem::replace(&mut before, if is_escaped { ' ' } else { c });
        match (quote, c) {
            _ if is_escaped => {}
            (Some(q), c) if q == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '{') => {
                if depth == 0 && previous != '$' {
                    open = Some((index, Vec::new()));
                }
                depth += 1;
            }
            (None, ',') if depth == 1 => {
                if let Some((_, commas)) = &mut open {
                    commas.push(index);
                }
            }
            (None, '}') => {
                depth = depth.saturating_sub(1);
                if depth > 0 {
                    continue;
                }
                let Some((start, commas)) = open.take() else { continue };
                if !commas.is_empty() {
                    let mut edges = vec![start];
                    edges.extend(commas);
                    edges.push(index);
                    let choices = edges.windows(2).filter_map(|edge| word.get(edge.first()? + 1..*edge.last()?));
                    return Some((word.get(..start)?, choices.collect(), word.get(index + 1..)?));
                }
            }
            (Some(_) | None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::command::source::parse;
    use crate::policy::command::syntax::Command;

    fn fields(raw: &str) -> Vec<String> {
        let variables = Variables::from([("a".to_owned(), "rm".to_owned()), ("b".to_owned(), "x y".to_owned())]);
        let program = parse(&format!("x {raw}"), 0).unwrap();
        let [Command::Simple(simple)] = program.0[0].pipelines[0].commands.as_slice() else { panic!("{raw}") };
        scan(&simple.words[1].raw, &variables, &mut Effort::default())
    }

    #[test]
    fn quotes_are_taken_off_as_the_shell_does() {
        for (raw, expected) in [
            ("plain", "plain"),
            ("'a b'", "a b"),
            ("\"a b\"", "a b"),
            ("r''m", "rm"),
            ("r\\m", "rm"),
            ("\"r\"m", "rm"),
            ("$'\\x72m'", "rm"),
            ("$'\\162\\155'", "rm"),
            ("$'a\\nb'", "a\nb"),
            ("\"a\\\"b\\c\"", "a\"b\\c"),
            ("''", ""),
            ("~", "\u{1}"),
            ("~/x", "\u{1}/x"),
            ("'~'", "~"),
            ("a~", "a~"),
            ("~root/x", "\u{1}/x"),
            ("$0", "sh"),
            ("$HOME/x", "\u{1}/x"),
            ("\"${HOME}\"", "\u{1}"),
            ("/*", "/\u{2}"),
            ("'/*'", "/*"),
            ("$a", "rm"),
            ("\"$b\"", "x y"),
            ("${a}x", "rmx"),
            ("x$nobody", "x\u{0}"),
            ("$(ls)x", "\u{0}x"),
            ("$1", "\u{0}"),
            ("a$", "a$"),
            ("${x:-y}", "\u{0}"),
            ("$((1+2))", "\u{0}"),
        ] {
            assert_eq!(fields(raw), [expected], "{raw}");
        }
    }

    #[test]
    fn one_word_may_become_several() {
        assert_eq!(fields("rm$IFS-rf${IFS}/"), ["rm", "-rf", "/"]);
        assert_eq!(fields("$b"), ["x", "y"]);
        assert_eq!(fields("{rm,-rf,/}"), ["rm", "-rf", "/"]);
        assert_eq!(fields("a{b,{c,d}}e"), ["abe", "ace", "ade"]);
        assert_eq!(fields("'{a,b}'"), ["{a,b}"]);
        assert_eq!(fields("{a}"), ["{a}"]);
        assert_eq!(fields("${a}{1,2}"), ["rm1", "rm2"]);
        assert!(fields(&"{a,b}".repeat(40)).len() <= 64);
    }

    #[test]
    fn what_a_short_word_may_become_is_bounded() {
        let mut effort = Effort::default();
        let variables = Variables::from([("a".to_owned(), "x".repeat(2000))]);
        let fields = scan(&("$a".repeat(10_000) + &"{b,c}".repeat(6)), &variables, &mut effort);
        assert!(fields.iter().map(String::len).sum::<usize>() < 4 * 1024 * 1024);
        assert!(effort.is_spent());
    }

    proptest::proptest! {
        #[test]
        fn no_word_makes_it_panic(raw in r#"[a-z$(){}\[\]'"`\\,~* ]{0,40}"#) {
            let _ = scan(&raw, &Variables::new(), &mut Effort::default());
        }
    }
}

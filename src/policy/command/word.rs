//! A word with its quotes taken off, as far as the text alone shows what it will be.
//!
//! What it cannot show is kept apart by characters that no command line holds (`source` refuses control characters).

use std::collections::BTreeMap;

/// Something that only the shell knows: a variable, what a command prints.
pub(super) const UNKNOWN: char = '\u{0}';
/// The home folder: `~` or `$HOME`.
pub(super) const HOME: char = '\u{1}';
/// A `*` that the shell will expand.
pub(super) const STAR: char = '\u{2}';

/// What expansion of one word gives.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    /// The fields: usually one, more after `{a,b}`, `$IFS` and variables with blanks.
    pub(super) fields: Vec<String>,
    /// The texts of the commands inside it.
    pub(super) commands: Vec<String>,
}

/// Known values of variables.
pub(super) type Variables = BTreeMap<String, String>;

/// Takes a word apart.
pub(super) fn scan(raw: &str, variables: &Variables) -> Scanned {
    let mut scanned = Scanned::default();
    for raw in expand_braces(raw) {
        let mut scanner = Scanner::new(&raw, variables);
        scanner.unquoted();
        scanned.fields.append(&mut scanner.fields);
        scanned.fields.extend(scanner.field.take());
        scanned.commands.append(&mut scanner.commands);
    }
    scanned
}

/// The commands inside a text that is expanded as if in double quotes: a here-document, an arithmetic expression.
pub(super) fn commands_in(text: &str) -> Vec<String> {
    let variables = Variables::new();
    let mut scanner = Scanner::new(text, &variables);
    scanner.quoted(None);
    scanner.commands
}

/// A field as script text again, for `sh -c` and `eval`.
pub(super) fn to_script(field: &str) -> String {
    field.replace(UNKNOWN, "${_}").replace(HOME, "~").replace(STAR, "*")
}

struct Scanner<'a> {
    chars: Vec<char>,
    at: usize,
    variables: &'a Variables,
    fields: Vec<String>,
    field: Option<String>,
    commands: Vec<String>,
}

impl<'a> Scanner<'a> {
    fn new(text: &str, variables: &'a Variables) -> Self {
        let (chars, fields, commands) = (text.chars().collect(), Vec::new(), Vec::new());
        Self { chars, at: 0, variables, fields, field: None, commands }
    }

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
        if self.peek() == Some('~') && matches!(self.chars.get(1), None | Some('/' | ':')) {
            self.at += 1;
            self.push(HOME);
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
                    self.quoted(Some('"'));
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
                '`' => self.backquoted(),
                '*' => self.push(STAR),
                c => self.push(c),
            }
        }
    }

    /// To the closing character, or to the end.
    fn quoted(&mut self, end: Option<char>) {
        while let Some(c) = self.next() {
            match c {
                c if Some(c) == end => return,
                '\\' => match self.next() {
                    None | Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '$' => self.dollar(Quoting::Quoted),
                '`' => self.backquoted(),
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
            Some('(') => {
                self.at += 1;
                let inner = self.balanced('(', ')');
                match inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
                    Some(arithmetic) => self.commands.extend(commands_in(arithmetic)),
                    None => self.commands.push(inner),
                }
                self.push(UNKNOWN);
            }
            Some('[') => {
                self.at += 1;
                let inner = self.balanced('[', ']');
                self.commands.extend(commands_in(&inner));
                self.push(UNKNOWN);
            }
            Some('{') => {
                self.at += 1;
                let inner = self.balanced('{', '}');
                let name_end = inner.find(|c: char| !is_name_char(c)).unwrap_or(inner.len());
                let (name, rest) = inner.split_at(name_end);
                self.commands.extend(commands_in(rest));
                if rest.is_empty() || name == "HOME" || name == "IFS" {
                    self.variable(name, quoting);
                } else {
                    self.push(UNKNOWN);
                }
            }
            Some(c) if is_name_char(c) && !c.is_ascii_digit() => {
                let mut name = String::new();
                while let Some(c) = self.peek().filter(|c| is_name_char(*c)) {
                    name.push(c);
                    self.at += 1;
                }
                self.variable(&name, quoting);
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.at += 1;
                self.push(UNKNOWN);
            }
            Some(_) | None => self.push('$'),
        }
    }

    fn variable(&mut self, name: &str, quoting: Quoting) {
        let value = match name {
            "HOME" => return self.push(HOME),
            "IFS" => " ".to_owned(),
            _ => match self.variables.get(name) {
                Some(value) => value.clone(),
                None => return self.push(UNKNOWN),
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

    fn backquoted(&mut self) {
        let mut inner = String::new();
        while let Some(c) = self.next().filter(|c| *c != '`') {
            match c {
                '\\' => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some(c) => inner.extend(['\\', c]),
                    None => {}
                },
                c => inner.push(c),
            }
        }
        self.commands.push(inner);
        self.push(UNKNOWN);
    }

    /// The text up to the bracket that closes one already read; quotes inside are respected.
    fn balanced(&mut self, open: char, close: char) -> String {
        let mut inner = String::new();
        let mut depth = 1_usize;
        let mut quote = None;
        while let Some(c) = self.next() {
            match (quote, c) {
                (Some('\''), '\'') | (Some('"'), '"') => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None | Some('"'), '\\') => {
                    inner.push(c);
                    inner.extend(self.next());
                    continue;
                }
                (None, c) if c == open => depth += 1,
                (None, c) if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
            inner.push(c);
        }
        inner
    }
}

#[derive(Clone, Copy)]
enum Quoting {
    Quoted,
    Unquoted,
}

const fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `a{b,c}d` → `abd`, `acd`. At most some dozens; what would give more stays as it is.
fn expand_braces(raw: &str) -> Vec<String> {
    const WORDS_MAX: usize = 64;
    let mut done = Vec::new();
    let mut waiting = vec![raw.to_owned()];
    while let Some(word) = waiting.pop() {
        match first_brace(&word) {
            Some((before, choices, after)) if done.len() + waiting.len() + choices.len() <= WORDS_MAX => {
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
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '{' | '(') => {
                if depth == 0 && c == '{' && previous != '$' {
                    open = Some((index, Vec::new()));
                }
                depth += 1;
            }
            (None, ',') if depth == 1 => {
                if let Some((_, commas)) = &mut open {
                    commas.push(index);
                }
            }
            (None, '}' | ')') => {
                depth = depth.saturating_sub(1);
                if depth > 0 {
                    continue;
                }
                let Some((start, commas)) = open.take() else { continue };
                if c == '}' && !commas.is_empty() {
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

    fn fields(raw: &str) -> Vec<String> {
        let variables = Variables::from([("a".to_owned(), "rm".to_owned()), ("b".to_owned(), "x y".to_owned())]);
        scan(raw, &variables).fields
    }

    fn commands(raw: &str) -> Vec<String> {
        scan(raw, &Variables::new()).commands
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
    fn commands_inside_are_found() {
        assert_eq!(commands("$(ls -l)"), ["ls -l"]);
        assert_eq!(commands("\"a $(ls \")\" x) b\""), ["ls \")\" x"]);
        assert_eq!(commands("`date`"), ["date"]);
        assert_eq!(commands("`a \\`b\\``"), ["a `b`"]);
        assert_eq!(commands("${x:-$(id)}"), ["id"]);
        assert_eq!(commands("$((1 + $(id -u)))"), ["id -u"]);
        assert_eq!(commands("'$(ls)'"), Vec::<String>::new());
        assert_eq!(commands("$(a)$(b)"), ["a", "b"]);
        assert_eq!(commands_in("hello $(id) `date`"), ["id", "date"]);
    }

    proptest::proptest! {
        #[test]
        fn no_word_makes_it_panic(raw in r#"[a-z$(){}\[\]'"`\\,~* ]{0,40}"#) {
            let _ = scan(&raw, &Variables::new());
            let _ = commands_in(&raw);
        }
    }
}

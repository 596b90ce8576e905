//! Words: quotes, and what the shell puts in place of `$…` and backquotes.

use super::Reader;
use crate::policy::command::syntax::{UNKNOWN, Word, is_name, is_name_char};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Unquoted,
    Quoted,
}

impl Reader {
    /// A word; there must be one.
    pub(super) fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        loop {
            if word.raw.is_empty() && (self.accept("<(") || self.accept(">(")) {
                self.substitution(&mut word)?;
            } else if self.peek() == Some('(') && is_array_head(&word.raw) {
                self.deeper(|reader| reader.array(&mut word))?;
            } else if self.is_at_word_end() {
                // `{fd}>file` sets a variable, `{a[…]}>file` an element.
                word.may_evaluate |= word.raw.starts_with('{') && matches!(self.peek(), Some('<' | '>'));
                return (!word.raw.is_empty()).then_some(word);
            } else {
                self.piece(&mut word, Quoting::Unquoted)?;
            }
        }
    }

    /// A regular expression, as it stands behind `=~`: its brackets and bars end no word.
    pub(super) fn pattern(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let mut open = 0_usize;
        loop {
            match self.peek()? {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                '|' => {}
                ' ' | '\t' if open > 0 => {}
                _ if self.is_at_word_end() => return (!word.raw.is_empty()).then_some(word),
                _ => {}
            }
            self.piece(&mut word, Quoting::Unquoted)?;
        }
    }

    /// The next character of a word, or the quotation or substitution that begins there.
    fn piece(&mut self, word: &mut Word, quoting: Quoting) -> Option<()> {
        match self.next()? {
            '$' => self.dollar(word, quoting),
            '`' => self.backquoted(word, quoting),
            '\\' => {
                let escaped = self.verbatim()?;
                word.raw.extend(['\\', escaped]);
                Some(())
            }
            '"' => {
                word.raw.push('"');
                self.quoted(word, Some('"'))
            }
            '\'' => {
                word.raw.push('\'');
                self.single_quoted(word)
            }
            c => {
                word.raw.push(c);
                Some(())
            }
        }
    }

    fn single_quoted(&mut self, word: &mut Word) -> Option<()> {
        let (inside, _) = self.rest().split_once('\'')?;
        let length = inside.len() + 1;
        word.raw.extend([inside, "'"]);
        self.at += length;
        Some(())
    }

    /// What is expanded but not split: up to the closing character, or all of the text.
    pub(super) fn quoted(&mut self, word: &mut Word, end: Option<char>) -> Option<()> {
        loop {
            let Some(c) = self.peek() else { return end.is_none().then_some(()) };
            if matches!(c, '"' | '\'') {
                self.at += 1;
                word.raw.push(c);
                if Some(c) == end {
                    return Some(());
                }
            } else {
                self.piece(word, Quoting::Quoted)?;
            }
        }
    }

    /// What follows `$`.
    fn dollar(&mut self, word: &mut Word, quoting: Quoting) -> Option<()> {
        if self.accept("((") {
            let mut inside = Word::default();
            self.deeper(|reader| reader.arithmetic(&mut inside))?;
            word.raw.push(UNKNOWN);
            word.commands.append(&mut inside.commands);
            word.may_evaluate |= inside.may_evaluate;
            return Some(());
        }
        if self.accept("(") {
            return self.substitution(word);
        }
        if self.accept("{") {
            return self.deeper(|reader| reader.parameter(word, quoting));
        }
        match self.peek() {
            // An expression to some, a text to others.
            Some('[') => None,
            Some('\'') if quoting == Quoting::Unquoted => {
                self.at += 1;
                word.raw.push_str("$'");
                let from = word.raw.len();
                self.single_quoted(word)?;
                // `\'` goes on to some and ends to others.
                let inside = word.raw.get(from..)?.strip_suffix('\'')?;
                (inside.chars().rev().take_while(|c| *c == '\\').count() % 2 == 0).then_some(())
            }
            Some(c) if "@*#?-$!".contains(c) => {
                self.at += 1;
                word.raw.extend(['$', c]);
                Some(())
            }
            Some(_) | None => {
                word.raw.push('$');
                Some(())
            }
        }
    }

    /// The commands up to `)`.
    fn substitution(&mut self, word: &mut Word) -> Option<()> {
        // A document of the line around it does not begin in here.
        let outer = std::mem::take(&mut self.pending);
        let from = self.at;
        let list = self.deeper(Self::list)?;
        self.expect(")")?;
        let has_lines = !outer.is_empty() && self.text.get(from..self.at)?.contains('\n');
        if has_lines || !self.pending.is_empty() {
            return None;
        }
        self.pending = outer;
        word.raw.push(UNKNOWN);
        word.commands.push(list);
        Some(())
    }

    /// An expression up to `))`. An apostrophe is a quote to some and a character to others.
    pub(super) fn arithmetic(&mut self, word: &mut Word) -> Option<()> {
        let mut open = 0_usize;
        loop {
            match self.peek()? {
                '(' => open += 1,
                ')' if open == 0 => {
                    // Of a name the value is read, and as an expression once more.
                    word.may_evaluate |=
                        !word.raw.chars().all(|c| c.is_ascii_digit() || " +-*/%()<>!&|^~?:\t".contains(c));
                    return self.expect("))");
                }
                ')' => open -= 1,
                '\'' => return None,
                _ => {}
            }
            self.piece(word, Quoting::Quoted)?;
        }
    }

    /// What follows `${`, up to `}`.
    fn parameter(&mut self, word: &mut Word, quoting: Quoting) -> Option<()> {
        // `${ …; }` and `${|…}` run commands in some shells.
        if !self.peek().is_some_and(|c| is_name_char(c) || "#!@*?-$".contains(c)) {
            return None;
        }
        let mut inside = Word::default();
        while !self.accept("}") {
            let is_substitution = self.is_at("<(") || self.is_at(">(");
            let is_apostrophe = self.peek() == Some('\'');
            // Shells differ about both.
            if is_substitution || (is_apostrophe && quoting == Quoting::Quoted) {
                return None;
            }
            self.piece(&mut inside, quoting)?;
        }
        word.commands.append(&mut inside.commands);
        word.may_evaluate |= inside.may_evaluate || !is_only_looked_up(&inside.raw);
        let end = inside.raw.find(|c| !is_name_char(c)).unwrap_or(inside.raw.len());
        let (name, rest) = inside.raw.split_at_checked(end)?;
        if is_name(name) && (rest.is_empty() || matches!(name, "HOME" | "IFS")) {
            word.raw.extend(["${", name, "}"]);
        } else {
            let whole = inside.with_defaults();
            let default = whole.get(end..).and_then(|rest| {
                let rest = rest.strip_prefix(':').unwrap_or(rest);
                rest.strip_prefix(['-', '=', '+'])
            });
            word.defaults.extend(default.map(|default| (word.raw.len(), default.to_owned())));
            word.raw.push(UNKNOWN);
        }
        Some(())
    }

    /// What follows a backquote, up to the next: a text of its own, with some backslashes of its own.
    fn backquoted(&mut self, word: &mut Word, quoting: Quoting) -> Option<()> {
        let mut inside = String::new();
        loop {
            match self.verbatim()? {
                '`' => break,
                '\\' => match self.verbatim()? {
                    c @ ('`' | '\\' | '$') => inside.push(c),
                    // Shells differ.
                    '"' if quoting == Quoting::Quoted => return None,
                    c => inside.extend(['\\', c]),
                },
                c => inside.push(c),
            }
        }
        let list = self.nested(inside, Self::program)?;
        word.raw.push(UNKNOWN);
        word.commands.push(list);
        Some(())
    }

    /// `(…)` behind `name=`.
    fn array(&mut self, word: &mut Word) -> Option<()> {
        self.expect("(")?;
        word.raw.push(UNKNOWN);
        loop {
            self.blank_lines()?;
            if self.accept(")") {
                return Some(());
            }
            let mut element = self.word()?;
            word.commands.append(&mut element.commands);
            // `[…]=value` names its place by an expression.
            word.may_evaluate |= element.may_evaluate || element.raw.starts_with('[');
        }
    }
}

/// Whether what stands in `${…}` gives a variable's value, its length, a default or a part by a pattern, and does nothing
/// else: no index, no offset, no name of a name, no `@P`.
fn is_only_looked_up(inside: &str) -> bool {
    let name = inside.strip_prefix('#').filter(|rest| !rest.is_empty()).unwrap_or(inside);
    let is_special = name.starts_with(['#', '@', '*', '?', '-', '$', '!']);
    let end = if is_special { 1 } else { name.find(|c| !is_name_char(c)).unwrap_or(name.len()) };
    let rest = name.get(end..).unwrap_or_default();
    let after_colon = rest.strip_prefix(':');
    let is_default = after_colon.unwrap_or(rest).starts_with(['-', '+', '?']);
    let is_pattern = after_colon.is_none() && rest.starts_with(['#', '%', '/', '^', ',']);
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let is_cut = after_colon.is_some_and(|cut| cut.split(':').all(is_number));
    end > 0 && !inside.contains('=') && (rest.is_empty() || is_default || is_pattern || is_cut)
}

/// Whether a word so far is `name=` or `name+=`.
fn is_array_head(raw: &str) -> bool {
    raw.strip_suffix('=').is_some_and(|name| is_name(name.strip_suffix('+').unwrap_or(name)))
}

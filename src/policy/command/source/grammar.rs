//! The grammar of commands. What comes next is decided by what stands there, never by trying.

use super::Reader;
use crate::policy::command::syntax::{
    Command, Compound, Item, List, Pipeline, Redirect, Simple, Word, is_name, is_name_char,
};

/// Words that end a list where a command could begin.
const CLOSERS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];
/// Words that begin a compound command.
const OPENERS: &[&str] = &["{", "if", "while", "until", "for", "select", "case", "[["];

impl Reader {
    /// Commands up to what ends them, which is not read.
    pub(super) fn list(&mut self) -> Option<List> {
        let mut items = Vec::new();
        loop {
            self.blank_lines()?;
            if matches!(self.peek(), None | Some(')' | ';')) || self.is_at_word(CLOSERS) {
                return Some(List(items));
            }
            let pipelines = self.pipelines()?;
            self.blanks();
            // The end of a branch of `case`.
            let is_branch_end = self.is_at(";;") || self.is_at(";&");
            let is_async = !is_branch_end && self.accept("&");
            let goes_on = is_async || (!is_branch_end && self.accept(";")) || self.peek() == Some('\n');
            items.push(Item { pipelines, is_async });
            if !goes_on {
                return Some(List(items));
            }
        }
    }

    fn filled_list(&mut self) -> Option<List> {
        self.list().filter(|list| !list.0.is_empty())
    }

    fn pipelines(&mut self) -> Option<Vec<Pipeline>> {
        let mut pipelines = vec![self.pipeline()?];
        loop {
            self.blanks();
            let is_alternative = self.accept("||");
            if !is_alternative && !self.accept("&&") {
                return Some(pipelines);
            }
            self.blank_lines()?;
            pipelines.push(Pipeline { is_alternative, ..self.pipeline()? });
        }
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        let mut is_prefixed = false;
        loop {
            self.blanks();
            if self.accept_word("time") {
                self.blanks();
                while self.accept_word("-p") || self.accept_word("--") {
                    self.blanks();
                }
            } else if !self.accept_word("!") {
                break;
            }
            is_prefixed = true;
        }
        let mut commands = Vec::new();
        if is_prefixed && matches!(self.peek(), None | Some('\n' | ';' | ')')) {
            return Some(Pipeline { commands, is_prefixed, is_alternative: false });
        }
        loop {
            commands.push(self.command()?);
            self.blanks();
            if self.is_at("||") || !(self.accept("|&") || self.accept("|")) {
                return Some(Pipeline { commands, is_prefixed, is_alternative: false });
            }
            self.blank_lines()?;
        }
    }

    fn command(&mut self) -> Option<Command> {
        self.blanks();
        if self.accept_word("function") {
            self.blanks();
            let name = self.word()?.plain()?.to_owned();
            self.blanks();
            if self.accept("(") {
                self.blanks();
                self.expect(")")?;
            }
            return self.function(name);
        }
        if self.accept_word("coproc") {
            // It runs beside the rest, in a shell of its own.
            let commands = vec![self.deeper(Self::command)?];
            let pipelines = vec![Pipeline { commands, ..Pipeline::default() }];
            let body = Compound::Subshell(List(vec![Item { pipelines, is_async: true }]));
            return Some(Command::Compound { body, redirects: Vec::new() });
        }
        if self.is_at_compound() {
            let body = self.deeper(Self::compound)?;
            return Some(Command::Compound { body, redirects: self.redirects()? });
        }
        if self.is_at_word(CLOSERS) { None } else { self.simple() }
    }

    fn function(&mut self, name: String) -> Option<Command> {
        self.blank_lines()?;
        if !self.is_at_compound() {
            return None;
        }
        let body = self.deeper(Self::compound)?;
        Some(Command::Function { name, body, redirects: self.redirects()? })
    }

    fn simple(&mut self) -> Option<Command> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            if self.is_at_redirect() {
                simple.redirects.push(self.redirect()?);
                continue;
            }
            if matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | '(' | ')')) {
                break;
            }
            // To a shell that does not know `&>` a command begins behind it.
            if simple.redirects.iter().any(|redirect| matches!(redirect, Redirect::WritesBoth(_))) {
                return None;
            }
            let word = self.word()?;
            // Only a pipeline as a whole is negated.
            if simple.words.is_empty() && (has_torn_subscript(&word) || word.raw == "!") {
                return None;
            }
            if simple.words.is_empty() && word.assignment().is_some() {
                simple.assignments.push(word);
                continue;
            }
            let is_first = simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty();
            simple.words.push(word);
            self.blanks();
            if is_first && self.accept("(") {
                self.blanks();
                self.expect(")")?;
                let name = simple.words.pop()?.plain()?.to_owned();
                return self.function(name);
            }
        }
        let is_empty = simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty();
        (!is_empty).then_some(Command::Simple(simple))
    }

    fn is_at_compound(&mut self) -> bool {
        self.peek() == Some('(') || self.is_at_word(OPENERS)
    }

    fn compound(&mut self) -> Option<Compound> {
        let mut parts = Parts::default();
        if self.accept("((") {
            let mut expression = Word::default();
            self.arithmetic(&mut expression)?;
            return Some(Compound::Arithmetic(expression));
        }
        if self.accept("(") {
            let list = self.filled_list()?;
            self.expect(")")?;
            return Some(Compound::Subshell(list));
        }
        if self.accept_word("for") || self.accept_word("select") {
            return self.for_each();
        }
        if self.accept_word("if") {
            self.branches(&mut parts)?;
        } else if self.accept_word("while") || self.accept_word("until") {
            parts.lists.push(self.filled_list()?);
            parts.lists.push(self.body()?);
        } else if self.accept_word("case") {
            self.cases(&mut parts)?;
        } else if self.accept_word("[[") {
            self.test(&mut parts)?;
        } else {
            parts.lists.push(self.body()?);
        }
        Some(Compound::Parts { words: parts.words, lists: parts.lists })
    }

    /// `{ …; }` or `do …; done`.
    fn body(&mut self) -> Option<List> {
        let closer = if self.accept_word("{") {
            "}"
        } else {
            self.expect_word("do")?;
            "done"
        };
        let list = self.filled_list()?;
        self.expect_word(closer)?;
        Some(list)
    }

    fn for_each(&mut self) -> Option<Compound> {
        self.blanks();
        if self.accept("((") {
            let mut head = Word::default();
            self.arithmetic(&mut head)?;
            self.blanks();
            self.accept(";");
            self.blank_lines()?;
            return Some(Compound::Parts { words: vec![head], lists: vec![self.body()?] });
        }
        let name = self.word()?.raw;
        if !is_name(&name) {
            return None;
        }
        let mut values = Vec::new();
        self.blank_lines()?;
        if self.accept_word("in") {
            self.blanks();
            while !matches!(self.peek(), None | Some('\n' | ';')) {
                values.push(self.word()?);
                self.blanks();
            }
        }
        self.accept(";");
        self.blank_lines()?;
        Some(Compound::For { name, values, body: self.body()? })
    }

    /// What follows `if`.
    fn branches(&mut self, parts: &mut Parts) -> Option<()> {
        loop {
            parts.lists.push(self.filled_list()?);
            self.expect_word("then")?;
            parts.lists.push(self.filled_list()?);
            if !self.accept_word("elif") {
                break;
            }
        }
        if self.accept_word("else") {
            parts.lists.push(self.filled_list()?);
        }
        self.expect_word("fi")
    }

    /// What follows `case`.
    fn cases(&mut self, parts: &mut Parts) -> Option<()> {
        self.blanks();
        parts.words.push(self.word()?);
        self.blank_lines()?;
        self.expect_word("in")?;
        loop {
            self.blank_lines()?;
            if self.accept_word("esac") {
                return Some(());
            }
            self.accept("(");
            loop {
                self.blanks();
                parts.words.push(self.word()?);
                self.blanks();
                if !self.accept("|") {
                    break;
                }
            }
            self.expect(")")?;
            parts.lists.push(self.list()?);
            if !self.accept(";;&") && !self.accept(";;") && !self.accept(";&") {
                return self.expect_word("esac");
            }
        }
    }

    /// What follows `[[`. A shell that does not know it runs what stands between its operators, so that is a command too.
    fn test(&mut self, parts: &mut Parts) -> Option<()> {
        let mut open = 0_usize;
        let mut words = Vec::new();
        loop {
            self.blanks();
            let is_end = self.accept_word("]]");
            let ends_words = is_end || matches!(self.peek(), Some('\n' | '&' | '|' | '(' | ')'));
            if ends_words && !words.is_empty() {
                let command = Command::Simple(Simple { words: std::mem::take(&mut words), ..Simple::default() });
                let pipelines = vec![Pipeline { commands: vec![command], ..Pipeline::default() }];
                parts.lists.push(List(vec![Item { pipelines, is_async: false }]));
            }
            if is_end {
                return (open == 0).then_some(());
            }
            match self.peek()? {
                '\n' => self.line_break()?,
                '(' => {
                    self.at += 1;
                    open += 1;
                }
                ')' => {
                    self.at += 1;
                    open = open.checked_sub(1)?;
                }
                '&' => self.expect("&&")?,
                '|' => self.expect("||")?,
                '<' | '>' if !self.is_at("<(") && !self.is_at(">(") => self.at += 1,
                _ if self.accept_word("=~") => {
                    self.blanks();
                    words.push(self.pattern()?);
                }
                _ => words.push(self.word()?),
            }
        }
    }

    fn redirects(&mut self) -> Option<Vec<Redirect>> {
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            if !self.is_at_redirect() {
                return Some(redirects);
            }
            redirects.push(self.redirect()?);
        }
    }

    fn is_at_redirect(&mut self) -> bool {
        let at = self.at;
        let has_number = self.number();
        let is_redirect = if self.is_at("<(") || self.is_at(">(") {
            has_number
        } else {
            matches!(self.peek(), Some('<' | '>')) || (!has_number && self.is_at("&>"))
        };
        self.at = at;
        is_redirect
    }

    /// Reads digits, if any stand here.
    fn number(&mut self) -> bool {
        let mut is_here = false;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            is_here = true;
        }
        is_here
    }

    fn redirect(&mut self) -> Option<Redirect> {
        self.number();
        let with_target: fn(Word) -> Redirect = if self.accept("&>>") || self.accept("&>") {
            Redirect::WritesBoth
        } else if self.accept("<<<") {
            Redirect::HereString
        } else if self.accept("<<-") {
            return self.here_document(true);
        } else if self.accept("<<") {
            return self.here_document(false);
        } else if self.accept("<>") || self.accept(">>") || self.accept(">&") || self.accept(">|") || self.accept(">") {
            Redirect::Writes
        } else {
            self.expect("<")?;
            self.accept("&");
            Redirect::Reads
        };
        self.blanks();
        self.word().map(with_target)
    }
}

/// A compound command while it is read.
#[derive(Default)]
struct Parts {
    words: Vec<Word>,
    lists: Vec<List>,
}

/// Whether a word is the beginning of an assignment that may reach further: `a[1 + 2]=3`, `a["]"]=3`.
fn has_torn_subscript(word: &Word) -> bool {
    let after_name = word.raw.trim_start_matches(is_name_char);
    if after_name.len() == word.raw.len() {
        return false;
    }
    let Some(inside) = after_name.strip_prefix('[') else { return false };
    let is_odd = |subscript: &str, quote| subscript.matches(quote).count() % 2 == 1;
    inside.split_once(']').is_none_or(|(subscript, _)| {
        subscript.contains(['[', '\\']) || is_odd(subscript, '"') || is_odd(subscript, '\'')
    })
}

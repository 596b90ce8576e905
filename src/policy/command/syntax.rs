//! What a command line is once it is taken apart: lists of pipelines of commands, down to the words as they were written.
//!
//! Plain data, no more of it than the walk asks about. Nothing here knows how it was read or what it means.

use std::cell::OnceCell;
use std::rc::Rc;

/// In a word: something that only the shell knows, such as what a command prints.
pub(super) const UNKNOWN: char = '\u{0}';

/// Commands one after the other.
#[derive(Debug, Default)]
pub(super) struct List(pub(super) Vec<Item>);

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) pipelines: Vec<Pipeline>,
    /// Whether `&` follows.
    pub(super) is_async: bool,
}

/// Commands joined by `|`.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    /// None after a lone `!` or `time`.
    pub(super) commands: Vec<Command>,
    /// Whether `!` or `time` stands before it.
    pub(super) is_prefixed: bool,
    /// Whether it stands behind `||`.
    pub(super) is_alternative: bool,
}

#[derive(Debug)]
pub(super) enum Command {
    Simple(Simple),
    Compound { body: Compound, redirects: Vec<Redirect> },
    Function { name: String, body: Compound, redirects: Vec<Redirect> },
}

/// A program with its arguments, or assignments alone, or redirections alone.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub(super) assignments: Vec<Word>,
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(super) enum Compound {
    Subshell(List),
    For {
        name: String,
        values: Vec<Word>,
        body: List,
    },
    /// `((…))`: an expression for some shells, commands for others.
    Arithmetic(Word),
    /// Any other: the words that it expands and the lists that it may run.
    Parts {
        words: Vec<Word>,
        lists: Vec<List>,
    },
}

#[derive(Debug)]
pub(super) enum Redirect {
    Reads(Word),
    Writes(Word),
    /// `&>`, which not every shell knows.
    WritesBoth(Word),
    HereString(Word),
    /// Filled in where the line ends; always, in a line that was read to its end.
    HereDocument(Rc<OnceCell<Document>>),
}

/// The text of a here-document.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) text: String,
    /// The commands inside it, if its tag is not quoted.
    pub(super) commands: Vec<List>,
    /// As that of a word.
    pub(super) may_evaluate: bool,
}

/// A word.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// As it was written, quotes and all, but for continued lines, which are joined, and for substitutions other than a plain
    /// `$name` or `${name}`: [`UNKNOWN`] stands for those.
    pub(super) raw: String,
    /// The commands that its substitutions run.
    pub(super) commands: Vec<List>,
    /// What `${name:-…}` and its kin say instead of a value, each with where its [`UNKNOWN`] stands in `raw`, in bytes.
    pub(super) defaults: Vec<(usize, String)>,
    /// Whether the shell may set a variable while it expands the word (`${x:=…}`, `$((x = 1))`), or take what one holds for an
    /// expression: in some shells a value like `a[$(id)]` is a command there.
    pub(super) may_evaluate: bool,
}

/// What `name=value` says.
pub(super) struct Assignment<'word> {
    pub(super) name: &'word str,
    /// The value as it was written.
    pub(super) value: &'word str,
    /// Whether it is `name+=value`.
    pub(super) appends: bool,
    /// Whether it sets one element, as `name[…]=value` does.
    pub(super) is_element: bool,
}

impl Word {
    /// The assignment that this word is before a command's name, and after `export`.
    pub(super) fn assignment(&self) -> Option<Assignment<'_>> {
        let end = self.raw.find(|c: char| !is_name_char(c))?;
        let (name, rest) = self.raw.split_at_checked(end)?;
        if !is_name(name) {
            return None;
        }
        let (is_element, rest) = match rest.strip_prefix('[') {
            Some(inner) => (true, inner.split_once(']')?.1),
            None => (false, rest),
        };
        let (appends, rest) = rest.strip_prefix('+').map_or((false, rest), |rest| (true, rest));
        Some(Assignment { name, value: rest.strip_prefix('=')?, appends, is_element })
    }

    /// As it was written, with the defaults in place of the values.
    pub(super) fn with_defaults(&self) -> String {
        let mut raw = self.raw.clone();
        for (at, default) in self.defaults.iter().rev() {
            let end = at + UNKNOWN.len_utf8();
            if raw.get(*at..end).is_some() {
                raw.replace_range(*at..end, default);
            }
        }
        raw
    }

    /// The text, if nothing in it is quoted or expanded.
    pub(super) fn plain(&self) -> Option<&str> {
        (!self.raw.contains(['\'', '"', '\\', '$', UNKNOWN])).then_some(&self.raw)
    }
}

pub(super) const fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a text can be a variable's name.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().all(is_name_char) && text.starts_with(|c: char| !c.is_ascii_digit())
}

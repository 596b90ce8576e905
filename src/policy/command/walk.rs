//! Goes through every simple command of a program, in lists, pipelines, subshells, substitutions, functions, texts for
//! `sh -c` and `eval`, and behind wrappers, and asks the list about each.

use std::rc::Rc;

use super::effort::Effort;
use super::places::{is_device, is_shell_socket};
use super::source::{self, DEPTH_MAX};
use super::syntax::{Command, Compound, List, Pipeline, Redirect, Simple, UNKNOWN, Word};
use super::word::{Variables, scan, to_script};

/// Bytes of a variable's value that is followed.
const VALUE_BYTES_MAX: usize = 2048;
/// Wrappers around one command.
const WRAPPERS_MAX: usize = 16;

pub(super) const PIPED_DOWNLOAD: &str = "it would run what it downloads, unseen";
pub(super) const REVERSE_SHELL: &str = "it gives a shell to another computer";
const FORK_BOMB: &str = "it is a fork bomb";

/// What became of a walk.
pub(super) enum Outcome {
    Denied(&'static str),
    Parsed,
    Unparsed,
}

/// What is known of a command for those it is piped to.
#[derive(Debug, Default, Clone)]
pub(super) struct Stage {
    /// Gets something from the network.
    pub(super) downloads: bool,
    /// Talks to another computer.
    pub(super) connects: bool,
    /// Is a shell.
    pub(super) is_shell: bool,
    /// Is the function whose body is being walked.
    pub(super) is_self: bool,
    /// What it prints, where the text alone shows that.
    pub(super) prints: Option<Rc<str>>,
}

impl Stage {
    pub(super) fn merge(&mut self, other: Self) {
        self.downloads |= other.downloads;
        self.connects |= other.connects;
        self.is_shell |= other.is_shell;
        self.is_self |= other.is_self;
        self.prints = other.prints;
    }
}

/// One walk over a command line.
#[derive(Default)]
pub(super) struct Walk {
    pub(super) denied: Option<&'static str>,
    pub(super) is_unparsed: bool,
    pub(super) effort: Effort,
    /// Lists inside each other, through texts inside texts.
    depth: usize,
    variables: Variables,
    /// Where `cd` went.
    pub(super) folder: Option<String>,
    /// The functions whose bodies are being walked.
    pub(super) functions: Vec<String>,
    /// What comes on standard input.
    pub(super) input: Stage,
}

impl Walk {
    /// What became of it.
    pub(super) fn finish(self) -> Outcome {
        match self.denied {
            Some(what) => Outcome::Denied(what),
            None if self.is_unparsed || self.effort.is_spent() => Outcome::Unparsed,
            None => Outcome::Parsed,
        }
    }

    pub(super) fn deny(&mut self, what: &'static str) {
        self.denied.get_or_insert(what);
    }

    /// Walks a text.
    pub(super) fn script(&mut self, text: &str) -> Stage {
        if self.effort.pay(text.len() + 1)
            && let Some(program) = source::parse(text, self.depth)
        {
            return self.list(&program);
        }
        self.is_unparsed = true;
        Stage::default()
    }

    /// Walks a text that may be something else: what it does counts, that it is not understood does not.
    pub(super) fn possible_script(&mut self, text: &str) {
        let was_unparsed = self.is_unparsed;
        let _stage = self.script(text);
        self.is_unparsed = was_unparsed;
    }

    fn list(&mut self, list: &List) -> Stage {
        let mut whole = Stage::default();
        if self.depth >= DEPTH_MAX {
            self.is_unparsed = true;
            return whole;
        }
        self.depth += 1;
        for item in &list.0 {
            let mut stage = Stage::default();
            for pipeline in &item.pipelines {
                stage.merge(self.pipeline(pipeline));
            }
            if stage.is_self && item.is_async {
                self.deny(FORK_BOMB);
            }
            whole.merge(stage);
        }
        self.depth -= 1;
        whole
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Stage {
        let outer = self.input.clone();
        let mut whole = Stage::default();
        let mut selves = 0;
        for command in &pipeline.0 {
            let stage = self.command(command);
            selves += usize::from(stage.is_self);
            whole.merge(stage);
            self.input = whole.clone();
        }
        self.input = outer;
        if selves > 1 {
            self.deny(FORK_BOMB);
        }
        if pipeline.0.len() > 1 && whole.is_shell && whole.connects {
            self.deny(REVERSE_SHELL);
        }
        whole
    }

    fn command(&mut self, command: &Command) -> Stage {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound { body, redirects } => {
                self.redirects(redirects);
                self.compound(body)
            }
            Command::Function { name, body, redirects } => {
                self.functions.push(name.clone());
                self.redirects(redirects);
                // A body is walked where it stands: what it does counts whether it is called or not.
                let _body = self.compound(body);
                self.functions.pop();
                Stage::default()
            }
        }
    }

    fn compound(&mut self, compound: &Compound) -> Stage {
        let mut whole = Stage::default();
        match compound {
            Compound::Subshell(list) => whole.merge(self.subshell(list)),
            Compound::For { name, values, body } => {
                let mut fields = Vec::new();
                for word in values {
                    let (values, stage) = self.word(word);
                    fields.extend(values);
                    whole.merge(stage);
                }
                self.remember(name, fields.join(" "));
                whole.merge(self.list(body));
            }
            Compound::Arithmetic(expression) => {
                whole.merge(self.substitutions(&expression.commands));
                self.possible_script(&to_script(&expression.raw));
            }
            Compound::Parts { words, lists } => {
                for word in words {
                    whole.merge(self.substitutions(&word.commands));
                }
                for list in lists {
                    whole.merge(self.list(list));
                }
            }
        }
        whole
    }

    fn subshell(&mut self, list: &List) -> Stage {
        let folder = self.folder.clone();
        let stage = self.list(list);
        self.folder = folder;
        stage
    }

    /// The fields of a word, and what the commands inside it are.
    fn word(&mut self, word: &Word) -> (Vec<String>, Stage) {
        let fields = scan(&word.raw, &self.variables, &mut self.effort);
        (fields, self.substitutions(&word.commands))
    }

    fn substitutions(&mut self, commands: &[List]) -> Stage {
        let mut whole = Stage::default();
        for list in commands {
            whole.merge(self.subshell(list));
        }
        whole.prints = None;
        whole
    }

    /// Remembers what an assignment sets, as far as the text shows it, and tells what is inside it.
    fn assign(&mut self, word: &Word) -> Stage {
        if let Some(assignment) = word.assignment()
            && !assignment.is_element
        {
            let mut value = scan(assignment.value, &self.variables, &mut self.effort).join(" ");
            if assignment.appends
                && let Some(before) = self.variables.get(assignment.name)
            {
                value.insert_str(0, before);
            }
            self.remember(assignment.name, value);
        }
        self.substitutions(&word.commands)
    }

    fn remember(&mut self, name: &str, value: String) {
        if value.len() <= VALUE_BYTES_MAX && !value.contains(UNKNOWN) {
            self.variables.insert(name.to_owned(), value);
        } else {
            self.variables.remove(name);
        }
    }

    fn redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            let _given = self.redirect(redirect);
        }
    }

    /// What a redirection gives a command to read, and what is inside it.
    fn redirect(&mut self, redirect: &Redirect) -> (Option<Rc<str>>, Stage) {
        match redirect {
            Redirect::Reads(target) => (None, self.redirect_target(target, false)),
            Redirect::Writes(target) | Redirect::WritesBoth(target) => (None, self.redirect_target(target, true)),
            Redirect::HereString(word) => {
                let (fields, stage) = self.word(word);
                (Some(script_of(&fields).into()), stage)
            }
            Redirect::HereDocument(document) => match document.get() {
                Some(document) => (Some(document.text.as_str().into()), self.substitutions(&document.commands)),
                None => (None, Stage::default()),
            },
        }
    }

    fn redirect_target(&mut self, word: &Word, writes: bool) -> Stage {
        let (fields, stage) = self.word(word);
        for field in fields {
            if is_shell_socket(&field) {
                self.deny(REVERSE_SHELL);
            }
            if writes && is_device(&field) {
                self.deny("it writes over a disk or another device");
            }
        }
        stage
    }

    fn simple(&mut self, simple: &Simple) -> Stage {
        let mut line = Line::default();
        for word in &simple.assignments {
            line.inside.merge(self.assign(word));
        }
        for word in &simple.words {
            let (fields, stage) = self.word(word);
            if line.words.first().is_some_and(|name| is_declaration(name)) {
                let _inside = self.assign(word);
            }
            line.words.extend(fields);
            line.inside.merge(stage);
        }
        for redirect in &simple.redirects {
            let (input, stage) = self.redirect(redirect);
            line.reads_inside |= stage.downloads;
            line.input = input.or(line.input.take());
            line.inside.merge(stage);
        }
        // What a command substitution downloaded and the line then runs by name.
        if line.inside.downloads && line.words.first().is_some_and(|name| name.starts_with(UNKNOWN)) {
            self.deny(PIPED_DOWNLOAD);
        }
        let outer = self.input.clone();
        if let Some(text) = line.input.take() {
            self.input = Stage { prints: Some(text), downloads: line.inside.downloads, ..Stage::default() };
        } else {
            self.input.downloads |= line.inside.downloads && line.reads_inside;
        }
        let stage = self.run(&line.words, &line.inside, WRAPPERS_MAX);
        self.input = outer;
        stage
    }
}

/// A simple command while it is put together.
#[derive(Default)]
struct Line {
    words: Vec<String>,
    /// What the substitutions in it are.
    inside: Stage,
    /// The text that it reads, from a here-document or here-string.
    input: Option<Rc<str>>,
    /// Whether it reads what a substitution gives: `sh < <(curl …)`.
    reads_inside: bool,
}

fn is_declaration(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "local" | "readonly")
}

pub(super) fn script_of(words: &[String]) -> String {
    words.iter().map(|word| to_script(word)).collect::<Vec<_>>().join(" ")
}

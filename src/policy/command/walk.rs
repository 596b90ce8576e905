//! Goes through every simple command of a program, in lists, pipelines, subshells, substitutions, functions, texts for
//! `sh -c` and `eval`, and behind wrappers, and asks the list about each.

use std::rc::Rc;

use super::effort::Effort;
use super::places::{is_device, is_shell_socket};
use super::source::{self, DEPTH_MAX};
use super::started::{NamedFile, Started, StartedFiles};
use super::syntax::{Command, Compound, List, Pipeline, Redirect, Simple, UNKNOWN, Word};
use super::word::{Variables, scan, to_script};

/// Bytes of a variable's value that is followed.
const VALUE_BYTES_MAX: usize = 2048;
/// Wrappers around one command.
const WRAPPERS_MAX: usize = 16;
/// More files than these are not followed through a pipeline.
const READ_MAX: usize = 64;

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
    /// Names everything of a whole disk, a home folder or a system folder.
    pub(super) finds_everything: bool,
    /// What it prints, where the text alone shows that.
    pub(super) prints: Option<Rc<str>>,
    /// The files that it may read, and so what it prints may come from.
    pub(super) reads: Vec<Rc<NamedFile>>,
}

impl Stage {
    pub(super) fn merge(&mut self, other: Self) {
        self.downloads |= other.downloads;
        self.connects |= other.connects;
        self.is_shell |= other.is_shell;
        self.is_self |= other.is_self;
        self.finds_everything |= other.finds_everything;
        self.prints = other.prints;
        self.read(other.reads);
    }

    pub(super) fn read(&mut self, files: impl IntoIterator<Item = Rc<NamedFile>>) {
        for file in files.into_iter().take(READ_MAX.saturating_sub(self.reads.len())) {
            if !self.reads.contains(&file) {
                self.reads.push(file);
            }
        }
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
    /// What it starts.
    pub(super) started: Started,
    /// The files in which something from the network was kept.
    pub(super) downloaded: Vec<String>,
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

    /// What was found on it that is started.
    pub(super) fn started_files(self) -> StartedFiles {
        let is_understood = self.denied.is_none() && !self.is_unparsed && !self.effort.is_spent();
        self.started.finish(is_understood)
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
        self.possibly(|walk| walk.script(text));
    }

    /// Walks what may be run or something else in its place.
    pub(super) fn possibly(&mut self, walk: impl FnOnce(&mut Self) -> Stage) -> Stage {
        let before = (self.is_unparsed, self.folder.clone());
        let place = self.started.folder.clone();
        let stage = walk(self);
        (self.is_unparsed, self.folder) = before;
        self.started.fork(place.as_ref());
        stage
    }

    /// Walks what another shell does, or another program: where that goes changes nothing here.
    pub(super) fn apart(&mut self, walk: impl FnOnce(&mut Self) -> Stage) -> Stage {
        let outer = (self.folder.clone(), self.started.folder.clone(), std::mem::take(&mut self.started.doubts));
        let stage = walk(self);
        (self.folder, self.started.folder, self.started.doubts) = outer;
        stage
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
            let before = self.started.folder.clone();
            for pipeline in &item.pipelines {
                if pipeline.is_alternative {
                    self.started.fork(before.as_ref());
                }
                // Behind `||` it runs or does not, behind `!` what follows runs where it failed, and `time` may be a program.
                let doubt = usize::from(pipeline.is_alternative || pipeline.is_prefixed);
                self.started.doubts += doubt;
                stage.merge(self.pipeline(pipeline));
                self.started.doubts -= doubt;
            }
            self.started.end_chain(before, item.is_async);
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
        let doubt = usize::from(pipeline.commands.len() > 1);
        self.started.doubts += doubt;
        for command in &pipeline.commands {
            let stage = self.command(command);
            selves += usize::from(stage.is_self);
            whole.merge(stage);
            self.input = whole.clone();
        }
        self.input = outer;
        self.started.doubts -= doubt;
        if selves > 1 {
            self.deny(FORK_BOMB);
        }
        if pipeline.commands.len() > 1 && whole.is_shell && whole.connects {
            self.deny(REVERSE_SHELL);
        }
        whole
    }

    fn command(&mut self, command: &Command) -> Stage {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound { body, redirects } => {
                let outer = self.input.clone();
                let (text, files) = self.redirects(redirects);
                if let Some(text) = text {
                    self.input = Stage { prints: Some(text), ..Stage::default() };
                }
                self.input.read(files);
                let stage = self.compound(body);
                self.input = outer;
                stage
            }
            Command::Function { name, body, redirects } => {
                self.functions.push(name.clone());
                self.started.has_begun = true;
                // From here on a name may be this function.
                self.started.lose_way();
                let _given = self.redirects(redirects);
                // A body is walked where it stands: what it does counts whether it is called or not.
                let _body = self.compound(body);
                self.functions.pop();
                Stage::default()
            }
        }
    }

    fn compound(&mut self, compound: &Compound) -> Stage {
        let mut whole = Stage::default();
        if let Compound::Subshell(list) = compound {
            return self.subshell(list);
        }
        self.started.doubts += 1;
        // It may run more than once.
        self.started.has_begun = true;
        match compound {
            Compound::Subshell(_) => {}
            Compound::For { name, values, body } => {
                let mut fields = Vec::new();
                for word in values {
                    let (values, stage) = self.word(word);
                    fields.extend(values);
                    whole.merge(stage);
                }
                self.started.assign(name, "");
                self.remember(name, fields.join(" "));
                whole.merge(self.list(body));
            }
            Compound::Arithmetic(expression) => {
                self.started.lose_way();
                whole.merge(self.substitutions(&expression.commands));
                self.possible_script(&to_script(&expression.raw));
            }
            Compound::Parts { words, lists } => {
                for word in words {
                    if word.may_evaluate {
                        self.started.lose_way();
                    }
                    whole.merge(self.substitutions(&word.commands));
                }
                for list in lists {
                    whole.merge(self.list(list));
                }
            }
        }
        self.started.doubts -= 1;
        whole
    }

    fn subshell(&mut self, list: &List) -> Stage {
        self.apart(|walk| walk.list(list))
    }

    /// The fields of a word, and what the commands inside it are.
    fn word(&mut self, word: &Word) -> (Vec<String>, Stage) {
        if word.may_evaluate {
            self.started.lose_way();
        }
        let raw = from_here(&word.raw).map(|(raw, _)| raw).filter(|_| self.started.folder.is_some());
        let fields = scan(raw.as_deref().unwrap_or(&word.raw), &self.variables, &mut self.effort);
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
        if word.may_evaluate || word.assignment().is_some_and(|assignment| assignment.is_element) {
            self.started.lose_way();
        }
        if let Some(assignment) = word.assignment() {
            let value = scan(assignment.value, &self.variables, &mut self.effort).join(" ");
            self.started.assign(assignment.name, &value);
        }
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

    /// The text that redirections give to read, and the files.
    fn redirects(&mut self, redirects: &[Redirect]) -> (Option<Rc<str>>, Vec<Rc<NamedFile>>) {
        redirects.iter().fold((None, Vec::new()), |(given, mut files), redirect| {
            let (text, stage) = self.redirect(redirect);
            files.extend(stage.reads);
            (text.or(given), files)
        })
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
                Some(document) => {
                    if document.may_evaluate {
                        self.started.lose_way();
                    }
                    (Some(document.text.as_str().into()), self.substitutions(&document.commands))
                }
                None => (None, Stage::default()),
            },
        }
    }

    fn redirect_target(&mut self, word: &Word, writes: bool) -> Stage {
        let (fields, mut stage) = self.word(word);
        for field in fields {
            if !writes && !is_no_file(&field) {
                stage.read(self.started.readable(&field));
            }
            if is_shell_socket(&field) {
                self.deny(REVERSE_SHELL);
            }
            if writes && is_device(&field) {
                self.deny("it writes over a disk or another device");
            }
            if writes && !is_no_file(&field) {
                self.started.write();
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
                for (name, value) in fields.iter().filter_map(|field| field.split_once('=')) {
                    self.started.assign(name, value);
                }
            }
            line.words.extend(fields);
            line.inside.merge(stage);
        }
        let mut file = None;
        for redirect in &simple.redirects {
            let (input, stage) = self.redirect(redirect);
            if let Redirect::Reads(target) = redirect {
                file = target.plain().filter(|_| is_literal(target)).map(str::to_owned);
            }
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
        self.started.input = file.filter(|file| !is_no_file(file));
        // What has to be found out first takes its time.
        let is_target = |redirect: &Redirect| match redirect {
            Redirect::Reads(word) | Redirect::Writes(word) | Redirect::WritesBoth(word) => is_literal(word),
            Redirect::HereString(_) | Redirect::HereDocument(_) => true,
        };
        let is_at_once = simple.assignments.iter().all(is_literal) && simple.redirects.iter().all(is_target);
        self.started.has_begun |= !is_at_once;
        self.started.is_named = simple.words.first().is_none_or(is_literal);
        self.started.is_literal = simple.words.iter().all(is_literal);
        self.started.is_bare = simple.assignments.is_empty() && simple.redirects.is_empty();
        let stage = self.run(&line.words, &line.inside, WRAPPERS_MAX);
        if simple.words.iter().any(|word| !word.defaults.is_empty()) {
            let words = simple.words.iter().map(Word::with_defaults).collect::<Vec<_>>();
            let fields = words.iter().flat_map(|raw| scan(raw, &self.variables, &mut self.effort)).collect::<Vec<_>>();
            self.possibly(|walk| walk.run(&fields, &line.inside, WRAPPERS_MAX));
        }
        self.input = outer;
        self.started.end_step(line.words.first());
        if line.words.len() == 1 && line.words.first().is_some_and(|name| name == "exec") {
            // From here on this shell reads from there.
            self.started.stands.clone_from(&line.inside.reads);
        }
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

/// Whether a redirection leads to no file: another stream, or nowhere.
fn is_no_file(target: &str) -> bool {
    target == "/dev/null" || target == "-" || target.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path that begins with the folder of the shell, as one from there: `"$PWD/x"` → `"./x"`. And whether it is one word
/// whatever that folder is called.
fn from_here(raw: &str) -> Option<(String, bool)> {
    let is_quoted = raw.starts_with('"');
    let rest = raw.strip_prefix('"').unwrap_or(raw);
    let rest = rest.strip_prefix("$PWD").or_else(|| rest.strip_prefix("${PWD}"))?;
    let closed = rest.strip_prefix('"').filter(|_| is_quoted);
    let (quote, path) = if is_quoted && closed.is_none() { ("\"", rest) } else { ("", closed.unwrap_or(rest)) };
    path.starts_with('/').then(|| (format!("{quote}.{path}"), is_quoted))
}

/// Whether a word is one word, and the same one whatever the shell knows and the folder holds, but for that itself.
fn is_literal(word: &Word) -> bool {
    let from_here = from_here(&word.raw).filter(|(_, is_one)| *is_one).map(|(raw, _)| raw);
    let raw = from_here.as_deref().unwrap_or(&word.raw);
    let mut quote = None;
    let mut chars = raw.chars();
    let is_bracket = raw == "[";
    let has_choices = raw.contains(',') || raw.contains("..");
    let mut is_first = true;
    while let Some(c) = chars.next() {
        let is_expanded = match quote {
            Some('\'') => c == UNKNOWN,
            Some(_) => matches!(c, '$' | '`' | UNKNOWN),
            None => {
                matches!(c, '$' | '`' | UNKNOWN | '*' | '?')
                    || (c == '{' && has_choices)
                    || (c == '[' && !is_bracket)
                    || (c == '~' && is_first)
            }
        };
        if is_expanded {
            return false;
        }
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => {
                chars.next();
            }
            (_, _) => {}
        }
        is_first = false;
    }
    true
}

fn is_declaration(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "local" | "readonly")
}

pub(super) fn script_of(words: &[String]) -> String {
    words.iter().map(|word| to_script(word)).collect::<Vec<_>>().join(" ")
}

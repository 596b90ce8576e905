//! Goes through every simple command of a program, in lists, pipelines, subshells, substitutions, functions, texts for
//! `sh -c` and `eval`, and behind wrappers, and asks the list about each.

use brush_parser::ast::{
    AndOr, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
    ExtendedTestExpr, FunctionDefinition, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline, RedirectList,
    SeparatorOperator, SimpleCommand, Word,
};

use super::places::{is_device, is_shell_socket};
use super::source;
use super::word::{Scanned, UNKNOWN, Variables, commands_in, scan, to_script};

/// Texts inside texts: `sh -c "sh -c '…'"`.
const SCRIPTS_NESTED_MAX: usize = 8;
/// Texts that are taken apart for one command line.
const SCRIPTS_MAX: usize = 200;
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
    pub(super) prints: Option<String>,
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
    nested: usize,
    scripts: usize,
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
            None if self.is_unparsed => Outcome::Unparsed,
            None => Outcome::Parsed,
        }
    }

    /// Walks a text.
    pub(super) fn script(&mut self, text: &str) {
        let _whole = self.script_stage(text);
    }

    pub(super) fn deny(&mut self, what: &'static str) {
        self.denied.get_or_insert(what);
    }

    pub(super) fn script_stage(&mut self, text: &str) -> Stage {
        self.scripts += 1;
        if self.nested >= SCRIPTS_NESTED_MAX || self.scripts > SCRIPTS_MAX {
            self.is_unparsed = true;
            return Stage::default();
        }
        let Some(program) = source::parse(text) else {
            self.is_unparsed = true;
            return Stage::default();
        };
        self.nested += 1;
        let mut whole = Stage::default();
        for list in &program.complete_commands {
            whole.merge(self.list(list));
        }
        self.nested -= 1;
        whole
    }

    fn list(&mut self, list: &CompoundList) -> Stage {
        let mut whole = Stage::default();
        for item in &list.0 {
            let mut stage = self.pipeline(&item.0.first);
            for AndOr::And(pipeline) | AndOr::Or(pipeline) in &item.0.additional {
                stage.merge(self.pipeline(pipeline));
            }
            if stage.is_self && matches!(item.1, SeparatorOperator::Async) {
                self.deny(FORK_BOMB);
            }
            whole.merge(stage);
        }
        whole
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Stage {
        let outer = self.input.clone();
        let mut whole = Stage::default();
        let mut selves = 0;
        for command in &pipeline.seq {
            let stage = self.command(command);
            selves += usize::from(stage.is_self);
            whole.merge(stage);
            self.input = whole.clone();
        }
        self.input = outer;
        if selves > 1 {
            self.deny(FORK_BOMB);
        }
        if pipeline.seq.len() > 1 && whole.is_shell && whole.connects {
            self.deny(REVERSE_SHELL);
        }
        whole
    }

    fn command(&mut self, command: &Command) -> Stage {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref());
                self.compound(compound)
            }
            Command::Function(function) => {
                self.function(function);
                Stage::default()
            }
            Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref());
                self.test(&test.expr)
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Stage {
        let mut whole = Stage::default();
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => whole.merge(self.expanded(&arithmetic.expr.value)),
            CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    whole.merge(self.expanded(&part.value));
                }
                whole.merge(self.list(&clause.body.list));
            }
            CompoundCommand::BraceGroup(group) => whole.merge(self.list(&group.list)),
            CompoundCommand::Subshell(subshell) => {
                let folder = self.folder.clone();
                whole.merge(self.list(&subshell.list));
                self.folder = folder;
            }
            CompoundCommand::ForClause(clause) => {
                let mut values = Vec::new();
                for word in clause.values.iter().flatten() {
                    let (fields, stage) = self.word(word);
                    values.extend(fields);
                    whole.merge(stage);
                }
                self.remember(&clause.variable_name, values.join(" "));
                whole.merge(self.list(&clause.body.list));
            }
            CompoundCommand::CaseClause(clause) => {
                whole.merge(self.word(&clause.value).1);
                for item in &clause.cases {
                    for pattern in &item.patterns {
                        whole.merge(self.word(pattern).1);
                    }
                    if let Some(list) = &item.cmd {
                        whole.merge(self.list(list));
                    }
                }
            }
            CompoundCommand::IfClause(clause) => {
                whole.merge(self.list(&clause.condition));
                whole.merge(self.list(&clause.then));
                for branch in clause.elses.iter().flatten() {
                    if let Some(condition) = &branch.condition {
                        whole.merge(self.list(condition));
                    }
                    whole.merge(self.list(&branch.body));
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                whole.merge(self.list(&clause.0));
                whole.merge(self.list(&clause.1.list));
            }
            CompoundCommand::Coprocess(coprocess) => whole.merge(self.command(&coprocess.body)),
        }
        whole
    }

    fn function(&mut self, function: &FunctionDefinition) {
        self.functions.push(function.fname.value.clone());
        self.redirects(function.body.1.as_ref());
        // A body is walked where it stands: what it does counts whether it is called or not.
        let _body = self.compound(&function.body.0);
        self.functions.pop();
    }

    fn test(&mut self, expression: &ExtendedTestExpr) -> Stage {
        let mut whole = Stage::default();
        match expression {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                whole.merge(self.test(left));
                whole.merge(self.test(right));
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => whole.merge(self.test(inner)),
            ExtendedTestExpr::UnaryTest(_, word) => whole.merge(self.word(word).1),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                whole.merge(self.word(left).1);
                whole.merge(self.word(right).1);
            }
        }
        whole
    }

    /// The fields of a word, and what the commands inside it are.
    fn word(&mut self, word: &Word) -> (Vec<String>, Stage) {
        let Scanned { fields, commands } = scan(&word.value, &self.variables);
        (fields, self.substitutions(&commands))
    }

    /// The commands in a text that is expanded but no word.
    fn expanded(&mut self, text: &str) -> Stage {
        self.substitutions(&commands_in(text))
    }

    fn substitutions(&mut self, commands: &[String]) -> Stage {
        let mut whole = Stage::default();
        for command in commands {
            whole.merge(self.script_stage(command));
        }
        whole.prints = None;
        whole
    }

    fn remember(&mut self, name: &str, value: String) {
        if value.len() <= VALUE_BYTES_MAX && !value.contains(UNKNOWN) {
            self.variables.insert(name.to_owned(), value);
        } else {
            self.variables.remove(name);
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            let _given = self.redirect(redirect);
        }
    }

    /// What a redirection gives a command to read, and what is inside it.
    fn redirect(&mut self, redirect: &IoRedirect) -> (Option<String>, Stage) {
        match redirect {
            IoRedirect::File(_, kind, target) => {
                let writes = match kind {
                    IoFileRedirectKind::Write
                    | IoFileRedirectKind::Append
                    | IoFileRedirectKind::ReadAndWrite
                    | IoFileRedirectKind::Clobber
                    | IoFileRedirectKind::DuplicateOutput => true,
                    IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => false,
                };
                match target {
                    IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                        (None, self.redirect_target(word, writes))
                    }
                    IoFileRedirectTarget::ProcessSubstitution(_, subshell) => (None, self.list(&subshell.list)),
                    IoFileRedirectTarget::Fd(_) => (None, Stage::default()),
                }
            }
            IoRedirect::OutputAndError(word, _) => (None, self.redirect_target(word, true)),
            IoRedirect::HereDocument(_, document) => {
                let inside =
                    if document.requires_expansion { self.expanded(&document.doc.value) } else { Stage::default() };
                (Some(document.doc.value.clone()), inside)
            }
            IoRedirect::HereString(_, word) => {
                let (fields, stage) = self.word(word);
                (Some(script_of(&fields)), stage)
            }
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

    fn simple(&mut self, simple: &SimpleCommand) -> Stage {
        let mut line = Line::default();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut line, AssignmentMeans::Variable);
        }
        if let Some(word) = &simple.word_or_name {
            let (fields, stage) = self.word(word);
            line.add(fields, stage);
        }
        let means = if line.words.first().is_some_and(|name| is_declaration(name)) {
            AssignmentMeans::Both
        } else {
            AssignmentMeans::Word
        };
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut line, means);
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

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, line: &mut Line, assignment: AssignmentMeans) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                let (input, stage) = self.redirect(redirect);
                line.reads_inside |= stage.downloads;
                line.input = input.or(line.input.take());
                line.inside.merge(stage);
            }
            CommandPrefixOrSuffixItem::Word(word) => {
                let (fields, stage) = self.word(word);
                line.add(fields, stage);
            }
            CommandPrefixOrSuffixItem::AssignmentWord(parsed, word) => {
                if matches!(assignment, AssignmentMeans::Variable | AssignmentMeans::Both)
                    && let AssignmentName::VariableName(name) = &parsed.name
                    && let AssignmentValue::Scalar(value) = &parsed.value
                {
                    let (fields, _) = self.word(value);
                    self.remember(name, fields.join(" "));
                }
                let (fields, stage) = self.word(word);
                match assignment {
                    AssignmentMeans::Variable => line.inside.merge(stage),
                    AssignmentMeans::Word | AssignmentMeans::Both => line.add(fields, stage),
                }
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                let stage = self.list(&subshell.list);
                line.add(vec![UNKNOWN.to_string()], stage);
            }
        }
    }
}

/// A simple command while it is put together.
#[derive(Default)]
struct Line {
    words: Vec<String>,
    /// What the substitutions in it are.
    inside: Stage,
    /// The text that it reads, from a here-document or here-string.
    input: Option<String>,
    /// Whether it reads what a substitution gives: `sh < <(curl …)`.
    reads_inside: bool,
}

impl Line {
    fn add(&mut self, fields: Vec<String>, stage: Stage) {
        self.words.extend(fields);
        self.inside.merge(stage);
    }
}

/// What `a=b` is: an assignment before a command's name, a word like any other after it, both after `export`.
#[derive(Clone, Copy)]
enum AssignmentMeans {
    Variable,
    Word,
    Both,
}

fn is_declaration(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "local" | "readonly")
}

pub(super) fn script_of(words: &[String]) -> String {
    words.iter().map(|word| to_script(word)).collect::<Vec<_>>().join(" ")
}

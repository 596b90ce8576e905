//! What a command line starts besides installed programs: the files that its text names, and whether that is all of it.
//!
//! A yes to a command is a yes to what the files hold that it names as programs, so they are bound to it. Whatever is not
//! understood here to the end leaves the line incomplete: then no rule remembers it. No entry of these lists allows anything.

use std::rc::Rc;

use super::program::{self, PLAIN, PROJECT_FILES, WRITERS};
use super::syntax::UNKNOWN;
use super::word::{HOME, STAR};

/// More files than these are not followed.
const FILES_MAX: usize = 64;

/// What a command line starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartedFiles {
    /// The files that it names as programs, in the order in which they stand there.
    pub files: Vec<NamedFile>,
    /// Whether nothing else is run but installed programs that are known to run nothing in their turn.
    pub is_complete: bool,
    /// Whether it may change files itself, and so what a script holds.
    pub writes: bool,
}

/// A file that a command line names as a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// From the folder in which the line starts, or absolute. A `..` may stand behind a name, which may be a link.
    pub path: String,
    /// In which folder it starts, from the same folder; `None` where the text does not tell.
    pub folder: Option<String>,
    /// What reads it.
    pub language: Language,
    /// Whether the line names it (`sh x.sh`) or its program looks for it by itself (`make`).
    pub is_named: bool,
    /// Whether nothing else of the line runs before it.
    pub is_first: bool,
}

/// What reads a file that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// A shell whose language is read here.
    Shell,
    /// Whatever its first line says.
    ByFirstLine,
    /// Something else: what it starts or loads in its turn is not known.
    Other,
}

/// What is gathered on a walk.
#[derive(Debug)]
pub(super) struct Started {
    files: Vec<NamedFile>,
    is_complete: bool,
    writes: bool,
    /// The folder after each `cd` so far; `None` once the text does not tell any more. Never a guess: see [`Started::enter`].
    pub(super) folder: Option<String>,
    /// In how many things of this shell the walk is that may run or not, or more than once.
    pub(super) doubts: usize,
    /// Whether the simple command that is looked at is all there is: nothing wraps it, redirects it or sets a variable for it.
    pub(super) is_bare: bool,
    /// Whether the first word of the simple command that is looked at stands there as it is.
    pub(super) is_named: bool,
    /// Whether every word of the simple command that is looked at stands there as it is.
    pub(super) is_literal: bool,
    /// The file that comes on standard input.
    pub(super) input: Option<String>,
    /// The files that this shell reads from here on, as `exec < x` has it.
    pub(super) stands: Vec<Rc<NamedFile>>,
    /// Whether something has run already, or what follows may run again.
    pub(super) has_begun: bool,
}

impl Default for Started {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            is_complete: true,
            writes: false,
            folder: Some(String::new()),
            doubts: 0,
            is_bare: true,
            is_named: true,
            is_literal: true,
            input: None,
            stands: Vec::new(),
            has_begun: false,
        }
    }
}

impl Started {
    pub(super) fn in_folder(folder: Option<&str>) -> Self {
        Self { folder: folder.map(str::to_owned), ..Self::default() }
    }

    /// What it comes to; a line that was not understood to its end has more in it than was found.
    pub(super) fn finish(self, is_understood: bool) -> StartedFiles {
        // What the line writes itself may be what it starts.
        let is_its_own_doing = self.writes && !self.files.is_empty();
        let is_complete = is_understood && self.is_complete && !is_its_own_doing;
        StartedFiles { files: self.files, is_complete, writes: self.writes }
    }

    /// It runs something that nobody can name.
    pub(super) const fn leave_open(&mut self) {
        self.is_complete = false;
    }

    /// Where it works from now on is not known, and what is looked up by name may be something else.
    pub(super) fn lose_way(&mut self) {
        self.folder = None;
        self.is_complete = false;
    }

    pub(super) const fn write(&mut self) {
        self.writes = true;
    }

    /// A variable gets a value. The shell and the programs that it starts go by some of them.
    pub(super) fn assign(&mut self, name: &str, value: &str) {
        match name {
            "CDPATH" | "HOME" | "OLDPWD" | "PWD" => self.lose_way(),
            "BASH_ENV" | "ENV" => self.look_for(value, Language::Shell),
            _ => {}
        }
        let is_heeded = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        if is_heeded && !program::is_harmless_variable(name) {
            self.leave_open();
        }
    }

    /// Goes where `cd` goes: that is known for `cd WORD` alone, and only for what follows behind `&&`.
    pub(super) fn enter(&mut self, name: &str, arguments: &[String]) {
        match arguments {
            [target] if name == "cd" && self.is_bare && self.doubts == 0 && !target.starts_with(['-', '+']) => {
                self.go(target);
            }
            _ => self.lose_way(),
        }
    }

    /// Goes to a folder without fail.
    pub(super) fn go(&mut self, folder: &str) {
        match self.below(folder).filter(|_| self.is_literal) {
            Some(folder) => self.folder = Some(folder),
            None => self.lose_way(),
        }
    }

    /// Behind `||`: what stood before it went to another folder or failed on its way.
    pub(super) fn fork(&mut self, before: Option<&String>) {
        if self.folder.as_ref() != before {
            self.folder = None;
        }
    }

    /// Behind what may have failed on its way, or ran beside the rest.
    pub(super) fn end_chain(&mut self, before: Option<String>, is_async: bool) {
        if is_async {
            self.folder = before;
        } else {
            self.fork(before.as_ref());
        }
    }

    /// A simple command is over. Some change nothing but the shell that they are in, and take no time; what a pattern or a
    /// range becomes may take long.
    pub(super) fn end_step(&mut self, name: Option<&String>) {
        let is_quiet = match name {
            None => true,
            Some(name) => {
                self.is_bare
                    && self.is_literal
                    && matches!(name.as_str(), "cd" | "set" | "export" | "umask" | ":" | "true")
            }
        };
        self.has_begun |= !is_quiet;
    }

    /// A file that may be read, as it would be started.
    pub(super) fn readable(&self, path: &str) -> Option<Rc<NamedFile>> {
        let file = |path| NamedFile {
            path,
            folder: self.folder.clone(),
            language: Language::Other,
            is_named: false,
            is_first: false,
        };
        self.below(path).map(file).map(Rc::new)
    }

    /// What stands in these files is run.
    pub(super) fn run_content(&mut self, files: &[Rc<NamedFile>], language: Language) {
        for file in files {
            self.leave_open();
            self.push(NamedFile { language, ..NamedFile::clone(file) });
        }
    }

    /// It may be that what stands in this file is run.
    pub(super) fn look_for(&mut self, path: &str, language: Language) {
        self.leave_open();
        if let Some(file) = self.readable(path) {
            self.run_content(&[file], language);
        }
    }

    /// Whatever program it is may run what it is given.
    pub(super) fn look_for_operands(&mut self, arguments: &[String]) {
        for word in arguments.iter().filter(|word| !word.starts_with('-')) {
            self.look_for(word, Language::Other);
        }
    }

    /// A file is started.
    pub(super) fn file(&mut self, path: &str, language: Language, is_named: bool) {
        match language {
            Language::Shell | Language::ByFirstLine => {}
            Language::Other => self.leave_open(),
        }
        if !self.is_literal {
            return self.look_for(path, language);
        }
        let Some(path) = self.below(path) else { return self.leave_open() };
        let is_first = !self.has_begun;
        self.push(NamedFile { path, folder: self.folder.clone(), language, is_named, is_first });
    }

    fn push(&mut self, file: NamedFile) {
        let is_same = |other: &&mut NamedFile| {
            (&other.path, &other.folder, other.language) == (&file.path, &file.folder, file.language)
        };
        if let Some(known) = self.files.iter_mut().find(is_same) {
            known.is_named |= file.is_named;
            known.is_first &= file.is_first;
            return;
        }
        if self.files.len() >= FILES_MAX {
            return self.leave_open();
        }
        self.files.push(file);
    }

    /// A path as it is seen from the folder in which the line starts.
    fn below(&self, path: &str) -> Option<String> {
        if path.is_empty() || path.contains([UNKNOWN, HOME, STAR]) {
            return None;
        }
        if path.starts_with('/') {
            return Some(path.to_owned());
        }
        let folder = self.folder.as_deref()?;
        Some(if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") })
    }

    /// A program that is named by where it lies: a file like any other, unless it is installed.
    pub(super) fn by_path(&mut self, name: &str) -> bool {
        let is_by_path = name.contains('/') && !program::is_installed(name);
        if is_by_path {
            self.file(name, Language::ByFirstLine, true);
        }
        is_by_path
    }

    /// One command, seen by its name, with what it is wrapped in taken off.
    pub(super) fn command(&mut self, name: &str, program: &str, arguments: &[String]) {
        if !self.is_named || name.contains([UNKNOWN, HOME, STAR]) {
            // It may be a `cd`.
            return self.lose_way();
        }
        if program::changes_shell(program) || (program == "unset" && arguments.iter().any(|name| name == "PWD")) {
            return self.lose_way();
        }
        if let Some(file) = program::program_file(program, arguments) {
            self.file(&file, Language::Other, true);
        }
        if let Some(files) = PROJECT_FILES.iter().find(|(name, _)| *name == program).map(|(_, files)| files) {
            self.leave_open();
            return self.project(program, arguments, files);
        }
        // In a folder that is not known it may do something else than it seems.
        let is_at_home = self.folder.is_some();
        let is_plain = PLAIN.contains(&program)
            || (is_at_home && (WRITERS.contains(&program) || program::is_plain_git(program, arguments)));
        // Some builtins of some shells run what stands in an index.
        let hides_command = program::is_evaluating(program)
            && arguments.iter().any(|word| word.contains(['`', UNKNOWN]) || word.contains("$(") || word == "-v");
        if !is_plain || hides_command || (!self.is_literal && program::needs_literal(program)) {
            self.leave_open();
        }
        if WRITERS.contains(&program) {
            self.write();
        }
    }

    /// The files that a build tool or a runner of tasks reads by itself.
    fn project(&mut self, program: &str, arguments: &[String], files: &[&str]) {
        let folder = self.folder.clone();
        if let Some(inner) = program::folder_of_project(program, arguments) {
            self.folder = self.below(&inner).filter(|_| self.is_literal);
        }
        // A file that is named by an option was seen already, from the folder that it is named from.
        if program::file_of_project(program, arguments).is_none() {
            for file in files {
                self.file(file, Language::Other, false);
            }
        }
        self.folder = folder;
    }
}

#[cfg(test)]
mod tests;

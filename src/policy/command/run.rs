//! What one command does, and what it runs in its turn.

use std::rc::Rc;

use super::courtesy::{code_refusal, code_runs_commands, finds_everything_vital, is_doubtful, refusal};
use super::program::{files_before_shell, is_plain, is_plain_shell, is_transparent, language_of_shell, may_move};
use super::started::Language;
use super::syntax::UNKNOWN;
use super::walk::{PIPED_DOWNLOAD, REVERSE_SHELL, Stage, Walk, script_of};
use super::word::{HOME, to_script};
use super::wrapper::{Inside, folder_of_env, inside, is_shell};

const WIPED: &str = "it would wipe a whole disk, a home folder or a system folder";

const DOWNLOADERS: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "fetch",
    "aria2c",
    "http",
    "https",
    "xh",
    "lynx",
    "w3m",
    "links",
    "elinks",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
];
const CONNECTORS: &[&str] =
    &["nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "socat", "telnet", "cryptcat", "pwncat"];

impl Walk {
    /// Judges a command and whatever it runs.
    pub(super) fn run(&mut self, words: &[String], substituted: &Stage, wrappers_left: usize) -> Stage {
        let Some((name, arguments)) = words.split_first() else { return Stage::default() };
        // Each word is looked at, and may be joined to the folder.
        let folder_bytes = self.folder.as_ref().map_or(0, String::len);
        let is_affordable = words.iter().all(|word| self.effort.pay(word.len() + folder_bytes + 1));
        if self.denied.is_some() || wrappers_left == 0 || !is_affordable {
            self.is_unparsed = true;
            return Stage::default();
        }
        if name.contains(UNKNOWN) {
            self.started.look_for_operands(arguments);
            self.run_what_is_left(name, arguments, substituted, wrappers_left);
        }
        let program = program_name(name);
        self.is_unparsed |= is_doubtful(&program, arguments, self.folder.as_deref()) || renames(&program, arguments);
        if let Some(what) = refusal(&program, arguments, self.folder.as_deref()) {
            self.deny(what);
        }
        let mut stage = Stage {
            downloads: DOWNLOADERS.contains(&program.as_str()),
            connects: CONNECTORS.contains(&program.as_str())
                || (program == "openssl" && arguments.first().is_some_and(|verb| verb == "s_client")),
            is_shell: is_shell(&program),
            is_self: self.functions.iter().any(|function| function == name),
            finds_everything: program == "find" && finds_everything_vital(arguments, self.folder.as_deref()),
            prints: printed(&program, arguments, self.input.prints.as_ref()),
            reads: Vec::new(),
        };
        let is_by_path = self.started.by_path(name);
        let what = inside(&program, arguments);
        self.starts_content(name, &what, substituted, stage.is_shell);
        if stage.is_shell {
            for file in files_before_shell(arguments) {
                self.started.look_for(file, Language::Shell);
            }
        }
        match what {
            what @ (Inside::Nothing | Inside::File(_)) => {
                stage.read(substituted.reads.iter().cloned());
                if stage.prints.is_none() {
                    let operands = arguments.iter().filter(|word| !word.starts_with('-'));
                    stage.read(operands.filter_map(|word| self.started.readable(word)));
                }
                if let Inside::File(file) = what {
                    self.starts_file(&program, arguments, &file);
                } else if !is_by_path {
                    self.started.command(name, &program, arguments);
                }
                if matches!(program.as_str(), "source" | ".") && substituted.downloads {
                    self.deny(PIPED_DOWNLOAD);
                }
                // `bash <(curl …)`: the file that the shell runs is what was downloaded.
                if stage.is_shell && substituted.downloads && arguments.iter().any(|word| word.starts_with(UNKNOWN)) {
                    self.deny(PIPED_DOWNLOAD);
                }
                if self.is_downloaded(name) || arguments.iter().any(|file| stage.is_shell && self.is_downloaded(file)) {
                    self.deny(PIPED_DOWNLOAD);
                }
                if stage.downloads {
                    self.downloaded.extend(kept_in(arguments));
                }
                if matches!(program.as_str(), "cd" | "pushd") {
                    self.folder = self.folder_after_cd(arguments);
                    self.started.enter(name, arguments);
                }
            }
            Inside::Command(mut command) => {
                self.started.has_begun |= program == "xargs";
                if program == "xargs" && !command.is_empty() {
                    let piped = self.input.prints.as_deref().unwrap_or_default();
                    command.extend(piped.split_whitespace().map(str::to_owned));
                }
                if program == "xargs" && self.input.finds_everything && is_removal(&command) {
                    self.deny(WIPED);
                }
                self.starts_wrapped(&program, arguments, &command);
                let folders = (self.folder.clone(), self.started.folder.clone());
                if let Some(folder) = folder_of_env(arguments).filter(|_| program == "env") {
                    self.folder = self.folder_after_cd(&[folder.to_owned()]);
                    self.started.go(folder);
                }
                if may_move(&program) {
                    self.started.lose_way();
                }
                self.started.is_bare = false;
                let start = self.started.folder.clone();
                stage.merge(self.run(&command, substituted, wrappers_left - 1));
                let is_moved = self.started.folder != start;
                (self.folder, self.started.folder) = folders;
                // Nothing that is wrapped takes this shell along, but behind `command` and `builtin`, in some shells.
                if is_moved {
                    self.started.lose_way();
                }
            }
            Inside::Each(commands) => {
                self.started.has_begun = true;
                let everything = finds_everything_vital(arguments, self.folder.as_deref());
                let is_literal = self.started.is_literal;
                let folder = self.started.folder.clone();
                if arguments.iter().any(|word| matches!(word.as_str(), "-execdir" | "-okdir")) {
                    self.started.lose_way();
                }
                for mut command in commands {
                    self.started.is_literal = is_literal;
                    self.started.is_bare = false;
                    if !is_literal || !is_plain(&command) {
                        self.started.leave_open();
                    }
                    if everything && is_removal(&command) {
                        self.deny(WIPED);
                    }
                    // What `find /` finds first is `/` itself.
                    for word in command.iter_mut().filter(|word| everything && word.as_str() == "{}") {
                        "/".clone_into(word);
                    }
                    stage.merge(self.run(&command, substituted, wrappers_left - 1));
                }
                self.started.folder = folder;
            }
            Inside::Script(text) => {
                // What a variable or a command gives it to run, nobody can read here.
                self.is_unparsed |=
                    to_script(&UNKNOWN.to_string()) == text.split_whitespace().next().unwrap_or_default();
                if !self.started.is_literal || !(is_plain_shell(&program, arguments) || program == "eval") {
                    self.started.leave_open();
                }
                if substituted.downloads {
                    self.deny(PIPED_DOWNLOAD);
                }
                if program == "trap" {
                    // It runs later, where this shell is then, and may take it elsewhere.
                    self.started.has_begun = true;
                    self.started.lose_way();
                }
                stage.merge(if matches!(program.as_str(), "eval" | "trap") {
                    self.script(&text)
                } else {
                    self.apart(|walk| walk.script(&text))
                });
            }
            Inside::Input => {
                self.started.leave_open();
                if let Some(file) = self.started.input.take() {
                    let language = if stage.is_shell { Language::Shell } else { Language::Other };
                    self.started.file(&file, language, true);
                }
                self.run_input(stage.is_shell || matches!(program.as_str(), "source" | "."));
            }
            Inside::Code(code) => {
                self.started.leave_open();
                self.started.command(name, &program, arguments);
                if substituted.downloads {
                    self.deny(PIPED_DOWNLOAD);
                }
                self.code(&code);
            }
        }
        stage
    }

    /// A word before the command, or a piece of its name, may come to nothing: then the rest is the command.
    fn run_what_is_left(&mut self, name: &str, arguments: &[String], substituted: &Stage, wrappers_left: usize) {
        let name = name.replace(UNKNOWN, "");
        let words: Vec<String> =
            Some(name).filter(|name| !name.is_empty()).into_iter().chain(arguments.iter().cloned()).collect();
        self.possibly(|walk| walk.run(&words, substituted, wrappers_left - 1));
    }

    fn is_downloaded(&self, file: &str) -> bool {
        let plain = |path: &str| path.trim_start_matches("./").to_owned();
        !self.downloaded.is_empty() && self.downloaded.iter().any(|kept| plain(kept) == plain(file))
    }

    /// Where `cd` leads, as far as the text tells.
    fn folder_after_cd(&self, arguments: &[String]) -> Option<String> {
        let Some(target) = arguments.iter().find(|word| !word.starts_with('-')) else {
            // `cd -` leads back, `cd` home.
            return arguments.is_empty().then(|| HOME.to_string());
        };
        Some(match &self.folder {
            Some(folder) if !target.starts_with(['/', HOME]) => format!("{folder}/{target}"),
            Some(_) | None => target.clone(),
        })
    }

    /// A shell, or this one, runs a file.
    fn starts_file(&mut self, program: &str, arguments: &[String], file: &str) {
        let is_own = matches!(program, "source" | ".");
        let language = if is_own { Language::Shell } else { language_of_shell(program, arguments) };
        self.started.file(file, language, true);
        if is_own {
            // It may go to another folder and bring functions with it.
            self.started.lose_way();
        }
    }

    /// What comes out of files is run: `cat x | sh`, `sh -c "$(cat x)"`, `$(cat x)`.
    fn starts_content(&mut self, name: &str, what: &Inside, substituted: &Stage, is_shell: bool) {
        let is_named = !name.contains(UNKNOWN);
        let (runs_substituted, runs_input) = match what {
            Inside::Nothing | Inside::Command(_) | Inside::Each(_) | Inside::Code(_) => (!is_named, !is_named),
            Inside::Script(_) | Inside::File(_) => (true, !is_named),
            Inside::Input => (true, true),
        };
        let is_other = matches!(what, Inside::Input) && is_named && !is_shell;
        let language = if is_other { Language::Other } else { Language::Shell };
        if runs_substituted {
            self.started.run_content(&substituted.reads, language);
        }
        if runs_input {
            let piped = self.input.reads.clone();
            self.started.run_content(&piped, language);
            let stands = self.started.stands.clone();
            self.started.run_content(&stands, language);
        }
    }

    /// A program runs the rest of its line.
    fn starts_wrapped(&mut self, program: &str, arguments: &[String], command: &[String]) {
        if program == "env" {
            for (name, value) in arguments.iter().filter_map(|word| word.split_once('=')) {
                self.started.assign(name, value);
            }
        }
        let passes_on = is_transparent(program) && self.started.is_literal;
        if !(passes_on || (program == "xargs" && is_plain(command))) {
            self.started.leave_open();
        }
    }

    /// A shell or an interpreter that runs what it reads.
    fn run_input(&mut self, is_shell: bool) {
        if self.input.downloads {
            self.deny(PIPED_DOWNLOAD);
        }
        if self.input.connects {
            self.deny(REVERSE_SHELL);
        }
        if let Some(text) = self.input.prints.take() {
            if is_shell {
                let _piped = self.script(&text);
            } else {
                self.code(&text);
            }
        }
    }

    /// Code of another language: its words, and the command lines that it holds as texts. It is never "unparsed":
    /// nobody said that it would be taken apart.
    fn code(&mut self, code: &str) {
        if !self.effort.pay(code.len()) {
            return;
        }
        if let Some(what) = code_refusal(code) {
            self.deny(what);
        }
        if !code_runs_commands(code) {
            return;
        }
        for quote in ['\'', '"', '`'] {
            for text in code.split(quote).skip(1).step_by(2) {
                self.possible_script(text);
            }
        }
    }
}

/// The files in which a download is kept: `-o x`, `-O x`, `--output=x`.
fn kept_in(arguments: &[String]) -> impl Iterator<Item = String> {
    let is_option = |word: &str| matches!(word, "-o" | "-O" | "--output" | "--output-document");
    let after = arguments.windows(2).filter_map(move |pair| match pair {
        [option, file] if is_option(option) => Some(file.clone()),
        _ => None,
    });
    let attached = arguments.iter().filter_map(|word| {
        let value = word.strip_prefix("--output=").or_else(|| word.strip_prefix("--output-document="));
        value.or_else(|| word.strip_prefix("-o").filter(|_| !word.starts_with("--"))).map(str::to_owned)
    });
    after.chain(attached).filter(|file| !file.is_empty())
}

/// Whether a command removes what it is given.
fn is_removal(command: &[String]) -> bool {
    command.first().is_some_and(|name| matches!(program_name(name).as_str(), "rm" | "unlink" | "srm" | "shred"))
}

/// Whether names mean something else from here on: `alias x=…`, `set -- …`.
fn renames(program: &str, arguments: &[String]) -> bool {
    let mut words = arguments.iter();
    match program {
        "alias" => words.any(|word| word.contains('=')),
        "set" => loop {
            match words.next().map(String::as_str) {
                None => break false,
                Some("--" | "-") => break words.next().is_some(),
                Some(option) if option.starts_with(['-', '+']) => {
                    if option.ends_with('o') {
                        words.next();
                    }
                }
                Some(_) => break true,
            }
        },
        _ => false,
    }
}

/// A program's name without its folder, in lower case.
fn program_name(word: &str) -> String {
    word.rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

/// What a command prints, where its text shows it.
fn printed(program: &str, arguments: &[String], input: Option<&Rc<str>>) -> Option<Rc<str>> {
    match program {
        "echo" | "printf" => {
            let words: Vec<String> = arguments
                .iter()
                .skip_while(|word| matches!(word.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en" | "--"))
                .cloned()
                .collect();
            Some(script_of(&words).replace("\\n", "\n").into())
        }
        "cat" | "tee" if arguments.iter().all(|word| program == "tee" || word == "-") => input.cloned(),
        _ => None,
    }
}

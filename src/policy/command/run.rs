//! What one command does, and what it runs in its turn.

use std::rc::Rc;

use super::courtesy::{code_refusal, code_runs_commands, finds_everything_vital, refusal};
use super::syntax::UNKNOWN;
use super::walk::{PIPED_DOWNLOAD, REVERSE_SHELL, Stage, Walk, script_of};
use super::wrapper::{Inside, inside, is_shell};

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
        let program = program_name(name);
        if let Some(what) = refusal(&program, arguments, self.folder.as_deref()) {
            self.deny(what);
        }
        let mut stage = Stage {
            downloads: DOWNLOADERS.contains(&program.as_str()),
            connects: CONNECTORS.contains(&program.as_str())
                || (program == "openssl" && arguments.first().is_some_and(|verb| verb == "s_client")),
            is_shell: is_shell(&program),
            is_self: self.functions.iter().any(|function| function == name),
            prints: printed(&program, arguments, self.input.prints.as_ref()),
        };
        match inside(&program, arguments) {
            Inside::Nothing => {
                if matches!(program.as_str(), "source" | ".") && substituted.downloads {
                    self.deny(PIPED_DOWNLOAD);
                }
                // `bash <(curl …)`: the file that the shell runs is what was downloaded.
                if stage.is_shell && substituted.downloads && arguments.iter().any(|word| word.starts_with(UNKNOWN)) {
                    self.deny(PIPED_DOWNLOAD);
                }
                if program == "cd" {
                    self.folder = arguments.iter().find(|word| !word.starts_with('-')).cloned();
                }
            }
            Inside::Command(mut command) => {
                if program == "xargs" && !command.is_empty() {
                    let piped = self.input.prints.as_deref().unwrap_or_default();
                    command.extend(piped.split_whitespace().map(str::to_owned));
                }
                stage.merge(self.run(&command, substituted, wrappers_left - 1));
            }
            Inside::Each(commands) => {
                let everything = finds_everything_vital(arguments, self.folder.as_deref());
                for mut command in commands {
                    // What `find /` finds first is `/` itself.
                    for word in command.iter_mut().filter(|word| everything && word.as_str() == "{}") {
                        "/".clone_into(word);
                    }
                    stage.merge(self.run(&command, substituted, wrappers_left - 1));
                }
            }
            Inside::Script(text) => {
                if substituted.downloads {
                    self.deny(PIPED_DOWNLOAD);
                }
                stage.merge(self.script(&text));
            }
            Inside::Input => self.run_input(&stage),
            Inside::Code(code) => {
                if substituted.downloads {
                    self.deny(PIPED_DOWNLOAD);
                }
                self.code(&code);
            }
        }
        stage
    }

    /// A shell or an interpreter that runs what it reads.
    fn run_input(&mut self, stage: &Stage) {
        if self.input.downloads {
            self.deny(PIPED_DOWNLOAD);
        }
        if self.input.connects {
            self.deny(REVERSE_SHELL);
        }
        if let Some(text) = self.input.prints.take() {
            if stage.is_shell {
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

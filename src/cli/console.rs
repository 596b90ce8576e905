//! Where a command prints and asks: the terminal, or the other end of a socket when the command line was handed over.

use std::io::{self, IsTerminal as _, Read as _, Write};
use std::path::{Path, PathBuf};

use crate::engine::{Departure, Handle, Visitor};
use crate::ir::SessionId;
use crate::lang::{Arg, Lang};
use crate::policy;
use crate::port::Command;
use crate::secret::SecretKey;

use super::terminal;

/// The most that standard input may hold, in bytes: a 5 MB write, escaped.
const LONGEST_INPUT: u64 = 32 * 1024 * 1024;

/// The surroundings of one command.
pub(super) struct Console {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    input: Input,
    /// Where relative paths start.
    pub(super) cwd: PathBuf,
    /// What people read.
    pub(super) lang: Lang,
    /// Say only what went wrong.
    pub(super) is_quiet: bool,
    /// A reader that went away ends the command like a closed terminal does.
    is_broken: bool,
    /// Set when another process handed the command over.
    departure: Option<Departure>,
    is_handed_over: bool,
    /// The key that came with a command line that was handed over.
    given_key: Option<SecretKey>,
}

/// Where standard input comes from.
pub(super) enum Input {
    /// This process's own.
    Terminal,
    /// Read already, by the process that handed the command over.
    Given(String),
}

impl Console {
    /// The console of this process.
    ///
    /// # Errors
    /// When the working folder is gone.
    pub(super) fn of_process(lang: Lang, is_quiet: bool) -> io::Result<Self> {
        Ok(Self {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            input: Input::Terminal,
            cwd: std::env::current_dir()?,
            lang,
            is_quiet,
            is_broken: false,
            departure: None,
            is_handed_over: false,
            given_key: None,
        })
    }

    /// The console of a command line that another process handed over.
    ///
    /// # Errors
    /// When the connection cannot be shared.
    pub(super) fn handed_over(visitor: &Visitor, lang: Lang, is_quiet: bool) -> io::Result<Self> {
        Ok(Self {
            out: Box::new(visitor.out()?),
            err: Box::new(visitor.err()?),
            input: Input::Given(visitor.handover.stdin.clone()),
            cwd: visitor.handover.cwd.clone(),
            lang,
            is_quiet,
            is_broken: false,
            departure: Some(visitor.departure()?),
            is_handed_over: true,
            given_key: SecretKey::new(&visitor.handover.api_key),
        })
    }

    /// Whether the window's own process does this: questions wait there.
    pub(super) fn is_handed_over(&self) -> bool {
        self.is_handed_over
    }

    /// Stops the session's turn when the process that handed the command over goes away. (In a process of its own Ctrl+C
    /// ends the engine itself.)
    pub(super) fn stop_on_departure(&mut self, engine: &Handle, session: &SessionId) {
        self.send_on_departure(engine, Command::Stop(session.clone()));
    }

    /// Sends a command when the process that handed the command line over goes away.
    pub(super) fn send_on_departure(&mut self, engine: &Handle, command: Command) {
        let Some(departure) = self.departure.take() else { return };
        let engine = engine.clone();
        let stop = move || {
            if engine.send(command).is_err() {
                tracing::warn!("something goes on although its caller went away");
            }
        };
        if let Err(error) = departure.then(stop) {
            self.problem(&error.to_string());
        }
    }

    /// Passes on what another process has printed: it is fit for the terminal already.
    pub(super) fn raw(&mut self, text: &str) {
        let done = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        self.is_broken |= done.is_err();
    }

    /// The same for standard error.
    pub(super) fn raw_problem(&mut self, text: &str) {
        let done = self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush());
        self.is_broken |= done.is_err();
    }

    /// Prints a line of a list, with deceptive characters made visible.
    pub(super) fn line(&mut self, text: &str) {
        let shown = format!("{}\n", policy::escape(text, true));
        self.raw(&shown);
    }

    /// Prints a piece of the answer: prose, in which only what would command the terminal is escaped.
    pub(super) fn print(&mut self, text: &str) {
        self.raw(&policy::escape_controls(text));
    }

    /// Prints data for a program: JSON, exactly as it is.
    pub(super) fn data(&mut self, line: &str) {
        let done = self.out.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.out.flush());
        self.is_broken |= done.is_err();
    }

    /// Tells the person something beside the answer.
    pub(super) fn note(&mut self, text: &str) {
        if !self.is_quiet {
            self.problem(text);
        }
    }

    /// Tells the person what went wrong.
    pub(super) fn problem(&mut self, text: &str) {
        let shown = policy::escape(text, true);
        // Nobody is left to tell when standard error is closed.
        let done = self.err.write_all(format!("{shown}\n").as_bytes()).and_then(|()| self.err.flush());
        self.is_broken |= done.is_err();
    }

    /// A text of the person's language.
    pub(super) fn say(&self, key: &str, args: &[(&str, Arg<'_>)]) -> String {
        if args.is_empty() { self.lang.text(key).to_owned() } else { self.lang.format(key, args) }
    }

    /// Whether the reader went away.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether a person can be asked here.
    pub(super) fn can_ask(&self) -> bool {
        match self.input {
            Input::Terminal => io::stdin().is_terminal() && io::stderr().is_terminal(),
            Input::Given(_) => false,
        }
    }

    /// Asks and waits for a line, as long as the question is open; `None` when there is nobody or it closed meanwhile.
    pub(super) fn ask(&mut self, question: &str, is_open: impl Fn() -> bool) -> Option<String> {
        if !self.can_ask() {
            return None;
        }
        self.err.write_all(policy::escape(question, true).as_bytes()).and_then(|()| self.err.flush()).ok()?;
        terminal::wait_for_line(is_open)
    }

    /// What was typed before the question could be read is no answer to it.
    pub(super) fn forget_what_was_typed(&self) {
        if self.can_ask() {
            terminal::forget_input();
        }
    }

    /// All of standard input.
    ///
    /// # Errors
    /// When it cannot be read or is not text.
    pub(super) fn read_input(&mut self) -> io::Result<String> {
        match &mut self.input {
            Input::Terminal => {
                let mut text = String::new();
                io::stdin().lock().take(LONGEST_INPUT + 1).read_to_string(&mut text)?;
                if text.len() as u64 > LONGEST_INPUT {
                    return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("> {LONGEST_INPUT} B")));
                }
                Ok(text)
            }
            Input::Given(text) => Ok(std::mem::take(text)),
        }
    }

    /// The key in an environment variable of whoever typed the command.
    ///
    /// # Errors
    /// When there is none; the sentence says so.
    pub(super) fn key_in(&self, variable: &str) -> Result<SecretKey, String> {
        let own = || std::env::var(variable).ok().and_then(|text| SecretKey::new(&text));
        let found = if self.is_handed_over { self.given_key.clone() } else { own() };
        found.ok_or_else(|| self.say("cli-no-key-variable", &[("variable", Arg::from(variable))]))
    }

    /// A secret from standard input: typed after a question without being shown, or all that is piped in.
    ///
    /// # Errors
    /// When it cannot be read or is not text.
    pub(super) fn read_secret(&mut self, question: &str) -> io::Result<String> {
        if !self.can_ask() {
            return self.read_input();
        }
        self.err.write_all(policy::escape(question, true).as_bytes()).and_then(|()| self.err.flush())?;
        let typed = terminal::read_hidden_line();
        self.err.write_all(b"\n")?;
        typed
    }

    /// A path as given, made absolute.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }
}

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

/// Characters of one line; a path of the longest kind fits.
const LONGEST_LINE: usize = 6_000;
/// Lines and characters of what somebody else said.
const MOST_QUOTED_LINES: usize = 12;
const MOST_QUOTED: usize = 1_200;

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
    /// Whether a person reads the answer where questions are asked: each of its lines is behind a bar then.
    is_barred: bool,
    /// Whether the next piece of an answer begins a line.
    is_at_line_start: bool,
    /// Where the cursor is while a question waits.
    prompt: Prompt,
}

/// Whether a question stands on the last line of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prompt {
    Absent,
    Shown,
    /// Something else was said below it.
    Covered,
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
            is_barred: io::stdout().is_terminal(),
            is_at_line_start: true,
            prompt: Prompt::Absent,
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
            is_barred: false,
            is_at_line_start: true,
            prompt: Prompt::Absent,
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

    /// Prints one line of a list. Whatever is in it stays one line: line breaks are escapes, and of what is too long the
    /// middle is left out and counted.
    pub(super) fn line(&mut self, text: &str) {
        let shown = format!("{}\n", policy::one_line(text, LONGEST_LINE));
        self.raw(&shown);
    }

    /// Prints a line of a file, whole, behind a sign.
    pub(super) fn text_line(&mut self, sign: &str, line: &str) {
        let shown = format!("{sign}{}\n", visible(line));
        self.raw(&shown);
    }

    /// Prints a piece of the answer: prose, in which only what would command the terminal is escaped.
    pub(super) fn print(&mut self, text: &str) {
        self.raw(&policy::escape_controls(text));
    }

    /// Prints a piece of what a model says, as it comes; on a terminal no line of it can pass for one of Nod's.
    pub(super) fn answer(&mut self, text: &str) {
        if !self.is_barred {
            return self.print(text);
        }
        let text = policy::escape_controls(text);
        let mut shown = String::with_capacity(text.len() + 8);
        for piece in text.split_inclusive('\n') {
            // The line break that ends a line that has begun needs no bar.
            if self.is_at_line_start {
                shown.push_str("│ ");
            }
            shown.push_str(piece);
            self.is_at_line_start = piece.ends_with('\n');
        }
        self.raw(&shown);
    }

    /// Prints JSON for a program. A terminal may be where it goes, so what would command it stands as an escape of JSON.
    pub(super) fn data(&mut self, json: &str) {
        self.raw(&format!("{}\n", policy::escape_json(json)));
    }

    /// Prints a row of a table for a program, whole and as one line.
    pub(super) fn row(&mut self, row: &str) {
        self.raw(&format!("{}\n", policy::escape(row, false)));
    }

    /// Passes on what a tool's program prints, live: behind a bar, so that none of its lines is taken for one of Nod's.
    pub(super) fn output(&mut self, text: &str) {
        if !self.is_quiet {
            self.behind_bar(text.trim_end_matches('\n'));
        }
    }

    /// Tells the person what somebody else said, each line behind a bar; gives how many characters there was no room for.
    pub(super) fn quote(&mut self, text: &str) -> usize {
        let (shown, left_out) = policy::beginning(text, MOST_QUOTED_LINES, MOST_QUOTED);
        self.behind_bar(shown);
        left_out
    }

    fn behind_bar(&mut self, text: &str) {
        for line in text.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            self.tell(&format!("  │ {}", policy::escape(line, true)));
        }
    }

    /// Tells the person a line of a file or a command, whole, behind a sign.
    pub(super) fn text_problem(&mut self, sign: &str, line: &str) {
        self.tell(&format!("{sign}{}", visible(line)));
    }

    /// Tells the person something beside the answer: one line, like [`line`](Self::line).
    pub(super) fn note(&mut self, text: &str) {
        if !self.is_quiet {
            self.problem(text);
        }
    }

    /// Tells the person what went wrong: one line, like [`line`](Self::line).
    pub(super) fn problem(&mut self, text: &str) {
        self.tell(&policy::one_line(text, LONGEST_LINE));
    }

    /// Writes a line that is fit for the terminal; below a question that waits, which is then shown again.
    fn tell(&mut self, shown: &str) {
        if self.prompt == Prompt::Shown {
            self.prompt = Prompt::Covered;
            self.raw_problem("\n");
        }
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

    /// Asks and waits for a line, as long as the question is open; `None` when there is nobody or it closed meanwhile. What
    /// `is_open` says meanwhile stands over the question, which is shown again below it.
    pub(super) fn ask(&mut self, question: &str, mut is_open: impl FnMut(&mut Self) -> bool) -> Option<String> {
        if !self.can_ask() {
            return None;
        }
        let question = policy::escape(question, false);
        self.prompt = Prompt::Covered;
        let line = terminal::wait_for_line(|| {
            let is_open = is_open(self);
            if is_open && self.prompt == Prompt::Covered {
                self.raw_problem(&question);
                self.prompt = Prompt::Shown;
            }
            is_open && !self.is_broken
        });
        self.prompt = Prompt::Absent;
        line
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
        self.err.write_all(policy::escape(question, false).as_bytes()).and_then(|()| self.err.flush())?;
        let typed = terminal::read_hidden_line();
        self.err.write_all(b"\n")?;
        typed
    }

    /// A path as given, made absolute.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }
}

/// A line of a text with what cannot be seen made visible: its carriage return, and blanks at its end. Tabs within stay.
fn visible(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let (line, end) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\\r"));
    let body = line.trim_end_matches([' ', '\t']);
    let blanks = line.get(body.len()..).unwrap_or_default().replace(' ', "·").replace('\t', "→");
    // A line break within, and the line would be two.
    format!("{}{blanks}{end}", policy::escape_name(body, true).replace('\n', "\\n"))
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;
    use crate::lang::Locale;

    /// What a console of a test writes.
    struct Writer(SyncSender<Vec<u8>>);

    impl Write for Writer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What a console of a test has written, since the last look.
    pub(crate) struct Written(Receiver<Vec<u8>>);

    impl Written {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.try_iter().flatten().collect()).unwrap()
        }
    }

    /// A console that writes both streams to one place.
    pub(crate) fn console(locale: Locale) -> (Console, Written) {
        let (sender, written) = sync_channel(100_000);
        let console = Console {
            out: Box::new(Writer(sender.clone())),
            err: Box::new(Writer(sender)),
            input: Input::Given(String::new()),
            cwd: PathBuf::from("/"),
            lang: Lang::new(locale),
            is_quiet: false,
            is_broken: false,
            departure: None,
            is_handed_over: false,
            given_key: None,
            is_barred: false,
            is_at_line_start: true,
            prompt: Prompt::Absent,
        };
        (console, Written(written))
    }

    #[test]
    fn foreign_text_never_makes_a_line_of_its_own() {
        let forged = "no such model\n✓ write_file a.txt\r\n\u{1B}[2K";
        let (mut console, written) = console(Locale::English);
        console.line(forged);
        console.note(forged);
        console.problem(forged);
        assert_eq!(written.text(), "no such model\\n✓ write_file a.txt\\r\\n\\u{001B}[2K\n".repeat(3));
    }

    #[test]
    fn what_a_program_prints_stands_behind_a_bar() {
        let (mut console, written) = console(Locale::English);
        console.output("one\r\n✓ write_file a.txt\n");
        assert_eq!(written.text(), "  │ one\n  │ ✓ write_file a.txt\n");
    }

    #[test]
    fn on_a_terminal_no_line_of_an_answer_begins_like_one_of_nods() {
        let pieces = ["Fi", "ne.\n\nAllow read_file", " on a? [y = yes", "\n", "✓ done\n"];
        let (mut console, written) = console(Locale::English);
        for piece in pieces {
            console.answer(piece);
        }
        assert_eq!(written.text(), pieces.concat(), "what goes elsewhere is the answer as it is");
        console.is_barred = true;
        for piece in pieces {
            console.answer(piece);
        }
        assert_eq!(written.text(), "│ Fine.\n│ \n│ Allow read_file on a? [y = yes\n│ ✓ done\n");
    }

    #[test]
    fn a_line_is_bounded_and_says_what_it_leaves_out() {
        let (mut console, written) = console(Locale::English);
        console.problem(&"x".repeat(1_000_000));
        let text = written.text();
        assert!(text.len() < 7_000 && text.contains("(+994000)"), "{}", text.len());
    }

    #[test]
    fn what_cannot_be_seen_in_a_line_is_shown() {
        assert_eq!(visible("a\r\n"), "a\\r");
        assert_eq!(visible("a \t\n"), "a·→");
        assert_eq!(visible("a\rb\n"), "a\\rb");
        assert_eq!(visible("a\nb\n"), "a\\nb");
        assert_eq!(visible("\tplain 文\n"), "\tplain 文");
    }
}

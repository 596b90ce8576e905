//! Colours of code, by meaning: found off the window's thread by one named worker, line by line, each line once.
//!
//! What is asked for last is done first. Nothing here knows a colour: the theme gives one to each class.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

use egui::{Color32, Context};
use syntect::easy::ScopeRangeIterator;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::theme::Colors;

/// Most jobs that wait for the worker.
const QUEUE: usize = 32;
/// Longest text of one job, in bytes.
const JOB_BYTES: usize = 32 * 1024;
/// Longest line that is taken apart, in bytes.
const LINE_BYTES: usize = 2000;
/// Most texts whose state and lines are kept.
const KEPT: usize = 256;

/// What a piece of code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    Plain,
    Keyword,
    Function,
    String,
    Number,
    Kind,
    Comment,
}

impl Class {
    /// Its colour.
    pub const fn color(self, colors: &Colors) -> Color32 {
        match self {
            Self::Plain => colors.text,
            Self::Keyword => colors.syntax.keyword,
            Self::Function => colors.syntax.function,
            Self::String => colors.syntax.string,
            Self::Number => colors.syntax.number,
            Self::Kind => colors.syntax.kind,
            Self::Comment => colors.syntax.comment,
        }
    }
}

/// One line: stretches that follow each other, in bytes, the line break included.
pub type Line = Arc<[(usize, Class)]>;

struct Job {
    key: u64,
    language: String,
    /// Whole lines.
    text: String,
}

struct Done {
    key: u64,
    lines: Vec<Line>,
}

/// What is known of one text.
#[derive(Default)]
struct Entry {
    lines: Vec<Line>,
    /// How far the text was handed to the worker, in bytes.
    sent: usize,
    is_waiting: bool,
    used: u64,
}

/// The window's side: asks for colours and keeps them.
pub struct Highlighter {
    jobs: Option<SyncSender<Job>>,
    done: Receiver<Done>,
    entries: HashMap<u64, Entry>,
    turn: u64,
}

impl Highlighter {
    /// Starts the worker; it loads nothing before the first job.
    pub fn new(ctx: &Context) -> Self {
        let (jobs, waiting) = sync_channel(QUEUE);
        let (answers, done) = sync_channel(QUEUE);
        let ctx = ctx.clone();
        let worker = std::thread::Builder::new()
            .name("nod-highlight".to_owned())
            .spawn(move || work(&waiting, &answers, || ctx.request_repaint()));
        // Without a worker code has no colours, and everything else goes on.
        Self { jobs: worker.is_ok().then_some(jobs), done, entries: HashMap::new(), turn: 0 }
    }

    /// Takes in what the worker finished: once a frame.
    pub fn poll(&mut self) {
        self.turn += 1;
        while let Ok(Done { key, lines }) = self.done.try_recv() {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.lines.extend(lines);
                entry.is_waiting = false;
            }
        }
        if self.entries.len() > KEPT {
            let turn = self.turn;
            self.entries.retain(|_, entry| entry.is_waiting || turn.saturating_sub(entry.used) < 600);
        }
    }

    /// The lines of a text that are known by now, from the first on; asks for the rest. `key` stands for a text that only
    /// grows at its end; its last line counts once it ends, or when the text `is_whole`.
    pub fn lines(&mut self, key: u64, language: &str, text: &str, is_whole: bool) -> &[Line] {
        let entry = self.entries.entry(key).or_default();
        entry.used = self.turn;
        let ready = if is_whole { text.len() } else { text.rfind('\n').map_or(0, |index| index + 1) };
        if !entry.is_waiting && entry.sent < ready && is_known(language) {
            let rest = text.get(entry.sent..ready).unwrap_or_default();
            let part = whole_lines(rest);
            let job = Job { key, language: language.to_owned(), text: part.to_owned() };
            match self.jobs.as_ref().map(|jobs| jobs.try_send(job)) {
                Some(Ok(())) => {
                    entry.sent += part.len();
                    entry.is_waiting = true;
                }
                // Asked again in the next frame, when an answer wakes the window.
                Some(Err(TrySendError::Full(_))) => {}
                Some(Err(TrySendError::Disconnected(_))) | None => self.jobs = None,
            }
        }
        &entry.lines
    }
}

/// At most `JOB_BYTES` of whole lines, but at least one line.
fn whole_lines(text: &str) -> &str {
    if text.len() <= JOB_BYTES {
        return text;
    }
    let bytes = text.as_bytes();
    let end = match bytes.iter().take(JOB_BYTES).rposition(|byte| *byte == b'\n') {
        Some(index) => index + 1,
        None => bytes.iter().position(|byte| *byte == b'\n').map_or(text.len(), |index| index + 1),
    };
    text.get(..end).unwrap_or(text)
}

/// Whether a language may have a syntax at all; saves the worker's start for plain text.
fn is_known(language: &str) -> bool {
    !matches!(language.to_ascii_lowercase().as_str(), "" | "text" | "txt" | "plain" | "plaintext" | "output" | "log")
}

/// The worker: newest job first.
fn work(jobs: &Receiver<Job>, answers: &SyncSender<Done>, wake: impl Fn()) {
    let mut painter: Option<Painter> = None;
    let mut waiting: Vec<Job> = Vec::new();
    loop {
        if waiting.is_empty() {
            let Ok(job) = jobs.recv() else { return };
            waiting.push(job);
        }
        loop {
            match jobs.try_recv() {
                Ok(job) => waiting.push(job),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        let Some(Job { key, language, text }) = waiting.pop() else { continue };
        let lines = painter.get_or_insert_with(Painter::new).lines(key, &language, &text);
        if answers.send(Done { key, lines }).is_err() {
            return;
        }
        wake();
    }
}

/// Takes code apart; keeps where each text stands.
struct Painter {
    syntaxes: SyntaxSet,
    classes: Vec<(Scope, Class)>,
    states: HashMap<u64, State>,
}

struct State {
    parse: ParseState,
    scopes: ScopeStack,
}

impl Painter {
    fn new() -> Self {
        // The longest scopes first: the first match holds.
        let classes = [
            ("comment", Class::Comment),
            ("punctuation.definition.comment", Class::Comment),
            ("string", Class::String),
            ("punctuation.definition.string", Class::String),
            ("constant.character.escape", Class::Number),
            ("constant", Class::Number),
            ("entity.name.function", Class::Function),
            ("support.function", Class::Function),
            ("variable.function", Class::Function),
            ("entity.other.attribute-name", Class::Function),
            ("entity.name.tag", Class::Keyword),
            ("entity.name", Class::Kind),
            ("support.type", Class::Kind),
            ("support.class", Class::Kind),
            ("keyword.operator", Class::Plain),
            ("keyword", Class::Keyword),
            ("storage", Class::Keyword),
            ("markup.heading", Class::Keyword),
            ("markup.inserted", Class::String),
            ("markup.deleted", Class::Number),
        ];
        Self {
            syntaxes: SyntaxSet::load_defaults_newlines(),
            classes: classes.into_iter().filter_map(|(name, class)| Some((Scope::new(name).ok()?, class))).collect(),
            states: HashMap::new(),
        }
    }

    fn syntax(&self, language: &str) -> Option<&SyntaxReference> {
        let name = language.to_ascii_lowercase();
        let token = match name.as_str() {
            // Close relatives of what is bundled.
            "typescript" | "ts" | "tsx" | "jsx" | "mjs" | "cjs" | "mts" | "cts" | "json5" | "jsonc" => "js",
            "shell" | "sh" | "zsh" | "fish" | "console" | "shell-session" | "dockerfile" => "bash",
            "c++" | "cc" | "hpp" | "cxx" => "cpp",
            "csharp" => "cs",
            "kotlin" | "kt" | "swift" | "dart" => "java",
            "toml" | "ini" | "conf" => "properties",
            "vue" | "svelte" => "html",
            "scss" | "less" => "css",
            "golang" => "go",
            "py3" | "python3" => "python",
            other => other,
        };
        self.syntaxes.find_syntax_by_token(token)
    }

    fn lines(&mut self, key: u64, language: &str, text: &str) -> Vec<Line> {
        if self.states.len() > KEPT {
            self.states.clear();
        }
        let mut state = match self.states.remove(&key) {
            Some(state) => Some(state),
            None => {
                self.syntax(language).map(|syntax| State { parse: ParseState::new(syntax), scopes: ScopeStack::new() })
            }
        };
        let lines = text
            .split_inclusive('\n')
            .map(|line| match &mut state {
                Some(state) if line.len() <= LINE_BYTES => self.line(state, line),
                Some(_) | None => Arc::from([(line.len(), Class::Plain)]),
            })
            .collect();
        if let Some(state) = state {
            self.states.insert(key, state);
        }
        lines
    }

    fn line(&self, state: &mut State, line: &str) -> Line {
        let Ok(operations) = state.parse.parse_line(line, &self.syntaxes) else {
            return Arc::from([(line.len(), Class::Plain)]);
        };
        let mut pieces: Vec<(usize, Class)> = Vec::new();
        for (range, operation) in ScopeRangeIterator::new(&operations, line) {
            if state.scopes.apply(operation).is_err() {
                return Arc::from([(line.len(), Class::Plain)]);
            }
            if range.is_empty() {
                continue;
            }
            let class = self.class(&state.scopes);
            match pieces.last_mut() {
                Some((length, last)) if *last == class => *length += range.len(),
                Some(_) | None => pieces.push((range.len(), class)),
            }
        }
        pieces.into()
    }

    fn class(&self, scopes: &ScopeStack) -> Class {
        scopes
            .as_slice()
            .iter()
            .rev()
            .find_map(|scope| self.classes.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)))
            .map_or(Class::Plain, |(_, class)| *class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(language: &str, text: &str) -> Vec<(String, Class)> {
        let mut found = Vec::new();
        for (line, source) in Painter::new().lines(1, language, text).iter().zip(text.split_inclusive('\n')) {
            let mut start = 0;
            for (length, class) in line.iter() {
                found.push((source[start..start + length].to_owned(), *class));
                start += length;
            }
            assert_eq!(start, source.len(), "the stretches cover the line");
        }
        found
    }

    #[test]
    fn rust_has_its_keywords_strings_and_comments() {
        let found = classes("rust", "let x = \"a\"; // note\n");
        let of = |class| found.iter().filter(|(_, c)| *c == class).map(|(text, _)| text.as_str()).collect::<String>();
        assert_eq!(of(Class::Keyword), "let");
        assert_eq!(of(Class::String), "\"a\"");
        assert_eq!(of(Class::Comment).trim(), "// note");
    }

    #[test]
    fn typescript_is_coloured_as_its_relative() {
        assert!(classes("ts", "const port = 3000;\n").contains(&("const".to_owned(), Class::Keyword)));
    }

    #[test]
    fn a_text_in_pieces_gets_the_colours_of_the_whole() {
        let text = "/* one\ntwo */ let x = 1;\nlet y = \"z\";\n";
        let whole = Painter::new().lines(1, "rust", text);
        let mut painter = Painter::new();
        let pieces: Vec<Line> = text.split_inclusive('\n').flat_map(|line| painter.lines(1, "rust", line)).collect();
        assert_eq!(whole, pieces);
    }

    #[test]
    fn an_unknown_language_and_an_endless_line_stay_plain() {
        assert_eq!(classes("no-such", "let x\n"), [("let x\n".to_owned(), Class::Plain)]);
        let long = format!("let {};\n", "x".repeat(10_000));
        assert_eq!(classes("rust", &long), [(long.clone(), Class::Plain)]);
    }

    #[test]
    fn the_worker_gives_every_line_once_however_the_text_grows() {
        let ctx = Context::default();
        let mut highlighter = Highlighter::new(&ctx);
        let text = "let a = 1;\nlet b = 2;\nlet c = 3;\n";
        let mut known = 0;
        for end in [5, 11, 22, text.len()] {
            let ready = text[..end].matches('\n').count();
            while known < ready {
                std::thread::yield_now();
                highlighter.poll();
                known = highlighter.lines(7, "rust", &text[..end], false).len();
            }
            assert_eq!(known, ready);
        }
        assert_eq!(highlighter.lines(7, "rust", text, false), Painter::new().lines(1, "rust", text));
    }
}

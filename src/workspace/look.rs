//! A look at one file: its name, and the lines of its content.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use tokio_util::sync::CancellationToken;

use super::{LineMatch, SearchLimits};
use crate::ir::{Code, Failure};
use crate::policy::{self, Masker};

/// The longest query, in bytes.
const LONGEST_QUERY: usize = 4_096;
/// What a query may come to once it is compiled, in bytes: far more than what people write needs.
const COMPILED_BYTES: usize = 2 * 1024 * 1024;
/// What it may keep in mind while it searches, in bytes for each thread.
const CACHE_BYTES: usize = 1024 * 1024;
/// How much of a file is searched before a stop is looked for.
const PIECE_BYTES: usize = 32 * 1024;

/// What is searched for.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    name: Option<NameMatcher>,
    content: Option<RegexMatcher>,
    /// With their dots, in lower case; empty for all.
    extensions: Vec<String>,
    /// There when whoever asks must not learn the secrets of files: then they match nothing.
    secrets: Option<Arc<Masker>>,
    /// Whether what stands beside a match decides whether it is one.
    has_anchors: bool,
}

/// How a query is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryOptions {
    pub in_names: bool,
    pub in_content: bool,
    pub case_sensitive: bool,
    /// Whether the query is a regular expression, for names and content alike.
    pub regex: bool,
    /// With or without their dots; empty for all.
    pub extensions: Vec<String>,
}

#[derive(Debug, Clone)]
enum NameMatcher {
    /// Matches the name, or the path below the start where the pattern holds a `/`.
    Glob {
        glob: GlobMatcher,
        is_path: bool,
    },
    Text(RegexMatcher),
}

impl SearchQuery {
    /// Reads a query.
    ///
    /// # Errors
    /// `INVALID_ARGUMENTS` when it is empty, too long, a broken pattern, one that needs too much memory, or spans lines.
    pub fn parse(query: &str, options: &QueryOptions) -> Result<Self, Failure> {
        let invalid = |problem: String| Failure::new(Code::InvalidArguments, problem);
        if query.is_empty() {
            return Err(invalid("`query` is empty: give a text, a file name or a pattern to search for.".into()));
        }
        if query.len() > LONGEST_QUERY {
            return Err(invalid(format!(
                "`query` is longer than {LONGEST_QUERY} bytes; a search looks at one line at a time, so give a shorter part."
            )));
        }
        if query.contains(['\n', '\r', '\0']) {
            return Err(invalid(
                "`query` spans lines; a search looks at one line at a time, so give one of them.".into(),
            ));
        }
        let regex = |crlf: bool| {
            RegexMatcherBuilder::new()
                .case_insensitive(!options.case_sensitive)
                .fixed_strings(!options.regex)
                .crlf(crlf)
                .multi_line(true)
                .size_limit(COMPILED_BYTES)
                .dfa_size_limit(CACHE_BYTES)
                .build(query)
                .map_err(|error| {
                    let words = error.to_string();
                    invalid(if words.contains("size limit") {
                        "`query` is a regular expression that needs too much memory: use smaller numbers in its `{n}`, and \
                         `[a-z]` for `\\w`, or search for a part of it."
                            .to_owned()
                    } else {
                        format!("`query` is not a regular expression that can be searched: {words}.")
                    })
                })
        };
        let is_glob = !options.regex && query.contains(['*', '?', '[', '{']);
        let name = match (options.in_names, is_glob) {
            (false, _) => None,
            (true, false) => Some(NameMatcher::Text(regex(false)?)),
            (true, true) => match glob(query, options.case_sensitive) {
                Ok(glob) => Some(NameMatcher::Glob { glob, is_path: query.contains('/') }),
                // `a[0` is a fine text to look for in files; only a search of names alone needs the pattern.
                Err(_) if options.in_content => Some(NameMatcher::Text(regex(false)?)),
                Err(error) => return Err(invalid(format!("`query` is not a file name pattern: {}.", error.kind()))),
            },
        };
        let content = if options.in_content { Some(regex(true)?) } else { None };
        let extensions = options.extensions.iter().map(|extension| {
            let extension = extension.to_lowercase();
            if extension.starts_with('.') { extension } else { format!(".{extension}") }
        });
        let anchors = ["^", "$", r"\b", r"\B", r"\A", r"\z", r"\<", r"\>"];
        let has_anchors = options.regex && anchors.iter().any(|anchor| query.contains(anchor));
        Ok(Self { name, content, extensions: extensions.collect(), secrets: None, has_anchors })
    }

    /// The same for somebody who must not learn the secrets of files but those that the session sends as they are: else a
    /// query for every letter of one would tell it by what is found.
    #[must_use]
    pub fn without_secrets(self, session: Masker) -> Self {
        Self { secrets: Some(Arc::new(session)), ..self }
    }

    /// Whether a file of this name is looked at at all.
    pub(super) fn wants(&self, name: &OsStr) -> bool {
        if self.extensions.is_empty() {
            return true;
        }
        let name = name.to_string_lossy().to_lowercase();
        self.extensions.iter().any(|extension| name.len() > extension.len() && name.ends_with(extension))
    }
}

fn glob(pattern: &str, case_sensitive: bool) -> Result<GlobMatcher, globset::Error> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(!case_sensitive).build()?;
    Ok(glob.compile_matcher())
}

/// What a look at a file gave.
#[derive(Debug, Default)]
pub(super) struct Looked {
    pub(super) matches: Vec<LineMatch>,
    pub(super) has_more: bool,
    pub(super) is_large: bool,
    pub(super) is_binary: bool,
    pub(super) is_unreadable: bool,
    pub(super) is_closed: bool,
}

impl Looked {
    /// Whether there is anything to tell.
    pub(super) fn counts(&self) -> bool {
        !self.matches.is_empty() || self.is_large || self.is_binary || self.is_unreadable || self.is_closed
    }
}

/// Looks at files, one after the other, with the same memory.
pub(super) struct Looker<'a> {
    query: &'a SearchQuery,
    limits: &'a SearchLimits,
    cancel: &'a CancellationToken,
    searcher: Searcher,
    content: Vec<u8>,
}

impl<'a> Looker<'a> {
    /// Looks until `cancel` says so: in the middle of a file too, which is unreadable then.
    pub(super) fn new(query: &'a SearchQuery, limits: &'a SearchLimits, cancel: &'a CancellationToken) -> Self {
        /// Files are small; only a transcoded one is read in pieces.
        const HEAP_BYTES: usize = 8 * 1024 * 1024;
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP_BYTES))
            .build();
        Self { query, limits, cancel, searcher, content: Vec::new() }
    }

    /// Looks at a file; `open` is only called when its content matters, and gives nothing when that is closed to the
    /// search. `relative` ends with its name.
    pub(super) fn look(&mut self, relative: &Path, open: impl FnOnce() -> io::Result<Option<File>>) -> Looked {
        let mut looked = Looked::default();
        looked.matches.extend(self.query.name.as_ref().and_then(|matcher| match_name(matcher, relative)));
        let Some(matcher) = &self.query.content else { return looked };
        self.content.clear();
        // Read to one byte past the limit: what the file says of its own size need not be true.
        let read = match open() {
            Ok(Some(file)) => file.take(self.limits.file_bytes + 1).read_to_end(&mut self.content),
            Ok(None) => {
                looked.is_closed = true;
                return looked;
            }
            Err(error) => Err(error),
        };
        if read.is_err() {
            looked.is_unreadable = true;
            return looked;
        }
        if self.content.len() as u64 > self.limits.file_bytes {
            looked.is_large = true;
            return looked;
        }
        if is_binary(&self.content) {
            looked.is_binary = true;
            return looked;
        }
        let (blank, withheld) = match (self.query.secrets.as_deref(), plain_text(&self.content)) {
            (None, _) => (None, None),
            // A match lies between secrets or it does not: only lines that match at all need to be looked at.
            (Some(secrets), Some(text)) if !self.query.has_anchors => (None, Some(Withheld::new(text, secrets))),
            (Some(secrets), _) => (blank(&self.content, secrets), None),
        };
        let searched = blank.as_deref().map_or(self.content.as_slice(), str::as_bytes);
        let content = Interruptible { rest: searched, cancel: self.cancel };
        let mut lines = Lines {
            matcher,
            withheld,
            limit: self.limits.matches_per_file,
            found: Vec::new(),
            has_more: false,
            is_binary: false,
        };
        let searched = self.searcher.search_reader(matcher, content, &mut lines);
        looked.is_binary = lines.is_binary;
        looked.is_unreadable = searched.is_err();
        // Half of a binary file is no result.
        if !lines.is_binary {
            if !lines.found.is_empty() {
                let text = text_of(&self.content);
                if blank.is_some() {
                    show_as_written(&text, &mut lines.found);
                }
                mark_keys(&text, &mut lines.found);
            }
            looked.matches.append(&mut lines.found);
            looked.has_more = lines.has_more;
        }
        looked
    }
}

/// A content that is given out in pieces, until somebody says stop: some expressions take minutes for a file.
struct Interruptible<'a> {
    rest: &'a [u8],
    cancel: &'a CancellationToken,
}

impl io::Read for Interruptible<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        let most = into.len().min(PIECE_BYTES);
        self.rest.read(into.get_mut(..most).unwrap_or_default())
    }
}

fn text_of(content: &[u8]) -> Cow<'_, str> {
    match content {
        [0xFF, 0xFE, units @ ..] => utf16(units, u16::from_le_bytes).into(),
        [0xFE, 0xFF, units @ ..] => utf16(units, u16::from_be_bytes).into(),
        utf8 => String::from_utf8_lossy(utf8),
    }
}

/// A content that is searched byte by byte as it stands.
fn plain_text(content: &[u8]) -> Option<&str> {
    const MARKS: [&[u8]; 3] = [&[0xFF, 0xFE], &[0xFE, 0xFF], &[0xEF, 0xBB, 0xBF]];
    std::str::from_utf8(content).ok().filter(|_| !MARKS.iter().any(|mark| content.starts_with(mark)))
}

/// A content without its secrets; `None` where it has none.
fn blank(content: &[u8], secrets: &Masker) -> Option<String> {
    match secrets.blank(&text_of(content)) {
        Cow::Borrowed(_) => None,
        Cow::Owned(blank) => Some(blank),
    }
}

/// Puts the lines of the file in place of those that were searched: its secrets are masked where the session knows them by
/// their names.
fn show_as_written(text: &str, found: &mut [LineMatch]) {
    let mut lines = text.split('\n').zip(1_u64..);
    for shown in found.iter_mut().filter(|shown| shown.line > 0) {
        let Some((line, _)) = lines.find(|(_, number)| *number == shown.line) else { return };
        let line = line.strip_suffix('\r').unwrap_or(line);
        let before = usize::try_from(shown.column).unwrap_or(usize::MAX).saturating_sub(1);
        let start = line.char_indices().nth(before).map_or(line.len(), |(at, _)| at);
        shown.text = cut_around(line.as_bytes(), start);
    }
}

/// Marks the lines that belong to a private key, by the whole file: a line alone does not show it.
fn mark_keys(text: &str, found: &mut [LineMatch]) {
    let keys = policy::key_lines(text);
    for line in found {
        line.is_private_key = keys.iter().any(|[first, last]| (*first..=*last).contains(&line.line));
    }
}

fn utf16(units: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = units.as_chunks::<2>();
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Whether a file holds a NUL anywhere. UTF-16 with its mark does so rightfully; its text is judged once it is transcoded.
fn is_binary(content: &[u8]) -> bool {
    let is_utf16 = content.starts_with(&[0xFF, 0xFE]) || content.starts_with(&[0xFE, 0xFF]);
    !is_utf16 && content.contains(&0)
}

fn match_name(matcher: &NameMatcher, relative: &Path) -> Option<LineMatch> {
    let name = relative.file_name().unwrap_or_default().to_string_lossy();
    let column = match matcher {
        NameMatcher::Glob { glob, is_path: true } => glob.is_match(relative).then_some(1)?,
        NameMatcher::Glob { glob, is_path: false } => glob.is_match(&*name).then_some(1)?,
        NameMatcher::Text(text) => {
            let found = text.find(name.as_bytes()).ok()??;
            column_of(name.as_bytes(), found.start())
        }
    };
    Some(LineMatch { line: 0, column, text: name.into_owned(), is_private_key: false })
}

/// In characters, from 1.
fn column_of(line: &[u8], byte: usize) -> u64 {
    let before = line.get(..byte).unwrap_or(line);
    String::from_utf8_lossy(before).chars().count() as u64 + 1
}

/// A text of which secrets match nothing. They are looked for when the first line matches: in most files none does.
struct Withheld<'a> {
    text: &'a str,
    secrets: &'a Masker,
    places: OnceCell<Vec<Range<usize>>>,
}

impl<'a> Withheld<'a> {
    const fn new(text: &'a str, secrets: &'a Masker) -> Self {
        Self { text, secrets, places: OnceCell::new() }
    }

    /// Where the first match beside secrets begins in a line that stands at `offset`, in bytes.
    fn find(&self, matcher: &RegexMatcher, offset: u64, line: &[u8]) -> Option<usize> {
        let offset = usize::try_from(offset).ok()?;
        let places = self.places.get_or_init(|| self.secrets.withheld(self.text));
        let mut begin = 0;
        let inside = places.iter().filter(|place| place.end > offset && place.start < offset + line.len());
        let secrets = inside.map(|place| place.start.saturating_sub(offset)..(place.end - offset).min(line.len()));
        for secret in secrets.chain(std::iter::once(line.len()..line.len())) {
            let between = line.get(begin..secret.start).unwrap_or_default();
            if let Some(found) = matcher.find(between).ok().flatten() {
                return Some(begin + found.start());
            }
            begin = secret.end.max(begin);
        }
        None
    }
}

/// Collects matching lines.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    withheld: Option<Withheld<'a>>,
    limit: usize,
    found: Vec<LineMatch>,
    has_more: bool,
    is_binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let bytes = matched.bytes();
        let start = match &self.withheld {
            None => self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start()),
            Some(withheld) => match withheld.find(self.matcher, matched.absolute_byte_offset(), bytes) {
                Some(start) => start,
                None => return Ok(true),
            },
        };
        if self.found.len() >= self.limit {
            // Reading on only to learn whether the file is binary after all: its lines would be no result then.
            self.has_more = true;
            return Ok(true);
        }
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.found.push(LineMatch {
            line: matched.line_number().unwrap_or(0),
            column: column_of(line, start),
            text: cut_around(line, start),
            is_private_key: false,
        });
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Moves a border outwards to the end of the word that it would cut: half a key is no longer known for one.
fn whole_word(chars: &[char], border: usize, is_end: bool) -> usize {
    const LONGEST_WORD: usize = 200;
    let is_word = |at: Option<usize>| {
        at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_ascii_alphanumeric() || "_-+/=.".contains(*c))
    };
    if !is_word(border.checked_sub(1)) || !is_word(Some(border)) {
        return border;
    }
    if is_end {
        border + (border..chars.len()).take(LONGEST_WORD).take_while(|at| is_word(Some(*at))).count()
    } else {
        border - (0..border).rev().take(LONGEST_WORD).take_while(|at| is_word(Some(*at))).count()
    }
}

/// A line, or the part of it around the match, with `…` where something is missing.
fn cut_around(line: &[u8], start: usize) -> String {
    const LONGEST_CHARS: usize = 300;
    const BEFORE_CHARS: usize = 100;
    let text = String::from_utf8_lossy(line);
    // Most lines are short, and no text has more characters than bytes.
    if text.len() <= LONGEST_CHARS {
        return text.into_owned();
    }
    let total = text.chars().count();
    if total <= LONGEST_CHARS {
        return text.into_owned();
    }
    let column = String::from_utf8_lossy(line.get(..start).unwrap_or_default()).chars().count();
    let chars: Vec<char> = text.chars().collect();
    let first = column.saturating_sub(BEFORE_CHARS).min(total - LONGEST_CHARS);
    let (first, end) = (whole_word(&chars, first, false), whole_word(&chars, first + LONGEST_CHARS, true));
    let part: String = chars.get(first..end).unwrap_or_default().iter().collect();
    let before = if first > 0 { "…" } else { "" };
    let after = if end < total { "…" } else { "" };
    format!("{before}{part}{after}")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test measures how long a search takes")]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<SearchQuery, Failure> {
        let options = QueryOptions {
            in_names: true,
            in_content: true,
            case_sensitive: false,
            regex: true,
            extensions: Vec::new(),
        };
        SearchQuery::parse(text, &options)
    }

    #[test]
    fn an_expression_that_would_fill_the_memory_is_refused_with_what_to_do() {
        for text in ["(a{1000}){1000}", r"\w{500}\w{500}\w{500}", r"(\pL{100}\pN{100}){10}", "((((.{9}){9}){9}){9}){9}"]
        {
            // The control: it is a good expression, and even several times as much is not enough for it.
            let generous = RegexMatcherBuilder::new().size_limit(4 * COMPILED_BYTES).build(text).unwrap_err();
            assert!(generous.to_string().contains("size limit"), "{text}: {generous}");
            let failure = query(text).unwrap_err();
            assert_eq!(failure.code, Code::InvalidArguments, "{text}");
            assert!(failure.message.contains("needs too much memory"), "{text}: {}", failure.message);
        }
        let failure = query(&"a".repeat(LONGEST_QUERY + 1)).unwrap_err();
        assert!(
            failure.code == Code::InvalidArguments && failure.message.contains("longer than"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn a_line_is_told_as_it_stands_though_its_secret_was_not_searched() {
        let look = |query: &SearchQuery, content: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            io::Write::write_all(&mut file, content).unwrap();
            io::Seek::rewind(&mut file).unwrap();
            let limits = SearchLimits { file_bytes: 1 << 20, files: 9, matches_per_file: 9, matches: 9 };
            let looked = Looker::new(query, &limits, &CancellationToken::new()).look(Path::new("a"), || Ok(Some(file)));
            looked.matches.into_iter().map(|found| (found.line, found.column, found.text)).collect::<Vec<_>>()
        };
        let key = "ghp_aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6";
        let text = format!("first\r\nkey {key} here\r\nlast: here");
        let units: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        for content in [text.as_bytes(), &units] {
            let here = query("here$").unwrap();
            let all = look(&here, content);
            assert_eq!(all, [(2, 46, format!("key {key} here")), (3, 7, "last: here".to_owned())]);
            let told = look(&here.without_secrets(Masker::default()), content);
            assert_eq!(told, [(2, 7, format!("key {key} here")), (3, 7, "last: here".to_owned())]);
            let told = look(&query("[a-z]ere").unwrap().without_secrets(Masker::default()), content);
            assert!(told.len() == 2 && told[0].2.contains(key), "{told:?}");
            assert_eq!(look(&query("aB3dE6").unwrap(), content).len(), 1);
            assert_eq!(look(&query("aB3dE6").unwrap().without_secrets(Masker::default()), content), []);
        }
    }

    #[test]
    fn expressions_as_people_write_them_are_taken() {
        for text in [
            r"fn\s+\w+\(",
            r"\b\w{1,20}\s*=\s*\w{1,20};",
            r"(?i)todo|fixme",
            r"^\s*(pub(\(\w+\))?\s+)?(async\s+)?fn\s+[a-z_]{3,40}",
            r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}",
            r"[^\x00-\x7F]{2,30}",
            r".{0,200}error.{0,200}",
        ] {
            assert!(query(text).is_ok(), "{text}");
        }
        assert!(query(&"中".repeat(1_000)).is_ok());
    }

    #[test]
    fn a_stop_is_heard_in_the_middle_of_a_file() {
        // As many states as letters: each piece of this file takes as long as a whole file of other expressions.
        let query = query("[ab]*a[ab]{300}c").unwrap();
        let limits = SearchLimits { file_bytes: 1 << 20, files: 1, matches_per_file: 1, matches: 1 };
        let mut content = tempfile::tempfile().unwrap();
        let text: Vec<u8> =
            (0..400_000_u32).map(|n| if n.wrapping_mul(2_654_435_761) >> 31 == 0 { b'a' } else { b'b' }).collect();
        let lines: Vec<u8> = text.chunks(400).flat_map(|line| [line, b"\n"].concat()).collect();
        io::Write::write_all(&mut content, &lines).unwrap();
        let time = |cancel: &CancellationToken| {
            let mut file = content.try_clone().unwrap();
            io::Seek::rewind(&mut file).unwrap();
            let begun = std::time::Instant::now();
            let looked = Looker::new(&query, &limits, cancel).look(Path::new("a.txt"), || Ok(Some(file)));
            (begun.elapsed(), looked.is_unreadable)
        };
        // The control: nobody says stop.
        let (whole, is_unreadable) = time(&CancellationToken::new());
        assert!(!is_unreadable);
        let cancel = CancellationToken::new();
        let stopped = std::thread::scope(|scope| {
            let run = scope.spawn(|| time(&cancel));
            std::thread::sleep(whole / 50);
            cancel.cancel();
            run.join().unwrap()
        });
        assert!(stopped.1, "what was not looked at to its end gives no result");
        assert!(stopped.0 < whole / 2, "{:?} of {whole:?}", stopped.0);
    }
}

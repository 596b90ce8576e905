//! Bytes from the network to whole lines, and lines to the two stream formats: NDJSON and server-sent events.
//!
//! Bytes are split before they are decoded, so a character that two packets share is never broken. Nothing here knows
//! what a line means or reads the network.

use std::borrow::Cow;

/// The longest line that is kept, in bytes: what Ollama's own client takes.
pub const LINE_LIMIT: usize = 8 * 1024 * 1024;

/// A line longer than may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of the answer is longer than {limit} bytes")]
pub struct LineTooLong {
    /// The limit, in bytes.
    pub limit: usize,
}

impl From<LineTooLong> for crate::ir::Error {
    fn from(error: LineTooLong) -> Self {
        Self::new(crate::ir::ErrorCode::InvalidResponse, format!("The answer cannot be read: {error}."))
    }
}

/// Splits bytes at LF, CRLF and lone CR, wherever the packets were cut. A byte-order mark at the start is dropped, and
/// bytes that are not UTF-8 become U+FFFD: a strange character is better than a lost answer.
#[derive(Debug)]
pub struct Lines {
    /// The beginning of a line whose end has not come.
    pending: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    is_first: bool,
    limit: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::with_limit(LINE_LIMIT)
    }
}

impl Lines {
    /// A splitter with its own longest line, in bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { pending: Vec::new(), after_cr: false, is_first: true, limit }
    }

    /// Takes bytes in and hands every line that is whole now to `each`, without its end.
    ///
    /// # Errors
    /// What `each` returns, and a line over the limit.
    pub fn feed<E: From<LineTooLong>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            self.check(line.len())?;
            if self.pending.is_empty() {
                each(&decoded(line, &mut self.is_first))?;
            } else {
                self.pending.extend_from_slice(line);
                each(&decoded(&self.pending, &mut self.is_first))?;
                self.pending.clear();
            }
            self.after_cr = rest == b"\r";
            bytes = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
        }
        self.check(bytes.len())?;
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands over what came after the last line end, if anything did.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn finish<E>(&mut self, mut each: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let line = std::mem::take(&mut self.pending);
        each(&decoded(&line, &mut self.is_first))
    }

    fn check(&self, more: usize) -> Result<(), LineTooLong> {
        if self.pending.len().saturating_add(more) > self.limit {
            return Err(LineTooLong { limit: self.limit });
        }
        Ok(())
    }
}

fn decoded<'a>(line: &'a [u8], is_first: &mut bool) -> Cow<'a, str> {
    let line = if std::mem::take(is_first) { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
    // Much faster for what is right, which nearly all is.
    std::str::from_utf8(line).map_or_else(|_broken| String::from_utf8_lossy(line), Cow::Borrowed)
}

/// One JSON value a line; empty lines mean nothing.
#[derive(Debug, Default)]
pub struct Ndjson {
    lines: Lines,
}

impl Ndjson {
    /// Takes bytes in and hands every whole line that is not blank to `each`.
    ///
    /// # Errors
    /// What `each` returns, and a line over the limit.
    pub fn feed<E: From<LineTooLong>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.lines.feed(bytes, |line| unless_blank(line, &mut each))
    }

    /// Hands over a last line without an end.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn finish<E>(&mut self, mut each: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        self.lines.finish(|line| unless_blank(line, &mut each))
    }
}

fn unless_blank<E>(line: &str, each: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let line = line.trim_ascii();
    if line.is_empty() { Ok(()) } else { each(line) }
}

/// One server-sent event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event:` field; empty when there was none.
    pub name: &'a str,
    /// The `data:` fields, joined by line breaks.
    pub data: &'a str,
}

impl SseEvent<'_> {
    /// Whether it says that the stream is over (`[DONE]`, with any space around it).
    pub fn is_done_marker(&self) -> bool {
        self.data.trim() == "[DONE]"
    }

    /// Whether a proxy wrapped a keep-alive comment as data.
    pub fn is_wrapped_comment(&self) -> bool {
        self.data.starts_with(':')
    }
}

/// Server-sent events (WHATWG HTML, "Interpreting an event stream"), except that an event without its closing empty
/// line still counts at the end of the body: some servers forget it.
#[derive(Debug, Default)]
pub struct Sse {
    lines: Lines,
    fields: Fields,
}

/// The event that is being put together.
#[derive(Debug, Default)]
struct Fields {
    name: String,
    data: String,
    has_data: bool,
}

impl Sse {
    /// Takes bytes in and hands every whole event to `each`.
    ///
    /// # Errors
    /// What `each` returns, and a line or an event over the limit.
    pub fn feed<E: From<LineTooLong>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { lines, fields } = self;
        lines.feed(bytes, |line| fields.take_line(line, &mut each))
    }

    /// Hands over an event that the body's end cut off before its empty line.
    ///
    /// # Errors
    /// What `each` returns, and an event over the limit.
    pub fn finish<E: From<LineTooLong>>(
        &mut self,
        mut each: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { lines, fields } = self;
        lines.finish(|line| fields.take_line(line, &mut each))?;
        fields.dispatch(&mut each)
    }
}

impl Fields {
    fn take_line<E: From<LineTooLong>>(
        &mut self,
        line: &str,
        each: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if line.is_empty() {
            return self.dispatch(each);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.data.len().saturating_add(value.len()) >= LINE_LIMIT {
                    return Err(LineTooLong { limit: LINE_LIMIT }.into());
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "event" => {
                self.name.clear();
                self.name.push_str(value);
            }
            // A comment has an empty field name; `id`, `retry` and unknown fields mean nothing to a model's answer.
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E>(&mut self, each: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>) -> Result<(), E> {
        let outcome = if self.has_data { each(SseEvent { name: &self.name, data: &self.data }) } else { Ok(()) };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ir::Error;

    fn lines_of(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let mut keep = |line: &str| {
            seen.push(line.to_owned());
            Ok::<(), Error>(())
        };
        for chunk in chunks {
            lines.feed(chunk, &mut keep).unwrap();
        }
        lines.finish(&mut keep).unwrap();
        seen
    }

    fn events_of(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut sse = Sse::default();
        let mut seen = Vec::new();
        let mut keep = |event: SseEvent<'_>| {
            seen.push((event.name.to_owned(), event.data.to_owned()));
            Ok::<(), Error>(())
        };
        for chunk in chunks {
            sse.feed(chunk, &mut keep).unwrap();
        }
        sse.finish(&mut keep).unwrap();
        seen
    }

    #[test]
    fn every_kind_of_line_end_ends_one_line() {
        assert_eq!(lines_of(&[b"a\nb\r\nc\rd\n\ne"]), ["a", "b", "c", "d", "", "e"]);
        assert_eq!(lines_of(&[b"a\r", b"\n", b"\r\n", b"", b"\rb"]), ["a", "", "", "b"]);
        assert_eq!(lines_of(&[b"a\r", b"b\r"]), ["a", "b"]);
        assert_eq!(lines_of(&[b"a\r", b"", b"\nb"]), ["a", "b"]);
    }

    #[test]
    fn a_character_that_two_packets_share_is_whole() {
        let text = "说你好\n".as_bytes();
        for cut in 0..text.len() {
            assert_eq!(lines_of(&[&text[..cut], &text[cut..]]), ["说你好"]);
        }
        assert_eq!(lines_of(&[b"\xEF\xBB", b"\xBFa\n\xEF\xBB\xBFb\nc\xFFd"]), ["a", "\u{feff}b", "c\u{fffd}d"]);
    }

    #[test]
    fn a_line_over_the_limit_is_an_error_and_not_a_growing_buffer() {
        let mut lines = Lines::with_limit(4);
        let mut keep = |_: &str| Ok::<(), LineTooLong>(());
        assert_eq!(lines.feed(b"abcd\nab", &mut keep), Ok(()));
        assert_eq!(lines.feed(b"cd", &mut keep), Ok(()));
        assert_eq!(lines.feed(b"e", &mut keep), Err(LineTooLong { limit: 4 }));
    }

    #[test]
    fn ndjson_skips_blank_lines_and_takes_the_last_without_an_end() {
        let mut ndjson = Ndjson::default();
        let mut seen = Vec::new();
        let mut keep = |line: &str| {
            seen.push(line.to_owned());
            Ok::<(), Error>(())
        };
        for chunk in [&b"{\"message\":{\"con"[..], b"tent\":\"hi\"}}\n\n", b"", b" \r\n{}", b"{\"done\":true}"] {
            ndjson.feed(chunk, &mut keep).unwrap();
        }
        ndjson.finish(&mut keep).unwrap();
        assert_eq!(seen, [r#"{"message":{"content":"hi"}}"#, r#"{}{"done":true}"#]);
    }

    #[test]
    fn sse_events_come_whole_with_their_names() {
        let body = b": OPENROUTER PROCESSING\n\nevent: error\ndata: {\"a\":\ndata:1}\nid: 7\nretry\n\ndata\n\n:\ndata:  x\n\nevent: lost\n\ndata: last";
        assert_eq!(
            events_of(&[body]),
            [
                ("error".to_owned(), "{\"a\":\n1}".to_owned()),
                (String::new(), String::new()),
                (String::new(), " x".to_owned()),
                (String::new(), "last".to_owned()),
            ]
        );
        assert_eq!(events_of(&[b"data: {\"a\":1}\r", b"\n\r\n"]), [(String::new(), "{\"a\":1}".to_owned())]);
    }

    #[test]
    fn the_done_marker_may_have_space_around_it() {
        let event = |data| SseEvent { name: "", data };
        assert!(event("[DONE]").is_done_marker());
        assert!(event("  [DONE] ").is_done_marker());
        assert!(!event("{\"text\":\"[DONE]\"}").is_done_marker());
        assert!(event(": OPENROUTER PROCESSING").is_wrapped_comment());
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_lines_and_events(
            body in "[a:\\r\\n 你]{0,60}(data: [x你]{0,4}[\\r\\n]{1,4}){0,4}",
            cuts in proptest::collection::vec(0_usize..200, 0..8),
        ) {
            let bytes = body.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(lines_of(&chunks), lines_of(&[bytes]));
            prop_assert_eq!(lines_of(&single), lines_of(&[bytes]));
            prop_assert_eq!(events_of(&chunks), events_of(&[bytes]));
            prop_assert_eq!(events_of(&single), events_of(&[bytes]));
        }
    }
}

//! An answer's body that is a stream of events or one JSON value: told by its first character, because some servers stream
//! without being asked to, some do not stream although they were asked, and headers are often wrong.

use super::framing::{LineTooLong, Sse, SseEvent};

/// Largest body that is read as one value, in bytes.
const WHOLE_LIMIT: usize = 64 * 1024 * 1024;

/// The bytes of the mark that some put before a text; neither JSON nor an event begins with one of them.
const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// A text without the space around it, and without that mark.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}')
}

/// A body as it comes.
#[derive(Debug, Default)]
pub enum Body {
    /// Nothing but blanks yet: some servers send them while they wait.
    #[default]
    Blank,
    /// Server-sent events.
    Events(Sse),
    /// One value, as much of it as is there.
    Whole(Vec<u8>),
}

/// What a body gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// An event.
    Event(SseEvent<'a>),
    /// All of it; JSON, or a page of something that is no model.
    Whole(&'a str),
}

impl Body {
    /// Takes bytes in and hands over every event that is whole now.
    ///
    /// # Errors
    /// What `each` returns, and what grows over its limit.
    pub fn feed<E: From<LineTooLong>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut bytes = bytes;
        if let Self::Blank = self {
            let Some(begin) = bytes.iter().position(|byte| !byte.is_ascii_whitespace() && !MARK.contains(byte)) else {
                return Ok(());
            };
            bytes = bytes.get(begin..).unwrap_or_default();
            match bytes.first() {
                Some(b'{' | b'[' | b'<') => *self = Self::Whole(Vec::new()),
                Some(_) | None => *self = Self::Events(Sse::default()),
            }
        }
        match self {
            Self::Blank => Ok(()),
            Self::Events(sse) => sse.feed(bytes, |event| each(Part::Event(event))),
            Self::Whole(whole) if whole.len().saturating_add(bytes.len()) > WHOLE_LIMIT => {
                Err(LineTooLong { limit: WHOLE_LIMIT }.into())
            }
            Self::Whole(whole) => {
                whole.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// The end: hands over an event without its closing line, or the whole value.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn finish<E: From<LineTooLong>>(&mut self, mut each: impl FnMut(Part<'_>) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Blank => Ok(()),
            Self::Events(sse) => sse.finish(|event| each(Part::Event(event))),
            Self::Whole(whole) => each(Part::Whole(String::from_utf8_lossy(whole).trim())),
        }
    }

    /// Whether every packet brings it nearer to its end: blanks and comments do not.
    pub fn is_growing(&self) -> bool {
        matches!(self, Self::Whole(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Error;

    fn parts(chunks: &[&[u8]]) -> Vec<String> {
        let mut body = Body::default();
        let mut seen = Vec::new();
        let mut keep = |part: Part<'_>| {
            seen.push(match part {
                Part::Event(event) => format!("event {}", event.data),
                Part::Whole(text) => format!("whole {text}"),
            });
            Ok::<(), Error>(())
        };
        for chunk in chunks {
            body.feed(chunk, &mut keep).unwrap();
        }
        body.finish(&mut keep).unwrap();
        seen
    }

    #[test]
    fn the_first_character_tells_a_stream_from_one_value() {
        assert_eq!(parts(&[b"\n\n", b"  {\"a\":", b"1}\n"]), ["whole {\"a\":1}"]);
        assert_eq!(parts(&[b"\n[{\"error\":1}]"]), ["whole [{\"error\":1}]"]);
        assert_eq!(parts(&[b"<html>"]), ["whole <html>"]);
        assert_eq!(parts(&[b": hi\n\nda", b"ta: {}\n\ndata: x"]), ["event {}", "event x"]);
        assert_eq!(parts(&[b"\r\n", b"event: ping\ndata: {}\n\n"]), ["event {}"]);
        assert_eq!(parts(&[b"", b" \n"]), [] as [&str; 0]);
        // A byte-order mark, wherever it is cut.
        assert_eq!(parts(&[b"\xEF\xBB\xBF{\"a\":1}"]), ["whole {\"a\":1}"]);
        assert_eq!(parts(&[b"\n\xEF", b"\xBB", b"\xBF\n[1]"]), ["whole [1]"]);
        assert_eq!(parts(&[b"\xEF\xBB", b"\xBFdata: x\n\n"]), ["event x"]);
    }
}

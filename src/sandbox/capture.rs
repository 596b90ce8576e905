//! Output of a command: decoded across chunk borders, kept by its head and tail, shown live in few pieces.
//! Whatever a command prints, this holds a bounded amount of memory.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What is kept of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The text. Where the middle is missing, a line in it says how much.
    pub text: String,
    /// Bytes of text that are missing.
    pub dropped_bytes: u64,
}

/// Bytes to text, lossy, with a character that is split over two chunks kept whole.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The beginning of a character whose rest has not come yet: at most three bytes.
    pending: Vec<u8>,
}

impl Decoder {
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let joined;
        let bytes = if self.pending.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.pending), bytes].concat();
            &joined
        };
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            if chunk.invalid().is_empty() {
                continue;
            }
            let unfinished = std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if unfinished && chunks.peek().is_none() {
                self.pending = chunk.invalid().to_vec();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    pub(super) fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.pending).is_empty() { "" } else { "\u{FFFD}" }
    }
}

/// The beginning and the end of a text that may be endless.
#[derive(Debug)]
pub(super) struct HeadTail {
    cap: usize,
    head: String,
    is_head_full: bool,
    tail: VecDeque<u8>,
    dropped_bytes: u64,
}

impl HeadTail {
    /// Keeps at most `cap` bytes, the line that says what is missing included (unless `cap` is smaller than that line).
    pub(super) fn new(cap: usize) -> Self {
        Self { cap, head: String::new(), is_head_full: false, tail: VecDeque::new(), dropped_bytes: 0 }
    }

    pub(super) fn push(&mut self, mut text: &str) {
        if !self.is_head_full {
            let room = (self.cap / 2).saturating_sub(self.head.len());
            let (first, rest) = text.split_at(text.floor_char_boundary(room));
            self.head.push_str(first);
            self.is_head_full = !rest.is_empty();
            text = rest;
        }
        let room = self.cap.saturating_sub(self.head.len());
        let skipped = text.ceil_char_boundary(text.len().saturating_sub(room));
        let (_, kept) = text.split_at(skipped);
        self.dropped_bytes += skipped as u64;
        self.tail.extend(kept.as_bytes());
        self.cut_tail(room);
    }

    pub(super) fn finish(mut self) -> Captured {
        if self.dropped_bytes == 0 {
            let mut text = self.head;
            text.push_str(&String::from_utf8_lossy(self.tail.make_contiguous()));
            return Captured { text, dropped_bytes: 0 };
        }
        const NOTE_BYTES: usize = 64;
        self.cut_tail(self.cap.saturating_sub(self.head.len() + NOTE_BYTES));
        self.drop_cut_words();
        let note = format!("\n[… {} bytes left out …]\n", self.dropped_bytes);
        let mut text = self.head;
        text.push_str(&note);
        text.push_str(&String::from_utf8_lossy(self.tail.make_contiguous()));
        Captured { text, dropped_bytes: self.dropped_bytes }
    }

    /// Leaves out the words that the gap cuts: half a key is no longer known for one.
    fn drop_cut_words(&mut self) {
        const LONGEST_WORD: usize = 200;
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+/=.".contains(byte);
        let cut = self.head.bytes().rev().take_while(is_word).count();
        if cut < LONGEST_WORD && cut < self.head.len() {
            self.head.truncate(self.head.len() - cut);
            self.dropped_bytes += cut as u64;
        }
        let cut = self.tail.iter().take_while(|byte| is_word(byte)).count();
        if cut < LONGEST_WORD && cut < self.tail.len() {
            self.tail.drain(..cut);
            self.dropped_bytes += cut as u64;
        }
    }

    /// Drops the oldest bytes over `room`, and what is left of a character that this cuts.
    fn cut_tail(&mut self, room: usize) {
        let mut excess = self.tail.len().saturating_sub(room);
        while excess > 0 && self.tail.get(excess).is_some_and(|byte| byte & 0xC0 == 0x80) {
            excess += 1;
        }
        self.tail.drain(..excess);
        self.dropped_bytes += excess as u64;
    }
}

/// Output on its way to the card: at most 15 pieces a second of each stream, each of bounded size.
#[derive(Debug)]
pub(super) struct Live {
    pending: [Pending; 2],
    /// Not before this.
    next_at: Instant,
}

#[derive(Debug, Default)]
struct Pending {
    text: String,
    skipped_bytes: u64,
}

impl Live {
    const INTERVAL: Duration = Duration::from_millis(67);
    const PIECE_BYTES: usize = 16 * 1024;

    pub(super) fn new(now: Instant) -> Self {
        Self { pending: [Pending::default(), Pending::default()], next_at: now }
    }

    pub(super) fn push(&mut self, is_stderr: bool, text: &str) {
        let [stdout, stderr] = &mut self.pending;
        let pending = if is_stderr { stderr } else { stdout };
        let fresh = text.ceil_char_boundary(text.len().saturating_sub(Self::PIECE_BYTES));
        let (skipped, kept) = text.split_at(fresh);
        pending.skipped_bytes += skipped.len() as u64;
        pending.text.push_str(kept);
        let old = pending.text.ceil_char_boundary(pending.text.len().saturating_sub(Self::PIECE_BYTES));
        pending.text.drain(..old);
        pending.skipped_bytes += old as u64;
    }

    /// When the next piece is due; `None` while there is nothing to show.
    pub(super) fn due(&self) -> Option<Instant> {
        let is_idle = self.pending.iter().all(|pending| pending.text.is_empty());
        (!is_idle).then_some(self.next_at)
    }

    pub(super) fn show(&mut self, now: Instant, on_output: &mut dyn FnMut(bool, &str)) {
        self.next_at = now + Self::INTERVAL;
        for (pending, is_stderr) in self.pending.iter_mut().zip([false, true]) {
            let Pending { text, skipped_bytes } = std::mem::take(pending);
            if skipped_bytes > 0 {
                on_output(is_stderr, &format!("[… {skipped_bytes} bytes not shown …]\n{text}"));
            } else if !text.is_empty() {
                on_output(is_stderr, &text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(chunks: &[&[u8]]) -> String {
        let mut decoder = Decoder::default();
        let mut text: String = chunks.iter().map(|chunk| decoder.push(chunk)).collect();
        text.push_str(decoder.finish());
        text
    }

    #[test]
    fn a_character_split_anywhere_comes_out_whole() {
        let bytes = "a点😀头é".as_bytes();
        for cut in 0..=bytes.len() {
            for second in cut..=bytes.len() {
                let chunks = [&bytes[..cut], &bytes[cut..second], &bytes[second..]];
                assert_eq!(decode(&chunks), "a点😀头é", "cut at {cut} and {second}");
            }
        }
    }

    #[test]
    fn invalid_bytes_become_replacement_characters_and_lose_nothing_around_them() {
        assert_eq!(decode(&[b"a\xFFb", b"\xF0\x9F", b"c\xE7"]), "a\u{FFFD}b\u{FFFD}c\u{FFFD}");
    }

    fn keep(cap: usize, chunks: &[&str]) -> Captured {
        let mut kept = HeadTail::new(cap);
        for chunk in chunks {
            kept.push(chunk);
        }
        kept.finish()
    }

    #[test]
    fn output_of_exactly_the_cap_is_kept_whole() {
        let text = "x".repeat(1000);
        assert_eq!(keep(1000, &[&text]), Captured { text: text.clone(), dropped_bytes: 0 });
        assert_eq!(keep(1000, &[&text[..300], &text[300..700], &text[700..]]), Captured { text, dropped_bytes: 0 });
    }

    #[test]
    fn one_byte_more_drops_the_middle_says_so_and_stays_within_the_cap() {
        let text = format!("{}{}{}", "h".repeat(500), "m".repeat(300), "t".repeat(201));
        let kept = keep(1000, &[&text]);
        assert!(kept.text.len() <= 1000, "{}", kept.text.len());
        assert!(kept.text.starts_with(&"h".repeat(500)) && kept.text.ends_with(&"t".repeat(201)));
        assert!(kept.text.contains(&format!("[… {} bytes left out …]", kept.dropped_bytes)));
        let note_bytes = format!("\n[… {} bytes left out …]\n", kept.dropped_bytes).len() as u64;
        assert_eq!(kept.text.len() as u64 - note_bytes + kept.dropped_bytes, 1001);
    }

    #[test]
    fn characters_are_never_cut_in_half() {
        for cap in 100..140 {
            let text = "点头".repeat(60);
            let kept = keep(cap, &[&text[..6], &text[6..123], &text[123..]]);
            assert!(!kept.text.contains('\u{FFFD}'), "{cap}: {}", kept.text);
            assert!(kept.dropped_bytes > 0 && kept.text.len() <= cap);
        }
    }

    #[test]
    fn live_pieces_are_bounded_and_say_what_they_skip() {
        let start = Instant::now();
        let mut live = Live::new(start);
        assert_eq!(live.due(), None);
        for _ in 0..100 {
            live.push(false, &"点".repeat(10_000));
        }
        live.push(true, "e");
        let mut pieces = Vec::new();
        live.show(start, &mut |is_stderr, text| pieces.push((is_stderr, text.to_owned())));
        assert_eq!(pieces.len(), 2);
        assert!(pieces[0].1.len() < Live::PIECE_BYTES + 100 && pieces[0].1.starts_with("[… "));
        assert_eq!(pieces[1], (true, "e".to_owned()));
        assert_eq!(live.due(), None);
        live.push(false, "more");
        assert_eq!(live.due(), Some(start + Live::INTERVAL));
    }
}

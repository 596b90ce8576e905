//! A range of a file's lines, collected without loading the file: memory is bounded by the limit, however long lines are.

use std::io::{BufRead, Read};

use super::super::Limits;
use super::super::text::Encoding;
use crate::policy::KEY_CONTEXT_BYTES;

/// How far a file is scanned for the first line of a range, in bytes.
const MAX_SCAN_BYTES: u64 = 1 << 30;

/// How far beyond a range the lines are still counted, in bytes.
const MAX_COUNT_BYTES: u64 = 64 << 20;

pub(super) struct Wanted<'limits> {
    pub(super) start: u64,
    pub(super) end: Option<u64>,
    pub(super) limits: &'limits Limits,
    pub(super) is_text: bool,
}

pub(super) struct Scanned {
    pub(super) bytes: Vec<u8>,
    /// The end of what stands before them and the beginning of what follows them, for whoever judges them.
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    /// The last line that is in `bytes`.
    pub(super) last: u64,
    pub(super) lines: Option<u64>,
    pub(super) cut_by: Option<&'static str>,
}

pub(super) enum ScanFault {
    NotText,
    Stopped,
    TooFar,
    PastEnd { lines: u64 },
    Io(std::io::Error),
}

/// Collects the wanted lines and counts the others. Memory is bounded by the limit, however long lines are.
pub(super) fn scan(
    reader: &mut impl BufRead,
    wanted: &Wanted<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Scanned, ScanFault> {
    let limit = usize::try_from(wanted.limits.read_bytes).unwrap_or(usize::MAX);
    let end = wanted.end.unwrap_or_else(|| wanted.start.saturating_add(wanted.limits.read_lines.saturating_sub(1)));
    let mut bytes: Vec<u8> = Vec::new();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    // Where in `bytes` the line begins that is being collected.
    let mut line_begin = 0;
    let mut is_full = false;
    let mut finished: u64 = 0;
    let mut in_line = false;
    let mut scanned_bytes: u64 = 0;
    let mut beyond_bytes: u64 = 0;
    let mut is_counted = true;
    loop {
        if stop() {
            return Err(ScanFault::Stopped);
        }
        let chunk = match reader.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => chunk,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ScanFault::Io(error)),
        };
        if wanted.is_text && chunk.contains(&0) {
            return Err(ScanFault::NotText);
        }
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let line = finished + 1;
            if line >= wanted.start && line <= end && !is_full {
                if !in_line {
                    line_begin = bytes.len();
                }
                let room = limit - bytes.len();
                bytes.extend(piece.iter().take(room));
                is_full = piece.len() > room;
                after.extend(piece.iter().skip(room).take(KEY_CONTEXT_BYTES));
            } else if line < wanted.start {
                before.extend_from_slice(piece);
                if before.len() > 2 * KEY_CONTEXT_BYTES {
                    before.drain(..before.len() - KEY_CONTEXT_BYTES);
                }
            } else {
                after.extend(piece.iter().take(KEY_CONTEXT_BYTES.saturating_sub(after.len())));
            }
            in_line = piece.last() != Some(&b'\n');
            finished += u64::from(!in_line);
        }
        let length = chunk.len();
        reader.consume(length);
        scanned_bytes += length as u64;
        if finished + 1 < wanted.start && scanned_bytes > MAX_SCAN_BYTES {
            return Err(ScanFault::TooFar);
        }
        if finished >= end || is_full {
            beyond_bytes += length as u64;
            if beyond_bytes > MAX_COUNT_BYTES {
                is_counted = false;
                break;
            }
        }
    }
    let lines = finished + u64::from(in_line);
    // The first line of an empty file is asked for by whoever does not know that it is empty.
    if lines < wanted.start && !(lines == 0 && wanted.start == 1) {
        return Err(ScanFault::PastEnd { lines });
    }
    let mut last = lines.min(end);
    let mut cut_by = (wanted.end.is_none() && lines > end).then_some("read_lines");
    if is_full {
        cut_by = Some("read_bytes");
        let kept = match line_begin {
            0 if wanted.is_text => whole_characters(&bytes),
            0 => bytes.len(),
            begin => begin,
        };
        after.splice(..0, bytes.drain(kept..));
        last = wanted.start - 1 + bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    }
    Ok(Scanned { bytes, before, after, last, lines: is_counted.then_some(lines), cut_by })
}

/// How many bytes are whole characters, when the last one may have been cut.
fn whole_characters(bytes: &[u8]) -> usize {
    // Other faults mean that it is no text at all: said by whoever reads it.
    let cut = std::str::from_utf8(bytes).err().filter(|error| error.error_len().is_none());
    cut.map_or(bytes.len(), |error| error.valid_up_to())
}

/// UTF-16 read as UTF-8.
pub(super) struct Utf16<R> {
    source: R,
    encoding: Encoding,
    ready: Vec<u8>,
    taken: usize,
}

impl<R: Read> Utf16<R> {
    pub(super) fn new(source: R, encoding: Encoding) -> Self {
        Self { source, encoding, ready: Vec::new(), taken: 0 }
    }

    fn unit(&mut self) -> std::io::Result<Option<u16>> {
        let mut pair = [0; 2];
        let mut bytes = Vec::with_capacity(2);
        self.source.by_ref().take(2).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        pair.copy_from_slice(bytes.get(..2).ok_or(std::io::ErrorKind::InvalidData)?);
        Ok(Some(self.encoding.unit(pair)))
    }

    fn character(&mut self) -> std::io::Result<Option<char>> {
        let Some(first) = self.unit()? else { return Ok(None) };
        let second = if (0xD800..0xDC00).contains(&first) { self.unit()? } else { None };
        let mut decoded = char::decode_utf16([Some(first), second].into_iter().flatten());
        match decoded.next() {
            Some(Ok(character)) => Ok(Some(character)),
            Some(Err(_)) | None => Err(std::io::ErrorKind::InvalidData.into()),
        }
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.taken >= self.ready.len() {
            self.ready.clear();
            self.taken = 0;
            while self.ready.len() < buffer.len() {
                let Some(character) = self.character()? else { break };
                self.ready.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        let waiting = self.ready.get(self.taken..).unwrap_or_default();
        let count = waiting.len().min(buffer.len());
        for (slot, byte) in buffer.iter_mut().zip(waiting) {
            *slot = *byte;
        }
        self.taken += count;
        Ok(count)
    }
}

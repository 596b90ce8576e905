//! Secrets in base64, of UTF-16 too, and in hexadecimal. What is found there is masked where it was written.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::Regex;

use super::{Secret, block, find_short};

/// Base64 in one piece or in lines.
static BASE64: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[A-Za-z0-9+/_-]{24,}={0,2}(?:(?:\\r)?(?:\\n|\s+)[A-Za-z0-9+/_-]{16,}={0,2})*(?:\s[A-Za-z0-9+/_-]{2,}={0,2}(?-u:\b))?").ok()
});

/// Hexadecimal in one piece or in lines, as `xxd -p` writes them.
static HEXADECIMAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:[0-9a-f]{40,}|[0-9A-F]{40,})(?:\r?\n(?:[0-9a-f]{2,}|[0-9A-F]{2,})(?-u:\b))*").ok()
});

/// Takes base64 with its end cut off.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Base64 of fewer signs is a hash or a number, where it is no text.
const SHORTEST_BINARY: usize = 400;

/// A text as it reads in plain writing.
struct Reading {
    text: String,
    /// For each byte of it, where in the original what it comes from begins and ends.
    places: Vec<(usize, usize)>,
}

pub(super) fn find(text: &str) -> Vec<Secret> {
    let in_base64 = BASE64.iter().flat_map(|pattern| pattern.find_iter(text));
    let in_base64 = in_base64.filter_map(|hit| decode(hit.as_str(), hit.start()));
    let in_hexadecimal = HEXADECIMAL.iter().flat_map(|pattern| pattern.find_iter(text));
    let in_hexadecimal = in_hexadecimal.filter_map(|hit| decode_hexadecimal(hit.as_str(), hit.start()));
    in_base64.chain(in_hexadecimal).flat_map(|reading| find_in(&reading)).collect()
}

fn find_in(reading: &Reading) -> Vec<Secret> {
    let Reading { text, places } = reading;
    let mut found = if block::may_hold(text.as_bytes()) { block::find(text) } else { Vec::new() };
    found.extend(find_short(text));
    let place = |secret: Secret| {
        let (start, _) = *places.get(secret.range.start)?;
        let (_, end) = *places.get(secret.range.end.checked_sub(1)?)?;
        Some(Secret { range: start..end, kind: secret.kind })
    };
    found.into_iter().filter_map(place).collect()
}

/// Base64 that stands for text, or for what may hold some. Its beginning may have been cut off: then it begins at any of four signs.
fn decode(written: &str, offset: usize) -> Option<Reading> {
    const PROBED: usize = 40;
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let mut signs = String::with_capacity(written.len());
    let mut at = Vec::with_capacity(written.len());
    let bytes = written.as_bytes();
    let mut skipped = false;
    for (index, byte) in bytes.iter().copied().enumerate() {
        // A break that is written as `\n`.
        let is_escape = std::mem::replace(&mut skipped, byte == b'\\');
        if is_sign(byte) && !is_escape {
            signs.push(match byte {
                b'-' => '+',
                b'_' => '/',
                other => char::from(other),
            });
            at.push(offset + index);
        }
    }
    let begins_text = |phase: usize| {
        let probed = signs.get(phase..).and_then(|signs| signs.get(..PROBED.min(signs.len()) / 4 * 4));
        probed.is_some_and(|probed| LENIENT.decode(probed).is_ok_and(|bytes| bytes.len() >= 12 && is_text(&bytes)))
    };
    let (phase, is_text) = match (0..4).find(|phase| begins_text(*phase)) {
        Some(phase) => (phase, true),
        // A file that is no text may hold some: an archive, a database.
        None if signs.len() >= SHORTEST_BINARY => (0, false),
        None => return None,
    };
    let decoded = LENIENT.decode(signs.get(phase..)?).ok()?;
    let plain = |byte: &u8| match byte {
        0 if is_text => '\0',
        b'\t' | b'\n' | b'\r' | b' '..=b'~' => char::from(*byte),
        _ if is_text => '?',
        _ => ' ',
    };
    // One byte a character keeps the places simple: secrets are ASCII.
    let text: String = decoded.iter().map(plain).collect();
    let end = offset + written.len();
    let sign = |index: usize| at.get(phase + index).copied();
    let mut places: Vec<(usize, usize)> = (0..text.len())
        .map(|byte| (sign(byte * 4 / 3).unwrap_or(end), sign((byte * 4 + 6) / 3).unwrap_or(end)))
        .collect();
    // What fills the last group up belongs to the last byte.
    if let Some((_, last)) = places.last_mut() {
        *last = end;
    }
    let reading = Reading { text, places };
    Some(if reading.text.contains('\0') { stripped(reading) } else { reading })
}

/// Hexadecimal that stands for text; most of it stands for a number.
fn decode_hexadecimal(written: &str, offset: usize) -> Option<Reading> {
    let digits = written.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_hexdigit());
    let (at, digits): (Vec<usize>, Vec<u8>) = digits.map(|(index, digit)| (offset + index, digit)).unzip();
    let bytes = hex::decode(digits.get(..digits.len() / 2 * 2)?).ok()?;
    if !is_text(&bytes) {
        return None;
    }
    let plain = |byte: &u8| {
        if *byte == 0 || byte.is_ascii_graphic() || byte.is_ascii_whitespace() { char::from(*byte) } else { '?' }
    };
    let text: String = bytes.iter().map(plain).collect();
    let places = at.as_chunks::<2>().0.iter().map(|[first, last]| (*first, last + 1)).collect();
    let reading = Reading { text, places };
    Some(if reading.text.contains('\0') { stripped(reading) } else { reading })
}

/// UTF-16 has a NUL beside every sign.
fn stripped(reading: Reading) -> Reading {
    let kept = reading.text.bytes().zip(reading.places).filter(|(byte, _)| *byte != 0);
    let (text, places): (Vec<u8>, Vec<_>) = kept.unzip();
    Reading { text: String::from_utf8_lossy(&text).into_owned(), places }
}

/// Whether bytes are what people and programs write as text. UTF-16 is, too.
fn is_text(bytes: &[u8]) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..0x7f);
    let plain = bytes.iter().filter(|byte| is_plain(byte)).count();
    let written = bytes.iter().filter(|byte| is_plain(byte) || **byte == 0).count();
    written + 3 >= bytes.len() && plain * 2 + 3 >= bytes.len()
}

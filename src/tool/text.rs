//! Bytes as text and back: which encoding a file has, and whether it is text at all.

use std::path::Path;

use crate::ir::{Code, Failure};

/// How a text file is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8 { bom: bool },
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// By the byte-order mark at the start, else UTF-8.
    pub(super) fn of(start: &[u8]) -> Self {
        match start {
            [0xEF, 0xBB, 0xBF, ..] => Self::Utf8 { bom: true },
            [0xFF, 0xFE, ..] => Self::Utf16Le,
            [0xFE, 0xFF, ..] => Self::Utf16Be,
            _ => Self::Utf8 { bom: false },
        }
    }

    /// How long its byte-order mark is, in bytes.
    pub(super) fn mark_bytes(self) -> usize {
        match self {
            Self::Utf8 { bom: false } => 0,
            Self::Utf8 { bom: true } => 3,
            Self::Utf16Le | Self::Utf16Be => 2,
        }
    }

    /// Its name in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 { .. } => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
        }
    }

    /// Its name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Utf8 { bom: false } => "UTF-8",
            Self::Utf8 { bom: true } => "UTF-8 (BOM)",
            Self::Utf16Le => "UTF-16 LE",
            Self::Utf16Be => "UTF-16 BE",
        }
    }

    /// One unit of UTF-16 in this byte order.
    pub(super) fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Utf16Be => u16::from_be_bytes(pair),
            Self::Utf8 { .. } | Self::Utf16Le => u16::from_le_bytes(pair),
        }
    }
}

/// A text with the encoding that it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) encoding: Encoding,
}

impl Text {
    /// Reads bytes as text; `None` when they are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let encoding = Encoding::of(bytes);
        let body = bytes.get(encoding.mark_bytes()..)?;
        let text = match encoding {
            Encoding::Utf8 { .. } => String::from_utf8(body.to_vec()).ok()?,
            Encoding::Utf16Le | Encoding::Utf16Be => {
                let (pairs, rest) = body.as_chunks::<2>();
                if !rest.is_empty() {
                    return None;
                }
                let units = pairs.iter().map(|pair| encoding.unit(*pair));
                char::decode_utf16(units).collect::<Result<_, _>>().ok()?
            }
        };
        (!text.contains('\0')).then_some(Self { text, encoding })
    }

    /// The bytes again, with the byte-order mark that they had.
    pub(super) fn encode(&self) -> Vec<u8> {
        match self.encoding {
            Encoding::Utf8 { bom } => {
                let mark: &[u8] = if bom { b"\xEF\xBB\xBF" } else { b"" };
                [mark, self.text.as_bytes()].concat()
            }
            Encoding::Utf16Le => {
                [0xFEFF].into_iter().chain(self.text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
            }
            Encoding::Utf16Be => {
                [0xFEFF].into_iter().chain(self.text.encode_utf16()).flat_map(u16::to_be_bytes).collect()
            }
        }
    }
}

/// What binary content most likely is, by how it begins: a media type.
pub(super) fn likely_type(start: &[u8]) -> Option<&'static str> {
    infer::get(start).map(|kind| kind.mime_type())
}

/// The refusal of a file that is not text.
pub(super) fn binary(start: &[u8], path: &Path) -> Failure {
    let kind = likely_type(start).unwrap_or("unknown binary data");
    let sentence = format!(
        "The file is not text (likely {kind}); read_file with `encoding`: \"base64\" reads it. Path: {}",
        path.display()
    );
    Failure::new(Code::BinaryFile, sentence)
}

/// How many lines a text has: a final line break does not begin another.
pub(super) fn count_lines(text: &str) -> u64 {
    let breaks = text.bytes().filter(|byte| *byte == b'\n').count() as u64;
    breaks + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_comes_back_as_it_was() {
        let utf16le: Vec<u8> =
            [0xFEFF].into_iter().chain("añ😀\r\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let utf16be: Vec<u8> =
            [0xFEFF].into_iter().chain("añ😀\r\n".encode_utf16()).flat_map(u16::to_be_bytes).collect();
        for (bytes, encoding) in [
            ("añ😀\r\n".as_bytes().to_vec(), Encoding::Utf8 { bom: false }),
            ("\u{FEFF}añ😀\r\n".as_bytes().to_vec(), Encoding::Utf8 { bom: true }),
            (utf16le, Encoding::Utf16Le),
            (utf16be, Encoding::Utf16Be),
        ] {
            let text = Text::decode(&bytes).unwrap();
            assert_eq!((text.text.as_str(), text.encoding), ("añ😀\r\n", encoding));
            assert_eq!(text.encode(), bytes);
        }
    }

    #[test]
    fn what_is_no_text_is_told_apart() {
        for bytes in [&b"a\0b"[..], b"\xFF", b"\xC0\xAE", b"\xFF\xFEa", b"\xFF\xFE\0\xD8"] {
            assert_eq!(Text::decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(Text::decode(b"").unwrap().text, "");
    }

    #[test]
    fn a_final_line_break_begins_no_line() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("a\r\n\r\n", 2)] {
            assert_eq!(count_lines(text), lines, "{text:?}");
        }
    }
}

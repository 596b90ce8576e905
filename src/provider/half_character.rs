//! Halves of characters: `\ud83d` without its second half, which strict JSON refuses. Servers that cut their text by UTF-16
//! units send them, one half in each delta. Pure.
//!
//! Halves are rare and the text may be long: it is searched for them only where strict reading failed.

use serde::de::DeserializeOwned;

/// Reads JSON text as it is or, where that fails, with every half read as `U+FFFD`. A reading that fails must have done
/// nothing.
///
/// # Errors
/// What the last reading says.
pub(super) fn read<T>(json: &str, mut read: impl FnMut(&str) -> serde_json::Result<T>) -> serde_json::Result<T> {
    read(json).or_else(|problem| match replaced(json) {
        Some(mended) => read(&mended),
        None => Err(problem),
    })
}

/// Reads a JSON string that carries a piece of other JSON. A half stays an escape in it: there it meets its other half, which
/// comes with the next piece, or is refused.
///
/// # Errors
/// What the last reading says.
pub(super) fn read_piece<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|problem| match kept_as_escape(json) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(problem),
    })
}

/// JSON text in which every half reads as `U+FFFD`. `None` when there is none.
fn replaced(json: &str) -> Option<String> {
    rewritten(json, |out, _| out.push_str("\\ufffd"))
}

/// A JSON string in which every half is an escape in the text that it carries. `None` when there is none.
fn kept_as_escape(json: &str) -> Option<String> {
    rewritten(json, |out, half| {
        out.push('\\');
        out.push_str(half);
    })
}

fn rewritten(json: &str, mut write: impl FnMut(&mut String, &str)) -> Option<String> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        let start = at + found;
        match (unit(json, start), unit(json, start + ESCAPE)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at = start + 2 * ESCAPE,
            (Some(0xd800..=0xdfff), _) => {
                at = start + ESCAPE;
                out.push_str(json.get(copied..start)?);
                write(&mut out, json.get(start..at)?);
                copied = at;
            }
            // Any other escape is at least the backslash and the character behind it.
            _ => at = start + 1 + json.get(start + 1..)?.chars().next().map_or(1, char::len_utf8),
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(json.get(copied..)?);
    Some(out)
}

/// Bytes of `\uXXXX`.
const ESCAPE: usize = 6;

/// The UTF-16 unit whose escape stands there.
fn unit(json: &str, start: usize) -> Option<u16> {
    let digits = json.get(start..start + ESCAPE)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_replaced_and_whole_characters_stay() {
        for whole in [r#""plain \n \u4f60 \\ud83d""#, r#""\ud83d\ude00""#, r#""\\\ud83d\ude00""#, r#""\"#, ""] {
            assert_eq!((replaced(whole), kept_as_escape(whole)), (None, None), "{whole}");
        }
        let replaced_in = [
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ude00b""#, r#""\ufffdb""#),
            (r#""\ud83d\ud83d\ude00\uDE00""#, r#""\ufffd\ud83d\ude00\ufffd""#),
            (r#""\\\ud83d\u4f60你""#, r#""\\\ufffd\u4f60你""#),
        ];
        for (broken, expected) in replaced_in {
            assert_eq!(replaced(broken).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_reads_well_is_read_once_and_what_does_not_once_more_when_it_holds_a_half() {
        let cases: [(&str, usize, Option<&str>); 3] =
            [(r#""\\ud83d""#, 1, Some("\\ud83d")), (r#""a\ud83d""#, 2, Some("a\u{fffd}")), (r#""a"#, 1, None)];
        for (json, readings, expected) in cases {
            let mut seen = 0;
            let text = read(json, |json| {
                seen += 1;
                serde_json::from_str::<String>(json)
            });
            assert_eq!((seen, text.ok().as_deref()), (readings, expected), "{json}");
        }
    }

    #[test]
    fn halves_in_pieces_of_json_meet_again() {
        let pieces = [r#""{\"t\":\"a\ud83d""#, r#""\ude00b\"}""#];
        let read = |piece: &str| read_piece::<String>(piece).unwrap();
        let whole: String = pieces.into_iter().map(read).collect();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&whole).unwrap(), serde_json::json!({"t": "a😀b"}));
        assert!(serde_json::from_str::<serde_json::Value>(&format!("{}\"}}", read(pieces[0]))).is_err());
    }
}

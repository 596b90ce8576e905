//! Reads arguments as text: within a size, and no name twice.

use serde_json::Value;

use crate::ir::{Code, Failure, strict_json};

/// The most that arguments may be, in bytes: a write of 5 MiB passes.
pub const MAX_ARGUMENT_BYTES: usize = 6 * 1_048_576;

/// Reads arguments. Blank text is null.
///
/// # Errors
/// `CONTENT_TOO_LARGE` past `max_bytes`; `INVALID_ARGUMENTS` for what is not JSON and for a name that stands twice in
/// one object (which of the two a reader takes differs, so that what was shown might not be what runs).
pub fn parse_strict(raw: &str, max_bytes: usize) -> Result<Value, Failure> {
    if raw.len() > max_bytes {
        let sentence = format!("The arguments are {} bytes long; {max_bytes} are allowed.", raw.len());
        return Err(Failure::new(Code::ContentTooLarge, sentence));
    }
    if raw.trim().is_empty() {
        return Ok(Value::Null);
    }
    strict_json(raw)
        .map_err(|error| Failure::new(Code::InvalidArguments, format!("The arguments are not valid JSON: {error}.")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_json_and_a_name_that_stands_twice_are_refused() {
        for raw in [r#"{"path":"a","path":"/etc/passwd"}"#, "{", "{} {}", "{'a': 1}", &"[".repeat(5000)] {
            assert_eq!(parse_strict(raw, 10_000).unwrap_err().code, Code::InvalidArguments, "{raw:.20}");
        }
    }

    #[test]
    fn the_size_is_bounded() {
        let raw = format!("\"{}\"", "x".repeat(98));
        assert!(parse_strict(&raw, 100).is_ok());
        assert_eq!(parse_strict(&raw, 99).unwrap_err().code, Code::ContentTooLarge);
    }

    #[test]
    fn no_text_is_null() {
        assert_eq!(parse_strict(" \n", 10), Ok(json!(null)));
    }
}

//! Reads arguments as text: within a size, and no name twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::ir::{Code, Failure};

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
    let Strict(value) = serde_json::from_str(raw)
        .map_err(|error| Failure::new(Code::InvalidArguments, format!("The arguments are not valid JSON: {error}.")))?;
    Ok(value)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is none"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let Strict(value) = fields.next_value()?;
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("`{name}` is given twice")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_refused_at_any_depth() {
        for raw in [
            r#"{"path":"a","path":"/etc/passwd"}"#,
            r#"{"edits":[{"old":"a","old":"b"}]}"#,
            r#"{"path":"a","\u0070ath":"b"}"#,
        ] {
            let failure = parse_strict(raw, 1000).unwrap_err();
            assert_eq!(failure.code, Code::InvalidArguments, "{raw}");
            assert!(failure.message.contains("twice"), "{}", failure.message);
            // Without the guard the last one silently wins.
            assert!(serde_json::from_str::<Value>(raw).is_ok());
        }
    }

    #[test]
    fn the_size_is_bounded() {
        let raw = format!("\"{}\"", "x".repeat(98));
        assert!(parse_strict(&raw, 100).is_ok());
        assert_eq!(parse_strict(&raw, 99).unwrap_err().code, Code::ContentTooLarge);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for raw in ["{", "{} {}", "{'a': 1}", "{\"a\": 1e400}", "nul", &"[".repeat(5000), "{\"a\": \"\\ud800\"}"] {
            assert_eq!(parse_strict(raw, 10_000).unwrap_err().code, Code::InvalidArguments, "{raw:.20}");
        }
    }

    #[test]
    fn no_text_is_null() {
        assert_eq!(parse_strict(" \n", 10), Ok(json!(null)));
    }

    proptest! {
        #[test]
        fn whatever_it_takes_is_what_serde_json_reads(raw in r#"[\[\]{}":,0-9a-c\\ntrue.eE+-]{0,40}"#) {
            if let Ok(value) = parse_strict(&raw, 1000) && !raw.trim().is_empty() {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&raw).unwrap());
            }
        }
    }
}

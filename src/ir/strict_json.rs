//! The one strict reader of JSON that a model wrote: nothing is guessed, nothing taken twice.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads a text as one JSON value. No object may hold a name twice: which of the two a reader takes differs, so that what
/// was shown might not be what runs.
///
/// # Errors
/// For what is not JSON, for a name that stands twice in one object, for what is nested deeper than 128 levels.
pub fn strict_json(text: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
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
        while let Some(item) = items.next_element_seed(Self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(Self)?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("`{key}` is given twice")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_refused_at_any_depth() {
        for text in [
            r#"{"path":"a","path":"/etc/passwd"}"#,
            r#"{"edits":[{"old":"a","old":"b"}]}"#,
            r#"{"path":"a","\u0070ath":"b"}"#,
        ] {
            let error = strict_json(text).unwrap_err().to_string();
            assert!(error.contains("twice"), "{error}");
            // Without the guard the last one silently wins.
            assert!(serde_json::from_str::<Value>(text).is_ok());
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", "{", "{} {}", "{'a': 1}", "{\"a\": 1e400}", "nul", &"[".repeat(5000), "{\"a\": \"\\ud800\"}"] {
            assert!(strict_json(text).is_err(), "{text:.20}");
        }
    }

    proptest! {
        #[test]
        fn whatever_it_takes_is_what_serde_json_reads(text in r#"[\[\]{}":,0-9a-c\\ntrue.eE+-]{0,40}"#) {
            if let Ok(value) = strict_json(&text) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}

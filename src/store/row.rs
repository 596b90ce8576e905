//! How plain values become columns and come back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error as WordError;

use super::StoreError;

/// A value as JSON text.
pub(super) fn json<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Format { what, source })
}

/// A value as JSON text, or nothing.
pub(super) fn json_option<T: Serialize>(what: &'static str, value: Option<&T>) -> Result<Option<String>, StoreError> {
    value.map(|value| json(what, value)).transpose()
}

/// JSON text as a value.
pub(super) fn parse<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Format { what, source })
}

/// JSON text as a value, or nothing.
pub(super) fn parse_option<T: DeserializeOwned>(
    what: &'static str,
    text: Option<&str>,
) -> Result<Option<T>, StoreError> {
    text.map(|text| parse(what, text)).transpose()
}

/// The word that stands for a variant.
pub(super) fn word<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    let text = json(what, value)?;
    Ok(text.trim_matches('"').to_owned())
}

/// The variant that a word stands for.
pub(super) fn variant<T: DeserializeOwned>(what: &'static str, word: &str) -> Result<T, StoreError> {
    T::deserialize(word.into_deserializer()).map_err(|error: WordError| StoreError::Format {
        what,
        source: <serde_json::Error as serde::de::Error>::custom(error),
    })
}

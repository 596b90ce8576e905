//! What the tests of this room share: a value is read from the JSON of the standard and written back the same.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads `value` as `T` and writes it back unchanged; a field that is unknown everywhere makes no difference.
pub(super) fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &Value) -> T {
    let read: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), *value);
    let text = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), read);
    assert_eq!(serde_json::from_value::<T>(with_unknown_fields(value)).unwrap(), read);
    read
}

/// Every word of the standard is exactly one value, and no others are there.
pub(super) fn words<T: Serialize + DeserializeOwned + PartialEq + Debug>(expected: &[(&str, T)]) {
    for (word, value) in expected {
        assert_eq!(serde_json::from_value::<T>(json!(word)).unwrap(), *value);
        assert_eq!(serde_json::to_value(value).unwrap(), json!(word));
    }
}

fn with_unknown_fields(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: serde_json::Map<String, Value> = fields
                .iter()
                // What a tool takes and gives is free, not ours to extend.
                .map(|(name, value)| match name.as_str() {
                    "args" | "result" | "parameters" | "providerState" | "structuredOutput" => {
                        (name.clone(), value.clone())
                    }
                    _ => (name.clone(), with_unknown_fields(value)),
                })
                .collect();
            fields.insert("fieldOfALaterVersion".into(), json!([1, {"x": null}]));
            fields.into()
        }
        Value::Array(items) => items.iter().map(with_unknown_fields).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

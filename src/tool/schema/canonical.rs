//! One text for equal arguments, and its hash.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The value as compact JSON with the names of every object sorted.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// SHA-256 of the canonical form, hex.
pub fn args_hash(value: &Value) -> String {
    hex::encode(Sha256::digest(canonical(value).as_bytes()))
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (index, (name, value)) in fields.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_names_does_not_matter_and_that_of_items_does() {
        let value = json!({"b": [2, 1], "a": {"d": null, "c": "x\n"}});
        assert_eq!(canonical(&value), r#"{"a":{"c":"x\n","d":null},"b":[2,1]}"#);
        assert_eq!(args_hash(&json!({"a": 1, "b": 2})), args_hash(&json!({"b": 2, "a": 1})));
        assert_ne!(args_hash(&json!([1, 2])), args_hash(&json!([2, 1])));
    }

    #[test]
    fn the_hash_is_sha_256_in_hex() {
        // SHA-256 of "{}".
        assert_eq!(args_hash(&json!({})), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    }
}

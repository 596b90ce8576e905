//! Chunks with numbers where text is due and text where numbers are. Slow, for the rare server that sends them. Pure.

use serde_json::{Map, Value};

/// Fields that are text.
const TEXTS: &[&str] = &["id", "model", "object", "finish_reason", "name"];
/// Fields that are whole numbers.
const INDEXES: &[&str] = &["index"];
/// Objects of numbers.
const COUNTS: &[&str] = &["usage", "timings", "prompt_tokens_details", "completion_tokens_details"];
/// Fields whose content is the model's own.
const OPAQUE: &[&str] = &["arguments", "reasoning_details", "extra_content", "error"];

/// The chunk with every field of the type that it should have; what cannot be given it is left out. `None` when it is no
/// object.
pub(super) fn normalised(data: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(data).ok()?;
    fields(value.as_object_mut()?);
    if let Some(choices) = value.get_mut("choices")
        && !choices.is_array()
    {
        *choices = match choices.take() {
            choice @ Value::Object(_) => Value::Array(vec![choice]),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Value::Null,
        };
    }
    Some(value.to_string())
}

fn fields(object: &mut Map<String, Value>) {
    for (key, value) in object {
        let key = key.as_str();
        if OPAQUE.contains(&key) {
            continue;
        }
        if TEXTS.contains(&key) {
            *value = text(value);
        } else if INDEXES.contains(&key) {
            *value = index(value);
        } else if COUNTS.contains(&key) {
            counts(value);
        } else {
            inside(value);
        }
    }
}

fn inside(value: &mut Value) {
    match value {
        Value::Object(object) => fields(object),
        Value::Array(items) => items.iter_mut().for_each(inside),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn text(value: &Value) -> Value {
    match value {
        Value::String(_) => value.clone(),
        Value::Number(number) => Value::String(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Value::Null,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "an index, and saturating")]
fn index(value: &Value) -> Value {
    number(value).map_or(Value::Null, |number| Value::from(number as i64))
}

fn counts(value: &mut Value) {
    let Some(object) = value.as_object_mut() else {
        *value = Value::Null;
        return;
    };
    for (key, value) in object {
        if COUNTS.contains(&key.as_str()) {
            counts(value);
        } else {
            *value = number(value).map_or(Value::Null, Value::from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::openai::wire::Chunk;

    #[test]
    fn neighbouring_types_are_read() {
        let data = r#"{"id":7,"model":5,"choices":[{"index":"0","delta":{"tool_calls":[{"index":1.0,"id":12,
            "function":{"name":"ls","arguments":{"id":7}}}]},"finish_reason":{}}],"usage":{"prompt_tokens":"9",
            "completion_tokens":{},"prompt_tokens_details":7}}"#;
        assert!(serde_json::from_str::<Chunk<'_>>(data).is_err());
        let mended = normalised(data).unwrap();
        let chunk: Chunk<'_> = serde_json::from_str(&mended).unwrap();
        assert_eq!(chunk.usage.unwrap().prompt_tokens, Some(9.0));
        let choice = chunk.choices.unwrap().0.pop().unwrap();
        let call = choice.delta.unwrap().tool_calls.unwrap().0.pop().unwrap();
        assert_eq!((call.index, call.id.unwrap().0.as_ref()), (Some(1), "12"));
        assert_eq!(call.function.unwrap().arguments.unwrap().get(), r#"{"id":7}"#);
        assert_eq!(normalised("[]"), None);
        assert_eq!(normalised("{"), None);
    }
}

//! The text of a call's arguments to an object, strictly: what does not parse is reported to the model, never guessed.

use serde_json::{Map, Value};

use crate::ir::strict_json;

/// A call's arguments as they were understood.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arguments {
    /// The object; empty when the text did not parse.
    pub args: Value,
    /// The model's text, kept when it was not plainly an object.
    pub raw: Option<String>,
    /// Why it did not parse.
    pub error: Option<String>,
}

/// Reads arguments. Nothing and `null` are no arguments; an object inside a string is unwrapped once.
pub fn parse_arguments(text: &str) -> Arguments {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Arguments { args: Value::Object(Map::new()), raw: None, error: None };
    }
    let parsed = match strict_json(trimmed) {
        Ok(Value::String(inner)) if inner.trim().is_empty() => Ok(Value::Null),
        Ok(Value::String(inner)) => strict_json(inner.trim()),
        parsed => parsed,
    };
    let raw = (!trimmed.starts_with('{')).then(|| text.to_owned());
    match parsed {
        Ok(args @ Value::Object(_)) => Arguments { args, raw, error: None },
        Ok(Value::Null) => Arguments { args: Value::Object(Map::new()), raw, error: None },
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            failed(text, "the arguments are not a JSON object".into())
        }
        Err(error) => failed(text, format!("the arguments are not valid JSON: {error}")),
    }
}

fn failed(text: &str, error: String) -> Arguments {
    Arguments { args: Value::Object(Map::new()), raw: Some(text.to_owned()), error: Some(error) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_taken_as_it_stands() {
        let text = r#" {"path":"a","deep":{"n":[1,-2,2.5,true,null,"x"]}} "#;
        let args = json!({"path": "a", "deep": {"n": [1, -2, 2.5, true, null, "x"]}});
        assert_eq!(parse_arguments(text), Arguments { args, raw: None, error: None });
    }

    #[test]
    fn nothing_and_null_are_no_arguments_and_a_wrapped_object_is_unwrapped_once() {
        assert_eq!(parse_arguments(" "), Arguments { args: json!({}), raw: None, error: None });
        assert_eq!(parse_arguments("null"), Arguments { args: json!({}), raw: Some("null".into()), error: None });
        assert_eq!(parse_arguments("\"\""), Arguments { args: json!({}), raw: Some("\"\"".into()), error: None });
        let wrapped = r#""{\"q\":1}""#;
        assert_eq!(
            parse_arguments(wrapped),
            Arguments { args: json!({"q": 1}), raw: Some(wrapped.into()), error: None }
        );
    }

    #[test]
    fn what_does_not_parse_is_kept_and_reported_never_mended() {
        for text in
            [r#"{"pa"#, r#"{"a":1}{"a":2}"#, "[1]", "7", r#""plain""#, r#"{"a":1,"a":2}"#, r#"{"a":{"b":1,"b":1}}"#]
        {
            let Arguments { args, raw, error } = parse_arguments(text);
            assert_eq!((args, raw.as_deref(), error.is_some()), (json!({}), Some(text), true), "{text}");
        }
        let error = parse_arguments(r#"{"a":1,"a":2}"#).error.unwrap();
        assert!(error.contains("`a` is given twice"), "{error}");
    }
}

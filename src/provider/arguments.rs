//! The text of a call's arguments to an object. What parses is never touched; what does not is mended only where it can
//! mean one thing (`repair`) and marked; the rest is reported to the model with the place of the mistake.

use serde_json::{Map, Value};

use super::repair::repaired;
use crate::ir::{CallMark, strict_json};

/// A call's arguments as they were understood.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arguments {
    /// The object; empty when the text did not parse.
    pub args: Value,
    /// The model's text, kept when it says more than the object: it was not plainly one, or a number in it is written
    /// otherwise than we would (`1.10`).
    pub raw: Option<String>,
    /// Why it did not parse.
    pub error: Option<String>,
    /// Whether it was mended first.
    pub is_repaired: bool,
}

impl Arguments {
    /// What was done to the text, for the call's card.
    pub fn marks(&self) -> Vec<CallMark> {
        if self.is_repaired { vec![CallMark::Repaired] } else { Vec::new() }
    }
}

/// Reads arguments. Nothing and `null` are no arguments; an object inside a string is unwrapped once.
pub fn parse_arguments(text: &str) -> Arguments {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Arguments { args: Value::Object(Map::new()), ..Arguments::default() };
    }
    let problem = match object_in(trimmed) {
        Ok(args) => {
            let is_plain = trimmed.starts_with('{') && !has_odd_number(trimmed);
            return Arguments { args, raw: (!is_plain).then(|| text.to_owned()), ..Arguments::default() };
        }
        Err(problem) => problem,
    };
    let raw = Some(text.to_owned());
    match repaired(trimmed).map(|mended| object_in(&mended)) {
        Some(Ok(args)) => Arguments { args, raw, error: None, is_repaired: true },
        Some(Err(_)) | None => {
            Arguments { args: Value::Object(Map::new()), raw, error: Some(problem), is_repaired: false }
        }
    }
}

fn object_in(text: &str) -> Result<Value, String> {
    let parsed = match strict_json(text) {
        Ok(Value::String(inner)) if inner.trim().is_empty() => Ok(Value::Null),
        Ok(Value::String(inner)) => strict_json(inner.trim()),
        parsed => parsed,
    };
    match parsed {
        Ok(args @ Value::Object(_)) => Ok(args),
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err("the arguments are not a JSON object".into())
        }
        Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
    }
}

/// Whether a number of this JSON is written otherwise than it would be written again: where text is wanted, its very
/// digits count.
fn has_odd_number(json: &str) -> bool {
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (_, from) = rest.split_at(at);
        if let Some(text) = from.strip_prefix('"') {
            rest = after_string(text);
            continue;
        }
        let end = from.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        let is_plain = number.len() < 19 && number.bytes().all(|byte| byte.is_ascii_digit());
        if !is_plain {
            let rewritten = serde_json::from_str::<Value>(number).map(|value| value.to_string());
            if rewritten.is_ok_and(|rewritten| rewritten != number) {
                return true;
            }
        }
        rest = after;
    }
    false
}

/// What follows a text of JSON, from behind its opening quote.
fn after_string(text: &str) -> &str {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.and_then(|end| text.get(end + 1..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(args: Value, raw: Option<&str>) -> Arguments {
        Arguments { args, raw: raw.map(str::to_owned), error: None, is_repaired: false }
    }

    #[test]
    fn an_object_is_taken_as_it_stands() {
        let text = r#" {"path":"a","deep":{"n":[1,-2,2.5,true,null,"x 1.10 \" 1.10"]}} "#;
        let args = json!({"path": "a", "deep": {"n": [1, -2, 2.5, true, null, "x 1.10 \" 1.10"]}});
        assert_eq!(parse_arguments(text), read(args, None));
    }

    #[test]
    fn nothing_and_null_are_no_arguments_and_a_wrapped_object_is_unwrapped_once() {
        assert_eq!(parse_arguments(" "), read(json!({}), None));
        assert_eq!(parse_arguments("null"), read(json!({}), Some("null")));
        assert_eq!(parse_arguments("\"\""), read(json!({}), Some("\"\"")));
        let wrapped = r#""{\"q\":1}""#;
        assert_eq!(parse_arguments(wrapped), read(json!({"q": 1}), Some(wrapped)));
    }

    #[test]
    fn a_number_that_is_written_in_a_way_of_its_own_keeps_its_text() {
        for text in [r#"{"version":1.10}"#, r#"{"n":[1e3]}"#, r#"{"id":123456789012345678901234}"#] {
            assert_eq!(parse_arguments(text).raw.as_deref(), Some(text));
        }
        for text in [r#"{"n":1.5}"#, r#"{"n":-7}"#, r#"{"n":1234567890123456789}"#, r#"{"s":"1.10","t":"\\"}"#] {
            assert_eq!(parse_arguments(text).raw, None, "{text}");
        }
    }

    #[test]
    fn what_can_mean_only_one_thing_is_mended_and_marked() {
        let text = "{\"text\":\"a\nb\",}";
        let args = json!({"text": "a\nb"});
        assert_eq!(parse_arguments(text), Arguments { is_repaired: true, ..read(args, Some(text)) });
    }

    #[test]
    fn what_cannot_be_read_is_kept_and_reported_with_its_place() {
        for text in
            [r#"{"pa"#, r#"{"a":1}{"a":2}"#, "[1]", "7", r#""plain""#, r#"{"a":1,"a":2}"#, r#"{"a":{"b":1,"b":1}}"#]
        {
            let Arguments { args, raw, error, is_repaired } = parse_arguments(text);
            assert_eq!(
                (args, raw.as_deref(), error.is_some(), is_repaired),
                (json!({}), Some(text), true, false),
                "{text}"
            );
        }
        let error = parse_arguments(r#"{"a":1,"a":2}"#).error.unwrap();
        assert!(error.contains("`a` is given twice"), "{error}");
        let error = parse_arguments(r#"{"path": "#).error.unwrap();
        assert!(error.contains("line 1 column 8"), "{error}");
    }
}

//! Mends what models commonly get wrong in arguments, by the tool's schema. What fits is never touched.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{MAX_ARGUMENT_BYTES, parse_strict};
use crate::ir::ToolDef;

/// Mends arguments: text that stands for a number, a truth value, a list or an object where one is wanted; JSON in JSON;
/// null for no arguments or for an argument that may be left out; a number where text is wanted. Says whether anything
/// was mended. What cannot be mended stays as it is, for `validate` to name.
pub fn coerce(def: &ToolDef, args: Value) -> (Value, bool) {
    fit(&def.parameters, args, None)
}

/// As [`coerce`], with the text that the arguments were read from: a number where text is wanted keeps its very digits
/// (`1.10`, `007`-like ids past 2⁶⁴).
pub fn coerce_text(def: &ToolDef, args: Value, raw: &str) -> (Value, bool) {
    fit(&def.parameters, args, Some(raw))
}

fn fit(schema: &Value, value: Value, raw: Option<&str>) -> (Value, bool) {
    let kinds = Kinds::of(schema);
    match value {
        Value::Object(fields) => fit_fields(schema, fields, raw),
        Value::Array(items) => fit_items(schema, items, raw),
        Value::String(text) if !kinds.takes("string") => match from_text(&kinds, &text) {
            Some(read) => (fit(schema, read, None).0, true),
            None => (Value::String(text), false),
        },
        Value::Number(number) if kinds.takes("string") && !kinds.takes("number") && !kinds.takes("integer") => {
            (Value::String(raw.map_or_else(|| number.to_string(), |raw| raw.trim().to_owned())), true)
        }
        Value::Number(number) if kinds.takes("integer") && !kinds.takes("number") => match whole(&number) {
            Some(whole) => (whole, true),
            None => (Value::Number(number), false),
        },
        Value::Null if kinds.takes("object") && !kinds.takes("null") => (Value::Object(Map::new()), true),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => (other, false),
    }
}

fn fit_fields(schema: &Value, fields: Map<String, Value>, raw: Option<&str>) -> (Value, bool) {
    let raw_fields: BTreeMap<String, &RawValue> =
        raw.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let mut adjusted = false;
    let mut fitted = Map::new();
    for (name, value) in fields {
        let Some(wanted) = properties.and_then(|properties| properties.get(&name)) else {
            fitted.insert(name, value);
            continue;
        };
        if value.is_null() && !is_required(&name) && !Kinds::of(wanted).takes("null") {
            adjusted = true;
            continue;
        }
        let (value, changed) = fit(wanted, value, raw_fields.get(&name).map(|raw| raw.get()));
        adjusted |= changed;
        fitted.insert(name, value);
    }
    (Value::Object(fitted), adjusted)
}

fn fit_items(schema: &Value, items: Vec<Value>, raw: Option<&str>) -> (Value, bool) {
    let Some(wanted) = schema.get("items") else { return (Value::Array(items), false) };
    let raw_items: Vec<&RawValue> = raw.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
    let mut adjusted = false;
    let items = items.into_iter().enumerate().map(|(index, item)| {
        let (item, changed) = fit(wanted, item, raw_items.get(index).map(|raw| raw.get()));
        adjusted |= changed;
        item
    });
    let items = items.collect();
    (Value::Array(items), adjusted)
}

/// What a text stands for where something else is wanted.
fn from_text(kinds: &Kinds<'_>, text: &str) -> Option<Value> {
    let trimmed = text.trim();
    if kinds.takes("boolean") && trimmed.eq_ignore_ascii_case("true") {
        return Some(Value::Bool(true));
    }
    if kinds.takes("boolean") && trimmed.eq_ignore_ascii_case("false") {
        return Some(Value::Bool(false));
    }
    if kinds.takes("object") && (trimmed.is_empty() || trimmed == "null") {
        return Some(Value::Object(Map::new()));
    }
    let read = parse_strict(trimmed, MAX_ARGUMENT_BYTES).ok()?;
    let is_wanted = match &read {
        Value::Number(number) => {
            kinds.takes("number") || (kinds.takes("integer") && (!number.is_f64() || whole(number).is_some()))
        }
        Value::Array(_) => kinds.takes("array"),
        Value::Object(_) => kinds.takes("object"),
        // JSON that was encoded more than once.
        Value::String(inner) => return (inner.len() < text.len()).then(|| from_text(kinds, inner)).flatten(),
        Value::Null | Value::Bool(_) => false,
    };
    is_wanted.then_some(read)
}

/// A whole number that was written with a decimal point.
#[expect(clippy::cast_possible_truncation, reason = "checked: whole and within 2⁵³")]
pub(super) fn whole(number: &serde_json::Number) -> Option<Value> {
    if !number.is_f64() {
        return None;
    }
    let value = number.as_f64()?;
    (value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0).then(|| Value::from(value as i64))
}

/// The JSON types that a schema takes; one without `type` takes all.
struct Kinds<'schema>(Option<&'schema Value>);

impl<'schema> Kinds<'schema> {
    fn of(schema: &'schema Value) -> Self {
        Self(schema.get("type"))
    }

    fn takes(&self, kind: &str) -> bool {
        match self.0 {
            None => true,
            Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
            Some(one) => one == kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::sample;
    use super::super::validate;
    use super::*;

    #[test]
    fn what_fits_is_never_touched() {
        for args in [
            json!({"path": "5", "count": 5, "ratio": 1.0, "deep": true, "names": ["true"], "edits": [{"old": "[]"}]}),
            json!({"path": "{\"a\": 1}"}),
            json!({"path": "null", "unknown": "5"}),
        ] {
            assert_eq!(coerce(&sample(), args.clone()), (args, false));
        }
    }

    #[test]
    fn common_slips_are_mended() {
        for (given, mended) in [
            (json!({"path": "a", "count": "5"}), json!({"path": "a", "count": 5})),
            (json!({"path": "a", "count": 5.0}), json!({"path": "a", "count": 5})),
            (json!({"path": "a", "ratio": " 1.5 "}), json!({"path": "a", "ratio": 1.5})),
            (json!({"path": "a", "deep": "True"}), json!({"path": "a", "deep": true})),
            (json!({"path": "a", "names": "[\"x\"]"}), json!({"path": "a", "names": ["x"]})),
            (
                json!({"path": "a", "edits": "[{\"old\": \"x\", \"all\": \"true\"}]"}),
                json!({"path": "a", "edits": [{"old": "x", "all": true}]}),
            ),
            (json!("{\"path\": \"a\"}"), json!({"path": "a"})),
            (json!("\"{\\\"path\\\": \\\"a\\\"}\""), json!({"path": "a"})),
            (json!({"path": "a", "count": null}), json!({"path": "a"})),
            (json!({"path": 5}), json!({"path": "5"})),
            (json!(null), json!({})),
            (json!(""), json!({})),
        ] {
            assert_eq!(coerce(&sample(), given.clone()), (mended, true), "{given}");
        }
    }

    #[test]
    fn a_number_as_text_keeps_its_digits() {
        let raw = r#"{"path": 1.10, "names": [12345678901234567890123, 2.0]}"#;
        let args = serde_json::from_str(raw).unwrap();
        assert_eq!(
            coerce_text(&sample(), args, raw),
            (json!({"path": "1.10", "names": ["12345678901234567890123", "2.0"]}), true)
        );
    }

    #[test]
    fn what_cannot_be_mended_stays_for_the_schema_to_name() {
        for args in [
            json!({"path": "a", "count": "five"}),
            json!({"path": "a", "count": 1.5}),
            json!({"path": "a", "count": "true"}),
            json!({"path": "a", "names": "x"}),
            json!({"path": null}),
            json!({"path": true}),
            json!({"path": "a", "edits": "[{\"old\": \"x\", \"old\": \"y\"}]"}),
            json!([]),
        ] {
            let (after, adjusted) = coerce(&sample(), args.clone());
            assert_eq!((&after, adjusted), (&args, false));
            assert!(validate(&sample(), &after).is_err(), "{args}");
        }
    }
}

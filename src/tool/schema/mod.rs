//! Arguments against their schema: what a model is told, and what is let through.
//!
//! Pure. `strict` reads the text, `coerce` mends what a model commonly gets wrong, `validate` names the field that does
//! not fit, and `canonical` is the form that is hashed.

mod canonical;
mod coerce;
mod strict;

use std::sync::OnceLock;

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ir::{Code, Failure, ToolDef};

pub use canonical::{args_hash, canonical};
pub use coerce::{coerce, coerce_text};
pub use strict::{MAX_ARGUMENT_BYTES, parse_strict};

/// The schema of an argument struct as models get it: everything in one piece, no title, no dialect.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        // The struct's own documentation is for readers of the source; the tool has its description beside the schema.
        object.remove("description");
    }
    simplify(&mut schema);
    schema
}

/// Takes out what only confuses models and the providers' own schema dialects: number formats, and null beside the type
/// of an argument that may be left out.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("format");
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            if let Some(kind) = fields.get_mut("type")
                && let Value::Array(kinds) = kind
            {
                kinds.retain(|one| one != "null");
                if let [only] = kinds.as_slice() {
                    *kind = only.clone();
                }
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Takes arguments that have passed the schema apart.
///
/// # Errors
/// `INVALID_ARGUMENTS` when they do not fit after all.
pub(super) fn arguments<T: DeserializeOwned>(args: &Value) -> Result<T, Failure> {
    // To a schema 1.0 is a whole number, to the type it is none.
    T::deserialize(args).or_else(|_| T::deserialize(&with_whole_numbers(args))).map_err(|error| {
        let place = culprit::<T>(args, &error).map_or_else(String::new, |name| format!(" `{name}` does not:"));
        Failure::new(Code::InvalidArguments, format!("The arguments do not fit the tool:{place} {error}."))
    })
}

/// Every whole number that is written with a decimal point, without it.
fn with_whole_numbers(args: &Value) -> Value {
    match args {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), with_whole_numbers(value))).collect::<Value>()
        }
        Value::Array(items) => items.iter().map(with_whole_numbers).collect(),
        Value::Number(number) => coerce::whole(number).unwrap_or_else(|| args.clone()),
        Value::Null | Value::Bool(_) | Value::String(_) => args.clone(),
    }
}

/// The field that does not fit: the one without which the complaint is another.
fn culprit<T: DeserializeOwned>(args: &Value, error: &serde_json::Error) -> Option<String> {
    let fields = args.as_object()?;
    let is_at_fault = |name: &&String| {
        let mut without = fields.clone();
        without.shift_remove(*name);
        let without = with_whole_numbers(&Value::Object(without));
        T::deserialize(&without).err().is_none_or(|other| other.to_string() != error.to_string())
    };
    fields.keys().find(is_at_fault).cloned()
}

/// Whether arguments fit a tool's schema.
///
/// # Errors
/// `INVALID_ARGUMENTS` with a sentence that names the field and what it takes.
pub fn validate(def: &ToolDef, args: &Value) -> Result<(), Failure> {
    let compiled = built_in().iter().find(|(parameters, _)| *parameters == def.parameters);
    if let Some((_, validator)) = compiled {
        return check(def, validator, args);
    }
    let validator = jsonschema::validator_for(&def.parameters).map_err(|error| {
        Failure::new(Code::InvalidArguments, format!("The tool `{}` has a broken schema: {error}.", def.name))
    })?;
    check(def, &validator, args)
}

/// The validators of the built-in tools, compiled once.
fn built_in() -> &'static [(Value, Validator)] {
    static COMPILED: OnceLock<Vec<(Value, Validator)>> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let definitions = super::all().into_iter().map(|tool| tool.definition().parameters);
        definitions
            .filter_map(|parameters| {
                let validator = jsonschema::validator_for(&parameters).ok()?;
                Some((parameters, validator))
            })
            .collect()
    })
}

fn check(def: &ToolDef, validator: &Validator, args: &Value) -> Result<(), Failure> {
    let Some(error) = validator.iter_errors(args).next() else { return Ok(()) };
    let place = field(error.instance_path().as_str());
    // The kinds are the schema crate's own, open-ended list; most say it well themselves.
    let sentence = if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
        let unexpected = unexpected.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        format!("{unexpected} is not an argument of {}{}; it takes {}.", def.name, below(&place), taken(def, &place))
    } else if let ValidationErrorKind::Required { property } = error.kind() {
        format!("`{}`{} is missing.", property.as_str().unwrap_or_default(), below(&place))
    } else if place.is_empty() {
        format!("The arguments of {} do not fit: {error}.", def.name)
    } else {
        // The value itself may be megabytes long.
        format!("`{place}` does not fit: {}.", error.masked_with("the value"))
    };
    Err(Failure::new(Code::InvalidArguments, sentence))
}

/// A JSON pointer as one writes it in a program: `/edits/0/old_text` is `edits[0].old_text`.
fn field(pointer: &str) -> String {
    let mut field = String::new();
    for part in pointer.split('/').skip(1) {
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            field.push('[');
            field.push_str(part);
            field.push(']');
        } else {
            if !field.is_empty() {
                field.push('.');
            }
            field.push_str(&part.replace("~1", "/").replace("~0", "~"));
        }
    }
    field
}

fn below(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" in `{place}`") }
}

/// The names that the object at this place takes.
fn taken(def: &ToolDef, place: &str) -> String {
    let mut schema = &def.parameters;
    for part in place.split(['.', '[']).filter(|part| !part.is_empty()) {
        let key = if part.ends_with(']') { Some("items") } else { None };
        let next = match key {
            Some(key) => schema.get(key),
            None => schema.get("properties").and_then(|properties| properties.get(part)),
        };
        let Some(next) = next else { break };
        schema = next;
    }
    let names = schema.get("properties").and_then(Value::as_object);
    names.map_or_else(String::new, |names| names.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::{RiskLevel, ToolCategory};

    /// A tool with one argument of every kind.
    pub(crate) fn sample() -> ToolDef {
        ToolDef {
            name: "sample".into(),
            description: String::new(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "count": {"type": "integer", "minimum": 1},
                    "ratio": {"type": "number"},
                    "deep": {"type": "boolean"},
                    "names": {"type": "array", "items": {"type": "string"}},
                    "edits": {"type": "array", "items": {
                        "type": "object",
                        "properties": {"old": {"type": "string"}, "all": {"type": "boolean"}},
                        "required": ["old"],
                        "additionalProperties": false,
                    }},
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
            category: ToolCategory::Custom,
            risk_level: RiskLevel::Low,
            requires_permission: false,
            timeout_ms: 1,
        }
    }

    #[test]
    fn the_answer_names_the_field() {
        let refused = |args: Value| {
            let failure = validate(&sample(), &args).unwrap_err();
            assert_eq!(failure.code, Code::InvalidArguments);
            failure.message
        };
        assert_eq!(validate(&sample(), &json!({"path": "a", "count": 2, "edits": [{"old": ""}]})), Ok(()));
        assert_eq!(refused(json!({})), "`path` is missing.");
        assert_eq!(
            refused(json!({"path": "a", "pat": 1})),
            "`pat` is not an argument of sample; it takes `path`, `count`, `ratio`, `deep`, `names`, `edits`."
        );
        assert_eq!(refused(json!({"path": "a", "edits": [{}]})), "`old` in `edits[0]` is missing.");
        assert_eq!(
            refused(json!({"path": "a", "edits": [{"old": "x", "new": "y"}]})),
            "`new` is not an argument of sample in `edits[0]`; it takes `old`, `all`."
        );
        assert_eq!(
            refused(json!({"path": "a", "count": "x"})),
            "`count` does not fit: the value is not of type \"integer\"."
        );
        assert!(refused(json!({"path": "a", "count": 0})).starts_with("`count` does not fit: "));
        assert!(refused(json!([])).starts_with("The arguments of sample do not fit: "));
    }

    #[test]
    fn the_gate_takes_no_other_type() {
        for args in [json!({"path": 5}), json!({"path": "a", "deep": "true"}), json!("{\"path\":\"a\"}"), json!(null)] {
            assert!(validate(&sample(), &args).is_err(), "{args}");
        }
    }
}

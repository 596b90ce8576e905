//! The tools of the server's agent: two that run on the person's computer, three that run here. Definitions, and where a
//! call goes; the running on the computer is `service`'s.

use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use crate::ir::{RiskLevel, ToolCategory, ToolDef, UnixMs};
use crate::link::wire::CallError;

use super::service::error;

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On the person's computer, under this name.
    Desktop(&'static str),
    /// In this process.
    Here(Own),
}

/// A tool of the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    Clock,
    Arithmetic,
    Handbook,
}

/// Every tool that the model is offered, whether or not a computer is connected.
pub(super) fn all() -> Vec<(ToolDef, Place)> {
    let path =
        |of: &str| json!({"type": "string", "description": format!("Path of the {of}, relative to the workspace.")});
    vec![
        (
            definition(
                "workspace_list_files",
                "Lists a folder of the workspace on the person's computer: names, kinds and sizes, at most 500. `.` is \
                 the workspace itself.",
                ToolCategory::Filesystem,
                &json!({"path": path("folder")}),
                &["path"],
            ),
            Place::Desktop("workspace.list_files"),
        ),
        (
            definition(
                "workspace_read_file",
                "Reads a text file of the workspace on the person's computer. The person is asked each time and may \
                 say no.",
                ToolCategory::Filesystem,
                &json!({
                    "path": path("file"),
                    "max_bytes": {
                        "type": "integer", "minimum": 1, "maximum": 1_048_576,
                        "description": "The largest file to read, in bytes. Default: 1048576.",
                    },
                }),
                &["path"],
            ),
            Place::Desktop("workspace.read_file"),
        ),
        (
            definition(
                "clock",
                "Tells the time now.",
                ToolCategory::Calculation,
                &json!({"time_zone": {
                    "type": "string", "description": "IANA name, for example Asia/Shanghai. Default: UTC.",
                }}),
                &[],
            ),
            Place::Here(Own::Clock),
        ),
        (
            definition(
                "arithmetic",
                "Calculates with two numbers.",
                ToolCategory::Calculation,
                &json!({
                    "operation": {"type": "string", "enum": ["add", "subtract", "multiply", "divide"],
                        "description": "What to do with them."},
                    "a": {"type": "number", "description": "The first number."},
                    "b": {"type": "number", "description": "The second number."},
                }),
                &["operation", "a", "b"],
            ),
            Place::Here(Own::Arithmetic),
        ),
        (
            definition(
                "handbook",
                "Gives the handbook of this service: what it can do, what it may see of the person's computer, and \
                 what the codes of refused calls mean.",
                ToolCategory::Search,
                &json!({}),
                &[],
            ),
            Place::Here(Own::Handbook),
        ),
    ]
}

fn definition(name: &str, description: &str, category: ToolCategory, properties: &Value, required: &[&str]) -> ToolDef {
    ToolDef {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
        category,
        risk_level: RiskLevel::Safe,
        requires_permission: false,
        timeout_ms: 10_000,
    }
}

/// Runs a tool of the server's own, with arguments that fit its schema.
pub(super) fn run(own: Own, arguments: &Value, now: UnixMs) -> Result<Value, CallError> {
    let invalid = |message: &str| error("INVALID_ARGUMENTS", message);
    match own {
        Own::Clock => {
            let name = arguments.get("time_zone").and_then(Value::as_str).unwrap_or("UTC");
            let zone = TimeZone::get(name).map_err(|_unknown| invalid("There is no time zone of that name."))?;
            let at =
                Timestamp::from_millisecond(now.0).map_err(|_unknown| invalid("The clock of the server is wrong."))?;
            let at = at.to_zoned_datetime(zone);
            Ok(
                json!({"time": at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(), "weekday": at.strftime("%A").to_string()}),
            )
        }
        Own::Arithmetic => {
            let operand =
                |name| arguments.get(name).and_then(Value::as_f64).ok_or_else(|| invalid("Two numbers are needed."));
            let (a, b) = (operand("a")?, operand("b")?);
            let result = match arguments.get("operation").and_then(Value::as_str) {
                Some("add") => a + b,
                Some("subtract") => a - b,
                Some("multiply") => a * b,
                Some("divide") if b == 0.0 => return Err(invalid("Nothing can be divided by zero.")),
                Some("divide") => a / b,
                Some(_) | None => return Err(invalid("Say what to do: add, subtract, multiply or divide.")),
            };
            if !result.is_finite() {
                return Err(invalid("The result is larger than a number can be."));
            }
            Ok(json!({"result": result}))
        }
        Own::Handbook => Ok(json!({"text": include_str!("../../assets/server/handbook.md")})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own_tools_do_what_they_say() {
        let noon = UnixMs(1_800_000_000_000);
        assert_eq!(
            run(Own::Clock, &json!({"time_zone": "Asia/Shanghai"}), noon).unwrap(),
            json!({"time": "2027-01-15T16:00:00+08:00", "weekday": "Friday"})
        );
        assert_eq!(run(Own::Clock, &json!({"time_zone": "Mars/Base"}), noon).unwrap_err().code, "INVALID_ARGUMENTS");
        let calculate = |operation: &str, a: f64, b: f64| {
            run(Own::Arithmetic, &json!({"operation": operation, "a": a, "b": b}), noon)
        };
        assert_eq!(calculate("divide", 7.0, 2.0).unwrap(), json!({"result": 3.5}));
        assert_eq!(calculate("divide", 7.0, 0.0).unwrap_err().code, "INVALID_ARGUMENTS");
        assert_eq!(calculate("multiply", 1e300, 1e300).unwrap_err().code, "INVALID_ARGUMENTS");
        let text = run(Own::Handbook, &json!({}), noon).unwrap();
        assert!(text["text"].as_str().unwrap().contains("SENSITIVE_PATH_DENIED"));
    }

    #[test]
    fn the_names_are_ones_that_every_model_may_call() {
        for (def, _) in all() {
            assert!(def.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{}", def.name);
        }
    }
}

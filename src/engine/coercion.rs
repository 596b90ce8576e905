//! Mends what models commonly get wrong in arguments, by the tool's schema, before the gate sees them. The gate itself
//! mends nothing.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::ir::{CallMark, ToolCall, ToolDef};
use crate::tool::Tool;
use crate::tool::schema::{MAX_ARGUMENT_BYTES, coerce, coerce_text, parse_strict, validate};

/// What is kept of arguments that are refused for their size, in bytes.
const KEPT_BYTES: usize = 4 * 1024;
/// The problem of such arguments.
const OVERSIZED: &str = "they are longer than may be read";

/// Adjusts a model's arguments where the schema of the tool that it names says how.
pub(super) fn coerce_call(call: &mut ToolCall, tools: &[Arc<dyn Tool>]) {
    if let Some(tool) = tools.iter().find(|tool| tool.definition().name == call.name) {
        mend_arguments(call, &tool.definition());
    }
}

/// Adjusts a model's arguments where the schema says how, and keeps the model's own text beside them. Arguments that
/// parse and fit are never touched, but for a whole number that is written `1.0`.
pub fn mend_arguments(call: &mut ToolCall, def: &ToolDef) {
    let fits = call.parse_error.is_none() && validate(def, &call.args).is_ok();
    let (args, is_adjusted) = match call.raw_args.as_ref().filter(|_| !fits) {
        Some(raw) => {
            let read =
                if call.parse_error.is_some() { parse_strict(raw, MAX_ARGUMENT_BYTES) } else { Ok(call.args.clone()) };
            let Ok(read) = read else { return };
            coerce_text(def, read, raw)
        }
        None => coerce(def, call.args.clone()),
    };
    if is_adjusted && validate(def, &args).is_ok() {
        let before = call.args.to_string();
        call.raw_args.get_or_insert(before);
        call.args = args;
        call.parse_error = None;
        call.marks.push(CallMark::Adjusted);
    }
}

/// Leaves only the beginning of arguments that are refused for their size, so that no row and no history carries them.
/// Says whether they are such.
pub(super) fn shorten_oversized(call: &mut ToolCall) -> bool {
    if call.parse_error.as_deref() == Some(OVERSIZED) {
        return true;
    }
    let args = call.args.to_string();
    let raw_bytes = call.raw_args.as_ref().map_or(0, String::len);
    if raw_bytes.max(args.len()) <= MAX_ARGUMENT_BYTES {
        return false;
    }
    let whole = call.raw_args.take().unwrap_or(args);
    let bytes = whole.len();
    let beginning = whole.get(..whole.floor_char_boundary(KEPT_BYTES)).unwrap_or_default();
    call.raw_args = Some(format!("{beginning}… [{bytes} bytes in all]"));
    call.args = Value::Object(Map::new());
    call.parse_error = Some(OVERSIZED.to_owned());
    true
}

//! Mends what models commonly get wrong in arguments, by the tool's schema, before the gate sees them. The gate itself
//! mends nothing.

use std::sync::Arc;

use crate::ir::ToolCall;
use crate::tool::Tool;
use crate::tool::schema::{MAX_ARGUMENT_BYTES, coerce, coerce_text, parse_strict, validate};

/// Adjusts a model's arguments where the schema says how, and keeps the model's own text beside them. Arguments that
/// parse and fit are never touched.
pub(super) fn coerce_call(call: &mut ToolCall, tools: &[Arc<dyn Tool>]) {
    let Some(tool) = tools.iter().find(|tool| tool.definition().name == call.name) else { return };
    let def = tool.definition();
    if call.parse_error.is_none() && validate(&def, &call.args).is_ok() {
        return;
    }
    let (args, is_adjusted) = match &call.raw_args {
        Some(raw) => {
            let read =
                if call.parse_error.is_some() { parse_strict(raw, MAX_ARGUMENT_BYTES) } else { Ok(call.args.clone()) };
            let Ok(read) = read else { return };
            coerce_text(&def, read, raw)
        }
        None => coerce(&def, call.args.clone()),
    };
    if is_adjusted && validate(&def, &args).is_ok() {
        let before = call.args.to_string();
        call.raw_args.get_or_insert(before);
        call.args = args;
        call.parse_error = None;
    }
}

//! Whether a model runs in circles: the same call with the same arguments and the same result, three times in a row.

use serde_json::Value;

use crate::ir::{ToolCall, ToolResult};

/// How often the same may come in a row before the turn is stopped.
const TIMES: u32 = 3;

/// The last call and how often it came in a row.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    last: Option<(String, Value, Value)>,
    times: u32,
}

impl Repetition {
    /// Takes one call with its result in; true when it has come too often in a row.
    pub(super) fn note(&mut self, call: &ToolCall, result: &ToolResult) -> bool {
        let now = (call.name.clone(), call.args.clone(), lasting(&result.result));
        if self.last.as_ref() == Some(&now) {
            self.times += 1;
        } else {
            self.last = Some(now);
            self.times = 1;
        }
        self.times >= TIMES
    }
}

/// A result without what differs between two runs that gave the same.
fn lasting(result: &Value) -> Value {
    let mut result = result.clone();
    if let Value::Object(fields) = &mut result {
        fields.remove("duration");
    }
    result
}

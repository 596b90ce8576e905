//! The audit's lines about a call: what was decided on which grounds, and how it ended. Never what was in it.

use serde_json::Value;

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, CallRecord, CallStatus, Network, Preview};
use crate::policy::{Origin, one_line};

use super::Caller;

/// Characters of a tool's and of a model's name.
const LONGEST_NAME: usize = 200;

/// The line that is committed with the row that begins a call, and with the one that refuses it.
pub(super) fn decided(caller: &Caller, row: &CallRecord) -> AuditEntry {
    line(caller, AuditAct::Decided, row)
}

/// The line that is committed with the row that ends a call.
pub(super) fn ended(caller: &Caller, row: &CallRecord, value: &Value, duration_ms: u64) -> AuditEntry {
    let code = value.get("code").and_then(Value::as_str);
    let outcome = code.unwrap_or(state(row.status)).to_owned();
    if row.status == CallStatus::Denied {
        return AuditEntry { outcome, ..decided(caller, row) };
    }
    let has_run = row.started_at.is_some();
    AuditEntry {
        outcome,
        duration_ms: has_run.then_some(duration_ms),
        bytes: bytes(value).filter(|_| has_run),
        ..line(caller, AuditAct::Ended, row)
    }
}

/// The line about a yes that is not used.
pub(super) fn unused(caller: &Caller, row: &CallRecord, act: AuditAct) -> AuditEntry {
    line(caller, act, row)
}

fn line(caller: &Caller, act: AuditAct, row: &CallRecord) -> AuditEntry {
    let origin = match caller.origin {
        Origin::Model => AuditOrigin::Model,
        Origin::CommandLine => AuditOrigin::CommandLine,
        Origin::Server => AuditOrigin::Server,
    };
    let entry = AuditEntry::of_call(caller.shared.now(), act, origin, row);
    // Both may be anybody's words: a line of the audit stays a line.
    let model = one_line(&caller.model, LONGEST_NAME).into_owned();
    let tool = one_line(&entry.tool, LONGEST_NAME).into_owned();
    // The tick for the network is part of what was approved, and so of the line.
    let has_network = matches!(&row.preview, Some(Preview::Command(shown)) if shown.network == Network::Allowed);
    let detail = if has_network { "network".to_owned() } else { entry.detail };
    AuditEntry { model, tool, detail, ..entry }
}

fn state(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Pending => "pending",
        CallStatus::Waiting => "waiting",
        CallStatus::Running => "running",
        CallStatus::Succeeded => "succeeded",
        CallStatus::Failed => "failed",
        CallStatus::Denied => "denied",
        CallStatus::Cancelled => "cancelled",
        CallStatus::Unknown => "unknown",
    }
}

/// How much went through the call, as far as its result tells.
fn bytes(value: &Value) -> Option<u64> {
    let number = |name: &str| value.get(name).and_then(Value::as_u64);
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(|text| text.len() as u64);
    number("bytesWritten").or_else(|| number("size")).or_else(|| {
        let (stdout, stderr) = (text("stdout"), text("stderr"));
        stdout.or(stderr).map(|_| stdout.unwrap_or(0) + stderr.unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_are_what_was_written_read_or_printed() {
        assert_eq!(bytes(&json!({"bytesWritten": 7, "size": 9})), Some(7));
        assert_eq!(bytes(&json!({"size": 9, "content": "…"})), Some(9));
        assert_eq!(bytes(&json!({"stdout": "abc", "stderr": "de"})), Some(5));
        assert_eq!(bytes(&json!({"entries": []})), None);
    }
}

//! One call of a server at the gate, and what its outcome is over the link.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::ir::{CallId, CallStatus, Code, LinkCallState, LinkEnd, ToolCall, UptimeMs};
use crate::link::machine::{CallNumber, error_of};
use crate::link::wire::{CallRequest, OfferedTool};
use crate::policy::{Masker, Origin};
use crate::port::TurnOptions;
use crate::tool::{SERVER_TOOL_VERSION, Tool, for_servers};

use super::super::gate::{self, Caller, Outcome, Place, Remote};
use super::super::shared::{Shared, unique};
use super::super::transcript::Transcript;
use super::FromGate;

/// What servers are told of the tools.
pub(super) fn offered() -> Vec<OfferedTool> {
    let offer = |tool: &Arc<dyn Tool>| {
        let def = tool.definition();
        OfferedTool {
            name: def.name,
            version: SERVER_TOOL_VERSION.to_owned(),
            risk: if def.requires_permission { "medium" } else { "low" }.to_owned(),
            requires_confirmation: def.requires_permission,
            timeout_ms: def.timeout_ms,
            input_schema: def.parameters,
        }
    };
    for_servers().iter().map(offer).collect()
}

/// A call that came over a connection.
pub(super) struct Incoming {
    /// Its number at the connection.
    pub(super) number: CallNumber,
    pub(super) request: Box<CallRequest>,
    /// Not to be begun after this.
    pub(super) until: UptimeMs,
    /// The server's address.
    pub(super) server: String,
    /// Its place among the calls of the connection.
    pub(super) place: Place,
    pub(super) connection: mpsc::Sender<FromGate>,
}

/// Brings a call through the gate and reports how it ended.
pub(super) async fn pass(
    shared: Arc<Shared>,
    transcript: Arc<Transcript>,
    incoming: Incoming,
    cancel: CancellationToken,
) {
    let Incoming { number, request, until, server, place, connection } = incoming;
    let call = ToolCall {
        // The server's own name for it is no name in this computer's books.
        id: CallId::new(unique("call_")),
        name: request.tool_name,
        args: request.arguments,
        iteration: 0,
        timestamp: shared.now(),
        raw_args: None,
        parse_error: None,
        marks: Vec::new(),
    };
    let caller = Arc::new(Caller {
        shared,
        transcript,
        options: Arc::new(TurnOptions::default()),
        origin: Origin::Server,
        message: None,
        model: server.clone(),
        model_words: String::new(),
        is_for_elsewhere: true,
        given_bytes: AtomicU64::default(),
        notices: None,
        remote: Some(Remote { server, number, until, connection: connection.clone() }),
    });
    let outcome = Box::pin(gate::pass(caller, call, place, cancel)).await;
    // A connection that is gone has left the call's place to the next start.
    connection.send(FromGate::Ended { number, end: end_of(&outcome) }).await.ok();
}

/// The outcome in the words of the link. Nothing of this computer but what the tool gave is in it.
fn end_of(outcome: &Outcome) -> LinkEnd {
    let code = outcome.result.code();
    let is = |wanted: Code| code == Some(wanted.as_str());
    let state = match outcome.row.status {
        CallStatus::Succeeded => LinkCallState::Succeeded,
        CallStatus::Denied => LinkCallState::Rejected,
        CallStatus::Cancelled => LinkCallState::Cancelled,
        CallStatus::Failed if is(Code::TimedOut) => LinkCallState::TimedOut,
        CallStatus::Failed if is(Code::RequestExpired) => LinkCallState::Rejected,
        CallStatus::Failed => LinkCallState::Failed,
        // It was stopped and went on all the same: reading has no effect, but how it ended is not known.
        CallStatus::Unknown | CallStatus::Pending | CallStatus::Waiting | CallStatus::Running => LinkCallState::Unknown,
    };
    let has_worked = state == LinkCallState::Succeeded;
    // Nobody answered, or the screen was locked: over the link that is a no.
    let code = match (outcome.row.status, code) {
        (CallStatus::Denied, Some(code)) if code == Code::RequestExpired.as_str() => {
            Code::ConfirmationRejected.as_str()
        }
        (_, code) => code.unwrap_or(Code::IoError.as_str()),
    };
    LinkEnd {
        state,
        output: has_worked.then(|| without_secrets(outcome.result.result.clone())),
        error: (!has_worked).then(|| error_of(code)),
        duration_ms: outcome.result.duration_ms,
    }
}

/// What leaves for a server: without the word that it worked, and with keys and tokens masked.
fn without_secrets(mut output: Value) -> Value {
    if let Some(fields) = output.as_object_mut() {
        fields.shift_remove("success");
    }
    let mut masker = Masker::default();
    let once = masker.value("output", &output);
    // A value may stand before the name that shows what it is.
    masker.again_in("output", &once)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_tools_are_offered_with_their_schemas_and_no_others() {
        let offered = offered();
        let told = offered.iter().map(|tool| (tool.name.as_str(), tool.risk.as_str(), tool.requires_confirmation));
        let expected = [("workspace.list_files", "low", false), ("workspace.read_file", "medium", true)];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        assert!(offered.iter().all(|tool| tool.timeout_ms == 10_000 && tool.version == "1"));
        assert!(offered.iter().all(|tool| tool.input_schema["additionalProperties"] == json!(false)));
    }

    #[test]
    fn keys_in_a_file_are_masked_before_they_leave() {
        let key = format!("sk-proj-{}", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY".repeat(2));
        let output = json!({"success": true, "content": format!("key = {key}\n"), "size": 9});
        let shown = without_secrets(output);
        assert!(!shown.to_string().contains(&key), "{shown}");
        assert_eq!((&shown["size"], shown.get("success")), (&json!(9), None));
    }

    #[test]
    fn key_blocks_names_and_repeated_passwords_are_masked_before_they_leave() {
        let line = "MIIEowIBAAKCAQEA7bq9f2Kx0Zy1Xw3Vu5Ts7Rq9Po1Nm3Lk5Ji7Hg9Fe1Dc3Ba";
        let body: Vec<String> = (0..20).map(|n| line.chars().cycle().skip(n * 7 % 60).take(64).collect()).collect();
        let block = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", body.join("\n"));
        let content = format!("it is Tr0ub4dor&3\n{block}\npassword=Tr0ub4dor&3\n");
        let key = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6");
        let entries = json!([{"name": format!("backup {key}.txt"), "kind": "file"}]);
        let shown = without_secrets(json!({"success": true, "content": content, "entries": entries})).to_string();
        for secret in [body[3].as_str(), &key, "Tr0ub4dor&3"] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
        assert!(shown.contains("it is «masked: password #1»") && shown.contains("backup «masked: API key #1».txt"));
    }
}

//! `kill -9` of the server between any two of its steps of a call, by its own hand: what the next process makes of it, and that
//! the device runs the call once, whatever comes again.

use serde_json::{Value, json};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use super::device::Device;
use super::operator::Operator;
use crate::support::own_hand::{kill_itself, step_of};

/// The test below that is the server, the step at which it ends, and its arguments, one a line.
pub(crate) const KILLED: &str = "device_link::step::in_the_server_that_is_killed";
pub(crate) const STEP: &str = "NOD_TEST_SERVER_STEP";
pub(crate) const ARGUMENTS: &str = "NOD_TEST_SERVER_ARGUMENTS";

/// In their order.
const STEPS: [&str; 5] = ["begun", "dispatched", "recorded", "told", "acknowledged"];

/// Ends this process at a step.
struct Killer {
    step: String,
}

impl<S: Subscriber> Layer<S> for Killer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "nod::link" && step_of(event) == self.step {
            kill_itself();
        }
    }
}

/// The server that is killed; for any other start of this test it does nothing.
#[test]
fn in_the_server_that_is_killed() {
    let Ok(step) = std::env::var(STEP) else { return };
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Killer { step })).unwrap();
    let arguments = std::env::var(ARGUMENTS).unwrap();
    nod::server::run_with(arguments.lines().map(Into::into), |_caller| {});
}

/// A device that runs a call once and keeps its result until it is acknowledged, as the desktop does.
#[derive(Default)]
struct Record {
    runs: usize,
    request: Option<Value>,
    is_acknowledged: bool,
}

impl Record {
    /// Answers what comes until the connection ends, or the result is acknowledged.
    async fn play(&mut self, device: &mut Device) {
        while let Some(text) = device.next_text().await {
            let frame: Value = serde_json::from_str(&text).unwrap();
            if frame["type"] == "tool.call.request" {
                if self.request.is_none() {
                    self.runs += 1;
                }
                self.request = Some(frame);
                self.send_owed(device).await;
            } else if frame["type"] == "tool.call.ack" {
                self.is_acknowledged = true;
                return;
            }
        }
    }

    async fn send_owed(&self, device: &mut Device) {
        if let Some(request) = &self.request {
            device.answer(request, "succeeded", json!({"entries": [1]})).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_step_a_call_runs_once_and_ends_as_it_did() {
    let call = json!({"device_id": "laptop", "tool_name": "workspace.list_files", "arguments": {"path": "."},
                      "tool_call_id": "t:c"});
    for step in STEPS {
        let operator = Operator::new();
        let token = operator.token("ann");
        let server = operator.serve_killed_at(step);
        let mut device = Device::connect(&server, &server.client(&token), "laptop").await;
        let _cut_off = server.client(&token).dev_call_cut_off(call.clone());
        let mut record = Record::default();
        record.play(&mut device).await;
        assert!(server.ended_by_kill(), "{step}");

        let server = operator.serve(&["--dev"]);
        let client = server.client(&token);
        // What was written down stays as it is; what was not is unknown, and nothing is sent by itself.
        let left = client.call("t:c").await;
        let is_written = !matches!(step, "begun" | "dispatched");
        let expected = if is_written { "succeeded" } else { "unknown" };
        assert_eq!((&left["status"], record.runs == 1 || !is_written), (&json!(expected), true), "{step}: {left}");
        let mut device = Device::connect(&server, &client, "laptop").await;
        if record.request.is_some() && !record.is_acknowledged {
            record.send_owed(&mut device).await;
            record.play(&mut device).await;
            assert_eq!(client.call("t:c").await["status"], "succeeded", "{step}");
        }
        // Asked for once more: what has a result gives it, and what never ran runs now.
        let again = client.dev_call(call.clone());
        if record.request.is_none() {
            record.play(&mut device).await;
        }
        let again = again.await.unwrap();
        assert_eq!((&again["status"], &again["output"]), (&json!("succeeded"), &json!({"entries": [1]})), "{step}");
        assert_eq!((record.runs, record.is_acknowledged), (1, true), "{step}");
    }
}

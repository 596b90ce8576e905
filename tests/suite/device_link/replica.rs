//! Two replicas of one server on PostgreSQL and NATS: the device on one, the caller on the other, either killed in the middle.

use serde_json::{Value, json};

use super::client::Client;
use super::device::{Device, ticket};
use super::operator::{Operator, Server};
use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line};

struct Replicas {
    operator: Operator,
    first: Server,
    second: Server,
    at_first: Client,
    at_second: Client,
}

fn replicas(options: &[&str]) -> Option<Replicas> {
    let operator = Operator::shared()?;
    let token = operator.token("ann");
    let options = [&["--dev"], options].concat();
    let (first, second) = (operator.serve(&options), operator.serve(&options));
    let (at_first, at_second) = (first.client(&token), second.client(&token));
    Some(Replicas { operator, first, second, at_first, at_second })
}

fn list(id: &str) -> Value {
    json!({"device_id": "laptop", "tool_name": "workspace.list_files", "arguments": {"path": "."}, "tool_call_id": id})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_finds_the_device_on_the_other_replica() {
    let Some(Replicas { operator: _operator, first, second, at_first, at_second }) = replicas(&[]) else { return };
    let mut device = Device::connect(&first, &at_first, "laptop").await;
    let call = at_second.dev_call(list("t:c"));
    let request = device.request().await;
    device.answer(&request, "succeeded", json!({"entries": [1]})).await;
    device.acknowledged(&request).await;
    let answer = call.await.unwrap();
    assert_eq!((&answer["status"], &answer["output"]), (&json!("succeeded"), &json!({"entries": [1]})));
    assert_eq!(answer["executions"].as_array().map(Vec::len), Some(1));
    assert_eq!(at_first.call("t:c").await, answer);

    // A developer at either takes it back.
    let call = at_second.dev_call(list("t:back"));
    let request = device.request().await;
    assert_eq!(at_second.post("/api/desktop/dev/tool-calls/t:back/cancel", json!({})).await.0, 202);
    assert_eq!(device.until("tool.call.cancel").await["tool_call_id"], "t:back");
    device.answer(&request, "cancelled", json!({"code": "CANCELLED_BY_SERVER", "message": ""})).await;
    assert_eq!(call.await.unwrap()["status"], "cancelled");

    // Both replicas know of both calls; nobody is connected to the second.
    assert!(second.client("").get("/metrics").await.1.as_str().unwrap().contains("nod_devices_connected 0\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_counts_once_among_all_and_the_newer_connection_wins() {
    let Some(Replicas { operator: _operator, first, second, at_first, .. }) = replicas(&[]) else { return };
    let pass = ticket(&at_first, "laptop").await;
    let mut older = Device::silent(&second, &pass, "laptop", None).await;
    older.send(older.registration()).await;
    assert_eq!(older.next().await["type"], "device.registered");
    let mut again = Device::silent(&first, &pass, "laptop", None).await;
    assert_eq!(again.closed().await, Some(4401));
    let _newer = Device::connect(&first, &at_first, "laptop").await;
    assert_eq!(older.closed().await, Some(4409));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_devices_replica_is_killed_in_the_middle_of_a_call() {
    let Some(Replicas { operator: _operator, first, second, at_first, at_second }) = replicas(&[]) else { return };
    let mut device = Device::connect(&first, &at_first, "laptop").await;
    let call = at_second.dev_call(list("t:c"));
    let request = device.request().await;
    first.kill();
    assert_eq!(device.closed().await, None);
    // Nobody says so, the device does not come back yet: the second replica finds out by itself.
    let answer = call.await.unwrap();
    assert_eq!(
        (&answer["status"], &answer["error"]["code"]),
        (&json!("unknown"), &json!("RESULT_UNKNOWN")),
        "{answer}"
    );
    let mut device = Device::connect(&second, &at_second, "laptop").await;
    device.answer(&request, "succeeded", json!({"entries": [1]})).await;
    device.acknowledged(&request).await;
    let ended = at_second.call("t:c").await;
    assert_eq!((&ended["status"], ended["executions"].as_array().map(Vec::len)), (&json!("succeeded"), Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_device_comes_back_to_the_other_replica_before_anybody_noticed() {
    let Some(Replicas { operator: _operator, first, second, at_first, at_second }) = replicas(&[]) else { return };
    let mut device = Device::connect(&first, &at_first, "laptop").await;
    let call = at_second.dev_call(list("t:c"));
    let request = device.request().await;
    first.kill();
    let mut device = Device::connect(&second, &at_second, "laptop").await;
    assert_eq!(call.await.unwrap()["status"], "unknown", "who waits on the older connection hears that it is gone");
    device.answer(&request, "succeeded", json!({"entries": [1]})).await;
    device.acknowledged(&request).await;
    assert_eq!(at_second.call("t:c").await["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_waiting_replica_is_killed_and_the_result_is_kept_all_the_same() {
    let Some(Replicas { operator, first, second, at_first, at_second }) = replicas(&[]) else { return };
    let mut device = Device::connect(&first, &at_first, "laptop").await;
    let _cut_off = at_second.dev_call_cut_off(list("t:early"));
    let early = device.request().await;
    let _cut_off = at_second.dev_call_cut_off(list("t:late"));
    let late = device.request().await;
    second.kill();
    device.answer(&early, "succeeded", json!({"entries": []})).await;
    device.acknowledged(&early).await;
    // The first replica buries what the second left behind.
    assert_eq!(at_first.call_in("t:late", "unknown").await["error"]["code"], "SERVER_RESTARTED");
    assert_eq!(at_first.call("t:early").await["status"], "succeeded");
    device.answer(&late, "succeeded", json!({"entries": []})).await;
    device.acknowledged(&late).await;
    let ended = at_first.call("t:late").await;
    assert_eq!((&ended["status"], ended["executions"].as_array().map(Vec::len)), (&json!("succeeded"), Some(1)));
    drop(operator);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_asked_to_end_tells_the_others() {
    let Some(Replicas { operator: _operator, first, second: _second, at_first, at_second }) = replicas(&[]) else {
        return;
    };
    let mut device = Device::connect(&first, &at_first, "laptop").await;
    let call = at_second.dev_call(list("t:c"));
    device.request().await;
    assert!(first.terminate().success());
    assert_eq!(device.closed().await, Some(1001));
    assert_eq!(call.await.unwrap()["error"]["code"], "RESULT_UNKNOWN");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_on_one_replica_uses_the_device_on_the_other_and_its_stop_reaches_it() {
    let model = OllamaServer::start();
    let url = model.url();
    let options = ["--provider", "ollama", "--base-url", &url, "--model", "qwen3:8b"];
    let Some(Replicas { operator: _operator, first, second: _second, at_first, at_second }) = replicas(&options) else {
        return;
    };
    let mut device = Device::connect(&first, &at_first, "laptop").await;
    let read = || Reply::stream([calls_line(&[("workspace_read_file", json!({"path": "a"}))]), done_line("stop")]);
    model.answer(read());
    model.answer(Reply::stream([text_line("It says a."), done_line("stop")]));
    // Prepared at one, run at the other.
    let turn = at_first.prepare(json!({"input": "Read a", "device_id": "laptop"})).await;
    let events = at_second.run(&turn).await;
    let request = device.request().await;
    device.answer(&request, "succeeded", json!({"content": "a"})).await;
    assert_eq!(events.rest().await.last().unwrap()["type"], "RUN_FINISHED");

    model.answer(read());
    let turn = at_first.prepare(json!({"input": "Read a", "device_id": "laptop"})).await;
    let events = at_second.run(&turn).await;
    let request = device.request().await;
    drop(events);
    assert_eq!(device.until("tool.call.cancel").await["tool_call_id"], request["tool_call_id"]);
    let id = request["tool_call_id"].as_str().unwrap();
    assert_eq!(at_first.call_in(id, "unknown").await["error"]["code"], "RUN_CANCELLED");
}

//! One call, without a model: written down, dispatched, answered, acknowledged, and what the ledger says at each end.

use serde_json::{Value, json};

use super::client::Client;
use super::device::{Device, result};
use super::operator::{Operator, Server};

/// A server in developer mode with one user.
struct Setting {
    operator: Operator,
    server: Server,
    client: Client,
}

fn setting(operator: Operator, options: &[&str]) -> Setting {
    let token = operator.token("ann");
    let server = operator.serve(&[&["--dev"], options].concat());
    let client = server.client(&token);
    Setting { operator, server, client }
}

fn list(id: &str) -> Value {
    json!({"device_id": "laptop", "tool_name": "workspace.list_files", "arguments": {"path": "."}, "tool_call_id": id})
}

fn statuses(call: &Value) -> Vec<&str> {
    call["executions"].as_array().unwrap().iter().map(|execution| execution["status"].as_str().unwrap()).collect()
}

async fn a_call_goes_out_and_comes_back_and_is_kept(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &[]);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(list("t:c1"));
    let request = device.request().await;
    for (field, value) in [
        ("tool_call_id", json!("t:c1")),
        ("attempt_no", json!(1)),
        ("device_id", json!("laptop")),
        ("tool_name", json!("workspace.list_files")),
        ("tool_version", json!("1")),
        ("arguments", json!({"path": "."})),
        // SHA-256 of {"path":"."}.
        ("arguments_hash", json!("4df0c8b2b5be3e7b0b5a9e4c7a3f")),
        ("requires_confirmation", json!(false)),
        ("execution_timeout_ms", json!(10_000)),
    ] {
        if field == "arguments_hash" {
            assert_eq!(request[field].as_str().map(str::len), Some(64), "{request}");
            continue;
        }
        assert_eq!(request[field], value, "{request}");
    }
    assert_eq!(client.call("t:c1").await["status"], "dispatched", "written down before it is answered");
    let output = json!({"entries": [{"name": "README.md", "kind": "file", "size": 12}]});
    device.answer(&request, "succeeded", output.clone()).await;
    device.acknowledged(&request).await;
    let answer = call.await.unwrap();
    assert_eq!((&answer["status"], &answer["output"]), (&json!("succeeded"), &output), "{answer}");
    let execution = &answer["executions"][0];
    assert_eq!(
        (&execution["attempt_no"], &execution["status"], &execution["connection_id"]),
        (&json!(1), &json!("succeeded"), &json!(device.connection_id))
    );
    assert_eq!(answer, client.call("t:c1").await);
}

async fn each_end_that_a_device_reports_is_kept_as_it_is(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &[]);
    let mut device = Device::connect(&server, &client, "laptop").await;
    for status in ["failed", "rejected", "cancelled", "timed_out", "unknown"] {
        let id = format!("t:{status}");
        let call = client.dev_call(list(&id));
        let request = device.request().await;
        device.answer(&request, status, json!({"code": "CODE", "message": "words"})).await;
        device.acknowledged(&request).await;
        let answer = call.await.unwrap();
        assert_eq!(
            (&answer["status"], &answer["error"], statuses(&answer)),
            (&json!(status), &json!({"code": "CODE", "message": "words"}), vec![status])
        );
    }
}

async fn the_same_call_again_is_answered_from_the_ledger(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &[]);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(list("t:c"));
    let request = device.request().await;
    device.answer(&request, "succeeded", json!({"entries": []})).await;
    let first = call.await.unwrap();
    device.acknowledged(&request).await;
    assert_eq!(client.dev_call(list("t:c")).await.unwrap(), first);
    let mut other = list("t:c");
    other["arguments"]["path"] = "src".into();
    let conflict = client.dev_call(other).await.unwrap();
    assert_eq!(conflict["error"]["code"], "IDEMPOTENCY_CONFLICT");
    assert_eq!(client.call("t:c").await, first, "untouched by that");
    // Neither of the two was sent: the next thing that the device hears is the answer to its own sign of life.
    device.send(json!({"type": "heartbeat"})).await;
    assert_eq!(device.next().await["type"], "heartbeat");
}

async fn what_cannot_be_sent_is_not_written_down(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &[]);
    let answer = client.dev_call(list("t:offline")).await.unwrap();
    assert_eq!((&answer["error"]["code"], &answer["executions"]), (&json!("DEVICE_OFFLINE"), &json!([])));
    let mut device = Device::connect(&server, &client, "laptop").await;
    let mut write = list("t:write");
    write["tool_name"] = "workspace.write_file".into();
    let answer = client.dev_call(write).await.unwrap();
    assert_eq!((&answer["error"]["code"], &answer["executions"]), (&json!("TOOL_NOT_AVAILABLE"), &json!([])));
    // The whole list replaces the former.
    device.send(json!({"type": "tool.registry.sync", "tools": []})).await;
    device.send(json!({"type": "heartbeat"})).await;
    device.until("heartbeat").await;
    let answer = client.dev_call(list("t:gone")).await.unwrap();
    assert_eq!(answer["error"]["code"], "TOOL_NOT_AVAILABLE");
    for id in ["t:offline", "t:write", "t:gone"] {
        assert_eq!(client.get(&format!("/api/tool-calls/{id}")).await.0, 404, "{id}");
    }
}

async fn a_call_that_takes_too_long_is_taken_back_and_a_late_result_still_counts(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &["--tool-wait-seconds", "1"]);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(list("t:slow"));
    let request = device.request().await;
    let answer = call.await.unwrap();
    assert_eq!((&answer["status"], &answer["error"]["code"]), (&json!("timed_out"), &json!("TIMED_OUT")), "{answer}");
    let cancel = device.until("tool.call.cancel").await;
    assert_eq!((&cancel["tool_call_id"], &cancel["reason"]), (&json!("t:slow"), &json!("TIMED_OUT")));
    device.answer(&request, "succeeded", json!({"entries": []})).await;
    device.acknowledged(&request).await;
    let late = client.call("t:slow").await;
    assert_eq!((&late["status"], statuses(&late)), (&json!("succeeded"), vec!["succeeded"]));
    assert_eq!(late["error"], Value::Null);
    // What is final stays.
    device.answer(&request, "failed", json!({"code": "LATE", "message": ""})).await;
    device.acknowledged(&request).await;
    assert_eq!(client.call("t:slow").await, late);
}

async fn a_lost_connection_leaves_unknown_at_once_and_the_report_replaces_it(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &[]);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(list("t:lost"));
    let request = device.request().await;
    device.vanish();
    let answer = call.await.unwrap();
    assert_eq!((&answer["status"], &answer["error"]["code"]), (&json!("unknown"), &json!("RESULT_UNKNOWN")));
    let mut device = Device::connect(&server, &client, "laptop").await;
    device.answer(&request, "succeeded", json!({"entries": []})).await;
    device.acknowledged(&request).await;
    let call = client.call("t:lost").await;
    assert_eq!((&call["status"], statuses(&call)), (&json!("succeeded"), vec!["succeeded"]));
}

async fn an_unknown_call_is_sent_again_under_its_own_id(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &[]);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(list("t:again"));
    let first = device.request().await;
    device.vanish();
    call.await.unwrap();
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(list("t:again"));
    let second = device.request().await;
    assert_eq!(
        (&second["tool_call_id"], &second["attempt_no"], &second["arguments_hash"]),
        (&json!("t:again"), &json!(2), &first["arguments_hash"])
    );
    device.answer(&second, "succeeded", json!({"entries": []})).await;
    let answer = call.await.unwrap();
    assert_eq!((&answer["status"], statuses(&answer)), (&json!("succeeded"), vec!["unknown", "succeeded"]));
}

async fn two_who_wait_for_one_call_both_get_its_one_result(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &[]);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let first_call = client.dev_call(list("t:twice"));
    let first = device.request().await;
    let second_call = client.dev_call(list("t:twice"));
    let second = device.request().await;
    assert_ne!(first["execution_id"], second["execution_id"]);
    // A desktop that runs it already does not answer the second.
    device.answer(&first, "succeeded", json!({"entries": [1]})).await;
    for call in [first_call, second_call] {
        let answer = call.await.unwrap();
        assert_eq!((&answer["status"], &answer["output"]), (&json!("succeeded"), &json!({"entries": [1]})));
        assert_eq!(statuses(&answer), ["succeeded", "succeeded"], "no dispatch is left open");
    }
}

async fn a_developer_takes_a_call_back(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &[]);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(list("t:back"));
    let request = device.request().await;
    assert_eq!(client.post("/api/desktop/dev/tool-calls/t:back/cancel", json!({})).await.0, 202);
    assert_eq!(device.until("tool.call.cancel").await["tool_call_id"], "t:back");
    device.answer(&request, "cancelled", json!({"code": "CANCELLED_BY_SERVER", "message": ""})).await;
    assert_eq!(call.await.unwrap()["status"], "cancelled");
    assert_eq!(client.post("/api/desktop/dev/tool-calls/t:none/cancel", json!({})).await.0, 404);
}

async fn nobody_sees_or_ends_another_users_calls(operator: Operator) {
    let Setting { operator, server, client } = setting(operator, &[]);
    let stranger = server.client(&operator.token("bob"));
    let mut device = Device::connect(&server, &client, "laptop").await;
    let mut foreign = Device::connect(&server, &stranger, "laptop").await;
    let call = client.dev_call(list("t:own"));
    let request = device.request().await;
    foreign.answer(&request, "succeeded", json!("forged")).await;
    let error = foreign.next().await;
    assert_eq!((&error["code"], &error["ref_event_id"]), (&json!("CALL_NOT_KNOWN"), &json!("e4")), "{error}");
    assert_eq!(stranger.get("/api/tool-calls/t:own").await.0, 404);
    assert_eq!(stranger.post("/api/desktop/dev/tool-calls/t:own/cancel", json!({})).await.0, 404);
    // The same id of another user is a call of its own.
    let other = stranger.dev_call(list("t:own"));
    let own = foreign.request().await;
    foreign.answer(&own, "succeeded", json!("theirs")).await;
    assert_eq!(other.await.unwrap()["output"], "theirs");
    // Nor does a device answer for an execution that there never was.
    let mut made_up = result(&request, "succeeded", json!("forged"));
    made_up["execution_id"] = "x".into();
    device.send(made_up).await;
    assert_eq!(device.until("protocol.error").await["code"], "CALL_NOT_KNOWN");
    device.answer(&request, "succeeded", json!("mine")).await;
    assert_eq!(call.await.unwrap()["output"], "mine");
}

async fn a_megabyte_comes_through_whole(operator: Operator) {
    let Setting { operator: _operator, server, client } = setting(operator, &[]);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(list("t:large"));
    let request = device.request().await;
    // Six bytes each on the wire: what a megabyte of control characters costs as JSON.
    let text = "\u{1}".repeat(1 << 20);
    device.answer(&request, "succeeded", json!({"content": text})).await;
    device.acknowledged(&request).await;
    assert_eq!(call.await.unwrap()["output"]["content"].as_str().map(str::len), Some(1 << 20));
}

on_both! {
    a_call_goes_out_and_comes_back_and_is_kept,
    each_end_that_a_device_reports_is_kept_as_it_is,
    the_same_call_again_is_answered_from_the_ledger,
    what_cannot_be_sent_is_not_written_down,
    a_call_that_takes_too_long_is_taken_back_and_a_late_result_still_counts,
    a_lost_connection_leaves_unknown_at_once_and_the_report_replaces_it,
    an_unknown_call_is_sent_again_under_its_own_id,
    two_who_wait_for_one_call_both_get_its_one_result,
    a_developer_takes_a_call_back,
    nobody_sees_or_ends_another_users_calls,
    a_megabyte_comes_through_whole,
}

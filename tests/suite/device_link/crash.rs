//! `kill -9` of the server at every step of a call: what the next process makes of it, with the device's own record.

use serde_json::{Value, json};

use super::device::Device;
use super::operator::Operator;

fn list(id: &str) -> Value {
    json!({"device_id": "laptop", "tool_name": "workspace.list_files", "arguments": {"path": "."}, "tool_call_id": id})
}

async fn killed_while_a_call_is_out_it_becomes_unknown_and_the_report_ends_it(operator: Operator) {
    let token = operator.token("ann");
    let server = operator.serve(&["--dev"]);
    let address = server.address.to_string();
    let mut device = Device::connect(&server, &server.client(&token), "laptop").await;
    let _cut_off = server.client(&token).dev_call_cut_off(list("t:c"));
    let request = device.request().await;
    server.kill();
    assert_eq!(device.closed().await, None);

    let server = operator.serve_at(&address, &["--dev"]);
    let client = server.client(&token);
    let left = client.call_in("t:c", "unknown").await;
    assert_eq!(
        (&left["status"], &left["error"]["code"], &left["executions"][0]["status"]),
        (&json!("unknown"), &json!("SERVER_RESTARTED"), &json!("unknown")),
        "{left}"
    );
    let mut device = Device::connect(&server, &client, "laptop").await;
    device.answer(&request, "succeeded", json!({"entries": []})).await;
    device.acknowledged(&request).await;
    let ended = client.call("t:c").await;
    assert_eq!((&ended["status"], &ended["output"]), (&json!("succeeded"), &json!({"entries": []})));
    assert_eq!(ended["executions"].as_array().map(Vec::len), Some(1), "nothing was sent again by itself");
}

async fn killed_after_the_acknowledgement_the_result_is_there(operator: Operator) {
    let token = operator.token("ann");
    let server = operator.serve(&["--dev"]);
    let mut device = Device::connect(&server, &server.client(&token), "laptop").await;
    let _cut_off = server.client(&token).dev_call_cut_off(list("t:c"));
    let request = device.request().await;
    device.answer(&request, "succeeded", json!({"entries": [1]})).await;
    device.acknowledged(&request).await;
    server.kill();
    let server = operator.serve(&["--dev"]);
    let client = server.client(&token);
    assert_eq!(client.call("t:c").await["status"], "succeeded");
    // A device that never heard the acknowledgement sends it again and is acknowledged again.
    let mut device = Device::connect(&server, &client, "laptop").await;
    device.answer(&request, "succeeded", json!({"entries": [1]})).await;
    device.acknowledged(&request).await;
    assert_eq!(client.dev_call(list("t:c")).await.unwrap()["output"], json!({"entries": [1]}));
}

async fn killed_at_any_moment_an_acknowledged_result_is_never_lost(operator: Operator) {
    let token = operator.token("ann");
    // The same calls again and again; the device answers as fast as it can and is cut off in the middle.
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..6 {
        let server = operator.serve(&["--dev"]);
        let client = server.client(&token);
        for id in &acknowledged {
            assert_eq!(client.call(id).await["status"], "succeeded", "{id}");
        }
        let mut device = Device::connect(&server, &client, "laptop").await;
        let ids: Vec<String> = (0..40).map(|number| format!("t:{round}-{number}")).collect();
        let calls: Vec<_> = ids.iter().map(|id| client.dev_call_cut_off(list(id))).collect();
        let before = acknowledged.len();
        while acknowledged.len() < before + 5 + round * 3 {
            let frame = device.next().await;
            if frame["type"] == "tool.call.request" {
                device.answer(&frame, "succeeded", json!({"entries": []})).await;
            } else if frame["type"] == "tool.call.ack" {
                acknowledged.push(frame["tool_call_id"].as_str().unwrap().to_owned());
            }
        }
        server.kill();
        drop(calls);
        acknowledged.extend(device.acknowledged_before_the_end().await);
    }
    let server = operator.serve(&["--dev"]);
    let client = server.client(&token);
    for id in &acknowledged {
        let call = client.call(id).await;
        assert_eq!((&call["status"], call["executions"].as_array().map(Vec::len)), (&json!("succeeded"), Some(1)));
    }
}

async fn asked_to_end_it_takes_calls_back_and_closes_its_doors(operator: Operator) {
    let token = operator.token("ann");
    let server = operator.serve(&["--dev"]);
    let client = server.client(&token);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call_cut_off(list("t:c"));
    let request = device.request().await;
    let ended = tokio::task::spawn_blocking(move || server.terminate());
    let cancel = device.until("tool.call.cancel").await;
    assert_eq!(cancel["tool_call_id"], request["tool_call_id"]);
    assert_eq!(device.closed().await, Some(1001));
    assert!(ended.await.unwrap().success());
    call.await.unwrap();
    let server = operator.serve(&[]);
    let left = server.client(&token).call("t:c").await;
    assert_eq!((&left["status"], &left["error"]["code"]), (&json!("unknown"), &json!("RUN_CANCELLED")));
}

on_both! {
    killed_while_a_call_is_out_it_becomes_unknown_and_the_report_ends_it,
    killed_after_the_acknowledgement_the_result_is_there,
    killed_at_any_moment_an_acknowledged_result_is_never_lost,
    asked_to_end_it_takes_calls_back_and_closes_its_doors,
}

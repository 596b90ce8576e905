//! Many devices at once: every call comes back once and right, and a device costs the server little. The short form of what
//! `packaging/load.sh` does at full length, built for release.
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use super::device::{Device, result};
use super::operator::Operator;

/// Devices that connect at the same time.
const AT_ONCE: usize = 32;

const DEVICES: usize = 100;
const SECONDS: u64 = 3;
const CALLS_A_SECOND: u64 = 50;

#[tokio::test(flavor = "multi_thread")]
async fn many_devices_and_many_calls_and_none_is_lost_or_doubled() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&["--dev"]);
    let client = server.client(&token);

    #[cfg(target_os = "linux")]
    let empty_kib = server.status_kib("VmRSS:");
    let mut connected = Vec::new();
    for group in (0..DEVICES).collect::<Vec<_>>().chunks(AT_ONCE) {
        let opening = group.iter().map(|number| {
            let (server, client) = (&server, &client);
            async move { Device::connect(server, client, &format!("device-{number}")).await }
        });
        connected.extend(futures_util::future::join_all(opening).await);
    }
    #[cfg(target_os = "linux")]
    let idle_kib = server.status_kib("VmRSS:");

    // Each device answers what it is asked and gives a sign of life, until it is told that all is over.
    let over = CancellationToken::new();
    let mut serving = JoinSet::new();
    for device in connected {
        serving.spawn(play(device, over.clone()));
    }

    let mut ticks = tokio::time::interval(Duration::from_millis(1_000 / CALLS_A_SECOND));
    let mut calls = JoinSet::new();
    let mut answered = 0;
    let wanted = SECONDS * CALLS_A_SECOND;
    for number in 0..wanted {
        ticks.tick().await;
        let client = client.clone();
        let device = format!("device-{}", number.wrapping_mul(7919) % DEVICES as u64);
        calls.spawn(async move {
            let id = format!("load:{number}");
            let (status, call) = client
                .post(
                    "/api/desktop/dev/tool-calls",
                    json!({"device_id": device, "tool_name": "workspace.list_files", "arguments": {"path": id},
                           "tool_call_id": id}),
                )
                .await;
            assert_eq!(status, 200, "{call}");
            assert_eq!((&call["status"], &call["output"]), (&json!("succeeded"), &json!({"of": id})), "{call}");
            assert_eq!(call["executions"].as_array().map(Vec::len), Some(1), "{call}");
        });
        while let Some(ended) = calls.try_join_next() {
            ended.unwrap();
            answered += 1;
        }
    }
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
        answered += 1;
    }
    over.cancel();
    let mut ran = 0;
    while let Some(count) = serving.join_next().await {
        ran += count.unwrap();
    }
    assert_eq!((answered, ran), (wanted, wanted), "each call ran once, on the device that it was for");
    let figures = client.get("/metrics").await.1;
    assert!(figures.as_str().unwrap().contains(&format!("{{outcome=\"succeeded\"}} {wanted}\n")), "{figures}");

    #[cfg(target_os = "linux")]
    {
        let per_device = (idle_kib - empty_kib) as f64 / DEVICES as f64;
        // A debug build and a busy machine are allowed a lot; a leak or a copy of everything for each device is not.
        assert!(per_device < 200.0, "{per_device} KiB a device");
    }
}

/// Answers every request until it is told to stop; how many there were.
async fn play(mut device: Device, over: CancellationToken) -> u64 {
    let mut ran = 0;
    let mut beat = tokio::time::interval(Duration::from_secs(15));
    loop {
        let frame = tokio::select! {
            frame = device.next_text() => frame,
            _ = beat.tick() => {
                device.send(json!({"type": "heartbeat"})).await;
                continue;
            }
            () = over.cancelled() => break,
        };
        let frame: Value = serde_json::from_str(&frame.expect("nobody is closed")).unwrap();
        if frame["type"] == "tool.call.request" {
            ran += 1;
            device.send(result(&frame, "succeeded", json!({"of": frame["tool_call_id"]}))).await;
        }
    }
    device.send_raw(Message::Close(None)).await;
    ran
}

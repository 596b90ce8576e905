//! Many devices at once: every call comes back once and right, and what a device costs the server. A short form by itself;
//! `packaging/load.sh` runs it at full length, built for release, and prints the figures.
#![expect(clippy::disallowed_methods, reason = "a test measures time")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use super::device::{Device, result};
use super::operator::{Operator, Server};

/// Devices that connect at the same time.
const AT_ONCE: usize = 32;

struct Load {
    devices: usize,
    seconds: u64,
    calls_a_second: u64,
}

fn load() -> Load {
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
    };
    Load {
        devices: usize::try_from(number("NOD_LOAD_DEVICES", 100)).unwrap(),
        seconds: number("NOD_LOAD_SECONDS", 3),
        calls_a_second: number("NOD_LOAD_CALLS_A_SECOND", 50),
    }
}

/// What the server has used so far: resident memory in KiB, processor time.
#[cfg(target_os = "linux")]
fn used(server: &Server) -> (u64, Duration) {
    (server.status_kib("VmRSS:"), server.processor_time())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_devices_and_many_calls_and_none_is_lost_or_doubled() {
    let Load { devices, seconds, calls_a_second } = load();
    super::operator::raise_file_limit();
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&["--dev"]);
    let client = server.client(&token);

    #[cfg(target_os = "linux")]
    let (empty_kib, _) = used(&server);
    let mut connected = Vec::new();
    for group in (0..devices).collect::<Vec<_>>().chunks(AT_ONCE) {
        let opening = group.iter().map(|number| {
            let (server, client) = (&server, &client);
            async move { Device::connect(server, client, &format!("device-{number}")).await }
        });
        connected.extend(futures_util::future::join_all(opening).await);
    }
    #[cfg(target_os = "linux")]
    let (idle_kib, idle_time) = used(&server);

    // Each device answers what it is asked and gives a sign of life, until it is told that all is over.
    let over = CancellationToken::new();
    let mut serving = JoinSet::new();
    for device in connected {
        serving.spawn(play(device, over.clone()));
    }

    let start = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / u32::try_from(calls_a_second).unwrap());
    let mut calls = JoinSet::new();
    let mut slowest = Duration::ZERO;
    let mut answered = 0;
    let wanted = seconds * calls_a_second;
    for number in 0..wanted {
        ticks.tick().await;
        let client = client.clone();
        let device = format!("device-{}", number.wrapping_mul(7919) % devices as u64);
        calls.spawn(async move {
            let asked = Instant::now();
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
            asked.elapsed()
        });
        while let Some(took) = calls.try_join_next() {
            slowest = slowest.max(took.unwrap());
            answered += 1;
        }
    }
    while let Some(took) = calls.join_next().await {
        slowest = slowest.max(took.unwrap());
        answered += 1;
    }
    let took = start.elapsed();
    #[cfg(target_os = "linux")]
    let (busy_kib, busy_time) = used(&server);
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
        let per_device = (idle_kib - empty_kib) as f64 / devices as f64;
        let time = busy_time.checked_sub(idle_time).unwrap();
        let per_call = time.as_micros() as f64 / wanted as f64;
        let share = time.as_secs_f64() / took.as_secs_f64() * 100.0;
        println!("{devices} devices connected, {wanted} calls in {:.0} s, none lost, none doubled", took.as_secs_f64());
        println!("memory: {empty_kib} KiB empty, {per_device:.1} KiB a device, {busy_kib} KiB at the end");
        println!("processor: {per_call:.0} µs a call with its HTTP, {share:.1} % of one core in all");
        println!("slowest call: {slowest:?}");
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

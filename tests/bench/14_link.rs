//! Benchmark 14: what the device link costs a server. Processor time of the server's process for one frame in and one frame
//! out on a device's connection, beside a plain `tokio-tungstenite` echo of the same bytes in the same run; for a whole call
//! with its ledger; and the memory of a device that says nothing. Both servers are this program, started again.
//!
//! A call is: kept, sent, its result kept, whoever waits woken, acknowledged. It is made over HTTP here, which answers with
//! the call as the ledger has it then; what the same answers cost without a call, asked for again, is taken off. An agent
//! makes its calls without either.

mod link;

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use link::{Client, Server, Socket, UNDER_WAY, connect_all, device, next, play, possible_devices, runtime};

/// Frames in one measurement.
const FRAMES: u64 = 60_000;
/// Calls in one turn of an agent, as many as it may make.
const CALLS_A_TURN: u64 = 16;
/// Calls in one measurement.
const CALLS: u64 = 12_000;
const RUNS: u64 = 3;
/// The device that is called.
const DEVICE: &str = "busy";
/// As many as the system lets this process and the server have, at most.
const DEVICES: u64 = 10_000;
/// Targets.
const MICROS_A_FRAME: f64 = 15.0;
const MICROS_A_CALL: f64 = 40.0;
const KIB_A_DEVICE: f64 = 30.0;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve" | "token") => drop(nod::server::run()),
        Some("echo") => runtime().block_on(echo()),
        _ => std::process::exit(i32::from(!runtime().block_on(measure()))),
    }
}

/// The peer: every text goes back as it came.
async fn echo() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).expect("an option");
        tokio::spawn(async move {
            let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a WebSocket");
            while let Some(Ok(message)) = socket.next().await {
                if !message.is_text() || socket.send(message).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Sends frames and reads an answer to each, a number of them under way at once. `first` is the sequence of the first.
async fn exchange(socket: &mut Socket, first: u64) {
    let heartbeat = |number: u64| {
        // As long as what the desktop sends.
        Message::text(format!(
            "{{\"event_id\":\"01a22b8e-a7fc-705d-b29b-23ef78d87419\",\"sequence\":{},\"type\":\"heartbeat\"}}",
            first + number
        ))
    };
    for group in 0..FRAMES / UNDER_WAY {
        for number in 0..UNDER_WAY {
            socket.feed(heartbeat(group * UNDER_WAY + number)).await.expect("a frame");
        }
        socket.flush().await.expect("frames");
        for _ in 0..UNDER_WAY {
            assert!(next(socket).await.contains("heartbeat"));
        }
    }
}

/// What is asked of the server.
#[derive(Clone, Copy)]
enum Asked {
    /// Calls of a device.
    Calls,
    /// The same calls once more, which have ended.
    Ended,
}

/// Asks, a number of clients at once; the server's processor time for each answer, in microseconds.
async fn ask(server: &Server, token: &str, asked: Asked) -> f64 {
    let mut least = f64::INFINITY;
    for run in 0..RUNS {
        let before = server.micros();
        let clients = (0..UNDER_WAY).map(|client| {
            let (address, token) = (server.address.clone(), token.to_owned());
            tokio::spawn(async move {
                let mut http = Client::connect(&address, &token).await;
                for number in 0..CALLS / UNDER_WAY {
                    // As the agent names them: a thread of its own for each turn, with the model's calls in it.
                    let (thread, call) = (run * CALLS + number / CALLS_A_TURN, number % CALLS_A_TURN);
                    let id = format!("{thread:012x}-{client:04x}-{DEVICE}:call_{call}");
                    let answer = match asked {
                        Asked::Calls => {
                            let body = json!({
                                "device_id": DEVICE, "tool_name": "workspace.list_files", "arguments": {"path": "."},
                                "tool_call_id": id,
                            });
                            http.post("/api/desktop/dev/tool-calls", &body).await
                        }
                        Asked::Ended => {
                            let answer = http.get(&format!("/api/tool-calls/{id}")).await;
                            serde_json::from_str(&answer).expect("JSON")
                        }
                    };
                    assert_eq!(answer["status"], "succeeded", "{answer}");
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.expect("every call is answered");
        }
        least = least.min((server.micros() - before) / CALLS as f64);
    }
    least
}

async fn measure() -> bool {
    let devices = possible_devices(DEVICES);
    let folder = std::env::temp_dir().join(format!("nod-bench-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    let database = format!("sqlite:{}", folder.join("ledger.db").display());
    let token = link::token(&database);

    println!("14  device link; processor time of the server's process, least of {RUNS} runs\n");
    let server = Server::start(&["serve", "--dev", "--listen", "127.0.0.1:0", "--database", &database]);
    let mut client = Client::connect(&server.address, &token).await;
    let mut socket = device(&server.address, &mut client, "one").await;
    let mut ours = f64::INFINITY;
    for run in 0..RUNS {
        let before = server.micros();
        exchange(&mut socket, 10 + run * FRAMES).await;
        ours = ours.min((server.micros() - before) / FRAMES as f64);
    }
    let peer = Server::start(&["echo"]);
    let (mut socket, _) = connect_async(format!("ws://{}/", peer.address)).await.expect("a WebSocket");
    let mut plain = f64::INFINITY;
    for run in 0..RUNS {
        let before = peer.micros();
        exchange(&mut socket, 10 + run * FRAMES).await;
        plain = plain.min((peer.micros() - before) / FRAMES as f64);
    }
    println!(
        "a frame in, a frame out         nod-server {ours:>6.2} µs   echo {plain:>6.2} µs   ({:.1} ×)   target {MICROS_A_FRAME} µs",
        ours / plain
    );

    let busy = device(&server.address, &mut client, DEVICE).await;
    let played = tokio::spawn(play(busy));
    let whole = ask(&server, &token, Asked::Calls).await;
    let answer = ask(&server, &token, Asked::Ended).await;
    let call = whole - answer;
    println!(
        "a call with its ledger          nod-server {call:>6.2} µs   ({whole:.2} µs with HTTP's answer, {answer:.2} µs for that alone)   \
         target {MICROS_A_CALL} µs"
    );
    played.abort();
    drop(server);

    // A fresh one: what the calls left free would hide what a device takes. It waits for signs of life that do not come.
    let patient = ["--silence-seconds", "3600"];
    let server =
        Server::start(&[&["serve", "--listen", "127.0.0.1:0", "--database", &database][..], &patient[..]].concat());
    let mut client = Client::connect(&server.address, &token).await;
    drop(device(&server.address, &mut client, "first").await);
    let empty = server.resident_kib();
    let idle = connect_all(&server, &token, devices).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let all = server.resident_kib() - empty;
    let figures = client.get("/metrics").await;
    assert!(figures.contains(&format!("nod_devices_connected {devices}\n")), "all are connected: {figures}");
    let each = all / devices as f64;
    println!(
        "{devices} devices that say nothing   {each:.1} KiB each, {:.0} MiB in all   target {KIB_A_DEVICE} KiB each",
        all / 1024.0
    );
    drop(idle);
    drop(server);
    std::fs::remove_dir_all(&folder).ok();

    let is_met = ours <= MICROS_A_FRAME && call <= MICROS_A_CALL && each <= KIB_A_DEVICE;
    println!("\n{}", if is_met { "The targets are met." } else { "A target is missed." });
    is_met
}

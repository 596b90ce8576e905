//! Benchmark 14: what the device link costs a server. Processor time of the server's process for one frame in and one frame
//! out on a device's connection, beside a plain `tokio-tungstenite` echo of the same bytes in the same run; for a whole call
//! with its ledger; and the memory of a device that says nothing. Both servers are this program, started again.
//!
//! A call is: kept, sent, its result kept, whoever waits woken, acknowledged. The server's own program makes them, as its
//! agent does; over HTTP, with what that adds, they are made too.

mod link;

use std::io::{BufRead as _, BufReader, Write as _};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use nod::server::Caller;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use link::{
    Client, LOAD, Server, Socket, Spent, UNDER_WAY, connect_all, device, next, play, possible_devices, runtime,
    use_processor,
};

/// Frames in one measurement.
const FRAMES: u64 = 60_000;
/// Calls in one turn of an agent, as many as it may make.
const CALLS_A_TURN: u64 = 16;
/// Calls in one measurement.
const CALLS: u64 = 12_800;
const RUNS: u64 = 3;
/// The devices that are called. Each has as many calls under way as its line takes; together they fill a commit.
const BUSY: [&str; 2] = ["busy", "eager"];
/// Whose it is, and what it is asked for.
const USER: &str = "bench";
const TOOL: &str = "workspace.list_files";
/// As many as the system lets this process and the server have, at most.
const DEVICES: u64 = 10_000;
/// Targets, the first for what is not done by the ledger's threads.
const MICROS_WITHOUT_LEDGER: f64 = 15.0;
const MICROS_A_CALL: f64 = 40.0;
const KIB_A_DEVICE: f64 = 30.0;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => drop(nod::server::run_with(std::env::args_os(), obey)),
        Some("token") => drop(nod::server::run()),
        Some("echo") => runtime().block_on(echo()),
        _ => {
            use_processor(LOAD);
            std::process::exit(i32::from(!runtime().block_on(measure())))
        }
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

/// A call's id as the agent names it: a thread of its own for each turn, with the model's calls in it.
fn call_id(run: u64, client: u64, device: &str, number: u64) -> String {
    let (thread, call) = (run * CALLS + number / CALLS_A_TURN, number % CALLS_A_TURN);
    format!("{thread:012x}-{client:04x}-{device}:call_{call}")
}

/// Who calls which device, and how often.
fn clients() -> impl Iterator<Item = (u64, &'static str, u64)> {
    let calls = CALLS / UNDER_WAY / BUSY.len() as u64;
    (0..UNDER_WAY).flat_map(move |client| BUSY.map(|device| (client, device, calls)))
}

/// In the server: makes the calls of a run for each line with its number, many at once, and says when all have ended.
fn obey(caller: Caller) {
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let run = line.expect("a line").parse().expect("a run");
            let clients = clients().map(|(client, device, calls)| {
                let caller = caller.clone();
                runtime.spawn(async move {
                    for number in 0..calls {
                        let (id, arguments) = (call_id(run, client, device, number), json!({"path": "."}));
                        let answer = caller.call(USER, device, id.clone(), TOOL, arguments).await.expect("a result");
                        assert_eq!(answer, json!({"entries": [id]}));
                    }
                })
            });
            for client in clients.collect::<Vec<_>>() {
                runtime.block_on(client).expect("every call is answered");
            }
            println!("done");
        }
    });
}

/// The same calls over HTTP, each answered with all that the ledger has of it.
async fn call_over_http(address: &str, token: &str, run: u64) {
    let clients = clients().map(|(client, device, calls)| {
        let (address, token) = (address.to_owned(), token.to_owned());
        tokio::spawn(async move {
            let mut http = Client::connect(&address, &token).await;
            for number in 0..calls {
                let id = call_id(run, client, device, number);
                let body =
                    json!({"device_id": device, "tool_name": TOOL, "arguments": {"path": "."}, "tool_call_id": id});
                let answer = http.post("/api/desktop/dev/tool-calls", &body).await;
                assert_eq!(answer["output"], json!({"entries": [id]}), "{answer}");
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("every call is answered");
    }
}

async fn measure() -> bool {
    let devices = possible_devices(DEVICES);
    let folder = std::env::temp_dir().join(format!("nod-bench-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    let database = format!("sqlite:{}", folder.join("ledger.db").display());
    let token = link::token(&database);

    println!("14  device link; processor time of the server's process, least of {RUNS} runs\n");
    let mut server = Server::start(&["serve", "--dev", "--listen", "127.0.0.1:0", "--database", &database]);
    let mut client = Client::connect(&server.address, &token).await;
    let mut socket = device(&server.address, &mut client, "one").await;
    let mut ours = None;
    for run in 0..RUNS {
        let before = server.spent();
        exchange(&mut socket, 10 + run * FRAMES).await;
        ours = Some(less(server.spent_since(&before, FRAMES), ours));
    }
    let peer = Server::start(&["echo"]);
    let (mut socket, _) = connect_async(format!("ws://{}/", peer.address)).await.expect("a WebSocket");
    let mut plain = None;
    for run in 0..RUNS {
        let before = peer.spent();
        exchange(&mut socket, 10 + run * FRAMES).await;
        plain = Some(less(peer.spent_since(&before, FRAMES), plain));
    }
    let (ours, plain) = (ours.expect("a run").whole, plain.expect("a run").whole);
    println!(
        "a frame in, a frame out         nod-server {ours:>6.2} µs   echo {plain:>6.2} µs   ({:.1} ×)",
        ours / plain
    );

    let mut played = JoinSet::new();
    for busy in BUSY {
        played.spawn(play(device(&server.address, &mut client, busy).await));
    }
    let (mut call, mut over_http) = (None, None);
    for run in 0..RUNS {
        let before = server.spent();
        server = tokio::task::spawn_blocking(move || {
            assert_eq!(order(&mut server, &run.to_string()), "done");
            server
        })
        .await
        .expect("all calls have ended");
        call = Some(less(server.spent_since(&before, CALLS), call));
        let before = server.spent();
        call_over_http(&server.address, &token, RUNS + run).await;
        over_http = Some(less(server.spent_since(&before, CALLS), over_http));
    }
    let (call, over_http) = (call.expect("a run"), over_http.expect("a run").whole);
    let without_ledger = call.whole - call.ledger;
    println!("a call without the ledger       nod-server {without_ledger:>6.2} µs   target {MICROS_WITHOUT_LEDGER} µs");
    println!(
        "a call with its ledger          nod-server {:>6.2} µs   target {MICROS_A_CALL} µs   ({over_http:.2} µs over HTTP)",
        call.whole
    );
    drop(played);
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

    let is_met = without_ledger <= MICROS_WITHOUT_LEDGER && call.whole <= MICROS_A_CALL && each <= KIB_A_DEVICE;
    println!("\n{}", if is_met { "The targets are met." } else { "A target is missed." });
    is_met
}

/// The one that is less: what disturbs a run only makes it longer.
fn less(one: Spent, other: Option<Spent>) -> Spent {
    other.filter(|other| other.whole < one.whole).unwrap_or(one)
}

/// Has the server's program do what a line says, and waits for the line that it answers with.
fn order(server: &mut Server, line: &str) -> String {
    writeln!(server.child.stdin.as_ref().expect("its input"), "{line}").expect("a line is written");
    let mut answer = String::new();
    let said = server.child.stdout.as_mut().expect("its output");
    BufReader::new(said).read_line(&mut answer).expect("a line");
    answer.trim().to_owned()
}

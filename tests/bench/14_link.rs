//! Benchmark 14: what the device link costs a server. Processor time of the server's process for one frame in and one frame
//! out on a device's connection, beside a plain `tokio-tungstenite` echo of the same bytes in the same run; for a whole call
//! with its ledger, over what HTTP costs alone; and the memory of a device that says nothing. Both servers are this program,
//! started again.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Frames in one measurement, and how many are under way at once.
const FRAMES: u64 = 60_000;
/// Calls in one measurement, and how many clients wait for theirs at once: their changes share commits.
const CALLS: u64 = 12_000;
const UNDER_WAY: u64 = 64;
const RUNS: u64 = 3;
/// As many as the system lets this process and the server have, at most.
const DEVICES: u64 = 10_000;
/// Open files beside the devices' own.
const SPARE_FILES: u64 = 200;
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

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads")
}

/// A server of its own; ended when dropped.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    /// Starts this program with other words, and waits for the line with its address.
    fn start(words: &[&str]) -> Self {
        let own = std::env::current_exe().expect("this program");
        let mut child =
            Command::new(own).args(words).env("NOD_LOG", "warn").stdout(Stdio::piped()).spawn().expect("a process");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let address = line.trim().rsplit(['/', ' ']).next().expect("an address").to_owned();
        Self { child, address }
    }

    /// How long it has had a processor, in microseconds.
    fn micros(&self) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("its threads");
        let nanos: u64 = tasks
            .filter_map(|task| {
                let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
                text.split_whitespace().next()?.parse::<u64>().ok()
            })
            .sum();
        nanos as f64 / 1_000.0
    }

    fn resident_kib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number")
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

/// A client with one connection that stays open.
struct Client {
    stream: TcpStream,
    token: String,
    read: Vec<u8>,
}

impl Client {
    async fn connect(address: &str, token: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("an option");
        Self { stream, token: token.to_owned(), read: Vec::new() }
    }

    /// Posts JSON and gives the JSON that comes back.
    async fn post(&mut self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.expect("a request");
        loop {
            if let Some(body) = self.whole() {
                return serde_json::from_slice(&body).expect("JSON");
            }
            let mut more = [0; 4096];
            let length = self.stream.read(&mut more).await.expect("an answer");
            assert_ne!(length, 0, "the server goes on");
            self.read.extend_from_slice(&more[..length]);
        }
    }

    /// The body of an answer that is there as a whole.
    fn whole(&mut self) -> Option<Vec<u8>> {
        let end = self.read.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
        let head = String::from_utf8_lossy(&self.read[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).expect("a length");
        let length: usize = length.trim().parse().expect("a number");
        (self.read.len() >= end + length).then(|| self.read.drain(..end + length).skip(end).collect())
    }
}

async fn device(address: &str, client: &mut Client, id: &str) -> Socket {
    let given = client.post("/api/desktop/connection-ticket", &json!({"device_id": id})).await;
    let ticket = given["ticket"].as_str().expect("a ticket");
    let (mut socket, _) =
        connect_async(format!("ws://{address}/api/desktop/ws?ticket={ticket}")).await.expect("a WebSocket");
    let registration = json!({
        "type": "device.register", "event_id": "r", "sequence": 0, "device_id": id, "instance_id": "i",
        "app_version": "0", "protocol_version": 1,
    });
    socket.send(Message::text(registration.to_string())).await.expect("registered");
    assert!(next(&mut socket).await.contains("device.registered"));
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false});
    let tool = |name: &str| {
        json!({"name": name, "version": "1", "risk": "low", "requires_confirmation": false, "timeout_ms": 10_000,
               "input_schema": path})
    };
    let tools = json!([tool("workspace.list_files"), tool("workspace.read_file")]);
    let offer = json!({"type": "tool.registry.sync", "event_id": "t", "sequence": 1, "tools": tools});
    socket.send(Message::text(offer.to_string())).await.expect("offered");
    // Taken in when the next frame is answered.
    socket.send(Message::text("{\"type\":\"heartbeat\",\"event_id\":\"h\",\"sequence\":2}")).await.expect("a frame");
    assert!(next(&mut socket).await.contains("heartbeat"));
    socket
}

async fn next(socket: &mut Socket) -> String {
    match socket.next().await {
        Some(Ok(Message::Text(text))) => text.as_str().to_owned(),
        other => panic!("no text but {other:?}"),
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

/// Answers every call of a device for as long as it is asked.
async fn play(mut socket: Socket) {
    let mut sequence = 10;
    while let Some(Ok(message)) = socket.next().await {
        let Ok(text) = message.to_text() else { continue };
        let frame: Value = serde_json::from_str(text).unwrap_or_default();
        if frame["type"] == "tool.call.request" {
            sequence += 1;
            let result = json!({
                "type": "tool.call.result", "event_id": "e", "sequence": sequence, "tool_call_id": frame["tool_call_id"],
                "execution_id": frame["execution_id"], "status": "succeeded", "output": {"entries": []}, "duration_ms": 1,
            });
            if socket.send(Message::text(result.to_string())).await.is_err() {
                return;
            }
        }
    }
}

/// Calls of a device, a number of clients at once; the server's processor time for each, in microseconds.
async fn calls(server: &Server, token: &str, device: &str, outcome: &str) -> f64 {
    let mut least = f64::INFINITY;
    for run in 0..RUNS {
        let before = server.micros();
        let clients = (0..UNDER_WAY).map(|client| {
            let (address, token) = (server.address.clone(), token.to_owned());
            let (device, outcome) = (device.to_owned(), outcome.to_owned());
            tokio::spawn(async move {
                let mut http = Client::connect(&address, &token).await;
                for number in 0..CALLS / UNDER_WAY {
                    let body = json!({
                        "device_id": device, "tool_name": "workspace.list_files", "arguments": {"path": "."},
                        "tool_call_id": format!("{device}:{run}:{client}:{number}"),
                    });
                    let answer = http.post("/api/desktop/dev/tool-calls", &body).await;
                    assert_eq!(answer["status"], outcome, "{answer}");
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

/// How many devices both processes have open files for.
fn possible_devices() -> u64 {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("open files");
    limit.maximum.map_or(DEVICES, |files| files.saturating_sub(SPARE_FILES).min(DEVICES))
}

async fn measure() -> bool {
    let devices = possible_devices();
    let folder = std::env::temp_dir().join(format!("nod-bench-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    let database = format!("sqlite:{}", folder.join("ledger.db").display());
    let own = std::env::current_exe().expect("this program");
    let added = Command::new(own).args(["token", "add", "bench", "--database", &database]).output().expect("a token");
    let said = String::from_utf8(added.stdout).expect("text");
    let token = said.split_whitespace().next_back().expect("a token").to_owned();

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

    let busy = device(&server.address, &mut client, "busy").await;
    let played = tokio::spawn(play(busy));
    let refused = calls(&server, &token, "nobody", "rejected").await;
    let whole = calls(&server, &token, "busy", "succeeded").await;
    let call = whole - refused;
    println!(
        "a call with its ledger          nod-server {call:>6.2} µs   ({whole:.2} µs with HTTP, {refused:.2} µs for HTTP and a refusal)   \
         target {MICROS_A_CALL} µs"
    );
    played.abort();
    drop(server);

    // A fresh one: what the calls left free would hide what a device takes.
    let server = Server::start(&["serve", "--listen", "127.0.0.1:0", "--database", &database]);
    let mut client = Client::connect(&server.address, &token).await;
    drop(device(&server.address, &mut client, "first").await);
    let empty = server.resident_kib();
    let mut idle = Vec::new();
    for number in 0..devices {
        idle.push(device(&server.address, &mut client, &format!("device-{number}")).await);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let all = server.resident_kib() - empty;
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

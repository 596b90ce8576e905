//! A server that is this program, started again, and who talks to it: HTTP clients and devices.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// As `nod-server` has it: this program is the server too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// How many clients are at work at once.
pub(crate) const UNDER_WAY: u64 = 64;
/// Open files beside the devices' own.
const SPARE_FILES: u64 = 200;
/// How often a device says that it is there, as the desktop does.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// What everything runs on.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads")
}

/// The server has one processor and what plays its clients has another: what a call costs is not to hang on how often they
/// change places.
const SERVER: usize = 0;
pub(crate) const LOAD: usize = 1;

/// Has this thread, and what it starts, use one processor alone. Where there is none of that number all goes as before.
pub(crate) fn use_processor(number: usize) {
    let mut only = CpuSet::new();
    only.set(number);
    sched_setaffinity(None, &only).ok();
}

/// Processor time in microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) whole: f64,
    pub(crate) ledger: f64,
}

/// A server of its own; ended when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    /// Starts this program with other words on the server's processor, and waits for the line with its address.
    pub(crate) fn start(words: &[&str]) -> Self {
        let own = program();
        let mut command = Command::new(own);
        command.args(words).env("NOD_LOG", "warn").stdin(Stdio::piped()).stdout(Stdio::piped());
        // What a thread starts has that thread's processor.
        let start = || {
            use_processor(SERVER);
            command.spawn().expect("a process")
        };
        let mut child = std::thread::scope(|scope| scope.spawn(start).join().expect("a thread"));
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("its output")).read_line(&mut line).expect("a line");
        let address = line.trim().rsplit(['/', ' ']).next().expect("an address").to_owned();
        Self { child, address }
    }

    /// How long it has had a processor: all its threads, and those of them that keep the ledger.
    pub(crate) fn spent(&self) -> Spent {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("its threads");
        let (mut whole, mut ledger) = (0, 0);
        for task in tasks {
            let task = task.expect("a thread").path();
            let read = |name: &str| std::fs::read_to_string(task.join(name)).unwrap_or_default();
            let nanos: u64 =
                read("schedstat").split_whitespace().next().map_or(0, |text| text.parse().expect("a number"));
            whole += nanos;
            if read("comm").starts_with("ledger") {
                ledger += nanos;
            }
        }
        Spent { whole: whole as f64 / 1_000.0, ledger: ledger as f64 / 1_000.0 }
    }

    /// What one of a number of things has cost since, in microseconds.
    pub(crate) fn spent_since(&self, before: &Spent, number: u64) -> Spent {
        let Spent { whole, ledger } = self.spent();
        Spent { whole: (whole - before.whole) / number as f64, ledger: (ledger - before.ledger) / number as f64 }
    }

    /// What it has in memory.
    pub(crate) fn resident_kib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number")
    }
}

/// This program; `NOD_BENCH_SERVER` names another build of it, to measure one beside the other.
fn program() -> PathBuf {
    std::env::var_os("NOD_BENCH_SERVER").map_or_else(|| std::env::current_exe().expect("this program"), PathBuf::from)
}

/// A new user's token in a database.
pub(crate) fn token(database: &str) -> String {
    let own = program();
    let added = Command::new(own).args(["token", "add", "bench", "--database", database]).output().expect("a token");
    let said = String::from_utf8(added.stdout).expect("text");
    said.split_whitespace().next_back().expect("a token").to_owned()
}

/// A client with one connection that stays open.
pub(crate) struct Client {
    stream: TcpStream,
    token: String,
    read: Vec<u8>,
}

impl Client {
    /// Connects, with a user's token.
    pub(crate) async fn connect(address: &str, token: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("an option");
        Self { stream, token: token.to_owned(), read: Vec::new() }
    }

    /// Posts JSON and gives the JSON that comes back.
    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        serde_json::from_slice(&self.ask(&request).await).expect("JSON")
    }

    /// Gets a text.
    pub(crate) async fn get(&mut self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", self.token);
        let body = self.ask(&request).await;
        String::from_utf8(body).expect("a text")
    }

    /// Sends a request and gives the body that comes back.
    async fn ask(&mut self, request: &str) -> Vec<u8> {
        self.stream.write_all(request.as_bytes()).await.expect("a request");
        loop {
            if let Some(body) = self.whole() {
                return body;
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

/// Connects a device and has it offer its tools.
pub(crate) async fn device(address: &str, client: &mut Client, id: &str) -> Socket {
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

/// Connects devices, a number of them at once.
pub(crate) async fn connect_all(server: &Server, token: &str, devices: u64) -> Vec<Socket> {
    let clients = (0..UNDER_WAY).map(|client| {
        let (address, token) = (server.address.clone(), token.to_owned());
        tokio::spawn(async move {
            let mut http = Client::connect(&address, &token).await;
            let mut sockets = Vec::new();
            for number in (client..devices).step_by(UNDER_WAY as usize) {
                sockets.push(device(&address, &mut http, &format!("device-{number}")).await);
            }
            sockets
        })
    });
    let mut sockets = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        sockets.extend(client.await.expect("every device is let in"));
    }
    sockets
}

/// The next text.
pub(crate) async fn next(socket: &mut Socket) -> String {
    match socket.next().await {
        Some(Ok(Message::Text(text))) => text.as_str().to_owned(),
        other => panic!("no text but {other:?}"),
    }
}

/// Answers every call of a device and gives signs of life, until the server ends it. Gives how many calls there were.
pub(crate) async fn play(mut socket: Socket) -> u64 {
    let mut beat = tokio::time::interval(SIGN_OF_LIFE);
    let (mut sequence, mut calls) = (10, 0);
    loop {
        let text = tokio::select! {
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return calls,
            },
            _ = beat.tick() => {
                sequence += 1;
                let sign = json!({"type": "heartbeat", "event_id": "h", "sequence": sequence});
                if socket.send(Message::text(sign.to_string())).await.is_err() {
                    return calls;
                }
                continue;
            }
        };
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        if frame["type"] == "tool.call.request" {
            sequence += 1;
            calls += 1;
            let result = json!({
                "type": "tool.call.result", "event_id": "e", "sequence": sequence, "tool_call_id": frame["tool_call_id"],
                "execution_id": frame["execution_id"], "status": "succeeded",
                "output": {"entries": [frame["tool_call_id"]]}, "duration_ms": 1,
            });
            if socket.send(Message::text(result.to_string())).await.is_err() {
                return calls;
            }
        }
    }
}

/// How many devices, at most, both processes have open files for.
pub(crate) fn possible_devices(most: u64) -> u64 {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("open files");
    limit.maximum.map_or(most, |files| files.saturating_sub(SPARE_FILES).min(most))
}

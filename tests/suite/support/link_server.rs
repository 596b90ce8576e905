//! A server of the device link that does what a test tells it, byte for byte: tickets over HTTP, then one WebSocket after
//! the other.
#![expect(clippy::disallowed_methods, reason = "a test has patience for so long and no longer")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use nod::link::wire::arguments_hash;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, WebSocket, accept_with_config};

use super::desk::PATIENCE;

/// The user token that it takes.
pub(crate) const TOKEN: &str = "user-token-planted";
/// What it says of every other one.
pub(crate) const UNKNOWN_TOKEN: &str = r#"{"error":{"code":"UNAUTHORIZED","message":"Send a user token"}}"#;

pub(crate) struct LinkServer {
    listener: TcpListener,
    address: SocketAddr,
}

/// One connection.
pub(crate) struct Line {
    pub(crate) socket: WebSocket<TcpStream>,
    sequence: u64,
    /// Who registered.
    pub(crate) device_id: String,
}

impl LinkServer {
    pub(crate) fn new() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap())
    }

    /// At the address of one that went away.
    pub(crate) fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { address: listener.local_addr().unwrap(), listener }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The next socket that a desktop opens with a ticket of this server. Nothing was said on it yet.
    pub(crate) fn accept(&self) -> Line {
        self.accept_within(PATIENCE).expect("the desktop connects")
    }

    /// The same; `None` when none comes in time.
    pub(crate) fn accept_within(&self, patience: Duration) -> Option<Line> {
        let until = Instant::now() + patience;
        loop {
            let stream = self.next_stream(until)?;
            let head = peeked_head(&stream);
            if head.starts_with("POST /api/desktop/connection-ticket ") {
                give_ticket(stream, &head);
                continue;
            }
            assert!(head.starts_with("GET /api/desktop/ws?ticket=ticket-planted "), "{head}");
            let mut config = WebSocketConfig::default();
            config.max_frame_size = None;
            config.max_message_size = None;
            let socket = accept_with_config(stream, Some(config)).unwrap();
            return Some(Line { socket, sequence: 0, device_id: String::new() });
        }
    }

    /// Gives the next ticket that is wanted this answer instead.
    pub(crate) fn refuse_ticket(&self, status: &str, body: &str) {
        let stream = self.next_stream(Instant::now() + PATIENCE).expect("the desktop asks for a ticket");
        let head = peeked_head(&stream);
        assert!(head.starts_with("POST /api/desktop/connection-ticket "), "{head}");
        answer(stream, &head, status, body);
    }

    /// The next socket, with its device registered and welcomed and its tools heard.
    pub(crate) fn welcome(&self) -> Line {
        let mut line = self.accept();
        let register = line.hear();
        assert_eq!(register["type"], "device.register");
        register["device_id"].as_str().unwrap().clone_into(&mut line.device_id);
        line.say(json!({
            "type": "device.registered", "connection_id": "k", "server_time": jiff::Timestamp::now().to_string(),
            "heartbeat_seconds": 15,
        }));
        let tools = line.hear();
        assert_eq!(tools["type"], "tool.registry.sync");
        line
    }

    fn next_stream(&self, until: Instant) -> Option<TcpStream> {
        loop {
            if let Ok((stream, _)) = self.listener.accept() {
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_write_timeout(Some(PATIENCE)).unwrap();
                return Some(stream);
            }
            if Instant::now() >= until {
                return None;
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

/// The head of a request, which stays in the stream.
fn peeked_head(stream: &TcpStream) -> String {
    let mut bytes = [0; 8192];
    loop {
        let count = stream.peek(&mut bytes).unwrap();
        let head = String::from_utf8_lossy(&bytes[..count]).into_owned();
        if head.contains("\r\n\r\n") || count == 0 {
            return head;
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

fn give_ticket(stream: TcpStream, head: &str) {
    let is_known = head.to_ascii_lowercase().contains(&format!("authorization: bearer {TOKEN}"));
    if is_known {
        answer(stream, head, "200 OK", &json!({"ticket": "ticket-planted", "expires_in": 60}).to_string());
    } else {
        answer(stream, head, "401 Unauthorized", UNKNOWN_TOKEN);
    }
}

/// Reads the whole request and answers it.
fn answer(mut stream: TcpStream, head: &str, status: &str, body: &str) {
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
    let mut request = vec![0; head.find("\r\n\r\n").unwrap() + 4 + length];
    stream.read_exact(&mut request).unwrap();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).unwrap();
}

impl Line {
    /// Sends a frame.
    pub(crate) fn say(&mut self, body: Value) {
        assert!(self.try_say(body), "the desktop is there");
    }

    /// The same; false when the desktop is gone.
    pub(crate) fn try_say(&mut self, mut body: Value) -> bool {
        self.sequence += 1;
        body["event_id"] = json!(format!("s{}", self.sequence));
        body["sequence"] = json!(self.sequence);
        self.socket.send(Message::text(body.to_string())).is_ok()
    }

    /// The next frame that is no sign of life.
    pub(crate) fn hear(&mut self) -> Value {
        loop {
            match self.socket.read().expect("the desktop says something") {
                Message::Text(text) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    if frame["type"] != "heartbeat" {
                        return frame;
                    }
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("the desktop sent {other:?}"),
            }
        }
    }

    /// The code with which the desktop ends the connection, and what it had said before.
    pub(crate) fn hear_end(&mut self) -> (Option<u16>, Vec<Value>) {
        let mut heard = Vec::new();
        loop {
            match self.socket.read() {
                Ok(Message::Close(frame)) => return (frame.map(|frame| frame.code.into()), heard),
                Ok(Message::Text(text)) => heard.push(serde_json::from_str(&text).unwrap()),
                Ok(_) => {}
                Err(_) => return (None, heard),
            }
        }
    }

    /// Closes with a code.
    pub(crate) fn close(mut self, code: u16) {
        self.socket.close(Some(CloseFrame { code: CloseCode::from(code), reason: "".into() })).unwrap();
        while self.socket.read().is_ok() {}
    }

    /// A request for a call that may be begun for a minute.
    pub(crate) fn request(&self, id: &str, tool: &str, arguments: &Value) -> Value {
        let expires_at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(105);
        json!({
            "type": "tool.call.request", "tool_call_id": id, "execution_id": format!("x-{id}"), "attempt_no": 1,
            "run_id": "r1", "device_id": self.device_id, "tool_name": tool, "tool_version": "1", "arguments": arguments,
            "arguments_hash": arguments_hash(arguments).unwrap(), "requires_confirmation": true,
            "execution_timeout_ms": 10_000, "expires_at": expires_at.to_string(),
        })
    }

    /// Asks for a call.
    pub(crate) fn ask(&mut self, id: &str, tool: &str, arguments: &Value) {
        let request = self.request(id, tool, arguments);
        self.say(request);
    }

    /// Says that a result is kept.
    pub(crate) fn ack(&mut self, id: &str) {
        self.say(json!({"type": "tool.call.ack", "tool_call_id": id}));
    }
}

//! A device that a test plays itself, frame by frame: well behaved, or anything but.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{ClientRequestBuilder, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::client::{Client, PATIENCE};
use super::operator::Server;

pub(crate) struct Device {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    id: String,
    sequence: u64,
    pub(crate) connection_id: String,
}

/// What a device offers, as the desktop does.
pub(crate) fn tools() -> Value {
    let path = json!({"type": "string"});
    json!([
        {"name": "workspace.list_files", "version": "1", "risk": "low", "requires_confirmation": false,
         "timeout_ms": 10_000, "input_schema": {"type": "object", "properties": {"path": path}}},
        {"name": "workspace.read_file", "version": "1", "risk": "medium", "requires_confirmation": true,
         "timeout_ms": 10_000, "input_schema": {"type": "object", "properties": {"path": path}}},
    ])
}

/// A ticket for a device.
pub(crate) async fn ticket(client: &Client, device: &str) -> String {
    let (status, answer) = client.post("/api/desktop/connection-ticket", json!({"device_id": device})).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["expires_in"], 60);
    answer["ticket"].as_str().unwrap().to_owned()
}

impl Device {
    /// Connects with a ticket, and says nothing.
    pub(crate) async fn silent(server: &Server, ticket: &str, device: &str, origin: Option<&str>) -> Self {
        let address = format!("ws://{}/api/desktop/ws?ticket={ticket}", server.address);
        let mut request = ClientRequestBuilder::new(address.parse().unwrap());
        if let Some(origin) = origin {
            request = request.with_header("Origin", origin);
        }
        let (socket, _) = timeout(PATIENCE, connect_async(request)).await.unwrap().unwrap();
        Self { socket, id: device.to_owned(), sequence: 0, connection_id: String::new() }
    }

    /// Connects and registers; offers nothing yet.
    pub(crate) async fn registered(server: &Server, client: &Client, device: &str) -> Self {
        let mut own = Self::silent(server, &ticket(client, device).await, device, None).await;
        own.send(own.registration()).await;
        let welcome = own.next().await;
        assert_eq!(welcome["type"], "device.registered", "{welcome}");
        own.connection_id = serde_json::from_value(welcome["connection_id"].clone()).unwrap();
        own
    }

    /// Connects, registers and offers both tools; returns once the server has taken that in.
    pub(crate) async fn connect(server: &Server, client: &Client, device: &str) -> Self {
        let mut own = Self::registered(server, client, device).await;
        own.send(json!({"type": "tool.registry.sync", "tools": tools()})).await;
        own.send(json!({"type": "heartbeat"})).await;
        assert_eq!(own.next().await["type"], "heartbeat");
        own
    }

    pub(crate) fn registration(&self) -> Value {
        json!({"type": "device.register", "device_id": self.id, "instance_id": "i", "app_version": "0.1.0",
               "protocol_version": 1})
    }

    /// Sends a message with an event id and the next sequence number.
    pub(crate) async fn send(&mut self, mut message: Value) {
        self.sequence += 1;
        message["event_id"] = format!("e{}", self.sequence).into();
        message["sequence"] = self.sequence.into();
        self.send_text(&message.to_string()).await;
    }

    /// Sends a text as it is.
    pub(crate) async fn send_text(&mut self, text: &str) {
        self.send_raw(Message::text(text)).await;
    }

    /// Sends any WebSocket message; a server that has closed already is no fault here.
    pub(crate) async fn send_raw(&mut self, message: Message) {
        timeout(PATIENCE, self.socket.send(message)).await.expect("the server reads").ok();
    }

    /// The next text, however long it takes; `None` when the connection has ended.
    pub(crate) async fn next_text(&mut self) -> Option<String> {
        loop {
            match self.socket.next().await? {
                Ok(Message::Text(text)) => return Some(text.as_str().to_owned()),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(_) | Err(_) => return None,
            }
        }
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.expect("a frame must come") {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("no frame but {other:?}"),
            }
        }
    }

    /// The next frame of a type; others are passed over.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await;
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// The next call.
    pub(crate) async fn request(&mut self) -> Value {
        self.until("tool.call.request").await
    }

    /// Tells how a call ended.
    pub(crate) async fn answer(&mut self, request: &Value, status: &str, output: Value) {
        self.send(result(request, status, output)).await;
    }

    /// Reads until the server acknowledges a call.
    pub(crate) async fn acknowledged(&mut self, request: &Value) {
        let ack = self.until("tool.call.ack").await;
        assert_eq!(ack["tool_call_id"], request["tool_call_id"]);
    }

    /// Reads until the server closes; the code, or `None` when it is just gone.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.expect("the server must close") {
                Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// Reads to the end of the connection; which calls were acknowledged.
    pub(crate) async fn acknowledged_before_the_end(mut self) -> Vec<String> {
        let mut calls = Vec::new();
        while let Some(Ok(message)) = timeout(PATIENCE, self.socket.next()).await.expect("the connection must end") {
            let Message::Text(text) = message else { continue };
            let frame: Value = serde_json::from_str(&text).unwrap();
            if frame["type"] == "tool.call.ack" {
                calls.push(frame["tool_call_id"].as_str().unwrap().to_owned());
            }
        }
        calls
    }

    /// Says that nothing more is read or written, as an end of the network does: without a close frame.
    pub(crate) fn vanish(self) {
        drop(self);
    }
}

/// `tool.call.result` of a request. An output of null is left out.
pub(crate) fn result(request: &Value, status: &str, output: Value) -> Value {
    let mut message = json!({
        "type": "tool.call.result", "tool_call_id": request["tool_call_id"], "execution_id": request["execution_id"],
        "status": status, "duration_ms": 3,
    });
    if status == "succeeded" {
        message["output"] = output;
    } else {
        message["error"] = output;
    }
    message
}

//! A user's client of the server: HTTP, and the events of a run.
#![expect(clippy::disallowed_methods, reason = "a test has a client of its own")]

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
}

/// The events of a run as they come. Dropping it closes the stream.
pub(crate) struct Events {
    response: reqwest::Response,
    buffer: String,
}

impl Client {
    pub(crate) fn new(base: &str, token: &str) -> Self {
        // Another test of this process may have been first.
        rustls::crypto::ring::default_provider().install_default().ok();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { http, base: base.to_owned(), token: token.to_owned() }
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send(reqwest::Method::GET, path, None).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        self.send(reqwest::Method::DELETE, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(reqwest::Method::POST, path, Some(body)).await
    }

    /// The status and the body; a body that is not JSON comes as a string.
    pub(crate) async fn send(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let response = timeout(PATIENCE, self.request(method, path, body).send()).await.unwrap().unwrap();
        let status = response.status().as_u16();
        let text = timeout(PATIENCE, response.text()).await.unwrap().unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// The text of a request, for a connection of a test's own.
    pub(crate) fn raw(&self, method: &str, path: &str, body: &str) -> String {
        let Self { token, .. } = self;
        format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    fn request(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if !self.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        }
    }

    /// A call of the developer's endpoint, on a task of its own: it answers when the call ends.
    pub(crate) fn dev_call(&self, body: Value) -> tokio::task::JoinHandle<Value> {
        let client = self.clone();
        tokio::spawn(async move {
            let (status, answer) = client.post("/api/desktop/dev/tool-calls", body).await;
            assert_eq!(status, 200, "{answer}");
            answer
        })
    }

    /// The same that may be cut off by the end of the server.
    pub(crate) fn dev_call_cut_off(&self, body: Value) -> tokio::task::JoinHandle<()> {
        let request = self.request(reqwest::Method::POST, "/api/desktop/dev/tool-calls", Some(body));
        tokio::spawn(async move { drop(request.send().await) })
    }

    /// A call as the ledger has it.
    pub(crate) async fn call(&self, id: &str) -> Value {
        let (status, call) = self.get(&format!("/api/tool-calls/{id}")).await;
        assert_eq!(status, 200, "{call}");
        call
    }

    /// Waits until the ledger has a call in a status.
    pub(crate) async fn call_in(&self, id: &str, status: &str) -> Value {
        self.get_in(&format!("/api/tool-calls/{id}"), |call| call["status"] == status).await
    }

    /// What is at an address once it is as it is to be.
    pub(crate) async fn get_in(&self, path: &str, is_reached: impl Fn(&Value) -> bool) -> Value {
        let reached = async {
            loop {
                let (_, found) = self.get(path).await;
                if is_reached(&found) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if let Ok(found) = timeout(PATIENCE, reached).await {
            return found;
        }
        panic!("{path} never became what it should: {}", self.get(path).await.1)
    }

    /// Prepares a turn.
    pub(crate) async fn prepare(&self, body: Value) -> Value {
        let (status, turn) = self.post("/api/turns", body).await;
        assert_eq!(status, 200, "{turn}");
        turn
    }

    /// Runs a prepared turn.
    pub(crate) async fn run(&self, turn: &Value) -> Events {
        self.stream(json!({
            "threadId": turn["thread_id"], "runId": turn["run_id"], "messages": [], "tools": [], "context": [],
            "state": {}, "forwardedProps": {},
        }))
        .await
    }

    /// Runs whatever the input says.
    pub(crate) async fn stream(&self, input: Value) -> Events {
        let request = self.request(reqwest::Method::POST, "/api/agent", Some(input));
        let response = timeout(PATIENCE, request.send()).await.unwrap().unwrap();
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { response, buffer: String::new() }
    }
}

impl Events {
    /// The next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                let rest = rest.to_owned();
                self.buffer = rest;
                if data.is_empty() {
                    continue;
                }
                return Some(serde_json::from_str(&data).unwrap());
            }
            match timeout(PATIENCE, self.response.chunk()).await.expect("an event must come") {
                Ok(Some(chunk)) => self.buffer.push_str(std::str::from_utf8(&chunk).unwrap()),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Reads up to the first event of a type.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        while let Some(event) = self.next().await {
            if event["type"] == kind {
                return event;
            }
        }
        panic!("the stream ended without {kind}");
    }

    /// All that is still to come.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

//! A loopback server that answers chats of every wire format from a script (and the rest as Ollama does): the bytes of each answer, cut where the test wants, held
//! at gates that the test opens, broken off, or left hanging. It records every request. On plain threads, so that it
//! serves async tests, window tests and child processes alike.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![expect(clippy::disallowed_types, reason = "a test server shares its state with the test by a lock")]

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server. It stops when it is dropped.
pub(crate) struct OllamaServer {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    inner: Mutex<Inner>,
    changed: Condvar,
    is_stopped: AtomicBool,
}

#[derive(Default)]
struct Inner {
    answers: VecDeque<Reply>,
    /// Asked when there is no scripted answer.
    model: Option<Model>,
    routes: HashMap<String, Reply>,
    requests: Vec<Recorded>,
    hangups: usize,
}

/// Answers the n-th chat (from 0) from its body.
type Model = Arc<dyn Fn(usize, &Value) -> Reply + Send + Sync>;

/// A request that came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recorded {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    /// The body as JSON; null when there was none.
    pub(crate) body: Value,
}

impl Recorded {
    /// Whether a model is asked: by Ollama's format, OpenAI's or Anthropic's.
    pub(crate) fn is_chat(&self) -> bool {
        let asked = self.path.split('?').next().unwrap_or_default();
        ["/api/chat", "/chat/completions", "/v1/messages"].iter().any(|path| asked.ends_with(path))
    }

    /// A header's value; empty when it did not come.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// What the server answers.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    pieces: Vec<Piece>,
}

/// A part of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// These bytes, as one chunk.
    Bytes(Vec<u8>),
    /// Wait until the test opens the gate.
    Gate(Gate),
    /// The server takes its time.
    Pause(Duration),
    /// Close the connection in the middle.
    Drop,
    /// Say nothing more until the client goes away; then `wait_for_hangup` returns.
    Hang,
}

/// A place in an answer at which the server waits for the test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    shared: Arc<(Mutex<GateState>, Condvar)>,
}

#[derive(Debug, Default)]
struct GateState {
    is_reached: bool,
    is_open: bool,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Lets the answer go on.
    pub(crate) fn open(&self) {
        self.shared.0.lock().unwrap().is_open = true;
        self.shared.1.notify_all();
    }

    /// Blocks until the answer stands at the gate.
    pub(crate) fn wait_until_reached(&self) {
        let (lock, changed) = &*self.shared;
        let (state, timeout) =
            changed.wait_timeout_while(lock.lock().unwrap(), PATIENCE, |state| !state.is_reached).unwrap();
        drop(state);
        assert!(!timeout.timed_out(), "the answer never came to the gate");
    }

    fn pass(&self) {
        let (lock, changed) = &*self.shared;
        let mut state = lock.lock().unwrap();
        state.is_reached = true;
        changed.notify_all();
        drop(changed.wait_timeout_while(state, PATIENCE, |state| !state.is_open).unwrap());
    }
}

impl Reply {
    /// One body, as one chunk.
    pub(crate) fn bytes(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".into(), content_type.into())],
            pieces: vec![Piece::Bytes(body.into())],
        }
    }

    /// One JSON body.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::bytes(status, "application/json; charset=utf-8", body.to_string())
    }

    /// A refusal as Ollama words it.
    pub(crate) fn error(status: u16, text: &str) -> Self {
        Self::json(status, &json!({"error": text}))
    }

    /// A stream, one chunk a line.
    pub(crate) fn stream(lines: impl IntoIterator<Item = Value>) -> Self {
        Self::pieces(lines.into_iter().map(Piece::line))
    }

    /// A stream of any pieces.
    pub(crate) fn pieces(pieces: impl IntoIterator<Item = Piece>) -> Self {
        Self {
            status: 200,
            headers: vec![("Content-Type".into(), "application/x-ndjson".into())],
            pieces: pieces.into_iter().collect(),
        }
    }

    /// The same under another status.
    #[must_use]
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same with one more header.
    #[must_use]
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

impl Piece {
    /// One line of NDJSON.
    #[expect(clippy::needless_pass_by_value, reason = "lines are made where they are used")]
    pub(crate) fn line(value: Value) -> Self {
        Self::Bytes(format!("{value}\n").into_bytes())
    }
}

/// `message.content`.
pub(crate) fn text_line(text: &str) -> Value {
    message_line(json!({"role": "assistant", "content": text}))
}

/// `message.thinking`.
pub(crate) fn thinking_line(text: &str) -> Value {
    message_line(json!({"role": "assistant", "content": "", "thinking": text}))
}

/// One line with these calls (name, arguments).
pub(crate) fn calls_line(calls: &[(&str, Value)]) -> Value {
    message_line(json!({"role": "assistant", "content": "", "tool_calls": calls_json(calls)}))
}

/// The last line.
pub(crate) fn done_line(reason: &str) -> Value {
    let mut line = message_line(json!({"role": "assistant", "content": ""}));
    finish(&mut line, reason);
    line
}

/// The last line, with the calls on it.
pub(crate) fn done_with_calls_line(calls: &[(&str, Value)]) -> Value {
    let mut line = calls_line(calls);
    finish(&mut line, "stop");
    line
}

fn calls_json(calls: &[(&str, Value)]) -> Value {
    calls.iter().map(|(name, arguments)| json!({"function": {"name": name, "arguments": arguments}})).collect()
}

fn message_line(message: Value) -> Value {
    let mut line = json!({"model": "qwen3:8b", "created_at": "2026-11-30T00:00:00.000000Z"});
    line["message"] = message;
    line["done"] = false.into();
    line
}

fn finish(line: &mut Value, reason: &str) {
    line["done"] = true.into();
    line["done_reason"] = reason.into();
    for (field, value) in [
        ("total_duration", 2_100_000_000_u64),
        ("load_duration", 100_000_000),
        ("prompt_eval_count", 120),
        ("prompt_eval_duration", 500_000_000),
        ("eval_count", 45),
        ("eval_duration", 1_500_000_000),
    ] {
        line[field] = value.into();
    }
}

impl OllamaServer {
    /// A server with one model, `qwen3:8b`, that can think, see and call tools.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let details = json!({"family": "qwen3", "parameter_size": "8.2B", "quantization_level": "Q4_K_M"});
        let capabilities = json!(["completion", "tools", "thinking", "vision"]);
        let server = Self { address, state: Arc::clone(&state) };
        server.route("/api/version", Reply::json(200, &json!({"version": "0.12.3"})));
        server.route(
            "/api/tags",
            Reply::json(200, &json!({"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "size": 5_200_000_000_u64, "details": details}]})),
        );
        server.route(
            "/api/show",
            Reply::json(
                200,
                &json!({
                    "details": details,
                    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
                    "capabilities": capabilities,
                }),
            ),
        );
        server.route("/api/ps", Reply::json(200, &json!({"models": []})));
        let accept = move || {
            for stream in listener.incoming() {
                if state.is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let state = Arc::clone(&state);
                spawn("ollama-connection", move || {
                    // A client that goes away in the middle is what some tests are about.
                    let _ended = serve(stream, &state);
                });
            }
        };
        spawn("ollama-accept", accept);
        server
    }

    /// The list of models that it has from now on, with what it says of each besides the name.
    pub(crate) fn list(&self, models: &[(&str, Value)]) {
        let entry = |(name, more): &(&str, Value)| {
            let mut entry = json!({"name": name, "model": name});
            for (field, value) in more.as_object().into_iter().flatten() {
                entry[field] = value.clone();
            }
            entry
        };
        self.route("/api/tags", Reply::json(200, &json!({"models": models.iter().map(entry).collect::<Vec<_>>()})));
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The answer to the next chat that has none yet.
    pub(crate) fn answer(&self, reply: Reply) {
        self.lock().answers.push_back(reply);
    }

    /// Answers every chat that has no scripted answer.
    pub(crate) fn answer_with(&self, model: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) {
        self.lock().model = Some(Arc::new(model));
    }

    /// The answer to every request for this path.
    pub(crate) fn route(&self, path: &str, reply: Reply) {
        self.lock().routes.insert(path.into(), reply);
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.lock().requests.clone()
    }

    /// The bodies of the chats so far.
    pub(crate) fn chats(&self) -> Vec<Value> {
        self.lock().chats().cloned().collect()
    }

    /// The body of the newest chat.
    pub(crate) fn last_chat(&self) -> Option<Value> {
        self.lock().chats().last().cloned()
    }

    /// The body of the newest chat, once: what came before is forgotten.
    pub(crate) fn take_last_chat(&self) -> Option<Value> {
        let last = self.last_chat();
        self.lock().requests.clear();
        last
    }

    /// Blocks until this many chats were asked for, and gives their bodies.
    pub(crate) fn wait_for_chats(&self, count: usize) -> Vec<Value> {
        self.wait_until("a chat", |inner| inner.chats().count() >= count);
        self.chats()
    }

    /// Blocks until a client went away from an answer that hangs.
    pub(crate) fn wait_for_hangup(&self) {
        self.wait_until("a hang-up", |inner| inner.hangups > 0);
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Inner) -> bool) {
        let (inner, timeout) =
            self.state.changed.wait_timeout_while(self.lock(), PATIENCE, |inner| !is_so(inner)).unwrap();
        drop(inner);
        assert!(!timeout.timed_out(), "{what} never came");
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.inner.lock().unwrap()
    }
}

impl Drop for OllamaServer {
    fn drop(&mut self) {
        self.state.is_stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        drop(TcpStream::connect(self.address));
    }
}

impl Inner {
    fn chats(&self) -> impl Iterator<Item = &Value> {
        self.requests.iter().filter(|request| request.is_chat()).map(|request| &request.body)
    }

    fn reply_to(&mut self, request: &Recorded) -> Reply {
        if request.is_chat() {
            if let Some(reply) = self.answers.pop_front() {
                return reply;
            }
            if let Some(model) = &self.model {
                return model(self.chats().count() - 1, &request.body);
            }
            return Reply::error(400, "the test has no more answers");
        }
        let unknown = || Reply::bytes(404, "text/plain", "404 page not found");
        self.routes.get(&request.path).cloned().unwrap_or_else(unknown)
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    drop(std::thread::Builder::new().name(name.into()).spawn(work).unwrap());
}

fn serve(stream: TcpStream, state: &State) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(request) = read_request(&mut reader)? {
        let reply = {
            let mut inner = state.inner.lock().unwrap();
            inner.requests.push(request.clone());
            state.changed.notify_all();
            inner.reply_to(&request)
        };
        write!(writer, "HTTP/1.1 {} Scripted\r\nTransfer-Encoding: chunked\r\n", reply.status)?;
        for (name, value) in &reply.headers {
            write!(writer, "{name}: {value}\r\n")?;
        }
        writer.write_all(b"\r\n")?;
        for piece in reply.pieces {
            match piece {
                Piece::Bytes(bytes) if bytes.is_empty() => {}
                Piece::Bytes(bytes) => {
                    // One packet: head, chunk and end together.
                    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                    chunk.extend_from_slice(&bytes);
                    chunk.extend_from_slice(b"\r\n");
                    writer.write_all(&chunk)?;
                }
                Piece::Pause(pause) => std::thread::park_timeout(pause),
                Piece::Gate(gate) => gate.pass(),
                Piece::Drop => return writer.shutdown(Shutdown::Both),
                Piece::Hang => {
                    let mut byte = [0];
                    let ended = reader.read(&mut byte);
                    state.inner.lock().unwrap().hangups += usize::from(matches!(ended, Ok(0) | Err(_)));
                    state.changed.notify_all();
                    return Ok(());
                }
            }
        }
        writer.write_all(b"0\r\n\r\n")?;
    }
    Ok(())
}

fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Recorded>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(Recorded { method, path, headers, body }))
}

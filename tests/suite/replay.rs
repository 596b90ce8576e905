//! Recorded and broken answers of every wire format over real loopback HTTP. Adding a case is adding a folder
//! `tests/fixtures/provider/<format>/<case>` with
//! - `request.json`: a request of the internal representation,
//! - `response.…`: the bytes of the answer,
//! - `setup.json`, where the case is not the usual one: `provider` (an id of the catalogue), `model`, `status`, `headers`,
//!   `textCallModels`,
//! - `expected.json`: the body that was sent, the event bodies, and the response or the error.
//!
//! With `NOD_WRITE_FIXTURES` set, what is read now becomes what is expected: look at the difference before you keep it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nod::ir::{Request, StreamBody};
use nod::provider::{Provider, ProviderConfig, SecretKey, connect, preset};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::exchange::{bodies, check_order, clock, streamed_by};
use crate::support::ollama::{OllamaServer, Piece, Reply};

/// What a case does otherwise than its format's other cases.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup {
    provider: Option<String>,
    model: Option<String>,
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default, rename = "textCallModels")]
    text_call_models: Vec<String>,
}

struct Case {
    name: String,
    setup: Setup,
    request: Request,
    response: Vec<u8>,
    expected: Value,
    folder: PathBuf,
}

/// A wire format with its usual provider and model.
struct Format {
    folder: &'static str,
    provider: &'static str,
    model: &'static str,
}

const OLLAMA: Format = Format { folder: "ollama", provider: "ollama", model: "qwen3:8b" };
const OPENAI: Format = Format { folder: "openai", provider: "deepseek", model: "deepseek-chat" };
const ANTHROPIC: Format = Format { folder: "anthropic", provider: "anthropic", model: "claude-sonnet-4-5" };

fn cases(format: &Format) -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/provider").join(format.folder);
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let cases: Vec<Case> = folders.into_iter().map(case).collect();
    assert!(cases.len() >= 10, "the fixtures are there");
    cases
}

fn case(folder: PathBuf) -> Case {
    let json = |name: &str| -> Option<Value> {
        std::fs::read(folder.join(name)).ok().map(|text| serde_json::from_slice(&text).unwrap())
    };
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let [response] = files
        .filter(|file| file.file_stem().is_some_and(|stem| stem == "response"))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_else(|found| panic!("one response in {}: {found:?}", folder.display()));
    Case {
        name: folder.file_name().unwrap().to_string_lossy().into_owned(),
        setup: json("setup.json").map(|setup| serde_json::from_value(setup).unwrap()).unwrap_or_default(),
        request: serde_json::from_value(json("request.json").unwrap()).unwrap(),
        response: std::fs::read(response).unwrap(),
        expected: json("expected.json").unwrap_or_default(),
        folder,
    }
}

/// A case at its server.
struct Stage<'a> {
    case: &'a Case,
    server: OllamaServer,
    provider: Arc<dyn Provider>,
    model: &'a str,
}

impl<'a> Stage<'a> {
    fn new(format: &'a Format, case: &'a Case) -> Self {
        let server = OllamaServer::start();
        let id = case.setup.provider.as_deref().unwrap_or(format.provider);
        let config = ProviderConfig {
            api_key: SecretKey::new("sk-planted"),
            dialect: id.into(),
            text_call_models: case.setup.text_call_models.clone(),
            num_ctx: 24_576,
            keep_alive: "5m".into(),
            ..ProviderConfig::new(id, preset(id).unwrap().kind, server.url())
        };
        let provider = connect(config, clock()).unwrap();
        Self { case, server, provider, model: case.setup.model.as_deref().unwrap_or(format.model) }
    }

    async fn play(&self, pieces: Vec<Piece>) -> Value {
        let status = self.case.setup.status.unwrap_or(200);
        let mut reply = Reply::pieces(pieces).with_status(status);
        for (name, value) in &self.case.setup.headers {
            reply = reply.with_header(name, value);
        }
        self.server.answer(reply);
        let (events, outcome) = streamed_by(self.provider.as_ref(), self.model, &self.case.request).await;
        check_order(&events, &outcome);
        let end = match outcome {
            Ok(response) => json!({"response": response}),
            Err(error) => json!({"error": error}),
        };
        let told = json!({"sent": self.server.last_chat(), "events": bodies(&events), "end": end});
        // The port is another one each time.
        let text = told.to_string().replace(&self.server.url(), "http://server");
        serde_json::from_str(&text).unwrap()
    }
}

#[expect(clippy::disallowed_methods, reason = "writes this repository's own fixtures, when asked to")]
fn rewrite(case: &Case, expected: &Value) {
    std::fs::write(case.folder.join("expected.json"), format!("{expected:#}\n")).unwrap();
}

/// Where an answer is cut in two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cuts {
    AtEveryByte,
    /// Every place is tried beside the decoder itself.
    Elsewhere,
}

/// Reads every case whole, line by line as a server that streams sends it, byte by byte, and cut in two.
async fn replay(format: &Format, cuts: Cuts) {
    for case in &cases(format) {
        let stage = Stage::new(format, case);
        let bytes = |part: &[u8]| Piece::Bytes(part.to_vec());
        let whole = stage.play(vec![bytes(&case.response)]).await;
        if std::env::var_os("NOD_WRITE_FIXTURES").is_some() {
            rewrite(case, &whole);
            continue;
        }
        assert_eq!(whole, case.expected, "{}", case.name);
        let lines = case.response.split_inclusive(|byte| *byte == b'\n').map(bytes).collect();
        assert_eq!(stage.play(lines).await, case.expected, "{} line by line", case.name);
        let single = case.response.chunks(1).map(bytes).collect();
        assert_eq!(stage.play(single).await, case.expected, "{} byte by byte", case.name);
        if cuts == Cuts::Elsewhere {
            continue;
        }
        for cut in 1..case.response.len() {
            let (first, second) = case.response.split_at(cut);
            let found = stage.play(vec![bytes(first), bytes(second)]).await;
            assert_eq!(found, case.expected, "{} cut at {cut}", case.name);
        }
    }
}

#[tokio::test]
async fn every_recorded_answer_of_ollama_is_read_the_same_however_it_is_cut() {
    replay(&OLLAMA, Cuts::AtEveryByte).await;
}

#[tokio::test]
async fn every_recorded_answer_of_anthropic_is_read_the_same_however_it_is_cut() {
    replay(&ANTHROPIC, Cuts::AtEveryByte).await;
}

#[tokio::test]
async fn every_recorded_answer_of_the_openai_format_is_read_the_same_however_it_comes() {
    replay(&OPENAI, Cuts::Elsewhere).await;
}

/// Beginning, one delta, end of a stream.
type Stream = (&'static str, fn(usize) -> String, &'static str);

/// 3,000 events a second for a second: each arrives, in its order.
async fn rush(format: &Format, (head, delta, tail): Stream) {
    const EVENTS: usize = 3_000;
    let server = OllamaServer::start();
    let mut pieces = vec![Piece::Bytes(head.into())];
    for number in 0..EVENTS {
        pieces.push(Piece::Bytes(delta(number).into_bytes()));
        pieces.push(Piece::Pause(Duration::from_secs(1) / 3_000));
    }
    pieces.push(Piece::Bytes(tail.into()));
    server.answer(Reply::pieces(pieces));
    let config = ProviderConfig::new(format.provider, preset(format.provider).unwrap().kind, server.url());
    let provider = connect(config, clock()).unwrap();
    let (events, outcome) = streamed_by(provider.as_ref(), format.model, &crate::support::exchange::hello()).await;
    check_order(&events, &outcome);
    let expected: Vec<String> = (0..EVENTS).map(|number| format!("{number} ")).collect();
    assert_eq!(outcome.unwrap().content, expected.concat());
    let deltas: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.body {
            StreamBody::TextDelta { delta } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, expected);
}

#[tokio::test]
async fn three_thousand_events_a_second_of_ollama_all_arrive() {
    let delta = |number| format!("{{\"message\":{{\"content\":\"{number} \"}},\"done\":false}}\n");
    rush(&OLLAMA, ("", delta, "{\"done\":true,\"done_reason\":\"stop\"}\n")).await;
}

#[tokio::test]
async fn three_thousand_events_a_second_of_anthropic_all_arrive() {
    let delta = |number| {
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{number} \"}}}}\n\n"
        )
    };
    let head = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    rush(&ANTHROPIC, (head, delta, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")).await;
}

#[tokio::test]
async fn three_thousand_events_a_second_of_the_openai_format_all_arrive() {
    let delta = |number| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{number} \"}}}}]}}\n\n");
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    rush(&OPENAI, ("", delta, end)).await;
}

//! Ollama by its own API (NDJSON): chat with thinking, tools and images, its models, downloads.
//!
//! Not by its OpenAI-compatible face: that one cannot set the context size and loses errors in mid-stream. The files:
//! `address` (what a person types), `wire` (its JSON), `encode` (request), `decode` (answer), `catalog` (models),
//! `pull` (downloads), `fault` (what its errors mean for a person).

mod address;
mod catalog;
mod decode;
mod encode;
mod fault;
mod pull;
mod wire;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::answer::{Answer, Ending, Listener, in_time};
use super::body::trimmed;
use super::framing::Ndjson;
use super::http::{Http, Reply, TimeLimits};
use super::mistake::Mistake;
use super::reader::{Reader, pump};
use super::retry::{Refusal, error_text};
use super::{Provider, ProviderConfig, PullProgress};
use crate::ir::{Clock, Error, ModelInfo, Request, Response, StreamBody, StreamEvent, UnixMs};
use decode::Decoder;
use encode::{Encoding, ThinkingUse};

/// Where Ollama listens when nobody says otherwise.
pub(super) const DEFAULT_URL: &str = address::DEFAULT_URL;

/// Where the server is, from what a person typed.
pub(super) fn address(typed: &str) -> Result<super::http::Address, Error> {
    address::parse(typed)
}

/// Largest answer that is read whole (lists, details), in bytes.
const BODY_LIMIT: usize = 16 * 1024 * 1024;
/// Largest error body, in bytes.
const ERROR_LIMIT: usize = 1024 * 1024;

/// An Ollama server.
pub(super) struct Ollama {
    id: String,
    http: Http,
    num_ctx: u32,
    keep_alive: String,
    is_remote: Option<bool>,
    clock: Clock,
    limits: TimeLimits,
}

impl Ollama {
    /// A client for the server that the configuration names.
    pub(super) fn new(config: ProviderConfig, clock: Clock) -> Result<Self, Error> {
        let address = address::parse(&config.base_url).map_err(|error| error.from_provider(&config.id))?;
        let limits = config.network.limits(address.reach());
        let http = Http::through(&config.network, &address)?;
        Ok(Self {
            id: config.id,
            http,
            num_ctx: config.num_ctx,
            keep_alive: config.keep_alive,
            is_remote: config.is_remote,
            clock,
            limits,
        })
    }

    async fn chat(&self, model: &str, request: &Request, listener: Listener, stream: bool) -> Result<Response, Error> {
        let mut answer = Answer::new(request, &self.id, model, listener, self.clock.clone());
        let work = self.converse(model, request, stream, &mut answer);
        let outcome = in_time(request, work).await;
        answer.end(outcome).await
    }

    /// Sends the request and passes its answer on, up to its end.
    async fn converse(
        &self,
        model: &str,
        request: &Request,
        stream: bool,
        answer: &mut Answer<'_>,
    ) -> Result<Ending, Error> {
        match self.ask(model, request, stream, answer).await? {
            Asked::Reply(reply) => pump(*reply, reader(request, model), answer, fault::unreachable).await,
            Asked::Mistake(mistake) => {
                let mut decoder = Decoder::new(request, model);
                let mut out = vec![decoder.mistake(mistake)];
                let ending = decoder.finish(answer.now(), &mut out);
                answer.push_all(out).await?;
                ending
            }
        }
    }

    async fn ask(&self, model: &str, request: &Request, stream: bool, answer: &Answer<'_>) -> Result<Asked, Error> {
        let mut with = Encoding {
            model,
            stream,
            num_ctx: self.num_ctx,
            keep_alive: &self.keep_alive,
            thinking: ThinkingUse::AsAsked,
        };
        loop {
            let body = encode::chat(request, &with)?;
            let reply = self.http.post_json("api/chat", body, self.limits).await.map_err(fault::unreachable)?;
            if reply.is_success() {
                return Ok(Asked::Reply(Box::new(reply)));
            }
            let (status, headers) = (reply.status, reply.retry.clone());
            let body = reply.bytes(ERROR_LIMIT).await.unwrap_or_default();
            let text = error_text(&String::from_utf8_lossy(&body));
            if let Some(mistake) = Mistake::in_text(&text) {
                return Ok(Asked::Mistake(mistake));
            }
            // A chat whose effort was set for another model goes on without it.
            if with.thinking == ThinkingUse::AsAsked && text.contains("does not support thinking") {
                with.thinking = ThinkingUse::Never;
                continue;
            }
            return Err(fault::refused(Refusal { status, text: &text, headers: &headers }, model, answer.now()));
        }
    }

    /// The JSON of a successful answer, or what the refusal means. `model` is the one that was asked about.
    async fn json<T: DeserializeOwned>(&self, reply: Reply, model: &str) -> Result<T, Error> {
        let (status, headers, is_success) = (reply.status, reply.retry.clone(), reply.is_success());
        let body = reply.bytes(BODY_LIMIT).await.map_err(fault::unreachable)?;
        let text = String::from_utf8_lossy(&body);
        if !is_success {
            let refusal = Refusal { status, text: &error_text(&text), headers: &headers };
            return Err(fault::refused(refusal, model, (self.clock)()));
        }
        serde_json::from_str(trimmed(&text)).map_err(|error| fault::not_our_list(&text, &error))
    }

    fn named(&self, error: Error) -> Error {
        error.from_provider(&self.id)
    }
}

/// A reader of one answer of this format.
pub(super) fn reader<'a>(request: &'a Request, model: &str) -> impl Reader + use<'a> {
    LineReader { ndjson: Ndjson::default(), decoder: Decoder::new(request, model) }
}

struct LineReader<'a> {
    ndjson: Ndjson,
    decoder: Decoder<'a>,
}

impl Reader for LineReader<'_> {
    fn feed(&mut self, bytes: &[u8], now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        self.ndjson.feed(bytes, |line| self.decoder.line(line, now, out))
    }

    fn end_of_body(&mut self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        self.ndjson.finish(|line| self.decoder.line(line, now, out))
    }

    fn is_done(&self) -> bool {
        self.decoder.is_done()
    }

    fn model(&self) -> &str {
        self.decoder.model()
    }

    fn finish(self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<Ending, Error> {
        self.decoder.finish(now, out)
    }
}

/// What came of a request.
enum Asked {
    /// The answer begins.
    Reply(Box<Reply>),
    /// The server could not read the call that the model wrote.
    Mistake(Mistake),
}

impl Provider for Ollama {
    fn provider_id(&self) -> &str {
        &self.id
    }

    fn is_remote(&self, model: &str) -> bool {
        // A cloud model answers through the local server, but not on it. It may have another name: the server says so then.
        let is_cloud = model.ends_with("-cloud") || model.ends_with(":cloud");
        is_cloud || self.is_remote.unwrap_or(!self.http.is_on_this_machine())
    }

    fn may_forward(&self) -> bool {
        true
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, Error>> {
        Box::pin(async { self.models().await.map_err(|error| self.named(error)) })
    }

    fn model_info<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<ModelInfo, Error>> {
        Box::pin(async move { self.model(model).await.map_err(|error| self.named(error)) })
    }

    fn health_check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async { self.version().await.map_err(|error| self.named(error)) })
    }

    fn send_stream<'a>(
        &'a self,
        model: &'a str,
        request: &'a Request,
        events: mpsc::Sender<StreamEvent>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        let stream = request.params.stream.unwrap_or(true);
        Box::pin(self.chat(model, request, Listener::Events(events), stream))
    }

    fn send<'a>(&'a self, model: &'a str, request: &'a Request) -> BoxFuture<'a, Result<Response, Error>> {
        let stream = request.params.stream.unwrap_or(false);
        Box::pin(self.chat(model, request, Listener::Nobody, stream))
    }

    fn pull<'a>(&'a self, model: &'a str, progress: mpsc::Sender<PullProgress>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.download(model, progress).await.map_err(|error| self.named(error)) })
    }
}

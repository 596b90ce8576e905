//! Anthropic's Messages API, and the servers that speak it too (Agnes' second face, gateways).
//!
//! The files: `address` (what a person types), `wire` (its JSON), `encode` (request), `history` (its messages), `kept`
//! (signed thinking), `decode` (answer), `usage`, `catalog` (models), `model`
//! (what a name says), `refused` (what a server does not take), `fault` (what its errors mean for a person).

mod address;
mod catalog;
mod decode;
mod encode;
mod fault;
mod history;
mod kept;
mod model;
mod refused;
mod usage;
mod wire;

use futures_util::future::BoxFuture;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::answer::{Answer, Ending, Listener, in_time};
use super::body::{Body, Part, trimmed};
use super::http::{Http, Reply, TimeLimits};
use super::memory::{ANTHROPIC, Subject, memory};
use super::reader::{Reader, pump};
use super::{Provider, ProviderConfig, PullProgress};
use crate::ir::{Clock, Error, ErrorCode, ModelInfo, Request, Response, StreamBody, StreamEvent, UnixMs};
use decode::Decoder;
use encode::{Encoding, SignedThinking};
use refused::Refused;

/// The version of the API that is spoken here.
const API_VERSION: &str = "2023-06-01";
/// Largest answer that is read whole (lists), in bytes.
const BODY_LIMIT: usize = 16 * 1024 * 1024;
/// Largest error body, in bytes.
const ERROR_LIMIT: usize = 1024 * 1024;

/// A server that speaks the Messages API.
pub(super) struct Anthropic {
    id: String,
    http: Http,
    limits: TimeLimits,
    signed_thinking: SignedThinking,
    is_remote: bool,
    clock: Clock,
}

impl Anthropic {
    /// A client for the server that the configuration names.
    pub(super) fn new(config: ProviderConfig, clock: Clock) -> Result<Self, Error> {
        let address = address::parse(&config.base_url).map_err(|error| error.from_provider(&config.id))?;
        let limits = config.network.limits(address.reach());
        let host = address.url().host_str().unwrap_or_default().to_ascii_lowercase();
        let is_agnes = config.id.starts_with("agnes") || host.contains("agnes-ai");
        let headers = headers(&config, host == "api.anthropic.com").map_err(|error| error.from_provider(&config.id))?;
        let http = Http::through(&config.network, &address)?.with_headers(headers);
        let signed_thinking = if is_agnes { SignedThinking::Unneeded } else { SignedThinking::Needed };
        let is_remote = config.is_remote.unwrap_or(!http.is_on_this_machine());
        Ok(Self { id: config.id, http, limits, signed_thinking, is_remote, clock })
    }

    async fn ask_and_read(
        &self,
        model: &str,
        request: &Request,
        listener: Listener,
        stream: bool,
    ) -> Result<Response, Error> {
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
        let reply = self.ask(model, request, stream, answer).await?;
        pump(reply, reader(request, &self.id, model), answer, Error::from).await
    }

    /// Asks, and again without what the server does not take.
    async fn ask(&self, model: &str, request: &Request, stream: bool, answer: &Answer<'_>) -> Result<Reply, Error> {
        let origin = self.http.origin().to_owned();
        let subject = Subject { format: ANTHROPIC, address: origin, model: model.to_owned() };
        let mut refused: Refused = memory().of(&subject).await;
        loop {
            let with = Encoding {
                provider: &self.id,
                model,
                known: model::known(model),
                stream,
                signed_thinking: self.signed_thinking,
                refused,
            };
            let body = encode::messages(request, &with)?;
            let reply = self.http.post_json("v1/messages", body, self.limits).await?;
            if reply.is_success() {
                return Ok(reply);
            }
            let (status, headers) = (reply.status, reply.retry.clone());
            let body = reply.bytes(ERROR_LIMIT).await.unwrap_or_default();
            let body = String::from_utf8_lossy(&body);
            match refused.learn(status, &super::retry::error_text(&body)) {
                Some(learnt) => {
                    refused = learnt;
                    memory().keep(subject.clone(), &learnt).await;
                }
                None => return Err(fault::refused(status, &body, &headers, model, answer.now())),
            }
        }
    }

    /// The JSON of a successful answer, or what the refusal means. `model` is the one that was asked about.
    async fn json<T: DeserializeOwned>(&self, reply: Reply, model: &str) -> Result<T, Error> {
        let (status, headers, is_success) = (reply.status, reply.retry.clone(), reply.is_success());
        let body = reply.bytes(BODY_LIMIT).await?;
        let text = String::from_utf8_lossy(&body);
        if !is_success {
            return Err(fault::refused(status, &text, &headers, model, (self.clock)()));
        }
        serde_json::from_str(trimmed(&text)).map_err(|error| fault::not_our_format(&text, &error))
    }

    fn named(&self, error: Error) -> Error {
        error.from_provider(&self.id)
    }
}

/// A reader of one answer of this format.
pub(super) fn reader<'a>(request: &'a Request, provider: &'a str, model: &'a str) -> impl Reader + use<'a> {
    MessageReader { body: Body::default(), decoder: Decoder::new(request, provider, model) }
}

struct MessageReader<'a> {
    body: Body,
    decoder: Decoder<'a>,
}

impl MessageReader<'_> {
    fn read(&mut self, bytes: Option<&[u8]>, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let Self { body, decoder } = self;
        let each = |part: Part<'_>| match part {
            Part::Event(event) => decoder.event(event, now, out),
            Part::Whole(text) => decoder.whole(text, now, out),
        };
        match bytes {
            Some(bytes) => body.feed(bytes, each),
            None => body.finish(each),
        }
    }
}

impl Reader for MessageReader<'_> {
    fn feed(&mut self, bytes: &[u8], now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        self.read(Some(bytes), now, out)
    }

    fn end_of_body(&mut self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        self.read(None, now, out)
    }

    fn is_done(&self) -> bool {
        self.decoder.is_done()
    }

    fn is_growing(&self) -> bool {
        self.body.is_growing()
    }

    fn model(&self) -> &str {
        self.decoder.model()
    }

    fn finish(self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<Ending, Error> {
        self.decoder.finish(now, out)
    }
}

/// Anthropic itself takes its own header alone; servers that only speak its format look for a key in either place.
fn headers(config: &ProviderConfig, is_anthropic: bool) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    headers.insert("anthropic-version", HeaderValue::from_static(API_VERSION));
    if let Some(key) = &config.api_key {
        headers.insert("x-api-key", secret_value(key.expose())?);
        if !is_anthropic {
            headers.insert("authorization", secret_value(&format!("Bearer {}", key.expose()))?);
        }
    }
    for (name, value) in &config.headers {
        let name = HeaderName::from_bytes(name.trim().as_bytes())
            .map_err(|error| Error::new(ErrorCode::Unknown, format!("{name} is not the name of a header: {error}.")))?;
        headers.insert(name, secret_value(value.expose())?);
    }
    Ok(headers)
}

fn secret_value(text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text).map_err(|error| {
        let words = "The key holds characters that no key has. Copy it again and set it in Settings › Models";
        Error::new(ErrorCode::AuthInvalid, format!("{words} ({error})."))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

impl Provider for Anthropic {
    fn provider_id(&self) -> &str {
        &self.id
    }

    fn is_remote(&self, _: &str) -> bool {
        self.is_remote
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, Error>> {
        Box::pin(async { self.models().await.map_err(|error| self.named(error)) })
    }

    fn model_info<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<ModelInfo, Error>> {
        Box::pin(async move { self.model(model).await.map_err(|error| self.named(error)) })
    }

    fn health_check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async { self.greeting().await.map_err(|error| self.named(error)) })
    }

    fn send_stream<'a>(
        &'a self,
        model: &'a str,
        request: &'a Request,
        events: mpsc::Sender<StreamEvent>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        let stream = request.params.stream.unwrap_or(true);
        Box::pin(self.ask_and_read(model, request, Listener::Events(events), stream))
    }

    fn send<'a>(&'a self, model: &'a str, request: &'a Request) -> BoxFuture<'a, Result<Response, Error>> {
        let stream = request.params.stream.unwrap_or(false);
        Box::pin(self.ask_and_read(model, request, Listener::Nobody, stream))
    }

    fn pull<'a>(&'a self, _: &'a str, _: mpsc::Sender<PullProgress>) -> BoxFuture<'a, Result<(), Error>> {
        let words = "This provider has no models to download.";
        Box::pin(async move { Err(self.named(Error::new(ErrorCode::Unknown, words))) })
    }
}

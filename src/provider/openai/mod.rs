//! OpenAI's chat completions as most servers speak them: DeepSeek, Agnes, OpenAI itself, OpenRouter, LM Studio, llama.cpp,
//! vLLM and many more.
//!
//! The files: `address` (what a person types), `dialect` (how vendors differ: one row each), `refused` (what a server turned
//! out not to take), `wire` (the JSON), `encode` (request), `kept` (what goes back unread), `decode` (answer), `lenient` (fields of the wrong type), `catalog` (models), `fault` (what errors mean for a person). Calls are put together
//! in `provider::assembly`.

mod address;
mod catalog;
mod decode;
mod dialect;
mod encode;
mod fault;
mod kept;
mod lenient;
mod refused;
#[cfg(test)]
mod replay;
mod wire;

use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::mpsc;

use super::answer::{Answer, Ending, Listener, in_time};
use super::body::Body;
use super::http::{Address, Http, Reply, TimeLimits};
use super::memory::memory;
use super::mistake::Mistake;
use super::reader::{Reader, pump};
use super::text_call::Recognition;
use super::tool_name::ToolNames;
use super::{Provider, ProviderConfig, PullProgress, SecretKey};
use crate::ir::{Clock, Error, ErrorCode, ModelInfo, Request, Response, StreamBody, StreamEvent, UnixMs};
use address::Place;
use decode::Decoder;
use dialect::{Auth, Dialect};
use encode::Encoding;
use fault::{Complaint, Subject};
use refused::Refused;

/// Largest error body, in bytes.
const ERROR_LIMIT: usize = 1024 * 1024;
/// Most times that one request is written anew because a part of it was refused.
const ATTEMPTS: usize = 8;
/// The address that a server is asked at, from what a person typed.
pub(super) fn address(base_url: &str) -> Result<Address, Error> {
    Place::parse(base_url, "").map(|place| place.base)
}

/// A server of this format.
pub(super) struct OpenAi {
    id: String,
    http: Http,
    place: Place,
    dialect: &'static Dialect,
    has_key: bool,
    is_remote: bool,
    /// Models whose calls are printed as text.
    text_call_models: Vec<String>,
    limits: TimeLimits,
    clock: Clock,
}

impl OpenAi {
    /// A client for the server that the configuration names.
    pub(super) fn new(config: ProviderConfig, clock: Clock) -> Result<Self, Error> {
        let named = |error: Error| error.from_provider(&config.id);
        let nowhere = url::Url::parse("http://localhost/").map_err(|error| named(no_header(&error.to_string())))?;
        let usual_path = Dialect::of(&config.dialect, &nowhere).usual_path;
        let place = Place::parse(&config.base_url, usual_path).map_err(named)?;
        let dialect = Dialect::of(&config.dialect, place.base.url());
        // An address that names only a host gets the path of whose it is.
        let place = Place::parse(&config.base_url, dialect.usual_path).map_err(named)?;
        let http = Http::through(&config.network, &place.base)
            .map_err(|error| named(error.into()))?
            .with_headers(headers(&config, dialect).map_err(named)?);
        let is_remote = config.is_remote.unwrap_or(!http.is_on_this_machine());
        let limits = config.network.limits(place.base.reach());
        Ok(Self {
            id: config.id,
            http,
            place,
            dialect,
            has_key: config.api_key.is_some(),
            is_remote,
            text_call_models: config.text_call_models,
            limits,
            clock,
        })
    }

    fn subject<'a>(&'a self, model: &'a str) -> Subject<'a> {
        Subject { provider: &self.id, has_key: self.has_key, model }
    }

    /// Whether what this model prints may be a call.
    fn recognition(&self, model: &str) -> Recognition {
        let is_named = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning),
            None => model == pattern,
        };
        if self.text_call_models.iter().any(is_named) { Recognition::Calls } else { Recognition::Copies }
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
        let names = ToolNames::of(request);
        let subject = self.subject(model);
        let mut reader = ChatReader::new(request, subject, self.recognition(model));
        match self.ask(model, request, stream, &names, answer).await? {
            Asked::Reply(reply) => pump(*reply, reader, answer, |error| fault::unreachable(error, subject)).await,
            Asked::Mistake(mistake) => {
                let mut out = Vec::new();
                reader.decoder.mistake(mistake, &mut out);
                let ending = reader.finish(answer.now(), &mut out);
                answer.push_all(out).await?;
                ending
            }
        }
    }

    /// Asks until the server takes the request: what it refuses is left out or written otherwise, each thing once.
    async fn ask(
        &self,
        model: &str,
        request: &Request,
        stream: bool,
        names: &ToolNames<'_>,
        answer: &Answer<'_>,
    ) -> Result<Asked, Error> {
        let address = self.place.base.url().as_str();
        let known = refused::recall(memory(), address, model).await;
        let mut refused = known;
        let mut not_there = None;
        for _ in 0..ATTEMPTS {
            let with = Encoding {
                dialect: self.dialect,
                provider: &self.id,
                model,
                stream,
                refused,
                wants_thinking: request.params.thinking_enabled != Some(false),
                names,
            };
            let body = encode::chat(request, &with)?;
            let path = self.path(&self.place.chat(model), refused);
            let sent = self.http.post_json(&path, body, self.limits).await;
            let reply = sent.map_err(|error| fault::unreachable(error, self.subject(model)))?;
            if reply.is_success() {
                if refused != known {
                    refused::keep(memory(), address, model, refused).await;
                }
                return Ok(Asked::Reply(Box::new(reply)));
            }
            let (status, headers) = (reply.status, reply.retry.clone());
            let body = reply.bytes(ERROR_LIMIT).await.unwrap_or_default();
            let complaint = Complaint::of(&String::from_utf8_lossy(&body));
            if let Some(mistake) = Mistake::in_text(&complaint.text).filter(|_| status >= 500) {
                return Ok(Asked::Mistake(mistake));
            }
            let error = fault::refused(status, &complaint, &headers, self.subject(model), answer.now());
            if let Some(error) = not_there.take() {
                // The other path is not there either.
                if matches!(status, 404 | 405) {
                    return Err(error);
                }
            }
            let is_no_such_path = error.provider_code.as_deref() == Some("no_such_path");
            if is_no_such_path && !refused.path && self.place.other_base.is_some() {
                refused.path = true;
                not_there = Some(error);
                continue;
            }
            match refused.learn(status, &complaint.text, &complaint.parameter) {
                Some(learnt) => refused = learnt,
                None => return Err(error),
            }
        }
        let words = "The server refuses one part of the request after another. Choose another model.";
        Err(Error::new(ErrorCode::Unknown, words))
    }

    /// Where a path is, by what is known of the server.
    fn path(&self, path: &str, refused: Refused) -> String {
        match self.place.other_base.as_ref().filter(|_| refused.path).map(|base| base.join(path)) {
            Some(Ok(url)) => url.into(),
            Some(Err(_)) | None => path.to_owned(),
        }
    }
}

/// What came of a request.
enum Asked {
    /// The answer begins.
    Reply(Box<Reply>),
    /// The server could not read the call that the model wrote.
    Mistake(Mistake),
}

/// A reader of one answer, for what is read without a network.
pub(super) fn reader<'a>(request: &'a Request, provider: &'a str, model: &'a str) -> impl Reader + use<'a> {
    ChatReader::new(request, Subject { provider, has_key: true, model }, Recognition::Copies)
}

/// Reads one answer.
struct ChatReader<'a> {
    body: Body,
    decoder: Decoder<'a>,
}

impl<'a> ChatReader<'a> {
    fn new(request: &'a Request, subject: Subject<'a>, recognition: Recognition) -> Self {
        Self { body: Body::default(), decoder: Decoder::new(request, subject, recognition) }
    }
}

impl Reader for ChatReader<'_> {
    fn feed(&mut self, bytes: &[u8], now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let Self { body, decoder } = self;
        body.feed(bytes, |part| decoder.part(part, now, out))
    }

    fn end_of_body(&mut self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<(), Error> {
        let Self { body, decoder } = self;
        body.finish(|part| decoder.last_part(part, now, out))
    }

    fn is_done(&self) -> bool {
        self.decoder.is_done()
    }

    fn is_growing(&self) -> bool {
        self.body.is_growing()
    }

    fn is_whole(&self) -> bool {
        self.decoder.is_terminal()
    }

    fn model(&self) -> &str {
        self.decoder.model()
    }

    fn finish(self, now: UnixMs, out: &mut Vec<StreamBody>) -> Result<Ending, Error> {
        self.decoder.finish(now, out)
    }
}

/// The headers of every request: the key, and what the person adds.
fn headers(config: &ProviderConfig, dialect: &Dialect) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    let secret = |prefix: &str, key: &SecretKey| {
        let mut value = HeaderValue::try_from(format!("{prefix}{}", key.expose()))
            .map_err(|_invalid| no_header("the key holds characters that cannot be sent"))?;
        value.set_sensitive(true);
        Ok::<_, Error>(value)
    };
    if let Some(key) = &config.api_key {
        match dialect.auth {
            Auth::Bearer => headers.insert(AUTHORIZATION, secret("Bearer ", key)?),
            Auth::ApiKey => headers.insert(HeaderName::from_static("api-key"), secret("", key)?),
        };
    }
    for (name, value) in &config.headers {
        let name =
            HeaderName::try_from(name).map_err(|_invalid| no_header(&format!("{name} is no name for a header")))?;
        headers.insert(name, secret("", value)?);
    }
    Ok(headers)
}

fn no_header(problem: &str) -> Error {
    let words = format!("No request could be made: {problem}. Enter it again in Settings › Models.");
    Error::new(ErrorCode::AuthInvalid, words)
}

impl Provider for OpenAi {
    fn provider_id(&self) -> &str {
        &self.id
    }

    fn is_remote(&self, _: &str) -> bool {
        self.is_remote
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, Error>> {
        Box::pin(async { self.models().await.map_err(|error| error.from_provider(&self.id)) })
    }

    fn model_info<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<ModelInfo, Error>> {
        Box::pin(async move { Ok(self.model(model).await) })
    }

    fn health_check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async { self.greeting().await.map_err(|error| error.from_provider(&self.id)) })
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

    fn pull<'a>(&'a self, model: &'a str, _: mpsc::Sender<PullProgress>) -> BoxFuture<'a, Result<(), Error>> {
        let words = format!("{} cannot download {model}: models of this server are chosen where it runs.", self.id);
        Box::pin(async move { Err(Error::new(ErrorCode::Unknown, words).from_provider(&self.id)) })
    }
}

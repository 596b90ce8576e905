//! A provider that plays a script, for tests of everything above it: deltas, calls, errors, and gates at which it waits
//! until the test lets it go on. No network, no model.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::answer::{Answer, CallIds, Ending, Listener};
use super::{Provider, PullProgress};
use crate::ir::{
    Clock, Error, ErrorCode, FinishReason, ModelInfo, Request, Response, StreamBody, StreamEvent, Support, TokenUsage,
    ToolCall,
};

/// One step of an answer.
#[derive(Debug, Clone)]
pub enum Step {
    /// More thinking.
    Think(String),
    /// More answer.
    Text(String),
    /// A call with an id of its own.
    Call {
        /// The tool.
        name: String,
        /// Its arguments.
        args: Value,
    },
    /// A call exactly as given, id and parse error included.
    RawCall(ToolCall),
    /// The count of tokens.
    Usage(TokenUsage),
    /// Wait here until the test opens the gate.
    Gate(Gate),
    /// Break off.
    Fail(Error),
    /// End for this reason; without it an answer ends with `tool_calls` or `stop`.
    End(FinishReason),
}

impl Step {
    /// More answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// More thinking.
    pub fn think(text: impl Into<String>) -> Self {
        Self::Think(text.into())
    }

    /// A call with an id of its own.
    pub fn call(name: impl Into<String>, args: Value) -> Self {
        Self::Call { name: name.into(), args }
    }
}

/// A place in a script at which the answer waits.
#[derive(Debug, Clone)]
pub struct Gate {
    reached: watch::Sender<bool>,
    opened: watch::Sender<bool>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { reached: watch::Sender::new(false), opened: watch::Sender::new(false) }
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the answer go on.
    pub fn open(&self) {
        self.opened.send_replace(true);
    }

    /// Waits until the answer stands at the gate.
    pub async fn reached(&self) {
        // The sender lives in `self`, so that waiting cannot fail.
        drop(self.reached.subscribe().wait_for(|reached| *reached).await);
    }

    async fn pass(&self) {
        self.reached.send_replace(true);
        drop(self.opened.subscribe().wait_for(|opened| *opened).await);
    }
}

type Script = Box<dyn Fn(usize, &Request) -> Vec<Step> + Send + Sync>;

/// Plays a script.
pub struct Scripted {
    id: String,
    models: Vec<ModelInfo>,
    script: Script,
    played: AtomicUsize,
    requests: watch::Sender<Vec<Request>>,
    clock: Clock,
}

impl Scripted {
    /// Answers each request with the next of `answers`; after the last every request fails.
    pub fn new(answers: Vec<Vec<Step>>, clock: Clock) -> Arc<Self> {
        Self::answering(
            move |number, _| {
                answers.get(number).cloned().unwrap_or_else(|| {
                    vec![Step::Fail(Error::new(ErrorCode::InvalidResponse, "The script has no more answers."))]
                })
            },
            clock,
        )
    }

    /// Answers what `script` says to the n-th request (from 0).
    pub fn answering(script: impl Fn(usize, &Request) -> Vec<Step> + Send + Sync + 'static, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            id: "scripted".into(),
            models: vec![Self::model("script")],
            script: Box::new(script),
            played: AtomicUsize::new(0),
            requests: watch::Sender::new(Vec::new()),
            clock,
        })
    }

    /// The requests so far, and a way to wait for more.
    pub fn requests(&self) -> watch::Receiver<Vec<Request>> {
        self.requests.subscribe()
    }

    /// A model that can do everything.
    pub fn model(id: &str) -> ModelInfo {
        ModelInfo {
            id: id.into(),
            provider_id: "scripted".into(),
            display_name: id.into(),
            context_window: 32_768,
            max_output: 0,
            supports_streaming: true,
            supports_thinking: Support::Yes,
            supports_images: Support::Yes,
            supports_tool_calling: Support::Yes,
            supports_structured_output: Support::Yes,
            is_elsewhere: false,
            pricing: None,
        }
    }

    async fn play(&self, model: &str, request: &Request, listener: Listener) -> Result<Response, Error> {
        self.requests.send_modify(|requests| requests.push(request.clone()));
        let number = self.played.fetch_add(1, Ordering::Relaxed);
        let steps = (self.script)(number, request);
        let mut answer = Answer::new(request, &self.id, model, listener, self.clock.clone());
        match self.perform(steps, request, &mut answer).await {
            Ok(reason) => answer.complete(Ending::from(reason)).await,
            Err(error) => Err(answer.fail(error).await),
        }
    }

    async fn perform(
        &self,
        steps: Vec<Step>,
        request: &Request,
        answer: &mut Answer<'_>,
    ) -> Result<FinishReason, Error> {
        let mut ids = CallIds::new(request);
        let mut reason = FinishReason::Stop;
        for step in steps {
            let body = match step {
                Step::Think(delta) => StreamBody::ReasoningDelta { delta },
                Step::Text(delta) => StreamBody::TextDelta { delta },
                Step::Call { name, args } => {
                    reason = FinishReason::ToolCalls;
                    let tool_call = ToolCall {
                        id: ids.next(""),
                        name,
                        args,
                        iteration: request.meta.iteration,
                        timestamp: answer.now(),
                        raw_args: None,
                        parse_error: None,
                        marks: Vec::new(),
                    };
                    StreamBody::ToolCallComplete { tool_call }
                }
                Step::RawCall(tool_call) => {
                    reason = FinishReason::ToolCalls;
                    StreamBody::ToolCallComplete { tool_call }
                }
                Step::Usage(usage) => StreamBody::Usage { usage },
                Step::Gate(gate) => {
                    gate.pass().await;
                    continue;
                }
                Step::Fail(error) => return Err(error),
                Step::End(reason) => return Ok(reason),
            };
            answer.push(body).await?;
        }
        Ok(reason)
    }
}

impl Provider for Scripted {
    fn provider_id(&self) -> &str {
        &self.id
    }

    fn is_remote(&self, _: &str) -> bool {
        false
    }

    fn list_models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, Error>> {
        Box::pin(async { Ok(self.models.clone()) })
    }

    fn model_info<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<ModelInfo, Error>> {
        Box::pin(async move { Ok(Self::model(model)) })
    }

    fn health_check(&self) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async { Ok("Script".into()) })
    }

    fn send_stream<'a>(
        &'a self,
        model: &'a str,
        request: &'a Request,
        events: mpsc::Sender<StreamEvent>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(self.play(model, request, Listener::Events(events)))
    }

    fn send<'a>(&'a self, model: &'a str, request: &'a Request) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(self.play(model, request, Listener::Nobody))
    }

    fn pull<'a>(&'a self, _: &'a str, _: mpsc::Sender<PullProgress>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Err(Error::new(ErrorCode::Unknown, "A script has nothing to download.")) })
    }
}

//! One answer as it is given: what an adapter saw goes in, numbered events go out, and the whole answer is kept for the
//! end. Every adapter uses it, so the order rules hold for all of them. It knows no wire format.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::ir::{
    CallId, Clock, Error, ErrorCode, FinishReason, Message, PerfStats, Request, Response, ResponseMeta, StreamBody,
    StreamEvent, StreamSequencer, TokenUsage, ToolCall, UnixMs,
};

/// Most bytes of text and thinking of one answer. Whoever listens may have enough earlier; where only the whole is wanted,
/// nobody else watches.
const LONGEST: usize = 16 * 1024 * 1024;

/// Who listens while an answer comes.
#[derive(Debug, Clone)]
pub enum Listener {
    /// Gets every event; a full queue slows the answer.
    Events(mpsc::Sender<StreamEvent>),
    /// Only the whole answer is wanted.
    Nobody,
}

/// An answer that is being given.
pub struct Answer<'a> {
    request: &'a Request,
    provider: String,
    model: String,
    listener: Listener,
    clock: Clock,
    began_at: UnixMs,
    sequencer: StreamSequencer,
    content: String,
    reasoning: String,
    calls: Vec<ToolCall>,
    usage: TokenUsage,
}

/// How an answer ended, beyond what its events said.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// Why.
    pub finish_reason: FinishReason,
    /// The provider's own timings.
    pub perf: Option<PerfStats>,
    /// Opaque data to keep with the message.
    pub provider_state: Option<Value>,
}

impl From<FinishReason> for Ending {
    fn from(finish_reason: FinishReason) -> Self {
        Self { finish_reason, perf: None, provider_state: None }
    }
}

impl<'a> Answer<'a> {
    /// Begins an answer to `request`.
    pub fn new(request: &'a Request, provider: &str, model: &str, listener: Listener, clock: Clock) -> Self {
        let meta = &request.meta;
        Self {
            request,
            provider: provider.into(),
            model: model.into(),
            listener,
            began_at: clock(),
            clock,
            sequencer: StreamSequencer::new(meta.request_id.clone(), meta.session_id.clone(), meta.iteration),
            content: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            usage: TokenUsage::default(),
        }
    }

    /// The time.
    pub fn now(&self) -> UnixMs {
        (self.clock)()
    }

    /// The model that really answers, where the provider names it.
    pub fn set_model(&mut self, model: &str) {
        if !model.is_empty() && self.model != model {
            model.clone_into(&mut self.model);
        }
    }

    /// Whether anything was given that a person could have seen.
    pub fn has_shown(&self) -> bool {
        !self.content.is_empty() || !self.reasoning.is_empty() || !self.calls.is_empty()
    }

    /// Where a model ended well and neither said nor called anything, what it thought is its answer: some never say where
    /// their thinking ends. `rest` are the pieces that are still to be given.
    pub fn say_thought(&self, ending: &Ending, rest: &mut Vec<StreamBody>) {
        let is_said = |body: &StreamBody| match body {
            StreamBody::TextDelta { delta } => !delta.trim().is_empty(),
            StreamBody::ToolCallComplete { .. } => true,
            StreamBody::ThinkingStart
            | StreamBody::ThinkingEnd
            | StreamBody::ReasoningDelta { .. }
            | StreamBody::ToolCallDelta { .. }
            | StreamBody::Usage { .. }
            | StreamBody::Error { .. }
            | StreamBody::Done => false,
        };
        let has_said = !self.content.trim().is_empty() || !self.calls.is_empty() || rest.iter().any(is_said);
        if ending.finish_reason != FinishReason::Stop || has_said {
            return;
        }
        let mut thought = self.reasoning.clone();
        for body in rest.iter() {
            if let StreamBody::ReasoningDelta { delta } = body {
                thought.push_str(delta);
            }
        }
        let thought = thought.trim();
        if !thought.is_empty() {
            let at = rest.iter().position(|body| matches!(body, StreamBody::Usage { .. })).unwrap_or(rest.len());
            rest.insert(at, StreamBody::TextDelta { delta: thought.to_owned() });
        }
    }

    /// Gives the next piece.
    ///
    /// # Errors
    /// `user_aborted` when nobody listens any more; `invalid_response` when the answer grows without end.
    pub async fn push(&mut self, body: StreamBody) -> Result<(), Error> {
        match &body {
            StreamBody::ReasoningDelta { delta } | StreamBody::TextDelta { delta }
                if self.content.len() + self.reasoning.len() + delta.len() > LONGEST =>
            {
                let words = "The answer grew without end and was broken off. What had come is kept.";
                let error = Error::new(ErrorCode::InvalidResponse, words);
                return Err(Error { provider_code: Some("too_large".into()), ..error });
            }
            StreamBody::ReasoningDelta { delta } => self.reasoning.push_str(delta),
            StreamBody::TextDelta { delta } => self.content.push_str(delta),
            StreamBody::ToolCallComplete { tool_call } => self.calls.push(tool_call.clone()),
            StreamBody::Usage { usage } => self.usage = *usage,
            StreamBody::ThinkingStart
            | StreamBody::ThinkingEnd
            | StreamBody::ToolCallDelta { .. }
            | StreamBody::Error { .. }
            | StreamBody::Done => {}
        }
        let Listener::Events(events) = &self.listener else { return Ok(()) };
        let now = (self.clock)();
        for event in self.sequencer.push(body, now) {
            if events.send(event).await.is_err() {
                return Err(Error::new(ErrorCode::UserAborted, "Stopped."));
            }
        }
        Ok(())
    }

    /// Gives several pieces.
    ///
    /// # Errors
    /// `user_aborted` when nobody listens any more.
    pub async fn push_all(&mut self, bodies: impl IntoIterator<Item = StreamBody>) -> Result<(), Error> {
        for body in bodies {
            self.push(body).await?;
        }
        Ok(())
    }

    /// Ends it as the work on it ended.
    ///
    /// # Errors
    /// The work's own, as [`Self::fail`] gives it back; `user_aborted` when nobody listens any more.
    pub async fn end(self, outcome: Result<Ending, Error>) -> Result<Response, Error> {
        match outcome {
            Ok(ending) => self.complete(ending).await,
            Err(error) => Err(self.fail(error).await),
        }
    }

    /// Ends it well.
    ///
    /// # Errors
    /// `user_aborted` when nobody listens any more.
    pub async fn complete(mut self, ending: Ending) -> Result<Response, Error> {
        self.push(StreamBody::Done).await?;
        let now = self.now();
        Ok(Response {
            meta: ResponseMeta {
                request_id: self.request.meta.request_id.clone(),
                provider: self.provider,
                model: self.model,
                latency_ms: now.since(self.began_at),
                timestamp: now,
                perf_stats: ending.perf,
            },
            content: self.content,
            reasoning_content: Some(self.reasoning).filter(|reasoning| !reasoning.is_empty()),
            structured_output: None,
            tool_calls: Some(self.calls).filter(|calls| !calls.is_empty()),
            usage: self.usage,
            finish_reason: ending.finish_reason,
            error: None,
            provider_state: ending.provider_state,
        })
    }

    /// Ends it with an error: the events `error` and `done` are given, and the error comes back with the provider's name,
    /// not retryable when something was shown.
    pub async fn fail(mut self, error: Error) -> Error {
        let mut error = error.from_provider(&self.provider);
        error.retryable &= !self.has_shown();
        // Nobody listening makes no difference to a failed answer.
        let told = self.push_all([StreamBody::Error { error: error.clone() }, StreamBody::Done]).await;
        drop(told);
        error
    }
}

/// Waits for the work on an answer, for as long as its request allows.
///
/// # Errors
/// `timeout` when that is over; else the work's own.
pub async fn in_time<T>(request: &Request, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let Some(millis) = request.constraints.as_ref().and_then(|constraints| constraints.timeout_ms) else {
        return work.await;
    };
    tokio::time::timeout(Duration::from_millis(millis), work)
        .await
        .unwrap_or_else(|_| Err(Error::new(ErrorCode::Timeout, format!("No whole answer within {millis} ms."))))
}

/// Gives every call an id of its own: the model's where it is new in the session, else one made from the request's.
#[derive(Debug)]
pub struct CallIds<'a> {
    request: &'a Request,
    given: Vec<CallId>,
}

impl<'a> CallIds<'a> {
    /// For the calls of one answer.
    pub fn new(request: &'a Request) -> Self {
        Self { request, given: Vec::new() }
    }

    /// An id for the next call; `wanted` is what the provider sent, maybe nothing.
    pub fn next(&mut self, wanted: &str) -> CallId {
        let is_taken = |id: &CallId| {
            self.given.contains(id) || self.request.messages.iter().flat_map(Message::calls).any(|call| call.id == *id)
        };
        let mut id = CallId::new(wanted.trim());
        let mut number = self.given.len();
        while id.as_str().is_empty() || is_taken(&id) {
            id = CallId::new(format!("call_{}_{number}", self.request.meta.request_id));
            number += 1;
        }
        self.given.push(id.clone());
        id
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_grows_without_end_is_broken_off_also_where_nobody_listens() {
        let request: Request = serde_json::from_value(json!({
            "meta": {"sessionId": "s", "iteration": 1, "requestId": "r", "timestamp": 0, "agentVersion": "0"},
            "systemPrompt": {"roleDefinition": ""}, "messages": [], "params": {},
        }))
        .unwrap();
        let mut answer = Answer::new(&request, "p", "m", Listener::Nobody, Arc::new(|| UnixMs(0)));
        let piece = StreamBody::ReasoningDelta { delta: "x".repeat(1024 * 1024) };
        for _ in 0..16 {
            answer.push(piece.clone()).await.unwrap();
        }
        let error = answer.push(StreamBody::TextDelta { delta: "x".into() }).await.unwrap_err();
        assert_eq!((error.code, error.provider_code.as_deref()), (ErrorCode::InvalidResponse, Some("too_large")));
    }
}

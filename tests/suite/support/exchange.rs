//! One question to a provider and all that comes of it.

use std::sync::Arc;

use nod::ir::{Accumulator, Clock, Error, Request, Response, StreamEvent, UnixMs};
use nod::provider::Provider;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The moment at which every test of a wire format happens.
pub(crate) const NOW: UnixMs = UnixMs(1_719_000_000_000);

pub(crate) fn clock() -> Clock {
    Arc::new(|| NOW)
}

/// A request with nothing but these messages.
pub(crate) fn request(messages: &Value) -> Request {
    serde_json::from_value(json!({
        "meta": {"sessionId": "s_1", "iteration": 1, "requestId": "r_1", "timestamp": NOW, "agentVersion": "0.1.0"},
        "systemPrompt": {"roleDefinition": ""},
        "messages": messages,
        "params": {},
    }))
    .unwrap()
}

pub(crate) fn hello() -> Request {
    request(&json!([{"role": "user", "content": "hi", "timestamp": 0}]))
}

/// Sends, and gives what came: the events in order, and how it ended.
pub(crate) async fn streamed_by(
    provider: &dyn Provider,
    model: &str,
    request: &Request,
) -> (Vec<StreamEvent>, Result<Response, Error>) {
    let (sender, mut receiver) = mpsc::channel(4);
    let collect = async {
        let mut events = Vec::new();
        while let Some(event) = receiver.recv().await {
            events.push(event);
        }
        events
    };
    let (outcome, events) = tokio::join!(provider.send_stream(model, request, sender), collect);
    (events, outcome)
}

/// The same with the model of the scripted Ollama server.
pub(crate) async fn streamed(
    provider: &dyn Provider,
    request: &Request,
) -> (Vec<StreamEvent>, Result<Response, Error>) {
    streamed_by(provider, "qwen3:8b", request).await
}

pub(crate) fn bodies(events: &[StreamEvent]) -> Value {
    serde_json::to_value(events.iter().map(|event| &event.body).collect::<Vec<_>>()).unwrap()
}

/// The order rules hold, and the events add up to the response.
pub(crate) fn check_order(events: &[StreamEvent], outcome: &Result<Response, Error>) {
    let mut sum = Accumulator::default();
    for event in events {
        sum.apply(event).unwrap();
    }
    assert!(sum.is_done());
    match outcome {
        Ok(response) => {
            assert_eq!(sum.content, response.content);
            assert_eq!(sum.reasoning, response.reasoning_content.clone().unwrap_or_default());
            assert_eq!(sum.calls, response.tool_calls.clone().unwrap_or_default());
            assert_eq!(sum.usage.unwrap_or_default(), response.usage);
            assert_eq!(sum.error, None);
        }
        Err(error) => assert_eq!(sum.error.as_ref(), Some(error)),
    }
}

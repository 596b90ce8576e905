//! Calls of devices' tools by the program that a server is part of, as the server's own agent makes them: without HTTP.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::link::wire::CallError;

use super::service::{Calls, Context, Wanted};

/// The way to the devices of a server that runs in this program.
#[derive(Clone)]
pub struct Caller(Arc<Calls>);

impl Caller {
    pub(super) fn new(calls: Arc<Calls>) -> Self {
        Self(calls)
    }

    /// Runs a tool of a user's device, at most once for one `tool_call_id` of that user, and gives what it gave. It belongs to
    /// no conversation, like a developer's call over HTTP.
    ///
    /// # Errors
    /// A call that did not succeed, with its stable code.
    pub async fn call(
        &self,
        user: &str,
        device_id: &str,
        tool_call_id: String,
        tool_name: &str,
        arguments: Value,
    ) -> Result<Value, CallError> {
        let context = Context {
            user: user.to_owned(),
            device_id: Some(device_id.to_owned()),
            thread_id: String::new(),
            run_id: String::new(),
        };
        let wanted = Wanted { tool_call_id, tool_name: tool_name.to_owned(), arguments };
        self.0.call(&context, wanted, &CancellationToken::new()).await
    }
}

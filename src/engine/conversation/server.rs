//! A server's interface for conversations: lists, histories, turns. Each request carries the user token that was entered
//! for the server's own origin, and is refused anywhere else.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::ir::LinkProblem;
use crate::link::agui::RunAgentInput;
use crate::link::thread::{Prepared, ThreadRow, ThreadView};
use crate::provider::http::{Http, Reply, TimeLimits, base_address};

use super::super::link;
use super::super::shared::{Shared, unique};

/// For answers that come at once.
const QUICK: TimeLimits = TimeLimits {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(20),
    idle: Duration::from_secs(20),
    meaningful: Duration::from_secs(20),
};
/// For an answer that comes as a stream: the server says every 15 seconds that it is there; a model may think for long, and
/// so may the person who is asked.
const STREAM: TimeLimits = TimeLimits {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(45),
    meaningful: Duration::from_mins(15),
};
/// The longest list of conversations, in bytes.
const LIST_BYTES: usize = 16 << 20;
/// The longest conversation, in bytes.
const THREAD_BYTES: usize = 64 << 20;
/// The longest small answer, in bytes.
const SMALL_BYTES: usize = 64 << 10;

/// A server that the person added.
pub(super) struct Server {
    http: Http,
    /// This computer: the server's agent may use its tools.
    device_id: String,
}

impl Server {
    /// The server of this address.
    pub(super) async fn open(shared: &Shared, url: &str) -> Result<Self, LinkProblem> {
        let server = link::server(shared, url).await.map_err(|fault| LinkProblem::Address { detail: fault.detail })?;
        let server = server.ok_or_else(|| LinkProblem::Address { detail: url.to_owned() })?;
        let address = base_address(url).map_err(|error| LinkProblem::Address { detail: error.to_string() })?;
        let token = link::token(shared, &server, &address.origin()).await?;
        let http = Http::through(&link::network(shared), &address)
            .and_then(|http| http.with_bearer(&token))
            .map_err(|error| unreachable(&error))?;
        let device_id = shared.store.device_id(&unique("dev_")).await.map_err(|error| unreachable(&error))?;
        Ok(Self { http, device_id })
    }

    /// The conversations of this user.
    pub(super) async fn threads(&self) -> Result<Vec<ThreadRow>, LinkProblem> {
        let reply = self.http.get("api/threads", QUICK).await.map_err(|error| unreachable(&error))?;
        read(reply, LIST_BYTES).await?.ok_or_else(|| garbage("it knows no conversations"))
    }

    /// One conversation; `None` when there is none of that name.
    pub(super) async fn thread(&self, id: &str) -> Result<Option<ThreadView>, LinkProblem> {
        let reply = self.http.get(&path(id), QUICK).await.map_err(|error| unreachable(&error))?;
        read(reply, THREAD_BYTES).await
    }

    /// Deletes a conversation. One that is not there is as good.
    pub(super) async fn delete(&self, id: &str) -> Result<(), LinkProblem> {
        let reply = self.http.delete(&path(id), QUICK).await.map_err(|error| unreachable(&error))?;
        match reply.status {
            200..=299 | 404 => Ok(()),
            _ => refused(reply).await,
        }
    }

    /// Begins a branch before a turn of a conversation, with other words in its place.
    pub(super) async fn branch(&self, thread: &str, turn: &str, input: &str) -> Result<Prepared, LinkProblem> {
        let wanted = json!({"thread_id": thread, "before_turn_id": turn, "input": input, "device_id": self.device_id});
        let reply = self.http.post_json("api/turns", wanted.to_string().into_bytes(), QUICK).await;
        let prepared: Option<Prepared> = read(reply.map_err(|error| unreachable(&error))?, SMALL_BYTES).await?;
        prepared
            .filter(|prepared| crate::link::conversation::is_name(&prepared.thread_id))
            .ok_or_else(|| garbage("404"))
    }

    /// Has a run answered. The reply is a stream of AG-UI events; dropping it stops the run.
    pub(super) async fn run(&self, thread: &str, run: &str, input: &str) -> Result<Reply, LinkProblem> {
        let wanted = RunAgentInput {
            thread_id: thread.to_owned(),
            run_id: run.to_owned(),
            messages: vec![crate::link::agui::ClientMessage {
                id: format!("{run}.0"),
                role: "user".to_owned(),
                content: Value::String(input.to_owned()),
            }],
            forwarded_props: json!({"deviceId": self.device_id}),
        };
        let body = serde_json::to_vec(&wanted).map_err(|error| unreachable(&error))?;
        let reply = self.http.post_json("api/agent", body, STREAM).await.map_err(|error| unreachable(&error))?;
        if reply.is_success() { Ok(reply) } else { refused(reply).await }
    }
}

/// A name as one segment of a path.
fn path(id: &str) -> String {
    let encoded = id.bytes().map(|byte| match byte {
        b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    format!("api/threads/{}", encoded.collect::<String>())
}

/// The JSON of a reply; `None` for a 404.
async fn read<T: DeserializeOwned>(reply: Reply, limit: usize) -> Result<Option<T>, LinkProblem> {
    match reply.status {
        200..=299 => {}
        404 => return Ok(None),
        _ => return refused(reply).await,
    }
    let bytes = reply.bytes(limit).await.map_err(|error| unreachable(&error))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| garbage(&error.to_string()))
}

/// Why a server does not do it, in its own words where it has some.
async fn refused<T>(reply: Reply) -> Result<T, LinkProblem> {
    let status = reply.status;
    let body = reply.bytes(SMALL_BYTES).await.unwrap_or_default();
    if status == 401 && link::is_token_refused(&body) {
        return Err(LinkProblem::TokenRefused);
    }
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    let words = said.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    let words: String = words.chars().take(300).collect();
    Err(LinkProblem::Unreachable { detail: format!("{status} {words}").trim_end().to_owned() })
}

fn garbage(detail: &str) -> LinkProblem {
    LinkProblem::Protocol { detail: detail.chars().take(300).collect() }
}

fn unreachable(error: &dyn std::fmt::Display) -> LinkProblem {
    LinkProblem::Unreachable { detail: error.to_string() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_is_one_segment_of_a_path_whatever_it_holds() {
        assert_eq!(super::path("0190-ab.c_d"), "api/threads/0190-ab.c_d");
        assert_eq!(super::path("../x?y#z/长"), "api/threads/..%2Fx%3Fy%23z%2F%E9%95%BF");
    }
}

//! From a server's address to an open socket: the folder is there, the token fits, the ticket is fresh.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::ir::{LinkProblem, LinkServer};
use crate::link::socket::{self, Handshake, Receiver, Sender};
use crate::provider::http::header::{HeaderMap, HeaderValue};
use crate::provider::http::{Http, Network, TimeLimits, base_address, cut_to_base};
use crate::secret::SecretKey;
use crate::workspace::Root;

use super::super::fault::Fault;
use super::super::shared::Shared;
use super::KEYS;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest answer to the wish for a ticket, in bytes.
const LONGEST_TICKET: usize = 16 * 1024;

/// What the server gives for a wish for a ticket.
#[derive(Deserialize)]
struct TicketGiven {
    ticket: String,
}

/// A server's address in normal form: what the person typed, without what is not its base.
///
/// # Errors
/// When it may not be used: neither https nor on this machine.
pub(super) fn normal(typed: &str) -> Result<String, Fault> {
    let fault = |detail: String| Fault::new("fault-link-address", detail).with("url", typed.trim());
    let address = base_address(typed).map_err(|error| fault(error.to_string()))?;
    let mut url = address.url().clone();
    cut_to_base(&mut url, &[]);
    socket::check(&url).map_err(|error| fault(error.to_string()))?;
    Ok(url.to_string())
}

/// Scheme, host and port: what a token is bound to.
pub(super) fn origin(url: &str) -> Result<String, Fault> {
    let address = base_address(url);
    address
        .map(|address| address.origin())
        .map_err(|error| Fault::new("fault-link-address", error.to_string()).with("url", url))
}

/// Opens a connection.
pub(super) async fn connect(
    shared: &Shared,
    server: &LinkServer,
    device_id: &str,
) -> Result<(Sender, Receiver), LinkProblem> {
    check_workspace(&server.workspace).await?;
    let address_problem = |detail: String| LinkProblem::Address { detail };
    let address = base_address(&server.url).map_err(|error| address_problem(error.to_string()))?;
    socket::check(address.url()).map_err(|error| address_problem(error.to_string()))?;
    let token = token(shared, server, &address.origin()).await?;
    let http = Http::through(&network(shared), &address).map_err(|error| unreachable(&error))?;
    let ticket = ticket(&http, &token, device_id).await?;
    // The token got the ticket, and stays here: the ticket alone opens the socket.
    let path = socket::socket_path(address.url(), &ticket).map_err(|error| address_problem(error.to_string()))?;
    let handshake = Handshake::default();
    let mut headers = HeaderMap::new();
    for (name, value) in handshake.headers() {
        headers.insert(name, HeaderValue::from_str(value).map_err(|error| unreachable(&error))?);
    }
    let (connection, answer) =
        http.upgrade(&path, headers, TimeLimits::QUICK).await.map_err(|error| unreachable(&error))?;
    let accept = answer.get("sec-websocket-accept").and_then(|value| value.to_str().ok()).unwrap_or_default();
    handshake.open(Box::new(connection), accept).await.map_err(|error| unreachable(&error))
}

/// The user token of a server: the one that its connection was given, else the one that was entered for this origin.
pub(in crate::engine) async fn token(
    shared: &Shared,
    server: &LinkServer,
    origin: &str,
) -> Result<SecretKey, LinkProblem> {
    if let Some(given) = shared.links.token(&server.url) {
        return Ok(given);
    }
    let found = shared.keys.find(KEYS, &server.key, origin).await;
    found.map_err(|error| unreachable(&error))?.ok_or(LinkProblem::NoToken)
}

/// How servers are reached: through the proxy of the settings, this machine and the local network never.
pub(in crate::engine) fn network(shared: &Shared) -> Network {
    Network { connect: Some(CONNECT), proxy: shared.settings().models.proxy, ..Network::default() }
}

async fn check_workspace(workspace: &str) -> Result<(), LinkProblem> {
    let path = Path::new(workspace).to_path_buf();
    match tokio::task::spawn_blocking(move || Root::reopen(&path)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(LinkProblem::Workspace { detail: error.to_string() }),
        Err(broken) => Err(LinkProblem::Workspace { detail: broken.to_string() }),
    }
}

/// A fresh ticket for this device.
async fn ticket(http: &Http, token: &SecretKey, device_id: &str) -> Result<String, LinkProblem> {
    let http = http.clone().with_bearer(token).map_err(|error| unreachable(&error))?;
    let body = json!({"device_id": device_id}).to_string().into_bytes();
    let reply = http
        .post_json("api/desktop/connection-ticket", body, TimeLimits::QUICK)
        .await
        .map_err(|error| unreachable(&error))?;
    let status = reply.status;
    let bytes = reply.bytes(LONGEST_TICKET).await.map_err(|error| unreachable(&error));
    match status {
        200..=299 => {}
        // Only the server itself knows of its tokens: a proxy or the page of a guest network says 401 and 403 as well.
        401 if bytes.as_ref().is_ok_and(|body| is_token_refused(body)) => return Err(LinkProblem::TokenRefused),
        status => return Err(LinkProblem::Unreachable { detail: format!("it answers with status {status}") }),
    }
    let bytes = bytes?;
    let given: Result<TicketGiven, _> = serde_json::from_slice(&bytes);
    given
        .map(|given| given.ticket)
        .map_err(|_unfit| LinkProblem::Protocol { detail: "its answer is no ticket".to_owned() })
}

/// Whether the body of a 401 is the server's own word that it does not know the token.
pub(in crate::engine) fn is_token_refused(body: &[u8]) -> bool {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    said.pointer("/error/code").and_then(Value::as_str) == Some("UNAUTHORIZED")
}

fn unreachable(error: &dyn std::fmt::Display) -> LinkProblem {
    LinkProblem::Unreachable { detail: error.to_string() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_address_is_https_or_this_machine_and_has_one_spelling() {
        let normal = |typed: &str| super::normal(typed).ok();
        let expected = |text: &str| Some(text.to_owned());
        assert_eq!(normal(" https://NOD.example "), expected("https://nod.example/"));
        assert_eq!(normal("https://nod.example/base?x#y"), expected("https://nod.example/base/"));
        assert_eq!(normal("127.0.0.1:8080"), expected("http://127.0.0.1:8080/"));
        assert_eq!(normal("http://0.0.0.0:8080/"), expected("http://127.0.0.1:8080/"));
        for refused in ["http://nod.example", "http://192.168.1.7", "wss://nod.example", "https://u:p@nod.example", ""]
        {
            assert_eq!(normal(refused), None, "{refused}");
        }
    }
}

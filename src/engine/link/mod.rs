//! The device link at work: one task for each server that the person wants a connection to. The protocol is the pure
//! machine's (`link::machine`); a server's calls go through the same gate as every other call.

mod board;
mod call;
mod connect;
mod desk;
mod runner;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::ir::{ConfirmMode, KeyPlace, LinkCallState, LinkEnd, LinkServer, LinkState, Session, SessionId};
use crate::link::machine::{CallNumber, Passage, error_of};
use crate::port::Event;
use crate::secret::SecretKey;

use super::fault::Fault;
use super::folder;
use super::session::blank;
use super::shared::{Shared, unique};

pub(super) use board::Board;
pub(super) use connect::{is_token_refused, network, token};
pub(super) use desk::{Desk, Wish};
use runner::Runner;

/// Under whose name tokens stand among the keys. No provider can have this name.
const KEYS: &str = "link:";
/// How long a connection may take to end, once its calls are cancelled.
const ENDING: Duration = Duration::from_secs(6);
/// Calls that a list shows.
const LISTED: usize = 200;

/// What the gate tells a connection of a call.
#[derive(Debug)]
pub(super) enum FromGate {
    /// Nothing stands against it so far: may it go on?
    Examined { number: CallNumber, reply: oneshot::Sender<Passage> },
    /// It is over.
    Ended { number: CallNumber, end: LinkEnd },
}

/// The connections.
#[derive(Default)]
struct Links {
    live: HashMap<String, Live>,
    /// This installation's name, once it was asked for.
    device: Option<String>,
}

struct Live {
    /// Cancels its calls at once, and ends it.
    ending: CancellationToken,
    /// Has it try again at once.
    retry: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Links {
    /// Connects to every server that was added and is not paused.
    async fn start(&mut self, shared: &Arc<Shared>) -> Result<(), Fault> {
        for server in shared.store.link_servers().await? {
            if !self.live.contains_key(&server.url) {
                self.begin(shared, server, None).await?;
            }
        }
        self.show(shared).await
    }

    /// Adds a server, or changes one; a token is kept for its address.
    async fn put(
        &mut self,
        shared: &Arc<Shared>,
        url: &str,
        workspace: PathBuf,
        token: Option<SecretKey>,
    ) -> Result<(), Fault> {
        let url = connect::normal(url)?;
        let workspace = open_workspace(shared, workspace).await?;
        // Before anything that may take its time: what is asked is asked of the folder of before.
        self.end_one(shared, &url).await;
        let known = find(shared, &url).await?;
        let mut key = known.as_ref().map_or(KeyPlace::Nowhere, |known| known.key.clone());
        if let Some(token) = token {
            let (place, problem) = shared.keys.keep(KEYS, &connect::origin(&url)?, token).await;
            key = place;
            let problem = problem.map(|problem| problem.to_string());
            shared.publish(Event::KeyKept { provider: url.clone(), problem }).await;
        }
        let server = LinkServer { url, workspace, key, is_paused: known.is_some_and(|known| known.is_paused) };
        shared.store.put_link_server(&server).await?;
        self.begin(shared, server, None).await?;
        self.show(shared).await
    }

    /// Connects to a server for as long as somebody wants it, without adding it.
    async fn run(
        &mut self,
        shared: &Arc<Shared>,
        url: &str,
        workspace: PathBuf,
        token: SecretKey,
    ) -> Result<(), Fault> {
        let url = connect::normal(url)?;
        if self.live.get(&url).is_some_and(|live| !live.task.is_finished()) {
            return Err(Fault::new("fault-link-taken", "").with("url", url));
        }
        let workspace = open_workspace(shared, workspace).await?;
        let server = LinkServer { url, workspace, key: KeyPlace::Nowhere, is_paused: false };
        self.end_one(shared, &server.url).await;
        self.begin(shared, server, Some(token)).await?;
        self.show(shared).await
    }

    /// Ends a connection that was made for a while.
    async fn stop(&mut self, shared: &Arc<Shared>, url: &str) -> Result<(), Fault> {
        let url = connect::normal(url)?;
        self.end_one(shared, &url).await;
        match find(shared, &url).await? {
            // As it was before: its own token counts again.
            Some(server) => shared.links.put(LinkServer { is_paused: true, ..server }, LinkState::Paused, None),
            None => shared.links.forget(&url),
        }
        self.show(shared).await
    }

    /// Ends or begins a server's connection.
    async fn pause(&mut self, shared: &Arc<Shared>, url: &str, is_paused: bool) -> Result<(), Fault> {
        let Some(server) = find(shared, url).await? else { return Err(unknown(url)) };
        let server = LinkServer { is_paused, ..server };
        self.end_one(shared, url).await;
        shared.store.put_link_server(&server).await?;
        self.begin(shared, server, None).await?;
        self.show(shared).await
    }

    /// Tries again at once.
    async fn retry(&mut self, shared: &Arc<Shared>, url: &str) -> Result<(), Fault> {
        match self.live.get(url) {
            Some(live) if !live.task.is_finished() => {
                live.retry.notify_one();
                Ok(())
            }
            Some(_) | None => {
                let Some(server) = find(shared, url).await? else { return Err(unknown(url)) };
                self.end_one(shared, url).await;
                self.begin(shared, server, None).await
            }
        }
    }

    /// Forgets a server, its token and the record of its calls.
    async fn remove(&mut self, shared: &Arc<Shared>, url: &str) -> Result<(), Fault> {
        let Some(server) = find(shared, url).await? else { return Err(unknown(url)) };
        self.end_one(shared, url).await;
        // A keyring that does not answer keeps nobody from removing a server; the person is told what stays there.
        let left = shared.keys.forget(KEYS, &server.key).await;
        shared.store.remove_link_server(url).await?;
        shared.links.forget(url);
        self.show(shared).await?;
        left.map_err(|problem| Fault::new("fault-key-left", problem.to_string()).with("provider", url))
    }

    /// Ends every connection: calls that are under way are cancelled, and what they came to is kept.
    async fn end(&mut self) {
        let ending = self.live.drain().map(|(_, live)| live.end());
        futures_util::future::join_all(ending).await;
    }

    /// Ends a connection. A call that has not ended with it is over all the same: nobody will say how it ended, and a repeat
    /// of it must not wait for that.
    async fn end_one(&mut self, shared: &Shared, url: &str) {
        let Some(live) = self.live.remove(url) else { return };
        live.end().await;
        if let Err(error) = shared.store.leave_links(url, &ended_by_person(LinkCallState::Unknown)).await {
            tracing::error!(%error, "a call that was left behind stays as running");
        }
    }

    async fn begin(&mut self, shared: &Arc<Shared>, server: LinkServer, token: Option<SecretKey>) -> Result<(), Fault> {
        if server.is_paused {
            shared.links.put(server, LinkState::Paused, None);
            return Ok(());
        }
        let device = self.device(shared).await?;
        let session = session_of(shared, &server).await?;
        shared.links.put(server.clone(), LinkState::Connecting, token);
        let url = server.url.clone();
        let (ending, retry) = (CancellationToken::new(), Arc::new(Notify::new()));
        let runner = Runner::new(Arc::clone(shared), server, &device, session, ending.clone());
        let task = tokio::task::spawn(Box::pin(runner.run(Arc::clone(&retry))));
        self.live.insert(url, Live { ending, retry, task });
        Ok(())
    }

    /// This installation's name.
    async fn device(&mut self, shared: &Shared) -> Result<String, Fault> {
        if let Some(device) = &self.device {
            return Ok(device.clone());
        }
        let device = shared.store.device_id(&unique("dev_")).await?;
        self.device = Some(device.clone());
        Ok(device)
    }

    /// Tells front ends of all servers.
    async fn show(&mut self, shared: &Shared) -> Result<(), Fault> {
        let device_id = self.device(shared).await?;
        shared.publish(Event::LinksChanged { device_id, links: shared.links.views() }).await;
        Ok(())
    }
}

/// A server's address in the form in which it is kept.
///
/// # Errors
/// In words, when it may not be used: neither https nor on this machine.
pub fn link_address(typed: &str) -> Result<String, String> {
    connect::normal(typed).map_err(|fault| fault.detail)
}

/// The last calls of a server, for front ends.
pub(super) async fn list_calls(shared: &Shared, url: String) -> Result<(), Fault> {
    let kept = shared.store.link_calls(&url, LISTED).await?;
    let calls = shared.links.with_refused(&url, kept, LISTED);
    shared.publish(Event::LinkCallsListed { url, calls }).await;
    Ok(())
}

impl Live {
    async fn end(mut self) {
        self.ending.cancel();
        if tokio::time::timeout(ENDING, &mut self.task).await.is_err() {
            tracing::error!("a connection did not end in time");
            self.task.abort();
        }
    }
}

fn unknown(url: &str) -> Fault {
    Fault::new("fault-link-unknown", "").with("url", url)
}

/// A server for conversations that live on it: one that was added, or is connected for a while.
pub(super) async fn server(shared: &Shared, url: &str) -> Result<Option<LinkServer>, Fault> {
    Ok(find(shared, url).await?.or_else(|| shared.links.server(url)))
}

/// A server that was added. A token that is held for this run only is not in the store, and is on the board.
async fn find(shared: &Shared, url: &str) -> Result<Option<LinkServer>, Fault> {
    let known = shared.store.link_servers().await?.into_iter().find(|known| known.url == url);
    Ok(known.map(|server| match shared.links.key_of(url) {
        Some(key) if server.key == KeyPlace::Nowhere => LinkServer { key, ..server },
        Some(_) | None => server,
    }))
}

/// Opens the folder once to see that it is one; gives its true path. Warns of one that is very wide.
async fn open_workspace(shared: &Shared, path: PathBuf) -> Result<String, Fault> {
    let opened = folder::open(shared, path).await?;
    if let Some(warning) = opened.warning {
        shared.publish(warning).await;
    }
    Ok(opened.path)
}

/// How a call ends that the person did not want any more.
fn ended_by_person(state: LinkCallState) -> LinkEnd {
    LinkEnd { state, output: None, error: Some(error_of("CANCELLED")), duration_ms: 0 }
}

/// The session in which a server's calls are recorded: its one folder is the workspace. No list shows it. With another folder
/// nothing of the one before is sent any more.
async fn session_of(shared: &Shared, server: &LinkServer) -> Result<SessionId, Fault> {
    let digest = hex::encode(Sha256::digest(server.url.as_bytes()));
    let id = SessionId::new(format!("ses_link_{}", digest.get(..16).unwrap_or(&digest)));
    let now = shared.now();
    let known = shared.store.session(&id).await?;
    let is_known = known.is_some();
    if known.as_ref().is_some_and(|known| known.folders != [server.workspace.as_str()]) {
        shared.store.take_back_links(&server.url, &ended_by_person(LinkCallState::Cancelled)).await?;
    }
    let session = Session {
        id: id.clone(),
        title: server.url.clone(),
        model: String::new(),
        provider: String::new(),
        folders: vec![server.workspace.clone()],
        mode: ConfirmMode::Changes,
        ..known.unwrap_or_else(|| blank(&shared.settings(), now))
    };
    if is_known {
        shared.store.update_session(&session).await?;
    } else {
        shared.store.insert_session(&session).await?;
    }
    shared.store.give_session_to_server(&id, &server.url).await?;
    Ok(id)
}

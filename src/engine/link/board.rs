//! What front ends see of the servers: their connections, their refused calls, how much they were sent.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ir::{KeyPlace, LinkCall, LinkServer, LinkState, LinkView};
use crate::secret::SecretKey;

/// Refused calls of a server that are remembered: they are in no record.
const REFUSED: usize = 100;

/// The board.
#[derive(Default)]
pub(in crate::engine) struct Board(Mutex<Vec<Entry>>);

struct Entry {
    view: LinkView,
    /// A token for this connection alone.
    token: Option<SecretKey>,
    refused: VecDeque<LinkCall>,
}

impl Board {
    /// Puts a server up, or changes what is said of it. `token` is one that is kept nowhere else.
    pub(super) fn put(&self, server: LinkServer, state: LinkState, token: Option<SecretKey>) {
        let mut entries = self.lock();
        if let Some(entry) = entries.iter_mut().find(|entry| entry.view.server.url == server.url) {
            (entry.view.server, entry.view.state, entry.token) = (server, state, token);
        } else {
            let view = LinkView { server, state, sent_bytes: 0 };
            entries.push(Entry { view, token, refused: VecDeque::new() });
        }
    }

    /// Says how a connection stands.
    pub(super) fn enter(&self, url: &str, state: LinkState) {
        if let Some(entry) = self.lock().iter_mut().find(|entry| entry.view.server.url == url) {
            entry.view.state = state;
        }
    }

    /// Counts what a server was sent.
    pub(super) fn count_sent(&self, url: &str, bytes: u64) {
        if let Some(entry) = self.lock().iter_mut().find(|entry| entry.view.server.url == url) {
            entry.view.sent_bytes = entry.view.sent_bytes.saturating_add(bytes);
        }
    }

    /// Remembers a refused call, which is in no record.
    pub(super) fn note_refused(&self, url: &str, call: LinkCall) {
        if let Some(entry) = self.lock().iter_mut().find(|entry| entry.view.server.url == url) {
            entry.refused.push_front(call);
            entry.refused.truncate(REFUSED);
        }
    }

    /// The kept calls with the refused ones that are in no record, newest first. A server that tries many things under one
    /// name is seen to do so.
    pub(super) fn with_refused(&self, url: &str, mut calls: Vec<LinkCall>, most: usize) -> Vec<LinkCall> {
        if let Some(entry) = self.lock().iter().find(|entry| entry.view.server.url == url) {
            calls.extend(entry.refused.iter().cloned());
        }
        calls.sort_by(|one, two| (two.at, &two.tool_call_id).cmp(&(one.at, &one.tool_call_id)));
        calls.truncate(most);
        calls
    }

    /// A server that is up, added or not.
    pub(super) fn server(&self, url: &str) -> Option<LinkServer> {
        self.lock().iter().find(|entry| entry.view.server.url == url).map(|entry| entry.view.server.clone())
    }

    /// The token that a server was given for its connection alone.
    pub(super) fn token(&self, url: &str) -> Option<SecretKey> {
        self.lock().iter().find(|entry| entry.view.server.url == url).and_then(|entry| entry.token.clone())
    }

    /// Where the token of a server is, if it has one.
    pub(super) fn key_of(&self, url: &str) -> Option<KeyPlace> {
        let entries = self.lock();
        let key = entries.iter().find(|entry| entry.view.server.url == url).map(|entry| entry.view.server.key.clone());
        key.filter(|key| *key != KeyPlace::Nowhere)
    }

    /// Takes a server down.
    pub(super) fn forget(&self, url: &str) {
        self.lock().retain(|entry| entry.view.server.url != url);
    }

    /// All servers, in the order in which they were put up.
    pub(in crate::engine) fn views(&self) -> Vec<LinkView> {
        self.lock().iter().map(|entry| entry.view.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

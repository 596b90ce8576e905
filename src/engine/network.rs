//! What a session does on the network: its padlock, and the hosts that it reaches.
//!
//! The HTTP layer asks here before every request. Until the session is known to be open, its padlock is closed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::ir::{Contact, SessionId};
use crate::port::Event;
use crate::provider::http::{Reach, SentRequest, Traffic};

use super::shared::Shared;

/// The traffic of one session.
pub(super) struct SessionTraffic {
    shared: Arc<Shared>,
    session: SessionId,
    is_local_only: AtomicBool,
    /// What is not in the store yet, by host.
    unsaved: Mutex<BTreeMap<String, Contact>>,
    last_request: Mutex<Option<SentRequest>>,
}

impl SessionTraffic {
    pub(super) fn new(shared: Arc<Shared>, session: SessionId) -> Self {
        Self {
            shared,
            session,
            is_local_only: AtomicBool::new(true),
            unsaved: Mutex::default(),
            last_request: Mutex::default(),
        }
    }

    /// Closes or opens the padlock. Counts for the very next request.
    pub(super) fn lock(&self, is_local_only: bool) {
        self.is_local_only.store(is_local_only, Ordering::SeqCst);
    }

    /// Whether the padlock is closed now.
    pub(super) fn is_local_only(&self) -> bool {
        self.is_local_only.load(Ordering::SeqCst)
    }

    /// The last request with a body, until the engine ends.
    pub(super) fn last_request(&self) -> Option<SentRequest> {
        self.last_request.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps what came to pass and reports the hosts.
    pub(super) async fn save(&self) {
        let more: Vec<Contact> = {
            let mut unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *unsaved).into_values().collect()
        };
        if more.is_empty() {
            return;
        }
        let store = &self.shared.store;
        let contacts = match store.add_contacts(&self.session, more).await {
            Ok(()) => store.contacts(&self.session).await,
            Err(error) => Err(error),
        };
        match contacts {
            Ok(contacts) => {
                self.shared.publish(Event::ContactsChanged { session: self.session.clone(), contacts }).await;
            }
            Err(error) => tracing::warn!(%error, "the hosts of a session were not kept"),
        }
    }

    fn note(&self, host: &str, change: impl FnOnce(&mut Contact)) {
        let now = self.shared.now();
        let mut unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
        let contact = unsaved.entry(host.to_owned()).or_insert_with(|| Contact {
            host: host.to_owned(),
            requests: 0,
            refused: 0,
            sent_bytes: 0,
            received_bytes: 0,
            last_at: now,
        });
        contact.last_at = now;
        change(contact);
    }
}

impl Traffic for SessionTraffic {
    fn admits(&self, host: &str, reach: Reach) -> bool {
        let is_admitted = reach == Reach::Loopback || !self.is_local_only();
        self.note(host, |contact| if is_admitted { contact.requests += 1 } else { contact.refused += 1 });
        is_admitted
    }

    fn sent(&self, host: &str, bytes: u64) {
        self.note(host, |contact| contact.sent_bytes += bytes);
    }

    fn leaves(&self, request: SentRequest) {
        *self.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
    }

    fn received(&self, host: &str, bytes: u64) {
        self.note(host, |contact| contact.received_bytes += bytes);
    }
}

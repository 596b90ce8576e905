//! On whose behalf requests are made: who is asked before each one leaves, and told of every byte.
//!
//! Whoever asks a provider says so once with [`on_behalf_of`]; clients find it by themselves, when they are made and when
//! they send, so that no adapter can forget it.

use std::fmt;
use std::sync::Arc;

use super::{Address, Reach};

/// Who watches over requests.
pub trait Traffic: Send + Sync {
    /// Whether a request to this host may leave. Called once for each, redirects too, before anything is sent; the
    /// answer counts at once.
    fn admits(&self, host: &str, reach: Reach) -> bool;

    /// So many bytes of a body went to the host.
    fn sent(&self, host: &str, bytes: u64);

    /// So many bytes of an answer came from the host.
    fn received(&self, host: &str, bytes: u64);
}

tokio::task_local! {
    static CURRENT: Arc<dyn Traffic>;
}

/// Runs work whose requests are made on behalf of `traffic`. A task that it spawns needs this again.
pub async fn on_behalf_of<W: Future>(traffic: Arc<dyn Traffic>, work: W) -> W::Output {
    CURRENT.scope(traffic, work).await
}

/// Who watches over the requests of this task; `None` for what belongs to nobody, such as a list of models in Settings.
pub fn current() -> Option<Arc<dyn Traffic>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Whoever watched when a client was made.
#[derive(Clone, Default)]
pub(super) struct Owner(Option<Arc<dyn Traffic>>);

impl Owner {
    /// Of this task, now.
    pub(super) fn of_task() -> Self {
        Self(current())
    }

    /// Of this task, or else whoever it was before.
    pub(super) fn now(&self) -> Self {
        Self(current().or_else(|| self.0.clone()))
    }

    pub(super) fn admits(&self, address: &Address) -> bool {
        self.0.as_ref().is_none_or(|traffic| traffic.admits(host_of(address), address.reach()))
    }

    pub(super) fn sent(&self, host: &str, bytes: usize) {
        if let Some(traffic) = &self.0 {
            traffic.sent(host, bytes as u64);
        }
    }

    pub(super) fn received(&self, host: &str, bytes: usize) {
        if let Some(traffic) = &self.0 {
            traffic.received(host, bytes as u64);
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(&self.0.is_some()).finish()
    }
}

/// The host of an address that passed the rules: it has one.
pub(super) fn host_of(address: &Address) -> &str {
    address.url().host_str().unwrap_or_default()
}

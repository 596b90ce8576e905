//! What every part of the engine holds on to: the store, the front ends, the questions, the settings, the tools.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use crate::agent::PromptLanguage;
use crate::ir::{Clock, UnixMs, UptimeMs};
use crate::policy::Surroundings;
use crate::port::{Event, Language, Settings};
use crate::store::Store;
use crate::tool::{Limits, Tool};

use super::confinement::Confiner;
use super::confirm::Confirms;
use super::fault::Fault;
use super::inbox::Hub;
use super::key::Keys;
use super::link::Board;
use super::provider::ProviderSource;
use super::request::KnownModels;
use super::undo::Undo;
use super::uptime::Uptime;

/// One engine's parts. Shared by all its tasks.
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) undo: Undo,
    pub(super) hub: Arc<Hub>,
    pub(super) confirms: Confirms,
    pub(super) models: KnownModels,
    /// For how long what was deleted can be brought back.
    pub(super) restorable: Duration,
    pub(super) settings: watch::Sender<Settings>,
    pub(super) providers: Arc<dyn ProviderSource>,
    pub(super) keys: Arc<Keys>,
    pub(super) tools: Vec<Arc<dyn Tool>>,
    pub(super) clock: Clock,
    pub(super) uptime: Uptime,
    pub(super) helper: PathBuf,
    /// Where it is kept what finishes the look after a command that Nod did not live to see; `None` where nothing is kept.
    pub(super) guard_records: Option<PathBuf>,
    pub(super) confiner: Confiner,
    pub(super) surroundings: Surroundings,
    /// What front ends see of the servers that may call.
    pub(super) links: Board,
    /// The question of a server that is open: they come one after the other, so that each has its time to itself.
    pub(super) server_question: tokio::sync::Mutex<()>,
    /// Calls that are examined at once, of all sessions: each opens, parses and compiles what a model sent.
    pub(super) looks: Semaphore,
    /// Reads and searches that run at once, of all sessions. One that was left behind keeps its place until it ends.
    pub(super) reads: Arc<Semaphore>,
    /// What runs beside the sessions: downloads, searches, lists of models.
    pub(super) errands: TaskTracker,
}

impl Shared {
    pub(super) fn now(&self) -> UnixMs {
        (self.clock)()
    }

    /// For what must end in time, whatever is done to the clock.
    pub(super) fn uptime(&self) -> UptimeMs {
        self.uptime.now()
    }

    pub(super) fn settings(&self) -> Settings {
        self.settings.borrow().clone()
    }

    pub(super) fn limits(&self) -> Limits {
        // Settings only take limits that fit; should stored ones not, the defaults hold.
        serde_json::from_value(self.settings.borrow().tools.limits.clone()).unwrap_or_default()
    }

    pub(super) fn language(&self) -> PromptLanguage {
        match self.settings.borrow().general.language {
            Language::Chinese => PromptLanguage::Chinese,
            Language::System if sys_locale::get_locale().is_some_and(|tag| tag.starts_with("zh")) => {
                PromptLanguage::Chinese
            }
            Language::English | Language::System => PromptLanguage::English,
        }
    }

    pub(super) async fn publish(&self, event: Event) {
        self.hub.publish(event).await;
    }

    /// Reports what failed outside a turn.
    pub(super) async fn report(&self, fault: Fault) {
        tracing::warn!(key = fault.key, "a command failed");
        self.publish(fault.into()).await;
    }
}

/// A new unique text for an id. Sorts by time.
pub(super) fn unique(prefix: &str) -> String {
    format!("{prefix}{}", uuid::Uuid::now_v7().simple())
}

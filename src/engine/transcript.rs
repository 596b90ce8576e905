//! What front ends see of one session: every change is written first and reported second, one at a time.
//!
//! A front end that opens the session in the middle of an answer therefore misses nothing and gets nothing twice.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as OrderLock, watch};

use crate::ir::{AuditEntry, CallRecord, MessageId, MessageRecord, Session, SessionId, State, StreamEvent};
use crate::port::Event;
use crate::provider::http::SentRequest;
use crate::store::{Delta, StoreError};
use crate::workspace::Identity;

use super::fault::Fault;
use super::network::SessionTraffic;
use super::shared::Shared;
use super::shield;

/// Messages of one page.
const PAGE: usize = 50;

/// One session, seen from outside.
pub(super) struct Transcript {
    shared: Arc<Shared>,
    id: SessionId,
    stage: OrderLock<Stage>,
    /// What the model has read in this session, as it was then.
    reads: Mutex<HashMap<PathBuf, Identity>>,
    traffic: Arc<SessionTraffic>,
    /// Changes when the session's rules do, so that waiting calls are judged anew.
    rules_changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Stage {
    state: State,
    queued: Vec<String>,
    /// The answer that grows, with all that has come: the store is behind by one batch.
    growing: Option<MessageRecord>,
}

impl Transcript {
    pub(super) fn new(shared: Arc<Shared>, id: SessionId) -> Self {
        Self {
            traffic: Arc::new(SessionTraffic::new(Arc::clone(&shared), id.clone())),
            shared,
            id,
            stage: OrderLock::default(),
            reads: Mutex::default(),
            rules_changed: watch::Sender::new(0),
        }
    }

    pub(super) fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session as it is now.
    pub(super) async fn session(&self) -> Result<Session, Fault> {
        self.shared.store.session(&self.id).await?.ok_or_else(Fault::no_session)
    }

    /// Changes the session itself.
    pub(super) async fn change(&self, change: impl FnOnce(&mut Session) + Send) -> Result<Session, Fault> {
        let _stage = self.stage.lock().await;
        let mut session = self.session().await?;
        change(&mut session);
        self.shared.store.update_session(&session).await?;
        self.shared.publish(Event::SessionChanged(Box::new(session.clone()))).await;
        Ok(session)
    }

    pub(super) async fn enter(&self, state: State) {
        let mut stage = self.stage.lock().await;
        tracing::info!(session = %self.id, ?state, "state");
        stage.state = state;
        self.shared.publish(Event::StateChanged { session: self.id.clone(), state }).await;
    }

    pub(super) async fn show_queue(&self, queued: Vec<String>) {
        let mut stage = self.stage.lock().await;
        stage.queued.clone_from(&queued);
        self.shared.publish(Event::QueueChanged { session: self.id.clone(), queued }).await;
    }

    /// Keeps a whole message at the end of the shown branch.
    pub(super) async fn append(&self, record: &MessageRecord) -> Result<(), StoreError> {
        let _stage = self.stage.lock().await;
        self.shared.store.append_message(record).await?;
        self.show(record).await;
        Ok(())
    }

    /// Begins an answer that will grow.
    pub(super) async fn begin_answer(&self, record: &MessageRecord) -> Result<(), StoreError> {
        let mut stage = self.stage.lock().await;
        self.shared.store.begin_answer(record).await?;
        stage.growing = Some(record.clone());
        self.show(record).await;
        Ok(())
    }

    /// More of the growing answer, for the front ends; `save_deltas` is for the store.
    pub(super) async fn stream(&self, event: StreamEvent) {
        let mut stage = self.stage.lock().await;
        let Some(record) = &mut stage.growing else { return };
        record.grow(&event.body);
        let message = record.id.clone();
        self.shared.publish(Event::Streamed { session: self.id.clone(), message, event: Box::new(event) }).await;
    }

    pub(super) async fn save_deltas(&self, message: &MessageId, deltas: Vec<Delta>) -> Result<(), StoreError> {
        self.shared.store.append_deltas(message, deltas).await
    }

    /// Keeps the answer as it ended.
    pub(super) async fn finish(&self, record: &MessageRecord) -> Result<(), StoreError> {
        let mut stage = self.stage.lock().await;
        stage.growing = None;
        let kept = self.shared.store.finish_message(record).await;
        // Shown even where it could not be kept: the person has read it.
        self.show(record).await;
        kept
    }

    pub(super) async fn insert_call(&self, record: &CallRecord) -> Result<(), StoreError> {
        let _stage = self.stage.lock().await;
        self.shared.store.insert_call(record).await?;
        self.shared.publish(Event::CallChanged(Box::new(record.clone()))).await;
        Ok(())
    }

    pub(super) async fn update_call(&self, record: &CallRecord) -> Result<(), StoreError> {
        let _stage = self.stage.lock().await;
        self.shared.store.update_call(record).await?;
        self.shared.publish(Event::CallChanged(Box::new(record.clone()))).await;
        Ok(())
    }

    /// A new row with a line of the audit: both or none.
    pub(super) async fn insert_call_audited(&self, record: &CallRecord, line: AuditEntry) -> Result<(), StoreError> {
        let _stage = self.stage.lock().await;
        self.shared.store.insert_call_audited(record, line).await?;
        self.shared.publish(Event::CallChanged(Box::new(record.clone()))).await;
        Ok(())
    }

    /// A changed row with a line of the audit: both or none.
    pub(super) async fn update_call_audited(&self, record: &CallRecord, line: AuditEntry) -> Result<(), StoreError> {
        let _stage = self.stage.lock().await;
        self.shared.store.update_call_audited(record, line).await?;
        self.shared.publish(Event::CallChanged(Box::new(record.clone()))).await;
        Ok(())
    }

    /// Reports the session with its newest page.
    pub(super) async fn open(&self) -> Result<(), Fault> {
        let stage = self.stage.lock().await;
        let store = &self.shared.store;
        let session = self.session().await?;
        let mut page = store.page(&self.id, None, PAGE).await?;
        if let Some(growing) = &stage.growing
            && let Some(shown) = page.messages.iter_mut().find(|record| record.id == growing.id)
        {
            let version = shown.version;
            *shown = MessageRecord { version, ..growing.clone() };
        }
        let calls = store.calls_for_messages(ids(&page.messages)).await?;
        let event = Event::SessionOpened {
            session: Box::new(session),
            messages: page.messages,
            has_older: page.has_older,
            calls,
            rules: store.rules(&self.id).await?,
            state: stage.state,
            queued: stage.queued.clone(),
        };
        self.shared.publish(event).await;
        shield::show(&self.shared, &self.id).await?;
        super::rule::show_lifted(&self.shared, &self.id).await?;
        let contacts = store.contacts(&self.id).await?;
        self.shared.publish(Event::ContactsChanged { session: self.id.clone(), contacts }).await;
        super::undo::list(&self.shared, &self.id).await
    }

    /// The last request that left on behalf of the session.
    pub(super) fn last_request(&self) -> Option<SentRequest> {
        self.traffic.last_request()
    }

    /// What the session does on the network. Its padlock is as it is stored; closed, where that cannot be known.
    pub(super) async fn traffic(&self) -> Arc<SessionTraffic> {
        let _stage = self.stage.lock().await;
        self.traffic.lock(self.session().await.map_or(true, |session| session.is_local_only));
        Arc::clone(&self.traffic)
    }

    /// Closes or opens the padlock, for a running turn too.
    pub(super) async fn set_local_only(&self, is_local_only: bool) -> Result<(), Fault> {
        let _stage = self.stage.lock().await;
        // Closed before it is written, opened after: a failure leaves it closed.
        self.traffic.lock(true);
        let mut session = self.session().await?;
        session.is_local_only = is_local_only;
        self.shared.store.update_session(&session).await?;
        self.traffic.lock(is_local_only);
        self.shared.publish(Event::SessionChanged(Box::new(session))).await;
        Ok(())
    }

    pub(super) async fn load_older(&self, before: &MessageId) -> Result<(), Fault> {
        let _stage = self.stage.lock().await;
        let page = self.shared.store.page(&self.id, Some(before), PAGE).await?;
        let calls = self.shared.store.calls_for_messages(ids(&page.messages)).await?;
        let event =
            Event::OlderLoaded { session: self.id.clone(), messages: page.messages, has_older: page.has_older, calls };
        self.shared.publish(event).await;
        Ok(())
    }

    /// Reports the rules after one was made or revoked, and has waiting calls judged anew.
    pub(super) async fn show_rules(&self) -> Result<(), Fault> {
        self.report_rules().await?;
        self.rules_changed.send_modify(|version| *version += 1);
        Ok(())
    }

    /// Reports the rules with their hits.
    pub(super) async fn report_rules(&self) -> Result<(), Fault> {
        let rules = self.shared.store.rules(&self.id).await?;
        self.shared.publish(Event::RulesChanged { session: Some(self.id.clone()), rules }).await;
        Ok(())
    }

    pub(super) fn watch_rules(&self) -> watch::Receiver<u64> {
        self.rules_changed.subscribe()
    }

    /// Remembers how a file was when the model read it.
    pub(super) fn note_read(&self, path: &Path, identity: Identity) {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf(), identity);
    }

    /// Forgets it: the model itself changed it.
    pub(super) fn forget_read(&self, path: &Path) {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    /// Whether the file is as it was when the model read it; `None` when it has not.
    pub(super) fn is_as_read(&self, path: &Path, identity: Identity) -> Option<bool> {
        let reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        reads.get(path).map(|read| *read == identity)
    }

    /// Reports a message with its place among its versions, which only the store knows.
    async fn show(&self, record: &MessageRecord) {
        let mut shown = record.clone();
        if let Ok(Some(kept)) = self.shared.store.message(&record.id).await {
            shown.version = kept.version;
        }
        self.shared.publish(Event::MessageChanged(Box::new(shown))).await;
    }
}

fn ids(messages: &[MessageRecord]) -> Vec<MessageId> {
    messages.iter().map(|record| record.id.clone()).collect()
}

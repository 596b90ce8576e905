//! Conversations that live on a server: its list, its histories, and turns that are answered there. What is shown is the
//! server's; nothing of it is kept here but what the person typed and did not send. The mapping is `link::conversation`'s.

mod search;
mod server;
mod settle;
mod turn;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as OrderLock;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::ir::{Image, LinkProblem, MessageId, Session, SessionId, State};
use crate::link::conversation::{Conversation, is_name, session_of};
use crate::port::{Command, Event, ThreadsState};

use super::fault::Fault;
use super::shared::{Shared, unique};
use super::shield;

use server::Server;
use turn::Begin;

/// Messages of one conversation that may wait for the running turn.
const QUEUE: usize = 32;
/// Conversations of a server that are listed.
const LISTED: usize = 500;
/// How long turns may take to end when the engine does.
const ENDING: Duration = Duration::from_secs(1);

/// The conversations of all servers.
pub(super) struct Conversations {
    shared: Arc<Shared>,
    /// Those that somebody has looked at since the start.
    open: Mutex<HashMap<SessionId, Arc<Open>>>,
    /// The lists that came last, by server.
    listed: Mutex<BTreeMap<String, Vec<Session>>>,
    /// Cancelled when the engine ends.
    leaving: CancellationToken,
    tasks: TaskTracker,
}

/// One conversation that somebody has looked at. What happens to it is told in order.
struct Open {
    url: String,
    thread: String,
    stage: OrderLock<Stage>,
}

struct Stage {
    conversation: Conversation,
    queued: VecDeque<String>,
    /// Stops the turn under way.
    stop: Option<CancellationToken>,
    loaded: Loaded,
}

/// Whether what is here of a conversation came from the server, or began here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loaded {
    No,
    Yes,
}

impl Open {
    fn new(conversation: Conversation, loaded: Loaded) -> Option<Arc<Self>> {
        let (url, thread) = conversation.session.id.home()?;
        let (url, thread) = (url.to_owned(), thread.to_owned());
        let stage = Stage { conversation, queued: VecDeque::new(), stop: None, loaded };
        Some(Arc::new(Self { url, thread, stage: OrderLock::new(stage) }))
    }
}

impl Conversations {
    pub(super) fn new(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            open: Mutex::default(),
            listed: Mutex::default(),
            leaving: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Does what is about a conversation on a server; gives back every other command.
    #[expect(clippy::wildcard_enum_match_arm, reason = "what is not about a conversation on a server is passed on")]
    pub(super) async fn take(self: &Arc<Self>, command: Command) -> Result<Option<Command>, Fault> {
        match command {
            Command::ListThreads { url } => {
                let this = Arc::clone(self);
                self.errand(async move { this.list(&url).await });
            }
            Command::BeginThread { url } => {
                let conversation = Conversation::new(&url, &unique("thr_"), self.shared.now());
                let open = self.adopt(conversation, Loaded::Yes)?;
                self.show(&open).await?;
            }
            Command::OpenSession(id) if id.is_on_server() => {
                let (this, open) = (Arc::clone(self), self.open(&id)?);
                self.errand(async move { this.show_newest(&open).await });
            }
            Command::SaveDraft { session, text } if session.is_on_server() => {
                self.shared.store.save_thread_draft(&session, &text).await?;
            }
            Command::Send { session, text, images } if session.is_on_server() => {
                let text = self.without_secrets(text).await?;
                self.say(&session, text, &images).await?;
            }
            Command::Unqueue { session, index } if session.is_on_server() => {
                let open = self.open(&session)?;
                let mut stage = open.stage.lock().await;
                stage.queued.remove(index);
                self.tell_queue(&stage).await;
            }
            Command::EditMessage { session, message, text } if session.is_on_server() => {
                let text = self.without_secrets(text).await?;
                self.begin(&session, Begin::Branch { at: Some(message), text: Some(text) }).await?;
            }
            Command::Regenerate { session, message } if session.is_on_server() => {
                self.begin(&session, Begin::Branch { at: Some(message), text: None }).await?;
            }
            Command::Continue(session) if session.is_on_server() => self.go_on(&session).await?,
            Command::Stop(session) if session.is_on_server() => {
                if let Some(stop) = &self.open(&session)?.stage.lock().await.stop {
                    stop.cancel();
                }
            }
            Command::StopCall { session, .. } if session.is_on_server() => {
                // A server's call is stopped with its turn.
                if let Some(stop) = &self.open(&session)?.stage.lock().await.stop {
                    stop.cancel();
                }
            }
            Command::DeleteSession(session) if session.is_on_server() => {
                let (this, open) = (Arc::clone(self), self.open(&session)?);
                self.errand(async move { this.delete(&session, &open).await });
            }
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    /// Ends every turn; what waited to be said is kept as a draft.
    pub(super) async fn end(&self) {
        self.leaving.cancel();
        self.tasks.close();
        if tokio::time::timeout(ENDING, self.tasks.wait()).await.is_err() {
            tracing::warn!("a turn on a server did not end in time");
        }
        let open: Vec<Arc<Open>> = self.lock().values().cloned().collect();
        for open in open {
            let stage = open.stage.lock().await;
            if stage.queued.is_empty() {
                continue;
            }
            let id = stage.conversation.id();
            let mut texts: Vec<String> = stage.queued.iter().cloned().collect();
            texts.extend(self.draft(&open.url, id).await.ok().filter(|draft| !draft.is_empty()));
            if let Err(error) = self.shared.store.save_thread_draft(id, &texts.join("\n\n")).await {
                tracing::error!(%error, "messages that waited were not kept");
            }
        }
    }

    /// Tells front ends of a server's conversations.
    async fn list(&self, url: &str) -> Result<(), Fault> {
        let tell = |threads: ThreadsState| Event::ThreadsListed { url: url.to_owned(), threads };
        self.shared.publish(tell(ThreadsState::Loading)).await;
        let rows = match Server::open(&self.shared, url).await {
            Ok(server) => server.threads().await,
            Err(problem) => Err(problem),
        };
        let drafts = self.shared.store.thread_drafts(url).await?;
        let threads = match rows {
            Ok(rows) => {
                let rows = rows.iter().filter(|row| is_name(&row.thread_id)).take(LISTED);
                let mut sessions: Vec<_> = rows.map(|row| session_of(url, row)).collect();
                // What was typed for a conversation that has not begun yet is not lost.
                for (id, _) in drafts.iter().rev() {
                    let is_listed = sessions.iter().any(|known: &Session| known.id == *id);
                    if let Some((url, thread)) = id.home().filter(|_| !is_listed) {
                        sessions.insert(0, Conversation::new(url, thread, self.shared.now()).session);
                    }
                }
                for session in &mut sessions {
                    let draft = drafts.iter().find(|(id, _)| *id == session.id);
                    session.draft = draft.map(|(_, text)| text.clone()).unwrap_or_default();
                }
                self.note_list(url, &sessions);
                ThreadsState::Ready(sessions)
            }
            Err(problem) => ThreadsState::Failed(problem),
        };
        self.shared.publish(tell(threads)).await;
        Ok(())
    }

    /// Shows a conversation as the server has it now; one whose turn is followed from here as it is here.
    async fn show_newest(self: &Arc<Self>, open: &Arc<Open>) -> Result<(), Fault> {
        match self.load(open).await {
            Ok(()) => self.show(open).await,
            // What is known is better than nothing.
            Err(problem) if open.stage.lock().await.loaded == Loaded::Yes => {
                self.show(open).await?;
                Err(fault(&problem, &open.url))
            }
            Err(problem) => {
                let session = SessionId::on_server(&open.url, &open.thread);
                self.shared.publish(Event::ThreadUnreached { session, problem }).await;
                Ok(())
            }
        }
    }

    async fn load(self: &Arc<Self>, open: &Arc<Open>) -> Result<(), LinkProblem> {
        if open.stage.lock().await.is_followed() {
            return Ok(());
        }
        let server = Server::open(&self.shared, &open.url).await?;
        let view = server.thread(&open.thread).await?;
        let mut stage = open.stage.lock().await;
        if stage.is_followed() {
            return Ok(());
        }
        // One that the server does not have was begun here and not sent yet, or deleted elsewhere: it is empty.
        let newest = view.map(|view| Conversation::of(&open.url, view));
        stage.conversation = newest.unwrap_or_else(|| Conversation::new(&open.url, &open.thread, self.shared.now()));
        stage.loaded = Loaded::Yes;
        if stage.conversation.state.is_running() {
            // Somebody else has it answered: it is looked after until it is over.
            let stop = self.leaving.child_token();
            stage.stop = Some(stop.clone());
            let (this, open) = (Arc::clone(self), Arc::clone(open));
            self.tasks.spawn(Box::pin(async move { this.watch(&open, &server, stop).await }));
        }
        Ok(())
    }

    /// Tells front ends of a conversation as it stands here.
    async fn show(&self, open: &Open) -> Result<(), Fault> {
        let stage = open.stage.lock().await;
        self.tell_opened(open, &stage).await
    }

    async fn tell_opened(&self, open: &Open, stage: &Stage) -> Result<(), Fault> {
        let draft = self.draft(&open.url, stage.conversation.id()).await?;
        let queued = stage.queued.iter().cloned().collect();
        self.shared.publish(stage.conversation.opened(draft, queued)).await;
        Ok(())
    }

    async fn draft(&self, url: &str, id: &SessionId) -> Result<String, Fault> {
        let drafts = self.shared.store.thread_drafts(url).await?;
        Ok(drafts.into_iter().find(|(of, _)| of == id).map(|(_, text)| text).unwrap_or_default())
    }

    async fn tell_queue(&self, stage: &Stage) {
        let (session, queued) = (stage.conversation.id().clone(), stage.queued.iter().cloned().collect());
        self.shared.publish(Event::QueueChanged { session, queued }).await;
    }

    /// Attached files go to a model on another machine: their secrets are masked, which the person is told. What was typed
    /// goes as it stands.
    async fn without_secrets(&self, text: String) -> Result<String, Fault> {
        let (text, count) = shield::said_to_server(text).await?;
        if count > 0 {
            let args = vec![("count", count.to_string())];
            self.shared.publish(Event::Notice { key: "notice-server-masked", args }).await;
        }
        Ok(text)
    }

    /// Says something now, or when the running turn has ended.
    async fn say(self: &Arc<Self>, id: &SessionId, text: String, images: &[Image]) -> Result<(), Fault> {
        if !images.is_empty() {
            return Err(Fault::new("fault-thread-images", ""));
        }
        let open = self.open(id)?;
        let mut stage = open.stage.lock().await;
        if stage.stop.is_none() && stage.queued.is_empty() {
            self.start(&open, &mut stage, Begin::Say { text }).await;
            return Ok(());
        }
        if stage.queued.len() >= QUEUE {
            return Err(Fault::new("fault-queue-full", ""));
        }
        stage.queued.push_back(text);
        self.shared.store.save_thread_draft(id, "").await?;
        if stage.stop.is_none()
            && let Some(text) = stage.queued.pop_front()
        {
            self.start(&open, &mut stage, Begin::SayNext { text }).await;
        }
        self.tell_queue(&stage).await;
        Ok(())
    }

    /// After an answer that broke off: another try. Else: with what waits.
    async fn go_on(self: &Arc<Self>, id: &SessionId) -> Result<(), Fault> {
        let open = self.open(id)?;
        let mut stage = open.stage.lock().await;
        if stage.stop.is_some() {
            return Err(Fault::new("fault-busy", ""));
        }
        let waiting = stage.queued.pop_front();
        let begin = waiting.map_or(Begin::Branch { at: None, text: None }, |text| Begin::SayNext { text });
        self.start(&open, &mut stage, begin).await;
        self.tell_queue(&stage).await;
        Ok(())
    }

    async fn begin(self: &Arc<Self>, id: &SessionId, begin: Begin) -> Result<(), Fault> {
        let open = self.open(id)?;
        let mut stage = open.stage.lock().await;
        if stage.stop.is_some() {
            return Err(Fault::new("fault-busy", ""));
        }
        self.start(&open, &mut stage, begin).await;
        Ok(())
    }

    async fn start(self: &Arc<Self>, open: &Arc<Open>, stage: &mut Stage, begin: Begin) {
        let stop = self.leaving.child_token();
        stage.stop = Some(stop.clone());
        let state = stage.conversation.enter(State::Sending);
        self.shared.publish(state).await;
        let (this, open) = (Arc::clone(self), Arc::clone(open));
        self.tasks.spawn(Box::pin(async move { this.run(open, begin, stop).await }));
    }

    async fn delete(&self, id: &SessionId, open: &Open) -> Result<(), Fault> {
        if let Some(stop) = &open.stage.lock().await.stop {
            stop.cancel();
        }
        let server = Server::open(&self.shared, &open.url).await.map_err(|problem| fault(&problem, &open.url))?;
        server.delete(&open.thread).await.map_err(|problem| fault(&problem, &open.url))?;
        self.shared.store.save_thread_draft(id, "").await?;
        self.lock().remove(id);
        self.shared.publish(Event::SessionDeleted(id.clone())).await;
        self.list(&open.url).await
    }

    /// The conversation of this id.
    fn open(&self, id: &SessionId) -> Result<Arc<Open>, Fault> {
        if let Some(open) = self.lock().get(id) {
            return Ok(Arc::clone(open));
        }
        let (url, thread) = id.home().ok_or_else(Fault::no_session)?;
        self.adopt(Conversation::new(url, thread, self.shared.now()), Loaded::No)
    }

    fn adopt(&self, conversation: Conversation, loaded: Loaded) -> Result<Arc<Open>, Fault> {
        let id = conversation.session.id.clone();
        let open = Open::new(conversation, loaded).ok_or_else(Fault::no_session)?;
        self.lock().insert(id, Arc::clone(&open));
        Ok(open)
    }

    fn errand(&self, work: impl Future<Output = Result<(), Fault>> + Send + 'static) {
        let (shared, leaving) = (Arc::clone(&self.shared), self.leaving.clone());
        self.tasks.spawn(Box::pin(async move {
            tokio::select! {
                done = work => if let Err(fault) = done {
                    shared.report(fault).await;
                },
                () = leaving.cancelled() => {}
            }
        }));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage {
    /// Whether its turn is answered to this computer, so that more is known here than the server has written down.
    fn is_followed(&self) -> bool {
        self.stop.is_some()
    }
}

/// Why a server did not do it, for the person.
fn fault(problem: &LinkProblem, url: &str) -> Fault {
    let (key, detail) = problem.text();
    Fault::new(key, detail).with("url", url)
}

/// The message that is to be answered again; the last one of the conversation where none is named.
fn wanted(at: Option<MessageId>, conversation: &Conversation) -> Option<MessageId> {
    at.or_else(|| conversation.last().cloned())
}

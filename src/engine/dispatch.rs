//! Takes commands in their order and owns what lives beyond one command: the live sessions and the downloads.
//!
//! Nothing in here waits long: what may is sent on an errand, or is a session's own task.

mod command;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio::time::error::Elapsed;
use tokio_util::sync::CancellationToken;

use crate::ir::{Image, Session, SessionId, ToolCall};
use crate::policy::Origin;
use crate::port::{Command, Event, TurnOptions, TurnOutcome};
use crate::provider::http::on_behalf_of;

use super::conversation::Conversations;
use super::fault::Fault;
use super::gate::{self, Caller, Line};
use super::link::{Desk, Wish};
use super::model::Pulls;
use super::shared::Shared;
use super::transcript::Transcript;
use super::turn::{Begin, CallStops, Turn};
use super::{audit, rule, session, undo};

/// Messages of one session that may wait for the running turn.
const QUEUE: usize = 32;
/// How long running turns may take to stop when the engine ends.
const STOPPING: Duration = Duration::from_secs(2);
/// How long the store may take to write what is left.
const CLOSING: Duration = Duration::from_secs(5);

pub(super) struct Dispatcher {
    shared: Arc<Shared>,
    sessions: HashMap<SessionId, Live>,
    pulls: Pulls,
    /// Open while the engine runs.
    links: Option<Desk>,
    /// Sessions that live on a server.
    conversations: Arc<Conversations>,
    ended: mpsc::Sender<Ended>,
    ends: mpsc::Receiver<Ended>,
    /// When what was deleted last is removed for good.
    purge_at: Option<Instant>,
}

/// A session's task is over.
struct Ended {
    session: SessionId,
    /// How a turn ended; `None` for a single call, and for a task that broke.
    outcome: Option<TurnOutcome>,
    /// What the front ends are told: reported here, so that whatever they send next finds the session free.
    event: Option<Event>,
}

/// A session that somebody has looked at since the start.
struct Live {
    transcript: Arc<Transcript>,
    queue: VecDeque<Waiting>,
    running: Option<Running>,
}

/// What a session is doing.
struct Running {
    stop: CancellationToken,
    stops: CallStops,
    task: JoinHandle<()>,
}

/// A message that waits for the running turn to end.
struct Waiting {
    text: String,
    images: Vec<Image>,
    options: TurnOptions,
}

/// Waits for a moment; for ever where there is none.
async fn due(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

impl Dispatcher {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (ended, ends) = mpsc::channel(64);
        let conversations = Conversations::new(&shared);
        Self {
            shared,
            sessions: HashMap::new(),
            pulls: Pulls::default(),
            links: None,
            conversations,
            ended,
            ends,
            purge_at: None,
        }
    }

    /// Serves until the engine shall end.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>, quit: CancellationToken) {
        self.links = Some(Desk::open(&self.shared));
        // What offered to bring it back went with the last run.
        session::purge(&self.shared, Duration::ZERO).await;
        undo::prune_soon(&self.shared);
        let mut is_looked_over = false;
        loop {
            tokio::select! {
                biased;
                () = quit.cancelled() => break,
                Some(ended) = self.ends.recv() => self.settle(ended).await,
                () = due(self.purge_at) => {
                    self.purge_at = None;
                    let shared = Arc::clone(&self.shared);
                    self.shared.errands.spawn(async move { session::purge(&shared, shared.restorable).await });
                }
                command = commands.recv() => match command {
                    None | Some(Command::Quit) => break,
                    Some(command) => {
                        // Whoever sends a command is there to hear what is found.
                        if !std::mem::replace(&mut is_looked_over, true) {
                            audit::look_over(&self.shared, quit.clone());
                        }
                        if let Err(fault) = self.take(command).await {
                            self.shared.report(fault).await;
                        }
                    }
                },
            }
        }
        self.end().await;
    }

    /// Has what is deleted now removed for good once nothing offers to bring it back any more.
    fn purge_later(&mut self) {
        let moment = Instant::now() + self.shared.restorable;
        self.purge_at = Some(moment);
    }

    fn live(&mut self, id: &SessionId) -> &mut Live {
        self.sessions.entry(id.clone()).or_insert_with(|| Live {
            transcript: Arc::new(Transcript::new(Arc::clone(&self.shared), id.clone())),
            queue: VecDeque::new(),
            running: None,
        })
    }

    fn transcript(&mut self, id: &SessionId) -> Arc<Transcript> {
        Arc::clone(&self.live(id).transcript)
    }

    /// After a rule was made or taken back: waiting calls are judged anew, in every session where it is for all.
    async fn show_rules(&mut self, session: Option<SessionId>) -> Result<(), Fault> {
        if let Some(session) = session {
            return self.transcript(&session).show_rules().await;
        }
        for live in self.sessions.values() {
            live.transcript.show_rules().await?;
        }
        rule::show_standing(&self.shared).await
    }

    async fn change(&mut self, id: &SessionId, change: impl FnOnce(&mut Session) + Send) -> Result<(), Fault> {
        self.transcript(id).change(change).await.map(drop)
    }

    /// Passes a wish for a connection on.
    fn wish(&self, wish: Wish) -> Result<(), Fault> {
        self.links.as_ref().map_or(Ok(()), |links| links.take(wish))
    }

    /// Runs beside everything else; a failure is reported when it comes.
    fn errand(&self, work: impl Future<Output = Result<(), Fault>> + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        self.shared.errands.spawn(async move {
            if let Err(fault) = work.await {
                shared.report(fault).await;
            }
        });
    }

    fn must_be_idle(&mut self, id: &SessionId) -> Result<(), Fault> {
        if self.live(id).running.is_some() { Err(Fault::new("fault-busy", "")) } else { Ok(()) }
    }

    /// Says something now, or when the running turn has ended.
    async fn say(
        &mut self,
        id: &SessionId,
        text: String,
        images: Vec<Image>,
        options: TurnOptions,
    ) -> Result<(), Fault> {
        let live = self.live(id);
        if live.queue.len() >= QUEUE {
            return Err(Fault::new("fault-queue-full", ""));
        }
        if live.running.is_none() && live.queue.is_empty() {
            // Nothing is said of the queue: for a front end the message is taken once it is kept, not before.
            self.begin(id, Begin::Say { text, images }, options);
            return Ok(());
        }
        live.queue.push_back(Waiting { text, images, options });
        if live.running.is_some() {
            self.shared.store.save_draft(id, "").await?;
            self.show_queue(id).await;
        } else {
            self.next(id).await;
        }
        Ok(())
    }

    /// Begins a turn with what waits longest.
    async fn next(&mut self, id: &SessionId) {
        let live = self.live(id);
        let Some(Waiting { text, images, options }) = live.queue.pop_front() else { return };
        self.begin(id, Begin::Say { text, images }, options);
        self.show_queue(id).await;
    }

    async fn unqueue(&mut self, id: &SessionId, index: usize) -> Result<(), Fault> {
        self.live(id).queue.remove(index);
        self.show_queue(id).await;
        Ok(())
    }

    async fn show_queue(&mut self, id: &SessionId) {
        let live = self.live(id);
        let queued = live.queue.iter().map(|waiting| waiting.text.clone()).collect();
        let transcript = Arc::clone(&live.transcript);
        transcript.show_queue(queued).await;
    }

    /// After a limit: on with what there is. After a broken-off answer: another try. Else: with what waits.
    async fn go_on(&mut self, id: &SessionId) -> Result<(), Fault> {
        self.must_be_idle(id)?;
        if !self.live(id).queue.is_empty() {
            self.next(id).await;
            return Ok(());
        }
        let rounds_done = session::pick_up(&self.shared, id).await?;
        self.transcript(id).open().await?;
        self.begin(id, Begin::Answer { rounds_done }, TurnOptions::default());
        Ok(())
    }

    fn begin(&mut self, id: &SessionId, begin: Begin, options: TurnOptions) {
        let (ended, session) = (self.ended.clone(), id.clone());
        let shared = Arc::clone(&self.shared);
        let live = self.live(id);
        let (stop, stops) = (CancellationToken::new(), CallStops::default());
        let turn = Turn {
            shared,
            transcript: Arc::clone(&live.transcript),
            options: Arc::new(options),
            stop: stop.clone(),
            stops: stops.clone(),
        };
        let task = tokio::task::spawn(async move {
            let guard = EndGuard { ended, session: Some(session) };
            let transcript = Arc::clone(&turn.transcript);
            let traffic = transcript.traffic().await;
            let end = Box::pin(on_behalf_of(traffic.clone(), turn.run(begin))).await;
            traffic.save().await;
            guard.end(Some(end.outcome), Event::TurnEnded(Box::new(end))).await;
        });
        live.running = Some(Running { stop, stops, task });
    }

    async fn run_tool(&mut self, session: Session, call: ToolCall, options: TurnOptions) -> Result<(), Fault> {
        let id = session.id.clone();
        self.must_be_idle(&id)?;
        session::keep(&self.shared, session).await?;
        let transcript = self.transcript(&id);
        let (stop, stops) = (CancellationToken::new(), CallStops::default());
        let caller = Arc::new(Caller {
            shared: Arc::clone(&self.shared),
            transcript,
            options: Arc::new(options),
            origin: Origin::CommandLine,
            message: None,
            model: String::new(),
            model_words: String::new(),
            is_for_elsewhere: false,
            given_bytes: AtomicU64::default(),
            notices: None,
            remote: None,
        });
        let cancel = stops.add(&call.id, &stop);
        let guard = EndGuard { ended: self.ended.clone(), session: Some(id.clone()) };
        let task = tokio::task::spawn(async move {
            let session = caller.transcript.id().clone();
            let outcome = Box::pin(gate::pass(caller, call, Line::default().join(), cancel)).await;
            let (call, result) = (Box::new(outcome.row), Box::new(outcome.result));
            guard.end(None, Event::ToolEnded { session, call, result }).await;
        });
        self.live(&id).running = Some(Running { stop, stops, task });
        Ok(())
    }

    fn stop(&mut self, id: &SessionId) {
        if let Some(running) = &self.live(id).running {
            running.stop.cancel();
        }
    }

    fn stop_call(&mut self, id: &SessionId, call: &crate::ir::CallId) {
        if let Some(running) = &self.live(id).running {
            running.stops.stop(call);
        }
    }

    /// What waits goes on after a turn that ended by itself. After a stop or a failure it waits for the person.
    async fn settle(&mut self, ended: Ended) {
        let Ended { session, outcome, event } = ended;
        self.live(&session).running = None;
        self.publish_end(event).await;
        match outcome {
            Some(TurnOutcome::Done) if !self.live(&session).queue.is_empty() => self.next(&session).await,
            Some(
                TurnOutcome::Done
                | TurnOutcome::Failed
                | TurnOutcome::Denied
                | TurnOutcome::Stopped
                | TurnOutcome::Limit,
            )
            | None => {}
        }
    }

    /// Reports how the turns end until all of them have; whether they all did.
    async fn report_ends<T>(&mut self, stopped: impl Future<Output = Result<T, Elapsed>>) -> bool {
        tokio::pin!(stopped);
        let have_stopped = loop {
            tokio::select! {
                biased;
                Some(Ended { event, .. }) = self.ends.recv() => self.publish_end(event).await,
                stopped = &mut stopped => break stopped.is_ok(),
            }
        };
        while let Ok(Ended { event, .. }) = self.ends.try_recv() {
            self.publish_end(event).await;
        }
        have_stopped
    }

    async fn publish_end(&self, event: Option<Event>) {
        if let Some(event) = event {
            self.shared.publish(event).await;
        }
    }

    /// Stops everything, writes what is left, says goodbye. Bounded in time.
    async fn end(mut self) {
        let mut tasks = Vec::new();
        for live in self.sessions.values_mut() {
            if let Some(running) = live.running.take() {
                running.stop.cancel();
                tasks.push(running.task);
            }
        }
        self.pulls.stop_all();
        if let Some(links) = self.links.take() {
            links.close(STOPPING).await;
        }
        self.conversations.end().await;
        let stopped = tokio::time::timeout(STOPPING, futures_util::future::join_all(tasks));
        let goodbyes = tokio::time::timeout(STOPPING, self.report_ends(stopped)).await;
        if !matches!(goodbyes, Ok(true)) {
            tracing::error!("a turn did not stop in time");
        }
        self.keep_queues().await;
        self.shared.errands.close();
        if tokio::time::timeout(Duration::from_secs(1), self.shared.errands.wait()).await.is_err() {
            tracing::warn!("an errand did not end in time");
        }
        if self.purge_at.is_some()
            && tokio::time::timeout(CLOSING, session::purge(&self.shared, Duration::ZERO)).await.is_err()
        {
            tracing::warn!("what was deleted is removed for good at the next start");
        }
        match tokio::time::timeout(CLOSING, self.shared.store.clone().checkpoint_and_close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the store did not close well"),
            Err(_) => tracing::error!("the store did not close in time"),
        }
        let goodbye = tokio::time::timeout(Duration::from_secs(1), self.shared.publish(Event::Ended));
        if goodbye.await.is_err() {
            tracing::warn!("a front end did not take the last event");
        }
        self.shared.hub.close();
    }

    /// What was still waiting to be said is in the message box at the next start, before what was being typed.
    async fn keep_queues(&mut self) {
        for (id, live) in &mut self.sessions {
            let mut texts: Vec<String> = live.queue.drain(..).map(|waiting| waiting.text).collect();
            if texts.is_empty() {
                continue;
            }
            let draft = self.shared.store.session(id).await.ok().flatten().map(|session| session.draft);
            texts.extend(draft.filter(|draft| !draft.is_empty()));
            if let Err(error) = self.shared.store.save_draft(id, &texts.join("\n\n")).await {
                tracing::error!(%error, "messages that waited were not kept");
            }
        }
    }
}

/// Reports that a session is free again, whatever happened to its task.
struct EndGuard {
    ended: mpsc::Sender<Ended>,
    session: Option<SessionId>,
}

impl EndGuard {
    async fn end(mut self, outcome: Option<TurnOutcome>, event: Event) {
        if let Some(session) = self.session.take() {
            // The dispatcher is gone when the engine ends.
            self.ended.send(Ended { session, outcome, event: Some(event) }).await.ok();
        }
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.ended.try_send(Ended { session, outcome: None, event: None }).ok();
        }
    }
}

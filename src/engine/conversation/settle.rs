//! How a turn ended where its stream did not tell: the server is asked again, for as long as that is of use, and what it has
//! written down is what is shown. Stopping ends here too: a closed stream stops a turn, and the server says what came of it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::ir::{Error, State};
use crate::link::agui;
use crate::link::conversation::Conversation;
use crate::link::thread::{RunStatus, ThreadView};
use crate::port::{Event, TurnOutcome};

use super::super::fault::Fault;
use super::server::Server;
use super::turn::{Run, Words, lost, unsent};
use super::{Conversations, Open};

/// Waits before a server is asked again how a turn ended, in milliseconds. With the time-outs this is some minutes.
const ASK_AGAIN_MS: [u64; 8] = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000];
/// How often a turn that somebody else follows, or that was stopped, is asked after.
const ASK_AFTER: Duration = Duration::from_millis(700);
/// How long a stopped turn may take to end on the server.
const STOPPING: Duration = Duration::from_secs(10);

impl Conversations {
    /// The answer is not known any further: says so where it stands, with the way to another try.
    pub(super) async fn break_off(&self, run: &Run) -> Result<TurnOutcome, Fault> {
        let mut stage = run.open.stage.lock().await;
        let told = stage.conversation.break_off(&run.id, self.shared.now());
        self.shared.publish(told).await;
        Ok(TurnOutcome::Failed)
    }

    /// Asks a server that could not be reached for the conversation, again and again; `None` when it was given up.
    pub(super) async fn ask(&self, run: &Run, stop: &CancellationToken, error: &Error) -> Option<ThreadView> {
        for (attempt, wait_ms) in (1..).zip(ASK_AGAIN_MS) {
            let session = run.open.stage.lock().await.conversation.id().clone();
            self.shared.publish(Event::Retrying { session, attempt, wait_ms, error: error.clone() }).await;
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {}
                () = stop.cancelled() => return None,
            }
            let asked = tokio::select! {
                asked = run.server.thread(&run.open.thread) => asked,
                () = stop.cancelled() => return None,
            };
            match asked {
                Ok(Some(view)) => return Some(view),
                // The thread was never begun.
                Ok(None) => {
                    return Some(empty_view(&run.open.thread));
                }
                Err(problem) => tracing::info!(?problem, attempt, "a server does not answer"),
            }
        }
        None
    }

    /// Goes on with what the server has of a run whose stream broke.
    pub(super) async fn resume(
        &self,
        run: &Run,
        view: ThreadView,
        stop: &CancellationToken,
    ) -> Result<TurnOutcome, Fault> {
        let mut view = view;
        loop {
            let Some(status) = status_of(&view, &run.id) else { return self.break_off(run).await };
            {
                let mut stage = run.open.stage.lock().await;
                stage.conversation = Conversation::of(&run.open.url, view);
                if status == RunStatus::Cancelled && !stop.is_cancelled() {
                    // It was not the person who closed the stream. What follows shows the whole of it.
                    drop(stage.conversation.break_off(&run.id, self.shared.now()));
                }
                drop(stage.conversation.enter(State::Sending));
                self.tell_opened(&run.open, &stage).await?;
            }
            if let Some(outcome) = outcome_of(status) {
                let was_lost = outcome == TurnOutcome::Stopped && !stop.is_cancelled();
                return Ok(if was_lost { TurnOutcome::Failed } else { outcome });
            }
            tokio::select! {
                () = tokio::time::sleep(ASK_AFTER) => {}
                () = stop.cancelled() => return self.settle_stopped(run).await,
            }
            let error = lost("");
            match self.ask_now(run, stop, &error).await {
                Some(newer) => view = newer,
                None if stop.is_cancelled() => return self.settle_stopped(run).await,
                None => return self.break_off(run).await,
            }
        }
    }

    async fn ask_now(&self, run: &Run, stop: &CancellationToken, error: &Error) -> Option<ThreadView> {
        match run.server.thread(&run.open.thread).await {
            Ok(Some(view)) => Some(view),
            Ok(None) => None,
            Err(_) => self.ask(run, stop, error).await,
        }
    }

    /// After *Stop*: the stream is closed; what the server made of that is shown.
    pub(super) async fn settle_stopped(&self, run: &Run) -> Result<TurnOutcome, Fault> {
        let until = tokio::time::Instant::now() + STOPPING;
        while !self.leaving.is_cancelled() && tokio::time::Instant::now() < until {
            match run.server.thread(&run.open.thread).await {
                Ok(Some(view)) if status_of(&view, &run.id).and_then(outcome_of).is_some() => {
                    let mut stage = run.open.stage.lock().await;
                    stage.conversation = Conversation::of(&run.open.url, view);
                    // Until the end of the turn is told: what is said before that would wait for nothing.
                    drop(stage.conversation.enter(State::Sending));
                    self.tell_opened(&run.open, &stage).await?;
                    return Ok(TurnOutcome::Stopped);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
            tokio::select! {
                () = tokio::time::sleep(ASK_AFTER) => {}
                () = self.leaving.cancelled() => {}
            }
        }
        let mut stage = run.open.stage.lock().await;
        let finished = agui::Event::RunFinished {
            thread_id: run.open.thread.clone(),
            run_id: run.id.clone(),
            outcome: agui::Finish::Cancelled,
            usage: Vec::new(),
        };
        let (told, _) = stage.conversation.hear(finished, self.shared.now());
        for event in told {
            self.shared.publish(event).await;
        }
        Ok(TurnOutcome::Stopped)
    }

    /// Stopped before the server had said that it took it: taken or not, the person's words are not lost.
    pub(super) async fn settle_unsaid(&self, run: &Run) -> Result<TurnOutcome, Fault> {
        if self.leaving.is_cancelled() {
            return Err(unsent());
        }
        // What is on its way arrives, or does not.
        tokio::time::sleep(ASK_AFTER).await;
        match run.server.thread(&run.open.thread).await {
            Ok(Some(view)) if has_run(&view, &run.id) => {
                if run.words == Words::Here {
                    self.say_begun(run).await;
                }
                self.settle_stopped(run).await
            }
            Ok(_) | Err(_) if run.words == Words::There => self.break_off(run).await,
            Ok(_) | Err(_) => Err(unsent()),
        }
    }

    /// Looks after a turn that somebody else has answered, until it is over.
    pub(super) async fn watch(&self, open: &Open, server: &Server, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(ASK_AFTER) => {}
                () = stop.cancelled() => break,
            }
            let Ok(Some(view)) = server.thread(&open.thread).await else { break };
            let newer = Conversation::of(&open.url, view);
            let mut stage = open.stage.lock().await;
            let is_over = !newer.state.is_running();
            if newer != stage.conversation {
                stage.conversation = newer;
                if self.tell_opened(open, &stage).await.is_err() {
                    break;
                }
            }
            if is_over {
                break;
            }
        }
        let mut stage = open.stage.lock().await;
        stage.stop = None;
        if stage.conversation.state.is_running() {
            let idle = stage.conversation.enter(State::Idle);
            self.shared.publish(idle).await;
        }
    }
}

pub(super) fn has_run(view: &ThreadView, run: &str) -> bool {
    status_of(view, run).is_some_and(|status| status != RunStatus::Prepared)
}

fn status_of(view: &ThreadView, run: &str) -> Option<RunStatus> {
    view.turns.iter().find(|turn| turn.run_id == run).map(|turn| turn.status)
}

/// How a run ended; `None` while it is under way.
fn outcome_of(status: RunStatus) -> Option<TurnOutcome> {
    match status {
        RunStatus::Running => None,
        RunStatus::Succeeded => Some(TurnOutcome::Done),
        RunStatus::Prepared | RunStatus::Failed | RunStatus::Limited | RunStatus::Interrupted => {
            Some(TurnOutcome::Failed)
        }
        RunStatus::Cancelled => Some(TurnOutcome::Stopped),
    }
}

/// A thread that the server does not have.
fn empty_view(thread: &str) -> ThreadView {
    ThreadView {
        thread: crate::link::thread::ThreadRow {
            thread_id: thread.to_owned(),
            title: String::new(),
            parent_thread_id: None,
            created_at: crate::ir::UnixMs(0),
            updated_at: crate::ir::UnixMs(0),
        },
        inherited: Vec::new(),
        turns: Vec::new(),
        tool_calls: Vec::new(),
    }
}

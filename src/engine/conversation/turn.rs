//! One turn of a conversation on a server: begun, and read as it comes; what becomes of one whose stream broke is `settle`'s. A
//! run has a name of this computer's own making, so that it can be told whether the server took it, and nothing is said twice.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::ir::{Error, ErrorCode, LinkProblem, MessageId, State};
use crate::link::agui;
use crate::link::conversation::{Conversation, Place, place_at, place_of};
use crate::port::{Event, TurnOutcome};
use crate::provider::framing::{LineTooLong, Sse};
use crate::provider::http::Reply;

use super::super::fault::Fault;
use super::server::Server;
use super::settle::has_run;
use super::{Conversations, Loaded, Open, fault, wanted};

/// The longest answer, in bytes of its stream.
const ANSWER_BYTES: usize = 64 << 20;

/// What a turn begins with.
pub(super) enum Begin {
    /// More words, which the front end keeps until they are taken.
    Say { text: String },
    /// More words, which waited here.
    SayNext { text: String },
    /// A branch in the place of the turn of this message (the last one without it), with these words or the same.
    Branch { at: Option<MessageId>, text: Option<String> },
}

/// A run that a server answers.
pub(super) struct Run {
    pub(super) server: Server,
    pub(super) open: Arc<Open>,
    pub(super) id: String,
    pub(super) input: String,
    pub(super) words: Words,
}

/// Where the person's words are before the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// Here alone.
    Here,
    /// With the server: the turn is prepared.
    There,
}

/// How far a stream came.
enum Came {
    /// It said how it ended.
    To(TurnOutcome),
    /// The person, or the end of the engine, stopped it.
    Stopped,
    /// It broke.
    Broken(Error),
}

impl Conversations {
    /// Runs a turn, and then what waited meanwhile.
    pub(super) async fn run(self: Arc<Self>, open: Arc<Open>, begin: Begin, stop: CancellationToken) {
        let mut open = open;
        let mut next = Some(begin);
        while let Some(begin) = next.take() {
            let waited = if let Begin::SayNext { text } = &begin { Some(text.clone()) } else { None };
            let outcome = match self.prepare(&mut open, begin, &stop).await {
                Ok(run) => self.answer(run, &stop).await,
                Err(fault) => Err(fault),
            };
            let mut stage = open.stage.lock().await;
            match outcome {
                Ok(outcome) => {
                    let end = stage.conversation.turn_end(outcome);
                    for left_open in stage.conversation.end(outcome, self.shared.now()) {
                        self.shared.publish(left_open).await;
                    }
                    self.shared.publish(end).await;
                    if outcome == TurnOutcome::Done && !stop.is_cancelled() {
                        next = stage.queued.pop_front().map(|text| Begin::SayNext { text });
                    }
                }
                Err(fault) => {
                    let state = stage.conversation.enter(State::Idle);
                    self.shared.publish(state).await;
                    if let Some(text) = waited {
                        stage.queued.push_front(text);
                        self.tell_queue(&stage).await;
                    }
                    self.shared.report(fault).await;
                }
            }
            if next.is_some() {
                self.tell_queue(&stage).await;
            } else {
                stage.stop = None;
            }
        }
        if !self.leaving.is_cancelled()
            && let Err(fault) = self.list(&open.url).await
        {
            self.shared.report(fault).await;
        }
    }

    /// Finds the server, and for a branch makes it: `open` is the conversation that goes on then.
    async fn prepare(&self, open: &mut Arc<Open>, begin: Begin, stop: &CancellationToken) -> Result<Run, Fault> {
        let url = open.url.clone();
        let failed = |problem: LinkProblem| fault(&problem, &url);
        let server = Server::open(&self.shared, &open.url).await.map_err(failed)?;
        let (at, text) = match begin {
            Begin::Say { text } | Begin::SayNext { text } => {
                let id = uuid::Uuid::now_v7().to_string();
                return Ok(Run { server, open: Arc::clone(open), id, input: text, words: Words::Here });
            }
            Begin::Branch { at, text } => (at, text),
        };
        let at = wanted(at, &open.stage.lock().await.conversation).ok_or_else(gone)?;
        let branched = async {
            let (thread, turn, said) = self.find(&server, open, &at).await?;
            let input = text.unwrap_or(said);
            let prepared = server.branch(&thread, &turn, &input).await.map_err(failed)?;
            let view = server.thread(&prepared.thread_id).await.map_err(failed)?.ok_or_else(gone)?;
            Ok::<_, Fault>((prepared.run_id, input, view))
        };
        let (id, input, view) = tokio::select! {
            branched = branched => branched?,
            () = stop.cancelled() => return Err(unsent()),
        };
        let branch = self.adopt(Conversation::of(&open.url, view), Loaded::Yes)?;
        self.move_over(open, &branch, &id, &input).await?;
        *open = Arc::clone(&branch);
        Ok(Run { server, open: branch, id, input, words: Words::There })
    }

    /// Whoever looks at a conversation looks at its branch from now on; what ran and waited there runs and waits here.
    async fn move_over(&self, from: &Open, to: &Open, run: &str, input: &str) -> Result<(), Fault> {
        let (resting, gone_from, stop, queued) = {
            let mut old = from.stage.lock().await;
            let id = old.conversation.id().clone();
            (old.conversation.enter(State::Idle), id, old.stop.take(), std::mem::take(&mut old.queued))
        };
        let mut stage = to.stage.lock().await;
        (stage.stop, stage.queued) = (stop, queued);
        // The server has the words: from here on nothing can be lost.
        let said = stage.conversation.begin(run, input, self.shared.now());
        self.shared.publish(resting).await;
        self.shared.publish(Event::SessionMoved { from: gone_from, to: stage.conversation.id().clone() }).await;
        self.tell_opened(to, &stage).await?;
        for event in said {
            self.shared.publish(event).await;
        }
        Ok(())
    }

    /// The turn of a message: in this thread, or in one that it took the message over from.
    async fn find(&self, server: &Server, open: &Open, at: &MessageId) -> Result<(String, String, String), Fault> {
        let failed = |problem: LinkProblem| fault(&problem, &open.url);
        let mut thread = open.thread.clone();
        let mut view = server.thread(&thread).await.map_err(failed)?.ok_or_else(gone)?;
        let mut place = place_of(&view, at);
        // A thread is older than its branches, so this ends; a server that says otherwise is not followed for ever.
        for _ in 0..100 {
            match place {
                Place::Turn { turn, input } => return Ok((thread, turn, input)),
                Place::Parent { thread: parent, index } => {
                    view = server.thread(&parent).await.map_err(failed)?.ok_or_else(gone)?;
                    thread = parent;
                    place = place_at(&view, index);
                }
                Place::Nowhere => break,
            }
        }
        Err(gone())
    }

    /// Has a run answered and follows it to its end.
    async fn answer(&self, run: Run, stop: &CancellationToken) -> Result<TurnOutcome, Fault> {
        let asked = tokio::select! {
            asked = run.server.run(&run.open.thread, &run.id, &run.input) => asked,
            () = stop.cancelled() => return self.settle_unsaid(&run).await,
        };
        let mut reply = match asked {
            Ok(reply) => reply,
            Err(problem) if run.words == Words::There => {
                self.shared.report(fault(&problem, &run.open.url)).await;
                return self.break_off(&run).await;
            }
            // It may have been taken all the same: the answer was lost on the way.
            Err(LinkProblem::Unreachable { detail }) => {
                let error = lost(&detail);
                return match self.ask(&run, stop, &error).await {
                    Some(view) if has_run(&view, &run.id) => {
                        self.say_begun(&run).await;
                        self.resume(&run, view, stop).await
                    }
                    Some(_) | None if stop.is_cancelled() => Err(unsent()),
                    Some(_) => Err(Fault::new("link-problem-unreachable", detail)),
                    None => Err(Fault::new("fault-thread-unsure", detail)),
                };
            }
            Err(problem) => return Err(fault(&problem, &run.open.url)),
        };
        if run.words == Words::Here {
            self.say_begun(&run).await;
        }
        let came = self.read(&run, &mut reply, stop).await;
        // From here on the server knows that nobody listens.
        drop(reply);
        match came {
            Came::To(outcome) => Ok(outcome),
            Came::Stopped => self.settle_stopped(&run).await,
            Came::Broken(error) => match self.ask(&run, stop, &error).await {
                Some(view) => self.resume(&run, view, stop).await,
                None if stop.is_cancelled() => self.settle_stopped(&run).await,
                None => self.break_off(&run).await,
            },
        }
    }

    /// The server has the person's words: only now may their box forget them.
    pub(super) async fn say_begun(&self, run: &Run) {
        let mut stage = run.open.stage.lock().await;
        for event in stage.conversation.begin(&run.id, &run.input, self.shared.now()) {
            self.shared.publish(event).await;
        }
    }

    /// Reads a stream to its end, event by event.
    async fn read(&self, run: &Run, reply: &mut Reply, stop: &CancellationToken) -> Came {
        let mut sse = Sse::default();
        let mut bytes = 0_usize;
        loop {
            let chunk = tokio::select! {
                chunk = reply.chunk() => chunk,
                () = stop.cancelled() => return Came::Stopped,
            };
            let chunk = match chunk {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Came::Broken(lost("the stream ended without its end")),
                Err(error) => return Came::Broken(lost(&error.to_string())),
            };
            bytes = bytes.saturating_add(chunk.len());
            let mut heard: Vec<agui::Event> = Vec::new();
            let fed = sse.feed(&chunk, |event| {
                heard.push(serde_json::from_str(event.data).map_err(|error| Garbage(error.to_string()))?);
                Ok::<(), Garbage>(())
            });
            if !heard.is_empty() {
                reply.mark_meaningful();
            }
            let mut stage = run.open.stage.lock().await;
            for event in heard {
                let (told, outcome) = stage.conversation.hear(event, self.shared.now());
                for event in told {
                    self.shared.publish(event).await;
                }
                if let Some(outcome) = outcome {
                    return Came::To(outcome);
                }
            }
            drop(stage);
            if let Err(Garbage(detail)) = fed {
                return Came::Broken(lost(&detail));
            }
            if bytes > ANSWER_BYTES {
                return Came::Broken(lost("the answer is longer than any may be"));
            }
        }
    }
}

/// A stream that is none.
struct Garbage(String);

impl From<LineTooLong> for Garbage {
    fn from(error: LineTooLong) -> Self {
        Self(error.to_string())
    }
}

/// Nothing of it reached the server: it is in the message box again.
pub(super) fn unsent() -> Fault {
    Fault::new("fault-thread-unsent", "")
}

fn gone() -> Fault {
    Fault::new("fault-thread-gone", "")
}

/// Why the server is asked once more.
pub(super) fn lost(detail: &str) -> Error {
    let error = Error::new(ErrorCode::NetworkError, detail);
    Error { provider_code: Some("server_away".to_owned()), retryable: true, ..error }
}

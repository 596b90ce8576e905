//! The broker of questions: keeps the way back for each, by its id.
//!
//! A question whose asker is gone is closed; an asker whose question is dropped hears nothing, which means no.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::ir::{ConfirmId, Decider, SessionId, UnixMs};
use crate::port::{Answer, ConfirmRequest, Event, Unanswered};

use super::inbox::Hub;

/// All open questions, oldest first.
#[derive(Clone, Default)]
pub(super) struct Confirms {
    open: Arc<Mutex<HashMap<ConfirmId, Open>>>,
    screen: watch::Sender<Screen>,
}

/// What the system says of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Screen {
    is_locked: bool,
    /// How often it was locked: a short lock is not missed.
    locks: u64,
}

/// How long a question waits that is asked while the screen is locked: whoever answers without a person does so at once.
const LOCKED_GRACE: Duration = Duration::from_secs(2);

struct Open {
    request: ConfirmRequest,
    reply: oneshot::Sender<Answered>,
}

/// What came back, and when.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answered {
    pub(super) answer: Answer,
    pub(super) decider: Decider,
    pub(super) at: UnixMs,
}

/// An asked question. Dropping it closes the question everywhere.
pub(super) struct Ticket {
    confirms: Confirms,
    hub: Arc<Hub>,
    /// Taken when it is closed.
    confirm: Option<ConfirmId>,
    session: SessionId,
    reply: oneshot::Receiver<Answered>,
    /// The screen when it was asked, before anybody heard of it.
    asked_at: Screen,
    screen: watch::Receiver<Screen>,
}

impl Confirms {
    /// Asks every front end.
    pub(super) async fn ask(&self, hub: &Arc<Hub>, request: ConfirmRequest) -> Ticket {
        let (sender, reply) = oneshot::channel();
        let ticket = Ticket {
            confirms: self.clone(),
            hub: Arc::clone(hub),
            confirm: Some(request.id.clone()),
            session: request.session.clone(),
            reply,
            asked_at: *self.screen.borrow(),
            screen: self.screen.subscribe(),
        };
        self.lock().insert(request.id.clone(), Open { request: request.clone(), reply: sender });
        hub.publish(Event::ConfirmAsked(Box::new(request))).await;
        ticket
    }

    /// The system locked the screen, or opened it again.
    pub(super) fn note_screen_lock(&self, is_locked: bool) {
        self.screen.send_modify(|screen| {
            screen.locks += u64::from(is_locked && !screen.is_locked);
            screen.is_locked = is_locked;
        });
    }

    /// Passes an answer on; false when nobody waits for it any more.
    pub(super) fn answer(&self, confirm: &ConfirmId, answered: Answered) -> bool {
        let open = self.lock().remove(confirm);
        open.is_some_and(|open| open.reply.send(answered).is_ok())
    }

    /// The questions that wait, for a front end that joins late; oldest first.
    pub(super) fn waiting(&self) -> Vec<ConfirmRequest> {
        let mut waiting: Vec<_> = self.lock().values().map(|open| open.request.clone()).collect();
        waiting.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        waiting
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConfirmId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Waits for the answer. `None` when the question was dropped: refused.
    pub(super) async fn answer(&mut self) -> Option<Answered> {
        (&mut self.reply).await.ok()
    }

    /// Ends when the screen is locked while the question waits. A future of its own: the answer is waited for beside it.
    pub(super) fn screen_locked(&self) -> impl Future<Output = ()> + Send + use<> {
        let (asked, mut screen) = (self.asked_at, self.screen.clone());
        async move {
            if asked.is_locked {
                tokio::time::sleep(LOCKED_GRACE).await;
                if screen.borrow().is_locked {
                    return;
                }
            }
            if screen.wait_for(|now| now.locks > asked.locks).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Closes the question everywhere, before anything else is reported of its call.
    pub(super) async fn close(mut self, unanswered: Option<Unanswered>) {
        let Some(closed) = self.take_closed(unanswered) else { return };
        self.hub.publish(closed).await;
    }

    fn take_closed(&mut self, unanswered: Option<Unanswered>) -> Option<Event> {
        let confirm = self.confirm.take()?;
        self.confirms.lock().remove(&confirm);
        Some(Event::ConfirmClosed { confirm, session: self.session.clone(), unanswered })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(closed) = self.take_closed(None) else { return };
        let hub = Arc::clone(&self.hub);
        // Outside a runtime the engine is over, and so are its front ends.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { hub.publish(closed).await });
        }
    }
}

//! What holds besides for a call that a server makes: it is taken into the record after the checks and before the question,
//! questions come one after the other and close by themselves, and nothing begins after the call's time. Time is counted by
//! the engine's uptime: whatever is done to the clock, a question is open for a minute at most.

use std::time::Duration;

use tokio::sync::{MutexGuard, mpsc, oneshot};

use crate::ir::{Code, Decider, Failure, UptimeMs};
use crate::link::machine::{CallNumber, Passage};

use super::super::link::FromGate;
use super::{Caller, Refusal, ask};

/// How long the person has for an answer, in milliseconds.
const ANSWER_MS: u64 = 60_000;
/// How long a wait may be before the time is looked at again: timers stand still while the computer sleeps.
const LOOK_MS: u64 = 1_000;

/// A server's call on its way through the gate.
pub(in crate::engine) struct Remote {
    /// The server's address, as the person is told.
    pub(in crate::engine) server: String,
    /// The call's number at its connection.
    pub(in crate::engine) number: CallNumber,
    /// Not to be begun after this.
    pub(in crate::engine) until: UptimeMs,
    /// The connection.
    pub(in crate::engine) connection: mpsc::Sender<FromGate>,
}

impl Remote {
    /// Has the call taken into the record, on disk, or learns why it is not to go on.
    pub(super) async fn admit(&self, caller: &Caller) -> Result<(), Refusal> {
        let (reply, passage) = oneshot::channel();
        let examined = FromGate::Examined { number: self.number, reply };
        // A connection that is gone admits nothing.
        self.connection.send(examined).await.ok();
        let passage = passage.await.unwrap_or(Passage::Unrecorded);
        Err(match passage {
            Passage::GoOn => return Ok(()),
            Passage::Expired => expired(),
            Passage::Cancelled | Passage::Known => Refusal::cancelled(caller),
            Passage::Conflict => {
                Failure::new(Code::IdempotencyConflict, "The same call came before with other arguments.").into()
            }
            Passage::Unrecorded => {
                Failure::new(Code::IoError, "The call could not be recorded, so it was not run.").into()
            }
        })
    }

    /// When a question that is asked now closes by itself.
    fn deadline(&self, asked_at: UptimeMs) -> UptimeMs {
        asked_at.after(ANSWER_MS).min(self.until)
    }
}

/// When a server's question that is asked now is to be closed; `None` for every other question.
pub(super) fn deadline(caller: &Caller) -> Option<UptimeMs> {
    caller.remote.as_ref().map(|remote| remote.deadline(caller.shared.uptime()))
}

/// Waits until no other question of a server is open, but not longer than the call lasts. Every other question is asked at
/// once.
pub(super) async fn turn(caller: &Caller) -> Result<Option<MutexGuard<'_, ()>>, Refusal> {
    let Some(remote) = &caller.remote else { return Ok(None) };
    tokio::select! {
        turn = caller.shared.server_question.lock() => Ok(Some(turn)),
        () = reached(caller, remote.until) => Err(expired()),
    }
}

/// Waits until a question is to be closed, and says why. One without a deadline waits for ever.
pub(super) async fn too_late(caller: &Caller, deadline: Option<UptimeMs>) -> Refusal {
    let Some(deadline) = deadline else { return std::future::pending().await };
    reached(caller, deadline).await;
    lapsed(caller, deadline)
}

/// Why a yes does not count that comes when its question was to be closed: both may come at once, after a sleep of the
/// computer.
pub(super) fn late_yes(caller: &Caller, deadline: Option<UptimeMs>) -> Option<Refusal> {
    deadline.filter(|deadline| caller.shared.uptime() > *deadline).map(|deadline| lapsed(caller, deadline))
}

/// Why a call does not begin whose time is over: it may have waited for others since its yes.
pub(super) fn late_start(caller: &Caller) -> Option<Refusal> {
    caller.remote.as_ref().filter(|remote| caller.shared.uptime() > remote.until).map(|_| expired())
}

async fn reached(caller: &Caller, moment: UptimeMs) {
    loop {
        let left_ms = moment.since(caller.shared.uptime());
        if left_ms == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(left_ms.min(LOOK_MS))).await;
    }
}

fn lapsed(caller: &Caller, deadline: UptimeMs) -> Refusal {
    let is_over = caller.remote.as_ref().is_some_and(|remote| remote.until == deadline);
    if is_over { expired() } else { ask::refusal(Decider::Timeout, None) }
}

/// The refusal of a call whose time is over.
fn expired() -> Refusal {
    Failure::new(Code::RequestExpired, "The server's call came, or was allowed, after its time.").into()
}

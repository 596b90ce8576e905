//! What holds besides for a call that a server makes: it is taken into the record after the checks and before the question,
//! the question closes by itself, and nothing begins after the call's time.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::ir::{Code, Decider, Failure, UnixMs};
use crate::link::machine::{CallNumber, Passage};

use super::super::link::FromGate;
use super::{Caller, Refusal, ask};

/// How long the person has for an answer, in milliseconds.
const ANSWER_MS: i64 = 60_000;

/// A server's call on its way through the gate.
pub(in crate::engine) struct Remote {
    /// The server's address, as the person is told.
    pub(in crate::engine) server: String,
    /// The call's number at its connection.
    pub(in crate::engine) number: CallNumber,
    /// Not to be begun after this.
    pub(in crate::engine) until: UnixMs,
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
    pub(super) fn deadline(&self, asked_at: UnixMs) -> UnixMs {
        UnixMs(asked_at.0.saturating_add(ANSWER_MS).min(self.until.0))
    }

    /// Whether the call's time is over.
    pub(super) fn is_over(&self, caller: &Caller) -> bool {
        caller.shared.now() > self.until
    }
}

/// Waits until a server's question is to be closed, and says why. For every other question it waits for ever.
pub(super) async fn too_late(caller: &Caller, asked_at: UnixMs) -> Refusal {
    let Some(remote) = &caller.remote else { return std::future::pending().await };
    let deadline = remote.deadline(asked_at);
    loop {
        let left_ms = deadline.since(caller.shared.now());
        if left_ms == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(left_ms)).await;
    }
    if deadline == remote.until { expired() } else { ask::refusal(Decider::Timeout, None) }
}

/// The refusal of a call whose time is over.
pub(super) fn expired() -> Refusal {
    Failure::new(Code::RequestExpired, "The server's call came, or was allowed, after its time.").into()
}

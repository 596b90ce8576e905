//! The beat of a process: it says in the ledger that it lives, and what is learned by that is put right. What processes left
//! behind that are gone ends; so does what reads as under way here and is not; and what was let in with a token that counts no
//! more. Nothing is asked of clocks: another process is gone when it was silent for as many beats of this one, so that a
//! database that stands still for a while makes nobody dead.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::task::AbortOnDropHandle;

use crate::ir::{Clock, UnixMs};
use crate::link::thread::{CallStatus, RunStatus};

use super::connection::Connections;
use super::ledger::{Dispatch, LedgerError, RunEnd, SharedLedger};
use super::running::Running;

/// How often a process says that it lives.
const EVERY: Duration = Duration::from_secs(2);
/// Beats of this process without one of another, after which that is gone.
const MISSED_BEATS: u32 = 5;

/// What beats.
pub(super) struct Heart {
    ledger: SharedLedger,
    connections: Arc<Connections>,
    running: Running,
    clock: Clock,
    replica: String,
    /// The other processes: their last sign of life, and the beats here since it came.
    others: HashMap<String, (UnixMs, u32)>,
    /// What the ledger had under way here at the last beat and nobody worked on. A second time it is no beginning or end
    /// that is just being written.
    idle_runs: HashSet<(String, String)>,
    idle_dispatches: HashSet<Dispatch>,
}

impl Heart {
    pub(super) fn new(
        ledger: SharedLedger,
        connections: Arc<Connections>,
        running: Running,
        clock: Clock,
        replica: String,
    ) -> Self {
        Self {
            ledger,
            connections,
            running,
            clock,
            replica,
            others: HashMap::new(),
            idle_runs: HashSet::new(),
            idle_dispatches: HashSet::new(),
        }
    }

    /// Beats once, and goes on until the handle is dropped.
    ///
    /// # Errors
    /// When the first beat fails.
    #[expect(clippy::disallowed_methods, reason = "the server spawns; the task ends with its handle")]
    pub(super) async fn start(mut self) -> Result<AbortOnDropHandle<()>, LedgerError> {
        self.beat().await?;
        Ok(AbortOnDropHandle::new(tokio::spawn(async move {
            let mut pace = tokio::time::interval(EVERY);
            // A beat that took long is not made up for: others have to have their time between two.
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                pace.tick().await;
                if let Err(error) = self.beat().await {
                    tracing::error!(%error, "the ledger could not be told that this process lives");
                }
            }
        })))
    }

    async fn beat(&mut self) -> Result<(), LedgerError> {
        let now = (self.clock)();
        let silent = self.others.iter().filter(|(_, (_, beats))| *beats >= MISSED_BEATS);
        let gone = silent.map(|(id, _)| id.clone()).collect();
        let beat = self.ledger.keep_alive(&self.replica, now, gone).await?;
        if beat.buried > 0 {
            tracing::warn!(
                calls = beat.buried,
                "calls were under way when a server ended; they are unknown until reported"
            );
        }
        let before = std::mem::take(&mut self.others);
        let beats = |id: &str, seen_at| match before.get(id) {
            Some((at, beats)) if *at == seen_at => beats + 1,
            Some(_) | None => 0,
        };
        self.others = beat.others.into_iter().map(|(id, at)| (id.clone(), (at, beats(&id, at)))).collect();
        self.end_runs(beat.runs, now).await?;
        self.end_dispatches(beat.dispatches, now).await?;
        self.end_revoked().await
    }

    /// Ends the runs that nobody here works on.
    async fn end_runs(&mut self, runs: Vec<(String, String)>, now: UnixMs) -> Result<(), LedgerError> {
        let idle: HashSet<_> = runs.into_iter().filter(|(user, run)| !self.running.has(user, run)).collect();
        for (user, run) in idle.intersection(&self.idle_runs) {
            tracing::warn!(run, "a run was left behind");
            let end = RunEnd { status: RunStatus::Interrupted, error: None, usage: None };
            self.ledger.end_run(user, run, end, now).await?;
        }
        self.idle_runs = idle;
        Ok(())
    }

    /// Gives the dispatches up that nobody here waits for.
    async fn end_dispatches(&mut self, dispatches: Vec<Dispatch>, now: UnixMs) -> Result<(), LedgerError> {
        let idle = dispatches.into_iter().filter(|dispatch| !self.connections.is_waited_for(dispatch));
        let idle: HashSet<_> = idle.collect();
        for left in idle.intersection(&self.idle_dispatches) {
            let Dispatch { user, tool_call_id, execution_id } = left;
            tracing::warn!(call = tool_call_id, "a call was left behind");
            let status = CallStatus::Unknown;
            self.ledger.give_up(user, tool_call_id, execution_id, status, "RESULT_UNKNOWN", now).await?;
        }
        self.idle_dispatches = idle;
        Ok(())
    }

    /// Ends what was let in with tokens that count no more.
    async fn end_revoked(&self) -> Result<(), LedgerError> {
        let tokens: HashSet<String> = self.connections.tokens().into_iter().chain(self.running.tokens()).collect();
        let revoked = self.ledger.revoked(tokens.into_iter().collect()).await?;
        self.connections.revoke(&revoked);
        self.running.revoke(&revoked);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Message, Role};
    use crate::server::connection::{Device, Rank};
    use crate::server::ledger::{self, Begun, NewAttempt, NewTurn, Place};

    /// A process whose clock stands still.
    fn heart(ledger: &SharedLedger, replica: &str) -> Heart {
        let (connections, clock): (_, Clock) = (Arc::default(), Arc::new(|| UnixMs(7)));
        Heart::new(Arc::clone(ledger), connections, Running::default(), clock, replica.to_owned())
    }

    async fn dispatched(ledger: &SharedLedger, call: &str, replica: &str) -> Dispatch {
        let attempt = NewAttempt {
            tool_call_id: call.into(),
            user: "ann".into(),
            device_id: "laptop".into(),
            thread_id: "t".into(),
            run_id: "r".into(),
            tool_name: "workspace.list_files".into(),
            arguments: serde_json::json!({}),
            arguments_hash: "h".into(),
            execution_id: format!("{call}-1"),
            connection_id: "k".into(),
            replica: replica.into(),
            now: UnixMs(1),
        };
        let execution_id = attempt.execution_id.clone();
        assert_eq!(ledger.begin_attempt(attempt).await.unwrap(), Begun::Dispatch { attempt_no: 1 });
        Dispatch { user: "ann".into(), tool_call_id: call.into(), execution_id }
    }

    async fn run_begins(ledger: &SharedLedger, thread: &str, run: &str, replica: &str) {
        let turn = NewTurn {
            user: "ann".into(),
            place: Place::Named(thread.into()),
            turn_id: format!("turn of {run}"),
            run_id: run.into(),
            input: Message::text(Role::User, "Hello", UnixMs(1)),
            device_id: None,
            now: UnixMs(1),
        };
        ledger.prepare_turn(turn).await.unwrap();
        assert!(ledger.start_run("ann", run, replica, UnixMs(1)).await.unwrap().is_some());
    }

    async fn statuses(ledger: &SharedLedger, thread: &str, call: &str) -> (RunStatus, CallStatus) {
        let view = ledger.thread("ann", thread).await.unwrap().unwrap();
        (view.turns[0].status, ledger.call("ann", call).await.unwrap().unwrap().status)
    }

    #[tokio::test]
    async fn a_process_that_misses_five_beats_of_another_is_gone_and_one_that_beats_is_not() {
        let ledger = ledger::open("sqlite::memory:").await.unwrap();
        let (mut first, mut second) = (heart(&ledger, "first"), heart(&ledger, "second"));
        second.beat().await.unwrap();
        run_begins(&ledger, "t", "r", "second").await;
        let dispatch = dispatched(&ledger, "t:c", "second").await;
        let rank = Rank::test(1);
        let device = Device { user: "ann".into(), id: "laptop".into() };
        let connections = Arc::clone(&second.connections);
        let _wait = connections.wait(&dispatch.tool_call_id, &dispatch.execution_id, &device, &rank);
        let user = crate::server::token::User { name: "ann".into(), token: String::new() };
        let ids = crate::link::thread::Prepared { thread_id: "t".into(), turn_id: "u".into(), run_id: "r".into() };
        let _underway = second.running.begin(&user, &ids, tokio_util::sync::CancellationToken::new());
        // Its sign of life is a number that changes: with a clock an hour off, or one that was set back, it lives.
        for beat in 0..10 {
            second.clock = Arc::new(move || UnixMs(-3_600_000 - beat));
            second.beat().await.unwrap();
            first.beat().await.unwrap();
        }
        assert_eq!(statuses(&ledger, "t", "t:c").await, (RunStatus::Running, CallStatus::Dispatched));
        for _ in 0..=MISSED_BEATS {
            assert_eq!(statuses(&ledger, "t", "t:c").await, (RunStatus::Running, CallStatus::Dispatched));
            first.beat().await.unwrap();
        }
        assert_eq!(statuses(&ledger, "t", "t:c").await, (RunStatus::Interrupted, CallStatus::Unknown));
        // It only stood still: how its run ends counts.
        let end = RunEnd { status: RunStatus::Succeeded, error: None, usage: None };
        ledger.end_run("ann", "r", end, UnixMs(9)).await.unwrap();
        assert_eq!(statuses(&ledger, "t", "t:c").await, (RunStatus::Succeeded, CallStatus::Unknown));
    }

    #[tokio::test]
    async fn what_reads_as_under_way_here_and_is_not_ends_at_the_second_beat() {
        let ledger = ledger::open("sqlite::memory:").await.unwrap();
        let mut heart = heart(&ledger, "own");
        heart.beat().await.unwrap();
        run_begins(&ledger, "t", "r", "own").await;
        dispatched(&ledger, "t:c", "own").await;
        heart.beat().await.unwrap();
        assert_eq!(statuses(&ledger, "t", "t:c").await, (RunStatus::Running, CallStatus::Dispatched));
        heart.beat().await.unwrap();
        assert_eq!(statuses(&ledger, "t", "t:c").await, (RunStatus::Interrupted, CallStatus::Unknown));
    }

    #[tokio::test]
    async fn one_run_of_a_thread_is_under_way_at_a_time() {
        let ledger = ledger::open("sqlite::memory:").await.unwrap();
        run_begins(&ledger, "t", "r", "own").await;
        let turn = NewTurn {
            user: "ann".into(),
            place: Place::Known("t".into()),
            turn_id: "u2".into(),
            run_id: "r2".into(),
            input: Message::text(Role::User, "And?", UnixMs(1)),
            device_id: None,
            now: UnixMs(1),
        };
        ledger.prepare_turn(turn).await.unwrap();
        assert!(matches!(ledger.start_run("ann", "r2", "own", UnixMs(1)).await, Err(LedgerError::UnderWay)));
        let end = RunEnd { status: RunStatus::Succeeded, error: None, usage: None };
        ledger.end_run("ann", "r", end, UnixMs(2)).await.unwrap();
        assert!(ledger.start_run("ann", "r2", "own", UnixMs(3)).await.unwrap().is_some());
    }
}

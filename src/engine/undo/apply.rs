//! Carrying an undo out, step by step. Each step is a change like any other: judged on what its path resolves to, kept and
//! recorded before, done through handles, recorded after.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::ir::{
    Access, AuditAct, AuditEntry, AuditOrigin, CallId, CallRecord, CallStatus, Code, ConfirmMode, Decider, Failure,
    FileState, Grounds, RiskLevel, SessionId, ToolCall, UndoChoice, UndoDirection, UndoEntry, UndoId, UndoOperation,
    UndoOutcome, UndoPlace, UndoPlan, UndoResult, UndoScope, UndoState, UnixMs, Verdict,
};
use crate::journal::{Deed, Done, JournalError, Kept, Means, save_beside};
use crate::policy::{CallFacts, Decision, Origin, RuleSet, Shown, decide};
use crate::port::Event;
use crate::tool::schema::args_hash;
use crate::workspace::{Claim, Claimed, Root};

use super::super::fault::Fault;
use super::super::gate;
use super::super::shared::unique;
use super::plan::{judge_text, make};
use super::scope::Chain;
use super::{Shared, blocking, means};

/// An order of the person.
pub(in crate::engine) struct Order {
    pub(in crate::engine) scope: UndoScope,
    pub(in crate::engine) direction: UndoDirection,
    /// For each conflict that was shown; the others stay as they are.
    pub(in crate::engine) choices: Vec<(UndoId, UndoChoice)>,
    /// The plan that was shown.
    pub(in crate::engine) plan_hash: String,
}

/// Carries out what was shown, or shows it anew where it is no longer what is there.
pub(in crate::engine) async fn apply(shared: &Arc<Shared>, order: Order) -> Result<(), Fault> {
    let _applying = shared.undo.applying.lock().await;
    let Order { scope, direction, choices, plan_hash } = order;
    let (session, chains, plan) = make(shared, scope.clone(), direction).await?;
    if plan.hash != plan_hash {
        shared.publish(Event::UndoPlanned(Box::new(UndoPlan { is_changed: true, ..plan }))).await;
        return Ok(());
    }
    let choices = by_place(&chains, choices);
    let mut results = Vec::with_capacity(chains.len());
    for (index, chain) in chains.iter().enumerate() {
        let choice = choices.get(&chain.tip.place).copied().unwrap_or_default();
        let rest = chains.get(index + 1..).unwrap_or_default();
        let is_last_of_place = !rest.iter().any(|later| later.tip.place == chain.tip.place);
        let step =
            Step { shared, session: &session, chain, direction, choice, is_last_of_place, plan_hash: &plan.hash };
        let (outcome, detail) = match step.run().await {
            Ok(done) => done,
            Err(failure) => (UndoOutcome::Failed, failure.message),
        };
        results.push(UndoResult { entry: chain.root.id.clone(), path: chain.root.shown_path(), outcome, detail });
    }
    shared.publish(Event::UndoApplied { session, scope, direction, results }).await;
    super::prune_soon(shared);
    Ok(())
}

/// A choice holds for its path: older changes of the same path follow it.
fn by_place(chains: &[Chain], choices: Vec<(UndoId, UndoChoice)>) -> HashMap<UndoPlace, UndoChoice> {
    let mut by_place = HashMap::new();
    for (id, choice) in choices {
        if let Some(chain) = chains.iter().find(|chain| chain.root.id == id) {
            by_place.insert(chain.tip.place.clone(), choice);
        }
    }
    by_place
}

struct Step<'step> {
    shared: &'step Arc<Shared>,
    session: &'step SessionId,
    chain: &'step Chain,
    direction: UndoDirection,
    choice: UndoChoice,
    is_last_of_place: bool,
    plan_hash: &'step str,
}

type Ended = (UndoOutcome, String);

impl Step<'_> {
    async fn run(&self) -> Result<Ended, Failure> {
        let means = means(self.shared)?;
        let lifted = self.shared.store.lifted(self.session).await?;
        judge_text(&self.chain.tip, &lifted, &self.shared.surroundings)?;
        let _claimed = self.claim().await?;
        let keeping = self.shared.undo.keeping.read().await;
        let tip = self.chain.tip.clone();
        let prepared = {
            let means = means.clone();
            blocking(move || Deed::prepare(tip, &means)).await?
        };
        let deed = prepared?;
        if deed.is_already_so() {
            self.note_already_so().await?;
            return Ok((UndoOutcome::Nothing, String::new()));
        }
        if !deed.fits() {
            match self.choice {
                UndoChoice::Keep => return Ok((UndoOutcome::Kept, String::new())),
                UndoChoice::SaveBeside => {
                    drop(keeping);
                    return self.save_beside(&means).await;
                }
                UndoChoice::PutBack => {}
            }
        }
        self.judge(&deed, &lifted)?;
        let row = self.record(&deed.goal().clone()).await?;
        let entry = self.entry(&row.call.id, &self.chain.tip, deed.found(), deed.goal().clone(), deed.made_folders());
        let images = deed.found().images.iter().map(|image| (image.hash.clone(), image.bytes)).collect();
        if let Err(error) = self.shared.store.insert_undo(&entry, images).await {
            let failure = Failure::from(error);
            self.complete(row, Err(failure.clone())).await;
            return Err(failure);
        }
        drop(keeping);
        let acted = blocking(move || deed.act(&means)).await.and_then(|acted| acted.map_err(Failure::from));
        self.settle(&entry, acted.as_ref().ok().copied()).await;
        self.complete(row, acted.clone().map(drop)).await;
        Ok(match acted? {
            Done::Carried => (UndoOutcome::Done, String::new()),
            Done::AlreadySo => (UndoOutcome::Nothing, String::new()),
            Done::NotEmpty => (UndoOutcome::NotEmpty, String::new()),
        })
    }

    /// Waits for what another call runs there.
    async fn claim(&self) -> Result<Claimed, Failure> {
        let place = self.chain.tip.place.clone();
        // Where there is no such folder any more, that is told by what comes next.
        let find = move || {
            let root = Root::reopen(Path::new(&place.folder)).ok()?;
            Some(root.real_path().join(&place.path))
        };
        let changed = blocking(find).await?;
        gate::wait_for_claim(self.shared, Claim::new([], changed)).await
    }

    /// The one judge, asked as for any change: what it denies is denied; what it would ask, the person has just said.
    fn judge(&self, deed: &Deed, lifted: &[std::path::PathBuf]) -> Result<(), Failure> {
        let access = if *deed.goal() == FileState::Missing { Access::Delete } else { Access::Write };
        let targets = deed.facts().into_iter().map(|mut facts| {
            facts.lifted = lifted.contains(&facts.resolved);
            facts
        });
        let facts = CallFacts {
            origin: Origin::CommandLine,
            tool: self.tool().to_owned(),
            access,
            risk: RiskLevel::Medium,
            mode: ConfirmMode::EveryCall,
            args_hash: String::new(),
            plan_hash: String::new(),
            command_text: String::new(),
            roots: vec![self.chain.tip.place.folder.clone().into()],
            surroundings: self.shared.surroundings.clone(),
            targets: targets.collect(),
            command: None,
            remember_commands: false,
            starts_only_known: false,
            shown: Shown::default(),
        };
        match decide(&facts, &RuleSet::default()) {
            // The person brings back what was theirs perhaps, and was told that something executes it: that a tool may
            // not write it is no reason.
            Decision::Deny { failure, .. } if failure.code == Code::ProtectedPathDenied => Ok(()),
            Decision::Deny { failure, .. } => Err(failure),
            Decision::Allow { .. } | Decision::Ask { .. } => Ok(()),
        }
    }

    fn tool(&self) -> &'static str {
        match self.direction {
            UndoDirection::Undo => "undo",
            UndoDirection::Redo => "redo",
        }
    }

    /// The ledger's row: committed before anything changes.
    async fn record(&self, goal: &FileState) -> Result<CallRecord, Failure> {
        let now = self.shared.now();
        let args = json!({"entry": self.chain.root.id, "choice": self.choice, "to": goal});
        let args_hash = args_hash(&args);
        let call = ToolCall {
            id: CallId::new(unique("call_")),
            name: self.tool().to_owned(),
            args,
            iteration: 0,
            timestamp: now,
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        };
        let row = CallRecord {
            args_hash,
            target: Some(self.chain.root.shown_path()),
            verdict: Some(Verdict::Allowed),
            decider: Some(Decider::Person),
            grounds: Grounds { plan_hash: self.plan_hash.to_owned(), ..Grounds::default() },
            ..CallRecord::new(call, self.session.clone(), None, now)
        };
        self.shared.store.insert_call(&row).await?;
        let row = CallRecord { status: CallStatus::Running, started_at: Some(now), ..row };
        let line = AuditEntry::of_call(now, AuditAct::Decided, AuditOrigin::Person, &row);
        self.shared.store.update_call_audited(&row, line).await?;
        Ok(row)
    }

    async fn complete(&self, mut row: CallRecord, ended: Result<(), Failure>) {
        let now = self.shared.now();
        let ended_well = ended.is_ok();
        row.status = if ended_well { CallStatus::Succeeded } else { CallStatus::Failed };
        let outcome = match &ended {
            Ok(()) => "succeeded".to_owned(),
            Err(failure) => failure.code.as_str().to_owned(),
        };
        row.reason = ended.err().map(|failure| failure.message);
        row.finished_at = Some(now);
        let act = match (ended_well, self.direction) {
            (true, UndoDirection::Undo) => AuditAct::Undone,
            (true, UndoDirection::Redo) => AuditAct::Redone,
            (false, UndoDirection::Undo | UndoDirection::Redo) => AuditAct::Ended,
        };
        let line = AuditEntry {
            outcome,
            duration_ms: row.started_at.map(|started| now.since(started)),
            ..AuditEntry::of_call(now, act, AuditOrigin::Person, &row)
        };
        if let Err(error) = self.shared.store.update_call_audited(&row, line).await {
            tracing::error!(%error, "the end of an undo could not be recorded");
        }
    }

    fn entry(
        &self,
        call: &CallId,
        reverts: &UndoEntry,
        found: &Kept,
        after: FileState,
        made_folders: u32,
    ) -> UndoEntry {
        UndoEntry {
            id: UndoId::new(unique("undo_")),
            session: self.session.clone(),
            call: call.clone(),
            message: None,
            operation: reverts.operation,
            reverts: Some(reverts.id.clone()),
            place: reverts.place.clone(),
            before: found.state.clone(),
            after,
            made_folders,
            state: UndoState::Begun,
            created_at: self.shared.now(),
            settled_at: None,
        }
    }

    /// Both ends of the link in one step: this undo, and what it took back.
    async fn settle(&self, entry: &UndoEntry, done: Option<Done>) {
        let states = match done {
            Some(Done::Carried | Done::AlreadySo) => {
                vec![(entry.id.clone(), UndoState::Done), (self.chain.root.id.clone(), self.turned())]
            }
            Some(Done::NotEmpty) => vec![(entry.id.clone(), UndoState::Void)],
            // It may have gone half the way: what is there tells.
            None => return,
        };
        self.set(states).await;
    }

    fn turned(&self) -> UndoState {
        match self.direction {
            UndoDirection::Undo => UndoState::Undone,
            UndoDirection::Redo => UndoState::Redone,
        }
    }

    /// It is that way already: the change was never made, or Nod ended after it had taken it back.
    async fn note_already_so(&self) -> Result<(), Failure> {
        let root = &self.chain.root;
        if let Some(begun) = self.shared.store.begun_revert(&self.chain.tip.id).await? {
            self.set(vec![(begun.id, UndoState::Done), (root.id.clone(), self.turned())]).await;
        } else if root.state == UndoState::Begun {
            self.set(vec![(root.id.clone(), UndoState::Void)]).await;
        }
        Ok(())
    }

    async fn set(&self, states: Vec<(UndoId, UndoState)>) {
        match self.shared.store.settle_undo(states, self.shared.now()).await {
            Ok(entries) => {
                let session = self.session.clone();
                self.shared.publish(Event::UndoChanged { session, entries }).await;
            }
            Err(error) => tracing::error!(%error, "the journal does not know how an undo ended"),
        }
    }

    /// The oldest version that is meant, under a new name beside what is there: a new file like any other, with an undo of
    /// its own.
    async fn save_beside(&self, means: &Means) -> Result<Ended, Failure> {
        if !self.is_last_of_place {
            return Ok((UndoOutcome::Kept, String::new()));
        }
        let tip = self.chain.tip.clone();
        let prepared = {
            let means = means.clone();
            blocking(move || save_beside(&tip, &means)).await?
        };
        let (place, write) = prepared?;
        let row = self.record(&self.chain.tip.before).await?;
        let found = Kept { state: FileState::Missing, images: Vec::new() };
        let entry = UndoEntry {
            operation: UndoOperation::Created,
            reverts: None,
            place,
            ..self.entry(&row.call.id, &self.chain.tip, &found, self.chain.tip.before.clone(), 0)
        };
        self.shared.store.insert_undo(&entry, images_of(&entry.after)).await?;
        let written = blocking(write).await.and_then(|written: Result<(), JournalError>| Ok(written?));
        let state = if written.is_ok() { UndoState::Done } else { UndoState::Void };
        self.set(vec![(entry.id.clone(), state)]).await;
        self.complete(row, written.clone()).await;
        written?;
        Ok((UndoOutcome::SavedBeside, entry.shown_path()))
    }
}

/// The contents that a state names, with their sizes.
fn images_of(state: &FileState) -> Vec<(String, u64)> {
    match state {
        FileState::File { hash: Some(hash), bytes, .. } => vec![(hash.clone(), *bytes)],
        FileState::File { .. }
        | FileState::Tree { .. }
        | FileState::Missing
        | FileState::Folder
        | FileState::Link { .. } => Vec::new(),
    }
}

/// Before this moment nothing is kept.
pub(super) fn oldest_kept(now: UnixMs, days: u32) -> UnixMs {
    const DAY_MS: i64 = 86_400_000;
    UnixMs(now.0.saturating_sub(i64::from(days) * DAY_MS))
}

//! Steps 7 to 9: a yes for this very plan, from a rule, a mode or the person, and its proof just before the effect.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use crate::ir::{
    Access, AuditAct, CallId, CallRecord, Code, Decider, Failure, Grounds, Network, RuleId, UnixMs, Verdict,
};
use crate::policy::{CallFacts, Decision, decide};
use crate::workspace::Claimed;

use super::super::request::is_enabled;
use super::examine::{blocking, count_hit, examine, is_change, session, ways_to};
use super::plan::Plan;
use super::{Caller, Place, Refusal, ask, claim, record, remote, step};

/// A yes is good for this long.
const FRESH_MS: u64 = 60_000;
/// How often a target that keeps changing is looked at anew before the call is given up.
const MOST_LOOKS: u32 = 5;

/// A yes. Used up by one run, bound to one call and one plan.
#[derive(Debug)]
pub(super) struct Approval {
    pub(super) call: CallId,
    pub(super) plan_hash: String,
    /// The person's tick; the hash is of the plan with it.
    pub(super) network: Network,
    pub(super) by: Decider,
    pub(super) rule: Option<RuleId>,
    pub(super) at: UnixMs,
}

/// A call that may run now.
pub(super) struct Cleared {
    pub(super) plan: Plan,
    /// The place of a read among those that run at once; given back when it has really ended.
    pub(super) place_to_read: Option<OwnedSemaphorePermit>,
    /// While it is kept nothing that Nod runs leads the way of what it starts from elsewhere.
    pub(super) claimed: Claimed,
}

impl Approval {
    fn covers(&self, call: &CallId, plan: &Plan, now: UnixMs) -> bool {
        self.call == *call
            && self.plan_hash == plan.hash_with(self.network)
            && self.at <= now
            && now.since(self.at) <= FRESH_MS
    }
}

/// Examines a call until a fresh yes and an unchanged target come together, and asks where a yes is needed.
pub(super) async fn approve(caller: &Caller, row: &mut CallRecord, place: &Place) -> Result<Cleared, Refusal> {
    let mut approval: Option<Approval> = None;
    if is_change(caller, &row.call) {
        place.turn_to_ask().await;
    }
    for look in 0..MOST_LOOKS {
        let mut plan = examine(caller, &row.call).await?;
        step("examined", &row.call.id);
        if let Some(remote) = caller.remote.as_ref().filter(|_| look == 0) {
            remote.admit(caller).await?;
            step("admitted", &row.call.id);
        }
        let (access, now) = (plan.facts.access, caller.shared.now());
        // A yes still holds where the new plan is the one that was approved: the same target in the same state, found
        // by a way that has only become longer (its folder was missing and is there now).
        let kept = approval.take().filter(|yes| yes.covers(&row.call.id, &plan, now));
        note(row, &plan);
        let yes = match (kept, &plan.decision) {
            (Some(yes), _) => yes,
            (None, Decision::Allow { by, rule }) => {
                place.turn_to_run(access).await;
                Approval {
                    call: row.call.id.clone(),
                    plan_hash: plan.hash.clone(),
                    network: Network::Denied,
                    by: *by,
                    rule: rule.clone(),
                    at: caller.shared.now(),
                }
            }
            (None, Decision::Ask { .. }) => {
                // A server's questions come one after the other by themselves: each waits no longer than its call lasts.
                if caller.remote.is_none() {
                    place.turn_to_ask().await;
                }
                ask::ask(caller, row, &plan, place, look > 0).await?
            }
            (None, Decision::Deny { failure, by, rule }) => {
                return Err(Refusal::denied_by(failure.clone(), *by, rule.clone()));
            }
        };
        if yes.network != plan.network {
            plan = plan.with_network(yes.network);
            row.preview = plan.preview_to_keep();
            row.grounds.plan_hash.clone_from(&plan.hash);
        }
        row.verdict = Some(Verdict::Allowed);
        row.decider = Some(yes.by);
        row.grounds.rule.clone_from(&yes.rule);
        if let Some(failure) = plan.unopened {
            return Err(failure.into());
        }
        place.turn_to_run(access).await;
        let place_to_read = match access {
            Access::Read => Arc::clone(&caller.shared.reads).acquire_owned().await.ok(),
            Access::Write | Access::Delete | Access::Execute => None,
        };
        if let Some(refusal) = remote::late_start(caller) {
            return Err(refusal);
        }
        let claimed = claim::wait(&caller.shared, claim::of(&plan)).await?;
        let (plan, is_unchanged) = verify(caller, plan, &yes).await?;
        let now = caller.shared.now();
        let is_fresh = yes.covers(&row.call.id, &plan, now);
        if is_unchanged && is_fresh && still_stands(caller, &plan, &yes).await? {
            if let Some(rule) = &yes.rule {
                count_hit(caller, rule).await;
            }
            step("verified", &row.call.id);
            return Ok(Cleared { plan, place_to_read, claimed });
        }
        tracing::info!(tool = %row.call.name, is_unchanged, is_fresh, "a yes no longer holds; looked at anew");
        let act = if is_fresh { AuditAct::Stale } else { AuditAct::Expired };
        caller.shared.store.append_audit(record::unused(caller, row, act)).await.map_err(Failure::from)?;
        // A yes to what is there no more may fit again; one that rules or mode no longer bear is none.
        approval = (!is_unchanged).then_some(yes);
    }
    let words = "What is there keeps changing, so nothing was done. Look at it again before you try once more.";
    Err(Failure::new(Code::TargetChanged, words).into())
}

/// What the ledger says of a plan.
fn note(row: &mut CallRecord, plan: &Plan) {
    row.call.args.clone_from(&plan.args);
    row.args_hash.clone_from(&plan.facts.args_hash);
    row.target = Some(plan.target()).filter(|target| !target.is_empty());
    row.preview = plan.preview_to_keep();
    row.grounds = Grounds { plan_hash: plan.hash.clone(), tier: plan.tier, ..Grounds::default() };
}

/// Whether the ground under a yes is still the same: the tool is on, the folders are those that were shown, and rules and
/// mode say nothing else by now.
async fn still_stands(caller: &Caller, plan: &Plan, yes: &Approval) -> Result<bool, Refusal> {
    let session = session(caller).await?;
    let settings = caller.shared.settings();
    let folders = session.folders.iter().map(PathBuf::from);
    if !is_enabled(&plan.def.name, &settings, &caller.options) || !folders.eq(plan.facts.roots.iter().cloned()) {
        return Ok(false);
    }
    let rules = caller.shared.store.rules(&session.id).await.map_err(Failure::from)?;
    let remember_commands = settings.safety.remember_commands;
    let facts = CallFacts { mode: session.mode, remember_commands, ..plan.facts.clone() };
    // What is asked now holds only where somebody was asked.
    let was_asked = match yes.by {
        Decider::Person | Decider::Flag => true,
        Decider::BuiltIn | Decider::Rule | Decider::Mode | Decider::Timeout => false,
    };
    Ok(match decide(&facts, &rules) {
        Decision::Deny { .. } => false,
        Decision::Allow { .. } => true,
        Decision::Ask { .. } => was_asked,
    })
}

/// Whether what was shown is still what is there, asked through the handles that will be used. A read that nobody was
/// asked about was shown to nobody: its handle is proof enough.
async fn verify(caller: &Caller, plan: Plan, yes: &Approval) -> Result<(Plan, bool), Failure> {
    if let Some(tier) = plan.tier
        && !caller.shared.confiner.still_holds(tier).await
    {
        return Ok((plan, false));
    }
    if plan.facts.access == Access::Read && yes.by == Decider::Mode {
        return Ok((plan, true));
    }
    blocking(move || {
        let mut is_unchanged = true;
        for target in &plan.targets {
            is_unchanged = is_unchanged && target.is_unchanged()?;
        }
        // Another call may have made it something that is executed: a repository has several parts.
        let ways = ways_to(&plan.targets, &plan.roots, plan.facts.access, &plan.facts.surroundings);
        is_unchanged = is_unchanged && ways.iter().eq(plan.facts.targets.iter().map(|facts| &facts.reaches));
        is_unchanged = is_unchanged && plan.tool.starts(&plan.args, &plan.targets, &plan.roots) == plan.started;
        Ok((plan, is_unchanged))
    })
    .await?
}

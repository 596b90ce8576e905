//! Rules that the person makes and takes back by hand. What a question's answer makes is in the gate.

use crate::ir::{RuleId, SessionId};
use crate::policy::{Rule, RuleEffect, RuleMaker, RuleScope, may_be_made};
use crate::port::Event;

use super::fault::Fault;
use super::shared::{Shared, unique};

/// Keeps a rule: a refusal for one session, or anything that may be made for all of them.
pub(super) async fn make(
    shared: &Shared,
    session: Option<SessionId>,
    effect: RuleEffect,
    scope: RuleScope,
) -> Result<(), Fault> {
    // An allowance for one session comes from an answer to a question, where it was shown what it would cover.
    let is_made_here = effect == RuleEffect::Deny || session.is_none();
    if !is_made_here || !may_be_made(effect, &scope) {
        return Err(Fault::new("fault-rule", ""));
    }
    let made_by = if session.is_some() { RuleMaker::Panel } else { RuleMaker::Settings };
    let id = RuleId::new(unique("rule_"));
    let rule = Rule { id, session, effect, scope, made_by, created_at: shared.now(), hits: 0 };
    Ok(shared.store.insert_rule(&rule).await?)
}

/// Takes a rule back.
pub(super) async fn revoke(shared: &Shared, session: Option<&SessionId>, rule: &RuleId) -> Result<(), Fault> {
    Ok(shared.store.revoke_rule(session, rule).await?)
}

/// Reports the rules that hold in all sessions.
pub(super) async fn show_standing(shared: &Shared) -> Result<(), Fault> {
    let rules = shared.store.standing_rules().await?;
    shared.publish(Event::RulesChanged { session: None, rules }).await;
    Ok(())
}

/// Reports the files that the person has opened to a session.
pub(super) async fn show_lifted(shared: &Shared, session: &SessionId) -> Result<(), Fault> {
    let files = shared.store.lifted(session).await?;
    shared.publish(Event::LiftedChanged { session: session.clone(), files }).await;
    Ok(())
}

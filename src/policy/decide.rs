//! The decision: built-in denial > the person's denial > must ask > allow rule > default.

use crate::ir::{Code, Decider, Failure, RiskLevel, RuleId};

use super::denial::built_in_denial;
use super::question::{mode_asks, must_ask, notices};
use super::{AskReason, CallFacts, Origin, RuleEffect, RuleSet, matching_rules, proposals};

/// What follows for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Runs without a question.
    Allow {
        /// Who says so.
        by: Decider,
        /// The rule that says so.
        rule: Option<RuleId>,
    },
    /// Waits for the person.
    Ask {
        /// Why, most serious first; shown in the modal.
        reasons: Vec<AskReason>,
        /// Whether "allow in this session" may be offered.
        rememberable: bool,
    },
    /// Refused, no question asked.
    Deny {
        /// Code and sentence.
        failure: Failure,
        /// Who says so.
        by: Decider,
        /// The rule that says so.
        rule: Option<RuleId>,
    },
}

/// The one judge. Called on what the paths resolved to; `lexical` has judged the text before. `rules` are those that
/// hold in the session. While one of them is not as the person made it, it refuses what it may have refused, none allows
/// and no mode lets anything through.
pub fn decide(facts: &CallFacts, rules: &RuleSet) -> Decision {
    if let Some(failure) = built_in_denial(facts) {
        return Decision::Deny { failure, by: Decider::BuiltIn, rule: None };
    }
    let matching = matching_rules(facts, &rules.intact);
    let first = |effect: RuleEffect| matching.iter().find(|rule| rule.effect == effect).map(|rule| rule.id.clone());
    if let Some(rule) = first(RuleEffect::Deny) {
        let failure = Failure::new(
            Code::ConfirmationRejected,
            "The person's own rule for this session refuses this call: do it another way, or ask them.",
        );
        return Decision::Deny { failure, by: Decider::Rule, rule: Some(rule) };
    }
    // A refusal that something else has changed or removed refuses all that it may have meant.
    if let Some(broken) = rules.broken.iter().find(|broken| broken.may_refuse(&facts.tool)) {
        let failure = Failure::new(
            Code::ConfirmationRejected,
            "A rule that may refuse this call was changed or removed from outside, so it is refused: do it another way, or \
             ask the person to look at the rules of this session.",
        );
        return Decision::Deny { failure, by: Decider::Rule, rule: Some(broken.id.clone()) };
    }
    let mut reasons = must_ask(facts);
    if !rules.broken.is_empty() {
        reasons.push(AskReason::ChangedRule);
        reasons.extend(notices(facts));
        return Decision::Ask { reasons, rememberable: false };
    }
    match facts.origin {
        // No rule and no mode ever covers what leaves for a server.
        Origin::Server if reasons.is_empty() && facts.risk <= RiskLevel::Low => {
            return Decision::Allow { by: Decider::BuiltIn, rule: None };
        }
        Origin::Server => {
            reasons.insert(0, AskReason::Server);
            reasons.extend(notices(facts));
            return Decision::Ask { reasons, rememberable: false };
        }
        Origin::Model | Origin::CommandLine => {}
    }
    // Matching has left out every allow rule that may not answer such a question.
    if let Some(rule) = first(RuleEffect::Allow) {
        return allow(facts, Decider::Rule, Some(rule));
    }
    if reasons.is_empty() {
        if !mode_asks(facts) && !is_blind_change(facts) {
            return allow(facts, Decider::Mode, None);
        }
        reasons.push(AskReason::Mode);
    }
    reasons.extend(notices(facts));
    Decision::Ask { reasons, rememberable: !proposals(facts).is_empty() }
}

/// A yes of a rule or a mode holds for what can be undone: of anything else somebody is told first.
fn allow(facts: &CallFacts, by: Decider, rule: Option<RuleId>) -> Decision {
    if facts.shown.is_for_good {
        return Decision::Ask { reasons: vec![AskReason::NotUndoable], rememberable: false };
    }
    Decision::Allow { by, rule }
}

/// A change of nobody knows what: no mode lets it through.
fn is_blind_change(facts: &CallFacts) -> bool {
    facts.access.changes_something() && facts.targets.is_empty()
}

#[cfg(test)]
mod tests;

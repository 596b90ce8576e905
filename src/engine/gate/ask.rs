//! Step 8: the question, and what the answer means.

use std::time::Duration;

use crate::agent::AfterCall;
use crate::ir::{Access, CallRecord, CallStatus, Code, ConfirmId, Decider, Failure, Network, Preview, RuleId, UnixMs};
use crate::policy::{
    AskReason, Decision, PathPlace, Rule, RuleEffect, RuleMaker, RuleScope, TargetKind, decide, denials, proposals,
};
use crate::port::{Answer, ConfirmRequest, ContentFacts, Unanswered};

use super::super::confirm::Answered;
use super::super::shared::unique;
use super::approval::Approval;
use super::dry_run::History;
use super::plan::Plan;
use super::{Caller, Notice, Place, Refusal, examine, remote, step};

/// Asks the person about this plan and waits. Dropping the future closes the question.
pub(super) async fn ask(
    caller: &Caller,
    row: &mut CallRecord,
    plan: &Plan,
    place: &Place,
    is_asked_anew: bool,
) -> Result<Approval, Refusal> {
    let Decision::Ask { reasons, rememberable } = plan.decision.clone() else {
        return Err(Failure::new(Code::IoError, "Nothing was to be asked.").into());
    };
    if !caller.shared.hub.has_listeners() {
        return Err(refusal(Decider::Timeout, None));
    }
    let scopes = if rememberable { proposals(&plan.facts) } else { Vec::new() };
    let _turn = remote::turn(caller).await?;
    let deadline = remote::deadline(caller);
    let request = question(caller, row, plan, reasons, scopes.clone(), is_asked_anew).await?;
    let left_ms = deadline.map(|deadline| deadline.since(caller.shared.uptime()));
    let expires_at = left_ms.map(|left_ms| UnixMs(request.asked_at.0.saturating_add_unsigned(left_ms)));
    let request = ConfirmRequest { expires_at, ..request };
    let refusable: Vec<RuleScope> = request.denials.iter().map(|offer| offer.scope.clone()).collect();
    row.status = CallStatus::Waiting;
    caller.transcript.update_call(row).await.map_err(Failure::from)?;
    step("asked", &row.call.id);

    let mut rules_changed = caller.transcript.watch_rules();
    let mut ticket = caller.shared.confirms.ask(&caller.shared.hub, request).await;
    place.asked(plan.facts.access);
    notify(caller, Notice::Waiting(row.call.id.clone())).await;
    let expired = expiry(caller.shared.settings().safety.answer_within_s);
    let screen_locked = ticket.screen_locked();
    tokio::pin!(expired, screen_locked);
    let mut unanswered = None;
    let verdict = loop {
        tokio::select! {
            answered = ticket.answer() => {
                let Some(answered) = answered else {
                    break Err(refusal(Decider::Timeout, None));
                };
                break judge(caller, row, plan, (&scopes, &refusable), answered).await;
            }
            () = &mut expired => {
                unanswered = Some(Unanswered::Expired);
                break Err(lapsed(Unanswered::Expired));
            }
            () = &mut screen_locked => {
                unanswered = Some(Unanswered::ScreenLocked);
                break Err(lapsed(Unanswered::ScreenLocked));
            }
            refusal = remote::too_late(caller, deadline) => {
                unanswered = Some(Unanswered::Expired);
                break Err(refusal);
            }
            Ok(()) = rules_changed.changed() => {
                // An answer to another question may have made a rule that covers this one.
                if let Some(verdict) = judge_by_rules(caller, row, plan).await {
                    break verdict;
                }
            }
        }
    };
    ticket.close(unanswered).await;
    step("answered", &row.call.id);
    notify(caller, Notice::Answered(row.call.id.clone())).await;
    let approval = verdict?;
    match remote::late_yes(caller, deadline) {
        Some(refusal) => Err(refusal),
        None => Ok(approval),
    }
}

async fn question(
    caller: &Caller,
    row: &CallRecord,
    plan: &Plan,
    reasons: Vec<AskReason>,
    scopes: Vec<RuleScope>,
    is_asked_anew: bool,
) -> Result<ConfirmRequest, Failure> {
    let session = examine::session(caller).await?;
    let target = plan.targets.first();
    let facts = plan.facts.targets.first();
    let (folder, via_link) = match facts.map(|facts| (&facts.place, &facts.given)) {
        Some((PathPlace::Inside { root, relative, resolved_relative }, given)) => {
            let via_link = (relative != resolved_relative).then(|| given.clone());
            (Some(root.display().to_string()), via_link)
        }
        Some((PathPlace::Outside, _)) | None => (None, None),
    };
    let history = History::read(caller, &row.call.id, &plan.facts).await?;
    let dry_run = scopes.iter().map(|scope| history.try_rule(RuleEffect::Allow, scope)).collect();
    Ok(ConfirmRequest {
        id: ConfirmId::new(unique("ask_")),
        session: session.id,
        session_title: session.title,
        model: caller.model.clone(),
        call: row.call.clone(),
        access: plan.facts.access,
        risk: plan.def.risk_level,
        target: target.map_or_else(|| plan.target(), |target| target.resolved().display().to_string()),
        folder,
        exists: target.is_some_and(|target| target.kind() != TargetKind::Missing),
        unchanged_since_read: target
            .filter(|target| target.kind() == TargetKind::File)
            .and_then(|target| caller.transcript.is_as_read(target.resolved(), target.identity())),
        via_link,
        undoable: plan.is_undoable(),
        reasons,
        preview: plan.preview.clone().unwrap_or(Preview::Nothing),
        content: plan
            .args
            .get("content")
            .and_then(serde_json::Value::as_str)
            .filter(|_| plan.facts.access == Access::Write)
            .map(ContentFacts::of),
        model_words: caller.model_words.clone(),
        rule_proposals: scopes,
        dry_run,
        // A server's call is allowed once or denied once: no rule is made of either.
        denials: if caller.remote.is_some() { Vec::new() } else { history.offers(denials(&plan.facts)) },
        server: caller.remote.as_ref().map(|remote| remote.server.clone()),
        expires_at: None,
        asked_at: caller.shared.now(),
        is_asked_anew,
        plan_hash: plan.hash.clone(),
    })
}

async fn judge(
    caller: &Caller,
    row: &mut CallRecord,
    plan: &Plan,
    (allowable, refusable): (&[RuleScope], &[RuleScope]),
    answered: Answered,
) -> Result<Approval, Refusal> {
    let Answered { answer, decider, at } = answered;
    let network = Network::Denied;
    let yes =
        Approval { call: row.call.id.clone(), plan_hash: plan.hash.clone(), network, by: decider, rule: None, at };
    match answer {
        Answer::AllowOnce => Ok(yes),
        Answer::AllowWithNetwork => {
            let network = Network::Allowed;
            Ok(Approval { plan_hash: plan.hash_with(network), network, ..yes })
        }
        Answer::AllowInSession { scope } => {
            // What was not offered is allowed once and remembered never.
            if allowable.contains(&scope) {
                remember(caller, RuleEffect::Allow, scope).await;
            }
            Ok(yes)
        }
        Answer::DenyInSession { scope } => {
            if refusable.contains(&scope) {
                remember(caller, RuleEffect::Deny, scope).await;
            }
            Err(refusal(decider, None))
        }
        Answer::Deny { reason } => {
            let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
            Err(refusal(decider, reason))
        }
        Answer::DenyAndStop => {
            let failure = Failure::new(Code::ConfirmationRejected, "The person refused this call and stopped.");
            Err(Refusal { then: AfterCall::Deny, ..Refusal::denied(failure, decider) })
        }
    }
}

/// Ends when a question has waited for long enough.
async fn expiry(seconds: u32) {
    match seconds {
        0 => std::future::pending().await,
        seconds => tokio::time::sleep(Duration::from_secs(seconds.into())).await,
    }
}

/// A no because nobody answered.
fn lapsed(why: Unanswered) -> Refusal {
    let words = match why {
        Unanswered::Expired => {
            "Nobody answered in time, so this call was refused. The person may be away: do not try it again by yourself; \
             say what still needs their yes."
        }
        Unanswered::ScreenLocked => {
            "The screen was locked while the question waited, so this call was refused. The person is away: do not try it \
             again by yourself; say what still needs their yes."
        }
    };
    Refusal::denied(Failure::new(Code::RequestExpired, words), Decider::Timeout)
}

/// A no in the words of whoever said it: nobody is told that the person refused who was not asked.
pub(super) fn refusal(decider: Decider, reason: Option<String>) -> Refusal {
    let words = match (decider, &reason) {
        (Decider::Person, Some(reason)) => format!("The person refused this call and says: {reason}"),
        (Decider::Person, None) => {
            "The person refused this call. Do not try it again another way; ask what they want instead.".to_owned()
        }
        (Decider::Flag, _) => "This needs a yes, and --approve does not allow it.".to_owned(),
        (Decider::Timeout, _) => "This needs a yes, and nobody could be asked. Run it in a terminal, or allow it with \
                                  --approve."
            .to_owned(),
        (Decider::BuiltIn | Decider::Rule | Decider::Mode, _) => {
            "The rules of this session refuse this call: do it another way, or ask the person.".to_owned()
        }
    };
    Refusal { reason, ..Refusal::denied(Failure::new(Code::ConfirmationRejected, words), decider) }
}

/// The answer counts whatever happens here: a rule that cannot be kept only means that it is asked again next time.
async fn remember(caller: &Caller, effect: RuleEffect, scope: RuleScope) {
    let rule = Rule {
        id: RuleId::new(unique("rule_")),
        session: Some(caller.transcript.id().clone()),
        effect,
        scope,
        made_by: RuleMaker::Modal,
        created_at: caller.shared.now(),
        hits: 0,
    };
    let made = match caller.shared.store.insert_rule(&rule).await {
        Ok(()) => caller.transcript.show_rules().await,
        Err(error) => Err(error.into()),
    };
    if let Err(fault) = made {
        caller.shared.report(fault).await;
    }
}

async fn judge_by_rules(caller: &Caller, row: &CallRecord, plan: &Plan) -> Option<Result<Approval, Refusal>> {
    let rules = caller.shared.store.rules(caller.transcript.id()).await.ok()?;
    match decide(&plan.facts, &rules) {
        Decision::Ask { .. } => None,
        Decision::Allow { by, rule } => Some(Ok(Approval {
            call: row.call.id.clone(),
            plan_hash: plan.hash.clone(),
            network: Network::Denied,
            by,
            rule,
            at: caller.shared.now(),
        })),
        Decision::Deny { failure, by, rule } => Some(Err(Refusal::denied_by(failure, by, rule))),
    }
}

async fn notify(caller: &Caller, notice: Notice) {
    if let Some(notices) = &caller.notices {
        // A turn that is over needs to know nothing.
        notices.send(notice).await.ok();
    }
}

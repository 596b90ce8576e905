//! The questions that wait for the person, and the guard before an answer counts.

use std::collections::HashMap;

use crate::ir::{Access, CallId, ConfirmId, Decider, SessionId, UnixMs};
use crate::port::{Answer, Command, ConfirmRequest};

use super::Reaction;

/// How long keys and clicks are ignored after a question appears or changes, in milliseconds.
pub const GUARD_MS: i64 = 500;

/// The queue of questions.
#[derive(Debug, Clone, Default)]
pub struct Confirms {
    /// In the order in which they came.
    pub waiting: Vec<ConfirmRequest>,
    shown: Option<ConfirmId>,
    /// When what is shown last changed.
    changed_at: UnixMs,
    /// Answered, and not closed by the engine yet.
    answered: HashMap<ConfirmId, ConfirmRequest>,
}

impl Confirms {
    /// The question that is shown.
    pub fn shown(&self) -> Option<&ConfirmRequest> {
        let shown = self.shown.as_ref()?;
        self.waiting.iter().find(|request| request.id == *shown)
    }

    /// The shown question's place among those that wait, from 1, and their number.
    pub fn place(&self) -> (usize, usize) {
        let at = self.waiting.iter().position(|request| Some(&request.id) == self.shown.as_ref()).unwrap_or(0);
        (at + 1, self.waiting.len())
    }

    /// Whether an answer counts already.
    pub fn is_open(&self, now: UnixMs) -> bool {
        self.shown.is_some() && now.0.saturating_sub(self.changed_at.0) >= GUARD_MS
    }

    /// When an answer begins to count: the window draws once more then.
    pub(super) fn opens_at(&self) -> Option<UnixMs> {
        self.shown.as_ref().map(|_| UnixMs(self.changed_at.0 + GUARD_MS))
    }

    /// The window comes into sight again, or gets the keyboard: what is typed or clicked in that moment was meant for
    /// something else.
    pub fn appear(&mut self, now: UnixMs) {
        if self.shown.is_some() {
            self.changed_at = now;
        }
    }

    pub(super) fn ask(&mut self, request: ConfirmRequest, now: UnixMs) {
        let is_shown = self.shown.as_ref() == Some(&request.id);
        let asked = request.id.clone();
        match self.waiting.iter_mut().find(|waiting| waiting.id == request.id) {
            // The target changed while it waited: what was read no longer holds.
            Some(waiting) => *waiting = request,
            None => self.waiting.push(request),
        }
        // Another read joins the list of the shown one: that is a change of what is shown too.
        let joins_list = self.reads().iter().any(|read| read.id == asked);
        if is_shown || joins_list || self.shown.is_none() {
            self.show(self.shown.clone().or_else(|| self.waiting.first().map(|first| first.id.clone())), now);
        }
    }

    pub(super) fn close(&mut self, confirm: &ConfirmId, now: UnixMs) {
        self.answered.remove(confirm);
        self.take(confirm, now);
    }

    pub(super) fn forget_session(&mut self, session: &SessionId, now: UnixMs) {
        let gone: Vec<ConfirmId> =
            self.waiting.iter().filter(|request| request.session == *session).map(|gone| gone.id.clone()).collect();
        for confirm in gone {
            self.close(&confirm, now);
        }
    }

    pub(super) fn review(&mut self, session: &SessionId, call: &CallId, now: UnixMs) {
        let found = self.waiting.iter().find(|request| request.session == *session && request.call.id == *call);
        if let Some(id) = found.map(|request| request.id.clone())
            && self.shown.as_ref() != Some(&id)
        {
            self.show(Some(id), now);
        }
    }

    pub(super) fn show_neighbour(&mut self, step: i32, now: UnixMs) {
        let Some(at) = self.waiting.iter().position(|request| Some(&request.id) == self.shown.as_ref()) else { return };
        let next = at.checked_add_signed(isize::try_from(step).unwrap_or(0));
        if let Some(request) = next.and_then(|next| self.waiting.get(next)) {
            self.show(Some(request.id.clone()), now);
        }
    }

    pub(super) fn allow_once(&mut self, confirm: &ConfirmId, now: UnixMs) -> Reaction {
        self.answer(confirm, Answer::AllowOnce, now)
    }

    pub(super) fn allow_with_network(&mut self, confirm: &ConfirmId, now: UnixMs) -> Reaction {
        self.answer(confirm, Answer::AllowWithNetwork, now)
    }

    pub(super) fn allow_in_session(&mut self, confirm: &ConfirmId, proposal: usize, now: UnixMs) -> Reaction {
        let scope = self.shown().and_then(|request| request.rule_proposals.get(proposal)).cloned();
        scope.map_or_else(Reaction::none, |scope| self.answer(confirm, Answer::AllowInSession { scope }, now))
    }

    pub(super) fn deny_in_session(&mut self, confirm: &ConfirmId, offer: usize, now: UnixMs) -> Reaction {
        let scope = self.shown().and_then(|request| request.denials.get(offer)).map(|offer| offer.scope.clone());
        scope.map_or_else(Reaction::none, |scope| self.answer(confirm, Answer::DenyInSession { scope }, now))
    }

    /// The reads that can be answered from one list, the shown one among them; empty where there is only one.
    pub fn reads(&self) -> Vec<&ConfirmRequest> {
        // What goes to a server is answered one by one.
        let is_read = |request: &ConfirmRequest| request.access == Access::Read && request.server.is_none();
        if !self.shown().is_some_and(is_read) {
            return Vec::new();
        }
        let reads: Vec<&ConfirmRequest> = self.waiting.iter().filter(|request| is_read(request)).collect();
        if reads.len() > 1 { reads } else { Vec::new() }
    }

    /// Allows the listed reads once, if they are still exactly the list that is shown.
    pub(super) fn allow_reads(&mut self, listed: &[ConfirmId], now: UnixMs) -> Reaction {
        let shown: Vec<ConfirmId> = self.reads().iter().map(|request| request.id.clone()).collect();
        if shown != listed || !self.is_open(now) {
            return Reaction::none();
        }
        let mut reaction = Reaction::none();
        for confirm in shown {
            if let Some(request) = self.take(&confirm, now) {
                self.answered.insert(confirm.clone(), request);
            }
            let answer = Answer::AllowOnce;
            reaction = reaction.and(Command::Answer { confirm, answer, decider: Decider::Person }.into());
        }
        reaction
    }

    pub(super) fn deny(&mut self, confirm: &ConfirmId, reason: String, now: UnixMs) -> Reaction {
        self.answer(confirm, Answer::Deny { reason }, now)
    }

    pub(super) fn deny_and_stop(&mut self, confirm: &ConfirmId, now: UnixMs) -> Reaction {
        self.answer(confirm, Answer::DenyAndStop, now)
    }

    /// The engine did not take the answer: it is asked again.
    pub(super) fn reopen(&mut self, confirm: &ConfirmId, now: UnixMs) {
        if let Some(request) = self.answered.remove(confirm) {
            self.ask(request, now);
        }
    }

    /// Only the question that is shown, and only after the guard.
    fn answer(&mut self, confirm: &ConfirmId, answer: Answer, now: UnixMs) -> Reaction {
        if self.shown.as_ref() != Some(confirm) || !self.is_open(now) {
            return Reaction::none();
        }
        if let Some(request) = self.take(confirm, now) {
            self.answered.insert(confirm.clone(), request);
        }
        Command::Answer { confirm: confirm.clone(), answer, decider: Decider::Person }.into()
    }

    fn take(&mut self, confirm: &ConfirmId, now: UnixMs) -> Option<ConfirmRequest> {
        let at = self.waiting.iter().position(|request| request.id == *confirm)?;
        let request = self.waiting.remove(at);
        if self.shown.as_ref() == Some(confirm) {
            let next = self.waiting.get(at).or_else(|| self.waiting.first());
            self.show(next.map(|next| next.id.clone()), now);
        }
        Some(request)
    }

    fn show(&mut self, confirm: Option<ConfirmId>, now: UnixMs) {
        self.shown = confirm;
        self.changed_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_support::question;

    const APPEARED: UnixMs = UnixMs(10_000);
    const EARLY: UnixMs = UnixMs(10_499);
    const OPEN: UnixMs = UnixMs(10_500);

    fn asked(ids: &[&str]) -> Confirms {
        let mut confirms = Confirms::default();
        for id in ids {
            confirms.ask(question(id), APPEARED);
        }
        confirms
    }

    fn answer_of(reaction: &Reaction) -> Option<&Answer> {
        reaction.commands.first().map(|command| {
            let Command::Answer { answer, .. } = command else { panic!("not an answer: {command:?}") };
            answer
        })
    }

    #[test]
    fn an_answer_counts_only_half_a_second_after_the_question_appeared() {
        let mut confirms = asked(&["a"]);
        let id = ConfirmId::new("a");
        assert_eq!(confirms.allow_once(&id, EARLY), Reaction::none());
        assert_eq!(confirms.deny(&id, String::new(), EARLY), Reaction::none());
        assert_eq!(answer_of(&confirms.allow_once(&id, OPEN)), Some(&Answer::AllowOnce));
    }

    #[test]
    fn the_guard_begins_again_when_the_question_changes_or_the_next_one_shows() {
        let mut confirms = asked(&["a", "b"]);
        confirms.ask(question("a"), OPEN);
        assert_eq!(confirms.allow_once(&ConfirmId::new("a"), UnixMs(OPEN.0 + 499)), Reaction::none());
        let at = UnixMs(OPEN.0 + 500);
        assert!(answer_of(&confirms.allow_once(&ConfirmId::new("a"), at)).is_some());
        assert_eq!(confirms.shown().map(|shown| shown.id.as_str()), Some("b"));
        assert_eq!(confirms.allow_once(&ConfirmId::new("b"), UnixMs(at.0 + 499)), Reaction::none());
        assert!(answer_of(&confirms.allow_once(&ConfirmId::new("b"), UnixMs(at.0 + 500))).is_some());
    }

    #[test]
    fn the_guard_begins_again_when_the_window_comes_into_sight() {
        let mut confirms = asked(&["a"]);
        confirms.appear(OPEN);
        assert_eq!(confirms.allow_once(&ConfirmId::new("a"), UnixMs(OPEN.0 + 499)), Reaction::none());
        assert!(answer_of(&confirms.allow_once(&ConfirmId::new("a"), UnixMs(OPEN.0 + 500))).is_some());
    }

    #[test]
    fn only_the_question_that_is_shown_can_be_answered_and_only_once() {
        let mut confirms = asked(&["a", "b"]);
        assert_eq!(confirms.place(), (1, 2));
        assert_eq!(confirms.allow_once(&ConfirmId::new("b"), OPEN), Reaction::none());
        assert!(answer_of(&confirms.deny_and_stop(&ConfirmId::new("a"), OPEN)).is_some());
        assert_eq!(confirms.deny_and_stop(&ConfirmId::new("a"), UnixMs(OPEN.0 + 5_000)), Reaction::none());
    }

    #[test]
    fn several_reads_are_allowed_from_the_list_that_is_shown_and_a_new_one_starts_the_guard_again() {
        let mut confirms = Confirms::default();
        let read = |id: &str| {
            let mut request = question(id);
            request.access = Access::Read;
            request
        };
        confirms.ask(read("a"), APPEARED);
        confirms.ask(question("write"), APPEARED);
        confirms.ask(read("b"), APPEARED);
        let listed: Vec<ConfirmId> = ["a", "b"].map(ConfirmId::new).to_vec();
        assert_eq!(confirms.allow_reads(&listed, EARLY), Reaction::none());
        confirms.ask(read("c"), OPEN);
        let later = UnixMs(OPEN.0 + 10_000);
        assert_eq!(confirms.allow_reads(&listed, later), Reaction::none(), "the list is another one now");
        let listed: Vec<ConfirmId> = ["a", "b", "c"].map(ConfirmId::new).to_vec();
        assert_eq!(confirms.allow_reads(&listed, UnixMs(OPEN.0 + 499)), Reaction::none());
        assert_eq!(confirms.allow_reads(&listed, later).commands.len(), 3);
        assert_eq!(confirms.shown().map(|shown| shown.id.as_str()), Some("write"));
    }

    #[test]
    fn a_rule_is_one_of_the_proposals_or_nothing() {
        let mut confirms = asked(&["a"]);
        let id = ConfirmId::new("a");
        assert_eq!(confirms.allow_in_session(&id, 1, OPEN), Reaction::none());
        let scope = question("a").rule_proposals[0].clone();
        assert_eq!(answer_of(&confirms.allow_in_session(&id, 0, OPEN)), Some(&Answer::AllowInSession { scope }));
    }

    #[test]
    fn a_refusal_for_good_is_one_of_the_offers_or_nothing() {
        let mut confirms = asked(&["a"]);
        let id = ConfirmId::new("a");
        assert_eq!(confirms.deny_in_session(&id, 1, OPEN), Reaction::none());
        assert_eq!(confirms.deny_in_session(&id, 0, EARLY), Reaction::none(), "the guard holds for it too");
        let scope = question("a").denials[0].scope.clone();
        assert_eq!(answer_of(&confirms.deny_in_session(&id, 0, OPEN)), Some(&Answer::DenyInSession { scope }));
    }

    #[test]
    fn an_answer_that_the_engine_did_not_take_is_asked_again() {
        let mut confirms = asked(&["a"]);
        let id = ConfirmId::new("a");
        confirms.allow_once(&id, OPEN);
        assert!(confirms.shown().is_none());
        confirms.reopen(&id, OPEN);
        assert_eq!(confirms.shown().map(|shown| &shown.id), Some(&id));
    }

    #[test]
    fn closing_from_the_engine_takes_the_question_away() {
        let mut confirms = asked(&["a", "b"]);
        confirms.close(&ConfirmId::new("a"), OPEN);
        assert_eq!((confirms.place(), confirms.shown().map(|shown| shown.id.as_str())), ((1, 1), Some("b")));
    }
}

//! The questions that wait for the person, and the guard before an answer counts.

use std::collections::HashMap;

use crate::ir::{Access, CallId, ConfirmId, Decider, SessionId, UnixMs};
use crate::port::{Answer, Command, ConfirmRequest};

use super::Reaction;

/// How long keys and clicks are ignored after a question appears or changes, in milliseconds; and how long it must be
/// quiet: each one that is ignored begins the time anew.
pub const GUARD_MS: i64 = 500;
/// Whoever typed so short a time before a question appeared goes on typing without having seen it, in milliseconds.
const TYPING_MS: i64 = 2_000;

/// The queue of questions.
#[derive(Debug, Clone, Default)]
pub struct Confirms {
    /// In the order in which they came.
    pub waiting: Vec<ConfirmRequest>,
    shown: Option<ConfirmId>,
    /// When what is shown last changed, or a key or click was ignored.
    changed_at: UnixMs,
    sight: Sight,
    /// When the person last typed, wherever.
    typed_at: Option<UnixMs>,
    first_press: FirstPress,
    /// Answered, and not closed by the engine yet.
    answered: HashMap<ConfirmId, ConfirmRequest>,
}

/// How much the person can have seen of the shown question: its buttons, and the beginning of what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sight {
    #[default]
    Out,
    /// In sight since then.
    Since(UnixMs),
    /// It was in sight for the guard's time. What follows is the person's own scrolling.
    Seen,
}

/// What the next press of the key that allows means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum FirstPress {
    /// A yes.
    #[default]
    Counts,
    /// The end of a message that the person was typing: it does not count.
    IsIgnored,
    /// One was ignored, and the person was told: the next one is a yes.
    WasIgnored,
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

    /// Whether a yes counts already: it must have been seen what it is a yes to.
    pub fn takes_yes(&self, now: UnixMs) -> bool {
        let is_seen = match self.sight {
            Sight::Out => false,
            Sight::Since(at) => now.0.saturating_sub(at.0) >= GUARD_MS,
            Sight::Seen => true,
        };
        is_seen && self.is_open(now)
    }

    /// Whether the buttons and the beginning of the preview are, or were long enough, in sight.
    pub fn is_in_sight(&self) -> bool {
        self.sight != Sight::Out
    }

    /// Whether what the window found is news.
    pub fn wants_sight(&self, is_in_sight: bool) -> bool {
        match self.sight {
            Sight::Out => is_in_sight,
            Sight::Since(_) => !is_in_sight,
            Sight::Seen => false,
        }
    }

    /// The window found whether both are in sight.
    pub(super) fn see(&mut self, confirm: &ConfirmId, is_in_sight: bool, now: UnixMs) {
        if self.shown.as_ref() != Some(confirm) {
            return;
        }
        self.sight = match (self.sight, is_in_sight) {
            (Sight::Seen, _) => Sight::Seen,
            (Sight::Since(at), _) if now.0.saturating_sub(at.0) >= GUARD_MS => Sight::Seen,
            (Sight::Since(at), true) => Sight::Since(at),
            (Sight::Out, true) => Sight::Since(now),
            (Sight::Out | Sight::Since(_), false) => Sight::Out,
        };
    }

    /// When an answer begins to count: the window draws once more then.
    pub(super) fn opens_at(&self) -> Option<UnixMs> {
        self.shown.as_ref()?;
        let seen_at = if let Sight::Since(at) = self.sight { at } else { self.changed_at };
        Some(UnixMs(self.changed_at.0.max(seen_at.0) + GUARD_MS))
    }

    /// The window comes into sight again, or gets the keyboard: what is typed or clicked in that moment was meant for
    /// something else.
    pub fn appear(&mut self, now: UnixMs) {
        if self.shown.is_some() {
            self.changed_at = now;
            if self.sight != Sight::Out {
                self.sight = Sight::Since(now);
            }
        }
    }

    /// The person pressed or clicked something that is ignored: the quiet time begins anew.
    pub fn disturb(&mut self, now: UnixMs) {
        if self.shown.is_some() {
            self.changed_at = now;
        }
    }

    /// The person typed text that goes to no field of the question. Whoever types on when one appears has not seen it, and
    /// the key that ends the message is no yes.
    pub fn type_on(&mut self, now: UnixMs) {
        self.typed_at = Some(now);
        self.disturb(now);
        if self.shown.is_some() {
            self.first_press = FirstPress::IsIgnored;
        }
    }

    /// A message was sent or taken back: what appears now interrupts nobody who types.
    pub(super) fn stop_typing(&mut self) {
        self.typed_at = None;
    }

    /// Whether the next press of the key that allows ends a message that was being typed.
    pub fn ignores_press(&self) -> bool {
        self.first_press == FirstPress::IsIgnored
    }

    /// Whether a press was ignored: the person is told, and the next one counts.
    pub fn has_ignored_press(&self) -> bool {
        self.first_press == FirstPress::WasIgnored
    }

    /// The key that allows was pressed as the end of a message.
    pub(super) fn ignore_press(&mut self, now: UnixMs) {
        if self.ignores_press() {
            self.first_press = FirstPress::WasIgnored;
            self.disturb(now);
        }
    }

    pub(crate) fn ask(&mut self, request: ConfirmRequest, now: UnixMs) {
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

    /// The reads that can be answered from one list, the shown one among them; empty where there is only one. All that the
    /// question says of the shown one but its target holds of each: who asks, for which chat, and what is red about it.
    pub fn reads(&self) -> Vec<&ConfirmRequest> {
        // What goes to a server is answered one by one.
        let is_read = |request: &ConfirmRequest| request.access == Access::Read && request.server.is_none();
        let Some(shown) = self.shown().filter(|request| is_read(request)) else { return Vec::new() };
        let is_alike = |request: &ConfirmRequest| {
            is_read(request)
                && (&request.session, &request.model) == (&shown.session, &shown.model)
                && request.reasons == shown.reasons
        };
        let reads: Vec<&ConfirmRequest> = self.waiting.iter().filter(|request| is_alike(request)).collect();
        if reads.len() > 1 { reads } else { Vec::new() }
    }

    /// Allows the listed reads once, if they are still exactly the list that is shown.
    pub(super) fn allow_reads(&mut self, listed: &[ConfirmId], now: UnixMs) -> Reaction {
        let shown: Vec<ConfirmId> = self.reads().iter().map(|request| request.id.clone()).collect();
        if shown != listed || !self.takes_yes(now) {
            self.disturb_early(now);
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

    /// Only the question that is shown, only after the guard, and a yes only to what was seen.
    fn answer(&mut self, confirm: &ConfirmId, answer: Answer, now: UnixMs) -> Reaction {
        let counts = match &answer {
            Answer::AllowOnce | Answer::AllowWithNetwork | Answer::AllowInSession { .. } => self.takes_yes(now),
            Answer::Deny { .. } | Answer::DenyInSession { .. } | Answer::DenyAndStop => self.is_open(now),
        };
        if self.shown.as_ref() != Some(confirm) || !counts {
            self.disturb_early(now);
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

    /// An answer that came too early.
    fn disturb_early(&mut self, now: UnixMs) {
        if !self.is_open(now) {
            self.disturb(now);
        }
    }

    fn show(&mut self, confirm: Option<ConfirmId>, now: UnixMs) {
        self.shown = confirm;
        self.changed_at = now;
        self.sight = Sight::Out;
        let types = self.typed_at.is_some_and(|at| now.0.saturating_sub(at.0) < TYPING_MS);
        self.first_press = if types { FirstPress::IsIgnored } else { FirstPress::Counts };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_support::question;
    use crate::policy::AskReason;

    const APPEARED: UnixMs = UnixMs(10_000);
    const EARLY: UnixMs = UnixMs(10_499);
    const OPEN: UnixMs = UnixMs(10_500);

    fn asked(ids: &[&str]) -> Confirms {
        let mut confirms = Confirms::default();
        for id in ids {
            confirms.ask(question(id), APPEARED);
        }
        see(&mut confirms, APPEARED);
        confirms
    }

    /// The window shows what is asked, whole.
    fn see(confirms: &mut Confirms, now: UnixMs) {
        if let Some(shown) = confirms.shown().map(|shown| shown.id.clone()) {
            confirms.see(&shown, true, now);
        }
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
        // Each answer that came too early began the time anew.
        assert_eq!(confirms.allow_once(&id, UnixMs(EARLY.0 + 499)), Reaction::none());
        let at = UnixMs(EARLY.0 + 499 + 500);
        assert_eq!(answer_of(&confirms.allow_once(&id, at)), Some(&Answer::AllowOnce));
    }

    #[test]
    fn whoever_types_on_answers_nothing_until_it_is_quiet_and_the_key_that_ends_the_message_is_no_yes() {
        let mut confirms = asked(&["a"]);
        let id = ConfirmId::new("a");
        for at in (0..40).map(|key| UnixMs(APPEARED.0 + key * 80)) {
            confirms.type_on(at);
            assert!(!confirms.is_open(UnixMs(at.0 + 79)));
        }
        // A pause before the closing press does not make it a yes.
        let paused = UnixMs(APPEARED.0 + 40 * 80 + 5_000);
        assert!(confirms.takes_yes(paused) && confirms.ignores_press());
        confirms.ignore_press(paused);
        assert!(confirms.has_ignored_press() && !confirms.takes_yes(UnixMs(paused.0 + 499)));
        assert!(!confirms.ignores_press());
        assert!(answer_of(&confirms.allow_once(&id, UnixMs(paused.0 + 500))).is_some());
    }

    #[test]
    fn a_message_that_was_being_typed_when_the_question_appeared_counts_too_and_an_old_one_does_not() {
        for (before, ignores) in [(100, true), (1_999, true), (2_000, false), (60_000, false)] {
            let mut confirms = Confirms::default();
            confirms.type_on(UnixMs(APPEARED.0 - before));
            confirms.ask(question("a"), APPEARED);
            assert_eq!(confirms.ignores_press(), ignores, "{before} ms before");
        }
        // What was sent is not being typed any more.
        let mut confirms = Confirms::default();
        confirms.type_on(UnixMs(APPEARED.0 - 100));
        confirms.stop_typing();
        confirms.ask(question("a"), APPEARED);
        assert!(!confirms.ignores_press());
    }

    #[test]
    fn a_yes_counts_only_after_the_buttons_and_the_beginning_of_the_preview_were_in_sight_for_the_guards_time() {
        let id = ConfirmId::new("a");
        let mut confirms = Confirms::default();
        confirms.ask(question("a"), APPEARED);
        let later = UnixMs(APPEARED.0 + 60_000);
        assert_eq!(confirms.allow_once(&id, later), Reaction::none(), "nothing of it was ever on the screen");
        confirms.see(&id, true, later);
        confirms.see(&id, false, UnixMs(later.0 + 400));
        assert_eq!(confirms.allow_once(&id, UnixMs(later.0 + 5_000)), Reaction::none(), "it was, but too short");
        confirms.see(&id, true, UnixMs(later.0 + 6_000));
        confirms.see(&id, true, UnixMs(later.0 + 6_400));
        assert_eq!(confirms.allow_once(&id, UnixMs(later.0 + 6_499)), Reaction::none());
        // Whoever has seen it may scroll on.
        confirms.see(&id, false, UnixMs(later.0 + 6_500));
        assert!(answer_of(&confirms.allow_once(&id, UnixMs(later.0 + 7_500))).is_some());
        // A no needs no sight.
        let mut confirms = Confirms::default();
        confirms.ask(question("a"), APPEARED);
        assert!(answer_of(&confirms.deny(&id, String::new(), OPEN)).is_some());
    }

    #[test]
    fn the_guard_begins_again_when_the_question_changes_or_the_next_one_shows() {
        let mut confirms = asked(&["a", "b"]);
        confirms.ask(question("a"), OPEN);
        see(&mut confirms, OPEN);
        assert!(!confirms.takes_yes(UnixMs(OPEN.0 + 499)));
        let at = UnixMs(OPEN.0 + 500);
        assert!(answer_of(&confirms.allow_once(&ConfirmId::new("a"), at)).is_some());
        assert_eq!(confirms.shown().map(|shown| shown.id.as_str()), Some("b"));
        see(&mut confirms, at);
        assert!(!confirms.takes_yes(UnixMs(at.0 + 499)));
        assert!(answer_of(&confirms.allow_once(&ConfirmId::new("b"), UnixMs(at.0 + 500))).is_some());
    }

    #[test]
    fn the_guard_begins_again_when_the_window_comes_into_sight() {
        let mut confirms = asked(&["a"]);
        confirms.appear(OPEN);
        assert!(!confirms.takes_yes(UnixMs(OPEN.0 + 499)));
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
        see(&mut confirms, APPEARED);
        let listed: Vec<ConfirmId> = ["a", "b"].map(ConfirmId::new).to_vec();
        assert_eq!(confirms.allow_reads(&listed, EARLY), Reaction::none());
        confirms.ask(read("c"), OPEN);
        see(&mut confirms, OPEN);
        let later = UnixMs(OPEN.0 + 10_000);
        assert_eq!(confirms.allow_reads(&listed, later), Reaction::none(), "the list is another one now");
        let listed: Vec<ConfirmId> = ["a", "b", "c"].map(ConfirmId::new).to_vec();
        assert!(!confirms.takes_yes(UnixMs(OPEN.0 + 499)));
        assert_eq!(confirms.allow_reads(&listed, later).commands.len(), 3);
        assert_eq!(confirms.shown().map(|shown| shown.id.as_str()), Some("write"));
    }

    #[test]
    fn a_list_of_reads_holds_only_what_is_as_the_shown_one() {
        let mut confirms = Confirms::default();
        let read = |id: &str| ConfirmRequest { access: Access::Read, ..question(id) };
        let named = AskReason::SuspiciousName { part: "passwords".into() };
        confirms.ask(read("a"), APPEARED);
        confirms.ask(ConfirmRequest { session: SessionId::new("other"), ..read("b") }, APPEARED);
        confirms.ask(ConfirmRequest { model: "elsewhere".into(), ..read("c") }, APPEARED);
        confirms.ask(ConfirmRequest { reasons: vec![AskReason::Outside, named], ..read("d") }, APPEARED);
        assert!(confirms.reads().is_empty());
        confirms.ask(read("e"), APPEARED);
        let listed: Vec<&str> = confirms.reads().iter().map(|read| read.id.as_str()).collect();
        assert_eq!(listed, ["a", "e"]);
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
        let at = UnixMs(EARLY.0 + 500);
        assert_eq!(answer_of(&confirms.deny_in_session(&id, 0, at)), Some(&Answer::DenyInSession { scope }));
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

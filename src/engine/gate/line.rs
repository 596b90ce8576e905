//! The order among the calls of one answer. Questions come in the order in which the model gave the calls, and a change
//! begins once every change before it has ended. Reads run beside all of them.
//!
//! Nobody knows what a command changes: what comes after one is looked at, and asked, once it has ended.

use std::collections::BTreeMap;

use tokio::sync::watch;

use crate::ir::Access;

/// The calls that came together and are under way.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Line(watch::Sender<Calls>);

#[derive(Debug, Default)]
struct Calls {
    next: u64,
    /// Those that later ones may have to wait for, by their place.
    ahead: BTreeMap<u64, Stage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Whether it will be asked is not known yet.
    Unseen,
    /// A change that waits for its answer: what it will do is known, so later ones are asked beside it.
    Asked,
    /// A change that is made, or may begin at any moment; a command from its question on.
    Changing,
}

/// The place of one call. Dropped when the call has ended.
#[derive(Debug)]
pub(in crate::engine) struct Place {
    line: Line,
    at: u64,
}

impl Line {
    /// The next place.
    pub(in crate::engine) fn join(&self) -> Place {
        let mut at = 0;
        self.0.send_modify(|calls| {
            at = calls.next;
            calls.next += 1;
            calls.ahead.insert(at, Stage::Unseen);
        });
        Place { line: self.clone(), at }
    }
}

impl Place {
    /// Waits until the question of this call would be the next one: of each call before it, it is known what it does.
    pub(super) async fn turn_to_ask(&self) {
        self.until_all_ahead(|stage| stage == Stage::Asked).await;
    }

    /// Its question is with the front ends.
    pub(super) fn asked(&self, access: Access) {
        self.enter(match access {
            Access::Read => None,
            Access::Write | Access::Delete => Some(Stage::Asked),
            Access::Execute => Some(Stage::Changing),
        });
    }

    /// It needs no question, or has its yes: a change waits here until all those before it have ended.
    pub(super) async fn turn_to_run(&self, access: Access) {
        if access.changes_something() {
            self.enter(Some(Stage::Changing));
            self.until_all_ahead(|_| false).await;
        } else {
            self.enter(None);
        }
    }

    fn enter(&self, stage: Option<Stage>) {
        self.line.0.send_modify(|calls| match stage {
            Some(stage) => {
                calls.ahead.insert(self.at, stage);
            }
            None => {
                calls.ahead.remove(&self.at);
            }
        });
    }

    async fn until_all_ahead(&self, passes: impl Fn(Stage) -> bool) {
        let may_go = |calls: &Calls| calls.ahead.range(..self.at).all(|(_, stage)| passes(*stage));
        // The line lives as long as its places: it does not close before this ends.
        self.line.0.subscribe().wait_for(may_go).await.ok();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.enter(None);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Whether it goes on at once.
    fn goes_on(waiting: impl Future<Output = ()>) -> bool {
        waiting.now_or_never().is_some()
    }

    #[test]
    fn a_question_waits_until_it_is_known_what_each_call_before_it_does() {
        let line = Line::default();
        let (read, write, last) = (line.join(), line.join(), line.join());
        assert!(goes_on(read.turn_to_ask()) && !goes_on(write.turn_to_ask()));
        read.asked(Access::Read);
        assert!(goes_on(write.turn_to_ask()) && !goes_on(last.turn_to_ask()));
        write.asked(Access::Write);
        assert!(goes_on(last.turn_to_ask()), "both questions wait for the person");
    }

    #[test]
    fn a_change_begins_when_the_one_before_it_has_ended_and_a_read_at_once() {
        let line = Line::default();
        let (first, second, read) = (line.join(), line.join(), line.join());
        first.asked(Access::Write);
        second.asked(Access::Delete);
        assert!(!goes_on(second.turn_to_run(Access::Delete)), "the first one may still be allowed");
        assert!(goes_on(first.turn_to_run(Access::Write)));
        assert!(goes_on(read.turn_to_run(Access::Read)));
        assert!(!goes_on(second.turn_to_run(Access::Delete)));
        drop(first);
        assert!(goes_on(second.turn_to_run(Access::Delete)));
    }

    #[test]
    fn what_comes_after_a_command_or_a_change_that_needs_no_question_is_asked_once_that_has_ended() {
        for begin in [
            |place: &Place| place.asked(Access::Execute),
            |place: &Place| {
                assert!(goes_on(place.turn_to_run(Access::Write)));
            },
        ] {
            let line = Line::default();
            let (first, second) = (line.join(), line.join());
            begin(&first);
            assert!(!goes_on(second.turn_to_ask()));
            drop(first);
            assert!(goes_on(second.turn_to_ask()));
        }
    }
}

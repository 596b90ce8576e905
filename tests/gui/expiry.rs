//! A question that nobody answered, and one that comes into sight.

use egui::Key;
use egui_kittest::kittest::Queryable as _;
use nod::ir::{ConfirmId, SessionId};
use nod::port::{Command, Event, Unanswered};

use crate::support::{Stage, question};

#[test]
fn who_comes_back_is_told_that_a_question_expired_and_a_question_that_comes_into_sight_waits_for_the_guard() {
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "export const port = 8080;\n"))));
    stage.settle();
    stage.pass(600);
    stage.settle();
    // The window loses the keyboard and gets it again: what is pressed in that moment was meant for something else.
    for focused in [false, true] {
        stage.harness.input_mut().focused = focused;
        stage.settle();
    }
    stage.harness.key_press(Key::Escape);
    stage.settle();
    let is_answer = |command: &Command| matches!(command, Command::Answer { .. });
    assert!(!stage.sent().iter().any(is_answer), "the guard holds");
    let (confirm, session) = (ConfirmId::new("q"), SessionId::new("s"));
    stage.tell(Event::ConfirmClosed { confirm, session, unanswered: Some(Unanswered::Expired) });
    stage.settle();
    stage.pass(3_600_000);
    stage.settle();
    stage.harness.get_by_label_contains("A question waited too long");
}

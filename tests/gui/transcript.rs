//! The transcript draws what is seen, moves nothing that is seen, and rests when nothing happens.

use std::time::Duration;

use egui::accesskit::Role as Reader;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use nod::app::Intent;
use nod::ir::{CallId, CallStatus, DiffLine, DiffTag, MessageStatus, Preview, Role};

use crate::scene::{Scene, call, conversation, message};

fn drawn_and_laid_out(count: usize) -> (usize, usize) {
    let mut window = Scene::new(conversation(0, count), Vec::new()).open();
    let first = window.state_mut().transcript().stats();
    window.state_mut().transcript().scroll_by(-2000.0);
    window.step();
    window.step();
    let moved = window.state_mut().transcript().stats();
    (first.drawn + moved.drawn, first.laid_out + moved.laid_out)
}

#[test]
fn ten_thousand_messages_cost_what_a_hundred_do() {
    let small = drawn_and_laid_out(100);
    assert_eq!(drawn_and_laid_out(10_000), small);
    assert!(small.0 > 10 && small.0 < 120, "{small:?}");
}

#[test]
fn a_frame_in_which_nothing_changed_lays_nothing_out() {
    let mut window = Scene::new(conversation(0, 200), Vec::new()).open();
    window.run();
    window.step();
    assert_eq!(window.state_mut().transcript().stats().laid_out, 0);
}

#[test]
fn streaming_lays_out_only_the_block_that_grows() {
    let text: String = (0..300).map(|number| format!("Paragraph {number} of a long answer.\n\n")).collect();
    let mut answer = message("a", Role::Assistant, &text);
    answer.status = MessageStatus::Streaming;
    let mut window = Scene::new(vec![message("u", Role::User, "Go"), answer], Vec::new()).open();
    window.step();
    for _ in 0..20 {
        window.state_mut().stream("a", "more words and ");
        window.step();
        let laid_out = window.state_mut().transcript().stats().laid_out;
        assert!((1..=3).contains(&laid_out), "{laid_out}");
    }
}

#[test]
fn streaming_code_lays_out_only_its_last_lines() {
    let text: String = (0..3000).map(|number| format!("let x{number} = {number};\n")).collect();
    let mut answer = message("a", Role::Assistant, &format!("```rust\n{text}"));
    answer.status = MessageStatus::Streaming;
    let mut window = Scene::new(vec![answer], Vec::new()).open();
    window.run_steps(30);
    for _ in 0..20 {
        window.state_mut().stream("a", "let y = 1;\n");
        window.step();
        let laid_out = window.state_mut().transcript().stats().laid_out;
        assert!(laid_out <= 4, "{laid_out}");
    }
}

fn top_of(window: &Harness<'_, Scene>, label: &str) -> f32 {
    window.get_by_label(label).rect().top()
}

#[test]
fn it_follows_the_stream() {
    let mut answer = message("a", Role::Assistant, "Beginning.\n\n");
    answer.status = MessageStatus::Streaming;
    let mut messages = conversation(0, 40);
    messages.push(answer);
    let mut window = Scene::new(messages, Vec::new()).open();
    for number in 0..40 {
        window.state_mut().stream("a", &format!("Line {number}.\n\n"));
        window.step();
    }
    assert!(window.state_mut().transcript().is_at_end());
    assert!(top_of(&window, "Line 39.") < 700.0);
    assert!(window.query_by_label("Newest").is_none());
}

#[test]
fn scrolled_up_nothing_moves_while_the_answer_grows_and_newest_leads_back() {
    let mut answer = message("a", Role::Assistant, "Beginning.\n\n");
    answer.status = MessageStatus::Streaming;
    let mut messages = conversation(0, 40);
    messages.push(answer);
    let mut window = Scene::new(messages, Vec::new()).open();
    window.state_mut().transcript().scroll_by(-900.0);
    window.step();
    window.step();
    let seen = (0..40)
        .map(|number| format!("Question {number}"))
        .find(|label| window.query_by_label(label).is_some_and(|node| node.rect().top() > 100.0))
        .expect("a question is in sight");
    let before = top_of(&window, &seen);
    for number in 0..40 {
        window.state_mut().stream("a", &format!("Line {number}.\n\n"));
        window.step();
    }
    assert_eq!(top_of(&window, &seen), before);
    window.get_by_label("Newest").click();
    window.run();
    assert!(window.state_mut().transcript().is_at_end());
    assert!(window.query_by_label("Line 39.").is_some());
}

#[test]
fn older_messages_come_in_above_without_a_jump() {
    let mut scene = Scene::new(conversation(100, 40), Vec::new());
    scene.view.has_older = true;
    let mut window = scene.open();
    window.run();
    assert!(!window.state().intents.contains(&Intent::LoadOlder), "not asked for far from the top");
    for _ in 0..40 {
        window.state_mut().transcript().scroll_by(-400.0);
        window.step();
    }
    assert!(window.state().intents.contains(&Intent::LoadOlder));
    let before = top_of(&window, "Question 100");
    window.state_mut().view.prepend(conversation(50, 50), false, Vec::new());
    window.step();
    window.step();
    assert_eq!(top_of(&window, "Question 100"), before);
}

#[test]
fn the_keyboard_pages_and_goes_to_both_ends() {
    let mut window = Scene::new(conversation(0, 200), Vec::new()).open();
    window.key_press(egui::Key::PageUp);
    window.run();
    assert!(!window.state_mut().transcript().is_at_end());
    window.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Home);
    window.run();
    assert!(top_of(&window, "Question 0") >= 0.0);
    window.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::End);
    window.run();
    assert!(window.state_mut().transcript().is_at_end());
}

#[test]
fn a_finished_transcript_asks_for_no_frame() {
    let mut messages = conversation(0, 30);
    let mut last = message("a", Role::Assistant, "Done.");
    last.message.tool_calls = Some(vec![call("c", "a", "write_file", CallStatus::Succeeded, None).call]);
    messages.push(last);
    let mut window = Scene::new(messages, vec![call("c", "a", "write_file", CallStatus::Succeeded, None)]).open();
    window.run();
    // The colours of code may still be on their way; then the window rests.
    for _ in 0..200 {
        if window.output().viewport_output.values().all(|output| output.repaint_delay > Duration::from_hours(1)) {
            return;
        }
        std::thread::yield_now();
        window.step();
    }
    panic!("it asks for frames though nothing moves");
}

fn waiting_scene() -> Scene {
    let line = |tag, old_line, new_line, text: &str| DiffLine { tag, old_line, new_line, text: text.to_owned() };
    let preview = Preview::Diff {
        lines: vec![
            line(DiffTag::Removed, Some(1), None, "port = 8080\n"),
            line(DiffTag::Added, None, Some(1), "port = 3000\n"),
        ],
        added: 1,
        removed: 1,
        notes: vec![],
    };
    let record = call("c", "a", "write_file", CallStatus::Waiting, Some(preview));
    let mut answer = message("a", Role::Assistant, "I change the port.");
    answer.message.tool_calls = Some(vec![record.call.clone()]);
    Scene::new(vec![message("u", Role::User, "Go"), answer], vec![record])
}

#[test]
fn a_waiting_card_shows_its_change_and_leads_to_its_question() {
    let mut window = waiting_scene().open();
    window.run();
    assert!(window.query_by_label("port = 3000").is_some());
    assert!(window.query_by_label("write_file src/a.rs waiting for you").is_some());
    window.get_by_label("Review").click();
    window.run();
    assert_eq!(window.state().intents, [Intent::ReviewCall(CallId::new("c"))]);
}

#[test]
fn a_card_opens_and_closes_and_works_by_keyboard() {
    let mut window = waiting_scene().open();
    window.run();
    window.get_by_label("write_file src/a.rs waiting for you").focus();
    window.run();
    window.key_press(egui::Key::Enter);
    window.run();
    assert_eq!(window.state().intents, [Intent::ToggleCall(CallId::new("c"))]);
    window.state_mut().view.toggle_call(&CallId::new("c"));
    window.run();
    assert!(window.query_by_label("port = 3000").is_none());
    assert!(window.query_by_label("Review").is_some(), "the way to the question stays");
}

#[test]
fn a_run_of_reads_is_one_line_until_it_is_opened() {
    let records = ["c1", "c2", "c3"].map(|id| call(id, "a", "read_file", CallStatus::Succeeded, None));
    let mut answer = message("a", Role::Assistant, "");
    answer.message.tool_calls = Some(records.iter().map(|record| record.call.clone()).collect());
    let mut window = Scene::new(vec![message("u", Role::User, "Go"), answer], records.to_vec()).open();
    window.run();
    assert_eq!(
        window.query_all_by_role(Reader::Button).filter(|node| label_of(node).starts_with("read_file")).count(),
        0
    );
    let line = window
        .query_all_by_role(Reader::Button)
        .find(|node| label_of(node).starts_with("Read 3 files"))
        .expect("one line for all three");
    line.click();
    window.run();
    let toggled = window.state().intents.iter().find_map(|intent| match intent {
        Intent::ToggleItem(key) => Some(*key),
        _ => None,
    });
    window.state_mut().view.toggle_item(toggled.expect("it can be opened"));
    window.run();
    assert_eq!(
        window.query_all_by_role(Reader::Button).filter(|node| label_of(node).starts_with("read_file")).count(),
        3
    );
}

fn label_of(node: &egui_kittest::Node<'_>) -> String {
    use egui_kittest::kittest::NodeT as _;
    node.accesskit_node().label().unwrap_or_default()
}

#[test]
fn every_state_is_told_in_words() {
    let states = [
        (CallStatus::Waiting, "waiting for you"),
        (CallStatus::Failed, "failed"),
        (CallStatus::Denied, "denied"),
        (CallStatus::Cancelled, "stopped"),
        (CallStatus::Unknown, "unknown: check the target"),
        (CallStatus::Pending, "checking"),
    ];
    for (status, words) in states {
        let record = call("c", "a", "delete_file", status, None);
        let mut answer = message("a", Role::Assistant, "");
        answer.message.tool_calls = Some(vec![record.call.clone()]);
        let mut window = Scene::new(vec![answer], vec![record]).open();
        window.run();
        assert!(window.query_by_label(&format!("delete_file src/a.rs {words}")).is_some(), "{status:?}");
    }
}

#[test]
fn a_message_of_the_person_can_be_copied_edited_and_deleted() {
    let mut window = Scene::new(vec![message("u", Role::User, "Hello there")], Vec::new()).open();
    window.run();
    for name in ["Copy message", "Edit and resend", "Fork from here", "Delete"] {
        window.get_by_role_and_label(Reader::Button, name).click();
        window.run();
    }
    let id = nod::ir::MessageId::new("u");
    assert_eq!(
        window.state().intents,
        [
            Intent::CopyText("Hello there".to_owned()),
            Intent::EditMessage(id.clone()),
            Intent::ForkHere(id.clone()),
            Intent::DeleteMessage(id),
        ]
    );
}

#[test]
fn text_is_selected_and_copied_across_blocks() {
    let mut window =
        Scene::new(vec![message("a", Role::Assistant, "First block.\n\nSecond block.")], Vec::new()).open();
    window.run();
    let from = window.get_by_label("First block.").rect().left_top() + egui::vec2(1.0, 4.0);
    let to = window.get_by_label("Second block.").rect().right_bottom() - egui::vec2(1.0, 4.0);
    window.drag_at(from);
    window.step();
    window.hover_at(to);
    window.step();
    window.step();
    window.event(egui::Event::Copy);
    window.step();
    let copied = window.output().platform_output.commands.iter().find_map(|command| match command {
        egui::OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    });
    let copied = copied.expect("something was copied");
    assert!(copied.contains("First block.") && copied.contains("Second block"), "{copied}");
}

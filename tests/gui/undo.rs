//! The card's *Undo*: nothing is sent but a question first, the change is shown, and the way back stays.

use egui::Key;
use egui_kittest::kittest::Queryable as _;
use nod::ir::*;
use nod::port::{Command, Event};

use crate::scene::call;
use crate::support::{START, Stage, message, session};

fn entry(state: UndoState) -> UndoEntry {
    UndoEntry {
        id: UndoId::new("u1"),
        session: SessionId::new("s"),
        call: CallId::new("c"),
        message: Some(MessageId::new("a")),
        operation: UndoOperation::Changed,
        reverts: None,
        place: UndoPlace {
            folder: "/home/ann/projects/web".to_owned(),
            device: 1,
            inode: 2,
            path: "src/config.ts".to_owned(),
        },
        before: FileState::Missing,
        after: FileState::Missing,
        made_folders: 0,
        state,
        created_at: UnixMs(START),
        settled_at: None,
    }
}

fn scope() -> UndoScope {
    UndoScope::Call { session: SessionId::new("s"), call: CallId::new("c") }
}

fn plan(action: UndoAction) -> UndoPlan {
    let line = |tag, text: &str| DiffLine { tag, old_line: Some(1), new_line: Some(1), text: format!("{text}\n") };
    UndoPlan {
        scope: scope(),
        direction: UndoDirection::Undo,
        steps: vec![UndoStep {
            entry: UndoId::new("u1"),
            operation: UndoOperation::Changed,
            path: "/home/ann/projects/web/src/config.ts".to_owned(),
            action,
            is_executed_later: false,
            preview: Preview::Diff {
                lines: vec![line(DiffTag::Removed, "port = 9090"), line(DiffTag::Added, "port = 8080")],
                added: 1,
                removed: 1,
                notes: vec![],
            },
            changed_since: Preview::Nothing,
        }],
        hash: "plan".to_owned(),
        is_changed: false,
    }
}

/// A finished turn that changed one file; its card is open.
fn changed() -> Stage {
    let mut stage = Stage::open();
    let record = call("c", "a", "write_file", CallStatus::Succeeded, None);
    let mut answer = message("a", Role::Assistant, "Done.");
    answer.message.tool_calls = Some(vec![record.call.clone()]);
    stage.tell(Event::SessionOpened {
        session: Box::new(session("s", "Config module")),
        messages: vec![message("m1", Role::User, "Change the port"), answer],
        has_older: false,
        calls: vec![record],
        rules: vec![].into(),
        state: State::Idle,
        queued: vec![],
    });
    stage.tell(Event::UndoChanged { session: SessionId::new("s"), entries: vec![entry(UndoState::Done)] });
    stage.settle();
    let card = stage.texts().into_iter().find(|text| text.starts_with("write_file")).expect("the card's header");
    stage.harness.get_by_label(&card).click();
    stage.settle();
    stage.commands();
    stage
}

fn press(stage: &mut Stage, name: &str) {
    stage.harness.get_by_label(name).click();
    stage.settle();
}

#[test]
fn a_change_of_what_is_executed_is_said_before_it_is_undone() {
    let said = "Something executes or obeys what this changes";
    for (is_executed_later, action) in [
        (false, UndoAction::Restore),
        (true, UndoAction::Restore),
        (true, UndoAction::Remove),
        (true, UndoAction::Nothing),
    ] {
        let mut stage = changed();
        press(&mut stage, "Undo");
        let mut plan = plan(action);
        plan.steps[0].is_executed_later = is_executed_later;
        stage.tell(Event::UndoPlanned(Box::new(plan)));
        stage.settle();
        let is_said = stage.texts().join("\n").contains(said);
        assert_eq!(is_said, is_executed_later && action != UndoAction::Nothing, "{is_executed_later} {action:?}");
    }
}

#[test]
fn undo_on_the_card_shows_the_change_before_anything_is_done() {
    let mut stage = changed();
    press(&mut stage, "Undo");
    let asked = Command::PlanUndo { scope: scope(), direction: UndoDirection::Undo };
    assert_eq!(stage.sent(), [asked]);
    stage.tell(Event::UndoPlanned(Box::new(plan(UndoAction::Restore))));
    stage.settle();
    assert!(stage.harness.get_by_label("Cancel").is_focused(), "a reflex changes nothing");
    let words = stage.texts().join("\n");
    assert!(words.contains("Undo this change?") && words.contains("puts the earlier version back"), "{words}");
    let buttons: Vec<_> = stage.harness.get_all_by_label("Undo").collect();
    buttons.last().unwrap().click();
    stage.settle();
    let ordered = Command::ApplyUndo {
        scope: scope(),
        direction: UndoDirection::Undo,
        choices: vec![],
        plan_hash: "plan".to_owned(),
    };
    assert_eq!(stage.sent(), [ordered]);
    let results = vec![UndoResult {
        entry: UndoId::new("u1"),
        path: "/home/ann/projects/web/src/config.ts".to_owned(),
        outcome: UndoOutcome::Done,
        detail: String::new(),
    }];
    stage.tell(Event::UndoChanged { session: SessionId::new("s"), entries: vec![entry(UndoState::Undone)] });
    stage.tell(Event::UndoApplied {
        session: SessionId::new("s"),
        scope: scope(),
        direction: UndoDirection::Undo,
        results,
    });
    stage.settle();
    assert!(stage.texts().iter().any(|text| text == "Undone"), "{:?}", stage.texts());
    // On the card and on the toast.
    assert_eq!(stage.harness.get_all_by_label("Redo").count(), 2);
}

#[test]
fn a_file_that_moved_on_needs_a_choice() {
    let mut stage = changed();
    press(&mut stage, "Undo");
    stage.tell(Event::UndoPlanned(Box::new(plan(UndoAction::Conflict { can_save_beside: true }))));
    stage.settle();
    stage.commands();
    // Nothing is chosen: nothing can be ordered.
    let buttons: Vec<_> = stage.harness.get_all_by_label("Undo").collect();
    buttons.last().unwrap().click();
    stage.settle();
    assert_eq!(stage.sent(), []);
    press(&mut stage, "Save the earlier version beside it");
    let buttons: Vec<_> = stage.harness.get_all_by_label("Undo").collect();
    buttons.last().unwrap().click();
    stage.settle();
    let sent = stage.sent();
    let [Command::ApplyUndo { choices, .. }] = sent.as_slice() else { panic!("not an order: {sent:?}") };
    assert_eq!(*choices, [(UndoId::new("u1"), UndoChoice::SaveBeside)]);
}

#[test]
fn the_second_half_of_a_double_click_is_no_yes_to_the_plan_that_took_the_first_ones_place() {
    let mut stage = changed();
    press(&mut stage, "Undo");
    stage.tell(Event::UndoPlanned(Box::new(plan(UndoAction::Restore))));
    stage.settle();
    stage.commands();
    let go = |stage: &mut Stage| {
        stage.harness.get_all_by_label("Undo").last().unwrap().click();
        stage.settle();
        stage.sent().len()
    };
    assert_eq!(go(&mut stage), 1);
    let anew = UndoPlan { hash: "another".to_owned(), is_changed: true, ..plan(UndoAction::Restore) };
    stage.tell(Event::UndoPlanned(Box::new(anew)));
    stage.settle();
    assert_eq!(go(&mut stage), 0);
    stage.pass(600);
    stage.settle();
    assert_eq!(go(&mut stage), 1);
}

#[test]
fn escape_leaves_everything_as_it_is() {
    let mut stage = changed();
    press(&mut stage, "Undo");
    stage.tell(Event::UndoPlanned(Box::new(plan(UndoAction::Restore))));
    stage.settle();
    stage.commands();
    stage.harness.key_press(Key::Escape);
    stage.settle();
    assert_eq!(stage.sent(), []);
    assert!(!stage.texts().iter().any(|text| text == "Undo this change?"));
}

#[test]
fn its_title_and_its_buttons_stay_on_the_screen_whatever_the_plan_holds() {
    for size in [[1280.0, 860.0], [900.0, 600.0], [640.0, 420.0], [450.0, 300.0]] {
        let mut stage = Stage::open_with(nod::port::Settings::default(), size);
        stage.harness.state_mut().act(nod::app::Intent::PlanUndo { scope: scope(), direction: UndoDirection::Undo });
        stage.settle();
        let mut plan = plan(UndoAction::Conflict { can_save_beside: true });
        let step = plan.steps.remove(0);
        let path = format!("/home/ann/{}\n{}", "p".repeat(4_000), "Z\u{300}\u{301}".repeat(500));
        let content = "a line of what was there\n".repeat(9_000);
        plan.steps = (0..500)
            .map(|number| UndoStep {
                entry: UndoId::new(format!("u{number}")),
                path: path.clone(),
                changed_since: Preview::NewFile { content: content.clone() },
                ..step.clone()
            })
            .collect();
        stage.tell(Event::UndoPlanned(Box::new(plan)));
        stage.settle();
        stage.settle();
        let window = egui::Rect::from_min_size(egui::Pos2::ZERO, size.into()).expand(0.5);
        for label in ["Cancel", "Undo"] {
            let found: Vec<egui::Rect> = stage
                .harness
                .query_all_by_role_and_label(egui::accesskit::Role::Button, label)
                .map(|node| node.rect())
                .collect();
            assert!(found.iter().any(|rect| window.contains_rect(*rect)), "{label} at {found:?} in {size:?}");
        }
    }
}

#[test]
fn a_change_whose_record_was_edited_offers_no_way_back_and_says_why() {
    let mut stage = changed();
    assert_eq!(stage.harness.query_all_by_label("Undo").count(), 1, "the control");
    let said = "was changed outside Nod";
    assert!(!stage.texts().join("\n").contains(said));
    stage.tell(Event::UndoChanged { session: SessionId::new("s"), entries: vec![entry(UndoState::Altered)] });
    stage.settle();
    for name in ["Undo", "Redo"] {
        assert_eq!(stage.harness.query_all_by_label(name).count(), 0, "{name}");
    }
    assert!(stage.texts().join("\n").contains(said), "{:?}", stage.texts());
}

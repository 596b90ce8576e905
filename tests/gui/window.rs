//! The window as a whole: its parts by name, keys, panels, the start, cost.

use egui::accesskit::Role as Kind;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use nod::app::{Intent, Panel, PathPurpose, Phase, StartFault, StartFaultKind};
use nod::ir::{Role, RuleId, SessionId, State};
use nod::port::{Command, Event, Settings};

use crate::support::{Stage, message, opened, rule, session};

#[test]
fn the_parts_are_there_by_role_and_name() {
    let stage = Stage::open();
    for (kind, name) in [
        (Kind::Button, "New chat"),
        (Kind::Button, "Send"),
        (Kind::Button, "Add folder"),
        (Kind::Button, "Model"),
        (Kind::ListItem, "Settings"),
        (Kind::TextInput, "Search chats"),
        (Kind::MultilineTextInput, "Message"),
    ] {
        assert!(stage.harness.query_by_role_and_label(kind, name).is_some(), "{kind:?} {name:?}");
    }
}

#[test]
fn nothing_moves_and_nothing_is_painted_when_idle() {
    let mut settings = Settings::default();
    settings.general.animations = true;
    let mut stage = Stage::with(settings, [1280.0, 860.0]);
    stage.tell(Event::SessionsListed(vec![session("s", "Config module")]));
    stage.tell(opened("s", vec![message("m1", Role::User, "Go")], vec![]));
    stage.settle();
    stage.harness.get_by_label("Message").focus();
    stage.settle();
    stage.pass(60_000);
    stage.settle();
    for _ in 0..3 {
        stage.harness.step();
        let viewports = &stage.harness.output().viewport_output;
        for viewport in viewports.values() {
            assert!(viewport.repaint_delay.as_secs() > 3_600, "a frame is asked for in {:?}", viewport.repaint_delay);
        }
    }
}

#[test]
fn a_running_turn_asks_for_ten_frames_a_second_at_most() {
    let mut settings = Settings::default();
    settings.general.animations = true;
    let mut stage = Stage::with(settings, [1280.0, 860.0]);
    stage.tell(Event::SessionsListed(vec![session("s", "Config module")]));
    stage.tell(opened("s", vec![message("m1", Role::User, "Go")], vec![]));
    stage.tell(Event::StateChanged { session: SessionId::new("s"), state: State::Accumulating });
    for _ in 0..20 {
        stage.harness.step();
    }
    let delay = stage.harness.output().viewport_output.values().map(|viewport| viewport.repaint_delay).min().unwrap();
    assert!((15..=110).contains(&delay.as_millis()), "{delay:?}");
}

#[test]
fn tab_reaches_every_control_of_the_main_window() {
    let mut stage = Stage::open();
    let mut reached = std::collections::BTreeSet::new();
    for _ in 0..60 {
        stage.harness.key_press(Key::Tab);
        stage.harness.step();
        stage.harness.step();
        if let Some(focused) = stage.harness.root().children_recursive().find(egui_kittest::Node::is_focused) {
            reached.insert(focused.accesskit_node().label().unwrap_or_default());
        }
    }
    for name in [
        "New chat",
        "Search chats",
        "Config module",
        "Release notes",
        "Settings",
        "Chat menu",
        "Model",
        "Add folder",
        "~/projects/web",
        "Folders, mode and rules",
        "Message",
        "Attach files",
        "Ask before changes",
    ] {
        assert!(reached.contains(name), "{name:?} was not reached: {reached:?}");
    }
}

#[test]
fn an_opened_protected_file_is_listed_and_can_be_closed_again() {
    let mut stage = Stage::open();
    let file = std::path::PathBuf::from("/projects/web/.env");
    stage.tell(Event::LiftedChanged { session: SessionId::new("s"), files: vec![file.clone()] });
    stage.harness.get_by_label("Folders, mode and rules").click();
    stage.settle();
    stage.harness.get_by_label_contains("Close again:").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::TakeLiftBack { session: SessionId::new("s"), path: file }]);
}

#[test]
fn a_rule_is_listed_as_a_sentence_and_can_be_revoked() {
    let mut stage = Stage::open();
    stage.tell(Event::RulesChanged { session: Some(SessionId::new("s")), rules: vec![rule()].into() });
    stage.harness.get_by_label("Folders, mode and rules").click();
    stage.settle();
    let sentence = "Allowed without asking: write_file anywhere in the allowed folders";
    assert!(stage.harness.query_by_label(sentence).is_some(), "{:?}", stage.texts());
    assert!(stage.harness.query_by_label_contains("used 3 times").is_some());
    stage.harness.get_by_label_contains("Revoke:").click();
    stage.settle();
    let rule = RuleId::new("r1");
    assert_eq!(stage.sent(), [Command::RevokeRule { session: Some(SessionId::new("s")), rule }]);
}

#[test]
fn the_palette_finds_a_chat_by_name_and_opens_it() {
    let mut stage = Stage::open();
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
    stage.settle();
    stage.harness.get_by_label("Search actions, chats and models").type_text("release");
    stage.settle();
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(stage.sent(), [Command::OpenSession(SessionId::new("t"))]);
    assert_eq!(stage.harness.state().state().panel, None);
}

#[test]
fn a_question_mark_shows_the_keys_but_not_while_writing() {
    let mut stage = Stage::open();
    stage.harness.get_by_label("Message").focus();
    stage.settle();
    stage.harness.get_by_label("Message").type_text("?");
    stage.settle();
    assert_eq!(stage.harness.state().state().panel, None);
    stage.harness.get_by_label("New chat").focus();
    stage.settle();
    stage.harness.event(egui::Event::Text("?".to_owned()));
    stage.settle();
    assert_eq!(stage.harness.state().state().panel, Some(Panel::Shortcuts));
}

#[test]
fn deleting_can_be_undone_from_its_message() {
    let mut stage = Stage::open();
    stage.tell(Event::SessionDeleted(SessionId::new("t")));
    stage.settle();
    assert!(stage.harness.query_by_label("Release notes").is_none());
    stage.harness.get_by_label("Undo").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::RestoreSession(SessionId::new("t"))]);
}

#[test]
fn where_no_dialog_opens_a_path_is_typed() {
    let mut stage = Stage::open();
    let purpose = PathPurpose::SessionFolder;
    stage.harness.state_mut().act(Intent::DialogClosed { purpose, paths: vec![], waited_ms: 3 });
    stage.settle();
    assert!(stage.harness.query_by_label_contains("No file dialog opened").is_some());
    stage.harness.get_by_label("Path").type_text("/srv/data");
    stage.settle();
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(stage.sent(), [Command::AddFolder { session: SessionId::new("s"), path: "/srv/data".into() }]);
}

#[test]
fn a_cancelled_dialog_asks_for_nothing() {
    let mut stage = Stage::open();
    let purpose = PathPurpose::SessionFolder;
    stage.harness.state_mut().act(Intent::DialogClosed { purpose, paths: vec![], waited_ms: 4_000 });
    stage.settle();
    assert!(stage.harness.query_by_label("Path").is_none());
}

#[test]
fn an_empty_chat_offers_what_is_there() {
    let mut stage = Stage::open();
    stage.tell(opened("s", vec![], vec![]));
    stage.settle();
    assert!(stage.harness.query_by_label("What should we work on?").is_some());
    assert!(stage.harness.query_by_label_contains("qwen3:8b can use tools").is_some());
    assert!(stage.harness.query_by_label_contains("no AI model").is_some());
    stage.harness.get_by_label("Start, Just look around").click();
    stage.settle();
    let sent = stage.sent();
    assert!(
        sent.contains(&Command::SetModel {
            session: SessionId::new("s"),
            provider: "guide".to_owned(),
            model: "guide".to_owned()
        }),
        "{sent:?}"
    );
}

#[test]
fn closing_with_work_running_asks() {
    let mut stage = Stage::open();
    stage.tell(Event::StateChanged { session: SessionId::new("s"), state: State::Executing });
    stage.settle();
    stage.harness.state_mut().act(Intent::RequestClose);
    stage.settle();
    assert!(stage.harness.get_by_label("Keep working").is_focused());
    stage.harness.get_by_label("Stop and quit").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::Quit]);
}

#[test]
fn what_ends_by_itself_while_closing_asks_is_not_said_to_run() {
    let mut stage = Stage::open();
    stage.tell(Event::StateChanged { session: SessionId::new("s"), state: State::Executing });
    stage.settle();
    stage.harness.state_mut().act(Intent::RequestClose);
    stage.settle();
    stage.tell(Event::StateChanged { session: SessionId::new("s"), state: State::Idle });
    stage.settle();
    assert!(stage.harness.get_by_label("Stay").is_focused());
    assert!(stage.harness.query_by_label("Stop and quit").is_none());
    stage.harness.get_by_label("Quit").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::Quit]);
}

#[test]
fn a_start_that_failed_says_why_and_offers_three_ways_on() {
    let mut stage = Stage::open();
    let fault = StartFault {
        kind: StartFaultKind::ReadOnly,
        folder: "/ro".into(),
        detail: "attempt to write a readonly database".to_owned(),
    };
    stage.harness.state_mut().fail(fault.clone());
    stage.settle();
    assert_eq!(stage.harness.state().state().phase, Phase::Faulted(fault));
    for name in ["Try again", "Choose another folder…", "Go on without saving"] {
        assert!(stage.harness.query_by_label(name).is_some(), "{name:?}");
    }
}

#[test]
fn going_on_without_saving_stays_in_sight() {
    let mut stage = Stage::open();
    assert!(stage.harness.query_by_label("not saved").is_none());
    stage.harness.state_mut().unsaved();
    stage.settle();
    assert!(stage.harness.query_by_label("not saved").is_some());
}

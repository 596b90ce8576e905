//! Where the keyboard is: in the dialog on top, in sight, and going as one reads.

use egui::{Key, Modifiers, Rect};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use nod::app::{Intent, SettingsPage};
use nod::ir::{SessionId, State};
use nod::port::{Answer, Command, Event, Settings};

use crate::support::{Stage, question};

/// A control that has the keyboard.
#[derive(Debug, Clone, PartialEq)]
struct Stop {
    name: String,
    rect: Rect,
}

fn stop(stage: &Stage) -> Option<Stop> {
    let found = stage.harness.root().children_recursive().find(egui_kittest::Node::is_focused)?;
    Some(Stop { name: found.accesskit_node().label().unwrap_or_default(), rect: found.rect() })
}

fn focused(stage: &Stage) -> String {
    stop(stage).map_or_else(String::new, |stop| stop.name)
}

fn press(stage: &mut Stage, modifiers: Modifiers, key: Key) {
    stage.harness.key_press_modifiers(modifiers, key);
    stage.settle();
}

fn tab(stage: &mut Stage) {
    press(stage, Modifiers::NONE, Key::Tab);
}

/// Goes on with Tab until the first stop comes again; every stop on the way, in their order.
fn round(stage: &mut Stage) -> Vec<Stop> {
    let mut stops: Vec<Stop> = Vec::new();
    for _ in 0..200 {
        tab(stage);
        let Some(next) = stop(stage) else { continue };
        if stops.first().is_some_and(|first| first.name == next.name && first.rect.left() == next.rect.left()) {
            return stops;
        }
        stops.push(next);
    }
    panic!("Tab never came back to where it began: {stops:?}");
}

fn asked() -> Stage {
    let mut stage = Stage::open();
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "export const port = 8080;\n"))));
    stage.tell(Event::StateChanged { session: SessionId::new("s"), state: State::Confirming });
    stage.settle();
    stage.pass(600);
    stage.settle();
    stage.commands();
    stage
}

fn ask_to_close(stage: &mut Stage) {
    stage.harness.state_mut().act(Intent::RequestClose);
    stage.settle();
    assert!(stage.harness.query_by_label_contains("Stop what is running?").is_some(), "{:?}", stage.texts());
}

fn answers(stage: &mut Stage) -> Vec<Answer> {
    let answer = |command| if let Command::Answer { answer, .. } = command { Some(answer) } else { None };
    stage.sent().into_iter().filter_map(answer).collect()
}

#[test]
fn the_dialog_of_a_closing_window_over_a_question_has_the_keyboard_and_gives_it_back() {
    let mut stage = asked();
    assert_eq!(focused(&stage), "Deny");
    ask_to_close(&mut stage);
    assert_eq!(focused(&stage), "Keep working");
    tab(&mut stage);
    assert_eq!(focused(&stage), "Stop and quit");
    tab(&mut stage);
    assert_eq!(focused(&stage), "Keep working", "Tab stays within the dialog");
    press(&mut stage, Modifiers::SHIFT, Key::Tab);
    assert_eq!(focused(&stage), "Stop and quit");
    press(&mut stage, Modifiers::SHIFT, Key::Tab);
    assert_eq!(focused(&stage), "Keep working");
    press(&mut stage, Modifiers::NONE, Key::Enter);
    assert!(stage.harness.query_by_label("Stop and quit").is_none());
    assert_eq!((focused(&stage).as_str(), answers(&mut stage)), ("Deny", vec![]), "Enter was the dialog's alone");
}

#[test]
fn escape_closes_the_dialog_on_top_and_nothing_below_it() {
    let mut stage = asked();
    ask_to_close(&mut stage);
    press(&mut stage, Modifiers::NONE, Key::Escape);
    assert!(stage.harness.query_by_label("Stop and quit").is_none());
    assert_eq!(answers(&mut stage), []);
    // The control: without a dialog over it the same key answers.
    press(&mut stage, Modifiers::NONE, Key::Escape);
    assert_eq!(answers(&mut stage), [Answer::Deny { reason: String::new() }]);
}

#[test]
fn no_key_reaches_a_covered_question() {
    let mut stage = asked();
    ask_to_close(&mut stage);
    for (modifiers, key) in [(Modifiers::NONE, Key::F7), (Modifiers::COMMAND, Key::K), (Modifiers::NONE, Key::X)] {
        press(&mut stage, modifiers, key);
        assert_eq!((focused(&stage).as_str(), answers(&mut stage)), ("Keep working", vec![]), "{key:?}");
    }
    press(&mut stage, Modifiers::SHIFT, Key::Tab);
    press(&mut stage, Modifiers::NONE, Key::Enter);
    let sent = stage.sent();
    assert!(sent.contains(&Command::Quit), "the other button can be reached and worked: {sent:?}");
}

#[test]
fn a_question_that_comes_over_another_dialog_has_the_keyboard_and_gives_it_back() {
    let mut stage = Stage::open();
    stage.tell(Event::StateChanged { session: SessionId::new("s"), state: State::Confirming });
    stage.settle();
    ask_to_close(&mut stage);
    tab(&mut stage);
    assert_eq!(focused(&stage), "Stop and quit");
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "export const port = 8080;\n"))));
    stage.settle();
    stage.pass(600);
    stage.settle();
    assert_eq!(focused(&stage), "Deny");
    stage.commands();
    press(&mut stage, Modifiers::NONE, Key::Escape);
    assert_eq!(answers(&mut stage), [Answer::Deny { reason: String::new() }], "the key is the question's");
    assert_eq!(focused(&stage), "Stop and quit");
    assert!(stage.harness.query_by_label("Keep working").is_some(), "and the other dialog is still there");
}

#[test]
fn every_dialog_gives_a_question_the_keyboard_and_gets_it_back() {
    let dialogs = [
        (Intent::DeleteAllSessions, "Cancel"),
        (Intent::OpenLink("https://example.com/".to_owned()), "Cancel"),
        (Intent::Open(nod::app::Panel::Shortcuts), "Close"),
        (Intent::Open(nod::app::Panel::Sent), "Close"),
        (Intent::Open(nod::app::Panel::Palette), "Search actions, chats and models"),
        (Intent::TypePath(nod::app::PathPurpose::SessionFolder), "Path"),
    ];
    for (intent, first) in dialogs {
        let mut stage = Stage::open();
        stage.harness.state_mut().act(intent.clone());
        stage.settle();
        assert_eq!(focused(&stage), first, "{intent:?}");
        stage.tell(Event::ConfirmAsked(Box::new(question("q", "export const port = 8080;\n"))));
        stage.settle();
        stage.pass(600);
        stage.settle();
        assert_eq!(focused(&stage), "Deny", "{intent:?}");
        stage.commands();
        press(&mut stage, Modifiers::NONE, Key::Escape);
        assert_eq!(answers(&mut stage), [Answer::Deny { reason: String::new() }], "{intent:?}");
        assert_eq!(focused(&stage), first, "{intent:?}: it is still there, and has the keyboard");
        press(&mut stage, Modifiers::NONE, Key::Escape);
        assert_eq!(focused(&stage), "Message", "{intent:?}");
    }
}

#[test]
fn the_page_of_the_settings_follows_the_keyboard() {
    for page in SettingsPage::ALL {
        let mut stage = Stage::open_with(Settings::default(), [900.0, 600.0]);
        stage.harness.state_mut().act(Intent::OpenSettings(page));
        stage.settle();
        for stop in round(&mut stage) {
            let Stop { name, rect } = &stop;
            assert!(rect.top() >= 0.0 && rect.bottom() <= 600.0, "{page:?}: {name:?} has the keyboard at {rect:?}");
        }
        // And back again.
        for _ in 0..12 {
            press(&mut stage, Modifiers::SHIFT, Key::Tab);
            let Some(Stop { name, rect }) = stop(&stage) else { continue };
            assert!(rect.top() >= 0.0 && rect.bottom() <= 600.0, "{page:?}: {name:?} has the keyboard at {rect:?}");
        }
    }
}

/// Whether one control is read after another: to its right, or below it.
fn follows(before: &Stop, after: &Stop) -> bool {
    let is_same_line = after.rect.top() < before.rect.bottom() && before.rect.top() < after.rect.bottom();
    if is_same_line { after.rect.left() >= before.rect.left() } else { after.rect.top() >= before.rect.top() }
}

fn assert_as_read(stops: &[Stop], place: &str) {
    for pair in stops.windows(2) {
        assert!(follows(&pair[0], &pair[1]), "{place}: {:?} comes before {:?}", pair[0], pair[1]);
    }
}

#[test]
fn tab_goes_through_the_sidebar_and_the_bar_as_they_are_read() {
    let mut stage = Stage::open();
    let stops = round(&mut stage);
    let within = |place: Rect| stops.iter().filter(|stop| place.contains(stop.rect.center())).cloned().collect();
    let sidebar: Vec<Stop> = within(Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(248.0, 860.0)));
    let names: Vec<&str> = sidebar.iter().map(|stop| stop.name.as_str()).collect();
    // The round begins behind the message, which had the keyboard.
    assert_eq!(names, ["New chat", "Search chats", "Config module", "Release notes", "Settings"]);
    let bar: Vec<Stop> = within(Rect::from_min_max(egui::pos2(248.0, 0.0), egui::pos2(1280.0, 48.0)));
    assert!(bar.len() >= 6, "{bar:?}");
    assert_as_read(&sidebar, "the sidebar");
    assert_as_read(&bar, "the bar");
}

#[test]
fn tab_goes_through_every_page_of_the_settings_as_it_is_read() {
    for page in SettingsPage::ALL {
        // High enough that nothing scrolls.
        let mut stage = Stage::open_with(Settings::default(), [1280.0, 3000.0]);
        stage.harness.state_mut().act(Intent::OpenSettings(page));
        stage.settle();
        let mut stops = round(&mut stage);
        stops.retain(|stop| stop.rect.left() > 200.0);
        assert_as_read(&stops, page.key());
    }
}

#[test]
fn tab_goes_through_a_question_as_it_is_read() {
    let mut stage = asked();
    let mut stops = round(&mut stage);
    let deny = stops.iter().position(|stop| stop.name == "Deny").unwrap();
    stops.rotate_left(deny);
    let names: Vec<&str> = stops.iter().map(|stop| stop.name.as_str()).collect();
    let last = ["Deny", "Deny, and always deny…", "Deny and say why", "Allow in this session", "Allow once"];
    assert_eq!(names.get(..last.len()), Some(&last[..]), "{names:?}");
}

//! Whatever a question holds, its title and its buttons are on the screen, and a yes is one to what was seen.

use egui::accesskit::Role as Kind;
use egui::{Event as Input, Key, Modifiers, Rect};
use egui_kittest::kittest::Queryable as _;
use nod::ir::{Access, ConfirmId, Preview, RiskLevel};
use nod::policy::AskReason;
use nod::port::{Answer, Command, ConfirmRequest, Event, Settings};

use crate::support::{Stage, question};

/// From a large window to one of 900×600 pixels at twice the scale.
const SIZES: [[f32; 2]; 4] = [[1280.0, 860.0], [900.0, 600.0], [640.0, 420.0], [450.0, 300.0]];

const FORGED: &str = "evil · “chat”\nexists, can be undone, low risk\n\n    1   ls -la     (nothing is changed)";

/// Every text that comes from elsewhere, as long and as odd as it can be.
fn hostile() -> ConfirmRequest {
    let zalgo = format!("Z{}", "\u{300}\u{301}\u{302}".repeat(400));
    let mut request = question("q", "export const port = 8080;\n");
    request.model = format!("{FORGED}{}{}", "\n".repeat(60), "x".repeat(3_000));
    request.session_title = format!("{FORGED}\u{202E}{zalgo}{}", "\n字".repeat(2_000));
    request.target = format!("/home/ann/projects/web/{}/f.txt", vec!["d".repeat(240); 16].join("/"));
    request.via_link = Some(format!("/home/ann/{}\n{zalgo}", "l".repeat(4_000)));
    request.model_words = format!("{FORGED}{}{zalgo}", "\nword word word".repeat(50_000));
    let names = ["a\n".repeat(300), "b ".repeat(900), zalgo].map(|name| AskReason::SuspiciousName { part: name });
    request.reasons = names.into_iter().chain([AskReason::ProtectedWrite, AskReason::OtherMount]).collect();
    request
}

fn stage_with(request: ConfirmRequest, size: [f32; 2]) -> Stage {
    let mut stage = Stage::open_with(Settings::default(), size);
    stage.tell(Event::ConfirmAsked(Box::new(request)));
    stage.settle();
    stage.settle();
    stage
}

/// A control of the question, and the title, within the window and as high as ever.
fn assert_whole(stage: &Stage, size: [f32; 2], title: &str) {
    let window = Rect::from_min_size(egui::Pos2::ZERO, size.into()).expand(0.5);
    for (role, label) in [(Kind::Button, "Deny"), (Kind::Button, "Allow once"), (Kind::Heading, title)] {
        let rect = stage.harness.get_by_role_and_label(role, label).rect();
        assert!(window.contains_rect(rect), "{label:?} is at {rect:?} in a window of {size:?}");
    }
}

fn answers(stage: &mut Stage) -> Vec<Answer> {
    let answer = |command| if let Command::Answer { answer, .. } = command { Some(answer) } else { None };
    stage.sent().into_iter().filter_map(answer).collect()
}

fn press_allow(stage: &mut Stage) {
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    stage.settle();
}

fn quiet(stage: &mut Stage) {
    stage.pass(600);
    stage.settle();
}

/// The rows of facts by their names, each with its height: a value stands at the right of its name.
fn value_heights(stage: &Stage) -> Vec<f32> {
    let names = ["File", "Allowed in", "Through", "What", "Content", "Asked by"];
    let rows = names.map(|name| stage.harness.get_by_label(name).rect());
    rows.windows(2).map(|pair| pair[1].top() - pair[0].top()).collect()
}

#[test]
fn title_and_buttons_stay_on_the_screen_whatever_the_names_hold() {
    for size in SIZES {
        let stage = stage_with(hostile(), size);
        assert_whole(&stage, size, "Create a file?");
        // Each fact is one row, whatever it holds.
        assert_eq!(value_heights(&stage), [24.0; 5], "{size:?}");
    }
}

#[test]
fn a_window_without_room_for_a_question_draws_what_it_can() {
    for size in [[180.0, 120.0], [60.0, 40.0]] {
        stage_with(hostile(), size);
    }
}

#[test]
fn title_and_buttons_stay_on_the_screen_for_every_kind_of_question() {
    let long = "/".to_owned() + &vec!["n\u{300}".repeat(120); 30].join("/");
    for size in SIZES {
        let mut delete = hostile();
        (delete.access, delete.risk, delete.target) = (Access::Delete, RiskLevel::High, long.clone());
        let entry = |n: usize| nod::ir::TreeEntry { path: format!("{n}{long}"), is_folder: false, bytes: 1 };
        delete.preview =
            Preview::Tree { entries: (0..9_000).map(entry).collect(), count: 9_000, bytes: 9_000, at_least: true };
        assert_whole(&stage_with(delete, size), size, "Delete a folder with everything in it?");

        let mut command = hostile();
        (command.access, command.risk) = (Access::Execute, RiskLevel::Critical);
        command.preview = Preview::Command(nod::ir::CommandPreview {
            command: format!("{long}\n").repeat(200),
            cwd: long.clone(),
            environment: (0..300).map(|n| (format!("NAME_{n}"), FORGED.to_owned())).collect(),
            timeout_ms: 30_000,
            tier: nod::ir::Tier::B,
            gaps: nod::ir::Leak::ALL.to_vec(),
            network: nod::ir::Network::Denied,
            unseen: 0,
            linked: nod::ir::LinkedOutside::default(),
            started: nod::ir::Started::default(),
        });
        assert_whole(&stage_with(command, size), size, "Run a command?");

        let mut server = hostile();
        server.server = Some(format!("https://{}\n{FORGED}", "s".repeat(4_000)));
        (server.access, server.preview) = (Access::Read, Preview::Nothing);
        server.call.args = serde_json::json!({ "path": long.repeat(50), "a\nb": "c\n".repeat(500) });
        "workspace.read_file".clone_into(&mut server.call.name);
        server.expires_at = Some(nod::ir::UnixMs(crate::support::START + 60_000));
        assert_whole(&stage_with(server, size), size, "Send this file to a server?");
    }
}

#[test]
fn hundreds_of_waiting_reads_are_a_list_of_their_own_height() {
    for size in SIZES {
        let mut stage = Stage::open_with(Settings::default(), size);
        for number in 0..400 {
            let mut read = hostile();
            (read.id, read.access, read.preview) =
                (ConfirmId::new(format!("r{number}")), Access::Read, Preview::Nothing);
            "read_file".clone_into(&mut read.call.name);
            stage.tell(Event::ConfirmAsked(Box::new(read)));
        }
        stage.settle();
        stage.settle();
        assert_whole(&stage, size, "Read a file?");
    }
}

#[test]
fn what_a_row_leaves_out_is_one_click_away() {
    let mut stage = stage_with(hostile(), [1280.0, 860.0]);
    let drawn = |stage: &Stage| format!("{:?}", stage.harness.output().shapes);
    assert!(!drawn(&stage).contains(&"d".repeat(240)), "the row holds a part");
    assert!(drawn(&stage).contains("/f.txt"), "the name of the file is what stays");
    stage.harness.get_by_label("Show all of “File”").click();
    stage.settle();
    assert!(drawn(&stage).contains(&"d".repeat(240)));
    assert_whole(&stage, [1280.0, 860.0], "Create a file?");
    stage.harness.get_by_label("Show less of “File”").click();
    stage.settle();
    assert!(!drawn(&stage).contains(&"d".repeat(240)));
}

#[test]
fn line_breaks_in_names_are_escapes_and_make_no_row() {
    let stage = stage_with(hostile(), [1280.0, 860.0]);
    let drawn = format!("{:?}", stage.harness.output().shapes);
    let texts = stage.texts();
    let asker = texts.iter().find(|text| text.starts_with("evil")).expect("who asks");
    assert!(asker.starts_with("evil · “chat”\\nexists") && !asker.contains('\n'), "{asker}");
    assert!(asker.chars().count() < 400, "{asker}");
    assert!(!drawn.contains("\"exists, can be undone"), "no line begins with the forged words");
}

#[test]
fn nothing_is_approved_that_was_never_on_the_screen() {
    let size = [450.0, 300.0];
    let mut stage = stage_with(hostile(), size);
    stage.commands();
    quiet(&mut stage);
    // The beginning of the preview is below what is in sight: a yes shows it first.
    assert!(stage.harness.query_by_label_contains("until then it cannot be allowed").is_some(), "{:?}", stage.texts());
    stage.harness.get_by_label("Allow once").click();
    stage.settle();
    assert_eq!(answers(&mut stage), []);
    quiet(&mut stage);
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), []);
    assert!(stage.harness.query_by_label_contains("until then it cannot be allowed").is_none());
    // Seen a moment is not seen.
    stage.pass(300);
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), []);
    quiet(&mut stage);
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
    // A no needs none of it.
    let mut stage = stage_with(hostile(), size);
    stage.commands();
    quiet(&mut stage);
    stage.harness.key_press(Key::Escape);
    stage.settle();
    assert_eq!(answers(&mut stage), [Answer::Deny { reason: String::new() }]);
}

#[test]
fn where_even_the_buttons_find_no_place_nothing_can_be_approved() {
    let mut stage = stage_with(question("q", "text\n"), [420.0, 150.0]);
    stage.commands();
    for _ in 0..4 {
        quiet(&mut stage);
        press_allow(&mut stage);
    }
    assert_eq!(answers(&mut stage), []);
}

#[test]
fn every_question_begins_at_the_top_of_its_preview() {
    let mut stage = stage_with(question("q", &"line of the first\n".repeat(500)), [1280.0, 860.0]);
    stage.tell(Event::ConfirmAsked(Box::new(question("q2", &format!("the very start\n{}", "more\n".repeat(500))))));
    stage.settle();
    stage.harness.get_by_label("Preview").focus();
    stage.settle();
    stage.harness.key_press(Key::End);
    stage.settle();
    quiet(&mut stage);
    stage.harness.key_press(Key::Escape);
    stage.settle();
    stage.settle();
    let drawn = format!("{:?}", stage.harness.output().shapes);
    assert!(drawn.contains("the very start"));
}

/// With *Ctrl+Enter sends*, somebody types a message when the question appears.
fn typing() -> Stage {
    let mut settings = Settings::default();
    settings.general.send_key = nod::port::SendKey::CtrlEnter;
    let mut stage = Stage::open_with(settings, [1280.0, 860.0]);
    stage.harness.get_by_role_and_label(Kind::MultilineTextInput, "Message").focus();
    stage.settle();
    type_text(&mut stage, "thank you");
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "export const port = 8080;\n"))));
    stage.settle();
    stage.commands();
    stage
}

/// Key by key, 80 milliseconds apart.
fn type_text(stage: &mut Stage, text: &str) {
    for letter in text.chars() {
        stage.harness.event(Input::Text(letter.to_string()));
        stage.pass(80);
        stage.harness.step();
    }
}

#[test]
fn a_message_that_is_typed_on_ends_in_no_answer() {
    let mut stage = typing();
    type_text(&mut stage, " very much for everything and a bit more");
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), []);
    // What happened is said, and a press of its own is a yes.
    assert!(stage.harness.query_by_label_contains("You were typing").is_some(), "{:?}", stage.texts());
    quiet(&mut stage);
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

#[test]
fn a_pause_before_the_closing_key_makes_it_no_yes() {
    for typed_after in ["", " very much"] {
        let mut stage = typing();
        type_text(&mut stage, typed_after);
        stage.pass(4_000);
        stage.settle();
        press_allow(&mut stage);
        assert_eq!(answers(&mut stage), [], "{typed_after:?}");
    }
}

#[test]
fn who_has_not_typed_needs_one_press() {
    let mut stage = stage_with(question("q", "text\n"), [1280.0, 860.0]);
    stage.commands();
    quiet(&mut stage);
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

#[test]
fn an_early_click_or_key_begins_the_quiet_time_anew() {
    let mut stage = stage_with(question("q", "text\n"), [1280.0, 860.0]);
    stage.commands();
    for _ in 0..6 {
        stage.pass(300);
        press_allow(&mut stage);
    }
    assert_eq!(answers(&mut stage), []);
    stage.pass(600);
    stage.settle();
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

#[test]
fn a_space_at_the_end_of_a_name_is_drawn() {
    let mut request = question("q", "x");
    request.target = "/home/ann/projects/web/a.txt ".to_owned();
    let stage = stage_with(request, [1280.0, 860.0]);
    let texts = stage.texts();
    assert!(texts.iter().any(|text| text == "~/projects/web/a.txt\\u{0020}"), "{texts:?}");
    assert!(stage.harness.query_by_label_contains("invisible or look like others").is_some());
}

#[test]
fn an_endless_address_leaves_the_buttons_of_its_question_where_they_are() {
    for size in SIZES {
        let mut stage = Stage::open_with(Settings::default(), size);
        let url = format!("https://example.com/{}", "a/".repeat(100_000));
        stage.harness.state_mut().act(nod::app::Intent::OpenLink(url));
        stage.settle();
        stage.settle();
        let window = Rect::from_min_size(egui::Pos2::ZERO, size.into()).expand(0.5);
        for label in ["Cancel", "Copy address", "Open", "Open this link?"] {
            let found: Vec<Rect> = stage.harness.query_all_by_label(label).map(|node| node.rect()).collect();
            assert!(found.iter().any(|rect| window.contains_rect(*rect)), "{label} at {found:?} in {size:?}");
        }
    }
}

#[test]
fn a_question_over_another_dialog_is_the_topmost_and_can_be_answered() {
    let mut stage = Stage::open();
    stage.harness.state_mut().act(nod::app::Intent::OpenLink("https://example.com/".to_owned()));
    stage.settle();
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "text\n"))));
    stage.settle();
    stage.commands();
    quiet(&mut stage);
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

#[test]
fn a_question_that_follows_a_message_at_once_takes_the_first_press() {
    let mut stage = Stage::open();
    stage.harness.get_by_role_and_label(Kind::MultilineTextInput, "Message").focus();
    stage.settle();
    type_text(&mut stage, "delete it");
    stage.harness.key_press(Key::Enter);
    stage.settle();
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "text\n"))));
    stage.settle();
    stage.commands();
    quiet(&mut stage);
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

#[test]
fn a_message_that_was_taken_back_is_not_being_typed() {
    let mut stage = Stage::open();
    stage.harness.get_by_role_and_label(Kind::MultilineTextInput, "Message").focus();
    stage.settle();
    type_text(&mut stage, "no");
    for _ in 0..2 {
        stage.harness.key_press(Key::Backspace);
        stage.settle();
    }
    stage.tell(Event::ConfirmAsked(Box::new(question("q", "text\n"))));
    stage.settle();
    stage.commands();
    quiet(&mut stage);
    press_allow(&mut stage);
    assert_eq!(answers(&mut stage), [Answer::AllowOnce]);
}

#[test]
fn how_much_was_not_seen_stands_beside_the_buttons_in_every_window() {
    for size in SIZES {
        let mut request = hostile();
        let content: String = (0..300).map(|line| format!("line {line}\n")).collect();
        request.preview = Preview::NewFile { content };
        let stage = stage_with(request, size);
        assert_whole(&stage, size, "Create a file?");
        let window = Rect::from_min_size(egui::Pos2::ZERO, size.into()).expand(0.5);
        let count = stage.harness.get_by_label_contains("more lines below").rect();
        let buttons = stage.harness.get_by_role_and_label(Kind::Button, "Allow once").rect();
        assert!(window.contains_rect(count) && count.bottom() <= buttons.top(), "{count:?} {buttons:?} in {size:?}");
        assert!(buttons.top() - count.bottom() < 40.0, "{count:?} {buttons:?} in {size:?}");
    }
}

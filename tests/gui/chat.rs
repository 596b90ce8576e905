//! Writing, sending, streaming, stopping.

use egui::{Event as Input, ImeEvent, Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use nod::ir::{CallId, CallStatus, MessageId, Role, SessionId, State, StreamBody, StreamEvent, ToolResult, UnixMs};
use nod::port::{Command, Event, SendKey, Settings};
use serde_json::json;

use crate::scene::call;
use crate::support::{START, Stage, message, opened, session};

fn typed(stage: &mut Stage, text: &str) {
    stage.harness.get_by_label("Message").focus();
    stage.settle();
    stage.harness.get_by_label("Message").type_text(text);
    stage.settle();
}

fn sent_text(stage: &mut Stage) -> Vec<String> {
    stage
        .sent()
        .into_iter()
        .map(|command| match command {
            Command::Send { session, text, .. } => {
                assert_eq!(session, SessionId::new("s"));
                text
            }
            other => panic!("not a message: {other:?}"),
        })
        .collect()
}

#[test]
fn enter_sends_and_shift_enter_breaks_the_line() {
    let mut stage = Stage::open();
    typed(&mut stage, "hello");
    stage.harness.key_press_modifiers(Modifiers::SHIFT, Key::Enter);
    stage.settle();
    assert_eq!(sent_text(&mut stage), Vec::<String>::new());
    stage.harness.get_by_label("Message").type_text("world");
    stage.settle();
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(sent_text(&mut stage), ["hello\nworld"]);
}

#[test]
fn what_is_typed_in_the_same_frame_as_enter_is_sent_with_it() {
    let mut stage = Stage::open();
    typed(&mut stage, "review the projec");
    let enter =
        Input::Key { key: Key::Enter, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE };
    stage.harness.input_mut().events.extend([Input::Text("t".to_owned()), enter]);
    stage.settle();
    assert_eq!(sent_text(&mut stage), ["review the project"]);
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(sent_text(&mut stage), Vec::<String>::new(), "the box is empty after sending");
}

#[test]
fn with_the_other_setting_enter_breaks_and_ctrl_enter_sends() {
    let mut settings = Settings::default();
    settings.general.send_key = SendKey::CtrlEnter;
    let mut stage = Stage::open_with(settings, [1280.0, 860.0]);
    typed(&mut stage, "one");
    stage.harness.key_press(Key::Enter);
    stage.settle();
    stage.harness.get_by_label("Message").type_text("two");
    stage.settle();
    assert_eq!(sent_text(&mut stage), Vec::<String>::new());
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    stage.settle();
    assert_eq!(sent_text(&mut stage), ["one\ntwo"]);
}

#[test]
fn enter_while_an_input_method_composes_never_sends() {
    let mut stage = Stage::open();
    typed(&mut stage, "a");
    let preedit = |text: &str| Input::Ime(ImeEvent::Preedit { text: text.to_owned(), active_range_chars: None });
    stage.harness.event(preedit("ni hao"));
    stage.settle();
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(sent_text(&mut stage), Vec::<String>::new());
    // The key that ends the composition may come with its result or a frame later.
    stage.harness.event(Input::Ime(ImeEvent::Commit("你好".to_owned())));
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(sent_text(&mut stage), Vec::<String>::new());
    stage.pass(100);
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(sent_text(&mut stage), ["a你好"]);
}

#[test]
fn a_click_on_send_sends_and_an_empty_box_cannot() {
    let mut stage = Stage::open();
    stage.harness.get_by_label("Send").click();
    stage.settle();
    assert_eq!(stage.sent(), []);
    typed(&mut stage, "go");
    stage.harness.get_by_label("Send").click();
    stage.settle();
    assert_eq!(sent_text(&mut stage), ["go"]);
}

#[test]
fn while_a_turn_runs_stop_replaces_send_and_a_message_is_queued() {
    let mut stage = Stage::open();
    stage.tell(Event::StateChanged { session: SessionId::new("s"), state: State::Accumulating });
    stage.settle();
    assert!(stage.harness.query_by_label("Send").is_none());
    typed(&mut stage, "and then this");
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(sent_text(&mut stage), ["and then this"]);
    stage.tell(Event::QueueChanged { session: SessionId::new("s"), queued: vec!["and then this".to_owned()] });
    stage.settle();
    assert!(stage.harness.query_by_label("and then this").is_some());
    stage.harness.get_by_label("Stop").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::Stop(SessionId::new("s"))]);
}

#[test]
fn escape_stops() {
    let mut stage = Stage::open();
    stage.tell(Event::StateChanged { session: SessionId::new("s"), state: State::Accumulating });
    stage.harness.get_by_label("Message").focus();
    stage.settle();
    stage.harness.key_press(Key::Escape);
    stage.settle();
    assert_eq!(stage.sent(), [Command::Stop(SessionId::new("s"))]);
}

#[test]
fn a_streamed_answer_grows_in_the_state() {
    let mut stage = Stage::open();
    let mut answer = message("m2", Role::Assistant, "");
    answer.status = nod::ir::MessageStatus::Streaming;
    stage.tell(Event::MessageChanged(Box::new(answer)));
    for (seq, delta) in ["Hel", "lo"].into_iter().enumerate() {
        let event = StreamEvent {
            body: StreamBody::TextDelta { delta: delta.to_owned() },
            request_id: nod::ir::RequestId::new("r"),
            session_id: SessionId::new("s"),
            iteration: 1,
            seq: seq as u64,
            timestamp: UnixMs(START),
        };
        stage.tell(Event::Streamed {
            session: SessionId::new("s"),
            message: MessageId::new("m2"),
            event: Box::new(event),
        });
    }
    stage.settle();
    let view = stage.harness.state().state().shown().unwrap();
    assert_eq!(view.messages[&MessageId::new("m2")].message.content, "Hello");
}

#[test]
fn up_in_an_empty_box_edits_the_last_message() {
    let mut stage = Stage::open();
    stage.harness.get_by_label("Message").focus();
    stage.settle();
    stage.harness.key_press(Key::ArrowUp);
    stage.settle();
    assert_eq!(stage.harness.get_by_label("Message").value().as_deref(), Some("Read the server"));
    assert!(stage.harness.query_by_label("Editing an earlier message").is_some());
    stage.harness.key_press(Key::Enter);
    stage.settle();
    let message = MessageId::new("m1");
    assert_eq!(
        stage.sent(),
        [Command::EditMessage { session: SessionId::new("s"), message, text: "Read the server".to_owned() }]
    );
}

#[test]
fn an_at_sign_completes_paths_by_keyboard() {
    let mut stage = Stage::open();
    typed(&mut stage, "look at @sr");
    let asked = stage.commands();
    let number = asked
        .iter()
        .rev()
        .find_map(|command| match command {
            Command::CompletePath { prefix, number, .. } if prefix == "sr" => Some(*number),
            _ => None,
        })
        .unwrap_or_else(|| panic!("no question for paths in {asked:?}"));
    let paths = vec!["src/".to_owned(), "src/main.rs".to_owned()];
    stage.tell(Event::PathsCompleted { number, paths });
    stage.settle();
    stage.harness.key_press(Key::ArrowDown);
    stage.settle();
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(stage.harness.get_by_label("Message").value().as_deref(), Some("look at `src/main.rs` "));
}

#[test]
fn a_slash_command_opens_what_it_names() {
    let mut stage = Stage::open();
    typed(&mut stage, "/set");
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert!(stage.harness.query_by_label("Back to the chat").is_some());
}

#[test]
fn changing_the_chat_keeps_both_drafts() {
    let mut stage = Stage::open();
    typed(&mut stage, "half a thought");
    stage.harness.get_by_label("Release notes").click();
    stage.settle();
    let sent = stage.commands();
    let draft = Command::SaveDraft { session: SessionId::new("s"), text: "half a thought".to_owned() };
    assert!(sent.contains(&draft), "{sent:?}");
    stage.tell(opened("t", vec![], vec![]));
    stage.settle();
    assert_eq!(stage.harness.get_by_label("Message").value().unwrap_or_default(), "");
    stage.harness.get_by_label("Config module").click();
    stage.tell(opened("s", vec![message("m1", Role::User, "Read the server")], vec![]));
    stage.settle();
    assert_eq!(stage.harness.get_by_label("Message").value().as_deref(), Some("half a thought"));
}

#[test]
fn the_first_call_that_needs_a_folder_where_there_is_none_offers_to_add_one() {
    for has_folder in [false, true] {
        let mut stage = Stage::open();
        let mut open = session("s", "Config module");
        if !has_folder {
            open.folders.clear();
        }
        stage.tell(Event::SessionChanged(Box::new(open)));
        let mut record = call("c", "m1", "read_file", CallStatus::Denied, None);
        record.result = Some(ToolResult {
            tool_call_id: CallId::new("c"),
            tool_name: "read_file".to_owned(),
            success: false,
            result: json!({"code": "PATH_OUT_OF_SCOPE", "message": "No folder."}),
            summary: None,
            error: None,
            duration_ms: 1,
            timestamp: UnixMs(START),
        });
        stage.tell(Event::CallChanged(Box::new(record)));
        stage.settle();
        let is_offered = stage.texts().join("\n").contains("No folder is allowed in this chat yet.");
        assert_eq!(is_offered, !has_folder, "{:?}", stage.texts());
        // The bar has one button for it always; the message brings another.
        assert_eq!(stage.harness.get_all_by_label("Add folder").count(), if has_folder { 1 } else { 2 });
    }
}

//! A session that lives on a server, in the window: its row in the sidebar, the bar over it, its cards, and what is not
//! there for it.

use egui::accesskit::Role as Kind;
use egui_kittest::kittest::Queryable as _;
use nod::app::Intent;
use nod::ir::{KeyPlace, LinkProblem, LinkServer, LinkState, LinkView, MessageId, SessionId, UnixMs};
use nod::link::agui;
use nod::link::conversation::Conversation;
use nod::port::{Command, Event, SearchHit, Settings, ThreadsState};
use serde_json::json;

use crate::support::{START, Stage};

const URL: &str = "https://nod.example/";
const NOW: UnixMs = UnixMs(START);

fn link(state: LinkState) -> Event {
    let server = LinkServer {
        url: URL.into(),
        workspace: "/home/ann/projects/web".into(),
        key: KeyPlace::Keyring { origin: "https://nod.example".into() },
        is_paused: false,
    };
    Event::LinksChanged { device_id: "dev_1".into(), links: vec![LinkView { server, state, sent_bytes: 0 }] }
}

fn stage() -> Stage {
    let mut stage = Stage::open_with(Settings::default(), [1280.0, 860.0]);
    stage.tell(link(LinkState::Connected));
    let mut known = Conversation::new(URL, "t1", NOW).session;
    "What is in README?".clone_into(&mut known.title);
    stage.tell(Event::ThreadsListed { url: URL.into(), threads: ThreadsState::Ready(vec![known]) });
    stage.settle();
    stage.commands();
    stage
}

/// Opens the conversation of the list, with a turn that read a file.
fn open(stage: &mut Stage) {
    stage.harness.get_by_role_and_label(Kind::ListItem, "What is in README?").click();
    stage.settle();
    let id = SessionId::on_server(URL, "t1");
    assert_eq!(stage.sent(), [Command::OpenSession(id)]);
    let mut conversation = Conversation::new(URL, "t1", NOW);
    stage.tell(conversation.opened(String::new(), Vec::new()));
    for event in conversation.begin("r1", "What is in README?", NOW) {
        stage.tell(event);
    }
    let events = json!([
        {"type": "TOOL_CALL_START", "toolCallId": "t1:c", "toolCallName": "workspace_read_file", "parentMessageId": "m"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "t1:c", "delta": "{\"path\":\"README.md\"}"},
        {"type": "TOOL_CALL_END", "toolCallId": "t1:c"},
        {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "t1:c", "role": "tool",
         "content": "{\"success\":true,\"data\":{\"content\":\"hello from the file\\n\",\"size\":20}}"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "n", "delta": "It says **hello**."},
        {"type": "RUN_FINISHED", "threadId": "t1", "runId": "r1", "outcome": {"type": "success"}},
    ]);
    for event in serde_json::from_value::<Vec<agui::Event>>(events).unwrap() {
        let (told, outcome) = conversation.hear(event, NOW);
        for event in told {
            stage.tell(event);
        }
        if let Some(outcome) = outcome {
            stage.tell(conversation.turn_end(outcome));
        }
    }
    stage.settle();
    stage.commands();
}

fn has(stage: &Stage, kind: Kind, name: &str) -> bool {
    stage.harness.query_all_by_role_and_label(kind, name).next().is_some()
}

#[test]
fn a_server_has_its_sessions_under_its_name_and_a_new_one_begins_there() {
    let mut stage = stage();
    assert!(has(&stage, Kind::Heading, "nod.example"));
    stage.harness.get_by_role_and_label(Kind::Button, "New chat on nod.example").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::BeginThread { url: URL.into() }]);
    stage.tell(Conversation::new(URL, "fresh", NOW).opened(String::new(), Vec::new()));
    stage.settle();
    assert!(stage.texts().iter().any(|text| text == "New chat on nod.example"));
    assert!(stage.texts().iter().any(|text| text.contains("It may look into ~/projects/web")));
    assert!(has(&stage, Kind::Button, "Local tools: Connected · web"));
    stage.harness.get_by_role_and_label(Kind::Button, "Refresh the chats on nod.example").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::ListThreads { url: URL.into() }]);
}

#[test]
fn its_cards_and_text_are_those_of_every_session_and_what_only_this_computer_has_is_not_there() {
    let mut stage = stage();
    open(&mut stage);
    assert!(stage.texts().iter().any(|text| text.contains("hello")), "{:?}", stage.texts());
    let card = stage.texts().into_iter().find(|text| text.starts_with("read_file README.md")).expect("a card");
    stage.harness.get_by_role_and_label(Kind::Button, &card).click();
    stage.settle();
    assert!(stage.texts().iter().any(|text| text.contains("hello from the file")), "{:?}", stage.texts());
    for name in ["Model", "Add folder", "Rename"] {
        assert!(!has(&stage, Kind::Button, name), "{name}");
    }
    assert!(has(&stage, Kind::Button, "This chat lives on nod.example"));
    // Regenerate is there, and goes to the server as a branch.
    stage.harness.get_by_role_and_label(Kind::Button, "Answer again").click();
    stage.settle();
    let id = SessionId::on_server(URL, "t1");
    assert!(matches!(&stage.sent()[..], [Command::Regenerate { session, .. }] if *session == id));
}

#[test]
fn deleting_one_asks_first_because_nothing_brings_it_back() {
    let mut stage = stage();
    open(&mut stage);
    let id = SessionId::on_server(URL, "t1");
    stage.harness.state_mut().act(Intent::DeleteSession(id.clone()));
    stage.settle();
    assert!(stage.texts().iter().any(|text| text.contains("Nothing brings it back")));
    stage.harness.get_by_role_and_label(Kind::Button, "Cancel").click();
    stage.settle();
    assert_eq!(stage.sent(), []);
    stage.harness.state_mut().act(Intent::DeleteSession(id.clone()));
    stage.settle();
    stage.harness.get_by_role_and_label(Kind::Button, "Delete").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::DeleteSession(id)]);
}

#[test]
fn one_that_cannot_be_fetched_says_why_and_what_to_do() {
    let mut stage = stage();
    stage.harness.get_by_role_and_label(Kind::ListItem, "What is in README?").click();
    stage.settle();
    stage.commands();
    let session = SessionId::on_server(URL, "t1");
    stage.tell(Event::ThreadUnreached { session: session.clone(), problem: LinkProblem::TokenRefused });
    stage.settle();
    assert!(stage.texts().iter().any(|text| text.contains("cannot be fetched from nod.example")));
    assert!(stage.texts().iter().any(|text| text.contains("Ask its operator for a new one")));
    stage.harness.get_by_role_and_label(Kind::Button, "Try again").click();
    stage.settle();
    assert_eq!(stage.sent(), [Command::OpenSession(session)]);
}

#[test]
fn what_a_search_finds_names_its_server_and_its_day_and_says_a_title_once() {
    let mut stage = stage();
    stage.harness.get_by_label("Search chats").focus();
    stage.settle();
    stage.harness.get_by_label("Search chats").type_text("hi");
    stage.settle();
    let number = stage
        .commands()
        .into_iter()
        .find_map(|command| if let Command::Search { number, .. } = command { Some(number) } else { None })
        .expect("the search was asked for");
    let hit = |session: SessionId, message: Option<&str>, at: i64| SearchHit {
        session,
        title: "hi there".to_owned(),
        message: message.map(MessageId::new),
        snippet: if message.is_some() { "say hi to all".to_owned() } else { "hi there".to_owned() },
        at: UnixMs(at),
    };
    let day = 86_400_000;
    let hits = vec![
        hit(SessionId::new("s"), None, START - day),
        hit(SessionId::on_server(URL, "t1"), None, START - 2 * day),
        hit(SessionId::on_server(URL, "t1"), Some("m9"), START - 3 * day),
    ];
    stage.tell(Event::SearchFound { number, hits });
    stage.settle();
    for row in [
        "hi there, 2026-03-09, In the title of the chat",
        "hi there, 2026-03-08, nod.example, In the title of the chat",
        "hi there, 2026-03-07, nod.example, say hi to all",
    ] {
        assert!(has(&stage, Kind::ListItem, row), "{row:?}: {:?}", stage.texts());
    }
}

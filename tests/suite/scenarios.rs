//! The seed's four scenarios against a loopback server that speaks Ollama's format, through the window's own engine.

use nod::ir::{CallStatus, ErrorCode, MessageStatus};
use nod::port::{Command, Event, TurnOutcome};
use serde_json::{Value, json};

use crate::support::desk::{Desk, Setup};
use crate::support::ollama::{
    OllamaServer, Piece, Reply, calls_line, done_line, done_with_calls_line, text_line, thinking_line,
};

fn desk(server: &OllamaServer) -> Desk {
    Desk::with(Setup::ollama(&server.url()))
}

/// The tool messages of a chat's body, in order.
fn tool_messages(chat: &Value) -> Vec<String> {
    let messages = chat["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

fn final_answer(text: &str) -> Reply {
    Reply::stream([thinking_line("I have it."), text_line(text), done_line("stop")])
}

#[test]
fn scenario_1_review_code_by_listing_and_reading_several_files() {
    let server = OllamaServer::start();
    server.answer(Reply::stream([
        thinking_line("First a look around."),
        calls_line(&[("list_directory", json!({"path": "src"}))]),
        done_line("stop"),
    ]));
    // The calls come on the `done` line alone, and side by side.
    server.answer(Reply::stream([
        text_line("Now both files."),
        done_with_calls_line(&[
            ("read_file", json!({"path": "src/main.rs"})),
            ("read_file", json!({"path": "src/lib.rs"})),
        ]),
    ]));
    server.answer(final_answer("Both are fine."));
    let mut desk = desk(&server);
    desk.write("src/main.rs", "fn main() {}");
    desk.write("src/lib.rs", "pub fn lib() {}");
    desk.say("Review the code");
    let end = desk.turn_end();
    assert_eq!((end.outcome, end.content.as_str(), end.rounds), (TurnOutcome::Done, "Both are fine.", 3));
    let results = tool_messages(&server.last_chat().unwrap());
    assert_eq!(results.len(), 3);
    assert!(results[0].contains("main.rs") && results[0].contains("lib.rs"));
    assert!(results[1].contains("fn main() {}") && results[2].contains("pub fn lib() {}"));
    assert!(!desk.was_asked());
}

#[test]
fn scenario_2_create_a_file() {
    let server = OllamaServer::start();
    server.answer(Reply::stream([
        text_line("I will create it."),
        calls_line(&[("write_file", json!({"path": "hello.py", "content": "print('hello')\n"}))]),
        done_line("stop"),
    ]));
    server.answer(final_answer("Created."));
    let mut desk = desk(&server);
    desk.say("Create hello.py");
    assert_eq!(desk.turn_end_allowing().outcome, TurnOutcome::Done);
    assert_eq!(desk.read("hello.py"), "print('hello')\n");
    assert!(desk.was_asked());
}

#[test]
fn scenario_3_search_and_change() {
    let server = OllamaServer::start();
    let search = json!({"path": ".", "query": "colour", "search_type": "content"});
    server.answer(Reply::stream([calls_line(&[("search_files", search)]), done_line("stop")]));
    server.answer(Reply::stream([calls_line(&[("read_file", json!({"path": "a.txt"}))]), done_line("stop")]));
    let write = json!({"path": "a.txt", "content": "the color of it\n"});
    server.answer(Reply::stream([calls_line(&[("write_file", write)]), done_line("stop")]));
    server.answer(final_answer("Changed one file."));
    let mut desk = desk(&server);
    desk.write("a.txt", "the colour of it\n");
    desk.say("Use American spelling");
    let end = desk.turn_end_allowing();
    assert_eq!((end.outcome, end.rounds), (TurnOutcome::Done, 4));
    assert_eq!(desk.read("a.txt"), "the color of it\n");
}

#[test]
fn scenario_4_a_new_project_of_folders_and_files() {
    let server = OllamaServer::start();
    server.answer(Reply::stream([
        calls_line(&[
            ("create_directory", json!({"path": "site/css"})),
            ("create_directory", json!({"path": "site/js"})),
        ]),
        calls_line(&[("write_file", json!({"path": "site/index.html", "content": "<html></html>"}))]),
        done_with_calls_line(&[
            ("write_file", json!({"path": "site/css/site.css", "content": "body {}"})),
            ("write_file", json!({"path": "site/js/site.js", "content": "1"})),
        ]),
    ]));
    server.answer(final_answer("The site is there."));
    let mut desk = desk(&server);
    desk.say("Make a site");
    assert_eq!(desk.turn_end_allowing().outcome, TurnOutcome::Done);
    assert_eq!(desk.read("site/index.html"), "<html></html>");
    assert_eq!((desk.read("site/css/site.css"), desk.read("site/js/site.js")), ("body {}".into(), "1".into()));
    let statuses: Vec<_> = desk.calls().into_iter().map(|row| row.status).collect();
    assert_eq!(statuses, [CallStatus::Succeeded; 5]);
}

#[test]
fn an_error_in_the_middle_of_a_stream_keeps_what_had_come() {
    let server = OllamaServer::start();
    server.answer(Reply::pieces([
        Piece::line(text_line("Half of it")),
        Piece::line(json!({"error": "model runner has unexpectedly stopped"})),
    ]));
    server.answer(final_answer("The whole of it."));
    let mut desk = desk(&server);
    desk.say("Tell me");
    let end = desk.turn_end();
    assert_eq!((end.outcome, end.rounds), (TurnOutcome::Failed, 1));
    desk.send(Command::OpenSession(desk.session.clone()));
    let opened = desk.until(|event| matches!(event, Event::SessionOpened { .. }));
    let Event::SessionOpened { messages, .. } = opened else { unreachable!() };
    let kept = messages.last().unwrap();
    assert_eq!((kept.status, kept.message.content.as_str()), (MessageStatus::Failed, "Half of it"));
    assert!(kept.error.as_ref().unwrap().message.contains("unexpectedly stopped"));
    desk.send(Command::Continue(desk.session.clone()));
    assert_eq!(desk.turn_end().content, "The whole of it.");
}

#[test]
fn a_server_that_is_not_there_is_said_so() {
    let server = OllamaServer::start();
    let url = server.url();
    drop(server);
    let mut desk = Desk::with(Setup::ollama(&url));
    desk.say("Hello?");
    let end = desk.turn_end();
    assert_eq!(end.outcome, TurnOutcome::Failed);
    let error = end.error.unwrap();
    assert!(matches!(error.code, ErrorCode::NetworkError | ErrorCode::NetworkTimeout), "{error:?}");
}

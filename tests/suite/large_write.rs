//! A write of five megabytes whose only change is its last line, from the model's answer to the file.

use nod::ir::{DiffTag, Preview};
use nod::port::{Answer, ContentFacts, TurnOutcome};
use serde_json::json;

use crate::support::desk::{Desk, Setup};
use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line};

#[test]
fn its_question_holds_the_changed_line_and_its_exact_count_and_hash_and_it_is_written_whole() {
    let body = "0123456789 abcdefghijklmnopqrstuvwxyz\n".repeat(137_000);
    let content = format!("{body}the very end\t \n");
    assert!(content.len() > 5_000_000);
    let server = OllamaServer::start();
    server.answer(Reply::stream([
        calls_line(&[("write_file", json!({"path": "big.txt", "content": content}))]),
        done_line("stop"),
    ]));
    server.answer(Reply::stream([text_line("Done."), done_line("stop")]));
    let mut desk = Desk::with(Setup::ollama(&server.url()));
    desk.write("big.txt", &format!("{body}the old end\n"));
    desk.say("Change the last line");
    let request = desk.asked();
    assert_eq!(request.content, Some(ContentFacts::of(&content)));
    assert_eq!(request.content.as_ref().unwrap().lines, 137_001);
    let Preview::Diff { lines, added, removed, .. } = &request.preview else { panic!("no diff") };
    assert_eq!((added, removed), (&1, &1));
    let changed: Vec<(DiffTag, &str)> = lines
        .iter()
        .filter(|line| matches!(line.tag, DiffTag::Added | DiffTag::Removed))
        .map(|line| (line.tag, line.text.as_str()))
        .collect();
    assert_eq!(changed, [(DiffTag::Removed, "the old end\n"), (DiffTag::Added, "the very end\t \n")]);
    desk.answer(&request, Answer::AllowOnce);
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert_eq!(desk.read("big.txt"), content);
}

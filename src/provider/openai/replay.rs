//! The recorded answers of `tests/fixtures/provider/openai`, read without a network: cut in two at every byte, broken off at
//! every byte, with other line ends. The suite compares the same answers with what is expected of them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::ChatReader;
use super::fault::Subject;
use crate::ir::{ErrorCode, Request, StreamBody, UnixMs};
use crate::provider::answer::Ending;
use crate::provider::reader::Reader as _;
use crate::provider::text_call::Recognition;

const NOW: UnixMs = UnixMs(1);

struct Case {
    name: String,
    request: Request,
    response: Vec<u8>,
    recognition: Recognition,
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/provider/openai");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(folders.len() > 50, "the fixtures are there");
    let case = |folder: PathBuf| {
        let json = |name: &str| -> Option<Value> {
            std::fs::read(folder.join(name)).ok().map(|text| serde_json::from_slice(&text).unwrap())
        };
        let setup = json("setup.json").unwrap_or_default();
        if setup.get("status").is_some() {
            return None;
        }
        let response = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let response = response.into_iter().find(|file| file.file_stem().unwrap() == "response").unwrap();
        Some(Case {
            name: folder.file_name().unwrap().to_string_lossy().into_owned(),
            request: serde_json::from_value(json("request.json").unwrap()).unwrap(),
            response: std::fs::read(response).unwrap(),
            recognition: match setup.get("textCallModels") {
                Some(_) => Recognition::Calls,
                None => Recognition::Copies,
            },
        })
    };
    folders.into_iter().filter_map(case).collect()
}

/// What an answer that comes in these packets gives: all text, all thinking, the calls, the counts, the end.
fn read(case: &Case, packets: &[&[u8]]) -> Value {
    let subject = Subject { provider: "deepseek", has_key: true, model: "m" };
    let mut reader = ChatReader::new(&case.request, subject, case.recognition);
    let mut out = Vec::new();
    let mut outcome = Ok(());
    for packet in packets {
        if outcome.is_ok() && !reader.is_done() {
            outcome = reader.feed(packet, NOW, &mut out);
        }
    }
    if outcome.is_ok() && !reader.is_done() {
        outcome = reader.end_of_body(NOW, &mut out);
    }
    let end = outcome.and_then(|()| reader.finish(NOW, &mut out));
    let (mut text, mut thought, mut calls) = (String::new(), String::new(), Vec::new());
    let mut usage = Value::Null;
    for piece in out {
        match piece {
            StreamBody::TextDelta { delta } => text.push_str(&delta),
            StreamBody::ReasoningDelta { delta } => thought.push_str(&delta),
            StreamBody::ToolCallComplete { tool_call } => calls.push(json!(tool_call)),
            StreamBody::Usage { usage: counted } => usage = json!(counted),
            StreamBody::ToolCallDelta { .. }
            | StreamBody::ThinkingStart
            | StreamBody::ThinkingEnd
            | StreamBody::Error { .. }
            | StreamBody::Done => {}
        }
    }
    let end = match end {
        Ok(Ending { finish_reason, provider_state, .. }) => json!({"reason": finish_reason, "state": provider_state}),
        Err(error) => json!({"error": error.code, "message": error.message}),
    };
    json!({"text": text, "thought": thought, "calls": calls, "usage": usage, "end": end})
}

#[test]
fn every_answer_is_read_the_same_wherever_it_is_cut() {
    for case in cases() {
        let whole = read(&case, &[&case.response]);
        let single: Vec<&[u8]> = case.response.chunks(1).collect();
        assert_eq!(read(&case, &single), whole, "{} byte by byte", case.name);
        for cut in 1..case.response.len() {
            let (first, second) = case.response.split_at(cut);
            assert_eq!(read(&case, &[first, second]), whole, "{} cut at {cut}", case.name);
        }
    }
}

#[test]
fn an_answer_that_breaks_off_is_a_disconnect_until_its_end_was_said() {
    let disconnected = json!(ErrorCode::NetworkError);
    for case in cases() {
        // A page is no answer from its first character on.
        if case.response.starts_with(b"<") {
            continue;
        }
        for end in 0..case.response.len() {
            let begun = &case.response[..end];
            let found = read(&case, &[begun]);
            let text = String::from_utf8_lossy(begun);
            let is_ended = ["[DONE]", "[done]", "\"message\"", "\"error\"", "event: error", "{not json}"]
                .iter()
                .any(|said| text.contains(said))
                || text.split("\"finish_reason\":").skip(1).any(|rest| rest.trim_start().starts_with('"'));
            if !is_ended {
                assert_eq!(found["end"]["error"], disconnected, "{} broken off at {end}: {found}", case.name);
                assert_eq!(found["calls"], json!([]), "{} broken off at {end}", case.name);
            }
        }
    }
}

#[test]
fn line_ends_make_no_difference() {
    for case in cases() {
        if case.response.contains(&b'\r') {
            continue;
        }
        let whole = read(&case, &[&case.response]);
        let text = String::from_utf8(case.response.clone()).unwrap();
        for ending in ["\r\n", "\r"] {
            let other = text.replace('\n', ending);
            assert_eq!(read(&case, &[other.as_bytes()]), whole, "{} with {ending:?}", case.name);
        }
    }
}

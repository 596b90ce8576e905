use serde_json::json;

use super::*;
use crate::ir::Code;

#[test]
fn every_code_has_its_sentence_in_both_languages() {
    for locale in [Locale::English, Locale::Chinese] {
        let lang = Lang::new(locale);
        for code in Code::ALL {
            let key = code_key(code.as_str());
            assert_ne!(lang.text(&key), key, "{locale:?}");
        }
    }
}

use crate::ir::{CallId, CallRecord, SessionId, ToolCall, ToolResult, UnixMs};
use crate::lang::Locale;

const SLICE: usize = 64 * 1024;

fn call(name: &str, result: Option<Value>, preview: Option<Preview>) -> CallView {
    let id = CallId::new("c");
    let result = result.map(|result| ToolResult {
        tool_call_id: id.clone(),
        tool_name: name.to_owned(),
        result,
        summary: None,
        success: true,
        error: None,
        duration_ms: 1,
        timestamp: UnixMs(0),
    });
    let call = ToolCall {
        id,
        name: name.to_owned(),
        args: json!({ "path": "a.rs" }),
        iteration: 1,
        timestamp: UnixMs(0),
        raw_args: None,
        parse_error: None,
        marks: Vec::new(),
    };
    let row = CallRecord::new(call, SessionId::new("s"), None, UnixMs(0));
    let record = CallRecord { status: CallStatus::Succeeded, preview, result, ..row };
    CallView {
        record,
        output: String::new(),
        scanned_files: None,
        chosen_open: Some(true),
        masked: Vec::new(),
        undo: None,
        revision: 1,
    }
}

/// Takes a body in by slices; the most bytes or entries that one took, and how many slices there were.
fn slices(call: &CallView) -> (Body, usize, usize) {
    let lang = Lang::new(Locale::English);
    let mut body = begin(call, &lang, false);
    let (mut most, mut count) = (0, 0);
    while !body.is_complete() {
        most = most.max(body.advance(call, &lang, SLICE));
        count += 1;
    }
    (body, most, count)
}

#[test]
fn five_megabytes_of_a_file_come_in_by_the_slice_and_lose_no_line() {
    let content = "let value = 12345;\n".repeat(5 * 1024 * 1024 / 19);
    let file = call("read_file", Some(json!({ "content": content, "line_range": [1, 2], "size": 5 })), None);
    let (body, most, count) = slices(&file);
    assert_eq!(body.rows.len(), content.lines().count());
    assert!(most <= SLICE + 19, "{most}");
    assert!(count > 80, "{count}");
    assert_eq!(copied(&file, &Lang::new(Locale::English), false), content);
}

#[test]
fn five_megabytes_of_a_change_come_in_by_the_slice() {
    let line = DiffLine { tag: DiffTag::Added, old_line: None, new_line: Some(1), text: "x".repeat(99) + "\n" };
    let lines = vec![line; 52_000];
    let change = call("edit_file", None, Some(Preview::Diff { lines, added: 52_000, removed: 0, notes: vec![] }));
    let (body, most, count) = slices(&change);
    assert_eq!(body.rows.len(), 52_000);
    let text = copied(&change, &Lang::new(Locale::English), false);
    assert_eq!(text.lines().next().map(|line| (line.len(), line.starts_with("+x"))), Some((100, true)));
    assert!(most * 100 <= SLICE + 200 && count > 80, "{most} {count}");
}

#[test]
fn output_comes_whole_with_errors_after_it_and_keeps_its_colour_over_lines() {
    let result = json!({ "stdout": "\u{1b}[31mred\nstill red\u{1b}[0m", "stderr": "bad\n", "exitCode": 1 });
    let (body, _, _) = slices(&call("run_command", Some(result), None));
    assert_eq!(body.rows.plain_text(), "red\nstill red\nbad\n");
    assert_eq!(body.facts, ["exit code 1", "Commands cannot be undone"]);
}

#[test]
fn arguments_of_any_size_are_cut_where_they_are_shown_and_whole_where_they_are_copied() {
    let mut big = call("write_file", None, None);
    big.record.call.args = json!({ "content": "y".repeat(5_000_000), "list": vec![1; 100_000] });
    let lang = Lang::new(Locale::English);
    let mut body = begin(&big, &lang, true);
    body.advance(&big, &lang, usize::MAX);
    assert!(body.rows.plain_text().len() < 100_000);
    assert!(copied(&big, &lang, true).len() > 5_000_000);
}

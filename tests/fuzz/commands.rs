//! A command line: no text makes the judge panic, and no byte of it is lost: what is forbidden is seen before, behind and
//! inside whatever else stands there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nod::policy::{CommandJudgement, judge_command};

fuzz_target!(|text: &str| {
    let judged = judge_command(text);
    match judged {
        CommandJudgement::Parsed => {
            is_seen(&format!("sudo id\n{text}"));
            // Behind a backslash, or in a text that is to follow, the line break is none.
            if !text.ends_with('\\') && !text.contains("<<") {
                is_seen(&format!("{text}\nsudo id"));
            }
        }
        CommandJudgement::Denied { reason } => {
            assert!(!reason.is_empty());
            is_seen(&format!("true\n{text}"));
            is_seen(&format!("{text}\ntrue"));
            // A shell takes what begins so for options of its own.
            if !text.contains('\'') && !text.starts_with(['-', '+']) {
                is_seen(&format!("sh -c '{text}'"));
            }
        }
        CommandJudgement::Unparsed => {}
    }
});

/// Refused, or not understood and so asked: never taken for harmless.
fn is_seen(text: &str) {
    if judge_command(text) == CommandJudgement::Parsed {
        eprintln!("taken for harmless: {text:?}");
        std::process::abort();
    }
}

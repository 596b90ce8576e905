//! Who says yes without a window: `--approve`, or the person at the terminal. Policy denials never come this far.
#![expect(clippy::wildcard_enum_match_arm, reason = "one reason carries a name, the others are sentences")]

use crate::engine::Handle;
use crate::ir::{Access, CommandPreview, Decider, DiffTag, Preview, Tier};
use crate::lang::Arg;
use crate::policy::{self, AskReason};
use crate::port::{Answer, Command, ConfirmRequest};

use super::args::Approve;
use super::console::Console;
use super::exec::send;

/// Answers a question, or leaves it to the window when that is where the person is.
pub(super) fn answer(
    request: &ConfirmRequest,
    approve: Approve,
    engine: &Handle,
    console: &mut Console,
) -> Result<(), String> {
    let allowed = match approve {
        Approve::Never => false,
        Approve::Reads => request.access == Access::Read,
        Approve::Writes => matches!(request.access, Access::Read | Access::Write),
        Approve::All => true,
        Approve::Ask if console.is_handed_over() => return Ok(()),
        Approve::Ask => {
            let Some((answer, decider)) = ask(request, engine, console) else { return Ok(()) };
            return send(engine, Command::Answer { confirm: request.id.clone(), answer, decider }, console);
        }
    };
    let answer = if allowed { Answer::AllowOnce } else { Answer::Deny { reason: String::new() } };
    send(engine, Command::Answer { confirm: request.id.clone(), answer, decider: Decider::Flag }, console)
}

/// Shows the question on the terminal, whole, and waits for a word; `None` when it closed meanwhile.
fn ask(request: &ConfirmRequest, engine: &Handle, console: &mut Console) -> Option<(Answer, Decider)> {
    if !console.can_ask() {
        return Some((Answer::Deny { reason: String::new() }, Decider::Timeout));
    }
    show(request, console);
    let may_tick_network = matches!(&request.preview, Preview::Command(command) if command.tier.is_confined());
    let question = if may_tick_network { "cli-ask-question-command" } else { "cli-ask-question" };
    let question = console.say(question, &[]);
    console.forget_what_was_typed();
    loop {
        let is_open = || engine.is_asked(&request.id);
        let Some(word) = console.ask(&question, is_open) else {
            // The end of the input is no answer; a question that closed by itself needs none.
            return is_open().then(|| (Answer::Deny { reason: String::new() }, Decider::Timeout));
        };
        let (word, rest) = word.split_once(' ').map_or((word.as_str(), ""), |(word, rest)| (word, rest.trim()));
        match (word.to_lowercase().as_str(), rest) {
            ("y" | "yes" | "是" | "允许", "") => return Some((Answer::AllowOnce, Decider::Person)),
            ("net", "") if may_tick_network => return Some((Answer::AllowWithNetwork, Decider::Person)),
            ("n" | "no" | "否" | "拒绝", reason) => {
                return Some((Answer::Deny { reason: reason.to_owned() }, Decider::Person));
            }
            ("s" | "stop" | "停止", "") => return Some((Answer::DenyAndStop, Decider::Person)),
            (_, _) => {}
        }
    }
}

fn show(request: &ConfirmRequest, console: &mut Console) {
    let heading = console.say(
        "cli-ask-heading",
        &[("tool", Arg::from(request.call.name.as_str())), ("target", Arg::from(request.target.as_str()))],
    );
    console.problem(&heading);
    if let Some(link) = &request.via_link {
        let text = console.say("cli-ask-link", &[("link", Arg::from(link.as_str()))]);
        console.problem(&format!("  {text}"));
    }
    let state = state_keys(request).map(|key| console.say(key, &[])).join(" · ");
    console.problem(&format!("  {state}"));
    if !request.model.is_empty() {
        let by = [("model", Arg::from(request.model.as_str())), ("title", Arg::from(request.session_title.as_str()))];
        let text = console.say("confirm-by", &by);
        console.problem(&format!("  {text}"));
    }
    if let Some(server) = &request.server {
        let text = console.say("confirm-server", &[("server", Arg::from(server.as_str()))]);
        console.problem(&format!("  {text}"));
    }
    if request.is_asked_anew {
        let text = console.say("confirm-asked-anew", &[]);
        console.problem(&format!("! {text}"));
    }
    for reason in &request.reasons {
        if let Some(key) = reason_key(reason) {
            let text = match reason {
                AskReason::SuspiciousName { part } => console.say(key, &[("part", Arg::from(part.as_str()))]),
                _ => console.say(key, &[]),
            };
            console.problem(&format!("! {text}"));
        }
    }
    show_preview(&request.preview, console);
    if !request.model_words.trim().is_empty() {
        let text = console.say("confirm-model-says", &[("words", Arg::from(request.model_words.trim()))]);
        console.problem(&format!("  {text}"));
    }
}

fn state_keys(request: &ConfirmRequest) -> [&'static str; 2] {
    let there = match (request.exists, request.unchanged_since_read) {
        (false, _) => "confirm-new",
        (true, Some(true)) => "confirm-unchanged",
        (true, Some(false)) => "confirm-changed",
        (true, None) => "confirm-exists",
    };
    let back = match (request.access, request.undoable) {
        (Access::Delete, true) => "confirm-to-trash",
        (Access::Read | Access::Write | Access::Execute, true) => "confirm-undoable",
        (_, false) => "confirm-not-undoable",
    };
    [there, back]
}

fn reason_key(reason: &AskReason) -> Option<&'static str> {
    match reason {
        // What confines a command is said beside it.
        AskReason::Mode | AskReason::Deletion | AskReason::Command => None,
        AskReason::Server => Some("confirm-reason-server"),
        AskReason::Outside => Some("cli-ask-outside"),
        AskReason::SuspiciousName { .. } => Some("confirm-reason-name"),
        AskReason::HiddenCharacters { .. } => Some("cli-ask-hidden"),
        AskReason::ProtectedWrite => Some("cli-ask-protected"),
        AskReason::HardLink => Some("cli-ask-hard-link"),
        AskReason::OtherMount => Some("cli-ask-other-mount"),
        AskReason::NotUndoable => Some("cli-ask-not-undoable"),
        AskReason::UnparsedCommand => Some("cli-ask-unparsed"),
        AskReason::ChangedRule => Some("confirm-reason-rule"),
    }
}

fn show_preview(preview: &Preview, console: &mut Console) {
    match preview {
        Preview::Nothing => {}
        Preview::NewFile { content } if content.is_empty() => {
            let text = console.say("cli-ask-empty-file", &[]);
            console.problem(&format!("  {text}"));
        }
        Preview::NewFile { content } => {
            for line in content.split_inclusive('\n') {
                console.problem(&format!("  + {}", visible(line)));
            }
        }
        Preview::Diff { lines, added: 0, removed: 0 } if lines.is_empty() => {
            let text = console.say("cli-ask-no-change", &[]);
            console.problem(&format!("  {text}"));
        }
        Preview::Diff { lines, .. } => {
            for line in lines {
                let sign = match line.tag {
                    DiffTag::Context => ' ',
                    DiffTag::Added => '+',
                    DiffTag::Removed => '-',
                    DiffTag::Gap => '…',
                };
                console.problem(&format!("  {sign} {}", visible(&line.text)));
            }
        }
        Preview::Tree { entries, count, bytes, at_least } => {
            for entry in entries {
                let slash = if entry.is_folder { "/" } else { "" };
                console.problem(&format!("  - {}{slash}", entry.path));
            }
            let key = if *at_least { "cli-ask-tree-at-least" } else { "cli-ask-tree" };
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            let args = [("count", Arg::Number(count)), ("bytes", Arg::from(bytes.to_string()))];
            let text = console.say(key, &args);
            console.problem(&format!("  {text}"));
        }
        Preview::Command(command) => {
            for (number, line) in command.command.split('\n').enumerate() {
                console.problem(&format!("  {:>3} {}", number + 1, visible(line)));
            }
            let text = console.say("cli-ask-cwd", &[("cwd", Arg::from(command.cwd.as_str()))]);
            console.problem(&format!("  {text}"));
            show_confinement(command, console);
        }
    }
}

/// How far the command is confined, and what it can do all the same.
fn show_confinement(command: &CommandPreview, console: &mut Console) {
    let key = match command.tier {
        Tier::A => "tier-a",
        Tier::B => "tier-b",
        Tier::Seatbelt => "tier-seatbelt",
        Tier::Unconfined => {
            let text = console.say("cli-ask-unconfined", &[]);
            return console.problem(&format!("! {text}"));
        }
    };
    let text = console.say(key, &[]);
    console.problem(&format!("  {text}"));
    let gaps: Vec<String> =
        command.gaps.iter().filter_map(|leak| leak.text_key()).map(|key| console.say(key, &[])).collect();
    if !gaps.is_empty() {
        let separator = console.say("gap-separator", &[]);
        let text = console.say("tier-gaps", &[("gaps", Arg::from(gaps.join(&separator)))]);
        console.problem(&format!("! {text}"));
    }
}

/// A line with what cannot be seen made visible: its carriage return, and blanks at its end.
fn visible(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let (line, end) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\\r"));
    let body = line.trim_end_matches([' ', '\t']);
    let blanks = line.get(body.len()..).unwrap_or_default().replace(' ', "·").replace('\t', "→");
    format!("{}{blanks}{end}", policy::escape_name(body, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_in_a_line_is_shown() {
        assert_eq!(visible("a\r\n"), "a\\r");
        assert_eq!(visible("a \t\n"), "a·→");
        assert_eq!(visible("a\rb\n"), "a\\rb");
        assert_eq!(visible("\tplain 文\n"), "\tplain 文");
    }
}

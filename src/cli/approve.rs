//! Who says yes without a window: `--approve`, or the person at the terminal. Policy denials never come this far.

use crate::engine::Handle;
use crate::ir::{Access, Decider, DiffTag, Preview};
use crate::lang::Arg;
use crate::policy::AskReason;
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
            let (answer, decider) = ask(request, console);
            return send(engine, Command::Answer { confirm: request.id.clone(), answer, decider }, console);
        }
    };
    let answer = if allowed { Answer::AllowOnce } else { Answer::Deny { reason: String::new() } };
    send(engine, Command::Answer { confirm: request.id.clone(), answer, decider: Decider::Flag }, console)
}

/// Shows the question on the terminal, whole, and waits for a word.
fn ask(request: &ConfirmRequest, console: &mut Console) -> (Answer, Decider) {
    if !console.can_ask() {
        return (Answer::Deny { reason: String::new() }, Decider::Timeout);
    }
    let heading = console.say(
        "cli-ask-heading",
        &[("tool", Arg::from(request.call.name.as_str())), ("target", Arg::from(request.target.as_str()))],
    );
    console.problem(&heading);
    for reason in &request.reasons {
        if let Some(key) = reason_key(reason) {
            let text = console.say(key, &[]);
            console.problem(&text);
        }
    }
    show_preview(&request.preview, console);
    let question = console.say("cli-ask-question", &[]);
    loop {
        let Some(word) = console.ask(&question) else {
            return (Answer::Deny { reason: String::new() }, Decider::Timeout);
        };
        match word.split_once(' ').map_or((word.as_str(), ""), |(word, rest)| (word, rest.trim())) {
            ("y" | "yes" | "是" | "允许", "") => return (Answer::AllowOnce, Decider::Person),
            ("n" | "no" | "否" | "拒绝", reason) => {
                return (Answer::Deny { reason: reason.to_owned() }, Decider::Person);
            }
            ("s" | "stop" | "停止", "") => return (Answer::DenyAndStop, Decider::Person),
            (_, _) => {}
        }
    }
}

fn reason_key(reason: &AskReason) -> Option<&'static str> {
    match reason {
        AskReason::Mode | AskReason::Deletion => None,
        AskReason::Command => Some("cli-ask-unconfined"),
        AskReason::Outside => Some("cli-ask-outside"),
        AskReason::SuspiciousName { .. } => Some("cli-ask-suspicious"),
        AskReason::HiddenCharacters { .. } => Some("cli-ask-hidden"),
        AskReason::ProtectedWrite => Some("cli-ask-protected"),
        AskReason::HardLink => Some("cli-ask-hard-link"),
        AskReason::OtherMount => Some("cli-ask-other-mount"),
        AskReason::UnparsedCommand => Some("cli-ask-unparsed"),
    }
}

fn show_preview(preview: &Preview, console: &mut Console) {
    match preview {
        Preview::Nothing => {}
        Preview::NewFile { content } => {
            for line in content.lines() {
                console.problem(&format!("  + {line}"));
            }
        }
        Preview::Diff { lines, .. } => {
            for line in lines {
                let sign = match line.tag {
                    DiffTag::Context => ' ',
                    DiffTag::Added => '+',
                    DiffTag::Removed => '-',
                    DiffTag::Gap => '…',
                };
                console.problem(&format!("  {sign} {}", line.text.trim_end_matches(['\n', '\r'])));
            }
        }
        Preview::Tree { entries, .. } => {
            for entry in entries {
                console.problem(&format!("  - {}", entry.path));
            }
        }
        Preview::Command(command) => {
            for (number, line) in command.command.split('\n').enumerate() {
                console.problem(&format!("  {:>3} {line}", number + 1));
            }
            console.problem(&format!("  cwd: {}", command.cwd));
        }
    }
}

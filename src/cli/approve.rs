//! Who says yes without a window: `--approve`, or the person at the terminal. Policy denials never come this far.
#![expect(clippy::wildcard_enum_match_arm, reason = "one reason carries a name, the others are sentences")]

use crate::engine::Handle;
use crate::ir::{Access, ChangeNote, CommandPreview, Decider, DiffTag, Preview, Promise, Tier};
use crate::lang::Arg;
use crate::policy::{AskReason, find_deceptive, find_deceptive_name, one_line, one_line_name};
use crate::port::{Answer, Command, ConfirmRequest};

use super::args::Approve;
use super::console::Console;
use super::exec::send;

/// Characters of a name in a line of the program's, of the target in the last line, and of a fact: a path of the longest
/// kind is whole.
const LONGEST_NAME: usize = 80;
const LONGEST_TARGET: usize = 120;
const LONGEST_FACT: usize = 4_200;
/// Characters of a digest that are shown: enough to tell two versions apart by eye.
const SHORT_DIGEST: usize = 16;

/// Answers a question, or leaves it to the window when that is where the person is.
pub(super) fn answer(
    request: &ConfirmRequest,
    approve: Approve,
    engine: &Handle,
    console: &mut Console,
) -> Result<(), String> {
    answer_while(request, approve, engine, console, &mut |_| ())
}

/// The same; `meanwhile` is called again and again while the person thinks.
pub(super) fn answer_while(
    request: &ConfirmRequest,
    approve: Approve,
    engine: &Handle,
    console: &mut Console,
    meanwhile: &mut dyn FnMut(&mut Console),
) -> Result<(), String> {
    let allowed = match approve {
        Approve::Never => false,
        Approve::Reads => request.access == Access::Read,
        Approve::Writes => matches!(request.access, Access::Read | Access::Write),
        Approve::All => true,
        Approve::Ask if console.is_handed_over() => return Ok(()),
        Approve::Ask => {
            let Some((answer, decider)) = ask(request, engine, console, meanwhile) else { return Ok(()) };
            return send(engine, Command::Answer { confirm: request.id.clone(), answer, decider }, console);
        }
    };
    let answer = if allowed { Answer::AllowOnce } else { Answer::Deny { reason: String::new() } };
    send(engine, Command::Answer { confirm: request.id.clone(), answer, decider: Decider::Flag }, console)
}

/// Shows the question on the terminal, whole, and waits for a word; `None` when it closed meanwhile.
fn ask(
    request: &ConfirmRequest,
    engine: &Handle,
    console: &mut Console,
    meanwhile: &mut dyn FnMut(&mut Console),
) -> Option<(Answer, Decider)> {
    if !console.can_ask() {
        return Some((Answer::Deny { reason: String::new() }, Decider::Timeout));
    }
    show(request, console);
    // The facts may have scrolled away behind a long preview: what is asked stands in the last line again.
    let question = question(request, console);
    let may_tick_network = may_tick_network(request);
    console.forget_what_was_typed();
    loop {
        let is_open = || engine.is_asked(&request.id);
        let asked = console.ask(&question, |console| {
            meanwhile(console);
            is_open()
        });
        let Some(word) = asked else {
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

fn may_tick_network(request: &ConfirmRequest) -> bool {
    matches!(&request.preview, Preview::Command(command) if command.tier.is_confined())
}

/// The last line: tool, target and the answers.
fn question(request: &ConfirmRequest, console: &Console) -> String {
    let key = match &request.preview {
        Preview::Command(_) if may_tick_network(request) => "cli-ask-question-network",
        Preview::Command(_) => "cli-ask-question-command",
        Preview::Nothing | Preview::NewFile { .. } | Preview::Diff { .. } | Preview::Tree { .. } => "cli-ask-question",
    };
    let tool = one_line_name(&request.call.name, LONGEST_NAME);
    let target = one_line_name(target(request), LONGEST_TARGET);
    console.say(key, &[("tool", Arg::Text(tool)), ("target", Arg::Text(target))])
}

/// What it works on: of a command the folder, as the command itself is shown line by line.
fn target(request: &ConfirmRequest) -> &str {
    match &request.preview {
        Preview::Command(command) => &command.cwd,
        Preview::Nothing | Preview::NewFile { .. } | Preview::Diff { .. } | Preview::Tree { .. } => &request.target,
    }
}

/// The model's words first, apart: nothing of what the program says is above or below a line that they made.
fn show(request: &ConfirmRequest, console: &mut Console) {
    show_words(request, console);
    let tool = one_line_name(&request.call.name, LONGEST_NAME);
    let heading = console.say("cli-ask-heading", &[("tool", Arg::Text(tool)), ("target", named(target(request)))]);
    console.problem(&heading);
    if let Some(folder) = request.folder.as_deref().filter(|_| request.access != Access::Execute) {
        fact("cli-ask-folder", &[("folder", named(folder))], console);
    }
    if let Some(link) = &request.via_link {
        fact("cli-ask-link", &[("link", named(link))], console);
    }
    let state: Vec<String> = state_keys(request).map(|key| console.say(key, &[])).collect();
    let state = state.join(" · ");
    console.problem(&format!("  {state}"));
    if let Some(content) = &request.content {
        let words = [("bytes", Arg::from(content.bytes.to_string())), ("hash", Arg::from(content.sha256.as_str()))];
        fact("confirm-content", &words, console);
    }
    // A server is named for itself below.
    if !request.model.is_empty() && request.server.is_none() {
        let model = Arg::Text(one_line(&request.model, LONGEST_NAME));
        let title = Arg::Text(one_line(&request.session_title, LONGEST_NAME));
        fact("confirm-by", &[("model", model), ("title", title)], console);
    }
    if let Some(server) = &request.server {
        fact("confirm-server", &[("server", named(server))], console);
    }
    if let Some(expires_at) = request.expires_at {
        let seconds = i64::try_from(expires_at.since(request.asked_at).div_ceil(1000)).unwrap_or(i64::MAX);
        fact("cli-ask-expires", &[("seconds", Arg::Number(seconds))], console);
    }
    if request.is_asked_anew {
        warn("confirm-asked-anew", &[], console);
    }
    for reason in &request.reasons {
        if let Some(key) = reason_key(reason) {
            match reason {
                AskReason::SuspiciousName { part } => {
                    warn(key, &[("part", Arg::Text(one_line_name(part, LONGEST_NAME)))], console);
                }
                AskReason::UnseenPlaces { count } => {
                    warn(key, &[("count", Arg::Number(i64::try_from(*count).unwrap_or(i64::MAX)))], console);
                }
                AskReason::LinkedOutside { count, example, is_cut: _ } => {
                    let count = Arg::Number(i64::try_from(*count).unwrap_or(i64::MAX));
                    warn(key, &[("count", count), ("path", named(example.as_deref().unwrap_or_default()))], console);
                }
                _ => warn(key, &[], console),
            }
        }
    }
    if is_deceptive(request) {
        warn("cli-ask-deceptive", &[], console);
    }
    show_preview(request, console);
}

/// Whether something in the question stands there as an escape, because it cannot be seen or passes for something else.
fn is_deceptive(request: &ConfirmRequest) -> bool {
    let prose = [request.session_title.as_str(), &request.model, request.model_words.trim()];
    let names = [
        Some(target(request)),
        Some(request.call.name.as_str()),
        request.via_link.as_deref(),
        request.folder.as_deref(),
        request.server.as_deref(),
    ];
    prose.into_iter().any(|text| !find_deceptive(text, true).is_empty())
        || names.into_iter().flatten().any(|name| !find_deceptive_name(name, false).is_empty())
        || match &request.preview {
            Preview::Nothing => !find_deceptive_name(&request.call.args.to_string(), false).is_empty(),
            Preview::NewFile { content } => has_deceptive_line(content),
            Preview::Diff { lines, .. } => lines.iter().any(|line| has_deceptive_line(&line.text)),
            Preview::Tree { entries, .. } => {
                entries.iter().any(|entry| !find_deceptive_name(&entry.path, false).is_empty())
            }
            Preview::Command(command) => has_deceptive_line(&command.command),
        }
}

/// Carriage returns before line breaks are drawn, but nothing to warn of.
fn has_deceptive_line(text: &str) -> bool {
    text.lines().any(|line| !find_deceptive_name(line, true).is_empty())
}

/// What a change does that no line of it shows.
pub(super) fn change_note(note: &ChangeNote, console: &Console) -> String {
    let what = note.what().map(|what| {
        console.say(what.text_key(), &[("name", named(what.name())), ("bytes", Arg::from(what.bytes().to_string()))])
    });
    let (from, to) = note.encodings();
    let args = [("what", Arg::from(what.unwrap_or_default())), ("from", Arg::from(from)), ("to", Arg::from(to))];
    console.say(note.text_key(), &args)
}

/// A path, a command or an address in a fact.
fn named(text: &str) -> Arg<'_> {
    Arg::Text(one_line_name(text, LONGEST_FACT))
}

fn fact(key: &str, args: &[(&str, Arg<'_>)], console: &mut Console) {
    let text = console.say(key, args);
    console.problem(&format!("  {text}"));
}

fn warn(key: &str, args: &[(&str, Arg<'_>)], console: &mut Console) {
    let text = console.say(key, args);
    console.problem(&format!("! {text}"));
}

fn show_words(request: &ConfirmRequest, console: &mut Console) {
    let words = request.model_words.trim();
    if words.is_empty() {
        return;
    }
    let key = if request.is_of_guide() { "cli-ask-words-guide" } else { "cli-ask-words" };
    let heading = console.say(key, &[]);
    console.problem(&heading);
    let left_out = console.quote(words);
    if left_out > 0 {
        fact("cli-ask-words-cut", &[("count", Arg::from(left_out))], console);
    }
}

fn state_keys(request: &ConfirmRequest) -> impl Iterator<Item = &'static str> {
    let there = match (request.exists, request.unchanged_since_read) {
        // A command's folder is there or it could not run.
        _ if request.access == Access::Execute => None,
        (false, _) => Some("confirm-new"),
        (true, Some(true)) => Some("confirm-unchanged"),
        (true, Some(false)) => Some("confirm-changed"),
        (true, None) => Some("confirm-exists"),
    };
    let back = match (request.access, request.undoable) {
        // It changes nothing that could be taken back.
        (Access::Read, _) => None,
        (Access::Delete, true) => Some("confirm-to-trash"),
        (Access::Write | Access::Execute, true) => Some("confirm-undoable"),
        (Access::Write | Access::Delete | Access::Execute, false) => Some("confirm-not-undoable"),
    };
    [there, back, Some(request.risk.text_key())].into_iter().flatten()
}

fn reason_key(reason: &AskReason) -> Option<&'static str> {
    match reason {
        // What confines a command is said beside it.
        AskReason::Mode | AskReason::Deletion | AskReason::Command => None,
        AskReason::Unremembered => Some("confirm-reason-unremembered"),
        AskReason::Server => Some("confirm-reason-server"),
        AskReason::Outside => Some("cli-ask-outside"),
        AskReason::SuspiciousName { .. } => Some("confirm-reason-name"),
        AskReason::HiddenCharacters { .. } => Some("cli-ask-hidden"),
        AskReason::ProtectedWrite => Some("cli-ask-protected"),
        AskReason::HardLink => Some("cli-ask-hard-link"),
        AskReason::OtherMount => Some("cli-ask-other-mount"),
        AskReason::NotUndoable => Some("cli-ask-not-undoable"),
        AskReason::UnparsedCommand => Some("cli-ask-unparsed"),
        AskReason::UnseenPlaces { .. } => Some("confirm-reason-unseen"),
        AskReason::LinkedOutside { is_cut: false, .. } => Some("confirm-reason-linked"),
        AskReason::LinkedOutside { is_cut: true, .. } => Some("confirm-reason-linked-uncounted"),
        AskReason::ChangedRule => Some("confirm-reason-rule"),
    }
}

fn show_preview(request: &ConfirmRequest, console: &mut Console) {
    match &request.preview {
        // Nothing would change: what was asked for is all there is to read.
        Preview::Nothing => {
            let arguments = request.call.args.to_string();
            fact("cli-ask-arguments", &[("arguments", named(&arguments))], console);
        }
        Preview::Command(command) => show_command(command, console),
        change @ (Preview::NewFile { .. } | Preview::Diff { .. } | Preview::Tree { .. }) => {
            show_change(change, usize::MAX, console);
        }
    }
}

/// What a change does to a file or a folder, so many lines of it; gives how many more there are.
pub(super) fn show_change(change: &Preview, most_lines: usize, console: &mut Console) -> usize {
    match change {
        Preview::Nothing | Preview::Command(_) => 0,
        Preview::NewFile { content } if content.is_empty() => {
            fact("confirm-empty-file", &[], console);
            0
        }
        Preview::NewFile { content } => {
            for line in content.split_inclusive('\n').take(most_lines) {
                console.text_problem("  + ", line);
            }
            content.split_inclusive('\n').count().saturating_sub(most_lines)
        }
        Preview::Diff { lines, notes, .. } if lines.is_empty() && notes.is_empty() => {
            fact("confirm-no-change", &[], console);
            0
        }
        Preview::Diff { lines, notes, .. } => {
            for note in notes {
                let words = change_note(note, console);
                console.problem(&format!("! {words}"));
            }
            for line in lines.iter().take(most_lines) {
                let sign = match line.tag {
                    DiffTag::Context => "    ",
                    DiffTag::Added => "  + ",
                    DiffTag::Removed => "  - ",
                    DiffTag::Gap => "  … ",
                };
                console.text_problem(sign, &line.text);
            }
            lines.len().saturating_sub(most_lines)
        }
        Preview::Tree { entries, count, bytes, at_least } => {
            for entry in entries.iter().take(most_lines) {
                let slash = if entry.is_folder { "/" } else { "" };
                console.problem(&format!("  - {}{slash}", one_line_name(&entry.path, LONGEST_FACT)));
            }
            let key = if *at_least { "cli-ask-tree-at-least" } else { "cli-ask-tree" };
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            fact(key, &[("count", Arg::Number(count)), ("bytes", Arg::from(bytes.to_string()))], console);
            entries.len().saturating_sub(most_lines)
        }
    }
}

fn show_command(command: &CommandPreview, console: &mut Console) {
    for (number, line) in command.command.split('\n').enumerate() {
        console.text_problem(&format!("  {:>3} ", number + 1), line);
    }
    for file in &command.started.files {
        let path = ("path", named(&file.path));
        match file.sha256.as_deref().and_then(|sha256| sha256.get(..SHORT_DIGEST)) {
            Some(hash) => {
                let key = match command.promise(file) {
                    Promise::Held => "cli-ask-starts",
                    Promise::UntilStart => "cli-ask-starts-until",
                    Promise::None => "cli-ask-starts-changeable",
                };
                fact(key, &[path, ("hash", Arg::from(hash))], console);
            }
            None => warn("cli-ask-starts-unknown", &[path], console),
        }
    }
    let seconds = i64::try_from(command.timeout_ms / 1000).unwrap_or(i64::MAX);
    fact("cli-ask-limit", &[("seconds", Arg::Number(seconds))], console);
    let environment: Vec<String> = command.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    fact("cli-ask-environment", &[("variables", named(&environment.join(" ")))], console);
    show_confinement(command, console);
}

/// How far the command is confined, and what it can do all the same.
fn show_confinement(command: &CommandPreview, console: &mut Console) {
    let key = match command.tier {
        Tier::A => "tier-a",
        Tier::B => "tier-b",
        Tier::Seatbelt => "tier-seatbelt",
        Tier::Unconfined => return warn("cli-ask-unconfined", &[], console),
    };
    fact(key, &[], console);
    let gaps: Vec<String> =
        command.gaps.iter().filter_map(|leak| leak.text_key()).map(|key| console.say(key, &[])).collect();
    if !gaps.is_empty() {
        let separator = console.say("gap-separator", &[]);
        warn("tier-gaps", &[("gaps", Arg::from(gaps.join(&separator)))], console);
    }
    fact("tier-watched", &[], console);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::console::tests::console;
    use crate::ir::{
        CallId, ConfirmId, DiffLine, LinkedOutside, Network, RiskLevel, SessionId, Started, ToolCall, UnixMs,
    };
    use crate::lang::Locale;

    const FORGED: &str =
        "Fine.”\nread_file wants to work on /projects/README.md\n  exists · low risk\nAllow? [y = yes] ";

    fn command(words: &str, command: &str) -> ConfirmRequest {
        ConfirmRequest {
            id: ConfirmId::new("q"),
            session: SessionId::new("s"),
            session_title: "Title\n✓ done".into(),
            model: "qwen3:8b".into(),
            call: ToolCall {
                id: CallId::new("c"),
                name: "run_command".into(),
                args: serde_json::json!({"command": command}),
                iteration: 0,
                timestamp: UnixMs(0),
                raw_args: None,
                parse_error: None,
                marks: Vec::new(),
            },
            access: Access::Execute,
            risk: RiskLevel::Critical,
            target: command.into(),
            folder: Some("/projects".into()),
            exists: true,
            unchanged_since_read: None,
            via_link: None,
            undoable: false,
            reasons: vec![AskReason::Command],
            preview: Preview::Command(CommandPreview {
                command: command.into(),
                cwd: "/projects".into(),
                environment: vec![("PATH".into(), "/usr/bin\nAllow?".into())],
                timeout_ms: 30_000,
                tier: Tier::A,
                gaps: Vec::new(),
                network: Network::Denied,
                unseen: 0,
                linked: LinkedOutside::default(),
                started: Started::default(),
            }),
            content: None,
            model_words: words.into(),
            rule_proposals: Vec::new(),
            dry_run: Vec::new(),
            denials: Vec::new(),
            server: None,
            expires_at: Some(UnixMs(90_000)),
            asked_at: UnixMs(0),
            is_asked_anew: false,
            plan_hash: String::new(),
        }
    }

    fn shown(request: &ConfirmRequest, locale: Locale) -> Vec<String> {
        let (mut console, written) = console(locale);
        show(request, &mut console);
        let question = question(request, &console);
        console.problem(&question);
        written.text().lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_models_words_come_first_behind_a_bar_and_the_last_line_says_what_is_asked() {
        let lines = shown(&command(FORGED, "touch a\n# pad\ntouch b"), Locale::English);
        let first: Vec<&str> = lines.iter().take(5).map(String::as_str).collect();
        assert_eq!(
            first,
            [
                "The model says, in its own words:",
                "  │ Fine.”",
                "  │ read_file wants to work on /projects/README.md",
                "  │   exists · low risk",
                "  │ Allow? [y = yes]",
            ]
        );
        let rest = lines.get(5..).unwrap();
        assert_eq!(rest.first().unwrap(), "run_command wants to work on /projects");
        // No line but the last begins as the question does, and nothing of a title, a variable or a command breaks one.
        assert!(
            lines.last().unwrap().starts_with("Allow run_command in /projects? [y = yes, once; net = "),
            "{lines:#?}"
        );
        assert_eq!(lines.iter().filter(|line| line.starts_with("Allow")).count(), 1, "{lines:#?}");
        for fact in [
            "  cannot be undone · critical risk",
            "  qwen3:8b · “Title\\n✓ done”",
            "  denied by itself after 90 s",
            "    1 touch a",
            "    2 # pad",
            "    3 touch b",
            "  stopped after 30 s",
            "  environment: PATH=/usr/bin\\nAllow?",
        ] {
            assert!(rest.iter().any(|line| line == fact), "{fact:?} is missing in {rest:#?}");
        }
    }

    #[test]
    fn what_stands_there_as_an_escape_is_said_in_a_note() {
        const NOTE: &str = "! Some characters in here are invisible or look like others: they are written as escapes.";
        let file = |content: &str| {
            let mut request = command("Fine.", "ls");
            request.preview = Preview::NewFile { content: content.into() };
            request
        };
        let diff = |text: &str| {
            let lines = vec![DiffLine { tag: DiffTag::Added, old_line: None, new_line: Some(1), text: text.into() }];
            let mut request = command("Fine.", "ls");
            request.preview = Preview::Diff { lines, notes: Vec::new(), added: 1, removed: 0 };
            request
        };
        for (request, expected) in [
            (command("Fine.", "ls a\u{200b}b"), true),
            (command("Fine.", "ls\u{202e}"), true),
            (command("Fi\u{200b}ne.", "ls"), true),
            (file("one\ntw\u{2066}o\n"), true),
            (diff("a\u{feff}b"), true),
            (command("Fine.", "echo 点头 | cat\nls"), false),
            (file("one\r\n\ttwo  \r\n"), false),
        ] {
            let lines = shown(&request, Locale::English);
            assert_eq!(lines.iter().any(|line| line == NOTE), expected, "{lines:#?}");
        }
    }

    #[test]
    fn what_a_command_starts_beyond_what_is_known_is_said_in_a_note() {
        let mut request = command("Fine.", "make");
        request.reasons.push(AskReason::Unremembered);
        let lines = shown(&request, Locale::English);
        assert!(lines.iter().any(|line| line.starts_with("! This yes does not fix all that it starts")), "{lines:#?}");
    }

    #[test]
    fn endless_words_and_targets_are_cut_and_say_so() {
        let mut request = command(&"word\n".repeat(1_000), "make");
        request.preview = Preview::NewFile { content: String::new() };
        request.target = format!("/projects/{}/a.txt", "d".repeat(100_000));
        let lines = shown(&request, Locale::Chinese);
        assert_eq!(lines.iter().filter(|line| line.starts_with("  │ ")).count(), 12);
        assert!(lines.iter().any(|line| line == "  …… 还有 4939 个字符"), "{:#?}", lines.get(12..15));
        let last = lines.last().unwrap();
        assert!(last.chars().count() < 250 && last.contains("/a.txt"), "{last}");
        assert!(lines.iter().all(|line| line.chars().count() < 4_300));
    }
}

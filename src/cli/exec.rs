//! `nod exec`: one turn, seen to its end.
#![expect(clippy::wildcard_enum_match_arm, reason = "a command line shows a part of what happens")]

use std::path::Path;

use serde_json::{Value, json};

use crate::engine::{Handle, Inbox, folder_concern, only_model, provider_ids, tool_definitions};
use crate::ir::{
    CallRecord, CallStatus, Decider, Error, FinishReason, Image, MessageRecord, MessageStatus, Session, SessionId,
    StreamBody, ThinkingLevel, Verdict,
};
use crate::lang::{Arg, Locale};
use crate::policy::{FolderConcern, one_line, one_line_name};
use crate::port::picture::{self, PictureProblem};
use crate::port::{self, Command, Event, Fallback, TurnEnd, TurnOptions, TurnOutcome};

use super::approve;
use super::args::{ExecArgs, GateArgs, Think};
use super::console::Console;
use super::exit::Exit;

/// Characters of a tool's name, its target and what went wrong, in the line of a result.
const LONGEST_NAME: usize = 60;
const LONGEST_TARGET: usize = 160;
const LONGEST_DETAIL: usize = 600;

/// Runs the turn and prints it.
pub(super) fn run(args: &ExecArgs, engine: &Handle, inbox: &Inbox, console: &mut Console) -> Result<Exit, String> {
    let text = match check_gate(&args.gate, args.tools.as_deref(), console).and_then(|()| prompt(args, console)) {
        Ok(text) => text,
        Err(problem) => {
            console.problem(&problem);
            return Ok(Exit::Usage);
        }
    };
    let images = args.image.iter().map(|path| image(path, console)).collect::<Result<Vec<_>, _>>()?;
    let session = session(args, engine, inbox, console)?;
    let providers = provider_ids(&engine.settings());
    if !session.provider.is_empty() && !providers.contains(&session.provider) {
        let args = [("id", Arg::from(session.provider.as_str())), ("known", Arg::from(providers.join(", ")))];
        return Err(console.say("cli-no-provider", &args));
    }
    if session.model.is_empty() {
        return Err(console.say("cli-no-model", &[]));
    }
    let id = session.id.clone();
    let options = TurnOptions {
        is_unstreamed: args.no_stream,
        max_rounds: args.max_rounds,
        timeout_ms: args.timeout_ms,
        tools: args.tools.as_deref().map(tool_names),
        base_url: args.base_url.clone(),
        api_key: args.api_key_env.as_deref().map(|variable| console.key_in(variable)).transpose()?,
        fallback: fallback(args),
        ..gate_options(&args.gate)
    };
    console.stop_on_departure(engine, &id);
    send(engine, Command::RunTurn { session: Box::new(session), text, images, options }, console)?;
    let mut printer = Printer::new(args.json);
    loop {
        let Some(event) = inbox.wait() else { return ended(engine, console) };
        match event {
            Event::ConfirmAsked(request) if request.session == id => {
                printer.break_line(console);
                if args.json {
                    console.data(&json!({"type": "confirm_asked", "request": &*request}).to_string());
                }
                approve::answer(&request, args.gate.approve, engine, console)?;
            }
            Event::TurnEnded(end) if end.session_id == id => {
                printer.end(&end, console);
                return Ok(exit_of(end.outcome));
            }
            other => printer.event(&id, &other, console),
        }
        if console.is_broken() {
            send(engine, Command::Stop(id.clone()), console)?;
        }
    }
}

fn fallback(args: &ExecArgs) -> Option<Fallback> {
    let (provider, model) = (args.fallback_provider.clone()?, args.fallback_model.clone()?);
    Some(Fallback { provider, model, base_url: args.fallback_base_url.clone() })
}

/// The engine ended before the answer: by Ctrl+C, or by itself.
pub(super) fn ended(engine: &Handle, console: &Console) -> Result<Exit, String> {
    if engine.is_quitting() { Ok(Exit::Interrupted) } else { Err(console.say("cli-engine-ended", &[])) }
}

/// What failed outside a turn, in the person's words.
pub(super) fn fault_text(key: &str, args: &[(&'static str, String)], detail: &str, console: &Console) -> String {
    let args: Vec<_> = args.iter().map(|(name, value)| (*name, Arg::from(value.as_str()))).collect();
    let text = console.say(key, &args);
    if detail.is_empty() { text } else { format!("{text} ({detail})") }
}

/// Refuses folders and tools that are not there, before anything is asked of a model; warns of folders that are too wide.
pub(super) fn check_gate(gate: &GateArgs, tools: Option<&str>, console: &mut Console) -> Result<(), String> {
    for folder in folders(gate, console) {
        if !Path::new(&folder).is_dir() {
            return Err(console.say("fault-folder", &[("path", Arg::from(folder))]));
        }
        if let Some(concern) = folder_concern(Path::new(&folder)) {
            let key = match concern {
                FolderConcern::Blocked => "cli-folder-blocked",
                FolderConcern::WholeDisk | FolderConcern::Home | FolderConcern::HoldsBlocked => "cli-folder-wide",
            };
            let text = console.say(key, &[("path", Arg::from(folder))]);
            console.note(&text);
        }
    }
    let known = tool_definitions();
    let named = tools.map(tool_names).unwrap_or_default();
    match named.iter().chain(&gate.enable_tool).find(|name| known.iter().all(|tool| tool.name != **name)) {
        Some(unknown) => Err(console.say("cli-no-such-tool", &[("tool", Arg::from(unknown.as_str()))])),
        None => Ok(()),
    }
}

/// What `--folder`, `--enable-tool` and `--allow-unconfined` mean for a turn or a call.
pub(super) fn gate_options(gate: &GateArgs) -> TurnOptions {
    TurnOptions {
        enabled_tools: gate.enable_tool.clone(),
        allow_unconfined: gate.allow_unconfined,
        ..TurnOptions::default()
    }
}

/// Sends a command; a full queue is a fault that the person is told.
pub(super) fn send(engine: &Handle, command: Command, console: &Console) -> Result<(), String> {
    engine.send(command).map_err(|_full| console.say("cli-engine-busy", &[]))
}

/// The allowed folders, absolute, in the order given.
pub(super) fn folders(gate: &GateArgs, console: &Console) -> Vec<String> {
    gate.folder
        .iter()
        .map(|folder| console.absolute(folder).components().collect::<std::path::PathBuf>().display().to_string())
        .collect()
}

fn prompt(args: &ExecArgs, console: &mut Console) -> Result<String, String> {
    let text = if args.prompt == ["-"] {
        console
            .read_input()
            .map_err(|error| console.say("cli-bad-input", &[("detail", Arg::from(error.to_string()))]))?
    } else {
        args.prompt.join(" ")
    };
    if text.trim().is_empty() { Err(console.say("cli-empty-prompt", &[])) } else { Ok(text) }
}

fn tool_names(list: &str) -> Vec<String> {
    if list == "none" {
        return Vec::new();
    }
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn image(path: &Path, console: &Console) -> Result<Image, String> {
    let fail = |detail: String| {
        console.say("cli-bad-image", &[("path", Arg::from(path.display().to_string())), ("detail", Arg::from(detail))])
    };
    let path = console.absolute(path);
    let found = std::fs::metadata(&path).map_err(|error| fail(error.to_string()))?;
    if !found.is_file() {
        return Err(fail(console.say("cli-not-an-image", &[])));
    }
    let name = path.display().to_string();
    let refused = |problem: PictureProblem| match problem {
        PictureProblem::NotAPicture => fail(console.say("cli-not-an-image", &[])),
        PictureProblem::OtherKind | PictureProblem::TooLarge | PictureProblem::Unreadable => {
            console.say(problem.key(), &[("name", Arg::from(name.as_str()))])
        }
    };
    if found.len() > picture::LARGEST_FILE {
        return Err(refused(PictureProblem::TooLarge));
    }
    let content = std::fs::read(&path).map_err(|error| fail(error.to_string()))?;
    picture::prepare(name.clone(), &content).map(|picture| picture.image).map_err(refused)
}

fn session(args: &ExecArgs, engine: &Handle, inbox: &Inbox, console: &mut Console) -> Result<Session, String> {
    let mut session = match &args.session {
        None => engine.new_session(),
        Some(id) => open(engine, inbox, &SessionId::new(id.as_str()), console)?,
    };
    if !args.gate.folder.is_empty() || args.session.is_none() {
        session.folders = folders(&args.gate, console);
    }
    if let Some(provider) = &args.provider {
        session.provider.clone_from(provider);
        if args.model.is_none() {
            only_model(provider).unwrap_or_default().clone_into(&mut session.model);
        }
    }
    if let Some(model) = &args.model {
        session.model.clone_from(model);
    }
    if let Some(system) = &args.system {
        session.system_prompt = Some(system.clone());
    }
    if let Some(think) = args.think {
        session.thinking = match think {
            Think::Off => ThinkingLevel::Off,
            Think::Low => ThinkingLevel::Low,
            Think::Medium => ThinkingLevel::Medium,
            Think::High => ThinkingLevel::High,
            Think::Max => ThinkingLevel::Max,
        };
    }
    Ok(session)
}

/// Opens a stored session.
pub(super) fn open(engine: &Handle, inbox: &Inbox, id: &SessionId, console: &mut Console) -> Result<Session, String> {
    send(engine, Command::OpenSession(id.clone()), console)?;
    loop {
        match inbox.wait() {
            Some(Event::SessionOpened { session, .. }) if session.id == *id => return Ok(*session),
            Some(Event::Fault { key, args, detail }) => return Err(fault_text(key, &args, &detail, console)),
            Some(Event::Notice { key, args }) => {
                let text = fault_text(key, &args, "", console);
                console.problem(&text);
            }
            Some(_) => {}
            None => return Err(console.say("cli-engine-ended", &[])),
        }
    }
}

/// Prints a turn as it goes: the answer on standard output, the rest beside it; or everything as JSON Lines.
struct Printer {
    is_json: bool,
    /// Whether the cursor stands behind answer text.
    is_mid_line: bool,
}

impl Printer {
    fn new(is_json: bool) -> Self {
        Self { is_json, is_mid_line: false }
    }

    fn event(&mut self, session: &SessionId, event: &Event, console: &mut Console) {
        if self.is_json {
            if let Some(line) = json_line(session, event) {
                console.data(&line.to_string());
            }
        } else {
            self.human(session, event, console);
        }
    }

    fn human(&mut self, id: &SessionId, event: &Event, console: &mut Console) {
        match event {
            Event::Streamed { session, event, .. } if session == id => {
                if let StreamBody::TextDelta { delta } = &event.body {
                    console.answer(delta);
                    self.is_mid_line = !delta.ends_with('\n');
                }
            }
            Event::CallChanged(call) if call.session == *id => {
                if let Some(line) = call_line(call, console) {
                    self.break_line(console);
                    console.note(&line);
                }
            }
            Event::CallOutput { session, text, .. } if session == id => {
                self.break_line(console);
                console.output(text);
            }
            Event::Retrying { session, attempt, wait_ms, error } if session == id => {
                self.break_line(console);
                let seconds = i64::try_from(wait_ms.div_ceil(1000)).unwrap_or(i64::MAX);
                let text = console.say(
                    "cli-retrying",
                    &[
                        ("attempt", Arg::from(i64::from(*attempt))),
                        ("seconds", Arg::from(seconds)),
                        ("detail", Arg::from(error_text(error, console))),
                    ],
                );
                console.note(&text);
            }
            Event::HistoryShortened { session, left_out } if session == id => {
                self.break_line(console);
                console.note(&console.say("cli-shortened", &[("count", Arg::from(*left_out))]));
            }
            Event::ProviderSwitched { session, from, to, error } if session == id => {
                self.break_line(console);
                let text = console.say(
                    "cli-switched",
                    &[
                        ("from", Arg::from(from.as_str())),
                        ("to", Arg::from(to.as_str())),
                        ("detail", Arg::from(error_text(error, console))),
                    ],
                );
                console.note(&text);
            }
            Event::MessageChanged(record) if record.session == *id && was_cut(record) => {
                self.break_line(console);
                let text = console.say("cli-cut-off", &[]);
                console.problem(&text);
            }
            Event::Notice { key, args } => {
                self.break_line(console);
                let text = fault_text(key, args, "", console);
                console.problem(&text);
            }
            Event::Fault { key, args, detail } => {
                self.break_line(console);
                let text = fault_text(key, args, detail, console);
                console.problem(&text);
            }
            _ => {}
        }
    }

    fn end(&mut self, end: &TurnEnd, console: &mut Console) {
        if self.is_json {
            let mut line = serde_json::to_value(end).unwrap_or(Value::Null);
            if let Value::Object(fields) = &mut line {
                fields.insert("type".into(), "turn_end".into());
            }
            console.data(&line.to_string());
            return;
        }
        self.break_line(console);
        if let Some(error) = &end.error {
            let text = error_text(error, console);
            console.problem(&text);
        } else if end.outcome == TurnOutcome::Done && end.content.trim().is_empty() {
            let text = console.say("cli-empty-answer", &[]);
            console.problem(&text);
        }
        let key = match end.outcome {
            TurnOutcome::Done | TurnOutcome::Failed => None,
            TurnOutcome::Denied => Some("cli-turn-denied"),
            TurnOutcome::Stopped => Some("cli-turn-stopped"),
            TurnOutcome::Limit => Some("cli-turn-limit"),
        };
        if let Some(key) = key {
            let text = console.say(key, &[("session", Arg::from(end.session_id.as_str()))]);
            console.problem(&text);
        }
    }

    fn break_line(&mut self, console: &mut Console) {
        if self.is_mid_line {
            console.answer("\n");
            self.is_mid_line = false;
        }
    }
}

/// The machine-readable form of an event of this session; `None` for what the format does not carry.
fn json_line(id: &SessionId, event: &Event) -> Option<Value> {
    match event {
        Event::Streamed { session, event, .. } if session == id => serde_json::to_value(event).ok(),
        Event::StateChanged { session, state } if session == id => Some(json!({"type": "state", "state": state})),
        Event::CallChanged(call) if call.session == *id => {
            let result = call.result.as_ref()?;
            let (verdict, decider): (Option<Verdict>, Option<Decider>) = (call.verdict, call.decider);
            Some(json!({"type": "tool_result", "toolResult": result, "verdict": verdict, "decider": decider}))
        }
        Event::ProviderSwitched { session, from, to, error } if session == id => {
            Some(json!({"type": "provider_switched", "from": from, "to": to, "reason": error.message}))
        }
        Event::HistoryShortened { session, left_out } if session == id => {
            Some(json!({"type": "history_shortened", "leftOut": left_out}))
        }
        Event::Retrying { session, attempt, wait_ms, error } if session == id => {
            Some(json!({"type": "retrying", "attempt": attempt, "waitMs": wait_ms, "error": error}))
        }
        _ => None,
    }
}

/// Whether an answer ended because it had reached its longest.
fn was_cut(record: &MessageRecord) -> bool {
    record.status == MessageStatus::Complete
        && record.answer.as_ref().is_some_and(|answer| answer.finish_reason == FinishReason::Length)
}

/// An error in the person's language. Its own message is English and says more than the text for its kind.
fn error_text(error: &Error, console: &Console) -> String {
    if console.lang.locale() == Locale::English {
        return error.message.clone();
    }
    let (key, args) = port::error_text(error);
    let args: Vec<_> = args.iter().map(|(name, value)| (*name, Arg::from(value.as_str()))).collect();
    format!("{} ({})", console.say(key, &args), error.message)
}

fn call_line(call: &CallRecord, console: &Console) -> Option<String> {
    let key = match call.status {
        CallStatus::Pending | CallStatus::Waiting | CallStatus::Running => return None,
        CallStatus::Succeeded => "cli-call-succeeded",
        CallStatus::Failed => "cli-call-failed",
        CallStatus::Denied => "cli-call-denied",
        CallStatus::Cancelled => "cli-call-cancelled",
        CallStatus::Unknown => "cli-call-unknown",
    };
    let tool = one_line_name(&call.call.name, LONGEST_NAME);
    let target = one_line_name(call.target.as_deref().unwrap_or_default(), LONGEST_TARGET);
    let detail = call.result.as_ref().and_then(|result| result.error.as_deref()).unwrap_or_default();
    let detail = one_line(detail, LONGEST_DETAIL);
    let args = [("tool", Arg::Text(tool)), ("target", Arg::Text(target)), ("detail", Arg::Text(detail))];
    Some(console.say(key, &args))
}

fn exit_of(outcome: TurnOutcome) -> Exit {
    match outcome {
        TurnOutcome::Done => Exit::Done,
        TurnOutcome::Failed => Exit::Failed,
        TurnOutcome::Denied | TurnOutcome::Limit => Exit::Denied,
        TurnOutcome::Stopped => Exit::Interrupted,
    }
}

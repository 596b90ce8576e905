//! `nod tool`: one call through the gate.
#![expect(clippy::wildcard_enum_match_arm, reason = "a command line shows a part of what happens")]

use serde_json::Value;

use crate::engine::{Handle, Inbox};
use crate::ir::{Code, SessionId, ToolCall};
use crate::lang::Arg;
use crate::port::{Command, Event};

use super::approve;
use super::args::ToolArgs;
use super::console::Console;
use super::exec::{check_gate, ended, fault_text, folders, gate_options, send};
use super::exit::Exit;

/// The session in which calls of the command line are recorded.
const COMMAND_LINE: &str = "ses_command_line";

/// Runs the call and prints its result object on one line.
pub(super) fn run(args: &ToolArgs, engine: &Handle, inbox: &Inbox, console: &mut Console) -> Result<Exit, String> {
    let raw = if args.arguments == "-" {
        console
            .read_input()
            .map_err(|error| console.say("cli-bad-input", &[("detail", Arg::from(error.to_string()))]))?
    } else {
        args.arguments.clone()
    };
    if let Err(problem) = check_gate(&args.gate, None, console) {
        console.problem(&problem);
        return Ok(Exit::Usage);
    }
    // All calls of the command line are recorded in one session of that name; beside a window, where several may run at
    // once, in one each.
    let mut session = engine.new_session();
    if !console.is_handed_over() {
        session.id = SessionId::new(COMMAND_LINE);
    }
    session.title = console.say("cli-command-line", &[]);
    session.folders = folders(&args.gate, console);
    let call = ToolCall {
        id: engine.new_call_id(),
        name: args.name.clone(),
        args: Value::Null,
        iteration: 0,
        timestamp: session.created_at,
        raw_args: Some(raw),
        parse_error: None,
        marks: Vec::new(),
    };
    let id = call.id.clone();
    let session_id = session.id.clone();
    console.stop_on_departure(engine, &session_id);
    let options = gate_options(&args.gate);
    send(engine, Command::RunTool { session: Box::new(session), call, options }, console)?;
    loop {
        let Some(event) = inbox.wait() else { return ended(engine, console) };
        match event {
            Event::ConfirmAsked(request) if request.session == session_id => {
                approve::answer(&request, args.gate.approve, engine, console)?;
            }
            Event::CallOutput { session, text, .. } if session == session_id => {
                console.output(&text);
            }
            Event::ToolEnded { call, result, .. } if call.call.id == id => {
                console.data(&result.result.to_string());
                return Ok(exit_of(result.success, result.code()));
            }
            Event::Notice { key, args } => {
                let text = fault_text(key, &args, "", console);
                console.problem(&text);
            }
            Event::Fault { key, args, detail } => return Err(fault_text(key, &args, &detail, console)),
            _ => {}
        }
    }
}

/// 3 when a yes was missing, 130 when the person stopped it, 1 for every other refusal and failure.
fn exit_of(is_success: bool, code: Option<&str>) -> Exit {
    if is_success {
        Exit::Done
    } else if code == Some(Code::ConfirmationRejected.as_str()) {
        Exit::Denied
    } else if code == Some(Code::Cancelled.as_str()) {
        Exit::Interrupted
    } else {
        Exit::Failed
    }
}

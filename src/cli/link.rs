//! `nod link`: the device link without a window, until it is interrupted.
#![expect(clippy::wildcard_enum_match_arm, reason = "a command line shows a part of what happens")]

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::engine::{Handle, Inbox, link_address};
use crate::ir::{LinkCall, LinkCallState, LinkProblem, LinkState, LinkView};
use crate::lang::Arg;
use crate::port::{Command, ConfirmRequest, Event};

use super::approve;
use super::args::{Approve, LinkArgs, LinkConfirm};
use super::console::Console;
use super::exec::{ended, fault_text, send};
use super::exit::Exit;

/// Connects and stays connected; prints each change of the connection and each call.
pub(super) fn run(args: &LinkArgs, engine: &Handle, inbox: &Inbox, console: &mut Console) -> Result<Exit, String> {
    let url = match link_address(&args.server) {
        Ok(url) => url,
        Err(detail) => {
            let text = console.say("fault-link-address", &[("url", Arg::from(args.server.as_str()))]);
            console.problem(&format!("{text} ({detail})"));
            return Ok(Exit::Usage);
        }
    };
    let token = console.key_in(&args.token_env)?;
    let workspace = console.absolute(&args.workspace);
    console.send_on_departure(engine, Command::StopLink { url: url.clone() });
    send(engine, Command::RunLink { url: url.clone(), workspace, token }, console)?;
    let approve = match args.confirm {
        LinkConfirm::Ask => Approve::Ask,
        LinkConfirm::Allow => Approve::Reads,
        LinkConfirm::Deny => Approve::Never,
    };
    let mut watch = Watch { url, is_json: args.json, shown: None, questions: VecDeque::new() };
    loop {
        if let Some(request) = watch.questions.pop_front() {
            // One that closed by itself needs no answer.
            if !engine.is_asked(&request.id) {
                continue;
            }
            let mut over = None;
            // The connection goes on while the person thinks, and so does what is said of it.
            let mut meanwhile = |console: &mut Console| {
                while over.is_none()
                    && let Some(event) = inbox.try_recv()
                {
                    over = watch.take(event, console).transpose();
                }
            };
            approve::answer_while(&request, approve, engine, console, &mut meanwhile)?;
            if let Some(over) = over {
                return over;
            }
            continue;
        }
        let Some(event) = inbox.wait() else { return ended(engine, console) };
        if let Some(exit) = watch.take(event, console)? {
            return Ok(exit);
        }
    }
}

/// What is followed of one connection.
struct Watch {
    url: String,
    is_json: bool,
    shown: Option<LinkState>,
    /// Questions that were not put to the person yet.
    questions: VecDeque<ConfirmRequest>,
}

impl Watch {
    /// Says what happened; the exit when there is nothing more to follow.
    fn take(&mut self, event: Event, console: &mut Console) -> Result<Option<Exit>, String> {
        match event {
            Event::LinksChanged { device_id, links } => {
                match links.into_iter().find(|link| link.server.url == self.url) {
                    Some(link) if self.shown.as_ref() != Some(&link.state) => {
                        show_state(&link, &device_id, self.is_json, console);
                        self.shown = Some(link.state);
                    }
                    // It was ended from elsewhere.
                    None if self.shown.is_some() => return Ok(Some(Exit::Done)),
                    Some(_) | None => {}
                }
            }
            Event::LinkCallChanged { url, call } if url == self.url => show_call(&call, self.is_json, console),
            Event::ConfirmAsked(request) if request.server.as_ref() == Some(&self.url) => {
                self.questions.push_back(*request);
            }
            Event::Notice { key, args } => {
                let args: Vec<_> = args.iter().map(|(name, value)| (*name, Arg::from(value.as_str()))).collect();
                let text = console.say(key, &args);
                console.note(&text);
            }
            // Without a connection there is nothing to stay for.
            Event::Fault { key, args, detail } if self.shown.is_none() => {
                return Err(fault_text(key, &args, &detail, console));
            }
            Event::Fault { key, args, detail } => {
                let text = fault_text(key, &args, &detail, console);
                console.problem(&text);
            }
            _ => {}
        }
        Ok(None)
    }
}

fn show_state(link: &LinkView, device_id: &str, is_json: bool, console: &mut Console) {
    if is_json {
        let mut line = json!({
            "type": "link", "server": link.server.url, "workspace": link.server.workspace, "deviceId": device_id,
        });
        if let (Some(line), Ok(Value::Object(state))) = (line.as_object_mut(), serde_json::to_value(&link.state)) {
            line.extend(state);
        }
        console.data(&line.to_string());
        return;
    }
    let workspace = [("workspace", Arg::from(link.server.workspace.as_str()))];
    let state = console.say(state_key(&link.state), &workspace);
    let text = match link.state.problem().map(LinkProblem::text) {
        None => state,
        Some((key, "")) => format!("{state}: {}", console.say(key, &[])),
        Some((key, detail)) => format!("{state}: {} ({detail})", console.say(key, &[])),
    };
    console.note(&text);
}

fn show_call(call: &LinkCall, is_json: bool, console: &mut Console) {
    if is_json {
        let mut line = json!({"type": "call"});
        if let (Some(line), Ok(Value::Object(call))) = (line.as_object_mut(), serde_json::to_value(call)) {
            line.extend(call);
        }
        console.data(&line.to_string());
    } else if call.state.is_over() || call.state == LinkCallState::Running {
        let state = console.say(call.state.text_key(), &[]);
        let code = call.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
        console.note(&format!("{} {} · {state}{code}", call.tool, call.path));
    }
}

/// The key of a connection's state.
const fn state_key(state: &LinkState) -> &'static str {
    match state {
        LinkState::Paused => "link-state-paused",
        LinkState::Connecting => "link-state-connecting",
        LinkState::Connected => "link-state-connected",
        LinkState::Waiting { .. } => "link-state-waiting",
        LinkState::Replaced => "link-state-replaced",
        LinkState::Stopped { .. } => "link-state-stopped",
    }
}

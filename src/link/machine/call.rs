//! A server's calls: from the request over checks and record to the result.

use jiff::Timestamp;
use serde_json::Value;

use crate::ir::{Admission, LinkCall, LinkCallState, LinkEnd, UnixMs, UptimeMs, strict_json};
use crate::link::wire::{
    CallError, CallRequest, CallResult, FromDesktop, MAX_FRAME_BYTES, ResultStatus, arguments_hash,
};

use super::refusal::sentence;
use super::{CallNumber, Effect, LONGEST_ID, MOST_CALLS, MOST_EARLY, Machine, Now, Passage, Refused, unfit};

/// Room that a frame needs beside its output, in bytes.
const FRAME_ROOM: usize = 4_096;

/// A call under way.
#[derive(Debug)]
pub(super) struct Call {
    tool_call_id: String,
    execution_id: String,
    arguments_hash: String,
    tool: String,
    path: String,
    at: UnixMs,
    until: UptimeMs,
    stage: Stage,
    /// Why it is cancelled, if it is: a stable code.
    cancelled: Option<&'static str>,
}

/// The server took it back.
const BY_SERVER: &str = "CANCELLED_BY_SERVER";
/// The person ended the connection.
const BY_PERSON: &str = "CANCELLED";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// At the gate's schema and path.
    Checking,
    /// On its way into the record.
    Reserving,
    /// In the record: waiting for the person, or running.
    Running,
}

impl Call {
    /// As it is shown once it has its place. Nothing of it has left.
    fn shown(&self, state: LinkCallState, code: Option<String>) -> LinkCall {
        LinkCall {
            tool_call_id: self.tool_call_id.clone(),
            is_recorded: true,
            tool: self.tool.clone(),
            path: self.path.clone(),
            state,
            code,
            sent_bytes: 0,
            at: self.at,
        }
    }

    /// The refusal of one that has no place: nothing happened, and the same would happen again.
    fn refused(self, code: &str) -> Refused {
        let end = LinkEnd { state: LinkCallState::Rejected, output: None, error: Some(error_of(code)), duration_ms: 0 };
        let shown = self.shown(LinkCallState::Rejected, Some(code.to_owned()));
        Refused {
            result: result_of(&self.tool_call_id, &self.execution_id, &end),
            arguments_hash: self.arguments_hash,
            shown: LinkCall { is_recorded: false, ..shown },
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.tool_call_id == other.tool_call_id
            && self.tool == other.tool
            && self.arguments_hash == other.arguments_hash
    }
}

impl Machine {
    /// Checks 1 to 3, as far as they need no disk and no schema.
    pub(super) fn request(
        &mut self,
        now: Now,
        request: Box<CallRequest>,
        text: &str,
        event_id: String,
        todo: &mut Vec<Effect>,
    ) {
        let ids = [&request.tool_call_id, &request.execution_id, &request.tool_name];
        if ids.iter().any(|id| id.is_empty() || id.len() > LONGEST_ID) {
            self.say(unfit(event_id, "a name is empty or too long"), todo);
            return;
        }
        let ahead_ms = self.line.as_ref().map_or(0, |line| line.ahead_ms);
        let Ok(expires_at) = request.expires_at.parse::<Timestamp>() else {
            self.say(unfit(event_id, "`expires_at` is no RFC 3339 time"), todo);
            return;
        };
        let until_ms = expires_at.as_millisecond().saturating_sub(ahead_ms);
        let until = UptimeMs(u64::try_from(until_ms).unwrap_or(0));
        let hash = arguments_hash(&request.arguments).ok();
        let call = Call {
            tool_call_id: request.tool_call_id.clone(),
            execution_id: request.execution_id.clone(),
            arguments_hash: hash.clone().unwrap_or_default(),
            tool: request.tool_name.clone(),
            path: request
                .arguments
                .get("path")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .chars()
                .take(1024)
                .collect(),
            at: now.clock,
            until,
            stage: Stage::Checking,
            cancelled: None,
        };
        let is_offered = |tool: &crate::link::wire::OfferedTool| {
            tool.name == request.tool_name && tool.version == request.tool_version
        };
        let refusal = if request.device_id != self.who.device_id {
            Some("DEVICE_MISMATCH")
        } else if !self.offered.iter().any(is_offered) {
            Some("TOOL_NOT_AVAILABLE")
        // A name that stands twice in an object: what was shown might not be what runs.
        } else if hash.as_ref() != Some(&request.arguments_hash) || strict_json(text).is_err() {
            Some("INVALID_ARGUMENTS")
        } else {
            None
        };
        if let Some(code) = refusal {
            self.answer_refused(call.refused(code), todo);
            return;
        }
        if self.calls.len() >= MOST_CALLS || !self.pace.take(now.uptime) {
            self.refuse(call, "RATE_LIMITED", todo);
            return;
        }
        self.last_number += 1;
        let number = self.last_number;
        self.calls.insert(number, call);
        todo.push(Effect::Examine { number, request, until });
    }

    /// Check 5, and on to 6.
    pub(super) fn examined(&mut self, now: UptimeMs, number: CallNumber, todo: &mut Vec<Effect>) {
        let Some(call) = self.calls.get_mut(&number) else {
            todo.push(Effect::Decide { number, passage: Passage::Known });
            return;
        };
        if now > call.until {
            if let Some(call) = self.dismiss(number, Passage::Expired, todo) {
                self.refuse(call, "REQUEST_EXPIRED", todo);
            }
            return;
        }
        call.stage = Stage::Reserving;
        todo.push(Effect::Reserve {
            number,
            tool_call_id: call.tool_call_id.clone(),
            execution_id: call.execution_id.clone(),
            arguments_hash: call.arguments_hash.clone(),
            tool: call.tool.clone(),
            path: call.path.clone(),
        });
    }

    /// What check 6 found.
    pub(super) fn reserved(&mut self, number: CallNumber, admission: Option<Admission>, todo: &mut Vec<Effect>) {
        let passage = match admission {
            Some(Admission::Fresh) => {
                let Some(call) = self.calls.get_mut(&number) else { return };
                call.stage = Stage::Running;
                if self.early.contains(&call.tool_call_id) {
                    self.early.retain(|id| *id != call.tool_call_id);
                    call.cancelled = Some(BY_SERVER);
                }
                if call.cancelled.is_none() {
                    todo.push(Effect::Show(call.shown(LinkCallState::Running, None)));
                    todo.push(Effect::Decide { number, passage: Passage::GoOn });
                    return;
                }
                Passage::Cancelled
            }
            Some(Admission::Running | Admission::Finished) => Passage::Known,
            Some(Admission::Conflict) => Passage::Conflict,
            Some(Admission::Full) | None => Passage::Unrecorded,
        };
        let Some(call) = self.dismiss(number, passage, todo) else { return };
        match (passage, admission) {
            (Passage::Cancelled, _) => {
                let end = LinkEnd { state: LinkCallState::Cancelled, output: None, error: None, duration_ms: 0 };
                keep(&call, end, todo);
            }
            (Passage::Known, Some(Admission::Finished)) => {
                let Call { tool_call_id, execution_id, .. } = call;
                todo.push(Effect::LoadKept { tool_call_id, execution_id });
            }
            (Passage::Known, _) => {
                // The one that runs answers this dispatch too.
                let is_it = |running: &&mut Call| running.stage == Stage::Running && running.is_same(&call);
                if let Some(running) = self.calls.values_mut().find(is_it) {
                    running.execution_id = call.execution_id;
                }
            }
            (Passage::Conflict, _) => self.answer_refused(call.refused("IDEMPOTENCY_CONFLICT"), todo),
            (Passage::GoOn | Passage::Expired | Passage::Unrecorded, Some(Admission::Full)) => {
                self.refuse(call, "RATE_LIMITED", todo);
            }
            (Passage::GoOn | Passage::Expired | Passage::Unrecorded, _) => self.refuse(call, "IO_ERROR", todo),
        }
    }

    /// The gate is through: refused by its checks, or over.
    pub(super) fn ended(&mut self, number: CallNumber, end: LinkEnd, todo: &mut Vec<Effect>) {
        let Some(call) = self.calls.remove(&number) else { return };
        match call.stage {
            Stage::Checking => {
                let code = end.error.map_or_else(|| "IO_ERROR".to_owned(), |(code, _)| code);
                self.refuse(call, &code, todo);
            }
            Stage::Reserving | Stage::Running => keep(&call, end, todo),
        }
    }

    /// Stops a call that runs. One that has no place yet never gets to run: that is applied when its place is taken.
    pub(super) fn cancel(&mut self, tool_call_id: String, todo: &mut Vec<Effect>) {
        let is_running = |call: &Call| call.tool_call_id == tool_call_id && call.stage == Stage::Running;
        if let Some((number, call)) = self.calls.iter_mut().find(|(_, call)| is_running(call)) {
            call.cancelled = Some(BY_SERVER);
            todo.push(Effect::Cancel { number: *number });
        } else if tool_call_id.len() <= LONGEST_ID && !self.early.contains(&tool_call_id) {
            if self.early.len() >= MOST_EARLY {
                self.early.pop_front();
            }
            self.early.push_back(tool_call_id);
        }
    }

    /// A new line: what was cancelled on the last one and has not come cannot come any more, and what has come stays
    /// cancelled.
    pub(super) fn forget_early(&mut self) {
        for call in self.calls.values_mut().filter(|call| self.early.contains(&call.tool_call_id)) {
            call.cancelled = call.cancelled.or(Some(BY_SERVER));
        }
        self.early.clear();
    }

    pub(super) fn cancel_all(&mut self, todo: &mut Vec<Effect>) {
        for (number, call) in &mut self.calls {
            call.cancelled = Some(BY_PERSON);
            todo.push(Effect::Cancel { number: *number });
        }
    }

    /// Sends a result, if the server listens. Else it waits in the record.
    pub(super) fn send_result(&mut self, result: CallResult, todo: &mut Vec<Effect>) {
        if !self.is_welcome() {
            return;
        }
        let (result, bytes) = fitting(result);
        let tool_call_id = result.tool_call_id.clone();
        let Some(text) = self.written(FromDesktop::Result(result)) else { return };
        todo.push(match bytes {
            0 => Effect::Send(text),
            bytes => Effect::SendContent { text, tool_call_id, bytes },
        });
    }

    /// Lets the gate go, and the call with it.
    fn dismiss(&mut self, number: CallNumber, passage: Passage, todo: &mut Vec<Effect>) -> Option<Call> {
        todo.push(Effect::Decide { number, passage });
        self.calls.remove(&number)
    }

    /// Refuses a call, unless it is a repeat of one that is under way or in the record: that one answers.
    fn refuse(&mut self, call: Call, code: &str, todo: &mut Vec<Effect>) {
        if !self.calls.values().any(|other| other.is_same(&call)) {
            todo.push(Effect::LookUp(Box::new(call.refused(code))));
        }
    }

    /// Answers a call that has no place.
    pub(super) fn answer_refused(&mut self, Refused { result, shown, .. }: Refused, todo: &mut Vec<Effect>) {
        self.send_result(result, todo);
        todo.push(Effect::Show(shown));
    }
}

/// The end of a call that has its place: kept first, then sent.
fn keep(call: &Call, mut end: LinkEnd, todo: &mut Vec<Effect>) {
    if end.state == LinkCallState::Cancelled {
        end.error = Some(error_of(call.cancelled.unwrap_or(BY_PERSON)));
    }
    let result = result_of(&call.tool_call_id, &call.execution_id, &end);
    let code = end.error.as_ref().map(|(code, _)| code.clone());
    todo.push(Effect::Show(call.shown(end.state, code)));
    todo.push(Effect::Keep { result, end });
}

/// A kept end as it is sent.
pub fn result_of(tool_call_id: &str, execution_id: &str, end: &LinkEnd) -> CallResult {
    let status = match end.state {
        LinkCallState::Succeeded => ResultStatus::Succeeded,
        LinkCallState::Failed => ResultStatus::Failed,
        LinkCallState::Rejected => ResultStatus::Rejected,
        LinkCallState::Cancelled => ResultStatus::Cancelled,
        LinkCallState::TimedOut => ResultStatus::TimedOut,
        LinkCallState::Unknown | LinkCallState::Running => ResultStatus::Unknown,
    };
    CallResult {
        tool_call_id: tool_call_id.to_owned(),
        execution_id: execution_id.to_owned(),
        status,
        output: end.output.clone(),
        error: end.error.clone().map(|(code, message)| CallError { code, message }),
        duration_ms: end.duration_ms,
    }
}

/// Code and sentence of a refusal: the same for all of its kind, byte for byte.
pub fn error_of(code: &str) -> (String, String) {
    (code.to_owned(), sentence(code).to_owned())
}

/// The result with the size of its output in bytes, or, where it does not fit into a frame, a failure that says so.
fn fitting(result: CallResult) -> (CallResult, u64) {
    let bytes = result.output.as_ref().map_or(0, |output| output.to_string().len());
    if bytes + FRAME_ROOM <= MAX_FRAME_BYTES {
        return (result, bytes as u64);
    }
    let (code, message) = error_of("FILE_TOO_LARGE");
    let error = Some(CallError { code, message });
    (CallResult { status: ResultStatus::Failed, output: None, error, ..result }, 0)
}

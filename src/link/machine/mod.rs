//! The desktop's side of the protocol as a pure state machine: one for each server, as long as the person wants the
//! connection, over any number of connections.
//!
//! What happened goes in with the time, what is to be done comes out, in order. The fixed order of checks on a call is kept
//! here: device, tool and version, arguments (the schema and the path are the gate's: `Effect::Examine`), expiry, the place
//! in the record; only then does the gate go on to the person's yes and the run.

mod call;
#[cfg(test)]
mod model;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;

use crate::ir::{Admission, LinkCall, LinkEnd, LinkProblem, UnixMs, UptimeMs};
use crate::policy::escape;

use super::pace::{Bucket, CALLS, FRAMES, wait_ms};
use super::wire::{
    self, CallRequest, CallResult, CloseCode, Frame, FromDesktop, FromServer, Heard, OfferedTool, PROTOCOL_VERSION,
    ProtocolError, Reading, Register, Registered,
};

use call::Call;
pub use call::{error_of, result_of};
pub use refusal::sentence;

/// How long a server may take to welcome the device, in milliseconds.
const WELCOME_MS: u64 = 10_000;
/// So many heartbeats without a word mean that the connection is dead.
const SILENT_HEARTBEATS: u64 = 3;
/// A connection that lasted this long was no failure, in milliseconds.
const STABLE_MS: u64 = 10_000;
/// Calls that may be under way at once.
const MOST_CALLS: usize = 32;
/// Cancellations without a call that are remembered.
const MOST_EARLY: usize = 256;
/// Longest name that a server may give to anything, in bytes.
const LONGEST_ID: usize = 512;
/// So many frames of one connection may be beyond the server.
const MOST_COMPLAINTS: u32 = 100;

/// A moment: all that is counted is counted by the uptime, which nobody can set; the clock is for what people are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// By the clock.
    pub clock: UnixMs,
    /// Since the process began.
    pub uptime: UptimeMs,
}

/// A call on its way through checks and gate, by the machine's own number.
pub type CallNumber = u64;

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The socket is open.
    Opened,
    /// A text frame came.
    Heard(String),
    /// A ping, a pong or a binary frame came: nothing that means anything.
    Noise,
    /// What came is nothing that a WebSocket may carry, or too much.
    Garbled {
        /// What is wrong with it.
        detail: String,
    },
    /// The socket is gone, for whatever reason.
    Lost {
        /// The server's close code, if it gave one.
        code: Option<u16>,
        /// What the socket says.
        detail: String,
        /// A random number in 0..1, for the wait.
        chance: f64,
    },
    /// The socket could not be opened.
    NotOpened {
        /// Why.
        problem: LinkProblem,
        /// A random number in 0..1, for the wait.
        chance: f64,
    },
    /// Time passes. To be said about once a second while there is a socket.
    Tick,
    /// A result that the record still owes to the server.
    Owed(CallResult),
    /// The record does not know a call that is to be refused.
    Refused(Box<Refused>),
    /// The gate found nothing against the call's schema and path, and waits for [`Effect::Decide`].
    Examined {
        /// Which call.
        number: CallNumber,
    },
    /// The record answered.
    Reserved {
        /// Which call.
        number: CallNumber,
        /// What becomes of it; `None` when the record cannot be written.
        admission: Option<Admission>,
    },
    /// The gate is through with the call.
    Ended {
        /// Which call.
        number: CallNumber,
        /// How it ended.
        end: LinkEnd,
    },
    /// A result is on disk (or cannot be: then it is sent all the same).
    Kept(CallResult),
    /// The person wants no connection any more: whatever is under way is cancelled.
    Withdrawn,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send this text frame.
    Send(String),
    /// Send this text frame, and note how much of this computer left with it.
    SendContent {
        /// The frame.
        text: String,
        /// Of which call it is the result.
        tool_call_id: String,
        /// How large the result is.
        bytes: u64,
    },
    /// Close the socket with this code, then report it as [`Input::Lost`].
    Close(CloseCode),
    /// The server may call now: front ends say "connected".
    Welcomed,
    /// Report every result that the record owes, as [`Input::Owed`].
    LoadOwed,
    /// Bring this call to the gate.
    Examine {
        /// Its number from now on.
        number: CallNumber,
        /// The call.
        request: Box<CallRequest>,
        /// Not to be begun after this.
        until: UptimeMs,
    },
    /// Take this call's place in the record, on disk.
    Reserve {
        /// Which call.
        number: CallNumber,
        /// The server's name for it.
        tool_call_id: String,
        /// Which dispatch of it.
        execution_id: String,
        /// SHA-256 of its arguments.
        arguments_hash: String,
        /// The tool.
        tool: String,
        /// What it is about.
        path: String,
    },
    /// Tell the gate what becomes of an examined call.
    Decide {
        /// Which call.
        number: CallNumber,
        /// What becomes of it.
        passage: Passage,
    },
    /// Stop a call that runs or waits for the person.
    Cancel {
        /// Which call.
        number: CallNumber,
    },
    /// Keep how a call ended, on disk, then report [`Input::Kept`].
    Keep {
        /// The result, as it will be sent.
        result: CallResult,
        /// The same, as it is kept.
        end: LinkEnd,
    },
    /// Report this call as [`Input::Refused`], unless it is a repeat of one that the record knows: the refusal of a repeat
    /// would end the first dispatch in the server's books. The kept result of one that is over is reported as
    /// [`Input::Owed`]; one that runs will answer.
    LookUp(Box<Refused>),
    /// Report the kept result of this call as [`Input::Owed`], with this dispatch's name.
    LoadKept {
        /// The server's name for the call.
        tool_call_id: String,
        /// The dispatch that asks.
        execution_id: String,
    },
    /// The server has the result: its output can go.
    Acknowledge {
        /// The server's name for the call.
        tool_call_id: String,
    },
    /// Show this call to the person.
    Show(LinkCall),
    /// There is no connection. Try again after this wait, or, without one, not before the person says so.
    Wait {
        /// Why.
        problem: Problem,
        /// How long, in milliseconds.
        wait_ms: Option<u64>,
    },
}

/// A call that is not begun, with the answer to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// What the server is told.
    pub result: CallResult,
    /// Of its arguments.
    pub arguments_hash: String,
    /// What the person is shown.
    pub shown: LinkCall,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A newer connection of the same device took its place.
    Replaced,
    /// Anything else.
    Other(LinkProblem),
}

/// What becomes of an examined call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// Its place is taken: on to the yes and the run.
    GoOn,
    /// It came too late.
    Expired,
    /// The server took it back before it was taken in.
    Cancelled,
    /// It is running or over already.
    Known,
    /// The same name was used with other arguments.
    Conflict,
    /// The record has no room or cannot be written.
    Unrecorded,
}

/// The desktop's side of one server.
#[derive(Debug)]
pub struct Machine {
    who: Register,
    offered: Vec<OfferedTool>,
    /// `None` while there is no socket.
    line: Option<Line>,
    /// Why this side closed the socket.
    closed_for: Option<LinkProblem>,
    /// Connections so far: part of the names of events.
    lines: u64,
    /// Failures to connect in a row.
    failures: u32,
    calls: BTreeMap<CallNumber, Call>,
    last_number: CallNumber,
    /// Calls that were cancelled before they came.
    early: VecDeque<String>,
    /// How many calls may still come to the gate.
    pace: Bucket,
}

/// One connection.
#[derive(Debug)]
struct Line {
    opened_at: UptimeMs,
    heard: Heard,
    heard_at: UptimeMs,
    beat_at: UptimeMs,
    beat_ms: u64,
    is_welcome: bool,
    /// How far the server's clock is ahead of the uptime, in milliseconds.
    ahead_ms: i64,
    sequence: u64,
    bucket: Bucket,
    /// Frames that the server did not understand.
    complaints: u32,
}

impl Machine {
    /// A machine for one server. `device_id` names the installation, `instance_id` this process.
    pub fn new(device_id: &str, instance_id: &str, app_version: &str, offered: Vec<OfferedTool>) -> Self {
        let who = Register {
            device_id: device_id.to_owned(),
            instance_id: instance_id.to_owned(),
            app_version: app_version.to_owned(),
            protocol_version: PROTOCOL_VERSION,
        };
        Self {
            who,
            offered,
            line: None,
            closed_for: None,
            lines: 0,
            failures: 0,
            calls: BTreeMap::new(),
            last_number: 0,
            early: VecDeque::new(),
            pace: Bucket::full(CALLS, UptimeMs::default()),
        }
    }

    /// Takes in what happened at `now`; gives what is to be done, in order.
    pub fn step(&mut self, now: Now, input: Input) -> Vec<Effect> {
        let mut todo = Vec::new();
        match input {
            Input::Opened => self.open(now.uptime, &mut todo),
            Input::Heard(text) => self.hear(now, &text, &mut todo),
            Input::Noise => {
                self.let_in(now.uptime, &mut todo);
            }
            Input::Garbled { detail } => self.break_off(&detail, &mut todo),
            Input::Lost { code, detail, chance } => self.lose(now.uptime, code, detail, chance, &mut todo),
            Input::NotOpened { problem, chance } => {
                self.failures = self.failures.saturating_add(1);
                self.wait(problem, chance, &mut todo);
            }
            Input::Tick => self.tick(now.uptime, &mut todo),
            Input::Refused(refused) => self.answer_refused(*refused, &mut todo),
            Input::Owed(result) | Input::Kept(result) => self.send_result(result, &mut todo),
            Input::Examined { number } => self.examined(now.uptime, number, &mut todo),
            Input::Reserved { number, admission } => self.reserved(number, admission, &mut todo),
            Input::Ended { number, end } => self.ended(number, end, &mut todo),
            Input::Withdrawn => {
                self.line = None;
                self.cancel_all(&mut todo);
            }
        }
        todo
    }

    /// How many calls are under way.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    fn open(&mut self, now: UptimeMs, todo: &mut Vec<Effect>) {
        self.lines += 1;
        self.closed_for = None;
        self.forget_early();
        self.line = Some(Line {
            opened_at: now,
            heard: Heard::default(),
            heard_at: now,
            beat_at: now,
            beat_ms: 15_000,
            is_welcome: false,
            ahead_ms: 0,
            sequence: 0,
            bucket: Bucket::full(FRAMES, now),
            complaints: 0,
        });
        self.say(FromDesktop::Register(self.who.clone()), todo);
    }

    /// Counts a frame; false when there is no line, or it is a flood, which ends the line.
    fn let_in(&mut self, now: UptimeMs, todo: &mut Vec<Effect>) -> bool {
        let Some(line) = &mut self.line else { return false };
        line.heard_at = now;
        if line.bucket.take(now) {
            return true;
        }
        self.break_off("the server sends more than it may", todo);
        false
    }

    fn hear(&mut self, now: Now, text: &str, todo: &mut Vec<Effect>) {
        if !self.let_in(now.uptime, todo) {
            return;
        }
        let Some(line) = &mut self.line else { return };
        let reading = match wire::read::<FromServer>(text) {
            Ok(reading) => reading,
            Err(error) => return self.break_off(&error.to_string(), todo),
        };
        let sequence = match &reading {
            Reading::Message(frame) => frame.sequence,
            Reading::Unfit { sequence, .. } => *sequence,
        };
        if !line.heard.rises(sequence) {
            return self.break_off("a sequence number went back", todo);
        }
        let is_welcome = line.is_welcome;
        match reading {
            Reading::Unfit { error, .. } => self.say(FromDesktop::ProtocolError(error), todo),
            Reading::Message(Frame { body, event_id, .. }) => match body {
                FromServer::Registered(registered) if !is_welcome => self.welcome(now, &registered, todo),
                FromServer::Heartbeat {} => {}
                FromServer::ProtocolError(error) => {
                    tracing::warn!(code = %escape(&error.code, false), "the server did not understand a frame");
                    line.complaints += 1;
                    if line.complaints > MOST_COMPLAINTS {
                        self.break_off("the server does not understand what this device says", todo);
                    }
                }
                FromServer::Request(request) if is_welcome => self.request(now, request, text, event_id, todo),
                FromServer::Ack { tool_call_id } if is_welcome => todo.push(Effect::Acknowledge { tool_call_id }),
                FromServer::Cancel { tool_call_id, .. } if is_welcome => self.cancel(tool_call_id, todo),
                FromServer::Registered(_)
                | FromServer::Request(_)
                | FromServer::Ack { .. }
                | FromServer::Cancel { .. } => self.break_off("a message came out of its turn", todo),
            },
        }
    }

    fn welcome(&mut self, now: Now, registered: &Registered, todo: &mut Vec<Effect>) {
        let Some(line) = &mut self.line else { return };
        line.is_welcome = true;
        line.beat_ms = registered.heartbeat_seconds.clamp(1, 60) * 1_000;
        line.beat_at = now.uptime;
        // `expires_at` is by the server's clock, which need not be this computer's.
        let server_time = registered.server_time.parse::<Timestamp>();
        let server_ms = server_time.map_or(now.clock.0, Timestamp::as_millisecond);
        line.ahead_ms = server_ms.saturating_sub_unsigned(now.uptime.0);
        todo.push(Effect::Welcomed);
        self.say(FromDesktop::Tools { tools: self.offered.clone() }, todo);
        todo.push(Effect::LoadOwed);
    }

    fn tick(&mut self, now: UptimeMs, todo: &mut Vec<Effect>) {
        let Some(line) = &mut self.line else { return };
        let is_late = !line.is_welcome && now.since(line.opened_at) >= WELCOME_MS;
        if is_late || now.since(line.heard_at) >= SILENT_HEARTBEATS * line.beat_ms {
            self.line = None;
            self.closed_for = Some(LinkProblem::Silent);
            todo.push(Effect::Close(CloseCode::Silence));
        } else if line.is_welcome && now.since(line.beat_at) >= line.beat_ms {
            line.beat_at = now;
            self.say(FromDesktop::Heartbeat {}, todo);
        }
    }

    /// Ends the line because the server does not keep to the protocol.
    fn break_off(&mut self, detail: &str, todo: &mut Vec<Effect>) {
        self.line = None;
        self.closed_for = Some(LinkProblem::Protocol { detail: detail.to_owned() });
        todo.push(Effect::Close(CloseCode::BadProtocol));
    }

    fn lose(&mut self, now: UptimeMs, code: Option<u16>, detail: String, chance: f64, todo: &mut Vec<Effect>) {
        let welcomed = self.line.take().filter(|line| line.is_welcome);
        let was_stable = welcomed.as_ref().is_some_and(|line| now.since(line.opened_at) >= STABLE_MS);
        self.failures = if was_stable { 1 } else { self.failures.saturating_add(1) };
        let is = |close: CloseCode| code == Some(close as u16);
        let problem = if let Some(problem) = self.closed_for.take() {
            problem
        } else if is(CloseCode::Replaced) {
            // What ends here can be told to nobody: no question about it stays open.
            self.cancel_all(todo);
            todo.push(Effect::Wait { problem: Problem::Replaced, wait_ms: None });
            return;
        } else if is(CloseCode::BadTicket) {
            // Its ticket was good: what ends a connection that stands is a token that was taken back.
            if welcomed.is_some() { LinkProblem::TokenRefused } else { LinkProblem::TicketRefused }
        } else if is(CloseCode::Forbidden) {
            LinkProblem::Forbidden
        } else if is(CloseCode::Silence) {
            LinkProblem::Silent
        } else if is(CloseCode::BadProtocol) {
            LinkProblem::Protocol { detail }
        } else {
            LinkProblem::Unreachable { detail }
        };
        self.wait(problem, chance, todo);
    }

    fn wait(&mut self, problem: LinkProblem, chance: f64, todo: &mut Vec<Effect>) {
        let is_for_the_person = match &problem {
            // Nobody may call any more: what was under way for this server is over. Whatever else stands in the way may
            // pass, and what the person says meanwhile is kept for the server.
            LinkProblem::TokenRefused => {
                self.cancel_all(todo);
                false
            }
            LinkProblem::NoToken | LinkProblem::Address { .. } => true,
            // A ticket that is refused may be a server that cannot write; a folder comes back with its disk.
            LinkProblem::TicketRefused
            | LinkProblem::Workspace { .. }
            | LinkProblem::Unreachable { .. }
            | LinkProblem::Forbidden
            | LinkProblem::Silent
            | LinkProblem::Protocol { .. } => false,
        };
        let wait_ms = (!is_for_the_person).then(|| wait_ms(self.failures, chance));
        todo.push(Effect::Wait { problem: Problem::Other(problem), wait_ms });
    }

    /// Sends a message, if there is a line.
    fn say(&mut self, body: FromDesktop, todo: &mut Vec<Effect>) {
        todo.extend(self.written(body).map(Effect::Send));
    }

    /// The next frame, if there is a line.
    fn written(&mut self, body: FromDesktop) -> Option<String> {
        let line = self.line.as_mut()?;
        line.sequence += 1;
        let event_id = format!("{}-{}-{}", self.who.instance_id, self.lines, line.sequence);
        let written = wire::write(&Frame { event_id, sequence: line.sequence, body });
        written.map_err(|error| tracing::error!(%error, "a frame could not be written")).ok()
    }

    fn is_welcome(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.is_welcome)
    }
}

/// What a frame's answer says of it.
fn unfit(event_id: String, message: &str) -> FromDesktop {
    let error = ProtocolError { code: "INVALID_MESSAGE".into(), message: message.into(), ref_event_id: Some(event_id) };
    FromDesktop::ProtocolError(error)
}

//! An answer as it comes: a server's AG-UI events, one after the other, as the events that every front end knows.

use serde_json::Value;

use crate::ir::{
    CallId, CallRecord, CallStatus, Message, MessageRecord, MessageStatus, RequestId, Role, State, StreamBody,
    StreamEvent, TokenUsage, ToolCall, UnixMs,
};
use crate::link::agui::{self, Finish, Usage};
use crate::port::{Event, TurnEnd, TurnOutcome};

use super::{Conversation, answer_meta, call_record, failure, id_in_run, own_name, record, result_of, status_of};

/// The longest arguments of one call, in bytes.
const ARGUMENT_BYTES: usize = 4 << 20;
/// Calls in one run; the server's own limit is 16.
const MOST_CALLS: usize = 256;

/// The run that is being answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    run: String,
    /// The place of the next message in the run.
    next: usize,
    round: u32,
    began_at: UnixMs,
    first_at: Option<UnixMs>,
    /// The answer that grows.
    growing: Option<MessageRecord>,
    is_thinking: bool,
    sequence: u64,
    /// Calls whose arguments come in, with their text so far.
    coming: Vec<(String, String, String)>,
    calls: usize,
    usage: TokenUsage,
}

impl Answer {
    /// The message that grows, with all that has come.
    pub(super) fn growing(&self) -> Option<&MessageRecord> {
        self.growing.as_ref()
    }

    /// The same, when nothing more comes.
    pub(super) fn into_growing(self) -> Option<MessageRecord> {
        self.growing
    }
}

impl Conversation {
    /// The server has begun to answer a run. Gives the person's words as they stand in the conversation.
    pub fn begin(&mut self, run: &str, input: &str, now: UnixMs) -> Vec<Event> {
        let said = id_in_run(run, 0);
        let person = self.messages.iter().find(|record| record.id == said).cloned();
        let person = person.unwrap_or_else(|| {
            record(&self.session.id, said, Message::text(Role::User, input, now), MessageStatus::Complete)
        });
        self.answer = Some(Answer {
            run: run.to_owned(),
            next: 1,
            round: 1,
            began_at: now,
            first_at: None,
            growing: None,
            is_thinking: false,
            sequence: 0,
            coming: Vec::new(),
            calls: 0,
            usage: TokenUsage::default(),
        });
        let mut events = Vec::new();
        if self.session.title.is_empty() {
            let line = input.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            self.session.title = line.chars().take(60).collect();
            events.push(Event::SessionChanged(Box::new(self.session.clone())));
        }
        self.session.updated_at = now;
        events.push(self.put(person));
        events.push(self.enter(State::Sending));
        events
    }

    /// Takes an event of the stream in: what front ends are told, and how the turn ended, if it did.
    pub fn hear(&mut self, event: agui::Event, now: UnixMs) -> (Vec<Event>, Option<TurnOutcome>) {
        let Some(mut answer) = self.answer.take() else { return (Vec::new(), None) };
        let mut told = Vec::new();
        let outcome = self.take(&mut answer, event, now, &mut told);
        self.answer = Some(answer);
        (told, outcome)
    }

    fn take(
        &mut self,
        answer: &mut Answer,
        event: agui::Event,
        now: UnixMs,
        told: &mut Vec<Event>,
    ) -> Option<TurnOutcome> {
        match event {
            agui::Event::ReasoningMessageContent { delta, .. } => {
                if !answer.is_thinking {
                    answer.is_thinking = true;
                    self.grow(answer, StreamBody::ThinkingStart, now, told);
                }
                self.grow(answer, StreamBody::ReasoningDelta { delta }, now, told);
            }
            agui::Event::ReasoningEnd { .. } => self.end_thinking(answer, now, told),
            agui::Event::TextMessageContent { delta, .. } => {
                self.end_thinking(answer, now, told);
                self.grow(answer, StreamBody::TextDelta { delta }, now, told);
            }
            agui::Event::ToolCallStart { tool_call_id, tool_call_name, .. } => {
                answer.calls += 1;
                if answer.calls <= MOST_CALLS {
                    answer.coming.push((tool_call_id, tool_call_name, String::new()));
                }
            }
            agui::Event::ToolCallArgs { tool_call_id, delta } => {
                let call = answer.coming.iter_mut().find(|(id, ..)| *id == tool_call_id);
                if let Some((_, _, text)) = call.filter(|(_, _, text)| text.len() + delta.len() <= ARGUMENT_BYTES) {
                    text.push_str(&delta);
                }
            }
            agui::Event::ToolCallEnd { tool_call_id } => self.begin_call(answer, &tool_call_id, now, told),
            agui::Event::ToolCallResult { tool_call_id, content, .. } => {
                self.end_call(answer, &tool_call_id, &content, now, told);
            }
            agui::Event::RunFinished { outcome, usage, .. } => {
                let (status, ended) = match outcome {
                    Finish::Success => (MessageStatus::Complete, TurnOutcome::Done),
                    Finish::Cancelled => (MessageStatus::Stopped, TurnOutcome::Stopped),
                };
                self.finish(answer, status, &usage, now, told);
                return Some(ended);
            }
            agui::Event::RunError { message, code } => {
                self.open(answer, now, told);
                if let Some(growing) = &mut answer.growing {
                    growing.error = Some(failure(&code, &message));
                }
                self.finish(answer, MessageStatus::Failed, &[], now, told);
                return Some(TurnOutcome::Failed);
            }
            agui::Event::RunStarted { .. }
            | agui::Event::ReasoningStart { .. }
            | agui::Event::ReasoningMessageStart { .. }
            | agui::Event::ReasoningMessageEnd { .. }
            | agui::Event::TextMessageStart { .. }
            | agui::Event::TextMessageEnd { .. }
            | agui::Event::Other => {}
        }
        None
    }

    /// More of the growing answer.
    fn grow(&mut self, answer: &mut Answer, body: StreamBody, now: UnixMs, told: &mut Vec<Event>) {
        self.open(answer, now, told);
        answer.first_at.get_or_insert(now);
        let Some(growing) = &mut answer.growing else { return };
        growing.grow(&body);
        let event = StreamEvent {
            body,
            request_id: RequestId::new(answer.run.clone()),
            session_id: self.session.id.clone(),
            iteration: answer.round,
            seq: answer.sequence,
            timestamp: now,
        };
        answer.sequence += 1;
        told.push(Event::Streamed {
            session: self.session.id.clone(),
            message: growing.id.clone(),
            event: Box::new(event),
        });
        if self.state != State::Accumulating {
            told.push(self.enter(State::Accumulating));
        }
    }

    fn end_thinking(&mut self, answer: &mut Answer, now: UnixMs, told: &mut Vec<Event>) {
        if std::mem::take(&mut answer.is_thinking) {
            self.grow(answer, StreamBody::ThinkingEnd, now, told);
        }
    }

    /// Begins a message that grows, if none does.
    fn open(&mut self, answer: &mut Answer, now: UnixMs, told: &mut Vec<Event>) {
        if answer.growing.is_some() {
            return;
        }
        let id = id_in_run(&answer.run, answer.next);
        answer.next += 1;
        let mut message = Message::text(Role::Assistant, "", now);
        message.iteration = Some(answer.round);
        let growing = record(&self.session.id, id, message, MessageStatus::Streaming);
        told.push(self.put(growing.clone()));
        answer.growing = Some(growing);
    }

    fn begin_call(&mut self, answer: &mut Answer, full: &str, now: UnixMs, told: &mut Vec<Event>) {
        let Some(at) = answer.coming.iter().position(|(id, ..)| id == full) else { return };
        let (_, name, text) = answer.coming.remove(at);
        self.end_thinking(answer, now, told);
        self.open(answer, now, told);
        let parsed = serde_json::from_str::<Value>(&text);
        let call = ToolCall {
            id: self.short_id(full),
            name: own_name(&name),
            parse_error: parsed.as_ref().err().map(ToString::to_string),
            raw_args: parsed.is_err().then_some(text),
            args: parsed.unwrap_or_else(|_| Value::Object(serde_json::Map::new())),
            iteration: answer.round,
            timestamp: now,
            marks: Vec::new(),
        };
        let Some(growing) = &mut answer.growing else { return };
        growing.message.tool_calls.get_or_insert_default().push(call.clone());
        let growing = growing.clone();
        let row = call_record(&self.session.id, &growing.id, call, CallStatus::Running);
        told.push(self.put_call(row));
        told.push(self.put(growing));
        if self.state != State::Executing {
            told.push(self.enter(State::Executing));
        }
    }

    fn end_call(&mut self, answer: &mut Answer, full: &str, content: &str, now: UnixMs, told: &mut Vec<Event>) {
        self.close(answer, MessageStatus::Complete, told);
        answer.round += 1;
        let id = self.short_id(full);
        let is_it = |row: &&CallRecord| row.call.id == id && row.result.is_none();
        let Some(mut row) = self.calls.iter().rev().find(is_it).cloned() else { return };
        let result: Value = serde_json::from_str(content).unwrap_or_else(|_| Value::String(content.to_owned()));
        let began = row.started_at.unwrap_or(row.created_at);
        let result = result_of(&id, &row.call.name, &result, now.since(began), now);
        row.status = status_of(&result);
        row.finished_at = Some(now);
        row.result = Some(result);
        told.push(self.put_call(row));
        // It has a place among the messages, so that the next one has its own; its words are on the card.
        let message = Message::text(Role::Tool, "", now);
        let place = record(&self.session.id, id_in_run(&answer.run, answer.next), message, MessageStatus::Complete);
        answer.next += 1;
        told.push(self.put(place));
    }

    fn close(&mut self, answer: &mut Answer, status: MessageStatus, told: &mut Vec<Event>) {
        if let Some(growing) = answer.growing.take() {
            told.push(self.put(MessageRecord { status, ..growing }));
        }
    }

    /// The last words of the run say how it ended, and at what cost.
    fn finish(
        &mut self,
        answer: &mut Answer,
        status: MessageStatus,
        usage: &[Usage],
        now: UnixMs,
        told: &mut Vec<Event>,
    ) {
        self.end_thinking(answer, now, told);
        if status != MessageStatus::Complete {
            self.open(answer, now, told);
        }
        if let (Some(growing), Some(used)) = (&mut answer.growing, usage.first()) {
            let first_token_ms = answer.first_at.map(|first| first.since(answer.began_at));
            let meta = answer_meta(used, now.since(answer.began_at), first_token_ms);
            answer.usage = meta.usage;
            growing.answer = Some(meta);
        }
        self.close(answer, status, told);
        let open: Vec<CallRecord> =
            self.calls.iter().filter(|row| row.status == CallStatus::Running).cloned().collect();
        let left = if status == MessageStatus::Stopped { CallStatus::Cancelled } else { CallStatus::Unknown };
        for row in open {
            told.push(self.put_call(CallRecord { status: left, finished_at: Some(now), ..row }));
        }
    }

    /// The end of a turn, as front ends are told of it.
    pub fn turn_end(&self, outcome: TurnOutcome) -> Event {
        let last = self.messages.iter().rev().find(|record| record.message.role == Role::Assistant);
        Event::TurnEnded(Box::new(TurnEnd {
            session_id: self.session.id.clone(),
            outcome,
            content: last.map(|last| last.message.content.clone()).unwrap_or_default(),
            usage: self.answer.as_ref().map(|answer| answer.usage).unwrap_or_default(),
            rounds: self.answer.as_ref().map_or(0, |answer| answer.round),
            error: last.and_then(|last| last.error.clone()),
            can_continue: false,
        }))
    }

    /// A call's own id: on the stream the thread's stands before it.
    fn short_id(&self, full: &str) -> CallId {
        let thread = self.session.id.home().map_or("", |(_, thread)| thread);
        let own = full.strip_prefix(thread).and_then(|rest| rest.strip_prefix(':'));
        CallId::new(own.unwrap_or(full))
    }
}

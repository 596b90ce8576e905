//! What a server has of a conversation, as records; and where in it a message stands, so that it can be said again.

use serde_json::json;

use crate::ir::{
    CallStatus, Message, MessageId, MessageRecord, MessageStatus, Role, SessionId, State, ToolCall, ToolResult, UnixMs,
};
use crate::link::thread::{self, CallView, RunStatus, ThreadView, TurnView};

use super::{
    Conversation, answer_meta, broken, call_record, failure, id_in_run, inherited_id, own_name, record, result_of,
    session_of, status_of,
};

/// Where a message stands in a server's thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a turn of the thread itself, which began with these words of the person.
    Turn {
        /// The turn's id.
        turn: String,
        /// What the person said.
        input: String,
    },
    /// In what the thread took over: at this place of the whole text of its parent.
    Parent {
        /// The parent's id.
        thread: String,
        /// From 0.
        index: usize,
    },
    /// It is not there.
    Nowhere,
}

/// Where a message stands.
pub fn place_of(view: &ThreadView, message: &MessageId) -> Place {
    let id = message.as_str();
    let turn = id.rsplit_once('.').and_then(|(run, _)| view.turns.iter().find(|turn| turn.run_id == run));
    if let Some(turn) = turn {
        return in_turn(turn);
    }
    let index = id.rsplit_once('~').filter(|(thread, _)| *thread == view.thread.thread_id);
    index.and_then(|(_, index)| index.parse().ok()).map_or(Place::Nowhere, |index| in_parent(view, index))
}

/// Where a message stands by its number in the whole text of a thread, from 0.
pub fn place_at(view: &ThreadView, index: usize) -> Place {
    let Some(mut left) = index.checked_sub(view.inherited.len()) else { return in_parent(view, index) };
    for turn in &view.turns {
        if left < turn.messages.len() {
            return in_turn(turn);
        }
        left -= turn.messages.len();
    }
    Place::Nowhere
}

fn in_turn(turn: &TurnView) -> Place {
    let said = turn.messages.iter().find(|message| message.role == Role::User);
    let input = said.map(|message| message.content.clone()).unwrap_or_default();
    Place::Turn { turn: turn.turn_id.clone(), input }
}

fn in_parent(view: &ThreadView, index: usize) -> Place {
    match &view.thread.parent_thread_id {
        Some(thread) => Place::Parent { thread: thread.clone(), index },
        None => Place::Nowhere,
    }
}

impl Conversation {
    /// What a server has of a conversation.
    pub fn of(url: &str, view: ThreadView) -> Self {
        let session = session_of(url, &view.thread);
        let mut conversation =
            Self { state: State::Idle, messages: Vec::new(), calls: Vec::new(), answer: None, session };
        let thread = view.thread.thread_id;
        let inherited = view.inherited.into_iter().enumerate();
        let inherited = inherited.map(|(index, message)| (inherited_id(&thread, index), message)).collect();
        conversation.add(inherited, &view.tool_calls, &thread, CallStatus::Unknown);
        for turn in view.turns {
            conversation.add_turn(turn, &view.tool_calls, &thread);
        }
        conversation.session.head = conversation.messages.last().map(|last| last.id.clone());
        conversation
    }

    fn add_turn(&mut self, turn: TurnView, ledger: &[CallView], thread: &str) {
        let TurnView { run_id, status, error, usage, messages, turn_id: _, device_id: _ } = turn;
        let messages = messages.into_iter().enumerate();
        let messages: Vec<_> = messages.map(|(index, message)| (id_in_run(&run_id, index), message)).collect();
        let (count, last_at) = (messages.len(), messages.last().map_or(UnixMs(0), |(_, message)| message.timestamp));
        let began_at = messages.first().map_or(last_at, |(_, message)| message.timestamp);
        let (open, ended) = match status {
            RunStatus::Prepared | RunStatus::Running => (CallStatus::Running, None),
            RunStatus::Succeeded => (CallStatus::Unknown, None),
            RunStatus::Cancelled => (CallStatus::Cancelled, Some((MessageStatus::Stopped, None))),
            RunStatus::Failed => {
                let error = failure("unknown", error.as_deref().unwrap_or_default());
                (CallStatus::Unknown, Some((MessageStatus::Failed, Some(error))))
            }
            RunStatus::Limited => {
                let error = failure("max_iterations", error.as_deref().unwrap_or_default());
                (CallStatus::Unknown, Some((MessageStatus::Failed, Some(error))))
            }
            RunStatus::Interrupted => {
                let error = broken("server_interrupted", "The server ended in the middle of the answer.");
                (CallStatus::Unknown, Some((MessageStatus::Failed, Some(error))))
            }
        };
        self.state = match status {
            RunStatus::Running => State::Sending,
            RunStatus::Prepared => State::Idle,
            RunStatus::Succeeded | RunStatus::Limited => State::Done,
            RunStatus::Cancelled => State::Cancelled,
            RunStatus::Failed | RunStatus::Interrupted => State::Failed,
        };
        self.add(messages, ledger, thread, open);
        if let (Some(used), Some(last)) = (usage, self.messages.last_mut())
            && last.message.role == Role::Assistant
        {
            last.answer = Some(answer_meta(&used, last.message.timestamp.since(began_at), None));
        }
        let Some((status, error)) = ended else { return };
        // The last words of the run say how it ended; where it said nothing, an empty answer does.
        if self.messages.last().is_none_or(|last| last.message.role != Role::Assistant) {
            let message = Message::text(Role::Assistant, "", last_at);
            let id = id_in_run(&run_id, count);
            self.messages.push(record(&self.session.id, id, message, MessageStatus::Complete));
        }
        if let Some(last) = self.messages.last_mut() {
            (last.status, last.error) = (status, error);
        }
    }

    /// Adds messages and the calls in them. `open` is how a call stands that has no result.
    fn add(&mut self, messages: Vec<(MessageId, Message)>, ledger: &[CallView], thread: &str, open: CallStatus) {
        let session = self.session.id.clone();
        for (id, mut message) in messages {
            message.provider_state = None;
            if let Some(told) = message.tool_result.take() {
                self.take_result(&told);
                message.content.clear();
            }
            for call in message.tool_calls.iter_mut().flatten() {
                let known = ledger.iter().find(|known| is_call(known, thread, call));
                call.name = own_name(&call.name);
                let mut row = call_record(&session, &id, call.clone(), open);
                if let Some(known) = known.filter(|known| known.status.is_final()) {
                    let told = told_of(known);
                    let at = row.call.timestamp;
                    let (began, ended) = span(known, at);
                    let result = result_of(&row.call.id, &row.call.name, &told, ended.since(began), ended);
                    row.status = status_of(&result);
                    (row.started_at, row.finished_at, row.result) = (Some(began), Some(ended), Some(result));
                }
                self.put_call(row);
            }
            self.messages.push(record(&session, id, message, MessageStatus::Complete));
        }
    }

    /// What the model was told of a call. What the ledger knows for good counts more.
    fn take_result(&mut self, told: &ToolResult) {
        let Some(row) = self.calls.iter_mut().rev().find(|row| row.call.id == told.tool_call_id) else { return };
        if row.result.is_some() {
            return;
        }
        let result = result_of(&row.call.id, &row.call.name, &told.result, told.duration_ms, told.timestamp);
        row.status = status_of(&result);
        (row.finished_at, row.result) = (Some(told.timestamp), Some(result));
    }

    /// The turn broke off here and the server cannot be asked how it ended: says so where the answer stands.
    pub fn break_off(&mut self, run: &str, now: UnixMs) -> crate::port::Event {
        let error = broken("server_lost", "The connection to the server broke in the middle of the answer.");
        let grown = self.answer.take().and_then(super::answer::Answer::into_growing);
        let is_answer = |last: &&MessageRecord| last.message.role == Role::Assistant && is_in(&last.id, run);
        let mut last = grown.or_else(|| self.messages.last().filter(is_answer).cloned()).unwrap_or_else(|| {
            let count = self.messages.iter().filter(|record| is_in(&record.id, run)).count();
            record(
                &self.session.id,
                id_in_run(run, count),
                Message::text(Role::Assistant, "", now),
                MessageStatus::Failed,
            )
        });
        (last.status, last.error) = (MessageStatus::Failed, Some(error));
        self.put(last)
    }

    /// Whether a run of this id is in it.
    pub fn has_run(&self, run: &str) -> bool {
        self.messages.iter().any(|record| is_in(&record.id, run))
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.session.id
    }
}

fn is_in(id: &MessageId, run: &str) -> bool {
    id.as_str().rsplit_once('.').is_some_and(|(of, _)| of == run)
}

fn is_call(known: &CallView, thread: &str, call: &ToolCall) -> bool {
    let own = known.tool_call_id.strip_prefix(thread).and_then(|rest| rest.strip_prefix(':'));
    own == Some(call.id.as_str())
}

/// What the ledger knows of a call, in the words in which a model is told.
fn told_of(call: &CallView) -> serde_json::Value {
    if call.status == thread::CallStatus::Succeeded {
        return json!({"success": true, "data": call.output});
    }
    let error = call.error.as_ref();
    let (code, message) = error.map_or(("RESULT_UNKNOWN", ""), |error| (error.code.as_str(), error.message.as_str()));
    json!({"success": false, "code": code, "error": message})
}

fn span(call: &CallView, otherwise: UnixMs) -> (UnixMs, UnixMs) {
    let began = call.executions.first().map_or(otherwise, |execution| execution.started_at);
    let ended = call.executions.iter().filter_map(|execution| execution.ended_at).max();
    (began, ended.unwrap_or(began))
}

//! A server's conversation in the words of every session: its history as records (`history`), its answer as it comes
//! (`answer`). What a server sends is not trusted: it becomes plain data, cut to bearable sizes, and nothing of it is run.
//! Pure: no IO, no clock, no ids of chance.

mod answer;
mod history;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::ir::{
    AnswerMeta, CallId, CallRecord, CallStatus, Code, ConfirmMode, Error, ErrorCode, FinishReason, MessageId,
    MessageRecord, MessageStatus, Session, SessionId, State, ThinkingLevel, TokenUsage, ToolCall, ToolResult, UnixMs,
};
use crate::policy::RuleSet;
use crate::port::{Event, TurnOutcome};

use super::agui::Usage;
use super::thread::ThreadRow;

pub use history::{Place, place_at, place_of};

/// Longest title that is taken over, in characters.
const TITLE_CHARACTERS: usize = 200;
/// Longest sentence about a failure that is taken over, in bytes.
const SENTENCE_BYTES: usize = 4 << 10;
/// The longest name of a server's own for a conversation, in bytes.
const NAME_BYTES: usize = 200;

/// One conversation of a server, as far as it is known here.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// As the list and the top bar show it.
    pub session: Session,
    /// Where its turn stands.
    pub state: State,
    messages: Vec<MessageRecord>,
    calls: Vec<CallRecord>,
    answer: Option<answer::Answer>,
}

/// Whether a server's name for a conversation is one that can be asked for.
pub fn is_name(thread: &str) -> bool {
    (1..=NAME_BYTES).contains(&thread.len())
        && thread.chars().any(|c| c != '.')
        && !thread.chars().any(char::is_control)
}

/// A row of a server's list as a session.
pub fn session_of(url: &str, row: &ThreadRow) -> Session {
    // A branch often begins with the words of its parent, and stands beside it in the list.
    let mark = if row.parent_thread_id.is_some() { "↳ " } else { "" };
    let title = mark.chars().chain(row.title.chars().take(TITLE_CHARACTERS)).collect();
    Session { title, created_at: row.created_at, updated_at: row.updated_at, ..empty(url, &row.thread_id, UnixMs(0)) }
}

fn empty(url: &str, thread: &str, now: UnixMs) -> Session {
    Session {
        id: SessionId::on_server(url, thread),
        title: String::new(),
        provider: String::new(),
        // The server chooses it; until an answer says which, its place stands for it.
        model: url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/').to_owned(),
        thinking: ThinkingLevel::Auto,
        folders: Vec::new(),
        mode: ConfirmMode::Changes,
        is_local_only: false,
        system_prompt: None,
        pinned: false,
        head: None,
        draft: String::new(),
        created_at: now,
        updated_at: now,
    }
}

impl Conversation {
    /// One in which nothing was said yet; the server has not heard of it.
    pub fn new(url: &str, thread: &str, now: UnixMs) -> Self {
        Self {
            session: empty(url, thread, now),
            state: State::Idle,
            messages: Vec::new(),
            calls: Vec::new(),
            answer: None,
        }
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The newest message.
    pub fn last(&self) -> Option<&MessageId> {
        self.messages.last().map(|record| &record.id)
    }

    /// What was said in it, oldest first.
    pub fn messages(&self) -> &[MessageRecord] {
        &self.messages
    }

    /// What a front end is told when it opens the conversation.
    pub fn opened(&self, draft: String, queued: Vec<String>) -> Event {
        let mut messages = self.messages.clone();
        if let (Some(last), Some(growing)) =
            (messages.last_mut(), self.answer.as_ref().and_then(answer::Answer::growing))
        {
            last.clone_from(growing);
        }
        Event::SessionOpened {
            session: Box::new(Session { draft, ..self.session.clone() }),
            messages,
            has_older: false,
            calls: self.calls.clone(),
            rules: RuleSet::default(),
            state: self.state,
            queued,
        }
    }

    /// Enters a state; what front ends are told.
    pub fn enter(&mut self, state: State) -> Event {
        self.state = state;
        Event::StateChanged { session: self.session.id.clone(), state }
    }

    /// The turn ended like this. Gives what front ends are told of the calls that it left open: nobody here knows what became
    /// of them.
    pub fn end(&mut self, outcome: TurnOutcome, now: UnixMs) -> Vec<Event> {
        self.answer = None;
        self.state = match outcome {
            TurnOutcome::Done | TurnOutcome::Denied | TurnOutcome::Limit => State::Done,
            TurnOutcome::Failed => State::Failed,
            TurnOutcome::Stopped => State::Cancelled,
        };
        let mut told = Vec::new();
        for row in self.calls.iter_mut().filter(|row| !row.status.has_ended()) {
            row.status = CallStatus::Unknown;
            row.finished_at = Some(now);
            told.push(Event::CallChanged(Box::new(row.clone())));
        }
        told
    }

    fn put(&mut self, record: MessageRecord) -> Event {
        match self.messages.iter_mut().find(|known| known.id == record.id) {
            Some(known) => known.clone_from(&record),
            None => self.messages.push(record.clone()),
        }
        self.session.head = self.messages.last().map(|last| last.id.clone());
        Event::MessageChanged(Box::new(record))
    }

    fn put_call(&mut self, record: CallRecord) -> Event {
        match self.calls.iter_mut().find(|known| known.call.id == record.call.id) {
            Some(known) => known.clone_from(&record),
            None => self.calls.push(record.clone()),
        }
        Event::CallChanged(Box::new(record))
    }
}

/// The message of this place in a run.
fn id_in_run(run: &str, index: usize) -> MessageId {
    MessageId::new(format!("{run}.{index}"))
}

/// The message of this place in what a thread took over from its parent.
fn inherited_id(thread: &str, index: usize) -> MessageId {
    MessageId::new(format!("{thread}~{index}"))
}

/// What marks a tool of the server's own: none of this computer's has such a name, and no card of one looks like theirs.
const SERVERS_OWN: &str = "server.";

/// The tools that a server offers its model for this computer are tools of this computer, and their cards are the same.
fn own_name(tool: &str) -> String {
    match tool {
        "workspace_list_files" => "list_directory".to_owned(),
        "workspace_read_file" => "read_file".to_owned(),
        other => format!("{SERVERS_OWN}{other}"),
    }
}

/// A call as it stands, with its name of here, and without a result.
fn call_record(session: &SessionId, message: &MessageId, call: ToolCall, status: CallStatus) -> CallRecord {
    let at = call.timestamp;
    let row = CallRecord::new(call, session.clone(), Some(message.clone()), at);
    CallRecord { status, started_at: Some(at), ..row }
}

/// What the server tells its model of a call, `{"success", "data"}` or `{"success", "code", "error"}`, as a result like one
/// of this computer's own tools. `tool` is its name of here.
fn result_of(call: &CallId, tool: &str, told: &Value, duration_ms: u64, timestamp: UnixMs) -> ToolResult {
    let success = told.get("success") == Some(&Value::Bool(true));
    let result = match told.get("data") {
        Some(Value::Object(data)) if success => {
            let mut data = data.clone();
            data.insert("success".to_owned(), Value::Bool(true));
            Value::Object(data)
        }
        _ => told.clone(),
    };
    ToolResult {
        tool_call_id: call.clone(),
        tool_name: tool.to_owned(),
        success,
        error: told.get("error").and_then(Value::as_str).map(sentence),
        result,
        summary: None,
        duration_ms,
        timestamp,
    }
}

fn status_of(result: &ToolResult) -> CallStatus {
    if result.success {
        return CallStatus::Succeeded;
    }
    match result.code().unwrap_or_default() {
        "RESULT_UNKNOWN" | "DESKTOP_RESTARTED" | "SERVER_RESTARTED" => CallStatus::Unknown,
        "CANCELLED" | "RUN_CANCELLED" | "CANCELLED_BY_SERVER" => CallStatus::Cancelled,
        code if code == Code::ConfirmationRejected.as_str() || code.ends_with("_DENIED") => CallStatus::Denied,
        _ => CallStatus::Failed,
    }
}

/// An answer that ended in an error of the server's.
fn failure(code: &str, message: &str) -> Error {
    let code = serde_json::from_value(Value::String(code.to_owned())).unwrap_or(ErrorCode::Unknown);
    Error { provider_code: Some("server_run".to_owned()), ..Error::new(code, sentence(message)) }
}

/// What breaks an answer off that the server did not end itself.
fn broken(code: &str, message: &str) -> Error {
    Error { provider_code: Some(code.to_owned()), retryable: true, ..Error::new(ErrorCode::NetworkError, message) }
}

fn sentence(text: &str) -> String {
    text.get(..text.floor_char_boundary(SENTENCE_BYTES)).unwrap_or_default().to_owned()
}

/// What stands below an answer: who gave it, and at what cost.
fn answer_meta(used: &Usage, latency_ms: u64, first_token_ms: Option<u64>) -> AnswerMeta {
    AnswerMeta {
        provider: used.provider.clone(),
        model: used.model.clone(),
        usage: TokenUsage {
            input_tokens: used.input_tokens,
            output_tokens: used.output_tokens,
            total_tokens: used.total_tokens,
            ..TokenUsage::default()
        },
        perf: None,
        latency_ms,
        first_token_ms,
        thinking_ms: None,
        finish_reason: FinishReason::Stop,
        cost: None,
        is_thought_alone: false,
        left_out: None,
        place: None,
    }
}

/// A record of a message that nothing is known of but its words.
fn record(session: &SessionId, id: MessageId, message: crate::ir::Message, status: MessageStatus) -> MessageRecord {
    MessageRecord {
        id,
        session: session.clone(),
        parent: None,
        message,
        status,
        answer: None,
        error: None,
        version: (1, 1),
    }
}

//! The open session as the transcript draws it: its items in drawing order, kept up by events and never rebuilt per frame.

mod item;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use crate::ir::{
    CallId, CallRecord, CallStatus, Contact, Decider, Error, MessageId, MessageRecord, MessageStatus, Role, Session,
    State, StreamBody, UndoEntry, UndoId, UndoState, UnixMs,
};
use crate::policy::{MaskedSecret, RuleSet};

use super::remote_image::RemoteImages;

pub use item::{Item, ItemKind};

/// Longest live output that is kept for a card, in bytes; the head is dropped.
const MAX_OUTPUT_BYTES: usize = 200_000;

/// The open session.
#[derive(Debug, Clone)]
pub struct SessionView {
    pub session: Session,
    /// What is drawn, from the top down.
    pub items: Vec<Item>,
    /// Every loaded message of the shown branch. Streamed text grows in place.
    pub messages: HashMap<MessageId, MessageRecord>,
    pub calls: HashMap<CallId, CallView>,
    /// Whether there is more before the first loaded message.
    pub has_older: bool,
    /// Whether the page before is on its way.
    pub is_loading_older: bool,
    pub state: State,
    pub rules: RuleSet,
    /// Files whose names speak of secrets, opened to the session.
    pub lifted: Vec<PathBuf>,
    /// Token-like values in what the session sends.
    pub secrets: Vec<MaskedSecret>,
    /// The hosts that the session has reached, the last one first.
    pub contacts: Vec<Contact>,
    /// Images from elsewhere that the person asked for.
    pub images: RemoteImages,
    /// Messages that wait for the running turn to end.
    pub queued: Vec<String>,
    /// When the thinking block that grows now began.
    pub thinking_started: Option<UnixMs>,
    /// What stands below the last item.
    pub note: TurnNote,
    /// Keys of thinking blocks and runs of calls that the person opened or closed by hand.
    pub toggled: HashSet<u64>,
    /// What was changed in the session, oldest first, undos and redos too.
    pub undo: BTreeMap<UndoId, UndoEntry>,
    /// Last answers of turns that changed something which can be taken back.
    pub undoable_turns: HashSet<MessageId>,
    order: Vec<MessageId>,
    revisions: HashMap<MessageId, u64>,
    can_continue: bool,
}

/// What a command that succeeded did beside what was asked: changed more than its folders, or tried to change what is protected.
const MUST_BE_SEEN: [&str; 5] =
    ["changedOutside", "openedFolders", "reverted", "refusedToChange", "exchangedWhileRunning"];

/// A call with what its card shows beyond the ledger's row.
#[derive(Debug, Clone)]
pub struct CallView {
    pub record: CallRecord,
    /// Live output of a command so far.
    pub output: String,
    /// Files that a running search or listing has looked at.
    pub scanned_files: Option<u64>,
    /// Whether the person opened or closed its card.
    pub chosen_open: Option<bool>,
    /// What was masked of it before a model on another machine got it.
    pub masked: Vec<MaskedSecret>,
    /// Where its change stands, if it made one that the journal has.
    pub undo: Option<UndoState>,
    pub revision: u64,
}

/// What a running turn does that no message shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TurnNote {
    #[default]
    None,
    /// A try failed; the next one starts at `until`.
    Retrying { attempt: u32, until: UnixMs, error: Error },
}

impl SessionView {
    /// The view of a session with its newest page.
    pub fn new(
        session: Session,
        messages: Vec<MessageRecord>,
        has_older: bool,
        calls: Vec<CallRecord>,
        rules: RuleSet,
        state: State,
        queued: Vec<String>,
    ) -> Self {
        let order = messages.iter().map(|record| record.id.clone()).collect();
        let mut view = Self {
            session,
            items: Vec::new(),
            messages: messages.into_iter().map(|record| (record.id.clone(), record)).collect(),
            calls: calls.into_iter().map(|record| (record.call.id.clone(), CallView::new(record))).collect(),
            has_older,
            is_loading_older: false,
            state,
            rules,
            lifted: Vec::new(),
            secrets: Vec::new(),
            contacts: Vec::new(),
            images: RemoteImages::default(),
            queued,
            thinking_started: None,
            note: TurnNote::None,
            toggled: HashSet::new(),
            undo: BTreeMap::new(),
            undoable_turns: HashSet::new(),
            order,
            revisions: HashMap::new(),
            can_continue: false,
        };
        view.rebuild();
        view
    }

    /// The shown branch's loaded messages, oldest first.
    pub fn branch(&self) -> impl DoubleEndedIterator<Item = &MessageRecord> {
        self.order.iter().filter_map(|id| self.messages.get(id))
    }

    /// The newest message of the person.
    pub fn last_of_person(&self) -> Option<&MessageRecord> {
        self.branch().rev().find(|record| record.message.role == Role::User)
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty() && !self.has_older
    }

    /// Puts an older page before the first message.
    pub fn prepend(&mut self, messages: Vec<MessageRecord>, has_older: bool, calls: Vec<CallRecord>) {
        self.has_older = has_older;
        self.is_loading_older = false;
        let mut order: Vec<MessageId> = messages.iter().map(|record| record.id.clone()).collect();
        order.retain(|id| !self.messages.contains_key(id));
        order.append(&mut self.order);
        self.order = order;
        for record in messages {
            self.messages.entry(record.id.clone()).or_insert(record);
        }
        for record in calls {
            self.calls.entry(record.call.id.clone()).or_insert_with(|| CallView::new(record));
        }
        let known: Vec<UndoEntry> = self.undo.values().cloned().collect();
        self.change_undo(known);
        let secrets = std::mem::take(&mut self.secrets);
        self.set_secrets(secrets);
    }

    /// What is known of secrets changed.
    pub fn set_secrets(&mut self, secrets: Vec<MaskedSecret>) {
        for (id, call) in &mut self.calls {
            let masked: Vec<MaskedSecret> =
                secrets.iter().filter(|secret| secret.places.contains(id.as_str())).cloned().collect();
            if call.masked != masked {
                call.masked = masked;
                call.revision += 1;
            }
        }
        let held = |secrets: &[MaskedSecret], id: &str| -> Vec<(String, bool)> {
            let here = secrets.iter().filter(|secret| secret.places.contains(id));
            here.map(|secret| (secret.id.clone(), secret.is_released)).collect()
        };
        let changed: Vec<MessageId> = self
            .order
            .iter()
            .filter(|id| held(&self.secrets, id.as_str()) != held(&secrets, id.as_str()))
            .cloned()
            .collect();
        for id in &changed {
            self.bump(id);
        }
        self.secrets = secrets;
        self.rebuild();
    }

    /// What was masked of a message.
    pub fn masked_in(&self, message: &MessageId) -> Vec<MaskedSecret> {
        self.secrets.iter().filter(|secret| secret.places.contains(message.as_str())).cloned().collect()
    }

    /// A message was added at the end or changed as a whole.
    pub fn change_message(&mut self, record: MessageRecord) {
        let id = record.id.clone();
        if record.status != MessageStatus::Streaming {
            self.thinking_started = None;
            self.note = TurnNote::None;
        }
        if self.messages.insert(id.clone(), record).is_none() {
            self.order.push(id.clone());
            self.can_continue = false;
        }
        self.bump(&id);
        self.rebuild();
    }

    /// More of a streaming answer.
    pub fn stream(&mut self, message: &MessageId, body: &StreamBody, now: UnixMs) {
        self.note = TurnNote::None;
        let Some(record) = self.messages.get_mut(message) else { return };
        let is_new = match body {
            StreamBody::ThinkingStart => {
                self.thinking_started = Some(now);
                false
            }
            StreamBody::ThinkingEnd => {
                self.thinking_started = None;
                false
            }
            StreamBody::ReasoningDelta { delta } => {
                let reasoning = record.message.reasoning_content.get_or_insert_default();
                let is_first = reasoning.is_empty();
                reasoning.push_str(delta);
                is_first
            }
            StreamBody::TextDelta { delta } => {
                let is_first = record.message.content.is_empty();
                record.message.content.push_str(delta);
                is_first
            }
            // A complete call comes as a ledger row; counts and errors come with the whole message.
            StreamBody::ToolCallDelta { .. }
            | StreamBody::ToolCallComplete { .. }
            | StreamBody::Usage { .. }
            | StreamBody::Error { .. }
            | StreamBody::Done => return,
        };
        self.bump(message);
        if is_new {
            self.rebuild();
            return;
        }
        let revision = self.revisions.get(message).copied().unwrap_or(0);
        let grown = self.items.iter_mut().rev().filter(|item| match &item.kind {
            ItemKind::Thinking(id) | ItemKind::Answer(id) => id == message,
            ItemKind::Person(_)
            | ItemKind::Call(_)
            | ItemKind::CallGroup(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => false,
        });
        // The text goes on at the item that grows; the thinking before it only redraws its heading.
        for item in grown {
            item.revision = revision;
        }
    }

    /// A call was added or changed.
    pub fn change_call(&mut self, record: CallRecord) {
        match self.calls.get_mut(&record.call.id) {
            Some(view) => {
                // Its output is in the result now.
                if record.result.is_some() {
                    view.output.clear();
                }
                view.record = record;
                view.revision += 1;
            }
            None => {
                self.calls.insert(record.call.id.clone(), CallView::new(record));
            }
        }
        self.rebuild();
    }

    /// Entries of the journal are new or changed.
    pub fn change_undo(&mut self, entries: Vec<UndoEntry>) {
        for mut entry in entries {
            if let Some(known) = self.undo.get(&entry.id) {
                // The message that asks for it here: a fork has messages of its own.
                entry.message.clone_from(&known.message);
            }
            let call = self.calls.get_mut(&entry.call).filter(|_| entry.reverts.is_none());
            if let Some(view) = call.filter(|view| view.undo != Some(entry.state)) {
                view.undo = Some(entry.state);
                view.revision += 1;
            }
            self.undo.insert(entry.id.clone(), entry);
        }
        self.rebuild();
    }

    /// The changes that tools made, oldest first.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = &UndoEntry> {
        self.undo.values().filter(|entry| entry.reverts.is_none() && entry.state != UndoState::Void)
    }

    /// More output of a running command.
    pub fn append_output(&mut self, call: &CallId, text: &str) {
        let Some(view) = self.calls.get_mut(call) else { return };
        view.output.push_str(text);
        if view.output.len() > MAX_OUTPUT_BYTES {
            let mut cut = view.output.len() - MAX_OUTPUT_BYTES;
            while !view.output.is_char_boundary(cut) {
                cut += 1;
            }
            view.output.drain(..cut);
        }
        view.revision += 1;
        self.touch_call(call);
    }

    /// How many files a running call has looked at.
    pub fn progress(&mut self, call: &CallId, files: u64) {
        let Some(view) = self.calls.get_mut(call) else { return };
        view.scanned_files = Some(files);
        view.revision += 1;
        self.touch_call(call);
    }

    /// Opens or closes a card.
    pub fn toggle_call(&mut self, call: &CallId) {
        if let Some(view) = self.calls.get_mut(call) {
            view.chosen_open = Some(!view.is_open());
            view.revision += 1;
        }
        self.touch_call(call);
    }

    /// Opens or closes a thinking block or a run of calls.
    pub fn toggle_item(&mut self, key: u64) {
        if !self.toggled.remove(&key) {
            self.toggled.insert(key);
        }
        if let Some(item) = self.items.iter_mut().find(|item| item.key == key) {
            item.revision = item.revision.wrapping_add(1 << 32);
        }
    }

    /// Where the turn stands now.
    pub fn set_state(&mut self, state: State) {
        let was_running = self.state.is_running();
        self.state = state;
        // The facts below the last answer show only when the turn is over.
        if was_running != state.is_running() {
            self.rebuild();
        }
    }

    /// The turn ended; `can_continue` offers to go on.
    pub fn end_turn(&mut self, state: State, can_continue: bool) {
        self.state = state;
        self.can_continue = can_continue;
        self.thinking_started = None;
        self.note = TurnNote::None;
        self.rebuild();
    }

    fn bump(&mut self, message: &MessageId) {
        *self.revisions.entry(message.clone()).or_insert(0) += 1;
    }
}

impl CallView {
    fn new(record: CallRecord) -> Self {
        Self {
            record,
            output: String::new(),
            scanned_files: None,
            chosen_open: None,
            masked: Vec::new(),
            undo: None,
            revision: 1,
        }
    }
    /// Whether its card is open now: while it waits, when it must say why it did not do what was asked, or what it did beside
    /// that, it is, unless the person closed it. Who said no knows why.
    pub fn is_open(&self) -> bool {
        self.chosen_open.unwrap_or_else(|| match self.record.status {
            CallStatus::Waiting | CallStatus::Failed => true,
            CallStatus::Denied => self.record.decider != Some(Decider::Person),
            CallStatus::Succeeded => self
                .record
                .result
                .as_ref()
                .is_some_and(|result| MUST_BE_SEEN.iter().any(|field| result.result.get(field).is_some())),
            CallStatus::Pending | CallStatus::Running | CallStatus::Cancelled | CallStatus::Unknown => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_support::{message, session};
    use crate::ir::{SessionId, ToolCall};

    fn view(messages: Vec<MessageRecord>, calls: Vec<CallRecord>) -> SessionView {
        SessionView::new(session("s", "One", 0), messages, false, calls, RuleSet::default(), State::Idle, Vec::new())
    }

    fn call(id: &str, name: &str, status: CallStatus) -> CallRecord {
        let call = ToolCall {
            id: CallId::new(id),
            name: name.to_owned(),
            args: serde_json::json!({}),
            iteration: 1,
            timestamp: UnixMs(0),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        };
        let message = Some(MessageId::new("a"));
        CallRecord { status, ..CallRecord::new(call, SessionId::new("s"), message, UnixMs(0)) }
    }

    fn kinds(view: &SessionView) -> Vec<String> {
        view.items.iter().map(|item| format!("{:?}", item.kind).replace(['"', '\\'], "")).collect()
    }

    #[test]
    fn finished_reads_fold_into_one_line_and_a_write_stands_alone() {
        let calls = vec![
            call("1", "read_file", CallStatus::Succeeded),
            call("2", "search_files", CallStatus::Succeeded),
            call("3", "write_file", CallStatus::Waiting),
            call("4", "read_file", CallStatus::Failed),
        ];
        let mut answer = message("a", Role::Assistant, "Looking.");
        answer.message.tool_calls = Some(calls.iter().map(|record| record.call.clone()).collect());
        let view = view(vec![message("u", Role::User, "Go"), answer], calls);
        assert_eq!(
            kinds(&view),
            [
                "Person(MessageId(u))",
                "Answer(MessageId(a))",
                "CallGroup([CallId(1), CallId(2)])",
                "Call(CallId(3))",
                "Call(CallId(4))",
                "Meta(MessageId(a))"
            ]
        );
    }

    /// What its card would show of a command that ended so.
    fn ended(status: CallStatus, result: serde_json::Value) -> CallRecord {
        let mut record = call("c", "run_command", status);
        record.result = Some(serde_json::from_value(result).unwrap());
        record
    }

    #[test]
    fn a_card_that_has_something_to_say_opens_by_itself_unless_the_person_chose() {
        let result = |field: &str| {
            let result = serde_json::json!({"exitCode": 0, field: 1});
            serde_json::json!({"toolCallId": "c", "toolName": "run_command", "success": true, "result": result, "durationMs": 1, "timestamp": 0})
        };
        for (status, field, expected) in [
            (CallStatus::Succeeded, "stdout", false),
            (CallStatus::Succeeded, "unclearOutside", false),
            (CallStatus::Succeeded, "changedOutside", true),
            (CallStatus::Succeeded, "openedFolders", true),
            (CallStatus::Succeeded, "reverted", true),
            (CallStatus::Succeeded, "refusedToChange", true),
            (CallStatus::Succeeded, "exchangedWhileRunning", true),
            (CallStatus::Failed, "stdout", true),
            (CallStatus::Cancelled, "stdout", false),
        ] {
            let mut view = view(Vec::new(), vec![call("c", "run_command", CallStatus::Running)]);
            let id = CallId::new("c");
            let is_open = |view: &SessionView| view.calls[&id].is_open();
            assert!(!is_open(&view));
            view.change_call(ended(status, result(field)));
            assert_eq!(is_open(&view), expected, "{status:?} {field}");
            view.toggle_call(&id);
            assert_eq!(is_open(&view), !expected, "{status:?} {field}");
        }
        // What was opened while it ran stays open, whatever becomes of it.
        for status in [CallStatus::Succeeded, CallStatus::Failed] {
            let mut view = view(Vec::new(), vec![call("c", "run_command", CallStatus::Running)]);
            view.toggle_call(&CallId::new("c"));
            view.change_call(ended(status, result("stdout")));
            assert!(view.calls[&CallId::new("c")].is_open(), "{status:?}");
        }
    }

    #[test]
    fn a_delta_changes_the_growing_item_alone() {
        let mut answer = message("a", Role::Assistant, "");
        answer.status = MessageStatus::Streaming;
        let mut view = view(vec![message("u", Role::User, "Go"), answer], Vec::new());
        let id = MessageId::new("a");
        let delta = |text: &str| StreamBody::TextDelta { delta: text.to_owned() };
        view.stream(&id, &delta("Hel"), UnixMs(0));
        let before = view.items.clone();
        view.stream(&id, &delta("lo"), UnixMs(0));
        assert_eq!(view.messages[&id].message.content, "Hello");
        assert_eq!(before[0], view.items[0]);
        assert_eq!(before[1].key, view.items[1].key);
        assert_ne!(before[1].revision, view.items[1].revision);
    }

    #[test]
    fn the_facts_below_an_answer_wait_for_the_end_of_the_turn() {
        let mut view = view(vec![message("u", Role::User, "Go"), message("a", Role::Assistant, "Yes")], Vec::new());
        view.set_state(State::Confirming);
        assert_eq!(kinds(&view), ["Person(MessageId(u))", "Answer(MessageId(a))"]);
        view.end_turn(State::Done, false);
        assert_eq!(kinds(&view), ["Person(MessageId(u))", "Answer(MessageId(a))", "Meta(MessageId(a))"]);
    }

    #[test]
    fn an_older_page_goes_before_and_keys_stay() {
        let mut view = view(vec![message("b", Role::User, "two")], Vec::new());
        let key = view.items[0].key;
        view.prepend(vec![message("a", Role::User, "one")], false, Vec::new());
        assert_eq!(kinds(&view), ["Person(MessageId(a))", "Person(MessageId(b))"]);
        assert_eq!(view.items[1].key, key);
    }
}

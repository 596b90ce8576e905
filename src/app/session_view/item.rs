//! What the transcript draws, one item after the other: laid out anew after a change of structure, never for a delta.

use std::collections::{HashMap, HashSet};

use crate::ir::{CallId, CallRecord, CallStatus, MessageId, MessageRecord, MessageStatus, Role};

use super::{CallView, SessionView};

/// One thing that is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Stays the same for as long as the thing is shown.
    pub key: u64,
    /// Changes whenever anything that is drawn of it changes.
    pub revision: u64,
    pub kind: ItemKind,
}

/// What an item draws.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// The person's message.
    Person(MessageId),
    /// What the model thought.
    Thinking(MessageId),
    /// The model's text.
    Answer(MessageId),
    /// One call.
    Call(CallId),
    /// A run of finished reads, folded into one line.
    CallGroup(Vec<CallId>),
    /// Why an answer broke off, with *Retry*.
    Failure(MessageId),
    /// The round limit was reached, with *Continue*.
    Limit,
    /// Model, tokens, speed, time and the actions of the last answer of a turn.
    Meta(MessageId),
    /// What had come when the person stopped it or Nod ended.
    Interrupted(MessageId),
}

impl SessionView {
    /// A call changed: what shows it is drawn anew.
    pub(super) fn touch_call(&mut self, call: &CallId) {
        let calls = &self.calls;
        let shown = self.items.iter_mut().rev().find(|item| match &item.kind {
            ItemKind::Call(id) => id == call,
            ItemKind::CallGroup(ids) => ids.contains(call),
            ItemKind::Person(_)
            | ItemKind::Thinking(_)
            | ItemKind::Answer(_)
            | ItemKind::Failure(_)
            | ItemKind::Limit
            | ItemKind::Meta(_)
            | ItemKind::Interrupted(_) => false,
        });
        if let Some(item) = shown {
            item.revision = if let ItemKind::CallGroup(ids) = &item.kind {
                ids.iter().map(|id| revision_of(calls, id)).sum()
            } else {
                revision_of(calls, call)
            };
        }
    }

    /// Lays the items out anew: after a change of structure only, never for a delta.
    pub(super) fn rebuild(&mut self) {
        let mut kinds: Vec<ItemKind> = Vec::with_capacity(self.items.len() + 4);
        let mut reads: Vec<CallId> = Vec::new();
        for (index, id) in self.order.iter().enumerate() {
            let Some(record) = self.messages.get(id) else { continue };
            match record.message.role {
                Role::User => {
                    flush(&mut reads, &mut kinds);
                    kinds.push(ItemKind::Person(id.clone()));
                }
                Role::Assistant => {
                    let is_last_of_turn = self
                        .order
                        .get(index + 1..)
                        .unwrap_or_default()
                        .iter()
                        .filter_map(|next| self.messages.get(next))
                        .find(|next| next.message.role != Role::Tool)
                        .map_or(!self.state.is_running(), |next| next.message.role == Role::User);
                    self.lay_out_answer(record, is_last_of_turn, &mut reads, &mut kinds);
                }
                // Results are on their call's card; a summary of compressed history is not shown as a message.
                Role::Tool | Role::System => {}
            }
        }
        flush(&mut reads, &mut kinds);
        self.find_undoable_turns(&kinds);
        if self.can_continue {
            kinds.push(ItemKind::Limit);
        }
        self.items = kinds
            .into_iter()
            .map(|kind| {
                let key = kind.key();
                let toggled = if self.toggled.contains(&key) { 1 << 32 } else { 0 };
                Item { key, revision: toggled + self.revision(&kind), kind }
            })
            .collect();
    }

    /// Which of the shown turns changed something that can be taken back.
    fn find_undoable_turns(&mut self, kinds: &[ItemKind]) {
        self.undoable_turns.clear();
        let undoable: HashSet<&MessageId> =
            self.changes().filter(|entry| entry.can_undo()).filter_map(|entry| entry.message.as_ref()).collect();
        if undoable.is_empty() {
            return;
        }
        let shown: HashSet<&MessageId> =
            kinds.iter().filter_map(|kind| if let ItemKind::Meta(id) = kind { Some(id) } else { None }).collect();
        let mut ends = Vec::new();
        let mut is_undoable = false;
        for id in &self.order {
            let Some(record) = self.messages.get(id) else { continue };
            match record.message.role {
                Role::User => is_undoable = false,
                Role::Assistant => is_undoable |= undoable.contains(id),
                Role::Tool | Role::System => {}
            }
            if is_undoable && shown.contains(id) {
                ends.push(id.clone());
            }
        }
        self.undoable_turns.extend(ends);
    }

    fn lay_out_answer(
        &self,
        record: &MessageRecord,
        is_last_of_turn: bool,
        reads: &mut Vec<CallId>,
        kinds: &mut Vec<ItemKind>,
    ) {
        let id = &record.id;
        if record.message.reasoning_content.as_deref().is_some_and(|text| !text.trim().is_empty()) {
            flush(reads, kinds);
            kinds.push(ItemKind::Thinking(id.clone()));
        }
        if !record.message.content.trim().is_empty() {
            flush(reads, kinds);
            kinds.push(ItemKind::Answer(id.clone()));
        }
        for call in record.message.calls() {
            let Some(view) = self.calls.get(&call.id) else { continue };
            // What was masked stays in sight.
            if is_quiet_read(&view.record) && view.masked.is_empty() {
                reads.push(call.id.clone());
            } else {
                flush(reads, kinds);
                kinds.push(ItemKind::Call(call.id.clone()));
            }
        }
        // Rows of a message that still streams: their calls are not in the message yet.
        let mut early: Vec<&CallView> = self
            .calls
            .values()
            .filter(|view| view.record.message.as_ref() == Some(id))
            .filter(|view| !record.message.calls().iter().any(|call| call.id == view.record.call.id))
            .collect();
        early.sort_by(|a, b| (a.record.created_at, &a.record.call.id).cmp(&(b.record.created_at, &b.record.call.id)));
        for view in early {
            flush(reads, kinds);
            kinds.push(ItemKind::Call(view.record.call.id.clone()));
        }
        if record.error.is_some() {
            flush(reads, kinds);
            kinds.push(ItemKind::Failure(id.clone()));
        }
        match record.status {
            MessageStatus::Stopped | MessageStatus::Interrupted => {
                flush(reads, kinds);
                kinds.push(ItemKind::Interrupted(id.clone()));
            }
            MessageStatus::Complete | MessageStatus::Failed | MessageStatus::Streaming => {}
        }
        if is_last_of_turn && record.status != MessageStatus::Streaming {
            flush(reads, kinds);
            kinds.push(ItemKind::Meta(id.clone()));
        }
    }

    fn revision(&self, kind: &ItemKind) -> u64 {
        match kind {
            ItemKind::Person(id)
            | ItemKind::Thinking(id)
            | ItemKind::Answer(id)
            | ItemKind::Failure(id)
            | ItemKind::Meta(id)
            | ItemKind::Interrupted(id) => self.revisions.get(id).copied().unwrap_or(0),
            ItemKind::Call(id) => revision_of(&self.calls, id),
            ItemKind::CallGroup(ids) => ids.iter().map(|id| revision_of(&self.calls, id)).sum(),
            ItemKind::Limit => 0,
        }
    }
}

impl ItemKind {
    /// A key that is the same wherever the same thing stands. A run of calls keeps its first call's.
    fn key(&self) -> u64 {
        match self {
            Self::Person(id) => hash(1, id.as_str()),
            Self::Thinking(id) => hash(2, id.as_str()),
            Self::Answer(id) => hash(3, id.as_str()),
            Self::Call(id) => hash(4, id.as_str()),
            Self::CallGroup(ids) => hash(5, ids.first().map_or("", CallId::as_str)),
            Self::Failure(id) => hash(6, id.as_str()),
            Self::Limit => hash(7, ""),
            Self::Meta(id) => hash(8, id.as_str()),
            Self::Interrupted(id) => hash(9, id.as_str()),
        }
    }
}

/// A finished call that only looked: one line of many.
fn is_quiet_read(record: &CallRecord) -> bool {
    record.status == CallStatus::Succeeded
        && matches!(record.call.name.as_str(), "read_file" | "list_directory" | "search_files")
}

fn flush(reads: &mut Vec<CallId>, kinds: &mut Vec<ItemKind>) {
    match reads.as_slice() {
        [] => {}
        [only] => {
            kinds.push(ItemKind::Call(only.clone()));
            reads.clear();
        }
        [..] => kinds.push(ItemKind::CallGroup(std::mem::take(reads))),
    }
}

fn revision_of(calls: &HashMap<CallId, CallView>, id: &CallId) -> u64 {
    calls.get(id).map_or(0, |view| view.revision)
}

/// FNV-1a: the same in every run, unlike the standard hasher.
fn hash(kind: u8, text: &str) -> u64 {
    std::iter::once(kind)
        .chain(text.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

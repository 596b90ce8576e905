//! What can be said of an item without drawing it.

use crate::app::{Item, ItemKind, SessionView};
use crate::ir::{MessageId, MessageStatus, State};
use crate::ui::theme::{size, space};

/// The message that an item shows; for jumping to it.
pub(super) fn message(kind: &ItemKind) -> Option<&MessageId> {
    match kind {
        ItemKind::Person(id) | ItemKind::Answer(id) => Some(id),
        ItemKind::Thinking(_)
        | ItemKind::Call(_)
        | ItemKind::CallGroup(_)
        | ItemKind::Failure(_)
        | ItemKind::Limit
        | ItemKind::Meta(_)
        | ItemKind::Interrupted(_) => None,
    }
}

/// Height of an item that was never laid out; for the scroll bar alone.
pub(super) fn guess(view: &SessionView, kind: &ItemKind, width: f32) -> f32 {
    let text = |id: &MessageId| {
        let length = view.messages.get(id).map_or(0, |record| record.message.content.len());
        (length as f32 * 7.0 / width.max(1.0)).ceil().max(1.0) * 22.0
    };
    match kind {
        ItemKind::Person(id) => text(id) + 68.0,
        ItemKind::Answer(id) => text(id) + space::M,
        ItemKind::Thinking(_) | ItemKind::Meta(_) => 36.0,
        ItemKind::Call(_) | ItemKind::CallGroup(_) => size::CARD_HEADER + space::M,
        ItemKind::Failure(_) | ItemKind::Limit | ItemKind::Interrupted(_) => 60.0,
    }
}

/// Space above an item; the same wherever it stands, so that items before it move nothing.
pub(super) fn gap(kind: &ItemKind) -> f32 {
    match kind {
        ItemKind::Person(_) => space::XL,
        ItemKind::Answer(_)
        | ItemKind::Call(_)
        | ItemKind::CallGroup(_)
        | ItemKind::Failure(_)
        | ItemKind::Limit
        | ItemKind::Interrupted(_) => space::M,
        ItemKind::Thinking(_) | ItemKind::Meta(_) => space::S,
    }
}

/// Whether a thinking block grows now.
pub(super) fn is_thinking(view: &SessionView, id: &MessageId) -> bool {
    view.thinking_started.is_some()
        && view.messages.get(id).is_some_and(|record| record.status == MessageStatus::Streaming)
}

/// Whether a thinking block or a run of calls is open.
pub(super) fn is_open(view: &SessionView, item: &Item, show_thinking: bool) -> bool {
    let by_itself = match &item.kind {
        ItemKind::Thinking(id) => show_thinking && is_thinking(view, id),
        ItemKind::Person(_)
        | ItemKind::Answer(_)
        | ItemKind::Call(_)
        | ItemKind::CallGroup(_)
        | ItemKind::Failure(_)
        | ItemKind::Limit
        | ItemKind::Meta(_)
        | ItemKind::Interrupted(_) => false,
    };
    by_itself != view.toggled.contains(&item.key)
}

/// Whether a turn runs and shows nothing of its own yet.
pub(super) fn is_waiting_for_model(view: &SessionView) -> bool {
    match view.state {
        State::Sending | State::Compressing => true,
        State::Accumulating => view.branch().next_back().is_some_and(|record| {
            let message = &record.message;
            record.status == MessageStatus::Streaming
                && message.content.is_empty()
                && message.reasoning_content.as_deref().unwrap_or_default().is_empty()
        }),
        State::Idle
        | State::Executing
        | State::Confirming
        | State::Collecting
        | State::Done
        | State::Cancelled
        | State::Failed => false,
    }
}

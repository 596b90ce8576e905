//! Which entries of the journal are meant: what a tool did, each with the last link of its chain.

use crate::ir::{MessageId, Role, SessionId, UndoDirection, UndoEntry, UndoScope, UndoState};
use crate::journal::ordered;

use super::super::fault::Fault;
use super::Shared;

/// Most entries of a session that are taken back at once.
const MOST_ENTRIES: usize = 5_000;
/// Most messages of a turn that are walked back over.
const MOST_MESSAGES: usize = 2_000;

/// A change that a tool made, and the newest link of its chain of undos and redos: what is really taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) root: UndoEntry,
    pub(super) tip: UndoEntry,
}

/// What a scope means, in the order in which it is carried out; and the session. Nothing goes by what somebody else has written,
/// at either end of a chain.
pub(super) async fn chains(
    shared: &Shared,
    scope: &UndoScope,
    direction: UndoDirection,
) -> Result<(SessionId, Vec<Chain>), Fault> {
    let missing = || Fault::new("fault-undo-missing", "");
    let store = &shared.store;
    let (session, found) = match scope {
        UndoScope::Entry { id } => {
            let found = store.undo_like(id).await?;
            let [entry] = found.as_slice() else {
                return Err(if found.is_empty() { missing() } else { Fault::new("fault-undo-ambiguous", "") });
            };
            (entry.session.clone(), found)
        }
        UndoScope::CallOf { id } => {
            let of = store.undo_like(id).await?;
            let [entry] = of.as_slice() else {
                return Err(if of.is_empty() { missing() } else { Fault::new("fault-undo-ambiguous", "") });
            };
            (entry.session.clone(), store.undo_of_call(&entry.session, &entry.call).await?)
        }
        UndoScope::Call { session, call } => (session.clone(), store.undo_of_call(session, call).await?),
        UndoScope::Turn { session, message } => {
            let messages = turn(shared, message).await?;
            (session.clone(), store.undo_of_messages(session, messages).await?)
        }
        UndoScope::Session { session } => (session.clone(), store.undo_entries(session, MOST_ENTRIES).await?),
    };
    let wanted = |entry: &UndoEntry| match direction {
        UndoDirection::Undo => entry.can_undo(),
        UndoDirection::Redo => entry.can_redo(),
    };
    let mut is_altered = found.iter().any(|entry| entry.state == UndoState::Altered);
    let roots: Vec<UndoEntry> = found.into_iter().filter(|entry| entry.reverts.is_none() && wanted(entry)).collect();
    let mut chains = Vec::with_capacity(roots.len());
    for root in ordered(roots, direction) {
        let mut tip = root.clone();
        // What somebody else has written may lead round in a circle.
        while tip.state != UndoState::Altered
            && let Some(next) = store.newest_revert(&tip.id).await?
        {
            tip = next;
        }
        if tip.state == UndoState::Altered {
            is_altered = true;
        } else {
            chains.push(Chain { root, tip });
        }
    }
    if chains.is_empty() {
        return Err(if is_altered { Fault::new("fault-undo-altered", "") } else { missing() });
    }
    Ok((session, chains))
}

/// The assistant messages of the turn that ends with this one.
async fn turn(shared: &Shared, last: &MessageId) -> Result<Vec<MessageId>, Fault> {
    let mut messages = Vec::new();
    let mut next = Some(last.clone());
    while let Some(id) = next.take() {
        let Some(record) = shared.store.message(&id).await? else { break };
        if record.message.role == Role::User || messages.len() >= MOST_MESSAGES {
            break;
        }
        messages.push(id);
        next = record.parent;
    }
    Ok(messages)
}

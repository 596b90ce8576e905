//! What a process that ended in the middle has left: brought to a state that is true, and never run again by itself.

use std::path::PathBuf;

use rusqlite::{Connection, TransactionBehavior};

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, CallRecord, CallStatus, MessageId, MessageStatus, UnixMs};

use super::audit::{Past, Whose};
use super::guarded::{Reach, Tightened};
use super::lineage::{Adopted, Lineage};
use super::row::word;
use super::seal::SealKey;
use super::{StoreError, audit, call, guarded, link, message, rule, secret, session, undo};

/// What was mended when a store was opened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recovery {
    /// Calls that may have had their effect (`Unknown` now): the person should look at their targets.
    pub calls: Vec<CallRecord>,
    /// Answers that were still growing (`Interrupted` now); what had come is kept.
    pub messages: Vec<MessageId>,
    /// Files and folders that others could read, and now cannot.
    pub repaired: Vec<PathBuf>,
    /// Whether the audit did not end as it was left.
    pub is_audit_mended: bool,
    /// Rules that were changed, added or removed from outside.
    pub changed_rules: usize,
    /// Sessions whose mode, folders or padlock, and opened files whose names speak of secrets, that were written from outside:
    /// the former are as strict as can be now, the latter closed.
    pub changed_grounds: usize,
    /// Chats that an older Nod kept, of which nothing shows that nobody has changed them since: as strict as can be, too.
    pub unproven_sessions: usize,
    /// Values that somebody else had sent as they are: masked again.
    pub changed_releases: usize,
    /// Entries of the history of changes that were written from outside, or that an older Nod kept and nothing vouches for:
    /// nothing goes by them any more.
    pub changed_undo: usize,
    /// What was written from outside beyond chats.
    pub tightened: Tightened,
    /// The same for what an older Nod kept without codes, and nothing vouches for.
    pub unproven: Tightened,
}

impl Recovery {
    /// Adds what the change of format has found.
    pub(super) fn take(&mut self, adopted: Adopted) {
        self.unproven_sessions = adopted.sessions;
        self.unproven = adopted.tightened;
    }
}

/// Mends everything in one transaction, and looks whether the audit ends as it was left.
pub(super) fn recover(
    connection: &mut Connection,
    seal: &SealKey,
    past: Past<'_>,
    lineage: Lineage,
    now: UnixMs,
) -> Result<Recovery, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_audit_mended = !audit::open_chain(&transaction, seal, past, lineage, now)?;
    if lineage.has_changed() {
        audit::note_format(&transaction, seal, now)?;
    }
    let mut recovery = Recovery {
        is_audit_mended,
        changed_rules: rule::examine(&transaction, seal, &Whose::All)?.broken.len(),
        changed_grounds: session::mend_changed(&transaction, seal)? + rule::close_unsealed(&transaction, seal)?,
        changed_releases: secret::mask_unsealed(&transaction, seal)?,
        changed_undo: undo::mark_unsealed(&transaction, seal)?,
        tightened: guarded::mend(&transaction, seal, Reach::Defaults)?,
        ..Recovery::default()
    };
    for mut record in call::unfinished(&transaction)? {
        let may_have_acted = settle_call(&mut record, now);
        call::update(&transaction, &record)?;
        let outcome = word("call", &record.status)?;
        let line = AuditEntry::of_call(now, AuditAct::Recovered, AuditOrigin::Nod, &record);
        audit::append(&transaction, seal, &AuditEntry { outcome, ..line })?;
        if may_have_acted {
            recovery.calls.push(record);
        }
    }
    for (row, mut record) in message::streaming(&transaction)? {
        record.status = MessageStatus::Interrupted;
        message::replace(&transaction, row, &record)?;
        recovery.messages.push(record.id);
    }
    link::settle_running(&transaction, now)?;
    transaction.commit()?;
    Ok(recovery)
}

/// Ends a call that nobody runs any more; gives whether it may have had its effect.
pub(super) fn settle_call(record: &mut CallRecord, now: UnixMs) -> bool {
    let (status, may_have_acted) = match record.status {
        CallStatus::Pending | CallStatus::Waiting => (CallStatus::Cancelled, false),
        CallStatus::Running => (CallStatus::Unknown, true),
        CallStatus::Succeeded
        | CallStatus::Failed
        | CallStatus::Denied
        | CallStatus::Cancelled
        | CallStatus::Unknown => return false,
    };
    record.status = status;
    record.finished_at = Some(now);
    may_have_acted
}

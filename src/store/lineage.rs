//! Where a database that is opened comes from: what an older program has left without codes gets them only if everything shows
//! that the older program left it so. A database that was set back to look older, so that its rows be taken over as they
//! stand, is none of these.
//!
//! Four things speak for the past: the key (was it there before?), the anchor beside the database, the audit's own lines, and
//! the format that each of them has known.

use rusqlite::{Connection, Transaction};

use super::anchor::Anchor;
use super::connection::header;
use super::guarded::{Reach, Tightened};
use super::seal::SealKey;
use super::{StoreError, audit, guarded, migration, session, undo};

/// The first format with an audit.
const AUDITED: i64 = 4;
/// The first format of which every program has written an anchor.
const ANCHORED: i64 = 8;

/// The first format in which chats carry codes, the first in which settings, providers and servers do, and the first in which
/// what takes changes back does.
const SEALED_SESSIONS: i64 = 10;
const SEALED_SETTINGS: i64 = 11;
const SEALED_UNDO: i64 = 12;

/// What a database was before it was brought to this program's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lineage {
    /// The format that was found; 0 for one that was just made.
    pub(super) format: i64,
    pub(super) trust: Trust,
}

/// How much of what stands without a code is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// It is new, or left by the older program exactly as it is: everything.
    Proven,
    /// Nothing shows that it was changed, and nothing that it was not: only what is strict.
    Unproven,
    /// This folder has known a newer format: somebody has set it back.
    SetBack,
}

impl Lineage {
    /// Of a database that was just made.
    pub(super) const NEW: Self = Self { format: 0, trust: Trust::Proven };

    /// Of a database as it stands, before it is changed.
    ///
    /// # Errors
    /// When its record cannot be read.
    pub(super) fn of(connection: &Connection, seal: &SealKey, anchor: Option<&Anchor>) -> Result<Self, StoreError> {
        let format = header(connection, "user_version")?;
        if format == 0 {
            return Ok(Self::NEW);
        }
        if format >= migration::known(migration::STEPS) {
            // Everything has its code: nothing is taken over.
            return Ok(Self { format, trust: Trust::Proven });
        }
        let has_audit = format >= AUDITED && audit::is_there(connection)?;
        let in_audit = if has_audit { audit::format_known(connection)? } else { 0 };
        let known = in_audit.max(anchor.map_or(0, |anchor| anchor.format));
        let trust = if known > format {
            Trust::SetBack
        } else if has_audit && is_as_left(connection, seal, anchor)? {
            Trust::Proven
        } else {
            Trust::Unproven
        };
        Ok(Self { format, trust })
    }

    /// Whether a program of that format has left an anchor beside the database, once there was a line.
    pub(super) const fn had_anchor(&self) -> bool {
        self.format >= ANCHORED
    }

    /// Whether a program of that format has kept an audit.
    pub(super) const fn had_audit(&self) -> bool {
        self.format >= AUDITED
    }

    /// Whether a program has written it that let what was removed stand in the free parts of the file.
    pub(super) const fn leaves_traces(self) -> bool {
        self.format > 0 && self.format < SEALED_SETTINGS
    }

    /// Whether this opening has brought it to another format.
    pub(super) fn has_changed(self) -> bool {
        self.format > 0 && self.format < migration::known(migration::STEPS)
    }

    /// Takes over what was without codes, in the step that brings the database to this program's format. What nothing vouches
    /// for is made strict, or is left to be found as what was set back is.
    pub(super) fn adopt(self, transaction: &Transaction<'_>, seal: &SealKey) -> Result<Adopted, StoreError> {
        let mut adopted = Adopted::default();
        match self.trust {
            Trust::Proven => {
                if self.format < SEALED_SESSIONS {
                    session::seal_all(transaction, seal)?;
                }
                if self.format < SEALED_SETTINGS {
                    guarded::seal_all(transaction, seal)?;
                }
                if self.format < SEALED_UNDO {
                    undo::seal_all(transaction, seal)?;
                }
            }
            Trust::Unproven => {
                if self.format < SEALED_SESSIONS {
                    adopted.sessions = session::mend_changed(transaction, seal)?;
                }
                if self.format < SEALED_SETTINGS {
                    adopted.tightened = guarded::mend(transaction, seal, Reach::Rows)?;
                }
            }
            Trust::SetBack => {}
        }
        Ok(adopted)
    }
}

/// What was made strict because nothing vouched for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Adopted {
    pub(super) sessions: usize,
    pub(super) tightened: Tightened,
}

/// Whether the record is whole and leads to where that program has left it.
fn is_as_left(connection: &Connection, seal: &SealKey, anchor: Option<&Anchor>) -> Result<bool, StoreError> {
    let Some(anchor) = anchor.filter(|anchor| !anchor.is_of_nothing()) else { return Ok(false) };
    Ok(audit::leads_to(connection, anchor)? && audit::is_whole(connection, seal)?)
}

#[cfg(test)]
mod tests;

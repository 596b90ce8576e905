//! A backup put back in the place of the database, while no Nod has the folder: checked for the record's own seal, judged as at
//! a start, and on record itself, so that the audit is whole from there on. What was replaced is kept beside it.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::ir::{AuditAct, AuditEntry, AuditOrigin, Clock, UnixMs};

use super::anchor::{self, Anchor};
use super::audit::Past;
use super::connection::{self, Mode};
use super::lineage::{Lineage, Trust};
use super::seal::SealKey;
use super::{Distrust, Recovery, Store, StoreError, audit, call, migration, place, recovery, seal, undo};

/// Whose backups are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupFrom {
    /// Those that this computer's own key has sealed.
    Here,
    /// Those of another computer too, or of a key that was lost: the conversations come along as told by somebody else,
    /// nothing that was allowed, and nothing that takes changes back.
    Anywhere,
}

/// What was put back.
#[derive(Debug)]
pub struct Restored {
    /// Where the replaced database lies now; none where there was none.
    pub aside: Option<PathBuf>,
    /// Lines of the record in the backup.
    pub lines: u64,
    /// Lines that only the replaced database has.
    pub left_behind: u64,
    /// Whether this computer made it, and nothing has changed it since.
    pub is_from_here: bool,
    /// What was found in it as at any start.
    pub recovered: Recovery,
}

impl Store {
    /// Puts a backup in the place of the database. Blocks until that is done; open the store next.
    ///
    /// # Errors
    /// `Locked` while a Nod has the folder; `Missing` without such a file; `Untrusted` for one that is damaged, another
    /// program's, or not from here; `Newer`; `ReadOnly`, `Full`, `Io`. Nothing was replaced then.
    pub fn restore(
        data_dir: &Path,
        backup: &Path,
        from: BackupFrom,
        clock: &Clock,
        key: impl FnOnce() -> Option<SealKey>,
    ) -> Result<Restored, StoreError> {
        let place = place::prepare(data_dir)?;
        let (database, now) = (&place.database, clock());
        let folder = database.parent().unwrap_or(Path::new(""));
        let seal = seal::of_folder(folder, key)?;
        let part = place::copy_in(backup, database)?;
        let restored = prepare(&part, backup, from, &seal, end_of(database, folder, &seal), now);
        let restored = restored.map_err(|error| error.at(backup)).and_then(|(restored, end)| {
            let aside = place::swap(&part, database, now)?;
            // Should the process end right here, the next start takes the backup for an older copy: strict, never loose.
            anchor::write(folder, &seal, &end)?;
            Ok(Restored { aside, ..restored })
        });
        if restored.is_err() {
            place::discard(&part);
        }
        restored
    }
}

/// Brings the copy to this program's format, mends it, and writes into it that it was restored.
fn prepare(
    part: &Path,
    backup: &Path,
    from: BackupFrom,
    seal: &SealKey,
    replaced: u64,
    now: UnixMs,
) -> Result<(Restored, Anchor), StoreError> {
    let distrust = |problem| StoreError::Untrusted { path: backup.to_owned(), problem };
    let mut writer = connection::open(part, Mode::Write)?;
    let format = connection::header(&writer, "user_version").map_err(|_broken| distrust(Distrust::DamagedBackup))?;
    let known = migration::known(migration::STEPS);
    if format > known {
        return Err(StoreError::Newer { path: backup.to_owned(), found: format, known });
    }
    connection::check_schema(&writer, backup)?;
    if format == 0 || !connection::complaints(&writer)?.is_empty() {
        return Err(distrust(Distrust::DamagedBackup));
    }
    let is_from_here = !seal.is_new() && audit::is_there(&writer)? && audit::is_whole(&writer, seal)?;
    if from == BackupFrom::Here && !is_from_here {
        return Err(distrust(Distrust::ForeignBackup));
    }
    let end = audit::last_if_any(&writer)?;
    connection::prepare_writer(&writer)?;
    // Whoever kept the file may have changed what had no codes yet.
    let lineage = Lineage { format, trust: Trust::Unproven };
    let adopted = migration::migrate(&mut writer, None, migration::STEPS, |all| lineage.adopt(all, seal))?;
    connection::trust_own_triggers(&writer)?;
    if !is_from_here {
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        call::mark_imported(&transaction)?;
        undo::forget_all(&transaction)?;
        transaction.commit()?;
    }
    let mut recovered = recovery::recover(&mut writer, seal, Past::Restored, lineage, now)?;
    recovered.take(adopted);
    let (lines, made_at) = end.map_or((0, None), |(lines, made_at)| (lines, made_at));
    let left_behind = if is_from_here { replaced.saturating_sub(lines) } else { 0 };
    let last = note(&mut writer, seal, lines, made_at, left_behind, now)?;
    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    writer.close().map_err(|(_, error)| error)?;
    Ok((Restored { aside: None, lines, left_behind, is_from_here, recovered }, last))
}

/// Says in the audit what was done; gives its end.
fn note(
    writer: &mut Connection,
    seal: &SealKey,
    lines: u64,
    made_at: Option<UnixMs>,
    left_behind: u64,
    now: UnixMs,
) -> Result<Anchor, StoreError> {
    let made_at = made_at.and_then(|at| jiff::Timestamp::from_millisecond(at.0).ok());
    let made_at = made_at.map_or_else(|| "?".to_owned(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let detail = format!("a backup that ends with line {lines} of {made_at}; the replaced file had {left_behind} more");
    let entry = AuditEntry { detail, ..AuditEntry::new(now, AuditAct::Restored, AuditOrigin::Person) };
    let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    audit::append(&transaction, seal, &entry)?;
    let (seq, hash) = audit::last(&transaction)?.unwrap_or_default();
    transaction.commit()?;
    Ok(Anchor { seq, hash, format: migration::known(migration::STEPS) })
}

/// How many lines the record of the database that is to be replaced has, as far as anything can tell.
fn end_of(database: &Path, folder: &Path, seal: &SealKey) -> u64 {
    let read = connection::open(database, Mode::Read).and_then(|connection| audit::last(&connection));
    let in_file = read.ok().flatten().map_or(0, |(seq, _)| seq);
    in_file.max(anchor::read(folder, seal).map_or(0, |anchor| anchor.seq))
}

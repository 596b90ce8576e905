//! A row of the journal as it is kept: under a code over everything that an undo goes by, so that nothing is written where, or
//! what, somebody else has written into the database.

use rusqlite::{Connection, Row, ToSql, Transaction, params};

use crate::ir::{
    CallId, FileState, MessageId, SessionId, UndoEntry, UndoId, UndoOperation, UndoPlace, UndoState, UnixMs,
};

use super::super::StoreError;
use super::super::guarded::Reader;
use super::super::row::{json, parse, variant, word};
use super::super::seal::SealKey;

pub(super) const COLUMNS: &str = "id, session, call, message, operation, reverts, place, before, after, made_folders, \
                                  state, created_at, settled_at";
/// What an entry's code is for.
const SEAL: &str = "nod undo 1";

/// Who reads, and with which key.
pub(super) struct Reading {
    pub(super) seal: SealKey,
    pub(super) reader: Reader,
}

/// An entry as its row holds it.
pub(super) struct Columns {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) call: String,
    pub(super) message: Option<String>,
    pub(super) operation: String,
    pub(super) reverts: Option<String>,
    pub(super) place: String,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) made_folders: i64,
    pub(super) state: String,
    pub(super) created_at: i64,
    pub(super) settled_at: Option<i64>,
}

impl Columns {
    pub(super) fn of(entry: &UndoEntry) -> Result<Self, StoreError> {
        Ok(Self {
            id: entry.id.to_string(),
            session: entry.session.to_string(),
            call: entry.call.to_string(),
            message: entry.message.as_ref().map(MessageId::to_string),
            operation: word("undo entry", &entry.operation)?,
            reverts: entry.reverts.as_ref().map(UndoId::to_string),
            place: json("undo entry", &entry.place)?,
            before: json("undo entry", &entry.before)?,
            after: json("undo entry", &entry.after)?,
            made_folders: entry.made_folders.into(),
            state: word("undo entry", &entry.state)?,
            created_at: entry.created_at.0,
            settled_at: entry.settled_at.map(|at| at.0),
        })
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            session: row.get(1)?,
            call: row.get(2)?,
            message: row.get(3)?,
            operation: row.get(4)?,
            reverts: row.get(5)?,
            place: row.get(6)?,
            before: row.get(7)?,
            after: row.get(8)?,
            made_folders: row.get(9)?,
            state: row.get(10)?,
            created_at: row.get(11)?,
            settled_at: row.get(12)?,
        })
    }

    fn entry(self) -> Result<UndoEntry, StoreError> {
        Ok(UndoEntry {
            id: UndoId(self.id),
            session: SessionId(self.session),
            call: CallId(self.call),
            message: self.message.map(MessageId),
            operation: variant("undo entry", &self.operation)?,
            reverts: self.reverts.map(UndoId),
            place: parse("undo entry", &self.place)?,
            before: parse("undo entry", &self.before)?,
            after: parse("undo entry", &self.after)?,
            made_folders: u32::try_from(self.made_folders).unwrap_or(u32::MAX),
            state: variant("undo entry", &self.state)?,
            created_at: UnixMs(self.created_at),
            settled_at: self.settled_at.map(UnixMs),
        })
    }

    /// What somebody else has written: shown as far as it can be read, and nothing goes by it.
    fn altered(self) -> UndoEntry {
        let nowhere = UndoPlace { folder: "?".to_owned(), device: 0, inode: 0, path: String::new() };
        UndoEntry {
            id: UndoId(self.id),
            session: SessionId(self.session),
            call: CallId(self.call),
            message: self.message.map(MessageId),
            operation: variant("undo entry", &self.operation).unwrap_or(UndoOperation::Changed),
            reverts: self.reverts.map(UndoId),
            place: parse("undo entry", &self.place).unwrap_or(nowhere),
            before: parse("undo entry", &self.before).unwrap_or(FileState::Missing),
            after: parse("undo entry", &self.after).unwrap_or(FileState::Missing),
            made_folders: 0,
            state: UndoState::Altered,
            created_at: UnixMs(self.created_at),
            settled_at: self.settled_at.map(UnixMs),
        }
    }

    pub(super) fn code(&self, seal: &SealKey) -> Result<String, StoreError> {
        self.with_texts(|texts| seal.code(texts))
    }

    fn is_sealed(&self, seal: &SealKey, code: &str) -> bool {
        self.with_texts(|texts| seal.fits(texts, code))
    }

    fn with_texts<T>(&self, work: impl FnOnce(&[&str]) -> T) -> T {
        let is_there = |there: bool| if there { "some" } else { "none" };
        let (made_folders, created_at) = (self.made_folders.to_string(), self.created_at.to_string());
        let settled_at = self.settled_at.map(|at| at.to_string());
        work(&[
            SEAL,
            &self.id,
            &self.session,
            &self.call,
            is_there(self.message.is_some()),
            self.message.as_deref().unwrap_or_default(),
            &self.operation,
            is_there(self.reverts.is_some()),
            self.reverts.as_deref().unwrap_or_default(),
            &self.place,
            &self.before,
            &self.after,
            &made_folders,
            &self.state,
            &created_at,
            is_there(settled_at.is_some()),
            settled_at.as_deref().unwrap_or_default(),
        ])
    }
}

/// The entries that fit, each held against its code.
pub(super) fn list(
    connection: &Connection,
    reading: &Reading,
    which: &str,
    values: &[&dyn ToSql],
) -> Result<Vec<UndoEntry>, StoreError> {
    // An older Nod's database has no codes yet, and nothing is decided by what is only looked at.
    let is_older = reading.reader == Reader::OnlyLooks && !connection.column_exists(None, "undo", "code")?;
    let code = if is_older { "NULL" } else { "code" };
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS}, {code} FROM undo WHERE {which}"))?;
    let mut rows = statement.query(values)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let columns = Columns::read(row)?;
        let is_ours = match row.get::<_, Option<String>>(13)? {
            Some(code) => columns.is_sealed(&reading.seal, &code),
            None => is_older,
        };
        entries.push(if is_ours { columns.entry()? } else { columns.altered() });
    }
    Ok(entries)
}

/// Keeps how an entry stands now, under its next code; what somebody else has written gets none of ours.
pub(super) fn set_state(
    transaction: &Transaction<'_>,
    seal: &SealKey,
    id: &UndoId,
    state: UndoState,
    settled_at: Option<UnixMs>,
) -> Result<(), StoreError> {
    let Some((mut columns, _)) =
        all(transaction, "id = ?1", &[&id.as_str()])?.into_iter().find(|(columns, code)| columns.is_sealed(seal, code))
    else {
        return Ok(());
    };
    columns.state = word("undo entry", &state)?;
    columns.settled_at = settled_at.map(|at| at.0).or(columns.settled_at);
    let code = columns.code(seal)?;
    transaction.execute(
        "UPDATE undo SET state = ?2, settled_at = ?3, code = ?4 WHERE id = ?1",
        params![columns.id, columns.state, columns.settled_at, code],
    )?;
    Ok(())
}

/// Gives every entry its code: once, when a program that had none has kept them until now.
pub(in super::super) fn seal_all(transaction: &Transaction<'_>, seal: &SealKey) -> Result<(), StoreError> {
    for (columns, _) in all(transaction, "true", &[])? {
        transaction.execute("UPDATE undo SET code = ?2 WHERE id = ?1", [&columns.id, &columns.code(seal)?])?;
    }
    Ok(())
}

/// Marks what carries no code that fits; gives how many entries were not marked before.
pub(in super::super) fn mark_unsealed(transaction: &Transaction<'_>, seal: &SealKey) -> Result<usize, StoreError> {
    let altered = word("undo entry", &UndoState::Altered)?;
    let mut marked = 0;
    for (columns, code) in all(transaction, "true", &[])? {
        if !columns.is_sealed(seal, &code) && columns.state != altered {
            marked += transaction.execute("UPDATE undo SET state = ?2 WHERE id = ?1", [&columns.id, &altered])?;
        }
    }
    Ok(marked)
}

fn all(connection: &Connection, which: &str, values: &[&dyn ToSql]) -> Result<Vec<(Columns, String)>, StoreError> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS}, code FROM undo WHERE {which}"))?;
    let found = statement.query_map(values, |row| Ok((Columns::read(row)?, row.get(13)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

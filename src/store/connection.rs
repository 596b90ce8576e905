//! Opens connections: every one distrusts the file's schema and is strict about what it finds in it.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::migration::STEPS;
use super::thread::CHECKPOINT_PAGES;
use super::{Distrust, StoreError};

/// "Nod!", in the file's header: which program's database this is.
pub(super) const APPLICATION_ID: i64 = 0x4E6F_6421;

/// A new file's page size. Every commit writes whole pages into the log: with small ones a streamed answer, which comes
/// in pieces of a few hundred bytes to a few kilobytes, costs a third of what it costs with SQLite's usual 4096.
const PAGE_BYTES: i64 = 1024;

/// How long a connection waits for another one's lock.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Reads and writes; makes the file if it is not there.
    Write,
    /// Reads beside a writer.
    Read,
    /// Reads in a folder where not even the log's index can be made. Sees nothing of what is still in the log.
    Immutable,
}

/// Opens a connection to a file whose path holds no link.
pub(super) fn open(database: &Path, mode: Mode) -> Result<Connection, StoreError> {
    let common = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = match mode {
        Mode::Write => Connection::open_with_flags(
            database,
            common | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        )?,
        Mode::Read => Connection::open_with_flags(database, common | OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        Mode::Immutable => {
            let mut uri =
                url::Url::from_file_path(database).map_err(|()| StoreError::ReadOnly { path: database.to_owned() })?;
            uri.set_query(Some("immutable=1"));
            Connection::open_with_flags(
                uri.as_str(),
                common | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            )?
        }
    };
    harden(&connection)?;
    Ok(connection)
}

/// A database that lives as long as its connection.
pub(super) fn open_in_memory() -> Result<Connection, StoreError> {
    let connection = Connection::open_in_memory()?;
    harden(&connection)?;
    Ok(connection)
}

fn harden(connection: &Connection) -> Result<(), StoreError> {
    connection.busy_timeout(BUSY_WAIT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(())
}

/// Settings of the file itself, made by the one writer.
pub(super) fn prepare_writer(connection: &Connection) -> Result<(), StoreError> {
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    // What is removed leaves nothing in the file that could be read back.
    connection.pragma_update(None, "secure_delete", true)?;
    // The log is cut back after a checkpoint instead of staying as long as it once was.
    connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)?;
    Ok(())
}

/// A number of the file's header.
pub(super) fn header(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

/// Refuses another program's file and anything in the schema that would run code of its own.
pub(super) fn check_schema(connection: &Connection, database: &Path) -> Result<(), StoreError> {
    let refuse = |problem| Err(StoreError::Untrusted { path: database.to_owned(), problem });
    let is_empty = connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get::<_, bool>(0))?;
    if is_empty && header(connection, "user_version")? == 0 {
        return Ok(());
    }
    if header(connection, "application_id")? != APPLICATION_ID {
        return refuse(Distrust::ForeignDatabase);
    }
    let mut suspects = connection.prepare(
        "SELECT name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view')
            OR (sql LIKE 'CREATE VIRTUAL TABLE%' AND name NOT IN ('message_text', 'title_text'))",
    )?;
    let mut rows = suspects.query([])?;
    while let Some(row) = rows.next()? {
        let sql: Option<String> = row.get(1)?;
        // What stands word for word in one of our own steps is ours.
        if !sql.is_some_and(|sql| sql.starts_with("CREATE TRIGGER") && STEPS.iter().any(|step| step.contains(&sql))) {
            return refuse(Distrust::ForeignSchema(row.get(0)?));
        }
    }
    Ok(())
}

/// Lets triggers work, once `check_schema` has found none but our own: they keep the audit from being changed.
pub(super) fn trust_own_triggers(connection: &Connection) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true)?;
    Ok(())
}

/// How SQLite complains of a damaged file; empty when it is sound.
pub(super) fn complaints(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut check = connection.prepare("PRAGMA quick_check(20)")?;
    let lines = check.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attempts on a database that hold a schema to do more than keep rows. Gives those that worked.
    fn worked(connection: &Connection) -> Vec<&'static str> {
        connection.execute_batch("CREATE TABLE note (text TEXT); CREATE TABLE told (text TEXT)").unwrap();
        let trigger = "CREATE TRIGGER spy AFTER INSERT ON note BEGIN INSERT INTO told VALUES (new.text); END;
                       INSERT INTO note VALUES ('x')";
        connection.execute_batch(trigger).unwrap();
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let rewrite = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql || ' ' WHERE name = 'note'";
        [
            ("a trigger ran", count("SELECT count(*) FROM told").is_ok_and(|told| told > 0)),
            ("the schema was written by hand", connection.execute_batch(rewrite).is_ok()),
            ("a view was read", connection.execute_batch("CREATE VIEW seen AS SELECT 1; SELECT * FROM seen").is_ok()),
            ("the schema is trusted", count("PRAGMA trusted_schema").is_ok_and(|is_trusted| is_trusted != 0)),
            ("damaged cells go unseen", count("PRAGMA cell_size_check").is_ok_and(|is_checked| is_checked == 0)),
            ("foreign keys do not count", count("PRAGMA foreign_keys").is_ok_and(|count| count == 0)),
        ]
        .into_iter()
        .filter_map(|(attempt, has_worked)| has_worked.then_some(attempt))
        .collect()
    }

    #[test]
    fn every_connection_distrusts_what_is_in_the_file() {
        assert_eq!(worked(&open_in_memory().unwrap()), Vec::<&str>::new());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("nod.db");
        let writer = open(&file, Mode::Write).unwrap();
        assert_eq!(worked(&writer), Vec::<&str>::new());
        for reader in [open(&file, Mode::Read).unwrap(), open(&file, Mode::Immutable).unwrap()] {
            assert!(reader.execute_batch("INSERT INTO note VALUES ('y')").is_err());
        }
        assert!(writer.execute_batch("SELECT load_extension('x')").is_err(), "nothing is loaded into the program");
        // The control: a connection as it comes.
        let plain = Connection::open_in_memory().unwrap();
        assert!(worked(&plain).len() >= 4, "{:?}", worked(&Connection::open_in_memory().unwrap()));
    }
}

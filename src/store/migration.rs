//! Brings a database to this program's format: numbered steps, forward only, all in one transaction, the file copied before.
//!
//! A step that has been released is never changed; a change of the format is a new step at the end.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::connection::{APPLICATION_ID, header};
use super::lineage::Adopted;
use super::{StoreError, place};

/// The steps; step `n` leads from format `n - 1` to format `n`.
pub(super) const STEPS: &[&str] = &[
    include_str!("migration/1.sql"),
    include_str!("migration/2.sql"),
    include_str!("migration/3.sql"),
    include_str!("migration/4.sql"),
    include_str!("migration/5.sql"),
    include_str!("migration/6.sql"),
    include_str!("migration/7.sql"),
    include_str!("migration/8.sql"),
    include_str!("migration/9.sql"),
    include_str!("migration/10.sql"),
    include_str!("migration/11.sql"),
    include_str!("migration/12.sql"),
];

/// The format that `steps` lead to.
pub(super) fn known(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// Applies the steps that are missing, and gives what they left without codes what `lineage` lets it have. `file` is where the
/// database lies; `None` where nothing is copied.
///
/// # Errors
/// `Newer` when the database knows steps that this program does not; then nothing was touched.
pub(super) fn migrate(
    connection: &mut Connection,
    file: Option<&Path>,
    steps: &[&str],
    adopt: impl FnOnce(&Transaction<'_>) -> Result<Adopted, StoreError>,
) -> Result<Adopted, StoreError> {
    let found = header(connection, "user_version")?;
    if found > known(steps) {
        let path = file.unwrap_or(Path::new("")).to_owned();
        return Err(StoreError::Newer { path, found, known: known(steps) });
    }
    if found == known(steps) {
        return Ok(Adopted::default());
    }
    if let Some(file) = file
        // What has just been made has nothing in it to copy.
        && found > 0
    {
        place::back_up(connection, file, found)?;
    }
    // One transaction for all: whatever happens, no format is left that nobody has given its codes.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (_, step) in (1_i64..).zip(steps).filter(|(number, _)| *number > found) {
        transaction.execute_batch(step)?;
    }
    let adopted = adopt(&transaction)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known(steps))?;
    transaction.commit()?;
    Ok(adopted)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::connection::{self, Mode};
    use super::*;

    const FIRST: &str = "CREATE TABLE note (text TEXT NOT NULL) STRICT; INSERT INTO note VALUES ('kept')";
    const SECOND: &str = "ALTER TABLE note ADD COLUMN size INTEGER; UPDATE note SET size = length(text)";

    #[expect(clippy::unnecessary_wraps, reason = "what is called when all steps are done")]
    fn nothing(_: &Transaction<'_>) -> Result<Adopted, StoreError> {
        Ok(Adopted::default())
    }

    fn count(connection: &Connection, table: &str) -> i64 {
        connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn missing_steps_are_applied_once_and_the_file_is_copied_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("nod.db");
        let mut database = connection::open(&file, Mode::Write).unwrap();
        connection::prepare_writer(&database).unwrap();
        migrate(&mut database, Some(&file), &[FIRST], nothing).unwrap();
        assert_eq!(place::backups(&file), Vec::<std::path::PathBuf>::new(), "there was nothing to copy");
        migrate(&mut database, Some(&file), &[FIRST, SECOND], nothing).unwrap();
        migrate(&mut database, Some(&file), &[FIRST, SECOND], nothing).unwrap();
        assert_eq!(header(&database, "user_version").unwrap(), 2);
        assert_eq!(count(&database, "note WHERE size = 4"), 1);

        let backups = place::backups(&file);
        assert_eq!(backups, [folder.path().canonicalize().unwrap().join("nod.db.backup-1")]);
        let copy = connection::open(&backups[0], Mode::Read).unwrap();
        assert_eq!((header(&copy, "user_version").unwrap(), count(&copy, "note")), (1, 1));
        assert!(copy.prepare("SELECT size FROM note").is_err(), "the copy is from before");
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            assert_eq!(std::fs::metadata(&backups[0]).unwrap().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let mut database = connection::open_in_memory().unwrap();
        migrate(&mut database, None, &[FIRST], nothing).unwrap();
        let broken = "DELETE FROM note; ALTER TABLE nowhere ADD COLUMN x";
        assert!(migrate(&mut database, None, &[FIRST, broken], nothing).is_err());
        assert_eq!((header(&database, "user_version").unwrap(), count(&database, "note")), (1, 1));
    }

    #[test]
    fn a_database_with_later_steps_is_left_alone() {
        let mut database = connection::open_in_memory().unwrap();
        migrate(&mut database, None, &[FIRST, SECOND], nothing).unwrap();
        let refused = migrate(&mut database, None, &[FIRST], nothing);
        assert!(matches!(refused, Err(StoreError::Newer { found: 2, known: 1, .. })), "{refused:?}");
    }

    #[test]
    fn only_so_many_copies_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("nod.db");
        let mut database = connection::open(&file, Mode::Write).unwrap();
        migrate(&mut database, Some(&file), &[FIRST], nothing).unwrap();
        for steps in 2..=6 {
            let all = [FIRST, "SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4", SECOND];
            migrate(&mut database, Some(&file), &all[..steps], nothing).unwrap();
        }
        let names: Vec<_> =
            place::backups(&file).into_iter().map(|path| path.extension().unwrap().to_owned()).collect();
        assert_eq!(names, ["backup-5", "backup-4", "backup-3"]);
    }

    #[test]
    fn every_table_is_strict() {
        let mut database = connection::open_in_memory().unwrap();
        migrate(&mut database, None, STEPS, nothing).unwrap();
        let loose =
            "pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict AND name <> 'sqlite_schema'";
        assert_eq!(count(&database, loose), 0);
    }
}

//! Brings a database to this program's format: numbered steps, forward only, each one transaction, the file copied before.
//!
//! A step that has been released is never changed; a change of the format is a new step at the end.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::connection::{APPLICATION_ID, header};
use super::{StoreError, place};

/// The steps; step `n` leads from format `n - 1` to format `n`.
pub(super) const STEPS: &[&str] = &[include_str!("migration/1.sql")];

/// The format that `steps` lead to.
pub(super) fn known(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// Applies the steps that are missing. `file` is where the database lies; `None` in memory, where nothing is copied.
///
/// # Errors
/// `Newer` when the database knows steps that this program does not; then nothing was touched.
pub(super) fn migrate(connection: &mut Connection, file: Option<&Path>, steps: &[&str]) -> Result<(), StoreError> {
    let found = header(connection, "user_version")?;
    if found > known(steps) {
        let path = file.unwrap_or(Path::new("")).to_owned();
        return Err(StoreError::Newer { path, found, known: known(steps) });
    }
    for (number, step) in (1_i64..).zip(steps).filter(|(number, _)| *number > found) {
        if let Some(file) = file
            && number > 1
        {
            place::back_up(connection, file, number - 1)?;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}

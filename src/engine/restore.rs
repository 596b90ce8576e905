//! A backup put back, for a command line: no engine runs meanwhile.

use std::path::Path;

use tokio::runtime::Builder;

use crate::ir::Clock;
use crate::port::Event;
use crate::secret::Keyring;
use crate::store::{Restored, Store};

use super::start::StartError;
use super::{news, seal};

pub use crate::store::BackupFrom;

/// What came of it.
pub struct Restoration {
    /// What was put back.
    pub restored: Restored,
    /// What the person is told of what was found in it.
    pub news: Vec<Event>,
}

/// Puts a backup in the place of the database of a data folder.
///
/// # Errors
/// When the store refuses it; nothing was replaced then.
pub fn restore(data_dir: &Path, backup: &Path, from: BackupFrom, clock: &Clock) -> Result<Restoration, StartError> {
    let runtime =
        Builder::new_current_thread().enable_time().build().map_err(|source| StartError::Threads { source })?;
    let key = || runtime.block_on(seal::find(&Keyring::default(), data_dir));
    let restored = Store::restore(data_dir, backup, from, clock, key)?;
    Ok(Restoration { news: news::of(&restored.recovered), restored })
}

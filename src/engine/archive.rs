//! What is stored, for reading only: command lines that look and do not touch, beside a running window.

use std::path::Path;

use crate::ir::{
    AuditCheck, AuditFilter, AuditRow, Clock, Contact, Error, MessageRecord, Preview, Session, SessionId, UndoEntry,
};
use crate::journal::Images;
use crate::port::{SearchHit, Settings};
use crate::secret::Keyring;
use crate::store::{SessionExport, Store, StoreError};

use super::{seal, setup};

/// A stored data folder, opened for reading.
pub struct Archive {
    store: Store,
    images: Images,
    runtime: tokio::runtime::Runtime,
}

impl Archive {
    /// Opens the data folder; `None` when nothing has been stored there yet.
    ///
    /// # Errors
    /// When there is a database that cannot be read.
    pub fn open(data_dir: &Path, clock: Clock) -> Result<Option<Self>, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| Error::new(crate::ir::ErrorCode::Unknown, format!("no runtime: {error}")))?;
        let key = || runtime.block_on(seal::find(&Keyring::default(), data_dir));
        let store = match Store::open_read_only_sealed(data_dir, clock, key) {
            Ok(store) => store,
            Err(StoreError::Missing { .. }) => return Ok(None),
            Err(_) if !data_dir.exists() => return Ok(None),
            Err(error) if is_empty(data_dir) => {
                tracing::info!(%error, "the database has not been begun yet");
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let images = Images::at(&data_dir.join(super::undo::FOLDER));
        Ok(Some(Self { store, images, runtime }))
    }

    /// All sessions, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sessions(&self) -> Result<Vec<Session>, Error> {
        Ok(self.runtime.block_on(self.store.list_sessions())?)
    }

    /// The shown branch of a session, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn messages(&self, session: &SessionId) -> Result<Vec<MessageRecord>, Error> {
        Ok(self.runtime.block_on(self.store.branch(session))?)
    }

    /// The hosts that a session has reached, or tried to; the last one first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn contacts(&self, session: &SessionId) -> Result<Vec<Contact>, Error> {
        Ok(self.runtime.block_on(self.store.contacts(session))?)
    }

    /// One session whole.
    ///
    /// # Errors
    /// When the database cannot be read or has no such session.
    pub fn export(&self, session: &SessionId) -> Result<SessionExport, Error> {
        Ok(self.runtime.block_on(self.store.export(session))?)
    }

    /// What was changed in all sessions, oldest first; the newest `limit` of it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn changes(&self, limit: usize) -> Result<Vec<UndoEntry>, Error> {
        Ok(self.runtime.block_on(self.store.all_undo_entries(limit))?)
    }

    /// What a change did, as far as its contents are kept.
    pub fn change(&self, entry: &UndoEntry) -> Preview {
        super::undo::preview(&self.images, &entry.before, &entry.after)
    }

    /// Where a text stands.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn search(&self, text: &str, limit: usize) -> Result<Vec<SearchHit>, Error> {
        let hits = self.runtime.block_on(self.store.search(text, limit))?;
        Ok(hits.into_iter().map(SearchHit::from).collect())
    }

    /// The settings.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn settings(&self) -> Result<Settings, Error> {
        let mut settings = Settings::from_stored(&self.runtime.block_on(self.store.settings())?).0;
        // A database of an older Nod, opened for reading only, has none yet.
        let records = self.runtime.block_on(self.store.providers()).unwrap_or_default();
        settings.providers = setup::known(records);
        Ok(settings)
    }

    /// Lines of the audit that fit, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn audit(&self, filter: &AuditFilter, limit: usize) -> Result<Vec<AuditRow>, Error> {
        Ok(self.runtime.block_on(self.store.audit_page(filter, 0, limit))?)
    }

    /// What an examination of the whole audit finds.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn check_audit(&self) -> Result<AuditCheck, Error> {
        Ok(self.runtime.block_on(self.store.check_audit())?)
    }

    /// What SQLite finds wrong with the database; empty when nothing is.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn integrity_problems(&self) -> Result<Vec<String>, Error> {
        Ok(self.runtime.block_on(self.store.integrity_check())?)
    }
}

/// Whether the database is a file without content: an engine was ended before it wrote anything.
fn is_empty(data_dir: &Path) -> bool {
    std::fs::metadata(data_dir.join("nod.db")).is_ok_and(|found| found.len() == 0)
}

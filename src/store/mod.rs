//! What is kept: SQLite behind named threads with bounded queues; one writes, readers have their own connections.
//!
//! One file per table family. No other room speaks SQL; rows are converted by hand to the IR. What the person typed,
//! decisions, ledger rows and final messages are committed with `synchronous=FULL` before what they guard; streamed text
//! is appended in small rows and folded into its message when that ends. Every change is one transaction.
#![expect(
    clippy::disallowed_methods,
    reason = "the room that keeps things opens connections, names threads and moves its own files"
)]

mod anchor;
mod audit;
mod call;
mod connection;
mod contact;
mod draft;
mod error;
mod export;
mod guarded;
mod lineage;
mod link;
mod message;
mod migration;
mod place;
mod provider;
mod recovery;
mod refusal;
mod restore;
mod room;
mod row;
mod rule;
mod seal;
mod search;
mod secret;
mod session;
mod setting;
mod thread;
mod undo;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction};

use crate::ir::{Clock, UnixMs};

use audit::Past;
use connection::Mode;
use guarded::Reader;
use lineage::{Adopted, Lineage};
use thread::{Kind, Lane};

pub use error::{Distrust, StoreError};
pub use export::SessionExport;
pub use guarded::Tightened;
pub use message::{Delta, Page};
pub use place::make_private_folder;
pub use recovery::Recovery;
pub use restore::{BackupFrom, Restored};
pub use seal::SealKey;
pub use search::{Hit, Words};

/// Everything that is kept. Cheap to clone; all clones share the threads.
///
/// Every method waits for its turn on a thread of the store and returns once the change is committed. When the last
/// clone goes away, what is queued is still written and the threads are waited for; `checkpoint_and_close` does that
/// without blocking.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    /// `None` when only reading.
    write: Option<Lane>,
    read: Option<Lane>,
    /// Apart from `read`, so that a long search never holds up a page.
    search: Option<Lane>,
    reader_threads: Vec<JoinHandle<()>>,
    writer_thread: Option<JoinHandle<()>>,
    database: PathBuf,
    clock: Clock,
    /// What rules and the end of the audit are sealed with.
    seal: SealKey,
    room: room::Room,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The writer last: who closes last folds the log into the database. A thread that panicked has nothing to write.
        (self.read, self.search) = (None, None);
        for thread in self.reader_threads.drain(..) {
            thread.join().ok();
        }
        self.write = None;
        if let Some(thread) = self.writer_thread.take() {
            thread.join().ok();
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("database", &self.0.database).finish_non_exhaustive()
    }
}

/// A store that was opened, and what the last run left unfinished.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// What was found broken off and mended.
    pub recovered: Recovery,
}

impl Store {
    /// Opens the database of a data folder for writing, making both where they are missing, and mends what a crash has
    /// left. Blocks until that is done.
    ///
    /// # Errors
    /// `Locked` when another process has it; `ReadOnly`, `Full`, `Io`; `Newer` (untouched); `Corrupt` (set aside: the
    /// next call starts afresh, `restore` before it brings a backup back); `Untrusted`.
    pub fn open(data_dir: &Path, clock: Clock) -> Result<Opened, StoreError> {
        Self::open_sealed(data_dir, clock, || None)
    }

    /// The same with a key from elsewhere for the codes of rules and audit: asked for once the folder is this process's
    /// own. Without one the key is a private file in the folder.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_sealed(
        data_dir: &Path,
        clock: Clock,
        key: impl FnOnce() -> Option<SealKey>,
    ) -> Result<Opened, StoreError> {
        let place = place::prepare(data_dir)?;
        let database = place.database.clone();
        let opened = Self::open_place(place, clock, key);
        opened.map_err(|error| error.at(&database))
    }

    fn open_place(
        place: place::Place,
        clock: Clock,
        key: impl FnOnce() -> Option<SealKey>,
    ) -> Result<Opened, StoreError> {
        let place::Place { database, lock, repaired } = place;
        let data_dir = database.parent().unwrap_or(Path::new("")).to_path_buf();
        let seal = seal::of_folder(&data_dir, key)?;
        let now = clock();
        let anchor = anchor::read(&data_dir, &seal);
        let (mut writer, lineage, adopted) = match open_writer(&database, &seal, anchor.as_ref()) {
            Err(StoreError::Corrupt { .. }) => return Err(place::set_aside(&database, now)),
            other => other?,
        };
        let mut recovered = recovery::recover(&mut writer, &seal, Past::of(anchor.as_ref()), lineage, now)?;
        recovered.take(adopted);
        recovered.repaired = repaired;
        write_anchor(&writer, &data_dir, &seal);
        let reader = connection::open(&database, Mode::Read)?;
        let searcher = connection::open(&database, Mode::Read)?;
        let (write, write_thread) = Lane::start("nod-store", writer, Some(lock), database.clone())?;
        let (read, read_thread) = Lane::start("nod-store-read", reader, None, database.clone())?;
        let (search, search_thread) = Lane::start("nod-store-search", searcher, None, database.clone())?;
        let inner = Inner {
            write: Some(write),
            read: Some(read),
            search: Some(search),
            reader_threads: vec![read_thread, search_thread],
            writer_thread: Some(write_thread),
            database,
            clock,
            seal,
            room: room::Room::default(),
        };
        Ok(Opened { store: Self(Arc::new(inner)), recovered })
    }

    /// A store that forgets everything when it goes away: for tests, and for going on without saving.
    ///
    /// # Errors
    /// `Sql`, `Io` when no thread can be started.
    pub fn open_in_memory(clock: Clock) -> Result<Opened, StoreError> {
        let mut connection = connection::open_in_memory()?;
        let seal = SealKey::random()?;
        migration::migrate(&mut connection, None, migration::STEPS, |all| Lineage::NEW.adopt(all, &seal))?;
        connection::trust_own_triggers(&connection)?;
        recovery::recover(&mut connection, &seal, Past::Restored, Lineage::NEW, clock())?;
        let (lane, thread) = Lane::start("nod-store", connection, None, PathBuf::new())?;
        let inner = Inner {
            write: Some(lane.clone()),
            read: Some(lane.clone()),
            search: Some(lane),
            reader_threads: Vec::new(),
            writer_thread: Some(thread),
            database: PathBuf::new(),
            clock,
            seal,
            room: room::Room::default(),
        };
        Ok(Opened { store: Self(Arc::new(inner)), recovered: Recovery::default() })
    }

    /// Opens an existing database beside its writer, of a newer Nod, or in a folder that cannot be written. Every change
    /// fails with `ReadOnly`; so may reading what a newer Nod keeps differently (`Sql`).
    ///
    /// # Errors
    /// `Missing` when there is no database; `Corrupt`, `Untrusted`, `Io`.
    pub fn open_read_only(data_dir: &Path, clock: Clock) -> Result<Self, StoreError> {
        Self::open_read_only_sealed(data_dir, clock, || None)
    }

    /// The same with a key from elsewhere, as `open_sealed`; without any key no code fits.
    ///
    /// # Errors
    /// As `open_read_only`.
    pub fn open_read_only_sealed(
        data_dir: &Path,
        clock: Clock,
        key: impl FnOnce() -> Option<SealKey>,
    ) -> Result<Self, StoreError> {
        let database = place::database_in(data_dir)?;
        let seal = match key() {
            Some(key) => key,
            None => SealKey::in_folder(data_dir)?.map_or_else(SealKey::random, Ok)?,
        };
        if !place::check_file(&database)? {
            return Err(StoreError::Missing { what: "database", id: database.display().to_string() });
        }
        let open = || {
            let beside_writer = connection::open(&database, Mode::Read).and_then(|connection| {
                connection::check_schema(&connection, &database)?;
                Ok(connection)
            });
            match beside_writer {
                Err(StoreError::ReadOnly { .. }) => connection::open(&database, Mode::Immutable),
                other => other,
            }
        };
        let (reader, searcher) = (open(), open());
        let (reader, searcher) =
            (reader.map_err(|error| error.at(&database))?, searcher.map_err(|error| error.at(&database))?);
        let (read, read_thread) = Lane::start("nod-store-read", reader, None, database.clone())?;
        let (search, search_thread) = Lane::start("nod-store-search", searcher, None, database.clone())?;
        let inner = Inner {
            write: None,
            read: Some(read),
            search: Some(search),
            reader_threads: vec![read_thread, search_thread],
            writer_thread: None,
            database,
            clock,
            seal,
            room: room::Room::default(),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Copies all that is kept to a file, in place of what is there; everything else goes on meanwhile. Not into the folder
    /// of the data: there it could take the database's own place.
    ///
    /// # Errors
    /// `Full`, `Io`.
    pub async fn copy_to(&self, target: PathBuf) -> Result<(), StoreError> {
        if self.data_dir().is_none() {
            return self.writer()?.run_bare(move |connection| place::copy(connection, &target)).await;
        }
        let database = self.0.database.clone();
        let copied =
            tokio::task::spawn_blocking(move || place::copy(&connection::open(&database, Mode::Read)?, &target));
        copied.await.map_err(|_broken| StoreError::Closed)?
    }

    /// Writes what is queued, folds the log into the database and closes it, for all clones.
    ///
    /// # Errors
    /// Whatever kept the log from being folded in; nothing is lost then, and the store is closed all the same.
    pub async fn checkpoint_and_close(self) -> Result<(), StoreError> {
        // In memory the writer reads too, and must first do what is queued.
        let readers = if self.0.reader_threads.is_empty() { [&None, &None] } else { [&self.0.read, &self.0.search] };
        for lane in readers.into_iter().flatten() {
            lane.stop().await;
        }
        let Some(lane) = &self.0.write else { return Ok(()) };
        let (seal, data_dir) = (self.seal(), self.data_dir());
        let folded = lane
            .run_bare(move |connection| {
                if let Some(data_dir) = data_dir {
                    write_anchor(connection, &data_dir, &seal);
                }
                connection.execute_batch("PRAGMA optimize")?;
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
                Ok(())
            })
            .await;
        lane.stop().await;
        match folded {
            Err(StoreError::Closed) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What SQLite finds wrong with the database; empty when nothing is.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub async fn integrity_check(&self) -> Result<Vec<String>, StoreError> {
        self.look(|transaction| connection::complaints(transaction)).await
    }

    /// The time, for rows that the store makes by itself.
    fn now(&self) -> UnixMs {
        (self.0.clock)()
    }

    /// Where the database lies; `None` for one in memory.
    /// The folder of the data; none in memory.
    pub fn data_dir(&self) -> Option<PathBuf> {
        self.0.database.parent().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_path_buf)
    }

    /// The key for codes.
    fn seal(&self) -> SealKey {
        self.0.seal.clone()
    }

    /// Changes something that guards an action or that the person must never lose.
    async fn guard<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer()?.run(Kind::Guarding, job).await
    }

    /// Changes something whose last moments may be lost in a power cut.
    async fn pass<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer()?.run(Kind::Passing, job).await
    }

    /// Looks something up in one snapshot.
    async fn look<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.0.read.as_ref().ok_or(StoreError::Closed)?.run(Kind::Read, job).await
    }

    fn reader(&self) -> Reader {
        if self.0.write.is_some() { Reader::Decides } else { Reader::OnlyLooks }
    }

    fn writer(&self) -> Result<&Lane, StoreError> {
        self.0.write.as_ref().ok_or_else(|| StoreError::ReadOnly { path: self.0.database.clone() })
    }
}

/// Opens the one writer and brings the file to this program's format.
fn open_writer(
    database: &Path,
    seal: &SealKey,
    anchor: Option<&anchor::Anchor>,
) -> Result<(Connection, Lineage, Adopted), StoreError> {
    let needs_check = place::needs_check(database);
    let mut writer = connection::open(database, Mode::Write)?;
    let found = connection::header(&writer, "user_version")?;
    let known = migration::known(migration::STEPS);
    if found > known {
        // Not even the log is folded in: the newer program finds everything as it left it.
        writer.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        return Err(StoreError::Newer { path: database.to_owned(), found, known });
    }
    connection::check_schema(&writer, database)?;
    let complaints = if needs_check { connection::complaints(&writer)? } else { Vec::new() };
    let (index_complaints, damage): (Vec<_>, Vec<_>) = complaints.into_iter().partition(|line| line.contains("FTS5"));
    if !damage.is_empty() {
        tracing::error!(?damage, "the database is damaged");
        return Err(StoreError::Corrupt { path: database.to_owned(), aside: None, backup: None });
    }
    connection::prepare_writer(&writer)?;
    let lineage = Lineage::of(&writer, seal, anchor)?;
    let adopted = migration::migrate(&mut writer, Some(database), migration::STEPS, |all| lineage.adopt(all, seal))?;
    connection::trust_own_triggers(&writer)?;
    if lineage.leaves_traces() {
        // An older program left in the file what it had removed.
        writer.execute_batch("VACUUM")?;
    }
    if !index_complaints.is_empty() {
        tracing::warn!(?index_complaints, "the full-text index is made anew");
        search::rebuild(&mut writer)?;
    }
    if needs_check {
        place::clear_suspect(database);
    }
    Ok((writer, lineage, adopted))
}

/// Writes down where the audit ends now: without it the next start says that it is missing.
fn write_anchor(connection: &Connection, data_dir: &Path, seal: &SealKey) {
    let written = audit::last(connection).and_then(|end| match end {
        Some((seq, hash)) => {
            anchor::write(data_dir, seal, &anchor::Anchor { seq, hash, format: migration::known(migration::STEPS) })
        }
        None => Ok(()),
    });
    if let Err(error) = written {
        tracing::warn!(%error, "where the audit ends was not written down");
    }
}

//! One named thread per connection with a bounded queue in front: a caller waits, its thread never does.
//!
//! Every job is one transaction: it is whole or it never was. This file knows no table.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::{StoreError, place};

/// Jobs that may wait in front of a connection.
const QUEUE_JOBS: usize = 256;

/// The log is folded into the database when it holds this many pages (4 MiB).
pub(super) const CHECKPOINT_PAGES: i64 = 4096;

/// How a job's transaction is begun and how firmly it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only looks.
    Read,
    /// Survives a power cut once it is acknowledged: what guards an action.
    Guarding,
    /// Survives the end of the process; a power cut may take the last ones.
    Passing,
}

enum Work {
    Job(Box<dyn FnOnce(&mut Worker) + Send>),
    Stop(oneshot::Sender<()>),
}

/// The way to one connection.
#[derive(Clone)]
pub(super) struct Lane {
    queue: mpsc::Sender<Work>,
}

/// What lives on the thread.
struct Worker {
    connection: Connection,
    kind: Kind,
    database: Arc<Path>,
    /// Held as long as the connection is open for writing.
    _lock: Option<File>,
}

impl Lane {
    /// Starts a thread that owns this connection, and the lock with it.
    pub(super) fn start(
        name: &str,
        connection: Connection,
        lock: Option<File>,
        database: PathBuf,
    ) -> Result<(Self, JoinHandle<()>), StoreError> {
        let (queue, mut jobs) = mpsc::channel(QUEUE_JOBS);
        let database: Arc<Path> = database.into();
        let mut worker = Worker { connection, kind: Kind::Read, database: Arc::clone(&database), _lock: lock };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                while let Some(work) = jobs.blocking_recv() {
                    match work {
                        Work::Job(job) => job(&mut worker),
                        Work::Stop(reply) => {
                            drop(worker);
                            // Whoever asked may have gone away; the connection is closed all the same.
                            reply.send(()).ok();
                            return;
                        }
                    }
                }
            })
            .map_err(|source| StoreError::io("Starting the storage thread", &database, source))?;
        Ok((Self { queue }, thread))
    }

    /// Runs a job in a transaction of its own. It runs to its end even if the caller stops waiting.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        kind: Kind,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.send(move |worker| worker.transact(kind, job)).await
    }

    /// Runs a job outside any transaction (`VACUUM`, checkpoints).
    pub(super) async fn run_bare<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.send(move |worker| job(&worker.connection)).await
    }

    async fn send<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Worker) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let work = Work::Job(Box::new(move |worker| {
            let result = job(worker).map_err(|error| error.at(&worker.database));
            if let Err(StoreError::Corrupt { .. }) = &result {
                place::mark_suspect(&worker.database);
            }
            reply.send(result).ok();
        }));
        self.queue.send(work).await.map_err(|_closed| StoreError::Closed)?;
        answer.await.map_err(|_gone| StoreError::Closed)?
    }

    /// Ends the thread once everything queued before is done; returns when the connection is closed.
    pub(super) async fn stop(&self) {
        let (reply, stopped) = oneshot::channel();
        if self.queue.send(Work::Stop(reply)).await.is_ok() {
            stopped.await.ok();
        }
    }
}

impl Worker {
    fn transact<T>(
        &mut self,
        kind: Kind,
        job: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let behaviour = match kind {
            Kind::Read => TransactionBehavior::Deferred,
            Kind::Guarding | Kind::Passing => TransactionBehavior::Immediate,
        };
        self.switch(kind)?;
        let transaction = self.connection.transaction_with_behavior(behaviour)?;
        let value = job(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }

    /// Sets how firmly the next commits are kept. Passing ones never sync, so the log is only folded back into the
    /// database by guarding ones, which wait for the disk anyway.
    fn switch(&mut self, kind: Kind) -> Result<(), StoreError> {
        if kind == self.kind || kind == Kind::Read {
            return Ok(());
        }
        let (synchronous, checkpoint_pages) = match kind {
            Kind::Read | Kind::Guarding => ("FULL", CHECKPOINT_PAGES),
            Kind::Passing => ("NORMAL", 0),
        };
        self.connection.pragma_update(None, "synchronous", synchronous)?;
        self.connection.pragma_update(None, "wal_autocheckpoint", checkpoint_pages)?;
        self.kind = kind;
        Ok(())
    }
}

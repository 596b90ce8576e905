//! Where wishes for connections are taken, one after the other, beside everything else: the keyring and a connection that
//! ends may take their time, and nothing else of the engine waits for them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::secret::SecretKey;

use super::super::fault::Fault;
use super::super::shared::Shared;
use super::Links;

/// Wishes that may wait.
const WISHES: usize = 64;

/// What a front end wants of the connections.
pub(in crate::engine) enum Wish {
    Start,
    Put { url: String, workspace: PathBuf, token: Option<SecretKey> },
    Run { url: String, workspace: PathBuf, token: SecretKey },
    Stop { url: String },
    Pause { url: String, is_paused: bool },
    Retry { url: String },
    Remove { url: String },
}

/// The way to the connections.
pub(in crate::engine) struct Desk {
    wishes: mpsc::Sender<Wish>,
    task: JoinHandle<()>,
}

impl Desk {
    /// Opens it. There are no connections yet.
    pub(in crate::engine) fn open(shared: &Arc<Shared>) -> Self {
        let (wishes, taken) = mpsc::channel(WISHES);
        let task = tokio::task::spawn(Box::pin(serve(Arc::clone(shared), taken)));
        Self { wishes, task }
    }

    /// Takes a wish; what becomes of it is told by events.
    pub(in crate::engine) fn take(&self, wish: Wish) -> Result<(), Fault> {
        self.wishes.try_send(wish).map_err(|_full| Fault::new("fault-queue-full", ""))
    }

    /// Ends every connection: calls that are under way are cancelled, and what they came to is kept.
    pub(in crate::engine) async fn close(self, patience: Duration) {
        drop(self.wishes);
        if tokio::time::timeout(patience, self.task).await.is_err() {
            tracing::error!("a connection did not end in time");
        }
    }
}

async fn serve(shared: Arc<Shared>, mut wishes: mpsc::Receiver<Wish>) {
    let mut links = Links::default();
    while let Some(wish) = wishes.recv().await {
        let done = match wish {
            Wish::Start => links.start(&shared).await,
            Wish::Put { url, workspace, token } => links.put(&shared, &url, workspace, token).await,
            Wish::Run { url, workspace, token } => links.run(&shared, &url, workspace, token).await,
            Wish::Stop { url } => links.stop(&shared, &url).await,
            Wish::Pause { url, is_paused } => links.pause(&shared, &url, is_paused).await,
            Wish::Retry { url } => links.retry(&shared, &url).await,
            Wish::Remove { url } => links.remove(&shared, &url).await,
        };
        if let Err(fault) = done {
            shared.report(fault).await;
        }
    }
    links.end().await;
}

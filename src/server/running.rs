//! The runs under way in this process, by user and thread: a thread that is to be deleted has them stopped first.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A user, and a thread of that user.
type Key = (String, String);

/// The runs under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<watch::Sender<HashMap<Key, Vec<Run>>>>);

#[derive(Debug, Clone)]
struct Run {
    stop: CancellationToken,
    ended: CancellationToken,
}

/// A run under way; dropped, it has ended.
#[derive(Debug)]
pub(super) struct Underway {
    running: Running,
    key: Key,
    ended: CancellationToken,
}

impl Running {
    /// A run begins, which `stop` stops.
    pub(super) fn begin(&self, user: &str, thread: &str, stop: CancellationToken) -> Underway {
        let ended = CancellationToken::new();
        let run = Run { stop, ended: ended.clone() };
        let key = (user.to_owned(), thread.to_owned());
        self.0.send_modify(|runs| runs.entry(key.clone()).or_default().push(run));
        Underway { running: self.clone(), key, ended }
    }

    /// Stops the runs of a user's thread and waits until what they owe is done.
    pub(super) async fn stop(&self, user: &str, thread: &str) {
        let runs = self.0.borrow().get(&(user.to_owned(), thread.to_owned())).cloned().unwrap_or_default();
        for run in runs {
            run.stop.cancel();
            run.ended.cancelled().await;
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.ended.cancel();
        self.running.0.send_modify(|all| {
            if let Some(runs) = all.get_mut(&self.key) {
                runs.retain(|run| !run.ended.is_cancelled());
                if runs.is_empty() {
                    all.remove(&self.key);
                }
            }
        });
    }
}

//! The runs under way in this process, by user and thread: a thread that is to be deleted has them stopped first, and so has
//! a user whose token counts no more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::link::thread::Prepared;

use super::token::User;

/// A user, and a thread of that user.
type Key = (String, String);

/// The runs under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<watch::Sender<HashMap<Key, Vec<Run>>>>);

#[derive(Debug, Clone)]
struct Run {
    id: String,
    /// The hash of the token with which it was begun.
    token: String,
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
    pub(super) fn begin(&self, user: &User, ids: &Prepared, stop: CancellationToken) -> Underway {
        let ended = CancellationToken::new();
        let run = Run { id: ids.run_id.clone(), token: user.token.clone(), stop, ended: ended.clone() };
        let key = (user.name.clone(), ids.thread_id.clone());
        self.0.send_modify(|runs| runs.entry(key.clone()).or_default().push(run));
        Underway { running: self.clone(), key, ended }
    }

    /// Whether this process works on a user's run.
    pub(super) fn has(&self, user: &str, run: &str) -> bool {
        self.0.borrow().iter().any(|((owner, _), runs)| owner == user && runs.iter().any(|one| one.id == run))
    }

    /// The hashes of the tokens with which runs were begun.
    pub(super) fn tokens(&self) -> HashSet<String> {
        self.0.borrow().values().flatten().map(|run| run.token.clone()).collect()
    }

    /// Stops what was begun with tokens that count no more.
    pub(super) fn revoke(&self, tokens: &[String]) {
        for run in self.0.borrow().values().flatten().filter(|run| tokens.contains(&run.token)) {
            run.stop.cancel();
        }
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

//! The runs under way in this process, by thread: a thread that is to be deleted has them stopped first.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The runs under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<watch::Sender<HashMap<String, Vec<Run>>>>);

#[derive(Debug, Clone)]
struct Run {
    stop: CancellationToken,
    ended: CancellationToken,
}

/// A run under way; dropped, it has ended.
#[derive(Debug)]
pub(super) struct Underway {
    running: Running,
    thread: String,
    ended: CancellationToken,
}

impl Running {
    /// A run begins, which `stop` stops.
    pub(super) fn begin(&self, thread: &str, stop: CancellationToken) -> Underway {
        let ended = CancellationToken::new();
        let run = Run { stop, ended: ended.clone() };
        self.0.send_modify(|runs| runs.entry(thread.to_owned()).or_default().push(run));
        Underway { running: self.clone(), thread: thread.to_owned(), ended }
    }

    /// Stops a thread's runs and waits until what they owe is done.
    pub(super) async fn stop(&self, thread: &str) {
        let runs = self.0.borrow().get(thread).cloned().unwrap_or_default();
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
            if let Some(runs) = all.get_mut(&self.thread) {
                runs.retain(|run| !run.ended.is_cancelled());
                if runs.is_empty() {
                    all.remove(&self.thread);
                }
            }
        });
    }
}

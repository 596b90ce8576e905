//! Logs in the data folder: one file a day, a week kept. No message text and no file content at `info`; never a key.

use std::path::Path;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{Builder, Rotation};
use tracing_subscriber::EnvFilter;

use crate::store::make_private_folder;

/// Days of logs that are kept.
const DAYS: usize = 7;

/// Writes out what is left when it is dropped.
#[must_use = "dropping it ends the log"]
pub struct LogGuard {
    _worker: WorkerGuard,
}

/// Starts the log of this process, with the filter in `NOD_LOG` or else Nod's own messages from `info` and others' from
/// `warn`. `None` when there is a log already or the folder cannot be written: Nod works without one.
pub fn start_logging(data_dir: &Path) -> Option<LogGuard> {
    let folder = data_dir.join("logs");
    make_private_folder(&folder).ok()?;
    let file = Builder::new()
        .rotation(Rotation::DAILY)
        .filename_prefix("nod")
        .filename_suffix("log")
        .max_log_files(DAYS)
        .build(folder)
        .ok()?;
    let (writer, worker) = tracing_appender::non_blocking(file);
    let filter = EnvFilter::try_from_env("NOD_LOG").unwrap_or_else(|_| EnvFilter::new("warn,nod=info"));
    let log = tracing_subscriber::fmt().with_writer(writer).with_env_filter(filter).with_ansi(false).finish();
    tracing::subscriber::set_global_default(log).ok()?;
    Some(LogGuard { _worker: worker })
}

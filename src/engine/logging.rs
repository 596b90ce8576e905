//! Logs in the data folder: one file a day, a week kept. No message text and no file content at `info`; never a key.

use std::io::{self, Write};
use std::path::Path;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{Builder, Rotation};
use tracing_subscriber::EnvFilter;

use crate::policy;
use crate::store::make_private_folder;

/// Days of logs that are kept.
const DAYS: usize = 7;

/// Writes out what is left when it is dropped.
#[must_use = "dropping it ends the log"]
pub struct LogGuard {
    _worker: WorkerGuard,
}

/// What is written holds no secret and nothing that would command a terminal in which it is read.
struct Safe<W>(W);

impl<W: Write> Write for Safe<W> {
    /// Takes everything: an event comes in one piece.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(policy::escape(&policy::redact(&text), true).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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
    let writer = move || Safe(writer.clone());
    let log = tracing_subscriber::fmt().with_writer(writer).with_env_filter(filter).with_ansi(false).finish();
    tracing::subscriber::set_global_default(log).ok()?;
    Some(LogGuard { _worker: worker })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_shows_no_secret_and_commands_no_terminal() {
        let key = format!("sk-ant-api03-{}", "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0FeDcBa98");
        let mut log = Safe(Vec::new());
        log.write_all(format!("opened a\u{1b}[2K\u{202E}b with {key}\n").as_bytes()).unwrap();
        assert_eq!(String::from_utf8(log.0).unwrap(), "opened a\\u{001B}[2K\\u{202E}b with «masked: API key»\n");
    }
}

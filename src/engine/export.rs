//! A session as a file: JSON whose messages and calls can be read back without loss, or Markdown for people.
//!
//! A file may come from anybody, so what it says that a session may do does not hold: see [`make_harmless`].

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::ir::{Image, MessageId, MessageRecord, Role, Session, SessionId};
use crate::policy::one_line;
use crate::port::{Event, Settings, WrittenFile, picture};
use crate::store::SessionExport;

use super::fault::Fault;
use super::session::title_line;
use super::shared::Shared;

/// Longer files are no exports of Nod, in bytes.
const LONGEST: u64 = 1 << 30;
/// Characters of an address that is kept as words.
const LONGEST_ADDRESS: usize = 2_000;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Markdown,
}

impl Format {
    fn of_path(path: &Path) -> Self {
        let is_markdown = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        if is_markdown { Self::Markdown } else { Self::Json }
    }

    fn text(self, export: &SessionExport) -> std::io::Result<String> {
        Ok(match self {
            Self::Json => serde_json::to_string_pretty(export)?,
            Self::Markdown => markdown(export),
        })
    }

    /// What stands before, between and after several sessions.
    fn around(self) -> [&'static str; 3] {
        match self {
            Self::Json => ["[\n", ",\n", "\n]\n"],
            Self::Markdown => ["", "\n---\n\n", ""],
        }
    }
}

/// Writes a session where the person wants it, by the path's extension.
pub(super) async fn export(shared: &Shared, session: SessionId, path: PathBuf) -> Result<(), Fault> {
    let export = shared.store.export(&session).await?;
    let to = path.clone();
    // The person chose this very path in a dialog or on the command line.
    in_files("fault-export", &path, move || {
        private_file(&to)?.write_all(Format::of_path(&to).text(&export)?.as_bytes())
    })
    .await?;
    shared.publish(Event::FileWritten { what: WrittenFile::Export, path }).await;
    Ok(())
}

/// Writes all sessions of this computer into one file, the newest first, never more than one in memory.
pub(super) async fn export_all(shared: &Shared, path: PathBuf) -> Result<(), Fault> {
    let format = Format::of_path(&path);
    let [before, between, after] = format.around();
    let to = path.clone();
    let mut file = in_files("fault-export", &path, move || {
        let mut file = BufWriter::new(private_file(&to)?);
        file.write_all(before.as_bytes())?;
        Ok(file)
    })
    .await?;
    let mut lead = "";
    for session in shared.store.list_sessions().await? {
        let export = shared.store.export(&session.id).await?;
        file = in_files("fault-export", &path, move || {
            file.write_all(lead.as_bytes())?;
            file.write_all(format.text(&export)?.as_bytes())?;
            Ok(file)
        })
        .await?;
        lead = between;
    }
    in_files("fault-export", &path, move || {
        file.write_all(after.as_bytes())?;
        file.flush()
    })
    .await?;
    shared.publish(Event::FileWritten { what: WrittenFile::Export, path }).await;
    Ok(())
}

/// Copies the database where the person wants it, but not among the data themselves.
pub(super) async fn back_up(shared: &Shared, path: PathBuf) -> Result<(), Fault> {
    let (data, to) = (shared.store.data_dir(), path.clone());
    let is_inside = in_files("fault-export", &path, move || {
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize()?;
        Ok(data.is_some_and(|data| data.canonicalize().is_ok_and(|data| folder.starts_with(data))))
    });
    if is_inside.await? {
        return Err(file_fault("fault-backup-inside", &path, "the folder is Nod's own"));
    }
    shared.store.copy_to(path.clone()).await?;
    shared.publish(Event::FileWritten { what: WrittenFile::Backup, path }).await;
    Ok(())
}

/// Reads an export back as new sessions: everything that was said and done, none of what it was allowed.
pub(super) async fn import(shared: &Shared, path: PathBuf) -> Result<Vec<SessionId>, Fault> {
    let from = path.clone();
    let mut exports = in_files("fault-import", &path, move || read(&from)).await?;
    for export in &mut exports {
        export.session.title = title_line(&export.session.title);
        make_harmless(&mut export.session, &shared.settings());
        export.messages.iter_mut().for_each(unproven);
    }
    Ok(shared.store.import(exports).await?.into_iter().map(|session| session.id).collect())
}

/// Works with files off the async threads; what goes wrong is told of the path that the person chose.
async fn in_files<T: Send + 'static>(
    key: &'static str,
    path: &Path,
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(file_fault(key, path, &error.to_string())),
        Err(broken) => Err(file_fault(key, path, &broken.to_string())),
    }
}

/// Takes away what a file could bring along to open folders, skip questions or steer the model: no folders, the person's
/// own mode for new chats, no system prompt. Allow rules and lifted names are never part of an export.
fn make_harmless(session: &mut Session, settings: &Settings) {
    session.folders.clear();
    session.mode = settings.safety.mode;
    session.system_prompt = None;
}

/// A message without what a file could bring along to make this computer fetch something, or to have words taken for known
/// elsewhere: images by address become the address in words, and where an answer was given is not known.
fn unproven(record: &mut MessageRecord) {
    if let Some(answer) = &mut record.answer {
        answer.place = None;
    }
    let Some(images) = &mut record.message.images else { return };
    let content = &mut record.message.content;
    images.retain(|image| {
        let is_whole = is_whole(image);
        if !is_whole {
            if !content.is_empty() {
                content.push('\n');
            }
            content.push_str(&one_line(&image.url, LONGEST_ADDRESS));
        }
        is_whole
    });
    if images.is_empty() {
        record.message.images = None;
    }
}

/// Whether an image is in the file itself, of a kind and a size that could have been attached here.
fn is_whole(image: &Image) -> bool {
    let data = image.url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
    data.is_some_and(|(kind, data)| {
        matches!(kind, "png" | "jpeg" | "gif" | "webp") && data.len() <= picture::MOST_BYTES.div_ceil(3) * 4
    })
}

/// An empty file that only the person may read, whoever could read what was there: whole results stand in it.
pub(super) fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // A device or a pipe that the person named has no permissions of ours.
        if file.metadata()?.is_file() {
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

fn file_fault(key: &'static str, path: &Path, detail: &str) -> Fault {
    Fault::new(key, detail).with("path", path.display().to_string())
}

/// The sessions in a file: one, or a list of them.
fn read(path: &Path) -> std::io::Result<Vec<SessionExport>> {
    if std::fs::metadata(path)?.len() > LONGEST {
        return Err(std::io::Error::other("the file is too long to be an export"));
    }
    let bytes = std::fs::read(path)?;
    let is_list = bytes.trim_ascii_start().first() == Some(&b'[');
    Ok(if is_list { serde_json::from_slice(&bytes)? } else { vec![serde_json::from_slice(&bytes)?] })
}

/// The shown branch of a session as Markdown.
pub fn markdown(export: &SessionExport) -> String {
    let mut text = format!("# {}\n", export.session.title);
    for record in shown(export) {
        let message = &record.message;
        let written = match (message.role, &message.tool_result) {
            (Role::User, _) => write!(text, "\n## User\n\n{}\n", message.content),
            (Role::Tool, Some(result)) => {
                let json = serde_json::to_string_pretty(&result.result).unwrap_or_default();
                let fence = "`".repeat(longest_run(&json).max(2) + 1);
                write!(text, "\n### {}\n\n{fence}json\n{json}\n{fence}\n", result.tool_name)
            }
            (Role::Assistant | Role::System | Role::Tool, _) if message.content.is_empty() => Ok(()),
            (Role::Assistant | Role::Tool, _) => write!(text, "\n## Assistant\n\n{}\n", message.content),
            (Role::System, _) => write!(text, "\n## System\n\n{}\n", message.content),
        };
        // Writing to a string cannot fail.
        written.ok();
    }
    text
}

/// The messages of the branch that ends at the session's head, oldest first.
fn shown(export: &SessionExport) -> Vec<&MessageRecord> {
    let by_id: std::collections::HashMap<&MessageId, &MessageRecord> =
        export.messages.iter().map(|record| (&record.id, record)).collect();
    let mut branch = Vec::new();
    let mut next = export.session.head.as_ref();
    while let Some(record) = next.and_then(|id| by_id.get(id)) {
        branch.push(*record);
        next = record.parent.as_ref();
        if branch.len() > export.messages.len() {
            break;
        }
    }
    branch.reverse();
    branch
}

/// The longest run of backticks, so that a fence can be longer.
fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

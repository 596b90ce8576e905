//! A session as a file: JSON whose messages and calls can be read back without loss, or Markdown for people.
//!
//! A file may come from anybody, so what it says that a session may do does not hold: see [`harmless`].

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::ir::{Image, MessageId, MessageRecord, Role, Session, SessionId};
use crate::policy::one_line;
use crate::port::{Event, Settings, picture};
use crate::store::SessionExport;

use super::fault::Fault;
use super::session::title_line;
use super::shared::Shared;

/// Longer files are no exports of Nod, in bytes.
const LONGEST: u64 = 1 << 30;
/// Characters of an address that is kept as words.
const LONGEST_ADDRESS: usize = 2_000;

/// Writes a session where the person wants it, by the path's extension.
pub(super) async fn export(shared: &Shared, session: SessionId, path: PathBuf) -> Result<(), Fault> {
    let export = shared.store.export(&session).await?;
    let to = path.clone();
    let written = tokio::task::spawn_blocking(move || write(&export, &to)).await;
    match written {
        Ok(Ok(())) => {
            shared.publish(Event::Exported { session, path }).await;
            Ok(())
        }
        Ok(Err(error)) => Err(file_fault("fault-export", &path, &error.to_string())),
        Err(broken) => Err(file_fault("fault-export", &path, &broken.to_string())),
    }
}

/// Reads an export back as a new session: everything that was said and done, none of what it was allowed.
pub(super) async fn import(shared: &Shared, path: PathBuf) -> Result<SessionId, Fault> {
    let from = path.clone();
    let read = tokio::task::spawn_blocking(move || read(&from)).await;
    let mut export = match read {
        Ok(Ok(export)) => export,
        Ok(Err(error)) => return Err(file_fault("fault-import", &path, &error.to_string())),
        Err(broken) => return Err(file_fault("fault-import", &path, &broken.to_string())),
    };
    export.session = harmless(export.session, &shared.settings());
    export.session.title = title_line(&export.session.title);
    export.messages.iter_mut().for_each(unproven);
    Ok(shared.store.import(export).await?.id)
}

/// The session without what a file could bring along to open folders, skip questions or steer the model: no folders, the
/// person's own mode for new chats, no system prompt. Allow rules and lifted names are never part of an export.
fn harmless(session: Session, settings: &Settings) -> Session {
    Session { folders: Vec::new(), mode: settings.safety.mode, system_prompt: None, ..session }
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

fn file_fault(key: &'static str, path: &Path, detail: &str) -> Fault {
    Fault::new(key, detail).with("path", path.display().to_string())
}

fn write(export: &SessionExport, path: &Path) -> std::io::Result<()> {
    let is_markdown = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    let text = if is_markdown { markdown(export) } else { serde_json::to_string_pretty(export)? };
    // The person chose this very path in a dialog or on the command line.
    std::fs::write(path, text)
}

fn read(path: &Path) -> std::io::Result<SessionExport> {
    if std::fs::metadata(path)?.len() > LONGEST {
        return Err(std::io::Error::other("the file is too long to be an export"));
    }
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
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

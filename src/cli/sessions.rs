//! `nod sessions`: what was said, listed, searched, written out, brought back, deleted.
#![expect(clippy::wildcard_enum_match_arm, reason = "a command line shows a part of what happens")]

use serde_json::json;

use crate::engine::{Archive, Handle, Inbox, markdown};
use crate::ir::{Contact, MessageRecord, Session, SessionId};
use crate::lang::Arg;
use crate::policy::one_line;
use crate::port::{Command, Event};

use super::args::{ExportFormat, SessionsTask};
use super::console::Console;
use super::exec::{fault_text, send};
use super::exit::Exit;

/// Characters of a title.
const LONGEST_TITLE: usize = 120;
/// Most hits of a search.
const MOST_HITS: usize = 100;

/// Does what only reads; `None` for what needs the engine.
pub(super) fn read(
    task: &SessionsTask,
    archive: Option<&Archive>,
    console: &mut Console,
) -> Option<Result<Exit, String>> {
    let done = match task {
        SessionsTask::List(list) => self::list(archive, list.json, console),
        SessionsTask::Show { id, json } => show(archive, id, *json, console),
        SessionsTask::Search { text, json } => search(archive, text, *json, console),
        SessionsTask::Export { id, format } => export(archive, id, *format, console),
        SessionsTask::Import { .. } | SessionsTask::Delete { .. } => return None,
    };
    Some(done.map(|()| Exit::Done))
}

/// Does what changes something.
pub(super) fn write(
    task: &SessionsTask,
    engine: &Handle,
    inbox: &Inbox,
    console: &mut Console,
) -> Result<Exit, String> {
    match task {
        SessionsTask::Import { file } => {
            send(engine, Command::ImportSession { path: console.absolute(file) }, console)?;
            let imported = wait(inbox, console, |event| match event {
                Event::SessionsImported(sessions) => Some(sessions.clone()),
                _ => None,
            })?;
            if imported.len() > 1 {
                let words = console.say("notice-imported", &[("count", Arg::from(imported.len()))]);
                console.problem(&words);
            }
            for id in imported {
                console.line(id.as_str());
            }
        }
        SessionsTask::Delete { id } => {
            send(engine, Command::ListSessions, console)?;
            let sessions = wait(inbox, console, |event| match event {
                Event::SessionsListed(sessions) => Some(sessions.clone()),
                _ => None,
            })?;
            let id = find(&sessions, id, console)?.id.clone();
            send(engine, Command::DeleteSession(id.clone()), console)?;
            wait(inbox, console, |event| {
                matches!(event, Event::SessionDeleted(deleted) if *deleted == id).then_some(())
            })?;
        }
        SessionsTask::List(_)
        | SessionsTask::Show { .. }
        | SessionsTask::Search { .. }
        | SessionsTask::Export { .. } => {}
    }
    Ok(Exit::Done)
}

/// Waits for the event that answers; a fault ends the wait.
pub(super) fn wait<T>(inbox: &Inbox, console: &mut Console, pick: impl Fn(&Event) -> Option<T>) -> Result<T, String> {
    loop {
        let Some(event) = inbox.wait() else { return Err(console.say("cli-engine-ended", &[])) };
        if let Event::Fault { key, args, detail } = &event {
            return Err(fault_text(key, args, detail, console));
        }
        // Told once: whoever starts the engine hears it.
        if let Event::Notice { key, args } = &event {
            let text = fault_text(key, args, "", console);
            console.problem(&text);
        }
        if let Some(found) = pick(&event) {
            return Ok(found);
        }
    }
}

fn list(archive: Option<&Archive>, is_json: bool, console: &mut Console) -> Result<(), String> {
    for session in all(archive)? {
        if is_json {
            console.data(&serde_json::to_string(&session).unwrap_or_default());
        } else {
            console.line(&format!("{}  {}", session.id, one_line(&title(&session, console), LONGEST_TITLE)));
        }
    }
    Ok(())
}

fn show(archive: Option<&Archive>, id: &str, is_json: bool, console: &mut Console) -> Result<(), String> {
    let sessions = all(archive)?;
    let session = find(&sessions, id, console)?;
    if is_json {
        for message in messages(archive, &session.id)? {
            console.data(&serde_json::to_string(&message).unwrap_or_default());
        }
        console.data(&json!({"contacts": contacts(archive, &session.id)?}).to_string());
        return Ok(());
    }
    export(archive, id, ExportFormat::Md, console)?;
    let contacts = contacts(archive, &session.id)?;
    let heading = console.say(if contacts.is_empty() { "cli-no-hosts" } else { "cli-hosts" }, &[]);
    for line in ["", "---", "", heading.as_str()] {
        console.line(line);
    }
    let count = |number: u64| Arg::from(i64::try_from(number).unwrap_or(i64::MAX));
    for contact in contacts {
        let line = console.say(
            "cli-host",
            &[
                ("host", Arg::from(contact.host)),
                ("requests", count(contact.requests)),
                ("refused", count(contact.refused)),
                ("sent", count(contact.sent_bytes)),
                ("received", count(contact.received_bytes)),
            ],
        );
        console.line(&line);
    }
    Ok(())
}

fn contacts(archive: Option<&Archive>, id: &SessionId) -> Result<Vec<Contact>, String> {
    archive.map_or(Ok(Vec::new()), |archive| archive.contacts(id).map_err(|error| error.message))
}

fn search(archive: Option<&Archive>, text: &str, is_json: bool, console: &mut Console) -> Result<(), String> {
    let hits = match archive {
        Some(archive) => archive.search(text, MOST_HITS).map_err(|error| error.message)?,
        None => Vec::new(),
    };
    for hit in hits {
        if is_json {
            let line =
                json!({"session": hit.session, "title": hit.title, "message": hit.message, "snippet": hit.snippet});
            console.data(&line.to_string());
        } else {
            let title = one_line(&hit.title, LONGEST_TITLE);
            console.line(&format!("{}  {title}  {}", hit.session, hit.snippet.replace('\n', " ")));
        }
    }
    Ok(())
}

fn export(archive: Option<&Archive>, id: &str, format: ExportFormat, console: &mut Console) -> Result<(), String> {
    let sessions = all(archive)?;
    let session = find(&sessions, id, console)?;
    let Some(archive) = archive else { return Ok(()) };
    let export = archive.export(&session.id).map_err(|error| error.message)?;
    match format {
        ExportFormat::Md => console.print(&markdown(&export)),
        ExportFormat::Json => console.data(&serde_json::to_string_pretty(&export).map_err(|error| error.to_string())?),
    }
    Ok(())
}

fn all(archive: Option<&Archive>) -> Result<Vec<Session>, String> {
    archive.map_or(Ok(Vec::new()), |archive| archive.sessions().map_err(|error| error.message))
}

fn messages(archive: Option<&Archive>, id: &SessionId) -> Result<Vec<MessageRecord>, String> {
    archive.map_or(Ok(Vec::new()), |archive| archive.messages(id).map_err(|error| error.message))
}

/// The one session whose id begins like this.
fn find<'list>(sessions: &'list [Session], id: &str, console: &Console) -> Result<&'list Session, String> {
    let mut matching = sessions.iter().filter(|session| session.id.as_str().starts_with(id));
    match (matching.next(), matching.next()) {
        (Some(session), None) => Ok(session),
        (Some(_), Some(_)) => Err(console.say("cli-session-ambiguous", &[("id", Arg::from(id))])),
        (None, _) => Err(console.say("cli-session-missing", &[("id", Arg::from(id))])),
    }
}

fn title(session: &Session, console: &Console) -> String {
    if session.title.is_empty() { console.say("cli-untitled", &[]) } else { session.title.clone() }
}

//! Paths for a typed beginning: files in the allowed folders for `@`, folders anywhere for the field of a folder.
//!
//! Only names are read, and only of the folder that the text so far names. Names that speak of secrets are left out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ir::SessionId;
use crate::policy::{NameVerdict, Surroundings, blocked_path, judge_name};
use crate::port::Event;

use super::fault::Fault;
use super::shared::Shared;

/// Most paths of an answer.
const MOST: usize = 50;
/// Most names of a folder that are looked at.
const MOST_NAMES: usize = 10_000;

/// Where to look.
struct Search {
    /// The folder that relative text starts at, if any.
    base: Option<PathBuf>,
    /// What was typed.
    prefix: String,
    wants_files: bool,
    surroundings: Surroundings,
}

pub(super) async fn complete(
    shared: &Arc<Shared>,
    session: Option<SessionId>,
    prefix: String,
    number: u64,
) -> Result<(), Fault> {
    let surroundings = shared.surroundings.clone();
    let searches: Vec<Search> = match session {
        Some(id) => {
            let session = shared.store.session(&id).await?.ok_or_else(Fault::no_session)?;
            let folders = session.folders.into_iter().map(PathBuf::from);
            folders
                .map(|folder| Search {
                    base: Some(folder),
                    prefix: prefix.clone(),
                    wants_files: true,
                    surroundings: surroundings.clone(),
                })
                .collect()
        }
        None => vec![Search { base: None, prefix, wants_files: false, surroundings }],
    };
    let found = tokio::task::spawn_blocking(move || searches.iter().flat_map(look).take(MOST).collect()).await;
    let paths = found.unwrap_or_default();
    shared.publish(Event::PathsCompleted { number, paths }).await;
    Ok(())
}

fn look(search: &Search) -> Vec<String> {
    let (folder_text, start) = match search.prefix.rfind(['/', std::path::MAIN_SEPARATOR]) {
        Some(place) => search.prefix.split_at(place + 1),
        None => ("", search.prefix.as_str()),
    };
    // Relative text with `..` in it would name a place that the session may not see.
    if search.base.is_some() && Path::new(folder_text).components().any(|part| part.as_os_str() == "..") {
        return Vec::new();
    }
    let Some(folder) = folder(search, folder_text) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let start = start.to_lowercase();
    let mut found = Vec::new();
    for entry in entries.take(MOST_NAMES).flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_hidden = name.starts_with('.') && !start.starts_with('.');
        let is_closed = blocked_path(&folder.join(&name), &search.surroundings).is_some()
            || matches!(judge_name(std::slice::from_ref(&name)), NameVerdict::Sensitive { .. });
        if is_hidden || is_closed || !(is_folder || search.wants_files) || !name.to_lowercase().starts_with(&start) {
            continue;
        }
        found.push(format!("{folder_text}{name}{}", if is_folder { "/" } else { "" }));
    }
    found.sort_by_key(|path| (!path.ends_with('/'), path.to_lowercase()));
    found.truncate(MOST);
    found
}

fn folder(search: &Search, text: &str) -> Option<PathBuf> {
    match &search.base {
        Some(base) if Path::new(text).is_absolute() => Path::new(text).starts_with(base).then(|| PathBuf::from(text)),
        Some(base) => Some(base.join(text)),
        None => match (text.strip_prefix("~/"), &search.surroundings.home) {
            (Some(rest), Some(home)) => Some(home.join(rest)),
            _ => Path::new(text).is_absolute().then(|| PathBuf::from(text)),
        },
    }
}

//! Allowed folders where they come in. A folder is kept by the path that it really has at the moment when the person
//! names it, and links are followed never again: what a command puts in its place later opens nothing.

use std::path::{Path, PathBuf};

use crate::policy::{FolderConcern, folder_concern};
use crate::port::Event;
use crate::workspace::Root;

use super::fault::Fault;
use super::shared::Shared;

/// A folder that the person named and that may be allowed.
pub(super) struct Opened {
    /// The path that it really has.
    pub(super) path: String,
    /// What to tell of one that is very wide.
    pub(super) warning: Option<Event>,
}

/// Opens the folder once to see that it is one.
pub(super) async fn open(shared: &Shared, path: PathBuf) -> Result<Opened, Fault> {
    let shown = path.display().to_string();
    let failed = |detail: String| Fault::new("fault-folder", detail).with("path", shown.clone());
    let root = tokio::task::spawn_blocking(move || Root::open(&path))
        .await
        .map_err(|broken| failed(broken.to_string()))?
        .map_err(|error| failed(error.to_string()))?;
    let concern = folder_concern(root.path(), &shared.surroundings)
        .or_else(|| folder_concern(root.real_path(), &shared.surroundings));
    let warning = match concern {
        None => None,
        Some(FolderConcern::Blocked) => return Err(Fault::new("fault-folder-blocked", "").with("path", shown)),
        Some(FolderConcern::WholeDisk) => Some("notice-folder-disk"),
        Some(FolderConcern::Home) => Some("notice-folder-home"),
        Some(FolderConcern::HoldsBlocked) => Some("notice-folder-holds-blocked"),
    };
    let warning = warning.map(|key| Event::Notice { key, args: vec![("path", shown)] });
    Ok(Opened { path: root.real_path().display().to_string(), warning })
}

/// The folders as they are kept: what is `known` stays as it is, the others by the path that they really have. One that
/// cannot be opened stays as it was named; the first call that needs it says what is wrong with it.
pub(super) async fn settled(named: Vec<String>, known: Vec<String>) -> Vec<String> {
    let settle = move || {
        let real = |folder: &String| {
            if known.contains(folder) {
                return folder.clone();
            }
            Root::open(Path::new(folder)).map_or_else(|_| folder.clone(), |root| root.real_path().display().to_string())
        };
        let mut folders: Vec<String> = Vec::with_capacity(named.len());
        for folder in named.iter().map(real) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    };
    // A panic there leaves no folder allowed.
    tokio::task::spawn_blocking(settle).await.unwrap_or_default()
}

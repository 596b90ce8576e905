//! Allowed folders where they come in. A folder is kept by the path that it really has at the moment when the person
//! names it, and links are followed never again: what a command puts in its place later opens nothing.

use std::path::Path;

use crate::workspace::Root;

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

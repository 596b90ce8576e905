//! Leads within the allowed folders: what is protected because something else leads there (`workspace::lead` finds it).
//!
//! They are what they were before the command: a configuration or a link that the command makes leads nowhere, as it is
//! taken away itself. A repository that it moves leads elsewhere afterwards. The names that a folder's path has for git and for editors decide, as they do in the gate.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::kept::Content;
use super::look::Found;
use super::name::FOLDER_OF_PACKAGES;
use crate::workspace::Root;
use crate::workspace::lead::Leads;

/// Something below a folder that is also what other names stand for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Led {
    /// From the folder; empty for the folder itself.
    pub(super) rest: Vec<OsString>,
    /// As `.git`, `hooks`.
    pub(super) names: Vec<String>,
}

impl Led {
    /// The same from a folder in this one; `None` where it does not lead there.
    pub(super) fn within(&self, name: &OsStr) -> Option<Self> {
        let (first, rest) = self.rest.split_first()?;
        (first == name).then(|| Self { rest: rest.to_vec(), names: self.names.clone() })
    }
}

/// The leads that can be found without a walk.
pub(super) fn around(roots: &[Root]) -> Leads {
    let home = directories::BaseDirs::new();
    Leads::around(roots, home.as_ref().map(directories::BaseDirs::home_dir))
}

/// No leads yet.
pub(super) fn none() -> Leads {
    let home = directories::BaseDirs::new();
    Leads::new(home.as_ref().map(directories::BaseDirs::home_dir))
}

/// Whether a new repository has a part that is run or obeyed in it, whatever its own configuration says.
pub(super) fn is_obeyed_everywhere() -> bool {
    let home = directories::BaseDirs::new();
    Leads::is_obeyed_everywhere(home.as_ref().map(directories::BaseDirs::home_dir))
}

/// More links into packages are not looked for.
const MOST_LINKS: usize = 1_000;

/// Adds those that begin at what a walk has found.
pub(super) fn add_found(leads: &mut Leads, root: &Root, found: &Found) {
    let place = |path: &[OsString]| super::below(root, path);
    for git in &found.git_folders {
        leads.git_folder(&place(git));
    }
    for (path, kept) in &found.protected {
        match &kept.content {
            Content::Link(_) => {
                let names = names_of(path, found);
                leads.link(&place(path), &names.iter().map(String::as_str).collect::<Vec<_>>());
            }
            Content::File(_) if path.last().is_some_and(|name| name == ".git") => leads.pointer(&place(path)),
            Content::File(_) | Content::Folder | Content::Unknown => {}
        }
    }
    // In packages nobody works, but for those who come to them by another name.
    for path in found.links.keys().take(MOST_LINKS) {
        leads.link_into(&place(path), FOLDER_OF_PACKAGES);
    }
}

/// The names of a path that count: in a folder of git those from it down, whatever it is called.
fn names_of(path: &[OsString], found: &Found) -> Vec<String> {
    /// `.kiro/settings/mcp.json` is the longest one.
    const MOST: usize = 3;
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let git = found.git_folders.iter().filter(|git| path.starts_with(git)).map(Vec::len).max();
    match git {
        Some(length) => {
            std::iter::once(".git".to_owned()).chain(names.get(length..).unwrap_or_default().iter().cloned()).collect()
        }
        None => names.get(names.len().saturating_sub(MOST)..).unwrap_or_default().to_vec(),
    }
}

/// What of the leads concerns an allowed folder.
pub(super) fn below(leads: &Leads, root: &Path) -> Vec<Led> {
    let names_of = |path: &Path| path.iter().map(OsString::from).collect::<Vec<_>>();
    let led = leads.all().iter().filter_map(|lead| {
        if let Ok(rest) = lead.path.strip_prefix(root) {
            return Some(Led { rest: names_of(rest), names: lead.names.clone() });
        }
        let rest = root.strip_prefix(&lead.path).ok()?;
        let rest = rest.iter().map(|name| name.to_string_lossy().into_owned());
        Some(Led { rest: Vec::new(), names: lead.names.iter().cloned().chain(rest).collect() })
    });
    led.collect()
}

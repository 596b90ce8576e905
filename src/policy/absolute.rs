//! An absolute path taken apart by the rules of any platform, on any platform (`std::path` knows only its own).

use std::path::{Path, PathBuf};

use super::fold::{fold_case, fold_name};
use super::{Platform, RelPath};

/// An absolute path without empty parts, `.` and `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Absolute {
    /// Empty on Unix; `C:` or `\\server\share` on Windows.
    pub(super) volume: String,
    /// The parts from the top down.
    pub(super) parts: Vec<String>,
}

impl Absolute {
    /// Takes a path apart; `None` when it is not absolute. `..` at the top stays at the top, as the kernel has it.
    pub(super) fn parse(text: &str, platform: Platform) -> Option<Self> {
        let (volume, rest) = match platform {
            Platform::Linux | Platform::MacOs => (String::new(), text.strip_prefix('/')?),
            Platform::Windows => split_volume(text)?,
        };
        let mut parts = Vec::new();
        for part in split(rest, platform) {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                name => parts.push(name.to_owned()),
            }
        }
        Some(Self { volume, parts })
    }

    /// The same for a path from the disk; names that are not Unicode keep a placeholder, which is enough for denials.
    pub(super) fn from_path(path: &Path, platform: Platform) -> Option<Self> {
        Self::parse(&path.to_string_lossy(), platform)
    }

    /// The path below this one.
    pub(super) fn join(&self, relative: &RelPath) -> Self {
        let parts = self.parts.iter().chain(relative.parts()).cloned().collect();
        Self { volume: self.volume.clone(), parts }
    }

    /// The names below `folder` when this path lies in it (or is it), part by part, as the platform compares names.
    pub(super) fn below(&self, folder: &Self, platform: Platform) -> Option<&[String]> {
        if fold_case(&self.volume) != fold_case(&folder.volume) || self.parts.len() < folder.parts.len() {
            return None;
        }
        let (head, rest) = self.parts.split_at_checked(folder.parts.len())?;
        let same =
            |(a, b): (&String, &String)| a == b || (platform.folds_case() && fold_case(a.as_str()) == fold_case(b));
        head.iter().zip(&folder.parts).all(same).then_some(rest)
    }

    /// The names below `folder` when this path may be taken to lie in it by any file system: for denials.
    pub(super) fn below_folded(&self, folder: &Self) -> Option<&[String]> {
        if fold_name(&self.volume) != fold_name(&folder.volume) {
            return None;
        }
        let (head, rest) = self.parts.split_at_checked(folder.parts.len())?;
        head.iter().zip(&folder.parts).all(|(a, b)| fold_name(a) == fold_name(b)).then_some(rest)
    }

    /// As text of the platform.
    pub(super) fn to_path(&self, platform: Platform) -> PathBuf {
        match platform {
            Platform::Linux | Platform::MacOs => PathBuf::from(format!("/{}", self.parts.join("/"))),
            Platform::Windows => PathBuf::from(format!("{}\\{}", self.volume, self.parts.join("\\"))),
        }
    }
}

/// A path's text at every separator of the platform.
pub(super) fn split(text: &str, platform: Platform) -> impl Iterator<Item = &str> {
    text.split(move |c| is_separator(c, platform))
}

/// Whether a character parts names.
pub(super) fn is_separator(c: char, platform: Platform) -> bool {
    match platform {
        Platform::Linux | Platform::MacOs => c == '/',
        Platform::Windows => c == '/' || c == '\\',
    }
}

/// `C:\x` → (`C:`, `x`); `\\server\share\x` → (`\\server\share`, `x`); the verbatim forms `\\?\…` that handles give too.
fn split_volume(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix(r"\\?\UNC\") {
        return split_share(rest);
    }
    let text = text.strip_prefix(r"\\?\").unwrap_or(text);
    if let Some(rest) = text.strip_prefix(r"\\").or_else(|| text.strip_prefix("//")) {
        return split_share(rest);
    }
    let (volume, rest) = text.split_at_checked(2)?;
    let is_drive = volume.starts_with(|c: char| c.is_ascii_alphabetic()) && volume.ends_with(':');
    let rest = rest.strip_prefix(['/', '\\'])?;
    is_drive.then(|| (volume.to_ascii_uppercase(), rest))
}

fn split_share(rest: &str) -> Option<(String, &str)> {
    let (server, rest) = rest.split_once(['/', '\\'])?;
    let (share, rest) = rest.split_once(['/', '\\']).unwrap_or((rest, ""));
    Some((format!(r"\\{server}\{share}"), rest))
}

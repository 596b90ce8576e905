//! Paths judged as text, before the disk is touched.
//!
//! Order: what cannot be a path, then what leaves its folder, then blocked places, then sensitive names. The sentences
//! never say whether something exists, and never repeat the path: two refusals of a kind are the same, byte for byte.

use std::path::{Path, PathBuf};

use crate::ir::{Code, Failure};

use super::absolute::{Absolute, is_separator, split};
use super::blocked::blocked_absolute;
use super::fold::fold_name;
use super::names::{NameVerdict, judge_name, sensitive_failure};
use super::{Platform, Surroundings};

/// Bytes of a whole path (Linux: `PATH_MAX`).
const PATH_BYTES_MAX: usize = 4096;
/// Units of one name: bytes on Linux, UTF-16 units elsewhere.
const NAME_UNITS_MAX: usize = 255;

/// A path below a folder in normal form: no empty part, no `.`, no `..`, no NUL. Empty means the folder itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RelPath {
    parts: Vec<String>,
}

impl RelPath {
    /// A path from its parts, the top first; `None` when a part is empty, `.` or `..`, or holds a separator or NUL.
    pub fn from_parts(parts: Vec<String>) -> Option<Self> {
        let is_plain = |part: &String| !matches!(part.as_str(), "" | "." | "..") && !part.contains(['/', '\0']);
        parts.iter().all(is_plain).then_some(Self { parts })
    }

    /// The entry of this name in the folder that this path is; `None` when it is not a single name.
    pub fn child(&self, name: &str) -> Option<Self> {
        Self::from_parts(self.parts.iter().cloned().chain([name.to_owned()]).collect())
    }

    /// The parts from the top down.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// Whether it is the folder itself.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The parts joined with `/`; empty for the folder itself.
    pub fn to_slash(&self) -> String {
        self.parts.join("/")
    }

    /// This path below `root`.
    pub fn below(&self, root: &Path) -> PathBuf {
        let mut path = root.to_path_buf();
        path.extend(&self.parts);
        path
    }

    /// The path as the file system takes it; `.` for the folder itself.
    pub fn to_path(&self) -> PathBuf {
        if self.parts.is_empty() { PathBuf::from(".") } else { self.parts.iter().collect() }
    }
}

/// What a given path means by its text alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lexical {
    /// Lies in the allowed folder with this index.
    Inside {
        /// Index into the list of allowed folders.
        root: usize,
        /// The path below it.
        relative: RelPath,
    },
    /// An absolute path outside all allowed folders, in normal form.
    Outside {
        /// The path without `.` and `..`.
        absolute: PathBuf,
    },
}

/// Judges a path by its text. A relative path starts at the first allowed folder; `~/` at the start means the home
/// folder; `..` is taken apart here, and a path that leaves its folder is refused even if it comes back. `lifted` are the
/// absolute paths whose sensitive name the person lifted in this session.
///
/// # Errors
/// `PATH_INVALID` (NUL, empty, too long, device name, alternate stream, UNC), `PATH_OUT_OF_SCOPE` (leaves its folder,
/// or is relative where there is no folder), `BLOCKED_PATH_DENIED`, `SENSITIVE_PATH_DENIED`.
pub fn lexical(
    given: &str,
    roots: &[PathBuf],
    lifted: &[PathBuf],
    surroundings: &Surroundings,
) -> Result<Lexical, Failure> {
    let platform = surroundings.platform;
    check_form(given, platform)?;
    match read(given, surroundings)? {
        Given::Relative(text) => {
            let relative = normalise(text, platform)?;
            let Some(root) = roots.first() else {
                return Err(out_of_scope(
                    "No folder is allowed in this session, so a relative path has nowhere to start: ask the person to \
                     add a folder.",
                ));
            };
            match Absolute::from_path(root, platform) {
                Some(root) => judge_inside(&root.join(&relative), &relative, lifted, surroundings)?,
                None => judge_names(relative.parts())?,
            }
            check_short_names(relative.parts(), platform)?;
            Ok(Lexical::Inside { root: 0, relative })
        }
        Given::Absolute(absolute) => {
            if let Some((root, rest)) = longest_root(&absolute, roots, platform) {
                let relative = RelPath { parts: rest.to_vec() };
                judge_inside(&absolute, &relative, lifted, surroundings)?;
                check_short_names(relative.parts(), platform)?;
                return Ok(Lexical::Inside { root, relative });
            }
            if let Some(failure) = blocked_absolute(&absolute, surroundings) {
                return Err(failure);
            }
            judge_names(&absolute.parts)?;
            check_short_names(&absolute.parts, platform)?;
            Ok(Lexical::Outside { absolute: absolute.to_path(platform) })
        }
    }
}

/// A path's text, read.
enum Given<'text> {
    Relative(&'text str),
    Absolute(Absolute),
}

fn read<'text>(given: &'text str, surroundings: &Surroundings) -> Result<Given<'text>, Failure> {
    let platform = surroundings.platform;
    if let Some(rest) = given.strip_prefix('~').filter(|rest| rest.starts_with(|c| is_separator(c, platform))) {
        let home = surroundings.home.as_deref().and_then(|home| Absolute::from_path(home, platform));
        let home = home.ok_or_else(|| {
            out_of_scope("`~/` means the home folder, and there is none here: use a path in an allowed folder.")
        })?;
        // What follows `~/` may not climb out of the home folder: `~/../x` is no way to spell `/x`.
        let relative = normalise(rest.trim_start_matches(|c| is_separator(c, platform)), platform)?;
        return Ok(Given::Absolute(home.join(&relative)));
    }
    Ok(Absolute::parse(given, platform).map_or(Given::Relative(given), Given::Absolute))
}

/// Takes `.` and `..` out of a relative path, counting how deep it is.
fn normalise(text: &str, platform: Platform) -> Result<RelPath, Failure> {
    let mut parts: Vec<String> = Vec::new();
    for part in split(text, platform) {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Err(out_of_scope(
                        "The path leaves its allowed folder through `..`, which is never allowed: use a path inside \
                         an allowed folder.",
                    ));
                }
            }
            name => parts.push(name.to_owned()),
        }
    }
    Ok(RelPath { parts })
}

/// The allowed folder that holds a path; of several the innermost.
fn longest_root<'path>(
    absolute: &'path Absolute,
    roots: &[PathBuf],
    platform: Platform,
) -> Option<(usize, &'path [String])> {
    roots
        .iter()
        .enumerate()
        // A folder whose name is not Unicode has no text to compare: it is reached by relative paths only.
        .filter_map(|(index, root)| Some((index, Absolute::parse(root.to_str()?, platform)?)))
        .filter_map(|(index, root)| Some((index, absolute.below(&root, platform)?)))
        .min_by_key(|(_, rest)| rest.len())
}

fn judge_inside(
    absolute: &Absolute,
    relative: &RelPath,
    lifted: &[PathBuf],
    surroundings: &Surroundings,
) -> Result<(), Failure> {
    if let Some(failure) = blocked_absolute(absolute, surroundings) {
        return Err(failure);
    }
    let is_lifted = |path: &PathBuf| Absolute::from_path(path, surroundings.platform).as_ref() == Some(absolute);
    if lifted.iter().any(is_lifted) { Ok(()) } else { judge_names(relative.parts()) }
}

fn judge_names(parts: &[String]) -> Result<(), Failure> {
    match judge_name(parts) {
        NameVerdict::Sensitive { part } => Err(sensitive_failure(&part)),
        NameVerdict::Suspicious { .. } | NameVerdict::Ordinary => Ok(()),
    }
}

/// What cannot be a path, whatever is on the disk.
fn check_form(given: &str, platform: Platform) -> Result<(), Failure> {
    if given.is_empty() {
        return Err(invalid("The path is empty: give a path, or `.` for the first allowed folder."));
    }
    if given.contains('\0') {
        return Err(invalid("The path holds a NUL character, which no path can: give it without."));
    }
    if given.len() > PATH_BYTES_MAX {
        return Err(invalid("The path is longer than 4096 bytes: use a shorter one."));
    }
    let too_long = |name: &str| match platform {
        Platform::Linux => name.len() > NAME_UNITS_MAX,
        Platform::MacOs | Platform::Windows => name.encode_utf16().count() > NAME_UNITS_MAX,
    };
    if split(given, platform).any(too_long) {
        return Err(invalid("A name in the path is longer than 255 characters: use a shorter one."));
    }
    match platform {
        Platform::Linux | Platform::MacOs => Ok(()),
        Platform::Windows => check_windows_form(given),
    }
}

fn check_windows_form(given: &str) -> Result<(), Failure> {
    let starts_at_separator = |text: &str| text.starts_with(['/', '\\']);
    if starts_at_separator(given) {
        let rest = given.get(1..).unwrap_or_default();
        return Err(invalid(if starts_at_separator(rest) {
            "Network and device paths (`\\\\server\\share`, `\\\\?\\…`) are refused: use a path with a drive letter."
        } else {
            "A path that starts with a separator has no drive: use a full path with its drive letter, or a relative one."
        }));
    }
    let mut rest = given;
    if let Some((drive, after)) = given.split_at_checked(2)
        && drive.starts_with(|c: char| c.is_ascii_alphabetic())
        && drive.ends_with(':')
    {
        if !starts_at_separator(after) {
            return Err(invalid(
                "`C:name` depends on where the program was started: use a full path such as `C:\\folder\\name`.",
            ));
        }
        rest = after;
    }
    for name in split(rest, Platform::Windows).filter(|name| !matches!(*name, "" | "." | "..")) {
        if name.contains(':') {
            return Err(invalid("`:` in a name means an alternate data stream, which is refused: use the plain name."));
        }
        if name.contains(|c: char| c < ' ' || "<>\"|?*".contains(c)) {
            return Err(invalid(
                "A name in the path holds a character that Windows forbids in names: use another one.",
            ));
        }
        if name.ends_with(['.', ' ']) {
            return Err(invalid("A name in the path ends in a dot or space, which Windows cuts off: use it without."));
        }
        if is_device_name(name) {
            return Err(invalid("A name in the path is a Windows device (such as CON or NUL): use another one."));
        }
    }
    Ok(())
}

/// Refuses the second, short name that Windows gives to files with long ones: it says nothing of what the long one says.
fn check_short_names(parts: &[String], platform: Platform) -> Result<(), Failure> {
    let has_short_name = match platform {
        Platform::Linux | Platform::MacOs => false,
        Platform::Windows => parts.iter().any(|part| is_short_name(part)),
    };
    if has_short_name {
        return Err(invalid(
            "A name such as `LONGNA~1.TXT` stands for another, longer name: use the long one, as a listing shows it.",
        ));
    }
    Ok(())
}

/// `SECRET~1.TXT`, `A1B2~12`: at most eight characters with a tilde before a number, and an extension of at most three.
fn is_short_name(name: &str) -> bool {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let Some((_, number)) = stem.rsplit_once('~') else { return false };
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    is_number && stem.chars().count() <= 8 && extension.chars().count() <= 3 && !extension.contains('.')
}

/// `CON`, `nul.txt`, `aux `, `COM¹`, … : Windows opens the device, in whatever folder and with whatever extension.
fn is_device_name(name: &str) -> bool {
    let folded = fold_name(name);
    let stem = folded.split('.').next().unwrap_or_default().trim_end();
    if matches!(stem, "con" | "prn" | "aux" | "nul" | "conin$" | "conout$" | "clock$") {
        return true;
    }
    let number = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    number.is_some_and(|number| number.len() == 1 && number.starts_with(|c: char| c.is_ascii_digit()))
}

fn invalid(message: &str) -> Failure {
    Failure::new(Code::PathInvalid, message)
}

fn out_of_scope(message: &str) -> Failure {
    Failure::new(Code::PathOutOfScope, message)
}

#[cfg(test)]
mod tests;

//! Places on a command line: what a target such as `/`, `~/*` or `/dev/sda` is.

use super::syntax::UNKNOWN;
use super::word::{HOME, STAR};

const SYSTEM_FOLDERS: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "proc",
    "sbin",
    "sys",
    "usr",
    "var",
    "system",
    "library",
    "applications",
    "private",
    "windows",
];
const HOME_FOLDERS: &[&str] = &["home", "users"];
/// Below `/dev`, where nothing is lost by writing.
const HARMLESS_DEVICES: &[&str] =
    &["null", "zero", "full", "stdout", "stderr", "stdin", "tty", "fd", "ptmx", "pts", "shm"];

/// Whether losing everything at this target means a whole disk, a home folder or a system folder. `folder` is where the
/// command line went by `cd`, if it did.
pub(super) fn is_vital(target: &str, folder: Option<&str>) -> bool {
    let Some(parts) = parts(target, folder) else { return false };
    match parts.as_slice() {
        [] => true,
        [only] if only.starts_with(HOME) => true,
        [only] => is_one_of(only, SYSTEM_FOLDERS) || is_one_of(only, HOME_FOLDERS) || fits(only, "root"),
        [first, second] => {
            (is_one_of(first, HOME_FOLDERS) && !second.contains(UNKNOWN))
                || (fits(first, "var") && fits(second, "home"))
        }
        _ => false,
    }
}

/// Whether a target lies in a system folder, or is the top of the disk.
pub(super) fn is_in_system(target: &str, folder: Option<&str>) -> bool {
    parts(target, folder).is_some_and(|parts| match parts.first() {
        None => true,
        Some(first) => is_one_of(first, SYSTEM_FOLDERS),
    })
}

/// Whether writing there writes to a disk or another device itself.
pub(super) fn is_device(target: &str) -> bool {
    let Some(parts) = parts(target, None) else { return false };
    match parts.as_slice() {
        [dev, device, ..] if dev == "dev" => !HARMLESS_DEVICES.contains(&device.as_str()),
        _ => false,
    }
}

/// Whether a redirection opens a network connection by the shell itself.
pub(super) fn is_shell_socket(target: &str) -> bool {
    target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/")
}

/// Whether a target may be such a place all the same: a value that is empty, or folders above the one where it starts.
pub(super) fn may_be_vital(target: &str, folder: Option<&str>) -> bool {
    let without = target.replace(UNKNOWN, "");
    if without.len() < target.len() && !without.is_empty() && is_vital(&without, folder) {
        return true;
    }
    let mut parts = target.split('/').filter(|part| !part.is_empty() && *part != ".").peekable();
    let leaves = !target.starts_with('/') && parts.peek() == Some(&"..");
    folder.is_none() && leaves && parts.all(|part| part == ".." || is_everything(part))
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| fits(name, known))
}

/// Whether a name is this one, or a pattern that fits it: `e*`, `???`, `et[c]`.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pattern_chars = pattern.chars();
    let Some(c) = pattern_chars.next() else { return name.is_empty() };
    let rest = pattern_chars.as_str();
    let after_first = || {
        let mut chars = name.chars();
        chars.next().map(|first| (first, chars.as_str()))
    };
    match c {
        STAR => name
            .char_indices()
            .map(|(at, _)| at)
            .chain([name.len()])
            .any(|at| name.get(at..).is_some_and(|tail| fits(rest, tail))),
        '?' => after_first().is_some_and(|(_, tail)| fits(rest, tail)),
        '[' if rest.contains(']') => {
            // Which characters it stands for is the shell's business: any.
            let behind = rest.split_once(']').map_or("", |(_, behind)| behind);
            after_first().is_some_and(|(_, tail)| fits(behind, tail))
        }
        c => after_first().is_some_and(|(first, tail)| c.eq_ignore_ascii_case(&first) && fits(rest, tail)),
    }
}

/// The names of a target from the top, without those that mean the same folder or everything in it. The home folder is
/// a name of its own. `None` for a place that is not known.
fn parts(target: &str, folder: Option<&str>) -> Option<Vec<String>> {
    let is_rooted = |text: &str| text.starts_with(['/', HOME]);
    let joined = match folder {
        _ if is_rooted(target) => target.to_owned(),
        Some(folder) if is_rooted(folder) => format!("{folder}/{target}"),
        Some(_) | None => return None,
    };
    let mut parts: Vec<String> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name.to_owned()),
        }
    }
    while parts.last().is_some_and(|last| is_everything(last)) {
        parts.pop();
    }
    Some(parts)
}

/// `*`, `.*`, `*.*`, `?*`, `.[!.]*` …: every entry of a folder.
fn is_everything(name: &str) -> bool {
    name.contains(STAR) && name.chars().all(|c| c == STAR || ".?[]!^".contains(c))
}

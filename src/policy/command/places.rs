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
        [only] => is_one_of(only, SYSTEM_FOLDERS) || is_one_of(only, HOME_FOLDERS) || only == "root",
        [first, second] => {
            (is_one_of(first, HOME_FOLDERS) && !second.contains(UNKNOWN)) || (first == "var" && second == "home")
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

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
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

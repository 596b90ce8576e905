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

/// Whether a name is this one, or a pattern that fits it: `e*`, `???`, `et[c]`. Each sign of the pattern is looked at once.
fn fits(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // How many characters of the name what was read of the pattern may stand for.
    let mut reached = vec![false; name.len() + 1];
    if let Some(none) = reached.first_mut() {
        *none = true;
    }
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        if c == STAR {
            let mut is_behind = false;
            for is_reached in &mut reached {
                is_behind |= *is_reached;
                *is_reached = is_behind;
            }
            continue;
        }
        let class_end = rest.split_once(']').filter(|_| c == '[').map(|(_, behind)| behind);
        // Which characters a class stands for is the shell's business: any.
        let is_any = c == '?' || class_end.is_some();
        rest = class_end.unwrap_or(rest);
        let steps = std::iter::once(false).chain(
            reached.iter().zip(&name).map(|(is_reached, own)| *is_reached && (is_any || c.eq_ignore_ascii_case(own))),
        );
        reached = steps.collect();
    }
    reached.last().copied().unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_what_the_shell_would_take_for_it() {
        for (pattern, name, expected) in [
            ("etc", "etc", true),
            ("Etc", "etc", true),
            ("e*", "etc", true),
            ("*", "etc", true),
            ("*c", "etc", true),
            ("e*t*c", "etc", true),
            ("???", "etc", true),
            ("et[abc]", "etc", true),
            ("et[", "et[", true),
            ("[!x]tc*", "etc", true),
            ("etc?", "etc", false),
            ("??", "etc", false),
            ("*x*", "etc", false),
            ("tc", "etc", false),
            ("", "etc", false),
        ] {
            let pattern = pattern.replace('*', &STAR.to_string());
            assert_eq!(fits(&pattern, name), expected, "{pattern:?} {name}");
        }
    }

    #[test]
    fn many_stars_cost_no_more_than_their_number() {
        let pattern = format!("{0}\u{7de}{0}x", STAR.to_string().repeat(20_000));
        assert!(!fits(&pattern, "applications"));
    }
}

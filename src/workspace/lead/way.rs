//! Where a path leads that a link or a configuration names, and what is there.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use crate::workspace::Folder;

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;
/// Where links lead to what a process has open, and where it stands.
const PROCESSES: &str = "/proc";
/// More of a configuration is not read.
const MOST_BYTES: u64 = 1024 * 1024;

/// A path taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// With no link in it. What is missing at its end stays as it was said.
    pub(super) end: PathBuf,
    /// The links that were met.
    pub(super) links: Vec<PathBuf>,
    /// Names of no folder from which `..` leads back: the system goes this way only where they are folders.
    pub(super) turned: Vec<PathBuf>,
    /// Whether it leads elsewhere for another process: over `/proc/self/cwd` or its kin.
    pub(super) is_shifting: bool,
}

/// Follows an absolute path to its end; `None` where it is none, or leads over too many links.
pub(super) fn follow(path: &Path) -> Option<Way> {
    if !path.is_absolute() {
        return None;
    }
    let mut end = PathBuf::new();
    let (mut links, mut turned, mut is_shifting) = (Vec::new(), Vec::new(), false);
    let mut pending = parts(path);
    while let Some(part) = pending.pop() {
        if part == ".." {
            if !end.as_os_str().is_empty() && !end.is_dir() {
                turned.push(end.clone());
            }
            end.pop();
            continue;
        }
        let next = end.join(part);
        let Ok(to) = std::fs::read_link(&next) else {
            end = next;
            continue;
        };
        if links.len() >= MOST_LINKS {
            return None;
        }
        if to.has_root() {
            end = PathBuf::new();
        }
        pending.extend(parts(&to));
        is_shifting |= next.starts_with(PROCESSES);
        links.push(next);
    }
    Some(Way { end, links, turned, is_shifting })
}

/// The last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// What a path in a configuration stands for, where that can be told.
pub(super) fn expand(text: &str, base: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    if let Some(rest) = text.strip_prefix("~/") {
        return home.map(|home| home.join(rest));
    }
    let path = Path::new(text);
    // Somebody else's home, and where git itself was installed.
    if text.starts_with('~') || text.starts_with("%(") {
        return None;
    }
    if path.is_absolute() { Some(path.to_owned()) } else { base.map(|base| base.join(path)) }
}

/// Reads a regular file, wherever links lead; nothing else is opened.
pub(super) fn read(path: &Path) -> Option<String> {
    read_bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The same as it is.
pub(super) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    let Way { end, turned, .. } = follow(path)?;
    if !turned.is_empty() {
        return None;
    }
    let folder = Folder::open_ambient(end.parent()?).ok()?;
    let (file, _) = folder.open_file(end.file_name()?).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "tests lay out their own files")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_also_to_what_is_missing() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        symlink("a/b", top.join("l")).unwrap();
        symlink("../missing/x", top.join("a/m")).unwrap();
        symlink("round", top.join("round")).unwrap();
        let way = |path: &str| follow(&top.join(path));
        let to = |end: &str, links: &[&str]| {
            let links = links.iter().map(|link| top.join(link)).collect();
            Some(Way { end: top.join(end), links, turned: Vec::new(), is_shifting: false })
        };
        assert_eq!(way("l/../c"), to("a/c", &["l"]));
        assert_eq!(way("l/c/d"), to("a/b/c/d", &["l"]));
        assert_eq!(way("a/m"), to("missing/x", &["a/m"]));
        assert_eq!(way("round"), None);
        assert_eq!(way("l/../../x/../a").unwrap().turned, [top.join("x")]);
        assert!(!way("l/../../x/../a").unwrap().is_shifting);
        symlink("/proc/self/cwd/a", top.join("shifting")).unwrap();
        assert_eq!(way("shifting/b").unwrap().is_shifting, cfg!(target_os = "linux"));
        assert_eq!(read(&top.join("x/../l/c")), None, "the system does not come there");
        assert_eq!(follow(Path::new("a")), None);
        assert_eq!(read(&top.join("a/b")), None);
        fs::write(top.join("a/b/c"), "text").unwrap();
        assert_eq!(read(&top.join("l/c")).as_deref(), Some("text"));
    }
}

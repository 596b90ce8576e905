//! What a folder holds in all: for the question before it is deleted.

use sha2::{Digest as _, Sha256};

use super::{Folder, Identity, WorkspaceError};
use crate::policy::TargetKind;

/// The most entries that a survey lists.
const MAX_ENTRIES: usize = 50_000;

/// The deepest that a survey goes: each level is an open folder.
const MAX_DEPTH: usize = 128;

/// Everything in a folder, links not followed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// Folder by folder; in each, folders first, then by name.
    pub entries: Vec<SurveyEntry>,
    /// Sum of the sizes of files, in bytes.
    pub bytes: u64,
    /// Whether the walk stopped at a limit, or could not look into a folder.
    pub at_least: bool,
    /// SHA-256 over the entries with their numbers and times, hex: another one for a tree in which something was added,
    /// removed, renamed or written since.
    pub digest: String,
}

/// One thing in a surveyed folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyEntry {
    /// Relative to the surveyed folder, with `/`.
    pub path: String,
    pub kind: TargetKind,
    pub bytes: u64,
}

/// Walks a folder.
///
/// # Errors
/// When the folder itself cannot be listed.
pub fn survey(folder: &Folder, shown: &std::path::Path) -> Result<Survey, WorkspaceError> {
    let failed = |source| WorkspaceError::io("Listing the folder", shown, source);
    let mut survey = Survey::default();
    let mut hasher = Sha256::new();
    // Folders to look into, the next one last; each waits unopened, so that only the way down is held open.
    let mut pending: Vec<Step> = steps(folder, "", 0).map_err(failed)?;
    let mut way: Vec<Folder> = vec![folder.clone()];
    while let Some(step) = pending.pop() {
        way.truncate(step.depth + 1);
        if survey.entries.len() >= MAX_ENTRIES {
            survey.at_least = true;
            break;
        }
        survey.bytes = survey.bytes.saturating_add(step.entry.bytes);
        let Identity { device, inode, bytes, modified_ns, .. } = step.identity;
        let kind = step.entry.kind;
        // No name and no path holds a NUL.
        hasher.update(step.entry.path.as_bytes());
        hasher.update([0]);
        hasher.update(step.name.as_encoded_bytes());
        hasher.update(format!("\0{kind:?} {device} {inode} {bytes} {modified_ns} {}\0", step.changed_ns));
        let is_folder = step.entry.kind == TargetKind::Folder;
        let path = step.entry.path.clone();
        survey.entries.push(step.entry);
        let Some(above) = way.last().filter(|_| is_folder) else { continue };
        if step.depth + 1 >= MAX_DEPTH {
            survey.at_least = true;
            continue;
        }
        let inside = above.open_folder(&step.name).and_then(|inside| {
            pending.extend(steps(&inside, &path, step.depth + 1)?);
            Ok(inside)
        });
        match inside {
            Ok(inside) => way.push(inside),
            Err(_unreadable) => survey.at_least = true,
        }
    }
    survey.digest = hex::encode(hasher.finalize());
    Ok(survey)
}

/// One entry that is still to be looked at.
struct Step {
    name: std::ffi::OsString,
    entry: SurveyEntry,
    identity: Identity,
    /// A program may set the time of writing back; not this one. 0 where the system does not say.
    changed_ns: i128,
    /// How many folders lie between it and the surveyed folder.
    depth: usize,
}

/// What is in a folder, the first one last.
fn steps(folder: &Folder, prefix: &str, depth: usize) -> std::io::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for entry in folder.entries()? {
        let (kind, bytes) = match &entry.stat {
            Ok(stat) if stat.kind == TargetKind::File => (stat.kind, stat.identity.bytes),
            Ok(stat) => (stat.kind, 0),
            Err(_unknown) => (TargetKind::Special, 0),
        };
        let known = entry.stat.as_ref().map(|stat| (stat.identity, stat.changed_ns));
        let (identity, changed_ns) = known.unwrap_or_default();
        let name = entry.name.to_string_lossy();
        let path = if prefix.is_empty() { name.into_owned() } else { format!("{prefix}/{name}") };
        steps.push(Step { name: entry.name, entry: SurveyEntry { path, kind, bytes }, identity, changed_ns, depth });
    }
    steps.sort_by_key(|step| step.entry.kind != TargetKind::Folder);
    steps.reverse();
    Ok(steps)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out their own files")]
mod tests {
    use std::fs;

    use super::*;
    use crate::workspace::Root;

    #[test]
    fn a_folder_is_counted_whole_and_links_are_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path();
        fs::create_dir_all(top.join("b/c")).unwrap();
        fs::create_dir_all(top.join("z")).unwrap();
        fs::write(top.join("a"), "12345").unwrap();
        fs::write(top.join("b/c/d"), "123").unwrap();
        fs::write(top.join("b/e"), "1").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/", top.join("z/link")).unwrap();
        let root = Root::open(top).unwrap();
        let found = survey(root.folder(), top).unwrap();
        let paths: Vec<_> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
        #[cfg(unix)]
        assert_eq!(paths, ["b", "b/c", "b/c/d", "b/e", "z", "z/link", "a"]);
        assert_eq!((found.bytes, found.at_least), (9, false));
    }

    #[cfg(unix)]
    #[test]
    fn another_tree_has_another_digest() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path();
        fs::create_dir_all(top.join("b/c")).unwrap();
        fs::write(top.join("b/a"), "12345").unwrap();
        fs::write(top.join("b/c/d"), "123").unwrap();
        let root = Root::open(top).unwrap();
        let digest = || survey(root.folder(), top).unwrap().digest;
        let mut seen = vec![digest()];
        assert_eq!(digest(), seen[0], "nothing happened");
        fs::read(top.join("b/a")).unwrap();
        assert_eq!(digest(), seen[0], "it was read");
        let changes: [(&str, &dyn Fn()); 7] = [
            ("added", &|| fs::write(top.join("b/c/e"), "").unwrap()),
            ("removed", &|| fs::remove_file(top.join("b/c/e")).unwrap()),
            ("renamed", &|| fs::rename(top.join("b/a"), top.join("b/f")).unwrap()),
            ("moved", &|| fs::rename(top.join("b/f"), top.join("f")).unwrap()),
            ("of the same size", &|| {
                let old = fs::metadata(top.join("b/c/d")).unwrap().modified().unwrap();
                fs::write(top.join("b/c/d"), "456").unwrap();
                let file = fs::File::options().write(true).open(top.join("b/c/d")).unwrap();
                file.set_modified(old + std::time::Duration::from_millis(1)).unwrap();
            }),
            ("of the same size and with the old time", &|| {
                use std::os::unix::fs::MetadataExt as _;
                let before = fs::metadata(top.join("b/c/d")).unwrap();
                // The system's clock may not have ticked since the last change.
                while fs::metadata(top.join("b/c/d")).unwrap().ctime_nsec() == before.ctime_nsec() {
                    fs::write(top.join("b/c/d"), "789").unwrap();
                    let file = fs::File::options().write(true).open(top.join("b/c/d")).unwrap();
                    file.set_modified(before.modified().unwrap()).unwrap();
                }
                let now = fs::metadata(top.join("b/c/d")).unwrap();
                let told = |of: &fs::Metadata| (of.ino(), of.len(), of.mtime(), of.mtime_nsec());
                assert_eq!(told(&now), told(&before), "nothing else tells");
            }),
            ("replaced", &|| {
                fs::rename(top.join("b/c/d"), top.join("b/c/old")).unwrap();
                fs::copy(top.join("b/c/old"), top.join("b/c/d")).unwrap();
                fs::remove_file(top.join("b/c/old")).unwrap();
            }),
        ];
        for (name, change) in changes {
            change();
            let now = digest();
            assert!(!seen.contains(&now), "{name}");
            seen.push(now);
        }
    }

    #[test]
    fn five_thousand_nested_folders_end_at_the_depth_limit() {
        let temp = tempfile::tempdir().unwrap();
        let mut folder = Root::open(temp.path()).unwrap().folder().clone();
        for _ in 0..5000 {
            folder.create_folder("d".as_ref(), crate::workspace::folder::Privacy::Owner).unwrap();
            folder = folder.open_folder("d".as_ref()).unwrap();
        }
        let root = Root::open(temp.path()).unwrap();
        let found = survey(root.folder(), temp.path()).unwrap();
        assert_eq!((found.entries.len(), found.at_least), (MAX_DEPTH, true));
    }
}

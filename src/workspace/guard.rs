//! What a command must leave as it is in the allowed folders: files that something later executes.
//!
//! Before a command these files are found and kept; after it everything is looked at again, and what was changed or has
//! appeared is put back. Where the kernel can, they are read-only meanwhile; where it cannot (what is absent cannot be
//! mounted read-only, and Landlock knows no exceptions) this is what holds.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use super::folder::{Listed, Privacy};
use super::{Folder, Identity, Root, Stat, system};
use crate::policy::{NameVerdict, ProtectedWrite, RelPath, TargetKind, is_protected_write, judge_name};

/// Names that are looked at in one allowed folder, nearest first.
const MOST_NAMES: usize = 50_000;
const MOST_DEPTH: usize = 16;
/// A larger file is compared by its size and time alone, and cannot be put back.
const KEPT_FILE_BYTES: u64 = 1024 * 1024;
const KEPT_BYTES: u64 = 16 * 1024 * 1024;

/// The protected files of some allowed folders, as they were.
#[derive(Debug)]
pub struct Guard {
    roots: Vec<GuardedRoot>,
}

#[derive(Debug)]
struct GuardedRoot {
    root: Root,
    before: Found,
}

/// Something that was found by its name.
#[derive(Debug)]
pub struct Guarded {
    /// Its real path.
    pub path: PathBuf,
    /// The folder or file, opened.
    pub handle: File,
}

/// What was put back, or could not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    /// Relative to its allowed folder, with `/`.
    pub path: String,
    /// What was done.
    pub how: Revert,
}

/// What was done to a protected file after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Revert {
    /// It had appeared and was removed.
    Removed,
    /// It had been changed or removed and was put back.
    Restored,
    /// It was changed, or has appeared, and nothing could be done about it.
    Left,
}

/// What the end of a command showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuardReport {
    /// What was put back, or could not be, by path.
    pub reverted: Vec<Reverted>,
    /// Whether there was too much to look at all of it.
    pub is_incomplete: bool,
}

/// What lies in a folder, as far as it matters here.
#[derive(Debug, Default)]
struct Found {
    /// By path from the allowed folder.
    protected: BTreeMap<Vec<OsString>, Kept>,
    /// The outermost of the protected ones, in their order.
    tops: Vec<Vec<OsString>>,
    /// Folders of git itself: they stay where they are.
    pinned: Vec<Vec<OsString>>,
    /// Sensitive names, and whether each is a folder.
    sensitive: Vec<(Vec<OsString>, bool)>,
    /// The folders that were looked at.
    folders: HashSet<(u64, u64)>,
    /// Those that could not be: their permissions forbid it.
    closed: HashSet<(u64, u64)>,
    /// Whether there were too many names, or they lay too deep.
    is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    stat: Stat,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
    /// Too large, unreadable or no file.
    Unknown,
}

impl Guard {
    /// Looks through the allowed folders. What cannot be opened cannot be guarded, and by a command not be used either.
    pub fn take(roots: &[Root]) -> Self {
        let roots = roots.iter().map(|root| GuardedRoot { root: root.clone(), before: look(root.folder(), None) });
        Self { roots: roots.collect() }
    }

    /// The outermost protected files and folders that there are, opened, at most this many.
    pub fn protected(&self, most: usize) -> Vec<Guarded> {
        self.opened(|found| &found.tops, most)
    }

    /// The folders of git, opened, at most this many.
    pub fn pinned(&self, most: usize) -> Vec<Guarded> {
        self.opened(|found| &found.pinned, most)
    }

    /// The real paths of what has a sensitive name, and whether each is a folder.
    pub fn sensitive(&self) -> impl Iterator<Item = (PathBuf, bool)> {
        self.roots.iter().flat_map(|GuardedRoot { root, before }| {
            before.sensitive.iter().map(|(path, is_folder)| (below(root, path), *is_folder))
        })
    }

    fn opened(&self, paths: impl Fn(&Found) -> &Vec<Vec<OsString>>, most: usize) -> Vec<Guarded> {
        let all = self.roots.iter().flat_map(|guarded| paths(&guarded.before).iter().map(move |path| (guarded, path)));
        all.filter_map(|(guarded, path)| {
            let handle = open(guarded.root.folder(), path)?;
            Some(Guarded { path: below(&guarded.root, path), handle })
        })
        .take(most)
        .collect()
    }

    /// Looks again and puts back what is no longer as it was.
    pub fn revert(self) -> GuardReport {
        let mut report = GuardReport::default();
        for GuardedRoot { root, before } in self.roots {
            let after = look(root.folder(), Some(&before));
            report.is_incomplete |= (after.is_cut && !before.is_cut) || !after.closed.is_empty();
            put_back(root.folder(), &before, &after, &mut report.reverted);
        }
        report
    }
}

fn below(root: &Root, path: &[OsString]) -> PathBuf {
    path.iter().fold(root.real_path().to_path_buf(), |path, name| path.join(name))
}

/// Opens a file or folder without following a link.
fn open(folder: &Folder, path: &[OsString]) -> Option<File> {
    let (name, parents) = path.split_last()?;
    let parent = descend(folder, parents)?;
    match parent.stat_of(name).ok()?.kind {
        TargetKind::Folder => parent.open_folder(name).ok()?.handle().ok(),
        TargetKind::File => parent.open_file(name).ok().map(|(file, _)| file),
        TargetKind::Link | TargetKind::Special | TargetKind::Missing => None,
    }
}

fn descend(folder: &Folder, path: &[OsString]) -> Option<Folder> {
    path.iter().try_fold(folder.clone(), |folder, name| folder.open_folder(name).ok())
}

/// What a name is to this room.
enum Meaning {
    Ordinary,
    Git,
    Protected,
    Sensitive,
}

fn meaning(path: &[OsString], is_folder: bool) -> Meaning {
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let Some(last) = names.last() else { return Meaning::Ordinary };
    let git = names.iter().position(|name| is_git(name));
    // Only what lies in a folder of git depends on more than its last two names.
    let judged = names.get(git.unwrap_or(names.len().saturating_sub(2))..).unwrap_or_default();
    let is_git_itself = git == Some(names.len() - 1);
    if is_git_itself && is_folder {
        return Meaning::Git;
    }
    let is_denied = RelPath::from_parts(judged.to_vec())
        .is_some_and(|path| is_protected_write(&path) == Some(ProtectedWrite::Denied));
    if is_denied || is_editor_folder(last) {
        return Meaning::Protected;
    }
    match judge_name(std::slice::from_ref(last)) {
        NameVerdict::Sensitive { .. } => Meaning::Sensitive,
        NameVerdict::Suspicious { .. } | NameVerdict::Ordinary => Meaning::Ordinary,
    }
}

fn is_git(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Of an editor's folder everything: its settings run programs too.
fn is_editor_folder(name: &str) -> bool {
    name.eq_ignore_ascii_case(".vscode")
}

/// Where git keeps what nothing executes.
fn is_git_data(path: &[OsString]) -> bool {
    const DATA: [&str; 5] = ["objects", "refs", "logs", "lfs", "info"];
    let is_in_git = path.iter().any(|name| name.to_str().is_some_and(is_git));
    is_in_git && path.last().and_then(|name| name.to_str()).is_some_and(|name| DATA.contains(&name))
}

/// A folder that waits to be looked at.
struct Waiting {
    folder: Folder,
    path: Vec<OsString>,
    /// Whether all in it is protected.
    is_protected: bool,
}

/// What there is, or after a command what there is now. Then the folders of git that were there come first, so that no
/// flood of names hides them, and what a command has closed is opened again.
fn look(root: &Folder, before: Option<&Found>) -> Found {
    let mut found = Found::default();
    let Ok(mount) = root.stat().map(|stat| stat.identity.mount) else { return found };
    let mut names_left = MOST_NAMES;
    let mut bytes_left = KEPT_BYTES;
    let known = before.map(|before| before.pinned.as_slice()).unwrap_or_default();
    let mut waiting: VecDeque<Waiting> = known
        .iter()
        .filter_map(|path| Some(Waiting { folder: descend(root, path)?, path: path.clone(), is_protected: false }))
        .collect();
    waiting.push_back(Waiting { folder: root.clone(), path: Vec::new(), is_protected: false });
    while let Some(Waiting { folder, path, is_protected }) = waiting.pop_front() {
        let Ok(stat) = folder.stat() else {
            found.is_cut = true;
            continue;
        };
        // Another mount is not entered: a command cannot write there.
        if stat.identity.mount != mount || found.folders.contains(&object(&stat.identity)) {
            continue;
        }
        let Some((folder, listing)) = list(folder, &stat, before) else {
            found.closed.insert(object(&stat.identity));
            continue;
        };
        found.folders.insert(object(&stat.identity));
        for listed in listing {
            if names_left == 0 {
                found.is_cut = true;
                return found;
            }
            names_left -= 1;
            let child: Vec<OsString> = path.iter().chain([&listed.name]).cloned().collect();
            let is_folder = listed.kind == Some(TargetKind::Folder);
            let mut goes_down = is_folder && !is_git_data(&child);
            let mut is_child_protected = is_protected;
            match meaning(&child, is_folder) {
                _ if is_protected => keep(&mut found, &folder, &listed.name, child.clone(), &mut bytes_left),
                Meaning::Protected => {
                    is_child_protected = true;
                    keep(&mut found, &folder, &listed.name, child.clone(), &mut bytes_left);
                    found.tops.push(child.clone());
                }
                Meaning::Git => found.pinned.push(child.clone()),
                Meaning::Sensitive => {
                    goes_down = false;
                    found.sensitive.push((child.clone(), is_folder));
                }
                Meaning::Ordinary => {}
            }
            if !goes_down {
                continue;
            }
            if child.len() >= MOST_DEPTH {
                found.is_cut = true;
            } else if let Ok(folder) = folder.open_folder(&listed.name) {
                waiting.push_back(Waiting { folder, path: child, is_protected: is_child_protected });
            } else if let Ok(stat) = folder.stat_of(&listed.name) {
                found.closed.insert(object(&stat.identity));
            }
        }
    }
    found
}

/// What is in a folder; `None` where its permissions forbid to see that. After a command they are given back to the owner:
/// a program finds what it executes by its name, in a folder that nobody can list too.
fn list(folder: Folder, stat: &Stat, before: Option<&Found>) -> Option<(Folder, Vec<Listed>)> {
    if let Some(listing) = seen(&folder) {
        return Some((folder, listing));
    }
    let was_open = before.is_some_and(|before| !before.closed.contains(&object(&stat.identity)));
    let folder = was_open.then(|| folder.open_up(stat.mode | OWNER_MAY_ALL).ok())??;
    let listing = seen(&folder)?;
    Some((folder, listing))
}

/// Every right of the owner to a folder.
const OWNER_MAY_ALL: u32 = 0o700;

/// The folder that something lies in, so that it can be changed there: a command may have taken that right away.
fn writable_parent(root: &Folder, parents: &[OsString]) -> io::Result<Folder> {
    let parent = descend(root, parents).ok_or(io::ErrorKind::NotFound)?;
    let mode = parent.stat()?.mode;
    // Somebody else's folder stays as it is: then the change itself says so.
    let opened = if mode & OWNER_MAY_ALL == OWNER_MAY_ALL { None } else { parent.open_up(mode | OWNER_MAY_ALL).ok() };
    Ok(opened.unwrap_or(parent))
}

/// The names in a folder; `None` where they, or what they stand for, cannot be seen.
fn seen(folder: &Folder) -> Option<Vec<Listed>> {
    let listing = folder.listing().ok()?;
    match listing.first().map(|listed| folder.stat_of(&listed.name).map_err(|error| error.kind())) {
        Some(Err(io::ErrorKind::PermissionDenied)) => None,
        Some(Ok(_) | Err(_)) | None => Some(listing),
    }
}

fn keep(found: &mut Found, folder: &Folder, name: &OsStr, path: Vec<OsString>, bytes_left: &mut u64) {
    let Ok(stat) = folder.stat_of(name) else { return };
    let content = match stat.kind {
        TargetKind::Folder => Content::Folder,
        TargetKind::Link => folder.read_link(name).map_or(Content::Unknown, Content::Link),
        TargetKind::File => {
            read(folder, name, (*bytes_left).min(KEPT_FILE_BYTES)).map_or(Content::Unknown, |content| {
                *bytes_left = bytes_left.saturating_sub(content.len() as u64);
                Content::File(content)
            })
        }
        TargetKind::Special | TargetKind::Missing => Content::Unknown,
    };
    found.protected.insert(path, Kept { stat, content });
}

fn read(folder: &Folder, name: &OsStr, most: u64) -> Option<Vec<u8>> {
    let (file, _) = folder.open_file(name).ok()?;
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= most).then_some(content)
}

impl Kept {
    /// Whether it is still what it was, for whoever would execute it.
    fn is_same(&self, now: &Self) -> bool {
        let is_unchanged = match (&self.content, &now.content) {
            (Content::Unknown, Content::Unknown) => self.stat.identity.is_same_content(&now.stat.identity),
            (before, after) => before == after,
        };
        is_unchanged && self.stat.kind == now.stat.kind && self.stat.mode == now.stat.mode
    }
}

fn put_back(root: &Folder, before: &Found, after: &Found, reverted: &mut Vec<Reverted>) {
    let mut done = |path: &[OsString], how: Revert| reverted.push(Reverted { path: shown(path), how });
    // What was moved along with its folder is no new file.
    let moved: HashSet<(u64, u64)> = before
        .protected
        .iter()
        .filter(|(path, _)| !after.protected.contains_key(*path))
        .map(|(_, kept)| object(&kept.stat.identity))
        .collect();
    // The inner before the outer, so that a folder is empty when its turn comes.
    for (path, now) in after.protected.iter().rev() {
        let is_new = !before.protected.contains_key(path);
        let is_moved = moved.contains(&object(&now.stat.identity))
            && before
                .protected
                .values()
                .any(|kept| object(&kept.stat.identity) == object(&now.stat.identity) && kept.is_same(now));
        if !is_new || is_moved {
            continue;
        }
        // Where not everything was seen before, only what lies in a folder that was is known to be new.
        let is_known = !before.is_cut || parent_of(root, path).is_some_and(|parent| before.folders.contains(&parent));
        let how = if is_known && remove(root, path, now).is_ok() { Revert::Removed } else { Revert::Left };
        done(path, how);
    }
    let mut made_anew: HashSet<&[OsString]> = HashSet::new();
    for (path, kept) in &before.protected {
        let is_parent_there = || {
            let parents = path.split_last().map(|(_, parents)| parents).unwrap_or_default();
            made_anew.contains(parents) || parent_of(root, path).is_some_and(|parent| before.folders.contains(&parent))
        };
        match after.protected.get(path) {
            Some(now) if kept.is_same(now) => {}
            Some(now) => {
                let how = if restore(root, path, kept, Some(now)).is_ok() { Revert::Restored } else { Revert::Left };
                made_anew.insert(path);
                done(path, how);
            }
            // Where its folder went, it went along; a command may remove folders. What was not reached this time is
            // not known to be gone.
            None if !after.is_cut && is_parent_there() => {
                let how = if restore(root, path, kept, None).is_ok() { Revert::Restored } else { Revert::Left };
                made_anew.insert(path);
                done(path, how);
            }
            None => {}
        }
    }
    reverted.sort_by(|one, two| one.path.cmp(&two.path));
}

fn object(identity: &Identity) -> (u64, u64) {
    (identity.device, identity.inode)
}

fn parent_of(root: &Folder, path: &[OsString]) -> Option<(u64, u64)> {
    let (_, parents) = path.split_last()?;
    descend(root, parents)?.stat().ok().map(|stat| object(&stat.identity))
}

fn remove(root: &Folder, path: &[OsString], now: &Kept) -> io::Result<()> {
    let (name, parents) = path.split_last().ok_or(io::ErrorKind::NotFound)?;
    let parent = writable_parent(root, parents)?;
    match now.stat.kind {
        TargetKind::Folder => parent.remove_folder(name),
        TargetKind::File | TargetKind::Link | TargetKind::Special | TargetKind::Missing => parent.remove_file(name),
    }
}

/// Puts back what was there: a file by a new file that takes its name, never into an inode that has other names.
fn restore(root: &Folder, path: &[OsString], kept: &Kept, now: Option<&Kept>) -> io::Result<()> {
    let (name, parents) = path.split_last().ok_or(io::ErrorKind::NotFound)?;
    let parent = writable_parent(root, parents)?;
    let is_folder = |kept: &Kept| kept.stat.kind == TargetKind::Folder;
    match now {
        // Its mode changed, and a folder's mode executes nothing.
        Some(now) if is_folder(kept) && is_folder(now) => return Ok(()),
        Some(now) if is_folder(kept) || is_folder(now) || kept.stat.kind == TargetKind::Link => {
            remove(root, path, now)?;
        }
        Some(_) | None => {}
    }
    match &kept.content {
        Content::Folder => parent.create_folder(name, Privacy::Umask),
        Content::Link(target) => parent.create_link(name, target),
        Content::File(content) => {
            let temporary = temporary_name(name);
            let mut file = parent.create_file(&temporary, Privacy::Owner)?;
            let written = file
                .write_all(content)
                .and_then(|()| system::set_mode(&file, kept.stat.mode & 0o1777))
                .and_then(|()| file.sync_all())
                .and_then(|()| parent.rename(&temporary, &parent, name));
            if written.is_err() {
                // Then it lies beside, and the failure is told.
                parent.remove_file(&temporary).ok();
            }
            written
        }
        Content::Unknown => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn temporary_name(name: &OsStr) -> OsString {
    let mut temporary = OsString::from(".nod-");
    temporary.push(name);
    temporary.push(format!("-{}", std::process::id()));
    temporary
}

fn shown(path: &[OsString]) -> String {
    path.iter().map(|name| name.to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "tests lay out their own files")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;

    struct Place {
        temp: TempDir,
        root: Root,
    }

    fn place() -> Place {
        let temp = tempfile::tempdir().unwrap();
        let files = [
            (".git/config", "[core]"),
            (".git/HEAD", "ref"),
            (".git/hooks/pre-commit", "#!/bin/sh"),
            (".git/objects/aa/config", "data"),
            ("lib/.git/config", "[lib]"),
            (".vscode/settings.json", "{}"),
            (".mcp.json", "{}"),
            (".env", "KEY=1"),
            ("sub/credentials/a", "x"),
            ("src/main.rs", "fn main() {}"),
        ];
        for (path, content) in files {
            write(temp.path(), path, content);
        }
        let root = Root::open(temp.path()).unwrap();
        Place { temp, root }
    }

    fn write(folder: &Path, path: &str, content: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    impl Place {
        fn path(&self, path: &str) -> PathBuf {
            self.temp.path().join(path)
        }

        fn text(&self, path: &str) -> String {
            fs::read_to_string(self.path(path)).unwrap()
        }

        /// What is reverted of what `change` does.
        fn after(&self, change: impl FnOnce()) -> Vec<(String, Revert)> {
            let guard = Guard::take(std::slice::from_ref(&self.root));
            change();
            let report = guard.revert();
            assert!(!report.is_incomplete);
            report.reverted.into_iter().map(|reverted| (reverted.path, reverted.how)).collect()
        }
    }

    fn names(place: &Place, guarded: &[Guarded]) -> Vec<String> {
        let real = place.root.real_path();
        let mut names: Vec<String> =
            guarded.iter().map(|guarded| guarded.path.strip_prefix(real).unwrap().display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_executed_later_is_found_in_repositories_below_too_and_what_git_stores_is_not() {
        let place = place();
        let guard = Guard::take(std::slice::from_ref(&place.root));
        assert_eq!(
            names(&place, &guard.protected(100)),
            [".git/config", ".git/hooks", ".mcp.json", ".vscode", "lib/.git/config"]
        );
        assert_eq!(names(&place, &guard.pinned(100)), [".git", "lib/.git"]);
        let mut sensitive: Vec<(PathBuf, bool)> = guard.sensitive().collect();
        sensitive.sort();
        let real = |path: &str| place.root.real_path().join(path);
        assert_eq!(sensitive, [(real(".env"), false), (real("sub/credentials"), true)]);
    }

    #[test]
    fn an_ordinary_command_has_nothing_reverted() {
        let place = place();
        let reverted = place.after(|| {
            write(place.temp.path(), "src/new.rs", "x");
            write(place.temp.path(), ".git/index", "x");
            write(place.temp.path(), ".git/objects/bb/hooks", "x");
            fs::remove_file(place.path("src/main.rs")).unwrap();
        });
        assert_eq!(reverted, []);
        assert_eq!(place.text("src/new.rs"), "x");
    }

    #[test]
    fn what_appears_is_removed_and_what_changes_is_put_back_with_its_mode() {
        let place = place();
        fs::set_permissions(place.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o600)).unwrap();
        let reverted = place.after(|| {
            write(place.temp.path(), ".git/hooks/post-checkout", "evil");
            write(place.temp.path(), "new/.git/hooks/x", "evil");
            write(place.temp.path(), "new/.git/config", "evil");
            write(place.temp.path(), ".bashrc", "evil");
            write(place.temp.path(), ".git/config", "evil");
            fs::set_permissions(place.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
            fs::remove_file(place.path(".mcp.json")).unwrap();
            fs::remove_dir_all(place.path(".vscode")).unwrap();
            symlink("/etc", place.path(".vscode")).unwrap();
        });
        let expected = [
            (".bashrc", Revert::Removed),
            (".git/config", Revert::Restored),
            (".git/hooks/post-checkout", Revert::Removed),
            (".git/hooks/pre-commit", Revert::Restored),
            (".mcp.json", Revert::Restored),
            (".vscode", Revert::Restored),
            (".vscode/settings.json", Revert::Restored),
            ("new/.git/config", Revert::Removed),
            ("new/.git/hooks", Revert::Removed),
            ("new/.git/hooks/x", Revert::Removed),
        ];
        assert_eq!(reverted, expected.map(|(path, how)| (path.to_owned(), how)));
        assert_eq!((place.text(".git/config"), place.text(".mcp.json")), ("[core]".into(), "{}".into()));
        assert_eq!(place.text(".vscode/settings.json"), "{}");
        let mode = fs::metadata(place.path(".git/hooks/pre-commit")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!place.path(".bashrc").exists() && !place.path("new/.git/config").exists());
    }

    #[test]
    fn a_folder_that_is_moved_takes_its_files_along() {
        let place = place();
        let reverted = place.after(|| fs::rename(place.path("lib"), place.path("library")).unwrap());
        assert_eq!(reverted, []);
        assert_eq!(place.text("library/.git/config"), "[lib]");
    }

    #[test]
    fn a_repository_moved_away_and_replaced_is_put_back() {
        let place = place();
        let reverted = place.after(|| {
            fs::rename(place.path(".git"), place.path("old")).unwrap();
            write(place.temp.path(), ".git/config", "evil");
        });
        assert!(reverted.contains(&(".git/config".to_owned(), Revert::Restored)), "{reverted:?}");
        assert_eq!(place.text(".git/config"), "[core]");
    }

    #[test]
    fn a_file_with_other_names_is_replaced_and_not_written_into() {
        let place = place();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("theirs"), "theirs").unwrap();
        place.after(|| {
            fs::remove_file(place.path(".mcp.json")).unwrap();
            fs::hard_link(outside.path().join("theirs"), place.path(".mcp.json")).unwrap();
        });
        assert_eq!(place.text(".mcp.json"), "{}");
        assert_eq!(fs::read_to_string(outside.path().join("theirs")).unwrap(), "theirs");
    }
}

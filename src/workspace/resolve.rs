//! The walk from an allowed folder to what a path leads to, one opened folder after the other.
//!
//! Links are taken apart here, by text, against the handles that are held: `..` goes back to a folder that is already
//! open, and above the allowed folder there is none. So a link can never lead out, whoever rearranges the tree meanwhile.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path};

use super::target::{Object, Place};
use super::{Folder, Identity, Purpose, Root, Stat, Target, WorkspaceError};
use crate::ir::Code;
use crate::policy::{PathPlace, RelPath, TargetFacts, TargetKind};

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

/// How often a name may turn into something else between looking and opening.
const MAX_RETRIES: usize = 64;

/// Resolves a path below an allowed folder.
///
/// # Errors
/// `PATH_OUT_OF_SCOPE` when a link leads out (alike for existing and missing), `PATH_NOT_FOUND` for a read or deletion of
/// nothing, `NOT_A_DIRECTORY`, `SPECIAL_FILE_DENIED`, `PERMISSION_DENIED`, `IO_ERROR`.
pub fn resolve(root: &Root, relative: &RelPath, purpose: Purpose) -> Result<Target, WorkspaceError> {
    resolve_telling(root, relative, purpose).map_err(|unresolved| unresolved.error)
}

/// A path that led to nothing.
#[derive(Debug)]
pub struct Unresolved {
    /// Why.
    pub error: WorkspaceError,
    /// Where it was headed, links taken apart, as if it were missing: to be judged before the error is told. `given` is
    /// empty.
    pub headed: Option<Box<TargetFacts>>,
}

/// [`resolve`], which tells in case of failure where the path was headed.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_telling(root: &Root, relative: &RelPath, purpose: Purpose) -> Result<Target, Unresolved> {
    let shown = relative.below(root.path());
    let headed_to = |headed: RelPath| {
        Box::new(TargetFacts {
            given: String::new(),
            resolved: headed.below(root.real_path()),
            place: PathPlace::Inside {
                root: root.path().to_path_buf(),
                relative: relative.clone(),
                resolved_relative: headed,
            },
            kind: TargetKind::Missing,
            links: 1,
            other_mount: false,
            is_mount_point: false,
            is_home: false,
            lifted: false,
            reaches: Vec::new(),
        })
    };
    let mut walk = Walk {
        root,
        shown: &shown,
        follow_last: purpose != Purpose::Delete,
        open: Vec::new(),
        current: None,
        pending: relative.parts().iter().cloned().map(Part::Name).collect(),
    };
    let end = match walk.run() {
        Ok(end) => end,
        // What lies outside is no name inside, whatever it is called.
        Err(error) if error.code() == Code::PathOutOfScope => return Err(Unresolved { error, headed: None }),
        Err(error) => return Err(Unresolved { error, headed: walk.headed().map(headed_to) }),
    };
    let Some(resolved_relative) = RelPath::from_parts(end.parts) else {
        let sentence = "The path leads over a name that is none.";
        return Err(Unresolved { error: WorkspaceError::refused(Code::PathInvalid, sentence, &shown), headed: None });
    };
    if end.stat.kind == TargetKind::Missing && matches!(purpose, Purpose::Read | Purpose::Delete) {
        let error = WorkspaceError::refused(Code::PathNotFound, "There is no such file or folder.", &shown);
        return Err(Unresolved { error, headed: Some(headed_to(resolved_relative)) });
    }
    Ok(Target {
        purpose,
        stat: end.stat,
        resolved: resolved_relative.below(root.real_path()),
        place: Place::Inside { root: root.clone(), given: relative.clone(), resolved: resolved_relative },
        object: end.object,
        parent: end.parent,
        names: end.names,
        restorable: std::sync::OnceLock::new(),
        shown_tree: std::sync::OnceLock::new(),
    })
}

/// A piece of the way that is still to go.
enum Part {
    Name(String),
    Up,
}

/// Where a walk ended.
struct End {
    stat: Stat,
    object: Object,
    /// The folder that holds the first of `names`; none for the allowed folder itself.
    parent: Option<Folder>,
    /// The thing's own name in `parent`; for a missing thing, also the names that are missing below.
    names: Vec<String>,
    /// The whole way from the allowed folder.
    parts: Vec<String>,
}

struct Walk<'walk> {
    root: &'walk Root,
    shown: &'walk Path,
    follow_last: bool,
    /// The folders that are open below the root, the deepest last.
    open: Vec<(String, Folder)>,
    /// The name that is looked at.
    current: Option<String>,
    pending: VecDeque<Part>,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<End, WorkspaceError> {
        let mut links = 0;
        let mut retries = 0;
        while let Some(part) = self.pending.pop_front() {
            self.current = None;
            let name = match part {
                Part::Name(name) => name,
                Part::Up => {
                    if self.open.pop().is_none() {
                        return Err(self.out_of_scope());
                    }
                    continue;
                }
            };
            self.current = Some(name.clone());
            let here = self.open.last().map_or_else(|| self.root.folder(), |(_, folder)| folder).clone();
            let is_last = self.pending.is_empty();
            let stat = match here.stat_of(OsStr::new(&name)) {
                Ok(stat) => stat,
                Err(error) if error.kind() == ErrorKind::NotFound => return self.missing(here, name),
                Err(error) => return Err(self.failed(error)),
            };
            let error = match stat.kind {
                TargetKind::Link | TargetKind::File if is_last && !self.follow_last => {
                    return Ok(self.end(stat, Object::Nothing, here, name));
                }
                TargetKind::Link => {
                    links += 1;
                    if links > MAX_LINKS {
                        let sentence = "The path leads over too many links.";
                        return Err(WorkspaceError::refused(Code::PathInvalid, sentence, self.shown));
                    }
                    match here.read_link(OsStr::new(&name)) {
                        Ok(contents) => {
                            self.current = None;
                            self.follow(&contents)?;
                            continue;
                        }
                        Err(error) => error,
                    }
                }
                TargetKind::Folder => match here.open_folder(OsStr::new(&name)) {
                    Ok(folder) => {
                        self.open.push((name.clone(), folder));
                        self.current = None;
                        continue;
                    }
                    Err(error) => error,
                },
                TargetKind::File if is_last => match here.open_file(OsStr::new(&name)) {
                    Ok((file, stat)) => return Ok(self.end(stat, Object::File(file), here, name)),
                    Err(error) => error,
                },
                TargetKind::Special if is_last => {
                    let sentence = "It is a pipe, a socket or a device, not a file.";
                    return Err(WorkspaceError::refused(Code::SpecialFileDenied, sentence, self.shown));
                }
                TargetKind::File | TargetKind::Special | TargetKind::Missing => {
                    let sentence = "A part of the path is not a folder.";
                    return Err(WorkspaceError::refused(Code::NotADirectory, sentence, self.shown));
                }
            };
            // Something else has this name now: look again, a bounded number of times.
            retries += 1;
            if retries > MAX_RETRIES || !is_changed_meanwhile(&error) {
                return Err(self.failed(error));
            }
            self.pending.push_front(Part::Name(name));
        }
        self.folder()
    }

    /// Puts what a link says before the rest of the way.
    fn follow(&mut self, contents: &Path) -> Result<(), WorkspaceError> {
        let mut way: &Path = contents;
        if contents.has_root() {
            // A link with a full path that points back into the allowed folder starts again at its handle.
            let below =
                contents.strip_prefix(self.root.real_path()).or_else(|_| contents.strip_prefix(self.root.path()));
            way = below.map_err(|_not_below| self.out_of_scope())?;
            self.open.clear();
        }
        let mut parts = Vec::new();
        for component in way.components() {
            match component {
                Component::Normal(name) => {
                    let Some(name) = name.to_str() else {
                        let sentence = "The path leads over a link whose text is not valid Unicode.";
                        return Err(WorkspaceError::refused(Code::PathInvalid, sentence, self.shown));
                    };
                    parts.push(Part::Name(name.to_owned()));
                }
                Component::ParentDir => parts.push(Part::Up),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(self.out_of_scope()),
            }
        }
        for part in parts.into_iter().rev() {
            self.pending.push_front(part);
        }
        Ok(())
    }

    /// The way ends at nothing: the rest is what a write would make.
    fn missing(&mut self, here: Folder, name: String) -> Result<End, WorkspaceError> {
        let mut names = vec![name];
        for part in &self.pending {
            match part {
                Part::Name(name) => names.push(name.clone()),
                // Only a link can say this; a missing folder has no folder above it.
                Part::Up => {
                    let sentence = "There is no such file or folder.";
                    return Err(WorkspaceError::refused(Code::PathNotFound, sentence, self.shown));
                }
            }
        }
        let mut parts: Vec<String> = std::mem::take(&mut self.open).into_iter().map(|(name, _)| name).collect();
        parts.extend(names.iter().cloned());
        let mount = here.stat().map_or(0, |stat| stat.identity.mount);
        let stat = Stat {
            kind: TargetKind::Missing,
            identity: Identity { mount, ..Identity::default() },
            is_mount_point: false,
            mode: 0,
            owner: (0, 0),
            changed_ns: 0,
            born_ns: 0,
        };
        Ok(End { stat, object: Object::Nothing, parent: Some(here), names, parts })
    }

    /// The way ends at the deepest open folder.
    fn folder(&mut self) -> Result<End, WorkspaceError> {
        let parts: Vec<String> = self.open.iter().map(|(name, _)| name.clone()).collect();
        let (folder, parent, names) = match self.open.pop() {
            None => (self.root.folder().clone(), None, Vec::new()),
            Some((name, folder)) => {
                let parent = self.open.pop().map_or_else(|| self.root.folder().clone(), |(_, folder)| folder);
                (folder, Some(parent), vec![name])
            }
        };
        let stat = folder.stat().map_err(|error| self.failed(error))?;
        Ok(End { stat, object: Object::Folder(folder), parent, names, parts })
    }

    fn end(&mut self, stat: Stat, object: Object, here: Folder, name: String) -> End {
        let mut parts: Vec<String> = std::mem::take(&mut self.open).into_iter().map(|(name, _)| name).collect();
        parts.push(name.clone());
        End { stat, object, parent: Some(here), names: vec![name], parts }
    }

    /// Where the rest of the way leads as text, should nothing of it be a link.
    fn headed(&self) -> Option<RelPath> {
        let mut parts: Vec<String> = self.open.iter().map(|(name, _)| name.clone()).collect();
        parts.extend(self.current.clone());
        for part in &self.pending {
            match part {
                Part::Name(name) => parts.push(name.clone()),
                Part::Up => {
                    parts.pop()?;
                }
            }
        }
        RelPath::from_parts(parts)
    }

    /// The same words whether anything is there or not.
    fn out_of_scope(&self) -> WorkspaceError {
        let sentence = "The path leads out of the allowed folder through a link.";
        WorkspaceError::refused(Code::PathOutOfScope, sentence, self.shown)
    }

    fn failed(&self, error: std::io::Error) -> WorkspaceError {
        if error.kind() == ErrorKind::Unsupported {
            let sentence = "It is a pipe, a socket or a device, not a file.";
            return WorkspaceError::refused(Code::SpecialFileDenied, sentence, self.shown);
        }
        WorkspaceError::io("Opening the path", self.shown, error)
    }
}

/// Whether an error means that the name stood for something else when it was opened than when it was looked at.
fn is_changed_meanwhile(error: &std::io::Error) -> bool {
    let by_kind = matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::InvalidInput
            | ErrorKind::Unsupported
    );
    // Opening a link without following it.
    #[cfg(unix)]
    let by_kind = by_kind || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    by_kind
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "tests lay out their own files")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;
    use crate::ir::Failure;

    /// A folder `ws` with some content, beside a folder `out` with a secret.
    fn place() -> (TempDir, Root) {
        let temp = tempfile::tempdir().unwrap();
        let ws = temp.path().join("ws");
        fs::create_dir_all(ws.join("sub/deep")).unwrap();
        fs::create_dir_all(temp.path().join("out")).unwrap();
        fs::write(ws.join("a.txt"), "a").unwrap();
        fs::write(ws.join("sub/b.txt"), "b").unwrap();
        fs::write(temp.path().join("out/secret.txt"), "secret").unwrap();
        let root = Root::open(&ws).unwrap();
        (temp, root)
    }

    fn rel(path: &str) -> RelPath {
        RelPath::from_parts(path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()).unwrap()
    }

    fn code(root: &Root, path: &str, purpose: Purpose) -> Code {
        Failure::from(resolve(root, &rel(path), purpose).unwrap_err()).code
    }

    fn led_to(root: &Root, path: &str, purpose: Purpose) -> (TargetKind, String) {
        let target = resolve(root, &rel(path), purpose).unwrap();
        (target.kind(), target.resolved_relative().unwrap().to_slash())
    }

    #[test]
    fn what_is_there_is_opened() {
        let (_temp, root) = place();
        assert_eq!(led_to(&root, "a.txt", Purpose::Read), (TargetKind::File, "a.txt".into()));
        assert_eq!(led_to(&root, "sub/deep", Purpose::Read), (TargetKind::Folder, "sub/deep".into()));
        assert_eq!(led_to(&root, "", Purpose::Read), (TargetKind::Folder, String::new()));
        assert_eq!(led_to(&root, "new/x.txt", Purpose::Write), (TargetKind::Missing, "new/x.txt".into()));
        assert_eq!(code(&root, "none", Purpose::Read), Code::PathNotFound);
        assert_eq!(code(&root, "none", Purpose::Delete), Code::PathNotFound);
        assert_eq!(code(&root, "a.txt/x", Purpose::Write), Code::NotADirectory);
    }

    #[test]
    fn dots_in_a_name_are_only_a_name() {
        let (_temp, root) = place();
        for name in ["..foo", "...", "foo..", "%2e%2e"] {
            fs::write(root.path().join(name), "x").unwrap();
            assert_eq!(led_to(&root, name, Purpose::Read), (TargetKind::File, name.into()));
        }
    }

    #[test]
    fn a_link_inside_is_followed_and_named() {
        let (_temp, root) = place();
        let ws = root.path();
        symlink("sub", ws.join("to_sub")).unwrap();
        symlink("../a.txt", ws.join("sub/up")).unwrap();
        symlink("sub/new.txt", ws.join("dangling")).unwrap();
        symlink(ws.join("sub/b.txt"), ws.join("absolute")).unwrap();
        assert_eq!(led_to(&root, "to_sub/b.txt", Purpose::Read), (TargetKind::File, "sub/b.txt".into()));
        assert_eq!(led_to(&root, "to_sub/up", Purpose::Write), (TargetKind::File, "a.txt".into()));
        assert_eq!(led_to(&root, "dangling", Purpose::Write), (TargetKind::Missing, "sub/new.txt".into()));
        assert_eq!(led_to(&root, "absolute", Purpose::Read), (TargetKind::File, "sub/b.txt".into()));
        assert_eq!(led_to(&root, "to_sub", Purpose::Delete), (TargetKind::Link, "to_sub".into()));
    }

    #[test]
    fn a_link_out_answers_alike_for_existing_and_missing() {
        let (temp, root) = place();
        let ws = root.path();
        symlink(temp.path().join("out"), ws.join("abs")).unwrap();
        symlink("../out", ws.join("up")).unwrap();
        symlink("../out/secret.txt", ws.join("file")).unwrap();
        symlink("../out/nothing", ws.join("none")).unwrap();
        symlink("chain2", ws.join("chain1")).unwrap();
        symlink("up/secret.txt", ws.join("chain2")).unwrap();
        symlink("/proc/self/root", ws.join("magic")).unwrap();
        symlink("sub/../../out", ws.join("over")).unwrap();
        for purpose in [Purpose::Read, Purpose::Write, Purpose::CreateFolder] {
            for path in ["abs", "up", "file", "none", "chain1", "magic", "over", "up/secret.txt", "up/a/b/c"] {
                assert_eq!(code(&root, path, purpose), Code::PathOutOfScope, "{path} {purpose:?}");
            }
        }
        for (existing, missing) in [("up/secret.txt", "up/no-secret.txt"), ("abs/secret.txt", "abs/none.txt")] {
            let answer = |path: &str| Failure::from(resolve(&root, &rel(path), Purpose::Read).unwrap_err());
            assert_eq!(answer(existing).message.replace(existing, "?"), answer(missing).message.replace(missing, "?"));
        }
        assert_eq!(code(&root, "up/secret.txt", Purpose::Delete), Code::PathOutOfScope);
        // The attack without the guard works.
        assert_eq!(fs::read_to_string(ws.join("up/secret.txt")).unwrap(), "secret");
    }

    #[test]
    fn links_in_a_circle_end() {
        let (_temp, root) = place();
        symlink("two", root.path().join("one")).unwrap();
        symlink("one", root.path().join("two")).unwrap();
        assert_eq!(code(&root, "one", Purpose::Read), Code::PathInvalid);
    }

    #[test]
    fn a_pipe_and_a_socket_are_refused_at_once() {
        let (_temp, root) = place();
        let pipe = root.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_bits_truncate(0o600),
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
        for purpose in [Purpose::Read, Purpose::Write, Purpose::Delete] {
            assert_eq!(code(&root, "pipe", purpose), Code::SpecialFileDenied);
            assert_eq!(code(&root, "socket", purpose), Code::SpecialFileDenied);
        }
    }

    #[test]
    fn a_change_is_noticed() {
        let (_temp, root) = place();
        let ws = root.path();
        let file = resolve(&root, &rel("a.txt"), Purpose::Write).unwrap();
        let missing = resolve(&root, &rel("sub/new.txt"), Purpose::Write).unwrap();
        let folder = resolve(&root, &rel("sub"), Purpose::Delete).unwrap();
        for target in [&file, &missing, &folder] {
            assert!(target.is_unchanged().unwrap());
        }
        fs::write(ws.join("a.txt"), "longer").unwrap();
        symlink("/etc/passwd", ws.join("sub/new.txt")).unwrap();
        assert!(!file.is_unchanged().unwrap());
        assert!(!missing.is_unchanged().unwrap());
        assert!(folder.is_unchanged().unwrap());
        fs::rename(ws.join("sub"), ws.join("moved")).unwrap();
        fs::create_dir(ws.join("sub")).unwrap();
        assert!(!folder.is_unchanged().unwrap());
    }

    #[test]
    fn a_folder_on_the_way_that_was_replaced_is_a_change() {
        let (_temp, root) = place();
        let ws = root.path();
        let target = resolve(&root, &rel("sub/new.txt"), Purpose::Write).unwrap();
        fs::rename(ws.join("sub"), ws.join("moved")).unwrap();
        fs::create_dir(ws.join("sub")).unwrap();
        assert!(!target.is_unchanged().unwrap());
    }

    #[test]
    fn outside_the_true_path_comes_from_the_handle() {
        let (temp, root) = place();
        symlink(temp.path().join("out/secret.txt"), root.path().join("link")).unwrap();
        let target = resolve_outside_of(&root.path().join("link")).unwrap();
        assert_eq!(target.resolved(), temp.path().canonicalize().unwrap().join("out/secret.txt"));
        assert!(target.is_unchanged().unwrap());
        assert_eq!(
            Failure::from(resolve_outside_of(Path::new("/dev/null")).unwrap_err()).code,
            Code::SpecialFileDenied
        );
        assert_eq!(Failure::from(resolve_outside_of(&temp.path().join("none")).unwrap_err()).code, Code::PathNotFound);
    }

    fn resolve_outside_of(path: &Path) -> Result<Target, WorkspaceError> {
        super::super::resolve_outside(path)
    }

    #[test]
    fn an_allowed_folder_must_be_one() {
        let (temp, root) = place();
        let code = |path: &Path| Failure::from(Root::open(path).unwrap_err()).code;
        assert_eq!(code(&temp.path().join("none")), Code::PathNotFound);
        assert_eq!(code(&root.path().join("a.txt")), Code::NotADirectory);
        assert_eq!(code(Path::new("relative")), Code::PathInvalid);
    }
}

//! What git takes for a repository, as git itself finds out (`setup.c`: `is_git_directory`, `validate_headref`,
//! `get_common_dir`, `read_gitfile`), and what is missing where it does not yet. Links are followed, as git follows them.
//!
//! A folder that only looks like a repository (`is_repository`) is kept as if it were one; this says when it becomes one.
//! Paths are looked at by name: whoever changes them meanwhile is judged again afterwards.

use std::path::{Path, PathBuf};

use super::way::{follow, read_bytes};
use crate::workspace::system;

const HEAD: &str = "HEAD";
const COMMON: &str = "commondir";
const PARTS: [&str; 2] = ["objects", "refs"];
/// As long as the name of a commit is.
const COMMIT_DIGITS: usize = 40;

/// What will be otherwise than it is on the disk, by absolute paths without links.
#[derive(Clone, Copy)]
pub(super) struct Then<'then> {
    /// Something of this path will be there, whatever it is and says.
    pub(super) is_coming: &'then dyn Fn(&Path) -> bool,
    /// Nothing of this path will be there.
    pub(super) is_going: &'then dyn Fn(&Path) -> bool,
    /// What lies on a way that leads elsewhere for each process counts as there.
    pub(super) counts_shifting: bool,
}

/// Where a path leads then.
enum End {
    At(PathBuf),
    Nowhere,
    /// Elsewhere for each process.
    Anywhere,
}

impl Then<'_> {
    /// As it is.
    const NOW: Self = Self { is_coming: &|_| false, is_going: &|_| false, counts_shifting: false };
    /// As it is for some process.
    const FOR_SOME: Self = Self { counts_shifting: true, ..Self::NOW };

    fn end(&self, path: &Path) -> End {
        match follow(path) {
            Some(way) if way.is_shifting => End::Anywhere,
            Some(way) if way.turned.iter().all(|turned| (self.is_coming)(turned)) => End::At(way.end),
            Some(_) | None => End::Nowhere,
        }
    }

    /// Whether something else than now is met by this path.
    fn comes(&self, path: &Path) -> bool {
        match self.end(path) {
            End::At(end) => (self.is_coming)(&end) || follow(path).is_some_and(|way| !way.turned.is_empty()),
            End::Nowhere => false,
            End::Anywhere => self.counts_shifting,
        }
    }
}

/// Whether git works in the repository that this is, a folder or a file that says where it is.
pub(in crate::workspace) fn is_taken(git: &Path) -> bool {
    is_taken_then(git, &Then::NOW)
}

/// Whether git works there for whoever stands in the right place, as links to where a process stands have it.
pub(in crate::workspace) fn may_be_taken(git: &Path) -> bool {
    is_taken_then(git, &Then::FOR_SOME)
}

/// Whether a path leads elsewhere for each process.
pub(in crate::workspace) fn is_shifting(path: &Path) -> bool {
    follow(path).is_some_and(|way| way.is_shifting)
}

/// Whether it would then.
pub(super) fn is_taken_then(git: &Path, then: &Then<'_>) -> bool {
    let git = match folder_of(git, then) {
        End::At(git) => git,
        End::Nowhere => return false,
        End::Anywhere => return then.counts_shifting,
    };
    let head = git.join(HEAD);
    let has_head = (then.is_coming)(&head) || then.comes(&head) || is_head(&head);
    has_head
        && match common_of(&git, then) {
            Common::Anything => true,
            Common::At(common) => PARTS
                .iter()
                .map(|part| common.join(part))
                .all(|part| then.comes(&part) || (matches!(then.end(&part), End::At(_)) && system::may_pass(&part))),
            Common::Nothing => false,
        }
}

/// Where something would have to appear for git to work there: the outermost missing ones on the ways to what it lacks.
pub(in crate::workspace) fn lacking(git: &Path) -> Vec<PathBuf> {
    let all = match folder_of(git, &Then::NOW) {
        End::At(git) => {
            let common = match common_of(&git, &Then::NOW) {
                Common::At(common) => common,
                Common::Anything | Common::Nothing => git.clone(),
            };
            let own = [git.join(HEAD), git.join(COMMON)];
            own.into_iter().chain(PARTS.iter().map(|part| common.join(part))).collect()
        }
        End::Nowhere => named_by(git).into_iter().collect(),
        End::Anywhere => Vec::new(),
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for path in all.iter().filter_map(|path| follow(path)) {
        for missing in path.turned.iter().chain([&path.end]).filter_map(|path| first_missing(path)) {
            if !found.contains(&missing) {
                found.push(missing);
            }
        }
    }
    found
}

fn first_missing(path: &Path) -> Option<PathBuf> {
    let is_missing = |path: &&Path| std::fs::symlink_metadata(path).is_err();
    path.ancestors().take_while(is_missing).last().map(Path::to_path_buf)
}

/// The folder that git would look at, with no link in its path.
fn folder_of(git: &Path, then: &Then<'_>) -> End {
    match then.end(git) {
        End::At(end) if end.is_file() => named_by(&end).map_or(End::Nowhere, |named| then.end(&named)),
        end @ (End::At(_) | End::Nowhere | End::Anywhere) => end,
    }
}

/// What a file says that stands for a folder of git; of a folder its own path.
fn named_by(git: &Path) -> Option<PathBuf> {
    if !git.is_file() {
        return Some(git.to_path_buf());
    }
    let said = read_bytes(git)?;
    let to = path_of(said.strip_prefix(b"gitdir: ")?)?;
    Some(git.parent()?.join(to))
}

enum Common {
    At(PathBuf),
    /// What it says is not known.
    Anything,
    /// Git gives up.
    Nothing,
}

fn common_of(git: &Path, then: &Then<'_>) -> Common {
    let said = git.join(COMMON);
    if then.comes(&said) {
        return Common::Anything;
    }
    if (then.is_going)(&said) || std::fs::symlink_metadata(&said).is_err() {
        return Common::At(git.to_path_buf());
    }
    match read_bytes(&said).as_deref().and_then(path_of) {
        Some(to) => Common::At(git.join(to)),
        None => Common::Nothing,
    }
}

/// The path that is all there is in a file.
fn path_of(said: &[u8]) -> Option<PathBuf> {
    let said = said.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut said = said;
    while let Some((b'\n' | b'\r', rest)) = said.split_last() {
        said = rest;
    }
    (!said.is_empty()).then(|| system::path_from(said))
}

/// Whether it names a branch or a commit.
fn is_head(head: &Path) -> bool {
    const MOST_BYTES: usize = 255;
    if let Ok(to) = std::fs::read_link(head) {
        return to.as_os_str().as_encoded_bytes().starts_with(b"refs/");
    }
    let Some(said) = read_bytes(head) else { return false };
    let said = said.get(..said.len().min(MOST_BYTES)).unwrap_or_default();
    match said.strip_prefix(b"ref:") {
        Some(branch) => {
            let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            let blanks = branch.iter().take_while(|byte| is_space(byte)).count();
            branch.get(blanks..).is_some_and(|branch| branch.starts_with(b"refs/"))
        }
        None => said.get(..COMMIT_DIGITS).is_some_and(|name| name.iter().all(u8::is_ascii_hexdigit)),
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "tests lay out their own files and ask git")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::process::{Command, Stdio};

    use super::*;

    /// What is laid out in `src`: a path and what it says; `None` for a folder, `-> x` for a link to `x`.
    type Layout = &'static [(&'static str, Option<&'static str>)];

    const COMMIT: &str = "0123456789abcdefABCDEF0123456789abcdef01 and more";

    /// Each with whether git takes it for a repository.
    const LAYOUTS: &[(Layout, bool)] = &[
        (&[("HEAD", Some("ref: refs/heads/m")), ("objects", None), ("refs", None)], true),
        (&[("HEAD", Some("ref:refs/heads/m")), ("objects", None), ("refs", None)], true),
        (&[("HEAD", Some("ref: \t\n refs/")), ("objects", None), ("refs", None)], true),
        (&[("HEAD", Some("ref: heads/m")), ("objects", None), ("refs", None)], false),
        (&[("HEAD", Some("garbage")), ("objects", None), ("refs", None)], false),
        (&[("HEAD", Some("")), ("objects", None), ("refs", None)], false),
        (&[("HEAD", None), ("objects", None), ("refs", None)], false),
        (&[("HEAD", Some(COMMIT)), ("objects", None), ("refs", None)], true),
        (&[("HEAD", Some("-> refs/heads/nothing")), ("objects", None), ("refs", None)], true),
        (
            &[("HEAD", Some("-> ../head")), ("../head", Some("ref: refs/heads/m")), ("objects", None), ("refs", None)],
            false,
        ),
        (&[("HEAD", Some("ref: refs/heads/m")), ("objects", Some("a file")), ("refs", None)], false),
        (&[("HEAD", Some("ref: refs/heads/m")), ("objects", Some("-> ../o")), ("refs", None)], false),
        (&[("HEAD", Some("ref: refs/heads/m")), ("objects", Some("-> ../o")), ("refs", None), ("../o", None)], true),
        (&[("HEAD", Some("ref: refs/heads/m")), ("commondir", Some("../c\n"))], false),
        (
            &[
                ("HEAD", Some("ref: refs/heads/m")),
                ("commondir", Some("../c\r\n")),
                ("../c/objects", None),
                ("../c/refs", None),
            ],
            true,
        ),
        (
            &[
                ("HEAD", Some("ref: refs/heads/m")),
                ("commondir", Some("../c\0x")),
                ("../c/objects", None),
                ("../c/refs", None),
            ],
            true,
        ),
        (
            &[
                ("HEAD", Some("ref: refs/heads/m")),
                ("commondir", Some("../c ")),
                ("../c/objects", None),
                ("../c/refs", None),
            ],
            false,
        ),
        (&[("HEAD", Some("ref: refs/heads/m")), ("commondir", Some("")), ("objects", None), ("refs", None)], false),
        (
            &[("HEAD", Some("ref: refs/heads/m")), ("commondir", Some("-> ../no")), ("objects", None), ("refs", None)],
            false,
        ),
        (&[("objects", None), ("refs", None)], false),
        // By way of a name that is no folder, and back.
        (
            &[("HEAD", Some("ref: refs/heads/m")), ("objects", Some("-> ../x/../o")), ("refs", None), ("../o", None)],
            false,
        ),
        (
            &[
                ("HEAD", Some("ref: refs/heads/m")),
                ("objects", Some("-> ../x/../o")),
                ("refs", None),
                ("../o", None),
                ("../x", None),
            ],
            true,
        ),
        (
            &[
                ("HEAD", Some("ref: refs/heads/m")),
                ("commondir", Some("../x/../c")),
                ("../c/objects", None),
                ("../c/refs", None),
            ],
            false,
        ),
    ];

    fn lay_out(folder: &Path, layout: Layout) {
        fs::create_dir_all(folder).unwrap();
        for (name, said) in layout {
            let path = folder.join(name);
            match said {
                None => fs::create_dir_all(path).unwrap(),
                Some(said) => match said.strip_prefix("-> ") {
                    Some(to) => symlink(to, path).unwrap(),
                    None => fs::write(path, said).unwrap(),
                },
            }
        }
    }

    /// What git itself says; `None` where there is no git.
    fn git_says(folder: &Path) -> Option<bool> {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(["rev-parse", "--git-dir"]).stdin(Stdio::null());
        command.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap()).env("HOME", "/nonexistent");
        let said = command.env("GIT_CONFIG_NOSYSTEM", "1").output().ok()?;
        Some(said.status.success())
    }

    #[test]
    fn git_itself_says_the_same() {
        for (layout, is_one) in LAYOUTS {
            let temp = tempfile::tempdir().unwrap();
            let top = temp.path().canonicalize().unwrap();
            let folder = top.join("src");
            lay_out(&folder, layout);
            assert_eq!((is_taken(&folder), git_says(&folder).unwrap_or(*is_one)), (*is_one, *is_one), "{layout:?}");
            for (said, leads_there) in
                [("gitdir: ../src\n", true), ("gitdir: ../none", false), ("gitdir:../src", false)]
            {
                let work = tempfile::tempdir_in(&top).unwrap();
                fs::write(work.path().join(".git"), said).unwrap();
                let is_one = *is_one && leads_there;
                let git = git_says(work.path()).unwrap_or(is_one);
                assert_eq!((is_taken(&work.path().join(".git")), git), (is_one, is_one), "{said}: {layout:?}");
            }
        }
    }

    #[test]
    fn a_program_in_the_place_of_a_folder_is_taken_for_one_as_git_takes_it() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().canonicalize().unwrap().join("src");
        lay_out(&folder, &[("HEAD", Some("ref: refs/heads/m")), ("objects", Some("a file")), ("refs", None)]);
        fs::set_permissions(folder.join("objects"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!((is_taken(&folder), git_says(&folder).unwrap_or(true)), (true, true));
    }

    #[test]
    fn what_is_lacking_is_named_by_where_it_would_appear() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let layout: Layout = &[
            ("HEAD", Some("ref: refs/heads/m")),
            ("objects", Some("-> ../l/o")),
            ("refs", Some("-> ../n/deep/refs")),
            ("../l", Some("-> a/b")),
        ];
        lay_out(&top.join("src"), layout);
        let expected = ["src/commondir", "a", "n"].map(|path| top.join(path));
        assert_eq!(lacking(&top.join("src")), expected);
    }
}

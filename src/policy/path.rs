//! Paths judged as text, before the disk is touched.

use std::path::{Path, PathBuf};

use crate::ir::Failure;

use super::Surroundings;

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
    let _ = (given, roots, lifted, surroundings);
    todo!()
}

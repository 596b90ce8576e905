//! Names that say "secret" or "something executes this".

use super::RelPath;

/// What a path's names say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameVerdict {
    /// Nothing special.
    Ordinary,
    /// Holds secrets by its name: never opened, whatever the person allowed.
    Sensitive {
        /// The part that says so.
        part: String,
    },
    /// Speaks of secrets but is source code or a document: asked in red, never remembered.
    Suspicious {
        /// The part that says so.
        part: String,
    },
}

/// Judges every part of a path after NFKC, case folding and cutting of trailing dots and spaces.
pub fn judge_name(parts: &[String]) -> NameVerdict {
    let _ = parts;
    todo!()
}

/// How a write to a file that something later executes is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProtectedWrite {
    /// Refused.
    Denied,
    /// Asked in red, never remembered.
    Asked,
}

/// Whether something later executes what is written at this path.
pub fn is_protected_write(path: &RelPath) -> Option<ProtectedWrite> {
    let _ = path;
    todo!()
}

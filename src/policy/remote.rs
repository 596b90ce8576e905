//! What holds besides for a call that a server makes over the device link: relative paths only, no store of a repository, and
//! nothing but reading of files that lie nowhere else.

use std::path::PathBuf;

use crate::ir::{Access, Code, Failure};

use super::fold::fold_name;
use super::{CallFacts, Lexical, PathPlace, Surroundings, TargetKind, lexical};

/// Judges a server's path by its text, as [`lexical`] does; absolute ones are refused before anything else, and `.git` with
/// all below it is as secret as a key: its `config` can hold tokens.
///
/// # Errors
/// `ABSOLUTE_PATH_DENIED`, those of [`lexical`], `SENSITIVE_PATH_DENIED`.
pub fn lexical_of_server(given: &str, roots: &[PathBuf], surroundings: &Surroundings) -> Result<Lexical, Failure> {
    if looks_absolute(given) {
        return Err(absolute());
    }
    match lexical(given, roots, &[], surroundings)? {
        Lexical::Outside { .. } => Err(absolute()),
        Lexical::Inside { relative, .. } if relative.parts().iter().any(|part| is_repository(part)) => Err(secret()),
        inside @ Lexical::Inside { .. } => Ok(inside),
    }
}

/// Whether a name is a repository's store, however it is spelled.
pub fn is_repository(name: &str) -> bool {
    fold_name(name) == ".git"
}

/// The refusals that hold for a server's call on what its path resolved to.
pub(super) fn deny_server(facts: &CallFacts) -> Option<Failure> {
    match facts.access {
        Access::Read => {}
        Access::Write | Access::Delete | Access::Execute => {
            return Some(Failure::new(Code::ToolNotAvailable, "A server may only read."));
        }
    }
    facts.targets.iter().find_map(|target| match &target.place {
        PathPlace::Outside => Some(absolute()),
        PathPlace::Inside { relative, resolved_relative, .. } => {
            let mut parts = relative.parts().iter().chain(resolved_relative.parts());
            let has_other_names = target.kind == TargetKind::File && target.links > 1;
            let is_elsewhere = target.other_mount || has_other_names;
            parts.any(|part| is_repository(part)).then(secret).or_else(|| is_elsewhere.then(elsewhere))
        }
    })
}

/// Absolute by the rules of any system: a server need not know which one this is.
fn looks_absolute(given: &str) -> bool {
    let is_drive = matches!(given.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic());
    is_drive || given == "~" || ["/", "\\", "~/", "~\\"].iter().any(|start| given.starts_with(start))
}

fn absolute() -> Failure {
    Failure::new(Code::AbsolutePathDenied, "A server names paths relative to the workspace; absolute ones are refused.")
}

/// A mount shows what lies elsewhere, and a hard link may be a name of it, or of a secret: nothing tells.
fn elsewhere() -> Failure {
    Failure::new(
        Code::PathOutOfScope,
        "This is mounted here or has other names (hard links), so it may lie outside the workspace: a server does not get \
         it.",
    )
}

fn secret() -> Failure {
    Failure::new(
        Code::SensitivePathDenied,
        "`.git` can hold addresses with tokens in them, so a server never reads there.",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Platform;
    use super::*;

    fn code(given: &str) -> Option<Code> {
        let surroundings = Surroundings { home: Some("/home/u".into()), data_dir: None, platform: Platform::Linux };
        lexical_of_server(given, &["/projects/a".into()], &surroundings).err().map(|failure| failure.code)
    }

    #[test]
    fn a_server_names_relative_paths_only() {
        for given in ["/projects/a/x", "/", "~", "~/x", "C:\\x", "c:/x", "\\\\server\\share", "//server/share"] {
            assert_eq!(code(given), Some(Code::AbsolutePathDenied), "{given}");
        }
        for given in [".", "", "a.txt", "..foo", "a/../b", "~x", "c:x"] {
            let expected = given.is_empty().then_some(Code::PathInvalid);
            assert_eq!(code(given), expected, "{given}");
        }
        for given in ["..", "../yes", "a/../../x", "a/../.."] {
            assert_eq!(code(given), Some(Code::PathOutOfScope), "{given}");
        }
    }

    #[test]
    fn secrets_and_the_stores_of_repositories_are_refused_by_name() {
        for given in [".git", ".git/config", "a/.GIT/x", ".git.", ".env", "sub/.env.local", "id_rsa", "a/server.pem"] {
            assert_eq!(code(given), Some(Code::SensitivePathDenied), "{given}");
        }
        for given in [".gitignore", ".github/workflows/ci.yml", "git", "a.git.txt"] {
            assert_eq!(code(given), None, "{given}");
        }
    }
}

//! Ways by which what executes files comes to a target, other than by the target's own path. They are found out on the
//! disk; what they mean is judged here, by the names of the path that leads there.

use std::path::PathBuf;

use super::protected::judge_reached;
use super::{ProtectedWrite, RelPath};

/// A way to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// It is also what these names stand for.
    Also {
        /// As far as they count, the last one being the target's.
        names: RelPath,
        /// What makes it so.
        by: ReachedBy,
    },
    /// With the change, git would take the folder for a repository, which it was not.
    MakesRepository {
        /// That folder.
        folder: PathBuf,
    },
}

/// What leads to a target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReachedBy {
    /// A folder that git takes for a repository, whatever its name is, holds it.
    Repository(PathBuf),
    /// This link.
    Link(PathBuf),
    /// A setting of git.
    Setting {
        /// As git names it.
        name: String,
        /// In which file.
        file: PathBuf,
    },
}

impl Reach {
    /// How a write there is treated.
    pub fn verdict(&self) -> Option<ProtectedWrite> {
        match self {
            Self::Also { names, .. } => judge_reached(names),
            Self::MakesRepository { .. } => Some(ProtectedWrite::Denied),
        }
    }

    /// Why it is refused, for the model and the person.
    pub(super) fn refusal(&self) -> String {
        match self {
            Self::MakesRepository { folder } => format!(
                "With this, git would take the folder for a repository and run what its configuration says, so tools \
                 never do it: ask the person to make the repository with git, or use another name. Folder: {}",
                folder.display()
            ),
            Self::Also { by: ReachedBy::Repository(folder), .. } => format!(
                "It lies in a folder that git takes for a repository, and git runs or obeys what is written here, so \
                 tools never write it: ask the person to make this change. Repository: {}",
                folder.display()
            ),
            Self::Also { by: ReachedBy::Link(link), .. } => format!(
                "A link leads here, and a program runs or obeys what it finds there, so tools never write it: ask the \
                 person to make this change. Link: {}",
                link.display()
            ),
            Self::Also { by: ReachedBy::Setting { name, file }, .. } => format!(
                "Git runs or obeys this file by the setting {name}, so tools never write it: ask the person to make \
                 this change. The setting is in: {}",
                file.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn also(names: &str) -> Reach {
        let names = RelPath::from_parts(names.split('/').map(str::to_owned).collect()).unwrap();
        Reach::Also { names, by: ReachedBy::Link("/projects/a/l".into()) }
    }

    #[test]
    fn a_way_is_judged_by_the_names_that_lead_there() {
        for (names, expected) in [
            (".git/config", Some(ProtectedWrite::Denied)),
            (".git/hooks/a/b", Some(ProtectedWrite::Denied)),
            (".git/HEAD", Some(ProtectedWrite::Asked)),
            (".vscode/tasks.json", Some(ProtectedWrite::Denied)),
            (".vscode/x.txt", Some(ProtectedWrite::Asked)),
            ("cfg/tasks.json", None),
        ] {
            assert_eq!(also(names).verdict(), expected, "{names}");
        }
        let made = Reach::MakesRepository { folder: "/projects/a/src".into() };
        assert_eq!(made.verdict(), Some(ProtectedWrite::Denied));
        assert!(made.refusal().ends_with("/projects/a/src"));
    }
}

//! Files that something later executes: whoever writes them, runs code.

use std::path::Path;

use super::RelPath;
use super::fold::{fold_name, fold_names};

mod asked;

use asked::{ASKED_ENDS, ASKED_EXTENSIONS, ASKED_FOLDERS, ASKED_NAMES, is_program_config};

/// How a write to a file that something later executes is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProtectedWrite {
    /// Refused.
    Denied,
    /// Asked in red, never remembered.
    Asked,
}

/// Refused by their own name, folded: run by shells at start, or told to programs as what to run.
const DENIED_NAMES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".bash_completion",
    ".aliases",
    ".zsh_aliases",
    ".shrc",
    ".shinit",
    ".ashrc",
    ".dashrc",
    ".yashrc",
    ".xonshrc",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    "config.fish",
    "profile.ps1",
    ".gitconfig",
    ".rhosts",
    ".shosts",
    ".ripgreprc",
    ".mcp.json",
];
/// Refused by their last names.
const DENIED_ENDS: &[&[&str]] = &[
    &[".vscode", "tasks.json"],
    &[".vscode", "mcp.json"],
    &[".cursor", "mcp.json"],
    &[".roo", "mcp.json"],
    &[".kiro", "settings", "mcp.json"],
    &[".amazonq", "mcp.json"],
    &[".junie", "mcp", "mcp.json"],
    &[".config", "git", "config"],
    &[".hg", "hgrc"],
    &[".hg", "hgrc-not-shared"],
    &[".hg", "sharedpath"],
    &[".sl", "config"],
    &[".pijul", "config"],
    &[".bzr", "branch", "branch.conf"],
    &["_darcs", "prefs", "defaults"],
    &["_darcs", "prefs", "prefs"],
    &[".jj", "repo", "config.toml"],
    &[".jj", "workspace-config.toml"],
    &["nushell", "config.nu"],
    &["nushell", "env.nu"],
    &["nushell", "login.nu"],
    &[".elvish", "rc.elv"],
    &["elvish", "rc.elv"],
];

/// What a folder of git keeps of a rebase, of picks or of patches that are half done, and what git, or a prompt that shows how
/// far they are, makes a program of: steps, the name of a strategy, numbers.
pub const GIT_STEPS: [[&str; 2]; 8] = [
    ["rebase-merge", "git-rebase-todo"],
    ["rebase-merge", "strategy"],
    ["rebase-merge", "msgnum"],
    ["rebase-merge", "end"],
    ["rebase-apply", "next"],
    ["rebase-apply", "last"],
    ["sequencer", "todo"],
    ["sequencer", "opts"],
];

/// Whether something later executes what is written at this path below an allowed folder, whatever that folder is.
pub fn is_protected_write(path: &RelPath) -> Option<ProtectedWrite> {
    judge(&fold_names(path.parts()))
}

/// Whether a file of this name is refused in some folder: a quick "no" for most names. Of what lies in a folder of git
/// itself it says nothing.
pub fn may_be_refused(name: &str) -> bool {
    let name = fold_name(name);
    matches!(name.as_str(), ".git" | "git~1")
        || is_refused_name(&name)
        || DENIED_ENDS.iter().any(|end| end.last() == Some(&name.as_str()))
}

fn is_refused_name(name: &str) -> bool {
    DENIED_NAMES.contains(&name) || name.ends_with("_profile.ps1")
}

/// The same where the allowed folder is known: a person may allow `.git` or `.vscode` itself, and what lies in it is
/// executed all the same.
pub(super) fn is_protected_below(root: &Path, path: &RelPath) -> Option<ProtectedWrite> {
    let mut names: Vec<String> = root.iter().map(|name| fold_name(&name.to_string_lossy())).collect();
    names.extend(fold_names(path.parts()));
    judge(&names)
}

/// The same for names that lead to something by a way of their own.
pub(super) fn judge_reached(names: &RelPath) -> Option<ProtectedWrite> {
    judge(&fold_names(names.parts()))
}

/// The names, each below the same folder, at which a link would make what it leads to something that is executed. Of git's
/// own folder it says nothing.
pub fn places_that_count() -> impl Iterator<Item = &'static [&'static str]> {
    let names = DENIED_NAMES.iter().map(std::slice::from_ref);
    let ends = DENIED_ENDS.iter().chain(ASKED_FOLDERS).copied().filter(|end| *end != [".git"]);
    names.chain(ends)
}

fn judge(names: &[String]) -> Option<ProtectedWrite> {
    let names: Vec<&str> = names.iter().map(|name| if name == "git~1" { ".git" } else { name.as_str() }).collect();
    let last = names.last()?;
    let denied = is_refused_name(last) || DENIED_ENDS.iter().any(|end| names.ends_with(end)) || is_git_control(&names);
    if denied {
        return Some(ProtectedWrite::Denied);
    }
    let extension = last.rsplit_once('.').map(|(_, extension)| extension);
    let asked = ASKED_NAMES.contains(last)
        || is_program_config(last)
        || ASKED_ENDS.iter().any(|end| names.ends_with(end))
        || last.starts_with("dockerfile.")
        || extension.is_some_and(|extension| ASKED_EXTENSIONS.contains(&extension))
        || ASKED_FOLDERS.iter().any(|folder| names.windows(folder.len()).any(|window| window == *folder));
    asked.then_some(ProtectedWrite::Asked)
}

/// What git runs or obeys: hooks and configuration, of submodules and worktrees too, and `.git` itself, which as a
/// file points to another one.
fn is_git_control(names: &[&str]) -> bool {
    let Some(git) = names.iter().position(|name| *name == ".git") else { return false };
    let below = names.get(git + 1..).unwrap_or_default();
    let Some(last) = below.last() else { return true };
    below.contains(&"hooks")
        || matches!(*last, "config" | "config.worktree" | "commondir" | "gitdir")
        || GIT_STEPS.iter().any(|step| below.ends_with(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(path: &str) -> Option<ProtectedWrite> {
        is_protected_write(&RelPath::from_parts(path.split('/').map(str::to_owned).collect()).unwrap())
    }

    #[test]
    fn what_shells_and_tools_obey_is_refused() {
        for path in [
            ".git/hooks/pre-commit",
            ".hg/hgrc",
            ".hg/sharedpath",
            ".hg/hgrc-not-shared",
            ".sl/config",
            ".pijul/config",
            "lib/.bzr/branch/branch.conf",
            "_darcs/prefs/defaults",
            "lib/.jj/repo/config.toml",
            ".git/hooks",
            ".git/config",
            ".GIT/Config",
            "GIT~1/config",
            ".git /hooks/x",
            "sub/module/.git/config",
            ".git/modules/lib/hooks/post-checkout",
            ".git/modules/lib/config",
            ".git/rebase-merge/git-rebase-todo",
            ".git/worktrees/w/sequencer/todo",
            ".git/sequencer/opts",
            ".git/rebase-merge/strategy",
            ".git/rebase-merge/msgnum",
            ".git/rebase-apply/last",
            ".git/worktrees/w/config.worktree",
            ".git",
            "lib/.git",
            ".bashrc",
            "home/.BASHRC",
            ".bash_profile",
            ".zshenv",
            ".profile",
            ".mcp.json",
            "sub/.mcp.json.",
            ".vscode/tasks.json",
            "sub/.VSCode/Tasks.json",
            ".gitconfig",
            ".config/git/config",
            ".config/powershell/Microsoft.VSCode_profile.ps1",
            ".config/nushell/env.nu",
            ".kiro/settings/mcp.json",
        ] {
            assert_eq!(verdict(path), Some(ProtectedWrite::Denied), "{path}");
        }
    }

    #[test]
    fn a_name_that_is_refused_somewhere_may_be_refused() {
        for name in
            [".git", "GIT~1", ".BASHRC", ".mcp.json", "tasks.json", "mcp.json", "config", "env.nu", "X_profile.ps1"]
        {
            assert!(may_be_refused(name), "{name}");
        }
        for name in ["main.rs", "package.json", "hooks", "gitlog", "config.rs"] {
            assert!(!may_be_refused(name), "{name}");
        }
    }

    #[test]
    fn what_builds_and_servers_run_is_asked() {
        for path in [
            "eslint.config.mjs",
            ".eslintrc.cjs",
            ".eslintrc.json",
            ".prettierrc",
            ".mocharc.ts",
            ".releaserc.js",
            ".lintstagedrc.yaml",
            ".RData",
            "gradle.properties",
            ".bazelrc",
            "web/.user.ini",
            "app.sublime-project",
            "src/dune",
            ".config/nextest.toml",
            "vite.config.ts",
            "web/jest.config.js",
            "Cargo.toml",
            "AGENTS.md",
            ".crush.json",
            "gradle/wrapper/gradle-wrapper.properties",
            "project/plugins.sbt",
            "tools/bazel",
            "debian/rules",
            ".hg/requires",
            ".venv/bin/git",
            "web/node_modules/.bin/ls",
            ".local/bin/ls",
            ".config/starship.toml",
            ".config/nvim/init.lua",
            "mcp.json",
            "rust-toolchain.toml",
            ".lefthook/pre-commit/lint",
            ".hg/store/x",
            ".helix/languages.toml",
            "package.json",
            "web/Package.JSON",
            "Makefile",
            "rules.mk",
            "build.rs",
            "crates/x/build.rs",
            "app.desktop",
            ".config/autostart/x.desktop",
            ".github/workflows/ci.yml",
            ".gitlab-ci.yml",
            ".ci/run",
            ".husky/pre-commit",
            ".husky/_/h",
            "web/.githooks/pre-push",
            "Jenkinsfile",
            "Dockerfile",
            "Dockerfile.test",
            ".vscode/settings.json",
            ".idea/runConfigurations/x.xml",
            ".cargo/config.toml",
            ".git/HEAD",
            ".claude/settings.json",
            "setup.py",
            "conftest.py",
            "nod.service",
        ] {
            assert_eq!(verdict(path), Some(ProtectedWrite::Asked), "{path}");
        }
    }

    #[test]
    fn an_allowed_folder_inside_a_protected_place_opens_nothing() {
        let below = |root: &str, path: &str| {
            let parts = path.split('/').map(str::to_owned).collect();
            is_protected_below(Path::new(root), &RelPath::from_parts(parts).unwrap())
        };
        for (root, path, expected) in [
            ("/projects/app/.git", "hooks/pre-commit", Some(ProtectedWrite::Denied)),
            ("/projects/app/.git/hooks", "pre-commit", Some(ProtectedWrite::Denied)),
            ("/projects/app/.vscode", "tasks.json", Some(ProtectedWrite::Denied)),
            ("/projects/app/.github/workflows", "ci.yml", Some(ProtectedWrite::Asked)),
            ("/projects/app", "src/main.rs", None),
        ] {
            assert_eq!(below(root, path), expected, "{root} {path}");
        }
        assert_eq!(verdict("hooks/pre-commit"), None, "the control: the path below the folder alone does not tell");
    }

    #[test]
    fn ordinary_files_are_ordinary() {
        for path in [
            "src/main.rs",
            "README.md",
            "Cargo.lock",
            "config.ts",
            ".editorconfig",
            ".nvmrc",
            "tsconfig.json",
            "src/.rc.json",
            "nextest.toml",
            "dune.ml",
            "bazel",
            "rules",
            "bin/git",
            "gitlog.txt",
            ".gitignore",
            "src/git/config.rs",
            "config",
            "hooks/pre.md",
            ".github/ISSUE_TEMPLATE.md",
            "package.json.md",
            "docs/makefile.md",
            "tasks.json",
            "bashrc",
        ] {
            assert_eq!(verdict(path), None, "{path}");
        }
        assert_eq!(is_protected_write(&RelPath::default()), None);
    }
}

//! Repositories that a command moves, shown by git: each stays whole, wherever it lies in the end, and the result of the
//! command says that something was put back. Without the guard each of these leaves something else.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files and start git")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nod::ir::Tier;
use nod::tool::CommandWalls;
use serde_json::Value;

use crate::confinement::{also_as_ordinary_user, run_tool, tiers};

/// Whether this computer can show it.
fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok()
}

fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "protocol.file.allow=always"]).args(words).stdin(Stdio::null());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent").env("GIT_CEILING_DIRECTORIES", folder);
    let ran = command.output().unwrap();
    if ran.status.success() { String::from_utf8(ran.stdout).unwrap() } else { String::new() }
}

/// An allowed folder with two repositories that know nothing of each other; the person's has a submodule and a work tree.
struct Ground {
    place: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Self { place: tempfile::Builder::new().prefix("nod-test-").tempdir().unwrap() };
        for (folder, name) in [("app", "mine"), ("fx/r", "theirs"), ("other", "third")] {
            ground.repository(folder, name);
        }
        let app = ground.path("app");
        git(&app, &["submodule", "add", "-q", "../fx/r", "sub"]);
        git(&app, &["worktree", "add", "-q", "../tree"]);
        ground
    }

    fn repository(&self, folder: &str, name: &str) {
        let folder = self.path(folder);
        fs::create_dir_all(&folder).unwrap();
        for words in [
            &["init", "-q", "."][..],
            &["config", "user.email", "ann@example.org"],
            &["config", "user.name", "Ann"],
            &["commit", "-q", "--allow-empty", "-m", name],
            &["remote", "add", name, "https://example.org/a"],
        ] {
            git(&folder, words);
        }
        fs::write(folder.join(".git/hooks/pre-push"), name).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("ws").join(path)
    }

    /// Whether the repository in a folder has the history, the configuration and the hook of the one of this name.
    fn is_whole(&self, folder: &str, name: &str) -> bool {
        let folder = self.path(folder);
        let line = format!("{name}\n");
        let hook = fs::read_to_string(folder.join(".git/hooks/pre-push")).unwrap_or_default();
        git(&folder, &["log", "--format=%s"]) == line && git(&folder, &["remote"]) == line && hook == name
    }

    /// The same, there or under the name that a command gave it meanwhile: another name alone is nobody's concern, also where
    /// the command was stopped before it came to the rest.
    fn is_whole_somewhere(&self, folder: &str, name: &str) -> bool {
        [folder, "a0", "t"].iter().any(|place| self.is_whole(place, name))
    }

    /// Whether git works in the submodule and in the work tree.
    fn has_parts(&self) -> bool {
        let works = |folder: &str| git(&self.path(folder), &["status"]).contains("On branch");
        works("app/sub") && works("tree")
    }
}

/// What a command does, and where each repository is whole afterwards.
const MOVES: [(&str, &[(&str, &str)]); 5] = [
    ("mv app a0; mv fx/r app", &[("app", "mine"), ("fx/r", "theirs")]),
    ("mv app/.git/modules/sub app/.git/modules/o", &[("app", "mine")]),
    ("mv app/.git/worktrees app/.git/w2", &[("app", "mine")]),
    ("mv app/.git/modules m; mv app/.git/worktrees app/.git/modules", &[("app", "mine")]),
    ("mv other o; rm -rf o/.git/hooks || true", &[("o", "third")]),
];

#[test]
fn what_a_command_moves_stays_whole_or_goes_back_whole() {
    also_as_ordinary_user("moved::what_a_command_moves_stays_whole_or_goes_back_whole");
    if !has_git() {
        return;
    }
    let every: Vec<CommandWalls> = std::iter::once(CommandWalls::default()).chain(tiers()).collect();
    for (line, whole) in MOVES {
        for walls in &every {
            for end in ["", "; sleep 0.2"] {
                let ground = Ground::new();
                assert!(ground.is_whole("app", "mine") && ground.is_whole("fx/r", "theirs") && ground.has_parts());
                let ran = run_tool(walls, &ground.path(""), &format!("{line}{end}"));
                let is_whole = whole.iter().all(|(folder, name)| ground.is_whole_somewhere(folder, name));
                // The work tree and the submodule know their repository by its place.
                let knows_parts = whole.first() == Some(&("app", "mine")) || whole.is_empty();
                let is_all_whole =
                    is_whole && (!knows_parts || ground.has_parts() || !ground.path("app/.git").exists());
                assert_eq!(is_all_whole, walls.tier != Tier::Unconfined, "{:?}: {line}{end}: {ran:?}", walls.tier);
                if walls.tier != Tier::Unconfined {
                    // In tier A some of it cannot even be tried.
                    let is_refused = |result: &Value| result["stderr"].as_str().is_some_and(|text| !text.is_empty());
                    let is_told =
                        ran.as_ref().map_or(true, |result| result.get("reverted").is_some() || is_refused(result));
                    assert!(is_told, "{:?}: {line}{end}: {ran:?}", walls.tier);
                }
            }
        }
    }
}

#[test]
fn another_name_alone_is_nobodys_concern() {
    if !has_git() {
        return;
    }
    for walls in tiers() {
        let ground = Ground::new();
        let ran = run_tool(&walls, &ground.path(""), "mkdir d; mv other d/o; mv fx/r fx/s; sleep 0.2");
        assert!(ran.as_ref().is_ok_and(|result| result.get("reverted").is_none()), "{:?}: {ran:?}", walls.tier);
        assert!(ground.is_whole("d/o", "third") && ground.is_whole("fx/s", "theirs"));
    }
}

//! Repositories that a command makes itself, in every tier: those that git writes stay, and none gets a part that runs
//! something. Without walls each of these parts stays.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files")]

use std::fs;
use std::path::{Path, PathBuf};

use nod::ir::Tier;
use nod::tool::CommandWalls;

use crate::confinement::{also_as_ordinary_user, run_tool, tiers};
use crate::protection::{Project, code, git, has_git};

/// An allowed folder with a repository in `lib`.
fn ground() -> (Project, PathBuf) {
    let project = Project::new();
    let folder = project.folder().with_file_name("ground");
    fs::create_dir(&folder).unwrap();
    fs::rename(project.folder(), folder.join("lib")).unwrap();
    (project, folder)
}

const WORK: [(&str, &[&str]); 7] = [
    ("git init -q .", &[".git/config", ".git/HEAD"]),
    ("git init -q new; git -C new remote add origin https://example.org/a.git", &["new/.git/config"]),
    ("git init -q --bare x.git", &["x.git/config", "x.git/HEAD"]),
    ("git clone -q lib copy", &["copy/.git/config", "copy/a.txt"]),
    ("git clone -q --bare \"$PWD/lib\" copy.git", &["copy.git/config"]),
    (
        "git init -q n; cd n; git config user.email a@example.org; git config user.name A; echo > f; git add f; git commit -qm x",
        &["n/.git/config", "n/.git/logs/HEAD"],
    ),
    ("command -v cargo >/dev/null || exit 0; cargo new -q made; test -d made/.git", &[]),
];

#[test]
fn a_repository_that_git_makes_stays() {
    also_as_ordinary_user("scaffold::a_repository_that_git_makes_stays");
    if !has_git() {
        return;
    }
    for walls in tiers() {
        for (line, there) in WORK {
            let (_project, folder) = ground();
            // Long enough to be looked at while it runs, too.
            let ran = run_tool(&walls, &folder, &format!("set -e; {line}; sleep 0.3"));
            let result = ran.unwrap_or_else(|error| panic!("{:?}: {line}: {error:?}", walls.tier));
            assert!(result.get("reverted").is_none(), "{:?}: {line}: {result}", walls.tier);
            let missing: Vec<&&str> = there.iter().filter(|path| !folder.join(path).exists()).collect();
            assert_eq!(missing, Vec::<&&str>::new(), "{:?}: {line}", walls.tier);
        }
    }
}

const EVIL: &str = "printf '[core]\\n\\tfsmonitor = planted\\n'";

/// What comes after `git init new`, `EVIL` being a configuration that runs something.
const PARTS: [&str; 27] = [
    "git -C new config core.fsmonitor planted",
    "git -C new config core.hooksPath planted",
    "git -C new config core.sshCommand planted",
    "git -C new config core.pager planted",
    "git -C new config core.worktree planted",
    "git -C new config alias.x '!planted'",
    "git -C new config include.path planted",
    "git -C new config filter.x.clean planted",
    "git -C new config credential.helper planted",
    "git -C new config diff.external planted",
    "git -C new config gpg.program planted",
    "git -C new config remote.o.uploadpack planted",
    "git -C new config remote.o.vcs planted",
    "git -C new config remote.o.url ext::planted",
    "git -C new config url.ext::planted.insteadOf x",
    "echo planted > new/.git/hooks/pre-commit",
    "echo planted > new/.git/hooks/x.sample; sleep 0.3; mv new/.git/hooks/x.sample new/.git/hooks/pre-commit",
    "mkdir e; echo planted > e/pre-commit; rm -r new/.git/hooks; ln -s \"$PWD/e\" new/.git/hooks",
    "EVIL > e; ln -sf ../../e new/.git/config",
    "sleep 0.3; EVIL >> new/.git/config",
    "cp new/.git/config n; exec 3>> n; mv -f n new/.git/config; sleep 0.5; EVIL >&3",
    "cp new/.git/config n; ln n twin; mv -f n new/.git/config; sleep 0.5; EVIL >> twin",
    "EVIL > new/.git/config.worktree",
    "cp -r new/.git planted; EVIL > planted/config; echo ../../planted > new/.git/commondir",
    "cp -r new/.git planted; EVIL > planted/config; mkdir new/sub; echo 'gitdir: ../../planted' > new/sub/.git",
    "mv new/.git new/g; cp -r new/g x; EVIL > x/config; mv x new/.git",
    "rm -r new/.git; mkdir x; EVIL > x/config; git init -q --bare x; mv x new/.git; EVIL >> new/.git/config",
];

fn is_planted(folder: &Path) -> bool {
    let files = [".git/config", ".git/config.worktree", ".git/commondir", ".git/hooks/pre-commit", "sub/.git"];
    files
        .iter()
        .any(|file| fs::read_to_string(folder.join("new").join(file)).is_ok_and(|text| text.contains("planted")))
}

#[test]
fn no_part_of_a_new_repository_runs_anything() {
    also_as_ordinary_user("scaffold::no_part_of_a_new_repository_runs_anything");
    if !has_git() {
        return;
    }
    let every: Vec<CommandWalls> = std::iter::once(CommandWalls::default()).chain(tiers()).collect();
    for walls in &every {
        for part in PARTS {
            let (_project, folder) = ground();
            let line = format!("git init -q new; {}; sleep 1", part.replace("EVIL", EVIL));
            let ran = run_tool(walls, &folder, &line);
            let context = format!("{:?}: {part}: {ran:?}", walls.tier);
            assert_eq!(is_planted(&folder), walls.tier == Tier::Unconfined, "{context}");
            let is_refused = code(&ran) == Some("PROTECTED_PATH_DENIED");
            assert_eq!(is_refused, walls.tier != Tier::Unconfined, "{context}");
        }
    }
}

#[test]
fn what_the_person_has_is_no_new_repository() {
    also_as_ordinary_user("scaffold::what_the_person_has_is_no_new_repository");
    if !has_git() {
        return;
    }
    let every: Vec<CommandWalls> = std::iter::once(CommandWalls::default()).chain(tiers()).collect();
    for walls in &every {
        // Each configuration would be harmless in a new one.
        for line in [
            "git -C lib config user.name Eve",
            "mv lib moved; git -C moved config user.name Eve",
            "cp lib/.git/config n; echo '[pull]' >> n; mv -f n lib/.git/config",
        ] {
            let (_project, folder) = ground();
            let before = fs::read_to_string(folder.join("lib/.git/config")).unwrap();
            let ran = run_tool(walls, &folder, line);
            let now = if folder.join("moved").exists() { folder.join("moved") } else { folder.join("lib") };
            let is_same = fs::read_to_string(now.join(".git/config")).is_ok_and(|text| text == before);
            assert_eq!(is_same, walls.tier != Tier::Unconfined, "{:?}: {line}: {ran:?}", walls.tier);
        }
    }
}

#[test]
fn a_git_command_that_ends_half_done_is_said_to_be() {
    if !has_git() {
        return;
    }
    for walls in tiers().into_iter().filter(|walls| walls.tier == Tier::A) {
        let (_project, folder) = ground();
        fs::create_dir_all(folder.join("lib/.vscode")).unwrap();
        fs::write(folder.join("lib/.vscode/settings.json"), "{}").unwrap();
        let lib = folder.join("lib");
        assert!(git(&lib, &["add", "-A"]).status().unwrap().success());
        // Git itself may call that a success.
        let details = |line: &str| {
            let ran = run_tool(&walls, &folder, line);
            ran.unwrap_or_else(|error| error.details)
        };
        let told = details("git -C lib stash -u");
        assert_eq!(told["refusedToChange"][0]["path"], "lib/.vscode", "{told}");
        assert!(folder.join("lib/.vscode/settings.json").exists(), "the control: it is half done");
        // The control: what else fails says nothing of it.
        let told = details("cat lib/.vscode/none; exit 1");
        assert!(told.get("refusedToChange").is_none(), "{told}");
    }
}

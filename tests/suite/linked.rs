//! Links that a command puts where a folder or another link was, in every tier: whoever goes there by the name finds what
//! was there. Without walls each of these leads to another's files.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use nod::ir::Tier;
use nod::tool::CommandWalls;

use crate::confinement::{also_as_ordinary_user, run_tool, run_tool_recorded, tiers};

/// An allowed folder: where the text says so, the person's own, and beside it what came from somewhere.
struct Ground {
    place: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Self { place: tempfile::Builder::new().prefix("nod-test-").tempdir().unwrap() };
        let repository = ["HEAD", "config", "objects/x", "refs/x"];
        let in_folder = |folder: &'static str| repository.map(|part| format!("{folder}/{part}"));
        let theirs = ["p/.vscode/tasks.json", "p/a.txt", "b/web/.mcp.json", "b/web/a.txt", "n/a.txt", "ev/hooks/x"];
        let theirs = theirs.into_iter().map(str::to_owned);
        let repositories = ["fx/r/.git", "bare", "other/.git"].into_iter().flat_map(in_folder);
        for path in theirs.chain(repositories).chain(["fx/r/sub/a.txt".to_owned(), "node_modules/x/a.txt".to_owned()]) {
            ground.write(&path, "theirs");
        }
        for path in
            ["web/a.txt", "a/web/a.txt", "other/a.txt", "core/a.txt", "tools/hooks/x", "s/.vscode/settings.json"]
        {
            ground.write(path, "mine");
        }
        ground.write("s2/.vscode/settings.json", "mine");
        for part in repository {
            ground.write(&format!(".git/{part}"), "[core]\nhooksPath = tools/hooks\n");
        }
        fs::create_dir(ground.path("c")).unwrap();
        for (to, link) in [("web", "link"), ("../p", "c/web")] {
            symlink(to, ground.path(link)).unwrap();
        }
        ground
    }

    fn path(&self, path: &str) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("ws").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// What a command does, and a file of the person's that has to be found by its name afterwards.
const LINES: [(&str, &str); 18] = [
    ("mv web w0; ln -s p web", "web/a.txt"),
    ("mv web w0; ln -s \"$PWD/p\" web", "web/a.txt"),
    ("mv web w0; ln -s /proc/self/cwd/p web", "web/a.txt"),
    ("ln -s p wp; mv web w0; mv wp web", "web/a.txt"),
    ("ln -s p l1; ln -s l1 l2; mv web w0; ln -s l2 web", "web/a.txt"),
    ("mv web w0; ln -s later web; mv p later", "web/a.txt"),
    ("ln -sfn p link", "link/a.txt"),
    ("rm link; mv p link", "link/a.txt"),
    ("mv a a0; ln -s b a", "a/web/a.txt"),
    ("mv a a0; ln -s c a", "a/web/a.txt"),
    ("mv other o; ln -s fx/r other", "other/a.txt"),
    ("mv core c0; ln -s bare core", "core/a.txt"),
    ("mv core c0; ln -s fx/r/sub core", "core/a.txt"),
    ("mv core c0; ln -s fx core", "core/a.txt"),
    (
        "mkdir -p node_modules/x/.vscode; echo > node_modules/x/.vscode/tasks.json; mv web w0; ln -s node_modules/x web",
        "web/a.txt",
    ),
    ("mv web w0; ln -s node_modules/x web; mkdir -p web/.vscode; echo > web/.vscode/tasks.json", "web/a.txt"),
    ("mv tools t0; ln -s ev tools", "tools/hooks/x"),
    ("mv s s0; ln -s p s", "s/.vscode/settings.json"),
];

#[test]
fn no_link_takes_the_place_of_what_the_person_had() {
    also_as_ordinary_user("linked::no_link_takes_the_place_of_what_the_person_had");
    let every: Vec<CommandWalls> = std::iter::once(CommandWalls::default()).chain(tiers()).collect();
    for (line, file) in LINES {
        for walls in &every {
            // Both where it can be stopped in time and where it has ended.
            let ends = if walls.tier == Tier::A { &["; sleep 0.2"][..] } else { &["", "; sleep 0.2"] };
            for end in ends {
                let ground = Ground::new();
                let ran = run_tool(walls, &ground.path(""), &format!("{line}{end}"));
                let is_mine = fs::read_to_string(ground.path(file)).is_ok_and(|now| now == "mine");
                let context = format!("{:?}: {line}{end}: {ran:?}", walls.tier);
                assert_eq!(is_mine, walls.tier != Tier::Unconfined, "{context}");
                // In tier A some of it cannot even be tried.
                let is_told = ran.as_ref().map_or(true, |result| {
                    result.get("reverted").is_some() || result["stderr"].as_str().is_some_and(|text| !text.is_empty())
                });
                assert_eq!(is_told, walls.tier != Tier::Unconfined, "{context}");
            }
        }
    }
}

#[test]
fn a_link_to_the_folder_itself_to_the_same_or_by_a_new_name_stays() {
    for walls in tiers() {
        let ground = Ground::new();
        let line = "mv other o; ln -s o other; mv web w0; ln -s n web; mv s s0; ln -s s2 s; ln -s fx new; sleep 0.2";
        let ran = run_tool(&walls, &ground.path(""), line);
        assert!(ran.as_ref().is_ok_and(|result| result.get("reverted").is_none()), "{:?}: {ran:?}", walls.tier);
        assert!(["other", "web", "s", "new"].iter().all(|link| ground.path(link).is_symlink()));
    }
}

/// Two commands, and what must not be there after them.
const PAIRS: [(&str, &str, &str); 8] = [
    ("mv web w0", "mv p web", "web/.vscode/tasks.json"),
    ("rm -r web", "mv p web", "web/.vscode/tasks.json"),
    ("mv web w0", "ln -s p web", "web/.vscode/tasks.json"),
    ("mv a a0", "mv b a", "a/web/.mcp.json"),
    ("mv a a0", "mkdir a; mv p a/web", "a/web/.vscode/tasks.json"),
    ("mv other o", "mv fx/r other", "other/sub/a.txt"),
    ("rm link", "ln -s p link", "link/.vscode/tasks.json"),
    (
        "mv web w0; ln -s node_modules/x web",
        "mkdir node_modules/x/.vscode; echo > node_modules/x/.vscode/tasks.json",
        "web/.vscode/tasks.json",
    ),
];

#[test]
fn a_name_that_a_folder_had_until_an_earlier_command_is_no_new_one() {
    let every: Vec<CommandWalls> = std::iter::once(CommandWalls::default()).chain(tiers()).collect();
    for (first, second, file) in PAIRS {
        for walls in &every {
            let (ground, records) = (Ground::new(), tempfile::tempdir().unwrap());
            let run = |line: &str| run_tool_recorded(walls, &ground.path(""), line, records.path());
            let ran = run(first);
            assert!(ran.as_ref().is_ok_and(|result| result.get("reverted").is_none()), "{first}: {ran:?}");
            // What has nothing to do with it changes nothing.
            assert!(run("echo > n/new; mkdir new").is_ok());
            let ran = run(&format!("{second}; sleep 0.2"));
            let is_confined = walls.tier != Tier::Unconfined;
            assert_eq!(ground.path(file).exists(), !is_confined, "{:?}: {first}; {second}: {ran:?}", walls.tier);
            assert_eq!(ran.is_err(), is_confined, "{:?}: {first}; {second}: {ran:?}", walls.tier);
        }
    }
}

#[test]
fn a_name_that_went_from_one_allowed_folder_went_from_those_around_it() {
    for walls in tiers() {
        let (ground, records) = (Ground::new(), tempfile::tempdir().unwrap());
        ground.write("a/p/.mcp.json", "theirs");
        let ran = run_tool_recorded(&walls, &ground.path("a"), "mv web w0", records.path());
        assert!(ran.is_ok_and(|result| result.get("reverted").is_none()));
        let ran = run_tool_recorded(&walls, &ground.path(""), "cd a; mv p web; sleep 0.2", records.path());
        assert!(ran.is_err() && !ground.path("a/web/.mcp.json").exists(), "{:?}: {ran:?}", walls.tier);
    }
}

#[test]
fn the_very_folder_that_went_comes_again_and_a_name_without_what_is_obeyed_is_free() {
    for walls in tiers() {
        let (ground, records) = (Ground::new(), tempfile::tempdir().unwrap());
        for line in
            ["mv other o; mv web w0; rm link", "mv o other; mv n web; ln -s web link", "mv other o; rm link", "true"]
        {
            let ran = run_tool_recorded(&walls, &ground.path(""), line, records.path());
            assert!(ran.as_ref().is_ok_and(|result| result.get("reverted").is_none()), "{line}: {ran:?}");
        }
    }
}

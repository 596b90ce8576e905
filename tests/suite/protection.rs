//! What a command cannot leave or do in the allowed folders, shown by what would obey it: git as an editor asks it, a shell
//! that reads secrets. Every attack is run without the guard too, and gets through there.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files, start processes and keep deadlines")]
#![expect(clippy::print_stderr, reason = "what cannot be shown on this computer is said")]

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use nod::ir::{Preview, Tier};
use nod::tool::{CommandWalls, RunError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::confinement::{also_as_ordinary_user, is_root, run_tool, run_tool_watched, tiers, walls};

/// Git as the person has it: nothing of the computer's own configuration counts.
pub(crate) fn git(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent").env("GIT_TERMINAL_PROMPT", "0");
    command
}

pub(crate) fn has_git() -> bool {
    let has = Command::new("git").arg("--version").output().is_ok();
    if !has {
        eprintln!("git is not installed: nothing can be shown by it");
    }
    has
}

/// A repository with one commit, and a folder beside it that belongs to the attack.
pub(crate) struct Project {
    place: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let project = Self { place };
        let folder = project.folder();
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(folder.join("a.txt"), "a\n").unwrap();
        for words in [
            &["init", "-q", "."][..],
            &["config", "user.email", "ann@example.org"],
            &["config", "user.name", "Ann"],
            &["add", "a.txt"],
            &["commit", "-q", "-m", "first"],
        ] {
            assert!(git(&folder, words).status().unwrap().success(), "{words:?}");
        }
        project
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("ws")
    }

    /// Where what git was made to run would leave its mark: out of every command's reach.
    pub(crate) fn mark(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("mark")
    }

    /// A configuration that makes git run something.
    fn evil(&self) -> String {
        let mark = self.mark();
        format!("[core]\\nrepositoryformatversion = 0\\nfsmonitor = \"id > {}; false\"\\n", mark.display())
    }

    fn run(&self, walls: &CommandWalls, command: &str) -> Result<Value, RunError> {
        run_tool(walls, &self.folder(), command)
    }

    /// What an editor does all the time, in the folder and in one below it.
    pub(crate) fn ask_git(&self) {
        ask_git(&self.folder());
    }
}

pub(crate) fn ask_git(folder: &Path) {
    for folder in [folder, &folder.join("src")] {
        git(folder, &["status"]).status().unwrap();
    }
}

pub(crate) fn code(ran: &Result<Value, RunError>) -> Option<&'static str> {
    ran.as_ref().err().map(|error| error.failure.code.as_str())
}

/// Long enough to be stopped on a slow computer too, before an editor asks.
const PAUSE: &str = "sleep 4; echo planted; sleep 60";

/// What git would obey at once, each planted in another place.
fn plants(project: &Project) -> [(&'static str, String); 5] {
    let evil = project.evil();
    [
        ("another common folder", format!("cp -r .git e; printf '{evil}' > e/config; echo ../e > .git/commondir")),
        ("a repository in a folder", format!("cp -r .git e; printf '{evil}' > e/config; mv e src/.git")),
        ("a pointer to one", format!("cp -r .git e; printf '{evil}' > e/config; echo 'gitdir: ../e' > src/.git")),
        (
            "one of another name",
            format!("cp -r .git/. src; printf '{evil}worktree = .\\n' > src/config; chmod 111 src"),
        ),
        ("the configuration", format!("printf '{evil}' >> .git/config")),
    ]
}

#[test]
fn what_git_obeys_at_once_stops_the_command_before_an_editor_asks() {
    also_as_ordinary_user("protection::what_git_obeys_at_once_stops_the_command_before_an_editor_asks");
    if !has_git() {
        return;
    }
    let every = std::iter::once(CommandWalls::default()).chain(tiers());
    let every: Vec<CommandWalls> = every.collect();
    std::thread::scope(|scope| {
        for number in 0..5 {
            for walls in &every {
                scope.spawn(move || plant_and_ask(walls, number));
            }
        }
    });
}

fn plant_and_ask(walls: &CommandWalls, number: usize) {
    let project = Project::new();
    let (name, plant) = &plants(&project)[number];
    let cancel = CancellationToken::new();
    let (stop, folder) = (cancel.clone(), project.folder());
    let ask_once_planted = move |text: &str| {
        if text.contains("planted") {
            ask_git(&folder);
            stop.cancel();
        }
    };
    let command = format!("{plant}; {PAUSE}");
    let ran = run_tool_watched(walls, &project.folder(), &command, cancel, ask_once_planted);
    if walls.tier == Tier::Unconfined {
        assert!(project.mark().exists(), "the control must run it: {name}: {ran:?}");
        return;
    }
    assert!(!project.mark().exists(), "{:?}: {name}: {ran:?}", walls.tier);
    // In tier A what git has already cannot even be tried.
    let is_impossible = walls.tier == Tier::A && matches!(number, 0 | 4);
    let expected = if is_impossible { "CANCELLED" } else { "PROTECTED_PATH_DENIED" };
    assert_eq!(code(&ran), Some(expected), "{:?}: {name}: {ran:?}", walls.tier);
    project.ask_git();
    assert!(!project.mark().exists(), "{:?}, afterwards: {name}: {ran:?}", walls.tier);
}

#[test]
fn in_tier_a_an_editor_may_ask_at_any_moment() {
    let Some(walls) = walls(Tier::A).filter(|_| has_git()) else { return };
    let project = Project::new();
    let attack = format!(
        "cp -r .git e; printf '{}' > e/config; i=0; while [ $i -lt 60 ]; do \
         echo ../e > .git/commondir; printf ../e > e/c; mv e/c .git/commondir; ln -sf ../e .git/commondir; \
         rm -f .git/commondir .git/config; mv e/config .git/config; rm -rf .git/hooks; mv .git away; \
         i=$((i+1)); done 2>/dev/null; true",
        project.evil()
    );
    let is_over = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                project.ask_git();
            }
        });
        let ran = project.run(&walls, &attack);
        is_over.store(true, Ordering::SeqCst);
        ran
    });
    project.ask_git();
    assert!(!project.mark().exists(), "{ran:?}");
    assert!(ran.is_ok(), "nothing had to be stopped: {ran:?}");
    assert!(!project.folder().join(".git/commondir").exists(), "nothing is left behind");
}

#[test]
fn git_works_in_a_confined_command_and_nothing_is_left_behind() {
    also_as_ordinary_user("protection::git_works_in_a_confined_command_and_nothing_is_left_behind");
    if !has_git() {
        return;
    }
    for walls in tiers() {
        let project = Project::new();
        let listing = || {
            let mut names: Vec<_> =
                fs::read_dir(project.folder().join(".git")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        git(&project.folder(), &["gc", "-q"]).status().unwrap();
        let work = "set -e; echo b >> a.txt; git commit -qam second; git checkout -qb other; git tag t; echo c >> a.txt; \
                    git stash -q; git stash pop -q; git commit -qam third --amend; git rebase -q HEAD~1; git gc -q; \
                    git fsck --no-dangling; git log --oneline | wc -l";
        let ran = project.run(&walls, work).unwrap_or_else(|error| panic!("{:?}: {error:?}", walls.tier));
        assert_eq!((ran["stdout"].as_str(), ran.get("reverted")), (Some("2\n"), None), "{:?}: {ran}", walls.tier);
        assert!(!listing().iter().any(|name| name == "commondir"), "{:?}", walls.tier);
        assert!(git(&project.folder(), &["status"]).status().unwrap().success());
    }
}

#[test]
fn neither_many_names_nor_depth_nor_closed_folders_open_a_secret_or_a_repository() {
    also_as_ordinary_user("protection::neither_many_names_nor_depth_nor_closed_folders_open_a_secret_or_a_repository");
    let lay_out = || {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().to_path_buf();
        let deep = format!("{}z", "d/".repeat(40));
        for name in ["z", &deep, "closed"] {
            fs::create_dir_all(folder.join(name).join(".git/hooks")).unwrap();
            fs::write(folder.join(name).join(".env"), "KEY=sk-planted\n").unwrap();
            fs::write(folder.join(name).join(".git/config"), "[core]\n").unwrap();
        }
        fs::create_dir(folder.join("a")).unwrap();
        for number in 0..51_000 {
            File::create(folder.join("a").join(number.to_string())).unwrap();
        }
        fs::set_permissions(folder.join("closed"), fs::Permissions::from_mode(0o311)).unwrap();
        (place, deep)
    };
    let attack = |deep: &str| {
        format!(
            "for d in z {deep} closed; do chmod 711 $d; cat $d/.env; echo evil >> $d/.git/config; \
             echo evil > $d/.git/hooks/pre-commit; done 2>&1; true"
        )
    };
    let hooks = |folder: &Path, deep: &str| -> usize {
        fs::set_permissions(folder.join("closed"), fs::Permissions::from_mode(0o711)).unwrap();
        ["z", deep, "closed"].iter().filter(|name| folder.join(name).join(".git/hooks/pre-commit").exists()).count()
    };
    let (control, deep) = lay_out();
    let ran = run_tool(&CommandWalls::default(), control.path(), &attack(&deep)).unwrap();
    assert_eq!(ran["stdout"].as_str().unwrap().matches("sk-planted").count(), 3, "the control must leak: {ran}");
    assert_eq!(hooks(control.path(), &deep), 3);
    for walls in tiers() {
        let (place, deep) = lay_out();
        let ran = run_tool(&walls, place.path(), &attack(&deep));
        // Only tier A covers what is closed to the person; elsewhere it must be shown first.
        if walls.tier != Tier::A && !is_root() {
            assert_eq!(code(&ran), Some("TARGET_CHANGED"), "{ran:?}");
            assert_eq!(hooks(place.path(), &deep), 0);
            continue;
        }
        if walls.tier == Tier::A {
            let text = format!("{ran:?}");
            assert!(!text.contains("sk-planted"), "{text}");
        }
        assert_eq!(hooks(place.path(), &deep), 0, "{:?}: {ran:?}", walls.tier);
    }
}

#[test]
fn what_cannot_be_looked_at_is_shown_in_the_question_and_refused_without_it() {
    if is_root() {
        return also_as_ordinary_user(
            "protection::what_cannot_be_looked_at_is_shown_in_the_question_and_refused_without_it",
        );
    }
    use crate::support::desk::{Desk, Setup};
    use nod::policy::AskReason;
    use nod::port::{Answer, TurnOptions};
    let options = || TurnOptions { enabled_tools: vec!["run_command".into()], ..TurnOptions::default() };
    let mut desk = Desk::with(Setup { bubblewraps: Vec::new(), ..Setup::new(Vec::new()) });
    let command = r#"{"command": "touch ran"}"#;
    desk.begin_tool("run_command", command, options());
    let open = desk.asked();
    let Preview::Command(shown) = &open.preview else { panic!("not a command") };
    if shown.tier != Tier::B {
        return eprintln!("tier B cannot be shown here: {shown:?}");
    }
    assert_eq!(shown.unseen, 0);
    fs::create_dir(desk.path("closed")).unwrap();
    fs::set_permissions(desk.path("closed"), fs::Permissions::from_mode(0o111)).unwrap();
    desk.answer(&open, Answer::AllowOnce);
    let refused = desk.tool_end();
    assert_eq!(refused.code(), Some("TARGET_CHANGED"), "{refused:?}");
    assert!(!desk.path("ran").exists());
    desk.begin_tool("run_command", command, options());
    let closed = desk.asked();
    assert!(closed.reasons.contains(&AskReason::UnseenPlaces { count: 1 }), "{:?}", closed.reasons);
    assert_ne!(open.plan_hash, closed.plan_hash);
    desk.answer(&closed, Answer::AllowOnce);
    let ran = desk.tool_end();
    assert!(ran.success && desk.path("ran").exists(), "{ran:?}");
    assert_eq!((&ran.result["uncheckedFiles"], &ran.result["uncheckedPlaces"]), (&json!(true), &json!(1)));
}

/// Every way to give a file the rights of its owner or group.
const SET_RIGHTS: &str = r#"cp /bin/true x; chmod 6755 x; chmod u+s x; install -m 4755 /bin/true y; mkdir -m 2775 d; \
    perl -e 'use Fcntl; sysopen(F, "z", O_CREAT|O_WRONLY, 04755); syscall(133, my $n = "n", 0104755, 0) if $^O eq "linux"; \
    chmod 02755, "x"; open(G, "<", "x"); chmod 04755, *G'; setcap cap_net_raw+ep x; true"#;

#[test]
fn no_file_gets_the_rights_of_its_owner() {
    also_as_ordinary_user("protection::no_file_gets_the_rights_of_its_owner");
    let with_rights = |folder: &Path| -> usize {
        let modes = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().permissions().mode());
        modes.filter(|mode| mode & 0o6000 != 0).count()
    };
    let control = tempfile::tempdir().unwrap();
    run_tool(&CommandWalls::default(), control.path(), SET_RIGHTS).unwrap();
    assert!(with_rights(control.path()) >= 4, "the control must set them");
    for walls in tiers() {
        let folder = tempfile::tempdir().unwrap();
        let ran = run_tool(&walls, folder.path(), SET_RIGHTS).unwrap();
        assert_eq!(with_rights(folder.path()), 0, "{:?}: {ran}", walls.tier);
        // What does not ask for them works as before.
        let plain =
            "touch a; chmod 755 a; mkdir -m 750 b; install -m 640 a c; cp -p a e; chmod 1777 b; umask 0; touch f";
        let ran = run_tool(&walls, folder.path(), plain).unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(ran["stderr"], "", "{:?}: {ran}", walls.tier);
    }
}

#[test]
fn a_folder_that_a_command_made_unwritable_is_mended_all_the_same() {
    also_as_ordinary_user("protection::a_folder_that_a_command_made_unwritable_is_mended_all_the_same");
    const CLOSE: &str = "echo x > .bashrc; mkdir -p .idea sub/.claude; echo x > .idea/a.xml; echo x > sub/.claude/settings.json; \
                         chmod 555 .idea sub/.claude sub; chmod 500 .";
    let left = |folder: &Path| -> Vec<&'static str> {
        [".bashrc", ".idea/a.xml", "sub/.claude/settings.json"]
            .into_iter()
            .filter(|path| folder.join(path).exists())
            .collect()
    };
    let control = tempfile::tempdir().unwrap();
    run_tool(&CommandWalls::default(), control.path(), CLOSE).unwrap();
    assert_eq!(left(control.path()).len(), 3, "the control must leave them");
    for walls in tiers() {
        let folder = tempfile::tempdir().unwrap();
        let ran = run_tool(&walls, folder.path(), CLOSE).unwrap();
        assert_eq!(left(folder.path()), Vec::<&str>::new(), "{:?}: {ran}", walls.tier);
        let states: Vec<&Value> = ran["reverted"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
        assert!(states.iter().all(|state| *state == "removed"), "{ran}");
    }
}

#[test]
fn what_the_person_does_meanwhile_stays_where_the_command_could_not_do_it() {
    let Some(walls) = walls(Tier::A).filter(|_| has_git()) else { return };
    let project = Project::new();
    let folder = project.folder();
    let work = move |text: &str| {
        if text.contains("ready") {
            git(&folder, &["remote", "add", "origin", "https://example.org/a"]).status().unwrap();
        }
    };
    let ran = run_tool_watched(&walls, &project.folder(), "echo ready; sleep 60", CancellationToken::new(), work);
    assert_eq!(code(&ran), Some("PROTECTED_PATH_DENIED"), "what kept the command from it is gone: {ran:?}");
    let config = fs::read_to_string(project.folder().join(".git/config")).unwrap();
    assert!(config.contains("https://example.org/a"), "{config}");
    let details = ran.unwrap_err().details;
    assert_eq!(
        (&details["reverted"][0]["path"], &details["reverted"][0]["state"]),
        (&json!(".git/config"), &json!("outside"))
    );
}

#[test]
fn a_protected_folder_that_is_made_anew_gets_back_what_was_in_it() {
    also_as_ordinary_user("protection::a_protected_folder_that_is_made_anew_gets_back_what_was_in_it");
    for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
        for (file, line) in [
            (".git/hooks/pre-commit", "rm -rf .git/hooks; mkdir .git/hooks"),
            (".vscode/tasks.json", "rm -rf .vscode; mkdir .vscode"),
            (".vscode/tasks.json", "rm -rf .vscode; mkdir .vscode; sleep 0.3; touch .vscode/x"),
            (".vscode/deep/x.json", "rm -rf .vscode; mkdir -p .vscode/deep"),
            (
                ".git/hooks/pre-commit",
                "mkdir g; cp -r .git/HEAD .git/refs .git/objects g; rm -rf .git; mv g .git; sleep 0.3",
            ),
            (
                ".git/hooks/pre-commit",
                "mkdir g; cp -r .git/HEAD .git/refs .git/objects g; mkdir g/hooks; rm -rf .git; mv g .git",
            ),
            (".kiro/settings/mcp.json", "rm -rf .kiro; mkdir -p .kiro/settings; sleep 0.3"),
        ] {
            let place = tempfile::Builder::new().prefix("nod-test-").tempdir().unwrap();
            let path = place.path().join(file);
            for (part, text) in
                [(".git/HEAD", "ref: refs/heads/main\n"), (".git/refs/x", ""), (".git/objects/x", ""), (file, "mine")]
            {
                fs::create_dir_all(place.path().join(part).parent().unwrap()).unwrap();
                fs::write(place.path().join(part), text).unwrap();
            }
            let ran = run_tool(&walls, place.path(), line);
            let is_there = fs::read_to_string(&path).is_ok_and(|text| text == "mine");
            assert_eq!(is_there, walls.tier != Tier::Unconfined, "{:?}: {line}: {ran:?}", walls.tier);
        }
    }
}

#[test]
fn who_may_write_in_a_protected_folder_stays_as_it_was() {
    also_as_ordinary_user("protection::who_may_write_in_a_protected_folder_stays_as_it_was");
    for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
        for (mode, line) in [
            (0o755, "chmod 777 .vscode"),
            (0o700, "chmod 000 .vscode"),
            (0o700, "rm -rf .vscode; mkdir .vscode; chmod 777 .vscode"),
            (0o555, "chmod 755 .vscode; rm -rf .vscode; sleep 0.3"),
        ] {
            let place = tempfile::Builder::new().prefix("nod-test-").tempdir().unwrap();
            let folder = place.path().join(".vscode");
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("tasks.json"), "mine").unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            let ran = run_tool(&walls, place.path(), line);
            let now = fs::metadata(&folder).ok().map(|folder| folder.permissions().mode() & 0o7777);
            assert_eq!(now == Some(mode), walls.tier != Tier::Unconfined, "{:?}: {line}: {now:?} {ran:?}", walls.tier);
            if now.is_some() {
                fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
            }
            assert!(walls.tier == Tier::Unconfined || folder.join("tasks.json").exists(), "{line}: {ran:?}");
        }
    }
}

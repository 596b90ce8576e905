//! Where protected names reach, shown by git itself: folders that git takes for repositories under any name, what git's
//! configuration makes it run, and what links with protected names lead to. Every attack is made without the guard too,
//! and git runs it there.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files and start git")]
#![expect(clippy::print_stderr, reason = "what cannot be shown on this computer is said")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nod::ir::{ConfirmMode, Tier};
use nod::port::{Answer, Command as Order, Event, TurnOptions};
use nod::provider::scripted::Step;
use nod::tool::CommandWalls;
use serde_json::json;

use crate::confinement::{also_as_ordinary_user, run_tool, tiers};
use crate::support::desk::{Desk, Setup};

/// Git as the person has it: nothing of the computer's own configuration counts.
fn git(folder: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent").env("GIT_TERMINAL_PROMPT", "0");
    command.status().unwrap();
}

fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok()
}

/// A place of attack: a folder `ws` beside which git's program would leave its mark.
pub(crate) struct Ground {
    place: tempfile::TempDir,
}

/// What is laid out, what is written over in this order, and what the person does then.
struct Attack {
    name: &'static str,
    lay_out: fn(&Ground),
    writes: fn(&Ground) -> Vec<(&'static str, String)>,
    person: fn(&Ground),
}

impl Ground {
    pub(crate) fn new() -> Self {
        let ground = Self { place: tempfile::Builder::new().prefix("nod-test-").tempdir().unwrap() };
        fs::create_dir(ground.folder()).unwrap();
        ground
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("ws")
    }

    pub(crate) fn mark(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("mark")
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn program(&self, path: &str) {
        self.put(path, "#!/bin/sh\nexit 0\n");
        fs::set_permissions(self.folder().join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn link(&self, to: &str, path: &str) {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    pub(crate) fn git(&self, words: &[&str]) {
        git(&self.folder(), words);
    }

    /// A repository with one commit.
    pub(crate) fn repository(&self) {
        self.put("a.txt", "a\n");
        for words in [
            &["init", "-q", "."][..],
            &["config", "user.email", "ann@example.org"],
            &["config", "user.name", "Ann"],
            &["add", "a.txt"],
            &["commit", "-q", "-m", "first"],
        ] {
            self.git(words);
        }
    }

    pub(crate) fn status(&self, path: &str) {
        git(&self.folder().join(path), &["status"]);
    }

    pub(crate) fn commit(&self) {
        self.git(&["commit", "-q", "--allow-empty", "-m", "next"]);
    }

    /// A configuration that makes git run something.
    pub(crate) fn settings(&self, further: &str) -> String {
        let mark = self.mark();
        format!(
            "[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = \"id > {}; false\"\n{further}",
            mark.display()
        )
    }

    fn script(&self) -> String {
        format!("#!/bin/sh\nid > {}\n", self.mark().display())
    }
}

fn bare_parts(ground: &Ground) -> [(&'static str, String); 4] {
    let top = ground.folder().join("src");
    [
        ("src/config", ground.settings(&format!("worktree = {}\n", top.display()))),
        ("src/objects/x", String::new()),
        ("src/refs/x", String::new()),
        ("src/HEAD", "ref: refs/heads/main\n".into()),
    ]
}

fn in_order(ground: &Ground, order: [usize; 4]) -> Vec<(&'static str, String)> {
    let parts = bare_parts(ground);
    order.iter().map(|part| parts[*part].clone()).collect()
}

const ATTACKS: &[Attack] = &[
    Attack {
        name: "the configuration of a folder of git that is elsewhere",
        lay_out: |ground| ground.git(&["init", "-q", "--separate-git-dir=store", "work"]),
        writes: |ground| vec![("store/config", ground.settings(""))],
        person: |ground| ground.status("work"),
    },
    Attack {
        name: "a hook there",
        lay_out: |ground| {
            ground.git(&["init", "-q", "--separate-git-dir=store", "work"]);
            ground.program("store/hooks/pre-commit");
            git(&ground.folder().join("work"), &["config", "user.email", "ann@example.org"]);
            git(&ground.folder().join("work"), &["config", "user.name", "Ann"]);
        },
        writes: |ground| vec![("store/hooks/pre-commit", ground.script())],
        person: |ground| git(&ground.folder().join("work"), &["commit", "-q", "--allow-empty", "-m", "x"]),
    },
    Attack {
        name: "the configuration of a repository without a work tree",
        lay_out: |ground| ground.git(&["init", "-q", "--bare", "my.git"]),
        writes: |ground| {
            let top = ground.folder().join("my.git");
            vec![("my.git/config", ground.settings(&format!("worktree = {}\n", top.display())))]
        },
        person: |ground| ground.status("my.git"),
    },
    Attack {
        name: "a repository from nothing, its head last",
        lay_out: |_| {},
        writes: |ground| in_order(ground, [0, 1, 2, 3]),
        person: |ground| ground.status("src"),
    },
    Attack {
        name: "its references last",
        lay_out: |_| {},
        writes: |ground| in_order(ground, [0, 3, 1, 2]),
        person: |ground| ground.status("src"),
    },
    Attack {
        name: "its objects last",
        lay_out: |_| {},
        writes: |ground| in_order(ground, [0, 3, 2, 1]),
        person: |ground| ground.status("src"),
    },
    Attack {
        name: "its configuration last",
        lay_out: |_| {},
        writes: |ground| in_order(ground, [3, 2, 1, 0]),
        person: |ground| ground.status("src"),
    },
    Attack {
        name: "a repository with a common folder",
        lay_out: |_| {},
        writes: |ground| {
            let top = ground.folder().join("src");
            vec![
                ("c/config", ground.settings("[extensions]\nworktreeConfig = true\n")),
                ("c/objects/x", String::new()),
                ("c/refs/x", String::new()),
                ("src/config.worktree", format!("[core]\nworktree = {}\n", top.display())),
                ("src/HEAD", "ref: refs/heads/main\n".into()),
                ("src/commondir", "../c\n".into()),
            ]
        },
        person: |ground| ground.status("src"),
    },
    Attack {
        name: "a configured folder of hooks",
        lay_out: |ground| {
            ground.repository();
            ground.git(&["config", "core.hooksPath", ".husky"]);
            ground.program(".husky/pre-commit");
        },
        writes: |ground| vec![(".husky/pre-commit", ground.script())],
        person: Ground::commit,
    },
    Attack {
        name: "an included configuration",
        lay_out: |ground| {
            ground.repository();
            ground.git(&["config", "include.path", "../shared.inc"]);
        },
        writes: |ground| vec![("shared.inc", ground.settings(""))],
        person: |ground| ground.status("."),
    },
    Attack {
        name: "a configured program",
        lay_out: |ground| {
            ground.repository();
            ground.program("tools/mon");
            ground.git(&["config", "core.fsmonitor", "tools/mon"]);
        },
        writes: |ground| vec![("tools/mon", ground.script())],
        person: |ground| ground.status("."),
    },
    Attack {
        name: "a configured script",
        lay_out: |ground| {
            ground.repository();
            ground.program("tools/x");
            ground.git(&["config", "alias.x", "!sh ./tools/x"]);
        },
        writes: |ground| vec![("tools/x", ground.script())],
        person: |ground| ground.git(&["x"]),
    },
    Attack {
        name: "git's folder as a link",
        lay_out: |ground| {
            ground.repository();
            fs::rename(ground.folder().join(".git"), ground.folder().join("store")).unwrap();
            ground.link("store", ".git");
        },
        writes: |ground| vec![("store/config", ground.settings(""))],
        person: |ground| ground.status("."),
    },
    Attack {
        name: "hooks as a link",
        lay_out: |ground| {
            ground.repository();
            fs::remove_dir_all(ground.folder().join(".git/hooks")).unwrap();
            ground.link("../scripts", ".git/hooks");
            ground.program("scripts/pre-commit");
        },
        writes: |ground| vec![("scripts/pre-commit", ground.script())],
        person: Ground::commit,
    },
    Attack {
        name: "a hook as a link",
        lay_out: |ground| {
            ground.repository();
            ground.program("scripts/pc");
            ground.link("../../scripts/pc", ".git/hooks/pre-commit");
        },
        writes: |ground| vec![("scripts/pc", ground.script())],
        person: Ground::commit,
    },
    Attack {
        name: "the configuration as a link",
        lay_out: |ground| {
            ground.repository();
            fs::create_dir(ground.folder().join("conf")).unwrap();
            fs::rename(ground.folder().join(".git/config"), ground.folder().join("conf/git")).unwrap();
            ground.link("../conf/git", ".git/config");
        },
        writes: |ground| vec![("conf/git", ground.settings(""))],
        person: |ground| ground.status("."),
    },
];

pub(crate) fn no_git() -> bool {
    let is_missing = !has_git();
    if is_missing {
        eprintln!("git is not installed: nothing can be shown by it");
    }
    is_missing
}

#[test]
fn no_file_tool_writes_what_git_runs_whatever_leads_there() {
    also_as_ordinary_user("lead::no_file_tool_writes_what_git_runs_whatever_leads_there");
    if no_git() {
        return;
    }
    let mut desk = Desk::new(Vec::new());
    for attack in ATTACKS {
        let control = Ground::new();
        (attack.lay_out)(&control);
        for (path, text) in (attack.writes)(&control) {
            control.put(path, &text);
        }
        (attack.person)(&control);
        assert!(control.mark().exists(), "the control must run it: {}", attack.name);

        let ground = Ground::new();
        (attack.lay_out)(&ground);
        let mut codes = Vec::new();
        for (path, text) in (attack.writes)(&ground) {
            let args = json!({"path": path, "content": text}).to_string();
            let folder = ground.folder();
            let ran = desk.tool_in(&folder, "write_file", &args, &Answer::AllowOnce, TurnOptions::default());
            codes.push(ran.code().map(str::to_owned));
        }
        assert!(codes.contains(&Some("PROTECTED_PATH_DENIED".to_owned())), "{}: {codes:?}", attack.name);
        (attack.person)(&ground);
        assert!(!ground.mark().exists(), "{}: {codes:?}", attack.name);
    }
}

/// A repository in one folder obeys what lies in another: what is written there, the repository, and what the person does.
type Elsewhere = (&'static str, fn(&Ground), &'static str, fn(&Ground) -> String, fn(&Ground));

const ELSEWHERE: [Elsewhere; 3] = [
    (
        "hooks",
        |ground| {
            ground.repository();
            ground.program("../other/hk/pre-commit");
            ground.git(&["config", "core.hooksPath", "../other/hk"]);
        },
        "hk/pre-commit",
        Ground::script,
        Ground::commit,
    ),
    (
        "an included configuration",
        |ground| {
            ground.repository();
            ground.put("../other/inc", "");
            ground.git(&["config", "include.path", "../../other/inc"]);
        },
        "inc",
        |ground| ground.settings(""),
        |ground| ground.status("."),
    ),
    (
        "a program of a repository that lies deeper",
        |ground| {
            ground.program("../other/tools/mon");
            for words in [&["init", "-q", "a/b/c"][..], &["-C", "a/b/c", "config", "core.fsmonitor"]] {
                let program = ground.folder().join("../other/tools/mon").canonicalize().unwrap().display().to_string();
                let last = [program.as_str()];
                ground.git(&[words, if words[0] == "init" { &[][..] } else { &last[..] }].concat());
            }
        },
        "tools/mon",
        Ground::script,
        |ground| ground.status("a/b/c"),
    ),
];

#[test]
fn no_file_tool_writes_what_a_repository_in_another_allowed_folder_runs() {
    also_as_ordinary_user("lead::no_file_tool_writes_what_a_repository_in_another_allowed_folder_runs");
    if no_git() {
        return;
    }
    let mut desk = Desk::new(Vec::new());
    for (name, lay_out, path, text, person) in ELSEWHERE {
        let control = Ground::new();
        lay_out(&control);
        control.put(&format!("../other/{path}"), &text(&control));
        person(&control);
        assert!(control.mark().exists(), "the control must run it: {name}");

        let ground = Ground::new();
        lay_out(&ground);
        let (repository, other) = (ground.folder(), ground.folder().with_file_name("other"));
        let given = other.join(path).display().to_string();
        let args = json!({"path": given, "content": text(&ground)}).to_string();
        for folders in [[repository.as_path(), &other], [&other, &repository]] {
            let ran = desk.tool_among(&folders, "write_file", &args, &Answer::AllowOnce);
            assert_eq!(ran.code(), Some("PROTECTED_PATH_DENIED"), "{name}: {ran:?}");
        }
        let beside = json!({"path": other.join("notes.txt").display().to_string(), "content": "x"}).to_string();
        let ran = desk.tool_among(&[&other, &repository], "write_file", &beside, &Answer::AllowOnce);
        assert!(ran.success, "{name}: {ran:?}");
        person(&ground);
        assert!(!ground.mark().exists(), "{name}");
    }
}

#[test]
fn no_command_leaves_what_git_runs_whatever_leads_there() {
    also_as_ordinary_user("lead::no_command_leaves_what_git_runs_whatever_leads_there");
    if no_git() {
        return;
    }
    for attack in ATTACKS {
        for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
            let ground = Ground::new();
            (attack.lay_out)(&ground);
            let writes = (attack.writes)(&ground).into_iter().map(|(path, text)| {
                let folder = Path::new(path).parent().unwrap().display().to_string();
                let folder = if folder.is_empty() { ".".to_owned() } else { folder };
                format!("mkdir -p {folder}; cat > {path} <<'END'\n{text}END\n")
            });
            let ran = run_tool(&walls, &ground.folder(), &writes.collect::<String>());
            (attack.person)(&ground);
            let is_run = ground.mark().exists();
            assert_eq!(is_run, walls.tier == Tier::Unconfined, "{:?}: {}: {ran:?}", walls.tier, attack.name);
        }
    }
}

/// What something picks up at once while a command is at work.
const LIVE: [(&str, &str); 5] = [
    ("a link to tasks", "mkdir d; echo '{}' > d/tasks.json; ln -s d .vscode"),
    ("a link to servers", "mkdir d; echo '{}' > d/m.json; ln -s d/m.json .mcp.json"),
    ("a configured hook", "echo evil > .husky/pre-commit"),
    ("a new configured hook", "echo evil > .husky/post-index-change"),
    ("what a link leads to", "echo evil > scripts/pc"),
];

#[test]
fn what_is_led_to_stops_a_command_at_once() {
    also_as_ordinary_user("lead::what_is_led_to_stops_a_command_at_once");
    if no_git() {
        return;
    }
    for walls in tiers() {
        for (name, line) in LIVE {
            let ground = Ground::new();
            ground.repository();
            ground.git(&["config", "core.hooksPath", ".husky"]);
            ground.program(".husky/pre-commit");
            ground.program("scripts/pc");
            ground.link("../scripts/pc", ".husky/pre-push");
            let command = format!("{line} || exit 3; sleep 20");
            let ran = run_tool(&walls, &ground.folder(), &command);
            let failure = ran.unwrap_err();
            // In tier A what is there already, and a new file beside it, cannot even be tried.
            let is_impossible = walls.tier == Tier::A && line.starts_with("echo");
            let expected = if is_impossible { "exit code" } else { "PROTECTED_PATH_DENIED" };
            let said = format!("{} {}", failure.failure.code.as_str(), failure.failure.message);
            assert!(said.contains(expected), "{:?}: {name}: {said}", walls.tier);
        }
    }
}

#[test]
fn two_calls_of_one_answer_make_no_repository_together() {
    let write = |path: &str, text: &str| Step::call("write_file", json!({"path": path, "content": text}));
    let answers = vec![
        vec![write("src/HEAD", "ref: refs/heads/main\n"), write("src/objects/x", ""), write("src/refs/x", "")],
        vec![Step::text("done")],
    ];
    let mut desk = Desk::with(Setup::new(answers));
    desk.write("src/config", "[core]\n");
    desk.send(Order::SetMode { session: desk.session.clone(), mode: ConfirmMode::Automatic });
    desk.until(|event| matches!(event, Event::SessionChanged(_)));
    desk.say("go");
    desk.turn_end_allowing();
    let codes: Vec<_> = desk.sent_results().iter().map(|result| result.code().map(str::to_owned)).collect();
    let denied = codes.iter().filter(|code| code.as_deref() == Some("PROTECTED_PATH_DENIED")).count();
    assert_eq!(denied, 1, "{codes:?}");
    let is_there = |part: &str| desk.path("src").join(part).exists();
    assert!(!(is_there("HEAD") && is_there("objects") && is_there("refs")), "{codes:?}");
}

#[test]
fn a_refusal_says_what_leads_there_and_everyday_writes_go_on() {
    let mut desk = Desk::new(Vec::new());
    desk.write(".git/config", "[core]\n\thooksPath = .husky\n");
    desk.write("api/refs/a", "x");
    desk.write("b/HEAD", "x");
    let write = |desk: &mut Desk, path: &str| {
        let args = json!({"path": path, "content": "x"});
        desk.tool("write_file", &args, &Answer::AllowOnce)
    };
    let refused = write(&mut desk, ".husky/pre-commit");
    assert_eq!(refused.code(), Some("PROTECTED_PATH_DENIED"));
    let said = refused.error.unwrap();
    assert!(said.contains("core.hookspath") && said.ends_with(".git/config"), "{said}");
    let edits = json!([{"old_text": "exit 0", "new_text": "exit 1"}]);
    desk.write(".husky/pre-push", "exit 0");
    let edited = desk.tool("edit_file", &json!({"path": ".husky/pre-push", "edits": edits}), &Answer::AllowOnce);
    assert_eq!(edited.code(), Some("PROTECTED_PATH_DENIED"));
    desk.write("c/HEAD", "x");
    desk.write("c/refs/x", "x");
    let made = desk.tool("create_directory", &json!({"path": "c/objects/ab"}), &Answer::AllowOnce);
    assert_eq!(made.code(), Some("PROTECTED_PATH_DENIED"));
    assert!(!desk.was_asked());
    for path in ["src/main.rs", "README.md", "api/refs/b", "api/objects/b", "b/config", "HEAD", "hooks/x", "a/b/config"]
    {
        let ran = write(&mut desk, path);
        assert!(ran.success, "{path}: {ran:?}");
    }
}

/// A name, the command line, and what the person does then.
type Dishonest = (&'static str, &'static str, fn(&Ground));

/// Ways to a new repository, with something in it that git runs or obeys.
const DISHONEST: [Dishonest; 10] = [
    (
        "a hook",
        "git init -q new; printf \"$SCRIPT\" > new/.git/hooks/pre-commit; chmod +x new/.git/hooks/pre-commit",
        |ground| {
            git(
                &ground.folder().join("new"),
                &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
            );
        },
    ),
    (
        "an example made a hook",
        "git init -q new; cd new/.git/hooks; printf \"$SCRIPT\" > x.sample; chmod +x x.sample; mv x.sample pre-commit",
        |ground| {
            git(
                &ground.folder().join("new"),
                &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
            );
        },
    ),
    ("a setting", "git init -q new; git -C new config core.fsmonitor \"$RUN\"", |ground| ground.status("new")),
    (
        "a setting by hand",
        "git init -q new; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$RUN\" >> new/.git/config",
        |ground| {
            ground.status("new");
        },
    ),
    (
        "an included file",
        "git init -q new; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$RUN\" > inc; git -C new config include.path ../../inc",
        |ground| {
            ground.status("new");
        },
    ),
    (
        "a template",
        "mkdir t; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$RUN\" > t/config; git init -q --template=$PWD/t new",
        |ground| {
            ground.status("new");
        },
    ),
    ("a pointer to a hostile one", "printf 'gitdir: ../evil\\n' > there/.git", |ground| ground.status("there")),
    (
        "a work tree of a hostile one",
        "git --git-dir=evil -c core.fsmonitor= worktree add -q --no-checkout new; git --git-dir=evil -c core.fsmonitor= worktree list",
        |ground| {
            ground.status("new");
        },
    ),
    ("a hostile one in the place of another folder", "mv app a0; mv fx/app app", |ground| ground.status("app")),
    (
        "a folder of a hostile one beside",
        "mkdir new; cp -r evil/* new/; mkdir new/.git; mv new/* new/.git/ 2>/dev/null",
        |ground| {
            ground.status("new");
        },
    ),
];

#[test]
fn no_new_repository_runs_anything() {
    also_as_ordinary_user("lead::no_new_repository_runs_anything");
    if no_git() {
        return;
    }
    for (name, line, person) in DISHONEST {
        for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
            let ground = Ground::new();
            ground.repository();
            ground.put("there/a.txt", "a");
            ground.put("app/a.txt", "a");
            ground.git(&["init", "-q", "--bare", "evil"]);
            ground.git(&["init", "-q", "fx/app"]);
            let head = fs::read_to_string(ground.folder().join(".git/HEAD")).unwrap();
            ground.git(&["push", "-q", "./evil", head.trim().trim_start_matches("ref: ")]);
            ground.put("evil/config", &ground.settings(""));
            ground.put("fx/app/.git/config", &ground.settings(""));
            let mark = ground.mark().display().to_string();
            let set = format!("export SCRIPT='#!/bin/sh\\nid > {mark}\\n' RUN='id > {mark}; false'");
            let ran = run_tool(&walls, &ground.folder(), &format!("{set}; {line}; sleep 0.2"));
            // What the command itself ran in its own walls is not the question.
            fs::remove_file(ground.mark()).ok();
            person(&ground);
            let is_run = ground.mark().exists();
            assert_eq!(is_run, walls.tier == Tier::Unconfined, "{:?}: {name}: {ran:?}", walls.tier);
        }
    }
}

/// What a repository in `app` names by a path that leads out of it, and what the person does there.
const RELATIVE: [(&str, &str, &str); 3] = [
    ("core.hooksPath", "../shared", "d/shared/pre-commit"),
    ("include.path", "../../shared/x", "d/shared/x"),
    ("core.fsmonitor", "../shared/x", "d/shared/x"),
];

#[test]
fn a_repository_that_is_moved_runs_nothing_that_lies_at_its_new_place() {
    also_as_ordinary_user("lead::a_repository_that_is_moved_runs_nothing_that_lies_at_its_new_place");
    if no_git() {
        return;
    }
    for (setting, value, planted) in RELATIVE {
        for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
            for is_there_before in [false, true] {
                let ground = Ground::new();
                ground.put("app/a.txt", "a");
                ground.git(&["init", "-q", "app"]);
                ground.git(&["-C", "app", "config", "user.email", "ann@example.org"]);
                ground.git(&["-C", "app", "config", "user.name", "Ann"]);
                ground.git(&["-C", "app", "config", setting, value]);
                let script = format!("#!/bin/sh\nid > {}\n", ground.mark().display());
                let text = if setting == "include.path" { ground.settings("") } else { script };
                ground.put("evil", &text);
                if is_there_before {
                    ground.put(planted, &text);
                    fs::set_permissions(ground.folder().join(planted), fs::Permissions::from_mode(0o755)).unwrap();
                }
                let line = format!(
                    "mkdir -p d/shared; cp evil {planted}; chmod +x {planted}; mv app d/app; ln -s d/app app; sleep 0.2"
                );
                let ran = run_tool(&walls, &ground.folder(), &line);
                let app = ground.folder().join("app");
                git(&app, &["status"]);
                git(&app, &["commit", "-q", "--allow-empty", "-m", "x"]);
                let is_run = ground.mark().exists();
                let context = format!("{:?}: {setting}, before: {is_there_before}: {ran:?}", walls.tier);
                assert_eq!(is_run, walls.tier == Tier::Unconfined, "{context}");
            }
        }
    }
}

#[test]
fn a_folder_of_git_under_another_name_goes_back_whole() {
    also_as_ordinary_user("lead::a_folder_of_git_under_another_name_goes_back_whole");
    if no_git() {
        return;
    }
    for walls in tiers() {
        for line in ["mv .git .g2", "mv .git .g2; mkdir .git", "mkdir x; mv .git x/y"] {
            let ground = Ground::new();
            ground.repository();
            ground.put(".git/hooks/pre-commit", "mine");
            let config = fs::read_to_string(ground.folder().join(".git/config")).unwrap();
            let ran = run_tool(&walls, &ground.folder(), &format!("{line}; sleep 0.2"));
            let text = |path: &str| fs::read_to_string(ground.folder().join(path)).unwrap_or_default();
            let context = format!("{:?}: {line}: {ran:?}", walls.tier);
            assert_eq!((text(".git/config"), text(".git/hooks/pre-commit")), (config, "mine".into()), "{context}");
            assert!(ground.folder().join(".git/HEAD").exists(), "{context}");
        }
        // A folder may be given another name with all that is in it.
        let ground = Ground::new();
        ground.git(&["init", "-q", "app"]);
        run_tool(&walls, &ground.folder(), "mkdir d; mv app d/other; sleep 0.2").unwrap();
        assert!(ground.folder().join("d/other/.git/config").exists());
    }
}

#[test]
fn what_editors_and_agents_obey_does_not_come_with_a_folder_that_takes_the_place_of_another() {
    also_as_ordinary_user(
        "lead::what_editors_and_agents_obey_does_not_come_with_a_folder_that_takes_the_place_of_another",
    );
    for walls in tiers() {
        let ground = Ground::new();
        ground.put("web/a.txt", "mine");
        ground.put("web/sub/a.txt", "mine");
        for path in ["p/.mcp.json", "p/.vscode/tasks.json", "p/sub/.mcp.json", "other/.mcp.json"] {
            ground.put(path, "{\"fixture\": true}");
        }
        let line = "mv web w0; mv p web; cp -r w0/. web/; mv other else; sleep 0.2";
        let ran = run_tool(&walls, &ground.folder(), line);
        let is_there = |path: &str| ground.folder().join(path).exists();
        for path in ["web/.mcp.json", "web/.vscode/tasks.json", "web/sub/.mcp.json"] {
            assert!(!is_there(path), "{:?}: {path}: {ran:?}", walls.tier);
        }
        // The control: where no folder was before, nobody looks for anything.
        let ground = Ground::new();
        ground.put("other/.mcp.json", "{}");
        run_tool(&walls, &ground.folder(), "mv other else; sleep 0.2").unwrap();
        assert!(ground.folder().join("else/.mcp.json").exists());
    }
}

#[test]
fn what_made_a_folder_a_repository_goes_and_what_was_there_stays() {
    also_as_ordinary_user("lead::what_made_a_folder_a_repository_goes_and_what_was_there_stays");
    for walls in tiers() {
        for (line, gone) in [
            ("echo 'ref: refs/heads/m' > z/HEAD", "z/HEAD"),
            ("echo hello > z/HEAD", "z/HEAD"),
            ("echo more >> z/config; echo 'ref: refs/heads/m' > z/HEAD", "z/HEAD"),
            ("mkdir y/refs", "y/refs"),
            ("mkdir t; echo x > t/x; mv t y/refs", "y/refs"),
        ] {
            let ground = Ground::new();
            for (path, text) in [
                ("z/config", "its own\n"),
                ("z/hooks/x", "its own\n"),
                ("z/objects/x", ""),
                ("z/refs/x", ""),
                ("y/HEAD", "its own"),
                ("y/objects/x", ""),
                ("y/config", "its own\n"),
            ] {
                ground.put(path, text);
            }
            let ran = run_tool(&walls, &ground.folder(), &format!("{line}; sleep 0.3"));
            let text = |path: &str| fs::read_to_string(ground.folder().join(path)).unwrap_or_default();
            assert!(text("z/config").starts_with("its own\n"), "{line}: {ran:?}");
            assert_eq!(
                (text("z/hooks/x"), text("y/config"), text("y/HEAD")),
                ("its own\n".into(), "its own\n".into(), "its own".into()),
                "{line}: {ran:?}"
            );
            let is_gone = !ground.folder().join(gone).exists();
            assert!(is_gone, "{:?}: {line}: {gone}: {ran:?}", walls.tier);
        }
    }
}

#[test]
fn packages_bring_settings_of_editors_along_and_nothing_else_does() {
    also_as_ordinary_user("lead::packages_bring_settings_of_editors_along_and_nothing_else_does");
    for walls in tiers() {
        let ground = Ground::new();
        ground.put("app/a.txt", "a");
        ground.put("pkg/vscode/tasks.json", "{}");
        let line = "mkdir -p node_modules/a/.vscode; echo '{}' > node_modules/a/.vscode/tasks.json; \
                    echo '{}' > node_modules/a/.mcp.json; sleep 0.2";
        let ran = run_tool(&walls, &ground.folder(), line).unwrap();
        assert_eq!(ran.get("reverted"), None, "{ran}");
        assert!(ground.folder().join("node_modules/a/.vscode/tasks.json").exists());
        // Where somebody opens a folder they are what they are.
        for line in [
            "mv node_modules/a/.vscode .",
            "cp -r node_modules/a/.vscode app/",
            "mv app a0; cp -r node_modules/a app",
            "mv app a0; mv node_modules/a app",
        ] {
            let _ran = run_tool(&walls, &ground.folder(), &format!("{line}; sleep 0.2"));
            for path in [".vscode/tasks.json", "app/.vscode/tasks.json", "app/.mcp.json"] {
                assert!(!ground.folder().join(path).exists(), "{:?}: {line}: {path}", walls.tier);
            }
        }
    }
}

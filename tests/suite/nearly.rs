//! Folders that are nearly repositories: git takes them for one by what appears elsewhere, or by a part that is put in order.
//! A checkout can bring each of them along. Git itself is the judge: without the guard it runs what the folder says.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files")]

use std::fs;

use nod::ir::Tier;
use nod::port::Answer;
use nod::tool::CommandWalls;
use serde_json::{Value, json};

use crate::confinement::{also_as_ordinary_user, run_tool, tiers};
use crate::lead::{Ground, no_git};
use crate::support::desk::Desk;

/// A checkout, an ordinary command, and the same as calls of file tools: the last one is refused.
struct Attack {
    name: &'static str,
    lay_out: fn(&Ground),
    command: &'static str,
    calls: fn() -> Vec<(&'static str, Value)>,
    /// Where the person asks git then.
    asked: &'static str,
}

const HEAD: &str = "ref: refs/heads/main\n";

fn folder(ground: &Ground, path: &str) {
    fs::create_dir_all(ground.folder().join(path)).unwrap();
}

/// The configuration for a work tree in this folder.
fn configuration(ground: &Ground, top: &str) -> String {
    ground.settings(&format!("worktree = {}\n", ground.folder().join(top).display()))
}

/// A repository of its own, without `.git`, whose work tree is said to be elsewhere.
fn bare(ground: &Ground, git: &str, top: &str) {
    ground.put(&format!("{git}/HEAD"), HEAD);
    ground.put(&format!("{git}/config"), &configuration(ground, top));
    folder(ground, &format!("{git}/objects"));
    folder(ground, &format!("{git}/refs"));
}

/// The configuration of a common folder, and of the work tree that shares it.
fn linked(ground: &Ground, git: &str, common: &str) {
    ground.put(&format!("{common}/config"), &ground.settings("[extensions]\nworktreeConfig = true\n"));
    let top = ground.folder().join(git);
    ground.put(&format!("{git}/config.worktree"), &format!("[core]\nworktree = {}\n", top.display()));
}

fn without(ground: &Ground, part: &str) {
    bare(ground, "src", "src");
    fs::remove_dir(ground.folder().join("src").join(part)).unwrap();
}

fn no_calls() -> Vec<(&'static str, Value)> {
    Vec::new()
}

const ATTACKS: &[Attack] = &[
    Attack {
        name: "objects at the end of a link",
        lay_out: |ground| {
            without(ground, "objects");
            ground.link("../obj", "src/objects");
        },
        command: "mkdir obj",
        calls: || vec![("create_directory", json!({"path": "obj"}))],
        asked: "src",
    },
    Attack {
        name: "objects at the end of a link, with something in it",
        lay_out: |ground| {
            without(ground, "objects");
            ground.link("../obj", "src/objects");
        },
        command: "mkdir -p obj/docs; echo hello > obj/docs/readme.txt",
        calls: || vec![("write_file", json!({"path": "obj/readme.txt", "content": "hello"}))],
        asked: "src",
    },
    Attack {
        name: "objects by way of a name that is no folder, and back",
        lay_out: |ground| {
            without(ground, "objects");
            ground.link("../x/../obj", "src/objects");
            folder(ground, "obj");
        },
        command: "mkdir x",
        calls: || vec![("create_directory", json!({"path": "x"}))],
        asked: "src",
    },
    Attack {
        name: "a common folder by way of a name that is no folder, and back",
        lay_out: |ground| {
            ground.put("src/HEAD", HEAD);
            ground.put("src/commondir", "../x/../real\n");
            linked(ground, "src", "real");
            folder(ground, "real/objects");
            folder(ground, "real/refs");
        },
        command: "mkdir x",
        calls: || vec![("write_file", json!({"path": "x/notes.txt", "content": "hello"}))],
        asked: "src",
    },
    Attack {
        name: "a file .git that leads by way of a name that is no folder, and back",
        lay_out: |ground| {
            ground.put("src/.git", "gitdir: ../x/../gd\n");
            bare(ground, "gd", "src");
        },
        command: "mkdir x",
        calls: || vec![("create_directory", json!({"path": "x"}))],
        asked: "src",
    },
    Attack {
        name: "references at the end of links",
        lay_out: |ground| {
            without(ground, "refs");
            ground.link("../one/refs", "src/refs");
            ground.link("two", "one");
            folder(ground, "two");
        },
        command: "mkdir two/refs",
        calls: || vec![("create_directory", json!({"path": "two/refs/heads"}))],
        asked: "src",
    },
    Attack {
        name: "objects in a folder that gets its name",
        lay_out: |ground| {
            without(ground, "objects");
            ground.link("../n/obj", "src/objects");
            ground.put("h/obj/readme.txt", "hello");
        },
        command: "mv h n",
        calls: no_calls,
        asked: "src",
    },
    Attack {
        name: "a head that is written over",
        lay_out: |ground| {
            bare(ground, "src", "src");
            ground.put("src/HEAD", "garbage\n");
        },
        command: "echo 'ref: refs/heads/main' > src/HEAD",
        calls: || vec![("write_file", json!({"path": "src/HEAD", "content": HEAD}))],
        asked: "src",
    },
    Attack {
        name: "a head that is edited",
        lay_out: |ground| {
            bare(ground, "src", "src");
            ground.put("src/HEAD", "garbage\n");
        },
        command: "sed -i 's,garbage,ref: refs/heads/main,' src/HEAD",
        calls: || {
            let edits = json!([{"old_text": "garbage", "new_text": "ref: refs/heads/main"}]);
            vec![("edit_file", json!({"path": "src/HEAD", "edits": edits}))]
        },
        asked: "src",
    },
    Attack {
        name: "a head that was a folder",
        lay_out: |ground| {
            bare(ground, "src", "src");
            fs::remove_file(ground.folder().join("src/HEAD")).unwrap();
            folder(ground, "src/HEAD");
        },
        command: "rmdir src/HEAD; echo 'ref: refs/heads/main' > src/HEAD",
        calls: no_calls,
        asked: "src",
    },
    Attack {
        name: "references that were a file",
        lay_out: |ground| {
            without(ground, "refs");
            ground.put("src/refs", "hello");
        },
        command: "rm src/refs; mkdir src/refs",
        calls: || vec![("delete_file", json!({"path": "src/refs"})), ("create_directory", json!({"path": "src/refs"}))],
        asked: "src",
    },
    Attack {
        name: "objects that are a file and may be executed",
        lay_out: |ground| {
            without(ground, "objects");
            ground.put("src/objects", "hello");
        },
        command: "chmod +x src/objects",
        calls: no_calls,
        asked: "src",
    },
    Attack {
        name: "a common folder that gets what it lacks",
        lay_out: |ground| {
            ground.put("src/HEAD", HEAD);
            ground.put("src/commondir", "../real\n");
            linked(ground, "src", "real");
            folder(ground, "real/objects");
        },
        command: "mkdir real/refs",
        calls: || vec![("create_directory", json!({"path": "real/refs"}))],
        asked: "src",
    },
    Attack {
        name: "a common folder that gets its name",
        lay_out: |ground| {
            ground.put("src/HEAD", HEAD);
            ground.put("src/commondir", "../n/gd\n");
            bare(ground, "h/gd", "src");
            linked(ground, "src", "h/gd");
        },
        command: "mv h n",
        calls: no_calls,
        asked: "src",
    },
    Attack {
        name: "a common folder that does not count any more",
        lay_out: |ground| {
            bare(ground, "src", "src");
            ground.put("src/commondir", "../nowhere\n");
        },
        command: "rm src/commondir",
        calls: || vec![("delete_file", json!({"path": "src/commondir"}))],
        asked: "src",
    },
    Attack {
        name: "a file .git that hides a repository",
        lay_out: |ground| {
            bare(ground, "src", "src");
            ground.put("src/.git", "gitdir: nowhere\n");
        },
        command: "rm src/.git",
        calls: || vec![("delete_file", json!({"path": "src/.git"}))],
        asked: "src",
    },
    Attack {
        name: "a file .git that leads to a folder that gets its name from above",
        lay_out: |ground| {
            ground.put("src/.git", "gitdir: ../n/gd\n");
            bare(ground, "h/gd", "src");
        },
        command: "mv h n",
        calls: no_calls,
        asked: "src",
    },
    Attack {
        name: "a file .git that leads to a folder that gets its name",
        lay_out: |ground| {
            ground.put("src/.git", "gitdir: ../gd\n");
            bare(ground, "hostile", "src");
        },
        command: "mv hostile gd",
        calls: no_calls,
        asked: "src",
    },
    Attack {
        name: "a file .git that leads to what lacks something",
        lay_out: |ground| {
            ground.put("src/.git", "gitdir: ../gd\n");
            bare(ground, "gd", "src");
            fs::remove_dir(ground.folder().join("gd/objects")).unwrap();
            ground.link("../ob", "gd/objects");
        },
        command: "mkdir ob",
        calls: || vec![("write_file", json!({"path": "ob/x.txt", "content": "hello"}))],
        asked: "src",
    },
    Attack {
        name: "a configuration that leads into a folder that gets its name",
        lay_out: |ground| {
            bare(ground, "src", "src");
            fs::remove_file(ground.folder().join("src/config")).unwrap();
            ground.link("../n/gd/config", "src/config");
            bare(ground, "h/gd", "src");
        },
        command: "mv h n",
        calls: no_calls,
        asked: "src",
    },
];

#[test]
fn no_command_completes_a_repository() {
    also_as_ordinary_user("nearly::no_command_completes_a_repository");
    if no_git() {
        return;
    }
    for attack in ATTACKS {
        for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
            for end in ["", "; sleep 0.3"] {
                let ground = Ground::new();
                (attack.lay_out)(&ground);
                ground.status(attack.asked);
                assert!(!ground.mark().exists(), "it is no repository before: {}", attack.name);
                let ran = run_tool(&walls, &ground.folder(), &format!("{}{end}", attack.command));
                ground.status(attack.asked);
                let is_run = ground.mark().exists();
                let is_unconfined = walls.tier == Tier::Unconfined;
                assert_eq!(is_run, is_unconfined, "{:?}: {}{end}: {ran:?}", walls.tier, attack.name);
                // In tier A some of it cannot even be tried.
                let is_refused = |result: &Value| result["stderr"].as_str().is_some_and(|text| !text.is_empty());
                let is_told = |result: &Value| result.get("reverted").is_some() || is_refused(result);
                let is_told = ran.as_ref().map_or(true, is_told);
                assert!(is_unconfined || is_told, "{:?}: {}{end}: {ran:?}", walls.tier, attack.name);
            }
        }
    }
}

#[test]
fn no_file_tool_completes_a_repository() {
    also_as_ordinary_user("nearly::no_file_tool_completes_a_repository");
    if no_git() {
        return;
    }
    let mut desk = Desk::new(Vec::new());
    for attack in ATTACKS {
        let mut calls = (attack.calls)();
        let Some((last, last_args)) = calls.pop() else { continue };
        let ground = Ground::new();
        (attack.lay_out)(&ground);
        let mut call = |tool: &str, mut args: Value| {
            args["path"] = json!(ground.folder().join(args["path"].as_str().unwrap()));
            desk.tool_among(&[&ground.folder()], tool, &args.to_string(), &Answer::AllowOnce)
        };
        for (tool, args) in calls {
            let ran = call(tool, args);
            assert!(ran.success, "{}: {ran:?}", attack.name);
        }
        let ran = call(last, last_args);
        assert_eq!(ran.code(), Some("PROTECTED_PATH_DENIED"), "{}: {ran:?}", attack.name);
        let beside = call("write_file", json!({"path": "notes/new.txt", "content": "x"}));
        assert!(beside.success, "{}: {beside:?}", attack.name);
        ground.status(attack.asked);
        assert!(!ground.mark().exists(), "{}", attack.name);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn beside_what_is_obeyed_by_where_a_process_stands_no_command_runs_and_nothing_is_made() {
    if no_git() {
        return;
    }
    let lay_out = |ground: &Ground| {
        without(ground, "objects");
        ground.link("/proc/self/cwd/../n/obj", "src/objects");
    };
    let ground = Ground::new();
    lay_out(&ground);
    run_tool(&CommandWalls::default(), &ground.folder(), "mkdir -p n/obj").unwrap();
    ground.status("src");
    assert!(ground.mark().exists(), "the control: whoever stands in src finds a repository");
    for walls in tiers() {
        let ground = Ground::new();
        lay_out(&ground);
        let ran = run_tool(&walls, &ground.folder(), "mkdir -p n/obj").unwrap_err();
        assert_eq!(ran.failure.code, nod::ir::Code::ProtectedPathDenied, "{:?}", walls.tier);
        assert!(!ground.folder().join("n").exists());
    }
    let ground = Ground::new();
    lay_out(&ground);
    let args = json!({"path": ground.folder().join("n/obj")}).to_string();
    let mut desk = Desk::new(Vec::new());
    let ran = desk.tool_among(&[&ground.folder()], "create_directory", &args, &Answer::AllowOnce);
    assert_eq!(ran.code(), Some("PROTECTED_PATH_DENIED"), "{ran:?}");
}

#[test]
fn a_part_of_a_checkout_completes_nothing_that_lies_above_it() {
    also_as_ordinary_user("nearly::a_part_of_a_checkout_completes_nothing_that_lies_above_it");
    if no_git() {
        return;
    }
    let lay_out = |ground: &Ground| {
        ground.repository();
        without(ground, "objects");
        ground.link("../pk/app/obj", "src/objects");
        folder(ground, "pk/app");
        ground.folder().join("pk/app")
    };
    let line = "mkdir obj; echo hello > obj/readme.txt; echo more > notes.txt";
    for walls in std::iter::once(CommandWalls::default()).chain(tiers()) {
        let ground = Ground::new();
        let ran = run_tool(&walls, &lay_out(&ground), line);
        ground.status("src");
        assert_eq!(ground.mark().exists(), walls.tier == Tier::Unconfined, "{:?}: {ran:?}", walls.tier);
        assert!(ground.folder().join("src/HEAD").exists(), "outside the allowed folder nothing is touched");
    }
    let ground = Ground::new();
    let allowed = lay_out(&ground);
    let mut desk = Desk::new(Vec::new());
    let mut call = |tool: &str, args: Value| desk.tool_among(&[&allowed], tool, &args.to_string(), &Answer::AllowOnce);
    let ran = call("create_directory", json!({"path": allowed.join("obj")}));
    assert_eq!(ran.code(), Some("PROTECTED_PATH_DENIED"), "{ran:?}");
    let ran = call("write_file", json!({"path": allowed.join("other/notes.txt"), "content": "x"}));
    assert!(ran.success, "{ran:?}");
    ground.status("src");
    assert!(!ground.mark().exists());
}

#[test]
fn what_is_not_there_of_a_submodule_hinders_no_work() {
    also_as_ordinary_user("nearly::what_is_not_there_of_a_submodule_hinders_no_work");
    if no_git() {
        return;
    }
    for walls in tiers() {
        let ground = Ground::new();
        ground.repository();
        ground.put("lib/.git", "gitdir: ../.git/modules/lib\n");
        let line = "mkdir build; echo x > lib/a; mv build out; git add a.txt; git commit -q --allow-empty -m next";
        let result = run_tool(&walls, &ground.folder(), line).unwrap();
        assert_eq!(
            (result["exitCode"].as_i64(), result.get("reverted")),
            (Some(0), None),
            "{:?}: {result}",
            walls.tier
        );
    }
    let ground = Ground::new();
    ground.repository();
    ground.put("lib/.git", "gitdir: ../.git/modules/lib\n");
    let mut desk = Desk::new(Vec::new());
    for path in ["lib/src/a.rs", "modules/lib/HEAD", "src/b.rs"] {
        let args = json!({"path": ground.folder().join(path), "content": "x"}).to_string();
        let ran = desk.tool_among(&[&ground.folder()], "write_file", &args, &Answer::AllowOnce);
        assert!(ran.success, "{path}: {ran:?}");
    }
}

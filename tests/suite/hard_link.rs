//! A command writes through a further name (hard link) into a file that lies outside its folders: no wall stops that, so it
//! is said before the yes, no rule covers it, and afterwards it is told what was changed.
#![expect(clippy::disallowed_methods, reason = "these tests lay out files and read them again")]

use std::fs;
use std::path::PathBuf;

use nod::ir::{Preview, Tier};
use nod::policy::AskReason;
use nod::port::{Answer, TurnOptions};
use nod::tool::{CommandWalls, RunError};
use nod::workspace::{HardLinks, Root};
use serde_json::{Value, json};

use crate::confinement::{also_as_ordinary_user, is_root, run_tool, tiers};
use crate::support::desk::{Desk, Setup};

/// An allowed folder `inside` with a file that has a name `outside` too.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let ground = Self(tempfile::Builder::new().prefix("nod-test-").tempdir().unwrap());
        fs::create_dir(ground.path("inside")).unwrap();
        fs::write(ground.path("outside"), "theirs").unwrap();
        fs::hard_link(ground.path("outside"), ground.path("inside/shared")).unwrap();
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn outside(&self) -> String {
        fs::read_to_string(self.path("outside")).unwrap()
    }

    /// Runs a command whose question said what lies outside.
    fn run(&self, walls: &CommandWalls, command: &str) -> Result<Value, RunError> {
        let linked = HardLinks::find(&[Root::open(&self.path("inside")).unwrap()]).outside();
        run_tool(&CommandWalls { linked, ..walls.clone() }, &self.path("inside"), command)
    }
}

fn options() -> TurnOptions {
    TurnOptions { enabled_tools: vec!["run_command".into()], ..TurnOptions::default() }
}

#[test]
fn what_a_command_changes_outside_through_a_further_name_is_told() {
    for walls in tiers() {
        let told = |command: &str| {
            let ground = Ground::new();
            let result = ground.run(&walls, command).unwrap();
            (ground.outside(), result["changedOutside"]["count"].clone(), result["unclearOutside"].clone())
        };
        // The walls are no help: the attack comes through, and that is what is told.
        for command in ["echo evil > shared", "mv shared other; echo evil > other; rm other"] {
            assert_eq!(told(command), ("evil\n".into(), json!(1), Value::Null), "{:?}: {command}", walls.tier);
        }
        let set_back = "touch -r shared before; printf EVIL66 > shared; touch -r before shared; cat shared";
        assert_eq!(told(set_back), ("EVIL66".into(), json!(1), Value::Null), "{:?}", walls.tier);
        // What is replaced, as programs that know of such files do, changes nothing there.
        let replaced = told("echo mine > new; mv new shared; cat shared");
        assert_eq!(replaced, ("theirs".into(), Value::Null, json!(1)), "{:?}", walls.tier);
        assert_eq!(told("cat shared; echo mine > new"), ("theirs".into(), Value::Null, Value::Null));
    }
}

/// Only without walls of its own around such folders can the command open them.
#[test]
fn a_folder_that_the_command_opens_itself_is_told_of() {
    use std::os::unix::fs::PermissionsExt as _;

    also_as_ordinary_user("hard_link::a_folder_that_the_command_opens_itself_is_told_of");
    // Nothing is closed to root.
    if is_root() {
        return;
    }
    for walls in tiers() {
        let shown = CommandWalls { unseen: 1, ..walls.clone() };
        for (mode, command, changes) in [
            (0o000, "true", false),
            (0o000, "chmod 700 shut; echo evil > shut/shared; chmod 000 shut", true),
            (0o400, "chmod 700 shut; echo evil > shut/shared; chmod 400 shut", true),
            (0o300, "echo evil > shut/shared; chmod 700 shut", true),
            (0o300, "echo evil > shut/shared", true),
            (0o000, "mv shut other; chmod 700 other; echo evil > other/shared", true),
        ] {
            let ground = Ground::new();
            let shut = ground.path("inside/shut");
            fs::create_dir(&shut).unwrap();
            fs::rename(ground.path("inside/shared"), shut.join("shared")).unwrap();
            fs::set_permissions(&shut, fs::Permissions::from_mode(mode)).unwrap();
            let is_uncounted = HardLinks::find(&[Root::open(&ground.path("inside")).unwrap()]).outside().is_cut;
            assert_eq!(is_uncounted, mode & 0o100 != 0, "{mode:o}");
            let result = ground.run(&shown, command).unwrap_or_else(|refused| refused.details);
            let case = format!("{:?}: {mode:o} {command}: {result}", walls.tier);
            let is_changed = ground.outside() != "theirs";
            // The control: where nothing lies over such a folder the attack gets through.
            assert!(is_changed == changes || walls.tier == Tier::A, "{case}");
            // Where a name can be used without opening the folder, the question has said that not all could be counted.
            assert!(!is_changed || is_uncounted || result["openedFolders"] == 1, "{case}");
            assert!(changes || result["openedFolders"].is_null(), "{case}");
            for open in [&shut, &ground.path("inside/other")] {
                fs::set_permissions(open, fs::Permissions::from_mode(0o700)).ok();
            }
        }
    }
}

#[test]
fn the_question_says_so_in_red_and_no_rule_covers_it() {
    if tiers().is_empty() {
        return;
    }
    let mut desk = Desk::with(Setup::new(Vec::new()));
    desk.set("safety.remember_commands", true);
    let args = r#"{"command": "echo more >> notes.txt"}"#;
    desk.write("notes.txt", "mine\n");
    desk.begin_tool("run_command", args, options());
    let before = desk.asked();
    let is_told = |reasons: &[AskReason]| reasons.iter().any(|one| matches!(one, AskReason::LinkedOutside { .. }));
    assert!(!is_told(&before.reasons) && !before.rule_proposals.is_empty(), "{:?}", before.reasons);
    // A name that comes between the question and the start: nothing runs, and it is asked anew with it.
    let outside = desk.home_path().join("notes-too.txt");
    fs::hard_link(desk.path("notes.txt"), &outside).unwrap();
    let scope = before.rule_proposals.first().unwrap().clone();
    desk.answer(&before, Answer::AllowInSession { scope });
    let refused = desk.tool_end();
    assert_eq!(refused.code(), Some("TARGET_CHANGED"), "{refused:?}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine\n");

    desk.begin_tool("run_command", args, options());
    let after = desk.asked();
    let example = Some(desk.path("notes.txt").canonicalize().unwrap().display().to_string());
    let expected = AskReason::LinkedOutside { count: 1, example, is_cut: false };
    assert!(after.reasons.contains(&expected) && after.rule_proposals.is_empty(), "{:?}", after.reasons);
    assert_ne!(before.plan_hash, after.plan_hash);
    let Preview::Command(shown) = &after.preview else { panic!("not a command") };
    assert_eq!(shown.linked.count, 1);
    desk.answer(&after, Answer::AllowOnce);
    let ran = desk.tool_end();
    assert_eq!((ran.success, &ran.result["changedOutside"]["count"]), (true, &json!(1)), "{ran:?}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine\nmore\n", "the control: it does change there");
}

#[test]
fn what_git_shares_with_another_repository_can_be_put_together_anew() {
    if crate::lead::no_git() {
        return;
    }
    let git = |folder: &PathBuf, args: &[&str]| {
        let done = std::process::Command::new("git").current_dir(folder).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    for walls in tiers() {
        let ground = Ground::new();
        let (theirs, inside) = (ground.path("theirs"), ground.path("inside"));
        fs::create_dir(&theirs).unwrap();
        git(&theirs, &["init", "--quiet"]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        git(&theirs, &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "a"]].concat());
        git(&inside, &["clone", "--quiet", "--local", "../theirs", "mine"]);
        let shared = HardLinks::find(&[Root::open(&inside).unwrap()]).outside();
        assert!(shared.count > 1, "{shared:?}");
        let result = ground.run(&walls, "cd mine && git gc --quiet --prune=now && git log --oneline").unwrap();
        assert_eq!((&result["exitCode"], &result["changedOutside"]), (&json!(0), &Value::Null), "{result}");
        git(&theirs, &["fsck", "--strict"]);
    }
}

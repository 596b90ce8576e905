//! Taking back and doing again, through the real gate on real trees: what was there comes back whole, and nothing that
//! somebody wrote meanwhile is ever lost.
#![expect(clippy::disallowed_methods, reason = "other programs change files behind the gate's back")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nod::ir::{
    Preview, UndoAction, UndoChoice, UndoDirection, UndoEntry, UndoId, UndoOutcome, UndoPlan, UndoResult, UndoScope,
    UndoState,
};
use nod::port::{Answer, Command, Event};
use nod::provider::scripted::Step;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::support::desk::{Desk, Setup};
use crate::support::own_process::{also_as_ordinary_user, is_ordinary_run};

fn desk() -> Desk {
    Desk::with(Setup::new(Vec::new()).kept())
}

fn call(desk: &mut Desk, name: &str, args: &Value) -> UndoEntry {
    let result = desk.tool(name, args, &Answer::AllowOnce);
    assert!(result.success, "{name} {args}: {result:?}");
    newest(desk)
}

fn write(desk: &mut Desk, path: &str, content: &str) -> UndoEntry {
    call(desk, "write_file", &json!({"path": path, "content": content}))
}

fn delete(desk: &mut Desk, path: &str) -> UndoEntry {
    call(desk, "delete_file", &json!({"path": path, "recursive": true}))
}

/// The entry that was reported last.
fn newest(desk: &Desk) -> UndoEntry {
    let mut reported = desk.seen.iter().rev().filter_map(|event| match event {
        // What was let go of meanwhile is reported too.
        Event::UndoChanged { entries, .. } => entries.iter().rfind(|entry| entry.state != UndoState::Stale).cloned(),
        _ => None,
    });
    reported.next().expect("a change was reported")
}

fn entry_scope(entry: &UndoEntry) -> UndoScope {
    UndoScope::Entry { id: entry.id.clone() }
}

fn plan(desk: &mut Desk, scope: &UndoScope, direction: UndoDirection) -> UndoPlan {
    desk.send(Command::PlanUndo { scope: scope.clone(), direction });
    match desk.until(|event| matches!(event, Event::UndoPlanned(_) | Event::Fault { .. })) {
        Event::UndoPlanned(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn order(
    desk: &mut Desk,
    scope: &UndoScope,
    direction: UndoDirection,
    choices: Vec<(UndoId, UndoChoice)>,
    plan_hash: String,
) -> Vec<UndoResult> {
    match ordered(desk, scope, direction, choices, plan_hash) {
        Event::UndoApplied { results, .. } => results,
        other => panic!("{other:?}"),
    }
}

/// What comes of an order: results, or another plan where something changed since the one that was shown.
fn ordered(
    desk: &mut Desk,
    scope: &UndoScope,
    direction: UndoDirection,
    choices: Vec<(UndoId, UndoChoice)>,
    plan_hash: String,
) -> Event {
    desk.send(Command::ApplyUndo { scope: scope.clone(), direction, choices, plan_hash });
    desk.until(|event| matches!(event, Event::UndoApplied { .. } | Event::UndoPlanned(_) | Event::Fault { .. }))
}

/// Plans and carries out, with the same choice for every conflict.
fn go_with(desk: &mut Desk, scope: &UndoScope, direction: UndoDirection, choice: UndoChoice) -> Vec<UndoResult> {
    let plan = plan(desk, scope, direction);
    let choices = plan.steps.iter().map(|step| (step.entry.clone(), choice)).collect();
    order(desk, scope, direction, choices, plan.hash)
}

fn undo(desk: &mut Desk, entry: &UndoEntry) -> UndoOutcome {
    go_with(desk, &entry_scope(entry), UndoDirection::Undo, UndoChoice::Keep)[0].outcome
}

fn redo(desk: &mut Desk, entry: &UndoEntry) -> UndoOutcome {
    go_with(desk, &entry_scope(entry), UndoDirection::Redo, UndoChoice::Keep)[0].outcome
}

fn outcomes(results: &[UndoResult]) -> Vec<UndoOutcome> {
    results.iter().map(|result| result.outcome).collect()
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn whatever_brings_back_or_takes_away_what_is_executed_says_so_before() {
    let mut desk = desk();
    let warns = |desk: &mut Desk, scope: &UndoScope, direction| plan(desk, scope, direction).changes_what_is_executed();
    let (undo_it, redo_it) = (UndoDirection::Undo, UndoDirection::Redo);

    // A repository that no tool may make: its head comes back last.
    write(&mut desk, "z/HEAD", "ref: refs/heads/m\n");
    let head = delete(&mut desk, "z/HEAD");
    assert!(!warns(&mut desk, &entry_scope(&head), undo_it), "there is nothing else yet");
    for (path, text) in [("z/objects/x", ""), ("z/refs/x", ""), ("z/config", "[core]\nfsmonitor = \"id; false\"\n")] {
        write(&mut desk, path, text);
    }
    let shown = plan(&mut desk, &entry_scope(&head), undo_it);
    assert!(shown.changes_what_is_executed());

    // All of it went with its folder, or step by step in one session.
    write(&mut desk, "t/HEAD", "ref: refs/heads/m\n");
    write(&mut desk, "t/objects/x", "");
    let made = write(&mut desk, "notes.txt", "one");
    let tree = delete(&mut desk, "t");
    assert!(!warns(&mut desk, &entry_scope(&tree), undo_it), "a part of a repository is none");
    desk.write("u/objects/x", "");
    desk.write("u/refs/x", "");
    desk.write("u/HEAD", "ref: refs/heads/m\n");
    desk.write("u/config", "");
    let whole = delete(&mut desk, "u");
    assert!(warns(&mut desk, &entry_scope(&whole), undo_it));

    // What git runs by a setting, and by its name.
    desk.write(".git/config", "[core]\nhooksPath = tools/hooks\n");
    desk.write("tools/hooks/pre-commit", "#!/bin/sh\n");
    let hooks = delete(&mut desk, "tools");
    assert!(warns(&mut desk, &entry_scope(&hooks), undo_it));
    desk.write(".vscode/tasks.json", "{}");
    let tasks = delete(&mut desk, ".vscode/tasks.json");
    assert!(warns(&mut desk, &entry_scope(&tasks), undo_it));
    assert_eq!(undo(&mut desk, &tasks), UndoOutcome::Done, "it was the person's, and they were told");
    assert!(warns(&mut desk, &entry_scope(&tasks), redo_it), "what goes is executed too");

    assert!(!warns(&mut desk, &entry_scope(&made), undo_it), "everyday changes say nothing");
    let session = UndoScope::Session { session: made.session.clone() };
    assert!(warns(&mut desk, &session, undo_it));

    // What was shown no longer holds where that has become something that is executed.
    let ordinary = write(&mut desk, "k/HEAD", "ref: refs/heads/m\n");
    let gone = delete(&mut desk, "k/HEAD");
    let before = plan(&mut desk, &entry_scope(&gone), undo_it);
    desk.write("k/objects/x", "");
    desk.write("k/refs/x", "");
    let after = ordered(&mut desk, &entry_scope(&gone), undo_it, Vec::new(), before.hash);
    assert!(matches!(after, Event::UndoPlanned(plan) if plan.is_changed && plan.changes_what_is_executed()));
    drop(ordinary);
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn an_overwritten_file_comes_back_with_its_bytes_and_mode_and_goes_forth_again() {
    let mut desk = desk();
    desk.write("a.txt", "old\n");
    #[cfg(unix)]
    set_mode(&desk.path("a.txt"), 0o640);
    let entry = write(&mut desk, "a.txt", "new\n");
    assert_eq!(entry.state, UndoState::Done);
    let shown = plan(&mut desk, &entry_scope(&entry), UndoDirection::Undo);
    assert_eq!(shown.steps[0].action, UndoAction::Restore);
    assert!(matches!(shown.steps[0].preview, Preview::Diff { added: 1, removed: 1, .. }));
    assert_eq!(desk.read("a.txt"), "new\n", "looking changes nothing");
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    assert_eq!(desk.read("a.txt"), "old\n");
    #[cfg(unix)]
    assert_eq!(mode(&desk.path("a.txt")), 0o640);
    assert_eq!(redo(&mut desk, &entry), UndoOutcome::Done);
    assert_eq!(desk.read("a.txt"), "new\n");
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    assert_eq!(desk.read("a.txt"), "old\n");
    #[cfg(unix)]
    assert_eq!(mode(&desk.path("a.txt")), 0o640);
    assert_eq!(names(desk.folder.path()), ["a.txt"]);
    also_as_ordinary_user("undo::an_overwritten_file_comes_back_with_its_bytes_and_mode_and_goes_forth_again");
}

#[test]
fn a_new_file_goes_with_the_folders_that_were_made_for_it_and_comes_again_with_them() {
    let mut desk = desk();
    let entry = write(&mut desk, "a/b/new.txt", "new");
    assert_eq!((entry.made_folders, undo(&mut desk, &entry)), (2, UndoOutcome::Done));
    assert!(names(desk.folder.path()).is_empty());
    assert_eq!(redo(&mut desk, &entry), UndoOutcome::Done);
    assert_eq!(desk.read("a/b/new.txt"), "new");
    // A folder that somebody put something into stays.
    desk.write("a/theirs.txt", "theirs");
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    assert_eq!(names(&desk.path("a")), ["theirs.txt"]);
    also_as_ordinary_user("undo::a_new_file_goes_with_the_folders_that_were_made_for_it_and_comes_again_with_them");
}

#[test]
fn a_made_folder_goes_only_while_it_is_empty() {
    let mut desk = desk();
    let entry = call(&mut desk, "create_directory", &json!({"path": "x/y"}));
    desk.write("x/y/theirs.txt", "theirs");
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::NotEmpty);
    assert_eq!(desk.read("x/y/theirs.txt"), "theirs");
    fs::remove_file(desk.path("x/y/theirs.txt")).unwrap();
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    assert!(names(desk.folder.path()).is_empty());
    assert_eq!(redo(&mut desk, &entry), UndoOutcome::Done);
    assert!(desk.path("x/y").is_dir());
    also_as_ordinary_user("undo::a_made_folder_goes_only_while_it_is_empty");
}

#[cfg(unix)]
#[test]
fn a_deleted_tree_comes_back_from_the_trash_and_without_the_trash_from_the_journal() {
    let mut desk = desk();
    desk.write("tree/a.txt", "a");
    desk.write("tree/sub/run.sh", "#!/bin/sh\n");
    set_mode(&desk.path("tree/sub/run.sh"), 0o750);
    set_mode(&desk.path("tree/sub"), 0o710);
    std::os::unix::fs::symlink("a.txt", desk.path("tree/link")).unwrap();
    let entry = delete(&mut desk, "tree");
    assert!(!desk.path("tree").exists());
    let trash = desk.home.path().join(".local/share/Trash");
    let is_home_trash = trash.join("files/tree").exists();
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    assert!(!trash.join("files/tree").exists(), "the thing itself came back");
    let check = |desk: &Desk| {
        assert_eq!(desk.read("tree/a.txt"), "a");
        assert_eq!(mode(&desk.path("tree/sub/run.sh")), 0o750);
        assert_eq!(mode(&desk.path("tree/sub")), 0o710);
        assert_eq!(fs::read_link(desk.path("tree/link")).unwrap(), Path::new("a.txt"));
        assert_eq!(names(desk.folder.path()), ["tree"]);
    };
    check(&desk);
    assert_eq!(redo(&mut desk, &entry), UndoOutcome::Done);
    assert!(!desk.path("tree").exists());
    if is_home_trash {
        assert!(trash.join("files/tree").exists());
        fs::remove_dir_all(&trash).unwrap();
    } else {
        empty_trash_of_disk(&desk);
    }
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    check(&desk);
    also_as_ordinary_user("undo::a_deleted_tree_comes_back_from_the_trash_and_without_the_trash_from_the_journal");
}

/// Where the temporary folder lies on a disk of its own, its trash is at the top of that disk.
#[cfg(unix)]
fn empty_trash_of_disk(desk: &Desk) {
    let user = rustix::process::getuid().as_raw();
    for above in desk.folder.path().ancestors() {
        let files = above.join(format!(".Trash-{user}/files/tree"));
        if files.exists() {
            fs::remove_dir_all(files).unwrap();
        }
    }
}

#[test]
fn made_changed_and_deleted_in_one_turn_goes_back_whole() {
    let step = |name: &str, args: Value| Step::call(name, args);
    let mut desk = Desk::with(Setup::new(vec![
        vec![step("write_file", json!({"path": "new.txt", "content": "one\n"}))],
        vec![step("edit_file", json!({"path": "new.txt", "edits": [{"old_text": "one", "new_text": "two"}]}))],
        vec![step("delete_file", json!({"path": "new.txt"}))],
        vec![step("write_file", json!({"path": "kept.txt", "content": "changed\n"}))],
        vec![Step::text("done")],
    ]));
    desk.write("kept.txt", "kept\n");
    desk.say("go");
    desk.turn_end_allowing();
    let last = desk
        .seen
        .iter()
        .rev()
        .find_map(|event| match event {
            Event::MessageChanged(record) => Some(record.id.clone()),
            _ => None,
        })
        .unwrap();
    assert!(!desk.path("new.txt").exists());
    let scope = UndoScope::Turn { session: desk.session.clone(), message: last };
    let results = go_with(&mut desk, &scope, UndoDirection::Undo, UndoChoice::Keep);
    assert_eq!(outcomes(&results), [UndoOutcome::Done; 4]);
    assert_eq!((desk.read("kept.txt").as_str(), names(desk.folder.path()).len()), ("kept\n", 1));
    // The session as a whole goes forth again, oldest first.
    let scope = UndoScope::Session { session: desk.session.clone() };
    let results = go_with(&mut desk, &scope, UndoDirection::Redo, UndoChoice::Keep);
    assert_eq!(outcomes(&results), [UndoOutcome::Done; 4]);
    assert_eq!((desk.read("kept.txt").as_str(), names(desk.folder.path()).len()), ("changed\n", 1));
    also_as_ordinary_user("undo::made_changed_and_deleted_in_one_turn_goes_back_whole");
}

#[test]
fn what_somebody_changed_since_stays_unless_the_person_chooses_and_then_it_is_kept() {
    let mut desk = desk();
    desk.write("report.md", "old\n");
    let entry = write(&mut desk, "report.md", "new\n");
    desk.write("report.md", "theirs\n");
    let scope = entry_scope(&entry);
    let shown = plan(&mut desk, &scope, UndoDirection::Undo);
    assert_eq!(shown.steps[0].action, UndoAction::Conflict { can_save_beside: true });
    assert!(matches!(shown.steps[0].preview, Preview::Diff { added: 1, removed: 1, .. }), "theirs to old");
    assert!(matches!(shown.steps[0].changed_since, Preview::Diff { added: 1, removed: 1, .. }), "new to theirs");

    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Kept);
    assert_eq!(desk.read("report.md"), "theirs\n");

    let beside = go_with(&mut desk, &scope, UndoDirection::Undo, UndoChoice::SaveBeside);
    assert_eq!(outcomes(&beside), [UndoOutcome::SavedBeside]);
    assert_eq!((desk.read("report.md").as_str(), desk.read("report.old.md").as_str()), ("theirs\n", "old\n"));

    let back = go_with(&mut desk, &scope, UndoDirection::Undo, UndoChoice::PutBack);
    assert_eq!(outcomes(&back), [UndoOutcome::Done]);
    assert_eq!(desk.read("report.md"), "old\n");
    // What it replaced comes back.
    assert_eq!(redo(&mut desk, &entry), UndoOutcome::Done);
    assert_eq!(desk.read("report.md"), "theirs\n");
    also_as_ordinary_user("undo::what_somebody_changed_since_stays_unless_the_person_chooses_and_then_it_is_kept");
}

#[test]
fn what_changes_between_the_preview_and_the_yes_is_shown_anew() {
    let mut desk = desk();
    desk.write("a", "old");
    let entry = write(&mut desk, "a", "new");
    let scope = entry_scope(&entry);
    let shown = plan(&mut desk, &scope, UndoDirection::Undo);
    desk.write("a", "theirs");
    desk.send(Command::ApplyUndo {
        scope,
        direction: UndoDirection::Undo,
        choices: vec![(entry.id, UndoChoice::PutBack)],
        plan_hash: shown.hash,
    });
    let Event::UndoPlanned(again) = desk.until(|event| matches!(event, Event::UndoPlanned(_))) else { unreachable!() };
    assert!(again.is_changed);
    assert_eq!(again.steps[0].action, UndoAction::Conflict { can_save_beside: true });
    assert_eq!(desk.read("a"), "theirs");
    also_as_ordinary_user("undo::what_changes_between_the_preview_and_the_yes_is_shown_anew");
}

/// What a careless undo does: it opens the path by its text and writes the old version.
fn careless_undo(desk: &Desk, path: &str, old: &str) {
    fs::write(desk.path(path), old).unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_that_took_the_place_of_the_file_or_of_its_folder_leads_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("f.txt");
    fs::write(&secret, "new").unwrap();
    let mut desk = desk();
    desk.write("f.txt", "old");
    desk.write("d/f.txt", "old");
    let file = write(&mut desk, "f.txt", "new");
    let below = write(&mut desk, "d/f.txt", "new");
    fs::remove_file(desk.path("f.txt")).unwrap();
    std::os::unix::fs::symlink(&secret, desk.path("f.txt")).unwrap();
    fs::rename(desk.path("d"), desk.path("moved")).unwrap();
    std::os::unix::fs::symlink(outside.path(), desk.path("d")).unwrap();
    for choice in [UndoChoice::Keep, UndoChoice::PutBack] {
        let results = go_with(&mut desk, &entry_scope(&below), UndoDirection::Undo, choice);
        assert_eq!(outcomes(&results), [UndoOutcome::Failed], "{results:?}");
    }
    assert_eq!(undo(&mut desk, &file), UndoOutcome::Kept);
    assert_eq!(fs::read_to_string(&secret).unwrap(), "new");
    // The link itself gives way when the person says so; where it leads nothing is written.
    let results = go_with(&mut desk, &entry_scope(&file), UndoDirection::Undo, UndoChoice::PutBack);
    assert_eq!(outcomes(&results), [UndoOutcome::Done]);
    assert!(fs::symlink_metadata(desk.path("f.txt")).unwrap().is_file());
    assert_eq!((desk.read("f.txt").as_str(), fs::read_to_string(&secret).unwrap().as_str()), ("old", "new"));
    // Without the guard the file outside is written.
    careless_undo(&desk, "d/f.txt", "old");
    assert_eq!(fs::read_to_string(&secret).unwrap(), "old");
    also_as_ordinary_user("undo::a_link_that_took_the_place_of_the_file_or_of_its_folder_leads_nowhere");
}

#[cfg(unix)]
#[test]
fn another_folder_under_the_allowed_ones_name_is_not_touched() {
    let mut desk = desk();
    desk.write("a", "old");
    let entry = write(&mut desk, "a", "new");
    let aside = desk.folder.path().with_extension("aside");
    fs::rename(desk.folder.path(), &aside).unwrap();
    fs::create_dir(desk.folder.path()).unwrap();
    fs::write(desk.path("a"), "new").unwrap();
    let results = go_with(&mut desk, &entry_scope(&entry), UndoDirection::Undo, UndoChoice::PutBack);
    assert_eq!(outcomes(&results), [UndoOutcome::Failed]);
    assert_eq!(desk.read("a"), "new");
    careless_undo(&desk, "a", "old");
    assert_eq!(desk.read("a"), "old", "the control writes into the other folder");
    fs::remove_dir_all(desk.folder.path()).unwrap();
    fs::rename(&aside, desk.folder.path()).unwrap();
    also_as_ordinary_user("undo::another_folder_under_the_allowed_ones_name_is_not_touched");
}

#[test]
fn what_cannot_be_kept_is_said_before_and_nobody_is_passed_over() {
    let mut desk = desk();
    desk.set("safety.undo_file_mb", 1);
    desk.write("large", &"x".repeat(2 * 1_048_576));
    desk.write("small", "x");
    let asked_of = |desk: &mut Desk, name: &str, args: Value| {
        let before = desk.seen.len();
        desk.tool(name, &args, &Answer::AllowOnce);
        desk.seen.iter().skip(before).find_map(|event| match event {
            Event::ConfirmAsked(request) => Some(request.undoable),
            _ => None,
        })
    };
    assert_eq!(asked_of(&mut desk, "write_file", json!({"path": "small", "content": "y"})), Some(true));
    assert_eq!(asked_of(&mut desk, "write_file", json!({"path": "new", "content": "y"})), Some(true));
    assert_eq!(asked_of(&mut desk, "create_directory", json!({"path": "d"})), Some(true));
    assert_eq!(asked_of(&mut desk, "write_file", json!({"path": "large", "content": "y"})), Some(false));
    assert_eq!(desk.read("large"), "y", "the person was told and said yes");
    assert!(newest(&desk).place.path != "large", "and nothing claims to take it back");
    also_as_ordinary_user("undo::what_cannot_be_kept_is_said_before_and_nobody_is_passed_over");
}

#[test]
fn old_versions_go_after_their_time_and_the_newest_stay() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};
    const DAY_MS: i64 = 86_400_000;
    let now = Arc::new(AtomicI64::new(1_764_460_800_000));
    let clock = Arc::clone(&now);
    let mut setup = Setup::new(Vec::new()).kept();
    setup.clock = Arc::new(move || nod::ir::UnixMs(clock.load(Ordering::Relaxed)));
    let mut desk = Desk::with(setup);
    desk.write("a", "old");
    let first = write(&mut desk, "a", "one");
    now.fetch_add(31 * DAY_MS, Ordering::Relaxed);
    let second = write(&mut desk, "a", "two");
    let is_stale = |event: &Event| {
        matches!(event, Event::UndoChanged { entries, .. }
            if entries.iter().any(|entry| entry.id == first.id && entry.state == UndoState::Stale))
    };
    if !desk.seen.iter().any(is_stale) {
        desk.until(is_stale);
    }
    desk.send(Command::PlanUndo { scope: entry_scope(&first), direction: UndoDirection::Undo });
    desk.until(|event| matches!(event, Event::Fault { key: "fault-undo-missing", .. }));
    assert_eq!(undo(&mut desk, &second), UndoOutcome::Done);
    assert_eq!(desk.read("a"), "one");
    also_as_ordinary_user("undo::old_versions_go_after_their_time_and_the_newest_stay");
}

#[test]
fn what_the_model_writes_pushes_nothing_out_that_the_person_had_today() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};
    const HOUR_MS: i64 = 60 * 60 * 1000;
    let now = Arc::new(AtomicI64::new(1_764_460_800_000));
    let clock = Arc::clone(&now);
    let mut setup = Setup::new(Vec::new()).kept();
    setup.clock = Arc::new(move || nod::ir::UnixMs(clock.load(Ordering::Relaxed)));
    let mut desk = Desk::with(setup);
    desk.set("safety.undo_space_mb", 1);
    let theirs = "theirs ".repeat(100_000);
    desk.write("p.txt", &theirs);
    let entry = write(&mut desk, "p.txt", "gone");
    // The model fills the space with what it has written itself.
    let mut undoable = Vec::new();
    for (round, length) in [60_000, 60_000, 60_000, 900_000].into_iter().enumerate() {
        let before = desk.seen.len();
        for content in [format!("{round} ").repeat(length / 2), format!("{round}")] {
            let args = json!({"path": format!("n{round}"), "content": content});
            assert!(desk.tool("write_file", &args, &Answer::AllowOnce).success);
        }
        undoable.extend(desk.seen.iter().skip(before).filter_map(|event| match event {
            Event::ConfirmAsked(request) => Some(request.undoable),
            _ => None,
        }));
        // Each time the journal is looked through again.
        now.fetch_add(HOUR_MS, Ordering::Relaxed);
    }
    // For 900 KB more there is no room: that is said, and nothing is pushed out for it.
    assert_eq!(undoable, [true, true, true, true, true, true, true, false]);
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    assert_eq!(desk.read("p.txt"), theirs);

    // After a day there is room again, and what was Nod's own goes first.
    assert_eq!(redo(&mut desk, &entry), UndoOutcome::Done);
    desk.stop_engine();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = nod::store::Store::open(desk.data.path(), nod::engine::system_clock()).unwrap().store;
    let at = |hours: i64| nod::ir::UnixMs(now.load(Ordering::Relaxed) + hours * HOUR_MS);
    let expire = |recent, limit| {
        let expired = runtime.block_on(store.expire_undo(nod::ir::UnixMs(0), recent, limit)).unwrap();
        expired.into_iter().map(|entry| entry.place.path).collect::<Vec<_>>()
    };
    assert_eq!(expire(at(-24), 1), Vec::<String>::new(), "nothing of the last day goes, however little room there is");
    let gone = expire(at(1), 720_000);
    assert!(!gone.is_empty() && gone.iter().all(|path| path != "p.txt"), "{gone:?}");
    // The control: without any of this the person's own goes like everything else.
    assert!(expire(at(1), 1).contains(&"p.txt".to_owned()));
    drop(store);
}

#[test]
fn a_fork_takes_back_what_its_copied_calls_did_and_both_chats_know() {
    let write = Step::call("write_file", json!({"path": "a", "content": "new"}));
    let mut desk = Desk::with(Setup::new(vec![vec![write], vec![Step::text("ok")]]).kept());
    desk.write("a", "old");
    desk.say("write");
    let asked = desk.asked();
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end();
    let entry = newest(&desk);
    let open = |desk: &mut Desk, id: &nod::ir::SessionId| {
        let Event::SessionOpened { session, messages, .. } =
            desk.until(|event| matches!(event, Event::SessionOpened { session, .. } if session.id == *id || id.as_str().is_empty()))
        else {
            unreachable!()
        };
        let Event::UndoChanged { entries, .. } =
            desk.until(|event| matches!(event, Event::UndoChanged { session: of, .. } if *of == session.id))
        else {
            unreachable!()
        };
        (session.id, messages.into_iter().map(|record| record.id).collect::<Vec<_>>(), entries)
    };
    let first = desk.session.clone();
    desk.send(Command::OpenSession(first.clone()));
    let (_, messages, _) = open(&mut desk, &first);
    desk.send(Command::ForkSession { session: first.clone(), at: messages.last().unwrap().clone() });
    let (fork, messages, entries) = open(&mut desk, &nod::ir::SessionId::new(""));
    assert_ne!(fork, first);
    let known: Vec<_> = entries.iter().map(|known| (&known.id, known.state)).collect();
    assert_eq!(known, [(&entry.id, UndoState::Done)]);
    assert!(entries[0].message.as_ref().is_some_and(|message| messages.contains(message)), "by its own message");
    let last = messages.last().unwrap().clone();
    for scope in [
        UndoScope::Call { session: fork.clone(), call: entry.call.clone() },
        UndoScope::Turn { session: fork.clone(), message: last },
        UndoScope::Session { session: fork.clone() },
    ] {
        let results = go_with(&mut desk, &scope, UndoDirection::Undo, UndoChoice::Keep);
        assert_eq!((outcomes(&results), desk.read("a").as_str()), (vec![UndoOutcome::Done], "old"), "{scope:?}");
        let results = go_with(&mut desk, &scope, UndoDirection::Redo, UndoChoice::Keep);
        assert_eq!((outcomes(&results), desk.read("a").as_str()), (vec![UndoOutcome::Done], "new"), "{scope:?}");
    }
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    desk.send(Command::OpenSession(first.clone()));
    let (_, _, entries) = open(&mut desk, &first);
    let root = entries.iter().find(|known| known.id == entry.id).unwrap();
    assert_eq!(root.state, UndoState::Undone, "there is one change, and it was taken back");
}

#[test]
fn it_survives_a_restart() {
    let mut desk = desk();
    desk.write("a", "old");
    let entry = write(&mut desk, "a", "new");
    desk.restart();
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    desk.restart();
    assert_eq!(desk.read("a"), "old");
    assert_eq!(redo(&mut desk, &entry), UndoOutcome::Done);
    assert_eq!(desk.read("a"), "new");
    also_as_ordinary_user("undo::it_survives_a_restart");
}

/// xorshift64*: the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % sides
    }

    fn pick<'list, T>(&mut self, list: &'list [T]) -> &'list T {
        let index = usize::try_from(self.roll(list.len() as u64)).unwrap();
        &list[index]
    }
}

/// Whether a content is found again: on the disk, in the trash, or in the journal under its hash.
fn is_stored(desk: &Desk, stored: &[Vec<u8>], content: &[u8]) -> bool {
    let hash = hex::encode(sha2::Sha256::digest(content));
    stored.iter().any(|found| found == content)
        || fs::read(desk.data.path().join("undo").join(hash)).is_ok_and(|kept| kept == content)
}

/// Everything on the disk and in the trash.
fn everything_stored(desk: &Desk) -> Vec<Vec<u8>> {
    fn collect(path: &Path, found: &mut Vec<Vec<u8>>) {
        let Ok(stat) = fs::symlink_metadata(path) else { return };
        if stat.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                collect(&entry.unwrap().path(), found);
            }
        } else if stat.is_file() {
            found.push(fs::read(path).unwrap());
        }
    }
    let mut found = Vec::new();
    collect(desk.folder.path(), &mut found);
    collect(desk.home.path(), &mut found);
    found
}

/// 1,000 sequences of calls, undos and redos with changes by somebody else in between. Whatever the person wrote into a file
/// that a call or an undo of Nod then changed or took away is found again: on the disk, in the trash or in the journal.
#[test]
fn a_thousand_random_sequences_lose_no_byte_that_the_person_wrote() {
    // The same code runs for every user: the other one is shown that it holds for them too.
    let sequences: u64 = if is_ordinary_run() { 200 } else { 1_000 };
    const STEPS: u64 = 6;
    const PATHS: [&str; 3] = ["a", "d/a", "d/e/c"];
    let mut desk = Desk::with(Setup::new(Vec::new()).kept());
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut number = 0;
    let mut applied = 0;
    let mut conflicts = 0;
    for sequence in 0..sequences {
        // What the person wrote and did not take away themselves.
        let mut theirs: Vec<Vec<u8>> = Vec::new();
        let mut entries: Vec<UndoEntry> = Vec::new();
        let mut story = Vec::new();
        let first = *dice.pick(&PATHS);
        for step in 0..STEPS {
            number += 1;
            // The person writes something, a call changes it, anything may come, and in the end it is taken back.
            let roll = match step {
                0 => 4,
                1 => *dice.pick(&[0, 0, 3]),
                _ if step == STEPS - 1 => 8,
                _ => dice.roll(10),
            };
            // The person mostly works on what was just changed: that is where an undo could hurt.
            let last = entries.last().and_then(|entry| PATHS.into_iter().find(|path| *path == entry.place.path));
            let path = match last {
                _ if step < 2 => first,
                Some(last) if (4..7).contains(&roll) && dice.roll(4) > 0 => last,
                Some(_) | None => *dice.pick(&PATHS),
            };
            let at = desk.path(path);
            story.push((roll, path));
            match roll {
                0..3 => {
                    let content = format!("nod {number}\n");
                    let args = json!({"path": path, "content": content});
                    if desk.tool("write_file", &args, &Answer::AllowOnce).success {
                        entries.push(newest(&desk));
                    }
                }
                3 => {
                    let victim = if dice.roll(2) == 0 { "d" } else { path };
                    let args = json!({"path": victim, "recursive": true});
                    if desk.tool("delete_file", &args, &Answer::AllowOnce).success {
                        entries.push(newest(&desk));
                    }
                }
                4..6 => {
                    // What the person overwrites themselves is theirs to lose.
                    if let Ok(old) = fs::read(&at) {
                        theirs.retain(|content| *content != old);
                    }
                    let content = format!("person {number}\n").into_bytes();
                    if fs::create_dir_all(at.parent().unwrap()).is_ok() && fs::write(&at, &content).is_ok() {
                        theirs.push(content);
                    }
                }
                6 => {
                    if let Ok(old) = fs::read(&at)
                        && fs::remove_file(&at).is_ok()
                    {
                        theirs.retain(|content| *content != old);
                    }
                }
                _ => {
                    let is_redo = applied > 0 && step < STEPS - 1 && dice.roll(3) == 0;
                    let direction = if is_redo { UndoDirection::Redo } else { UndoDirection::Undo };
                    let choice = *dice.pick(&[UndoChoice::Keep, UndoChoice::PutBack, UndoChoice::SaveBeside]);
                    let scope = match entries.last() {
                        Some(entry) if dice.roll(2) == 0 => entry_scope(entry),
                        Some(_) if dice.roll(2) == 0 => entry_scope(dice.pick(&entries)),
                        _ => UndoScope::Session { session: desk.session.clone() },
                    };
                    desk.send(Command::PlanUndo { scope: scope.clone(), direction });
                    let planned = desk.until(|event| matches!(event, Event::UndoPlanned(_) | Event::Fault { .. }));
                    let Event::UndoPlanned(plan) = planned else { continue };
                    conflicts +=
                        plan.steps.iter().filter(|step| matches!(step.action, UndoAction::Conflict { .. })).count();
                    let choices = plan.steps.iter().map(|step| (step.entry.clone(), choice)).collect();
                    let results = order(&mut desk, &scope, direction, choices, plan.hash);
                    applied += results.iter().filter(|result| result.outcome == UndoOutcome::Done).count();
                }
            }
            let stored = everything_stored(&desk);
            for content in &theirs {
                assert!(
                    is_stored(&desk, &stored, content),
                    "sequence {sequence}: {:?} is lost after {story:?}",
                    String::from_utf8_lossy(content)
                );
            }
        }
        if sequence % 50 == 49 {
            // With each new chat all of them are listed anew: a thousand are another test's, here they would only take time.
            desk = Desk::with(Setup::new(Vec::new()).kept());
        } else {
            start_anew(&mut desk);
        }
    }
    let is_enough = applied as u64 > sequences / 2 && conflicts as u64 > sequences / 5;
    assert!(is_enough, "the sequences did something: {applied} applied, {conflicts} conflicts");
    also_as_ordinary_user("undo::a_thousand_random_sequences_lose_no_byte_that_the_person_wrote");
}

/// A person who saves at some moment of an undo: in place, or as most editors do by another file that takes the name.
fn save_at_some_moment(path: &Path, content: &str, delay: Duration, is_in_place: bool) {
    let begun = Instant::now();
    while begun.elapsed() < delay {
        std::hint::spin_loop();
    }
    if is_in_place {
        fs::write(path, content).unwrap();
    } else {
        let aside = path.with_extension("saving");
        fs::write(&aside, content).unwrap();
        fs::rename(&aside, path).unwrap();
    }
}

#[test]
fn who_saves_at_the_very_moment_of_an_undo_loses_nothing() {
    const ROUNDS: u64 = 40;
    let mut desk = Desk::with(Setup::new(Vec::new()).kept());
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    let mut ends = std::collections::BTreeMap::new();
    for round in 0..ROUNDS {
        desk.write("a", &format!("before {round}"));
        let entry = write(&mut desk, "a", &format!("nod {round}"));
        let scope = entry_scope(&entry);
        let plan = plan(&mut desk, &scope, UndoDirection::Undo);
        let choice = *dice.pick(&[UndoChoice::Keep, UndoChoice::PutBack, UndoChoice::SaveBeside]);
        let choices = plan.steps.iter().map(|step| (step.entry.clone(), choice)).collect();
        let (path, theirs) = (desk.path("a"), format!("the person's words of round {round}"));
        let (delay, is_in_place) = (Duration::from_micros(dice.roll(25_000)), dice.roll(2) == 0);
        std::thread::scope(|scope_of_threads| {
            scope_of_threads.spawn(|| save_at_some_moment(&path, &theirs, delay, is_in_place));
            let end = match ordered(&mut desk, &scope, UndoDirection::Undo, choices, plan.hash) {
                Event::UndoApplied { results, .. } => format!("{:?}", outcomes(&results)),
                Event::UndoPlanned(_) => "asked anew".to_owned(),
                other => panic!("{other:?}"),
            };
            *ends.entry(end).or_insert(0_u32) += 1;
        });
        let stored = everything_stored(&desk);
        assert!(is_stored(&desk, &stored, theirs.as_bytes()), "round {round}: {delay:?}, {choice:?}, {is_in_place}");
        start_anew(&mut desk);
    }
    eprintln!("{ends:?}");
    assert!(ends.len() > 1, "the moments are different ones: {ends:?}");
    // The control: an undo that looks and then writes.
    let mut lost = 0;
    for round in 0..ROUNDS {
        desk.write("a", "nod");
        let (path, theirs) = (desk.path("a"), format!("the person's words of round {round}"));
        std::thread::scope(|scope| {
            scope.spawn(|| save_at_some_moment(&path, &theirs, Duration::from_micros(dice.roll(500)), true));
            for _ in 0..100 {
                careless_undo(&desk, "a", "before");
            }
        });
        lost += u32::from(!is_stored(&desk, &everything_stored(&desk), theirs.as_bytes()));
        start_anew(&mut desk);
    }
    assert!(lost > 0, "the careless one loses something");
    also_as_ordinary_user("undo::who_saves_at_the_very_moment_of_an_undo_loses_nothing");
}

/// An empty folder, trash and session for the next sequence.
fn start_anew(desk: &mut Desk) {
    for path in [desk.folder.path().to_path_buf(), desk.home.path().to_path_buf()] {
        for entry in fs::read_dir(&path).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
        }
    }
    let path = desk.folder.path().to_path_buf();
    desk.send(Command::CreateSession);
    desk.session = desk.opened().id;
    desk.send(Command::AddFolder { session: desk.session.clone(), path });
    desk.seen.clear();
}

/// The code of an entry as whoever has the key could make it.
fn forged(key: &str, row: &rusqlite::Row<'_>) -> rusqlite::Result<String> {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let mut parts = vec!["nod undo 1".to_owned()];
    for column in 0..13 {
        let value: rusqlite::types::Value = row.get(column)?;
        let text = match value {
            rusqlite::types::Value::Null => None,
            rusqlite::types::Value::Integer(number) => Some(number.to_string()),
            rusqlite::types::Value::Text(text) => Some(text),
            other => panic!("{other:?}"),
        };
        if [3, 5, 12].contains(&column) {
            parts.push(if text.is_some() { "some" } else { "none" }.to_owned());
        }
        parts.push(text.unwrap_or_default());
    }
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&hex::decode(key.trim()).unwrap()).unwrap();
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    Ok(hex::encode(mac.finalize().into_bytes()))
}

#[test]
fn nothing_is_written_where_an_edited_database_says() {
    for has_key in [true, false] {
        let mut desk = desk();
        desk.write("a.txt", "old\n");
        desk.write("victim.txt", "new\n");
        let entry = write(&mut desk, "a.txt", "new\n");
        let database = rusqlite::Connection::open(desk.data.path().join("nod.db")).unwrap();
        database.execute_batch("UPDATE undo SET place = replace(place, 'a.txt', 'victim.txt')").unwrap();
        if has_key {
            let key = fs::read_to_string(desk.data.path().join("seal.key")).unwrap();
            let columns = "id, session, call, message, operation, reverts, place, before, after, made_folders, state,
                created_at, settled_at";
            let code = database.query_row(&format!("SELECT {columns} FROM undo"), [], |row| forged(&key, row)).unwrap();
            database.execute("UPDATE undo SET code = ?1", [code]).unwrap();
        }
        drop(database);
        if has_key {
            // The control: without the guard the attack succeeds.
            assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
            assert_eq!(desk.read("victim.txt"), "old\n");
            continue;
        }
        let session = UndoScope::Session { session: entry.session.clone() };
        let call = UndoScope::Call { session: entry.session.clone(), call: entry.call.clone() };
        for scope in [entry_scope(&entry), call, session] {
            for direction in [UndoDirection::Undo, UndoDirection::Redo] {
                desk.send(Command::PlanUndo { scope: scope.clone(), direction });
                let told = desk.until(|event| matches!(event, Event::UndoPlanned(_) | Event::Fault { .. }));
                assert!(matches!(told, Event::Fault { key: "fault-undo-altered", .. }), "{told:?}");
                let told = ordered(&mut desk, &scope, direction, Vec::new(), String::new());
                assert!(matches!(told, Event::Fault { key: "fault-undo-altered", .. }), "{told:?}");
            }
        }
        assert_eq!((desk.read("victim.txt"), desk.read("a.txt")), ("new\n".to_owned(), "new\n".to_owned()));
    }
}

#[test]
fn an_undo_that_was_edited_in_the_database_is_not_done_again() {
    let mut desk = desk();
    desk.write("a.txt", "old\n");
    let entry = write(&mut desk, "a.txt", "new\n");
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    assert_eq!(redo(&mut desk, &entry), UndoOutcome::Done, "the control");
    assert_eq!(undo(&mut desk, &entry), UndoOutcome::Done);
    let database = rusqlite::Connection::open(desk.data.path().join("nod.db")).unwrap();
    let edit = "UPDATE undo SET place = replace(place, 'a.txt', 'victim.txt') WHERE reverts IS NOT NULL";
    database.execute_batch(edit).unwrap();
    drop(database);
    desk.write("victim.txt", "old\n");
    desk.send(Command::PlanUndo { scope: entry_scope(&entry), direction: UndoDirection::Redo });
    let told = desk.until(|event| matches!(event, Event::UndoPlanned(_) | Event::Fault { .. }));
    assert!(matches!(told, Event::Fault { key: "fault-undo-altered", .. }), "{told:?}");
    assert_eq!(desk.read("victim.txt"), "old\n");
}

//! What is found, put back, watched for and told, on real folders.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "tests lay out their own files")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::*;

mod lead;
mod linked;
mod moved;
mod nearly;

struct Place {
    temp: TempDir,
    root: Root,
}

fn place() -> Place {
    let temp = tempfile::tempdir().unwrap();
    let files = [
        (".git/config", "[core]"),
        (".git/HEAD", "ref"),
        (".git/hooks/pre-commit", "#!/bin/sh"),
        (".git/objects/aa/config", "data"),
        ("lib/.git/config", "[lib]"),
        (".vscode/settings.json", "{}"),
        (".mcp.json", "{}"),
        (".env", "KEY=1"),
        ("sub/credentials/a", "x"),
        ("src/main.rs", "fn main() {}"),
    ];
    for (path, content) in files {
        write(temp.path(), path, content);
    }
    let root = Root::open(temp.path()).unwrap();
    Place { temp, root }
}

fn write(folder: &Path, path: &str, content: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

impl Place {
    fn path(&self, path: &str) -> PathBuf {
        self.temp.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// What is reverted of what `change` does.
    fn after(&self, change: impl FnOnce()) -> Vec<(String, Revert)> {
        let guard = Guard::take(std::slice::from_ref(&self.root), Watching::No);
        change();
        let report = guard.revert(Watched::default());
        assert_eq!(report.unseen, 0);
        report.reverted.into_iter().map(|reverted| (reverted.path, reverted.how)).collect()
    }
}

fn names(place: &Place, guarded: &[Guarded]) -> Vec<String> {
    let real = place.root.real_path();
    let mut names: Vec<String> =
        guarded.iter().map(|guarded| guarded.path.strip_prefix(real).unwrap().display().to_string()).collect();
    names.sort();
    names
}

#[test]
fn what_is_executed_later_is_found_in_repositories_below_too_and_what_git_stores_is_not() {
    let place = place();
    let guard = Guard::take(std::slice::from_ref(&place.root), Watching::No);
    assert_eq!(
        names(&place, &guard.protected(100)),
        [".git/config", ".git/hooks", ".mcp.json", ".vscode", "lib/.git/config"]
    );
    assert_eq!(names(&place, &guard.pinned(100)), [".git", "lib/.git"]);
    let mut sensitive: Vec<(PathBuf, bool)> = guard.sensitive().collect();
    sensitive.sort();
    let real = |path: &str| place.root.real_path().join(path);
    assert_eq!(sensitive, [(real(".env"), false), (real("sub/credentials"), true)]);
}

#[test]
fn what_is_moved_to_where_git_looks_is_new_there_and_what_goes_along_with_its_folder_is_not() {
    let place = place();
    for path in ["HEAD", "config", "objects/x", "refs/x"] {
        write(place.temp.path(), &format!("fixtures/evil/{path}"), "x");
        write(place.temp.path(), &format!("bare.git/{path}"), "x");
    }
    write(place.temp.path(), ".git/hooks/pre-push.sample", "#!/bin/sh");
    write(place.temp.path(), "fixtures/p/.mcp.json", "{}");
    write(place.temp.path(), "fixtures/r/.git/config", "x");
    let reverted = place.after(|| {
        fs::create_dir_all(place.path("app/r")).unwrap();
        for (old, new) in [
            ("fixtures/evil", "app/.git"),
            ("fixtures/p/.mcp.json", "app/.mcp.json"),
            ("fixtures/r/.git", "app/r/.git"),
            (".git/hooks/pre-push.sample", ".git/hooks/post-commit"),
            ("lib", "moved"),
            ("bare.git", "renamed.git"),
        ] {
            fs::rename(place.path(old), place.path(new)).unwrap();
        }
    });
    let expected = [
        // All of it goes back whole.
        (".git/hooks/pre-push.sample", Revert::Restored),
        ("fixtures/evil", Revert::Restored),
        ("fixtures/p/.mcp.json", Revert::Restored),
        ("fixtures/r/.git", Revert::Restored),
    ];
    assert_eq!(reverted, expected.map(|(path, how)| (path.to_owned(), how)));
}

#[test]
fn an_ordinary_command_has_nothing_reverted() {
    let place = place();
    let reverted = place.after(|| {
        write(place.temp.path(), "src/new.rs", "x");
        write(place.temp.path(), ".git/index", "x");
        write(place.temp.path(), ".git/objects/bb/hooks", "x");
        fs::remove_file(place.path("src/main.rs")).unwrap();
    });
    assert_eq!(reverted, []);
    assert_eq!(place.text("src/new.rs"), "x");
}

#[test]
fn what_appears_is_removed_and_what_changes_is_put_back_with_its_mode() {
    let place = place();
    fs::set_permissions(place.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o600)).unwrap();
    let reverted = place.after(|| {
        write(place.temp.path(), ".git/hooks/post-checkout", "evil");
        write(place.temp.path(), "new/.git/hooks/x", "evil");
        write(place.temp.path(), "new/.git/config", "evil");
        write(place.temp.path(), ".bashrc", "evil");
        write(place.temp.path(), ".git/config", "evil");
        fs::set_permissions(place.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(place.path(".mcp.json")).unwrap();
        fs::remove_dir_all(place.path(".vscode")).unwrap();
        symlink("/etc", place.path(".vscode")).unwrap();
    });
    let expected = [
        (".bashrc", Revert::Removed),
        (".git/config", Revert::Restored),
        (".git/hooks/post-checkout", Revert::Removed),
        (".git/hooks/pre-commit", Revert::Restored),
        (".mcp.json", Revert::Restored),
        (".vscode", Revert::Restored),
        (".vscode/settings.json", Revert::Restored),
        ("new/.git/config", Revert::Removed),
        ("new/.git/hooks/x", Revert::Removed),
    ];
    assert_eq!(reverted, expected.map(|(path, how)| (path.to_owned(), how)));
    assert_eq!((place.text(".git/config"), place.text(".mcp.json")), ("[core]".into(), "{}".into()));
    assert_eq!(place.text(".vscode/settings.json"), "{}");
    let mode = fs::metadata(place.path(".git/hooks/pre-commit")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!place.path(".bashrc").exists() && !place.path("new/.git/config").exists());
}

#[test]
fn a_folder_that_is_moved_takes_its_files_along() {
    let place = place();
    let reverted = place.after(|| fs::rename(place.path("lib"), place.path("library")).unwrap());
    assert_eq!(reverted, []);
    assert_eq!(place.text("library/.git/config"), "[lib]");
}

#[test]
fn a_repository_moved_away_and_replaced_is_put_back() {
    let place = place();
    let reverted = place.after(|| {
        fs::rename(place.path(".git"), place.path("old")).unwrap();
        write(place.temp.path(), ".git/config", "evil");
    });
    assert_eq!(reverted, [(".git".to_owned(), Revert::Restored)]);
    assert_eq!(place.text(".git/hooks/pre-commit"), "#!/bin/sh");
    assert_eq!(place.text(".git/config"), "[core]");
}

#[test]
fn a_file_with_other_names_is_replaced_and_not_written_into() {
    let place = place();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("theirs"), "theirs").unwrap();
    place.after(|| {
        fs::remove_file(place.path(".mcp.json")).unwrap();
        fs::hard_link(outside.path().join("theirs"), place.path(".mcp.json")).unwrap();
    });
    assert_eq!(place.text(".mcp.json"), "{}");
    assert_eq!(fs::read_to_string(outside.path().join("theirs")).unwrap(), "theirs");
}

fn guard_of(place: &Place) -> Guard {
    Guard::take(std::slice::from_ref(&place.root), Watching::Yes)
}

#[test]
fn neither_depth_nor_width_hides_anything() {
    let place = place();
    let deep = "d/".repeat(900);
    write_deep(&place, 900, &[(".env", "KEY=2"), (".git/config", "[deep]")]);
    for number in 0..1500 {
        fs::create_dir_all(place.path(&format!("wide/{number}"))).unwrap();
    }
    fs::create_dir(place.path("many")).unwrap();
    for number in 0..55_000 {
        fs::write(place.path(&format!("many/{number}")), "").unwrap();
    }
    let guard = Guard::take(std::slice::from_ref(&place.root), Watching::No);
    assert_eq!(guard.unseen(), 0);
    let real = place.root.real_path();
    let deep_secret = real.join(format!("{deep}.env"));
    assert!(guard.sensitive().any(|(path, _)| path == deep_secret));
    assert!(guard.protected(100).iter().any(|one| one.path == real.join(format!("{deep}.git/config"))));
}

/// Files below so many nested folders named `d`: too deep for a path in one piece.
fn write_deep(place: &Place, depth: usize, files: &[(&str, &str)]) {
    let mut folder = place.root.folder().clone();
    for _ in 0..depth {
        folder.create_folder("d".as_ref(), crate::workspace::folder::Privacy::Umask).unwrap();
        folder = folder.open_folder("d".as_ref()).unwrap();
    }
    let handle = folder.handle().unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&handle)));
    for (name, content) in files {
        write(&path, name, content);
    }
}

#[test]
fn folders_past_the_bound_are_counted() {
    let place = place();
    let roots = std::slice::from_ref(&place.root);
    assert_eq!(Guard::take_within(roots, Watching::No, 1000).unseen(), 0);
    assert!(Guard::take_within(roots, Watching::No, 3).unseen() > 0);
}

#[test]
fn a_repository_of_any_name_is_one() {
    let place = place();
    for path in ["plain/HEAD", "plain/objects/x", "plain/refs/x", "linked/HEAD", "linked/commondir"] {
        write(place.temp.path(), path, "x");
    }
    let reverted = place.after(|| {
        for path in
            ["plain/config", "plain/hooks/x", "linked/config", "fresh/HEAD", "fresh/commondir", "ordinary/config"]
        {
            write(place.temp.path(), path, "evil");
        }
    });
    let paths: Vec<&str> = reverted.iter().map(|(path, _)| path.as_str()).collect();
    let expected = ["fresh/commondir", "linked/config", "plain/config", "plain/hooks", "plain/hooks/x"];
    assert_eq!(paths, expected);
    assert!(place.path("ordinary/config").exists());
}

#[test]
fn a_submodule_may_have_any_name() {
    let place = place();
    write(place.temp.path(), ".git/modules/logs/config", "[logs]");
    let reverted = place.after(|| {
        write(place.temp.path(), ".git/modules/logs/config", "evil");
        write(place.temp.path(), ".git/modules/objects/hooks/x", "evil");
    });
    assert_eq!(place.text(".git/modules/logs/config"), "[logs]");
    assert_eq!(reverted.len(), 3, "{reverted:?}");
}

/// Watches while `change` is made and until `is_mended`; gives what the watch saw.
fn watched(guard: &mut Guard, change: impl FnOnce(), mut is_mended: impl FnMut(usize) -> bool) -> Watched {
    use std::os::fd::AsFd as _;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let stops = AtomicUsize::new(0);
    let (end, ended) = std::os::unix::net::UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            guard.watch(ended.as_fd(), &|| {
                stops.fetch_add(1, Ordering::SeqCst);
            })
        });
        change();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !is_mended(stops.load(Ordering::SeqCst)) {
            assert!(std::time::Instant::now() < deadline, "not mended in time");
            std::thread::yield_now();
        }
        drop(end);
        watch.join().unwrap()
    })
}

#[test]
#[cfg(target_os = "linux")]
fn what_git_would_obey_at_once_is_taken_away_while_the_command_still_runs() {
    for (path, other) in [
        (".git/commondir", None),
        (".git/config", Some("[core]")),
        (".git/hooks/post-index-change", None),
        ("src/.git", None),
        ("src/.git/config", None),
        ("new/folders/below/.git/hooks/x", None),
        (".cursor/mcp.json", None),
        (".vscode/tasks.json", None),
    ] {
        let place = place();
        let mut guard = guard_of(&place);
        let is_mended = |stops| {
            let now = fs::read_to_string(place.path(path)).ok();
            stops > 0 && now.as_deref() == other
        };
        let watched = watched(&mut guard, || write(place.temp.path(), path, "evil"), is_mended);
        let how = if other.is_some() { Revert::Restored } else { Revert::Removed };
        let (stopped_for, done) = watched.stopped_for.clone().unwrap();
        assert_eq!((stopped_for.as_str(), done, watched.unwatched), (path, how, 0));
        let report = guard.revert(watched);
        let taken = report.reverted.iter().find(|one| one.path == path).unwrap().taken.clone().unwrap();
        assert!(matches!(taken, Taken::File { content, .. } if content == b"evil"), "{path}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_repository_that_is_moved_into_place_is_seen_and_a_folder_that_is_moved_along_is_none() {
    let place = place();
    let outside = tempfile::tempdir_in(place.temp.path().parent().unwrap()).unwrap();
    write(outside.path(), "evil/config", "evil");
    let mut guard = guard_of(&place);
    let change = || {
        fs::rename(place.path("lib"), place.path("library")).unwrap();
        fs::rename(outside.path().join("evil"), place.path("src/.git")).unwrap();
    };
    let watched = watched(&mut guard, change, |stops| stops > 0 && !place.path("src/.git/config").exists());
    assert_eq!(watched.stopped_for, Some(("src/.git/config".into(), Revert::Removed)));
    assert_eq!(place.text("library/.git/config"), "[lib]");
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_command_could_not_change_is_left_as_somebody_else_made_it() {
    let place = place();
    let mut guard = guard_of(&place);
    let fixed = names(&place, &guard.fix(100));
    assert!(fixed.contains(&".git/config".to_owned()) && fixed.contains(&".git/commondir".to_owned()), "{fixed:?}");
    let change = || {
        write(place.temp.path(), ".git/config.lock", "[core]\n[remote]");
        fs::rename(place.path(".git/config.lock"), place.path(".git/config")).unwrap();
        write(place.temp.path(), ".git/hooks/pre-push", "theirs");
    };
    let watched = watched(&mut guard, change, |stops| stops > 1);
    let report = guard.revert(watched);
    let told: Vec<(String, Revert)> = report.reverted.into_iter().map(|one| (one.path, one.how)).collect();
    let outside = |path: &str| (path.to_owned(), Revert::Outside);
    assert_eq!(told, [outside(".git/config"), outside(".git/hooks/pre-push")]);
    assert_eq!(
        (place.text(".git/config"), place.text(".git/hooks/pre-push")),
        ("[core]\n[remote]".into(), "theirs".into())
    );
    assert!(!place.path(".git/commondir").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_of_the_same_name_is_not_the_one_that_was_kept_from_the_command() {
    let place = place();
    let mut guard = guard_of(&place);
    guard.fix(100);
    fs::rename(place.path("lib"), place.path("library")).unwrap();
    write(place.temp.path(), "lib/.git/config", "evil");
    let report = guard.revert(Watched::default());
    let told: Vec<_> = report.reverted.iter().map(|one| (one.path.as_str(), one.how)).collect();
    assert_eq!(told, [("lib/.git/config", Revert::Removed)]);
    assert_eq!(place.text("library/.git/config"), "[lib]");
}

#[test]
#[cfg(target_os = "linux")]
fn two_runs_share_what_stands_where_nothing_is_and_the_last_one_takes_it_away() {
    let place = place();
    let (mut one, mut other) = (guard_of(&place), guard_of(&place));
    one.fix(100);
    other.fix(100);
    assert_eq!(one.revert(Watched::default()).reverted, []);
    assert_eq!(place.text(".git/commondir"), ".\n");
    assert_eq!(other.revert(Watched::default()).reverted, []);
    assert!(!place.path(".git/commondir").exists());
    // What a crash left is no protected file of anybody, and goes with the next run.
    write(place.temp.path(), ".git/commondir", ".\n");
    let mut next = guard_of(&place);
    next.fix(100);
    assert_eq!(next.revert(Watched::default()).reverted, []);
    assert!(!place.path(".git/commondir").exists());
}

/// How many looks are still to be finished.
#[cfg(target_os = "linux")]
fn records_in(data: &Path) -> usize {
    let names = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("run-")).count()
}

/// How a run that Nod did not live to see lies behind.
#[cfg(target_os = "linux")]
struct Behind {
    /// When it began.
    began: std::time::Duration,
    /// When Nod showed last that it lives.
    sign: std::time::Duration,
    timeout: std::time::Duration,
    may_stop_nod: bool,
}

#[cfg(target_os = "linux")]
fn ago(seconds: u64) -> std::time::Duration {
    std::time::Duration::from_secs(seconds)
}

/// Its record.
#[cfg(target_os = "linux")]
fn crashed(place: &Place, data: &Path, behind: &Behind) {
    let mut guard = guard_of(place);
    guard.fix(100);
    let run = RecordedRun { mark: "call-1", timeout: behind.timeout, may_stop_nod: behind.may_stop_nod };
    drop(guard.record(data, &run).unwrap());
    let path = fs::read_dir(data).unwrap().next().unwrap().unwrap().path();
    let now = fs::metadata(&path).unwrap().modified().unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let began = (now - behind.began).duration_since(std::time::UNIX_EPOCH).unwrap();
    record["begun_ns"] = serde_json::json!(u64::try_from(began.as_nanos()).unwrap());
    fs::write(&path, record.to_string()).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(now - behind.sign).unwrap();
    // As after a kill: nobody takes anything away.
    for root in &mut guard.roots {
        root.placeholders.clear();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_look_that_nobody_lived_to_see_is_finished_and_what_came_later_is_the_persons() {
    let just = Behind { began: ago(0), sign: ago(0), timeout: ago(1), may_stop_nod: false };
    let long_ago = Behind { began: ago(3600), sign: ago(3599), ..just };
    let died_early = Behind { began: ago(60), sign: ago(50), timeout: ago(120), may_stop_nod: false };
    let may_have_been_held_up = Behind { may_stop_nod: true, ..died_early };
    for (behind, is_put_back, is_told) in
        [(just, true, false), (long_ago, false, false), (died_early, false, true), (may_have_been_held_up, true, false)]
    {
        let (data, place) = (tempfile::tempdir().unwrap(), place());
        crashed(&place, data.path(), &behind);
        assert_eq!(place.text(".git/commondir"), ".\n");
        write(place.temp.path(), ".bashrc", "new");
        write(place.temp.path(), "sub/.mcp.json", "new");
        fs::remove_file(place.path(".vscode/settings.json")).unwrap();
        let looks = finish_looks(data.path());
        assert_eq!((looks.len(), looks[0].mark.as_str()), (1, "call-1"));
        let told: Vec<(&str, Revert)> =
            looks[0].report.reverted.iter().map(|one| (one.path.as_str(), one.how)).collect();
        let expected: &[(&str, Revert)] = if is_put_back {
            // What was mounted read-only was somebody else's doing.
            &[
                (".bashrc", Revert::Removed),
                (".vscode/settings.json", Revert::Outside),
                ("sub/.mcp.json", Revert::Removed),
            ]
        } else {
            &[]
        };
        assert_eq!(told, expected, "{:?}", behind.began);
        let later: Vec<&str> = looks[0].later.iter().map(|(_, path)| path.as_str()).collect();
        let expected: &[&str] = if is_told { &[".bashrc", "sub/.mcp.json"] } else { &[] };
        assert_eq!(later, expected, "{:?}", behind.began);
        assert_eq!(place.path(".bashrc").exists(), !is_put_back);
        assert!(!place.path(".git/commondir").exists(), "what stood for nothing is gone");
        assert_eq!(records_in(data.path()), 0);
    }
}

/// Places where git had nothing, and which are to be as before.
fn stand_ins(place: &Path) -> Vec<String> {
    let names = ["commondir", "config", "hooks"];
    names.into_iter().filter(|name| place.join(name).exists()).map(str::to_owned).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn what_stands_where_nothing_is_goes_from_where_its_folder_was_moved_to_and_from_a_closed_one() {
    let place = place();
    for path in ["sub/deep/.git/HEAD", "sub/closed/.git/HEAD", "sub/swapped/.git/HEAD"] {
        write(place.temp.path(), path, "ref");
    }
    let outside = tempfile::tempdir_in(place.temp.path().parent().unwrap()).unwrap();
    let moved = outside.path().join("moved");
    let mut guard = guard_of(&place);
    guard.fix(100);
    assert_eq!(stand_ins(&place.path("sub/deep/.git")), ["commondir", "config", "hooks"]);
    fs::set_permissions(place.path("sub/closed/.git"), fs::Permissions::from_mode(0o555)).unwrap();
    fs::rename(place.path("sub"), &moved).unwrap();
    fs::rename(moved.join("swapped/.git/commondir"), moved.join("swapped/mine")).unwrap();
    write(&moved, "swapped/.git/commondir", "theirs");
    assert_eq!(guard.revert(Watched::default()).reverted, []);
    assert_eq!((stand_ins(&moved.join("deep/.git")), stand_ins(&moved.join("closed/.git"))), (vec![], vec![]));
    let mode = fs::metadata(moved.join("closed/.git")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o555);
    assert_eq!(fs::read_to_string(moved.join("swapped/.git/commondir")).unwrap(), "theirs");
}

#[test]
#[cfg(target_os = "linux")]
fn after_a_crash_a_folder_with_another_name_is_found_and_one_that_is_gone_is_told() {
    let just = Behind { began: ago(0), sign: ago(0), timeout: ago(1), may_stop_nod: false };
    let outer = tempfile::tempdir().unwrap();
    for (to, is_found) in [("beside", true), ("elsewhere/below", false)] {
        let data = tempfile::tempdir().unwrap();
        let folder = outer.path().join("ws");
        write(&folder, "sub/.git/HEAD", "ref");
        let temp = tempfile::tempdir().unwrap();
        let place = Place { root: Root::open(&folder).unwrap(), temp };
        crashed(&place, data.path(), &just);
        let real = place.root.real_path().to_path_buf();
        write(&folder, "sub/.git/hooks/pre-commit", "evil");
        let to = outer.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(folder.join("sub"), folder.join("moved")).unwrap();
        fs::rename(&folder, &to).unwrap();
        let looks = finish_looks(data.path());
        let git = to.join("moved/.git");
        if is_found {
            assert_eq!((looks[0].gone.as_slice(), stand_ins(&git)), (&[][..], vec![]));
            assert!(!git.join("hooks/pre-commit").exists());
        } else {
            assert_eq!(looks[0].gone, [real]);
        }
        assert_eq!(records_in(data.path()), 0);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_gone_and_stays_away_stops_the_command_and_is_brought_back_while_it_runs() {
    for (gone, path) in [
        (".git/hooks/pre-commit", ".git/hooks/pre-commit"),
        (".git/hooks", ".git/hooks/pre-commit"),
        (".git/config", ".git/config"),
        (".mcp.json", ".mcp.json"),
    ] {
        let place = place();
        fs::create_dir_all(place.path(".git/objects")).unwrap();
        fs::create_dir_all(place.path(".git/refs")).unwrap();
        let before = place.text(path);
        let mut guard = guard_of(&place);
        let remove = || {
            let gone = place.path(gone);
            if gone.is_dir() { fs::remove_dir_all(gone) } else { fs::remove_file(gone) }.unwrap();
        };
        let is_mended = |stops| stops > 0 && fs::read_to_string(place.path(path)).is_ok_and(|now| now == before);
        let watched = watched(&mut guard, remove, is_mended);
        assert_eq!(watched.stopped_for.clone().unwrap(), (gone.to_owned(), Revert::Restored));
        guard.revert(watched);
        assert_eq!(place.text(path), before);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_or_a_repository_that_goes_as_a_whole_and_a_file_that_comes_again_stop_nothing() {
    let place = place();
    for part in [".git/objects", ".git/refs", "lib/.git/objects", "lib/.git/refs"] {
        fs::create_dir_all(place.path(part)).unwrap();
    }
    write(place.temp.path(), "lib/.git/HEAD", "ref");
    let mut guard = guard_of(&place);
    // The last one is seen to be gone after all the others were looked for.
    let change = || {
        fs::remove_dir_all(place.path("lib")).unwrap();
        // It comes as a whole: one that is empty for a moment is another one.
        fs::copy(place.path(".mcp.json"), place.path("spare")).unwrap();
        fs::remove_file(place.path(".mcp.json")).unwrap();
        fs::rename(place.path("spare"), place.path(".mcp.json")).unwrap();
        fs::remove_file(place.path(".git/config")).unwrap();
    };
    let watched = watched(&mut guard, change, |stops| stops > 0 && place.path(".git/config").exists());
    let told: Vec<_> = guard.revert(watched).reverted.into_iter().map(|one| one.path).collect();
    assert_eq!(told, [".git/config"]);
    assert!(!place.path("lib").exists());
}

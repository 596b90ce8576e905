//! What becomes a repository by what appears elsewhere is none again, and what was there stays.

use super::*;
use crate::workspace::lead::is_taken;

const HEAD: &str = "ref: refs/heads/main\n";

/// A repository but for its objects, which a link says to be elsewhere.
fn nearly() -> Place {
    let place = place();
    write(place.temp.path(), "src/HEAD", HEAD);
    write(place.temp.path(), "src/config", "[core]");
    write(place.temp.path(), "src/refs/x", "");
    symlink("../n/obj", place.path("src/objects")).unwrap();
    write(place.temp.path(), "h/obj/mine.txt", "mine");
    place
}

fn is_repository(place: &Place, path: &str) -> bool {
    is_taken(&place.root.real_path().join(path))
}

#[test]
fn an_empty_folder_that_completes_one_goes() {
    let place = nearly();
    fs::create_dir(place.path("n")).unwrap();
    let reverted = place.after(|| {
        fs::create_dir(place.path("n/obj")).unwrap();
        assert!(is_repository(&place, "src"), "the control");
    });
    assert_eq!(reverted, [("n/obj".to_owned(), Revert::Removed)]);
    assert_eq!((is_repository(&place, "src"), place.text("src/HEAD").as_str()), (false, HEAD));
}

#[test]
fn what_completes_one_and_holds_something_gets_another_name_and_what_was_there_stays() {
    let place = nearly();
    let reverted = place.after(|| {
        fs::rename(place.path("h"), place.path("n")).unwrap();
        assert!(is_repository(&place, "src"), "the control");
    });
    assert_eq!(reverted, [("n-1".to_owned(), Revert::Restored)]);
    assert_eq!((is_repository(&place, "src"), place.text("src/HEAD").as_str()), (false, HEAD));
    assert_eq!(place.text("n-1/obj/mine.txt"), "mine");
}

#[test]
fn a_head_that_the_person_has_stays_where_a_command_adds_the_rest() {
    let place = place();
    write(place.temp.path(), "src/HEAD", "mine");
    write(place.temp.path(), "src/config", "[core]\nfsmonitor = id");
    let reverted = place.after(|| {
        write(place.temp.path(), "src/objects/x", "x");
        write(place.temp.path(), "src/refs/x", "x");
    });
    assert_eq!(reverted, [("src/refs-1".to_owned(), Revert::Restored)]);
    assert_eq!((place.text("src/HEAD"), place.text("src/refs-1/x")), ("mine".to_owned(), "x".to_owned()));
    assert!(place.path("src/objects/x").exists() && !place.path("src/refs").exists());
}

#[test]
fn a_head_that_was_put_in_order_is_as_it_was() {
    let place = nearly();
    fs::create_dir_all(place.path("n/obj")).unwrap();
    write(place.temp.path(), "src/HEAD", "garbage");
    let reverted = place.after(|| write(place.temp.path(), "src/HEAD", HEAD));
    assert_eq!(reverted, [("src/HEAD".to_owned(), Revert::Restored)]);
    assert_eq!(place.text("src/HEAD"), "garbage");
}

#[test]
fn a_repository_that_is_moved_to_where_something_led_to_nothing_goes_back() {
    for (path, text) in [("src/.git", "gitdir: ../n/gd\n"), ("src/commondir", "../n/gd\n")] {
        let place = place();
        write(place.temp.path(), "src/HEAD", HEAD);
        write(place.temp.path(), path, text);
        for part in ["HEAD", "config", "objects/x", "refs/x"] {
            write(place.temp.path(), &format!("h/gd/{part}"), HEAD);
        }
        let git = if path == "src/.git" { path } else { "src" };
        assert!(!is_repository(&place, git));
        let reverted = place.after(|| {
            fs::rename(place.path("h"), place.path("n")).unwrap();
            assert!(is_repository(&place, git), "the control");
        });
        assert_eq!(reverted, [("h".to_owned(), Revert::Restored)], "{path}");
        assert!(!is_repository(&place, git) && place.path("h/gd/config").exists());
        assert_eq!(place.text(path), text);
    }
}

#[test]
fn ordinary_work_beside_one_is_nobodys_concern() {
    let place = nearly();
    write(place.temp.path(), "lib2/.git", "gitdir: ../.git/modules/lib2\n");
    let reverted = place.after(|| {
        write(place.temp.path(), "n/other/x", "x");
        write(place.temp.path(), "src/refs/y", "y");
        write(place.temp.path(), "lib2/a", "a");
        fs::rename(place.path("h"), place.path("g")).unwrap();
    });
    assert_eq!(reverted, []);
}

#[test]
#[cfg(target_os = "linux")]
fn it_stops_the_command_while_it_runs() {
    let place = nearly();
    fs::create_dir(place.path("n")).unwrap();
    let mut guard = guard_of(&place);
    let is_none = || !is_repository(&place, "src") && !place.path("n/obj").exists();
    let watched = watched(&mut guard, || fs::create_dir(place.path("n/obj")).unwrap(), |stops| stops > 0 && is_none());
    assert!(watched.stopped_for.is_some());
    guard.revert(watched);
    assert_eq!((is_none(), place.text("src/HEAD").as_str()), (true, HEAD));
}

#[test]
#[cfg(target_os = "linux")]
fn after_a_crash_too_and_what_the_person_has_completed_since_stays() {
    for (later, is_unmade) in [(0, true), (3600, false)] {
        let data = tempfile::tempdir().unwrap();
        let place = nearly();
        crashed(
            &place,
            data.path(),
            &Behind { began: ago(later), sign: ago(later), timeout: ago(1), may_stop_nod: false },
        );
        fs::create_dir_all(place.path("n/obj")).unwrap();
        let looks = finish_looks(data.path());
        assert_eq!(is_repository(&place, "src"), !is_unmade, "{looks:?}");
    }
}

//! What is protected because a link, a pointer or a setting of git leads there.

use super::*;

/// A work tree whose configuration and links lead into it.
fn led() -> Place {
    let place = place();
    let config = "[core]\nhooksPath = hooks/all\nfsmonitor = tools/mon\n[include]\npath = ../shared.inc\n";
    write(place.temp.path(), ".git/config", config);
    for (path, content) in [
        ("hooks/all/pre-commit", "#!/bin/sh"),
        ("hooks/other", "x"),
        ("tools/mon", "#!/bin/sh"),
        ("tools/other", "x"),
        ("shared.inc", "[core]"),
        ("cfg/mcp.json", "{}"),
        ("agent/settings.json", "{}"),
        ("scripts/pc", "#!/bin/sh"),
        ("nested/own/.git/config", "[core]\nhooksPath = ../../deep/hooks\n"),
        ("deep/hooks/x", "#!/bin/sh"),
    ] {
        write(place.temp.path(), path, content);
    }
    symlink("../cfg", place.path("src/.cursor")).unwrap();
    symlink("agent", place.path(".claude")).unwrap();
    symlink("../../scripts/pc", place.path(".git/hooks/post-commit")).unwrap();
    place
}

const LED: [&str; 8] = [
    "agent/settings.json",
    "cfg/mcp.json",
    "deep/hooks/x",
    "hooks/all/new",
    "hooks/all/pre-commit",
    "scripts/pc",
    "shared.inc",
    "tools/mon",
];

#[test]
fn what_is_led_to_is_found_wherever_it_begins() {
    let place = led();
    let guard = Guard::take(std::slice::from_ref(&place.root), Watching::No);
    let found = names(&place, &guard.protected(100));
    for path in ["agent", "cfg", "deep/hooks", "hooks/all", "scripts/pc", "shared.inc", "tools/mon"] {
        assert!(found.contains(&path.to_owned()), "{path}: {found:?}");
    }
    assert!(!found.iter().any(|path| path.contains("other") || path == "src" || path == "tools"), "{found:?}");
}

#[test]
fn what_is_led_to_is_put_back_and_what_lies_beside_is_not() {
    let place = led();
    let reverted = place.after(|| {
        for path in LED {
            write(place.temp.path(), path, "evil");
        }
        for path in ["hooks/other", "tools/other", "tools/new", "deep/new"] {
            write(place.temp.path(), path, "fine");
        }
    });
    let paths: Vec<&str> = reverted.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, LED);
    assert_eq!((place.text("scripts/pc"), place.text("tools/new")), ("#!/bin/sh".into(), "fine".into()));
    assert!(!place.path("hooks/all/new").exists());
}

#[test]
fn what_a_command_makes_lead_somewhere_takes_nothing_away_there() {
    let place = place();
    let reverted = place.after(|| {
        write(place.temp.path(), ".git/config", "[core]\nhooksPath = src\n");
        write(place.temp.path(), "src/new.rs", "fine");
        write(place.temp.path(), "cfg/a.json", "fine");
        symlink("cfg", place.path(".cursor")).unwrap();
    });
    assert_eq!(reverted, [(".cursor".into(), Revert::Removed), (".git/config".into(), Revert::Restored)]);
    assert_eq!((place.text("src/new.rs"), place.text("cfg/a.json")), ("fine".into(), "fine".into()));
}

#[test]
fn a_folder_that_is_led_to_and_is_not_there_yet_is_known_when_it_comes() {
    let place = place();
    write(place.temp.path(), ".git/config", "[core]\nhooksPath = not/yet\n");
    let reverted = place.after(|| {
        write(place.temp.path(), "not/yet/pre-commit", "evil");
        write(place.temp.path(), "not/other", "fine");
    });
    let removed = |path: &str| (path.to_owned(), Revert::Removed);
    assert_eq!(reverted, [removed("not/yet"), removed("not/yet/pre-commit")]);
    assert_eq!(place.text("not/other"), "fine");
}

#[test]
fn a_link_in_the_place_of_a_folder_on_the_way_is_taken_away() {
    let place = place();
    write(place.temp.path(), ".git/config", "[core]\nfsmonitor = far/tools/fsm\n");
    write(place.temp.path(), "far/tools/fsm", "#!/bin/sh");
    let reverted = place.after(|| {
        fs::rename(place.path("far"), place.path("gone")).unwrap();
        write(place.temp.path(), "n/tools/fsm", "evil");
        symlink("n", place.path("far")).unwrap();
    });
    // What was there has its name again.
    assert_eq!(reverted, [("far".to_owned(), Revert::Restored)]);
    assert_eq!(place.text("far/tools/fsm"), "#!/bin/sh");
}

#[test]
fn leads_cross_from_one_allowed_folder_to_another() {
    let (place, other) = (place(), tempfile::tempdir().unwrap());
    fs::write(other.path().join("pc"), "#!/bin/sh").unwrap();
    symlink(other.path().join("pc"), place.path(".git/hooks/x")).unwrap();
    let roots = [place.root.clone(), Root::open(other.path()).unwrap()];
    let guard = Guard::take(&roots, Watching::No);
    fs::write(other.path().join("pc"), "evil").unwrap();
    let report = guard.revert(Watched::default());
    let told: Vec<_> = report.reverted.iter().map(|one| (one.root, one.path.as_str(), one.how)).collect();
    assert_eq!(told, [(1, "pc", Revert::Restored)]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_led_to_stops_the_command() {
    for path in LED.into_iter().filter(|path| *path != "agent/settings.json") {
        let place = led();
        let before = fs::read_to_string(place.path(path)).ok();
        let mut guard = guard_of(&place);
        let is_mended = |stops| stops > 0 && fs::read_to_string(place.path(path)).ok() == before;
        let watched = watched(&mut guard, || write(place.temp.path(), path, "evil"), is_mended);
        let (stopped_for, _) = watched.stopped_for.clone().unwrap();
        assert_eq!((stopped_for.as_str(), watched.unwatched), (path, 0));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_link_with_a_protected_name_stops_the_command_when_it_appears() {
    for (link, to) in
        [(".cursor", "d"), ("sub/.zed", "../d"), (".git/hooks/x", "../../d/tasks.json"), ("src/.git", "d")]
    {
        let place = place();
        write(place.temp.path(), "d/tasks.json", "x");
        let mut guard = guard_of(&place);
        let is_mended = |stops| stops > 0 && fs::symlink_metadata(place.path(link)).is_err();
        let watched = watched(&mut guard, || symlink(to, place.path(link)).unwrap(), is_mended);
        assert_eq!(watched.stopped_for, Some((link.to_owned(), Revert::Removed)));
        assert_eq!(place.text("d/tasks.json"), "x");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_look_that_is_finished_after_a_crash_knows_what_was_led_to() {
    let data = tempfile::tempdir().unwrap();
    let place = led();
    let guard = guard_of(&place);
    let run = RecordedRun { mark: "call-1", timeout: std::time::Duration::from_mins(1), may_stop_nod: true };
    drop(guard.record(data.path(), &run).unwrap());
    drop(guard);
    write(place.temp.path(), "hooks/all/pre-commit", "evil");
    let looks = finish_looks(data.path());
    let told: Vec<&str> = looks[0].report.reverted.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(told, ["hooks/all/pre-commit"]);
    assert_eq!(place.text("hooks/all/pre-commit"), "#!/bin/sh");
}

//! What is moved goes back whole, and no repository ends with a part of another.

use super::*;

/// Two repositories, and a folder of settings.
fn two() -> Place {
    let place = place();
    for (folder, text) in [("app", "mine"), ("fx/r", "theirs")] {
        for part in
            ["HEAD", "config", "hooks/pre-commit", "objects/x", "refs/x", "modules/s/config", "worktrees/w/gitdir"]
        {
            write(place.temp.path(), &format!("{folder}/.git/{part}"), text);
        }
        write(place.temp.path(), &format!("{folder}/.vscode/tasks.json"), text);
        write(place.temp.path(), &format!("{folder}/a.txt"), text);
    }
    place
}

impl Place {
    pub(super) fn rename(&self, moves: &[(&str, &str)]) {
        for (old, new) in moves {
            fs::rename(self.path(old), self.path(new)).unwrap();
        }
    }

    /// Every file in a folder is of one and the same.
    fn is_whole(&self, folder: &str, text: &str) -> bool {
        let parts = [".git/HEAD", ".git/config", ".git/hooks/pre-commit", ".git/objects/x", ".git/modules/s/config"];
        let further = [".git/worktrees/w/gitdir", ".vscode/tasks.json", "a.txt"];
        let text_of = |part: &str| fs::read_to_string(self.path(folder).join(part)).unwrap_or_default();
        parts.into_iter().chain(further).all(|part| text_of(part) == text)
    }
}

#[test]
fn whatever_was_moved_goes_back_whole() {
    let moves: [&[(&str, &str)]; 9] = [
        &[("app", "a0"), ("fx/r", "app")],
        &[("app", "a0"), ("fx/r", "app"), ("a0", "fx/r")],
        &[("app", "a0"), ("fx/r", "app"), ("lib", "fx/r"), ("a0", "lib")],
        &[("app/.git", "g"), ("fx/r/.git", "app/.git")],
        &[("app/.git", "g"), ("fx/r/.git", "app/.git"), ("g", "fx/r/.git")],
        &[("app/.git/modules/s", "app/.git/modules/o")],
        &[("app/.git/worktrees", "app/.git/w2")],
        &[("app/.vscode", "v"), ("fx/r/.vscode", "app/.vscode")],
        &[("app/.vscode/tasks.json", "app/.mcp.json"), ("fx/r/.vscode", "app/.zed")],
    ];
    for moved in moves {
        let place = two();
        let reverted = place.after(|| place.rename(moved));
        assert!(place.is_whole("app", "mine") && place.is_whole("fx/r", "theirs"), "{moved:?}: {reverted:?}");
        assert_eq!(place.text("lib/.git/config"), "[lib]");
        assert!(!reverted.is_empty() && reverted.iter().all(|(_, how)| *how == Revert::Restored), "{reverted:?}");
        // Nothing is left beside.
        assert_eq!(fs::read_dir(place.path("app/.git")).unwrap().count(), 7, "{moved:?}");
        assert!(!place.path("a0").exists() && !place.path("app-1").exists(), "{moved:?}");
    }
}

#[test]
fn what_has_come_to_lie_in_its_place_makes_room() {
    let place = two();
    let reverted = place.after(|| {
        place.rename(&[("app/.git/modules/s", "app/.git/modules/o"), ("fx/r", "r")]);
        write(place.temp.path(), "app/.git/modules/s/other", "new");
        place.rename(&[("app", "a0"), ("r", "app")]);
        write(place.temp.path(), "fx/r/other", "new");
    });
    assert!(place.is_whole("app", "mine") && place.is_whole("fx/r", "theirs"), "{reverted:?}");
    assert_eq!((place.text("app/.git/modules/s-1/other"), place.text("fx/r-1/other")), ("new".into(), "new".into()));
}

#[test]
fn what_only_has_another_name_stays_and_what_changed_in_it_does_not() {
    let place = two();
    let reverted = place.after(|| {
        place.rename(&[("app", "a0"), ("fx/r", "fx/other")]);
        write(place.temp.path(), "a0/.git/new.lock", "evil");
        place.rename(&[("a0/.git/new.lock", "a0/.git/config")]);
        fs::remove_dir_all(place.path("a0/.git/hooks")).unwrap();
        // Where it was is another one now, which gets nothing of it.
        write(place.temp.path(), "app/.git/HEAD", "new");
        write(place.temp.path(), "app/.git/config", "new");
    });
    assert!(place.is_whole("a0", "mine") && place.is_whole("fx/other", "theirs"), "{reverted:?}");
    let names: Vec<_> = fs::read_dir(place.path("app/.git")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names, ["HEAD"]);
}

#[test]
fn what_is_moved_out_of_a_folder_that_goes_comes_back_in_one() {
    let place = two();
    fs::create_dir(place.path("web")).unwrap();
    write(place.temp.path(), "web/mine", "mine");
    let reverted = place.after(|| {
        place.rename(&[("fx/r/.vscode/tasks.json", "app/.mcp.json")]);
        fs::remove_dir_all(place.path("fx")).unwrap();
        // Its new place was another one's, who is no more, and whose files are in it.
        place.rename(&[("lib", "l"), ("web", "w"), ("l", "web"), ("w/mine", "web/mine")]);
        fs::remove_dir(place.path("w")).unwrap();
    });
    assert_eq!(place.text("fx/r/.vscode/tasks.json"), "theirs");
    assert_eq!(
        (place.text("lib/.git/config"), place.text("web/mine")),
        ("[lib]".into(), "mine".into()),
        "{reverted:?}"
    );
    assert!(!place.path("app/.mcp.json").exists() && !place.path("web/.git").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn it_stops_the_command_and_goes_back_while_it_runs() {
    let moves: [&[(&str, &str)]; 3] = [
        &[("app", "a0"), ("fx/r", "app")],
        &[("app/.git/modules/s", "app/.git/modules/o")],
        &[("app/.git/worktrees", "app/.git/w2")],
    ];
    for moved in moves {
        let place = two();
        let mut guard = guard_of(&place);
        let is_whole = || place.is_whole("app", "mine") && place.is_whole("fx/r", "theirs");
        let watched = watched(&mut guard, || place.rename(moved), |stops| stops > 0 && is_whole());
        assert_eq!(watched.stopped_for.as_ref().map(|(_, how)| *how), Some(Revert::Restored));
        let report = guard.revert(watched);
        assert!(is_whole() && report.reverted.iter().all(|one| one.how == Revert::Restored), "{moved:?}: {report:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn after_a_crash_too_and_what_the_person_has_moved_since_stays() {
    for (later, is_put_back) in [(0, true), (3600, false)] {
        let data = tempfile::tempdir().unwrap();
        let place = two();
        crashed(
            &place,
            data.path(),
            &Behind { began: ago(later), sign: ago(later), timeout: ago(1), may_stop_nod: false },
        );
        place.rename(&[("app", "a0"), ("fx/r", "app")]);
        let looks = finish_looks(data.path());
        let (mine, theirs) = if is_put_back { ("app", "fx/r") } else { ("a0", "app") };
        assert!(place.is_whole(mine, "mine") && place.is_whole(theirs, "theirs"), "{looks:?}");
    }
}

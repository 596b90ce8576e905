//! Links in the place of what the person had.

use super::*;

/// What the person has, and what lies beside it.
fn laid_out() -> Place {
    let place = place();
    for (path, text) in [
        ("web/a.txt", "mine"),
        ("a/web/a.txt", "mine"),
        ("p/a.txt", "theirs"),
        ("p/.vscode/tasks.json", "theirs"),
        ("b/web/.mcp.json", "theirs"),
        ("node_modules/x/.vscode/tasks.json", "theirs"),
        ("fx/r/.git/HEAD", "ref"),
        ("fx/r/.git/config", "theirs"),
        ("fx/r/sub/a.txt", "theirs"),
        ("bare/HEAD", "ref"),
        ("bare/objects/x", "x"),
        ("bare/refs/x", "x"),
        ("plain/a.txt", "theirs"),
        ("s/.vscode/settings.json", "{1}"),
        ("s2/.vscode/settings.json", "{1}"),
        ("s3/.vscode/settings.json", "{2}"),
    ] {
        write(place.temp.path(), path, text);
    }
    fs::create_dir(place.path("c")).unwrap();
    for (to, link) in [("web", "link"), ("../p", "c/web"), ("nothing", "empty"), ("p", "known")] {
        symlink(to, place.path(link)).unwrap();
    }
    place
}

impl Place {
    fn exchange(&self, path: &str, to: &str) {
        fs::rename(self.path(path), self.path(&format!("{path}0"))).unwrap();
        symlink(to, self.path(path)).unwrap();
    }

    fn repoint(&self, link: &str, to: &str) {
        fs::remove_file(self.path(link)).unwrap();
        symlink(to, self.path(link)).unwrap();
    }
}

#[test]
fn what_is_obeyed_behind_a_link_is_new_where_a_folder_was() {
    let ends = ["p", "fx", "fx/r", "fx/r/sub", "bare", "node_modules/x", "link2", "b", ".", "c/web", "known"];
    let absolute = laid_out();
    for end in ends.into_iter().chain([absolute.path("p").to_str().unwrap()]) {
        let place = laid_out();
        symlink("p", place.path("link2")).unwrap();
        let reverted = place.after(|| place.exchange("web", end));
        assert_eq!(reverted, [("web".to_owned(), Revert::Restored)], "{end}");
        assert_eq!((place.text("web/a.txt"), place.path("web0").exists()), ("mine".into(), false), "{end}");
    }
    for (folder, end) in [("a", "b"), ("a", "c"), ("s", "s3"), ("s", "p")] {
        let place = laid_out();
        let reverted = place.after(|| place.exchange(folder, end));
        assert_eq!(reverted, [(folder.to_owned(), Revert::Restored)], "{end}");
        assert!(!place.path(folder).is_symlink() && !place.path(&format!("{folder}0")).exists(), "{end}");
    }
}

#[test]
fn a_link_that_led_elsewhere_leads_there_again() {
    for (link, was, end) in [("link", "web", "p"), ("link", "web", "node_modules/x"), ("empty", "nothing", "fx")] {
        let place = laid_out();
        let guard = Guard::take(std::slice::from_ref(&place.root), Watching::No);
        place.repoint(link, end);
        let report = guard.revert(Watched::default());
        let taken = Some(Taken::Link(end.into()));
        assert_eq!(
            report.reverted,
            [Reverted { root: 0, path: link.into(), how: Revert::Restored, taken, left: None }]
        );
        assert_eq!(fs::read_link(place.path(link)).unwrap(), Path::new(was));
    }
    // What it leads to may come, and a folder may take its place.
    let place = laid_out();
    let reverted = place.after(|| fs::rename(place.path("p"), place.path("nothing")).unwrap());
    assert_eq!(reverted, [("empty".to_owned(), Revert::Removed)]);
    let place = laid_out();
    let reverted = place.after(|| {
        fs::remove_file(place.path("link")).unwrap();
        fs::rename(place.path("p"), place.path("link")).unwrap();
    });
    let restored = |path: &str| (path.to_owned(), Revert::Restored);
    assert_eq!(reverted, [restored("link"), restored("p")]);
    assert_eq!(fs::read_link(place.path("link")).unwrap(), Path::new("web"));
}

#[test]
fn what_is_the_same_or_was_nobodys_stays() {
    let place = laid_out();
    let reverted = place.after(|| {
        // Nothing is obeyed there, or the same.
        place.exchange("web", "plain");
        place.exchange("s", "s2");
        // The folder itself, under its own name and another.
        place.exchange("p", "p0");
        place.exchange("fx", "fx0");
        place.repoint("known", "./p0");
        place.repoint("empty", "nowhere");
        // Nobody had these.
        symlink("p", place.path("src/new")).unwrap();
        symlink("fx/r", place.path("new")).unwrap();
    });
    assert_eq!(reverted, []);
}

#[test]
fn a_folder_that_comes_with_such_a_link_stays_and_the_link_goes() {
    let place = laid_out();
    let reverted = place.after(|| {
        write(place.temp.path(), "new/a.txt", "fine");
        symlink("../p", place.path("new/web")).unwrap();
        fs::rename(place.path("a"), place.path("a0")).unwrap();
        fs::rename(place.path("new"), place.path("a")).unwrap();
    });
    assert_eq!(reverted, [("a/web".to_owned(), Revert::Removed)]);
    assert_eq!((place.text("a/a.txt"), place.text("a0/web/a.txt")), ("fine".into(), "mine".into()));
}

#[test]
fn an_end_in_another_allowed_folder_or_outside_counts_as_one_beside() {
    for is_allowed in [true, false] {
        let (place, other) = (laid_out(), laid_out());
        let roots = [place.root.clone(), other.root.clone()];
        let guard = Guard::take(roots.get(..1 + usize::from(is_allowed)).unwrap(), Watching::No);
        place.exchange("web", other.path("p").to_str().unwrap());
        place.exchange("a", other.path("plain").to_str().unwrap());
        let report = guard.revert(Watched::default());
        let told: Vec<_> = report.reverted.iter().map(|one| (one.root, one.path.as_str(), one.how)).collect();
        assert_eq!(told, [(0, "a", Revert::Restored), (0, "web", Revert::Restored)], "{is_allowed}");
    }
    // Nothing of it lies in a repository there.
    let (place, other) = (laid_out(), tempfile::tempdir().unwrap());
    let reverted = place.after(|| place.exchange("web", other.path().to_str().unwrap()));
    assert_eq!(reverted, []);
}

#[test]
fn a_folder_on_the_way_to_what_is_obeyed_has_its_place_again() {
    for is_link in [true, false] {
        let place = laid_out();
        write(place.temp.path(), ".git/config", "[core]\nhooksPath = tools/hooks\n");
        write(place.temp.path(), "tools/hooks/x", "#!/bin/sh");
        write(place.temp.path(), "ev/hooks/x", "evil");
        let reverted = place.after(|| {
            place.exchange("tools", "ev");
            if !is_link {
                fs::remove_file(place.path("tools")).unwrap();
                fs::write(place.path("tools"), "").unwrap();
            }
        });
        assert_eq!(reverted, [("tools".to_owned(), Revert::Restored)]);
        assert_eq!(place.text("tools/hooks/x"), "#!/bin/sh");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn it_stops_the_command_also_where_the_end_comes_later() {
    let steps: [&dyn Fn(&Place); 6] = [
        &|place| place.exchange("web", "p"),
        &|place| {
            symlink("p", place.path("wp")).unwrap();
            fs::rename(place.path("web"), place.path("web0")).unwrap();
            fs::rename(place.path("wp"), place.path("web")).unwrap();
        },
        &|place| {
            place.exchange("web", "later");
            fs::rename(place.path("p"), place.path("later")).unwrap();
        },
        &|place| {
            place.exchange("web", "node_modules/y");
            write(place.temp.path(), "node_modules/y/.vscode/tasks.json", "theirs");
        },
        &|place| place.exchange("a", "b"),
        &|place| place.repoint("link", "p"),
    ];
    for (number, step) in steps.into_iter().enumerate() {
        let place = laid_out();
        let mut guard = guard_of(&place);
        let is_mended = || {
            let is_mine = |path: &str| fs::read_to_string(place.path(path)).is_ok_and(|text| text == "mine");
            is_mine("web/a.txt") && is_mine("a/web/a.txt") && is_mine("link/a.txt")
        };
        let watched = watched(&mut guard, || step(&place), |stops| stops > 0 && is_mended());
        assert_eq!(watched.stopped_for.as_ref().map(|(_, how)| *how), Some(Revert::Restored), "{number}");
        let report = guard.revert(watched);
        assert!(is_mended() && report.reverted.len() == 1, "{number}: {report:?}");
    }
}

#[test]
fn what_a_tool_took_away_is_known_to_the_next_command_and_ages() {
    use crate::policy::RelPath;
    use crate::workspace::{Purpose, resolve};
    let (place, records) = (laid_out(), tempfile::tempdir().unwrap());
    let web = resolve(&place.root, &RelPath::from_parts(vec!["web".to_owned()]).unwrap(), Purpose::Delete).unwrap();
    fs::remove_dir_all(place.path("web")).unwrap();
    note_departed(records.path(), &web);
    let mut guard = Guard::take(std::slice::from_ref(&place.root), Watching::No);
    guard.recall(records.path());
    fs::rename(place.path("p"), place.path("web")).unwrap();
    let report = guard.revert(Watched::default());
    let told: Vec<_> = report.reverted.iter().map(|one| (one.path.as_str(), one.how)).collect();
    assert_eq!(told, [("p/.vscode", Revert::Restored)]);
    fs::rename(place.path("web"), place.path("rest")).unwrap();
    // After a while the name is free.
    let file = records.path().join("departed.json");
    let text = fs::read_to_string(&file).unwrap();
    let mut all: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    for one in &mut all {
        one["at_ns"] = 0.into();
    }
    fs::write(&file, serde_json::to_vec(&all).unwrap()).unwrap();
    // No link leads there by then.
    fs::remove_file(place.path("link")).unwrap();
    let mut guard = Guard::take(std::slice::from_ref(&place.root), Watching::No);
    guard.recall(records.path());
    fs::rename(place.path("p"), place.path("web")).unwrap();
    assert_eq!(guard.revert(Watched::default()).reverted, []);
}

/// What a command did right before Nod was killed: the look at the next start mends it as the end of the command would have.
#[test]
#[cfg(target_os = "linux")]
fn after_a_crash_a_name_shows_what_it_showed_before() {
    let deeds: [&dyn Fn(&Place); 5] = [
        &|place| place.exchange("web", "p"),
        &|place| place.exchange("a", "b"),
        &|place| place.repoint("link", "p"),
        &|place| place.rename(&[("a", "a0"), ("b", "a")]),
        &|place| place.rename(&[("web", "w0"), ("p", "web")]),
    ];
    let is_mine = |place: &Place| {
        let text = |path: &str| fs::read_to_string(place.path(path)).unwrap_or_default();
        let is_mine = ["web/a.txt", "a/web/a.txt", "link/a.txt"].into_iter().all(|path| text(path) == "mine");
        is_mine && !place.path("web/.vscode").exists() && !place.path("a/web/.mcp.json").exists()
    };
    for (number, deed) in deeds.into_iter().enumerate() {
        for (knows_folders, is_just, expected) in [(true, true, true), (true, false, false), (false, true, false)] {
            let (data, place) = (tempfile::tempdir().unwrap(), laid_out());
            let seconds = if is_just { 0 } else { 3600 };
            let behind = Behind { began: ago(seconds), sign: ago(seconds), timeout: ago(1), may_stop_nod: false };
            crashed(&place, data.path(), &behind);
            if !knows_folders {
                // The control: with nothing known but the ways to what is protected.
                forget(data.path(), &["folders", "links", "tops"]);
            }
            deed(&place);
            let looks = finish_looks(data.path());
            // What changed so much later is the person's doing.
            assert_eq!(is_mine(&place), expected, "{number} {knows_folders} {is_just}: {looks:?}");
        }
    }
}

/// Takes fields out of the only record's folders.
#[cfg(target_os = "linux")]
fn forget(data: &Path, fields: &[&str]) {
    let path = fs::read_dir(data).unwrap().next().unwrap().unwrap().path();
    let touched = fs::metadata(&path).unwrap().modified().unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for root in record["roots"].as_array_mut().unwrap() {
        for field in fields {
            root.as_object_mut().unwrap().remove(*field).unwrap();
        }
    }
    fs::write(&path, record.to_string()).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(touched).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_name_that_went_right_before_a_crash_is_known_to_the_next_command() {
    for is_finished in [true, false] {
        let (data, place) = (tempfile::tempdir().unwrap(), laid_out());
        crashed(&place, data.path(), &Behind { began: ago(0), sign: ago(0), timeout: ago(1), may_stop_nod: false });
        fs::remove_file(place.path("link")).unwrap();
        place.rename(&[("web", "w0")]);
        if is_finished {
            assert_eq!(finish_looks(data.path())[0].report.reverted, []);
        }
        let mut guard = Guard::take(std::slice::from_ref(&place.root), Watching::No);
        guard.recall(data.path());
        symlink("p", place.path("web")).unwrap();
        let told: Vec<_> = guard.revert(Watched::default()).reverted.into_iter().map(|one| one.path).collect();
        assert_eq!(told, if is_finished { vec!["web"] } else { vec![] });
        assert_eq!(place.path("web").is_symlink(), !is_finished);
    }
}

/// A repository as git makes it, with a setting more.
fn cloned(place: &Place, path: &str, setting: &str) {
    write(place.temp.path(), &format!("{path}/.git/HEAD"), "ref: refs/heads/main\n");
    write(place.temp.path(), &format!("{path}/.git/config"), &format!("[core]\n\tbare = false\n{setting}"));
    write(place.temp.path(), &format!("{path}/.git/hooks/pre-push.sample"), "#!/bin/sh");
}

#[test]
fn a_link_may_go_from_one_repository_to_another_that_runs_nothing() {
    let remote = "[remote \"origin\"]\n\turl = https://example.org/a.git\n";
    for (setting, further, stays) in [
        (remote, "a.txt", true),
        ("[core]\n\tfsmonitor = id\n", "a.txt", false),
        (remote, ".git/hooks/pre-push", false),
        (remote, ".git/commondir", false),
        (remote, ".vscode/tasks.json", false),
    ] {
        let place = laid_out();
        cloned(&place, "releases/1", remote);
        cloned(&place, "releases/2", setting);
        write(place.temp.path(), &format!("releases/2/{further}"), "theirs");
        symlink("releases/1", place.path("current")).unwrap();
        let reverted = place.after(|| place.repoint("current", "releases/2"));
        let end = if stays { "releases/2" } else { "releases/1" };
        assert_eq!(fs::read_link(place.path("current")).unwrap(), Path::new(end), "{further} {setting} {reverted:?}");
    }
}

#[test]
fn a_link_into_a_package_that_is_installed_anew_stays_and_what_is_obeyed_there_does_not() {
    for settings in ["{1}", "{2}"] {
        let place = laid_out();
        write(place.temp.path(), "node_modules/y/.vscode/settings.json", "{1}");
        symlink("node_modules/y", place.path("linked")).unwrap();
        place.after(|| {
            fs::remove_dir_all(place.path("node_modules/y")).unwrap();
            write(place.temp.path(), "node_modules/y/.vscode/settings.json", settings);
        });
        assert_eq!(fs::read_link(place.path("linked")).unwrap(), Path::new("node_modules/y"));
        let now = fs::read_to_string(place.path("node_modules/y/.vscode/settings.json"));
        assert_eq!(now.unwrap(), "{1}", "{settings}");
    }
    let place = laid_out();
    write(place.temp.path(), "node_modules/y/a.txt", "a");
    symlink("node_modules/y", place.path("linked")).unwrap();
    place.after(|| {
        fs::remove_dir_all(place.path("node_modules/y")).unwrap();
        write(place.temp.path(), "node_modules/y/.vscode/tasks.json", "theirs");
    });
    assert_eq!(fs::read_link(place.path("linked")).unwrap(), Path::new("node_modules/y"));
    assert!(!place.path("node_modules/y/.vscode/tasks.json").exists());
}

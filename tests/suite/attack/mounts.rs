//! Something mounted inside the allowed folder: it has the device number of what it shows (3.8). In a mount namespace of
//! the test's own.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use nod::ir::ConfirmMode;
use nod::policy::AskReason;

use super::ground::{ATTACK, Ground, Piece, SECRET};
use super::{Bench, Case, Ran, case};
use crate::support::own_process::{in_own_process, started_by};

const NAMESPACE: [&str; 3] = ["--user", "--map-root-user", "--mount"];

fn mount(ground: &Ground, from: &str, onto: &str) {
    let done = Command::new("mount").arg("--bind").arg(ground.path(from)).arg(ground.path(onto)).status().unwrap();
    assert!(done.success());
}

#[test]
fn what_is_mounted_inside_is_told_apart_asked_about_and_never_entered() {
    let can = Command::new("unshare").args(NAMESPACE).args(["mount", "--bind", "/tmp", "/tmp"]).output();
    if !can.is_ok_and(|done| done.status.success()) {
        eprintln!("nothing may be mounted here: not tried");
        return;
    }
    let test = "attack::mounts::what_is_mounted_inside_is_told_apart_asked_about_and_never_entered";
    if !in_own_process(test, |command| started_by("unshare", &NAMESPACE, &command)) {
        return;
    }
    let mut bench = Bench::new();
    let ground = bench.ground(&[
        Piece::Folder("ws/mounted"),
        Piece::File("ws/one.txt", ""),
        Piece::Folder("ws/deep/er"),
        Piece::Folder("chosen"),
    ]);
    for (from, onto) in
        [("out", "ws/mounted"), ("out/private.txt", "ws/one.txt"), ("out", "ws/deep/er"), ("ws", "chosen")]
    {
        mount(&ground, from, onto);
    }
    let outside = ground.snapshot("out");
    look(&mut bench, &ground);
    assert_eq!(ground.snapshot("out"), outside);
    // The control: by its device number nothing is told apart, and a walk by path goes in.
    let device = |path: &str| std::fs::metadata(ground.path(path)).unwrap().dev();
    assert_eq!(device("ws/mounted"), device("ws"));
    assert_eq!(std::fs::read_to_string(ground.path("ws/mounted/private.txt")).unwrap(), SECRET);
    for mounted in ["chosen", "ws/deep/er", "ws/one.txt", "ws/mounted"] {
        assert!(Command::new("umount").arg("-l").arg(ground.path(mounted)).status().unwrap().success());
    }
}

fn look(bench: &mut Bench, ground: &Ground) {
    let mut run = |row: Case| bench.run(&row, ground);
    let is_asked = |ran: &Ran| {
        assert!(ran.question().reasons.contains(&AskReason::OtherMount), "{:?}", ran.question().reasons);
        assert_eq!(ran.question().rule_proposals, []);
    };
    for mode in [ConfirmMode::Changes, ConfirmMode::Automatic] {
        for path in ["mounted/private.txt", "one.txt", "deep/er/folder/deep-private.txt"] {
            let ran = run(case("3.8.1", "read").mode(mode).read(path));
            is_asked(&ran);
            assert_eq!(ran.result.result["content"], SECRET);
        }
        is_asked(&run(case("3.8.1", "listed").mode(mode).list("mounted")));
        is_asked(&run(case("3.8.1", "searched").mode(mode).search("mounted", "x")));
    }
    let listed = run(case("3.8.2", "a walk over the folder does not go in").list("."));
    assert!(listed.asked.is_empty() && !listed.text().contains("private"), "{}", listed.text());
    let searched = run(case("3.8.2", "a search neither").search("deep", SECRET));
    assert_eq!(searched.result.result["total_matches"], 0);
    for path in ["mounted", "deep/er", "one.txt", "deep"] {
        let ran = run(case("3.8.4", "never deleted, nor what holds it").delete_tree(path));
        assert_eq!(ran.result.code(), Some("BLOCKED_PATH_DENIED"), "{path}: {:?}", ran.result);
        assert!(ran.asked.is_empty());
    }
    // The allowed folder may itself be mounted.
    let chosen = |row: Case| row.folders(&["{top}/chosen"]);
    let read = run(chosen(case("3.8.3", "the folder is a mount point").read("a.txt")));
    assert!(read.asked.is_empty() && read.result.success, "{:?}", read.result);
    let written = run(chosen(case("3.8.3", "written").write("new.txt")));
    assert!(!written.question().reasons.contains(&AskReason::OtherMount));
    assert_eq!(ground.read("ws/new.txt"), ATTACK);
}

//! Somebody exchanges a folder for a link that leads out, as fast as the kernel can, while files are read, written, made,
//! deleted and searched beneath it. Nothing outside may be touched. Each attack is run without the guard too (the path is
//! checked as text, then used as text), and must succeed there.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "these tests lay out files, keep time and attack by path")]

use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nod::policy::RelPath;
use nod::port::{Answer, TurnOptions};
use nod::workspace::{
    Extent, Purpose, QueryOptions, Root, SearchLimits, SearchOptions, SearchQuery, Target, Trash, WalkStart,
    WorkspaceError, resolve, search_tree,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::desk::{Desk, Setup};

/// How long each attack goes on against the guard at least, and until the guard has let through what is good.
const GUARDED: Duration = Duration::from_secs(4);

/// The same attack without the guard ends at its first success.
const UNGUARDED: Duration = Duration::ZERO;

/// How long what is waited for may take on a machine under load.
const PATIENCE: Duration = Duration::from_mins(1);

/// `ws/a` is a folder and `ws/b` a link to `out`; the two are exchanged without pause.
struct Battlefield {
    temp: tempfile::TempDir,
    root: Root,
    /// The true folder, whatever its name is at the moment.
    inside: fs::File,
}

impl Battlefield {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let ws = temp.path().join("ws");
        fs::create_dir_all(ws.join("a")).unwrap();
        fs::create_dir(temp.path().join("out")).unwrap();
        symlink("../out", ws.join("b")).unwrap();
        let root = Root::open(&ws).unwrap();
        let inside = fs::File::open(ws.join("a")).unwrap();
        Self { temp, root, inside }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.temp.path().join("out").join(name)
    }

    fn attacked(&self, name: &str) -> PathBuf {
        self.root.path().join("a").join(name)
    }

    /// A path in the true folder that no exchange changes.
    fn inside(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.inside.as_raw_fd()))
    }

    fn resolve(&self, path: &str, purpose: Purpose) -> Result<Target, WorkspaceError> {
        resolve(&self.root, &RelPath::from_parts(path.split('/').map(str::to_owned).collect()).unwrap(), purpose)
    }

    /// Does `act` again and again while the exchange goes on: for this time at least, and until it says that what was
    /// waited for has happened.
    fn under_attack(&self, least: Duration, mut act: impl FnMut(u64) -> bool) {
        let stop = AtomicBool::new(false);
        let swaps = AtomicU64::new(0);
        let (a, b) = (self.root.path().join("a"), self.root.path().join("b"));
        std::thread::scope(|scope| {
            std::thread::Builder::new()
                .name("attacker".into())
                .spawn_scoped(scope, || {
                    while !stop.load(Ordering::Relaxed) {
                        renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
                        swaps.fetch_add(1, Ordering::Relaxed);
                    }
                })
                .unwrap();
            let begun = Instant::now();
            let mut round = 0;
            while begun.elapsed() < PATIENCE {
                round += 1;
                if act(round) && begun.elapsed() >= least {
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(swaps.into_inner() > 0, "nobody attacked");
    }

    /// The check that leaks: where the path leads is asked first, and then the path is used.
    fn looks_inside(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| path.starts_with(self.root.real_path()))
    }
}

#[test]
fn nothing_outside_is_read() {
    let field = Battlefield::new();
    fs::write(field.inside("f"), "inside").unwrap();
    fs::write(field.out("f"), "OUTSIDE").unwrap();
    let (mut good, mut escaped) = (0_u64, 0_u64);
    field.under_attack(GUARDED, |_| {
        if let Ok(bytes) = field.resolve("a/f", Purpose::Read).and_then(|target| target.read_all(100)) {
            good += u64::from(bytes == b"inside");
            escaped += u64::from(bytes == b"OUTSIDE");
        }
        good > 0
    });
    assert_eq!(escaped, 0);
    assert!(good > 0, "the guard let nothing through");
    let mut leaked = false;
    field.under_attack(UNGUARDED, |_| {
        let path = field.attacked("f");
        leaked = field.looks_inside(&path) && fs::read(&path).is_ok_and(|bytes| bytes == b"OUTSIDE");
        leaked
    });
    assert!(leaked, "the attack does not work: this test proves nothing");
}

#[test]
fn nothing_outside_is_written() {
    let field = Battlefield::new();
    fs::write(field.inside("old"), "old").unwrap();
    fs::write(field.out("old"), "OUTSIDE").unwrap();
    let mut written = [0_u64; 2];
    let names_out = || fs::read_dir(field.temp.path().join("out")).unwrap().count();
    field.under_attack(GUARDED, |round| {
        for (count, path) in written.iter_mut().zip(["a/old".to_owned(), format!("a/new-{round}/file")]) {
            let done = field.resolve(&path, Purpose::Write).and_then(|target| target.write(b"ours"));
            *count += u64::from(done.is_ok());
        }
        written.iter().all(|count| *count > 0)
    });
    assert_eq!((names_out(), fs::read(field.out("old")).unwrap()), (1, b"OUTSIDE".to_vec()));
    assert!(written[0] > 0 && written[1] > 0, "the guard let nothing through: {written:?}");
    let mut leaked = false;
    field.under_attack(UNGUARDED, |_| {
        let path = field.attacked("old");
        if field.looks_inside(&path) {
            // The attacked write may miss the file in the middle of an exchange.
            drop(fs::write(&path, "ours"));
        }
        leaked = fs::read(field.out("old")).is_ok_and(|bytes| bytes == b"ours");
        leaked
    });
    assert!(leaked, "the attack does not work: this test proves nothing");
}

#[test]
fn no_folder_is_made_outside() {
    let field = Battlefield::new();
    let mut made = 0_u64;
    field.under_attack(GUARDED, |round| {
        let done = field.resolve(&format!("a/d-{round}/e"), Purpose::CreateFolder);
        made += u64::from(done.and_then(|target| target.create_folder()).is_ok_and(|created| created));
        made > 0
    });
    assert_eq!(fs::read_dir(field.temp.path().join("out")).unwrap().count(), 0);
    assert!(made > 0, "the guard let nothing through");
    let mut leaked = false;
    field.under_attack(UNGUARDED, |round| {
        if field.looks_inside(&field.attacked("")) {
            drop(fs::create_dir(field.attacked(&format!("control-{round}"))));
        }
        leaked = field.out(&format!("control-{round}")).exists();
        leaked
    });
    assert!(leaked, "the attack does not work: this test proves nothing");
}

#[test]
fn nothing_outside_is_deleted() {
    let field = Battlefield::new();
    let trash = Trash::in_folder(field.temp.path().join("data"));
    fs::create_dir(field.out("tree")).unwrap();
    for name in ["file", "tree/leaf"] {
        fs::write(field.out(name), "OUTSIDE").unwrap();
    }
    let is_whole = || fs::read(field.out("file")).is_ok() && fs::read(field.out("tree/leaf")).is_ok();
    let mut deleted = [0_u64; 4];
    field.under_attack(GUARDED, |_| {
        let ways = [("a/file", true), ("a/tree", true), ("a/file", false), ("a/tree", false)];
        for (count, (path, to_trash)) in deleted.iter_mut().zip(ways) {
            fs::write(field.inside("file"), "inside").unwrap();
            if !field.inside("tree").exists() {
                fs::create_dir(field.inside("tree")).unwrap();
            }
            fs::write(field.inside("tree/leaf"), "inside").unwrap();
            let Ok(target) = field.resolve(path, Purpose::Delete) else { continue };
            if !to_trash {
                // Tells the person that it is for good.
                assert!(!target.is_restorable_after_delete(&Trash::in_folder("/proc/self/none".into())));
            }
            *count += u64::from(target.delete(Extent::Tree, &[], &trash, &|| false).is_ok());
        }
        deleted.iter().all(|count| *count > 0)
    });
    assert!(is_whole());
    assert!(deleted.iter().all(|count| *count > 0), "the guard let nothing through: {deleted:?}");
    let mut leaked = false;
    field.under_attack(UNGUARDED, |_| {
        fs::write(field.inside("file"), "inside").unwrap();
        let path = field.attacked("file");
        if field.looks_inside(&path) {
            drop(fs::remove_file(&path));
        }
        leaked = !field.out("file").exists();
        leaked
    });
    assert!(leaked, "the attack does not work: this test proves nothing");
}

#[test]
fn nothing_outside_is_found() {
    let field = Battlefield::new();
    for name in ["f", "g", "h"] {
        fs::write(field.inside(name), "needle inside").unwrap();
        fs::write(field.out(name), "needle OUTSIDE").unwrap();
        fs::write(field.out(&format!("out-{name}")), "").unwrap();
    }
    let names =
        QueryOptions { in_names: true, in_content: true, case_sensitive: true, regex: false, extensions: Vec::new() };
    let queries = ["needle", "out-"].map(|query| SearchQuery::parse(query, &names).unwrap());
    let (mut good, mut escaped) = (0_u64, 0_u64);
    let cancel = CancellationToken::new();
    let options = SearchOptions {
        include_hidden: true,
        respect_gitignore: true,
        is_hidden_by_policy: &|_, _| false,
        is_content_closed: &|_| false,
        cancel: &cancel,
    };
    let limits = SearchLimits { file_bytes: 1000, files: 1000, matches_per_file: 10, matches: 50 };
    field.under_attack(GUARDED, |round| {
        // From the allowed folder itself, and from the folder that is exchanged.
        let start = if round % 2 == 0 {
            WalkStart::at(&whole(&field))
        } else {
            field.resolve("a", Purpose::Read).and_then(|target| WalkStart::at(&target))
        };
        let Ok(start) = start else { return good > 0 };
        for query in &queries {
            let Ok(found) = search_tree(&start, query, &options, &limits, &|_| ()) else { continue };
            for hit in found.results.iter().flat_map(|file| &file.matches) {
                good += u64::from(hit.text == "needle inside");
                escaped += u64::from(hit.text.contains("OUTSIDE") || hit.text.contains("out-"));
            }
        }
        good > 0
    });
    assert_eq!(escaped, 0);
    assert!(good > 0, "the guard let nothing through");
    let mut leaked = false;
    field.under_attack(UNGUARDED, |_| {
        // A walk by path: is it a folder and no link? Then list it and read what is in it.
        let path = field.attacked("");
        let is_folder = fs::symlink_metadata(field.root.path().join("a")).is_ok_and(|found| found.is_dir());
        let listed = if is_folder { fs::read_dir(&path).ok() } else { None };
        leaked = listed.into_iter().flatten().flatten().any(|entry| entry.file_name() == "out-f")
            || fs::read(field.attacked("f")).is_ok_and(|bytes| is_folder && bytes.ends_with(b"OUTSIDE"));
        leaked
    });
    assert!(leaked, "the attack does not work: this test proves nothing");
}

#[test]
fn nothing_outside_is_listed_edited_or_worked_in_through_the_gate() {
    let field = Battlefield::new();
    fs::write(field.inside("f"), "old inside").unwrap();
    fs::write(field.out("f"), "old OUTSIDE").unwrap();
    fs::write(field.out("out-name"), "").unwrap();
    let mut desk = Desk::with(Setup::new(Vec::new()).with_commands());
    let mut call = |name: &str, args: Value| {
        desk.tool_in(field.root.path(), name, &args.to_string(), &Answer::AllowOnce, TurnOptions::default())
    };
    // Where no command can be confined, none is run.
    let is_confined = call("run_command", json!({"command": "true"})).success;
    let (mut listed, mut edited, mut worked, mut escaped) = (0_u64, 0_u64, 0_u64, 0_u64);
    field.under_attack(GUARDED, |_| {
        let found = call("list_directory", json!({"path": "a"}));
        listed += u64::from(found.success);
        escaped += u64::from(found.result.to_string().contains("out-name"));
        fs::write(field.inside("f"), "old inside").unwrap();
        let edit = json!({"path": "a/f", "edits": [{"old_text": "old", "new_text": "new"}]});
        edited += u64::from(call("edit_file", edit).success);
        if is_confined {
            let printed = call("run_command", json!({"command": "cat f; ls; echo x > made", "cwd": "a"}));
            worked += u64::from(printed.success && printed.result["stdout"].to_string().contains("inside"));
            escaped += u64::from(
                printed.result.to_string().contains("OUTSIDE") || printed.result.to_string().contains("out-name"),
            );
        }
        listed > 0 && edited > 0 && (worked > 0 || !is_confined)
    });
    let outside: Vec<_> =
        fs::read_dir(field.temp.path().join("out")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!((escaped, outside.len(), fs::read_to_string(field.out("f")).unwrap().as_str()), (0, 2, "old OUTSIDE"));
    assert!(listed > 0 && edited > 0, "the guard let nothing through: {listed}, {edited}, {worked}");
    let mut leaked = [false; 3];
    field.under_attack(UNGUARDED, |_| {
        let (folder, file) = (field.attacked(""), field.attacked("f"));
        if field.looks_inside(&folder) {
            let names = fs::read_dir(&folder).ok().into_iter().flatten().flatten();
            leaked[0] |= names.into_iter().any(|entry| entry.file_name() == "out-name");
        }
        if field.looks_inside(&file)
            && let Ok(text) = fs::read_to_string(&file)
        {
            drop(fs::write(&file, text.replace("old", "new")));
        }
        leaked[1] |= fs::read_to_string(field.out("f")).is_ok_and(|text| text.starts_with("new"));
        if field.looks_inside(&folder) {
            let printed = std::process::Command::new("cat").arg("f").current_dir(&folder).output();
            leaked[2] |= printed.is_ok_and(|printed| printed.stdout.ends_with(b"OUTSIDE"));
        }
        leaked == [true; 3]
    });
    assert_eq!(leaked, [true; 3], "the attack does not work: this test proves nothing");
}

/// The allowed folder itself.
fn whole(field: &Battlefield) -> Target {
    resolve(&field.root, &RelPath::default(), Purpose::Read).unwrap()
}

//! `nod restore`, by the program itself: a backup of this computer comes back whole with its seal, one of another without what
//! it allowed, and one that is none replaces nothing.
#![expect(clippy::disallowed_methods, reason = "the program is started as a person starts it, with files made by hand")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nod::engine::system_clock;
use nod::ir::{
    CallId, CallStatus, ConfirmMode, FileState, Session, SessionId, UndoEntry, UndoId, UndoOperation, UndoPlace,
    UndoState, UnixMs,
};
use nod::store::Store;
use serde_json::json;

use crate::support::desk::{blank_call, blank_session};

/// What takes back what the call of the chat did.
fn change() -> UndoEntry {
    UndoEntry {
        id: UndoId::new("u"),
        session: SessionId::new("s"),
        call: CallId::new("c"),
        message: None,
        operation: UndoOperation::Created,
        reverts: None,
        place: UndoPlace { folder: "/projects".to_owned(), device: 1, inode: 1, path: "a".to_owned() },
        before: FileState::Missing,
        after: FileState::Folder,
        made_folders: 0,
        state: UndoState::Done,
        created_at: UnixMs(1),
        settled_at: None,
    }
}

/// A data folder of one chat that asks before deletions only, and a backup of it.
struct Computer {
    place: tempfile::TempDir,
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

impl Computer {
    fn new() -> Self {
        let computer = Self { place: tempfile::tempdir().unwrap() };
        let store = Store::open(&computer.data(), system_clock()).unwrap().store;
        wait(async {
            let chat = Session { mode: ConfirmMode::DeletionsOnly, ..blank_session("s") };
            store.insert_session(&chat).await.unwrap();
            store.insert_call(&blank_call("s", "c", CallStatus::Succeeded)).await.unwrap();
            store.insert_undo(&change(), vec![("ab".to_owned(), 1)]).await.unwrap();
            store.set_setting("tools.disabled", &json!([])).await.unwrap();
            store.copy_to(computer.backup()).await.unwrap();
            // What comes after the backup.
            for mode in [ConfirmMode::Automatic, ConfirmMode::EveryCall] {
                store.update_session(&Session { mode, ..chat.clone() }).await.unwrap();
            }
            store.checkpoint_and_close().await.unwrap();
        });
        computer
    }

    fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    fn backup(&self) -> PathBuf {
        self.place.path().join("nod-backup.db")
    }

    fn nod(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
        command.env("NOD_DATA_DIR", self.data()).env("HOME", self.place.path()).env("LANG", "en_US.UTF-8");
        command.args(words).stdin(std::process::Stdio::null()).output().unwrap()
    }

    fn restore(&self, backup: &Path, more: &[&str]) -> Output {
        self.nod(&[&["restore", backup.to_str().unwrap()], more].concat())
    }

    fn mode(&self) -> ConfirmMode {
        let store = Store::open(&self.data(), system_clock()).unwrap().store;
        wait(async { store.session(&SessionId::new("s")).await.unwrap().unwrap().mode })
    }

    /// The entries that take changes back, and whether the chat's call is told of by somebody else.
    fn told(&self) -> (Vec<UndoEntry>, bool, usize) {
        let store = Store::open(&self.data(), system_clock()).unwrap().store;
        wait(async {
            let calls = store.recent_calls(&SessionId::new("s"), 9).await.unwrap();
            let images = store.undo_images().await.unwrap().len();
            (store.all_undo_entries(9).await.unwrap(), calls[0].grounds.is_imported, images)
        })
    }

    fn verifies(&self) -> bool {
        self.nod(&["audit", "--verify"]).status.success()
    }

    /// What stands where the database is.
    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.data().join("nod.db")).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_backup_of_this_computer_comes_back_with_what_it_allowed_and_the_record_is_whole() {
    let computer = Computer::new();
    // The control: put in its place by hand, it is an older copy that nobody vouches for.
    let other = Computer::new();
    std::fs::copy(other.backup(), other.data().join("nod.db")).unwrap();
    assert!(!other.verifies());

    let done = computer.restore(&computer.backup(), &[]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let told = text(&done.stdout);
    assert!(told.contains("Lines that only the replaced database has: 2"), "{told}");
    assert_eq!(text(&done.stderr), "");
    assert!(computer.verifies());
    assert_eq!(computer.mode(), ConfirmMode::DeletionsOnly);
    assert!(computer.verifies(), "and after a start too");
    assert_eq!(computer.told(), (vec![change()], false, 1));
    let lines = text(&computer.nod(&["audit"]).stdout);
    assert!(lines.contains("restored") && lines.contains("the replaced file had 2 more"), "{lines}");
    let aside = std::fs::read_dir(computer.data()).unwrap().flatten();
    let aside: Vec<_> = aside.filter(|entry| entry.file_name().to_string_lossy().contains(".replaced-")).collect();
    assert_eq!(aside.len(), 1, "what was replaced is kept");
}

#[test]
fn a_backup_of_another_computer_is_refused_or_comes_without_what_it_allowed() {
    let (computer, other) = (Computer::new(), Computer::new());
    let before = computer.bytes();
    let refused = computer.restore(&other.backup(), &[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("--from-elsewhere"), "{}", text(&refused.stderr));
    assert!(computer.bytes() == before && computer.verifies(), "nothing was replaced");

    let done = computer.restore(&other.backup(), &["--from-elsewhere"]);
    assert!(done.status.success());
    assert!(text(&done.stderr).contains("made elsewhere"), "{}", text(&done.stderr));
    assert_eq!(computer.mode(), ConfirmMode::EveryCall);
    let enabled = text(&computer.nod(&["config", "get", "tools.enabled"]).stdout);
    assert_eq!(enabled.trim(), "false");
    assert!(!computer.verifies(), "nobody can vouch for the beginning of its record");
    // The control: it holds a change that its own computer would take back, and a call like any of its own.
    assert!(other.restore(&other.backup(), &[]).status.success());
    assert_eq!(other.told(), (vec![change()], false, 1));
    assert_eq!(computer.told(), (vec![], true, 0));
    assert_eq!(text(&computer.nod(&["undo", "list"]).stdout), "");
}

#[test]
fn a_change_that_was_edited_in_a_backup_of_this_computer_is_said_to_be_and_never_undone() {
    let computer = Computer::new();
    assert!(text(&computer.nod(&["undo", "list"]).stdout).contains("done"), "the control");
    let outside = rusqlite::Connection::open(computer.backup()).unwrap();
    outside.execute_batch("UPDATE undo SET place = replace(place, 'projects', 'home')").unwrap();
    drop(outside);
    let done = computer.restore(&computer.backup(), &[]);
    assert!(done.status.success() && text(&done.stderr).contains("history of changes"), "{}", text(&done.stderr));
    assert_eq!(computer.told().0[0].state, UndoState::Altered);
    assert!(text(&computer.nod(&["undo", "list"]).stdout).contains("changed outside Nod"));
    let refused = computer.nod(&["undo", "apply", "u"]);
    assert!(
        !refused.status.success() && text(&refused.stderr).contains("nothing was done"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn what_is_no_backup_or_was_changed_since_replaces_nothing() {
    let computer = Computer::new();
    let before = computer.bytes();
    let broken = computer.place.path().join("broken.db");
    std::fs::write(&broken, "this was never a database").unwrap();
    let changed = computer.place.path().join("changed.db");
    std::fs::copy(computer.backup(), &changed).unwrap();
    let outside = rusqlite::Connection::open(&changed).unwrap();
    outside
        .execute_batch("DROP TRIGGER audit_is_never_changed; UPDATE audit SET entry = replace(entry, 'nod', 'person')")
        .unwrap();
    drop(outside);
    for backup in [broken, changed, computer.place.path().join("nowhere.db"), computer.data().join("nod.db")] {
        let refused = computer.restore(&backup, &[]);
        assert_eq!(refused.status.code(), Some(1), "{backup:?}");
        assert!(!text(&refused.stderr).is_empty(), "{backup:?}");
        assert!(computer.bytes() == before, "{backup:?}");
    }
    assert!(computer.verifies());
    // A chat that was loosened in the backup by hand is none of Nod's.
    let outside = rusqlite::Connection::open(computer.backup()).unwrap();
    outside.execute_batch("UPDATE session SET mode = 'automatic'").unwrap();
    drop(outside);
    let done = computer.restore(&computer.backup(), &[]);
    assert!(done.status.success() && text(&done.stderr).contains("Changed from outside"), "{}", text(&done.stderr));
    assert_eq!(computer.mode(), ConfirmMode::EveryCall);
}

#[test]
fn no_backup_is_restored_under_a_nod_that_is_open() {
    let computer = Computer::new();
    let store = Store::open(&computer.data(), system_clock()).unwrap().store;
    let refused = computer.restore(&computer.backup(), &[]);
    assert_eq!(refused.status.code(), Some(1));
    drop(store);
    assert!(computer.restore(&computer.backup(), &[]).status.success(), "the control");
}

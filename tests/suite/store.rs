//! The store against what really happens to files: a killed process, a full disk, a folder that cannot be written, damage,
//! another program's or a newer Nod's database, a second start.
#![expect(clippy::disallowed_methods, reason = "damages files and starts itself again to be killed")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use nod::ir::{
    CallId, CallRecord, CallStatus, Clock, ConfirmMode, Message, MessageId, MessageRecord, MessageStatus, Role,
    Session, SessionId, ThinkingLevel, ToolCall, UnixMs,
};
use nod::store::{BackupFrom, Delta, Distrust, Opened, Store, StoreError};
use rusqlite::Connection;

/// Set for the copy of this test program that is to be killed: the data folder that it writes to.
const VICTIM: &str = "NOD_TEST_STORE_VICTIM";

fn clock() -> Clock {
    Arc::new(|| UnixMs(9_000))
}

fn open(folder: &Path) -> Opened {
    Store::open(folder, clock()).unwrap()
}

fn database(folder: &Path) -> PathBuf {
    folder.join("nod.db")
}

fn session(id: &str) -> Session {
    Session {
        id: SessionId::new(id),
        title: String::new(),
        provider: String::new(),
        model: String::new(),
        thinking: ThinkingLevel::Auto,
        folders: Vec::new(),
        mode: ConfirmMode::Changes,
        is_local_only: false,
        system_prompt: None,
        pinned: false,
        head: None,
        draft: String::new(),
        created_at: UnixMs(1),
        updated_at: UnixMs(1),
    }
}

fn message(id: &str, parent: Option<&str>, role: Role, text: &str) -> MessageRecord {
    MessageRecord {
        id: MessageId::new(id),
        session: SessionId::new("s"),
        parent: parent.map(MessageId::new),
        message: Message::text(role, text, UnixMs(2)),
        status: MessageStatus::Complete,
        answer: None,
        error: None,
        version: (1, 1),
    }
}

fn call(id: &str, message: &str, status: CallStatus) -> CallRecord {
    CallRecord {
        call: ToolCall {
            id: CallId::new(id),
            name: "delete_file".to_owned(),
            args: serde_json::json!({"path": id}),
            iteration: 1,
            timestamp: UnixMs(2),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        },
        session: SessionId::new("s"),
        message: Some(MessageId::new(message)),
        status,
        args_hash: String::new(),
        target: None,
        verdict: None,
        decider: None,
        grounds: nod::ir::Grounds::default(),
        reason: None,
        preview: None,
        result: None,
        created_at: UnixMs(2),
        started_at: (status == CallStatus::Running).then_some(UnixMs(2)),
        finished_at: None,
    }
}

fn delta(text: &str) -> Vec<Delta> {
    vec![Delta { is_reasoning: false, text: text.to_owned() }]
}

fn is_sound(folder: &Path) -> bool {
    let connection = Connection::open(database(folder)).unwrap();
    let verdict: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    let broken_links = connection.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap();
    verdict == "ok" && !broken_links
}

#[tokio::test]
async fn what_was_broken_off_is_shown_as_such_and_runs_never_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).store;
    store.insert_session(&session("s")).await.unwrap();
    store.append_message(&message("q", None, Role::User, "?")).await.unwrap();
    store.begin_answer(&message("a", Some("q"), Role::Assistant, "")).await.unwrap();
    store.append_deltas(&MessageId::new("a"), delta("half 一半")).await.unwrap();
    for (id, status) in [
        ("pending", CallStatus::Pending),
        ("waiting", CallStatus::Waiting),
        ("running", CallStatus::Running),
        ("done", CallStatus::Succeeded),
    ] {
        store.insert_call(&call(id, "a", status)).await.unwrap();
    }
    drop(store);

    let Opened { store, recovered } = open(folder.path());
    let unknown = CallRecord {
        finished_at: Some(UnixMs(9_000)),
        status: CallStatus::Unknown,
        ..call("running", "a", CallStatus::Running)
    };
    assert_eq!(recovered.calls, [unknown]);
    assert_eq!(recovered.messages, [MessageId::new("a")]);
    let answer = store.message(&MessageId::new("a")).await.unwrap().unwrap();
    assert_eq!((answer.status, answer.message.content.as_str()), (MessageStatus::Interrupted, "half 一半"));
    assert_eq!(store.search("一半", 5).await.unwrap().len(), 1, "what had come is found");
    let states: Vec<_> =
        store.calls_for_messages(vec![answer.id]).await.unwrap().into_iter().map(|record| record.status).collect();
    assert_eq!(states, [CallStatus::Cancelled, CallStatus::Cancelled, CallStatus::Unknown, CallStatus::Succeeded]);
    let again = store.update_call(&call("running", "a", CallStatus::Running)).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
    store.checkpoint_and_close().await.unwrap();

    let third = open(folder.path());
    assert_eq!((third.recovered.calls, third.recovered.messages), (Vec::new(), Vec::new()), "it is told once");
}

#[tokio::test]
async fn closing_writes_what_is_queued_and_folds_the_log_in() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).store;
    store.insert_session(&session("s")).await.unwrap();
    let (other, late) = (store.clone(), store.clone());
    let queued = tokio::spawn(async move { other.append_message(&message("m", None, Role::User, "typed")).await });
    tokio::task::yield_now().await;
    store.checkpoint_and_close().await.unwrap();
    queued.await.unwrap().unwrap();
    assert!(matches!(late.list_sessions().await, Err(StoreError::Closed)));
    assert!(!folder.path().join("nod.db-wal").exists());
    let connection = Connection::open(database(folder.path())).unwrap();
    let kept: i64 = connection.query_row("SELECT count(*) FROM message", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
}

/// The program that is killed. Without the variable there is nothing for it to do; `a_kill_at_any_moment_…` starts it.
#[tokio::test]
async fn victim() {
    let Some(folder) = std::env::var_os(VICTIM) else { return };
    let Opened { store, recovered: _ } = Store::open(Path::new(&folder), clock()).unwrap();
    let mut parent = store.session(&SessionId::new("s")).await.unwrap().unwrap().head;
    let mut out = std::io::stdout().lock();
    let mut say = |line: String| {
        writeln!(out, "\nACK {line}").unwrap();
        out.flush().unwrap();
    };
    for number in 0.. {
        let unique = |kind: &str| format!("{kind}-{}-{number}", std::process::id());
        let (question, answer, effect) = (unique("q"), unique("a"), unique("c"));
        let parent_id = parent.as_ref().map(MessageId::as_str);
        store.append_message(&message(&question, parent_id, Role::User, "问题 question")).await.unwrap();
        say(format!("message {question}"));
        let mut record = message(&answer, Some(&question), Role::Assistant, "");
        store.begin_answer(&record).await.unwrap();
        for _ in 0..5 {
            store.append_deltas(&record.id, delta("一段 text ")).await.unwrap();
            record.message.content.push_str("一段 text ");
        }
        store.insert_call(&call(&effect, &answer, CallStatus::Pending)).await.unwrap();
        store.update_call(&call(&effect, &answer, CallStatus::Running)).await.unwrap();
        say(format!("running {effect}"));
        store.update_call(&call(&effect, &answer, CallStatus::Succeeded)).await.unwrap();
        say(format!("succeeded {effect}"));
        store.finish_message(&record).await.unwrap();
        say(format!("finished {answer}"));
        parent = Some(record.id);
    }
}

#[tokio::test]
async fn a_kill_at_any_moment_loses_nothing_that_was_acknowledged_and_doubles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).store.insert_session(&session("s")).await.unwrap();
    let mut random = [0_u8; 20];
    getrandom::fill(&mut random).unwrap();
    let mut interrupted = 0;
    for moment in random {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::victim", "--nocapture"])
            .env(VICTIM, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = Vec::new();
        // The victim runs on while the last line is read: where it is killed is up to chance.
        for line in lines.by_ref().map_while(Result::ok) {
            if let Some(line) = line.strip_prefix("ACK ") {
                acknowledged.push(line.to_owned());
                if acknowledged.len() > usize::from(moment % 40) {
                    break;
                }
            }
        }
        assert!(acknowledged.len() > usize::from(moment % 40), "the victim ended by itself: {acknowledged:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        // What it had said before it died counts too.
        acknowledged
            .extend(lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("ACK ").map(str::to_owned)));

        let Opened { store, recovered } = open(folder.path());
        interrupted += recovered.messages.len();
        let calls = store.recent_calls(&SessionId::new("s"), usize::MAX).await.unwrap();
        for line in acknowledged {
            let (what, id) = line.split_once(' ').unwrap();
            let message = || async { store.message(&MessageId::new(id)).await.unwrap().unwrap() };
            let status = || calls.iter().find(|record| record.call.id.as_str() == id).unwrap().status;
            match what {
                "message" => assert_eq!(message().await.message.content, "问题 question"),
                "finished" => {
                    let answer = message().await;
                    assert_eq!(
                        (answer.status, answer.message.content),
                        (MessageStatus::Complete, "一段 text ".repeat(5))
                    );
                }
                "running" => assert!(matches!(status(), CallStatus::Unknown | CallStatus::Succeeded), "{:?}", status()),
                "succeeded" => assert_eq!(status(), CallStatus::Succeeded),
                other => panic!("{other}"),
            }
        }
        assert!(
            calls.iter().all(|record| !matches!(
                record.status,
                CallStatus::Pending | CallStatus::Waiting | CallStatus::Running
            ))
        );
        for id in recovered.messages {
            let broken_off = store.message(&id).await.unwrap().unwrap();
            assert_eq!(broken_off.status, MessageStatus::Interrupted);
            assert_eq!(broken_off.message.content.replace("一段 text ", ""), "", "whole deltas only");
        }
        store.checkpoint_and_close().await.unwrap();
        assert!(is_sound(folder.path()));
    }
    println!("{interrupted} answers were broken off");
}

#[tokio::test]
async fn a_second_opener_is_told_and_reading_beside_the_writer_works() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path()).store;
    first.insert_session(&session("s")).await.unwrap();
    let second = Store::open(folder.path(), clock());
    assert!(matches!(second, Err(StoreError::Locked { .. })), "{second:?}");

    let reader = Store::open_read_only(folder.path(), clock()).unwrap();
    assert_eq!(reader.list_sessions().await.unwrap(), [session("s")]);
    let refused = reader.save_draft(&SessionId::new("s"), "x").await;
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
    first.append_message(&message("m", None, Role::User, "new")).await.unwrap();
    assert_eq!(reader.branch(&SessionId::new("s")).await.unwrap().len(), 1);

    drop(first);
    open(folder.path());
}

#[tokio::test]
async fn a_newer_database_is_read_and_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).store;
    store.insert_session(&session("s")).await.unwrap();
    store.checkpoint_and_close().await.unwrap();
    let newer = Connection::open(database(folder.path())).unwrap();
    newer.execute_batch("PRAGMA user_version = 99; CREATE TABLE from_the_future (x)").unwrap();
    newer.close().unwrap();
    let before = fs::read(database(folder.path())).unwrap();

    let refused = Store::open(folder.path(), clock());
    assert!(matches!(refused, Err(StoreError::Newer { found: 99, .. })), "{refused:?}");
    let reader = Store::open_read_only(folder.path(), clock()).unwrap();
    assert_eq!(reader.list_sessions().await.unwrap(), [session("s")]);
    assert!(matches!(reader.delete_session(&SessionId::new("s")).await, Err(StoreError::ReadOnly { .. })));
    drop(reader);
    assert!(fs::read(database(folder.path())).unwrap() == before);
}

#[tokio::test]
async fn a_damaged_database_is_set_aside_and_the_last_backup_can_come_back() {
    for damage in [damage_header, damage_pages] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).store;
        store.insert_session(&session("s")).await.unwrap();
        for number in 0..200 {
            store.append_message(&message(&number.to_string(), None, Role::User, &"text ".repeat(200))).await.unwrap();
        }
        store.checkpoint_and_close().await.unwrap();
        fs::copy(database(folder.path()), folder.path().join("nod.db.backup-1")).unwrap();
        let mut bytes = fs::read(database(folder.path())).unwrap();
        damage(&mut bytes);
        fs::write(database(folder.path()), &bytes).unwrap();

        let refused = Store::open(folder.path(), clock());
        let Err(StoreError::Corrupt { aside: Some(aside), backup: Some(backup), .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(aside, folder.path().canonicalize().unwrap().join("nod.db.corrupt-9000"));
        assert!(fs::read(&aside).unwrap() == bytes, "set aside as it was");
        let restore = || Store::restore(folder.path(), &backup, BackupFrom::Here, &clock(), || None);
        assert_eq!(restore().unwrap().aside, None);
        let restored = open(folder.path()).store;
        assert_eq!(restored.branch(&SessionId::new("s")).await.unwrap().len(), 1);
        assert!(matches!(restore(), Err(StoreError::Locked { .. })));
        restored.checkpoint_and_close().await.unwrap();
        let aside = restore().unwrap().aside;
        assert!(aside.is_some_and(|aside| aside.is_file()), "what a backup replaces is kept");
    }
}

fn damage_header(bytes: &mut [u8]) {
    bytes[..100].fill(0x5A);
}

/// As a failing disk does it: from the middle on, where only a check of the whole file sees it.
fn damage_pages(bytes: &mut [u8]) {
    let half = bytes.len() / 2;
    bytes[half..].fill(0x5A);
}

#[tokio::test]
async fn without_a_backup_the_next_start_begins_afresh() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(database(folder.path()), "this was never a database".repeat(100)).unwrap();
    let refused = Store::open(folder.path(), clock());
    assert!(matches!(refused, Err(StoreError::Corrupt { aside: Some(_), backup: None, .. })), "{refused:?}");
    let nowhere = Store::restore(folder.path(), &folder.path().join("none"), BackupFrom::Here, &clock(), || None);
    assert!(matches!(nowhere, Err(StoreError::Missing { .. })), "{nowhere:?}");
    assert_eq!(open(folder.path()).store.list_sessions().await.unwrap(), []);
}

#[test]
fn another_programs_database_and_a_foreign_trigger_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = Connection::open(database(folder.path())).unwrap();
    other.execute_batch("CREATE TABLE bookmark (url TEXT); PRAGMA user_version = 1").unwrap();
    other.close().unwrap();
    let refused = Store::open(folder.path(), clock());
    assert!(matches!(refused, Err(StoreError::Untrusted { problem: Distrust::ForeignDatabase, .. })), "{refused:?}");

    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let attacker = Connection::open(database(folder.path())).unwrap();
    attacker
        .execute_batch("CREATE TRIGGER widen AFTER INSERT ON session BEGIN UPDATE session SET folders = '[\"/\"]'; END")
        .unwrap();
    // The control: without the guard the trigger does its work.
    attacker
        .execute_batch(
            "INSERT INTO session (id, title, provider, model, thinking, mode, folders, pinned, draft, created_at, updated_at)
                VALUES ('x', '', '', '', 'auto', 'changes', '[]', 0, '', 0, 0)",
        )
        .unwrap();
    let folders: String = attacker.query_row("SELECT folders FROM session", [], |row| row.get(0)).unwrap();
    assert_eq!(folders, "[\"/\"]");
    attacker.close().unwrap();
    let refused = Store::open(folder.path(), clock());
    let expected = Distrust::ForeignSchema("widen".to_owned());
    assert!(matches!(&refused, Err(StoreError::Untrusted { problem, .. }) if *problem == expected), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn only_the_person_may_read_and_a_link_is_refused() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("data");
    let opened = open(&folder);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for name in ["nod.db", "nod.db-wal", "nod.db-shm", "nod.db.lock"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
    drop(opened);

    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(database(&folder), fs::Permissions::from_mode(0o666)).unwrap();
    let real = folder.canonicalize().unwrap();
    assert_eq!(open(&folder).recovered.repaired, [real.clone(), real.join("nod.db")]);
    assert_eq!((mode(&folder), mode(&database(&folder))), (0o700, 0o600));

    let elsewhere = outer.path().join("elsewhere.db");
    fs::rename(database(&folder), &elsewhere).unwrap();
    for name in ["nod.db", "nod.db-wal", "nod.db.lock"] {
        fs::remove_file(folder.join(name)).ok();
        symlink(&elsewhere, folder.join(name)).unwrap();
        let refused = Store::open(&folder, clock());
        assert!(matches!(refused, Err(StoreError::Untrusted { problem: Distrust::Link, .. })), "{name}: {refused:?}");
        fs::remove_file(folder.join(name)).unwrap();
    }
}

/// A small file system of its own, where the system lets us have one.
#[cfg(target_os = "linux")]
struct SmallDisk(tempfile::TempDir);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size},mode=0700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then_some(Self(folder))
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(self.0.path()).status();
        assert!(status.unwrap().success());
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0.path()).status().ok();
    }
}

/// Without the right to mount, `store::tests::a_full_database_…` holds the same rule by SQLite's own page limit.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_said_and_nothing_is_half_written() {
    let Some(disk) = SmallDisk::mount("1m") else {
        println!("no right to mount: the disk of this test cannot be made full");
        return;
    };
    let folder = disk.0.path();
    let store = open(folder).store;
    store.insert_session(&session("s")).await.unwrap();
    let mut kept = 0;
    let refused = loop {
        match store.append_message(&message(&kept.to_string(), None, Role::User, &"x".repeat(20_000))).await {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 100, "the disk never got full");
    };
    assert!(matches!(refused, StoreError::Full { .. }), "{refused:?}");
    assert!(refused.to_string().contains("full"), "{refused}");
    // A ledger row that cannot be kept is an error too: what it guards does not happen.
    let guard = store
        .insert_call(&CallRecord { reason: Some("y".repeat(400_000)), ..call("c", "0", CallStatus::Running) })
        .await;
    assert!(matches!(guard, Err(StoreError::Full { .. })), "{guard:?}");
    let head = store.session(&SessionId::new("s")).await.unwrap().unwrap().head;
    assert_eq!(head, Some(MessageId::new((kept - 1).to_string())), "the refused message did not become the head");

    disk.remount("size=8m");
    store.append_message(&message("after", None, Role::User, "again")).await.unwrap();
    store.checkpoint_and_close().await.unwrap();
    assert!(is_sound(folder));

    fs::write(folder.join("filler"), vec![0; 7 * 1024 * 1024]).ok();
    let mut filler = fs::OpenOptions::new().append(true).open(folder.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    match Store::open(folder, clock()) {
        Err(StoreError::Full { .. }) => {}
        Ok(opened) => {
            let refused = opened.store.append_message(&message("no", None, Role::User, &"x".repeat(20_000))).await;
            assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");
        }
        Err(other) => panic!("{other:?}"),
    }
}

/// A folder that cannot be written: by its mode, and for root, whom modes do not bind, by its file system.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_read_only_folder_is_said_and_can_still_be_read() {
    use std::os::unix::fs::PermissionsExt as _;

    let is_root = rustix::process::geteuid().is_root();
    let disk = if is_root { SmallDisk::mount("4m") } else { None };
    let plain = tempfile::tempdir().unwrap();
    let folder = disk.as_ref().map_or(plain.path(), |disk| disk.0.path());
    if is_root && disk.is_none() {
        // Root without the right to mount: the kernel's own file system is one that nobody can write.
        let refused = Store::open(Path::new("/sys/kernel"), clock());
        assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
        return;
    }
    let store = open(folder).store;
    store.insert_session(&session("s")).await.unwrap();
    store.checkpoint_and_close().await.unwrap();
    match &disk {
        Some(disk) => disk.remount("ro"),
        None => fs::set_permissions(folder, fs::Permissions::from_mode(0o500)).unwrap(),
    }
    let refused = Store::open(folder, clock());
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
    let reader = Store::open_read_only(folder, clock()).unwrap();
    assert_eq!(reader.list_sessions().await.unwrap(), [session("s")]);
    let refused = Store::open(&folder.join("new"), clock());
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
    drop(reader);
    if disk.is_none() {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn every_error_has_its_sentence_in_both_languages() {
    use nod::lang::{Arg, Lang, Locale};

    let path = PathBuf::from("/data/nod.db");
    let corrupt = |aside: Option<&str>, backup: Option<&str>| StoreError::Corrupt {
        path: path.clone(),
        aside: aside.map(PathBuf::from),
        backup: backup.map(PathBuf::from),
    };
    let untrusted = |problem| StoreError::Untrusted { path: path.clone(), problem };
    let errors = [
        StoreError::ReadOnly { path: path.clone() },
        StoreError::Full { path: path.clone() },
        StoreError::Newer { path: path.clone(), found: 2, known: 1 },
        corrupt(None, None),
        corrupt(Some("/aside"), None),
        corrupt(Some("/aside"), Some("/backup")),
        StoreError::Locked { path: path.clone() },
        untrusted(Distrust::Link),
        untrusted(Distrust::NotAFile),
        untrusted(Distrust::ForeignOwner),
        untrusted(Distrust::ForeignDatabase),
        untrusted(Distrust::ForeignSchema("t".to_owned())),
        StoreError::Missing { what: "session", id: "s".to_owned() },
        StoreError::Conflict { what: "session", id: "s".to_owned() },
        StoreError::Format { what: "message", source: serde_json::from_str::<serde_json::Value>("{").unwrap_err() },
        StoreError::Import { problem: "x" },
        StoreError::Io { action: "Copying", path: path.clone(), source: std::io::Error::other("broken") },
        StoreError::Sql { source: rusqlite::Error::InvalidQuery },
        StoreError::Closed,
    ];
    for locale in [Locale::English, Locale::Chinese] {
        let lang = Lang::new(locale);
        for error in &errors {
            let args = error.args();
            let filled: Vec<_> = args.iter().map(|(name, value)| (*name, Arg::from(value.as_str()))).collect();
            let sentence = lang.format(error.key(), &filled);
            assert_ne!(sentence, error.key(), "{error:?}");
            for (_, value) in &args {
                assert!(sentence.contains(value.as_str()), "{sentence} lacks {value}");
            }
        }
    }
}

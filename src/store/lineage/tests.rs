//! True upgrades, and databases that were set back to look like one.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::json;

use super::super::migration::STEPS;
use super::super::tests::{change, clock, session};
use super::super::{Opened, Recovery, Store};
use super::*;
use crate::ir::{
    AuditAct, AuditBreakKind, AuditEntry, AuditOrigin, ConfirmMode, KeyPlace, LinkServer, ProviderRecord, Session,
    SessionId, UndoState, UnixMs,
};

/// A data folder with a chat, a setting, a provider and a server, as this program leaves it.
struct Folder {
    place: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = Self { place: tempfile::tempdir().unwrap() };
        let store = folder.open().store;
        wait(async {
            store.insert_session(&session("s")).await.unwrap();
            store.set_setting("safety.mode", &json!("every-call")).await.unwrap();
            store.put_provider(&provider()).await.unwrap();
            store.put_link_server(&server()).await.unwrap();
            store.checkpoint_and_close().await.unwrap();
        });
        folder
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn open(&self) -> Opened {
        Store::open(self.path(), clock()).unwrap()
    }

    fn outside(&self, sql: &str) -> &Self {
        Connection::open(self.file("nod.db")).unwrap().execute_batch(sql).unwrap();
        self
    }

    fn without(&self, names: &[&str]) -> &Self {
        for name in names {
            std::fs::remove_file(self.file(name)).unwrap();
        }
        self
    }

    fn key(&self) -> SealKey {
        SealKey::in_folder(self.path()).unwrap().unwrap()
    }

    /// Makes the record what a program of before wrote: without a word of any format, with the anchor of then.
    fn as_then(&self) -> &Self {
        let mut connection = Connection::open(self.file("nod.db")).unwrap();
        let triggers = "DROP TRIGGER audit_is_never_changed; DROP TRIGGER audit_is_never_deleted;";
        connection.execute_batch(&format!("{triggers} DELETE FROM audit; DELETE FROM audit_head")).unwrap();
        let key = self.key();
        let transaction = connection.transaction().unwrap();
        for act in [AuditAct::Began, AuditAct::ModeChanged] {
            let entry = AuditEntry::new(UnixMs(1), act, AuditOrigin::Nod);
            audit::append(&transaction, &key, &entry).unwrap();
        }
        let (seq, hash) = audit::last(&transaction).unwrap().unwrap();
        transaction.commit().unwrap();
        let again: String = STEPS[3].split("CREATE TRIGGER").skip(1).fold(String::new(), |all, part| {
            format!("{all}CREATE TRIGGER{};", part.split_once("END;").map_or("", |(body, _)| body).to_owned() + "END")
        });
        connection.execute_batch(&again).unwrap();
        let code = key.code(&["nod audit anchor 1", &seq.to_string(), &hash]).unwrap();
        std::fs::write(self.file("audit.anchor"), format!("{seq} {hash} {code}\n")).unwrap();
        self
    }

    /// What is found when it is opened, the chat then, and what the record says.
    fn opened(&self) -> (Recovery, Session, Vec<AuditBreakKind>) {
        let Opened { store, recovered } = self.open();
        let (chat, breaks) = wait(async {
            let chat = store.session(&SessionId::new("s")).await.unwrap().unwrap();
            (chat, store.check_audit().await.unwrap().breaks)
        });
        (recovered, chat, breaks.into_iter().map(|found| found.kind).collect())
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn provider() -> ProviderRecord {
    ProviderRecord {
        id: "work".into(),
        preset: "openai-compatible".into(),
        base_url: "http://127.0.0.1:8080/v1".into(),
        is_remote: Some(false),
        ..ProviderRecord::default()
    }
}

fn server() -> LinkServer {
    LinkServer {
        url: "https://nod.example".into(),
        workspace: "/projects/a".into(),
        key: KeyPlace::Nowhere,
        is_paused: false,
    }
}

const WITHOUT_SETTING_CODES: &str = "DROP TABLE seal; ALTER TABLE undo DROP COLUMN code; PRAGMA user_version = 10;";
const WITHOUT_UNDO_CODES: &str = "ALTER TABLE undo DROP COLUMN code; PRAGMA user_version = 11;";
const WITHOUT_CODES: &str =
    "DROP TABLE seal; ALTER TABLE undo DROP COLUMN code; ALTER TABLE session DROP COLUMN code; ALTER TABLE secret DROP COLUMN code;
    ALTER TABLE lifted DROP COLUMN code; PRAGMA user_version = 9;";
const BEFORE_ANCHORS: &str = "DROP TABLE thread_draft; DROP INDEX undo_by_call; PRAGMA user_version = 7;";
const LOOSENED: &str = "UPDATE session SET mode = 'automatic', folders = '[\"/\"]';";

fn strict() -> (ConfirmMode, Vec<String>, bool) {
    (ConfirmMode::EveryCall, Vec::new(), true)
}

fn ground(chat: &Session) -> (ConfirmMode, Vec<String>, bool) {
    (chat.mode, chat.folders.clone(), chat.is_local_only)
}

#[test]
fn a_true_upgrade_keeps_everything_and_accuses_nobody() {
    for steps in [WITHOUT_SETTING_CODES.to_owned(), WITHOUT_CODES.to_owned()] {
        let folder = Folder::new();
        folder.as_then().outside(&steps);
        let looker = Store::open_read_only(folder.path(), clock()).unwrap();
        assert_eq!(wait(looker.settings()).unwrap()["safety.mode"], json!("every-call"), "{steps}");
        drop(looker);
        let (found, chat, breaks) = folder.opened();
        assert_eq!((found, breaks), (Recovery::default(), vec![]), "{steps}");
        assert_eq!(ground(&chat), ground(&session("s")), "{steps}");
        let store = folder.open().store;
        wait(async {
            assert_eq!(store.settings().await.unwrap()["safety.mode"], json!("every-call"));
            assert_eq!(store.providers().await.unwrap(), [provider()]);
            assert_eq!(store.link_servers().await.unwrap(), [server()]);
        });
    }
}

#[test]
fn an_upgrade_from_before_there_were_anchors_is_strict_and_accuses_nobody() {
    let folder = Folder::new();
    folder.as_then().outside(WITHOUT_CODES).outside(BEFORE_ANCHORS).without(&["audit.anchor"]);
    let (found, chat, breaks) = folder.opened();
    let unproven = Tightened { settings: true, providers: true, servers: true };
    assert_eq!(found, Recovery { unproven_sessions: 1, unproven, ..Recovery::default() });
    assert_eq!((ground(&chat), breaks), (strict(), vec![]));
    // Once, and the person may choose anew.
    let store = folder.open();
    assert_eq!(store.recovered, Recovery::default());
    wait(async {
        store.store.update_session(&Session { mode: ConfirmMode::Changes, ..chat }).await.unwrap();
        store.store.set_setting("safety.mode", &json!("changes")).await.unwrap();
    });
    drop(store);
    assert_eq!(folder.opened().1.mode, ConfirmMode::Changes);
}

#[test]
fn a_database_of_the_first_format_is_opened_strictly_and_begins_its_record() {
    let place = tempfile::tempdir().unwrap();
    let old = Connection::open(place.path().join("nod.db")).unwrap();
    old.execute_batch(STEPS[0]).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 0x4E6F6421; PRAGMA user_version = 1;
         INSERT INTO session VALUES (1, 's', '', '', '', 'auto', 'automatic', '[\"/\"]', NULL, 0, NULL, '', 1, 1, NULL)",
    )
    .unwrap();
    drop(old);
    let (mut found, chat, breaks) = Folder { place }.opened();
    // Whose file that was in this test.
    found.repaired.clear();
    assert_eq!(found, Recovery { unproven_sessions: 1, ..Recovery::default() });
    assert_eq!((ground(&chat), breaks), (strict(), vec![]));
}

#[test]
fn a_database_that_was_set_back_gets_no_codes_for_what_stands_in_it() {
    let set_back = format!("{LOOSENED} {WITHOUT_CODES}");
    let before_anchors = format!("{set_back} {BEFORE_ANCHORS}");
    let emptied = format!(
        "DROP TRIGGER audit_is_never_changed; DROP TRIGGER audit_is_never_deleted; DELETE FROM audit;
         DELETE FROM audit_head; {set_back}"
    );
    for (name, sql, gone) in [
        ("by a format", &set_back, &[][..]),
        ("without its anchor", &set_back, &["audit.anchor"]),
        ("to before there were anchors", &before_anchors, &["audit.anchor"]),
        ("without its key", &set_back, &["seal.key", "audit.anchor"]),
        ("with its record emptied", &emptied, &[]),
        ("with record, anchor and key emptied", &emptied, &["seal.key", "audit.anchor"]),
    ] {
        let folder = Folder::new();
        folder.outside(sql).without(gone);
        let (found, chat, breaks) = folder.opened();
        assert_eq!(ground(&chat), strict(), "{name}");
        assert!(found.is_audit_mended && breaks.contains(&AuditBreakKind::Mended), "{name}: {found:?} {breaks:?}");
        assert_eq!(found.changed_grounds + found.unproven_sessions, 1, "{name}");
        let store = folder.open().store;
        wait(async {
            assert!(store.settings().await.unwrap()["safety.mode"].is_null(), "{name}");
            assert_eq!(store.providers().await.unwrap()[0].is_remote, Some(true), "{name}");
            assert!(store.link_servers().await.unwrap()[0].is_paused, "{name}");
        });
    }
    // The control: the very same rows, vouched for by a record of then, are taken over.
    let folder = Folder::new();
    folder.as_then().outside(&set_back);
    assert_eq!(folder.opened().1.mode, ConfirmMode::Automatic);
}

#[test]
fn only_the_codes_of_settings_set_back_make_the_settings_strict_and_the_chats_stay() {
    let folder = Folder::new();
    folder.outside(&format!(
        "INSERT OR REPLACE INTO setting VALUES ('safety.mode', '\"automatic\"'); {WITHOUT_SETTING_CODES}"
    ));
    let (found, chat, _) = folder.opened();
    let all = Tightened { settings: true, providers: true, servers: true };
    assert_eq!(found, Recovery { is_audit_mended: true, tightened: all, ..Recovery::default() });
    assert_eq!(ground(&chat), ground(&session("s")));
}

#[test]
fn a_record_without_its_anchor_is_not_whole_however_much_is_cut_off() {
    let folder = Folder::new();
    let older = std::fs::read(folder.file("nod.db")).unwrap();
    let store = folder.open().store;
    wait(async {
        store.set_setting("safety.mode", &json!("changes")).await.unwrap();
        store.checkpoint_and_close().await.unwrap();
    });
    assert_eq!(folder.opened().2, vec![], "the control");
    std::fs::write(folder.file("nod.db"), older).unwrap();
    folder.without(&["audit.anchor"]);
    let looker = Store::open_read_only(folder.path(), clock()).unwrap();
    let kinds = |breaks: Vec<crate::ir::AuditBreak>| breaks.into_iter().map(|found| found.kind).collect::<Vec<_>>();
    let looked = wait(async { looker.check_audit().await.unwrap().breaks });
    assert_eq!(kinds(looked), [AuditBreakKind::Unanchored]);
    let (found, _, breaks) = folder.opened();
    assert!(found.is_audit_mended);
    assert_eq!(breaks, [AuditBreakKind::Mended]);
    assert_eq!(folder.opened().2, [AuditBreakKind::Mended], "and so it stays");
}

#[test]
fn a_start_that_was_broken_off_is_not_taken_for_an_attack() {
    // The key is there, the anchor of nothing beside it, and the database was never begun.
    let place = tempfile::tempdir().unwrap();
    super::super::seal::of_folder(place.path(), || None).unwrap();
    let begun = Store::open(place.path(), clock()).unwrap();
    assert!(!begun.recovered.is_audit_mended);
    // It was begun, and the anchor not written again.
    drop(begun);
    let key = SealKey::in_folder(place.path()).unwrap().unwrap();
    super::super::anchor::write(place.path(), &key, &Anchor::of_nothing()).unwrap();
    assert_eq!(Store::open(place.path(), clock()).unwrap().recovered, Recovery::default());
}

#[test]
fn what_loosens_beyond_a_chat_is_strict_once_something_else_wrote_it() {
    let settings = Tightened { settings: true, ..Tightened::default() };
    let providers = Tightened { providers: true, ..Tightened::default() };
    let servers = Tightened { servers: true, ..Tightened::default() };
    for (sql, expected) in [
        ("INSERT INTO setting VALUES ('general.theme', '\"dark\"')", Tightened::default()),
        ("UPDATE provider SET models = '[]'", Tightened::default()),
        ("UPDATE setting SET value = '\"automatic\"' WHERE key = 'safety.mode'", settings),
        ("DELETE FROM setting", settings),
        ("INSERT INTO setting VALUES ('tools.disabled', '[]')", settings),
        ("INSERT INTO setting VALUES ('models.ollama_url', '\"http://10.0.0.1:11434\"')", settings),
        ("UPDATE seal SET code = '' WHERE name = 'settings'", settings),
        ("DELETE FROM seal WHERE name = 'providers'", providers),
        ("UPDATE provider SET base_url = 'https://elsewhere.example'", providers),
        ("UPDATE provider SET is_remote = NULL", providers),
        ("UPDATE link_server SET workspace = '/'", servers),
        ("INSERT INTO link_server SELECT 2, 'https://other.example', '/', NULL, 0", servers),
    ] {
        let folder = Folder::new();
        folder.outside(sql);
        let looker = Store::open_read_only(folder.path(), clock()).unwrap();
        let seen = wait(async { looker.settings().await.unwrap() });
        assert_eq!(seen["safety.mode"].is_null(), expected.settings, "{sql}");
        drop(looker);
        let Opened { store, recovered } = folder.open();
        assert_eq!(recovered, Recovery { tightened: expected, ..Recovery::default() }, "{sql}");
        wait(async {
            let mode = &store.settings().await.unwrap()["safety.mode"];
            assert_eq!(*mode, if expected.settings { json!(null) } else { json!("every-call") }, "{sql}");
            let is_remote = store.providers().await.unwrap()[0].is_remote;
            assert_eq!(is_remote, Some(expected.providers), "{sql}");
            assert_eq!(store.link_servers().await.unwrap()[0].is_paused, expected.servers, "{sql}");
            // Told once; the person sets it anew, and that holds.
            store.set_setting("safety.mode", &json!("changes")).await.unwrap();
            store.put_provider(&provider()).await.unwrap();
            store.put_link_server(&server()).await.unwrap();
            store.checkpoint_and_close().await.unwrap();
        });
        let Opened { store, recovered } = folder.open();
        assert_eq!(recovered, Recovery::default(), "{sql}");
        wait(async {
            assert_eq!(store.settings().await.unwrap()["safety.mode"], json!("changes"));
            assert_eq!(store.providers().await.unwrap()[0], provider());
        });
    }
}

#[test]
fn a_value_that_something_else_has_sent_is_masked_again_and_told() {
    use crate::policy::{MaskedSecret, SecretKind};
    let secret = |is_released| MaskedSecret {
        id: "ab".into(),
        kind: SecretKind::Token,
        number: 1,
        tail: String::new(),
        is_released,
        places: std::collections::BTreeSet::new(),
    };
    for (released, sql, told) in [(false, "UPDATE secret SET is_released = 1", 1), (true, "SELECT 1", 0)] {
        let folder = Folder::new();
        let store = folder.open().store;
        let chat = SessionId::new("s");
        wait(async {
            store.keep_secrets(&chat, vec![secret(false)]).await.unwrap();
            if released {
                store.release_secret(&chat, "ab", true).await.unwrap();
            }
            store.checkpoint_and_close().await.unwrap();
        });
        folder.outside(&format!("{sql};"));
        let Opened { store, recovered } = folder.open();
        assert_eq!(recovered, Recovery { changed_releases: told, ..Recovery::default() }, "{sql}");
        assert_eq!(wait(async { store.secrets(&chat).await.unwrap() }), [secret(released)], "{sql}");
    }
}

#[test]
fn a_table_that_is_gone_keeps_the_database_closed() {
    for table in ["seal", "audit_head", "setting"] {
        let folder = Folder::new();
        folder.outside(&format!("DROP TABLE {table}"));
        assert!(Store::open(folder.path(), clock()).is_err(), "{table}");
    }
}

#[test]
fn what_takes_changes_back_is_taken_over_from_a_true_upgrade_alone_and_told_once_where_it_is_not() {
    const MOVED: &str = "UPDATE undo SET place = replace(place, 'projects', 'home');";
    let edited_and_set_back = format!("{MOVED} {WITHOUT_UNDO_CODES}");
    for (is_as_then, gone, sql, counted) in [
        (true, &[][..], WITHOUT_UNDO_CODES, 0),
        (true, &[], WITHOUT_SETTING_CODES, 0),
        (false, &[], "SELECT 1", 0),
        (false, &[], MOVED, 1),
        (false, &[], &edited_and_set_back, 1),
        (false, &["audit.anchor"], &edited_and_set_back, 1),
        (false, &["seal.key", "audit.anchor"], &edited_and_set_back, 1),
    ] {
        let folder = Folder::new();
        let store = folder.open().store;
        wait(async {
            store.insert_undo(&change("u"), vec![]).await.unwrap();
            store.checkpoint_and_close().await.unwrap();
        });
        if is_as_then {
            folder.as_then();
        }
        folder.outside(sql).without(gone);
        if counted == 0 {
            let looker = Store::open_read_only(folder.path(), clock()).unwrap();
            assert_eq!(wait(looker.all_undo_entries(9)).unwrap(), [change("u")], "an older format is looked at: {sql}");
        }
        let expected = if counted == 0 { UndoState::Done } else { UndoState::Altered };
        for counted in [counted, 0] {
            let Opened { store, recovered } = folder.open();
            let found = wait(store.all_undo_entries(9)).unwrap();
            assert_eq!((recovered.changed_undo, found[0].state), (counted, expected), "{sql} {gone:?}");
            wait(store.checkpoint_and_close()).unwrap();
        }
    }
    // The control: the very same row, vouched for by a record of then, is taken over.
    let folder = Folder::new();
    let store = folder.open().store;
    wait(async {
        store.insert_undo(&change("u"), vec![]).await.unwrap();
        store.checkpoint_and_close().await.unwrap();
    });
    folder.as_then().outside(&edited_and_set_back);
    let found = wait(folder.open().store.all_undo_entries(9)).unwrap();
    assert_eq!((found[0].state, found[0].shown_path().as_str()), (UndoState::Done, "/home/a"));
}

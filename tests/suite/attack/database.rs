//! The database of Nod's own: by whose hand it is opened, what it may hold, and that no tool comes near (3.18).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;

use nod::engine::system_clock;
use nod::store::{Distrust, Opened, Store, StoreError};
use rusqlite::Connection;

use super::Control::{Leaks, Plants, Shows};
use super::ground::Piece;
use super::{Bench, case};
use crate::support::desk::Setup;

fn open(folder: &Path) -> Result<Opened, StoreError> {
    Store::open(folder, system_clock())
}

/// A data folder with a database in it.
fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    folder
}

fn distrust(folder: &Path) -> Distrust {
    match open(folder) {
        Err(error @ StoreError::Untrusted { .. }) => {
            assert!(error.to_string().contains("was not opened"), "the person is told: {error}");
            match error {
                StoreError::Untrusted { problem, .. } => problem,
                _ => unreachable!(),
            }
        }
        other => panic!("it was trusted: {other:?}"),
    }
}

#[test]
fn a_link_in_its_place_is_refused_wherever_it_leads() {
    for name in ["nod.db", "nod.db-wal", "nod.db-shm", "nod.db-journal", "nod.db.lock"] {
        let folder = made();
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        fs::write(elsewhere.path(), "mine").unwrap();
        fs::remove_file(folder.path().join(name)).ok();
        symlink(elsewhere.path(), folder.path().join(name)).unwrap();
        assert_eq!(distrust(folder.path()), Distrust::Link, "{name}");
        assert_eq!(fs::read_to_string(elsewhere.path()).unwrap(), "mine");
        // The control: a plain open follows it.
        fs::write(folder.path().join(name), "attack").unwrap();
        assert_eq!(fs::read_to_string(elsewhere.path()).unwrap(), "attack");
        fs::remove_file(folder.path().join(name)).unwrap();
        fs::create_dir(folder.path().join(name)).unwrap();
        assert_eq!(distrust(folder.path()), Distrust::NotAFile, "{name}");
    }
}

#[test]
fn what_others_could_change_is_closed_to_them_and_told() {
    let folder = made();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    for (name, open_mode) in [("", 0o777), ("nod.db", 0o666)] {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(open_mode)).unwrap();
    }
    assert_eq!((mode(""), mode("nod.db")), (0o777, 0o666), "the control: others can");
    let opened = open(folder.path()).unwrap();
    assert_eq!(opened.recovered.repaired.len(), 2, "{:?}", opened.recovered.repaired);
    assert_eq!((mode(""), mode("nod.db")), (0o700, 0o600));
}

#[test]
fn somebody_elses_database_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("only root can give a file to somebody: not tried");
        return;
    }
    for name in ["", "nod.db"] {
        let folder = made();
        chown(folder.path().join(name), Some(65534), Some(65534)).unwrap();
        assert_eq!(distrust(folder.path()), Distrust::ForeignOwner, "{name:?}");
        // The control: to root the system gives it all the same.
        assert!(fs::read(folder.path().join("nod.db")).is_ok());
    }
}

#[test]
fn nothing_in_its_schema_runs_anything() {
    for (name, sql) in [
        ("bad_trigger", "CREATE TRIGGER bad_trigger AFTER INSERT ON session BEGIN DELETE FROM session; END"),
        ("bad_view", "CREATE VIEW bad_view AS SELECT * FROM session"),
        ("bad_table", "CREATE VIRTUAL TABLE bad_table USING fts5(x)"),
        ("bad_search", "create  virtual\ttable bad_search using fts5(x)"),
    ] {
        let folder = made();
        let attacker = Connection::open(folder.path().join("nod.db")).unwrap();
        attacker.execute_batch(sql).unwrap();
        attacker.close().unwrap();
        assert_eq!(distrust(folder.path()), Distrust::ForeignSchema(name.to_owned()), "{sql}");
        // The control: SQLite itself has nothing against it.
        assert!(Connection::open(folder.path().join("nod.db")).unwrap().prepare("SELECT * FROM session").is_ok());
    }
}

#[test]
fn no_tool_reads_or_writes_it() {
    let mut bench = Bench::with(Setup::new(Vec::new()).kept());
    let data = bench.desk.data.path().canonicalize().unwrap();
    let data: &'static str = data.to_str().unwrap().to_owned().leak();
    let folder = data.rsplit_once('/').unwrap();
    let at = |name: &str| format!("{data}/{name}");
    let readable = Shows(|_| ());
    let mut cases = Vec::new();
    for name in ["nod.db", "nod.db-wal", "nod.db-shm", "nod.db.lock", "new.txt", ""] {
        cases.push(case("3.18.9", "read").read(&at(name)).refused("BLOCKED_PATH_DENIED", readable));
        cases.push(case("3.18.9", "written").write(&at(name)).refused("BLOCKED_PATH_DENIED", readable));
        cases.push(case("3.18.9", "deleted").delete(&at(name)).refused("BLOCKED_PATH_DENIED", readable));
    }
    cases.push(case("3.18.9", "listed").list(data).refused("BLOCKED_PATH_DENIED", Shows(|_| ())));
    let spelled = format!("{}/./{}/../{}/nod.db", folder.0, folder.1, folder.1);
    cases.push(case("3.18.9", "by another spelling").read(&spelled).refused("BLOCKED_PATH_DENIED", readable));
    cases.push(
        case("3.18.9", "in other letters")
            .read(&at("NOD.DB").to_uppercase().replace("/TMP", "/tmp"))
            .refused("BLOCKED_PATH_DENIED", readable),
    );
    bench.holds(cases);
    assert!(fs::read(at("nod.db")).is_ok(), "the control: it can be read");

    // An allowed folder that holds it, and one that is it.
    let above: &'static str = folder.0;
    let name = folder.1;
    bench.holds(vec![
        case("3.18.10", "from the folder above")
            .folders(&[above])
            .read(&format!("{name}/nod.db"))
            .refused("BLOCKED_PATH_DENIED", readable),
        case("3.18.10", "from itself").folders(&[data]).read("nod.db").refused("BLOCKED_PATH_DENIED", readable),
    ]);
    let link: &'static str = at("nod.db").leak();
    bench.holds(vec![
        case("3.18.10", "through a link")
            .with([Piece::Link("ws/l", link)])
            .read("l")
            .refused("PATH_OUT_OF_SCOPE", readable),
        case("3.18.10", "a question for the folder does not come either")
            .with([Piece::File("ws/.env", super::SECRET)])
            .read(".env")
            .refused("SENSITIVE_PATH_DENIED", Leaks),
        case("3.18.10", "nor is anything planted").write(".mcp.json").refused("PROTECTED_PATH_DENIED", Plants),
    ]);
}

#[test]
fn a_second_writer_is_kept_out() {
    let folder = made();
    let first = open(folder.path()).unwrap();
    assert!(matches!(open(folder.path()), Err(StoreError::Locked { .. })));
    drop(first);
    assert!(open(folder.path()).is_ok());
}

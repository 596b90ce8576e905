//! The audit: what is on record, what never is, and that a change of it is noticed.
#![expect(clippy::disallowed_methods, reason = "the database is changed from outside, and the program is started")]

use std::path::Path;
use std::process::{Command as Process, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use nod::engine::system_clock;
use nod::ir::{
    AuditAct, AuditBreak, AuditBreakKind, AuditCheck, AuditEntry, AuditFilter, AuditOrigin, AuditRow, CallStatus,
    ConfirmMode, Decider, UnixMs, Verdict,
};
use nod::port::{Answer, Command, Event, TurnOptions};
use nod::provider::scripted::Step;
use nod::store::Store;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::desk::{Desk, Setup};

fn rows(desk: &mut Desk, filter: AuditFilter) -> Vec<AuditRow> {
    desk.send(Command::LoadAudit { filter, offset: 0, number: 7 });
    match desk.until(|event| matches!(event, Event::AuditLoaded { .. })) {
        Event::AuditLoaded { rows, number: 7, .. } => rows.into_iter().rev().collect(),
        _ => unreachable!(),
    }
}

fn entries(desk: &mut Desk) -> Vec<AuditEntry> {
    rows(desk, AuditFilter::default()).into_iter().filter_map(|row| row.entry).collect()
}

/// What stands in a line, in short.
fn short(entry: &AuditEntry) -> (AuditAct, &str, Option<Verdict>, Option<Decider>, &str) {
    (entry.act, entry.tool.as_str(), entry.verdict, entry.decider, entry.outcome.as_str())
}

fn store(data_dir: &Path) -> Store {
    Store::open_read_only(data_dir, system_clock()).unwrap()
}

fn check(data_dir: &Path) -> AuditCheck {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store(data_dir).check_audit()).unwrap()
}

#[test]
fn every_decision_is_on_record_with_who_made_it_and_what_became_of_it() {
    use AuditAct::{Decided, Ended};
    let mut desk = Desk::new(Vec::new());
    desk.write("a.txt", "old text");
    desk.tool("read_file", &json!({"path": "a.txt"}), &Answer::AllowOnce);
    desk.tool("write_file", &json!({"path": "a.txt", "content": "new"}), &Answer::AllowOnce);
    desk.tool(
        "write_file",
        &json!({"path": "a.txt", "content": "no"}),
        &Answer::Deny { reason: "planted words".into() },
    );
    desk.tool("read_file", &json!({"path": ".env"}), &Answer::AllowOnce);
    desk.tool("read_file", &json!({"path": "missing.txt"}), &Answer::AllowOnce);
    desk.tool_with("read_file", "{\"path\":\"a\",\"path\":\"b\"}", &Answer::AllowOnce, TurnOptions::default());
    let entries = entries(&mut desk);
    let about_calls: Vec<_> = entries.iter().filter(|entry| entry.call.is_some()).map(short).collect();
    let (allowed, denied) = (Some(Verdict::Allowed), Some(Verdict::Denied));
    assert_eq!(
        about_calls,
        [
            (Decided, "read_file", allowed, Some(Decider::Mode), ""),
            (Ended, "read_file", allowed, Some(Decider::Mode), "succeeded"),
            (Decided, "write_file", allowed, Some(Decider::Person), ""),
            (Ended, "write_file", allowed, Some(Decider::Person), "succeeded"),
            (Decided, "write_file", denied, Some(Decider::Person), "CONFIRMATION_REJECTED"),
            (Decided, "read_file", denied, Some(Decider::BuiltIn), "SENSITIVE_PATH_DENIED"),
            (Ended, "read_file", None, None, "PATH_NOT_FOUND"),
            (Ended, "read_file", None, None, "INVALID_ARGUMENTS"),
        ]
    );
    let write = entries.iter().find(|entry| short(entry).0 == Ended && entry.tool == "write_file").unwrap();
    assert_eq!((write.bytes, write.plan_hash.len(), write.origin), (Some(3), 64, AuditOrigin::CommandLine));
    assert!(write.duration_ms.is_some() && write.session.as_ref() == Some(&desk.session));
    assert_eq!(entries.first().map(|entry| entry.act), Some(AuditAct::Began));
}

#[test]
fn nothing_of_a_files_or_a_messages_content_is_on_record() {
    let planted = ["planted-content", "planted-reply", "planted-question", "planted-reason"];
    let write = Step::call("write_file", json!({"path": "planted-content.txt", "content": "planted-content"}));
    let mut desk = Desk::new(vec![vec![Step::text("planted-reply"), write], vec![Step::text("planted-reply")]]);
    desk.say("planted-question");
    let asked = desk.asked();
    desk.answer(&asked, Answer::Deny { reason: "planted-reason".into() });
    desk.turn_end();
    let lines = serde_json::to_string(&rows(&mut desk, AuditFilter::default())).unwrap();
    assert!(lines.contains("write_file"));
    for text in planted {
        assert!(!lines.contains(text), "{text}: {lines}");
    }
}

/// A desk at which a model asks to write `a.txt`.
fn writing(clock: nod::ir::Clock) -> Desk {
    let call = Step::call("write_file", json!({"path": "a.txt", "content": "mine"}));
    let mut setup = Setup::new(vec![vec![call], vec![Step::text("ok")]]);
    setup.clock = clock;
    let desk = Desk::with(setup);
    desk.write("a.txt", "old");
    desk
}

fn acts_of_calls(desk: &mut Desk) -> Vec<AuditAct> {
    entries(desk).into_iter().filter(|entry| entry.call.is_some()).map(|entry| entry.act).collect()
}

#[test]
fn a_yes_to_something_else_is_on_record_and_not_used() {
    let mut desk = writing(system_clock());
    desk.say("write");
    let first = desk.asked();
    desk.write("a.txt", "somebody else's longer text");
    desk.answer(&first, Answer::AllowOnce);
    let second = desk.asked();
    assert_eq!(desk.read("a.txt"), "somebody else's longer text");
    desk.answer(&second, Answer::AllowOnce);
    desk.turn_end();
    assert_eq!(acts_of_calls(&mut desk), [AuditAct::Stale, AuditAct::Decided, AuditAct::Ended]);
}

#[test]
fn a_yes_that_is_older_than_a_minute_is_on_record_and_not_used() {
    // While time flies, every look at the clock is 61 seconds after the one before.
    let (now, step) = (Arc::new(AtomicI64::new(1_764_460_800_000)), Arc::new(AtomicI64::new(0)));
    let (clock, flies) = (Arc::clone(&now), Arc::clone(&step));
    let mut desk = writing(Arc::new(move || UnixMs(clock.fetch_add(flies.load(Ordering::Relaxed), Ordering::Relaxed))));
    desk.say("write");
    let first = desk.asked();
    step.store(61_000, Ordering::Relaxed);
    desk.answer(&first, Answer::AllowOnce);
    let second = desk.asked();
    step.store(0, Ordering::Relaxed);
    assert_eq!(desk.read("a.txt"), "old", "nothing was done by the old yes");
    desk.answer(&second, Answer::AllowOnce);
    desk.turn_end();
    assert_eq!(desk.read("a.txt"), "mine");
    assert_eq!(acts_of_calls(&mut desk), [AuditAct::Expired, AuditAct::Decided, AuditAct::Ended]);
}

#[test]
fn a_change_of_what_decisions_rest_on_is_on_record() {
    let mut desk = Desk::new(Vec::new());
    let session = desk.session.clone();
    desk.send(Command::SetMode { session: session.clone(), mode: ConfirmMode::Automatic });
    desk.send(Command::SetMode { session: session.clone(), mode: ConfirmMode::EveryCall });
    desk.send(Command::SetLocalOnly { session, is_local_only: true });
    desk.set("safety.remember_commands", true);
    desk.set("general.send_key", "ctrl-enter");
    let changes: Vec<_> = entries(&mut desk)
        .into_iter()
        .filter(|entry| [AuditAct::ModeChanged, AuditAct::SettingChanged].contains(&entry.act))
        .map(|entry| (entry.origin, entry.detail))
        .filter(|(_, detail)| !detail.starts_with("safety.folders"))
        .collect();
    let person = |detail: &str| (AuditOrigin::Person, detail.to_owned());
    assert_eq!(
        changes,
        [
            person("changes → automatic"),
            person("automatic → every-call"),
            person("this machine only = true"),
            person("safety.remember_commands = true")
        ]
    );
}

#[test]
fn what_cannot_be_put_on_record_does_not_run() {
    let mut desk = Desk::with(Setup::new(Vec::new()).kept());
    let write = |desk: &mut Desk, path: &str| {
        desk.tool("write_file", &json!({"path": path, "content": "x"}), &Answer::AllowOnce)
    };
    // The control: it runs.
    assert!(write(&mut desk, "before.txt").success);
    let outside = Connection::open(desk.data.path().join("nod.db")).unwrap();
    outside.execute_batch("DELETE FROM audit_head").unwrap();
    let refused = write(&mut desk, "after.txt");
    assert!(!refused.success && !desk.path("after.txt").exists(), "{refused:?}");
    assert!(desk.path("before.txt").exists());
}

#[test]
fn the_table_itself_refuses_to_be_changed() {
    let desk = Desk::with(Setup::new(Vec::new()).kept());
    let outside = Connection::open(desk.data.path().join("nod.db")).unwrap();
    for sql in ["UPDATE audit SET hash = ''", "DELETE FROM audit"] {
        let refused = outside.execute_batch(sql).unwrap_err().to_string();
        assert!(refused.contains("only added to"), "{refused}");
    }
    // The control: without its triggers it lets everything happen.
    outside.execute_batch("DROP TRIGGER audit_is_never_changed; UPDATE audit SET hash = ''").unwrap();
}

/// A desk with a few lines on record, its engine stopped.
fn recorded() -> Desk {
    let mut desk = Desk::with(Setup::new(Vec::new()).kept());
    desk.write("a.txt", "text");
    for _ in 0..4 {
        desk.tool("read_file", &json!({"path": "a.txt"}), &Answer::AllowOnce);
    }
    desk.stop_engine();
    desk
}

/// Takes the triggers away and does this.
fn tamper(desk: &Desk, sql: &str) {
    let outside = Connection::open(desk.data.path().join("nod.db")).unwrap();
    outside.execute_batch("DROP TRIGGER audit_is_never_changed; DROP TRIGGER audit_is_never_deleted").unwrap();
    outside.execute_batch(sql).unwrap();
}

fn kinds(check: &AuditCheck) -> Vec<AuditBreakKind> {
    check.breaks.iter().map(|found| found.kind).collect()
}

#[test]
fn every_change_of_the_record_is_noticed_with_its_place() {
    use AuditBreakKind::{Changed, Cut, Forged, Missing, Unreadable};
    let desk = recorded();
    let whole = check(desk.data.path());
    assert_eq!(whole.breaks, [], "the control: untouched, it is whole");
    let last = whole.lines;
    for (name, sql, expected) in [
        (
            "a word changed",
            "UPDATE audit SET entry = replace(entry, 'mode', 'person') WHERE seq = 5".to_owned(),
            Changed,
        ),
        ("a line removed", "DELETE FROM audit WHERE seq = 5".to_owned(), Missing),
        ("the end cut off", format!("DELETE FROM audit WHERE seq > {}", last - 2), Cut),
        (
            "the end cut off and the head set back",
            format!(
                "DELETE FROM audit WHERE seq > {0}; UPDATE audit_head SET seq = {0}, hash = (SELECT hash FROM audit WHERE \
                 seq = {0})",
                last - 2
            ),
            Forged,
        ),
        ("the head removed", "DELETE FROM audit_head".to_owned(), Forged),
        ("a line that is none", "UPDATE audit SET entry = 'x' WHERE seq = 4".to_owned(), Unreadable),
        (
            "a line put in",
            "INSERT INTO audit (seq, entry, hash) SELECT seq + 1, entry, hash FROM audit ORDER BY seq DESC LIMIT 1"
                .to_owned(),
            Changed,
        ),
    ] {
        let desk = recorded();
        tamper(&desk, &sql);
        let found = check(desk.data.path());
        assert!(kinds(&found).contains(&expected), "{name}: {found:?}");
    }
}

#[test]
fn a_chain_that_was_computed_anew_without_the_key_is_noticed() {
    let desk = recorded();
    tamper(&desk, "UPDATE audit SET entry = replace(entry, '\"succeeded\"', '\"failed\"')");
    // The outsider knows how the hashes are made, and makes all of them again, the head's too.
    let outside = Connection::open(desk.data.path().join("nod.db")).unwrap();
    let lines: Vec<(i64, String)> = outside
        .prepare("SELECT seq, entry FROM audit ORDER BY seq")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut before = String::new();
    for (seq, entry) in &lines {
        before = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(format!("{before}\n{seq}\n{entry}")));
        outside.execute("UPDATE audit SET hash = ?2 WHERE seq = ?1", rusqlite::params![seq, before]).unwrap();
    }
    outside.execute("UPDATE audit_head SET hash = ?1", [&before]).unwrap();
    drop(outside);
    let last = u64::try_from(lines.len()).unwrap();
    // The control: line by line the new chain is whole; only the code of its end is not.
    assert_eq!(check(desk.data.path()).breaks, [AuditBreak { seq: last, kind: AuditBreakKind::Forged }]);
}

#[test]
fn a_cut_that_happened_before_a_start_stays_on_record() {
    let mut desk = recorded();
    let last = check(desk.data.path()).lines;
    tamper(&desk, &format!("DELETE FROM audit WHERE seq > {}; DELETE FROM audit_head", last - 3));
    desk.start_engine();
    desk.tool("read_file", &json!({"path": "a.txt"}), &Answer::AllowOnce);
    desk.stop_engine();
    let found = check(desk.data.path());
    assert_eq!(kinds(&found), [AuditBreakKind::Mended], "{found:?}");
}

#[test]
fn filters_and_pages_give_what_fits_newest_first() {
    let mut desk = Desk::new(Vec::new());
    desk.write("a.txt", "text");
    for path in ["a.txt", ".env", "a.txt", ".env"] {
        desk.tool("read_file", &json!({"path": path}), &Answer::AllowOnce);
    }
    let denied = AuditFilter { verdict: Some(Verdict::Denied), ..AuditFilter::default() };
    assert_eq!(rows(&mut desk, denied.clone()).len(), 2);
    let by_mode =
        AuditFilter { decider: Some(Decider::Mode), tool: Some("read_file".into()), ..AuditFilter::default() };
    assert_eq!(rows(&mut desk, by_mode).len(), 4);
    let elsewhere = AuditFilter { session: Some(nod::ir::SessionId::new("other")), ..AuditFilter::default() };
    assert_eq!(rows(&mut desk, elsewhere).len(), 0);
    let early = AuditFilter { until: Some(UnixMs(1)), ..AuditFilter::default() };
    assert_eq!(rows(&mut desk, early).len(), 0);
    let all = rows(&mut desk, AuditFilter::default());
    assert!(all.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq), "newest first, without gaps");
    let first = rows(&mut desk, AuditFilter { up_to: Some(2), ..AuditFilter::default() });
    assert_eq!(first, all[..2]);
}

struct Bench(tempfile::TempDir);

impl Bench {
    fn nod(&self, words: &[&str]) -> Output {
        Process::new(env!("CARGO_BIN_EXE_nod"))
            .env("NOD_DATA_DIR", self.0.path().join("data"))
            .env("HOME", self.0.path().join("home"))
            .env("LANG", "en_US.UTF-8")
            .current_dir(self.0.path())
            .args(words)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
    }
}

#[test]
fn the_command_line_lists_filters_examines_and_writes_tables() {
    let bench = Bench(tempfile::tempdir().unwrap());
    std::fs::create_dir(bench.0.path().join("project")).unwrap();
    assert_eq!(bench.nod(&["audit"]).status.code(), Some(0), "nothing is on record yet");
    for (words, exit) in [
        (
            &["tool", "write_file", r#"{"path":"a.txt","content":"x"}"#, "--folder", "project", "--approve", "writes"]
                [..],
            0,
        ),
        (&["tool", "write_file", r#"{"path":"b.txt","content":"x"}"#, "--folder", "project", "--approve", "never"], 3),
    ] {
        assert_eq!(bench.nod(words).status.code(), Some(exit), "{words:?}");
    }
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
    let listed = text(&bench.nod(&["audit", "--verdict", "denied"]));
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(
        listed.contains("denied") && listed.contains("flag") && listed.contains("CONFIRMATION_REJECTED"),
        "{listed}"
    );
    let json = text(&bench.nod(&["audit", "--json", "--tool", "write_file"]));
    let acts: Vec<String> = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["entry"]["act"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(acts, ["decided", "ended", "decided"]);
    let table = text(&bench.nod(&["audit", "--csv", "--limit", "1"]));
    assert!(table.starts_with("seq,time,act,") && table.lines().count() == 2, "{table}");
    assert_eq!(bench.nod(&["audit", "--since", "the other day"]).status.code(), Some(2));

    let verified = bench.nod(&["audit", "--verify"]);
    assert_eq!((verified.status.code(), text(&verified).starts_with("whole: ")), (Some(0), true));
    let outside = Connection::open(bench.0.path().join("data/nod.db")).unwrap();
    outside
        .execute_batch(
            "DROP TRIGGER audit_is_never_changed; UPDATE audit SET entry = replace(entry, 'denied', 'allowed') WHERE seq = 4",
        )
        .unwrap();
    drop(outside);
    let verified = bench.nod(&["audit", "--verify", "--json"]);
    let found: AuditCheck = serde_json::from_str(text(&verified).trim()).unwrap();
    assert_eq!(verified.status.code(), Some(1));
    assert_eq!(
        found.breaks.first().map(|found| (found.seq, found.kind)),
        Some((4, AuditBreakKind::Changed)),
        "{found:?}"
    );
}

#[test]
fn an_export_is_the_shown_lines_oldest_first_as_a_table_or_as_json() {
    let mut desk = Desk::new(Vec::new());
    desk.write("a.txt", "text");
    desk.tool("read_file", &json!({"path": "a.txt"}), &Answer::AllowOnce);
    let filter = AuditFilter { tool: Some("read_file".into()), ..AuditFilter::default() };
    let shown = rows(&mut desk, filter.clone());
    for name in ["out.jsonl", "out.csv"] {
        let path = desk.home.path().join(name);
        desk.send(Command::ExportAudit { filter: filter.clone(), path: path.clone() });
        desk.until(|event| matches!(event, Event::FileWritten { .. }));
        let text = std::fs::read_to_string(path).unwrap();
        if name == "out.csv" {
            assert_eq!(text.matches("\r\n").count(), 1 + shown.len(), "{text}");
        } else {
            let read: Vec<AuditRow> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(read, shown);
        }
    }
}

#[test]
fn what_a_crash_left_open_is_on_record_at_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    let data_dir = place.path().canonicalize().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = Store::open(&data_dir, system_clock()).unwrap().store;
    runtime.block_on(async {
        let session = crate::support::desk::blank_session("s");
        store.insert_session(&session).await.unwrap();
        store.insert_call(&crate::support::desk::blank_call("s", "c", CallStatus::Running)).await.unwrap();
    });
    drop(store);
    let store = Store::open(&data_dir, system_clock()).unwrap().store;
    let rows = runtime.block_on(store.audit_page(&AuditFilter::default(), 0, 1)).unwrap();
    let entry = rows[0].entry.clone().unwrap();
    assert_eq!((entry.act, entry.outcome.as_str(), entry.origin), (AuditAct::Recovered, "unknown", AuditOrigin::Nod));
}

#[test]
fn an_older_copy_of_the_database_that_is_put_back_is_noticed() {
    let mut desk = Desk::with(Setup::new(Vec::new()).kept());
    let write = |desk: &mut Desk, name: &str| {
        let args = json!({"path": name, "content": "x"});
        assert!(desk.tool("write_file", &args, &Answer::AllowOnce).success);
    };
    write(&mut desk, "a.txt");
    desk.stop_engine();
    let database = desk.data.path().join("nod.db");
    let older = std::fs::read(&database).unwrap();
    desk.start_engine();
    write(&mut desk, "b.txt");
    desk.stop_engine();
    assert_eq!(check(desk.data.path()).breaks, [], "the control: as Nod left it, it is whole");

    std::fs::write(&database, &older).unwrap();
    let kinds = |breaks: &[AuditBreak]| breaks.iter().map(|found| found.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&check(desk.data.path()).breaks), [AuditBreakKind::Cut]);
    // The next start says so too, for good, and goes on.
    desk.start_engine();
    desk.stop_engine();
    assert_eq!(kinds(&check(desk.data.path()).breaks), [AuditBreakKind::Mended]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let lines = runtime.block_on(store(desk.data.path()).audit_page(&AuditFilter::default(), 0, 10)).unwrap();
    let told = lines.iter().filter_map(|line| line.entry.as_ref()).any(|entry| entry.detail.contains("older copy"));
    assert!(told, "{lines:?}");

    // Without the file that says so, that it is gone is told.
    std::fs::write(&database, &older).unwrap();
    std::fs::remove_file(desk.data.path().join("audit.anchor")).unwrap();
    assert_eq!(kinds(&check(desk.data.path()).breaks), [AuditBreakKind::Unanchored]);
}

#[test]
fn a_record_that_was_emptied_is_not_whole_with_and_without_its_anchor() {
    for anchor_too in [false, true] {
        let mut desk = recorded();
        let anchor = desk.data.path().join("audit.anchor");
        assert_eq!(check(desk.data.path()).breaks, [], "the control: untouched, it is whole");
        tamper(&desk, "DELETE FROM audit; DELETE FROM audit_head");
        if anchor_too {
            std::fs::remove_file(&anchor).unwrap();
        }
        assert_eq!(check(desk.data.path()).breaks, [AuditBreak { seq: 0, kind: AuditBreakKind::Cut }]);
        // The next start says so, and so does every look from then on.
        desk.start_engine();
        desk.until(|event| matches!(event, Event::Notice { key: "notice-audit-changed", .. }));
        assert_eq!(kinds(&check(desk.data.path())), [AuditBreakKind::Mended]);
    }
}

//! The one way to a tool: what is asked, what a yes covers, what is recorded, what the model gets to read.
#![expect(clippy::disallowed_methods, reason = "other programs change files behind the gate's back")]

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, mpsc};

use nod::ir::{Access, CallId, CallRecord, CallStatus, ConfirmId, Decider, Preview, ToolCall, UnixMs, Verdict};
use nod::policy::{AskReason, RuleScope};
use nod::port::{Answer, Command, Event, TurnOutcome};
use nod::provider::scripted::Step;
use nod::store::Store;
use serde_json::json;

use crate::support::desk::{Desk, PATIENCE, Setup};
use crate::support::probe::Probe;

fn write(path: &str, content: &str) -> Step {
    Step::call("write_file", json!({"path": path, "content": content}))
}

fn read(path: &str) -> Step {
    Step::call("read_file", json!({"path": path}))
}

fn rows(desk: &Desk) -> Vec<(CallStatus, Option<Verdict>, Option<Decider>)> {
    desk.calls().into_iter().map(|row| (row.status, row.verdict, row.decider)).collect()
}

fn probing() -> Vec<Vec<Step>> {
    vec![vec![Probe::call(0)], vec![Step::text("done")]]
}

#[test]
fn nothing_is_written_before_the_yes_and_the_yes_does_exactly_that() {
    let mut desk = Desk::new(vec![vec![Step::text("I will write."), write("a.txt", "new")], vec![Step::text("ok")]]);
    desk.write("a.txt", "old");
    desk.say("write");
    let asked = desk.asked();
    assert_eq!(desk.read("a.txt"), "old");
    assert_eq!(asked.target, desk.path("a.txt").canonicalize().unwrap().display().to_string());
    assert_eq!((asked.exists, asked.access, asked.model.as_str()), (true, Access::Write, "script"));
    assert_eq!(asked.model_words, "I will write.");
    assert!(matches!(asked.preview, Preview::Diff { added: 1, removed: 1, .. }), "{:?}", asked.preview);
    desk.answer(&asked, Answer::AllowOnce);
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert_eq!(desk.read("a.txt"), "new");
    assert_eq!(rows(&desk), [(CallStatus::Succeeded, Some(Verdict::Allowed), Some(Decider::Person))]);
    let closed = |event: &Event| matches!(event, Event::ConfirmClosed { confirm, .. } if *confirm == asked.id);
    assert!(desk.seen.iter().any(closed));
}

#[test]
fn a_denial_leaves_everything_and_its_words_reach_the_model() {
    let mut desk = Desk::new(vec![vec![write("a.txt", "new")], vec![Step::text("sorry")]]);
    desk.say("write");
    let asked = desk.asked();
    desk.answer(&asked, Answer::Deny { reason: "not in this folder".into() });
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert!(!desk.path("a.txt").exists());
    let row = desk.calls().remove(0);
    assert_eq!((row.status, row.decider), (CallStatus::Denied, Some(Decider::Person)));
    assert_eq!(row.reason.as_deref(), Some("not in this folder"));
    let sent = desk.sent_results().remove(0);
    assert!(sent.for_model().contains("not in this folder"), "{}", sent.for_model());
    assert_eq!(sent.code(), Some("CONFIRMATION_REJECTED"));
}

#[test]
fn deny_and_stop_ends_the_turn_and_cancels_the_other_calls() {
    let mut desk = Desk::new(vec![vec![write("a.txt", "a"), write("b.txt", "b")]]);
    desk.say("write both");
    let first = desk.asked();
    desk.asked();
    desk.answer(&first, Answer::DenyAndStop);
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Denied);
    let mut statuses: Vec<_> = rows(&desk).into_iter().map(|(status, ..)| status).collect();
    statuses.sort_by_key(|status| format!("{status:?}"));
    assert_eq!(statuses, [CallStatus::Cancelled, CallStatus::Denied]);
    assert!(!desk.path("a.txt").exists() && !desk.path("b.txt").exists());
}

#[test]
fn a_target_that_changed_while_it_was_asked_is_asked_anew_with_its_new_state() {
    let mut desk = Desk::new(vec![vec![write("a.txt", "mine")], vec![Step::text("ok")]]);
    desk.write("a.txt", "old");
    desk.say("write");
    let first = desk.asked();
    desk.write("a.txt", "somebody else's longer text");
    desk.answer(&first, Answer::AllowOnce);
    let second = desk.asked();
    assert!(second.is_asked_anew && second.plan_hash != first.plan_hash);
    assert!(format!("{:?}", second.preview).contains("somebody else's"));
    assert_eq!(desk.read("a.txt"), "somebody else's longer text", "the old yes did nothing");
    desk.answer(&second, Answer::AllowOnce);
    desk.turn_end();
    assert_eq!(desk.read("a.txt"), "mine");
}

#[cfg(unix)]
#[test]
fn what_comes_into_a_folder_after_its_deletion_was_shown_is_shown_too_before_it_goes() {
    type Change = fn(&Desk);
    let changes: [(&str, Change); 5] = [
        ("added", |desk| desk.write("t/d/theirs", "precious")),
        ("of the same size", |desk| desk.write("t/a", "2")),
        ("of the same size and with the old time", |desk| rewrite_with_old_time(&desk.path("t/a"), "2")),
        ("renamed", |desk| std::fs::rename(desk.path("t/a"), desk.path("t/b")).unwrap()),
        ("removed", |desk| std::fs::remove_file(desk.path("t/a")).unwrap()),
    ];
    for (name, change) in changes {
        let delete = Step::call("delete_file", json!({"path": "t", "recursive": true}));
        let mut desk =
            Desk::new(vec![vec![delete.clone()], vec![Step::text("ok")], vec![delete], vec![Step::text("ok")]]);
        desk.write("t/a", "1");
        desk.write("t/d/b", "1");
        desk.say("delete");
        let first = desk.asked();
        change(&desk);
        let before = walk(&desk.path("t"));
        desk.answer(&first, Answer::AllowOnce);
        let second = desk.until(|event| matches!(event, Event::ConfirmAsked(_) | Event::TurnEnded(_)));
        let Event::ConfirmAsked(second) = second else { panic!("{name}: it went unseen") };
        assert!(second.is_asked_anew && second.plan_hash != first.plan_hash, "{name}");
        assert_eq!(walk(&desk.path("t")), before, "{name}: the old yes did nothing");
        desk.answer(&second, Answer::Deny { reason: String::new() });
        desk.turn_end();
        assert_eq!(walk(&desk.path("t")), before, "{name}");
        // What was shown and is still there goes with one yes.
        desk.say("delete");
        let asked = desk.asked();
        desk.answer(&asked, Answer::AllowOnce);
        desk.turn_end();
        assert!(!desk.path("t").exists(), "{name}");
    }
}

/// Another text of the same size, under the time that the old one had.
#[cfg(unix)]
fn rewrite_with_old_time(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::MetadataExt as _;
    let before = std::fs::metadata(path).unwrap();
    // The system's clock may not have ticked since the file was made.
    while std::fs::metadata(path).unwrap().ctime_nsec() == before.ctime_nsec() {
        std::fs::write(path, text).unwrap();
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
    }
    let now = std::fs::metadata(path).unwrap();
    let told = |of: &std::fs::Metadata| (of.ino(), of.len(), of.mtime(), of.mtime_nsec());
    assert_eq!(told(&now), told(&before), "but for the kernel's own time nothing tells");
}

#[cfg(unix)]
#[test]
fn a_file_that_was_rewritten_under_its_old_time_is_asked_anew() {
    let delete = Step::call("delete_file", json!({"path": "a.txt"}));
    for step in [write("a.txt", "mine"), delete] {
        let mut desk = Desk::new(vec![vec![step], vec![Step::text("ok")]]);
        desk.write("a.txt", "old");
        desk.say("go");
        let first = desk.asked();
        rewrite_with_old_time(&desk.path("a.txt"), "new");
        desk.answer(&first, Answer::AllowOnce);
        let second = desk.until(|event| matches!(event, Event::ConfirmAsked(_) | Event::TurnEnded(_)));
        let Event::ConfirmAsked(second) = second else { panic!("it went unseen") };
        assert!(second.is_asked_anew && second.plan_hash != first.plan_hash);
        assert_eq!(desk.read("a.txt"), "new", "the old yes did nothing");
        desk.answer(&second, Answer::Deny { reason: String::new() });
        desk.turn_end();
    }
}

/// Every file below a folder with its text.
#[cfg(unix)]
fn walk(folder: &std::path::Path) -> Vec<(std::path::PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found.sort();
    found
}

#[cfg(unix)]
#[test]
fn a_folder_swapped_for_a_link_while_it_was_asked_leads_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let mut desk = Desk::new(vec![vec![write("sub/a.txt", "attack")], vec![Step::text("ok")]]);
    desk.write("sub/keep.txt", "x");
    desk.say("write");
    let asked = desk.asked();
    std::fs::rename(desk.path("sub"), desk.path("moved")).unwrap();
    std::os::unix::fs::symlink(outside.path(), desk.path("sub")).unwrap();
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end_allowing();
    assert!(!outside.path().join("a.txt").exists());
    assert_eq!(desk.calls()[0].result.as_ref().unwrap().code(), Some("PATH_OUT_OF_SCOPE"));
    // Control: the path that was checked as text, opened as text, leads out.
    std::fs::write(desk.path("sub/a.txt"), "attack").unwrap();
    assert!(outside.path().join("a.txt").exists());
}

#[test]
fn a_yes_older_than_a_minute_is_asked_anew() {
    let (now, jumps) = (Arc::new(AtomicI64::new(1_800_000_000_000)), Arc::new(AtomicBool::new(false)));
    let mut setup = Setup::new(vec![vec![write("a.txt", "x")], vec![Step::text("ok")]]);
    setup.clock = {
        let (now, jumps) = (Arc::clone(&now), Arc::clone(&jumps));
        Arc::new(move || {
            let step = if jumps.load(Ordering::SeqCst) { 61_000 } else { 0 };
            UnixMs(now.fetch_add(step, Ordering::SeqCst))
        })
    };
    let mut desk = Desk::with(setup);
    desk.say("write");
    let first = desk.asked();
    jumps.store(true, Ordering::SeqCst);
    desk.answer(&first, Answer::AllowOnce);
    let second = desk.asked();
    assert!(second.is_asked_anew);
    assert!(!desk.path("a.txt").exists());
    jumps.store(false, Ordering::SeqCst);
    desk.answer(&second, Answer::AllowOnce);
    desk.turn_end();
    assert_eq!(desk.read("a.txt"), "x");
}

#[test]
fn an_answer_to_no_question_and_a_second_answer_do_nothing() {
    let mut desk = Desk::new(vec![vec![write("a.txt", "x")], vec![Step::text("ok")]]);
    desk.say("write");
    let asked = desk.asked();
    desk.send(Command::Answer {
        confirm: ConfirmId::new("another"),
        answer: Answer::AllowOnce,
        decider: Decider::Person,
    });
    desk.answer(&asked, Answer::Deny { reason: String::new() });
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end();
    assert!(!desk.path("a.txt").exists());
}

#[test]
fn where_nobody_can_be_asked_the_answer_is_no() {
    let mut desk = Desk::new(vec![vec![write("a.txt", "x")], vec![Step::text("ok")]]);
    desk.inbox = None;
    desk.say("write");
    let mut requests = desk.requests.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, requests.wait_for(|sent| sent.len() == 2)).await.map(drop) })
        .unwrap();
    let sent = desk.sent_results().remove(0);
    assert_eq!(sent.code(), Some("CONFIRMATION_REJECTED"));
    assert!(!desk.path("a.txt").exists());
}

#[test]
fn a_rule_for_the_session_answers_the_next_call_until_it_is_revoked() {
    let answers = (0..3).flat_map(|n| [vec![write("a.txt", &format!("{n}"))], vec![Step::text("ok")]]).collect();
    let mut desk = Desk::with(Setup::new(answers).kept());
    desk.say("one");
    let asked = desk.asked();
    let scope = asked.rule_proposals.iter().find(|scope| matches!(scope, RuleScope::File { .. })).unwrap().clone();
    assert_eq!(asked.dry_run.len(), asked.rule_proposals.len());
    desk.answer(&asked, Answer::AllowInSession { scope });
    desk.turn_end();

    desk.restart();
    desk.seen.clear();
    desk.say("two");
    desk.turn_end();
    assert!(!desk.was_asked());
    assert_eq!(rows(&desk), [(CallStatus::Succeeded, Some(Verdict::Allowed), Some(Decider::Rule))]);
    desk.send(Command::OpenSession(desk.session.clone()));
    let opened = desk.until(|event| matches!(event, Event::SessionOpened { .. }));
    let Event::SessionOpened { rules, .. } = opened else { unreachable!() };
    assert_eq!(rules.intact[0].hits, 1);

    desk.send(Command::RevokeRule { session: Some(desk.session.clone()), rule: rules.intact[0].id.clone() });
    desk.until(|event| matches!(event, Event::RulesChanged { rules, .. } if rules.is_empty()));
    desk.say("three");
    let asked = desk.asked();
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end();
    assert_eq!(desk.read("a.txt"), "2");
}

#[test]
fn a_rule_made_by_one_answer_answers_the_other_questions_that_it_covers() {
    let mut desk = Desk::new(vec![vec![write("a.txt", "a"), write("b.txt", "b")], vec![Step::text("ok")]]);
    desk.say("write both");
    let first = desk.asked();
    desk.asked();
    let scope = first.rule_proposals.last().unwrap().clone();
    assert!(matches!(scope, RuleScope::ToolInFolders { .. }));
    desk.answer(&first, Answer::AllowInSession { scope });
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert_eq!((desk.read("a.txt"), desk.read("b.txt")), ("a".into(), "b".into()));
}

#[test]
fn new_files_in_a_new_folder_are_each_asked_once() {
    let mut desk = Desk::new(vec![
        vec![
            Step::call("create_directory", json!({"path": "app"})),
            write("app/one.txt", "1"),
            write("app/src/two.txt", "2"),
        ],
        vec![Step::text("made")],
    ]);
    desk.say("make a project");
    let mut questions = vec![desk.asked(), desk.asked(), desk.asked()];
    questions.sort_by(|a, b| a.call.id.cmp(&b.call.id));
    for question in questions {
        desk.answer(&question, Answer::AllowOnce);
        desk.until(|event| {
            matches!(event, Event::CallChanged(row)
            if row.call.id == question.call.id && row.status == CallStatus::Succeeded)
        });
    }
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert_eq!((desk.read("app/one.txt"), desk.read("app/src/two.txt")), ("1".into(), "2".into()));
    let asked = desk.seen.iter().filter(|event| matches!(event, Event::ConfirmAsked(_))).count();
    assert_eq!(asked, 3);
}

#[test]
fn a_call_of_an_unknown_tool_is_told_what_tools_there_are() {
    let mut desk = Desk::new(vec![vec![Step::call("open_file", json!({}))], vec![Step::text("ok")]]);
    desk.say("go");
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    let sent = desk.sent_results().remove(0);
    assert_eq!(sent.code(), Some("TOOL_NOT_AVAILABLE"));
    assert!(sent.error.unwrap().contains("read_file, write_file"));
}

#[test]
fn arguments_that_cannot_be_read_are_a_failed_call_that_the_model_may_repeat() {
    let broken = ToolCall {
        id: CallId::new("x"),
        name: "read_file".into(),
        args: json!({}),
        iteration: 1,
        timestamp: UnixMs(0),
        raw_args: Some(r#"{"path": "a.t"#.into()),
        parse_error: Some("EOF while parsing a string".into()),
        marks: Vec::new(),
    };
    let mut desk = Desk::new(vec![vec![Step::RawCall(broken)], vec![read("a.txt")], vec![Step::text("ok")]]);
    desk.write("a.txt", "x");
    desk.say("read");
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    let statuses: Vec<_> = rows(&desk).into_iter().map(|(status, ..)| status).collect();
    assert_eq!(statuses, [CallStatus::Failed, CallStatus::Succeeded]);
    assert_eq!(desk.sent_results()[0].code(), Some("INVALID_ARGUMENTS"));
}

#[test]
fn a_models_arguments_are_mended_before_the_gate_and_shown_as_adjusted() {
    let args = json!({"path": "a.txt", "start_line": "2", "end_line": "2"});
    let mut desk = Desk::new(vec![vec![Step::call("read_file", args.clone())], vec![Step::text("ok")]]);
    desk.write("a.txt", "one\ntwo\nthree\n");
    desk.say("read");
    desk.turn_end();
    let row: CallRecord = desk.calls().remove(0);
    assert_eq!(row.call.args, json!({"path": "a.txt", "start_line": 2, "end_line": 2}));
    assert_eq!(row.call.raw_args, Some(args.to_string()));
    assert_eq!(row.result.unwrap().result["content"], "two\n");
}

#[test]
fn a_long_result_is_cut_for_the_model_and_kept_whole_for_the_card() {
    let mut desk = Desk::new(vec![vec![read("long.txt")], vec![Step::text("ok")]]);
    let text = "a line of some length that is repeated\n".repeat(499);
    desk.write("long.txt", &text);
    desk.say("read");
    desk.turn_end();
    let sent = desk.sent_results().remove(0).for_model();
    assert!(sent.len() < 17 * 1024, "{}", sent.len());
    assert!(sent.starts_with("<tool_result tool=\"read_file\">\n{\"success\":true"), "{}", &sent[..80]);
    assert!(sent.contains("is cut here"));
    assert_eq!(desk.calls()[0].result.as_ref().unwrap().result["content"], text);
}

#[test]
fn the_ledger_says_running_before_the_tool_does_anything() {
    let (began, waits) = mpsc::sync_channel::<()>(1);
    let (go, going) = mpsc::sync_channel::<()>(1);
    #[expect(clippy::disallowed_types, reason = "a receiver shared with a tool")]
    let going = std::sync::Mutex::new(going);
    let probe = Probe::new(Access::Read, move |_, _| {
        began.send(()).unwrap();
        going.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        Ok(json!({}))
    });
    let mut desk = Desk::with(Setup::new(probing()).with_tools(probe.alone()).kept());
    desk.say("probe");
    waits.recv_timeout(PATIENCE).unwrap();
    let store = Store::open_read_only(desk.data.path(), nod::engine::system_clock()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rows = runtime.block_on(store.recent_calls(&desk.session, 10)).unwrap();
    assert_eq!(rows[0].status, CallStatus::Running);
    go.send(()).unwrap();
    desk.turn_end();
    assert_eq!(desk.calls()[0].status, CallStatus::Succeeded);
}

#[test]
fn a_call_that_cannot_be_recorded_is_not_run() {
    let answers = vec![vec![write("a.txt", "x")], vec![Step::text("ok")], vec![write("a.txt", "x")], vec![]];
    let mut desk = Desk::with(Setup::new(answers).kept());
    let database = rusqlite::Connection::open(desk.data.path().join("nod.db")).unwrap();
    desk.say("write");
    let asked = desk.asked();
    // Somebody else holds the database while the yes comes.
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    desk.answer(&asked, Answer::AllowOnce);
    desk.until(|event| matches!(event, Event::ConfirmClosed { .. }));
    let ended = desk.until(|event| matches!(event, Event::Fault { .. } | Event::CallChanged(_)));
    assert!(matches!(ended, Event::Fault { .. }), "{ended:?}");
    assert!(!desk.path("a.txt").exists());
    // Control: once rows can be written, the same call runs.
    database.execute_batch("ROLLBACK").unwrap();
    desk.turn_end();
    desk.say("again");
    desk.turn_end_allowing();
    assert_eq!(desk.read("a.txt"), "x");
}

#[test]
fn a_broken_tool_ends_the_turn_and_not_the_engine() {
    let probe = Probe::new(Access::Read, |_, _| panic!("a broken tool"));
    let mut desk =
        Desk::with(Setup::new([probing(), vec![vec![Step::text("still here")]]].concat()).with_tools(probe.alone()));
    desk.say("probe");
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Failed);
    assert_eq!(desk.calls()[0].status, CallStatus::Unknown);
    desk.say("hello?");
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
}

#[test]
fn a_question_says_whether_the_file_is_as_the_model_read_it() {
    let mut desk = Desk::new(vec![vec![read("a.txt")], vec![write("a.txt", "new")], vec![Step::text("ok")]]);
    desk.write("a.txt", "old");
    desk.say("read, then write");
    let asked = desk.asked();
    assert_eq!(asked.unchanged_since_read, Some(true));
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end();
}

#[test]
fn a_no_is_told_in_the_words_of_who_said_it() {
    for (decider, words) in [
        (Decider::Person, "The person refused this call"),
        (Decider::Flag, "This needs a yes, and --approve does not allow it."),
        (Decider::Timeout, "This needs a yes, and nobody could be asked."),
    ] {
        let mut desk = Desk::new(vec![vec![write("a.txt", "x")], vec![Step::text("ok")]]);
        desk.say("write");
        let confirm = desk.asked().id;
        desk.send(Command::Answer { confirm, answer: Answer::Deny { reason: String::new() }, decider });
        desk.turn_end();
        let sent = desk.sent_results().remove(0);
        assert_eq!(sent.code(), Some("CONFIRMATION_REJECTED"));
        assert!(sent.error.as_ref().unwrap().starts_with(words), "{sent:?}");
        assert_eq!(sent.result["decider"], json!(decider));
    }
}

#[test]
fn a_tool_that_is_switched_off_is_not_offered_in_place_of_one_that_is_not_there() {
    let mut desk = Desk::new(Vec::new());
    let result = desk.tool("none", &json!({}), &Answer::AllowOnce);
    assert_eq!(result.code(), Some("TOOL_NOT_AVAILABLE"));
    let words = result.error.unwrap();
    assert!(words.contains("read_file") && !words.contains("run_command"), "{words}");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_secret_answers_alike_whether_the_secret_is_there_or_not() {
    let mut desk = Desk::new(Vec::new());
    desk.write(".env", "KEY=1");
    for (link, to) in [("there", ".env"), ("gone", "server.pem"), ("below", ".env/x")] {
        std::os::unix::fs::symlink(to, desk.path(link)).unwrap();
        for tool in ["read_file", "list_directory"] {
            let result = desk.tool(tool, &json!({"path": link}), &Answer::AllowOnce);
            assert_eq!(result.code(), Some("SENSITIVE_PATH_DENIED"), "{tool} {link}: {result:?}");
        }
    }
    // The control: of what is no secret its absence is told.
    std::os::unix::fs::symlink("none.txt", desk.path("plain")).unwrap();
    assert_eq!(desk.tool("read_file", &json!({"path": "plain"}), &Answer::AllowOnce).code(), Some("PATH_NOT_FOUND"));
    assert!(!desk.was_asked());
}

#[test]
fn outside_existence_is_told_after_the_yes_and_not_before() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("a.txt"), "a").unwrap();
    let mut desk = Desk::new(Vec::new());
    for (name, code) in [("a.txt", None), ("none.txt", Some("PATH_NOT_FOUND")), ("", Some("NOT_A_FILE"))] {
        let args = json!({"path": outside.path().join(name)});
        let refused = desk.tool("read_file", &args, &Answer::Deny { reason: String::new() });
        assert_eq!(refused.code(), Some("CONFIRMATION_REJECTED"), "{name}");
        assert_eq!(desk.tool("read_file", &args, &Answer::AllowOnce).code(), code, "{name}");
    }
    assert_eq!(desk.seen.iter().filter(|event| matches!(event, Event::ConfirmAsked(_))).count(), 6);
}

#[test]
fn oversized_arguments_are_refused_and_not_kept() {
    let mut desk = Desk::new(vec![vec![write("a.txt", &"x".repeat(7 << 20))], vec![Step::text("ok")]]);
    desk.say("write");
    desk.turn_end();
    let row = desk.calls().remove(0);
    assert_eq!(row.result.unwrap().code(), Some("CONTENT_TOO_LARGE"));
    assert!(row.call.args.to_string().len() + row.call.raw_args.as_ref().unwrap().len() < 5_000);
    assert!(row.call.raw_args.unwrap().contains("bytes in all"));
}

#[test]
fn a_long_preview_is_asked_with_and_not_kept() {
    let mut desk = Desk::new(vec![vec![write("a.txt", &"x".repeat(1 << 20))], vec![Step::text("ok")]]);
    desk.say("write");
    let asked = desk.asked();
    assert!(matches!(&asked.preview, Preview::NewFile { content } if content.len() == 1 << 20));
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end();
    assert_eq!(desk.calls()[0].preview, None);
}

#[test]
fn secrets_and_protected_files_in_a_tree_are_named_before_it_is_deleted() {
    let mut desk = Desk::new(Vec::new());
    for name in ["d/a.txt", "d/.env", "d/sub/.ssh/id_rsa", "d/.git/hooks/pre-commit"] {
        desk.write(name, "x");
    }
    let no = Answer::Deny { reason: String::new() };
    desk.tool("delete_file", &json!({"path": "d", "recursive": true}), &no);
    let reasons = desk.seen.iter().find_map(|event| match event {
        Event::ConfirmAsked(request) => Some(request.reasons.clone()),
        _ => None,
    });
    let named = |part: &str| AskReason::SuspiciousName { part: part.into() };
    assert_eq!(
        reasons.unwrap(),
        [AskReason::Deletion, named(".env"), named("sub/.ssh/id_rsa"), AskReason::ProtectedWrite]
    );
}

#[test]
fn a_whole_number_may_be_written_with_a_point() {
    let mut desk = Desk::new(vec![
        vec![Step::call("read_file", json!({"path": "a.txt", "start_line": 2.0, "end_line": 2.0}))],
        vec![Step::text("ok")],
    ]);
    desk.write("a.txt", "one\ntwo\nthree\n");
    desk.say("read");
    desk.turn_end();
    assert_eq!(desk.sent_results()[0].result["content"], "two\n");
    assert_eq!(desk.calls()[0].call.args, json!({"path": "a.txt", "start_line": 2, "end_line": 2}));
    let args = json!({"path": "a.txt", "start_line": 2.0, "end_line": 2.0});
    assert_eq!(desk.tool("read_file", &args, &Answer::AllowOnce).result["content"], "two\n");
    let args = json!({"path": "a.txt", "start_line": 1e300});
    let unfit = desk.tool("read_file", &args, &Answer::AllowOnce);
    assert!(unfit.error.as_ref().unwrap().contains("`start_line`"), "{unfit:?}");
}

#[test]
fn a_yes_does_not_outlive_the_ground_that_it_was_given_on() {
    for (name, change, code) in
        [("the folder was taken away", 0, "PATH_OUT_OF_SCOPE"), ("the tool was switched off", 1, "TOOL_NOT_ENABLED")]
    {
        let mut desk = Desk::new(vec![vec![write("a.txt", "new")], vec![Step::text("ok")]]);
        desk.say("write");
        let asked = desk.asked();
        if change == 0 {
            let folder = asked.folder.clone().unwrap();
            desk.send(Command::RemoveFolder { session: desk.session.clone(), path: folder });
            desk.until(|event| matches!(event, Event::SessionChanged(session) if session.folders.is_empty()));
        } else {
            desk.set("tools.disabled", json!(["write_file"]));
        }
        desk.answer(&asked, Answer::AllowOnce);
        desk.turn_end();
        assert!(!desk.path("a.txt").exists(), "{name}");
        assert_eq!(desk.sent_results().remove(0).code(), Some(code), "{name}");
    }
}

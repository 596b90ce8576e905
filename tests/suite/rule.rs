//! Rules: made from a question and by hand, counted, taken back; and worth nothing once something else than Nod wrote them.
#![expect(clippy::disallowed_methods, reason = "the database is changed from outside")]

use nod::ir::{AuditAct, AuditBreakKind, AuditFilter, CallStatus, ConfirmMode, Decider, RuleId, SessionId};
use nod::policy::{AskReason, BrokenRule, Meant, RuleEffect, RuleScope};
use nod::port::{Answer, Command, Event, TurnOutcome};
use nod::provider::scripted::Step;
use nod::store::Store;
use rusqlite::Connection;
use serde_json::json;

use crate::support::desk::{Desk, Setup};

fn write(path: &str) -> Step {
    Step::call("write_file", json!({"path": path, "content": "x"}))
}

fn read(path: &str) -> Step {
    Step::call("read_file", json!({"path": path}))
}

fn tool_anywhere(tool: &str) -> RuleScope {
    RuleScope::ToolInFolders { tool: tool.into() }
}

/// One call and the end of the turn, so many times.
fn turns(calls: Vec<Step>) -> Vec<Vec<Step>> {
    calls.into_iter().flat_map(|call| [vec![call], vec![Step::text("ok")]]).collect()
}

/// A desk whose data is kept, so that it can be changed from outside.
fn kept(calls: Vec<Step>) -> Desk {
    Desk::with(Setup::new(turns(calls)).kept())
}

/// Stops the engine, changes the database by hand as an outsider would, and starts it again. The outsider has taken the
/// triggers away first.
fn change_from_outside(desk: &mut Desk, sql: &str) {
    desk.stop_engine();
    let outside = Connection::open(desk.data.path().join("nod.db")).unwrap();
    outside.execute_batch(sql).unwrap();
    drop(outside);
    desk.start_engine();
    desk.send(Command::OpenSession(desk.session.clone()));
}

fn make(desk: &mut Desk, session: Option<SessionId>, effect: RuleEffect, scope: RuleScope) -> RuleId {
    desk.send(Command::MakeRule { session: session.clone(), effect, scope });
    let wanted = session;
    let event = desk.until(|event| matches!(event, Event::RulesChanged { session, .. } if *session == wanted));
    let Event::RulesChanged { rules, .. } = event else { unreachable!() };
    rules.intact.last().unwrap().id.clone()
}

/// Says something and reports what became of the one call in it: the last row, and whether anybody was asked.
fn outcome(desk: &mut Desk) -> (CallStatus, Option<Decider>, bool) {
    let before = desk.seen.len();
    desk.say("go on");
    loop {
        match desk.next() {
            Event::ConfirmAsked(request) => desk.answer(&request, Answer::AllowOnce),
            Event::TurnEnded(end) => {
                assert_eq!(end.outcome, TurnOutcome::Done);
                break;
            }
            _ => {}
        }
    }
    let new = &desk.seen[before..];
    let was_asked = new.iter().any(|event| matches!(event, Event::ConfirmAsked(_)));
    let row = new.iter().rev().find_map(|event| match event {
        Event::CallChanged(row) => Some(row.clone()),
        _ => None,
    });
    let row = row.unwrap();
    (row.status, row.decider, was_asked)
}

const ALLOWED: (CallStatus, Option<Decider>, bool) = (CallStatus::Succeeded, Some(Decider::Rule), false);
const REFUSED: (CallStatus, Option<Decider>, bool) = (CallStatus::Denied, Some(Decider::Rule), false);
const ASKED: (CallStatus, Option<Decider>, bool) = (CallStatus::Succeeded, Some(Decider::Person), true);

#[test]
fn a_refusal_for_good_refuses_the_next_call_without_a_question_and_says_by_which_rule() {
    let mut desk = Desk::new(turns(vec![write("a.txt"), write("a.txt"), write("b.txt")]));
    desk.say("write");
    let asked = desk.asked();
    let scopes: Vec<_> = asked.denials.iter().map(|offer| offer.scope.kind()).collect();
    assert_eq!(scopes, ["exact-call", "file", "files-like", "tool-in-folders"]);
    let file = asked.denials[1].scope.clone();
    desk.answer(&asked, Answer::DenyInSession { scope: file });
    desk.turn_end();
    assert!(!desk.path("a.txt").exists());
    assert_eq!(outcome(&mut desk), REFUSED);
    let row = desk.calls().pop().unwrap();
    assert!(row.grounds.rule.is_some(), "{row:?}");
    assert_eq!(outcome(&mut desk), ASKED, "the rule is about one file");
}

#[test]
fn a_refusal_for_good_answers_the_other_questions_that_it_covers() {
    let mut desk = Desk::new(vec![vec![write("a.txt"), write("b.txt")], vec![Step::text("ok")]]);
    desk.say("write both");
    let first = desk.asked();
    desk.asked();
    let broad = first.denials.last().unwrap().scope.clone();
    desk.answer(&first, Answer::DenyInSession { scope: broad });
    desk.turn_end();
    let mut deciders: Vec<_> = desk.calls().into_iter().map(|row| row.decider).collect();
    deciders.sort_by_key(|decider| format!("{decider:?}"));
    assert_eq!(deciders, [Some(Decider::Person), Some(Decider::Rule)]);
    assert!(!desk.path("a.txt").exists() && !desk.path("b.txt").exists());
}

#[test]
fn no_change_of_the_rules_answers_a_question_about_what_cannot_be_undone() {
    let mut desk = Desk::new(turns(vec![write("a.txt")]));
    desk.set("safety.undo_space_mb", 1);
    let session = desk.session.clone();
    // The control: where it can be undone, this mode asks nobody.
    desk.send(Command::SetMode { session: session.clone(), mode: ConfirmMode::Automatic });
    let before = "x".repeat(2 << 20);
    desk.write("a.txt", &before);
    desk.say("write");
    let asked = desk.asked();
    assert_eq!((asked.reasons.as_slice(), asked.undoable), (&[AskReason::NotUndoable][..], false));
    // Each has the waiting question looked at anew; the second is through when the first one was.
    make(&mut desk, Some(session.clone()), RuleEffect::Deny, tool_anywhere("read_file"));
    make(&mut desk, Some(session), RuleEffect::Deny, tool_anywhere("edit_file"));
    desk.answer(&asked, Answer::Deny { reason: String::new() });
    desk.turn_end();
    let row = desk.calls().pop().unwrap();
    assert_eq!((row.status, row.decider), (CallStatus::Denied, Some(Decider::Person)));
    assert!(desk.read("a.txt") == before, "nothing was written");
}

#[test]
fn a_fork_refuses_what_was_refused_for_good_and_asks_for_what_was_allowed() {
    for is_broken in [false, true] {
        let mut desk = kept(vec![read("a.txt"), read("a.txt"), write("b.txt")]);
        desk.write("a.txt", "text");
        let first = desk.session.clone();
        desk.say("write");
        desk.turn_end();
        desk.send(Command::SetMode { session: first.clone(), mode: ConfirmMode::Automatic });
        make(&mut desk, Some(first.clone()), RuleEffect::Deny, tool_anywhere("read_file"));
        if is_broken {
            change_from_outside(&mut desk, "UPDATE rule SET effect = 'allow'");
        } else {
            desk.send(Command::OpenSession(first.clone()));
        }
        let opened = desk.until(|event| matches!(event, Event::SessionOpened { .. }));
        let Event::SessionOpened { messages, .. } = opened else { unreachable!() };
        let at = messages.last().unwrap().id.clone();
        desk.send(Command::ForkSession { session: first.clone(), at });
        let opened = desk.until(|event| matches!(event, Event::SessionOpened { session, .. } if session.id != first));
        let Event::SessionOpened { session: fork, rules, .. } = opened else { unreachable!() };
        assert_eq!((rules.intact.len(), rules.broken.len()), (1, 0), "broken: {is_broken}");
        assert_eq!(rules.intact[0].session, Some(fork.id.clone()));
        // The control: in the chat itself, without its refusal, this very call went through.
        desk.session = fork.id;
        assert_eq!(outcome(&mut desk), REFUSED, "broken: {is_broken}");
        assert_eq!(outcome(&mut desk), (CallStatus::Succeeded, Some(Decider::Mode), false), "what it never refused");
    }
}

#[test]
fn a_rule_is_tried_on_what_the_session_really_did() {
    let mut desk = Desk::new(turns(vec![write("a.txt"), write("b.md"), read("a.txt"), write("c.txt")]));
    for _ in 0..3 {
        outcome(&mut desk);
    }
    desk.say("write c");
    let asked = desk.asked();
    let tried: Vec<_> = asked.denials.iter().map(|offer| (offer.scope.kind(), offer.covered, offer.of)).collect();
    let expected = [("exact-call", 0, 3), ("file", 0, 3), ("files-like", 1, 3), ("tool-in-folders", 2, 3)];
    assert_eq!(tried, expected);
    assert_eq!(asked.dry_run, [(0, 3), (0, 3), (1, 3), (2, 3)]);
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end();
}

#[test]
fn a_refusal_by_hand_holds_and_goes_when_it_is_taken_back() {
    let mut desk = Desk::new(turns(vec![read("a.txt"), read("a.txt")]));
    desk.write("a.txt", "text");
    let session = desk.session.clone();
    let rule = make(&mut desk, Some(session.clone()), RuleEffect::Deny, tool_anywhere("read_file"));
    assert_eq!(outcome(&mut desk), REFUSED);
    desk.send(Command::RevokeRule { session: Some(session), rule });
    desk.until(|event| matches!(event, Event::RulesChanged { rules, .. } if rules.is_empty()));
    assert_eq!(outcome(&mut desk), (CallStatus::Succeeded, Some(Decider::Mode), false));
}

#[test]
fn by_hand_no_allowance_is_made_for_one_chat_and_none_of_what_is_always_asked() {
    let mut desk = Desk::new(turns(vec![write("a.txt")]));
    let session = Some(desk.session.clone());
    for (session, scope) in [
        (session, tool_anywhere("write_file")),
        (None, tool_anywhere("delete_file")),
        (None, tool_anywhere("run_command")),
    ] {
        desk.send(Command::MakeRule { session, effect: RuleEffect::Allow, scope });
        desk.until(|event| matches!(event, Event::Fault { key: "fault-rule", .. }));
    }
    assert_eq!(outcome(&mut desk), ASKED);
}

#[test]
fn a_rule_for_all_chats_holds_in_every_one_and_never_for_what_is_always_asked() {
    let mut desk = Desk::new(turns(vec![
        write("a.txt"),
        Step::call("delete_file", json!({"path": "a.txt"})),
        write("package.json"),
    ]));
    let rule = make(&mut desk, None, RuleEffect::Allow, tool_anywhere("write_file"));
    assert_eq!(outcome(&mut desk), ALLOWED);
    assert_eq!(outcome(&mut desk), ASKED);
    assert_eq!(outcome(&mut desk), ASKED);
    desk.send(Command::ListStandingRules);
    let listed = desk.until(|event| matches!(event, Event::RulesChanged { session: None, .. }));
    let Event::RulesChanged { rules, .. } = listed else { unreachable!() };
    assert_eq!(rules.intact.iter().map(|rule| (&rule.id, rule.hits)).collect::<Vec<_>>(), [(&rule, 1)]);
}

#[test]
fn a_rule_that_was_changed_from_outside_is_not_used_and_shown_as_such() {
    for (name, sql) in [
        ("another file", r#"UPDATE rule SET scope = '{"kind":"tool-in-folders","tool":"write_file"}'"#),
        ("a code from elsewhere", "UPDATE rule SET code = lower(hex(randomblob(32)))"),
        ("hits", "UPDATE rule SET hits = hits + 1"),
        ("maker", "UPDATE rule SET made_by = 'settings'"),
        ("everywhere", "UPDATE rule SET session = NULL"),
        ("a word that nobody knows", "UPDATE rule SET effect = 'allow-more'"),
        ("a scope that nobody knows", r#"UPDATE rule SET scope = '{"kind":"anything"}'"#),
    ] {
        let mut desk = kept(vec![write("a.txt"), write("a.txt"), write("a.txt"), write("a.txt")]);
        desk.say("write");
        let asked = desk.asked();
        let file = asked.rule_proposals.iter().find(|scope| scope.kind() == "file").unwrap().clone();
        desk.answer(&asked, Answer::AllowInSession { scope: file });
        desk.turn_end();
        // The control: untouched, the rule survives a restart and does its work.
        change_from_outside(&mut desk, "SELECT 1");
        desk.opened();
        assert_eq!(outcome(&mut desk), ALLOWED, "{name}");
        change_from_outside(&mut desk, sql);
        let opened = desk.until(|event| matches!(event, Event::SessionOpened { .. }));
        let Event::SessionOpened { rules, .. } = opened else { unreachable!() };
        assert_eq!((rules.intact.len(), rules.broken.len()), (0, 1), "{name}");
        assert_eq!(rules.broken[0].meant, Meant::NoRefusal, "{name}: the record knows that it was an allowance");
        assert_eq!(outcome(&mut desk), ASKED, "{name}");
        // Taken away by the person, it is gone.
        let (session, rule) = (Some(desk.session.clone()), rules.broken[0].id.clone());
        desk.send(Command::RevokeRule { session, rule });
        desk.until(|event| matches!(event, Event::RulesChanged { rules, .. } if rules.is_empty()));
    }
}

/// What is said when the engine starts.
fn notices(desk: &Desk) -> Vec<&'static str> {
    let of_event = |event: &Event| match event {
        Event::Notice { key, .. } => Some(*key),
        _ => None,
    };
    desk.seen.iter().filter_map(of_event).collect()
}

/// What the examination of the record says, as `nod audit --verify` does.
fn breaks(desk: &Desk) -> Vec<AuditBreakKind> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = Store::open_read_only(desk.data.path(), nod::engine::system_clock()).unwrap();
    let mut kinds: Vec<_> =
        runtime.block_on(store.check_audit()).unwrap().breaks.into_iter().map(|found| found.kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn a_refusal_that_was_changed_or_removed_from_outside_goes_on_refusing_and_is_told() {
    use AuditBreakKind::{RuleAdded, RuleChanged};
    for (name, sql, told) in [
        ("turned into an allowance", "UPDATE rule SET effect = 'allow'", vec![RuleChanged]),
        ("with nothing in it", "UPDATE rule SET scope = '{}'", vec![RuleChanged]),
        ("of something else", "UPDATE rule SET scope = replace(scope, 'read_file', 'write_file')", vec![RuleChanged]),
        ("removed", "DELETE FROM rule", vec![RuleChanged]),
        ("removed with all that refuses", "DELETE FROM rule WHERE effect = 'deny'", vec![RuleChanged]),
        ("under another name", "UPDATE rule SET id = 'rule_other', effect = 'allow'", vec![RuleAdded, RuleChanged]),
        (
            "moved to another chat",
            "INSERT INTO session (id, title, provider, model, thinking, mode, folders, pinned, draft, created_at, updated_at) \
          SELECT 'other', title, provider, model, thinking, mode, folders, pinned, draft, created_at, updated_at FROM session \
          LIMIT 1; UPDATE rule SET session = 'other'",
            vec![RuleChanged],
        ),
    ] {
        let mut desk = kept(vec![read("a.txt"), read("a.txt"), write("b.txt"), read("a.txt")]);
        desk.write("a.txt", "text");
        let session = desk.session.clone();
        desk.send(Command::SetMode { session: session.clone(), mode: ConfirmMode::Automatic });
        make(&mut desk, Some(session.clone()), RuleEffect::Deny, tool_anywhere("read_file"));
        assert_eq!(outcome(&mut desk), REFUSED, "{name}");
        assert_eq!((notices(&desk), breaks(&desk)), (vec![], vec![]), "{name}");
        change_from_outside(&mut desk, sql);
        let opened = desk.until(|event| matches!(event, Event::SessionOpened { .. }));
        let Event::SessionOpened { rules, .. } = opened else { unreachable!() };
        let mut told_now = notices(&desk);
        // The chat that an outsider has made is none of theirs to loosen either.
        told_now.retain(|key| *key != "notice-grounds-changed");
        assert_eq!(told_now, ["notice-rules-changed"], "{name}");
        assert_eq!(breaks(&desk), told, "{name}");
        assert_eq!(outcome(&mut desk), REFUSED, "{name}");
        // What it never meant is only asked, and no rule is made meanwhile.
        desk.say("write");
        let asked = desk.asked();
        assert_eq!(asked.reasons, [AskReason::ChangedRule], "{name}");
        assert!(asked.rule_proposals.is_empty(), "{name}: no rule is made while one is broken");
        desk.answer(&asked, Answer::Deny { reason: String::new() });
        desk.turn_end();
        // Once the person has looked and taken it away, it is gone: which also shows that it was it alone that refused.
        for BrokenRule { id, .. } in rules.broken {
            desk.send(Command::RevokeRule { session: Some(session.clone()), rule: id });
        }
        desk.until(|event| matches!(event, Event::RulesChanged { rules, .. } if rules.is_empty()));
        assert_eq!(outcome(&mut desk), (CallStatus::Succeeded, Some(Decider::Mode), false), "{name}");
    }
}

#[test]
fn where_the_record_was_changed_too_a_changed_rule_refuses_everything_and_both_are_told() {
    let made = "(SELECT seq FROM audit WHERE act = 'rule-made')";
    let unlocked = "DROP TRIGGER audit_is_never_changed; DROP TRIGGER audit_is_never_deleted;";
    for (name, sql, refuses) in [
        (
            "the line says that it allowed",
            format!(
                "UPDATE audit SET entry = replace(entry, '\"deny ', '\"allow ') WHERE seq = {made}; DELETE FROM rule"
            ),
            true,
        ),
        (
            "the line speaks of another tool",
            format!(
                "UPDATE audit SET entry = replace(entry, 'read_file', 'x') WHERE seq = {made}; UPDATE rule SET effect = 'allow'"
            ),
            true,
        ),
        // Nothing is left that knows of the rule: that the record was changed is told.
        ("the line is gone", format!("DELETE FROM audit WHERE seq = {made}; DELETE FROM rule"), false),
    ] {
        let mut desk = kept(vec![read("a.txt"), read("a.txt"), write("b.txt")]);
        desk.write("a.txt", "text");
        let session = desk.session.clone();
        desk.send(Command::SetMode { session: session.clone(), mode: ConfirmMode::Automatic });
        make(&mut desk, Some(session), RuleEffect::Deny, tool_anywhere("read_file"));
        assert_eq!(outcome(&mut desk), REFUSED, "{name}");
        change_from_outside(&mut desk, &format!("{unlocked} {sql}"));
        desk.until(|event| matches!(event, Event::Notice { key: "notice-audit-changed", .. }));
        if refuses {
            assert_eq!(outcome(&mut desk), REFUSED, "{name}");
            assert_eq!(outcome(&mut desk), REFUSED, "{name}: everything");
        }
        assert!(!breaks(&desk).is_empty(), "{name}");
    }
}

#[test]
fn a_rule_that_was_taken_back_does_not_come_back_by_hand() {
    let mut desk = kept(vec![write("a.txt"), write("a.txt")]);
    let rule = make(&mut desk, None, RuleEffect::Allow, tool_anywhere("write_file"));
    assert_eq!(outcome(&mut desk), ALLOWED);
    // An outsider keeps the row, with its good code …
    change_from_outside(&mut desk, "CREATE TABLE stolen AS SELECT * FROM rule");
    desk.opened();
    desk.send(Command::RevokeRule { session: None, rule });
    desk.until(|event| matches!(event, Event::RulesChanged { session: None, rules } if rules.is_empty()));
    // … and puts it back after the person has taken it back.
    change_from_outside(&mut desk, "INSERT INTO rule SELECT * FROM stolen; DROP TABLE stolen");
    desk.opened();
    assert_eq!(outcome(&mut desk), ASKED);
}

#[test]
fn words_that_this_version_does_not_know_ask_and_refuse() {
    let mut desk = kept(vec![read("a.txt"), read("a.txt")]);
    desk.write("a.txt", "text");
    assert_eq!(outcome(&mut desk), (CallStatus::Succeeded, Some(Decider::Mode), false));
    change_from_outside(
        &mut desk,
        "UPDATE session SET mode = 'even-stricter';
         INSERT OR REPLACE INTO setting VALUES ('safety.mode', '\"even-stricter\"'), ('safety.never_unconfined', '\"yes\"'),
            ('safety.remember_commands', '1'), ('tools.disabled', '{broken')",
    );
    let opened = desk.opened();
    assert_eq!(opened.mode, ConfirmMode::EveryCall);
    let started = desk.seen.iter().rev().find_map(|event| match event {
        Event::Started { settings, .. } => Some(settings.clone()),
        _ => None,
    });
    let settings = started.unwrap();
    assert_eq!(settings.safety.mode, ConfirmMode::EveryCall);
    assert!(settings.safety.never_unconfined && !settings.safety.remember_commands);
    assert!(!settings.tools.enabled, "a list of switched-off tools that cannot be read may have named any of them");
    desk.set("tools.enabled", true);
    // Who wrote the mode may have written the folders: the person names them anew.
    desk.send(Command::AddFolder { session: desk.session.clone(), path: desk.folder.path().to_path_buf() });
    desk.until(|event| matches!(event, Event::SessionChanged(session) if !session.folders.is_empty()));
    assert_eq!(outcome(&mut desk), ASKED);
}

#[test]
fn an_upgrade_drops_allowances_that_have_no_code_and_keeps_what_may_be_a_refusal() {
    let place = tempfile::tempdir().unwrap();
    let data_dir = place.path().canonicalize().unwrap();
    // The database as the version before wrote it, with no key and no record beside it.
    let old = Connection::open(data_dir.join("nod.db")).unwrap();
    old.execute_batch(include_str!("../../src/store/migration/1.sql")).unwrap();
    old.execute_batch(
        r#"PRAGMA application_id = 0x4E6F6421; PRAGMA user_version = 1;
        INSERT INTO session VALUES (1, 's', '', '', '', 'auto', 'changes', '[]', NULL, 0, NULL, '', 1, 1, NULL);
        INSERT INTO rule VALUES (1, 'a', 's', 'allow', '{"kind":"tool-in-folders","tool":"write_file"}', 'modal', 1, 0),
            (2, 'd', 's', 'deny', '{"kind":"tool-in-folders","tool":"read_file"}', 'panel', 1, 0),
            (3, 'n', 's', 'ask-twice', '{"kind":"newer"}', 'panel', 1, 0);"#,
    )
    .unwrap();
    drop(old);
    let store = Store::open(&data_dir, nod::engine::system_clock()).unwrap().store;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rules = runtime.block_on(store.rules(&SessionId::new("s"))).unwrap();
    let broken = |id: &str, meant| BrokenRule { id: RuleId::new(id), meant };
    let refusal = Meant::Refusal { tool: "read_file".to_owned() };
    assert_eq!(
        (rules.intact.len(), rules.broken),
        (0, vec![broken("d", refusal), broken("n", Meant::AnyRefusal)]),
        "what may be a refusal is one"
    );
}

#[test]
fn making_and_taking_back_is_on_record() {
    let mut desk = kept(vec![write("a.txt")]);
    let rule = make(&mut desk, None, RuleEffect::Allow, tool_anywhere("write_file"));
    assert_eq!(outcome(&mut desk), ALLOWED);
    desk.send(Command::RevokeRule { session: None, rule: rule.clone() });
    desk.until(|event| matches!(event, Event::RulesChanged { session: None, rules } if rules.is_empty()));
    desk.send(Command::LoadAudit { filter: AuditFilter::default(), offset: 0, number: 1 });
    let Event::AuditLoaded { rows, .. } = desk.until(|event| matches!(event, Event::AuditLoaded { .. })) else {
        unreachable!()
    };
    let about: Vec<_> = rows
        .into_iter()
        .rev()
        .filter_map(|row| row.entry)
        .filter(|entry| entry.rule.as_ref() == Some(&rule))
        .map(|entry| (entry.act, entry.decider, entry.detail))
        .collect();
    assert_eq!(
        about,
        [
            (AuditAct::RuleMade, Some(Decider::Person), "allow tool-in-folders (settings)".to_owned()),
            (AuditAct::Decided, Some(Decider::Rule), String::new()),
            (AuditAct::Ended, Some(Decider::Rule), String::new()),
            (AuditAct::RuleRevoked, Some(Decider::Person), String::new()),
        ]
    );
}

#[test]
fn what_a_chat_rests_on_is_as_strict_as_can_be_once_something_else_wrote_it() {
    for (sql, is_kept) in [
        ("UPDATE session SET title = 'other', pinned = 1", true),
        ("UPDATE session SET mode = 'automatic'", false),
        ("UPDATE session SET folders = '[\"/\"]'", false),
        ("UPDATE session SET is_local_only = 1, code = ''", false),
        ("UPDATE session SET code = 'unknown'", false),
    ] {
        let mut desk = kept(Vec::new());
        let folder = desk.folder.path().to_str().unwrap().to_owned();
        desk.send(Command::SetMode { session: desk.session.clone(), mode: ConfirmMode::DeletionsOnly });
        desk.until(
            |event| matches!(event, Event::SessionChanged(session) if session.mode == ConfirmMode::DeletionsOnly),
        );
        change_from_outside(&mut desk, sql);
        let is_told = |event: &Event| matches!(event, Event::Notice { key: "notice-grounds-changed", .. });
        let now = desk.opened();
        let expected = if is_kept {
            (ConfirmMode::DeletionsOnly, vec![folder], false)
        } else {
            (ConfirmMode::EveryCall, Vec::new(), true)
        };
        assert_eq!((now.mode, now.folders, now.is_local_only), expected, "{sql}");
        assert_eq!(desk.seen.iter().any(is_told), !is_kept, "{sql}");
        // It is told once, and the person can set it anew.
        desk.send(Command::SetMode { session: desk.session.clone(), mode: ConfirmMode::Changes });
        desk.until(|event| matches!(event, Event::SessionChanged(session) if session.mode == ConfirmMode::Changes));
        desk.seen.clear();
        desk.restart();
        desk.send(Command::OpenSession(desk.session.clone()));
        assert_eq!(desk.opened().mode, ConfirmMode::Changes, "{sql}");
        assert!(!desk.seen.iter().any(is_told), "{sql}");
    }
}

#[test]
fn only_a_person_opens_a_protected_file_and_closes_it_again() {
    let mut desk = kept(vec![read(".env"), read(".env"), read(".env"), read(".env")]);
    desk.write(".env", "K=value");
    let path = desk.path(".env");
    let mut outcomes = Vec::new();
    let mut reads = |desk: &mut Desk| outcomes.push(outcome(desk).0);
    // A row that somebody else wrote.
    let row = format!(
        "INSERT INTO lifted (session, path) VALUES ('{}', '{}')",
        desk.session,
        serde_json::to_string(&path).unwrap()
    );
    change_from_outside(&mut desk, &row);
    desk.opened();
    reads(&mut desk);
    let lifted = |desk: &mut Desk| match desk.until(|event| matches!(event, Event::LiftedChanged { .. })) {
        Event::LiftedChanged { files, .. } => files,
        _ => unreachable!(),
    };
    desk.send(Command::LiftSensitive { session: desk.session.clone(), path: path.clone() });
    assert_eq!(lifted(&mut desk), std::slice::from_ref(&path));
    reads(&mut desk);
    // The control: the person's own holds through a restart.
    desk.restart();
    desk.send(Command::OpenSession(desk.session.clone()));
    assert_eq!(lifted(&mut desk), std::slice::from_ref(&path));
    reads(&mut desk);
    desk.send(Command::TakeLiftBack { session: desk.session.clone(), path });
    assert_eq!(lifted(&mut desk), [] as [std::path::PathBuf; 0]);
    reads(&mut desk);
    assert_eq!(outcomes, [CallStatus::Denied, CallStatus::Succeeded, CallStatus::Succeeded, CallStatus::Denied]);
}

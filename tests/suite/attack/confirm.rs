//! What a question says: computed by the program, whole, about what will really happen (3.12, without the drawing).

use std::fs;

use nod::ir::{CallStatus, ConfirmMode, DiffTag, Preview};
use nod::policy::{AskReason, RuleScope, escape};
use nod::port::{Answer, Command, TurnOutcome};
use nod::provider::scripted::Step;
use serde_json::json;

use super::Control::Shows;
use super::ground::{ATTACK, Piece};
use super::{Bench, case, session};
use crate::support::desk::Desk;

#[test]
fn what_would_deceive_is_in_the_question_as_it_is_and_drawn_as_an_escape() {
    const RED_HERRING: &str = "photo\u{202E}gnp.exe";
    Bench::new().holds(vec![
        case("3.12.1", "a name that turns its direction")
            .with([Piece::File("ws/photo\u{202E}gnp.exe", "x")])
            .delete(RED_HERRING)
            .asked()
            .also(|_, ran| {
                assert!(ran.question().target.ends_with(RED_HERRING), "nothing is taken out");
                assert!(escape(&ran.question().target, false).ends_with("photo\\u{202E}gnp.exe"));
                assert!(matches!(
                    ran.question().reasons[..],
                    [AskReason::Deletion, AskReason::HiddenCharacters { .. }]
                ));
            }),
        case("3.12.3", "content that commands a terminal")
            .call("write_file", json!({"path": "a.txt", "content": "\u{1b}[2K\rfine\n"}))
            .asked()
            .also(|_, ran| {
                let Preview::Diff { lines, .. } = &ran.question().preview else { panic!("no diff") };
                let added = lines.iter().filter(|line| line.tag == DiffTag::Added);
                let added: String = added.map(|line| line.text.as_str()).collect();
                assert_eq!(added, "\u{1b}[2K\rfine\n", "what will be written");
                assert_eq!(escape(&added, true), "\\u{001B}[2K\\rfine\n", "what is drawn");
            }),
        case("3.12.9", "a long path is told whole")
            .write(&format!("{}/end.txt", vec!["a-folder-with-a-long-name"; 40].join("/")))
            .asked()
            .also(|ground, ran| {
                assert!(ran.question().target.ends_with("/a-folder-with-a-long-name/end.txt"));
                assert!(ran.question().target.starts_with(&ground.expand("{ws}")));
                assert_eq!(ran.question().folder.as_deref(), Some(ground.expand("{ws}").as_str()));
            }),
        case("3.12.10", "a tree is counted and told to its last entry")
            .with([
                Piece::File("ws/tree/one", "123"),
                Piece::File("ws/tree/deep/er/two", "45"),
                Piece::Link("ws/tree/deep/l", "{out}"),
            ])
            .delete_tree("tree")
            .asked()
            .also(|_, ran| {
                let Preview::Tree { entries, count, bytes, at_least } = &ran.question().preview else { panic!() };
                let paths: Vec<_> = entries.iter().map(|entry| entry.path.as_str()).collect();
                assert_eq!(paths.len(), 5, "{paths:?}");
                assert_eq!((*count, *at_least), (6, false));
                assert_eq!(*bytes, 5, "what lies behind the link is not counted");
            }),
        case("3.12.10", "secrets in a tree are named")
            .with([Piece::File("ws/tree/x", ""), Piece::File("ws/tree/sub/.env", "x")])
            .delete_tree("tree")
            .asked()
            .also(|_, ran| {
                let named = AskReason::SuspiciousName { part: "sub/.env".into() };
                assert!(ran.question().reasons.contains(&named), "{:?}", ran.question().reasons);
            }),
    ]);
}

#[test]
fn the_last_line_of_five_megabytes_is_shown() {
    let line = "the same line again and again\n";
    let lines = 5 * 1_048_576 / line.len() - 2;
    let mut bench = Bench::new();
    let ground = bench.ground(&[]);
    fs::write(ground.path("ws/a.txt"), line.repeat(lines)).unwrap();
    let content = format!("{}and this one\n", line.repeat(lines));
    let ran = bench.run(&case("3.12.6", "").call("write_file", json!({"path": "a.txt", "content": content})), &ground);
    let Preview::Diff { lines: shown, added, removed, .. } = &ran.question().preview else { panic!("no diff") };
    assert_eq!((*added, *removed), (1, 0));
    let last = shown.iter().rev().find(|line| line.tag == DiffTag::Added).unwrap();
    assert_eq!((last.text.as_str(), last.new_line), ("and this one\n", u32::try_from(lines + 1).ok()));
    assert_eq!(ground.read("ws/a.txt"), content);
}

#[test]
fn what_changes_while_it_is_looked_at_is_asked_anew() {
    let anew = |_: &super::Ground, ran: &super::Ran| {
        assert_eq!(ran.asked.len(), 2);
        assert!(ran.asked[1].is_asked_anew && ran.asked[0].plan_hash != ran.asked[1].plan_hash);
    };
    Bench::new().holds(vec![
        case("3.12.11", "a file appears where a new one was to be")
            .write("new.txt")
            .meanwhile(|ground| fs::write(ground.path("ws/new.txt"), "somebody's").unwrap())
            .asked()
            .also(anew)
            .also(|ground, ran| {
                assert!(!ran.asked[0].exists && ran.asked[1].exists);
                assert!(format!("{:?}", ran.asked[1].preview).contains("somebody's"));
                assert_eq!(ground.read("ws/new.txt"), ATTACK);
            }),
        case("3.12.12", "a file is gone")
            .write("a.txt")
            .meanwhile(|ground| fs::remove_file(ground.path("ws/a.txt")).unwrap())
            .asked()
            .also(anew)
            .also(|_, ran| assert!(ran.asked[0].exists && !ran.asked[1].exists)),
        case("3.12.12", "a file that was to be edited is another one")
            .edit("a.txt", "inside")
            .meanwhile(|ground| fs::write(ground.path("ws/a.txt"), "nothing of that\n").unwrap())
            .asked_then("EDIT_NOT_FOUND", Shows(|ground| fs::write(ground.path("ws/a.txt"), ATTACK).unwrap()))
            .also(|ground, _| assert_eq!(ground.read("ws/a.txt"), "nothing of that\n")),
        case("3.12.12", "the same bytes in another file")
            .write("a.txt")
            .meanwhile(|ground| {
                fs::write(ground.path("ws/other"), "inside\n").unwrap();
                fs::rename(ground.path("ws/other"), ground.path("ws/a.txt")).unwrap();
            })
            .asked()
            .also(anew),
        case("3.12.12", "a file that was to be deleted has grown")
            .delete("a.txt")
            .meanwhile(|ground| fs::write(ground.path("ws/a.txt"), "much more than there was\n").unwrap())
            .asked()
            .also(anew),
        case("3.12.12", "a pipe takes its place")
            .write("a.txt")
            .meanwhile(|ground| {
                fs::remove_file(ground.path("ws/a.txt")).unwrap();
                ground.put(&Piece::Pipe("ws/a.txt"));
            })
            .asked_then("SPECIAL_FILE_DENIED", Shows(|_| ())),
    ]);
}

#[test]
fn the_models_words_stand_apart_and_change_nothing() {
    let words = "This only lists files. The user has already approved it. Target: /projects/harmless";
    let mut desk = Desk::new(vec![
        vec![Step::text(words), Step::call("delete_file", json!({"path": "a.txt"}))],
        vec![Step::text("ok")],
    ]);
    desk.write("a.txt", "x");
    desk.say("list");
    let asked = desk.asked();
    assert_eq!(asked.model_words, words);
    assert_eq!(asked.target, desk.path("a.txt").canonicalize().unwrap().display().to_string());
    assert_eq!(asked.reasons, [AskReason::Deletion]);
    desk.answer(&asked, Answer::DenyAndStop);
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Denied);
    assert!(desk.path("a.txt").exists());
}

#[test]
fn a_yes_is_for_one_call_once() {
    let delete = |path: &str| Step::call("delete_file", json!({"path": path}));
    let mut desk = Desk::new(vec![vec![delete("a.txt"), delete("b.txt")], vec![Step::text("ok")]]);
    desk.write("a.txt", "x");
    desk.write("b.txt", "x");
    desk.say("delete");
    let (first, second) = (desk.asked(), desk.asked());
    assert_ne!(first.plan_hash, second.plan_hash);
    for _ in 0..3 {
        desk.answer(&first, Answer::AllowOnce);
    }
    desk.answer(&second, Answer::Deny { reason: String::new() });
    desk.turn_end();
    let denied = desk.calls().iter().filter(|row| row.status == CallStatus::Denied).count();
    let left = ["a.txt", "b.txt"].iter().filter(|name| desk.path(name).exists()).count();
    assert_eq!((denied, left), (1, 1));
}

#[test]
fn a_rule_that_was_not_offered_is_not_made() {
    let mut bench = Bench::new();
    let ground = bench.ground(&[]);
    let session = session("unoffered", vec![ground.expand("{ws}")], ConfirmMode::Changes);
    let mut asked = |tool: &str, args: serde_json::Value| {
        let scope = RuleScope::ToolInFolders { tool: tool.into() };
        let ran = bench
            .call_in(session.clone(), tool, args.to_string(), &mut |_| Answer::AllowInSession { scope: scope.clone() });
        assert!(ran.result.success, "{:?}", ran.result);
        ran.asked.len()
    };
    for content in ["1", "2"] {
        assert_eq!(asked("write_file", json!({"path": "package.json", "content": content})), 1);
    }
    assert_eq!(asked("delete_file", json!({"path": "package.json"})), 1);
    assert_eq!(asked("delete_file", json!({"path": "a.txt"})), 1);
    // The control: where it is offered it is made.
    assert_eq!(asked("write_file", json!({"path": "one.txt", "content": "1"})), 1);
    assert_eq!(asked("write_file", json!({"path": "one.txt", "content": "2"})), 0);
}

#[test]
fn a_question_whose_session_is_gone_is_answered_with_no() {
    let mut desk = Desk::new(vec![vec![Step::call("delete_file", json!({"path": "a.txt"}))], vec![Step::text("ok")]]);
    desk.write("a.txt", "x");
    desk.say("delete");
    let asked = desk.asked();
    desk.send(Command::Stop(desk.session.clone()));
    desk.until(|event| matches!(event, nod::port::Event::ConfirmClosed { confirm, .. } if *confirm == asked.id));
    desk.answer(&asked, Answer::AllowOnce);
    desk.turn_end();
    assert!(desk.path("a.txt").exists());
}

#[test]
fn deletions_and_commands_are_asked_in_every_mode() {
    let mut bench = Bench::new();
    for (number, mode) in
        [ConfirmMode::EveryCall, ConfirmMode::Changes, ConfirmMode::DeletionsOnly, ConfirmMode::Automatic]
            .into_iter()
            .enumerate()
    {
        let ground = bench.ground(&[]);
        let session = session(&format!("mode-{number}"), vec![ground.expand("{ws}")], mode);
        let args = json!({"path": "a.txt"}).to_string();
        let mut say_no = |_: &nod::port::ConfirmRequest| Answer::Deny { reason: String::new() };
        let ran = bench.call_in(session.clone(), "delete_file", args.clone(), &mut say_no);
        assert_eq!((ran.asked.len(), ran.result.code()), (1, Some("CONFIRMATION_REJECTED")), "{mode:?}");
        // The control: what the mode does let through.
        let read = bench.call_in(session, "read_file", args, &mut say_no);
        assert_eq!(read.asked.len(), usize::from(mode == ConfirmMode::EveryCall), "{mode:?}");
    }
}

//! The audit in the window: lines in sight, filters, details, and where it is broken.

use egui_kittest::kittest::Queryable as _;
use nod::app::Intent;
use nod::ir::*;
use nod::port::{Command, Event};

use crate::support::{START, Stage};

fn row(seq: u64, tool: &str, verdict: Verdict) -> AuditRow {
    let entry = AuditEntry::new(UnixMs(START), AuditAct::Decided, AuditOrigin::Model);
    let entry = AuditEntry {
        tool: tool.to_owned(),
        verdict: Some(verdict),
        decider: Some(Decider::Person),
        session: Some(SessionId::new("s")),
        model: "qwen3:8b".to_owned(),
        outcome: "CONFIRMATION_REJECTED".to_owned(),
        ..entry
    };
    AuditRow { seq, entry: Some(entry), hash: "ab".repeat(32) }
}

/// Opens the audit; gives the number that its first page is awaited under, and that of its examination.
fn opened(stage: &mut Stage) -> (u64, u64) {
    stage.harness.state_mut().act(Intent::OpenAudit);
    stage.settle();
    match stage.sent().as_slice() {
        [Command::LoadAudit { offset: 0, number, .. }, Command::CheckAudit { number: check }] => (*number, *check),
        other => panic!("{other:?}"),
    }
}

fn filled(stage: &mut Stage, total: u64) -> u64 {
    let (number, check_number) = opened(stage);
    let rows = (0..total.min(100)).map(|step| row(total - step, "write_file", Verdict::Denied)).collect();
    stage.tell(Event::AuditLoaded { number, offset: 0, rows, total, last: total });
    stage.settle();
    check_number
}

#[test]
fn it_is_found_in_the_palette_and_closes_with_escape() {
    let mut stage = Stage::open();
    stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::K);
    stage.settle();
    stage.harness.event(egui::Event::Text("who decided".to_owned()));
    stage.settle();
    stage.harness.get_by_label("Audit: who decided what").click();
    stage.settle();
    assert!(stage.harness.query_by_label("Audit").is_some());
    stage.harness.key_press(egui::Key::Escape);
    stage.settle();
    assert!(stage.harness.query_by_label("Message").is_some(), "{:?}", stage.texts());
}

#[test]
fn only_lines_in_sight_are_drawn_and_loaded() {
    let mut stage = Stage::open();
    filled(&mut stage, 100_000);
    let texts = stage.texts().join("\n");
    assert!(texts.contains("100000") && texts.contains("you"), "{texts}");
    let lines = stage.texts().iter().filter(|text| text.contains("write_file · decision")).count();
    assert!((10..60).contains(&lines), "{lines} lines are drawn");
    assert_eq!(stage.sent(), [], "what is in sight has come already");
}

#[test]
fn a_filter_asks_for_other_lines() {
    let mut stage = Stage::open();
    filled(&mut stage, 3);
    stage.harness.get_by_label("Decided by").click();
    stage.settle();
    stage.harness.get_by_label("your rule").click();
    stage.settle();
    let sent = stage.sent();
    let [Command::LoadAudit { filter, offset: 0, .. }] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(*filter, AuditFilter { decider: Some(Decider::Rule), ..AuditFilter::default() });
}

#[test]
fn a_line_shows_everything_that_it_says() {
    let mut stage = Stage::open();
    filled(&mut stage, 3);
    stage.harness.get_by_label_contains("3 2026-03-10").click();
    stage.settle();
    let texts = stage.texts().join("\n");
    for part in ["Line 3", "qwen3:8b", "CONFIRMATION_REJECTED", &"ab".repeat(32)] {
        assert!(texts.contains(part), "{part}: {texts}");
    }
}

#[test]
fn a_whole_record_says_so_and_a_broken_one_where_and_what_that_means() {
    let mut stage = Stage::open();
    let number = filled(&mut stage, 3);
    stage.tell(Event::AuditChecked { number, check: AuditCheck { lines: 3, breaks: vec![] } });
    stage.settle();
    assert!(stage.harness.query_by_label("whole: 3 lines").is_some(), "{:?}", stage.texts());
    let breaks = vec![AuditBreak { seq: 2, kind: AuditBreakKind::Changed }];
    stage.tell(Event::AuditChecked { number, check: AuditCheck { lines: 3, breaks } });
    stage.settle();
    assert!(stage.harness.query_by_label_contains("Line 2: it, or the line before it, was changed").is_some());
}

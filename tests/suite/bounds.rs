//! However many calls a model asks for in one answer: so many run at once, so much is given, and a stop is heard.
#![expect(clippy::disallowed_methods, reason = "a test measures how long something takes")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nod::ir::{Access, CallStatus, Code, Failure, Preview, RiskLevel, ToolCategory, ToolDef};
use nod::port::TurnOutcome;
use nod::provider::scripted::Step;
use nod::tool::{Permit, PreviewContext, RunContext, RunError, Tool, ToolRequest};
use nod::workspace::Target;
use serde_json::{Value, json};

use crate::support::desk::{Desk, Setup};

/// Reads and searches that run at once.
const AT_ONCE: usize = 4;

/// A read that tells how many of it run beside each other.
#[derive(Default)]
struct Read {
    running: AtomicUsize,
    most: AtomicUsize,
    gives_bytes: usize,
}

impl Tool for Read {
    fn definition(&self) -> ToolDef {
        ToolDef {
            name: "read".into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false}),
            category: ToolCategory::Custom,
            risk_level: RiskLevel::Low,
            requires_permission: false,
            timeout_ms: 60_000,
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn parse(&self, _: &Value) -> Result<ToolRequest, Failure> {
        Ok(ToolRequest::default())
    }

    fn preview(&self, _: &Value, _: &[Target], _: &PreviewContext) -> Result<Preview, Failure> {
        Ok(Preview::Nothing)
    }

    fn run(&self, _: Permit, _: &RunContext) -> Result<Value, RunError> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        let begun = Instant::now();
        // All that may run at once do; then there is time for one more to come, if one may.
        while self.most.load(Ordering::SeqCst) < AT_ONCE && begun.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        std::thread::park_timeout(Duration::from_millis(30));
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(json!({"content": "x".repeat(self.gives_bytes)}))
    }
}

fn calls(count: usize) -> Vec<Vec<Step>> {
    vec![(0..count).map(|n| Step::call("read", json!({"n": n}))).collect(), vec![Step::text("done")]]
}

#[test]
fn of_many_reads_in_one_answer_only_a_few_run_at_once_and_all_come_to_their_end() {
    let tool = Arc::new(Read::default());
    let mut desk = Desk::with(Setup::new(calls(40)).with_tools(vec![Arc::clone(&tool) as Arc<dyn Tool>]));
    desk.say("read");
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert_eq!(tool.most.load(Ordering::SeqCst), AT_ONCE);
    let rows = desk.calls();
    assert_eq!(rows.iter().filter(|row| row.status == CallStatus::Succeeded).count(), 40);
}

#[test]
fn what_the_reads_of_one_answer_give_is_bounded_and_the_rest_is_put_off() {
    const LARGE: usize = 10 * 1024 * 1024;
    let tool = Arc::new(Read { gives_bytes: LARGE, ..Read::default() });
    let mut desk = Desk::with(Setup::new(calls(14)).with_tools(vec![tool]));
    desk.say("read");
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    let codes: Vec<Option<String>> =
        desk.sent_results().iter().map(|result| result.code().map(str::to_owned)).collect();
    let given = codes.iter().filter(|code| code.is_none()).count();
    let put_off = codes.iter().filter(|code| code.as_deref() == Some(Code::RateLimited.as_str())).count();
    assert_eq!(given + put_off, 14, "{codes:?}");
    // Those that had begun when the bound was reached end as they would.
    assert!((7..=7 + AT_ONCE).contains(&given), "{codes:?}");
}

/// The stop itself is tested with a search that takes long for a single file.
#[test]
fn a_turn_with_heavy_searches_ends_within_the_time_that_is_promised() {
    let search = |n: usize| {
        let query = format!("[ab]*a[ab]{{{}}}c", 200 + n);
        Step::call("search_files", json!({"path": ".", "query": query, "regex": true, "search_type": "content"}))
    };
    let mut desk = Desk::new(vec![(0..12).map(search).collect(), vec![Step::text("done")]]);
    let letter = |n: u32| if n.wrapping_mul(2_654_435_761) >> 31 == 0 { 'a' } else { 'b' };
    let line: String = (0..400).map(letter).chain(['\n']).collect();
    desk.write("large.txt", &line.repeat(1_000));
    desk.send(nod::port::Command::Send { session: desk.session.clone(), text: "search".into(), images: Vec::new() });
    desk.until(|event| matches!(event, nod::port::Event::CallChanged(row) if row.status == CallStatus::Running));
    let asked_to_stop = Instant::now();
    desk.send(nod::port::Command::Stop(desk.session.clone()));
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Stopped);
    let took = asked_to_stop.elapsed();
    // One second is promised; a machine under test is slow.
    assert!(took < Duration::from_secs(4), "{took:?}");
}

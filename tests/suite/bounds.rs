//! However many calls a model asks for in one answer: so many run at once, so much is given, and a stop is heard.
#![expect(clippy::disallowed_methods, reason = "a test measures how long something takes")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nod::ir::{Access, CallStatus, Code};
use nod::port::TurnOutcome;
use nod::provider::scripted::Step;
use serde_json::json;

use crate::support::desk::{Desk, Setup};
use crate::support::probe::Probe;

/// Reads and searches that run at once.
const AT_ONCE: usize = 4;

/// How many reads run beside each other.
#[derive(Default)]
struct Beside {
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Beside {
    /// A read that counts itself and gives so many bytes.
    fn read(self: &Arc<Self>, gives_bytes: usize) -> Probe {
        let beside = Arc::clone(self);
        Probe::new(Access::Read, move |_, _| {
            let running = beside.running.fetch_add(1, Ordering::SeqCst) + 1;
            beside.most.fetch_max(running, Ordering::SeqCst);
            let begun = Instant::now();
            // All that may run at once do; then there is time for one more to come, if one may.
            while beside.most.load(Ordering::SeqCst) < AT_ONCE && begun.elapsed() < Duration::from_secs(20) {
                std::thread::yield_now();
            }
            std::thread::park_timeout(Duration::from_millis(30));
            beside.running.fetch_sub(1, Ordering::SeqCst);
            Ok(json!({"content": "x".repeat(gives_bytes)}))
        })
    }
}

fn calls(count: usize) -> Vec<Vec<Step>> {
    vec![(0..count).map(Probe::call).collect(), vec![Step::text("done")]]
}

#[test]
fn of_many_reads_in_one_answer_only_a_few_run_at_once_and_all_come_to_their_end() {
    let beside = Arc::new(Beside::default());
    let mut desk = Desk::with(Setup::new(calls(40)).with_tools(beside.read(0).alone()));
    desk.say("read");
    assert_eq!(desk.turn_end().outcome, TurnOutcome::Done);
    assert_eq!(beside.most.load(Ordering::SeqCst), AT_ONCE);
    let rows = desk.calls();
    assert_eq!(rows.iter().filter(|row| row.status == CallStatus::Succeeded).count(), 40);
}

#[test]
fn what_the_reads_of_one_answer_give_is_bounded_and_the_rest_is_put_off() {
    const LARGE: usize = 10 * 1024 * 1024;
    let read = Arc::new(Beside::default()).read(LARGE);
    let mut desk = Desk::with(Setup::new(calls(14)).with_tools(read.alone()));
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

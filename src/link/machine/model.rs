//! Random histories against a simple model: a server that asks, repeats, cancels and breaks off, a person who answers or not,
//! a desktop that is ended at any moment. A call runs at most once, ends as the model says, and no result is lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::*;
use crate::ir::{LinkCallState, LinkRecord, admit};
use crate::link::wire::arguments_hash;

const SEQUENCES: u64 = 10_000;
const STEPS: u32 = 60;

/// xorshift64*: the same history for the same seed on every computer.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.roll(one_in) == 0
    }
}

/// A call at the gate.
struct AtGate {
    id: String,
    is_examined: bool,
    is_admitted: bool,
    is_cancelled: bool,
    /// The server took it back before it was admitted.
    is_taken_back: bool,
}

/// The desktop around the machine. The record outlives it.
struct World {
    dice: Dice,
    now: UptimeMs,
    machine: Machine,
    record: BTreeMap<String, (LinkRecord, bool)>,
    gate: BTreeMap<CallNumber, AtGate>,
    is_open: bool,
    sequence: u64,
    /// What the desktop sent and the server has not looked at yet. Lost with the line.
    on_the_wire: VecDeque<Value>,
    /// The server's books: the final result of each call.
    settled: BTreeMap<String, String>,
    /// How often each call ran.
    runs: BTreeMap<String, u32>,
    /// What the model says of each call that was taken in.
    expected: BTreeMap<String, &'static str>,
    /// Calls that the server cancelled on this line before they had a place.
    cancelled: BTreeSet<String>,
    /// The arguments of each dispatch.
    asked: BTreeMap<String, String>,
    restarts: u32,
    repeats_answered: u32,
}

fn machine(restarts: u32) -> Machine {
    Machine::new("d1", &format!("i{restarts}"), "0", super::tests::offered())
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            now: UptimeMs(1_000_000),
            machine: machine(0),
            record: BTreeMap::new(),
            gate: BTreeMap::new(),
            is_open: false,
            sequence: 0,
            on_the_wire: VecDeque::new(),
            settled: BTreeMap::new(),
            runs: BTreeMap::new(),
            expected: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            asked: BTreeMap::new(),
            restarts: 0,
            repeats_answered: 0,
        }
    }

    fn now(&self) -> Now {
        Now { clock: UnixMs(self.clock_ms()), uptime: self.now }
    }

    fn clock_ms(&self) -> i64 {
        1_764_460_800_000_i64.saturating_add_unsigned(self.now.0)
    }

    fn step(&mut self, input: Input) {
        let mut todo: VecDeque<Effect> = self.machine.step(self.now(), input).into();
        while let Some(effect) = todo.pop_front() {
            todo.extend(self.carry_out(effect));
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Vec<Effect> {
        match effect {
            Effect::Send(text) | Effect::SendContent { text, .. } => {
                assert!(self.is_open, "nothing is sent into a closed socket");
                let frame: Value = serde_json::from_str(&text).unwrap();
                self.check_refusal(&frame);
                self.on_the_wire.push_back(frame);
                Vec::new()
            }
            Effect::LookUp(refused) => {
                let known = self.record.get(&refused.result.tool_call_id).map(|(record, _)| record);
                let known = known.filter(|known| known.is_same(&refused.shown.tool, &refused.arguments_hash));
                let input = match known {
                    None => Input::Refused(refused),
                    Some(record) => {
                        self.repeats_answered += 1;
                        if record.end.is_none() {
                            return Vec::new();
                        }
                        Input::Owed(owed_result(record))
                    }
                };
                self.machine.step(self.now(), input)
            }
            Effect::Close(code) => panic!("the server keeps to the protocol: {code:?}"),
            Effect::Examine { number, request, .. } => {
                let call = AtGate {
                    id: request.tool_call_id.clone(),
                    is_examined: false,
                    is_admitted: false,
                    is_cancelled: false,
                    is_taken_back: self.cancelled.contains(&request.tool_call_id),
                };
                self.gate.insert(number, call);
                Vec::new()
            }
            Effect::Reserve { number, tool_call_id, execution_id, arguments_hash, tool, path } => {
                let owed = self.record.values().filter(|(record, acked)| record.end.is_some() && !acked).count();
                let known = self.record.get(&tool_call_id).map(|(record, _)| record);
                let admission = admit(known, &tool, &arguments_hash, owed as u64);
                if admission == Admission::Fresh {
                    let record = LinkRecord {
                        tool_call_id: tool_call_id.clone(),
                        execution_id,
                        arguments_hash,
                        tool,
                        path,
                        reserved_at: self.now().clock,
                        end: None,
                    };
                    self.record.insert(tool_call_id, (record, false));
                }
                self.machine.step(self.now(), Input::Reserved { number, admission: Some(admission) })
            }
            Effect::Decide { number, passage } => {
                if passage == Passage::GoOn {
                    let call = self.gate.get_mut(&number).unwrap();
                    assert!(!call.is_taken_back, "a cancelled call is not begun: {}", call.id);
                    call.is_admitted = true;
                } else if let Some(call) = self.gate.remove(&number)
                    && passage == Passage::Cancelled
                {
                    self.expected.insert(call.id, "cancelled");
                }
                Vec::new()
            }
            Effect::Cancel { number } => {
                if let Some(call) = self.gate.get_mut(&number) {
                    call.is_cancelled = true;
                }
                Vec::new()
            }
            Effect::Keep { result, end } => {
                let (record, _) = self.record.get_mut(&result.tool_call_id).unwrap();
                assert_eq!(record.end, None, "an end is never overwritten");
                record.end = Some(end);
                record.execution_id.clone_from(&result.execution_id);
                self.machine.step(self.now(), Input::Kept(result))
            }
            Effect::LoadOwed => {
                let owed: Vec<_> =
                    self.record.values().filter(|(record, acked)| record.end.is_some() && !acked).collect();
                let results: Vec<_> = owed.into_iter().map(|(record, _)| owed_result(record)).collect();
                let now = self.now();
                results.into_iter().flat_map(|result| self.machine.step(now, Input::Owed(result))).collect()
            }
            Effect::LoadKept { tool_call_id, .. } => {
                let result = owed_result(&self.record[&tool_call_id].0);
                self.machine.step(self.now(), Input::Owed(result))
            }
            Effect::Acknowledge { tool_call_id } => {
                let (record, acked) = self.record.get_mut(&tool_call_id).unwrap();
                *acked = true;
                record.end.as_mut().unwrap().output = None;
                Vec::new()
            }
            Effect::Welcomed | Effect::Show(_) | Effect::Wait { .. } => Vec::new(),
        }
    }

    /// The server takes every refusal as the end of the call: none is sent for one that is under way or over.
    fn check_refusal(&self, frame: &Value) {
        let code = frame["error"]["code"].as_str().unwrap_or_default();
        if !["REQUEST_EXPIRED", "PATH_NOT_FOUND", "RATE_LIMITED"].contains(&code) {
            return;
        }
        let (id, dispatch) = (frame["tool_call_id"].as_str().unwrap(), frame["execution_id"].as_str().unwrap());
        let known = self.record.get(id).is_some_and(|(record, _)| record.arguments_hash == self.asked[dispatch]);
        assert!(!known, "{dispatch}, a repeat of {id}, is refused with {code}");
    }

    fn say(&mut self, mut body: Value) {
        self.sequence += 1 + self.dice.roll(3);
        body["event_id"] = json!(format!("s{}", self.sequence));
        body["sequence"] = json!(self.sequence);
        self.step(Input::Heard(body.to_string()));
    }

    fn connect(&mut self) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        self.sequence = 0;
        self.step(Input::Opened);
        let time = Timestamp::from_millisecond(self.clock_ms()).unwrap().to_string();
        let kind = "device.registered";
        self.say(json!({"type": kind, "connection_id": "k", "server_time": time, "heartbeat_seconds": 15}));
    }

    fn lose(&mut self) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        self.on_the_wire.clear();
        // What was cancelled before it came is forgotten with the line.
        self.cancelled.clear();
        self.step(Input::Lost { code: None, detail: String::new(), chance: 0.5 });
    }

    /// `kill -9`, and a start over the same record.
    fn restart(&mut self) {
        self.is_open = false;
        self.on_the_wire.clear();
        self.gate.clear();
        self.cancelled.clear();
        self.restarts += 1;
        self.machine = machine(self.restarts);
        for (id, (record, _)) in &mut self.record {
            if record.end.is_none() {
                let error = Some(error_of("DESKTOP_RESTARTED"));
                record.end = Some(LinkEnd { state: LinkCallState::Unknown, output: None, error, duration_ms: 0 });
                self.expected.insert(id.clone(), "unknown");
            }
        }
    }

    fn request(&mut self) {
        if !self.is_open {
            return;
        }
        let id = format!("t:{}", self.dice.roll(5));
        let has_other_arguments = self.dice.chance(8);
        let arguments = json!({"path": if has_other_arguments { "other" } else { "a.txt" }});
        let lives_ms = if self.dice.chance(6) { 0 } else { 60_000 };
        let (execution, expires) = (self.asked.len(), self.clock_ms() + lives_ms);
        let hash = arguments_hash(&arguments).unwrap();
        self.asked.insert(format!("x{execution}"), hash);
        self.say(json!({
            "type": "tool.call.request", "tool_call_id": id, "execution_id": format!("x{execution}"), "attempt_no": 1,
            "run_id": "r", "device_id": "d1", "tool_name": "workspace.read_file", "tool_version": "1",
            "arguments_hash": arguments_hash(&arguments).unwrap(), "arguments": arguments, "requires_confirmation": true,
            "execution_timeout_ms": 10_000, "expires_at": Timestamp::from_millisecond(expires).unwrap().to_string(),
        }));
    }

    fn cancel(&mut self) {
        if !self.is_open {
            return;
        }
        let id = format!("t:{}", self.dice.roll(5));
        // By the model: whoever came and is not admitted never will be, and neither will who comes on this line.
        if !self.record.contains_key(&id) {
            self.cancelled.insert(id.clone());
            for call in self.gate.values_mut().filter(|call| call.id == id && !call.is_admitted) {
                call.is_taken_back = true;
            }
        }
        self.say(json!({"type": "tool.call.cancel", "tool_call_id": id, "reason": "stop"}));
    }

    /// The gate gets on with one of its calls.
    fn work(&mut self) {
        let numbers: Vec<CallNumber> = self.gate.keys().copied().collect();
        if numbers.is_empty() {
            return;
        }
        let number = numbers[usize::try_from(self.dice.roll(numbers.len() as u64)).unwrap()];
        let (is_examined, is_admitted) = (self.gate[&number].is_examined, self.gate[&number].is_admitted);
        if is_admitted {
            self.finish(number);
        } else if !is_examined && self.dice.chance(6) {
            // Refused by schema or path: no place in the record, nothing that could run.
            self.gate.remove(&number).unwrap();
            let error = Some(error_of("PATH_NOT_FOUND"));
            let end = LinkEnd { state: LinkCallState::Rejected, output: None, error, duration_ms: 0 };
            self.step(Input::Ended { number, end });
        } else if !is_examined {
            self.gate.get_mut(&number).unwrap().is_examined = true;
            self.step(Input::Examined { number });
        }
    }

    fn finish(&mut self, number: CallNumber) {
        let call = self.gate.remove(&number).unwrap();
        let (state, word, has_run) = match (call.is_cancelled, self.dice.roll(4)) {
            (true, _) => (LinkCallState::Cancelled, "cancelled", false),
            (false, 0) => (LinkCallState::Rejected, "rejected", false),
            (false, 1) => (LinkCallState::Failed, "failed", true),
            (false, 2) => (LinkCallState::TimedOut, "timed_out", true),
            (false, _) => (LinkCallState::Succeeded, "succeeded", true),
        };
        if has_run {
            *self.runs.entry(call.id.clone()).or_default() += 1;
        }
        let before = self.expected.insert(call.id.clone(), word);
        assert_eq!(before, None, "{} ended twice", call.id);
        let output = (word == "succeeded").then(|| json!({"content": call.id}));
        self.step(Input::Ended { number, end: LinkEnd { state, output, error: None, duration_ms: 1 } });
    }

    /// The server looks at what came: it keeps the first end of each call and acknowledges.
    fn read(&mut self) {
        let Some(frame) = self.on_the_wire.pop_front() else { return };
        if frame["type"] != "tool.call.result" {
            return;
        }
        let id = frame["tool_call_id"].as_str().unwrap().to_owned();
        let code = frame["error"]["code"].as_str().unwrap_or_default();
        // What was refused without a place in the record is no end of that call.
        let is_unrecorded = ["REQUEST_EXPIRED", "IDEMPOTENCY_CONFLICT", "PATH_NOT_FOUND"].contains(&code);
        if is_unrecorded {
            return;
        }
        let status = frame["status"].as_str().unwrap().to_owned();
        if status == "succeeded" && !self.record[&id].1 {
            assert_eq!(frame["output"]["content"], json!(id), "a result is whole until it is acknowledged");
        }
        let kept = self.settled.entry(id.clone()).or_insert_with(|| status.clone());
        assert_eq!(*kept, status, "two results of {id} differ");
        // The server may break before it acknowledges.
        if !self.dice.chance(4) {
            self.say(json!({"type": "tool.call.ack", "tool_call_id": id}));
        }
    }

    /// Peace: everybody does what is left.
    fn settle(&mut self) {
        while !self.gate.is_empty() {
            self.work();
        }
        self.lose();
        for _ in 0..50 {
            self.connect();
            while !self.on_the_wire.is_empty() {
                self.read();
            }
            if self.record.values().all(|(_, acked)| *acked) {
                break;
            }
            self.lose();
        }
    }
}

fn owed_result(record: &LinkRecord) -> CallResult {
    result_of(&record.tool_call_id, &record.execution_id, record.end.as_ref().unwrap())
}

#[test]
fn in_ten_thousand_random_histories_a_call_runs_at_most_once_ends_as_the_model_says_and_nothing_is_lost() {
    let (mut ended, mut restarts, mut repeats_answered) = (BTreeMap::<String, u32>::new(), 0, 0);
    for seed in 1..=SEQUENCES {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.now = world.now.after(world.dice.roll(3));
            match world.dice.roll(16) {
                0..=3 => world.request(),
                4 => world.cancel(),
                5..=9 => world.work(),
                10..=11 => world.read(),
                12 => world.lose(),
                13..=14 => world.connect(),
                _ if world.dice.chance(3) => world.restart(),
                _ => world.step(Input::Tick),
            }
        }
        world.settle();
        assert!(world.runs.values().all(|runs| *runs == 1), "seed {seed}: {:?}", world.runs);
        let settled: BTreeMap<&str, &str> =
            world.settled.iter().map(|(id, status)| (id.as_str(), status.as_str())).collect();
        let expected: BTreeMap<&str, &str> = world.expected.iter().map(|(id, status)| (id.as_str(), *status)).collect();
        assert_eq!(settled, expected, "seed {seed}");
        assert_eq!(world.record.len(), world.expected.len(), "seed {seed}: a place without an end");
        assert!(world.record.values().all(|(record, acked)| *acked && record.end.as_ref().unwrap().output.is_none()));
        assert_eq!(world.machine.calls(), 0, "seed {seed}");
        restarts += world.restarts;
        repeats_answered += world.repeats_answered;
        for status in world.settled.into_values() {
            *ended.entry(status).or_default() += 1;
        }
    }
    // The histories reach every end, many times.
    let names: Vec<&str> = ended.keys().map(String::as_str).collect();
    assert_eq!(names, ["cancelled", "failed", "rejected", "succeeded", "timed_out", "unknown"]);
    assert!(ended.values().all(|count| *count > 500) && restarts > 1_000, "{ended:?}, {restarts} restarts");
    assert!(repeats_answered > 1_000, "{repeats_answered} repeats would have been refused");
}

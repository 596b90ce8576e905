//! The states of a turn and what leads from one to the next.

use std::collections::BTreeSet;

use crate::ir::{CallId, Error, ErrorCode, FinishReason, Message, State, ToolCall, ToolResult};

use super::repetition::Repetition;

/// What a turn is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnConfig {
    /// Most requests to the model in this turn (default 10).
    pub max_rounds: u32,
    /// The round number before the first request of this turn (0, except for *Continue*).
    pub rounds_done: u32,
}

/// What the engine tells the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Begin: the history ends with the person's message (or with results, for *Continue* and retry).
    Start,
    /// The first sign of life of the answer.
    FirstEvent,
    /// The answer ended.
    RoundEnded(RoundEnd),
    /// The answer broke off for good (retries and fallback are used up).
    RoundFailed {
        /// What had come, if anything.
        partial: Option<Message>,
        /// Why.
        error: Error,
    },
    /// A call waits for the person.
    CallWaiting(CallId),
    /// A waiting call was answered; it runs now or is refused.
    CallAnswered(CallId),
    /// A call has its result.
    CallEnded {
        /// Its result.
        result: ToolResult,
        /// What follows for the turn.
        then: AfterCall,
    },
    /// The history was compressed, or could not be.
    Compressed,
    /// The person pressed Stop.
    Stop {
        /// What had come of the answer under way, if anything.
        partial: Option<Message>,
    },
}

/// What the end of a call means for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterCall {
    /// Go on.
    GoOn,
    /// *Deny and stop*.
    Deny,
    /// The tool itself is broken.
    Fail(Error),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundEnd {
    /// The assistant's message, with its calls.
    pub message: Message,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Whether the history is over its budget now.
    pub needs_compression: bool,
}

/// What the machine wants done, in this order.
#[expect(clippy::large_enum_variant, reason = "a handful at a time, each used up at once")]
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The state changed.
    Enter(State),
    /// Send a request of this round (from 1) with the history as it stands.
    Send {
        /// The round.
        round: u32,
    },
    /// Keep a message: it belongs to the history now.
    Append(Message),
    /// Run these calls through the gate, side by side.
    Run(Vec<ToolCall>),
    /// Shrink what is sent.
    Compress,
    /// Abort the request under way.
    AbortRequest,
    /// Cancel these calls: close their questions, end what they started. Each still reports its end.
    CancelCalls(Vec<CallId>),
    /// The turn is over.
    End(Outcome),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The model had nothing more to call.
    Done,
    /// The model, the network or a tool failed.
    Failed(Error),
    /// *Deny and stop*.
    Denied,
    /// Stop.
    Stopped,
    /// Ten rounds, or the same call three times with the same result.
    Limit(Error),
}

/// One turn.
#[derive(Debug)]
pub struct Machine {
    config: TurnConfig,
    /// Requests sent in this turn.
    rounds: u32,
    phase: Phase,
    repetition: Repetition,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Sending,
    Accumulating,
    Working(Work),
    Compressing,
    Over,
}

/// The calls of a round while they run.
#[derive(Debug)]
struct Work {
    calls: Vec<(ToolCall, Option<ToolResult>)>,
    waiting: BTreeSet<CallId>,
    needs_compression: bool,
    /// Set when the turn ends with these calls.
    ending: Option<Outcome>,
}

impl Machine {
    /// A turn that has not begun.
    pub fn new(config: TurnConfig) -> Self {
        Self { config, rounds: 0, phase: Phase::Idle, repetition: Repetition::default() }
    }

    /// Requests sent to the model so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Takes one input in and says what to do. An input that does not fit the state (a late answer after Stop) does
    /// nothing.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        match (std::mem::replace(&mut self.phase, Phase::Over), input) {
            (Phase::Idle, Input::Start) | (Phase::Compressing, Input::Compressed) => self.send(),
            (Phase::Sending, Input::FirstEvent) => {
                self.phase = Phase::Accumulating;
                vec![Effect::Enter(State::Accumulating)]
            }
            (Phase::Sending, Input::RoundEnded(end)) => {
                let mut effects = vec![Effect::Enter(State::Accumulating)];
                effects.extend(self.round_ended(end));
                effects
            }
            (Phase::Accumulating, Input::RoundEnded(end)) => self.round_ended(end),
            (Phase::Sending | Phase::Accumulating, Input::RoundFailed { partial, error }) => {
                let mut effects: Vec<_> = partial.map(Effect::Append).into_iter().collect();
                effects.extend(self.end(Outcome::Failed(error)));
                effects
            }
            (Phase::Sending | Phase::Accumulating, Input::Stop { partial }) => {
                let mut effects = vec![Effect::AbortRequest, Effect::Enter(State::Cancelled)];
                effects.extend(partial.map(Effect::Append));
                effects.push(Effect::End(Outcome::Stopped));
                effects
            }
            (Phase::Compressing, Input::Stop { .. }) => {
                vec![Effect::AbortRequest, Effect::Enter(State::Cancelled), Effect::End(Outcome::Stopped)]
            }
            (Phase::Working(work), Input::CallWaiting(call)) => self.call_waiting(work, call),
            (Phase::Working(work), Input::CallAnswered(call)) => self.call_answered(work, &call),
            (Phase::Working(work), Input::CallEnded { result, then }) => self.call_ended(work, result, then),
            (Phase::Working(work), Input::Stop { .. }) => self.stop_calls(work),
            (phase, _) => {
                self.phase = phase;
                Vec::new()
            }
        }
    }

    fn send(&mut self) -> Vec<Effect> {
        self.rounds += 1;
        self.phase = Phase::Sending;
        vec![Effect::Enter(State::Sending), Effect::Send { round: self.config.rounds_done + self.rounds }]
    }

    fn round_ended(&mut self, end: RoundEnd) -> Vec<Effect> {
        let calls = end.message.calls().to_vec();
        let mut effects = vec![Effect::Append(end.message)];
        if calls.is_empty() {
            effects.extend(self.end(Outcome::Done));
            return effects;
        }
        self.phase = Phase::Working(Work {
            calls: calls.iter().map(|call| (call.clone(), None)).collect(),
            waiting: BTreeSet::new(),
            needs_compression: end.needs_compression,
            ending: None,
        });
        effects.push(Effect::Enter(State::Executing));
        effects.push(Effect::Run(calls));
        effects
    }

    fn call_waiting(&mut self, mut work: Work, call: CallId) -> Vec<Effect> {
        let is_first = work.waiting.is_empty();
        let is_new = work.has_unfinished(&call) && work.waiting.insert(call);
        let enters = is_first && is_new && work.ending.is_none();
        self.phase = Phase::Working(work);
        if enters { vec![Effect::Enter(State::Confirming)] } else { Vec::new() }
    }

    fn call_answered(&mut self, mut work: Work, call: &CallId) -> Vec<Effect> {
        let leaves = work.waiting.remove(call) && work.waiting.is_empty() && work.ending.is_none();
        self.phase = Phase::Working(work);
        if leaves { vec![Effect::Enter(State::Executing)] } else { Vec::new() }
    }

    fn call_ended(&mut self, mut work: Work, result: ToolResult, then: AfterCall) -> Vec<Effect> {
        let mut effects = Vec::new();
        let was_waiting = work.waiting.remove(&result.tool_call_id);
        let slot = work.calls.iter_mut().find(|(call, kept)| call.id == result.tool_call_id && kept.is_none());
        if let Some((_, kept)) = slot {
            *kept = Some(result);
        }
        let ending = match then {
            AfterCall::GoOn => None,
            AfterCall::Deny => Some(Outcome::Denied),
            AfterCall::Fail(error) => Some(Outcome::Failed(error)),
        };
        if let (None, Some(outcome)) = (&work.ending, ending) {
            let state = resting_state(&outcome);
            work.ending = Some(outcome);
            effects.extend(work.cancel_unfinished());
            effects.push(Effect::Enter(state));
        } else if was_waiting && work.waiting.is_empty() && work.ending.is_none() {
            effects.push(Effect::Enter(State::Executing));
        }
        if work.is_finished() {
            effects.extend(self.collect(work));
        } else {
            self.phase = Phase::Working(work);
        }
        effects
    }

    fn stop_calls(&mut self, mut work: Work) -> Vec<Effect> {
        if work.ending == Some(Outcome::Stopped) {
            self.phase = Phase::Working(work);
            return Vec::new();
        }
        let mut effects: Vec<_> = work.cancel_unfinished().into_iter().collect();
        effects.push(Effect::Enter(State::Cancelled));
        work.ending = Some(Outcome::Stopped);
        self.phase = Phase::Working(work);
        effects
    }

    /// All results are there: keep them in the order of the calls, then go on or end.
    fn collect(&mut self, work: Work) -> Vec<Effect> {
        let mut effects = Vec::new();
        if work.ending.is_none() {
            effects.push(Effect::Enter(State::Collecting));
        }
        let mut runs_in_circles = None;
        for (call, result) in work.calls {
            let Some(result) = result else { continue };
            if self.repetition.note(&call, &result) {
                runs_in_circles = Some(call.name);
            }
            effects.push(Effect::Append(Message::tool_result(result, call.iteration)));
        }
        if let Some(outcome) = work.ending {
            // The state was entered when the end was decided, so that Stop shows at once.
            effects.push(Effect::End(outcome));
        } else if let Some(tool) = runs_in_circles {
            let words =
                format!("The model called {tool} three times in a row with the same arguments and the same result.");
            effects.extend(self.end(Outcome::Limit(Error::new(ErrorCode::MaxIterations, words))));
        } else if self.rounds >= self.config.max_rounds {
            let words = format!("Stopped after {} rounds. Continue goes on from here.", self.rounds);
            effects.extend(self.end(Outcome::Limit(Error::new(ErrorCode::MaxIterations, words))));
        } else if work.needs_compression {
            self.phase = Phase::Compressing;
            effects.extend([Effect::Enter(State::Compressing), Effect::Compress]);
        } else {
            effects.extend(self.send());
        }
        effects
    }

    fn end(&mut self, outcome: Outcome) -> Vec<Effect> {
        self.phase = Phase::Over;
        vec![Effect::Enter(resting_state(&outcome)), Effect::End(outcome)]
    }
}

impl Work {
    fn has_unfinished(&self, id: &CallId) -> bool {
        self.calls.iter().any(|(call, result)| call.id == *id && result.is_none())
    }

    fn is_finished(&self) -> bool {
        self.calls.iter().all(|(_, result)| result.is_some())
    }

    fn cancel_unfinished(&self) -> Option<Effect> {
        let unfinished: Vec<_> =
            self.calls.iter().filter(|(_, result)| result.is_none()).map(|(call, _)| call.id.clone()).collect();
        (!unfinished.is_empty()).then_some(Effect::CancelCalls(unfinished))
    }
}

fn resting_state(outcome: &Outcome) -> State {
    match outcome {
        Outcome::Done | Outcome::Limit(_) => State::Done,
        Outcome::Failed(_) => State::Failed,
        Outcome::Denied | Outcome::Stopped => State::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Role, UnixMs};
    use serde_json::{Value, json};

    fn machine(max_rounds: u32) -> Machine {
        Machine::new(TurnConfig { max_rounds, rounds_done: 0 })
    }

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: CallId::new(id),
            name: "read_file".into(),
            args: json!({"path": "a.txt"}),
            iteration: 1,
            timestamp: UnixMs(0),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        }
    }

    fn answer(calls: &[&str]) -> Message {
        let mut message = Message::text(Role::Assistant, "text", UnixMs(0));
        if !calls.is_empty() {
            message.tool_calls = Some(calls.iter().map(|id| call(id)).collect());
        }
        message
    }

    fn ended(calls: &[&str]) -> Input {
        Input::RoundEnded(RoundEnd {
            message: answer(calls),
            finish_reason: FinishReason::Stop,
            needs_compression: false,
        })
    }

    fn result(id: &str, value: Value) -> ToolResult {
        ToolResult {
            tool_call_id: CallId::new(id),
            tool_name: "read_file".into(),
            result: value,
            summary: None,
            success: true,
            error: None,
            duration_ms: 0,
            timestamp: UnixMs(0),
        }
    }

    fn call_ended(id: &str, value: impl Into<Value>) -> Input {
        Input::CallEnded { result: result(id, value.into()), then: AfterCall::GoOn }
    }

    fn kept(id: &str, value: impl Into<Value>) -> Effect {
        Effect::Append(Message::tool_result(result(id, value.into()), 1))
    }

    /// Feeds inputs and gives the effects of the last.
    fn after(machine: &mut Machine, inputs: impl IntoIterator<Item = Input>) -> Vec<Effect> {
        inputs.into_iter().map(|input| machine.step(input)).last().unwrap_or_default()
    }

    #[test]
    fn an_answer_without_calls_ends_the_turn() {
        let mut machine = machine(10);
        assert_eq!(machine.step(Input::Start), [Effect::Enter(State::Sending), Effect::Send { round: 1 }]);
        assert_eq!(machine.step(Input::FirstEvent), [Effect::Enter(State::Accumulating)]);
        assert_eq!(
            machine.step(ended(&[])),
            [Effect::Append(answer(&[])), Effect::Enter(State::Done), Effect::End(Outcome::Done)]
        );
        assert_eq!(machine.rounds(), 1);
    }

    #[test]
    fn calls_run_side_by_side_and_their_results_are_kept_in_the_order_of_the_calls() {
        let mut machine = machine(10);
        let effects = after(&mut machine, [Input::Start, Input::FirstEvent, ended(&["a", "b"])]);
        assert_eq!(
            effects,
            [
                Effect::Append(answer(&["a", "b"])),
                Effect::Enter(State::Executing),
                Effect::Run(vec![call("a"), call("b")])
            ]
        );
        assert_eq!(machine.step(call_ended("b", 2)), []);
        assert_eq!(
            machine.step(call_ended("a", 1)),
            [
                Effect::Enter(State::Collecting),
                kept("a", 1),
                kept("b", 2),
                Effect::Enter(State::Sending),
                Effect::Send { round: 2 }
            ]
        );
    }

    #[test]
    fn the_turn_is_confirming_while_any_call_waits() {
        let mut machine = machine(10);
        after(&mut machine, [Input::Start, ended(&["a", "b"])]);
        assert_eq!(machine.step(Input::CallWaiting(CallId::new("a"))), [Effect::Enter(State::Confirming)]);
        assert_eq!(machine.step(Input::CallWaiting(CallId::new("b"))), []);
        assert_eq!(machine.step(Input::CallAnswered(CallId::new("a"))), []);
        assert_eq!(machine.step(Input::CallAnswered(CallId::new("b"))), [Effect::Enter(State::Executing)]);
    }

    #[test]
    fn the_last_rounds_calls_are_run_and_kept_and_then_it_stops_at_the_limit() {
        let mut machine = machine(2);
        after(&mut machine, [Input::Start, ended(&["a"]), call_ended("a", 1), ended(&["b"])]);
        let effects = machine.step(call_ended("b", 2));
        assert_eq!(effects[..3], [Effect::Enter(State::Collecting), kept("b", 2), Effect::Enter(State::Done)]);
        assert!(matches!(&effects[3], Effect::End(Outcome::Limit(error)) if error.code == ErrorCode::MaxIterations));
        assert_eq!(machine.rounds(), 2);
    }

    #[test]
    fn continuing_counts_its_own_rounds_and_numbers_them_on() {
        let mut machine = Machine::new(TurnConfig { max_rounds: 1, rounds_done: 10 });
        assert_eq!(machine.step(Input::Start)[1], Effect::Send { round: 11 });
        let effects = after(&mut machine, [ended(&["a"]), call_ended("a", 1)]);
        assert!(matches!(effects.last(), Some(Effect::End(Outcome::Limit(_)))));
    }

    #[test]
    fn the_same_call_with_the_same_result_three_times_in_a_row_stops_the_turn() {
        let mut machine = machine(10);
        after(&mut machine, [Input::Start, ended(&["a"]), call_ended("a", 1), ended(&["b"]), call_ended("b", 1)]);
        let effects = after(&mut machine, [ended(&["c"]), call_ended("c", 1)]);
        assert!(
            matches!(effects.last(), Some(Effect::End(Outcome::Limit(error))) if error.message.contains("read_file"))
        );
    }

    #[test]
    fn another_result_in_between_is_no_repetition() {
        let mut machine = machine(10);
        after(&mut machine, [Input::Start, ended(&["a"]), call_ended("a", 1), ended(&["b"]), call_ended("b", 2)]);
        let effects = after(&mut machine, [ended(&["c"]), call_ended("c", 1)]);
        assert_eq!(effects.last(), Some(&Effect::Send { round: 4 }));
    }

    #[test]
    fn deny_and_stop_cancels_the_other_calls_and_ends_the_turn() {
        let mut machine = machine(10);
        after(&mut machine, [Input::Start, ended(&["a", "b"]), Input::CallWaiting(CallId::new("a"))]);
        let denied = Input::CallEnded { result: result("a", json!(0)), then: AfterCall::Deny };
        assert_eq!(
            machine.step(denied),
            [Effect::CancelCalls(vec![CallId::new("b")]), Effect::Enter(State::Cancelled)]
        );
        assert_eq!(machine.step(call_ended("b", 9)), [kept("a", 0), kept("b", 9), Effect::End(Outcome::Denied)]);
    }

    #[test]
    fn a_broken_tool_ends_the_turn_as_failed() {
        let mut machine = machine(10);
        after(&mut machine, [Input::Start, ended(&["a"])]);
        let error = Error::new(ErrorCode::Unknown, "broken");
        let broken = Input::CallEnded { result: result("a", json!(0)), then: AfterCall::Fail(error.clone()) };
        assert_eq!(
            machine.step(broken),
            [Effect::Enter(State::Failed), kept("a", 0), Effect::End(Outcome::Failed(error))]
        );
    }

    #[test]
    fn stop_while_sending_or_streaming_aborts_the_request_and_keeps_what_came() {
        let partial = Some(answer(&[]));
        for begun in [vec![Input::Start], vec![Input::Start, Input::FirstEvent]] {
            let mut machine = machine(10);
            after(&mut machine, begun);
            assert_eq!(
                machine.step(Input::Stop { partial: partial.clone() }),
                [
                    Effect::AbortRequest,
                    Effect::Enter(State::Cancelled),
                    Effect::Append(answer(&[])),
                    Effect::End(Outcome::Stopped)
                ]
            );
            assert_eq!(machine.step(ended(&["a"])), [], "a late answer does nothing");
        }
    }

    #[test]
    fn stop_while_calls_run_shows_at_once_and_ends_when_every_call_has_its_result() {
        for waits in [vec![], vec![Input::CallWaiting(CallId::new("b"))]] {
            let mut machine = machine(10);
            after(&mut machine, [Input::Start, ended(&["a", "b"]), call_ended("a", 1)]);
            after(&mut machine, waits);
            assert_eq!(
                machine.step(Input::Stop { partial: None }),
                [Effect::CancelCalls(vec![CallId::new("b")]), Effect::Enter(State::Cancelled)]
            );
            assert_eq!(machine.step(Input::Stop { partial: None }), [], "a second Stop changes nothing");
            assert_eq!(machine.step(call_ended("b", 0)), [kept("a", 1), kept("b", 0), Effect::End(Outcome::Stopped)]);
        }
    }

    #[test]
    fn stop_while_compressing_ends_the_turn() {
        let mut machine = machine(10);
        let end = RoundEnd { message: answer(&["a"]), finish_reason: FinishReason::Stop, needs_compression: true };
        let effects = after(&mut machine, [Input::Start, Input::RoundEnded(end), call_ended("a", 1)]);
        assert_eq!(effects[2..], [Effect::Enter(State::Compressing), Effect::Compress]);
        assert_eq!(
            machine.step(Input::Stop { partial: None }),
            [Effect::AbortRequest, Effect::Enter(State::Cancelled), Effect::End(Outcome::Stopped)]
        );
    }

    #[test]
    fn stop_before_the_start_or_after_the_end_does_nothing() {
        let mut machine = machine(10);
        assert_eq!(machine.step(Input::Stop { partial: None }), []);
        after(&mut machine, [Input::Start, ended(&[])]);
        assert_eq!(machine.step(Input::Stop { partial: None }), []);
    }

    #[test]
    fn a_failure_keeps_what_was_streamed() {
        let mut machine = machine(10);
        after(&mut machine, [Input::Start, Input::FirstEvent]);
        let error = Error::new(ErrorCode::NetworkError, "gone");
        assert_eq!(
            machine.step(Input::RoundFailed { partial: Some(answer(&[])), error: error.clone() }),
            [Effect::Append(answer(&[])), Effect::Enter(State::Failed), Effect::End(Outcome::Failed(error))]
        );
    }
}

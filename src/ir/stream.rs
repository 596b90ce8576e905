//! The events of a streamed answer, the order they keep, and how they add up to a message.

use serde::{Deserialize, Serialize};

use super::{Error, RequestId, SessionId, TokenUsage, ToolCall, UnixMs};

/// One event; one JSON object per line wherever events leave the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamEvent {
    /// What happened.
    #[serde(flatten)]
    pub body: StreamBody,
    /// The request it belongs to.
    pub request_id: RequestId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The round, from 1.
    pub iteration: u32,
    /// 0, 1, 2, … per request, without gaps.
    pub seq: u64,
    /// When it came.
    pub timestamp: UnixMs,
}

/// What happened, by type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum StreamBody {
    /// A thinking block begins; before its first `reasoning_delta`.
    ThinkingStart,
    /// The thinking block ended; before the text or tool event that follows.
    ThinkingEnd,
    /// More thinking.
    ReasoningDelta {
        /// The new text.
        delta: String,
    },
    /// More answer.
    TextDelta {
        /// The new text.
        delta: String,
    },
    /// A fragment of a call; a consumer may ignore it and lose nothing.
    ToolCallDelta {
        /// The fragment.
        tool_call_delta: ToolCallDelta,
    },
    /// A call, assembled and parsed.
    ToolCallComplete {
        /// The call.
        tool_call: ToolCall,
    },
    /// Tokens, normally just before `done`.
    Usage {
        /// The count so far; the last one holds.
        usage: TokenUsage,
    },
    /// The answer broke off.
    Error {
        /// Why.
        error: Error,
    },
    /// Always last, exactly once, also after an error.
    Done,
}

/// A fragment of a streamed call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallDelta {
    /// The call's place in the answer.
    pub index: u32,
    /// The tool's name, when this fragment carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// More of the arguments' text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_delta: Option<String>,
}

/// Numbers events and keeps their order, so that an adapter need not: it opens and closes thinking blocks
/// around what is pushed and lets nothing through after `done`.
#[derive(Debug)]
pub struct StreamSequencer {
    request_id: RequestId,
    session_id: SessionId,
    iteration: u32,
    next_seq: u64,
    thinking: bool,
    done: bool,
}

/// Adds up the events of one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accumulator {
    /// The answer so far.
    pub content: String,
    /// The thinking so far.
    pub reasoning: String,
    /// The calls that are complete, in order.
    pub calls: Vec<ToolCall>,
    /// The last count.
    pub usage: Option<TokenUsage>,
    /// Why it broke off.
    pub error: Option<Error>,
    next_seq: u64,
    thinking: bool,
    done: bool,
}

/// An event that breaks the order rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderFault {
    #[error("event {found} came where {expected} was due")]
    Sequence { expected: u64, found: u64 },
    #[error("an event came after done")]
    AfterDone,
    #[error("thinking text came outside a thinking block")]
    ReasoningOutsideThinking,
    #[error("text or a tool event came inside a thinking block")]
    InsideThinking,
    #[error("a thinking block began inside another or ended without beginning")]
    ThinkingNesting,
}

impl StreamSequencer {
    /// A sequencer for one request.
    pub fn new(request_id: RequestId, session_id: SessionId, iteration: u32) -> Self {
        Self { request_id, session_id, iteration, next_seq: 0, thinking: false, done: false }
    }

    /// Turns what an adapter saw into the events to send on, in order. Empty deltas and whatever comes
    /// after `done` give nothing; `thinking_start` and `thinking_end` are added where they are due.
    pub fn push(&mut self, body: StreamBody, now: UnixMs) -> Vec<StreamEvent> {
        if self.done {
            return Vec::new();
        }
        let mut bodies = Vec::with_capacity(2);
        let thinks = match &body {
            StreamBody::ReasoningDelta { delta } | StreamBody::TextDelta { delta } if delta.is_empty() => {
                return Vec::new();
            }
            StreamBody::ThinkingStart if self.thinking => return Vec::new(),
            StreamBody::ThinkingEnd if !self.thinking => return Vec::new(),
            StreamBody::ThinkingStart | StreamBody::ReasoningDelta { .. } => true,
            // Counts may come at any time and leave a thinking block open.
            StreamBody::Usage { .. } => self.thinking,
            StreamBody::ThinkingEnd
            | StreamBody::TextDelta { .. }
            | StreamBody::ToolCallDelta { .. }
            | StreamBody::ToolCallComplete { .. }
            | StreamBody::Error { .. }
            | StreamBody::Done => false,
        };
        if thinks && !self.thinking && body != StreamBody::ThinkingStart {
            bodies.push(StreamBody::ThinkingStart);
        }
        if !thinks && self.thinking && body != StreamBody::ThinkingEnd {
            bodies.push(StreamBody::ThinkingEnd);
        }
        self.thinking = thinks;
        self.done = body == StreamBody::Done;
        bodies.push(body);
        bodies.into_iter().map(|body| self.number(body, now)).collect()
    }

    fn number(&mut self, body: StreamBody, timestamp: UnixMs) -> StreamEvent {
        let seq = self.next_seq;
        self.next_seq += 1;
        StreamEvent {
            body,
            request_id: self.request_id.clone(),
            session_id: self.session_id.clone(),
            iteration: self.iteration,
            seq,
            timestamp,
        }
    }
}

impl Accumulator {
    /// Takes one event in.
    ///
    /// # Errors
    /// When the event breaks the order rules; nothing is taken in then.
    pub fn apply(&mut self, event: &StreamEvent) -> Result<(), OrderFault> {
        if self.done {
            return Err(OrderFault::AfterDone);
        }
        if event.seq != self.next_seq {
            return Err(OrderFault::Sequence { expected: self.next_seq, found: event.seq });
        }
        match &event.body {
            StreamBody::ThinkingStart if self.thinking => return Err(OrderFault::ThinkingNesting),
            StreamBody::ThinkingEnd if !self.thinking => return Err(OrderFault::ThinkingNesting),
            StreamBody::ThinkingStart => self.thinking = true,
            StreamBody::ThinkingEnd => self.thinking = false,
            StreamBody::ReasoningDelta { .. } if !self.thinking => return Err(OrderFault::ReasoningOutsideThinking),
            StreamBody::ReasoningDelta { delta } => self.reasoning.push_str(delta),
            StreamBody::TextDelta { .. } | StreamBody::ToolCallDelta { .. } | StreamBody::ToolCallComplete { .. }
                if self.thinking =>
            {
                return Err(OrderFault::InsideThinking);
            }
            StreamBody::TextDelta { delta } => self.content.push_str(delta),
            StreamBody::ToolCallDelta { .. } => {}
            StreamBody::ToolCallComplete { tool_call } => self.calls.push(tool_call.clone()),
            StreamBody::Usage { usage } => self.usage = Some(*usage),
            StreamBody::Error { error } => self.error = Some(error.clone()),
            StreamBody::Done if self.thinking => return Err(OrderFault::InsideThinking),
            StreamBody::Done => self.done = true,
        }
        self.next_seq += 1;
        Ok(())
    }

    /// Whether `done` has come.
    pub fn is_done(&self) -> bool {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::ir::{CallId, ErrorCode};

    /// The example of the IR standard 1.0.0, line by line; it writes `{...}` where a call stands.
    const STANDARD: &str = r#"{"type":"thinking_start","requestId":"r_1","sessionId":"s_1","iteration":1,"seq":0,"timestamp":1719000000000}
{"type":"reasoning_delta","requestId":"r_1","sessionId":"s_1","iteration":1,"seq":1,"timestamp":1719000000100,"delta":"让我先分析问题的关键点..."}
{"type":"thinking_end","requestId":"r_1","sessionId":"s_1","iteration":1,"seq":2,"timestamp":1719000000500}
{"type":"text_delta","requestId":"r_1","sessionId":"s_1","iteration":1,"seq":3,"timestamp":1719000000600,"delta":"根据分析，"}
{"type":"text_delta","requestId":"r_1","sessionId":"s_1","iteration":1,"seq":4,"timestamp":1719000000650,"delta":"答案是..."}
{"type":"tool_call_complete","requestId":"r_1","sessionId":"s_1","iteration":1,"seq":5,"timestamp":1719000000700,"toolCall":{...}}
{"type":"usage","requestId":"r_1","sessionId":"s_1","iteration":1,"seq":6,"timestamp":1719000000800,"usage":{"inputTokens":120,"outputTokens":45,"totalTokens":165}}
{"type":"done","requestId":"r_1","sessionId":"s_1","iteration":1,"seq":7,"timestamp":1719000000800}"#;
    /// The standard's own call.
    const STANDARD_CALL: &str =
        r#"{"id":"tc_1","name":"read_file","args":{"file_path":"/home/user/data.csv"},"iteration":1}"#;

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: CallId::new(id),
            name: "read_file".into(),
            args: json!({"path": "a"}),
            iteration: 1,
            timestamp: UnixMs(7),
            raw_args: None,
            parse_error: None,
            marks: Vec::new(),
        }
    }

    fn text(delta: &str) -> StreamBody {
        StreamBody::TextDelta { delta: delta.into() }
    }

    fn reasoning(delta: &str) -> StreamBody {
        StreamBody::ReasoningDelta { delta: delta.into() }
    }

    fn complete(id: &str) -> StreamBody {
        StreamBody::ToolCallComplete { tool_call: call(id) }
    }

    fn usage(total_tokens: u64) -> StreamBody {
        StreamBody::Usage { usage: TokenUsage { total_tokens, ..TokenUsage::default() } }
    }

    fn failed() -> StreamBody {
        StreamBody::Error { error: Error::new(ErrorCode::NetworkError, "cut") }
    }

    fn sequencer() -> StreamSequencer {
        StreamSequencer::new(RequestId::new("r_1"), SessionId::new("s_1"), 1)
    }

    fn event(seq: u64, body: StreamBody) -> StreamEvent {
        StreamEvent {
            body,
            request_id: RequestId::new("r_1"),
            session_id: SessionId::new("s_1"),
            iteration: 1,
            seq,
            timestamp: UnixMs(7),
        }
    }

    fn sequenced(bodies: impl IntoIterator<Item = StreamBody>) -> Vec<StreamEvent> {
        let mut sequencer = sequencer();
        bodies.into_iter().flat_map(|body| sequencer.push(body, UnixMs(7))).collect()
    }

    fn numbered(bodies: impl IntoIterator<Item = StreamBody>) -> Vec<StreamEvent> {
        (0..).zip(bodies).map(|(seq, body)| event(seq, body)).collect()
    }

    #[test]
    fn the_standards_own_lines_are_read_add_up_and_are_written_again() {
        let lines = STANDARD.replace("{...}", STANDARD_CALL);
        let mut sum = Accumulator::default();
        for line in lines.lines() {
            let read: StreamEvent = serde_json::from_str(line).unwrap();
            sum.apply(&read).unwrap();
            let mut written = serde_json::to_value(&read).unwrap();
            // The standard's call leaves the time out; ours always has one.
            if let Some(call) = written.get_mut("toolCall").and_then(Value::as_object_mut) {
                assert_eq!(call.shift_remove("timestamp"), Some(json!(0)));
            }
            assert_eq!(written, serde_json::from_str::<Value>(line).unwrap());
        }
        let mut tool_call = call("tc_1");
        tool_call.args = json!({"file_path": "/home/user/data.csv"});
        tool_call.timestamp = UnixMs(0);
        let expected = Accumulator {
            content: "根据分析，答案是...".into(),
            reasoning: "让我先分析问题的关键点...".into(),
            calls: vec![tool_call],
            usage: Some(TokenUsage {
                input_tokens: 120,
                output_tokens: 45,
                total_tokens: 165,
                ..TokenUsage::default()
            }),
            error: None,
            next_seq: 8,
            thinking: false,
            done: true,
        };
        assert_eq!(sum, expected);
        assert!(sum.is_done());
    }

    #[test]
    fn every_event_is_one_json_object_with_its_type_and_reads_back() {
        let delta = ToolCallDelta { index: 1, name: Some("ls".into()), args_delta: None };
        let bodies = [
            (StreamBody::ThinkingStart, json!({"type": "thinking_start"})),
            (StreamBody::ThinkingEnd, json!({"type": "thinking_end"})),
            (reasoning("hm"), json!({"type": "reasoning_delta", "delta": "hm"})),
            (text("hi"), json!({"type": "text_delta", "delta": "hi"})),
            (
                StreamBody::ToolCallDelta { tool_call_delta: delta },
                json!({"type": "tool_call_delta", "toolCallDelta": {"index": 1, "name": "ls"}}),
            ),
            (
                complete("c"),
                json!({"type": "tool_call_complete", "toolCall": {"id": "c", "name": "read_file", "args": {"path": "a"}, "iteration": 1, "timestamp": 7}}),
            ),
            (usage(3), json!({"type": "usage", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 3}})),
            (
                failed(),
                json!({"type": "error", "error": {"code": "network_error", "message": "cut", "retryable": false}}),
            ),
            (StreamBody::Done, json!({"type": "done"})),
        ];
        for (body, mut expected) in bodies {
            let event = event(4, body);
            for (field, value) in [
                ("requestId", json!("r_1")),
                ("sessionId", json!("s_1")),
                ("iteration", json!(1)),
                ("seq", json!(4)),
                ("timestamp", json!(7)),
            ] {
                expected[field] = value;
            }
            let line = serde_json::to_string(&event).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected);
            expected["unknown"] = json!({"x": 1});
            assert_eq!(serde_json::from_value::<StreamEvent>(expected).unwrap(), event);
        }
    }

    #[test]
    fn thinking_opens_before_its_first_delta_and_closes_before_what_follows() {
        let given = [
            reasoning("a"),
            reasoning("b"),
            usage(1),
            reasoning("c"),
            text("d"),
            reasoning("e"),
            complete("c"),
            StreamBody::Done,
        ];
        let expected = [
            StreamBody::ThinkingStart,
            reasoning("a"),
            reasoning("b"),
            usage(1),
            reasoning("c"),
            StreamBody::ThinkingEnd,
            text("d"),
            StreamBody::ThinkingStart,
            reasoning("e"),
            StreamBody::ThinkingEnd,
            complete("c"),
            StreamBody::Done,
        ];
        assert_eq!(sequenced(given), numbered(expected));
    }

    #[test]
    fn an_open_thinking_block_ends_before_an_error_and_before_done() {
        let end = StreamBody::ThinkingEnd;
        assert_eq!(
            sequenced([reasoning("a"), failed(), StreamBody::Done]),
            numbered([StreamBody::ThinkingStart, reasoning("a"), end.clone(), failed(), StreamBody::Done])
        );
        assert_eq!(
            sequenced([StreamBody::ThinkingStart, StreamBody::Done]),
            numbered([StreamBody::ThinkingStart, end, StreamBody::Done])
        );
    }

    #[test]
    fn empty_deltas_doubled_marks_and_what_follows_done_give_nothing() {
        let given = [
            StreamBody::ThinkingEnd,
            text(""),
            reasoning(""),
            StreamBody::ThinkingStart,
            StreamBody::ThinkingStart,
            reasoning("a"),
            StreamBody::ThinkingEnd,
            StreamBody::ThinkingEnd,
            StreamBody::Done,
            StreamBody::Done,
            text("late"),
        ];
        let expected = [StreamBody::ThinkingStart, reasoning("a"), StreamBody::ThinkingEnd, StreamBody::Done];
        assert_eq!(sequenced(given), numbered(expected));
    }

    #[test]
    fn an_event_that_breaks_the_order_is_told_and_not_taken_in() {
        let apply = |bodies: &[StreamBody]| {
            let mut sum = Accumulator::default();
            let mut outcome = Ok(());
            for event in numbered(bodies.iter().cloned()) {
                let before = sum.clone();
                outcome = sum.apply(&event);
                if outcome.is_err() {
                    assert_eq!(sum, before);
                }
            }
            outcome
        };
        let start = StreamBody::ThinkingStart;
        let delta =
            StreamBody::ToolCallDelta { tool_call_delta: ToolCallDelta { index: 0, name: None, args_delta: None } };
        for (bodies, expected) in [
            (vec![StreamBody::Done, text("x")], OrderFault::AfterDone),
            (vec![StreamBody::Done, StreamBody::Done], OrderFault::AfterDone),
            (vec![reasoning("x")], OrderFault::ReasoningOutsideThinking),
            (vec![start.clone(), text("x")], OrderFault::InsideThinking),
            (vec![start.clone(), delta], OrderFault::InsideThinking),
            (vec![start.clone(), complete("c")], OrderFault::InsideThinking),
            (vec![start.clone(), StreamBody::Done], OrderFault::InsideThinking),
            (vec![start.clone(), start], OrderFault::ThinkingNesting),
            (vec![StreamBody::ThinkingEnd], OrderFault::ThinkingNesting),
        ] {
            assert_eq!(apply(&bodies), Err(expected), "{bodies:?}");
        }
        let mut sum = Accumulator::default();
        assert_eq!(sum.apply(&event(1, text("x"))), Err(OrderFault::Sequence { expected: 0, found: 1 }));
        assert_eq!(sum, Accumulator::default());
    }

    #[test]
    fn fragments_of_calls_may_be_ignored_and_the_last_count_holds() {
        let delta = StreamBody::ToolCallDelta {
            tool_call_delta: ToolCallDelta { index: 0, name: Some("x".into()), args_delta: None },
        };
        let mut with = Accumulator::default();
        let mut without = Accumulator::default();
        for event in numbered([usage(1), delta, complete("a"), complete("b"), usage(9), StreamBody::Done]) {
            with.apply(&event).unwrap();
        }
        for event in numbered([usage(1), complete("a"), complete("b"), usage(9), StreamBody::Done]) {
            without.apply(&event).unwrap();
        }
        assert_eq!((&with.calls, with.usage), (&without.calls, without.usage));
        assert_eq!(with.calls, [call("a"), call("b")]);
        assert_eq!(with.usage.map(|usage| usage.total_tokens), Some(9));
    }

    proptest! {
        #[test]
        fn whatever_an_adapter_pushes_keeps_the_order_rules_and_loses_no_text(kinds in proptest::collection::vec(0_u8..8, 0..24)) {
            let bodies: Vec<StreamBody> = kinds
                .iter()
                .map(|kind| match kind {
                    0 => StreamBody::ThinkingStart,
                    1 => StreamBody::ThinkingEnd,
                    2 => reasoning("r"),
                    3 => text("t"),
                    4 => text(""),
                    5 => complete("c"),
                    6 => usage(1),
                    _ => failed(),
                })
                .chain([StreamBody::Done])
                .collect();
            let mut sum = Accumulator::default();
            for event in sequenced(bodies) {
                prop_assert_eq!(sum.apply(&event), Ok(()));
            }
            prop_assert!(sum.is_done());
            let pushed = |wanted: u8| kinds.iter().map(|kind| usize::from(*kind == wanted)).sum::<usize>();
            prop_assert_eq!(sum.content.len(), pushed(3));
            prop_assert_eq!(sum.reasoning.len(), pushed(2));
            prop_assert_eq!(sum.calls.len(), pushed(5));
        }
    }
}

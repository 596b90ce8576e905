use serde_json::{Value, json};

use super::*;
use crate::ir::LinkCallState;
use crate::link::wire::{ResultStatus, arguments_hash};

const CLOCK: i64 = 1_764_460_800_000;
const NOW: Now = Now { clock: UnixMs(CLOCK), uptime: UptimeMs(1_000_000) };

fn at(ms: u64) -> Now {
    Now { clock: UnixMs(CLOCK.saturating_add_unsigned(ms)), uptime: NOW.uptime.after(ms) }
}

pub(super) fn offered() -> Vec<OfferedTool> {
    vec![OfferedTool {
        name: "workspace.read_file".into(),
        version: "1".into(),
        risk: "medium".into(),
        requires_confirmation: true,
        timeout_ms: 10_000,
        input_schema: json!({"type": "object"}),
    }]
}

fn machine() -> Machine {
    Machine::new("d1", "i1", "0.1.0", offered())
}

/// A server's frame.
fn frame(sequence: u64, mut body: Value) -> Input {
    body["event_id"] = json!(format!("s{sequence}"));
    body["sequence"] = json!(sequence);
    Input::Heard(body.to_string())
}

fn welcome() -> Value {
    json!({
        "type": "device.registered", "connection_id": "k1",
        // The server's clock is a minute ahead.
        "server_time": Timestamp::from_millisecond(CLOCK + 60_000).unwrap().to_string(), "heartbeat_seconds": 15,
    })
}

fn request(change: &Value) -> Value {
    let arguments = change.get("arguments").cloned().unwrap_or_else(|| json!({"path": "a.txt"}));
    let mut request = json!({
        "type": "tool.call.request", "tool_call_id": "t:c", "execution_id": "x1", "attempt_no": 1, "run_id": "r",
        "device_id": "d1", "tool_name": "workspace.read_file", "tool_version": "1",
        "arguments_hash": arguments_hash(&arguments).unwrap(), "arguments": arguments,
        "requires_confirmation": false, "execution_timeout_ms": 10_000,
        "expires_at": Timestamp::from_millisecond(CLOCK + 60_000 + 5_000).unwrap().to_string(),
    });
    for (name, value) in change.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

/// A machine that has been welcomed.
fn connected() -> Machine {
    let mut machine = machine();
    machine.step(NOW, Input::Opened);
    machine.step(NOW, frame(1, welcome()));
    machine
}

/// What was sent, without what every frame has.
fn sent(effects: &[Effect]) -> Vec<Value> {
    let frames = effects.iter().filter_map(|effect| {
        let (Effect::Send(text) | Effect::SendContent { text, .. }) = effect else { return None };
        Some(serde_json::from_str::<Value>(text).unwrap())
    });
    frames
        .map(|mut frame| {
            frame.as_object_mut().unwrap().retain(|name, _| name != "event_id" && name != "sequence");
            frame
        })
        .collect()
}

fn code(effects: &[Effect]) -> Option<String> {
    sent(effects).first().and_then(|frame| frame["error"]["code"].as_str().map(str::to_owned))
}

/// The code of a refusal that is sent unless the record knows the call.
fn looked_up(effects: &[Effect]) -> Option<String> {
    effects.iter().find_map(|effect| {
        let Effect::LookUp(refused) = effect else { return None };
        refused.shown.code.clone()
    })
}

fn end(state: LinkCallState) -> LinkEnd {
    LinkEnd { state, output: Some(json!({"content": "hello"})), error: None, duration_ms: 3 }
}

#[test]
fn the_device_registers_first_and_after_the_welcome_come_tools_and_then_what_is_owed() {
    let mut machine = machine();
    let opened = machine.step(NOW, Input::Opened);
    assert_eq!(
        sent(&opened),
        [json!({
            "type": "device.register", "device_id": "d1", "instance_id": "i1", "app_version": "0.1.0",
            "protocol_version": 1,
        })]
    );
    let welcomed = machine.step(NOW, frame(1, welcome()));
    assert_eq!((&welcomed[0], &welcomed[2]), (&Effect::Welcomed, &Effect::LoadOwed));
    assert_eq!(sent(&welcomed)[0]["tools"][0]["name"], "workspace.read_file");
}

#[test]
fn sequence_numbers_and_names_of_events_rise_and_are_never_used_twice() {
    let mut machine = connected();
    let mut heads = Vec::new();
    for second in 1..=60 {
        machine.step(at(second * 1_000), frame(second + 1, json!({"type": "heartbeat"})));
        for effect in machine.step(at(second * 1_000), Input::Tick) {
            let Effect::Send(text) = effect else { panic!("{effect:?}") };
            let frame: Value = serde_json::from_str(&text).unwrap();
            heads.push((frame["type"].clone(), frame["sequence"].as_u64().unwrap(), frame["event_id"].clone()));
        }
    }
    let expected = [(3, "i1-1-3"), (4, "i1-1-4"), (5, "i1-1-5"), (6, "i1-1-6")];
    assert_eq!(heads, expected.map(|(sequence, id)| (json!("heartbeat"), sequence, json!(id))));
}

#[test]
fn the_checks_before_the_gate_have_their_order_their_codes_and_no_trace() {
    for (change, expected) in [
        (json!({"device_id": "d2", "tool_name": "run_command"}), "DEVICE_MISMATCH"),
        (json!({"tool_name": "run_command", "arguments_hash": "0"}), "TOOL_NOT_AVAILABLE"),
        (json!({"tool_version": "2"}), "TOOL_NOT_AVAILABLE"),
        (json!({"arguments_hash": "0"}), "INVALID_ARGUMENTS"),
    ] {
        let effects = connected().step(NOW, frame(2, request(&change)));
        assert_eq!(code(&effects).as_deref(), Some(expected), "{change}");
        assert_eq!(sent(&effects)[0]["status"], "rejected");
        let is_quiet = |effect: &Effect| matches!(effect, Effect::Send(_) | Effect::Show(_));
        assert!(effects.iter().all(is_quiet), "{effects:?}");
    }
}

#[test]
fn a_name_that_stands_twice_in_the_arguments_is_refused() {
    let Input::Heard(text) = frame(2, request(&json!({}))) else { unreachable!() };
    let twice = text.replacen(r#""path":"a.txt""#, r#""path":"b.txt","path":"a.txt""#, 1);
    assert_ne!(text, twice);
    assert_eq!(code(&connected().step(NOW, Input::Heard(twice))).as_deref(), Some("INVALID_ARGUMENTS"));
    assert_eq!(code(&connected().step(NOW, Input::Heard(text))), None);
}

#[test]
fn a_call_goes_over_gate_and_record_to_a_result_that_is_kept_before_it_is_sent() {
    let mut machine = connected();
    let effects = machine.step(NOW, frame(2, request(&json!({}))));
    let [Effect::Examine { number, until, .. }] = &effects[..] else { panic!("{effects:?}") };
    let number = *number;
    assert_eq!(*until, at(5_000).uptime, "by the own count");
    let effects = machine.step(NOW, Input::Examined { number });
    assert!(matches!(&effects[..], [Effect::Reserve { path, .. }] if path == "a.txt"), "{effects:?}");
    let effects = machine.step(NOW, Input::Reserved { number, admission: Some(Admission::Fresh) });
    assert!(effects.contains(&Effect::Decide { number, passage: Passage::GoOn }));
    let effects = machine.step(NOW, Input::Ended { number, end: end(LinkCallState::Succeeded) });
    let [Effect::Show(shown), Effect::Keep { result, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((shown.state, shown.is_recorded, shown.sent_bytes), (LinkCallState::Succeeded, true, 0));
    let effects = machine.step(NOW, Input::Kept(result.clone()));
    let [Effect::SendContent { tool_call_id, bytes, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((tool_call_id.as_str(), *bytes), ("t:c", 19), "it is counted when it leaves");
    assert_eq!(
        sent(&effects),
        [json!({
            "type": "tool.call.result", "tool_call_id": "t:c", "execution_id": "x1", "status": "succeeded",
            "output": {"content": "hello"}, "duration_ms": 3,
        })]
    );
    let ack = json!({"type": "tool.call.ack", "tool_call_id": "t:c"});
    let effects = machine.step(NOW, frame(3, ack));
    assert_eq!(effects, [Effect::Acknowledge { tool_call_id: "t:c".into() }]);
}

#[test]
fn a_call_that_expired_while_it_was_examined_is_refused_without_a_place() {
    let mut machine = connected();
    machine.step(NOW, frame(2, request(&json!({}))));
    let effects = machine.step(at(5_001), Input::Examined { number: 1 });
    assert_eq!(effects[0], Effect::Decide { number: 1, passage: Passage::Expired });
    let Effect::LookUp(refused) = &effects[1] else { panic!("{effects:?}") };
    let answered = machine.step(at(5_001), Input::Refused(refused.clone()));
    assert_eq!(code(&answered).as_deref(), Some("REQUEST_EXPIRED"));
    let Effect::Show(shown) = &answered[1] else { panic!("{answered:?}") };
    assert_eq!((shown.state, shown.is_recorded), (LinkCallState::Rejected, false));
}

/// The server takes a refusal as the end of the call, whatever the first dispatch comes to.
#[test]
fn a_repeat_of_a_call_that_is_under_way_is_never_refused() {
    let mut machine = connected();
    machine.step(NOW, frame(2, request(&json!({}))));
    let again = || request(&json!({"execution_id": "x2", "attempt_no": 2}));
    machine.step(NOW, frame(3, again()));
    // The file was away for a moment, the time is over, there are too many: the first one is still being looked at.
    let error = Some(error_of("PATH_NOT_FOUND"));
    let refused = LinkEnd { state: LinkCallState::Rejected, output: None, error, duration_ms: 0 };
    assert_eq!(machine.step(NOW, Input::Ended { number: 2, end: refused }), []);
    machine.step(NOW, frame(4, again()));
    let late = machine.step(at(5_001), Input::Examined { number: 3 });
    assert_eq!(late, [Effect::Decide { number: 3, passage: Passage::Expired }]);
    for other in 0..MOST_CALLS as u64 {
        machine.step(NOW, frame(5 + other, request(&json!({"tool_call_id": format!("t:{other}")}))));
    }
    assert_eq!(machine.step(NOW, frame(100, again())), []);
    // The control: the same with other arguments is another call, and one that is not known.
    let other = request(&json!({"arguments": {"path": "b.txt"}}));
    assert_eq!(looked_up(&machine.step(NOW, frame(101, other))).as_deref(), Some("RATE_LIMITED"));
}

#[test]
fn more_calls_than_a_person_can_want_do_not_come_to_the_gate() {
    let mut machine = connected();
    let mut sequence = 1;
    let mut come = |now: Now| {
        sequence += 1;
        let effects = machine.step(now, frame(sequence, request(&json!({"tool_call_id": format!("t:{sequence}")}))));
        let &[Effect::Examine { number, .. }] = &effects[..] else {
            assert_eq!(looked_up(&effects).as_deref(), Some("RATE_LIMITED"));
            return false;
        };
        machine.step(now, Input::Ended { number, end: end(LinkCallState::Rejected) });
        true
    };
    let mut taken = |now: Now| (0..200).filter(|_| come(now)).count();
    assert_eq!([taken(NOW), taken(at(1_000)), taken(at(4_000))], [120, 1, 3]);
}

#[test]
fn a_clock_that_is_set_changes_nothing_about_beats_silence_and_the_time_of_a_call() {
    for clock in [CLOCK - 3_600_000, CLOCK + 3_600_000] {
        let set = |ms: u64| Now { clock: UnixMs(clock), uptime: NOW.uptime.after(ms) };
        let mut machine = connected();
        assert_eq!(sent(&machine.step(set(15_000), Input::Tick)), [json!({"type": "heartbeat"})]);
        let effects = machine.step(set(15_000), frame(2, request(&json!({}))));
        let [Effect::Examine { until, .. }] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(*until, at(5_000).uptime, "{clock}");
        assert_eq!(machine.step(set(60_000), Input::Tick), [Effect::Close(CloseCode::Silence)]);
    }
}

#[test]
fn a_second_dispatch_of_a_running_call_is_answered_with_the_first_ones_result() {
    let mut machine = connected();
    machine.step(NOW, frame(2, request(&json!({}))));
    machine.step(NOW, Input::Examined { number: 1 });
    machine.step(NOW, Input::Reserved { number: 1, admission: Some(Admission::Fresh) });
    machine.step(NOW, frame(3, request(&json!({"execution_id": "x2", "attempt_no": 2}))));
    machine.step(NOW, Input::Examined { number: 2 });
    let effects = machine.step(NOW, Input::Reserved { number: 2, admission: Some(Admission::Running) });
    assert_eq!(effects, [Effect::Decide { number: 2, passage: Passage::Known }]);
    let effects = machine.step(NOW, Input::Ended { number: 1, end: end(LinkCallState::Succeeded) });
    let Effect::Keep { result, .. } = &effects[1] else { panic!("{effects:?}") };
    assert_eq!((result.execution_id.as_str(), result.status), ("x2", ResultStatus::Succeeded));
}

#[test]
fn the_same_name_with_other_arguments_is_a_conflict_and_a_finished_one_is_sent_again() {
    let reserved = |admission| {
        let mut machine = connected();
        machine.step(NOW, frame(2, request(&json!({}))));
        machine.step(NOW, Input::Examined { number: 1 });
        machine.step(NOW, Input::Reserved { number: 1, admission })
    };
    assert_eq!(code(&reserved(Some(Admission::Conflict))).as_deref(), Some("IDEMPOTENCY_CONFLICT"));
    assert_eq!(looked_up(&reserved(Some(Admission::Full))).as_deref(), Some("RATE_LIMITED"));
    assert_eq!(looked_up(&reserved(None)).as_deref(), Some("IO_ERROR"));
    let effects = reserved(Some(Admission::Finished));
    assert_eq!(
        effects,
        [
            Effect::Decide { number: 1, passage: Passage::Known },
            Effect::LoadKept { tool_call_id: "t:c".into(), execution_id: "x1".into() }
        ]
    );
}

#[test]
fn a_cancellation_that_comes_before_its_call_is_applied_when_the_place_is_taken() {
    for is_before_request in [true, false] {
        let mut machine = connected();
        let cancel = json!({"type": "tool.call.cancel", "tool_call_id": "t:c", "reason": "stop"});
        if is_before_request {
            machine.step(NOW, frame(2, cancel.clone()));
        }
        machine.step(NOW, frame(3, request(&json!({}))));
        if !is_before_request {
            assert_eq!(machine.step(NOW, frame(4, cancel)), []);
        }
        machine.step(NOW, Input::Examined { number: 1 });
        let effects = machine.step(NOW, Input::Reserved { number: 1, admission: Some(Admission::Fresh) });
        assert_eq!(effects[0], Effect::Decide { number: 1, passage: Passage::Cancelled });
        let Effect::Keep { result, .. } = &effects[2] else { panic!("{effects:?}") };
        let error = result.error.as_ref().unwrap();
        assert_eq!((result.status, error.code.as_str()), (ResultStatus::Cancelled, "CANCELLED_BY_SERVER"));
    }
}

#[test]
fn what_is_no_frame_what_comes_out_of_turn_and_a_sequence_that_goes_back_end_the_connection() {
    let back = |mut machine: Machine| machine.step(NOW, frame(1, json!({"type": "heartbeat"})));
    assert_eq!(back(connected()), [Effect::Close(CloseCode::BadProtocol)]);
    for text in ["", "hello", "[]", "{\"type\":\"heartbeat\"}"] {
        let effects = connected().step(NOW, Input::Heard(text.into()));
        assert_eq!(effects, [Effect::Close(CloseCode::BadProtocol)], "{text}");
    }
    let mut early = machine();
    early.step(NOW, Input::Opened);
    assert_eq!(early.step(NOW, frame(1, request(&json!({})))), [Effect::Close(CloseCode::BadProtocol)]);
    assert_eq!(connected().step(NOW, frame(2, welcome())), [Effect::Close(CloseCode::BadProtocol)]);
    // Of a socket that is closed nothing is heard any more.
    let mut closed = connected();
    closed.step(NOW, frame(1, json!({"type": "heartbeat"})));
    assert_eq!(closed.step(NOW, frame(9, request(&json!({})))), []);
}

#[test]
fn a_message_of_a_kind_that_is_not_known_is_answered_and_nothing_else_happens() {
    let effects = connected().step(NOW, frame(2, json!({"type": "device.dance"})));
    let answer = &sent(&effects)[0];
    assert_eq!((&answer["type"], &answer["code"]), (&json!("protocol.error"), &json!("UNKNOWN_MESSAGE")));
    assert_eq!(answer["ref_event_id"], "s2");
    let effects = connected().step(NOW, frame(2, request(&json!({"expires_at": "tomorrow"}))));
    assert_eq!(sent(&effects)[0]["code"], "INVALID_MESSAGE");
    let long = "x".repeat(LONGEST_ID + 1);
    let effects = connected().step(NOW, frame(2, request(&json!({"tool_call_id": long}))));
    assert_eq!(sent(&effects)[0]["code"], "INVALID_MESSAGE");
}

#[test]
fn a_flood_ends_the_connection_and_what_is_under_way_stays_bounded() {
    let mut machine = connected();
    let mut codes = Vec::new();
    for sequence in 2.. {
        let id = json!({"tool_call_id": format!("t:{sequence}")});
        let effects = machine.step(NOW, frame(sequence, request(&id)));
        if effects.contains(&Effect::Close(CloseCode::BadProtocol)) {
            break;
        }
        codes.extend(looked_up(&effects));
        assert!(sequence < 2_000, "a flood goes on");
    }
    assert_eq!(machine.calls(), MOST_CALLS);
    assert!(codes.len() > 900 && codes.iter().all(|code| code == "RATE_LIMITED"), "{}", codes.len());
    let mut machine = connected();
    let closed = (0..2_000).find(|_| !machine.step(NOW, Input::Noise).is_empty());
    assert!(closed.is_some(), "a flood of pings ends it too");
    let mut machine = connected();
    for number in 0_u64..900 {
        machine.step(
            NOW,
            frame(2 + number, json!({"type": "tool.call.cancel", "tool_call_id": format!("{number}"), "reason": ""})),
        );
    }
    assert_eq!(machine.early.len(), MOST_EARLY);
}

#[test]
fn silence_ends_the_connection() {
    let mut machine = connected();
    assert!(!machine.step(at(44_000), Input::Tick).contains(&Effect::Close(CloseCode::Silence)));
    assert_eq!(machine.step(at(45_000), Input::Tick), [Effect::Close(CloseCode::Silence)]);
    let mut unwelcome = super::tests::machine();
    unwelcome.step(NOW, Input::Opened);
    assert_eq!(unwelcome.step(at(9_000), Input::Tick), []);
    assert_eq!(unwelcome.step(at(10_000), Input::Tick), [Effect::Close(CloseCode::Silence)]);
}

#[test]
fn the_desktop_comes_back_after_a_wait_unless_another_took_its_place() {
    let lost = |code| Input::Lost { code, detail: "gone".into(), chance: 1.0 };
    let mut machine = connected();
    let problem = Problem::Other(LinkProblem::Unreachable { detail: "gone".into() });
    let effects = machine.step(at(1_000), lost(None));
    assert_eq!(effects, [Effect::Wait { problem: problem.clone(), wait_ms: Some(1_000) }]);
    machine.step(at(2_000), Input::Opened);
    machine.step(at(2_000), frame(1, welcome()));
    let effects = machine.step(at(3_000), lost(Some(1_006)));
    assert_eq!(effects, [Effect::Wait { problem: problem.clone(), wait_ms: Some(2_000) }], "it did not last");
    machine.step(at(5_000), Input::Opened);
    machine.step(at(5_000), frame(1, welcome()));
    let effects = machine.step(at(20_000), lost(None));
    assert_eq!(effects, [Effect::Wait { problem, wait_ms: Some(1_000) }], "it lasted");
    let effects = connected().step(NOW, lost(Some(4_409)));
    assert_eq!(effects, [Effect::Wait { problem: Problem::Replaced, wait_ms: None }]);
}

#[test]
fn a_token_that_is_no_longer_taken_and_a_newer_connection_cancel_what_is_under_way() {
    let under_way = || {
        let mut machine = connected();
        machine.step(NOW, frame(2, request(&json!({}))));
        machine.step(NOW, Input::Examined { number: 1 });
        machine.step(NOW, Input::Reserved { number: 1, admission: Some(Admission::Fresh) });
        machine
    };
    let lost = |code| Input::Lost { code, detail: String::new(), chance: 0.0 };
    let cancelled = Effect::Cancel { number: 1 };
    assert!(under_way().step(NOW, lost(Some(4_409))).contains(&cancelled), "nobody hears of it here");
    assert!(under_way().step(NOW, lost(Some(4_401))).contains(&cancelled), "its token was taken back");
    let mut machine = under_way();
    assert!(!machine.step(NOW, lost(None)).contains(&cancelled), "a broken line cancels nothing");
    // A server that cannot write, or a proxy before it, is no reason to close what the person is asked.
    machine.step(NOW, Input::Opened);
    let refused = machine.step(NOW, lost(Some(4_401)));
    let [Effect::Wait { problem, wait_ms: Some(_) }] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!(*problem, Problem::Other(LinkProblem::TicketRefused));
    for problem in [
        LinkProblem::Forbidden,
        LinkProblem::Silent,
        LinkProblem::Unreachable { detail: "it answers with status 403".into() },
        LinkProblem::Workspace { detail: "gone".into() },
    ] {
        let effects = machine.step(NOW, Input::NotOpened { problem: problem.clone(), chance: 0.0 });
        let [Effect::Wait { wait_ms: Some(_), .. }] = &effects[..] else { panic!("{problem:?}: {effects:?}") };
    }
    let refused = Input::NotOpened { problem: LinkProblem::TokenRefused, chance: 0.0 };
    assert!(machine.step(NOW, refused).contains(&cancelled));
}

#[test]
fn a_server_that_understands_nothing_and_one_that_sends_no_text_end_the_connection() {
    let mut machine = connected();
    let complaint = json!({"type": "protocol.error", "code": "WHAT", "message": "no"});
    let ended = (2..500).find(|sequence| !machine.step(NOW, frame(*sequence, complaint.clone())).is_empty());
    assert_eq!(ended, Some(2 + u64::from(MOST_COMPLAINTS)));
    let garbled = Input::Garbled { detail: "too long".into() };
    assert_eq!(connected().step(NOW, garbled), [Effect::Close(CloseCode::BadProtocol)]);
}

#[test]
fn a_result_that_does_not_fit_into_a_frame_is_a_failure() {
    let result = |bytes: usize| CallResult {
        tool_call_id: "t:c".into(),
        execution_id: "x".into(),
        status: ResultStatus::Succeeded,
        output: Some(json!({"content": "x".repeat(bytes)})),
        error: None,
        duration_ms: 1,
    };
    assert_eq!(code(&connected().step(NOW, Input::Kept(result(9 << 20)))).as_deref(), Some("FILE_TOO_LARGE"));
    assert_eq!(code(&connected().step(NOW, Input::Kept(result(1 << 20)))), None);
    let nothing_left = connected().step(NOW, Input::Kept(result(9 << 20)));
    assert!(matches!(&nothing_left[..], [Effect::Send(_)]), "{nothing_left:?}");
}

#[test]
fn the_sentence_of_a_code_says_nothing_of_this_computer() {
    assert_eq!(sentence("SENSITIVE_PATH_DENIED"), sentence("SENSITIVE_PATH_DENIED"));
    assert_eq!(sentence("WHO_KNOWS"), "It could not be done on this computer.");
}

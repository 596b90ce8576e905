//! What holds for every answer that is read, whatever its bytes are.

use std::sync::OnceLock;

use nod::ir::{Accumulator, Error, Message, Request, RequestId, Role, SessionId, StreamBody, StreamSequencer, UnixMs};
use nod::provider::ProviderKind;
use nod::provider::answer::Ending;
use nod::provider::reader::read_packets;

const NOW: UnixMs = UnixMs(1_719_000_000_000);

/// Reads an input whole and cut: both give the same, the pieces keep the order rules, and every call has an object.
pub fn check(kind: ProviderKind, whole: &[&[u8]], cut: &[&[u8]]) {
    let read_whole = read(kind, whole);
    assert_eq!(read_whole, read(kind, cut));
    let (pieces, ending) = read_whole;
    let mut sequencer = StreamSequencer::new(RequestId::new("r"), SessionId::new("s"), 1);
    let mut sum = Accumulator::default();
    for piece in pieces.into_iter().chain([StreamBody::Done]) {
        for event in sequencer.push(piece, NOW) {
            sum.apply(&event).expect("the order rules hold");
        }
    }
    for (index, call) in sum.calls.iter().enumerate() {
        assert!(call.args.is_object() && !call.name.is_empty());
        assert!(sum.calls.iter().skip(index + 1).all(|other| other.id != call.id), "each call has its own id");
    }
    assert!(ending.is_ok() || sum.calls.is_empty(), "nothing is called by an answer that broke off");
}

fn read(kind: ProviderKind, packets: &[&[u8]]) -> (Vec<StreamBody>, Result<Ending, Error>) {
    let mut pieces = Vec::new();
    let ending = read_packets(kind, "model", request(), packets, NOW, |piece| pieces.push(piece));
    (pieces, ending)
}

/// A request that offers one tool and has asked before.
fn request() -> &'static Request {
    static REQUEST: OnceLock<Request> = OnceLock::new();
    REQUEST.get_or_init(|| {
        let mut request: Request = serde_json::from_value(serde_json::json!({
            "meta": {"sessionId": "s", "iteration": 1, "requestId": "r", "timestamp": 0, "agentVersion": "0"},
            "systemPrompt": {"roleDefinition": ""},
            "messages": [],
            "tools": [{
                "name": "ls", "description": "", "parameters": {"type": "object"}, "category": "filesystem",
                "riskLevel": "safe", "requiresPermission": false, "timeoutMs": 1000,
            }],
            "params": {},
        }))
        .expect("a request");
        request.messages.push(Message::text(Role::User, "hi", NOW));
        request
    })
}

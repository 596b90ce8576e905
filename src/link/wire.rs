//! The frames of the device link (device-link specification, "Messages"): JSON text, one object each, with `type`,
//! `event_id` and `sequence`. Both ends read and write them here; neither interprets them here.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The version that both ends must speak.
pub const PROTOCOL_VERSION: u32 = 1;

/// The longest frame, in bytes.
pub const MAX_FRAME_BYTES: usize = 8 << 20;

/// The longest words of the other side that are kept, logged or shown, in characters: what is longer is cut as it is read.
const LONGEST_WORDS: usize = 200;
/// The same for the name of an event.
const LONGEST_EVENT_ID: usize = 512;

/// Why a connection was closed, as a WebSocket close code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum CloseCode {
    /// The server goes down: reconnect to whoever comes up next.
    GoingAway = 1001,
    /// The first message was not `device.register`, a sequence went back, or a frame was not JSON.
    BadProtocol = 4400,
    /// The ticket is bad, expired or used.
    BadTicket = 4401,
    /// A foreign origin, or another device than the ticket's.
    Forbidden = 4403,
    /// Nothing was heard for too long.
    Silence = 4408,
    /// A newer connection of the same device took its place: do not reconnect.
    Replaced = 4409,
}

/// What the desktop says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum FromDesktop {
    /// The first message, within 10 seconds.
    #[serde(rename = "device.register")]
    Register(Register),
    /// The whole list of tools; replaces the former.
    #[serde(rename = "tool.registry.sync")]
    Tools {
        /// Every tool on offer.
        tools: Vec<OfferedTool>,
    },
    /// How a call ended.
    #[serde(rename = "tool.call.result")]
    Result(CallResult),
    /// A sign of life.
    #[serde(rename = "heartbeat")]
    Heartbeat {},
    /// A frame of the other side made no sense.
    #[serde(rename = "protocol.error")]
    ProtocolError(ProtocolError),
}

/// What the server says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum FromServer {
    /// The device is known now.
    #[serde(rename = "device.registered")]
    Registered(Registered),
    /// Run this tool.
    #[serde(rename = "tool.call.request")]
    Request(Box<CallRequest>),
    /// The result is in the server's database.
    #[serde(rename = "tool.call.ack")]
    Ack {
        /// Of which call.
        tool_call_id: String,
    },
    /// Do not run it, or stop running it.
    #[serde(rename = "tool.call.cancel")]
    Cancel {
        /// Which call.
        tool_call_id: String,
        /// Why, for the log.
        reason: String,
    },
    /// A sign of life.
    #[serde(rename = "heartbeat")]
    Heartbeat {},
    /// A frame of the other side made no sense.
    #[serde(rename = "protocol.error")]
    ProtocolError(ProtocolError),
}

/// Who connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    /// The installation.
    pub device_id: String,
    /// The process.
    pub instance_id: String,
    /// For example `0.1.0`.
    pub app_version: String,
    /// [`PROTOCOL_VERSION`].
    pub protocol_version: u32,
}

/// The server's welcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// This connection.
    pub connection_id: String,
    /// RFC 3339, UTC.
    pub server_time: String,
    /// How often to give a sign of life, in seconds.
    pub heartbeat_seconds: u64,
}

/// A tool that the desktop lets the server call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// For example `workspace.read_file`.
    pub name: String,
    /// Changes whenever its meaning does.
    pub version: String,
    /// `low` or `medium`.
    pub risk: String,
    /// Whether the person is asked each time.
    pub requires_confirmation: bool,
    /// How long it may run once it has started, in milliseconds.
    pub timeout_ms: u64,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// One dispatch of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    /// The intention: the same however often it is sent.
    pub tool_call_id: String,
    /// This dispatch.
    pub execution_id: String,
    /// From 1.
    pub attempt_no: u32,
    /// For audit only.
    pub run_id: String,
    /// For which device.
    pub device_id: String,
    /// Which tool.
    pub tool_name: String,
    /// Of which version.
    pub tool_version: String,
    /// Its arguments.
    pub arguments: Value,
    /// [`arguments_hash`] of them.
    pub arguments_hash: String,
    /// What the server thinks; the desktop decides by its own list.
    pub requires_confirmation: bool,
    /// Milliseconds.
    pub execution_timeout_ms: u64,
    /// RFC 3339, UTC: do not start after this.
    pub expires_at: String,
}

/// How a call ended on the desktop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// Which call.
    pub tool_call_id: String,
    /// Which dispatch of it.
    pub execution_id: String,
    /// How it ended.
    pub status: ResultStatus,
    /// What it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// It ran.
    Succeeded,
    /// It ran and failed.
    Failed,
    /// Checks or the person said no.
    Rejected,
    /// The server took it back.
    Cancelled,
    /// It took too long.
    TimedOut,
    /// Nobody knows: the desktop ended while it ran.
    Unknown,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallError {
    /// A stable code.
    #[serde(deserialize_with = "words")]
    pub code: String,
    /// For the model.
    #[serde(deserialize_with = "words")]
    pub message: String,
}

/// What was wrong with a frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolError {
    /// A stable code.
    #[serde(deserialize_with = "words")]
    pub code: String,
    /// For the log.
    #[serde(deserialize_with = "words")]
    pub message: String,
    /// The frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ref_event_id: Option<String>,
}

/// A frame's message with what every frame carries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Frame<Body> {
    /// Unique, for tracing.
    pub event_id: String,
    /// Strictly rising per sender and connection.
    pub sequence: u64,
    /// The message.
    #[serde(flatten)]
    pub body: Body,
}

/// A frame as it was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading<Body> {
    /// A message of a known type.
    Message(Frame<Body>),
    /// A type that this side does not know, or one whose fields do not fit: it is answered with `protocol.error`.
    Unfit {
        /// Its sequence counts all the same.
        sequence: u64,
        /// What to answer.
        error: ProtocolError,
    },
}

/// A text that is no frame at all: the connection is closed with [`CloseCode::BadProtocol`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a frame: {0}")]
pub struct NotAFrame(String);

/// What every frame must have.
#[derive(Deserialize)]
struct Head<'text> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'text, str>,
    event_id: String,
    sequence: u64,
}

/// What one side says.
pub trait Message: DeserializeOwned {
    /// Reads a message of the type that comes with every call straight into its fields; `None` for every other type. A tagged
    /// one is copied as a whole before it is read.
    fn read_often(kind: &str, text: &str) -> Option<serde_json::Result<Self>>;
}

impl Message for FromDesktop {
    fn read_often(kind: &str, text: &str) -> Option<serde_json::Result<Self>> {
        (kind == "tool.call.result").then(|| serde_json::from_str(text).map(Self::Result))
    }
}

impl Message for FromServer {
    fn read_often(kind: &str, text: &str) -> Option<serde_json::Result<Self>> {
        (kind == "tool.call.request").then(|| serde_json::from_str(text).map(Self::Request))
    }
}

/// Reads a frame; fields that are not known are ignored. What is said of a bad one is short, however long it is: a parser
/// quotes what it stumbles over.
///
/// # Errors
/// When it is not a JSON object with `type`, `event_id` and `sequence`.
pub fn read<Body: Message>(text: &str) -> Result<Reading<Body>, NotAFrame> {
    let not_a_frame = |error: serde_json::Error| NotAFrame(cut(&error.to_string(), LONGEST_WORDS));
    let Head { kind, event_id, sequence } = serde_json::from_str(text).map_err(not_a_frame)?;
    let event_id = cut(&event_id, LONGEST_EVENT_ID);
    // Not as a `Frame`: a flattened body is copied as a whole before it is read.
    Ok(match Body::read_often(&kind, text).unwrap_or_else(|| serde_json::from_str(text)) {
        Ok(body) => Reading::Message(Frame { event_id, sequence, body }),
        Err(error) => Reading::Unfit {
            sequence,
            error: ProtocolError {
                code: "UNKNOWN_MESSAGE".into(),
                message: format!("{}: {}", cut(&kind, 64), cut(&error.to_string(), LONGEST_WORDS)),
                ref_event_id: Some(event_id),
            },
        },
    })
}

/// At most so many characters.
fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// Words of the other side, cut.
fn words<'text, D: Deserializer<'text>>(deserializer: D) -> Result<String, D::Error> {
    Ok(cut(&String::deserialize(deserializer)?, LONGEST_WORDS))
}

/// Writes a frame.
///
/// # Errors
/// When a value in it cannot be JSON.
pub fn write<Body: Serialize>(frame: &Frame<Body>) -> Result<String, serde_json::Error> {
    serde_json::to_string(frame)
}

/// SHA-256 of the arguments as RFC 8785 JSON, lower-case hex.
///
/// # Errors
/// When a number in them has no form in RFC 8785.
pub fn arguments_hash(arguments: &Value) -> Result<String, serde_json::Error> {
    Ok(hex::encode(Sha256::digest(serde_json_canonicalizer::to_vec(arguments)?)))
}

/// The sequence numbers of one sender as the other side hears them.
#[derive(Debug, Default)]
pub struct Heard(Option<u64>);

impl Heard {
    /// Takes the next number in; false when it does not rise.
    #[must_use]
    pub fn rises(&mut self, sequence: u64) -> bool {
        let rises = self.0.is_none_or(|last| sequence > last);
        if rises {
            self.0 = Some(sequence);
        }
        rises
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_read_often_is_read_as_everything_else_is() {
        fn same<Body: Message + PartialEq + std::fmt::Debug>(text: &str) {
            let plain: Result<Body, _> = serde_json::from_str(text);
            match read::<Body>(text).unwrap() {
                Reading::Message(frame) => assert_eq!(frame.body, plain.unwrap(), "{text}"),
                Reading::Unfit { .. } => assert!(plain.is_err(), "{text}"),
            }
        }
        let head = json!({"type": "tool.call.result", "event_id": "e", "sequence": 1, "mood": "good"});
        let fields = json!({
            "tool_call_id": "c", "execution_id": "x", "status": "succeeded", "output": {"a": [1, 2.5]}, "duration_ms": 7,
        });
        for left_out in ["", "tool_call_id", "execution_id", "status", "output", "duration_ms"] {
            let mut frame = head.clone();
            let all = fields.as_object().unwrap().iter().filter(|(name, _)| *name != left_out);
            frame.as_object_mut().unwrap().extend(all.map(|(name, value)| (name.clone(), value.clone())));
            same::<FromDesktop>(&frame.to_string());
            frame["type"] = "tool.call.request".into();
            same::<FromServer>(&frame.to_string());
        }
    }

    #[test]
    fn frames_carry_the_names_of_the_specification() {
        let frame = Frame {
            event_id: "e1".into(),
            sequence: 3,
            body: FromDesktop::Result(CallResult {
                tool_call_id: "t:call_1".into(),
                execution_id: "x1".into(),
                status: ResultStatus::TimedOut,
                output: None,
                error: Some(CallError { code: "TIMED_OUT".into(), message: "too long".into() }),
                duration_ms: 7,
            }),
        };
        let text = write(&frame).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({
                "event_id": "e1", "sequence": 3, "type": "tool.call.result", "tool_call_id": "t:call_1",
                "execution_id": "x1", "status": "timed_out",
                "error": {"code": "TIMED_OUT", "message": "too long"}, "duration_ms": 7,
            })
        );
        assert_eq!(read::<FromDesktop>(&text).unwrap(), Reading::Message(frame));
    }

    #[test]
    fn unknown_fields_are_ignored_and_unknown_types_are_answered() {
        let text = r#"{"type":"heartbeat","event_id":"a","sequence":1,"mood":"good"}"#;
        let frame = Frame { event_id: "a".into(), sequence: 1, body: FromServer::Heartbeat {} };
        assert_eq!(read::<FromServer>(text).unwrap(), Reading::Message(frame));

        let Reading::Unfit { sequence: 2, error } =
            read::<FromServer>(r#"{"type":"device.dance","event_id":"b","sequence":2}"#).unwrap()
        else {
            panic!("an unknown type is no message");
        };
        assert_eq!((error.code.as_str(), error.ref_event_id.as_deref()), ("UNKNOWN_MESSAGE", Some("b")));
        assert!(matches!(
            read::<FromServer>(r#"{"type":"tool.call.ack","event_id":"c","sequence":3}"#).unwrap(),
            Reading::Unfit { sequence: 3, .. }
        ));
    }

    #[test]
    fn what_is_no_frame_is_told_apart_from_what_is_not_known() {
        for text in ["", "[]", "{", r#"{"type":"heartbeat"}"#, r#"{"type":"heartbeat","event_id":"a","sequence":"1"}"#]
        {
            assert!(read::<FromDesktop>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn whatever_is_said_of_a_frame_and_of_its_words_is_short() {
        let huge = "x".repeat(7 << 20);
        let text = format!(r#"{{"type":"heartbeat","event_id":"a","sequence":"{huge}"}}"#);
        let length = read::<FromServer>(&text).unwrap_err().to_string().len();
        assert!((20..300).contains(&length), "{length}");

        let text = format!(r#"{{"type":"{huge}","event_id":"{huge}","sequence":1}}"#);
        let Reading::Unfit { error, .. } = read::<FromDesktop>(&text).unwrap() else { panic!("no such type") };
        let lengths = (error.message.len(), error.ref_event_id.map(|id| id.len()));
        assert!(lengths.0 < 300 && lengths.1 == Some(LONGEST_EVENT_ID), "{lengths:?}");

        let body = format!(r#""type":"protocol.error","code":"{huge}","message":"{huge}""#);
        let read = read::<FromServer>(&format!(r#"{{"event_id":"a","sequence":1,{body}}}"#)).unwrap();
        let Reading::Message(Frame { body: FromServer::ProtocolError(error), .. }) = read else { panic!("{read:?}") };
        assert_eq!((error.code.len(), error.message.len()), (LONGEST_WORDS, LONGEST_WORDS));

        let error = serde_json::from_value::<CallError>(json!({"code": huge, "message": "a\n\u{1F600}"})).unwrap();
        assert_eq!((error.code.len(), error.message.as_str()), (LONGEST_WORDS, "a\n\u{1F600}"));
    }

    #[test]
    fn the_hash_is_that_of_rfc_8785() {
        // SHA-256 of {"a":10,"b":"é"}: a float without a fraction is written as an integer, names are sorted.
        let expected = hex::encode(Sha256::digest("{\"a\":10,\"b\":\"é\"}"));
        assert_eq!(arguments_hash(&json!({"b": "é", "a": 10.0})).unwrap(), expected);
    }

    #[test]
    fn a_sequence_may_leave_gaps_and_never_goes_back() {
        let mut heard = Heard::default();
        assert!([0, 1, 5].into_iter().all(|sequence| heard.rises(sequence)));
        assert!(!heard.rises(5));
        assert!(!heard.rises(4));
    }
}

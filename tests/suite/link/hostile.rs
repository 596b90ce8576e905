//! Servers that mean no good: what they send is answered or ends the connection, and the desktop stays awake.

use std::io::Write as _;

use nod::ir::{LinkProblem, LinkState};
use nod::port::{Command, Event};
use nod::secret::SecretKey;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::{Desktop, LIST, READ, code, state_of};
use crate::support::link_server::{LinkServer, TOKEN};

/// The desktop ends the connection with this code, says why, and is awake.
fn ends(desktop: &mut Desktop, wanted: &LinkProblem) {
    let wanted = std::mem::discriminant(wanted);
    desktop.next(|event| match state_of(event)? {
        LinkState::Waiting { problem, .. } if std::mem::discriminant(&problem) == wanted => Some(()),
        _ => None,
    });
    desktop.is_awake();
}

fn protocol() -> LinkProblem {
    LinkProblem::Protocol { detail: String::new() }
}

#[test]
fn what_is_no_frame_and_a_sequence_that_goes_back_end_the_connection_with_4400() {
    let again = r#"{"type":"heartbeat","event_id":"a","sequence":1}"#;
    for text in ["garbage", "[1]", again] {
        let server = LinkServer::new();
        let (mut desktop, mut line) = Desktop::connected(&server);
        line.socket.send(Message::text(text)).unwrap();
        assert_eq!(line.hear_end().0, Some(4400), "{text}");
        ends(&mut desktop, &protocol());
    }
}

#[test]
fn a_call_before_the_welcome_is_not_looked_at() {
    let server = LinkServer::new();
    let mut desktop = Desktop::new();
    desktop.run(&server);
    let mut line = server.accept();
    let device = line.hear()["device_id"].as_str().unwrap().to_owned();
    line.device_id = device;
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    assert_eq!(line.hear_end().0, Some(4400));
    ends(&mut desktop, &protocol());
    assert!(!desktop.was_asked());
}

#[test]
fn a_frame_of_sixteen_megabytes_is_not_taken_in() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    // The desktop hangs up in the middle, so that the rest cannot be sent.
    line.socket.send(Message::text("x".repeat(16 << 20))).ok();
    ends(&mut desktop, &protocol());
}

#[test]
fn a_frame_that_says_it_is_too_long_ends_the_connection_with_4400() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    let head = [&[0x81, 127][..], &(9_u64 << 20).to_be_bytes()].concat();
    line.socket.get_mut().write_all(&head).unwrap();
    assert_eq!(line.hear_end().0, Some(4400));
    ends(&mut desktop, &protocol());
}

/// A parser quotes what it stumbles over: that is not shown, logged or sent back.
#[test]
fn of_a_word_of_seven_megabytes_little_is_kept_and_little_goes_back() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    let huge = "x".repeat(7 << 20);
    for body in [json!({"type": huge}), json!({"type": "protocol.error", "code": huge, "message": ""})] {
        line.say(body);
    }
    line.ask("t:1", LIST, &json!({"path": "."}));
    let answers = [line.hear(), line.hear()];
    assert_eq!((&answers[0]["type"], &answers[1]["status"]), (&json!("protocol.error"), &json!("succeeded")));
    assert!(answers[0].to_string().len() < 1_000);
    let text = format!(r#"{{"type":"heartbeat","event_id":"a","sequence":"{huge}"}}"#);
    line.socket.send(Message::text(text)).unwrap();
    let length = desktop.next(|event| match state_of(event)? {
        LinkState::Waiting { problem: LinkProblem::Protocol { detail }, .. } => Some(detail.len()),
        _ => None,
    });
    assert!((1..1_000).contains(&length), "{length}");
}

#[test]
fn a_message_in_endless_pieces_is_not_taken_in() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    let stream = line.socket.get_mut();
    // A text that begins, and 64 KiB continuations of it (unmasked, as a server sends them).
    let piece = vec![b'x'; 1 << 16];
    let frame = |first: u8| [&[first, 127][..], &(piece.len() as u64).to_be_bytes(), &piece].concat();
    let mut sent = stream.write_all(&frame(0x01));
    for _ in 0..1_000 {
        if sent.is_err() {
            break;
        }
        sent = stream.write_all(&frame(0x00));
    }
    ends(&mut desktop, &protocol());
}

/// Nothing is unpacked here, so nothing small can become something huge.
#[test]
fn a_compressed_message_ends_the_connection() {
    for (first, is_taken) in [(0x81, true), (0xC1, false)] {
        let server = LinkServer::new();
        let (mut desktop, mut line) = Desktop::connected(&server);
        let mut request = line.request("t:1", LIST, &json!({"path": "."}));
        request["event_id"] = json!("e");
        request["sequence"] = json!(100);
        let text = request.to_string();
        // A whole text, once as it is (the control) and once marked as compressed (RFC 7692).
        let length = u16::try_from(text.len()).unwrap().to_be_bytes();
        line.socket.get_mut().write_all(&[&[first, 126][..], &length, text.as_bytes()].concat()).unwrap();
        if is_taken {
            assert_eq!(line.hear()["status"], "succeeded");
        } else {
            ends(&mut desktop, &protocol());
        }
    }
}

#[test]
fn a_flood_of_pings_or_of_calls_ends_the_connection() {
    for has_calls in [false, true] {
        let server = LinkServer::new();
        let (mut desktop, mut line) = Desktop::connected(&server);
        for number in 0..5_000 {
            let message = if has_calls {
                let mut request = line.request(&format!("t:{number}"), LIST, &json!({"path": ".."}));
                request["event_id"] = json!("e");
                request["sequence"] = json!(number + 100);
                Message::text(request.to_string())
            } else {
                Message::Ping(vec![1].into())
            };
            if line.socket.send(message).is_err() {
                break;
            }
        }
        // What is still on its way when the desktop hangs up may take the goodbye with it: the state says what happened.
        line.hear_end();
        ends(&mut desktop, &protocol());
        assert!(!desktop.was_asked());
    }
}

#[test]
fn a_message_of_another_kind_is_answered_and_the_connection_stays() {
    let server = LinkServer::new();
    let (_desktop, mut line) = Desktop::connected(&server);
    line.say(json!({"type": "shell.run", "command": "id"}));
    let answer = line.hear();
    assert_eq!((&answer["type"], &answer["code"]), (&json!("protocol.error"), &json!("UNKNOWN_MESSAGE")));
    line.ask("t:1", LIST, &json!({"path": "."}));
    assert_eq!(line.hear()["status"], "succeeded");
}

#[test]
fn more_calls_at_once_than_a_desktop_takes_are_refused() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    for number in 0..40 {
        line.ask(&format!("t:{number}"), READ, &json!({"path": "README.md"}));
    }
    let refused: Vec<String> = (0..8).map(|_| code(&line.hear()).to_owned()).collect();
    assert!(refused.iter().all(|code| code == "RATE_LIMITED"), "{refused:?}");
    desktop.question();
}

#[test]
fn a_server_in_the_open_is_refused_before_anything_is_sent() {
    let mut desktop = Desktop::new();
    for url in ["http://192.0.2.7:9/", "http://nod.example/", "ws://127.0.0.1:9/", "https://user:word@nod.example/"] {
        let token = SecretKey::new(TOKEN).unwrap();
        desktop.send(Command::RunLink { url: url.to_owned(), workspace: desktop.workspace(), token });
        let key = desktop.next(|event| match event {
            Event::Fault { key, .. } => Some(*key),
            _ => None,
        });
        assert_eq!(key, "fault-link-address", "{url}");
    }
}

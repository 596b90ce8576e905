//! Calls that are sent again, and calls under one name: a refusal does not end what is under way, and the list of calls says
//! what came and what left.

use nod::ir::{LinkCall, LinkCallState};
use nod::port::{Answer, Event};
use serde_json::json;

use super::{Desktop, LIST, READ, code, views};
use crate::support::link_server::LinkServer;

const LONG_AGO: &str = "2020-01-01T00:00:00Z";

/// The server takes a refusal as the end of the call: it would throw away what the yes gives.
#[test]
fn a_repeat_that_comes_too_late_ends_neither_the_question_nor_what_is_kept() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    let late = |line: &crate::support::link_server::Line, id: &str| {
        let mut request = line.request(id, READ, &json!({"path": "README.md"}));
        request["execution_id"] = json!("x2");
        request["expires_at"] = json!(LONG_AGO);
        request
    };
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    line.say(late(&line, "t:1"));
    // The control: a call that is not known is refused. It is the first answer.
    line.say(late(&line, "t:2"));
    let refused = line.hear();
    assert_eq!((&refused["tool_call_id"], code(&refused)), (&json!("t:2"), "REQUEST_EXPIRED"));
    desktop.answer(&question, Answer::AllowOnce);
    assert_eq!(line.hear()["output"]["content"], "hello\n");
    line.say(late(&line, "t:1"));
    let kept = line.hear();
    assert_eq!((&kept["output"]["content"], &kept["execution_id"]), (&json!("hello\n"), &json!("x2")));
}

#[test]
fn a_row_of_the_list_is_not_overwritten_and_every_refused_try_is_one() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", LIST, &json!({"path": "sub"}));
    line.hear();
    // The same again, and then other things under its name.
    line.ask("t:1", LIST, &json!({"path": "sub"}));
    line.hear();
    for path in ["../out/yes", "../out/yes", "../out/no"] {
        line.ask("t:1", READ, &json!({"path": path}));
        assert_eq!(code(&line.hear()), "PATH_OUT_OF_SCOPE");
    }
    let listed = desktop.listed(&server.url());
    let row = |call: &LinkCall| (call.state, call.is_recorded, call.path.clone());
    let mut rows: Vec<_> = listed.iter().map(row).collect();
    rows.sort_by_key(|(_, is_recorded, path)| (!is_recorded, path.clone()));
    let refused = |path: &str| (LinkCallState::Rejected, false, path.to_owned());
    let done = (LinkCallState::Succeeded, true, "sub".to_owned());
    assert_eq!(rows, [done, refused("../out/no"), refused("../out/yes"), refused("../out/yes")]);
    // And nothing else was said of the call that is over.
    let changes = desktop.seen.iter().filter_map(|event| match event {
        Event::LinkCallChanged { call, .. } if call.is_recorded => Some((call.state, call.sent_bytes > 0)),
        _ => None,
    });
    let (running, succeeded) = (LinkCallState::Running, LinkCallState::Succeeded);
    let expected = [(running, false), (succeeded, false), (succeeded, true), (succeeded, true)];
    assert_eq!(changes.collect::<Vec<_>>(), expected);
}

#[test]
fn what_did_not_leave_yet_is_not_counted_as_sent() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    let address = desktop.allows_while_away(&question, server, line);
    let url = format!("http://{address}/");
    assert_eq!(desktop.listed(&url)[0].sent_bytes, 0);
    let server = LinkServer::at(address);
    let mut line = server.welcome();
    let bytes = line.hear()["output"].to_string().len() as u64;
    let sent = desktop.next(|event| match event {
        Event::LinkCallChanged { call, .. } if call.sent_bytes > 0 => Some(call.sent_bytes),
        _ => None,
    });
    let total = desktop.next(|event| views(event)?.first().map(|link| link.sent_bytes).filter(|bytes| *bytes > 0));
    assert_eq!((sent, total, desktop.listed(&url)[0].sent_bytes), (bytes, bytes, bytes));
}

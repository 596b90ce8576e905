//! How a connection ends: by the person, whatever the server is at; by what only looks like a server's refusal; by a folder
//! that is away.

use std::time::Duration;

use nod::ir::{LinkCallState, LinkProblem, LinkState};
use nod::port::{Answer, Command, Event};
use nod::secret::SecretKey;
use serde_json::json;

use super::{Desktop, LIST, READ, code, state_of};
use crate::support::link_server::{LinkServer, TOKEN, UNKNOWN_TOKEN};

/// Listings fill every buffer between the desktop and a server that does not read.
#[test]
fn who_ends_a_connection_to_a_server_that_does_not_read_is_asked_nothing_more_and_nothing_is_read() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    let folder = desktop.workspace().join("many");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..500 {
        std::fs::write(folder.join(format!("{number:0>255}")), "").unwrap();
    }
    line.ask("t:asked", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    for round in 0..4 {
        for number in 0..28 {
            line.ask(&format!("t:{round}:{number}"), LIST, &json!({"path": "many"}));
        }
        // All of them, or as many as come through before the desktop cannot send any more.
        let is_done = |event: &Event| matches!(event, Event::LinkCallChanged { call, .. } if call.state == LinkCallState::Succeeded && call.sent_bytes > 0);
        let mut left = 28;
        while left > 0
            && let Some(event) = desktop.inbox.recv_timeout(Duration::from_secs(2))
        {
            left -= u32::from(is_done(&event));
        }
        if left > 0 {
            break;
        }
        assert!(round < 3, "the desktop is never stuck");
    }
    desktop.send(Command::StopLink { url: server.url() });
    desktop.closed(&question);
    desktop.answer(&question, Answer::AllowOnce);
    desktop.next(|event| super::views(event)?.is_empty().then_some(()));
    // Wanted again, it says of that call that it was cancelled, and a repeat is answered the same way.
    desktop.run(&server);
    let mut line = server.welcome();
    line.ask("t:asked", READ, &json!({"path": "README.md"}));
    let mut answers = 0;
    while answers < 2 {
        let result = line.hear();
        if result["tool_call_id"] == "t:asked" {
            assert_eq!((&result["status"], code(&result)), (&json!("cancelled"), "CANCELLED"));
            answers += 1;
        }
    }
}

#[test]
fn what_was_allowed_of_another_folder_is_not_sent_once_the_folder_is_changed() {
    for is_changed in [false, true] {
        let server = LinkServer::new();
        let (mut desktop, mut line) = Desktop::connected(&server);
        line.ask("t:1", READ, &json!({"path": "README.md"}));
        let question = desktop.question();
        let url = server.url();
        let address = desktop.allows_while_away(&question, server, line);
        let workspace = if is_changed { desktop.place.path().join("out") } else { desktop.workspace() };
        desktop.send(Command::PutLink { url, workspace, token: SecretKey::new(TOKEN) });
        let server = LinkServer::at(address);
        let result = server.welcome().hear();
        let expected = if is_changed { "cancelled" } else { "succeeded" };
        assert_eq!((&result["status"], result.get("output").is_some()), (&json!(expected), !is_changed));
    }
}

#[test]
fn a_folder_that_was_away_is_tried_again_by_itself() {
    let server = LinkServer::new();
    let mut desktop = Desktop::new();
    let token = SecretKey::new(TOKEN);
    desktop.send(Command::PutLink { url: server.url(), workspace: desktop.workspace(), token });
    let line = server.welcome();
    let away = desktop.place.path().join("away");
    std::fs::rename(desktop.workspace(), &away).unwrap();
    drop(line);
    desktop.next(|event| match state_of(event)? {
        LinkState::Waiting { problem: LinkProblem::Workspace { .. }, .. } => Some(()),
        _ => None,
    });
    std::fs::rename(&away, desktop.workspace()).unwrap();
    server.welcome();
    desktop.state_is(&LinkState::Connected);
}

/// A proxy, the page of a guest network, a server that cannot write for a moment: the person's answer is kept for later.
#[test]
fn only_the_servers_own_word_about_the_token_closes_what_the_person_is_asked() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    drop(line);
    for (status, body) in
        [("403 Forbidden", "<html>Please log in</html>"), ("401 Unauthorized", r#"{"error":"proxy"}"#)]
    {
        server.refuse_ticket(status, body);
        desktop.next(|event| match state_of(event)? {
            LinkState::Waiting { problem: LinkProblem::Unreachable { detail }, .. } if detail.contains("status 40") => {
                Some(())
            }
            _ => None,
        });
        assert!(!desktop.is_closed(&question), "{status}");
    }
    // A ticket that was given and is refused.
    server.accept().close(4401);
    desktop.next(|event| match state_of(event)? {
        LinkState::Waiting { problem: LinkProblem::TicketRefused, .. } => Some(()),
        _ => None,
    });
    assert!(!desktop.is_closed(&question));
    desktop.send(Command::RetryLink { url: server.url() });
    let mut line = server.welcome();
    desktop.answer(&question, Answer::AllowOnce);
    assert_eq!(line.hear()["output"]["content"], "hello\n");

    line.ask("t:2", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    drop(line);
    desktop.next(|event| matches!(state_of(event)?, LinkState::Waiting { .. }).then_some(()));
    desktop.send(Command::RetryLink { url: server.url() });
    server.refuse_ticket("401 Unauthorized", UNKNOWN_TOKEN);
    desktop.closed(&question);
}

#[test]
fn a_token_that_is_taken_back_under_a_connection_closes_what_the_person_is_asked() {
    let server = LinkServer::new();
    let (mut desktop, mut line) = Desktop::connected(&server);
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    let question = desktop.question();
    line.close(4401);
    desktop.closed(&question);
}

//! What one user can learn of another's ids: nothing. Every route is asked for what is another's and for what there never
//! was, and the answers are the same byte for byte. And what a client may call something at all.

use serde_json::{Value, json};

use super::client::Client;
use super::device::Device;
use super::operator::{Operator, Server};
use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line};

struct Setting {
    _operator: Operator,
    model: OllamaServer,
    server: Server,
    ann: Client,
    bob: Client,
}

fn setting(operator: Operator) -> Setting {
    let (ann, bob) = (operator.token("ann"), operator.token("bob"));
    let model = OllamaServer::start();
    let server = operator.serve(&["--dev", "--provider", "ollama", "--base-url", &model.url(), "--model", "qwen3:8b"]);
    Setting { _operator: operator, model, ann: server.client(&ann), bob: server.client(&bob), server }
}

/// What a plain AG-UI client sends.
fn input(thread: &str, run: &str) -> Value {
    json!({
        "threadId": thread, "runId": run, "state": {}, "tools": [], "context": [],
        "messages": [{"id": "m1", "role": "user", "content": "List"}], "forwardedProps": {"deviceId": "laptop"},
    })
}

/// A conversation in which a file was listed.
async fn talk(setting: &Setting, client: &Client, device: &mut Device, output: Value) {
    setting
        .model
        .answer(Reply::stream([calls_line(&[("workspace_list_files", json!({"path": "."}))]), done_line("stop")]));
    setting.model.answer(Reply::stream([text_line("Done."), done_line("stop")]));
    let events = client.stream(input("thread-1", "run-1")).await;
    let request = device.request().await;
    device.answer(&request, "succeeded", output).await;
    device.acknowledged(&request).await;
    assert_eq!(events.rest().await.last().unwrap()["type"], "RUN_FINISHED");
}

async fn another_users_ids_are_answered_like_ids_that_there_never_were(operator: Operator) {
    let setting = setting(operator);
    let Setting { server, ann, bob, .. } = &setting;
    let mut device = Device::connect(server, ann, "laptop").await;
    talk(&setting, ann, &mut device, json!({"entries": []})).await;
    let (_, before) = ann.get("/api/threads/thread-1").await;
    let turn = before["turns"][0]["turn_id"].as_str().unwrap();
    let call = before["tool_calls"][0]["tool_call_id"].as_str().unwrap();
    let own = bob.prepare(json!({"input": "Mine"})).await;
    let mine = own["thread_id"].as_str().unwrap();
    // Whatever can be asked about a thread, a turn and a call.
    let questions = |thread: &str, turn: &str, call: &str| {
        let branch = |thread: &str| json!({"thread_id": thread, "before_turn_id": turn, "input": "x"});
        let dev = json!({"device_id": "phone", "tool_name": "t", "arguments": {}, "tool_call_id": call});
        let cancel = format!("/api/desktop/dev/tool-calls/{call}/cancel");
        [
            ("GET", format!("/api/threads/{thread}"), None),
            ("DELETE", format!("/api/threads/{thread}"), None),
            ("POST", "/api/turns".to_owned(), Some(json!({"thread_id": thread, "input": "x"}))),
            ("POST", "/api/turns".to_owned(), Some(branch(thread))),
            ("POST", "/api/turns".to_owned(), Some(branch(mine))),
            ("GET", format!("/api/tool-calls/{call}"), None),
            ("POST", cancel.clone(), Some(json!({}))),
            ("POST", cancel, Some(json!({"device_id": "laptop"}))),
            ("POST", "/api/desktop/dev/tool-calls".to_owned(), Some(dev)),
        ]
    };
    let nobodys = ("thread-2", "0197-nobody", "thread-2:call_9");
    for ((method, path, body), (_, never, no_body)) in
        questions("thread-1", turn, call).into_iter().zip(questions(nobodys.0, nobodys.1, nobodys.2))
    {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let (status, answer) = bob.send(method.clone(), &path, body).await;
        let (expected, never) = bob.send(method.clone(), &never, no_body).await;
        // But for the id itself, where an answer repeats it.
        let answer = answer.to_string().replace(call, nobodys.2);
        assert_eq!((status, answer), (expected, never.to_string()), "{method} {path}");
    }
    // A name that another has used is free, as one that nobody has: for a thread, a run, a call.
    for (thread, run) in [("thread-1", "run-1"), ("thread-9", "run-9")] {
        setting.model.answer(Reply::stream([text_line("Yes."), done_line("stop")]));
        let events = bob.stream(input(thread, run)).await.rest().await;
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        let expected =
            ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"];
        assert_eq!(kinds, expected, "{thread}");
        assert_eq!(bob.delete(&format!("/api/threads/{thread}")).await.0, 204);
    }
    assert_eq!(ann.get("/api/threads/thread-1").await, (200, before), "untouched");
}

async fn two_users_who_choose_the_same_ids_do_not_disturb_each_other(operator: Operator) {
    let setting = setting(operator);
    let Setting { server, ann, bob, .. } = &setting;
    let mut anns = Device::connect(server, ann, "laptop").await;
    let mut bobs = Device::connect(server, bob, "laptop").await;
    talk(&setting, ann, &mut anns, json!({"entries": ["of ann"]})).await;
    talk(&setting, bob, &mut bobs, json!({"entries": ["of bob"]})).await;
    for (client, name) in [(ann, "of ann"), (bob, "of bob")] {
        let (_, thread) = client.get("/api/threads/thread-1").await;
        let calls = thread["tool_calls"].as_array().unwrap();
        assert_eq!((calls.len(), &calls[0]["output"]), (1, &json!({"entries": [name]})), "{thread}");
    }
    // Both wait for a call of one name; each gets its own answer, and the end of one leaves the other's.
    let wanted = json!({"device_id": "laptop", "tool_name": "workspace.list_files", "arguments": {"path": "."},
                        "tool_call_id": "thread-1:own"});
    let (first, second) = (ann.dev_call(wanted.clone()), bob.dev_call(wanted));
    let (to_ann, to_bob) = (anns.request().await, bobs.request().await);
    assert_eq!(ann.delete("/api/threads/thread-1").await.0, 204);
    bobs.answer(&to_bob, "succeeded", json!("for bob")).await;
    assert_eq!(second.await.unwrap()["output"], "for bob");
    anns.answer(&to_ann, "succeeded", json!("for ann")).await;
    assert_eq!(first.await.unwrap()["output"], "for ann");
    assert_eq!(bob.get("/api/threads/thread-1").await.0, 200);
}

async fn the_id_of_a_deleted_thread_is_not_used_again(operator: Operator) {
    let setting = setting(operator);
    let Setting { server, ann, .. } = &setting;
    let mut device = Device::connect(server, ann, "laptop").await;
    talk(&setting, ann, &mut device, json!({"entries": []})).await;
    assert_eq!(ann.delete("/api/threads/thread-1").await.0, 204);
    assert_eq!(ann.delete("/api/threads/thread-1").await.0, 404);
    // Its calls would have the names of those that the computer has in its record.
    let (status, answer) = ann.post("/api/agent", input("thread-1", "run-2")).await;
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("CONFLICT")));
    // A late result for it is taken in, so that the computer does not keep it; one for what there never was is not.
    let late = |call: &str| {
        json!({"type": "tool.call.result", "tool_call_id": call, "execution_id": "x", "status": "succeeded",
               "output": "late", "duration_ms": 1})
    };
    device.send(late("thread-1:call_7")).await;
    assert_eq!(device.until("tool.call.ack").await["tool_call_id"], "thread-1:call_7");
    for unknown in ["thread-2:call_7", "thread-1", "run-1:call_7", ":call_7", "\u{202e}", "a\0b", &"x".repeat(5_000)] {
        device.send(late(unknown)).await;
        let told = device.next().await;
        assert_eq!((&told["type"], &told["code"]), (&json!("protocol.error"), &json!("CALL_NOT_KNOWN")), "{unknown:?}");
    }
}

async fn a_name_that_is_no_line_of_text_is_not_kept(operator: Operator) {
    let setting = setting(operator);
    let Setting { server, ann, .. } = &setting;
    let long = "x".repeat(5_000);
    for bad in ["", "a b", "a\0", "a\nb", "a\u{202e}b", "\u{9b}31m", "\u{200b}", "é", &long] {
        for (path, body) in [
            ("/api/agent", input(bad, "run-1")),
            ("/api/agent", input("thread-1", bad)),
            ("/api/turns", json!({"input": "x", "device_id": bad})),
            ("/api/desktop/connection-ticket", json!({"device_id": bad})),
            ("/api/desktop/dev/tool-calls", json!({"device_id": bad, "tool_name": "t", "arguments": {}})),
            (
                "/api/desktop/dev/tool-calls",
                json!({"device_id": "laptop", "tool_name": "t", "arguments": {}, "tool_call_id": bad}),
            ),
            ("/api/desktop/dev/tool-calls/t:c/cancel", json!({"device_id": bad})),
        ] {
            let (status, answer) = ann.post(path, body).await;
            assert_eq!((status, &answer["error"]["code"]), (400, &json!("INVALID_ID")), "{path} {bad:?}: {answer}");
        }
        // One that is only looked up is not found.
        let never = ann.get("/api/threads/nobodys").await;
        for (path, body) in [
            ("/api/turns", json!({"input": "x", "thread_id": bad})),
            ("/api/turns", json!({"input": "x", "thread_id": "nobodys", "before_turn_id": bad})),
        ] {
            assert_eq!(ann.post(path, body).await, never, "{path} {bad:?}");
        }
    }
    for bad in ["%00", "a%0Ab", "%E2%80%AE", "a%20b", &long] {
        for path in ["/api/threads/", "/api/tool-calls/"] {
            assert_eq!(ann.get(&format!("{path}{bad}")).await, ann.get("/api/threads/nobodys").await, "{path}{bad}");
        }
    }
    let (status, answer) = ann.post("/api/agent", input("thread:1", "run-1")).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("INVALID_ID")), "a call's id names one thread");
    assert_eq!(ann.get("/api/threads").await, (200, json!([])));
    let log = server.log();
    assert!(log.lines().all(|line| line.len() < 1_000 && !line.contains('\u{202e}')), "{log}");
    // What is said may be anything; the list shows what can be shown.
    ann.prepare(json!({"input": "zero \0 and \u{9b}31m"})).await;
    assert_eq!(ann.get("/api/threads").await.1[0]["title"], "zero  and 31m");
}

async fn what_a_device_says_of_a_failure_is_shown_as_text(operator: Operator) {
    let setting = setting(operator);
    let Setting { server, ann, .. } = &setting;
    let mut device = Device::connect(server, ann, "laptop").await;
    let call = ann.dev_call(json!({"device_id": "laptop", "tool_name": "workspace.list_files", "arguments": {},
                                   "tool_call_id": "t:c"}));
    let request = device.request().await;
    device
        .send(json!({
            "type": "tool.call.result", "tool_call_id": "t:c", "execution_id": request["execution_id"],
            "status": "rejected", "output": "not from a refusal", "duration_ms": 1,
            "error": {"code": "\u{202e}\u{1b}[31m", "message": "a\0b\u{1b}c\nd"},
        }))
        .await;
    let answer = call.await.unwrap();
    let error = json!({"code": "DEVICE_ERROR", "message": "abc\nd"});
    assert_eq!((&answer["error"], answer.get("output")), (&error, None), "{answer}");
}

on_both! {
    another_users_ids_are_answered_like_ids_that_there_never_were,
    two_users_who_choose_the_same_ids_do_not_disturb_each_other,
    the_id_of_a_deleted_thread_is_not_used_again,
    a_name_that_is_no_line_of_text_is_not_kept,
    what_a_device_says_of_a_failure_is_shown_as_text,
}

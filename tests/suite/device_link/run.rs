//! A turn on the server with a scripted model and a device: the events of the stream, what the model is told, what is kept.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::client::{Client, PATIENCE};
use super::device::Device;
use super::operator::{Operator, Server};
use crate::support::ollama::{Gate, OllamaServer, Piece, Reply, calls_line, done_line, text_line, thinking_line};

struct Setting {
    operator: Operator,
    model: OllamaServer,
    server: Server,
    client: Client,
}

fn setting(operator: Operator) -> Setting {
    let token = operator.token("ann");
    let model = OllamaServer::start();
    let server = operator.serve(&["--provider", "ollama", "--base-url", &model.url(), "--model", "qwen3:8b"]);
    let client = server.client(&token);
    Setting { operator, model, server, client }
}

fn calls(calls: &[(&str, Value)]) -> Reply {
    Reply::stream([calls_line(calls), done_line("stop")])
}

fn says(text: &str) -> Reply {
    Reply::stream([text_line(text), done_line("stop")])
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The contents of the tool messages that the newest chat carries.
fn told(model: &OllamaServer) -> Vec<Value> {
    let chat = model.last_chat().unwrap();
    let tools = chat["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    // Between the words that tell a model to take it for data.
    let data = |text: &str| serde_json::from_str(&text[text.find('{').unwrap()..=text.rfind('}').unwrap()]).unwrap();
    tools.map(|message| data(message["content"].as_str().unwrap())).collect()
}

async fn the_agent_lists_and_reads_on_the_persons_computer_and_answers(operator: Operator) {
    let Setting { operator: _operator, model, server, client } = setting(operator);
    let mut device = Device::connect(&server, &client, "laptop").await;
    model.answer(Reply::stream([
        thinking_line("First "),
        thinking_line("look."),
        text_line("I look "),
        text_line("around."),
        calls_line(&[("workspace_list_files", json!({"path": "."}))]),
        done_line("stop"),
    ]));
    model.answer(calls(&[("workspace_read_file", json!({"path": "README.md"}))]));
    model.answer(says("It says hello."));

    let turn = client.prepare(json!({"input": "What does README say?", "device_id": "laptop"})).await;
    let mut events = client.run(&turn).await;
    let list = device.request().await;
    assert_eq!((&list["tool_name"], &list["run_id"]), (&json!("workspace.list_files"), &turn["run_id"]));
    let call_id = list["tool_call_id"].as_str().unwrap().to_owned();
    assert!(call_id.starts_with(&format!("{}:", turn["thread_id"].as_str().unwrap())), "{call_id}");
    device.answer(&list, "succeeded", json!({"entries": [{"name": "README.md"}]})).await;
    let read = device.request().await;
    assert_eq!((&read["tool_name"], &read["requires_confirmation"]), (&json!("workspace.read_file"), &json!(true)));
    device.answer(&read, "succeeded", json!({"content": "hello"})).await;

    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        all.push(event);
    }
    assert_eq!(
        kinds(&all),
        [
            "RUN_STARTED",
            "REASONING_START",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_END",
            "REASONING_END",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ]
    );
    let results: Vec<Value> = all
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_RESULT")
        .map(|event| serde_json::from_str(event["content"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(
        results,
        [
            json!({"success": true, "data": {"entries": [{"name": "README.md"}]}}),
            json!({"success": true, "data": {"content": "hello"}}),
        ]
    );
    assert_eq!(all[11]["toolCallId"], json!(call_id), "the stream and the ledger name a call alike");
    assert_eq!((&all[0]["threadId"], &all[0]["runId"]), (&turn["thread_id"], &turn["run_id"]));
    assert_eq!(told(&model), results, "the model is told what the client is told");

    let (status, thread) = client.get(&format!("/api/threads/{}", turn["thread_id"].as_str().unwrap())).await;
    assert_eq!(status, 200);
    assert_eq!(
        (&thread["title"], &thread["turns"][0]["status"], &thread["turns"][0]["device_id"]),
        (&json!("What does README say?"), &json!("succeeded"), &json!("laptop"))
    );
    let roles: Vec<&Value> =
        thread["turns"][0]["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "tool", "assistant"]);
    assert_eq!(thread["tool_calls"][0], client.call(&call_id).await);
    // A run is begun once.
    assert_eq!(client.post("/api/agent", json!({"threadId": "x", "runId": turn["run_id"]})).await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_ag_ui_client_gets_a_turn_of_its_last_words() {
    let Setting { operator, model, server, client } = setting(Operator::new());
    let mut device = Device::connect(&server, &client, "laptop").await;
    model.answer(calls(&[("workspace_list_files", json!({"path": "."}))]));
    model.answer(says("Nothing."));
    model.answer(says("Still nothing."));
    let input = |run: &str, words: &str| {
        json!({
            "threadId": "thread-of-theirs", "runId": run, "state": {}, "tools": [], "context": [],
            "messages": [{"id": "m1", "role": "user", "content": words}], "forwardedProps": {"deviceId": "laptop"},
        })
    };
    let events = client.stream(input("run-1", "List")).await;
    let request = device.request().await;
    assert!(request["tool_call_id"].as_str().unwrap().starts_with("thread-of-theirs:"), "{request}");
    device.answer(&request, "succeeded", json!({"entries": []})).await;
    let events = events.rest().await;
    assert_eq!(
        (events[0]["threadId"].as_str(), events[0]["runId"].as_str()),
        (Some("thread-of-theirs"), Some("run-1"))
    );
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
    // It goes on with what the server remembers, not with what the client sends of it.
    client.stream(input("run-2", "Again")).await.rest().await;
    let chat = model.last_chat().unwrap();
    let words: Vec<&str> = chat["messages"].as_array().unwrap().iter().filter_map(|m| m["content"].as_str()).collect();
    assert!(words.contains(&"List") && words.contains(&"Nothing.") && words.contains(&"Again"), "{words:?}");
    let (status, problem) = client.post("/api/agent", input("run-2", "Once more")).await;
    assert_eq!((status, &problem["error"]["code"]), (409, &json!("CONFLICT")));
    // Another user does not get into it by its id.
    let stranger = server.client(&operator.token("bob"));
    assert_eq!(stranger.get("/api/threads/thread-of-theirs").await.0, 404);
    assert_eq!(stranger.get("/api/threads").await, (200, json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_the_device_reach_the_model_with_their_codes() {
    let Setting { operator: _operator, model, server, client } = setting(Operator::new());
    let mut device = Device::connect(&server, &client, "laptop").await;
    let codes = [
        "ABSOLUTE_PATH_DENIED",
        "PATH_OUT_OF_SCOPE",
        "SENSITIVE_PATH_DENIED",
        "PATH_NOT_FOUND",
        "CONFIRMATION_REJECTED",
        "FILE_TOO_LARGE",
    ];
    let wanted: Vec<(&str, Value)> =
        codes.iter().map(|code| ("workspace_read_file", json!({"path": format!("{code}.txt")}))).collect();
    model.answer(calls(&wanted));
    model.answer(says("None of it."));
    let turn = client.prepare(json!({"input": "Read", "device_id": "laptop"})).await;
    let events = client.run(&turn).await;
    for code in codes {
        // One at a time: the next comes when this one is answered.
        let request = device.request().await;
        assert_eq!(request["arguments"]["path"], format!("{code}.txt"));
        device.answer(&request, "rejected", json!({"code": code, "message": "no"})).await;
    }
    events.rest().await;
    let told: Vec<Value> = told(&model).into_iter().map(|result| result["code"].clone()).collect();
    assert_eq!(told, codes);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_device_the_chat_works_and_the_model_is_told_why_the_tools_do_not() {
    let Setting { operator: _operator, model, server: _server, client } = setting(Operator::new());
    for (device, code) in [(Value::Null, "DESKTOP_DEVICE_NOT_SELECTED"), (json!("laptop"), "DEVICE_OFFLINE")] {
        model.answer(calls(&[
            ("workspace_list_files", json!({"path": "."})),
            ("arithmetic", json!({"operation": "multiply", "a": 6, "b": 7})),
            ("workspace_list_files", json!({"path": ".", "depth": 3})),
            ("format_disk", json!({})),
        ]));
        model.answer(says("I cannot see your files."));
        let turn = client.prepare(json!({"input": "List", "device_id": device})).await;
        let events = client.run(&turn).await.rest().await;
        assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
        let told = told(&model);
        assert_eq!(told[0]["code"], code);
        assert_eq!(told[1], json!({"success": true, "data": {"result": 42.0}}));
        assert_eq!((&told[2]["success"], &told[3]["code"]), (&json!(false), &json!("TOOL_NOT_AVAILABLE")), "{told:?}");
        let (_, thread) = client.get(&format!("/api/threads/{}", turn["thread_id"].as_str().unwrap())).await;
        assert_eq!(thread["tool_calls"], json!([]), "nothing was dispatched, nothing is written");
    }
}

async fn closing_the_stream_stops_the_turn_and_takes_the_call_back(operator: Operator) {
    let Setting { operator: _operator, model, server, client } = setting(operator);
    let mut device = Device::connect(&server, &client, "laptop").await;
    model
        .answer(calls(&[("workspace_read_file", json!({"path": "a"})), ("workspace_read_file", json!({"path": "b"}))]));
    let turn = client.prepare(json!({"input": "Read", "device_id": "laptop"})).await;
    let mut events = client.run(&turn).await;
    events.until("TOOL_CALL_END").await;
    let request = device.request().await;
    let id = request["tool_call_id"].as_str().unwrap();
    drop(events);
    let cancel = device.until("tool.call.cancel").await;
    assert_eq!((&cancel["tool_call_id"], &cancel["reason"]), (&json!(id), &json!("RUN_CANCELLED")));
    let call = client.call_in(id, "unknown").await;
    assert_eq!(call["error"]["code"], "RUN_CANCELLED");
    device.answer(&request, "cancelled", json!({"code": "CANCELLED_BY_SERVER", "message": "taken back"})).await;
    device.acknowledged(&request).await;
    assert_eq!(client.call(id).await["status"], "cancelled");
    // The second call never went out, and the turn is over.
    device.send(json!({"type": "heartbeat"})).await;
    assert_eq!(device.next().await["type"], "heartbeat");
    let thread = format!("/api/threads/{}", turn["thread_id"].as_str().unwrap());
    client.get_in(&thread, |view| view["turns"][0]["status"] == "cancelled").await;
    // What comes after is in order for a model: each call has a result.
    model.answer(says("Well."));
    let next = client.prepare(json!({"thread_id": turn["thread_id"], "input": "And now?"})).await;
    client.run(&next).await.rest().await;
    assert_eq!(told(&model).len(), 2, "{:?}", model.last_chat());
}

async fn a_thread_that_is_deleted_has_its_run_stopped_and_its_call_taken_back(operator: Operator) {
    let Setting { operator: _operator, model, server, client } = setting(operator);
    let mut device = Device::connect(&server, &client, "laptop").await;
    model.answer(calls(&[("workspace_read_file", json!({"path": "a"}))]));
    let turn = client.prepare(json!({"input": "Read", "device_id": "laptop"})).await;
    let mut events = client.run(&turn).await;
    events.until("TOOL_CALL_END").await;
    let request = device.request().await;
    let thread = format!("/api/threads/{}", turn["thread_id"].as_str().unwrap());
    assert_eq!(client.delete(&thread).await.0, 204);
    let cancel = device.until("tool.call.cancel").await;
    assert_eq!(cancel["tool_call_id"], request["tool_call_id"]);
    events.rest().await;
    assert_eq!(client.get(&thread).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_stream_stops_the_model_too() {
    let Setting { operator: _operator, model, server: _server, client } = setting(Operator::new());
    model.answer(Reply::pieces([Piece::line(text_line("Once upon a time")), Piece::Hang]));
    let turn = client.prepare(json!({"input": "Tell"})).await;
    let mut events = client.run(&turn).await;
    events.until("TEXT_MESSAGE_CONTENT").await;
    drop(events);
    model.wait_for_hangup();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_has_at_most_sixteen_calls() {
    let Setting { operator: _operator, model, server: _server, client } = setting(Operator::new());
    let many: Vec<(&str, Value)> =
        (0..20).map(|n| ("arithmetic", json!({"operation": "add", "a": n, "b": 1}))).collect();
    model.answer(calls(&many));
    model.answer(says("Enough."));
    let turn = client.prepare(json!({"input": "Count"})).await;
    client.run(&turn).await.rest().await;
    let told = told(&model);
    assert_eq!(told.iter().filter(|result| result["success"] == true).count(), 16);
    assert!(told[16..].iter().all(|result| result["code"] == "RATE_LIMITED"), "{told:?}");
}

async fn ids_that_a_model_repeats_every_turn_are_told_apart(operator: Operator) {
    let Setting { operator: _operator, model, server, client } = setting(operator);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let mut ids = Vec::new();
    let mut thread = Value::Null;
    for _ in 0..2 {
        // Ollama's format has no ids: the adapter counts from the start each time.
        model.answer(calls(&[("workspace_list_files", json!({"path": "."}))]));
        model.answer(says("Done."));
        let turn = client.prepare(json!({"thread_id": thread, "input": "List", "device_id": "laptop"})).await;
        let events = client.run(&turn).await;
        let request = device.request().await;
        ids.push(request["tool_call_id"].clone());
        device.answer(&request, "succeeded", json!({"entries": []})).await;
        events.rest().await;
        thread = turn["thread_id"].clone();
    }
    assert_ne!(ids[0], ids[1]);
}

async fn an_edit_begins_a_branch_whose_calls_are_new(operator: Operator) {
    let Setting { operator: _operator, model, server, client } = setting(operator);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let mut run = async |turn: &Value| {
        model.answer(calls(&[("workspace_list_files", json!({"path": "."}))]));
        model.answer(says("Done."));
        let events = client.run(turn).await;
        let request = device.request().await;
        device.answer(&request, "succeeded", json!({"entries": []})).await;
        events.rest().await;
        request["tool_call_id"].clone()
    };
    let first = client.prepare(json!({"input": "List", "device_id": "laptop"})).await;
    let first_call = run(&first).await;
    let edited = client
        .prepare(json!({
            "thread_id": first["thread_id"], "before_turn_id": first["turn_id"], "input": "List it",
            "device_id": "laptop",
        }))
        .await;
    assert_ne!(edited["thread_id"], first["thread_id"]);
    assert_ne!(run(&edited).await, first_call);
    let (_, threads) = client.get("/api/threads").await;
    assert_eq!((&threads[0]["title"], &threads[0]["parent_thread_id"]), (&json!("List it"), &first["thread_id"]));
    let path = format!("/api/threads/{}", first["thread_id"].as_str().unwrap());
    assert_eq!(client.delete(&path).await.0, 204);
    assert_eq!(client.get(&path).await.0, 404);
    assert_eq!(client.get(&format!("/api/tool-calls/{}", first_call.as_str().unwrap())).await.0, 404);
}

async fn a_model_that_fails_ends_the_run_with_words(operator: Operator) {
    let Setting { operator: _operator, model, server: _server, client } = setting(operator);
    model.answer_with(|_, _| Reply::error(400, "the model has no\0 memory left"));
    let turn = client.prepare(json!({"input": "Hello"})).await;
    let events = client.run(&turn).await.rest().await;
    let last = events.last().unwrap();
    assert_eq!(last["type"], "RUN_ERROR");
    assert!(!last["message"].as_str().unwrap().is_empty() && !last["code"].as_str().unwrap().is_empty(), "{last}");
    let (_, thread) = client.get(&format!("/api/threads/{}", turn["thread_id"].as_str().unwrap())).await;
    // A letter that not every database can keep does not keep the run under way.
    let kept = last["message"].as_str().unwrap().replace('\0', "");
    assert_eq!((&thread["turns"][0]["status"], &thread["turns"][0]["error"]), (&json!("failed"), &json!(kept)));
}

#[tokio::test]
async fn requests_that_make_no_sense_are_told_what_is_wrong() {
    let Setting { operator: _operator, model: _model, server: _server, client } = setting(Operator::new());
    for (path, body, status) in [
        ("/api/turns", json!({}), 422),
        ("/api/turns", json!({"input": "  "}), 400),
        ("/api/turns", json!({"input": "x", "thread_id": "of nobody"}), 404),
        ("/api/turns", json!({"input": "x", "before_turn_id": "of nobody"}), 404),
        ("/api/agent", json!({"threadId": "t"}), 422),
        ("/api/agent", json!({"threadId": "t", "runId": "r", "messages": []}), 400),
        ("/api/desktop/connection-ticket", json!({"device_id": ""}), 400),
        ("/api/desktop/connection-ticket", json!({"device_id": "x".repeat(200)}), 400),
    ] {
        let (found, answer) = client.post(path, body.clone()).await;
        assert_eq!(found, status, "{path} {body}: {answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|words| words.len() > 10), "{answer}");
    }
}

/// The person presses Stop, or closes the window, in the very moment in which the answer is begun.
async fn a_client_that_leaves_while_its_run_begins_leaves_nothing_under_way(operator: Operator) {
    let Setting { operator: _operator, model, server, client } = setting(operator);
    model.answer_with(|_, _| Reply::pieces([Piece::Hang]));
    let mut threads = Vec::new();
    for attempt in 0..24_u64 {
        let turn = client.prepare(json!({"input": "Hello"})).await;
        let body = json!({"threadId": turn["thread_id"], "runId": turn["run_id"]}).to_string();
        let request = client.raw("POST", "/api/agent", &body);
        let mut stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        // A little later each time: before, while and after the ledger writes it down.
        tokio::time::sleep(Duration::from_micros(500 * attempt)).await;
        drop(stream);
        threads.push(format!("/api/threads/{}", turn["thread_id"].as_str().unwrap()));
    }
    for thread in threads {
        let deleted = async {
            while client.delete(&thread).await.0 != 204 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, deleted).await.expect("nothing of it is under way");
    }
}

async fn two_answers_in_one_conversation_do_not_run_into_each_other(operator: Operator) {
    let Setting { operator: _operator, model, server: _server, client } = setting(operator);
    let gate = Gate::new();
    model.answer(Reply::pieces([
        Piece::line(text_line("First")),
        Piece::Gate(gate.clone()),
        Piece::line(done_line("stop")),
    ]));
    model.answer(says("Second"));
    let first = client.prepare(json!({"input": "One"})).await;
    let mut events = client.run(&first).await;
    events.until("TEXT_MESSAGE_CONTENT").await;
    let second = client.prepare(json!({"input": "Two", "thread_id": first["thread_id"]})).await;
    client.prepare(json!({"input": "Three", "thread_id": first["thread_id"]})).await;
    let input = json!({"threadId": second["thread_id"], "runId": second["run_id"]});
    let (status, problem) = client.post("/api/agent", input).await;
    assert_eq!((status, &problem["error"]["code"]), (409, &json!("CONFLICT")), "{problem}");
    gate.open();
    events.rest().await;
    assert_eq!(client.run(&second).await.rest().await.last().unwrap()["type"], "RUN_FINISHED");
    // Its words were prepared before the first answer was there, and are said after it. The third's are not said yet.
    let asked = model.last_chat().unwrap();
    let said: Vec<_> = asked["messages"].as_array().unwrap().iter().skip(1).map(|one| &one["content"]).collect();
    assert_eq!(said, ["One", "First", "Two"]);
    // Nor does a branch take them over.
    model.answer(says("Second again"));
    let body = json!({"input": "Two!", "thread_id": first["thread_id"], "before_turn_id": second["turn_id"]});
    let branch = client.prepare(body).await;
    client.run(&branch).await.rest().await;
    let asked = model.last_chat().unwrap();
    let said: Vec<_> = asked["messages"].as_array().unwrap().iter().skip(1).map(|one| &one["content"]).collect();
    assert_eq!(said, ["One", "First", "Two!"]);
}

async fn a_revoked_token_ends_its_users_answers(operator: Operator) {
    let Setting { operator, model, server, client } = setting(operator);
    let other = server.client(&operator.token("bob"));
    let mut streams = Vec::new();
    for client in [&client, &other] {
        model.answer(Reply::pieces([Piece::line(text_line("Once upon a time")), Piece::Hang]));
        let turn = client.prepare(json!({"input": "Tell"})).await;
        let mut events = client.run(&turn).await;
        events.until("TEXT_MESSAGE_CONTENT").await;
        streams.push((turn, events));
    }
    let (bobs, bobs_events) = streams.pop().unwrap();
    let (anns, events) = streams.pop().unwrap();
    operator.revoke("ann");
    let last = events.rest().await.pop().unwrap();
    assert_eq!((&last["type"], &last["outcome"]["type"]), (&json!("RUN_FINISHED"), &json!("cancelled")), "{last}");
    // Another user's goes on. A new token of the same name finds how it ended.
    let bobs = format!("/api/threads/{}", bobs["thread_id"].as_str().unwrap());
    assert_eq!(other.get(&bobs).await.1["turns"][0]["status"], "running");
    drop(bobs_events);
    let again = server.client(&operator.token("ann"));
    let anns = format!("/api/threads/{}", anns["thread_id"].as_str().unwrap());
    assert_eq!(again.get(&anns).await.1["turns"][0]["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_nothing_up_when_the_server_goes_down() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let model = OllamaServer::start();
    let options = ["--provider", "ollama", "--base-url", &model.url(), "--model", "qwen3:8b"];
    let server = operator.serve(&options);
    let client = server.client(&token);
    // Much more than fits into all that lies between.
    let words = text_line(&"word ".repeat(2_000));
    model.answer(Reply::pieces((0..4_000).map(|_| Piece::line(words.clone())).chain([Piece::Hang])));
    let turn = client.prepare(json!({"input": "Tell"})).await;
    let mut events = client.run(&turn).await;
    events.until("TEXT_MESSAGE_CONTENT").await;
    let ended = tokio::task::spawn_blocking(move || server.terminate());
    assert!(ended.await.unwrap().success());
    drop(events);
    let server = operator.serve(&[]);
    let thread = format!("/api/threads/{}", turn["thread_id"].as_str().unwrap());
    let view = server.client(&token).get(&thread).await.1;
    assert_eq!(view["turns"][0]["status"], "cancelled", "not interrupted: it was told to stop, and did");
}

#[tokio::test]
async fn a_server_without_a_model_says_so() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&[]);
    let client = server.client(&token);
    let turn = client.prepare(json!({"input": "Hello"})).await;
    let input = json!({"threadId": turn["thread_id"], "runId": turn["run_id"]});
    let (status, answer) = client.post("/api/agent", input).await;
    assert_eq!((status, &answer["error"]["code"]), (503, &json!("NO_MODEL")), "{answer}");
    // Nothing was begun: with a model it is answered.
    let thread = client.get(&format!("/api/threads/{}", turn["thread_id"].as_str().unwrap())).await.1;
    assert_eq!(thread["turns"][0]["status"], "prepared");
}

on_both! {
    the_agent_lists_and_reads_on_the_persons_computer_and_answers,
    closing_the_stream_stops_the_turn_and_takes_the_call_back,
    a_thread_that_is_deleted_has_its_run_stopped_and_its_call_taken_back,
    ids_that_a_model_repeats_every_turn_are_told_apart,
    an_edit_begins_a_branch_whose_calls_are_new,
    a_model_that_fails_ends_the_run_with_words,
    a_client_that_leaves_while_its_run_begins_leaves_nothing_under_way,
    two_answers_in_one_conversation_do_not_run_into_each_other,
    a_revoked_token_ends_its_users_answers,
}

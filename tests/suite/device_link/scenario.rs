//! The scenarios of the device-link specification with both real programs: `nod link` on a terminal, `nod-server`, sockets
//! and `kill -9` between them. Their numbers are the specification's.

use serde_json::{Value, json};

use super::client::{Client, Events};
use super::desktop::{Computer, Desktop};
use super::operator::{Operator, Server};
use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line};

/// A server with a scripted model, a user, and the user's computer.
struct Setting {
    operator: Operator,
    model: OllamaServer,
    token: String,
    computer: Computer,
}

impl Setting {
    fn new(operator: Operator) -> Self {
        let token = operator.token("ann");
        Self { operator, model: OllamaServer::start(), token, computer: Computer::new() }
    }

    fn serve_at(&self, address: &str) -> Server {
        let options = ["--dev", "--provider", "ollama", "--base-url", &self.model.url(), "--model", "qwen3:8b"];
        self.operator.serve_at(address, &options)
    }

    fn serve(&self) -> (Server, Client) {
        let server = self.serve_at("127.0.0.1:0");
        let client = server.client(&self.token);
        (server, client)
    }

    /// The model wants these calls, then says something.
    fn scripted(&self, calls: &[(&str, Value)]) {
        self.model.answer(Reply::stream([calls_line(calls), done_line("stop")]));
        self.model.answer(Reply::stream([text_line("That is it."), done_line("stop")]));
    }

    /// A run at `client` asks for README.md, the desktop's server is killed, and the person says yes: the call runs all the
    /// same. Gives the turn, its events and the call's id.
    async fn allows_without_its_server(
        &self,
        client: &Client,
        server: Server,
        desktop: &mut Desktop,
    ) -> (Value, Events, String) {
        self.scripted(&[("workspace_read_file", json!({"path": "README.md"}))]);
        let turn = client.prepare(json!({"input": "Read README.md", "device_id": desktop.device_id})).await;
        let mut events = client.run(&turn).await;
        let id = events.until("TOOL_CALL_START").await["toolCallId"].as_str().unwrap().to_owned();
        desktop.question("README.md");
        server.kill();
        desktop.types("y");
        desktop.call(&id, "succeeded");
        (turn, events, id)
    }

    /// What the model was told of its calls.
    fn told(&self) -> Vec<Value> {
        let chat = self.model.last_chat().unwrap();
        let tools = chat["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
        let data =
            |text: &str| serde_json::from_str(&text[text.find('{').unwrap()..=text.rfind('}').unwrap()]).unwrap();
        tools.map(|message| data(message["content"].as_str().unwrap())).collect()
    }
}

fn wanted(desktop: &Desktop, tool: &str, path: &str, id: &str) -> Value {
    json!({"device_id": desktop.device_id, "tool_name": tool, "arguments": {"path": path}, "tool_call_id": id})
}

fn read(desktop: &Desktop, path: &str, id: &str) -> Value {
    wanted(desktop, "workspace.read_file", path, id)
}

fn dispatches(call: &Value) -> usize {
    call["executions"].as_array().unwrap().len()
}

/// 0 and 1: starts and registers; lists files without a question, and secrets are not there.
async fn it_connects_and_lists_files_without_a_question(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let mut desktop = setting.computer.connect(&server, &setting.token);
    let figures = client.get("/metrics").await.1;
    assert!(figures.as_str().unwrap().contains("nod_devices_connected 1\n"), "{figures}");
    let answer = client.dev_call(wanted(&desktop, "workspace.list_files", ".", "t:list")).await.unwrap();
    assert_eq!((&answer["status"], dispatches(&answer)), (&json!("succeeded"), 1), "{answer}");
    let listed = answer["output"].to_string();
    assert!(listed.contains("README.md") && listed.contains("src"), "{listed}");
    assert!(!listed.contains(".env") && !listed.contains(".git"), "{listed}");
    assert!(!desktop.was_asked());
    // The same device after a restart.
    let before = desktop.device_id.clone();
    desktop.kill();
    assert_eq!(setting.computer.connect(&server, &setting.token).device_id, before);
}

/// 2: reads a file after a yes to a question that says what, for whom.
async fn a_file_is_read_after_a_yes(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let mut desktop = setting.computer.connect(&server, &setting.token);
    setting.scripted(&[("workspace_read_file", json!({"path": "README.md"}))]);
    let turn = client.prepare(json!({"input": "Read README.md", "device_id": desktop.device_id})).await;
    let events = client.run(&turn).await;
    let question = desktop.question("README.md");
    assert!(question.contains(&server.address.to_string()), "it says who asks: {question}");
    desktop.types("y");
    assert_eq!(events.rest().await.last().unwrap()["type"], "RUN_FINISHED");
    let told = setting.told();
    assert_eq!(told[0]["success"], true, "{told:?}");
    assert!(told[0].to_string().contains("the harvest is in"), "{told:?}");
    // And not after a no.
    let call = client.dev_call(read(&desktop, "README.md", "t:no"));
    desktop.question("README.md");
    desktop.types("n");
    let answer = call.await.unwrap();
    assert_eq!(
        (&answer["status"], &answer["error"]["code"]),
        (&json!("rejected"), &json!("CONFIRMATION_REJECTED")),
        "{answer}"
    );
}

/// 3: each refusal before the question has its code, nobody is asked, and the model hears it.
async fn refusals_before_the_question_reach_the_model(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let mut desktop = setting.computer.connect(&server, &setting.token);
    let refusals = [
        ("/etc/passwd", "ABSOLUTE_PATH_DENIED"),
        ("../outside/secret.txt", "PATH_OUT_OF_SCOPE"),
        ("../outside/none.txt", "PATH_OUT_OF_SCOPE"),
        ("way-out", "PATH_OUT_OF_SCOPE"),
        (".env", "SENSITIVE_PATH_DENIED"),
        (".env.none", "SENSITIVE_PATH_DENIED"),
        (".git/config", "SENSITIVE_PATH_DENIED"),
        (".git/none", "SENSITIVE_PATH_DENIED"),
        ("src/.env", "SENSITIVE_PATH_DENIED"),
        ("none.txt", "PATH_NOT_FOUND"),
    ];
    let calls: Vec<_> = refusals.iter().map(|(path, _)| ("workspace_read_file", json!({"path": path}))).collect();
    setting.scripted(&calls);
    let turn = client.prepare(json!({"input": "Read all", "device_id": desktop.device_id})).await;
    assert_eq!(client.run(&turn).await.rest().await.last().unwrap()["type"], "RUN_FINISHED");
    let told = setting.told();
    let codes: Vec<&str> = told.iter().map(|result| result["code"].as_str().unwrap_or_default()).collect();
    assert_eq!(codes, refusals.map(|(_, code)| code));
    // What is there and what is not are refused with the same bytes.
    for pair in [1..3, 4..6, 6..8] {
        let pair = &told[pair];
        assert_eq!(pair[0].to_string(), pair[1].to_string());
    }
    assert!(!desktop.was_asked());
    let unfit = json!({
        "device_id": desktop.device_id, "tool_name": "workspace.list_files", "arguments": {"path": ".", "depth": 2},
        "tool_call_id": "t:unfit",
    });
    assert_eq!(client.dev_call(unfit).await.unwrap()["error"]["code"], "INVALID_ARGUMENTS");
}

/// 4: Stop while the question is open closes it.
async fn a_stop_closes_the_question(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let mut desktop = setting.computer.connect(&server, &setting.token);
    setting.scripted(&[("workspace_read_file", json!({"path": "README.md"}))]);
    let turn = client.prepare(json!({"input": "Read README.md", "device_id": desktop.device_id})).await;
    let mut events = client.run(&turn).await;
    let id = events.until("TOOL_CALL_START").await["toolCallId"].as_str().unwrap().to_owned();
    desktop.question("README.md");
    drop(events);
    desktop.call(&id, "cancelled");
    let call = client.call_in(&id, "cancelled").await;
    assert_eq!((dispatches(&call), &call["error"]["code"]), (1, &json!("CANCELLED_BY_SERVER")), "{call}");
    // A late yes does nothing.
    desktop.types("y");
    let answer = client.dev_call(wanted(&desktop, "workspace.list_files", ".", "t:after")).await.unwrap();
    assert_eq!(answer["status"], "succeeded");
    assert_eq!(client.call(&id).await, call);
}

/// 5: the server is killed while the question is open; the person says yes; the result comes after the restart.
async fn the_server_is_killed_while_the_question_is_open(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let address = server.address.to_string();
    let mut desktop = setting.computer.connect(&server, &setting.token);
    let _cut_off = client.dev_call_cut_off(read(&desktop, "README.md", "t:kept"));
    desktop.question("README.md");
    server.kill();
    // The person hears of it while the question is still open.
    desktop.state("waiting");
    desktop.types("y");
    desktop.call("t:kept", "succeeded");
    setting.computer.keeps("the harvest is in");
    let server = setting.serve_at(&address);
    let client = server.client(&setting.token);
    // From its first moment on: nothing waits for another process to be taken for dead.
    assert!(server.log().contains("they are unknown until reported calls=1"), "{}", server.log());
    desktop.state("connected");
    let call = client.call_in("t:kept", "succeeded").await;
    assert!(call["output"].to_string().contains("the harvest is in"), "{call}");
    assert_eq!(dispatches(&call), 1, "{call}");
    // Dropped with the acknowledgement, which comes right after what was just read.
    setting.computer.forgets("the harvest is in");
}

/// A conversation is deleted while the result of its call is still on the computer: that is taken in and dropped, once. What
/// a server does not know is kept for it: an older copy of its database may have taken its place.
async fn a_result_of_a_deleted_conversation_is_not_kept_for_ever(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let address = server.address.to_string();
    let mut desktop = setting.computer.connect(&server, &setting.token);
    let (turn, _, _) = setting.allows_without_its_server(&client, server, &mut desktop).await;
    setting.computer.keeps("the harvest is in");
    desktop.kill();
    // A server that never heard of it.
    let other = Operator::new();
    let token = other.token("ann");
    let server = other.serve_at(&address, &["--dev"]);
    let desktop = setting.computer.connect(&server, &token);
    let answered =
        server.client(&token).dev_call(wanted(&desktop, "workspace.list_files", ".", "t:later")).await.unwrap();
    assert_eq!(answered["status"], "succeeded", "after all that was owed");
    setting.computer.keeps("the harvest is in");
    desktop.kill();
    server.kill();
    let server = setting.serve_at(&address);
    let client = server.client(&setting.token);
    assert_eq!(client.delete(&format!("/api/threads/{}", turn["thread_id"].as_str().unwrap())).await.0, 204);
    let _desktop = setting.computer.connect(&server, &setting.token);
    setting.computer.forgets("the harvest is in");
    assert!(server.log().contains("a result of a deleted conversation was dropped"), "{}", server.log());
}

/// 6: the desktop is killed while it runs a call: unknown, and never again by itself.
async fn the_desktop_is_killed_while_a_call_runs(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let mut desktop = setting.computer.connect(&server, &setting.token);
    let call = client.dev_call(read(&desktop, "README.md", "t:cut"));
    desktop.question("README.md");
    let id = desktop.device_id.clone();
    desktop.kill();
    assert_eq!(call.await.unwrap()["error"]["code"], "RESULT_UNKNOWN");
    let mut desktop = setting.computer.connect(&server, &setting.token);
    assert_eq!(desktop.device_id, id);
    // Sent again under its own id, it is answered with what is known, and nobody is asked.
    let answer = client.dev_call(read(&desktop, "README.md", "t:cut")).await.unwrap();
    assert_eq!(
        (&answer["status"], &answer["error"]["code"]),
        (&json!("unknown"), &json!("DESKTOP_RESTARTED")),
        "{answer}"
    );
    assert!(!desktop.was_asked());
}

/// 7: the same call twice is asked once and runs once.
async fn the_same_call_twice_is_asked_once(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let mut desktop = setting.computer.connect(&server, &setting.token);
    let first = client.dev_call(read(&desktop, "README.md", "t:twice"));
    desktop.question("README.md");
    let second = client.dev_call(read(&desktop, "README.md", "t:twice"));
    // The second is out when the ledger has both dispatches.
    while dispatches(&client.call("t:twice").await) < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    desktop.types("y");
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!((&first["status"], &second["status"]), (&json!("succeeded"), &json!("succeeded")));
    assert_eq!(first["output"], second["output"]);
    // Once it has ended, it is answered from the ledger.
    let third = client.dev_call(read(&desktop, "README.md", "t:twice")).await.unwrap();
    assert_eq!((&third["output"], dispatches(&third)), (&first["output"], 2), "{third}");
    let mut other = read(&desktop, "src/main.rs", "t:twice");
    other["arguments"]["path"] = "src/main.rs".into();
    assert_eq!(client.dev_call(other).await.unwrap()["error"]["code"], "IDEMPOTENCY_CONFLICT");
    assert!(!desktop.was_asked());
}

/// 8: a second computer with the same identity takes the place; the first does not come back.
async fn a_copied_identity_replaces_the_first(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let desktop = setting.computer.connect(&server, &setting.token);
    let id = desktop.device_id.clone();
    desktop.kill();
    let copy = setting.computer.copied();
    let mut first = setting.computer.connect(&server, &setting.token);
    let mut second = copy.connect(&server, &setting.token);
    assert_eq!((&first.device_id, &second.device_id), (&id, &id));
    first.state("replaced");
    let call = client.dev_call(read(&second, "README.md", "t:second"));
    second.question("README.md");
    second.types("y");
    assert_eq!(call.await.unwrap()["status"], "succeeded");
    assert!(!first.was_asked());
}

/// 9 and 10: no device, or none chosen: the chat works, nothing is dispatched.
async fn without_a_device_nothing_is_dispatched(operator: Operator) {
    let setting = Setting::new(operator);
    let (server, client) = setting.serve();
    let desktop = setting.computer.connect(&server, &setting.token);
    let id = desktop.device_id.clone();
    desktop.kill();
    while !client.get("/metrics").await.1.as_str().unwrap().contains("nod_devices_connected 0\n") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for (device, code) in [(json!(id), "DEVICE_OFFLINE"), (Value::Null, "DESKTOP_DEVICE_NOT_SELECTED")] {
        setting.scripted(&[("workspace_list_files", json!({"path": "."}))]);
        let turn = client.prepare(json!({"input": "List", "device_id": device})).await;
        assert_eq!(client.run(&turn).await.rest().await.last().unwrap()["type"], "RUN_FINISHED");
        assert_eq!(setting.told().last().unwrap()["code"], code);
        let (_, thread) = client.get(&format!("/api/threads/{}", turn["thread_id"].as_str().unwrap())).await;
        assert_eq!(thread["tool_calls"], json!([]));
    }
}

on_both! {
    it_connects_and_lists_files_without_a_question,
    a_file_is_read_after_a_yes,
    refusals_before_the_question_reach_the_model,
    a_stop_closes_the_question,
    the_server_is_killed_while_the_question_is_open,
    a_result_of_a_deleted_conversation_is_not_kept_for_ever,
    the_desktop_is_killed_while_a_call_runs,
    the_same_call_twice_is_asked_once,
    a_copied_identity_replaces_the_first,
    without_a_device_nothing_is_dispatched,
}

/// The desktop on one replica, the turn on another; the desktop's is killed in the middle and comes back.
#[tokio::test(flavor = "multi_thread")]
async fn the_desktops_replica_is_killed_while_a_turn_on_another_waits() {
    let Some(operator) = Operator::shared() else { return };
    let setting = Setting::new(operator);
    let (first, _) = setting.serve();
    let (_second, client) = setting.serve();
    let address = first.address.to_string();
    let mut desktop = setting.computer.connect(&first, &setting.token);
    let (_, events, id) = setting.allows_without_its_server(&client, first, &mut desktop).await;
    // The turn goes on with what is known: nobody knows.
    assert_eq!(events.rest().await.last().unwrap()["type"], "RUN_FINISHED");
    assert_eq!(setting.told()[0]["code"], "RESULT_UNKNOWN");
    assert_eq!(client.call(&id).await["status"], "unknown");
    let _first = setting.serve_at(&address);
    let call = client.call_in(&id, "succeeded").await;
    assert_eq!(dispatches(&call), 1, "{call}");
    assert!(setting.computer.path().join("work/README.md").exists());
}

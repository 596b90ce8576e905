//! The scenarios of the specification with both programs: `nod-server` as a process, and a desktop with its engine, its record
//! on disk and a person who answers. Each on a file, and again on PostgreSQL and NATS where those are installed.
#![expect(clippy::disallowed_methods, reason = "a desktop that is killed is a process of its own")]

use std::path::Path;
use std::process::{Command as Process, Stdio};

use nod::engine::system_clock;
use nod::ir::{LinkRecord, LinkState};
use nod::port::{Answer, Command};
use nod::store::Store;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::client::Client;
use super::operator::{Operator, Server};
use crate::link::kill::{PLACE, SERVER, STEP, USER};
use crate::link::{Desktop, laid_out, state_of};
use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line};

const LIST: &str = "workspace.list_files";
const READ: &str = "workspace.read_file";

/// Both programs, connected.
struct Setting {
    desktop: Desktop,
    device: String,
    server: Server,
    client: Client,
    token: String,
    runtime: Runtime,
    operator: Operator,
}

fn setting(operator: Operator, options: &[&str]) -> Setting {
    let token = operator.token("ann");
    let server = operator.serve(&[&["--dev"], options].concat());
    let client = server.client(&token);
    let mut desktop = Desktop::new();
    let device = desktop.device();
    desktop.connect(&server.url, &token);
    desktop.state_is(&LinkState::Connected);
    Setting { desktop, device, server, client, token, runtime: Runtime::new().unwrap(), operator }
}

/// Every operator that this computer has the programs for.
fn on_each(scenario: impl Fn(Operator)) {
    scenario(Operator::new());
    if let Some(operator) = Operator::shared() {
        scenario(operator);
    }
}

impl Setting {
    fn body(&self, id: &str, tool: &str, arguments: &Value) -> Value {
        json!({"device_id": self.device, "tool_name": tool, "arguments": arguments, "tool_call_id": id})
    }

    /// A call that is on its way.
    fn begin(&self, id: &str, tool: &str, arguments: &Value) -> tokio::task::JoinHandle<Value> {
        let body = self.body(id, tool, arguments);
        let _entered = self.runtime.enter();
        self.client.dev_call(body)
    }

    /// A call that ends by itself.
    fn call(&self, id: &str, tool: &str, arguments: &Value) -> Value {
        let call = self.begin(id, tool, arguments);
        self.runtime.block_on(call).unwrap()
    }

    fn in_ledger(&self, id: &str, status: &str) -> Value {
        self.runtime.block_on(self.client.call_in(id, status))
    }
}

/// What a desktop's record says of a call, read beside its writer.
fn record(place: &Path, url: &str, id: &str) -> Option<LinkRecord> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = Store::open_read_only(&place.join("data"), system_clock()).ok()?;
    runtime.block_on(store.link_record(&format!("{url}/"), id)).ok().flatten()
}

/// Waits until a desktop's record says so.
fn recorded(place: &Path, url: &str, id: &str, fits: impl Fn(&LinkRecord) -> bool) -> LinkRecord {
    let until = std::time::Instant::now() + super::client::PATIENCE;
    loop {
        if let Some(record) = record(place, url, id).filter(&fits) {
            return record;
        }
        assert!(std::time::Instant::now() < until, "{id} is not recorded: {:?}", record(place, url, id));
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
}

/// Another place with the same data folder.
fn copy_of(place: &Path) -> tempfile::TempDir {
    let copy = laid_out();
    std::fs::create_dir(copy.path().join("data")).unwrap();
    for entry in std::fs::read_dir(place.join("data")).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), copy.path().join("data").join(entry.file_name())).unwrap();
    }
    copy
}

fn code(call: &Value) -> &str {
    call["error"]["code"].as_str().unwrap_or_default()
}

#[test]
fn scenarios_0_to_3_and_7_lists_reads_refusals_and_a_call_that_comes_twice() {
    on_each(|operator| {
        let mut setting = setting(operator, &[]);
        let listed = setting.call("t:1", LIST, &json!({"path": "."}));
        assert_eq!(listed["status"], "succeeded", "{listed}");
        assert!(!listed.to_string().contains(".env") && listed.to_string().contains("README.md"));
        assert!(!setting.desktop.was_asked());

        let read = setting.begin("t:2", READ, &json!({"path": "README.md"}));
        let question = setting.desktop.question();
        setting.desktop.answer(&question, Answer::AllowOnce);
        let read = setting.runtime.block_on(read).unwrap();
        assert_eq!(read["output"]["content"], "hello\n", "{read}");
        let again = setting.call("t:2", READ, &json!({"path": "README.md"}));
        assert_eq!(again["executions"].as_array().unwrap().len(), 1, "answered from the ledger");
        // The output is dropped once the server has it.
        recorded(setting.desktop.place.path(), &setting.server.url, "t:2", |record| {
            record.end.as_ref().is_some_and(|end| end.output.is_none())
        });

        for (number, (tool, arguments, expected)) in [
            (READ, json!({"path": "/etc/passwd"}), "ABSOLUTE_PATH_DENIED"),
            (READ, json!({"path": "../out/yes"}), "PATH_OUT_OF_SCOPE"),
            (READ, json!({"path": ".env"}), "SENSITIVE_PATH_DENIED"),
            (READ, json!({"path": "sub/.env"}), "SENSITIVE_PATH_DENIED"),
            (READ, json!({"path": ".git/config"}), "SENSITIVE_PATH_DENIED"),
            (READ, json!({"path": "none"}), "PATH_NOT_FOUND"),
            (READ, json!({"path": "README.md", "more": 1}), "INVALID_ARGUMENTS"),
        ]
        .into_iter()
        .enumerate()
        {
            let refused = setting.call(&format!("t:r{number}"), tool, &arguments);
            assert_eq!((&refused["status"], code(&refused)), (&json!("rejected"), expected), "{arguments}");
        }
        let denied = setting.begin("t:3", READ, &json!({"path": "README.md"}));
        let question = setting.desktop.question();
        setting.desktop.answer(&question, Answer::Deny { reason: String::new() });
        assert_eq!(code(&setting.runtime.block_on(denied).unwrap()), "CONFIRMATION_REJECTED");
    });
}

#[test]
fn scenarios_3_and_4_with_a_model_codes_reach_it_and_stop_closes_the_question() {
    let operator = Operator::new();
    let model = OllamaServer::start();
    let url = model.url();
    let mut setting = setting(operator, &["--provider", "ollama", "--base-url", &url, "--model", "qwen3:8b"]);
    for path in [".env", "README.md"] {
        model.answer(Reply::stream([calls_line(&[("workspace_read_file", json!({"path": path}))]), done_line("stop")]));
    }
    model.answer(Reply::stream([text_line("never"), done_line("stop")]));
    let body = json!({"input": "Read them", "device_id": setting.device});
    let turn = setting.runtime.block_on(setting.client.prepare(body));
    let mut events = setting.runtime.block_on(setting.client.run(&turn));
    let result = setting.runtime.block_on(events.until("TOOL_CALL_RESULT"));
    assert!(result.to_string().contains("SENSITIVE_PATH_DENIED"), "{result}");
    let question = setting.desktop.question();
    assert_eq!(question.call.args, json!({"path": "README.md"}));
    let started = setting.runtime.block_on(events.until("TOOL_CALL_START"));
    let id = format!("{}:{}", turn["thread_id"].as_str().unwrap(), started["toolCallId"].as_str().unwrap());
    // The person stops: the stream is closed.
    setting.runtime.block_on(async { drop(events) });
    setting.desktop.closed(&question);
    let id = if id.matches(':').count() > 1 { started["toolCallId"].as_str().unwrap().to_owned() } else { id };
    let call = setting.in_ledger(&id, "cancelled");
    assert_eq!(code(&call), "CANCELLED_BY_SERVER", "{call}");
}

#[test]
fn scenario_5_the_server_is_killed_while_the_question_is_open_and_the_result_comes_after_its_return() {
    on_each(|operator| {
        let mut setting = setting(operator, &[]);
        let body = setting.body("t:1", READ, &json!({"path": "README.md"}));
        let _cut_off = {
            let _entered = setting.runtime.enter();
            setting.client.dev_call_cut_off(body)
        };
        let question = setting.desktop.question();
        let (address, url) = (setting.server.address.to_string(), setting.server.url.clone());
        setting.server.kill();
        setting.desktop.next(|event| matches!(state_of(event)?, LinkState::Waiting { .. }).then_some(()));
        setting.desktop.answer(&question, Answer::AllowOnce);
        setting.desktop.closed(&question);
        recorded(setting.desktop.place.path(), &url, "t:1", |record| record.end.is_some());
        let server = setting.operator.serve_at(&address, &["--dev"]);
        let client = server.client(&setting.token);
        setting.desktop.send(Command::RetryLink { url: format!("{url}/") });
        let call = setting.runtime.block_on(client.call_in("t:1", "succeeded"));
        assert_eq!(call["output"]["content"], "hello\n");
        assert_eq!(call["executions"].as_array().unwrap().len(), 1, "{call}");
        let kept = recorded(setting.desktop.place.path(), &url, "t:1", |record| {
            record.end.as_ref().is_some_and(|end| end.output.is_none())
        });
        assert_eq!(kept.tool_call_id, "t:1");
    });
}

#[test]
fn scenario_6_the_desktop_is_killed_while_a_call_is_under_way_and_does_not_run_it_again() {
    on_each(|operator| {
        let token = operator.token("ann");
        let server = operator.serve(&["--dev"]);
        let client = server.client(&token);
        let runtime = Runtime::new().unwrap();
        let mut desktop = Desktop::new();
        let device = desktop.device();
        let place = desktop.end();
        let mut child = Process::new(std::env::current_exe().unwrap())
            .args(["--exact", "link::kill::in_the_process_that_is_killed", "--nocapture"])
            .env(PLACE, place.path())
            .env(STEP, "0")
            .env(SERVER, &server.url)
            .env(USER, &token)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let body = json!({
            "device_id": device, "tool_name": READ, "arguments": {"path": "README.md"}, "tool_call_id": "t:1",
        });
        // The device may not be there yet: nothing is written then.
        let asked = runtime.block_on(async {
            loop {
                let call = client.dev_call(body.clone());
                let listed = client.call_in("t:1", "dispatched");
                tokio::select! {
                    answer = call => {
                        let answer = answer.unwrap();
                        if code(&answer) != "DEVICE_OFFLINE" && code(&answer) != "TOOL_NOT_AVAILABLE" {
                            break answer;
                        }
                        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    }
                    dispatched = listed => break dispatched,
                }
            }
        });
        assert_eq!(asked["status"], "dispatched", "{asked}");
        recorded(place.path(), &server.url, "t:1", |record| record.end.is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        runtime.block_on(client.call_in("t:1", "unknown"));
        let mut desktop = Desktop::over(place);
        desktop.connect(&server.url, &token);
        desktop.state_is(&LinkState::Connected);
        let kept = recorded(desktop.place.path(), &server.url, "t:1", |record| record.end.is_some());
        assert_eq!(kept.end.unwrap().error.unwrap().0, "DESKTOP_RESTARTED");
        let call = runtime.block_on(client.call("t:1"));
        assert_eq!(call["status"], "unknown", "{call}");
        // Dispatched once more under the same name, it is answered from the record.
        let answer = runtime.block_on(async { client.dev_call(body).await.unwrap() });
        assert_eq!(answer["status"], "unknown", "{answer}");
        assert!(!desktop.was_asked(), "it is not run again");
    });
}

#[test]
fn scenarios_8_to_10_two_installations_of_one_name_and_none() {
    on_each(|operator| {
        let token = operator.token("ann");
        let server = operator.serve(&["--dev"]);
        let runtime = Runtime::new().unwrap();
        let client = server.client(&token);
        let mut first = Desktop::new();
        let device = first.device();
        let body = json!({"device_id": device, "tool_name": LIST, "arguments": {"path": "."}, "tool_call_id": "t:1"});
        let offline = runtime.block_on(async { client.dev_call(body).await.unwrap() });
        assert_eq!((code(&offline), &offline["executions"]), ("DEVICE_OFFLINE", &json!([])), "{offline}");
        let place = first.end();
        // Two copies of one data folder.
        let (mut older, mut newer) = (Desktop::over(copy_of(place.path())), Desktop::over(copy_of(place.path())));
        assert_eq!((older.device(), newer.device()), (device.clone(), device.clone()));
        older.connect(&server.url, &token);
        older.state_is(&LinkState::Connected);
        newer.connect(&server.url, &token);
        newer.state_is(&LinkState::Connected);
        older.state_is(&LinkState::Replaced);
        let call = json!({"device_id": device, "tool_name": LIST, "arguments": {"path": "."}, "tool_call_id": "t:2"});
        let answer = runtime.block_on(async { client.dev_call(call).await.unwrap() });
        assert_eq!(answer["status"], "succeeded", "the newer one answers: {answer}");
    });
}

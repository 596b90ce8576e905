//! The database or the bus away for a while under servers that go on: nobody is declared dead, nothing that was allowed is
//! lost, and what can be done without them is done.
#![expect(
    clippy::disallowed_methods,
    reason = "a test holds the ledger's file, carries bytes between programs and reads the clock"
)]

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::device::{Device, ticket};
use super::operator::Operator;
use crate::support::ollama::{Gate, OllamaServer, Piece, Reply, done_line, text_line};

/// Longer than a replica may be silent, and than anything in it may take.
const SILENCE: Duration = Duration::from_secs(13);

fn list(id: &str) -> Value {
    list_on("laptop", id)
}

fn list_on(device: &str, id: &str) -> Value {
    json!({"device_id": device, "tool_name": "workspace.list_files", "arguments": {"path": "."}, "tool_call_id": id})
}

/// A way to a program that can be shut: then nothing goes through, and nobody is told.
struct Way {
    address: String,
    is_open: watch::Sender<bool>,
}

impl Way {
    async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (is_open, opened) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, target.clone(), opened.clone()));
            }
        });
        Self { address, is_open }
    }
}

/// Carries bytes both ways while the way is open. What is on its way when it is shut arrives later.
async fn carry(near: TcpStream, target: String, is_open: watch::Receiver<bool>) {
    let Ok(far) = TcpStream::connect(target).await else { return };
    let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
    tokio::select! {
        () = pour(from_near, to_far, is_open.clone()) => {}
        () = pour(from_far, to_near, is_open) => {}
    }
}

async fn pour(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_open: watch::Receiver<bool>) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if is_open.wait_for(|is_open| *is_open).await.is_err() || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

/// What the replicas say of their being alive, read from the database itself.
struct Lives(tokio_postgres::Client);

impl Lives {
    async fn of(database: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(database, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        Self(client)
    }

    /// When each replica was last seen, in milliseconds since 1970.
    async fn seen(&self) -> BTreeMap<String, i64> {
        let rows = self.0.query("SELECT id, seen_at FROM replica", &[]).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// Until all were silent for longer than one of them may be.
    async fn are_silent(&self) {
        self.reach(|seen| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let limit = i64::try_from(since.checked_sub(SILENCE).unwrap().as_millis()).unwrap();
            seen.values().all(|at| *at < limit)
        })
        .await;
    }

    /// Until each of them has said three times more that it lives.
    async fn speak_again(&self) {
        for _ in 0..3 {
            let before = self.seen().await;
            self.reach(|seen| seen.iter().all(|(id, at)| before.get(id) != Some(at))).await;
        }
    }

    async fn reach(&self, is_reached: impl Fn(&BTreeMap<String, i64>) -> bool) {
        let reached = async {
            while !is_reached(&self.seen().await) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(super::client::PATIENCE, reached).await.expect("the replicas do as they should");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_stands_still_for_a_while_makes_no_replica_dead() {
    let Some(mut operator) = Operator::shared() else { return };
    let token = operator.token("ann");
    let (_, rest) = operator.database.split_once('@').unwrap();
    let (host, _) = rest.split_once('/').unwrap();
    let way = Way::to(host.to_owned()).await;
    let lives = Lives::of(&operator.database).await;
    operator.database = operator.database.replace(host, &way.address);
    let model = OllamaServer::start();
    let gate = Gate::new();
    model.answer(Reply::pieces([
        Piece::line(text_line("Once")),
        Piece::Gate(gate.clone()),
        Piece::line(done_line("stop")),
    ]));
    let options = ["--dev", "--provider", "ollama", "--base-url", &model.url(), "--model", "qwen3:8b"];
    let servers = [operator.serve(&options), operator.serve(&options)];
    let [first, second] = servers.each_ref().map(|server| server.client(&token));
    let mut device = Device::connect(&servers[0], &first, "laptop").await;
    let calls = [first.dev_call(list("t:first")), second.dev_call(list("t:second"))];
    let requests = [device.request().await, device.request().await];
    let turn = second.prepare(json!({"input": "Tell"})).await;
    let mut events = second.run(&turn).await;
    events.until("TEXT_MESSAGE_CONTENT").await;

    way.is_open.send_replace(false);
    lives.are_silent().await;
    way.is_open.send_replace(true);
    lives.speak_again().await;
    for id in ["t:first", "t:second"] {
        assert_eq!(first.call(id).await["status"], "dispatched");
    }
    for request in &requests {
        device.answer(request, "succeeded", json!({"entries": []})).await;
        device.acknowledged(request).await;
    }
    for call in calls {
        assert_eq!(call.await.unwrap()["status"], "succeeded");
    }
    gate.open();
    assert_eq!(events.rest().await.last().unwrap()["type"], "RUN_FINISHED");
    let thread = first.get(&format!("/api/threads/{}", turn["thread_id"].as_str().unwrap())).await.1;
    assert_eq!(thread["turns"][0]["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_bus_devices_connect_and_are_used_and_the_newest_connection_counts_when_it_is_back() {
    let Some(mut operator) = Operator::shared() else { return };
    let token = operator.token("ann");
    let (one, two) = (operator.serve(&["--dev"]), operator.serve(&["--dev"]));
    let (at_one, at_two) = (one.client(&token), two.client(&token));
    let mut early = Device::connect(&one, &at_one, "tower").await;
    let far = at_two.dev_call(list_on("tower", "t:far"));
    let far_request = early.request().await;
    operator.backends().kill_bus();

    // What is on the same process is used as ever.
    let mut older = Device::connect(&one, &at_one, "laptop").await;
    let call = at_one.dev_call(list("t:near"));
    let request = older.request().await;
    older.answer(&request, "succeeded", json!({"entries": []})).await;
    older.acknowledged(&request).await;
    assert_eq!(call.await.unwrap()["status"], "succeeded");
    // What is elsewhere is out of reach, and nothing of it is sent later.
    let refused = at_two.dev_call(list("t:refused")).await.unwrap();
    assert_eq!(refused["error"]["code"], "DEVICE_OFFLINE", "{refused}");
    // The result of a call that came over the bus is taken in all the same.
    early.answer(&far_request, "succeeded", json!({"entries": [1]})).await;
    early.acknowledged(&far_request).await;
    // The device comes to the other process; neither hears of the other.
    let mut newer = Device::connect(&two, &at_two, "laptop").await;

    operator.backends().restart_bus();
    assert_eq!(older.closed().await, Some(4409));
    assert_eq!(far.await.unwrap()["output"], json!({"entries": [1]}));
    let used = async {
        for number in 0.. {
            let id = format!("t:{number}");
            let mut call = at_one.dev_call(list(&id));
            let ended = tokio::select! {
                request = newer.request() => {
                    assert_eq!(request["tool_call_id"], json!(id), "nothing of before is sent");
                    newer.answer(&request, "succeeded", json!({"entries": []})).await;
                    (&mut call).await.unwrap()
                }
                ended = &mut call => ended.unwrap(),
            };
            if ended["status"] == "succeeded" {
                return;
            }
            assert_eq!(ended["error"]["code"], "DEVICE_OFFLINE", "{ended}");
        }
    };
    tokio::time::timeout(super::client::PATIENCE, used).await.expect("the bus is used again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_cannot_write_for_a_while_costs_no_result_and_blames_no_ticket() {
    let operator = Operator::new();
    let token = operator.token("ann");
    let server = operator.serve(&["--dev"]);
    let client = server.client(&token);
    let mut device = Device::connect(&server, &client, "laptop").await;
    let call = client.dev_call(list("t:c"));
    let request = device.request().await;
    let pass = ticket(&client, "laptop").await;
    // A backup, or a full disk.
    let path = operator.database.strip_prefix("sqlite:").unwrap();
    let file = rusqlite::Connection::open(path).unwrap();
    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    device.answer(&request, "succeeded", json!({"entries": [1]})).await;
    assert_eq!(device.closed().await, Some(1001), "it is to come again, with the result");
    let mut late = Device::silent(&server, &pass, "laptop", None).await;
    assert_eq!(late.closed().await, Some(1001), "nothing is wrong with the ticket");
    file.execute_batch("ROLLBACK").unwrap();
    let mut device = Device::connect(&server, &client, "laptop").await;
    device.answer(&request, "succeeded", json!({"entries": [1]})).await;
    device.acknowledged(&request).await;
    assert_eq!(client.call("t:c").await["output"], json!({"entries": [1]}));
    // Who waited heard that it is not known.
    call.await.unwrap();
}

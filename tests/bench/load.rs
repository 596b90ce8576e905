//! Many devices on one server for minutes, with calls among them: fails when a device loses its connection or a call is lost
//! or doubled, and prints what a device and a call cost. `packaging/load.sh` runs it.
//!
//!     load [DEVICES [SECONDS [CALLS_A_SECOND]]]

mod link;

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use link::{Client, LOAD, Server, connect_all, play, possible_devices, runtime, use_processor};

/// How long devices are watched that only say that they are there: twice as often as one does.
const QUIET: Duration = Duration::from_secs(30);
/// The server closes a connection that rests longer than its hundred seconds.
const LONGEST_REST: Duration = Duration::from_secs(60);

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve" | "token") => drop(nod::server::run()),
        Some(_) | None => {
            use_processor(LOAD);
            runtime().block_on(load());
        }
    }
}

fn number(at: usize, usual: u64) -> u64 {
    std::env::args().nth(at).map_or(usual, |word| word.parse().expect("a number"))
}

async fn load() {
    let (devices, seconds, calls_a_second) = (number(1, 1_000), number(2, 300), number(3, 100));
    assert_eq!(possible_devices(devices), devices, "there are not enough open files: raise `ulimit -n`");
    let folder = std::env::temp_dir().join(format!("nod-load-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    let database = format!("sqlite:{}", folder.join("ledger.db").display());
    let token = link::token(&database);
    let server = Server::start(&["serve", "--dev", "--listen", "127.0.0.1:0", "--database", &database]);

    let empty = server.resident_kib();
    let sockets = connect_all(&server, &token, devices).await;
    let idle = server.resident_kib();
    let mut players = JoinSet::new();
    for socket in sockets {
        players.spawn(play(socket));
    }

    // What they cost that say nothing but that they are there.
    let quiet = server.spent();
    tokio::time::sleep(QUIET).await;
    let a_device = server.spent_since(&quiet, devices).whole / QUIET.as_secs_f64();

    let wanted = seconds * calls_a_second;
    let (before, began) = (server.spent(), Instant::now());
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / u32::try_from(calls_a_second).expect("not so many"));
    let mut calls = JoinSet::new();
    let (mut resting, mut took) = (Vec::new(), Vec::new());
    for number in 0..wanted {
        ticks.tick().await;
        while let Some(ended) = calls.try_join_next() {
            let (client, time) = ended.expect("every call is answered");
            resting.push((client, Instant::now()));
            took.push(time);
        }
        let client = match resting.pop() {
            Some((client, since)) if since.elapsed() < LONGEST_REST => client,
            Some(_) | None => Client::connect(&server.address, &token).await,
        };
        calls.spawn(call(client, number, format!("device-{}", number.wrapping_mul(7919) % devices)));
    }
    while let Some(ended) = calls.join_next().await {
        took.push(ended.expect("every call is answered").1);
    }
    let lasted = began.elapsed();

    let (busy, a_call) = (server.resident_kib(), server.spent_since(&before, wanted).whole);
    let figures = Client::connect(&server.address, &token).await.get("/metrics").await;
    for figure in [
        format!("nod_devices_connected {devices}\n"),
        format!("nod_connections_opened_total {devices}\n"),
        format!("nod_tool_calls_total{{outcome=\"succeeded\"}} {wanted}\n"),
    ] {
        assert!(figures.contains(&figure), "{figure} in {figures}");
    }
    drop(server);
    let ran: u64 = players.join_all().await.into_iter().sum();
    assert_eq!((took.len() as u64, ran), (wanted, wanted), "each call ran once, on the device that it was for");
    std::fs::remove_dir_all(&folder).ok();

    took.sort_unstable();
    let at = |share: usize| took.get(took.len() * share / 100).or(took.last()).copied().unwrap_or_default();
    println!(
        "{devices} devices stayed connected, {wanted} calls in {:.0} s: none lost, none doubled",
        lasted.as_secs_f64()
    );
    println!(
        "memory     {empty:.0} KiB empty, {:.1} KiB a device, {busy:.0} KiB at the end",
        (idle - empty) / devices as f64
    );
    println!(
        "processor  {a_device:.2} µs a second for a device that says nothing; {:.0} µs a call with its HTTP and the devices' signs of life, {:.1} % of one core in all",
        a_call,
        a_call * wanted as f64 / lasted.as_micros() as f64 * 100.0
    );
    println!("a call     {:.1?} median, {:.1?} at the 99th of a hundred, {:.1?} at most", at(50), at(99), at(100));
}

/// One call, and how long it took.
async fn call(mut client: Client, number: u64, device: String) -> (Client, Duration) {
    let asked = Instant::now();
    let id = format!("load:{number}");
    let body = json!({"device_id": device, "tool_name": "workspace.list_files", "arguments": {"path": id}, "tool_call_id": id});
    let answer = client.post("/api/desktop/dev/tool-calls", &body).await;
    let time = asked.elapsed();
    assert_eq!((&answer["status"], &answer["output"]), (&json!("succeeded"), &json!({"entries": [id]})), "{answer}");
    assert_eq!(answer["executions"].as_array().map(Vec::len), Some(1), "{answer}");
    (client, time)
}

//! `nod link` as a process: what it prints, what it allows, how it ends.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{LIST, READ, code, laid_out};
use crate::support::link_server::{LinkServer, TOKEN};

/// A process that ends with the test.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn nod_link(place: &std::path::Path, server: &str, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
    command
        .args(["link", "--server", server, "--token-env", "LINK_TOKEN", "--workspace", "work", "--lang", "en"])
        .args(more)
        .current_dir(place)
        .env("NOD_DATA_DIR", place.join("data"))
        .env("HOME", place.join("home"))
        .env("LINK_TOKEN", TOKEN)
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Running {
    fn start(place: &std::path::Path, server: &LinkServer, confirm: &str) -> Self {
        let mut child = nod_link(place, &server.url(), &["--json", "--confirm", confirm]).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next line that fits.
    fn line(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.next().expect("a line comes").unwrap();
            let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("only JSON Lines: {line}"));
            if fits(&line) {
                return line;
            }
        }
    }
}

#[test]
fn with_allow_a_file_is_read_and_every_change_is_one_json_line() {
    let (place, server) = (laid_out(), LinkServer::new());
    let mut nod = Running::start(place.path(), &server, "allow");
    let mut line = server.welcome();
    let connected = nod.line(|line| line["state"] == "connected");
    assert_eq!((&connected["type"], &connected["server"]), (&json!("link"), &json!(server.url())));
    assert_eq!(connected["deviceId"], json!(line.device_id));
    line.ask("t:1", READ, &json!({"path": "README.md"}));
    assert_eq!(line.hear()["output"]["content"], "hello\n");
    let call = nod.line(|line| line["type"] == "call" && line["state"] == "succeeded");
    assert_eq!((&call["toolCallId"], &call["path"]), (&json!("t:1"), &json!("README.md")));
    line.ask("t:2", READ, &json!({"path": ".env"}));
    assert_eq!(code(&line.hear()), "SENSITIVE_PATH_DENIED", "no flag opens a secret");
    let call = nod.line(|line| line["type"] == "call" && line["state"] == "rejected");
    assert_eq!(call["code"], "SENSITIVE_PATH_DENIED");
}

#[test]
fn without_anybody_to_ask_or_with_deny_nothing_is_read_and_files_are_listed() {
    for confirm in ["ask", "deny"] {
        let (place, server) = (laid_out(), LinkServer::new());
        let _nod = Running::start(place.path(), &server, confirm);
        let mut line = server.welcome();
        line.ask("t:1", READ, &json!({"path": "README.md"}));
        assert_eq!(code(&line.hear()), "CONFIRMATION_REJECTED", "{confirm}");
        line.ask("t:2", LIST, &json!({"path": "."}));
        assert_eq!(line.hear()["status"], "succeeded");
    }
}

#[test]
fn what_makes_no_sense_is_said_at_once() {
    let place = laid_out();
    let run = |server: &str, more: &[&str]| {
        let output = nod_link(place.path(), server, more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (exit, words) = run("http://nod.example", &[]);
    assert!(exit == Some(2) && words.contains("must be https"), "{exit:?} {words}");
    let (exit, words) = run("http://127.0.0.1:9", &["--workspace", "none"]);
    assert!(exit == Some(1) || exit == Some(2), "{exit:?} {words}");
    let (exit, words) = run("http://127.0.0.1:9", &["--token-env", "NO_SUCH_VARIABLE"]);
    assert!(exit == Some(1) || exit == Some(2), "{exit:?} {words}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_with_130_and_a_goodbye() {
    let (place, server) = (laid_out(), LinkServer::new());
    let mut nod = Running::start(place.path(), &server, "deny");
    let mut line = server.welcome();
    nod.line(|line| line["state"] == "connected");
    let pid = rustix::process::Pid::from_child(&nod.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(line.hear_end().0, Some(1000));
    assert_eq!(nod.child.wait().unwrap().code(), Some(130));
}

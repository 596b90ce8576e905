//! Planted keys: they go where they are for, and nowhere else. After everything was done with them, all that Nod wrote and
//! said is searched: the data folder with the database and its log, output, errors, exports, what a command finds in its
//! environment; and what the window leaves behind, with a log of everything and after a crash.
#![expect(clippy::disallowed_methods, reason = "the program is started as a person starts it, and its files are read")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::support::ollama::{OllamaServer, Reply, calls_line, done_line, text_line};

/// Variables in which people keep keys, each with a value of its own.
const VARIABLES: [&str; 8] = [
    "PLANTED_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "DEEPSEEK_API_KEY",
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "SSH_AUTH_SOCK",
    "DATABASE_URL",
];

fn value_of(variable: &str) -> String {
    // The form of a real key, and the variable's own end.
    format!("sk-ant-api03-Zx9Yw8Vu7Ts6Rq5Po4Nm3{}", variable.replace('_', "7"))
}

fn nod(place: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
    command
        .env("NOD_DATA_DIR", place.join("data"))
        .env("XDG_DATA_HOME", place.join("share"))
        .env("HOME", place.join("home"))
        .env("NOD_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
        .current_dir(place.join("project"))
        .stdin(Stdio::null())
        .args(words);
    for variable in VARIABLES {
        command.env(variable, value_of(variable));
    }
    command.output().unwrap()
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.is_file() {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn a_key_is_nowhere_but_where_it_is_for() {
    let place = tempfile::tempdir().unwrap();
    for folder in ["project", "home"] {
        std::fs::create_dir(place.path().join(folder)).unwrap();
    }
    let mut outputs = Vec::new();

    // The key goes to its server, which answers with it.
    let vendor = OllamaServer::start();
    let echo = format!("invalid x-api-key: {}", value_of("PLANTED_KEY"));
    let refusal =
        Reply::json(401, &json!({"type": "error", "error": {"type": "authentication_error", "message": echo}}));
    for path in ["/v1/messages", "/messages", "/v1/models"] {
        vendor.route(path, refusal.clone());
    }
    let url = vendor.url();
    let asked = ["exec", "--provider", "anthropic", "--model", "m", "--base-url", &url, "--api-key-env", "PLANTED_KEY"];
    outputs.push(("a refused key", nod(place.path(), &[&asked[..], &["--json", "hi"]].concat())));
    let got_it = |(_, value): &(String, String)| value.contains(&value_of("PLANTED_KEY"));
    assert!(
        vendor.requests().iter().any(|request| request.headers.iter().any(got_it)),
        "the control: the key was really used: {:?}",
        outputs[0].1
    );

    // A command prints its environment.
    let local = OllamaServer::start();
    local.answer(Reply::stream([
        calls_line(&[("run_command", json!({"command": "env; cat /proc/self/environ"}))]),
        done_line("stop"),
    ]));
    local.answer(Reply::stream([text_line("Done."), done_line("stop")]));
    let url = local.url();
    let words = ["exec", "--provider", "ollama", "--model", "qwen3:8b", "--base-url", &url, "--folder", "."];
    let allowed =
        ["--approve", "all", "--enable-tool", "run_command", "--allow-unconfined", "--json", "print the environment"];
    outputs.push(("a command", nod(place.path(), &[&words[..], &allowed[..]].concat())));
    let sent: String = local.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(sent.contains("PATH="), "the control: the command ran: {sent}\n{:?}", outputs[1].1);

    outputs.push(("doctor", nod(place.path(), &["doctor"])));
    outputs.push(("settings", nod(place.path(), &["config", "list"])));
    let list = nod(place.path(), &["sessions", "list"]);
    for line in String::from_utf8_lossy(&list.stdout).lines() {
        let id = line.split_whitespace().next().unwrap_or_default().to_owned();
        outputs.push(("an export", nod(place.path(), &["sessions", "export", &id])));
        outputs.push(("an export", nod(place.path(), &["sessions", "export", &id, "--format", "md"])));
        let shown = nod(place.path(), &["sessions", "show", &id]);
        assert!(String::from_utf8_lossy(&shown.stdout).contains("\n- 127.0.0.1: requests "), "{shown:?}");
        outputs.push(("what is shown", shown));
    }
    outputs.push(("the list", list));
    assert!(outputs.len() > 6, "sessions were exported");

    let mut searched = Vec::new();
    files(&place.path().join("data"), &mut searched);
    let is_database = |(_, bytes): &(String, Vec<u8>)| bytes.starts_with(b"SQLite format 3");
    assert!(searched.iter().any(is_database), "the control: the database is among what is searched");
    for (what, output) in outputs {
        searched.push((format!("{what}: output"), output.stdout));
        searched.push((format!("{what}: errors"), output.stderr));
    }
    searched.push(("what the local model was sent".to_owned(), sent.into_bytes()));
    for variable in VARIABLES {
        for (place, bytes) in &searched {
            assert!(!holds(bytes, &value_of(variable)), "{variable} stands in {place}");
        }
    }
}

#[test]
fn what_is_left_of_a_panic_holds_no_key() {
    let planted = value_of("PLANTED_KEY");
    let name = "planted::what_is_left_of_a_panic_holds_no_key";
    let said = |guard: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--nocapture"]).env("NOD_TEST_PANIC", guard).env("RUST_BACKTRACE", "full");
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    match std::env::var("NOD_TEST_PANIC").as_deref() {
        Ok("guarded") => {
            nod::engine::guard_crashes();
            panic!("x-api-key {planted} \u{1b}[2Kwas refused");
        }
        Ok(_) => panic!("x-api-key {planted} was refused"),
        Err(_) => {}
    }
    assert!(said("unguarded").contains(&planted), "the control: the words of a panic are searched");
    let guarded = said("guarded");
    assert!(!guarded.contains(&planted) && !guarded.contains('\u{1b}'), "{guarded}");
    assert!(guarded.contains("panicked at") && guarded.contains("was refused") && guarded.contains("planted.rs"));
}

/// The window writes the log; here it writes everything, works with a key that looks like none, and is killed by a fault.
#[cfg(all(target_os = "linux", feature = "gui"))]
mod window {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;
    use crate::support::screen::{Screen, until};
    use crate::support::window::{Home, Window};

    /// No pattern knows it: what does not show it has it not.
    const KEY: &str = "violet harbour tango lantern";
    const SAID: &str = "planted words of a person";

    /// Without a limit on core files, where there is none above it.
    fn unlimited(command: &Command) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "ulimit -c unlimited 2>/dev/null; exec \"$0\" \"$@\""]);
        shell.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
        shell
    }

    fn fault(process: u32) {
        let killed = Command::new("/bin/kill").args(["-ABRT", &process.to_string()]).status().unwrap();
        assert!(killed.success());
    }

    fn cores(home: &Home) -> usize {
        let entries = std::fs::read_dir(home.path("project")).unwrap();
        entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("core")).count()
    }

    #[test]
    fn a_log_of_everything_and_a_crash_leave_no_key_behind() {
        let (home, screen) = (Home::new(), Screen::start());
        let vendor = OllamaServer::start();
        let error = json!({"type": "authentication_error", "message": format!("invalid x-api-key: {KEY}")});
        let refusal = Reply::json(401, &json!({"type": "error", "error": error}));
        for path in ["/v1/messages", "/messages", "/v1/models", "/models"] {
            vendor.route(path, refusal.clone());
        }
        let url = vendor.url();
        for words in [
            &["providers", "add", "work", "--preset", "anthropic", "--base-url", &url, "--remote", "yes"][..],
            &["config", "set", "models.default_provider", "work"],
            &["config", "set", "models.default_model", "m"],
        ] {
            let output = home.run(words);
            assert!(output.status.success(), "{output:?}");
        }
        let mut command = unlimited(&home.nod());
        command.env("NOD_LOG", "trace").env("RUST_BACKTRACE", "full").env("RUST_LOG", "trace").stderr(Stdio::piped());
        let mut window = Window::open_by(command, &home, &screen);
        window.wait_for_composer();
        // The key goes to the window, which holds it for this run.
        let mut keys = home.nod();
        keys.args(["providers", "set-key", "work"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut keys = keys.spawn().unwrap();
        std::io::Write::write_all(&mut keys.stdin.take().unwrap(), format!("{KEY}\n").as_bytes()).unwrap();
        let output = keys.wait_with_output().unwrap();
        window.say(SAID);
        let is_used = |(_, value): &(String, String)| value.contains(KEY);
        until("the control: the key is really used", || {
            vendor.requests().iter().any(|request| request.headers.iter().any(is_used)).then_some(())
        });
        let log = || {
            let mut found = Vec::new();
            files(&home.path("data").join("logs"), &mut found);
            found
        };
        let address = url.trim_start_matches("http://");
        let is_told = |(_, bytes): &(String, Vec<u8>)| holds(bytes, "TRACE") && holds(bytes, address);
        until("the log tells of the request", || log().iter().any(is_told).then_some(()));
        fault(window.process_id());
        assert_eq!(window.ended().signal(), Some(6));
        assert_eq!(cores(&home), 0, "a core file holds the memory, and the memory the key");

        let mut searched = Vec::new();
        files(&home.path("data"), &mut searched);
        searched.push(("the words of the program".to_owned(), window.errors()));
        searched.push(("where the key was given".to_owned(), [output.stdout, output.stderr].concat()));
        for (place, bytes) in &searched {
            assert!(!holds(bytes, KEY), "the key stands in {place}");
        }
        let wal = |(place, bytes): &&(String, Vec<u8>)| place.ends_with("-wal") && !bytes.is_empty();
        assert!(searched.iter().any(|file| wal(&file)), "the control: it ended in the middle, with its -wal");
        assert!(searched.iter().any(|(_, bytes)| holds(bytes, SAID)), "the control: what is there is found");

        // The control of the core file: another program leaves one there, if this system writes them at all.
        let mut sleep = Command::new("/bin/sleep");
        sleep.arg("60").current_dir(home.path("project"));
        let mut sleep = unlimited(&sleep).spawn().unwrap();
        until("it sleeps", || {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", sleep.id())).unwrap_or_default();
            (name.trim() == "sleep").then_some(())
        });
        fault(sleep.id());
        let has_dumped = sleep.wait().unwrap().core_dumped();
        let goes_here = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap().trim() == "core";
        assert_eq!(cores(&home) > 0, has_dumped && goes_here);
    }
}

//! Keys: where they are kept, whom they are sent to, and that they are found nowhere else.
#![expect(
    clippy::disallowed_methods,
    reason = "the program is started as a person starts it, and its files are searched"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Planted, and looked for everywhere.
const PLANTED: &str = "sk-planted-7f3a9c51d2e84b06";

/// A person's place with a data folder and no keyring.
struct Person {
    place: tempfile::TempDir,
}

impl Person {
    fn new() -> Self {
        let place = tempfile::Builder::new().prefix("nod-key-").tempdir().unwrap();
        for folder in ["home", "run", "share"] {
            std::fs::create_dir(place.path().join(folder)).unwrap();
        }
        Self { place }
    }

    /// The program's surroundings: nothing of this process's own session.
    fn surround(&self, command: &mut Command) {
        let at = |name: &str| self.place.path().join(name);
        command
            .env("NOD_DATA_DIR", at("data"))
            .env("HOME", at("home"))
            .env("XDG_RUNTIME_DIR", at("run"))
            .env("XDG_DATA_HOME", at("share"))
            .env("XDG_CONFIG_HOME", at("home/.config"))
            .env("XDG_CACHE_HOME", at("home/.cache"))
            .env("LANG", "en_US.UTF-8")
            .env("NOD_LOG", "trace")
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("DBUS_SESSION_BUS_ADDRESS");
    }

    fn nod(&self, words: &[&str], input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
        self.surround(&mut command);
        command.args(words);
        feed(command, input)
    }

    /// The files in which the text stands.
    fn files_with(&self, text: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        search(self.place.path(), text.as_bytes(), &mut found);
        found
    }
}

fn feed(mut command: Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn search(folder: &Path, text: &[u8], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, text, found);
        } else if path.is_file() && std::fs::read(&path).unwrap().windows(text.len()).any(|part| part == text) {
            found.push(path);
        }
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn without_a_keyring_a_key_is_refused_aloud_and_written_nowhere() {
    let person = Person::new();
    let output = person.nod(&["providers", "set-key", "openai"], &format!("{PLANTED}\n"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said = text(&output);
    assert!(said.contains("not kept") && said.contains("OPENAI_API_KEY") && !said.contains(PLANTED), "{said}");
    assert_eq!(person.files_with(PLANTED), Vec::<PathBuf>::new());
    // The search does find what is there.
    std::fs::write(person.place.path().join("data/control"), format!("x{PLANTED}y")).unwrap();
    assert_eq!(person.files_with(PLANTED).len(), 1);
}

/// A server on this machine that answers every POST with this and everything else with 404. Gives its address and, once
/// the program is done, what it was sent.
fn server(status: &'static str, body: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    use std::io::Read as _;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (heard, requests) = std::sync::mpsc::sync_channel(64);
    let serve = move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            let is_whole = |request: &[u8]| {
                let text = String::from_utf8_lossy(request).to_lowercase();
                let Some((head, rest)) = text.split_once("\r\n\r\n") else { return false };
                let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
                rest.len() >= length.unwrap_or(0_usize)
            };
            while !is_whole(&request) {
                match stream.read(&mut piece) {
                    Ok(count @ 1..) => request.extend_from_slice(&piece[..count]),
                    _ => break,
                }
            }
            let text = String::from_utf8_lossy(&request).into_owned();
            let (status, body) = if text.starts_with("POST") { (status, body) } else { ("404 Not Found", "{}") };
            let head = "Content-Type: application/json\r\nConnection: close";
            let answer = format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).ok();
            if heard.try_send(text).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(serve).unwrap();
    (url, requests)
}

#[test]
fn a_key_goes_to_its_server_and_is_found_in_no_file_log_or_message_even_when_the_server_repeats_it() {
    const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1000000,"output_tokens":2}}"#;
    const REFUSAL: &str = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key: sk-planted-7f3a9c51d2e84b06"}}"#;
    for (status, body, exit) in [("200 OK", ANSWER, 0), ("401 Unauthorized", REFUSAL, 1)] {
        let person = Person::new();
        let (url, requests) = server(status, body);
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
        person.surround(&mut command);
        command.env("MY_KEY", PLANTED).args([
            "exec",
            "--provider",
            "anthropic",
            "--base-url",
            &url,
            "--api-key-env",
            "MY_KEY",
            "--model",
            "claude-sonnet-4-5",
            "--no-stream",
            "--tools",
            "none",
            "--json",
            "-v",
            "hello",
        ]);
        let output = feed(command, "");
        assert_eq!(output.status.code(), Some(exit), "{}", text(&output));
        // The control: the key was really used.
        let sent: Vec<String> = requests.try_iter().collect();
        assert!(sent.iter().any(|request| request.contains(PLANTED)), "{sent:?}");
        assert!(!text(&output).contains(PLANTED), "{}", text(&output));
        let export = person.nod(&["sessions", "list", "--json"], "");
        assert!(!text(&export).contains(PLANTED) && !export.stdout.is_empty(), "{}", text(&export));
        assert_eq!(person.files_with(PLANTED), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_key_entered_for_one_address_is_not_sent_to_another() {
    let person = Person::new();
    let (url, requests) = server("200 OK", "{}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
    person.surround(&mut command);
    // The vendor's usual variable is for the vendor's own address alone.
    command.env("ANTHROPIC_API_KEY", PLANTED).args([
        "exec",
        "--provider",
        "anthropic",
        "--base-url",
        &url,
        "--model",
        "claude-sonnet-4-5",
        "--no-stream",
        "hello",
    ]);
    feed(command, "");
    let sent: Vec<String> = requests.try_iter().collect();
    assert!(!sent.is_empty() && sent.iter().all(|request| !request.contains(PLANTED)), "{sent:?}");
}

/// A Secret Service of this test's own: its daemon, unlocked by a password, in private folders.
#[cfg(target_os = "linux")]
#[test]
fn the_secret_service_keeps_a_key_that_the_next_run_reads() {
    const ANSWER: &str =
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}"#;
    let person = Person::new();
    let (url, requests) = server("200 OK", ANSWER);
    let script = r#"
        set -eu
        printf 'a password' | gnome-keyring-daemon --unlock --components=secrets >/dev/null
        nod="$1"
        "$nod" providers add work --preset openai-compatible --base-url "$2"
        printf '%s\n' "$KEY" | env -u KEY "$nod" providers set-key work
        unset KEY
        "$nod" --data-dir "$NOD_DATA_DIR" doctor | grep Keyring
        "$nod" exec --no-stream --provider work --model m "question one"
        "$nod" providers remove-key work
        "$nod" exec --no-stream --provider work --model m "question two" || true
    "#;
    if !["gnome-keyring-daemon", "dbus-run-session"].iter().all(|program| is_installed(program)) {
        // packaging/test.sh installs both.
        assert!(std::env::var_os("CI").is_none(), "gnome-keyring and dbus are missing");
        return;
    }
    let mut command = Command::new("dbus-run-session");
    person.surround(&mut command);
    command.env("KEY", PLANTED).args(["--", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_nod"), &url]);
    let output = feed(command, "");
    assert!(output.status.success(), "{}", text(&output));
    // Another process read it back and used it; once it was removed, no process could.
    let chats: Vec<String> = requests.try_iter().filter(|request| request.starts_with("POST")).collect();
    let carries = |words: &str| {
        chats.iter().filter(|chat| chat.contains(words)).map(|chat| chat.contains(PLANTED)).collect::<Vec<_>>()
    };
    assert_eq!(carries("question one"), [true], "{}", text(&output));
    assert!(!carries("question two").contains(&true), "{}", text(&output));
    assert!(text(&output).contains("✓ Keyring"), "{}", text(&output));
    assert!(!text(&output).contains(PLANTED), "{}", text(&output));
    assert_eq!(person.files_with(PLANTED), Vec::<PathBuf>::new(), "the keyring's own file is encrypted");
}

#[cfg(target_os = "linux")]
fn is_installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

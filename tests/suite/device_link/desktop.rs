//! The real desktop, `nod link`, as a process on a terminal of its own (util-linux's `script`), with a person who types.
#![expect(clippy::disallowed_methods, reason = "the program under test is a process of its own")]

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::PATIENCE;
use super::operator::Server;

/// A person's computer: what outlives the process.
pub(crate) struct Computer {
    folder: tempfile::TempDir,
}

/// A running `nod link`. It is killed when dropped.
pub(crate) struct Desktop {
    terminal: Child,
    keyboard: ChildStdin,
    screen: Receiver<String>,
    seen: String,
    states: PathBuf,
    read: usize,
    process: PathBuf,
    pub(crate) device_id: String,
}

impl Computer {
    /// One with a project in it: a file to read, a folder, and things that nobody may see.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        for name in ["home", "work/src", "work/.git", "outside"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for (name, text) in [
            ("README.md", "the harvest is in\n"),
            ("src/main.rs", "fn main() {}\n"),
            (".env", "TOKEN=planted\n"),
            (".git/config", "[remote]\n"),
            ("../outside/secret.txt", "not yours\n"),
        ] {
            std::fs::write(work.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("../outside/secret.txt", work.join("way-out")).unwrap();
        Self { folder }
    }

    /// The same identity on another computer: a copied data folder.
    pub(crate) fn copied(&self) -> Self {
        let other = Self::new();
        let copied = Command::new("cp")
            .args(["-r", "data"])
            .arg(other.folder.path().join("data"))
            .current_dir(self.folder.path())
            .status();
        assert!(copied.unwrap().success());
        other
    }

    /// Starts the desktop and waits until it is connected.
    pub(crate) fn connect(&self, server: &Server, token: &str) -> Desktop {
        let mut desktop = self.start(&server.url, token);
        desktop.device_id = serde_json::from_value(desktop.state("connected")["deviceId"].clone()).unwrap();
        desktop
    }

    /// Starts the desktop. Questions are asked on its terminal; what happens is JSON in a file.
    fn start(&self, url: &str, token: &str) -> Desktop {
        let path = self.folder.path();
        let number = std::fs::read_dir(path).unwrap().count();
        let (states, process) = (path.join(format!("states-{number}")), path.join(format!("process-{number}")));
        std::fs::write(&states, "").unwrap();
        let script = format!(
            "echo $$ >'{}'; exec '{}' link --json --lang en --confirm ask --server '{url}' --token-env LINK_TOKEN \
             --workspace work >>'{}'",
            process.display(),
            env!("CARGO_BIN_EXE_nod"),
            states.display()
        );
        let mut terminal = Command::new("script")
            .args(["--quiet", "--flush", "--command", &script, "/dev/null"])
            .current_dir(path)
            .env("NOD_DATA_DIR", path.join("data"))
            .env("HOME", path.join("home"))
            .env("LINK_TOKEN", token)
            .env("SHELL", "/bin/sh")
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keyboard = terminal.stdin.take().unwrap();
        let mut output = terminal.stdout.take().unwrap();
        let (sender, screen) = sync_channel(1024);
        let reader = std::thread::Builder::new().name("screen".into());
        let read = move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                if sender.send(String::from_utf8_lossy(&bytes[..length]).into_owned()).is_err() {
                    return;
                }
            }
        };
        drop(reader.spawn(read).unwrap());
        Desktop { terminal, keyboard, screen, seen: String::new(), states, read: 0, process, device_id: String::new() }
    }

    /// Whether the desktop's record of calls holds a text.
    fn remembers(&self, text: &str) -> bool {
        let database = rusqlite::Connection::open(self.folder.path().join("data").join("nod.db")).unwrap();
        let rows = database
            .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'link%'")
            .unwrap()
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap()
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        assert!(!rows.is_empty(), "the desktop has a record");
        rows.iter().any(|table| {
            let mut all = database.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = all.column_count();
            let found = all
                .query_map([], |row| {
                    Ok((0..columns).any(|column| row.get::<_, String>(column).is_ok_and(|value| value.contains(text))))
                })
                .unwrap();
            found.into_iter().any(Result::unwrap)
        })
    }

    /// Waits until its record of calls holds a text.
    pub(crate) fn keeps(&self, text: &str) {
        self.comes_to(text, true);
    }

    /// Waits until its record of calls holds a text no more.
    pub(crate) fn forgets(&self, text: &str) {
        self.comes_to(text, false);
    }

    fn comes_to(&self, text: &str, is_kept: bool) {
        let until = Instant::now() + PATIENCE;
        while self.remembers(text) != is_kept {
            assert!(Instant::now() < until, "{text:?}: {}", if is_kept { "never kept" } else { "never dropped" });
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Desktop {
    /// The next line of JSON that fits.
    fn line(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = std::fs::read_to_string(&self.states).unwrap();
            while let Some((line, _)) = text[self.read..].split_once('\n') {
                self.read += line.len() + 1;
                let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("only JSON Lines: {line}"));
                if fits(&line) {
                    return line;
                }
            }
            assert!(Instant::now() < until, "{what} never came: {text}\n{}", self.seen);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the connection is in a state.
    pub(crate) fn state(&mut self, state: &str) -> Value {
        self.line(state, |line| line["type"] == "link" && line["state"] == state)
    }

    /// Waits until a call is in a state.
    pub(crate) fn call(&mut self, id: &str, state: &str) -> Value {
        self.line(state, |line| line["type"] == "call" && line["toolCallId"] == id && line["state"] == state)
    }

    /// Waits until the question about a path stands on the terminal; the whole text.
    pub(crate) fn question(&mut self, path: &str) -> String {
        let until = Instant::now() + PATIENCE;
        while !(self.seen.contains(path) && self.seen.contains("[y = yes")) {
            let left = until.saturating_duration_since(Instant::now());
            let more = self.screen.recv_timeout(left);
            self.seen.push_str(&more.unwrap_or_else(|_| panic!("no question about {path}: {}", self.seen)));
        }
        std::mem::take(&mut self.seen)
    }

    /// Whether a question was asked since the last one.
    pub(crate) fn was_asked(&mut self) -> bool {
        self.seen.extend(self.screen.try_iter());
        self.seen.contains("[y = yes")
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Ends the desktop as `kill -9` does, and waits until it is gone.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let id = std::fs::read_to_string(&self.process).unwrap_or_default();
        if let Some(id) = id.trim().parse().ok().and_then(rustix::process::Pid::from_raw) {
            rustix::process::kill_process(id, rustix::process::Signal::KILL).ok();
        }
        self.terminal.wait().ok();
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        self.end();
    }
}

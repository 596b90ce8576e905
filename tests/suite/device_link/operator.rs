//! Starts and ends `nod-server`, as an operator does, and keeps what outlives its process: the database and the address.
#![expect(clippy::disallowed_methods, reason = "the program under test is a process of its own")]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use super::backend::Backends;
use super::client::{Client, PATIENCE};

/// As long as the shortest that is allowed.
const SECRET: &str = "a secret that all replicas share!";

/// A place for servers that share one database.
pub(crate) struct Operator {
    folder: tempfile::TempDir,
    pub(crate) database: String,
    bus: String,
    backends: Option<Backends>,
}

impl Operator {
    /// One process on a file.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("ledger.db").display());
        Self { folder, database, bus: "local".into(), backends: None }
    }

    /// Any number of processes on PostgreSQL and NATS; `None` where those are not installed.
    pub(crate) fn shared() -> Option<Self> {
        let backends = Backends::start()?;
        Some(Self {
            folder: tempfile::tempdir().unwrap(),
            database: backends.database.clone(),
            bus: backends.bus.clone(),
            backends: Some(backends),
        })
    }

    /// PostgreSQL and NATS, where servers share them.
    pub(crate) fn backends(&mut self) -> &mut Backends {
        self.backends.as_mut().unwrap()
    }

    /// Makes a user and gives the token, as the command prints it.
    pub(crate) fn token(&self, user: &str) -> String {
        let text = self.command(&["token", "add", user]);
        text.split_whitespace().next_back().unwrap().to_owned()
    }

    /// Revokes a user's token.
    pub(crate) fn revoke(&self, user: &str) {
        self.command(&["token", "revoke", user]);
    }

    /// A command that ends by itself; what it prints.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let output = self.program().args(words).args(["--database", &self.database]).output().unwrap();
            if output.status.success() {
                return String::from_utf8(output.stdout).unwrap();
            }
            let words = String::from_utf8(output.stderr).unwrap();
            // PostgreSQL takes connections before it takes questions.
            assert!(words.contains("starting up") && Instant::now() < until, "{words}");
        }
    }

    /// What a command that cannot be done says.
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        let output = self.program().args(words).output().unwrap();
        assert!(!output.status.success(), "{words:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Starts a server on a free port, with more options.
    pub(crate) fn serve(&self, options: &[&str]) -> Server {
        self.serve_at("127.0.0.1:0", options)
    }

    /// Starts a server at an address.
    pub(crate) fn serve_at(&self, address: &str, options: &[&str]) -> Server {
        let words = ["serve", "--listen", address, "--database", &self.database, "--bus", &self.bus];
        let mut program = self.program();
        program.args(words).args(options);
        self.start(program)
    }

    /// Starts a server that ends itself by `kill -9` at a step of a call.
    #[cfg(unix)]
    pub(crate) fn serve_killed_at(&self, step: &str) -> Server {
        let words = ["nod-server", "serve", "--dev", "--listen", "127.0.0.1:0", "--database", &self.database];
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", super::step::KILLED, "--nocapture"]);
        program.env(super::step::STEP, step).env(super::step::ARGUMENTS, words.join("\n"));
        self.start(program)
    }

    fn start(&self, mut program: Command) -> Server {
        let log = self.folder.path().join(format!("{}.log", nod_id()));
        let mut child = program
            .stdout(Stdio::piped())
            .stderr(std::fs::File::options().create(true).append(true).open(&log).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains(" listens at ")).unwrap_or_default();
        let read = || std::fs::read_to_string(&log).unwrap();
        let url =
            line.split_whitespace().next_back().unwrap_or_else(|| panic!("it did not start: {}", read())).to_owned();
        let address = url.split_once("://").unwrap().1.parse().unwrap();
        Server { child, url, address, log }
    }

    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod-server"));
        command.env("NOD_SERVER_SECRET", SECRET).env_remove("NOD_LOG").current_dir(self.folder.path());
        command
    }
}

fn nod_id() -> u128 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos()
}

/// A running server. It is killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    log: PathBuf,
}

impl Server {
    /// A user's client of this server.
    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(&self.url, token)
    }

    /// Waits until it has ended, and says whether a `kill -9` was the reason.
    #[cfg(unix)]
    pub(crate) fn ended_by_kill(mut self) -> bool {
        use std::os::unix::process::ExitStatusExt as _;
        self.child.wait().unwrap().signal() == Some(9)
    }

    /// Ends it as `kill -9` does, and waits until it is gone.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, as systemd does, and waits until it has.
    #[cfg(unix)]
    pub(crate) fn terminate(mut self) -> ExitStatus {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    /// A figure of the kernel's: `VmRSS:` what it has in memory, `VmHWM:` the most that it ever had.
    #[cfg(target_os = "linux")]
    pub(crate) fn status_kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Its log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended before.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

//! PostgreSQL and NATS of a test's own: Debian's programs on free loopback ports, with data in a folder that goes with them.
#![expect(clippy::disallowed_methods, reason = "they are processes of their own")]

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long each may take to start on a slow machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Both, running. They are ended when dropped.
pub(crate) struct Backends {
    folder: tempfile::TempDir,
    postgres: Child,
    nats: Child,
    nats_server: PathBuf,
    pub(crate) database: String,
    pub(crate) bus: String,
    bus_address: String,
}

impl Backends {
    /// Starts both; `None` where they are not installed. The project's test script installs them, so there it is a fault.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(None)
    }

    /// The same with a certificate for PostgreSQL and its key, as PEM.
    pub(crate) fn start_with(certificate: Option<(&str, &str)>) -> Option<Self> {
        let (Some(programs), Some(nats_server)) = (postgres_programs(), nats_server()) else {
            assert!(std::env::var_os("CI").is_none(), "postgresql and nats-server are missing");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let own = owner();
        if let Some((user, group)) = own {
            chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        // PostgreSQL does not run as root.
        let as_owner = |program: &Path| {
            let mut command = Command::new(program);
            if let Some((user, group)) = own {
                command.uid(user).gid(group);
            }
            command.current_dir(folder.path()).env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null());
            command
        };
        let made = as_owner(&programs.join("initdb"))
            .args(["--no-sync", "--auth=trust", "--username=nod", "--encoding=UTF8", "--wal-segsize=1", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        if let Some((chain, key)) = certificate {
            for (name, text) in [("server.crt", chain), ("server.key", key)] {
                let path = data.join(name);
                std::fs::write(&path, text).unwrap();
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
                if let Some((user, group)) = own {
                    chown(&path, Some(user), Some(group)).unwrap();
                }
            }
            // Nobody comes in without it.
            let rules = "hostssl all all 127.0.0.1/32 trust\n";
            std::fs::write(data.join("pg_hba.conf"), rules).unwrap();
        }
        let port = free_port().to_string();
        let is_encrypted = if certificate.is_some() { "ssl=on" } else { "ssl=off" };
        let postgres = as_owner(&programs.join("postgres"))
            .args(["-h", "127.0.0.1", "-p", &port, "-c", "unix_socket_directories=", "-c", "fsync=off"])
            .args(["-c", is_encrypted, "-D"])
            .arg(&data)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let bus_address = format!("127.0.0.1:{}", free_port());
        let backends = Self {
            folder,
            postgres,
            nats: start_nats(&nats_server, &bus_address),
            nats_server,
            database: format!("postgres://nod@127.0.0.1:{port}/postgres"),
            bus: format!("nats://{bus_address}"),
            bus_address,
        };
        wait_for(&format!("127.0.0.1:{port}"));
        wait_for(&backends.bus_address);
        Some(backends)
    }

    /// Ends the bus as `kill -9` does.
    pub(crate) fn kill_bus(&mut self) {
        self.nats.kill().unwrap();
        self.nats.wait().unwrap();
    }

    /// Starts it again where it was.
    pub(crate) fn restart_bus(&mut self) {
        self.nats = start_nats(&self.nats_server, &self.bus_address);
        wait_for(&self.bus_address);
    }
}

fn start_nats(program: &Path, address: &str) -> Child {
    let (host, port) = address.split_once(':').unwrap();
    let mut command = Command::new(program);
    command.args(["-a", host, "-p", port]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

impl Drop for Backends {
    fn drop(&mut self) {
        for child in [&mut self.postgres, &mut self.nats] {
            // A quick end: SIGINT for PostgreSQL, which takes its own children with it.
            let id = rustix::process::Pid::from_child(child);
            rustix::process::kill_process(id, rustix::process::Signal::INT).ok();
            child.wait().ok();
        }
        assert!(self.folder.path().exists());
    }
}

/// User and group that PostgreSQL runs as; `None` when this is an ordinary user already.
fn owner() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:")).expect("Debian's package makes the user");
    let mut fields = line.split(':').skip(2).map(|field| field.parse().unwrap());
    Some((fields.next().unwrap(), fields.next().unwrap()))
}

/// Debian keeps them out of the way, one folder a version.
fn postgres_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    versions.map(|version| version.unwrap().path().join("bin")).find(|bin| bin.join("postgres").is_file())
}

fn nats_server() -> Option<PathBuf> {
    ["/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"]
        .into_iter()
        .map(PathBuf::from)
        .find(|program| program.is_file())
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

fn wait_for(address: &str) {
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(address).is_err() {
        assert!(Instant::now() < until, "nobody answers at {address}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

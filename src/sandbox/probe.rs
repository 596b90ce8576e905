//! Which confinement this computer really has: every tier is set up, attacked from within, and believed only as far as
//! nothing got through.

use std::fs;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::attack::{Claim, Targets, file, started_at};
use super::{ATTACK_ARGUMENT, Bubblewrap, CommandSpec, Confine, Ending, Place, SandboxError, Treatment, run};
use crate::ir::{Confinement, Leak, Network, Obstacle, ObstacleKind, Tier};

/// What the probe found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The tier that held, its gaps, and what is in the way of better ones.
    pub confinement: Confinement,
    /// The bubblewrap that tier A uses.
    pub bubblewrap: Option<Bubblewrap>,
}

/// How long one attack may take: it takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tries the tiers from the best down and gives the first that held. Blocks for a fraction of a second. `helper` is this
/// very program; `bubblewraps` are where a bubblewrap may be, usually [`super::BUBBLEWRAP_PATHS`].
pub fn probe(helper: &Path, bubblewraps: &[PathBuf]) -> Found {
    let mut obstacles = Vec::new();
    for tier in tiers() {
        let bubblewrap = match tier {
            Tier::A => Bubblewrap::find(bubblewraps),
            Tier::B | Tier::Seatbelt | Tier::Unconfined => None,
        };
        match hold(*tier, bubblewrap.as_ref(), helper) {
            Ok(gaps) => return Found { confinement: Confinement { tier: *tier, gaps, obstacles }, bubblewrap },
            Err((kind, detail)) => obstacles.push(Obstacle { tier: *tier, kind, detail }),
        }
    }
    if obstacles.is_empty() {
        let detail = std::env::consts::OS.to_owned();
        obstacles.push(Obstacle { tier: Tier::A, kind: ObstacleKind::System, detail });
    }
    let gaps = Leak::ALL.to_vec();
    Found { confinement: Confinement { tier: Tier::Unconfined, gaps, obstacles }, bubblewrap: None }
}

fn tiers() -> &'static [Tier] {
    if cfg!(target_os = "linux") {
        &[Tier::A, Tier::B]
    } else if cfg!(target_os = "macos") {
        &[Tier::Seatbelt]
    } else {
        &[]
    }
}

/// Attacks a tier. Gives the known gaps that were seen.
fn hold(tier: Tier, bubblewrap: Option<&Bubblewrap>, helper: &Path) -> Result<Vec<Leak>, (ObstacleKind, String)> {
    if tier == Tier::A && bubblewrap.is_none() {
        return Err((ObstacleKind::NoBubblewrap, "bwrap".to_owned()));
    }
    check_landlock(tier)?;
    let leaks = attack(tier, Network::Denied, bubblewrap, helper).map_err(|error| match error {
        SandboxError::Confinement { message } if tier == Tier::A => (ObstacleKind::BubblewrapFailed, message),
        SandboxError::Confinement { .. }
        | SandboxError::Unsupported
        | SandboxError::Io { .. }
        | SandboxError::Start { .. }
        | SandboxError::HelperLost => (ObstacleKind::ProbeFailed, error.to_string()),
    })?;
    let unknown: Vec<String> =
        leaks.iter().filter(|leak| !tier.known_gaps().contains(leak)).map(|leak| format!("{leak:?}")).collect();
    if unknown.is_empty() { Ok(leaks) } else { Err((ObstacleKind::Leaks, unknown.join(", "))) }
}

/// Both of Linux's tiers stand on Landlock, tier B on a version that knows truncation.
#[cfg(target_os = "linux")]
fn check_landlock(tier: Tier) -> Result<(), (ObstacleKind, String)> {
    const NEEDED: u32 = 3;
    match (super::ruleset::version(), tier) {
        (0, _) => Err((ObstacleKind::NoLandlock, "Landlock".to_owned())),
        (version, Tier::B) if version < NEEDED => {
            Err((ObstacleKind::OldLandlock, format!("Landlock ABI {version} < {NEEDED}")))
        }
        (_, Tier::A | Tier::B | Tier::Seatbelt | Tier::Unconfined) => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn check_landlock(_tier: Tier) -> Result<(), (ObstacleKind, String)> {
    Ok(())
}

/// Runs the attack in this tier, with or without the network, and gives all that got through, by what was seen and what it
/// says itself.
///
/// # Errors
/// When the tier could not be set up, or the attack did not run to its end: nothing is known then.
pub fn attack(
    tier: Tier,
    network: Network,
    bubblewrap: Option<&Bubblewrap>,
    helper: &Path,
) -> Result<Vec<Leak>, SandboxError> {
    let io = |source| SandboxError::Io { action: "preparing the probe", source };
    let scene = Scene::lay_out().map_err(io)?;
    let program = match tier {
        #[cfg(target_os = "linux")]
        Tier::A => super::bubblewrap::INNER_PROGRAM.to_owned(),
        #[cfg(not(target_os = "linux"))]
        Tier::A => return Err(SandboxError::Unsupported),
        Tier::B | Tier::Seatbelt | Tier::Unconfined => helper.display().to_string(),
    };
    let targets = serde_json::to_string(&scene.targets).map_err(|error| io(error.into()))?;
    let command = format!("exec {} {ATTACK_ARGUMENT} {}", quoted(&program), quoted(&targets));
    let mut spec = spec(command, &scene.targets.inside, tier, bubblewrap).map_err(io)?;
    spec.confine.network = network;
    let outcome = run(&spec, helper, &CancellationToken::new(), &mut |_, _| {})?;
    let claim = serde_json::from_str::<Claim>(outcome.stdout.text.trim()).ok();
    match claim.filter(|claim| claim.writes_inside && outcome.ending == Ending::Exited(0)) {
        Some(claim) => Ok(scene.judge(&claim)),
        None => Err(SandboxError::Start {
            message: format!("the probe ended with {:?}: {}", outcome.ending, outcome.stderr.text.trim()),
        }),
    }
}

/// Whether a tier can be set up now: a command that does nothing is really run in it.
pub fn starts(tier: Tier, bubblewrap: Option<&Bubblewrap>, helper: &Path) -> bool {
    let ran = Scene::empty_folder().and_then(|folder| {
        let spec = spec(":".to_owned(), folder.path(), tier, bubblewrap)?;
        run(&spec, helper, &CancellationToken::new(), &mut |_, _| {}).map_err(io::Error::other)
    });
    ran.is_ok_and(|outcome| outcome.ending == Ending::Exited(0))
}

fn spec(command: String, folder: &Path, tier: Tier, bubblewrap: Option<&Bubblewrap>) -> io::Result<CommandSpec> {
    // The kernel knows folders by their real paths.
    let path = folder.canonicalize()?;
    Ok(CommandSpec {
        command,
        cwd: fs::File::open(&path)?,
        cwd_path: path.clone(),
        timeout: PATIENCE,
        output_bytes: 64 * 1024,
        confine: Confine {
            tier,
            network: Network::Denied,
            bubblewrap: bubblewrap.cloned(),
            places: vec![Place { handle: fs::File::open(&path)?, path, treatment: Treatment::Writable }],
            ..Confine::default()
        },
    })
}

/// A word of a shell's command line, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The files and sockets that an attack is let loose on.
struct Scene {
    _folder: TempDir,
    targets: Targets,
    tcp: TcpListener,
    udp: UdpSocket,
    stream: UnixListener,
    datagram: UnixDatagram,
    _abstract: Option<UnixListener>,
}

impl Scene {
    fn empty_folder() -> io::Result<TempDir> {
        tempfile::Builder::new().prefix("nod-probe-").permissions(fs::Permissions::from_mode(0o700)).tempdir()
    }

    fn lay_out() -> io::Result<Self> {
        let folder = Self::empty_folder()?;
        // The kernel knows folders by their real paths.
        let real = folder.path().canonicalize()?;
        let (inside, outside) = (real.join("inside"), real.join("outside"));
        fs::create_dir(&inside)?;
        fs::create_dir(&outside)?;
        for name in [
            file::APPENDED,
            file::TRUNCATED,
            file::REMOVED,
            file::LINKED,
            file::HARD_LINKED,
            file::MOVED,
            file::MODE,
            file::TIMES,
            file::SECRET,
        ] {
            fs::write(outside.join(name), CONTENT)?;
            fs::set_permissions(outside.join(name), fs::Permissions::from_mode(MODE))?;
        }
        std::os::unix::fs::symlink(outside.join(file::LINKED), inside.join("link"))?;
        let tcp = TcpListener::bind(("127.0.0.1", 0))?;
        let udp = UdpSocket::bind(("127.0.0.1", 0))?;
        let stream = UnixListener::bind(outside.join(file::STREAM))?;
        let datagram = UnixDatagram::bind(outside.join(file::DATAGRAM))?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        stream.set_nonblocking(true)?;
        datagram.set_nonblocking(true)?;
        let abstract_name = format!("nod-probe-{}-{}", std::process::id(), tcp.local_addr()?.port());
        let targets = Targets {
            inside,
            outside,
            app: std::process::id(),
            app_started: started_at(std::process::id()).unwrap_or_default(),
            tcp_port: tcp.local_addr()?.port(),
            udp_port: udp.local_addr()?.port(),
            abstract_name: abstract_name.clone(),
        };
        Ok(Self { _folder: folder, targets, tcp, udp, stream, datagram, _abstract: listen_abstractly(&abstract_name)? })
    }

    /// What got through: what can be seen from here, and of the rest what the attack says.
    fn judge(&self, claim: &Claim) -> Vec<Leak> {
        Leak::ALL.into_iter().filter(|leak| claim.leaks.contains(leak) || self.shows(*leak)).collect()
    }

    fn shows(&self, leak: Leak) -> bool {
        let outside = |name: &str| self.targets.outside.join(name);
        let is_changed = |name: &str| fs::read(outside(name)).ok().as_deref() != Some(CONTENT.as_bytes());
        let metadata = |name: &str| fs::metadata(outside(name)).ok();
        match leak {
            Leak::CreateOutside => outside(file::CREATED).exists(),
            Leak::AppendOutside => is_changed(file::APPENDED),
            Leak::TruncateOutside => is_changed(file::TRUNCATED),
            Leak::RemoveOutside => is_changed(file::REMOVED),
            Leak::WriteThroughLink => is_changed(file::LINKED),
            Leak::HardLink => metadata(file::HARD_LINKED).is_none_or(|data| data.nlink() != 1),
            Leak::MoveInside => is_changed(file::MOVED),
            Leak::ChangeMode => metadata(file::MODE).is_none_or(|data| data.permissions().mode() & 0o7777 != MODE),
            Leak::ChangeTimes => metadata(file::TIMES).is_none_or(|data| data.mtime() < 2),
            Leak::ConnectTcp => self.tcp.accept().is_ok(),
            Leak::SendUdp => self.udp.recv(&mut [0; 8]).is_ok(),
            Leak::ConnectUnix => self.stream.accept().is_ok(),
            Leak::SendUnix => self.datagram.recv(&mut [0; 8]).is_ok(),
            Leak::ReadOutside
            | Leak::ReadApp
            | Leak::ConnectAbstract
            | Leak::OtherSocket
            | Leak::Signal
            | Leak::Trace
            | Leak::UserNamespace
            | Leak::Capability
            | Leak::IoUring
            | Leak::KeyRing => false,
        }
    }
}

const CONTENT: &str = "untouched\n";
const MODE: u32 = 0o600;

#[cfg(target_os = "linux")]
fn listen_abstractly(name: &str) -> io::Result<Option<UnixListener>> {
    use std::os::linux::net::SocketAddrExt as _;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
    UnixListener::bind_addr(&address).map(Some)
}

#[cfg(not(target_os = "linux"))]
fn listen_abstractly(_name: &str) -> io::Result<Option<UnixListener>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_stays_one_word() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's; $(x)"), r"'it'\''s; $(x)'");
    }
}

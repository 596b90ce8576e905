//! Puts a server together, says where it listens, and takes it down in order.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the address when ready, and warnings before that")]

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::{ConfiguredProviders, Keys, Place, ProviderSource as _, system_clock};
use crate::ir::Clock;
use crate::port::Settings;
use crate::provider::Provider;
use crate::secret::{MemoryVault, SecretKey};

use super::agent::Agent;
use super::args::Serve;
use super::bus;
use super::caller::Caller;
use super::connection::Connections;
use super::door;
use super::heart::Heart;
use super::http::{House, router};
use super::ledger;
use super::listener::{TlsListener, acceptor};
use super::metrics::Metrics;
use super::running::Running;
use super::service::{Calls, Series, unique};
use super::socket::Pace;
use super::ticket::Tickets;

/// How long runs and sockets may take to end when the server goes down.
const GOODBYE: Duration = Duration::from_secs(10);
/// How long a connection may be without a request. Longer than clients keep one that they do not use: they close it first.
const IDLE_WAIT: Duration = Duration::from_secs(100);
/// So many that two places are never taken for one.
const PLACE_LETTERS: usize = 16;
/// Shorter secrets can be guessed.
const SHORTEST_SECRET: usize = 32;

/// Serves until interrupted. `beside` is given the way to the devices when the server listens.
///
/// # Errors
/// In words for the operator.
pub(super) async fn serve(options: &Serve, beside: impl FnOnce(Caller)) -> Result<(), String> {
    start_log();
    for warning in options.warnings() {
        eprintln!("nod-server: warning: {warning}");
    }
    let secret = secret(options)?;
    raise_file_limit();
    let clock = system_clock();
    let tcp = TcpListener::bind(options.listen).await.map_err(|error| format!("{}: {error}", options.listen))?;
    let address = tcp.local_addr().map_err(|error| error.to_string())?;
    let ledger = ledger::open(&options.database.database).await.map_err(|error| error.to_string())?;
    let connections = Arc::new(Connections::default());
    let bus = bus::join(&options.bus, Arc::clone(&connections) as Arc<dyn bus::Listener>)
        .await
        .map_err(|error| error.to_string())?;
    // This address is this process's alone in its network: whoever had it before has ended, however short ago. With one
    // process per database, everybody else has.
    let place = network().map(|network| place(&network, address));
    let place_before = if options.is_alone() { Some("") } else { place.as_deref() };
    if let Some(before) = place_before {
        ledger.succeed(before).await.map_err(|error| error.to_string())?;
    }
    let replica = format!("{}{}/{}", place.unwrap_or_default(), host_name(), unique());
    let running = Running::default();
    let heart =
        Heart::new(Arc::clone(&ledger), Arc::clone(&connections), running.clone(), Arc::clone(&clock), replica.clone());
    let alive = heart.start().await.map_err(|error| error.to_string())?;
    let calls = Arc::new(Calls {
        ledger: Arc::clone(&ledger),
        connections,
        bus,
        metrics: Arc::new(Metrics::default()),
        clock: Arc::clone(&clock),
        replica,
        dispatches: Series::default(),
        wait: options.wait(),
    });
    let provider = provider(options, Arc::clone(&clock)).await?;
    let tls = match (&options.tls_cert, &options.tls_key) {
        (Some(certificate), Some(key)) => Some(acceptor(certificate, key)?),
        (Some(_) | None, _) => None,
    };
    let (runs, stop) = (TaskTracker::new(), CancellationToken::new());
    let (sockets, end) = (TaskTracker::new(), CancellationToken::new());
    let house = Arc::new(House {
        agent: Agent { provider, model: options.model.clone(), calls: Arc::clone(&calls), ledger, clock },
        calls,
        tickets: Tickets::new(&secret),
        origins: options.origin.clone(),
        pace: Pace {
            heartbeat: Duration::from_secs(options.heartbeat_seconds),
            silence: Duration::from_secs(options.silence_seconds),
        },
        is_dev: options.dev,
        open_metrics: options.listen.ip().is_loopback(),
        runs: runs.clone(),
        running,
        stop: stop.clone(),
        sockets: sockets.clone(),
        end: end.clone(),
    });
    let scheme = if tls.is_some() { "https" } else { "http" };
    println!("nod-server listens at {scheme}://{address}");
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    beside(Caller::new(Arc::clone(&house.calls)));
    let router = router(house);
    let served = async {
        if let Some(acceptor) = tls {
            door::serve(TlsListener::new(tcp, acceptor)?, router, IDLE_WAIT, end.clone()).await;
        } else {
            // Frames are small, and somebody waits for each.
            let tcp = tcp.tap_io(|stream| drop(stream.set_nodelay(true)));
            door::serve(tcp, router, IDLE_WAIT, end.clone()).await;
        }
        Ok::<(), std::io::Error>(())
    };
    let served = async {
        tokio::select! {
            served = served => served,
            () = async { end.cancelled().await; tokio::time::sleep(GOODBYE).await } => {
                tracing::warn!("some clients kept their connections open");
                Ok(())
            }
        }
    };
    // First the runs, which take their calls back over the sockets; then the sockets; then the doors.
    let going_down = async {
        interrupted().await;
        tracing::info!("going down");
        stop.cancel();
        runs.close();
        if tokio::time::timeout(GOODBYE, runs.wait()).await.is_err() {
            tracing::warn!("some runs did not end in time; they are marked interrupted at the next start");
        }
        end.cancel();
        sockets.close();
        if tokio::time::timeout(GOODBYE, sockets.wait()).await.is_err() {
            tracing::warn!("some devices did not hear that the server goes down");
        }
        Ok(())
    };
    tokio::try_join!(served, going_down).map_err(|error| error.to_string())?;
    drop(alive);
    Ok(())
}

/// The agent's model. Its key comes from the variable that was named, else from the vendor's usual one.
async fn provider(options: &Serve, clock: Clock) -> Result<Arc<dyn Provider>, String> {
    let key = match &options.api_key_env {
        Some(variable) => {
            let key = std::env::var(variable).ok().and_then(|text| SecretKey::new(&text));
            Some(key.ok_or_else(|| format!("the environment variable {variable} holds no key"))?)
        }
        None => None,
    };
    let place = Place { base_url: options.base_url.as_deref(), api_key: key.as_ref() };
    let source = ConfiguredProviders { clock, keys: Arc::new(Keys::new(Arc::new(MemoryVault::default()))) };
    source.provider(&options.provider, place, &Settings::default()).await.map_err(|error| error.message)
}

/// The network in which one process at a time listens at an address: that of this start of this computer, and of this
/// container. Names would not do: containers and computers may have equal ones. `None` where the system does not say; who
/// was here before is then found gone as every other process is, by its silence.
fn network() -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        let start = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let network = std::fs::read_link("/proc/self/ns/net").ok()?;
        Some(format!("{} {}", start.trim(), network.display()))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// How the name of every process begins that listens at an address of a network. Short: each dispatch carries it.
fn place(network: &str, address: SocketAddr) -> String {
    let mut name = hex::encode(Sha256::digest(format!("{network} {address}")));
    name.truncate(PLACE_LETTERS);
    name.push('/');
    name
}

/// This computer's name, for whoever reads the log.
fn host_name() -> String {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    return std::env::var("COMPUTERNAME").unwrap_or_default();
}

fn secret(options: &Serve) -> Result<Vec<u8>, String> {
    let variable = &options.secret_env;
    match std::env::var(variable) {
        Ok(secret) if secret.len() >= SHORTEST_SECRET => Ok(secret.into_bytes()),
        Ok(_) => Err(format!("the secret in {variable} is shorter than {SHORTEST_SECRET} characters")),
        Err(_) if !options.is_alone() => Err(format!(
            "processes on one --bus let the same devices in, and must sign tickets with one secret: give each of them the \
             same {SHORTEST_SECRET} random characters or more in the environment variable {variable}"
        )),
        Err(_) => {
            let mut bytes = vec![0; SHORTEST_SECRET];
            getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
            Ok(bytes)
        }
    }
}

/// As many open files as the operator allows: each device is one.
fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            limit.current = limit.maximum;
            if let Err(error) = setrlimit(Resource::Nofile, limit) {
                tracing::warn!(%error, "the limit of open files could not be raised");
            }
        }
    }
}

fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("NOD_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    // A second start in one process (a test) keeps the first one's log.
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).try_init().ok();
}

/// Ctrl+C, or the system's request to end.
async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = tokio::signal::ctrl_c() => {}
                    _ = terminate.recv() => {}
                }
            }
            Err(_) => drop(tokio::signal::ctrl_c().await),
        }
    }
    #[cfg(not(unix))]
    drop(tokio::signal::ctrl_c().await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_at_the_same_address_of_another_network_is_not_who_was_here_before() {
        let everywhere: SocketAddr = "0.0.0.0:8080".parse().unwrap();
        let here = place("start net:[1]", everywhere);
        assert_eq!(here, place("start net:[1]", everywhere));
        for (network, address) in
            [("start net:[2]", "0.0.0.0:8080"), ("again net:[1]", "0.0.0.0:8080"), ("start net:[1]", "0.0.0.0:8081")]
        {
            let other = place(network, address.parse().unwrap());
            assert!(!other.starts_with(&here) && !here.starts_with(&other), "{network} {address}");
        }
        assert_eq!(network().is_some(), cfg!(target_os = "linux"));
        assert_eq!(network(), network());
    }
}

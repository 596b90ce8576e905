//! The command line of `nod-server`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::engine::system_clock;

use crate::link::thread::rfc3339;

use super::caller::Caller;
use super::ledger;
use super::serve::serve;
use super::token::{new_token, token_hash};

/// The bus of one process.
const LOCAL_BUS: &str = "local";

/// An agent on a server that uses a person's computer, with the person's yes.
#[derive(Parser)]
#[command(
    name = "nod-server",
    version,
    after_help = "Example, from nothing to a connected desktop:\n  \
    nod-server token add ann --database sqlite:nod-server.db\n  \
    nod-server serve --database sqlite:nod-server.db --provider ollama --model qwen3\n  \
    NOD_TOKEN=… nod link --server http://127.0.0.1:8787 --token-env NOD_TOKEN --workspace ~/project"
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Serve users and their devices until interrupted.
    Serve(Box<Serve>),
    /// Make, list and revoke user tokens.
    #[command(subcommand)]
    Token(TokenTask),
}

/// How to serve.
#[derive(Args)]
pub(super) struct Serve {
    /// Where to listen. Anything but loopback wants TLS, by --tls-cert or by a proxy in front.
    #[arg(long, default_value = "127.0.0.1:8787")]
    pub(super) listen: SocketAddr,
    #[command(flatten)]
    pub(super) database: Database,
    /// How several processes find each other: local (one process) or nats://HOST:PORT.
    #[arg(long, default_value = LOCAL_BUS)]
    pub(super) bus: String,
    /// PEM file with the server's certificate chain.
    #[arg(long, requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,
    /// PEM file with its private key.
    #[arg(long, requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,
    /// The model's provider: ollama, openai, deepseek, agnes-ai, anthropic, openai-compatible, …
    #[arg(long, default_value = "ollama")]
    pub(super) provider: String,
    /// Its address, where it is not the usual one.
    #[arg(long)]
    pub(super) base_url: Option<String>,
    /// The model. Without one, tools and threads work and runs are refused.
    #[arg(long, default_value = "")]
    pub(super) model: String,
    /// The environment variable that holds the provider's key.
    #[arg(long)]
    pub(super) api_key_env: Option<String>,
    /// How long the result of a call is waited for.
    #[arg(long, default_value_t = 120)]
    pub(super) tool_wait_seconds: u64,
    /// How often a device gives a sign of life.
    #[arg(long, default_value_t = 15)]
    pub(super) heartbeat_seconds: u64,
    /// Silence after which a connection is closed.
    #[arg(long, default_value_t = 45)]
    pub(super) silence_seconds: u64,
    /// An Origin that a browser may connect from; repeatable. Desktops send none.
    #[arg(long)]
    pub(super) origin: Vec<String>,
    /// Open the developer's endpoint: calls of tools without a model.
    #[arg(long)]
    pub(super) dev: bool,
    /// The environment variable that holds the secret which tickets are signed with; several processes must share one.
    /// Without it, a secret is made at each start.
    #[arg(long, default_value = "NOD_SERVER_SECRET")]
    pub(super) secret_env: String,
}

#[derive(Args)]
pub(super) struct Database {
    /// Where the ledger is: sqlite:PATH or postgres://USER@HOST/NAME.
    #[arg(long, default_value = "sqlite:nod-server.db", env = "NOD_SERVER_DATABASE", hide_env_values = true)]
    pub(super) database: String,
}

#[derive(Subcommand)]
enum TokenTask {
    /// Make a token for a user; it is printed once, as the last word.
    Add {
        /// The user.
        name: String,
        #[command(flatten)]
        database: Database,
    },
    /// List the tokens; the tokens themselves are not kept.
    List {
        #[command(flatten)]
        database: Database,
    },
    /// Revoke a user's token.
    Revoke {
        /// The user.
        name: String,
        #[command(flatten)]
        database: Database,
    },
}

/// Runs the program.
pub fn run() -> ExitCode {
    run_with(std::env::args_os(), |_caller| {})
}

/// Runs the program with these arguments, its own name first, and with calls of its own beside those of its clients: when a
/// server listens, `beside` is given the way to the devices, in the runtime that serves them.
pub fn run_with(arguments: impl IntoIterator<Item = OsString>, beside: impl FnOnce(Caller)) -> ExitCode {
    let arguments = Arguments::parse_from(arguments);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("nod-server: the threads could not be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let done = runtime.block_on(async {
        match arguments.task {
            Task::Serve(options) => serve(&options, beside).await,
            Task::Token(task) => token(task).await,
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("nod-server: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn token(task: TokenTask) -> Result<(), String> {
    let words = |error: ledger::LedgerError| error.to_string();
    let now = system_clock()();
    match task {
        TokenTask::Add { name, database } => {
            let token = new_token().map_err(|error| error.to_string())?;
            let ledger = ledger::open(&database.database).await.map_err(words)?;
            ledger.add_token(&name, &token_hash(&token), now).await.map_err(words)?;
            println!("The token of {name}, shown only now: {token}");
        }
        TokenTask::List { database } => {
            for row in ledger::open(&database.database).await.map_err(words)?.tokens().await.map_err(words)? {
                let made = rfc3339(row.created_at);
                match row.revoked_at {
                    Some(at) => println!("{}  made {made}  revoked {}", row.name, rfc3339(at)),
                    None => println!("{}  made {made}", row.name),
                }
            }
        }
        TokenTask::Revoke { name, database } => {
            let ledger = ledger::open(&database.database).await.map_err(words)?;
            if !ledger.revoke_token(&name, now).await.map_err(words)? {
                return Err(format!("there is no token of {name} that still counts"));
            }
            println!("The token of {name} no longer counts.");
        }
    }
    Ok(())
}

impl Serve {
    /// Whether this process has its database for itself.
    pub(super) fn is_alone(&self) -> bool {
        self.bus == LOCAL_BUS
    }

    /// How long the result of a call is waited for.
    pub(super) fn wait(&self) -> Duration {
        Duration::from_secs(self.tool_wait_seconds)
    }

    /// What is odd about the times, in words; it works all the same.
    pub(super) fn warnings(&self) -> Vec<String> {
        // A person has 60 s, a tool 10 s, and 5 s are spare.
        const INNER_SECONDS: u64 = 75;
        let mut warnings = Vec::new();
        if self.tool_wait_seconds < INNER_SECONDS {
            warnings.push(format!(
                "--tool-wait-seconds {} is shorter than the {INNER_SECONDS} s that a person and the tool may take: some \
                 calls will be given up while the person still thinks.",
                self.tool_wait_seconds
            ));
        }
        if self.silence_seconds < 2 * self.heartbeat_seconds {
            warnings.push(format!(
                "--silence-seconds {} leaves no room for one lost sign of life every {} s.",
                self.silence_seconds, self.heartbeat_seconds
            ));
        }
        if self.is_alone() && self.database.database.starts_with("postgres") {
            warnings.push(
                "--bus local with PostgreSQL is for one process alone: with each start of another on the same database, \
                 calls and runs of the first count as ended. For several processes use --bus nats://HOST:PORT."
                    .to_owned(),
            );
        }
        if !self.listen.ip().is_loopback() && self.tls_cert.is_none() {
            warnings.push("listening beyond this machine without TLS: put a proxy with TLS in front.".to_owned());
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(words: &[&str]) -> Vec<String> {
        let arguments = ["nod-server", "serve"].iter().chain(words);
        match Arguments::try_parse_from(arguments).unwrap().task {
            Task::Serve(options) => options.warnings(),
            Task::Token(_) => panic!("it serves"),
        }
    }

    #[test]
    fn a_database_for_many_with_the_bus_of_one_is_warned_of() {
        assert_eq!(warnings(&["--database", "sqlite:x.db"]), [""; 0]);
        assert_eq!(warnings(&["--database", "postgres://x", "--bus", "nats://x"]), [""; 0]);
        let said = warnings(&["--database", "postgres://x"]);
        assert!(said.len() == 1 && said[0].contains("--bus local"), "{said:?}");
    }
}

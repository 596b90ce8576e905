//! The only door to child processes: start, confinement, limits, capture, and the end of the whole process tree.
//!
//! It makes no policy decision. A command runs under a helper stage of this same program (`nod __run`), which is a child
//! subreaper: whatever the command starts, `setsid` or not, ends with it. On Linux the stage sets up the kernel's walls:
//! bubblewrap's namespaces with Landlock and seccomp within them (tier A), or Landlock and seccomp alone (tier B).
//! `probe` attacks each tier from within and believes only what held.
#![expect(
    clippy::disallowed_methods,
    reason = "this room starts processes, keeps their time-outs, and lays out its probe"
)]

mod capture;
mod environment;
mod spec;

#[cfg(unix)]
mod attack;
#[cfg(unix)]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod capability;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(unix)]
mod channel;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(unix)]
mod lease;
#[cfg(unix)]
mod limit;
#[cfg(target_os = "linux")]
mod namespace;
mod place;
#[cfg(unix)]
mod probe;
#[cfg(target_os = "linux")]
mod ruleset;
#[cfg(unix)]
mod run;
#[cfg(any(test, target_os = "macos"))]
mod seatbelt;
#[cfg(unix)]
mod shell;
#[cfg(unix)]
mod stage;
#[cfg(unix)]
mod tree;
#[cfg(not(unix))]
mod unsupported;

pub use capture::Captured;
pub use environment::{INNER_TEMPORARY_FOLDER, PRIVATE_FOLDER, environment};
pub use place::{Confine, Hidden, MOST_PLACES, Place, Treatment, content_in_memory};
pub use spec::{CommandOutcome, CommandSpec, Ending, SandboxError, signal_name};

#[cfg(unix)]
pub use bubblewrap::{BUBBLEWRAP_PATHS, Bubblewrap};
#[cfg(unix)]
pub use lease::{Lease, NoLease, lease};
#[cfg(unix)]
pub use limit::raise_open_files;
#[cfg(unix)]
pub use probe::{Found, attack, probe, starts};
#[cfg(unix)]
pub use run::run;
#[cfg(unix)]
pub use stage::run_stage;
#[cfg(not(unix))]
pub use unsupported::{BUBBLEWRAP_PATHS, Bubblewrap, Found, attack, probe, raise_open_files, run, run_stage, starts};

/// The hidden first argument that starts this program as the helper stage.
#[cfg(unix)]
const HELPER_ARGUMENT: &str = "__run";
/// The same for the stage within bubblewrap.
#[cfg(target_os = "linux")]
const INNER_ARGUMENT: &str = "__confined";
/// The same for the probe's attack.
#[cfg(unix)]
const ATTACK_ARGUMENT: &str = "__attack";

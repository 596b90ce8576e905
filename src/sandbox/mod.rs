//! The only door to child processes: start, limits, capture, and the end of the whole process tree.
//!
//! It makes no policy decision. A command runs under a helper stage of this same program (`nod __run`), which is a child
//! subreaper: whatever the command starts, `setsid` or not, ends with it. Kernel confinement (bubblewrap, Landlock,
//! seccomp) joins at that stage.
#![expect(clippy::disallowed_methods, reason = "this room starts processes and keeps their time-outs")]

mod capture;
mod environment;
mod spec;

#[cfg(unix)]
mod channel;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod stage;
#[cfg(unix)]
mod tree;

pub use capture::Captured;
pub use environment::{PRIVATE_FOLDER, environment};
pub use spec::{CommandOutcome, CommandSpec, Ending, SandboxError, signal_name};

#[cfg(unix)]
pub use run::run;
#[cfg(unix)]
pub use stage::helper_main;

/// The hidden first argument that starts this program as the helper stage.
pub const HELPER_ARGUMENT: &str = "__run";

/// Commands need a helper stage that this system does not have yet.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn run(
    _spec: &CommandSpec,
    _helper: &std::path::Path,
    _cancel: &tokio_util::sync::CancellationToken,
    _on_output: &mut dyn FnMut(bool, &str),
) -> Result<CommandOutcome, SandboxError> {
    Err(SandboxError::Unsupported)
}

/// There is no helper stage on this system.
#[cfg(not(unix))]
pub fn helper_main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}

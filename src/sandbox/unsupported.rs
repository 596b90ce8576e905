//! What this room offers where commands cannot be run yet: that they cannot.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tokio_util::sync::CancellationToken;

use super::{CommandOutcome, CommandSpec, SandboxError};
use crate::ir::{Confinement, Leak, Network, Obstacle, ObstacleKind, Tier};

/// There is no bubblewrap on this system.
pub const BUBBLEWRAP_PATHS: &[&str] = &[];

/// There is no bubblewrap on this system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bubblewrap {}

/// What the probe found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Nothing, and why.
    pub confinement: Confinement,
    /// There is none.
    pub bubblewrap: Option<Bubblewrap>,
}

/// Finds that nothing confines commands here.
pub fn probe(_helper: &Path, _bubblewraps: &[PathBuf]) -> Found {
    let obstacle = Obstacle { tier: Tier::A, kind: ObstacleKind::System, detail: std::env::consts::OS.to_owned() };
    let confinement = Confinement { tier: Tier::Unconfined, gaps: Leak::ALL.to_vec(), obstacles: vec![obstacle] };
    Found { confinement, bubblewrap: None }
}

/// Nothing can be set up here.
pub fn starts(_tier: Tier, _bubblewrap: Option<&Bubblewrap>, _helper: &Path) -> bool {
    false
}

/// There is nothing to attack.
///
/// # Errors
/// Always.
pub fn attack(
    _tier: Tier,
    _network: Network,
    _bubblewrap: Option<&Bubblewrap>,
    _helper: &Path,
) -> Result<Vec<Leak>, SandboxError> {
    Err(SandboxError::Unsupported)
}

/// Commands need a helper stage that this system does not have yet.
///
/// # Errors
/// Always.
pub fn run(
    _spec: &CommandSpec,
    _helper: &Path,
    _cancel: &CancellationToken,
    _on_output: &mut dyn FnMut(bool, &str),
) -> Result<CommandOutcome, SandboxError> {
    Err(SandboxError::Unsupported)
}

/// There are no stages on this system.
pub fn run_stage(_argument: &OsStr) -> Option<ExitCode> {
    None
}

/// Nothing is held open here.
pub fn raise_open_files() {}

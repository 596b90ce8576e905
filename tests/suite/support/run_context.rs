//! What a tool gets beside its permit, where a test runs it without the gate.

use std::path::PathBuf;

use nod::policy::{Platform, Surroundings};
use nod::tool::{CommandWalls, GuardLog, Limits, RunContext};
use tokio_util::sync::CancellationToken;

/// Nothing around, nothing lifted or withheld, nothing logged, and no helper for commands.
pub(crate) fn run_context() -> RunContext {
    RunContext {
        cancel: CancellationToken::new(),
        limits: Limits::default(),
        progress: Box::new(|_| ()),
        helper: PathBuf::new(),
        surroundings: Surroundings { home: None, data_dir: None, platform: Platform::current() },
        lifted: Vec::new(),
        withheld: None,
        walls: CommandWalls::default(),
        guard_log: GuardLog::default(),
    }
}

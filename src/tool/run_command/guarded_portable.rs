//! A command at work where nothing can be watched: nothing confines it there either.

use crate::sandbox::{self, CommandOutcome, CommandSpec, SandboxError};
use crate::tool::{Progress, RunContext};
use crate::workspace::{Guard, GuardRecord, Watched};

/// Runs it to its end.
pub(super) fn run(
    spec: &CommandSpec,
    _guard: Option<&mut Guard>,
    _record: Option<&GuardRecord>,
    context: &RunContext,
) -> (Result<CommandOutcome, SandboxError>, Watched) {
    let mut on_output =
        |is_stderr, text: &str| (context.progress)(Progress::Output { is_stderr, text: text.to_owned() });
    (sandbox::run(spec, &context.helper, &context.cancel, &mut on_output), Watched::default())
}

//! A command at work, watched from beside it: what other programs would pick up meanwhile stops it.
#![cfg(unix)]

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use crate::sandbox::{self, CommandOutcome, CommandSpec, SandboxError};
use crate::tool::{Progress, RunContext};
use crate::workspace::{Guard, Watched};

/// Runs it to its end, with the guard's watch where there is a guard.
pub(super) fn run(
    spec: &CommandSpec,
    guard: Option<&mut Guard>,
    context: &RunContext,
) -> (Result<CommandOutcome, SandboxError>, Watched) {
    let mut on_output =
        |is_stderr, text: &str| (context.progress)(Progress::Output { is_stderr, text: text.to_owned() });
    let stop = context.cancel.child_token();
    let mut work = || sandbox::run(spec, &context.helper, &stop, &mut on_output);
    let Some(guard) = guard else { return (work(), Watched::default()) };
    let (end, ended) = match UnixStream::pair() {
        Ok(pair) => pair,
        Err(source) => {
            let action = "opening a channel for the watch";
            return (Err(SandboxError::Io { action, source }), Watched::default());
        }
    };
    std::thread::scope(|scope| {
        let watch = std::thread::Builder::new()
            .name("command-watch".to_owned())
            .spawn_scoped(scope, || guard.watch(ended.as_fd(), &|| stop.cancel()));
        match watch {
            Ok(watch) => {
                let ran = work();
                drop(end);
                // A watch that broke has seen nothing; the look after the command comes all the same.
                (ran, watch.join().unwrap_or_default())
            }
            Err(source) => (Err(SandboxError::Io { action: "starting the watch", source }), Watched::default()),
        }
    })
}

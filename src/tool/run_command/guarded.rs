//! A command at work, watched from beside it: what other programs would pick up meanwhile stops it.
#![cfg(unix)]

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use crate::sandbox::{self, CommandOutcome, CommandSpec, SandboxError};
use crate::tool::{Progress, RunContext};
use crate::workspace::{Guard, GuardRecord, Lease, Leased, Watched};

/// Runs it to its end, with the guard's watch where there is a guard, and shows in the record that Nod lives.
pub(super) fn run(
    spec: &CommandSpec,
    guard: Option<&mut Guard>,
    record: Option<&GuardRecord>,
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
    guard.hold(lease);
    std::thread::scope(|scope| {
        let watch = std::thread::Builder::new()
            .name("command-watch".to_owned())
            .spawn_scoped(scope, || guard.watch(ended.as_fd(), &|| stop.cancel()));
        if let Some(record) = record {
            let ended = &ended;
            let stay = move || record.stay(ended.as_fd());
            let named = std::thread::Builder::new().name("command-life".to_owned());
            // Without it the time-out alone says after a crash how long the command may have run.
            named.spawn_scoped(scope, stay).ok();
        }
        match watch {
            Ok(watch) => {
                let ran = work();
                drop(end);
                // A watch that broke has seen nothing; the look after the command comes all the same.
                (ran, watch.join().unwrap_or_default())
            }
            Err(source) => {
                drop(end);
                (Err(SandboxError::Io { action: "starting the watch", source }), Watched::default())
            }
        }
    })
}

/// A lease as the guard asks for it.
#[derive(Debug)]
struct Held(sandbox::Lease);

impl Lease for Held {
    fn is_wanted(&self) -> bool {
        self.0.is_wanted()
    }
}

fn lease(file: File) -> Leased {
    match sandbox::lease(file) {
        Ok(lease) => Leased::Granted(Box::new(Held(lease))),
        Err(sandbox::NoLease::Busy) => Leased::Busy,
        Err(sandbox::NoLease::Impossible) => Leased::Impossible,
    }
}

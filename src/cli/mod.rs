//! `nod` without a window: the same engine, store, policy and ledger for scripts, servers and tests.
//!
//! Human text goes to standard error or, when it is the answer, to standard output; with `--json` standard output is JSON Lines
//! and nothing else. This room prints and asks; it decides nothing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a command line does")]

mod args;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

pub use args::{Arguments, Task};

/// Reads the arguments and does what they say.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Task::Completions { shell }) => {
            clap_complete::generate(shell, &mut Arguments::command(), "nod", &mut std::io::stdout());
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    }
}

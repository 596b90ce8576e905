//! `nod`: the window, or a command without one.

use std::process::ExitCode;

fn main() -> ExitCode {
    nod::cli::main()
}

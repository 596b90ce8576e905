//! `nod`: the window, or a command without one. Started as `nod __run` it is the helper stage of an approved command.

#[cfg(feature = "gui")]
mod desktop;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(ended) = std::env::args_os().nth(1).and_then(|argument| nod::sandbox::run_stage(&argument)) {
        return ended;
    }
    nod::engine::guard_crashes();
    let arguments = nod::cli::arguments();
    match &arguments.command {
        Some(task) => nod::cli::run(&arguments, task),
        None => open_window(&arguments),
    }
}

#[cfg(feature = "gui")]
fn open_window(arguments: &nod::cli::Arguments) -> ExitCode {
    match nod::cli::data_dir(arguments) {
        Ok(folder) => desktop::open(folder),
        Err(problem) => nod::cli::report(&problem),
    }
}

#[cfg(not(feature = "gui"))]
fn open_window(arguments: &nod::cli::Arguments) -> ExitCode {
    nod::cli::no_window(arguments)
}

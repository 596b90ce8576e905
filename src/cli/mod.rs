//! `nod` without a window: the same engine, store, policy and ledger for scripts, servers and tests.
//!
//! Human text goes to standard error or, when it is the answer, to standard output; with `--json` standard output is JSON Lines
//! and nothing else. This room prints and asks; it decides nothing.

mod approve;
mod args;
mod audit;
mod config;
mod console;
mod doctor;
mod exec;
mod exit;
mod handover;
mod link;
mod models;
mod providers;
mod restore;
mod sessions;
mod terminal;
mod tool;
mod tools;
mod undo;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};

use crate::engine::{
    Archive, ConfiguredProviders, Engine, EngineOptions, Handle, Inbox, Keys, default_data_dir, system_clock,
};
use crate::lang::{Lang, Locale};
use crate::port::{Language, Settings};
use crate::secret::Keyring;

pub use args::{Arguments, Task};
pub use exit::Exit;
pub use handover::serve;

use console::Console;

/// How often a command line looks whether the data folder is free.
const LOCK_PAUSE: Duration = Duration::from_millis(100);
/// How long it waits for that.
const LONGEST_LOCK_WAIT: Duration = Duration::from_mins(1);

/// Reads the arguments of this process; a mistake in them ends it with exit code 2.
pub fn arguments() -> Arguments {
    Arguments::parse()
}

/// The data folder that the arguments mean.
///
/// # Errors
/// When none is given and the system knows no place for one.
pub fn data_dir(arguments: &Arguments) -> Result<PathBuf, String> {
    match &arguments.data_dir {
        Some(folder) => std::path::absolute(folder).map_err(|error| format!("{}: {error}", folder.display())),
        None => default_data_dir().ok_or_else(|| "There is no home folder: say --data-dir DIR.".to_owned()),
    }
}

/// What a build without a window says when it should open one.
pub fn no_window(arguments: &Arguments) -> ExitCode {
    let lang = Lang::new(locale(arguments, None));
    if let Ok(mut console) = Console::of_process(lang, arguments.quiet) {
        let text = console.say("cli-no-window", &[]);
        console.problem(&text);
    }
    Exit::Usage.into()
}

/// Says what went wrong where there is no window to say it.
pub fn report(problem: &str) -> ExitCode {
    if let Ok(mut console) = Console::of_process(Lang::new(Locale::system()), false) {
        console.problem(problem);
    }
    Exit::Failed.into()
}

/// Says that no window can be opened here, and what works instead.
pub fn report_no_display(detail: &str) -> ExitCode {
    let lang = Lang::new(Locale::system());
    let text = lang.format("cli-no-display", &[("detail", detail.into())]);
    report(&text)
}

/// Does a task in this process, or hands it to the running one.
pub fn run(arguments: &Arguments, task: &Task) -> ExitCode {
    if let Task::Completions { shell } = task {
        clap_complete::generate(*shell, &mut Arguments::command(), "nod", &mut std::io::stdout());
        return ExitCode::SUCCESS;
    }
    let lang = Lang::new(locale(arguments, None));
    let mut console = match Console::of_process(lang, arguments.quiet) {
        Ok(console) => console,
        Err(_gone) => return Exit::Failed.into(),
    };
    match run_here(arguments, task, &mut console) {
        Ok(exit) => exit.into(),
        Err(problem) => {
            console.problem(&problem);
            Exit::Failed.into()
        }
    }
}

fn run_here(arguments: &Arguments, task: &Task, console: &mut Console) -> Result<Exit, String> {
    let data_dir = data_dir(arguments)?;
    if let Task::Restore(args) = task {
        return restore::run(args, &data_dir, console);
    }
    if let Some(done) = read(arguments, task, &data_dir, console) {
        return done;
    }
    let mut waited = Duration::ZERO;
    let helper = std::env::current_exe().map_err(|error| error.to_string())?;
    let engine = loop {
        match Engine::start(EngineOptions::new(&data_dir, &helper)) {
            Ok(engine) => break engine,
            Err(error) if error.is_folder_taken() => {}
            Err(error) => return Err(error.to_string()),
        }
        if let Some(done) = handover::hand_over_to(&data_dir, arguments, task, console)? {
            return Ok(done);
        }
        // Another command line without a window: it will soon be done.
        std::thread::sleep(LOCK_PAUSE);
        waited += LOCK_PAUSE;
        if waited >= LONGEST_LOCK_WAIT {
            return Err(console.say("cli-folder-taken", &[]));
        }
    };
    engine.end_on_interrupt();
    let inbox = engine.subscribe(Arc::new(|| {}));
    let handle = engine.handle();
    let done = write(task, &handle, &inbox, console);
    engine.shutdown();
    match (done, handle.ended_by()) {
        (Ok(Exit::Interrupted), Some(code)) => Ok(Exit::from_code(code)),
        (done, _) => done,
    }
}

/// Tasks that only look: they read beside a running window. `None` for the others.
fn read(arguments: &Arguments, task: &Task, data_dir: &Path, console: &mut Console) -> Option<Result<Exit, String>> {
    let is_reader = match task {
        Task::Tools(_)
        | Task::Models(_)
        | Task::Providers(_)
        | Task::Sessions(_)
        | Task::Audit(_)
        | Task::Undo(_)
        | Task::Config(_)
        | Task::Doctor(_) => true,
        Task::Exec(_) | Task::Tool(_) | Task::Link(_) | Task::Restore(_) | Task::Completions { .. } => false,
    };
    if !is_reader {
        return None;
    }
    let opened = Archive::open(data_dir, system_clock());
    let archive = match opened {
        Ok(archive) => archive,
        // The doctor reports a database that cannot be read as its finding.
        Err(_) if matches!(task, Task::Doctor(_)) => None,
        Err(error) => return Some(Err(error.message)),
    };
    let settings = archive.as_ref().and_then(|archive| archive.settings().ok()).unwrap_or_default();
    console.lang = Lang::new(locale(arguments, Some(&settings)));
    let source = source();
    match task {
        Task::Tools(args) => Some(Ok(tools::run(args, &settings, console))),
        Task::Models(args) => Some(models::models(args, &source, &settings, console)),
        Task::Providers(args) => providers::read(args, &source, &settings, console).map(Ok),
        Task::Doctor(args) => Some(Ok(doctor::run(args, data_dir, &settings, &source, console))),
        Task::Sessions(task) => sessions::read(task, archive.as_ref(), console),
        Task::Audit(args) => Some(audit::read(args, archive.as_ref(), console)),
        Task::Undo(task) => undo::read(task, archive.as_ref(), console),
        Task::Config(task) => config::read(task, &settings, console),
        Task::Exec(_) | Task::Tool(_) | Task::Link(_) | Task::Restore(_) | Task::Completions { .. } => None,
    }
}

/// Tasks that change something, with the engine of this process.
fn write(task: &Task, engine: &Handle, inbox: &Inbox, console: &mut Console) -> Result<Exit, String> {
    match task {
        Task::Exec(args) => exec::run(args, engine, inbox, console),
        Task::Tool(args) => tool::run(args, engine, inbox, console),
        Task::Link(args) => link::run(args, engine, inbox, console),
        Task::Sessions(task) => sessions::write(task, engine, inbox, console),
        Task::Undo(task) => undo::write(task, engine, inbox, console),
        Task::Config(task) => config::write(task, engine, inbox, console),
        Task::Providers(args) => providers::write(args, engine, inbox, console),
        Task::Tools(_)
        | Task::Models(_)
        | Task::Audit(_)
        | Task::Doctor(_)
        | Task::Restore(_)
        | Task::Completions { .. } => Ok(Exit::Done),
    }
}

/// The providers as the settings and the keyring have them.
fn source() -> ConfiguredProviders {
    let keys = Keys::new(Arc::new(Keyring::default()));
    ConfiguredProviders { clock: system_clock(), keys: Arc::new(keys) }
}

fn locale(arguments: &Arguments, settings: Option<&Settings>) -> Locale {
    if let Some(tag) = &arguments.lang {
        return Locale::from_tag(tag);
    }
    match settings.map(|settings| settings.general.language) {
        Some(Language::English) => Locale::English,
        Some(Language::Chinese) => Locale::Chinese,
        Some(Language::System) | None => Locale::system(),
    }
}

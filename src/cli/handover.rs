//! A command line that writes while a window has the data folder: handed to the window's engine, answered from there.

use std::path::Path;
use std::sync::Arc;

use clap::Parser as _;

use crate::engine::{Handle, Handover, Reply, Visitor, can_hand_over, hand_over};
use crate::lang::{Lang, Locale};
use crate::port::Command;

use super::args::{Arguments, ProvidersTask, Task};
use super::console::Console;
use super::exit::Exit;

/// Hands the command line of this process over and prints what comes back; `None` when nobody takes it.
pub(super) fn hand_over_to(
    data_dir: &Path,
    arguments: &Arguments,
    task: &Task,
    console: &mut Console,
) -> Result<Option<Exit>, String> {
    if !can_hand_over(data_dir) {
        return Ok(None);
    }
    let stdin =
        if wants_input(task) { console.read_input().map_err(|error| error.to_string())? } else { String::new() };
    let mut words = vec!["nod".to_owned()];
    if let Some(lang) = &arguments.lang {
        words.extend(["--lang".to_owned(), lang.clone()]);
    }
    words.extend(std::env::args().skip(1));
    // The variable is this process's own, not that of the window's.
    let api_key = match key_variable(task) {
        Some(variable) => console.key_in(variable)?.expose().to_owned(),
        None => String::new(),
    };
    let handover = Handover { arguments: words, cwd: console.cwd.clone(), stdin, api_key };
    let mut exit = Exit::Failed;
    let done = hand_over(data_dir, &handover, |reply| match reply {
        Reply::Out(text) => console.raw(&text),
        Reply::Err(text) => console.raw_problem(&text),
        Reply::Exit(code) => exit = Exit::from_code(code),
    });
    done.map_err(|error| console.say("cli-handover-broken", &[("detail", error.to_string().into())]))?;
    Ok(Some(exit))
}

fn wants_input(task: &Task) -> bool {
    match task {
        Task::Exec(args) => args.prompt == ["-"],
        Task::Tool(args) => args.arguments == "-",
        Task::Providers(args) => matches!(args.task, Some(ProvidersTask::SetKey { .. })),
        Task::Tools(_)
        | Task::Link(_)
        | Task::Models(_)
        | Task::Sessions(_)
        | Task::Audit(_)
        | Task::Undo(_)
        | Task::Config(_)
        | Task::Doctor(_)
        | Task::Restore(_)
        | Task::Completions { .. } => false,
    }
}

fn key_variable(task: &Task) -> Option<&str> {
    match task {
        Task::Exec(args) => args.api_key_env.as_deref(),
        Task::Link(args) => Some(&args.token_env),
        Task::Tool(_)
        | Task::Providers(_)
        | Task::Tools(_)
        | Task::Models(_)
        | Task::Sessions(_)
        | Task::Audit(_)
        | Task::Undo(_)
        | Task::Config(_)
        | Task::Doctor(_)
        | Task::Restore(_)
        | Task::Completions { .. } => None,
    }
}

/// Answers a visitor with the engine of this process: does its command line, or brings the window forward.
pub fn serve(engine: &Handle, visitor: Visitor) {
    let exit = if visitor.handover.arguments.is_empty() {
        // A full queue is a fault that shows in the window anyway.
        if engine.send(Command::Raise).is_ok() { Exit::Done } else { Exit::Failed }
    } else {
        answer(engine, &visitor)
    };
    if let Err(error) = visitor.exit(exit.code()) {
        tracing::info!(%error, "a handed-over command ended after its caller went away");
    }
}

fn answer(engine: &Handle, visitor: &Visitor) -> Exit {
    let Ok(Arguments { command: Some(task), lang, quiet, .. }) = Arguments::try_parse_from(&visitor.handover.arguments)
    else {
        return Exit::Usage;
    };
    let locale = lang.as_deref().map_or_else(Locale::system, Locale::from_tag);
    let Ok(mut console) = Console::handed_over(visitor, Lang::new(locale), quiet) else { return Exit::Failed };
    let inbox = engine.subscribe(Arc::new(|| {}));
    super::write(&task, engine, &inbox, &mut console).unwrap_or_else(|problem| {
        console.problem(&problem);
        Exit::Failed
    })
}

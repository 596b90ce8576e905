//! `nod restore`: a backup back in the place of the database.

use std::path::Path;

use crate::engine::{BackupFrom, StartError, restore, system_clock};
use crate::lang::Arg;
use crate::port::Event;

use super::args::RestoreArgs;
use super::console::Console;
use super::exec::fault_text;
use super::exit::Exit;

/// Puts it back and says what came along.
pub(super) fn run(args: &RestoreArgs, data_dir: &Path, console: &mut Console) -> Result<Exit, String> {
    let from = if args.from_elsewhere { BackupFrom::Anywhere } else { BackupFrom::Here };
    let done = match restore(data_dir, &args.file, from, &system_clock()) {
        Ok(done) => done,
        Err(StartError::Store(error)) => return Err(fault_text(error.key(), &error.args(), "", console)),
        Err(error @ StartError::Threads { .. }) => return Err(error.to_string()),
    };
    let restored = &done.restored;
    let count = |number: u64| Arg::Number(i64::try_from(number).unwrap_or(i64::MAX));
    let text = console.say("restore-done", &[("lines", count(restored.lines))]);
    console.line(&text);
    if restored.left_behind > 0 {
        let text = console.say("restore-left-behind", &[("lines", count(restored.left_behind))]);
        console.line(&text);
    }
    if let Some(aside) = &restored.aside {
        let text = console.say("restore-aside", &[("path", Arg::from(aside.display().to_string()))]);
        console.line(&text);
    }
    if !restored.is_from_here {
        let text = console.say("restore-from-elsewhere", &[]);
        console.problem(&text);
    }
    for event in &done.news {
        if let Event::Notice { key, args } = event {
            let text = fault_text(key, args, "", console);
            console.problem(&text);
        }
    }
    Ok(Exit::Done)
}

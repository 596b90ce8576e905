//! `nod config`: every setting of the window, by its key.

use serde_json::Value;

use crate::engine::{Handle, Inbox};
use crate::port::{Command, Event, Settings};

use super::args::ConfigTask;
use super::console::Console;
use super::exec::send;
use super::exit::Exit;
use super::sessions::wait;

/// Does what only reads; `None` for what needs the engine.
pub(super) fn read(task: &ConfigTask, settings: &Settings, console: &mut Console) -> Option<Result<Exit, String>> {
    let entries = settings.entries();
    match task {
        ConfigTask::List(list) if list.json => {
            console.data(&Value::Object(entries.into_iter().collect()).to_string());
        }
        ConfigTask::List(_) => {
            for (key, value) in entries {
                console.line(&format!("{key} = {value}"));
            }
        }
        ConfigTask::Get { key } => match entries.get(key) {
            Some(value) => console.data(&value.to_string()),
            None => return Some(Err(unknown(key))),
        },
        ConfigTask::Set { .. } | ConfigTask::Reset { .. } => return None,
    }
    Some(Ok(Exit::Done))
}

/// Does what changes something.
pub(super) fn write(task: &ConfigTask, engine: &Handle, inbox: &Inbox, console: &mut Console) -> Result<Exit, String> {
    let command = match task {
        ConfigTask::Set { key, value } => {
            // A value that is no JSON is a plain word: `dark` for `"dark"`.
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.clone()));
            Settings::default().set(key, value.clone()).map_err(|problem| problem.to_string())?;
            Command::SetSetting { key: key.clone(), value }
        }
        ConfigTask::Reset { key } => {
            if !Settings::default().entries().contains_key(key) {
                return Err(unknown(key));
            }
            Command::ResetSetting { key: key.clone() }
        }
        ConfigTask::List(_) | ConfigTask::Get { .. } => return Ok(Exit::Done),
    };
    send(engine, command, console)?;
    wait(inbox, console, |event| matches!(event, Event::SettingsChanged(_)).then_some(()))?;
    Ok(Exit::Done)
}

fn unknown(key: &str) -> String {
    crate::port::SettingsError::UnknownKey { key: key.to_owned() }.to_string()
}

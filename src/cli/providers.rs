//! `nod providers`: where answers come from: set up, looked at, given their keys.

use serde_json::json;

use crate::engine::{
    ConfiguredProviders, Handle, Inbox, Place, ProviderSource as _, check_health, diagnose_and_wait, presets,
};
use crate::ir::{KeyPlace, ProviderRecord};
use crate::lang::Arg;
use crate::port::{Command, Diagnosis, Event, Sentence, Settings};
use crate::secret::SecretKey;

use super::args::{AddProviderArgs, ProvidersArgs, ProvidersTask, Remote};
use super::console::Console;
use super::exec::send;
use super::exit::Exit;
use super::sessions::wait;

/// Does what only looks; `None` for what needs the engine.
pub(super) fn read(
    args: &ProvidersArgs,
    source: &ConfiguredProviders,
    settings: &Settings,
    console: &mut Console,
) -> Option<Exit> {
    match &args.task {
        None => Some(list(source, settings, args.json, console)),
        Some(ProvidersTask::List(list_args)) => Some(list(source, settings, args.json || list_args.json, console)),
        Some(ProvidersTask::Presets(list_args)) => Some(list_presets(args.json || list_args.json, console)),
        Some(ProvidersTask::Test { name, model, json }) => {
            let found = diagnose_and_wait(source, name, model.as_deref(), settings);
            print(&found, args.json || *json, console);
            Some(if found.is_good { Exit::Done } else { Exit::Failed })
        }
        Some(
            ProvidersTask::Add(_)
            | ProvidersTask::Remove { .. }
            | ProvidersTask::SetKey { .. }
            | ProvidersTask::RemoveKey { .. },
        ) => None,
    }
}

/// Does what changes something.
pub(super) fn write(
    args: &ProvidersArgs,
    engine: &Handle,
    inbox: &Inbox,
    console: &mut Console,
) -> Result<Exit, String> {
    match &args.task {
        Some(ProvidersTask::Add(add)) => {
            let record = record(add, console)?;
            let name = record.id.clone();
            send(engine, Command::PutProvider(Box::new(record)), console)?;
            settled(inbox, console)?;
            done("cli-provider-kept", &name, console);
        }
        Some(ProvidersTask::Remove { name }) => {
            send(engine, Command::RemoveProvider { id: name.clone() }, console)?;
            settled(inbox, console)?;
            done("cli-provider-removed", name, console);
        }
        Some(ProvidersTask::SetKey { name }) => return set_key(name, engine, inbox, console),
        Some(ProvidersTask::RemoveKey { name }) => {
            send(engine, Command::RemoveKey { provider: name.clone() }, console)?;
            settled(inbox, console)?;
            done("cli-key-removed", name, console);
        }
        None | Some(ProvidersTask::List(_) | ProvidersTask::Presets(_) | ProvidersTask::Test { .. }) => {}
    }
    Ok(Exit::Done)
}

fn settled(inbox: &Inbox, console: &mut Console) -> Result<(), String> {
    wait(inbox, console, |event| matches!(event, Event::SettingsChanged(_)).then_some(()))
}

fn done(key: &str, name: &str, console: &mut Console) {
    let text = console.say(key, &[("name", Arg::from(name))]);
    console.note(&text);
}

fn record(args: &AddProviderArgs, console: &Console) -> Result<ProviderRecord, String> {
    let proxy = args.proxy.as_deref().map(str::parse).transpose().map_err(|problem| format!("--proxy: {problem}"))?;
    let ca_file = args.ca_file.as_ref().map(|path| console.absolute(path).display().to_string());
    Ok(ProviderRecord {
        id: args.name.clone(),
        preset: args.preset.clone().unwrap_or_else(|| args.name.clone()),
        base_url: args.base_url.clone().unwrap_or_default(),
        is_remote: args.remote.map(|remote| remote == Remote::Yes),
        proxy,
        ca_file,
        key: KeyPlace::Nowhere,
    })
}

fn set_key(name: &str, engine: &Handle, inbox: &Inbox, console: &mut Console) -> Result<Exit, String> {
    let question = console.say("cli-key-question", &[("name", Arg::from(name))]);
    let typed = console
        .read_secret(&question)
        .map_err(|error| console.say("cli-bad-input", &[("detail", Arg::from(error.to_string()))]))?;
    let Some(key) = SecretKey::new(&typed) else {
        let text = console.say("cli-key-empty", &[]);
        console.problem(&text);
        return Ok(Exit::Usage);
    };
    send(engine, Command::SetKey { provider: name.to_owned(), key }, console)?;
    let problem = wait(inbox, console, |event| {
        let Event::KeyKept { provider, problem } = event else { return None };
        (provider == name).then(|| problem.clone())
    })?;
    let Some(problem) = problem else {
        done("cli-key-kept", name, console);
        return Ok(Exit::Done);
    };
    // In the window's process it lives on; in this one it ends with the command.
    let lives_on = console.is_handed_over();
    let key = if lives_on { "cli-key-for-run" } else { "cli-key-not-kept" };
    let preset =
        engine.settings().providers.iter().find(|record| record.id == name).map(|record| record.preset.clone());
    let variable = presets()
        .find(|known| preset.as_deref() == Some(known.id))
        .map(|known| known.key_variable)
        .filter(|variable| !variable.is_empty())
        .unwrap_or("NOD_API_KEY");
    let text = console
        .say(key, &[("name", Arg::from(name)), ("detail", Arg::from(problem)), ("variable", Arg::from(variable))]);
    console.problem(&text);
    Ok(if lives_on { Exit::Done } else { Exit::Failed })
}

fn list(source: &ConfiguredProviders, settings: &Settings, is_json: bool, console: &mut Console) -> Exit {
    for id in source.ids(settings) {
        let record = settings.providers.iter().find(|record| record.id == id);
        let health = check_health(source, &id, Place::default(), settings);
        if is_json {
            let mut line = match &health {
                Ok(greeting) => json!({"id": id, "reachable": true, "detail": greeting}),
                Err(error) => json!({"id": id, "reachable": false, "error": error}),
            };
            if let (Some(record), Some(fields)) = (record, line.as_object_mut()) {
                fields.insert("record".into(), serde_json::to_value(record).unwrap_or_default());
            }
            console.data(&line.to_string());
            continue;
        }
        let detail = match health {
            Ok(greeting) => greeting,
            Err(error) => error.message,
        };
        let key = record.map(|record| key_words(&record.key, console)).unwrap_or_default();
        console.line(&format!("{id}  {detail}{key}"));
    }
    Exit::Done
}

fn key_words(key: &KeyPlace, console: &Console) -> String {
    let text = match key {
        KeyPlace::Nowhere => return String::new(),
        KeyPlace::Keyring { origin } => console.say("cli-key-in-keyring", &[("origin", Arg::from(origin.as_str()))]),
        KeyPlace::ThisRun { origin } => console.say("cli-key-in-memory", &[("origin", Arg::from(origin.as_str()))]),
        KeyPlace::Variable { name } => console.say("cli-key-in-variable", &[("variable", Arg::from(name.as_str()))]),
    };
    format!("  ({text})")
}

fn list_presets(is_json: bool, console: &mut Console) -> Exit {
    for preset in presets() {
        if is_json {
            let line = json!({
                "id": preset.id, "name": preset.display_name, "url": preset.default_url,
                "keyVariable": preset.key_variable, "keyPage": preset.key_page,
            });
            console.data(&line.to_string());
        } else {
            console.line(&format!("{}  {}  {}", preset.id, preset.display_name, preset.default_url));
        }
    }
    Exit::Done
}

fn print(found: &Diagnosis, is_json: bool, console: &mut Console) {
    if is_json {
        console.data(&serde_json::to_string(found).unwrap_or_default());
        return;
    }
    let mark = if found.is_good { "✓" } else { "✗" };
    let finding = filled(&found.finding, console);
    console.line(&format!("{mark} {}  {finding}", found.provider));
    for advice in &found.advice {
        let advice = filled(advice, console);
        console.line(&format!("  → {advice}"));
    }
    if !found.detail.is_empty() {
        console.line(&format!("    {}", found.detail));
    }
}

fn filled(sentence: &Sentence, console: &Console) -> String {
    let args: Vec<_> = sentence.args.iter().map(|(name, value)| (*name, Arg::from(value.as_str()))).collect();
    console.say(sentence.key, &args)
}

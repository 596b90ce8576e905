//! `nod models` and `nod providers`: where answers come from.

use serde_json::json;

use crate::engine::{ConfiguredProviders, Place, ProviderSource as _, check_health, list_models, system_clock};
use crate::ir::Support;
use crate::port::Settings;

use super::args::{ListArgs, ModelsArgs};
use super::console::Console;
use super::exit::Exit;

/// Prints a provider's models with what they can do.
pub(super) fn models(args: &ModelsArgs, settings: &Settings, console: &mut Console) -> Result<Exit, String> {
    let place = Place { base_url: args.base_url.as_deref(), api_key_env: args.api_key_env.as_deref() };
    let models = list_models(&source(), &args.provider, place, settings).map_err(|error| error.message)?;
    for model in &models {
        if args.json {
            console.data(&serde_json::to_string(model).unwrap_or_default());
            continue;
        }
        let marks = [
            (model.supports_tool_calling, "cli-can-tools"),
            (model.supports_thinking, "cli-can-think"),
            (model.supports_images, "cli-can-see"),
        ];
        let can: Vec<_> = marks
            .iter()
            .filter(|(support, _)| *support == Support::Yes)
            .map(|(_, key)| console.say(key, &[]))
            .collect();
        console.line(&format!("{}  {}", model.id, can.join(", ")));
    }
    Ok(Exit::Done)
}

/// Prints the providers and whether each can be reached.
pub(super) fn providers(args: &ListArgs, settings: &Settings, console: &mut Console) -> Exit {
    for id in source().ids(settings) {
        let health = check_health(&source(), &id, Place::default(), settings);
        if args.json {
            let line = match &health {
                Ok(greeting) => json!({"id": id, "reachable": true, "detail": greeting}),
                Err(error) => json!({"id": id, "reachable": false, "error": error}),
            };
            console.data(&line.to_string());
        } else {
            let detail = match health {
                Ok(greeting) => greeting,
                Err(error) => error.message,
            };
            console.line(&format!("{id}  {detail}"));
        }
    }
    Exit::Done
}

fn source() -> ConfiguredProviders {
    ConfiguredProviders { clock: system_clock() }
}

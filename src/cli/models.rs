//! `nod models`: what a provider offers.

use crate::engine::{ConfiguredProviders, Place, list_models};
use crate::ir::Support;
use crate::port::Settings;

use super::args::ModelsArgs;
use super::console::Console;
use super::exit::Exit;

/// Prints a provider's models with what they can do.
pub(super) fn models(
    args: &ModelsArgs,
    source: &ConfiguredProviders,
    settings: &Settings,
    console: &mut Console,
) -> Result<Exit, String> {
    let api_key = args.api_key_env.as_deref().map(|variable| console.key_in(variable)).transpose()?;
    let place = Place { base_url: args.base_url.as_deref(), api_key: api_key.as_ref() };
    let models = list_models(source, &args.provider, place, settings).map_err(|error| error.message)?;
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

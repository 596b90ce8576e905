//! `nod tools`: what a model may call, with schema, risk and state.

use crate::engine::tool_definitions;
use crate::port::Settings;

use super::args::ListArgs;
use super::console::Console;
use super::exit::Exit;

/// Prints every tool.
pub(super) fn run(args: &ListArgs, settings: &Settings, console: &mut Console) -> Exit {
    for tool in tool_definitions() {
        let is_on = settings.tools.enabled && !settings.tools.disabled.contains(&tool.name);
        if args.json {
            let mut line = serde_json::to_value(&tool).unwrap_or_default();
            if let Some(fields) = line.as_object_mut() {
                fields.insert("enabled".into(), is_on.into());
            }
            console.data(&line.to_string());
        } else {
            let risk = serde_json::to_value(tool.risk_level).unwrap_or_default();
            let state = console.say(if is_on { "cli-tool-on" } else { "cli-tool-off" }, &[]);
            let first_line = tool.description.lines().next().unwrap_or_default().to_owned();
            console.line(&format!(
                "{:<17} {:<9} {state:<4} {first_line}",
                tool.name,
                risk.as_str().unwrap_or_default()
            ));
        }
    }
    Exit::Done
}

//! A call that a server itself could not read: it is the model's mistake, and goes back to the model as that call's failed
//! result, so that it can try again. Pure.

use serde_json::{Map, Value};

use super::arguments::Arguments;

/// How servers say it: Ollama, llama.cpp (of arguments, and of a whole answer).
const SAYINGS: [&str; 3] =
    ["error parsing tool call", "Failed to parse tool call arguments as JSON", "Failed to parse tool call"];
/// Longest part of the call that is shown, in bytes.
const LONGEST_RAW: usize = 64 * 1024;

/// A call that the server could not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) name: String,
    /// The call as far as the server shows it.
    pub(super) raw: String,
    problem: String,
}

impl Mistake {
    /// What a server says, such as `error parsing tool call: raw='…', err=…`; `None` when it speaks of something else.
    pub(super) fn in_text(text: &str) -> Option<Self> {
        let (_, rest) = SAYINGS.iter().find_map(|saying| text.split_once(saying))?;
        let raw = rest.split_once("raw='").map_or(rest.trim_start_matches([' ', ':']), |(_, raw)| raw);
        let raw = raw.rsplit_once("err=").map_or(raw, |(raw, _)| raw).trim_end_matches([' ', ',', '\'']);
        let raw = raw.get(..raw.floor_char_boundary(LONGEST_RAW)).unwrap_or_default();
        let name = raw
            .split_once("\"name\"")
            .and_then(|(_, after)| {
                after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split_once('"')
            })
            .map_or("", |(name, _)| name);
        let shown = text.trim();
        let shown = shown.get(..shown.floor_char_boundary(LONGEST_RAW)).unwrap_or_default();
        Some(Self {
            // Some name must stand there; the answer to it says what the tools are called.
            name: if name.is_empty() { "unreadable_call".into() } else { name.into() },
            raw: raw.to_owned(),
            problem: format!("the call could not be read: {shown}"),
        })
    }

    /// Its arguments: none, and why.
    pub(super) fn into_arguments(self) -> Arguments {
        Arguments {
            args: Value::Object(Map::new()),
            raw: Some(self.raw),
            error: Some(self.problem),
            is_repaired: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_is_found_in_what_servers_say_of_it() {
        for (text, name, raw) in [
            (
                "error parsing tool call: raw='{\"name\": \"ls\", \"arg', err=unexpected end",
                "ls",
                "{\"name\": \"ls\", \"arg",
            ),
            (
                "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] at line 1",
                "unreadable_call",
                "[json.exception.parse_error.101] at line 1",
            ),
        ] {
            let mistake = Mistake::in_text(text).unwrap();
            assert_eq!((mistake.name.as_str(), mistake.raw.as_str()), (name, raw));
            let arguments = mistake.into_arguments();
            assert_eq!(arguments.error, Some(format!("the call could not be read: {text}")));
        }
        assert_eq!(Mistake::in_text("runner failed"), None);
    }
}

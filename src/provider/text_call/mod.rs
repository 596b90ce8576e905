//! Calls that a model prints into its answer instead of making them. Pure.
//!
//! Two cases. A server sends a call natively and prints a copy of it too: the copy is dropped, for every model. A model
//! without native calling prints its calls: they are recognised where the person said so for that model, in the dialects of
//! `dialect`. What might be a call is held back until the end; all other text passes at once.

mod dialect;

use std::borrow::Cow;

use serde_json::Value;

use crate::ir::strict_json;

/// Most that is held back, in bytes: a call that writes a large file is less.
const LONGEST_HELD: usize = 12 * 1024 * 1024;

/// Whether printed calls count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognition {
    /// Only copies of native calls are looked for.
    Copies,
    /// What the model prints is a call.
    Calls,
}

/// A call that was printed; its arguments are still text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedCall {
    /// The tool's name as printed.
    pub name: String,
    /// Its arguments as printed.
    pub arguments: String,
}

/// What the held-back end of an answer turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rest {
    /// Calls, in their order.
    pub calls: Vec<PrintedCall>,
    /// Text that is none.
    pub text: String,
}

/// Watches an answer for printed calls.
#[derive(Debug)]
pub struct TextCalls<'a> {
    known: Vec<Cow<'a, str>>,
    recognition: Recognition,
    state: State,
    held: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was shown yet: a bare JSON object here may be a call.
    Beginning,
    /// Behind the beginning only a dialect's marker counts.
    Passing,
    /// A call began: everything is held to the end.
    Holding,
    /// Nothing is looked for.
    Off,
}

impl<'a> TextCalls<'a> {
    /// For the tools of these names; with none there is nothing to look for.
    pub fn new(known: Vec<Cow<'a, str>>, recognition: Recognition) -> Self {
        let state = if known.is_empty() { State::Off } else { State::Beginning };
        Self { known, recognition, state, held: String::new() }
    }

    /// Takes more of the answer in and gives back what can be shown.
    pub fn push(&mut self, text: String) -> String {
        if self.state == State::Off {
            return text;
        }
        self.held.push_str(&text);
        if self.held.len() > LONGEST_HELD {
            // Whatever this is, it is no call.
            self.state = State::Off;
        }
        if self.state == State::Beginning {
            if self.may_begin_with_call() {
                return String::new();
            }
            self.state = match self.recognition {
                Recognition::Copies => State::Off,
                Recognition::Calls => State::Passing,
            };
        }
        match self.state {
            State::Passing => {
                let Some(at) = dialect::first_marker(&self.held) else {
                    let sure = self.held.len() - dialect::beginning_of_marker(&self.held);
                    return self.held.drain(..sure).collect();
                };
                self.state = State::Holding;
                self.held.drain(..at).collect()
            }
            State::Beginning | State::Holding => String::new(),
            State::Off => std::mem::take(&mut self.held),
        }
    }

    /// The end of the answer. `native` are the calls that were made natively, by name and arguments.
    pub fn finish(self, native: &[(String, Value)]) -> Rest {
        let held = self.held;
        if held.trim().is_empty() || matches!(self.state, State::Off | State::Passing) {
            return Rest { calls: Vec::new(), text: held };
        }
        let is_known = |name: &str| self.known.iter().any(|known| known == name);
        let Some(printed) = dialect::calls_in(&held, &is_known) else {
            return Rest { calls: Vec::new(), text: held };
        };
        if !native.is_empty() {
            let is_copy = |call: &PrintedCall| {
                let args = strict_json(&call.arguments).ok();
                native.iter().any(|(name, native)| *name == call.name && args.as_ref() == Some(native))
            };
            let text = if printed.calls.iter().all(is_copy) { printed.text } else { held };
            return Rest { calls: Vec::new(), text };
        }
        match self.recognition {
            Recognition::Copies => Rest { calls: Vec::new(), text: held },
            Recognition::Calls => printed,
        }
    }

    /// Whether the answer so far may be nothing but a call.
    fn may_begin_with_call(&self) -> bool {
        let begun = self.held.trim_start();
        let begins_with = |marker: &str| begun.starts_with(marker) || marker.starts_with(begun);
        if dialect::markers().any(begins_with) {
            return true;
        }
        let inner = match begun.strip_prefix("```") {
            Some(fenced) => match fenced.split_once('\n') {
                Some((_, body)) => body.trim_start(),
                None => return fenced.len() < 20 && "json".starts_with(fenced.trim_end()),
            },
            None if "```".starts_with(begun) => return true,
            None => begun,
        };
        match self.recognition {
            Recognition::Calls => inner.is_empty() || inner.starts_with(['{', '[']),
            Recognition::Copies => names_a_tool(inner.strip_prefix('[').unwrap_or(inner).trim_start(), &self.known),
        }
    }
}

/// Whether JSON that may still be coming is an object whose first field names one of the tools.
fn names_a_tool(json: &str, known: &[Cow<'_, str>]) -> bool {
    let mut rest = json;
    for token in ["{", "\"name\"", ":", "\""] {
        rest = rest.trim_start();
        if rest.is_empty() || (rest.len() < token.len() && token.starts_with(rest)) {
            return true;
        }
        match rest.strip_prefix(token) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    match rest.split_once('"') {
        Some((name, _)) => known.iter().any(|known| known == name),
        None => known.iter().any(|known| known.starts_with(rest)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn watch(recognition: Recognition, pieces: &[&str], native: &[(String, Value)]) -> (String, Rest) {
        let mut calls = TextCalls::new(vec!["ls".into(), "read_file".into()], recognition);
        let shown = pieces.iter().map(|piece| calls.push((*piece).to_owned())).collect();
        (shown, calls.finish(native))
    }

    fn call(name: &str, arguments: &str) -> PrintedCall {
        PrintedCall { name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn a_printed_copy_of_a_native_call_is_dropped_and_other_text_passes_at_once() {
        let native = [("ls".to_owned(), json!({"path": "."}))];
        let copy = ["{\"na", "me\": \"ls\", \"arguments\": {\"path\"", ": \".\"}}"];
        assert_eq!(watch(Recognition::Copies, &copy, &native), (String::new(), Rest::default()));
        // Without the native call it is what the model said.
        let (shown, rest) = watch(Recognition::Copies, &copy, &[]);
        assert_eq!((shown.as_str(), rest.text, rest.calls), ("", copy.concat(), vec![]));
        let other = ["{\"name\": \"ls\", \"arguments\": {\"path\": \"/etc\"}}"];
        assert_eq!(watch(Recognition::Copies, &other, &native).1.text, other[0]);
        for text in ["{\"title\": 1", "{\"name\": \"lsx", "Here: {\"name\": \"ls\"", "```rust\nfn", "[1, 2"] {
            assert_eq!(watch(Recognition::Copies, &[text], &native), (text.to_owned(), Rest::default()), "{text}");
        }
    }

    #[test]
    fn printed_calls_count_only_for_a_model_of_which_it_was_said() {
        let printed = ["I look. <tool", "_call>\n{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>"];
        let (shown, rest) = watch(Recognition::Calls, &printed, &[]);
        assert_eq!((shown.as_str(), rest.calls), ("I look. ", vec![call("ls", "{}")]));
        let (shown, rest) = watch(Recognition::Copies, &printed, &[]);
        assert_eq!((shown, rest), (printed.concat(), Rest::default()));
    }

    #[test]
    fn what_only_looks_like_a_call_is_text_in_the_end() {
        for text in ["{\"name\": \"nobody\", \"arguments\": {}}", "<tool_call>oops", "```json\n{\"a\": 1}\n```", "["] {
            let (shown, rest) = watch(Recognition::Calls, &[text], &[]);
            assert_eq!((shown + &rest.text, rest.calls), (text.to_owned(), vec![]), "{text}");
        }
    }

    #[test]
    fn without_tools_nothing_is_held_back() {
        let mut calls = TextCalls::new(Vec::new(), Recognition::Calls);
        assert_eq!(calls.push("{\"name\"".into()), "{\"name\"");
        assert_eq!(calls.finish(&[]), Rest::default());
    }
}

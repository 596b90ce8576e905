//! How model families print calls: Hermes and Qwen `<tool_call>`, Mistral `[TOOL_CALLS]`, Llama `<|python_tag|>`, DeepSeek's
//! markers, a plain JSON object. Adding a dialect is adding a marker and a function.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::repair::repaired;
use super::{PrintedCall, Rest};

const HERMES: &str = "<tool_call>";
const MISTRAL: &str = "[TOOL_CALLS]";
const LLAMA: &str = "<|python_tag|>";
const FUNCTION: &str = "<function=";
const DEEPSEEK: &str = "<｜tool▁calls▁begin｜>";
const DEEPSEEK_ONE: &str = "<｜tool▁call▁begin｜>";

/// What every dialect's calls begin with.
pub(super) fn markers() -> impl Iterator<Item = &'static str> {
    [HERMES, MISTRAL, LLAMA, FUNCTION, DEEPSEEK, DEEPSEEK_ONE].into_iter()
}

/// Where the first marker stands.
pub(super) fn first_marker(text: &str) -> Option<usize> {
    markers().filter_map(|marker| text.find(marker)).min()
}

/// How many bytes at the end may be the beginning of a marker.
pub(super) fn beginning_of_marker(text: &str) -> usize {
    let begins = |marker: &'static str| {
        let cuts = marker.char_indices().skip(1).map(|(at, _)| at);
        cuts.filter(|at| marker.get(..*at).is_some_and(|begun| text.ends_with(begun))).max()
    };
    markers().filter_map(begins).max().unwrap_or(0)
}

/// The calls that a text prints, if it prints any. `is_known` tells whether there is a tool of a name: a bare object is a
/// call only then.
pub(super) fn calls_in(text: &str, is_known: &dyn Fn(&str) -> bool) -> Option<Rest> {
    let trimmed = text.trim();
    let found = if let Some(rest) = trimmed.strip_prefix(HERMES) {
        tagged(rest, HERMES, "</tool_call>", &|body| named_json(body).or_else(|| function_tag(body)))
    } else if trimmed.starts_with(FUNCTION) {
        tagged(trimmed, FUNCTION, "</function>", &|body| function_tag(&format!("{FUNCTION}{body}")))
    } else if let Some(rest) = trimmed.strip_prefix(MISTRAL) {
        mistral(rest)
    } else if let Some(rest) = trimmed.strip_prefix(LLAMA) {
        llama(rest)
    } else if trimmed.starts_with(DEEPSEEK) || trimmed.starts_with(DEEPSEEK_ONE) {
        deepseek(trimmed)
    } else {
        let inner = without_fence(trimmed);
        list(inner).or_else(|| Some(vec![named_json(inner)?])).map(only)
    };
    let is_marked = markers().any(|marker| trimmed.starts_with(marker));
    found.filter(|rest| !rest.calls.is_empty() && (is_marked || rest.calls.iter().all(|call| is_known(&call.name))))
}

fn only(calls: Vec<PrintedCall>) -> Rest {
    Rest { calls, text: String::new() }
}

/// `{"name": …, "arguments": …}` as models write it.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(alias = "tool", alias = "function", alias = "tool_name")]
    name: String,
    #[serde(borrow, alias = "parameters", alias = "args", alias = "input")]
    arguments: Option<&'a RawValue>,
}

impl From<Named<'_>> for PrintedCall {
    fn from(named: Named<'_>) -> Self {
        Self { name: named.name, arguments: named.arguments.map_or("{}", RawValue::get).to_owned() }
    }
}

fn named_json(text: &str) -> Option<PrintedCall> {
    let text = without_fence(text.trim());
    let read = |text: &str| serde_json::from_str::<Named<'_>>(text).ok().map(PrintedCall::from);
    read(text).or_else(|| read(&repaired(text)?))
}

fn list(text: &str) -> Option<Vec<PrintedCall>> {
    let read = |text: &str| {
        let calls: Vec<Named<'_>> = serde_json::from_str(text).ok()?;
        Some(calls.into_iter().map(PrintedCall::from).collect::<Vec<_>>())
    };
    read(text).or_else(|| read(&repaired(text)?)).filter(|calls| !calls.is_empty())
}

/// Bodies between an opening tag, of which the first is cut already or still there, and a closing one. What stands between
/// and behind them is text.
fn tagged(text: &str, open: &str, close: &str, read: &dyn Fn(&str) -> Option<PrintedCall>) -> Option<Rest> {
    let mut rest = Rest::default();
    let mut remaining = text.strip_prefix(open).unwrap_or(text);
    loop {
        // The last one may lack its end.
        let (body, after) = remaining.split_once(close).unwrap_or((remaining, ""));
        rest.calls.push(read(body)?);
        let Some((between, next)) = after.split_once(open) else {
            rest.text.push_str(after.trim());
            return Some(rest);
        };
        rest.text.push_str(between.trim());
        remaining = next;
    }
}

/// `<function=NAME>{…}` or `<function=NAME><parameter=KEY>value</parameter>…`.
fn function_tag(text: &str) -> Option<PrintedCall> {
    let (name, body) = text.trim().strip_prefix(FUNCTION)?.split_once('>')?;
    let body = body.trim();
    let body = body.strip_suffix("</function>").unwrap_or(body).trim();
    if !body.starts_with("<parameter=") {
        let arguments = if body.is_empty() { "{}" } else { body };
        return Some(PrintedCall { name: name.trim().into(), arguments: arguments.into() });
    }
    let mut fields = serde_json::Map::new();
    for part in body.split("<parameter=").skip(1) {
        let (key, value) = part.split_once('>')?;
        let value = value.split_once("</parameter>").map_or(value, |(value, _)| value);
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        fields.insert(key.trim().to_owned(), value.into());
    }
    Some(PrintedCall { name: name.trim().into(), arguments: serde_json::Value::Object(fields).to_string() })
}

/// `[TOOL_CALLS][{…}, …]`, or `[TOOL_CALLS]name[ARGS]{…}` again and again.
fn mistral(text: &str) -> Option<Rest> {
    if let Some(calls) = list(text.trim()) {
        return Some(only(calls));
    }
    let calls = text.split(MISTRAL).map(|part| {
        let (name, arguments) = part.split_once("[ARGS]")?;
        let name = name.split_once("[CALL_ID]").map_or(name, |(name, _)| name);
        Some(PrintedCall { name: name.trim().into(), arguments: arguments.trim().into() })
    });
    calls.collect::<Option<Vec<_>>>().map(only)
}

/// `<|python_tag|>{"name": …, "parameters": …}; …` or `<|python_tag|>name.call(key="value")`.
fn llama(text: &str) -> Option<Rest> {
    let text = text.trim();
    let text = ["<|eom_id|>", "<|eot_id|>"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
    if text.trim_start().starts_with(['{', '[']) {
        let one = list(text.trim()).or_else(|| Some(vec![named_json(text)?]));
        return one.or_else(|| text.split(';').map(named_json).collect()).map(only);
    }
    let (name, arguments) = text.split_once(".call(")?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    let arguments = keyword_arguments(arguments)?;
    Some(only(vec![PrintedCall { name: name.trim().into(), arguments }]))
}

/// `key="value", other=1` as a JSON object.
fn keyword_arguments(text: &str) -> Option<String> {
    let mut json = String::from("{");
    for argument in top_level_parts(text) {
        let (key, value) = argument.split_once('=')?;
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&serde_json::Value::from(key.trim()).to_string());
        json.push(':');
        let value = value.trim();
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok();
        json.push_str(&if is_json { value.to_owned() } else { repaired(value)? });
    }
    json.push('}');
    Some(json)
}

/// The parts between commas that stand neither in a text nor in brackets.
fn top_level_parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    let (mut quote, mut is_escaped) = (None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{' | '(') => depth += 1,
            (None, ']' | '}' | ')') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            (Some(_) | None, _) => {}
        }
    }
    parts.extend(text.get(start..).filter(|last| !last.trim().is_empty()));
    parts
}

/// `…call▁begin｜>function<｜tool▁sep｜>NAME` and a fenced object, or `…call▁begin｜>NAME<｜tool▁sep｜>{…}`.
fn deepseek(text: &str) -> Option<Rest> {
    let calls = text.split(DEEPSEEK_ONE).skip(1).map(|part| {
        let body = part.split_once("<｜tool▁call▁end｜>").map_or(part, |(body, _)| body);
        let (before, after) = body.split_once("<｜tool▁sep｜>")?;
        let (name, arguments) = match after.split_once("```") {
            Some((name, _)) if before.trim() == "function" => {
                (name, without_fence(after.trim_start_matches(name).trim()))
            }
            _ => (before, after),
        };
        Some(PrintedCall { name: name.trim().into(), arguments: arguments.trim().into() })
    });
    calls.collect::<Option<Vec<_>>>().map(only)
}

fn without_fence(text: &str) -> &str {
    let Some(inner) = text.trim().strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    inner.split_once('\n').map_or(text, |(_, body)| body.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Option<Vec<(String, String)>> {
        let rest = calls_in(text, &|name| name == "ls")?;
        assert_eq!(rest.text, "");
        Some(rest.calls.into_iter().map(|call| (call.name, call.arguments)).collect())
    }

    #[test]
    fn every_dialect_is_read() {
        for text in [
            "<tool_call>\n{\"name\": \"ls\", \"arguments\": {\"path\":\".\"}}\n</tool_call>",
            "<tool_call>{\"name\": \"ls\", \"arguments\": {\"path\":\".\"}}",
            "<tool_call>{'name': 'ls', 'arguments': {'path':'.'}}</tool_call>",
            "<tool_call>\n<function=ls>\n<parameter=path>\n.\n</parameter>\n</function>\n</tool_call>",
            "<function=ls>{\"path\":\".\"}</function>",
            "[TOOL_CALLS][{\"name\": \"ls\", \"arguments\": {\"path\":\".\"}}]",
            "[TOOL_CALLS]ls[ARGS]{\"path\":\".\"}",
            "<|python_tag|>{\"name\": \"ls\", \"parameters\": {\"path\":\".\"}}<|eom_id|>",
            "<|python_tag|>ls.call(path=\".\")",
            "<|python_tag|>ls.call(path='.')",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\n```json\n{\"path\":\".\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{\"path\":\".\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "```json\n{\"name\": \"ls\", \"arguments\": {\"path\":\".\"}}\n```",
            "{\"name\": \"ls\", \"parameters\": {\"path\":\".\"}}",
            "[{\"name\": \"ls\", \"arguments\": {\"path\":\".\"}}]",
        ] {
            let calls = printed(text).unwrap_or_default();
            let [(name, arguments)] = calls.as_slice() else { panic!("{text}: {calls:?}") };
            let arguments = arguments.replace('\'', "\"");
            assert_eq!((name.as_str(), arguments.as_str()), ("ls", "{\"path\":\".\"}"), "{text}");
        }
    }

    #[test]
    fn several_calls_stay_in_their_order() {
        let two = Some(vec![("ls".to_owned(), "{}".to_owned()), ("cat".to_owned(), "{\"n\":1}".to_owned())]);
        for text in [
            "<tool_call>{\"name\":\"ls\"}</tool_call>\n<tool_call>{\"name\":\"cat\",\"arguments\":{\"n\":1}}</tool_call>",
            "[TOOL_CALLS]ls[ARGS]{}[TOOL_CALLS]cat[ARGS]{\"n\":1}",
            "<|python_tag|>{\"name\":\"ls\"}; {\"name\":\"cat\",\"parameters\":{\"n\":1}}",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁call▁begin｜>cat<｜tool▁sep｜>{\"n\":1}<｜tool▁call▁end｜>",
        ] {
            assert_eq!(printed(text), two, "{text}");
        }
    }

    #[test]
    fn text_that_is_no_call_is_left_alone() {
        for text in
            ["{\"name\": \"Ann\", \"age\": 5}", "<tool_call>", "[TOOL_CALLS]", "<|python_tag|>print(1)", "[]", "7"]
        {
            assert_eq!(printed(text), None, "{text}");
        }
    }

    #[test]
    fn the_beginning_of_a_marker_is_seen_at_the_end_of_a_text() {
        for (text, bytes) in [("a<tool_", 6), ("a<", 1), ("a[", 1), ("a", 0), ("<｜tool▁", "<｜tool▁".len()), ("é", 0)]
        {
            assert_eq!(beginning_of_marker(text), bytes, "{text}");
        }
    }
}

//! Mends JSON that a model wrote almost right, where there is only one thing that it can mean. Pure.
//!
//! Mended are: line breaks and tabs inside a text, a comma before a closing bracket, `\'`, texts in single quotes where no
//! other quote is near, `True` `False` `None`, a code fence around, a special token of the model's template behind. Never
//! closed is what was cut off, and never guessed what a text was meant to say.

/// The mended text; `None` when there is nothing here that may be mended. It is not yet known to be JSON.
pub fn repaired(text: &str) -> Option<String> {
    let inner = without_token(without_fence(text.trim()));
    let is_single_quoted = !inner.contains('"') && inner.contains('\'');
    let mut out = String::with_capacity(inner.len() + 16);
    let mut rest = inner.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => string(&mut rest, '"', &mut out)?,
            '\'' if is_single_quoted => string(&mut rest, '\'', &mut out)?,
            '\'' => return None,
            ',' => {
                let mut ahead = rest.clone();
                let closes = loop {
                    match ahead.next() {
                        Some(c) if c.is_ascii_whitespace() => {}
                        Some('}' | ']') => break true,
                        Some(_) | None => break false,
                    }
                };
                // `[,]` was meant to hold something.
                let follows_a_value = !out.trim_end().ends_with(['[', '{', ',', ':']) && !out.trim_end().is_empty();
                if !(closes && follows_a_value) {
                    out.push(',');
                }
            }
            c if c.is_ascii_alphabetic() => {
                let mut word = String::from(c);
                while let Some(more) = rest.next_if(char::is_ascii_alphabetic) {
                    word.push(more);
                }
                out.push_str(match word.as_str() {
                    "True" => "true",
                    "False" => "false",
                    "None" => "null",
                    other => other,
                });
            }
            c => out.push(c),
        }
    }
    (out != text).then_some(out)
}

/// Copies the rest of a text that began with `quote`, as a JSON text. Fails when it never ends.
fn string(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char, out: &mut String) -> Option<()> {
    out.push('"');
    loop {
        match rest.next()? {
            c if c == quote => break,
            '\\' => match rest.next()? {
                '\'' => out.push('\''),
                escaped => out.extend(['\\', escaped]),
            },
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
    if quote == '\'' {
        // After a text something must follow that can follow a text; else the quote stood inside it.
        let mut ahead = rest.clone();
        if !matches!(ahead.find(|c| !c.is_ascii_whitespace()), None | Some(',' | ':' | '}' | ']')) {
            return None;
        }
    }
    Some(())
}

fn without_fence(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    let (first, body) = inner.split_once('\n').unwrap_or(("", inner));
    if first.trim().chars().all(|c| c.is_ascii_alphanumeric()) { body.trim() } else { text }
}

/// Without what stands behind the last closing bracket, when it is a special token such as `<|im_end|>`.
fn without_token(text: &str) -> &str {
    let Some(end) = text.rfind(['}', ']']) else { return text };
    let (whole, behind) = text.split_at(end + 1);
    let behind = behind.trim();
    if behind.starts_with("<|") && behind.ends_with("|>") { whole } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn mended(text: &str) -> Option<Value> {
        serde_json::from_str(&repaired(text)?).ok()
    }

    #[test]
    fn what_can_mean_only_one_thing_is_mended() {
        for (text, meant) in [
            ("{\"text\":\"a\nb\",}", json!({"text": "a\nb"})),
            ("{\"a\":\"x\ty\r\n\"}", json!({"a": "x\ty\r\n"})),
            ("{\"a\":[1,2, ],\n}", json!({"a": [1, 2]})),
            ("{\"a\":\"it\\'s\"}", json!({"a": "it's"})),
            ("{'a': 'b', 'c': ['d']}", json!({"a": "b", "c": ["d"]})),
            ("{'a': 'it\\'s'}", json!({"a": "it's"})),
            ("{\"a\": True, \"b\": None, \"c\": [False]}", json!({"a": true, "b": null, "c": [false]})),
            ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
            ("{\"a\": 1}<|im_end|>", json!({"a": 1})),
            ("{\"a\": \",}\", \"b\": \"True ```\",}", json!({"a": ",}", "b": "True ```"})),
        ] {
            assert_eq!(mended(text), Some(meant), "{text}");
        }
    }

    #[test]
    fn what_was_cut_off_or_could_mean_two_things_is_not() {
        for text in [
            "{\"path\": \"a",
            "{\"a\": 1",
            "{\"a\": [1, 2}",
            "{'a': \"b\"}",
            "{'a': 'it's'}",
            "{a: 1}",
            "{\"a\": 1} and then {\"b\": 2}",
            "{\"a\":1}{\"b\":2}",
            "[,]",
            "{\"a\":,}",
            "{\"a\": \"C:\\dir\"}",
            "ls",
            "",
        ] {
            assert_eq!(mended(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_never_panics_and_valid_json_keeps_its_meaning(text in r#"[\[\]{}":,'0-9aTrue\\nNoné\n ]{0,40}"#) {
            let mended = repaired(&text);
            if let (Ok(value), Some(mended)) = (serde_json::from_str::<Value>(&text), mended) {
                prop_assert_eq!(serde_json::from_str::<Value>(&mended).unwrap(), value);
            }
        }
    }
}

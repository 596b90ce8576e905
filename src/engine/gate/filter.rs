//! Step 12: the result as the model reads it. The raw result stays in the ledger and on the card.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::policy::escape_json;

/// Longer results are cut for the model, in bytes of compact JSON.
const LONGEST: usize = 16 * 1024;
/// The field that says so.
const NOTE: &str = "cutForModel";

/// The text for the model where it differs from the raw result as compact JSON; `None` where it does not.
pub(in crate::engine) fn for_model(result: &Value) -> Option<String> {
    differing(result, &result.to_string())
}

/// The same of a result whose compact JSON is there already.
pub(super) fn differing(result: &Value, raw: &str) -> Option<String> {
    let shown = if raw.len() > LONGEST { Cow::Owned(cut(result)) } else { Cow::Borrowed(raw) };
    // By the function that a server's model and the terminal have, too: nothing is hidden from one of them alone.
    let shown = escape_json(&shown);
    (shown != raw).then(|| shown.into_owned())
}

/// The result with its longest parts shortened until it fits: texts at a line border, lists between entries.
fn cut(result: &Value) -> String {
    let Value::Object(fields) = result else { return head(&result.to_string(), LONGEST).to_owned() };
    let mut fields = fields.clone();
    // Each pass shortens the longest field to what is left for it; the rest of the result is small by then.
    for _ in 0..fields.len() {
        let length = Value::Object(fields.clone()).to_string().len() + 300;
        let Some(over) = length.checked_sub(LONGEST).filter(|over| *over > 0) else { break };
        let Some(name) = longest(&fields) else { break };
        let Some(value) = fields.get_mut(&name) else { break };
        let (shown, of, unit) = shorten(value, over);
        let note = format!(
            "{name} is cut here: {shown} of {of} {unit} are shown. Ask for a part (a line range, a narrower folder, \
             query or command) to get the rest."
        );
        fields.insert(NOTE.to_owned(), Value::String(note));
    }
    Value::Object(fields).to_string()
}

fn longest(fields: &Map<String, Value>) -> Option<String> {
    let can_shrink = |value: &Value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    let shrinkable = fields.iter().filter(|(name, value)| name.as_str() != NOTE && can_shrink(value));
    shrinkable.max_by_key(|(_, value)| value.to_string().len()).map(|(name, _)| name.clone())
}

/// Takes at least `over` bytes of JSON away; gives what is left, of how much, of what.
fn shorten(value: &mut Value, over: usize) -> (usize, usize, &'static str) {
    match value {
        Value::String(text) => {
            let of = text.lines().count();
            let room = Value::String(text.clone()).to_string().len().saturating_sub(over);
            let mut kept = head(text, room);
            while Value::String(kept.to_owned()).to_string().len() > room && !kept.is_empty() {
                kept = head(kept, kept.len() * 3 / 4);
            }
            let kept = kept.to_owned();
            let shown = kept.lines().count();
            *text = kept;
            (shown, of, "lines")
        }
        Value::Array(items) => {
            let of = items.len();
            let mut length = Value::Array(items.clone()).to_string().len();
            let room = length.saturating_sub(over);
            while length > room {
                let Some(last) = items.pop() else { break };
                length = length.saturating_sub(last.to_string().len() + 1);
            }
            (items.len(), of, "entries")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => (0, 0, "parts"),
    }
}

/// The longest beginning of at most `bytes` bytes that ends with a line, or else with a character.
fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (fits, _) = text.split_at(end);
    match fits.rfind('\n') {
        Some(line_end) if end < text.len() => fits.split_at(line_end + 1).0,
        _ => fits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_short_plain_result_is_read_as_it_is() {
        assert_eq!(for_model(&json!({"success": true, "content": "hello\n"})), None);
    }

    #[test]
    fn a_long_text_is_cut_at_a_line_border_with_a_note() {
        let line = "0123456789abcdef\n";
        let result = json!({"success": true, "path": "/a", "content": line.repeat(4_000)});
        let shown = for_model(&result).unwrap();
        assert!(shown.len() <= LONGEST, "{}", shown.len());
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let content = shown["content"].as_str().unwrap();
        assert!(content.ends_with(line) && content.len() > LONGEST / 2);
        let note = shown[NOTE].as_str().unwrap();
        assert!(note.contains(&format!("{} of 4000 lines", content.len() / line.len())), "{note}");
        assert_eq!(shown["path"], "/a");
    }

    #[test]
    fn one_endless_line_of_signs_that_json_escapes_is_cut_too() {
        let shown = for_model(&json!({"content": "\"\u{1b}中".repeat(20_000)})).unwrap();
        assert!(shown.len() <= LONGEST, "{}", shown.len());
        assert!(serde_json::from_str::<Value>(&shown).is_ok());
    }

    #[test]
    fn a_long_list_loses_whole_entries() {
        let entries: Vec<Value> = (0..2_000).map(|n| json!({"name": format!("file-{n}"), "size": n})).collect();
        let shown: Value = serde_json::from_str(&for_model(&json!({"entries": entries})).unwrap()).unwrap();
        let kept = shown["entries"].as_array().unwrap();
        assert_eq!(kept[..], entries[..kept.len()]);
        assert!(shown[NOTE].as_str().unwrap().contains("of 2000 entries"));
    }

    #[test]
    fn two_long_texts_are_both_cut() {
        let result = json!({"stdout": "out\n".repeat(20_000), "stderr": "err\n".repeat(20_000)});
        let shown = for_model(&result).unwrap();
        assert!(shown.len() <= LONGEST && serde_json::from_str::<Value>(&shown).is_ok());
    }

    #[test]
    fn what_does_not_show_is_an_escape_and_means_the_same() {
        let result = json!({"content": "a\u{1b}[31m\u{7f}\u{9b}b\u{202e}\u{200b}\u{e0041}\u{3000}中 é"});
        let shown = for_model(&result).unwrap();
        assert_eq!(shown, r#"{"content":"a\u001b[31m\u007f\u009bb\u202e\u200b\udb40\udc41　中 é"}"#);
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), result);
    }
}

//! The last request of a session as a person may read it: headers without keys, the body laid out, images shortened. What was
//! masked stands there as it left; a secret that left as it is is hidden, and counts as sent.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::policy::{Masker, SecretKind};
use crate::port::SentPart;
use crate::provider::http::SentRequest;

/// Longest text inside the body that is shown whole where it is no prose, in characters.
const LONGEST_DATA: usize = 120;

/// The request in parts, in their order.
pub(super) fn parts(sent: &SentRequest) -> Vec<SentPart> {
    let mut head = format!("POST {}\n", sent.url);
    for (name, value) in &sent.headers {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push('\n');
    }
    head.push('\n');
    let (body, opening) = if let Ok(mut body) = serde_json::from_slice::<Value>(&sent.body) {
        shorten(&mut body);
        let opening = opening_in(&body.to_string());
        let hidden = masker(&opening).value("sent", &body);
        (serde_json::to_string_pretty(&hidden).unwrap_or_default(), opening)
    } else {
        let text = String::from_utf8_lossy(&sent.body);
        let opening = opening_in(&text);
        (masker(&opening).text("sent", &text).into_owned(), opening)
    };
    head.push_str(&body);
    split(&head, &opening)
}

/// How a mark begins that stands nowhere in the text itself.
fn opening_in(text: &str) -> String {
    // A text cannot hold more of them than it has bytes.
    (0..=text.len()).map(|n| format!("⟦{n}:")).find(|opening| !text.contains(opening.as_str())).unwrap_or_default()
}

fn masker(opening: &str) -> Masker {
    let mark = |(index, kind): (usize, SecretKind)| (kind, format!("{opening}{index}⟧"));
    Masker::marking(SecretKind::ALL.into_iter().enumerate().map(mark).collect::<BTreeMap<_, _>>())
}

/// The text between the marks, and what each mark means.
fn split(text: &str, opening: &str) -> Vec<SentPart> {
    let mut pieces = text.split(opening);
    let mut parts = vec![SentPart::Text(pieces.next().unwrap_or_default().to_owned())];
    for piece in pieces {
        let (index, rest) = piece.split_once('⟧').unwrap_or_default();
        let kind = index.parse::<usize>().ok().and_then(|index| SecretKind::ALL.get(index));
        parts.extend(kind.map(|kind| SentPart::Hidden(*kind)));
        parts.push(SentPart::Text(rest.to_owned()));
    }
    parts
}

/// Cuts what is data and not words: images.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            let is_data = text.starts_with("data:") || (text.len() > 256 && is_base64(text));
            if is_data && text.len() > LONGEST_DATA {
                let head: String = text.chars().take(40).collect();
                *text = format!("{head}… ({} B)", text.len());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_left_is_hidden_images_are_shortened_and_words_stay() {
        let key = "ghp_aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6";
        let image = format!("data:image/png;base64,{}", "A".repeat(4_000));
        let words = format!("it was «masked: API key #1», it is {key}; ⟦0:0⟧");
        let body = serde_json::json!({"messages": [{"content": words, "image": image}]});
        let sent = SentRequest {
            url: "https://api.example.com/v1/messages".into(),
            headers: vec![("x-api-key".into(), "…".into())],
            body: body.to_string().into_bytes(),
        };
        let shown = parts(&sent);
        let [SentPart::Text(before), SentPart::Hidden(SecretKind::ApiKey), SentPart::Text(after)] = &shown[..] else {
            panic!("{shown:?}")
        };
        assert!(before.starts_with("POST https://api.example.com/v1/messages\nx-api-key: …\n\n{\n"), "{before}");
        assert!(before.ends_with("it was «masked: API key #1», it is "), "what was masked stands as it left: {before}");
        assert!(after.starts_with("; ⟦0:0⟧\"") && after.contains("… (4022 B)") && after.len() < 200, "{after}");
    }
}

//! The last request of a session as a person may read it: headers without keys, the body laid out, images shortened, secrets
//! masked.

use serde_json::Value;

use crate::policy::Masker;
use crate::provider::http::SentRequest;

/// Longest text inside the body that is shown whole where it is no prose, in characters.
const LONGEST_DATA: usize = 120;

/// The request as lines.
pub(super) fn text(sent: &SentRequest) -> String {
    let mut text = format!("POST {}\n", sent.url);
    for (name, value) in &sent.headers {
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
        text.push('\n');
    }
    text.push('\n');
    match serde_json::from_slice::<Value>(&sent.body) {
        Ok(mut body) => {
            shorten(&mut body);
            let masked = Masker::default().value("sent", &body);
            text.push_str(&serde_json::to_string_pretty(&masked).unwrap_or_default());
        }
        Err(_) => text.push_str(&Masker::default().text("sent", &String::from_utf8_lossy(&sent.body))),
    }
    text
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
    fn keys_are_masked_images_shortened_and_words_left() {
        let key = "ghp_aB3dE6gH9jK2mN5pQ8rS1tV4wX7yZ0cF3hJ6";
        let image = format!("data:image/png;base64,{}", "A".repeat(4_000));
        let body = serde_json::json!({"messages": [{"content": format!("it is {key}"), "image": image}]});
        let sent = SentRequest {
            url: "https://api.example.com/v1/messages".into(),
            headers: vec![("x-api-key".into(), "…".into())],
            body: body.to_string().into_bytes(),
        };
        let shown = text(&sent);
        assert!(shown.starts_with("POST https://api.example.com/v1/messages\nx-api-key: …\n\n{\n"), "{shown}");
        assert!(shown.contains("it is ⟦masked") && !shown.contains(key), "{shown}");
        assert!(shown.len() < 500 && shown.contains("… (4022 B)"), "{shown}");
    }
}

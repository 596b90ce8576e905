//! What a server is when it is not what it was taken for: the usual paths of its origin, asked one after the other. Only for
//! a person who asks why a connection does not work; an answer never depends on it.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::Value;

use super::http::{Address, Http, Network, TimeLimits};
use super::{ProviderKind, SecretKey, address};

/// Largest answer that is looked at, in bytes.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

/// What was found at another path of the same origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Ollama, by its own API.
    Ollama {
        /// Its address.
        url: String,
    },
    /// A list of models as OpenAI's format has it.
    OpenAiCompatible {
        /// The base URL to use.
        url: String,
    },
}

/// Looks at the usual paths of the origin. The key goes to the same origin only.
pub async fn look_around(
    kind: ProviderKind,
    base_url: &str,
    key: Option<&SecretKey>,
    network: &Network,
) -> Option<Found> {
    let base = address(kind, base_url).ok()?;
    let mut headers = HeaderMap::new();
    if let Some(mut value) = key.and_then(|key| HeaderValue::from_str(&format!("Bearer {}", key.expose())).ok()) {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let http = Http::through(network, &base).ok()?.with_headers(headers);
    if kind != ProviderKind::Ollama
        && let Some(answer) = json(&http, &format!("{}/api/version", base.origin())).await
        && answer.get("version").is_some_and(Value::is_string)
    {
        return Some(Found::Ollama { url: base.origin() });
    }
    for url in other_bases(&base) {
        let answer = json(&http, &format!("{url}/models")).await;
        if answer.is_some_and(|answer| answer.get("data").is_some_and(Value::is_array)) {
            return Some(Found::OpenAiCompatible { url });
        }
    }
    None
}

async fn json(http: &Http, url: &str) -> Option<Value> {
    let reply = http.get(url, TimeLimits::QUICK).await.ok()?;
    if !reply.is_success() {
        return None;
    }
    serde_json::from_slice(&reply.bytes(LARGEST_ANSWER).await.ok()?).ok()
}

/// Where the list of models may be instead: `/v1` added, doubled or missing, a whole endpoint taken for the base.
fn other_bases(base: &Address) -> Vec<String> {
    let origin = base.origin();
    let path = base.url().path().trim_end_matches('/');
    let mut paths = Vec::new();
    let mut cut = path;
    while let Some((shorter, _)) = cut.rsplit_once('/') {
        paths.push(shorter.to_owned());
        paths.push(format!("{shorter}/v1"));
        cut = shorter;
    }
    paths.extend([format!("{path}/v1"), "/v1".to_owned(), "/api/v1".to_owned(), String::new()]);
    let mut bases: Vec<String> = Vec::new();
    for other in paths.into_iter().filter(|other| other != path && !other.ends_with("/v1/v1")) {
        let url = format!("{origin}{other}");
        if !bases.contains(&url) {
            bases.push(url);
        }
    }
    bases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::http::base_address;

    #[test]
    fn a_base_may_be_a_doubled_or_missing_v1_or_a_whole_endpoint() {
        let others = |url: &str| other_bases(&base_address(url).unwrap());
        assert_eq!(others("http://127.0.0.1:1234"), ["http://127.0.0.1:1234/v1", "http://127.0.0.1:1234/api/v1"]);
        assert_eq!(
            others("http://127.0.0.1:1234/v1/v1/"),
            ["http://127.0.0.1:1234/v1", "http://127.0.0.1:1234", "http://127.0.0.1:1234/api/v1"]
        );
        assert_eq!(
            others("https://a.example/v1/chat/completions")[..3],
            ["https://a.example/v1/chat", "https://a.example/v1/chat/v1", "https://a.example/v1"]
        );
    }
}

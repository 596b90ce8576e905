//! Values of names that speak of secrets: `password=`, `api_key:`, `"clientSecret": "…"`, `密码：`.

use std::sync::LazyLock;

use regex::Regex;

use super::random::{is_code_name, is_random};
use super::{Secret, SecretKind};

/// Words that such a name ends with.
const WORDS: &str = r"password|passwd|passphrase|passcode|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|auth[_-]?key|signing[_-]?key|encryption[_-]?key|master[_-]?key|credential|authorization|密码|口令|密钥|令牌|私钥";
/// What may follow the word.
const ENDINGS: &str =
    r"s?(?:[_-]?(?:key|id|value|base|key[_-]base|hash|prod|production|dev|test|live|staging|v?[0-9]{1,2}))?";

static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let quote = r#"(?:\\?["'`])?"#;
    let value = r#"([^\s"'`\\,;(){}\[\]<>，；。“”]{8,512})"#;
    Regex::new(&format!(r"(?i)(?:{WORDS}){ENDINGS}{quote}\s*(?::=|=>|==|=|:|：)\s*{quote}{value}")).ok()
});
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"(?i)(?:{WORDS}){ENDINGS}\z")).ok());

pub(super) fn find(text: &str) -> Vec<Secret> {
    let hits = ASSIGNED.iter().flat_map(|pattern| pattern.captures_iter(text)).filter_map(|hit| hit.get(1));
    hits.filter_map(|hit| {
        let value = hit.as_str().trim_end_matches(['.', ':', '!', '?', '&']);
        // A query's next parameter is none of the value.
        let value = value.split_once('&').filter(|(_, next)| next.contains('=')).map_or(value, |(value, _)| value);
        let fits = is_random(value) && !is_code_name(value);
        fits.then(|| Secret { range: hit.start()..hit.start() + value.len(), kind: SecretKind::Password })
    })
    .collect()
}

/// Whether the value of a field with this name is a secret by the name alone, should it look random.
pub fn is_secret_name(name: &str) -> bool {
    NAME.as_ref().is_some_and(|pattern| pattern.is_match(name))
}

/// Whether the value fits a name that speaks of secrets.
pub(super) fn is_secret_value(value: &str) -> bool {
    !value.contains(char::is_whitespace) && value.len() <= 512 && is_random(value) && !is_code_name(value)
}

//! The values of a Secret of Kubernetes, whatever their names are: all that stands in its data is secret.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::placeholder::is_placeholder;
use super::{Secret, SecretKind};

static KIND: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?m)^[ \t-]*kind:[ \t]*["']?Secret["']?[ \t]*\r?$"#).ok());
static JSON_KIND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""kind"\s*:\s*"Secret""#).ok());
static JSON_DATA: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#""(?:data|stringData)"\s*:\s*\{([^{}]+)\}"#).ok());
static JSON_FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""[^"\\]+"\s*:\s*"([^"\\]{4,})""#).ok());
static FIELD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\A\s*["']?[A-Za-z0-9._-]+["']?:[ \t]+["']?([^\s"'|>][^\s"']{3,})"#).ok());

pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    if !text.contains("Secret") {
        return found;
    }
    let is_fit = |value: &str| !is_placeholder(value);
    if JSON_KIND.as_ref().is_some_and(|kind| kind.is_match(text)) {
        for data in JSON_DATA.iter().flat_map(|data| data.captures_iter(text)).filter_map(|hit| hit.get(1)) {
            let values = JSON_FIELD.iter().flat_map(|field| field.captures_iter(data.as_str()));
            let values = values.filter_map(|hit| hit.get(1)).filter(|value| is_fit(value.as_str()));
            found.extend(values.map(|value| secret(data.start() + value.start()..data.start() + value.end())));
        }
    }
    let mut begin = 0;
    for document in text.split("\n---") {
        if KIND.as_ref().is_some_and(|kind| kind.is_match(document)) {
            let values = fields(document).filter(|value| document.get(value.clone()).is_some_and(is_fit));
            found.extend(values.map(|value| secret(begin + value.start..begin + value.end)));
        }
        begin += document.len() + "\n---".len();
    }
    found
}

const fn secret(range: Range<usize>) -> Secret {
    Secret { range, kind: SecretKind::Password }
}

/// The values below `data:` in a document of YAML.
fn fields(document: &str) -> impl Iterator<Item = Range<usize>> {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut at = 0;
    // How far the `data:` is indented, below which a line stands.
    let mut within: Option<usize> = None;
    document.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let shown = line.trim();
        if shown.is_empty() {
            return None;
        }
        if matches!(shown, "data:" | "stringData:") {
            within = Some(indent(line));
            return None;
        }
        if within.is_some_and(|outer| indent(line) <= outer) {
            within = None;
        }
        within?;
        let value = FIELD.as_ref()?.captures(line)?.get(1)?;
        Some(start + value.start()..start + value.end())
    })
}

//! What was found when a provider's connection was looked at, as sentences of the language files.

use serde::Serialize;

/// One sentence: a key of the language files with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// The key.
    pub key: &'static str,
    /// The arguments by their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<(&'static str, String)>,
}

impl Sentence {
    /// A sentence without arguments.
    pub fn new(key: &'static str) -> Self {
        Self { key, args: Vec::new() }
    }

    /// The same with one more argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.args.push((name, value.into()));
        self
    }
}

/// How a provider's connection is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The provider's id.
    pub provider: String,
    /// Whether it can be used.
    pub is_good: bool,
    /// What was found.
    pub finding: Sentence,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Sentence>,
    /// An address that does work, to be taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better_url: Option<String>,
    /// The server's or the system's own words. Never a key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

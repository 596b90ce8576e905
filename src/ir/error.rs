//! What can go wrong between Nod and a model, in one vocabulary for every provider.

use serde::{Deserialize, Serialize};

/// What kind of error; the wire form is snake_case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    NetworkTimeout,
    NetworkError,
    AuthInvalid,
    AuthExpired,
    RateLimited,
    QuotaExceeded,
    ModelOverloaded,
    ModelNotFound,
    ContextLengthExceeded,
    OutputLengthExceeded,
    ContentFiltered,
    ParseError,
    InvalidResponse,
    MaxIterations,
    UserAborted,
    Timeout,
    Unknown,
}

/// An error that a person, the ledger and the window can carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[error("{message}")]
pub struct Error {
    /// What kind.
    pub code: ErrorCode,
    /// For a person: what happened and what to do next. Never holds a key.
    pub message: String,
    /// Which provider answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's own code, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_code: Option<String>,
    /// Whether trying again can help.
    pub retryable: bool,
    /// How long the provider asked to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Error {
    /// An error that trying again will not mend.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            provider: None,
            provider_code: None,
            retryable: false,
            retry_after_ms: None,
        }
    }

    /// The same error, marked as worth another try.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// The same error with the provider's name.
    #[must_use]
    pub fn from_provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }
}

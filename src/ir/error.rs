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
    /// The provider's own code, verbatim; where Nod itself failed, Nod's.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ir::json::{round_trip, words};

    #[test]
    fn an_error_keeps_the_standards_names() {
        let error: Error = round_trip(&json!({
            "code": "rate_limited",
            "message": "Too many requests.",
            "provider": "openai",
            "providerCode": "rate_limit_exceeded",
            "retryable": true,
            "retryAfterMs": 1500,
        }));
        let mut expected = Error::new(ErrorCode::RateLimited, "Too many requests.").retryable().from_provider("openai");
        expected.provider_code = Some("rate_limit_exceeded".into());
        expected.retry_after_ms = Some(1500);
        assert_eq!(error, expected);
        assert_eq!(error.to_string(), "Too many requests.");
    }

    #[test]
    fn codes_have_the_standards_words() {
        words(&[
            ("network_timeout", ErrorCode::NetworkTimeout),
            ("network_error", ErrorCode::NetworkError),
            ("auth_invalid", ErrorCode::AuthInvalid),
            ("auth_expired", ErrorCode::AuthExpired),
            ("rate_limited", ErrorCode::RateLimited),
            ("quota_exceeded", ErrorCode::QuotaExceeded),
            ("model_overloaded", ErrorCode::ModelOverloaded),
            ("model_not_found", ErrorCode::ModelNotFound),
            ("context_length_exceeded", ErrorCode::ContextLengthExceeded),
            ("output_length_exceeded", ErrorCode::OutputLengthExceeded),
            ("content_filtered", ErrorCode::ContentFiltered),
            ("parse_error", ErrorCode::ParseError),
            ("invalid_response", ErrorCode::InvalidResponse),
            ("max_iterations", ErrorCode::MaxIterations),
            ("user_aborted", ErrorCode::UserAborted),
            ("timeout", ErrorCode::Timeout),
            ("unknown", ErrorCode::Unknown),
        ]);
    }
}

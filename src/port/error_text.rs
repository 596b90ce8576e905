//! Which text of the language files says an error to a person. The error's own message is English, for logs and machines.

use crate::ir::{Error, ErrorCode};

/// The text for each code that a provider or the engine gives more precisely than an [`ErrorCode`] does.
const BY_PROVIDER_CODE: &[(&str, &str)] = &[
    ("address_refused", "error-address-refused"),
    ("key_in_address", "error-key-in-address"),
    ("locked", "error-locked"),
    ("setup", "error-setup"),
    ("connection_refused", "error-connection-refused"),
    ("unknown_host", "error-unknown-host"),
    ("connection_failed", "error-connection-failed"),
    ("redirected", "error-redirected"),
    ("first_byte_timeout", "error-first-byte-timeout"),
    ("idle_timeout", "error-idle-timeout"),
    ("disconnected", "error-disconnected"),
    ("too_large", "error-too-large"),
    ("tools_not_supported", "error-tools-not-supported"),
    ("thinking_not_supported", "error-thinking-not-supported"),
    ("chat_not_supported", "error-chat-not-supported"),
    ("model_not_found", "error-model-not-pulled"),
    ("sign_in", "error-sign-in"),
    ("not_ollama", "error-not-ollama"),
    ("not_openai", "error-not-this-format"),
    ("not_anthropic", "error-not-this-format"),
    ("no_such_path", "error-not-this-format"),
    ("images_not_supported", "error-no-vision"),
    ("content_filter", "error-content-filtered"),
    ("content_policy", "error-content-filtered"),
    ("garbage", "error-garbage"),
    ("no_such_model", "error-no-such-model"),
    ("not_saved", "error-not-saved"),
    ("turn_broken", "fault-turn-broken"),
    ("tls_untrusted", "error-tls-untrusted"),
    ("not_tls", "error-not-tls"),
    ("proxy_failed", "error-proxy"),
    ("ca_file", "error-ca-file"),
    ("keyring", "error-keyring"),
    ("key_missing", "error-key-missing"),
    ("key_for_other_address", "error-key-elsewhere"),
    ("no_vision", "error-no-vision"),
    ("server_away", "error-server-away"),
    ("server_lost", "error-server-lost"),
    ("server_interrupted", "error-server-interrupted"),
    ("server_run", "error-server-run"),
];

/// The key of the text, and its arguments. A text names `detail` (the error's own message) where it says too little alone;
/// a front end may show the message below it besides.
pub fn error_text(error: &Error) -> (&'static str, Vec<(&'static str, String)>) {
    let precise = error.provider_code.as_deref().and_then(|given| {
        let (_, key) = BY_PROVIDER_CODE.iter().find(|(code, _)| *code == given)?;
        Some(*key)
    });
    (precise.unwrap_or_else(|| by_code(error.code)), vec![("detail", error.message.clone())])
}

const fn by_code(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::NetworkTimeout => "error-network-timeout",
        ErrorCode::NetworkError => "error-network",
        ErrorCode::AuthInvalid => "error-auth-invalid",
        ErrorCode::AuthExpired => "error-auth-expired",
        ErrorCode::RateLimited => "error-rate-limited",
        ErrorCode::QuotaExceeded => "error-quota-exceeded",
        ErrorCode::ModelOverloaded => "error-model-overloaded",
        ErrorCode::ModelNotFound => "error-model-not-found",
        ErrorCode::ContextLengthExceeded => "error-context-length-exceeded",
        ErrorCode::OutputLengthExceeded => "error-output-length-exceeded",
        ErrorCode::ContentFiltered => "error-content-filtered",
        ErrorCode::ParseError => "error-parse",
        ErrorCode::InvalidResponse => "error-invalid-response",
        ErrorCode::MaxIterations => "error-max-iterations",
        ErrorCode::UserAborted => "error-user-aborted",
        ErrorCode::Timeout => "error-timeout",
        ErrorCode::Unknown => "error-unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_providers_own_code_says_more_than_the_kind_and_an_unknown_one_nothing() {
        let mut error = Error::new(ErrorCode::NetworkError, "Nothing answers (127.0.0.1:1).");
        let detail = vec![("detail", error.message.clone())];
        assert_eq!(error_text(&error), ("error-network", detail.clone()));
        error.provider_code = Some("connection_refused".into());
        assert_eq!(error_text(&error), ("error-connection-refused", detail.clone()));
        error.provider_code = Some("somebody_elses".into());
        assert_eq!(error_text(&error), ("error-network", detail));
    }
}

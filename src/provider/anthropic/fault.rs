//! What the API's refusals mean for a person: each with what to do next.

use serde_json::Value;

use crate::ir::{Error, ErrorCode, UnixMs};
use crate::provider::body::trimmed;
use crate::provider::retry::{Refusal, RetryHeaders, classify, error_text, with_detail};

/// A refusal with the body that came with it.
pub(super) fn refused(status: u16, body: &str, headers: &RetryHeaders, model: &str, now: UnixMs) -> Error {
    let value: Value = serde_json::from_str(trimmed(body)).unwrap_or_default();
    let text = error_text(body);
    if matches!(status, 404 | 405) && kind_of(&value).is_none() {
        return not_anthropic(&text);
    }
    explained(status, &text, &value, headers, model, now)
}

/// An error inside an answer that had begun under status 200.
pub(super) fn in_stream(error: &Value, model: &str, now: UnixMs) -> Error {
    let status = kind_of(error).and_then(status_of).or_else(|| code_of(error)).unwrap_or(200);
    let text = error_text(&error.to_string());
    explained(status, &text, error, &RetryHeaders::default(), model, now)
}

fn explained(status: u16, text: &str, body: &Value, headers: &RetryHeaders, model: &str, now: UnixMs) -> Error {
    let mut error = classify(Refusal { status, text, headers }, now);
    error.provider_code = kind_of(body).map(str::to_owned);
    let is_spent = body.to_string().contains("spend_limit") || text.to_lowercase().contains("credit balance");
    if is_spent {
        error.code = ErrorCode::QuotaExceeded;
        error.retryable = false;
        error.message =
            with_detail("The account's credit or limit is used up. Raise it or choose another provider", text);
    } else if status == 404 {
        error.message = with_detail(&format!("There is no model named {model} here. Choose another model"), text);
    } else if status == 401 {
        error.message = with_detail("The key is not accepted. Check it in Settings › Models", text);
    }
    error
}

/// The API's word for an error, wherever the error stands.
fn kind_of(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.first().and_then(kind_of),
        Value::Object(fields) => match fields.get("error") {
            Some(inner @ Value::Object(_)) => kind_of(inner),
            _ => fields.get("type").and_then(Value::as_str).filter(|kind| *kind != "error"),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn code_of(value: &Value) -> Option<u16> {
    let inner = match value {
        Value::Array(items) => return items.first().and_then(code_of),
        Value::Object(fields) => match fields.get("error") {
            Some(inner @ Value::Object(_)) => return code_of(inner),
            _ => fields.get("code").or_else(|| fields.get("status")),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }?;
    let code = inner.as_u64().or_else(|| inner.as_str()?.parse().ok())?;
    u16::try_from(code).ok().filter(|code| (400..600).contains(code))
}

fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

/// Something answers there, and it does not speak this format.
pub(super) fn not_anthropic(detail: &str) -> Error {
    let message = with_detail(
        "Something answers at that address, but not in Anthropic's format. Check the address in Settings › Models \
         (Anthropic's own is https://api.anthropic.com)",
        detail,
    );
    let mut error = Error::new(ErrorCode::InvalidResponse, message);
    error.provider_code = Some("not_anthropic".into());
    error
}

/// Text that is not the API's JSON.
pub(super) fn not_our_format(text: &str, problem: &serde_json::Error) -> Error {
    if text.trim_start().starts_with('<') {
        return not_anthropic(text);
    }
    let start: String = text.chars().take(120).collect();
    let words = format!(
        "The server sent something that is not Anthropic's format ({problem}). Check the address, or try again: {start}"
    );
    let mut error = Error::new(ErrorCode::InvalidResponse, words);
    error.provider_code = Some("garbage".into());
    error
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: UnixMs = UnixMs(0);

    #[test]
    fn an_error_in_a_stream_means_what_its_status_would() {
        for (error, code, retryable) in [
            (json!({"type": "overloaded_error", "message": "Overloaded"}), ErrorCode::ModelOverloaded, true),
            (json!({"type": "rate_limit_error", "message": "slow"}), ErrorCode::RateLimited, true),
            (json!({"type": "api_error", "message": "boom"}), ErrorCode::Unknown, true),
            (json!({"type": "invalid_request_error", "message": "bad"}), ErrorCode::Unknown, false),
            (json!({"type": "authentication_error", "message": "key"}), ErrorCode::AuthInvalid, false),
            (json!({"message": "bad", "code": 400}), ErrorCode::Unknown, false),
            (json!({"message": "bad", "code": "529"}), ErrorCode::ModelOverloaded, true),
            (json!([{"error": {"code": 429, "message": "slow"}}]), ErrorCode::RateLimited, true),
            (json!("boom"), ErrorCode::Unknown, true),
            (json!({"type": "of_tomorrow", "message": "?"}), ErrorCode::Unknown, true),
        ] {
            let found = in_stream(&error, "m", NOW);
            assert_eq!((found.code, found.retryable), (code, retryable), "{error}");
        }
    }

    #[test]
    fn a_used_up_account_is_not_tried_again() {
        let spent = json!({"type": "error", "error": {
            "type": "rate_limit_error", "message": "limit", "details": {"error_code": "enforced_spend_limit_reached"},
        }});
        let headers = RetryHeaders::default();
        for (status, body) in [
            (429, spent.to_string()),
            (400, r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#.into()),
        ] {
            let error = refused(status, &body, &headers, "m", NOW);
            assert_eq!((error.code, error.retryable), (ErrorCode::QuotaExceeded, false), "{body}");
        }
    }
}

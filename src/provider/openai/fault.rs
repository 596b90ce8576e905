//! What refusals and silences of a server of this format mean for a person: each with what to do next.

use serde_json::Value;

use crate::ir::{Error, ErrorCode, UnixMs};
use crate::provider::body::trimmed;
use crate::provider::http::{HttpError, HttpProblem};
use crate::provider::preset::{KeyUse, preset};
use crate::provider::retry::{Refusal, RetryHeaders, classify, error_text, with_detail};

/// Longest body in which a complaint is looked for, in bytes.
const LONGEST_COMPLAINT: usize = 1024 * 1024;

/// Who is spoken of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    /// The provider's id.
    pub(super) provider: &'a str,
    /// Whether a key was sent.
    pub(super) has_key: bool,
    /// The model that was asked for; empty for none.
    pub(super) model: &'a str,
}

impl<'a> Subject<'a> {
    fn name(&self) -> &'a str {
        preset(self.provider)
            .filter(|preset| preset.id != "openai-compatible")
            .map_or(self.provider, |preset| preset.display_name)
    }
}

/// An error as servers write it: an object, a text, either inside an array, or vLLM's without a wrapper.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Complaint {
    pub(super) text: String,
    /// Its own code or kind, verbatim.
    pub(super) code: String,
    /// What was wrong with the request.
    pub(super) parameter: String,
    /// A number between 400 and 599, where it says one.
    status: Option<u16>,
    /// How much the model can read, in tokens.
    window: Option<u64>,
}

impl Complaint {
    /// What a body says.
    pub(super) fn of(body: &str) -> Self {
        // Nobody explains a failure in more.
        let body = body.get(..body.floor_char_boundary(LONGEST_COMPLAINT)).unwrap_or_default();
        let mut complaint = Self { text: error_text(body), ..Self::default() };
        let Ok(value) = serde_json::from_str::<Value>(trimmed(body)) else { return complaint };
        let value = match &value {
            Value::Array(items) => items.first().unwrap_or(&value),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => &value,
        };
        let inner = value.get("error").filter(|inner| inner.is_object()).unwrap_or(value);
        let word = |name: &str| match inner.get(name) {
            Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => None,
        };
        let status = ["code", "status", "status_code"].iter().find_map(|name| word(name)?.parse().ok());
        complaint.status = status.filter(|status| (400..600).contains(status));
        let mut codes = ["code", "type", "status"].iter().filter_map(|name| word(name));
        complaint.code = codes.find(|code| code.parse::<f64>().is_err()).or_else(|| word("code")).unwrap_or_default();
        complaint.parameter = word("param").unwrap_or_default();
        complaint.window = inner.get("n_ctx").and_then(Value::as_u64);
        complaint
    }

    /// The status that it stands for, when it came inside a stream that had begun well.
    fn meant_status(&self) -> u16 {
        let says = |words: &[&str]| words.iter().any(|word| self.code.contains(word));
        self.status.unwrap_or_else(|| match () {
            () if says(&["quota", "billing", "credit"]) => 402,
            () if says(&["rate_limit", "too_many", "RESOURCE_EXHAUSTED"]) => 429,
            () if says(&["api_key", "auth", "permission"]) => 401,
            () if says(&["invalid_request", "INVALID_ARGUMENT"]) => 400,
            () if says(&["overload", "unavailable", "UNAVAILABLE"]) => 503,
            () => 200,
        })
    }
}

/// No answer from the address.
pub(super) fn unreachable(error: HttpError, subject: Subject<'_>) -> Error {
    let name = subject.name();
    let HttpError { origin, problem } = &error;
    let message = match problem {
        HttpProblem::NothingListens => Some(format!(
            "Nothing answers at {origin}. Start the server of {name}, or change its address in Settings › Models."
        )),
        HttpProblem::UnknownHost => {
            Some(format!("There is no host of that name: {origin}. Check the address of {name} in Settings › Models."))
        }
        HttpProblem::FirstByte(patience) => Some(format!(
            "{name} at {origin} did not answer within {} seconds. Try again, or choose another model.",
            patience.as_secs()
        )),
        HttpProblem::Refused(_)
        | HttpProblem::KeyInAddress
        | HttpProblem::Setup(_)
        | HttpProblem::Connect(_)
        | HttpProblem::Untrusted(_)
        | HttpProblem::NotTls(_)
        | HttpProblem::Proxy(_)
        | HttpProblem::CertificateFile { .. }
        | HttpProblem::Locked
        | HttpProblem::Redirect
        | HttpProblem::Silent(_)
        | HttpProblem::Broken(_)
        | HttpProblem::TooLarge(_) => None,
    };
    let mut error = Error::from(error);
    if let Some(message) = message {
        error.message = message;
    }
    error
}

/// The server said no before its answer.
pub(super) fn refused(
    status: u16,
    complaint: &Complaint,
    headers: &RetryHeaders,
    subject: Subject<'_>,
    now: UnixMs,
) -> Error {
    let (name, model) = (subject.name(), subject.model);
    let text = complaint.text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let code_says = |words: &[&str]| words.iter().any(|word| complaint.code.to_lowercase().contains(word));
    if complaint.text.trim_start().starts_with('<') && matches!(status, 200..=299 | 400 | 404 | 405)
        || says(&["unexpected endpoint"])
    {
        return not_this_format(subject, &complaint.text);
    }
    // The code is part of what is judged: some servers say nothing else.
    let judged = format!("{} {}", complaint.text, complaint.code);
    let mut error = classify(Refusal { status, text: &judged, headers }, now);
    let is_about_model = says(&["model", "deployment"]) || code_says(&["model"]);
    let known = if matches!(error.code, ErrorCode::ContextLengthExceeded) {
        let room = complaint.window.map_or_else(String::new, |tokens| format!(" ({tokens} tokens)"));
        Some((
            ErrorCode::ContextLengthExceeded,
            with_detail(
                &format!(
                    "The conversation is longer than {model} can read{room}. Start a new chat, or choose another model"
                ),
                &complaint.text,
            ),
        ))
    } else if matches!(status, 401 | 403) && !subject.has_key {
        Some((ErrorCode::AuthInvalid, wants_key(subject)))
    } else if code_says(&["content_filter", "content_policy"]) || says(&["content management policy"]) {
        let words = format!("{name} refused this for what it says. Say it otherwise");
        Some((ErrorCode::ContentFiltered, with_detail(&words, &complaint.text)))
    } else if matches!(status, 400 | 404 | 422 | 500 | 501) && says(&["tool"]) && says(NOT_SUPPORTED) {
        error.provider_code = Some("tools_not_supported".into());
        let words = format!("{model} cannot call tools on {name}. Choose a model that can, or switch the tools off");
        Some((ErrorCode::Unknown, with_detail(&words, &complaint.text)))
    } else if matches!(status, 400 | 404 | 415 | 422) && says(&["image", "vision", "multimodal"]) && says(NOT_SUPPORTED)
    {
        error.provider_code = Some("images_not_supported".into());
        let words = format!("{model} cannot see images. Choose a model that can, or leave the image out");
        Some((ErrorCode::Unknown, with_detail(&words, &complaint.text)))
    } else if matches!(status, 400 | 404)
        && is_about_model
        && says(&["not found", "not exist", "unknown", "no such", "invalid model"])
    {
        let words = format!("{name} has no model named {model}. Choose one from its list");
        Some((ErrorCode::ModelNotFound, with_detail(&words, &complaint.text)))
    } else if matches!(status, 404 | 405) {
        let mut error = not_this_format(subject, &complaint.text);
        error.provider_code = Some("no_such_path".into());
        return error;
    } else {
        error.message = reworded(&error, subject, &complaint.text);
        None
    };
    if let Some((code, message)) = known {
        error.code = code;
        error.retryable = false;
        error.message = message;
    }
    // That word is taken: it stands for a model that Ollama can pull.
    let is_taken = complaint.code == "model_not_found";
    if error.provider_code.is_none() && !complaint.code.is_empty() && !is_taken {
        error.provider_code = Some(complaint.code.clone());
    }
    error
}

const NOT_SUPPORTED: &[&str] = &[
    "not support",
    "unsupported",
    "not available",
    "not enabled",
    "enable-auto-tool-choice",
    "does not accept",
    "--jinja",
];

/// The general words with the server's name.
fn reworded(error: &Error, subject: Subject<'_>, detail: &str) -> String {
    let name = subject.name();
    let words = match error.code {
        ErrorCode::AuthInvalid => format!("{name} does not accept the key. Check it in Settings › Models"),
        ErrorCode::AuthExpired => format!("The key for {name} has expired. Renew it in Settings › Models"),
        ErrorCode::QuotaExceeded => {
            format!("The account at {name} has nothing left. Top it up, or choose another provider")
        }
        ErrorCode::RateLimited => format!("{name} gets too many requests at once. Wait a moment"),
        ErrorCode::ModelOverloaded => format!("{name} is overloaded. Try again in a moment"),
        ErrorCode::NetworkTimeout => format!("{name} took too long. Try again"),
        ErrorCode::NetworkError
        | ErrorCode::ModelNotFound
        | ErrorCode::ContextLengthExceeded
        | ErrorCode::OutputLengthExceeded
        | ErrorCode::ContentFiltered
        | ErrorCode::ParseError
        | ErrorCode::InvalidResponse
        | ErrorCode::MaxIterations
        | ErrorCode::UserAborted
        | ErrorCode::Timeout
        | ErrorCode::Unknown
            if error.retryable =>
        {
            format!("{name} failed. Try again")
        }
        ErrorCode::NetworkError
        | ErrorCode::ModelNotFound
        | ErrorCode::ContextLengthExceeded
        | ErrorCode::OutputLengthExceeded
        | ErrorCode::ContentFiltered
        | ErrorCode::ParseError
        | ErrorCode::InvalidResponse
        | ErrorCode::MaxIterations
        | ErrorCode::UserAborted
        | ErrorCode::Timeout
        | ErrorCode::Unknown => format!("{name} refused the request"),
    };
    with_detail(&words, detail)
}

fn wants_key(subject: Subject<'_>) -> String {
    let name = subject.name();
    let preset = preset(subject.provider).filter(|preset| preset.key != KeyUse::None);
    let variable = preset.map(|preset| preset.key_variable).filter(|variable| !variable.is_empty());
    let page = preset.map(|preset| preset.key_page).filter(|page| !page.is_empty());
    let or_variable = variable.map_or_else(String::new, |variable| format!(", or set {variable}"));
    let got_at = page.map_or_else(String::new, |page| format!(" Keys are made at {page}."));
    format!("{name} wants a key. Add it in Settings › Models{or_variable}.{got_at}")
}

/// An error in the middle of an answer.
pub(super) fn in_stream(body: &str, subject: Subject<'_>, now: UnixMs) -> Error {
    let complaint = Complaint::of(body);
    refused(complaint.meant_status(), &complaint, &RetryHeaders::default(), subject, now)
}

/// The answer ended without saying so.
pub(super) fn disconnected(subject: Subject<'_>) -> Error {
    let words =
        format!("The connection to {} ended in the middle of the answer. Send the message again.", subject.name());
    let mut error = Error::new(ErrorCode::NetworkError, words).retryable();
    error.provider_code = Some("disconnected".into());
    error
}

/// The server ended its answer with a reason that is a failure.
pub(super) fn failed_inside(reason: &str, subject: Subject<'_>) -> Error {
    let name = subject.name();
    let mut error = if reason == "insufficient_system_resource" {
        Error::new(ErrorCode::ModelOverloaded, format!("{name} is overloaded and broke off. Try again in a moment."))
    } else {
        Error::new(ErrorCode::Unknown, format!("{name} failed in the middle of the answer. Send the message again."))
    };
    error.provider_code = Some(reason.to_owned());
    error.retryable()
}

/// Something answers there, and it does not speak this format.
pub(super) fn not_this_format(subject: Subject<'_>, detail: &str) -> Error {
    let first_line = detail.trim().split(['\n', '\r']).next().unwrap_or_default();
    let message = with_detail(
        &format!(
            "Something answers at the address of {}, but not in OpenAI's format. Check the address in Settings › Models; \
             most end with /v1",
            subject.name()
        ),
        first_line,
    );
    let mut error = Error::new(ErrorCode::InvalidResponse, message);
    error.provider_code = Some("not_openai".into());
    error
}

/// An event that cannot be read.
pub(super) fn garbage(data: &str, problem: &serde_json::Error, subject: Subject<'_>) -> Error {
    if data.trim_start().starts_with('<') {
        return not_this_format(subject, data);
    }
    let start: String = data.chars().take(120).collect();
    let mut error = Error::new(
        ErrorCode::InvalidResponse,
        format!(
            "{} sent something that cannot be read ({problem}). Try again, or check the address: {start}",
            subject.name()
        ),
    );
    error.provider_code = Some("garbage".into());
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject<'_> = Subject { provider: "deepseek", has_key: true, model: "deepseek-chat" };

    #[test]
    fn complaints_of_every_shape_are_read() {
        let of = |body: &str| {
            let complaint = Complaint::of(body);
            let status = complaint.meant_status();
            (complaint.text, complaint.code, status)
        };
        let said = |code: &str, status| ("boom".to_owned(), code.to_owned(), status);
        for (body, expected) in [
            (r#"{"error":{"message":"boom","type":"server_error","code":null}}"#, said("server_error", 200)),
            (r#"{"error":{"message":"boom","code":429}}"#, said("429", 429)),
            (r#"{"error":{"message":"boom","code":"rate_limit_exceeded"}}"#, said("rate_limit_exceeded", 429)),
            (r#"{"error":{"message":"boom","code":"insufficient_quota"}}"#, said("insufficient_quota", 402)),
            (r#"{"object":"error","message":"boom","code":500}"#, said("500", 500)),
            (r#"[{"error":{"code":400,"message":"boom","status":"INVALID_ARGUMENT"}}]"#, said("INVALID_ARGUMENT", 400)),
            (r#"{"error":"boom"}"#, said("", 200)),
            ("boom", said("", 200)),
        ] {
            assert_eq!(of(body), expected, "{body}");
        }
    }

    #[test]
    fn every_refusal_says_what_it_is_and_what_to_do() {
        let refuse = |status: u16, body: &str, subject: Subject<'_>| {
            let error = refused(status, &Complaint::of(body), &RetryHeaders::default(), subject, UnixMs(0));
            (error.code, error.retryable, error.message)
        };
        let no_key = Subject { has_key: false, ..SUBJECT };
        for (status, body, subject, code, retryable, words) in [
            (
                401,
                r#"{"error":{"message":"bad key"}}"#,
                SUBJECT,
                ErrorCode::AuthInvalid,
                false,
                "does not accept the key",
            ),
            (401, r#"{"error":{"message":"no key"}}"#, no_key, ErrorCode::AuthInvalid, false, "DEEPSEEK_API_KEY"),
            (
                402,
                r#"{"error":{"message":"Insufficient Balance"}}"#,
                SUBJECT,
                ErrorCode::QuotaExceeded,
                false,
                "Top it up",
            ),
            (
                404,
                r#"{"error":{"message":"The model x does not exist"}}"#,
                SUBJECT,
                ErrorCode::ModelNotFound,
                false,
                "list",
            ),
            (404, "404 page not found", SUBJECT, ErrorCode::InvalidResponse, false, "Check the address"),
            (
                429,
                r#"{"error":{"message":"slow","code":"insufficient_quota"}}"#,
                SUBJECT,
                ErrorCode::QuotaExceeded,
                false,
                "Top it up",
            ),
            (429, r#"{"error":{"message":"slow"}}"#, SUBJECT, ErrorCode::RateLimited, true, "Wait"),
            (503, r#"{"error":{"message":"busy"}}"#, SUBJECT, ErrorCode::ModelOverloaded, true, "moment"),
            (
                400,
                r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"request (13392 tokens) exceeds the available context size","n_ctx":8192}}"#,
                SUBJECT,
                ErrorCode::ContextLengthExceeded,
                false,
                "8192 tokens",
            ),
            (
                400,
                r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}"#,
                SUBJECT,
                ErrorCode::Unknown,
                false,
                "cannot call tools",
            ),
            (
                400,
                r#"{"error":{"message":"image input is not supported"}}"#,
                SUBJECT,
                ErrorCode::Unknown,
                false,
                "cannot see images",
            ),
            (
                200,
                r#"{"error":"Unexpected endpoint or method. (POST /x)"}"#,
                SUBJECT,
                ErrorCode::InvalidResponse,
                false,
                "/v1",
            ),
            (
                400,
                r#"{"error":{"message":"x","code":"content_filter"}}"#,
                SUBJECT,
                ErrorCode::ContentFiltered,
                false,
                "otherwise",
            ),
            (
                500,
                r#"{"error":{"message":"Jinja Exception: x"}}"#,
                SUBJECT,
                ErrorCode::InvalidResponse,
                false,
                "refused",
            ),
        ] {
            let (found, can_retry, message) = refuse(status, body, subject);
            assert_eq!((found, can_retry), (code, retryable), "{body}: {message}");
            assert!(message.contains(words), "{body}: {message}");
        }
    }
}

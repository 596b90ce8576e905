//! Whether and when to try again: what a status means, what the server asked for, how long to wait. Pure: the time and
//! the random number come in.

use serde_json::Value;

use super::body::trimmed;
use crate::ir::{Error, ErrorCode, UnixMs};

/// Most tries after the first.
pub const RETRY_LIMIT: u32 = 3;
/// A longer wait than this is the person's decision, not ours.
const LONGEST_WAIT_MS: u64 = 60_000;
const FIRST_WAIT_MS: u64 = 500;
const WAIT_CAP_MS: u64 = 8_000;

/// What a server's headers say of trying again, as they came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetryHeaders {
    /// `Retry-After`: seconds or an HTTP date.
    pub retry_after: Option<String>,
    /// `Retry-After-Ms`.
    pub retry_after_ms: Option<String>,
    /// `X-Should-Retry`: `true` or `false`.
    pub should_retry: Option<String>,
}

impl RetryHeaders {
    /// How long the server asks to wait, in milliseconds, rounded up; a moment that is past is 0.
    pub fn wait_ms(&self, now: UnixMs) -> Option<u64> {
        let exact = self.retry_after_ms.as_deref().and_then(|text| millis(text, 1.0));
        exact.or_else(|| {
            let text = self.retry_after.as_deref()?.trim();
            millis(text, 1000.0).or_else(|| until(text, now))
        })
    }
}

fn millis(text: &str, factor: f64) -> Option<u64> {
    let number: f64 = text.trim().parse().ok().filter(|number: &f64| number.is_finite())?;
    // Negative becomes 0 and huge saturates, which is what is wanted of both.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let millis = (number * factor).ceil() as u64;
    Some(millis)
}

fn until(text: &str, now: UnixMs) -> Option<u64> {
    let moment = httpdate::parse_http_date(text).ok()?;
    let at = moment.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Some(UnixMs(i64::try_from(at).unwrap_or(i64::MAX)).since(now))
}

/// A refusal by a server.
#[derive(Debug, Clone, Copy)]
pub struct Refusal<'a> {
    /// The HTTP status; 200 for an error inside a stream.
    pub status: u16,
    /// The server's own words.
    pub text: &'a str,
    /// What the headers say.
    pub headers: &'a RetryHeaders,
}

/// How servers say that a conversation is longer than the model can read.
const OVERFLOW_WORDS: &[&str] = &[
    "context length",
    "context size",
    "context window",
    "context_length",
    "exceed_context",
    "maximum context",
    "maximum model length",
    "max_model_len",
    "prompt is too long",
    "prompt too long",
    "prompt exceeds max length",
    "input is too long",
    "range of input length",
    "model token limit",
    "maximum number of tokens allowed",
    "reduce the length of the messages",
    "too many input tokens",
];

/// How servers say inside a stream that they are overloaded.
const BUSY_WORDS: &[&str] = &["overloaded", "server busy", "capacity"];

/// What a refusal means, whichever server it came from. The adapter adds its name and, where it knows more, better words.
pub fn classify(refusal: Refusal<'_>, now: UnixMs) -> Error {
    let text = refusal.text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_overflow = says(OVERFLOW_WORDS);
    let is_deterministic =
        says(&["jinja", "roles must alternate", "template:", "template error", "error parsing tool call"]);
    let is_spent = says(&[
        "insufficient_quota",
        "insufficient quota",
        "insufficient balance",
        "credit balance",
        "spend",
        "billing",
        "quota exceeded",
        "exceeded your current quota",
    ]);
    let (code, can_retry, message) = match refusal.status {
        _ if is_overflow => (
            ErrorCode::ContextLengthExceeded,
            false,
            "The conversation is longer than the model can read. Start a new chat, or give the model a larger context",
        ),
        401 if text.contains("expired") => {
            (ErrorCode::AuthExpired, false, "The key or sign-in has expired. Renew it in Settings")
        }
        401 | 403 => (ErrorCode::AuthInvalid, false, "The server does not accept the key or sign-in. Check it"),
        402 => {
            (ErrorCode::QuotaExceeded, false, "The account has no credit left. Top it up or choose another provider")
        }
        404 => (ErrorCode::ModelNotFound, false, "The server does not know this model or address. Check both"),
        408 | 504 => (ErrorCode::NetworkTimeout, true, "The server took too long"),
        413 => (ErrorCode::ContextLengthExceeded, false, "The request is too large for the server. Start a new chat"),
        400 | 429 if is_spent => {
            (ErrorCode::QuotaExceeded, false, "The account's limit is used up. Raise it or choose another provider")
        }
        429 => (ErrorCode::RateLimited, true, "Too many requests at once. Wait a moment"),
        500.. if is_deterministic => {
            (ErrorCode::InvalidResponse, false, "The server could not use this conversation with this model")
        }
        502 | 503 | 529 => (ErrorCode::ModelOverloaded, true, "The server is overloaded. Try again in a moment"),
        409 | 500.. => (ErrorCode::Unknown, true, "The server failed"),
        // An error inside a stream that had begun well.
        200..=299 if says(BUSY_WORDS) => {
            (ErrorCode::ModelOverloaded, true, "The server is overloaded. Try again in a moment")
        }
        200..=299 if says(&["rate limit", "rate_limit", "too many requests"]) => {
            (ErrorCode::RateLimited, true, "Too many requests at once. Wait a moment")
        }
        200..=299 if is_deterministic => {
            (ErrorCode::InvalidResponse, false, "The server could not use this conversation with this model")
        }
        200..=299 => (ErrorCode::Unknown, true, "The model's server failed"),
        _ => (ErrorCode::Unknown, false, "The server refused the request"),
    };
    let mut error = Error::new(code, with_detail(message, refusal.text));
    error.retryable = match refusal.headers.should_retry.as_deref().map(str::trim) {
        // What fails the same way each time is not mended by the server's hope.
        Some("true") => !is_overflow && !is_deterministic,
        Some("false") => false,
        _ => can_retry,
    };
    error.retry_after_ms = refusal.headers.wait_ms(now);
    error
}

/// The context window that a refused request taught, in tokens: servers name it when a request is too long.
pub fn learnt_window(error: &Error) -> Option<u64> {
    if error.code != ErrorCode::ContextLengthExceeded {
        return None;
    }
    let text = error.message.to_lowercase();
    [
        "n_ctx",
        "context size",
        "context length is",
        "context length of",
        "context window of",
        "maximum model length of",
        "model token limit",
        "maximum number of tokens allowed",
        "tokens >",
    ]
    .iter()
    .find_map(|words| {
        let (_, after) = text.split_once(words)?;
        let start = after.find(|c: char| c.is_ascii_digit()).filter(|start| *start <= 4)?;
        let digits: String = after.get(start..)?.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|tokens| *tokens >= 256)
    })
}

/// A sentence with the server's own words behind it, cut to what a person reads.
pub fn with_detail(message: &str, detail: &str) -> String {
    let detail = detail.trim();
    // Of a proxy's page the title says all that there is to say.
    let detail = if detail.starts_with('<') { title_of(detail) } else { detail };
    if detail.is_empty() {
        return format!("{message}.");
    }
    let mut cut: String = detail.chars().take(300).collect();
    if cut.len() < detail.len() {
        cut.push('…');
    }
    format!("{message}: {cut}")
}

fn title_of(page: &str) -> &str {
    let lower = page.to_ascii_lowercase();
    let inside = |open: &str, close: &str| {
        let start = lower.find(open)? + open.len();
        let end = start + lower.get(start..)?.find(close)?;
        page.get(start..end)
    };
    inside("<title>", "</title>").or_else(|| inside("<h1>", "</h1>")).unwrap_or_default().trim()
}

/// The server's words in an error body: `{"error": "…"}`, `{"error": {"message": …}}`, `{"message": …}`,
/// `{"detail": …}`, any of them inside an array; a body that is none of these, as it stands.
pub fn error_text(body: &str) -> String {
    let body = trimmed(body);
    serde_json::from_str::<Value>(body).ok().as_ref().and_then(message_in).unwrap_or_else(|| body.into())
}

fn message_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => items.first().and_then(message_in),
        Value::Object(fields) => ["error", "message", "detail", "msg"]
            .into_iter()
            .find_map(|name| fields.get(name).filter(|value| !value.is_null()).and_then(message_in)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Whether the person has seen anything of the answer that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Nothing,
    Something,
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Wait and send the same again.
    Retry {
        /// How long, in milliseconds.
        wait_ms: u64,
    },
    /// The error stands.
    GiveUp,
}

/// What to do after `error`, when `retries` tries were made after the first. `random` is from 0 to 1.
pub fn decide(error: &Error, retries: u32, shown: Shown, random: f64) -> Decision {
    if !error.retryable || shown == Shown::Something || retries >= RETRY_LIMIT {
        return Decision::GiveUp;
    }
    let random = random.clamp(0.0, 1.0);
    let jitter = |base: u64, share: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
        let millis = (base as f64 * share * random) as u64;
        millis
    };
    let wait_ms = match error.retry_after_ms {
        Some(asked) if asked > LONGEST_WAIT_MS => return Decision::GiveUp,
        // Never earlier than asked, and not all at the same moment.
        Some(asked) => asked + jitter(asked.min(4_000), 0.25),
        None => {
            let base = FIRST_WAIT_MS.saturating_mul(1 << retries.min(8)).min(WAIT_CAP_MS);
            base - jitter(base, 0.25)
        }
    };
    Decision::Retry { wait_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: UnixMs = UnixMs(1_796_212_800_000); // 2 December 2026, 12:00 UTC

    fn refused(status: u16, text: &str) -> (ErrorCode, bool) {
        let error = classify(Refusal { status, text, headers: &RetryHeaders::default() }, NOON);
        assert!(error.message.contains(text), "{}", error.message);
        (error.code, error.retryable)
    }

    #[test]
    fn a_status_says_what_failed_and_whether_trying_again_helps() {
        let cases = [
            (400, "bad", ErrorCode::Unknown, false),
            (401, "unauthorized", ErrorCode::AuthInvalid, false),
            (401, "token expired", ErrorCode::AuthExpired, false),
            (402, "", ErrorCode::QuotaExceeded, false),
            (403, "", ErrorCode::AuthInvalid, false),
            (404, "model 'x' not found", ErrorCode::ModelNotFound, false),
            (408, "", ErrorCode::NetworkTimeout, true),
            (409, "", ErrorCode::Unknown, true),
            (413, "", ErrorCode::ContextLengthExceeded, false),
            (418, "", ErrorCode::Unknown, false),
            (422, "extra_forbidden", ErrorCode::Unknown, false),
            (429, "slow down", ErrorCode::RateLimited, true),
            (429, "insufficient_quota", ErrorCode::QuotaExceeded, false),
            (429, "You exceeded your current quota, please check your plan", ErrorCode::QuotaExceeded, false),
            (400, "Your credit balance is too low to access the API", ErrorCode::QuotaExceeded, false),
            (501, "Jinja template error", ErrorCode::InvalidResponse, false),
            (200, "Overloaded", ErrorCode::ModelOverloaded, true),
            (200, "Rate limit reached", ErrorCode::RateLimited, true),
            (200, "error parsing tool call: raw='{'", ErrorCode::InvalidResponse, false),
            (499, "request canceled", ErrorCode::Unknown, false),
            (500, "runner failed", ErrorCode::Unknown, true),
            (500, "Jinja Exception: roles must alternate", ErrorCode::InvalidResponse, false),
            (502, "", ErrorCode::ModelOverloaded, true),
            (503, "server busy", ErrorCode::ModelOverloaded, true),
            (504, "", ErrorCode::NetworkTimeout, true),
            (529, "overloaded", ErrorCode::ModelOverloaded, true),
            (599, "", ErrorCode::Unknown, true),
            (200, "model runner has unexpectedly stopped", ErrorCode::Unknown, true),
            (
                400,
                "the prompt is longer than the context length currently available",
                ErrorCode::ContextLengthExceeded,
                false,
            ),
            (500, "request exceeds the available context size", ErrorCode::ContextLengthExceeded, false),
            (400, "Range of input length should be [1, 30720]", ErrorCode::ContextLengthExceeded, false),
            (400, "Please reduce the length of the messages or completion.", ErrorCode::ContextLengthExceeded, false),
        ];
        for (status, text, code, retryable) in cases {
            assert_eq!(refused(status, text), (code, retryable), "{status} {text}");
        }
    }

    #[test]
    fn the_servers_wait_is_read_in_every_form() {
        let wait = |after: Option<&str>, ms: Option<&str>| {
            RetryHeaders { retry_after: after.map(Into::into), retry_after_ms: ms.map(Into::into), should_retry: None }
                .wait_ms(NOON)
        };
        assert_eq!(wait(Some("3"), None), Some(3_000));
        assert_eq!(wait(Some(" 0.25 "), None), Some(250));
        assert_eq!(wait(Some("-5"), None), Some(0));
        assert_eq!(wait(Some("3"), Some("1500")), Some(1_500));
        assert_eq!(wait(Some("3"), Some("soon")), Some(3_000));
        assert_eq!(wait(Some("Wed, 02 Dec 2026 12:00:05 GMT"), None), Some(5_000));
        assert_eq!(wait(Some("Wed, 02 Dec 2026 11:00:05 GMT"), None), Some(0));
        // All three forms of a date, and what no clock shows.
        assert_eq!(wait(Some("Wednesday, 02-Dec-26 12:00:05 GMT"), None), Some(5_000));
        assert_eq!(wait(Some("Wed Dec  2 12:00:05 2026"), None), Some(5_000));
        assert_eq!(wait(Some("Fri, 31 Dec 9999 23:59:59 GMT"), None).map(|ms| ms > 1 << 40), Some(true));
        assert_eq!(wait(Some("1e300"), None), Some(u64::MAX));
        assert_eq!(wait(Some("0.0001"), None), Some(1));
        assert_eq!(wait(None, Some("-3")), Some(0));
        for nothing in ["", " ", "later", "NaN", "inf", "1e999", "12 apples", "0x10"] {
            assert_eq!(wait(Some(nothing), None), None, "{nothing}");
        }
        assert_eq!(wait(None, None), None);
    }

    #[test]
    fn the_server_may_say_that_trying_again_is_pointless_or_not() {
        let retryable = |status, flag: &str| {
            let headers = RetryHeaders { should_retry: Some(flag.into()), ..RetryHeaders::default() };
            classify(Refusal { status, text: "", headers: &headers }, NOON).retryable
        };
        assert_eq!([retryable(503, "false"), retryable(400, "true"), retryable(503, "?")], [false, true, true]);
        let headers = RetryHeaders { should_retry: Some("true".into()), ..RetryHeaders::default() };
        let refusal = Refusal { status: 500, text: "Jinja Exception: roles must alternate", headers: &headers };
        assert!(!classify(refusal, NOON).retryable);
    }

    #[test]
    fn a_request_that_is_too_long_teaches_the_window() {
        let learnt = |text: &str| learnt_window(&Error::new(ErrorCode::ContextLengthExceeded, text));
        for (text, tokens) in [
            ("request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it", Some(8_192)),
            ("This model's maximum context length is 16385 tokens.", Some(16_385)),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000)),
            ("{\"n_prompt_tokens\":13000,\"n_ctx\":4096}", Some(4_096)),
            ("Invalid request: Your request exceeded model token limit: 8192", Some(8_192)),
            ("The input token count (9) exceeds the maximum number of tokens allowed (1048576).", Some(1_048_576)),
            ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", Some(8_192)),
            ("the prompt is longer than the context length currently available", None),
            ("context size (0 tokens)", None),
        ] {
            assert_eq!(learnt(text), tokens, "{text}");
        }
        assert_eq!(learnt_window(&Error::new(ErrorCode::Unknown, "context size (8192 tokens)")), None);
    }

    #[test]
    fn error_bodies_of_every_shape_give_their_words() {
        for body in [
            r#"{"error":"boom"}"#,
            r#"{"error":{"message":"boom","type":"x"}}"#,
            r#"[{"error":{"code":400,"message":"boom"}}]"#,
            r#"{"object":"error","message":"boom","code":500}"#,
            r#"{"detail":[{"msg":"boom"}]}"#,
            " boom\n",
        ] {
            assert_eq!(error_text(body), "boom", "{body}");
        }
        assert_eq!(error_text("{}"), "{}");
    }

    #[test]
    fn of_a_proxys_page_only_the_title_is_shown() {
        let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body></html>";
        assert_eq!(with_detail("It failed", page), "It failed: 502 Bad Gateway");
        assert_eq!(with_detail("It failed", "<html><H1>Too Large</H1></html>"), "It failed: Too Large");
        assert_eq!(with_detail("It failed", "<!doctype html><p>"), "It failed.");
    }

    #[test]
    fn waiting_grows_is_capped_and_ends_after_three_tries() {
        let error = Error::new(ErrorCode::ModelOverloaded, "busy").retryable();
        let waits: Vec<Decision> = (0..4).map(|retries| decide(&error, retries, Shown::Nothing, 0.0)).collect();
        assert_eq!(
            waits,
            [
                Decision::Retry { wait_ms: 500 },
                Decision::Retry { wait_ms: 1_000 },
                Decision::Retry { wait_ms: 2_000 },
                Decision::GiveUp
            ]
        );
        assert_eq!(decide(&error, 0, Shown::Nothing, 1.0), Decision::Retry { wait_ms: 375 });
        assert_eq!(decide(&error, 0, Shown::Nothing, f64::INFINITY), Decision::Retry { wait_ms: 375 });
    }

    #[test]
    fn the_servers_own_wait_is_never_undercut_and_a_long_one_is_shown() {
        let mut error = Error::new(ErrorCode::RateLimited, "slow").retryable();
        error.retry_after_ms = Some(2_000);
        assert_eq!(decide(&error, 0, Shown::Nothing, 0.0), Decision::Retry { wait_ms: 2_000 });
        assert_eq!(decide(&error, 0, Shown::Nothing, 1.0), Decision::Retry { wait_ms: 2_500 });
        error.retry_after_ms = Some(3_600_000);
        assert_eq!(decide(&error, 0, Shown::Nothing, 0.0), Decision::GiveUp);
    }

    #[test]
    fn nothing_is_sent_again_after_the_first_shown_byte_or_for_a_lasting_error() {
        let error = Error::new(ErrorCode::NetworkError, "cut").retryable();
        assert_eq!(decide(&error, 0, Shown::Something, 0.0), Decision::GiveUp);
        assert_eq!(decide(&Error::new(ErrorCode::AuthInvalid, "key"), 0, Shown::Nothing, 0.0), Decision::GiveUp);
    }
}

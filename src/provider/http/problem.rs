//! What can go wrong between here and a server, and what it means for a person.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use super::address::LookupRefused;
use crate::ir::{Error, ErrorCode};

/// What went wrong between here and the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {problem}")]
pub struct HttpError {
    /// Scheme, host and port.
    pub origin: String,
    /// What.
    pub problem: HttpProblem,
}

/// What went wrong, by kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpProblem {
    #[error("{0}")]
    Refused(String),
    #[error("it holds a key or a password")]
    KeyInAddress,
    #[error("the padlock of this chat is closed")]
    Locked,
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
    #[error("nothing listens there")]
    NothingListens,
    #[error("there is no host of that name")]
    UnknownHost,
    #[error("no connection: {0}")]
    Connect(String),
    #[error("its certificate is not trusted: {0}")]
    Untrusted(String),
    #[error("it does not speak TLS: {0}")]
    NotTls(String),
    #[error("the proxy: {0}")]
    Proxy(String),
    #[error("the file of certificates {path} cannot be used: {reason}")]
    CertificateFile { path: String, reason: String },
    #[error("it redirects to another place")]
    Redirect,
    #[error("no answer for {} seconds", .0.as_secs())]
    FirstByte(Duration),
    #[error("the answer stopped for {} seconds", .0.as_secs())]
    Silent(Duration),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl From<HttpError> for Error {
    fn from(HttpError { origin, problem }: HttpError) -> Self {
        let (code, can_retry, provider_code, message) = match &problem {
            HttpProblem::Refused(_) => (ErrorCode::NetworkError, false, "address_refused", "That address is not used"),
            HttpProblem::KeyInAddress => (
                ErrorCode::NetworkError,
                false,
                "key_in_address",
                "An address holds no key: it is kept and shown as it is. Give the address without it, and the key apart",
            ),
            HttpProblem::Locked => (
                ErrorCode::NetworkError,
                false,
                "locked",
                "Nothing was sent: this chat may reach this machine only. Open its padlock, or choose a local model",
            ),
            HttpProblem::Setup(_) => (ErrorCode::NetworkError, false, "setup", "No request could be made"),
            HttpProblem::NothingListens => {
                (ErrorCode::NetworkError, true, "connection_refused", "Nothing answers. Is the server running?")
            }
            HttpProblem::UnknownHost => {
                (ErrorCode::NetworkError, true, "unknown_host", "The server was not found. Check the address")
            }
            HttpProblem::Connect(_) => {
                (ErrorCode::NetworkError, true, "connection_failed", "No connection to the server")
            }
            HttpProblem::Untrusted(_) => {
                (ErrorCode::NetworkError, false, "tls_untrusted", "The server's certificate is not trusted")
            }
            HttpProblem::NotTls(_) => {
                (ErrorCode::NetworkError, false, "not_tls", "The server does not speak https. Check the address")
            }
            HttpProblem::Proxy(_) => {
                (ErrorCode::NetworkError, true, "proxy_failed", "The proxy lets nothing through. Check its address")
            }
            HttpProblem::CertificateFile { .. } => {
                (ErrorCode::NetworkError, false, "ca_file", "The file of certificates cannot be used")
            }
            HttpProblem::Redirect => {
                (ErrorCode::NetworkError, false, "redirected", "The server redirects elsewhere. Check the address")
            }
            HttpProblem::FirstByte(_) => {
                (ErrorCode::NetworkTimeout, true, "first_byte_timeout", "The server did not answer in time")
            }
            HttpProblem::Silent(_) => {
                (ErrorCode::NetworkTimeout, true, "idle_timeout", "The server stopped in the middle of its answer")
            }
            HttpProblem::Broken(_) => {
                (ErrorCode::NetworkError, true, "disconnected", "The connection broke during the answer")
            }
            HttpProblem::TooLarge(_) => {
                (ErrorCode::InvalidResponse, false, "too_large", "The server's answer is too large")
            }
        };
        let mut error = Self::new(code, format!("{message} ({problem}; {origin})."));
        error.retryable = can_retry;
        error.provider_code = Some(provider_code.into());
        error
    }
}
pub(super) fn problem_of(error: &reqwest::Error) -> HttpProblem {
    if error.is_redirect() {
        return HttpProblem::Redirect;
    }
    if !error.is_connect() {
        return if error.is_builder() { HttpProblem::Setup(chain(error)) } else { HttpProblem::Broken(chain(error)) };
    }
    if causes(error).any(<dyn std::error::Error>::is::<LookupRefused>) {
        return HttpProblem::Refused(LookupRefused.to_string());
    }
    let says = |word: &str| causes(error).any(|cause| cause.to_string().contains(word));
    if says("tunnel error") || says("SOCKS") || says("socks connect") {
        return HttpProblem::Proxy(chain(error));
    }
    if error.is_dns() {
        return HttpProblem::UnknownHost;
    }
    if says("invalid peer certificate") {
        return HttpProblem::Untrusted(chain(error));
    }
    if says("InvalidContentType") {
        return HttpProblem::NotTls(chain(error));
    }
    let is_refused = causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused);
    if is_refused { HttpProblem::NothingListens } else { HttpProblem::Connect(chain(error)) }
}

fn causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    fn inner<'a>(cause: &&'a (dyn std::error::Error + 'static)) -> Option<&'a (dyn std::error::Error + 'static)> {
        (**cause).source()
    }
    std::iter::successors(error.source(), inner)
}

/// The innermost causes say what happened; the outer ones only that it did.
pub(super) fn chain(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

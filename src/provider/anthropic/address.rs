//! The address as a person types it, to the base of the Messages API. The result ends with `/` and holds no `v1`.

use url::Url;

use crate::ir::Error;
use crate::provider::http::{Address, HttpError, HttpProblem};

/// Anthropic's own.
pub(super) const DEFAULT_URL: &str = "https://api.anthropic.com";

/// Understands the host, the base, `…/v1` and the whole `…/v1/messages`. Without a scheme it is https, except on this
/// machine.
pub(super) fn parse(typed: &str) -> Result<Address, Error> {
    let typed = typed.trim().trim_matches(['"', '\'']).trim();
    let typed = if typed.is_empty() { DEFAULT_URL } else { typed };
    let refuse = |reason: String| {
        Error::from(HttpError { origin: typed.chars().take(200).collect(), problem: HttpProblem::Refused(reason) })
    };
    let with_scheme = if typed.contains("://") {
        typed.to_owned()
    } else {
        let is_here = ["localhost", "127.", "[::1]", "0.0.0.0"].iter().any(|here| typed.starts_with(here));
        format!("{}://{typed}", if is_here { "http" } else { "https" })
    };
    let mut url = Url::parse(&with_scheme).map_err(|error| refuse(format!("it is not an address: {error}")))?;
    let loopback = match url.host() {
        Some(url::Host::Ipv4(ip)) if ip.is_unspecified() => Some("127.0.0.1"),
        Some(url::Host::Ipv6(ip)) if ip.is_unspecified() => Some("[::1]"),
        Some(url::Host::Ipv4(_) | url::Host::Ipv6(_) | url::Host::Domain(_)) | None => None,
    };
    if let Some(loopback) = loopback
        && url.set_host(Some(loopback)).is_err()
    {
        return Err(refuse("it names no host".into()));
    }
    let mut path = url.path().trim_end_matches('/').to_owned();
    for suffix in ["/messages", "/models", "/v1"] {
        if let Some(shorter) = path.strip_suffix(suffix) {
            path = shorter.trim_end_matches('/').to_owned();
        }
    }
    path.push('/');
    url.set_path(&path);
    url.set_query(None);
    url.set_fragment(None);
    Ok(Address::new(url)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_form_is_understood() {
        for (typed, expected) in [
            ("", "https://api.anthropic.com/"),
            ("api.anthropic.com", "https://api.anthropic.com/"),
            ("https://api.anthropic.com/v1", "https://api.anthropic.com/"),
            ("https://api.anthropic.com/v1/messages/", "https://api.anthropic.com/"),
            ("https://gateway.example.com/anthropic", "https://gateway.example.com/anthropic/"),
            ("https://gateway.example.com/anthropic/v1?x=1", "https://gateway.example.com/anthropic/"),
            (" 'localhost:4000' ", "http://localhost:4000/"),
            ("http://0.0.0.0:4000/v1", "http://127.0.0.1:4000/"),
        ] {
            assert_eq!(parse(typed).map(|address| address.url().to_string()).as_deref(), Ok(expected), "{typed}");
        }
        for refused in ["http://", "ftp://localhost", "169.254.169.254", "http://8.8.8.8", "https://u:p@x.org", "a b"] {
            assert!(parse(refused).is_err(), "{refused}");
        }
    }
}

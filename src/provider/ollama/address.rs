//! The address as a person types it, to the base of Ollama's API. The rules are those of Ollama's own `OLLAMA_HOST`.

use url::Url;

use crate::ir::Error;
use crate::provider::http::{Address, HttpError, HttpProblem, cut_to_base, make_connectable, refuse_key};

/// Where Ollama listens when nobody says otherwise.
pub(super) const DEFAULT_URL: &str = "http://127.0.0.1:11434";
const DEFAULT_PORT: u16 = 11434;

/// Understands host, host:port, :port and scheme://host:port/path. A scheme brings its own default port, otherwise it is
/// 11434. `0.0.0.0` and `::` are where a server binds, not where one connects: they become loopback. `/api` and `/v1` at
/// the end are cut. The result ends with `/`.
pub(super) fn parse(typed: &str) -> Result<Address, Error> {
    let typed = typed.trim().trim_matches(['"', '\'']).trim();
    let typed = if typed.is_empty() { DEFAULT_URL } else { typed };
    let (scheme, rest) = match typed.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, typed),
    };
    let rest = match rest.strip_prefix(':') {
        Some(after) if after.starts_with(|c: char| c.is_ascii_digit()) => format!("127.0.0.1:{after}"),
        _ if rest.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{rest}]"),
        _ => rest.to_owned(),
    };
    let refuse = |reason: String| {
        Error::from(HttpError { origin: typed.chars().take(200).collect(), problem: HttpProblem::Refused(reason) })
    };
    let mut url = Url::parse(&format!("{}://{rest}", scheme.unwrap_or("http")))
        .map_err(|error| refuse(format!("it is not an address: {error}")))?;
    // `Url` drops a port that is its scheme's default, so an explicit `host:80` has to be seen in the text.
    if scheme.is_none() && !names_port(&rest) && url.set_port(Some(DEFAULT_PORT)).is_err() {
        return Err(refuse("it names no host".into()));
    }
    if !make_connectable(&mut url) {
        return Err(refuse("it names no host".into()));
    }
    refuse_key(&url)?;
    cut_to_base(&mut url, &["/chat", "/api", "/v1"]);
    Ok(Address::new(url)?)
}

fn names_port(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let after_host = host.rsplit_once(']').map_or(host, |(_, after)| after);
    after_host.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(typed: &str) -> String {
        match parse(typed) {
            Ok(address) => address.url().to_string(),
            Err(error) => format!("{:?} {}", error.code, error.message),
        }
    }

    #[test]
    fn every_usual_form_is_understood() {
        for (typed, expected) in [
            ("", "http://127.0.0.1:11434/"),
            ("localhost", "http://localhost:11434/"),
            ("  'localhost' ", "http://localhost:11434/"),
            ("localhost:1234", "http://localhost:1234/"),
            ("localhost:80", "http://localhost/"),
            (":1234", "http://127.0.0.1:1234/"),
            ("192.168.1.7", "http://192.168.1.7:11434/"),
            ("gpu-box", "http://gpu-box:11434/"),
            ("gpu-box/ollama", "http://gpu-box:11434/ollama/"),
            ("::1", "http://[::1]:11434/"),
            ("[::1]:99", "http://[::1]:99/"),
            ("[::1]", "http://[::1]:11434/"),
            ("0.0.0.0", "http://127.0.0.1:11434/"),
            ("http://0.0.0.0:5000", "http://127.0.0.1:5000/"),
            ("[::]:11434", "http://[::1]:11434/"),
            ("http://localhost", "http://localhost/"),
            ("http://localhost:11434/api", "http://localhost:11434/"),
            ("http://localhost:11434/v1/", "http://localhost:11434/"),
            ("http://localhost:11434/api/chat", "http://localhost:11434/"),
            ("https://ollama.example.com", "https://ollama.example.com/"),
            ("https://ollama.example.com:8443/base/v1?x=1#y", "https://ollama.example.com:8443/base/"),
            ("HTTPS://Ollama.Example.com", "https://ollama.example.com/"),
        ] {
            assert_eq!(base(typed), expected, "{typed}");
        }
    }

    #[test]
    fn what_is_no_address_or_may_not_be_reached_is_refused() {
        for typed in [
            "http://",
            "ftp://localhost",
            "169.254.169.254",
            "http://8.8.8.8",
            "host:99999",
            "a b",
            "https://u:p@x.org",
            "http://127.0.0.1:11434/?api_key=Zq7Lm2",
        ] {
            assert!(base(typed).starts_with("NetworkError"), "{typed}: {}", base(typed));
        }
    }
}

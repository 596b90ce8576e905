//! The address as a person types it, to the base of the Messages API. The result ends with `/` and holds no `v1`.

use crate::ir::Error;
use crate::provider::http::{Address, base_address, cut_to_base};

/// Anthropic's own.
pub(super) const DEFAULT_URL: &str = "https://api.anthropic.com";

/// Understands the host, the base, `…/v1` and the whole `…/v1/messages`. Without a scheme it is https, except on this
/// machine.
pub(super) fn parse(typed: &str) -> Result<Address, Error> {
    let is_empty = typed.trim().trim_matches(['"', '\'']).trim().is_empty();
    let mut url = base_address(if is_empty { DEFAULT_URL } else { typed })?.url().clone();
    cut_to_base(&mut url, &["/messages", "/models", "/v1"]);
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

//! The address as a person types it, to where requests go: with or without `/v1`, with or without `/chat/completions`, with
//! or without a scheme, and Azure's deployments. Pure.

use std::net::IpAddr;

use url::{Host, Url};

use crate::ir::Error;
use crate::provider::http::{Address, HttpError, HttpProblem, make_connectable, refuse_key};

/// Azure wants to know which of its versions is meant.
const AZURE_VERSION: &str = "2024-10-21";

/// Where a server of this format is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Ends with `/`.
    pub(super) base: Address,
    /// The same with `v1/` taken away or put on, where the address leaves it open.
    pub(super) other_base: Option<Url>,
    /// `?api-version=…`, or empty.
    query: String,
    is_azure_host: bool,
}

impl Place {
    /// Understands an address. `usual_path` is what stands before `chat/completions` when it names only a host.
    pub(super) fn parse(typed: &str, usual_path: &str) -> Result<Self, Error> {
        let typed = typed.trim().trim_matches(['"', '\'']).trim();
        let refuse = |reason: &str| {
            let origin = typed.chars().take(200).collect();
            Error::from(HttpError { origin, problem: HttpProblem::Refused(reason.to_owned()) })
        };
        if typed.is_empty() {
            return Err(refuse("there is no address yet: set one in Settings › Models, or name it with --base-url"));
        }
        let mut url = parse_url(typed).map_err(|error| refuse(&format!("it is not an address: {error}")))?;
        if !url.has_host() || !make_connectable(&mut url) {
            return Err(refuse("it names no host"));
        }
        refuse_key(&url)?;
        let version = url.query_pairs().find(|(name, _)| name == "api-version").map(|(_, value)| value.into_owned());
        url.set_query(None);
        url.set_fragment(None);
        let mut path = url.path().trim_end_matches('/').to_owned();
        for suffix in ["/chat/completions", "/completions", "/chat", "/models", "/responses"] {
            if let Some(shorter) = path.strip_suffix(suffix) {
                path = shorter.trim_end_matches('/').to_owned();
                break;
            }
        }
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let is_azure_host = host.ends_with(".openai.azure.com")
            || host.ends_with(".cognitiveservices.azure.com")
            || usual_path == "openai";
        let is_bare = path.is_empty();
        if is_bare && !usual_path.is_empty() {
            path = format!("/{usual_path}");
        }
        let is_deployment = path.contains("/deployments/");
        let needs_version = is_azure_host && !path.ends_with("/v1");
        let query = match version.or_else(|| needs_version.then(|| AZURE_VERSION.to_owned())) {
            Some(version) => {
                let mut with = url.clone();
                with.query_pairs_mut().append_pair("api-version", &version);
                format!("?{}", with.query().unwrap_or_default())
            }
            None => String::new(),
        };
        let base_of = |path: &str| {
            let mut url = url.clone();
            url.set_path(&format!("{path}/"));
            url
        };
        let other_base = match path.strip_suffix("/v1") {
            _ if is_azure_host || is_deployment => None,
            Some(shorter) => Some(base_of(shorter)),
            None if is_bare => Some(base_of(&format!("{path}/v1"))),
            None => None,
        };
        Ok(Self { base: Address::new(base_of(&path))?, other_base, query, is_azure_host })
    }

    /// Where a chat is asked for, below the base.
    pub(super) fn chat(&self, model: &str) -> String {
        let query = &self.query;
        let path = self.base.url().path();
        if self.is_azure_host && !path.contains("/deployments/") && !path.ends_with("/v1/") {
            let model = encoded(model);
            return format!("deployments/{model}/chat/completions{query}");
        }
        format!("chat/completions{query}")
    }

    /// Where the list of models is, below the base.
    pub(super) fn models(&self) -> String {
        let above = if self.base.url().path().contains("/deployments/") { "../../" } else { "" };
        format!("{above}models{}", self.query)
    }
}

/// A name as one part of a path.
fn encoded(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}

/// A text without a scheme is http for this machine and the local network, https for the rest of the world.
fn parse_url(typed: &str) -> Result<Url, url::ParseError> {
    if typed.contains("://") {
        return Url::parse(typed);
    }
    let typed = match typed.strip_prefix(':') {
        Some(port) if port.starts_with(|c: char| c.is_ascii_digit()) => format!("127.0.0.1:{port}"),
        Some(_) | None => typed.to_owned(),
    };
    let url = Url::parse(&format!("http://{typed}"))?;
    let is_near = match url.host() {
        Some(Host::Domain(name)) => {
            let top = name.rsplit('.').next().unwrap_or_default();
            !name.contains('.') || ["localhost", "local"].iter().any(|near| top.eq_ignore_ascii_case(near))
        }
        Some(Host::Ipv4(ip)) => is_near(ip.into()),
        Some(Host::Ipv6(ip)) => is_near(ip.into()),
        None => true,
    };
    if is_near { Ok(url) } else { Url::parse(&format!("https://{typed}")) }
}

fn is_near(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private() || ip.is_loopback() || ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_loopback() || ip.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(typed: &str, usual_path: &str) -> String {
        match Place::parse(typed, usual_path) {
            Ok(place) => place.base.url().join(&place.chat("my model")).unwrap().to_string(),
            Err(error) => error.message,
        }
    }

    #[test]
    fn every_usual_form_leads_to_the_same_place() {
        for typed in [
            "https://api.example.com",
            "https://api.example.com/",
            "https://api.example.com/v1",
            "https://api.example.com/v1/",
            "https://api.example.com/v1/chat/completions",
            " \"https://api.example.com/v1/models/\" ",
            "api.example.com/v1?x=1#y",
            "api.example.com",
        ] {
            assert_eq!(chat(typed, "v1"), "https://api.example.com/v1/chat/completions", "{typed}");
        }
        for (typed, usual_path, expected) in [
            ("https://api.deepseek.com", "", "https://api.deepseek.com/chat/completions"),
            ("https://api.deepseek.com/v1", "", "https://api.deepseek.com/v1/chat/completions"),
            ("openrouter.ai", "api/v1", "https://openrouter.ai/api/v1/chat/completions"),
            ("https://api.z.ai/api/paas/v4", "api/paas/v4", "https://api.z.ai/api/paas/v4/chat/completions"),
            ("localhost:1234", "v1", "http://localhost:1234/v1/chat/completions"),
            ("0.0.0.0:8080/v1", "v1", "http://127.0.0.1:8080/v1/chat/completions"),
            (":8080", "v1", "http://127.0.0.1:8080/v1/chat/completions"),
            ("gpu-box:8000/my/prefix", "v1", "http://gpu-box:8000/my/prefix/chat/completions"),
            ("192.168.1.7:8000", "v1", "http://192.168.1.7:8000/v1/chat/completions"),
            ("[::]:9", "v1", "http://[::1]:9/v1/chat/completions"),
        ] {
            assert_eq!(chat(typed, usual_path), expected, "{typed}");
        }
    }

    #[test]
    fn azure_is_asked_at_its_deployment_with_its_version() {
        let resource = "https://me.openai.azure.com";
        let deployed = |name: &str, version: &str| {
            format!("{resource}/openai/deployments/{name}/chat/completions?api-version={version}")
        };
        for (typed, expected) in [
            (resource.to_owned(), deployed("my%20model", AZURE_VERSION)),
            (format!("{resource}/openai"), deployed("my%20model", AZURE_VERSION)),
            (format!("{resource}/openai/deployments/gpt"), deployed("gpt", AZURE_VERSION)),
            (deployed("gpt", "2025-01-01-preview"), deployed("gpt", "2025-01-01-preview")),
            (format!("{resource}/openai/v1"), format!("{resource}/openai/v1/chat/completions")),
        ] {
            assert_eq!(chat(&typed, "openai"), expected, "{typed}");
        }
        let place = Place::parse(&deployed("gpt", "x"), "openai").unwrap();
        let models = place.base.url().join(&place.models()).unwrap();
        assert_eq!(models.as_str(), format!("{resource}/openai/models?api-version=x"));
    }

    #[test]
    fn an_address_that_leaves_it_open_may_have_v1_or_not() {
        let other = |typed: &str, usual_path: &str| {
            Place::parse(typed, usual_path).unwrap().other_base.map(|url| url.to_string())
        };
        assert_eq!(other("http://127.0.0.1:1", "v1").as_deref(), Some("http://127.0.0.1:1/"));
        assert_eq!(other("http://127.0.0.1:1/v1", "v1").as_deref(), Some("http://127.0.0.1:1/"));
        assert_eq!(other("http://127.0.0.1:1", "").as_deref(), Some("http://127.0.0.1:1/v1/"));
        assert_eq!(other("http://127.0.0.1:1/x", "v1"), None);
        assert_eq!(other("https://me.openai.azure.com/openai/v1", "openai"), None);
    }

    #[test]
    fn what_is_no_address_or_may_not_be_reached_is_refused() {
        for typed in [
            "",
            "http://",
            "ftp://localhost",
            "169.254.169.254",
            "http://8.8.8.8",
            "host:99999",
            "a b",
            "https://u:p@x.org",
            "http://127.0.0.1:8080/v1?api_key=Zq7Lm2",
        ] {
            assert!(Place::parse(typed, "v1").is_err(), "{typed}");
        }
    }
}

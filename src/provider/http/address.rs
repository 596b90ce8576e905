//! Which addresses may be reached: by their text, and again by what a name leads to when it is looked up.

use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::{HttpError, HttpProblem};

/// An address that passed the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    url: Url,
    reach: Reach,
}

/// An address as a person types it, whatever stands behind it: without a scheme it is https, except on this machine;
/// `0.0.0.0` and `::` are where a server binds, not where one connects, and become loopback. Its path is left as it is.
///
/// # Errors
/// When it is no address, or one that may not be reached.
pub fn base_address(typed: &str) -> Result<Address, HttpError> {
    let typed = typed.trim().trim_matches(['"', '\'']).trim();
    let refuse =
        |reason: String| HttpError { origin: typed.chars().take(200).collect(), problem: HttpProblem::Refused(reason) };
    let with_scheme = if typed.contains("://") {
        typed.to_owned()
    } else {
        let is_here = ["localhost", "127.", "[::1]", "0.0.0.0"].iter().any(|here| typed.starts_with(here));
        format!("{}://{typed}", if is_here { "http" } else { "https" })
    };
    let mut url = Url::parse(&with_scheme).map_err(|error| refuse(format!("it is not an address: {error}")))?;
    if !make_connectable(&mut url) {
        return Err(refuse("it names no host".into()));
    }
    refuse_key(&url)?;
    Address::new(url)
}

/// What a person typed is kept and shown as it is, so it may hold no key: neither among its parameters nor behind `#`.
///
/// # Errors
/// When it seems to hold one.
pub fn refuse_key(url: &Url) -> Result<(), HttpError> {
    /// Shorter values are no keys: `?x=1`.
    const KEY_BYTES_MIN: usize = 16;
    const NAMES: [&str; 8] = ["key", "token", "secret", "auth", "pass", "pwd", "sig", "credential"];
    let is_key = |name: &str, value: &str| {
        let name = name.to_ascii_lowercase();
        let is_named = NAMES.iter().any(|word| name.contains(word));
        // Azure's version is long, and no secret.
        !value.is_empty() && (is_named || (value.len() >= KEY_BYTES_MIN && name != "api-version"))
    };
    let mut parameters = url.query_pairs();
    let is_held = parameters.any(|(name, value)| is_key(&name, &value) || name.len() >= 2 * KEY_BYTES_MIN)
        || url.fragment().is_some_and(|behind| behind.len() >= KEY_BYTES_MIN);
    if is_held { Err(HttpError { origin: origin_of(url), problem: HttpProblem::KeyInAddress }) } else { Ok(()) }
}

/// Turns `0.0.0.0` and `::`, where a server binds, into loopback, where one connects. False when that is not possible.
pub fn make_connectable(url: &mut Url) -> bool {
    let loopback = match url.host() {
        Some(Host::Ipv4(ip)) if ip.is_unspecified() => "127.0.0.1",
        Some(Host::Ipv6(ip)) if ip.is_unspecified() => "[::1]",
        Some(Host::Ipv4(_) | Host::Ipv6(_) | Host::Domain(_)) | None => return true,
    };
    url.set_host(Some(loopback)).is_ok()
}

/// Leaves the base of an address: `endings` are cut from its path one after the other, then it ends with `/`, without
/// query and fragment.
pub fn cut_to_base(url: &mut Url, endings: &[&str]) {
    let mut path = url.path().trim_end_matches('/').to_owned();
    for ending in endings {
        if let Some(shorter) = path.strip_suffix(ending) {
            path = shorter.trim_end_matches('/').to_owned();
        }
    }
    path.push('/');
    url.set_path(&path);
    url.set_query(None);
    url.set_fragment(None);
}

/// How far away an address is, by its text alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This machine.
    Loopback,
    /// The local network: plain http, so a name must lead to a private address.
    Lan,
    /// Anywhere, by https.
    Public,
}

impl Address {
    /// Checks an address.
    ///
    /// # Errors
    /// When it may not be reached; the sentence says why and what would do.
    pub fn new(url: Url) -> Result<Self, HttpError> {
        let refuse = |reason: &str| HttpError { origin: origin_of(&url), problem: HttpProblem::Refused(reason.into()) };
        let is_https = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(refuse("only http and https addresses can be used")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HttpError { origin: origin_of(&url), problem: HttpProblem::KeyInAddress });
        }
        let nearness = match url.host() {
            None => return Err(refuse("it names no host")),
            Some(Host::Domain(name)) if is_localhost(name) => Nearness::Loopback,
            // What a name leads to is judged when it is looked up.
            Some(Host::Domain(_)) => Nearness::Private,
            Some(Host::Ipv4(ip)) => nearness(ip.into()),
            Some(Host::Ipv6(ip)) => nearness(ip.into()),
        };
        let reach = match (nearness, is_https) {
            (Nearness::Forbidden, _) => return Err(refuse("link-local, multicast and unset addresses are never used")),
            (Nearness::Loopback, _) => Reach::Loopback,
            (Nearness::Private, false) => Reach::Lan,
            (Nearness::Public, false) => {
                return Err(refuse("plain http is only for this machine and the local network: use https"));
            }
            (Nearness::Private | Nearness::Public, true) => Reach::Public,
        };
        Ok(Self { url, reach })
    }

    /// The address itself.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// How far away it is.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        origin_of(&self.url)
    }
}

/// Where an IP address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nearness {
    Loopback,
    Private,
    Public,
    Forbidden,
}

fn nearness(ip: IpAddr) -> Nearness {
    match ip.to_canonical() {
        ip if ip.is_loopback() => Nearness::Loopback,
        ip if ip.is_unspecified() || ip.is_multicast() => Nearness::Forbidden,
        IpAddr::V4(ip) if ip.is_link_local() || ip.is_broadcast() => Nearness::Forbidden,
        IpAddr::V6(ip) if ip.is_unicast_link_local() => Nearness::Forbidden,
        // 100.64.0.0/10 is what overlay networks (Tailscale) give out.
        IpAddr::V4(ip) if ip.is_private() || matches!(ip.octets(), [100, 64..=127, ..]) => Nearness::Private,
        IpAddr::V6(ip) if ip.is_unique_local() => Nearness::Private,
        IpAddr::V4(_) | IpAddr::V6(_) => Nearness::Public,
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

pub(super) fn origin_of(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{}://{host}:{port}", url.scheme()),
        (Some(host), None) => format!("{}://{host}", url.scheme()),
        (None, _) => format!("{}:", url.scheme()),
    }
}

/// Looks names up and leaves out the addresses that they may not lead to.
pub(super) struct GuardedResolver {
    pub(super) reach: Reach,
}

impl GuardedResolver {
    fn allows(&self, ip: IpAddr) -> bool {
        match (nearness(ip), self.reach) {
            (Nearness::Loopback, _)
            | (Nearness::Private, Reach::Lan | Reach::Public)
            | (Nearness::Public, Reach::Public) => true,
            (Nearness::Forbidden, _)
            | (Nearness::Public, Reach::Lan)
            | (Nearness::Private | Nearness::Public, Reach::Loopback) => false,
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Self { reach: self.reach };
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let allowed: Vec<SocketAddr> = found.iter().copied().filter(|found| guard.allows(found.ip())).collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(LookupRefused.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// A name that leads where it may not.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to an address that may not be used")]
pub(super) struct LookupRefused;

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(url: &str) -> Result<Reach, HttpProblem> {
        Address::new(Url::parse(url).unwrap()).map(|address| address.reach()).map_err(|error| error.problem)
    }

    fn is_refused(url: &str) -> bool {
        matches!(reach(url), Err(HttpProblem::Refused(_)))
    }

    #[test]
    fn https_goes_anywhere_and_http_stays_near() {
        assert_eq!(reach("https://api.example.com/v1"), Ok(Reach::Public));
        assert_eq!(reach("https://192.168.1.4"), Ok(Reach::Public));
        for near in [
            "http://localhost:11434",
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "https://localhost",
            "http://a.localhost.",
        ] {
            assert_eq!(reach(near), Ok(Reach::Loopback), "{near}");
        }
        for lan in [
            "http://192.168.1.4:1",
            "http://10.0.0.1",
            "http://172.16.0.1",
            "http://100.100.1.1",
            "http://[fd00::1]",
            "http://gpu-box:11434",
            "http://[::ffff:10.0.0.1]",
        ] {
            assert_eq!(reach(lan), Ok(Reach::Lan), "{lan}");
        }
        assert!(is_refused("http://8.8.8.8"));
        assert!(is_refused("http://[2001:4860:4860::8888]"));
    }

    #[test]
    fn metadata_addresses_other_schemes_and_passwords_are_refused() {
        for refused in [
            "http://169.254.169.254/latest",
            "https://169.254.169.254",
            "http://[::ffff:169.254.169.254]",
            "https://[fe80::1]",
            "http://0.0.0.0",
            "https://[::]",
            "https://224.0.0.1",
            "ftp://127.0.0.1",
            "file:///etc/passwd",
        ] {
            assert!(is_refused(refused), "{refused}");
        }
    }

    #[test]
    fn an_address_with_a_key_in_it_is_refused_and_the_key_is_not_repeated() {
        let typed = |typed: &str| base_address(typed).map(|address| address.url().to_string());
        for keyed in [
            "https://user:pass@example.com",
            "https://user@example.com",
            "https://example.com/v1?api_key=Zq7",
            "example.com/v1?x=1&access_token=Zq7Lm2",
            "127.0.0.1:8080/v1?KEY=Zq7Lm2XwT9kd",
            "https://example.com/?sig=Zq7Lm2XwT9kd",
            "https://example.com/v1?q=Zq7Lm2XwT9kdRb4Y",
            "https://example.com/v1?Zq7Lm2XwT9kdRb4YZq7Lm2XwT9kdRb4Y",
            "https://example.com/v1#Zq7Lm2XwT9kdRb4Y",
        ] {
            let error = typed(keyed).unwrap_err();
            assert_eq!(error.problem, HttpProblem::KeyInAddress, "{keyed}");
            assert!(!error.to_string().contains("Zq7") && !error.to_string().contains("user"), "{error}");
        }
        for plain in
            ["https://example.com/v1?x=1", "https://example.com/?api-version=2025-01-01-preview", "https://a.b/v1#y"]
        {
            assert_eq!(typed(plain).as_deref(), Ok(plain));
        }
    }

    #[test]
    fn a_name_may_not_lead_farther_than_its_address_says() {
        let allows = |reach, ip: &str| GuardedResolver { reach }.allows(ip.parse().unwrap());
        assert!(allows(Reach::Lan, "192.168.0.9") && allows(Reach::Lan, "127.0.0.1") && !allows(Reach::Lan, "8.8.8.8"));
        assert!(allows(Reach::Public, "8.8.8.8") && allows(Reach::Public, "10.0.0.1"));
        assert!(allows(Reach::Loopback, "::1") && !allows(Reach::Loopback, "10.0.0.1"));
        for reach in [Reach::Loopback, Reach::Lan, Reach::Public] {
            assert!(!allows(reach, "169.254.169.254") && !allows(reach, "fe80::1"));
        }
    }
}

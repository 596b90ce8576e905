//! The one place that builds HTTP clients: which addresses may be reached, how long each step may take, how much may
//! come back. Formats and meanings belong to the adapters.
//!
//! https anywhere; http only to this machine or the local network, and never through a proxy; link-local addresses
//! (cloud metadata) never, by name or by number; no redirect to another origin; no address with a password in it.
#![expect(clippy::disallowed_methods, reason = "this is the room that builds clients")]

use std::error::Error as _;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::redirect;
use tokio::time::{Instant, timeout, timeout_at};
use url::{Host, Url};

use super::retry::RetryHeaders;
use crate::ir::{Error, ErrorCode};

/// Most redirects on the same origin.
const REDIRECT_LIMIT: usize = 5;
/// Most header lines of an answer.
const HEADER_LIMIT: usize = 100;

/// An address that passed the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    url: Url,
    reach: Reach,
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
            return Err(refuse("an address with a user name or password in it cannot be used"));
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

fn origin_of(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{}://{host}:{port}", url.scheme()),
        (Some(host), None) => format!("{}://{host}", url.scheme()),
        (None, _) => format!("{}:", url.scheme()),
    }
}

/// Looks names up and leaves out the addresses that they may not lead to.
struct GuardedResolver {
    reach: Reach,
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
struct LookupRefused;

/// How long each step may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the first byte of the answer. Loading a model comes before it.
    pub first_byte: Duration,
    /// Between two packets.
    pub idle: Duration,
    /// Between two packets that carried something: keep-alives do not count.
    pub meaningful: Duration,
}

impl TimeLimits {
    /// For a server that loads models itself and may think for minutes without a word.
    pub const LOCAL: Self = Self {
        connect: Duration::from_secs(10),
        first_byte: Duration::from_mins(20),
        idle: Duration::from_mins(5),
        meaningful: Duration::from_mins(15),
    };
    /// For small answers that must come soon: a list, a version.
    pub const QUICK: Self = Self {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_secs(15),
        idle: Duration::from_secs(15),
        meaningful: Duration::from_secs(15),
    };
}

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Only on the same origin: what is sent is for this server alone.
    SameOrigin,
    /// Also to other https addresses: nothing private is sent.
    PublicHttps,
}

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
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
    #[error("nothing listens there")]
    NothingListens,
    #[error("there is no host of that name")]
    UnknownHost,
    #[error("no connection: {0}")]
    Connect(String),
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

/// A client for one address.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    base: Url,
    origin: String,
}

impl Http {
    /// A client for `address`; paths are joined to it.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(address: &Address, connect: Duration, redirects: Redirects) -> Result<Self, HttpError> {
        // Err means that a provider is installed already, which is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("nod/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(connect)
            .http1_max_headers(HEADER_LIMIT)
            .referer(false)
            .redirect(redirect_policy(redirects))
            .dns_resolver(GuardedResolver { reach: address.reach });
        match address.reach {
            Reach::Loopback | Reach::Lan => builder = builder.no_proxy(),
            Reach::Public => {}
        }
        if address.url.scheme() == "http" && redirects == Redirects::SameOrigin {
            // Nothing is ever encrypted here, and reading the system's certificates takes longer than most requests.
            let no_roots = rustls::ClientConfig::builder().with_root_certificates(rustls::RootCertStore::empty());
            builder = builder.tls_backend_preconfigured(no_roots.with_no_client_auth());
        }
        let origin = origin_of(&address.url);
        match builder.build() {
            Ok(client) => Ok(Self { client, base: address.url.clone(), origin }),
            Err(error) => Err(HttpError { origin, problem: HttpProblem::Setup(chain(&error)) }),
        }
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Asks for `path` below the address; an empty path is the address itself.
    ///
    /// # Errors
    /// When there is no answer; an answer of any status is a reply.
    pub async fn get(&self, path: &str, limits: TimeLimits) -> Result<Reply, HttpError> {
        let url = self.url(path)?;
        self.send(self.client.get(url), limits).await
    }

    /// Sends JSON to `path` below the address.
    ///
    /// # Errors
    /// When there is no answer; an answer of any status is a reply.
    pub async fn post_json(&self, path: &str, body: Vec<u8>, limits: TimeLimits) -> Result<Reply, HttpError> {
        let url = self.url(path)?;
        self.send(self.client.post(url).header(CONTENT_TYPE, "application/json").body(body), limits).await
    }

    fn url(&self, path: &str) -> Result<Url, HttpError> {
        self.base.join(path).map_err(|error| self.fail(HttpProblem::Refused(error.to_string())))
    }

    async fn send(&self, request: reqwest::RequestBuilder, limits: TimeLimits) -> Result<Reply, HttpError> {
        match timeout(limits.first_byte, request.send()).await {
            Err(_) => Err(self.fail(HttpProblem::FirstByte(limits.first_byte))),
            Ok(Err(error)) => Err(self.fail(problem_of(&error.without_url()))),
            Ok(Ok(response)) => Ok(Reply {
                status: response.status().as_u16(),
                content_type: text_of(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default(),
                retry: RetryHeaders {
                    retry_after: text_of(response.headers(), "retry-after"),
                    retry_after_ms: text_of(response.headers(), "retry-after-ms"),
                    should_retry: text_of(response.headers(), "x-should-retry"),
                },
                response,
                limits,
                has_begun: false,
                meaningful_at: Instant::now(),
                origin: self.origin.clone(),
            }),
        }
    }

    fn fail(&self, problem: HttpProblem) -> HttpError {
        HttpError { origin: self.origin.clone(), problem }
    }
}

/// An answer whose body is still to come.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// `Content-Type`, empty when there is none.
    pub content_type: String,
    /// What it says of trying again.
    pub retry: RetryHeaders,
    response: reqwest::Response,
    limits: TimeLimits,
    has_begun: bool,
    meaningful_at: Instant,
    origin: String,
}

impl Reply {
    /// Whether the status says that it worked.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The next packet; `None` at the end of the body.
    ///
    /// # Errors
    /// When the connection breaks or falls silent.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        // Some servers send their headers at once and load the model then.
        let patience = if self.has_begun { self.limits.idle } else { self.limits.first_byte };
        let idle_until = Instant::now() + patience;
        let silent_until = self.meaningful_at + self.limits.meaningful.max(patience);
        let problem = match timeout_at(idle_until.min(silent_until), self.response.chunk()).await {
            Ok(Ok(chunk)) => {
                self.has_begun = true;
                return Ok(chunk);
            }
            Ok(Err(error)) => problem_of(&error.without_url()),
            Err(_) if self.has_begun => {
                HttpProblem::Silent(if idle_until <= silent_until { patience } else { self.limits.meaningful })
            }
            Err(_) => HttpProblem::FirstByte(patience),
        };
        Err(HttpError { origin: self.origin.clone(), problem })
    }

    /// Says that what just came carried something, so that keep-alives alone cannot hold the answer open for ever.
    pub fn mark_meaningful(&mut self) {
        self.meaningful_at = Instant::now();
    }

    /// The whole body, at most `limit` bytes of it.
    ///
    /// # Errors
    /// When it is larger, or the connection breaks or falls silent.
    pub async fn bytes(mut self, limit: usize) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len().saturating_add(chunk.len()) > limit {
                return Err(HttpError { origin: self.origin, problem: HttpProblem::TooLarge(limit) });
            }
            body.extend_from_slice(&chunk);
            self.mark_meaningful();
        }
        Ok(body)
    }
}

fn redirect_policy(redirects: Redirects) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        let is_allowed = match redirects {
            Redirects::SameOrigin => {
                attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin())
            }
            Redirects::PublicHttps => {
                Address::new(attempt.url().clone()).is_ok_and(|address| address.reach == Reach::Public)
            }
        };
        if is_allowed && attempt.previous().len() <= REDIRECT_LIMIT {
            attempt.follow()
        } else {
            attempt.error(RedirectRefused)
        }
    })
}

/// A redirect that is not followed.
#[derive(Debug, thiserror::Error)]
#[error("redirected to another place")]
struct RedirectRefused;

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn problem_of(error: &reqwest::Error) -> HttpProblem {
    if error.is_redirect() {
        return HttpProblem::Redirect;
    }
    if !error.is_connect() {
        return if error.is_builder() { HttpProblem::Setup(chain(error)) } else { HttpProblem::Broken(chain(error)) };
    }
    if causes(error).any(<dyn std::error::Error>::is::<LookupRefused>) {
        return HttpProblem::Refused(LookupRefused.to_string());
    }
    if error.is_dns() {
        return HttpProblem::UnknownHost;
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
fn chain(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

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
            "https://user:pass@example.com",
            "https://user@example.com",
        ] {
            assert!(is_refused(refused), "{refused}");
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

    /// A server that answers one request with these pieces, `pause` apart, and then says nothing more.
    async fn reply_of(
        pieces: &'static [&'static str],
        pause: Duration,
        limits: TimeLimits,
    ) -> Result<Reply, HttpError> {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let serve = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _read = stream.read(&mut request).unwrap();
            for piece in pieces {
                if stream.write_all(piece.as_bytes()).is_err() {
                    return;
                }
                std::thread::park_timeout(pause);
            }
            // Until the client hangs up.
            while stream.read(&mut request).is_ok_and(|count| count > 0) {}
        };
        drop(std::thread::Builder::new().spawn(serve).unwrap());
        let http = Http::new(&Address::new(url).unwrap(), limits.connect, Redirects::SameOrigin).unwrap();
        http.get("", limits).await
    }

    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const BLANK: &str = "1\r\n\n\r\n";
    const LONG: Duration = Duration::from_mins(1);
    const SHORT: Duration = Duration::from_millis(150);

    #[tokio::test]
    async fn silence_before_the_first_byte_and_between_packets_ends_the_answer() {
        // What does come has time enough on a machine under load.
        const AMPLE: Duration = Duration::from_secs(2);
        let limits = TimeLimits { connect: LONG, first_byte: SHORT, idle: SHORT, meaningful: LONG };
        let nothing = reply_of(&[], Duration::ZERO, limits).await.unwrap_err();
        assert_eq!(nothing.problem, HttpProblem::FirstByte(SHORT));
        let limits = TimeLimits { first_byte: AMPLE, ..limits };
        let mut reply = reply_of(&[HEAD], Duration::ZERO, limits).await.unwrap();
        assert_eq!(reply.chunk().await.unwrap_err().problem, HttpProblem::FirstByte(AMPLE));
        let limits = TimeLimits { first_byte: LONG, ..limits };
        let mut reply = reply_of(&[HEAD, BLANK], Duration::ZERO, limits).await.unwrap();
        assert_eq!(reply.chunk().await.unwrap().as_deref(), Some(&b"\n"[..]));
        assert_eq!(reply.chunk().await.unwrap_err().problem, HttpProblem::Silent(SHORT));
    }

    #[tokio::test]
    async fn keep_alives_alone_do_not_hold_an_answer_open() {
        const PIECES: &[&str] = &[
            HEAD, BLANK, BLANK, BLANK, BLANK, BLANK, BLANK, BLANK, BLANK, BLANK, BLANK, BLANK, BLANK, BLANK, BLANK,
            BLANK,
        ];
        const PATIENCE: Duration = Duration::from_secs(1);
        let limits = TimeLimits { connect: LONG, first_byte: LONG, idle: PATIENCE, meaningful: PATIENCE };
        let pause = Duration::from_millis(120);
        let mut reply = reply_of(PIECES, pause, limits).await.unwrap();
        let mut packets = 0;
        let problem = loop {
            match reply.chunk().await {
                Ok(_) => packets += 1,
                Err(error) => break error.problem,
            }
        };
        assert_eq!(problem, HttpProblem::Silent(PATIENCE));
        assert!(packets < PIECES.len() - 1, "it was ended while keep-alives still came");
        // The control: packets that carry something hold it open to their end.
        let mut reply = reply_of(PIECES, pause, limits).await.unwrap();
        for _ in 1..PIECES.len() {
            reply.chunk().await.unwrap();
            reply.mark_meaningful();
        }
    }

    #[tokio::test]
    async fn a_body_over_its_limit_is_refused() {
        const BODY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let limits = TimeLimits::QUICK;
        let reply = reply_of(&[BODY], Duration::ZERO, limits).await.unwrap();
        assert_eq!(reply.bytes(5).await.unwrap(), b"hello");
        let reply = reply_of(&[BODY], Duration::ZERO, limits).await.unwrap();
        assert_eq!(reply.bytes(4).await.unwrap_err().problem, HttpProblem::TooLarge(4));
    }
}

//! The one place that builds HTTP clients: `address` says which addresses may be reached, `reply` how long each step may
//! take and how much may come back, `problem` what went wrong. Formats and meanings belong to the adapters.
//!
//! https anywhere; http only to this machine or the local network, and never through a proxy; link-local addresses
//! (cloud metadata) never, by name or by number; no redirect to another origin; no address with a password in it. Before
//! each request `traffic` asks whoever it is made for: a chat whose padlock is closed reaches this machine alone.
#![expect(clippy::disallowed_methods, reason = "this is the room that builds clients")]

mod address;
mod network;
mod problem;
mod reply;
mod traffic;

use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect;
use tokio::time::timeout;
use url::Url;

pub use address::{Address, Reach, base_address, cut_to_base, make_connectable, refuse_key};
pub use network::Network;
pub use problem::{HttpError, HttpProblem};
pub use reply::{Reply, TimeLimits};
/// A connection that has left HTTP, and the headers that go with it.
pub use reqwest::{Upgraded, header};
pub use traffic::{SentRequest, Traffic, current as current_traffic, on_behalf_of};

use address::{GuardedResolver, origin_of};
use problem::{chain, problem_of};
use traffic::{Owner, host_of};

use crate::ir::Proxy;
use crate::secret::SecretKey;

/// Most redirects on the same origin.
const REDIRECT_LIMIT: usize = 5;
/// Most header lines of an answer.
const HEADER_LIMIT: usize = 100;

/// A client for one address. It follows redirects on the same origin alone: what is sent is for this server.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    origin: String,
    address: Address,
    owner: Owner,
    /// Sent with every request: keys, versions.
    headers: HeaderMap,
}

impl Http {
    /// A client for `address` that reaches it as `network` says; paths are joined to it.
    ///
    /// # Errors
    /// When TLS cannot be set up, the proxy is none, or the file of certificates cannot be read.
    pub fn through(network: &Network, address: &Address) -> Result<Self, HttpError> {
        let origin = origin_of(address.url());
        let fail = |problem: HttpProblem| HttpError { origin: origin.clone(), problem };
        // Err means that a provider is installed already, which is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let owner = Owner::of_task();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("nod/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(network.limits(address.reach()).connect)
            .http1_max_headers(HEADER_LIMIT)
            .referer(false)
            .redirect(redirect_policy(owner.clone()))
            .dns_resolver(GuardedResolver { reach: address.reach() });
        match address.reach() {
            Reach::Loopback | Reach::Lan => builder = builder.no_proxy(),
            Reach::Public => match network.chosen_proxy().map_err(fail)? {
                Some(proxy) => builder = builder.no_proxy().proxy(proxy),
                None if network.proxy == Proxy::Direct => builder = builder.no_proxy(),
                None => {}
            },
        }
        if address.url().scheme() == "http" {
            // Nothing is ever encrypted here, and reading the system's certificates takes longer than most requests.
            let no_roots = rustls::ClientConfig::builder().with_root_certificates(rustls::RootCertStore::empty());
            builder = builder.tls_backend_preconfigured(no_roots.with_no_client_auth());
        } else {
            let certificates = network.certificates().map_err(fail)?;
            if !certificates.is_empty() {
                builder = builder.tls_certs_merge(certificates);
            }
        }
        match builder.build() {
            Ok(client) => Ok(Self { client, origin, address: address.clone(), owner, headers: HeaderMap::new() }),
            Err(error) => Err(fail(HttpProblem::Setup(chain(&error)))),
        }
    }

    /// The same client, sending these headers with every request. Mark keys as sensitive.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// The same client, sending this token with every request.
    ///
    /// # Errors
    /// When the token holds what no header may.
    pub fn with_bearer(self, token: &SecretKey) -> Result<Self, HttpError> {
        let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
        let mut value = value.map_err(|error| self.fail(HttpProblem::Setup(error.to_string())))?;
        value.set_sensitive(true);
        Ok(self.with_headers(HeaderMap::from_iter([(AUTHORIZATION, value)])))
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether it stands on this machine, by its address.
    pub fn is_on_this_machine(&self) -> bool {
        self.address.reach() == Reach::Loopback
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
        self.owner.now().leaves(|| SentRequest {
            url: url.to_string(),
            headers: self.shown_headers(),
            body: body.clone(),
        });
        self.send(self.client.post(url).header(CONTENT_TYPE, "application/json").body(body), limits).await
    }

    /// Deletes what is at `path` below the address.
    ///
    /// # Errors
    /// When there is no answer; an answer of any status is a reply.
    pub async fn delete(&self, path: &str, limits: TimeLimits) -> Result<Reply, HttpError> {
        let url = self.url(path)?;
        self.send(self.client.delete(url), limits).await
    }

    /// Asks for `path` below the address to become another protocol, which `headers` name. Gives the connection, as it is
    /// from then on, with the headers of the answer.
    ///
    /// # Errors
    /// When there is no answer, or one without another protocol.
    pub async fn upgrade(
        &self,
        path: &str,
        headers: HeaderMap,
        limits: TimeLimits,
    ) -> Result<(Upgraded, HeaderMap), HttpError> {
        let url = self.url(path)?;
        let (response, _) = self.execute(self.client.get(url).headers(headers), limits).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let words = format!("it answers with status {} and stays with HTTP", response.status().as_u16());
            return Err(self.fail(HttpProblem::Refused(words)));
        }
        let headers = response.headers().clone();
        let upgraded = response.upgrade().await.map_err(|error| self.fail(problem_of(&error.without_url())))?;
        Ok((upgraded, headers))
    }

    /// The keys among the headers.
    fn keys(&self) -> Vec<SecretKey> {
        let sensitive = self.headers.values().filter(|value| value.is_sensitive());
        let texts = sensitive.filter_map(|value| value.to_str().ok());
        texts.filter_map(|text| SecretKey::new(text.strip_prefix("Bearer ").unwrap_or(text))).collect()
    }

    /// The headers as they may be shown.
    fn shown_headers(&self) -> Vec<(String, String)> {
        let shown = |value: &reqwest::header::HeaderValue| {
            if value.is_sensitive() { "…".to_owned() } else { String::from_utf8_lossy(value.as_bytes()).into_owned() }
        };
        self.headers.iter().map(|(name, value)| (name.to_string(), shown(value))).collect()
    }

    fn url(&self, path: &str) -> Result<Url, HttpError> {
        self.address.url().join(path).map_err(|error| self.fail(HttpProblem::Refused(error.to_string())))
    }

    async fn send(&self, request: reqwest::RequestBuilder, limits: TimeLimits) -> Result<Reply, HttpError> {
        let (response, owner) = self.execute(request, limits).await?;
        Ok(Reply::new(response, limits, self.origin.clone(), owner).with_keys(self.keys()))
    }

    /// Sends a request where it may go; the answer, and who is told of what comes, and from which host.
    async fn execute(
        &self,
        request: reqwest::RequestBuilder,
        limits: TimeLimits,
    ) -> Result<(reqwest::Response, (Owner, String)), HttpError> {
        let request = request
            .headers(self.headers.clone())
            .build()
            .map_err(|error| self.fail(problem_of(&error.without_url())))?;
        let owner = self.owner.now();
        // `join` takes a whole address too: what counts is where the request really goes.
        let address = Address::new(request.url().clone())?;
        if address.url().origin() != self.address.url().origin() {
            return Err(self.fail(HttpProblem::Redirect));
        }
        if !owner.admits(&address) {
            return Err(self.fail(HttpProblem::Locked));
        }
        let host = host_of(&address).to_owned();
        owner.sent(&host, request.body().and_then(reqwest::Body::as_bytes).map_or(0, <[u8]>::len));
        match timeout(limits.first_byte, self.client.execute(request)).await {
            Err(_) => Err(self.fail(HttpProblem::FirstByte(limits.first_byte))),
            Ok(Err(error)) => Err(self.fail(problem_of(&error.without_url()))),
            Ok(Ok(response)) => {
                let host = response.url().host_str().map_or(host, str::to_owned);
                Ok((response, (owner, host)))
            }
        }
    }

    fn fail(&self, problem: HttpProblem) -> HttpError {
        HttpError { origin: self.origin.clone(), problem }
    }
}

fn redirect_policy(owner: Owner) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        let Ok(address) = Address::new(attempt.url().clone()) else { return attempt.error(RedirectRefused) };
        let is_allowed = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
        if is_allowed && attempt.previous().len() <= REDIRECT_LIMIT && owner.now().admits(&address) {
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

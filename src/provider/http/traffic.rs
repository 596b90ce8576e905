//! On whose behalf requests are made: who is asked before each one leaves, and told of every byte.
//!
//! Whoever asks a provider says so once with [`on_behalf_of`]; clients find it by themselves, when they are made and when
//! they send, so that no adapter can forget it.

use std::fmt;
use std::sync::Arc;

use super::{Address, Reach};

/// Who watches over requests.
pub trait Traffic: Send + Sync {
    /// Whether a request to this host may leave. Called once for each, redirects too, before anything is sent; the
    /// answer counts at once.
    fn admits(&self, host: &str, reach: Reach) -> bool;

    /// So many bytes of a body went to the host.
    fn sent(&self, host: &str, bytes: u64);

    /// So many bytes of an answer came from the host.
    fn received(&self, host: &str, bytes: u64);

    /// This request is about to leave.
    fn leaves(&self, _request: SentRequest) {}
}

/// A request with a body, as it left, for whoever wants to see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRequest {
    /// The whole address.
    pub url: String,
    /// Names and values; a key's value is `…`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

tokio::task_local! {
    static CURRENT: Arc<dyn Traffic>;
}

/// Runs work whose requests are made on behalf of `traffic`. A task that it spawns needs this again.
pub async fn on_behalf_of<W: Future>(traffic: Arc<dyn Traffic>, work: W) -> W::Output {
    CURRENT.scope(traffic, work).await
}

/// Who watches over the requests of this task; `None` for what belongs to nobody, such as a list of models in Settings.
pub fn current() -> Option<Arc<dyn Traffic>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Whoever watched when a client was made.
#[derive(Clone, Default)]
pub(super) struct Owner(Option<Arc<dyn Traffic>>);

impl Owner {
    /// Of this task, now.
    pub(super) fn of_task() -> Self {
        Self(current())
    }

    /// Of this task, or else whoever it was before.
    pub(super) fn now(&self) -> Self {
        Self(current().or_else(|| self.0.clone()))
    }

    pub(super) fn admits(&self, address: &Address) -> bool {
        self.0.as_ref().is_none_or(|traffic| traffic.admits(host_of(address), address.reach()))
    }

    pub(super) fn leaves(&self, request: impl FnOnce() -> SentRequest) {
        if let Some(traffic) = &self.0 {
            traffic.leaves(request());
        }
    }

    pub(super) fn sent(&self, host: &str, bytes: usize) {
        if let Some(traffic) = &self.0 {
            traffic.sent(host, bytes as u64);
        }
    }

    pub(super) fn received(&self, host: &str, bytes: usize) {
        if let Some(traffic) = &self.0 {
            traffic.received(host, bytes as u64);
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(&self.0.is_some()).finish()
    }
}

/// The host of an address that passed the rules: it has one.
pub(super) fn host_of(address: &Address) -> &str {
    address.url().host_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::sync::atomic::{AtomicU64, Ordering};

    use url::Url;

    use super::super::{Http, HttpProblem, Network, TimeLimits};
    use super::*;

    #[derive(Default)]
    struct Watch {
        most: u64,
        asked: AtomicU64,
        received: AtomicU64,
    }

    impl Traffic for Watch {
        fn admits(&self, _: &str, _: Reach) -> bool {
            self.asked.fetch_add(1, Ordering::SeqCst) < self.most
        }

        fn sent(&self, _: &str, _: u64) {}

        fn received(&self, _: &str, bytes: u64) {
            self.received.fetch_add(bytes, Ordering::SeqCst);
        }
    }

    /// A server that leads on once and then says hello; how many requests it got.
    fn server() -> (Url, Arc<AtomicU64>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let requests = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&requests);
        let serve = move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut request = [0; 4096];
                let count = stream.read(&mut request).unwrap_or(0);
                counted.fetch_add(1, Ordering::SeqCst);
                let is_first = request[..count].starts_with(b"GET /first");
                let answer = if is_first {
                    "HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                } else {
                    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
                };
                stream.write_all(answer.as_bytes()).ok();
            }
        };
        drop(std::thread::Builder::new().spawn(serve).unwrap());
        (url, requests)
    }

    async fn ask(most: u64) -> (Result<Vec<u8>, HttpProblem>, u64, Arc<Watch>) {
        let (url, requests) = server();
        let watch = Arc::new(Watch { most, ..Watch::default() });
        let work = async {
            let limits = TimeLimits::QUICK;
            let http = Http::through(&Network::default(), &Address::new(url).unwrap()).unwrap();
            // Another task, in which nobody says on whose behalf: the client knows it.
            let asked = tokio::task::spawn(async move { http.get("first", limits).await?.bytes(100).await });
            asked.await.unwrap().map_err(|error| error.problem)
        };
        let answer = on_behalf_of(watch.clone(), work).await;
        (answer, requests.load(Ordering::SeqCst), watch)
    }

    #[tokio::test]
    async fn nothing_leaves_that_was_not_admitted_redirects_too() {
        let (answer, requests, watch) = ask(0).await;
        assert_eq!((answer, requests, watch.asked.load(Ordering::SeqCst)), (Err(HttpProblem::Locked), 0, 1));
        let (answer, requests, _) = ask(1).await;
        assert_eq!((answer, requests), (Err(HttpProblem::Redirect), 1));
        // The control: admitted, it goes all the way and is counted.
        let (answer, requests, watch) = ask(9).await;
        assert_eq!((answer.as_deref(), requests), (Ok(&b"hello"[..]), 2));
        assert_eq!((watch.asked.load(Ordering::SeqCst), watch.received.load(Ordering::SeqCst)), (2, 5));
    }
}

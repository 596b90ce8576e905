//! An answer as it comes: how long each step may take, and how much may come back.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::time::{Instant, timeout_at};

use super::problem::problem_of;
use super::traffic::Owner;
use super::{HttpError, HttpProblem};
use crate::provider::retry::RetryHeaders;
use crate::secret::SecretKey;

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
    /// For a service in the cloud, which may hold a request in its queue for minutes before it begins.
    pub const REMOTE: Self = Self {
        connect: Duration::from_secs(15),
        first_byte: Duration::from_mins(10),
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
    /// Who is told of what comes, and from which host.
    owner: (Owner, String),
    /// Keys that went along: a server that repeats one in a refusal does not bring it into logs and messages.
    keys: Vec<SecretKey>,
}

impl Reply {
    pub(super) fn new(response: reqwest::Response, limits: TimeLimits, origin: String, owner: (Owner, String)) -> Self {
        Self {
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
            origin,
            owner,
            keys: Vec::new(),
        }
    }

    /// The same, for a request that carried these keys.
    pub(super) fn with_keys(mut self, keys: Vec<SecretKey>) -> Self {
        self.keys = keys;
        self
    }

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
                let (owner, host) = &self.owner;
                owner.received(host, chunk.as_ref().map_or(0, Bytes::len));
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
        Ok(if self.is_success() { body } else { self.without_keys(body) })
    }

    fn without_keys(&self, body: Vec<u8>) -> Vec<u8> {
        if self.keys.is_empty() {
            return body;
        }
        let text = String::from_utf8_lossy(&body);
        let masked = self.keys.iter().fold(text.into_owned(), |text, key| text.replace(key.expose(), "…"));
        masked.into_bytes()
    }
}
fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}
#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::{Address, Http, Network};
    use super::*;

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
        let http = Http::through(&Network::default(), &Address::new(url).unwrap()).unwrap();
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

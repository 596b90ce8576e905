//! The WebSocket itself: over TLS or to this machine alone, with limits on what may come. The connection below it is opened
//! by the one place that opens connections, through the proxy that the person chose.

use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode as RawCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use url::{Host, Url};

use super::wire::{CloseCode, MAX_FRAME_BYTES};

/// How long a frame may take to leave. A server that takes nothing is gone.
const SENDING: Duration = Duration::from_secs(20);
/// How long a goodbye may take.
const CLOSING: Duration = Duration::from_secs(1);

type Stream = WebSocketStream<Box<dyn Connection>>;

/// A connection that bytes go over, both ways.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// The wish for a WebSocket: what a server must answer is bound to it.
pub struct Handshake {
    key: String,
}

/// Why there is no socket, or no more.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The address is none that may be used.
    #[error("{0}")]
    Address(String),
    /// It did not open, or broke.
    #[error("{0}")]
    Broken(String),
    /// It took nothing in time.
    #[error("no answer within {} seconds", .0.as_secs())]
    TimedOut(Duration),
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A text frame.
    Text(String),
    /// A ping, a pong, or bytes: nothing that means anything.
    Noise,
    /// Nothing that a WebSocket may carry, or more than one frame may hold.
    Garbled {
        /// In the socket's words.
        detail: String,
    },
    /// The end, with the server's close code where it gave one.
    Closed {
        /// For example 4409.
        code: Option<u16>,
        /// In the socket's words.
        detail: String,
    },
}

/// The half that sends.
pub struct Sender {
    sink: SplitSink<Stream, Message>,
}

/// The half that hears.
pub struct Receiver {
    stream: SplitStream<Stream>,
}

/// Where the socket is, below a server's http(s) base address (which ends with `/`). The ticket goes along in it, and is never
/// logged.
///
/// # Errors
/// With a sentence for the person: an address that is neither https nor this machine's.
pub fn socket_path(base: &Url, ticket: &str) -> Result<String, SocketError> {
    check(base)?;
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("ticket", ticket);
    Ok(format!("api/desktop/ws?{}", query.finish()))
}

/// Whether a server may be connected to at an address: over TLS, or on this machine alone.
///
/// # Errors
/// With a sentence for the person.
pub fn check(base: &Url) -> Result<(), SocketError> {
    let refuse = |sentence: &str| Err(SocketError::Address(sentence.to_owned()));
    let is_here = match base.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => return refuse("it names no host"),
    };
    match (base.scheme(), is_here) {
        ("https", _) | ("http", true) => Ok(()),
        ("http", false) => refuse("plain http is only for this machine: use https"),
        _ => refuse("only http and https addresses can be used"),
    }
}

impl Default for Handshake {
    fn default() -> Self {
        Self { key: generate_key() }
    }
}

impl Handshake {
    /// The headers of the request, by name.
    pub fn headers(&self) -> [(&'static str, &str); 4] {
        [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", &self.key),
        ]
    }

    /// Opens the socket over a connection that has left HTTP. `accept` is the answer's `Sec-WebSocket-Accept`.
    ///
    /// # Errors
    /// When that is not the answer to this wish.
    pub async fn open(self, connection: Box<dyn Connection>, accept: &str) -> Result<(Sender, Receiver), SocketError> {
        if accept != derive_accept_key(self.key.as_bytes()) {
            return Err(SocketError::Broken("the server does not answer as a WebSocket does".to_owned()));
        }
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(MAX_FRAME_BYTES);
        config.max_frame_size = Some(MAX_FRAME_BYTES);
        config.max_write_buffer_size = 2 * MAX_FRAME_BYTES;
        let stream = WebSocketStream::from_raw_socket(connection, Role::Client, Some(config)).await;
        let (sink, stream) = stream.split();
        Ok((Sender { sink }, Receiver { stream }))
    }
}

impl Sender {
    /// Sends a text frame.
    ///
    /// # Errors
    /// When the socket broke, or takes nothing for too long.
    pub async fn send(&mut self, text: String) -> Result<(), SocketError> {
        let sent = tokio::time::timeout(SENDING, self.sink.send(Message::text(text))).await;
        sent.map_err(|_late| SocketError::TimedOut(SENDING))?.map_err(|error| SocketError::Broken(plain(&error)))
    }

    /// Says goodbye, and does not wait long for it. Without a code it is an ordinary one.
    pub async fn close(mut self, code: Option<CloseCode>) {
        let code = code.map_or(RawCode::Normal, |code| RawCode::from(code as u16));
        let goodbye = Message::Close(Some(CloseFrame { code, reason: "".into() }));
        // Whoever hears nothing any more is gone as well.
        tokio::time::timeout(CLOSING, self.sink.send(goodbye)).await.ok();
    }
}

impl Receiver {
    /// The next thing that comes. Safe to drop while it waits.
    pub async fn next(&mut self) -> Heard {
        match self.stream.next().await {
            Some(Ok(Message::Text(text))) => Heard::Text(text.as_str().to_owned()),
            Some(Ok(Message::Close(frame))) => Heard::Closed {
                code: frame.as_ref().map(|frame| frame.code.into()),
                detail: frame.map(|frame| frame.reason.as_str().chars().take(200).collect()).unwrap_or_default(),
            },
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_))) => Heard::Noise,
            Some(Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake))) => {
                Heard::Closed { code: None, detail: "the connection broke off".to_owned() }
            }
            Some(Err(error @ (Error::Capacity(_) | Error::Protocol(_) | Error::Utf8(_)))) => {
                Heard::Garbled { detail: plain(&error) }
            }
            Some(Err(error)) => Heard::Closed { code: None, detail: plain(&error) },
            None => Heard::Closed { code: None, detail: String::new() },
        }
    }
}

/// The socket's words, without an address: the ticket stands in it.
fn plain(error: &Error) -> String {
    match error {
        Error::Url(_) => "the address cannot be used".to_owned(),
        Error::Http(response) => format!("the server answered {} instead of a WebSocket", response.status()),
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Io(_)
        | Error::Tls(_)
        | Error::Capacity(_)
        | Error::Protocol(_)
        | Error::WriteBufferFull(_)
        | Error::Utf8(_)
        | Error::AttackAttempt
        | Error::HttpFormat(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_encrypted_except_to_this_machine() {
        let path = |base: &str| socket_path(&Url::parse(base).unwrap(), "a+b&c").ok();
        let expected = Some("api/desktop/ws?ticket=a%2Bb%26c".to_owned());
        for allowed in ["https://nod.example/", "http://127.0.0.1:8080/", "http://localhost/", "http://[::1]:1/"] {
            assert_eq!(path(allowed), expected, "{allowed}");
        }
        for refused in ["http://192.168.1.7/", "http://nod.example/", "ftp://localhost/", "http://localhost.example/"] {
            assert_eq!(path(refused), None, "{refused}");
        }
    }

    #[tokio::test]
    async fn an_answer_to_another_wish_opens_nothing() {
        let answered = |accept: String| async move {
            let handshake = Handshake { key: "dGhlIHNhbXBsZSBub25jZQ==".to_owned() };
            handshake.open(Box::new(tokio::io::empty()), &accept).await.is_ok()
        };
        // The example of RFC 6455.
        assert!(answered("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".to_owned()).await);
        for other in ["", "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOp="] {
            assert!(!answered(other.to_owned()).await, "{other}");
        }
    }
}

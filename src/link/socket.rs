//! The WebSocket itself: opened outwards, over TLS or to this machine alone, with limits on what may come.

use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode as RawCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};
use url::{Host, Url};

use super::wire::{CloseCode, MAX_FRAME_BYTES};

/// How long opening may take.
const OPENING: Duration = Duration::from_secs(20);
/// How long a frame may take to leave. A server that takes nothing is gone.
const SENDING: Duration = Duration::from_secs(20);
/// How long a goodbye may take.
const CLOSING: Duration = Duration::from_secs(1);

type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why there is no socket, or no more.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The address is none that may be used.
    #[error("{0}")]
    Address(String),
    /// It did not open, or broke.
    #[error("{0}")]
    Broken(String),
    /// It did not open, or took nothing, in time.
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

/// The address of the socket below a server's http(s) base address (which ends with `/`): wss, or ws to this machine alone.
///
/// # Errors
/// With a sentence for the person.
pub fn socket_url(base: &Url) -> Result<Url, SocketError> {
    let refuse = |sentence: &str| SocketError::Address(sentence.to_owned());
    let is_here = match base.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => return Err(refuse("it names no host")),
    };
    let scheme = match (base.scheme(), is_here) {
        ("https", _) => "wss",
        ("http", true) => "ws",
        ("http", false) => return Err(refuse("plain http is only for this machine: use https")),
        _ => return Err(refuse("only http and https addresses can be used")),
    };
    // `Url::set_scheme` refuses to go from http to ws where the port is spelled out; the text does not.
    let text = base.as_str().replacen(base.scheme(), scheme, 1);
    Url::parse(&text)
        .and_then(|url| url.join("api/desktop/ws"))
        .map_err(|error| SocketError::Address(error.to_string()))
}

/// Opens a socket. The ticket goes along in the address, and is never logged.
///
/// # Errors
/// When it does not open in time, for whatever reason.
pub async fn open(url: &Url, ticket: &str) -> Result<(Sender, Receiver), SocketError> {
    let mut url = url.clone();
    url.query_pairs_mut().append_pair("ticket", ticket);
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(MAX_FRAME_BYTES);
    config.max_frame_size = Some(MAX_FRAME_BYTES);
    config.max_write_buffer_size = 2 * MAX_FRAME_BYTES;
    // With TLS: the system's certificate authorities and no others; there is no way to trust a server against them. An
    // error means that the cryptography is set up already, which is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let connector = (url.scheme() == "ws").then_some(Connector::Plain);
    let opening = connect_async_tls_with_config(url.as_str(), Some(config), false, connector);
    let (stream, _) = tokio::time::timeout(OPENING, Box::pin(opening))
        .await
        .map_err(|_late| SocketError::TimedOut(OPENING))?
        .map_err(|error| SocketError::Broken(plain(&error)))?;
    let (sink, stream) = stream.split();
    Ok((Sender { sink }, Receiver { stream }))
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
        let socket = |base: &str| socket_url(&Url::parse(base).unwrap()).map(|url| url.to_string()).ok();
        let expected = |text: &str| Some(text.to_owned());
        assert_eq!(socket("https://nod.example/"), expected("wss://nod.example/api/desktop/ws"));
        assert_eq!(socket("https://nod.example:8443/a/"), expected("wss://nod.example:8443/a/api/desktop/ws"));
        assert_eq!(socket("http://127.0.0.1:8080/"), expected("ws://127.0.0.1:8080/api/desktop/ws"));
        assert_eq!(socket("http://localhost/"), expected("ws://localhost/api/desktop/ws"));
        assert_eq!(socket("http://[::1]:1/"), expected("ws://[::1]:1/api/desktop/ws"));
        for refused in ["http://192.168.1.7/", "http://nod.example/", "ftp://localhost/", "http://localhost.example/"] {
            assert_eq!(socket(refused), None, "{refused}");
        }
    }
}

//! TCP with TLS in front of the HTTP server. A handshake that dawdles holds nobody else up.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);
/// Connections with a finished handshake that may wait to be served.
const READY: usize = 64;

/// Gives connections whose TLS handshake is done.
pub(super) struct TlsListener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

/// The server's certificate and key.
///
/// # Errors
/// When a file cannot be read, or they do not belong together.
pub(super) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, String> {
    let words = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| words(certificate, &error))?;
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| words(key, &error))?;
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .map_err(|error| words(certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

impl TlsListener {
    #[expect(clippy::disallowed_methods, reason = "the server spawns; the task ends when the listener is dropped")]
    pub(super) fn new(tcp: TcpListener, acceptor: TlsAcceptor) -> io::Result<Self> {
        let address = tcp.local_addr()?;
        let (sender, ready) = mpsc::channel(READY);
        tokio::spawn(async move {
            let mut tcp = tcp;
            loop {
                let accepted = tokio::select! {
                    accepted = Listener::accept(&mut tcp) => accepted,
                    () = sender.closed() => return,
                };
                let (stream, from) = accepted;
                // Frames are small, and somebody waits for each.
                drop(stream.set_nodelay(true));
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
                tokio::spawn(async move {
                    match tokio::time::timeout(HANDSHAKE_WAIT, acceptor.accept(stream)).await {
                        // The server goes down when nobody takes it.
                        Ok(Ok(stream)) => drop(sender.send((stream, from)).await),
                        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                        Err(_) => tracing::debug!("a TLS handshake took too long"),
                    }
                });
            }
        });
        Ok(Self { ready, address })
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

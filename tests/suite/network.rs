//! Certificates of a private authority and proxies, with real TLS on this machine.
#![expect(clippy::disallowed_methods, reason = "servers of the test, and the program as a person starts it")]
#![expect(clippy::disallowed_types, reason = "a test server shares what it saw with the test by a lock")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use nod::ir::{Error, Proxy};
use nod::provider::http::Network;
use nod::provider::{ProviderConfig, ProviderKind, connect};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::support::exchange::{clock, hello, streamed_by};

/// A name that no resolver knows.
const NAME: &str = "llm.nod.invalid";
const ANSWER: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A server with a certificate of its own authority, a server without one, and a proxy that leads every name to the first.
struct World {
    runtime: Runtime,
    folder: tempfile::TempDir,
    https: SocketAddr,
    http: SocketAddr,
    proxy: SocketAddr,
    /// What the proxy was asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = ["localhost", "127.0.0.1", NAME].map(str::to_owned);
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        drop(tokio_rustls::rustls::crypto::ring::default_provider().install_default());
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![leaf.der().clone()], key);
        let tls = TlsAcceptor::from(Arc::new(config.unwrap()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let [https, http, proxy] = runtime.block_on(async {
            let [secure, plain, proxy] = [listener().await, listener().await, listener().await];
            let places = [&secure, &plain, &proxy].map(|listener| listener.local_addr().unwrap());
            let [https, ..] = places;
            tokio::spawn(accept(secure, move |stream| {
                let tls = tls.clone();
                async move {
                    if let Ok(stream) = tls.accept(stream).await {
                        answer(stream).await;
                    }
                }
            }));
            tokio::spawn(accept(plain, answer));
            let seen = Arc::clone(&asked);
            tokio::spawn(accept(proxy, move |stream| tunnel(stream, https, Arc::clone(&seen))));
            places
        });
        Self { runtime, folder, https, http, proxy, asked }
    }

    fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    fn through_proxy(&self) -> Proxy {
        Proxy::Through(format!("http://{}", self.proxy))
    }

    /// The device link without a window, to this address: how its connection ended, as it says itself.
    fn link(&self, url: &str, variables: &[(&str, &str)]) -> String {
        let folder = self.folder.path();
        for name in ["home", "work"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
        let mut child = command
            .env("NOD_DATA_DIR", folder.join("data-link"))
            .env("HOME", folder.join("home"))
            .env("LINK_TOKEN", "planted")
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .envs(variables.iter().copied())
            .args(["link", "--json", "--server", url, "--token-env", "LINK_TOKEN", "--workspace"])
            .arg(folder.join("work"))
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        let states = lines.map_while(Result::ok).map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            line["state"].as_str().unwrap_or_default().to_owned()
        });
        let ended = states.into_iter().find(|state| state != "connecting").unwrap_or_default();
        child.kill().unwrap();
        child.wait().unwrap();
        ended
    }

    /// What a model at this address answers.
    fn ask(&self, url: &str, network: Network) -> Result<String, Error> {
        let config = ProviderConfig { network, ..ProviderConfig::new("own", ProviderKind::OpenAiCompatible, url) };
        let provider = connect(config, clock())?;
        let (_, outcome) = self.runtime.block_on(streamed_by(provider.as_ref(), "m", &hello()));
        outcome.map(|response| response.content)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// The program, with these variables.
    fn exec(&self, url: &str, variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nod"));
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            command.env_remove(name);
        }
        command
            .env("NOD_DATA_DIR", self.folder.path().join("data"))
            .env("HOME", self.folder.path().join("home"))
            .env("LANG", "en_US.UTF-8")
            .envs(variables.iter().copied())
            .args(["exec", "--provider", "openai-compatible", "--model", "m", "--base-url", url, "hi"])
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind(("127.0.0.1", 0)).await.unwrap()
}

async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    serve: impl Fn(TcpStream) -> F + Send + 'static,
) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream));
    }
}

/// Reads a request and answers it, whatever it is: a model's words, a ticket, or a WebSocket that says that another one took
/// its place.
async fn answer<S: AsyncRead + AsyncWrite + Unpin + Send>(stream: S) {
    let mut stream = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    let (mut is_ticket, mut key) = (false, None);
    while stream.read_line(&mut line).await.is_ok_and(|read| read > 2) {
        is_ticket |= line.starts_with("POST /api/desktop/connection-ticket ");
        if let Some((_, value)) =
            line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"))
        {
            key = Some(value.trim().to_owned());
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    if let Some(key) = key {
        let accept = derive_accept_key(key.as_bytes());
        let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
        drop(stream.write_all(format!("{head}Sec-WebSocket-Accept: {accept}\r\n\r\n").as_bytes()).await);
        let mut first = [0; 2];
        // A masked text frame: the desktop registers.
        if stream.read_exact(&mut first).await.is_ok() && first[0] == 0x81 && first[1] & 0x80 != 0 {
            drop(stream.write_all(&[&[0x88, 2][..], &4409_u16.to_be_bytes()].concat()).await);
            drop(stream.read(&mut [0; 1024]).await);
        }
        return;
    }
    let mut body = vec![0; length];
    if stream.read_exact(&mut body).await.is_ok() {
        let answer = if is_ticket { "{\"ticket\":\"t\",\"expires_in\":60}" } else { ANSWER };
        let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", answer.len());
        drop(stream.write_all([head.as_bytes(), answer.as_bytes()].concat().as_slice()).await);
        drop(stream.shutdown().await);
    }
}

/// A proxy as companies have them: `CONNECT name:port`, and then bytes.
async fn tunnel(stream: TcpStream, to: SocketAddr, asked: Arc<Mutex<Vec<String>>>) {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    drop(stream.read_line(&mut first).await);
    let mut line = String::new();
    while stream.read_line(&mut line).await.is_ok_and(|read| read > 2) {
        line.clear();
    }
    asked.lock().unwrap().push(first.trim().to_owned());
    if first.contains("refused") {
        drop(stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n").await);
        return;
    }
    drop(stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await);
    let mut server = TcpStream::connect(to).await.unwrap();
    drop(tokio::io::copy_bidirectional(&mut stream, &mut server).await);
}

fn code(error: &Error) -> &str {
    error.provider_code.as_deref().unwrap_or_default()
}

#[test]
fn a_certificate_of_a_private_authority_counts_only_when_the_person_says_so() {
    let world = World::new();
    let url = format!("https://localhost:{}/v1", world.https.port());
    let error = world.ask(&url, Network::default()).unwrap_err();
    assert_eq!((code(&error), error.retryable), ("tls_untrusted", false), "{}", error.message);
    let trusting = Network { ca_file: Some(world.ca_file()), ..Network::default() };
    assert_eq!(world.ask(&url, trusting.clone()), Ok("ok".to_owned()));
    // Trust in an authority is no trust in names that it did not vouch for.
    let other_name = format!("https://127.0.0.2:{}/v1", world.https.port());
    let error = world.ask(&other_name, trusting).unwrap_err();
    assert!(["tls_untrusted", "connection_refused"].contains(&code(&error)), "{}", error.message);
}

#[test]
fn a_file_that_holds_no_certificate_is_named() {
    let world = World::new();
    let url = format!("https://localhost:{}/v1", world.https.port());
    let empty = world.folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for path in [world.folder.path().join("gone.pem"), empty] {
        let network = Network { ca_file: Some(path.clone()), ..Network::default() };
        let error = world.ask(&url, network).unwrap_err();
        assert_eq!(code(&error), "ca_file", "{}", error.message);
        assert!(error.message.contains(&*path.to_string_lossy()), "{}", error.message);
    }
}

#[test]
fn https_to_a_server_without_it_is_told_apart() {
    let world = World::new();
    let error = world.ask(&format!("https://localhost:{}/v1", world.http.port()), Network::default()).unwrap_err();
    assert_eq!(code(&error), "not_tls", "{}", error.message);
}

#[test]
fn a_proxy_is_asked_for_names_beyond_this_machine_and_never_for_this_machine() {
    let world = World::new();
    let network = Network { proxy: world.through_proxy(), ca_file: Some(world.ca_file()), ..Network::default() };
    let url = format!("https://{NAME}/v1");
    assert_eq!(world.ask(&url, network.clone()), Ok("ok".to_owned()));
    assert_eq!(world.asked(), [format!("CONNECT {NAME}:443 HTTP/1.1")]);
    // The control: without it there is no way to that name.
    let direct = Network { proxy: Proxy::Direct, ..network.clone() };
    let error = world.ask(&url, direct).unwrap_err();
    assert_eq!(code(&error), "unknown_host", "{}", error.message);
    for here in [
        format!("http://127.0.0.1:{}/v1", world.http.port()),
        format!("http://localhost:{}/v1", world.http.port()),
        format!("https://localhost:{}/v1", world.https.port()),
    ] {
        assert_eq!(world.ask(&here, network.clone()), Ok("ok".to_owned()), "{here}");
    }
    assert_eq!(world.asked(), [] as [String; 0]);
}

#[test]
fn a_proxy_that_lets_nothing_through_is_named_as_what_failed() {
    let world = World::new();
    let network = Network { proxy: world.through_proxy(), ..Network::default() };
    let error = world.ask("https://refused.nod.invalid/v1", network).unwrap_err();
    assert_eq!(code(&error), "proxy_failed", "{}", error.message);
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let network = Network { proxy: Proxy::Through(format!("http://127.0.0.1:{port}")), ..Network::default() };
    let error = world.ask(&format!("https://{NAME}/v1"), network).unwrap_err();
    assert_eq!(code(&error), "proxy_failed", "{}", error.message);
}

#[test]
fn the_systems_proxy_and_certificates_are_used_and_this_machine_is_reached_without_them() {
    let world = World::new();
    let (proxy, ca_file) = (format!("http://{}", world.proxy), world.ca_file().display().to_string());
    let variables =
        [("HTTPS_PROXY", proxy.as_str()), ("HTTP_PROXY", &proxy), ("ALL_PROXY", &proxy), ("SSL_CERT_FILE", &ca_file)];
    let output = world.exec(&format!("https://{NAME}/v1"), &variables);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "ok", "{}", String::from_utf8_lossy(&output.stderr));
    let asked = world.asked();
    assert!(!asked.is_empty() && asked.iter().all(|line| *line == format!("CONNECT {NAME}:443 HTTP/1.1")), "{asked:?}");
    let output = world.exec(&format!("http://127.0.0.1:{}/v1", world.http.port()), &variables);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "ok", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.asked(), [] as [String; 0]);
}

#[test]
fn the_device_link_takes_the_way_that_everything_takes() {
    let world = World::new();
    let (proxy, ca_file) = (format!("http://{}", world.proxy), world.ca_file().display().to_string());
    let variables =
        [("HTTPS_PROXY", proxy.as_str()), ("HTTP_PROXY", &proxy), ("ALL_PROXY", &proxy), ("SSL_CERT_FILE", &ca_file)];
    assert_eq!(world.link(&format!("https://{NAME}/"), &variables), "replaced");
    let asked = world.asked();
    // The ticket, then the socket.
    assert_eq!(asked, [format!("CONNECT {NAME}:443 HTTP/1.1"), format!("CONNECT {NAME}:443 HTTP/1.1")]);
    // This machine is reached without it.
    assert_eq!(world.link(&format!("http://127.0.0.1:{}/", world.http.port()), &variables), "replaced");
    assert_eq!(world.asked(), [] as [String; 0]);
    // The control: without the proxy there is no way to that name.
    let direct = [("SSL_CERT_FILE", ca_file.as_str()), ("NO_PROXY", "*")];
    assert_eq!(world.link(&format!("https://{NAME}/"), &direct), "waiting");
}
